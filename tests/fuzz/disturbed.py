"""Commands in whose way something stands: edited outputs; and remedies, followed."""

import contextlib
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import sim
from sim.config.task_files import read_description
from tests.fuzz.driver import Case, Ending, ran
from tests.tiny_task import TASK

CONFIGURATION = f"""
init_rates = [0.8]
seeds = [0, 1]
[task]{TASK}[model]
d_m = 4
d_f = 4
[training]
epochs = 4
batch_size = 16
evaluate_every = 1
snapshot_epochs = [1]
"""
TRAIN = ("train", "tiny.toml", "--out", "out", "--workers", "1")
SWEEP = ("sweep", "sweep.toml", "--out", "swept", "--workers", "1")
KEEP = ("study", "NAME.toml", "--run", "--keep", "--kept", "kept", "--workers", "1")
SHOW = ("sweep", "show", "swept", "--x", "seed")
RUN = Path("out/gamma0.8_seed0")
KEPT_FILE = Path("kept/NAME/gamma0.8_seed0.safetensors")


@contextlib.contextmanager
def workplace(folder: Path) -> Iterator[None]:
    """Change to a new folder with a configuration, its two finished runs and a finished sweep."""
    original, copy = folder / "original", folder / "copy"
    if not original.exists():
        original.mkdir()
        with contextlib.chdir(original):
            for name in ("tiny.toml", "CONFIG.toml"):
                Path(name).write_text(CONFIGURATION)
            axes = "[axes]\nlearning_rate = [1e-3]\n"
            for name in ("sweep.toml", "SWEEP.toml"):
                Path(name).write_text(f'purpose = "None."\n{CONFIGURATION}{axes}')
            Path("NAME.toml").write_text(f'purpose = "None."\nkeep = ["gram"]\n{CONFIGURATION}')
            for line in (TRAIN, SWEEP, KEEP):
                assert ran(line).how == "accepted", line
    shutil.copytree(original, copy)
    try:
        with contextlib.chdir(copy):
            yield
    finally:
        shutil.rmtree(copy)


WRITTEN: dict[str, tuple[str, ...]] = {
    "m.csv": ("table", "out", "--csv", "m.csv"),
    "long.csv": ("table", "out", "--long", "--csv", "long.csv"),
    "m.parquet": ("table", "out", "--parquet", "m.parquet"),
    "page.md": ("derive", "prop 1", "--out", "page.md"),
    "predicted": ("predict", "tiny.toml", "--out", "predicted"),
    "figures": ("figures", "4", "--runs", "out", "--out", "figures"),
    "report": ("compare", "out", "--out", "report"),
    "swept/table.csv": (*SWEEP, "--parquet"),
}
EDITS: dict[str, Callable[[bytes], bytes]] = {
    "a line more": lambda content: content + b"my notes\n",
    "half": lambda content: content[: len(content) // 2],
    "one byte": lambda content: bytes([content[0] ^ 1]) + content[1:],
    "other line ends": lambda content: content.replace(b"\n", b"\r\n") + b"\r\n",
}


def edited_outputs(folder: Path) -> Iterator[Case]:
    """Files that a command wrote and the user changed: written again, the command leaves them and says so."""
    for place in WRITTEN:
        for edit in EDITS:
            yield partial(_edited, folder, place, edit)


def _edited(folder: Path, place: str, edit: str) -> Ending:
    """Edit one file of each type that a command writes, all at once."""
    with workplace(folder):
        line, where = WRITTEN[place], Path(place)
        assert ran(line).how == "accepted", line
        files = [where] if where.is_file() else [f for f in sorted(where.rglob("*.*")) if f.is_file()]
        first = {file.suffix: file for file in reversed(files) if file.name != "manifest.json"}
        edited = {file: EDITS[edit](file.read_bytes()) for file in first.values()}
        for file, content in edited.items():
            file.write_bytes(content)
        ending = ran(line)
        is_whole = all(file.read_bytes() == content for file, content in edited.items())
        is_named = any(file.name in ending.said for file in edited)
        broken = "deletion" if not is_whole else "" if is_named else "silence"
        return ending.of(f"{ending.case}, {edit}", broken)


REFUSALS: dict[str, tuple[Callable[[], object], tuple[str, ...]]] = {
    "runs are there": (lambda: None, TRAIN),
    "a table is there": (lambda: Path("m.csv").write_text("mine"), ("table", "out", "--csv", "m.csv")),
    "a page is there": (lambda: Path("d.md").write_text("mine"), ("derive", "prop 1", "--out", "d.md")),
    "no such run": (lambda: None, ("compare", "nowhere")),
    "a run is unfinished": (lambda: _interrupt(), ("compare", "out")),
    "an unfinished run is named": (lambda: _interrupt(), ("table", str(RUN))),
    "an unfinished run is in the way": (lambda: _interrupt(), TRAIN),
    "a sweep is not begun": (lambda: shutil.rmtree("swept"), (*SHOW, "--y", "learning_rate")),
    "a kept file is damaged": (lambda: _damage(KEPT_FILE), ("table", "kept/NAME")),
    "a kept file is gone": (KEPT_FILE.unlink, ("table", "kept/NAME")),
}


def _interrupt() -> None:
    """Leave a run as Ctrl-C in its second epoch does."""

    def stop(progress: Any) -> None:
        if progress.epoch == 2:
            raise KeyboardInterrupt

    shutil.rmtree(RUN)
    member = sim.make_run_config(read_description("tiny.toml")).members()[0]
    with contextlib.suppress(KeyboardInterrupt):
        sim.train_together([member], [RUN], report=stop)


def _damage(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1] + b"x")


def followed_remedies(folder: Path) -> Iterator[Case]:
    """What a refusal says to do is done: then it must work, and never lead back to the same refusal."""
    for name in REFUSALS:
        for number in range(2):
            yield partial(_followed, folder, name, number)


def _followed(folder: Path, name: str, number: int) -> Ending:
    """Follow one of a refusal's remedies, a command or an option; the last, where there are not so many."""
    spoil, line = REFUSALS[name]
    with workplace(folder):
        spoil()
        said = ran(line).said
        commands = re.findall(r"(?:[:;] |`)anchorflow ([a-z][^;`\n]*[^;`\n.])", said)
        own = line if {"--csv", "--out"} & {*line} else TRAIN
        options = [[*own, option] for option in ("--resume", "--overwrite") if f" {option}" in said]
        if not (remedies := [*map(shlex.split, commands), *options]):
            return Ending(name, "no remedy", said)
        if "delete it" in said:
            KEPT_FILE.unlink(missing_ok=True)
        remedy = remedies[min(number, len(remedies) - 1)]
        ending = ran(["NAME.toml" if word == "NAME" else word for word in remedy])
        return ending.of(f"{name}: {ending.case}", "" if ending.how == "accepted" else "no remedy")
