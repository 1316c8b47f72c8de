"""Plan, write, verify and scatter on a GPU's streams: one captured step, replayed with new batches.

A small engine makes the batches: sequences grow, end, and give their slots back, and now and then
something is damaged.  Every tensor of a step lies in one poisoned buffer, of which there are two:
one on the GPU, where the graph is replayed, and one on the CPU, where the torch reference runs the
same step.  The whole buffers are compared each time, and a sample of them with the oracles.
"""

import os
import subprocess
import sys
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
import torch

pytestmark = [pytest.mark.gpu, pytest.mark.parametrize("backend", ["gpu"], indirect=True)]

REPOSITORY = Path(__file__).parent.parent
MANY_REPLAYS = 1_000
REPLAYS = 60
LAUNCHES = 100
SAMPLE = 20
"""Each replay whose number is a multiple of this is compared with the oracles too."""

BATCH = 8
ROWS = 12
MOST_TOKENS = 420
"""Tokens of a step."""
ROOM_FOR_TOKENS = 2_200
"""Tokens that there is room for beside a workspace; most of it stays unused."""
LONGEST = 300
SLOTS = 1_500
FULL_SLOTS = 4_000
WINDOW = 40
STRIDE = 48
"""Bytes of a slot's row in the canary buffer."""
RING = 4_096
FIELDS = 8
"""Fields of a row of either ring."""
POISON = -7_000_001
SOURCES = (
    # page_size, num_bytes_per_token, read_bytes, bytes between rows
    (1, 16, 16, 16),
    (16, 32, 32, 0),
    (4, 48, 16, 32),
    (1, 128, 128, 0),
)

INT32_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """What a step has, and what of it is compiled in."""

    hash_format: str = "serial"
    real_kv_hash_mode: int = 2
    sources: int = 0
    evidence: bool = False
    workspace: bool = False
    """Whether there is one, and then also room for so many tokens that write may use it."""
    window: bool = False
    tokens: bool = False
    """Whether the plan knows tokens, verify compares them, and write its inputs."""
    rotation: bool = False

    def __str__(self):
        named = [
            name
            for name in ("evidence", "workspace", "window", "tokens", "rotation")
            if getattr(self, name)
        ]
        return "-".join([self.hash_format, str(self.real_kv_hash_mode), str(self.sources), *named])


MANY = [
    Mixture(hash_format="serial", sources=2, evidence=True, tokens=True),
    Mixture(hash_format="parallel", sources=2, evidence=True, workspace=True, tokens=True),
]
MIXTURES = [
    Mixture(hash_format="serial"),
    Mixture(hash_format="parallel", real_kv_hash_mode=1, sources=4),
    Mixture(hash_format="serial", sources=4, window=True, rotation=True),
    Mixture(hash_format="parallel", evidence=True, workspace=True, window=True, tokens=True),
    Mixture(hash_format="parallel", sources=1, tokens=True, rotation=True),
    Mixture(hash_format="serial", real_kv_hash_mode=0, sources=3, evidence=True),
]


@pytest.fixture(autouse=True)
def on_gpu(backend):
    """Every test here runs on the GPU, or skips and says why."""


# A step's tensors --------------------------------------------------------------------------------


