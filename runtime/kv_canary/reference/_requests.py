"""What a plan says about each request of a batch: its window, its counts, and whether it is sound.

Note [Nothing inside a tensor is trusted]
The tables that a detector reads may be the corrupted thing. So every index is compared with the
dimension it addresses before it is used, every read that fails this comparison yields a fixed
value, and every sum is taken over numbers that were clamped first, so that none can wrap.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from kv_canary_kernels.constants import REQ_POOL_IDX_PADDING

NO_SLOT = -1
"""The predecessor of position 0, and the seed of a request that has none."""
UNREACHABLE_SLOT = -2
"""Stands for a slot that cannot be told; verify and write report it, since no pool has it."""
NO_EXPECTED_TOKEN = -1
INT32_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Requests:
    """One batch, read with every bad row and every bad length found and set aside."""

    row: Tensor
    """int64 [bs]: row of req_to_token, or 0 where the request has no row that may be read."""
    is_sound: Tensor
    """bool [bs]: the request is no padding, and its row and prefix length lie inside the table."""
    is_bad: Tensor
    """bool [bs]: the request is no padding, and its row or its prefix length is wrong."""
    prefix_len: Tensor
    """int64 [bs]: tokens in the cache; 0 where the request is not sound."""
    reported_position: Tensor
    """int64 [bs]: the position that a bad request's only entry carries: the bad length, or 0."""
    window_start: Tensor
    """int64 [bs]: first position to verify, in tokens."""
    verify_count: Tensor
    """int64 [bs]: verify entries that the request contributes."""

    @classmethod
    def read(
        cls,
        *,
        req_pool_indices: Tensor,
        prefix_lens: Tensor,
        req_to_token: Tensor,
        swa_window_size: int,
    ) -> Requests:
        """Decide, per request, what is verified and from where.

        Args:
            req_pool_indices: int64 [bs], row of each request; 0 is padding.
            prefix_lens: int64 [bs], tokens already in the cache.
            req_to_token: int32 [max_reqs, max_seq_len]; only its shape is used here.
            swa_window_size: tokens in the sliding window; 0 or less means no window.
        """
        max_reqs, max_seq_len = req_to_token.shape
        is_padding = req_pool_indices == REQ_POOL_IDX_PADDING
        row_in_table = (req_pool_indices >= 0) & (req_pool_indices < max_reqs)
        length_in_table = (prefix_lens >= 0) & (prefix_lens <= max_seq_len)
        is_sound = ~is_padding & row_in_table & length_in_table
        is_bad = ~is_padding & ~is_sound
        prefix_len = torch.where(is_sound, prefix_lens, 0)
        # A window wider than the table is the whole table; so cut, the difference cannot wrap.
        window = min(swa_window_size, max_seq_len) if swa_window_size > 0 else max_seq_len
        window_start = (prefix_len - window).clamp(min=0)
        return cls(
            row=torch.where(is_sound, req_pool_indices, 0),
            is_sound=is_sound,
            is_bad=is_bad,
            prefix_len=prefix_len,
            reported_position=torch.where(is_bad & row_in_table, prefix_lens, 0),
            window_start=window_start,
            verify_count=torch.where(is_bad, 1, prefix_len - window_start),
        )


def exclusive_prefix_sum(counts: Tensor) -> Tensor:
    """Return int64 [n + 1]: where each of n packed ranges starts, and the total at the end.

    Args:
        counts: int64 [n], lengths of the ranges; their sum must fit in 63 bits.
    """
    starts = torch.zeros(counts.shape[0] + 1, dtype=torch.int64, device=counts.device)
    torch.cumsum(counts, dim=0, out=starts[1:])
    return starts


def read_where(
    table: Tensor, index: tuple[Tensor, ...], readable: Tensor, otherwise: int
) -> Tensor:
    """Return int64 `table[index]` where readable, and a fixed value elsewhere.

    Args:
        table: integer tensor of any shape, also an empty one.
        index: one int64 tensor per dimension of the table.
        readable: bool, true only where every index lies inside its dimension.
        otherwise: what the other places get.
    """
    if table.numel() == 0:
        return torch.full(readable.shape, otherwise, dtype=torch.int64, device=table.device)
    inside = tuple(torch.where(readable, axis, 0) for axis in index)
    return torch.where(readable, table[inside].to(torch.int64), otherwise)


def slot_at(
    *,
    req_to_token: Tensor,
    full_to_swa_index_mapping: Tensor | None,
    row: Tensor,
    position: Tensor,
    readable: Tensor,
    otherwise: int,
) -> Tensor:
    """Return int64 slots of (row, position) pairs, as seen through the SWA table when there is one.

    Args:
        req_to_token: int32 [max_reqs, max_seq_len], slot of each position of each row.
        full_to_swa_index_mapping: int64 [lut_len], full slot to SWA slot, or None.
        row: int64 [n].
        position: int64 [n], in tokens.
        readable: bool [n], true only where row and position lie inside req_to_token.
        otherwise: negative value for the places that are not readable.
    """
    slot = read_where(req_to_token, (row, position), readable, otherwise)
    if full_to_swa_index_mapping is None:
        return slot
    in_mapping = (slot >= 0) & (slot < full_to_swa_index_mapping.shape[0])
    mapped = read_where(full_to_swa_index_mapping, (slot,), in_mapping, UNREACHABLE_SLOT)
    return torch.where(slot < 0, slot, mapped)
