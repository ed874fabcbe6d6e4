"""``make test-machines``: the tests that depend on arithmetic, as older processors run them, a row for each.

Variables of the environment make OpenBLAS, torch, oneDNN and NumPy take the kernels that they would take
there. ``--count 2``: only the first two whose OpenBLAS kernels are not this machine's own. Further options
are pytest's.
"""

import argparse
import os
import platform
import re
import shlex
import subprocess
import sys
import time

import numpy as np
from threadpoolctl import threadpool_info

TESTS = ["tests/golden", "tests/theory", "tests/docs/test_pages.py", "tests/validate/observe"]
TESTS += ["tests/validate/test_compare.py", "tests/validate/test_learning_times.py"]
TESTS += [f"tests/sim/test_{name}.py" for name in ("data", "forward", "gradients", "initialise", "trainer")]
"""What another kernel, number of threads or order of a set could change. Compiled kernels are left out: torch
keeps them in one folder for all instruction sets, which on a real machine are one."""


def without(*begins: str) -> str:
    """Return the features of this processor that NumPy has kernels for, of those that begin so."""
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    return " ".join(feature for feature in found if feature.startswith(begins))


AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
AVX2["NPY_DISABLE_CPU_FEATURES"] = without("AVX512", "X86_V4")
OLD = {"ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41"}
OLD["NPY_DISABLE_CPU_FEATURES"] = without("AVX", "FMA", "X86_V3", "X86_V4")
ELSEWHERE = {"PYTHONHASHSEED": "12345", "TZ": "Asia/Kathmandu", "LC_ALL": "C"}
MACHINES = [
    {"OPENBLAS_CORETYPE": "Haswell", "OMP_NUM_THREADS": "2"} | AVX2,
    {"OPENBLAS_CORETYPE": "Nehalem", "OMP_NUM_THREADS": "1"} | OLD | ELSEWHERE,
    {"OPENBLAS_CORETYPE": "Sandybridge", "OMP_NUM_THREADS": "2"} | OLD,
    {"OPENBLAS_CORETYPE": "Zen", "OMP_NUM_THREADS": "1"} | AVX2,
]
"""Most unlike one another first."""


def row(machine: dict[str, str], more: list[str]) -> tuple[str, bool]:
    """Run the tests as on a machine; return what to print, and whether all passed."""
    started = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "--numprocesses", "auto", *more, *TESTS]
    done = subprocess.run(command, env=os.environ | machine, capture_output=True, text=True, check=False)
    found = [re.search(rf"(\d+) {word}", done.stdout) for word in ("passed", "failed")]
    passed, failed = (int(count[1]) if count else 0 for count in found)
    named = " ".join(f"{name}={shlex.quote(value)}" for name, value in machine.items())
    counts = f"{passed:6} passed {failed:4} failed {time.monotonic() - started:5.0f} s  {named}"
    if done.returncode == 0:
        return counts, True
    failures = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return "\n".join([counts, *(failures or [done.stdout, done.stderr])]), False


def main() -> int:
    """Print a row for each machine as soon as it is known; exit code 1 if a test failed on one."""
    parser = argparse.ArgumentParser(prog="python -m tests.machines", description=__doc__)
    parser.add_argument("--count", type=int, default=len(MACHINES), help="how many of the machines")
    options, more = parser.parse_known_args()
    if platform.machine() not in ("x86_64", "AMD64"):
        print("no kernels of another machine are known for", platform.machine())
        return 0
    own = {str(library.get("architecture")) for library in threadpool_info()}
    others = [machine for machine in MACHINES if machine["OPENBLAS_CORETYPE"] not in own]
    passed = []
    for machine in others[: options.count]:
        text, ended_well = row(machine, more)
        print(text, flush=True)
        passed.append(ended_well)
    return int(not all(passed))


if __name__ == "__main__":
    sys.exit(main())
