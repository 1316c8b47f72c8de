"""Questions to a snapshot: who maps a slot, who wrote it, whose successor is a hash.

The searches go over whole pools and tables, so each is asked for many values at once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Final, NamedTuple

import torch
from torch import Tensor

from kv_canary.findings.snapshot import GroupSnapshot, Snapshot, StepSnapshot
from kv_canary.reference._hashes import (
    ANCHOR_HASH,
    PARALLEL_FACTOR,
    PARALLEL_STEP,
    HashFormat,
    as_int64,
    splitmix64_of_integer,
    successor_hash,
)
from kv_canary.reference._requests import INT32_MAX, Requests, exclusive_prefix_sum

HITS_KEPT: Final = 8
"""Places that are kept of each value searched for; what is more common proves nothing."""
_CELLS_AT_ONCE: Final = 2**23
"""Cells of req_to_token that are gathered at a time, which bounds the memory."""
_SIEVE: Final = 2**20
"""Places of the first sieve of a search."""
_STAMPS_AT_ONCE: Final = 2**14
"""Stamps that are hashed at a time: as many as stay in a core's cache."""
_MOST_CHAIN_TOKENS: Final = 2**14
"""Tokens that chains are recomputed over in all; after them a chain counts as unknown."""


class Stamp(NamedTuple):
    """What a canary holds."""

    token: int
    position: int
    prev_hash: int
    kv_hash: int


class Write(NamedTuple):
    """One token of a recorded batch."""

    step: int
    row: int
    place: int
    """Position that the batch's prefix length gives it."""
    position: int
    """Position that the batch's positions give it."""
    slot: int
    """Slot of the asking group, after its map."""

    @property
    def is_misnumbered(self) -> bool:
        """Whether the two positions differ."""
        return self.position != self.place


class Hits(NamedTuple):
    """Where a value was found."""

    places: tuple[int, ...]
    """The last HITS_KEPT of them, in order."""
    total: int
    """How many there are."""


def unsigned(value: int) -> str:
    """Return a hash as people read it: 16 digits."""
    return f"0x{value % 2**64:016x}"


def successor_of(stamp: Stamp, hash_format: str) -> int:
    """Return the chain hash that the successor of a stamp stores, as int64."""
    mix = splitmix64_of_integer
    if hash_format == "serial":
        mixed = mix(mix(mix(stamp.prev_hash) ^ stamp.token % 2**64) ^ stamp.position % 2**64)
        return as_int64(mixed)
    addend = mix(mix(stamp.token + PARALLEL_STEP) ^ stamp.position % 2**64)
    return as_int64(stamp.prev_hash * PARALLEL_FACTOR + addend)


def find_values(column: Tensor, wanted: Iterable[int]) -> dict[int, Hits]:
    """Return where each value stands in an int64 tensor; values that do not are left out.

    Args:
        column: int64 [n].
        wanted: values, at most a few thousand.
    """
    values = torch.tensor(sorted(set(wanted)), dtype=torch.int64)
    if not len(values) or not len(column):
        return {}
    # A look at the low bits leaves few places to search properly.
    is_wanted = torch.zeros(_SIEVE, dtype=torch.bool)
    is_wanted[values & (_SIEVE - 1)] = True
    places = is_wanted[column & (_SIEVE - 1)].nonzero().flatten()
    nearest = torch.searchsorted(values, column[places]).clamp_(max=len(values) - 1)
    is_found = values[nearest] == column[places]
    places = places[is_found]
    which = nearest[is_found]
    # Places of one value together, in order.
    places = places[which.argsort(stable=True)]
    ends = torch.bincount(which, minlength=len(values)).cumsum(0).tolist()
    found: dict[int, Hits] = {}
    start = 0
    for value, end in zip(values.tolist(), ends, strict=True):
        if end > start:
            kept = places[max(start, end - HITS_KEPT) : end]
            found[value] = Hits(tuple(kept.tolist()), end - start)
        start = end
    return found


