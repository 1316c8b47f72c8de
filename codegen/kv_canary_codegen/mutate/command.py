"""`mutate [KERNEL ...]`: small faults in a spec, and who notices them."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kv_canary_codegen.alone import run_alone
from kv_canary_codegen.source import nearest

if TYPE_CHECKING:
    from kv_canary_codegen.mutate.edited import Editor
    from kv_canary_codegen.mutate.mutants import Mutant
    from kv_canary_codegen.mutate.run import Outcome

NOTICED, SURVIVED = 0, 1
FAMILIES = ("rules", "bodies", "guards")


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to a command line; `run` of what it parses carries it out."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "mutate",
        help="put small faults into rules and bodies, and say which of them nobody notices",
        description="Edit a spec in memory, one small fault at a time, generate from it, and ask "
        "the project's tests, the generated ones and the prover. Exit 1: a mutant survives that "
        "mutate.yaml does not explain, or it explains one that does not.",
    )
    add_arguments(parser)
    parser.set_defaults(run=run)
    return parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument(
        "owners", nargs="*", metavar="KERNEL",
        help="stems, structs, or fragments/NAME and functions/NAME; all without",
    )  # fmt: skip
    parser.add_argument("--spec", type=Path, default=Path("spec"), help="the spec folder")
    parser.add_argument("--tests", type=Path, default=Path("tests"), help="the hand-written tests")
    parser.add_argument(
        "--only", choices=FAMILIES, action="append", default=None, help="one family, repeatable"
    )
    parser.add_argument("--mutant", default=None, metavar="ID", help="one mutant, with its diff")
    parser.add_argument("--list", action="store_true", help="name the mutants, and judge none")
    parser.add_argument("--sample", type=int, default=None, metavar="N", help="some of them")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N", help="processes for bodies and guards"
    )
    parser.add_argument(
        "--journal", type=Path, default=None, metavar="FILE",
        help="write down each outcome, and pass over bodies' mutants that it says are killed",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--all", action="store_true", help="show every mutant, not only survivors")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command by itself; 0 all noticed or explained, 1 something not, 2 bad input."""
    return run_alone("mutate", add_arguments, run, argv)


def run(arguments: argparse.Namespace) -> int:
    """Carry the command out.

    Raises:
        SpecError: The spec has mistakes.
        CommandError: A word names nothing, or tests fail that nothing was edited for.
    """
    from kv_canary_codegen.mutate.edited import Editor
    from kv_canary_codegen.mutate.mutants import Family
    from kv_canary_codegen.mutate.reasons import read_reasons
    from kv_canary_codegen.mutate.report import Report, as_json, lines_of
    from kv_canary_codegen.mutate.run import Journal, Run, mutants_of, sampled, stale

    start = time.monotonic()
    folder: Path = arguments.spec
    _require_numbers(arguments)
    reasons = read_reasons(folder)
    with tempfile.TemporaryDirectory(prefix="mutate-") as place:
        editor = Editor(folder, Path(place))
        every = mutants_of(editor, tuple(Family))
        mutants = _chosen(editor, every, arguments)
        mutants = sampled(mutants, arguments.sample, arguments.seed)
        if arguments.list:
            print("\n".join(mutant.id for mutant in mutants))
            return NOTICED
        judging = Run(
            editor,
            arguments.tests,
            reasons,
            Path(place),
            journal=Journal(arguments.journal),
            heard=_told if sys.stderr.isatty() else lambda outcome: None,
        )
        outcomes = judging.outcomes(mutants, arguments.workers)
        report = Report(
            outcomes=outcomes,
            problems=stale(reasons.survivors, outcomes, every),
            missing=judging.missing,
            files={**editor.files, **editor.kernels},
            folder=folder.name,
            seconds=time.monotonic() - start,
        )
    if arguments.json:
        print(as_json(report))
    else:
        if arguments.mutant is not None:
            print(report.diff(mutants[0]))
        every_one = arguments.all or arguments.mutant is not None
        print("\n".join(lines_of(report, every=every_one)))
    return SURVIVED if report.failures else NOTICED


def _told(outcome: Outcome) -> None:
    """One line as each mutant is done, for whoever waits at a terminal."""
    print(f"{outcome.fate.value}  {outcome.mutant.id}", file=sys.stderr)


def _require_numbers(arguments: argparse.Namespace) -> None:
    from kv_canary_codegen.mutate.judging import MutateError

    for name in ("sample", "workers"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise MutateError(
                place=f"--{name}",
                rule="it counts something",
                found=str(value),
                wanted="1 or more",
                fix=f"--{name} 1",
            )


def _chosen(
    editor: Editor, every: Sequence[Mutant], arguments: argparse.Namespace
) -> tuple[Mutant, ...]:
    """The mutants that the command line names."""
    from kv_canary_codegen.mutate.judging import MutateError
    from kv_canary_codegen.mutate.run import owner

    if arguments.mutant is not None:
        named = tuple(mutant for mutant in every if mutant.id == arguments.mutant)
        if not named:
            near = nearest(arguments.mutant, [mutant.id for mutant in every])
            raise MutateError(
                place="--mutant",
                rule="a mutant is called by its id",
                found=arguments.mutant,
                wanted=f"`{near}`, perhaps" if near else "an id that `mutate --list` prints",
                fix="mutate --list",
            )
        return named
    families = arguments.only or FAMILIES
    known = list(dict.fromkeys(owner(mutant) for mutant in every))
    for name in arguments.owners:
        if name not in known:
            near = nearest(name, known)
            raise MutateError(
                place=name,
                rule="a kernel is called by its stem",
                found=name,
                wanted=", ".join(known),
                fix=f"mutate {near}" if near else "mutate",
            )
    return tuple(
        mutant
        for mutant in every
        if mutant.family.value in families
        and (not arguments.owners or owner(mutant) in arguments.owners)
    )
