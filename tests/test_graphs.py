"""The plan on a GPU's streams: replayed from a graph, two at once, unwaited for, on its device.

What a replay must show is compared as in the guard zones: every tensor lies in one poisoned buffer
per dtype, new inputs are copied into it, and after the replay the whole buffer is compared.
"""

import itertools
import os
import subprocess
import sys
import warnings
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
import torch

pytestmark = [pytest.mark.gpu, pytest.mark.parametrize("backend", ["gpu"], indirect=True)]

REPOSITORY = Path(__file__).parent.parent
REPLAYS = 60
LAUNCHES = 100

OPTIONAL = (
    "full_to_swa_index_mapping",
    "req_to_verify_expected_tokens",
    "req_to_verify_expected_tokens_valid_lens",
    "verify_rotation",
)


@pytest.fixture(autouse=True)
def on_gpu(backend):
    """Every test here runs on the GPU, or skips and says why."""


@pytest.fixture
def frame_with(frame_type):
    """A function that makes a frame; its batches ask for more and for less than it holds."""

    def frame_with(*, window=False, tokens=False, rotation=False, bs=12):
        return frame_type(
            bs=bs,
            max_reqs=9,
            max_seq_len=300,
            lut_len=700 if window else None,
            token_shape=(9, 310) if tokens else None,
            has_valid_lens=tokens,
            verify_capacity=bs * (30 if window else 130),
            write_req_capacity=bs + 4,
            swa_window_size=40 if window else 0,
            token_offset=1,
            has_rotation=rotation,
            has_total=rotation,
        )

    return frame_with


def warm_up_for(arena):
    """Load what launches of an arena need, and nothing else."""
    from kv_canary_kernels.launchers.plan import warm_up_plan

    given = {name: name in arena.tensors for name in OPTIONAL}
    assert warm_up_plan(device="cuda", **given) >= 1


def mixture(**given):
    """A parameter set, called after what is given."""
    return pytest.param(*given.values(), id="-".join(["plan", *(n for n in given if given[n])]))


EVERY_MIXTURE = [
    mixture(window=window, tokens=tokens, rotation=rotation)
    for window, tokens, rotation in itertools.product([False, True], repeat=3)
]


@pytest.mark.parametrize(("window", "tokens", "rotation"), EVERY_MIXTURE)
def test_captured_plan_replays_new_inputs(
    oracle, plan_arena_type, frame_with, window, tokens, rotation
):
    random = Random(f"replays {window} {tokens} {rotation}")
    frame = frame_with(window=window, tokens=tokens, rotation=rotation)
    arena = plan_arena_type(frame, "cuda", random)
    warm_up_for(arena)
    arena.load(frame.batch(random, 0.0))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        arena.launch()
    assert arena.difference() is None, "the capture itself ran the plan"

    seen = set()
    start = [0]
    for _ in range(REPLAYS):
        batch = frame.batch(random, random.choice([0.0, 0.0, 0.1, 0.5]))
        if rotation and random.random() < 0.7:
            batch["verify_rotation"] = start  # mostly, it goes on where the last replay ended
        arena.load(batch)
        graph.replay()
        plan = arena.expect_plan_of(oracle, batch)
        assert arena.difference() is None
        if rotation:
            start = [plan.verify_rotation]
        full = plan.verify_num_valid == frame.verify_capacity
        seen.add("over" if full else "within")
    assert seen == {"over", "within"}, "every replay asked for more than the plan holds, or none"


COLD_KERNEL = (
    "kv-canary: the plan kernel is not loaded on cuda:0 and this stream is capturing a graph; "
    "call warm_up before the capture"
)
COLD_CAPTURE = """
import torch
from kv_canary_kernels import ContractError, VerifyPlan, WritePlan
from kv_canary_kernels.launchers.plan import launch_canary_plan_kernels, warm_up_plan

device = torch.device("cuda", 0)
row = torch.tensor([1], device=device)
table = torch.tensor([[0, 0], [5, 6]], dtype=torch.int32, device=device)
verify_plan = VerifyPlan.allocate(verify_capacity=4, device=device)
write_plan = WritePlan.allocate(write_req_capacity=1, device=device)
lengths = torch.tensor([2], device=device)
counter = torch.zeros(1, device=device)


def launch():
    launch_canary_plan_kernels(
        verify_plan_out=verify_plan,
        write_plan_out=write_plan,
        req_pool_indices=row,
        prefix_lens=lengths,
        extend_seq_lens=row,
        req_to_token=table,
        swa_window_size=0,
        full_to_swa_index_mapping=None,
        verify_capacity=4,
        req_to_verify_expected_tokens=None,
        req_to_verify_expected_tokens_valid_lens=None,
        kv_token_id_vs_position_offset=0,
    )


graph = torch.cuda.CUDAGraph()
try:
    with torch.cuda.graph(graph):
        counter.add_(1)
        launch()
except ContractError as error:
    print(error)
    print(error.broken_rules[0].rule_id)
torch.cuda.synchronize()
del graph

loaded = warm_up_plan(
    device=device,
    full_to_swa_index_mapping=False,
    req_to_verify_expected_tokens=False,
    req_to_verify_expected_tokens_valid_lens=False,
    verify_rotation=False,
    only={"BATCH_BLOCK": 16, "TILE_BLOCK": 128, "WIDE_ALIGNMENT": 16},
)
print(loaded)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    counter.add_(1)
    launch()
graph.replay()
torch.cuda.synchronize()
print(counter.item(), verify_plan.verify_slot_indices[:2].tolist())
"""


