"""The command ``anchorflow``, also as ``python -m anchorflow``.

Importing what a command needs takes a second or more. So this module imports next to nothing until it has
said what a signal is to do in that time.
"""

from __future__ import annotations

import gc
import sys

from anchorflow import _signals


def main() -> int:
    """Run the command; a folder that hides one of the packages is refused in one sentence."""
    _signals.stop_at_once()
    try:
        return _run()
    except KeyboardInterrupt as again:
        # A second one, while the first was answered, or one just before the command began.
        _signals.stop(*again.args)
        raise
    finally:
        _signals.as_the_system_does()


def _run() -> int:
    gc.disable()  # Next to nothing of what is imported is garbage: a tenth of the time.
    from anchorflow._packages import load

    try:
        load("validate")
    except ImportError as error:
        print(f"anchorflow: {error}", file=sys.stderr)
        return 2
    from validate.cli import main as run

    return run(begin=_begin)


def _begin() -> None:
    gc.freeze()
    gc.enable()
    _signals.stop_with_clean_up()


if __name__ == "__main__":
    sys.exit(main())
