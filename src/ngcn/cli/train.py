"""`ngcn train`: train a model and write a run folder. The options come from the fields of `Config`."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import Field, fields, replace
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from ngcn import checks
from ngcn.cli import _screen
from ngcn.cli._engine import AddressOption, EngineOption, WorkersOption, engine_of
from ngcn.cli._errors import check_unfinished
from ngcn.cli.predict import check_table, write_unlabelled
from ngcn.config import Config
from ngcn.data.catalog import DATASETS, check_exists
from ngcn.errors import ConfigError
from ngcn.registry import DEFAULT_MODEL, LOGS, SHARED, network_names
from ngcn.yaml_file import parse_value, read_yaml

if TYPE_CHECKING:
    from ngcn.graph import Graph
    from ngcn.runs import Run

_GRAPH = "cora, citeseer, ... (see `ngcn datasets`), or a folder or file of your own: see the guide `Your own graph`."


_CONFIGS = [Config(model=name) for name in network_names()]  # with the defaults of each model


def _option(flag: str, help: str, default: str = "", panel: str = "Run", **more: Any) -> Any:
    shown = f" [dim]({default})[/dim]" if default else ""
    return typer.Option(flag, rich_help_panel=panel, help=help + shown, show_default=False, **more)


def _default(setting: Field) -> str:
    """The default to show for a setting; with the name of the model if models differ."""
    name, model = setting.name, ""
    value: Any = DEFAULT_MODEL if name == "model" else setting.default
    if name in SHARED:
        of_models = {config.model: getattr(config, name) for config in _CONFIGS}
        model = "ngcn" if name == "powers" else DEFAULT_MODEL  # the default model has its powers in its mix
        value = of_models[model]
        if name == "mix" or len(set(of_models.values())) == 1:
            model = ""
    if name == "powers":
        value = len(value)  # 6 stands for 0 to 5
    elif name == "mix":
        value = " and ".join(value)
    elif isinstance(value, bool):
        value = "yes" if value else "no"
    if value in (None, ()):
        return ""
    return f"{model}: {value}" if model else str(value)


def _parameter(setting: Field, kind: Any) -> Parameter:
    """A setting of `Config` as an option of the same name, help and default; None if it is not given."""
    name, more = setting.name, {}
    flag = f"--{name.replace('_', '-')}"
    if name == "settings":
        flag, kind, more = "--set", list[str], {"metavar": "NAME=VALUE"}
    elif name == "powers":
        kind, more = str, {"metavar": "K|LIST"}
    elif name == "mix":
        kind, more = list[str], {"metavar": "TOWERS"}
    elif kind == tuple[str, ...]:
        kind, more = list[str], {"metavar": "COL"}
    elif kind is bool:
        flag += flag.replace("--", "/--no-")
    option = _option(flag, setting.metadata["help"], _default(setting), setting.metadata["panel"], **more)
    return Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, option])


def train(
    *,
    nodes: Annotated[str | None, _option("--nodes", "A table of nodes, in place of GRAPH.", panel="Data")] = None,
    config: Annotated[Path | None, _option("--config", "A YAML file with settings; options override it.")] = None,
    out: Annotated[Path | None, _option("--out", "The run folder.", "runs/DATASET-MODEL-...")] = None,
    resume: Annotated[bool, _option("--resume", "Continue the run in the run folder with its settings.")] = False,
    threads: Annotated[int | None, _option("--threads", "Cores to use.", "all", min=1)] = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
    workers: WorkersOption = None,
    predict: Annotated[
        Path | None, _option("--predict", "Write the predictions of `ngcn predict` to this file, too.")
    ] = None,
    log: Annotated[str | None, _option("--log", "Write each step as it is done: tensorboard, mlflow or csv.")] = None,
    as_json: Annotated[bool, _option("--json", "Print one JSON object on stdout and nothing else.")] = False,
    **options: Any,
) -> None:
    """Train a model and keep its best parameters in a run folder.

    The default is a mixed network; [bold]--model ngcn --recipe paper[/bold] trains N-GCN as the paper does.

    Example: [bold]ngcn train cora[/bold]
    """
    given = _given(nodes, options)
    cluster = engine_of(engine, address, workers, threads=threads)
    settings = _settings(given, config, out, resume)
    check_exists(settings.dataset)
    if log:
        checks.choice(LOGS)("log", log)
    if predict:
        check_table(predict)
    if out and not resume:
        check_unfinished(out)
    with _screen.busy("Loading torch"):
        from ngcn.graph import facts
        from ngcn.runs import Run, default_folder, load_graph, train_seeds

    if resume and not out:
        out = default_folder(settings, resume=True)
        settings = _settings(given, config, out, resume)
    if out:
        Run.check(out, settings, resume)  # before anything that takes time
        if resume:
            _announce(Run(out, settings))
    with _screen.busy(f"Loading {settings.graph_name}") as say:
        graph = load_graph(settings, out.parent if out else Path("runs"), _screen.amounts(say))
    if not (as_json or resume):
        _screen.note(str(facts(graph)))
    _warn(graph, settings)
    settings = _with_batch(graph, settings)
    if settings.batch == "sampled" and cluster is None and not resume:
        _prepare_products(graph, settings)
    how: dict[str, Any] = {"resume": resume, "threads": threads, "engine": cluster, "log": log}
    with _screen.progress(settings) as on_progress:
        run = train_seeds(graph, settings, out, **how, on_progress=on_progress)
    if as_json:
        _screen.divergence(run)
        print(json.dumps(run.summary(), allow_nan=False))
        _screen.note(f"Run folder: {run.folder}")
    else:
        _screen.show(run)
    if predict:
        write_unlabelled(run, graph, predict)


_OF_RUN = [p for p in signature(train, eval_str=True).parameters.values() if p.kind is Parameter.KEYWORD_ONLY]


def _signature() -> Signature:
    """The parameters of `ngcn train`: a graph, all settings of `Config`, and the options of the run."""
    kinds = get_type_hints(Config)
    order = ("Model", "Training", "Data")
    settings = sorted(fields(Config), key=lambda setting: order.index(setting.metadata["panel"]))
    graph = Annotated[str | None, typer.Argument(metavar="GRAPH", help=_GRAPH)]
    return Signature(
        [
            Parameter("dataset", Parameter.KEYWORD_ONLY, default=None, annotation=graph),
            *(_parameter(setting, kinds[setting.name]) for setting in settings if setting.name != "dataset"),
            *_OF_RUN,
        ]
    )


train.__signature__ = _signature()  # type: ignore[attr-defined]


def _given(nodes: str | None, options: dict[str, Any]) -> dict[str, Any]:
    """The settings that the command line gives, as `Config` takes them."""
    given = {name: value for name, value in options.items() if value not in (None, [])}
    if nodes and "dataset" in given:
        raise ConfigError("Give a graph or `nodes`, not both.")
    if nodes:
        given["dataset"] = checks.path("nodes", nodes)
    if "powers" in given:  # 6 stands for 0 to 5, and 0,1,4 is a list; `Config` reports anything else
        text = given["powers"]
        given["powers"] = parse_value(f"[{text}]" if "," in text else text)
    if "settings" in given:
        given["settings"] = dict(map(_name_and_value, given["settings"]))
    return given


def _settings(given: dict[str, Any], config: Path | None, out: Path | None, resume: bool) -> Config:
    """The settings of the command line, and those of the config file or of the run in ``out`` to resume."""
    if config:
        settings = Config.from_file(config, **given)
        if "dataset" not in given and "dataset" not in read_yaml(config):
            raise ConfigError(
                f"{config} names no dataset; add a line such as `dataset: cora`, or name a graph to train on."
            )
        return settings
    if resume and out and (out / "config.yaml").exists():
        return Config.of_run(out / "config.yaml", **given)
    if "dataset" in given:
        return Config(**given)
    if not resume:
        raise ConfigError(
            "Name a dataset, such as `ngcn train cora`, or a folder of your own; `ngcn datasets` lists the datasets."
        )
    if not out:
        raise ConfigError("Name the run folder to continue: `ngcn train --resume --out RUN`.")
    raise ConfigError(f"There is no run to continue in {out}.")


def _warn(graph: Graph, settings: Config) -> None:
    from ngcn.model import ignores_values

    if settings.dataset in DATASETS and DATASETS[settings.dataset].generated:
        _screen.note(f"{settings.dataset}: {DATASETS[settings.dataset].description}")
    if ignores_values(graph, settings):
        _screen.note(
            f"{graph.name}: --features auto uses which features a node has, not their values; --features standard, row "
            "or none keeps the values."
        )


def _with_batch(graph: Graph, settings: Config) -> Config:
    """The settings with the batches that this graph asks for; says why they are chosen."""
    from ngcn.model import choose_batch

    choice = choose_batch(graph, settings)
    if not choice.why:
        return settings
    other = {"full": "sampled", "sampled": "full"}[choice.batch]
    _screen.note(f"{choice.why} --batch {other} overrides this.")
    return replace(settings, batch=choice.batch)


def _prepare_products(graph: Graph, settings: Config) -> None:
    """Those of a large graph may take longer than training, so they have a progress of their own."""
    from ngcn.graph import StoredGraph
    from ngcn.training import prepare_products

    if isinstance(graph, StoredGraph):
        with _screen.busy("Multiplying by powers of Â") as say:
            news = _screen.amounts(say, "blocks")
            prepare_products(graph, settings, lambda done, total: news("Multiplying by powers of Â", done, total))


def _announce(run: Run) -> None:
    """Print the progress of a run that is about to be resumed."""
    if not (run.folder / "config.yaml").exists():
        _screen.note(f"There is no run in {run.folder} yet; starting a new one.")
    elif all(map(run.finished, run.seeds)):
        _screen.note(f"The run in {run.folder} is finished already.")
    else:
        taken, steps = sum(map(run.steps_taken, run.seeds)), run.config.progress_steps * run.config.seeds
        _screen.note(f"The run in {run.folder} continues after {taken} of {steps} steps.")


def _name_and_value(text: str) -> tuple[str, Any]:
    """``alpha=0.9``: the value is read as in a config file."""
    name, equals, value = text.partition("=")
    with suppress(ConfigError):
        if equals:
            return name.strip(), parse_value(value)
    raise ConfigError(f"--set takes NAME=VALUE, such as alpha=0.9, not {text!r}.")
