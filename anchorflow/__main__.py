"""The command ``anchorflow``, also as ``python -m anchorflow``.

Importing the modules of a command takes a second or more, so this one imports next to nothing until it has
set how signals are handled in that time.
"""

from __future__ import annotations

import gc
import os
import sys

from anchorflow import _signals


def main() -> int:
    """Run the command; where it cannot run, such as beside a folder that hides a package, say so."""
    if not _signals.POSIX:
        print("anchorflow: this command needs Linux or macOS; on Windows, run it inside WSL", file=sys.stderr)
        return 2
    _signals.stop_at_once()
    try:
        return _run()
    except KeyboardInterrupt as again:
        # A second signal while the first was being handled, or one just before the command began.
        _signals.stop(*again.args)
        raise
    finally:
        _signals.as_the_system_does()


def _run() -> int:
    limit_threads()
    gc.disable()  # Imports leave next to no garbage; this saves a tenth of the time.
    from anchorflow._packages import load

    try:
        load("validate")
    except ImportError as error:
        print(f"anchorflow: {error}", file=sys.stderr)
        return 2
    from validate.cli import main as run

    return run(begin=_begin)


def limit_threads() -> None:
    """Give NumPy one thread unless the environment says otherwise; to be called before it is loaded.

    Its matrices here are small. Two threads gain little on them, and where other processes keep the cores
    busy each waits for the other at every product: to compare six runs took 64 to 119 s, not 31.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", os.environ.get("OMP_NUM_THREADS", "1"))


def _begin() -> None:
    gc.freeze()
    gc.enable()
    _signals.stop_with_clean_up()


if __name__ == "__main__":
    sys.exit(main())
