# Generated from spec/structs.yaml by `kv-canary generate`; do not edit.
# Template: structs.py.jinja.
"""Tensors that travel together, and how much memory they take."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch

from kv_canary_kernels.contract import ContractError, Inspection, described


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class VerifyPlan:
    """What a verify launch checks, one entry a cached token, filled on the device by a plan
    launch.
    """

    verify_slot_indices: torch.Tensor
    """int64 [verify_capacity]. Slot of each entry; -2 marks a request whose row or length is
    wild.
    """
    verify_expected_tokens: torch.Tensor
    """int64 [verify_capacity]. Token that the slot should hold; -1 when nobody knows."""
    verify_expected_positions: torch.Tensor
    """int64 [verify_capacity]. Position that the slot should hold."""
    verify_prev_slot_indices: torch.Tensor
    """int64 [verify_capacity]. Slot of the token before; -1 for the first of a sequence."""
    verify_num_valid: torch.Tensor
    """int32 [1]. Entries in use. 0 from allocate, so that a plan never filled verifies nothing."""
    enable: torch.Tensor
    """int32 [1]. 0 when the batch asked for more entries than the plan holds; then nothing is
    verified.
    """

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
    """Which entries of a step each request writes, and the slot before the first of them."""

    write_offsets: torch.Tensor
    """int64 [write_req_capacity + 1]. Entries of request r are those from write_offsets[r] up to
    write_offsets[r + 1].
    """
    write_seed_slot_indices: torch.Tensor
    """int64 [write_req_capacity]. Slot of the last cached token of each request; -1 when there
    is none.
    """
    write_num_valid_reqs: torch.Tensor
    """int32 [1]. Requests in use."""

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
