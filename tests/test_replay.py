"""The replay: trace files, the pool's books, and that damage to anything a plan reads is told."""

import io
import json
import os
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

from kv_canary.cli import main
from kv_canary.errors import PlanMismatchError, UsageError
from kv_canary.replay import report
from kv_canary.replay.engine import Progress, ReplaySummary, replay
from kv_canary.replay.pool import PagedPool, RunningRequest
from kv_canary.replay.report import show_progress
from kv_canary.replay.settings import ReplaySettings
from kv_canary.replay.trace import SHIPPED_SLICE, TraceRequest, read_trace

REPOSITORY = Path(__file__).parent.parent
EXAMPLE = '{"timestamp": 0, "input_length": 600, "output_length": 20, "hash_ids": [0, 1]}'
GOOD = {"timestamp": 0, "input_length": 600, "output_length": 20, "hash_ids": [0, 1]}


def trace_of(*requests):
    """A trace from (timestamp, input length, output length, hash ids)."""
    return tuple(
        TraceRequest(
            number=number,
            line=number + 1,
            timestamp=timestamp,
            input_length=input_length,
            output_length=output_length,
            hash_ids=tuple(hash_ids),
        )
        for number, (timestamp, input_length, output_length, hash_ids) in enumerate(requests)
    )


# Scale 64: a block is 8 tokens, and a length of 64 n is n tokens.
SMALL_SETTINGS = ReplaySettings(scale=64, page_size=4, pool_slots=400, chunk=24, max_batch=8)
WINDOW_SETTINGS = replace(SMALL_SETTINGS, window=6, window_pool_slots=64)
SMALL_TRACE = trace_of(
    (0, 64 * 20, 64 * 6, [1, 2, 3]),
    (0, 64 * 30, 64 * 4, [1, 4, 5, 6]),
    (3000, 64 * 28, 64 * 5, [1, 2, 7, 8]),
    (3000, 64 * 9, 64 * 9, [9, 10]),
    (9000, 64 * 40, 0, [1, 4, 5, 11, 12]),
)


# Trace files -------------------------------------------------------------------------------------


def test_trace_is_read_in_order_of_arrival_with_equal_timestamps_in_file_order(tmp_path):
    path = tmp_path / "trace.jsonl"
    lines = [{**GOOD, "timestamp": time, "output_length": i} for i, time in enumerate([5, 2, 5, 0])]
    path.write_text("\n\n".join(json.dumps(line) for line in lines) + "\n")
    trace = read_trace(path)
    assert [request.output_length for request in trace] == [3, 1, 0, 2]
    assert [request.number for request in trace] == [0, 1, 2, 3]
    assert [request.line for request in trace] == [7, 3, 1, 5]


