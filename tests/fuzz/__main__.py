"""Run all bad calls and command lines, say what became of them, and fail if one broke the promise."""

from __future__ import annotations

import resource
import sys

from tests.fuzz.kinds import run

LARGEST_MEMORY = 8 * 2**30
"""Bytes of address space: what needs more than this machine has must be refused, not tried."""

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (LARGEST_MEMORY, LARGEST_MEMORY))
    sys.exit(not run(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
