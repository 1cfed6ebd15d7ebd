"""From a graph and a config to what the loop needs: Â, X and a fresh network."""

from __future__ import annotations

import scipy.sparse as sp
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ngcn.graph import Graph
from ngcn.nn import MODELS, Network, build_network
from ngcn.ops import Features, Operator, bag_of_words, normalize, normalize_rows
from ngcn.training.config import Config, ConfigError


def build_inputs(graph: Graph, config: Config) -> tuple[Operator, Features]:
    """Â as the model wants it normalised, and the features as the config wants them."""
    A_hat = normalize(graph.adjacency, MODELS[config.model].normalization)
    how = config.features
    if how == "auto":
        how = "bag" if sp.issparse(graph.features) and graph.features.min() >= 0 else "none"
    prepare = {"bag": bag_of_words, "row": normalize_rows, "none": lambda features: features}[how]
    return A_hat, Features(prepare(graph.features))


def neighbours_close(graph: Graph) -> Graph:
    """The graph with its nodes in an order that puts neighbours close to each other (reverse Cuthill-McKee).

    A sparse product gathers the rows of neighbours: this way they are mostly in the cache already.
    """
    both_ways = sp.csr_matrix(graph.adjacency.maximum(graph.adjacency.T))
    return graph.reordered(reverse_cuthill_mckee(both_ways, symmetric_mode=True))


def build(graph: Graph, config: Config) -> Network:
    """A network with fresh parameters, drawn from torch's default generator."""
    try:
        network = build_network(
            config.model,
            graph.features.shape[1],
            graph.classes,
            powers=config.powers,
            replicas=config.replicas,
            classifier=config.classifier,
            hidden=config.hidden,
            layers=config.layers,
            dropout=config.dropout,
            multilabel=graph.multilabel,
        )
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if config.intermediate and not network.classifier.mixes_classes:
        raise ConfigError(
            "intermediate supervision needs towers that each predict the classes, and those of a fully-connected "
            "classifier do not; use attention, harmonic, linear or identity."
        )
    return network
