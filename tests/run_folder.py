"""A run's folder as tests read it, and change it as the program would."""

import json
from pathlib import Path

from sim.runs.manifest import Manifest


def contents(path: Path) -> dict[str, bytes]:
    """Return the files that hold a run's numbers; checkpoints and provenance hold times too."""
    files = [path / "metrics.jsonl", path / "statistics.safetensors", *path.glob("snapshots/*")]
    return {str(file.relative_to(path)): file.read_bytes() for file in files}


def every_file(folder: Path) -> dict[Path, bytes]:
    """Return what every file below a folder holds."""
    return {file: file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def change(file: Path, **keys: object) -> None:
    """Change keys of a JSON file, and its checksum."""
    Manifest(file.parent).write(file.name, json.dumps(json.loads(file.read_text()) | keys))
