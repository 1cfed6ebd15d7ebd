"""The documentation as a site: `make docs`. Pages are Markdown; the reference is generated from the code."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import diagrams  # noqa: E402
import reference_pages  # noqa: E402

import ngcn  # noqa: E402

project, author = "ngcn", "the ngcn contributors"
copyright = author
release = version = ngcn.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"ngcn {version}"
html_static_path = ["_static"]
html_css_files, html_js_files = ["site.css"], ["site.js"]
html_show_sourcelink = False
html_math_renderer = "mathml"

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_execution_excludepatterns = ["gallery/debian.ipynb"]  # its data is not part of the package
nb_merge_streams = True
os.environ |= {"MATPLOTLIBRC": str(HERE / "gallery"), "JUPYTER_PATH": str(HERE / "gallery")}  # figures, a quiet kernel

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the signature has the shapes; the arguments are described below it
napoleon_google_docstring, napoleon_numpy_docstring = True, False
nitpicky = False


def _math(self: Any, node: nodes.math) -> None:
    """Equations as MathML, which browsers draw by themselves: no script and no font from elsewhere."""
    block = isinstance(node, nodes.math_block)
    drawn = tex2mathml(node.astext().replace(r"\dots", r"\ldots"), as_block=block)  # it knows no \dots
    # One character: without a font for mathematics, browsers place exponents of an accented letter too high
    self.body.append(re.sub(r"<mover[^>]*>\s*<mi>A</mi>\s*<mo[^>]*>[^<]*</mo>\s*</mover>", "<mi>Â</mi>", drawn))
    raise nodes.SkipNode


def _only_text_outside(app: Sphinx, page: str, source: list[str]) -> None:
    """Links to files of the repository work where it is browsed; here, their text remains."""
    folder = Path(app.env.doc2path(page)).parent

    def link(found: re.Match[str]) -> str:
        return found[0] if (folder / found[2]).resolve().is_relative_to(HERE) else found[1]

    source[0] = re.sub(r"\[([^\]]+)\]\((\.\./[^)#]*)[^)]*\)", link, source[0])


def _skip_member(app: Sphinx, what: str, name: str, *rest: Any) -> bool | None:
    """Leave out scikit-learn's metadata routing, which every estimator inherits."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def _generate(app: Sphinx) -> None:
    reference_pages.write(HERE / "reference")
    (HERE / "contributing" / "layers.svg").write_text(diagrams.layers(diagrams.contract()), encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.connect("autodoc-skip-member", _skip_member)
    app.connect("source-read", _only_text_outside)
    app.add_html_math_renderer("mathml", inline_renderers=(_math, None), block_renderers=(_math, None))
    app.connect("builder-inited", _generate)
