"""The drawings of the documentation, as SVG: N-GCN in one picture, and the layers of the import contract.

python docs/diagrams.py     # writes docs/get-started/ngcn.svg, which README.md shows as well

Colours are CSS classes. A page that includes a drawing sets them by its theme; by itself, a drawing follows the system.
"""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
STYLE = """
.diagram { color: #1f2328; --soft: #737b84; --box: #eef1f5; --near: #8a5fc7;
  --one: #0072b2; --two: #d55e00; --three: #009e73; }
@media (prefers-color-scheme: dark) {
  .diagram { color: #e6e8eb; --soft: #9aa2ab; --box: #262b31; --near: #b18ce6;
    --one: #56a9e0; --two: #f08a4b; --three: #3cc299; }
}
.diagram text { fill: currentColor; font: 14px system-ui, "Segoe UI", sans-serif; }
.diagram .title { font-weight: 600; }
.diagram .small { font-size: 12px; fill: var(--soft); }
.diagram .math { font-style: italic; font-family: "STIX Two Text", Georgia, serif; font-size: 16px; }
.diagram .line { stroke: var(--soft); fill: none; stroke-width: 1.3; }
.diagram .box, .diagram .far { fill: var(--box); stroke: var(--soft); }
.diagram .near { fill: var(--near); fill-opacity: .5; stroke: var(--near); }
.diagram .self { fill: var(--near); stroke: currentColor; stroke-width: 1.8; }
.diagram .c0 { fill: var(--one); } .diagram .c1 { fill: var(--two); } .diagram .c2 { fill: var(--three); }
"""

NODES = {
    0: (0, 0),
    1: (26, -20),
    2: (-24, -22),
    3: (4, 30),
    4: (52, -4),
    5: (-52, -6),
    6: (34, 34),
    7: (-34, 32),
    8: (0, -46),
}
EDGES = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 5), (3, 6), (3, 7), (1, 8), (2, 8), (4, 6), (5, 7)]
NEAR = {0: {0}, 1: {0, 1, 2, 3}, 2: {0, 1, 2, 3, 4, 5, 6, 7, 8}}
OPINIONS = {0: (0.55, 0.25, 0.20), 1: (0.20, 0.70, 0.10), 2: (0.15, 0.62, 0.23)}  # an example
WEIGHTS = {0: 0.2, 1: 0.5, 2: 0.3}


def network() -> str:
    """N-GCN in one picture: towers on powers of Â, each seeing further, and a classifier that mixes them."""
    parts = [
        _text(80, 26, "Graph", "title", "middle"),
        _text(255, 26, "a layer sees", "title", "middle"),
        _text(455, 26, "r GCNs per power", "title", "middle"),
        _text(640, 26, "probabilities", "title", "middle"),
        _text(750, 26, "weights", "title", "middle"),
        _text(855, 26, "prediction", "title", "middle"),
        *_graph(80, 220, None),
        _text(80, 290, "features X, some labels,", "small", "middle"),
        _text(80, 306, "one node to predict", "small", "middle"),
    ]
    words = {0: "the node itself", 1: "walks of one step", 2: "walks of two steps"}
    for k in range(3):
        y = 102 + 132 * k
        parts += [
            f'<path class="line" d="M138 {220 + 10 * (k - 1)} C165 {220 + 10 * (k - 1)} 160 {y} 185 {y}"/>',
            *_graph(252, y, NEAR[k]),
            _text(252, y + 62, words[k], "small", "middle"),
            _arrow(315, y, 352),
            *(f'<rect class="box" x="{360 + s}" y="{y - 27 - s}" width="186" height="54" rx="6"/>' for s in (10, 5, 0)),
            _math(453, y + 6, f"Â{_up(k)} σ(Â{_up(k)} X W{_down(1)}) W{_down(2)}"),
            _arrow(562, y, 596),
            *_bars(605, y, OPINIONS[k]),
            f'<path class="line" d="M680 {y} C740 {y} 740 {y} 752 {y} C790 {y} 775 234 812 234"/>',
            f'<circle cx="737" cy="{y}" r="17" class="box"/>',
            _math(737, y + 5, f"m{_down(k)}"),
        ]
    mixed = tuple(sum(WEIGHTS[k] * OPINIONS[k][c] for k in range(3)) for c in range(3))
    parts += [
        *_bars(820, 234, mixed),
        _text(845, 282, "Σ mₖ pₖ", "small", "middle"),
        _text(252, 450, "and so on, up to power K-1", "small", "middle"),
    ]
    title = (
        "N-GCN: one GCN per power of the normalised adjacency matrix; their probabilities are mixed by learned weights."
    )
    return _svg(930, 462, title, parts)


