"""What a canary has on the device, and the sizes that decide how much that is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from kv_canary.canary.config import CanaryConfig, Half, WindowPool
from kv_canary.canary.group import (
    BRACKET_PHASE,
    FORWARD_PHASES,
    FULL,
    WINDOW,
    Group,
    GroupSizes,
    Recorder,
)
from kv_canary.canary.history import History
from kv_canary.canary.refusals import refusal
from kv_canary.canary.tokens import ExpectedTokens
from kv_canary_kernels.constants import PLAN_BS_BLOCK_SIZE, RealKvHashMode
from kv_canary_kernels.structs import RealKvSource, VerifyPlan, WritePlan
from kv_canary_kernels.validators.plan import validate_plan

MOST_VERIFY_ENTRIES: Final = 1 << 20
"""Entries of a plan whose capacity nobody said: 32 MiB, 256 requests of 4,096 tokens."""

SourcesOfHalves = Mapping[Half, tuple[RealKvSource, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What decides how much a canary takes."""

    groups: tuple[GroupSizes, ...]
    """The full group, then the window's where there is one."""
    table_shape: tuple[int, int]
    """Rows and columns of req_to_token."""
    max_batch_size: int
    """Requests of a forward at most."""
    max_tokens: int
    """Tokens of a forward at most."""
    ring_capacity: int
    """Rows of the rings."""

    @property
    def last_run(self) -> str:
        """Name of the counter that says how many forwards are done."""
        full = self.groups[0]
        return f"{full.name}.{full.halves[-1]}.{FORWARD_PHASES[-1]}"

    @classmethod
    def work_out(
        cls,
        config: CanaryConfig,
        *,
        num_slots: int,
        table_shape: tuple[int, int],
        max_batch_size: int,
        max_tokens_per_forward: int,
        verify_capacity: int | None,
        ring_capacity: int,
        window: WindowPool | None,
    ) -> Sizes:
        """Return the sizes that the constructor's arguments ask for.

        Raises:
            ContractError: one of them cannot be.
        """
        _count("num_slots", num_slots)
        _count("max_batch_size", max_batch_size, most=PLAN_BS_BLOCK_SIZE)
        _count("max_tokens_per_forward", max_tokens_per_forward)
        _count("ring_capacity", ring_capacity)
        if verify_capacity is not None:
            _count("verify_capacity", verify_capacity)
        _count("the rows of req_to_token", table_shape[0])
        _count("the columns of req_to_token", table_shape[1])
        phases = (*FORWARD_PHASES, *([BRACKET_PHASE] if config.bracket else []))

        def group(name: str, slots: int, window_size: int, capacity: int) -> GroupSizes:
            return GroupSizes(
                name=name,
                num_slots=slots,
                window_size=window_size,
                verify_capacity=capacity,
                max_batch_size=max_batch_size,
                max_tokens=max_tokens_per_forward,
                phases=phases,
                halves=config.halves,
            )

        most = min(max_batch_size * table_shape[1], MOST_VERIFY_ENTRIES)
        groups = [group(FULL, num_slots, 0, verify_capacity or min(most, num_slots))]
        if window is not None:
            _count("window.num_slots", window.num_slots)
            _count("window.window_size", window.window_size)
            in_window = max_batch_size * min(window.window_size, table_shape[1])
            capacity = min(in_window, verify_capacity or MOST_VERIFY_ENTRIES)
            groups.append(group(WINDOW, window.num_slots, window.window_size, capacity))
        return cls(
            groups=tuple(groups),
            table_shape=table_shape,
            max_batch_size=max_batch_size,
            max_tokens=max_tokens_per_forward,
            ring_capacity=ring_capacity,
        )


class DeviceState:
    """Everything that a canary has on the device.

    Args:
        config: what the canary is to do.
        sizes: how large it is.
        req_to_token: int32 [rows, columns], slot of each position of each row.
        mapping: int64 [lut_len], full slot to slot of the window pool; or None.
        sources: where the bytes of each half of each group lie.
        real_kv: how many bytes the tail's stamps cover.
        device: where all is made; the meta device, to count its bytes.
    """

    def __init__(
        self,
        config: CanaryConfig,
        sizes: Sizes,
        *,
        req_to_token: Tensor,
        mapping: Tensor | None,
        sources: Mapping[str, SourcesOfHalves],
        real_kv: RealKvHashMode,
        device: torch.device,
    ) -> None:
        self.sizes = sizes
        self.req_to_token = req_to_token
        self.recorder = Recorder(
            sizes.groups,
            ring_capacity=sizes.ring_capacity,
            has_evidence=config.evidence,
            hash_format=config.hash_format,
            device=device,
        )
        self.groups = tuple(
            Group(
                group,
                recorder=self.recorder,
                req_to_token=req_to_token,
                mapping=mapping if group.name == WINDOW else None,
                sources=sources[group.name],
                real_kv=real_kv,
                hash_format=config.hash_format,
                token_check=config.token_check,
                device=device,
            )
            for group in sizes.groups
        )
        self.tokens = (
            ExpectedTokens(req_to_token, max_batch_size=sizes.max_batch_size, device=device)
            if config.token_check
            else None
        )
        self.history = History(
            places=config.history,
            max_batch_size=sizes.max_batch_size,
            max_tokens=sizes.max_tokens,
            device=device,
        )
        # Rows, lengths, and a zero for each: what a sweep's plan is given.
        self.swept = torch.zeros((3, sizes.max_batch_size), dtype=torch.int64, device=device)
        self.ticket = torch.zeros(1, dtype=torch.int64, device=device)

    @property
    def forward_number(self) -> Tensor:
        """How many forwards are done, and so the number of the next: int64 [1]."""
        return self.recorder.counters[self.sizes.last_run]

    def tensors(self) -> Iterator[Tensor]:
        """Every tensor that was made here."""
        yield from self.recorder.tensors()
        for group in self.groups:
            yield from group.tensors()
        if self.tokens is not None:
            yield from self.tokens.tensors()
        yield from self.history.tensors()
        yield self.swept
        yield self.ticket


