"""`prove [KERNEL ...]`: what can be said of a spec and its kernels without running them."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kv_canary_codegen.alone import run_alone
from kv_canary_codegen.model import Spec
from kv_canary_codegen.parse import read_spec
from kv_canary_codegen.proofs import FOLDER, read_proofs, text_of
from kv_canary_codegen.source import nearest
from kv_canary_codegen.write import CommandError

PROVED, REFUTED = 0, 1
MOST_WORKERS = 8
PARTS = ("rules", "contracts", "safety")


class ProveError(CommandError):
    """The command cannot be carried out."""


def add_parser(subparsers: Any) -> argparse.ArgumentParser:
    """Add the command to a command line; `run` of what it parses carries it out."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        "prove",
        help="prove rules, contracts and memory safety of the kernels",
        description="Prove with a solver: rules neither contradict nor idle, kernels that run one "
        "after another keep each other's contracts, and every load and store of every compiled "
        "kernel stays inside its tensor, for all sizes and contents. Exit 1: something is refuted "
        "or unproved.",
    )
    add_arguments(parser)
    parser.set_defaults(run=run)
    return parser


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("kernels", nargs="*", metavar="KERNEL", help="stems; all without")
    parser.add_argument("--spec", type=Path, default=Path("spec"), help="the spec folder")
    parser.add_argument(
        "--out", type=Path, default=None, help="the generated folder; as the spec says without"
    )
    parser.add_argument(
        "--only", choices=PARTS, action="append", default=None, help="one part of it, repeatable"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--all", action="store_true", help="show every access, not only totals")
    parser.add_argument(
        "--write-tests", type=Path, default=None, metavar="DIR",
        help="write a test for each counterexample",
    )  # fmt: skip
    parser.add_argument(
        "--record",
        action="store_true",
        help="write what is proved into proofs/ beside the spec, from where pages show it",
    )
    parser.add_argument("--no-cache", action="store_true", help="prove all of it anew")
    parser.add_argument("--cache", type=Path, default=None, help="where results are kept")
    parser.add_argument(
        "--workers", type=int, default=None, help="processes; as many as there are cores without"
    )
    parser.add_argument("--quiet", action="store_true", help="say nothing while it works")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command by itself; 0 all proved, 1 something not, 2 bad input."""
    return run_alone("prove", add_arguments, run, argv)


def run(arguments: argparse.Namespace) -> int:
    """Carry the command out.

    Raises:
        SpecError: The spec has mistakes.
        CommandError: The solver or Triton is missing, or a kernel is none.
    """
    _require_solver()
    from kv_canary_codegen.prove.report import as_json, lines_of, write_tests

    folder: Path = arguments.spec
    spec = read_spec(folder, folder.name)
    output = arguments.out or folder / spec.project.output
    stems = _chosen(spec, arguments.kernels)
    parts = tuple(arguments.only or PARTS)
    if arguments.record and set(parts) != set(PARTS):
        raise ProveError(
            place="--record",
            rule="what is recorded is everything about a kernel",
            found=f"--only {' '.join(parts)}",
            wanted="no --only",
            fix="prove --record",
        )
    report = report_of(
        spec,
        folder,
        output,
        stems=stems,
        parts=parts,
        cache_folder=None if arguments.no_cache else arguments.cache,
        keep=not arguments.no_cache,
        workers=arguments.workers or min(MOST_WORKERS, os.cpu_count() or 1),
        said=None if arguments.quiet else _Progress(),
    )
    if arguments.json:
        print(as_json(report))
    else:
        print("\n".join(lines_of(report, every_access=arguments.all)))
    if arguments.write_tests is not None:
        for path in write_tests(report, arguments.write_tests, folder, output):
            print(f"wrote {path}", file=sys.stderr)
    if arguments.record:
        _record(report, spec, folder, output, stems)
    return REFUTED if report.failures else PROVED


class _Progress:
    """Says on a terminal's error stream, or now and then elsewhere, how far the work is."""

    def __init__(self) -> None:
        self.start = self.last = time.monotonic()

    def __call__(self, done: int, count: int) -> None:
        now = time.monotonic()
        if now - self.last < (1 if sys.stderr.isatty() else 30):
            return
        self.last = now
        seconds = now - self.start
        end = "\r" if sys.stderr.isatty() else "\n"
        print(f"prove: {done} of {count} variants, {seconds:.0f} s", end=end, file=sys.stderr)


def _record(report: Any, spec: Spec, folder: Path, output: Path, stems: Sequence[str]) -> None:
    """Write the files of proofs; none of a run in which something was not proved."""
    from kv_canary_codegen.prove.reasons import read_reasons
    from kv_canary_codegen.prove.record import recorded

    if report.failures:
        print("prove: nothing is recorded, since not everything is proved", file=sys.stderr)
        return
    kept = read_reasons(folder).kept
    contracts = {contract.kernel: contract for contract in report.contracts}
    texts = {
        folder / FOLDER / f"{kernel.stem}.json": text_of(
            recorded(
                spec,
                output,
                kernel,
                kept,
                contracts[kernel.stem],
                tuple(v for v in report.variants if v.stem == kernel.stem),
            )
        )
        for kernel in spec.kernels
        if kernel.stem in stems
    }
    (folder / FOLDER).mkdir(exist_ok=True)
    for path, text in texts.items():
        staged = path.with_suffix(f".{os.getpid()}")
        staged.write_text(text, encoding="utf-8")
        staged.replace(path)
    for path in sorted((folder / FOLDER).glob("*.json")):
        if path.stem not in {kernel.stem for kernel in spec.kernels}:
            path.unlink()
    print(f"recorded {len(texts)} kernels in {folder / FOLDER}; generate shows it", file=sys.stderr)


def report_of(
    spec: Spec,
    folder: Path,
    output: Path,
    *,
    stems: Sequence[str],
    parts: Sequence[str] = PARTS,
    cache_folder: Path | None = None,
    keep: bool = True,
    workers: int = 1,
    said: Callable[[int, int], None] | None = None,
) -> Any:
    """Everything that can be said about some kernels.

    Args:
        spec: The spec.
        folder: Its folder, for the reasons that it gives and the proofs beside it.
        output: The generated folder.
        stems: Of the kernels that are looked at.
        parts: rules, contracts, safety.
        cache_folder: Where results are kept; None: in the user's cache.
        keep: Whether they are kept at all; if not, neither is what was recorded taken.
        workers: Processes to work in.
        said: Is told how many variants are done, of how many.
    """
    from kv_canary_codegen.prove.arguments import variants_of
    from kv_canary_codegen.prove.cache import Cache, default_folder
    from kv_canary_codegen.prove.contracts import checked_chains
    from kv_canary_codegen.prove.engine import proved
    from kv_canary_codegen.prove.lowering import LoweringError
    from kv_canary_codegen.prove.reasons import read_reasons
    from kv_canary_codegen.prove.record import contract_of, stands, variants_from
    from kv_canary_codegen.prove.report import Report, waived
    from kv_canary_codegen.prove.rules import checked_rules, idle_reasons
    from kv_canary_codegen.search import Search

    start = time.monotonic()
    reasons = read_reasons(folder)
    cache = Cache((cache_folder or default_folder(spec.project.name)) if keep else None)
    chosen = [kernel for kernel in spec.kernels if kernel.stem in stems]
    on_record = read_proofs(folder) if keep else {}
    standing = {
        kernel.stem: on_record[kernel.stem]
        for kernel in chosen
        if kernel.stem in on_record
        and stands(on_record[kernel.stem], spec, output, kernel, reasons.kept)
    }
    contracts = []
    problems: list[str] = []
    if "rules" in parts:
        for kernel in chosen:
            if kernel.stem in standing:
                contracts.append(contract_of(standing[kernel.stem]))
                continue
            known = cache.rules(spec, kernel, reasons.kept)
            if known is None:
                known = checked_rules(spec, kernel, Search(spec, kernel), reasons.kept)
                cache.keep_rules(spec, kernel, reasons.kept, known)
            contracts.append(known)
        if len(contracts) == len(spec.kernels):
            problems += idle_reasons(contracts, reasons.kept)
    chains = [
        chain
        for chain in (checked_chains(spec) if "contracts" in parts else ())
        if chain.follow_up in stems or len(stems) == len(spec.kernels)
    ]
    variants: tuple[Any, ...] = ()
    if "safety" in parts:
        jobs = [
            (kernel, variant)
            for kernel in chosen
            if kernel.stem not in standing
            for variant in variants_of(kernel, spec)
        ]
        try:
            fresh = proved(
                spec, output, jobs, workers=workers, cache=cache, said=said or (lambda *_: None)
            )
        except LoweringError as error:
            raise ProveError(
                place="triton",
                rule="kernels are proved from the IR that Triton compiles them to",
                found=str(error),
                wanted="a Triton that can be imported, and a generated folder that is whole",
                fix="install triton, and run generate",
            ) from error
        found = [
            result
            for kernel in chosen
            for result in (
                variants_from(standing[kernel.stem], spec, kernel)
                if kernel.stem in standing
                else (result for result in fresh if result.stem == kernel.stem)
            )
        ]
        variants, unused = waived(found, reasons.waivers)
        problems += unused if len(stems) == len(spec.kernels) else ()
    return Report(
        variants=variants,
        contracts=tuple(contracts),
        chains=tuple(chains),
        problems=tuple(problems),
        recorded=tuple(standing),
        seconds=time.monotonic() - start,
    )


def _require_solver() -> None:
    try:
        import z3  # noqa: F401
    except ImportError as error:
        raise ProveError(
            place="z3",
            rule="prove needs the solver z3",
            found=str(error),
            wanted="the extra `prove`",
            fix='pip install "kv-canary[prove]"',
        ) from error


def _chosen(spec: Spec, stems: Sequence[str]) -> tuple[str, ...]:
    known = [kernel.stem for kernel in spec.kernels]
    for stem in stems:
        if stem not in known:
            near = nearest(stem, known)
            raise ProveError(
                place=stem,
                rule="a kernel is called by its stem",
                found=stem,
                wanted=", ".join(known),
                fix=f"prove {near}" if near else "prove",
            )
    return tuple(stems or known)
