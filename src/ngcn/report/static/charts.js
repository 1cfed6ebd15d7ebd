// The static charts: learning curves, scales, mistakes, reliability.
const superscript = k => String(k).replace(/\d/g, digit => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
// A group of towers is a power, null for all powers, or in a mixed network a name such as "SAGE P^2".
const mixed = typeof data.powers[0] === "string";
const powerName = k => (k === null ? "all powers" : typeof k === "string" ? k.replace(/\^(\d+)/, (_, power) => superscript(power)) : `Â${superscript(k)}`);
const powerOf = k => (typeof k === "string" ? Number((k.match(/\^(\d+)/) || [0, 0])[1]) : k);
function reachOf(group) {
  const k = powerOf(group);
  return k === null ? "mixed inside the layers" : k === 0 ? "the node alone" : `walks of ${plural(k, "step")}`;
}

function ticks(low, high, about) {
  const rough = (high - low) / about || 1, size = 10 ** Math.floor(Math.log10(rough));
  const step = size * [1, 2, 5, 10].find(m => m * size >= rough);
  const all = [];
  for (let t = Math.ceil(low / step - 1e-9) * step; t <= high + step * 1e-9; t += step) all.push(+t.toPrecision(10));
  return all;
}

// An SVG with axes; `draw` gets the two scales and returns the content.
function chart({ x, y, xName, yName, yText, xText, label, height = 250 }, draw) {
  const width = window.innerWidth < 480 ? 320 : 480; // keeps the text readable on a phone
  const left = 46, right = 12, top = 32, bottom = 40;
  const X = v => left + (width - left - right) * (v - x[0]) / (x[1] - x[0] || 1);
  const Y = v => height - bottom - (height - top - bottom) * (v - y[0]) / (y[1] - y[0] || 1);
  return s("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    ticks(y[0], y[1], 4).map(t => [
      s("line", { class: "grid", x1: left, x2: width - right, y1: Y(t), y2: Y(t) }),
      s("text", { x: left - 7, y: Y(t) + 4, "text-anchor": "end" }, yText(t))]),
    ticks(x[0], x[1], 5).map(t =>
      s("text", { x: X(t), y: height - bottom + 17, "text-anchor": "middle" }, xText ? xText(t) : count(t))),
    s("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
    s("text", { x: width - right, y: height - 5, "text-anchor": "end" }, xName),
    s("text", { x: 0, y: 12 }, yName), // above its axis
    draw(X, Y));
}
const line = (xs, ys, X, Y, kind) =>
  s("path", { class: `line ${kind}`, d: xs.map((x, i) => `${i ? "L" : "M"}${X(x).toFixed(1)} ${Y(ys[i]).toFixed(1)}`).join("") });
const keys = entries => h("ul", { class: "keys" }, entries.map(([kind, text]) => h("li", {},
  s("svg", { viewBox: "0 0 24 10", "aria-hidden": "true" }, s("path", { class: `line ${kind}`, d: "M0 5H24" })), text)));

