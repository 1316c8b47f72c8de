"""A replay with a canary in it: random bytes for every token, verified in every step."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from kv_canary.canary.canary import Canary
from kv_canary.canary.config import CanaryConfig, WindowPool
from kv_canary.findings import Finding
from kv_canary.replay.check import BatchEntry
from kv_canary.replay.engine import (
    VOCABULARY,
    Engine,
    Progress,
    backend_name,
    one_thread,
    token_of,
)
from kv_canary.replay.memory import KvMemory, PoolMemory
from kv_canary.replay.pool import PagedPool, RunningRequest
from kv_canary.replay.scene import Inputs, Scene
from kv_canary.replay.settings import ReplaySettings
from kv_canary.replay.trace import TraceRequest

if TYPE_CHECKING:
    from kv_canary.replay.scene import Injected, InjectFault

_RING = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryOptions:
    """How the canary of a replay is set, and what the engine does that only it sees."""

    real_kv: Literal["none", "partial", "all"] = "partial"
    """Bytes of each token that the stamps cover: the first 16 of each source, all 32, or none."""
    hash_format: Literal["serial", "parallel"] = "parallel"
    """How the chain hash of a long prefill is computed."""
    drafts: int = 0
    """Most draft tokens that a decoding request tries in a step; all of them are rejected."""
    sweep_every: int = 0
    """Steps between two sweeps over every cached prefix; 0 for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection:
    """A fault, and when it may strike."""

    name: str
    """Its name."""
    inject: InjectFault
    """What it does."""
    step: int
    """First step in which it may strike; it waits for a victim."""
    steps_after: int | None = None
    """Steps to go on after it, found or not; None: to the first finding, or to the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CanarySummary:
    """What a replay with a canary did, and what the canary found."""

    requests: int
    """Requests completed."""
    steps: int
    """Steps, each one forward in the canary's scope."""
    prefill_tokens: int
    """Prompt tokens written."""
    decode_tokens: int
    """Answer tokens written."""
    rejected_drafts: int
    """Draft tokens that were written and rolled back."""
    prefix_cache_hit_share: float
    """Share of the prompt tokens that the prefix cache supplied, 0 to 1."""
    evicted_blocks: int
    """Cached prompt blocks evicted for lack of pages."""
    evicted_window_pages: int
    """Cached window pages evicted for lack of pages in the window pool."""
    announced_prefixes: int
    """Calls of Canary.prefix_hit."""
    swept_entries: int
    """Entries that sweeps verified."""
    pool_slots: int
    """Slots that requests can get."""
    page_size: int
    """Slots in a page."""
    window: int
    """Tokens in the sliding window; 0 for none."""
    real_kv: str
    """Bytes that the stamps cover: none, partial or all."""
    slots_checked: int
    """Stamps verified, over all launches."""
    slots_stamped: int
    """Stamps made, over all launches."""
    canary_bytes: int
    """Bytes that the canary takes on the device."""
    fault: str | None
    """Name of the fault that was to be injected."""
    injected: Injected | None
    """What it did, or None where there is none or it found no victim."""
    injected_step: int | None
    """The step in which it struck."""
    found_step: int | None
    """The step whose poll gave the first finding."""
    findings: tuple[Finding, ...]
    """What the poll of that step gave."""
    backend: str
    """What ran the kernels: torch or triton, the latter perhaps under the interpreter."""
    device: str
    """Where they ran."""
    wall_seconds: float
    """Time for the whole replay."""
    canary_seconds: float
    """Time in the canary: its scopes and polls."""


def replay_with_canary(
    trace: Sequence[TraceRequest],
    settings: ReplaySettings,
    options: CanaryOptions = CanaryOptions(),
    *,
    injection: Injection | None = None,
    dump: Path | None = None,
    on_progress: Callable[[Progress], None] | None = None,
) -> CanarySummary:
    """Run a trace with a canary in every step, to its end or to the first finding.

    Args:
        trace: requests in order of arrival, at least one.
        settings: sizes, seed and device.
        options: how the canary is set.
        injection: a fault to inject; None for a clean replay.
        dump: where to write what the canary knew when it found something, or at the end.
        on_progress: called after every step.

    Raises:
        UsageError: the settings contradict each other or the trace.
    """
    engine = _CanaryEngine(trace, settings, options, injection=injection)
    with one_thread():
        started = time.perf_counter()
        while engine.has_work() and not engine.is_over:
            engine.step()
            if on_progress is not None:
                on_progress(engine.progress())
        if dump is not None:
            engine.dump(dump)
        return engine.finish(wall_seconds=time.perf_counter() - started)