def test_limit_leaves_later_lines_unread(tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_text(json.dumps(GOOD) + "\nnot json\n")
    assert len(read_trace(path, limit=1)) == 1


@pytest.mark.parametrize(
    ("line", "rule", "found", "wanted"),
    [
        (
            b"{",
            "a line must be one JSON object",
            "Expecting property name enclosed in double quotes at column 2",
            f"one JSON object, such as {EXAMPLE}",
        ),
        (
            b"\xff\xfe",
            "a line must be UTF-8 text",
            "byte 0xff at column 1",
            f"one JSON object, such as {EXAMPLE}",
        ),
        (
            b"[" * 100_000,
            "a line must be one JSON object",
            "a number or a nesting too long to read",
            f"one JSON object, such as {EXAMPLE}",
        ),
        (
            b"9" * 5000,
            "a line must be one JSON object",
            "a number or a nesting too long to read",
            f"one JSON object, such as {EXAMPLE}",
        ),
        (
            b"[1]",
            "a line must be one JSON object",
            "a JSON list",
            f"one JSON object, such as {EXAMPLE}",
        ),
        (
            b"{}",
            "a request must have `timestamp`",
            "an empty object",
            "a whole number, 0 or more",
        ),
        (
            {"timestamp": 0},
            "a request must have `input_length`",
            "`timestamp`",
            "a whole number, 1 or more",
        ),
        (
            {**GOOD, "timestamp": 1.5},
            "`timestamp` must be a whole number",
            "a JSON fraction",
            "a whole number, 0 or more",
        ),
        (
            {**GOOD, "output_length": True},
            "`output_length` must be a whole number",
            "a JSON boolean",
            "a whole number, 0 or more",
        ),
        (
            {**GOOD, "input_length": 0},
            "`input_length` must be 1 or more",
            "0",
            "a whole number, 1 or more",
        ),
        (
            {**GOOD, "output_length": -1},
            "`output_length` must be 0 or more",
            "-1",
            "a whole number, 0 or more",
        ),
        (
            {**GOOD, "hash_ids": None},
            "`hash_ids` must be a list",
            "a JSON null",
            "a list of 2 whole numbers, one per 512-token prompt block",
        ),
        (
            {**GOOD, "hash_ids": [0, "1"]},
            "`hash_ids[1]` must be a whole number",
            "a JSON string",
            "a list of 2 whole numbers, one per 512-token prompt block",
        ),
        (
            {**GOOD, "hash_ids": [0, 1, 2]},
            "`hash_ids` must have one id per 512 tokens of `input_length`",
            "3 ids for 600 tokens",
            "a list of 2 whole numbers, one per 512-token prompt block",
        ),
    ],
)
def test_malformed_line_is_told_with_file_and_line(tmp_path, line, rule, found, wanted):
    path = tmp_path / "trace.jsonl"
    text = line if isinstance(line, bytes) else json.dumps(line).encode()
    path.write_bytes(json.dumps(GOOD).encode() + b"\n" + text + b"\n")
    with pytest.raises(UsageError) as caught:
        read_trace(path)
    assert str(caught.value) == (
        f"{path}:2: {rule}\n  found:  {found}\n  wanted: {wanted}\n"
        "  fix:    mend or remove this line"
    )


@pytest.mark.parametrize(
    ("make", "rule", "found"),
    [
        (
            lambda path: None,
            "the trace must be a file that can be read",
            "No such file or directory",
        ),
        (
            lambda path: path.mkdir(),
            "the trace must be a file that can be read",
            "Is a directory",
        ),
        (
            lambda path: path.write_text("\n \n"),
            "the trace must hold at least one request",
            "an empty file",
        ),
    ],
)
def test_unusable_file_is_told(tmp_path, make, rule, found):
    path = tmp_path / "trace.jsonl"
    make(path)
    with pytest.raises(UsageError) as caught:
        read_trace(path)
    assert str(caught.value).splitlines()[:2] == [f"{path}: {rule}", f"  found:  {found}"]


def test_shipped_slice_is_whole_and_comes_with_its_notice():
    assert len(read_trace(SHIPPED_SLICE)) == 400
    notice = (SHIPPED_SLICE.parent / "NOTICE.md").read_text()
    for fact in ("a slice", "conversation_trace.jsonl", "Mooncake", "Apache License"):
        assert fact in notice


# The pool ----------------------------------------------------------------------------------------


def small_pool(*, pages=12, window=0, window_pages=0):
    """Pages of 2 slots, blocks of 2 pages."""
    return PagedPool(
        pages=pages, page_size=2, block_pages=2, window=window, window_pages=window_pages, seed=0
    )


def request_of(hash_ids, prompt_length, output_length=0):
    return RunningRequest(
        number=0,
        row=1,
        hash_ids=tuple(hash_ids),
        prompt_length=prompt_length,
        output_length=output_length,
        tokens=[],
    )


def run_whole(pool, request):
    """Take a request from admission to its end, its whole prompt in one step."""
    assert pool.admit(request, step_tokens=request.prompt_length)
    hit = request.cached_length
    count = request.total_length - hit
    pool.extend(request, count)
    slots = list(request.slots)
    pool.advance(request, count)
    pool.check_conservation([request])
    pool.finish(request)
    pool.check_conservation([])
    return hit, slots


def test_second_request_shares_full_blocks_but_never_its_last_prompt_token():
    pool = small_pool()
    hit, slots = run_whole(pool, request_of([1, 2], 8))
    assert hit == 0
    assert len(set(slots)) == 8
    assert min(slots) >= 2, "page 0 is the padding page"
    hit, again = run_whole(pool, request_of([1, 2], 8))
    assert hit == 4
    assert again[:4] == slots[:4]
    hit, longer = run_whole(pool, request_of([1, 2, 3], 9))
    assert hit == 8
    assert longer[:8] == slots[:8]


def test_least_recently_used_block_is_evicted_first_and_a_prefix_last():
    pool = small_pool(pages=6)
    run_whole(pool, request_of([1, 2], 8))
    run_whole(pool, request_of([3], 4))
    run_whole(pool, request_of([4], 4))
    assert pool.evicted_blocks == 1
    hit, _ = run_whole(pool, request_of([1, 2, 5], 9))
    assert hit == 4, "block 2 went, the block before it stayed"


def test_admission_is_refused_while_the_promised_pages_are_not_there():
    pool = small_pool(pages=4)
    first = request_of([1], 4, output_length=3)
    assert pool.admit(first, step_tokens=4)
    assert not pool.admit(request_of([2], 3), step_tokens=4)
    pool.finish(first)
    assert pool.admit(request_of([2], 3), step_tokens=4)


def test_block_computed_twice_is_merged_and_its_second_pages_come_back():
    pool = small_pool()
    first, second = request_of([1, 2], 7), request_of([1, 3], 7)
    for request in (first, second):
        assert pool.admit(request, step_tokens=8)
        pool.extend(request, 7)
        request.tabled_length = 7
    own = second.slots[:4]
    pool.advance(first, 7)
    pool.advance(second, 7)
    assert own != first.slots[:4]
    assert second.slots[:4] == first.slots[:4]
    assert second.tabled_length == 0, "the row has to be written again"
    assert pool.merged_blocks == 1
    assert pool.held_pages == 6
    pool.check_conservation([first, second])


def test_window_moving_on_evicts_private_pages_at_once_and_cached_ones_for_want_of_room():
    pool = small_pool(window=2, window_pages=6)
    request = request_of([1, 2], 6, output_length=4)
    assert pool.admit(request, step_tokens=6)
    pool.extend(request, 6)
    pool.advance(request, 6)
    assert 0 not in pool.window_slots(request, 0, 6), "block 1 is cached, and there is room"
    for _ in range(3):
        pool.extend(request, 1)
        pool.advance(request, 1)
    assert pool.window_slots(request, 4, 6) == [0, 0], "private and behind the window"
    assert 0 not in pool.window_slots(request, 6, 9)
    pool.check_conservation([request])


def test_prefix_whose_window_is_evicted_is_not_used():
    pool = small_pool(window=2, window_pages=4)
    run_whole(pool, request_of([1], 4))
    run_whole(pool, request_of([2, 3], 8))
    assert pool.evicted_twins == 2
    hit, _ = run_whole(pool, request_of([1, 4], 5))
    assert hit == 0


def test_merging_brings_an_evicted_window_page_back():
    pool = small_pool(window=2, window_pages=4)
    run_whole(pool, request_of([1], 4))
    run_whole(pool, request_of([2, 3], 8))
    run_whole(pool, request_of([1], 4))
    assert pool.merged_blocks == 1
    hit, _ = run_whole(pool, request_of([1, 4], 5))
    assert hit == 4


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda request: request.pages.pop(),
            "12 pages, but 8 are free, 2 cached and 1 owned, 11 different ones in all",
        ),
        (
            lambda request: request.pages.append(request.pages[0]),
            "12 pages, but 8 are free, 2 cached and 3 owned, 12 different ones in all",
        ),
        (lambda request: request.blocks.append(request.blocks[0]), None),
    ],
)
def test_conservation_notices_a_page_lost_or_held_twice(damage, message):
    pool = small_pool()
    request = request_of([1, 2], 7)
    assert pool.admit(request, step_tokens=7)
    pool.extend(request, 7)
    pool.advance(request, 7)
    damage(request)
    with pytest.raises(AssertionError) as caught:
        pool.check_conservation([request])
    assert message is None or str(caught.value).splitlines()[0] == message


