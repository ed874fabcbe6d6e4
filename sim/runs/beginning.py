"""How a run folder begins: made, replaced, or opened to continue; never over what is not this program's."""

from __future__ import annotations

import json
from pathlib import Path

from sim.config.differences import differences
from sim.config.run import MemberConfig
from sim.runs.files import is_leftover, writing
from sim.runs.folder import FORMAT_VERSION, RunFolder, read_config
from sim.runs.manifest import Manifest, entries
from sim.runs.names import CONFIG
from sim.runs.places import is_run_folder
from sim.runs.tokenizer import check_tokenizer, tokenizer_of
from theory import InputError
from theory.checked import checked


@checked
def create_folder(path: Path, member: MemberConfig, *, overwrite: bool = False) -> RunFolder:
    """Make a run folder, or refuse one that exists unless asked to overwrite a run."""
    check_free(path, overwrite=overwrite)
    with writing(path, trains=True):
        if path.exists():
            _remove(path)
        path.mkdir(parents=True)
    saved = {"format_version": FORMAT_VERSION, **member.model_dump(mode="json")}
    folder = RunFolder(path)
    folder.write(CONFIG, json.dumps(saved, indent=2, allow_nan=False) + "\n")
    return folder


def reopen_folder(path: Path, member: MemberConfig) -> RunFolder:
    """Return a folder to continue in, without half-written files; refuse another configuration."""
    check_resumable(path, member)
    check_tokenizer(path, member)
    folder = RunFolder(path)
    with writing(path, trains=True):
        for file in [file for file in entries(path) if is_leftover(file)]:
            file.unlink()
        if not folder.manifest.exists:
            folder.manifest.adopt(folder.own_files())
    return folder


def is_begun(path: Path) -> bool:
    """Return whether a folder has a run's configuration, so that the run can be continued."""
    with writing(path, trains=True):
        return is_run_folder(path)


def check_resumable(path: Path, member: MemberConfig) -> None:
    """Refuse to continue a run that has another configuration, or through a link."""
    _check_no_link(path)
    if (own := read_config(path)) != member:
        if tokenizer_of(own) == tokenizer_of(member):
            # Other tokens can make another task: then their cause is named.
            check_tokenizer(path, own)
        problem = f"holds a run with another configuration ({differences(own, member)})"
        raise InputError("out", str(path), problem, "use its own, or another folder")


def check_free(path: Path, *, overwrite: bool) -> None:
    """Refuse a folder that holds anything, unless asked to overwrite it and this program wrote all of it.

    A folder of version 1 has no manifest: it is overwritten if it is a complete run in which every file has
    a name that this program gives.
    """
    with writing(path, trains=True):
        _check_no_link(path)
        if not path.exists():
            return
        # A run that was killed before it began leaves no more than its manifest.
        if path.is_dir() and all(is_leftover(f) or f.name == Manifest.name for f in path.iterdir()):
            return
    if not overwrite:
        raise InputError(
            "out", str(path), "already exists", "choose another folder, or ask for --resume or --overwrite"
        )
    with writing(path, trains=True):
        _check_own(path)


def _check_no_link(path: Path) -> None:
    if path.is_symlink():
        raise InputError("out", str(path), "is a link", f"name the folder itself, {path.resolve()}")


def _check_own(path: Path) -> None:
    """Refuse to delete a folder unless it is a run's, and all in it was written by this program."""
    folder = RunFolder(path)
    if folder.manifest.exists and CONFIG in folder.manifest.listed():
        foreign = folder.manifest.foreign()
    else:
        try:
            folder.check_complete(read_config(path))
        except InputError as error:
            problem = f"exists and is not a run folder, so it will not be deleted ({error.problem})"
            raise InputError("out", str(path), problem, "choose another folder") from None
        own = {path / name for name in folder.own_files()}
        foreign = [file for file in entries(path) if file not in own and not is_leftover(file)]
    if foreign:
        problem = f"{foreign[0].relative_to(path)} in it was not written by this program, or changed since"
        remedy = "nothing is deleted: move it away, or choose another folder"
        raise InputError("out", str(path), problem, remedy)


def _remove(path: Path) -> None:
    """Remove a run in an order in which, if interrupted, it never looks like one to continue.

    Checkpoints are removed first, so that none outlives the metrics before it; the configuration and the
    manifest, which identify the folder as a run, last.
    """
    folder = RunFolder(path)
    if not folder.manifest.exists:
        folder.manifest.adopt(folder.own_files())
    last = [path / CONFIG, path / Manifest.name]
    files = [file for file in entries(path) if file not in last]
    for file in sorted(files, key=lambda f: f.parent.name != "checkpoints"):
        file.unlink()
    for inside in sorted((f for f in path.rglob("*") if f.is_dir()), reverse=True):
        inside.rmdir()
    for file in last:
        file.unlink(missing_ok=True)
    path.rmdir()
