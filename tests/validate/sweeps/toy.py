"""A sweep of eight runs, each of which takes a moment, and who trains them while workers do."""

from pathlib import Path
from typing import Any

TOY = """purpose = "toy"
init_rates = [0.3, 0.8]
seeds = [0, 1]
[task]
keys = [40, 44]
reasoning_anchors = [11, 12, 13]
memory_anchors = [1, 2]
vocab_size = 80
length = 3
n_anchors = 2
held_out = [[11, 12]]
[model]
kind = "emb-mlp"
d_m = 8
d_f = 8
[data]
source = "draw"
n_sequences = 104
[training]
epochs = 2
batch_size = 13
dtype = "float64"
evaluate_every = 1
snapshot_epochs = []
[axes]
learning_rate = [1e-3, 2e-3]
"""


def toy_text(*, epochs: int = 2, seeds: str = "[0, 1]", axes: str = "learning_rate = [1e-3, 2e-3]") -> str:
    """Return the sweep with so many epochs, a checkpoint after every twentieth of them, and these axes."""
    text = TOY.replace("epochs = 2\n", f"epochs = {epochs}\ncheckpoint_every = {max(epochs // 20, 1)}\n")
    return text.replace("[0, 1]", seeds).replace("learning_rate = [1e-3, 2e-3]", axes)


def write_toy(folder: Path, **options: Any) -> Path:
    file = folder / "toy.toml"
    file.write_text(toy_text(**options))
    return file


_LOCK = ".anchorflow-lock"


def holders(out: Path) -> list[tuple[str, int]]:
    """Return the runs below a folder that are being trained, and the process that trains each."""
    found = []
    for lock in out.rglob(f".*{_LOCK}"):
        run = lock.with_name(lock.name[1 : -len(_LOCK)])
        if (run / "checkpoints").is_dir():
            found += [(run.name, process) for process in _locked_by(lock)]
    return found


def _locked_by(file: Path) -> list[int]:
    """Return the processes that hold a lock; the kernel lists number, FLOCK, ..., process, device:inode."""
    try:
        inode = str(file.stat().st_ino)
    except FileNotFoundError:
        return []
    lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
    held = [line for line in lines if line[1] == "FLOCK" and line[5].rpartition(":")[2] == inode]
    return [int(line[4]) for line in held]