# Whole replays -----------------------------------------------------------------------------------


def without_times(summary):
    times = {"wall_seconds", "plan_seconds", "plan_share"}
    return {f.name: getattr(summary, f.name) for f in fields(summary) if f.name not in times}


def test_shipped_slice_really_shares_evicts_chunks_decodes_and_pads():
    summary = replay(read_trace(SHIPPED_SLICE), ReplaySettings())
    assert summary.requests == 400
    assert summary.prefix_cache_hit_share > 0.03
    assert summary.evicted_blocks > 1000
    assert summary.chunked_prefills > 50
    assert summary.merged_blocks > 0
    assert summary.decode_tokens > 5000
    assert summary.padding_entries > 1000
    assert summary.peak_batch > 16
    assert summary.plans == summary.steps
    assert summary.values_compared > 4 * summary.verify_entries


def test_small_trace_gives_the_counts_worked_out_by_hand():
    summary = replay(SMALL_TRACE, SMALL_SETTINGS)
    assert summary.prompt_tokens == 20 + 30 + 28 + 9 + 40
    # Block 1 once for requests 0 and 1, which run together and merge it; [1, 2] is hit by request
    # 2, and [1, 4, 5] by request 4.
    assert summary.merged_blocks == 1
    assert summary.prefill_tokens == 20 + 30 + (28 - 16) + 9 + (40 - 24)
    # The last token of an answer is never fed back, and there may be no answer at all.
    assert summary.decode_tokens == 5 + 3 + 4 + 8 + 0
    assert summary.write_entries == summary.prefill_tokens + summary.decode_tokens
    assert summary.evicted_blocks == 0


