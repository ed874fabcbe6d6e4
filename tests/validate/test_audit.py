"""``audit``: every planted fault is found by name and nothing else is; intervals cover as they say."""

import json
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from scipy.stats import chi2
from torch import nn

from sim import initialise_
from sim.modules.roles import roles_of
from tests.foreign_models import Language
from tests.validate.conftest import lines_of
from theory import InputError
from validate import audit
from validate.scales.escapes import matrix_rate

WIDTH, VOCAB, RATE = 32, 200, 0.8
TOKENS = torch.arange(24).reshape(2, 12)
ROLE: Any = SimpleNamespace(fan_in=3, name="weight")


def model():
    made = Language(VOCAB, WIDTH)
    initialise_(made, RATE)
    return made


def redraw(tensor, std):
    nn.init.normal_(tensor, 0, std, torch.Generator().manual_seed(1))


def uniform(tensor, half):
    nn.init.uniform_(tensor, -half, half, torch.Generator().manual_seed(1))


FAULTS: dict[str, tuple[Callable[[Language], object], str, str, str]] = {
    "a bias at torch's default": (lambda m: uniform(m.layers[0].c_fc.bias, WIDTH**-0.5),
        "layers.0.c_fc.bias", "bias", "torch's default"),
    "the packed bias": (lambda m: nn.init.constant_(m.layers[1].attention.in_proj_bias, 0.1),
        "layers.1.attention.in_proj_bias", "bias", "up to 0.1"),
    "packed projections with the fan-in of all three": (
        lambda m: redraw(m.layers[0].attention.in_proj_weight, (3 * WIDTH) ** -RATE),
        "layers.0.attention.in_proj_weight", "rate", "all packed matrices together"),
    "one of three packed projections": (
        lambda m: redraw(m.layers[1].attention.in_proj_weight[WIDTH : 2 * WIDTH], 2 * WIDTH**-RATE),
        "layers.1.attention.in_proj_weight", "rate", "packed matrices have"),
    "a map with the wrong axis": (lambda m: redraw(m.layers[0].c_fc.weight, (4 * WIDTH) ** -RATE),
        "layers.0.c_fc.weight", "rate", "its other axis"),
    "a residual projection divided by √(2 n_layers)": (
        lambda m: redraw(m.layers[1].c_proj.weight, (4 * WIDTH) ** -RATE / 2),
        "layers.1.c_proj.weight", "rate", "n_layers = 2"),
    "a matrix at torch's default": (lambda m: uniform(m.layers[0].attention.out_proj.weight, WIDTH**-0.5),
        "layers.0.attention.out_proj.weight", "rate", "uniform within"),
    "an embedding at 0.02": (lambda m: redraw(m.wte.weight, 0.02), "wte.weight", "rate", "the fixed 0.02"),
    "an embedding by its vocabulary": (lambda m: redraw(m.wte.weight, VOCAB**-RATE),
        "wte.weight", "rate", "of the vocabulary"),
    "positions at torch's default": (lambda m: redraw(m.wpe.weight, 1.0),
        "wpe.weight", "positions", "N(0, 1)"),
    "fixed positions": (lambda m: m.register_buffer("pe", torch.sin(torch.arange(12.0 * WIDTH)).view(12, -1)),
        "pe", "positions", "times the embedding's"),
    "positions of your own": (
        lambda m: m.register_parameter("pos_embed", nn.Parameter(torch.randn(1, 12, WIDTH))),
        "pos_embed", "positions", "fan-in not known"),
    "a table whose name has the letters of a position's": (
        lambda m: m.register_module("decomposed", nn.Embedding(VOCAB, WIDTH)),
        "decomposed.weight", "rate", "N(0, 1)"),
    "a matrix of zeros": (lambda m: nn.init.zeros_(m.layers[0].c_proj.weight),
        "layers.0.c_proj.weight", "constant", "all its entries"),
    "a gain": (lambda m: nn.init.constant_(m.layers[0].ln_2.weight, 2),
        "layers.0.ln_2.weight", "norm", "2"),
    "a norm's bias": (lambda m: nn.init.constant_(m.layers[0].ln_2.bias, 0.3),
        "layers.0.ln_2.bias", "norm", "0.3"),
    "a large ε": (lambda m: setattr(m.layers[0].ln_1, "eps", 1e-2), "layers.0.ln_1", "epsilon", "short"),
    "a frozen matrix": (lambda m: m.layers[0].c_fc.weight.requires_grad_(False),
        "layers.0.c_fc.weight", "frozen", "no gradient"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_nothing_else(name):
    torch.manual_seed(0)
    plant, where, what, why = FAULTS[name]
    module = model()
    plant(module)
    found = [e for e in audit(module, inputs=TOKENS).escapes if e.what != "tied"]
    assert [(e.name, e.what) for e in found] == [(where, what)]
    assert why in found[0].why


def test_a_module_without_faults_is_clean_but_for_its_tie():
    for seed in range(5):
        module = Language(VOCAB, WIDTH)
        initialise_(module, RATE, seed=seed)
        found = audit(module, RATE, inputs=TOKENS)
        assert found.clean
        assert [(e.name, e.what) for e in found.escapes] == [("wte.weight", "tied")]
        assert all(m.low <= RATE <= m.high for m in found.matrices)


def test_the_epsilon_of_a_norm_is_judged_by_what_it_sees():
    """Behind positions and embedding the variance is 2 d^-2γ; ε of its own size costs 1 − 1/√2."""
    module = model()
    variance = 2 * WIDTH ** (-2 * RATE)
    module.layers[0].ln_1.eps = variance
    (norm,) = [n for n in audit(module, inputs=TOKENS).norms if n.name == "layers.0.ln_1"]
    assert norm.variance == pytest.approx(variance, rel=0.15)
    assert norm.lost == pytest.approx(1 - math.sqrt(0.5), abs=0.03)
    unseen = audit(module)
    assert all(math.isnan(n.lost) for n in unseen.norms)
    assert "layers.0.ln_1" in unseen.unknown[-1]


@pytest.mark.parametrize(
    ("norm", "epsilon"),
    [
        (nn.LayerNorm(8, eps=1), 1.0),
        (nn.RMSNorm(8), torch.finfo(torch.float32).eps),
        (nn.RMSNorm(8, dtype=torch.float64), torch.finfo(torch.float64).eps),
    ],
)
def test_the_epsilon_is_the_one_that_the_norm_adds(norm, epsilon):
    (found,) = audit(nn.Sequential(nn.Linear(8, 8), norm)).norms
    assert found.epsilon == pytest.approx(epsilon, rel=1e-3)
    x = math.sqrt(epsilon) * torch.randn(1, 8, dtype=norm.weight.dtype)
    uncentred = 0.0 if isinstance(norm, nn.RMSNorm) else x.mean()
    expected = (x - uncentred) / torch.sqrt((x - uncentred).square().mean() + found.epsilon)
    torch.testing.assert_close(norm(x), expected, rtol=1e-3, atol=1e-6)


def test_a_fan_in_above_the_number_of_entries_is_no_fault_of_its_own():
    module = model()
    module.gate = nn.Parameter(torch.linspace(-1, 1, 10))
    assert [e.name for e in audit(module, RATE, fan_in={"gate": 64}).escapes if e.what == "rate"] == ["gate"]


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.out = nn.LayerNorm(8, eps=1.0), nn.Linear(8, 8)

    def forward(self, x):
        out: torch.Tensor = self.out(self.norm(input=x))
        return out


class T5LayerNorm(nn.RMSNorm):
    """As transformers names its own, which removes no mean."""


@pytest.mark.parametrize("norm", [nn.RMSNorm, T5LayerNorm])
def test_root_mean_square_norms_and_inputs_given_by_name_are_seen(norm):
    module = nn.Sequential(nn.Linear(8, 8), norm(8, eps=1.0))
    nn.init.zeros_(module[0].weight)
    nn.init.constant_(module[0].bias, 2.0)
    (found,) = audit(module, inputs=torch.ones(3, 8)).norms
    assert found.variance == pytest.approx(4.0)
    assert found.lost == pytest.approx(1 - math.sqrt(0.8))
    (found,) = audit(Named(), inputs=torch.tensor([[1.0, -1.0] * 4])).norms
    assert found.variance == pytest.approx(1.0)


def test_the_module_is_left_as_it_was():
    module = model().train()
    module.layers[0].ln_1.eval()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    audit(module, inputs=(TOKENS,))
    audit(module, inputs={"tokens": TOKENS})
    assert module.training
    assert not module.layers[0].ln_1.training
    assert not module.layers[0].ln_1._forward_pre_hooks
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())


def test_xaviers_fans_count_the_width_of_a_convolution():
    layer = nn.Conv1d(8, 16, 5, bias=False)
    nn.init.xavier_normal_(layer.weight, generator=torch.Generator().manual_seed(1))
    (found,) = audit(layer, 0.3).escapes
    assert "it fits Xavier's" in found.why


@pytest.mark.statistical
@pytest.mark.parametrize("draw", [torch.randn, torch.rand])
@pytest.mark.parametrize(("n", "m"), [(20, 10), (4, 1), (2, 1)])
def test_intervals_cover_the_rate_as_often_as_they_say(draw, n, m):
    """Of 400 matrices 90 % have the true rate in their interval, up to three standard errors; of tiny ones,
    whose kurtosis is not known, as many or more."""
    generator = torch.Generator().manual_seed(0)
    true_std = 1.0 if draw is torch.randn else 1 / math.sqrt(12)
    inside = 0
    for _ in range(400):
        layer = nn.Linear(n, m, bias=False)
        with torch.no_grad():
            layer.weight.copy_(draw(m, n, generator=generator))
        found = matrix_rate(roles_of(layer)[0], 0.1)
        inside += found.std_low <= true_std <= found.std_high
    error = 3 * math.sqrt(0.09 / 400)
    assert 0.9 - error < inside / 400 < (0.9 + error if n * m == 200 else 1.01)


def test_the_interval_of_a_few_entries_is_that_of_chi_squared():
    """Six entries with the kurtosis of a normal value: five degrees of freedom."""
    entries = math.sqrt(3) * torch.tensor([1.0, -1.0, 0.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    found = matrix_rate(ROLE, 0.1, entries)
    assert (found.kurtosis, found.std) == pytest.approx((3, math.sqrt(6 / 5)))
    expected = [found.std * math.sqrt(5 / chi2.ppf(p, 5)) for p in (0.95, 0.05)]
    assert (found.std_low, found.std_high) == pytest.approx(expected)


@pytest.mark.parametrize("value", [0.1, 1e-200, -1e200])
def test_equal_entries_are_equal_whatever_their_mean_rounds_to(value):
    layer = nn.Linear(30, 50, bias=False, dtype=torch.float64)
    nn.init.constant_(layer.weight, value)
    assert [e.what for e in audit(layer, RATE).escapes] == ["constant"]


@pytest.mark.parametrize("scale", [1e-90, 1e120])
def test_the_kurtosis_has_no_scale(scale):
    entries = torch.tensor([3.0, -1.0, 0.5, 2.0], dtype=torch.float64)
    found, plain = matrix_rate(ROLE, 0.1, scale * entries), matrix_rate(ROLE, 0.1, entries)
    assert found.kurtosis == pytest.approx(plain.kurtosis)
    assert [found.std_low, found.std_high] == pytest.approx([scale * plain.std_low, scale * plain.std_high])


def test_printing_and_json():
    module = model()
    uniform(module.layers[0].c_fc.bias, WIDTH**-0.5)
    found = audit(module)
    text = str(found)
    assert text.startswith("γ = 0.799, the median over its matrices; 10 matrices")
    assert "\n- layers.0.c_fc.bias (bias): " in text
    for line, m in zip(lines_of(found), found.matrices, strict=True):
        assert line == {
            "matrix": " = ".join(m.role.names),
            "shape": " x ".join(map(str, m.role.shape)),
            "fan-in": str(m.fan_in),
            "std": f"{m.std:.4g}",
            "rate": f"{m.rate:.3f}",
            "interval": f"[{m.low:.3f}, {m.high:.3f}]",
        }
    assert "What this cannot tell:" in text
    assert "<td>wte.weight = head.weight</td>" in found._repr_html_()
    plain = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert plain["norms"][0]["lost"] is None
    assert plain["matrices"][0]["names"] == ["wte.weight", "head.weight"]


@pytest.mark.parametrize(("scale", "shown"), [(0.0, "–"), (1.0001, "0.000")])
def test_a_rate_that_is_none_is_a_dash_and_one_that_rounds_to_zero_has_no_sign(scale, shown):
    module = nn.Linear(4, 4, bias=False)
    signs = torch.tensor([1.0, -1.0]).repeat(8).reshape(4, 4)
    module.weight.data = scale * math.sqrt(15 / 16) * signs  # Their standard deviation is the scale.
    assert str(audit(module)).startswith(f"γ = {shown}, the median over its matrices; 1 matrix, intervals")


def broken(name):
    module = nn.Linear(3, 2)
    nn.init.constant_(module.get_parameter(name), math.nan)
    return module


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (lambda: broken("weight"), {}, "module = 'weight': holds NaN"),
        (lambda: broken("bias"), {}, "module = 'bias': holds NaN"),
        (lambda: nn.LayerNorm(4), {}, "no matrix of known fan-in"),
        (model, {"inputs": "text"}, "the module cannot be run on it"),
        (model, {"fan_in": [3]}, "fan_in = "),
    ],
)
def test_what_cannot_be_audited(make, arguments, message):
    with pytest.raises(InputError, match=message):
        audit(make(), **arguments)
