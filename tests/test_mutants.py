"""The lists of faults fit the code: each fault's text occurs once, its tests exist, and there are enough."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter

import pytest

from tests.mutants import PACKAGES, ROOT, Fault, faults

FAULTS = faults()
FEWEST = {"theory": 40, "sim": 35, "validate": 30}


@pytest.mark.parametrize("fault", FAULTS, ids=[f"{f.file}-{n}" for n, f in enumerate(FAULTS)])
def test_a_fault_can_be_planted(fault: Fault) -> None:
    planted = fault.planted((ROOT / fault.file).read_text())
    ast.parse(planted)
    assert fault.new != fault.old
    assert fault.tests
    assert all((ROOT / test).is_file() for test in fault.tests)


def test_there_are_enough_in_every_package_and_none_twice() -> None:
    counts = Counter(fault.package for fault in FAULTS)
    assert all(counts[package] >= FEWEST[package] for package in PACKAGES)
    assert len({(fault.file, fault.old, fault.new) for fault in FAULTS}) == len(FAULTS)


def test_a_text_that_occurs_twice_or_never_is_an_error() -> None:
    fault = FAULTS[0]
    for text in ("", fault.old * 2):
        with pytest.raises(ValueError, match="not once"):
            fault.planted(text)


@pytest.mark.long
def test_faults_are_seen() -> None:
    """All of them, which takes some twenty minutes; ``make mutants`` prints each one's fate."""
    done = subprocess.run([sys.executable, "-m", "tests.mutants"], cwd=ROOT, check=False)
    assert done.returncode == 0