function drawLearning() {
  const best = data.curves.find(curve => curve.seed === data.best_seed);
  const others = data.curves.filter(curve => curve !== best);
  const steps = [1, Math.max(...data.curves.map(curve => curve.step[curve.step.length - 1]), 2)];
  const losses = [...best.loss, ...best.val_loss].sort((a, b) => a - b);
  const high = losses[Math.floor(0.995 * (losses.length - 1))] * 1.05 || 1; // so that a spike does not flatten the rest
  const scores = data.curves.flatMap(curve => curve.val);
  const low = Math.min(...scores), top = Math.max(...scores), room = Math.max(0.02, 0.06 * (top - low));
  const isLoss = data.metric === "Loss", independent = data.recipe === "independent", which = { paper: "first", standard: "one" }[data.recipe];
  const bestStep = (X, Y, y) => s("line", { class: "best", x1: X(best.best_step), x2: X(best.best_step), y1: Y(y[0]), y2: Y(y[1]) });
  const lossY = [0, high], scoreY = [Math.max(0, low - room), Math.min(isLoss ? Infinity : 1, top + room)];
  const bestKey = ["best", independent ? "last best step" : "best step"];
  const clip = values => values.map(value => Math.min(value, high));
  byId("learning-about").append(
    independent
      ? `Every tower has the parameters of its own best step; the last of these is step ${count(best.best_step)}. The validation curves show the mixture of all towers at their best steps so far, before calibration. `
      : `The model has the parameters of step ${count(best.best_step)}${which ? `, the ${which} with the best validation ${metricWords()}` : ""}. `,
    others.length ? `Coloured lines: seed ${best.seed}. Faint lines: the other ${others.length > 1 ? `${others.length} seeds` : "seed"}.` : "");
  byId("learning-charts").append(
    h("div", { class: "card" },
      chart({ x: steps, y: lossY, xName: "step", yName: "loss", yText: String, label: "Loss by step" }, (X, Y) => [
        bestStep(X, Y, lossY), line(best.step, clip(best.loss), X, Y, "first"), line(best.step, clip(best.val_loss), X, Y, "second")]),
      keys([["first", `training nodes, with dropout${independent ? ", mean of the towers" : ""}`], ["second", `validation nodes${independent ? ", mixture" : ""}`], bestKey])),
    h("div", { class: "card" },
      chart({ x: steps, y: scoreY, xName: "step", yName: `validation ${metricWords()}`, yText: isLoss ? String : t => percent(t, 0), label: "Validation score by step" },
        (X, Y) => [others.map(curve => line(curve.step, curve.val, X, Y, "faint")), bestStep(X, Y, scoreY), line(best.step, best.val, X, Y, "first")]),
      keys([["first", `seed ${best.seed}`], ...(others.length ? [["faint", "other seeds"]] : []), bestKey])));
}

function drawScales() {
  const { weighted, powers, value, mean, val } = data.scales, top = value.indexOf(Math.max(...value));
  const largest = Math.max(...value.map(Math.abs), ...(mean || []), 1e-9), far = k => `${reachOf(k)}${powerOf(k) ? " in each layer" : ""}`;
  byId("scales-about").append(powers[0] === null
    ? `${data.model} mixes the powers of Â inside its layers, so their contributions cannot be separated. N-GCN keeps them separate.`
    : powers.length === 1
      ? `${data.model} uses one scale only, ${powerName(powers[0])}: ${far(powers[0])}. N-GCN uses several.`
    : weighted
      ? `${mixed ? "Each tower sees the graph in its own way: Â has self-loops, P has none, and their powers reach further." : "Each power of Â reaches a different distance in the graph."} The weights are the same for all nodes and sum to 1${data.recipe === "independent" ? "; they are fitted on the validation nodes" : ""}. The largest is that of ${powerName(powers[top])}, ${far(powers[top])}.${val ? " Towers that agree share their weight: a small one does not mean a bad tower." : ""}`
      : `A fully-connected classifier has no weight per power. The bars show the mean contribution of each power of Â to the predicted class: parts of ${scoreWords()}.`);
  byId("scales-table").append(table(
    [[mixed ? "Towers" : "Power"], ...(val ? [[`${data.metric}, validation`, "number"]] : []), [weighted ? "Weight" : "Contribution", "number"], ["", "wide"]],
    powers.map((k, i) => [
      [h("span", { class: "tower" }, powerName(k)), " ", h("span", { class: "reach" }, reachOf(k))],
      ...(val ? [scoreText(val[i])] : []),
      weighted ? value[i].toFixed(3) : signed(value[i], 2),
      track(value[i] / largest, mean ? mean[i] / largest : undefined)]), null, "towers"));
  const hints = [val && data.trained_on ? `The scores are those on ${data.trained_on.name}.` : "", val ? "The score of towers is that of their predictions alone." : "", mean ? `The tick on each bar is the mean of the ${data.seeds.length} seeds.` : ""];
  if (val || mean) byId("scales-table").append(h("p", { class: "hint" }, hints.filter(Boolean).join(" ")));
}

