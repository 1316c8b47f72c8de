"""Rows of the violation ring and the evidence ring, as what they say about which request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kv_canary.findings.snapshot import FULL, WINDOW, Snapshot
from kv_canary.findings.tables import Batch, Stamp, Tables, unsigned
from kv_canary_kernels.constants import CanaryLaunchTag, FailReason

UNKNOWN = "unknown"
UNKNOWN_STEP = -1
"""Step of a violation whose evidence was not recorded."""

_RESERVED = 7

Kind = Literal["verify", "write"]
Phase = Literal["head", "tail", "sweep", "unknown"]

_GROUPS = {"FULL": FULL, "SWA": WINDOW}
_PHASES: dict[str, Phase] = {"HEAD": "head", "TAIL": "tail", "SWEEP": "sweep"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One row of the ring, decoded. Hashes are int64, as they are stored."""

    index: int
    """Row of the ring."""
    kernel_kind: int
    """Launch tag as a number."""
    launch_tag: str
    """Its name, such as TAIL_K_FULL."""
    group: str
    """"full", "window" or "unknown"."""
    phase: Phase
    """Which launches: before the forward, after it, or a sweep."""
    half: str
    """"K", "V" or "unknown"."""
    kind: Kind
    """Whether a cached token was verified or a new one written."""
    reasons: FailReason
    """What was wrong."""
    slot: int
    """Slot of the entry; -2 where there is none that could be read."""
    position: int
    """Position that is stored or written; the expected one where nothing could be read."""
    stored_token: int
    """Token that is stored or written."""
    expected_token: int
    """Token that it should be; -1 where none was compared."""
    stored_chain_hash: int
    """Chain hash that is stored or written."""
    expected_aux: int
    """Chain hash that a verified entry should have; for a written one, what its check wanted."""
    expected_position: int
    """Position that it should have; -1 where none was expected."""
    stored_real_kv_hash: int
    """Hash over the bytes in the stamp."""
    computed_real_kv_hash: int
    """Hash over the bytes as they were then."""
    previous_slot: int
    """Slot of the token before; -1 for the first of a sequence."""
    entry: int
    """Entry of the verify plan, or token of the batch; -1 where there is none."""
    step: int
    """Number of the launch, which is that of the forward."""
    request: int
    """Request in the batch for a written entry, else -1."""
    rows: tuple[int, ...]
    """Rows of req_to_token that it is about; several where they share the slot and nobody can
    tell which was meant; empty where none is known."""

    @property
    def buffer(self) -> tuple[str, str]:
        """Phase and half of the stamps that it is about; sweeps read the tail's."""
        return ("head" if self.phase == "head" else "tail", self.half)

    @property
    def stored(self) -> Stamp:
        """The stamp that was found, in a verify row."""
        return Stamp(
            self.stored_token, self.position, self.stored_chain_hash, self.stored_real_kv_hash
        )

    def to_json(self) -> dict[str, object]:
        """Return plain data; hashes are texts of 16 digits."""
        return {
            "index": self.index,
            "launch_tag": self.launch_tag,
            "kind": self.kind,
            "checks": [name.lower() for name in names_of(self.reasons)],
            "step": self.step,
            "requests": list(self.rows),
            "slot": self.slot,
            "previous_slot": self.previous_slot,
            "position": self.position,
            "expected_position": self.expected_position,
            "stored_token": self.stored_token,
            "expected_token": self.expected_token,
            "stored_chain_hash": unsigned(self.stored_chain_hash),
            "expected_aux": unsigned(self.expected_aux),
            "stored_real_kv_hash": unsigned(self.stored_real_kv_hash),
            "computed_real_kv_hash": unsigned(self.computed_real_kv_hash),
            "entry": self.entry,
        }


def names_of(reasons: FailReason) -> tuple[str, ...]:
    """Return the names of the bits, lowest first; a bit without a name is left out."""
    return tuple(reason.name for reason in FailReason if reason in reasons and reason.name)


