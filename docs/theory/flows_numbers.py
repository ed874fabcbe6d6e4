"""Print every number of docs/theory/flows.md: ``python docs/theory/flows_numbers.py SECTION``."""

from __future__ import annotations

import numpy as np
from printing import print_sections

from theory import (
    IDENTITY,
    TANH,
    Activation,
    EmbMLPParameters,
    Solver,
    Task,
    blow_up_bound,
    cosine_matrix,
    count_population,
    coupled_flow,
    draw_tables,
    escape_dose,
    escape_threshold,
    expected_cooccurrence,
    expected_token_label_matrix,
    gradient_orders,
    linearised_flow,
    marginal_distribution,
    measured_rank_steps,
    off_diagonal,
    plateau_residual,
    population_flow,
    rank_steps_from_labels,
    token_ratios,
    validity_horizon,
)
from theory.flows.gradient import population_field, token_gradient
from theory.flows.ladder import linearised_drive, product_field
from theory.integrate.trajectory import Trajectory

TASK = Task.paper(length=3)
POPULATION = count_population(TASK, draw_tables(TASK, np.random.default_rng(1)))
C, S = POPULATION.token_label_matrix(), POPULATION.cooccurrence()
ANCHORS = list(range(1, 21))
BENT = Activation(
    "bent", lambda h: np.sin(h) + (1 - np.cos(h)) / 2, lambda h: np.cos(h) + np.sin(h) / 2, 0.5, -1.0
)


def draw(gamma: float = 0.8, seed: int = 0) -> EmbMLPParameters:
    rng = np.random.default_rng(seed)
    return EmbMLPParameters.draw(200, d_m=200, d_f=512, init_rate=gamma, rng=rng)


def orders() -> None:
    """Exponents of the relative error of dW_emb/dt in the scale, widths 60 and 120."""
    whole = EmbMLPParameters.draw(200, d_m=60, d_f=120, init_rate=0.5, rng=np.random.default_rng(0))
    scales = np.array([0.05, 0.075, 0.1125])
    print("activation  terms  predicted  fitted  relative error at the scales", scales)
    for activation in (IDENTITY, TANH, BENT):
        n_terms = len(gradient_orders(POPULATION, whole, activation).terms)
        for n in range(1, n_terms + 1):
            errors = []
            for eps in scales:
                weights = whole.scaled(eps)
                truth = population_field(POPULATION, activation)(weights.matrices).W_emb
                total, predicted = gradient_orders(POPULATION, weights, activation).truncated(n)
                errors.append(np.linalg.norm(total - truth) / np.linalg.norm(truth))
            fitted = np.polyfit(np.log(scales), np.log(errors), 1)[0]
            print(f"{activation.name:10}{n:7}{predicted:11}{fitted:8.2f}", *(f"{e:9.1e}" for e in errors))


def spectrum() -> None:
    """C, the blow-up of the coupled flow, and what is fitted first."""
    initial = draw()
    print("singular values of C, one drawn table:", np.linalg.svd(C, compute_uv=False)[:5].round(4))
    expected = expected_token_label_matrix(TASK, held_out=True)
    print("singular values of C, mean of all tables:", np.linalg.svd(expected, compute_uv=False)[:5].round(4))
    end = coupled_flow(C, initial, [0.0, 1e6])
    print(f"blow-up: bound {blow_up_bound(C, initial):.1f}, event {end.blow_up:.1f}, {end.solver}")
    token = expected_cooccurrence(TASK, held_out=True)
    common = np.outer(token_ratios(TASK, held_out=True), marginal_distribution(TASK, held_out=True) - 1 / 200)
    rest = expected - common
    rest -= common * np.sum(rest * common) / np.sum(common**2)
    times = np.array([150.0, 180.0, 200.0, 220.0, 240.0, 280.0])
    flow = linearised_flow(expected, token, initial, times, keep=("B",))
    for t, B in zip(times, flow["B"], strict=True):
        fitted = expected - linearised_drive(expected, token, B)
        parts = [np.sum(fitted * x) / np.sum(x**2) for x in (common, rest)]
        print(f"t = {t:.0f}: fitted of the common part {parts[0]:.2f}, of the rest {parts[1]:.2f}")


def steps() -> None:
    """Rank steps: predicted from C, and measured on two flows, three draws."""
    times = np.linspace(0.0, 1000.0, 251)
    errors = []
    for seed in range(3):
        initial = draw(seed=seed)
        level = escape_threshold(initial)
        flow = population_flow(POPULATION, initial, times)
        measured = measured_rank_steps(flow, level, 5)
        print(
            f"draw {seed}: population, identity {measured.round(1)} {flow.solver.n_evaluations} evaluations"
        )
        linear = linearised_flow(C, S, initial, times)
        print(f"  linearised           {measured_rank_steps(linear, level, 5).round(1)}")
        predicted = rank_steps_from_labels(C, initial, 5)
        print(f"  predicted from C     {predicted.times.round(1)} doses {predicted.doses.round(2)}")
        errors.append(np.sort(predicted.times) / measured - 1)
        if seed == 0:
            report_cosines(flow)
            print("  conserved to", {k: f"{v.max():.1e}" for k, v in flow.invariants.items()})
    print("largest relative error over draws:", np.abs(errors).max(axis=0).round(3))


