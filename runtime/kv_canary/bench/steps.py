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
    spare: int = 1
    """How many times plans, tables and inputs have room for what is active."""

    @property
    def entries(self) -> int:
        """Cached tokens that a step verifies."""
        return self.bs * (min(self.window, self.prefix) if self.window else self.prefix)

    def bytes_moved(self, kernel: str) -> int:
        """Return what a launch must read and write.

        A slot that lies alone costs the 64 bytes that the cache fetches for it, whether a canary or
        a piece of K and V; in pages each costs what it is. Tables of a window are counted like that
        too. A write's canaries count as much as a verify's.

        Args:
            kernel: plan, verify or write.
        """
        scattered = self.page == 1
        alone = 64 if scattered else 32
        covered = sum(max(64, read) if scattered else read for _, read in self.sources)
        if kernel == "plan":
            # A slot read, four fields written; and of each request three numbers and two.
            mapped = (64 if scattered else 8) if self.window else 0
            return (36 + mapped + 4 * self.tokens) * self.entries + 40 * self.bs
        if kernel == "verify":
            return (24 + alone + covered + 8 * self.tokens) * self.entries
        return (24 + alone + covered) * self.bs * self.extend


class Step:
    """One step: everything that the launches of a step need, made once.

    Args:
        shape: What the step looks like.
        hash_format: serial or parallel.
        device: Where everything is made.
        seed: Decides contents and order of slots.
    """

    def __init__(
        self, shape: Shape, hash_format: str, device: str, *, seed: int = 20_261_201
    ) -> None:
        from kv_canary import (
            RealKvHashMode,
            RealKvSource,
            VerifyOrWriteContext,
            VerifyPlan,
            WritePlan,
        )

        self.shape = shape
        self.generator = torch.Generator(device=device).manual_seed(seed)
        length = shape.prefix + shape.extend
        pages = -(-length // shape.page)
        rows = shape.bs + 1
        self.num_slots = (shape.bs * pages + 1) * shape.page
        self.device = device
        order = torch.randperm(shape.bs * pages, generator=self.generator, device=device) + 1
        inside = torch.arange(shape.page, device=device)
        slots = (order[:, None] * shape.page + inside).view(shape.bs, pages * shape.page)
        self.req_to_token = torch.zeros(
            rows * shape.spare, length * shape.spare, dtype=torch.int32, device=device
        )
        self.req_to_token[1:rows, :length] = slots[:, :length].to(torch.int32)
        self.mapping = None
        if shape.window:
            self.mapping = torch.randperm(
                self.num_slots - 1, generator=self.generator, device=device
            )
            self.mapping = torch.cat([torch.zeros_like(self.mapping[:1]), self.mapping + 1])
        self.token_pool = self._integers(0, 150_000, (rows, length), torch.int32)
        self.batch = {
            "req_pool_indices": torch.arange(1, rows, device=device),
            "prefix_lens": torch.full((shape.bs,), shape.prefix, device=device),
            "extend_seq_lens": torch.full((shape.bs,), shape.extend, device=device),
        }
        self.entries = shape.entries
        self.tokens = shape.bs * shape.extend
        self.verify_plan = VerifyPlan.allocate(
            verify_capacity=max(1, self.entries * shape.spare), device=device
        )
        self.write_plan = WritePlan.allocate(
            write_req_capacity=shape.bs * shape.spare, device=device
        )
        mode = RealKvHashMode.ALL if shape.sources else RealKvHashMode.NONE
        self.context = VerifyOrWriteContext(
            canary_buf=self._integers(0, 256, (self.num_slots, 32), torch.uint8),
            kernel_kind=2,
            violation_ring=torch.zeros(1024, 8, dtype=torch.int64, device=device),
            violation_write_index=torch.zeros(1, dtype=torch.int32, device=device),
            slot_run_counter=torch.zeros(1, dtype=torch.int64, device=device),
            kernel_run_counter=torch.zeros(1, dtype=torch.int64, device=device),
            real_kv_sources=tuple(
                RealKvSource(
                    self._integers(
                        0, 256, (self.num_slots // shape.page, shape.page * width), torch.uint8
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
        self.written = {
            name: self._with_room(values)
            for name, values in self._inputs(shape.prefix, shape.extend).items()
        }

    def _integers(
        self, low: int, high: int, shape: tuple[int, ...], dtype: torch.dtype
    ) -> torch.Tensor:
        # Of the dtype from the start: eight times a gigabyte of bytes is too much for small cards.
        return torch.randint(
            low, high, shape, generator=self.generator, dtype=dtype, device=self.device
        )

    def _inputs(self, first: int, count: int) -> dict[str, torch.Tensor]:
        """Tokens, positions and slots of every request's positions from one on."""
        columns = slice(first, first + count)
        rows = slice(1, self.shape.bs + 1)
        slots = self.req_to_token[rows, columns].reshape(-1).to(torch.int64)
        if self.mapping is not None:
            slots = self.mapping[slots]
        positions = torch.arange(first, first + count, device=self.device)
        return {
            "input_ids": self.token_pool[1:, columns].reshape(-1).to(torch.int64),
            "positions": positions.repeat(self.shape.bs),
            "out_cache_loc": slots,
        }

    def _with_room(self, values: torch.Tensor) -> torch.Tensor:
        """Put padding behind inputs, as a captured graph has it: -1, which is no slot."""
        room = values.shape[0] * (self.shape.spare - 1)
        return torch.cat([values, values.new_full((room,), -1)])

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

    def plan_outputs(self) -> dict[str, torch.Tensor]:
        """What a plan launch writes, by its argument and field."""
        return {
            f"{name}.{field}": getattr(plan, field)
            for name, plan in (
                ("verify_plan_out", self.verify_plan),
                ("write_plan_out", self.write_plan),
            )
            for field in plan.__slots__
        }

    def written_slots(self) -> torch.Tensor:
        """Slots that a write launch stamps."""
        return self.written["out_cache_loc"][: self.tokens]

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
