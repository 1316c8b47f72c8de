"""Nothing but presence, choices and classes of sizes makes Triton compile a kernel anew.

On a GPU the kernels in Triton's own cache are counted after a replay of the trace and sweeps of
odd shapes.  Without one, the keys are counted under which Triton would look a kernel up: its
binder works them out from the arguments, and a hook answers before anything is compiled.
"""

import importlib
import itertools
import os
import pkgutil
from collections import defaultdict
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from unittest.mock import patch

import pytest
import torch

from kv_canary.replay.engine import replay
from kv_canary.replay.settings import ReplaySettings
from kv_canary.replay.trace import SHIPPED_SLICE, read_trace

STEMS = ("plan", "plan_offsets", "plan_entries", "plan_rotation")
STAMP_STEMS = ("write", "write_sums", "verify", "scatter_req_token_ids", "launch_count")
ALL_STEMS = STEMS + STAMP_STEMS

SMALL = ReplaySettings(scale=128, max_batch=16)
REPLAYS = [
    SMALL,
    replace(SMALL, window=5, token_offset=1),
    replace(SMALL, window=64, verify_capacity=300, max_batch=13, token_offset=-1),
    replace(SMALL, page_size=1, pool_slots=1 << 13, chunk=77, max_batch=64),
]
REQUESTS = 120
WHOLE_TRACE = Path(__file__).parent / "data" / "mooncake_conversation_3000.jsonl"


def kernel_of(stem):
    """The Triton function of a kernel."""
    module = importlib.import_module(f"kv_canary_kernels.kernels.{stem}")
    return getattr(module, f"_{stem}_kernel")


def launcher_of(stem):
    """The module that launches a kernel."""
    return importlib.import_module(f"kv_canary_kernels.launchers.{stem}")


def warm_up_of(stem):
    """What compiles a kernel's declared variants ahead of time."""
    return getattr(launcher_of(stem), f"warm_up_{stem}")


def declared_variants(stem, **given):
    """How many variants warming up compiles: each presence, with each set of what is compiled in.

    Args:
        stem: The kernel.
        given: Which optional tensors are given, as for warming up.
    """
    calls = []
    with patch.object(launcher_of(stem), "warm_up_kernel", lambda **call: calls.append(call) or 0):
        warm_up_of(stem)(device="cpu", **given)
    [call] = calls
    optional = len(call["presences"][0])
    wanted = [want for _, want in call["pointers"][len(call["pointers"]) - optional :]]
    presences = [
        presence
        for presence in call["presences"]
        if all(want in (None, sign == "+") for want, sign in zip(wanted, presence, strict=True))
    ]
    return len(presences) * len(call["variants"])


def test_every_kernel_is_counted():
    from kv_canary_kernels import launchers

    found = sorted(m.name for m in pkgutil.iter_modules(launchers.__path__))
    assert sorted(ALL_STEMS) == found, "a new kernel goes into the lists of this file"


SOURCES_FROM_THE_FIRST_ON = ["----", "+---", "++--", "+++-", "++++"]


@pytest.mark.parametrize(
    ("stem", "presences"),
    [
        # evidence_ring, workspace, sources, expected_input_tokens and expected_input_positions
        ("write", itertools.product("-+", "-+", SOURCES_FROM_THE_FIRST_ON, ["--", "++"])),
        # evidence_ring, sources
        ("verify", itertools.product("-+", SOURCES_FROM_THE_FIRST_ON)),
        # column_starts
        ("scatter_req_token_ids", itertools.product("-+")),
    ],
)
def test_presences_are_those_that_the_contract_allows(stem, presences):
    assert sorted(launcher_of(stem).PRESENCES) == sorted("".join(signs) for signs in presences)


def odd_frames(frame_type):
    """Every batch size from 0 to 64, with sizes, strides and presence that differ each time."""
    random = Random("odd shapes")
    for bs in range(65):
        has_table, has_tokens = random.random() < 0.5, random.random() < 0.5
        rotates = random.random() < 0.5
        max_seq_len = random.choice([1, 2, 15, 16, 17, 63, 64, 65])
        yield frame_type(
            bs=bs,
            max_reqs=random.choice([2, 3, 16, 17]),
            max_seq_len=max_seq_len,
            lut_len=random.choice([1, 16, 17, 500]) if has_table else None,
            token_shape=(random.choice([1, 16, 17]), random.choice([1, 16, 31]))
            if has_tokens
            else None,
            has_valid_lens=has_tokens or random.random() < 0.3,
            verify_capacity=random.choice([0, 1, 16, 17, bs * max_seq_len]),
            write_req_capacity=bs + random.choice([0, 1, 16]),
            swa_window_size=random.choice([0, 1, 16, 17]) if has_table else 0,
            token_offset=random.choice([0, 1, 16, -1]),
            has_rotation=rotates,
            has_total=rotates and random.random() < 0.5,
        )


