"""What ``advise``, ``initialise_`` and ``audit`` ask of a model instead of taking it from names."""

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import sim
import validate
from tests.conftest import Cli
from theory import InputError
from validate.scales import survey


def made(kind: str, **config: Any) -> Any:
    transformers = pytest.importorskip("transformers", reason="needs the extra anchorflow[language]")
    config = transformers.AutoConfig.for_model(kind, **config)
    return transformers.AutoModelForCausalLM.from_config(config)


def advised(folder: Path, kind: str, **config: Any) -> sim.Advice:
    pytest.importorskip("transformers", reason="needs the extra anchorflow[language]")
    (folder / "config.json").write_text(json.dumps({"model_type": kind} | config))
    return sim.advise(folder / "config.json", 0.8)


def of(advice: sim.Advice, name: str) -> Any:
    return next(scale for scale in advice.scales if name in scale.names[0])


class Rescaled(nn.Module):
    """A norm by what it does, not by its name: it multiplies by ``start`` + g."""

    def __init__(self, width: int, start: float) -> None:
        super().__init__()
        self.g, self.start = nn.Parameter(torch.full((width,), 1 - start)), start

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * (self.start + self.g)


@pytest.mark.parametrize("start", [0.0, 1.0, 0.25])
def test_the_gain_is_the_one_that_leaves_the_output_at_one(start: float) -> None:
    model, x = nn.Sequential(nn.Linear(8, 8), Rescaled(8, start)), torch.randn(64, 8)
    nn.init.constant_(model[1].get_parameter("g"), 7.0)
    report = sim.initialise_(model, 0.8)
    assert report.tensors[-1].kind == "gain"
    assert float(model[1](x).detach().square().mean()) == pytest.approx(1, rel=1e-3)
    assert validate.audit(model).clean
    nn.init.constant_(model[1].get_parameter("g"), 2 - start)  # A gain of two.
    (found,) = validate.audit(model).escapes
    assert (found.name, found.what) == ("1.g", "norm")
    assert "from 2 to 2" in found.why


@pytest.mark.parametrize("kind", ["gemma3_text", "qwen3_next"])
def test_norms_of_one_plus_weight_stay_of_unit_gain(kind: str) -> None:
    small = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 1, "vocab_size": 300}
    small |= {"num_experts": 4, "moe_intermediate_size": 32} if kind == "qwen3_next" else {}
    model = made(kind, **small, num_attention_heads=4, num_key_value_heads=2, head_dim=16)
    sim.initialise_(model, 0.8)
    norm = model.model.layers[0].input_layernorm
    assert float(norm(torch.randn(50, 64)).detach().square().mean()) == pytest.approx(1, rel=1e-3)
    assert not [e for e in validate.audit(model).escapes if e.what == "norm"]


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.dt_bias, self.out = nn.Parameter(torch.linspace(-7, -2, 6)), nn.Linear(6, 6)


def test_a_bias_by_name_alone_is_kept_and_named() -> None:
    model = Recurrent()
    assert sim.initialise_(model, 0.8).kept == ["dt_bias"]
    assert torch.equal(model.dt_bias, torch.linspace(-7, -2, 6))
    assert not model.out.bias.any()


def test_a_bias_that_the_library_does_not_start_at_zero_is_kept_and_named() -> None:
    """Of Mamba the time steps: softplus of the bias lies between 0.001 and 0.1, and not at ln 2."""
    model = made("mamba", hidden_size=64, num_hidden_layers=2, vocab_size=300)
    report = sim.initialise_(model, 0.8, keep=["*.A_log"])
    steps = nn.functional.softplus(model.backbone.layers[1].mixer.dt_proj.bias.detach())
    assert 0.0009 < float(steps.min()) < float(steps.max()) < 0.11
    assert "backbone.layers.1.mixer.dt_proj.bias" in report.kept
    assert not model.backbone.layers[1].mixer.conv1d.bias.any()
    assert not [e for e in validate.audit(model).escapes if e.what == "bias"]


MEASURED: dict[str, tuple[str, dict[str, Any], dict[str, float]]] = {
    "own scales": ("mamba", {}, {"conv1d": (3 * 4) ** -0.5, "out_proj": (3 * 1536) ** -0.5, "in_proj": 0.1}),
    "with rows that may not be cut": ("falcon_mamba", {"num_hidden_layers": 2}, {"in_proj": 0.1}),
    "of what is tied, the embedding's": ("xlm", {"n_layers": 1}, {"transformer.embeddings": 2048**-0.5}),
    "by the depth of the whole model": ("nanochat", {}, {"o_proj": 0.02 / math.sqrt(24), "q_proj": 0.02}),
    "init_std": ("opt", {"init_std": 0.03}, {"fc1": 0.03, "embed_tokens": 0.03}),
    "by the number of rows": ("phimoe", {"hidden_size": 64, "vocab_size": 90}, {"embed_tokens": 0.02}),
}


