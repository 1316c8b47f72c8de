"""What is found out about variants of kernels."""

from __future__ import annotations

from dataclasses import dataclass

from kv_canary_codegen.prove.counterexample import Counterexample
from kv_canary_codegen.prove.safety import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessResult:
    """One row of the table."""

    number: int
    """Its place among the accesses of its variant, in the IR's order."""
    kind: str
    arguments: tuple[str, ...]
    line: int | None
    """In the kernel's generated file."""
    source: str
    """That line."""
    status: Status
    reason: str
    """Why it is not proved."""
    remark: str
    """What may wrap before the index is compared, which is safe and perhaps not meant."""
    counterexample: Counterexample | None = None
    waiver: str = ""
    """The spec's sentence for leaving it unproved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VariantResult:
    """The accesses of one variant."""

    stem: str
    variant: str
    accesses: tuple[AccessResult, ...]
    in_text: int
    """Accesses that the IR's text holds, counted by themselves."""
    not_modelled: tuple[tuple[str, int], ...]
    """Operations whose results are unknown here."""
    notes: tuple[str, ...]
    """Parameters, sizes and rules that the solver was not told."""
    questions: int
    ir: str = ""
    """A digest of the IR."""
    impossible: bool = False
    """Whether no call that the rules allow takes it; then its accesses are not looked at."""
    error: str = ""
    """Why there is no IR, if there is none."""

    def count(self, status: Status) -> int:
        """How many accesses have a status."""
        return sum(access.status is status for access in self.accesses)
