"""The canary on a GPU: captured and replayed with changing batches, waiting and allocating nothing.

Every test runs on a GPU, or skips and says why.
"""

import gc
import importlib.util
import os
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from kv_canary import Canary, CanaryConfig, CanaryLaunchTag, ContractError, RealKvSource

pytestmark = pytest.mark.gpu

REPLAYS = 1000
STEP, SLOT = 5, 1
ROWS = 8
LONGEST = 40


@pytest.fixture(scope="module")
def engine_type():
    """The small engine, `tests/canary_engine.py`."""
    if not torch.cuda.is_available():
        pytest.skip("no GPU that torch can use")
    if os.environ.get("TRITON_INTERPRET") == "1":
        pytest.skip("TRITON_INTERPRET=1 puts Triton's interpreter in the GPU's place")
    path = Path(__file__).parent / "canary_engine.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module.Engine


@pytest.fixture
def engine_on_gpu(engine_type):
    """A function that makes an engine on the GPU."""

    def engine_on_gpu(config=None, **settings):
        return engine_type(
            config or CanaryConfig(mode="collect", real_kv="all"),
            device="cuda",
            **{"num_slots": 600, "rows": ROWS + 1, **settings},
        )

    return engine_on_gpu


class CapturedDecode:
    """One captured forward of ROWS requests with a token each, and the eager prefills around it."""

    def __init__(self, engine):
        self.engine = engine
        for _ in range(ROWS):
            self.begin()
        self.work = [(request, 1) for request in engine.running]
        self.static = engine.batch(self.work)
        self.new_bytes = [
            torch.zeros((ROWS, *view.shape[len(where) :]), dtype=view.dtype, device="cuda")
            for view, where in engine.byte_views(self.static["out_cache_loc"])
        ]
        self.graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph), engine.canary.forward(**self.static):
            views = engine.byte_views(self.static["out_cache_loc"])
            for (view, where), new in zip(views, self.new_bytes, strict=True):
                view[where] = new
            assert engine.canary.poll() == ()

    def begin(self):
        engine = self.engine
        request = engine.start(engine.draw(LONGEST))
        engine.step([(request, engine.random.randint(1, 12))])

    def replay(self):
        """Give every row a token; a request that is as long as can be makes place for another."""
        engine = self.engine
        for request in list(engine.running):
            if request.cached == LONGEST:
                engine.finish(request, keeps=False)
                self.begin()
        work = [(request, 1) for request in engine.running]
        for name, tensor in engine.batch(work).items():
            self.static[name].copy_(tensor)
        for new in self.new_bytes:
            new.copy_(torch.randint(0, 255, new.shape, device="cuda").to(new.dtype))
        self.graph.replay()
        engine.advance(work)


def damage_bytes(engine, request):
    engine.v[request.slots[2], 3] += 1
    return request.slots[2]


def damage_stamp(engine, request):
    tail = engine.canary._state.groups[0].halves[1].tail.view(torch.int64)
    tail[request.slots[2], 0] += 1
    return request.slots[2]


def damage_table(engine, request):
    engine.req_to_token[request.row, 2] += 7
    return request.slots[2] + 7


@pytest.mark.parametrize("window", [0, 6])
@pytest.mark.parametrize("damage", [damage_bytes, damage_stamp, damage_table])
def test_fault_between_a_thousand_replays_is_found_in_its_step(engine_on_gpu, damage, window):
    engine = engine_on_gpu(window=window, seed=5)
    decode = CapturedDecode(engine)
    canary = engine.canary
    for replay in range(REPLAYS):
        decode.replay()
        if replay % 50 == 0:
            assert canary.poll() == ()
    assert canary.poll(wait=True) == ()
    health = canary.health()
    assert (health.forwards_captured, health.violations, health.is_stalled) == (1, 0, False)
    # The captured one did not run when it was captured.
    assert health.forwards_on_device == health.forwards + REPLAYS

    # Long enough to be read, and short enough to go on.
    request = next(r for r in engine.running if 4 < r.cached < LONGEST - 1)
    step = int(canary._state.forward_number)
    slot = damage(engine, request)
    begun = health.forwards
    decode.replay()
    found = canary.poll(wait=True)
    assert found
    eager = canary.health().forwards - begun
    snapshot = canary.snapshot()
    assert slot in snapshot.violations[:, SLOT].tolist()
    # In the first forward that reads it: the replay, after the prefills that came before it.
    assert set(snapshot.evidence[:, STEP].tolist()) == {step + eager}
    assert snapshot.steps[-1].step == step + eager
    assert snapshot.steps[-1].captured
    assert snapshot.steps[-1].req_pool_indices.tolist() == []


