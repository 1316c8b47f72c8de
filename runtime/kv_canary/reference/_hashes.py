"""Hashes of both formats, modulo 2^64 in int64 tensors: stamps, chains of stamps, real KV bytes.

Torch shifts int64 to the right with copies of the sign, so each shift is masked; products and sums
wrap as two's complement, which is arithmetic modulo 2^64. The formulas are the contract's:

    splitmix64(x):   x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
                     x = (x ^ x>>27) * 0x94D049BB133111EB
                     x ^ x>>31
    mix3(a, b, c):   splitmix64(splitmix64(splitmix64(a) ^ b) ^ c)

`serial` is byte for byte SGLang's; in `parallel` a chain is an affine recurrence and a real-KV hash
a sum, so that neither is a walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final, Literal, Protocol

import torch
from torch import Tensor
from torch.nn.functional import pad

from kv_canary.reference._requests import exclusive_prefix_sum
from kv_canary.reference._sizes import PackedRanges, reading_is_free
from kv_canary_kernels.constants import CANARY_CHAIN_ANCHOR, RealKvHashMode

HashFormat = Literal["serial", "parallel"]

MODULUS: Final = 2**64
SPLITMIX_FIRST: Final = 0xBF58476D1CE4E5B9
SPLITMIX_SECOND: Final = 0x94D049BB133111EB
PARALLEL_FACTOR: Final = 0xD1342543DE82EF95
"""A of the parallel format; odd, so that it has an inverse modulo 2^64."""
PARALLEL_STEP: Final = 0x9E3779B97F4A7C15
"""G of the parallel format."""

WORD_BYTES: Final = 8
PARTIAL_WORDS: Final = 16 // WORD_BYTES
"""8-byte words of each source that RealKvHashMode.PARTIAL covers."""
WORDS_AT_ONCE: Final = 2**20
"""Words of a source that are gathered at a time, which bounds the memory that a launch needs."""
FEWEST_SLOTS_AT_ONCE: Final = 2048
VECTOR_STEP_IN_TOKENS: Final = 64
"""Tokens that plain integers hash in the time of one vector step on a CPU; measured."""


class RealKvSource(Protocol):
    """What a hash asks of a source of true K or V bytes."""

    @property
    def tensor(self) -> Tensor:
        """Any dtype, [rows, columns], packed rows at any stride."""

    @property
    def page_size(self) -> int:
        """Slots that a row holds."""

    @property
    def num_bytes_per_token(self) -> int:
        """Bytes from one slot of a row to the next."""

    @property
    def read_bytes(self) -> int:
        """Bytes of each slot that the hash may cover, from its first."""


def as_int64(value: int) -> int:
    """Return the int64 whose two's complement is a value modulo 2^64."""
    return (value + MODULUS // 2) % MODULUS - MODULUS // 2


def splitmix64_of_integer(value: int) -> int:
    """Return splitmix64 of any integer modulo 2^64, in [0, 2^64)."""
    value %= MODULUS
    value = (value ^ value >> 30) * SPLITMIX_FIRST % MODULUS
    value = (value ^ value >> 27) * SPLITMIX_SECOND % MODULUS
    return value ^ value >> 31


ANCHOR_HASH: Final = as_int64(splitmix64_of_integer(CANARY_CHAIN_ANCHOR))
"""prev_hash of the first token of a sequence, in both formats."""


def _logical_shift(value: Tensor, bits: int) -> Tensor:
    return (value >> bits).bitwise_and_((1 << (64 - bits)) - 1)


def splitmix64(value: Tensor) -> Tensor:
    """Return splitmix64 of each element.

    Args:
        value: int64 of any shape.
    """
    mixed = value ^ _logical_shift(value, 30)
    mixed *= as_int64(SPLITMIX_FIRST)
    mixed ^= _logical_shift(mixed, 27)
    mixed *= as_int64(SPLITMIX_SECOND)
    mixed ^= _logical_shift(mixed, 31)
    return mixed


def mix3(first: Tensor, second: Tensor, third: Tensor) -> Tensor:
    """Return mix3 of each triple.

    Args:
        first: int64 of any shape, as the others.
        second: int64.
        third: int64.
    """
    return splitmix64(splitmix64(splitmix64(first) ^ second) ^ third)


def _addend(token: Tensor, position: Tensor) -> Tensor:
    """Return m of the parallel format: what one entry adds to the chain."""
    return splitmix64(splitmix64(token + as_int64(PARALLEL_STEP)) ^ position)


def successor_hash(
    prev_hash: Tensor, token: Tensor, position: Tensor, hash_format: HashFormat
) -> Tensor:
    """Return the chain hash that follows each canary.

    serial: `mix3(prev_hash, token, position)`;
    parallel: `prev_hash * A + splitmix64(splitmix64(token + G) ^ position)`.

    Args:
        prev_hash: int64 [n], chain hash that the canary stores.
        token: int64 [n].
        position: int64 [n], in tokens.
        hash_format: "serial" or "parallel".
    """
    if hash_format == "serial":
        return mix3(prev_hash, token, position)
    return prev_hash * as_int64(PARALLEL_FACTOR) + _addend(token, position)


def chain_hashes(
    *,
    ranges: PackedRanges,
    longest: int,
    first_hash: Tensor,
    advances: Tensor,
    token: Tensor,
    position: Tensor,
    hash_format: HashFormat,
) -> Tensor:
    """Return int64 [places]: the running hash of each chain before each of its places.

    Each place that advances takes its chain to the successor hash, and any other leaves it.

    Args:
        ranges: the places of each chain.
        longest: a bound of the places of one chain.
        first_hash: int64 [n], running hash before the first place of each chain.
        advances: bool [places], false wherever no chain owns the place.
        token: int64 [places].
        position: int64 [places], in tokens.
        hash_format: "serial" or "parallel".
    """
    if hash_format == "parallel":
        return _recurrence(ranges, longest, first_hash, advances, _addend(token, position))
    if reading_is_free(token) and token.shape[0] <= VECTOR_STEP_IN_TOKENS * longest:
        return _walk_one_by_one(ranges, first_hash, advances, token, position)
    return _walk_side_by_side(ranges, longest, first_hash, advances, token, position)


def _recurrence(
    ranges: PackedRanges, longest: int, first_hash: Tensor, advances: Tensor, addend: Tensor
) -> Tensor:
    """Solve h' = h * A + m for all places at once.

    After k entries, h_k = A^k * (h_0 + sum over i < k of m_i * A^-(i + 1)), in which A^-1 is the
    inverse of A modulo 2^64.
    """
    entries_before = _sum_before(ranges, advances.to(torch.int64))
    factor = _powers(PARALLEL_FACTOR, longest + 2, like=addend)
    inverse = _powers(pow(PARALLEL_FACTOR, -1, MODULUS), longest + 2, like=addend)
    summand = torch.where(advances, addend * inverse[entries_before + 1], 0)
    return factor[entries_before] * (first_hash[ranges.owner] + _sum_before(ranges, summand))


def _sum_before(ranges: PackedRanges, value: Tensor) -> Tensor:
    """Return int64 [places]: the sum over the places of the same range before each; it may wrap."""
    sums = exclusive_prefix_sum(value)
    return sums[:-1] - sums[ranges.starts][ranges.owner]


def _powers(base: int, length: int, like: Tensor) -> Tensor:
    powers = torch.full((length,), as_int64(base), dtype=torch.int64, device=like.device)
    powers[:1].fill_(1)
    return powers.cumprod(0)


def _walk_side_by_side(
    ranges: PackedRanges,
    longest: int,
    first_hash: Tensor,
    advances: Tensor,
    token: Tensor,
    position: Tensor,
) -> Tensor:
    """Take one step of every chain at a time."""
    places = token.shape[0]
    # One more place, which chains that have ended read and write.
    advances, token, position = (pad(each, (0, 1)) for each in (advances, token, position))
    before = torch.empty_like(token)
    running = first_hash
    for step in range(longest):
        place = torch.where(ranges.counts > step, ranges.starts + step, places)
        before.index_copy_(0, place, running)
        advanced = mix3(running, token[place], position[place])
        running = torch.where(advances[place], advanced, running)
    return before[:-1]


def _walk_one_by_one(
    ranges: PackedRanges, first_hash: Tensor, advances: Tensor, token: Tensor, position: Tensor
) -> Tensor:
    """Walk each chain with plain integers: a torch call costs more than a few of them."""
    mix = splitmix64_of_integer
    places = zip(advances.tolist(), token.tolist(), position.tolist(), strict=True)
    before: list[int] = []
    for running, count in zip(first_hash.tolist(), ranges.counts.tolist(), strict=True):
        for advance, of_token, of_position in islice(places, count):
            before.append(running % MODULUS)
            if advance:
                running = mix(mix(mix(running) ^ of_token) ^ of_position)
    return torch.tensor(before, dtype=torch.uint64, device=token.device).view(torch.int64)


def real_kv_hash(
    *,
    sources: Sequence[RealKvSource],
    mode: RealKvHashMode | int,
    hash_format: HashFormat,
    slot: Tensor,
    readable: Tensor,
) -> Tensor:
    """Return int64 [n]: the hash over the true K or V bytes of each slot.

    0 without a source or in mode NONE; else over sources s, and over words w of 8 bytes in each:
    serial, from 0: `acc = splitmix64(acc ^ w)`, then `total = splitmix64(total ^ acc)`;
    parallel: `sum_s = sum of splitmix64(w ^ splitmix64((k + 1) * G))` over the word's index k, then
    `sum of splitmix64(sum_s + (s + 1) * G)`.

    Args:
        sources: where the bytes are; each covers every slot of the canary buffer.
        mode: NONE, PARTIAL (16 bytes of each source) or ALL (read_bytes of each).
        hash_format: "serial" or "parallel".
        slot: int64 [n].
        readable: bool [n], true only where the slot lies in the canary buffer; the hash of any
            other place is unspecified.
    """
    total = torch.zeros_like(slot)
    # A source without rows covers an empty canary buffer, and then no slot is readable.
    if mode == RealKvHashMode.NONE or any(source.tensor.shape[0] == 0 for source in sources):
        return total
    slot = torch.where(readable, slot, 0)
    for index, source in enumerate(sources):
        words = PARTIAL_WORDS if mode == RealKvHashMode.PARTIAL else source.read_bytes // WORD_BYTES
        slots_at_once = max(FEWEST_SLOTS_AT_ONCE, WORDS_AT_ONCE // words)
        for start in range(0, slot.shape[0], slots_at_once):
            part = total[start : start + slots_at_once]
            found = _words_of(source, slot[start : start + slots_at_once], words)
            if hash_format == "serial":
                hashed = torch.zeros_like(part)
                for word in found.unbind(1):
                    hashed = splitmix64(hashed ^ word)
                part.copy_(splitmix64(part ^ hashed))
            else:
                counted = torch.arange(1, words + 1, dtype=torch.int64, device=slot.device)
                keys = splitmix64(counted * as_int64(PARALLEL_STEP))
                hashed = splitmix64(found ^ keys).sum(1)
                part += splitmix64(hashed + as_int64((index + 1) * PARALLEL_STEP))
    return total


def _words_of(source: RealKvSource, slot: Tensor, words: int) -> Tensor:
    """Return int64 [n, words]: the first bytes of each slot, as little-endian words.

    Args:
        source: where the bytes are.
        slot: int64 [n], each of them covered by the source.
        words: 8-byte words to read of each slot.
    """
    rows = source.tensor.view(torch.uint8)
    paged = rows[:, : source.page_size * source.num_bytes_per_token].view(
        rows.shape[0], source.page_size, source.num_bytes_per_token
    )[:, :, : words * WORD_BYTES]
    index = (slot // source.page_size, slot % source.page_size)
    # Whole words are gathered several times faster. The contract aligns addresses, but torch asks
    # for an aligned offset into the storage, which may itself start anywhere.
    if rows.storage_offset() % WORD_BYTES == 0:
        paged = paged.view(torch.int64)
    found: Tensor = paged[index]
    return found.contiguous().view(torch.int64)
