"""Findings as people and programs read them: text, one summary line, JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from kv_canary.findings.decode import log_line
from kv_canary.findings.finding import Finding
from kv_canary.findings.snapshot import Snapshot

__all__ = ["log_line", "report_json", "report_text", "summary_line"]

JSON_VERSION = 1
"""Version of the keys of report_json; a key may be added without a new one."""


def report_text(findings: Sequence[Finding], snapshot: Snapshot) -> str:
    """Return a numbered block a finding, and the summary line.

    Args:
        findings: what was found in the snapshot.
        snapshot: where rows lost and coverage are read from.
    """
    blocks = [f"{number}. {finding}" for number, finding in enumerate(findings, start=1)]
    return "\n\n".join([*blocks, summary_line(findings, snapshot)])


def summary_line(findings: Sequence[Finding], snapshot: Snapshot) -> str:
    """Return how much was found, lost and checked, in one line.

    Args:
        findings: what was found in the snapshot.
        snapshot: where rows lost and coverage are read from.
    """
    count, seen, lost = len(findings), snapshot.violation_count, _lost(snapshot)
    parts = [
        f"{count or 'no'} finding{'' if count == 1 else 's'}",
        f"{seen:,} violation{'' if seen == 1 else 's'}",
    ]
    if lost:
        parts.append(f"{lost:,} of them lost, the ring was full")
    parts += [
        f"last forward checked {checked:,} of {wanted:,} {name} entries ({checked / wanted:.0%})"
        for name, wanted, checked in _coverage(snapshot)
        if wanted
    ]
    return "; ".join(parts)


def report_json(findings: Sequence[Finding], snapshot: Snapshot) -> str:
    """Return one JSON object with stable keys.

    `version`; `findings`: a list, each with the fields of Finding, in which `positions` and `slots`
    are lists of [first, last] and hashes texts like 0x0123456789abcdef; `violations_seen`,
    `violations_recorded`, `violations_lost`; `coverage`: by group, `wanted` and `checked` entries
    of the last forward.

    Args:
        findings: what was found in the snapshot.
        snapshot: where rows lost and coverage are read from.
    """
    return json.dumps(
        {
            "version": JSON_VERSION,
            "findings": [finding.to_json() for finding in findings],
            "violations_seen": snapshot.violation_count,
            "violations_recorded": len(snapshot.violations),
            "violations_lost": _lost(snapshot),
            "coverage": {
                name: {"wanted": wanted, "checked": checked}
                for name, wanted, checked in _coverage(snapshot)
            },
        },
        indent=2,
    )


def _lost(snapshot: Snapshot) -> int:
    return max(0, snapshot.violation_count - len(snapshot.violations))


def _coverage(snapshot: Snapshot) -> list[tuple[str, int, int]]:
    """Return name, entries wanted and entries checked of every group."""
    return [
        (group.name, wanted, snapshot.verify_checked.get(group.name, 0))
        for group in snapshot.groups
        if (wanted := snapshot.verify_wanted.get(group.name)) is not None
    ]
