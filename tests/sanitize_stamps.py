"""Launch write, verify and scatter on garbage in tensors of exact size, for a memory checker.

    compute-sanitizer --tool memcheck --error-exitcode 9 python3 tests/sanitize_stamps.py

Every tensor is an allocation of its own, as long as its contents and no longer, so that an access
one element outside leaves the allocation, which the checker reports.  What a launch leaves is
compared with the oracle as well; a difference is printed, and the exit status is then 1.

`Garbage` draws the calls, here and for the guard zones' test.
"""

import importlib.util
import os
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
ROUNDS = 100
LONG_ROUND = 10
"""Each round whose number is a multiple of this has calls of several blocks."""

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
WRITE_INDEX_LIMIT = 2**30
BOUNDARIES = (
    *(sign * 2**power + step for power in (31, 32, 62) for sign in (-1, 1) for step in (-1, 0, 1)),
    *(INT64_MIN, INT64_MIN + 1, -3, -2, -1, 0, 1, INT64_MAX - 1, INT64_MAX),
)
# What a NaN, an infinity or a pointer looks like when a table of integers is written over.
FOREIGN_PATTERNS = (
    *(0x7FC00000, 0xFFC00000, 0x7F800001, 0x7F800000, 0xDEADBEEF, 0xCDCDCDCD),
    *(0x7FF8000000000000, 0xFFF8000000000000, 0x7FF0000000000001, 0x7FF0000000000000),
    *(0x7FC000007FC00000, 0x00007F2A5C000010, 0xDEADBEEFDEADBEEF),
)
WRITE_INDICES = (
    *([0] * 20 + [1, 2, 7, 64, -1, -2, INT32_MIN, INT32_MAX]),
    *(WRITE_INDEX_LIMIT + step for step in (-3, -2, -1, 0, 1)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """What is compiled into write and verify, apart from how many words they read at a time."""

    hash_format: str
    sources: int = 0
    evidence: bool = False
    workspace: bool = False
    checks: bool = False
    """Whether write compares its inputs, and verify tokens."""


# Each mixture is a kernel or more to compile; these between them use every branch.
MIXTURES = (
    Mixture(hash_format="serial"),
    Mixture(hash_format="parallel", workspace=True, checks=True),
    Mixture(hash_format="serial", sources=1, evidence=True, workspace=True, checks=True),
    Mixture(hash_format="parallel", sources=2),
    Mixture(hash_format="serial", sources=4, evidence=True),
    Mixture(hash_format="parallel", sources=4, evidence=True, workspace=True, checks=True),
)


def any_mixture(random):
    """One of all that there are."""
    return Mixture(
        hash_format=random.choice(["serial", "parallel"]),
        sources=random.choice([0, 1, 2, 3, 4]),
        evidence=random.random() < 0.6,
        workspace=random.random() < 0.5,
        checks=random.random() < 0.5,
    )


def as_signed(pattern, bits):
    """The integer that the low bits of a pattern are in two's complement."""
    pattern &= 2**bits - 1
    return pattern - 2**bits if pattern >> (bits - 1) else pattern


class Garbage:
    """Draws one call: sound at first, then of each tensor nothing, a share, or all is garbage.

    Calls are spelt as the contract's vectors are, for `stamp_calls.py` and `oracle_stamps.py`; a
    context's `workspace` is for `calls_with_workspace`.
    """

    def __init__(self, random, *, mixture=None, most_requests=5, longest=None):
        self._random = random
        self._mixture = any_mixture(random) if mixture is None else mixture
        self._most_requests = most_requests
        # Now and then a request is long enough for blocks of its own.
        self._longest = random.choice([6, 6, 6, 6, 70]) if longest is None else longest
        self._share = random.choice([0.0, 0.05, 0.1, 0.2, 0.6])

    def write(self):
        """The inputs of a write call."""
        random = self._random
        context = self._context()
        requests = self._sound_requests(context)
        slots = len(context["canary_buf_i64"])
        entries = [entry for _, entries in requests for entry in entries]
        entries += [(7, 7, -1)] * random.choice([0, 0, 1, 3])  # past the last request's
        offsets = [0]
        for _, of_request in requests:
            offsets.append(offsets[-1] + len(of_request))
        spare = random.choice([0, 0, 1, 3])
        tokens = self._spoiled([token for token, _, _ in entries])
        positions = self._spoiled([position for _, position, _ in entries], 3)
        targets = self._spoiled([slot for _, _, slot in entries], 0, 1, slots)
        seeds = self._spoiled([seed for seed, _ in requests], -1, 0, slots, *targets[:1])
        if random.random() < 0.8:  # else what their requests find is open
            seeds = [-1 if seed in targets else seed for seed in seeds]
        checks = self._mixture.checks
        return context | {
            "enable_chain_position_assert": random.choice([1, 1, 0, -1, INT32_MIN]),
            "write_offsets": (
                self._spoiled(offsets, 0, len(entries), random.choice(offsets)) + [5] * spare
            ),
            "write_seed_slot_indices": seeds + [slots + 9] * spare,
            "write_num_valid_reqs": self._count(len(requests), len(requests) + spare),
            "input_ids": tokens,
            "positions": positions,
            "out_cache_loc": targets,
            "enable_write_input_assert": checks,
            "expected_input_tokens": self._spoiled(tokens, *tokens) if checks else None,
            "expected_input_positions": self._spoiled(positions, *positions) if checks else None,
        }

    def verify(self, oracle):
        """The inputs of a verify call, on what the oracle stamps for sound requests."""
        random = self._random
        context = self._context()
        requests = self._sound_requests(context)
        slots = len(context["canary_buf_i64"])
        plan = []
        for seed, entries in requests:
            previous = seed
            for token, position, slot in entries:
                if slot >= 0:
                    planned = 0 if random.random() < 0.03 else slot
                    plan.append((planned, token, position, previous))
                    previous = slot
        random.shuffle(plan)
        spare = random.choice([0, 0, 1, 3])
        past = [99] * spare
        return context | {
            "canary_buf_i64": [
                self._spoiled(row, *row[:2]) for row in self._stamped(oracle, context, requests)
            ],
            "check_verify_expected_token": self._mixture.checks,
            "verify_slot_indices": self._spoiled([entry[0] for entry in plan], 0, slots) + past,
            "verify_expected_tokens": self._spoiled([entry[1] for entry in plan], -1) + past,
            "verify_expected_positions": self._spoiled([entry[2] for entry in plan], 3) + past,
            "verify_prev_slot_indices": (
                self._spoiled([entry[3] for entry in plan], -1, 0, slots) + past
            ),
            "verify_num_valid": self._count(len(plan), len(plan) + spare),
            "enable": random.choice([1, 1, 1, 1, 1, 1, 1, 2, -1, INT32_MIN, 0]),
            "report_padding_slot": random.random() < 0.5,
        }

    def scatter_req_token_ids(self):
        """The inputs of a scatter call."""
        random = self._random
        requests = random.randint(0, 2 * self._most_requests)
        rows = random.choice([1, 0, *[requests, requests + 3] * 3])
        width = random.choice([0, 1, 4, 9, 33, self._longest, 3 * self._longest])
        offsets = [random.randint(0, 2)]
        for _ in range(requests):
            offsets.append(offsets[-1] + random.randint(0, self._longest))
        tokens = offsets[-1] + random.randint(0, 3)
        names = random.sample(range(rows), min(rows, requests))
        names += [rows] * (requests - len(names))
        starts = [random.choice([0, 0, 1, width // 2, width]) for _ in range(requests)]
        return {
            "flat_in": self._spoiled([random.randrange(50_000) for _ in range(tokens)]),
            "offsets": self._spoiled(offsets, 0, tokens, random.choice(offsets)),
            "req_pool_indices": self._spoiled(names, 0, rows),
            "pool_rows": rows,
            "pool_width": width,
            "pool_fill": random.choice([-5, 0, INT32_MIN]),
            "column_starts": self._spoiled(starts, -1, 0, width) if random.random() < 0.5 else None,
        }

    def _context(self):
        """What write and verify share: the buffer, the sources, the ring and the counters."""
        random = self._random
        room = self._most_requests * self._longest
        slots = random.choice([0, 1, 2, 7, *[room // 2, room + 9, room + 20] * 5])
        fields = random.choice([4, 4, 4, 6, 10])
        return {
            "canary_buf_i64": [
                self._spoiled([random.randrange(50_000), random.randrange(90)])
                + [as_signed(random.getrandbits(64), 64) for _ in range(fields - 2)]
                for _ in range(slots)
            ],
            "kernel_kind": random.choice([*range(12), -1, INT64_MIN, INT64_MAX]),
            "ring_capacity": random.choice([0, 1, 2, 8, *[2 * room + 9] * 6]),
            "violation_write_index": random.choice([*WRITE_INDICES, room, 2 * room + 9]),
            "real_kv_hash_mode": random.choice([0, 1, 2, 2]),
            "real_kv_sources": [self._source(slots) for _ in range(self._mixture.sources)],
            "hash_format": self._mixture.hash_format,
            "slot_run_counter": random.choice([0, 41, -1, INT64_MIN, INT64_MAX]),
            "kernel_run_counter": random.choice([0, 41, -1, INT64_MIN, INT64_MAX]),
            "evidence_ring": self._mixture.evidence,
            "workspace": self._workspace() if self._mixture.workspace else None,
        }

    def _workspace(self):
        """What a launch left there, too short for the next one, or long enough for any."""
        room = self._most_requests * self._longest
        length = self._random.choice([0, 1, 3 * room // 32, *[4 * room + 99] * 3])
        return [as_signed(self._random.getrandbits(64), 64) for _ in range(length)]

    def _source(self, slots):
        """A source with pages, holes and gaps, or without any; its rows cover every slot."""
        random = self._random
        page_size = random.choice([1, 1, 2, 3, 16, slots + 1])
        per_token = random.choice([16, 16, 32, 48, 64, 128, 256])
        dtype, size = random.choice([("uint8", 1), ("uint8", 1), ("bfloat16", 2), ("float32", 4)])
        view = page_size * per_token + random.choice([0, 0, 16, 48, 4 * size])
        stride = -(-view // 16) * 16 + random.choice([0, 0, 16, 80])
        return {
            "rows_hex": [
                random.randbytes(stride).hex()
                for _ in range(-(-slots // page_size) + random.choice([0, 0, 1]))
            ],
            "row_stride_bytes": stride,
            "view_cols": view,
            "page_size": page_size,
            "num_bytes_per_token": per_token,
            "read_bytes": random.choice(
                [16, per_token, random.choice(range(16, per_token + 1, 16))]
            ),
            "dtype": dtype,
        }

    def _sound_requests(self, context):
        """Seeds and entries of requests that write to slots of their own, as far as there are."""
        random = self._random
        free = list(range(1, len(context["canary_buf_i64"])))
        random.shuffle(free)
        requests = []
        for _ in range(random.choice([0, *[*range(1, self._most_requests + 1)] * 3])):
            seed = free.pop() if free and random.random() < 0.6 else -1
            position = 0 if seed == -1 else context["canary_buf_i64"][seed][1] + 1
            position = as_signed(position, 64)
            entries = []
            for _ in range(random.choice([0, *range(1, self._longest + 1)])):
                skipped = not free or random.random() < 0.1
                slot = random.choice([-1, -5]) if skipped else free.pop()
                entries.append((random.randrange(50_000), position, slot))
                position = position if skipped else as_signed(position + 1, 64)
            requests.append((seed, entries))
        return requests

    def _stamped(self, oracle, context, requests):
        """The canary buffer after the requests, which are sound, have been written."""
        entries = [entry for _, of_request in requests for entry in of_request]
        offsets = [0]
        for _, of_request in requests:
            offsets.append(offsets[-1] + len(of_request))
        launch = oracle.write(
            **known_to_the_oracle(context),
            enable_chain_position_assert=0,
            write_offsets=offsets,
            write_seed_slot_indices=[seed for seed, _ in requests],
            write_num_valid_reqs=len(requests),
            input_ids=[token for token, _, _ in entries],
            positions=[position for _, position, _ in entries],
            out_cache_loc=[slot for _, _, slot in entries],
            enable_write_input_assert=False,
            expected_input_tokens=None,
            expected_input_positions=None,
        )
        return launch.canary_buf_i64

    def _spoiled(self, values, *edges):
        """Values of which none, a share or each is one that no sound tensor holds there."""
        share = self._random.choice([0.0, *[self._share] * 6, 1.0]) if self._share else 0.0
        return [self._wild(edges) if self._random.random() < share else value for value in values]

    def _count(self, *sound):
        """A count that is read clamped."""
        wild = (-1, 0, INT32_MIN, INT32_MAX, 2**30, sound[-1] + 1)
        return self._random.choice([*sound * 10, *wild] if self._share else sound[:1])

    def _wild(self, edges):
        """An edge, or next to one, or else anything."""
        random = self._random
        kind = random.randrange(6 if edges else 3)
        if kind == 0:
            return as_signed(random.getrandbits(64), 64)
        if kind == 1:
            return random.choice(BOUNDARIES)
        if kind == 2:
            return as_signed(random.choice(FOREIGN_PATTERNS), 64)
        return as_signed(random.choice(edges) + random.choice([-1, 0, 0, 1]), 64)


def known_to_the_oracle(inputs):
    """The oracle always knows the evidence, and never what a launch keeps in its workspace."""
    return {n: value for n, value in inputs.items() if n not in ("evidence_ring", "workspace")}


def calls_with_workspace(stamp_calls):
    """`StampCalls` of that module, with a workspace where the inputs have one.

    What a launch leaves in it is its own affair, but it has poison around it.
    """

    class StampCallsWithWorkspace(stamp_calls.StampCalls):
        def _held(self, inputs, tensors):
            held = super()._held(inputs, tensors)
            if inputs.get("workspace") is not None:
                held["workspace"] = stamp_calls.Held.integers(
                    inputs["workspace"], "int64", self.device
                )
            return held

        @staticmethod
        def _context(inputs, held):
            context = stamp_calls.StampCalls._context(inputs, held)
            if "workspace" not in held:
                return context
            return replace(context, workspace=held["workspace"].tensor)

        @staticmethod
        def _outputs(held, changed):
            if "workspace" in held:
                inside = [None] * held["workspace"].tensor.shape[0]
                expected = stamp_calls.integers_in_poison(inside)
                found = held.pop("workspace").now()
                assert stamp_calls.first_difference("workspace", found, expected) is None
            return stamp_calls.StampCalls._outputs(held, changed)

    return StampCallsWithWorkspace


# What the memory checker watches ------------------------------------------------------------------


def load_by_path(path):
    """Import a file that stands in no package, under its own name."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # a dataclass looks its module up while it is made
    spec.loader.exec_module(module)
    return module


class ExactCalls:
    """Calls whose tensors are as long as their contents, each compared with the oracle."""

    def __init__(self, device):
        self._oracle = load_by_path(HERE / "oracle_stamps.py")
        self._calls = load_by_path(HERE / "stamp_calls.py")
        self._calls.GUARD = self._calls.GUARD_BYTES = 0
        self._stamp_calls = calls_with_workspace(self._calls)(device)
        self._scatter_calls = self._calls.ScatterCalls(device)

    def differences(self, garbage):
        """Launch each kernel once; give what is wrong, by kernel."""
        write, verify = garbage.write(), garbage.verify(self._oracle)
        return {
            "write": self._difference("write", write),
            "verify": self._difference("verify", verify),
            "scatter": self._scatter_difference(garbage.scatter_req_token_ids()),
        }

    def _difference(self, kernel, inputs):
        launch = getattr(self._oracle, kernel)(**known_to_the_oracle(inputs))
        found = getattr(self._stamp_calls, kernel)(inputs)
        return self._calls.ExpectedLaunch.of_oracle(inputs, launch).difference(found)

    def _scatter_difference(self, inputs):
        pool = self._calls.pool_of_oracle(self._oracle.scatter_req_token_ids(**inputs))
        found = self._scatter_calls.scatter(inputs)
        return self._calls.first_difference("pool_out", found, self._calls.expected_pool(pool))


def main():
    """Run every round, and say how much was launched; 1 where a launch differs from the oracle."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    calls = ExactCalls(device)
    launched = Counter()
    for number in range(ROUNDS):
        sizes = {"most_requests": 3, "longest": 1_500} if number % LONG_ROUND == 0 else {}
        mixture = MIXTURES[number % len(MIXTURES)]
        garbage = Garbage(Random(f"sanitize {number}"), mixture=mixture, **sizes)
        for kernel, difference in calls.differences(garbage).items():
            launched[kernel] += 1
            if difference is not None:
                print(f"round {number}, {kernel}, {mixture}: {difference}", file=sys.stderr)
                return 1
    if device == "cuda":
        torch.cuda.synchronize()
    counts = ", ".join(f"{count} of {kernel}" for kernel, count in launched.items())
    print(f"{counts} on {device}, on garbage in exact tensors: all as the oracle says")
    return 0


if __name__ == "__main__":
    # Torch reads this when it is imported: its allocator would cut tensors out of larger blocks.
    os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
    sys.path[:0] = [str(HERE.parent / "generated"), str(HERE.parent / "runtime")]
    sys.exit(main())
