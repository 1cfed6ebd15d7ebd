// Helpers: elements (text is never markup), number formats, class markers.
const data = JSON.parse(document.getElementById("data").textContent);
const nodes = data.nodes;
// A part of the page that these data have nothing for
function leaveOut(id) {
  byId(id).remove();
  document.querySelector(`nav [href="#${id}"]`).remove();
}
const known = node => (data.multilabel ? nodes.split[node] > 0 : nodes.truth[node] >= 0);
const labelled = nodes.id.some((_, node) => known(node)); // whether any node has a label
const isNew = new Set(data.new); // nodes that the graph of the training does not have
const byId = id => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "width%") element.style.width = `${value}%`;
    else if (name === "left%") element.style.left = `calc(${value}% - ${value / 50}px)`;
    else if (name === "background") element.style.background = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return element;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const count = n => n.toLocaleString("en-US");
const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + "s"}`;
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)}\u00a0%`;
const signed = (x, digits) => (Math.abs(x) < 0.5 * 10 ** -digits ? "" : x > 0 ? "+" : "−") + Math.abs(x).toFixed(digits);

// A class has one of 20 colours and one of 5 shapes: 100 classes look different.
const COLOURS = 20;
const SHAPES = ["circle", "square", "triangle", "diamond", "cross"];
const outline = { // around 0, 0, of about equal area, within a radius of 1
  square: [[-.8, -.8], [.8, -.8], [.8, .8], [-.8, .8]],
  triangle: [[0, -1.05], [1, .75], [-1, .75]],
  diamond: [[0, -1.15], [1.15, 0], [0, 1.15], [-1.15, 0]],
  cross: [[-.35, -1], [.35, -1], [.35, -.35], [1, -.35], [1, .35], [.35, .35], [.35, 1], [-.35, 1], [-.35, .35],
    [-1, .35], [-1, -.35], [-.35, -.35]],
};
const colourOf = c => (c < 0 ? "var(--none)" : `var(--c${c % COLOURS})`);
const shapeOf = c => (c < 0 ? "circle" : SHAPES[(c + Math.floor(c / COLOURS)) % SHAPES.length]);

function mark(c) {
  const shape = outline[shapeOf(c)];
  return s("svg", { class: "mark", viewBox: "-1.3 -1.3 2.6 2.6", "aria-hidden": "true" },
    shape ? s("polygon", { points: shape.map(p => p.join(",")).join(" "), fill: colourOf(c) })
      : s("circle", { r: 0.95, fill: colourOf(c) }));
}
const className = c => data.classes[c];
// Long names wrap between words
const breakable = name => name.split(/(?<=[_\-./])/).map((word, i) => (i ? [h("wbr"), word] : word));
const badge = c => h("span", { class: "badge" }, mark(c), h("span", {}, breakable(className(c))));

// A score as text: the loss is not a share.
const scoreText = (value, name = data.metric) => (value === null || value === undefined ? "–" : name === "Loss" ? value.toFixed(3) : percent(value));

// A bar of this share of the width, and a tick; negative shares have another colour.
const track = (share, tick, colour) => h("span", { class: "track", "aria-hidden": "true" },
  h("i", { class: share < 0 ? "against" : null, "width%": 100 * Math.abs(share), background: colour }),
  tick !== undefined && h("b", { "left%": 100 * tick }));

// Rows with a name, a bar relative to the largest size or to a given one, and a number.
function bars(rows, given) {
  const largest = given || Math.max(...rows.map(row => Math.abs(row.size || 0)), 1e-9);
  return h("div", { class: "rows" }, rows.map(row => row.wide ? h("p", { class: "wide" }, row.wide) : [
    h("span", { class: "what" }, row.what),
    track(row.size / largest, undefined, row.colour),
    h("span", { class: "number" }, row.number),
  ]));
}
function table(head, rows, caption, kind) {
  return h("table", { class: kind }, caption && h("caption", {}, caption),
    h("thead", {}, h("tr", {}, head.map(([text, kind]) => h("th", { scope: "col", class: kind }, text)))),
    h("tbody", {}, rows.map(row => h("tr", {}, row.map((cell, i) =>
      h(i ? "td" : "th", { class: head[i][1], scope: i ? null : "row" }, cell))))));
}