def launch_odd_shapes(frame_type, plan_arena_type, device):
    """Launch the plan and its halves on each odd frame; tensors start at odd and even elements."""
    from kv_canary_kernels.launchers.plan_entries import launch_plan_entries_kernel
    from kv_canary_kernels.launchers.plan_offsets import launch_plan_offsets_kernel

    random = Random("odd launches")
    for frame in odd_frames(frame_type):
        arena = plan_arena_type(frame, device, random)
        arena.load(frame.batch(random, 0.1))
        arena.launch()
        plan = arena.arguments()
        verify_plan, write_plan = plan["verify_plan_out"], plan["write_plan_out"]
        batch = {n: plan[n] for n in ("req_pool_indices", "prefix_lens", "req_to_token")}
        batch |= {n: plan[n] for n in ("full_to_swa_index_mapping", "swa_window_size")}
        first = random.randrange(3)
        scratch = torch.zeros(4096 + 1 + first, dtype=torch.int64, device=device)[first:]
        launch_plan_offsets_kernel(
            **batch,
            extend_seq_lens=plan["extend_seq_lens"],
            out_verify_offsets_scratch=scratch,
            out_write_offsets=write_plan.write_offsets,
            out_write_seed_slot_indices=write_plan.write_seed_slot_indices,
            out_verify_num_valid=verify_plan.verify_num_valid,
            out_verify_enable=verify_plan.enable,
            out_write_num_valid_reqs=write_plan.write_num_valid_reqs,
            verify_capacity=frame.verify_capacity,
        )
        launch_plan_entries_kernel(
            **batch,
            verify_offsets_scratch=scratch,
            verify_enable=verify_plan.enable,
            **{
                name: plan[name]
                for name in (
                    "req_to_verify_expected_tokens",
                    "req_to_verify_expected_tokens_valid_lens",
                    "kv_token_id_vs_position_offset",
                )
            },
            out_verify_slot_indices=verify_plan.verify_slot_indices,
            out_verify_expected_tokens=verify_plan.verify_expected_tokens,
            out_verify_expected_positions=verify_plan.verify_expected_positions,
            out_verify_prev_slot_indices=verify_plan.verify_prev_slot_indices,
        )


# What the stamps' sweep has or has not: each a mapping that `launch_odd_stamps` takes.
ONE_STAMP_PRESENCE = {"sources": 2, "evidence": True, "workspace": True, "checks": True}
EVERY_STAMP_PRESENCE = [
    {"sources": sources, "evidence": evidence, "workspace": workspace, "checks": checks}
    for sources, evidence, workspace, checks in itertools.product(
        range(5), [False, True], [False, True], [False, True]
    )
]


def given_to_warm_up(stem, presence):
    """The same, as warming up asks for it."""
    sources = {f"source_{k}_tensor": k < presence["sources"] for k in range(4)}
    inputs = ("expected_input_tokens", "expected_input_positions")
    return {
        "write": {
            "evidence_ring": presence["evidence"],
            "workspace": presence["workspace"],
            **sources,
            **dict.fromkeys(inputs, presence["checks"]),
        },
        "verify": {"evidence_ring": presence["evidence"], **sources},
    }.get(stem, {})


class OddTensors:
    """Zeros of any shape, so that a launch has nothing to do; they start where they happen to."""

    def __init__(self, random, device):
        self._random = random
        self._device = device

    def integers(self, *shape, dtype=torch.int64):
        count = torch.Size(shape).numel()
        first = self._random.randrange(3)
        zeros = torch.zeros(first + count, dtype=dtype, device=self._device)
        return zeros[first:].view(shape)

    def bytes_of(self, rows, columns, gap=0):
        """Rows of bytes at a multiple of 16, and of no more."""
        first = 16 * self._random.randrange(3)
        stride = columns + gap
        zeros = torch.zeros(first + rows * stride, dtype=torch.uint8, device=self._device)
        return zeros[first:].as_strided((rows, columns), (stride, 1), first)


