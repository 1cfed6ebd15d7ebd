"""The families of inputs. Each makes files in a folder, and says what to run on them."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tools.fuzz import mutate
from tools.fuzz.arrays import graphsage, npz, parquet, planetoid
from tools.fuzz.builds import build
from tools.fuzz.calls import api
from tools.fuzz.commands import commands
from tools.fuzz.fixtures import RUNS
from tools.fuzz.folders import stored, study
from tools.fuzz.messy import nodes as messy_nodes


@dataclass
class Input:
    """A command line, or Python code."""

    arguments: list[str]
    code: str = ""

    def run(self) -> int:
        if self.code:
            return _run_code(self.code)
        _command()(self.arguments, prog_name="ngcn")
        return 0

    def __str__(self) -> str:
        return self.code or " ".join(["ngcn", *map(repr, self.arguments)])


@cache
def _command() -> Any:
    """Made once: typer reads all signatures for it."""
    from typer.main import get_command

    from ngcn.cli import app

    return get_command(app)


def _run_code(code: str) -> int:
    """Errors of this package are clear; the estimator may raise scikit-learn's ValueError and TypeError."""
    import sys

    from ngcn import NGCNError

    try:
        exec(compile(code, "input.py", "exec"), {})
    except NGCNError as error:
        print(error, file=sys.stderr)
        return 2
    except (ValueError, TypeError) as error:
        if "NGCNClassifier" not in code or not str(error):
            raise
        print("An error of scikit-learn:", str(error).replace("\n", " ")[:500] + ".", file=sys.stderr)
        return 2
    return 0


QUICK = ["--steps", "2", "--model", "gcn", "--threads", "1"]


def use(draw: Random, nodes: str, edges: str, *, fixtures: Path) -> Input:
    """Train on tables, or use a model on them."""
    run = str(fixtures / "runs" / draw.choice(["gcn", "gcn", "mixed", "multi"]))
    match draw.randrange(8):
        case 0:
            return Input(
                [
                    "predict",
                    run,
                    nodes,
                    "--edges",
                    edges,
                    "--all",
                    "--out",
                    draw.choice(["p.csv", "p.json", "p.parquet"]),
                ]
            )
        case 1:
            where = [run, nodes, "--edges", edges]
            return Input(draw.choice([["evaluate", *where], ["report", *where, "--out", "r.html"]]))
        case 3:
            told = draw.choice([[], ["--json"], ["--html", "i.html"], ["--one-hot", "label"], ["--multilabel"]])
            return Input(["inspect", "--nodes", nodes, "--edges", edges, *told])
        case 2:
            how = draw.choice(
                ["multilabel=True", "one_hot=['age']", "ignore=['split']", "split='random:2'", "label='age'"]
            )
            return Input([], f"import ngcn\nprint(ngcn.load_dataset('./{nodes}', edges='{edges}', {how}))\n")
    drop = ["--unknown-nodes", "drop"]
    more = draw.choice(
        [[], [], drop, ["--multilabel"], ["--one-hot", "label"], ["--ignore", "age"], ["--label", "age"]]
    )
    more = more + draw.choice(
        [[], [], ["--split", "random:1"], ["--features", "row"], ["--balance"], ["--metric", "roc_auc"]]
    )
    return Input(["train", "--nodes", nodes, "--edges", edges, *QUICK, *more, "--out", "run"])


def tables(draw: Random, folder: Path, fixtures: Path, ending: str = ".csv") -> Input:
    files = {}
    changed = draw.choice([["nodes"], ["nodes"], ["edges"], ["nodes", "edges"]])
    source = draw.choice(["nodes", "nodes", "several"])
    for name in ("nodes", "edges"):
        text = (fixtures / "tables" / f"{source if name == 'nodes' else name}.csv").read_text()
        content = mutate.table(draw, text) if name in changed else text.encode()
        kind = ending if name in changed else ".csv"
        if kind.startswith(".tsv"):
            content = content.replace(b",", b"\t")
        if kind.endswith(".gz"):
            content = gzip.compress(content, 1)
            content = mutate.raw(draw, content) if draw.random() < 0.5 else content
        files[name] = f"{name}{kind}"
        (folder / files[name]).write_bytes(content)
    if draw.random() < 0.15:
        features = "id,feature,value\nn1,a,1\nn2,b,2\nn3,a,0.5\n"
        (folder / "features.csv").write_bytes(mutate.table(draw, features))
        return Input(
            [
                "train",
                "--nodes",
                files["nodes"],
                "--edges",
                files["edges"],
                "--feature-table",
                "features.csv",
                *QUICK,
                "--out",
                "run",
            ]
        )
    return use(draw, files["nodes"], files["edges"], fixtures=fixtures)