@pytest.mark.parametrize(
    "settings",
    [
        ReplaySettings(scale=64, pool_slots=2600, chunk=100, window=50, window_pool_slots=400),
        ReplaySettings(scale=64, page_size=4, pool_slots=2600, chunk=90, window=7),
        ReplaySettings(scale=512, pool_slots=400, chunk=30, window=3, window_pool_slots=200),
        ReplaySettings(scale=100, pool_slots=3000, token_offset=5, seed=3),
        ReplaySettings(scale=100, window=1, token_offset=-4, step_ms=5000, max_batch=3),
    ],
    ids=lambda settings: f"scale {settings.scale}, window {settings.window}",
)
def test_tight_pools_and_odd_sizes_replay_without_a_difference(settings):
    trace = read_trace(SHIPPED_SLICE, limit=150)
    summary = replay(trace, settings)
    assert summary.requests == 150
    assert summary.plans == summary.steps * (2 if settings.window else 1)


def test_same_seed_gives_the_same_replay_and_chunks_do_not_change_what_is_computed():
    once, again = (without_times(replay(SMALL_TRACE, SMALL_SETTINGS)) for _ in range(2))
    assert once == again
    chunked = replay(SMALL_TRACE, replace(SMALL_SETTINGS, chunk=5))
    assert chunked.steps > once["steps"]
    assert chunked.chunked_prefills == 5
    assert chunked.prompt_tokens == once["prompt_tokens"]
    assert chunked.decode_tokens == once["decode_tokens"]


def test_window_plans_meet_an_evicted_predecessor():
    seen = []

    def launch(**arguments):
        launcher()(**arguments)
        if arguments["swa_window_size"]:
            plan = arguments["verify_plan_out"]
            count = int(plan.verify_num_valid)
            seen.extend(plan.verify_prev_slot_indices[:count].tolist())

    replay(SMALL_TRACE, replace(WINDOW_SETTINGS, window=3), launch=launch)
    assert 0 in seen


def test_steps_over_capacity_are_off_and_counted():
    settings = replace(SMALL_SETTINGS, verify_capacity=40)
    summary = replay(SMALL_TRACE, settings)
    assert 0 < summary.plans_over_capacity < summary.plans


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            ReplaySettings(scale=64, page_size=3),
            (
                "--page-size: a block of 512 // --scale = 8 tokens must be a whole number of "
                "pages\n  found:  3\n  wanted: a divisor of 8\n  fix:    --page-size 2"
            ),
        ),
        (
            ReplaySettings(max_batch=4097),
            (
                "--max-batch: one plan holds at most PLAN_BS_BLOCK_SIZE requests\n"
                "  found:  4097\n  wanted: a whole number from 1 to 4096\n"
                "  fix:    --max-batch 4096"
            ),
        ),
        (
            ReplaySettings(scale=64, pool_slots=39),
            (
                "--pool-slots: the largest request must fit in the pool\n"
                "  found:  32 slots for the 40 tokens of the request in line 5 of the trace\n"
                "  wanted: 40 slots or more\n  fix:    --pool-slots 40, or a larger --scale"
            ),
        ),
        (
            ReplaySettings(scale=64, window=8, chunk=4, window_pool_slots=30),
            (
                "--window-pool-slots: the window and one prefill chunk must fit in the window "
                "pool\n  found:  24 slots\n  wanted: 32 slots or more\n"
                "  fix:    --window-pool-slots 32"
            ),
        ),
    ],
)
def test_settings_that_contradict_each_other_or_the_trace_are_told(settings, message):
    with pytest.raises(UsageError) as caught:
        replay(SMALL_TRACE, settings)
    assert str(caught.value) == message


