"""The canary around a small engine: silent when all is well, and not when something is damaged."""

import gc
import importlib.util
import logging
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from kv_canary import (
    Canary,
    CanaryConfig,
    CanaryError,
    CanaryLaunchTag,
    ContractError,
    FailReason,
    RealKvSource,
    WindowPool,
)
from kv_canary.canary.prefixes import check_rewind
from kv_canary.findings import log_line, read_dump

TAG, SLOT, POSITION, TOKEN, EXPECTED_TOKEN, REASONS = 0, 1, 2, 3, 4, 7
STEP = 5


@pytest.fixture(scope="module")
def engine_module():
    """The small engine, `tests/canary_engine.py`."""
    path = Path(__file__).parent / "canary_engine.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def engine_type(engine_module):
    """The class of the small engine."""
    return engine_module.Engine


@pytest.fixture
def decoding(engine_type):
    """A function that makes an engine with requests in rows, their prompts cached."""

    def decoding(*lengths, **settings):
        engine = engine_type(**settings)
        for length in lengths or (10,):
            request = engine.start(engine.draw(length + 20))
            engine.step([(request, length)])
        assert engine.canary.poll() == ()
        return engine, engine.running

    return decoding


def collect(**fields):
    return CanaryConfig(mode="collect", **fields)


def violations(engine):
    """Every row of the ring, as lists."""
    return engine.canary.snapshot().violations.tolist()


def tags(rows):
    return {CanaryLaunchTag(row[TAG]).name for row in rows}


def reasons(rows):
    return {FailReason(row[REASONS]) for row in rows}


def step_all(engine, **options):
    engine.step([(request, 1) for request in engine.running], **options)


# Nothing to find --------------------------------------------------------------------------------


@pytest.mark.parametrize("hash_format", ["serial", "parallel"])
@pytest.mark.parametrize("real_kv", ["none", "partial", "all"])
@pytest.mark.parametrize("window", [0, 6])
def test_sound_batches_give_no_finding(engine_type, window, real_kv, hash_format):
    for seed in range(3):
        engine = engine_type(
            collect(real_kv=real_kv, hash_format=hash_format, bracket=seed == 1),
            window=window,
            has_sources=real_kv != "none",
            seed=seed,
        )
        engine.run_randomly(30)
        assert (violations(engine), engine.canary.poll()) == ([], ())
        health = engine.canary.health()
        assert health.forwards == health.forwards_on_device > 20
        assert min(health.slots_checked, health.slots_stamped) > 500


def test_engine_that_announces_nothing_gets_no_finding(engine_type):
    for seed in range(6):
        engine = engine_type(announces=False, seed=seed)
        engine.run_randomly(60)
        assert violations(engine) == []


def test_every_backend_is_silent_on_sound_batches_and_finds_a_changed_byte(backend, engine_type):
    engine = engine_type(
        CanaryConfig(mode="collect", real_kv="all"), device=backend.device, window=6
    )
    request = engine.start(engine.draw(20))
    for count in (8, 1, 3):
        engine.step([(request, count)], padding=1)
    assert engine.canary.poll(wait=True) == ()
    engine.v[request.slots[9], 0] += 1
    step_all(engine)
    engine.canary.sweep([request.row], [13])
    assert tags(violations(engine)) == {"TAIL_V_FULL", "SWEEP_V_FULL"}
    assert engine.canary.poll(wait=True) != ()


@pytest.mark.soak
def test_sound_batches_give_no_finding_for_long(engine_type):
    for seed in range(20):
        for window in (0, 6):
            engine = engine_type(
                collect(bracket=bool(seed % 2)),
                window=window,
                seed=100 + seed,
                announces=seed % 3 != 0,
                **({"verify_capacity": 20} if seed % 5 == 0 else {}),
            )
            engine.run_randomly(200)
            assert violations(engine) == [], f"seed {seed}, window {window}"


def test_batch_of_nothing_is_a_forward(engine_type):
    engine = engine_type()
    engine.step([])
    assert engine.canary.health().forwards_on_device == 1
    assert violations(engine) == []


# Something to find ------------------------------------------------------------------------------


def test_damaged_tail_stamp_is_found_by_the_tail(decoding):
    engine, (request,) = decoding()
    slot = request.slots[4]
    engine.canary._state.groups[0].halves[0].tail[slot, 3] ^= 1
    step_all(engine)
    rows = violations(engine)
    assert tags(rows) == {"TAIL_K_FULL"}
    assert {row[SLOT] for row in rows} == {slot, request.slots[5]}  # and what is chained to it


def test_damaged_head_stamp_is_found_by_the_head(decoding):
    engine, (request,) = decoding()
    engine.canary._state.groups[0].halves[1].head[request.slots[8], 8] ^= 1
    step_all(engine)
    rows = violations(engine)
    assert tags(rows) == {"HEAD_V_FULL"}
    assert {row[SLOT]: FailReason(row[REASONS]) for row in rows} == {
        request.slots[8]: FailReason.VERIFY_POSITION_MISMATCH,
        request.slots[9]: FailReason.VERIFY_CHAIN_HASH_MISMATCH,
    }


@pytest.mark.parametrize(
    ("buffer", "byte", "real_kv", "tag"),
    [
        (0, 0, "partial", "TAIL_K_FULL"),
        (1, 15, "partial", "TAIL_K_FULL"),
        (2, 3, "partial", "TAIL_V_FULL"),
        (0, 31, "all", "TAIL_K_FULL"),
        (1, 15, "all", "TAIL_K_FULL"),
        (2, 31, "all", "TAIL_V_FULL"),
        (0, 16, "partial", None),  # partial covers the first 16 bytes of a token
        (1, 16, "all", None),  # the source declares 16 bytes of 32
        (0, 0, "none", None),
    ],
)
def test_changed_byte_of_kv_is_found_where_it_is_covered(decoding, buffer, byte, real_kv, tag):
    engine, (request,) = decoding(config=collect(real_kv=real_kv))
    slot = request.slots[7]
    view, where = engine.byte_views(torch.tensor([slot]))[buffer]
    view[tuple(int(index) for index in where)].view(torch.uint8)[byte] ^= 0x40
    step_all(engine)
    rows = violations(engine)
    assert tags(rows) == ({tag} if tag else set())
    assert [(row[SLOT], FailReason(row[REASONS])) for row in rows] == (
        [(slot, FailReason.VERIFY_REAL_KV_HASH_MISMATCH)] if tag else []
    )


def test_changed_byte_of_the_window_pool_is_found_in_its_group(decoding):
    engine, (request,) = decoding(window=6, config=collect(real_kv="all"))
    engine.window_k[engine.window_of[request.slots[8]], 30] ^= 1
    step_all(engine)
    assert tags(violations(engine)) == {"TAIL_K_SWA"}


def test_table_entry_that_changes_is_found_by_head_and_tail(decoding):
    engine, (request, other) = decoding(8, 8)
    engine.req_to_token[request.row, 3] = other.slots[5]
    step_all(engine)
    rows = violations(engine)
    assert tags(rows) == {"HEAD_K_FULL", "HEAD_V_FULL", "TAIL_K_FULL", "TAIL_V_FULL"}
    assert {row[SLOT] for row in rows} == {other.slots[5], request.slots[4]}


def test_padding_slot_below_the_prefix_is_reported_in_the_full_group_alone(decoding):
    engine, (request,) = decoding(window=6)
    engine.req_to_token[request.row, 7] = 0
    step_all(engine)
    padding = [row for row in violations(engine) if row[REASONS] == 128]
    assert tags(padding) == {"HEAD_K_FULL", "HEAD_V_FULL", "TAIL_K_FULL", "TAIL_V_FULL"}
    assert {(row[SLOT], row[POSITION]) for row in padding} == {(0, 7)}