@pytest.mark.parametrize("name", MEASURED)
def test_the_library_s_column_is_what_its_initialiser_draws(name: str, tmp_path: Path) -> None:
    kind, config, stds = MEASURED[name]
    advice = advised(tmp_path, kind, **config)
    for part, std in stds.items():
        assert of(advice, part).library == pytest.approx(std, rel=0.01), part
        assert of(advice, part).source == "initialiser"


def test_memory_that_nothing_wrote_has_no_scale() -> None:
    transformers: Any = pytest.importorskip("transformers", reason="needs the extra anchorflow[language]")

    class Forgetful(transformers.PreTrainedModel):  # type: ignore[misc,name-defined]
        config_class = transformers.GPT2Config

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.forgotten, self.made = (nn.Parameter(torch.empty(8, 8)) for _ in range(2))
            self.out = nn.Linear(8, 8)
            nn.init.normal_(self.made, std=3.0)
            self.post_init()

    model = Forgetful(transformers.GPT2Config())
    scales = {scale.names[0]: scale for scale in sim.advise(model, 0.8).scales}
    assert (scales["forgotten"].library, scales["forgotten"].source) == (None, "nothing")
    assert scales["made"].source == "constructor"
    assert scales["made"].library == pytest.approx(3, rel=0.4)
    assert scales["out.weight"].source == "initialiser"


def test_maps_to_a_fixed_number_of_outputs_are_read_out_like(tmp_path: Path) -> None:
    """muP has 1/fan-in for routers and heads, and no division of AdamW's rate where the fan-in stays."""
    router = of(advised(tmp_path, "gpt_oss", num_hidden_layers=2, num_local_experts=32), "router")
    assert (router.kind, router.mup, router.mup_rate) == ("read-out-like", 1 / 2880, 1 / 2880)
    small = {"hidden_size": 256, "num_hidden_layers": 4, "n_routed_experts": 32, "moe_intermediate_size": 96}
    advice = advised(tmp_path, "deepseek_v3", **small)
    assert of(advice, "mlp.gate.weight").mup == 1 / 256
    # The rank of the queries, the heads and the experts' own widths grow too.
    alike = ["experts.gate_up_proj", "experts.down_proj"]
    alike += [f"{part}_proj" for part in ("q_a", "q_b", "kv_a", "kv_b", "o")]
    assert {of(advice, part).kind for part in alike} == {"matrix"}
    convolution = of(advised(tmp_path, "mamba"), "conv1d")
    assert (convolution.kind, convolution.mup, convolution.mup_rate) == ("input-like", 0.5, 1)


def test_outputs_that_the_rest_takes_at_one_number_alone_have_its_width(tmp_path: Path) -> None:
    """Twice the heads change the outputs of q alone, and o takes as many as there were."""
    small = {"hidden_size": 48, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 12}
    advice = advised(tmp_path, "helium", **small, num_hidden_layers=2, intermediate_size=80, vocab_size=90)
    assert [of(advice, f"{name}_proj").kind for name in "qkvo"] == ["matrix"] * 4


def test_wider_models_draw_nothing_of_the_caller_s() -> None:
    """XLNet's constructor writes on the processor wherever it is told to."""
    model = made("xlnet", d_model=32, n_layer=1, n_head=2, d_inner=32, vocab_size=50)
    state = torch.get_rng_state()
    sim.advise(model)
    assert torch.equal(torch.get_rng_state(), state)


class Product(nn.Module):
    """A map by what it does, with one matrix or one for each expert."""

    def __init__(self, transposed: bool, *shape: int) -> None:
        super().__init__()
        self.w, self.transposed = nn.Parameter(torch.randn(shape)), transposed

    def forward(self, x: Tensor) -> Tensor:
        w = self.w.mT if self.transposed else self.w
        return x @ w if w.ndim == 2 else (x.view(len(w), -1, w.shape[1]) @ w).flatten(0, 1)


@pytest.mark.parametrize("shape", [(6, 8), (5, 6, 8)])
@pytest.mark.parametrize("transposed", [False, True])
def test_a_fan_in_is_the_axis_that_the_module_sums_over(transposed: bool, shape: tuple[int, ...]) -> None:
    (tensor,) = sim.initialise_(Product(transposed, *shape), 0.8).tensors
    assert tensor.fan_in == (8 if transposed else 6)
    with pytest.raises(InputError, match="its fan-in is unknown"):
        sim.initialise_(Product(transposed, 5, 5, *shape), 0.8)  # Stacked twice.


