"""What a card can do at best: a copy, a scattered gather, nothing at all; and a sweep of the L2."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def empty_kernel():
    """Do nothing."""


@triton.jit
def copy_kernel(source_ptr, target_ptr, BLOCK: tl.constexpr):
    """Copy int64 from one tensor to another, a block a program."""
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target_ptr + offs, tl.load(source_ptr + offs))


@triton.jit
def gather_kernel(source_ptr, index_ptr, target_ptr, BLOCK: tl.constexpr):
    """Add up rows of four int64, each wherever an index says."""
    row = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(index_ptr + row)
    total = tl.load(source_ptr + index * 4)
    for field in tl.static_range(1, 4):
        total += tl.load(source_ptr + index * 4 + field)
    tl.store(target_ptr + row, total)


@triton.jit
def sweep_kernel(source_ptr, target_ptr, BLOCK: tl.constexpr):
    """Read int64 that nobody needs, as a layer reads its weights, and leave a sum a program."""
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target_ptr + tl.program_id(0), tl.sum(tl.load(source_ptr + offs)))
