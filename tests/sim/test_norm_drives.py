"""Props. 1 to 3 with layer norm against autograd in float64: values, orders, regimes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from sim.config.model import TransformerConfig
from sim.models.transformer import forward_cache
from tests.sim.scaled_models import SCALES, WIDTH, D, FloatArray, Tensors, config, drawn, flow, population
from theory import (
    EmbMLPParameters,
    InputError,
    branch_gains,
    epsilon_init_rate,
    find_derivation,
    fit_exponent,
    initial_norm_share,
    normed_emb_mlp_drive,
    normed_transformer_drive,
    sample_last_position_matrix,
    token_label_matrix,
    wide_normed_emb_mlp_drive,
)


def predicted(p: Tensors, model: TransformerConfig) -> FloatArray:
    arrays = {n: t[0].numpy() for n, t in p.items()}
    return normed_transformer_drive(
        sample_last_position_matrix(*population(), D), arrays["W_E"], arrays["W_U"],
        position=arrays["W_pos"][-1], norm=model.norm, epsilon=model.norm_epsilon, n_layers=model.n_layers,
    )  # fmt: skip


def error(p: Tensors, model: TransformerConfig) -> float:
    found = flow(p, model)["W_E"]
    return float(np.linalg.norm(predicted(p, model) - found) / np.linalg.norm(found))


def order(at: Callable[[float], float]) -> float:
    return fit_exponent(SCALES, [at(scale) for scale in SCALES]).value


@pytest.mark.parametrize("n_layers", [1, 2])
@pytest.mark.parametrize("share", [0.0, 1.0, 30.0])
@pytest.mark.parametrize(("norm", "size", "power"), [("none", 1, 2), ("pre", 0, 1), ("post", 0, 1)])
def test_drive_and_the_order_of_its_error(
    norm: str, size: int, power: int, share: float, n_layers: int, record_error: Callable[..., None]
) -> None:
    """ε a multiple of the embedding's variance: the norm takes one power of the scale off the drive."""

    def model(scale: float) -> TransformerConfig:
        return config(norm, epsilon=share * scale**2, n_layers=n_layers)

    assert order(lambda s: error(drawn(n_layers, s), model(s))) == pytest.approx(power, abs=0.1)
    assert order(lambda s: float(np.linalg.norm(flow(drawn(n_layers, s), model(s))["W_E"]))) == pytest.approx(
        size, abs=0.05
    )
    smallest = error(drawn(n_layers, SCALES[0]), model(SCALES[0]))
    assert smallest < {1: 0.05, 2: 1e-3}[power]
    record_error(f"Props. 2, 3, norm {norm}", smallest)


@pytest.mark.parametrize(("norm", "power"), [("none", 2), ("pre", 1), ("post", 2)])
def test_branches_behind_a_norm_of_their_own_are_one_order_larger(norm: str, power: int) -> None:
    """A read-out of order κ² takes the softmax out of the way; what is left is attention and the FFN."""
    assert order(lambda s: error(drawn(1, s, s**2), config(norm))) == pytest.approx(power, abs=0.1)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_large_epsilon_gives_the_exponent_of_no_norm_back(norm: str) -> None:
    model = config(norm, epsilon=1.0)
    size = order(lambda s: float(np.linalg.norm(flow(drawn(1, s), model)["W_E"])))
    assert size == pytest.approx(1, abs=0.05)
    assert order(lambda s: error(drawn(1, s), model)) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("norm", ["none", "pre", "post"])
def test_the_last_position_moves_by_the_sum_of_the_rows(norm: str) -> None:
    p, model = drawn(1, 1e-4), config(norm)
    assert flow(p, model)["W_pos"][-1] == pytest.approx(predicted(p, model).sum(axis=0), rel=5e-3, abs=1e-8)


