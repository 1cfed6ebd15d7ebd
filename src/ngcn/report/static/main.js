// The summary, the settings, and the order of drawing.
function drawSummary() {
  const g = data.graph, several = data.seeds.length > 1, powers = data.scales.powers.length, each = data.replicas, other = data.trained_on;
  byId("lead").append(
    other ? `Trained on ${other.name === null ? "this graph" : `another graph, ${other.name}`}${other.new ? `; ${plural(other.new, "node")} here ${other.new === 1 ? "is" : "are"} new` : other.new === null ? "" : "; no node here is new"}. It predicts ` : `Trained on ${plural(g.train, "labelled node")} and ${plural(g.edges, "edge")} to predict `,
    `${plural(g.classes, "class", "classes")}, `,
    mixed ? `with ${plural(powers * each, "tower")}${each > 1 ? `, ${each} of each kind` : ""}: ${data.powers.map(powerName).join(", ")}. `
      : data.powers.length > 1 ? `on ${powers} scales (${plural(each, "network")} on each, ${data.classifier} classifier). ` : powers > 1 ? `on a mixture of ${powers} scales. ` : "",
    several ? `The page shows seed ${data.best_seed}, the best of ${data.seeds.length} on validation` : `Seed ${data.best_seed}`, `, recipe ${data.recipe}.`);
  const tile = (name, value, note, kind = "") => h("dl", { class: `tile ${kind}` }, h("dt", {}, name), h("dd", {}, h("div", { class: "value" }, value), h("div", { class: "note" }, note)));
  const [first] = data.scores, tested = first && first.best_test !== null, { quality } = data;
  byId("tiles").append(
    first ? tile(`${first.name}, ${!tested ? "validation" : other ? "labelled nodes" : "test"}`, scoreText(tested ? first.best_test : first.best_val),
      several ? `mean of ${data.seeds.length} seeds ${spread(first.name, tested ? first.test : first.val)}` : other ? other.scored : tested ? `validation ${scoreText(first.best_val)}` : "no test nodes")
      : tile("Score", "–", other ? other.scored : "no node has a label that the model knows"),
    ...(quality ? [tile("Calibration error", `${points(quality.reliability.gap)} points`, quality.before ? `before calibration ${points(quality.before.gap)}` : "expected calibration error")] : []),
    tile("Nodes", count(g.nodes), `${plural(g.edges, "edge")}, ${data.identity ? "no features" : plural(g.features, "feature")}${data.missing ? `; ${percent(data.missing.share)} of values missing` : ""}`),
    other ? "" : tile("Training labels", count(g.train), `validation ${count(g.val)}, test ${count(g.test)}`));
  if (!first) return byId("scores-table").remove();
  const validated = first.best_val !== null;
  const mean = several && [`${tested ? "Test" : "Validation"}, mean of ${data.seeds.length} seeds`, "number"];
  byId("scores-table").append(table(
    [["Score"], ...(validated ? [["Validation", "number"]] : []), ...(tested ? [[other ? "Labelled nodes" : "Test", "number"]] : []), ...(mean ? [mean] : []), ...data.references.map(title => [title, "number"])],
    data.scores.map(score => [score.name, ...(validated ? [scoreText(score.best_val, score.name)] : []), ...(tested ? [scoreText(score.best_test, score.name)] : []),
      ...(mean ? [spread(score.name, tested ? score.test : score.val)] : []), ...score.references.map(value => scoreText(value, score.name))]), null, "scores"));
}
// Mean and standard deviation over seeds
function spread(name, of) {
  return of ? `${scoreText(of[0], name)}\u00a0±\u00a0${name === "Loss" ? of[1].toFixed(3) : points(of[1])}` : "–";
}

function drawMissing() {
  const { how, features, share, rows } = data.missing, nodes = data.graph.nodes;
  byId("missing-about").append(
    `${percent(share)} of all feature values are missing, in ${plural(features, "numeric feature")}. `,
    { propagate: "They are filled from the neighbours, and from theirs; without any, with the mean of the feature.", mean: "They are filled with the mean of the feature.", error: "" }[how],
    rows.length < features ? ` The table has the ${rows.length} with most.` : "");
  byId("missing-table").append(table([["Feature"], ["Nodes without it", "number"], ["Share", "number"], ["", "wide"]],
    rows.map(([name, number]) => [breakable(name), count(number), percent(number / nodes, 0), track(number / nodes, undefined, "var(--against)")]), null, "towers"));
}

function drawSettings() {
  const seconds = t => `${t.toFixed(1)} s`;
  if (!data.seeds.length) byId("seeds-table").remove();
  else byId("seeds-table").append(table([["Seed"], ["Validation", "number"], ["Test", "number"], ["Best step", "number"], ["Time", "number"]],
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
for (const [id, draw, there] of [["learning", drawLearning, data.curves.length], ["mistakes", drawMistakes, data.quality], ["trust", drawTrust, data.quality], ["missing", drawMissing, data.missing]]) {
  if (there) draw(); else leaveOut(id);
}
drawSettings();
setUpMap();
setUpSearch();
showNode(data.uncertain[0]);