def test_wild_row_and_wild_length_are_reported_and_survived(decoding):
    engine, (first, second) = decoding(8, 8)
    batch = engine.batch([(first, 1), (second, 1)])
    batch["req_pool_indices"][0] = 1 << 40
    batch["prefix_lens"][1] = -(1 << 50)
    with engine.canary.forward(**batch):
        pass
    rows = [row for row in violations(engine) if row[SLOT] == -2]
    assert {row[POSITION] for row in rows} == {0, -(1 << 50)}
    engine.canary.poll()


@pytest.mark.parametrize("slot", [-1, -(1 << 60), 10_000, 1 << 60])
def test_wild_slot_that_is_written_is_reported_and_a_negative_one_passed_over(decoding, slot):
    engine, (request,) = decoding(window=6)
    batch = engine.batch([(request, 1)])
    batch["out_cache_loc"][0] = slot
    with engine.canary.forward(**batch):
        pass
    rows = violations(engine)
    assert {row[REASONS] for row in rows} == (set() if slot < 0 else {64})
    assert {row[SLOT] for row in rows if "FULL" in CanaryLaunchTag(row[TAG]).name} == (
        set() if slot < 0 else {slot}
    )
    if slot > 0:
        assert any("SWA" in tag for tag in tags(rows))


def test_position_that_jumps_is_reported_once_a_half(decoding):
    engine, (request,) = decoding()
    batch = engine.batch([(request, 1)])
    batch["positions"] += 3
    with engine.canary.forward(**batch):
        pass
    rows = violations(engine)
    assert (tags(rows), reasons(rows)) == (
        {"HEAD_K_FULL", "HEAD_V_FULL"},
        {FailReason.WRITE_POSITION_MISMATCH},
    )


