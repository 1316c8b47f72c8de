"""No launch that passed validation touches anything outside its tensors, whatever is inside them.

Every tensor of a call, inputs and outputs, is a view into one poisoned buffer per dtype, at odd and
even starts, between guards and other tensors.  The tables hold garbage: random bit patterns, edges
of every size and of every integer type, patterns of floats and pointers.  After the launch the
whole buffer is compared: what the oracle says in the outputs, and everything else as it was.
"""

import inspect
from random import Random

import pytest
import torch

CALLS = {"torch": 200, "interpreter": 80, "gpu": 2_500, "torch-on-gpu": 200}
SOAK_CALLS = {"torch": 5_000, "interpreter": 2_000}
LONG_CALLS = 40
MOST_REQUESTS = {"torch": 7, "interpreter": 3, "gpu": 7, "torch-on-gpu": 7}
"""The interpreter takes milliseconds for each program, and there is one for each request."""
SMALLEST_SCRATCH = 4096 + 1  # PLAN_BS_BLOCK_SIZE + 1, what the offsets kernel asks for

OFFSETS_INPUTS = ("req_pool_indices", "prefix_lens", "extend_seq_lens", "req_to_token")
ENTRIES_INPUTS = ("req_pool_indices", "prefix_lens", "req_to_token")
OPTIONAL_INPUTS = (
    "full_to_swa_index_mapping",
    "req_to_verify_expected_tokens",
    "req_to_verify_expected_tokens_valid_lens",
)
ENTRY_OUTPUTS = {
    "out_verify_slot_indices": "slot",
    "out_verify_expected_tokens": "token",
    "out_verify_expected_positions": "position",
    "out_verify_prev_slot_indices": "previous_slot",
}
"""Each output of the entries kernel, and the field of the oracle's entry that it holds."""


def shape_of(values):
    """The shape of nested lists; rows that no list has are 0 wide."""
    return (
        (len(values), len(values[0])) if values and isinstance(values[0], list) else (len(values),)
    )


@pytest.fixture
def check_plan(backend, oracle, plan_arena_type):
    """A function that launches the plan once on a frame and checks all that there is."""

    def check(random, frame):
        arena = plan_arena_type(frame, backend.device, random)
        batch = frame.batch(random, random.choice([0.0, 0.1, 0.5, 1.0]))
        arena.load(batch)
        arena.launch()
        arena.expect_plan_of(oracle, batch)
        return arena.difference()

    return check


@pytest.fixture
def check_plan_offsets(backend, oracle, arena_type):
    """The same for the first half of the plan."""
    from kv_canary_kernels.launchers.plan_offsets import launch_plan_offsets_kernel

    def check(random, frame):
        batch = frame.batch(random, random.choice([0.0, 0.1, 0.5, 1.0]))
        names = [*OFFSETS_INPUTS]
        if frame.lut_len is not None:
            names.append("full_to_swa_index_mapping")
        inputs = {name: batch[name] for name in names}
        shapes = {name: shape_of(values) for name, values in inputs.items()} | {
            "req_to_token": (frame.max_reqs, frame.max_seq_len),
            "out_verify_offsets_scratch": (SMALLEST_SCRATCH + random.choice([0, 0, 1, 7]),),
            "out_write_offsets": (frame.write_req_capacity + 1,),
            "out_write_seed_slot_indices": (frame.write_req_capacity,),
            "out_verify_num_valid": (1,),
            "out_verify_enable": (1,),
            "out_write_num_valid_reqs": (1,),
        }
        arena = arena_type(shapes, backend.device, random)
        arena.load(inputs)
        launch_plan_offsets_kernel(
            **{"full_to_swa_index_mapping": None} | arena.tensors,
            swa_window_size=frame.swa_window_size,
            verify_capacity=frame.verify_capacity,
        )
        wanted = oracle.plan_offsets(
            **{"full_to_swa_index_mapping": None} | inputs,
            swa_window_size=frame.swa_window_size,
            verify_capacity=frame.verify_capacity,
            write_req_capacity=frame.write_req_capacity,
        )
        arena.expect(
            out_verify_offsets_scratch=wanted.verify_offsets,
            out_write_offsets=wanted.write_offsets,
            out_write_seed_slot_indices=wanted.write_seed_slot_indices,
            out_verify_num_valid=[wanted.verify_num_valid],
            out_verify_enable=[wanted.enable],
            out_write_num_valid_reqs=[wanted.write_num_valid_reqs],
        )
        return arena.difference()

    return check