class Batch:
    """One recorded forward, laid out as its plans were.

    Args:
        step: the batch, as the host saw it.
        req_to_token: int32 [rows, columns]; only its shape is used.
    """

    def __init__(self, step: StepSnapshot, req_to_token: Tensor) -> None:
        self.step = step
        self.rows: list[int] = step.req_pool_indices.tolist()
        self.prefix_lengths: list[int] = step.prefix_lens.tolist()
        self.prefix_of_row = dict(zip(self.rows, self.prefix_lengths, strict=True))
        requests = self._requests(req_to_token, 0)
        self.bad: list[int] = requests.is_bad.nonzero().flatten().tolist()
        """Requests whose row or prefix length is wild."""
        self.reported_positions: list[int] = requests.reported_position.tolist()
        """Position that the only entry of each of them carries."""
        # Clamped as the plan clamps them, so that no sum wraps.
        counts = step.extend_seq_lens.clamp(min=0, max=INT32_MAX)
        counts = torch.where(step.req_pool_indices == 0, 0, counts)
        self.write_offsets = exclusive_prefix_sum(counts)
        """int64 [bs + 1]."""
        self._shape = req_to_token
        self._entries: dict[int, tuple[list[int], list[int]]] = {}

    def place_of_entry(self, entry: int, window: int) -> tuple[int, int] | None:
        """Return request and position of a plan's entry, if its coverage did not rotate."""
        if window not in self._entries:
            requests = self._requests(self._shape, window)
            ends = requests.verify_count.cumsum(0)
            # Position of an entry minus its number.
            offsets = requests.window_start - (ends - requests.verify_count)
            self._entries[window] = (ends.tolist(), offsets.tolist())
        last, offset = self._entries[window]
        if not last or not 0 <= entry < last[-1]:
            return None
        index = bisect_right(last, entry)
        return index, entry + offset[index]

    def _requests(self, req_to_token: Tensor, window: int) -> Requests:
        return Requests.read(
            req_pool_indices=self.step.req_pool_indices,
            prefix_lens=self.step.prefix_lens,
            req_to_token=req_to_token,
            swa_window_size=window,
        )


