"""The canary: one object that finds out who damaged the KV cache of the engine around it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

from kv_canary.canary.compiling import TracedScope, handle_of
from kv_canary.canary.config import HASH_FORMATS, CanaryConfig, Half, WindowPool
from kv_canary.canary.group import (
    BRACKET_PHASE,
    CHECKED,
    INDEX,
    POSITION_CHECK,
    STAMPED,
    SWEEP_PHASE,
    Batch,
    Group,
)
from kv_canary.canary.health import Health
from kv_canary.canary.polling import Status, is_capturing, wait_for
from kv_canary.canary.prefixes import Prefix, check_rewind, chunks_of, prefixes_of
from kv_canary.canary.refusals import refusal
from kv_canary.canary.reporting import LOGGER, Reporter
from kv_canary.canary.state import (
    DeviceState,
    Sizes,
    SourcesOfHalves,
    bytes_for,
    check_tables,
    chosen_sources,
    one_window,
)
from kv_canary.findings import write_dump
from kv_canary_kernels.backends import choose_backend
from kv_canary_kernels.launchers.plan import warm_up_plan
from kv_canary_kernels.launchers.scatter_req_token_ids import warm_up_scatter_req_token_ids
from kv_canary_kernels.launchers.verify import warm_up_verify
from kv_canary_kernels.launchers.write import warm_up_write
from kv_canary_kernels.structs import RealKvSource
from kv_canary_kernels.validators.plan import validate_plan
from kv_canary_kernels.validators.write import validate_write

if TYPE_CHECKING:
    from kv_canary.findings import Finding, Snapshot

LONGEST_FORWARD_S: Final = 10.0
"""Seconds after which a copy, which waits for the forwards before it, shows a device that is stuck.
"""

_NOTHING: Final[AbstractContextManager[None]] = nullcontext()

_held_by_graphs: list[DeviceState] = []
"""States whose addresses are in captured graphs. A replay writes to them, so that they are kept to
the end of the process: freed, the canary would be what damages the cache."""


class _Scope:
    """The scope of one forward, or of a part of one; it may be entered again, and inside itself."""

    __slots__ = ("_batch", "_canary")

    def __init__(self, canary: Canary, batch: Batch) -> None:
        self._canary = canary
        self._batch = batch

    def __enter__(self) -> None:
        self._canary._enter(self._batch)
        self._canary._scopes.append(self)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._canary._leave_scope(self, has_failed=kind is not None)


class Canary:
    """Stamps what an engine writes to its KV cache, verifies what it reads, says who damaged it.

    An engine makes one, calls `arm` after its own warm-up, runs its model inside `forward`, and
    calls `poll` as often as it likes. Everything on the device is made here and nothing later. It
    is for one thread and, but for what graphs replay, one stream at a time. It must be made before
    the first token is cached, or with an empty cache: a slot that it never saw written counts as
    never stamped.

    Args:
        config: what to check, and what to do about what is found.
        num_slots: slots of the full pool, the padding slot 0 among them.
        req_to_token: int32 [rows, columns], slot of each position of each row; row 0 is the padding
            row. It is read in every forward, and says on which device the canary is.
        max_batch_size: requests of a forward at most, padding included.
        max_tokens_per_forward: tokens of a forward at most, padding included.
        verify_capacity: cached tokens that one forward verifies at most, in each pool; None: as
            many as there are slots, at most 2^20. Of more, each forward verifies the next part.
        ring_capacity: violations that are kept until poll has read them.
        k_sources: where the bytes of K of the full pool lie, 4 at most.
        v_sources: where the bytes of V lie, 4 at most.
        window: the sliding-window pool, for a model that has one.
        swa: another name of window.

    Raises:
        ContractError: a size, a table or a source cannot be, or lies on another device.
    """

    def __init__(
        self,
        config: CanaryConfig,
        *,
        num_slots: int,
        req_to_token: Tensor,
        max_batch_size: int,
        max_tokens_per_forward: int,
        verify_capacity: int | None = None,
        ring_capacity: int = 1024,
        k_sources: Sequence[RealKvSource] = (),
        v_sources: Sequence[RealKvSource] = (),
        window: WindowPool | None = None,
        swa: WindowPool | None = None,
    ) -> None:
        _check_config(config)
        self.config = config
        self._is_on = config.mode != "off"
        self._is_armed = self._is_closed = False
        self._forwards = self._forwards_captured = self._forwards_failed = 0
        self._state: DeviceState | None = None
        self._reporter: Reporter | None = None
        self._collected: list[Finding] = []
        self._last_health: Health | None = None
        if not self._is_on:
            return

        window = one_window(window, swa)
        check_tables(req_to_token, window)
        self._sizes = Sizes.work_out(
            config,
            num_slots=num_slots,
            table_shape=(req_to_token.shape[0], req_to_token.shape[1]),
            max_batch_size=max_batch_size,
            max_tokens_per_forward=max_tokens_per_forward,
            verify_capacity=verify_capacity,
            ring_capacity=ring_capacity,
            window=window,
        )
        _check_folder(config)
        real_kv, sources = chosen_sources(
            config, k_sources=k_sources, v_sources=v_sources, window=window
        )
        self._device = device = req_to_token.device
        # What is made in inference mode could be written nowhere else.
        with torch.inference_mode(False):
            self._state = state = DeviceState(
                config,
                self._sizes,
                req_to_token=req_to_token,
                mapping=None if window is None else window.full_to_swa_index_mapping,
                sources=sources,
                real_kv=real_kv,
                device=device,
            )
            for group in state.groups:
                group.bind()
            self._reporter = Reporter(
                config, state, real_kv=real_kv, device=device, collected=self._collected
            )

        self._opened: tuple[Batch, tuple[Tensor, ...]] | None = None
        self._scopes: list[_Scope] = []
        self._is_opened_by_graph = False
        self._moved: dict[str, SourcesOfHalves] | None = None
        self._has_warned = False
        self._last_poll: float | None = None
        self._status_at_check: Status | None = None

        # What a traced scope reads; no more than this, as a tracer guards all that it reads.
        self.traced_depth = 0
        self.traced_batch: tuple[Tensor, ...] | None = None
        self.handle = handle_of(self)
        self.ticket = state.ticket
        self.source_tensors = [
            source.tensor
            for group in state.groups
            for half in group.halves
            for source in half.sources
        ]

    @classmethod
    def allocation_bytes(
        cls,
        config: CanaryConfig,
        *,
        num_slots: int,
        req_to_token: Tensor | tuple[int, int],
        max_batch_size: int,
        max_tokens_per_forward: int,
        verify_capacity: int | None = None,
        ring_capacity: int = 1024,
        k_sources: Sequence[RealKvSource] = (),
        v_sources: Sequence[RealKvSource] = (),
        window: WindowPool | None = None,
        swa: WindowPool | None = None,
    ) -> int:
        """Return the bytes that a canary takes on the device, without taking them.

        The arguments are the constructor's; of req_to_token the shape is enough, and sources cost
        nothing.

        Raises:
            ContractError: a size cannot be.
        """
        _check_config(config)
        if config.mode == "off":
            return 0
        shape = req_to_token.shape if isinstance(req_to_token, Tensor) else req_to_token
        return bytes_for(
            config,
            Sizes.work_out(
                config,
                num_slots=num_slots,
                table_shape=(shape[0], shape[1]),
                max_batch_size=max_batch_size,
                max_tokens_per_forward=max_tokens_per_forward,
                verify_capacity=verify_capacity,
                ring_capacity=ring_capacity,
                window=one_window(window, swa),
            ),
        )

    def arm(self) -> None:
        """Load every kernel, and begin to check; to be called after the engine's own warm-up.

        Forwards before this stamp what they write and verify nothing; in raise mode there may be
        none. A batch of padding is run once, so that all is loaded before a graph is captured;
        counts begin at 0. Arming again does nothing.

        Raises:
            ContractError: the canary is closed, a forward is running, or a graph is being captured.
        """
        if not self._is_on or self._is_armed:
            return
        state = self._open_state("arm")
        self._check_between_forwards("arm")
        self._warm_up(state)
        padding = torch.zeros(1, dtype=torch.int64, device=self._device)
        one, nowhere = padding + 1, padding - 1
        batch = Batch(
            req_pool_indices=padding,
            prefix_lens=one,
            extend_seq_lens=one,
            input_ids=padding,
            positions=padding,
            out_cache_loc=nowhere,
        )
        self._is_armed = True
        try:
            self._run_exit(state, batch, self._run_entry(state, batch, is_captured=False))
        except BaseException:
            self._is_armed = False
            raise
        state.recorder.counters.block.zero_()
        state.recorder.flags[INDEX].zero_()
        state.recorder.flags[POSITION_CHECK].fill_(1)
        state.history.clear()
        self._forwards = self._forwards_failed = 0
        self._status_at_check = Status(
            asked_at=time.monotonic(),
            forwards_entered=0,
            numbers=dict.fromkeys(state.recorder.counters.place, 0),
        )

    def _warm_up(self, state: DeviceState) -> None:
        if self._device.type == "cpu" or choose_backend(self._device, "canary") == "torch":
            return
        has_tokens = state.tokens is not None
        has_evidence = state.recorder.evidence is not None
        counts = {0}
        for group in state.groups:
            counts.update(len(half.sources) for half in group.halves)
            warm_up_plan(
                device=self._device,
                full_to_swa_index_mapping=group.mapping is not None,
                req_to_verify_expected_tokens=has_tokens,
                req_to_verify_expected_tokens_valid_lens=has_tokens,
                verify_rotation=True,
                # Plans are made by allocate, and so begin at multiples of 16 bytes.
                only={"WIDE_ALIGNMENT": 16},
            )
        compiled_in = {"HASH_FORMAT": HASH_FORMATS.index(self.config.hash_format)}
        for count in sorted(counts):
            sources = {f"source_{i}_tensor": i < count for i in range(4)}
            warm_up_verify(
                device=self._device, evidence_ring=has_evidence, only=compiled_in, **sources
            )
            warm_up_write(
                device=self._device,
                evidence_ring=has_evidence,
                workspace=state.recorder.workspace is not None,
                expected_input_tokens=False,
                expected_input_positions=False,
                only=compiled_in,
                **sources,
            )
        if has_tokens:
            warm_up_scatter_req_token_ids(device=self._device, column_starts=True)

    # A forward ----------------------------------------------------------------------------------

    def forward(
        self,
        req_pool_indices: Tensor,
        prefix_lens: Tensor,
        extend_seq_lens: Tensor,
        input_ids: Tensor,
        positions: Tensor,
        out_cache_loc: Tensor,
    ) -> AbstractContextManager[None]:
        """Return the scope to run one forward of the model in; scopes of the same tensors are one.

        On entry the batch is planned, the cached tokens' head stamps are verified and the new
        tokens' are made; on exit the same is done for the tail, bytes of K and V included. Nothing
        is read back, and nothing is allocated; a graph can hold all of it. The tensors must stay
        as they are until the exit.

        When the model raises, nothing is done on exit: the new tokens have no tail stamp and are
        not expected in their rows. So a forward that is tried again is as good as the first, and an
        engine that reads what was never written is told.

        Args:
            req_pool_indices: int64 [bs], row of req_to_token of each request; 0 is padding.
            prefix_lens: int64 [bs], tokens in the cache.
            extend_seq_lens: int64 [bs], tokens that this forward writes; read as 0 for padding.
            input_ids: int64 [tokens], the requests' new tokens one after the other.
            positions: int64 [tokens], position of each in its request.
            out_cache_loc: int64 [tokens], slot of the full pool of each; negative for none.

        Raises:
            ContractError: the batch is larger than the canary was made for, or breaks a rule of a
                launch; the canary is closed, or not armed and in raise mode; or it is entered
                inside the scope of another batch, that is, of other memory, shapes or dtypes. It is
                raised when the scope is entered, before anything is launched. Leaving scopes in
                another order than the opposite of their entry is an error too.
        """
        if not self._is_on:
            return _NOTHING
        if torch.compiler.is_compiling():
            return TracedScope(
                self,
                (
                    req_pool_indices,
                    prefix_lens,
                    extend_seq_lens,
                    input_ids,
                    positions,
                    out_cache_loc,
                ),
            )
        return _Scope(
            self,
            Batch(
                req_pool_indices=req_pool_indices,
                prefix_lens=prefix_lens,
                extend_seq_lens=extend_seq_lens,
                input_ids=input_ids,
                positions=positions,
                out_cache_loc=out_cache_loc,
            ),
        )

    def _enter(self, batch: Batch, sources: Sequence[Tensor] | None = None) -> bool:
        """Begin a forward, and return whether its scope is the outermost.

        Args:
            batch: the forward's.
            sources: the sources' tensors, where a compiler has them now; None: where they were.
        """
        if self._is_opened_by_graph and self.traced_depth == 0:
            # The graph that began it raised, and never came to its exit.
            self._is_opened_by_graph = False
            self._leave(has_failed=True)
        if self._opened is not None:
            self._check_nested(batch)
            return False
        state = self._open_state("forward")
        _check_capacity(batch, self._sizes)
        is_captured = is_capturing(self._device)
        if not self._is_armed:
            self._check_unarmed(is_captured)
        if is_captured and state not in _held_by_graphs:
            _held_by_graphs.append(state)
        self._moved = self._moved_sources(sources)
        try:
            self._opened = batch, self._run_entry(state, batch, is_captured=is_captured)
        except BaseException:
            self._realign(state)
            raise
        return True

    def _check_nested(self, batch: Batch) -> None:
        """Raise ContractError unless a batch is that of the forward which is running."""
        if self._opened is None:
            return
        name = self._opened[0].differs_in(batch)
        if name is not None:
            raise refusal(
                rule="other_batch",
                argument=name,
                message="forward was entered inside the scope of another batch, and would be "
                f"neither verified nor stamped; {name} is not the outer scope's",
                actual=f"another {name}",
                expected="the tensors of the forward that is running, or none that is running",
            )

    def _leave(self, *, has_failed: bool) -> None:
        """End the forward that was begun.

        Args:
            has_failed: whether the model raised.
        """
        opened, self._opened = self._opened, None
        state = self._state
        if opened is None or state is None:
            return
        if has_failed:
            self._forwards_failed += 1
            self._realign(state)
            return
        try:
            self._run_exit(state, *opened)
        except BaseException:
            self._realign(state)
            raise
        if is_capturing(self._device):
            self._forwards_captured += 1
        else:
            self._forwards += 1

    def _leave_scope(self, scope: _Scope, *, has_failed: bool) -> None:
        """Leave the innermost scope, and with the last of them the forward."""
        scopes = self._scopes
        if scopes and scopes[-1] is scope:
            scopes.pop()
            if not scopes and not self._is_opened_by_graph:
                self._leave(has_failed=has_failed)
            return
        was_entered = any(each is scope for each in scopes)
        if was_entered:
            # Who is still inside cannot be told; what it writes would have no tail.
            scopes.clear()
            if not self._is_opened_by_graph:
                self._leave(has_failed=True)
        raise refusal(
            rule="scope_order",
            argument="the scope",
            message="a forward's scope was left while one that was entered after it was not"
            if was_entered
            else "a forward's scope was left that is not entered",
            actual="a scope that is left out of order",
            expected="the scope that was entered last",
        )

    def _enter_from_graph(self, batch: Batch, sources: Sequence[Tensor]) -> None:
        """Begin a forward from a compiled graph.

        Args:
            batch: the forward's.
            sources: the sources' tensors, where they are at this point of the graph.
        """
        self._is_opened_by_graph = self._enter(batch, sources)

    def _leave_from_graph(self, sources: Sequence[Tensor], *, has_failed: bool) -> None:
        """End a forward from a compiled graph.

        Args:
            sources: the sources' tensors, where they are at this point of the graph.
            has_failed: whether the scope is left with an exception.
        """
        if self._is_opened_by_graph:
            self._is_opened_by_graph = False
            self._moved = self._moved_sources(sources)
            self._leave(has_failed=has_failed)

    def _run_entry(
        self, state: DeviceState, batch: Batch, *, is_captured: bool
    ) -> tuple[Tensor, ...]:
        """Plan, verify and stamp on entry; return each group's slots of the batch's tokens."""
        tokens = state.tokens
        expected = None if tokens is None else tokens.tokens
        known = None if tokens is None else tokens.known(batch.size)
        plans = [
            group.plan_arguments(batch, tokens=expected, known=known) for group in state.groups
        ]
        # The batch is checked once, and before anything is launched: what differs between groups,
        # halves and phases is ours, and was checked when it was made.
        full = state.groups[0]
        validate_plan(**plans[0])
        validate_write(
            **full.write_arguments("head_write", full.halves[0], batch, batch.out_cache_loc)
        )
        if tokens is not None:
            tokens.find_known(batch.req_pool_indices, batch.prefix_lens)
        located = []
        for group, plan in zip(state.groups, plans, strict=True):
            group.launch_plan(plan)
            if self._is_armed:
                group.verify("head_verify")
                if self.config.bracket:
                    group.verify(BRACKET_PHASE, self._moved_of(group))
            slots = group.located(batch.out_cache_loc)
            group.stamp("head_write", batch, slots)
            located.append(slots)
        if not is_captured:
            state.history.keep(state.forward_number, batch)
        return tuple(located)

    def _run_exit(self, state: DeviceState, batch: Batch, located: tuple[Tensor, ...]) -> None:
        """Verify the tail of what was cached, then stamp that of what was written."""
        if state.tokens is not None:
            # The plans have copied what they compare with. Only now is it sure that the tokens
            # were written, and that the next forward may expect them.
            state.tokens.add(batch, state.groups[0].write_plan)
        for group, slots in zip(state.groups, located, strict=True):
            moved = self._moved_of(group)
            if self._is_armed:
                group.verify("tail_verify", moved)
            group.stamp("tail_write", batch, slots, moved)

    def _realign(self, state: DeviceState) -> None:
        """Let all launches count a forward that some of them did not come to."""
        if is_capturing(self._device):
            return
        runs = state.recorder.runs
        # A device that has failed would say so here for the second time; the first is enough.
        with suppress(RuntimeError):
            runs.copy_(runs.max().expand_as(runs))

    def _moved_sources(self, tensors: Sequence[Tensor] | None) -> dict[str, SourcesOfHalves] | None:
        """Return the sources as a compiler moved them, by group, or None if it left them alone."""
        state = self._state
        if tensors is None or state is None:
            return None
        if all(
            now.data_ptr() == then.data_ptr()
            for now, then in zip(tensors, self.source_tensors, strict=True)
        ):
            return None
        left = iter(tensors)

        def moved(source: RealKvSource) -> RealKvSource:
            return RealKvSource(
                next(left), source.page_size, source.num_bytes_per_token, source.read_bytes
            )

        return {
            group.name: {
                half.half: tuple(moved(source) for source in half.sources) for half in group.halves
            }
            for group in state.groups
        }

    def _moved_of(self, group: Group) -> Mapping[Half, tuple[RealKvSource, ...]] | None:
        return None if self._moved is None else self._moved[group.name]

    # The rows' tokens ---------------------------------------------------------------------------

    def prefix_hit(self, row: int, tokens: Sequence[int] | Tensor) -> None:
        """Say which tokens a row begins with that were cached before, so that they are checked.

        To be called for a request that comes with cached tokens, when its slots are in its row of
        req_to_token, and before its first forward. Without it nothing is known of the row's tokens,
        and none are compared until a request starts anew there.

        Args:
            row: row of req_to_token.
            tokens: [n] token ids from position 0 on, as many as the request's prefix; -1 for one
                that nobody knows.

        Raises:
            ContractError: there is no such row, it does not hold as many tokens, they are no whole
                numbers, the canary is closed, or a graph is being captured.
        """
        if not self._is_on:
            return
        expected = self._open_state("prefix_hit").tokens
        self._check_not_capturing("prefix_hit")
        if expected is not None:
            expected.announce(row, tokens)

    def forget(self, row: int) -> None:
        """Say that a row's request has ended, so that nothing is held against the next one.

        Not needed where every request that comes with cached tokens is announced.

        Args:
            row: row of req_to_token.

        Raises:
            ContractError: there is no such row, the canary is closed, or a graph is being captured.
        """
        if not self._is_on:
            return
        expected = self._open_state("forget").tokens
        self._check_not_capturing("forget")
        if expected is not None:
            expected.forget(row)

    def rewind(self, rows: Sequence[int] | Tensor, lengths: Sequence[int] | Tensor) -> None:
        """Say that rows go on from fewer tokens, as after drafts that were rejected.

        Without it such rows' tokens count as unknown. It allocates a little on the device.

        Args:
            rows: [n], rows of req_to_token, each once, not the padding row 0.
            lengths: [n], tokens of each that stay.

        Raises:
            ContractError: a row or length cannot be, or there are not as many of both; the canary
                is closed, or a graph is being captured. Tensors on a device are not waited for:
                what they hold is not checked, and a row or length out of range makes some row's
                tokens unknown, and no more.
        """
        if not self._is_on:
            return
        expected = self._open_state("rewind").tokens
        self._check_not_capturing("rewind")
        check_rewind(rows, lengths, table_shape=self._sizes.table_shape)
        if expected is not None:
            expected.rewind(
                torch.as_tensor(rows, dtype=torch.int64, device=self._device),
                torch.as_tensor(lengths, dtype=torch.int64, device=self._device),
            )

    # What was found -----------------------------------------------------------------------------

    def poll(self, *, wait: bool = False) -> tuple[Finding, ...]:
        """Report what was found since the last report, without waiting for the device.

        What the device has counted is copied on a stream of its own, and a later poll sees the copy
        when it is there: a report comes one or two polls after the forward, on the CPU at once.
        Only when there is something to report are rings and stamps read back, which waits. Inside a
        graph capture, and before arm, nothing is done; inside a compiled region findings are
        reported, and not returned.

        Args:
            wait: wait for the device, so that all is reported that was found until now.

        Returns:
            What is new; empty in off mode. A fault that was told before is not new: in collect
            mode `findings` counts its repeats, in log mode a line says that it is still there.

        Raises:
            CanaryError: in raise mode, when something is new, or still there.
            ContractError: the canary is closed.
        """
        if not self._is_on:
            return ()
        if torch.compiler.is_compiling():
            torch.ops.kv_canary.poll(self.ticket, self.handle)
            return ()
        self._open_state("poll")
        reporter = self._reporter
        if reporter is None or not self._is_armed or is_capturing(self._device):
            return ()
        self._last_poll = time.monotonic()
        reporter.refresh(self._forwards, wait=wait)
        return reporter.report(has_graphs=self._forwards_captured > 0, wait=wait)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """In collect mode, every fault that was found, oldest first; empty in the others."""
        return tuple(self._collected)

    def snapshot(self) -> Snapshot:
        """Return everything the canary knows now, on the CPU; this waits for the device.

        Raises:
            ContractError: the canary is off or closed, or a graph is being captured.
        """
        self._open_state("snapshot")
        self._check_not_capturing("snapshot")
        wait_for(self._device)
        assert self._reporter is not None, "an open canary has a reporter"
        return self._reporter.snapshot(first_row=0, has_graphs=self._forwards_captured > 0)

    def dump(self, path: str | os.PathLike[str]) -> None:
        """Write a snapshot to a file that `kv-canary diagnose` reads; this waits for the device.

        Args:
            path: the file, which is replaced if it is there; its folder must exist.

        Raises:
            ContractError: the folder is not there, the canary is off or closed, or a graph is being
                captured.
            OSError: the file cannot be written.
        """
        self._open_state("dump")
        folder = Path(path).parent
        if not folder.is_dir():
            raise refusal(
                rule="dump_path",
                argument="path",
                message=f"dump needs a folder that is there, got {str(folder)!r}",
                actual=str(path),
                expected="a file in a folder that is there",
            )
        write_dump(self.snapshot(), Path(path))

    def health(self) -> Health:
        """Return counts that show whether the canary runs, without waiting for the device.

        `is_stalled` is about the time since the last call, and for who asks now and then, where the
        forwards' stream is current.
        """
        reporter = self._reporter
        if reporter is None:
            return self._last_health or Health.nothing(mode=self.config.mode)
        is_stalled = False
        if self._is_armed and not is_capturing(self._device):
            reporter.refresh(self._forwards)
            is_stalled = self._check_stalled(reporter)
        now, status = time.monotonic(), reporter.status
        numbers = {} if status is None else status.numbers
        violations = max(0, numbers.get(INDEX, 0))
        groups = self._sizes.groups
        return Health(
            mode=self.config.mode,
            is_armed=self._is_armed,
            is_closed=self._is_closed,
            forwards=self._forwards,
            forwards_captured=self._forwards_captured,
            forwards_failed=self._forwards_failed,
            forwards_on_device=numbers.get(self._sizes.last_run, 0),
            launches=sum(numbers.get(name, 0) for group in groups for name in group.runs()),
            slots_checked=numbers.get(CHECKED, 0),
            slots_stamped=numbers.get(STAMPED, 0),
            violations=reporter.violations_before + violations,
            rows_lost=reporter.lost_before + max(0, violations - self._sizes.ring_capacity),
            wanted={group.name: numbers.get(f"{group.name}.wanted", 0) for group in groups},
            checked={group.name: numbers.get(f"{group.name}.checked", 0) for group in groups},
            seconds_since_poll=None if self._last_poll is None else now - self._last_poll,
            seconds_since_status=None if status is None else now - status.asked_at,
            is_stalled=is_stalled,
        )

    def _check_stalled(self, reporter: Reporter) -> bool:
        """Return whether forwards were entered since the last call, and the device ran none."""
        then, now = self._status_at_check, reporter.status
        asked_at = reporter.asked_at
        if asked_at is not None and time.monotonic() - asked_at > LONGEST_FORWARD_S:
            return True
        if then is None or now is None or now is then:
            return False
        self._status_at_check = now
        has_entered = now.forwards_entered > then.forwards_entered
        run = self._sizes.last_run
        return has_entered and now.numbers[run] == then.numbers[run]

    # Between forwards ---------------------------------------------------------------------------

    def stamp_buffers(self) -> tuple[tuple[Tensor, ...], ...]:
        """Return the stamps of each pool, the full one first: uint8 [num_slots, 32] each.

        An engine that moves K and V of a slot elsewhere, or offloads and reloads them, moves the
        same rows of all of these with them; what comes back without its stamps is reported. Off or
        closed, there are none.
        """
        state = self._state
        if state is None:
            return ()
        return tuple(
            tuple(buffer for half in group.halves for buffer in (half.head, half.tail))
            for group in state.groups
        )

    def sweep(
        self,
        rows: Sequence[int] | Tensor,
        lengths: Sequence[int] | Tensor,
        *,
        table: Tensor | None = None,
        tokens: Tensor | None = None,
    ) -> int:
        """Verify cached prefixes that no forward reads now; poll reports what is wrong.

        As many launches are made as the capacity asks for, on the current stream, which should be
        the forwards'. It is for idle moments: rows and lengths on a device are waited for.

        Args:
            rows: [n], rows of the table, not the padding row 0.
            lengths: [n], cached tokens of each, from position 0 on.
            table: int32 [table rows, columns], slot of the full pool of each position, for prefixes
                that have no row of req_to_token; None means that one.
            tokens: int32 [table rows, columns], token of each position, -1 where it is not known;
                None means what was seen written to req_to_token's rows. Without the configuration's
                token check none are compared.

        Returns:
            Entries that were asked for, in all pools.

        Raises:
            ContractError: a row or length cannot be, the canary is closed or not armed, a forward
                is running, or a graph is being captured.
        """
        if not self._is_on:
            return 0
        state = self._open_state("sweep")
        self._check_between_forwards("sweep")
        if not self._is_armed:
            raise refusal(
                rule="not_armed",
                argument="the canary",
                message="sweep was called before arm()",
                actual="a canary that is not armed",
                expected="an armed canary",
            )
        where = state.req_to_token if table is None else table
        chunks = chunks_of(
            prefixes_of("sweep", rows, lengths, table_shape=(where.shape[0], where.shape[1])),
            most_rows=self._sizes.max_batch_size,
            most_tokens=self._sizes.groups[0].verify_capacity,
        )
        return sum(self._sweep_chunk(state, chunk, table=table, tokens=tokens) for chunk in chunks)

    def _sweep_chunk(
        self,
        state: DeviceState,
        chunk: Sequence[Prefix],
        *,
        table: Tensor | None,
        tokens: Tensor | None,
    ) -> int:
        rows, lengths, nothing = state.swept[:, : len(chunk)]
        rows.copy_(torch.tensor([row for row, _ in chunk], device="cpu"))
        lengths.copy_(torch.tensor([length for _, length in chunk], device="cpu"))
        known = None if tokens is None else lengths
        if tokens is None and table is None and state.tokens is not None:
            tokens = state.tokens.tokens
            known = state.tokens.find_known(rows, lengths)
        asked = 0
        for group in state.groups:
            window = group.sizes.window_size
            wanted = sum(min(length, window or length) for _, length in chunk)
            arguments = group.sweep_arguments(
                rows=rows,
                lengths=lengths,
                nothing=nothing,
                table=state.req_to_token if table is None else table,
                tokens=tokens,
                known=known,
            )
            validate_plan(**arguments)
            group.sweep_start.zero_()
            for _ in range(-(-wanted // group.sizes.verify_capacity)):
                group.launch_plan(arguments)
                for name in group.sizes.sweeps():
                    # What a sweep finds is dated by the forward that comes next.
                    state.recorder.counters[name].copy_(state.forward_number)
                group.verify(SWEEP_PHASE)
            asked += wanted
        return asked

    def close(self) -> tuple[Finding, ...]:
        """Report what is left to report, and give the memory back; closing again does nothing.

        After this everything but health and findings is refused. Where forwards were captured, the
        memory is kept, as their graphs, replayed, still stamp.

        Returns:
            What is new, as from poll.

        Raises:
            CanaryError: in raise mode, when something is new; the canary is closed nevertheless.
            ContractError: a forward is running, or a graph is being captured.
        """
        if not self._is_on or self._is_closed:
            return ()
        self._check_between_forwards("close")
        try:
            return self.poll(wait=True)
        finally:
            # A device that has failed has raised above, and must not keep the canary open.
            with suppress(RuntimeError):
                self._last_health = replace(self.health(), is_closed=True)
            self._is_closed = True
            self._state = self._reporter = None
            self.source_tensors = []

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else "armed" if self._is_armed else "not armed"
        return f"Canary({'off' if not self._is_on else f'{self.config.mode}, {state}'})"

    # Bad use ------------------------------------------------------------------------------------

    def _open_state(self, name: str) -> DeviceState:
        if not self._is_on:
            raise refusal(
                rule="off",
                argument="the canary",
                message=f"{name} was called on a canary in off mode, which knows nothing",
                actual="off mode",
                expected="another mode",
            )
        if self._state is None:
            raise refusal(
                rule="closed",
                argument="the canary",
                message=f"{name} was called after close()",
                actual="a canary that is closed",
                expected="a canary that is open",
            )
        return self._state

    def _check_unarmed(self, is_captured: bool) -> None:
        if self.config.mode == "raise" or is_captured:
            raise refusal(
                rule="not_armed",
                argument="the canary",
                message="a graph that is captured before arm() would never verify anything"
                if is_captured
                else "forward was entered before arm(), so that nothing would be verified",
                actual="a canary that is not armed",
                expected="an armed canary",
            )
        if not self._has_warned:
            self._has_warned = True
            LOGGER.warning(
                "kv_canary: forward was entered before arm(); it stamps, and nothing is verified"
            )

    def _check_between_forwards(self, name: str) -> None:
        self._check_not_capturing(name)
        if self._opened is not None:
            raise refusal(
                rule="inside_forward",
                argument="the canary",
                message=f"{name} was called inside a forward's scope",
                actual="a forward that is running",
                expected="a moment between two forwards",
            )

    def _check_not_capturing(self, name: str) -> None:
        if is_capturing(self._device):
            raise refusal(
                rule="capturing",
                argument="the stream",
                message=f"{name} was called while this stream is capturing a graph",
                actual="a capture",
                expected="a moment before or after the capture",
            )


def _check_config(config: CanaryConfig) -> None:
    if not isinstance(config, CanaryConfig):
        raise refusal(
            rule="config",
            argument="config",
            message=f"config must be a CanaryConfig, got {type(config).__name__}",
            actual=type(config).__name__,
            expected="a CanaryConfig first, and the sizes after it, as keywords",
        )


def _check_folder(config: CanaryConfig) -> None:
    folder = config.dump_folder
    if folder is not None and not Path(folder).is_dir():
        raise refusal(
            rule="dump_folder",
            argument="dump_folder",
            message=f"dump_folder must be a folder that is there, got {str(folder)!r}",
            actual=str(folder),
            expected="a folder",
        )


def _check_capacity(batch: Batch, sizes: Sizes) -> None:
    requests, tokens = batch.size, batch.tokens
    if requests > sizes.max_batch_size:
        raise refusal(
            rule="batch_size",
            argument="req_pool_indices",
            message=f"forward_batch.batch_size={requests} exceeds pre-allocated "
            f"write_req_capacity={sizes.max_batch_size}; raise max_batch_size",
            actual=f"{requests} requests",
            expected=f"at most max_batch_size={sizes.max_batch_size}",
        )
    if tokens > sizes.max_tokens:
        raise refusal(
            rule="token_count",
            argument="input_ids",
            message=f"forward_batch token count={tokens} exceeds pre-allocated "
            f"write_entry_capacity={sizes.max_tokens}; raise max_tokens_per_forward",
            actual=f"{tokens} tokens",
            expected=f"at most max_tokens_per_forward={sizes.max_tokens}",
        )
