"""Steps to be timed: a batch, its tables, canaries and KV bytes, from a fixed seed, never zeros."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a step looks like."""

    name: str
    bs: int
    prefix: int
    """Cached tokens of each request."""
    extend: int = 1
    """Tokens that each request writes."""
    window: int = 0
    """Size of the sliding window; 0 for full attention."""
    sources: tuple[tuple[int, int], ...] = ()
    """Bytes a token, and bytes of them that are read, of each KV source."""
    page: int = 1
    """Slots that lie together; 1 scatters every slot by itself."""
    tokens: bool = False
    """Whether tokens are compared too."""


class Step:
    """One step: everything that the launches of a step need, made once.

    Args:
        shape: What the step looks like.
        hash_format: serial or parallel.
        device: Where everything is made.
    """

    def __init__(self, shape: Shape, hash_format: str, device: str) -> None:
        from kv_canary import (
            RealKvHashMode,
            RealKvSource,
            VerifyOrWriteContext,
            VerifyPlan,
            WritePlan,
        )

        self.shape = shape
        self.generator = torch.Generator(device=device).manual_seed(20_261_201)
        length = shape.prefix + shape.extend
        pages = -(-length // shape.page)
        rows = shape.bs + 1
        self.num_slots = (shape.bs * pages + 1) * shape.page
        self.device = device
        order = torch.randperm(shape.bs * pages, generator=self.generator, device=device) + 1
        inside = torch.arange(shape.page, device=device)
        slots = (order[:, None] * shape.page + inside).view(shape.bs, pages * shape.page)
        self.req_to_token = torch.zeros(rows, length, dtype=torch.int32, device=device)
        self.req_to_token[1:] = slots[:, :length].to(torch.int32)
        self.mapping = None
        if shape.window:
            self.mapping = torch.randperm(
                self.num_slots - 1, generator=self.generator, device=device
            )
            self.mapping = torch.cat([torch.zeros_like(self.mapping[:1]), self.mapping + 1])
        self.token_pool = self._integers(0, 150_000, (rows, length)).to(torch.int32)
        self.batch = {
            "req_pool_indices": torch.arange(1, rows, device=device),
            "prefix_lens": torch.full((shape.bs,), shape.prefix, device=device),
            "extend_seq_lens": torch.full((shape.bs,), shape.extend, device=device),
        }
        per_request = min(shape.window, shape.prefix) if shape.window else shape.prefix
        self.entries = shape.bs * per_request
        self.verify_plan = VerifyPlan.allocate(verify_capacity=max(1, self.entries), device=device)
        self.write_plan = WritePlan.allocate(write_req_capacity=shape.bs, device=device)
        mode = RealKvHashMode.ALL if shape.sources else RealKvHashMode.NONE
        self.context = VerifyOrWriteContext(
            canary_buf=self._integers(0, 255, (self.num_slots, 32)).to(torch.uint8),
            kernel_kind=2,
            violation_ring=torch.zeros(1024, 8, dtype=torch.int64, device=device),
            violation_write_index=torch.zeros(1, dtype=torch.int32, device=device),
            slot_run_counter=torch.zeros(1, dtype=torch.int64, device=device),
            kernel_run_counter=torch.zeros(1, dtype=torch.int64, device=device),
            real_kv_sources=tuple(
                RealKvSource(
                    self._integers(0, 255, (self.num_slots // shape.page, shape.page * width)).to(
                        torch.uint8
                    ),
                    shape.page,
                    width,
                    read,
                )
                for width, read in shape.sources
            ),
            real_kv_hash_mode=mode,
            enable_chain_position_assert=torch.ones(1, dtype=torch.int32, device=device),
            hash_format=hash_format,
            workspace=torch.zeros(1 << 16, dtype=torch.int64, device=device),
        )
        self.stamp_prefix()
        self.written = self._inputs(shape.prefix, shape.extend)

    def _integers(self, low: int, high: int, shape: tuple[int, ...]) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=self.generator, device=self.device)

    def _inputs(self, first: int, count: int) -> dict[str, torch.Tensor]:
        """Tokens, positions and slots of every request's positions from one on."""
        columns = slice(first, first + count)
        slots = self.req_to_token[1:, columns].reshape(-1).to(torch.int64)
        if self.mapping is not None:
            slots = self.mapping[slots]
        positions = torch.arange(first, first + count, device=self.device)
        return {
            "input_ids": self.token_pool[1:, columns].reshape(-1).to(torch.int64),
            "positions": positions.repeat(self.shape.bs),
            "out_cache_loc": slots,
        }

    def plan_arguments(self) -> dict[str, Any]:
        """Keywords of the plan launcher."""
        tokens = self.shape.tokens
        return {
            "verify_plan_out": self.verify_plan,
            "write_plan_out": self.write_plan,
            **self.batch,
            "req_to_token": self.req_to_token,
            "swa_window_size": self.shape.window,
            "full_to_swa_index_mapping": self.mapping,
            "verify_capacity": self.verify_plan.verify_slot_indices.shape[0],
            "req_to_verify_expected_tokens": self.token_pool if tokens else None,
            "req_to_verify_expected_tokens_valid_lens": (
                self.batch["prefix_lens"] if tokens else None
            ),
            "kv_token_id_vs_position_offset": 0,
        }

    def plan_tensors(self) -> dict[str, torch.Tensor]:
        """A copy of what a plan launch writes, by field."""
        return {
            name: getattr(plan, name).clone()
            for plan in (self.verify_plan, self.write_plan)
            for name in plan.__slots__
        }

    def verify_arguments(self) -> dict[str, Any]:
        """Keywords of the verify launcher."""
        return {
            "context": self.context,
            "plan": self.verify_plan,
            "check_verify_expected_token": self.shape.tokens,
        }

    def write_arguments(self) -> dict[str, Any]:
        """Keywords of the write launcher."""
        return {
            "context": self.context,
            "plan": self.write_plan,
            **self.written,
            "enable_write_input_assert": False,
            "expected_input_tokens": None,
            "expected_input_positions": None,
        }

    def stamp_prefix(self) -> None:
        """Stamp every cached token, as earlier steps would have done."""
        from kv_canary import WritePlan, launch_canary_write_kernel

        shape = self.shape
        if not shape.prefix:
            return
        plan = WritePlan.allocate(write_req_capacity=shape.bs, device=self.device)
        boundaries = torch.arange(shape.bs + 1, device=self.device) * shape.prefix
        plan.write_offsets.copy_(boundaries)
        plan.write_seed_slot_indices.fill_(-1)
        plan.write_num_valid_reqs.fill_(shape.bs)
        launch_canary_write_kernel(
            context=self.context,
            plan=plan,
            **self._inputs(0, shape.prefix),
            enable_write_input_assert=False,
            expected_input_tokens=None,
            expected_input_positions=None,
        )
