r"""How long each rung of the ladder of flows can be trusted: the error budget of the theory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from theory.arrays import Float64, FloatArray
from theory.checked import Between, Positive, Rate, Size, check_tokens, checked
from theory.errors import InputError
from theory.flows.activation import IDENTITY, TANH, ActivationLike
from theory.flows.ladder import blow_up_bound, coupled_flow, frozen_flow, linearised_flow, population_flow
from theory.flows.parameters import EmbMLPParameters
from theory.integrate.first_passage import first_passage
from theory.integrate.solve import STABILISED, Solver
from theory.integrate.trajectory import Trajectory
from theory.labels.counts import CountPopulation
from theory.shapes.cosines import cosine_matrix, off_diagonal

RUNGS = ("frozen", "coupled", "linearised", "population")


@dataclass(frozen=True)
class Horizon:
    """One row of the error budget.

    Attributes
    ----------
    init_rate : float
        Initialisation rate.
    rung : str
        One of ``RUNGS``; "population" has σ the identity.
    bound : float
        The cosine error that ends the rung's validity.
    time : float
        When the error first passes the bound; infinite if not within the span.
    clock : float
        ``blow_up_bound`` of this initialisation: the natural unit of time.
    span : float
        The last time looked at.
    """

    init_rate: float
    rung: str
    bound: float
    time: float
    clock: float
    span: float


@checked
def cosine_errors(
    reference: Trajectory, trajectory: Trajectory, tokens: Sequence[int]
) -> Float64[FloatArray, " {len(trajectory.times)}"]:
    """Return the largest difference of a cosine between two trajectories at each of their times.

    Parameters
    ----------
    reference, trajectory : Trajectory
        With W_emb kept; ``trajectory`` may end earlier, by a blow-up.
    tokens : sequence of int
        The tokens whose pairs are compared, at least two.
    """
    listed = check_tokens("tokens", tokens, reference.W_emb.shape[1]).tolist()
    n = len(trajectory.times)
    if len(listed) < 2:
        raise InputError("tokens", listed, "no pair to compare", "give at least two tokens")
    if not np.array_equal(reference.times[:n], trajectory.times):
        raise InputError("trajectory", n, "its times are not the reference's", "use the same times")
    pairs = zip(reference.W_emb, trajectory.W_emb, strict=False)
    return np.array([_largest_difference(a[listed], b[listed]) for a, b in pairs])


def _largest_difference(a: FloatArray, b: FloatArray) -> float:
    return float(np.max(np.abs(off_diagonal(cosine_matrix(a)) - off_diagonal(cosine_matrix(b)))))


@checked
def validity_horizon(
    population: CountPopulation,
    tokens: Sequence[int],
    init_rates: Iterable[Rate],
    bounds: Iterable[Positive],
    *,
    d_m: Size,
    d_f: Size,
    rng: np.random.Generator,
    clocks: Positive = 3.0,
    n_times: Annotated[int, Between(2)] = 121,
    activation: ActivationLike = TANH,
    solver: Solver = STABILISED,
) -> list[Horizon]:
    r"""Return, for each γ and rung, when its cosines first stray from the true flow's by a bound.

    The reference is ``population_flow`` with the given activation.

    Parameters
    ----------
    population : CountPopulation
        What is trained on.
    tokens : sequence of int
        The tokens whose pairs of cosines are judged.
    init_rates, bounds : iterable of float
        Initialisation rates and cosine errors.
    d_m, d_f : int
        Widths of the Emb-MLP.
    rng : numpy.random.Generator
        One direction is drawn and rescaled for every γ.
    clocks : float, optional
        How far to look, in units of ``blow_up_bound``.
    n_times : int, optional
        Points in time; a horizon is interpolated between them.
    activation : Activation, optional
        σ of the reference.
    solver : Solver, optional
        Used for every rung but the frozen one.

    Returns
    -------
    list of Horizon
        Ordered by γ, rung and bound.
    """
    limits = list(bounds)
    if not limits:
        raise InputError("bounds", limits, "none", "give cosine errors, e.g. [0.05, 0.2]")
    seed = int(rng.integers(2**63))
    rows = []
    for init_rate in init_rates:
        same_draw = np.random.default_rng(seed)
        initial = EmbMLPParameters.draw(
            population.vocab_size, d_m=d_m, d_f=d_f, init_rate=init_rate, rng=same_draw
        )
        clock = blow_up_bound(population.token_label_matrix(), initial)
        times = np.linspace(0.0, clocks * clock, n_times)
        reference = population_flow(population, initial, times, activation=activation, solver=solver)
        for rung, trajectory in _rungs(population, initial, times, solver).items():
            errors = cosine_errors(reference, trajectory, tokens)
            rows += [
                Horizon(init_rate, rung, b, _end_of_validity(trajectory, errors, b), clock, times[-1])
                for b in limits
            ]
    return rows


def _rungs(
    population: CountPopulation, initial: EmbMLPParameters, times: FloatArray, solver: Solver
) -> dict[str, Trajectory]:
    C, S = population.token_label_matrix(), population.cooccurrence()
    flows = (
        frozen_flow(C, initial, times),
        coupled_flow(C, initial, times, solver=solver),
        linearised_flow(C, S, initial, times, solver=solver),
        population_flow(population, initial, times, activation=IDENTITY, solver=solver),
    )
    return dict(zip(RUNGS, flows, strict=True))


def _end_of_validity(trajectory: Trajectory, errors: FloatArray, bound: float) -> float:
    """Return when the error reaches the bound; a rung that blows up is not valid beyond that."""
    time = first_passage(trajectory.times, errors, bound)
    return time if trajectory.blow_up is None else min(time, trajectory.blow_up)