def messy(draw: Random, folder: Path, fixtures: Path) -> Input:
    """Columns as people write them, to train on, or for a model that knows them."""
    name, edges = messy_nodes(draw, folder, fixtures), str(fixtures / "tables/edges.csv")
    if draw.random() < 0.4:
        run = str(fixtures / "runs/messy")
        return Input(["predict", run, name, "--edges", edges, "--all", "--out", "p.csv"])
    return use(draw, name, edges, fixtures=fixtures)


def columns(draw: Random, folder: Path, fixtures: Path) -> Input:
    parquet(draw, folder, fixtures)
    return use(draw, "nodes.parquet", "edges.parquet", fixtures=fixtures)


def bomb(draw: Random, folder: Path, fixtures: Path) -> Input:
    """Gzipped tables, and small files that become large."""
    if draw.random() < 0.97:
        return tables(draw, folder, fixtures, draw.choice([".csv.gz", ".tsv.gz"]))
    line = draw.choice([b"\n", b"a,b\n", b"0", b",", b'"', b" ", b"\x00"])
    size = draw.choice([10**7, 10**8, 10**9])
    with gzip.open(folder / "nodes.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"id,label\n")
        for _ in range(size // 10**6):
            file.write(line * (10**6 // len(line)))
    shutil.copy(fixtures / "tables/edges.csv", folder)
    return Input(["train", "--nodes", "nodes.csv.gz", "--edges", "edges.csv", *QUICK, "--out", "run"])


def xml(draw: Random, folder: Path, fixtures: Path, ending: str) -> Input:
    text = (fixtures / f"tables/g.{ending}").read_text()
    match draw.randrange(6):
        case 0:
            content = mutate.raw(draw, text.encode())
        case 1:
            entity = '<!DOCTYPE g [<!ENTITY a "aaaaaaaaaa">' + "".join(
                f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
            )
            content = text.replace("?>", "?>" + entity + "]>", 1).replace(">red<", ">&i;<").encode()
        case 2:
            deep = draw.choice([100, 10_000, 100_000])
            content = text.replace("<node", "<a>" * deep + "<node", 1).encode()
        case _:
            parts = text.split('"')
            for _ in range(mutate.times(draw)):
                place = draw.randrange(1, len(parts), 2)  # the value of an attribute
                values = [draw.choice(parts[1::2]), "long", "boolean", "string", "double", mutate.word(draw)]
                parts[place] = draw.choice(values).replace("<", "").replace("&", "")
            for _ in range(draw.choice([0, 1, 1, 3])):  # ... or of an element
                places = [i for i, part in enumerate(parts) if "</data>" in part]
                if places:
                    place = draw.choice(places)
                    word = mutate.word(draw).replace("<", "").replace("&", "")
                    parts[place] = f">{word}<" + parts[place].partition("<")[2]
            content = '"'.join(parts).encode(errors="replace")
    name = f"g.{ending}" + draw.choice(["", "", "", ".gz"])
    (folder / name).write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)
    more = draw.choice([[], ["--label", "class"], ["--label", "label"], ["--one-hot", "split"], ["--multilabel"]])
    return Input(["train", f"./{name}", *QUICK, *more, "--out", "run"])


def yaml(draw: Random, folder: Path, fixtures: Path) -> Input:
    lines = (fixtures / "runs" / draw.choice([*RUNS]) / "config.yaml").read_text().splitlines()
    lines = [line for line in lines if draw.random() < 0.8]
    for _ in range(mutate.times(draw)):
        place = draw.randrange(len(lines))
        key = lines[place].split(":")[0]
        if draw.random() < 0.6:
            lines[place] = (
                f"{key}: {draw.choice(['0', '1', '2', '3', '0.5', '[0, 2]', 'true', 'null', '1e-5', '100', 'gcn', 'fc', '[]', '1e30'])}"
            )
            continue
        lines[place] = draw.choice(
            [
                f"{key}: {mutate.word(draw)}",
                f"{key}: {json.dumps(mutate.value(draw))}",
                f"{key}: [{mutate.word(draw)}, {mutate.word(draw)}]",
                f"{mutate.word(draw)}: 1",
                f"{key}: &a [1, 2]\n<<: *a",
                "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
                + "\n".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 9)),
                f"{key}: " + "[" * draw.choice([5, 100, 10_000]),
                f"{key}: 0x" + "f" * draw.choice([10, 5000]),
                f"{key}: {'1:' * 2000}1",
                f"{key}: !!{draw.choice(['int', 'float', 'bool', 'null', 'timestamp', 'binary', 'set', 'omap', 'python/name:os.system'])} {mutate.word(draw)}",
                f"? [{key}]\n: 1",
                f"{key}: 2020-13-45",
            ]
        )
    content = "\n".join(lines).encode(errors="replace")
    (folder / "c.yaml").write_bytes(mutate.raw(draw, content) if draw.random() < 0.2 else content)
    tables = ["--nodes", str(fixtures / "tables/nodes.csv"), "--edges", str(fixtures / "tables/edges.csv")]
    return Input(
        ["train", *tables, "--config", "c.yaml", "--steps", "2", "--seeds", "1", "--threads", "1", "--out", "run"]
    )


def run_folder(draw: Random, folder: Path, fixtures: Path) -> Input:
    """A finished run with a changed file."""
    name = draw.choice([*RUNS])
    shutil.copytree(fixtures / "runs" / name, folder / "run")
    files = sorted(path for path in (folder / "run").rglob("*") if path.is_file() and "torch" not in path.parts)
    for _ in range(draw.choice([1, 1, 2])):
        path = draw.choice(files)
        match draw.randrange(12):
            case 0:
                path.unlink(missing_ok=True)
            case 1:
                path.write_bytes(draw.choice([b"", b"\x00" * 1000, draw.randbytes(100), b"[]", b"null", b"{}"]))
            case 2:
                path.unlink(missing_ok=True)
                path.mkdir()
            case 3 if path.is_file():
                path.write_bytes(mutate.raw(draw, path.read_bytes()))
            case _ if path.suffix == ".json" and path.is_file():
                path.write_bytes(mutate.json_text(draw, path.read_text(errors="replace")))
            case _ if path.suffix == ".csv" and path.is_file():
                path.write_bytes(mutate.table(draw, path.read_text(errors="replace")))
            case _ if path.suffix == ".yaml" and path.is_file():
                lines = path.read_text(errors="replace").splitlines() or [""]
                place = draw.randrange(len(lines))
                lines[place] = (
                    f"{lines[place].split(':')[0]}: {draw.choice([mutate.word(draw), json.dumps(mutate.value(draw))])}"
                )
                path.write_text("\n".join(lines), errors="replace")
            case _ if path.suffix == ".safetensors" and path.is_file():
                _change_tensors(draw, path, checksum=draw.random() < 0.8)
        files = [path for path in files if path.is_file()] or files
    return Input(
        draw.choice(
            [
                ["predict", "run", "--all", "--out", draw.choice(["p.csv", "p.json", "p.tsv", "p.parquet"])],
                ["predict", "run", "--all", "--coverage", "0.9", "--out", "p.csv"],
                ["evaluate", "run"],
                ["report", "run", "--explain", "1", "--out", "r.html"],
                ["explain", "run", "--node", "n1"],
                ["explain", "run", "--node", "n1", "--json"],
                ["export", "run", "--format", "torch", "--out", "x"],
                ["train", "--resume", "--out", "run"],
                ["train", "--resume", "--json", "--out", "run"],
            ]
        )
    )


def checkpoint(draw: Random, folder: Path, fixtures: Path) -> Input:
    """An unfinished run with a changed checkpoint."""
    name = draw.choice(["stopped", "stopped-gcn"])
    shutil.copytree(fixtures / "runs" / name, folder / "run")
    path = folder / "run/seed-0/checkpoint.safetensors"
    match draw.randrange(4):
        case 0:
            path.write_bytes(mutate.raw(draw, path.read_bytes()))
        case 1:
            shutil.copy(
                fixtures / "runs" / draw.choice(["stopped", "stopped-gcn"]) / "seed-0/checkpoint.safetensors", path
            )
        case _:
            _change_tensors(draw, path, checksum=False)
    return Input(["train", "--resume", "--threads", "1", "--out", "run"])


def _change_tensors(draw: Random, path: Path, checksum: bool) -> None:
    """Tensors of another type, shape, name or content; the stored checksum is made to fit if so wished."""
    import torch
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import save

    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            metadata = dict(file.metadata() or {})
    except SafetensorError:
        return
    for _ in range(mutate.times(draw)):
        name = draw.choice(sorted(tensors))
        X = tensors[name]
        match draw.randrange(9):
            case 0:
                del tensors[name]
                tensors = tensors or {"x": torch.zeros(1)}
            case 1:
                tensors[mutate.word(draw)[:50].encode(errors="replace").decode() or "x"] = X
            case 2:
                tensors[name] = X.to(
                    draw.choice([torch.float64, torch.float16, torch.int64, torch.bool, torch.uint8, torch.bfloat16])
                )
            case 3:
                tensors[name] = torch.zeros(draw.choice([(), (0,), (1,), (3, 4, 5), (*X.shape, 2)]), dtype=X.dtype)
            case 4:
                tensors[name] = X.flatten().clone()
            case 5:
                tensors[name] = (
                    torch.full_like(X, draw.choice([0, 1]))
                    if not X.is_floating_point()
                    else torch.full_like(X, draw.choice([float("nan"), float("inf"), 1e38, 0.0, -1.0]))
                )
            case 6:
                metadata = {
                    key: draw.choice([each, mutate.word(draw), "nan", "10" * 20]) for key, each in metadata.items()
                }
            case _:
                metadata = metadata if draw.random() < 0.8 else {}
                tensors[name] = X.roll(1)
    metadata = {key: each.encode(errors="replace").decode() for key, each in metadata.items()}
    content = save(
        {name: each.clone(memory_format=torch.contiguous_format) for name, each in tensors.items()},
        metadata=metadata or None,
    )
    path.write_bytes(content)
    result = path.with_name("result.json")
    if checksum and result.exists() and result.is_file():
        from hashlib import sha256

        try:
            values: Any = json.loads(result.read_text())
            values["weights_sha256"] = sha256(content).hexdigest()
            result.write_text(json.dumps(values))
        except (ValueError, TypeError, RecursionError):
            pass


FAMILIES: dict[str, Callable[[Random, Path, Path], Input]] = {
    "csv": tables,
    "tsv": lambda draw, folder, fixtures: tables(draw, folder, fixtures, ".tsv"),
    "gz": bomb,
    "parquet": columns,
    "npz": lambda draw, folder, fixtures: Input(npz(draw, folder, fixtures)),
    "graphml": lambda draw, folder, fixtures: xml(draw, folder, fixtures, "graphml"),
    "gexf": lambda draw, folder, fixtures: xml(draw, folder, fixtures, "gexf"),
    "planetoid": lambda draw, folder, fixtures: Input(planetoid(draw, folder, fixtures)),
    "ppi": lambda draw, folder, fixtures: Input(graphsage(draw, folder, fixtures)),
    "build": lambda draw, folder, fixtures: Input(build(draw, folder, fixtures)),
    "messy": messy,
    "stored": lambda draw, folder, fixtures: Input(*stored(draw, folder, fixtures)),
    "study": lambda draw, folder, fixtures: Input(study(draw, folder, fixtures)),
    "yaml": yaml,
    "run": run_folder,
    "checkpoint": checkpoint,
    "command": lambda draw, folder, fixtures: Input(commands(draw, folder, fixtures)),
    "api": lambda draw, folder, fixtures: Input([], api(draw, fixtures)),
}