def wide(norm: str, rate: float, n_sequences: int = 40) -> tuple[Tensors, torch.Tensor, TransformerConfig]:
    """A one-layer model with its matrices at d_in^-γ, W_Q and W_K at 0, and sequences of different tokens."""
    d_m, d_k, d_f, length, rng = 400, 100, 600, 5, np.random.default_rng(5)
    model = TransformerConfig(n_layers=1, d_m=d_m, d_k=d_k, d_f=d_f, norm=norm, activation="relu")
    shapes = {"0.W_V": (d_m, d_k), "0.W_O": (d_k, d_m), "0.W_in": (d_m, d_f), "0.W_out": (d_f, d_m)}
    p = {n: torch.tensor(s[0] ** -rate * rng.standard_normal((1, *s))) for n, s in shapes.items()}
    tables = {"W_E": (200, d_m), "W_pos": (length, d_m)}
    p |= {n: torch.tensor(d_m**-rate * rng.standard_normal((1, *s))) for n, s in tables.items()}
    p |= {n: torch.zeros(1, d_m, d_k, dtype=torch.float64) for n in ("0.W_Q", "0.W_K")}
    p |= {n: torch.ones(1, d_m, dtype=torch.float64) for n in ("0.ln1.w", "0.ln2.w", "ln_final.w")}
    p["W_U"] = torch.zeros(1, d_m, 200, dtype=torch.float64)
    return p, torch.arange(200).reshape(1, n_sequences, 5), model


@pytest.mark.parametrize("rate", [0.5, 0.8, 1.1])
@pytest.mark.parametrize("norm", ["none", "pre", "post"])
def test_gains_of_the_branches_are_those_of_a_drawn_model(
    norm: str, rate: float, record_error: Callable[..., None]
) -> None:
    p, tokens, model = wide(norm, rate)
    cache = forward_cache(p, tokens, model)

    def size(x: torch.Tensor) -> float:
        return float(x[:, :, -1].square().mean().sqrt())

    x, mixed = cache["0.input"], cache["0.attention_out"]
    forward, into = cache["0.hidden"] @ p["0.W_out"][:, None], x + mixed
    if norm == "post":
        into = torch.nn.functional.layer_norm(into, into.shape[-1:], eps=model.norm_epsilon)
    found = np.array([size(mixed) / size(x), size(forward) / size(into)])
    expected: FloatArray = np.array(branch_gains(400, 100, 600, 5, rate, norm=norm))
    if norm == "post":  # The norm's ε has shortened what the FFN reads and what it is added to alike.
        assert size(into) ** 2 == pytest.approx(initial_norm_share(400, rate, norm="post"), rel=0.1)
    # Forty sequences of a model of width 400: the mean square of one row has a deviation of 7 %.
    assert found == pytest.approx(expected, rel=0.1)
    record_error("branch gains", float(np.abs(found / expected - 1).max()))


def test_where_epsilon_takes_over() -> None:
    rate = epsilon_init_rate(200)
    assert rate == pytest.approx(1.1519, abs=1e-4)
    assert initial_norm_share(200, rate) == pytest.approx(0.5)
    # A second norm in a row gives the length back: its ε acts like ε².
    variance = 2 * 200 ** (-2 * rate)
    twice = initial_norm_share(200, rate, norm="post", n_norms=2)
    assert twice == pytest.approx(variance / (variance + 1e-10), abs=1e-4)
    assert initial_norm_share(200, rate, norm="pre", n_norms=2) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"W_U": np.ones((3, 4))}, "W_U"),
        ({"C_last": np.ones((4, 4))}, "C_last"),
        ({"position": np.ones(3)}, "position"),
        ({"norm": "middle"}, "norm"),
        ({"W_E": np.ones((5, 2)), "epsilon": 0.0}, "epsilon"),
    ],
)
def test_bad_input_is_refused(change: dict[str, object], argument: str) -> None:
    good = {"C_last": np.eye(5), "W_E": np.arange(10.0).reshape(5, 2), "W_U": np.ones((2, 5))}
    with pytest.raises(InputError) as refusal:
        normed_transformer_drive(**good | change)  # type: ignore[arg-type]
    assert refusal.value.argument == argument


