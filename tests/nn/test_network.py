from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import nn
from torch_geometric.nn import GATConv, GCNConv

from ngcn.nn import GCN, SAGE, EachTower, Network, PyG, build_network
from ngcn.nn.classifiers import _MixedOdds
from ngcn.ops import Features, normalize
from ngcn.registry import MODELS

ALL = [
    (model, classifier)
    for model in ("ngcn", "nsage")
    for classifier in ("attention", "free-attention", "fc", "fc2", "harmonic", "linear")
]
ALL += [("gcn", "identity"), ("sage", "identity"), ("dcnn", "fc")]
ALL += [("mlp", "identity"), ("cheby", "identity"), ("walk-coefficients", "identity")]


def build(model: str, classifier: str, X: Features, **settings) -> Network:
    network = build_network(model, X.shape[1], 3, classifier=classifier, **settings).double().eval()
    for name, parameter in network.named_parameters():
        if "bias" in name:
            nn.init.normal_(parameter)
    return network


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("model", "classifier"), ALL)
def test_rows_are_what_the_whole_would_be(graph, X, model, classifier, bias):
    """Asking for some rows gives exactly those rows of the full result, and the same gradient."""
    network = build(model, classifier, X, bias=bias)
    A_hat = normalize(graph.adjacency, MODELS[model].normalization).double()
    rows = torch.tensor([7, 3, 11])
    weight = torch.randn(3, 3, dtype=torch.float64)
    gradients = []
    for logits in (network(A_hat, X)[rows], network(A_hat, X, rows)):
        gradients.append(torch.autograd.grad((logits * weight).sum(), list(network.parameters())))
    torch.testing.assert_close(network(A_hat, X, rows), network(A_hat, X)[rows])
    torch.testing.assert_close(gradients[1], gradients[0])


