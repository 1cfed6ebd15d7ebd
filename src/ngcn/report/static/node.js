// A node and why it got its class; the search for it; the list of the least certain ones.
const splitNames = ["", "training node", "validation node", "test node"];
const indexOf = new Map(nodes.id.map((id, i) => [id, i]));

function mistaken(node) { // where the truth is known and was not given to the training
  if (nodes.split[node] === 1) return false;
  if (!data.multilabel) return nodes.truth[node] >= 0 && nodes.truth[node] !== nodes.predicted[node];
  return nodes.split[node] > 1 && String(nodes.truth[node]) !== String(nodes.chosen[node]);
}
const names = classes => (classes.length ? classes.map(className).join(", ") : "none");
function truthWords(node) {
  if (data.multilabel) return nodes.split[node] ? `true: ${names(nodes.truth[node])}` : "";
  return nodes.truth[node] < 0 ? "true class unknown" : `true: ${className(nodes.truth[node])}`;
}
function scoreWords() {
  return { probability: "its probability", lead: "its lead (its logit, less the mean logit of all classes)", "log-odds": "its log-odds" }[data.score_is];
}
const quote = id => (/^[\w.\/:@%+=-]+$/.test(id) ? id : `'${id.replaceAll("'", `'"'"'`)}'`);
const command = id => h("code", {}, `${data.command}${id.startsWith("-") ? "=" : " "}${quote(id)}`);

function showNode(node, focus = false) {
  const c = nodes.predicted[node], id = nodes.id[node], known = data.multilabel ? nodes.split[node] > 0 : nodes.truth[node] >= 0;
  const chances = [];
  for (let i = 0; i < nodes.chances[node].length; i += 2) chances.push([nodes.chances[node][i], nodes.chances[node][i + 1] / 1000]);
  map.select(node);
  byId("node").replaceChildren(
    h("p", { class: "name" }, `Node ${id}`),
    data.multilabel
      ? h("p", { class: "verdict" }, `Predicted: ${names(nodes.chosen[node])}`)
      : h("p", { class: "verdict" }, badge(c), `, ${percent(chances[0][1])} sure`),
    h("p", { class: "note-block" },
      known && h("span", { class: mistaken(node) ? "wrong" : "right" }, mistaken(node) ? "✗ " : "✓ "), truthWords(node),
      nodes.split[node] ? ` · ${splitNames[nodes.split[node]]}` : "", map.place.has(node) ? "" : " · not on the map, which is a sample"),
    h("h3", {}, chances.length < data.classes.length ? `The ${chances.length} likeliest classes` : "Probabilities"),
    bars(chances.map(([k, p]) => ({ what: badge(k), size: p, number: percent(p), colour: colourOf(k) })), 1),
    votesOf(node, c), ...whyOf(node, c), meanings(c));
  if (focus) byId("node").focus({ preventScroll: true });
}

function votesOf(node, c) {
  const votes = nodes.votes[node].map(v => v / 1000), exact = data.score_is === "probability";
  return h("div", {}, h("h3", {}, `Votes of the scales for ${className(c)}`),
    bars(votes.map((vote, i) => ({ what: h("span", { title: reachOf(data.powers[i]) }, powerName(data.powers[i])), size: vote,
      number: exact ? percent(vote) : signed(vote, 2) }))),
    h("p", { class: "note-block" }, `Together ${exact ? percent(nodes.chances[node][1] / 1000) : signed(votes.reduce((a, b) => a + b, 0), 2)}, ${scoreWords()}.`));
}

function whyOf(node, c) {
  const why = data.explained[node];
  if (!why) {
    return [h("h3", {}, "Neighbours and features"),
      h("p", { class: "note-block" }, `Not in this page, which has them for ${count(Object.keys(data.explained).length)} of ${count(data.all_nodes)} nodes. This command gives them:`),
      h("p", {}, command(nodes.id[node]))];
  }
  const rows = [], points = x => `${signed(x, 2)}`;
  const last = Math.max(0, ...why.rings.filter(ring => Math.abs(ring[2]) >= 0.01).map(ring => ring[0]));
  for (const [distance, total, sum, strongest] of why.rings) {
    if (distance > last) continue;
    rows.push({ wide: distance === 0 ? "The node itself" : `${plural(distance, "edge")} away: ${plural(total, "node")}, together ${points(sum)}` });
    for (const [id, x] of strongest) if (Math.abs(x) >= 0.01 || distance === 0) rows.push({ what: indexOf.has(id) && distance ? linkTo(id) : id, size: x, number: points(x) });
  }
  const further = why.rings.filter(ring => ring[0] > last).reduce((sum, ring) => sum + ring[1], 0);
  if (further) rows.push({ wide: `Further away: ${plural(further, "node")}, less than 0.01 per distance` });
  return [
    h("h3", {}, `Neighbours, for (+) and against (−) ${className(c)}`), why.rings.length ? bars(rows) : h("p", { class: "note-block" }, "No node with features lies in reach."),
    h("h3", {}, `Features, for (+) and against (−) ${className(c)}`),
    why.features.length ? bars(why.features.map(([name, x, own]) => ({
      what: h("span", { title: `${points(own)} of it from the node itself` }, /^\d+$/.test(name) ? `feature ${name}` : name), size: x, number: points(x) })))
      : h("p", { class: "note-block" }, "No features lie in reach.")];
}

function meanings(c) {
  return h("details", {}, h("summary", {}, "What do these numbers mean?"),
    h("p", {}, data.score_is === "probability"
      ? `Votes: the probability that the towers on each power of Â give ${className(c)}, times the weight of that power. The parts add up to the probability, exactly.`
      : `Votes: the part of ${scoreWords()} that comes from the towers on each power of Â. The parts add up to it, exactly${data.classifier === "fc2" ? ", with the hidden units that are switched on at this node" : ""}.`),
    h("p", {}, `Neighbours: about how many percentage points the probability of ${className(c)} would lose if the features of that node were all 0 (gradient times input); a minus says that it would gain. Distance counts edges on the shortest path; the node itself is at 0.`),
    h("p", {}, "Features: the same, for the feature being 0 at this node and all around it. 0 is a word that is absent, or a standardised number at its mean."),
    h("p", {}, "The points are slopes, good for small changes; the command ", h("code", {}, "ngcn explain"), " also computes the exact probability without each of them."));
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
      list.append(h("li", { class: "none" }, `No node has ${input.value.trim()} in its id`,
        nodes.id.length < data.all_nodes ? `, of the ${count(nodes.id.length)} of ${count(data.all_nodes)} nodes in this page.` : "."));
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
    ? "The nodes whose classes are closest to undecided: the mean, over all classes, of how sure the model is of yes or no."
    : "The nodes whose likeliest class is least likely. Where a person can look at only a few, these are the ones.");
  const jump = node => h("button", { type: "button", class: "link", onclick: () => { showNode(node, true); byId(matchMedia("(max-width: 56rem)").matches ? "node" : "map").scrollIntoView(); } }, nodes.id[node]);
  const truth = node => (data.multilabel || nodes.truth[node] >= 0 ? truthWords(node).replace("true: ", "") || "–" : "–");
  byId("uncertain-table").append(data.multilabel
    ? table([["Node"], ["Sure", "number"], ["Likeliest class"], ["Probability", "number"]],
      data.uncertain.map(node => [jump(node), percent(nodes.confidence[node] / 1000), badge(nodes.chances[node][0]), percent(nodes.chances[node][1] / 1000)]))
    : table([["Node"], ["Prediction"], ["Sure", "number"], ["Runner-up"], ["", "number"], ["True class"]],
      data.uncertain.map(node => {
        const [c, p, d, q] = nodes.chances[node];
        return [jump(node), badge(c), percent(p / 1000), d === undefined ? "–" : badge(d), d === undefined ? "" : percent(q / 1000), truth(node)];
      }), null, "list"));
}
