"""The claims of the paper, and whether our results support them."""

from __future__ import annotations

from collections import defaultdict
from statistics import mean
from typing import NamedTuple

from ngcn.experiments import EXPERIMENTS, attention, noise, sensitivity, table2, table3, table4
from ngcn.experiments.cell import CITATION, NETWORKS, REPLICAS, Cell, Plan
from ngcn.experiments.section import Runs, all_runs, chosen, paper_rule
from ngcn.experiments.store import Store
from ngcn.registry import title_of
from ngcn.text import count, dataset_title, percent, plus_minus

Judgement = tuple[str, bool | None, str]  # claim, whether it held (None if too few cells are finished), evidence
Comparison = tuple[bool, str]  # whether one comparison supports the claim, evidence


class Verdict(NamedTuple):
    """Whether a claim held: None if too few cells are finished; preliminary until ``complete``."""

    experiment: str
    claim: str
    held: bool | None
    evidence: str
    complete: bool

    @property
    def word(self) -> str:
        """
        >>> Verdict("noise", "", True, "", complete=False).word, Verdict("noise", "", False, "", complete=True).word
        ('held so far', 'did not hold')
        """
        if self.held is None:
            return "unknown"
        return ("held" if self.held else "did not hold") + ("" if self.complete else " so far")


def verdicts(store: Store, plan: Plan) -> list[Verdict]:
    """Each claim of the paper, judged by the results in the store."""

    def judged(experiment: str, judgement: Judgement, rows: tuple[str, ...] = ()) -> Verdict:
        def cells(plan: Plan) -> dict[str, Cell]:
            found = EXPERIMENTS[experiment].cells(plan)
            return {cell.key: cell for cell in found if not rows or table2.row_of(cell) in rows}

        claim, held, evidence = judgement
        asked = cells(plan)
        complete = cells(Plan()).keys() <= asked.keys() and all(cell in store for cell in asked.values())
        return Verdict(experiment, claim, held, evidence or f"run `ngcn reproduce {experiment}`", complete)

    return [
        *(judged("table2", _better(store, plan, *pair), pair) for pair in (("ngcn", "gcn"), ("nsage", "sage"))),
        judged("table3", _few_and_many(store, plan)),
        judged("sensitivity", _walks(store, plan)),
        judged("noise", _tolerance(store, plan)),
        judged("attention", _shift(store, plan)),
        judged("table4", _depth(store, plan)),
    ]


def _all(claim: str, comparisons: list[Comparison | None]) -> Judgement:
    """A claim that holds if all comparisons support it; None is a comparison with missing cells."""
    known = [comparison for comparison in comparisons if comparison]
    held = all(supports for supports, _ in known) if len(known) == len(comparisons) > 0 else None
    return claim, held, "; ".join(evidence for _, evidence in known)


def _where(plan: Plan) -> str:
    """The datasets that a claim is judged by, if these are not all."""
    return "" if set(CITATION) <= set(plan.datasets) else f" on {' and '.join(map(dataset_title, plan.datasets))}"


def _seeds(*runs: Runs) -> str:
    fewest, most = min(map(len, runs)), max(map(len, runs))
    return count(fewest, "seed") if fewest == most else f"{fewest} to {most} seeds"


def _better(store: Store, plan: Plan, network: str, model: str) -> Judgement:
    """Compares the means over seeds of the configurations chosen on validation; also lists the paper's rule."""

    def compare(dataset: str) -> Comparison | None:
        found = [all_runs(store, table2.groups(each, dataset, plan)) for each in (network, model)]
        if not all(found):
            return None
        ours, theirs = map(chosen, found)
        rule = " against ".join(f"{100 * paper_rule(runs)['test']:.1f}" for runs in found)
        scores = f"{ours} against {theirs} ({_seeds(ours, theirs)}; by the paper's rule {rule})"
        return ours.test > theirs.test, f"{dataset_title(dataset)} {scores}"

    claim = f"{title_of(network)} beats {title_of(model)}{_where(plan) or ' on every dataset'} (Table 2)."
    claim, held, evidence = _all(claim, [compare(dataset) for dataset in plan.datasets])
    not_run = evidence and "ppi" not in plan.datasets and not _where(plan)
    return claim, held, evidence + ("; PPI was not run" if not_run else "")


