"""One step after another: arrivals, chunked prefill, decode, and the plan of each step."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import gcd
from typing import Protocol

import torch
from torch import Tensor

from kv_canary import PLAN_BS_BLOCK_SIZE, VerifyPlan, WritePlan, launch_canary_plan_kernels
from kv_canary.errors import UsageError
from kv_canary.replay.check import (
    UNWRITTEN,
    VERIFY_FIELDS,
    BatchEntry,
    PlanGroup,
    compare_plan,
    wanted_entries,
)
from kv_canary.replay.pool import NO_TWIN, PagedPool, RunningRequest
from kv_canary.replay.settings import ReplaySettings
from kv_canary.replay.trace import BLOCK_TOKENS, TraceRequest

VOCABULARY = 50_021
"""Token ids are in [0, VOCABULARY); a prime, so that no stride through the ids repeats early."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepTables:
    """The device tables and inputs of one step, just before its plan is launched.

    A hook that gets these may change them in place: that is how tests damage a table.
    """

    step: int
    """Number of the step, from 0."""
    batch: tuple[BatchEntry, ...]
    """What the step does; to be read only."""
    req_to_token: Tensor
    """int32 [max_batch + 1, longest request]."""
    full_to_swa_index_mapping: Tensor | None
    """int64 [slots of the full pool], or None without a window."""
    req_to_verify_expected_tokens: Tensor
    """int32 [max_batch + 1, longest request + token offset]."""
    req_to_verify_expected_tokens_valid_lens: Tensor
    """int64 [bs]."""
    req_pool_indices: Tensor
    """int64 [bs]."""
    prefix_lens: Tensor
    """int64 [bs]."""
    extend_seq_lens: Tensor
    """int64 [bs]."""