def test_bracket_reports_twice_what_was_damaged_before_and_once_what_was_during(decoding):
    engine, (request,) = decoding(config=collect(bracket=True, real_kv="all"))
    engine.k[request.slots[2] // 4] ^= 1
    step_all(engine)
    before = [row[SLOT] for row in violations(engine)]
    assert before.count(request.slots[2]) == 2
    engine, (request,) = decoding(config=collect(bracket=True, real_kv="all"))
    batch = engine.batch([(request, 1)])
    with engine.canary.forward(**batch):
        engine.write_kv(batch)
        engine.k[request.slots[2] // 4] ^= 1
    assert [row[SLOT] for row in violations(engine)].count(request.slots[2]) == 1


def test_evidence_names_the_forward(decoding):
    engine, (request,) = decoding(6)
    for _ in range(4):
        step_all(engine)
    engine.canary._state.groups[0].halves[0].tail[request.slots[1], 0] ^= 1
    step_all(engine)
    snapshot = engine.canary.snapshot()
    assert set(snapshot.evidence[:, STEP].tolist()) == {5}
    last = snapshot.steps[-1]
    assert (last.step, last.req_pool_indices.tolist(), last.prefix_lens.tolist()) == (
        5,
        [request.row],
        [10],
    )
    assert last.out_cache_loc.tolist() == [request.slots[10]]
    assert last.positions.tolist() == [10]
    assert [step.step for step in snapshot.steps] == [0, 1, 2, 3, 4, 5]


def test_history_keeps_the_last_batches_alone(decoding):
    engine, (request,) = decoding(config=collect(history=3))
    for _ in range(5):
        step_all(engine, padding=1)
    steps = engine.canary.snapshot().steps
    assert [step.step for step in steps] == [3, 4, 5]
    assert [step.req_pool_indices.tolist() for step in steps] == [[request.row, 0]] * 3
    engine, _ = decoding(config=collect(history=0))
    assert engine.canary.snapshot().steps == ()


def test_findings_are_given_once_and_kept_in_collect_mode(decoding):
    engine, (request,) = decoding()
    engine.canary._state.groups[0].halves[0].tail[request.slots[4], 3] ^= 1
    step_all(engine)
    found = engine.canary.poll()
    assert len(found) == 1
    assert engine.canary.poll() == ()
    assert engine.canary.findings == found
    for repeats in (1, 2, 3):
        step_all(engine)
        assert engine.canary.poll() == ()
        (kept,) = engine.canary.findings
        assert (kept.repeats, kept.last_step) == (repeats, found[0].last_step + repeats)
        assert kept.evidence == found[0].evidence
    engine.canary._state.groups[0].halves[1].tail[request.slots[2], 3] ^= 1
    step_all(engine)
    assert len(engine.canary.poll()) == 1
    assert [each.repeats for each in engine.canary.findings] == [4, 0]


def test_snapshot_without_evidence_says_that_nothing_is_known(decoding):
    engine, (request,) = decoding(config=collect(evidence=False))
    engine.canary._state.groups[0].halves[0].tail[request.slots[4], 3] ^= 1
    step_all(engine)
    snapshot = engine.canary.snapshot()
    assert set(snapshot.evidence[:, :7].flatten().tolist()) == {-1}
    assert engine.canary.poll() != ()


@pytest.mark.parametrize("half", ["K", "V"])
def test_canary_of_one_half_stamps_that_alone(decoding, half):
    engine, _ = decoding(config=collect(halves=(half,)))
    step_all(engine)
    assert [half.half for half in engine.canary.snapshot().groups[0].halves] == [half]
    assert engine.canary.health().launches == 2 * 4


# The rows' tokens -------------------------------------------------------------------------------


def hand_out_twice(engine, victim):
    """Another request gets a running one's slots, and writes them at the same positions."""
    thief = engine.start(engine.draw(len(victim.slots)))
    thief.slots = list(victim.slots)
    engine.fill_row(thief)
    engine.step([(thief, victim.cached)])


def test_two_owners_at_the_same_positions_are_found_by_their_tokens(decoding):
    engine, (victim,) = decoding(8)
    hand_out_twice(engine, victim)
    engine.step([(victim, 1)])
    rows = violations(engine)
    assert reasons(rows) == {FailReason.VERIFY_TOKEN_MISMATCH}
    assert {(row[SLOT], row[EXPECTED_TOKEN]) for row in rows} == set(
        zip(victim.slots[:8], victim.tokens, strict=False)
    )


def test_two_owners_at_the_same_positions_are_not_seen_without_the_token_check(decoding):
    engine, (victim,) = decoding(8, config=collect(token_check=False))
    hand_out_twice(engine, victim)
    engine.step([(victim, 1)])
    assert violations(engine) == []
    assert engine.canary.snapshot().expected_tokens is None
    engine.canary.prefix_hit(1, [1])
    engine.canary.forget(1)
    engine.canary.rewind([1], [1])


def test_two_owners_with_the_same_tokens_harm_nobody(decoding):
    engine, (victim,) = decoding(8)
    thief = engine.start(list(victim.tokens))
    thief.slots = list(victim.slots)
    engine.fill_row(thief)
    engine.step([(thief, 8)])
    engine.step([(victim, 1)])
    assert violations(engine) == []


@pytest.fixture
def cached(engine_type):
    """An engine with one cached sequence of 8 tokens, and its tokens."""
    engine = engine_type()
    request = engine.start(engine.draw(8))
    engine.step([(request, 8)])
    engine.finish(request, keeps=True)
    return engine, engine.cache[0][0]


@pytest.mark.parametrize("told", [list, torch.tensor])
def test_announced_tokens_are_held_against_the_cache(cached, told):
    engine, tokens = cached
    request = engine.start(engine.draw(4), row=3, hit=0)
    wrong = list(tokens)
    wrong[5] += 1
    engine.canary.prefix_hit(3, told(wrong))
    engine.step([(request, 1)])
    rows = violations(engine)
    assert {(row[POSITION], row[TOKEN], row[EXPECTED_TOKEN]) for row in rows} == {
        (5, tokens[5], tokens[5] + 1)
    }


def test_announced_token_that_nobody_knows_is_not_compared(cached):
    engine, tokens = cached
    request = engine.start(engine.draw(4), row=3, hit=0)
    engine.canary.prefix_hit(3, [*tokens[:5], -1, *tokens[6:]])
    engine.step([(request, 1)])
    assert violations(engine) == []
    snapshot = engine.canary.snapshot()
    assert snapshot.expected_valid[3] == 9
    assert snapshot.expected_tokens[3, :9].tolist() == [
        *tokens[:5],
        -1,
        *tokens[6:],
        request.tokens[8],
    ]


def test_announced_row_is_known_from_then_on(cached):
    engine, _ = cached
    victim = engine.start(engine.draw(12), hit=0)
    engine.step([(victim, 4)])
    hand_out_twice(engine, victim)
    engine.step([(victim, 1)])
    assert reasons(violations(engine)) == {FailReason.VERIFY_TOKEN_MISMATCH}


@pytest.mark.parametrize("last", [3, 8, 20])
def test_row_that_is_used_again_unannounced_is_held_against_nothing(cached, last):
    """Whether its last request ended with fewer tokens, as many, or more."""
    engine, _ = cached
    engine.announces = False
    first = engine.start(engine.draw(last), row=5)
    engine.step([(first, last)])
    engine.finish(first, keeps=False)
    request = engine.start(engine.draw(12), row=5, hit=0)
    for _ in range(3):
        engine.step([(request, 2)])
    assert violations(engine) == []
    assert engine.canary.snapshot().expected_valid[5] == 0


def test_row_that_starts_anew_is_known_again(cached):
    engine, _ = cached
    engine.announces = False
    unknown = engine.start(engine.draw(12), row=5, hit=0)
    engine.step([(unknown, 2)])
    engine.finish(unknown, keeps=False)
    request = engine.start(engine.draw(12), row=5)
    engine.step([(request, 6)])
    assert engine.canary.snapshot().expected_valid[5] == 6


def test_forgotten_row_is_held_against_nothing(decoding):
    engine, (victim,) = decoding(8)
    hand_out_twice(engine, victim)
    engine.canary.forget(victim.row)
    engine.step([(victim, 1)])
    assert violations(engine) == []


def draft_and_reject(engine, request):
    """Write three drafts, of which none stays; the next forward writes other tokens there."""
    engine.step([(request, 3)])
    request.cached -= 3
    request.tokens[request.cached : request.cached + 3] = engine.draw(3)


def test_rejected_drafts_make_a_row_unknown(decoding):
    engine, (request,) = decoding(8)
    draft_and_reject(engine, request)
    engine.step([(request, 2)])
    assert violations(engine) == []
    assert engine.canary.snapshot().expected_valid[request.row] == 0


@pytest.mark.parametrize("told", [list, torch.tensor])
def test_rewound_row_stays_known(decoding, told):
    engine, (victim,) = decoding(8)
    draft_and_reject(engine, victim)
    engine.canary.rewind(told([victim.row, 7]), told([8, 3]))
    engine.step([(victim, 2)])
    snapshot = engine.canary.snapshot()
    assert snapshot.expected_valid[[victim.row, 7]].tolist() == [10, 0]
    hand_out_twice(engine, victim)
    engine.step([(victim, 1)])
    assert reasons(violations(engine)) == {FailReason.VERIFY_TOKEN_MISMATCH}


ROWS_THAT_CANNOT_BE = [
    ([0], [1], "row", "rows must be in [1, 9), got 0"),
    ([9], [1], "row", "rows must be in [1, 9), got 9"),
    ([1], [49], "length", "lengths must be in [0, 48], got 49 for row 1"),
    ([1], [-1], "length", "lengths must be in [0, 48], got -1 for row 1"),
    ([1, 2], [3], "lengths", "lengths must be as many as rows, got 1 and 2"),
    ([1], [2.0], "numbers", "lengths must be whole numbers, 1-D, got [2.0]"),
    ("ab", [1, 2], "numbers", "rows must be whole numbers, 1-D, got 'ab'"),
    (3, [1], "numbers", "rows must be whole numbers, 1-D, got 3"),
    (
        torch.tensor([1.0]),
        [1],
        "numbers",
        "rows must be whole numbers, 1-D, got torch.float32 of shape (1,)",
    ),
    (
        [1],
        torch.tensor([[1]]),
        "numbers",
        "lengths must be whole numbers, 1-D, got torch.int64 of shape (1, 1)",
    ),
]


@pytest.mark.parametrize(
    ("rows", "lengths", "rule", "message"),
    [
        *ROWS_THAT_CANNOT_BE,
        ([3, 4, 3], [1, 2, 2], "repeated", "rows must be there once each, got 3 more than once"),
    ],
)
def test_rewind_to_what_cannot_be_is_refused(decoding, rows, lengths, rule, message):
    engine, (request,) = decoding(8)
    with pytest.raises(ContractError) as caught:
        engine.canary.rewind(rows, lengths)
    assert str(caught.value) == f"kv-canary: rewind {message}"
    assert caught.value.broken_rules[0].rule_id == f"canary.rewind_{rule}"
    assert engine.canary.snapshot().expected_valid[request.row] == 8


def test_rewind_reads_nothing_of_tensors_on_another_device():
    rows = torch.empty(2, dtype=torch.int64, device="meta")
    check_rewind(rows, [1, 2], table_shape=(9, 48))
    for lengths, message in (
        ([1], "lengths must be as many as rows, got 1 and 2"),
        (rows.float(), "lengths must be whole numbers, 1-D, got torch.float32 of shape (2,)"),
    ):
        with pytest.raises(ContractError) as caught:
            check_rewind(rows, lengths, table_shape=(9, 48))
        assert str(caught.value) == f"kv-canary: rewind {message}"


def test_row_whose_table_changed_is_not_expected_in_a_snapshot(decoding):
    engine, (request,) = decoding(8)
    assert engine.canary.snapshot().expected_valid[request.row] == 8
    engine.req_to_token[request.row, 7] = 99
    assert engine.canary.snapshot().expected_valid[request.row] == 0


@pytest.mark.parametrize(
    ("row", "tokens", "message"),
    [
        (0, [1], "kv-canary: prefix_hit row must be in [1, 9), got 0"),
        (9, [1], "kv-canary: prefix_hit row must be in [1, 9), got 9"),
        (
            1,
            [1] * 49,
            "kv-canary: prefix_hit tokens must be 1-D with at most 48 entries, got shape (49,)",
        ),
        (
            1,
            torch.ones(2, 2),
            "kv-canary: prefix_hit tokens must be 1-D with at most 48 entries, got shape (2, 2)",
        ),
        (
            1,
            torch.ones(3),
            "kv-canary: prefix_hit tokens must be whole numbers, got torch.float32",
        ),
        (
            1,
            torch.ones(3, dtype=torch.bool),
            "kv-canary: prefix_hit tokens must be whole numbers, got torch.bool",
        ),
        (1, [1, 2.5], "kv-canary: prefix_hit tokens must be whole numbers, got torch.float32"),
        (1, "ab", "kv-canary: prefix_hit tokens must be whole numbers, got 'ab'"),
        (1, ["a"], "kv-canary: prefix_hit tokens must be whole numbers, got ['a']"),
    ],
)
def test_announcement_that_cannot_be_is_refused(engine_type, row, tokens, message):
    with pytest.raises(ContractError) as caught:
        engine_type().canary.prefix_hit(row, tokens)
    assert str(caught.value) == message


def test_forgetting_a_row_that_is_not_there_is_refused(engine_type):
    with pytest.raises(ContractError) as caught:
        engine_type().canary.forget(9)
    assert str(caught.value) == "kv-canary: forget row must be in [1, 9), got 9"


# Capacity ---------------------------------------------------------------------------------------


def test_batch_over_max_batch_size_is_refused_before_anything_is_launched(decoding):
    engine, requests = decoding(1, 1, 1)
    batch = engine.batch([(requests[0], 1)], padding=8)
    scope = engine.canary.forward(**batch)
    with pytest.raises(ContractError) as caught, scope:
        pass
    assert str(caught.value) == (
        "kv-canary: forward_batch.batch_size=9 exceeds pre-allocated write_req_capacity=8; "
        "raise max_batch_size"
    )
    assert engine.canary.health().forwards_on_device == 3
    step_all(engine)
    assert violations(engine) == []


def test_batch_over_max_tokens_is_refused(decoding):
    engine, (request,) = decoding(columns=90)
    request.tokens += engine.draw(60)
    with pytest.raises(ContractError) as caught:
        engine.step([(request, 65)])
    assert str(caught.value) == (
        "kv-canary: forward_batch token count=65 exceeds pre-allocated write_entry_capacity=64; "
        "raise max_tokens_per_forward"
    )


def test_more_entries_than_the_capacity_are_verified_in_turn(decoding):
    engine, requests = decoding(20, 20, verify_capacity=12)
    step_all(engine)
    health = engine.canary.health()
    assert (health.wanted, health.checked) == ({"full": 40}, {"full": 12})
    assert health.share_checked == 0.3
    snapshot = engine.canary.snapshot()
    assert (snapshot.verify_wanted, snapshot.verify_checked) == ({"full": 40}, {"full": 12})
    engine.canary._state.groups[0].halves[0].tail[requests[1].slots[7], 8] ^= 1
    steps = 0
    while not violations(engine):
        step_all(engine)
        steps += 1
    assert 1 <= steps <= 4
    assert {row[SLOT] for row in violations(engine)} <= set(requests[1].slots[7:9])


def test_unsaid_capacity_is_that_of_the_pool_and_of_all_windows(engine_type):
    engine = engine_type(window=6)
    assert [g.sizes.verify_capacity for g in engine.canary._state.groups] == [160, 8 * 6]
    engine = engine_type(num_slots=4000, columns=20)
    assert engine.canary._state.groups[0].sizes.verify_capacity == 8 * 20


def test_full_ring_loses_rows_that_are_counted_and_is_free_again_after_a_report(decoding, caplog):
    engine, (request,) = decoding(10, ring_capacity=4)
    tail = engine.canary._state.groups[0].halves[0].tail
    tail[:, 8:16] = 0x55
    step_all(engine)
    assert engine.canary.snapshot().violation_count == 10
    with caplog.at_level(logging.WARNING, "kv_canary"):
        assert engine.canary.poll() != ()
    assert caplog.messages == [
        "kv_canary: 6 more violations found the ring full, and their rows are lost"
    ]
    health = engine.canary.health()
    assert (health.violations, health.rows_lost) == (10, 6)
    assert engine.canary.poll() == ()
    for slot, position in zip(request.slots, range(10), strict=False):
        tail.view(torch.int64)[slot, 1] = position
    engine.canary._state.groups[0].halves[1].head.view(torch.int64)[request.slots[3], 1] = 99
    step_all(engine)
    rows = violations(engine)
    assert tags(rows) >= {"HEAD_V_FULL"}
    assert engine.canary.poll() != ()
    assert engine.canary.health().violations == 10 + len(rows)


# Modes and times --------------------------------------------------------------------------------


def damaged(decoding, **settings):
    engine, (request,) = decoding(**settings)
    engine.canary._state.groups[0].halves[0].tail.view(torch.int64)[request.slots[4], 1] = 77
    step_all(engine)
    return engine


def test_raise_mode_raises_once_and_goes_on(decoding):
    engine = damaged(decoding, config=CanaryConfig(mode="raise"))
    with pytest.raises(CanaryError, match=r"\Akv-canary: 1 finding in the KV cache\n") as caught:
        engine.canary.poll()
    assert len(caught.value.findings) == 1
    assert engine.canary.poll() == ()
    step_all(engine)
    with pytest.raises(CanaryError, match=r"told\s+before; once again since") as again:
        engine.canary.poll()
    assert again.value.findings[0].repeats == 1
    assert again.value.findings[0].evidence == caught.value.findings[0].evidence


def test_fault_that_stays_is_logged_seldomer_and_seldomer_and_dumped_once(
    decoding, tmp_path, caplog
):
    engine = damaged(decoding, config=CanaryConfig(mode="log", dump_folder=tmp_path))
    (finding,) = engine.canary.poll()
    caplog.clear()
    for _ in range(9):
        step_all(engine)
        assert engine.canary.poll() == ()
    slot, step = finding.slots, finding.first_step
    where = f"full pool, K; row {finding.requests[0]}; position 4; slot {slot}"
    assert caplog.messages == [
        f"kv_canary: still there: changed_after_stamp, {where}; first in step {step}, last in step "
        f"{step + count}, reported {times} again"
        for count, times in ((1, "once"), (2, "2 times"), (4, "4 times"), (8, "8 times"))
    ]
    assert len(list(tmp_path.iterdir())) == 1


def test_dumps_are_bounded_and_the_last_says_so(decoding, tmp_path, caplog):
    config = CanaryConfig(mode="log", dump_folder=tmp_path, max_dumps=2)
    engine, (request,) = decoding(10, config=config)
    (tmp_path / f"kv-canary-{os.getpid()}-0.pt").write_text("of another canary")
    for position in (1, 4, 7):
        halves = engine.canary._state.groups[0].halves
        halves[0].tail.view(torch.int64)[request.slots[position], 1] = 77
        step_all(engine)
        assert len(engine.canary.poll()) == 1
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"kv-canary-{os.getpid()}-{number}.pt" for number in range(3)]
    notes = [each for each in caplog.messages if "a dump is in" in each]
    assert [each.endswith("; it is the last, max_dumps is 2") for each in notes] == [False, True]


def test_log_mode_logs_the_stable_lines_and_the_finding(decoding, caplog):
    engine = damaged(decoding, config=CanaryConfig(mode="log"))
    lines = [log_line(row) for row in violations(engine)]
    with caplog.at_level(logging.ERROR, "kv_canary"):
        (finding,) = engine.canary.poll()
    assert caplog.messages == [*lines, f"kv_canary finding: {finding}"]
    assert {record.name for record in caplog.records} == {"kv_canary"}
    assert engine.canary.findings == ()


@pytest.mark.parametrize("mode", ["log", "raise"])
def test_reports_leave_a_dump_where_the_configuration_says(decoding, tmp_path, mode, caplog):
    engine = damaged(decoding, config=CanaryConfig(mode=mode, dump_folder=tmp_path))
    wanted = violations(engine)
    if mode == "raise":
        with pytest.raises(CanaryError) as caught:
            engine.canary.poll()
        said = caught.value.note
    else:
        engine.canary.poll()
        said = caplog.messages[-1]
    (path,) = tmp_path.iterdir()
    assert str(path) in said
    assert read_dump(path).violations.tolist() == wanted


def test_dump_that_cannot_be_written_does_not_hide_the_finding(decoding, tmp_path):
    folder = tmp_path / "dumps"
    folder.mkdir()
    engine = damaged(decoding, config=CanaryConfig(mode="raise", dump_folder=folder))
    folder.rmdir()
    with pytest.raises(CanaryError) as caught:
        engine.canary.poll()
    assert caught.value.note.startswith("the dump could not be written: ")


def test_dump_into_a_folder_that_is_not_there_names_the_folder(decoding, tmp_path):
    engine, _ = decoding()
    folder = tmp_path / "no"
    with pytest.raises(ContractError) as caught:
        engine.canary.dump(folder / "dump.pt")
    assert str(caught.value) == (
        f"kv-canary: dump needs a folder that is there, got {str(folder)!r}"
    )


def test_dump_can_be_asked_for(decoding, tmp_path):
    engine = damaged(decoding)
    engine.canary.dump(tmp_path / "dump.pt")
    assert read_dump(tmp_path / "dump.pt").violations.tolist() == violations(engine)


def test_reports_wait_for_their_interval_unless_waited_for(decoding):
    engine = damaged(decoding, config=collect(report_interval_s=3600.0))
    assert engine.canary.poll() != ()
    (request,) = engine.running
    engine.canary._state.groups[0].halves[1].tail[request.slots[1], 3] ^= 1
    step_all(engine)
    assert engine.canary.poll() == ()
    assert engine.canary.findings[0].repeats == 0
    assert engine.canary.poll(wait=True) != ()
    assert engine.canary.findings[0].repeats == 1


class Untouchable:
    """Stands for what a canary in off mode must not look at."""

    def __getattribute__(self, name):
        raise AssertionError(f"{name} was looked at")


def tensors_alive():
    return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())


