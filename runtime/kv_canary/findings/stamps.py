"""Diagnoses of spots whose stamp itself is not the expected one.

Note [Which test decides]
Tests that recompute something come first: a stamp's chain hash against the tables and tokens of
every row, a damaged stamp against the other buffers, which hold the same token, position and chain
hash. What remains is told from the shape of the damage, and then the diagnosis says "likely".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from kv_canary.findings.diagnosis import (
    ADVICE_ON_DRAFTS,
    ADVICE_ON_ENTRIES,
    ADVICE_ON_PAGES,
    Diagnosis,
    Spot,
    misnumbered_cause,
    rows_text,
    sentence_start,
)
from kv_canary.findings.finding import Cause, Certainty
from kv_canary.findings.origin import UNKNOWN_ORIGIN, Origin
from kv_canary.findings.scene import BYTES, CHAIN, POSITION, TOKEN, Scene, buffers_text, is_blank
from kv_canary.findings.tables import Stamp, Write, unsigned

_FEW_BITS: Final = 2
"""Bits of one field that damage flips; two hashes differ in about 32."""
_ALIGNED_SHARE: Final = 0.9
"""Share of a row's entries that are aligned to pages where slots are handed out by page."""
_FEWEST_ALIGNED: Final = 6
"""Entries that tell anything about alignment: by chance, 6 of them keep to pages of 4 in 4^-6."""
_USUAL_PAGE: Final = 4
"""What pages are a multiple of, where nobody said their size; smaller ones are not told."""
_ROW_SAMPLE: Final = 512
"""Entries of a row, on each side, that tell whether it is aligned."""
_OFF_BY_ONE: Final = "the table is off by one."


def judge_stamp(spot: Spot, scene: Scene, before: Diagnosis | None) -> Diagnosis:
    """Return why a spot's stamp is not the expected one. Note [Which test decides].

    Args:
        spot: a spot that fails in more than its chain or its bytes.
        scene: all spots.
        before: diagnosis of the position before in the same row, if there is one.
    """
    stored = spot.stored
    is_missing = is_blank(stored)
    origin = UNKNOWN_ORIGIN
    if not is_missing:
        misnumbered = _misnumbered(spot, scene)
        if misnumbered is not None:
            return misnumbered
        origin = _in_run(spot, scene, scene.origin(spot, stored), before)
    off_page = _off_page(spot, scene, origin) if origin.kind != "own" else None
    if off_page is not None:
        return off_page
    if is_missing:
        return judge_blank(spot, scene)
    if origin.certainty != "certain":
        damaged = judge_damage(spot, scene)
        if damaged is not None:
            return damaged
        origin = _in_sequence(spot) or origin
    if origin.kind == "own":
        return _shifted(spot, scene, stored, origin)
    misplaced = _misplaced(spot, scene)
    if misplaced is None and origin.certainty != "certain":
        misplaced = _found_elsewhere(spot, scene)
    if misplaced is not None:
        return misplaced
    return judge_foreign(spot, scene, origin)


def judge_owner(
    spot: Spot, stamp: Stamp, scene: Scene, *, first_sentence: str, write: Write | None
) -> Diagnosis:
    """Return whose stamp came into a slot that a row still reads.

    Args:
        spot: where it came to be.
        stamp: the one that came.
        scene: all spots.
        first_sentence: how it is known to have come.
        write: the recorded write that brought it, if one did.
    """
    origin = scene.origin(spot, stamp)
    is_others = write is not None and write.row not in spot.rows
    if is_others and origin.kind == "own":
        # It may hold the same tokens as the row that reads it.
        origin = UNKNOWN_ORIGIN
    if origin.kind == "own" or (write is not None and not is_others):
        diagnosis = _shifted(spot, scene, stamp, origin)
    else:
        diagnosis = scene.made(
            spot,
            Cause.ANOTHER_OWNER,
            "certain" if write is not None else origin.certainty,
            [*origin.sentences, *scene.history(spot)],
            others=origin.rows or ((write.row,) if write is not None else ()),
        )
    where, *why = diagnosis.sentences
    return replace(diagnosis, sentences=(where, first_sentence, *why))


