"""`Run`: a folder with the settings, models, metrics and scores of one or more seeds.

RUN/config.yaml                   every setting
RUN/graph.json                    names of classes and features, feature preparation, version of ngcn
RUN/result.json                   scores of all seeds, once all are finished
RUN/references.json               scores of the majority class, and of what sees features or edges alone
RUN/seed-0/weights.safetensors    parameters of the best step
RUN/seed-0/metrics.csv            loss and validation score of every step
RUN/seed-0/result.json            scores of this seed and the checksum of its weights; written last
RUN/seed-0/checkpoint.safetensors until it is finished
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from functools import cached_property
from itertools import chain
from math import isfinite
from pathlib import Path
from statistics import mean
from typing import Any

from ngcn import checks
from ngcn.config import FILE_SETTINGS, Config
from ngcn.data.catalog import DATASETS, is_path
from ngcn.data.parts import log
from ngcn.engine import Executor
from ngcn.errors import DatasetError, GraphError, RunError
from ngcn.files import atomic, lock, read_bytes, remove_leftovers, write_json, write_text
from ngcn.graph import Graph, load_dataset, need_graph, quietly
from ngcn.json_file import Schema, read_json
from ngcn.large import RowProgress, build_beside, needs_build
from ngcn.model import Card, Model, choose_batch
from ngcn.nn import Network
from ngcn.runs.signals import Signals, graceful
from ngcn.scoring import merit
from ngcn.text import METRICS, mean_std
from ngcn.training import HISTORY, Result, refit_checkpoint, steps_taken

SCORES = tuple(f.name for f in fields(Result) if f.name not in ("history", "model"))  # what result.json keeps
SCHEMA: Schema = {  # of result.json of a seed
    "val": float,
    "test": float | None,
    "seed": int,
    "metric": {*METRICS},
    "val_scores": ({*METRICS}, float),
    "test_scores": ({*METRICS}, float),
    "best_step": int,
    "steps": int,
    "seconds": float,
    "status": {"complete", "early", "diverged"},
    "stopped": str,
    "scale_weights": list[float] | None,
    "towers?": [{"towers": str, "val": float, "weight": float}],  # or None; older versions wrote none
    "held_out_scores?": ({*METRICS}, float),
    "weights_sha256?": str,
}
REFERENCES: Schema = (
    {"majority", "regression", "propagation"},
    {split: ({*METRICS}, float) for split in ("val", "test")},
)
MOST_HISTORY = 1 << 30  # bytes of metrics.csv


class Run:
    """A run folder, its settings, and its network if that was not built by name.

    :meth:`start` makes or continues one to train in, :meth:`open` reads a finished one.

    Example:
        >>> import tempfile
        >>> from ngcn import Config, load_dataset, train
        >>> folder = tempfile.mkdtemp() + "/run"
        >>> result = train(load_dataset("cora"), Config(model="gcn", steps=2), folder=folder)
        >>> run = Run.open(folder)
        >>> run.config.model, len(run.history(0)["loss"]), run.model().predict_proba(run.graph()).shape
        ('gcn', 2, (2708, 7))
    """

    def __init__(self, folder: Path, config: Config, network: Network | None = None) -> None:
        self.folder, self.config, self.network = folder, config, network
        self._made: list[Path] = []  # the folder and its parents, where they were missing
        self._lock: int | None = None  # a descriptor, while seeds are trained
        self._scores: dict[int, dict[str, Any]] = {}
        self.executor: Executor | None = None  # of its models

    @property
    def seeds(self) -> range:
        return range(self.config.seed, self.config.seed + self.config.seeds)

    def seed_folder(self, seed: int) -> Path:
        return self.folder / f"seed-{seed}"

    def checkpoint(self, seed: int) -> Path:
        return self.seed_folder(seed) / "checkpoint.safetensors"

    def finished(self, seed: int) -> bool:
        return (self.seed_folder(seed) / "result.json").exists()

    def steps_taken(self, seed: int) -> int:
        """Of ``config.progress_steps``; a finished seed has taken all of them, even if it stopped early."""
        return self.config.progress_steps if self.finished(seed) else steps_taken(self.checkpoint(seed))

    @classmethod
    def check(cls, folder: Path | str, config: Config, resume: bool = False) -> None:
        """Raise the errors that :meth:`start` would raise, and change nothing."""
        run = cls(checks.file_path("folder", folder), config)
        if not run.folder.exists():
            return
        if run.folder.is_dir():
            run._take()  # an error if another process or thread has it
        try:
            cls._check(run.folder, config, resume)
        finally:
            run._release()

    @classmethod
    def _check(cls, folder: Path, config: Config, resume: bool) -> None:
        if not folder.is_dir():
            raise RunError(f"{folder} is a file; a run needs a folder.")
        if (folder / "config.yaml").exists():
            run = cls(folder, Config.of_run(folder / "config.yaml"))
            if not resume and all(map(run.finished, run.seeds)):
                raise RunError(f"{folder} holds a finished run; choose another folder.")
            if not resume:
                raise RunError(
                    f"{folder} holds an unfinished run; continue it with `resume=True`, or choose another folder."
                )
            if differences := run.config.differences(config):
                raise RunError(
                    f"{folder} holds a run with other settings, so it cannot be continued: {'; '.join(differences)}. "
                    "Continue it with its own settings, or train into another folder."
                )
        elif any(not file.name.startswith(".") for file in folder.iterdir()):
            raise RunError(f"{folder} holds other files and no run; choose another folder.")

    @classmethod
    def start(
        cls, folder: Path | str, config: Config, graph: Graph, resume: bool = False, network: Network | None = None
    ) -> Run:
        """Make ``folder`` a run of ``config`` on ``graph``, or continue the run in it."""
        need_graph(graph)
        cls.check(folder, config, resume)
        if config.batch == "auto":
            stored = Path(folder) / "config.yaml"
            choice = choose_batch(graph, config, network)
            batch = Config.of_run(stored).batch if stored.exists() else choice.batch if choice.why else "auto"
            config = replace(config, batch=batch)
        run = cls(Path(folder), config, network)
        card = Card.of(graph, config)
        run._made = [path for path in (run.folder, *run.folder.parents) if not path.exists()]
        run.folder.mkdir(parents=True, exist_ok=True)
        run._take()
        try:
            cls._check(run.folder, config, resume)  # again: another process may have used it meanwhile
            with run._undone_on_error():
                # Damaged files are found before anything is written
                _ = run.references, [run.scores(seed) for seed in run.seeds if run.finished(seed)]
                for seed in run.seeds:
                    run.seed_folder(seed).mkdir(exist_ok=True)
                    remove_leftovers(run.seed_folder(seed))
                    if run.finished(seed):
                        run.remove_checkpoints(seed)
                remove_leftovers(run.folder)
                write_text(run.folder / "config.yaml", config.to_yaml())
                if not (run.folder / "graph.json").exists():
                    card.save(run.folder / "graph.json")
                elif run.card.fingerprint != graph.fingerprint():
                    raise RunError(
                        f"The graph {graph.name!r} has changed since {folder} was started; start another run."
                    )
        except BaseException:
            run._release()
            raise
        return run

    def _take(self) -> None:
        """Lock the folder for the processes and threads that train into it. The lock ends with its process."""
        self._lock = lock(self.folder)
        if self._lock is None:
            raise RunError(
                f"{self.folder} is being trained by another process or thread; wait for it, or choose another folder."
            )

    def _release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextmanager
    def _undone_on_error(self) -> Iterator[None]:
        """After an error, remove what was made, unless a seed has something to keep."""
        try:
            yield
        except Exception:
            if not any(file.is_file() for seed in self.seeds for file in self.seed_folder(seed).glob("*")):
                with suppress(OSError):  # a folder that holds something else stays
                    for seed in self.seeds:
                        if self.seed_folder(seed).exists():
                            self.seed_folder(seed).rmdir()
                    for name in ("config.yaml", "graph.json"):
                        (self.folder / name).unlink(missing_ok=True)
                    for path in self._made or [self.folder]:
                        path.rmdir()
            raise

    @classmethod
    def open(cls, folder: Path | str, *, network: Network | None = None) -> Run:
        """The finished run in ``folder``; ``network`` is needed if it was trained with a network of your own."""
        folder = checks.file_path("folder", folder)
        if not (folder / "config.yaml").exists():
            raise RunError(f"{folder} is not a run folder: it has no config.yaml.")
        run = cls(folder, Config.of_run(folder / "config.yaml"), network)
        for seed in run.seeds:
            if not run.finished(seed):
                raise RunError(f"{folder} is not finished: seed {seed} is missing; continue it with `resume=True`.")
        return run

    def scores(self, seed: int) -> dict[str, Any]:
        """The content of ``result.json`` of a finished seed; read once."""
        if seed not in self._scores:
            path = self.seed_folder(seed) / "result.json"
            try:
                values = read_json(path, SCHEMA)
            except OSError as error:
                raise RunError(f"{path} cannot be read: {error.strerror}.") from None
            except ValueError:
                raise RunError(f"{path} is damaged; delete it and continue the run with `resume=True`.") from None
            self._scores[seed] = values
        return self._scores[seed]

    @property
    def references(self) -> dict[str, dict[str, dict[str, float]]]:
        """What the scores may be compared with: reference -> split -> score; empty for runs before 0.3.0."""
        path = self.folder / "references.json"
        try:
            return read_json(path, REFERENCES) if path.exists() else {}
        except ValueError:
            raise RunError(f"{path} is damaged; delete it.") from None

    def write_references(self, values: dict[str, dict[str, dict[str, float]]]) -> None:
        write_json(self.folder / "references.json", values)

    @property
    def best_seed(self) -> int:
        """The seed with the best validation score, the first of several."""
        return max(self.seeds, key=lambda seed: merit(self.scores(seed)["metric"], self.scores(seed)["val"]))

    @cached_property
    def card(self) -> Card:
        """What the run knows about its graph. A run of 0.1.0 has no graph.json: its graph is loaded again."""
        path = self.folder / "graph.json"
        return Card.read(path) if path.exists() else Card.of(load_graph(self.config, self.folder.parent), self.config)

    def model(self, seed: int | None = None) -> Model:
        """The trained model of a seed; of the best seed if None."""
        seed = self.best_seed if seed is None else seed
        path, checksum = self.seed_folder(seed) / "weights.safetensors", self.scores(seed).get("weights_sha256")
        model = Model.read_weights(path, self.card, self.config, network=self.network, checksum=checksum)
        model.executor = self.executor
        return model

    def graph(self) -> Graph:
        """The graph that the run was trained on, loaded again; an error if it is missing or has changed."""
        name = self.config.dataset
        if name not in DATASETS and not is_path(name):
            raise RunError(
                f"{self.folder} was trained on {name!r}, a graph made in Python that is in no file; give a graph."
            )
        try:
            with quietly():  # its warnings were shown in training
                graph = load_graph(self.config, self.folder.parent)
        except (DatasetError, GraphError) as error:
            raise RunError(f"The graph that {self.folder} was trained on cannot be loaded: {error}") from None
        if self.card.fingerprint != graph.fingerprint():
            raise RunError(
                f"The graph {graph.name!r} is not the one that {self.folder} was trained on: its files or the split "
                "have changed. Restore them, train again, or predict and evaluate it as a new graph."
            )
        return graph

    def history(self, seed: int) -> dict[str, list[float]]:
        """Loss, validation loss and validation score of every step."""
        path = self.seed_folder(seed) / "metrics.csv"
        try:
            rows = list(csv.DictReader(io.StringIO(read_bytes(path, MOST_HISTORY).decode("utf-8"))))
            history = {name: [float(row[name]) for row in rows] for name in HISTORY}
            if len(rows) != self.scores(seed)["steps"] or not all(map(isfinite, chain(*history.values()))):
                raise ValueError
            return history
        except (OSError, KeyError, ValueError, TypeError, csv.Error):
            raise RunError(f"{path} is damaged or missing; train again to get it.") from None

    def result(self, seed: int) -> Result:
        """A finished seed, as training returned it."""
        values = {key: value for key, value in self.scores(seed).items() if key in SCORES}
        return Result(**values, history=self.history(seed), model=self.model(seed))

    def summary(self) -> dict[str, Any]:
        """The scores of all seeds, their mean and standard deviation, and the test score of the best seed."""
        seeds = [self.scores(seed) for seed in self.seeds]
        tests = [s["test"] for s in seeds if s["test"] is not None]
        weights = [s["scale_weights"] for s in seeds if s["scale_weights"] is not None]
        if len(set(map(len, weights))) > 1:
            raise RunError(f"The seeds of {self.folder} have different numbers of weights, so a file is damaged.")
        test_mean, test_std = mean_std(tests) if tests else (None, None)
        return {
            "dataset": self.config.dataset,
            "model": self.config.model,
            "config": self.config.to_dict(),
            "metric": seeds[0]["metric"],
            "runs": [{key: s[key] for key in ("seed", "val", "test", "best_step", "seconds")} for s in seeds],
            "val_mean": mean(s["val"] for s in seeds),
            "test_mean": test_mean,
            "test_std": test_std,
            "test_at_best_val": self.scores(self.best_seed)["test"],
            "scale_weights": [mean(column) for column in zip(*weights, strict=True)] if weights else None,
            "references": self.references,
            "towers": _mean_towers([s["towers"] for s in seeds if s.get("towers")]),
        }

    @contextmanager
    def training(self) -> Iterator[Signals]:
        """While seeds are trained, signals are only recorded. The end writes ``result.json`` of the run; an error
        before any seed has something to keep removes what :meth:`start` made."""
        try:
            with self._undone_on_error(), graceful(self.folder) as signals:
                yield signals
            write_json(self.folder / "result.json", self.summary())
        finally:
            self._release()

    def write_seed(self, result: Result) -> None:
        """Write a finished seed. ``result.json`` comes last: it says that the rest is complete."""
        folder = self.seed_folder(result.seed)
        checksum = result.model.write_weights(folder / "weights.safetensors")
        with atomic(folder / "metrics.csv") as temporary, temporary.open("w", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(("step", *HISTORY))
            table.writerows((step, *row) for step, row in enumerate(zip(*result.history.values(), strict=True), 1))
        values = {name: getattr(result, name) for name in ("val", "test", *SCORES)}
        write_json(folder / "result.json", {**values, "weights_sha256": checksum})
        self.remove_checkpoints(result.seed)

    def remove_checkpoints(self, seed: int) -> None:
        for path in (self.checkpoint(seed), refit_checkpoint(self.checkpoint(seed))):
            path.unlink(missing_ok=True)


def _mean_towers(seeds: list[list[dict[str, Any]]]) -> list[dict[str, Any]] | None:
    """The table of towers, with the mean over seeds of validation score and weight."""
    if len({tuple(row["towers"] for row in seed) for seed in seeds}) > 1:
        raise RunError("The towers of the seeds differ, so a result.json is damaged; train again.")
    rows = zip(*seeds, strict=True)
    means = [{**row[0], **{key: mean(of[key] for of in row) for key in ("val", "weight")}} for row in rows]
    return means or None


def open_run(given: Run | Path | str) -> Run:
    """A run, or the run in a folder."""
    return given if isinstance(given, Run) else Run.open(given)


def model_and_graph(
    given: Run | Model | Path | str, graph: Graph | None, *, network: bool = False
) -> tuple[Model, Graph]:
    """A model, or that of the best seed of a run; and the graph to use it on, that of the run if None. If a ``network``
    is needed, a baseline raises an error before its graph is loaded."""
    run = given if isinstance(given, Model) else open_run(given)
    model = run if isinstance(run, Model) else run.model()
    if network:
        model.network  # noqa: B018
    if graph is not None:
        return model, need_graph(graph)
    if isinstance(run, Model):
        raise GraphError("A model is used on a graph; pass one as `graph`.")
    return model, run.graph()


def load_graph(config: Config, beside: Path = Path("runs"), on_progress: RowProgress | None = None) -> Graph:
    """The graph that the config names, with its split.

    One that is too large for memory is built in ``beside / "graphs"``; ``on_progress`` as for :func:`ngcn.build`.
    """
    files = {name: getattr(config, name) for name in FILE_SETTINGS}
    how: dict[str, Any] = {"split": config.split, "seed": config.seed}
    if not needs_build(config.dataset, **files):
        return load_dataset(config.dataset, **how, **files)
    place: dict[str, Any] = {"name": config.graph_name, "memory": config.memory, "on_progress": on_progress}
    stored = build_beside(beside / "graphs", config.dataset, **place, **files)
    graph = load_dataset(stored.folder.absolute(), **how)
    vars(graph).update(source=config.dataset)
    return graph


def default_folder(config: Config, resume: bool = False) -> Path:
    """``runs/<name>``, with a number if that exists; for ``resume``, the newest that exists."""
    base = Path("runs") / re.sub(r"[^\w.+-]+", "-", config.name)
    if resume:
        names = re.compile(rf"{re.escape(base.name)}(?:-(\d+))?")
        found = [(int(name[1] or 1), path) for path in base.parent.glob("*") if (name := names.fullmatch(path.name))]
        return max(found, default=(1, base))[1]
    folder, number = base, 1
    while True:
        with suppress(FileExistsError):
            folder.mkdir(parents=True)  # claims the name: two runs that start at once get two folders
            if folder != base:
                log.warning(f"{base} exists already: this run is a new one, in {folder}.")
            return folder
        number += 1
        folder = base.with_name(f"{base.name}-{number}")
