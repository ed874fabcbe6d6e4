r"""A stabilised Runge-Kutta-Chebyshev integrator in SciPy's solver interface.

A gradient flow's Jacobian is symmetric, so its eigenvalues are real. Once the common part of the labels
is fitted, the stiffest of them makes an ordinary explicit method take thousands of steps while the
solution hardly moves. The second-order Runge-Kutta-Chebyshev method (Sommeijer, Shampine and Verwer,
J. Comput. Appl. Math. 88, 1998) spends s evaluations on a step that is stable up to about 0.65 s² over
the spectral radius: the work grows with the root of the stiffness and no linear system is solved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import DenseOutput, OdeSolver

from theory.edge.arrays import FloatArray

_DAMPING = 2 / 13
_STEPS_PER_RADIUS = 5
"""The spectral radius is re-estimated after this many accepted steps."""
_MAX_STAGES = 200
_RESERVE = 1.1


@functools.lru_cache(maxsize=_MAX_STAGES)
def chebyshev_coefficients(s: int) -> tuple[tuple[float, float, float, float, float], ...]:
    r"""Return :math:`(\mu_j, \nu_j, \tilde\mu_j, \tilde\gamma_j, c_j)` of stages j = 1..s, s ≥ 2.

    :math:`Y_j = (1-\mu_j-\nu_j) y_0 + \mu_j Y_{j-1} + \nu_j Y_{j-2} + h\tilde\mu_j F_{j-1} +
    h\tilde\gamma_j F_0`, where F_j is taken at the time :math:`t + c_j h`.
    """
    w0 = 1 + _DAMPING / s**2
    T, dT, ddT = [1.0, w0], [0.0, 1.0], [0.0, 0.0]
    for _ in range(2, s + 1):
        ddT.append(4 * dT[-1] + 2 * w0 * ddT[-1] - ddT[-2])
        dT.append(2 * T[-1] + 2 * w0 * dT[-1] - dT[-2])
        T.append(2 * w0 * T[-1] - T[-2])
    w1 = dT[s] / ddT[s]
    b = [ddT[2] / dT[2] ** 2] * 2 + [ddT[j] / dT[j] ** 2 for j in range(2, s + 1)]
    rows = [(0.0, 0.0, b[1] * w1, 0.0, w1 * ddT[2] / dT[2] / (4 * w0))]
    for j in range(2, s + 1):
        tilde = 2 * b[j] * w1 / b[j - 1]
        gamma = -(1 - b[j - 1] * T[j - 1]) * tilde
        rows.append((2 * b[j] * w0 / b[j - 1], -b[j] / b[j - 2], tilde, gamma, w1 * ddT[j] / dT[j]))
    return tuple(rows)


class RKC(OdeSolver):
    """Second-order Runge-Kutta-Chebyshev with adaptive steps and stages, for symmetric Jacobians.

    Arguments are those of every ``scipy.integrate.OdeSolver``. The local error estimate is kept below atol +
    rtol·|y| in root mean square; atol may differ by entry. The spectral radius is found by differencing the
    field over steps of the relative size ``difference``, the root of the precision in which the field is
    computed, until two successive estimates differ by less than the share ``radius_tolerance``.
    """

    def __init__(
        self,
        fun: Callable[[float, FloatArray], FloatArray],
        t0: float,
        y0: FloatArray,
        t_bound: float,
        rtol: float = 1e-4,
        atol: float | FloatArray = 1e-7,
        vectorized: bool = False,
        difference: float = 1e-6,
        radius_tolerance: float = 0.02,
    ) -> None:
        super().__init__(fun, t0, y0, t_bound, vectorized)
        self.rtol, self.atol = rtol, atol
        self._difference, self._radius_tolerance = difference, radius_tolerance
        self.f = self.fun(t0, self.y)
        self._direction = self.f.copy()
        self._radius, self._age = 0.0, 0
        self._estimate_radius(50)
        self._h = t_bound - t0 if self._radius == 0 else min(t_bound - t0, 0.25 / self._radius)
        self.f_old, self.y_before = self.f, self.y

    def restart(
        self, t: float, y: FloatArray, f: FloatArray, t_bound: float, atol: float | FloatArray
    ) -> None:
        """Continue from a point where a new field, about as stiff as the last one, has the value f."""
        self.t, self.y, self.f, self.t_bound, self.atol = t, y, f, t_bound, atol
        self.status = "running"

    @property
    def radius(self) -> float:
        """The last estimate of the Jacobian's spectral radius."""
        return self._radius / _RESERVE

    def _estimate_radius(self, iterations: int) -> None:
        """Bound the Jacobian's spectral radius by a power method on differences of the field."""
        length = float(np.linalg.norm(self._direction))
        v = self._direction / length if length > 0 else np.full(self.n, self.n**-0.5)
        step = self._difference * max(float(np.linalg.norm(self.y)), 1e-6)
        previous = 0.0
        for _ in range(iterations):
            image = (self.fun(self.t, self.y + step * v) - self.f) / step
            radius = float(np.linalg.norm(image))
            if radius == 0:
                break
            v = image / radius
            if abs(radius - previous) < self._radius_tolerance * radius:
                break
            previous = radius
        # The power method approaches the radius from below.
        self._direction, self._radius, self._age = v, _RESERVE * radius, 0

    def _step_impl(self) -> tuple[bool, str | None]:
        smallest = 10 * abs(np.nextafter(self.t, np.inf) - self.t)
        rejected = False
        while True:
            longest = 0.65 * (_MAX_STAGES**2 - 1) / self._radius if self._radius > 0 else np.inf
            h = min(self._h, longest, self.t_bound - self.t)
            if h < min(smallest, self.t_bound - self.t):
                return False, self.TOO_SMALL_STEP
            y, f, error = self._attempt(h)
            if error <= 1:
                break
            rejected = True
            self._h = h * (max(0.1, 0.8 * error ** (-1 / 3)) if np.isfinite(error) else 0.1)
            self._estimate_radius(20)
        growth = 0.8 * max(error, 1e-4) ** (-1 / 3)
        self._h = h * min(1.0 if rejected else 5.0, growth)
        self.y_before, self.f_old = self.y, self.f
        # Rounding must not leave a last step of one unit in the last position.
        self.t = self.t_bound if h == self.t_bound - self.t else self.t + h
        self.y, self.f = y, f
        self._age += 1
        if self._age >= _STEPS_PER_RADIUS:
            self._estimate_radius(20)
        return True, None

    def _attempt(self, h: float) -> tuple[FloatArray, FloatArray, float]:
        """Return y and the field after a step h, and the error estimate over the tolerance."""
        with np.errstate(over="ignore", invalid="ignore"):
            y = self._stages(h, max(2, 1 + int(np.sqrt(1 + 1.54 * h * self._radius))))
            f = self.fun(self.t + h, y)
            estimate = 0.8 * (self.y - y) + 0.4 * h * (self.f + f)
            estimate /= self.atol + self.rtol * np.maximum(np.abs(self.y), np.abs(y))
            error = float(np.sqrt(np.mean(np.square(estimate))))
        return y, f, error

    def _stages(self, h: float, s: int) -> FloatArray:
        rows = chebyshev_coefficients(s)
        older, newer = self.y, self.y + rows[0][2] * h * self.f
        for (mu, nu, tilde, gamma, _), (*_, c) in zip(rows[1:], rows[:-1], strict=True):
            stage = self.fun(self.t + c * h, newer) * (h * tilde)
            stage += (1 - mu - nu) * self.y
            stage += mu * newer
            stage += nu * older
            stage += (h * gamma) * self.f
            older, newer = newer, stage
        return newer

    def _dense_output_impl(self) -> DenseOutput:
        assert self.t_old is not None
        return _Hermite(self.t_old, self.t, self.y_before, self.y, self.f_old, self.f)


class _Hermite(DenseOutput):
    """The cubic through both ends of a step with the field's values there."""

    def __init__(self, t_old: float, t: float, *ends: FloatArray) -> None:
        super().__init__(t_old, t)
        self._ends = ends

    def _call_impl(self, t: Any) -> FloatArray:
        h = self.t - self.t_old
        x = (t - self.t_old) / h
        y0, y1, f0, f1 = (end[:, None] if t.ndim else end for end in self._ends)
        bend = (1 - 2 * x) * (y1 - y0) + h * ((x - 1) * f0 + x * f1)
        return np.asarray((1 - x) * y0 + x * y1 + x * (x - 1) * bend)
