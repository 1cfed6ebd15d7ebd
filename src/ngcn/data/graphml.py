"""GraphML and GEXF files, through networkx."""

from __future__ import annotations

import gzip
import warnings
import zlib
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from ngcn.data.adapters import from_networkx
from ngcn.data.parts import Parts
from ngcn.errors import DatasetError


def read_graphml(path: str | Path, name: str | None = None, **how: Any) -> Parts:
    """Read a .graphml or .gexf file, gzipped or not. Attributes of nodes are the columns of a table of nodes."""
    import networkx

    path = Path(path)
    read = networkx.read_gexf if ".gexf" in path.name.lower() else networkx.read_graphml
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
                G = read(file)
    except FileNotFoundError:
        raise DatasetError(f"There is no file {path}.") from None
    except (OSError, EOFError, zlib.error, ParseError) as error:
        raise DatasetError(f"{path} is damaged or truncated: {error}.") from None
    except Exception as error:  # networkx has no error class for invalid files
        raise DatasetError(f"{path} cannot be read by networkx: {error}.") from None
    if not len(G):
        raise DatasetError(f"{path} holds a graph without nodes.")
    if all(values.get("label") == node for node, values in G.nodes(data=True)):
        for _, values in G.nodes(data=True):  # GEXF's name of the node: neither a class nor a feature
            del values["label"]
    return from_networkx(G, name=name or path.name.split(".")[0], **how)
