"""What this program wrote into a folder, with checksums: nothing else there is ever replaced or deleted.

A manifest is a JSON object from file names to SHA-256 digests. It lists a file before the file is written,
so that a process killed in between leaves a folder whose every file is listed: a file that was being
replaced has two digests, the new one and the one before.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from sim.runs.files import is_leftover, read_regular, write_atomically, write_json
from theory import InputError

Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
_FORMAT: TypeAdapter[dict[str, Digest | list[Digest]]] = TypeAdapter(dict[str, Digest | list[Digest]])


@dataclass(frozen=True)
class Manifest:
    """The list of a folder's files.

    Parameters
    ----------
    folder : Path
    name : str, optional
        The list's own file in the folder.
    """

    folder: Path
    name: str = "manifest.json"

    @property
    def exists(self) -> bool:
        """Whether the folder has a list."""
        return (self.folder / self.name).is_file()

    def listed(self) -> dict[str, tuple[str, ...]]:
        """Return the digests that each file may have, the newest first.

        Raises
        ------
        InputError
            If the list cannot be read.
        """
        file = self.folder / self.name
        try:
            found = _FORMAT.validate_json(read_regular(file))
        except FileNotFoundError:
            return {}
        except (OSError, ValidationError) as error:
            problem = "not a list of checksums" if isinstance(error, ValidationError) else str(error)
            raise InputError("manifest", str(file), problem, "restore it, or choose another folder") from None
        return {name: (own,) if isinstance(own, str) else tuple(own) for name, own in found.items()}

    def problem(self, name: str, content: bytes) -> str:
        """Return what is wrong with a file's content, nothing if it is what was written."""
        digests = self.listed().get(name)
        if digests is None:
            return f"has no checksum in {self.name}"
        return "" if digest(content) in digests else f"differs from its checksum in {self.name}"

    def check(self, names: Iterable[str]) -> None:
        """Refuse names of files that must not be written: foreign or changed files, links, other folders."""
        listed = self.listed()
        for name in names:
            self._own_digest(name, listed)

    def write(self, name: str, content: bytes | str) -> None:
        """Write a file, or replace one that this program wrote and nobody changed since.

        Raises
        ------
        InputError
            If something else has that name.
        """
        data = content.encode() if isinstance(content, str) else content
        listed = self.listed()
        before = self._own_digest(name, listed, data)
        listed[name] = tuple(dict.fromkeys(found for found in (digest(data), before) if found))
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        self._save(listed)
        if before != digest(data):
            write_atomically(self.folder / name, data)

    def adopt(self, names: Iterable[str]) -> None:
        """List files as they are: those of a folder that was written before there were manifests."""
        listed = self.listed()
        self._save(listed | {name: (digest(read_regular(self.folder / name)),) for name in names})

    def remove(self, name: str) -> None:
        """Delete a file that this program wrote."""
        if self._own_digest(name, self.listed()) is not None:
            (self.folder / name).unlink()
        self.forget(name)

    def forget(self, name: str) -> None:
        """Take a file off the list."""
        self._save({other: found for other, found in self.listed().items() if other != name})

    def settle(self) -> None:
        """Keep only the newest digest of each file: nothing is being replaced any more."""
        self._save({name: found[:1] for name, found in self.listed().items()})

    def foreign(self) -> list[Path]:
        """Return what this program did not write: files that are not listed or were changed, and links."""
        listed = self.listed()
        return [entry for entry in entries(self.folder) if not self._is_own(entry, listed)]

    def _is_own(self, entry: Path, listed: dict[str, tuple[str, ...]]) -> bool:
        if entry.is_symlink() or not entry.is_file():
            return False
        name = entry.relative_to(self.folder).as_posix()
        known = listed.get(name, ())
        return name == self.name or is_leftover(entry) or digest(read_regular(entry)) in known

    def _own_digest(
        self, name: str, listed: dict[str, tuple[str, ...]], content: bytes | None = None
    ) -> str | None:
        """Return the digest of one of our files, None if there is no such file; refuse any other.

        A file that already has this ``content`` counts as ours.
        """
        file = self._inside(name)
        if file.is_symlink() or (file.exists() and not file.is_file()):
            raise _refused(file, "is not a regular file")
        if not file.exists():
            return None
        found = digest(read_regular(file))
        known = listed.get(name, ())
        if found not in known and found != (content if content is None else digest(content)):
            problem = (
                "was changed since this program wrote it" if known else "was not written by this program"
            )
            raise _refused(file, problem)
        return found

    def _inside(self, name: str) -> Path:
        """Return a file's path; refuse one outside the folder, or reached through a link inside it."""
        parts = PurePosixPath(name).parts
        if not parts or ".." in parts or PurePosixPath(name).is_absolute() or name == self.name:
            raise _refused(self.folder / name, f"is not a file name inside {self.folder}")
        inside = self.folder
        for part in parts[:-1]:
            inside /= part
            if inside.is_symlink() or (inside.exists() and not inside.is_dir()):
                raise _refused(inside, "is not a folder")
        return inside / parts[-1]

    def _save(self, listed: dict[str, tuple[str, ...]]) -> None:
        file = self.folder / self.name
        if file.is_symlink():
            raise _refused(file, "is a link")
        if listed != self.listed():
            value = {name: found[0] if len(found) == 1 else found for name, found in listed.items()}
            write_json(file, dict(sorted(value.items())))


def entries(folder: Path) -> Iterator[Path]:
    """Yield everything in a folder but folders, recursively, without following links."""
    for entry in sorted(folder.iterdir()):
        if entry.is_dir() and not entry.is_symlink():
            yield from entries(entry)
        else:
            yield entry


def digest(content: bytes) -> str:
    """Return the SHA-256 of some bytes."""
    return hashlib.sha256(content).hexdigest()


def _refused(path: Path, problem: str) -> InputError:
    return InputError(
        "out", str(path), f"{problem}, so it stays as it is", "move it away, or choose another folder"
    )
