"""Packed token ids to the rows of a pool."""

from __future__ import annotations

import torch
from torch import Tensor

from kv_canary.reference._requests import read_where
from kv_canary.reference._sizes import PackedRanges


def scatter_req_token_ids(
    *,
    flat_in: Tensor,
    offsets: Tensor,
    req_pool_indices: Tensor,
    pool_out: Tensor,
    column_starts: Tensor | None = None,
) -> None:
    """Write each request's packed token ids to its row of the pool, and touch nothing else there.

    `pool_out[row, c : c + n] = flat_in[offsets[r] : offsets[r] + n]`, in which n is what the
    request has, cut where the row ends. A request whose offsets, row or column lie outside
    contributes nothing; what a row named twice holds is unspecified.

    Args:
        flat_in: int64 [tokens]; the low 32 bits of each are kept.
        offsets: int64 [bs + 1], where each request's token ids start and end.
        req_pool_indices: int64 [bs], row of each request; row 0 is one like any other.
        pool_out: int32 [rows, columns].
        column_starts: int64 [bs], first column c to write of each row; None means 0.
    """
    batch_size = req_pool_indices.shape[0]
    rows, columns = pool_out.shape
    if batch_size == 0 or rows == 0 or columns == 0:
        return
    tokens = flat_in.shape[0]
    start, end = offsets[:-1], offsets[1:]
    column = torch.zeros_like(start) if column_starts is None else column_starts
    is_sound = (
        ((start >= 0) & (start <= end) & (end <= tokens))
        & ((req_pool_indices >= 0) & (req_pool_indices < rows))
        & ((column >= 0) & (column <= columns))
    )
    counts = torch.where(is_sound, torch.minimum(end - start, columns - column), 0)
    # Sound neighbours share no token, so only every second request can have all of them.
    bound = min(batch_size * columns, (batch_size + 1) // 2 * tokens)
    ranges = PackedRanges.pack(counts, bound=bound)
    if ranges.owner.shape[0] == 0:
        return

    # Every place writes: one that no request owns repeats the first place, which is owned if any
    # is; else all of them write what the first element of the pool holds anyway.
    owner = torch.where(ranges.is_owned, ranges.owner, ranges.owner[0])
    local = torch.where(ranges.is_owned, ranges.local, 0)
    is_any = ranges.is_owned[0]
    token = read_where(flat_in, (start[owner] + local,), is_any.expand(local.shape), 0)
    pool = pool_out.view(-1)
    target = torch.where(is_any, req_pool_indices[owner] * columns + column[owner] + local, 0)
    pool.index_copy_(0, target, torch.where(is_any, token.to(torch.int32), pool[0]))
