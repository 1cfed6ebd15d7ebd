"""`Run`: a folder on disk with the config, weights, metrics and results of one or more seeds.

RUN/config.yaml                   every setting
RUN/graph.json                    names of classes and features, how features are prepared, version of ngcn
RUN/result.json                   scores of all seeds, once all are done
RUN/seed-0/weights.safetensors    parameters at peak validation score
RUN/seed-0/metrics.csv            loss and validation score of every step
RUN/seed-0/result.json            scores of this seed, and the checksum of its weights; there when it is done
RUN/seed-0/checkpoint.safetensors while it is not
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from hashlib import sha256
from itertools import count
from math import nan
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save

from ngcn.data.catalog import DATASETS, is_path
from ngcn.errors import DatasetError, GraphError
from ngcn.graph import Graph, Schema, load_for_model, quietly
from ngcn.nn import Network
from ngcn.ops import Features, Operator
from ngcn.training._files import atomic, remove_leftovers, write_json, write_text
from ngcn.training.checkpoint import RunError, steps_taken
from ngcn.training.config import Config
from ngcn.training.setup import build, build_inputs, load_graph, prepare
from ngcn.training.trained_on import TrainedOn

HISTORY = ("loss", "val_loss", "val")  # columns of metrics.csv after the step


@dataclass(frozen=True)
class Result:
    """One trained initialisation: its scores, how training went, and the network at its best validation step.

    ``val`` and ``test`` are the score named ``metric``, a share of 1; ``test`` is ``None`` without test nodes, and
    ``val`` nan without validation nodes.
    ``status`` is complete, early or diverged, and ``stopped`` says the same in a sentence.
    """

    seed: int
    metric: str
    val_scores: dict[str, float]
    test_scores: dict[str, float]
    best_step: int
    steps: int
    seconds: float
    status: str
    stopped: str
    scale_weights: list[float] | None
    history: dict[str, list[float]]
    network: Network

    @property
    def val(self) -> float:
        return self.val_scores.get(self.metric, nan)

    @property
    def test(self) -> float | None:
        return self.test_scores.get(self.metric)

    def __repr__(self) -> str:
        test = "none" if self.test is None else f"{self.test:.4f}"
        return f"Result(seed={self.seed}, {self.metric}: val={self.val:.4f}, test={test}, best_step={self.best_step})"


SCORES = tuple(f.name for f in fields(Result) if f.name not in ("history", "network"))  # kept in result.json


class Run:
    """A run folder. :meth:`start` makes or continues one to train in, :meth:`open` reads one that is done."""

    def __init__(self, folder: Path, config: Config) -> None:
        self.folder = folder
        self.config = config

    @property
    def seeds(self) -> range:
        return range(self.config.seed, self.config.seed + self.config.seeds)

    def seed_folder(self, seed: int) -> Path:
        return self.folder / f"seed-{seed}"

    def finished(self, seed: int) -> bool:
        return (self.seed_folder(seed) / "result.json").exists()

    def steps_taken(self, seed: int) -> int:
        """Of ``config.progress_steps``, which a finished seed has behind it even if it stopped early."""
        if self.finished(seed):
            return self.config.progress_steps
        return steps_taken(self.seed_folder(seed) / "checkpoint.safetensors")

    @classmethod
    def check(cls, folder: Path | str, config: Config, resume: bool = False) -> None:
        """Raise what :meth:`start` would, and change nothing."""
        folder = Path(folder)
        if folder.exists() and not folder.is_dir():
            raise RunError(f"{folder} is a file; a run needs a folder.")
        if (folder / "config.yaml").exists():
            run = cls(folder, Config.from_file(folder / "config.yaml"))
            if not resume and all(map(run.finished, run.seeds)):
                raise RunError(f"{folder} holds a finished run; choose another folder.")
            if not resume:
                raise RunError(
                    f"{folder} holds an unfinished run; continue it with --resume, or choose another folder."
                )
            if differences := run.config.differences(config):
                raise RunError(
                    f"{folder} holds a run with other settings, so it cannot go on: {'; '.join(differences)}. "
                    "Go on with its own settings, or train into another folder."
                )
        elif folder.exists() and any(not file.name.startswith(".") for file in folder.iterdir()):
            raise RunError(f"{folder} holds other files and no run; choose another folder.")

    @classmethod
    def start(cls, folder: Path | str, config: Config, graph: Graph, resume: bool = False) -> Run:
        """Make ``folder`` a run of ``config`` on ``graph``, or continue the run that is there."""
        cls.check(folder, config, resume)
        run = cls(Path(folder), config)
        run.folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(run.folder)
        for seed in run.seeds:
            run.seed_folder(seed).mkdir(exist_ok=True)
            remove_leftovers(run.seed_folder(seed))
            if run.finished(seed):
                (run.seed_folder(seed) / "checkpoint.safetensors").unlink(missing_ok=True)
        write_text(run.folder / "config.yaml", config.to_yaml())
        if not (run.folder / "graph.json").exists():
            TrainedOn.of(graph, prepare(graph, config)).save(run.folder / "graph.json")
        elif run.trained_on().fingerprint != graph.fingerprint():
            raise RunError(f"The graph {graph.name!r} has changed since {folder} was begun; start another run on it.")
        return run

    @classmethod
    def open(cls, folder: Path | str) -> Run:
        """The finished run in ``folder``."""
        folder = Path(folder)
        if not (folder / "config.yaml").exists():
            raise RunError(f"{folder} is not a run folder: it has no config.yaml.")
        run = cls(folder, Config.from_file(folder / "config.yaml"))
        for seed in run.seeds:
            if not run.finished(seed):
                raise RunError(
                    f"{folder} is not finished: seed {seed} is missing; continue with "
                    f"`ngcn train --resume --out {folder}`."
                )
        return run

    def scores(self, seed: int) -> dict[str, Any]:
        """What ``result.json`` of a seed says."""
        path = self.seed_folder(seed) / "result.json"
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if all(name in values for name in ("val", "test", *SCORES)):
                return values
            raise ValueError
        except (ValueError, TypeError):
            raise RunError(f"{path} is damaged; delete it and train with --resume to make it again.") from None

    def trained_on(self) -> TrainedOn:
        """What the run remembers of its graph; a run of a version that kept nothing looks at the graph again."""
        path = self.folder / "graph.json"
        if path.exists():
            return TrainedOn.read(path)
        graph = load_graph(self.config)
        return TrainedOn.of(graph, prepare(graph, self.config))

    def graph(self) -> Graph:
        """The graph that the run was trained on, from where it came from; an error if it has gone or changed."""
        name = self.config.dataset
        if name not in DATASETS and not is_path(name):
            raise RunError(
                f"{self.folder} was trained on {name!r}, which was made in Python and is in no file: in Python, pass "
                "it as graph; on the command line, predict and evaluate take a GRAPH in files."
            )
        try:
            with quietly():  # training said it all
                graph = load_graph(self.config)
        except (DatasetError, GraphError) as error:
            raise RunError(f"The graph that {self.folder} was trained on cannot be had: {error}") from None
        if self.trained_on().fingerprint != graph.fingerprint():
            raise RunError(
                f"The graph {graph.name!r} is not the one that {self.folder} was trained on: its files, or the split, "
                "have changed since; bring them back, or train again. (predict and evaluate take what is there now as "
                "a new GRAPH.)"
            )
        return graph

    def read(self, path: str | None, *, edges: str | None = None, feature_table: str | None = None) -> Graph:
        """A graph to use the run's networks on: the run's own where there is no path, else one whose labels, if it has
        any, make test nodes.

        That is read as the one trained on, with the same columns for labels and features. Features that the networks do
        not know, or miss, are an error; unknown values of one-hot columns and unknown sparse features do not count.
        """
        files: dict[str, Any] = {"edges": edges, "feature_table": feature_table}
        if path is None:
            if any(files.values()):
                raise RunError("--edges and --feature-table go with a GRAPH of their own; name its table of nodes too.")
            return self.graph()
        known = self.trained_on()
        if is_path(path):
            files |= {name: getattr(self.config, name) for name in ("label", "one_hot", "ignore", "multilabel")}
        schema = Schema(known.class_names, known.feature_names, known.multilabel, known.node_columns)
        graph = load_for_model(path, schema, **files)
        if graph.multilabel != known.multilabel:
            several = "several labels" if graph.multilabel else "one label"
            raise RunError(f"{path} has {several} per node, unlike the graph that {self.folder} was trained on.")
        return graph

    def inputs(self, graph: Graph) -> tuple[Operator, Features]:
        """Â and X of a graph for the run's networks; features are prepared as those of the graph trained on."""
        return build_inputs(graph, self.config, self.trained_on().preparation)

    @property
    def best_seed(self) -> int:
        """The seed with the best validation score, the first of several."""
        return max(self.seeds, key=lambda seed: self.scores(seed)["val"])

    def network(self, graph: Graph, seed: int) -> Network:
        """The trained network of a seed."""
        path = self.seed_folder(seed) / "weights.safetensors"
        if self.config.is_baseline and self.trained_on().fingerprint != graph.fingerprint():
            raise RunError(
                f"{self.folder} holds what {self.config.model} says of the graph that it was fitted on, and can say "
                f"nothing of {graph.name!r}; fit it on that one, or train a network."
            )
        network = build(graph, self.config)
        try:
            content = path.read_bytes()
            found = sha256(content).hexdigest()
            if self.scores(seed).get("weights_sha256", found) != found:  # runs of 0.1.0 have no checksum
                raise RunError(f"{path} is damaged: it is not the file that training wrote; train again.")
            network.load_state_dict(load(content))
        except OSError as trouble:
            raise RunError(f"The weights {path} cannot be read: {trouble.strerror}.") from None
        except (SafetensorError, RuntimeError):
            raise RunError(
                f"{path} is damaged, of an older version of ngcn, or trained on another graph than {graph.name!r}; "
                "train again."
            ) from None
        return network.eval()

    def result(self, graph: Graph, seed: int) -> Result:
        """A finished seed, as training returned it."""
        path = self.seed_folder(seed) / "metrics.csv"
        try:
            with path.open(newline="") as file:
                rows = list(csv.DictReader(file))
            history = {name: [float(row[name]) for row in rows] for name in HISTORY}
        except (OSError, KeyError, ValueError, TypeError):
            raise RunError(f"{path} is damaged or missing; train again to get it.") from None
        values = {key: value for key, value in self.scores(seed).items() if key in SCORES}
        return Result(**values, history=history, network=self.network(graph, seed))

    def summary(self) -> dict[str, Any]:
        """The scores of all seeds, their mean and standard deviation, and the test score of the best validation."""
        seeds = [self.scores(seed) for seed in self.seeds]
        tests = [s["test"] for s in seeds if s["test"] is not None]
        weights = [s["scale_weights"] for s in seeds if s["scale_weights"] is not None]
        return {
            "dataset": self.config.dataset,
            "model": self.config.model,
            "config": self.config.to_dict(),
            "metric": seeds[0]["metric"],
            "runs": [{key: s[key] for key in ("seed", "val", "test", "best_step", "seconds")} for s in seeds],
            "val_mean": mean(s["val"] for s in seeds),
            "test_mean": mean(tests) if tests else None,
            "test_std": (stdev(tests) if len(tests) > 1 else 0.0) if tests else None,
            "test_at_best_val": self.scores(self.best_seed)["test"],
            "scale_weights": [mean(column) for column in zip(*weights, strict=True)] if weights else None,
        }

    @contextmanager
    def kept_if_useful(self) -> Iterator[None]:
        """While training: an error before any seed has something to keep takes away what :meth:`start` made."""
        try:
            yield
        except Exception:
            with suppress(OSError):  # what is not empty stays
                for seed in self.seeds:
                    self.seed_folder(seed).rmdir()
                for name in ("config.yaml", "graph.json"):
                    (self.folder / name).unlink()
                self.folder.rmdir()
            raise

    def finish(self) -> dict[str, Any]:
        """Write ``result.json`` once all seeds are done, and return what it says."""
        summary = self.summary()
        write_json(self.folder / "result.json", summary)
        return summary


