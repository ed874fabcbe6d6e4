"""How a run folder begins: made, replaced, or opened to continue; files of others are never overwritten.

A run on text reads its texts again when it continues. The tokenizer's file lies outside the folder, and other
tokens under the same numbers would go unnoticed, so its checksum is kept.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from sim.config.language import LanguageTask
from sim.config.run import MemberConfig
from sim.config.section import differences
from sim.data.corpus import CHARACTERS, digest_of
from sim.runs.files import entries, is_leftover, json_text, writing
from sim.runs.folder import CONFIG, FORMAT_VERSION, METRICS, RunFolder, is_run_folder, read_config
from sim.runs.manifest import Manifest
from theory import InputError, Task


def open_folder(
    path: Path, member: MemberConfig, *, resume: bool = False, overwrite: bool = False
) -> RunFolder:
    """Return a run's folder, new or to be continued; refuse a path that is taken. The caller holds its lock.

    A new folder appears whole, with its configuration; one that it replaces is renamed just before.
    """
    exists = check_folder(path, member, resume=resume, overwrite=overwrite)
    new, old = (path.with_name(f".{path.name}.anchorflow-{which}") for which in ("new", "old"))
    with writing(path):
        for left in (new, old):  # Left by a process that was killed.
            shutil.rmtree(left, ignore_errors=True)
        for file in filter(is_leftover, entries(path)):
            file.unlink()
        if exists:
            RunFolder(path).mend(METRICS)
        else:
            new.mkdir(parents=True)
            config = {"format_version": FORMAT_VERSION, **member.model_dump(mode="json")}
            Manifest(new).write(CONFIG, json_text(config))
            if path.exists():
                path.rename(old)
                if foreign := Manifest(old).foreign():  # It came after the check.
                    old.rename(path)
                    shutil.rmtree(new)
                    raise _not_ours(path, foreign[0].relative_to(old))
            new.rename(path)
            shutil.rmtree(old, ignore_errors=True)
    return RunFolder(path)


def check_folder(path: Path, member: MemberConfig, *, resume: bool, overwrite: bool) -> bool:
    """Return whether there is a run to continue; before anything is changed, refuse a path that is taken.

    A folder that holds anything else is refused, unless ``overwrite`` is set and this program wrote it all.
    """
    with writing(path):
        if path.is_symlink():
            remedy = f"delete the link, or name the folder itself, {os.path.realpath(path)}"
            raise InputError("out", str(path), "is a link", remedy)
        if resume and is_run_folder(path):
            _check_same(path, member)
            return True
        there = next(parent for parent in path.absolute().parents if os.path.lexists(parent))
        if not there.is_dir():
            raise InputError("out", str(there), "a file, not a folder", "name a folder, new or empty")
        if not path.exists() or (path.is_dir() and not any(path.iterdir())):
            return False
        if not overwrite:
            remedy = "ask for resume=True or overwrite=True" if is_run_folder(path) else "move it away"
            raise InputError("out", str(path), "already exists", f"choose another folder, or {remedy}")
        foreign = [path]
        if path.is_dir() and CONFIG in Manifest(path).listed():
            foreign = Manifest(path).foreign()
    if foreign:
        raise _not_ours(path, foreign[0].relative_to(path) if foreign[0] != path else "it")
    return False


def _not_ours(path: Path, which: Path | str) -> InputError:
    problem = f"{which} was not written by this program, or has changed since, so nothing is deleted"
    return InputError("out", str(path), problem, "move it away, or choose another folder")


def _check_same(path: Path, member: MemberConfig) -> None:
    begun = read_config(path)
    # Checked first, as other tokens can make another task.
    folder, now = RunFolder(path), tokenizer_record(begun)
    recorded = now and folder.has_provenance and folder.read_provenance().get("tokenizer")
    if now and recorded and now["sha256"] != recorded["sha256"]:
        problem = f"SHA-256 {now['sha256'][:12]}..., and {path} was begun with {recorded['sha256'][:12]}..."
        remedy = "restore that file, or train into another folder"
        raise InputError("tokenizer", now["file"], problem, remedy)
    if begun != member:
        problem = f"holds a run with another configuration ({differences(begun, member)})"
        raise InputError("out", str(path), problem, "use its own, or another folder")


def check_own_files(path: Path, member: MemberConfig) -> None:
    """Refuse a run that its folder alone names, if it would open files of which the folder has no checksum.

    A folder from somebody else may name any file of the user's; who knows its checksum knows its content.
    """
    if not isinstance(task := member.task, LanguageTask):
        return
    named = [file for source in task.corpora if not source.sha256 for file in source.files]
    folder = RunFolder(path)
    if _tokenizer_file(task) and not (folder.has_provenance and folder.read_provenance().get("tokenizer")):
        named.append(task.tokenizer)
    if named:
        problem = f"would open {named[0]}, a file outside the folder of which it has no checksum"
        remedy = "if that is meant, continue with the configuration: anchorflow train CONFIG.toml --resume"
        raise InputError("resume", str(path), problem, remedy)


def tokenizer_record(member: MemberConfig) -> dict[str, str] | None:
    """Return the file of a run's tokenizer and its SHA-256 now, or None without a tokenizer."""
    file = _tokenizer_file(member.task)
    return {"file": file, "sha256": digest_of(file)} if file else None


def _tokenizer_file(task: Task | LanguageTask) -> str:
    named = task.tokenizer if isinstance(task, LanguageTask) else ""
    return "" if named == CHARACTERS else named
