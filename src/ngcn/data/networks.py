"""GraphML and GEXF files, through networkx."""

from __future__ import annotations

import gzip
import warnings
import zlib
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from ngcn.data.adapters import from_networkx
from ngcn.data.catalog import DatasetError
from ngcn.graph import Graph


def read_network(path: str | Path, *, name: str | None = None, **how: Any) -> Graph:
    """The graph in a .graphml or .gexf file, gzipped or not: attributes of nodes are columns as in a table of nodes."""
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
    except (OSError, EOFError, zlib.error, ParseError) as trouble:
        raise DatasetError(f"{path} is damaged or cut off: {trouble}.") from None
    except Exception as trouble:  # networkx has no class for files that it cannot make sense of
        raise DatasetError(f"{path} cannot be understood by networkx: {trouble}.") from None
    if not len(G):
        raise DatasetError(f"{path} holds a graph without nodes.")
    if all(values.get("label") == node for node, values in G.nodes(data=True)):
        for _, values in G.nodes(data=True):  # GEXF calls nodes so; it is no label, nor a feature
            del values["label"]
    return from_networkx(G, name=name or path.name.split(".")[0], **how)
