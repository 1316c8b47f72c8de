"""Write, verify and scatter touch nothing outside their tensors, whatever is inside them.

Every tensor of a call, inputs too, is an exact view inside poison (`stamp_calls.py`), and the calls
are garbage (`sanitize_stamps.py`): wild slots, seeds, offsets and counts, canaries and K or V bytes
written over, rings that are full.  After each launch everything is as the oracle says, the counters
exactly, and the poison as it was.
"""

import importlib.util
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
import torch

CALLS = {"torch": 300, "interpreter": 20, "gpu": 1_200, "torch-on-gpu": 60}
SOAK_CALLS = {"torch": 6_000, "interpreter": 1_000, "gpu": 10_000}
LONG_CALLS = {"torch": 6, "interpreter": 6, "gpu": 20}

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
LIMIT = 2**30
"""A write index from here on does not move."""

KERNELS = ("write", "verify", "scatter_req_token_ids")


@pytest.fixture(scope="session")
def sanitizer():
    """The script that the memory checker runs, for the garbage that it draws."""
    path = Path(__file__).parent / "sanitize_stamps.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # a dataclass looks its module up while it is made
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def workspace_calls(backend, sanitizer, stamp_calls_module):
    """Calls of the launchers of write and verify on the backend, some with a workspace."""
    return sanitizer.calls_with_workspace(stamp_calls_module)(backend.device)


@pytest.fixture
def difference_of(sanitizer, workspace_calls, scatter_calls, stamp_oracle, stamp_calls_module):
    """A function that launches a kernel once, and says how that differs from the oracle."""

    def difference_of(kernel, inputs):
        if kernel == "scatter_req_token_ids":
            pool = stamp_calls_module.pool_of_oracle(stamp_oracle.scatter_req_token_ids(**inputs))
            found, expected = scatter_calls.scatter(inputs), stamp_calls_module.expected_pool(pool)
            return stamp_calls_module.first_difference("pool_out", found, expected)
        launch = getattr(stamp_oracle, kernel)(**sanitizer.known_to_the_oracle(inputs))
        expected = stamp_calls_module.ExpectedLaunch.of_oracle(inputs, launch)
        return expected.difference(getattr(workspace_calls, kernel)(inputs))

    return difference_of


def drawn(garbage, kernel, oracle):
    """The inputs of one call."""
    return garbage.verify(oracle) if kernel == "verify" else getattr(garbage, kernel)()


@pytest.fixture
def launch_garbage(backend, sanitizer, stamp_oracle, difference_of):
    """A function that launches a kernel often; a difference names the call, for its seed."""

    def launch_garbage(kernel, seed, calls, *, of_mixtures=None, **sizes):
        for number in range(calls):
            random = Random(f"{kernel} {seed} {number}")
            mixture = None if of_mixtures is None else random.choice(of_mixtures)
            garbage = sanitizer.Garbage(random, mixture=mixture, **sizes)
            inputs = drawn(garbage, kernel, stamp_oracle)
            difference = difference_of(kernel, inputs)
            assert difference is None, f"call {number} of {kernel} {seed!r}: {difference}"
        if backend.device == "cuda":
            # A wild access on a GPU is told at the next synchronization, by an exception.
            torch.cuda.synchronize()

    return launch_garbage


def mixtures_for(backend, sanitizer):
    """Any, but on a GPU, where each has to be compiled: there a few that use every branch."""
    return sanitizer.MIXTURES if backend.name == "gpu" else None


@pytest.mark.parametrize("kernel", KERNELS)
def test_nothing_outside_the_tensors_changes(launch_garbage, sanitizer, backend, kernel):
    mixtures = mixtures_for(backend, sanitizer)
    calls = CALLS[backend.name] * (3 if kernel == "scatter_req_token_ids" else 1)
    launch_garbage(kernel, "guard zones", calls, of_mixtures=mixtures)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "backend",
    [
        "torch",
        pytest.param("interpreter", marks=pytest.mark.soak),
        pytest.param("gpu", marks=pytest.mark.gpu),
    ],
    indirect=True,
)
def test_nothing_outside_the_tensors_changes_in_long_calls(
    launch_garbage, sanitizer, backend, kernel
):
    """Requests and plans of many blocks, also where write takes two launches."""
    launch_garbage(
        kernel,
        "long",
        LONG_CALLS[backend.name],
        of_mixtures=sanitizer.MIXTURES,
        most_requests=3,
        longest=1_500,
    )


