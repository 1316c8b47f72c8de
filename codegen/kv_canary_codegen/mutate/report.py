"""What became of mutants, as a table to read and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kv_canary_codegen.mutate.mutants import Family, Mutant
from kv_canary_codegen.mutate.run import Fate, Killer, Outcome, owner


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that one run found out."""

    outcomes: tuple[Outcome, ...]
    problems: tuple[str, ...]
    """About the reasons that the spec gives."""
    missing: Mapping[str, str]
    """Who could not be asked, and why."""
    files: Mapping[str, str]
    folder: str
    seconds: float

    @property
    def failures(self) -> int:
        """How many mutants survive without a reason, and reasons without a survivor."""
        survivors = sum(outcome.fate is Fate.SURVIVED for outcome in self.outcomes)
        return survivors + len(self.problems)

    def diff(self, mutant: Mutant) -> str:
        """A mutant's edit."""
        return mutant.diff(self.files, self.folder)


def lines_of(report: Report, *, every: bool = False) -> Iterator[str]:
    """The report as lines of text; with `every`, each mutant and who noticed it."""
    for family in Family:
        outcomes = [o for o in report.outcomes if o.mutant.family is family]
        if outcomes:
            yield from _table(family, outcomes)
    if every:
        yield ""
        for outcome in report.outcomes:
            by = f"{outcome.killer.value}: " if outcome.killer else ""
            said = f"  {outcome.said}" if outcome.said else ""
            yield f"{outcome.fate.value:>9}  {outcome.mutant.id}  {by}{outcome.by}{said}"
    for fate in (Fate.EXPLAINED, Fate.SURVIVED):
        for outcome in report.outcomes:
            if outcome.fate is fate:
                yield ""
                yield from _told(report, outcome)
    for killer, why in report.missing.items():
        yield f"not asked: {killer}: {why}"
    for problem in report.problems:
        yield f"problem: {problem}"
    yield ""
    survivors = sum(outcome.fate is Fate.SURVIVED for outcome in report.outcomes)
    verdict = "nothing survives unexplained" if not survivors else f"{survivors} survive"
    yield f"{verdict}, of {len(report.outcomes)} mutants in {report.seconds:.1f} s"


def _table(family: Family, outcomes: list[Outcome]) -> Iterator[str]:
    yield f"{family.value}: {_score(outcomes)}"
    killers = [k for k in Killer if any(o.killer is k for o in outcomes)]
    heads = ["mutants", *(killer.value for killer in killers), "explained", "survived"]
    width = max(24, *(len(owner(outcome.mutant)) for outcome in outcomes))
    yield "  ".join([f"{'':>{width}}", *(f"{head:>9}" for head in heads)])
    rows = dict.fromkeys(owner(outcome.mutant) for outcome in outcomes)
    for row in (*rows, "all"):
        own = [o for o in outcomes if row in (owner(o.mutant), "all")]
        counts = Counter[object](o.killer for o in own)
        fates = Counter(outcome.fate for outcome in own)
        numbers = [
            len(own),
            *(counts[killer] for killer in killers),
            fates[Fate.EXPLAINED],
            fates[Fate.SURVIVED],
        ]
        yield "  ".join([f"{row:>{width}}", *(f"{number:>9}" for number in numbers)])


def _score(outcomes: list[Outcome]) -> str:
    """The share that was noticed, of what the reader lets through."""
    fates = Counter(outcome.fate for outcome in outcomes)
    judged = len(outcomes) - fates[Fate.REFUSED]
    share = f"{100 * fates[Fate.KILLED] / judged:.1f} %" if judged else "none"
    told = f"{share} killed, {fates[Fate.KILLED]} of {judged}"
    if fates[Fate.EXPLAINED]:
        told += f"; {fates[Fate.EXPLAINED]} explained"
    if fates[Fate.SURVIVED]:
        told += f"; {fates[Fate.SURVIVED]} survive"
    return f"{told}; {fates[Fate.REFUSED]} more are no specs"


def _told(report: Report, outcome: Outcome) -> Iterator[str]:
    mutant = outcome.mutant
    place = f"{report.folder}/{mutant.file}:{mutant.line}"
    yield f"{outcome.fate.value}  {mutant.id}  {place}"
    yield f"  {mutant.words}"
    if outcome.fate is Fate.EXPLAINED:
        yield f"  {outcome.by}"
        return
    yield from (f"  {line}" for line in report.diff(mutant).rstrip("\n").split("\n"))


def as_json(report: Report) -> str:
    """The report for programs."""
    mutants = [
        {
            "id": o.mutant.id,
            "family": o.mutant.family.value,
            "file": f"{report.folder}/{o.mutant.file}",
            "line": o.mutant.line,
            "edit": o.mutant.words,
            "fate": o.fate.value,
            "killer": o.killer.value if o.killer else None,
            "by": o.by,
            "said": o.said,
            "seconds": round(o.seconds, 2),
            "diff": report.diff(o.mutant) if o.fate in (Fate.SURVIVED, Fate.EXPLAINED) else None,
        }
        for o in report.outcomes
    ]
    found = {
        "failures": report.failures,
        "problems": report.problems,
        "missing": dict(report.missing),
        "seconds": round(report.seconds, 1),
        "mutants": mutants,
    }
    return json.dumps(found, indent=2)
