"""Others who reach the cluster that the engine ``dask`` starts: another account, or none's certificate."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from distributed import LocalCluster

from sim.training.engines.on_dask import _scheduler
from tests.fuzz.walk import Ending

ROOT = Path(__file__).resolve().parents[2]
ATTACK = """
import logging, os, sys
from distributed import Client, LocalCluster
from distributed.security import Security
uid, credentials, address = int(sys.argv[1]), sys.argv[2], sys.argv[3].partition("://")[2]
logging.disable()
security = Security.temporary() if credentials == "own certificate" else None
# What the client needs is loaded before another account may not read it.
with LocalCluster(n_workers=0, processes=False, dashboard_address=None, security=security) as own:
    Client(own, security=security).run_on_scheduler(os.getuid)
os.setuid(uid)
protocol = "tls" if security else "tcp"
client = Client(f"{protocol}://{address}", timeout=3, security=security)
print("in:", client.run_on_scheduler(os.getuid))
"""
NOBODY = 65534
Case = Callable[[], Ending]


def _ports(process: int) -> list[int]:
    """Return the ports on which a process listens."""
    own = {str(fd.readlink()) for fd in Path(f"/proc/{process}/fd").iterdir() if fd.is_symlink()}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [int(r[1].split(":")[1], 16) for r in rows if r[3] == "0A" and f"socket:[{r[9]}]" in own]


def other_accounts(folder: Path) -> Iterator[Case]:
    """None gets in, with any credentials; against an open cluster the same attack succeeds."""
    uids = [os.getuid(), NOBODY] if os.getuid() == 0 else [os.getuid()]
    with LocalCluster(n_workers=0, dashboard_address=None) as cluster:
        for uid in uids:
            yield partial(_attacked, "open cluster", uid, "none", cluster.scheduler_address, is_open=True)
    with _scheduler(None, 1) as (address, _):
        for uid in uids:
            for credentials in ("none", "own certificate"):
                yield partial(_attacked, "own cluster", uid, credentials, address)
        for port in _ports(os.getpid()):
            yield partial(_asked, port)


def _attacked(what: str, uid: int, credentials: str, address: str, *, is_open: bool = False) -> Ending:
    command = [sys.executable, "-W", "ignore", "-c", ATTACK, str(uid), credentials, address]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    gets_in = done.stdout == f"in: {os.getuid()}\n"
    how = ("accepted" if is_open else "let in") if gets_in else ("kept out" if is_open else "refused")
    return Ending(what, f"uid {uid}", f"credentials: {credentials}", how, done.stderr[-120:])


def _asked(port: int) -> Ending:
    """Ask for a page over HTTP, and send noise."""
    how = "refused"
    with suppress(urllib.error.URLError, OSError):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/info/main/workers.html", timeout=3).close()
        how = "pages"
    with socket.create_connection(("127.0.0.1", port)) as raw:
        raw.sendall(os.urandom(64))
    return Ending("own cluster", f"port {port}", "HTTP", how)