def test_off_mode_does_nothing():
    gc.collect()
    before = tensors_alive()
    canary = Canary(
        CanaryConfig(mode="off"),
        num_slots=Untouchable(),
        req_to_token=Untouchable(),
        max_batch_size=Untouchable(),
        max_tokens_per_forward=Untouchable(),
    )
    canary.arm()
    batch = [Untouchable()] * 6
    scope = canary.forward(*batch)
    with scope:
        assert canary.forward(*batch) is scope
    canary.prefix_hit(Untouchable(), Untouchable())
    canary.forget(Untouchable())
    canary.rewind(Untouchable(), Untouchable())
    assert (canary.poll(), canary.findings, canary.close(), canary.sweep([1], [2])) == (
        (),
        (),
        (),
        0,
    )
    assert str(canary.health()) == "kv_canary: off"
    assert repr(canary) == "Canary(off)"
    assert tensors_alive() == before
    with pytest.raises(ContractError) as caught:
        canary.snapshot()
    assert str(caught.value) == (
        "kv-canary: snapshot was called on a canary in off mode, which knows nothing"
    )


@pytest.mark.parametrize(
    ("fields", "message", "note"),
    [
        (
            {"mode": "rais"},
            "mode must be one of off/log/raise/collect, got 'rais'",
            "fix: did you mean `raise`?",
        ),
        (
            {"mode": None},
            "mode must be one of off/log/raise/collect, got None",
            "fix: Pass mode='off', 'log', 'raise' or 'collect'.",
        ),
        (
            {"mode": "RAISE"},
            "mode must be one of off/log/raise/collect, got 'RAISE'",
            "fix: did you mean `raise`?",
        ),
        (
            {"real_kv": "al"},
            "real_kv must be one of none/partial/all, got 'al'",
            "fix: did you mean `all`?",
        ),
        ({"hash_format": "x"}, "hash_format must be one of serial/parallel, got 'x'", None),
        ({"token_check": 1}, "token_check must be bool, got int", None),
        ({"history": -1}, "history must be a whole number from 0 on, got -1", None),
        (
            {"halves": ["K"]},
            """halves must be ("K", "V"), ("K",) or ("V",), got ['K']""",
            None,
        ),
        (
            {"max_dumps": -1},
            "max_dumps must be a whole number from 0 on, got -1",
            None,
        ),
        (
            {"report_interval_s": -1},
            "report_interval_s must be a number of seconds from 0 on, got -1",
            None,
        ),
        (
            {"dump_folder": 3},
            "dump_folder must be a path or None, got 3",
            "fix: Make the folder before the canary, or pass None for no dumps.",
        ),
    ],
)
def test_wrong_field_of_the_configuration_is_a_named_error(fields, message, note):
    with pytest.raises(ContractError) as caught:
        CanaryConfig(**fields)
    assert str(caught.value) == f"kv-canary: {message}"
    assert caught.value.broken_rules[0].rule_id == f"canary.{next(iter(fields))}"
    assert caught.value.__notes__[-1] == f"more: kv-canary explain canary.{next(iter(fields))}"
    if note:
        assert caught.value.__notes__[-2] == note


