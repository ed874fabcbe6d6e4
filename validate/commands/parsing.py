"""A command: its options, its help with a working example, and the reading of its arguments by argparse."""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from theory import InputError
from theory.errors import nearest, unknown_name
from validate.commands.options import CommandOptions, Option, options_of
from validate.terminal.streams import text_width

Values = TypeVar("Values", bound=CommandOptions)


@dataclass(frozen=True)
class Command(Generic[Values]):
    """A command of ``anchorflow``.

    Parameters
    ----------
    name : str
        Its name.
    options : type
        Its options; the docstring describes the command.
    example : str
        A command line that works.
    keys : callable, optional
        Returns further options, such as the keys of a configuration. A callable, because most commands are
        asked for without them.
    shown : callable, optional
        Returns the keys that the help shows, from all that was given; by default all of them.
    """

    name: str
    options: type[Values]
    example: str
    keys: Callable[[], list[Option]] = list
    shown: Callable[[dict[str, Any]], list[Option]] | None = None

    def parse(self, arguments: Sequence[str]) -> Values:
        """Return the options; of a command with keys too, see ``parse_with_keys``."""
        return self.parse_with_keys(arguments)[0]

    def parse_with_keys(self, arguments: Sequence[str]) -> tuple[Values, dict[str, Any]]:
        """Read the arguments: the command's own options, and the given ones of its keys by dotted name."""
        own, keys = self.own_options(), self.keys()
        by_key = {option.key: option for option in [*own, *keys]}
        try:
            parser, hyphened = self.parser([*own, *keys]), [_hyphened(argument) for argument in arguments]
            texts, rest = parser.parse_known_intermixed_args(hyphened)
        except argparse.ArgumentError as error:
            problem = "takes no value" if "explicit" in error.message else "needs a value"
            raise InputError("option", error.argument_name, problem, "see --help") from None
        if rest:
            raise _unknown(rest[0], [*own, *keys])
        wants_help = vars(texts).pop("help", False)
        given = {key: by_key[key].value(text) for key, text in vars(texts).items()}
        if wants_help:
            shown = keys if self.shown is None else self.shown(given)
            print(self.parser([*own, *shown]).format_help(), end="")
            raise SystemExit(0)
        missing = next((o for o in own if o.required and o.key not in given), None)
        if missing is not None:
            purpose = missing.help.partition(";")[0].rstrip(".")
            problem = f"needs {missing.names[0]}: {purpose[:1].lower() + purpose[1:]}"
            raise InputError("command", f"anchorflow {self.name}", problem, f"example: {self.example}")
        names = {option.key for option in own}
        values = self.options(**{key: value for key, value in given.items() if key in names})
        return values, {key: value for key, value in given.items() if key not in names}

    def own_options(self) -> list[Option]:
        """Return the command's options except for its keys, those that more commands have later."""
        bases = [base for base in self.options.__mro__[1:] if issubclass(base, CommandOptions)]
        shared = [{option.key for option in options_of(base)} for base in bases]
        return sorted(options_of(self.options), key=lambda option: sum(option.key in keys for keys in shared))

    def parser(self, options: Sequence[Option], *, complete: bool = False) -> argparse.ArgumentParser:
        """Return the parser of these options; it prints nothing and ends nothing by itself.

        With ``complete``, it also knows what a shell can offer for their values.
        """
        width = text_width()
        paragraphs = inspect.cleandoc(self.options.__doc__ or "").split("\n\n")
        positions = "".join(f" [{o.names[0]}{' ...' * o.many}]" for o in options if o.position)
        parser = argparse.ArgumentParser(
            usage=f"anchorflow {self.name}{positions} [OPTIONS]",
            description="\n\n".join(textwrap.fill(p, width, break_on_hyphens=False) for p in paragraphs),
            epilog=f"example: {self.example}",
            formatter_class=partial(_HelpFormatter, width=width, max_help_position=26),
            argument_default=argparse.SUPPRESS,
            add_help=False,
            allow_abbrev=False,
            exit_on_error=False,
        )
        groups = {"": parser.add_argument_group("options")}
        groups[""].add_argument("-h", "--help", action="store_true", help="Show this help and exit.")
        taken = {option.names[0] for option in options}
        for option in options:
            section = option.key.rpartition(".")[0]
            if section not in groups:
                groups[section] = parser.add_argument_group(f"{section} options")
            names = [option.names[0], *(name for name in option.names[1:] if name not in taken)]
            action = _add(parser if option.position else groups[section], option, names)
            taken |= set(names)
            if complete and option.choices:
                action.choices = option.choices
            elif complete and option.is_file:
                action.complete = importlib.import_module("shtab").FILE  # type: ignore[attr-defined]
        return parser


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Descriptions and examples as they are written; names such as emb-mlp stay in one piece."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """Return --name VALUE, and a shorter name without repeating the value."""
        if len(action.option_strings) < 2 or action.nargs == 0:
            return super()._format_action_invocation(action)
        return f"{', '.join(action.option_strings)} {self._format_args(action, str(action.metavar))}"


def _add(parser: argparse._ActionsContainer, option: Option, names: Sequence[str]) -> argparse.Action:
    """Add an option to a parser, which leaves its values as text."""
    text, default = option.help, option.default
    if not (option.required or default in (None, "", (), {}) or isinstance(default, bool)):
        text += f" [default: {' '.join(map(str, default)) if isinstance(default, tuple) else default}]"
    text = text.replace("%", "%%")
    if option.position:
        nargs = "*" if option.many else "?"
        return parser.add_argument(option.key, nargs=nargs, metavar=names[0], help=text)
    if option.kind is bool:
        # A key of a configuration may have to be switched off, where a file or preset has it on.
        action = argparse.BooleanOptionalAction if "." in option.key else "store_true"
        return parser.add_argument(*names, dest=option.key, action=action, help=text)
    # An empty list of a section's key is a value.
    many = ("*" if "." in option.key else "+") if option.many else None
    return parser.add_argument(*names, dest=option.key, nargs=many, metavar=option.metavar, help=text)


def _hyphened(argument: str) -> str:
    """Return an option with hyphens for the underscores that its key has in files."""
    name, equals, value = argument.partition("=")
    return name.replace("_", "-") + equals + value if name.startswith("--") else argument


def _unknown(argument: str, options: Sequence[Option]) -> InputError:
    """Refuse what no option and no position takes, and suggest the nearest option."""
    name = argument.partition("=")[0]
    if not name.startswith("-"):
        return InputError("argument", argument, "one too many", "see --help")
    known = [name for option in options for name in option.names]
    # Whoever leaves out the section means the key: --batch-size for --training.batch-size.
    by_end = {f"--{option.rpartition('.')[2].lstrip('-')}": option for option in known}
    near = nearest(name.replace("γ", "gamma"), known) or by_end.get(str(nearest(name, by_end)))
    hint = f"did you mean {near}? all options: --help" if near else "see --help"
    return InputError("option", name, "unknown option", hint)


def import_first(arguments: Sequence[str]) -> None:
    """Import the file or module of ``--import``, before a configuration is read that needs it."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--import", dest="name", nargs="?")
    name = parser.parse_known_args(arguments)[0].name
    if not name:
        return
    path = Path(name)
    if path.suffix == ".py":
        if not path.is_file():
            raise InputError("import", name, "no such file", "give the path of a Python file, or a module")
        # Processes that train take over sys.path: they find the module by its name, too.
        sys.path.insert(0, str(path.resolve().parent))
    try:
        importlib.import_module(path.stem if path.suffix == ".py" else name)
    except InputError:
        raise
    except Exception as error:
        problem = f"cannot be imported: {type(error).__name__}: {error}"
        raise InputError("import", name, problem, "mend it, or name another file") from error


def print_completion(arguments: Sequence[str], commands: dict[str, str], others: Sequence[str]) -> None:
    """Print the script that a shell reads to complete our command lines."""
    import shtab

    shells = shtab.SUPPORTED_SHELLS
    if len(arguments) != 1:
        remedy = f"name one of {', '.join(shells)}"
        raise InputError("--print-completion", " ".join(arguments), "not one shell", remedy)
    if arguments[0] not in shells:
        raise unknown_name("shell", arguments[0], shells)
    whole = argparse.ArgumentParser(prog="anchorflow", add_help=False)
    for option in others:
        whole.add_argument(option, action="store_true")
    subparsers = whole.add_subparsers()
    for name, purpose in commands.items():
        command: Command[Any] = importlib.import_module(f"validate.commands.{name}").COMMAND
        parent = command.parser([*command.own_options(), *command.keys()], complete=True)
        subparsers.add_parser(name, help=purpose, parents=[parent], add_help=False)
    print(shtab.complete(whole, shell=arguments[0]))
