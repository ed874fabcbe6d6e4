"""The command ``anchorflow``."""

from __future__ import annotations

import errno
import os
import re
import resource
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version

from sim.errors import NOT_BEGUN, UnfinishedRunsError
from theory import InputError
from theory.edge.errors import GradientLimitError, IntegrationError, unknown_name
from validate.commands import COMMANDS, OPTIONS, find_command
from validate.terminal.output import OutputError, prepare_streams, say

_HELP = f"""usage: anchorflow COMMAND ... [--help] [--json]
       anchorflow --version
       anchorflow --print-completion bash|zsh|tcsh|fish|powershell

{chr(10).join(f"  {name:8} {purpose}" for name, purpose in COMMANDS.items())}

Each command's --help shows its options and a working example.

example: anchorflow demo --out runs/demo

Exit code: 0 success, 1 a verdict fails, 2 bad input or an output that cannot be
written, 3 a process was killed and its run can be continued, 128 + n stopped by
signal n, 130 for Ctrl-C (nothing is lost)."""


def main(arguments: Sequence[str] | None = None, begin: Callable[[], None] = lambda: None) -> int:
    """Run a command and return its exit code; ``begin`` is called once all that it needs is imported."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if arguments is None:
            # Figures only go to files; matplotlib cannot be imported under a backend that it does not know.
            os.environ["MPLBACKEND"] = "agg"
            prepare_streams()
            os.umask(os.umask(0) | 0o002)  # No run folder is to be changed by everybody.
            warnings.showwarning = lambda message, *_, **__: say(f"anchorflow: warning: {message}")
        code = _run(words, begin)
        sys.stdout.flush()
    except (InputError, OutputError, IntegrationError) as error:
        if isinstance(error, GradientLimitError):
            error.remedy = "Take --route batches, ask for fewer epochs, or allow more: --max-gradients"
        said = re.sub(r"\b(resume|overwrite)=True", r"--\1", str(error))  # As options of the command line.
        say(f"anchorflow: {said}")
        return 2
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN):
            say(f"anchorflow: {error.strerror}; raise the limit (ulimit -a), or use fewer --workers")
        elif error.filename is None:
            raise
        else:
            say(f"anchorflow: {error.filename}: {error.strerror}; check the path")
        return 2
    except ImportError as error:
        if "map segment" not in str(error) and "allocate" not in str(error):
            raise
        say(f"anchorflow: a library does not fit into memory ({error}); raise the limit (ulimit -v)")
        return 2
    except MemoryError as error:
        said = str(error) or "out of memory"
        say(f"anchorflow: {said}; raise the limit (ulimit -v), or ask for something smaller")
        return 2
    except UnfinishedRunsError as error:
        say(f"anchorflow: {error}{_hint(words, error)}")
        return 3
    except KeyboardInterrupt as stop:
        say(f"anchorflow: stopped{_hint(words, stop)}")
        return 128 + next((number for number in stop.args if isinstance(number, int)), signal.SIGINT)
    return code


def _hint(words: list[str], stop: BaseException) -> str:
    """Return how to continue the unfinished work of a command."""
    if _action(words) in ("train", "demo"):
        if NOT_BEGUN in getattr(stop, "__notes__", ()):
            return f" {NOT_BEGUN}; nothing to resume: give the same command again"
        how = ", --resume in place of --overwrite" if "--overwrite" in words else " and --resume"
        return f"; runs that had begun have a checkpoint: continue them with the same command{how}"
    again = "; finished runs are kept, unfinished ones have a checkpoint: the same command continues"
    is_sweep = words[:1] == ["sweep"] and words[1:2] != ["show"] and "--dry-run" not in words
    return again if is_sweep or "--run" in words else ""


def _action(words: Sequence[str]) -> str:
    """Return the name of a command, or of an action of ``corpus``."""
    return next(iter(words[1:2] if words[:1] == ["corpus"] else words[:1]), "")


def _run(words: Sequence[str], begin: Callable[[], None]) -> int:
    name, *arguments = words or ["--help"]
    if name in ("-h", "--help"):
        print(_HELP)
        return 0 if words else 2
    if name == "--version":
        print(f"anchorflow {version('anchorflow')}")
        return 0
    if name == "--print-completion":
        from validate.commands.parsing import print_completion

        print_completion(" ".join(arguments))
        return 0
    if name not in COMMANDS:
        kind, known = ("option", OPTIONS) if name.startswith("-") else ("command", tuple(COMMANDS))
        raise unknown_name(kind, name, known)
    command, options, run, arguments = find_command(words)
    from validate.commands.parsing import import_first, parse
    from validate.terminal.progress import show_progress

    import_first(arguments)
    trains = _action(words) in ("demo", "study", "sweep", "train")
    if trains and 0 <= resource.getrlimit(resource.RLIMIT_AS)[0] < 2**30:
        # With less than it needs torch aborts, or a process pool waits for ever.
        raise MemoryError("training needs 1 GiB of address space")
    begin()
    with show_progress():
        return run(parse(command, options, arguments))
