"""Sums of blocks of entries: what the parallel chain of a long request is put together from."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from kv_canary.reference._hashes import splitmix64
from kv_canary_kernels.constants import (
    GOLDEN_RATIO_64,
    PARALLEL_CHAIN_INVERSE,
    WRITE_LANE_ENTRIES,
    WRITE_SUM_FIELDS,
    WRITE_TOKEN_BLOCK,
)


def write_sums(
    *,
    canary_buf: Tensor,
    workspace: Tensor,
    write_offsets: Tensor,
    write_seed_slot_indices: Tensor,
    write_num_valid_reqs: Tensor,
    input_ids: Tensor,
    positions: Tensor,
    out_cache_loc: Tensor,
) -> None:
    """Sum up each block of WRITE_TOKEN_BLOCK entries of each request with many entries.

    The map of a block is h -> A^n * (h + sum), n the entries it stores, A the multiplier of the
    parallel chain (CONTRACT section 6). Nothing is written where the blocks do not fit.

    Args:
        canary_buf: uint8 [num_slots, slot_stride_bytes]; only num_slots is read.
        workspace: int64 [workspace_len]; takes three numbers a block.
        write_offsets: int64 [write_req_capacity + 1], first entry of each request.
        write_seed_slot_indices: int64 [write_req_capacity]; only its length is read.
        write_num_valid_reqs: int32 [1], requests in use.
        input_ids: int64 [num_tokens], token of each entry.
        positions: int64 [num_tokens], position of each entry, in tokens.
        out_cache_loc: int64 [num_tokens], slot of each entry.
    """
    count = min(max(int(write_num_valid_reqs), 0), write_seed_slot_indices.shape[0])
    offsets = write_offsets[: count + 1].tolist()
    blocks = [
        (first + block * WRITE_TOKEN_BLOCK, last)
        for first, last in itertools.pairwise(offsets)
        if 0 <= first <= last <= input_ids.shape[0]
        if last - first > WRITE_LANE_ENTRIES
        for block in range(-(-(last - first) // WRITE_TOKEN_BLOCK))
    ]
    if len(blocks) > workspace.shape[0] // WRITE_SUM_FIELDS:
        return
    for place, (start, last) in enumerate(blocks):
        entries = slice(start, min(start + WRITE_TOKEN_BLOCK, last))
        slots = out_cache_loc[entries]
        is_stored = (slots >= 0) & (slots < canary_buf.shape[0])
        tokens, places = input_ids[entries][is_stored], positions[entries][is_stored]
        added = splitmix64(splitmix64(tokens + _signed(GOLDEN_RATIO_64)) ^ places)
        powers = [pow(PARALLEL_CHAIN_INVERSE, turn + 1, 1 << 64) for turn in range(len(tokens))]
        scale = torch.tensor([_signed(power) for power in powers], dtype=torch.int64)
        latest = start + int(is_stored.nonzero()[-1]) if len(tokens) else -1
        first = place * WRITE_SUM_FIELDS
        workspace[first] = len(tokens)
        workspace[first + 1] = (added * scale.to(added.device)).sum()
        workspace[first + 2] = latest


def _signed(value: int) -> int:
    """An unsigned 64-bit number as the int64 of the same bits."""
    return value - (1 << 64) if value >= 1 << 63 else value
