"""``Recorder`` told by libraries: the Trainer of transformers, Lightning, and TensorBoard."""

import copy
import math
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import torch
from torch import nn

from tests.validate.corpus.test_compare_embedding import CORPUS, V
from tests.validate.test_record import language
from theory import InputError
from validate import Recorder


def test_the_trainer_of_transformers_records_as_the_loop_does(tmp_path):
    """The small GPT-2 of transformers, made from its configuration, four steps, two evaluation sets."""
    transformers = pytest.importorskip("transformers", reason="needs the extra anchorflow[language]")
    pytest.importorskip("accelerate", reason="needs the extra anchorflow[language]")
    config = transformers.GPT2Config(
        vocab_size=V, n_embd=16, n_layer=1, n_head=2, n_positions=16, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config)
    recorder = Recorder(model, CORPUS, every=2, out=tmp_path / "record.csv")
    rows = [{"input_ids": d[:8].tolist(), "labels": d[:8].tolist()} for d in list(CORPUS)[:16]]
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path / "out"),
        max_steps=4,
        per_device_train_batch_size=4,
        eval_strategy="steps",
        eval_steps=2,
        logging_steps=2,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
    )
    trainer = transformers.Trainer(
        model,
        arguments,
        train_dataset=rows,
        eval_dataset={"one": rows[:4], "two": rows[4:8]},
        callbacks=[recorder.transformers_callback()],
    )
    trainer.train()
    assert [row["step"] for row in recorder.rows] == [0, 2, 4]
    evaluated = {(e["step"], k): v for e in trainer.state.log_history for k, v in e.items()}
    for row in recorder.rows[1:]:
        for name in ("eval_one_loss", "eval_two_loss"):
            assert row[f"loss/{name}"] == evaluated[row["step"], name]
    norm = float(model.transformer.wte.weight.detach().norm())
    assert recorder.rows[-1]["norm/transformer.wte.weight"] == pytest.approx(norm)


@pytest.mark.parametrize("event", ["on_step_end", "on_save"])
def test_the_last_step_is_recorded_before_the_best_weights_come_back(monkeypatch, event):
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace(TrainerCallback=object))
    model = language()
    recorder, best = Recorder(model, CORPUS, every=2), copy.deepcopy(model.state_dict())
    callback = recorder.transformers_callback()
    state = SimpleNamespace(global_step=0, is_world_process_zero=True)
    asked = SimpleNamespace(load_best_model_at_end=True), state, SimpleNamespace(should_training_stop=False)
    for step in (1, 2, 3):
        callback.on_step_begin(*asked)
        nn.init.constant_(model.wte.weight, step)
        state.global_step, asked[2].should_training_stop = step, step == 3
        getattr(callback, event)(*asked)
    model.load_state_dict(best)
    callback.on_train_end(*asked)
    assert [row["step"] for row in recorder.rows] == [0, 2, 3]
    norm = 3 * math.sqrt(model.wte.weight.numel())
    assert recorder.rows[-1]["norm/wte.weight"] == pytest.approx(norm)


def test_tensorboard_is_begun_by_the_first_process_and_where_nothing_is_refused(monkeypatch):
    """A recorder that was refused left a folder with an empty log, so did each of several processes."""
    begun: list[str] = []
    library = SimpleNamespace(SummaryWriter=begun.append)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", library)
    monkeypatch.setattr(nn.Parameter, "full_tensor", lambda self: self.detach(), raising=False)
    with pytest.raises(InputError, match="embedding = 'none'"):
        Recorder(language(), CORPUS, embedding="none", tensorboard="board")
    for rank, folders in ((1, []), (0, ["board"])):
        monkeypatch.setattr(torch.distributed, "get_rank", lambda rank=rank: rank)
        Recorder(language(), CORPUS, tensorboard="board")
        assert begun == folders


def test_lightning_and_tensorboard_are_told_the_same(monkeypatch, tmp_path):
    """Stand-ins with the names of both libraries: what is called, and with what."""
    model, written = language(), []
    board = SimpleNamespace(add_scalar=lambda *call: written.append(call), close=lambda: None)
    for name, contents in (
        ("torch.utils.tensorboard", {"SummaryWriter": lambda folder: board}),
        ("lightning", {}),
        ("lightning.pytorch", {"Callback": object}),
    ):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace(**contents))
    recorder = Recorder(model, CORPUS, every=2, tensorboard=tmp_path / "board")
    callback = recorder.lightning_callback()
    trainer = SimpleNamespace(global_step=0, callback_metrics={}, is_global_zero=True)
    callback.on_train_start(trainer, model)
    note = Mock(side_effect=recorder.note)
    monkeypatch.setattr(recorder, "note", note)
    for step in range(1, 6):
        trainer.global_step = step
        trainer.callback_metrics = {"train_loss": torch.tensor(float(step)), "lr": torch.tensor(0.1)}
        callback.on_train_batch_end(trainer, model, None, None, step)
    callback.on_fit_end(trainer, model)
    assert note.call_count == 3  # Every second step, and the last: to read a loss waits for the device.
    trainer.global_step, trainer.is_global_zero = 6, False  # Another process has no part in the file.
    callback.on_train_start(trainer, model)
    callback.on_train_batch_end(trainer, model, None, None, 6)
    recorder.at(5)
    callback.on_fit_end(trainer, model)
    losses = {row["step"]: row.get("loss/train_loss") for row in recorder.rows}
    assert len(losses) == len(recorder.rows)
    assert losses == {0: None, 2: 2.0, 4: 4.0, 5: 5.0}
    assert len(written) == sum(map(len, recorder.rows))
    for name, value, step in written:
        (row,) = [row for row in recorder.rows if row["step"] == step]
        assert row[name.replace("_distance", " distance").replace("mean_", "mean ")] == value
    monkeypatch.setitem(sys.modules, "lightning.pytorch", None)
    with pytest.raises(InputError, match="pip install lightning"):
        recorder.lightning_callback()
