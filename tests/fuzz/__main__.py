"""Run all bad calls and command lines, or one in N; say how they ended; fail if one broke the promise."""

import resource
import sys
from collections import Counter

from sim.runs.provenance import peak_memory_mib
from tests.fuzz.driver import KINDS, ran_cases

if __name__ == "__main__":
    # Bytes of address space: what needs more than this machine has must be refused, not tried.
    resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
    every, bad = int(sys.argv[1]) if len(sys.argv) > 1 else 1, 0
    for kind in KINDS:
        found = ran_cases(kind, every)
        failed = [ending for ending in found if ending.failed]
        bad += len(failed)
        how = ", ".join(f"{how} {count}" for how, count in Counter(e.how for e in failed).items())
        print(*map(str, failed), f"{kind}: {len(found)} cases, {len(failed)} bad {how}", sep="\n")
    print(f"peak memory {peak_memory_mib():.0f} MiB")
    sys.exit(bad > 0)
