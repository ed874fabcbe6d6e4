"""AdamW on the residual path with norms against torch's AdamW and drawn batches, in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import torch

from theory import AdamSettings, InputError, last_token_adam
from theory.transformer.normed_adam import _LastToken

FloatArray = npt.NDArray[np.float64]
D, WIDTH, SCALE = 7, 12, 0.1
RNG = np.random.default_rng(0)
JOINT: FloatArray = RNG.dirichlet(np.ones(D * D)).reshape(D, D)
START = [SCALE * RNG.standard_normal(shape) for shape in [(D, WIDTH), (WIDTH,), (WIDTH, D)]]
SETTINGS = AdamSettings(1e-2)
N_NORMS = {"none": 0, "pre": 1, "post": 4}


def losses(weights: list[torch.Tensor], n_norms: int) -> torch.Tensor:
    """Return the loss of every last token and label, shape (D, D)."""
    rows, last, readout = weights
    x = rows + last
    for _ in range(n_norms):
        x = torch.nn.functional.layer_norm(x, (WIDTH,), eps=1e-3)
    return -torch.log_softmax(x @ readout, dim=-1)


@pytest.mark.parametrize("norm", ["none", "pre", "post"])
def test_full_batch_steps_are_those_of_torch(norm: str, record_error: Callable[..., None]) -> None:
    weights = [torch.tensor(w, requires_grad=True) for w in START]
    optimizer = torch.optim.AdamW(weights, lr=SETTINGS.rate, weight_decay=SETTINGS.weight_decay)
    kept = []
    for _ in range(6):
        optimizer.zero_grad()
        (torch.tensor(JOINT) * losses(weights, N_NORMS[norm])).sum().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        kept.append(weights[0].detach().numpy().copy())
    found = last_token_adam(
        JOINT, START[0], START[2], [0, 1, 6], SETTINGS, position=START[1], norm=norm, epsilon=1e-3, n_layers=2
    )
    assert (found[0] == START[0]).all()
    assert found[1:] == pytest.approx(np.array([kept[0], kept[5]]), abs=1e-9)
    record_error("AdamW with a norm", float(np.abs(found[2] - kept[5]).max()))


@pytest.mark.parametrize(("norm", "tolerance"), [("none", 1e-10), ("pre", 0.2)])
def test_second_moments_are_means_over_sequences(norm: str, tolerance: float) -> None:
    """Every last token and label once, by autograd; a norm's part along x is left out, 1/d_m of the sum."""
    model = _LastToken(JOINT, N_NORMS[norm], 1e-3)
    weights = [torch.tensor(w, requires_grad=True) for w in START]
    table = losses(weights, N_NORMS[norm])
    state = model.forward(*START)
    mean = model.gradients(state, START[2])
    expected = [np.zeros_like(w) for w in START]
    for (s, i), share in np.ndenumerate(JOINT):
        gradients = torch.autograd.grad(table[s, i], weights, retain_graph=True)
        for total, own in zip(expected, gradients, strict=True):
            total += share * own.numpy() ** 2
    for g, variance, second in zip(mean, model.noise(state, START[2], mean), expected, strict=True):
        assert variance.sum() == pytest.approx((second - g**2).sum(), rel=tolerance)
        assert np.corrcoef(variance.ravel(), (second - g**2).ravel())[0, 1] > 0.95


def test_noise_of_batches_takes_the_place_of_the_gradient_in_a_step() -> None:
    """Without it every entry first moves by the rate; with one sequence a batch by less."""

    def first(batch_size: int | None) -> FloatArray:
        found = last_token_adam(
            JOINT, START[0], START[2], [1], AdamSettings(1e-2, weight_decay=1e-9), position=START[1],
            batch_size=batch_size,
        )  # fmt: skip
        return np.abs(found[0] - START[0])

    assert first(None) == pytest.approx(1e-2, rel=1e-3)
    assert first(1).mean() < 0.5 * first(1000).mean() < 0.5e-2
    assert first(10**9) == pytest.approx(1e-2, rel=1e-3)


def test_a_token_that_never_ends_a_sequence_only_decays() -> None:
    joint = JOINT.copy()
    joint[2] = 0
    found = last_token_adam(joint, START[0], START[2], [3], SETTINGS, position=START[1])
    assert found[0, 2] == pytest.approx(START[0][2] * (1 - 1e-4) ** 3, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "argument"),
    [
        ({"joint": -JOINT}, "joint"),
        ({"joint": 0 * JOINT}, "joint"),
        ({"W_U": np.ones((3, 3))}, "W_U"),
        ({"steps": [3, 3]}, "steps"),
        ({"batch_size": 0}, "batch_size"),
    ],
)
def test_bad_input_is_refused(change: dict[str, object], argument: str) -> None:
    good = {"joint": JOINT, "W_E": START[0], "W_U": START[2], "steps": [1], "settings": SETTINGS}
    with pytest.raises(InputError) as refusal:
        last_token_adam(**good | {"position": START[1]} | change)  # type: ignore[arg-type]
    assert refusal.value.argument == argument
