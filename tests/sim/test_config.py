"""Configurations: where values come from, files and JSON, presets over presets, refusals by name."""

import pickle
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim import MemberConfig, RunConfig, TrainingConfig, make_run_config, register_model
from sim.architectures.emb_mlp import EmbMLP
from sim.config.language import CorpusSource, corpus_name
from sim.config.model import KINDS, LAYER_MATRICES, EmbMLPConfig, TransformerConfig
from sim.config.presets import load_preset, merge, over_preset, preset_names
from sim.config.run import make_member_config, sources
from sim.config.section import differences
from sim.models.initial import tensor_specs
from theory import InputError, Task
from theory.task.task import task_to_dict

PAPER = Task.paper(length=3)
TASK = {"n_anchors": 1, "length": 2, "vocab_size": 80, "memory_anchors": "1..3"}


def test_a_task_is_a_name_a_table_a_file_or_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file may lie at home, and be named there by a configuration."""
    monkeypatch.setenv("HOME", str(tmp_path))
    file = tmp_path / "task.toml"
    file.write_text(PAPER.to_toml())
    (tmp_path / "run.toml").write_text('task = "~/task.toml"\n')
    tasks = ("emb-mlp", task_to_dict(PAPER), str(file), file, PAPER, "~/task.toml", "~/run.toml")
    configs = [RunConfig(task=task) for task in tasks]
    assert [config.build_task() for config in configs] == [PAPER] * 7
    saved = configs[2].model_dump(mode="json")
    file.write_text(file.read_text().replace("length = 3", "length = 1"))
    own = {"init_rate": 0.8, "seed": 0, "task": str(file)}
    for read in (configs[2].members, lambda: make_member_config(own)):
        with pytest.raises(InputError, match=rf"^{file}: length = 1: "):
            read()
    assert make_run_config(saved).build_task() == PAPER


def test_numbers_of_numpy_and_paths_are_those_of_a_file() -> None:
    given = {"seeds": np.arange(2), "init_rates": [np.float32(0.5)], "training": {"epochs": np.int64(3)}}
    plain = {"seeds": [0, 1], "init_rates": [0.5], "training": {"epochs": 3}}
    assert make_run_config(given).model_dump_json() == make_run_config(plain).model_dump_json()
    assert CorpusSource(name="a", files=(Path("a.txt"),)) == CorpusSource(name="a", files=("a.txt",))
    for wrong in (np.array([1.5]), np.array([True]), np.arange(2)[None]):
        with pytest.raises(InputError, match=r"^seeds = "):
            RunConfig(seeds=wrong)


@pytest.mark.parametrize("kind", ["emb-mlp", "one-layer", "transformer"])
def test_every_kind_survives_json_and_knows_its_matrices(kind: str) -> None:
    member = make_run_config({"model": {"kind": kind}, "task": "paper"}).members()[0]
    assert make_member_config(member.model_dump(mode="json")) == member
    assert (member.model.kind, type(member.model)) == (kind, KINDS.complete()[kind])
    matrices = {n for n, spec in tensor_specs(member).items() if spec.fan_in is not None}
    assert {name for name in member.model.matrix_names() if name not in LAYER_MATRICES} == matrices


def test_every_default_names_its_source() -> None:
    found = sources(make_run_config({"training": {"epochs": 7}, "model": {"kind": "transformer"}}))
    assert found["training.epochs"] == "user"
    assert found["training.weight_decay"] == "sibling"
    of_model = {key: tag for key, tag in found.items() if key.startswith("model.")}
    printed = {"kind", "n_layers", "n_heads", "d_m", "d_f", "d_k", "positions", "loss", "initial_embedding"}
    assert {key.removeprefix("model.") for key, tag in of_model.items() if tag == "paper"} == printed
    training = TrainingConfig()
    assert (training.batch_size, training.clip_norm, training.optimizer) == (100, 1.0, "adamw")


def test_a_value_comes_from_where_its_preset_says_until_somebody_replaces_it() -> None:
    preset = {
        "model": {"kind": "transformer", "norm": "post", "d_m": 32},
        "training": {"epochs": 7},
        "sources": {"model.norm": "paper", "model.d_m": "sibling", "training.epochs": "chosen"},
    }
    over: list[dict[str, Any]] = [
        {},
        {"model": {"d_m": 16}, "training": {"epochs": 7}},
        {"model": {"kind": "emb-mlp", "d_m": 16}},
    ]
    expected = [["paper", "sibling", "chosen"], ["paper", "user", "user"], [None, "user", "chosen"]]
    for own, tags in zip(over, expected, strict=True):
        found = sources(make_run_config(merge(preset, own)))
        assert [found.get(key) for key in ("model.norm", "model.d_m", "training.epochs")] == tags
    # Also where that leaves no source at all.
    alone = {"model": preset["model"], "sources": {"model.norm": "paper"}}
    for changed in ({"norm": "pre"}, {"kind": "emb-mlp"}):
        assert sources(make_run_config(merge(alone, {"model": changed}))).get("model.norm") in ("user", None)
    # What is trained is the same wherever its values come from, and so is what is saved of it.
    plain = make_run_config(preset).members()[0]
    untold = make_run_config({key: value for key, value in preset.items() if key != "sources"}).members()[0]
    assert plain == untold
    assert "sources" not in plain.model_dump()
    assert plain != make_run_config(merge(preset, {"training": {"epochs": 8}})).members()[0]


def test_sources_that_are_no_table_are_refused_by_name() -> None:
    own: list[dict[str, Any]] = [{"sources": "paper"}, {"sources": 3}]
    for table in own:
        for base, over in (({}, table), (table, {})):
            with pytest.raises(InputError, match=r"^sources = "):
                make_run_config(merge(base, over))


def test_sgd_decays_nothing_unless_it_is_asked_to() -> None:
    """AdamW's 0.01 as L2 would halve all weights in 140 steps at a rate of 0.5."""
    plain, asked = TrainingConfig(optimizer="sgd"), TrainingConfig(optimizer="sgd", weight_decay=0.01)
    assert (plain.weight_decay, asked.weight_decay, TrainingConfig().weight_decay) == (0.0, 0.01, 0.01)
    tags = [sources(RunConfig(training=t))["training.weight_decay"] for t in (plain, asked)]
    assert tags == ["chosen", "user"]


