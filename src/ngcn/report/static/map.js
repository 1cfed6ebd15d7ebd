// The map: points on a canvas, with hover, click, arrow keys, zoom, and a filter by class.
const map = {
  canvas: byId("canvas"), tip: byId("tip"), colourBy: "predicted", only: null, selected: null, hovered: null,
  zoom: 1, middle: [500, 500],
  place: new Map(data.map.node.map((node, i) => [node, i])), // the index of a node among the points

  classOf(node) {
    if (this.colourBy === "predicted") return nodes.predicted[node];
    const truth = nodes.truth[node];
    if (this.colourBy === "truth") return data.multilabel ? (truth.length ? truth[0] : -1) : truth;
    return mistaken(node) ? 1 : -1;
  },
  span: [data.map.x, data.map.y].map(all => Math.max(1, all.reduce((a, b) => Math.max(a, b)) - all.reduce((a, b) => Math.min(a, b)))),
  scale() { return Math.min((this.width - 24) / this.span[0], (this.height - 24) / this.span[1]) * this.zoom; },
  at(i) {
    const k = this.scale();
    return [this.width / 2 + (data.map.x[i] - this.middle[0]) * k, this.height / 2 - (data.map.y[i] - this.middle[1]) * k];
  },
  resize() {
    const box = this.canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    this.width = box.width; this.height = box.height;
    this.canvas.width = Math.round(box.width * ratio); this.canvas.height = Math.round(box.height * ratio);
    this.pen = this.canvas.getContext("2d");
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw();
  },
  draw() {
    const style = getComputedStyle(document.documentElement), colour = name => style.getPropertyValue(name).trim();
    const none = colour("--none"), ink = colour("--ink"), colours = [...Array(COLOURS).keys()].map(c => colour(`--c${c}`));
    const pen = this.pen, radius = (data.map.node.length > 2500 ? 2.6 : data.map.node.length > 400 ? 3.4 : 5) * Math.min(1.8, this.zoom ** 0.4);
    pen.clearRect(0, 0, this.width, this.height);
    const front = node => this.classOf(node) >= 0 && (this.only === null || this.classOf(node) === this.only);
    const layer = node => (isNew.has(node) ? 2 : front(node) ? 1 : 0); // grey points are below the others, new ones above
    for (const now of [0, 1, 2]) {
      data.map.node.forEach((node, i) => {
        if (layer(node) !== now) return;
        const later = front(node), c = later ? this.classOf(node) : -1, [x, y] = this.at(i);
        if (x < -9 || y < -9 || x > this.width + 9 || y > this.height + 9) return;
        pen.globalAlpha = later ? 0.85 : 0.45;
        pen.fillStyle = c < 0 ? none : colours[c % COLOURS];
        this.shape(x, y, now === 2 ? 1.4 * radius : radius, this.colourBy === "mistakes" ? "circle" : shapeOf(c));
        pen.fill();
        if (isNew.has(node)) { pen.lineWidth = 1.5; pen.strokeStyle = ink; pen.globalAlpha = 1; pen.stroke(); }
      });
    }
    pen.globalAlpha = 1;
    for (const node of [this.hovered, this.selected]) {
      if (node === null || !this.place.has(node)) continue;
      const [x, y] = this.at(this.place.get(node));
      pen.lineWidth = node === this.selected ? 2.5 : 1.5;
      pen.strokeStyle = ink;
      this.shape(x, y, radius + 4.5, "circle");
      pen.stroke();
    }
  },
  shape(x, y, r, name) {
    this.pen.beginPath();
    if (name === "circle") this.pen.arc(x, y, r, 0, 2 * Math.PI);
    else outline[name].forEach(([dx, dy], i) => this.pen[i ? "lineTo" : "moveTo"](x + 1.1 * r * dx, y + 1.1 * r * dy));
    this.pen.closePath();
  },
  nearest(x, y, within) {
    let best = null, least = within * within;
    data.map.node.forEach((node, i) => {
      if (this.only !== null && this.classOf(node) !== this.only) return;
      const [px, py] = this.at(i), d = (px - x) ** 2 + (py - y) ** 2;
      if (d < least) { best = node; least = d; }
    });
    return best;
  },
  hover(node) {
    if (node === this.hovered) return;
    this.hovered = node;
    this.tip.hidden = node === null;
    if (node !== null) {
      const [x, y] = this.at(this.place.get(node));
      this.tip.replaceChildren(h("strong", {}, nodes.id[node]), isNew.has(node) ? " · new" : "", h("br"), `${className(nodes.predicted[node])}, confidence ${percent(nodes.confidence[node] / 1000, 0)}`, h("br"), truthWords(node));
      this.tip.style.left = `${Math.max(0, Math.min(x + 12, this.width - this.tip.offsetWidth - 4))}px`;
      this.tip.style.top = `${y + 14 + this.tip.offsetHeight > this.height ? y - this.tip.offsetHeight - 12 : y + 14}px`;
    }
    this.canvas.style.cursor = node === null ? "" : "pointer";
    this.draw();
  },
  setZoom(zoom) {
    this.zoom = Math.max(1, Math.min(24, zoom));
    if (this.zoom === 1) this.middle = [500, 500];
    else if (this.place.has(this.selected)) this.lookAt(this.selected);
    this.canvas.style.touchAction = this.zoom > 1 ? "none" : "";
    this.draw();
  },
  lookAt(node) { const i = this.place.get(node); this.middle = [data.map.x[i], data.map.y[i]]; },
  select(node) {
    this.selected = node;
    if (this.zoom > 1 && this.place.has(node)) this.lookAt(node);
    this.draw();
  },
  go(dx, dy) { // to the closest point in this direction, from the selected one or the middle
    const from = this.place.has(this.selected) ? this.at(this.place.get(this.selected)) : [this.width / 2, this.height / 2];
    let best = null, least = Infinity;
    data.map.node.forEach((node, i) => {
      if (node === this.selected || (this.only !== null && this.classOf(node) !== this.only)) return;
      const [x, y] = this.at(i), along = (x - from[0]) * dx + (y - from[1]) * dy;
      const across = Math.abs((x - from[0]) * dy) + Math.abs((y - from[1]) * dx);
      if (along > 0 && along >= across && along + 2 * across < least) { best = node; least = along + 2 * across; }
    });
    if (best !== null) showNode(best);
  },
};