def judge_damage(spot: Spot, scene: Scene) -> Diagnosis | None:
    """Return that a stamp was changed, if it is wrong in some buffers only, or in a few bits."""
    stored, sound = spot.stored, scene.sound_buffers(spot)
    if sound:
        stamp = scene.tables.stamp(spot.group, *sound[0], spot.slot)
        assert stamp is not None, "it was read a moment ago"
        bad = ", ".join(sorted({each.launch_tag for each in spot.opening}))
        sentence = (
            f"The stamp is as it should be in {buffers_text(sound)}, and differs in what {bad} "
            f"read: {difference_text(stamp, stored)}. All buffers are stamped alike, so it was "
            "changed there."
        )
        return scene.made(spot, Cause.CHANGED_AFTER_STAMP, "certain", [sentence])
    first = spot.first
    if CHAIN not in first.reasons or spot.previous_slot == 0:
        return None
    # The expected chain hash is at hand; the other fields are the expected ones already.
    bits = ((first.expected_aux ^ stored.prev_hash) % 2**64).bit_count()
    if bits > _FEW_BITS or stored.position != spot.position or TOKEN in first.reasons:
        return None
    expected = stored._replace(prev_hash=first.expected_aux)
    sentence = f"The stamp is almost right: {difference_text(expected, stored)}."
    return scene.made(spot, Cause.CHANGED_AFTER_STAMP, "certain", [sentence])


def differences(expected: Stamp, stored: Stamp) -> list[tuple[str, int, int]]:
    """Return name, expected and stored value of every field that differs, but for the bytes'."""
    names = ("token", "position", "chain hash")
    return [
        (name, wanted, found)
        for name, wanted, found in zip(names, expected, stored, strict=False)
        if wanted != found
    ]


def difference_text(expected: Stamp, stored: Stamp) -> str:
    """Return how two stamps differ, in words."""
    texts = []
    for name, wanted, found in differences(expected, stored):
        bits = ((wanted ^ found) % 2**64).bit_count()
        values = (str(found), str(wanted))
        if name == "chain hash":
            values = (unsigned(found), unsigned(wanted))
        count = f"{bits} bit{'' if bits == 1 else 's'}"
        texts.append(f"{name} {values[0]} instead of {values[1]} ({count})")
    return ", ".join(texts) or "the hash over the bytes"


# Never stamped -----------------------------------------------------------------------------------


def judge_blank(spot: Spot, scene: Scene) -> Diagnosis:
    """Return why a spot has no stamp."""
    misplaced = _misplaced(spot, scene) or _found_elsewhere(spot, scene)
    if misplaced is not None:
        return misplaced
    sound = scene.sound_buffers(spot)
    if sound:
        blank = ", ".join(sorted({each.launch_tag for each in spot.opening}))
        sentence = (
            f"The stamp is blank in what {blank} read, and as it should be in "
            f"{buffers_text(sound)}: it was never made there, or was cleared."
        )
        return scene.made(spot, Cause.NEVER_STAMPED, "likely", [sentence])
    sentences = ["All fields of the stamp are equal, as in a slot that nobody ever stamped."]
    sentences += _inherited(spot, scene)
    return scene.made(spot, Cause.NEVER_STAMPED, "certain", sentences)


def _inherited(spot: Spot, scene: Scene) -> list[str]:
    """Return a sentence if a row came with the token instead of writing it."""
    for row in spot.rows:
        seen = scene.tables.first_seen(row)
        if seen is None or scene.tables.write_of(spot.group, row, spot.position) is not None:
            continue
        step, prefix = seen
        if prefix > spot.position:
            text = scene.unwritten_text(spot, row)
            if text and scene.tables.came_with(row) is None:
                text += f"; in step {step} the row had {prefix} cached tokens"
            if text:
                return [f"{text}, as after a prefix hit or a reload."]
    return []


def _misplaced(spot: Spot, scene: Scene) -> Diagnosis | None:
    """Diagnose a row whose own token was recorded as stored in another slot.

    Only if nobody wrote to the slot since: else the row may have moved to it, as to a cached page.
    """
    tables = scene.tables
    for row in spot.rows:
        write = tables.write_of(spot.group, row, spot.position)
        if write is None or write.slot == spot.slot:
            continue
        since = [each.step for each in tables.writers(spot.group, spot.slot)]
        if all(step < write.step for step in (*since, *tables.captured_steps)):
            told = (
                f"Step {write.step} wrote row {row}'s position {spot.position} "
                f"{_slot_text(write.slot)}; the table says slot {spot.slot}, which no recorded "
                "batch wrote since."
            )
            return _went_elsewhere(spot, scene, write.slot, told)
    return None


