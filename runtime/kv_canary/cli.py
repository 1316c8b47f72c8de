"""The command line: what looks at a cache is ours, the rest goes to the code generator.

Nothing here imports torch, so that help, explain and the generator start at once, and so that
they work with the generated package deleted or broken.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from kv_canary.canary.rules import RULES, explain
from kv_canary.errors import (
    BenchmarkMismatchError,
    GeneratedCodeMissingError,
    PlanMismatchError,
    UsageError,
)
from kv_canary.flags import FlagParser, did_you_mean, nearest

_FORWARDED = {
    "generate": "write kernels, launchers, validators, tests and pages from the specs",
    "check": "say whether the generated files are what the specs give",
    "new": "start a kernel: a spec, a body and a reference that generate at once",
    "explain": "tell what a rule means, what breaks it, and what to do; alone: list the rules",
    "prove": "prove rules and contracts, and that no access of a kernel leaves its tensor",
    "mutate": "put small faults into rules and bodies, and say which of them nobody notices",
}
_OWN = {
    "replay": "drive a paged pool with a real trace, and check its plans or run a canary in it",
    "demo": "replay the shipped slice clean and with a fault, then show two contract errors",
    "faults": "list the faults that can be injected, what sees each, and what none can see",
    "diagnose": "say what damaged the cache, from a dump that a canary wrote",
    "bench": "measure what the canary costs on this machine, beside what its GPU can do",
}
_CODEGEN_MODULES = ("kv_canary_codegen", "jinja2", "yaml", "markupsafe")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        argv: the arguments after the program's name; None means those of this process.

    Returns:
        0 done, 1 a check failed, 2 a flag or a file is wrong, 130 interrupted.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _dispatch(arguments)
        # Now rather than at exit, where a reader that has gone could no longer be told apart.
        sys.stdout.flush()
        return status
    except UsageError as error:
        print(f"kv-canary: {error}", file=sys.stderr)
        return 2
    except (PlanMismatchError, BenchmarkMismatchError) as error:
        print(f"kv-canary: {error}", file=sys.stderr)
        return 1
    except GeneratedCodeMissingError as error:
        print(f"kv-canary: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has gone, as in `... | head`. What Python still wants to flush goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _dispatch(arguments: list[str]) -> int:
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command in ("--help", "-h"):
        print(_help())
        return 0
    if command == "--version":
        from kv_canary import __version__

        print(f"kv-canary {__version__}")
        return 0
    if command == "replay":
        from kv_canary.replay.command import run_replay

        return run_replay(rest)
    if command == "demo":
        return _demo(rest)
    if command == "faults":
        from kv_canary.faults.command import run_faults

        return run_faults(rest)
    if command == "diagnose":
        from kv_canary.findings.command import run_diagnose

        return run_diagnose(rest)
    if command == "bench":
        from kv_canary.bench.command import run_bench

        return run_bench(rest)
    if command == "explain" and (status := _explain_own(rest)) is not None:
        return status
    if command in _FORWARDED:
        return _forward(command, rest)
    known = [*_OWN, *_FORWARDED, "--help", "--version"]
    raise UsageError(
        place="command line",
        rule="the first argument must be a command",
        found=command or "nothing",
        wanted=did_you_mean(command, known) or ", ".join(known),
        fix="kv-canary --help",
    )


def _demo(rest: list[str]) -> int:
    FlagParser(
        command="kv-canary demo",
        summary="Replay the shipped slice of a real trace with a canary in every step, clean and "
        "then with a fault, and show two contract errors as a caller sees them, and what one of "
        "them means. Takes under a minute.",
        epilog="`kv-canary replay --help` lists what can be changed about the replay.",
    ).parse(rest)
    from kv_canary.demo import run_demo

    return run_demo()


def _forward(command: str, rest: list[str]) -> int:
    try:
        status: int = import_module("kv_canary_codegen.cli").main([command, *rest])
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in _CODEGEN_MODULES:
            raise
        if command == "explain":
            return _explain_without_codegen(rest)
        raise UsageError(
            place=command,
            rule="the code generator must be installed",
            found=f"no module `{missing}`",
            wanted="kv-canary with its codegen extra",
            fix="pip install 'kv-canary[codegen]'",
        ) from error
    return status


def _explain_own(rest: list[str]) -> int | None:
    """Explain a rule of the canary's own, or return None for one of the catalogue's.

    Raises:
        UsageError: there is no such rule, and one of the canary's own is the nearest.
    """
    if not rest:
        status = _forward("explain", rest)
        if status == 0:
            print("\n".join(RULES))
        return status
    if len(rest) > 1 or rest[0].startswith("-"):
        return None
    name = rest[0]
    if name in RULES:
        print(explain(name), end="")
        return 0
    others: list[str] = []
    with suppress(ImportError):
        others = import_module("kv_canary_kernels.rules").explain().split()
    if name in others:
        return None
    # Without what all of them begin with, by which any two would be near.
    own = {rule.removeprefix("canary."): rule for rule in RULES}
    kernel, _, word = name.rpartition(".")
    is_own = nearest(kernel, ["canary"]) is not None
    near = nearest(word, list(own)) if is_own else nearest(name, [*own, *others])
    if not is_own and near not in own:
        return None
    near = own.get(near or "")
    raise UsageError(
        place="explain",
        rule="a rule must be one of the catalogue",
        found=f"`{name}`",
        wanted=f"`{near}`, perhaps" if near else "an id that `kv-canary explain` lists",
        fix=f"kv-canary explain {near}" if near else "kv-canary explain",
    )


def _explain_without_codegen(rest: list[str]) -> int:
    """Print what the generated catalogue says: an installed wheel needs no YAML to explain."""
    if len(rest) > 1 or any(argument.startswith("-") for argument in rest):
        raise UsageError(
            place="explain",
            rule="without the code generator, one rule is explained at a time",
            found=" ".join(rest),
            wanted="a rule's id, or nothing for the list",
            fix="kv-canary explain RULE, or pip install 'kv-canary[codegen]'",
        )
    try:
        rules = import_module("kv_canary_kernels.rules")
    except ModuleNotFoundError as error:
        raise UsageError(
            place="explain",
            rule="the generated rule catalogue, or the code generator, must be there",
            found=f"no module `{error.name}`",
            wanted="kv-canary with its codegen extra",
            fix="pip install 'kv-canary[codegen]'",
        ) from error
    try:
        print(rules.explain(rest[0] if rest else None).rstrip())
    except rules.UnknownRuleError as error:
        print(f"kv-canary: {error}", file=sys.stderr)
        return 2
    return 0


def _help() -> str:
    def listed(commands: dict[str, str]) -> str:
        return "\n".join(f"  {name:<10}{meaning}" for name, meaning in commands.items())

    return f"""\
usage: kv-canary COMMAND [ARGUMENTS]

Find out who damaged the KV cache of a serving engine.

see it work:
{listed(_OWN)}

write and check kernels:
{listed(_FORWARDED)}

  --version prints the version; COMMAND --help prints a command's own help."""
