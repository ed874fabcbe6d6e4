"""The scripts in docs/, as modules."""

import importlib
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"


def load_script(name: str) -> Any:
    """Import docs/NAME.py, which belongs to no package; as when it runs, it finds the scripts beside it."""
    if str(DOCS) not in sys.path:
        sys.path.append(str(DOCS))
    return importlib.import_module(name)