def _found_elsewhere(spot: Spot, scene: Scene) -> Diagnosis | None:
    """Diagnose a row whose own stamp lies in another slot, by what the stamp must be."""
    for row in spot.rows:
        token = scene.tables.expected_token(row, spot.position)
        chain = scene.own_chain(spot.group, row, spot.position)
        if token is None or chain is None:
            continue
        for slot in scene.slots_with_chain(spot.group, chain):
            stamp = scene.tables.stamp(spot.group, "head", spot.first.half, slot)
            if slot == spot.slot or stamp is None or stamp[:3] != (token, spot.position, chain):
                continue
            if slot and scene.tables.holders(spot.group, slot, spot.position):
                # Another row has the same tokens, and its own slots for them.
                continue
            told = (
                f"Exactly the stamp that row {row} should have at position {spot.position} is in "
                f"slot {slot}: it was stored there, or moved from there without its stamp."
            )
            return _went_elsewhere(spot, scene, slot, told)
    return None


def _slot_text(slot: int) -> str:
    return f"into slot {slot}" if slot >= 0 else "nowhere, as its slot was negative"


def _went_elsewhere(spot: Spot, scene: Scene, slot: int, told: str) -> Diagnosis:
    """Return what it means that a row's own token is in another slot than the table's."""
    stored = spot.stored
    origin = UNKNOWN_ORIGIN if is_blank(stored) else scene.origin(spot, stored)
    cause, delta = Cause.NEVER_STAMPED, 0
    if slot == 0:
        cause = Cause.PADDING_SLOT
    elif slot >= scene.group(spot.group).num_slots:
        cause = Cause.WILD_SLOT
    elif abs(slot - spot.slot) == 1:
        cause, delta = Cause.SHIFTED, slot - spot.slot
    held = "The slot is blank, as if nobody had ever stamped it."
    if not is_blank(stored):
        held = f"What it holds is another stamp, token {stored.token} at position {stored.position}"
        held += "." if not origin.sentences else f". {origin.sentences[0]}"
    return scene.made(
        spot,
        cause,
        "certain",
        [told, held],
        misplaced_to=slot,
        delta=delta,
        is_leftover=True,
        advice=ADVICE_ON_ENTRIES if cause is Cause.NEVER_STAMPED else "",
    )


# Shifted -----------------------------------------------------------------------------------------


def _in_run(spot: Spot, scene: Scene, origin: Origin, before: Diagnosis | None) -> Origin:
    """Let the neighbours speak where a stamp alone proves nothing."""
    stored = spot.stored
    delta = stored.position - spot.position
    if origin.certainty == "certain" or origin.kind == "own" or delta == 0:
        return origin
    if not scene.may_be_own(spot, stored):
        return origin
    fits = [scene.fits(row, stored) for row in spot.rows]
    if before is not None and before.stored_delta == delta:
        if before.cause is Cause.SHIFTED and False not in fits:
            text = f"Position {spot.position - 1} is off by {delta:+d} as well."
            return Origin(kind="own", certainty=before.certainty, sentences=(text,))
        if before.cause is Cause.ANOTHER_OWNER:
            return replace(origin, kind="other", rows=before.others, certainty="likely")
    is_run = _has_neighbour(spot, scene, delta)
    if True in fits and is_run:
        text = (
            f"Token {stored.token} is the one expected of {rows_text(spot.rows)} at position "
            f"{stored.position}, and neighbours are off by {delta:+d} as well."
        )
        return Origin(kind="own", certainty="likely", sentences=(text,))
    if False in fits or origin.rows:
        return origin
    if CHAIN not in spot.reasons:
        text = (
            f"The stamp continues slot {spot.previous_slot}, as it should, but says position "
            f"{stored.position}: {delta:+d}."
        )
        return Origin(kind="own", certainty="likely", sentences=(text,))
    if is_run and scene.is_short(spot.group, delta):
        text = f"Neighbours are off by {delta:+d} as well."
        return Origin(kind="own", certainty="likely", sentences=(text,))
    return origin


def _in_sequence(spot: Spot) -> Origin | None:
    """Return that a stamp was written for this place, if nothing but its position is wrong."""
    first, stored = spot.first, spot.stored
    is_compared = first.expected_token >= 0 and spot.previous_slot != 0
    if spot.reasons & ~BYTES != POSITION or not is_compared:
        return None
    text = (
        f"Token {stored.token} is the expected one and the chain hash is right, so it was stamped "
        f"for this place, but with position {stored.position}."
    )
    return Origin(kind="own", certainty="certain", sentences=(text,))


def _has_neighbour(spot: Spot, scene: Scene, delta: int) -> bool:
    return any(
        other.stored.position - other.position == delta
        for row in spot.rows
        for side in (-1, 1)
        for other in scene.spots_at(spot.group, row, spot.position + side)
    )