def test_random_batches_give_no_finding_and_the_stamps_of_the_reference(engine_type):
    for seed in range(4):
        for window in (0, 6):
            config = CanaryConfig(mode="collect", hash_format=("serial", "parallel")[seed % 2])
            engines = [
                engine_type(config, device=device, window=window, has_sources=False, seed=seed)
                for device in ("cuda", "cpu")
            ]
            snapshots = []
            for engine in engines:
                engine.run_randomly(40)
                assert engine.canary.poll(wait=True) == ()
                snapshots.append(engine.canary.snapshot())
            on_gpu, on_cpu = snapshots
            assert torch.equal(on_gpu.expected_valid, on_cpu.expected_valid)
            for ours, theirs in zip(on_gpu.groups, on_cpu.groups, strict=True):
                for half, other in zip(ours.halves, theirs.halves, strict=True):
                    # Slot 0 is written by all that is padding, in no order.
                    assert torch.equal(half.head[1:], other.head[1:])
                    assert torch.equal(half.tail[1:], other.tail[1:])


def test_sources_give_no_finding(engine_on_gpu):
    for seed in range(4):
        engine = engine_on_gpu(
            CanaryConfig(mode="collect", real_kv=("partial", "all")[seed % 2], bracket=True),
            window=6,
            seed=seed,
        )
        engine.run_randomly(60)
        assert engine.canary.poll(wait=True) == ()


@contextmanager
def synchronizing_is_an_error():
    """Let every wait of torch's for the device raise."""

    def set_mode(mode):
        with warnings.catch_warnings():
            # Torch says that the mode is a prototype.
            warnings.simplefilter("ignore")
            torch.cuda.set_sync_debug_mode(mode)

    set_mode("error")
    try:
        yield
    finally:
        set_mode("default")


def memory():
    stats = torch.cuda.memory_stats()
    return {
        "allocated": torch.cuda.memory_allocated(),
        "reserved": torch.cuda.memory_reserved(),
        "allocations so far": stats["allocation.all.allocated"],
        "segments so far": stats["segment.all.allocated"],
    }


@pytest.mark.parametrize("window", [0, 6])
def test_forward_and_poll_allocate_nothing_and_wait_for_nothing(engine_on_gpu, window):
    engine = engine_on_gpu(CanaryConfig(mode="raise", bracket=True), window=window)
    request = engine.start(engine.draw(20))
    engine.step([(request, 8)])
    batch = engine.batch([(request, 3)], padding=2)
    canary = engine.canary
    torch.cuda.synchronize()
    before = memory()
    with synchronizing_is_an_error():
        # The same tokens are written again and again, as far as the canary can see.
        for _ in range(50):
            with canary.forward(**batch):
                pass
            canary.poll()
    torch.cuda.synchronize()
    assert memory() == before


def test_canary_takes_what_it_said(engine_type):
    engine = engine_type(device="cuda", window=6)
    arguments = engine.arguments
    gc.collect()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    canary = Canary(CanaryConfig(mode="raise"), **arguments)
    taken = torch.cuda.memory_allocated() - before
    said = Canary.allocation_bytes(CanaryConfig(mode="raise"), **arguments)
    count = sum(1 for _ in canary._state.tensors())
    # The allocator gives out multiples of 512 bytes.
    assert said <= taken <= said + 512 * (count + 4)


