r"""The fourth rung: the exact gradient flow of a whole population, softmax live, any smooth activation."""

from __future__ import annotations

from collections.abc import Sequence

from theory.arrays import ArrayLike, Real
from theory.checked import Decay, checked
from theory.flows.activation import IDENTITY, ActivationLike, as_activation
from theory.flows.coupled import product_field
from theory.flows.gradient import loss_function, population_field, token_gradient
from theory.flows.parameters import EmbMLPParameters
from theory.integrate.solve import STABILISED, Solver, decaying, integrate
from theory.integrate.trajectory import EMBEDDING_BALANCE, HIDDEN_BALANCE, Recorder, Trajectory, check_times
from theory.labels.counts import CountPopulation


@checked
def population_flow(
    population: CountPopulation,
    initial: EmbMLPParameters,
    times: Real[ArrayLike, "*n_times"],
    *,
    activation: ActivationLike = IDENTITY,
    weight_decay: Decay = 0.0,
    solver: Solver = STABILISED,
    keep: Sequence[str] = ("W_emb",),
) -> Trajectory:
    r"""Return the exact gradient flow of the mean cross entropy over a population (rung 4, Lemma 2).

    Parameters
    ----------
    population : CountPopulation
        ``count_population`` of a task, or ``count_sample`` of a data set.
    initial : EmbMLPParameters
        The matrices at t = 0.
    times : array_like, shape (n_times,)
        Non-negative and increasing; in units of Σ learning rate.
    activation : Activation, optional
        σ; with the identity a far cheaper, equally exact form of the gradient is used.
    weight_decay : float, optional
        λ of plain gradient descent: λθ is added to the gradient.
    solver : Solver, optional
        Integrator and tolerances.
    keep : sequence of str, optional
        Which matrices the trajectory keeps: "W_emb", "W1", "W2", "B" (their product).

    Returns
    -------
    Trajectory
        With the losses of all the population's data sets. W_embᵀW_emb − W1W1ᵀ is conserved for every σ,
        W1ᵀW1 − W2W2ᵀ for the identity only and reported only then.

    Raises
    ------
    InputError
        If the vocabularies disagree or the times are negative or unsorted.
    IntegrationError
        If the integrator fails.
    """
    checked = check_times(times)
    sigma = as_activation(activation)
    losses = loss_function(population, initial, sigma)
    if sigma.is_linear:
        conserved: tuple[str, ...] = (EMBEDDING_BALANCE, HIDDEN_BALANCE)
        field = product_field(lambda B: token_gradient(population, B))
    else:
        conserved = (EMBEDDING_BALANCE,)
        field = population_field(population, sigma)
    recorder = Recorder(keep, losses, conserved, weight_decay)
    return integrate("population_flow", decaying(field, weight_decay), initial, checked, solver, recorder)
