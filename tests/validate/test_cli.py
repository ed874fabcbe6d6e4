"""The commands as a user meets them: results, JSON, exit codes, one clear sentence for bad input."""

import errno
import json
import re
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from sim import Run, train
from sim.config.presets import load_preset
from sim.config.run import make_run_config
from sim.config.task_files import read_description
from sim.runs.folder import planned_runs
from sim.runs.manifest import Manifest
from tests.run_folder import change
from tests.tiny_task import TASK
from tests.validate.conftest import tiny_config
from theory import InputError, Task, label_distribution
from theory.derive import derivations, derivations_page, find_derivation
from theory.edge.errors import GradientLimitError
from validate.cli import main
from validate.commands import COMMANDS, claims
from validate.commands.parsing import parse
from validate.commands.train import _note_plan, print_runs
from validate.compare.flow import STARTS
from validate.observe.groups import group_runs
from validate.predict.learning import predict_for
from validate.report.figures import draw_learning

CONFIG = f"""
init_rates = [0.8]
seeds = [0, 1]

[task]{TASK}
[model]
d_m = 8
d_f = 8

[training]
epochs = 2
snapshot_epochs = [1]
"""


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "config.toml"
    file.write_text(CONFIG)
    return file


@pytest.mark.parametrize("workers", ["1", "2"])
def test_training_is_logged_to_tensorboard(workers, config, here, cli, monkeypatch):
    """Every number of every evaluation once, by a stand-in for the library; without it nothing begins."""
    command = ["train", str(config), "--out", "runs", "--tensorboard", "board", "--workers", workers]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    assert "package = 'tensorboard': not installed; install it with" in cli(*command, code=2).err
    assert not Path("runs").exists()
    written = dict[str, list[object]]()

    def writer(folder):
        calls = written.setdefault(folder, [])
        return SimpleNamespace(add_scalar=lambda *call: calls.append(call), flush=lambda: None)

    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", SimpleNamespace(SummaryWriter=writer))
    cli(*command)
    assert written.keys() == {f"board/gamma0.8_seed{seed}" for seed in (0, 1)}
    for folder, calls in written.items():
        expected = [
            (f"{kind}/{part}", line[kind][part], line["step"])
            for line in Run.open(Path("runs") / Path(folder).name).metrics
            for kind in ("loss", "accuracy")
            for part in line[kind]
        ]
        assert calls == expected


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("compare demo", ""),
        ("sweep show runs", ""),
        ("sweep demo.toml", "the same command continues"),
        ("train demo.toml", "continue them with the same command and --resume"),
        ("train demo.toml --overwrite", "the same command, --resume in place of --overwrite"),
    ],
)
def test_a_command_that_is_stopped_says_how_it_continues(line, hint, cli, monkeypatch):
    command, function = line.split()[0], "show" if "show" in line else "run"
    monkeypatch.setattr(f"validate.commands.{command}.{function}", Mock(side_effect=KeyboardInterrupt))
    said = cli(*line.split(), code=130).err
    assert said.endswith(f"{hint}\n")
    assert bool(hint) == (said != "anchorflow: stopped\n")


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        (OSError(errno.ENAMETOOLONG, "File name too long", "f"), "f: File name too long; check the path"),
        (
            OSError(errno.EMFILE, "Too many open files"),
            "Too many open files; raise the limit (ulimit -a), or use fewer --workers",
        ),
        (
            GradientLimitError("it", "no.", 1.0, "Ask for less, or allow more by max_gradients"),
            "it stopped at t = 1: no. Take --route batches, ask for fewer epochs, or allow more: "
            "--max-gradients.",
        ),
    ],
)
def test_an_error_names_the_file_the_limit_or_the_option_that_raises_it(error, ending, cli, monkeypatch):
    monkeypatch.setattr("validate.commands.predict.run", Mock(side_effect=error))
    assert cli("predict", "paper", code=2).err == f"anchorflow: {ending}\n"