def _shifted(spot: Spot, scene: Scene, stamp: Stamp, origin: Origin) -> Diagnosis:
    delta = stamp.position - spot.position
    sentences = [
        sentence_start(
            f"{rows_text(spot.rows)} finds its own position {stamp.position} where position "
            f"{spot.position} should be: {delta:+d}."
        ),
        *origin.sentences,
    ]
    exchanged = [
        other
        for row in spot.rows
        for other in scene.spots_at(spot.group, row, stamp.position)
        if other.stored.position == spot.position and delta
    ]
    if exchanged:
        sentences.append(
            f"Position {stamp.position} holds position {spot.position} in turn: two entries of "
            "the table are exchanged."
        )
    sentences += _boundary(spot, scene)
    twice = _given_twice(spot, scene, stamp)
    if twice:
        return scene.made(
            spot,
            Cause.SHIFTED,
            "likely",
            [*sentences, twice],
            delta=delta,
            advice=ADVICE_ON_PAGES,
        )
    return scene.made(spot, Cause.SHIFTED, origin.certainty, sentences, delta=delta)


def _given_twice(spot: Spot, scene: Scene, stamp: Stamp) -> str:
    """Return that a row has one page at two places, in words; nothing if it does not show."""
    tables, page = scene.tables, scene.page_size(spot.group)
    pages, rest = divmod(stamp.position - spot.position, page)
    if rest or not pages:
        return ""
    for row in spot.rows:
        is_mapped = (
            tables.may_have(row, stamp.position)
            and tables.slot_at(spot.group, row, stamp.position) == spot.slot
        )
        writes = [tables.write_of(spot.group, row, each.position) for each in (spot, stamp)]
        is_written = all(each is not None and each.slot == spot.slot for each in writes)
        if is_mapped or is_written:
            count = abs(pages)
            whole = f"{count} page{'' if count == 1 else 's'} of {page}" if page > 1 else "slots"
            return (
                f"Row {row} has slot {spot.slot} at both positions, {whole} apart: it was given "
                "to the request twice, or the table was filled with what the request had already."
            )
    return ""


def _misnumbered(spot: Spot, scene: Scene) -> Diagnosis | None:
    """Diagnose a stamp that a recorded batch wrote for this place with another position."""
    tables = scene.tables
    for row in spot.rows:
        write = tables.write_of(spot.group, row, spot.position)
        if write is None or write != next(iter(tables.writers(spot.group, spot.slot)[-1:]), None):
            continue
        if write.position != spot.stored.position or not write.is_misnumbered:
            continue
        prefix = tables.batches[write.step].prefix_of_row[row]
        delta = write.position - write.place
        sentences = [
            (
                f"Step {write.step} wrote the stamp for this place, with position "
                f"{write.position}: row {row} had {prefix} cached tokens there, so its position "
                f"was {write.place}, and the batch's positions say {delta:+d} from it."
            )
        ]
        cause, certainty, advice = misnumbered_cause(delta, prefix)
        return scene.made(spot, cause, certainty, sentences, delta=delta, advice=advice)
    return None


def _boundary(spot: Spot, scene: Scene) -> list[str]:
    page = scene.page_size(spot.group)
    if page < 2 or spot.position % page:
        return []
    return [f"Position {spot.position} is the first of a page of {page} tokens."]


def _off_page(spot: Spot, scene: Scene, origin: Origin) -> Diagnosis | None:
    """Diagnose a table entry that lies one beside its place in a page, among aligned ones."""
    sizes = scene.group(spot.group).page_sizes
    page = max(sizes) if sizes else _USUAL_PAGE
    delta = (spot.slot - spot.position + 1) % page - 1
    if page < 2 or delta not in (-1, 1):
        return None
    for row in spot.rows:
        is_table = scene.tables.slot_at(spot.group, row, spot.position) == spot.slot
        if not is_table or not _is_aligned(spot, scene, row, page):
            continue
        is_beside = _is_beside_its_page(spot, scene, row, page, delta)
        if not is_beside and origin.kind == "other":
            # An entry of another sequence, which may lie anywhere in its page.
            return None
        sentence = (
            f"Row {row}'s slots keep their place in pages{f' of {page}' if sizes else ''}, but "
            f"slot {spot.slot} of position {spot.position} lies {delta:+d} beside it"
        )
        if is_beside:
            sentence += f", in or next to the page of its neighbours: {_OFF_BY_ONE}"
        else:
            sentence += f", as where {_OFF_BY_ONE}"
        return scene.made(
            spot,
            Cause.SHIFTED,
            "certain" if is_beside and page > 2 else "likely",
            [sentence, *_boundary(spot, scene)],
            delta=delta,
        )
    return None


