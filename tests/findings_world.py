"""A small engine with a canary of its own, so that findings can be tried on real damage.

It follows the order of launches that DESIGN fixes (plan, verify head, stamp head; the forward;
verify tail, stamp tail), runs the torch references, and hands out pages in a shuffled order.
Faults are done to it from outside, through its tables and hooks. The tests of findings load it.
"""

import random
from collections import deque
from types import SimpleNamespace

import torch

from kv_canary.findings.snapshot import GroupSnapshot, HalfSnapshot, Snapshot, StepSnapshot
from kv_canary.reference.plan import plan
from kv_canary.reference.scatter_req_token_ids import scatter_req_token_ids
from kv_canary.reference.verify import verify
from kv_canary.reference.write import write
from kv_canary_kernels.constants import CanaryLaunchTag

BYTES_PER_TOKEN = 32
VOCABULARY = 50_000


def fields(buffer):
    """A canary buffer as int64 [slots, 4]."""
    return buffer.view(torch.int64)


class Pool:
    """One group: its stamps, its bytes of K and V, and who may have its pages."""

    def __init__(self, name, *, slots, page, window, mapping, rng, blank):
        self.name, self.slots, self.page, self.window = name, slots, page, window
        self.mapping = mapping
        self.stamps = {
            (phase, half): torch.zeros((slots, 32), dtype=torch.uint8)
            for phase in ("head", "tail")
            for half in "KV"
        }
        for stamps in self.stamps.values():
            fields(stamps).fill_(blank)
        pages = slots // page
        self.bytes = {
            half: torch.zeros((pages, page * BYTES_PER_TOKEN), dtype=torch.uint8) for half in "KV"
        }
        self.free = list(range(1, pages))
        rng.shuffle(self.free)

    def store(self, half, slot, content):
        """Put a token's bytes into a slot, as a store kernel does."""
        start = slot % self.page * BYTES_PER_TOKEN
        self.bytes[half][slot // self.page, start : start + BYTES_PER_TOKEN] = content

    def load(self, half, slot):
        start = slot % self.page * BYTES_PER_TOKEN
        return self.bytes[half][slot // self.page, start : start + BYTES_PER_TOKEN].clone()

    def sources(self, half):
        return [
            SimpleNamespace(
                tensor=self.bytes[half],
                page_size=self.page,
                num_bytes_per_token=BYTES_PER_TOKEN,
                read_bytes=BYTES_PER_TOKEN,
            )
        ]


class World:
    """Rows of requests over one pool or two.

    Args:
        seed: decides the order of pages, tokens and bytes.
        window: tokens of the sliding window, 0 for none.
        tokens: whether the token check is on.
        real_kv: "none", "partial" or "all".
        blank: what every field holds before it is stamped.
        keep: forwards that the host keeps.
    """

    def __init__(
        self,
        *,
        seed=0,
        rows=8,
        columns=128,
        slots=512,
        page=8,
        window=0,
        window_slots=256,
        hash_format="serial",
        real_kv="partial",
        tokens=True,
        blank=0,
        keep=16,
        ring=1024,
        capacity=4096,
    ):
        self.rng = random.Random(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.hash_format, self.real_kv, self.page = hash_format, real_kv, page
        self.table = torch.zeros((rows, columns), dtype=torch.int32)
        self.full = Pool(
            "full", slots=slots, page=page, window=0, mapping=None, rng=self.rng, blank=blank
        )
        self.pools = [self.full]
        self.mapping = None
        if window:
            self.mapping = torch.zeros(slots, dtype=torch.int64)
            self.window = Pool(
                "window",
                slots=window_slots,
                page=page,
                window=window,
                mapping=self.mapping,
                rng=self.rng,
                blank=blank,
            )
            self.pools.append(self.window)
        self.tokens = torch.full((rows, columns), -1, dtype=torch.int32) if tokens else None
        self.known = torch.zeros(rows, dtype=torch.int64)
        self.lengths = [0] * rows
        self.ring = torch.zeros((ring, 8), dtype=torch.int64)
        self.evidence = torch.zeros((ring, 8), dtype=torch.int64)
        self.count = torch.zeros(1, dtype=torch.int32)
        self.step = 0
        self.steps = deque(maxlen=keep)
        self.capacity = capacity
        self.wanted = {}
        self.checked = {}

    # Requests ------------------------------------------------------------------------------------

    def token(self):
        return self.rng.randrange(VOCABULARY)

    def slots_for(self, row, start, count):
        """Slots of a row's next positions, with new pages where the last one is full."""
        for position in range(start, start + count):
            if position % self.page == 0:
                page = self.full.free.pop()
                if self.mapping is not None:
                    twin = self.window.free.pop()
                    self.mapping[page * self.page : (page + 1) * self.page] = torch.arange(
                        twin * self.page, (twin + 1) * self.page
                    )
            else:
                page = int(self.table[row, position - 1]) // self.page
            self.table[row, position] = page * self.page + position % self.page
        return self.table[row, start : start + count].tolist()

    def start(self, row, count, tokens=None):
        """Prefill a request; returns its tokens."""
        return self.forward({row: tokens or [self.token() for _ in range(count)]})

    def decode(self, *rows, steps=1):
        for _ in range(steps):
            self.forward({row: [self.token()] for row in rows})

    def give_back(self, row):
        """Free a row's pages, the last first; its table stays as it was."""
        pages = {int(slot) // self.page for slot in self.table[row, : self.lengths[row]]}
        self.full.free.extend(sorted(pages))
        self.lengths[row] = 0
        self.known[row] = 0

    def share(self, row, other, count):
        """Give a row the first cached tokens of another, as a prefix hit does."""
        self.table[row, :count] = self.table[other, :count]
        self.lengths[row] = count
        if self.tokens is not None:
            self.tokens[row, :count] = self.tokens[other, :count]
            self.known[row] = count

    def stamp(self, row, position, pool=None, buffer=("head", "K")):
        pool = pool or self.full
        return fields(pool.stamps[buffer])[self.slot(row, position, pool)].tolist()

    def slot(self, row, position, pool=None):
        slot = int(self.table[row, position])
        return slot if pool is None or pool.mapping is None else int(pool.mapping[slot])

    # Forwards ------------------------------------------------------------------------------------

    def forward(
        self,
        batch,
        *,
        slots=None,
        positions=None,
        prefixes=None,
        rows=None,
        spoil_plan=None,
        during=None,
        captured=False,
        stores=None,
        expected=None,
    ):
        """Run one step.

        Args:
            batch: new tokens by row.
            slots: by (row, position), another slot that the token is written to.
            positions: by (row, position), another position that the token is given.
            prefixes: by row, another prefix length for the batch.
            rows: by row, another row for the batch.
            spoil_plan: called with each write plan before it is used.
            during: called between the stamps of head and tail.
            captured: the host keeps no batch.
            stores: by (row, position), another slot for the bytes alone.
            expected: by (row, position), another token that write is told to expect.
        """
        slots, positions, stores = slots or {}, positions or {}, stores or {}
        prefixes, rows, expected = prefixes or {}, rows or {}, expected or {}
        names, prefix, extend, ids, places, locations, homes, wanted = (
            [],
            [],
            [],
            [],
            [],
            [],
            [],
            [],
        )
        for row, new in batch.items():
            start = self.lengths[row]
            taken = self.slots_for(row, start, len(new))
            names.append(rows.get(row, row))
            prefix.append(prefixes.get(row, start))
            extend.append(len(new))
            for offset, (token, slot) in enumerate(zip(new, taken, strict=True)):
                place = (row, start + offset)
                ids.append(token)
                wanted.append(expected.get(place, token))
                places.append(positions.get(place, place[1]))
                locations.append(slots.get(place, slot))
                homes.append(stores.get(place, locations[-1]))
            self.lengths[row] = start + len(new)
        step = StepSnapshot(
            step=self.step,
            req_pool_indices=torch.tensor(names, dtype=torch.int64),
            prefix_lens=torch.tensor(prefix, dtype=torch.int64),
            extend_seq_lens=torch.tensor(extend, dtype=torch.int64),
            positions=torch.tensor(places, dtype=torch.int64),
            out_cache_loc=torch.tensor(locations, dtype=torch.int64),
        )
        ids = torch.tensor(ids, dtype=torch.int64)
        wanted = torch.tensor(wanted, dtype=torch.int64) if expected else None
        plans = [self._plan(pool, step) for pool in self.pools]
        for _, write_plan in plans:
            if spoil_plan is not None:
                spoil_plan(write_plan)
        for phase in ("head", "tail"):
            for pool, (verify_plan, write_plan) in zip(self.pools, plans, strict=True):
                for half in "KV":
                    verify(
                        context=self._context(pool, phase, half),
                        plan=verify_plan,
                        check_verify_expected_token=self.tokens is not None,
                        report_padding_slot=pool is self.full,
                    )
                    write(
                        context=self._context(pool, phase, half),
                        plan=write_plan,
                        input_ids=ids,
                        positions=step.positions,
                        out_cache_loc=self._located(pool, step.out_cache_loc),
                        enable_write_input_assert=wanted is not None,
                        expected_input_tokens=wanted,
                        expected_input_positions=step.positions if expected else None,
                    )
            if phase == "head":
                self._run_model(homes)
                if during is not None:
                    during()
        self._learn(plans[0][1], step, ids)
        nothing = torch.zeros(0, dtype=torch.int64)
        if captured:
            step = StepSnapshot(
                step=self.step,
                req_pool_indices=nothing,
                prefix_lens=nothing,
                extend_seq_lens=nothing,
                positions=nothing,
                out_cache_loc=nothing,
                captured=True,
            )
        self.steps.append(step)
        self.step += 1
        return ids.tolist()

    def _located(self, pool, locations):
        if pool.mapping is None:
            return locations
        inside = (locations >= 0) & (locations < len(pool.mapping))
        return torch.where(inside, pool.mapping[torch.where(inside, locations, 0)], locations)

    def _run_model(self, homes):
        for slot in homes:
            for pool in self.pools:
                where = int(self._located(pool, torch.tensor([slot])))
                if 0 < where < pool.slots:
                    for half in "KV":
                        pool.store(half, where, self.content())

    def content(self):
        return torch.randint(
            0, 256, (BYTES_PER_TOKEN,), dtype=torch.uint8, generator=self.generator
        )

    def _plan(self, pool, step):
        size = len(step.req_pool_indices)
        verify_plan = SimpleNamespace(
            verify_slot_indices=torch.zeros(self.capacity, dtype=torch.int64),
            verify_expected_tokens=torch.zeros(self.capacity, dtype=torch.int64),
            verify_expected_positions=torch.zeros(self.capacity, dtype=torch.int64),
            verify_prev_slot_indices=torch.zeros(self.capacity, dtype=torch.int64),
            verify_num_valid=torch.zeros(1, dtype=torch.int32),
            enable=torch.ones(1, dtype=torch.int32),
        )
        write_plan = SimpleNamespace(
            write_offsets=torch.zeros(size + 1, dtype=torch.int64),
            write_seed_slot_indices=torch.zeros(size, dtype=torch.int64),
            write_num_valid_reqs=torch.zeros(1, dtype=torch.int32),
        )
        valid = torch.tensor(
            [
                int(self.known[row]) if 0 <= row < len(self.known) else 0
                for row in step.req_pool_indices.tolist()
            ]
        )
        plan(
            verify_plan_out=verify_plan,
            write_plan_out=write_plan,
            req_pool_indices=step.req_pool_indices,
            prefix_lens=step.prefix_lens,
            extend_seq_lens=step.extend_seq_lens,
            req_to_token=self.table,
            swa_window_size=pool.window,
            full_to_swa_index_mapping=pool.mapping,
            verify_capacity=self.capacity,
            req_to_verify_expected_tokens=self.tokens,
            req_to_verify_expected_tokens_valid_lens=None if self.tokens is None else valid,
            kv_token_id_vs_position_offset=0,
        )
        self.wanted[pool.name] = self.checked[pool.name] = int(verify_plan.verify_num_valid)
        return verify_plan, write_plan

    def _context(self, pool, phase, half):
        suffix = "FULL" if pool is self.full else "SWA"
        has_bytes = phase == "tail" and self.real_kv != "none"
        mode = {"none": 0, "partial": 1, "all": 2}[self.real_kv]
        return SimpleNamespace(
            canary_buf=pool.stamps[phase, half],
            kernel_kind=int(CanaryLaunchTag[f"{phase.upper()}_{half}_{suffix}"]),
            violation_ring=self.ring,
            evidence_ring=self.evidence,
            violation_write_index=self.count,
            slot_run_counter=torch.zeros(1, dtype=torch.int64),
            kernel_run_counter=torch.tensor([self.step]),
            real_kv_sources=pool.sources(half) if has_bytes else [],
            real_kv_hash_mode=mode if has_bytes else 0,
            enable_chain_position_assert=torch.ones(1, dtype=torch.int32),
            hash_format=self.hash_format,
        )

    def _learn(self, write_plan, step, ids):
        if self.tokens is None:
            return
        scatter_req_token_ids(
            flat_in=ids,
            offsets=write_plan.write_offsets,
            req_pool_indices=step.req_pool_indices,
            pool_out=self.tokens,
            column_starts=step.prefix_lens,
        )
        for row, prefix, extend in zip(
            step.req_pool_indices.tolist(),
            step.prefix_lens.tolist(),
            step.extend_seq_lens.tolist(),
            strict=True,
        ):
            if 0 < row < len(self.known) and prefix in (0, int(self.known[row])):
                self.known[row] = prefix + extend

    # What is known -------------------------------------------------------------------------------

    def snapshot(self):
        rows = min(int(self.count), len(self.ring))
        return Snapshot(
            hash_format=self.hash_format,
            real_kv_mode=self.real_kv,
            req_to_token=self.table.clone(),
            groups=tuple(self._group(pool) for pool in self.pools),
            violations=self.ring[:rows].clone(),
            evidence=self.evidence[:rows].clone(),
            violation_count=int(self.count),
            steps=tuple(self.steps),
            verify_wanted=dict(self.wanted),
            verify_checked=dict(self.checked),
            expected_tokens=None if self.tokens is None else self.tokens.clone(),
            expected_valid=None if self.tokens is None else self.known.clone(),
        )

    def _group(self, pool):
        return GroupSnapshot(
            name=pool.name,
            num_slots=pool.slots,
            window_size=pool.window,
            mapping=None if pool.mapping is None else pool.mapping.clone(),
            halves=tuple(
                HalfSnapshot(
                    half=half,
                    head=fields(pool.stamps["head", half]).clone(),
                    tail=fields(pool.stamps["tail", half]).clone(),
                )
                for half in "KV"
            ),
            page_sizes=() if self.real_kv == "none" else (pool.page,),
        )
