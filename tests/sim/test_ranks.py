"""Several processes that share each batch take the steps of one that has it whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sim import Run, RunConfig, Trainer, make_run_config, train
from sim.models.base import model_of
from sim.training.execution import Execution
from sim.training.ranks import Ranks, under_torchrun
from sim.training.shares import train_in_ranks
from tests.toy_text import toy_documents
from theory import InputError
from validate.training import train_with_progress

SMALL_TASK = {
    "keys": "20..27",
    "n_anchors": 1,
    "length": 3,
    "vocab_size": 48,
    "reasoning_anchors": "4..7",
    "memory_anchors": "1..3",
    "held_out": [[4]],
}


def language(folder: Path, **training: Any) -> RunConfig:
    """Return GPT-2 on padded toy texts in float64; an epoch's last batch has one sequence."""
    texts = [" ".join(text.split()[: 4 + i]) for i, text in enumerate(toy_documents(25))]
    (folder / "toy.txt").write_text("\n".join(texts))
    corpora = [{"name": "toy", "files": [str(folder / "toy.txt")], "documents": "line"}]
    settings = {"epochs": 3, "batch_size": 8, "dtype": "float64", "learning_rate": 3e-3, "evaluate_every": 1}
    return make_run_config(
        {
            "task": {"corpora": corpora, "n_sequences": 25, "length": 24, "vocab_size": 10},
            "model": {"kind": "gpt2", "n_layers": 1, "n_heads": 2, "d_m": 8},
            "init_rates": [0.5],
            "seeds": [0],
            "training": settings | {"snapshot_epochs": [1]} | training,
        }
    )


def transformer(_: Path) -> RunConfig:
    model = {"kind": "transformer", "d_m": 8, "d_f": 6, "d_k": 4, "loss": "next-token"}
    training = {"dtype": "float64", "batch_size": 10}
    return make_run_config({"task": SMALL_TASK, "model": model, "training": training})


def shares(trainer: Trainer, batch: tuple[Tensor, Tensor], size: int) -> list[Any]:
    """Return what each of some processes finds for a batch, whose sums are made once all shares are known."""
    known: list[Tensor] = []
    found: list[Any] = []
    take, model = trainer._torch_gradients, model_of(trainer.model)
    for add_up in (lambda flat: known.append(flat.clone()), lambda flat: flat.copy_(sum(known))):
        every = [Ranks(own, size, add_up, lambda value: value) for own in range(size)]
        found = [ranks.shared(take, model, trainer.trained)(trainer.parameters, *batch) for ranks in every]
    return found


@pytest.mark.parametrize("config", [language, transformer])
@pytest.mark.parametrize("position", [0, -1])
@pytest.mark.parametrize("size", [2, 3])
def test_shares_add_up_to_the_batch(config: Any, position: int, size: int, tmp_path: Path) -> None:
    """Unequal shares of padded texts too, and a last batch that is shorter than there are processes."""
    trainer = Trainer(config(tmp_path).members()[:1])
    batch = trainer.batches.at(position % trainer.steps_per_epoch)
    losses, gradients, norms = trainer.gradients(*batch)
    found = shares(trainer, batch, size)
    for own_losses, own, own_norms in found:
        torch.testing.assert_close(own_losses, losses, rtol=1e-12, atol=0)
        torch.testing.assert_close(own_norms, norms, rtol=1e-12, atol=0)
        for name, gradient in gradients.items():
            torch.testing.assert_close(own[name], gradient, rtol=0, atol=1e-12 * float(norms), msg=name)
    assert all(torch.equal(found[0][1][name], found[1][1][name]) for name in gradients)


def test_the_last_batch_of_the_language_task_is_one_sequence(tmp_path: Path) -> None:
    trainer = Trainer(language(tmp_path).members())
    assert trainer.batches.at(trainer.steps_per_epoch - 1)[1].shape == (1, 1)


def test_any_process_may_ask_to_stop() -> None:
    def heard(others: float) -> bool:
        return Ranks(0, 2, lambda flag: flag.add_(others), lambda value: value).agreed(lambda: False)()

    assert heard(1.0)
    assert not heard(0.0)


def test_the_command_line_is_refused_under_torchrun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not under_torchrun()
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "a")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InputError, match=r"call sim\.train in a script"):
        train_with_progress(language(tmp_path), tmp_path / "runs")
    with pytest.raises(InputError, match="not under torchrun"):
        train_in_ranks(list, Execution(device="cuda"), print, lambda: False)
    assert not (tmp_path / "runs").exists()


SCRIPT = """
import json, sys
from pathlib import Path
from sim import make_run_config, train
config = make_run_config(json.loads(Path("config.json").read_text()))
runs = train(config, "shared", resume=len(sys.argv) > 1)
print("trained", runs[0].metrics[-1]["step"])
"""


def in_two_processes(folder: Path, *arguments: str) -> str:
    (folder / "script.py").write_text(SCRIPT)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    root = str(Path(__file__).resolve().parents[2])
    done = subprocess.run(
        [*torchrun, "script.py", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": root, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_two_processes_give_the_loss_curve_of_one(tmp_path: Path) -> None:
    """Real processes over gloo, float64: the same losses and embedding to 1e-10."""
    one = train(language(tmp_path, epochs=5), tmp_path / "alone")[0]
    config = language(tmp_path, epochs=5)
    (tmp_path / "config.json").write_text(json.dumps(config.model_dump(mode="json")))
    assert in_two_processes(tmp_path).count("trained 20") == 2
    two = Run.open(tmp_path / "shared" / "gamma0.5_seed0")
    assert two.provenance["ranks"] == 2
    assert one.provenance["ranks"] == 1
    for ours, theirs in zip(two.metrics, one.metrics, strict=True):
        assert ours["step"] == theirs["step"]
        assert ours["loss"]["toy"] == pytest.approx(theirs["loss"]["toy"], rel=1e-10)
    np.testing.assert_allclose(two.embedding(5), one.embedding(5), rtol=0, atol=1e-10)
    assert in_two_processes(tmp_path, "again").count("trained 20") == 2
