"""Launch the plan's kernels on garbage in tensors of exact size, for a memory checker to watch.

    compute-sanitizer --tool memcheck --error-exitcode 9 python3 tests/sanitize_plan.py

Every tensor is an allocation of its own, as long as its contents and no longer, so that an access
one element outside leaves the allocation, which the checker reports.  What the plans hold is not
looked at here: the guard zones' test does that.
"""

import os
import random
import sys
from dataclasses import dataclass
from os.path import abspath, dirname, join

# Torch's allocator would round sizes up and cut tensors out of larger blocks; read at its import.
os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
sys.path.insert(0, join(dirname(dirname(abspath(__file__))), "generated"))
sys.path.insert(0, join(dirname(dirname(abspath(__file__))), "runtime"))

import torch

from kv_canary_kernels.launchers.plan import launch_canary_plan_kernels
from kv_canary_kernels.launchers.plan_entries import launch_plan_entries_kernel
from kv_canary_kernels.launchers.plan_offsets import launch_plan_offsets_kernel
from kv_canary_kernels.launchers.plan_rotation import launch_plan_rotation_kernel
from kv_canary_kernels.structs import VerifyPlan, WritePlan

ROUNDS = 100
SMALLEST_SCRATCH = 4096 + 1  # PLAN_BS_BLOCK_SIZE + 1, what the offsets kernel asks for
DTYPES = {32: torch.int32, 64: torch.int64}

# Each mixture of optional tensors is a kernel to compile; these four between them use every branch.
MIXTURES = (
    {"table": False, "tokens": False, "rotation": False},
    {"table": True, "tokens": False, "rotation": True},
    {"table": False, "tokens": True, "rotation": True},
    {"table": True, "tokens": True, "rotation": False},
)


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes tensors of exact size on a device."""

    source: random.Random
    device: torch.device

    def tensor(self, shape, high, *, bits=64, garbage=0.0):
        """Values from 0 to `high`, a share of them at its edges or any bit pattern at all."""
        count = 1
        for extent in shape:
            count *= extent
        values = [
            self._garbage(high, bits)
            if self.source.random() < garbage
            else self.source.randint(0, max(0, high))
            for _ in range(count)
        ]
        return torch.tensor(values, dtype=DTYPES[bits]).view(shape).to(self.device)

    def empty(self, length, bits=64):
        """An output, its contents unspecified."""
        return torch.empty(length, dtype=DTYPES[bits], device=self.device)

    def _garbage(self, high, bits):
        limit = 2 ** (bits - 1)
        near = [-2, -1, high, high + 1, limit - 1, -limit]
        return self.source.choice([*near, self.source.randrange(-limit, limit)])


def run_round(maker, *, table, tokens, rotation):
    """Launch the plan, its two halves and the rotation once each; return how many launches."""
    choose = maker.source.choice
    bs = choose([0, 1, 2, 3, 7, 8, 33, 257])
    max_reqs = choose([0, 1, 2, 5, 9])
    max_seq_len = choose([0, 1, 2, 31, 256, 257, 1_025, 2_200])
    lut_len = choose([1, 2, 63, 1_000])
    token_rows, token_columns = choose([0, 1, max_reqs, max_reqs + 1]), choose([0, 1, max_seq_len])
    verify_capacity = choose([0, 1, 5, bs * max_seq_len // 4, bs * max_seq_len // 2])
    write_req_capacity = bs + choose([0, 1, 300])
    garbage = choose([0.0, 0.02, 0.3, 1.0])

    batch = {
        "req_pool_indices": maker.tensor((bs,), max_reqs - 1, garbage=garbage),
        "prefix_lens": maker.tensor((bs,), max_seq_len, garbage=garbage),
        "req_to_token": maker.tensor(
            (max_reqs, max_seq_len), lut_len - 1, bits=32, garbage=garbage
        ),
    }
    extends = {"extend_seq_lens": maker.tensor((bs,), 3 * max_seq_len, garbage=garbage)}
    mapping = {
        "full_to_swa_index_mapping": (
            maker.tensor((lut_len,), 5_000, garbage=garbage) if table else None
        )
    }
    expected = {
        "req_to_verify_expected_tokens": (
            maker.tensor((token_rows, token_columns), 50_000, bits=32, garbage=garbage)
            if tokens
            else None
        ),
        "req_to_verify_expected_tokens_valid_lens": (
            maker.tensor((bs,), max_seq_len, garbage=garbage) if tokens else None
        ),
        "kv_token_id_vs_position_offset": choose([0, 1, -1, 300, 2**63 - 1, -(2**63)]),
    }
    window = {"swa_window_size": choose([0, 1, 64, 2**63 - 1] if table else [0, -1, -(2**63)])}
    capacity = {"verify_capacity": verify_capacity}
    rotating = (
        {
            "verify_rotation": maker.tensor((1,), bs * max_seq_len, garbage=garbage),
            "verify_total": maker.empty(1),
        }
        if rotation
        else {}
    )
    entries = [maker.empty(verify_capacity) for _ in range(4)]
    flags = [maker.empty(1, bits=32) for _ in range(3)]
    write_offsets = maker.empty(write_req_capacity + 1)
    write_seeds = maker.empty(write_req_capacity)

    launch_canary_plan_kernels(
        verify_plan_out=VerifyPlan(
            verify_slot_indices=entries[0],
            verify_expected_tokens=entries[1],
            verify_expected_positions=entries[2],
            verify_prev_slot_indices=entries[3],
            verify_num_valid=flags[0],
            enable=flags[1],
        ),
        write_plan_out=WritePlan(
            write_offsets=write_offsets,
            write_seed_slot_indices=write_seeds,
            write_num_valid_reqs=flags[2],
        ),
        **batch | extends | mapping | expected | window | capacity | rotating,
    )
    launch_plan_offsets_kernel(
        **batch | extends | mapping | window | capacity,
        out_verify_offsets_scratch=maker.empty(SMALLEST_SCRATCH),
        out_write_offsets=write_offsets,
        out_write_seed_slot_indices=write_seeds,
        out_verify_num_valid=flags[0],
        out_verify_enable=flags[1],
        out_write_num_valid_reqs=flags[2],
    )
    launch_plan_entries_kernel(
        **batch | mapping | expected | window,
        verify_offsets_scratch=maker.tensor((bs + 1,), verify_capacity, garbage=choose([0.3, 1.0])),
        verify_enable=maker.tensor((1,), 1, bits=32, garbage=0.5),
        out_verify_slot_indices=entries[0],
        out_verify_expected_tokens=entries[1],
        out_verify_expected_positions=entries[2],
        out_verify_prev_slot_indices=entries[3],
    )
    if not rotation:
        return 3
    launch_plan_rotation_kernel(**batch | window | capacity | rotating)
    return 4


def main():
    """Run every round, wait for the device, and say how much was launched."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    maker = Maker(random.Random(0), device)
    calls = 0
    for number in range(ROUNDS):
        calls += run_round(maker, **MIXTURES[number % len(MIXTURES)])
    if device.type == "cuda":
        torch.cuda.synchronize()
    print(f"{calls} calls of the plan's launchers on {device.type}, on garbage in exact tensors")


if __name__ == "__main__":
    main()
