// The summary, the settings, and the order of drawing.
function drawSummary() {
  const g = data.graph, several = data.seeds.length > 1, powers = data.scales.powers.length, each = data.replicas;
  byId("lead").append(
    `Trained on ${plural(g.train, "labelled node")} and ${plural(g.edges, "edge")} to predict ${plural(g.classes, "class", "classes")}, `,
    mixed ? `with ${plural(powers * each, "tower")}${each > 1 ? `, ${each} of each kind` : ""}: ${data.powers.map(powerName).join(", ")}. `
      : data.powers.length > 1 ? `on ${powers} scales (${plural(each, "network")} on each, ${data.classifier} classifier). ` : powers > 1 ? `on a mixture of ${powers} scales. ` : "",
    several ? `The page shows seed ${data.best_seed}, the best of ${data.seeds.length} on validation` : `Seed ${data.best_seed}`, `, recipe ${data.recipe}.`);
  const tile = (name, value, note, kind = "") => h("dl", { class: `tile ${kind}` }, h("dt", {}, name), h("dd", {}, h("div", { class: "value" }, value), h("div", { class: "note" }, note)));
  const { name, val, test, best_val: ofVal, best_test: ofTest } = data.scores[0], tested = ofTest !== null;
  const { reliability: { gap }, before } = data.quality;
  byId("tiles").append(
    tile(`${name}, ${tested ? "test" : "validation"}`, scoreText(tested ? ofTest : ofVal),
      several ? `mean of ${data.seeds.length} seeds ${spread(name, tested ? test : val)}` : tested ? `validation ${scoreText(ofVal)}` : "no test nodes"),
    tile("Calibration error", `${points(gap)} points`, before ? `before calibration ${points(before.gap)}` : "expected calibration error"),
    tile("Nodes", count(g.nodes), `${plural(g.edges, "edge")}, ${plural(g.features, "feature")}`),
    tile("Training labels", count(g.train), `validation ${count(g.val)}, test ${count(g.test)}`));
  const mean = several && [`${tested ? "Test" : "Validation"}, mean of ${data.seeds.length} seeds`, "number"];
  byId("scores-table").append(table(
    [["Score"], ["Validation", "number"], ...(tested ? [["Test", "number"]] : []), ...(mean ? [mean] : []), ...data.references.map(title => [title, "number"])],
    data.scores.map(score => [score.name, scoreText(score.best_val, score.name), ...(tested ? [scoreText(score.best_test, score.name)] : []),
      ...(mean ? [spread(score.name, tested ? score.test : score.val)] : []), ...score.references.map(value => scoreText(value, score.name))]), null, "scores"));
}
// Mean and standard deviation over seeds
function spread(name, of) {
  return of ? `${scoreText(of[0], name)}\u00a0±\u00a0${name === "Loss" ? of[1].toFixed(3) : points(of[1])}` : "–";
}

function drawSettings() {
  const seconds = t => `${t.toFixed(1)} s`;
  byId("seeds-table").append(table([["Seed"], ["Validation", "number"], ["Test", "number"], ["Best step", "number"], ["Time", "number"]],
    data.seeds.map(r => [`${r.seed}${r.seed === data.best_seed && data.seeds.length > 1 ? " ★" : ""}`, scoreText(r.val), scoreText(r.test), `${r.best_step} of ${r.steps}`, seconds(r.seconds)]),
    `${data.metric} of each seed`));
  for (const r of data.seeds.filter(seed => seed.status !== "complete")) {
    byId("seeds-table").append(h("p", { class: "note-block" }, `Seed ${r.seed}: ${r.stopped}`));
  }
  byId("settings-table").append(table([["Setting"], ["Value"]],
    data.settings.map(([name, value, help]) => [h("span", { title: help }, name), value]), "Settings"));
  byId("footer").append(`Written by ngcn ${data.version}. This file is self-contained and loads nothing from the network.`);
}

drawSummary();
drawUncertain();
drawScales();
drawLearning();
drawMistakes();
drawTrust();
drawSettings();
setUpMap();
setUpSearch();
showNode(data.uncertain[0]);
