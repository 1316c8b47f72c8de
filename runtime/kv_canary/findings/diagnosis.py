"""What is judged, entry by entry, before findings are made of it: spots and diagnoses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kv_canary.findings.decode import Violation
from kv_canary.findings.finding import Cause, Certainty
from kv_canary.findings.tables import Stamp, unsigned
from kv_canary_kernels.constants import FailReason

Key = tuple[object, ...]
"""Diagnoses of one cause that have a key in common are one fault."""

ADVICE = {
    Cause.ANOTHER_OWNER: "Look at who was given the slots: the allocator's free list, the code "
    "that frees a request's pages while another still reads them, and the prefix index's entries "
    "for freed pages. A stale or wrong entry of req_to_token looks the same, so look at the code "
    "that fills it too. The log of both rows, from the step that wrote last, may name the path.",
    Cause.NEVER_STAMPED: "Look at how these tokens came into the cache: a reload, transfer or copy "
    "of pages must move the canary buffers too, and every store must go through a forward that "
    "the canary sees. Check that the request's prefix length counts written tokens alone.",
    Cause.CHANGED_AFTER_STAMP: "Look for whatever wrote to these slots after the forward that "
    "stamped them: a copy or transfer that landed late, a store kernel with a wrong index, a "
    "reused buffer. `bracket=True` tells damage during a forward from damage between two.",
    Cause.SHIFTED: "Look at the code that fills req_to_token at a page boundary, after a reload "
    "and after a rollback: an index is off by the distance given here.",
    Cause.WINDOW_EDGE: "Look at the code that frees window slots and writes "
    "full_to_swa_index_mapping: when it counts a position as out of the window, and whether it "
    "clears the map's entry before the slot goes to somebody else.",
    Cause.WILD_SLOT: "Look at who wrote this entry of req_to_token, of the window map or of "
    "out_cache_loc: an uninitialised entry, an index into another pool, or a stray store.",
    Cause.WILD_ROW_OR_LENGTH: "Look at how the batch's req_pool_indices and prefix_lens are made: "
    "rows of finished requests, lengths of another request, uninitialised padding.",
    Cause.PADDING_SLOT: "Look at what cleared or never filled these entries of req_to_token: a row "
    "reset while its request still runs, a failed allocation that was not noticed, or padding "
    "that was copied into real places.",
    Cause.WRONG_INPUT: "Look at how input_ids, positions and prefix_lens of this forward were "
    "made; the expected values are the ones that the scheduler announced, and the positions that "
    "follow from prefix_lens.",
    Cause.OFFSETS: "Look at what wrote to the write plan between its launch and the stamps: its "
    "offsets come from extend_seq_lens and can only grow.",
    Cause.UNEXPLAINED: "Write a dump, and compare the stamps of the slot in all buffers.",
}
"""What to look at next, by cause."""

ADVICE_ON_DRAFTS = (
    "Look at the code that rolls back drafts after a rejection: it must give back their slots, and "
    "set the prefix length back. If the row's tokens were announced, look at what was announced."
)
"""What to look at next where a row reads a token that it wrote itself."""

ADVICE_ON_ENTRIES = (
    "Look at the entry of req_to_token first: the token was stored in another slot than the one "
    "that it names now, so the entry is stale or wrong, or the store was. Then look at copies and "
    "reloads of pages, which must move the canary buffers too."
)
"""What to look at next where the token is known to be in another slot than the table's."""

ADVICE_ON_PAGES = (
    "Look at the allocator's free list first: a page that this request still had seems to have "
    "been given to it again. Then look at the code that fills req_to_token and out_cache_loc: "
    "one page in two places of a row looks the same."
)
"""What to look at next where two positions of a row, whole pages apart, share their slot."""

ADVICE_ON_LENGTHS = (
    "Look at how positions and prefix_lens of the forward were made: one of them is behind. "
    "A rejected draft that still counts as cached looks like this: rolling it back must give back "
    "its slot, and set the prefix length back."
)
"""What to look at next where a batch's positions are lower than its prefix lengths say."""


_NOTHING = FailReason(0)


