"""Run all bad calls and command lines, or one in N; say how they ended; fail if one broke the promise."""

import resource
import sys

from tests.fuzz.driver import run

if __name__ == "__main__":
    # Bytes of address space: what needs more than this machine has must be refused, not tried.
    resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
    sys.exit(not run(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
