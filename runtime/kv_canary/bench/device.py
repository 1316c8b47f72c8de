"""Device rows: each kernel of a step under graph replay, beside what the card does at best.

Every call goes through the public launchers, with their checks and the kernels' guards, and every
timed result is compared with the oracle before its row is given out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import torch

from kv_canary.bench.judging import Judge
from kv_canary.bench.results import KernelResult, LeftOut
from kv_canary.bench.steps import Shape, Step
from kv_canary.bench.timing import DEVICE, host_us, swept_us, warm_us
from kv_canary.bench.variants import variant_of

TABLE = (
    Shape(name="decode 1 x 5,120", bs=1, prefix=5120),
    Shape(name="decode 256 x 4,096, scattered", bs=256, prefix=4096),
    Shape(name="decode 256 x 4,096, pages of 64", bs=256, prefix=4096, page=64),
    Shape(name="decode 4,096 x 512", bs=4096, prefix=512),
    Shape(name="window 128, 128 x 10,240", bs=128, prefix=10240, window=128),
    Shape(name="prefill 4,096", bs=1, prefix=0, extend=4096),
    Shape(name="prefill 16,384", bs=1, prefix=0, extend=16384),
    Shape(
        name="prefill 4,096 after 12,288, 2 x 16 B",
        bs=1,
        prefix=12288,
        extend=4096,
        sources=((32, 16), (32, 16)),
    ),
    Shape(name="decode 256 x 4,096, 1,024 B", bs=256, prefix=4096, sources=((1024, 1024),)),
)
"""The cases that every figure about kv-canary is about."""
MORE = (
    Shape(name="decode 256 x 4,096, tokens", bs=256, prefix=4096, tokens=True),
    Shape(name="decode 1,024 x 1,024", bs=1024, prefix=1024),
    Shape(name="decode 256 x 4,096, 4 x 32 B", bs=256, prefix=4096, sources=((64, 32),) * 4),
    Shape(name="prefill 131,072", bs=1, prefix=0, extend=131072),
)
SMALL, SETS = 32_768, 3
"""Of steps with fewer entries than this, as many sets of buffers take turns."""


def results(
    shapes: Sequence[Shape], hash_formats: Sequence[str]
) -> Iterator[KernelResult | LeftOut]:
    """Yield a result a kernel of each step, or say that the card cannot hold it.

    Args:
        shapes: what the steps look like.
        hash_formats: serial, parallel or both.

    Raises:
        BenchmarkMismatchError: a timed launch left something wrong behind.
    """
    for hash_format in hash_formats:
        for shape in shapes:
            try:
                yield from _timed(shape, hash_format)
            except torch.cuda.OutOfMemoryError:
                yield LeftOut(case=f"{shape.name}, {hash_format}", why="the card's memory is full")
            torch.cuda.empty_cache()


def kernels_of(shape: Shape) -> tuple[str, ...]:
    """Return the kernels that have something to do in a step.

    Args:
        shape: what the step looks like.
    """
    return ("plan", "verify", "write") if shape.entries else ("plan", "write")


def calls_of(kernel: str, steps: Sequence[Step]) -> list[partial[None]]:
    """Return the same public launch bound to each step, in turn.

    Args:
        kernel: plan, verify or write.
        steps: steps of one shape.
    """
    from kv_canary import (
        launch_canary_plan_kernels,
        launch_canary_verify_kernel,
        launch_canary_write_kernel,
    )

    if kernel == "plan":
        return [partial(launch_canary_plan_kernels, **step.plan_arguments()) for step in steps]
    if kernel == "verify":
        return [partial(launch_canary_verify_kernel, **step.verify_arguments()) for step in steps]
    return [partial(launch_canary_write_kernel, **step.write_arguments()) for step in steps]


def _timed(shape: Shape, hash_format: str) -> list[KernelResult]:
    count = SETS if shape.entries + shape.bs * shape.extend <= SMALL else 1
    steps = [Step(shape, hash_format, DEVICE, seed=seed) for seed in range(1, count + 1)]
    judges = [Judge(step) for step in steps]
    found = []
    for kernel in kernels_of(shape):
        calls = calls_of(kernel, steps)
        for judge in judges:
            judge.begin(kernel)
        for call in calls:
            call()
        warm, swept, host = warm_us(calls), swept_us(calls), host_us(calls[0])
        for judge in judges:
            judge.judge(kernel)
        found.append(
            KernelResult(
                case=shape.name,
                kernel=kernel,
                hash_format=hash_format,
                variant=variant_of(kernel, steps[0]),
                warm_us=warm,
                swept_us=swept,
                host_us=host,
                bytes_moved=shape.bytes_moved(kernel),
                checked=True,
            )
        )
    return found
