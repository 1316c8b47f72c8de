"""What was found out, as a table to read, as JSON, and as tests to run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kv_canary_codegen.prove.contracts import ChainResult
from kv_canary_codegen.prove.replay import GivenNumber, GivenTensor
from kv_canary_codegen.prove.results import AccessResult, VariantResult
from kv_canary_codegen.prove.rules import ContractResult, Verdict
from kv_canary_codegen.prove.safety import Status

BAD = (Verdict.REFUTED, Verdict.UNPROVED)
SHOWN_VARIANTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that one run found out."""

    variants: tuple[VariantResult, ...]
    contracts: tuple[ContractResult, ...]
    chains: tuple[ChainResult, ...]
    problems: tuple[str, ...]
    """About the reasons that the spec gives."""
    recorded: tuple[str, ...]
    """Kernels of which the proofs beside the spec stand, so that nothing was asked anew."""
    seconds: float

    @property
    def failures(self) -> int:
        """How many things are refuted, or not proved and not waived."""
        accesses = sum(
            access.status is not Status.PROVED and not access.waiver
            for variant in self.variants
            for access in variant.accesses
        )
        errors = sum(
            bool(variant.error) or variant.in_text != len(variant.accesses)
            for variant in self.variants
        )
        rules = sum(
            (not contract.witness)
            + sum(rule.verdict in BAD for rule in contract.rules)
            + sum(number.verdict in BAD for number in contract.numbers)
            for contract in self.contracts
        )
        chains = sum(chain.verdict in BAD for chain in self.chains)
        return accesses + errors + rules + chains + len(self.problems)


def waived(
    variants: Iterable[VariantResult], waivers: Mapping[str, str]
) -> tuple[tuple[VariantResult, ...], tuple[str, ...]]:
    """Variants with waivers where the spec has them, and waivers that nothing needs."""
    used: set[str] = set()
    found = []
    for variant in variants:
        accesses = []
        for access in variant.accesses:
            key = waiver_key(variant.stem, access)
            if access.status is Status.UNPROVED and key in waivers:
                used.add(key)
                access = replace(access, waiver=waivers[key])
            accesses.append(access)
        found.append(replace(variant, accesses=tuple(accesses)))
    return tuple(found), tuple(
        f"the waiver of `{key}` is for nothing that is unproved"
        for key in waivers
        if key not in used
    )


def waiver_key(stem: str, access: AccessResult) -> str:
    """What a waiver calls an access."""
    return f"{stem}: {access.kind} {' or '.join(access.arguments)}"


@dataclass(frozen=True, slots=True)
class _Row:
    """One access of a kernel over all the variants that have it."""

    kind: str
    arguments: tuple[str, ...]
    line: int | None
    source: str


def rows_of(variants: Iterable[VariantResult]) -> dict[str, dict[_Row, Counter[str]]]:
    """By kernel, each access and how often it is what."""
    found: dict[str, dict[_Row, Counter[str]]] = {}
    for variant in variants:
        rows = found.setdefault(variant.stem, {})
        for access in variant.accesses:
            row = _Row(access.kind, access.arguments, access.line, access.source)
            rows.setdefault(row, Counter())[_word(access)] += 1
    return found


def _remarks(variants: Iterable[VariantResult]) -> dict[tuple[str, _Row], list[str]]:
    found: dict[tuple[str, _Row], list[str]] = {}
    for variant in variants:
        for access in variant.accesses:
            row = _Row(access.kind, access.arguments, access.line, access.source)
            said = found.setdefault((variant.stem, row), [])
            if access.remark and access.remark not in said:
                said.append(access.remark)
    return found


def _word(access: AccessResult) -> str:
    if access.status is Status.UNPROVED and access.waiver:
        return "waived"
    if access.remark:
        return "proved*"
    return access.status.value


