"""Device rows: each kernel under graph replay, beside the bytes that it must move.

The floor of a row is its bytes over what a copy kernel moves on the same card in the same run; a
scattered read counts the 64 bytes that the cache fetches for it. Every timed result is compared
with the torch reference, through the public launcher, before its row is printed. A call's floor
on the host is an empty kernel launched the ordinary way.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import triton
import triton.language as tl

from kv_canary.bench.cases import plan_arguments

ROUNDS = 30
REPLAYS = 20
CASES = (
    ("decode 1 x 5,120", {"bs": 1, "seq_len": 5120, "window": 0}),
    ("window 128, 128 x 10,240", {"bs": 128, "seq_len": 10240, "window": 128}),
    ("decode 128 x 4,096", {"bs": 128, "seq_len": 4096, "window": 0}),
    ("decode 256 x 4,096", {"bs": 256, "seq_len": 4096, "window": 0}),
    ("decode 1,024 x 1,024", {"bs": 1024, "seq_len": 1024, "window": 0}),
    ("decode 4,096 x 512", {"bs": 4096, "seq_len": 512, "window": 0}),
)


@triton.jit
def _empty_kernel():
    pass


@triton.jit
def _copy_kernel(source_ptr, target_ptr, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target_ptr + offs, tl.load(source_ptr + offs))


@triton.jit
def _gather_kernel(source_ptr, index_ptr, target_ptr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(index_ptr + row)
    total = tl.load(source_ptr + index * 4)
    for field in tl.static_range(1, 4):
        total += tl.load(source_ptr + index * 4 + field)
    tl.store(target_ptr + row, total)


def rows() -> Iterator[str]:
    """One line a figure."""
    copied = _copy_rate()
    empty = _graph_us(lambda: _launched(_empty_kernel))
    host_empty = _host_us(lambda: _launched(_empty_kernel))
    yield f"copy                       {copied / 1e6:8.2f} TB/s"
    yield f"gather, 1 M rows of 32 B   {_gather_us():8.1f} us"
    yield f"empty kernel               {empty:8.2f} us in a graph, {host_empty:6.1f} us a host call"
    for name, sizes in CASES:
        yield _plan_row(name, sizes, copied)


def _launched(kernel: Any) -> None:
    kernel[(1,)](enable_fp_fusion=True)


def _copy_rate() -> float:
    """Bytes a microsecond, read and written, of a copy that is many times the cache."""
    count = 1 << 28
    source = torch.randint(1, 100, (count,), dtype=torch.int64, device="cuda")
    target = torch.empty_like(source)
    grid = (count // 4096,)
    us = _graph_us(lambda: _copy_kernel[grid](source, target, BLOCK=4096, enable_fp_fusion=True))
    assert torch.equal(source, target)
    return 16 * count / us


def _gather_us() -> float:
    count = 1 << 20
    source = torch.randint(1, 100, (4 * count,), dtype=torch.int64, device="cuda")
    index = torch.randperm(count, device="cuda")
    target = torch.empty(count, dtype=torch.int64, device="cuda")
    grid = (count // 512,)

    def gather() -> None:
        _gather_kernel[grid](source, index, target, BLOCK=512, enable_fp_fusion=True)

    us = _graph_us(gather)
    assert torch.equal(target, source.view(count, 4).sum(1)[index])
    return us


def _plan_row(name: str, sizes: dict[str, int], copied: float) -> str:
    from kv_canary import launch_canary_plan_kernels
    from kv_canary.reference.plan import plan

    arguments = plan_arguments("cuda", tokens=False, **sizes)
    us = _graph_us(lambda: launch_canary_plan_kernels(**arguments))
    host = _host_us(lambda: launch_canary_plan_kernels(**arguments))
    wanted = plan_arguments("cpu", tokens=False, **sizes)
    plan(**wanted)
    for struct in ("verify_plan_out", "write_plan_out"):
        for field in arguments[struct].__slots__:
            found = getattr(arguments[struct], field).cpu()
            assert torch.equal(found, getattr(wanted[struct], field)), (name, field)
    entries = int(wanted["verify_plan_out"].verify_num_valid.item())
    moved = 36 * entries + 48 * sizes["bs"]  # A slot read, four fields written; rows and lengths.
    floor = moved / copied
    return (
        f"plan {name:26s} {us:8.2f} us   floor {floor:6.2f} us   {us / floor:6.1f} x"
        f"   host call {host:6.1f} us   checked"
    )


def _graph_us(call: Callable[[], object]) -> float:
    """Median microseconds of one call on the device, replayed from a graph of several."""
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(REPLAYS):
            call()
    graph.replay()
    samples = []
    for _ in range(ROUNDS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        samples.append(start.elapsed_time(end) * 1e3 / REPLAYS)
    return statistics.median(samples)


def _host_us(call: Callable[[], object]) -> float:
    """Median microseconds that a call keeps the host, the device idle before each."""
    samples = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        call()
        samples.append((time.perf_counter() - start) * 1e6)
    return statistics.median(samples)