@dataclass(slots=True, kw_only=True, eq=False)
class Spot:
    """One cached token that failed: all violations about it, in all launches and steps."""

    group: str
    slot: int
    position: int
    """Expected position."""
    previous_slot: int
    violations: list[Violation] = field(default_factory=list)
    rows: tuple[int, ...] = ()
    """Rows that read it, in order."""

    opening: list[Violation] = field(default_factory=list)
    """The violations of the step that saw it first; later ones may see more damage."""
    later: list[Violation] = field(default_factory=list)
    """The others, oldest first."""
    reasons: FailReason = _NOTHING
    """What was wrong with its stamp or bytes in the step that saw it first."""
    first: Violation = field(init=False)
    """The violation that tells most, in the step that saw it first."""
    stored: Stamp = field(init=False)
    """The stamp that was found."""

    def settle(self) -> None:
        """Work the rest out once all violations are here; sweeps count as later than forwards."""
        times = [(each.phase == "sweep", each.step) for each in self.violations]
        first = min(times)
        pairs = list(zip(times, self.violations, strict=True))
        self.opening = [each for time, each in pairs if time == first]
        self.later = [
            each for time, each in sorted(pairs, key=lambda pair: pair[0]) if time != first
        ]
        self.rows = tuple(sorted({row for each in self.violations for row in each.rows}))
        for each in self.opening:
            self.reasons |= each.reasons & ~FailReason.SLOT_OUT_OF_RANGE
        # Of two that say the same, the tail's has hashes over the bytes.
        self.first = max(
            self.opening,
            key=lambda each: (each.reasons.bit_count(), each.phase != "head", -each.index),
        )
        self.stored = self.first.stored


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Diagnosis:
    """What one spot, or one row of another kind, most likely is."""

    cause: Cause
    certainty: Certainty
    group: str
    violations: tuple[Violation, ...]
    sentences: tuple[str, ...]
    """What was found, then why the cause is read from it."""
    rows: tuple[int, ...] = ()
    others: tuple[int, ...] = ()
    """Rows that hold or wrote what is there instead."""
    places: tuple[int, ...] = ()
    """Positions in those rows."""
    slots: tuple[int, ...] = ()
    keys: frozenset[Key] = frozenset()
    previous_slot: int = -1
    misplaced_to: int | None = None
    """Slot that the row's own token went to instead."""
    delta: int = 0
    """Distance of a shift, in tokens."""
    stored_delta: int = 0
    """Distance of the stored position from the expected one."""
    advice: str = ""
    """What to look at next, if it is not what the cause says."""
    is_foreign: bool = False
    """The stamp is another sequence's; what continues it is so too."""
    is_jump: bool = False
    """A written position does not continue the slot before, which may be the wrong one."""
    is_leftover: bool = False
    """The stamp was there before, or its owner is not known."""
    followers: tuple[Violation, ...] = ()
    """Violations of the next tokens, whose chain is broken by this one alone."""
    starts_afresh: bool = False
    """The stamp says that it begins a sequence, at a position that does not."""

    @property
    def first_step(self) -> int:
        """Number of the forward that reported it first."""
        return min(violation.step for violation in self.violations)


def misnumbered_cause(delta: int, prefix: int) -> tuple[Cause, Certainty, str]:
    """Return cause, certainty and advice where a batch's positions and prefix lengths differ.

    Args:
        delta: the position that was given, from the one that the prefix length gives.
        prefix: cached tokens of the request.
    """
    if prefix and delta < 0:
        # The length may count a token that was taken back, while the positions are right.
        return Cause.SHIFTED, "likely", ADVICE_ON_LENGTHS
    return Cause.WRONG_INPUT, "certain", ""


def rows_text(rows: Iterable[int]) -> str:
    """Return "row 3", "rows 3 and 5", or words for none."""
    texts = [str(row) for row in rows]
    if not texts:
        return "a row that cannot be told"
    if len(texts) == 1:
        return f"row {texts[0]}"
    shown = texts[:6] + ([f"{len(texts) - 6} more"] if len(texts) > 6 else [])
    return f"rows {', '.join(shown[:-1])} and {shown[-1]}"


def sentence_start(text: str) -> str:
    """Return the text with a capital letter in front."""
    return text[:1].upper() + text[1:]


def found_text(violation: Violation, rows: Iterable[int], position: int, slot: int) -> str:
    """Return the sentence that says what a verify row found, with all its numbers."""
    token = "unknown" if violation.expected_token < 0 else str(violation.expected_token)
    chain = unsigned(violation.expected_aux)
    if violation.previous_slot == 0:
        chain = "not compared"
    text = (
        f"{rows_text(rows)}, position {position}, slot {slot} (step {violation.step}, "
        f"{violation.launch_tag}): stored token {violation.stored_token}, position "
        f"{violation.position}, chain hash {unsigned(violation.stored_chain_hash)}; expected token "
        f"{token}, position {violation.expected_position}, chain hash {chain}; hash over the bytes "
        f"stored {unsigned(violation.stored_real_kv_hash)}, computed "
        f"{unsigned(violation.computed_real_kv_hash)}."
    )
    return sentence_start(text)


def place_keys(rows: Iterable[int], positions: Iterable[int]) -> set[Key]:
    """Return keys that neighbours in a row have in common."""
    at = list(positions)
    return {("place", row, each) for row in rows for p in at for each in (p, p + 1)}


def slot_keys(group: str, slots: Iterable[int]) -> set[Key]:
    """Return keys of slots that can hold a token; many faults share the others."""
    return {("slot", group, slot) for slot in slots if slot > 0}
