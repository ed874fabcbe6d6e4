"""Callbacks that let a ``Recorder`` follow the training loops of ``transformers`` and Lightning."""

from __future__ import annotations

from typing import Any

from sim.data.text import require


def for_transformers(recorder: Any) -> Any:
    """Return a callback for the Trainer of ``transformers``."""
    library = require("transformers", package="transformers")

    class Callback(library.TrainerCallback):  # type: ignore[misc, name-defined]
        # A step is recorded when the next one begins, with the losses evaluated in between.
        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero or recorder.is_sharded:
                recorder.at(state.global_step)

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            recorder.note(**{k: v for k, v in (logs or {}).items() if k.endswith("loss")})

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            # After the last step the Trainer may load the best weights, which are of an earlier one.
            if args.load_best_model_at_end and control.should_training_stop:
                self.on_train_end(args, state, control)

        on_step_end = on_save  # The last step is not always saved.

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.is_world_process_zero or recorder.is_sharded:
                recorder.at(state.global_step)
                recorder.close()

    return Callback()


def for_lightning(recorder: Any) -> Any:
    """Return a callback for Lightning's Trainer."""
    library = require("lightning.pytorch", package="lightning")

    class Callback(library.Callback):  # type: ignore[misc, name-defined]
        # Only one of several processes records, since they share a file, unless each has a part.
        def on_train_start(self, trainer: Any, module: Any) -> None:
            if trainer.is_global_zero or recorder.is_sharded:
                recorder.at(trainer.global_step)

        def on_train_batch_end(self, trainer: Any, module: Any, *_: Any) -> None:
            if trainer.global_step % recorder.every == 0:  # To read a metric waits for the device.
                self.note(trainer)
            self.on_train_start(trainer, module)

        def note(self, trainer: Any) -> None:
            recorder.note(**{k: v for k, v in trainer.callback_metrics.items() if k.endswith("loss")})

        def on_fit_end(self, trainer: Any, module: Any) -> None:
            self.note(trainer)
            if trainer.is_global_zero or recorder.is_sharded:
                recorder.close()

    return Callback()
