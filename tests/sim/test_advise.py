"""``advise`` on models that others wrote: the library's own scales, fan-ins of every kind, lines that run."""

import json
import math
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import sim
from sim.modules.roles import roles_of
from tests.conftest import Cli
from tests.foreign_models import Language

SMALL = {"vocab_size": 300, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
CONFIGS: dict[str, dict[str, Any]] = {
    "gpt2": {"vocab_size": 300, "n_embd": 64, "n_layer": 3, "n_head": 4, "n_positions": 50},
    "llama": SMALL | {"intermediate_size": 96, "tie_word_embeddings": False},
    "gpt_neox": SMALL | {"intermediate_size": 96},
    "mixtral": SMALL | {"intermediate_size": 96, "num_local_experts": 3, "num_key_value_heads": 2},
    "gpt_oss": SMALL | {"intermediate_size": 96, "num_local_experts": 3, "num_key_value_heads": 2},
}


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_configuration_says_what_transformers_draws(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the meta device, against the same model with numbers: measured scales, and all roles."""
    transformers = pytest.importorskip("transformers", reason="needs the extra anchorflow[language]")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind} | CONFIGS[kind]))
    monkeypatch.setenv("HOME", str(tmp_path))
    advice = sim.advise("~/config.json", 0.7)
    assert repr(str(tmp_path / "config.json")) in advice.code  # The library knows no ~.
    config = transformers.AutoConfig.for_model(kind, **CONFIGS[kind])
    model = transformers.AutoModelForCausalLM.from_config(config)
    assert advice.n_parameters == sum(p.numel() for p in model.parameters())
    for scale in advice.scales:
        assert scale.kind != "unknown", scale.names
        # Of a sample of n entries the standard deviation has an error of 1/√(2n).
        error = 4 / math.sqrt(math.prod(scale.shape))
        weights = model.get_parameter(scale.names[0].split(" = ")[0]).detach()
        assert scale.library == pytest.approx(float(weights.std()), rel=error)
        assert scale.source == "initialiser"
        assert scale.std == pytest.approx(scale.fan_in**-0.7)
    kinds = {scale.kind: scale.names for scale in advice.scales}
    routers = {"read-out-like"} if kind in ("mixtral", "gpt_oss") else set()
    assert {*kinds} == {"embedding", "matrix"} | (set() if kind == "gpt2" else {"read-out"}) | routers
    assert all("gate.weight" in name or "router" in name for name in kinds.get("read-out-like", ()))
    # The scales that are printed are those that ``initialise_`` gives.
    drawn = {t.names[0]: t.std for t in sim.initialise_(model, 0.7).tensors if t.how == "drawn"}
    for scale in advice.scales:
        for name in scale.names:
            assert drawn.pop(name.split(" = ")[0]) == pytest.approx(scale.std)
    assert not drawn


def test_a_group_of_matrices_is_measured_and_named_as_a_whole() -> None:
    model = nn.ModuleDict({"words": nn.Embedding(50, 8)})
    model["heads"] = nn.ModuleList(nn.ModuleDict({"proj": nn.Linear(8, 50, bias=False)}) for _ in range(2))
    torch.manual_seed(0)
    for std, head in zip((1.0, 7.0), model["heads"], strict=True):
        nn.init.normal_(head["proj"].weight, std=std)
    advice = sim.advise(model, 0.7)
    (scale,) = [s for s in advice.scales if len(s.names) == 2]
    assert (scale.kind, scale.source) == ("matrix", "weights")  # Which one reads out, nothing tells.
    assert advice.lines()[1].startswith("Read-out: unknown")
    assert scale.library == pytest.approx(5.0, rel=0.1)  # The root of the mean of 1 and 49.
    assert scale.spread == pytest.approx((1, 7), rel=0.1)
    assert advice.rows()[1][5].startswith(f"{scale.library:.3g} ({scale.spread[0]:.3g} to")


def test_a_projection_is_divided_into_as_many_matrices_as_it_packs() -> None:
    packed = nn.ModuleDict({"c_attn": nn.Linear(8, 16), "other": nn.ModuleDict({"c_attn": nn.Linear(8, 12)})})
    assert {role.name: role.parts for role in roles_of(packed) if role.kind == "matrix"} == {
        "c_attn.weight": 2,
        "other.c_attn.weight": 1,  # One head's keys and values for several heads' queries.
    }


class Twice(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = self.body = model

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.body(tokens)


def test_a_hidden_matrix_as_wide_as_the_vocabulary_is_no_read_out() -> None:
    layers = [nn.Embedding(50, 8), nn.Linear(8, 50), nn.Linear(50, 8), nn.Linear(8, 50)]
    kinds = [scale.kind for scale in sim.advise(nn.Sequential(*layers)).scales]
    assert kinds == ["embedding", "matrix", "matrix", "read-out"]
    model = nn.Sequential(*layers)
    twice = sim.advise(Twice(model))  # Reached twice, and not tied.
    assert [scale.kind for scale in twice.scales] == kinds
    assert not any("Tied" in note for note in twice.notes)
    layers[-1].weight = layers[0].weight
    kinds = [scale.kind for scale in sim.advise(nn.Sequential(*layers)).scales]
    assert kinds == ["embedding", "matrix", "matrix"]
    assert sim.advise(nn.Linear(1, 1)).scales[0].library is None  # One number has no standard deviation.
    nn.init.constant_(layers[1].get_parameter("weight"), math.nan)
    assert "NaN" not in json.dumps(sim.advise(nn.Sequential(*layers)).to_json())


@pytest.mark.parametrize("widths", [{}, {"kdim": 90, "vdim": 150}])
def test_torch_s_attention_starts_as_it_says_packed_or_not(widths: dict[str, int]) -> None:
    planned, drawn = (
        sim.advise(nn.MultiheadAttention(60, 2, device=device, **widths)).scales for device in ("meta", "cpu")
    )
    for scale, measured in zip(planned, drawn, strict=True):
        error = 4 / math.sqrt(2 * math.prod(scale.shape))
        assert scale.library == pytest.approx(measured.library, rel=error)


def test_every_column_is_its_own_number() -> None:
    """std = fan-in^-γ; muP's 1, 1/√fan-in, 1/fan-in; ε's share of a norm behind two tables of σ²."""
    advice = sim.advise(Language(), 0.8)
    for scale, row in zip(advice.scales, advice.rows(), strict=True):
        cells = dict(zip(advice.HEADER, row, strict=True))
        assert cells["std at γ"] == f"{scale.fan_in**-0.8:.3g}"
        assert cells["muP"] == f"{1 if scale.kind == 'embedding' else scale.fan_in**-0.5:.3g}"
        assert cells["muP rate"] == f"{1 if scale.kind == 'embedding' else 1 / scale.fan_in:.3g}"
        assert cells["fan-in"] == str(scale.fan_in)
        assert cells["number"] == str(len(scale.names))
    v = 2 * 32**-1.6
    assert (advice.norm.name, advice.norm.epsilon) == ("layers.0.ln_1", 1e-5)
    assert advice.norm.variance == pytest.approx(v, rel=0.15)  # Of few rows of positions.
    assert advice.norm.lost == pytest.approx(1 - math.sqrt(v / (v + 1e-5)), rel=0.15)
    narrow = [nn.Embedding(50, 32), nn.Linear(32, 32), nn.LayerNorm(32)]
    assert sim.advise(nn.Sequential(*narrow), 0.8).norm.variance == pytest.approx(32**-2.2, rel=0.2)
    assert "wte.weight = head.weight" in advice.scales[0].names
    assert any("Tied" in note for note in advice.notes)
    assert not any("400 M" in note for note in advice.notes)


@pytest.mark.parametrize("width", [16, 64, 200, 768, 4096])
def test_with_the_epsilon_that_a_note_names_nothing_is_left_to_lower(width: int) -> None:
    def advised(epsilon: float) -> sim.Advice:
        layers = [nn.Embedding(50, width, device="meta"), nn.LayerNorm(width, epsilon, device="meta")]
        return sim.advise(nn.Sequential(*layers), 0.8)

    (named,) = re.findall(r"lower ε to (\S+) for less than 1 %", advised(0.1).lines()[0])
    assert advised(float(named)).norm.lost < 0.01
    assert "lower" not in advised(float(named)).lines()[0]


class Own(nn.Module):
    def __init__(self, part: nn.Module) -> None:
        super().__init__()
        self.weight, self.V = nn.Parameter(torch.randn(30, 40)), nn.Parameter(torch.randn(30, 40))
        self.part = part


@pytest.mark.parametrize("fan_in", [None, {"*.V": np.int64(7)}])
def test_the_lines_keep_matrices_of_unknown_kinds_and_no_others(fan_in: dict[str, Any] | None) -> None:
    """In several places, beside a map of the same name, and with two names; what was given is given again."""
    inner, *rows = (Own(nn.Linear(30, 40)) for _ in range(3))
    outer = Own(inner)
    inner.weight = outer.weight
    model = nn.ModuleDict({"rows": nn.ModuleList(rows), "other": outer})
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    advice = sim.advise(model, 0.7, fan_in=fan_in, code="model = given")
    exec(advice.code, {"given": model})
    for scale in advice.scales:
        for name in (names.split(" = ")[0] for names in scale.names):
            parameter = model.get_parameter(name).detach()
            assert torch.equal(parameter, before[name]) == (scale.kind == "unknown"), name
            assert scale.std is None or float(parameter.std()) == pytest.approx(scale.std, rel=0.1)
    assert any("V" in name for s in advice.scales for name in s.names if s.fan_in == 7) == bool(fan_in)


def test_the_command_prints_lines_that_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = cli("advise", "--module", "tests.foreign_models:Language", "--rate", "0.6", "--json").json()
    assert found["scales"][0]["std"] == pytest.approx(32**-0.6)
    space: dict[str, Any] = {}
    exec(found["code"], space)
    assert "γ = 0.6" in capsys.readouterr().out
    assert float(space["model"].wte.weight.detach().std()) == pytest.approx(32**-0.6, rel=0.05)
    (tmp_path / "ready.py").write_text("from torch import nn\n\nnet = nn.Linear(30, 40)\n")
    monkeypatch.chdir(tmp_path)
    found = cli("advise", "--module", "ready:net", "--json").json()
    assert "from ready import net\n\nmodel = net\n" in found["code"]
    monkeypatch.setattr("validate.terminal.output.is_live", lambda stream: True)
    monkeypatch.setenv("COLUMNS", "40")
    printed = cli("advise", "--module", "tests.foreign_models:Language").out
    assert "\nfrom tests.foreign_models import Language\n" in printed  # Also in a terminal of 40 columns.
    monkeypatch.undo()
    (tmp_path / "other.json").write_text('{"a": 1}')
    (tmp_path / "wrong.json").write_text('{"model_type": "no-such-model"}')
    for arguments, argument in (
        (["--module", "tests.foreign_models:Nothing"], "module = "),
        (["--module", "math:pi"], "module = "),
        ([str(tmp_path / "other.json")], "model = "),
        ([str(tmp_path / "wrong.json")], "model = " if find_spec("transformers") else "package = "),
        ([], "needs CONFIG, --module or --all"),
    ):
        said = cli("advise", *arguments, code=2)
        assert said.out == ""
        assert argument in said.err
        assert said.err.count("\n") == 1
