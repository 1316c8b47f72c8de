"""The canary buffer as fields, and what write and verify ask of their context and their plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from kv_canary.reference._hashes import HashFormat, RealKvSource, real_kv_hash, successor_hash
from kv_canary_kernels.constants import (
    CANARY_FIELD_POSITION,
    CANARY_FIELD_PREV_HASH,
    CANARY_FIELD_TOKEN,
    CANARY_FIELDS_PER_SLOT,
    RealKvHashMode,
)

CANARY_BYTES = CANARY_FIELDS_PER_SLOT * 8


class Context(Protocol):
    """What a launch works on: the stamps, the rings, the counters and how to hash."""

    @property
    def canary_buf(self) -> Tensor:
        """uint8 [num_slots, slot_stride_bytes]; the canary is the first 32 bytes of a slot."""

    @property
    def kernel_kind(self) -> int:
        """CanaryLaunchTag of the launch, or any other number."""

    @property
    def violation_ring(self) -> Tensor:
        """int64 [ring_capacity, 8]."""

    @property
    def violation_write_index(self) -> Tensor:
        """int32 [1], rows recorded or wanted so far."""

    @property
    def slot_run_counter(self) -> Tensor:
        """int64 [1], entries stored or walked so far."""

    @property
    def kernel_run_counter(self) -> Tensor:
        """int64 [1], launches so far."""

    @property
    def real_kv_sources(self) -> Sequence[RealKvSource]:
        """At most four; each covers every slot of canary_buf."""

    @property
    def real_kv_hash_mode(self) -> RealKvHashMode | int:
        """How many bytes of each source are hashed."""

    @property
    def enable_chain_position_assert(self) -> Tensor:
        """int32 [1]; 0 means that a write does not compare positions along the chain."""

    @property
    def hash_format(self) -> HashFormat:
        """Which formulas are meant."""

    @property
    def evidence_ring(self) -> Tensor | None:
        """int64 [ring_capacity, 8], or None."""


class WritePlan(Protocol):
    """What a write launch asks of its plan."""

    @property
    def write_offsets(self) -> Tensor:
        """int64 [write_req_capacity + 1]."""

    @property
    def write_seed_slot_indices(self) -> Tensor:
        """int64 [write_req_capacity]."""

    @property
    def write_num_valid_reqs(self) -> Tensor:
        """int32 [1]."""


class VerifyPlan(Protocol):
    """What a verify launch asks of its plan."""

    @property
    def verify_slot_indices(self) -> Tensor:
        """int64 [verify_capacity]."""

    @property
    def verify_expected_tokens(self) -> Tensor:
        """int64 [verify_capacity]."""

    @property
    def verify_expected_positions(self) -> Tensor:
        """int64 [verify_capacity], in tokens."""

    @property
    def verify_prev_slot_indices(self) -> Tensor:
        """int64 [verify_capacity]."""

    @property
    def verify_num_valid(self) -> Tensor:
        """int32 [1]."""

    @property
    def enable(self) -> Tensor:
        """int32 [1]."""


def read_canaries(canary_buf: Tensor, slot: Tensor, readable: Tensor) -> Tensor:
    """Return int64 [n, 4]: the canary of each slot; unspecified where it is not readable.

    Args:
        canary_buf: uint8 [num_slots, slot_stride_bytes].
        slot: int64 [n].
        readable: bool [n], true only where the slot lies in the buffer.
    """
    if canary_buf.shape[0] == 0:
        return torch.zeros(
            (slot.shape[0], CANARY_FIELDS_PER_SLOT), dtype=torch.int64, device=slot.device
        )
    inside = torch.where(readable, slot, 0)
    # Gathered as bytes: torch views a buffer as int64 only at some offsets into its storage.
    return canary_buf[:, :CANARY_BYTES].index_select(0, inside).view(torch.int64)


def write_canaries(canary_buf: Tensor, slot: Tensor, canary: Tensor, writable: Tensor) -> None:
    """Store canaries in their slots, and touch nothing else.

    Args:
        canary_buf: uint8 [num_slots, slot_stride_bytes]; bytes past a slot's canary stay.
        slot: int64 [n].
        canary: int64 [n, 4].
        writable: bool [n], true only where the slot lies in the buffer.
    """
    if slot.shape[0] == 0 or canary_buf.shape[0] == 0:
        return
    stored = canary_buf[:, :CANARY_BYTES]
    # Every place writes, since no count is known: one that must not repeats the first that must,
    # and where none must, all of them write what slot 0 holds anyway.
    place = torch.arange(slot.shape[0], dtype=torch.int64, device=slot.device)
    first = writable.to(torch.int32).argmax()
    source = torch.where(writable, place, first)
    target = torch.where(writable[source], slot[source], 0)
    value = canary[source].view(torch.uint8)
    stored.index_copy_(0, target, torch.where(writable[source, None], value, stored[0]))


def hash_after(canary: Tensor, hash_format: HashFormat) -> Tensor:
    """Return int64 [n]: the chain hash that the successor of each canary has to store.

    Args:
        canary: int64 [n, 4].
        hash_format: "serial" or "parallel".
    """
    return successor_hash(
        canary[:, CANARY_FIELD_PREV_HASH],
        canary[:, CANARY_FIELD_TOKEN],
        canary[:, CANARY_FIELD_POSITION],
        hash_format,
    )


def real_kv_hash_of(context: Context, slot: Tensor, readable: Tensor) -> Tensor:
    """Return int64 [n]: the hash over the true K or V bytes of each slot, as a context wants it.

    Args:
        context: its sources, mode and format.
        slot: int64 [n].
        readable: bool [n], true only where the slot lies in the canary buffer.
    """
    return real_kv_hash(
        sources=context.real_kv_sources,
        mode=context.real_kv_hash_mode,
        hash_format=context.hash_format,
        slot=slot,
        readable=readable,
    )
