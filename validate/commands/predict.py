"""anchorflow predict: predict a task's embedding from its label distributions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import sim
import theory
from sim.config.presets import MOST_SEQUENCES, sample_size
from theory import InputError
from theory.edge.errors import renamed
from validate.commands.options import CommandOptions, Positional
from validate.terminal.output import print_json, print_table, tell

if TYPE_CHECKING:
    from validate.prediction import Prediction


class Options(CommandOptions):
    """Predict label distributions and the embedding's early geometry from a task alone.

    TASK.toml describes a task, or is a configuration that holds one; "emb-mlp" and "paper" name the paper's
    own, and "modular-addition", "s5", "sparse-parity", "composition" and "digits" tasks of other papers.

    example: anchorflow predict emb-mlp --out runs/prediction
    """

    file: Annotated[str | None, Positional("TASK.toml")] = None
    """A TOML file, or the name of a task."""
    task: str | None = None
    """Same as TASK.toml."""
    out: Path | None = None
    """Write prediction.json, the task and the figures here."""
    samples: int = 100_000
    """Sequences drawn for each token, at least 40, for a rule with too many labels to count."""
    seed: int = 0
    """Seed of these draws and of the curves' initial weights."""
    curves: bool = False
    """Also predict when an Emb-MLP learns each data set, in about a quarter of a run's time."""
    flow: bool = False
    """Also predict the size of the cosines at training accuracies 0.1, 0.3 and 0.5, from two starts: 16 to
    33 s of processor time for an Emb-MLP of the paper's size, the time of 3 to 41 runs for a small
    Transformer. For the paper's Transformer, half an hour or more, it is right in the first epochs only."""
    model: Literal["emb-mlp", "transformer"] = "emb-mlp"
    """Model whose cosines are predicted, at the paper's widths."""
    init_rate: float = 0.8
    """γ of the curves and the cosines."""
    optimizer: str = "adamw"
    """Optimiser of the curves and the cosines."""
    learning_rate: float = 1e-4
    """Learning rate of that optimiser."""
    epochs: int = 100
    """Length of the curves in epochs; the cosines are looked for in twice as many."""
    route: Literal["batches", "flow"] = "batches"
    """For an Emb-MLP: train a narrow network on batches, or follow the flow of the mean course, which takes
    minutes, or longer than a run. For a Transformer it is always followed."""
    max_gradients: int = 20_000
    """Most gradients of the population that the flow may take, tens of milliseconds each."""


def run(options: Options) -> int:
    """Predict, print, and write if asked to."""
    from sim.config.task_files import as_task
    from sim.runs.files import json_text
    from sim.runs.outputs import OutputFolder

    _check(options)
    # Read before SciPy and matplotlib are loaded, so that a mistake in it is reported at once.
    task = as_task(options.file or options.task or "")
    from validate.prediction import FILES, FOLDERS, Prediction

    if options.out is not None:
        OutputFolder(options.out).check(FILES, FOLDERS)
    later: dict[str, Callable[[], dict[str, Any]]] = {}
    if options.curves or options.flow:
        member = _member(options, task)
        later = {"flow": partial(_flow, member, options)} if options.flow else {}
        later |= {"learning": partial(_learning, member, options)} if options.curves else {}
    with renamed({"n_samples": "samples"}):
        prediction = Prediction.of(task, n_samples=options.samples, seed=options.seed)
    if options.out is not None:
        prediction.write(options.out)
    if not options.as_json:
        _print_labels(prediction)
        sys.stdout.flush()  # What follows may take minutes.
    document = prediction.to_json()
    for name, predicted in later.items():
        document[name] = predicted()
        if options.out is not None:
            OutputFolder(options.out).write("prediction.json", json_text(document))
    if options.as_json:
        print_json(document)
    elif options.out is not None:
        print(f"written to {options.out}")
    return 0


def _check(options: Options) -> None:
    """Refuse no task, two tasks, and options that have no effect."""
    if (options.file is None) == (options.task is None):
        given = f"{options.file} and {options.task}" if options.file else "none"
        raise InputError("task", given, "one task is needed", "give TASK.toml or --task TASK.toml")
    for name in ("model", "init_rate", "optimizer", "learning_rate", "epochs", "route", "max_gradients"):
        if name in options.model_fields_set and not (options.curves or options.flow):
            remedy = "add --curves or --flow"
            raise InputError(name, getattr(options, name), "has no effect by itself", remedy)
    if options.curves and options.model != "emb-mlp":
        remedy = "leave out --curves, or --model"
        raise InputError("model", options.model, "its learning times are not predicted", remedy)


