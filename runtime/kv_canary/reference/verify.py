"""Cached tokens against their canaries: what a verify launch finds, and where it says so."""

from __future__ import annotations

import torch
from torch import Tensor

from kv_canary.reference._canaries import (
    Context,
    VerifyPlan,
    hash_after,
    read_canaries,
    real_kv_hash_of,
)
from kv_canary.reference._hashes import ANCHOR_HASH
from kv_canary.reference._requests import NO_EXPECTED_TOKEN, NO_SLOT
from kv_canary.reference._sizes import known_size
from kv_canary.reference._violations import Violations, record
from kv_canary_kernels.constants import (
    CANARY_FIELD_POSITION,
    CANARY_FIELD_PREV_HASH,
    CANARY_FIELD_REAL_KV_HASH,
    CANARY_FIELD_TOKEN,
    TOKEN_TO_KV_SLOT_PADDING,
    FailReason,
)


def verify(
    *,
    context: Context,
    plan: VerifyPlan,
    check_verify_expected_token: bool,
    report_padding_slot: bool = False,
) -> None:
    """Compare every planned slot with its predecessor, its plan and its bytes; record what differs.

    Nothing but rings and counters is written. The chain hash of the successor and the real-KV hash
    are those of `kv_canary.reference._hashes`.

    Args:
        context: stamps, sources, rings and counters, by attribute: canary_buf uint8 [num_slots,
            slot_stride_bytes], violation_ring int64 [ring_capacity, 8], evidence_ring the same or
            None, violation_write_index int32 [1], slot_run_counter and kernel_run_counter int64
            [1], kernel_kind, real_kv_sources, real_kv_hash_mode, hash_format.
        plan: what to verify, by attribute: verify_slot_indices, verify_expected_tokens,
            verify_expected_positions (in tokens) and verify_prev_slot_indices, int64
            [verify_capacity]; verify_num_valid and enable, int32 [1], 0 in the latter for nothing.
        check_verify_expected_token: whether tokens are compared, where the plan knows one.
        report_padding_slot: whether an entry of slot 0 is a violation, instead of skipped.
    """
    num_slots = context.canary_buf.shape[0]
    capacity = plan.verify_slot_indices.shape[0]
    walked = torch.where(plan.enable != 0, plan.verify_num_valid.clamp(min=0, max=capacity), 0)
    considered = known_size(walked, capacity)
    slot = plan.verify_slot_indices[:considered]
    prev_slot = plan.verify_prev_slot_indices[:considered]
    expected_token = plan.verify_expected_tokens[:considered]
    expected_position = plan.verify_expected_positions[:considered]

    entry = torch.arange(considered, dtype=torch.int64, device=slot.device)
    is_active = entry < walked
    is_padding = slot == TOKEN_TO_KV_SLOT_PADDING
    is_inside = (slot >= 0) & (slot < num_slots) & ~is_padding
    has_prev = (prev_slot > TOKEN_TO_KV_SLOT_PADDING) & (prev_slot < num_slots)
    is_prev_outside = (prev_slot < NO_SLOT) | (prev_slot >= num_slots)

    stored = read_canaries(context.canary_buf, slot, is_inside)
    token = stored[:, CANARY_FIELD_TOKEN]
    position = stored[:, CANARY_FIELD_POSITION]
    chain_hash = stored[:, CANARY_FIELD_PREV_HASH]
    kv_hash = stored[:, CANARY_FIELD_REAL_KV_HASH]
    before = read_canaries(context.canary_buf, prev_slot, has_prev)
    recomputed = real_kv_hash_of(context, slot, is_inside)
    # Where nothing is compared, the stored value stands for the expected one.
    expected_hash = torch.where(
        has_prev,
        hash_after(before, context.hash_format),
        torch.where(prev_slot == NO_SLOT, ANCHOR_HASH, chain_hash),
    )
    has_token = expected_token != NO_EXPECTED_TOKEN
    if not check_verify_expected_token:
        has_token = torch.zeros_like(has_token)

    different = torch.zeros_like(slot)
    for reason, holds in (
        (FailReason.VERIFY_CHAIN_HASH_MISMATCH, chain_hash != expected_hash),
        (FailReason.VERIFY_POSITION_MISMATCH, position != expected_position),
        (FailReason.VERIFY_REAL_KV_HASH_MISMATCH, kv_hash != recomputed),
        (FailReason.VERIFY_TOKEN_MISMATCH, has_token & (token != expected_token)),
        (FailReason.SLOT_OUT_OF_RANGE, is_prev_outside),
    ):
        different += torch.where(holds, int(reason), 0)
    padding_bits = int(FailReason.PADDING_SLOT_IN_PREFIX) if report_padding_slot else 0
    bits = torch.where(
        is_inside,
        different,
        torch.where(is_padding, padding_bits, int(FailReason.SLOT_OUT_OF_RANGE)),
    )

    def describe(entry: Tensor) -> Violations:
        followed = is_inside[entry]
        return Violations(
            slot=slot[entry],
            position=torch.where(followed, position[entry], expected_position[entry]),
            stored_token=torch.where(followed, token[entry], 0),
            expected_token=torch.where(
                followed & has_token[entry], expected_token[entry], NO_EXPECTED_TOKEN
            ),
            stored_chain_hash=torch.where(followed, chain_hash[entry], 0),
            expected_aux=torch.where(followed, expected_hash[entry], 0),
            reason_bits=bits[entry],
            expected_position=expected_position[entry],
            stored_real_kv_hash=torch.where(followed, kv_hash[entry], 0),
            recomputed_real_kv_hash=torch.where(followed, recomputed[entry], 0),
            previous_slot=prev_slot[entry],
            index=entry,
            request=-1,
        )

    record(context, is_active & (bits != 0), describe)
    context.slot_run_counter.add_(walked)
    context.kernel_run_counter.add_(1)
