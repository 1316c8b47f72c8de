"""One pool's share of a canary: its stamps, its plans, and the launches that read and write them.

Note [One block of numbers]
Every counter that a launch moves is one element of one int64 tensor, and every flag one element of
one int32 tensor; a launch gets a view of one element. So poll copies two small tensors and knows
everything, and a test can see that nothing else is on the device.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import torch
from torch import Tensor

from kv_canary.canary.config import Half
from kv_canary_kernels.backends import Launch
from kv_canary_kernels.constants import (
    CANARY_FIELDS_PER_SLOT,
    VIOLATION_FIELDS,
    WRITE_SUM_FIELDS,
    WRITE_TOKEN_BLOCK,
    CanaryLaunchTag,
    RealKvHashMode,
)
from kv_canary_kernels.contract import ContractError
from kv_canary_kernels.launchers.plan import prepare_plan
from kv_canary_kernels.launchers.verify import prepare_verify
from kv_canary_kernels.launchers.write import prepare_write
from kv_canary_kernels.structs import RealKvSource, VerifyOrWriteContext, VerifyPlan, WritePlan
from kv_canary_kernels.validators.verify import validate_verify

FULL: Final = "full"
WINDOW: Final = "window"
SLOT_BYTES: Final = 8 * CANARY_FIELDS_PER_SLOT

FORWARD_PHASES: Final = ("head_verify", "head_write", "tail_verify", "tail_write")
"""Launches of a forward, in their order; each counts its own, and so knows the forward's number."""
BRACKET_PHASE: Final = "bracket_verify"
"""The tail, verified on entry."""
SWEEP_PHASE: Final = "sweep_verify"

INDEX: Final = "violation_write_index"
CHECKED: Final = "slots_checked"
STAMPED: Final = "slots_stamped"
POSITION_CHECK: Final = "position_check"
NO_POSITION_CHECK: Final = "no_position_check"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """What one forward is given."""

    req_pool_indices: Tensor
    """int64 [bs], row of each request; 0 is padding."""
    prefix_lens: Tensor
    """int64 [bs], tokens in the cache."""
    extend_seq_lens: Tensor
    """int64 [bs], tokens that this forward writes."""
    input_ids: Tensor
    """int64 [tokens], in batch order."""
    positions: Tensor
    """int64 [tokens]."""
    out_cache_loc: Tensor
    """int64 [tokens], slot of the full pool of each token; negative for none."""

    def differs_in(self, other: Batch) -> str | None:
        """Return the name of a field that is another tensor in another batch, or None.

        Tensors are the same where their memory, shapes and dtypes are: what is in them is not read.
        """
        for each in fields(self):
            if not _is_same(getattr(self, each.name), getattr(other, each.name)):
                return each.name
        return None

    @property
    def size(self) -> int:
        """Requests, padding included."""
        return _length(self.req_pool_indices)

    @property
    def tokens(self) -> int:
        """Tokens, padding included."""
        return _length(self.input_ids)


def _is_same(one: Tensor, other: Tensor) -> bool:
    if one is other:
        return True
    return (
        isinstance(other, Tensor)
        and one.shape == other.shape
        and one.stride() == other.stride()
        and one.dtype == other.dtype
        and one.device == other.device
        and one.data_ptr() == other.data_ptr()
    )