@pytest.mark.parametrize("length", ["epochs", "schedule_epochs"])
def test_a_warm_up_without_room_names_what_makes_room(length: str) -> None:
    options: Any = {"schedule": "warmup-cosine", "epochs": 50, "schedule_epochs": 0, length: 10}
    with pytest.raises(InputError, match=f"^warmup_epochs = .*give fewer, or more {length}"):
        TrainingConfig(**options)


@pytest.mark.parametrize(
    ("data", "argument"),
    [
        ({"training": {"epochs": 0}}, "training.epochs"),
        ({"training": {"epoch": 5}}, "training key"),
        ({"self": 1}, "key"),
        ({"model": {"self": 1}}, "model key"),
        ({"init_rates": []}, "init_rates"),
        ({"init_rates": [0.8, 0.8]}, "init_rates"),
        ({"training": {"optimizer": "adam"}}, "training.optimizer"),
        ({"training": {"evaluations_per_epoch": 2}}, "training.evaluate_every"),
        ({"training": {"frozen": "W1"}}, "training.frozen"),
        ({"training": {"epochs": 20_000, "evaluate_every": 1, "evaluations_per_epoch": 8}}, "training.eval"),
        ({"sources": {"model.nrm": "paper"}}, "sources"),
        ({"model": {"kind": "gpt2", 1: 2}}, "model"),
        ({"model": {"kind": ["x"]}}, "model.kind"),
        ({"model": {"n_heads": 2}}, "model key"),
        ({"model": {"kind": "transformer", "tensor_init_rates": {"2.W_Q": 1.0}}}, "model.tensor_init_rates"),
        ({"data": {"fresh_noise": True}}, "data key"),
        ({"task": "papper"}, "task"),
        ({"task": {"keys": "1..2"}}, "task"),
    ],
)
def test_nonsense_is_refused_by_name_with_a_remedy(data: dict[str, Any], argument: str) -> None:
    with pytest.raises(InputError) as caught:
        make_run_config(data).members()
    assert caught.value.argument.startswith(argument)
    assert caught.value.remedy


def test_a_preset_file_may_start_from_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sim.config.presets.FOLDER", tmp_path)
    tags = '[sources]\n"model.d_m" = "paper"\n"model.d_f" = "paper"\n'
    (tmp_path / "base.toml").write_text(f"[model]\nd_m = 8\nd_f = 9\n{tags}")
    (tmp_path / "next.toml").write_text('preset = "base"\n[model]\nd_f = 7\n')
    assert preset_names() == ["base", "next"]
    expected = {"model": {"d_m": 8, "d_f": 7}, "sources": {"model.d_m": "paper"}}
    assert load_preset("next") == expected
    with pytest.raises(InputError, match=r"^preset = 'bas'"):
        load_preset("bas")


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_of_the_package_says_where_each_of_its_values_comes_from(name: str) -> None:
    preset = load_preset(name)
    sections = {s: preset.get(s, {}) for s in ("model", "data", "training")}
    assert set(preset["sources"]) == {f"{s}.{key}" for s, table in sections.items() for key in table}
    for member in make_run_config(preset).members():
        assert "user" not in sources(member).values()


