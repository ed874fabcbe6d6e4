"""The Chebyshev integrator against what it promises, and failures in plain words."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import Polynomial
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicHermiteSpline

from theory import IntegrationError, Solver
from theory.integrate.chebyshev import RKC, chebyshev_coefficients
from theory.integrate.solve import integrate
from theory.integrate.trajectory import Matrices, Recorder, first_passage


def stability_polynomial(s: int) -> Polynomial:
    """Return R(z), what one step of s stages makes of y' = zy."""
    z, one = Polynomial([0.0, 1.0]), Polynomial([1.0])
    rows = chebyshev_coefficients(s)
    older, newer = one, one + rows[0][2] * z
    for mu, nu, tilde, gamma, _ in rows[1:]:
        stage = (1 - mu - nu) * one + mu * newer + nu * older + tilde * z * newer + gamma * z * one
        older, newer = newer, stage
    return newer


@given(st.integers(2, 25))
def test_a_step_is_of_second_order(s):
    assert stability_polynomial(s).coef[:3] == pytest.approx([1.0, 1.0, 0.5], abs=1e-9)


@settings(max_examples=20)
@given(st.floats(1.0, 1e5), st.integers(0, 99))
def test_a_stiff_linear_flow_comes_out_within_tolerance(stiffness, seed):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    rates = np.concatenate([[-stiffness], rng.uniform(-1, 0.5, 5)])
    A, y0 = basis @ np.diag(rates) @ basis.T, rng.standard_normal(6)
    end = solve_ivp(lambda _, y: A @ y, (0, 3), y0, method=RKC, rtol=1e-5, atol=1e-7)
    assert end.success
    exact = basis @ (np.exp(3 * rates) * (basis.T @ y0))
    # Local errors of 1e-5 add up over some hundred steps and grow by at most exp(1.5).
    assert np.abs(end.y[:, -1] - exact).max() < 5e-3


def test_dense_output_meets_the_ends_and_is_of_third_order_inside():
    t, start = np.linspace(0, 2, 50), np.array([1.0, -2.0])
    end = solve_ivp(lambda _, y: -y, (0, 2), start, method=RKC, rtol=1e-6, atol=1e-8, dense_output=True)
    cubic = CubicHermiteSpline(end.t, end.y, -end.y, axis=1)
    assert end.sol(t) == pytest.approx(cubic(t), rel=1e-12)  # type: ignore[misc]
    single = np.array([end.sol(x) for x in t]).T  # type: ignore[misc]
    assert single == pytest.approx(cubic(t), rel=1e-12)


@pytest.mark.parametrize("method", ["RKC", "DOP853", "RK45"])
def test_a_singularity_met_unawares_is_reported_with_time_and_remedy(method):
    initial = Matrices(*np.ones((3, 1, 1)))
    solver = Solver(rtol=1e-6, atol=1e-6, method=method)

    def field(m):
        return Matrices(*(x**2 for x in m))

    recorder = Recorder(initial, ("W1",))
    with pytest.raises(IntegrationError, match="earlier time") as caught:
        integrate("square", field, np.array([0.0, 2.0]), solver, recorder, 0.0)
    assert caught.value.time == pytest.approx(1.0, abs=1e-3)
    # Errors travel between processes.
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_between_two_times_a_passage_is_linear_in_what_a_function_makes_straight() -> None:
    assert first_passage([0, 2, 4], [0.0, 0.4, 0.8], 0.5) == pytest.approx(2.5)
    # The first passage counts, whatever comes after it.
    assert first_passage([0, 1, 2, 3], [0.0, 1.0, 0.0, 1.0], 0.25) == pytest.approx(0.25)
    times = np.array([0.0, 1.0, 2.0])
    assert first_passage(times, np.exp(3 * times), math.e, np.log) == pytest.approx(1 / 3)
    # A start at 0 has no logarithm and no reciprocal.
    for straight in (np.log, np.reciprocal):
        assert first_passage([0, 1], [0.0, 0.5], 0.25, straight) == pytest.approx(0.5)
    # Two neighbouring floats may have one logarithm.
    low, high = 1000.0, np.nextafter(1000.0, 2000.0)
    assert first_passage([0, 1], [low, high], high, np.log) == 1
    # At the ends, and none.
    assert first_passage([3, 4], [0.5, 0.9], 0.5) == 3
    assert first_passage([3, 4], [0.1, 0.5], 0.5) == 4
    assert math.isinf(first_passage([3, 4], [0.1, 0.2], 0.5))
