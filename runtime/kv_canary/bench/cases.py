"""Calls to be timed: random contents from a fixed seed, never zeros."""

from __future__ import annotations

from typing import Any

import torch


def plan_arguments(
    device: str, *, bs: int = 8, seq_len: int = 64, window: int = 16, tokens: bool = True
) -> dict[str, Any]:
    """A decode step: every request has its whole row cached and writes a token.

    Args:
        device: Where the tensors are.
        bs: Requests.
        seq_len: Cached tokens of each.
        window: Size of the sliding window; 0 for full attention, without a window table.
        tokens: Whether expected tokens are given.
    """
    from kv_canary import VerifyPlan, WritePlan

    generator = torch.Generator().manual_seed(0)

    def integers(low: int, high: int, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=generator, dtype=dtype).to(device)

    rows = bs + 1
    slots = rows * seq_len + 1
    capacity = bs * (min(window, seq_len) if window else seq_len)
    return {
        "verify_plan_out": VerifyPlan.allocate(verify_capacity=capacity, device=device),
        "write_plan_out": WritePlan.allocate(write_req_capacity=bs, device=device),
        "req_pool_indices": torch.arange(1, rows, dtype=torch.int64, device=device),
        "prefix_lens": torch.full((bs,), seq_len, dtype=torch.int64, device=device),
        "extend_seq_lens": torch.ones(bs, dtype=torch.int64, device=device),
        "req_to_token": integers(1, slots, (rows, seq_len), torch.int32),
        "swa_window_size": window,
        "full_to_swa_index_mapping": integers(1, slots, (slots,), torch.int64) if window else None,
        "verify_capacity": capacity,
        "req_to_verify_expected_tokens": (
            integers(0, 1000, (rows, seq_len), torch.int32) if tokens else None
        ),
        "req_to_verify_expected_tokens_valid_lens": (
            integers(0, seq_len, (bs,), torch.int64) if tokens else None
        ),
        "kv_token_id_vs_position_offset": 0,
        "verify_rotation": None,
        "verify_total": None,
    }
