"""The scripts in docs/ find the packages, although the folder docs/theory has the name of one."""

from __future__ import annotations

import subprocess
import sys

from tests.docs_script import DOCS


def test_a_script_in_docs_imports_the_package_and_not_the_folder() -> None:
    # As in `python docs/SCRIPT.py`, the script's folder comes first on the path.
    code = f"import sys; sys.path.insert(0, {str(DOCS)!r}); from theory import InputError"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=DOCS.anchor)
    assert done.returncode == 0, done.stderr
