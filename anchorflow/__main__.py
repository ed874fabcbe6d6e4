"""The command ``anchorflow``, also as ``python -m anchorflow``."""

from __future__ import annotations

import sys

from anchorflow._packages import load


def main() -> int:
    """Run the command; a folder that hides one of the packages is refused in one sentence."""
    try:
        load("validate")
    except ImportError as error:
        print(f"anchorflow: {error}", file=sys.stderr)
        return 2
    from validate.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