@pytest.mark.soak
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "backend",
    ["torch", "interpreter", pytest.param("gpu", marks=pytest.mark.gpu)],
    indirect=True,
)
def test_nothing_outside_the_tensors_changes_many_times(launch_garbage, sanitizer, backend, kernel):
    mixtures = mixtures_for(backend, sanitizer)
    launch_garbage(kernel, "soak", SOAK_CALLS[backend.name], of_mixtures=mixtures)


@pytest.mark.parametrize("start", [0, 41, -1, INT64_MIN, INT64_MAX - 1, INT64_MAX])
def test_launch_count_counts_one_and_touches_nothing_else(backend, stamp_calls_module, start):
    from kv_canary_kernels.launchers.launch_count import launch_launch_count_kernel

    held = stamp_calls_module.Held.integers(start, "int64", backend.device)
    launch_launch_count_kernel(kernel_run_counter=held.tensor)
    after = INT64_MIN if start == INT64_MAX else start + 1
    assert held.now() == stamp_calls_module.integers_in_poison([after])


DRAWN = 400


@pytest.fixture(scope="session")
def calls(sanitizer, stamp_oracle):
    """Per kernel, inputs that were drawn and what the oracle makes of them."""
    calls = {kernel: [] for kernel in KERNELS}
    for kernel in KERNELS:
        for number in range(DRAWN):
            garbage = sanitizer.Garbage(Random(f"{kernel} something of everything {number}"))
            inputs = drawn(garbage, kernel, stamp_oracle)
            launch = getattr(stamp_oracle, kernel)(**sanitizer.known_to_the_oracle(inputs))
            calls[kernel].append((inputs, launch))
    return calls


class TestGarbage:
    """The calls themselves: there is something of everything in them, and little is left open."""

    @pytest.mark.parametrize(
        ("kernel", "bits"), [("write", [3, 4, 6]), ("verify", [0, 1, 2, 5, 6, 7])]
    )
    def test_every_reason_is_found(self, calls, kernel, bits):
        counts = Counter(
            bit
            for _, launch in calls[kernel]
            for bit in range(64)
            if any(violation.reasons >> bit & 1 for violation in launch.violations)
        )
        assert sorted(counts) == bits
        assert min(counts.values()) > DRAWN // 20

    @pytest.mark.parametrize("kernel", ["write", "verify"])
    def test_every_kind_of_context_is_drawn(self, calls, kernel):
        seen = {
            "sources": {len(inputs["real_kv_sources"]) for inputs, _ in calls[kernel]},
            "modes": {inputs["real_kv_hash_mode"] for inputs, _ in calls[kernel]},
            "formats": {inputs["hash_format"] for inputs, _ in calls[kernel]},
            "evidence": {inputs["evidence_ring"] for inputs, _ in calls[kernel]},
            "workspace": {inputs["workspace"] is None for inputs, _ in calls[kernel]},
        }
        assert seen == {
            "sources": {0, 1, 2, 3, 4},
            "modes": {0, 1, 2},
            "formats": {"serial", "parallel"},
            "evidence": {False, True},
            "workspace": {False, True},
        }
        sources = [source for inputs, _ in calls[kernel] for source in inputs["real_kv_sources"]]
        assert {source["page_size"] == 1 for source in sources} == {False, True}
        gaps = {
            source["row_stride_bytes"] > source["page_size"] * source["num_bytes_per_token"]
            for source in sources
        }
        assert gaps == {False, True}
        lost = sum(len(launch.ring_rows) < len(launch.violations) for _, launch in calls[kernel])
        assert lost > DRAWN // 10, "hardly any ring was full"

    def test_most_calls_store_or_walk_something_and_leave_little_open(self, calls):
        for kernel in ("write", "verify"):
            ran = [
                inputs["slot_run_counter"] != launch.slot_run_counter
                for inputs, launch in calls[kernel]
            ]
            assert sum(ran) > DRAWN // 2, kernel
        open_seeds = sum(bool(launch.unspecified_seeds) for _, launch in calls["write"])
        assert open_seeds <= DRAWN // 20
        changed = sum(
            any(value != inputs["pool_fill"] for row in launch.pool_out for value in row)
            for inputs, launch in calls["scatter_req_token_ids"]
        )
        assert changed > DRAWN // 3