const points = share => (100 * share).toFixed(1);
// Inside a sentence; abbreviations keep their capitals
const metricWords = () => data.metric.replace(/^[A-Z](?=[a-z])/, first => first.toLowerCase());
const splitWords = { test: data.trained_on ? "labelled" : "test", val: "validation", train: "training" };
function drawMistakes() {
  const { split, confusion, by_class: classes, nodes: total } = data.quality;
  const on = `the ${plural(total, `${splitWords[split]} node`)}` + (split === "val" ? ` (there are no ${data.trained_on ? "other labelled" : "test"} nodes; the step was selected on these, so the scores are optimistic)` : "");
  if (confusion) {
    byId("mistakes-about").append(`The confusion matrix of ${on}: one row per true class, one column per predicted class. Blue is correct, orange is wrong; the last column is the recall.`);
    byId("mistakes-table").append(h("table", { class: "matrix" },
      h("thead", {}, h("tr", {}, h("th", { "aria-label": "True class" }), data.classes.map(name => h("th", { scope: "col", title: name }, h("span", {}, name))), h("th", { "aria-label": "Recall" }))),
      h("tbody", {}, confusion.map((row, i) => {
        const sum = row.reduce((a, b) => a + b, 0);
        return h("tr", {}, h("th", { scope: "row" }, breakable(className(i))), row.map((n, j) => h("td", {
          class: n ? null : "zero", title: `${plural(n, "node")} of ${className(i)}, predicted ${className(j)}`,
          background: n ? `color-mix(in srgb, var(${i === j ? "--for" : "--against"}) ${Math.round(8 + 62 * n / sum)}%, transparent)` : null,
        }, String(n))), h("td", { class: "recall" }, sum ? percent(row[i] / sum, 0) : "–"));
      }))));
    return;
  }
  const most = 20, share = x => (x === null ? "–" : percent(x, 0));
  const order = classes.map((_, i) => i).filter(i => classes[i][0]).sort((a, b) => classes[a][2] - classes[b][2] || classes[b][0] - classes[a][0]);
  byId("mistakes-about").append(`Recall and precision by class, on ${on}${order.length > most ? `: the ${most} of ${order.length} classes with the lowest recall` : ""}. Recall: the share of the nodes of a class that are predicted as such. Precision: the share of its predictions that are correct.`);
  byId("mistakes-table").append(table([["Class"], ["Nodes", "number"], ["Recall", "number"], ["Precision", "number"]],
    order.slice(0, most).map(i => [breakable(className(i)), count(classes[i][0]), share(classes[i][2]), share(classes[i][1])])));
}

function drawTrust() {
  const { reliability: { bins, gap }, before, split } = data.quality, multi = data.multilabel;
  const total = bins.reduce((sum, bin) => sum + bin[1], 0), tallest = Math.max(...bins.map(bin => bin[1]));
  byId("trust-about").append(
    `Each dot is a bin of the confidence on the ${splitWords[split]} nodes: mean confidence to the right, accuracy upwards. `,
    `Below the line the model is overconfident, above it underconfident. The expected calibration error is ${points(gap)} points`,
    before ? `; before calibration on the validation nodes it was ${points(before.gap)}${split === "val" ? ". These are the same nodes, so the error is optimistic." : "."}` : ".",
    multi ? " Every class of every node counts separately." : "");
  const series = (X, Y, of, kind) => [
    line(of.map(bin => bin[2]), of.map(bin => bin[3]), X, Y, kind),
    of.map(([, n, confidence, accuracy]) => s("circle", { class: `dot ${kind}`, cx: X(confidence), cy: Y(accuracy), r: 3 + 4 * Math.sqrt(n / Math.max(...of.map(bin => bin[1]))) },
      s("title", {}, `${plural(n, multi ? "probability" : "node", multi ? "probabilities" : "nodes")}: confidence ${percent(confidence)}, accuracy ${percent(accuracy)}`)))];
  byId("trust-chart").append(
    chart({ x: [0, 1], y: [0, 1], xName: multi ? "probability" : "confidence", yName: multi ? "share of true labels" : "accuracy", yText: t => percent(t, 0), xText: t => percent(t, 0), height: 350, label: "Reliability diagram" }, (X, Y) => [
      bins.map(([b, n]) => s("rect", { class: "count", x: X(b / 10) + 2, width: X(0.1) - X(0) - 4, y: Y(0.3 * n / tallest), height: Y(0) - Y(0.3 * n / tallest) })),
      s("line", { class: "line ideal", x1: X(0), y1: Y(0), x2: X(1), y2: Y(1) }),
      before && series(X, Y, before.bins, "second"), series(X, Y, bins, "first")]),
    before ? keys([["first", "after calibration"], ["second", "before"], ["ideal", "perfect calibration"]]) : "",
    h("p", { class: "hint" }, `The bars at the bottom show how many of the ${count(total)} ${multi ? "probabilities" : "nodes"} are in each bin${before ? ", after calibration" : ""}.`));
}