function drawLegend() {
  const many = data.classes.length > 14, present = [...new Set(data.map.node.map(node => map.classOf(node)))];
  const shown = map.colourBy === "mistakes" ? [] : data.classes.map((_, c) => c).filter(c => !many || present.includes(c)).slice(0, 14);
  const unknown = present.includes(-1);
  byId("legend").replaceChildren(
    ...shown.map(c => h("li", {}, h("button", { type: "button", "aria-pressed": String(map.only === c),
      onclick: () => { map.only = map.only === c ? null : c; drawLegend(); map.draw(); byId("legend").children[shown.indexOf(c)].firstChild.focus(); } }, mark(c), className(c)))),
    ...(many && map.colourBy !== "mistakes" ? [h("li", { class: "more" }, `and ${data.classes.length - shown.length} more; hover to see`)] : []),
    ...(map.colourBy === "mistakes" ? [h("li", { class: "more badge" }, mistakeMark(), "wrong outside training"), h("li", { class: "more badge" }, mark(-1), "right, in training, or unknown")] : []),
    ...(map.colourBy === "truth" && unknown ? [h("li", { class: "more badge" }, mark(-1), "unknown")] : []),
    ...(data.map.node.some(node => isNew.has(node)) ? [h("li", { class: "more badge" }, newMark(), "new node")] : []));
}
const mistakeMark = () => s("svg", { class: "mark", viewBox: "-1.3 -1.3 2.6 2.6", "aria-hidden": "true" }, s("circle", { r: 0.95, fill: "var(--c1)" }));
const newMark = () => s("svg", { class: "mark", viewBox: "-1.3 -1.3 2.6 2.6", "aria-hidden": "true" }, s("circle", { r: 0.95, fill: "none", stroke: "var(--ink)", "stroke-width": 0.4 }));

function setUpMap() {
  const part = data.map.node.length < data.all_nodes;
  byId("map-about").append(
    `Each point is a node: ${data.map.of}, reduced by PCA to 50 dimensions, then by t-SNE to two. Nodes with similar outputs are close together. `,
    part ? `The map shows a random sample of ${count(data.map.node.length)} of ${count(data.all_nodes)} nodes, ${isNew.size ? "new ones first" : "including the least certain"}.` : `It shows all ${count(data.all_nodes)} nodes.`);
  const choices = [["predicted", data.multilabel ? "Most probable class" : "Prediction"], ...(data.multilabel ? [] : [["truth", "True class"]]), ["mistakes", "Mistakes"]];
  if (!labelled) byId("colour-by").remove();
  else byId("colour-by").append(...choices.map(([key, text]) => h("button", { type: "button", "aria-pressed": String(key === map.colourBy),
    onclick: event => {
      map.colourBy = key; map.only = null;
      for (const button of byId("colour-by").children) button.setAttribute("aria-pressed", String(button === event.currentTarget));
      drawLegend(); map.draw();
    } }, text)));
  byId("zoom").append(...[["+", "Zoom in", () => map.zoom * 1.6], ["−", "Zoom out", () => map.zoom / 1.6], ["All", "Show all nodes", () => 1]]
    .map(([text, label, next]) => h("button", { type: "button", "aria-label": label, onclick: () => map.setZoom(next()) }, text)));

  const where = event => { const box = map.canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  let drag = null;
  map.canvas.addEventListener("pointerdown", event => { drag = { from: where(event), middle: map.middle, moved: false }; });
  map.canvas.addEventListener("pointermove", event => {
    const [x, y] = where(event);
    if (drag && map.zoom > 1 && event.buttons) {
      const dx = x - drag.from[0], dy = y - drag.from[1];
      drag.moved = drag.moved || Math.hypot(dx, dy) > 4;
      map.middle = [drag.middle[0] - dx / map.scale(), drag.middle[1] + dy / map.scale()];
      map.hover(null); map.draw();
    } else map.hover(map.nearest(x, y, 14));
  });
  map.canvas.addEventListener("pointerleave", () => { drag = null; map.hover(null); });
  map.canvas.addEventListener("click", event => {
    const node = map.nearest(...where(event), 20), moved = drag && drag.moved;
    drag = null;
    if (!moved && node !== null) showNode(node);
  });
  map.canvas.addEventListener("keydown", event => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const zoom = { "+": map.zoom * 1.6, "=": map.zoom * 1.6, "-": map.zoom / 1.6, 0: 1 }[event.key];
    if (step) map.go(...step);
    else if (zoom) map.setZoom(zoom);
    else if (event.key === "Enter") byId("node").focus();
    else return;
    event.preventDefault();
  });
  new ResizeObserver(() => map.resize()).observe(byId("stage"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => map.draw());
  drawLegend(); map.resize();
}
