# Generated from spec/constants.yaml by `kv-canary generate`; do not edit.
# Template: constants.py.jinja.
"""Numbers with names, and closed sets of them."""

from enum import IntEnum, IntFlag
from typing import Final

PLAN_BS_BLOCK_SIZE: Final = 4096
"""Most requests that one plan launch takes; the batch is scanned in one block of this size."""

REQ_POOL_IDX_PADDING: Final = 0
"""Row of req_to_token that marks a padding request."""

TOKEN_TO_KV_SLOT_PADDING: Final = 0
"""Slot that dummy writes land in; never checked."""

CANARY_CHAIN_ANCHOR: Final = 0xC0FFEE1234567890
"""The first token of a sequence chains to splitmix64 of this."""

CANARY_FIELDS_PER_SLOT: Final = 4
"""int64 fields in the 32 bytes of a canary."""

CANARY_FIELD_TOKEN: Final = 0
"""Index of the token in a canary."""

CANARY_FIELD_POSITION: Final = 1
"""Index of the position in a canary."""

CANARY_FIELD_PREV_HASH: Final = 2
"""Index of the chain hash in a canary."""

CANARY_FIELD_REAL_KV_HASH: Final = 3
"""Index of the hash over the true K or V bytes in a canary."""

VIOLATION_FIELDS: Final = 8
"""int64 fields in one row of a violation ring."""

VIOLATION_FIELD_KERNEL_KIND: Final = 0
"""Index of the launch tag in a violation row."""

VIOLATION_FIELD_SLOT_IDX: Final = 1
"""Index of the slot in a violation row."""

VIOLATION_FIELD_POSITION: Final = 2
"""Index of the position in a violation row."""

VIOLATION_FIELD_STORED_TOKEN: Final = 3
"""Index of the stored token in a violation row."""

VIOLATION_FIELD_EXPECTED_TOKEN: Final = 4
"""Index of the expected token in a violation row."""

VIOLATION_FIELD_STORED_CHAIN_HASH: Final = 5
"""Index of the stored chain hash in a violation row."""

VIOLATION_FIELD_EXPECTED_AUX: Final = 6
"""Index of the expected chain hash or position in a violation row."""

VIOLATION_FIELD_FAIL_REASON_BITS: Final = 7
"""Index of the FailReason bits in a violation row."""

VIOLATION_COUNT_LIMIT: Final = 0x40000000
"""A program that reads this count of violations or a larger one adds none."""

EVIDENCE_FIELD_EXPECTED_POSITION: Final = 0
"""Index of the expected position in an evidence row; -1 where none was expected."""

EVIDENCE_FIELD_STORED_REAL_KV_HASH: Final = 1
"""Index of the stored hash over K or V bytes in an evidence row."""

EVIDENCE_FIELD_COMPUTED_REAL_KV_HASH: Final = 2
"""Index of the hash computed from the bytes as they are in an evidence row."""

EVIDENCE_FIELD_PREVIOUS_SLOT: Final = 3
"""Index of the slot of the token before in an evidence row; -1 where there is none."""

EVIDENCE_FIELD_ENTRY: Final = 4
"""Index of the entry's place in the plan or batch in an evidence row; -1 where it has none."""

EVIDENCE_FIELD_STEP: Final = 5
"""Index of the count of launches before this one in an evidence row."""

EVIDENCE_FIELD_REQUEST: Final = 6
"""Index of the request's place in the batch in an evidence row; -1 where it is not known."""

EVIDENCE_FIELD_RESERVED: Final = 7
"""Index of a field that is 0 in every evidence row."""

GOLDEN_RATIO_64: Final = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio, the step of splitmix64; it keeps 0 from hashing to 0."""

PARALLEL_CHAIN_MULTIPLIER: Final = 0xD1342543DE82EF95
"""Multiplier of the parallel chain, which is an affine map, and so a scan."""

PARALLEL_CHAIN_INVERSE: Final = 0x572B5EE77A54E3BD
"""Inverse of the multiplier modulo 2^64: with it a chain is a cumulative sum."""

WRITE_POWER_BITS: Final = 9
"""Bits of a count of entries in a block of WRITE_TOKEN_BLOCK."""

WRITE_TOKEN_BLOCK: Final = 256
"""Entries that one program of a write launch takes at a time."""

WRITE_LANE_ENTRIES: Final = 4
"""Most entries of a request that a write launch walks one by one, beside other requests."""

WRITE_SUM_FIELDS: Final = 3
"""int64 fields that a write launch keeps in the workspace for each block of entries."""

MAX_REAL_KV_SOURCES: Final = 4
"""Most sources that one real-KV hash covers."""


class FailReason(IntFlag):
    """Why an entry is reported, one bit a reason."""

    VERIFY_CHAIN_HASH_MISMATCH = 1
    """The stored chain hash is not the successor of the previous slot."""
    VERIFY_POSITION_MISMATCH = 2
    """The stored position is not the planned one."""
    VERIFY_REAL_KV_HASH_MISMATCH = 4
    """The bytes of K or V no longer hash to the stamp."""
    WRITE_TOKEN_MISMATCH = 8
    """The token being written is not the expected one."""
    WRITE_POSITION_MISMATCH = 16
    """The position being written is not the expected one."""
    VERIFY_TOKEN_MISMATCH = 32
    """The stored token is not the expected one."""
    SLOT_OUT_OF_RANGE = 64
    """A slot, row, length or offset lies outside its table."""
    PADDING_SLOT_IN_PREFIX = 128
    """A position below the prefix length maps to the padding slot."""


class RealKvHashMode(IntEnum):
    """How much of each real KV source a hash covers."""

    NONE = 0
    """Nothing; the hash is 0."""
    PARTIAL = 1
    """The first 16 bytes of each source."""
    ALL = 2
    """Every byte that a source declares."""


class CanaryLaunchTag(IntEnum):
    """Which buffer and phase a launch belongs to: head or tail or sweep, K or V, full pool or
    window pool.
    """

    HEAD_K_FULL = 0
    """Before the forward pass, K, full pool."""
    HEAD_V_FULL = 1
    """Before the forward pass, V, full pool."""
    TAIL_K_FULL = 2
    """After the forward pass, K, full pool."""
    TAIL_V_FULL = 3
    """After the forward pass, V, full pool."""
    SWEEP_K_FULL = 4
    """A sweep over cached prefixes, K, full pool."""
    SWEEP_V_FULL = 5
    """A sweep over cached prefixes, V, full pool."""
    HEAD_K_SWA = 6
    """Before the forward pass, K, window pool."""
    HEAD_V_SWA = 7
    """Before the forward pass, V, window pool."""
    TAIL_K_SWA = 8
    """After the forward pass, K, window pool."""
    TAIL_V_SWA = 9
    """After the forward pass, V, window pool."""
    SWEEP_K_SWA = 10
    """A sweep over cached prefixes, K, window pool."""
    SWEEP_V_SWA = 11
    """A sweep over cached prefixes, V, window pool."""