@pytest.mark.parametrize(("model", "classifier"), ALL)
def test_permuting_nodes_permutes_the_result(graph, model, classifier):
    X = Features(graph.features).double()
    network = build(model, classifier, X, bias=True)
    order = np.random.default_rng(0).permutation(graph.nodes)
    P = sp.eye_array(graph.nodes).tocsr()[order]
    how = MODELS[model].normalization
    result = network(normalize(graph.adjacency, how).double(), X)
    moved = network(
        normalize(sp.csr_array(P @ graph.adjacency @ P.T), how).double(),
        Features(sp.csr_array(P @ graph.features)).double(),
    )
    torch.testing.assert_close(moved, result[order], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("graph_model", [GCN, SAGE])
def test_replicas_are_independent(graph, X, graph_model):
    """Each tower has weights of its own: changing one tower's moves no other, and no two start alike."""
    network = Network(graph_model, X.shape[1], 3, powers=2, replicas=2, classifier="attention").double().eval()
    A_hat = normalize(graph.adjacency).double()
    before = network.towers(A_hat, X)
    assert not torch.allclose(before[:, 0], before[:, 1])
    with torch.no_grad():
        for (
            weight
        ) in network.graph_models.parameters():  # (powers, features, replicas * out) or (powers, replicas, in, out)
            second = weight[0].unflatten(1, (2, -1))[:, 1] if weight.dim() == 3 else weight[0, 1]
            second.mul_(-2)
    after = network.towers(A_hat, X)
    assert not torch.allclose(after[:, 1], before[:, 1])
    torch.testing.assert_close(after[:, [0, 2, 3]], before[:, [0, 2, 3]])


@pytest.mark.parametrize("multilabel", [False, True])
def test_attention_mixes_probabilities(graph, X, multilabel):
    network = build("ngcn", "attention", X, powers=3, replicas=2, multilabel=multilabel)
    with torch.no_grad():
        network.classifier.scores.normal_()
    A_hat = normalize(graph.adjacency).double()
    squash = torch.sigmoid if multilabel else (lambda Z: Z.softmax(dim=-1))
    m = network.classifier.scores.softmax(dim=0)
    expected = (m[:, None] * squash(network.towers(A_hat, X))).sum(dim=1)
    torch.testing.assert_close(squash(network(A_hat, X)), expected)


@pytest.mark.parametrize("classifier", ["attention", "harmonic", "linear"])
def test_scale_weights_sum_to_one(X, classifier):
    weights = build("ngcn", classifier, X).scale_weights()
    assert list(weights) == [0, 1, 2, 3, 4, 5]
    assert sum(weights.values()) == pytest.approx(1)


def test_fixed_weights_follow_the_paper(X):
    harmonic = build("ngcn", "harmonic", X, replicas=3).scale_weights()
    assert [harmonic[k] / harmonic[1] for k in range(1, 6)] == pytest.approx([1 / k for k in range(1, 6)])
    assert harmonic[0] < harmonic[1] / 5
    linear = build("ngcn", "linear", X).scale_weights()
    assert [linear[k] / linear[1] for k in range(6)] == pytest.approx([(6 - k) / 5 for k in range(6)])
    assert build("ngcn", "fc", X).scale_weights() is None


def test_both_halves_of_sage_see_what_one_mask_leaves(graph, X):
    sage = SAGE((0,), 1, (X.shape[1], 4), dropout=0.5, activation=torch.nn.Identity()).double().train()
    with torch.no_grad():
        for own, of_neighbours in zip(sage.own.parameters(), sage.neighbours.parameters(), strict=True):
            of_neighbours.copy_(-own)  # on power 0 a node's neighbour is the node, so that nothing is left
    assert sage(normalize(graph.adjacency, "row").double(), X).abs().max() < 1e-12


def test_training_mode_drops_and_evaluation_does_not(graph, X):
    network = build("ngcn", "fc", X)
    A_hat = normalize(graph.adjacency).double()
    assert torch.equal(network(A_hat, X), network(A_hat, X))
    network.train()
    assert not torch.equal(network(A_hat, X), network(A_hat, X))


@pytest.mark.parametrize("multilabel", [False, True])
def test_calibration_comes_last(graph, X, multilabel):
    network = build("ngcn", "attention", X, powers=2, replicas=1, multilabel=multilabel)
    A_hat = normalize(graph.adjacency).double()
    before = network(A_hat, X)
    torch.testing.assert_close(before, network.classifier(network.towers(A_hat, X)))  # it begins as the identity
    assert network.calibration.slope.shape == ((3,) if multilabel else (1,))
    network.calibration.slope.copy_(torch.tensor([2.0, 0.5, 1.0]) if multilabel else torch.tensor([2.0]))
    network.calibration.offset.copy_(torch.tensor([0.0, -1.0, 3.0]))
    expected = before * network.calibration.slope + network.calibration.offset
    torch.testing.assert_close(network(A_hat, X), expected)
    torch.testing.assert_close(network.combine(network.towers(A_hat, X)), expected)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": "gnc"}, "model must be one of .* did you mean 'gcn'"),
        ({"model": "ngcn", "classifier": "softmax"}, "classifier must be one of .*, not 'softmax'"),
        ({"model": "gcn", "powers": 3}, "single tower"),
        ({"model": "dcnn", "layers": 2}, "one layer"),
        ({"model": "dcnn", "classifier": "attention"}, "one output per class"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(settings, words):
    with pytest.raises(ValueError, match=words):
        build_network(features=5, classes=3, **settings)


class OwnConvolution(nn.Module):
    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.W = nn.Linear(width_in, width_out, bias=False)

    def forward(self, P, Z):
        return P @ self.W(Z)


@pytest.mark.parametrize("widths", [(3,), (5, 3)])
@pytest.mark.parametrize("classifier", ["attention", "fc"])
@pytest.mark.parametrize("rows", [None, torch.tensor([4, 0, 17])])
def test_the_fused_kernels_compute_the_loop_of_algorithm_1(graph, X, widths, classifier, rows):
    """A network of one module per tower equals the built-in GCN with the same weights."""
    settings = {"powers": 3, "replicas": 2, "widths": widths, "classifier": classifier}
    loop = Network(EachTower(OwnConvolution), X.shape[1], 3, **settings).double().eval()
    fused = Network(GCN, X.shape[1], 3, **settings).double().eval()
    fused.classifier.load_state_dict(loop.classifier.state_dict())
    for i, layer in enumerate(fused.graph_models.layers):
        by_power = [[tower.layers[i].W.weight.detach().T for tower in towers] for towers in loop.graph_models.values()]
        W = torch.stack([torch.cat(towers, dim=1) if i == 0 else torch.stack(towers) for towers in by_power])
        assert W.shape == layer.linear.weight.shape
        layer.linear.weight.data = W
    A_hat = normalize(graph.adjacency).double()
    torch.testing.assert_close(loop.towers(A_hat, X, rows), fused.towers(A_hat, X, rows))
    torch.testing.assert_close(loop(A_hat, X, rows), fused(A_hat, X, rows))


def test_pyg_layer_on_explicit_powers(graph, X):
    """A GCNConv that is handed Â^k itself equals the built-in tower."""
    settings = {"powers": 3, "replicas": 1, "widths": (3,), "classifier": "attention"}
    towers = EachTower(lambda i, o: PyG(GCNConv(i, o, normalize=False, bias=False)))
    network = Network(towers, X.shape[1], 3, **settings).double().eval()
    built_in = Network(GCN, X.shape[1], 3, **settings).double().eval()
    W = torch.stack([tower[0].layers[0].module.lin.weight.detach().T for tower in network.graph_models.values()])
    built_in.graph_models.layers[0].linear.weight.data = W
    A_hat = normalize(graph.adjacency).double()
    torch.testing.assert_close(network(A_hat, X), built_in(A_hat, X))


def test_gat_in_the_towers_learns(graph):
    """A network of GATs on pruned powers: gradients reach every tower and the loss falls."""

    def gat(width_in: int, width_out: int) -> PyG:
        return PyG(GATConv(width_in, width_out, edge_dim=1), largest=5)

    X, A_hat = Features(graph.features), normalize(graph.adjacency)
    network = Network(EachTower(gat), X.shape[1], 3, 3, 1, (3,), classifier="attention", dropout=0.0)
    labels = torch.from_numpy(graph.labels)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = nn.functional.nll_loss(network(A_hat, X), labels)
        loss.backward()
        towers = [tower[0].layers[0].module for tower in network.graph_models.values()]
        assert all(tower.lin.weight.grad.abs().sum() > 0 for tower in towers)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]


def test_mixed_odds_part_by_part_have_the_right_gradient(monkeypatch):
    monkeypatch.setattr(_MixedOdds, "ROWS", 3)
    log_m = torch.randn(4, 1, dtype=torch.float64).log_softmax(dim=0).requires_grad_()
    Z = torch.randn(7, 4, 2, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(_MixedOdds.apply(log_m, Z).sigmoid(), (log_m.exp() * Z.sigmoid()).sum(dim=1))
    assert torch.autograd.gradcheck(_MixedOdds.apply, (log_m, Z))
