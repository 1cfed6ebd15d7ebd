import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from ngcn.cli._errors import as_options

Ngcn = Callable[..., Result]
QUICK = ("train", "cora", "--model", "gcn", "--steps", "2")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "No such command 'trian'"),
        (["--colour"], "No such option"),
        (["train"], "Name a dataset, such as `ngcn train cora`"),
        (["train", "--resume"], "Name the run folder to continue: `ngcn train --resume --out RUN`"),
        (["train", "--config", "empty.yaml"], "empty.yaml names no dataset"),
        (["train", "cora", "--config", "twice.yaml"], "twice.yaml has the key 'lr' twice"),
        (["train", "corra"], "no dataset 'corra', nor a file or folder of that name; did you mean cora?"),
        (["train", "cora", "--setps", "3"], "No such option: --setps"),
        (["train", "cora", "--steps", "many"], "Invalid value for '--steps'"),
        (["train", "cora", "--steps", "0"], "steps must be a whole number of 1 or more, not 0."),
        (["train", "cora", "--lr", "-1"], "lr must be a number above 0"),
        (["train", "cora", "--model", "semiemb", "--set", "lr=1e308"], "lr must be a number above 0 and below 3e38"),
        (["train", "cora", "--seed", "99999999999999999999"], "seed must be below"),
        (["train", "cora", "--hidden", "100000000"], "hidden must be a whole number from 1 to 65,536"),
        (["train", "cora", "--threads", "0"], "Invalid value for '--threads'"),
        (["train", "cora", "--powers", "0-5"], "powers must be"),
        (["train", "cora", "--powers", "1,1"], "powers must be"),
        (["train", "cora", "--model", "gnc"], "did you mean 'gcn'?"),
        (
            ["train", "cora", "--model", "gcn", "--powers", "3"],
            "make 3; use --model ngcn, or combine them with --classifier",
        ),
        (
            ["train", "cora", "--model", "ngcn", "--classifier", "fc", "--intermediate"],
            "intermediate supervision needs",
        ),
        (["train", "cora", "--split", "random"], "split must be given"),
        (["train", "cora", "--config", "absent.yaml"], "absent.yaml cannot be read"),
        (["train", "--config", "typo.yaml"], "unknown key 'stesp'; did you mean 'steps'?"),
        (["train", "--config", "."], "cannot be read"),
        (["train", "cora", "--out", "typo.yaml"], "typo.yaml is a file"),
        (["train", "cora", "--out", "typo.yaml/sub"], "typo.yaml"),
        (["train", "cora", "--out", "/proc/run"], "/proc/run"),
        (["train", "--resume", "--out", "absent"], "no run to continue in absent"),
        (["train", "cora", "--lr", "1e38", "--steps", "2"], "no step can be kept"),
        (["evaluate"], "Missing argument 'RUN'"),
        (["evaluate", "absent"], "absent is not a run folder"),
        (["predict", "absent", "--out", "x.csv"], "absent is not a run folder"),
        (["predict", "absent"], "Missing option '--out'"),
        (["datasets", "fetch", "corra"], "no dataset 'corra'"),
        (["datasets", "fetch"], "Missing argument"),
    ],
)
def test_a_user_error_is_one_sentence_and_exit_code_2(ngcn: Ngcn, arguments: list[str], message: str) -> None:
    Path("typo.yaml").write_text("stesp: 3\n")
    Path("empty.yaml").write_text("# nothing yet\n")
    Path("twice.yaml").write_text("lr: 0.1\nsteps: 3\nlr: 0.2\n")
    result = ngcn(*arguments)
    *notes, sentence = result.stderr.splitlines()
    assert result.exit_code == 2 and message in sentence and result.stdout == ""
    assert not notes or (len(notes) == 2 and notes[0].startswith("2,708 nodes"))  # facts about the graph
    assert {file.name for file in Path.cwd().iterdir()} <= {"typo.yaml", "empty.yaml", "twice.yaml", "runs"}
    assert not Path("runs").exists() or not any(Path("runs").iterdir())


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("train nosuchfolder/", "There is no file or folder"),
        ("train nosuch", "There is no dataset 'nosuch'"),
        ("train cora --model nosuch", "model must be one of"),
        ("train cora --hidden -1", "hidden must be"),
        ("train cora --split -1", "split must be"),
        ("train --config missing.yaml", "missing.yaml cannot be read"),
        ("train cora --out done", "done holds a finished run; choose another folder."),
        ("predict nosuchrun --out x.csv", "nosuchrun is not a run folder"),
        ("predict done --out x.xls", "x.xls must end in"),
        ("train cora --predict x.xls", "x.xls must end in"),
        ("predict done nosuch --out x.csv", "There is no dataset 'nosuch'"),
        ("evaluate nosuchrun", "nosuchrun is not a run folder"),
        ("evaluate done nosuch/", "There is no file or folder"),
        ("explain nosuchrun --node 1", "nosuchrun is not a run folder"),
        ("report nosuchrun", "nosuchrun is not a run folder"),
        ("export nosuchrun --format torch", "nosuchrun is not a run folder"),
        ("export done --format onnx", "--format must be torch"),
    ],
)
def test_a_typing_error_does_not_wait_for_torch(tmp_path: Path, command: str, message: str) -> None:
    (tmp_path / "done").mkdir()
    for name in ("config.yaml", "result.json"):
        (tmp_path / "done" / name).touch()
    code = (
        "import sys\nfrom ngcn.cli import app\n"
        f"try: app({command.split()}, prog_name='ngcn')\n"
        "except SystemExit as end: print(end.code, {'torch', 'numba', 'scipy', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "2 set()\n"
    assert message in done.stderr and done.stderr.count("\n") == 1


def test_run_folders_in_the_wrong_state(ngcn: Ngcn) -> None:
    ngcn(*QUICK, "--out", "run")
    assert "holds a finished run; choose another folder." in ngcn(*QUICK, "--out", "run").stderr
    other = ngcn("train", "--resume", "--out", "run", "--lr", "0.5")
    assert other.exit_code == 2 and "lr is 0.01, not 0.5" in other.stderr
    for out, message in (
        ("no/such/folder.csv", "There is no folder no/such;"),
        ("run", "run must end in .csv"),
        ("x.xls", "must end"),
    ):
        assert message in ngcn("predict", "run", "--out", out).stderr
    assert "so --threshold does not apply" in ngcn("predict", "run", "--out", "x.csv", "--threshold", "0.2").stderr
    for verb in (["predict", "run", "--out", "x.csv"], ["evaluate", "run"]):
        for option in ("--edges", "--feature-table"):
            result = ngcn(*verb, option, "x.csv")
            assert result.exit_code == 2 and "belong to another GRAPH; name its table" in result.stderr
    assert "cora is a dataset of the catalog" in ngcn("evaluate", "run", "cora", "--edges", "x.csv").stderr
    Path("run/seed-0/result.json").unlink()
    assert (
        "run is not finished: seed 0 is missing; continue it with `ngcn train --resume --out RUN`"
        in ngcn("evaluate", "run").stderr
    )
    Path("run/config.yaml").write_text("lr: [\n")
    assert "config.yaml is not valid YAML" in ngcn("evaluate", "run").stderr


def test_a_bug_keeps_its_traceback(ngcn: Ngcn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ngcn.runs.run.load_dataset", lambda *_, **__: [][1])
    with pytest.raises(IndexError):
        ngcn(*QUICK)
    monkeypatch.setattr("ngcn.runs.run.load_dataset", lambda *_, **__: int("x"))
    with pytest.raises(ValueError, match="invalid literal"):
        ngcn(*QUICK)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("use `multilabel=True`.", "use --multilabel."),
        ("train with `one_hot=['town', 'job']`", "train with --one-hot town --one-hot job"),
        ('train with `ignore=["driver\'s age"]`', "train with --ignore 'driver'\"'\"'s age'"),
        ("use `model='ngcn'`, or `features=row`", "use --model ngcn, or --features row"),
        (
            "fewer `jobs`, another `results`, see `feature_table`",
            "fewer --jobs, another --results, see --feature-table",
        ),
        ("continue it with `resume=True`, or choose", "continue it with `ngcn train --resume --out RUN`, or choose"),
        ("pass it as `network`; see `ngcn datasets`", "pass it as `network`; see `ngcn datasets`"),
        ("add a line such as `dataset: cora`", "add a line such as `dataset: cora`"),
    ],
)
def test_arguments_in_messages_become_options(message: str, expected: str) -> None:
    assert as_options(message) == expected


@pytest.mark.parametrize("argv", [["ngcn"], ["ngcn", "--help"]])
def test_ctrl_c_while_importing_leaves_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    from ngcn import __main__

    class Interrupting:
        def find_spec(self, name: str, *_: object) -> None:
            if name.startswith("ngcn.cli"):
                raise KeyboardInterrupt

    for name in [name for name in sys.modules if name.startswith("ngcn.cli")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    monkeypatch.setattr(sys, "argv", argv)
    with pytest.raises(SystemExit) as end:
        __main__.main()
    assert end.value.code == 130 and capsys.readouterr().err == "Stopped.\n"