def _few_and_many(store: Store, plan: Plan) -> Judgement:
    """For each number of labels, compares the best of N-GCN and N-SAGE with the best of the other models."""

    def compare(per_class: int) -> Comparison | None:
        found = {row: Runs.of(store, table3.group(*row, per_class, plan)) for row in table3.PUBLISHED}
        if not all(found.values()):
            return None
        ours, theirs = (
            max((row for row in found if (row[0] in NETWORKS) == mixed), key=lambda row: found[row].test)
            for mixed in (True, False)
        )
        scores = " against ".join(f"{table3.name(*row)} {found[row]}" for row in (ours, theirs))
        return found[ours].test > found[theirs].test, f"{per_class} per class: {scores} ({_seeds(*found.values())})"

    claim = "N-GCN and N-SAGE do well with few labels and with many: the best of them beats DCNN, GCN, SAGE (Table 3)."
    return _all(claim, [compare(per_class) for per_class in table3.PER_CLASS])


def _walks(store: Store, plan: Plan) -> Judgement:
    """Compares K > 1, r = 1 with K = 1, r > 1: the means over the finished points."""

    def compare(model: str, dataset: str) -> Comparison | None:
        walks, capacity = (
            [runs for K, r in points if (runs := sensitivity.runs_at(store, model, dataset, K, r, plan))]
            for points in ([(K, 1) for K in sensitivity.steps(plan)], [(1, r) for r in REPLICAS if r > 1])
        )
        if not walks or not capacity:
            return None
        walked, wide = (mean(runs.test for runs in points) for points in (walks, capacity))
        scores = f"{_apart(walked, wide)} ({_seeds(*walks, *capacity)})"
        return walked > wide, f"{title_of(model)} on {dataset_title(dataset)} {scores}"

    claim = f"Random walks help more than capacity: K > 1, r = 1 beats K = 1, r > 1{_where(plan)} (sensitivity)."
    return _all(claim, [compare(*panel) for panel in sensitivity.panels_of(plan)])


def _apart(one: float, other: float) -> str:
    """Two numbers with one decimal, or with more if they would look equal.

    >>> _apart(70.44, 70.01), _apart(67.273, 67.275)
    ('70.4 against 70.0', '67.27 against 67.28')
    """
    digits = next((digits for digits in (1, 2, 3) if round(one, digits) != round(other, digits)), 1)
    return f"{one:.{digits}f} against {other:.{digits}f}"


def _tolerance(store: Store, plan: Plan) -> Judgement:
    """Compares models on random walks with GCN and SAGE, with 50 % and 90 % of the features removed."""
    claim = "Models on random walks tolerate the removal of features better, and the gap grows with the share removed."
    gaps, evidence = [], []
    for share in noise.TELLING:
        found = {model: Runs.of(store, noise.group(model, share, plan)) for model in noise.ROWS}
        if not all(found.values()):
            return claim, None, ""
        walks = min(found[model].test for model in ("ngcn", "nsage", "dcnn"))
        others = max(found[model].test for model in ("gcn", "sage"))
        gaps.append(walks - others)
        evidence.append(
            f"{percent(share)} removed: the worst of N-GCN, N-SAGE and DCNN {walks:.1f}, the better of GCN and SAGE "
            f"{others:.1f} ({_seeds(*found.values())})"
        )
    none, half, most = gaps
    return claim, most > half > max(none, 0), "; ".join(evidence)


def _shift(store: Store, plan: Plan) -> Judgement:
    """Compares the mean power, weighted by attention."""
    claim = "Attention shifts to higher powers when features are removed."
    seeds = {share: attention.weights(store, plan, share) for share in noise.TELLING}
    if not all(seeds.values()):
        return claim, None, ""
    powers = {
        share: [sum(power * weight for power, weight in enumerate(weights)) for weights in each]
        for share, each in seeds.items()
    }
    means = ", ".join(f"{plus_minus(each, digits=2)} with {percent(share)} removed" for share, each in powers.items())
    none, half, most = map(mean, powers.values())
    equal = (len(seeds[0.0][0]) - 1) / 2
    return claim, none < half < most, f"mean power {means}; {equal:.2f} if all weights are equal"


def _depth(store: Store, plan: Plan) -> Judgement:
    """Held unless a model is better with three and with four layers than with two, on all datasets."""
    gains: dict[str, list[bool]] = defaultdict(list)

    def compare(dataset: str, model: str) -> Comparison | None:
        runs = [Runs.of(store, table4.group(dataset, model, layers, plan)) for layers in table4.LAYERS]
        if not all(runs):
            return None
        gains[model].append(runs[0].test < min(runs[1].test, runs[2].test))
        means = ", ".join(f"{one.test:.1f}" for one in runs)
        return True, f"{title_of(model)} on {dataset_title(dataset)} {means} with 2, 3, 4 layers ({_seeds(*runs)})"

    claim = f"Depth does not consistently help GCN or SAGE: 3 and 4 layers are not always better than 2{_where(plan)}"
    claim, judged, evidence = _all(f"{claim} (Table 4).", [compare(*row) for row in table4.rows(plan)])
    return claim, judged and not any(map(all, gains.values())), evidence