class _CanaryEngine(Engine):
    """Runs each step inside the scope of a canary that collects its findings."""

    def __init__(
        self,
        trace: Sequence[TraceRequest],
        settings: ReplaySettings,
        options: CanaryOptions,
        *,
        injection: Injection | None,
    ) -> None:
        super().__init__(trace, settings)
        self._options = options
        self._injection = injection
        sizes, device = self._sizes, self._device
        full = PoolMemory.allocate(
            pages=sizes.pages + 1, page_size=sizes.page_size, mapping=None, device=device
        )
        pools = [full]
        window: WindowPool | None = None
        if self._mapping is not None:
            own = PoolMemory.allocate(
                pages=sizes.window_pages + 1,
                page_size=sizes.page_size,
                mapping=self._mapping,
                device=device,
            )
            pools.append(own)
            window = WindowPool(
                num_slots=own.num_slots,
                window_size=settings.window,
                full_to_swa_index_mapping=self._mapping,
                k_sources=own.sources("K"),
                v_sources=own.sources("V"),
            )
        config = CanaryConfig(
            mode="collect", real_kv=options.real_kv, hash_format=options.hash_format
        )
        most_tokens = settings.chunk + settings.max_batch * (2 + options.drafts)
        self._num_slots = full.num_slots
        # As many entries as slots, as by default; requests that share a prefix seldom want more.
        most_entries = settings.verify_capacity or min(sizes.verify_capacity, full.num_slots)
        self._canary = Canary(
            config,
            num_slots=full.num_slots,
            req_to_token=self._req_to_token,
            max_batch_size=settings.max_batch,
            max_tokens_per_forward=most_tokens,
            verify_capacity=most_entries,
            ring_capacity=_RING,
            k_sources=full.sources("K"),
            v_sources=full.sources("V"),
            window=window,
        )
        self._canary_bytes = Canary.allocation_bytes(
            config,
            num_slots=full.num_slots,
            req_to_token=self._req_to_token,
            max_batch_size=settings.max_batch,
            max_tokens_per_forward=most_tokens,
            verify_capacity=most_entries,
            ring_capacity=_RING,
            window=window,
        )
        self._canary.arm()
        self._memory = KvMemory(pools=tuple(pools), canary=self._canary)
        self._random = Random(settings.seed)
        self._bytes = torch.Generator().manual_seed(settings.seed)
        self._rows_before: dict[int, Tensor] = {}
        self._new_rows: set[int] = set()
        self._drafted: dict[int, int] = {}
        self._rejected_drafts = 0
        self._hit_tokens = 0
        self._announced = 0
        self._swept = 0
        self._canary_seconds = 0.0
        self._injected: Injected | None = None
        self._injected_step: int | None = None
        self._found_step: int | None = None
        self._found: tuple[Finding, ...] = ()
        self.is_over = False

    def dump(self, path: Path) -> None:
        """Write what the canary knows to a file."""
        self._canary.dump(path)

    def finish(self, *, wall_seconds: float) -> CanarySummary:
        """Close the canary and return what was done."""
        if not self.is_over and self._injected is None:
            self.check_books()
        self._canary.close()
        health = self._canary.health()
        pool = self._pool
        prompt_tokens = max(1, self._prompt_tokens)
        return CanarySummary(
            requests=self.progress().requests_done,
            steps=self._steps,
            prefill_tokens=self._prefill_tokens,
            decode_tokens=self._decode_tokens,
            rejected_drafts=self._rejected_drafts,
            prefix_cache_hit_share=self._hit_tokens / prompt_tokens,
            evicted_blocks=pool.evicted_blocks,
            evicted_window_pages=pool.evicted_twins,
            announced_prefixes=self._announced,
            swept_entries=self._swept,
            pool_slots=pool.pages * pool.page_size,
            page_size=pool.page_size,
            window=self._settings.window,
            real_kv=self._options.real_kv,
            slots_checked=health.slots_checked,
            slots_stamped=health.slots_stamped,
            canary_bytes=self._canary_bytes,
            fault=None if self._injection is None else self._injection.name,
            injected=self._injected,
            injected_step=self._injected_step,
            found_step=self._found_step,
            findings=self._found,
            backend=backend_name(self._device),
            device=str(self._device),
            wall_seconds=wall_seconds,
            canary_seconds=self._canary_seconds,
        )

    def admitted(self, request: RunningRequest) -> None:
        """Count what the prefix cache supplied."""
        self._hit_tokens += request.cached_length
        self._new_rows.add(request.row)

    def finished(self, request: RunningRequest) -> None:
        """Let the canary forget a row that is free."""
        self._canary.forget(request.row)

    def written(self, request: RunningRequest, count: int) -> int:
        """Return the tokens of a step, drafts among them while they fit in the page."""
        most = self._options.drafts
        if not most or request.cached_length < request.prompt_length:
            return count
        room = self._sizes.page_size - 1 - request.cached_length % self._sizes.page_size
        left = request.total_length - request.cached_length - 1
        wish = token_of(self._settings.seed, request.number, request.cached_length) % (most + 1)
        return count + min(room, left, wish)

    def _fill_tables(self, batch: tuple[BatchEntry, ...]) -> None:
        # A request's first step, and one that moved over to a cached block, fills cached positions.
        hits = [
            entry.request
            for entry in batch
            if entry.request is not None and entry.request.tabled_length < entry.prefix
        ]
        self._rows_before = {
            each.row: self._req_to_token[each.row].clone()
            for each in hits
            if each.row in self._new_rows
        }
        self._new_rows -= {entry.row for entry in batch}
        super()._fill_tables(batch)
        for request in hits:
            self._canary.prefix_hit(request.row, request.tokens[: request.cached_length])
            self._announced += 1

    def run_batch(self, batch: tuple[BatchEntry, ...]) -> None:
        """Run a step's forward in the canary's scope, with the fault if it strikes now."""
        inputs = self._inputs(batch)
        scene = self._scene(batch, inputs)
        self._strike(scene)
        started = time.perf_counter()
        with self._canary.forward(**inputs.arguments()):
            inside = time.perf_counter()
            for damage in scene.before_store:
                damage()
            real = inputs.out_cache_loc[: sum(each.extend for each in batch if each.request)]
            self._memory.store(real, self._bytes)
            for damage in scene.after_store:
                damage()
            outside = time.perf_counter() - inside
        self._sweep()
        found = self._canary.poll()
        self._canary_seconds += time.perf_counter() - started - outside
        self._verify_entries += sum(self._canary.health().checked.values())
        if found and self._found_step is None:
            self._found_step, self._found = self._steps, found
        self._decide_whether_over()
        self._reject_drafts(batch)

    def _strike(self, scene: Scene) -> None:
        injection = self._injection
        if injection is None or self._injected is not None or self._steps < injection.step:
            return
        self._injected = injection.inject(scene)
        if self._injected is not None:
            self._injected_step = self._steps

    def _decide_whether_over(self) -> None:
        steps_after = None if self._injection is None else self._injection.steps_after
        if steps_after is None:
            self.is_over = self._found_step is not None
        elif self._injected_step is not None:
            self.is_over = self._steps >= self._injected_step + steps_after

    def _inputs(self, batch: tuple[BatchEntry, ...]) -> Inputs:
        tokens: list[int] = []
        positions: list[int] = []
        slots: list[int] = []
        for entry in batch:
            request = entry.request
            first, last = entry.prefix, entry.prefix + entry.extend
            if request is None:
                tokens += [0] * entry.extend
                positions += [0] * entry.extend
                slots += [0] * entry.extend
                continue
            own = request.tokens[first:last]
            drafts = last - first - len(own)
            tokens += own + [self._random.randrange(VOCABULARY) for _ in range(drafts)]
            positions += range(first, last)
            slots += request.slots[first:last]
        return Inputs(
            req_pool_indices=self._int64([entry.row for entry in batch]),
            prefix_lens=self._int64([entry.prefix for entry in batch]),
            extend_seq_lens=self._int64([entry.extend for entry in batch]),
            input_ids=self._int64(tokens),
            positions=self._int64(positions),
            out_cache_loc=self._int64(slots),
        )

    def _scene(self, batch: tuple[BatchEntry, ...], inputs: Inputs) -> Scene:
        return Scene(
            step=self._steps,
            random=self._random,
            batch=batch,
            pool=self._pool,
            window=self._settings.window,
            columns=self._sizes.longest,
            num_slots=self._num_slots,
            table=self._req_to_token,
            mapping=self._mapping,
            rows_before=self._rows_before,
            drafted=self._drafted,
            inputs=inputs,
            memory=self._memory,
            covers_bytes=self._options.real_kv != "none",
        )

    def _reject_drafts(self, batch: tuple[BatchEntry, ...]) -> None:
        """Roll back what was drafted in this step, in the books and in the canary."""
        self._drafted = {}
        rows: list[int] = []
        lengths: list[int] = []
        for entry in batch:
            request = entry.request
            if request is None or request.cached_length < request.prompt_length:
                continue
            drafts = entry.extend - 1
            if not drafts:
                continue
            length = entry.prefix + 1
            self._drafted[request.number] = drafts
            self._rejected_drafts += drafts
            del request.slots[length:]
            request.tabled_length = min(request.tabled_length, length)
            rows.append(request.row)
            lengths.append(length)
        if rows:
            self._canary.rewind(rows, lengths)

    def _sweep(self) -> None:
        every = self._options.sweep_every
        if not every or (self._steps + 1) % every:
            return
        prefixes = _cached_prefixes(self._pool, seed=self._settings.seed)
        longest = max((len(slots) for slots, _ in prefixes), default=0)
        if not longest:
            return
        table = torch.zeros((len(prefixes) + 1, longest), dtype=torch.int32)
        tokens = torch.full_like(table, -1)
        for row, (slots, ids) in enumerate(prefixes, start=1):
            table[row, : len(slots)] = torch.tensor(slots, dtype=torch.int32)
            tokens[row, : len(ids)] = torch.tensor(ids, dtype=torch.int32)
        self._swept += self._canary.sweep(
            range(1, len(prefixes) + 1),
            [len(slots) for slots, _ in prefixes],
            table=table.to(self._device),
            tokens=tokens.to(self._device),
        )


def _cached_prefixes(pool: PagedPool, *, seed: int) -> list[tuple[list[int], list[int]]]:
    """Return slots and tokens of every cached prefix that no longer one begins with."""
    block_tokens = pool.block_pages * pool.page_size
    return [
        (
            [slot for block in path for page in block.pages for slot in pool.slots_of(page)],
            [token_of(seed, block.hash_id, i) for block in path for i in range(block_tokens)],
        )
        for path in pool.cached_paths()
    ]