def layers(contract: list[str]) -> str:
    """The layers of the package: each imports those below it only."""
    rows = [row.replace(" ", "").split("|") for row in contract]
    end = 40 * len(rows)
    parts = [f'<path class="line" d="M32 24 V{end + 4}" marker-end="url(#tip)"/>']
    parts += [
        f'<text class="small" transform="translate(22 {end / 2}) rotate(-90)" text-anchor="middle">imports</text>'
    ]
    for i, names in enumerate(rows):
        width = (560 - 10 * (len(names) - 1)) / len(names)
        for j, name in enumerate(names):
            x, y = 60 + j * (width + 10), 12 + 40 * i
            parts += [f'<rect class="box" x="{x:g}" y="{y}" width="{width:g}" height="32" rx="6"/>']
            parts += [_text(x + width / 2, y + 21, name, "", "middle")]
    return _svg(640, 40 * len(rows) + 20, "The layers of the package. Each imports only those below it.", parts)


def contract() -> list[str]:
    """The layers of pyproject.toml, top first."""
    (found,) = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return found["layers"]


def _up(k: int) -> str:
    return f'<tspan baseline-shift="super" font-size="11">{k}</tspan>'


def _down(k: int) -> str:
    return f'<tspan baseline-shift="sub" font-size="11">{k}</tspan>'


def _math(x: int, y: int, markup: str) -> str:
    return f'<text class="math" x="{x}" y="{y}" text-anchor="middle">{markup}</text>'


def _graph(x: int, y: int, near: set[int] | None) -> list[str]:
    parts = [
        f'<path class="line" d="M{x + NODES[a][0]} {y + NODES[a][1]} L{x + NODES[b][0]} {y + NODES[b][1]}"/>'
        for a, b in EDGES
    ]
    given = {1: "c1", 5: "c0", 6: "c1", 8: "c2"} if near is None else {}
    for node, (dx, dy) in NODES.items():
        kind = "self" if node == 0 and near else given.get(node, "near" if near and node in near else "far")
        parts.append(f'<circle class="{kind}" cx="{x + dx}" cy="{y + dy}" r="{9 if node == 0 else 7}"/>')
    if near is None:
        parts.append(_text(x, y + 5, "?", "title", "middle"))
    return parts


def _bars(x: int, y: int, values: tuple[float, ...]) -> list[str]:
    return [
        f'<rect class="c{i}" x="{x}" y="{y - 27 + 19 * i}" width="{75 * value:g}" height="14" rx="2"/>'
        for i, value in enumerate(values)
    ]


def _arrow(x: int, y: int, to: int) -> str:
    return f'<path class="line" d="M{x} {y} H{to}" marker-end="url(#tip)"/>'


def _text(x: float, y: float, text: str, kind: str, anchor: str) -> str:
    return f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(width: int, height: int, title: str, parts: list[str]) -> str:
    tip = '<defs><marker id="tip" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
    tip += '<path d="M0 0 L8 4 L0 8 z" style="fill: var(--soft)"/></marker></defs>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="diagram" viewBox="0 0 {width} {height}" role="img">'
    return "\n".join([head, f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>", tip, *parts, "</svg>", ""])


if __name__ == "__main__":
    (HERE / "get-started" / "ngcn.svg").write_text(network(), encoding="utf-8")