def _length(tensor: Tensor) -> int:
    # What is no tensor, or has no axis, the launches' validators refuse, in their own words.
    return tensor.shape[0] if isinstance(tensor, Tensor) and tensor.dim() else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSizes:
    """How large one group is."""

    name: str
    """"full" or "window"."""
    num_slots: int
    """Slots of the pool, the padding slot among them."""
    window_size: int
    """Tokens in the sliding window; 0 for the full pool."""
    verify_capacity: int
    """Entries that one plan holds."""
    max_batch_size: int
    """Requests of a forward at most."""
    max_tokens: int
    """Tokens of a forward at most."""
    phases: tuple[str, ...]
    """What its halves launch."""
    halves: tuple[Half, ...]
    """Which halves it has."""

    def runs(self) -> tuple[str, ...]:
        """Names of the counters of a forward's launches, one a half and phase."""
        return tuple(f"{self.name}.{half}.{phase}" for half in self.halves for phase in self.phases)

    def sweeps(self) -> tuple[str, ...]:
        """Names of the counters of a sweep's launches."""
        return tuple(f"{self.name}.{half}.{SWEEP_PHASE}" for half in self.halves)

    def totals(self) -> tuple[str, ...]:
        """Names of what a plan launch counts and goes on from."""
        return tuple(
            f"{self.name}.{name}" for name in ("wanted", "start", "sweep_wanted", "sweep_start")
        )

    def flags(self) -> tuple[str, ...]:
        """Names of the two plans' one-element fields."""
        return tuple(
            f"{self.name}.{name}" for name in ("checked", "enable", "sweep_checked", "sweep_enable")
        )


class Numbers:
    """Named elements of one tensor, as views of one element. Note [One block of numbers].

    Args:
        names: a name for each element.
        dtype: of the tensor.
        device: where it is.
    """

    def __init__(self, names: Sequence[str], *, dtype: torch.dtype, device: torch.device) -> None:
        self.block = torch.zeros(len(names), dtype=dtype, device=device)
        self.place = {name: place for place, name in enumerate(names)}
        self._views = {name: self.block[place : place + 1] for name, place in self.place.items()}

    def __getitem__(self, name: str) -> Tensor:
        return self._views[name]


class Recorder:
    """The rings, the numbers and the workspace that all groups of a canary share.

    Args:
        groups: sizes of its groups.
        ring_capacity: rows of each ring.
        has_evidence: whether there is an evidence ring.
        hash_format: serial or parallel.
        device: where the tensors are; the meta device, to count their bytes.
    """

    def __init__(
        self,
        groups: Sequence[GroupSizes],
        *,
        ring_capacity: int,
        has_evidence: bool,
        hash_format: str,
        device: torch.device,
    ) -> None:
        # Rows that no launch has filled are never read: the write index says how many are.
        self.ring = torch.zeros((ring_capacity, VIOLATION_FIELDS), dtype=torch.int64, device=device)
        self.evidence = torch.zeros_like(self.ring) if has_evidence else None
        # Those of a forward's launches come first, next to each other.
        runs = [name for group in groups for name in group.runs()]
        rest = [name for group in groups for name in (*group.sweeps(), *group.totals())]
        self.counters = Numbers([*runs, CHECKED, STAMPED, *rest], dtype=torch.int64, device=device)
        self.run_names = tuple(runs)
        self.runs = self.counters.block[: len(runs)]
        flags = [name for group in groups for name in group.flags()]
        self.flags = Numbers(
            [INDEX, POSITION_CHECK, NO_POSITION_CHECK, *flags], dtype=torch.int32, device=device
        )
        # Launches follow each other on one stream, so that one workspace is enough for all.
        blocks = groups[0].max_tokens // WRITE_TOKEN_BLOCK if hash_format == "parallel" else 0
        self.workspace = (
            torch.zeros(blocks * WRITE_SUM_FIELDS, dtype=torch.int64, device=device)
            if blocks
            else None
        )

    def tensors(self) -> Iterator[Tensor]:
        """Every tensor that was made here."""
        yield self.ring
        if self.evidence is not None:
            yield self.evidence
        yield self.counters.block
        yield self.flags.block
        if self.workspace is not None:
            yield self.workspace


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HalfGroup:
    """K or V of one group."""

    half: Half
    head: Tensor
    """uint8 [num_slots, 32], stamped on entry."""
    tail: Tensor
    """uint8 [num_slots, 32], stamped on exit."""
    sources: tuple[RealKvSource, ...]
    """What the tail's stamps cover."""
    contexts: Mapping[str, VerifyOrWriteContext]
    """What each phase works on."""