def odd_context(random, odd, presence, hash_format):
    """A context of odd sizes."""
    from kv_canary_kernels.structs import RealKvSource, VerifyOrWriteContext

    num_slots, ring_capacity = random.choice([0, 1, 15, 16, 17, 500]), random.choice([0, 1, 16, 17])
    sources = []
    for _ in range(presence["sources"]):
        page_size = random.choice([1, 2, 16, 17])
        per_token = random.choice([16, 32, 48, 128, 2048])
        tensor = odd.bytes_of(
            -(-num_slots // page_size), page_size * per_token, random.choice([0, 16, 48])
        )
        if random.random() < 0.5:
            tensor = tensor.view(torch.bfloat16)
        read_bytes = random.choice([16, per_token, per_token // 2 // 16 * 16 or 16])
        sources.append(RealKvSource(tensor, page_size, per_token, read_bytes))
    return VerifyOrWriteContext(
        canary_buf=odd.bytes_of(num_slots, random.choice([32, 48, 64, 256])),
        kernel_kind=random.choice([0, 1, 16, 2**31, -(2**63)]),
        violation_ring=odd.integers(ring_capacity, 8),
        violation_write_index=odd.integers(1, dtype=torch.int32),
        slot_run_counter=odd.integers(1),
        kernel_run_counter=odd.integers(1),
        real_kv_sources=tuple(sources),
        real_kv_hash_mode=random.choice([0, 1, 2, 2]),
        enable_chain_position_assert=odd.integers(1, dtype=torch.int32),
        hash_format=hash_format,
        evidence_ring=odd.integers(ring_capacity, 8) if presence["evidence"] else None,
        workspace=(
            odd.integers(random.choice([0, 1, 17, 5_000])) if presence["workspace"] else None
        ),
    )


def launch_odd_stamps(device, presences, rounds):
    """Launch write, verify and scatter on odd sizes, in both formats, so many times a presence."""
    from kv_canary_kernels.launchers.scatter_req_token_ids import (
        launch_scatter_req_token_ids_kernel,
    )
    from kv_canary_kernels.launchers.verify import launch_canary_verify_kernel
    from kv_canary_kernels.launchers.write import launch_canary_write_kernel
    from kv_canary_kernels.structs import VerifyPlan, WritePlan

    random = Random("odd stamps")
    odd = OddTensors(random, device)
    for presence, hash_format, _ in itertools.product(
        presences, ["serial", "parallel"], range(rounds)
    ):
        requests = random.choice([0, 1, 16, 17, 300])
        tokens = random.choice([0, 1, 16, 17, 127, 128, 129, 2_047, 2_048, 5_000])
        capacity = random.choice([0, 1, 16, 17, 127, 128, 129, 1_000])
        launch_canary_write_kernel(
            context=odd_context(random, odd, presence, hash_format),
            plan=WritePlan(
                write_offsets=odd.integers(requests + 1),
                write_seed_slot_indices=odd.integers(requests),
                write_num_valid_reqs=odd.integers(1, dtype=torch.int32),
            ),
            input_ids=odd.integers(tokens),
            positions=odd.integers(tokens),
            out_cache_loc=odd.integers(tokens),
            enable_write_input_assert=presence["checks"],
            expected_input_tokens=odd.integers(tokens) if presence["checks"] else None,
            expected_input_positions=odd.integers(tokens) if presence["checks"] else None,
        )
        launch_canary_verify_kernel(
            context=odd_context(random, odd, presence, hash_format),
            plan=VerifyPlan(
                verify_slot_indices=odd.integers(capacity),
                verify_expected_tokens=odd.integers(capacity),
                verify_expected_positions=odd.integers(capacity),
                verify_prev_slot_indices=odd.integers(capacity),
                verify_num_valid=odd.integers(1, dtype=torch.int32),
                enable=odd.integers(1, dtype=torch.int32),
            ),
            check_verify_expected_token=presence["checks"],
            report_padding_slot=random.random() < 0.5,
        )
        launch_scatter_req_token_ids_kernel(
            flat_in=odd.integers(tokens),
            offsets=odd.integers(requests + 1),
            req_pool_indices=odd.integers(requests),
            pool_out=odd.integers(
                random.choice([0, 1, 16, 17]), random.choice([0, 1, 16, 5_000]), dtype=torch.int32
            ),
            column_starts=odd.integers(requests) if random.random() < 0.5 else None,
        )


@pytest.mark.gpu
@pytest.mark.parametrize("backend", ["gpu"], indirect=True)
class TestCompiledKernels:
    """What Triton has compiled in this process, whoever asked for it."""

    @staticmethod
    def compiled(stem):
        """The most kernels that Triton keeps of one function on one device."""
        counts = [0]
        for caches in kernel_of(stem).device_caches.values():
            # The first mapping of the tuple holds the kernels, in Triton 3.6 and 3.9.
            kernels = next(part for part in caches if isinstance(part, dict))
            assert all(hasattr(kernel, "asm") for kernel in kernels.values())
            counts.append(len(kernels))
        return max(counts)

    @pytest.fixture
    def at_most_declared(self, capsys):
        """A check of every kernel's count, which is printed too."""

        def at_most_declared(stems=STEMS):
            counts = {stem: (self.compiled(stem), declared_variants(stem)) for stem in stems}
            with capsys.disabled():
                print("\n" + ", ".join(f"{s}: {n} of {most}" for s, (n, most) in counts.items()))
            assert all(count <= most for count, most in counts.values()), counts
            return {stem: count for stem, (count, _) in counts.items()}

        return at_most_declared

    def test_replay_compiles_at_most_the_declared_variants(self, backend, at_most_declared):
        trace = read_trace(SHIPPED_SLICE, limit=REQUESTS)
        for settings in REPLAYS:
            replay(trace, replace(settings, device=backend.device))
        assert at_most_declared()["plan"] >= 2, "with the SWA table and without are two"

    @pytest.mark.soak
    def test_whole_trace_compiles_at_most_the_declared_variants(
        self, backend, at_most_declared, capsys
    ):
        trace = read_trace(WHOLE_TRACE)
        for settings in (ReplaySettings(scale=32), ReplaySettings(scale=32, window=8)):
            summary = replay(trace, replace(settings, device=backend.device))
            with capsys.disabled():
                print(f"\n{len(trace)} requests, window {settings.window}: {summary.steps} steps")
        at_most_declared()

    def test_odd_shapes_compile_at_most_the_declared_variants(
        self, backend, at_most_declared, frame_type, plan_arena_type
    ):
        launch_odd_shapes(frame_type, plan_arena_type, backend.device)
        assert all(count >= 2 for count in at_most_declared().values())

    def test_stamps_of_odd_shapes_compile_at_most_the_declared_variants(
        self, backend, at_most_declared
    ):
        before = {stem: self.compiled(stem) for stem in STAMP_STEMS}
        launch_odd_stamps(backend.device, [ONE_STAMP_PRESENCE], rounds=40)
        after = at_most_declared(STAMP_STEMS)
        for stem in ("write", "verify"):
            given = given_to_warm_up(stem, ONE_STAMP_PRESENCE)
            assert after[stem] >= 2
            assert after[stem] - before[stem] <= declared_variants(stem, **given)

    def test_stamps_after_warm_up_compile_nothing(self, backend, at_most_declared):
        for stem in STAMP_STEMS:
            given = given_to_warm_up(stem, ONE_STAMP_PRESENCE)
            assert warm_up_of(stem)(device=backend.device, **given) >= declared_variants(
                stem, **given
            )
        warmed_up = at_most_declared(STAMP_STEMS)
        launch_odd_stamps(backend.device, [ONE_STAMP_PRESENCE], rounds=40)
        assert at_most_declared(STAMP_STEMS) == warmed_up

    @pytest.mark.soak
    def test_launches_after_warm_up_compile_nothing(
        self, backend, at_most_declared, frame_type, plan_arena_type
    ):
        """All of every kernel, which takes minutes."""
        from kv_canary import warm_up

        declared = {stem: declared_variants(stem) for stem in ALL_STEMS}
        # A kernel that goes along with two others is counted with each of them.
        assert warm_up(backend.device) >= sum(declared.values())
        assert at_most_declared(ALL_STEMS) == declared
        launch_odd_shapes(frame_type, plan_arena_type, backend.device)
        launch_odd_stamps(backend.device, EVERY_STAMP_PRESENCE, rounds=6)
        assert at_most_declared(ALL_STEMS) == declared


@pytest.mark.compiles
class TestKeys:
    """The keys under which Triton looks kernels up, worked out without a GPU."""

    @pytest.fixture
    def keys(self, monkeypatch):
        """Per stem, the keys of what was launched or warmed up, on tensors of the CPU."""
        if os.environ.get("TRITON_INTERPRET") == "1":
            pytest.skip("TRITON_INTERPRET=1 puts Triton's interpreter in its compiler's place")
        from triton import knobs
        from triton.backends.compiler import GPUTarget
        from triton.runtime import jit

        from kv_canary_kernels import backends

        keys = defaultdict(set)

        def note_key(*, key, fn, **_):
            keys[fn.name.removeprefix("_").removesuffix("_kernel")].add(key)
            return True  # that is all; do not compile

        active = SimpleNamespace(
            get_current_target=lambda: GPUTarget("cuda", 90, 32),
            get_current_device=lambda: 0,
            get_current_stream=lambda device: 0,
        )
        monkeypatch.setattr(jit, "driver", SimpleNamespace(active=active))
        monkeypatch.setattr(knobs.runtime, "jit_cache_hook", note_key)
        # A GPU is made believe, and the CPU's tensors stand for its own.
        monkeypatch.setattr(backends, "on_device", lambda device: nullcontext())
        monkeypatch.setattr(backends, "_usable", lambda device, stem: torch.device(device))
        monkeypatch.setattr(backends.TritonLaunch, "_first_launch", lambda launch: None)
        monkeypatch.setattr(backends, "_loaded", set())
        for stem in ALL_STEMS:
            kernel = kernel_of(stem)
            # What is kept for the machine's own GPU, if it has one, stays out of this.
            monkeypatch.setattr(kernel, "device_caches", defaultdict(kernel.create_binder))
        return keys

    @pytest.fixture
    def backend_name(self, monkeypatch):
        """The backend that the launchers choose for tensors of the CPU; `value` can be set."""
        name = SimpleNamespace(value="triton")
        for stem in ALL_STEMS:
            monkeypatch.setattr(
                f"kv_canary_kernels.launchers.{stem}.choose_backend", lambda *_: name.value
            )
        return name

    def test_replay_uses_at_most_the_declared_variants(self, keys, backend_name):
        from kv_canary import launch_canary_plan_kernels

        def launch(**arguments):
            backend_name.value = "triton"
            launch_canary_plan_kernels(**arguments)  # notes the key
            backend_name.value = "torch"
            launch_canary_plan_kernels(**arguments)  # gives the plan that is compared

        trace = read_trace(SHIPPED_SLICE, limit=REQUESTS)
        plans = sum(replay(trace, settings, launch=launch).plans for settings in REPLAYS)
        assert plans > 500
        assert {stem: len(of_stem) for stem, of_stem in keys.items()} == {"plan": 2}

    def test_odd_shapes_use_at_most_the_declared_variants(
        self, keys, backend_name, frame_type, plan_arena_type
    ):
        launch_odd_shapes(frame_type, plan_arena_type, "cpu")
        assert set(keys) == set(STEMS)
        for stem, of_stem in keys.items():
            assert 2 <= len(of_stem) <= declared_variants(stem), stem

    def test_stamps_of_odd_shapes_use_at_most_the_declared_variants(self, keys, backend_name):
        launch_odd_stamps("cpu", EVERY_STAMP_PRESENCE, rounds=6)
        assert set(keys) == set(STAMP_STEMS)
        for stem, of_stem in keys.items():
            assert len(of_stem) <= declared_variants(stem), stem
        # Were they few, the sweep would say little: each presence came in both formats, at least.
        for stem in ("write", "verify"):
            assert len(keys[stem]) >= 2 * len(launcher_of(stem).PRESENCES), stem

    @pytest.mark.parametrize("presence", [ONE_STAMP_PRESENCE, EVERY_STAMP_PRESENCE[0]])
    def test_stamps_of_one_presence_use_at_most_what_is_declared_for_it(
        self, keys, backend_name, presence
    ):
        launch_odd_stamps("cpu", [presence], rounds=60)
        for stem in ("write", "verify"):
            given = given_to_warm_up(stem, presence)
            assert 2 <= len(keys[stem]) <= declared_variants(stem, **given), stem

    def test_warm_up_compiles_what_launches_use(
        self, keys, backend_name, monkeypatch, frame_type, plan_arena_type
    ):
        for stem in ALL_STEMS:
            warmup = kernel_of(stem).warmup

            def loads_nothing(*arguments, warmup=warmup, **options):
                assert warmup(*arguments, **options) is None
                return SimpleNamespace(_init_handles=lambda: None)

            monkeypatch.setattr(kernel_of(stem), "warmup", loads_nothing)
        for stem in ALL_STEMS:
            warm_up_of(stem)(device="cuda:0")
        warmed_up = {stem: set(of_stem) for stem, of_stem in keys.items()}
        assert {stem: len(warmed_up[stem]) for stem in ALL_STEMS} == {
            stem: declared_variants(stem) for stem in ALL_STEMS
        }
        keys.clear()
        launch_odd_shapes(frame_type, plan_arena_type, "cpu")
        launch_odd_stamps("cpu", EVERY_STAMP_PRESENCE, rounds=6)
        for stem in ALL_STEMS:
            assert keys[stem] <= warmed_up[stem], stem
