"""A SLURM of one node on this machine; Debian's packages are slurmctld, slurmd, slurm-client and munge."""

import getpass
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
CONFIGURATION = """
ClusterName=anchorflow
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
"""Neither cgroups nor accounting: the first take more rights than a container has, the second a database."""


class NoSlurmError(Exception):
    """SLURM is not installed, or does not start here; the message says why."""


@contextmanager
def slurm(folder: Path) -> Iterator[Path]:
    """Run SLURM inside the block, with all its files in a folder; yield its ``slurm.conf``."""
    path = f"{os.environ['PATH']}{os.pathsep}/usr/sbin"
    missing = [name for name in PROGRAMS if shutil.which(name, path=path) is None]
    if missing:
        raise NoSlurmError(f"not installed: {', '.join(missing)}")
    configuration = write_configuration(folder)
    environment = os.environ | {"PATH": path, "SLURM_CONF": str(configuration)}
    with ExitStack() as daemons:
        munge = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
        for line in (
            ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *munge],
            ["slurmctld", "-D", "-c", "-L", f"{folder}/slurmctld.log"],
            ["slurmd", "-D", "-c", "-L", f"{folder}/slurmd.log"],
        ):
            daemons.enter_context(_daemon(line, environment, folder))
        _await_node(environment, folder)
        yield configuration


def write_configuration(folder: Path) -> Path:
    """Write munge's key and ``slurm.conf``."""
    for name in ("state", "spool"):
        (folder / name).mkdir()
    (folder / "munge.key").write_bytes(secrets.token_bytes(1024))
    (folder / "munge.key").chmod(0o400)
    host = socket.gethostname().partition(".")[0]
    text = CONFIGURATION.format(host=host, folder=folder, user=getpass.getuser(), ports=_free_ports(2))
    (folder / "slurm.conf").write_text(text)
    return folder / "slurm.conf"


def _free_ports(n: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(n)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


@contextmanager
def _daemon(line: list[str], environment: dict[str, str], folder: Path) -> Iterator[None]:
    with (folder / f"{line[0]}.said").open("wb") as said:
        process = subprocess.Popen(line, env=environment, stdout=said, stderr=said, start_new_session=True)
        try:
            yield
        finally:
            process.terminate()
            process.wait(60)


def _await_node(environment: dict[str, str], folder: Path) -> None:
    """Wait up to a minute until the node takes work."""
    end = time.monotonic() + 60
    line = ["sinfo", "--noheader", "--format", "%T"]
    while time.monotonic() < end:
        answer = subprocess.run(line, env=environment, capture_output=True, text=True, check=False)
        if answer.stdout.strip() == "idle":
            return
        time.sleep(0.2)
    logs = sorted([*folder.glob("*.said"), *folder.glob("*.log")])
    last = [f"{log.name}: {text.splitlines()[-1]}" for log in logs if (text := log.read_text().strip())]
    raise NoSlurmError("; ".join([f"the node is {answer.stdout.strip() or 'not there'}", *last]))