def test_poll_does_not_wait_for_a_busy_stream(engine_on_gpu):
    engine = engine_on_gpu()
    request = engine.start(engine.draw(20))
    engine.step([(request, 8)])
    assert engine.canary.poll(wait=True) == ()
    damage_bytes(engine, request)
    batch = engine.batch([(request, 1)])
    torch.cuda.synchronize()
    torch.cuda._sleep(2_000_000_000)
    with engine.canary.forward(**batch):
        pass
    assert [engine.canary.poll() for _ in range(3)] == [()] * 3
    assert not torch.cuda.current_stream().query(), "poll waited, or the forward ran elsewhere"
    torch.cuda.synchronize()
    assert engine.canary.poll() != ()


def test_forward_is_on_the_current_stream(engine_on_gpu):
    engine = engine_on_gpu()
    request = engine.start(engine.draw(30))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(10):
            engine.step([(request, 2)])
        assert engine.canary.poll(wait=True) == ()
        assert engine.canary.health().forwards_on_device == 10


def capture(body):
    """Capture what a function does, beside something that is there if it does nothing."""
    counter = torch.zeros(1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        counter.add_(1)
        body()
    return graph


@pytest.mark.parametrize("mode", ["log", "collect", "raise"])
def test_capture_before_arm_is_refused_in_every_mode(engine_on_gpu, mode):
    engine = engine_on_gpu(CanaryConfig(mode=mode), arms=False)
    batch = engine.batch([(engine.start(engine.draw(4)), 4)])

    def body():
        with pytest.raises(ContractError) as caught, engine.canary.forward(**batch):
            pass
        assert str(caught.value) == (
            "kv-canary: a graph that is captured before arm() would never verify anything"
        )

    capture(body)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("snapshot", ()),
        ("sweep", ([1], [1])),
        ("close", ()),
        ("prefix_hit", (1, [1])),
        ("forget", (1,)),
        ("rewind", ([1], [1])),
    ],
)
def test_what_waits_is_refused_inside_a_capture(engine_on_gpu, name, arguments):
    engine = engine_on_gpu()

    def body():
        with pytest.raises(ContractError) as caught:
            getattr(engine.canary, name)(*arguments)
        assert str(caught.value) == (
            f"kv-canary: {name} was called while this stream is capturing a graph"
        )

    capture(body)


def test_graph_outlives_its_canary(engine_on_gpu):
    """What a replay writes to is not given back, neither by close nor with the object."""
    engine = engine_on_gpu()
    decode = CapturedDecode(engine)
    decode.replay()
    state = engine.canary._state
    counter = state.forward_number
    before = int(counter)
    assert engine.canary.close() == ()
    engine.canary = None
    gc.collect()
    allocated = torch.cuda.memory_allocated()
    del state
    gc.collect()
    assert torch.cuda.memory_allocated() == allocated
    decode.graph.replay()
    assert int(counter) == before + 1


def test_sweep_finds_what_no_forward_reads(engine_on_gpu):
    engine = engine_on_gpu(verify_capacity=7)
    requests = [engine.start(engine.draw(30)) for _ in range(3)]
    for request in requests:
        engine.step([(request, 20)])
    slot = damage_bytes(engine, requests[1])
    assert engine.canary.sweep([request.row for request in requests], [20] * 3) == 60
    snapshot = engine.canary.snapshot()
    assert [(CanaryLaunchTag(row[0]).name, row[SLOT]) for row in snapshot.violations.tolist()] == [
        ("SWEEP_V_FULL", slot)
    ]


def test_source_on_the_cpu_is_refused_when_made(engine_on_gpu):
    engine = engine_on_gpu()
    source = RealKvSource(engine.v.cpu(), 1, 32, 32)
    with pytest.raises(ContractError) as caught:
        Canary(CanaryConfig(), **{**engine.arguments, "v_sources": [source]})
    assert str(caught.value) == (
        "kv-canary: real_kv_sources[0].tensor must be on canary_buf's device cuda:0, got cpu"
    )
    assert caught.value.__notes__[-1] == "where: v_sources[0], of the full pool"