def report_cosines(flow: Trajectory) -> None:
    for t in (212, 320, 700, 1000):
        cosines = cosine_matrix(flow.W_emb[np.argmin(np.abs(flow.times - t))])
        cross, memory = cosines[1:11, 11:21].mean(), off_diagonal(cosines[1:11, 1:11]).mean()
        loss = {k: round(float(v[np.argmin(np.abs(flow.times - t))]), 2) for k, v in flow.losses.items()}
        print(f"  t = {t}: cosine memory-reasoning {cross:.2f}, among memory {memory:.2f}, losses {loss}")


def small() -> None:
    """Rank steps on a task of five keys: predicted over measured time as the initial scale falls."""
    task = Task(
        keys=range(5, 10), reasoning_anchors=(3, 4), memory_anchors=(1, 2), n_anchors=2, length=3,
        vocab_size=20, held_out={(3, 4)},
    )  # fmt: skip
    population = count_population(task, draw_tables(task, np.random.default_rng(0)))
    C, S = population.token_label_matrix(), population.cooccurrence()
    rng = np.random.default_rng(1)
    start = EmbMLPParameters(*(rng.standard_normal(shape) for shape in ((20, 12), (12, 20), (20, 20))))
    for scale in (6e-2, 6e-3, 6e-4, 6e-5, 6e-6):
        initial = start.scaled(scale)
        predicted = np.sort(rank_steps_from_labels(C, initial, 4).times)
        flow = linearised_flow(C, S, initial, np.linspace(0, 1.7 * predicted[-1], 401))
        measured = measured_rank_steps(flow, escape_threshold(initial), 4)
        staircase = residual_staircase(C, S, initial, 4) / measured
        print(
            f"scale {scale:g}: measured {measured.round(1)}, predicted / measured: from C "
            f"{(predicted / measured).round(2)}, from C - S Bbar {staircase.round(2)}",
            flush=True,
        )


def residual_staircase(C: np.ndarray, S: np.ndarray, initial: EmbMLPParameters, n_modes: int) -> np.ndarray:
    """Let mode k run on what the best fit of rank k − 1 leaves, M: its dose over the top value of M.

    The pair of M is driven at the same rate by what every smaller rank leaves, so that nothing waits for
    the modes before it and only a running maximum keeps the order.
    """
    times = []
    for rank in range(n_modes):
        u, s, w = np.linalg.svd(plateau_residual(C, S, rank))
        times.append(escape_dose(initial, u[:, 0], w[0], escape_threshold(initial)) / s[0])
    return np.maximum.accumulate(times)


def descent() -> None:
    """Full-batch gradient descent against the flow at Σ learning rate 300, linear network."""
    initial, span = draw(), 300.0
    exact = population_flow(POPULATION, initial, [span], solver=Solver(1e-8, 1e-8, "DOP853")).W_emb[0]
    field = product_field(lambda B: token_gradient(POPULATION, B))
    for n in (600, 1200, 2400, 4800):
        now = initial.matrices
        for _ in range(n):
            now = type(now)(*(m + span / n * v for m, v in zip(now, field(now), strict=True)))
        report(f"rate {span / n:.4f}", now.W_emb, exact)
    for rtol in (1e-3, 1e-4, 1e-5):
        flow = population_flow(POPULATION, initial, [span], solver=Solver(rtol, rtol / 10))
        report(f"RKC rtol {rtol:g}, {flow.solver.n_evaluations} evaluations", flow.W_emb[0], exact)


def integrators() -> None:
    """Escape times and work of the integrators on the linear population flow, to just beyond step 3."""
    initial, times = draw(), np.linspace(0.0, 830.0, 416)
    for solver in (
        Solver(1e-3, 1e-4),
        Solver(1e-4, 1e-5),
        Solver(1e-5, 1e-6),
        Solver(1e-6, 1e-6, "DOP853"),
    ):
        flow = population_flow(POPULATION, initial, times, solver=solver)
        steps_at = measured_rank_steps(flow, escape_threshold(initial), 3).round(2)
        print(f"{solver.method:7} rtol {solver.rtol:g}: {flow.solver.n_evaluations} evaluations, {steps_at}")


def report(name: str, W_emb: np.ndarray, exact: np.ndarray) -> None:
    error = np.linalg.norm(W_emb - exact) / np.linalg.norm(exact)
    difference = cosine_matrix(W_emb[ANCHORS]) - cosine_matrix(exact[ANCHORS])
    print(f"{name}: relative error {error:.2e}, cosines {np.abs(off_diagonal(difference)).max():.2e}")


def horizon() -> None:
    """The error budget: when each rung's anchor cosines stray from the tanh flow's."""
    for gamma in (0.5, 0.65, 0.8):
        rows = validity_horizon(
            POPULATION,
            ANCHORS,
            [gamma],
            [0.01, 0.05, 0.2],
            d_m=200,
            d_f=512,
            rng=np.random.default_rng(0),
            clocks=3.0,
            n_times=61,
            solver=Solver(1e-3, 1e-4),
        )
        for row in rows:
            shown = f"{row.time:8.1f}  {row.time / row.clock:5.2f} clocks"
            print(
                f"{row.init_rate:5g}  {row.rung:11}{row.bound:5g}{shown}  (clock {row.clock:.1f})", flush=True
            )


SECTIONS = {f.__name__: f for f in (orders, spectrum, steps, small, descent, integrators, horizon)}

if __name__ == "__main__":
    print_sections(SECTIONS, __doc__, headings=True)
