// The summary, the settings, and the order of drawing.
function drawSummary() {
  const g = data.graph, several = data.seeds.length > 1, powers = data.scales.powers.length;
  byId("lead").append(
    `${data.model} was trained on ${plural(g.train, "labelled node")} and ${plural(g.edges, "edge")} to predict ${plural(g.classes, "class", "classes")}, `,
    data.powers.length > 1 ? `on ${powers} scales (${plural(data.replicas, "network")} on each, ${data.classifier} classifier). ` : powers > 1 ? `on a mixture of ${powers} scales. ` : "",
    several ? `The page shows seed ${data.best_seed}, the best of ${data.seeds.length} on validation.` : `Seed ${data.best_seed}.`);
  const tile = (name, value, note) => h("dl", { class: "tile" }, h("dt", {}, name), h("dd", {}, h("div", { class: "value" }, value), h("div", { class: "note" }, note)));
  const tiles = [];
  for (const score of data.scores) {
    const spread = several && score.test ? `mean of ${data.seeds.length} seeds ${percent(score.test[0])}\u00a0±\u00a0${(100 * score.test[1]).toFixed(1)}` : null;
    tiles.push(score.best_test === null || score.best_test === undefined
      ? tile(`${score.name}, validation`, percent(score.best_val), "no test nodes")
      : tile(`${score.name}, test`, percent(score.best_test), spread || `validation ${percent(score.best_val)}`));
  }
  if (several) tiles.push(tile(`${data.metric}, validation`, percent(data.scores[0].best_val), `mean of ${data.seeds.length} seeds ${percent(data.scores[0].val[0])}`));
  tiles.push(
    tile("Nodes", count(g.nodes), `${plural(g.edges, "edge")}, ${plural(g.features, "feature")}`),
    tile("Training labels", count(g.train), `validation ${count(g.val)}, test ${count(g.test)}`),
    tile("Calibration error", `${(100 * data.quality.reliability.gap).toFixed(1)} points`, "expected calibration error"));
  byId("tiles").append(...tiles);
}

function drawSettings() {
  const share = x => (x === null ? "–" : percent(x)), seconds = t => `${t.toFixed(1)} s`;
  byId("seeds-table").append(table([["Seed"], ["Validation", "number"], ["Test", "number"], ["Best step", "number"], ["Time", "number"]],
    data.seeds.map(r => [`${r.seed}${r.seed === data.best_seed && data.seeds.length > 1 ? " ★" : ""}`, share(r.val), share(r.test), `${r.best_step} of ${r.steps}`, seconds(r.seconds)]),
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
