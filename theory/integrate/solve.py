"""One loop around SciPy's integrators for every flow: recording, blow-up, and failure in plain words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from scipy.integrate import DOP853, RK45, OdeSolver

from theory.edge.arrays import FloatArray
from theory.edge.checked import Size, checked_fields
from theory.edge.checks import Between
from theory.edge.errors import IntegrationError
from theory.integrate.chebyshev import RKC
from theory.integrate.trajectory import Matrices, Recorder, SolverStatistics, Trajectory

Field = Callable[[Matrices], Matrices]
_METHODS: dict[str, Callable[..., OdeSolver]] = {"RKC": RKC, "DOP853": DOP853, "RK45": RK45}
Tolerance = Annotated[float, Between(1e-13, 0.5)]
"""Below 1e-13 float64 cannot meet it."""
_BLOW_UP_RESOLUTION = 1e-6
_DECAYED = 1e-12
"""Weights that have decayed to a smaller share than this are as good as zero."""


@checked_fields
@dataclass(frozen=True)
class Solver:
    """The integrator, its tolerances, and when it gives up.

    Attributes
    ----------
    rtol : float
        Local error relative to each entry, in root mean square.
    atol : float
        Local error relative to the root mean square of the initial entries, or of the present ones where
        weight decay has made them smaller, so that small weights are followed as closely as large ones.
    method : {"RKC", "DOP853", "RK45"}
        RKC (stabilised, second order) for flows that turn stiff; DOP853 (eighth order) for exact
        trajectories that are not.
    max_steps : int
        More accepted steps than this are a failure.
    """

    rtol: Tolerance = 1e-4
    atol: Tolerance = 1e-5
    method: Literal["RKC", "DOP853", "RK45"] = "RKC"
    max_steps: Size = 100_000


STABILISED = Solver()
"""For flows that turn stiff; rank steps come out right to a few parts in a thousand."""
EXACT = Solver(rtol=1e-9, atol=1e-9, method="DOP853")
"""For smooth flows, and as the reference that other settings are judged by."""


def integrate(
    flow: str,
    field: Field,
    times: FloatArray,
    solver: Solver,
    recorder: Recorder,
    weight_decay: float,
    *,
    may_blow_up: bool = False,
) -> Trajectory:
    """Follow dθ/dt = field(θ) − λθ and record it at the given times, which increase from 0 or later.

    The recorder holds θ at t = 0, and ``weight_decay`` is λ. With ``may_blow_up`` the flow ends at a
    finite-time singularity of a field homogeneous of degree 2. ``flow`` is its name in error messages.

    Raises
    ------
    IntegrationError
        If the integrator fails or takes more than ``solver.max_steps`` steps.
    """
    initial, start = recorder.initial, recorder.initial.packed()
    rms = _rms(start) or 1.0
    atol = solver.atol * rms
    pending = int(np.searchsorted(times, 0.0, side="right"))
    for _ in range(pending):
        recorder.add(initial)
    if pending == len(times):
        return recorder.trajectory(times, SolverStatistics(solver.method, 0, 0, solver.rtol, atol))

    def velocity(_: float, vector: FloatArray) -> FloatArray:
        return field(initial.unpack(vector)).packed() - weight_decay * vector

    with np.errstate(over="ignore", invalid="ignore"):
        if not np.isfinite(velocity(0.0, start)).all():  # SciPy would look for a first step forever.
            raise IntegrationError(flow, "the velocity overflows.", 0.0, "Start from smaller parameters")
    stepper: Any = _METHODS[solver.method](velocity, 0.0, start, times[-1], rtol=solver.rtol, atol=atol)
    n_steps, blow_up = 0, None
    while stepper.status == "running" and blow_up is None:
        if n_steps == solver.max_steps:
            problem = f"{n_steps} steps did not reach t = {stepper.t_bound:.6g}."
            remedy = "Ask for an earlier time, a looser rtol or a larger max_steps"
            raise IntegrationError(flow, problem, stepper.t, remedy)
        with np.errstate(over="ignore", invalid="ignore"):
            message = stepper.step()  # None where it succeeded
        if message is not None:
            remedy = "Ask for an earlier time, or start from smaller parameters"
            raise IntegrationError(flow, message, stepper.t, remedy)
        n_steps += 1
        if weight_decay > 0:
            stepper.atol = solver.atol * max(min(rms, _rms(stepper.y)), _DECAYED * rms)
        blow_up = _singular_time(stepper) if may_blow_up else None
        if times[pending] <= stepper.t:
            inside = stepper.dense_output()
            while pending < len(times) and times[pending] <= stepper.t:
                recorder.add(initial.unpack(inside(times[pending])))
                pending += 1
    statistics = SolverStatistics(solver.method, n_steps, stepper.nfev, solver.rtol, atol)
    return recorder.trajectory(times, statistics, blow_up)


def _rms(vector: FloatArray) -> float:
    return float(np.sqrt(np.mean(np.square(vector))))


def _singular_time(stepper: OdeSolver) -> float | None:
    r"""Return the time of the singularity ahead, once the time left is a millionth of the time passed.

    A singularity beyond the last time asked for does not concern the trajectory. Near the singularity of a
    field homogeneous of degree 2, θ is proportional to 1/(t* − t), so that
    :math:`t^* - t = \|\theta\|^2 / \langle\theta, \dot\theta\rangle`.
    """
    size = float(np.linalg.norm(stepper.y)) or 1.0
    # Along a unit vector: the cube of small weights would underflow.
    growth = float(stepper.y / size @ stepper.fun(stepper.t, stepper.y))
    remaining = size / growth if growth > 0 else np.inf
    time = float(stepper.t + remaining)
    return time if remaining < _BLOW_UP_RESOLUTION * stepper.t and time < stepper.t_bound else None