@pytest.mark.parametrize(("limit", "enough"), [(2**30 - 1, False), (2**30, True), (-1, True)])
def test_an_address_space_in_which_training_would_hang_is_refused(limit, enough, cli, monkeypatch):
    monkeypatch.setattr("resource.getrlimit", lambda _: (limit, limit))
    for command in (("train",), ("corpus", "train")):
        said = cli(*command, "--no-such-option", code=2).err
        assert said.startswith("anchorflow: training needs 1 GiB of address space; raise the limit") != enough


def test_the_claims_that_are_suggested_are_judged_by_the_same_runs():
    words = ["--runs", "a b", "c", "--kept", "k"]
    assert shlex.split(claims._places(parse("claims", claims.Options, ["1", *words]))) == words
    assert claims._places(parse("claims", claims.Options, ["1"])) == ""


def test_help_of_everything_shows_an_example(capsys, cli):
    assert "example: anchorflow demo" in cli("--help").out
    for command in COMMANDS:
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0
        printed = capsys.readouterr().out
        assert f"example: anchorflow {command}" in printed
        assert ("--init-rates, --gammas, --gamma FLOAT [FLOAT ...]" in printed) == (command == "train")


@pytest.mark.usefixtures("blank_pictures")
def test_predict_prints_and_writes(tmp_path, cli):
    found = cli("predict", "emb-mlp", "--out", str(tmp_path / "p"), "--json").json()
    task = Task.paper(length=3)
    assert found["label_distributions"]["15"] == label_distribution(task, 15, held_out=True).tolist()
    assert json.loads((tmp_path / "p" / "prediction.json").read_text()) == found
    assert Task.from_toml(tmp_path / "p" / "task.toml") == task
    assert {f.stem for f in (tmp_path / "p" / "figures" / "prediction").glob("*.svg")} == {
        *("fig4b_label_distributions", "fig4c_cosines", "fig5cd_geometry", "fig9_rows"),
    }
    said = cli("predict", "emb-mlp", "--out", str(tmp_path / "p")).out
    assert "reasoning anchor" in said
    assert said.endswith(f"\nwritten to {tmp_path / 'p'}\n")