def layout_of(mixture):
    """Name, element type and shape of each tensor of a step; a shape of three ends in a stride."""
    capacity, tokens = verify_capacity_of(mixture), tokens_of(mixture)
    layout = {
        "req_pool_indices": (torch.int64, (BATCH,)),
        "prefix_lens": (torch.int64, (BATCH,)),
        "extend_seq_lens": (torch.int64, (BATCH,)),
        "req_to_token": (torch.int32, (ROWS, LONGEST)),
        "verify_slot_indices": (torch.int64, (capacity,)),
        "verify_expected_tokens": (torch.int64, (capacity,)),
        "verify_expected_positions": (torch.int64, (capacity,)),
        "verify_prev_slot_indices": (torch.int64, (capacity,)),
        "verify_num_valid": (torch.int32, (1,)),
        "enable": (torch.int32, (1,)),
        "write_offsets": (torch.int64, (BATCH + 3,)),
        "write_seed_slot_indices": (torch.int64, (BATCH + 2,)),
        "write_num_valid_reqs": (torch.int32, (1,)),
        "input_ids": (torch.int64, (tokens,)),
        "positions": (torch.int64, (tokens,)),
        "out_cache_loc": (torch.int64, (tokens,)),
        "canary_buf": (torch.uint8, (SLOTS, STRIDE)),
        "violation_ring": (torch.int64, (RING, FIELDS)),
        "violation_write_index": (torch.int32, (1,)),
        "enable_chain_position_assert": (torch.int32, (1,)),
        "tokens_of_rows": (torch.int32, (ROWS, LONGEST)),
    }
    for kernel in ("write", "verify"):
        for counter in ("slot_run_counter", "kernel_run_counter"):
            layout[f"{kernel}.{counter}"] = (torch.int64, (1,))
    if mixture.evidence:
        layout["evidence_ring"] = (torch.int64, (RING, FIELDS))
    if mixture.workspace:
        layout["workspace"] = (torch.int64, (ROOM_FOR_TOKENS,))
    if mixture.window:
        layout["full_to_swa_index_mapping"] = (torch.int64, (FULL_SLOTS,))
    if mixture.tokens:
        layout["expected_input_tokens"] = (torch.int64, (tokens,))
        layout["expected_input_positions"] = (torch.int64, (tokens,))
    if mixture.rotation:
        layout["verify_rotation"] = (torch.int64, (1,))
        layout["verify_total"] = (torch.int64, (1,))
    for number, (page_size, per_token, _, gap) in enumerate(SOURCES[: mixture.sources]):
        width = page_size * per_token
        pages = -(-SLOTS // page_size)
        layout[f"source {number}"] = (torch.uint8, (pages, width, width + gap))
    return layout


def verify_capacity_of(mixture):
    """Entries that the plan holds: sometimes too few for a batch."""
    return 150 if mixture.window else 500


def tokens_of(mixture):
    """Tokens that a step has room for."""
    return ROOM_FOR_TOKENS if mixture.workspace else MOST_TOKENS


PLAN_OUTPUTS = (
    "verify_slot_indices",
    "verify_expected_tokens",
    "verify_expected_positions",
    "verify_prev_slot_indices",
    "verify_num_valid",
    "enable",
    "write_offsets",
    "write_seed_slot_indices",
    "write_num_valid_reqs",
)
ENTRY_OUTPUTS = PLAN_OUTPUTS[:4]


class Tensors:
    """Every tensor of a step, side by side in one poisoned buffer of bytes."""

    def __init__(self, mixture, device):
        layout = layout_of(mixture)
        self.places = {}
        length = 1_024
        for name, (dtype, shape) in layout.items():
            rows, *columns = shape
            size = rows * (columns[-1] if columns else 1) * dtype.itemsize
            # Aligned as the contract asks for, and no more.
            aligned = 16 if dtype == torch.uint8 else dtype.itemsize
            start = -(-length // (2 * aligned)) * 2 * aligned + aligned
            self.places[name] = (start, size)
            length = start + size + 64
        self.buffer = (torch.arange(length + 1_024) * 37 + 91).to(torch.uint8).to(device)
        self._views = {
            name: self._view(*self.places[name], dtype, shape)
            for name, (dtype, shape) in layout.items()
        }

    def _view(self, start, size, dtype, shape):
        if len(shape) == 3:
            rows, columns, stride = shape
            return self.buffer.as_strided((rows, columns), (stride, 1), start)
        return self.buffer[start : start + size].view(dtype).view(shape)

    def __contains__(self, name):
        """Whether the step has such a tensor."""
        return name in self._views

    def __getitem__(self, name):
        """A tensor."""
        return self._views[name]

    def get(self, name):
        """A tensor, or None."""
        return self._views.get(name)

    def name_at(self, place):
        """Where in the buffer a byte is."""
        for name, (start, size) in self.places.items():
            if start <= place < start + size:
                return f"byte {place - start} of {name}"
        return f"byte {place}, in no tensor"


class Step:
    """The launches of one step on some tensors."""

    def __init__(self, mixture, tensors):
        from kv_canary_kernels.structs import (
            RealKvSource,
            VerifyOrWriteContext,
            VerifyPlan,
            WritePlan,
        )

        self.mixture = mixture
        self.tensors = tensors
        self._verify_plan = VerifyPlan(**{name: tensors[name] for name in PLAN_OUTPUTS[:6]})
        self._write_plan = WritePlan(**{name: tensors[name] for name in PLAN_OUTPUTS[6:]})
        sources = tuple(
            RealKvSource(tensors[f"source {number}"], page_size, per_token, read_bytes)
            for number, (page_size, per_token, read_bytes, _) in enumerate(
                SOURCES[: mixture.sources]
            )
        )
        self._contexts = {
            kernel: VerifyOrWriteContext(
                canary_buf=tensors["canary_buf"],
                kernel_kind=kind,
                violation_ring=tensors["violation_ring"],
                violation_write_index=tensors["violation_write_index"],
                slot_run_counter=tensors[f"{kernel}.slot_run_counter"],
                kernel_run_counter=tensors[f"{kernel}.kernel_run_counter"],
                real_kv_sources=sources,
                real_kv_hash_mode=mixture.real_kv_hash_mode,
                enable_chain_position_assert=tensors["enable_chain_position_assert"],
                hash_format=mixture.hash_format,
                evidence_ring=tensors.get("evidence_ring"),
                workspace=tensors.get("workspace"),
            )
            for kernel, kind in KINDS.items()
        }

    def launch(self):
        """Launch plan, write, verify and scatter, in this order."""
        from kv_canary_kernels.launchers.plan import launch_canary_plan_kernels

        t, mixture = self.tensors, self.mixture
        rotation = {name: t[name] for name in ("verify_rotation", "verify_total") if name in t}
        launch_canary_plan_kernels(
            verify_plan_out=self._verify_plan,
            write_plan_out=self._write_plan,
            req_pool_indices=t["req_pool_indices"],
            prefix_lens=t["prefix_lens"],
            extend_seq_lens=t["extend_seq_lens"],
            req_to_token=t["req_to_token"],
            full_to_swa_index_mapping=t.get("full_to_swa_index_mapping"),
            swa_window_size=WINDOW if mixture.window else 0,
            verify_capacity=verify_capacity_of(mixture),
            req_to_verify_expected_tokens=t["tokens_of_rows"] if mixture.tokens else None,
            req_to_verify_expected_tokens_valid_lens=(t["prefix_lens"] if mixture.tokens else None),
            kv_token_id_vs_position_offset=0,
            **rotation,
        )
        self.launch_stamps()

    def launch_stamps(self):
        """Launch what follows the plan."""
        from kv_canary_kernels.launchers.scatter_req_token_ids import (
            launch_scatter_req_token_ids_kernel,
        )
        from kv_canary_kernels.launchers.verify import launch_canary_verify_kernel
        from kv_canary_kernels.launchers.write import launch_canary_write_kernel

        t, mixture = self.tensors, self.mixture
        launch_canary_write_kernel(
            context=self._contexts["write"],
            plan=self._write_plan,
            input_ids=t["input_ids"],
            positions=t["positions"],
            out_cache_loc=t["out_cache_loc"],
            enable_write_input_assert=mixture.tokens,
            expected_input_tokens=t.get("expected_input_tokens"),
            expected_input_positions=t.get("expected_input_positions"),
        )
        launch_canary_verify_kernel(
            context=self._contexts["verify"],
            plan=self._verify_plan,
            check_verify_expected_token=mixture.tokens,
            report_padding_slot=not mixture.window,
        )
        launch_scatter_req_token_ids_kernel(
            flat_in=t["input_ids"],
            offsets=t["write_offsets"][: BATCH + 1],
            req_pool_indices=t["req_pool_indices"],
            pool_out=t["tokens_of_rows"],
            column_starts=t["prefix_lens"],
        )


KINDS = {"write": 2, "verify": 0}
"""What stands in the first field of each kernel's violations."""


# The engine --------------------------------------------------------------------------------------


class Engine:
    """Sequences that grow and end; it fills a step's tensors on the CPU.

    Slots that a step reads are none that it writes, so that all it does is specified, but for what
    slot 0 holds.
    """

    def __init__(self, random, mixture, tensors):
        self._random = random
        self._mixture = mixture
        self._tensors = tensors
        self._noise = torch.Generator().manual_seed(random.randrange(2**31))
        self._sequences = {row: [] for row in range(1, ROWS)}
        """Per row, the slot of each position, 0 for one outside the window."""
        self._free = random.sample(range(1, SLOTS), SLOTS - 1)
        self._free_full = random.sample(range(1, FULL_SLOTS), FULL_SLOTS - 1)
        for name in (
            *("req_to_token", "tokens_of_rows", "canary_buf", "violation_write_index"),
            *(f"{kernel}.{c}_run_counter" for kernel in KINDS for c in ("slot", "kernel")),
            *("full_to_swa_index_mapping", "verify_rotation"),
        ):
            if name in tensors:
                tensors[name].zero_()
        for number in range(mixture.sources):
            tensors[f"source {number}"].random_(generator=self._noise)

    def prepare(self):
        """Fill the tensors for the next step; say what is damaged in it."""
        t, random = self._tensors, self._random
        for name in PLAN_OUTPUTS:
            t[name].fill_(POISON)
        self._end_some()
        if self._mixture.window:
            self._evict()
        batch = self._batch()
        entries = [entry for _, _, entries in batch for entry in entries]
        self._fill("req_pool_indices", [row for row, _, _ in batch])
        self._fill("prefix_lens", [prefix for _, prefix, _ in batch])
        # Padding asks for tokens as well, and gets none.
        extends = [len(entries) if row else random.choice([0, 3]) for row, _, entries in batch]
        self._fill("extend_seq_lens", extends)
        for column, name in enumerate(("input_ids", "positions", "out_cache_loc")):
            unused = [random.choice([-1, 0])] * (tokens_of(self._mixture) - len(entries))
            self._fill(name, [entry[column] for entry in entries] + unused)
        if self._mixture.tokens:
            t["expected_input_tokens"].copy_(t["input_ids"])
            t["expected_input_positions"].copy_(t["positions"])
        if self._mixture.workspace:
            t["workspace"].random_(generator=self._noise)
        t["enable_chain_position_assert"].fill_(random.choice([0, 1, 1, -1]))
        self._write_kv_bytes([slot for _, _, slot in entries])
        if not 0 <= int(t["violation_write_index"]) <= RING // 4 or random.random() < 0.1:
            t["violation_write_index"].fill_(random.choice([0, 0, 5, 400, -1, 2**30, INT32_MAX]))
        damage = random.choice([None, None, None, *self._damages()])
        if damage is None:
            return "none"
        damage([row for row, _, _ in batch if row])
        return damage.__name__

    def _fill(self, name, values):
        tensor = self._tensors[name]
        tensor.copy_(torch.tensor(values, dtype=tensor.dtype))

    def _end_some(self):
        """Some sequences end, and more of them when slots are scarce."""
        share = 0.1 if len(self._free) > MOST_TOKENS else 0.5
        for row, slots in self._sequences.items():
            if slots and (self._random.random() < share or len(slots) > LONGEST - 10):
                self._free += [slot for slot in slots if slot]
                if self._mixture.window:
                    full = self._tensors["req_to_token"][row, : len(slots)].tolist()
                    # Damage may stand in the table; what it replaced is lost.
                    self._free_full += [slot for slot in full if 0 < slot < FULL_SLOTS]
                slots.clear()

    def _batch(self):
        """Row, prefix and entries of each request; padding among them."""
        random = self._random
        room = min(MOST_TOKENS, len(self._free), len(self._free_full))
        batch = []
        for row in random.sample(range(1, ROWS), BATCH):
            if random.random() < 0.15:
                batch.append((0, random.choice([0, 4]), []))
                continue
            slots = self._sequences[row]
            prefix = len(slots)
            wanted = random.choice([0, 1, 1, 1, 1, random.randint(2, 40), random.randint(40, 290)])
            count = min(wanted if prefix else wanted * 2, room, LONGEST - prefix)
            room -= count
            batch.append((row, prefix, [self._append(row, prefix + k) for k in range(count)]))
        return batch

    def _append(self, row, position):
        """One more token of a sequence: its token, its position, its slot."""
        slot = self._free.pop()
        self._sequences[row].append(slot)
        table = self._tensors["req_to_token"]
        if self._mixture.window:
            full = self._free_full.pop()
            table[row, position] = full
            self._tensors["full_to_swa_index_mapping"][full] = slot
        else:
            table[row, position] = slot
        return (self._random.randrange(50_000), position, slot)

    def _evict(self):
        """What no window reaches any more is mapped to slot 0, and its own slot is free."""
        table = self._tensors["req_to_token"]
        for row, slots in self._sequences.items():
            # Often the predecessor of a window's first token is gone, too.
            for position in range(len(slots) - WINDOW - self._random.choice([0, 0, 1, 9])):
                if slots[position]:
                    self._free.append(slots[position])
                    slots[position] = 0
                    full = int(table[row, position])
                    if 0 < full < FULL_SLOTS:
                        self._tensors["full_to_swa_index_mapping"][full] = 0

    def _write_kv_bytes(self, slots):
        """The step itself stores K and V of its tokens."""
        slots = torch.tensor(slots, dtype=torch.int64)
        for number, (page_size, per_token, _, _) in enumerate(SOURCES[: self._mixture.sources]):
            source = self._tensors[f"source {number}"]
            columns = (slots % page_size)[:, None] * per_token + torch.arange(per_token)
            noise = torch.randint(256, columns.shape, generator=self._noise, dtype=torch.uint8)
            source[(slots // page_size)[:, None], columns] = noise

    # Damage, of which nothing is a slot that the step both reads and writes.

    def _damages(self):
        damages = [
            self._flip_a_stamp,
            self._table_entry,
            self._prefix,
            self._row,
            self._extend,
            self._target,
            self._position,
        ]
        return damages + [self._flip_a_byte] * bool(self._mixture.sources)

    def _cached(self, rows):
        """Row and position of something cached before this step's tokens; None if nothing is."""
        prefixes = dict(
            zip(
                self._tensors["req_pool_indices"].tolist(),
                self._tensors["prefix_lens"].tolist(),
                strict=True,
            )
        )
        rows = [row for row in rows if prefixes[row]]
        if not rows:
            return None
        row = self._random.choice(rows)
        return row, self._random.randrange(prefixes[row])

    def _flip_a_stamp(self, rows):
        place = self._cached(rows)
        if place is not None:
            row, position = place
            stamp = self._tensors["canary_buf"][self._sequences[row][position]]
            stamp[self._random.randrange(32)] ^= 1 << self._random.randrange(8)

    def _flip_a_byte(self, rows):
        number = self._random.randrange(self._mixture.sources)
        source = self._tensors[f"source {number}"]
        for _ in range(40):
            row = source[self._random.randrange(source.shape[0])]
            row[self._random.randrange(source.shape[1])] ^= 1 << self._random.randrange(8)

    def _table_entry(self, rows):
        place = self._cached(rows)
        if place is not None:
            wild = [-1, -5, 0, FULL_SLOTS + 1, INT32_MAX]
            self._tensors["req_to_token"][place] = self._random.choice(wild)

    def _prefix(self, rows):
        wild = [-1, LONGEST + 1, 2**40, -(2**63)]
        self._tensors["prefix_lens"][self._random.randrange(BATCH)] = self._random.choice(wild)

    def _row(self, rows):
        wild = [-1, ROWS, 2**40, -(2**63)]
        self._tensors["req_pool_indices"][self._random.randrange(BATCH)] = self._random.choice(wild)

    def _extend(self, rows):
        wild = [-4, 0, 5, tokens_of(self._mixture), 2**31, 2**62]
        self._tensors["extend_seq_lens"][self._random.randrange(BATCH)] = self._random.choice(wild)

    def _target(self, rows):
        wild = [-1, -(2**40), 0, SLOTS, SLOTS + 1, 2**40]
        self._tensors["out_cache_loc"][self._random.randrange(3)] = self._random.choice(wild)

    def _position(self, rows):
        for name in ("input_ids", "positions"):
            self._tensors[name][self._random.randrange(3)] += self._random.choice([-1, 1, 2**40])


# What is compared --------------------------------------------------------------------------------


def rows_taken(before, after):
    """The rows of the rings that a step has filled."""
    return slice(max(0, min(before, RING)), max(0, min(after, RING)))


def rows_of_rings(tensors, taken):
    """Violations, each with its evidence if there is any, in one order."""
    rings = [tensors[name] for name in ("violation_ring", "evidence_ring") if name in tensors]
    return sorted(torch.cat([ring[taken] for ring in rings], dim=1).tolist())


def without_freedom(tensors, taken):
    """The whole buffer, less what is open: slot 0's stamp, the rows' order, and the workspace."""
    tensors["canary_buf"][0, :32] = 0
    if "workspace" in tensors:
        tensors["workspace"].zero_()
    for name in ("violation_ring", "evidence_ring"):
        if name in tensors:
            tensors[name][taken] = 0
    return tensors.buffer


class Twins:
    """One step on two devices, and what differs between them."""

    def __init__(self, random, mixture, device):
        self.mixture = mixture
        self.on_cpu, self.on_device = Tensors(mixture, "cpu"), Tensors(mixture, device)
        self.reference, self.step = Step(mixture, self.on_cpu), Step(mixture, self.on_device)
        self.engine = Engine(random, mixture, self.on_cpu)
        self._fetched = Tensors(mixture, "cpu")
        self.rows = []
        """What the last step has added to the rings."""

    def prepare(self):
        """Make the next batch, in both buffers; say what is damaged."""
        damage = self.engine.prepare()
        self.on_device.buffer.copy_(self.on_cpu.buffer)
        return damage

    def difference(self):
        """Run the reference; say where it and the device differ, or return None."""
        before = int(self.on_cpu["violation_write_index"])
        self.reference.launch()
        after = int(self.on_cpu["violation_write_index"])
        taken = rows_taken(before, after)
        self._fetched.buffer.copy_(self.on_device.buffer)
        found, self.rows = (rows_of_rings(each, taken) for each in (self._fetched, self.on_cpu))
        if found != self.rows:
            return f"the rings hold {found}, not {self.rows}"
        found, expected = (without_freedom(each, taken) for each in (self._fetched, self.on_cpu))
        if torch.equal(found, expected):
            return None
        return self.on_cpu.name_at(int((found != expected).nonzero()[0]))


class Oracles:
    """A step as the oracles have it, from the CPU's tensors before it."""

    def __init__(self, plan_oracle, stamp_oracle, mixture, tensors):
        self._stamp_oracle = stamp_oracle
        self._mixture = mixture
        self._tensors = tensors
        lists = {name: tensors[name].tolist() for name in tensors.places if "ring" not in name}
        [self._index] = lists["violation_write_index"]
        self.plan = plan_oracle.plan(
            **{
                name: lists[name]
                for name in (
                    "req_pool_indices",
                    "prefix_lens",
                    "extend_seq_lens",
                    "req_to_token",
                )
            },
            full_to_swa_index_mapping=lists.get("full_to_swa_index_mapping"),
            swa_window_size=WINDOW if mixture.window else 0,
            verify_capacity=verify_capacity_of(mixture),
            write_req_capacity=BATCH + 2,
            req_to_verify_expected_tokens=lists["tokens_of_rows"] if mixture.tokens else None,
            req_to_verify_expected_tokens_valid_lens=(
                lists["prefix_lens"] if mixture.tokens else None
            ),
            kv_token_id_vs_position_offset=0,
            verify_rotation=lists["verify_rotation"][0] if mixture.rotation else None,
        )
        context = {
            "ring_capacity": RING,
            "real_kv_hash_mode": mixture.real_kv_hash_mode,
            "real_kv_sources": [
                {
                    "rows_hex": [bytes(row).hex() for row in lists[f"source {number}"]],
                    "page_size": page_size,
                    "num_bytes_per_token": per_token,
                    "read_bytes": read_bytes,
                }
                for number, (page_size, per_token, read_bytes, _) in enumerate(
                    SOURCES[: mixture.sources]
                )
            ],
            "hash_format": mixture.hash_format,
        }
        self.write = stamp_oracle.write(
            **context,
            canary_buf_i64=tensors["canary_buf"].view(torch.int64).tolist(),
            kernel_kind=KINDS["write"],
            violation_write_index=self._index,
            enable_chain_position_assert=lists["enable_chain_position_assert"][0],
            write_offsets=self.plan.write_offsets,
            write_seed_slot_indices=self.plan.write_seed_slot_indices,
            write_num_valid_reqs=self.plan.write_num_valid_reqs,
            input_ids=lists["input_ids"],
            positions=lists["positions"],
            out_cache_loc=lists["out_cache_loc"],
            enable_write_input_assert=mixture.tokens,
            expected_input_tokens=lists.get("expected_input_tokens"),
            expected_input_positions=lists.get("expected_input_positions"),
            slot_run_counter=lists["write.slot_run_counter"][0],
            kernel_run_counter=lists["write.kernel_run_counter"][0],
        )
        self.verify = stamp_oracle.verify(
            **context,
            canary_buf_i64=self.write.canary_buf_i64,
            kernel_kind=KINDS["verify"],
            violation_write_index=self.write.violation_write_index,
            check_verify_expected_token=mixture.tokens,
            report_padding_slot=not mixture.window,
            **{name: getattr(self.plan, name) for name in ENTRY_OUTPUTS},
            verify_num_valid=self.plan.verify_num_valid,
            enable=self.plan.enable,
            slot_run_counter=lists["verify.slot_run_counter"][0],
            kernel_run_counter=lists["verify.kernel_run_counter"][0],
        )
        self._pool_before = lists["tokens_of_rows"]
        self._scatter = stamp_oracle.scatter_req_token_ids(
            flat_in=lists["input_ids"],
            offsets=self.plan.write_offsets[: BATCH + 1],
            req_pool_indices=lists["req_pool_indices"],
            pool_rows=ROWS,
            pool_width=LONGEST,
            pool_fill=POISON,
            column_starts=lists["prefix_lens"],
        )

    def difference(self):
        """Say what in the tensors is not as the oracles have it after the step, or None."""
        assert self.write.unspecified_slots <= {0}
        assert not self.write.unspecified_seeds
        assert not self._scatter.unspecified_cells
        for name, expected in self._expected():
            if self._tensors[name].tolist() != expected:
                return f"{name} is {self._tensors[name].tolist()}, not {expected}"
        found = self._tensors["canary_buf"].view(torch.int64).tolist()
        if found[1:] != self.write.canary_buf_i64[1:]:
            return "the canary buffer"
        return None

    def rows_difference(self, rows):
        """The same for the rows that the step has added to the rings."""
        violations = [*self.write.violations, *self.verify.violations]
        if not self._stamp_oracle.write_index_moves(self._index):
            violations = []
        assert self._index + len(violations) <= max(RING, self._index)
        expected = sorted(
            violation.row() + violation.evidence() * self._mixture.evidence
            for violation in violations
        )
        return None if rows == expected else f"the rings hold {rows}, not {expected}"

    def _expected(self):
        plan = self.plan
        capacity = verify_capacity_of(self._mixture)
        for name in ENTRY_OUTPUTS:
            entries = getattr(plan, name)
            yield name, entries + [POISON] * (capacity - len(entries))
        for name in ("verify_num_valid", "enable", "write_num_valid_reqs"):
            yield name, [getattr(plan, name)]
        yield "write_offsets", plan.write_offsets
        seeds = plan.write_seed_slot_indices
        yield "write_seed_slot_indices", seeds + [POISON] * (BATCH + 2 - len(seeds))
        if self._mixture.rotation:
            yield "verify_rotation", [plan.verify_rotation]
            yield "verify_total", [plan.verify_total]
        yield "violation_write_index", [self.verify.violation_write_index]
        for kernel, launch in (("write", self.write), ("verify", self.verify)):
            yield f"{kernel}.slot_run_counter", [launch.slot_run_counter]
            yield f"{kernel}.kernel_run_counter", [launch.kernel_run_counter]
        pool = [
            [old if new == POISON else new for old, new in zip(before, after, strict=True)]
            for before, after in zip(self._pool_before, self._scatter.pool_out, strict=True)
        ]
        yield "tokens_of_rows", pool


# Replays -----------------------------------------------------------------------------------------


@pytest.fixture
def oracles_of(oracle, stamp_oracle):
    """A function that gives the oracles' view of a step that has been prepared."""

    def oracles_of(twins):
        return Oracles(oracle, stamp_oracle, twins.mixture, twins.on_cpu)

    return oracles_of


def check_steps(twins, oracles_of, steps, run):
    """Run so many steps, each compared; say what has been seen in them."""
    seen = Counter()
    for number in range(steps):
        damage = twins.prepare()
        oracles = oracles_of(twins) if number % SAMPLE == 0 else None
        run()
        differences = [twins.difference()]
        if oracles is not None:
            differences += [oracles.difference(), oracles.rows_difference(twins.rows)]
        assert not any(differences), f"step {number}, damage {damage}: {differences}"
        seen[damage] += 1
        seen["found"] += bool(twins.rows)
        seen["clean"] += not twins.rows
        is_full = int(twins.on_cpu["verify_num_valid"]) == verify_capacity_of(twins.mixture)
        seen["over" if is_full else "within"] += 1
    return seen


def captured(twins):
    """A graph of the step; its kernels are loaded by a first step, without a graph."""
    twins.prepare()
    twins.step.launch()
    assert twins.difference() is None
    twins.on_device.buffer.copy_(twins.on_cpu.buffer)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        twins.step.launch()
    assert torch.equal(twins.on_device.buffer.cpu(), twins.on_cpu.buffer), "the capture itself ran"
    return graph


@pytest.mark.parametrize("mixture", MANY, ids=str)
def test_captured_step_replays_new_batches_a_thousand_times(oracles_of, mixture):
    twins = Twins(Random(f"many {mixture}"), mixture, "cuda")
    seen = check_steps(twins, oracles_of, MANY_REPLAYS, captured(twins).replay)
    assert len(seen) == 13, f"not every damage was done: {seen}"
    assert min(seen.values()) > MANY_REPLAYS // 50, seen


@pytest.mark.parametrize("mixture", MIXTURES, ids=str)
def test_captured_step_replays_new_batches(oracles_of, mixture):
    twins = Twins(Random(f"replays {mixture}"), mixture, "cuda")
    seen = check_steps(twins, oracles_of, REPLAYS, captured(twins).replay)
    assert seen["found"] > 0, seen


@pytest.mark.parametrize("mixture", [*MANY, *MIXTURES], ids=str)
def test_launches_equal_the_reference(oracles_of, mixture):
    """The same without a graph."""
    twins = Twins(Random(f"launches {mixture}"), mixture, "cuda")
    check_steps(twins, oracles_of, REPLAYS // 2, twins.step.launch)


COLD_KERNEL = (
    "kv-canary: the {stem} kernel is not loaded on cuda:0 and this stream is capturing a graph; "
    "call warm_up before the capture"
)
COLD_CAPTURE = """
import torch
from kv_canary_kernels import ContractError
from kv_canary_kernels.launchers.scatter_req_token_ids import (
    launch_scatter_req_token_ids_kernel, warm_up_scatter_req_token_ids
)
from kv_canary_kernels.launchers.verify import launch_canary_verify_kernel, warm_up_verify
from kv_canary_kernels.launchers.write import launch_canary_write_kernel, warm_up_write
from kv_canary_kernels.structs import VerifyOrWriteContext, VerifyPlan, WritePlan

device = torch.device("cuda", 0)


def integers(*values, dtype=torch.int64):
    return torch.tensor(values, dtype=dtype, device=device)


canary_buf = torch.zeros(8, 32, dtype=torch.uint8, device=device)
ring, evidence_ring = (torch.zeros(4, 8, dtype=torch.int64, device=device) for _ in range(2))
index = integers(0, dtype=torch.int32)
slots_run, launches = integers(0), integers(0)
flag = integers(0, dtype=torch.int32)
pool = torch.zeros(2, 4, dtype=torch.int32, device=device)
tokens, positions, targets = integers(31, 32), integers(0, 1), integers(3, 4)
offsets, rows = integers(0, 2), integers(1)
write_plan = WritePlan(
    write_offsets=offsets,
    write_seed_slot_indices=integers(-1),
    write_num_valid_reqs=integers(1, dtype=torch.int32),
)
verify_plan = VerifyPlan(
    verify_slot_indices=integers(3, 4),
    verify_expected_tokens=integers(31, 32),
    verify_expected_positions=integers(0, 1),
    verify_prev_slot_indices=integers(-1, 3),
    verify_num_valid=integers(2, dtype=torch.int32),
    enable=integers(1, dtype=torch.int32),
)


def context(evidence):
    return VerifyOrWriteContext(
        canary_buf=canary_buf,
        kernel_kind=0,
        violation_ring=ring,
        violation_write_index=index,
        slot_run_counter=slots_run,
        kernel_run_counter=launches,
        real_kv_sources=(),
        real_kv_hash_mode=0,
        enable_chain_position_assert=flag,
        evidence_ring=evidence_ring if evidence else None,
    )


def write(evidence=False):
    launch_canary_write_kernel(
        context=context(evidence),
        plan=write_plan,
        input_ids=tokens,
        positions=positions,
        out_cache_loc=targets,
        enable_write_input_assert=False,
        expected_input_tokens=None,
        expected_input_positions=None,
    )


def verify(evidence=False):
    launch_canary_verify_kernel(
        context=context(evidence), plan=verify_plan, check_verify_expected_token=True
    )


def scatter():
    launch_scatter_req_token_ids_kernel(
        flat_in=tokens, offsets=offsets, req_pool_indices=rows, pool_out=pool
    )


def capture(launch):
    counter = torch.zeros(1, device=device)
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            counter.add_(1)
            launch()
    except ContractError as error:
        print(error)
        print(error.broken_rules[0].rule_id)
        graph = None
    torch.cuda.synchronize()
    return graph


for launch in (write, verify, scatter):
    assert capture(launch) is None

absent = {f"source_{k}_tensor": False for k in range(4)}
inputs = {f"expected_input_{what}": False for what in ("tokens", "positions")}
assert warm_up_write(
    device=device, evidence_ring=False, workspace=False, **absent, **inputs
) >= 2
assert warm_up_verify(device=device, evidence_ring=False, **absent) >= 4
assert warm_up_scatter_req_token_ids(device=device, column_starts=False) >= 1

for launch in (write, verify):
    assert capture(lambda: launch(evidence=True)) is None


def step():
    write()
    verify()
    scatter()


graph = capture(step)
graph.replay()
graph.replay()
torch.cuda.synchronize()
stamps = canary_buf.view(torch.int64)
print(stamps[3:5, :2].tolist(), index.item(), slots_run.item(), launches.item(), pool[1].tolist())


def step_with_evidence():
    write(evidence=True)
    verify(evidence=True)


step_with_evidence()  # an earlier launch loads what it needs as well
capture(step_with_evidence).replay()
torch.cuda.synchronize()
print(index.item(), slots_run.item(), launches.item())
"""


def test_cold_kernels_under_capture_are_named_and_the_capture_can_be_abandoned():
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
        timeout=580,
        check=False,
    )
    refusals = []
    for stem in ("write", "verify", "scatter_req_token_ids", "write", "verify"):
        refusals += [COLD_KERNEL.format(stem=stem), "backend.cold_kernel"]
    assert (run.stdout.splitlines(), run.returncode) == (
        [*refusals, "[[31, 0], [32, 1]] 0 8 4 [31, 32, 0, 0]", "0 16 8"],
        0,
    ), run.stderr


# Streams and devices -----------------------------------------------------------------------------

BOTH_FORMATS = [MANY[0], MIXTURES[3]]


@pytest.mark.parametrize("mixture", BOTH_FORMATS, ids=str)
def test_two_streams_at_once_each_have_their_own_step(mixture):
    both = [Twins(Random(f"stream {k} {mixture}"), mixture, "cuda") for k in range(2)]
    streams = [torch.cuda.Stream() for _ in both]
    for number in range(REPLAYS):
        damages = [twins.prepare() for twins in both]
        torch.cuda.synchronize()
        for twins, stream in zip(both, streams, strict=True):
            with torch.cuda.stream(stream):
                twins.step.launch()
        torch.cuda.synchronize()
        differences = [twins.difference() for twins in both]
        assert differences == [None, None], f"step {number}, damages {damages}"


@contextmanager
def kept_busy(stream):
    """Keep a stream busy for about a second, then wait until it is free."""
    with torch.cuda.stream(stream):
        torch.cuda._sleep(2_000_000_000)
    yield
    stream.synchronize()


@pytest.mark.parametrize("mixture", BOTH_FORMATS, ids=str)
def test_launches_go_to_the_current_stream_and_do_not_wait_for_it(mixture):
    """The launchers return, and another stream's step is done, while the first has not begun."""
    waiting, done = (Twins(Random(f"busy {k} {mixture}"), mixture, "cuda") for k in range(2))
    for twins in (waiting, done):
        twins.prepare()
        twins.step.launch()
        twins.on_device.buffer.copy_(twins.on_cpu.buffer)
    torch.cuda.synchronize()
    busy, free = torch.cuda.Stream(), torch.cuda.Stream()
    with kept_busy(busy):
        with torch.cuda.stream(busy):
            waiting.step.launch()
        with torch.cuda.stream(free):
            done.step.launch()
        free.synchronize()
        assert not busy.query(), "the step waited for its own stream, or ran on another one"
    torch.cuda.synchronize()
    for twins in (waiting, done):
        assert twins.difference() is None


def test_launches_go_to_the_device_of_their_tensors():
    if torch.cuda.device_count() < 2:
        pytest.skip("this machine has one GPU, and the test needs two")
    for current, other in ((0, 1), (1, 0)):
        twins = Twins(Random("two devices"), MANY[1], f"cuda:{other}")
        with torch.cuda.device(current):
            twins.prepare()
            twins.step.launch()
            assert torch.cuda.current_device() == current
            torch.cuda.synchronize(other)
            assert twins.difference() is None


# Waiting and memory ------------------------------------------------------------------------------


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
    """What torch's allocator has given out, and how often it was asked."""
    stats = torch.cuda.memory_stats()
    return {
        "allocated": torch.cuda.memory_allocated(),
        "reserved": torch.cuda.memory_reserved(),
        "allocations so far": stats["allocation.all.allocated"],
        "segments so far": stats["segment.all.allocated"],
    }


@pytest.mark.parametrize("mixture", [*MANY, *MIXTURES], ids=str)
def test_launches_read_nothing_back_and_allocate_nothing(mixture):
    twins = Twins(Random(f"nothing back {mixture}"), mixture, "cuda")
    twins.prepare()
    twins.step.launch()
    torch.cuda.synchronize()
    before = memory()
    with synchronizing_is_an_error():
        for _ in range(LAUNCHES):
            twins.step.launch()
    torch.cuda.synchronize()
    assert memory() == before
    twins.on_device.buffer.copy_(twins.on_cpu.buffer)
    with synchronizing_is_an_error():
        twins.step.launch()
    assert twins.difference() is None


def test_reading_back_would_be_seen():
    """The check above can fail: reading one number back raises."""
    one = torch.ones(1, device="cuda")
    with (
        synchronizing_is_an_error(),
        pytest.raises(RuntimeError, match=r"^called a synchronizing CUDA operation"),
    ):
        one.item()
