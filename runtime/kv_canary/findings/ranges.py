"""Causes that a row of the ring names itself: slots, rows, lengths and offsets out of range."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from kv_canary.findings.decode import Violation, batch_of, tells_bad_request
from kv_canary.findings.diagnosis import (
    Diagnosis,
    Key,
    misnumbered_cause,
    rows_text,
    sentence_start,
    slot_keys,
)
from kv_canary.findings.finding import Cause, Certainty
from kv_canary.findings.tables import Batch, Tables
from kv_canary_kernels.constants import FailReason

_WRITTEN_INPUT = FailReason.WRITE_TOKEN_MISMATCH | FailReason.WRITE_POSITION_MISMATCH


def judge_ranges(violations: Sequence[Violation], tables: Tables) -> list[Diagnosis]:
    """Return a diagnosis of every fault that needs no stamp to be named.

    Args:
        violations: all of them.
        tables: the snapshot.
    """
    kinds: dict[Key, list[Violation]] = {}
    for violation in violations:
        kind = _kind(violation, tables)
        if kind:
            kinds.setdefault((kind, *_place(violation)), []).append(violation)
    return [_JUDGES[str(key[0])](tuple(group), tables) for key, group in kinds.items()]


def tells_stamp(violation: Violation, tables: Tables) -> bool:
    """Return whether a verify row compared a stamp, and found it wrong."""
    group = tables.group(violation.group)
    return (
        violation.kind == "verify"
        and group is not None
        and 0 < violation.slot < group.num_slots
        and bool(violation.reasons & ~FailReason.SLOT_OUT_OF_RANGE)
    )


def _place(violation: Violation) -> Key:
    if violation.kind == "write":
        return (violation.step, violation.request, violation.entry)
    return (violation.rows, violation.expected_position, violation.slot)


def _kind(violation: Violation, tables: Tables) -> str:
    reasons = violation.reasons
    if violation.kind == "write":
        if reasons & _WRITTEN_INPUT:
            return "jump" if _is_jump(violation, tables) else "input"
        if violation.entry < 0:
            return "offsets"
        return "seed" if _is_in_pool(violation, tables) else "written"
    if FailReason.PADDING_SLOT_IN_PREFIX in reasons:
        return "padding"
    if FailReason.SLOT_OUT_OF_RANGE in reasons:
        if tells_bad_request(violation, tables.columns):
            return "request"
        return "before" if _is_in_pool(violation, tables) else "slot"
    return "" if tells_stamp(violation, tables) else "unexplained"


def _is_in_pool(violation: Violation, tables: Tables) -> bool:
    group = tables.group(violation.group)
    return group is not None and 0 <= violation.slot < group.num_slots


def _is_jump(violation: Violation, tables: Tables) -> bool:
    """Return whether a row is of the check along the chain, and not of the expected input.

    The ring does not say; that check wants the position after the slot before, and no token.
    """
    if violation.reasons != FailReason.WRITE_POSITION_MISMATCH or violation.previous_slot <= 0:
        return False
    batch = tables.batches.get(violation.step)
    if batch is not None and 0 < violation.entry < len(batch.step.positions):
        starts = batch.write_offsets.tolist()
        if violation.entry not in starts:
            before = int(batch.step.positions[violation.entry - 1])
            return before + 1 == violation.expected_aux
    stamp = tables.stamp(violation.group, *violation.buffer, violation.previous_slot)
    return stamp is not None and stamp.position + 1 == violation.expected_aux


def _request_text(violation: Violation) -> str:
    row = violation.rows[0] if violation.rows else "unknown"
    return f"request {violation.request} of the batch of step {violation.step} (row {row})"


def _row_keys(violations: Sequence[Violation], otherwise: Key) -> set[Key]:
    keys: set[Key] = {("row", each.group, row) for each in violations for row in each.rows}
    return keys or {otherwise}


def _made(
    cause: Cause,
    violations: tuple[Violation, ...],
    sentences: Iterable[str],
    *,
    keys: set[Key],
    places: tuple[int, ...] = (),
    slots: tuple[int, ...] = (),
    certainty: Certainty = "certain",
) -> Diagnosis:
    return Diagnosis(
        cause=cause,
        certainty=certainty,
        group=violations[0].group,
        violations=violations,
        sentences=tuple(sentences),
        rows=tuple(sorted({row for violation in violations for row in violation.rows})),
        places=places,
        slots=slots,
        keys=frozenset(keys),
        previous_slot=violations[0].previous_slot,
    )


def _pool_text(violation: Violation, tables: Tables) -> str:
    group = tables.group(violation.group)
    if group is None:
        return "no pool that the snapshot knows"
    return f"the {group.name} pool has slots 0 to {group.num_slots - 1}"


def _slot(violations: tuple[Violation, ...], tables: Tables) -> Diagnosis:
    first = violations[0]
    position, group = first.expected_position, tables.group(first.group)
    sentences = [
        sentence_start(
            f"{rows_text(first.rows)} maps position {position} to slot {first.slot} (step "
            f"{first.step}, {first.launch_tag}), but {_pool_text(first, tables)}."
        )
    ]
    for row in first.rows[:1]:
        full = tables.slot_at("full", row, position)
        if group is not None and group.mapping is not None and full is not None:
            if first.slot == -2 and full >= len(group.mapping):
                sentences.append(
                    f"req_to_token holds slot {full} there, past the end of the map to the window "
                    f"pool, which has {len(group.mapping)} entries."
                )
        elif full is not None and full != first.slot:
            sentences.append(
                f"req_to_token holds slot {full} there now: it changed after the check."
            )
    return _made(
        Cause.WILD_SLOT,
        violations,
        sentences,
        keys=_row_keys(violations, ("wild", first.slot)) | slot_keys(first.group, [first.slot]),
        places=(position,),
        slots=(first.slot,),
    )


def _before(violations: tuple[Violation, ...], tables: Tables) -> Diagnosis:
    first = violations[0]
    return _made(
        Cause.WILD_SLOT,
        violations,
        [
            sentence_start(
                f"{rows_text(first.rows)} maps position {first.expected_position - 1} to slot "
                f"{first.previous_slot} (step {first.step}, {first.launch_tag}), but "
                f"{_pool_text(first, tables)}; it was met as the token before slot {first.slot}."
            )
        ],
        keys=_row_keys(violations, ("wild", first.previous_slot))
        | slot_keys(first.group, [first.previous_slot]),
        places=(first.expected_position - 1,),
        slots=(first.previous_slot,),
    )


def _written(violations: tuple[Violation, ...], tables: Tables) -> Diagnosis:
    first = violations[0]
    return _made(
        Cause.WILD_SLOT,
        violations,
        [
            sentence_start(
                f"{_request_text(first)} writes position {first.position} to slot {first.slot} of "
                f"out_cache_loc, entry {first.entry} ({first.launch_tag}), but "
                f"{_pool_text(first, tables)}; it was not stamped."
            )
        ],
        keys=_row_keys(violations, ("wild", first.slot)) | slot_keys(first.group, [first.slot]),
        places=(_place_of_token(first, tables),),
        slots=(first.slot,),
    )


def _seed(violations: tuple[Violation, ...], tables: Tables) -> Diagnosis:
    first = violations[0]
    seed = first.expected_aux
    return _made(
        Cause.WILD_SLOT,
        violations,
        [
            sentence_start(
                f"{_request_text(first)} continues slot {seed} at position {first.position} "
                f"({first.launch_tag}), but {_pool_text(first, tables)}; its chain was begun "
                "afresh."
            )
        ],
        keys=_row_keys(violations, ("wild", seed)) | slot_keys(first.group, [seed]),
        places=(first.position - 1,),
        slots=(seed,),
    )


def _padding(violations: tuple[Violation, ...], tables: Tables) -> Diagnosis:
    first = violations[0]
    position = first.expected_position
    sentences = [
        sentence_start(
            f"{rows_text(first.rows)} maps position {position}, which is below its prefix length, "
            f"to the padding slot 0 (step {first.step}, {first.launch_tag}); nothing is stored "
            "there for anybody."
        )
    ]
    batch = batch_of(first, tables)
    for row in first.rows[:1]:
        length = batch.prefix_of_row.get(row, 0) if batch is not None else 0
        if first.group == "full" and length > 0:
            zeros = int((tables.snapshot.req_to_token[row, :length] == 0).sum())
            sentences.append(
                f"Row {row} now maps {zeros:,} of the {length:,} positions of that prefix to slot "
                f"0{': the whole row was reset' if zeros == length else ''}."
            )
    return _made(
        Cause.WINDOW_EDGE if first.group == "window" else Cause.PADDING_SLOT,
        violations,
        sentences,
        keys=_row_keys(violations, ("padding", first.group)) | {("kind", "padding", first.rows)},
        places=(position,),
        slots=(0,),
    )


def _request(violations: tuple[Violation, ...], tables: Tables) -> Diagnosis:
    first = violations[0]
    batch = batch_of(first, tables)
    last_row, columns = tables.rows - 1, tables.columns
    if first.position == 0:
        sentence = (
            f"a request of step {first.step} names {rows_text(first.rows)} ({first.launch_tag}), "
            f"but req_to_token has rows 0 to {last_row}; nothing of it could be verified."
        )
    else:
        sentence = (
            f"{rows_text(first.rows)} was given prefix length {first.position} in step "
            f"{first.step} ({first.launch_tag}), but a row of req_to_token has {columns} "
            "positions; nothing of it could be verified."
        )
    sentences = [sentence_start(sentence)]
    if batch is None:
        sentences.append("The host's copy of that batch is not at hand, so the row is not known.")
    return _made(
        Cause.WILD_ROW_OR_LENGTH,
        violations,
        sentences,
        keys=_row_keys(violations, ("request",)) | {("request", first.step, first.position)},
        places=(first.position,) if first.position else (),
    )


def _offsets(violations: tuple[Violation, ...], tables: Tables) -> Diagnosis:
    first = violations[0]
    return _made(
        Cause.OFFSETS,
        violations,
        [
            sentence_start(
                f"{_request_text(first)} was to stamp the tokens from {first.position} up to "
                f"{first.expected_aux} of the batch ({first.launch_tag}): offsets start at 0, do "
                "not run backwards and end within the batch; it stamped nothing."
            )
        ],
        keys={("offsets", first.step)},
        places=_written_places(first, tables),
    )


def _written_places(violation: Violation, tables: Tables) -> tuple[int, ...]:
    """Return the positions that a request of a recorded batch wrote."""
    batch = tables.batches.get(violation.step)
    if batch is None or not 0 <= violation.request < len(batch.rows):
        return ()
    prefix = batch.prefix_lengths[violation.request]
    # A wild length writes no more tokens than the batch has.
    extend = min(int(batch.step.extend_seq_lens[violation.request]), len(batch.step.positions))
    return tuple(range(prefix, prefix + max(0, extend)))


def _is_of_request(violation: Violation, batch: Batch) -> bool:
    """Return whether a token is one of its request's, as the batch has them."""
    if not 0 <= violation.request < len(batch.rows):
        return False
    start, end = batch.write_offsets[violation.request : violation.request + 2].tolist()
    return bool(start <= violation.entry < end)