def log_line(row: Sequence[int]) -> str:
    """Return the stable log line of one row of the violation ring.

    Args:
        row: the row's eight integers, in the ring's order; a tensor's `tolist()`.
    """
    kind, slot, position, stored_token, expected_token, chain_hash, aux, bits = map(int, row)
    reasons = "+".join(
        name.lower().removesuffix("_mismatch") for name in names_of(FailReason(bits & 0xFF))
    )
    return (
        f"kv_canary violation: launch_tag={tag_name(kind)} fail_reason={reasons} "
        f"slot_idx={slot} position={position} stored_token={stored_token} "
        f"expected_token={expected_token} stored_chain_hash={unsigned(chain_hash)} "
        f"expected_aux={unsigned(aux)}"
    )


def tag_name(kernel_kind: int) -> str:
    """Return the name of a launch tag, or unknown(12) for a number without one."""
    try:
        return CanaryLaunchTag(kernel_kind).name
    except ValueError:
        return f"unknown({kernel_kind})"


def tells_bad_request(violation: Violation, columns: int) -> bool:
    """Return whether a verify row stands for a request whose row or prefix length is wild.

    Only such a row has slot -2 and previous slot 0 with a position that no entry could have there:
    position 0 has previous slot -1, and lengths that are wrong lie outside the row.

    Args:
        violation: a verify row.
        columns: positions that a row of req_to_token holds.
    """
    return (
        violation.slot == -2
        and violation.previous_slot == 0
        and not 0 < violation.position <= columns
    )


def decode(snapshot: Snapshot, tables: Tables) -> tuple[Violation, ...]:
    """Decode every recorded row, in the ring's order.

    Args:
        snapshot: what the canary knew.
        tables: questions to that snapshot.
    """
    rows = snapshot.violations.tolist()
    evidence = snapshot.evidence.tolist()
    if any(each[_RESERVED] for each in evidence):
        evidence = _guessed(rows, evidence, tables)
    bare = [
        _decode_row(index, row, each)
        for index, (row, each) in enumerate(zip(rows, evidence, strict=True))
    ]
    for group in (FULL, WINDOW):
        tables.seek_holders(
            group,
            [
                (each.slot, each.expected_position)
                for each in bare
                if each.group == group and each.slot > 0
            ],
        )
    return tuple(_with_rows(each, tables) for each in bare)


def _guessed(
    rows: Sequence[list[int]], evidence: Sequence[list[int]], tables: Tables
) -> list[list[int]]:
    """Return evidence rows in which those that a canary without an evidence ring lacks are guessed.

    The reserved field of a true one is 0. The expected position is the stored one where that was
    not wrong, and else the one that the tables have for the slot.
    """
    lacking = [i for i, each in enumerate(evidence) if each[_RESERVED]]
    wrong = int(FailReason.VERIFY_POSITION_MISMATCH)
    misplaced = [rows[i] for i in lacking if rows[i][7] & wrong]
    homes = {
        group: tables.homes_of_slots(
            group, {row[1] for row in misplaced if _group_of(row) == group}
        )
        for group in (FULL, WINDOW)
    }
    guessed = list(evidence)
    for i in lacking:
        _, slot, position, *_, bits = rows[i]
        group = _group_of(rows[i])
        nowhere = (-1, position)
        row, place = homes.get(group, {}).get(slot, nowhere) if bits & wrong else nowhere
        if row < 0:
            row = next(iter(tables.holders(group, slot, place)), -1)
        before = -1 if place == 0 else (tables.slot_at(group, row, place - 1) or 0)
        written = bits & int(FailReason.WRITE_TOKEN_MISMATCH | FailReason.WRITE_POSITION_MISMATCH)
        guessed[i] = [place, 0, 0, before, -1, UNKNOWN_STEP, 0 if written else -1, 0]
    return guessed


def _group_of(row: list[int]) -> str:
    return _GROUPS.get(tag_name(row[0]).rpartition("_")[2], UNKNOWN)


