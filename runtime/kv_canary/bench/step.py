"""What a canary adds to a whole decode step: a captured forward with it, beside one without.

The step's "model" writes K and V of the new tokens and nothing else, so that the difference is the
canary's. With a window, a second pool has the same slots in another order, and K and V of its own.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator

import torch

from kv_canary.bench.results import LeftOut, StepResult
from kv_canary.bench.timing import DEVICE, ROUNDS, SWEPT_BYTES, captured, host_us, replay_us
from kv_canary.canary.canary import Canary
from kv_canary.canary.config import CanaryConfig, RealKv, WindowPool
from kv_canary.errors import BenchmarkMismatchError
from kv_canary_kernels.structs import RealKvSource

REQUESTS, CACHED, WINDOW = 256, 4096, 128
WIDTH = 128
"""Values of float16 a token, in K and in V."""
LAYOUTS: tuple[tuple[int, int], ...] = ((1, 0), (64, 0), (64, WINDOW))
"""Slots that lie together, and size of the window; 0 for none."""
COVERED: tuple[RealKv, ...] = ("none", "partial", "all")


def results(step_ms: int, *, quick: bool = False) -> Iterator[StepResult | LeftOut]:
    """Yield a result a layout of the cache and kind of cover.

    Args:
        step_ms: length of a decode step that shares are told of.
        quick: only slots in pages, and only a part of the bytes covered.

    Raises:
        BenchmarkMismatchError: a canary did not check what it should have, or found something.
    """
    layouts = tuple(each for each in LAYOUTS if each[0] > 1) if quick else LAYOUTS
    for page, window in layouts:
        try:
            yield from _timed(page, window, ("partial",) if quick else COVERED, step_ms)
        except torch.cuda.OutOfMemoryError:
            yield LeftOut(case=f"step, pages of {page}", why="the card's memory is full")
        torch.cuda.empty_cache()


class WholeStep:
    """A batch of an engine that decodes: its tables, its caches of K and V, and a step.

    Args:
        device: Where everything is.
        requests: Requests of the batch.
        cached: Cached tokens of each.
        page: Slots that lie together.
        window: Size of the sliding window; 0 for no second pool.
    """

    def __init__(self, device: str, *, requests: int, cached: int, page: int, window: int) -> None:
        self.requests, self.cached, self.page, self.window = requests, cached, page, window
        self.device = device
        slots_of_each = (cached + 1 + page - 1) // page * page
        self.num_slots = (requests * slots_of_each // page + 1) * page
        generator = torch.Generator(device=device).manual_seed(1)

        def order(count: int) -> torch.Tensor:
            return torch.randperm(count - 1, generator=generator, device=device) + 1

        pages = order(self.num_slots // page)
        slots = pages[:, None] * page + torch.arange(page, device=device)
        self.slots = slots.view(requests, -1)
        self.table = torch.zeros(requests + 1, slots_of_each, dtype=torch.int32, device=device)
        self.table[1:] = self.slots.to(torch.int32)
        self.mapping = torch.zeros(self.num_slots, dtype=torch.int64, device=device)
        self.mapping[1:] = order(self.num_slots)
        self.tokens = torch.randint(
            1, 100_000, (requests, cached + 1), generator=generator, device=device
        )
        self.caches = [self._values(generator, self.num_slots) for _ in range(4 if window else 2)]
        self.new = self._values(generator, requests)
        self.batch = self._batch(slice(cached, cached + 1))

    def _values(self, generator: torch.Generator, rows: int) -> torch.Tensor:
        return torch.randn(
            rows, WIDTH, generator=generator, dtype=torch.float16, device=self.device
        )

    def _batch(self, columns: slice) -> dict[str, torch.Tensor]:
        """Keywords of a forward that writes some columns of every request."""
        count = columns.stop - columns.start
        positions = torch.arange(columns.start, columns.stop, device=self.device)
        whole = torch.full((self.requests,), 1, dtype=torch.int64, device=self.device)
        return {
            "req_pool_indices": torch.arange(1, self.requests + 1, device=self.device),
            "prefix_lens": whole * columns.start,
            "extend_seq_lens": whole * count,
            "input_ids": self.tokens[:, columns].reshape(-1).contiguous(),
            "positions": positions.repeat(self.requests),
            "out_cache_loc": self.slots[:, columns].reshape(-1).contiguous(),
        }

    def model(self) -> None:
        """Write K and V of the new tokens."""
        slots = self.batch["out_cache_loc"]
        for number, cache in enumerate(self.caches):
            cache[slots if number < 2 else self.mapping[slots]] = self.new

    def canary(self, real_kv: RealKv) -> Canary:
        """Return a canary that saw every cached token written.

        Args:
            real_kv: how much of the bytes it covers.
        """
        sources = [
            RealKvSource(cache.view(-1, WIDTH * self.page), self.page, 2 * WIDTH, 2 * WIDTH)
            for cache in self.caches
        ]
        window = None
        if self.window:
            window = WindowPool(
                num_slots=self.num_slots,
                window_size=self.window,
                full_to_swa_index_mapping=self.mapping,
                k_sources=sources[2:3],
                v_sources=sources[3:],
            )
        canary = Canary(
            CanaryConfig(mode="collect", real_kv=real_kv),
            num_slots=self.num_slots,
            req_to_token=self.table,
            max_batch_size=self.requests,
            max_tokens_per_forward=self.requests * self.cached,
            verify_capacity=self.requests * self.cached,
            k_sources=sources[:1],
            v_sources=sources[1:2],
            window=window,
        )
        canary.arm()
        with canary.forward(**self._batch(slice(0, self.cached))):
            pass
        return canary

    def forward(self, canary: Canary) -> None:
        """Run the step with a canary.

        Args:
            canary: one that `canary` made.
        """
        with canary.forward(**self.batch):
            self.model()

    def check(self, canary: Canary) -> None:
        """Raise unless the last forward checked every cached token, and none found anything.

        Args:
            canary: one that ran this step at least once.

        Raises:
            BenchmarkMismatchError: it did not, or one did.
        """
        findings = canary.poll(wait=True)
        checked = canary.health().checked
        wanted = {"full": self.requests * self.cached}
        if self.window:
            wanted["window"] = self.requests * min(self.window, self.cached)
        if findings or checked != wanted:
            what = f"{findings[0]}" if findings else f"checked {checked}, not {wanted}"
            raise BenchmarkMismatchError(case="whole step", kernel="canary", what=what)


def _timed(
    page: int, window: int, covered: tuple[RealKv, ...], step_ms: int
) -> Iterator[StepResult]:
    step = WholeStep(DEVICE, requests=REQUESTS, cached=CACHED, page=page, window=window)
    plain, plain_host = _step_us(step.model), host_us(step.model)
    for real_kv in covered:
        canary = step.canary(real_kv)

        def forward(canary: Canary = canary) -> None:
            step.forward(canary)

        # Eager calls first: no count of theirs is mixed with a graph's.
        host = host_us(forward)
        us = _step_us(forward)
        step.check(canary)
        canary.close()
        yield StepResult(
            case=f"{REQUESTS} x {CACHED:,}",
            groups=f"full and window {window}" if window else "full",
            page=page,
            real_kv=real_kv,
            plain_us=plain,
            us=us,
            plain_host_us=plain_host,
            host_us=host,
            step_ms=step_ms,
            checked=True,
        )


def _step_us(call: Callable[[], None]) -> float:
    """Return the median microseconds of a replayed step, the L2 swept before each."""
    call()
    graph = captured(call)
    swept = torch.empty(SWEPT_BYTES, dtype=torch.uint8, device=DEVICE)
    samples = []
    for number in range(ROUNDS):
        swept.fill_(number)
        samples.append(replay_us(graph))
    return statistics.median(samples)
