"""How a run folder begins: made, replaced, or opened to continue; never over what is not this program's.

A run on text reads its texts again when it continues, and other tokens under the same numbers would go
unnoticed: the tokenizer's file lies outside the folder, and its checksum is kept.
"""

from __future__ import annotations

from pathlib import Path

from sim.config.differences import differences
from sim.config.language import LanguageTask
from sim.config.run import MemberConfig
from sim.runs.files import entries, is_leftover, writing
from sim.runs.folder import RunFolder, read_config
from sim.runs.manifest import Manifest, digest
from sim.runs.places import CONFIG, is_file_of_runs, is_run_folder
from theory import InputError
from theory.reading import open_regular


def create_folder(path: Path, member: MemberConfig, *, overwrite: bool = False) -> RunFolder:
    """Make a run folder, or refuse one that exists unless asked to overwrite a run."""
    in_the_way = check_free(path, overwrite=overwrite)
    with writing(path):
        for file in in_the_way:
            Manifest(path).delete(file)
        path.mkdir(parents=True, exist_ok=True)
    folder = RunFolder(path)
    folder.write_config(member)
    return folder


def reopen_folder(path: Path, member: MemberConfig) -> RunFolder:
    """Return a folder to continue in, without half-written files; refuse another configuration."""
    check_resumable(path, member)
    check_tokenizer(path, member)
    with writing(path):
        for file in filter(is_leftover, entries(path)):
            file.unlink()
    return RunFolder(path)


def is_begun(path: Path) -> bool:
    """Return whether a folder is a run's, so that the run can be continued."""
    with writing(path):
        return is_run_folder(path)


def check_resumable(path: Path, member: MemberConfig) -> None:
    """Refuse to continue a run that has another configuration, or through a link."""
    _check_no_link(path)
    begun = read_config(path)
    if begun != member:
        if _tokenizer_of(begun) == _tokenizer_of(member):
            check_tokenizer(path, begun)  # Other tokens can make another task: then their cause is named.
        problem = f"holds a run with another configuration ({differences(begun, member)})"
        raise InputError("out", str(path), problem, "use its own, or another folder")


def check_free(path: Path, *, overwrite: bool) -> list[Path]:
    """Return the files to delete before a run begins in a folder, in the order in which that is safe.

    A folder that holds anything is refused, unless asked to overwrite it and this program wrote all of it. A
    run that was killed before it began leaves no more than its manifest, which is no obstacle.
    """
    with writing(path):
        _check_no_link(path)
        if not path.exists():
            return []
        own, foreign = _contents(path)
        has_begun = any(file != path / Manifest.name and not is_leftover(file) for file in own)
        if not overwrite and (has_begun or foreign):
            remedy = "ask for --resume or --overwrite" if is_run_folder(path) else "move it away"
            raise InputError("out", str(path), "already exists", f"choose another folder, or {remedy}")
    if foreign:
        which = foreign[0].relative_to(path) if foreign[0] != path else "it"
        problem = f"{which} was not written by this program, or changed since, so nothing is deleted"
        raise InputError("out", str(path), problem, "move it away, or choose another folder")
    return own


def _contents(path: Path) -> tuple[list[Path], list[Path]]:
    """Return what this program wrote into a folder, in the order to delete it, and everything else.

    Interrupted, the deletion never leaves what looks like a run to continue: checkpoints go first, so that
    none outlives the metrics before it; the configuration and the manifest last.
    """
    if not path.is_dir():
        return [], [path]
    manifest = Manifest(path)
    try:
        listed = manifest.listed()
    except InputError:
        listed = {}
    if CONFIG not in listed or not all(map(is_file_of_runs, listed)):
        files = list(entries(path))  # A manifest of someone else's, or none.
        return list(filter(is_leftover, files)), [file for file in files if not is_leftover(file)]
    own, foreign = manifest.own_and_foreign()
    last = ["", CONFIG, manifest.name]
    own.sort(key=lambda f: (last.index(f.name) if f.name in last else 0, f.parent.name != "checkpoints"))
    return own, foreign


def _check_no_link(path: Path) -> None:
    if path.is_symlink():
        raise InputError("out", str(path), "is a link", f"name the folder itself, {path.resolve()}")


def _tokenizer_of(member: MemberConfig) -> str:
    return member.task.tokenizer if isinstance(member.task, LanguageTask) else ""


def tokenizer_record(member: MemberConfig) -> dict[str, str] | None:
    """Return file and SHA-256 of a run's tokenizer as they are now, None if it has none."""
    if not (file := _tokenizer_of(member)):
        return None
    with open_regular(Path(file)) as content:
        return {"file": file, "sha256": digest(content.read())}


def check_tokenizer(path: Path, member: MemberConfig) -> None:
    """Refuse to continue a run whose tokenizer is not the one with which it was begun."""
    folder, now = RunFolder(path), tokenizer_record(member)
    if now is None or not folder.has_provenance:
        return
    begun = folder.read_provenance().get("tokenizer") or now  # The first versions recorded none.
    if now["sha256"] != begun["sha256"]:
        problem = f"SHA-256 {now['sha256'][:12]}..., and {path} was begun with {begun['sha256'][:12]}..."
        remedy = "restore that file, or train into another folder"
        raise InputError("tokenizer", now["file"], problem, remedy)
