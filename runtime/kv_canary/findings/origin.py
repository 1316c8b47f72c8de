"""Whose a stamp is: asked of the tables, of the chain of hashes and of the recorded batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kv_canary.findings.diagnosis import rows_text
from kv_canary.findings.finding import Certainty
from kv_canary.findings.tables import Stamp, Tables, Write
from kv_canary.reference._hashes import ANCHOR_HASH

Kind = Literal["own", "other", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a stamp comes from."""

    kind: Kind
    """own: of the very row that reads it; other: of another sequence."""
    certainty: Certainty
    rows: tuple[int, ...] = ()
    """Rows whose stamp it is, if it is another sequence's."""
    sentences: tuple[str, ...] = ()


UNKNOWN_ORIGIN = Origin(kind="unknown", certainty="possible")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A stamp that stands where another is expected."""

    group: str
    slot: int
    position: int
    """Expected position."""
    previous_slot: int
    """Slot of the expected predecessor."""
    rows: tuple[int, ...]
    """Rows that read the slot."""
    stamp: Stamp
    sound_below: dict[int, int]
    """By row, the position below which its stamps are sound."""


def origin_of(question: Question, tables: Tables) -> Origin:
    """Return whose stamp it is, by the most exact test that the snapshot has data for."""
    clues = _Clues(question, tables)
    if not clues.is_position:
        return UNKNOWN_ORIGIN
    for test in (
        clues.written_last,
        clues.own_by_chain,
        clues.held_and_chained,
        clues.own_by_record,
        clues.chained_elsewhere,
        clues.left_in_own_row,
        clues.own_by_table,
        clues.held_by_table,
        clues.chained_to_nobody,
    ):
        origin = test()
        if origin is not None:
            return origin
    return UNKNOWN_ORIGIN


class _Clues:
    """The tests, each of which tells an origin or nothing."""

    def __init__(self, question: Question, tables: Tables) -> None:
        self.question = question
        self.tables = tables
        group, stamp = question.group, question.stamp
        self.is_position = 0 <= stamp.position < tables.columns
        self.is_elsewhere = stamp.position != question.position
        self.starts_sequence = stamp.position == 0 and stamp.prev_hash == ANCHOR_HASH
        if not self.is_position:
            return
        self.predecessors = tables.predecessors(group, stamp.prev_hash)
        # Rows that read the slot, and have a token at the stamp's position.
        self.own_rows = tuple(row for row in question.rows if is_within(row, question, tables))
        # Rows that hold a predecessor of the stamp one position before it, with its slot.
        self.chained: dict[int, int] = {}
        if stamp.position > 0:
            for slot in self.predecessors:
                for row in tables.owners(group, slot, stamp.position - 1):
                    self.chained.setdefault(row, slot)
        self.holding = tuple(
            row
            for row in tables.owners(group, question.slot, stamp.position)
            if row not in question.rows and self._can_be_other(row)
        )

    def _fits(self, row: int) -> bool | None:
        """Whether the stamp's token is the row's at that position, or None if nobody knows."""
        expected = self.tables.expected_token(row, self.question.stamp.position)
        return None if expected is None else expected == self.question.stamp.token

    def _can_be_other(self, row: int) -> bool:
        """Whether a row that holds the slot may have stamped it, and does not just share it."""
        question = self.question
        fits = self._fits(row)
        if fits is False:
            return False
        if self.is_elsewhere:
            return True
        before = self.tables.slot_at(question.group, row, question.position - 1)
        return fits is True or before != question.previous_slot

    def _is_in_own_row(self, slot: int, row: int) -> bool:
        """Whether a row's predecessor lies in the reading row too, out of its turn.

        A row that is no longer in use may map slots that the reading row has now: its chain then
        leads through the reading row's own tokens.
        """
        question = self.question
        if slot == question.previous_slot or self._fits(row):
            return False
        return any(self.tables.is_in_row(question.group, each, slot) for each in question.rows)

    def _chain_text(self, row: int) -> str:
        slot, position = self.chained[row], self.question.stamp.position
        return (
            f"The stored chain hash is the successor of the stamp in slot {slot}, which is row "
            f"{row}'s position {position - 1}."
        )

    def _token_text(self, row: int) -> str:
        return f" and token {self.question.stamp.token} there" if self._fits(row) else ""

    def held_and_chained(self) -> Origin | None:
        """Another row maps the position to this slot, and its chain leads to the stamp."""
        position, slot = self.question.stamp.position, self.question.slot
        proven = tuple(
            row
            for row in self.holding
            if self.starts_sequence
            or (row in self.chained and not self._is_in_own_row(self.chained[row], row))
        )
        if not proven:
            return None
        first = proven[0]
        held = f"{rows_text(proven)} maps its position {position} to slot {slot} as well"
        if len(proven) > 1:
            held = held.replace(" maps its ", " map their ")
        sentences = [f"{held[:1].upper()}{held[1:]}{self._token_expected(first)}."]
        if first in self.chained:
            sentences.append(self._chain_text(first))
        else:
            sentences.append("The stamp begins a sequence, as position 0 of that row does.")
        return Origin(kind="other", certainty="certain", rows=proven, sentences=tuple(sentences))

    def _token_expected(self, row: int) -> str:
        return f", where token {self.question.stamp.token} is expected" if self._fits(row) else ""

    def own_by_chain(self) -> Origin | None:
        """The row's own tokens give the stamp's chain hash at the stamp's position."""
        if not self.is_elsewhere:
            return None
        question, stamp = self.question, self.question.stamp
        for row in self.own_rows:
            sound_below = question.sound_below.get(row, question.position)
            fits = self._fits(row)
            if fits is None and stamp.position < sound_below:
                fits = self._is_stamp_of(row)
            chain = self.tables.own_chain(
                question.group, row, stamp.position, sound_below=sound_below
            )
            if fits is False or (fits is None and stamp.position == 0):
                # Every sequence has the same chain hash at position 0.
                continue
            if chain == stamp.prev_hash:
                text = (
                    f"Recomputed from row {row}'s own tokens, position {stamp.position} has "
                    "exactly the chain hash that is stored."
                )
                # Without the token it may be another continuation of the same tokens.
                return Origin(
                    kind="own", certainty="certain" if fits else "likely", sentences=(text,)
                )
            if chain is None and row in self.chained and fits:
                text = (
                    f"Token {stamp.token} is the one expected of row {row} at position "
                    f"{stamp.position}."
                )
                return Origin(
                    kind="own", certainty="certain", sentences=(self._chain_text(row), text)
                )
        return None

    def _is_stamp_of(self, row: int) -> bool | None:
        """Whether a row's sound stamp at the stamp's position has its token; None without one."""
        question, stamp = self.question, self.question.stamp
        own = self.tables.stamp_of(question.group, row, stamp.position)
        if own is None or own.position != stamp.position:
            return None
        return own.token == stamp.token

    def own_by_record(self) -> Origin | None:
        """The stamp continues a slot into which the row itself was recorded to write."""
        question, position = self.question, self.question.stamp.position
        if not self.is_elsewhere:
            return None
        for row in self.own_rows:
            write = self.tables.write_of(question.group, row, position - 1)
            if write is None or write.slot not in self.predecessors or self._fits(row) is False:
                continue
            text = (
                f"The stored chain hash is the successor of the stamp in slot {write.slot}, into "
                f"which row {row} itself wrote position {position - 1} in step {write.step}."
            )
            return Origin(kind="own", certainty="certain", sentences=(text,))
        return None

    def written_last(self) -> Origin | None:
        """The last recorded write into the slot is of the stamp's position."""
        question, position = self.question, self.question.stamp.position
        writes = self.tables.writers(question.group, question.slot)
        if not writes or writes[-1].position != position:
            return None
        last = writes[-1]
        if any(step > last.step for step in self.tables.captured_steps):
            # Later writes were not seen.
            return None
        text = _write_text(last)
        if last.row not in question.rows:
            # The writer of a shared prefix writes what is the reader's own as well.
            own = self.own_by_chain()
            if own is not None and not self._is_in_place():
                return own
            return Origin(
                kind="other", certainty="certain", rows=(last.row,), sentences=(f"{text}.",)
            )
        if not self.is_elsewhere:
            return None
        before = self._of_before(last)
        if before is not None:
            return before if before.kind != "unknown" else None
        return Origin(
            kind="own",
            certainty="certain" if last.place == position else "likely",
            sentences=(f"{text}.",),
        )

    def _is_in_place(self) -> bool:
        """Whether the rows have the same stamp where it belongs, so that this is another's."""
        group, stamp = self.question.group, self.question.stamp
        stamps = [self.tables.stamp_of(group, row, stamp.position) for row in self.own_rows]
        return all(each is not None and each[:3] == stamp[:3] for each in stamps) and not any(
            self.tables.slot_at(group, row, stamp.position) == self.question.slot
            for row in self.own_rows
        )

    def _of_before(self, last: Write) -> Origin | None:
        """Return that a row's own write is older than its request; nothing if it need not be.

        An unknown origin says that the other tests should tell.
        """
        seen = self.tables.first_seen(last.row)
        if seen is None or last.step >= seen[0]:
            return None
        (step, prefix), fits = seen, self._fits(last.row)
        is_within = last.row in self.own_rows
        if is_within and fits:
            # Who lost all its tokens may have written the same again.
            return UNKNOWN_ORIGIN
        if is_within and fits is None and last.position < prefix:
            # Tokens below the prefix stay what they were when drafts are taken back.
            return Origin(kind="own", certainty="likely", sentences=(f"{_write_text(last)}.",))
        text = (
            f"{_write_text(last)}; in step {step} the row had {prefix} cached tokens and did not "
            "go on where it had ended, so the stamp is left over from what it held before."
        )
        is_sure = not is_within or fits is False
        return Origin(kind="other", certainty="certain" if is_sure else "likely", sentences=(text,))

    def left_in_own_row(self) -> Origin | None:
        """The row itself maps the position to this slot, behind the end of its request."""
        question, position = self.question, self.question.stamp.position
        for row in self.tables.holders(question.group, question.slot, position):
            if row in question.rows and row not in self.own_rows:
                text = (
                    f"Row {row} holds slot {question.slot} at position {position} too, where its "
                    f"request of {self.tables.length_of(row)} tokens has none: the stamp is left "
                    "over from an earlier request of the row."
                )
                return Origin(kind="other", certainty="likely", sentences=(text,))
        return None

    def chained_elsewhere(self) -> Origin | None:
        """The chain leads to another row, which maps the position to another slot."""
        question, position = self.question, self.question.stamp.position
        shares = {self.chained[row] for row in question.rows if row in self.chained}
        for row, slot in self.chained.items():
            fits = self._fits(row)
            if row in question.rows or fits is False or (slot in shares and not fits):
                continue
            if not self.tables.may_have(row, position):
                # It is behind that row's last token: of a draft, or of who had the same tokens.
                return Origin(kind="other", certainty="likely", sentences=(self._chain_text(row),))
            there = self.tables.slot_at(question.group, row, position)
            return Origin(
                kind="other",
                certainty="certain",
                rows=(row,),
                sentences=(
                    self._chain_text(row),
                    (
                        f"Row {row} itself maps position {position} to slot {there}, so its stamp "
                        "was stored in the wrong slot, or late, or its table changed since."
                    ),
                ),
            )
        return None

    def own_by_table(self) -> Origin | None:
        """The chain or the table leads back to the row itself; its tokens are not known."""
        if not self.is_elsewhere:
            return None
        question, position = self.question, self.question.stamp.position
        twice = self.tables.holders(question.group, question.slot, position)
        for row in self.own_rows:
            if self._fits(row) is False:
                continue
            if row in twice:
                text = (
                    f"Row {row} maps its position {position} to slot {question.slot} as well as "
                    f"position {question.position}, and the stamp says position {position}."
                )
                return Origin(kind="own", certainty="likely", sentences=(text,))
            inside = [
                slot
                for slot in self.predecessors
                if slot != question.previous_slot
                and self.tables.is_in_row(question.group, row, slot)
            ]
            if inside and row not in self.chained:
                text = (
                    f"The stored chain hash is the successor of the stamp in slot {inside[0]}, "
                    f"which row {row} itself maps."
                )
                return Origin(kind="own", certainty="likely", sentences=(text,))
            if row in self.chained:
                return Origin(kind="own", certainty="likely", sentences=(self._chain_text(row),))
        return None

    def held_by_table(self) -> Origin | None:
        """Another row maps the position to this slot; nothing proves that it wrote it."""
        if not self.holding:
            return None
        position, slot, first = self.question.stamp.position, self.question.slot, self.holding[0]
        text = f"Row {first} maps its position {position} to slot {slot}{self._token_text(first)}."
        return Origin(kind="other", certainty="likely", rows=self.holding, sentences=(text,))

    def chained_to_nobody(self) -> Origin | None:
        """The chain leads to a slot that no row maps there any more."""
        others = [slot for slot in self.predecessors if slot != self.question.previous_slot]
        if not others or self.chained:
            return None
        return Origin(
            kind="other",
            certainty="likely",
            sentences=(
                (
                    f"The stored chain hash is the successor of the stamp in slot {others[-1]}, "
                    f"which is no row's position {self.question.stamp.position - 1} now: the "
                    "sequence that it belongs to seems to be gone."
                ),
            ),
        )


def is_within(row: int, question: Question, tables: Tables) -> bool:
    """Return whether a row that reads a slot may have a token at the stamp's position."""
    # A length that denies the very token that was read is that of another request.
    return tables.may_have(row, question.stamp.position) or not tables.may_have(
        row, question.position
    )


def _write_text(write: Write) -> str:
    return (
        f"The last recorded write into the slot is row {write.row}'s, of position "
        f"{write.position}, in step {write.step}"
    )