@pytest.fixture
def check_plan_entries(backend, oracle, arena_type, frame_type):
    """The same for the second half, with a scratch that nobody computed."""
    from kv_canary_kernels.launchers.plan_entries import launch_plan_entries_kernel

    def wild_scratch(random, frame):
        length = frame.bs + 1 + random.choice([0, 0, 1, 9])
        kind = random.randrange(3)
        if kind == 0:
            return [frame.garbage(random, 64) for _ in range(length)]
        # Near the plan, so that entries fall on both sides of both its ends.
        low, high = -frame.max_seq_len - 2, frame.verify_capacity + 2
        scratch = [random.randint(low, high) for _ in range(length)]
        return scratch if kind == 1 else sorted(scratch)

    def check(random, frame):
        batch = frame.batch(random, random.choice([0.0, 0.1, 0.5, 1.0]))
        names = [*ENTRIES_INPUTS, *(n for n in OPTIONAL_INPUTS if batch[n] is not None)]
        inputs = {name: batch[name] for name in names}
        inputs["verify_offsets_scratch"] = wild_scratch(random, frame)
        inputs["verify_enable"] = [random.choice([1, 1, 1, 1, 2, -1, 2**31 - 1, -(2**31), 0])]
        shapes = {name: shape_of(values) for name, values in inputs.items()}
        shapes |= dict.fromkeys(ENTRY_OUTPUTS, (frame.verify_capacity,))
        shapes["req_to_token"] = (frame.max_reqs, frame.max_seq_len)
        if frame.token_shape is not None:
            shapes["req_to_verify_expected_tokens"] = frame.token_shape
        arena = arena_type(shapes, backend.device, random)
        arena.load(inputs)
        absent = dict.fromkeys(OPTIONAL_INPUTS)
        scalars = {
            "kv_token_id_vs_position_offset": frame.token_offset,
            "swa_window_size": frame.swa_window_size,
        }
        launch_plan_entries_kernel(**absent | arena.tensors, **scalars)
        wanted = oracle.plan_entries(
            **absent | inputs | {"verify_enable": inputs["verify_enable"][0]},
            verify_capacity=frame.verify_capacity,
            **scalars,
        )
        for index, entries in enumerate(wanted):
            for name, field in ENTRY_OUTPUTS.items():
                # Where ranges overlap it is open whose entry is written; the reference, which
                # asks each place for its owner, may then find none.
                lost = [None] if entries and "torch" in backend.name else []
                if entries:
                    arena.allow(name, index, [*(getattr(e, field) for e in entries), *lost])
        return arena.difference()

    return check