def test_forward_before_arm_is_an_error_in_raise_mode(engine_type):
    engine = engine_type(CanaryConfig(mode="raise"), arms=False)
    request = engine.start(engine.draw(4))
    with pytest.raises(ContractError) as caught:
        engine.step([(request, 4)])
    assert str(caught.value) == (
        "kv-canary: forward was entered before arm(), so that nothing would be verified"
    )
    assert caught.value.__notes__[-2:] == [
        "fix: Call arm() once, after the engine's warm-up and before it captures graphs.",
        "more: kv-canary explain canary.not_armed",
    ]
    engine.canary.arm()
    engine.step([(request, 4)])


def test_forwards_before_arm_stamp_and_verify_nothing_and_say_so_once(engine_type, caplog):
    engine = engine_type(CanaryConfig(mode="log"), arms=False)
    request = engine.start(engine.draw(14))
    with caplog.at_level(logging.WARNING, "kv_canary"):
        engine.step([(request, 4)])
        engine.step([(request, 4)])
    assert caplog.messages == [
        "kv_canary: forward was entered before arm(); it stamps, and nothing is verified"
    ]
    assert engine.canary.poll() == ()
    engine.canary.arm()
    engine.step([(request, 4)])
    assert violations(engine) == []
    health = engine.canary.health()
    assert (health.forwards, health.forwards_on_device, health.slots_checked) == (1, 1, 8 * 4)


def test_arming_again_does_nothing(decoding):
    engine, _ = decoding()
    engine.canary.arm()
    assert engine.canary.health().forwards == 1


# Scopes -----------------------------------------------------------------------------------------


def test_nested_scopes_are_one(decoding):
    engine, (request,) = decoding()
    batch = engine.batch([(request, 1)])
    canary = engine.canary
    outer, inner = canary.forward(**batch), canary.forward(**batch)
    with outer:
        with inner, canary.forward(**batch):
            engine.write_kv(batch)
        assert canary.health().forwards_on_device == 1
    assert canary.health().forwards_on_device == 2
    engine.advance([(request, 1)])
    step_all(engine)
    assert violations(engine) == []


def test_scope_is_entered_inside_itself_and_again(decoding):
    engine, (request,) = decoding()
    batch = engine.batch([(request, 1)])
    scope = engine.canary.forward(**batch)
    with scope, scope:
        engine.write_kv(batch)
    engine.advance([(request, 1)])
    health = engine.canary.health()
    assert health.forwards == health.forwards_on_device == 2
    step_all(engine)
    assert violations(engine) == []


