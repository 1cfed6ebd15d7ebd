"""The numbers of the paper, in %: Table 2 (results), Table 3 (nodes per class), Table 4 (deeper models)."""

TABLE2 = {  # accuracy on Citeseer, Cora and Pubmed, micro-F1 on PPI
    "manireg": {"citeseer": 60.1, "cora": 59.5, "pubmed": 70.7},
    "semiemb": {"citeseer": 59.6, "cora": 59.0, "pubmed": 71.1},
    "lp": {"citeseer": 45.3, "cora": 68.0, "pubmed": 63.0},
    "deepwalk": {"citeseer": 43.2, "cora": 67.2, "pubmed": 65.3},
    "ica": {"citeseer": 69.1, "cora": 75.1, "pubmed": 73.9},
    "planetoid": {"citeseer": 64.7, "cora": 75.7, "pubmed": 77.2},
    "gcn-kipf": {"citeseer": 70.3, "cora": 81.5, "pubmed": 79.0},
    "sage-lstm": {"ppi": 61.2},
    "sage-pool": {"ppi": 60.0},
    "dcnn": {"citeseer": 71.1, "cora": 81.3, "pubmed": 79.3, "ppi": 44.0},
    "gcn": {"citeseer": 71.2, "cora": 81.0, "pubmed": 78.8, "ppi": 46.2},
    "sage": {"citeseer": 63.5, "cora": 77.4, "pubmed": 77.6, "ppi": 59.8},
    "ngcn": {"citeseer": 72.2, "cora": 83.0, "pubmed": 79.5, "ppi": 46.8},
    "nsage": {"citeseer": 71.0, "cora": 81.8, "pubmed": 79.4, "ppi": 65.0},
}

TABLE3 = {  # (mean, standard deviation) on Pubmed with 5, 10, 20 and 100 nodes per class
    ("dcnn", "fc"): ((63.0, 1.0), (72.3, 0.4), (79.2, 0.2), (82.6, 0.3)),
    ("gcn", "identity"): ((64.6, 0.3), (70.0, 3.7), (79.1, 0.3), (81.8, 0.3)),
    ("sage", "identity"): ((69.0, 1.4), (72.0, 1.3), (77.2, 0.5), (80.7, 0.7)),
    ("ngcn", "attention"): ((65.1, 0.7), (71.2, 1.1), (79.7, 0.3), (83.0, 0.4)),
    ("ngcn", "fc"): ((65.0, 2.1), (71.7, 0.7), (79.7, 0.4), (82.9, 0.3)),
    ("nsage", "attention"): ((66.9, 0.4), (73.4, 0.7), (79.0, 0.3), (82.5, 0.2)),
    ("nsage", "fc"): ((70.7, 0.4), (74.1, 0.8), (78.5, 1.0), (81.8, 0.3)),
}

TABLE4 = {  # 2, 3 and 4 layers of 64
    ("citeseer", "gcn"): (69.9, 63.2, 65.9),
    ("citeseer", "sage"): (66.8, 66.0, 67.4),
    ("cora", "gcn"): (80.3, 80.0, 78.0),
    ("cora", "sage"): (76.1, 76.3, 75.7),
    ("pubmed", "gcn"): (76.2, 77.1, 78.1),
    ("pubmed", "sage"): (77.0, 77.6, 77.5),
    ("ppi", "gcn"): (46.0, 46.1, 46.6),
    ("ppi", "sage"): (65.8, 67.2, 65.0),
}
