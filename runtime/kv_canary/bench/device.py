"""Device rows: each kernel of a step under graph replay, beside the bytes that it must move.

The floor of a row is its bytes over what a copy kernel moves on the same card in the same run; a
scattered read counts the 64 bytes that the cache fetches for it. Every timed result is checked,
through the public launchers, before its row is printed: plans and stamps against the torch
reference, and stamps once more by the verify launch, which must find nothing.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import triton
import triton.language as tl

from kv_canary.bench.steps import Shape, Step

ROUNDS = 30
REPLAYS = 20
CHECKED_TOKENS = 20_000
"""Entries of a write that are compared with the reference; it walks a serial chain on the host."""
SHAPES = (
    Shape(name="decode 1 x 5,120", bs=1, prefix=5120),
    Shape(name="decode 256 x 4,096, scattered", bs=256, prefix=4096),
    Shape(name="decode 256 x 4,096, pages of 64", bs=256, prefix=4096, page=64),
    Shape(name="decode 256 x 4,096, tokens", bs=256, prefix=4096, tokens=True),
    Shape(name="decode 1,024 x 1,024", bs=1024, prefix=1024),
    Shape(name="decode 4,096 x 512", bs=4096, prefix=512),
    Shape(name="window 128, 128 x 10,240", bs=128, prefix=10240, window=128),
    Shape(name="prefill 4,096", bs=1, prefix=0, extend=4096),
    Shape(name="prefill 16,384", bs=1, prefix=0, extend=16384),
    Shape(name="prefill 131,072", bs=1, prefix=0, extend=131072),
    Shape(
        name="prefill 4,096 after 12,288, 2 x 16 B",
        bs=1,
        prefix=12288,
        extend=4096,
        sources=((32, 16), (32, 16)),
    ),
    Shape(name="decode 256 x 4,096, 1,024 B", bs=256, prefix=4096, sources=((1024, 1024),)),
    Shape(name="decode 256 x 4,096, 4 x 32 B", bs=256, prefix=4096, sources=((64, 32),) * 4),
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


def rows(hash_formats: tuple[str, ...] = ("parallel", "serial")) -> Iterator[str]:
    """One line a figure.

    Args:
        hash_formats: Formats to time.
    """
    copied = _copy_rate()
    empty = _graph_us(lambda: _launched(_empty_kernel))
    host_empty = _host_us(lambda: _launched(_empty_kernel))
    card = torch.cuda.get_device_name()
    yield f"{card}, torch {torch.__version__}, Triton {triton.__version__}"
    yield f"copy                       {copied / 1e6:8.2f} TB/s"
    yield f"gather, 1 M rows of 32 B   {_gather_us():8.1f} us"
    yield f"empty kernel               {empty:8.2f} us in a graph, {host_empty:6.1f} us a host call"
    for hash_format in hash_formats:
        for shape in SHAPES:
            yield _step_row(shape, hash_format, copied)


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


def _step_row(shape: Shape, hash_format: str, copied: float) -> str:
    from kv_canary import (
        launch_canary_plan_kernels,
        launch_canary_verify_kernel,
        launch_canary_write_kernel,
    )

    step = Step(shape, hash_format, "cuda")
    _check(step)
    launches: dict[str, tuple[Callable[..., None], dict[str, Any]]] = {
        "plan": (launch_canary_plan_kernels, step.plan_arguments()),
        "verify": (launch_canary_verify_kernel, step.verify_arguments()),
        "write": (launch_canary_write_kernel, step.write_arguments()),
    }
    read = sum(max(64, read) if shape.page == 1 else read for _, read in shape.sources)
    canary = 64 if shape.page == 1 else 32
    floors = {
        "plan": 36 * step.entries,
        "verify": (24 + canary + read) * step.entries,
        "write": (24 + canary + read) * shape.bs * shape.extend,
    }
    shown = []
    for name, (launch, arguments) in launches.items():
        us = _graph_us(lambda: launch(**arguments))  # noqa: B023  it is called before the next turn
        host = _host_us(lambda: launch(**arguments))  # noqa: B023
        shown.append(f"{name} {us:9.2f} us, floor {floors[name] / copied:6.1f}, host {host:5.0f}")
    return f"{hash_format:9s}{shape.name:38s}" + " · ".join(shown) + " · checked"


def _check(step: Step) -> None:
    """Fail unless plan, stamps and verification are what the torch reference says."""
    from kv_canary import (
        launch_canary_plan_kernels,
        launch_canary_verify_kernel,
        launch_canary_write_kernel,
    )
    from kv_canary.reference.plan import plan
    from kv_canary.reference.write import write

    launch_canary_plan_kernels(**step.plan_arguments())
    found = step.plan_tensors()
    plan(**step.plan_arguments())
    wanted = step.plan_tensors()
    for name, tensor in found.items():
        assert torch.equal(tensor, wanted[name]), (step.shape.name, name)
    before = int(step.context.violation_write_index)
    launch_canary_verify_kernel(**step.verify_arguments())
    launch_canary_write_kernel(**step.write_arguments())
    assert int(step.context.violation_write_index) == before, (step.shape.name, "violations")
    if step.shape.bs * step.shape.extend <= CHECKED_TOKENS:
        stamped = step.context.canary_buf.clone()
        slots = step.written["out_cache_loc"]
        step.context.canary_buf[slots] = 0x5A
        write(**step.write_arguments())
        assert torch.equal(stamped, step.context.canary_buf), (step.shape.name, "stamps")


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