def lines_of(report: Report, *, every_access: bool = False) -> Iterator[str]:
    """The report as lines of text."""
    yield from _safety_lines(report, every_access)
    yield from _rule_lines(report)
    if report.chains:
        good = sum(chain.verdict is Verdict.FINE for chain in report.chains)
        yield ""
        yield f"contracts between kernels: {good} of {len(report.chains)} requirements hold"
        for chain in report.chains:
            if chain.verdict is not Verdict.FINE:
                yield f"  {chain.verdict.value}  {chain.launcher} runs {chain.follow_up}, which "
                yield f"    requires {chain.requires}"
                yield f"    {chain.example}"
    for problem in report.problems:
        yield f"problem: {problem}"
    yield ""
    verdict = "all proved" if not report.failures else f"{report.failures} not proved or refuted"
    yield f"{verdict}, in {report.seconds:.1f} s"


def _safety_lines(report: Report, every_access: bool) -> Iterator[str]:
    if not report.variants:
        return
    yield "memory safety: every access of the compiled kernels, for all sizes and contents"
    heads = ("kernel", "variants", "accesses", "proved", "refuted", "unproved", "waived")
    yield "  ".join(f"{head:>{22 if head == 'kernel' else 9}}" for head in heads)
    by_stem: dict[str, list[VariantResult]] = {}
    for variant in report.variants:
        by_stem.setdefault(variant.stem, []).append(variant)
    remarked = False
    for stem, variants in by_stem.items():
        accesses = [access for variant in variants for access in variant.accesses]
        waivers = sum(bool(access.waiver) for access in accesses)
        starred = any(access.remark for access in accesses)
        remarked = remarked or starred
        numbers = (
            len(variants), len(accesses), *(sum(a.status is s for a in accesses) for s in Status)
        )  # fmt: skip
        texts = [*map(str, numbers), str(waivers)]
        texts[2] += "*" if starred else ""
        texts[4] = str(numbers[4] - waivers)
        yield "  ".join([f"{stem:>22}", *(f"{text:>9}" for text in texts)])
    impossible = sum(variant.impossible for variant in report.variants)
    if impossible:
        yield f"  {impossible} of the variants are taken by no call that the rules allow"
    if report.recorded:
        yield f"  as recorded beside the spec, and unchanged since: {', '.join(report.recorded)}"
    if remarked:
        yield "  * inside their tensors; of some, an index may wrap before it is compared (--all)"
    for variant in report.variants:
        if variant.error:
            yield f"unproved  {variant.stem} ({variant.variant}): {variant.error[-500:]}"
        elif variant.in_text != len(variant.accesses):
            yield (
                f"unproved  {variant.stem} ({variant.variant}): the IR has {variant.in_text} "
                f"accesses, and {len(variant.accesses)} were found"
            )
    remarks = _remarks(report.variants)
    for stem, rows in rows_of(report.variants).items():
        for row, counts in rows.items():
            if every_access or set(counts) - {"proved", "proved*"}:
                words = ", ".join(f"{count} {word}" for word, count in counts.items())
                place = f"{stem}.py:{row.line}" if row.line else stem
                yield f"  {place}  {row.kind} {' or '.join(row.arguments)}  {words}"
                if every_access:
                    yield f"      {row.source}"
                    yield from (f"      * {remark}" for remark in remarks[stem, row])
    yield from _broken_lines(report)


def _broken_lines(report: Report) -> Iterator[str]:
    said: set[tuple[str, int | None, str]] = set()
    for variant in report.variants:
        for access in variant.accesses:
            key = (variant.stem, access.line, access.kind)
            if access.status is Status.PROVED or key in said or variant.error:
                continue
            said.add(key)
            yield ""
            yield f"{access.status.value}  {variant.stem} ({variant.variant})"
            yield f"  {access.source or access.kind}"
            yield f"  {access.waiver or access.reason}"
            if access.counterexample is not None:
                yield "  faults under the interpreter with"
                yield from (f"    {line}" for line in _call_lines(access))