# The ring ----------------------------------------------------------------------------------------


def context(hash_format, evidence, slots):
    """A context of canaries that nobody stamped, without sources."""
    return {
        "canary_buf_i64": [[slot, slot, 5, 0] for slot in range(slots)],
        "kernel_kind": 3,
        "real_kv_hash_mode": 0,
        "real_kv_sources": [],
        "hash_format": hash_format,
        "slot_run_counter": 7,
        "kernel_run_counter": 11,
        "evidence_ring": evidence,
    }


def write_that_finds(count, **of_context):
    """A write call with so much wrong: tokens, positions, a slot, and offsets of a request."""
    entries = count - 1
    offsets = [0, entries // 2, entries, entries + 1]
    return context(slots=count + 1, **of_context) | {
        "enable_chain_position_assert": 0,
        "write_offsets": offsets,
        "write_seed_slot_indices": [-1, -1, -1],
        "write_num_valid_reqs": 3,
        "input_ids": list(range(entries)),
        "positions": [0] * entries,
        "out_cache_loc": [*range(1, entries), count + 1],
        "enable_write_input_assert": True,
        "expected_input_tokens": [token + token % 2 for token in range(entries)],
        "expected_input_positions": [1 - token % 2 for token in range(entries)],
    }


def verify_that_finds(count, **of_context):
    """A verify call of so many entries, each in its wrong place, or past the buffer."""
    slots = [slot if slot % 5 else slot + 2**40 for slot in range(1, count + 1)]
    return context(slots=count + 1, **of_context) | {
        "check_verify_expected_token": False,
        "verify_slot_indices": slots,
        "verify_expected_tokens": [-1] * count,
        "verify_expected_positions": [-1] * count,
        "verify_prev_slot_indices": [0] * count,
        "verify_num_valid": count,
        "enable": 1,
    }


CALL_THAT_FINDS = {"write": write_that_finds, "verify": verify_that_finds}
FOUND = 4
LAUNCHES = {"torch": 3, "interpreter": 1, "gpu": 3, "torch-on-gpu": 3}
RINGS = [
    # capacity, write index before
    *((0, index) for index in (0, 1)),
    *((1, index) for index in (0, 1, -1)),
    *((6, index) for index in (0, 2, 3, 5, 6, 7)),
    *((6, index) for index in (-1, -FOUND + 1, -FOUND, INT32_MIN)),
    *((6, index) for index in (LIMIT - FOUND - 1, LIMIT - FOUND, LIMIT - FOUND + 1, LIMIT - 1)),
    *((6, index) for index in (LIMIT, LIMIT + 1, INT32_MAX - 1, INT32_MAX)),
]
FORMATS = [("serial", False), ("parallel", True)]
"""A format, and whether there is an evidence ring."""


@pytest.mark.parametrize("kernel", CALL_THAT_FINDS)
@pytest.mark.parametrize(("hash_format", "evidence"), FORMATS)
class TestRing:
    """What is in the ring stays, and a counter never comes round."""

    @pytest.fixture
    def launch(self, sanitizer, stamp_calls, stamp_oracle, stamp_calls_module):
        """A function that launches once, checks all, and gives the write index after it."""

        def launch(kernel, inputs):
            found = getattr(stamp_calls, kernel)(inputs)
            launch = getattr(stamp_oracle, kernel)(**sanitizer.known_to_the_oracle(inputs))
            expected = stamp_calls_module.ExpectedLaunch.of_oracle(inputs, launch)
            assert expected.difference(found) is None
            return found["violation_write_index"][stamp_calls_module.GUARD]

        return launch

    @pytest.mark.parametrize(("capacity", "index"), RINGS)
    def test_rows_are_filled_once_and_the_count_goes_on(
        self, backend, launch, kernel, hash_format, evidence, capacity, index
    ):
        """Launched again and again, with the index that the launch before left."""
        call = CALL_THAT_FINDS[kernel](FOUND, hash_format=hash_format, evidence=evidence)
        for _ in range(LAUNCHES[backend.name]):
            inputs = call | {"ring_capacity": capacity, "violation_write_index": index}
            after = launch(kernel, inputs)
            if 0 <= index <= LIMIT - FOUND:
                assert after == index + FOUND, "the count is exact, whatever found room"
            elif 0 <= index < LIMIT:
                # A program that reads less than the limit adds all that it has found.
                assert LIMIT <= after <= LIMIT - 1 + FOUND
            else:
                assert after == index, "nobody adds to it"
            index = after

    @pytest.mark.parametrize(
        "backend",
        [
            "torch",
            pytest.param("interpreter", marks=pytest.mark.soak),
            pytest.param("gpu", marks=pytest.mark.gpu),
        ],
        indirect=True,
    )
    @pytest.mark.parametrize(
        ("capacity", "index"),
        [(0, 0), (1, 0), (5, 2), (299, 0), (300, 0), (301, 1), (5, LIMIT - 100), (301, -300)],
    )
    def test_programs_share_the_last_rows(
        self, launch, kernel, hash_format, evidence, capacity, index
    ):
        """Violations of several blocks, of which any may get the last rows."""
        call = CALL_THAT_FINDS[kernel](300, hash_format=hash_format, evidence=evidence)
        inputs = call | {"ring_capacity": capacity, "violation_write_index": index}
        after = launch(kernel, inputs)
        if 0 <= index < LIMIT - 300:
            assert after == index + 300
        else:
            assert index <= after <= LIMIT - 1 + 300


# Offsets of more than 32 bits --------------------------------------------------------------------

PATTERN = 0x5A
PATTERN_WORD = int.from_bytes(bytes([PATTERN] * 8), "little")
CHUNK = 2**24
"""Words that are compared at a time."""

WIDE = [
    pytest.param(2**31, id="2^31 bytes"),
    pytest.param(2**32, id="2^32 bytes"),
    pytest.param(2**34, id="2^31 words"),
]


class Wide:
    """A buffer of a pattern, larger than some offset, in which a few pieces are looked at."""

    def __init__(self, length, device):
        """Make it of so many bytes, a multiple of 8, or skip where it has no room."""
        if device == "cuda":
            torch.cuda.empty_cache()
            free, _ = torch.cuda.mem_get_info()
            if free < length + 2**31:
                pytest.skip(f"{length} bytes are needed, and {free} are free")
        self.bytes = torch.full((length,), PATTERN, dtype=torch.uint8, device=device)
        self.pieces = []
        """Where each piece begins, and how many bytes it has."""

    def put(self, start, values):
        """Write bytes there: a piece."""
        piece = torch.tensor(values, dtype=torch.uint8, device=self.bytes.device)
        self.bytes[start : start + len(values)] = piece
        self.pieces.append((start, len(values)))

    def take(self):
        """The bytes of the pieces; checks that all else is as it was, and ends the buffer."""
        taken = [self.bytes[start : start + length].tolist() for start, length in self.pieces]
        for start, length in self.pieces:
            self.bytes[start : start + length] = PATTERN
        words = self.bytes.view(torch.int64)
        for first in range(0, len(words), CHUNK):
            assert bool((words[first : first + CHUNK] == PATTERN_WORD).all()), (
                f"something was written within {CHUNK} words of word {first}"
            )
        return taken


def held_elsewhere(tensor):
    """A tensor of a call that the call need not look at."""
    return SimpleNamespace(tensor=tensor, before=[], now=list)


def integers(data, size):
    """Signed integers of so many bytes each."""
    return [
        int.from_bytes(bytes(data[start : start + size]), "little", signed=True)
        for start in range(0, len(data), size)
    ]


def with_slots_apart(inputs, far):
    """The same call, with each slot of the buffer where `far` says, and wild ones past its end."""
    moved = dict(inputs)
    for name in (
        "out_cache_loc",
        "write_seed_slot_indices",
        "verify_slot_indices",
        "verify_prev_slot_indices",
    ):
        if name in inputs:
            moved[name] = [far(slot) for slot in inputs[name]]
    return moved


SLOT, PREVIOUS_SLOT = 1, 3
"""Columns of a violation's and of an evidence's row that hold a slot."""


def with_rows_apart(expected, far):
    """What is expected of such a call."""

    def moved(rows, column):
        return [[*row[:column], far(row[column]), *row[column + 1 :]] for row in rows]

    return replace(
        expected,
        violations=moved(expected.violations, SLOT),
        evidence=moved(expected.evidence, PREVIOUS_SLOT),
    )


def sound_call(random, kernel, sanitizer, oracle, *, slots, sources, hash_format):
    """A call on the slots from 1 on, of two requests; a few stamps are damaged, and one slot wild.

    The wild one is the first past the buffer.
    """
    places = list(range(1, slots))
    random.shuffle(places)
    seed, *places = places
    split = len(places) // 2
    count = len(places)
    base = context(hash_format, True, slots) | {
        "ring_capacity": 2 * slots,
        "violation_write_index": 1,
        "real_kv_hash_mode": 2,
        "real_kv_sources": sources,
    }
    position = base["canary_buf_i64"][seed][1] + 1
    positions = [position + k for k in range(split)] + list(range(count - split))
    write = base | {
        "enable_chain_position_assert": 1,
        "write_offsets": [0, split, count],
        "write_seed_slot_indices": [seed, -1],
        "write_num_valid_reqs": 2,
        "input_ids": [random.randrange(50_000) for _ in places],
        "positions": positions,
        "out_cache_loc": places,
        "enable_write_input_assert": False,
        "expected_input_tokens": None,
        "expected_input_positions": None,
    }
    if kernel == "write":
        return write | {
            "positions": [*positions[:-1], 77],
            "out_cache_loc": [*places[:-1], slots],
        }
    stamped = oracle.write(**sanitizer.known_to_the_oracle(write)).canary_buf_i64
    stamped[places[2]][random.randrange(4)] ^= 1 << 40
    previous = [seed, *places[: split - 1], -1, *places[split : count - 1]]
    return base | {
        "canary_buf_i64": stamped,
        "check_verify_expected_token": True,
        "verify_slot_indices": [*places, slots, places[0]],
        "verify_expected_tokens": [*write["input_ids"], -1, -1],
        "verify_expected_positions": [*positions, 0, positions[0]],
        "verify_prev_slot_indices": [*previous, -1, slots],
        "verify_num_valid": count + 2,
        "enable": 1,
    }


def source_of_hex(random, slots, **sizes):
    """A source of one slot a row, without holes, as an oracle knows it."""
    return {
        "rows_hex": [random.randbytes(32).hex() for _ in range(slots)],
        "row_stride_bytes": 32,
        "view_cols": 32,
        "page_size": 1,
        "num_bytes_per_token": 32,
        "read_bytes": 32,
    } | sizes


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["gpu"], indirect=True)
class TestWideOffsets:
    """Where 32 bits of an offset are too few, whether bytes, words or elements are counted.

    A call on a few slots, rows or pages is laid out with these far apart, up to the buffer's end;
    it gives what the oracle says of the call as it was, and nothing else in the buffer changes.
    """

    @pytest.fixture
    def held(self, backend, stamp_calls_module, monkeypatch):
        """The class that calls make their tensors with, to be changed, and wide buffers."""

        def wide(length):
            return Wide(length, backend.device)

        return stamp_calls_module.Held, wide, monkeypatch

    @pytest.fixture
    def expected_of(self, sanitizer, stamp_oracle, stamp_calls_module):
        """What the oracle says of a call."""

        def expected_of(kernel, inputs):
            launch = getattr(stamp_oracle, kernel)(**sanitizer.known_to_the_oracle(inputs))
            assert launch.violations
            return stamp_calls_module.ExpectedLaunch.of_oracle(inputs, launch)

        return expected_of

    @pytest.mark.parametrize("limit", WIDE)
    @pytest.mark.parametrize("hash_format", ["serial", "parallel"])
    @pytest.mark.parametrize("kernel", ["write", "verify"])
    def test_canary_buffer(
        self, held, stamp_calls, sanitizer, stamp_oracle, expected_of, kernel, hash_format, limit
    ):
        held_type, wide, monkeypatch = held
        size, apart = 32, limit // 32
        places = [*range(3), *(apart // 2 + k for k in (-1, 0, 1)), *(apart + k for k in (-2, -1))]
        places += [apart, apart + 1, apart + 2, apart + 8]  # the last is the buffer's last
        num_slots = places[-1] + 1
        buffers = []

        def far(slot):
            if slot < 0:
                return slot
            return places[slot] if slot < len(places) else num_slots + slot - len(places)

        def canary(cls, canary_buf_i64, device):
            buffer = wide((num_slots + 2) * size)  # a slot of guard on each side
            for slot, row in zip(places, canary_buf_i64, strict=True):
                fields = [field.to_bytes(8, "little", signed=True) for field in row]
                buffer.put((slot + 1) * size, [*b"".join(fields)])
            buffers.append(buffer)
            return held_elsewhere(buffer.bytes[size:-size].view(num_slots, size))

        random = Random(f"wide canary {kernel} {hash_format} {limit}")
        inputs = sound_call(
            random,
            kernel,
            sanitizer,
            stamp_oracle,
            slots=len(places),
            sources=[],
            hash_format=hash_format,
        )
        expected = with_rows_apart(expected_of(kernel, inputs), far)
        monkeypatch.setattr(held_type, "canary", classmethod(canary))
        outputs = getattr(stamp_calls, kernel)(with_slots_apart(inputs, far))
        [buffer] = buffers
        before = inputs["canary_buf_i64"]
        after = before if expected.canary_buf_i64 is None else expected.canary_buf_i64
        assert [integers(piece, 8) for piece in buffer.take()] == after
        outputs.pop("canary_buf", None)
        assert replace(expected, canary_buf_i64=None).difference(outputs) is None

    @pytest.mark.parametrize("limit", WIDE)
    @pytest.mark.parametrize("pages", ["a slot each", "one for all"])
    @pytest.mark.parametrize("hash_format", ["serial", "parallel"])
    @pytest.mark.parametrize("kernel", ["write", "verify"])
    def test_source(
        self,
        held,
        stamp_calls,
        sanitizer,
        stamp_oracle,
        expected_of,
        kernel,
        hash_format,
        pages,
        limit,
    ):
        held_type, wide, monkeypatch = held
        slots, size = 12, 32
        apart = -(-limit // (slots - 2) // 16) * 16  # the last slot lies past the limit
        assert (slots - 1) * apart > limit
        random = Random(f"wide source {kernel} {hash_format} {pages} {limit}")
        # The oracle's source is the same bytes, close together.
        source = source_of_hex(random, slots)
        one_page = pages == "one for all"
        layout = {
            "page_size": slots if one_page else 1,
            "num_bytes_per_token": apart if one_page else size,
        }
        buffers = []

        def wide_source(cls, source, device):
            buffer = wide(slots * apart)
            for slot, row in enumerate(rows_hex):
                buffer.put(slot * apart, [*bytes.fromhex(row)])
            buffers.append(buffer)
            if one_page:
                return held_elsewhere(buffer.bytes.view(1, slots * apart))
            return held_elsewhere(buffer.bytes.as_strided((slots, size), (apart, 1)))

        rows_hex = source["rows_hex"]
        inputs = sound_call(
            random,
            kernel,
            sanitizer,
            stamp_oracle,
            slots=slots,
            sources=[source],
            hash_format=hash_format,
        )
        expected = expected_of(kernel, inputs)
        monkeypatch.setattr(held_type, "source", classmethod(wide_source))
        outputs = getattr(stamp_calls, kernel)(inputs | {"real_kv_sources": [source | layout]})
        assert expected.difference(outputs) is None
        [buffer] = buffers
        assert buffer.take() == [[*bytes.fromhex(row)] for row in rows_hex]

    @pytest.mark.parametrize("limit", WIDE)
    @pytest.mark.parametrize("kernel", ["write", "verify"])
    def test_rings(self, held, stamp_calls, expected_of, stamp_calls_module, kernel, limit):
        held_type, wide, monkeypatch = held
        size, capacity, index = 64, 6, 3
        more = limit // size  # rows before those that are looked at
        buffers = []

        def ring(cls, ring_capacity, device):
            buffer = wide((more + capacity + 2) * size)  # a row of guard on each side
            for row in range(capacity):
                buffer.put((more + row + 1) * size, [PATTERN] * size)
            buffers.append(buffer)
            rows = buffer.bytes.view(torch.int64)[8:-8]
            return held_elsewhere(rows.view(more + capacity, 8))

        inputs = CALL_THAT_FINDS[kernel](5, hash_format="parallel", evidence=True)
        inputs |= {"ring_capacity": capacity, "violation_write_index": index}
        expected = expected_of(kernel, inputs)
        monkeypatch.setattr(held_type, "ring", classmethod(ring))
        far = {"ring_capacity": more + capacity, "violation_write_index": more + index}
        outputs = getattr(stamp_calls, kernel)(inputs | far)
        # The rows as if the ring were short, in the poison that such a ring lies in.
        guard, width = stamp_calls_module.GUARD, 8
        for name, buffer in zip(("violation_ring", "evidence_ring"), buffers, strict=True):
            image = stamp_calls_module.empty_ring_in_poison(capacity)
            for row, piece in enumerate(buffer.take()):
                fields = integers(piece, 8)
                if fields != [PATTERN_WORD] * width:
                    image[guard + row * width : guard + (row + 1) * width] = fields
            outputs[name] = image
        outputs["violation_write_index"][guard] -= more
        assert expected.difference(outputs) is None

    @pytest.mark.parametrize("has_starts", [False, True])
    @pytest.mark.parametrize("limit", WIDE)
    def test_pool(self, held, backend, limit, has_starts):
        """The rows of a pool of int32, the last of which lies past the limit."""
        from kv_canary_kernels.launchers.scatter_req_token_ids import (
            launch_scatter_req_token_ids_kernel,
        )

        _, wide, _ = held
        rows, size = 9, 4
        width = -(-limit // (rows - 2) // size // 2) * 2
        buffer = wide(rows * width * size)
        tokens = list(range(2**33 + 100, 2**33 + 130))
        offsets, names = [0, 10, 10, 20, 30], [rows - 1, 0, 0, 3]
        starts = [width - 10, 0, 5, width - 3] if has_starts else [0, 0, 0, 0]
        for r, (row, start) in enumerate(zip(names, starts, strict=True)):
            fitting = min(offsets[r + 1] - offsets[r], width - start)
            buffer.put((row * width + start) * size, [PATTERN] * (fitting * size))

        def vector(values):
            return torch.tensor(values, dtype=torch.int64, device=backend.device)

        launch_scatter_req_token_ids_kernel(
            flat_in=vector(tokens),
            offsets=vector(offsets),
            req_pool_indices=vector(names),
            pool_out=buffer.bytes.view(torch.int32).view(rows, width),
            column_starts=vector(starts) if has_starts else None,
        )
        low = [token % 2**32 for token in tokens]
        last = low[20:23] if has_starts else low[20:30]
        assert [integers(piece, size) for piece in buffer.take()] == [
            low[:10],
            [],
            low[10:20],
            last,
        ]

    @pytest.mark.parametrize("limit", WIDE)
    def test_tokens(self, held, backend, limit):
        """Tokens of which the last lie past the limit."""
        from kv_canary_kernels.launchers.scatter_req_token_ids import (
            launch_scatter_req_token_ids_kernel,
        )

        _, wide, _ = held
        buffer = wide(limit + 8 * 8)
        count = limit // 8 + 8
        values = [(101 + k).to_bytes(8, "little") for k in range(10)]
        buffer.put((count - 10) * 8, [*b"".join(values)])
        pool = torch.full((2, 12), -5, dtype=torch.int32, device=backend.device)
        launch_scatter_req_token_ids_kernel(
            flat_in=buffer.bytes.view(torch.int64),
            offsets=torch.tensor([count - 10, count - 4, count], device=backend.device),
            req_pool_indices=torch.tensor([1, 0], device=backend.device),
            pool_out=pool,
        )
        assert pool.tolist() == [
            [107, 108, 109, 110] + [-5] * 8,
            [101, 102, 103, 104, 105, 106] + [-5] * 6,
        ]
        assert buffer.take() == [[*b"".join(values)]]
