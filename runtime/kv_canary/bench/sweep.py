"""Batch x prefix: what plan, verify and write take for what is active, at two capacities.

An engine gives plans and tables room for the largest batch that it may ever run, and captures its
graphs with padded inputs. That room must cost nothing: both capacities stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from kv_canary.bench.device import calls_of, kernels_of
from kv_canary.bench.judging import Judge
from kv_canary.bench.results import LeftOut, SweepResult
from kv_canary.bench.steps import Shape, Step
from kv_canary.bench.timing import DEVICE, warm_us

BATCHES, PREFIXES = (1, 16, 256), (512, 4096)
SPARE = 8


def shapes(spare: int) -> list[Shape]:
    """Return the steps of the sweep.

    Args:
        spare: how many times plans, tables and inputs have room for what is active.
    """
    return [
        Shape(name=f"sweep {bs} x {prefix}, room for {spare}", bs=bs, prefix=prefix, spare=spare)
        for bs in BATCHES
        for prefix in PREFIXES
    ]


def results(hash_format: str = "parallel") -> Iterator[SweepResult | LeftOut]:
    """Yield a result a kernel and batch.

    Args:
        hash_format: serial or parallel.

    Raises:
        BenchmarkMismatchError: a timed launch left something wrong behind.
    """
    for tight, roomy in zip(shapes(1), shapes(SPARE), strict=True):
        try:
            at_tight, at_roomy = (_timed(shape, hash_format) for shape in (tight, roomy))
        except torch.cuda.OutOfMemoryError:
            yield LeftOut(case=roomy.name, why="the card's memory is full")
            continue
        for kernel, us in at_tight.items():
            yield SweepResult(
                kernel=kernel,
                bs=tight.bs,
                prefix=tight.prefix,
                spare=SPARE,
                tight_us=us,
                spare_us=at_roomy[kernel],
                checked=True,
            )


def _timed(shape: Shape, hash_format: str) -> dict[str, float]:
    """Return the microseconds of each kernel of a step."""
    step = Step(shape, hash_format, DEVICE)
    judge = Judge(step)
    found = {}
    for kernel in kernels_of(shape):
        calls = calls_of(kernel, [step])
        judge.begin(kernel)
        calls[0]()
        found[kernel] = warm_us(calls)
        judge.judge(kernel)
    return found
