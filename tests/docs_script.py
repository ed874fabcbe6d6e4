"""The scripts in docs/, as modules."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"


def load_script(name: str) -> Any:
    """Import docs/NAME.py, which belongs to no package; as when it runs, it finds the scripts beside it."""
    file = DOCS / f"{name}.py"
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # A dataclass looks its own module up.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