def emb_mlp(scale: float, width: int = WIDTH) -> EmbMLPParameters:
    rng = np.random.default_rng(4)
    shapes = [(D, width), (width, 9), (9, D)]
    return EmbMLPParameters(*(scale * rng.standard_normal(s) / s[0] ** 0.5 for s in shapes))


def emb_mlp_flow(p: EmbMLPParameters, epsilon: float) -> FloatArray:
    W, W1, W2 = (torch.tensor(m, requires_grad=True) for m in (p.W_emb, p.W1, p.W2))
    sequences, labels = map(torch.from_numpy, population())
    x = torch.nn.functional.layer_norm(W[sequences].sum(dim=1), W.shape[1:], eps=epsilon)
    loss = torch.nn.functional.cross_entropy(torch.tanh(x @ W1) @ W2, labels)
    return -torch.autograd.grad(loss, W)[0].numpy()


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_prop_1_with_a_norm_behind_the_sum(share: float, record_error: Callable[..., None]) -> None:
    def wrong(scale: float) -> float:
        found = emb_mlp_flow(emb_mlp(scale), share * scale**2)
        drive = normed_emb_mlp_drive(emb_mlp(scale), *population(), epsilon=share * scale**2)
        return float(np.linalg.norm(drive - found) / np.linalg.norm(found))

    assert order(wrong) == pytest.approx(2, abs=0.1)
    assert order(lambda s: float(np.linalg.norm(emb_mlp_flow(emb_mlp(s), share * s**2)))) == pytest.approx(
        1, abs=0.05
    )
    record_error("Prop. 1, norm", wrong(SCALES[0]))


def test_prop_1_with_a_norm_closes_in_c_as_the_width_grows() -> None:
    """For sequences of different tokens: where one repeats, the sum is longer than the closed form has it."""
    rng, widths, wrong = np.random.default_rng(6), np.array([50, 200, 800]), []
    tokens, labels = rng.permuted(np.tile(np.arange(D), (300, 1)), axis=1)[:, :4], rng.integers(0, D, 300)
    C = token_label_matrix(tokens, labels, D)
    for width in widths:
        p = emb_mlp(1e-2, width)
        exact, closed = normed_emb_mlp_drive(p, tokens, labels), wide_normed_emb_mlp_drive(C, p, 4)
        wrong.append(float(np.linalg.norm(closed - exact) / np.linalg.norm(exact)))
    assert fit_exponent(widths, wrong).value == pytest.approx(-0.5, abs=0.15)


def test_the_derived_statements_are_the_functions(record_error: Callable[..., None]) -> None:
    p, model = drawn(1, 0.3), config("pre", epsilon=0.02)
    a = {n: t[0].numpy() for n, t in p.items()}
    matrix, token = sample_last_position_matrix(*population(), D), 3
    x = torch.tensor(a["W_E"][token] + a["W_pos"][-1], requires_grad=True)
    root = np.sqrt(x.detach().numpy().var() + 0.02)
    n = torch.nn.functional.layer_norm(x, x.shape, eps=0.02)
    pull = np.linspace(-1, 2, WIDTH)
    (slope,) = torch.autograd.grad(n @ torch.from_numpy(pull), x)
    row = n.detach().numpy()[None]
    derived = find_derivation("layer norm").function()(pull[None], root, row, WIDTH)[0]
    assert derived == pytest.approx(slope.numpy(), abs=1e-12)
    drive = find_derivation("normed drive").function()(
        1.0, 1.0, matrix[token][None] + 1 / D, a["W_U"], root, row, WIDTH, D
    )
    assert drive[0] == pytest.approx(predicted(p, model)[token], abs=1e-12)
    record_error("layer norm", float(np.abs(derived - slope.numpy()).max()))
    record_error("normed drive", float(np.abs(drive[0] - predicted(p, model)[token]).max()))
