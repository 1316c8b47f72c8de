"""Clean replays with a canary in every step: nothing is ever found, and a lot was checked."""

from dataclasses import replace
from pathlib import Path

import pytest

from kv_canary.faults.measure import small_settings, small_trace
from kv_canary.findings import find, read_dump
from kv_canary.replay.canary import CanaryOptions, replay_with_canary
from kv_canary.replay.settings import ReplaySettings
from kv_canary.replay.trace import SHIPPED_SLICE, read_trace

WHOLE_TRACE = (
    Path(__file__).parent.parent.parent / "shared" / "data" / "mooncake_conversation_3000.jsonl"
)


@pytest.mark.parametrize("seed", range(6))
def test_clean_replay_of_a_small_trace_finds_nothing(seed):
    settings, options = small_settings(None, seed)
    settings = replace(settings, pool_slots=320)
    summary = replay_with_canary(small_trace(seed), settings, options)
    assert summary.findings == ()
    assert summary.requests == 24
    assert summary.prefix_cache_hit_share > 0.2
    assert summary.evicted_blocks > 0
    assert summary.announced_prefixes > 0
    assert (summary.rejected_drafts > 0) is (options.drafts > 0)
    assert summary.slots_checked > summary.slots_stamped > 0


@pytest.mark.parametrize("window", [0, 24])
def test_clean_replay_with_sweeps_finds_nothing(window):
    settings = ReplaySettings(
        scale=64, page_size=4, pool_slots=480, window=window, window_pool_slots=240, max_batch=8
    )
    summary = replay_with_canary(small_trace(2), settings, CanaryOptions(sweep_every=5))
    assert summary.findings == ()
    assert summary.swept_entries > 0


@pytest.mark.parametrize(("window", "seed"), [(0, 0), (64, 1)])
def test_clean_replay_of_the_real_slice_finds_nothing(window, seed):
    trace = read_trace(SHIPPED_SLICE, limit=60)
    settings = ReplaySettings(
        scale=128,
        window=window,
        seed=seed,
        pool_slots=2048,
        window_pool_slots=1536,
        max_batch=32,
    )
    options = CanaryOptions(real_kv="all", drafts=1)
    summary = replay_with_canary(trace, settings, options)
    assert summary.findings == ()
    assert summary.requests == 60
    assert summary.evicted_blocks > 0
    assert (summary.evicted_window_pages > 0) is (window > 0)


def test_dump_of_a_clean_replay_has_no_finding(tmp_path):
    settings, options = small_settings(None, 0)
    replay_with_canary(small_trace(0), settings, options, dump=tmp_path / "dump.pt")
    assert find(read_dump(tmp_path / "dump.pt")) == ()


def test_equal_seeds_give_equal_replays():
    settings, options = small_settings(None, 1)
    one, other = (replay_with_canary(small_trace(1), settings, options) for _ in range(2))
    assert one.slots_checked == other.slots_checked
    assert one.rejected_drafts == other.rejected_drafts


@pytest.mark.soak
@pytest.mark.skipif(not WHOLE_TRACE.exists(), reason="the whole trace lies beside the checkout")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("window", [0, 64])
def test_clean_replay_of_the_whole_trace_finds_nothing(window, seed):
    settings = ReplaySettings(
        scale=128, window=window, seed=seed, pool_slots=8192, window_pool_slots=4096
    )
    options = CanaryOptions(real_kv="all", drafts=1, sweep_every=50)
    summary = replay_with_canary(read_trace(WHOLE_TRACE), settings, options)
    assert summary.findings == ()
    assert summary.requests == 3000
    assert summary.evicted_blocks > 0
    assert summary.swept_entries > 0