def test_views_of_the_same_memory_are_the_same_batch(decoding):
    engine, (request,) = decoding()
    batch = engine.batch([(request, 1)])
    views = {name: tensor[:] for name, tensor in batch.items()}
    with engine.canary.forward(**batch), engine.canary.forward(**views):
        engine.write_kv(batch)
    assert engine.canary.health().forwards == 2


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("req_pool_indices", lambda tensor: tensor.clone()),
        ("positions", lambda tensor: tensor + 1),
        ("out_cache_loc", lambda tensor: tensor[:0]),
        ("input_ids", lambda tensor: tensor.view(torch.float64)),
        ("extend_seq_lens", lambda tensor: tensor.tolist()),
    ],
)
def test_scope_of_another_batch_inside_a_scope_is_refused(decoding, name, other):
    """It would be neither verified nor stamped. The forward around it goes on."""
    engine, (request,) = decoding()
    batch = engine.batch([(request, 1)])
    with engine.canary.forward(**batch):
        inner = engine.canary.forward(**{**batch, name: other(batch[name])})
        with pytest.raises(ContractError) as caught, inner:
            pass
        engine.write_kv(batch)
    assert str(caught.value) == (
        "kv-canary: forward was entered inside the scope of another batch, and would be neither "
        f"verified nor stamped; {name} is not the outer scope's"
    )
    assert caught.value.broken_rules[0].rule_id == "canary.other_batch"
    assert "fix: Leave a forward's scope before the next one's is entered." in (
        caught.value.__notes__
    )
    engine.advance([(request, 1)])
    step_all(engine)
    assert violations(engine) == []
    assert engine.canary.health().forwards == 3


def test_scopes_left_in_the_order_of_their_entry_are_refused(decoding):
    """And their forward counts as failed, as nobody knows where it ends."""
    engine, (request,) = decoding()
    batch = engine.batch([(request, 1)])
    first, second = (engine.canary.forward(**batch) for _ in range(2))
    first.__enter__()
    second.__enter__()
    with pytest.raises(ContractError) as caught:
        first.__exit__(None, None, None)
    assert str(caught.value) == (
        "kv-canary: a forward's scope was left while one that was entered after it was not"
    )
    with pytest.raises(ContractError) as caught:
        second.__exit__(None, None, None)
    assert str(caught.value) == "kv-canary: a forward's scope was left that is not entered"
    assert caught.value.broken_rules[0].rule_id == "canary.scope_order"
    step_all(engine)
    assert violations(engine) == []
    health = engine.canary.health()
    assert (health.forwards, health.forwards_failed) == (2, 1)


class ModelError(Exception):
    """What the model raises."""


def test_forward_that_fails_can_be_tried_again(decoding):
    engine, (request,) = decoding()
    batch = engine.batch([(request, 3)])
    with pytest.raises(ModelError), engine.canary.forward(**batch):
        raise ModelError
    engine.step([(request, 3)])
    step_all(engine)
    assert violations(engine) == []
    health = engine.canary.health()
    assert (health.forwards, health.forwards_failed, health.forwards_on_device) == (3, 1, 4)
    assert engine.canary.snapshot().expected_valid[request.row] == 14


def test_tokens_of_a_forward_that_failed_count_as_never_written(decoding):
    engine, (request,) = decoding()
    batch = engine.batch([(request, 2)])
    with pytest.raises(ModelError), engine.canary.forward(**batch):
        raise ModelError
    request.cached += 2
    step_all(engine)
    snapshot = engine.canary.snapshot()
    assert tags(snapshot.violations.tolist()) == {"TAIL_K_FULL", "TAIL_V_FULL"}
    assert set(snapshot.evidence[:, STEP].tolist()) == {2}


def test_batch_that_breaks_a_launchers_rule_is_refused_and_the_next_is_not(decoding):
    engine, (request,) = decoding()
    batch = engine.batch([(request, 1)])
    batch["prefix_lens"] = batch["prefix_lens"].to(torch.int32)
    with pytest.raises(ContractError) as caught, engine.canary.forward(**batch):
        pass
    assert str(caught.value) == (
        "kv-canary: prefix_lens must have dtype torch.int64, got torch.int32"
    )
    batch = engine.batch([(request, 1)])
    batch["positions"] = batch["positions"][:0]
    with pytest.raises(ContractError) as caught, engine.canary.forward(**batch):
        pass
    assert str(caught.value) == "kv-canary: positions length must be 1, got 0"
    with pytest.raises(ContractError) as caught:
        engine.canary.forward(*[None] * 6).__enter__()
    assert str(caught.value) == "kv-canary: req_pool_indices is required"
    step_all(engine)
    assert violations(engine) == []
    assert engine.canary.health().forwards_on_device == 2


@pytest.mark.parametrize("made_inside", [True, False])
def test_inference_mode_may_be_on_where_it_is_made_or_used(engine_type, made_inside):
    engine = engine_type(window=6)
    with torch.inference_mode(made_inside):
        engine.canary = Canary(collect(), **engine.arguments)
        engine.canary.arm()
    with torch.inference_mode(not made_inside):
        engine.run_randomly(12)
        running = [request for request in engine.running if request.cached]
        assert engine.canary.sweep([r.row for r in running], [r.cached for r in running]) > 0
        assert violations(engine) == []
        assert engine.canary.poll() == ()


# What it takes ----------------------------------------------------------------------------------


