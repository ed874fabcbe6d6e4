"""One writer for each run folder, and clear words where nothing can be written."""

from __future__ import annotations

import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sim import RunConfig, train
from sim.errors import BusyError
from sim.runs.files import is_being_written, only_writer
from tests.sim.conftest import small
from theory import InputError


def test_a_second_process_is_refused_until_the_first_ends(holder: Any, tmp_path: Path) -> None:
    refusal = r"gamma0.8_seed0': another process is writing it; wait"
    for options in ({}, {"resume": True}, {"overwrite": True}):
        with pytest.raises(InputError, match=refusal):
            train(small(), tmp_path, **options)
    assert not (tmp_path / "gamma0.8_seed0").exists()
    holder.kill()
    holder.join()
    # The file that a killed holder leaves behind stops nobody, and is gone in the end.
    assert is_being_written(tmp_path / "gamma0.8_seed0") is False
    assert train(small(), tmp_path)[0].provenance["status"] == "complete"
    assert [p.name for p in tmp_path.iterdir()] == ["gamma0.8_seed0"]


def test_two_never_hold_a_lock_at_a_time(tmp_path: Path) -> None:
    """Also where one removes the file while another has opened it and waits to lock it."""
    inside, most, taken = 0, 0, 0

    def take(_: int) -> None:
        nonlocal inside, most, taken
        for _ in range(100):
            with suppress(BusyError), only_writer(tmp_path / "run"):
                inside += 1
                most = max(most, inside)
                time.sleep(1e-5)
                inside -= 1
                taken += 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(take, range(4)))
    assert most == 1
    assert taken > 20
    assert not list(tmp_path.iterdir())


def _refusal_of_nobody(config: RunConfig, out: Path, resume: bool) -> str:
    if os.geteuid() == 0:
        os.setuid(65534)  # The superuser may write everywhere; nobody may not.
    with pytest.raises(InputError) as refused:
        train(config, out, resume=resume)
    return str(refused.value)


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("mode", [0o555, 0o000], ids=["read-only", "closed"])
def test_a_folder_without_permission_is_reported(mode: int, resume: bool, forked: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        out = Path(folder) / "out"
        out.mkdir()
        out.chmod(mode)
        with forked.Pool(1) as pool:
            said = pool.apply_async(_refusal_of_nobody, (small(), out, resume)).get(60)
        assert "cannot be written (Permission denied)" in said