def test_cold_kernel_under_capture_is_named_and_the_capture_can_be_abandoned():
    """In a process of its own, where nothing is loaded; it then warms up and captures again."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(REPOSITORY / "generated"), str(REPOSITORY / "runtime")]
    )
    run = subprocess.run(
        [sys.executable, "-c", COLD_CAPTURE],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (run.stdout.splitlines(), run.returncode) == (
        [
            COLD_KERNEL,
            "backend.cold_kernel",
            "1",
            "1.0 [5, 6]",
        ],
        0,
    ), run.stderr


def test_two_streams_at_once_each_have_their_own_plan(oracle, plan_arena_type, frame_with):
    random = Random("two streams")
    frame = frame_with(window=True, tokens=True, rotation=True)
    arenas = [plan_arena_type(frame, "cuda", random) for _ in range(2)]
    streams = [torch.cuda.Stream() for _ in arenas]
    warm_up_for(arenas[0])
    for _ in range(REPLAYS):
        batches = [frame.batch(random, 0.1) for _ in arenas]
        for arena, batch in zip(arenas, batches, strict=True):
            arena.load(batch)
        torch.cuda.synchronize()
        for arena, stream in zip(arenas, streams, strict=True):
            with torch.cuda.stream(stream):
                arena.launch()
        torch.cuda.synchronize()
        for arena, batch in zip(arenas, batches, strict=True):
            arena.expect_plan_of(oracle, batch)
            assert arena.difference() is None


@contextmanager
def kept_busy(stream):
    """Keep a stream busy for about a second, then wait until it is free."""
    with torch.cuda.stream(stream):
        torch.cuda._sleep(2_000_000_000)
    yield
    stream.synchronize()


def test_launch_goes_to_the_current_stream_and_does_not_wait_for_it(
    oracle, plan_arena_type, frame_with
):
    """The launcher returns, and another stream's plan is done, while the first has not begun."""
    random = Random("busy stream")
    frame = frame_with(window=True, tokens=True, rotation=True)
    waiting, done = (plan_arena_type(frame, "cuda", random) for _ in range(2))
    batches = [frame.batch(random, 0.1) for _ in range(2)]
    for arena, batch in zip((waiting, done), batches, strict=True):
        arena.load(batch)
        arena.launch()
        arena.load(batch)
    torch.cuda.synchronize()
    busy, free = torch.cuda.Stream(), torch.cuda.Stream()
    with kept_busy(busy):
        with torch.cuda.stream(busy):
            waiting.launch()
        with torch.cuda.stream(free):
            done.launch()
        free.synchronize()
        assert not busy.query(), "the plan waited for its own stream, or ran on another one"
    torch.cuda.synchronize()
    for arena, batch in zip((waiting, done), batches, strict=True):
        arena.expect_plan_of(oracle, batch)
        assert arena.difference() is None


def test_launch_goes_to_the_device_of_its_tensors(oracle, plan_arena_type, frame_with):
    if torch.cuda.device_count() < 2:
        pytest.skip("this machine has one GPU, and the test needs two")
    random = Random("two devices")
    frame = frame_with(window=True, tokens=True, rotation=True)
    for current, other in ((0, 1), (1, 0)):
        arena = plan_arena_type(frame, f"cuda:{other}", random)
        batch = frame.batch(random, 0.1)
        with torch.cuda.device(current):
            arena.load(batch)
            arena.launch()
            assert torch.cuda.current_device() == current
            torch.cuda.synchronize(other)
            arena.expect_plan_of(oracle, batch)
            assert arena.difference() is None


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


@pytest.mark.parametrize(("window", "tokens", "rotation"), EVERY_MIXTURE)
def test_launch_reads_nothing_back(oracle, plan_arena_type, frame_with, window, tokens, rotation):
    random = Random("read back")
    frame = frame_with(window=window, tokens=tokens, rotation=rotation)
    arena = plan_arena_type(frame, "cuda", random)
    batch = frame.batch(random, 0.1)
    warm_up_for(arena)
    arena.load(batch)
    with synchronizing_is_an_error():
        arena.launch()
    arena.expect_plan_of(oracle, batch)
    assert arena.difference() is None


def test_reading_back_would_be_seen():
    """The check above can fail: reading one number back raises."""
    one = torch.ones(1, device="cuda")
    with (
        synchronizing_is_an_error(),
        pytest.raises(RuntimeError, match=r"^called a synchronizing CUDA operation"),
    ):
        one.item()


def test_launches_allocate_no_device_memory(plan_arena_type, frame_with):
    random = Random("allocations")
    frame = frame_with(window=True, tokens=True, rotation=True)
    arena = plan_arena_type(frame, "cuda", random)
    arena.load(frame.batch(random, 0.0))
    arena.launch()
    torch.cuda.synchronize()

    def memory():
        stats = torch.cuda.memory_stats()
        return {
            "allocated": torch.cuda.memory_allocated(),
            "reserved": torch.cuda.memory_reserved(),
            "allocations so far": stats["allocation.all.allocated"],
            "segments so far": stats["segment.all.allocated"],
        }

    before = memory()
    for _ in range(LAUNCHES):
        arena.launch()
    torch.cuda.synchronize()
    assert memory() == before
