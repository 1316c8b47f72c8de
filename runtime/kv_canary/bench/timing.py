"""How launches are timed on a GPU, and what the card can do at best.

Note [Warm and swept]
A launch that is replayed over and over finds in the L2 what its forerunner left there, and looks
faster than it ever is between the layers of a model. So launches take turns on a few sets of
buffers where those are small, and are timed a second time with a kernel before each that reads more
than any cache holds; a graph of that kernel alone, replayed in turn with the other, is subtracted.
It reads and does not write, so that no launch pays for lines that somebody else left dirty.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

import torch

from kv_canary.bench.kernels import copy_kernel, empty_kernel, gather_kernel, sweep_kernel
from kv_canary.bench.results import Yardsticks
from kv_canary.errors import BenchmarkMismatchError

DEVICE = "cuda"
"""ROCm calls itself that too."""
ROUNDS = 30
"""Replays of a graph, of which the median counts."""
FEWEST_ROUNDS, LONGEST_US = 5, 1e6
"""Of a graph that takes long, as many replays as fit in this time, but no fewer than that."""
WARM_LAUNCHES = 20
"""Launches in a graph, one after the other."""
SWEPT_LAUNCHES = 8
"""Launches in a graph, with a sweep before each."""
SWEPT_BYTES = 1 << 28
"""More than the last cache of any card that Triton supports."""
COPY_WORDS, GATHER_ROWS = 1 << 28, 1 << 20

Call = Callable[[], object]


def warm_us(calls: Sequence[Call]) -> float:
    """Return the median microseconds of a call on the device, one after the other in a graph.

    Args:
        calls: the same launch on different buffers, taken in turn; all are loaded already.
    """
    graph = captured(lambda: _in_turn(calls, WARM_LAUNCHES))
    rounds = rounds_of(replay_us(graph))
    return statistics.median(replay_us(graph) for _ in range(rounds)) / WARM_LAUNCHES


def swept_us(calls: Sequence[Call]) -> float:
    """Return the same with the L2 swept before each call; see Note [Warm and swept].

    Args:
        calls: as in warm_us.
    """
    sweep = _sweeper()
    sweep()
    both = captured(lambda: _in_turn(calls, SWEPT_LAUNCHES, before=sweep))
    alone = captured(lambda: _in_turn([sweep], SWEPT_LAUNCHES))
    rounds = rounds_of(replay_us(both))
    differences = [replay_us(both) - replay_us(alone) for _ in range(rounds)]
    return statistics.median(differences) / SWEPT_LAUNCHES


def host_us(call: Call) -> float:
    """Return the median microseconds that a call keeps the host, the device idle before each."""
    samples = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        samples.append((time.perf_counter() - start) * 1e6)
    torch.cuda.synchronize()
    return statistics.median(samples)


def rounds_of(us: float) -> int:
    """Return how often a graph is replayed.

    Args:
        us: what one replay takes.
    """
    return max(FEWEST_ROUNDS, min(ROUNDS, int(LONGEST_US / us)))


def captured(run: Callable[[], None]) -> torch.cuda.CUDAGraph:
    """Return a graph of what a function launches; every kernel must be loaded by now."""
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    graph.replay()
    torch.cuda.synchronize()
    return graph


def replay_us(graph: torch.cuda.CUDAGraph) -> float:
    """Return the microseconds of one replay, by events on the device."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    graph.replay()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) * 1e3


def yardsticks() -> Yardsticks:
    """Return what the card does at best.

    Raises:
        BenchmarkMismatchError: a yardstick did not do what it should have.
    """
    empty_kernel[(1,)](enable_fp_fusion=True)
    empty = [lambda: empty_kernel[(1,)](enable_fp_fusion=True)]
    copied = _copy_rate()
    gather, gather_swept = _gather_us()
    return Yardsticks(
        copy_bytes_per_us=copied,
        gather_rows=GATHER_ROWS,
        gather_us=gather,
        gather_swept_us=gather_swept,
        empty_us=warm_us(empty),
        empty_host_us=host_us(empty[0]),
    )


def _in_turn(calls: Sequence[Call], count: int, before: Call | None = None) -> None:
    for number in range(count):
        if before is not None:
            before()
        calls[number % len(calls)]()


def _sweeper() -> Call:
    source = torch.ones(SWEPT_BYTES // 8, dtype=torch.int64, device=DEVICE)
    grid = (source.shape[0] // 4096,)
    target = torch.empty(grid, dtype=torch.int64, device=DEVICE)
    return lambda: sweep_kernel[grid](source, target, BLOCK=4096, enable_fp_fusion=True)


def _copy_rate() -> float:
    """Bytes a microsecond, read and written, of a copy that is many times the cache."""
    # A sixteenth of what is free: small cards have to hold two of these.
    count = min(COPY_WORDS, torch.cuda.mem_get_info()[0] // (16 * 8) // 4096 * 4096)
    source = torch.randint(1, 100, (count,), dtype=torch.int64, device=DEVICE)
    target = torch.zeros_like(source)
    grid = (count // 4096,)

    def copy() -> None:
        copy_kernel[grid](source, target, BLOCK=4096, enable_fp_fusion=True)

    copy()
    rate = 16 * count / warm_us([copy])
    if not torch.equal(source, target):
        raise BenchmarkMismatchError(case="yardsticks", kernel="copy", what="the copy differs")
    return rate


def _gather_us() -> tuple[float, float]:
    """Microseconds of a scattered gather, warm and swept."""
    source = torch.randint(1, 100, (4 * GATHER_ROWS,), dtype=torch.int64, device=DEVICE)
    index = torch.randperm(GATHER_ROWS, device=DEVICE)
    target = torch.zeros(GATHER_ROWS, dtype=torch.int64, device=DEVICE)
    grid = (GATHER_ROWS // 512,)

    def gather() -> None:
        gather_kernel[grid](source, index, target, BLOCK=512, enable_fp_fusion=True)

    gather()
    times = warm_us([gather]), swept_us([gather])
    if not torch.equal(target, source.view(GATHER_ROWS, 4).sum(1)[index]):
        raise BenchmarkMismatchError(case="yardsticks", kernel="gather", what="the sums differ")
    return times