def test_presets_of_the_paper_and_of_its_group() -> None:
    """Sections 13 of the paper's settings and the group's public code: sizes, rates, norms."""
    rates = {"paper": [1e-5, 1e-5, 1e-5], "group-2024": [1e-5, 2e-4, 1e-5]}
    for name, expected in rates.items():
        config = make_run_config(load_preset(name))
        model: Any = config.model
        assert (model.norm, model.activation) == ("post", "relu")
        assert (model.read_out_bias, model.biases) == (True, False)
        training = config.training
        assert (training.batch_size, training.clip_norm) == (100, 1.0)
        at = [training.rate_at(1980 * epoch, 1980) for epoch in (0, 10, 199)]
        assert at == pytest.approx(expected)
    later: Any = make_run_config(load_preset("group-pre")).model
    assert (later.norm, later.activation, later.biases) == ("pre-queries", "gelu", True)


TABLES = st.dictionaries(
    st.sampled_from(["seeds", "model", "training", "task"]),
    st.integers(0, 3) | st.dictionaries(st.sampled_from("abc"), st.integers(0, 3)),
)


@given(TABLES, TABLES)
def test_tables_merge_key_by_key(base: dict[str, Any], over: dict[str, Any]) -> None:
    before = pickle.dumps((base, over))
    merged = merge(base, over)
    assert merged.keys() == base.keys() | over.keys()
    for key, value in merged.items():
        below, above = base.get(key), over.get(key, base.get(key))
        both = isinstance(below, dict) and isinstance(above, dict)
        assert value == ({**below, **above} if both else above)  # type: ignore[dict-item]
    assert pickle.dumps((base, over)) == before


def test_a_model_of_another_kind_and_a_users_task_replace_the_presets() -> None:
    base = {"model": {"kind": "transformer", "d_k": 4, "d_m": 8}, "task": {"length": 5, "held_out": [[1, 2]]}}
    for kind, kept in (("emb-mlp", set()), ("transformer", {"d_k"})):
        assert merge(base, {"model": {"kind": kind, "d_m": 6}})["model"].keys() == {"kind", "d_m"} | kept
    assert merge({"model": {"d_m": 8}}, {"model": {"kind": "emb-mlp"}})["model"]["d_m"] == 8
    own = {"task": {"length": 3}, "model": {"d_m": 6}}
    assert over_preset(base, own) == {"task": {"length": 3}, "model": {**base["model"], "d_m": 6}}
    assert over_preset(base, {})["task"] == base["task"]


def _member(keys: str = "40..49", **data: Any) -> MemberConfig:
    return make_member_config({"init_rate": 0.8, "seed": 0, "task": TASK | {"keys": keys}} | data)


def test_runs_saved_with_options_that_are_no_more_are_read_as_before() -> None:
    """Kept runs have their keys, at the values that changed nothing; asked for, they are refused."""
    assert _member(data={"fresh_noise": False, "table_seed": -1}) == _member()
    gpt2 = {"kind": "gpt2", "d_m": 8}
    assert _member(model=gpt2 | {"own_scales": False}) == _member(model=gpt2)
    for own in ({"data": {"table_seed": 0}}, {"model": gpt2 | {"own_scales": True}}):
        with pytest.raises(InputError, match=r"key = '(table_seed|own_scales)': "):
            _member(**own)


def test_differences_are_named_with_both_values_those_of_the_task_last() -> None:
    one = _member(training={"epochs": 5, "beta1": 0.5}, seed=3)
    assert differences(one, one) == ""
    expected = "seed = 3, not 0; training.beta1 = 0.5, not 0.9; training.epochs = 5, not 100; and 1 more"
    assert differences(one, _member("40..52")) == expected
    assert differences(_member(), _member("40..52")) == 'task.keys = "40..49", not "40..52"'
    assert "not set" in differences(_member(model={"kind": "one-layer"}), _member())


def test_a_kind_of_model_has_a_name_of_its_own_by_default() -> None:
    class Nameless(EmbMLPConfig):
        kind: Literal["nameless"]  # type: ignore[assignment]

    class Other(EmbMLPConfig):
        """Another with the same name."""

    before = dict(KINDS.complete())
    with pytest.raises(InputError, match=r"^kind = .*needs a default"):
        register_model(Nameless, EmbMLP)
    with pytest.raises(InputError, match="EmbMLPConfig has that name"):
        register_model(Other, EmbMLP)
    assert before == KINDS.complete()


@pytest.mark.parametrize(
    "settings",
    [
        *({"tensor_init_rates": {"W_Q": 1.0}}, {"embedding_fan_in": "d_vob"}, {"norm": "pre-queries"}),
        *({"initial_embedding": "label-distributions"}, {"biases": True, "bias_scale": 1.0}),
    ],
)
def test_lemma_1_is_asked_where_every_matrix_is_drawn_at_one_scale(settings: dict[str, Any]) -> None:
    assert TransformerConfig().one_initial_scale
    assert not TransformerConfig(**settings).one_initial_scale


def test_files_whose_names_differ_before_the_last_dot_are_corpora_of_different_names() -> None:
    files = ("data.train.txt", "data.test.txt", ".hidden.txt", "my text.md", "é.md", "no_ending")
    names = ["data.train", "data.test", "hidden", "my-text", "corpus", "no_ending"]
    assert [corpus_name(f"folder.d/{file}") for file in files] == names
