"""Every fault that can be injected, those that a canary sees first."""

from __future__ import annotations

from kv_canary.errors import UsageError
from kv_canary.faults import content, forward, owners, tables, unseen, window
from kv_canary.faults.fault import Fault
from kv_canary.findings import Cause
from kv_canary.flags import did_you_mean
from kv_canary_kernels.constants import FailReason

_CHAIN = FailReason.VERIFY_CHAIN_HASH_MISMATCH
_POSITION = FailReason.VERIFY_POSITION_MISMATCH
_BYTES = FailReason.VERIFY_REAL_KV_HASH_MISMATCH
_TOKEN = FailReason.VERIFY_TOKEN_MISMATCH
_RANGE = FailReason.SLOT_OUT_OF_RANGE
_PADDING = FailReason.PADDING_SLOT_IN_PREFIX
_WRITE_POSITION = FailReason.WRITE_POSITION_MISMATCH

FAULTS: tuple[Fault, ...] = (
    Fault(
        name="slot-shared-same-positions",
        happened="The allocator handed one page to two requests, at the same place in both.",
        inject=owners.share_slot_at_same_positions,
        cause=Cause.ANOTHER_OWNER,
        checks=_TOKEN | _CHAIN | _BYTES,
    ),
    Fault(
        name="slot-shared-other-positions",
        happened="The allocator handed one page to two requests, at different places.",
        inject=owners.share_slot_at_other_positions,
        cause=Cause.ANOTHER_OWNER,
        checks=_TOKEN | _CHAIN | _POSITION | _BYTES,
    ),
    Fault(
        name="stale-prefix-index",
        happened="The prefix index kept an entry for pages that were freed and given away, and a "
        "later request hit it.",
        inject=owners.keep_prefix_index_entry,
        cause=Cause.ANOTHER_OWNER,
        checks=_TOKEN | _CHAIN | _POSITION,
    ),
    Fault(
        name="late-write",
        happened="A transfer for the last owner of some slots landed when they were another's.",
        inject=content.write_late,
        cause=Cause.CHANGED_AFTER_STAMP,
        checks=_BYTES,
        bytes_covered=("partial", "all"),
    ),
    Fault(
        name="off-by-one-at-page",
        happened="The table's first entry of a page pointed one slot too far.",
        inject=tables.shift_entry_at_page_boundary,
        cause=Cause.SHIFTED,
        checks=_TOKEN | _CHAIN | _POSITION,
    ),
    Fault(
        name="entries-swapped",
        happened="Two entries of a row were exchanged, as by an unstable sort of its pages.",
        inject=tables.swap_entries,
        cause=Cause.SHIFTED,
        checks=_TOKEN | _CHAIN | _POSITION,
    ),
    Fault(
        name="row-reset",
        happened="A row was cleared while its request still ran.",
        inject=tables.reset_row,
        cause=Cause.PADDING_SLOT,
        checks=_PADDING,
    ),
    Fault(
        name="row-not-refilled",
        happened="A row was given to a new request, and the slots of its cached prefix were "
        "written to another row, so that those of the last request stayed.",
        inject=owners.keep_row_of_last_request,
        cause=Cause.ANOTHER_OWNER,
        checks=_TOKEN | _CHAIN | _POSITION,
    ),
    Fault(
        name="store-to-victim",
        happened="A token was stored in a slot that another request reads.",
        inject=owners.store_to_victim,
        cause=Cause.ANOTHER_OWNER,
        checks=_TOKEN | _CHAIN | _POSITION | _BYTES,
    ),
    Fault(
        name="store-to-free-slot",
        happened="A token was stored in a slot that nobody held, and not in its own.",
        inject=owners.store_to_free_slot,
        cause=Cause.NEVER_STAMPED,
        checks=_TOKEN | _CHAIN | _POSITION | _BYTES,
    ),
    Fault(
        name="byte-flipped",
        happened="Bytes of K or V changed after they were stored, as by a stray kernel or a bad "
        "memory cell.",
        inject=content.flip_byte,
        cause=Cause.CHANGED_AFTER_STAMP,
        checks=_BYTES,
        bytes_covered=("partial", "all"),
    ),
    Fault(
        name="stamp-damaged",
        happened="A stray store hit the canary's own buffer.",
        inject=content.damage_stamp,
        cause=Cause.CHANGED_AFTER_STAMP,
        checks=_CHAIN,
    ),
    Fault(
        name="reload-shifted",
        happened="Tokens came back from the host one slot off, stamps and all.",
        inject=content.reload_shifted,
        cause=Cause.SHIFTED,
        checks=_TOKEN | _CHAIN | _POSITION,
    ),
    Fault(
        name="reload-without-stamps",
        happened="Pages came back from the host into other slots, and the canary's buffers were "
        "not copied with them.",
        inject=content.reload_without_stamps,
        cause=Cause.NEVER_STAMPED,
        checks=_TOKEN | _CHAIN | _POSITION | _BYTES,
    ),
    Fault(
        name="draft-not-rolled-back",
        happened="A rejected draft token still counted as cached, while positions went on "
        "without it.",
        inject=tables.keep_rejected_draft,
        cause=Cause.SHIFTED,
        checks=_WRITE_POSITION | _POSITION | _TOKEN | _CHAIN,
        needs_drafts=True,
    ),
    Fault(
        name="window-frontier-early",
        happened="A window slot was freed one token too early and given to another request.",
        inject=window.free_frontier_early,
        cause=Cause.WINDOW_EDGE,
        checks=_TOKEN | _CHAIN | _POSITION | _BYTES,
        needs_window=True,
    ),
    Fault(
        name="window-map-two-to-one",
        happened="The map to the window pool sent two slots to the same one.",
        inject=window.map_two_to_one,
        cause=Cause.WINDOW_EDGE,
        checks=_TOKEN | _CHAIN | _POSITION,
        needs_window=True,
    ),
    Fault(
        name="padding-slot-used",
        happened="A failed allocation returned 0, and the padding slot was used as an index.",
        inject=tables.use_padding_slot,
        cause=Cause.PADDING_SLOT,
        checks=_PADDING,
    ),
    Fault(
        name="slot-past-pool",
        happened="An entry of the table lay past the end of the pool, as one that was never "
        "filled does.",
        inject=tables.point_past_pool,
        cause=Cause.WILD_SLOT,
        checks=_RANGE,
    ),
    Fault(
        name="length-past-row",
        happened="A batch gave a request more cached tokens than a row of the table has.",
        inject=tables.lengthen_past_row,
        cause=Cause.WILD_ROW_OR_LENGTH,
        checks=_RANGE,
    ),
    Fault(
        name="offsets-backwards",
        happened="A stray store hit the offsets that say which tokens are whose.",
        inject=forward.turn_offsets_back,
        cause=Cause.OFFSETS,
        checks=_RANGE,
    ),
    Fault(
        name="racing-read",
        happened="A forward read bytes that were still on their way, and had come when it ended.",
        inject=unseen.race_read,
        cause=None,
        why_unseen="when the bytes are verified they are right: a read leaves nothing behind",
    ),
    Fault(
        name="wrong-value-computed",
        happened="A kernel computed wrong K and V, which were then stored and stamped.",
        inject=unseen.compute_wrong_value,
        cause=None,
        why_unseen="the stamp is made of the bytes that are there; nobody knows the right ones",
    ),
    Fault(
        name="wrong-token-fed",
        happened="The input held another token than the one that was sampled.",
        inject=unseen.feed_wrong_token,
        cause=None,
        why_unseen="the stamp is made of the input; only an engine that announces what it sampled "
        "could tell",
    ),
    Fault(
        name="uncovered-byte-flipped",
        happened="A byte of K or V changed behind the first 16 of a token, in partial mode.",
        inject=content.flip_uncovered_byte,
        cause=None,
        why_unseen="partial mode covers the first 16 bytes of each source; real_kv='all' sees it",
        bytes_covered=("partial",),
    ),
    Fault(
        name="window-map-cleared-early",
        happened="The map to the window pool was cleared for a position still in the window.",
        inject=window.clear_map_early,
        cause=None,
        why_unseen="0 in the map is what an evicted position has; the window group passes over it",
        needs_window=True,
    ),
    Fault(
        name="free-slot-damaged",
        happened="A stray store hit a slot that nobody held.",
        inject=unseen.damage_free_slot,
        cause=None,
        why_unseen="nobody reads it before it is written and stamped again: no harm is done",
    ),
)
"""All of them."""


def fault_named(name: str) -> Fault:
    """Return the fault of a name.

    Raises:
        UsageError: there is none.
    """
    names = {fault.name: fault for fault in FAULTS}
    if name not in names:
        raise UsageError(
            place="--inject",
            rule="a fault must be one that `kv-canary faults` lists",
            found=name or "nothing",
            wanted=did_you_mean(name, tuple(names)) or ", ".join(names),
            fix="kv-canary faults",
        )
    return names[name]
