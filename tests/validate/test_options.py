"""Options made from types, their help, and what a shell completes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any, Literal

import pytest

from sim import TrainingConfig
from tests.conftest import Cli
from theory import InputError
from validate.commands import COMMANDS, commands_of, predict
from validate.commands.options import Option, members, nested, options_of
from validate.commands.parsing import parse
from validate.commands.train import Options, configuration_of


def test_a_key_is_on_or_off(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[data]\nshuffle_labels = true\n")
    for arguments, expected in (([], True), (["--no-data.shuffle-labels"], False)):
        config = configuration_of(parse("train", Options, [str(file), *arguments]))
        assert config.data.shuffle_labels is expected


def test_a_kind_on_the_command_line_keeps_the_keys_of_the_file_alone(
    tmp_path: Path,
) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[model]\nd_m = 8\n")
    kind = ["--model.kind=transformer", "--model.d-k", "4", "--model.tensor-init-rates", "W_U", "0.5"]
    for more in ([], ["--preset", "paper-emb-mlp"]):
        model: Any = configuration_of(parse("train", Options, [str(file), *kind, *more])).model
        assert (model.kind, model.d_m, model.d_k) == ("transformer", 8, 4)
        assert model.tensor_init_rates == {"W_U": 0.5}


def test_options_come_in_any_order_and_with_either_hyphen() -> None:
    expected = parse(
        "train", Options, ["x.toml", "--out", "r", "--seeds", "1", "2", "--training.dtype=float64"]
    )
    assert expected.keys == {"seeds": (1, 2), "training.dtype": "float64"}
    for arguments in (
        ["--seeds", "1", "2", "--out", "r", "x.toml", "--training.dtype", "float64"],
        ["--training.dtype", "float64", "--out=r", "x.toml", "--seeds", "1", "2"],
    ):
        assert parse("train", Options, arguments) == expected
    for name in ("--training.learning_rate", "--lr"):
        assert parse("train", Options, [name, "3e-3"]).keys == {"training.learning_rate": 3e-3}
    for seeds in (["0", "1"], ["0,1"]):
        given = parse("train", Options, ["--epochs", "7", "--gammas", "0.3", "0.8", "--seeds", *seeds]).keys
        assert given == {"training.epochs": 7, "init_rates": (0.3, 0.8), "seeds": (0, 1)}


def test_values_have_the_types_of_their_keys() -> None:
    mixed = Option("n", int | Literal["full"])
    assert (mixed.value("3"), mixed.value("full")) == (3, "full")
    with pytest.raises(InputError, match="an integer, full"):
        mixed.value("fall")
    pairs = Option("rates", dict[str, float])
    assert pairs.value(["W_U", "0.5", "W_E", "1"]) == {"W_U": 0.5, "W_E": 1.0}
    with pytest.raises(InputError, match="not pairs"):
        pairs.value(["W_U"])
    assert nested({"a": 1, "b.c": 2, "b.d.e": 3}) == {"a": 1, "b": {"c": 2, "d": {"e": 3}}}


def test_every_path_may_begin_at_home() -> None:
    """A shell leaves ~ as it is in --out=~/runs: a folder of that name would be made."""
    kinds = [kind for name in COMMANDS for kind, _ in commands_of(name).values()]
    paths = [option for kind in kinds for option in options_of(kind) if Path in members(option.kind)]
    assert len(paths) > 10
    for option in paths:
        home = Path.home() / "x"
        assert option.value(["~/x"] if option.many else "~/x") == ((home,) if option.many else home)
    with pytest.raises(InputError, match="no home folder"):
        parse("train", Options, ["--out=~nobody-of-this-name/x"])


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["train", "--training.epo"], ["--training.epochs"]),
        (["train", "--kernels", ""], ["auto", "torch", "compiled"]),
        (["train", "--out", "fol"], ["folder"]),
    ],
)
def test_a_shell_completes(words: list[str], offered: list[str], tmp_path: Path, cli: Cli) -> None:
    completion = cli("--print-completion", "bash").out
    (tmp_path / "folder").mkdir()
    line = " ".join(f"'{word}'" for word in words)
    script = f"{completion}\nCOMP_WORDS=(anchorflow {line}); COMP_CWORD={len(words)}\n"
    script += "_shtab_anchorflow; printf '%s\\n' \"${COMPREPLY[@]}\"\n"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.split() == offered


def test_curves_are_predicted_for_training_as_it_is_by_default() -> None:
    curves, training = predict.Options.model_fields, TrainingConfig.model_fields
    shared = curves.keys() & training.keys()
    assert shared == {"epochs", "learning_rate", "optimizer"}
    for name in shared:
        assert curves[name].default == training[name].default