def test_smallest_pools_that_the_messages_ask_for_are_enough():
    replay(SMALL_TRACE, ReplaySettings(scale=64, pool_slots=40))
    replay(SMALL_TRACE, ReplaySettings(scale=64, window=8, chunk=4, window_pool_slots=32))


# Damage ------------------------------------------------------------------------------------------


def launcher():
    from kv_canary import launch_canary_plan_kernels

    return launch_canary_plan_kernels


def mismatch_of(settings=SMALL_SETTINGS, **hooks):
    with pytest.raises(PlanMismatchError) as caught:
        replay(SMALL_TRACE, settings, **hooks)
    return str(caught.value)


class Flip:
    """Change one table cell in the first step whose second request has a prefix; note the facts."""

    def __init__(self, change):
        self.change = change
        self.facts = None

    def __call__(self, tables):
        batch = tables.batch
        if self.facts is not None or len(batch) < 2 or not batch[1].request or not batch[1].prefix:
            return
        entry = batch[1]
        self.facts = {
            "step": tables.step,
            "entry": entry,
            "request": entry.request.number,
            "row": entry.request.row,
            "first": batch[0].prefix,
            "prefix": entry.prefix,
            "was": None,
            "is": None,
        }
        self.change(self.facts, tables)


def change_cell(facts, tensor, *index):
    facts["was"] = int(tensor[index])
    tensor[index] = facts["is"] = facts["was"] ^ 1


@pytest.mark.parametrize("position", [0, 1, 2])
def test_flipped_table_cell_is_told_with_step_request_and_position(position):
    flip = Flip(
        lambda facts, tables: change_cell(facts, tables.req_to_token, facts["row"], position)
    )
    message = mismatch_of(before_plan=flip)
    facts = flip.facts
    assert message == (
        f"step {facts['step']}, full pool, verify_slot_indices[{facts['first'] + position}]: "
        f"request {facts['request']} (row {facts['row']}), position {position}: "
        f"found {facts['is']}, wanted {facts['was']}"
    )


def test_flipped_last_cell_is_told_as_the_seed_of_the_write():
    flip = Flip(
        lambda facts, tables: change_cell(
            facts, tables.req_to_token, facts["row"], facts["prefix"] - 1
        )
    )
    message = mismatch_of(before_plan=flip)
    facts = flip.facts
    assert message == (
        f"step {facts['step']}, full pool, write_seed_slot_indices[1]: request {facts['request']} "
        f"(row {facts['row']}), position {facts['prefix'] - 1}: "
        f"found {facts['is']}, wanted {facts['was']}"
    )


def test_flipped_expected_token_is_told():
    flip = Flip(
        lambda facts, tables: change_cell(
            facts, tables.req_to_verify_expected_tokens, facts["row"], 2
        )
    )
    message = mismatch_of(before_plan=flip)
    facts = flip.facts
    assert message == (
        f"step {facts['step']}, full pool, verify_expected_tokens[{facts['first'] + 2}]: "
        f"request {facts['request']} (row {facts['row']}), position 2: "
        f"found {facts['is']}, wanted {facts['was']}"
    )


def test_valid_length_cut_short_is_told():
    def cut(facts, tables):
        facts["was"] = facts["entry"].request.tokens[3]
        tables.req_to_verify_expected_tokens_valid_lens[1] = 3

    flip = Flip(cut)
    message = mismatch_of(before_plan=flip)
    facts = flip.facts
    assert message == (
        f"step {facts['step']}, full pool, verify_expected_tokens[{facts['first'] + 3}]: "
        f"request {facts['request']} (row {facts['row']}), position 3: "
        f"found -1, wanted {facts['was']}"
    )


