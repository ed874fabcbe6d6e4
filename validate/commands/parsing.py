"""Arguments of a command, read by argparse; its help, and the script with which a shell completes them."""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, TypeVar

from theory import InputError
from theory.edge.errors import nearest, unknown_name
from theory.edge.reading import is_file, is_folder
from validate.commands import COMMANDS, OPTIONS, commands_of
from validate.commands.options import CommandOptions, Option, members, options_of, union
from validate.terminal.output import WIDEST_TEXT, terminal_width

Values = TypeVar("Values", bound=CommandOptions)


def parse(command: str, options: type[Values], arguments: Sequence[str]) -> Values:
    """Return the given options of a command; if help is asked for, print it and exit."""
    command_options, keys = own_options(options), options.known_keys()
    by_key = {option.key: option for option in [*command_options, *keys]}
    parser = parser_of(command, options, by_key.values())
    # An option has hyphens where its key in a file has underscores.
    words = [re.sub("^--[^=]*", lambda name: name[0].replace("_", "-"), word) for word in arguments]
    try:
        texts, rest = parser.parse_known_intermixed_args(words)
    except argparse.ArgumentError as error:
        problem = "takes no value" if "explicit" in error.message else "needs a value"
        raise InputError("option", error.argument_name, problem, "see --help") from None
    wants_help = vars(texts).pop("help", False)
    given = {key: by_key[key].value(text) for key, text in vars(texts).items()}
    if rest:
        raise _unknown(rest[0], by_key.values(), words)
    of_keys = {key.key: given.pop(key.key) for key in keys if key.key in given}
    if wants_help:
        shown = [*command_options, *options.shown_keys(given, of_keys)]
        print(parser_of(command, options, shown).format_help(), end="")
        raise SystemExit(0)
    for option in command_options:
        if option.required and option.key not in given:
            example = _help(options)[-1]
            raise InputError("command", f"anchorflow {command}", f"needs {option.names[0]}", example)
    return options(**given, keys=of_keys)


def own_options(options: type[CommandOptions]) -> list[Option]:
    """Return the options of a command without its keys, those that the most commands share last."""
    bases = [base for base in options.__mro__[1:] if issubclass(base, CommandOptions)]
    shared = [{option.key for option in options_of(base)} for base in bases]
    return sorted(options_of(options), key=lambda option: sum(option.key in keys for keys in shared))


def parser_of(
    command: str, options: type[CommandOptions], listed: Iterable[Option]
) -> argparse.ArgumentParser:
    """Return the parser of a command with these options; by itself it neither prints nor exits."""
    listed, width = list(listed), min(terminal_width(), WIDEST_TEXT)
    *paragraphs, example = _help(options)
    positions = "".join(f" [{o.names[0]}{' ...' * o.many}]" for o in listed if o.position)
    parser = argparse.ArgumentParser(
        usage=f"anchorflow {command}{positions} [OPTIONS]",
        description="\n\n".join(textwrap.fill(p, width, break_on_hyphens=False) for p in paragraphs),
        epilog=example,
        formatter_class=partial(_HelpFormatter, width=width, max_help_position=26),
        argument_default=argparse.SUPPRESS,
        add_help=False,
        allow_abbrev=False,
        exit_on_error=False,
    )
    groups = {"": parser.add_argument_group("options")}
    groups[""].add_argument("-h", "--help", action="store_true", help="Show this help and exit.")
    for option in listed:
        section = option.key.rpartition(".")[0]
        if section not in groups:
            groups[section] = parser.add_argument_group(f"{section} options")
        _add(parser if option.position else groups[section], option)
    return parser


def _add(parser: argparse._ActionsContainer, option: Option) -> None:
    text, default = option.help, option.default
    if not (option.required or default in (None, "", (), {}) or isinstance(default, bool)):
        text += f" [default: {' '.join(map(str, default)) if isinstance(default, tuple) else default}]"
    text = text.replace("%", "%%")
    if option.position:
        nargs = "*" if option.many else "?"
        parser.add_argument(option.key, nargs=nargs, metavar=option.names[0], help=text)
    elif option.kind is bool:
        # A key of a configuration may have to be switched off if a file or preset has it on.
        action = argparse.BooleanOptionalAction if "." in option.key else "store_true"
        parser.add_argument(*option.names, dest=option.key, action=action, help=text)
    else:
        # For a key of a section, an empty list is a value.
        many = ("*" if "." in option.key else "+") if option.many else None
        how: Any = "extend" if many else _Once
        parser.add_argument(
            *option.names, dest=option.key, action=how, nargs=many, metavar=option.metavar, help=text
        )