@pytest.fixture
def check_plan_rotation(backend, oracle, arena_type):
    """The same for what moves the rotation on."""
    from kv_canary_kernels.launchers.plan_rotation import launch_plan_rotation_kernel

    def check(random, frame):
        batch = frame.batch(random, random.choice([0.0, 0.1, 0.5, 1.0]))
        inputs = {name: batch[name] for name in ENTRIES_INPUTS}
        inputs["verify_rotation"] = [frame.garbage(random, 64)]
        shapes = {name: shape_of(values) for name, values in inputs.items()}
        shapes["req_to_token"] = (frame.max_reqs, frame.max_seq_len)
        if random.random() < 0.7:
            shapes["verify_total"] = (1,)
        arena = arena_type(shapes, backend.device, random)
        arena.load(inputs)
        launch_plan_rotation_kernel(
            **arena.tensors,
            swa_window_size=frame.swa_window_size,
            verify_capacity=frame.verify_capacity,
        )
        total = sum(
            oracle.verify_count(row, prefix_len, batch["req_to_token"], frame.swa_window_size)
            for row, prefix_len in zip(batch["req_pool_indices"], batch["prefix_lens"], strict=True)
        )
        start = inputs["verify_rotation"][0]
        arena.expect(verify_rotation=[oracle.next_rotation(total, frame.verify_capacity, start)])
        if "verify_total" in shapes:
            arena.expect(verify_total=[total])
        return arena.difference()

    return check


def run_calls(check, frame_type, *, seed, calls, most_requests, longest=40):
    """Launch this often; a difference names the call, which its seed gives again."""
    for call in range(calls):
        random = Random(f"{seed} {call}")
        frame = frame_type.draw(random, most_requests=most_requests, longest=longest)
        difference = check(random, frame)
        assert difference is None, f"call {call} of seed {seed!r}: {difference}\n{frame}"


def wait_for_faults(backend):
    """A wild access on a GPU is told at the next synchronization, by an exception."""
    if backend.device == "cuda":
        torch.cuda.synchronize()


@pytest.fixture(params=["plan", "plan_offsets", "plan_entries", "plan_rotation"])
def kernel(request):
    """The stem of each kernel in turn."""
    return request.param


@pytest.fixture
def check(request, kernel):
    """The kernel's check."""
    return request.getfixturevalue(f"check_{kernel}")


def test_nothing_outside_the_tensors_changes(check, kernel, backend, frame_type):
    run_calls(
        check,
        frame_type,
        seed=f"{kernel} guard zones",
        calls=CALLS[backend.name],
        most_requests=MOST_REQUESTS[backend.name],
    )
    wait_for_faults(backend)


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["gpu"], indirect=True)
def test_nothing_outside_the_tensors_changes_in_long_rows(check, kernel, backend, frame_type):
    """Rows of several blocks of positions, and of several programs a request."""
    seed = f"{kernel} long rows"
    run_calls(check, frame_type, seed=seed, calls=LONG_CALLS, most_requests=3, longest=3_000)
    wait_for_faults(backend)


@pytest.mark.soak
@pytest.mark.parametrize("backend", ["torch", "interpreter"], indirect=True)
def test_nothing_outside_the_tensors_changes_many_times(check, kernel, backend, frame_type):
    calls = SOAK_CALLS[backend.name]
    run_calls(check, frame_type, seed=f"{kernel} soak", calls=calls, most_requests=5)


class TestArena:
    """The comparison itself: it sees every element of every buffer."""

    @pytest.fixture
    def arena(self, frame_type, plan_arena_type):
        random = Random(0)
        frame = frame_type(bs=2, max_reqs=3, max_seq_len=3, verify_capacity=4, write_req_capacity=2)
        arena = plan_arena_type(frame, "cpu", random)
        arena.load(frame.batch(random, 0.0))
        return arena

    def test_untouched_arena_has_no_difference(self, arena):
        assert arena.difference() is None

    def test_every_single_element_is_compared(self, arena):
        for buffer in arena.buffers.values():
            for place in range(len(buffer)):
                buffer[place] += 1
                assert arena.difference() is not None
                buffer[place] -= 1
        assert arena.difference() is None

    def test_every_argument_of_the_launcher_lies_in_the_arena(self, arena):
        from kv_canary_kernels.launchers.plan import launch_canary_plan_kernels

        arguments = arena.arguments()
        parameters = inspect.signature(launch_canary_plan_kernels).parameters
        required = {n for n, p in parameters.items() if p.default is inspect.Parameter.empty}
        assert required <= set(arguments) <= set(parameters)