def _call_lines(access: AccessResult) -> Iterator[str]:
    assert access.counterexample is not None
    for given in access.counterexample.call:
        if isinstance(given, GivenTensor):
            contents = ", ".join(f"[{place}]={value}" for place, value in given.contents[:8])
            more = " ..." if len(given.contents) > 8 else ""
            shape = ", ".join(map(str, given.shape))
            yield f"{given.path}: {given.dtype}[{shape}] {contents}{more}".rstrip()
        elif isinstance(given, GivenNumber):
            yield f"{given.path}: {given.value}"


def _rule_lines(report: Report) -> Iterator[str]:
    if not report.contracts:
        return
    yield ""
    yield "rules: none contradicts another, none is idle, none is said twice"
    heads = ("kernel", "rules", "fine", "kept", "larger", "refuted", "unproved", "numbers")
    yield "  ".join(f"{head:>{22 if head == 'kernel' else 9}}" for head in heads)
    for contract in report.contracts:
        counts = Counter(rule.verdict for rule in contract.rules)
        texts = [str(len(contract.rules)), *(str(counts[verdict]) for verdict in Verdict)]
        yield "  ".join(
            [f"{contract.kernel:>22}", *(f"{t:>9}" for t in (*texts, len(contract.numbers)))]
        )
    for contract in report.contracts:
        if not contract.witness:
            yield f"refuted  {contract.kernel}: the rules contradict each other, no call is valid"
        for rule in contract.rules:
            if rule.verdict in (*BAD, Verdict.LARGER):
                yield f"{rule.verdict.value}  {contract.kernel}: {rule.rule}"
                yield f"    {rule.reason}"
        for number in contract.numbers:
            if number.verdict in BAD:
                yield f"{number.verdict.value}  {contract.kernel}: {number.text} ({number.where})"
                yield f"    passes int64: {number.example}"


def as_json(report: Report) -> str:
    """The report for programs."""
    return json.dumps({**asdict(report), "failures": report.failures}, default=_value, indent=2)


def _value(item: Any) -> Any:
    if isinstance(item, Status | Verdict):
        return item.value
    return str(item)


TEST = '''"""{stem}: {kind} {argument} leaves its tensor, in the variant: {variant}.

Found by `prove`. It fails as long as the kernel's line {line} is as it was:

    {source}
"""

import json
from pathlib import Path

from kv_canary_codegen.parse import read_spec
from kv_canary_codegen.prove.replay import call_of, replayed

SPEC = Path({spec!r})
OUTPUT = Path({output!r})
CALL = json.loads(
    """
{call}
"""
)


def test_{stem}_stays_inside_{name}():
    spec = read_spec(SPEC, "spec")
    kernel = next(k for k in spec.kernels if k.stem == {stem!r})
    replay = replayed(spec, kernel, OUTPUT, [call_of(CALL)])
    assert replay.failed == ""
    assert replay.faulted is None, f"an access outside, in line {{replay.line}}"
'''


def write_tests(report: Report, folder: Path, spec: Path, output: Path) -> tuple[Path, ...]:
    """A test of each counterexample, ready to run; each fails until its fault is mended."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for variant in report.variants:
        for access in variant.accesses:
            if access.counterexample is None:
                continue
            argument = "_or_".join(access.arguments)
            call = json.dumps([asdict(given) for given in access.counterexample.call], indent=1)
            path = folder / f"test_prove_{variant.stem}_{argument}_{len(written)}.py"
            path.write_text(
                TEST.format(
                    stem=variant.stem,
                    kind=access.kind,
                    argument=argument,
                    name=argument,
                    variant=variant.variant,
                    line=access.line,
                    source=access.source,
                    spec=str(spec.resolve()),
                    output=str(output.resolve()),
                    call=call.replace("\\", "\\\\"),
                ),
                encoding="utf-8",
            )
            written.append(path)
    return tuple(written)
