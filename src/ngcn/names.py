"""What models and scores are called in front of people."""

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