class LaunchPlan(Protocol):
    """A plan launcher, or something of its shape that a test puts around it."""

    def __call__(
        self,
        *,
        verify_plan_out: VerifyPlan,
        write_plan_out: WritePlan,
        req_pool_indices: Tensor,
        prefix_lens: Tensor,
        extend_seq_lens: Tensor,
        req_to_token: Tensor,
        swa_window_size: int,
        full_to_swa_index_mapping: Tensor | None,
        verify_capacity: int,
        req_to_verify_expected_tokens: Tensor | None,
        req_to_verify_expected_tokens_valid_lens: Tensor | None,
        kv_token_id_vs_position_offset: int,
    ) -> None:
        """Fill both plans."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a replay has come."""

    requests_done: int
    """Requests completed."""
    requests: int
    """Requests in all."""
    steps: int
    """Steps taken."""
    verify_entries: int
    """Verify entries compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySummary:
    """What a replay did and what was compared; every step's plan was right, or there is none."""

    requests: int
    """Requests completed."""
    steps: int
    """Steps, each with one plan per pool."""
    prompt_tokens: int
    """Tokens in the prompts, after scaling."""
    prefill_tokens: int
    """Prompt tokens written; the others came from the prefix cache."""
    decode_tokens: int
    """Answer tokens written."""
    prefix_cache_hit_share: float
    """Share of the prompt tokens that the prefix cache supplied, 0 to 1."""
    chunked_prefills: int
    """Requests whose prefill took more than one step."""
    merged_blocks: int
    """Prompt blocks computed twice at the same time, the second given back for the first."""
    evicted_blocks: int
    """Cached prompt blocks evicted for lack of pages."""
    evicted_window_pages: int
    """Cached window pages evicted for lack of pages in the window pool."""
    peak_batch: int
    """Most requests in one step, padding not counted."""
    padding_entries: int
    """Padding requests in all batches together."""
    pool_slots: int
    """Slots that requests can get."""
    peak_pool_use: float
    """Largest share of the pool that running requests held, 0 to 1."""
    block_tokens: int
    """Tokens behind one hash id, after scaling."""
    page_size: int
    """Slots in a page."""
    window: int
    """Tokens in the sliding window; 0 for none."""
    plans: int
    """Plans launched and compared."""
    plans_over_capacity: int
    """Plans that wanted more entries than they hold, and were off for it."""
    verify_entries: int
    """Verify entries compared: slot, expected token, expected position and previous slot each."""
    write_entries: int
    """Tokens in the plans' write ranges."""
    values_compared: int
    """Numbers compared with the pool's books, all of them equal."""
    backend: str
    """What ran the plan: torch or triton, the latter perhaps under the interpreter."""
    device: str
    """Where the plan ran."""
    wall_seconds: float
    """Time for the whole replay."""
    plan_seconds: float
    """Time in plan launches, to their end."""
    plan_share: float
    """plan_seconds / wall_seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Every size of a replay, worked out from the settings and the trace."""

    block_tokens: int
    """Tokens behind one hash id, after scaling."""
    page_size: int
    """Slots in a page."""
    pages: int
    """Pages of the full pool, the padding page not counted."""
    window_pages: int
    """Pages of the window pool, the padding page not counted."""
    longest: int
    """Tokens of the longest request in the end."""
    verify_capacity: int
    """Entries of a full pool's verify plan."""
    window_verify_capacity: int
    """Entries of a window pool's verify plan."""

    @classmethod
    def work_out(cls, settings: ReplaySettings, trace: Sequence[TraceRequest]) -> Sizes:
        """Return sizes that the trace fits in.

        Raises:
            UsageError: two settings contradict each other, or a request can never fit.
        """
        block_tokens = max(1, BLOCK_TOKENS // settings.scale)
        page_size = settings.page_size or gcd(block_tokens, 16)
        if block_tokens % page_size:
            raise UsageError(
                place="--page-size",
                rule=f"a block of {BLOCK_TOKENS} // --scale = {block_tokens} tokens "
                "must be a whole number of pages",
                found=str(page_size),
                wanted=f"a divisor of {block_tokens}",
                fix=f"--page-size {_largest_divisor(block_tokens, page_size)}",
            )
        if settings.max_batch > PLAN_BS_BLOCK_SIZE:
            raise UsageError(
                place="--max-batch",
                rule="one plan holds at most PLAN_BS_BLOCK_SIZE requests",
                found=str(settings.max_batch),
                wanted=f"a whole number from 1 to {PLAN_BS_BLOCK_SIZE}",
                fix=f"--max-batch {PLAN_BS_BLOCK_SIZE}",
            )
        lengths = [_total_length(request, block_tokens) for request in trace]
        longest = max(lengths)
        largest = trace[lengths.index(longest)]
        pages = settings.pool_slots_at_scale() // page_size
        if pages * page_size < longest:
            wanted = -(-longest // page_size) * page_size
            raise UsageError(
                place="--pool-slots",
                rule="the largest request must fit in the pool",
                found=f"{pages * page_size} slots for the {longest} tokens of the request in "
                f"line {largest.line} of the trace",
                wanted=f"{wanted} slots or more",
                fix=f"--pool-slots {wanted}, or a larger --scale",
            )
        window_pages = 0
        if settings.window:
            window_pages = settings.window_pool_slots_at_scale() // page_size
            # As in PagedPool.twins_for: the most that one request can need at once.
            needed = -(-(settings.window + settings.chunk) // page_size) + 2
            needed = min(needed, -(-longest // page_size))
            if window_pages < needed:
                raise UsageError(
                    place="--window-pool-slots",
                    rule="the window and one prefill chunk must fit in the window pool",
                    found=f"{window_pages * page_size} slots",
                    wanted=f"{needed * page_size} slots or more",
                    fix=f"--window-pool-slots {needed * page_size}",
                )
        most = settings.max_batch * longest
        most_in_window = settings.max_batch * min(longest, settings.window or longest)
        return cls(
            block_tokens=block_tokens,
            page_size=page_size,
            pages=pages,
            window_pages=window_pages,
            longest=longest,
            verify_capacity=settings.verify_capacity or most,
            window_verify_capacity=settings.verify_capacity or most_in_window,
        )


def replay(
    trace: Sequence[TraceRequest],
    settings: ReplaySettings,
    *,
    before_plan: Callable[[StepTables], None] | None = None,
    launch: LaunchPlan = launch_canary_plan_kernels,
    on_progress: Callable[[Progress], None] | None = None,
) -> ReplaySummary:
    """Run a trace to its end, planning every step and comparing each plan with the pool's books.

    Args:
        trace: requests in order of arrival, at least one.
        settings: sizes, seed and device.
        before_plan: called in every step when the tables are filled and before the plan is
            launched; it may damage the tables in place, and the comparison must then fail.
        launch: launches the plan.
        on_progress: called after every step.

    Raises:
        UsageError: the settings contradict each other or the trace.
        PlanMismatchError: a plan differs from the books.
    """
    engine = _PlanEngine(trace, settings, launch=launch, before_plan=before_plan)
    with one_thread():
        started = time.perf_counter()
        while engine.has_work():
            engine.step()
            if on_progress is not None:
                on_progress(engine.progress())
        return engine.finish(wall_seconds=time.perf_counter() - started)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread for a while.

    A step's arrays are too small to gain from threads, and where the cores are shared with others,
    waiting for the slowest thread takes longer than the work.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class Engine:
    """Arrivals, chunked prefill, decode and the tables of each step; what runs it is a subclass's.

    Args:
        trace: requests in order of arrival, at least one.
        settings: sizes, seed and device.
    """

    def __init__(self, trace: Sequence[TraceRequest], settings: ReplaySettings) -> None:
        self._settings = settings
        self._sizes = sizes = Sizes.work_out(settings, trace)
        self._trace = trace
        self._waiting = deque(trace)
        self._running: list[RunningRequest] = []
        self._free_rows = list(range(settings.max_batch, 0, -1))
        self._pool = PagedPool(
            pages=sizes.pages,
            page_size=sizes.page_size,
            block_pages=sizes.block_tokens // sizes.page_size,
            window=settings.window,
            window_pages=sizes.window_pages,
            seed=settings.seed,
        )
        self._next: RunningRequest | None = None
        self._clock_ms = 0

        self._device = device = torch.device(settings.device)
        rows = settings.max_batch + 1
        self._req_to_token = torch.zeros((rows, sizes.longest), dtype=torch.int32, device=device)
        self._mapping: Tensor | None = None
        if settings.window:
            slots = (sizes.pages + 1) * sizes.page_size
            self._mapping = torch.zeros(slots, dtype=torch.int64, device=device)

        self._steps = 0
        self._prompt_tokens = 0
        self._prefill_tokens = 0
        self._decode_tokens = 0
        self._chunked_prefills = 0
        self._peak_batch = 0
        self._padding_entries = 0
        self._verify_entries = 0

    def has_work(self) -> bool:
        """Return whether a request waits or runs."""
        return bool(self._waiting or self._running)

    def progress(self) -> Progress:
        """Return how far the replay has come."""
        return Progress(
            requests_done=len(self._trace) - len(self._waiting) - len(self._running),
            requests=len(self._trace),
            steps=self._steps,
            verify_entries=self._verify_entries,
        )

    def step(self) -> None:
        """Admit who has arrived, give everyone tokens, plan, compare, and count what was done."""
        self._admit_arrivals()
        work = self._choose_work()
        for request, count in work:
            self._pool.extend(request, self.written(request, count))
        batch = self._batch(work)
        self._fill_tables(batch)
        self.run_batch(batch)
        for request, count in work:
            self._complete_step(request, count)
        self._steps += 1
        self._clock_ms += self._settings.step_ms

    def run_batch(self, batch: tuple[BatchEntry, ...]) -> None:
        """Do what this replay is for with a step whose tables are filled."""
        raise NotImplementedError

    def admitted(self, request: RunningRequest) -> None:
        """Take note of a request that got its row, before its first step."""

    def finished(self, request: RunningRequest) -> None:
        """Take note of a request that ended; its row is free."""

    def written(self, request: RunningRequest, count: int) -> int:
        """Return how many tokens a step writes for a request that it takes so many ahead."""
        return count

    def check_books(self) -> None:
        """Make sure that every page is accounted for, and that nobody holds one.

        Raises:
            AssertionError: the books are wrong, which would be a bug of this package.
        """
        self._pool.check_conservation(self._running)
        assert self._pool.held_pages == 0, "pages are held though no request runs"

    def _admit_arrivals(self) -> None:
        if not self._running and self._waiting:
            # Nobody waits for a step in which nothing happens.
            self._clock_ms = max(self._clock_ms, self._waiting[0].timestamp)
        while self._waiting and self._free_rows and self._waiting[0].timestamp <= self._clock_ms:
            # Kept while the pool is full: building a long prompt anew in every step is slow.
            request = self._next = self._next or self._request(self._waiting[0])
            if not self._pool.admit(request, step_tokens=self._settings.chunk):
                return
            self._next = None
            self._waiting.popleft()
            request.row = self._free_rows.pop()
            self._running.append(request)
            self.admitted(request)
            self._prompt_tokens += request.prompt_length
            if request.prompt_length - request.cached_length > self._settings.chunk:
                self._chunked_prefills += 1

    def _request(self, arrival: TraceRequest) -> RunningRequest:
        block_tokens = self._sizes.block_tokens
        prompt_length = _scaled(arrival.input_length, block_tokens)
        seed = self._settings.seed
        tokens = [
            token_of(seed, hash_id, i) for hash_id in arrival.hash_ids for i in range(block_tokens)
        ]
        return RunningRequest(
            number=arrival.number,
            row=0,
            hash_ids=arrival.hash_ids,
            prompt_length=prompt_length,
            output_length=_scaled(arrival.output_length, block_tokens),
            tokens=tokens[:prompt_length],
        )

    def _choose_work(self) -> list[tuple[RunningRequest, int]]:
        budget = self._settings.chunk
        work = []
        for request in self._running:
            left_to_prefill = request.prompt_length - request.cached_length
            count = min(budget, left_to_prefill) if left_to_prefill > 0 else 1
            if left_to_prefill > 0:
                budget -= count
            if count:
                work.append((request, count))
        return work

    def _batch(self, work: list[tuple[RunningRequest, int]]) -> tuple[BatchEntry, ...]:
        entries = [
            BatchEntry(
                request=request,
                prefix=request.cached_length,
                extend=self.written(request, count),
                # As in an engine that plans while it samples, the answer's newest cached token
                # has not reached the table yet.
                known=max(request.prompt_length, request.cached_length - 1),
            )
            for request, count in work
        ]
        self._peak_batch = max(self._peak_batch, len(entries))
        # Engines pad a batch to the next size that they have captured a graph for. Such a place
        # has row 0 and lengths that say nothing.
        padded = min(self._settings.max_batch, 1 << (len(entries) - 1).bit_length())
        padding = BatchEntry(request=None, prefix=1, extend=1, known=0)
        self._padding_entries += padded - len(entries)
        return (*entries, *[padding] * (padded - len(entries)))

    def _fill_tables(self, batch: tuple[BatchEntry, ...]) -> None:
        """Write the slots of this step, all rows in one scatter."""
        cells: list[int] = []
        slots: list[int] = []
        width = self._req_to_token.shape[1]
        for entry in batch:
            request = entry.request
            if request is None:
                continue
            # A request's first step also writes the slots of its cached prefix.
            first = request.tabled_length
            last = request.tabled_length = entry.prefix + entry.extend
            cells += range(request.row * width + first, request.row * width + last)
            slots += request.slots[first:last]
        self._scatter(self._req_to_token, cells, slots)
        if self._mapping is not None:
            page_size = self._sizes.page_size
            mapped: list[int] = []
            full: list[int] = []
            for page, twin in self._pool.take_changed_twins().items():
                full += range(page * page_size, (page + 1) * page_size)
                if twin == NO_TWIN:
                    mapped += [0] * page_size
                else:
                    mapped += range(twin * page_size, (twin + 1) * page_size)
            self._scatter(self._mapping, full, mapped)

    def _scatter(self, table: Tensor, cells: list[int], values: list[int]) -> None:
        if cells:
            where = torch.tensor(cells, dtype=torch.int64).to(self._device)
            table.view(-1)[where] = torch.tensor(values, dtype=table.dtype).to(self._device)

    def _complete_step(self, request: RunningRequest, count: int) -> None:
        if request.cached_length < request.prompt_length:
            self._prefill_tokens += count
        else:
            self._decode_tokens += count
        self._pool.advance(request, count)
        if request.cached_length < request.prompt_length:
            return
        if request.cached_length < request.total_length:
            sampled = request.cached_length - request.prompt_length
            request.tokens.append(token_of(self._settings.seed, -1 - request.number, sampled))
            return
        self._pool.finish(request)
        self._running.remove(request)
        self._free_rows.append(request.row)
        self.finished(request)

    def _int64(self, values: list[int]) -> Tensor:
        return torch.tensor(values, dtype=torch.int64).to(self._device)


class _PlanEngine(Engine):
    """Plans every step, and compares each plan with the pool's books."""

    def __init__(
        self,
        trace: Sequence[TraceRequest],
        settings: ReplaySettings,
        *,
        launch: LaunchPlan,
        before_plan: Callable[[StepTables], None] | None,
    ) -> None:
        super().__init__(trace, settings)
        self._launch = launch
        self._before_plan = before_plan
        sizes, device = self._sizes, self._device
        self._expected_tokens = torch.zeros(
            (settings.max_batch + 1, sizes.longest + max(0, settings.token_offset)),
            dtype=torch.int32,
            device=device,
        )
        self._filled_tokens: dict[int, int] = {}
        self._groups = [
            PlanGroup(name="full", window=0, verify_capacity=sizes.verify_capacity),
        ]
        if settings.window:
            self._groups.append(
                PlanGroup(
                    name="window",
                    window=settings.window,
                    verify_capacity=sizes.window_verify_capacity,
                )
            )
        self._verify_plans = [
            VerifyPlan.allocate(verify_capacity=group.verify_capacity, device=device)
            for group in self._groups
        ]
        self._write_plan = WritePlan.allocate(write_req_capacity=settings.max_batch, device=device)
        self._plans = 0
        self._plans_over_capacity = 0
        self._write_entries = 0
        self._values_compared = 0
        self._plan_seconds = 0.0

    def finish(self, *, wall_seconds: float) -> ReplaySummary:
        self.check_books()
        pool = self._pool
        return ReplaySummary(
            requests=len(self._trace),
            steps=self._steps,
            prompt_tokens=self._prompt_tokens,
            prefill_tokens=self._prefill_tokens,
            decode_tokens=self._decode_tokens,
            prefix_cache_hit_share=1 - self._prefill_tokens / self._prompt_tokens,
            chunked_prefills=self._chunked_prefills,
            merged_blocks=pool.merged_blocks,
            evicted_blocks=pool.evicted_blocks,
            evicted_window_pages=pool.evicted_twins,
            peak_batch=self._peak_batch,
            padding_entries=self._padding_entries,
            pool_slots=pool.pages * pool.page_size,
            peak_pool_use=pool.peak_held_pages / pool.pages,
            block_tokens=self._sizes.block_tokens,
            page_size=pool.page_size,
            window=self._settings.window,
            plans=self._plans,
            plans_over_capacity=self._plans_over_capacity,
            verify_entries=self._verify_entries,
            write_entries=self._write_entries,
            values_compared=self._values_compared,
            backend=backend_name(self._device),
            device=str(self._device),
            wall_seconds=wall_seconds,
            plan_seconds=self._plan_seconds,
            plan_share=self._plan_seconds / wall_seconds if wall_seconds else 0.0,
        )

    def admitted(self, request: RunningRequest) -> None:
        self._filled_tokens[request.row] = 0

    def run_batch(self, batch: tuple[BatchEntry, ...]) -> None:
        self._fill_expected_tokens(batch)
        offset = self._settings.token_offset
        tables = StepTables(
            step=self._steps,
            batch=batch,
            req_to_token=self._req_to_token,
            full_to_swa_index_mapping=self._mapping,
            req_to_verify_expected_tokens=self._expected_tokens,
            req_to_verify_expected_tokens_valid_lens=self._int64(
                [max(0, entry.known + offset) for entry in batch]
            ),
            req_pool_indices=self._int64([entry.row for entry in batch]),
            prefix_lens=self._int64([entry.prefix for entry in batch]),
            extend_seq_lens=self._int64([entry.extend for entry in batch]),
        )
        if self._before_plan is not None:
            self._before_plan(tables)
        for group, verify_plan in zip(self._groups, self._verify_plans, strict=True):
            if wanted_entries(group, batch) > group.verify_capacity:
                for field in VERIFY_FIELDS:
                    getattr(verify_plan, field).fill_(UNWRITTEN)
            self._wait_for_device()
            started = time.perf_counter()
            self._launch(
                verify_plan_out=verify_plan,
                write_plan_out=self._write_plan,
                req_pool_indices=tables.req_pool_indices,
                prefix_lens=tables.prefix_lens,
                extend_seq_lens=tables.extend_seq_lens,
                req_to_token=tables.req_to_token,
                swa_window_size=group.window,
                full_to_swa_index_mapping=self._mapping if group.window else None,
                verify_capacity=group.verify_capacity,
                req_to_verify_expected_tokens=tables.req_to_verify_expected_tokens,
                req_to_verify_expected_tokens_valid_lens=(
                    tables.req_to_verify_expected_tokens_valid_lens
                ),
                kv_token_id_vs_position_offset=offset,
            )
            self._wait_for_device()
            self._plan_seconds += time.perf_counter() - started
            compared = compare_plan(
                step=self._steps,
                group=group,
                batch=batch,
                pool=self._pool,
                token_offset=offset,
                verify_plan=verify_plan,
                write_plan=self._write_plan,
            )
            self._plans += 1
            self._plans_over_capacity += compared.is_over_capacity
            self._verify_entries += compared.verify_entries
            self._write_entries += compared.write_entries
            self._values_compared += compared.values

    def _fill_expected_tokens(self, batch: tuple[BatchEntry, ...]) -> None:
        """Write the tokens of this step, all rows in one scatter."""
        cells: list[int] = []
        tokens: list[int] = []
        width = self._expected_tokens.shape[1]
        offset = self._settings.token_offset
        for entry in batch:
            request = entry.request
            if request is None:
                continue
            filled = max(self._filled_tokens[request.row], -offset)
            start = request.row * width + offset
            if entry.known > filled:
                cells += range(start + filled, start + entry.known)
                tokens += request.tokens[filled : entry.known]
            self._filled_tokens[request.row] = entry.known
        self._scatter(self._expected_tokens, cells, tokens)

    def _wait_for_device(self) -> None:
        if self._device.type != "cpu":
            torch.accelerator.synchronize(self._device)


def _scaled(tokens: int, block_tokens: int) -> int:
    """Return a length of the trace, shortened like its blocks and rounded up."""
    return -(-tokens * block_tokens // BLOCK_TOKENS)


def _largest_divisor(number: int, most: int) -> int:
    return next(n for n in range(min(number, most), 0, -1) if number % n == 0)


def _total_length(request: TraceRequest, block_tokens: int) -> int:
    answer = _scaled(request.output_length, block_tokens)
    return _scaled(request.input_length, block_tokens) + max(0, answer - 1)


def token_of(seed: int, content: int, index: int) -> int:
    """Return a token id that depends on nothing but what it is the content of.

    Equal content must give equal tokens in every request, so this is a hash and no generator. An
    odd factor each keeps seed, content and index apart modulo 2^64; the low bits, which mix least,
    are dropped.
    """
    mixed = seed * 0xC58EFD154CE32F6D + content * 0x9E3779B97F4A7C15 + index * 0xD1342543DE82EF95
    return ((mixed & 0xFFFF_FFFF_FFFF_FFFF) >> 24) % VOCABULARY


def backend_name(device: torch.device) -> str:
    """Return what runs the kernels on a device."""
    name = os.environ.get("KV_CANARY_BACKEND") or ("torch" if device.type == "cpu" else "triton")
    if name == "triton" and os.environ.get("TRITON_INTERPRET") == "1":
        return "triton (interpreter)"
    return name
