"""`ngcn train`: from a dataset's name to a run folder, with what came out of it on the screen."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from ngcn.cli import _screen
from ngcn.data.catalog import DATASETS
from ngcn.training._checks import read_yaml
from ngcn.training.config import Config, ConfigError

_GRAPH = "cora, citeseer, ... (see `ngcn datasets`), or a folder or file of your own: docs/own-data.md."
_DEFAULTS = {  # those that `Config` leaves open
    "powers": "ngcn: 6",
    "replicas": "ngcn: 4",
    "classifier": "ngcn: attention",
    "layers": "ngcn: 2",
    "hidden": "16",
    "steps": "600",
    "lr": "0.01",
    "dropout": "0.5",
    "l2": "1e-05",
    "intermediate": "no",
    "multilabel": "no",
    "patience": "never",
    **dict.fromkeys(("edges", "feature_table", "one_hot", "ignore"), ""),
}
_SETTINGS = {setting.name: setting for setting in fields(Config)}


def _option(flag: str, panel: str, help: str, default: str = "", **more: Any) -> Any:
    shown = f" [dim]({default})[/dim]" if default else ""
    return typer.Option(flag, rich_help_panel=panel, help=help + shown, show_default=False, **more)


def _setting(name: str, panel: str, **more: Any) -> Any:
    """An option for a setting of `Config`: same help, same default. Not given is None, which leaves it to others."""
    setting = _SETTINGS[name]
    default = _DEFAULTS.get(name, f"{setting.default}")
    flag = f"--{name.replace('_', '-')}"
    if name in ("intermediate", "multilabel"):
        flag += f"/--no-{name}"
    return _option(flag, panel, setting.metadata["help"], default, **more)


def train(
    dataset: Annotated[str | None, typer.Argument(metavar="GRAPH", help=_GRAPH)] = None,
    model: Annotated[str | None, _setting("model", "Model")] = None,
    set_: Annotated[
        list[str] | None, _option("--set", "Model", _SETTINGS["settings"].metadata["help"], metavar="NAME=VALUE")
    ] = None,
    powers: Annotated[str | None, _setting("powers", "Model", metavar="K|LIST")] = None,
    replicas: Annotated[int | None, _setting("replicas", "Model")] = None,
    classifier: Annotated[str | None, _setting("classifier", "Model")] = None,
    hidden: Annotated[int | None, _setting("hidden", "Model")] = None,
    layers: Annotated[int | None, _setting("layers", "Model")] = None,
    steps: Annotated[int | None, _setting("steps", "Training")] = None,
    lr: Annotated[float | None, _setting("lr", "Training")] = None,
    dropout: Annotated[float | None, _setting("dropout", "Training")] = None,
    l2: Annotated[float | None, _setting("l2", "Training")] = None,
    intermediate: Annotated[bool | None, _setting("intermediate", "Training")] = None,
    patience: Annotated[int | None, _setting("patience", "Training")] = None,
    seed: Annotated[int | None, _setting("seed", "Training")] = None,
    seeds: Annotated[int | None, _setting("seeds", "Training")] = None,
    nodes: Annotated[str | None, _option("--nodes", "Data", "A table of nodes, in place of GRAPH.")] = None,
    edges: Annotated[str | None, _setting("edges", "Data")] = None,
    feature_table: Annotated[str | None, _setting("feature_table", "Data")] = None,
    label: Annotated[str | None, _setting("label", "Data")] = None,
    one_hot: Annotated[list[str] | None, _setting("one_hot", "Data", metavar="COL")] = None,
    ignore: Annotated[list[str] | None, _setting("ignore", "Data", metavar="COL")] = None,
    multilabel: Annotated[bool | None, _setting("multilabel", "Data")] = None,
    split: Annotated[str | None, _setting("split", "Data")] = None,
    features: Annotated[str | None, _setting("features", "Data")] = None,
    config: Annotated[
        Path | None, _option("--config", "Run", "Settings from a YAML file; an option given as well overrules it.")
    ] = None,
    out: Annotated[Path | None, _option("--out", "Run", "The run folder.", "runs/DATASET-MODEL-...")] = None,
    resume: Annotated[
        bool, _option("--resume", "Run", "Continue the run in the run folder with its settings.")
    ] = False,
    threads: Annotated[int | None, _option("--threads", "Run", "Cores to use.", "all", min=1)] = None,
    as_json: Annotated[bool, _option("--json", "Run", "Print one JSON object on stdout and nothing else.")] = False,
) -> None:
    """Train a model and keep its best parameters in a run folder.

    Example: [bold]ngcn train cora --model ngcn --classifier attention --powers 6 --replicas 4[/bold]
    """
    if nodes and dataset:
        raise ConfigError("Name a graph or --nodes, not both.")
    dataset = dataset or (nodes and str(Path(nodes).absolute()))
    given = {name: value for name, value in locals().items() if name in _SETTINGS and value not in (None, [])}
    if "powers" in given:
        given["powers"] = _powers(given["powers"])
    if set_:
        given["settings"] = dict(map(_name_and_value, set_))

    with _screen.busy("Loading torch"):
        from ngcn.training.run import Run, default_folder
        from ngcn.training.seeds import train_seeds
        from ngcn.training.setup import ignores_values, load_graph

        if config:
            settings = Config.from_file(config, **given)
            if not dataset and "dataset" not in read_yaml(config):
                raise ConfigError(
                    f"{config} names no dataset; add a line such as `dataset: cora`, or say which to train."
                )
        elif dataset or (resume and out):
            settings = Config(**given)
        elif resume:
            raise ConfigError("Name the run folder to continue: `ngcn train --resume --out RUN`.")
        else:
            raise ConfigError(
                "Name a dataset, such as `ngcn train cora`, or a folder of your own; `ngcn datasets` lists the first."
            )
        if resume:
            out = out or default_folder(settings, resume=True)
            if (out / "config.yaml").exists():
                settings = settings if config else Config.from_file(out / "config.yaml", **given)
            elif not dataset and not config:
                raise ConfigError(f"There is no run to continue in {out}.")
            else:
                _screen.note(f"There is no run in {out} yet: starting at the beginning.")
    if out:
        Run.check(out, settings, resume)  # before what takes time
        if resume and (out / "config.yaml").exists():
            run = Run(out, settings)
            if all(map(run.finished, run.seeds)):
                _screen.note(f"The run in {out} was finished: nothing was left to do.")
            else:
                taken, steps = sum(map(run.steps_taken, run.seeds)), settings.progress_steps * settings.seeds
                _screen.note(f"The run in {out} goes on after {taken} of {steps} steps.")
    with _screen.busy(f"Loading {settings.graph_name}"):
        graph = load_graph(settings)
    if settings.dataset in DATASETS and DATASETS[settings.dataset].generated:
        _screen.note(f"{settings.dataset}: {DATASETS[settings.dataset].description}")
    if ignores_values(graph, settings):
        _screen.note(
            f"{graph.name}: what counts is which features a node has, not their values; --features standard, row or "
            "none makes them count."
        )
    with _screen.progress(settings) as on_progress:
        run = train_seeds(graph, settings, out, resume=resume, threads=threads, on_progress=on_progress)
    for result in map(run.scores, run.seeds):
        if result["status"] == "diverged" and (as_json or settings.seeds > 1):  # else it is on the screen anyway
            _screen.note(result["stopped"])
    if as_json:
        print(json.dumps(run.summary(), allow_nan=False))
        _screen.note(f"Run folder: {run.folder}")
    else:
        _screen.show(run)


def _name_and_value(text: str) -> tuple[str, Any]:
    """``alpha=0.9``: the value as a config file would have it."""
    import yaml

    name, equals, value = text.partition("=")
    try:
        if equals:
            return name.strip(), yaml.safe_load(value)
    except yaml.YAMLError:
        pass
    raise ConfigError(f"--set takes NAME=VALUE, such as alpha=0.9, not {text!r}.")


def _powers(text: str) -> Any:
    """``6`` is powers 0 to 5; ``0,1,4`` is those; anything else is left for `Config` to refuse."""
    try:
        numbers = [int(part) for part in text.split(",") if part]
    except ValueError:
        return text
    return numbers if "," in text or not numbers else numbers[0]
