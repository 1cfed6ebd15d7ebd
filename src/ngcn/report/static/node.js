// The explanation of a node, the search, and the list of the least certain nodes.
const splitNames = ["", "training node", "validation node", data.trained_on ? "labelled" : "test node"];
const indexOf = new Map(nodes.id.map((id, i) => [id, i]));

const wrong = node => known(node) && (data.multilabel
  ? String(nodes.truth[node]) !== String(nodes.chosen[node]) : nodes.truth[node] !== nodes.predicted[node]);
const mistaken = node => nodes.split[node] !== 1 && wrong(node); // outside training
const names = classes => (classes.length ? classes.map(className).join(", ") : "none");
function truthWords(node) {
  if (!known(node)) return data.multilabel || !labelled ? "" : "true class unknown";
  return `true: ${data.multilabel ? names(nodes.truth[node]) : className(nodes.truth[node])}`;
}
function scoreWords() {
  return { probability: "its probability", lead: "its lead (its logit, less the mean logit of all classes)", "log-odds": "its log-odds" }[data.score_is];
}
const newTag = () => [" ", h("span", { class: "new", title: "not in the graph of the training" }, "new")];
const quote = id => (/^[\w.\/:@%+=-]+$/.test(id) ? id : `'${id.replaceAll("'", `'"'"'`)}'`);
const command = id => h("code", {}, data.command ? `${data.command}${id.startsWith("-") ? "=" : " "}${quote(id)}` : `explain_node(model, ${JSON.stringify(id)}, graph=graph)`);

function showNode(node, focus = false) {
  const c = nodes.predicted[node], id = nodes.id[node];
  const probabilities = [];
  for (let i = 0; i < nodes.probabilities[node].length; i += 2) probabilities.push([nodes.probabilities[node][i], nodes.probabilities[node][i + 1] / 1000]);
  map.select(node);
  byId("node").replaceChildren(
    h("p", { class: "name" }, `Node ${id}`, isNew.has(node) && newTag()),
    data.multilabel
      ? h("p", { class: "verdict" }, `Predicted: ${names(nodes.chosen[node])}${nodes.chosen[node].length ? "" : `; ${className(c)} is the most likely`}`)
      : h("p", { class: "verdict" }, badge(c), `, probability ${percent(probabilities[0][1])}`),
    h("p", { class: "note-block" },
      known(node) && h("span", { class: wrong(node) ? "wrong" : "right" }, wrong(node) ? "✗ " : "✓ "),
      [truthWords(node), splitNames[nodes.split[node]], map.place.has(node) ? "" : "not on the map, which shows a sample"].filter(Boolean).join(" · ")),
    h("h3", {}, probabilities.length < data.classes.length ? `The ${probabilities.length} most probable classes` : "Probabilities"),
    bars(probabilities.map(([k, p]) => ({ what: badge(k), size: p, number: percent(p), colour: colourOf(k) })), 1),
    votesOf(node, c), ...whyOf(node, c), meanings(c));
  if (focus) byId("node").focus({ preventScroll: true });
}

function votesOf(node, c) {
  const votes = nodes.votes[node].map(v => v / 1000), exact = data.score_is === "probability";
  return h("div", {}, h("h3", {}, `Votes of the towers for ${className(c)}`),
    bars(votes.map((vote, i) => ({ what: h("span", { title: reachOf(data.powers[i]) }, powerName(data.powers[i])), size: vote,
      number: exact ? percent(vote) : signed(vote, 2) }))),
    h("p", { class: "note-block" }, `Sum: ${exact ? percent(nodes.probabilities[node][1] / 1000) : signed(votes.reduce((a, b) => a + b, 0), 2)}, ${scoreWords()}.`));
}

// The labels of a neighbour, or its predicted classes
const classTag = (classes, predicted) => h("span", { class: "badge soft" },
  classes.length ? mark(classes[0]) : null, h("span", {}, names(classes), predicted ? ", predicted" : ""));

function whyOf(node, c) {
  const why = data.explained[node];
  if (!why) {
    return [h("h3", {}, "Neighbours and features"),
      h("p", { class: "note-block" }, `This page contains them for ${count(Object.keys(data.explained).length)} of ${count(data.all_nodes)} nodes. For this node, run:`),
      h("p", {}, command(nodes.id[node]))];
  }
  const rows = [], effect = x => signed(x, 2);
  const last = Math.max(0, ...why.rings.filter(ring => Math.abs(ring[2]) >= 0.01).map(ring => ring[0]));
  for (const [distance, total, sum, strongest] of why.rings) {
    if (distance > last) continue;
    rows.push({ wide: distance === 0 ? "The node itself" : `${plural(distance, "edge")} away: ${plural(total, "node")}, together ${effect(sum)}` });
    for (const [id, x, classes, predicted] of strongest) {
      if (Math.abs(x) >= 0.01 || distance === 0) rows.push({ what: [indexOf.has(id) && distance ? linkTo(id) : id, " ", classTag(classes, predicted)], size: x, number: effect(x) });
    }
  }
  const further = why.rings.filter(ring => ring[0] > last).reduce((sum, ring) => sum + ring[1], 0);
  if (further) rows.push({ wide: `Further away: ${plural(further, "node")}, less than 0.01 per distance` });
  return [
    h("h3", {}, `Neighbours, for (+) and against (−) ${className(c)}`), why.rings.length ? bars(rows) : h("p", { class: "note-block" }, "No node with features is in reach."),
    h("h3", {}, `${data.identity ? "Nodes within reach, whose identity is their feature" : "Features"}, for (+) and against (−) ${className(c)}`),
    why.features.length ? bars(why.features.map(([name, x, points, own]) => ({
      what: h("span", { title: `first-order estimate ${effect(points)}, of which ${effect(own)} is due to the node itself` }, data.identity ? (indexOf.has(name) ? linkTo(name) : name) : /^\d+$/.test(name) ? `feature ${name}` : name), size: x, number: effect(x) })))
      : h("p", { class: "note-block" }, "No features are in reach.")];
}

function meanings(c) {
  return h("details", {}, h("summary", {}, "What do these numbers mean?"),
    h("p", {}, data.score_is === "probability"
      ? `Votes: the probability that the towers give ${className(c)}, times their weight${data.quality && data.quality.before ? "; calibration scales all votes alike" : ""}. Their sum is exactly the predicted probability.`
      : `Votes: the contribution of the towers to ${scoreWords()}. Their sum is exact${data.classifier === "fc2" ? ", for the hidden units that are active at this node" : ""}.`),
    h("p", {}, `Neighbours: about how many percentage points the probability of ${className(c)} would lose if ${data.identity ? "the model did not know the node, whose edges stay" : "all features of the node were 0"} (gradient times input); if negative, it would gain. The distance is the number of edges on the shortest path. The class beside a node is its label, or a predicted one.`),
    h("p", {}, data.identity
      ? "Nodes within reach: this graph has no features, so every node is a feature of its own. The bars show exactly how many points the probability loses if the model does not know the node, whose edges stay."
      : "Features: exactly how many points it loses if the feature is 0 at every node. 0 means that a word is absent, or that a standardised number is at its mean."),
    h("p", {}, "The points of neighbours are first-order estimates; the command ", h("code", {}, "ngcn explain"), " also computes the exact probabilities."));
}
const linkTo = id => h("button", { type: "button", class: "link", onclick: () => showNode(indexOf.get(id), true) }, id);

function setUpSearch() {
  const input = byId("search"), list = byId("found"), lower = nodes.id.map(id => id.toLowerCase());
  let found = [], active = -1;
  const close = () => { list.hidden = true; input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); active = -1; };
  const choose = node => { input.value = nodes.id[node]; close(); showNode(node); };
  const point = to => {
    active = to;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === to)));
    if (to < 0) input.removeAttribute("aria-activedescendant"); else input.setAttribute("aria-activedescendant", `found-${to}`);
  };
  input.addEventListener("input", () => {
    const text = input.value.trim().toLowerCase();
    if (!text) return close();
    const rank = i => (lower[i] === text ? 0 : lower[i].startsWith(text) ? 1 : 2);
    found = [...lower.keys()].filter(i => lower[i].includes(text)).sort((a, b) => rank(a) - rank(b) || a - b).slice(0, 8);
    list.replaceChildren(...found.map((node, i) => h("li", { role: "option", id: `found-${i}`, "aria-selected": "false",
      onmousedown: event => event.preventDefault(), onclick: () => choose(node) }, nodes.id[node], " · ", className(nodes.predicted[node]))));
    if (!found.length) {
      list.append(h("li", { class: "none" }, `No id contains ${input.value.trim()}`,
        nodes.id.length < data.all_nodes ? `; this page has ${count(nodes.id.length)} of ${count(data.all_nodes)} nodes.` : "."));
    }
    list.hidden = false; active = -1; input.setAttribute("aria-expanded", "true");
  });
  input.addEventListener("keydown", event => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (!found.length || list.hidden) return;
      point((active + (event.key === "ArrowDown" ? 1 : active < 0 ? found.length : found.length - 1)) % found.length);
      event.preventDefault();
    } else if (event.key === "Enter" && !list.hidden && found.length) choose(found[Math.max(active, 0)]);
    else if (event.key === "Escape") close();
  });
  input.addEventListener("blur", close);
}

