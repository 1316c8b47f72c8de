"""The torch reference of plan_rotation: moves the window of a plan that is over capacity."""

from __future__ import annotations

from torch import Tensor

from kv_canary.reference._requests import Requests


def plan_rotation(
    *,
    req_pool_indices: Tensor,
    prefix_lens: Tensor,
    req_to_token: Tensor,
    swa_window_size: int,
    verify_capacity: int,
    verify_rotation: Tensor,
    verify_total: Tensor | None = None,
) -> None:
    """Move the first entry to plan on by one capacity, where the batch asks for more than that.

    Args:
        req_pool_indices: int64 [bs], row of each request; 0 is padding.
        prefix_lens: int64 [bs], tokens already in the cache.
        req_to_token: int32 [max_reqs, max_seq_len]; only its shape is used here.
        swa_window_size: tokens in the sliding window; 0 or less means no window.
        verify_capacity: entries that the verify plan holds.
        verify_rotation: int64 [1], first entry to plan; any value counts modulo the total.
        verify_total: int64 [1], takes the entries that the batch asks for; or None.
    """
    requests = Requests.read(
        req_pool_indices=req_pool_indices,
        prefix_lens=prefix_lens,
        req_to_token=req_to_token,
        swa_window_size=swa_window_size,
    )
    total = requests.verify_count.sum()
    divisor = total.clamp(min=1)
    moved = (verify_rotation % divisor + min(verify_capacity, 2**62)) % divisor
    verify_rotation.copy_(moved.where(total > verify_capacity, verify_rotation))
    if verify_total is not None:
        verify_total.copy_(total.view(1))
