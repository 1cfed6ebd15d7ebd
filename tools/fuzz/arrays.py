"""Inputs in binary formats: Parquet, .npz, Planetoid's pickles, GraphSAGE's files."""

from __future__ import annotations

import io
import json
import pickle
import shutil
import zipfile
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import scipy.sparse as sp

from tools.fuzz import mutate

QUICK = ["--steps", "2", "--model", "gcn", "--threads", "1", "--out", "run"]


def parquet(draw: Random, folder: Path, fixtures: Path) -> None:
    """Tables with columns of every type."""
    import pandas as pd

    changed = draw.choice(["nodes", "nodes", "edges"])
    for name in ("nodes", "edges"):
        table = pa.Table.from_pandas(pd.read_csv(fixtures / f"tables/{name}.csv"), preserve_index=False)
        if name == changed:
            for _ in range(mutate.times(draw)):
                column = draw.choice([*table.column_names, "new"])
                array = any_column(draw, len(table))
                place = table.column_names.index(column) if column in table.column_names else -1
                table = table.append_column(column, array) if place < 0 else table.set_column(place, column, array)
            if draw.random() < 0.1:
                table = table.slice(0, draw.choice([0, 1, 2]))
            if draw.random() < 0.1:
                names = list(table.column_names)
                names[draw.randrange(len(names))] = mutate.word(draw).encode(errors="replace").decode()
                table = table.rename_columns(names)
        out = io.BytesIO()
        pyarrow.parquet.write_table(
            table,
            out,
            row_group_size=draw.choice([7, 1000]),
            compression=draw.choice(["snappy", "gzip", "none", "zstd"]),
        )
        content = out.getvalue()
        if name == changed and draw.random() < 0.15:
            content = mutate.raw(draw, content)
        (folder / f"{name}.parquet").write_bytes(content)