def bytes_for(config: CanaryConfig, sizes: Sizes) -> int:
    """Return the bytes of a state: the same code makes one on a device that has no memory."""
    nowhere = torch.device("meta")
    state = DeviceState(
        config,
        sizes,
        req_to_token=torch.empty(sizes.table_shape, dtype=torch.int32, device=nowhere),
        mapping=torch.empty(1, dtype=torch.int64, device=nowhere),
        sources={group.name: dict.fromkeys(group.halves, ()) for group in sizes.groups},
        real_kv=RealKvHashMode.NONE,
        device=nowhere,
    )
    return sum(tensor.nbytes for tensor in state.tensors())


def one_window(window: WindowPool | None, swa: WindowPool | None) -> WindowPool | None:
    """Return the window pool that was given under either name.

    Raises:
        ContractError: both were given, or something that is no window pool.
    """
    if window is not None and swa is not None:
        raise refusal(
            rule="window_twice",
            argument="swa",
            message="window and swa are two names of one argument; give one of them",
            actual="both",
            expected="one of them",
        )
    given = swa if window is None else window
    if given is not None and not isinstance(given, WindowPool):
        raise refusal(
            rule="window",
            argument="window",
            message=f"window must be a WindowPool, got {type(given).__name__}",
            actual=type(given).__name__,
            expected="a WindowPool",
        )
    return given


def check_tables(req_to_token: Tensor, window: WindowPool | None) -> None:
    """Hold the tables to the plan's contract, as a forward would, with an empty batch.

    Raises:
        ContractError: a table has another dtype, shape or device, or is not contiguous.
    """
    device = req_to_token.device if isinstance(req_to_token, Tensor) else torch.device("cpu")
    nothing = torch.zeros(0, dtype=torch.int64, device=device)
    validate_plan(
        verify_plan_out=VerifyPlan.allocate(verify_capacity=1, device=device),
        write_plan_out=WritePlan.allocate(write_req_capacity=1, device=device),
        req_pool_indices=nothing,
        prefix_lens=nothing,
        extend_seq_lens=nothing,
        req_to_token=req_to_token,
        swa_window_size=0,
        full_to_swa_index_mapping=None if window is None else window.full_to_swa_index_mapping,
        verify_capacity=1,
        req_to_verify_expected_tokens=None,
        req_to_verify_expected_tokens_valid_lens=None,
        kv_token_id_vs_position_offset=0,
    )


def chosen_sources(
    config: CanaryConfig,
    *,
    k_sources: Sequence[RealKvSource],
    v_sources: Sequence[RealKvSource],
    window: WindowPool | None,
) -> tuple[RealKvHashMode, dict[str, SourcesOfHalves]]:
    """Return how many bytes are covered, and the sources of each half of each group.

    Raises:
        ContractError: bytes are to be covered, and there is no source; or sources are no list.
    """
    given: dict[str, dict[Half, tuple[RealKvSource, ...]]] = {
        FULL: {"K": _listed("k_sources", k_sources), "V": _listed("v_sources", v_sources)}
    }
    if window is not None:
        given[WINDOW] = {
            "K": _listed("window.k_sources", window.k_sources),
            "V": _listed("window.v_sources", window.v_sources),
        }
    has_any = any(given[name][half] for name in given for half in config.halves)
    real_kv = config.real_kv or ("partial" if has_any else "none")
    if real_kv != "none" and not has_any:
        raise refusal(
            rule="sources",
            argument="k_sources",
            message=f"real_kv={real_kv!r} needs a source in k_sources or v_sources, got none",
            actual="no source",
            expected="where the bytes of K or V lie",
        )
    mode = RealKvHashMode[real_kv.upper()]
    if mode is RealKvHashMode.NONE:
        nothing: SourcesOfHalves = dict.fromkeys(config.halves, ())
        return mode, dict.fromkeys(given, nothing)
    return mode, dict(given)


def _listed(name: str, sources: object) -> tuple[RealKvSource, ...]:
    # A tensor can be iterated over, and its rows are no sources.
    if isinstance(sources, Iterable) and not isinstance(sources, Tensor | str):
        return tuple(sources)
    found = type(sources).__name__
    raise refusal(
        rule="source_list",
        argument=name,
        message=f"{name} must be a list of RealKvSource, got {found}",
        actual=found,
        expected="a list of at most 4 RealKvSource",
        fix=f"Put it in a list: {name.rpartition('.')[2]}=[source]."
        if isinstance(sources, RealKvSource)
        else "",
    )


def _count(name: str, value: object, *, most: int | None = None) -> None:
    if type(value) is int and value >= 1 and (most is None or value <= most):
        return
    wanted = "from 1 on" if most is None else f"from 1 to {most}"
    raise refusal(
        rule="size",
        argument=name,
        message=f"{name} must be a whole number {wanted}, got {value!r}",
        actual=repr(value),
        expected=f"a whole number {wanted}",
    )