def _member(options: Options, task: theory.Task) -> sim.MemberConfig:
    """Return the run that curves and flow are about; one that the flow does not describe is refused."""
    from theory.task.population import population_size

    training = {name: getattr(options, name) for name in ("optimizer", "learning_rate", "epochs")}
    data = {"task": task, "init_rates": [options.init_rate], "seeds": [options.seed]}
    data |= {"model": {"kind": options.model}, "training": training}
    if options.model != "emb-mlp" and population_size(task) > MOST_SEQUENCES:
        # A larger training set is drawn, as the paper's is.
        data |= {"data": {"source": "draw", "n_sequences": sample_size(task)}}
    (member,) = sim.make_run_config(data).members()
    if options.flow:
        from validate.compare.flow import check_flow

        check_flow(member)
    if options.curves:
        from validate.predict.learning import flow_arguments

        flow_arguments(member)
    return member


def _print_labels(prediction: Prediction) -> None:
    """Print the label distributions and the predicted cosines."""
    from validate.prediction import COSINE_HEADER, TOKEN_HEADER

    title = "label distributions of the training data (eq. 7, 8, 21-25)"
    print_table(title, TOKEN_HEADER, prediction.token_rows())
    print_table("predicted cosine similarity, all pairs", COSINE_HEADER, prediction.cosine_rows())
    for sentence in [*prediction.entropy_lines(), *prediction.notes(), *prediction.left_out()]:
        tell(sentence)


def _flow(member: sim.MemberConfig, options: Options) -> dict[str, Any]:
    """Predict the size of all anchors' cosines by training accuracy, print them, and return plain data."""
    from sim.runs.files import finite
    from validate.compare.flow import LEVELS, apart_sentence, flow_cosines, flow_rows
    from validate.predict.learning import setting
    from validate.prediction import COSINE_HEADER, with_nulls

    way = {"route": options.route, "max_gradients": options.max_gradients}
    matrices, apart, error, seconds = flow_cosines(member, LEVELS, **way)
    if not options.as_json:
        which = "an Emb-MLP" if options.model == "emb-mlp" else "a Transformer"
        title = f"cosines of {which}, {setting(member)}: {seconds:.0f} s of one processor"
        print_table(title, COSINE_HEADER, flow_rows(member, matrices, options.route))
        tell(apart_sentence(apart))
        if error > 0:
            tell(f"Gradients are of samples: their standard error is {error:.2g} of their norm.")
    cosines = {str(level): with_nulls(m) for level, m in zip(LEVELS, matrices, strict=True)}
    far = {str(level): finite(x) for level, x in zip(LEVELS, apart, strict=True)}
    anchors = list(member.build_task().anchors)
    return {"anchors": anchors, "cosines": cosines, "apart": far, "gradient_error": error, "seconds": seconds}


def _learning(member: sim.MemberConfig, options: Options) -> dict[str, Any]:
    """Predict when each data set is learned, print it, and return plain data."""
    from validate.predict import learning

    curves = _curves(member, options)
    title = f"predicted learning of an Emb-MLP, {learning.setting(member)}"
    if options.out is not None:
        from validate.figures.prediction import write_curves

        write_curves(options.out, curves, title)
    if not options.as_json:
        header = ["data set", "half learned after steps", "epochs", "accuracy at the end", "loss"]
        print_table(title, header, learning.time_rows(curves))
        found = [*learning.bias_sentences(curves), *learning.fallen_sentences(curves)]
        for sentence in [*found, *learning.sure_sentences(member, curves, options.route)]:
            tell(sentence)
    return learning.curves_json(curves)


def _curves(member: sim.MemberConfig, options: Options) -> theory.LearningCurves:
    from sim.config.run import steps_in_epoch
    from theory.flows.learning_curves import training_size
    from validate.predict.learning import predict_for
    from validate.terminal.progress import progress

    steps_per_epoch = steps_in_epoch(training_size(member.build_task()), member.training.batch_size)
    with progress("following the curves, epochs", member.training.epochs) as advance:
        passed = 0

        def report(step: int) -> None:
            nonlocal passed
            while passed < step // steps_per_epoch:
                passed += 1
                advance()

        way = {"route": options.route, "max_gradients": options.max_gradients}
        return predict_for(member, [member.seed], **way, report=report)