class Tables:
    """A snapshot, and the answers to what was asked of it.

    Args:
        snapshot: what the canary knew.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.rows, self.columns = snapshot.req_to_token.shape
        self._groups = {group.name: group for group in snapshot.groups}
        self._holders: dict[tuple[str, int, int], tuple[int, ...]] = {}
        self._successors: dict[str, Tensor] = {}
        self._predecessors: dict[tuple[str, int], Hits | None] = {}
        self._writers: dict[tuple[str, int], tuple[Write, ...]] = {}
        self._own_chains: dict[tuple[str, int, int], list[int]] = {}
        self._chain_tokens = 0
        self._full_slots: dict[tuple[str, int], tuple[int, ...]] = {}
        self.batches = {
            step.step: Batch(step, snapshot.req_to_token)
            for step in snapshot.steps
            if not step.captured
        }
        self.captured_steps = frozenset(step.step for step in snapshot.steps if step.captured)

    def group(self, name: str) -> GroupSnapshot | None:
        """Return a group, or None if the snapshot has none of that name."""
        return self._groups.get(name)

    # Stamps --------------------------------------------------------------------------------------

    def stamp(self, group: str, phase: str, half: str, slot: int) -> Stamp | None:
        """Return what a buffer holds now, or None where there is no such buffer or slot."""
        found = self._groups.get(group)
        if found is None or not 0 <= slot < found.num_slots:
            return None
        for each in found.halves:
            if each.half == half:
                stamps = each.head if phase == "head" else each.tail
                return Stamp(*stamps[slot].tolist())
        return None

    def buffers(self, group: str) -> list[tuple[str, str]]:
        """Return phase and half of every buffer of a group."""
        found = self._groups.get(group)
        halves = () if found is None else found.halves
        return [(phase, half.half) for phase in ("head", "tail") for half in halves]

    def successor(self, stamp: Stamp) -> int:
        """Return the chain hash that the successor of a stamp stores."""
        return successor_of(stamp, self.snapshot.hash_format)

    def predecessors(self, group: str, chain_hash: int) -> tuple[int, ...]:
        """Return slots whose stamps a chain hash continues; none if they are too many to mean it.

        Stamps are read from one head buffer of the group, where the bytes play no part.
        """
        self.seek_predecessors(group, [chain_hash])
        hits = self._predecessors[group, chain_hash]
        return () if hits is None or hits.total > HITS_KEPT else hits.places

    def seek_predecessors(self, group: str, chain_hashes: Iterable[int]) -> None:
        """Look many chain hashes up at once, for `predecessors`."""
        wanted = {each for each in chain_hashes if (group, each) not in self._predecessors}
        if not wanted:
            return
        found = find_values(self._successors_of(group), wanted)
        for each in wanted:
            self._predecessors[group, each] = found.get(each)

    def _successors_of(self, group: str) -> Tensor:
        if group not in self._successors:
            found = self._groups.get(group)
            stamps = torch.empty(0, 4, dtype=torch.int64)
            if found is not None and found.halves:
                stamps = found.halves[0].head
            hash_format: HashFormat = (
                "serial" if self.snapshot.hash_format == "serial" else "parallel"
            )
            parts = [
                successor_hash(part[:, 2], part[:, 0], part[:, 1], hash_format)
                for start in range(0, max(1, len(stamps)), _STAMPS_AT_ONCE)
                for part in (stamps[start : start + _STAMPS_AT_ONCE],)
            ]
            self._successors[group] = torch.cat(parts)
        return self._successors[group]

    def slots_with_chain(self, group: str, chain_hashes: Iterable[int]) -> dict[int, Hits]:
        """Return the slots whose stamps store each of these chain hashes."""
        found = self._groups.get(group)
        if found is None or not found.halves:
            return {}
        return find_values(found.halves[0].head[:, 2].contiguous(), chain_hashes)

    def slots_with_kv_hash(self, group: str, half: str, hashes: Iterable[int]) -> dict[int, Hits]:
        """Return the slots whose tail stamps store each of these hashes over the bytes."""
        found = self._groups.get(group)
        for each in found.halves if found is not None else ():
            if each.half == half:
                return find_values(each.tail[:, 3].contiguous(), hashes)
        return {}

    # Tables --------------------------------------------------------------------------------------

    def slot_at(self, group: str, row: int, position: int) -> int | None:
        """Return the slot that a row maps a position to now, or None outside the table."""
        if not (0 <= row < self.rows and 0 <= position < self.columns):
            return None
        return self.mapped(group, int(self.snapshot.req_to_token[row, position]))

    def mapped(self, group: str, full_slot: int) -> int:
        """Return a group's slot for a slot of the full pool, as the plan maps it."""
        found = self._groups.get(group)
        if found is None or found.mapping is None or full_slot < 0:
            return full_slot
        if full_slot >= len(found.mapping):
            return -2
        return int(found.mapping[full_slot])

    def full_slots_of(self, group: str, slot: int) -> tuple[int, ...]:
        """Return the slots of the full pool that are mapped to a slot of a group."""
        self.seek_full_slots(group, [slot])
        return self._full_slots[group, slot]

    def seek_full_slots(self, group: str, slots: Iterable[int]) -> None:
        """Look many slots up at once, for `full_slots_of`."""
        wanted = {slot for slot in slots if (group, slot) not in self._full_slots}
        found = self._groups.get(group)
        if found is None or found.mapping is None:
            self._full_slots.update(((group, slot), (slot,)) for slot in wanted)
        elif wanted:
            hits = find_values(found.mapping, wanted)
            nothing = Hits((), 0)
            self._full_slots.update(
                ((group, slot), hits.get(slot, nothing).places) for slot in wanted
            )

    def holders(self, group: str, slot: int, position: int) -> tuple[int, ...]:
        """Return the rows, but for row 0, that map a position to a slot now."""
        self.seek_holders(group, [(slot, position)])
        return self._holders.get((group, slot, position), ())

    def seek_holders(self, group: str, places: Iterable[tuple[int, int]]) -> None:
        """Look many pairs of a slot and a position up at once, for `holders`."""
        wanted = sorted(
            {
                place
                for place in places
                if 0 <= place[1] < self.columns and (group, *place) not in self._holders
            }
        )
        if not wanted or not self.rows:
            return
        self._holders.update(((group, *place), ()) for place in wanted)
        by_position: dict[int, list[int]] = {}
        for slot, position in wanted:
            by_position.setdefault(position, []).append(slot)
        positions = list(by_position)
        at_once = max(1, _CELLS_AT_ONCE // self.rows)
        for start in range(0, len(positions), at_once):
            self._hold(group, positions[start : start + at_once], by_position)

    def _hold(self, group: str, positions: list[int], slots: dict[int, list[int]]) -> None:
        """Fill the cache for a few columns of the table."""
        cells = self.snapshot.req_to_token[:, torch.tensor(positions)]
        mapping = self._groups[group].mapping if group in self._groups else None
        if mapping is not None and len(mapping):
            cells = cells.to(torch.int64)
            inside = (cells >= 0) & (cells < len(mapping))
            mapped = mapping[torch.where(inside, cells, 0)]
            cells = torch.where(inside, mapped, torch.where(cells < 0, cells, -2))
        most = max(len(slots[position]) for position in positions)
        # Every position is asked for its nth slot, in turn.
        for nth in range(most):
            asked = [i for i, position in enumerate(positions) if nth < len(slots[position])]
            wanted = torch.tensor([slots[positions[i]][nth] for i in asked])
            part = cells if len(asked) == len(positions) else cells[:, torch.tensor(asked)]
            row, column = (part == wanted).nonzero().unbind(1)
            for holder, i in zip(row.tolist(), column.tolist(), strict=True):
                if holder:
                    position = positions[asked[i]]
                    self._holders[group, slots[position][nth], position] += (holder,)

    def owners(self, group: str, slot: int, position: int) -> tuple[int, ...]:
        """Return the holders that may have so many tokens: engines do not clear what lies behind.

        A holder whose length is not known is one of them.
        """
        return tuple(
            row for row in self.holders(group, slot, position) if self.may_have(row, position)
        )

    def may_have(self, row: int, position: int) -> bool:
        """Return whether a row's request may have a token at a position now."""
        length = self.length_of(row)
        return length is None or position < length

    def length_of(self, row: int) -> int | None:
        """Return how many tokens a row's request has at most, or None if nobody knows."""
        valid = self.snapshot.expected_valid
        known = int(valid[row]) if valid is not None and 0 <= row < len(valid) else 0
        last = self._last_ends.get(row)
        if last is None or any(step > last[0] for step in self.captured_steps):
            # Tokens are counted in every forward, those that nobody recorded too.
            return known or None
        return max(last[1], known)

    def is_in_row(self, group: str, row: int, slot: int) -> bool:
        """Return whether a row maps any position to a slot now."""
        if not 0 <= row < self.rows:
            return False
        cells = self.snapshot.req_to_token[row]
        return any(bool((cells == full).any()) for full in self.full_slots_of(group, slot))

    def homes_of_slots(self, group: str, slots: Iterable[int]) -> dict[int, tuple[int, int]]:
        """Return row and position of slots of a group; those of row 0 are left out."""
        wanted = set(slots)
        self.seek_full_slots(group, wanted)
        full = {each: slot for slot in wanted for each in self.full_slots_of(group, slot)}
        found: dict[int, tuple[int, int]] = {}
        cells = self.snapshot.req_to_token.flatten()
        for start in range(0, len(cells), _CELLS_AT_ONCE):
            part = cells[start : start + _CELLS_AT_ONCE].to(torch.int64)
            for each, hits in find_values(part, full).items():
                home = divmod(start + hits.places[-1], self.columns)
                if home[0]:
                    found[full[each]] = home
        return found

    # Tokens --------------------------------------------------------------------------------------

    def expected_token(self, row: int, position: int) -> int | None:
        """Return the token that a row should hold at a position, or None if nobody knows."""
        tokens, valid = self.snapshot.expected_tokens, self.snapshot.expected_valid
        if tokens is None or valid is None or not 0 <= row < tokens.shape[0]:
            return None
        if not 0 <= position < min(tokens.shape[1], int(valid[row])):
            return None
        token = int(tokens[row, position])
        # What prefix_hit was told as unknown is negative.
        return token if token >= 0 else None

    def _known_tokens(self, row: int, start: int, stop: int) -> list[int]:
        """Return the tokens of a row's positions that are known without a gap before them."""
        tokens, valid = self.snapshot.expected_tokens, self.snapshot.expected_valid
        if tokens is None or valid is None or not 0 <= row < tokens.shape[0]:
            return []
        found: list[int] = tokens[row, start : min(stop, int(valid[row]))].tolist()
        return found

    def own_chain(self, group: str, row: int, position: int, *, sound_below: int) -> int | None:
        """Return the chain hash that a row's own tokens give a position, or None if unknown.

        It is recomputed from the last stamp before the damage and from the expected tokens.

        Args:
            group: name of the group.
            row: row of req_to_token.
            position: in tokens.
            sound_below: positions of the row before this one hold sound stamps.
        """
        if not 0 <= position < self.columns:
            return None
        if position < sound_below:
            stamp = self.stamp_of(group, row, position)
            return None if stamp is None or stamp.position != position else stamp.prev_hash
        key = (group, row, sound_below)
        if key not in self._own_chains:
            self._own_chains[key] = self._chain_start(group, row, sound_below)
        chain = self._own_chains[key]
        if chain and sound_below + len(chain) <= position:
            self._extend_chain(chain, row, sound_below, position)
        place = position - sound_below
        return chain[place] if place < len(chain) else None

    def _chain_start(self, group: str, row: int, position: int) -> list[int]:
        """Return the chain hash of a position behind a sound stamp; empty if there is none."""
        if position == 0:
            return [ANCHOR_HASH]
        stamp = self.stamp_of(group, row, position - 1)
        if stamp is None or stamp.position != position - 1:
            return []
        return [self.successor(stamp)]

    def _extend_chain(self, chain: list[int], row: int, start: int, position: int) -> None:
        """Carry a chain on to a position by the tokens of a row, as far as they are known."""
        first = start + len(chain) - 1
        for place, token in enumerate(self._known_tokens(row, first, position), first):
            if token < 0 or self._chain_tokens >= _MOST_CHAIN_TOKENS:
                break
            self._chain_tokens += 1
            chain.append(self.successor(Stamp(token, place, chain[-1], 0)))

    def stamp_of(self, group: str, row: int, position: int) -> Stamp | None:
        """Return what the slot that a row maps a position to holds now, or None without one."""
        slot = self.slot_at(group, row, position)
        found = self._groups.get(group)
        if slot is None or slot <= 0 or found is None or not found.halves:
            return None
        return self.stamp(group, "head", found.halves[0].half, slot)

    # Recorded batches ----------------------------------------------------------------------------

    def writers(self, group: str, slot: int) -> tuple[Write, ...]:
        """Return the last few recorded writes into a slot, oldest first."""
        self.seek_writers(group, [slot])
        return self._writers[group, slot]

    def seek_writers(self, group: str, slots: Iterable[int]) -> None:
        """Look many slots up at once, for `writers`."""
        wanted = {slot for slot in slots if (group, slot) not in self._writers}
        if not wanted:
            return
        found = find_values(self._written_slots(group), wanted)
        for slot in wanted:
            hits = found.get(slot)
            places = () if hits is None else hits.places
            self._writers[group, slot] = tuple(self._write(group, place) for place in places)

    def write_of(self, group: str, row: int, place: int) -> Write | None:
        """Return the last recorded write of a row's position by the request it has now, or None."""
        hit = self._last_write_of.get((row, place))
        if hit is None:
            return None
        write = self._write(group, hit)
        return write if write.step >= self._tenancies[row][0] else None

    def has_written(self, row: int, place: int) -> bool:
        """Return whether a recorded batch wrote a row's position, in any use of the row."""
        return (row, place) in self._last_write_of

    def first_seen(self, row: int) -> tuple[int, int] | None:
        """Return step and prefix length of the first recorded batch of a row's request, or None."""
        return self._tenancies.get(row)

    @cached_property
    def is_whole_record(self) -> bool:
        """Whether every forward since the first is recorded."""
        return not self.captured_steps and list(self.batches) == list(range(len(self.batches)))

    def came_with(self, row: int) -> tuple[int, int] | None:
        """Return step and cached tokens with which a row's request surely began, or None.

        Only a record of every forward shows it: else the row may have run before.
        """
        seen = self.first_seen(row)
        if seen is None or not self.is_whole_record:
            return None
        ran = next(number for number, batch in self.batches.items() if row in batch.rows)
        return seen if seen[0] == ran else None

    @cached_property
    def _last_ends(self) -> dict[int, tuple[int, int]]:
        """By row, step and end of its last recorded batch."""
        ends: dict[int, tuple[int, int]] = {}
        for number, batch in self.batches.items():
            extends: list[int] = batch.step.extend_seq_lens.tolist()
            for row, prefix, extend in zip(batch.rows, batch.prefix_lengths, extends, strict=True):
                ends[row] = (number, prefix + max(0, extend))
        return ends

    @cached_property
    def _tenancies(self) -> dict[int, tuple[int, int]]:
        """By row, step and prefix length from which on each batch goes on where the last ended.

        A row that did not go on was given to another request, or lost tokens, or ran in a batch
        that was not recorded: what it wrote before says nothing about what it holds.
        """
        first: dict[int, tuple[int, int]] = {}
        ends: dict[int, int] = {}
        for number, batch in self.batches.items():
            extends: list[int] = batch.step.extend_seq_lens.tolist()
            for row, prefix, extend in zip(batch.rows, batch.prefix_lengths, extends, strict=True):
                if ends.get(row) != prefix:
                    first[row] = (number, prefix)
                ends[row] = prefix + max(0, extend)
        return first

    @cached_property
    def _writes(self) -> Tensor:
        """int64 [writes, 5]: step, row, place, position, full slot; in order of time."""
        parts = [torch.empty(0, 5, dtype=torch.int64)]
        for number, batch in self.batches.items():
            step, offsets = batch.step, batch.write_offsets
            count = min(int(offsets[-1]), len(step.positions), len(step.out_cache_loc))
            token = torch.arange(count)
            request = torch.searchsorted(offsets[1:], token, right=True)
            place = step.prefix_lens[request] + token - offsets[request]
            columns = (
                torch.full_like(token, number),
                step.req_pool_indices[request],
                place,
                step.positions[:count],
                step.out_cache_loc[:count],
            )
            parts.append(torch.stack(columns, dim=1))
        return torch.cat(parts)

    @cached_property
    def _last_write_of(self) -> dict[tuple[int, int], int]:
        rows, places = self._writes[:, 1].tolist(), self._writes[:, 2].tolist()
        return {each: i for i, each in enumerate(zip(rows, places, strict=True))}

    def _written_slots(self, group: str) -> Tensor:
        slots = self._writes[:, 4].contiguous()
        found = self._groups.get(group)
        if found is None or found.mapping is None or not len(found.mapping):
            return slots
        inside = (slots >= 0) & (slots < len(found.mapping))
        return torch.where(inside, found.mapping[torch.where(inside, slots, 0)], slots)

    def _write(self, group: str, index: int) -> Write:
        step, row, place, position, slot = self._writes[index].tolist()
        return Write(step, row, place, position, self.mapped(group, slot))


def shared(first: Sequence[int], second: Sequence[int]) -> bool:
    """Return whether two short lists have a member in common."""
    return not set(first).isdisjoint(second)