def tensors_of(thing, seen, skipped):
    """Every tensor that can be reached from something, by its storage."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, torch.Tensor):
        storage = thing.untyped_storage()
        if storage.data_ptr() not in skipped and storage.nbytes():
            yield storage.data_ptr(), storage.nbytes()
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from tensors_of(value, seen, skipped)
    elif isinstance(thing, tuple | list):
        for value in thing:
            yield from tensors_of(value, seen, skipped)
    elif type(thing).__module__.partition(".")[0] in ("kv_canary", "kv_canary_kernels"):
        for name in {*getattr(thing, "__dict__", ()), *getattr(type(thing), "__slots__", ())}:
            yield from tensors_of(getattr(thing, name, None), seen, skipped)


@pytest.mark.parametrize("token_check", [True, False])
@pytest.mark.parametrize("window", [0, 6])
@pytest.mark.parametrize("bracket", [True, False])
def test_allocation_bytes_is_what_is_allocated(engine_type, token_check, window, bracket):
    config = collect(token_check=token_check, bracket=bracket, evidence=bracket, history=window)
    engine = engine_type(config, window=window, ring_capacity=33, verify_capacity=50 + window)
    mine = [engine.req_to_token, engine.mapping, engine.k, engine.k_layer, engine.v]
    mine.append(engine.window_k)
    skipped = {tensor.untyped_storage().data_ptr() for tensor in mine}
    taken = dict(tensors_of(engine.canary, set(), skipped))
    said = Canary.allocation_bytes(config, **engine.arguments)
    assert sum(taken.values()) == said > 0
    shape = dict(engine.arguments, req_to_token=tuple(engine.req_to_token.shape))
    assert Canary.allocation_bytes(config, **shape) == said


def test_allocation_bytes_shows_what_the_token_check_takes(engine_type):
    arguments = engine_type().arguments
    with_it, without = (
        Canary.allocation_bytes(collect(token_check=check), **arguments) for check in (True, False)
    )
    assert with_it - without == 9 * 48 * 4 + 9 * 8 + 8 * (5 * 8 + 4 + 1)
    assert Canary.allocation_bytes(CanaryConfig(mode="off"), **arguments) == 0


def changed(engine, **changes):
    return {**engine.arguments, **changes}


def on_meta(tensor):
    return torch.empty_like(tensor, device="meta")


CONSTRUCTIONS = {
    "no_slots": (
        lambda e: changed(e, num_slots=0),
        "num_slots must be a whole number from 1 on, got 0",
    ),
    "batch_of_true": (
        lambda e: changed(e, max_batch_size=True),
        "max_batch_size must be a whole number from 1 to 4096, got True",
    ),
    "batch_too_large": (
        lambda e: changed(e, max_batch_size=4097),
        "max_batch_size must be a whole number from 1 to 4096, got 4097",
    ),
    "tokens_of_text": (
        lambda e: changed(e, max_tokens_per_forward="8"),
        "max_tokens_per_forward must be a whole number from 1 on, got '8'",
    ),
    "no_ring": (
        lambda e: changed(e, ring_capacity=0),
        "ring_capacity must be a whole number from 1 on, got 0",
    ),
    "no_capacity": (
        lambda e: changed(e, verify_capacity=0),
        "verify_capacity must be a whole number from 1 on, got 0",
    ),
    "table_of_int64": (
        lambda e: changed(e, req_to_token=e.req_to_token.long()),
        "req_to_token must have dtype torch.int32, got torch.int64",
    ),
    "table_that_is_none": (
        lambda e: changed(e, req_to_token=[[0]]),
        "req_to_token must be a torch.Tensor, got list",
    ),
    "table_with_gaps": (
        lambda e: changed(e, req_to_token=e.req_to_token[:, ::2]),
        "req_to_token must be contiguous",
    ),
    "table_of_no_rows": (
        lambda e: changed(e, req_to_token=e.req_to_token[:0]),
        "the rows of req_to_token must be a whole number from 1 on, got 0",
    ),
    "source_on_another_device": (
        lambda e: changed(e, k_sources=[RealKvSource(on_meta(e.k), 4, 32, 32)]),
        "real_kv_sources[0].tensor must be on canary_buf's device cpu, got meta",
    ),
    "source_that_is_too_small": (
        lambda e: changed(e, v_sources=[RealKvSource(e.v[:100], 1, 32, 32)]),
        "real_kv_sources[0].tensor covers 100 slots, needs 160",
    ),
    "five_sources": (
        lambda e: changed(e, k_sources=[RealKvSource(e.k, 4, 32, 32)] * 5),
        "at most 4 RealKvSource entries supported, got 5",
    ),
    "window_on_another_device": (
        lambda e: changed(
            e,
            swa=WindowPool(
                num_slots=9, window_size=2, full_to_swa_index_mapping=on_meta(e.mapping)
            ),
        ),
        "lut_tensor must be on out_verify_slot_indices's device cpu, got meta",
    ),
    "window_of_nothing": (
        lambda e: changed(
            e, swa=WindowPool(num_slots=9, window_size=0, full_to_swa_index_mapping=e.mapping)
        ),
        "window.window_size must be a whole number from 1 on, got 0",
    ),
    "window_without_a_table": (
        lambda e: changed(
            e, swa=WindowPool(num_slots=9, window_size=2, full_to_swa_index_mapping=e.mapping[:0])
        ),
        "lut_len must be positive when has_swa_lut is True",
    ),
    "window_of_another_kind": (
        lambda e: changed(e, swa=9),
        "window must be a WindowPool, got int",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), CONSTRUCTIONS.values(), ids=CONSTRUCTIONS)
def test_canary_that_cannot_be_is_refused_when_made(engine_type, arguments, message):
    arguments = arguments(engine_type())
    with pytest.raises(ContractError) as caught:
        Canary(CanaryConfig(mode="collect"), **arguments)
    assert str(caught.value) == f"kv-canary: {message}"


def wrong_source(engine):
    return RealKvSource(engine.v[:10], 1, 32, 32)


def with_window_sources(engine, **sources):
    arguments = engine.arguments
    return {**arguments, "window": replace(arguments["window"], **sources)}


def boxes(engine):
    """A source with an axis for each token of a page."""
    return RealKvSource(engine.k.view(-1, 4, 32), 4, 32, 32)


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        (
            lambda e: changed(e, v_sources=[wrong_source(e)]),
            "where: v_sources[0], of the full pool",
        ),
        (
            lambda e: changed(e, k_sources=[*e.arguments["k_sources"], wrong_source(e)]),
            "where: k_sources[2], of the full pool",
        ),
        (lambda e: changed(e, v_sources=[boxes(e)]), "where: v_sources[0], of the full pool"),
        (
            lambda e: changed(e, v_sources=[e.v]),
            "where: v_sources[0], of the full pool",
        ),
        (
            lambda e: changed(e, k_sources=e.arguments["v_sources"] * 5),
            "where: k_sources, of the full pool",
        ),
        (
            lambda e: with_window_sources(e, v_sources=[wrong_source(e)]),
            "where: window.v_sources[0], of the window pool",
        ),
    ],
)
def test_refused_source_is_named_by_its_list_and_place(engine_type, arguments, note):
    engine = engine_type(window=6)
    with pytest.raises(ContractError) as caught:
        Canary(CanaryConfig(), **arguments(engine))
    assert caught.value.__notes__[-1] == note


def test_source_that_is_in_no_list_is_refused(engine_type):
    engine = engine_type(window=6)
    source = wrong_source(engine)
    for arguments, name, found, fix in (
        (changed(engine, k_sources=source), "k_sources", "RealKvSource", "k_sources=[source]"),
        (
            with_window_sources(engine, v_sources=source),
            "window.v_sources",
            "RealKvSource",
            "v_sources=[source]",
        ),
        (changed(engine, v_sources=engine.v), "v_sources", "Tensor", "k_sources=[source]"),
        (changed(engine, v_sources=None), "v_sources", "NoneType", "k_sources=[source]"),
    ):
        with pytest.raises(ContractError) as caught:
            Canary(CanaryConfig(), **arguments)
        assert str(caught.value) == (
            f"kv-canary: {name} must be a list of RealKvSource, got {found}"
        )
        assert fix in caught.value.__notes__[-2]


def test_both_names_of_the_window_are_refused(engine_type):
    arguments = engine_type(window=4).arguments
    with pytest.raises(ContractError) as caught:
        Canary(CanaryConfig(), **arguments, swa=arguments["window"])
    assert str(caught.value) == (
        "kv-canary: window and swa are two names of one argument; give one of them"
    )


def test_bytes_without_a_source_are_refused(engine_type):
    arguments = engine_type(has_sources=False).arguments
    with pytest.raises(ContractError) as caught:
        Canary(CanaryConfig(real_kv="partial"), **arguments)
    assert str(caught.value) == (
        "kv-canary: real_kv='partial' needs a source in k_sources or v_sources, got none"
    )


def test_folder_that_is_not_there_is_refused(engine_type, tmp_path):
    with pytest.raises(ContractError) as caught:
        engine_type(CanaryConfig(dump_folder=tmp_path / "no"))
    assert str(caught.value) == (
        f"kv-canary: dump_folder must be a folder that is there, got {str(tmp_path / 'no')!r}"
    )


def test_configuration_of_another_kind_is_refused(engine_type):
    with pytest.raises(ContractError) as caught:
        engine_type("raise")
    assert str(caught.value) == "kv-canary: config must be a CanaryConfig, got str"


# Between forwards -------------------------------------------------------------------------------


def sweep_tags(pool="FULL"):
    return {f"SWEEP_{half}_{pool}" for half in "KV"}


@pytest.mark.parametrize("capacity", [3, 7, 160])
def test_sweep_finds_what_no_forward_reads(decoding, capacity):
    engine, requests = decoding(9, 9, 9, verify_capacity=capacity)
    for half in engine.canary._state.groups[0].halves:
        for request in requests:
            half.tail.view(torch.int64)[request.slots[8], 0] = 4711
    asked = engine.canary.sweep([request.row for request in requests], [9, 9, 8])
    assert asked == 26
    snapshot = engine.canary.snapshot()
    rows = snapshot.violations.tolist()
    assert tags(rows) == sweep_tags()
    assert sorted(row[SLOT] for row in rows) == sorted(
        2 * [requests[0].slots[8], requests[1].slots[8]]
    )
    assert set(snapshot.evidence[:, STEP].tolist()) == {3}
    assert engine.canary.poll() != ()


def test_sweep_compares_the_tokens_of_known_rows(decoding):
    engine, (victim,) = decoding(8)
    hand_out_twice(engine, victim)
    engine.canary.sweep([victim.row], [8])
    rows = violations(engine)
    assert (tags(rows), reasons(rows)) == (sweep_tags(), {FailReason.VERIFY_TOKEN_MISMATCH})


def test_sweep_takes_a_table_and_tokens_of_its_own(cached):
    engine, tokens = cached
    table = torch.zeros((2, 8), dtype=torch.int32)
    table[1] = torch.tensor(engine.cache[0][1])
    expected = torch.zeros((2, 8), dtype=torch.int32)
    expected[1] = torch.tensor(tokens)
    assert engine.canary.sweep(torch.tensor([1]), torch.tensor([8]), table=table) == 8
    engine.canary.sweep([1], [8], table=table, tokens=expected)
    assert violations(engine) == []
    expected[1, 3] += 1
    engine.canary.sweep([1], [8], table=table, tokens=expected)
    assert {row[POSITION] for row in violations(engine)} == {3}


def test_sweep_of_a_window_pool_verifies_the_windows(decoding):
    engine, (request,) = decoding(12, window=5, verify_capacity=3)
    assert engine.canary.sweep([request.row], [12]) == 17
    assert violations(engine) == []
    tail = engine.canary._state.groups[1].halves[0].tail.view(torch.int64)
    tail[engine.window_of[request.slots[11]], 1] = 5
    engine.canary.sweep([request.row], [12])
    assert tags(violations(engine)) == {"SWEEP_K_SWA"}


def test_sweep_leaves_the_share_of_the_last_forward(decoding):
    engine, (request,) = decoding(10)
    step_all(engine)
    engine.canary.sweep([request.row], [3])
    assert engine.canary.health().wanted == {"full": 10}
    assert engine.canary.sweep([], []) == 0


@pytest.mark.parametrize(("rows", "lengths", "rule", "message"), ROWS_THAT_CANNOT_BE)
def test_sweep_of_what_is_not_there_is_refused(engine_type, rows, lengths, rule, message):
    with pytest.raises(ContractError) as caught:
        engine_type().canary.sweep(rows, lengths)
    assert str(caught.value) == f"kv-canary: sweep {message}"
    assert caught.value.broken_rules[0].rule_id == f"canary.sweep_{rule}"


@pytest.mark.parametrize("name", ["sweep", "close"])
def test_sweep_and_close_inside_a_forward_are_refused(decoding, name):
    engine, (request,) = decoding()
    batch = engine.batch([(request, 1)])
    arguments = ([1], [1]) if name == "sweep" else ()
    with engine.canary.forward(**batch):
        engine.write_kv(batch)
        with pytest.raises(ContractError) as caught:
            getattr(engine.canary, name)(*arguments)
    assert str(caught.value) == f"kv-canary: {name} was called inside a forward's scope"


def test_sweep_before_arm_is_refused(engine_type):
    with pytest.raises(ContractError) as caught:
        engine_type(arms=False).canary.sweep([1], [1])
    assert str(caught.value) == "kv-canary: sweep was called before arm()"


# Health and the end -----------------------------------------------------------------------------


def test_health_counts_what_was_done(decoding):
    engine, _ = decoding(10)
    step_all(engine)
    health = engine.canary.health()
    assert (health.forwards, health.forwards_on_device, health.launches) == (2, 2, 2 * 2 * 4)
    assert (health.slots_checked, health.slots_stamped) == (10 * 4, 11 * 4)
    assert (health.is_stalled, health.is_armed, health.share_checked) == (False, True, 1.0)
    assert health.seconds_since_poll >= health.seconds_since_status >= 0
    assert str(health) == (
        "kv_canary: armed, mode collect; 2 forwards, 16 launches, 40 slots checked, 44 stamped, "
        "100% of the last forward's prefix checked; 0 violations, 0 of them lost"
    )


def test_health_says_when_forwards_are_entered_and_nothing_runs(decoding, monkeypatch):
    engine, _ = decoding(10)
    assert not engine.canary.health().is_stalled
    counters = engine.canary._state.recorder.counters.block
    kept = counters.clone()
    step_all(engine)
    counters.copy_(kept)
    health = engine.canary.health()
    assert health.is_stalled
    assert str(health).startswith("kv_canary: STALLED: forwards are entered and nothing runs; ")
    step_all(engine)
    assert not engine.canary.health().is_stalled
    assert not engine.canary.health().is_stalled, "an engine that is idle is not stalled"


def test_health_says_when_nothing_ever_ran(engine_type):
    engine = engine_type()
    request = engine.start(engine.draw(4))
    engine.step([(request, 4)])
    engine.canary._state.recorder.counters.block.zero_()
    assert engine.canary.health().is_stalled


@pytest.mark.parametrize(("age", "is_stalled"), [(9, False), (11, True)])
def test_health_says_when_the_device_does_not_answer(decoding, monkeypatch, age, is_stalled):
    engine, _ = decoding(10)
    reader = engine.canary._reporter._reader
    monkeypatch.setattr(reader, "take", lambda **_: None)
    monkeypatch.setattr(reader, "_asked", (time.monotonic() - age, 1))
    assert engine.canary.health().is_stalled is is_stalled


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("poll", ()),
        ("snapshot", ()),
        ("dump", ("dump.pt",)),
        ("prefix_hit", (1, [1])),
        ("forget", (1,)),
        ("rewind", ([1], [1])),
        ("sweep", ([1], [1])),
    ],
)
def test_use_after_close_is_refused(decoding, name, arguments):
    engine, _ = decoding()
    engine.canary.close()
    with pytest.raises(ContractError) as caught:
        getattr(engine.canary, name)(*arguments)
    assert str(caught.value) == f"kv-canary: {name} was called after close()"


def test_forward_after_close_is_refused(decoding):
    engine, _ = decoding()
    engine.canary.close()
    with pytest.raises(ContractError) as caught:
        step_all(engine)
    assert str(caught.value) == "kv-canary: forward was called after close()"
    assert repr(engine.canary) == "Canary(collect, closed)"


def test_close_reports_what_is_left_and_lets_go(decoding):
    engine = damaged(decoding)
    found = engine.canary.close()
    assert len(found) == 1
    assert engine.canary.findings == found
    assert engine.canary.close() == ()
    health = engine.canary.health()
    assert (health.is_closed, health.violations > 0) == (True, True)
    skipped = set()
    assert list(tensors_of(engine.canary, set(), skipped)) == [
        (
            engine.canary.ticket.untyped_storage().data_ptr(),
            8,
        )
    ]


def test_close_in_raise_mode_raises_and_closes(decoding):
    engine = damaged(decoding, config=CanaryConfig(mode="raise"))
    with pytest.raises(CanaryError):
        engine.canary.close()
    assert engine.canary.close() == ()