def write_seed(folder: Path, result: Result) -> None:
    """Put a finished seed into its folder; ``result.json`` comes last and says that the rest is there."""
    weights = {name: value.contiguous() for name, value in result.network.state_dict().items()}
    with atomic(folder / "weights.safetensors") as temporary:
        temporary.write_bytes(save(weights))  # save_file would let nobody else read it
    with atomic(folder / "metrics.csv") as temporary, temporary.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("step", *HISTORY))
        table.writerows((step, *row) for step, row in enumerate(zip(*result.history.values(), strict=True), 1))
    checksum = sha256((folder / "weights.safetensors").read_bytes()).hexdigest()
    values = {name: getattr(result, name) for name in SCORES}
    write_json(folder / "result.json", {"val": result.val, "test": result.test, **values, "weights_sha256": checksum})
    (folder / "checkpoint.safetensors").unlink(missing_ok=True)


def default_folder(config: Config, resume: bool = False) -> Path:
    """``runs/<name>``, with a number where that is taken; for ``resume`` the newest that is there."""
    base = Path("runs") / re.sub(r"[^\w.+-]+", "-", config.name)
    if resume:
        names = re.compile(rf"{re.escape(base.name)}(?:-(\d+))?")
        found = [(int(name[1] or 1), path) for path in base.parent.glob("*") if (name := names.fullmatch(path.name))]
        return max(found, default=(1, base))[1]
    for number in count(1):
        folder = base if number == 1 else base.with_name(f"{base.name}-{number}")
        try:
            folder.mkdir(parents=True)  # claims the name, so that two runs that start at once get two folders
            return folder
        except FileExistsError:
            continue
    raise AssertionError