def test_prefix_length_one_short_is_told_as_a_count():
    def shorten(facts, tables):
        facts["was"] = sum(entry.prefix for entry in tables.batch if entry.request)
        tables.prefix_lens[1] -= 1

    flip = Flip(shorten)
    message = mismatch_of(before_plan=flip)
    facts = flip.facts
    assert message == (
        f"step {facts['step']}, full pool, verify_num_valid[0]: the whole batch: "
        f"found {facts['was'] - 1}, wanted {facts['was']}"
    )


def test_extend_length_one_more_is_told_with_its_request():
    def lengthen(facts, tables):
        facts["was"] = tables.batch[0].extend + tables.batch[1].extend
        tables.extend_seq_lens[1] += 1

    flip = Flip(lengthen)
    message = mismatch_of(before_plan=flip)
    facts = flip.facts
    assert message == (
        f"step {facts['step']}, full pool, write_offsets[2]: request {facts['request']} "
        f"(row {facts['row']}): found {facts['was'] + 1}, wanted {facts['was']}"
    )


def test_row_mistaken_for_padding_is_told():
    flip = Flip(lambda facts, tables: tables.req_pool_indices[1:2].zero_())
    message = mismatch_of(before_plan=flip)
    facts = flip.facts
    assert message.startswith(f"step {facts['step']}, full pool, write_offsets[2]: request ")


def test_stale_window_mapping_is_told_for_the_window_pool():
    def change(facts, tables):
        request = facts["entry"].request
        position = facts["position"] = max(0, facts["prefix"] - 6)
        change_cell(facts, tables.full_to_swa_index_mapping, request.slots[position])

    flip = Flip(change)
    message = mismatch_of(WINDOW_SETTINGS, before_plan=flip)
    facts = flip.facts
    index = min(facts["first"], 6)
    assert message == (
        f"step {facts['step']}, window pool, verify_slot_indices[{index}]: "
        f"request {facts['request']} (row {facts['row']}), position {facts['position']}: "
        f"found {facts['is']}, wanted {facts['was']}"
    )


def test_cell_beyond_every_prefix_is_nobodys_damage():
    """What no plan reads must not be told: the row of nobody, and the last place of a row."""

    def change(tables):
        tables.req_to_token[0, 0] = 99
        tables.req_to_token[8, -1] = 99

    assert replay(SMALL_TRACE, SMALL_SETTINGS, before_plan=change).requests == 5


@pytest.mark.parametrize(
    ("plan", "field", "index", "whose"),
    [
        ("verify_plan_out", "verify_slot_indices", 0, "request 0 (row 1), position 0"),
        ("verify_plan_out", "verify_expected_tokens", 1, "request 0 (row 1), position 1"),
        ("verify_plan_out", "verify_expected_positions", 2, "request 0 (row 1), position 2"),
        ("verify_plan_out", "verify_prev_slot_indices", 3, "request 0 (row 1), position 3"),
        ("verify_plan_out", "verify_num_valid", 0, "the whole batch"),
        ("verify_plan_out", "enable", 0, "the whole batch"),
        ("write_plan_out", "write_offsets", 0, "the whole batch"),
        ("write_plan_out", "write_offsets", 1, "request 0 (row 1)"),
        ("write_plan_out", "write_offsets", 8, "the whole batch"),
        ("write_plan_out", "write_seed_slot_indices", 0, "request 0 (row 1), position 19"),
        ("write_plan_out", "write_num_valid_reqs", 0, "the whole batch"),
    ],
)
def test_every_field_of_a_plan_is_compared(plan, field, index, whose):
    values = {}

    def launch(**arguments):
        launcher()(**arguments)
        if int(arguments["prefix_lens"][0]) == 20:
            tensor = getattr(arguments[plan], field)
            values["wanted"] = int(tensor[index])
            tensor[index] += 1000

    message = mismatch_of(launch=launch)
    wanted = values["wanted"]
    assert message == (
        f"step 1, full pool, {field}[{index}]: {whose}: found {wanted + 1000}, wanted {wanted}"
    )


def test_entry_written_by_a_plan_that_is_off_is_told():
    def launch(**arguments):
        launcher()(**arguments)
        if int(arguments["verify_plan_out"].enable) == 0:
            arguments["verify_plan_out"].verify_expected_positions[7] = 3

    settings = replace(SMALL_SETTINGS, verify_capacity=40)
    message = mismatch_of(settings, launch=launch)
    assert message.endswith(
        "full pool, verify_expected_positions[7]: the whole batch: found 3, wanted -7777777"
    )


