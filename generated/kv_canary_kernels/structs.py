# Generated from spec/structs.yaml by `kv-canary generate`; do not edit.
# Template: structs.py.jinja.
"""Tensors that travel together, and how much memory they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import torch

from kv_canary_kernels.constants import RealKvHashMode
from kv_canary_kernels.contract import ContractError, Inspection, described


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class VerifyPlan:
    """What a verify launch checks, one entry a cached token, filled on the device by a plan launch.

    Args:
        verify_slot_indices: int64 [verify_capacity]. Slot of each entry; -2 marks a request whose
            row or length is wild.
        verify_expected_tokens: int64 [verify_capacity]. Token that the slot should hold; -1 when
            nobody knows.
        verify_expected_positions: int64 [verify_capacity]. Position that the slot should hold.
        verify_prev_slot_indices: int64 [verify_capacity]. Slot of the token before; -1 for the
            first of a sequence.
        verify_num_valid: int32 [1]. Entries in use. 0 from allocate, so that a plan never filled
            verifies nothing.
        enable: int32 [1]. 0 when the batch asked for more entries than the plan holds; then nothing
            is verified.
    """

    verify_slot_indices: torch.Tensor
    verify_expected_tokens: torch.Tensor
    verify_expected_positions: torch.Tensor
    verify_prev_slot_indices: torch.Tensor
    verify_num_valid: torch.Tensor
    enable: torch.Tensor

    @classmethod
    def allocate(
        cls,
        *,
        verify_capacity: int,
        device: torch.device | str,
    ) -> VerifyPlan:
        """Make every tensor; what is in one is unspecified unless its field says otherwise.

        Args:
            verify_capacity: int. Most entries that the plan holds.
            device: Where the tensors are made.

        Raises:
            ContractError: A size breaks a rule.
        """
        cls._check_sizes(verify_capacity=verify_capacity)
        return cls(
            verify_slot_indices=torch.empty((verify_capacity,), dtype=torch.int64, device=device),
            verify_expected_tokens=torch.empty(
                (verify_capacity,),
                dtype=torch.int64,
                device=device,
            ),
            verify_expected_positions=torch.empty(
                (verify_capacity,),
                dtype=torch.int64,
                device=device,
            ),
            verify_prev_slot_indices=torch.empty(
                (verify_capacity,),
                dtype=torch.int64,
                device=device,
            ),
            verify_num_valid=torch.full((1,), 0, dtype=torch.int32, device=device),
            enable=torch.full((1,), 1, dtype=torch.int32, device=device),
        )

    @classmethod
    def allocation_bytes(cls, verify_capacity: int) -> int:
        """Bytes that allocate takes for these sizes, the sum over its tensors."""
        cls._check_sizes(verify_capacity=verify_capacity)
        return (
            8 * verify_capacity
            + 8 * verify_capacity
            + 8 * verify_capacity
            + 8 * verify_capacity
            + 4 * 1
            + 4 * 1
        )

    @staticmethod
    def _check_sizes(verify_capacity: int) -> None:
        inspection = Inspection("VerifyPlan")
        inspection.required(
            "VerifyPlan.verify_capacity.required",
            "verify_capacity",
            verify_capacity,
        )
        verify_capacity_int = inspection.integer(
            "VerifyPlan.verify_capacity.type",
            "verify_capacity",
            verify_capacity,
        )
        verify_capacity_int = inspection.int64(
            "VerifyPlan.verify_capacity.int64",
            "verify_capacity",
            verify_capacity_int,
        )
        if verify_capacity_int is not None and verify_capacity_int <= 0:
            inspection.broken(
                "VerifyPlan.verify_capacity_positive",
                "verify_capacity",
                f"VerifyPlan verify_capacity must be positive, got {verify_capacity}",
                expected="verify_capacity is greater than 0",
                actual=f"verify_capacity={verify_capacity}",
            )
        if broken := inspection.found():
            raise ContractError(broken)

    def __repr__(self) -> str:
        parts = [f"{field.name}={described(getattr(self, field.name))}" for field in fields(self)]
        return f"{type(self).__name__}({', '.join(parts)})"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WritePlan:
    """Which entries of a step each request writes, and the slot before the first of them.

    Args:
        write_offsets: int64 [write_req_capacity + 1]. Entries of request r are those from
            write_offsets[r] up to write_offsets[r + 1].
        write_seed_slot_indices: int64 [write_req_capacity]. Slot of the last cached token of each
            request; -1 when there is none.
        write_num_valid_reqs: int32 [1]. Requests in use.
    """

    write_offsets: torch.Tensor
    write_seed_slot_indices: torch.Tensor
    write_num_valid_reqs: torch.Tensor

    @classmethod
    def allocate(
        cls,
        *,
        write_req_capacity: int,
        device: torch.device | str,
    ) -> WritePlan:
        """Make every tensor; what is in one is unspecified unless its field says otherwise.

        Args:
            write_req_capacity: int. Most requests that the plan holds.
            device: Where the tensors are made.

        Raises:
            ContractError: A size breaks a rule.
        """
        cls._check_sizes(write_req_capacity=write_req_capacity)
        return cls(
            write_offsets=torch.empty((write_req_capacity + 1,), dtype=torch.int64, device=device),
            write_seed_slot_indices=torch.empty(
                (write_req_capacity,),
                dtype=torch.int64,
                device=device,
            ),
            write_num_valid_reqs=torch.empty((1,), dtype=torch.int32, device=device),
        )

    @classmethod
    def allocation_bytes(cls, write_req_capacity: int) -> int:
        """Bytes that allocate takes for these sizes, the sum over its tensors."""
        cls._check_sizes(write_req_capacity=write_req_capacity)
        return 8 * (write_req_capacity + 1) + 8 * write_req_capacity + 4 * 1

    @staticmethod
    def _check_sizes(write_req_capacity: int) -> None:
        inspection = Inspection("WritePlan")
        inspection.required(
            "WritePlan.write_req_capacity.required",
            "write_req_capacity",
            write_req_capacity,
        )
        write_req_capacity_int = inspection.integer(
            "WritePlan.write_req_capacity.type",
            "write_req_capacity",
            write_req_capacity,
        )
        write_req_capacity_int = inspection.int64(
            "WritePlan.write_req_capacity.int64",
            "write_req_capacity",
            write_req_capacity_int,
        )
        if write_req_capacity_int is not None and write_req_capacity_int <= 0:
            inspection.broken(
                "WritePlan.write_req_capacity_positive",
                "write_req_capacity",
                f"WritePlan write_req_capacity must be positive, got {write_req_capacity}",
                expected="write_req_capacity is greater than 0",
                actual=f"write_req_capacity={write_req_capacity}",
            )
        if broken := inspection.found():
            raise ContractError(broken)

    def __repr__(self) -> str:
        parts = [f"{field.name}={described(getattr(self, field.name))}" for field in fields(self)]
        return f"{type(self).__name__}({', '.join(parts)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RealKvSource:
    """Bytes of the true K or V cache that a real-KV hash covers, a view of one row a page.

    Args:
        tensor: bytes [pages, row_bytes]. The cache or a view of it, of any dtype; bytes of a row
            past its slots are holes.
        page_size: int. Slots in a row; 1 for a cache that is not paged.
        num_bytes_per_token: int. Bytes from one slot of a row to the next, a multiple of 16.
        read_bytes: int. Bytes of each slot that mode ALL covers, a multiple of 16; PARTIAL covers
            the first 16.
    """

    tensor: torch.Tensor
    page_size: int
    num_bytes_per_token: int
    read_bytes: int

    def __post_init__(self) -> None:
        """Raise ContractError unless every rule holds."""
        inspection = Inspection("RealKvSource")
        inspection.required("RealKvSource.tensor.required", "RealKvSource.tensor", self.tensor)
        inspection.tensor("RealKvSource.tensor.type", "RealKvSource.tensor", self.tensor)
        inspection.required(
            "RealKvSource.page_size.required",
            "RealKvSource.page_size",
            self.page_size,
        )
        page_size = inspection.integer(
            "RealKvSource.page_size.type",
            "RealKvSource.page_size",
            self.page_size,
        )
        page_size = inspection.int64(
            "RealKvSource.page_size.int64",
            "RealKvSource.page_size",
            page_size,
        )
        inspection.required(
            "RealKvSource.num_bytes_per_token.required",
            "RealKvSource.num_bytes_per_token",
            self.num_bytes_per_token,
        )
        num_bytes_per_token = inspection.integer(
            "RealKvSource.num_bytes_per_token.type",
            "RealKvSource.num_bytes_per_token",
            self.num_bytes_per_token,
        )
        num_bytes_per_token = inspection.int64(
            "RealKvSource.num_bytes_per_token.int64",
            "RealKvSource.num_bytes_per_token",
            num_bytes_per_token,
        )
        inspection.required(
            "RealKvSource.read_bytes.required",
            "RealKvSource.read_bytes",
            self.read_bytes,
        )
        read_bytes = inspection.integer(
            "RealKvSource.read_bytes.type",
            "RealKvSource.read_bytes",
            self.read_bytes,
        )
        read_bytes = inspection.int64(
            "RealKvSource.read_bytes.int64",
            "RealKvSource.read_bytes",
            read_bytes,
        )
        if page_size is not None and page_size < 1:
            inspection.broken(
                "RealKvSource.page_size_positive",
                "page_size",
                f"RealKvSource.page_size must be >= 1, got {page_size}",
                expected="page_size is at least 1",
                actual=f"page_size={page_size}",
            )
        if num_bytes_per_token is not None and (
            num_bytes_per_token < 1 or num_bytes_per_token % 16 != 0
        ):
            inspection.broken(
                "RealKvSource.num_bytes_per_token_multiple_of_16",
                "num_bytes_per_token",
                "RealKvSource.num_bytes_per_token must be a positive multiple of 16, got "
                f"{num_bytes_per_token}",
                expected="num_bytes_per_token is at least 1, and num_bytes_per_token % 16 equals 0",
                actual=f"num_bytes_per_token={num_bytes_per_token}",
            )
        if (
            read_bytes is not None
            and num_bytes_per_token is not None
            and (not 0 < read_bytes <= num_bytes_per_token or read_bytes % 16 != 0)
        ):
            inspection.broken(
                "RealKvSource.read_bytes_within_token",
                "read_bytes",
                "RealKvSource.read_bytes must be a positive multiple of 16 in (0, "
                f"num_bytes_per_token={num_bytes_per_token}], got {read_bytes}",
                expected=(
                    "read_bytes is greater than 0 and at most num_bytes_per_token, and read_bytes "
                    "% 16 equals 0"
                ),
                actual=f"read_bytes={read_bytes}, num_bytes_per_token={num_bytes_per_token}",
            )
        if inspection.has_axes("RealKvSource.tensor", 0) and self.tensor.dim() < 2:
            inspection.broken(
                "RealKvSource.tensor_at_least_2_d",
                "tensor",
                f"RealKvSource.tensor must be at least 2-D, got shape {tuple(self.tensor.shape)}",
                expected="tensor.dim() is at least 2",
            )
        if (
            inspection.has_axes("RealKvSource.tensor", 1)
            and self.tensor.stride()[0] * self.tensor.itemsize % 16 != 0
        ):
            inspection.broken(
                "RealKvSource.row_stride_multiple_of_16",
                "tensor",
                "RealKvSource.tensor row stride must be a multiple of 16 bytes, got "
                f"{self.tensor.stride()[0] * self.tensor.itemsize} bytes "
                f"(shape={tuple(self.tensor.shape)}, strides={tuple(self.tensor.stride())}, "
                f"dtype={self.tensor.dtype})",
                expected="tensor.stride(0) * tensor.itemsize % 16 equals 0",
            )
        if broken := inspection.found():
            raise ContractError(broken)

    def __repr__(self) -> str:
        parts = [f"{field.name}={described(getattr(self, field.name))}" for field in fields(self)]
        return f"{type(self).__name__}({', '.join(parts)})"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class VerifyOrWriteContext:
    """What a verify or write launch works on, beside its plan, the same in every step.

    Args:
        canary_buf: uint8 [num_slots, slot_stride_bytes]. The canaries, 32 bytes at the beginning of
            each slot's row.
        kernel_kind: int. Stands in the first field of every violation.
        violation_ring: int64 [ring_capacity, VIOLATION_FIELDS]. Takes a row for each violation,
            until it is full; rows are never overwritten.
        violation_write_index: int32 [1]. Violations so far, also those that found the ring full; it
            stops at 2**30.
        slot_run_counter: int64 [1]. Slots checked or stamped so far.
        kernel_run_counter: int64 [1]. Launches so far.
        real_kv_sources: 4 RealKvSource at most. Where the bytes of K or V lie; empty for none.
        real_kv_hash_mode: a RealKvHashMode. How much of each source the hash covers.
        enable_chain_position_assert: int32 [1]. Unless 0, write checks that positions follow each
            other.
        hash_format: one of serial/parallel. How hashes are made: serial is SGLang's, to the byte;
            parallel is a scan.
        evidence_ring: int64 [ring_capacity, VIOLATION_FIELDS]. Takes, beside each row of the
            violation ring, what it was judged by.
        workspace: int64 [workspace_len]. Memory that a launch may need between its programs, made
            by the owner, kept for every call.
    """

    canary_buf: torch.Tensor
    kernel_kind: int
    violation_ring: torch.Tensor
    violation_write_index: torch.Tensor
    slot_run_counter: torch.Tensor
    kernel_run_counter: torch.Tensor
    real_kv_sources: Sequence[RealKvSource]
    real_kv_hash_mode: RealKvHashMode
    enable_chain_position_assert: torch.Tensor
    hash_format: str = "serial"
    evidence_ring: torch.Tensor | None = None
    workspace: torch.Tensor | None = None

    def __repr__(self) -> str:
        parts = [f"{field.name}={described(getattr(self, field.name))}" for field in fields(self)]
        return f"{type(self).__name__}({', '.join(parts)})"
