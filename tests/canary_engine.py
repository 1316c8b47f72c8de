"""A small engine for the canary's tests: paged K and V, shared prefixes, a window, a canary.

It keeps its own books in Python, knows nothing of how a canary works, and never damages anything by
itself. Tests damage its tensors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import torch

from kv_canary import Canary, CanaryConfig, RealKvSource, WindowPool

PAGE = 4
BYTES = 32
VOCABULARY = 1000


@dataclass
class Request:
    """One running request."""

    row: int
    tokens: list[int]
    slots: list[int] = field(default_factory=list)
    cached: int = 0
    shared: int = 0


class Engine:
    """Runs batches of requests on a paged pool, with a canary around each forward."""

    def __init__(
        self,
        config: CanaryConfig | None = None,
        *,
        device: str = "cpu",
        num_slots: int = 160,
        rows: int = 9,
        columns: int = 48,
        window: int = 0,
        window_slots: int = 0,
        has_sources: bool = True,
        seed: int = 0,
        announces: bool = True,
        arms: bool = True,
        **sizes: int,
    ) -> None:
        self.random = Random(seed)
        self.device = torch.device(device)
        self.num_slots = num_slots
        self.req_to_token = torch.zeros((rows, columns), dtype=torch.int32, device=device)
        pages = -(-num_slots // PAGE)
        # K in two sources, one of them a layer of a buffer of two, with a hole after each page.
        self.k = torch.zeros((pages, PAGE * BYTES), dtype=torch.uint8, device=device)
        layers = torch.zeros((pages, 2, PAGE * BYTES + 16), dtype=torch.uint8, device=device)
        self.k_layer = layers[:, 1]
        self.v = torch.zeros((num_slots, BYTES // 2), dtype=torch.float16, device=device)
        self.window = window
        self.window_slots = window_slots or num_slots
        self.mapping = torch.zeros(num_slots, dtype=torch.int64, device=device)
        self.window_k = torch.zeros((self.window_slots, BYTES), dtype=torch.uint8, device=device)
        self.window_of = [0] * num_slots
        self.free_window = list(range(1, self.window_slots))
        self.free = list(range(1, num_slots))
        self.random.shuffle(self.free)
        self.free_rows = list(range(1, rows))
        self.running: list[Request] = []
        self.cache: list[tuple[list[int], list[int]]] = []
        self.announces = announces
        sources = {}
        if has_sources:
            sources = {
                "k_sources": [
                    RealKvSource(self.k, PAGE, BYTES, BYTES),
                    RealKvSource(self.k_layer, PAGE, BYTES, BYTES - 16),
                ],
                "v_sources": [RealKvSource(self.v, 1, BYTES, BYTES)],
            }
        pool = None
        if window:
            pool = WindowPool(
                num_slots=self.window_slots,
                window_size=window,
                full_to_swa_index_mapping=self.mapping,
                k_sources=[RealKvSource(self.window_k, 1, BYTES, BYTES)] if has_sources else [],
            )
        self.arguments = {
            "num_slots": num_slots,
            "req_to_token": self.req_to_token,
            "max_batch_size": 8,
            "max_tokens_per_forward": 64,
            "window": pool,
            **sources,
            **sizes,
        }
        self.canary = Canary(config or CanaryConfig(mode="collect"), **self.arguments)
        if arms:
            self.canary.arm()

    def start(
        self, tokens: list[int], *, row: int | None = None, hit: int | None = None
    ) -> Request:
        """Begin a request; with `hit`, the cached sequence of that number is its prefix."""
        row = self.free_rows.pop() if row is None else row
        if row in self.free_rows:
            self.free_rows.remove(row)
        request = Request(row=row, tokens=list(tokens))
        if hit is not None:
            cached_tokens, cached_slots = self.cache[hit]
            request.tokens = [*cached_tokens, *tokens]
            request.slots = list(cached_slots)
            request.cached = request.shared = len(cached_tokens)
            self.fill_row(request)
            if self.announces:
                self.canary.prefix_hit(row, cached_tokens)
        self.running.append(request)
        return request

    def fill_row(self, request: Request, first: int = 0) -> None:
        """Put a request's slots into its row, from one position on."""
        slots = torch.tensor(request.slots[first:], dtype=torch.int32)
        self.req_to_token[request.row, first : first + len(slots)] = slots.to(self.device)

    def allocate(self, request: Request, count: int) -> None:
        """Give a request slots for its next tokens."""
        first = len(request.slots)
        for _ in range(count):
            slot = self.free.pop()
            request.slots.append(slot)
            if self.window:
                self.map(slot, self.free_window.pop())
        self.fill_row(request, first)

    def map(self, slot: int, window_slot: int) -> None:
        """Give a slot its slot of the window pool, or 0."""
        if self.window_of[slot]:
            self.free_window.append(self.window_of[slot])
        self.window_of[slot] = window_slot
        self.mapping[slot] = window_slot

    def batch(
        self, work: list[tuple[Request, int]], *, padding: int = 0
    ) -> dict[str, torch.Tensor]:
        """Return the arguments of `forward` for requests and how many tokens each writes."""
        rows, prefixes, extends = [], [], []
        tokens, positions, slots = [], [], []
        for request, count in work:
            missing = request.cached + count - len(request.slots)
            if missing > 0:
                self.allocate(request, missing)
            first, last = request.cached, request.cached + count
            rows.append(request.row)
            prefixes.append(first)
            extends.append(count)
            tokens += request.tokens[first:last]
            positions += range(first, last)
            slots += request.slots[first:last]
        # As engines do it: row 0, lengths that say nothing, a token each that goes to slot 0.
        rows += [0] * padding
        prefixes += [3] * padding
        extends += [1] * padding
        tokens += [0] * padding
        positions += [0] * padding
        slots += [0] * padding
        return {
            name: torch.tensor(values, dtype=torch.int64, device=self.device)
            for name, values in {
                "req_pool_indices": rows,
                "prefix_lens": prefixes,
                "extend_seq_lens": extends,
                "input_ids": tokens,
                "positions": positions,
                "out_cache_loc": slots,
            }.items()
        }

    def write_kv(self, batch: dict[str, torch.Tensor]) -> None:
        """Write the bytes of a batch's tokens, as the model would."""
        slots = batch["out_cache_loc"]
        slots = slots[slots >= 0]
        for view, where in self.byte_views(slots):
            view[where] = torch.randint(
                0, 255, (len(slots), *view.shape[len(where) :]), device=self.device
            ).to(view.dtype)

    def byte_views(
        self, slots: torch.Tensor
    ) -> list[tuple[torch.Tensor, tuple[torch.Tensor, ...]]]:
        """Return each buffer of K and V, and where the slots' bytes are in it."""
        paged = (slots // PAGE, slots % PAGE)
        views = [
            (self.k.unflatten(1, (PAGE, BYTES)), paged),
            (self.k_layer[:, : PAGE * BYTES].unflatten(1, (PAGE, BYTES)), paged),
            (self.v, (slots,)),
        ]
        if self.window:
            views.append((self.window_k, (self.mapping[slots],)))
        return views

    def step(self, work: list[tuple[Request, int]], *, padding: int = 0) -> None:
        """Run one forward, and note that its tokens are cached."""
        batch = self.batch(work, padding=padding)
        with self.canary.forward(**batch):
            self.write_kv(batch)
        self.advance(work)

    def advance(self, work: list[tuple[Request, int]]) -> None:
        """Note that a forward's tokens are cached."""
        for request, count in work:
            request.cached += count
            if self.window:
                # A shared prefix keeps its window slots; what is the request's own gives them back.
                for slot in request.slots[request.shared : max(0, request.cached - self.window)]:
                    if self.window_of[slot]:
                        self.map(slot, 0)

    def finish(self, request: Request, *, keeps: bool) -> None:
        """End a request; its tokens stay cached for others, or its slots are free."""
        self.running.remove(request)
        self.free_rows.append(request.row)
        if keeps:
            self.cache.append((request.tokens[: request.cached], request.slots[: request.cached]))
            return
        for slot in request.slots[request.shared :]:
            self.free.append(slot)
            if self.window and self.window_of[slot]:
                self.map(slot, 0)

    def draw(self, count: int) -> list[int]:
        """Return random token ids."""
        return [self.random.randrange(VOCABULARY) for _ in range(count)]

    def run_randomly(self, steps: int) -> None:
        """Run steps of requests that come, share prefixes, prefill in chunks, decode and end."""
        random = self.random
        for _ in range(steps):
            while len(self.running) < 5 and random.random() < 0.6:
                hit = None
                if self.cache and random.random() < 0.5:
                    hit = random.randrange(len(self.cache))
                self.start(self.draw(random.randint(1, 14)), hit=hit)
            work = []
            for request in self.running:
                left = len(request.tokens) - request.cached
                if random.random() < 0.85:
                    work.append((request, min(left, random.randint(1, 6))))
            if not work:
                continue
            self.step(work, padding=random.randint(0, 2))
            for request, _ in work:
                if request.cached < len(request.tokens):
                    continue
                if request.cached < 26 and random.random() < 0.7:
                    request.tokens += self.draw(1)
                else:
                    keeps = len(self.cache) < 3 and request.cached < 24
                    self.finish(request, keeps=keeps)