def _decode_row(index: int, row: list[int], evidence: list[int]) -> Violation:
    kernel_kind, slot, position, stored_token, expected_token, chain_hash, aux, bits = row
    wanted_position, stored_kv, computed_kv, previous_slot, entry, step, request, _ = evidence
    tag = tag_name(kernel_kind)
    phase, half, pool = tag.split("_") if not tag.startswith("unknown") else ("", UNKNOWN, "")
    return Violation(
        index=index,
        kernel_kind=kernel_kind,
        launch_tag=tag,
        group=_GROUPS.get(pool, UNKNOWN),
        phase=_PHASES.get(phase, "unknown"),
        half=half,
        kind="write" if request >= 0 else "verify",
        reasons=FailReason(bits & 0xFF),
        slot=slot,
        position=position,
        stored_token=stored_token,
        expected_token=expected_token,
        stored_chain_hash=chain_hash,
        expected_aux=aux,
        expected_position=wanted_position,
        stored_real_kv_hash=stored_kv,
        computed_real_kv_hash=computed_kv,
        previous_slot=previous_slot,
        entry=entry,
        step=step,
        request=request,
        rows=(),
    )


def _with_rows(violation: Violation, tables: Tables) -> Violation:
    if violation.kind == "write":
        rows = _rows_of_write(violation, tables)
    elif tells_bad_request(violation, tables.columns):
        rows = _rows_of_bad_request(violation, tables)
    else:
        rows = _rows_of_entry(violation, tables)
    return replace(violation, rows=rows)


def _rows_of_write(violation: Violation, tables: Tables) -> tuple[int, ...]:
    batch = tables.batches.get(violation.step)
    if batch is not None and violation.request < len(batch.rows):
        return (batch.rows[violation.request],)
    if violation.slot <= 0:
        return ()
    return tables.holders(violation.group, violation.slot, violation.position)


def _rows_of_bad_request(violation: Violation, tables: Tables) -> tuple[int, ...]:
    batch = batch_of(violation, tables)
    if batch is None:
        return ()
    fitting = [i for i in batch.bad if batch.reported_positions[i] == violation.position]
    place = batch.place_of_entry(violation.entry, _window(violation, tables))
    exact = [i for i in fitting if place is not None and i == place[0]]
    return tuple(batch.rows[i] for i in exact or fitting)


def _rows_of_entry(violation: Violation, tables: Tables) -> tuple[int, ...]:
    position = violation.expected_position
    batch = batch_of(violation, tables)
    by_entry: int | None = None
    if batch is not None:
        place = batch.place_of_entry(violation.entry, _window(violation, tables))
        if place is not None and place[1] == position and place[0] not in batch.bad:
            by_entry = batch.rows[place[0]]
            if tables.slot_at(violation.group, by_entry, position) == violation.slot:
                return (by_entry,)
    by_table = _holders(violation, tables)
    if batch is None:
        by_table = tuple(row for row in by_table if tables.may_have(row, position))
    else:
        by_table = tuple(row for row in by_table if position < batch.prefix_of_row.get(row, 0))
    if len(by_table) > 1 and violation.expected_token >= 0:
        # Rows that share a slot by mistake expect different tokens of it.
        tokens = {row: tables.expected_token(row, position) for row in by_table}
        by_table = tuple(row for row in by_table if tokens[row] in (None, violation.expected_token))
    if by_table:
        return by_table
    return () if by_entry is None else (by_entry,)


def batch_of(violation: Violation, tables: Tables) -> Batch | None:
    """Return the recorded batch of a violation; a sweep has none."""
    return None if violation.phase == "sweep" else tables.batches.get(violation.step)


def _holders(violation: Violation, tables: Tables) -> tuple[int, ...]:
    """Return the rows whose tables hold the entry and the one before it, as far as they say so."""
    group, position, before = (
        violation.group,
        violation.expected_position,
        violation.previous_slot,
    )
    if violation.slot > 0:
        rows = tables.holders(group, violation.slot, position)
        exact = tuple(row for row in rows if tables.slot_at(group, row, position - 1) == before)
        return exact or rows
    # Half the table may hold slot 0, so here the slot before decides.
    if before <= 0:
        return ()
    rows = tables.holders(group, before, position - 1)
    return tuple(row for row in rows if tables.slot_at(group, row, position) == violation.slot)


def _window(violation: Violation, tables: Tables) -> int:
    group = tables.group(violation.group)
    return 0 if group is None else group.window_size
