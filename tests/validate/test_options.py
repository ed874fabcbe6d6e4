"""Options made from types, their help, what a shell completes; engines and models of one's own."""

import subprocess
import sys
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from sim import Execution, TrainingConfig
from sim.training.engines import ENGINES, engine_of
from tests.docs.pages import DOCS
from tests.processes import python
from tests.tiny_task import TASK, TINY
from tests.validate.sweeps.toy import write_toy
from theory import InputError
from validate.commands import predict
from validate.commands.parsing import import_first, parse
from validate.commands.train import Options, configuration_of


def test_a_kind_on_the_command_line_keeps_the_keys_of_the_file_alone(tmp_path):
    file = tmp_path / "c.toml"
    file.write_text("[model]\nd_m = 8\n[data]\nshuffle_labels = true\n")
    kind = ["--model.kind=transformer", "--model.d-k", "4", "--model.tensor-init-rates", "W_U", "0.5"]
    for more in ([], ["--preset", "paper-emb-mlp"]):
        config = configuration_of(parse("train", Options, [str(file), *kind, *more]))
        model: Any = config.model
        assert config.data.shuffle_labels
        assert (model.kind, model.d_m, model.d_k) == ("transformer", 8, 4)
        assert model.tensor_init_rates == {"W_U": 0.5}


def test_options_come_in_any_order_and_with_either_hyphen():
    lines = (
        "x.toml --out r --seeds 1 2 --training.dtype=float64",
        "--seeds 1 2 --out r x.toml --training.dtype float64",
        "--training.dtype float64 --out=r x.toml --seeds 1 2",
    )
    expected, *others = (parse("train", Options, line.split()) for line in lines)
    assert expected.keys == {"seeds": (1, 2), "training.dtype": "float64"}
    assert others == [expected] * 2
    for name in ("--training.learning_rate", "--lr"):
        assert parse("train", Options, [name, "3e-3"]).keys == {"training.learning_rate": 3e-3}
    for seeds in (["0", "1"], ["0,1"]):
        given = parse("train", Options, ["--epochs", "7", "--gammas", "0.3", "0.8", "--seeds", *seeds]).keys
        assert given == {"training.epochs": 7, "init_rates": (0.3, 0.8), "seeds": (0, 1)}
    twice = parse("train", Options, ["--gamma", "0.8", "--gamma", "0.3", "0.5", "--out", "~/x"])
    assert (twice.keys, twice.out) == ({"init_rates": (0.8, 0.3, 0.5)}, Path.home() / "x")
    for words, key, value in (
        (["--training.batch-size", "full"], "training.batch_size", "full"),
        (["--no-data.shuffle-labels"], "data.shuffle_labels", False),
    ):
        assert parse("train", Options, words).keys == {key: value}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["train", "--training.epo"], ["--training.epochs"]),
        (["train", "--kernels", ""], ["auto", "torch", "compiled"]),
        (["train", "--out", "fol"], ["folder"]),
    ],
)
def test_a_shell_completes(words, offered, tmp_path, cli):
    completion = cli("--print-completion", "bash").out
    (tmp_path / "folder").mkdir()
    line = " ".join(f"'{word}'" for word in words)
    script = f"{completion}\nCOMP_WORDS=(anchorflow {line}); COMP_CWORD={len(words)}\n"
    script += "_shtab_anchorflow; printf '%s\\n' \"${COMPREPLY[@]}\"\n"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.split() == offered


def test_curves_are_predicted_for_training_as_it_is_by_default():
    curves, training = predict.Options.model_fields, TrainingConfig.model_fields
    shared = curves.keys() & training.keys()
    assert shared == {"epochs", "learning_rate", "optimizer"}
    for name in shared:
        assert curves[name].default == training[name].default


COMMANDS = [
    ["train", "task.toml", "--out", "out", *TINY],
    ["study", "toy.toml", "--run", "--root", "out", "--kept", "kept"],
    ["sweep", "toy.toml", "--out", "out"],
]


@pytest.fixture
def _files(here):
    write_toy(here)
    (here / "task.toml").write_text(TASK)


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--scheduler", "tcp://x:1", "--engine", "local"], "is for the engine dask"),
        (["--slurm", "timeout_min", "3"], "is for the engine slurm"),
        (["--slurm", "timeout_min", "3", "--scheduler", "tcp://x:1"], "or leave it out"),
        (["--engine", "dask", "--workers", "-1"], "workers = -1"),
    ],
)
def test_options_that_do_not_fit(command, arguments, named, refused):
    assert named in refused(*command, *arguments)


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_the_jobs_go_to_the_engine_that_is_asked_for(command, cli, monkeypatch):
    """By another in Dask's stead, which trains them in this process."""
    seen: list[Any] = []

    def train_jobs(jobs, execution, stop, report):
        seen.append((len(jobs), execution))
        here = Execution(resume=execution.resume, shared=execution.shared)
        return engine_of("local")(jobs, here, stop, report)

    monkeypatch.setitem(ENGINES, "dask", f"{__name__}:train_jobs")
    monkeypatch.setitem(sys.modules[__name__].__dict__, "train_jobs", train_jobs)
    printed = cli(*command, "--scheduler", "tcp://x:1", "--workers", "3")
    ((n_jobs, execution),) = seen
    assert n_jobs == len(list(Path("out").rglob("config.json"))) > 1
    options = {"scheduler": "tcp://x:1"}
    assert execution == Execution(engine="dask", workers=3, engine_options=options, resume=True, shared=True)
    assert "engine: dask, workers: 3" in printed.err  # This machine's rates say nothing.


def test_a_file_is_imported_and_no_namesake(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", [*sys.path])
    (tmp_path / "random.py").touch()
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "its_own_model.py").touch()
    (tmp_path / "link.py").symlink_to(tmp_path / "inside" / "its_own_model.py")
    (tmp_path / "loop.py").symlink_to("loop.py")
    import_first(["--import", str(tmp_path / "link.py")])
    assert sys.modules.pop("its_own_model").__file__ == str(tmp_path / "inside" / "its_own_model.py")
    for name, problem in (("random.py", "another module has that name"), ("loop.py", "cannot be imported")):
        with pytest.raises(InputError, match=problem):
            import_first(["--import", str(tmp_path / name)])


@pytest.mark.slow
def test_a_model_of_ones_own_is_trained_resumed_and_read(tmp_path):
    (tmp_path / "task.toml").write_text(TASK)
    (tmp_path / "own.py").write_text((DOCS / "extending" / "bag_of_words.py").read_text())
    run = partial(python, "-m", "anchorflow", cwd=tmp_path)
    model = ["--model.kind", "bag-of-words", "--gammas", "0.8", "--seeds", "0", "1", "--epochs", "2"]
    done = run("train", "task.toml", "--import", "own.py", *model, "--out", "runs", "--workers", "2")
    assert done.returncode == 0, done.stderr
    refused = run("table", "runs")
    assert refused.returncode == 2
    assert f"--import {tmp_path / 'own.py'}" in refused.stderr
    # A run that was planned and is not there is begun by --resume.
    rmtree(tmp_path / "runs" / "gamma0.8_seed1")
    resumed = run("train", "--resume", "runs", "--import=own.py", "--workers", "1")
    assert resumed.returncode == 0, resumed.stderr
    table = run("table", "runs", "--import", "own.py", "--json")
    assert table.stdout.count('"seed": 1') > 0
