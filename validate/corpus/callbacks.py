"""A recorder in the loops of ``transformers`` and Lightning, which are imported when they are asked for."""

from __future__ import annotations

import importlib
from typing import Any

from theory import InputError


def imported(module: str, package: str) -> Any:
    """Import a module of somebody else's package, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        remedy = f"install it with: pip install {package}"
        raise InputError("package", package, "not installed", remedy) from None


def transformers_callback(recorder: Any) -> Any:
    """Return a ``TrainerCallback``; losses are those that the Trainer logs."""
    library = imported("transformers", "transformers")

    class Callback(library.TrainerCallback):  # type: ignore[misc, name-defined]
        # A step that is over is recorded when the next one begins, with the losses evaluated between.
        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                recorder.at(state.global_step)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            recorder.note(**{k: v for k, v in (logs or {}).items() if k.endswith("loss")})

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero:
                recorder.at(state.global_step)
                recorder.close()

    return Callback()


def lightning_callback(recorder: Any) -> Any:
    """Return a ``Callback`` of Lightning; losses are logged metrics whose names end in "loss"."""
    library = imported("lightning.pytorch", "lightning")

    class Callback(library.Callback):  # type: ignore[misc, name-defined]
        def on_train_start(self, trainer: Any, module: Any) -> None:
            recorder.at(trainer.global_step)

        def on_train_batch_end(self, trainer: Any, module: Any, *_: Any) -> None:
            metrics = trainer.callback_metrics.items()
            recorder.note(**{k: float(v) for k, v in metrics if k.endswith("loss")})
            recorder.at(trainer.global_step)

        def on_fit_end(self, trainer: Any, module: Any) -> None:
            recorder.close()

    return Callback()