def _is_beside_its_page(spot: Spot, scene: Scene, row: int, page: int, delta: int) -> bool:
    """Whether the other entries of a page are where this one would be, or as far off.

    One alone must be right to show where the page is; that many are off alike, half a page shows.
    """
    tables, first = scene.tables, spot.position - spot.position % page
    distances = [
        slot - place
        for place in range(first, min(first + page, tables.columns))
        if place != spot.position
        and tables.may_have(row, place)
        and (slot := tables.slot_at(spot.group, row, place) or 0) > 0
    ]
    here = spot.slot - spot.position
    return here - delta in distances or 2 * (1 + distances.count(here)) >= max(page, 4)


def _is_aligned(spot: Spot, scene: Scene, row: int, page: int) -> bool:
    """Whether a row's slots but for the spot's keep their positions' places in pages."""
    first = max(0, spot.position - _ROW_SAMPLE)
    tables = scene.tables
    cells = tables.snapshot.req_to_token[row, first : spot.position + _ROW_SAMPLE].tolist()
    aligned = [
        (slot - place) % page == 0
        for place, slot in enumerate((tables.mapped(spot.group, cell) for cell in cells), first)
        if slot > 0 and place != spot.position
    ]
    return len(aligned) >= _FEWEST_ALIGNED and sum(aligned) >= _ALIGNED_SHARE * len(aligned)


# Another owner -----------------------------------------------------------------------------------


def judge_foreign(spot: Spot, scene: Scene, origin: Origin) -> Diagnosis:
    """Return that a stamp is another sequence's, or what is left of one under newer bytes."""
    stored = spot.stored
    has_newer_bytes = any(
        BYTES in each.reasons and (each.reasons != BYTES or spot.reasons == BYTES)
        for each in spot.opening
    )
    if has_newer_bytes and scene.written_meanwhile(spot) is None:
        sentence = (
            f"The stamp is left over from token {stored.token} at position {stored.position}, and "
            "the bytes are not the ones that it was made for: they were written since, and nobody "
            "stamped them."
        )
        return scene.made(
            spot,
            Cause.NEVER_STAMPED,
            "likely",
            [sentence, *origin.sentences, *_inherited(spot, scene)],
            is_foreign=True,
            is_leftover=True,
        )
    certainty, sentences, advice = origin.certainty, list(origin.sentences), ""
    if origin.kind == "unknown" and _is_other_continuation(spot):
        certainty = "likely"
        draft = _draft(spot, scene)
        sentences.append(
            "Chain hash and position are right, so the tokens before are the same, and this is "
            "another continuation of them"
            + (f": {draft}." if draft else ", or other tokens were announced for the row.")
        )
        advice = ADVICE_ON_DRAFTS if draft else ""
    elif origin.kind == "unknown":
        certainty, text = _unknown_owner(spot, scene)
        sentences.append(text)
    return scene.made(
        spot,
        Cause.ANOTHER_OWNER,
        certainty,
        [*sentences, *scene.history(spot)],
        others=origin.rows,
        advice=advice,
        is_foreign=True,
        is_leftover=certainty != "certain",
    )


def _is_other_continuation(spot: Spot) -> bool:
    return spot.reasons & ~BYTES == TOKEN


def _draft(spot: Spot, scene: Scene) -> str:
    """Return that a row itself wrote what it reads, in words; nothing if it did not."""
    writes = scene.tables.writers(spot.group, spot.slot)
    if not writes or writes[-1].row not in spot.rows:
        return ""
    return (
        f"row {writes[-1].row} itself wrote it in step {writes[-1].step}, as a draft that was "
        "rejected and not rolled back, or in an earlier use of the row"
    )


def _unknown_owner(spot: Spot, scene: Scene) -> tuple[Certainty, str]:
    """Return what can be said of a stamp whose owner is not known, and how sure that is."""
    stored = spot.stored
    text = (
        f"The stamp is whole, of token {stored.token} at position {stored.position}, and no row's "
        "table and no recorded batch accounts for it"
    )
    has_bytes = any(each.phase != "head" for each in spot.opening)
    if has_bytes and scene.tables.snapshot.real_kv_mode != "none":
        return "likely", f"{text}. The bytes hash to it: they are that token's as well."
    return "possible", f"{text}."
