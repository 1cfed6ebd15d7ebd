"""What models, scores and numbers of things are called in front of people."""

MODELS = {
    "ngcn": "N-GCN",
    "nsage": "N-SAGE",
    "gcn": "GCN",
    "sage": "SAGE",
    "dcnn": "DCNN",
    "mlp": "MLP",
    "cheby": "Chebyshev",
    "walk-coefficients": "Walk coefficients",
}
METRICS = {"accuracy": "Accuracy", "micro_f1": "Micro-F1", "macro_f1": "Macro-F1"}


def dataset_title(dataset: str) -> str:
    """
    >>> dataset_title("cora"), dataset_title("ppi")
    ('Cora', 'PPI')
    """
    return "PPI" if dataset == "ppi" else dataset.capitalize()


def count(number: int, what: str) -> str:
    """
    >>> count(1, "seed"), count(20, "seed")
    ('1 seed', '20 seeds')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """
    >>> percent(0.5)
    '50 %'
    """
    return f"{100 * share:.0f} %"


def title_of(model: str) -> str:
    """What a model or a baseline is called.

    >>> title_of("ngcn"), title_of("lp")
    ('N-GCN', 'LP')
    """
    from ngcn.baselines import BASELINES  # here, since it takes long to import

    return MODELS[model] if model in MODELS else BASELINES[model].title