@pytest.mark.usefixtures("one_paper_figure", "blank_pictures")
def test_train_then_compare(config, tmp_path, cli):
    arguments = ["train", str(config), "--out", str(out := tmp_path / "runs"), "--workers", "1"]
    found = cli(*arguments, "--training.learning-rate", "3e-3", "--seeds", "4", "5", "--json").json()
    assert [run["config"]["seed"] for run in found] == [4, 5]
    training = found[0]["config"]["training"]
    assert (training["learning_rate"], training["epochs"]) == (3e-3, 2)
    report = cli("compare", str(out), "--curves", "--out", str(tmp_path / "report"), "--json").json()
    assert report == json.loads((tmp_path / "report" / "report.json").read_text())
    assert (tmp_path / "report" / "report.html").exists()
    (learning,) = draw_learning(settings := group_runs([out]))
    memory = predict_for(settings[0].config, STARTS).accuracy["memory"].mean(axis=0)
    drawn = vars(learning.rows[0].panels[0])["curves"]["predicted, same colours"]
    np.testing.assert_array_equal(drawn.mean, memory)
    assert learning.name in [figure["name"] for figure in report["figures"]]
    for more, said in (("--epochs 7", "epochs = 7: no snapshot"), ("--curves", "shown in the report alone")):
        assert said in cli("compare", str(out), *more.split(), code=2).err
    other = ["--out", str(tmp_path / "other"), "--gammas", "0.3", "--training.snapshot-epochs", "2"]
    cli("train", str(config), "--workers", "1", *other)
    runs = [str(out), str(tmp_path / "other")]
    assert "choose from [0, 2]" in cli("compare", *runs, "--epochs", "1", "--json", code=2).err
    lost = (out / "gamma0.8_seed5").rename(tmp_path / "lost")
    remedy = f"gamma0.8_seed5; train what is missing: anchorflow train --resume {out}"
    assert remedy in cli("compare", str(out)).err
    assert f"to continue its runs: anchorflow train --resume {out}" in cli("train", str(out), code=2).err
    lost.rename(out / "gamma0.8_seed5")
    assert "P^s - u" in cli("compare", str(out / "gamma0.8_seed4"), str(out / "gamma0.8_seed5")).out


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("trian", ["command", "'train'"]),
        ("predict nowhere.toml", ["nowhere.toml", "check"]),
        ("predict", ["TASK.toml", "--task"]),
        ("train emb-mlp", ["--task emb-mlp"]),
        ("predict paper --route flow", ["route", "add --curves"]),
        ("predict emb-mlp --samples 10", [": samples = 10", "at least 40"]),
        ("predict emb-mlp --curves --lr -1", ["learning_rate", "greater than 0"]),
        ("train --model.kind tranformer", ["model.kind", "'transformer'"]),
        ("train --model.kind one-layer --model.d-m 3", ["model key = 'd_m'", "d_k"]),
        ("train --batch-size 3", ["--batch-size", "did you mean --training.batch-size?"]),
        ("train --training.lr 3", ["--training.lr", "did you mean --lr?"]),
        ("train --model.tensor-init-rates W_U", ["--model.tensor-init-rates", "not pairs"]),
        ("train --out ~nobody-of-this-name/x", ["~nobody-of-this-name", "no home folder"]),
        ("train --epochs many", ["--training.epochs", "an integer"]),
        ("train --training.batch-size fall", ["--training.batch-size", "an integer, full"]),
        ("train --gammas 0,3", ["'0,3'", "with spaces between"]),
        ("train --import nowhere.py", ["import", "nowhere"]),
        ("train one.toml two.toml", ["two.toml", "see --help"]),
        ("train", ["needs something to train", "--task emb-mlp"]),
        ("train --seeds 0-2 --task emb-mlp", ["'0-2'", "0 1 ... 2"]),
        ("train --seeds 0_2 --task emb-mlp", ["'0_2'", "0 1 ... 2"]),
        ("predict paper --seed 1_0", ["'1_0'", "an integer"]),
        ("predict paper --seed 1 --seed 2", ["--seed = '1 and 2'", "given twice"]),
        ("advise", ["needs CONFIG, --module or --all", "advise config.json"]),
        ("advise --all --rate 0.5", ["rate = 0.5", "one model"]),
        ("advise --all --csv --json", ["csv", "give one of the two"]),
        ("derive --overwrite", ["overwrite", "add --out"]),
        ("table nowhere --overwrite", ["overwrite", "add --csv"]),
        ("sweep show nowhere --overwrite", ["overwrite", "add --out"]),
        ("corpus predikt text.txt", ["'predikt'", "did you mean 'predict'?"]),
        ("train --resume --overwrite", ["resume, overwrite", "give one of them"]),
        ("train --resume", ["no such folder"]),
        ("figures 99", ["figure", "choose one of 1, 2, 3, 4"]),
        ("figures --format gif", ["--format", "png, pdf, svg"]),
        ("figures 3 --runs", ["--runs", "needs a value"]),
        ("compare", ["RUN", "example: anchorflow compare"]),
        ("compare nowhere", ["nowhere", "no such folder", "train into it"]),
        ("sweep show nowhere", ["nowhere", "no such folder"]),
        ("sweep show nowhere --out /dev/null", ["out = '/dev/null'", "a device"]),
        ("study --drop", ["drop", "add --keep"]),
        ("study --keep --kept /dev/null/k", ["/dev/null/k", "cannot be written"]),
    ],
)
def test_bad_input_is_one_sentence_before_any_work(line, words, refused):
    said = refused(*line.split())
    assert all(word in said for word in words), said


FILES = {
    "run.json": (b'{"keys": "1..2"}', "JSON, but not a run's config.json"),
    "list.json": (b"[]", "JSON, but not a run's config.json"),
    "cut.json": (b'{"keys": "1..2",,}', "correct the JSON"),
    "json.toml": (b'\n{"keys": "1..2"}', "looks like JSON"),
    "cut.toml": (b"keys = [1, 2", "not valid TOML"),
    "pdf.toml": (b"%PDF-1.4", "a PDF, not text"),
    "word.toml": (b"PK\x03\x04", "an office document, not text"),
    "rule.py": (
        b"def rule(key, anchors): ...",
        "Python, not a task file; write its task with Task.to_toml()",
    ),
    "rule.toml": (
        b'keys="1..2"\nn_anchors=1\nlength=2\nvocab_size=9\n[[mappings]]\nanchors="3..4"\nrule="lookpu"',
        "did you mean 'lookup'?",
    ),
}