def any_column(draw: Random, rows: int) -> Any:
    kinds: list[Any] = [
        ([2**53 + 1, -(2**62), 2**63 - 1], pa.int64()),
        ([2**64 - 1, 0], pa.uint64()),
        ([1, 2, 300][:2], pa.int8()),
        ([None], pa.null()),
        ([None, 1.5], pa.float64()),
        ([float("nan"), float("inf"), 1e300], pa.float64()),
        ([1.5, 6e4], pa.float16()),
        ([b"n1", b"\xff\xfe", b""], pa.binary()),
        ([b"abcd"], pa.binary(4)),
        (["n1", "n2", ""], pa.large_string()),
        (["n1", "x" * 200, "\x1b[0m", "=1+1"], pa.string()),
        (["n1", "n2", None], pa.dictionary(pa.int32(), pa.string())),
        ([Decimal("1.50"), Decimal(-999999999)], pa.decimal128(38, 2)),
        ([Decimal("1.50")], pa.decimal256(60, 2)),
        ([timedelta(seconds=5), None], pa.duration("ns")),
        ([datetime(2020, 1, 1), None], pa.timestamp("us", "UTC")),
        ([date(2020, 1, 1)], pa.date32()),
        ([5], pa.time64("us")),
        ([True, False, None], pa.bool_()),
        ([[1, 2], [], None], pa.list_(pa.int64())),
        ([[1, 2]], pa.list_(pa.int64(), 2)),
        ([{"a": 1, "b": "x"}, None], pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
        ([mutate.word(draw) for _ in range(5)], pa.string()),
    ]
    values, kind = draw.choice(kinds)
    if kind == pa.string():
        values = [value.encode(errors="replace").decode() for value in values]
    column = [draw.choice(values) if draw.random() < 0.8 else values[0] for _ in range(rows)]
    if pa.types.is_dictionary(kind):
        return pa.array(column).dictionary_encode()
    if kind == pa.string() and draw.random() < 0.2:  # bytes that are not UTF-8, in a column of text
        return pa.array([b"\xff\xfe\x00" if draw.random() < 0.3 else b"n1" for _ in range(rows)]).view(pa.string())
    if kind == pa.time64("us"):
        return pa.array(column, pa.int64()).cast(kind)
    return pa.array(column, kind)


def any_array(draw: Random, given: Any) -> Any:
    """Another type, shape or content."""
    X = np.asarray(given)
    if X.dtype.kind not in "biuf":  # changed before
        return X[:0] if X.ndim else X
    flat: Any = X.copy()
    match draw.randrange(12):
        case 0:
            return X.astype(
                draw.choice(["int8", "uint64", "float64", "bool", "complex64", "U5", "S3", "float16", "longdouble"])
            )
        case 1:
            return X[: draw.choice([0, 1, len(X) // 2])] if X.ndim else X
        case 2:
            return X.reshape(-1)
        case 3:
            return X[None]
        case 4:
            return X.T
        case 5:
            return np.array(draw.choice([0, -1, 10**12, 1.5, "a", True]))
        case 6:
            return np.zeros(draw.choice([(0,), (0, 5), (5, 0), (60, 2, 2), (1,), (2, 2)]))
        case 7:
            return np.array([1, "a", None, {}], dtype=object)
        case 8:
            return np.array(draw.choice([["2020-01-01"] * 60]), "datetime64[D]")
        case 9:
            return np.zeros(60, [("a", "i4"), ("b", "f8")])
    if flat.size and flat.dtype.kind in "iuf":
        for _ in range(mutate.times(draw)):
            place = draw.randrange(flat.size)
            number = draw.choice([-1, 0, 10**9, 59, 60, 2**31, -(2**62), 1e38, float("nan"), float("inf")])
            with np.errstate(all="ignore"):
                try:
                    flat.reshape(-1)[place] = number
                except (OverflowError, ValueError):
                    flat.reshape(-1)[place] = 77
    return flat


def npz(draw: Random, folder: Path, fixtures: Path) -> list[str]:
    """Both layouts, with masks; damaged zips; arrays that unpack to much more."""
    with np.load(fixtures / "arrays/bare.npz") as file:
        arrays = {name: file[name] for name in file.files}
    nodes = len(arrays["node_labels"])
    if draw.random() < 0.5:
        A = sp.csr_array((np.ones(len(arrays["edges"])), arrays["edges"].T), shape=(nodes, nodes))
        X = sp.csr_array(arrays["node_features"])
        parts = ("data", "indices", "indptr", "shape")
        arrays = {"labels": arrays["node_labels"]} | {f"adj_{part}": np.asarray(getattr(A, part)) for part in parts}
        arrays |= {f"attr_{part}": np.asarray(getattr(X, part)) for part in parts}
    if draw.random() < 0.4:
        arrays |= {
            f"{part}_masks": np.stack([np.arange(nodes) % 3 == i] * 2)
            for i, part in enumerate(("train", "val", "test"))
        }
    for _ in range(mutate.times(draw)):
        name = draw.choice(sorted(arrays))
        if draw.random() < 0.1:
            del arrays[name]
            arrays = arrays or {"x": np.zeros(1)}
        else:
            arrays[name] = any_array(draw, arrays[name])
    path = folder / "g.npz"
    if draw.random() < 0.01:
        _zip_bomb(path, draw.choice([10**8, 10**9, 3 * 10**9]))
    else:
        draw.choice([np.savez, np.savez_compressed])(path, **arrays)
        if draw.random() < 0.25:
            path.write_bytes(mutate.raw(draw, path.read_bytes()))
    more = draw.choice(
        [[], [], ["--split", "1"], ["--split", "random:2"], ["--features", "standard"], ["--features", "row"]]
    )
    return ["train", "./g.npz", *QUICK, *more]


def _zip_bomb(path: Path, size: int) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (60, size // 480)})
    block = bytes(1 << 20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("node_features.npy", "w", force_zip64=True) as file:
            file.write(header.getvalue())
            for _ in range(size >> 20):
                file.write(block)
        archive.writestr("edges.npy", b"")


def planetoid(draw: Random, folder: Path, fixtures: Path) -> list[str]:
    """One of the pickles becomes another value, or other opcodes."""
    shutil.copytree(fixtures / "arrays/planetoid", folder / "toy")
    path = draw.choice(sorted((folder / "toy").iterdir()))
    match draw.randrange(6):
        case 0 | 1:
            path.write_bytes(mutate.raw(draw, path.read_bytes()))
        case 2:
            shutil.copy(draw.choice(sorted((folder / "toy").iterdir())), folder / "copy")
            shutil.move(folder / "copy", path)
        case 3 if path.suffix == ".index":
            path.write_text("\n".join(draw.choice(["41", "0", "-5", "99999999999", "a", "1.5", ""]) for _ in range(20)))
        case 4:
            path.write_bytes(
                draw.choice(
                    [
                        b"cos\nsystem\n(S'true'\ntR.",
                        b"\x80\x02]r\x00\x00\x00\x10.",
                        b"\x80\x02" + b"(" * 100_000 + b".",
                        b"\x80\x02" + b"]" * 1000 + b"a" * 999 + b".",
                        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.",
                        b"\x80\x02cnumpy\nndarray\n.",
                        b"\x80\x02\x8a\xffK.",
                        pickle.dumps({i: list(range(i)) for i in range(50)}, protocol=draw.choice([0, 2, 4])),
                    ]
                )
            )
        case _:
            value = draw.choice(
                [
                    sp.csr_matrix((3, 10**9)),
                    sp.csr_matrix((0, 0)),
                    np.zeros((3, 3)),
                    {},
                    [],
                    {0: [1], 1: [10**9]},
                    {"a": ["b"]},
                ]
            )
            value = draw.choice([value, {i: draw.choice([[0], [], [-1], [2**70], "abc", None]) for i in range(60)}])
            path.write_bytes(pickle.dumps(value, protocol=2))
    return ["train", "toy/", *QUICK]


def graphsage(draw: Random, folder: Path, fixtures: Path) -> list[str]:
    shutil.copytree(fixtures / "arrays/sage", folder / "toy")
    path = draw.choice(sorted((folder / "toy").iterdir()))
    if path.suffix == ".npy":
        if draw.random() < 0.4:
            path.write_bytes(mutate.raw(draw, path.read_bytes()))
        else:
            np.save(path, any_array(draw, np.load(path)))
    elif draw.random() < 0.3 and path.name == "toy-class_map.json":
        classes: list[object] = [
            [draw.choice([0, 1, -1, 10**9, 2**70, "a", None, 0.5]) for _ in range(3)] for _ in range(60)
        ]
        values: list[object] = draw.choice([classes, [draw.choice([0, 1, 2, 10**9, "a", [1]]) for _ in range(60)]])
        path.write_text(json.dumps({str(i): values[i] for i in range(60)}))
    else:
        path.write_bytes(mutate.json_text(draw, path.read_text()))
    return ["train", "toy/", *QUICK]
