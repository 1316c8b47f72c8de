"""Command-line flags whose mistakes come out as a UsageError instead of a usage dump."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Sequence
from typing import NoReturn

from kv_canary.errors import UsageError


class _WrongValueError(Exception):
    """A flag's value is wrong; whoever knows the flag turns this into a UsageError."""

    def __init__(self, *, rule: str, found: str, wanted: str, fix: str) -> None:
        super().__init__(rule)
        self.rule = rule
        self.found = found
        self.wanted = wanted
        self.fix = fix


class FlagParser:
    """The flags of one command.

    Args:
        command: how the user calls it.
        summary: what it does.
        epilog: what the help says after the flags.
    """

    def __init__(self, *, command: str, summary: str, epilog: str) -> None:
        self._command = command
        self._flags: list[str] = ["--help"]
        self._parser = _Parser(prog=command, description=summary, epilog=epilog, allow_abbrev=False)

    def positional(self, name: str, meaning: str) -> None:
        """Add an argument that may be left out."""
        self._parser.add_argument(name, nargs="?", metavar=name.upper(), help=meaning)

    def number(
        self, flag: str, parse: Callable[[str], int], default: int | None, meaning: str
    ) -> None:
        """Add a flag with a number; its default, if there is one, is added to the meaning."""
        shown = meaning if default is None else f"{meaning} (default: {default})"
        self._add(flag, parse, "N", shown, default)

    def value(self, flag: str, parse: Callable[[str], str], metavar: str, meaning: str) -> None:
        """Add a flag with a word."""
        self._add(flag, parse, metavar, meaning, None)

    def switch(self, flag: str, meaning: str) -> None:
        """Add a flag without a value."""
        self._flags.append(flag)
        self._parser.add_argument(flag, action="store_true", help=meaning)

    def parse(self, argv: Sequence[str]) -> argparse.Namespace:
        """Return the flags' values.

        Raises:
            UsageError: a flag is unknown, lacks its value, or has a wrong one.
            SystemExit: the help was asked for and printed.
        """
        options, unknown = self._parser.parse_known_args(list(argv))
        if unknown:
            name = unknown[0].partition("=")[0]
            if not name.startswith("-"):
                raise UsageError(
                    place=self._command.removeprefix("kv-canary "),
                    rule="there is no room for this argument",
                    found=name,
                    wanted="nothing more",
                    fix=f"leave out `{name}`",
                )
            raise UsageError(
                place=self._command.removeprefix("kv-canary "),
                rule="a flag must be one that this command has",
                found=name,
                wanted=did_you_mean(name, self._flags) or "a flag that the help lists",
                fix=f"{self._command} --help",
            )
        return options

    def _add(
        self,
        flag: str,
        parse: Callable[[str], object],
        metavar: str,
        meaning: str,
        default: int | None,
    ) -> None:
        self._flags.append(flag)

        def convert(text: str) -> object:
            try:
                return parse(text)
            except _WrongValueError as wrong:
                raise UsageError(
                    place=flag,
                    rule=wrong.rule,
                    found=wrong.found,
                    wanted=wrong.wanted,
                    fix=f"{flag} {wrong.fix}",
                ) from None

        self._parser.add_argument(
            flag, type=convert, metavar=metavar, default=default, help=meaning
        )


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        # Unknown flags are found by parse_known_args, so argparse has two complaints left:
        # "argument --scale: expected one argument" and "argument --json: ignored explicit ...".
        flag, _, complaint = message.removeprefix("argument ").partition(": ")
        lacks_value = complaint.startswith("expected")
        raise UsageError(
            place=flag,
            rule="this flag needs a value" if lacks_value else "this flag takes no value",
            found="no value" if lacks_value else complaint.rpartition(" ")[2].strip("'"),
            wanted=f"`{flag} VALUE`" if lacks_value else f"`{flag}` alone",
            fix=f"{self.prog} --help",
        )


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a reader of whole numbers in [least, most], for FlagParser."""
    wanted = (
        f"a whole number, {least} or more" if most is None else f"a whole number, {least} to {most}"
    )

    def parse(text: str) -> int:
        # int() alone would also take "1_000", " 7 " and digits of other scripts.
        digits = text.removeprefix("-")
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
            raise _WrongValueError(
                rule="the value must be a whole number",
                found=text or "nothing",
                wanted=wanted,
                fix=str(max(least, 1)),
            )
        value = int(text)
        if value < least or (most is not None and value > most):
            rule = f"the value must be {wanted.removeprefix('a whole number, ')}"
            nearest = least if value < least else most
            raise _WrongValueError(rule=rule, found=text, wanted=wanted, fix=str(nearest))
        return value

    return parse


def choice(*names: str) -> Callable[[str], str]:
    """Return a reader of one word out of several, for FlagParser."""

    def parse(text: str) -> str:
        if text not in names:
            raise _WrongValueError(
                rule="the value must be one of " + ", ".join(names),
                found=text or "nothing",
                wanted=did_you_mean(text, names) or ", ".join(names),
                fix=nearest(text, names) or names[0],
            )
        return text

    return parse


def did_you_mean(word: str, known: Sequence[str]) -> str | None:
    """Return "`NEAR`, perhaps" for the known word that is nearest, or None if none is near."""
    near = nearest(word, known)
    return f"`{near}`, perhaps" if near else None


def nearest(word: str, known: Sequence[str]) -> str | None:
    """Return the known word that is nearest, or None if none is near."""
    near = difflib.get_close_matches(word, known, n=1)
    return near[0] if near else None
