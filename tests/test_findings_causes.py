"""Damage done to a small engine, and the one finding that must come of it.

Every fault is a function that takes a world with three running requests (and a fourth that has
ended), does damage, and runs on until somebody has read what was damaged.
"""

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from kv_canary.findings import Cause, Told, find
from kv_canary.findings.tables import Tables, unsigned

PAGE = 8
A, B, C, OTHER, LATER, ENDED = 1, 2, 3, 4, 5, 6
"""Rows. A has 24 cached tokens, B 33, C 16."""


def load(name):
    """The helper beside this file, which is no package."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


world_module = load("findings_world")
fields = world_module.fields


def world(**settings):
    """Three requests in the middle of decoding, in a pool where old stamps lie about."""
    made = world_module.World(**settings)
    made.start(ENDED, 40)
    made.give_back(ENDED)
    made.start(A, 21)
    made.start(B, 30)
    made.start(C, 13)
    made.decode(A, B, C, steps=3)
    return made


@dataclass(frozen=True)
class Fault:
    damage: object
    cause: Cause
    needs: dict


FAULTS = {}


def fault(cause, **needs):
    """Register a fault, the cause that it must be given, and the settings that it needs."""

    def register(damage):
        FAULTS[damage.__name__] = Fault(damage, cause, needs)
        return damage

    return register


def hand_out_again(made, row, position):
    """Put the page of a row's position into the free list, though the row still reads it."""
    made.full.free.append(made.slot(row, position) // PAGE)


def announce(made, row, slots, tokens):
    """Give a row cached tokens in these slots, as a prefix hit does."""
    count = len(slots)
    made.table[row, :count] = torch.as_tensor(slots, dtype=torch.int32)
    made.lengths[row] = count
    if made.tokens is not None:
        made.tokens[row, :count] = tokens
        made.known[row] = count


def move_pages(made, row, start, count, *, shift=0, with_stamps=True):
    """Move a row's tokens to new pages, as a reload does, off by `shift` tokens."""
    old = [made.slot(row, place) for place in range(start, start + count)]
    pages = [made.full.free.pop() for _ in range(-(-count // PAGE))]
    new = [pages[i // PAGE] * PAGE + i % PAGE for i in range(count)]
    stamps = {at: fields(buffer)[old].clone() for at, buffer in made.full.stamps.items()}
    content = {half: [made.full.load(half, slot) for slot in old] for half in "KV"}
    for i, slot in enumerate(new):
        if not 0 <= i + shift < count:
            continue
        if with_stamps:
            for at, buffer in made.full.stamps.items():
                fields(buffer)[slot] = stamps[at][i + shift]
        for half in "KV":
            made.full.store(half, slot, content[half][i + shift])
    made.table[row, start : start + count] = torch.tensor(new, dtype=torch.int32)


def blank_first(made):
    """Let pages that were never used be handed out next."""
    stamps = fields(made.full.stamps["head", "K"])
    made.full.free.sort(key=lambda page: bool(stamps[page * PAGE, 2] == stamps[page * PAGE, 0]))


# Another owner -----------------------------------------------------------------------------------


@fault(Cause.ANOTHER_OWNER)
def slots_handed_to_two_requests_at_other_positions(made):
    hand_out_again(made, B, 8)
    made.decode(A, B, C, steps=3)


@fault(Cause.ANOTHER_OWNER, tokens=True)
def slots_handed_to_two_requests_at_the_same_positions(made):
    for position in (16, 8, 0):
        hand_out_again(made, B, position)
    made.start(OTHER, 20)
    made.decode(B, C)


@fault(Cause.ANOTHER_OWNER, tokens=False)
def slots_handed_to_two_requests_at_the_same_positions_without_token_check(made):
    for position in (16, 8, 0):
        hand_out_again(made, B, position)
    made.start(OTHER, 20)
    made.decode(B, C)


@fault(Cause.ANOTHER_OWNER, tokens=True)
def prefix_that_outlives_its_slots(made):
    slots, tokens = made.table[A, :16].clone(), made.tokens[A, :16].clone()
    made.give_back(A)
    made.start(OTHER, 37)
    announce(made, LATER, slots, tokens)
    made.decode(B, LATER)


@fault(Cause.ANOTHER_OWNER, tokens=True)
def prefix_that_outlives_its_slots_whose_new_owner_is_gone_too(made):
    slots, tokens = made.table[A, :16].clone(), made.tokens[A, :16].clone()
    made.give_back(A)
    made.start(OTHER, 37)
    made.give_back(OTHER)
    made.steps.clear()
    made.table[[A, OTHER, ENDED]] = 0
    made.full.free.reverse()
    made.start(OTHER, 9)
    announce(made, LATER, slots, tokens)
    made.decode(B, LATER)


@fault(Cause.ANOTHER_OWNER)
def stamped_write_that_comes_late(made):
    slot = made.slot(A, 20)
    move_pages(made, A, 16, 8)
    made.full.free.append(slot // PAGE)
    made.start(OTHER, 8)
    made.forward({A: [5], B: [6]}, slots={(A, 24): slot})
    made.decode(A, B, OTHER)


@fault(Cause.ANOTHER_OWNER)
def entries_of_two_rows_exchanged(made):
    made.table[A, 9], made.table[B, 9] = made.table[B, 9].clone(), made.table[A, 9].clone()
    made.decode(A, B)


@fault(Cause.ANOTHER_OWNER)
def batch_that_names_the_row_of_another_request(made):
    made.lengths[C] = 16
    made.forward({C: [8]}, rows={C: B})
    made.decode(B, C)


@fault(Cause.ANOTHER_OWNER, tokens=True)
def row_of_another_request_used_as_it_was(made):
    announce(made, A, made.table[A, :16].clone(), made.tokens[B, :16])
    made.decode(A, B)


@fault(Cause.ANOTHER_OWNER)
def store_into_the_slot_of_a_victim(made):
    made.forward({A: [4], B: [6], C: [5]}, slots={(A, 24): made.slot(B, 12)})
    made.decode(A, B, C)


@fault(Cause.ANOTHER_OWNER, tokens=True)
def draft_that_was_rejected_and_stayed(made):
    made.forward({B: [5, 6, 7], A: [9]})
    made.tokens[B, 34] = 60
    made.decode(A, B)


# Never stamped -----------------------------------------------------------------------------------


@fault(Cause.NEVER_STAMPED)
def store_into_a_free_slot_from_a_blank_one(made):
    blank_first(made)
    free = made.full.free[0] * PAGE + 3
    made.forward({A: [4], B: [6]}, slots={(A, 24): free})
    made.decode(A, B)


@fault(Cause.NEVER_STAMPED)
def store_into_a_free_slot_from_a_used_one(made):
    made.give_back(C)
    made.full.free.insert(0, made.full.free.pop())
    free = made.full.free[0] * PAGE + 3
    made.forward({A: [4], B: [6]}, slots={(A, 24): free})
    made.decode(A, B)


@fault(Cause.NEVER_STAMPED)
def reload_without_stamps_into_blank_slots(made):
    blank_first(made)
    move_pages(made, B, 0, 16, with_stamps=False)
    made.decode(B)


@fault(Cause.NEVER_STAMPED, real_kv="partial")
def reload_without_stamps_into_used_slots(made):
    made.give_back(C)
    made.give_back(A)
    move_pages(made, B, 0, 32, with_stamps=False)
    made.decode(B)


@fault(Cause.NEVER_STAMPED, real_kv="partial")
def reload_without_stamps_into_slots_of_both_kinds(made):
    made.full.free.sort(key=lambda page: page % 3)
    made.give_back(C)
    move_pages(made, B, 0, 32, with_stamps=False)
    made.decode(B)


# Changed after the stamp -------------------------------------------------------------------------


@fault(Cause.CHANGED_AFTER_STAMP, real_kv="partial")
def bytes_flipped(made):
    slot = made.slot(B, 11)
    content = made.full.load("K", slot)
    content[3] ^= 4
    made.full.store("K", slot, content)
    made.decode(B)


@fault(Cause.CHANGED_AFTER_STAMP, real_kv="partial")
def bytes_stored_late_into_a_reused_slot(made):
    made.give_back(A)
    made.start(OTHER, 24)
    for half in "KV":
        made.full.store(half, made.slot(OTHER, 10), made.content())
    made.decode(OTHER)


@fault(Cause.CHANGED_AFTER_STAMP, real_kv="partial")
def bytes_stored_into_the_slot_of_a_victim(made):
    made.forward({A: [4], C: [5]}, stores={(A, 24): made.slot(B, 12)})
    made.decode(A, B)


def flip(field, buffer):
    def damage(made):
        fields(made.full.stamps[buffer])[made.slot(B, 11), field] ^= 1 << 17
        made.decode(B)

    return damage


for number, field_name in enumerate(("token", "position", "chain_hash", "hash_over_the_bytes")):
    for at in (("head", "K"), ("tail", "V")):
        made_fault = flip(number, at)
        made_fault.__name__ = f"{field_name}_flipped_in_the_{at[0]}_of_{at[1]}"
        fault(Cause.CHANGED_AFTER_STAMP)(made_fault)


# Shifted -----------------------------------------------------------------------------------------


@fault(Cause.SHIFTED)
def entry_at_a_page_boundary_one_too_far(made):
    made.table[B, 16] += 1
    made.decode(B)


@fault(Cause.SHIFTED)
def entry_at_a_page_boundary_one_too_low(made):
    made.table[B, 16] -= 1
    made.decode(B)


@fault(Cause.SHIFTED)
def entries_of_a_page_one_too_far(made):
    made.table[B, 16:24] += 1
    made.decode(B)


@fault(Cause.SHIFTED)
def entries_of_a_page_one_too_low(made):
    made.table[B, 16:24] -= 1
    made.decode(B)


@fault(Cause.SHIFTED)
def store_one_before_a_page(made):
    page = made.full.free[-1]
    made.forward({A: [3], B: [4]}, slots={(A, 24): page * PAGE - 1})
    made.decode(A, B, C)


@fault(Cause.SHIFTED)
def entries_far_apart_exchanged(made):
    row = made.table[B]
    row[3], row[18] = row[18].clone(), row[3].clone()
    made.decode(B)


@fault(Cause.SHIFTED)
def entries_side_by_side_exchanged(made):
    row = made.table[B]
    row[10], row[11] = row[11].clone(), row[10].clone()
    made.decode(B)


@fault(Cause.SHIFTED)
def reload_one_too_far(made):
    move_pages(made, B, 0, 32, shift=1)
    made.decode(B)


@fault(Cause.SHIFTED)
def reload_one_too_low(made):
    move_pages(made, B, 0, 32, shift=-1)
    made.decode(B)


@fault(Cause.SHIFTED)
def reload_of_the_middle_one_too_low(made):
    move_pages(made, B, 8, 16, shift=-1)
    made.decode(B)


@fault(Cause.SHIFTED, real_kv="partial")
def bytes_one_too_far(made):
    content = {
        half: [made.full.load(half, made.slot(B, place)) for place in range(32)] for half in "KV"
    }
    for half in "KV":
        for place in range(31):
            made.full.store(half, made.slot(B, place), content[half][place + 1])
    made.decode(B)


@fault(Cause.SHIFTED)
def positions_that_go_on_before_rejected_drafts(made):
    made.forward({B: [5, 6, 7], A: [9]})
    made.forward({B: [8], A: [9]}, positions={(B, 36): 34})
    made.forward({B: [8], A: [9]}, positions={(B, 37): 35})


# The window's edge -------------------------------------------------------------------------------


@fault(Cause.WINDOW_EDGE, window=24)
def window_slots_given_away_too_early(made):
    start = made.lengths[B] - made.window.window
    made.window.free.append(made.slot(B, start, made.window) // PAGE)
    made.decode(A, steps=2)
    made.decode(A, B, C)


@fault(Cause.WINDOW_EDGE, window=24)
def page_of_the_window_mapped_to_that_of_another_request(made):
    own, other = made.slot(B, 24) // PAGE, made.slot(C, 8) // PAGE
    made.mapping[own * PAGE : (own + 1) * PAGE] = made.mapping[other * PAGE : (other + 1) * PAGE]
    made.decode(B, C)


@fault(Cause.WINDOW_EDGE, window=24)
def window_slots_that_two_requests_write(made):
    made.decode(A)
    own, other = made.slot(A, 24) // PAGE, made.slot(B, 24) // PAGE
    shared = made.mapping[other * PAGE : (other + 1) * PAGE].clone()
    made.mapping[own * PAGE : (own + 1) * PAGE] = shared
    made.decode(A, steps=2)
    made.decode(A, B, C)


# Out of range ------------------------------------------------------------------------------------


@fault(Cause.PADDING_SLOT)
def row_reset_while_it_runs(made):
    made.table[B] = 0
    made.forward({B: [7], A: [3]}, slots={(B, 33): made.full.free[0] * PAGE})


@fault(Cause.PADDING_SLOT)
def padding_slot_in_a_row(made):
    made.table[B, 9] = 0
    made.decode(B)


@fault(Cause.PADDING_SLOT)
def store_into_the_padding_slot(made):
    made.forward({A: [4], B: [6]}, slots={(A, 24): 0})
    made.decode(A, B)


@fault(Cause.WILD_SLOT)
def slot_past_the_pool_in_a_row(made):
    made.table[B, 9] = 100_000
    made.decode(A, B)


@fault(Cause.WILD_SLOT)
def slot_past_the_pool_at_the_end_of_a_row(made):
    made.table[B, 32] = 100_000
    made.decode(A, B, steps=2)


@fault(Cause.WILD_SLOT)
def negative_slot_in_a_row(made):
    made.table[B, 9] = -77
    made.decode(A, B)


@fault(Cause.WILD_SLOT)
def store_past_the_pool(made):
    made.forward({A: [4], B: [6]}, slots={(A, 24): 100_000})
    made.decode(A, B)


@fault(Cause.WILD_ROW_OR_LENGTH)
def length_past_the_row(made):
    made.forward({A: [4], B: [6]}, prefixes={B: 500})
    made.decode(A, B)


@fault(Cause.WILD_ROW_OR_LENGTH)
def row_past_the_table(made):
    made.forward({A: [4], B: [6]}, rows={B: 99})
    made.decode(A, B)


@fault(Cause.WILD_ROW_OR_LENGTH)
def negative_row(made):
    made.forward({A: [4], B: [6]}, rows={B: -3})
    made.decode(A, B)


@fault(Cause.OFFSETS)
def offsets_that_run_backwards(made):
    def spoil(plan):
        plan.write_offsets[2] = 0

    made.forward({A: [4, 5], B: [6, 7], C: [8, 9]}, spoil_plan=spoil)
    made.decode(A, B, C)


@fault(Cause.OFFSETS)
def offsets_past_the_batch(made):
    def spoil(plan):
        plan.write_offsets[2] = 1000

    made.forward({A: [4, 5], B: [6, 7], C: [8, 9]}, spoil_plan=spoil)
    made.decode(A, B, C)


@fault(Cause.WRONG_INPUT)
def token_that_is_not_the_expected_one(made):
    made.forward({A: [4], B: [6]}, expected={(B, 33): 999})


# One fault, one finding --------------------------------------------------------------------------


def causes_after(name, **settings):
    """The causes of all findings after a fault."""
    case = FAULTS[name]
    made = world(**{**settings, **case.needs})
    assert int(made.count) == 0, "the damage was to come now"
    case.damage(made)
    return [finding.cause for finding in find(made.snapshot())]


@pytest.mark.parametrize("window", [0, 24])
@pytest.mark.parametrize("name", FAULTS)
def test_fault_gives_one_finding_of_its_cause(name, window):
    assert causes_after(name, window=window) == [FAULTS[name].cause]


@pytest.mark.parametrize("name", FAULTS)
def test_fault_among_shared_prefixes_gives_one_finding_of_its_cause(name):
    case = FAULTS[name]
    made = world(seed=1, hash_format="parallel", **case.needs)
    made.share(LATER, B, 16)
    made.decode(LATER)
    case.damage(made)
    assert [finding.cause for finding in find(made.snapshot())] == [case.cause]


NAMED_BY_THE_BATCH = {
    "store_into_a_free_slot_from_a_used_one",
}
"""Faults that leave nothing but somebody else's stamp, and a batch that says where it came from."""


@pytest.mark.parametrize("name", FAULTS)
def test_fault_in_batches_that_the_host_did_not_see_is_named_all_the_same(name):
    case = FAULTS[name]
    made = world(seed=2, keep=0, **case.needs)
    case.damage(made)
    cause = Cause.ANOTHER_OWNER if name in NAMED_BY_THE_BATCH else case.cause
    assert [finding.cause for finding in find(made.snapshot())] == [cause]


@pytest.mark.soak
@pytest.mark.parametrize("tokens", [True, False])
@pytest.mark.parametrize("hash_format", ["serial", "parallel"])
@pytest.mark.parametrize("name", FAULTS)
def test_fault_gives_one_finding_of_its_cause_at_every_seed(name, hash_format, tokens):
    if FAULTS[name].needs.get("tokens", tokens) != tokens:
        pytest.skip("the fault shows only with the other token check")
    for seed in range(20):
        for window in (0, 24):
            for real_kv in ("partial", "none"):
                if FAULTS[name].needs.get("real_kv", real_kv) != real_kv:
                    continue
                found = causes_after(
                    name,
                    seed=seed,
                    window=window,
                    real_kv=real_kv,
                    hash_format=hash_format,
                    tokens=tokens,
                )
                assert found == [FAULTS[name].cause], (seed, window, real_kv)


def test_undamaged_world_gives_no_finding():
    for window in (0, 24):
        made = world(window=window)
        made.decode(A, B, C, steps=4)
        assert find(made.snapshot()) == ()


# What a finding says -----------------------------------------------------------------------------


def only_finding(made):
    (finding,) = find(made.snapshot())
    return finding


def test_second_owner_is_named_with_both_stamps():
    made = world()
    token = int(made.tokens[B, 8])
    stamp = made.stamp(B, 8, buffer=("tail", "K"))
    slots_handed_to_two_requests_at_other_positions(made)
    finding = only_finding(made)
    slot = made.slot(B, 8)
    assert (finding.certainty, finding.group, finding.halves) == ("certain", "full", ("K", "V"))
    assert (finding.requests, finding.other_requests) == ((B,), (A,))
    assert str(finding.positions) == "8-10"
    assert str(finding.slots) == f"{slot}-{slot + 2}"
    assert (finding.first_step, finding.last_step) == (7, 9)
    first = finding.violations[0]
    assert finding.evidence[:3] == (
        (
            f"Row 2, position 8, slot {slot} (step 7, TAIL_K_FULL): stored token {token}, position "
            f"8, chain hash {unsigned(stamp[2])}; expected token {token}, position 8, chain hash "
            f"{unsigned(stamp[2])}; hash over the bytes stored {unsigned(stamp[3])}, computed "
            f"{unsigned(first.computed_real_kv_hash)}."
        ),
        (
            "The same forward, step 7, wrote row 1's position 24 into this slot: the bytes are "
            "that token's, and the tail is stamped only after this check."
        ),
        "The last recorded write into the slot is row 1's, of position 24, in step 7.",
    )
    assert finding.evidence[-2:] == (
        (
            "Row 2 wrote position 8 there in step 2, and row 1 wrote over it in step 7: the slot "
            "was handed out twice."
        ),
        "2 more entries are damaged in the same way, at positions 9-10.",
    )


def test_owner_is_proven_by_the_chain_where_no_batch_is_known():
    made = world(keep=0)
    hand_out_again(made, B, 8)
    made.decode(A, C)
    made.decode(B)
    finding = only_finding(made)
    slot, before = made.slot(B, 8), made.slot(A, 23)
    assert (finding.certainty, finding.other_requests) == ("certain", (A,))
    assert finding.evidence[1:] == (
        (
            f"Row 1 maps its position 24 to slot {slot} as well, where token "
            f"{made.stamp(A, 24)[0]} is expected."
        ),
        (
            f"The stored chain hash is the successor of the stamp in slot {before}, which is row "
            "1's position 23."
        ),
        "Position 9 fails in the chain alone, as the token after a damaged one must.",
    )


def test_stale_prefix_is_told_from_a_slot_handed_out_twice():
    made = world()
    prefix_that_outlives_its_slots(made)
    finding = only_finding(made)
    assert (finding.requests, finding.other_requests) == ((LATER,), (OTHER,))
    assert (
        "Row 5 did not write position 0: it came with 16 cached tokens in step 8; row 4 wrote into "
        "the slot in step 7, before: a prefix that outlived its slots would look like this (stale "
        "prefix), and so would a stale entry of the table."
    ) in finding.evidence


def test_late_write_is_told_from_a_slot_handed_out_twice():
    made = world()
    stamped_write_that_comes_late(made)
    finding = only_finding(made)
    assert (finding.requests, finding.other_requests) == ((A, OTHER), (A,))
    assert (
        "Row 4 wrote position 4 there in step 7, and row 1 wrote over it in step 8: row 1 "
        f"maps position 24 to slot {made.slot(A, 24)} now, so that write went astray, or came late "
        "(late write)."
    ) in finding.evidence


def test_draft_that_stayed_is_told_from_another_request():
    made = world()
    draft_that_was_rejected_and_stayed(made)
    finding = only_finding(made)
    assert (finding.certainty, finding.other_requests) == ("likely", ())
    assert finding.evidence[1] == (
        "Chain hash and position are right, so the tokens before are the same, and this is another "
        "continuation of them: row 2 itself wrote it in step 7, as a draft that was rejected and "
        "not rolled back, or in an earlier use of the row."
    )
    assert finding.advice.startswith("Look at the code that rolls back drafts after a rejection")


def test_slot_that_was_replaced_unseen_is_shown_by_the_one_behind_it():
    made = world(tokens=False)
    slots_handed_to_two_requests_at_the_same_positions_without_token_check(made)
    finding = only_finding(made)
    assert (finding.certainty, finding.other_requests) == ("certain", (OTHER,))
    assert str(finding.positions) == "19"
    assert finding.evidence[0].startswith(f"Row 2, position 20, slot {made.slot(B, 20)} (step 8, ")
    assert finding.evidence[1] == (
        f"Slot {made.slot(B, 20)} does not continue slot {made.slot(B, 19)}, before it; it holds "
        f"token {made.stamp(B, 19)[0]} at position 19."
    )


def test_missing_token_and_the_slot_it_went_to_are_one_finding():
    made = world()
    victim = made.slot(B, 12)
    store_into_the_slot_of_a_victim(made)
    finding = only_finding(made)
    assert (finding.requests, finding.other_requests) == ((A, B), (A,))
    assert str(finding.positions) == "12, 24"
    assert victim in finding.slots
    assert made.slot(A, 24) in finding.slots


def test_blank_slot_is_certainly_never_stamped():
    made = world()
    reload_without_stamps_into_blank_slots(made)
    finding = only_finding(made)
    assert (finding.certainty, finding.requests, len(finding.positions)) == ("certain", (B,), 16)


def test_stamp_left_under_newer_bytes_is_likely_never_stamped():
    made = world(keep=0)
    old = [made.slot(B, 0) // PAGE, made.slot(B, 8) // PAGE]
    made.give_back(C)
    made.table[[C, ENDED]] = 0
    move_pages(made, B, 0, 16, with_stamps=False)
    made.full.free.extend(old)
    made.start(OTHER, 16)
    made.decode(B)
    finding = only_finding(made)
    assert finding.cause is Cause.NEVER_STAMPED
    assert finding.certainty == "likely"


def test_damaged_stamp_is_told_from_the_other_buffers():
    made = world()
    damage = FAULTS["position_flipped_in_the_tail_of_V"].damage
    damage(made)
    finding = only_finding(made)
    assert (finding.certainty, finding.halves) == ("certain", ("V",))
    assert finding.launch_tags == ("TAIL_V_FULL",)
    assert finding.evidence[1:] == (
        (
            "The stamp is as it should be in the head of K and head of V and tail of K, and "
            "differs in what TAIL_V_FULL read: position 131083 instead of 11 (1 bit). All "
            "buffers are stamped alike, so it was changed there."
        ),
        "Position 12 fails in the chain alone, as the token after a damaged one must.",
    )


def test_token_damaged_without_a_token_check_is_found_by_its_successor():
    made = world(tokens=False)
    token = made.stamp(B, 11)[0]
    FAULTS["token_flipped_in_the_head_of_K"].damage(made)
    finding = only_finding(made)
    slot = made.slot(B, 11)
    assert (finding.cause, finding.certainty) == (Cause.CHANGED_AFTER_STAMP, "certain")
    assert (str(finding.positions), str(finding.slots)) == ("11", str(slot))
    assert finding.evidence[1] == (
        f"Slot {made.slot(B, 12)} continues it in the head of V and tail of K and tail of V and "
        f"not in what HEAD_K_FULL read, so the stamp in slot {slot} was changed there: token "
        f"{token ^ 1 << 17} instead of {token} (1 bit). All buffers are stamped alike."
    )


def test_exchanged_entries_say_so():
    made = world()
    entries_far_apart_exchanged(made)
    finding = only_finding(made)
    assert (finding.certainty, str(finding.positions)) == ("certain", "3, 18")
    assert (
        "Position 18 holds position 3 in turn: two entries of the table are exchanged."
        in finding.evidence
    )
    assert finding.evidence[-1] == (
        "Positions 4, 19 fail in the chain alone, as the token after a damaged one must."
    )


def test_shift_is_recomputed_from_the_rows_own_tokens():
    made = world(keep=0)
    reload_one_too_far(made)
    finding = only_finding(made)
    assert (finding.certainty, finding.requests) == ("certain", (B,))
    assert finding.evidence[1:3] == (
        "Row 2 finds its own position 1 where position 0 should be: +1.",
        "Recomputed from row 2's own tokens, position 1 has exactly the chain hash that is stored.",
    )


def test_shifted_bytes_are_found_by_the_hash_that_they_were_stamped_with():
    made = world()
    bytes_one_too_far(made)
    finding = only_finding(made)
    assert (finding.certainty, finding.launch_tags) == ("certain", ("TAIL_K_FULL", "TAIL_V_FULL"))
    assert finding.evidence[2] == (
        f"The bytes there are those that slot {made.slot(B, 1)} was stamped over, row 2's position "
        "1: +1 from where they lie, as with 2 of its neighbours."
    )


def test_page_boundary_is_named():
    made = world()
    entry_at_a_page_boundary_one_too_low(made)
    finding = only_finding(made)
    slot = made.slot(B, 16)
    assert finding.evidence[1:3] == (
        (
            f"Row 2's slots keep their place in pages of 8, but slot {slot} of position 16 lies -1 "
            "beside it, in or next to the page of its neighbours: the table is off by one."
        ),
        "Position 16 is the first of a page of 8 tokens.",
    )


def test_two_full_slots_of_one_window_slot_are_named():
    made = world(window=24)
    page_of_the_window_mapped_to_that_of_another_request(made)
    finding = only_finding(made)
    own, other = sorted((made.slot(B, 24), made.slot(C, 8)))
    assert (finding.group, finding.certainty) == ("window", "certain")
    assert finding.evidence[1] == (
        f"Slots {own}, {other} of the full pool are mapped to window slot "
        f"{made.slot(B, 24, made.window)} all at once, and slot {made.slot(C, 8)} is the one whose "
        "stamp this is."
    )


def test_fault_of_the_full_pool_is_no_matter_of_the_windows_edge():
    made = world(window=32)
    slots_handed_to_two_requests_at_other_positions(made)
    finding = only_finding(made)
    assert finding.group == "full"
    assert "TAIL_K_SWA" in finding.launch_tags
    assert finding.evidence[-1] == "The window pool is wrong there too, at positions 8-15."


def test_every_violation_is_in_one_finding_alone():
    made = world()
    hand_out_again(made, B, 8)
    made.table[C, 3] = 100_000
    bytes_flipped_at = made.slot(A, 2)
    made.full.store("V", bytes_flipped_at, made.content())
    made.decode(A, B, C, steps=3)
    snapshot = made.snapshot()
    findings = find(snapshot)
    assert {finding.cause for finding in findings} == {
        Cause.ANOTHER_OWNER,
        Cause.WILD_SLOT,
        Cause.CHANGED_AFTER_STAMP,
    }
    indexes = [violation.index for finding in findings for violation in finding.violations]
    assert sorted(indexes) == list(range(len(snapshot.violations)))


def test_faults_in_two_requests_are_two_findings():
    made = world()
    made.table[B] = 0
    made.table[C, 3] = 0
    made.lengths[B] = 33
    made.forward({B: [1], C: [2]}, slots={(B, 33): made.full.free[0] * PAGE})
    findings = find(made.snapshot())
    assert [(each.cause, each.requests) for each in findings] == [
        (Cause.PADDING_SLOT, (B,)),
        (Cause.PADDING_SLOT, (C,)),
    ]


def test_requests_that_share_a_damaged_prefix_are_one_finding():
    made = world()
    made.share(LATER, B, 16)
    made.share(OTHER, B, 16)
    made.decode(LATER, OTHER)
    made.full.store("K", made.slot(B, 5), made.content())
    made.decode(B, LATER, OTHER, steps=2)
    finding = only_finding(made)
    assert (finding.requests, str(finding.positions)) == ((B, OTHER, LATER), "5")
    assert len(finding.violations) == 6


def test_ring_that_was_full_still_gives_the_finding():
    made = world(ring=6)
    slots_handed_to_two_requests_at_other_positions(made)
    snapshot = made.snapshot()
    assert snapshot.violation_count > len(snapshot.violations) == 6
    assert [finding.cause for finding in find(snapshot)] == [Cause.ANOTHER_OWNER]


def test_row_that_went_to_another_request_says_nothing_about_the_tokens_before():
    """A write of the row's last request must not count as the new one's."""
    made = world()
    made.give_back(C)
    made.table[C] = 0
    made.share(C, B, 16)
    made.decode(B, C)
    FAULTS["position_flipped_in_the_tail_of_V"].damage(made)
    made.decode(C)
    assert only_finding(made).cause is Cause.CHANGED_AFTER_STAMP


def test_canary_without_evidence_ring_gives_no_certainty():
    made = world()
    hand_out_again(made, B, 8)
    made.decode(A, C)
    made.decode(B)
    snapshot = made.snapshot()
    snapshot.evidence.fill_(-1)
    (finding,) = find(snapshot)
    assert (finding.cause, finding.certainty) == (Cause.ANOTHER_OWNER, "likely")
    assert (finding.first_step, str(finding.positions)) == (-1, "8")


# Nothing that may be false -----------------------------------------------------------------------


def own_decode(keep=4, steps=6):
    """A world whose rows wrote all of their tokens, most of them before the record begins."""
    made = world(keep=keep)
    made.decode(A, B, C, steps=steps)
    return made


def test_request_that_is_older_than_the_record_is_not_said_to_have_come_with_its_tokens():
    made = own_decode()
    made.start(OTHER, 12)
    made.decode(A, B, C)
    made.table[B, 4] = made.table[OTHER, 4]
    made.decode(B)
    finding = only_finding(made)
    assert (finding.cause, finding.certainty) == (Cause.ANOTHER_OWNER, "certain")
    assert (
        "The last 4 recorded forwards did not write row 2's position 4; row 4 wrote into the slot "
        "in step 13."
    ) in finding.evidence
    assert not [each for each in finding.evidence if "came with" in each or "while" in each]
    assert "req_to_token" in finding.advice


def test_tokens_before_a_draft_that_was_taken_back_are_not_said_to_be_inherited():
    made = world()
    made.forward({B: [5, 6, 7], A: [9]})
    made.lengths[B] = made.known[B] = 34
    made.decode(B)
    made.table[B, 4] = made.table[A, 4]
    made.decode(B)
    assert not [each for each in only_finding(made).evidence if "did not write" in each]


def restarted(made):
    """Row A has 24 tokens, ends, and is given to a request of 10 in pages of its own."""
    old = made.table[A].clone()
    made.lengths[A] = made.known[A] = 0
    made.start(A, 10)
    assert set(made.table[A, :10].tolist()).isdisjoint(old[:24].tolist())
    return old


@pytest.mark.parametrize("keep", [0, 1, 16])
@pytest.mark.parametrize("tokens", [True, False])
def test_stamp_of_a_rows_last_request_is_no_shift(keep, tokens):
    made = world(keep=keep, tokens=tokens)
    old = restarted(made)
    made.table[A, 3] = old[12]
    made.decode(A, B)
    finding = only_finding(made)
    if keep or tokens:
        assert finding.cause is not Cause.SHIFTED
    assert finding.requests == (A,)
    assert finding.cause is not Cause.SHIFTED or finding.certainty != "certain"


def test_columns_behind_a_requests_tokens_are_no_entries():
    made = world(tokens=False, keep=1)
    old = restarted(made)
    made.table[B, 5] = old[12]
    made.decode(A, B)
    finding = only_finding(made)
    assert "maps its position 12" not in str(finding)
    assert finding.cause is Cause.ANOTHER_OWNER


def test_entry_of_another_row_is_its_own_though_it_lies_one_beside_its_place():
    made = own_decode()
    made.table[B, 4] = made.table[A, 5]
    made.decode(B)
    finding = only_finding(made)
    assert (finding.cause, finding.certainty) == (Cause.ANOTHER_OWNER, "certain")
    assert finding.other_requests == (A,)


def test_wrong_positions_of_a_first_forward_are_wrong_input():
    made = world()
    made.forward({LATER: [5, 6, 7, 8]}, positions={(LATER, place): place + 1 for place in range(4)})
    made.decode(LATER)
    finding = only_finding(made)
    assert (finding.cause, finding.certainty) == (Cause.WRONG_INPUT, "certain")
    assert (finding.requests, str(finding.positions)) == ((LATER,), "0-3")
    assert finding.evidence[1] == (
        "Step 7 wrote the stamp for this place, with position 1: row 5 had 0 cached tokens there, "
        "so its position was 0, and the batch's positions say +1 from it."
    )


def test_wrong_positions_behind_a_prefix_are_wrong_input_in_their_step():
    made = world()
    made.forward({B: [5]}, positions={(B, 33): 34})
    finding = only_finding(made)
    assert (finding.cause, finding.certainty, finding.first_step) == (
        Cause.WRONG_INPUT,
        "certain",
        7,
    )
    made.decode(B)
    assert only_finding(made).cause is Cause.WRONG_INPUT


def test_page_given_twice_to_one_request_names_the_allocator_first():
    made = world()
    page = made.slot(B, 8) // PAGE
    made.decode(B, steps=7)
    made.full.free.append(page)
    made.decode(B, steps=3)
    finding = only_finding(made)
    assert (finding.cause, finding.certainty) == (Cause.SHIFTED, "likely")
    assert (
        f"Row 2 has slot {page * PAGE} at both positions, 4 pages of 8 apart: it was given to the "
        "request twice, or the table was filled with what the request had already."
    ) in finding.evidence
    assert finding.advice.startswith("Look at the allocator's free list first")


@pytest.mark.parametrize("together", [True, False])
def test_other_request_with_the_same_tokens_is_no_shift(together):
    made = world()
    tokens = made.tokens[B, :8].tolist()
    hand_out_again(made, B, 24)
    if together:
        made.forward({OTHER: tokens, B: [5]})
    else:
        made.start(OTHER, 8, tokens=tokens)
        made.decode(B)
    finding = only_finding(made)
    assert (finding.cause, finding.certainty) == (Cause.ANOTHER_OWNER, "certain")
    assert (finding.requests, finding.other_requests) == ((B,), (OTHER,))


# Told once ---------------------------------------------------------------------------------------


def told_after(told, made):
    """What is told of the violations since the last time."""
    snapshot = made.snapshot()
    made.count.zero_()
    return [finding for _, finding in told.take(find(snapshot), snapshot)]


def test_fault_that_goes_on_is_told_once_and_keeps_its_cause():
    made, told = world(), Told()
    hand_out_again(made, B, 8)
    seen = []
    for _ in range(9):
        made.decode(A, B, C)
        seen += told_after(told, made)
    assert [each.repeats for each in seen] == list(range(9))
    assert {each.cause for each in seen} == {Cause.ANOTHER_OWNER}
    assert (str(seen[-1].positions), seen[-1].first_step, seen[-1].last_step) == ("8-15", 7, 15)


def test_second_fault_of_a_row_is_told_beside_the_first():
    made, told = world(), Told()
    made.table[B, 4] = made.table[A, 4]
    made.decode(B)
    assert [each.repeats for each in told_after(told, made)] == [0]
    made.table[B, 20] = made.table[A, 20]
    made.decode(B)
    assert 0 in [each.repeats for each in told_after(told, made)]
    made.decode(B)
    assert 0 not in [each.repeats for each in told_after(told, made)]


def test_damage_to_what_was_written_anew_is_another_fault():
    made, told = world(), Told()
    for _ in range(2):
        slot = made.slot(C, 11)
        made.full.store("K", slot, made.content())
        made.decode(C)
        (finding,) = told_after(told, made)
        assert finding.repeats == 0
        pages = made.table[C, :16].clone()
        tokens = made.tokens[C, :16].tolist()
        made.lengths[C] = made.known[C] = 0
        made.full.free += [int(slot) // PAGE for slot in pages[::PAGE].flip(0)]
        made.start(C, 16, tokens=tokens)
        assert made.slot(C, 11) == slot
    made.decode(C)
    assert told_after(told, made) == []


# Size --------------------------------------------------------------------------------------------


def test_chains_are_recomputed_over_a_bounded_number_of_tokens(monkeypatch):
    monkeypatch.setattr("kv_canary.findings.tables._MOST_CHAIN_TOKENS", 3)
    made = world()
    tables = Tables(made.snapshot())
    assert tables.own_chain("full", B, 3, sound_below=0) == made.stamp(B, 3)[2]
    assert tables.own_chain("full", B, 4, sound_below=0) is None
