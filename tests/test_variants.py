"""Nothing but the presence of optional tensors makes Triton compile a kernel anew.

On a GPU the kernels in Triton's own cache are counted after a replay of the trace and a sweep of
odd shapes.  Without one, the keys are counted under which Triton would look a kernel up: its
binder works them out from the arguments, and a hook answers before anything is compiled.
"""

import importlib
import inspect
import os
from collections import defaultdict
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
import torch

from kv_canary.replay.engine import replay
from kv_canary.replay.settings import ReplaySettings
from kv_canary.replay.trace import SHIPPED_SLICE, read_trace

STEMS = ("plan", "plan_offsets", "plan_entries", "plan_rotation")

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


def warm_up_of(stem):
    """What compiles a kernel's declared variants ahead of time."""
    module = importlib.import_module(f"kv_canary_kernels.launchers.{stem}")
    return getattr(module, f"warm_up_{stem}")


def declared_variants(stem):
    """Each optional tensor is there or not; the spec declares nothing else that is compiled in."""
    optional = set(inspect.signature(warm_up_of(stem)).parameters) - {"device"}
    return 2 ** len(optional)


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

        def at_most_declared():
            counts = {stem: (self.compiled(stem), declared_variants(stem)) for stem in STEMS}
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

    def test_launches_after_warm_up_compile_nothing(
        self, backend, at_most_declared, frame_type, plan_arena_type
    ):
        from kv_canary import warm_up

        declared = {stem: declared_variants(stem) for stem in STEMS}
        assert warm_up(backend.device) == sum(declared.values())
        assert at_most_declared() == declared
        launch_odd_shapes(frame_type, plan_arena_type, backend.device)
        assert at_most_declared() == declared


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
        for stem in STEMS:
            kernel = kernel_of(stem)
            # What is kept for the machine's own GPU, if it has one, stays out of this.
            monkeypatch.setattr(kernel, "device_caches", defaultdict(kernel.create_binder))
        return keys

    @pytest.fixture
    def backend_name(self, monkeypatch):
        """The backend that the launchers choose for tensors of the CPU; `value` can be set."""
        name = SimpleNamespace(value="triton")
        for stem in STEMS:
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

    def test_warm_up_compiles_what_launches_use(
        self, keys, backend_name, monkeypatch, frame_type, plan_arena_type
    ):
        for stem in STEMS:
            warmup = kernel_of(stem).warmup

            def loads_nothing(*arguments, warmup=warmup, **options):
                assert warmup(*arguments, **options) is None
                return SimpleNamespace(_init_handles=lambda: None)

            monkeypatch.setattr(kernel_of(stem), "warmup", loads_nothing)
        for stem in STEMS:
            warm_up_of(stem)(device="cuda:0")
        warmed_up = {stem: set(of_stem) for stem, of_stem in keys.items()}
        assert {stem: len(warmed_up[stem]) for stem in STEMS} == {
            stem: declared_variants(stem) for stem in STEMS
        }
        keys.clear()
        launch_odd_shapes(frame_type, plan_arena_type, "cpu")
        for stem in STEMS:
            assert keys[stem] <= warmed_up[stem], stem
