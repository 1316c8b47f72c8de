"""The error that a canary in raise mode raises, with its findings in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kv_canary.findings.finding import Finding


class CanaryError(RuntimeError):
    """The KV cache was found damaged; the text says by what, the findings hold all of it.

    It survives pickle, so that a worker process can raise it in its parent.

    Args:
        findings: what was found, the gravest first; at least one.
        note: what else the reader should know, such as where a dump was written; or nothing.
    """

    def __init__(self, findings: tuple[Finding, ...], note: str = "") -> None:
        super().__init__(findings, note)
        self.findings = tuple(findings)
        self.note = note

    def __str__(self) -> str:
        count = len(self.findings)
        found = "1 finding" if count == 1 else f"{count} findings"
        parts = [f"kv-canary: {found} in the KV cache", *map(str, self.findings)]
        return "\n\n".join([*parts, self.note] if self.note else parts)