@pytest.mark.parametrize(("name", "content", "message"), [(n, *told) for n, told in FILES.items()])
def test_a_file_of_another_kind_is_named_for_what_it_is(name, content, message, refused, here):
    Path(name).write_bytes(content)
    assert message in refused("predict", name)


def test_a_path_with_a_space_is_to_be_quoted(refused, here):
    Path("my new task.toml").touch()
    assert 'in quotes: "my new task.toml"' in refused("train", "my", "new", "task.toml")
    assert "a path with spaces needs quotes" in refused("predict", "paper", "--out", "my", "folder")


def test_a_file_where_a_folder_should_be_is_named_as_one(config, tmp_path, cli, monkeypatch):
    monkeypatch.setattr("sim.training.cost.cost_of_runs", Mock(side_effect=AssertionError))
    (taken := tmp_path / "taken").touch()
    for out in (taken, taken / "runs"):
        assert (
            f"out = '{taken}': a file, not a folder"
            in cli("train", str(config), "--out", str(out), code=2).err
        )
    said = cli("predict", "paper", "--out", str(taken), code=2).err
    assert "a file has the name of a folder" in said
    assert "free space" not in said


def test_a_folder_in_the_way_is_resumed_by_an_option_here_and_a_keyword_in_python(config, tmp_path, cli):
    arguments = ["train", str(config), "--out", str(tmp_path / "runs"), "--workers", "1"]
    cli(*arguments)
    assert "ask for --resume or --overwrite" in cli(*arguments, code=2).err
    with pytest.raises(InputError, match="ask for resume=True or overwrite=True"):
        train(make_run_config(read_description(config)), tmp_path / "runs")
    (tmp_path / "old.csv").write_text("mine")
    said = cli("table", str(tmp_path / "runs"), "--csv", str(tmp_path / "old.csv"), code=2).err
    assert "ask for --overwrite." in said


def test_the_runs_in_a_folder_go_on_without_their_configuration(config, tmp_path, cli, monkeypatch):
    """One is stopped in its last epoch and continued: by the folder of both, or by its own."""
    parts, options = tmp_path / "parts", ["--workers", "1", "--training.dtype", "float64"]
    alone = parts / "gamma0.8_seed1"
    for named in ([str(parts)], [str(alone)], ["--out", str(parts)]):
        cli("train", str(config), "--out", str(parts), "--overwrite", *options)
        whole = {file: file.read_bytes() for file in parts.glob("*/snapshots/*")}
        _stop(alone)
        resumed = cli("train", "--resume", *named, "--workers", "1", "--json").json()
        found = [Path(run["path"]) for run in resumed]
        assert found == ([alone] if named == [str(alone)] else [parts / "gamma0.8_seed0", alone])
        assert {file: file.read_bytes() for file in parts.glob("*/snapshots/*")} == whole
    assert "out = 'elsewhere'" in cli("train", "--resume", str(parts), "--out", "elsewhere", code=2).err
    # Stopped before anything is replaced: what is there is no run to resume.
    monkeypatch.setattr("sim.training.cost.cost_of_runs", Mock(side_effect=KeyboardInterrupt))
    said = cli("train", str(config), "--out", str(parts), "--overwrite", code=130).err
    assert said.endswith("give the same command again\n")


def _stop(run):
    """Leave of a complete run what one has that was killed in its last epoch."""
    (run / "snapshots" / "epoch_000002.safetensors").unlink()
    max((run / "checkpoints").iterdir()).unlink()
    change(run / "provenance.json", status="running")
    lines = (run / "metrics.jsonl").read_text().splitlines(keepends=True)
    Manifest(run).write("metrics.jsonl", "".join(lines[:-1]))