class _Once(argparse.Action):
    """Takes one value, and refuses a second one that differs."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, value: Any, name: str | None = None
    ) -> None:
        if getattr(namespace, self.dest, value) != value:
            both = f"{getattr(namespace, self.dest)} and {value}"
            raise InputError(str(name), both, "given twice", "give one value")
        setattr(namespace, self.dest, value)


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps descriptions and examples as they are written, and names such as emb-mlp in one piece."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """Return --name VALUE, and a shorter name without repeating the value."""
        if len(action.option_strings) < 2 or action.nargs == 0:
            return super()._format_action_invocation(action)
        return f"{', '.join(action.option_strings)} {self._format_args(action, str(action.metavar))}"


def _help(options: type[CommandOptions]) -> list[str]:
    """Return the paragraphs that describe a command, the last one its example."""
    return inspect.cleandoc(options.__doc__ or "").split("\n\n")


def _unknown(argument: str, options: Iterable[Option], words: Sequence[str]) -> InputError:
    name = argument.partition("=")[0]
    if not name.startswith("-"):
        # A path with spaces is neighbouring words, of which few have more than eight.
        ends = ((first, last) for first, last in combinations(range(len(words) + 1), 2) if last - first <= 8)
        spaced = (" ".join(words[i:j]) for i, j in ends if j - i > 1 and argument in words[i:j])
        path = next((text for text in spaced if is_file(text) or is_folder(text)), None)
        remedy = (
            f'put the path in quotes: "{path}"' if path else "a path with spaces needs quotes; see --help"
        )
        return InputError("argument", argument, "unexpected argument", remedy)
    known, short = [name for option in options for name in option.names], f"--{name.rpartition('.')[2]}"
    near = short if short in known else nearest(name.replace("γ", "gamma"), known)  # --training.lr: --lr.
    hint = f"did you mean {near}? all options: --help" if near else "see --help"
    return InputError("option", name, "unknown option", hint)


def import_first(arguments: Sequence[str]) -> None:
    """Import the file or module of ``--import``, before a configuration that needs it is read."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("--import", dest="name", nargs="?")
    name = parser.parse_known_args(arguments)[0].name
    if not name:
        return
    is_file = name.endswith(".py")
    try:
        path = Path(name).expanduser().resolve()
        if is_file:
            # Processes that train inherit sys.path, so that they find the module by its name too.
            sys.path.insert(0, str(path.parent))
        module = importlib.import_module(path.stem if is_file else name)
    except Exception as error:
        problem = f"cannot be imported: {type(error).__name__}: {error}"
        raise InputError("import", name, problem, "fix it, or name another file") from error
    if is_file and Path(str(getattr(module, "__file__", ""))).resolve() != path:
        raise InputError("import", name, "another module has that name", "rename the file")


def print_completion(shell: str) -> None:
    """Print the script that a shell reads to complete our command lines."""
    import shtab

    if shell not in shtab.SUPPORTED_SHELLS:
        raise unknown_name("shell", shell, shtab.SUPPORTED_SHELLS, "--print-completion")
    whole = argparse.ArgumentParser(prog="anchorflow", add_help=False)
    for option in OPTIONS:
        whole.add_argument(option, action="store_true")
    subparsers = whole.add_subparsers()
    for name, purpose in COMMANDS.items():
        of_command, *actions = [
            [*own_options(options), *options.known_keys()] for options, _ in commands_of(name).values()
        ]
        of_actions = [option for options in actions for option in options if not option.position]
        listed = {option.key: option for option in union([of_command, of_actions])}
        parent = parser_of(name, CommandOptions, listed.values())
        for action in parent._actions:
            known = listed.get(action.dest)
            if known and known.choices:
                action.choices = known.choices
            elif known and {Path, *[str] * bool(known.position)} & {*members(known.kind)}:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
        subparsers.add_parser(name, help=purpose, parents=[parent], add_help=False)
    print(shtab.complete(whole, shell=shell))