# The command -------------------------------------------------------------------------------------


def test_json_is_one_object_with_every_field_of_the_summary(capsys):
    assert main(["replay", "--requests", "3", "--scale", "64", "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    summary = json.loads(captured.out)
    assert list(summary) == [field.name for field in fields(ReplaySummary)]
    assert summary["requests"] == 3
    assert summary["backend"] == "torch"


def test_quiet_leaves_one_line(capsys):
    assert main(["replay", "--requests", "3", "--scale", "64", "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.count("\n") == 1
    assert captured.out.endswith(" values compared, all equal\n")


def test_summary_names_what_was_compared_and_a_window_only_where_there_is_one(capsys):
    assert main(["replay", "--requests", "3", "--scale", "64"]) == 0
    names = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()]
    assert names == [
        "requests",
        "steps",
        "tokens",
        "prefix cache",
        "pool",
        "plans",
        "entries",
        "compared",
        "time",
    ]
    assert main(["replay", "--requests", "3", "--scale", "64", "--window", "8"]) == 0
    assert "\nwindow        8 tokens; " in capsys.readouterr().out


def test_wrong_plan_exits_with_1_and_one_line(capsys, monkeypatch):
    from kv_canary.replay import engine

    real = engine.compare_plan

    def compare(**arguments):
        arguments["verify_plan"].enable.fill_(0)
        return real(**arguments)

    monkeypatch.setattr(engine, "compare_plan", compare)
    assert main(["replay", "--requests", "1", "--scale", "64", "--quiet"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "kv-canary: step 0, full pool, enable[0]: the whole batch: found 0, wanted 1\n"
    )


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["torch", "triton"])
def test_gpu_replays_without_a_difference(backend, monkeypatch):
    if not torch.cuda.is_available():
        pytest.skip("no GPU that torch can use")
    if backend == "triton" and os.environ.get("TRITON_INTERPRET") == "1":
        pytest.skip("TRITON_INTERPRET=1 puts Triton's interpreter in the GPU's place")
    monkeypatch.setenv("KV_CANARY_BACKEND", backend)
    summary = replay(SMALL_TRACE, replace(WINDOW_SETTINGS, device="cuda"))
    assert (summary.device, summary.backend) == ("cuda", backend)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def progress():
    return Progress(requests_done=3, requests=9, steps=1234, verify_entries=5678)


@pytest.mark.parametrize(
    ("quiet", "stream"), [(True, Terminal()), (False, io.StringIO())], ids=["quiet", "no terminal"]
)
def test_progress_is_not_shown_where_nobody_looks(monkeypatch, quiet, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    with show_progress(quiet=quiet) as update:
        assert update is None
    assert stream.getvalue() == ""


def test_progress_is_plain_lines_without_rich(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(report, "find_spec", lambda name: None)
    monkeypatch.setattr(report, "_SECONDS_BETWEEN_LINES", 0.0)
    with show_progress(quiet=False) as update:
        update(progress())
    assert sys.stderr.getvalue() == "3 of 9 requests, 1,234 steps, 5,678 entries compared\n"


def test_progress_is_a_bar_with_rich(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("COLUMNS", "120")
    with show_progress(quiet=False) as update:
        update(progress())
    assert "3/9" in sys.stderr.getvalue()
    assert "1,234 steps, 5,678 entries compared" in sys.stderr.getvalue()


def test_interpreter_backend_runs_the_kernels_in_a_process_of_its_own():
    folders = [str(REPOSITORY / name) for name in ("codegen", "generated", "runtime")]
    variables = {"KV_CANARY_BACKEND", "TRITON_INTERPRET"}
    environment = {name: value for name, value in os.environ.items() if name not in variables}
    environment["PYTHONPATH"] = os.pathsep.join([*folders, os.environ.get("PYTHONPATH", "")])
    arguments = ["--requests", "3", "--scale", "512", "--window", "4", "--backend", "interpreter"]
    result = subprocess.run(
        [sys.executable, "-m", "kv_canary", "replay", *arguments, "--json"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    summary = json.loads(result.stdout)
    assert summary["backend"] == "triton (interpreter)"
    assert summary["plans"] == 2 * summary["steps"] > 0
