"""What a canary adds to a whole decode step: a captured forward with it, beside one without.

The step is 256 requests of 4,096 cached tokens. Its "model" writes K and V of the new tokens and
nothing else, so that the difference is the canary's; its share is told of a step of 20 ms.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator

import torch

from kv_canary.canary.canary import Canary
from kv_canary.canary.config import CanaryConfig, RealKv
from kv_canary_kernels.structs import RealKvSource

REQUESTS, CACHED = 256, 4096
WIDTH = 128
"""Values of float16 a token, in K and in V."""
STEP_US = 20_000.0
ROUNDS = 40


def rows() -> Iterator[str]:
    """One line a figure."""
    for page in (1, 64):
        plain = _step_us(None, page)
        yield f"step without a canary, pages of {page:2d}               {plain:9.1f} us"
        for real_kv in ("none", "partial"):
            whole = _step_us(real_kv, page)
            added = whole - plain
            yield (
                f"step with a canary, pages of {page:2d}, real_kv={real_kv:8s}{whole:9.1f} us"
                f"   adds {added:7.1f} us, {100 * added / STEP_US:5.2f} % of a step of 20 ms"
            )


def _step_us(real_kv: RealKv | None, page: int) -> float:
    """Median microseconds of a replayed step, the L2 swept before each; None: no canary."""
    slots_of_each = (CACHED + 1 + page - 1) // page * page
    num_slots = (REQUESTS * slots_of_each // page + 1) * page
    generator = torch.Generator(device="cuda").manual_seed(1)
    order = torch.randperm(num_slots // page - 1, generator=generator, device="cuda") + 1
    slots = (order[:, None] * page + torch.arange(page, device="cuda")).view(REQUESTS, -1)
    table = torch.zeros(REQUESTS + 1, slots_of_each, dtype=torch.int32, device="cuda")
    table[1:] = slots.to(torch.int32)
    caches = [torch.randn(num_slots, WIDTH, device="cuda").half() for _ in range(2)]
    tokens = torch.randint(1, 100_000, (REQUESTS, CACHED + 1), device="cuda")
    new = torch.randn(REQUESTS, WIDTH, device="cuda").half()
    batch = {
        "req_pool_indices": torch.arange(1, REQUESTS + 1, device="cuda"),
        "prefix_lens": torch.full((REQUESTS,), CACHED, device="cuda"),
        "extend_seq_lens": torch.ones(REQUESTS, dtype=torch.int64, device="cuda"),
        "input_ids": tokens[:, CACHED].contiguous(),
        "positions": torch.full((REQUESTS,), CACHED, device="cuda"),
        "out_cache_loc": slots[:, CACHED].to(torch.int64).contiguous(),
    }

    def model() -> None:
        for cache in caches:
            cache[batch["out_cache_loc"]] = new

    if real_kv is None:
        return _replayed_us(model)
    row_values = WIDTH * page
    sources = [
        RealKvSource(cache.view(-1, row_values), page, 2 * WIDTH, 2 * WIDTH) for cache in caches
    ]
    canary = Canary(
        CanaryConfig(mode="collect", real_kv=real_kv),
        num_slots=num_slots,
        req_to_token=table,
        max_batch_size=REQUESTS,
        max_tokens_per_forward=REQUESTS * CACHED,
        verify_capacity=REQUESTS * CACHED,
        k_sources=sources[:1],
        v_sources=sources[1:],
    )
    canary.arm()
    positions = torch.arange(CACHED, device="cuda").repeat(REQUESTS)
    with canary.forward(
        req_pool_indices=batch["req_pool_indices"],
        prefix_lens=torch.zeros_like(batch["prefix_lens"]),
        extend_seq_lens=batch["prefix_lens"],
        input_ids=tokens[:, :CACHED].reshape(-1).contiguous(),
        positions=positions,
        out_cache_loc=slots[:, :CACHED].reshape(-1).to(torch.int64).contiguous(),
    ):
        pass

    def step() -> None:
        with canary.forward(**batch):
            model()

    us = _replayed_us(step)
    findings = canary.poll(wait=True)
    if findings:
        raise AssertionError(f"a clean step was found at fault: {findings[0]}")
    canary.close()
    return us


def _replayed_us(call: Callable[[], None]) -> float:
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    swept = torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
    samples = []
    for number in range(ROUNDS):
        swept.fill_(number)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        samples.append(start.elapsed_time(end) * 1e3)
    return statistics.median(samples)
