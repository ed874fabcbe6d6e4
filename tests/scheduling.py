"""Which test files one process of ``pytest -n`` runs: those that share what takes seconds to make."""

from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

SHARED = {
    "tests/sim/test_engines.py": "a process that has loaded torch",
    "tests/sim/test_run.py": "a process that has loaded torch",
    "tests/sim/test_workers.py": "a process that has loaded torch",
    "tests/validate/test_terminal.py": "a process that has loaded torch",
    "tests/theory/derive/": "derivations",
    "tests/validate/figures/": "drawn figures",
}
"""How the names of test files begin, and what is made once for all of them."""

LONGEST = ("tests/docs/test_followed.py", "tests/sim/test_kernels.py")
"""Files of few tests that take seconds each: begun last, they would leave the other process idle."""


class SharingScheduling(LoadFileScheduling):
    """Give each process whole files, and files that share something to one process."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        for scope in LONGEST:
            if scope in self.workqueue:
                self.workqueue.move_to_end(scope, last=False)
        super()._assign_work_unit(node)

    def _split_scope(self, nodeid: str) -> str:
        """Return what a test shares with others: its file, or what its file shares with other files."""
        shared = (what for begin, what in SHARED.items() if nodeid.startswith(begin))
        return next(shared, nodeid.partition("::")[0])