@pytest.mark.usefixtures("one_paper_figure", "blank_pictures")
def test_demo_exits_with_its_verdicts(monkeypatch, tmp_path, cli):
    """With six epochs of a tiny task nothing has been learned yet: the demo must say so and exit 1."""
    tiny = tiny_config(snapshot_epochs=[])
    monkeypatch.setattr("validate.commands.demo.demo_config", lambda: tiny)
    found = cli("demo", "--out", str(tmp_path), "--workers", "1", "--json", code=1).json()
    assert not all(finding["verdict"] == "holds" for finding in found["verdicts"])
    (overview,) = (figure for figure in found["figures"] if figure["name"] == "overview")
    assert overview["caption"].endswith(".")
    assert (tmp_path / "report.html").exists()


def test_derive_shows_one_lists_all_and_writes_the_page(tmp_path, monkeypatch, cli):
    shown = cli("derive", "prop", "1").out
    assert cli("derive", "Prop. 1").out == shown == str(find_derivation("prop 1")).removesuffix("\n") + "\n"
    listed = cli("derive").out
    assert all(re.search(rf"^{re.escape(name)} ", listed, re.MULTILINE) for name in derivations())
    assert cli("derive", "sigma_p", "--json").json()[0]["title"] == find_derivation("sigma_p").title
    page = tmp_path / "page.md"
    two = {name: derivations()[name] for name in ("mu_s", "prop 1")}
    monkeypatch.setattr("theory.derive.catalogue.derivations", lambda: two)
    assert cli("derive", "--all", "--latex", "--out", str(page)).out == f"written to {page}\n"
    assert page.read_text() == derivations_page()
    assert page.read_text().count("\n## ") == 2
    assert "did you mean" in cli("derive", "prop 9", code=2).err
    cli("derive", "prop", "1", "--all", code=2)


def test_a_loss_that_overflowed_or_is_not_there_is_a_dash(monkeypatch, capsys):
    losses = {Path("a"): {"mem": 1.25, "rsn_test": None}, Path("b"): {"mem": 2.0}}

    def opened(path):
        final = {"accuracy": dict.fromkeys(losses[path], 0.5), "loss": losses[path]}
        config = SimpleNamespace(task=None)
        return SimpleNamespace(path=path, config=config, metrics=[final], snapshot_epochs=[0, 2])

    monkeypatch.setattr("sim.runs.run.Run.open", opened)
    print_runs(losses, Path("runs"), None, as_json=False)
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line[:2] in ("a ", "b ")]
    assert rows == [["a", "0.500", "0.500", "1.250", "–"], ["b", "0.500", "–", "2.000", "–"]]


@pytest.mark.usefixtures("one_paper_figure")
def test_the_commands_that_are_printed_can_be_pasted(runs_folder, tmp_path, cli):
    out = tmp_path / "runs ü" / "mine a"
    config = str(runs_folder / "gamma0.8_seed0" / "config.json")
    *_, last = cli("train", config, "--out", str(out), "--training.epochs", "4").out.splitlines()
    printed = last.partition("compare them with the theory: ")[2]
    assert shlex.split(printed) == ["anchorflow", "compare", str(out)]
    assert f"anchorflow compare '{out}'" in cli("claims", "--runs", str(out), code=2).err.replace("\n", "")


def test_plans_that_are_noted_at_once_are_all_kept(tmp_path):
    plans = [make_run_config({"seeds": [seed]}) for seed in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(_note_plan, [tmp_path] * 8, plans))
    assert len(planned_runs(tmp_path)) == sum(len(plan.members()) for plan in plans)


def test_a_planned_run_knows_where_its_settings_come_from(tmp_path):
    """Also where the same runs were planned before without a preset: the last plan counts."""
    config = make_run_config(load_preset("paper"))
    for plan in (config, config.model_copy(update={"sources": {}}), config, config):
        _note_plan(tmp_path, plan)
    planned = planned_runs(tmp_path)
    assert list(planned.values()) == config.members()
    assert [run.sources for run in planned.values()] == [config.sources] * len(planned)
    assert len(config.sources) > 9