def _place_of_token(violation: Violation, tables: Tables) -> int:
    """Return the position that the batch's prefix length gives a written token."""
    batch = tables.batches.get(violation.step)
    if batch is None or not 0 <= violation.request < len(batch.rows):
        return violation.position
    start = int(batch.write_offsets[violation.request])
    return batch.prefix_lengths[violation.request] + violation.entry - start


def _input(violations: tuple[Violation, ...], tables: Tables) -> Diagnosis:
    first = violations[0]
    return _made(
        Cause.WRONG_INPUT,
        violations,
        [
            sentence_start(
                f"{_request_text(first)} writes token {first.stored_token} at position "
                f"{first.position} into slot {first.slot} ({first.launch_tag}, entry "
                f"{first.entry}); expected were token {first.expected_token} and position "
                f"{first.expected_aux}."
            ),
            "The batch itself is wrong, not the cache: the stamps follow what was written.",
        ],
        keys=_row_keys(violations, ("input", first.step)),
        places=(_place_of_token(first, tables),),
        slots=(first.slot,),
    )


def _jump(violations: tuple[Violation, ...], tables: Tables) -> Diagnosis:
    first = violations[0]
    delta = first.position - first.expected_aux
    place = _place_of_token(first, tables)
    verdict: tuple[Cause, Certainty, str] = (Cause.SHIFTED, "certain", "")
    why: list[str] = []
    batch = tables.batches.get(first.step)
    if batch is not None and _is_of_request(first, batch) and place != first.position:
        prefix = batch.prefix_lengths[first.request]
        verdict = misnumbered_cause(first.position - place, prefix)
        why = [
            (
                f"The request had {prefix} cached tokens, so this one's position was {place}: the "
                "batch's positions and prefix_lens do not fit."
            )
        ]
    cause, certainty, advice = verdict
    diagnosis = _made(
        cause,
        violations,
        [
            sentence_start(
                f"{_request_text(first)} writes position {first.position} into slot {first.slot} "
                f"({first.launch_tag}, entry {first.entry}), behind slot {first.previous_slot}, "
                f"which holds position {first.expected_aux - 1}: {delta:+d} from what continues it."
            ),
            *why,
        ],
        keys=_row_keys(violations, ("jump", first.step)),
        places=(place,),
        slots=(first.slot,),
        certainty=certainty,
    )
    return replace(diagnosis, advice=advice, is_jump=cause is Cause.SHIFTED)


def _unexplained(violations: tuple[Violation, ...], tables: Tables) -> Diagnosis:
    first = violations[0]
    return _made(
        Cause.UNEXPLAINED,
        violations,
        [
            (
                f"{first.launch_tag} reported slot {first.slot}, position {first.position}, in "
                f"step {first.step}; {_pool_text(first, tables)}."
            )
        ],
        keys={("unexplained", first.launch_tag)},
        places=(first.position,),
        slots=(first.slot,),
        certainty="possible",
    )


_JUDGES = {
    "before": _before,
    "input": _input,
    "jump": _jump,
    "offsets": _offsets,
    "padding": _padding,
    "request": _request,
    "seed": _seed,
    "slot": _slot,
    "unexplained": _unexplained,
    "written": _written,
}