function drawUncertain() {
  byId("uncertain-about").append(data.multilabel
    ? "The nodes with the lowest confidence: the mean over all classes of max(p, 1 - p)."
    : "The nodes with the lowest confidence: good candidates for a check by hand.", isNew.size ? " New nodes come first." : "");
  const jump = node => h("button", { type: "button", class: "link", onclick: () => { showNode(node, true); byId(matchMedia("(max-width: 56rem)").matches ? "node" : "map").scrollIntoView(); } }, nodes.id[node]);
  const link = node => [jump(node), isNew.has(node) && newTag()];
  const truth = node => (known(node) ? truthWords(node).replace("true: ", "") : "–");
  byId("uncertain-table").append(data.multilabel
    ? table([["Node"], ["Confidence", "number"], ["Most probable class"], ["Probability", "number"]],
      data.uncertain.map(node => [link(node), percent(nodes.confidence[node] / 1000), badge(nodes.probabilities[node][0]), percent(nodes.probabilities[node][1] / 1000)]))
    : table([["Node"], ["Prediction"], ["Confidence", "number"], ["Second"], ["", "number"], ...(labelled ? [["True class"]] : [])],
      data.uncertain.map(node => {
        const [c, p, d, q] = nodes.probabilities[node];
        return [link(node), badge(c), percent(p / 1000), d === undefined ? "–" : badge(d), d === undefined ? "" : percent(q / 1000), ...(labelled ? [breakable(truth(node))] : [])];
      }), null, "list"));
}
