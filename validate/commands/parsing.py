"""A command: its options, its help with a working example, and the reading of its arguments."""

from __future__ import annotations

import argparse
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import shtab

from theory import InputError
from theory.errors import nearest
from validate.commands.options import CommandOptions, Option, options_of
from validate.terminal.streams import text_width

_OTHER_NAMES = {"--gamma": ("--init-rates", "--init-rate"), "--γ": ("--init-rates", "--init-rate")}
"""What an option is called elsewhere, as in the paper."""
Values = TypeVar("Values", bound=CommandOptions)


@dataclass(frozen=True)
class Command(Generic[Values]):
    """A command of ``anchorflow``.

    Parameters
    ----------
    name : str
        What it is called.
    options : type
        Its options; the docstring describes the command.
    example : str
        A command line that works.
    keys : callable, optional
        More options that it takes, such as the keys of a configuration. A callable, because most commands
        are asked for without them.
    shown : callable, optional
        The keys that the help shows, from all that was given; by default all of them.
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
        """Read the arguments: the command's own options, and the given ones of its keys by dotted name.

        Raises
        ------
        InputError
            For an option that is unknown or of the wrong type.
        SystemExit
            With code 0 after ``--help``.
        """
        own, keys = self.own_options(), self.keys()
        given = read(self.parser([*own, *keys]), [*own, *keys], arguments)
        if given.pop("help", False):
            shown = keys if self.shown is None else self.shown(given)
            print(self.parser([*own, *shown]).format_help(), end="")
            raise SystemExit(0)
        names = {option.key for option in own}
        missing = next((o for o in own if o.required and o.key not in given), None)
        if missing is not None:
            what = missing.help.partition(";")[0].rstrip(".")
            problem = f"needs {missing.name}: {what[:1].lower() + what[1:]}"
            raise InputError("command", f"anchorflow {self.name}", problem, f"example: {self.example}")
        values = self.options(**{key: value for key, value in given.items() if key in names})
        return values, {key: value for key, value in given.items() if key not in names}

    def own_options(self) -> list[Option]:
        """Return the command's options except for its keys, those that more commands have later."""
        shared = [
            {option.key for option in options_of(base)}
            for base in self.options.__mro__[1:]
            if issubclass(base, CommandOptions)
        ]
        return sorted(options_of(self.options), key=lambda option: sum(option.key in keys for keys in shared))

    def parser(self, options: Sequence[Option], *, complete: bool = False) -> argparse.ArgumentParser:
        """Return the parser of these options; it prints nothing and ends nothing by itself.

        With ``complete``, it also knows what a shell can offer for their values.
        """
        width = text_width()
        paragraphs = inspect.cleandoc(self.options.__doc__ or "").split("\n\n")
        positions = "".join(f" [{o.name}{' ...' * o.many}]" for o in options if o.position)
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
        for option in options:
            section = option.key.rpartition(".")[0]
            if section not in groups:
                groups[section] = parser.add_argument_group(f"{section} options")
            action = add(parser if option.position else groups[section], option)
            if complete:
                offer_values(action, option)
        return parser


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Descriptions and examples as they are written; names such as emb-mlp stay in one piece."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


def add(parser: argparse._ActionsContainer, option: Option) -> argparse.Action:
    """Add an option to a parser, which takes its texts as they are."""
    text = _help(option).replace("%", "%%")
    if option.position:
        nargs = "*" if option.many else "?"
        return parser.add_argument(option.key, nargs=nargs, metavar=option.name, help=text)
    if option.kind is bool:
        # A key of a configuration may have to be switched off, where a file or preset has it on.
        action = argparse.BooleanOptionalAction if "." in option.key else "store_true"
        return parser.add_argument(option.name, dest=option.key, action=action, help=text)
    many = "*" if option.many else None
    return parser.add_argument(option.name, dest=option.key, nargs=many, metavar=option.metavar, help=text)


def offer_values(action: argparse.Action, option: Option) -> None:
    """Tell a shell what the values can be: the choices, or files."""
    if option.choices:
        action.choices = option.choices
    elif option.is_file:
        action.complete = shtab.FILE  # type: ignore[attr-defined]


def _help(option: Option) -> str:
    """Return an option's help, with its default where that says something."""
    default = option.default
    if option.required or default in (None, "", (), {}) or isinstance(default, bool):
        return option.help
    shown = " ".join(map(str, default)) if isinstance(default, tuple) else default
    return f"{option.help} [default: {shown}]"


def read(
    parser: argparse.ArgumentParser, options: Sequence[Option], arguments: Sequence[str]
) -> dict[str, Any]:
    """Return the values of what the arguments give, by key.

    Raises
    ------
    InputError
        For an option that is unknown, without its value or of the wrong type.
    """
    try:
        texts, rest = parser.parse_known_intermixed_args([_hyphened(argument) for argument in arguments])
    except argparse.ArgumentError as error:
        raise InputError(str(error.argument_name), "", error.message, "see --help") from None
    if rest:
        raise _unknown(rest[0], [option.name for option in options])
    by_key = {option.key: option for option in options}
    return {key: by_key[key].value(text) if key in by_key else text for key, text in vars(texts).items()}


def _hyphened(argument: str) -> str:
    """Return an option with hyphens for the underscores that its key has in files."""
    name, equals, value = argument.partition("=")
    return name.replace("_", "-") + equals + value if name.startswith("--") else argument


def _unknown(argument: str, known: Sequence[str]) -> InputError:
    """Refuse what no option and no position takes, and suggest the nearest option."""
    name = argument.partition("=")[0]
    if not name.startswith("-"):
        return InputError("argument", argument, "one too many", "see --help")
    # Whoever leaves out the section means the key: --epochs for --training.epochs.
    by_end = {f"--{option.rpartition('.')[2].lstrip('-')}": option for option in known}
    meant = [option for option in _OTHER_NAMES.get(name, ()) if option in known]
    near = next(iter(meant), None) or nearest(name, known) or by_end.get(str(nearest(name, by_end)))
    hint = f"did you mean {near}? all options: --help" if near else "see --help"
    return InputError("option", name, "unknown option", hint)