class Group:
    """One pool, and everything a canary keeps for it on the device.

    Args:
        sizes: how large it is.
        recorder: the rings and numbers of the canary.
        req_to_token: int32 [rows, columns], slot of the full pool of each position.
        mapping: int64 [lut_len], full slot to slot of this pool; None for the full pool.
        sources: where the bytes of each half lie.
        real_kv: how many bytes the tail's stamps cover.
        hash_format: serial or parallel.
        token_check: whether verify launches compare tokens.
        device: where the tensors are; the meta device, to count their bytes.
    """

    def __init__(
        self,
        sizes: GroupSizes,
        *,
        recorder: Recorder,
        req_to_token: Tensor,
        mapping: Tensor | None,
        sources: Mapping[Half, tuple[RealKvSource, ...]],
        real_kv: RealKvHashMode,
        hash_format: str,
        token_check: bool,
        device: torch.device,
    ) -> None:
        self.sizes = sizes
        self.name = sizes.name
        self.mapping = mapping
        self._recorder = recorder
        self._req_to_token = req_to_token
        self._token_check = token_check
        self._real_kv = real_kv
        self._hash_format = hash_format
        counters, flags, name = recorder.counters, recorder.flags, sizes.name
        self.plan = replace(
            VerifyPlan.allocate(verify_capacity=sizes.verify_capacity, device=device),
            verify_num_valid=flags[f"{name}.checked"],
            enable=flags[f"{name}.enable"],
        )
        self._start, self._wanted = counters[f"{name}.start"], counters[f"{name}.wanted"]
        # A sweep is never inside a forward, so that it may use the same entries.
        self.sweep_plan = replace(
            self.plan,
            verify_num_valid=flags[f"{name}.sweep_checked"],
            enable=flags[f"{name}.sweep_enable"],
        )
        self.sweep_start = counters[f"{name}.sweep_start"]
        self._sweep_wanted = counters[f"{name}.sweep_wanted"]
        self.write_plan = WritePlan.allocate(write_req_capacity=sizes.max_batch_size, device=device)
        if mapping is not None:
            self._located = torch.zeros(sizes.max_tokens, dtype=torch.int64, device=device)
            self._inside = torch.zeros_like(self._located)
        self.halves = tuple(self._half(half, sources[half], device) for half in sizes.halves)
        self._bound: dict[str, tuple[Launch, ...]] = {}

    def _half(
        self, half: Half, sources: tuple[RealKvSource, ...], device: torch.device
    ) -> HalfGroup:
        shape = (self.sizes.num_slots, SLOT_BYTES)
        head = torch.zeros(shape, dtype=torch.uint8, device=device)
        tail = torch.zeros(shape, dtype=torch.uint8, device=device)
        recorder = self._recorder
        pool = "FULL" if self.mapping is None else "SWA"

        def context(phase: str) -> VerifyOrWriteContext:
            at = "HEAD" if phase.startswith("head") else "TAIL"
            is_head = at == "HEAD"
            return VerifyOrWriteContext(
                canary_buf=head if is_head else tail,
                kernel_kind=CanaryLaunchTag[
                    f"{'SWEEP' if phase == SWEEP_PHASE else at}_{half}_{pool}"
                ],
                violation_ring=recorder.ring,
                violation_write_index=recorder.flags[INDEX],
                slot_run_counter=recorder.counters[STAMPED if "write" in phase else CHECKED],
                kernel_run_counter=recorder.counters[f"{self.name}.{half}.{phase}"],
                # On entry the bytes of this forward are not there yet, so that the head, which
                # is stamped then, covers none.
                real_kv_sources=() if is_head else sources,
                real_kv_hash_mode=RealKvHashMode.NONE if is_head else self._real_kv,
                # Head and tail see the same positions; one report of them is enough.
                enable_chain_position_assert=recorder.flags[
                    POSITION_CHECK if phase == "head_write" else NO_POSITION_CHECK
                ],
                hash_format=self._hash_format,
                evidence_ring=recorder.evidence,
                workspace=recorder.workspace if "write" in phase else None,
            )

        return HalfGroup(
            half=half,
            head=head,
            tail=tail,
            sources=sources,
            contexts={phase: context(phase) for phase in (*self.sizes.phases, SWEEP_PHASE)},
        )

    def tensors(self) -> Iterator[Tensor]:
        """Every tensor that was made here."""
        yield self.plan.verify_slot_indices
        yield self.plan.verify_expected_tokens
        yield self.plan.verify_expected_positions
        yield self.plan.verify_prev_slot_indices
        yield self.write_plan.write_offsets
        yield self.write_plan.write_seed_slot_indices
        yield self.write_plan.write_num_valid_reqs
        if self.mapping is not None:
            yield self._located
            yield self._inside
        for half in self.halves:
            yield half.head
            yield half.tail

    def bind(self) -> None:
        """Check and bind the verify launches, whose arguments are the same in every forward.

        Raises:
            ContractError: a source does not fit its pool, or lies on another device.
        """
        for phase in self.sizes.phases:
            if phase.endswith("verify"):
                self._bound[phase] = self._verifies(phase, self.plan)
        self._bound[SWEEP_PHASE] = self._verifies(SWEEP_PHASE, self.sweep_plan)

    def _verifies(self, phase: str, plan: VerifyPlan) -> tuple[Launch, ...]:
        launches = []
        for half in self.halves:
            arguments: dict[str, Any] = {
                "context": half.contexts[phase],
                "plan": plan,
                "check_verify_expected_token": self._token_check,
                # Below the prefix every position of the full pool is in use; in a window pool,
                # slot 0 is what is left of a token that the window has passed.
                "report_padding_slot": self.mapping is None,
            }
            try:
                validate_verify(**arguments)
            except ContractError as error:
                error.add_note(f"where: {self._at_fault(half, error)}")
                raise
            launches.append(prepare_verify(**arguments))
        return tuple(launches)

    def _at_fault(self, half: HalfGroup, error: ContractError) -> str:
        """Return what the caller passed that a verify launch refuses."""
        broken = error.broken_rules[0]
        if "real_kv_sources" not in broken.argument:
            return f"the sizes of the {self.name} pool"
        owner = "" if self.mapping is None else "window."
        number = re.search(r"real_kv_sources(\[\d+\])", broken.message)
        return (
            f"{owner}{half.half.lower()}_sources{number[1] if number else ''}, "
            f"of the {self.name} pool"
        )

    def plan_arguments(
        self, batch: Batch, *, tokens: Tensor | None, known: Tensor | None
    ) -> dict[str, Any]:
        """Return the arguments of this group's plan launch for a batch.

        Args:
            batch: the forward's.
            tokens: int32 [rows, columns], what each row should hold, or None.
            known: int64 [bs], columns of tokens that are known of each request, or None.
        """
        return {
            "verify_plan_out": self.plan,
            "write_plan_out": self.write_plan,
            "req_pool_indices": batch.req_pool_indices,
            "prefix_lens": batch.prefix_lens,
            "extend_seq_lens": batch.extend_seq_lens,
            "req_to_token": self._req_to_token,
            "swa_window_size": self.sizes.window_size,
            "full_to_swa_index_mapping": self.mapping,
            "verify_capacity": self.sizes.verify_capacity,
            "req_to_verify_expected_tokens": tokens,
            "req_to_verify_expected_tokens_valid_lens": known,
            "kv_token_id_vs_position_offset": 0,
            "verify_rotation": self._start,
            "verify_total": self._wanted,
        }

    def sweep_arguments(
        self,
        *,
        rows: Tensor,
        lengths: Tensor,
        nothing: Tensor,
        table: Tensor,
        tokens: Tensor | None,
        known: Tensor | None,
    ) -> dict[str, Any]:
        """Return the arguments of a sweep's plan launch.

        Args:
            rows: int64 [n], rows of the table.
            lengths: int64 [n], tokens of each to verify.
            nothing: int64 [n], zeros.
            table: int32 [rows, columns], slot of the full pool of each position.
            tokens: int32 [rows, columns], what each row should hold, or None.
            known: int64 [n], columns of tokens that are known of each row, or None.
        """
        return {
            "verify_plan_out": self.sweep_plan,
            "write_plan_out": self.write_plan,
            "req_pool_indices": rows,
            "prefix_lens": lengths,
            "extend_seq_lens": nothing,
            "req_to_token": table,
            "swa_window_size": self.sizes.window_size,
            "full_to_swa_index_mapping": self.mapping,
            "verify_capacity": self.sizes.verify_capacity,
            "req_to_verify_expected_tokens": tokens,
            "req_to_verify_expected_tokens_valid_lens": known,
            "kv_token_id_vs_position_offset": 0,
            "verify_rotation": self.sweep_start,
            "verify_total": self._sweep_wanted,
        }

    def located(self, out_cache_loc: Tensor) -> Tensor:
        """Return the slot of this pool of each token's slot of the full pool, int64 [tokens].

        A negative slot stays negative, so that a write passes over it; one past the table's end
        becomes one past this pool's, so that a write reports it.
        """
        if self.mapping is None:
            return out_cache_loc
        inside = self._inside[: out_cache_loc.shape[0]]
        located = self._located[: out_cache_loc.shape[0]]
        torch.clamp(out_cache_loc, 0, self.mapping.shape[0] - 1, out=inside)
        torch.index_select(self.mapping, 0, inside, out=located)
        torch.sub(out_cache_loc, inside, out=inside)
        inside.clamp_(-1, 1)
        return located.add_(inside, alpha=self.sizes.num_slots)

    def write_arguments(
        self, phase: str, half: HalfGroup, batch: Batch, located: Tensor
    ) -> dict[str, Any]:
        """Return the arguments of one half's write launch.

        Args:
            phase: head_write or tail_write.
            half: which half.
            batch: the forward's.
            located: int64 [tokens], slot of this pool of each token.
        """
        return {
            "context": half.contexts[phase],
            "plan": self.write_plan,
            "input_ids": batch.input_ids,
            "positions": batch.positions,
            "out_cache_loc": located,
            "enable_write_input_assert": False,
            "expected_input_tokens": None,
            "expected_input_positions": None,
        }

    def launch_plan(self, arguments: Mapping[str, Any]) -> None:
        """Launch a plan whose arguments the validator accepts."""
        prepare_plan(**arguments)()

    def stamp(
        self,
        phase: str,
        batch: Batch,
        located: Tensor,
        moved: Mapping[Half, tuple[RealKvSource, ...]] | None = None,
    ) -> None:
        """Launch the writes of one phase, whose arguments the validator accepts.

        Args:
            phase: head_write or tail_write.
            batch: the forward's.
            located: int64 [tokens], slot of this pool of each token.
            moved: where the sources are in this forward, if not where they were made.
        """
        for half in self.halves:
            arguments = self.write_arguments(phase, half, batch, located)
            if moved is not None:
                arguments["context"] = replace(
                    arguments["context"], real_kv_sources=moved[half.half]
                )
            prepare_write(**arguments)()

    def verify(
        self, phase: str, moved: Mapping[Half, tuple[RealKvSource, ...]] | None = None
    ) -> None:
        """Launch the verifies of one phase.

        Args:
            phase: one that ends in verify.
            moved: where the sources are in this forward, if not where they were made.
        """
        if moved is None:
            for launch in self._bound[phase]:
                launch()
            return
        for half in self.halves:
            prepare_verify(
                context=replace(half.contexts[phase], real_kv_sources=moved[half.half]),
                plan=self.plan,
                check_verify_expected_token=self._token_check,
                report_padding_slot=self.mapping is None,
            )()
