"""``initialise_``: every tensor of any module has the scale that its report says."""

import copy
import math
import threading
from collections.abc import Callable

import pytest
import torch
from torch import nn

from sim import InitReport, TensorInit, initialise_
from tests.foreign_models import Conv1D, Language
from theory import InputError


def by_name(report: InitReport) -> dict[str, TensorInit]:
    return {tensor.names[0]: tensor for tensor in report.tensors}


def matches(tensor: torch.Tensor, std: float) -> bool:
    """Whether a sample's standard deviation lies within four standard errors."""
    n = tensor.numel()
    return abs(float(tensor.detach().double().std()) / std - 1) < 4 / math.sqrt(2 * (n - 1))


MODULES: dict[str, tuple[Callable[[], nn.Module], dict[str, int]]] = {
    "Linear": (lambda: nn.Linear(30, 50), {"weight": 30}),
    "Conv1d": (lambda: nn.Conv1d(6, 20, 5), {"weight": 30}),
    "grouped Conv2d": (lambda: nn.Conv2d(8, 20, 3, groups=2), {"weight": 36}),
    "Embedding": (lambda: nn.Embedding(70, 30), {"weight": 30}),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(70, 30), {"weight": 30}),
    "Conv1D of Hugging Face": (lambda: Conv1D(90, 30), {"weight": 30}),
    "packed attention": (
        lambda: nn.MultiheadAttention(30, 2, add_bias_kv=True),
        {"in_proj_weight": 30, "out_proj.weight": 30},
    ),
    "attention with other keys": (
        lambda: nn.MultiheadAttention(30, 2, kdim=40, vdim=50),
        {"q_proj_weight": 30, "k_proj_weight": 40, "v_proj_weight": 50, "out_proj.weight": 30},
    ),
    "LSTM": (lambda: nn.LSTM(20, 30), {"weight_ih_l0": 20, "weight_hh_l0": 30}),
}


@pytest.mark.parametrize("name", MODULES)
def test_every_tensor_has_the_scale_of_its_fan_in(name: str) -> None:
    make, fan_ins = MODULES[name]
    module = make()
    found = by_name(initialise_(module, 0.7, bias_scale=1.0))
    drawn = {n: t.fan_in for n, t in found.items() if t.how == "drawn"}
    assert drawn == fan_ins
    for parameter_name, parameter in module.named_parameters():
        tensor = found[parameter_name]
        assert tensor.how in ("drawn", "uniform")
        std = tensor.fan_in**-0.7 if tensor.how == "drawn" else tensor.fan_in**-0.5 / math.sqrt(3)
        assert tensor.std == pytest.approx(std, rel=1e-12)
        assert matches(parameter, std)
        if tensor.how == "uniform":
            assert parameter.detach().abs().max() <= tensor.fan_in**-0.5


def test_no_tensor_of_a_model_escapes() -> None:
    model = Language()
    report = initialise_(model, 0.8)
    assert report.kept == []
    assert by_name(report)["wte.weight"].names == ("wte.weight", "head.weight")
    assert model.head.weight is model.wte.weight
    named = {name for tensor in report.tensors for name in tensor.names}
    assert named == {name for name, _ in model.named_parameters(remove_duplicate=False)}
    for name, tensor in by_name(report).items():
        parameter = model.get_parameter(name)
        assert matches(parameter, tensor.std) if tensor.how == "drawn" else len(parameter.unique()) == 1


def test_every_column_of_the_report_is_beside_its_name() -> None:
    report = initialise_(Language(), 0.8, norms="keep")
    for t, row in zip(report.tensors, report.rows(), strict=True):
        assert dict(zip(report.HEADER, row, strict=True)) == {
            "tensor": " = ".join(t.names),
            "kind": t.kind,
            "shape": " x ".join(map(str, t.shape)),
            "fan-in": "-" if t.fan_in is None else str(t.fan_in),
            "how": t.how,
            "std": "-" if t.std is None else f"{t.std:.4g}",
            "measured": f"{t.measured:.4g}",
        }


def test_conventions_differ_in_the_embeddings() -> None:
    model = Language()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    kept = initialise_(model, 0.8, convention="sibling").kept
    assert kept == ["wte.weight", "wpe.weight", "layers.0.c_proj.weight", "layers.1.c_proj.weight"]
    assert all(torch.equal(model.get_parameter(name), before[name]) for name in kept)
    found = by_name(initialise_(model, 0.8, convention="vocab"))
    assert (found["wte.weight"].fan_in, found["wpe.weight"].fan_in) == (200, 12)
    assert matches(model.wte.weight, 200**-0.8)