def test_numbers_of_the_vision_model_are_doubled_too(tmp_path: Path) -> None:
    """Of its patches the size stays; what it hands to the text has the text's width."""
    small = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4}
    text = small | {"num_key_value_heads": 2, "head_dim": 16, "vocab_size": 300}
    parts = {"text_config": text | {"model_type": "gemma"}, "projection_dim": 64}
    parts["vision_config"] = small | {"hidden_size": 32, "patch_size": 4, "model_type": "siglip_vision_model"}
    advice = advised(tmp_path, "paligemma", **parts)
    patches = of(advice, "patch_embedding")
    assert (patches.kind, patches.mup_rate) == ("input-like", 1)
    assert of(advice, "multi_modal_projector").kind == "matrix"
    assert of(advice, "vision_tower.encoder.layers.0.mlp.fc1").kind == "matrix"


def test_the_read_out_is_the_map_that_makes_the_output(tmp_path: Path) -> None:
    characters = {"vocab_size": 65, "n_positions": 256, "n_layer": 2, "tie_word_embeddings": False}
    assert of(advised(tmp_path, "gpt2", **characters), "lm_head").kind == "read-out"
    headless = {"architectures": ["GPT2Model"], "n_embd": 64, "n_head": 4, "n_layer": 1, "vocab_size": 256}
    advice = advised(tmp_path, "gpt2", **headless)
    assert {scale.kind for scale in advice.scales} == {"embedding", "matrix"}
    assert "GPT2Model(" in advice.code


class Scaled(nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.words, self.norm, self.factor = nn.Embedding(500, 512), nn.LayerNorm(512), factor

    def forward(self, tokens: Tensor) -> Tensor:
        return self.norm(self.factor * self.words(tokens))


@pytest.mark.parametrize("factor", [0.0, 1.0, 512**0.5])
def test_what_epsilon_takes_is_measured_with_the_factors_of_the_code(factor: float) -> None:
    advice, variance = sim.advise(Scaled(factor), 0.8), factor**2 * 512**-1.6
    norm = advice.norm
    assert ("lower ε to" in str(advice)) is (factor == 1.0)
    assert norm.variance == pytest.approx(variance, rel=0.05)
    assert norm.lost == pytest.approx(1 - math.sqrt(variance / (variance + 1e-5)), rel=0.05)


def test_gemma_s_epsilon_takes_next_to_nothing(tmp_path: Path) -> None:
    config = {"hidden_size": 1152, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 256}
    norm = advised(tmp_path, "gemma3_text", **config).norm
    assert norm.lost == pytest.approx(3.4e-5, rel=0.1)  # 0.037 without the factor √d.
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    assert sim.advise(model, 0.8).norm is None
    assert "unknown" in sim.advise(model, 0.8).lines()[0]


@pytest.mark.parametrize(
    ("kind", "head"),
    [
        ("qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration"),
        ("mistral3", "Mistral3ForConditionalGeneration"),
        ("t5", "T5ForConditionalGeneration"),
    ],
)
def test_nested_configurations_have_a_head_and_scales(kind: str, head: str, tmp_path: Path) -> None:
    depth = {"depth" if kind == "qwen2_5_vl" else "num_hidden_layers": 2}
    parts = {"text_config": {"num_hidden_layers": 2}, "vision_config": depth}
    advice = advised(tmp_path, kind, **({"num_layers": 2} if kind == "t5" else parts))
    assert f"import AutoConfig, {head}" in advice.code
    assert all(scale.library is not None for scale in advice.scales)
    assert any(s.kind == "read-out" or "lm_head.weight" in s.names[0] for s in advice.scales)


def test_an_unknown_type_is_refused_with_the_one_that_its_architecture_has(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="LlamaForCausalLM is made of model_type = 'llama'"):
        advised(tmp_path, "my_llama", architectures=["LlamaForCausalLM"], hidden_size=64)


def test_the_survey_finds_what_differs_from_the_configuration(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers", reason="needs the extra anchorflow[language]")
    assert len(survey.model_types()) > 20
    monkeypatch.setattr(survey, "model_types", lambda: ["bloom", "no-such-type", "opt"])
    said = cli("advise", "--all", "--csv")
    rows = list(csv.DictReader(said.out.splitlines()))
    assert "no-such-type" in said.err
    assert {row["model_type"] for row in rows} == {"bloom", "opt"}
    assert {(row["key"], row["configured"]) for row in rows} == {
        ("initializer_range", "0.02"),
        ("init_std", "0.02"),
    }
    assert {row["agrees"] for row in rows} == {"True"}
    monkeypatch.setattr(survey, "model_types", lambda: ["nanochat"])
    (line,) = [line for line in cli("advise", "--all").out.splitlines() if line.startswith("nanochat")]
    assert line.split() == ["nanochat", "8", "7", "1", "0"]  # o_proj is divided by √(2 layers).
    assert "applies to --all only" in cli("advise", "--csv", "--module", "torch.nn:ReLU", code=2).err
