"""What the paper claims, and whether it held."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import mean

from ngcn.experiments import attention, noise, sensitivity, table2, table4
from ngcn.experiments.grid import CITATION, REPLICAS, STEPS, Plan
from ngcn.experiments.scores import Runs, chosen, paper_rule
from ngcn.experiments.store import Store
from ngcn.names import MODELS, count


@dataclass(frozen=True)
class Verdict:
    """``held`` is None where too little has been run to tell, and not the last word where not all has been."""

    claim: str
    held: bool | None
    evidence: str
    complete: bool = False

    @property
    def word(self) -> str:
        """
        >>> Verdict("", True, "").word, Verdict("", False, "", complete=True).word, Verdict("", None, "").word
        ('held so far', 'did not hold', 'not known yet')
        """
        if self.held is None:
            return "not known yet"
        return ("held" if self.held else "did not hold") + ("" if self.complete else " so far")


def verdicts(store: Store, plan: Plan) -> list[Verdict]:
    """Each claim of the paper, judged by what is in the store."""
    found = [
        (table2, _better(store, plan, "ngcn", "gcn")),
        (table2, _better(store, plan, "nsage", "sage")),
        (sensitivity, _walks(store, plan)),
        (noise, _tolerance(store, plan)),
        (attention, _shift(store, plan)),
        (table4, _depth(store, plan)),
    ]
    complete = {experiment: all(cell in store for cell in experiment.cells(plan)) for experiment, _ in found}
    return [
        replace(
            verdict,
            complete=complete[experiment],
            evidence=verdict.evidence or f"`ngcn reproduce {experiment.__name__.split('.')[-1]}` will tell",
        )
        for experiment, verdict in found
    ]


def _better(store: Store, plan: Plan, network: str, model: str) -> Verdict:
    """By the mean over seeds of the configuration that validation chose; the paper's rule is told beside it."""
    claim = f"{MODELS[network]} beats {MODELS[model]} on every dataset (Table 2)."
    evidence, better = [], []
    for dataset in plan.datasets:
        found = {
            name: [runs for group in table2.groups(name, dataset, plan) if len(runs := Runs.of(store, group))]
            for name in (network, model)
        }
        if not all(found.values()):
            continue
        ours, theirs = (chosen(runs) for runs in found.values())
        rule = [100 * paper_rule(runs)["test"] for runs in found.values()]
        better.append(ours.test > theirs.test)
        evidence.append(
            f"{dataset.capitalize()} {ours.test:.1f} against {theirs.test:.1f} ({_seeds(ours, theirs)}; by the paper's "
            f"rule {rule[0]:.1f} against {rule[1]:.1f})"
        )
    return Verdict(claim, all(better) if len(better) == len(plan.datasets) else None, "; ".join(evidence))


def _seeds(*runs: Runs) -> str:
    fewest, most = min(map(len, runs)), max(map(len, runs))
    return count(fewest, "seed") if fewest == most else f"{fewest} to {most} seeds"


def _walks(store: Store, plan: Plan) -> Verdict:
    """K > 1 with r = 1 against K = 1 with r > 1, each by the mean over its points."""
    claim = "Random walks help more than capacity: K > 1, r = 1 beats K = 1, r > 1 (sensitivity)."
    evidence, better = [], []
    steps = sensitivity.QUICK_STEPS if plan.quick else STEPS
    panels = [(dataset, model) for dataset in CITATION if dataset in plan.datasets for model in ("ngcn", "nsage")]
    for dataset, model in panels:
        walks = [sensitivity.runs_at(store, dataset, model, K, 1, plan) for K in steps]
        capacity = [sensitivity.runs_at(store, dataset, model, 1, r, plan) for r in REPLICAS if r > 1]
        if not all(walks) or not all(capacity):
            continue
        walked, wide = (mean(runs.test for runs in points if runs) for points in (walks, capacity))
        better.append(walked > wide)
        seeds = _seeds(*(runs for runs in (*walks, *capacity) if runs))
        evidence.append(f"{MODELS[model]} on {dataset.capitalize()} {walked:.1f} against {wide:.1f} ({seeds})")
    return Verdict(claim, all(better) if len(better) == len(panels) else None, "; ".join(evidence))


def _tolerance(store: Store, plan: Plan) -> Verdict:
    """With half of the features gone, and with nine tenths: walkers against GCN and SAGE, and the gap."""
    claim = "Models on unmodified random walks tolerate the removal of features better, the more the more is gone."
    gaps, evidence = [], []
    for share in (0.0, 0.5, 0.9):
        found = {model: Runs.of(store, noise.group(model, share, plan)) for model in noise.ROWS}
        if not all(map(len, found.values())):
            return Verdict(claim, None, "")
        walkers = min(found[model].test for model in ("ngcn", "nsage", "dcnn"))
        others = max(found[model].test for model in ("gcn", "sage"))
        gaps.append(walkers - others)
        evidence.append(
            f"{share:.0%}".replace("%", " %")
            + f" removed: the worst of N-GCN, N-SAGE and DCNN {walkers:.1f}, the better of GCN and SAGE {others:.1f} "
            f"({_seeds(*found.values())})"
        )
    return Verdict(claim, gaps[1] > 0 and gaps[2] > 0 and gaps[0] < gaps[1] < gaps[2], "; ".join(evidence))


def _shift(store: Store, plan: Plan) -> Verdict:
    """By the mean power under the attention weights."""
    claim = "Attention moves to higher powers when features vanish."
    found = attention.weights(store, plan)
    if not {0.0, 0.5, 0.9} <= found.keys():
        return Verdict(claim, None, "")
    mean_power = {share: sum(power * weight for power, weight in enumerate(found[share])) for share in (0.0, 0.5, 0.9)}
    evidence = "mean power " + ", ".join(f"{power:.2f} with {100 * s:.0f} % removed" for s, power in mean_power.items())
    evidence += f"; {(len(found[0.0]) - 1) / 2:.2f} if all weights are the same"
    return Verdict(claim, mean_power[0.0] < mean_power[0.5] < mean_power[0.9], evidence)


def _depth(store: Store, plan: Plan) -> Verdict:
    """Held unless all deeper ones are better than two layers on all datasets."""
    claim = "Depth does not consistently help GCN or SAGE: 3 and 4 layers are not better than 2 throughout (Table 4)."
    rows = [row for row in table4.TABLE4 if row[0] in plan.datasets]
    gains, evidence = [], []
    for dataset, model in rows:
        runs = [Runs.of(store, table4.group(dataset, model, layers, plan)) for layers in table4.LAYERS]
        if not all(map(len, runs)):
            continue
        gains.append(runs[0].test < min(runs[1].test, runs[2].test))
        means = ", ".join(f"{one.test:.1f}" for one in runs)
        evidence.append(f"{MODELS[model]} on {dataset.capitalize()} {means} with 2, 3, 4 layers ({_seeds(*runs)})")
    return Verdict(claim, not all(gains) if len(gains) == len(rows) else None, "; ".join(evidence))