def test_biases_and_norms_are_as_asked() -> None:
    model = Language()
    for parameter in model.parameters():
        nn.init.constant_(parameter, 0.25)
    initialise_(model, 0.8, bias_scale=None, norms="keep")
    layer = model.layers[0]
    assert set(layer.ln_1.weight.tolist()) == set(layer.c_fc.bias.tolist()) == {0.25}
    initialise_(model, 0.8)
    assert set(layer.ln_1.weight.tolist()) == {1.0}
    assert set(layer.ln_1.bias.tolist()) == set(layer.attention.in_proj_bias.tolist()) == {0.0}


def test_a_tensor_depends_on_its_name_and_the_seed_alone() -> None:
    first, second = Language(), Language(length=20)
    initialise_(first, 0.8, seed=3)
    initialise_(second, 0.8, seed=3, keep=["layers.0.*"])
    assert torch.equal(first.wte.weight, second.wte.weight)
    assert not torch.equal(first.layers[0].c_fc.weight, second.layers[0].c_fc.weight)
    initialise_(second, 0.8, seed=4)
    assert not torch.equal(first.wte.weight, second.wte.weight)


class Own(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.W_Q = nn.Parameter(torch.randn(30, 40))
        self.gate = nn.Parameter(torch.tensor([0.5]))
        self.out = nn.Linear(40, 10)


def test_a_matrix_of_an_unknown_module_is_refused_before_anything_changes() -> None:
    model = Own()
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(InputError, match=r"module = 'W_Q'.*name it in fan_in, as \{\"W_Q\": 64\}"):
        initialise_(model, 0.8)
    assert all(torch.equal(model.state_dict()[name], tensor) for name, tensor in before.items())
    report = initialise_(model, 0.8, fan_in={"*_Q": 30})
    assert matches(model.W_Q, 30**-0.8)
    assert report.kept == ["gate"]
    assert initialise_(model, 0.8, keep=["W_Q"]).kept == ["W_Q", "gate"]
    held = nn.ModuleDict({"layer[0]": model})  # A name with brackets stands for itself.
    assert initialise_(held, 0.8, keep=["layer[0].W_Q"]).kept == ["layer[0].W_Q", "layer[0].gate"]


@pytest.mark.parametrize("name", ["0.W_Q", "1.W_Q", "2.weight"])
def test_a_fan_in_may_be_given_under_any_name_of_a_tensor(name: str) -> None:
    """Of a module that is used twice, and of a tensor that an embedding has too."""
    own, table = Own(), nn.Embedding(30, 40)
    table.weight = own.W_Q
    report = initialise_(nn.Sequential(own, own, table), 0.8, fan_in={name: 7})
    assert (by_name(report)["0.W_Q"].kind, by_name(report)["0.W_Q"].fan_in) == ("matrix", 7)
    assert matches(own.W_Q, 7**-0.8)


class Held(nn.Module):
    """It cannot be copied, to be called."""

    def __init__(self) -> None:
        super().__init__()
        self.W, self.lock = nn.Parameter(torch.ones(3, 2)), threading.Lock()


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (lambda: nn.ReLU(), {}, "without parameters"),
        (lambda: nn.Linear(3, 2), {"keep": ["wieght"]}, "keep = 'wieght': .* choose from weight, bias\\.$"),
        (lambda: nn.Linear(3, 2), {"fan_in": {"W*": 3}}, "fan_in = 'W\\*': matches no parameter"),
        (lambda: nn.Linear(3, 2), {"fan_in": {"weight": 0}}, "fan_in = 0: out of range"),
        (lambda: nn.Linear(3, 2, device="meta"), {}, "has no numbers yet; move it off the meta device"),
        (lambda: nn.Sequential(nn.LazyLinear(3)), {}, "'0.weight': has no numbers yet; run it once"),
        (lambda: nn.Linear(3, 2, dtype=torch.complex64), {}, "of dtype torch.complex64"),
        # What such a module multiplies by is made of its factors, at another scale than theirs.
        (lambda: nn.utils.weight_norm(nn.Conv1d(3, 2, 4)), {}, "'weight_g, weight_v': in an unknown kind"),
        (lambda: nn.utils.spectral_norm(nn.Linear(3, 2)), {}, "'weight_orig': in an unknown kind"),
        (lambda: Held(), {}, "module = 'W': in an unknown kind of module"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*is deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:Lazy modules")
def test_what_cannot_be_done_is_refused(
    make: Callable[[], nn.Module], arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        initialise_(make(), **{"rate": 0.8} | arguments)
