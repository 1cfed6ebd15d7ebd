"""What the settings `model`, `classifier` and `recipe` may name. A new one is one file, and one line here.

Help, the checks of a config, training, explanations, export and the estimator all read these three tables. An entry
names its implementation as "module:attribute"; it is imported when it is needed, so that help is printed without torch.
Code of your own may add the object itself (docs/guides/extend.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

DEFAULT_MODEL = "mixed"
CUSTOM = "custom"  # the model of a network that was passed to `train`

# The defaults that most models and recipes share; None for patience means that training never stops early, None for
# metric that the recipe chooses.
SHARED: Mapping[str, Any] = {
    "powers": 6,
    "replicas": 4,
    "classifier": "attention",
    "hidden": 16,
    "layers": 2,
    "steps": 600,
    "lr": 0.01,
    "dropout": 0.5,
    "drop_nodes": 0.0,
    "l2": 1e-5,
    "intermediate": False,
    "patience": 100,
    "bias": True,
    "shared_mask": True,
    "mix": None,
    "metric": None,
    "balance": False,
    "refit": False,
    "batch": "auto",
    "walks": 8,
    "batch_size": 512,
}


@dataclass(frozen=True)
class ModelSpec:
    """A named model: a network of graph models, or a baseline.

    Args:
        title: the name in tables.
        summary: a few words for `ngcn train --help` and the docs.
        graph_model: makes the graph models of all towers: `GCN`, `SAGE`, or `EachTower` around a layer of your own.
            None for a baseline, and for the networks that are passed to `train` directly.
        baseline: the class of a baseline, see `ngcn.baselines.Baseline`.
        normalization: which Â the graph models take: symmetric, row or laplacian. A mixed network names its own.
        hidden_outputs: towers have one layer, which ends in hidden units and not in classes.
        exports: `ngcn export` knows how to write it in plain PyTorch.
        defaults: settings that differ from those that models share.
        recipe: the recipe that it is trained with by default.

    Example:
        >>> from ngcn import MODELS
        >>> MODELS["nsage"].title, MODELS["nsage"].normalization
        ('N-SAGE', 'row')
    """

    title: str
    summary: str = ""
    graph_model: str | Callable[..., Any] | None = None
    baseline: str | type | None = None
    normalization: Literal["symmetric", "row", "laplacian"] = "symmetric"
    hidden_outputs: bool = False
    exports: bool = False
    defaults: Mapping[str, Any] = field(default_factory=dict)
    recipe: str = "standard"

    @property
    def takes_new_nodes(self) -> bool:
        """Whether nodes that training has not seen can be linked to a trained graph, as the estimator does."""
        return self.graph_model is not None and self.normalization != "laplacian"


@dataclass(frozen=True)
class RecipeSpec:
    """A named recipe: what training minimises, which step it keeps, its own default settings, and the model that it
    trains if none is named.

    Example:
        >>> from ngcn import RECIPES
        >>> RECIPES["kipf"].model, RECIPES["kipf"].defaults["steps"]
        ('gcn', 200)
    """

    summary: str
    recipe: str | Callable[..., Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    model: str = DEFAULT_MODEL


def load(entry: Any) -> Any:
    """The object that an entry of a registry stands for.

    >>> load("ngcn.text:count")(2, "seed")
    '2 seeds'
    """
    if not isinstance(entry, str):
        return entry
    module, _, name = entry.partition(":")
    return getattr(import_module(module), name)


_GCN, _SAGE = "ngcn.nn.gcn:GCN", "ngcn.nn.sage:SAGE"
_ONE = {"powers": [1], "replicas": 1, "classifier": "identity"}


def _baseline(title: str, summary: str, where: str) -> ModelSpec:
    return ModelSpec(title, summary, baseline=f"ngcn.baselines.{where}")


MODELS: dict[str, ModelSpec] = {
    "mixed": ModelSpec(
        "Mixed network",
        "GCNs, SAGEs and a network on the features alone",
        "ngcn.nn.mixed:Mix",
        exports=True,
        defaults={"mix": ("gcn:symmetric:0,1,2,4", "sage:walk:1,2,3"), "powers": None, "replicas": 1, "hidden": 64},
        recipe="independent",
    ),
    "ngcn": ModelSpec("N-GCN", "a network of GCNs (Algorithm 4)", _GCN, exports=True),
    "nsage": ModelSpec("N-SAGE", "a network of SAGEs (Algorithm 5)", _SAGE, normalization="row", exports=True),
    "gcn": ModelSpec("GCN", "one GCN on Â", _GCN, exports=True, defaults=_ONE),
    "sage": ModelSpec("SAGE", "one SAGE on Â", _SAGE, normalization="row", exports=True, defaults=_ONE),
    "dcnn": ModelSpec(
        "DCNN",
        "one layer on each power of the random walk",
        _GCN,
        normalization="row",
        hidden_outputs=True,
        exports=True,
        defaults={"replicas": 1, "classifier": "fc", "layers": 1},
    ),
    "mlp": ModelSpec(
        "MLP", "features only, no edges", _GCN, exports=True, defaults={**_ONE, "powers": [0], "l2": 1e-3}
    ),
    "cheby": ModelSpec(
        "Chebyshev",
        "polynomials of the Laplacian",
        "ngcn.nn.chebyshev:Chebyshev",
        normalization="laplacian",
        defaults={**_ONE, "powers": 4, "l2": 2.5e-4},
    ),
    "nmlp": ModelSpec(
        "N-MLP",
        "a network of MLPs on features that are propagated once",
        "ngcn.nn.mlp:MLP",
        defaults={"powers": [0, 2, 4, 8], "replicas": 1, "drop_nodes": 0.5},
    ),
    "walk-coefficients": ModelSpec(
        "Walk coefficients",
        "one GCN on a learned mixture of powers",
        "ngcn.nn.polynomial:WalkCoefficients",
        defaults={**_ONE, "powers": 6},
    ),
    CUSTOM: ModelSpec("Custom network", "a network that is passed to train(network=...)"),
    # The other rows of the paper's tables
    "lp": _baseline("LP", "label propagation", "label_propagation:LabelPropagation"),
    "label-spreading": _baseline("Label spreading", "label spreading", "label_propagation:LabelSpreading"),
    "manireg": _baseline("ManiReg", "manifold regularisation", "manifold:ManifoldRegularization"),
    "semiemb": _baseline("SemiEmb", "semi-supervised embedding", "semi_embedding:SemiEmbedding"),
    "deepwalk": _baseline("DeepWalk", "skip-gram on random walks", "deepwalk:DeepWalk"),
    "ica": _baseline("ICA", "iterative classification", "ica:ICA"),
    "planetoid": _baseline("Planetoid", "embeddings that predict contexts", "planetoid:Planetoid"),
    "sage-lstm": _baseline("SAGE-LSTM", "GraphSAGE with an LSTM aggregator", "sampled_sage:SageLSTM"),
    "sage-pool": _baseline("SAGE-pool", "GraphSAGE with max pooling", "sampled_sage:SagePool"),
}

CLASSIFIERS: dict[str, str | Callable[..., Any]] = {
    "attention": "ngcn.nn.classifiers:Attention",
    "free-attention": "ngcn.nn.classifiers:FreeAttention",
    "fc": "ngcn.nn.classifiers:FullyConnected",
    "fc2": "ngcn.nn.classifiers:TwoLayers",
    "harmonic": "ngcn.nn.classifiers:Harmonic",
    "linear": "ngcn.nn.classifiers:Linear",
    "identity": "ngcn.nn.classifiers:Identity",
}

RECIPES: dict[str, RecipeSpec] = {
    "standard": RecipeSpec(
        "cross entropy of the mixture; keeps the step with the best validation score, ties broken by the loss",
        "ngcn.training.recipes.standard:Standard",
    ),
    "independent": RecipeSpec(
        "every tower by itself, with its own best step; their weights are fitted on the validation nodes",
        "ngcn.training.recipes.independent:Independent",
        {"l2": 1e-3, "patience": 60},
    ),
    "consistency": RecipeSpec(
        "for about 20 labels per class: the towers also learn from each other, on all nodes",
        "ngcn.training.recipes.consistency:Consistency",
        {"steps": 1000, "l2": 1e-3},
        model="nmlp",
    ),
    "self-consistency": RecipeSpec(
        "consistency in which each tower learns from itself alone, as in GRAND",
        "ngcn.training.recipes.self_consistency:SelfConsistency",
        {"steps": 1000, "l2": 1e-3},
        model="nmlp",
    ),
    "paper": RecipeSpec(
        "as the paper: 600 steps, no bias; keeps the first step with the best validation score",
        "ngcn.training.recipes.paper:Paper",
        {"patience": None, "bias": False, "shared_mask": False},
        model="ngcn",
    ),
    "kipf": RecipeSpec(
        "as Kipf and Welling trained GCN: L2 on the first layer, stopped early by the validation loss",
        "ngcn.training.recipes.kipf:Kipf",
        {"steps": 200, "l2": 2.5e-4, "patience": 10, "features": "row", "bias": False, "shared_mask": False},
        model="gcn",
    ),
}

LOGS = ("tensorboard", "mlflow", "csv")  # where `ngcn train --log` writes every step

ALIASES: dict[str, Mapping[str, str]] = {"gcn-kipf": {"model": "gcn", "recipe": "kipf"}}  # other names of models


Entries = tuple[dict[str, ModelSpec], dict[str, Any], dict[str, RecipeSpec]]


def entries(model: str, classifier: str | None, recipe: str | None) -> Entries:
    """The entries of a config. A new process needs them, since it does not know what was added in this one."""
    classifiers = {} if classifier is None else {classifier: CLASSIFIERS[classifier]}
    recipes = {} if recipe is None else {recipe: RECIPES[recipe]}
    return {model: MODELS[model]}, classifiers, recipes


def add(entries: Entries) -> None:
    """Add the entries that another process sent."""
    MODELS.update(entries[0])
    CLASSIFIERS.update(entries[1])
    RECIPES.update(entries[2])


def network_names() -> list[str]:
    """The models that are networks and can be built by name."""
    return [name for name, spec in MODELS.items() if spec.graph_model is not None]


def baseline_names() -> list[str]:
    return [name for name, spec in MODELS.items() if spec.baseline is not None]


def title_of(model: str, recipe: str | None = None) -> str:
    """
    >>> title_of("ngcn"), title_of("lp"), title_of("gcn", "kipf")
    ('N-GCN', 'LP', 'GCN, recipe kipf')
    """
    return MODELS[model].title + ("" if recipe in (None, MODELS[model].recipe) else f", recipe {recipe}")
