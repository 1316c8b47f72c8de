# Generated from spec/kernels by `kv-canary generate`; do not edit.
# Template: rules.py.jinja.
"""The rule catalogue: what a rule means, why it breaks, what to do; every kernel's guards."""

from __future__ import annotations

import difflib
import textwrap
from dataclasses import dataclass


class UnknownRuleError(ValueError):
    """There is no rule of this id."""


@dataclass(frozen=True, slots=True)
class Implied:
    """A rule that a declaration implies; its text is its kind's, filled in."""

    kind: str
    owner: str
    argument: str
    name: str
    expected: str
    message: str = ""
    """Words of its own; empty for its kind's."""


@dataclass(frozen=True, slots=True)
class Guard:
    """One index of a kernel's memory accesses, compared with its own dimension on the device."""

    argument: str
    index: str
    extent: str
    guard: str


def explain(rule_id: str | None = None) -> str:
    """What a rule means, why it breaks and what to do; without an id, the list of rules.

    Raises:
        UnknownRuleError: There is no such rule; the message names the nearest.
    """
    if rule_id is None:
        return "\n".join([*WRITTEN, *IMPLIED]) + "\n"
    if rule_id in WRITTEN:
        return WRITTEN[rule_id]
    if rule_id in IMPLIED:
        return _filled(_worded(KINDS[IMPLIED[rule_id].kind], IMPLIED[rule_id]), rule_id)
    near = difflib.get_close_matches(rule_id, [*WRITTEN, *IMPLIED], n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise UnknownRuleError(f"there is no rule {rule_id}{hint}")


def fix_of(rule_id: str) -> str:
    """The first thing to do about a broken rule, or nothing."""
    if rule_id in IMPLIED:
        return _filled(FIXES[IMPLIED[rule_id].kind], rule_id)
    return FIXES.get(rule_id, "")


def _worded(text: str, rule: Implied) -> str:
    """A kind's text with the message that a rule has of its own, on the second line."""
    if not rule.message:
        return text
    head, message, *rest = text.split("\n")
    prefix = message[: len(message) - len(message.lstrip())] + "kv-canary: "
    return "\n".join([head, prefix + rule.message, *rest])


def _filled(text: str, rule_id: str) -> str:
    rule = IMPLIED[rule_id]
    for name, value in (
        ("{rule}", rule_id),
        ("{owner}", rule.owner),
        ("{argument}", rule.argument),
        ("{name}", rule.name),
        ("{expected}", rule.expected),
    ):
        text = text.replace(name, value)
    return "\n".join(wrapped for line in text.split("\n") for wrapped in _wrapped(line))


def _wrapped(line: str) -> list[str]:
    hang = len(line) - len(line.lstrip()) + 2
    return textwrap.wrap(line, 100, subsequent_indent=" " * hang) or [""]


WRITTEN: dict[str, str] = {
    "VerifyPlan.verify_capacity_positive": """\
VerifyPlan.verify_capacity_positive
  kv-canary: VerifyPlan verify_capacity must be positive, got {verify_capacity}

Checked by VerifyPlan.allocate, about verify_capacity.
Rule: verify_capacity is greater than 0.

A plan without room can verify nothing, and every step would be over capacity.

Likely causes
  - A capacity worked out from a configuration that is not loaded yet.
  - A number of slots divided by a page size larger than it.

What to do
  - Pass the largest number of cached tokens that one step may read.

Wrong
  VerifyPlan.allocate(verify_capacity=0, device=device)

Right
  VerifyPlan.allocate(verify_capacity=1, device=device)
""",
    "WritePlan.write_req_capacity_positive": """\
WritePlan.write_req_capacity_positive
  kv-canary: WritePlan write_req_capacity must be positive, got {write_req_capacity}

Checked by WritePlan.allocate, about write_req_capacity.
Rule: write_req_capacity is greater than 0.

A plan without room for a request can stamp nothing.

Likely causes
  - A batch size read from a configuration that is not loaded yet.

What to do
  - Pass the largest batch that one step may hold, padding included.

Wrong
  WritePlan.allocate(write_req_capacity=0, device=device)

Right
  WritePlan.allocate(write_req_capacity=1, device=device)
""",
    "RealKvSource.page_size_positive": """\
RealKvSource.page_size_positive
  kv-canary: RealKvSource.page_size must be >= 1, got {page_size}

Checked by RealKvSource, about page_size.
Rule: page_size is at least 1.

A row of the cache holds the slots of one page.

Likely causes
  - A page size read from a configuration that is not loaded yet.

What to do
  - Pass the number of slots in a row; 1 for a cache that is not paged.

Wrong
  RealKvSource(page_size=0, ...)

Right
  RealKvSource(page_size=1, ...)
""",
    "RealKvSource.num_bytes_per_token_multiple_of_16": """\
RealKvSource.num_bytes_per_token_multiple_of_16
  kv-canary: RealKvSource.num_bytes_per_token must be a positive multiple of 16, got
    {num_bytes_per_token}

Checked by RealKvSource, about num_bytes_per_token.
Rule: num_bytes_per_token is at least 1, and num_bytes_per_token % 16 equals 0.

Kernels read the cache in pieces of 16 bytes, and each slot begins with one.

Likely causes
  - Elements counted where bytes are wanted.
  - A head size whose bytes are no multiple of 16.

What to do
  - Pass heads * head_dim * itemsize, or the bytes of a view that is a multiple of 16 wide.

Wrong
  RealKvSource(num_bytes_per_token=24, ...)

Right
  RealKvSource(num_bytes_per_token=32, ...)
""",
    "RealKvSource.read_bytes_within_token": """\
RealKvSource.read_bytes_within_token
  kv-canary: RealKvSource.read_bytes must be a positive multiple of 16 in (0,
    num_bytes_per_token={num_bytes_per_token}], got {read_bytes}

Checked by RealKvSource, about read_bytes.
Rule: read_bytes is greater than 0 and at most num_bytes_per_token, and read_bytes % 16 equals 0.

The hash covers whole pieces of 16 bytes of a slot, and nothing of the next slot.

Likely causes
  - A sample of a few bytes that was not rounded up.
  - The bytes of a whole page passed for those of a token.

What to do
  - Pass num_bytes_per_token, or a smaller multiple of 16.

Wrong
  RealKvSource(num_bytes_per_token=32, read_bytes=48, ...)

Right
  RealKvSource(num_bytes_per_token=32, read_bytes=32, ...)
""",
    "RealKvSource.tensor_at_least_2_d": """\
RealKvSource.tensor_at_least_2_d
  kv-canary: RealKvSource.tensor must be at least 2-D, got shape {shape(tensor)}

Checked by RealKvSource, about tensor.
Rule: tensor.dim() is at least 2.

A source has rows, one a page, and bytes in them.

Likely causes
  - A flat view of the cache.

What to do
  - Pass a view of one row a page: cache.view(num_pages, -1).
""",
    "RealKvSource.row_stride_multiple_of_16": """\
RealKvSource.row_stride_multiple_of_16
  kv-canary: RealKvSource.tensor row stride must be a multiple of 16 bytes, got {stride(tensor, 0) *
    itemsize(tensor)} bytes (shape={shape(tensor)}, strides={strides(tensor)},
    dtype={dtype(tensor)})

Checked by RealKvSource, about tensor.
Rule: tensor.stride(0) * tensor.itemsize % 16 equals 0.

Each row begins at a multiple of 16 bytes, so that pieces of 16 bytes are aligned.

Likely causes
  - A slice of columns of a cache whose rows are no multiple of 16 bytes.

What to do
  - Make the cache with rows that are a multiple of 16 bytes; the rest of a row is a hole.
""",
    "plan.lut_required_with_window": """\
plan.lut_required_with_window
  kv-canary: launch_canary_plan_kernels requires full_to_swa_index_mapping when swa_window_size > 0

Checked by launch_canary_plan_kernels, about full_to_swa_index_mapping.
Rule: if swa_window_size is greater than 0, then full_to_swa_index_mapping is given.

A sliding window lives in a pool of its own, and only the table leads there.

Likely causes
  - The full-attention group's arguments with the window group's window size.

What to do
  - Pass the table from full slots to window slots.
  - Pass swa_window_size=0 for a full-attention group.

Wrong
  launch_canary_plan_kernels(full_to_swa_index_mapping=None, swa_window_size=1, ...)

Right
  launch_canary_plan_kernels(full_to_swa_index_mapping=torch.empty(1, dtype=torch.int64,
    device=device), swa_window_size=1, ...)
""",
    "plan.bs_within_block": """\
plan.bs_within_block
  kv-canary: launch_canary_plan_kernels supports at most bs={PLAN_BS_BLOCK_SIZE} reqs per launch,
    got bs={bs}. Bump _PLAN_BS_BLOCK_SIZE if real workloads need this.

Checked by launch_canary_plan_kernels, about req_pool_indices.
Rule: bs is at most PLAN_BS_BLOCK_SIZE (4096).

The whole batch is scanned in one block of PLAN_BS_BLOCK_SIZE requests.

Likely causes
  - More running requests than the block holds.

What to do
  - Plan in chunks of at most PLAN_BS_BLOCK_SIZE requests.
  - Raise PLAN_BS_BLOCK_SIZE in spec/constants.yaml (a power of two) and regenerate.

Wrong
  launch_canary_plan_kernels(write_plan_out=WritePlan(write_offsets=torch.empty(2,
    dtype=torch.int64, device=device), write_seed_slot_indices=torch.empty(1, dtype=torch.int64,
    device=device), ...), req_pool_indices=torch.empty(4097, dtype=torch.int64, device=device),
    prefix_lens=torch.empty(4097, dtype=torch.int64, device=device),
    extend_seq_lens=torch.empty(4097, dtype=torch.int64, device=device), ...)

Right
  launch_canary_plan_kernels(write_plan_out=WritePlan(write_offsets=torch.empty(4097,
    dtype=torch.int64, device=device), write_seed_slot_indices=torch.empty(4096, dtype=torch.int64,
    device=device), ...), req_pool_indices=torch.empty(4096, dtype=torch.int64, device=device),
    prefix_lens=torch.empty(4096, dtype=torch.int64, device=device),
    extend_seq_lens=torch.empty(4096, dtype=torch.int64, device=device), ...)

See also plan_offsets.bs_range
""",
    "plan.verify_capacity_matches_plan": """\
plan.verify_capacity_matches_plan
  kv-canary: launch_canary_plan_kernels verify_capacity={verify_capacity} does not match
    verify_plan_out.verify_slot_indices.shape[0]={length(verify_plan_out.verify_slot_indices)}

Checked by launch_canary_plan_kernels, about verify_capacity.
Rule: verify_capacity equals verify_plan_out.verify_slot_indices.shape[0].

The capacity given and the plan's own have to be the same number.

Likely causes
  - A plan allocated with another capacity than the configuration says now.

What to do
  - Pass the capacity that VerifyPlan.allocate was called with.

Wrong
  launch_canary_plan_kernels(verify_plan_out=VerifyPlan(verify_slot_indices=torch.empty(1,
    dtype=torch.int64, device=device), ...), verify_capacity=64, ...)

Right
  launch_canary_plan_kernels(verify_plan_out=VerifyPlan(verify_slot_indices=torch.empty(1,
    dtype=torch.int64, device=device), ...), verify_capacity=1, ...)
""",
    "plan.total_needs_rotation": """\
plan.total_needs_rotation
  kv-canary: launch_canary_plan_kernels requires verify_rotation when verify_total is set

Checked by launch_canary_plan_kernels, about verify_total.
Rule: if verify_total is given, then verify_rotation is given.

The total says what share a rotating plan checks; without rotation, enable says it all.

Likely causes
  - The share wanted for a plan that does not rotate.

What to do
  - Pass verify_rotation as well, an int64 tensor of one entry that begins at 0.
  - Leave verify_total out.

Wrong
  launch_canary_plan_kernels(verify_rotation=None, verify_total=torch.empty(1, dtype=torch.int64,
    device=device), ...)

Right
  launch_canary_plan_kernels(verify_rotation=torch.empty(1, dtype=torch.int64, device=device),
    verify_total=torch.empty(1, dtype=torch.int64, device=device), ...)
""",
    "plan_entries.expected_tokens_need_valid_lens": """\
plan_entries.expected_tokens_need_valid_lens
  kv-canary: launch_plan_entries_kernel requires req_to_verify_expected_tokens_valid_lens when
    req_to_verify_expected_tokens is set

Checked by launch_plan_entries_kernel, about req_to_verify_expected_tokens_valid_lens.
Rule: if req_to_verify_expected_tokens is given, then req_to_verify_expected_tokens_valid_lens is
  given.

A pool of expected tokens is only filled up to a length, and beyond it there is rubbish.

Likely causes
  - The token check switched on, and the lengths forgotten.

What to do
  - Pass how many tokens of each request are known, one int64 a request of the batch.
  - Pass None for both to leave tokens unchecked.

Wrong
  launch_plan_entries_kernel(req_to_verify_expected_tokens=torch.empty(1, 1, dtype=torch.int32,
    device=device), req_to_verify_expected_tokens_valid_lens=None, ...)

Right
  launch_plan_entries_kernel(req_to_verify_expected_tokens=torch.empty(1, 1, dtype=torch.int32,
    device=device), req_to_verify_expected_tokens_valid_lens=torch.empty(1, dtype=torch.int64,
    device=device), ...)
""",
    "plan_offsets.bs_range": """\
plan_offsets.bs_range
  kv-canary: offsets kernel bs must be in [0, {PLAN_BS_BLOCK_SIZE}], got {bs}

Checked by launch_plan_offsets_kernel, about req_pool_indices.
Rule: bs is at least 0 and at most PLAN_BS_BLOCK_SIZE (4096).

The whole batch is scanned in one block of PLAN_BS_BLOCK_SIZE requests.

Likely causes
  - More running requests than the block holds.
  - A token-level array passed where a request-level one belongs.

What to do
  - Plan in chunks of at most PLAN_BS_BLOCK_SIZE requests.
  - Raise PLAN_BS_BLOCK_SIZE in spec/constants.yaml (a power of two) and regenerate.

Wrong
  launch_plan_offsets_kernel(req_pool_indices=torch.empty(4097, dtype=torch.int64, device=device),
    prefix_lens=torch.empty(4097, dtype=torch.int64, device=device),
    extend_seq_lens=torch.empty(4097, dtype=torch.int64, device=device),
    out_write_offsets=torch.empty(4098, dtype=torch.int64, device=device),
    out_write_seed_slot_indices=torch.empty(4097, dtype=torch.int64, device=device), ...)

Right
  launch_plan_offsets_kernel(req_pool_indices=torch.empty(4096, dtype=torch.int64, device=device),
    prefix_lens=torch.empty(4096, dtype=torch.int64, device=device),
    extend_seq_lens=torch.empty(4096, dtype=torch.int64, device=device),
    out_write_offsets=torch.empty(4097, dtype=torch.int64, device=device),
    out_write_seed_slot_indices=torch.empty(4096, dtype=torch.int64, device=device), ...)
""",
    "plan_offsets.write_offsets_len_positive": """\
plan_offsets.write_offsets_len_positive
  kv-canary: write_offsets_len must be positive, got {write_offsets_len}

Checked by launch_plan_offsets_kernel, about out_write_offsets.
Rule: write_offsets_len is greater than 0.

Even an empty batch has one boundary, the total.

Likely causes
  - A buffer of zero entries, from a capacity that was not set.

What to do
  - Allocate write_req_capacity + 1 entries, or use WritePlan.allocate.

Wrong
  launch_plan_offsets_kernel(out_write_offsets=torch.empty(0, dtype=torch.int64, device=device),
    ...)

Right
  launch_plan_offsets_kernel(out_write_offsets=torch.empty(2, dtype=torch.int64, device=device),
    ...)

See also plan_offsets.write_offsets_len_is_capacity_plus_one
""",
    "plan_offsets.write_req_capacity_non_negative": """\
plan_offsets.write_req_capacity_non_negative
  kv-canary: write_req_capacity must be non-negative, got {write_req_capacity}

Checked by launch_plan_offsets_kernel, about out_write_seed_slot_indices.
Rule: write_req_capacity is at least 0.

A capacity counts requests.

Likely causes
  - A size passed to the validator that does not come from a tensor.

What to do
  - Leave write_req_capacity out; it is the length of out_write_seed_slot_indices.

Wrong
  validate_plan_offsets(out_write_seed_slot_indices=torch.empty(1, dtype=torch.int64,
    device=device), write_req_capacity=-1, ...)

Right
  validate_plan_offsets(out_write_seed_slot_indices=torch.empty(1, dtype=torch.int64,
    device=device), ...)
""",
    "plan_offsets.verify_capacity_non_negative": """\
plan_offsets.verify_capacity_non_negative
  kv-canary: verify_capacity must be non-negative, got {verify_capacity}

Checked by launch_plan_offsets_kernel, about verify_capacity.
Rule: verify_capacity is at least 0.

A capacity counts entries.

Likely causes
  - A subtraction of reserved entries that went below zero.

What to do
  - Pass the length of the plan's verify arrays.

Wrong
  launch_plan_offsets_kernel(verify_capacity=-1, ...)

Right
  launch_plan_offsets_kernel(verify_capacity=0, ...)
""",
    "plan_offsets.req_to_token_stride0_positive": """\
plan_offsets.req_to_token_stride0_positive
  kv-canary: req_to_token_stride0 must be positive, got {req_to_token_stride0}

Checked by launch_plan_offsets_kernel, about req_to_token.
Rule: req_to_token_stride0 is greater than 0.

Rows of req_to_token follow each other in memory.

Likely causes
  - A table made by expand(), whose rows all share one memory.

What to do
  - Pass the engine's own req_to_token, not a view that repeats a row.

Wrong
  validate_plan_offsets(req_to_token_stride0=0, ...)

Right
  validate_plan_offsets(...)
""",
    "plan_offsets.lut_len_non_negative": """\
plan_offsets.lut_len_non_negative
  kv-canary: lut_len must be non-negative, got {lut_len}

Checked by launch_plan_offsets_kernel, about full_to_swa_index_mapping.
Rule: lut_len is at least 0.

A table has a length.

Likely causes
  - A size passed to the validator that does not come from a tensor.

What to do
  - Leave lut_len out; it is the length of full_to_swa_index_mapping.

Wrong
  validate_plan_offsets(full_to_swa_index_mapping=None, lut_len=-1, ...)

Right
  validate_plan_offsets(full_to_swa_index_mapping=None, lut_len=0, ...)
""",
    "plan_offsets.has_swa_lut_is_bool": """\
plan_offsets.has_swa_lut_is_bool
  kv-canary: has_swa_lut must be bool, got {type(has_swa_lut)}

Checked by launch_plan_offsets_kernel, about full_to_swa_index_mapping.
Rule: has_swa_lut is a bool.

The flag says whether there is a window table; a number would be read as one.

Likely causes
  - 0 or 1 passed to the validator for the flag.

What to do
  - Leave has_swa_lut out, or pass True or False.

Wrong
  validate_plan_offsets(full_to_swa_index_mapping=None, has_swa_lut=1, ...)

Right
  validate_plan_offsets(full_to_swa_index_mapping=None, has_swa_lut=False, ...)
""",
    "plan_offsets.lut_len_positive_with_lut": """\
plan_offsets.lut_len_positive_with_lut
  kv-canary: lut_len must be positive when has_swa_lut is True

Checked by launch_plan_offsets_kernel, about full_to_swa_index_mapping.
Rule: if has_swa_lut is true, then lut_len is greater than 0.

A window table without entries maps nothing, not even the padding slot.

Likely causes
  - The window pool's table before the pool was made.

What to do
  - Pass the table of the window pool, one entry for each slot of the full pool.
  - Pass None when the model has no sliding window.

Wrong
  launch_plan_offsets_kernel(full_to_swa_index_mapping=torch.empty(0, dtype=torch.int64,
    device=device), ...)

Right
  launch_plan_offsets_kernel(full_to_swa_index_mapping=torch.empty(1, dtype=torch.int64,
    device=device), ...)
""",
    "plan_offsets.lut_len_zero_without_lut": """\
plan_offsets.lut_len_zero_without_lut
  kv-canary: lut_len must be 0 when has_swa_lut is False

Checked by launch_plan_offsets_kernel, about full_to_swa_index_mapping.
Rule: if has_swa_lut is false, then lut_len equals 0.

Without a window table there is nothing whose length could be given.

Likely causes
  - A size passed to the validator for a table that was not.

What to do
  - Pass full_to_swa_index_mapping as well, or leave lut_len out.

Wrong
  validate_plan_offsets(full_to_swa_index_mapping=None, lut_len=1, ...)

Right
  validate_plan_offsets(full_to_swa_index_mapping=None, lut_len=0, ...)
""",
    "plan_offsets.write_offsets_len_is_capacity_plus_one": """\
plan_offsets.write_offsets_len_is_capacity_plus_one
  kv-canary: write_offsets_len must equal write_req_capacity + 1, got {write_offsets_len} and
    {write_req_capacity}

Checked by launch_plan_offsets_kernel, about out_write_offsets.
Rule: write_offsets_len equals write_req_capacity + 1.

A batch of n requests has n + 1 boundaries, the last of them the total.

Likely causes
  - Both buffers made with one length.
  - Buffers of two plans mixed up.

What to do
  - Allocate out_write_offsets one entry longer than out_write_seed_slot_indices, or use
    WritePlan.allocate.

Wrong
  launch_plan_offsets_kernel(out_write_offsets=torch.empty(1, dtype=torch.int64, device=device),
    out_write_seed_slot_indices=torch.empty(1, dtype=torch.int64, device=device), ...)

Right
  launch_plan_offsets_kernel(out_write_offsets=torch.empty(2, dtype=torch.int64, device=device),
    out_write_seed_slot_indices=torch.empty(1, dtype=torch.int64, device=device), ...)
""",
    "plan_offsets.bs_within_write_req_capacity": """\
plan_offsets.bs_within_write_req_capacity
  kv-canary: bs={bs} exceeds write_req_capacity={write_req_capacity}

Checked by launch_plan_offsets_kernel, about out_write_seed_slot_indices.
Rule: bs is at most write_req_capacity.

Each request of the batch needs a place in the write plan.

Likely causes
  - A batch larger than the plan was allocated for.
  - Padding requests not counted when the plan was sized.

What to do
  - Allocate the write plan for the largest batch, padding included.

Wrong
  launch_plan_offsets_kernel(req_pool_indices=torch.empty(2, dtype=torch.int64, device=device),
    prefix_lens=torch.empty(2, dtype=torch.int64, device=device), extend_seq_lens=torch.empty(2,
    dtype=torch.int64, device=device), out_write_seed_slot_indices=torch.empty(1, dtype=torch.int64,
    device=device), ...)

Right
  launch_plan_offsets_kernel(req_pool_indices=torch.empty(1, dtype=torch.int64, device=device),
    prefix_lens=torch.empty(1, dtype=torch.int64, device=device), extend_seq_lens=torch.empty(1,
    dtype=torch.int64, device=device), out_write_seed_slot_indices=torch.empty(1, dtype=torch.int64,
    device=device), ...)
""",
    "plan_offsets.req_to_token_stride0_matches": """\
plan_offsets.req_to_token_stride0_matches
  kv-canary: req_to_token_stride0={req_to_token_stride0} does not match
    req_to_token.stride(0)={stride(req_to_token, 0)}

Checked by launch_plan_offsets_kernel, about req_to_token.
Rule: req_to_token_stride0 equals req_to_token.stride(0).

A stride given by hand has to be the table's own.

Likely causes
  - A stride kept from a table that was reallocated since.

What to do
  - Leave req_to_token_stride0 out; it is read from req_to_token.

Wrong
  validate_plan_offsets(req_to_token=torch.empty(1, 1, dtype=torch.int32, device=device),
    req_to_token_stride0=7, ...)

Right
  validate_plan_offsets(req_to_token=torch.empty(1, 1, dtype=torch.int32, device=device), ...)
""",
    "plan_rotation.bs_range": """\
plan_rotation.bs_range
  kv-canary: rotation kernel bs must be at most {PLAN_BS_BLOCK_SIZE}, got {bs}

Checked by launch_plan_rotation_kernel, about req_pool_indices.
Rule: bs is at most PLAN_BS_BLOCK_SIZE (4096).

The whole batch is scanned in one block of PLAN_BS_BLOCK_SIZE requests.

Likely causes
  - More running requests than the block holds.

What to do
  - Plan in chunks of at most PLAN_BS_BLOCK_SIZE requests.

Wrong
  launch_plan_rotation_kernel(req_pool_indices=torch.empty(4097, dtype=torch.int64, device=device),
    prefix_lens=torch.empty(4097, dtype=torch.int64, device=device), ...)

Right
  launch_plan_rotation_kernel(req_pool_indices=torch.empty(4096, dtype=torch.int64, device=device),
    prefix_lens=torch.empty(4096, dtype=torch.int64, device=device), ...)

See also plan_offsets.bs_range
""",
    "plan_rotation.verify_capacity_non_negative": """\
plan_rotation.verify_capacity_non_negative
  kv-canary: verify_capacity must be non-negative, got {verify_capacity}

Checked by launch_plan_rotation_kernel, about verify_capacity.
Rule: verify_capacity is at least 0.

A capacity counts entries.

Likely causes
  - A subtraction of reserved entries that went below zero.

What to do
  - Pass the length of the plan's verify arrays.

Wrong
  launch_plan_rotation_kernel(verify_capacity=-1, ...)

Right
  launch_plan_rotation_kernel(verify_capacity=0, ...)
""",
    "verify.at_most_4_real_kv_sources": """\
verify.at_most_4_real_kv_sources
  kv-canary: at most {MAX_REAL_KV_SOURCES} RealKvSource entries supported, got
    {count(context.real_kv_sources)}

Checked by launch_canary_verify_kernel, about context.real_kv_sources.
Rule: the length of context.real_kv_sources is at most MAX_REAL_KV_SOURCES (4).

A kernel takes MAX_REAL_KV_SOURCES addresses; the hash covers no more sources.

Likely causes
  - One source a layer, where a source is meant to cover many.

What to do
  - Pass the caches of a few layers, or a view that lays several caches side by side.
""",
    "verify.source_rows_packed": """\
verify.source_rows_packed
  kv-canary: real_kv_sources[i].tensor rows must be packed (stride(-1) == 1), got strides
    {strides(context.real_kv_sources[i].tensor)}

Checked by launch_canary_verify_kernel, about context.real_kv_sources[i].tensor.
Rule: context.real_kv_sources[i].tensor.stride(-1) equals 1.

The bytes of a row follow each other in memory.

Likely causes
  - A transposed cache, or a slice with a step.

What to do
  - Pass a view whose last dimension is contiguous.
""",
    "verify.source_2_d": """\
verify.source_2_d
  kv-canary: real_kv_sources[i].tensor (viewed as uint8) must be 2-D, got
    {rank(context.real_kv_sources[i].tensor)}-D

Checked by launch_canary_verify_kernel, about context.real_kv_sources[i].tensor.
Rule: context.real_kv_sources[i].tensor.dim() equals 2.

A source has rows, one a page, and bytes in them.

Likely causes
  - A cache with heads and head size as dimensions of their own.

What to do
  - Pass a view of one row a page: cache.view(num_pages, -1).
""",
    "verify.source_aligned": """\
verify.source_aligned
  kv-canary: real_kv_sources[i].tensor must start on a 16-byte boundary

Checked by launch_canary_verify_kernel, about context.real_kv_sources[i].tensor.
Rule: context.real_kv_sources[i].tensor.data_ptr() % 16 equals 0.

Kernels read the cache in pieces of 16 bytes.

Likely causes
  - A view that begins in the middle of a row, at an element that is no multiple of 16 bytes.

What to do
  - Let the view begin at a multiple of 16 bytes.
""",
    "verify.source_row_holds_page": """\
verify.source_row_holds_page
  kv-canary: real_kv_sources[i].tensor rows hold {source_row_bytes} bytes, need page_size *
    num_bytes_per_token = {source_page_size * source_num_bytes_per_token}

Checked by launch_canary_verify_kernel, about context.real_kv_sources[i].tensor.
Rule: source_row_bytes is at least source_page_size * source_num_bytes_per_token.

All slots of a page lie in its row.

Likely causes
  - A page size of another pool.
  - Bytes of K and V together, for a cache that holds one of them.

What to do
  - Pass the page size and bytes per token that the cache was made with.
""",
    "verify.source_covers_slots": """\
verify.source_covers_slots
  kv-canary: real_kv_sources[i].tensor covers {source_pages * source_page_size} slots, needs
    {num_slots}

Checked by launch_canary_verify_kernel, about context.real_kv_sources[i].tensor.
Rule: source_pages * source_page_size is at least num_slots.

Each slot that has a canary has bytes in every source.

Likely causes
  - A source of the sliding-window pool beside canaries of the full pool, or the reverse.

What to do
  - Pass the cache that the canary buffer belongs to.
""",
    "verify.canary_slot_stride_aligned": """\
verify.canary_slot_stride_aligned
  kv-canary: canary_buf slot stride and start must be multiples of 16 bytes, got {slot_stride_bytes}

Checked by launch_canary_verify_kernel, about context.canary_buf.
Rule: slot_stride_bytes % 16 equals 0.

Canaries are read in pieces of 16 bytes.

Likely causes
  - Room for other bytes beside each canary that is no multiple of 16.

What to do
  - Make the buffer with 32 bytes a slot, or a larger multiple of 16.

Wrong
  launch_canary_verify_kernel(context=VerifyOrWriteContext(canary_buf=torch.empty(1, 36,
    dtype=torch.uint8, device=device), ...), ...)

Right
  launch_canary_verify_kernel(context=VerifyOrWriteContext(canary_buf=torch.empty(1, 48,
    dtype=torch.uint8, device=device), ...), ...)
""",
    "verify.canary_start_aligned": """\
verify.canary_start_aligned
  kv-canary: canary_buf slot stride and start must be multiples of 16 bytes, got
    {address(context.canary_buf) % 16}

Checked by launch_canary_verify_kernel, about context.canary_buf.
Rule: context.canary_buf.data_ptr() % 16 equals 0.

Canaries are read in pieces of 16 bytes.

Likely causes
  - A view that begins inside another buffer.

What to do
  - Let the buffer begin where an allocation begins, or a multiple of 16 bytes after.
""",
    "verify.canary_slot_holds_fields": """\
verify.canary_slot_holds_fields
  kv-canary: canary_buf slot stride must hold at least {CANARY_FIELDS_PER_SLOT} int64 fields, got
    {slot_stride_bytes // 8}

Checked by launch_canary_verify_kernel, about context.canary_buf.
Rule: slot_stride_bytes // 8 is at least CANARY_FIELDS_PER_SLOT (4).

A canary is token, position, chain hash and real-KV hash.

Likely causes
  - A buffer of one hash a slot.

What to do
  - Make the buffer with 32 bytes a slot, or more.

Wrong
  launch_canary_verify_kernel(context=VerifyOrWriteContext(canary_buf=torch.empty(1, 16,
    dtype=torch.uint8, device=device), ...), ...)

Right
  launch_canary_verify_kernel(context=VerifyOrWriteContext(canary_buf=torch.empty(1, 32,
    dtype=torch.uint8, device=device), ...), ...)
""",
    "write.expected_inputs_required": """\
write.expected_inputs_required
  kv-canary: expected input tensors are required when enable_write_input_assert=True

Checked by launch_canary_write_kernel, about expected_input_tokens.
Rule: if enable_write_input_assert is true, then expected_input_tokens is given, and
  expected_input_positions is given.

There is nothing to compare the inputs with.

Likely causes
  - The assertion switched on where only the engine's own inputs are at hand.

What to do
  - Pass expected_input_tokens and expected_input_positions.
  - Pass enable_write_input_assert=False.

Wrong
  launch_canary_write_kernel(expected_input_tokens=None, expected_input_positions=None,
    enable_write_input_assert=True, ...)

Right
  launch_canary_write_kernel(expected_input_tokens=torch.empty(1, dtype=torch.int64, device=device),
    expected_input_positions=torch.empty(1, dtype=torch.int64, device=device),
    enable_write_input_assert=True, ...)
""",
    "write.expected_inputs_absent": """\
write.expected_inputs_absent
  kv-canary: expected input tensors must be None when enable_write_input_assert=False

Checked by launch_canary_write_kernel, about expected_input_tokens.
Rule: if enable_write_input_assert is false, then expected_input_tokens is not given, and
  expected_input_positions is not given.

What is passed would not be compared, and somebody believes that it is.

Likely causes
  - The assertion switched off, and its tensors still passed.

What to do
  - Pass enable_write_input_assert=True.
  - Pass None for both.

Wrong
  launch_canary_write_kernel(expected_input_tokens=torch.empty(1, dtype=torch.int64, device=device),
    expected_input_positions=torch.empty(1, dtype=torch.int64, device=device),
    enable_write_input_assert=False, ...)

Right
  launch_canary_write_kernel(expected_input_tokens=torch.empty(1, dtype=torch.int64, device=device),
    expected_input_positions=torch.empty(1, dtype=torch.int64, device=device),
    enable_write_input_assert=True, ...)
""",
    "backend.cold_kernel": """\
backend.cold_kernel
  kv-canary: the ... kernel is not loaded on ... and this stream is capturing a graph; call warm_up
    before the capture

Checked by every launcher, about KV_CANARY_BACKEND.
Rule: the kernel was warmed up or launched on this device before the capture began.

Loading a kernel synchronises with the device, which a capture does not allow.

Likely causes
  - The first launch of a kernel, or of a variant of it, inside a CUDA graph capture.

What to do
  - Call warm_up(device) once before the capture.
""",
    "backend.device": """\
backend.device
  kv-canary: no backend runs on ... tensors; put them on the CPU or on a GPU that Triton supports

Checked by every launcher, about KV_CANARY_BACKEND.
Rule: the tensors are on the CPU, on CUDA or ROCm, or on XPU.

Triton runs on GPUs and the torch reference on the CPU; there is nothing for others.

Likely causes
  - Tensors made on the meta device, which have no memory.

What to do
  - Put the tensors on the CPU or on a GPU that Triton supports.
""",
    "backend.name": """\
backend.name
  kv-canary: KV_CANARY_BACKEND must be one of torch, triton, got ...

Checked by every launcher, about KV_CANARY_BACKEND.
Rule: KV_CANARY_BACKEND is torch or triton, or not set.

The variable overrides the choice that follows from the tensors' device.

Likely causes
  - A device name, or a misspelt backend, in the environment.

What to do
  - Unset KV_CANARY_BACKEND, or set it to torch or triton.
""",
    "backend.reference": """\
backend.reference
  kv-canary: the torch backend needs the reference ...

Checked by every launcher, about KV_CANARY_BACKEND.
Rule: the module that the spec names can be imported and has the function.

The torch backend runs the reference that a kernel's spec names.

Likely causes
  - The generated package installed without the package that holds its references.

What to do
  - Install the package that holds the reference, or use the triton backend.
""",
    "backend.variant": """\
backend.variant
  kv-canary: no variant of the ... kernel has ...

Checked by every launcher, about KV_CANARY_BACKEND.
Rule: the values asked for are among those that the kernel is compiled with.

A kernel is compiled for a closed set of values, which its page lists.

Likely causes
  - A block size or format of another version of the kernels.

What to do
  - Leave `only` out, or name values of the kernel's page.
""",
    "backend.triton_missing": """\
backend.triton_missing
  kv-canary: the triton backend needs Triton, which cannot be imported: ...

Checked by every launcher, about KV_CANARY_BACKEND.
Rule: Triton can be imported.

Triton comes with torch wherever there is a GPU, and is an extra elsewhere.

Likely causes
  - A CPU build of torch, and the triton backend asked for.

What to do
  - Install triton, or unset KV_CANARY_BACKEND.
""",
    "backend.triton_needs_gpu": """\
backend.triton_needs_gpu
  kv-canary: the triton backend needs GPU tensors, got cpu; ...

Checked by every launcher, about KV_CANARY_BACKEND.
Rule: the tensors are on a GPU, or TRITON_INTERPRET is 1.

Triton compiles for GPUs; its interpreter runs kernels on CPU tensors, slowly.

Likely causes
  - KV_CANARY_BACKEND=triton on a machine without a GPU.

What to do
  - Move the tensors to a GPU, unset KV_CANARY_BACKEND, or set TRITON_INTERPRET=1 before the first
    launch.
""",
}

KINDS: dict[str, str] = {
    "required": """\
{rule}
  kv-canary: {name} is required

Checked by {owner}, about {argument}.

Nothing can be done without this argument.

Likely causes
  - None passed for something that is not optional.

What to do
  - Pass {expected}.
""",
    "type": """\
{rule}
  kv-canary: {name} must be {expected}, got ...

Checked by {owner}, about {argument}.

The argument is an object of another kind.

Likely causes
  - A list or a numpy array where a tensor belongs.
  - A 0-D tensor or a bool where a plain int belongs.

What to do
  - Pass {expected}.
""",
    "items": """\
{rule}
  kv-canary: {name}[...] must be {expected}, got ...

Checked by {owner}, about {argument}.

Each item of the list is of one kind.

Likely causes
  - A bare tensor where the struct that describes it belongs.

What to do
  - Make {expected} around each item.
""",
    "size_type": """\
{rule}
  kv-canary: {name} must be int, got ...

Checked by {owner}, about {argument}.

A size that is given to the validator is a plain int.

Likely causes
  - A tensor or a float passed as a size.

What to do
  - Leave {name} out: it is read from the arguments.
""",
    "int64": """\
{rule}
  kv-canary: {name} must fit in int64, got ...

Checked by {owner}, about {argument}.

Kernels compute with 64-bit integers.

Likely causes
  - A sentinel such as 2**64 - 1 passed as an ordinary number.

What to do
  - Pass {expected}.
""",
    "non_negative": """\
{rule}
  kv-canary: {name} must be non-negative, got ...

Checked by {owner}, about {argument}.

A size counts elements; 0 leaves its tensors out.

Likely causes
  - A subtraction that went below zero.

What to do
  - Pass 0 for none, or how many there are to be.
""",
    "contiguous": """\
{rule}
  kv-canary: {name} must be contiguous

Checked by {owner}, about {argument}.

The kernel walks the memory of this tensor without strides.

Likely causes
  - A slice with a step, a transpose, or a column of a larger table.

What to do
  - Keep the tensor contiguous where it is made; .contiguous() copies it in every step.
""",
    "dtype": """\
{rule}
  kv-canary: {name} must have dtype {expected}, got ...

Checked by {owner}, about {argument}.

The kernel is compiled for this element type and would misread any other.

Likely causes
  - A tensor made without dtype=.
  - An index tensor kept in the other integer width.

What to do
  - Make the tensor with dtype={expected}.
""",
    "rank": """\
{rule}
  kv-canary: {name} must be {expected}, got shape ...

Checked by {owner}, about {argument}.

The number of dimensions is part of what the argument is.

Likely causes
  - An unsqueeze or a squeeze too many.
  - A scalar tensor for a batch of one.

What to do
  - Pass a tensor that is {expected}.
""",
    "length": """\
{rule}
  kv-canary: {name} length must be {expected}, got ...

Checked by {owner}, about {argument}.

The same size stands in several arguments, and the first to have it fixes it.

Likely causes
  - Tensors of two different batches in one call.
  - A buffer allocated for another capacity.

What to do
  - Pass a tensor of {expected} entries; the error says which argument fixed the size.
""",
    "device": """\
{rule}
  kv-canary: {name} must be on {expected}, got ...

Checked by {owner}, about {argument}.

One launch runs on one device, and reads and writes only there.

Likely causes
  - A tensor made without device=.
  - Ranks of a tensor-parallel group mixed up.

What to do
  - Make the tensor on {expected}.
""",
}

FIXES: dict[str, str] = {
    "required": "Pass {expected}.",
    "type": "Pass {expected}.",
    "items": "Make {expected} around each item.",
    "size_type": "Leave {name} out: it is read from the arguments.",
    "int64": "Pass {expected}.",
    "non_negative": "Pass 0 for none, or how many there are to be.",
    "contiguous": (
        "Keep the tensor contiguous where it is made; .contiguous() copies it in every step."
    ),
    "dtype": "Make the tensor with dtype={expected}.",
    "rank": "Pass a tensor that is {expected}.",
    "length": "Pass a tensor of {expected} entries; the error says which argument fixed the size.",
    "device": "Make the tensor on {expected}.",
    "VerifyPlan.verify_capacity_positive": (
        "Pass the largest number of cached tokens that one step may read."
    ),
    "WritePlan.write_req_capacity_positive": (
        "Pass the largest batch that one step may hold, padding included."
    ),
    "RealKvSource.page_size_positive": (
        "Pass the number of slots in a row; 1 for a cache that is not paged."
    ),
    "RealKvSource.num_bytes_per_token_multiple_of_16": (
        "Pass heads * head_dim * itemsize, or the bytes of a view that is a multiple of 16 wide."
    ),
    "RealKvSource.read_bytes_within_token": (
        "Pass num_bytes_per_token, or a smaller multiple of 16."
    ),
    "RealKvSource.tensor_at_least_2_d": "Pass a view of one row a page: cache.view(num_pages, -1).",
    "RealKvSource.row_stride_multiple_of_16": (
        "Make the cache with rows that are a multiple of 16 bytes; the rest of a row is a hole."
    ),
    "plan.lut_required_with_window": "Pass the table from full slots to window slots.",
    "plan.bs_within_block": "Plan in chunks of at most PLAN_BS_BLOCK_SIZE requests.",
    "plan.verify_capacity_matches_plan": (
        "Pass the capacity that VerifyPlan.allocate was called with."
    ),
    "plan.total_needs_rotation": (
        "Pass verify_rotation as well, an int64 tensor of one entry that begins at 0."
    ),
    "plan_entries.expected_tokens_need_valid_lens": (
        "Pass how many tokens of each request are known, one int64 a request of the batch."
    ),
    "plan_offsets.bs_range": "Plan in chunks of at most PLAN_BS_BLOCK_SIZE requests.",
    "plan_offsets.write_offsets_len_positive": (
        "Allocate write_req_capacity + 1 entries, or use WritePlan.allocate."
    ),
    "plan_offsets.write_req_capacity_non_negative": (
        "Leave write_req_capacity out; it is the length of out_write_seed_slot_indices."
    ),
    "plan_offsets.verify_capacity_non_negative": "Pass the length of the plan's verify arrays.",
    "plan_offsets.req_to_token_stride0_positive": (
        "Pass the engine's own req_to_token, not a view that repeats a row."
    ),
    "plan_offsets.lut_len_non_negative": (
        "Leave lut_len out; it is the length of full_to_swa_index_mapping."
    ),
    "plan_offsets.has_swa_lut_is_bool": "Leave has_swa_lut out, or pass True or False.",
    "plan_offsets.lut_len_positive_with_lut": (
        "Pass the table of the window pool, one entry for each slot of the full pool."
    ),
    "plan_offsets.lut_len_zero_without_lut": (
        "Pass full_to_swa_index_mapping as well, or leave lut_len out."
    ),
    "plan_offsets.write_offsets_len_is_capacity_plus_one": (
        "Allocate out_write_offsets one entry longer than out_write_seed_slot_indices, or use "
        "WritePlan.allocate."
    ),
    "plan_offsets.bs_within_write_req_capacity": (
        "Allocate the write plan for the largest batch, padding included."
    ),
    "plan_offsets.req_to_token_stride0_matches": (
        "Leave req_to_token_stride0 out; it is read from req_to_token."
    ),
    "plan_rotation.bs_range": "Plan in chunks of at most PLAN_BS_BLOCK_SIZE requests.",
    "plan_rotation.verify_capacity_non_negative": "Pass the length of the plan's verify arrays.",
    "verify.at_most_4_real_kv_sources": (
        "Pass the caches of a few layers, or a view that lays several caches side by side."
    ),
    "verify.source_rows_packed": "Pass a view whose last dimension is contiguous.",
    "verify.source_2_d": "Pass a view of one row a page: cache.view(num_pages, -1).",
    "verify.source_aligned": "Let the view begin at a multiple of 16 bytes.",
    "verify.source_row_holds_page": (
        "Pass the page size and bytes per token that the cache was made with."
    ),
    "verify.source_covers_slots": "Pass the cache that the canary buffer belongs to.",
    "verify.canary_slot_stride_aligned": (
        "Make the buffer with 32 bytes a slot, or a larger multiple of 16."
    ),
    "verify.canary_start_aligned": (
        "Let the buffer begin where an allocation begins, or a multiple of 16 bytes after."
    ),
    "verify.canary_slot_holds_fields": "Make the buffer with 32 bytes a slot, or more.",
    "write.expected_inputs_required": "Pass expected_input_tokens and expected_input_positions.",
    "write.expected_inputs_absent": "Pass enable_write_input_assert=True.",
    "backend.cold_kernel": "Call warm_up(device) once before the capture.",
    "backend.device": "Put the tensors on the CPU or on a GPU that Triton supports.",
    "backend.name": "Unset KV_CANARY_BACKEND, or set it to torch or triton.",
    "backend.reference": "Install the package that holds the reference, or use the triton backend.",
    "backend.variant": "Leave `only` out, or name values of the kernel's page.",
    "backend.triton_missing": "Install triton, or unset KV_CANARY_BACKEND.",
    "backend.triton_needs_gpu": (
        "Move the tensors to a GPU, unset KV_CANARY_BACKEND, or set TRITON_INTERPRET=1 before the "
        "first launch."
    ),
}

IMPLIED: dict[str, Implied] = {
    "VerifyPlan.verify_capacity.required": Implied(
        "required",
        "VerifyPlan.allocate",
        "verify_capacity",
        "verify_capacity",
        "int",
    ),
    "VerifyPlan.verify_capacity.type": Implied(
        "type",
        "VerifyPlan.allocate",
        "verify_capacity",
        "verify_capacity",
        "int",
    ),
    "VerifyPlan.verify_capacity.int64": Implied(
        "int64",
        "VerifyPlan.allocate",
        "verify_capacity",
        "verify_capacity",
        "an int in [-2**63, 2**63 - 1]",
    ),
    "WritePlan.write_req_capacity.required": Implied(
        "required",
        "WritePlan.allocate",
        "write_req_capacity",
        "write_req_capacity",
        "int",
    ),
    "WritePlan.write_req_capacity.type": Implied(
        "type",
        "WritePlan.allocate",
        "write_req_capacity",
        "write_req_capacity",
        "int",
    ),
    "WritePlan.write_req_capacity.int64": Implied(
        "int64",
        "WritePlan.allocate",
        "write_req_capacity",
        "write_req_capacity",
        "an int in [-2**63, 2**63 - 1]",
    ),
    "RealKvSource.tensor.required": Implied(
        "required",
        "RealKvSource",
        "tensor",
        "RealKvSource.tensor",
        "a torch.Tensor",
    ),
    "RealKvSource.tensor.type": Implied(
        "type",
        "RealKvSource",
        "tensor",
        "RealKvSource.tensor",
        "a torch.Tensor",
    ),
    "RealKvSource.page_size.required": Implied(
        "required",
        "RealKvSource",
        "page_size",
        "RealKvSource.page_size",
        "int",
    ),
    "RealKvSource.page_size.type": Implied(
        "type",
        "RealKvSource",
        "page_size",
        "RealKvSource.page_size",
        "int",
    ),
    "RealKvSource.page_size.int64": Implied(
        "int64",
        "RealKvSource",
        "page_size",
        "RealKvSource.page_size",
        "an int in [-2**63, 2**63 - 1]",
    ),
    "RealKvSource.num_bytes_per_token.required": Implied(
        "required",
        "RealKvSource",
        "num_bytes_per_token",
        "RealKvSource.num_bytes_per_token",
        "int",
    ),
    "RealKvSource.num_bytes_per_token.type": Implied(
        "type",
        "RealKvSource",
        "num_bytes_per_token",
        "RealKvSource.num_bytes_per_token",
        "int",
    ),
    "RealKvSource.num_bytes_per_token.int64": Implied(
        "int64",
        "RealKvSource",
        "num_bytes_per_token",
        "RealKvSource.num_bytes_per_token",
        "an int in [-2**63, 2**63 - 1]",
    ),
    "RealKvSource.read_bytes.required": Implied(
        "required",
        "RealKvSource",
        "read_bytes",
        "RealKvSource.read_bytes",
        "int",
    ),
    "RealKvSource.read_bytes.type": Implied(
        "type",
        "RealKvSource",
        "read_bytes",
        "RealKvSource.read_bytes",
        "int",
    ),
    "RealKvSource.read_bytes.int64": Implied(
        "int64",
        "RealKvSource",
        "read_bytes",
        "RealKvSource.read_bytes",
        "an int in [-2**63, 2**63 - 1]",
    ),
    "launch_count.kernel_run_counter.required": Implied(
        "required",
        "launch_launch_count_kernel",
        "kernel_run_counter",
        "kernel_run_counter",
        "a torch.Tensor",
    ),
    "launch_count.kernel_run_counter.type": Implied(
        "type",
        "launch_launch_count_kernel",
        "kernel_run_counter",
        "kernel_run_counter",
        "a torch.Tensor",
    ),
    "launch_count.kernel_run_counter.contiguous": Implied(
        "contiguous",
        "launch_launch_count_kernel",
        "kernel_run_counter",
        "kernel_run_counter",
        "a contiguous tensor",
    ),
    "launch_count.kernel_run_counter.dtype": Implied(
        "dtype",
        "launch_launch_count_kernel",
        "kernel_run_counter",
        "kernel_run_counter",
        "torch.int64",
    ),
    "launch_count.kernel_run_counter.rank": Implied(
        "rank",
        "launch_launch_count_kernel",
        "kernel_run_counter",
        "kernel_run_counter",
        "1-D",
    ),
    "launch_count.kernel_run_counter.length": Implied(
        "length",
        "launch_launch_count_kernel",
        "kernel_run_counter",
        "kernel_run_counter",
        "1",
    ),
    "plan.verify_plan_out.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "verify_plan_out",
        "verify_plan_out",
        "a VerifyPlan",
    ),
    "plan.verify_plan_out.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "verify_plan_out",
        "verify_plan_out",
        "a VerifyPlan",
    ),
    "plan.verify_plan_out.verify_slot_indices.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_slot_indices",
        "out_verify_slot_indices",
        "a torch.Tensor",
    ),
    "plan.verify_plan_out.verify_slot_indices.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_slot_indices",
        "out_verify_slot_indices",
        "a torch.Tensor",
    ),
    "plan.verify_plan_out.verify_expected_tokens.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_expected_tokens",
        "out_verify_expected_tokens",
        "a torch.Tensor",
    ),
    "plan.verify_plan_out.verify_expected_tokens.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_expected_tokens",
        "out_verify_expected_tokens",
        "a torch.Tensor",
    ),
    "plan.verify_plan_out.verify_expected_positions.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_expected_positions",
        "out_verify_expected_positions",
        "a torch.Tensor",
    ),
    "plan.verify_plan_out.verify_expected_positions.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_expected_positions",
        "out_verify_expected_positions",
        "a torch.Tensor",
    ),
    "plan.verify_plan_out.verify_prev_slot_indices.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_prev_slot_indices",
        "out_verify_prev_slot_indices",
        "a torch.Tensor",
    ),
    "plan.verify_plan_out.verify_prev_slot_indices.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_prev_slot_indices",
        "out_verify_prev_slot_indices",
        "a torch.Tensor",
    ),
    "plan.verify_plan_out.verify_num_valid.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_num_valid",
        "out_verify_num_valid",
        "a torch.Tensor",
    ),
    "plan.verify_plan_out.verify_num_valid.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_num_valid",
        "out_verify_num_valid",
        "a torch.Tensor",
    ),
    "plan.verify_plan_out.enable.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "verify_plan_out.enable",
        "out_verify_enable",
        "a torch.Tensor",
    ),
    "plan.verify_plan_out.enable.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "verify_plan_out.enable",
        "out_verify_enable",
        "a torch.Tensor",
    ),
    "plan.write_plan_out.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "write_plan_out",
        "write_plan_out",
        "a WritePlan",
    ),
    "plan.write_plan_out.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "write_plan_out",
        "write_plan_out",
        "a WritePlan",
    ),
    "plan.write_plan_out.write_offsets.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "write_plan_out.write_offsets",
        "out_write_offsets",
        "a torch.Tensor",
    ),
    "plan.write_plan_out.write_offsets.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "write_plan_out.write_offsets",
        "out_write_offsets",
        "a torch.Tensor",
    ),
    "plan.write_plan_out.write_seed_slot_indices.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "write_plan_out.write_seed_slot_indices",
        "out_write_seed_slot_indices",
        "a torch.Tensor",
    ),
    "plan.write_plan_out.write_seed_slot_indices.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "write_plan_out.write_seed_slot_indices",
        "out_write_seed_slot_indices",
        "a torch.Tensor",
    ),
    "plan.write_plan_out.write_num_valid_reqs.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "write_plan_out.write_num_valid_reqs",
        "out_write_num_valid_reqs",
        "a torch.Tensor",
    ),
    "plan.write_plan_out.write_num_valid_reqs.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "write_plan_out.write_num_valid_reqs",
        "out_write_num_valid_reqs",
        "a torch.Tensor",
    ),
    "plan.req_pool_indices.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "req_pool_indices",
        "req_pool_indices",
        "a torch.Tensor",
    ),
    "plan.req_pool_indices.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "req_pool_indices",
        "req_pool_indices",
        "a torch.Tensor",
    ),
    "plan.prefix_lens.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "prefix_lens",
        "prefix_lens",
        "a torch.Tensor",
    ),
    "plan.prefix_lens.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "prefix_lens",
        "prefix_lens",
        "a torch.Tensor",
    ),
    "plan.extend_seq_lens.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "extend_seq_lens",
        "extend_seq_lens",
        "a torch.Tensor",
    ),
    "plan.extend_seq_lens.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "extend_seq_lens",
        "extend_seq_lens",
        "a torch.Tensor",
    ),
    "plan.req_to_token.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "req_to_token",
        "req_to_token",
        "a torch.Tensor",
    ),
    "plan.req_to_token.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "req_to_token",
        "req_to_token",
        "a torch.Tensor",
    ),
    "plan.swa_window_size.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "swa_window_size",
        "swa_window_size",
        "int",
    ),
    "plan.swa_window_size.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "swa_window_size",
        "swa_window_size",
        "int",
    ),
    "plan.full_to_swa_index_mapping.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "full_to_swa_index_mapping",
        "lut_tensor",
        "a torch.Tensor",
    ),
    "plan.verify_capacity.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "verify_capacity",
        "verify_capacity",
        "int",
    ),
    "plan.verify_capacity.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "verify_capacity",
        "verify_capacity",
        "int",
    ),
    "plan.req_to_verify_expected_tokens.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens",
        "a torch.Tensor",
    ),
    "plan.req_to_verify_expected_tokens_valid_lens.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "req_to_verify_expected_tokens_valid_lens",
        "req_to_verify_expected_tokens_valid_lens",
        "a torch.Tensor",
    ),
    "plan.kv_token_id_vs_position_offset.required": Implied(
        "required",
        "launch_canary_plan_kernels",
        "kv_token_id_vs_position_offset",
        "kv_token_id_vs_position_offset",
        "int",
    ),
    "plan.kv_token_id_vs_position_offset.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "kv_token_id_vs_position_offset",
        "kv_token_id_vs_position_offset",
        "int",
    ),
    "plan.verify_rotation.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "verify_rotation",
        "verify_rotation",
        "a torch.Tensor",
    ),
    "plan.verify_total.type": Implied(
        "type",
        "launch_canary_plan_kernels",
        "verify_total",
        "verify_total",
        "a torch.Tensor",
    ),
    "plan.bs.type": Implied("size_type", "launch_canary_plan_kernels", "bs", "bs", "int"),
    "plan.max_reqs.type": Implied(
        "size_type",
        "launch_canary_plan_kernels",
        "max_reqs",
        "max_reqs",
        "int",
    ),
    "plan.max_seq_len.type": Implied(
        "size_type",
        "launch_canary_plan_kernels",
        "max_seq_len",
        "max_seq_len",
        "int",
    ),
    "plan.lut_len.type": Implied(
        "size_type",
        "launch_canary_plan_kernels",
        "lut_len",
        "lut_len",
        "int",
    ),
    "plan.token_rows.type": Implied(
        "size_type",
        "launch_canary_plan_kernels",
        "token_rows",
        "token_rows",
        "int",
    ),
    "plan.token_columns.type": Implied(
        "size_type",
        "launch_canary_plan_kernels",
        "token_columns",
        "token_columns",
        "int",
    ),
    "plan.write_offsets_len.type": Implied(
        "size_type",
        "launch_canary_plan_kernels",
        "write_offsets_len",
        "write_offsets_len",
        "int",
    ),
    "plan.write_req_capacity.type": Implied(
        "size_type",
        "launch_canary_plan_kernels",
        "write_req_capacity",
        "write_req_capacity",
        "int",
    ),
    "plan.req_to_token_stride0.type": Implied(
        "size_type",
        "launch_canary_plan_kernels",
        "req_to_token_stride0",
        "req_to_token_stride0",
        "int",
    ),
    "plan.swa_window_size.int64": Implied(
        "int64",
        "launch_canary_plan_kernels",
        "swa_window_size",
        "swa_window_size",
        "an int in [-2**63, 2**63 - 1]",
    ),
    "plan.verify_capacity.int64": Implied(
        "int64",
        "launch_canary_plan_kernels",
        "verify_capacity",
        "verify_capacity",
        "an int in [-2**63, 2**63 - 1]",
    ),
    "plan.kv_token_id_vs_position_offset.int64": Implied(
        "int64",
        "launch_canary_plan_kernels",
        "kv_token_id_vs_position_offset",
        "kv_token_id_vs_position_offset",
        "an int in [-2**63, 2**63 - 1]",
    ),
    "plan.req_pool_indices.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "req_pool_indices",
        "req_pool_indices",
        "a contiguous tensor",
    ),
    "plan.prefix_lens.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "prefix_lens",
        "prefix_lens",
        "a contiguous tensor",
    ),
    "plan.extend_seq_lens.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "extend_seq_lens",
        "extend_seq_lens",
        "a contiguous tensor",
    ),
    "plan.req_to_token.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "req_to_token",
        "req_to_token",
        "a contiguous tensor",
    ),
    "plan.full_to_swa_index_mapping.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "full_to_swa_index_mapping",
        "lut_tensor",
        "a contiguous tensor",
    ),
    "plan.req_to_verify_expected_tokens.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens",
        "a contiguous tensor",
    ),
    "plan.req_to_verify_expected_tokens_valid_lens.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "req_to_verify_expected_tokens_valid_lens",
        "req_to_verify_expected_tokens_valid_lens",
        "a contiguous tensor",
    ),
    "plan.verify_plan_out.verify_slot_indices.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_slot_indices",
        "out_verify_slot_indices",
        "a contiguous tensor",
    ),
    "plan.verify_plan_out.verify_expected_tokens.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_expected_tokens",
        "out_verify_expected_tokens",
        "a contiguous tensor",
    ),
    "plan.verify_plan_out.verify_expected_positions.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_expected_positions",
        "out_verify_expected_positions",
        "a contiguous tensor",
    ),
    "plan.verify_plan_out.verify_prev_slot_indices.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_prev_slot_indices",
        "out_verify_prev_slot_indices",
        "a contiguous tensor",
    ),
    "plan.verify_plan_out.verify_num_valid.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_num_valid",
        "out_verify_num_valid",
        "a contiguous tensor",
    ),
    "plan.verify_plan_out.enable.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "verify_plan_out.enable",
        "out_verify_enable",
        "a contiguous tensor",
    ),
    "plan.write_plan_out.write_offsets.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "write_plan_out.write_offsets",
        "out_write_offsets",
        "a contiguous tensor",
    ),
    "plan.write_plan_out.write_seed_slot_indices.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "write_plan_out.write_seed_slot_indices",
        "out_write_seed_slot_indices",
        "a contiguous tensor",
    ),
    "plan.write_plan_out.write_num_valid_reqs.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "write_plan_out.write_num_valid_reqs",
        "out_write_num_valid_reqs",
        "a contiguous tensor",
    ),
    "plan.verify_rotation.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "verify_rotation",
        "verify_rotation",
        "a contiguous tensor",
    ),
    "plan.verify_total.contiguous": Implied(
        "contiguous",
        "launch_canary_plan_kernels",
        "verify_total",
        "verify_total",
        "a contiguous tensor",
    ),
    "plan.req_pool_indices.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "req_pool_indices",
        "req_pool_indices",
        "torch.int64",
    ),
    "plan.prefix_lens.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "prefix_lens",
        "prefix_lens",
        "torch.int64",
    ),
    "plan.extend_seq_lens.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "extend_seq_lens",
        "extend_seq_lens",
        "torch.int64",
    ),
    "plan.req_to_token.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "req_to_token",
        "req_to_token",
        "torch.int32",
    ),
    "plan.full_to_swa_index_mapping.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "full_to_swa_index_mapping",
        "lut_tensor",
        "torch.int64",
    ),
    "plan.req_to_verify_expected_tokens.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens",
        "torch.int32",
    ),
    "plan.req_to_verify_expected_tokens_valid_lens.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "req_to_verify_expected_tokens_valid_lens",
        "req_to_verify_expected_tokens_valid_lens",
        "torch.int64",
    ),
    "plan.verify_plan_out.verify_slot_indices.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_slot_indices",
        "out_verify_slot_indices",
        "torch.int64",
    ),
    "plan.verify_plan_out.verify_expected_tokens.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_expected_tokens",
        "out_verify_expected_tokens",
        "torch.int64",
    ),
    "plan.verify_plan_out.verify_expected_positions.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_expected_positions",
        "out_verify_expected_positions",
        "torch.int64",
    ),
    "plan.verify_plan_out.verify_prev_slot_indices.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_prev_slot_indices",
        "out_verify_prev_slot_indices",
        "torch.int64",
    ),
    "plan.verify_plan_out.verify_num_valid.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_num_valid",
        "out_verify_num_valid",
        "torch.int32",
    ),
    "plan.verify_plan_out.enable.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "verify_plan_out.enable",
        "out_verify_enable",
        "torch.int32",
    ),
    "plan.write_plan_out.write_offsets.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "write_plan_out.write_offsets",
        "out_write_offsets",
        "torch.int64",
    ),
    "plan.write_plan_out.write_seed_slot_indices.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "write_plan_out.write_seed_slot_indices",
        "out_write_seed_slot_indices",
        "torch.int64",
    ),
    "plan.write_plan_out.write_num_valid_reqs.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "write_plan_out.write_num_valid_reqs",
        "out_write_num_valid_reqs",
        "torch.int32",
    ),
    "plan.verify_rotation.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "verify_rotation",
        "verify_rotation",
        "torch.int64",
    ),
    "plan.verify_total.dtype": Implied(
        "dtype",
        "launch_canary_plan_kernels",
        "verify_total",
        "verify_total",
        "torch.int64",
    ),
    "plan.req_pool_indices.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "req_pool_indices",
        "req_pool_indices",
        "1-D",
    ),
    "plan.req_pool_indices.length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "req_pool_indices",
        "req_pool_indices",
        "bs",
    ),
    "plan.prefix_lens.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "prefix_lens",
        "prefix_lens",
        "1-D",
    ),
    "plan.prefix_lens.length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "prefix_lens",
        "prefix_lens",
        "bs",
    ),
    "plan.extend_seq_lens.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "extend_seq_lens",
        "extend_seq_lens",
        "1-D",
    ),
    "plan.extend_seq_lens.length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "extend_seq_lens",
        "extend_seq_lens",
        "bs",
    ),
    "plan.req_to_token.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "req_to_token",
        "req_to_token",
        "2-D",
    ),
    "plan.req_to_token.row_length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "req_to_token",
        "req_to_token",
        "max_reqs",
    ),
    "plan.req_to_token.position_length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "req_to_token",
        "req_to_token",
        "max_seq_len",
    ),
    "plan.full_to_swa_index_mapping.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "full_to_swa_index_mapping",
        "lut_tensor",
        "1-D",
    ),
    "plan.full_to_swa_index_mapping.length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "full_to_swa_index_mapping",
        "lut_tensor",
        "lut_len",
    ),
    "plan.req_to_verify_expected_tokens.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens",
        "2-D",
    ),
    "plan.req_to_verify_expected_tokens.row_length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens",
        "token_rows",
    ),
    "plan.req_to_verify_expected_tokens.column_length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens",
        "token_columns",
    ),
    "plan.req_to_verify_expected_tokens_valid_lens.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "req_to_verify_expected_tokens_valid_lens",
        "req_to_verify_expected_tokens_valid_lens",
        "1-D",
    ),
    "plan.req_to_verify_expected_tokens_valid_lens.length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "req_to_verify_expected_tokens_valid_lens",
        "req_to_verify_expected_tokens_valid_lens",
        "bs",
    ),
    "plan.verify_plan_out.verify_slot_indices.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_slot_indices",
        "out_verify_slot_indices",
        "1-D",
    ),
    "plan.verify_plan_out.verify_expected_tokens.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_expected_tokens",
        "out_verify_expected_tokens",
        "1-D",
    ),
    "plan.verify_plan_out.verify_expected_tokens.length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_expected_tokens",
        "out_verify_expected_tokens",
        "verify_capacity",
    ),
    "plan.verify_plan_out.verify_expected_positions.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_expected_positions",
        "out_verify_expected_positions",
        "1-D",
    ),
    "plan.verify_plan_out.verify_expected_positions.length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_expected_positions",
        "out_verify_expected_positions",
        "verify_capacity",
    ),
    "plan.verify_plan_out.verify_prev_slot_indices.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_prev_slot_indices",
        "out_verify_prev_slot_indices",
        "1-D",
    ),
    "plan.verify_plan_out.verify_prev_slot_indices.length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_prev_slot_indices",
        "out_verify_prev_slot_indices",
        "verify_capacity",
    ),
    "plan.verify_plan_out.verify_num_valid.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_num_valid",
        "out_verify_num_valid",
        "1-D",
    ),
    "plan.verify_plan_out.verify_num_valid.length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_num_valid",
        "out_verify_num_valid",
        "1",
    ),
    "plan.verify_plan_out.enable.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "verify_plan_out.enable",
        "out_verify_enable",
        "1-D",
    ),
    "plan.verify_plan_out.enable.length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "verify_plan_out.enable",
        "out_verify_enable",
        "1",
    ),
    "plan.write_plan_out.write_offsets.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "write_plan_out.write_offsets",
        "out_write_offsets",
        "1-D",
    ),
    "plan.write_plan_out.write_offsets.length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "write_plan_out.write_offsets",
        "out_write_offsets",
        "write_offsets_len",
    ),
    "plan.write_plan_out.write_seed_slot_indices.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "write_plan_out.write_seed_slot_indices",
        "out_write_seed_slot_indices",
        "1-D",
    ),
    "plan.write_plan_out.write_seed_slot_indices.length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "write_plan_out.write_seed_slot_indices",
        "out_write_seed_slot_indices",
        "write_req_capacity",
    ),
    "plan.write_plan_out.write_num_valid_reqs.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "write_plan_out.write_num_valid_reqs",
        "out_write_num_valid_reqs",
        "1-D",
    ),
    "plan.write_plan_out.write_num_valid_reqs.length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "write_plan_out.write_num_valid_reqs",
        "out_write_num_valid_reqs",
        "1",
    ),
    "plan.verify_rotation.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "verify_rotation",
        "verify_rotation",
        "1-D",
    ),
    "plan.verify_rotation.length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "verify_rotation",
        "verify_rotation",
        "1",
    ),
    "plan.verify_total.rank": Implied(
        "rank",
        "launch_canary_plan_kernels",
        "verify_total",
        "verify_total",
        "1-D",
    ),
    "plan.verify_total.length": Implied(
        "length",
        "launch_canary_plan_kernels",
        "verify_total",
        "verify_total",
        "1",
    ),
    "plan.req_pool_indices.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "req_pool_indices",
        "req_pool_indices",
        "out_verify_slot_indices's device",
    ),
    "plan.prefix_lens.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "prefix_lens",
        "prefix_lens",
        "out_verify_slot_indices's device",
    ),
    "plan.extend_seq_lens.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "extend_seq_lens",
        "extend_seq_lens",
        "out_verify_slot_indices's device",
    ),
    "plan.req_to_token.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "req_to_token",
        "req_to_token",
        "out_verify_slot_indices's device",
    ),
    "plan.full_to_swa_index_mapping.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "full_to_swa_index_mapping",
        "lut_tensor",
        "out_verify_slot_indices's device",
    ),
    "plan.req_to_verify_expected_tokens.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens",
        "out_verify_slot_indices's device",
    ),
    "plan.req_to_verify_expected_tokens_valid_lens.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "req_to_verify_expected_tokens_valid_lens",
        "req_to_verify_expected_tokens_valid_lens",
        "out_verify_slot_indices's device",
    ),
    "plan.verify_plan_out.verify_expected_tokens.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_expected_tokens",
        "out_verify_expected_tokens",
        "out_verify_slot_indices's device",
    ),
    "plan.verify_plan_out.verify_expected_positions.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_expected_positions",
        "out_verify_expected_positions",
        "out_verify_slot_indices's device",
    ),
    "plan.verify_plan_out.verify_prev_slot_indices.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_prev_slot_indices",
        "out_verify_prev_slot_indices",
        "out_verify_slot_indices's device",
    ),
    "plan.verify_plan_out.verify_num_valid.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "verify_plan_out.verify_num_valid",
        "out_verify_num_valid",
        "out_verify_slot_indices's device",
    ),
    "plan.verify_plan_out.enable.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "verify_plan_out.enable",
        "out_verify_enable",
        "out_verify_slot_indices's device",
    ),
    "plan.write_plan_out.write_offsets.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "write_plan_out.write_offsets",
        "out_write_offsets",
        "out_verify_slot_indices's device",
    ),
    "plan.write_plan_out.write_seed_slot_indices.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "write_plan_out.write_seed_slot_indices",
        "out_write_seed_slot_indices",
        "out_verify_slot_indices's device",
    ),
    "plan.write_plan_out.write_num_valid_reqs.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "write_plan_out.write_num_valid_reqs",
        "out_write_num_valid_reqs",
        "out_verify_slot_indices's device",
    ),
    "plan.verify_rotation.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "verify_rotation",
        "verify_rotation",
        "out_verify_slot_indices's device",
    ),
    "plan.verify_total.device": Implied(
        "device",
        "launch_canary_plan_kernels",
        "verify_total",
        "verify_total",
        "out_verify_slot_indices's device",
    ),
    "plan_entries.req_pool_indices.required": Implied(
        "required",
        "launch_plan_entries_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "a torch.Tensor",
    ),
    "plan_entries.req_pool_indices.type": Implied(
        "type",
        "launch_plan_entries_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "a torch.Tensor",
    ),
    "plan_entries.prefix_lens.required": Implied(
        "required",
        "launch_plan_entries_kernel",
        "prefix_lens",
        "prefix_lens",
        "a torch.Tensor",
    ),
    "plan_entries.prefix_lens.type": Implied(
        "type",
        "launch_plan_entries_kernel",
        "prefix_lens",
        "prefix_lens",
        "a torch.Tensor",
    ),
    "plan_entries.req_to_token.required": Implied(
        "required",
        "launch_plan_entries_kernel",
        "req_to_token",
        "req_to_token",
        "a torch.Tensor",
    ),
    "plan_entries.req_to_token.type": Implied(
        "type",
        "launch_plan_entries_kernel",
        "req_to_token",
        "req_to_token",
        "a torch.Tensor",
    ),
    "plan_entries.full_to_swa_index_mapping.type": Implied(
        "type",
        "launch_plan_entries_kernel",
        "full_to_swa_index_mapping",
        "full_to_swa_index_mapping",
        "a torch.Tensor",
    ),
    "plan_entries.verify_offsets_scratch.required": Implied(
        "required",
        "launch_plan_entries_kernel",
        "verify_offsets_scratch",
        "verify_offsets_scratch",
        "a torch.Tensor",
    ),
    "plan_entries.verify_offsets_scratch.type": Implied(
        "type",
        "launch_plan_entries_kernel",
        "verify_offsets_scratch",
        "verify_offsets_scratch",
        "a torch.Tensor",
    ),
    "plan_entries.verify_enable.required": Implied(
        "required",
        "launch_plan_entries_kernel",
        "verify_enable",
        "verify_enable",
        "a torch.Tensor",
    ),
    "plan_entries.verify_enable.type": Implied(
        "type",
        "launch_plan_entries_kernel",
        "verify_enable",
        "verify_enable",
        "a torch.Tensor",
    ),
    "plan_entries.req_to_verify_expected_tokens.type": Implied(
        "type",
        "launch_plan_entries_kernel",
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens",
        "a torch.Tensor",
    ),
    "plan_entries.req_to_verify_expected_tokens_valid_lens.type": Implied(
        "type",
        "launch_plan_entries_kernel",
        "req_to_verify_expected_tokens_valid_lens",
        "req_to_verify_expected_tokens_valid_lens",
        "a torch.Tensor",
    ),
    "plan_entries.out_verify_slot_indices.required": Implied(
        "required",
        "launch_plan_entries_kernel",
        "out_verify_slot_indices",
        "out_verify_slot_indices",
        "a torch.Tensor",
    ),
    "plan_entries.out_verify_slot_indices.type": Implied(
        "type",
        "launch_plan_entries_kernel",
        "out_verify_slot_indices",
        "out_verify_slot_indices",
        "a torch.Tensor",
    ),
    "plan_entries.out_verify_expected_tokens.required": Implied(
        "required",
        "launch_plan_entries_kernel",
        "out_verify_expected_tokens",
        "out_verify_expected_tokens",
        "a torch.Tensor",
    ),
    "plan_entries.out_verify_expected_tokens.type": Implied(
        "type",
        "launch_plan_entries_kernel",
        "out_verify_expected_tokens",
        "out_verify_expected_tokens",
        "a torch.Tensor",
    ),
    "plan_entries.out_verify_expected_positions.required": Implied(
        "required",
        "launch_plan_entries_kernel",
        "out_verify_expected_positions",
        "out_verify_expected_positions",
        "a torch.Tensor",
    ),
    "plan_entries.out_verify_expected_positions.type": Implied(
        "type",
        "launch_plan_entries_kernel",
        "out_verify_expected_positions",
        "out_verify_expected_positions",
        "a torch.Tensor",
    ),
    "plan_entries.out_verify_prev_slot_indices.required": Implied(
        "required",
        "launch_plan_entries_kernel",
        "out_verify_prev_slot_indices",
        "out_verify_prev_slot_indices",
        "a torch.Tensor",
    ),
    "plan_entries.out_verify_prev_slot_indices.type": Implied(
        "type",
        "launch_plan_entries_kernel",
        "out_verify_prev_slot_indices",
        "out_verify_prev_slot_indices",
        "a torch.Tensor",
    ),
    "plan_entries.kv_token_id_vs_position_offset.required": Implied(
        "required",
        "launch_plan_entries_kernel",
        "kv_token_id_vs_position_offset",
        "kv_token_id_vs_position_offset",
        "int",
    ),
    "plan_entries.kv_token_id_vs_position_offset.type": Implied(
        "type",
        "launch_plan_entries_kernel",
        "kv_token_id_vs_position_offset",
        "kv_token_id_vs_position_offset",
        "int",
    ),
    "plan_entries.swa_window_size.required": Implied(
        "required",
        "launch_plan_entries_kernel",
        "swa_window_size",
        "swa_window_size",
        "int",
    ),
    "plan_entries.swa_window_size.type": Implied(
        "type",
        "launch_plan_entries_kernel",
        "swa_window_size",
        "swa_window_size",
        "int",
    ),
    "plan_entries.bs.type": Implied("size_type", "launch_plan_entries_kernel", "bs", "bs", "int"),
    "plan_entries.max_reqs.type": Implied(
        "size_type",
        "launch_plan_entries_kernel",
        "max_reqs",
        "max_reqs",
        "int",
    ),
    "plan_entries.max_seq_len.type": Implied(
        "size_type",
        "launch_plan_entries_kernel",
        "max_seq_len",
        "max_seq_len",
        "int",
    ),
    "plan_entries.lut_len.type": Implied(
        "size_type",
        "launch_plan_entries_kernel",
        "lut_len",
        "lut_len",
        "int",
    ),
    "plan_entries.token_rows.type": Implied(
        "size_type",
        "launch_plan_entries_kernel",
        "token_rows",
        "token_rows",
        "int",
    ),
    "plan_entries.token_columns.type": Implied(
        "size_type",
        "launch_plan_entries_kernel",
        "token_columns",
        "token_columns",
        "int",
    ),
    "plan_entries.verify_capacity.type": Implied(
        "size_type",
        "launch_plan_entries_kernel",
        "verify_capacity",
        "verify_capacity",
        "int",
    ),
    "plan_entries.kv_token_id_vs_position_offset.int64": Implied(
        "int64",
        "launch_plan_entries_kernel",
        "kv_token_id_vs_position_offset",
        "kv_token_id_vs_position_offset",
        "an int in [-2**63, 2**63 - 1]",
    ),
    "plan_entries.swa_window_size.int64": Implied(
        "int64",
        "launch_plan_entries_kernel",
        "swa_window_size",
        "swa_window_size",
        "an int in [-2**63, 2**63 - 1]",
    ),
    "plan_entries.req_pool_indices.contiguous": Implied(
        "contiguous",
        "launch_plan_entries_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "a contiguous tensor",
    ),
    "plan_entries.prefix_lens.contiguous": Implied(
        "contiguous",
        "launch_plan_entries_kernel",
        "prefix_lens",
        "prefix_lens",
        "a contiguous tensor",
    ),
    "plan_entries.req_to_token.contiguous": Implied(
        "contiguous",
        "launch_plan_entries_kernel",
        "req_to_token",
        "req_to_token",
        "a contiguous tensor",
    ),
    "plan_entries.full_to_swa_index_mapping.contiguous": Implied(
        "contiguous",
        "launch_plan_entries_kernel",
        "full_to_swa_index_mapping",
        "full_to_swa_index_mapping",
        "a contiguous tensor",
    ),
    "plan_entries.verify_offsets_scratch.contiguous": Implied(
        "contiguous",
        "launch_plan_entries_kernel",
        "verify_offsets_scratch",
        "verify_offsets_scratch",
        "a contiguous tensor",
    ),
    "plan_entries.verify_enable.contiguous": Implied(
        "contiguous",
        "launch_plan_entries_kernel",
        "verify_enable",
        "verify_enable",
        "a contiguous tensor",
    ),
    "plan_entries.req_to_verify_expected_tokens.contiguous": Implied(
        "contiguous",
        "launch_plan_entries_kernel",
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens",
        "a contiguous tensor",
    ),
    "plan_entries.req_to_verify_expected_tokens_valid_lens.contiguous": Implied(
        "contiguous",
        "launch_plan_entries_kernel",
        "req_to_verify_expected_tokens_valid_lens",
        "req_to_verify_expected_tokens_valid_lens",
        "a contiguous tensor",
    ),
    "plan_entries.out_verify_slot_indices.contiguous": Implied(
        "contiguous",
        "launch_plan_entries_kernel",
        "out_verify_slot_indices",
        "out_verify_slot_indices",
        "a contiguous tensor",
    ),
    "plan_entries.out_verify_expected_tokens.contiguous": Implied(
        "contiguous",
        "launch_plan_entries_kernel",
        "out_verify_expected_tokens",
        "out_verify_expected_tokens",
        "a contiguous tensor",
    ),
    "plan_entries.out_verify_expected_positions.contiguous": Implied(
        "contiguous",
        "launch_plan_entries_kernel",
        "out_verify_expected_positions",
        "out_verify_expected_positions",
        "a contiguous tensor",
    ),
    "plan_entries.out_verify_prev_slot_indices.contiguous": Implied(
        "contiguous",
        "launch_plan_entries_kernel",
        "out_verify_prev_slot_indices",
        "out_verify_prev_slot_indices",
        "a contiguous tensor",
    ),
    "plan_entries.req_pool_indices.dtype": Implied(
        "dtype",
        "launch_plan_entries_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "torch.int64",
    ),
    "plan_entries.prefix_lens.dtype": Implied(
        "dtype",
        "launch_plan_entries_kernel",
        "prefix_lens",
        "prefix_lens",
        "torch.int64",
    ),
    "plan_entries.req_to_token.dtype": Implied(
        "dtype",
        "launch_plan_entries_kernel",
        "req_to_token",
        "req_to_token",
        "torch.int32",
    ),
    "plan_entries.full_to_swa_index_mapping.dtype": Implied(
        "dtype",
        "launch_plan_entries_kernel",
        "full_to_swa_index_mapping",
        "full_to_swa_index_mapping",
        "torch.int64",
    ),
    "plan_entries.verify_offsets_scratch.dtype": Implied(
        "dtype",
        "launch_plan_entries_kernel",
        "verify_offsets_scratch",
        "verify_offsets_scratch",
        "torch.int64",
    ),
    "plan_entries.verify_enable.dtype": Implied(
        "dtype",
        "launch_plan_entries_kernel",
        "verify_enable",
        "verify_enable",
        "torch.int32",
    ),
    "plan_entries.req_to_verify_expected_tokens.dtype": Implied(
        "dtype",
        "launch_plan_entries_kernel",
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens",
        "torch.int32",
    ),
    "plan_entries.req_to_verify_expected_tokens_valid_lens.dtype": Implied(
        "dtype",
        "launch_plan_entries_kernel",
        "req_to_verify_expected_tokens_valid_lens",
        "req_to_verify_expected_tokens_valid_lens",
        "torch.int64",
    ),
    "plan_entries.out_verify_slot_indices.dtype": Implied(
        "dtype",
        "launch_plan_entries_kernel",
        "out_verify_slot_indices",
        "out_verify_slot_indices",
        "torch.int64",
    ),
    "plan_entries.out_verify_expected_tokens.dtype": Implied(
        "dtype",
        "launch_plan_entries_kernel",
        "out_verify_expected_tokens",
        "out_verify_expected_tokens",
        "torch.int64",
    ),
    "plan_entries.out_verify_expected_positions.dtype": Implied(
        "dtype",
        "launch_plan_entries_kernel",
        "out_verify_expected_positions",
        "out_verify_expected_positions",
        "torch.int64",
    ),
    "plan_entries.out_verify_prev_slot_indices.dtype": Implied(
        "dtype",
        "launch_plan_entries_kernel",
        "out_verify_prev_slot_indices",
        "out_verify_prev_slot_indices",
        "torch.int64",
    ),
    "plan_entries.req_pool_indices.rank": Implied(
        "rank",
        "launch_plan_entries_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "1-D",
    ),
    "plan_entries.req_pool_indices.length": Implied(
        "length",
        "launch_plan_entries_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "bs",
    ),
    "plan_entries.prefix_lens.rank": Implied(
        "rank",
        "launch_plan_entries_kernel",
        "prefix_lens",
        "prefix_lens",
        "1-D",
    ),
    "plan_entries.prefix_lens.length": Implied(
        "length",
        "launch_plan_entries_kernel",
        "prefix_lens",
        "prefix_lens",
        "bs",
    ),
    "plan_entries.req_to_token.rank": Implied(
        "rank",
        "launch_plan_entries_kernel",
        "req_to_token",
        "req_to_token",
        "2-D",
    ),
    "plan_entries.req_to_token.row_length": Implied(
        "length",
        "launch_plan_entries_kernel",
        "req_to_token",
        "req_to_token",
        "max_reqs",
    ),
    "plan_entries.req_to_token.position_length": Implied(
        "length",
        "launch_plan_entries_kernel",
        "req_to_token",
        "req_to_token",
        "max_seq_len",
    ),
    "plan_entries.full_to_swa_index_mapping.rank": Implied(
        "rank",
        "launch_plan_entries_kernel",
        "full_to_swa_index_mapping",
        "full_to_swa_index_mapping",
        "1-D",
    ),
    "plan_entries.full_to_swa_index_mapping.length": Implied(
        "length",
        "launch_plan_entries_kernel",
        "full_to_swa_index_mapping",
        "full_to_swa_index_mapping",
        "lut_len",
    ),
    "plan_entries.verify_offsets_scratch.rank": Implied(
        "rank",
        "launch_plan_entries_kernel",
        "verify_offsets_scratch",
        "verify_offsets_scratch",
        "1-D",
    ),
    "plan_entries.verify_offsets_scratch.length": Implied(
        "length",
        "launch_plan_entries_kernel",
        "verify_offsets_scratch",
        "verify_offsets_scratch",
        "at least bs + 1",
    ),
    "plan_entries.verify_enable.rank": Implied(
        "rank",
        "launch_plan_entries_kernel",
        "verify_enable",
        "verify_enable",
        "1-D",
    ),
    "plan_entries.verify_enable.length": Implied(
        "length",
        "launch_plan_entries_kernel",
        "verify_enable",
        "verify_enable",
        "1",
    ),
    "plan_entries.req_to_verify_expected_tokens.rank": Implied(
        "rank",
        "launch_plan_entries_kernel",
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens",
        "2-D",
    ),
    "plan_entries.req_to_verify_expected_tokens.row_length": Implied(
        "length",
        "launch_plan_entries_kernel",
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens",
        "token_rows",
    ),
    "plan_entries.req_to_verify_expected_tokens.column_length": Implied(
        "length",
        "launch_plan_entries_kernel",
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens",
        "token_columns",
    ),
    "plan_entries.req_to_verify_expected_tokens_valid_lens.rank": Implied(
        "rank",
        "launch_plan_entries_kernel",
        "req_to_verify_expected_tokens_valid_lens",
        "req_to_verify_expected_tokens_valid_lens",
        "1-D",
    ),
    "plan_entries.req_to_verify_expected_tokens_valid_lens.length": Implied(
        "length",
        "launch_plan_entries_kernel",
        "req_to_verify_expected_tokens_valid_lens",
        "req_to_verify_expected_tokens_valid_lens",
        "bs",
    ),
    "plan_entries.out_verify_slot_indices.rank": Implied(
        "rank",
        "launch_plan_entries_kernel",
        "out_verify_slot_indices",
        "out_verify_slot_indices",
        "1-D",
    ),
    "plan_entries.out_verify_slot_indices.length": Implied(
        "length",
        "launch_plan_entries_kernel",
        "out_verify_slot_indices",
        "out_verify_slot_indices",
        "verify_capacity",
    ),
    "plan_entries.out_verify_expected_tokens.rank": Implied(
        "rank",
        "launch_plan_entries_kernel",
        "out_verify_expected_tokens",
        "out_verify_expected_tokens",
        "1-D",
    ),
    "plan_entries.out_verify_expected_tokens.length": Implied(
        "length",
        "launch_plan_entries_kernel",
        "out_verify_expected_tokens",
        "out_verify_expected_tokens",
        "verify_capacity",
    ),
    "plan_entries.out_verify_expected_positions.rank": Implied(
        "rank",
        "launch_plan_entries_kernel",
        "out_verify_expected_positions",
        "out_verify_expected_positions",
        "1-D",
    ),
    "plan_entries.out_verify_expected_positions.length": Implied(
        "length",
        "launch_plan_entries_kernel",
        "out_verify_expected_positions",
        "out_verify_expected_positions",
        "verify_capacity",
    ),
    "plan_entries.out_verify_prev_slot_indices.rank": Implied(
        "rank",
        "launch_plan_entries_kernel",
        "out_verify_prev_slot_indices",
        "out_verify_prev_slot_indices",
        "1-D",
    ),
    "plan_entries.out_verify_prev_slot_indices.length": Implied(
        "length",
        "launch_plan_entries_kernel",
        "out_verify_prev_slot_indices",
        "out_verify_prev_slot_indices",
        "verify_capacity",
    ),
    "plan_entries.req_pool_indices.device": Implied(
        "device",
        "launch_plan_entries_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "out_verify_slot_indices's device",
    ),
    "plan_entries.prefix_lens.device": Implied(
        "device",
        "launch_plan_entries_kernel",
        "prefix_lens",
        "prefix_lens",
        "out_verify_slot_indices's device",
    ),
    "plan_entries.req_to_token.device": Implied(
        "device",
        "launch_plan_entries_kernel",
        "req_to_token",
        "req_to_token",
        "out_verify_slot_indices's device",
    ),
    "plan_entries.full_to_swa_index_mapping.device": Implied(
        "device",
        "launch_plan_entries_kernel",
        "full_to_swa_index_mapping",
        "full_to_swa_index_mapping",
        "out_verify_slot_indices's device",
    ),
    "plan_entries.verify_offsets_scratch.device": Implied(
        "device",
        "launch_plan_entries_kernel",
        "verify_offsets_scratch",
        "verify_offsets_scratch",
        "out_verify_slot_indices's device",
    ),
    "plan_entries.verify_enable.device": Implied(
        "device",
        "launch_plan_entries_kernel",
        "verify_enable",
        "verify_enable",
        "out_verify_slot_indices's device",
    ),
    "plan_entries.req_to_verify_expected_tokens.device": Implied(
        "device",
        "launch_plan_entries_kernel",
        "req_to_verify_expected_tokens",
        "req_to_verify_expected_tokens",
        "out_verify_slot_indices's device",
    ),
    "plan_entries.req_to_verify_expected_tokens_valid_lens.device": Implied(
        "device",
        "launch_plan_entries_kernel",
        "req_to_verify_expected_tokens_valid_lens",
        "req_to_verify_expected_tokens_valid_lens",
        "out_verify_slot_indices's device",
    ),
    "plan_entries.out_verify_expected_tokens.device": Implied(
        "device",
        "launch_plan_entries_kernel",
        "out_verify_expected_tokens",
        "out_verify_expected_tokens",
        "out_verify_slot_indices's device",
    ),
    "plan_entries.out_verify_expected_positions.device": Implied(
        "device",
        "launch_plan_entries_kernel",
        "out_verify_expected_positions",
        "out_verify_expected_positions",
        "out_verify_slot_indices's device",
    ),
    "plan_entries.out_verify_prev_slot_indices.device": Implied(
        "device",
        "launch_plan_entries_kernel",
        "out_verify_prev_slot_indices",
        "out_verify_prev_slot_indices",
        "out_verify_slot_indices's device",
    ),
    "plan_offsets.req_pool_indices.required": Implied(
        "required",
        "launch_plan_offsets_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "a torch.Tensor",
    ),
    "plan_offsets.req_pool_indices.type": Implied(
        "type",
        "launch_plan_offsets_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "a torch.Tensor",
    ),
    "plan_offsets.prefix_lens.required": Implied(
        "required",
        "launch_plan_offsets_kernel",
        "prefix_lens",
        "prefix_lens",
        "a torch.Tensor",
    ),
    "plan_offsets.prefix_lens.type": Implied(
        "type",
        "launch_plan_offsets_kernel",
        "prefix_lens",
        "prefix_lens",
        "a torch.Tensor",
    ),
    "plan_offsets.extend_seq_lens.required": Implied(
        "required",
        "launch_plan_offsets_kernel",
        "extend_seq_lens",
        "extend_seq_lens",
        "a torch.Tensor",
    ),
    "plan_offsets.extend_seq_lens.type": Implied(
        "type",
        "launch_plan_offsets_kernel",
        "extend_seq_lens",
        "extend_seq_lens",
        "a torch.Tensor",
    ),
    "plan_offsets.req_to_token.required": Implied(
        "required",
        "launch_plan_offsets_kernel",
        "req_to_token",
        "req_to_token",
        "a torch.Tensor",
    ),
    "plan_offsets.req_to_token.type": Implied(
        "type",
        "launch_plan_offsets_kernel",
        "req_to_token",
        "req_to_token",
        "a torch.Tensor",
    ),
    "plan_offsets.full_to_swa_index_mapping.type": Implied(
        "type",
        "launch_plan_offsets_kernel",
        "full_to_swa_index_mapping",
        "lut_tensor",
        "a torch.Tensor",
    ),
    "plan_offsets.out_verify_offsets_scratch.required": Implied(
        "required",
        "launch_plan_offsets_kernel",
        "out_verify_offsets_scratch",
        "out_verify_offsets_scratch",
        "a torch.Tensor",
    ),
    "plan_offsets.out_verify_offsets_scratch.type": Implied(
        "type",
        "launch_plan_offsets_kernel",
        "out_verify_offsets_scratch",
        "out_verify_offsets_scratch",
        "a torch.Tensor",
    ),
    "plan_offsets.out_write_offsets.required": Implied(
        "required",
        "launch_plan_offsets_kernel",
        "out_write_offsets",
        "out_write_offsets",
        "a torch.Tensor",
    ),
    "plan_offsets.out_write_offsets.type": Implied(
        "type",
        "launch_plan_offsets_kernel",
        "out_write_offsets",
        "out_write_offsets",
        "a torch.Tensor",
    ),
    "plan_offsets.out_write_seed_slot_indices.required": Implied(
        "required",
        "launch_plan_offsets_kernel",
        "out_write_seed_slot_indices",
        "out_write_seed_slot_indices",
        "a torch.Tensor",
    ),
    "plan_offsets.out_write_seed_slot_indices.type": Implied(
        "type",
        "launch_plan_offsets_kernel",
        "out_write_seed_slot_indices",
        "out_write_seed_slot_indices",
        "a torch.Tensor",
    ),
    "plan_offsets.out_verify_num_valid.required": Implied(
        "required",
        "launch_plan_offsets_kernel",
        "out_verify_num_valid",
        "out_verify_num_valid",
        "a torch.Tensor",
    ),
    "plan_offsets.out_verify_num_valid.type": Implied(
        "type",
        "launch_plan_offsets_kernel",
        "out_verify_num_valid",
        "out_verify_num_valid",
        "a torch.Tensor",
    ),
    "plan_offsets.out_verify_enable.required": Implied(
        "required",
        "launch_plan_offsets_kernel",
        "out_verify_enable",
        "out_verify_enable",
        "a torch.Tensor",
    ),
    "plan_offsets.out_verify_enable.type": Implied(
        "type",
        "launch_plan_offsets_kernel",
        "out_verify_enable",
        "out_verify_enable",
        "a torch.Tensor",
    ),
    "plan_offsets.out_write_num_valid_reqs.required": Implied(
        "required",
        "launch_plan_offsets_kernel",
        "out_write_num_valid_reqs",
        "out_write_num_valid_reqs",
        "a torch.Tensor",
    ),
    "plan_offsets.out_write_num_valid_reqs.type": Implied(
        "type",
        "launch_plan_offsets_kernel",
        "out_write_num_valid_reqs",
        "out_write_num_valid_reqs",
        "a torch.Tensor",
    ),
    "plan_offsets.swa_window_size.required": Implied(
        "required",
        "launch_plan_offsets_kernel",
        "swa_window_size",
        "swa_window_size",
        "int",
    ),
    "plan_offsets.swa_window_size.type": Implied(
        "type",
        "launch_plan_offsets_kernel",
        "swa_window_size",
        "swa_window_size",
        "int",
    ),
    "plan_offsets.verify_capacity.required": Implied(
        "required",
        "launch_plan_offsets_kernel",
        "verify_capacity",
        "verify_capacity",
        "int",
    ),
    "plan_offsets.verify_capacity.type": Implied(
        "type",
        "launch_plan_offsets_kernel",
        "verify_capacity",
        "verify_capacity",
        "int",
    ),
    "plan_offsets.bs.type": Implied("size_type", "launch_plan_offsets_kernel", "bs", "bs", "int"),
    "plan_offsets.max_reqs.type": Implied(
        "size_type",
        "launch_plan_offsets_kernel",
        "max_reqs",
        "max_reqs",
        "int",
    ),
    "plan_offsets.max_seq_len.type": Implied(
        "size_type",
        "launch_plan_offsets_kernel",
        "max_seq_len",
        "max_seq_len",
        "int",
    ),
    "plan_offsets.lut_len.type": Implied(
        "size_type",
        "launch_plan_offsets_kernel",
        "lut_len",
        "lut_len",
        "int",
    ),
    "plan_offsets.write_offsets_len.type": Implied(
        "size_type",
        "launch_plan_offsets_kernel",
        "write_offsets_len",
        "write_offsets_len",
        "int",
    ),
    "plan_offsets.write_req_capacity.type": Implied(
        "size_type",
        "launch_plan_offsets_kernel",
        "write_req_capacity",
        "write_req_capacity",
        "int",
    ),
    "plan_offsets.req_to_token_stride0.type": Implied(
        "size_type",
        "launch_plan_offsets_kernel",
        "req_to_token_stride0",
        "req_to_token_stride0",
        "int",
    ),
    "plan_offsets.swa_window_size.int64": Implied(
        "int64",
        "launch_plan_offsets_kernel",
        "swa_window_size",
        "swa_window_size",
        "an int in [-2**63, 2**63 - 1]",
    ),
    "plan_offsets.verify_capacity.int64": Implied(
        "int64",
        "launch_plan_offsets_kernel",
        "verify_capacity",
        "verify_capacity",
        "an int in [-2**63, 2**63 - 1]",
    ),
    "plan_offsets.req_pool_indices.contiguous": Implied(
        "contiguous",
        "launch_plan_offsets_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "a contiguous tensor",
    ),
    "plan_offsets.prefix_lens.contiguous": Implied(
        "contiguous",
        "launch_plan_offsets_kernel",
        "prefix_lens",
        "prefix_lens",
        "a contiguous tensor",
    ),
    "plan_offsets.extend_seq_lens.contiguous": Implied(
        "contiguous",
        "launch_plan_offsets_kernel",
        "extend_seq_lens",
        "extend_seq_lens",
        "a contiguous tensor",
    ),
    "plan_offsets.req_to_token.contiguous": Implied(
        "contiguous",
        "launch_plan_offsets_kernel",
        "req_to_token",
        "req_to_token",
        "a contiguous tensor",
    ),
    "plan_offsets.full_to_swa_index_mapping.contiguous": Implied(
        "contiguous",
        "launch_plan_offsets_kernel",
        "full_to_swa_index_mapping",
        "lut_tensor",
        "a contiguous tensor",
    ),
    "plan_offsets.out_verify_offsets_scratch.contiguous": Implied(
        "contiguous",
        "launch_plan_offsets_kernel",
        "out_verify_offsets_scratch",
        "out_verify_offsets_scratch",
        "a contiguous tensor",
    ),
    "plan_offsets.out_write_offsets.contiguous": Implied(
        "contiguous",
        "launch_plan_offsets_kernel",
        "out_write_offsets",
        "out_write_offsets",
        "a contiguous tensor",
    ),
    "plan_offsets.out_write_seed_slot_indices.contiguous": Implied(
        "contiguous",
        "launch_plan_offsets_kernel",
        "out_write_seed_slot_indices",
        "out_write_seed_slot_indices",
        "a contiguous tensor",
    ),
    "plan_offsets.out_verify_num_valid.contiguous": Implied(
        "contiguous",
        "launch_plan_offsets_kernel",
        "out_verify_num_valid",
        "out_verify_num_valid",
        "a contiguous tensor",
    ),
    "plan_offsets.out_verify_enable.contiguous": Implied(
        "contiguous",
        "launch_plan_offsets_kernel",
        "out_verify_enable",
        "out_verify_enable",
        "a contiguous tensor",
    ),
    "plan_offsets.out_write_num_valid_reqs.contiguous": Implied(
        "contiguous",
        "launch_plan_offsets_kernel",
        "out_write_num_valid_reqs",
        "out_write_num_valid_reqs",
        "a contiguous tensor",
    ),
    "plan_offsets.req_pool_indices.dtype": Implied(
        "dtype",
        "launch_plan_offsets_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "torch.int64",
    ),
    "plan_offsets.prefix_lens.dtype": Implied(
        "dtype",
        "launch_plan_offsets_kernel",
        "prefix_lens",
        "prefix_lens",
        "torch.int64",
    ),
    "plan_offsets.extend_seq_lens.dtype": Implied(
        "dtype",
        "launch_plan_offsets_kernel",
        "extend_seq_lens",
        "extend_seq_lens",
        "torch.int64",
    ),
    "plan_offsets.req_to_token.dtype": Implied(
        "dtype",
        "launch_plan_offsets_kernel",
        "req_to_token",
        "req_to_token",
        "torch.int32",
    ),
    "plan_offsets.full_to_swa_index_mapping.dtype": Implied(
        "dtype",
        "launch_plan_offsets_kernel",
        "full_to_swa_index_mapping",
        "lut_tensor",
        "torch.int64",
    ),
    "plan_offsets.out_verify_offsets_scratch.dtype": Implied(
        "dtype",
        "launch_plan_offsets_kernel",
        "out_verify_offsets_scratch",
        "out_verify_offsets_scratch",
        "torch.int64",
    ),
    "plan_offsets.out_write_offsets.dtype": Implied(
        "dtype",
        "launch_plan_offsets_kernel",
        "out_write_offsets",
        "out_write_offsets",
        "torch.int64",
    ),
    "plan_offsets.out_write_seed_slot_indices.dtype": Implied(
        "dtype",
        "launch_plan_offsets_kernel",
        "out_write_seed_slot_indices",
        "out_write_seed_slot_indices",
        "torch.int64",
    ),
    "plan_offsets.out_verify_num_valid.dtype": Implied(
        "dtype",
        "launch_plan_offsets_kernel",
        "out_verify_num_valid",
        "out_verify_num_valid",
        "torch.int32",
    ),
    "plan_offsets.out_verify_enable.dtype": Implied(
        "dtype",
        "launch_plan_offsets_kernel",
        "out_verify_enable",
        "out_verify_enable",
        "torch.int32",
    ),
    "plan_offsets.out_write_num_valid_reqs.dtype": Implied(
        "dtype",
        "launch_plan_offsets_kernel",
        "out_write_num_valid_reqs",
        "out_write_num_valid_reqs",
        "torch.int32",
    ),
    "plan_offsets.req_pool_indices.rank": Implied(
        "rank",
        "launch_plan_offsets_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "1-D",
    ),
    "plan_offsets.req_pool_indices.length": Implied(
        "length",
        "launch_plan_offsets_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "bs",
    ),
    "plan_offsets.prefix_lens.rank": Implied(
        "rank",
        "launch_plan_offsets_kernel",
        "prefix_lens",
        "prefix_lens",
        "1-D",
    ),
    "plan_offsets.prefix_lens.length": Implied(
        "length",
        "launch_plan_offsets_kernel",
        "prefix_lens",
        "prefix_lens",
        "bs",
    ),
    "plan_offsets.extend_seq_lens.rank": Implied(
        "rank",
        "launch_plan_offsets_kernel",
        "extend_seq_lens",
        "extend_seq_lens",
        "1-D",
    ),
    "plan_offsets.extend_seq_lens.length": Implied(
        "length",
        "launch_plan_offsets_kernel",
        "extend_seq_lens",
        "extend_seq_lens",
        "bs",
    ),
    "plan_offsets.req_to_token.rank": Implied(
        "rank",
        "launch_plan_offsets_kernel",
        "req_to_token",
        "req_to_token",
        "2-D",
    ),
    "plan_offsets.req_to_token.row_length": Implied(
        "length",
        "launch_plan_offsets_kernel",
        "req_to_token",
        "req_to_token",
        "max_reqs",
    ),
    "plan_offsets.req_to_token.position_length": Implied(
        "length",
        "launch_plan_offsets_kernel",
        "req_to_token",
        "req_to_token",
        "max_seq_len",
    ),
    "plan_offsets.full_to_swa_index_mapping.rank": Implied(
        "rank",
        "launch_plan_offsets_kernel",
        "full_to_swa_index_mapping",
        "lut_tensor",
        "1-D",
    ),
    "plan_offsets.full_to_swa_index_mapping.length": Implied(
        "length",
        "launch_plan_offsets_kernel",
        "full_to_swa_index_mapping",
        "lut_tensor",
        "lut_len",
    ),
    "plan_offsets.out_verify_offsets_scratch.rank": Implied(
        "rank",
        "launch_plan_offsets_kernel",
        "out_verify_offsets_scratch",
        "out_verify_offsets_scratch",
        "1-D",
    ),
    "plan_offsets.out_verify_offsets_scratch.length": Implied(
        "length",
        "launch_plan_offsets_kernel",
        "out_verify_offsets_scratch",
        "out_verify_offsets_scratch",
        "at least PLAN_BS_BLOCK_SIZE (4096) + 1",
    ),
    "plan_offsets.out_write_offsets.rank": Implied(
        "rank",
        "launch_plan_offsets_kernel",
        "out_write_offsets",
        "out_write_offsets",
        "1-D",
    ),
    "plan_offsets.out_write_offsets.length": Implied(
        "length",
        "launch_plan_offsets_kernel",
        "out_write_offsets",
        "out_write_offsets",
        "write_offsets_len",
    ),
    "plan_offsets.out_write_seed_slot_indices.rank": Implied(
        "rank",
        "launch_plan_offsets_kernel",
        "out_write_seed_slot_indices",
        "out_write_seed_slot_indices",
        "1-D",
    ),
    "plan_offsets.out_write_seed_slot_indices.length": Implied(
        "length",
        "launch_plan_offsets_kernel",
        "out_write_seed_slot_indices",
        "out_write_seed_slot_indices",
        "write_req_capacity",
    ),
    "plan_offsets.out_verify_num_valid.rank": Implied(
        "rank",
        "launch_plan_offsets_kernel",
        "out_verify_num_valid",
        "out_verify_num_valid",
        "1-D",
    ),
    "plan_offsets.out_verify_num_valid.length": Implied(
        "length",
        "launch_plan_offsets_kernel",
        "out_verify_num_valid",
        "out_verify_num_valid",
        "1",
    ),
    "plan_offsets.out_verify_enable.rank": Implied(
        "rank",
        "launch_plan_offsets_kernel",
        "out_verify_enable",
        "out_verify_enable",
        "1-D",
    ),
    "plan_offsets.out_verify_enable.length": Implied(
        "length",
        "launch_plan_offsets_kernel",
        "out_verify_enable",
        "out_verify_enable",
        "1",
    ),
    "plan_offsets.out_write_num_valid_reqs.rank": Implied(
        "rank",
        "launch_plan_offsets_kernel",
        "out_write_num_valid_reqs",
        "out_write_num_valid_reqs",
        "1-D",
    ),
    "plan_offsets.out_write_num_valid_reqs.length": Implied(
        "length",
        "launch_plan_offsets_kernel",
        "out_write_num_valid_reqs",
        "out_write_num_valid_reqs",
        "1",
    ),
    "plan_offsets.req_pool_indices.device": Implied(
        "device",
        "launch_plan_offsets_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "out_verify_offsets_scratch's device",
    ),
    "plan_offsets.prefix_lens.device": Implied(
        "device",
        "launch_plan_offsets_kernel",
        "prefix_lens",
        "prefix_lens",
        "out_verify_offsets_scratch's device",
    ),
    "plan_offsets.extend_seq_lens.device": Implied(
        "device",
        "launch_plan_offsets_kernel",
        "extend_seq_lens",
        "extend_seq_lens",
        "out_verify_offsets_scratch's device",
    ),
    "plan_offsets.req_to_token.device": Implied(
        "device",
        "launch_plan_offsets_kernel",
        "req_to_token",
        "req_to_token",
        "out_verify_offsets_scratch's device",
    ),
    "plan_offsets.full_to_swa_index_mapping.device": Implied(
        "device",
        "launch_plan_offsets_kernel",
        "full_to_swa_index_mapping",
        "lut_tensor",
        "out_verify_offsets_scratch's device",
    ),
    "plan_offsets.out_write_offsets.device": Implied(
        "device",
        "launch_plan_offsets_kernel",
        "out_write_offsets",
        "out_write_offsets",
        "out_verify_offsets_scratch's device",
    ),
    "plan_offsets.out_write_seed_slot_indices.device": Implied(
        "device",
        "launch_plan_offsets_kernel",
        "out_write_seed_slot_indices",
        "out_write_seed_slot_indices",
        "out_verify_offsets_scratch's device",
    ),
    "plan_offsets.out_verify_num_valid.device": Implied(
        "device",
        "launch_plan_offsets_kernel",
        "out_verify_num_valid",
        "out_verify_num_valid",
        "out_verify_offsets_scratch's device",
    ),
    "plan_offsets.out_verify_enable.device": Implied(
        "device",
        "launch_plan_offsets_kernel",
        "out_verify_enable",
        "out_verify_enable",
        "out_verify_offsets_scratch's device",
    ),
    "plan_offsets.out_write_num_valid_reqs.device": Implied(
        "device",
        "launch_plan_offsets_kernel",
        "out_write_num_valid_reqs",
        "out_write_num_valid_reqs",
        "out_verify_offsets_scratch's device",
    ),
    "plan_rotation.req_pool_indices.required": Implied(
        "required",
        "launch_plan_rotation_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "a torch.Tensor",
    ),
    "plan_rotation.req_pool_indices.type": Implied(
        "type",
        "launch_plan_rotation_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "a torch.Tensor",
    ),
    "plan_rotation.prefix_lens.required": Implied(
        "required",
        "launch_plan_rotation_kernel",
        "prefix_lens",
        "prefix_lens",
        "a torch.Tensor",
    ),
    "plan_rotation.prefix_lens.type": Implied(
        "type",
        "launch_plan_rotation_kernel",
        "prefix_lens",
        "prefix_lens",
        "a torch.Tensor",
    ),
    "plan_rotation.req_to_token.required": Implied(
        "required",
        "launch_plan_rotation_kernel",
        "req_to_token",
        "req_to_token",
        "a torch.Tensor",
    ),
    "plan_rotation.req_to_token.type": Implied(
        "type",
        "launch_plan_rotation_kernel",
        "req_to_token",
        "req_to_token",
        "a torch.Tensor",
    ),
    "plan_rotation.swa_window_size.required": Implied(
        "required",
        "launch_plan_rotation_kernel",
        "swa_window_size",
        "swa_window_size",
        "int",
    ),
    "plan_rotation.swa_window_size.type": Implied(
        "type",
        "launch_plan_rotation_kernel",
        "swa_window_size",
        "swa_window_size",
        "int",
    ),
    "plan_rotation.verify_capacity.required": Implied(
        "required",
        "launch_plan_rotation_kernel",
        "verify_capacity",
        "verify_capacity",
        "int",
    ),
    "plan_rotation.verify_capacity.type": Implied(
        "type",
        "launch_plan_rotation_kernel",
        "verify_capacity",
        "verify_capacity",
        "int",
    ),
    "plan_rotation.verify_rotation.required": Implied(
        "required",
        "launch_plan_rotation_kernel",
        "verify_rotation",
        "verify_rotation",
        "a torch.Tensor",
    ),
    "plan_rotation.verify_rotation.type": Implied(
        "type",
        "launch_plan_rotation_kernel",
        "verify_rotation",
        "verify_rotation",
        "a torch.Tensor",
    ),
    "plan_rotation.verify_total.type": Implied(
        "type",
        "launch_plan_rotation_kernel",
        "verify_total",
        "verify_total",
        "a torch.Tensor",
    ),
    "plan_rotation.bs.type": Implied("size_type", "launch_plan_rotation_kernel", "bs", "bs", "int"),
    "plan_rotation.max_reqs.type": Implied(
        "size_type",
        "launch_plan_rotation_kernel",
        "max_reqs",
        "max_reqs",
        "int",
    ),
    "plan_rotation.max_seq_len.type": Implied(
        "size_type",
        "launch_plan_rotation_kernel",
        "max_seq_len",
        "max_seq_len",
        "int",
    ),
    "plan_rotation.swa_window_size.int64": Implied(
        "int64",
        "launch_plan_rotation_kernel",
        "swa_window_size",
        "swa_window_size",
        "an int in [-2**63, 2**63 - 1]",
    ),
    "plan_rotation.verify_capacity.int64": Implied(
        "int64",
        "launch_plan_rotation_kernel",
        "verify_capacity",
        "verify_capacity",
        "an int in [-2**63, 2**63 - 1]",
    ),
    "plan_rotation.req_pool_indices.contiguous": Implied(
        "contiguous",
        "launch_plan_rotation_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "a contiguous tensor",
    ),
    "plan_rotation.prefix_lens.contiguous": Implied(
        "contiguous",
        "launch_plan_rotation_kernel",
        "prefix_lens",
        "prefix_lens",
        "a contiguous tensor",
    ),
    "plan_rotation.req_to_token.contiguous": Implied(
        "contiguous",
        "launch_plan_rotation_kernel",
        "req_to_token",
        "req_to_token",
        "a contiguous tensor",
    ),
    "plan_rotation.verify_rotation.contiguous": Implied(
        "contiguous",
        "launch_plan_rotation_kernel",
        "verify_rotation",
        "verify_rotation",
        "a contiguous tensor",
    ),
    "plan_rotation.verify_total.contiguous": Implied(
        "contiguous",
        "launch_plan_rotation_kernel",
        "verify_total",
        "verify_total",
        "a contiguous tensor",
    ),
    "plan_rotation.req_pool_indices.dtype": Implied(
        "dtype",
        "launch_plan_rotation_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "torch.int64",
    ),
    "plan_rotation.prefix_lens.dtype": Implied(
        "dtype",
        "launch_plan_rotation_kernel",
        "prefix_lens",
        "prefix_lens",
        "torch.int64",
    ),
    "plan_rotation.req_to_token.dtype": Implied(
        "dtype",
        "launch_plan_rotation_kernel",
        "req_to_token",
        "req_to_token",
        "torch.int32",
    ),
    "plan_rotation.verify_rotation.dtype": Implied(
        "dtype",
        "launch_plan_rotation_kernel",
        "verify_rotation",
        "verify_rotation",
        "torch.int64",
    ),
    "plan_rotation.verify_total.dtype": Implied(
        "dtype",
        "launch_plan_rotation_kernel",
        "verify_total",
        "verify_total",
        "torch.int64",
    ),
    "plan_rotation.req_pool_indices.rank": Implied(
        "rank",
        "launch_plan_rotation_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "1-D",
    ),
    "plan_rotation.req_pool_indices.length": Implied(
        "length",
        "launch_plan_rotation_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "bs",
    ),
    "plan_rotation.prefix_lens.rank": Implied(
        "rank",
        "launch_plan_rotation_kernel",
        "prefix_lens",
        "prefix_lens",
        "1-D",
    ),
    "plan_rotation.prefix_lens.length": Implied(
        "length",
        "launch_plan_rotation_kernel",
        "prefix_lens",
        "prefix_lens",
        "bs",
    ),
    "plan_rotation.req_to_token.rank": Implied(
        "rank",
        "launch_plan_rotation_kernel",
        "req_to_token",
        "req_to_token",
        "2-D",
    ),
    "plan_rotation.req_to_token.row_length": Implied(
        "length",
        "launch_plan_rotation_kernel",
        "req_to_token",
        "req_to_token",
        "max_reqs",
    ),
    "plan_rotation.req_to_token.position_length": Implied(
        "length",
        "launch_plan_rotation_kernel",
        "req_to_token",
        "req_to_token",
        "max_seq_len",
    ),
    "plan_rotation.verify_rotation.rank": Implied(
        "rank",
        "launch_plan_rotation_kernel",
        "verify_rotation",
        "verify_rotation",
        "1-D",
    ),
    "plan_rotation.verify_rotation.length": Implied(
        "length",
        "launch_plan_rotation_kernel",
        "verify_rotation",
        "verify_rotation",
        "1",
    ),
    "plan_rotation.verify_total.rank": Implied(
        "rank",
        "launch_plan_rotation_kernel",
        "verify_total",
        "verify_total",
        "1-D",
    ),
    "plan_rotation.verify_total.length": Implied(
        "length",
        "launch_plan_rotation_kernel",
        "verify_total",
        "verify_total",
        "1",
    ),
    "plan_rotation.req_pool_indices.device": Implied(
        "device",
        "launch_plan_rotation_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "verify_rotation's device",
    ),
    "plan_rotation.prefix_lens.device": Implied(
        "device",
        "launch_plan_rotation_kernel",
        "prefix_lens",
        "prefix_lens",
        "verify_rotation's device",
    ),
    "plan_rotation.req_to_token.device": Implied(
        "device",
        "launch_plan_rotation_kernel",
        "req_to_token",
        "req_to_token",
        "verify_rotation's device",
    ),
    "plan_rotation.verify_total.device": Implied(
        "device",
        "launch_plan_rotation_kernel",
        "verify_total",
        "verify_total",
        "verify_rotation's device",
    ),
    "scatter_req_token_ids.flat_in.required": Implied(
        "required",
        "launch_scatter_req_token_ids_kernel",
        "flat_in",
        "flat_in",
        "a torch.Tensor",
    ),
    "scatter_req_token_ids.flat_in.type": Implied(
        "type",
        "launch_scatter_req_token_ids_kernel",
        "flat_in",
        "flat_in",
        "a torch.Tensor",
    ),
    "scatter_req_token_ids.offsets.required": Implied(
        "required",
        "launch_scatter_req_token_ids_kernel",
        "offsets",
        "offsets",
        "a torch.Tensor",
    ),
    "scatter_req_token_ids.offsets.type": Implied(
        "type",
        "launch_scatter_req_token_ids_kernel",
        "offsets",
        "offsets",
        "a torch.Tensor",
    ),
    "scatter_req_token_ids.req_pool_indices.required": Implied(
        "required",
        "launch_scatter_req_token_ids_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "a torch.Tensor",
    ),
    "scatter_req_token_ids.req_pool_indices.type": Implied(
        "type",
        "launch_scatter_req_token_ids_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "a torch.Tensor",
    ),
    "scatter_req_token_ids.pool_out.required": Implied(
        "required",
        "launch_scatter_req_token_ids_kernel",
        "pool_out",
        "pool_out",
        "a torch.Tensor",
    ),
    "scatter_req_token_ids.pool_out.type": Implied(
        "type",
        "launch_scatter_req_token_ids_kernel",
        "pool_out",
        "pool_out",
        "a torch.Tensor",
    ),
    "scatter_req_token_ids.column_starts.type": Implied(
        "type",
        "launch_scatter_req_token_ids_kernel",
        "column_starts",
        "column_starts",
        "a torch.Tensor",
    ),
    "scatter_req_token_ids.token_count.type": Implied(
        "size_type",
        "launch_scatter_req_token_ids_kernel",
        "token_count",
        "token_count",
        "int",
    ),
    "scatter_req_token_ids.bs.type": Implied(
        "size_type",
        "launch_scatter_req_token_ids_kernel",
        "bs",
        "bs",
        "int",
    ),
    "scatter_req_token_ids.pool_rows.type": Implied(
        "size_type",
        "launch_scatter_req_token_ids_kernel",
        "pool_rows",
        "pool_rows",
        "int",
    ),
    "scatter_req_token_ids.pool_columns.type": Implied(
        "size_type",
        "launch_scatter_req_token_ids_kernel",
        "pool_columns",
        "pool_columns",
        "int",
    ),
    "scatter_req_token_ids.flat_in.rank": Implied(
        "rank",
        "launch_scatter_req_token_ids_kernel",
        "flat_in",
        "flat_in",
        "1-D",
        "scatter_req_token_ids flat_in must be 1-D, got shape ...",
    ),
    "scatter_req_token_ids.offsets.rank": Implied(
        "rank",
        "launch_scatter_req_token_ids_kernel",
        "offsets",
        "offsets",
        "1-D",
        "scatter_req_token_ids offsets must be 1-D, got shape ...",
    ),
    "scatter_req_token_ids.req_pool_indices.rank": Implied(
        "rank",
        "launch_scatter_req_token_ids_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "1-D",
        "scatter_req_token_ids req_pool_indices must be 1-D, got shape ...",
    ),
    "scatter_req_token_ids.pool_out.rank": Implied(
        "rank",
        "launch_scatter_req_token_ids_kernel",
        "pool_out",
        "pool_out",
        "2-D",
        "scatter_req_token_ids pool_out must be 2-D, got shape ...",
    ),
    "scatter_req_token_ids.column_starts.rank": Implied(
        "rank",
        "launch_scatter_req_token_ids_kernel",
        "column_starts",
        "column_starts",
        "1-D",
        "scatter_req_token_ids column_starts must be 1-D, got shape ...",
    ),
    "scatter_req_token_ids.flat_in.dtype": Implied(
        "dtype",
        "launch_scatter_req_token_ids_kernel",
        "flat_in",
        "flat_in",
        "torch.int64",
        "scatter_req_token_ids flat_in must be int64, got ...",
    ),
    "scatter_req_token_ids.offsets.dtype": Implied(
        "dtype",
        "launch_scatter_req_token_ids_kernel",
        "offsets",
        "offsets",
        "torch.int64",
        "scatter_req_token_ids offsets must be int64, got ...",
    ),
    "scatter_req_token_ids.req_pool_indices.dtype": Implied(
        "dtype",
        "launch_scatter_req_token_ids_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "torch.int64",
        "scatter_req_token_ids req_pool_indices must be int64, got ...",
    ),
    "scatter_req_token_ids.pool_out.dtype": Implied(
        "dtype",
        "launch_scatter_req_token_ids_kernel",
        "pool_out",
        "pool_out",
        "torch.int32",
        "scatter_req_token_ids pool_out must be int32, got ...",
    ),
    "scatter_req_token_ids.column_starts.dtype": Implied(
        "dtype",
        "launch_scatter_req_token_ids_kernel",
        "column_starts",
        "column_starts",
        "torch.int64",
        "scatter_req_token_ids column_starts must be int64, got ...",
    ),
    "scatter_req_token_ids.flat_in.length": Implied(
        "length",
        "launch_scatter_req_token_ids_kernel",
        "flat_in",
        "flat_in",
        "token_count",
    ),
    "scatter_req_token_ids.offsets.length": Implied(
        "length",
        "launch_scatter_req_token_ids_kernel",
        "offsets",
        "offsets",
        "bs + 1",
        "scatter_req_token_ids offsets length ... != bs+1 (bs + 1)",
    ),
    "scatter_req_token_ids.req_pool_indices.length": Implied(
        "length",
        "launch_scatter_req_token_ids_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "bs",
    ),
    "scatter_req_token_ids.pool_out.row_length": Implied(
        "length",
        "launch_scatter_req_token_ids_kernel",
        "pool_out",
        "pool_out",
        "pool_rows",
    ),
    "scatter_req_token_ids.pool_out.column_length": Implied(
        "length",
        "launch_scatter_req_token_ids_kernel",
        "pool_out",
        "pool_out",
        "pool_columns",
    ),
    "scatter_req_token_ids.column_starts.length": Implied(
        "length",
        "launch_scatter_req_token_ids_kernel",
        "column_starts",
        "column_starts",
        "bs",
    ),
    "scatter_req_token_ids.flat_in.contiguous": Implied(
        "contiguous",
        "launch_scatter_req_token_ids_kernel",
        "flat_in",
        "flat_in",
        "a contiguous tensor",
    ),
    "scatter_req_token_ids.offsets.contiguous": Implied(
        "contiguous",
        "launch_scatter_req_token_ids_kernel",
        "offsets",
        "offsets",
        "a contiguous tensor",
    ),
    "scatter_req_token_ids.req_pool_indices.contiguous": Implied(
        "contiguous",
        "launch_scatter_req_token_ids_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "a contiguous tensor",
    ),
    "scatter_req_token_ids.pool_out.contiguous": Implied(
        "contiguous",
        "launch_scatter_req_token_ids_kernel",
        "pool_out",
        "pool_out",
        "a contiguous tensor",
    ),
    "scatter_req_token_ids.column_starts.contiguous": Implied(
        "contiguous",
        "launch_scatter_req_token_ids_kernel",
        "column_starts",
        "column_starts",
        "a contiguous tensor",
    ),
    "scatter_req_token_ids.flat_in.device": Implied(
        "device",
        "launch_scatter_req_token_ids_kernel",
        "flat_in",
        "flat_in",
        "pool_out's device",
    ),
    "scatter_req_token_ids.offsets.device": Implied(
        "device",
        "launch_scatter_req_token_ids_kernel",
        "offsets",
        "offsets",
        "pool_out's device",
    ),
    "scatter_req_token_ids.req_pool_indices.device": Implied(
        "device",
        "launch_scatter_req_token_ids_kernel",
        "req_pool_indices",
        "req_pool_indices",
        "pool_out's device",
    ),
    "scatter_req_token_ids.column_starts.device": Implied(
        "device",
        "launch_scatter_req_token_ids_kernel",
        "column_starts",
        "column_starts",
        "pool_out's device",
    ),
    "verify.context.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "context",
        "context",
        "a VerifyOrWriteContext",
    ),
    "verify.context.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "context",
        "context",
        "a VerifyOrWriteContext",
    ),
    "verify.context.canary_buf.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "context.canary_buf",
        "canary_buf",
        "a torch.Tensor",
    ),
    "verify.context.canary_buf.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "context.canary_buf",
        "canary_buf",
        "a torch.Tensor",
    ),
    "verify.context.violation_ring.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "context.violation_ring",
        "violation_ring",
        "a torch.Tensor",
    ),
    "verify.context.violation_ring.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "context.violation_ring",
        "violation_ring",
        "a torch.Tensor",
    ),
    "verify.context.violation_write_index.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "context.violation_write_index",
        "violation_write_index",
        "a torch.Tensor",
    ),
    "verify.context.violation_write_index.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "context.violation_write_index",
        "violation_write_index",
        "a torch.Tensor",
    ),
    "verify.context.slot_run_counter.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "context.slot_run_counter",
        "slot_run_counter",
        "a torch.Tensor",
    ),
    "verify.context.slot_run_counter.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "context.slot_run_counter",
        "slot_run_counter",
        "a torch.Tensor",
    ),
    "verify.context.kernel_run_counter.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "context.kernel_run_counter",
        "kernel_run_counter",
        "a torch.Tensor",
    ),
    "verify.context.kernel_run_counter.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "context.kernel_run_counter",
        "kernel_run_counter",
        "a torch.Tensor",
    ),
    "verify.context.enable_chain_position_assert.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "context.enable_chain_position_assert",
        "enable_chain_position_assert",
        "a torch.Tensor",
    ),
    "verify.context.enable_chain_position_assert.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "context.enable_chain_position_assert",
        "enable_chain_position_assert",
        "a torch.Tensor",
    ),
    "verify.context.evidence_ring.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "context.evidence_ring",
        "evidence_ring",
        "a torch.Tensor",
    ),
    "verify.context.workspace.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "context.workspace",
        "workspace",
        "a torch.Tensor",
    ),
    "verify.context.kernel_kind.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "context.kernel_kind",
        "kernel_kind",
        "int",
    ),
    "verify.context.kernel_kind.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "context.kernel_kind",
        "kernel_kind",
        "int",
    ),
    "verify.context.real_kv_hash_mode.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "context.real_kv_hash_mode",
        "real_kv_hash_mode",
        "a RealKvHashMode",
    ),
    "verify.context.real_kv_hash_mode.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "context.real_kv_hash_mode",
        "real_kv_hash_mode",
        "a RealKvHashMode",
    ),
    "verify.context.hash_format.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "context.hash_format",
        "hash_format",
        "one of serial/parallel",
    ),
    "verify.context.hash_format.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "context.hash_format",
        "hash_format",
        "one of serial/parallel",
    ),
    "verify.context.real_kv_sources.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "context.real_kv_sources",
        "real_kv_sources",
        "a tuple or list of RealKvSource",
    ),
    "verify.context.real_kv_sources.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "context.real_kv_sources",
        "real_kv_sources",
        "a tuple or list of RealKvSource",
    ),
    "verify.context.real_kv_sources.items": Implied(
        "items",
        "launch_canary_verify_kernel",
        "context.real_kv_sources",
        "real_kv_sources",
        "a RealKvSource",
    ),
    "verify.plan.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "plan",
        "plan",
        "a VerifyPlan",
    ),
    "verify.plan.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "plan",
        "plan",
        "a VerifyPlan",
    ),
    "verify.plan.verify_slot_indices.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "plan.verify_slot_indices",
        "plan.verify_slot_indices",
        "a torch.Tensor",
    ),
    "verify.plan.verify_slot_indices.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "plan.verify_slot_indices",
        "plan.verify_slot_indices",
        "a torch.Tensor",
    ),
    "verify.plan.verify_expected_tokens.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "plan.verify_expected_tokens",
        "plan.verify_expected_tokens",
        "a torch.Tensor",
    ),
    "verify.plan.verify_expected_tokens.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "plan.verify_expected_tokens",
        "plan.verify_expected_tokens",
        "a torch.Tensor",
    ),
    "verify.plan.verify_expected_positions.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "plan.verify_expected_positions",
        "plan.verify_expected_positions",
        "a torch.Tensor",
    ),
    "verify.plan.verify_expected_positions.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "plan.verify_expected_positions",
        "plan.verify_expected_positions",
        "a torch.Tensor",
    ),
    "verify.plan.verify_prev_slot_indices.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "plan.verify_prev_slot_indices",
        "plan.verify_prev_slot_indices",
        "a torch.Tensor",
    ),
    "verify.plan.verify_prev_slot_indices.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "plan.verify_prev_slot_indices",
        "plan.verify_prev_slot_indices",
        "a torch.Tensor",
    ),
    "verify.plan.verify_num_valid.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "plan.verify_num_valid",
        "plan.verify_num_valid",
        "a torch.Tensor",
    ),
    "verify.plan.verify_num_valid.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "plan.verify_num_valid",
        "plan.verify_num_valid",
        "a torch.Tensor",
    ),
    "verify.plan.enable.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "plan.enable",
        "plan.enable",
        "a torch.Tensor",
    ),
    "verify.plan.enable.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "plan.enable",
        "plan.enable",
        "a torch.Tensor",
    ),
    "verify.check_verify_expected_token.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "check_verify_expected_token",
        "check_verify_expected_token",
        "bool",
    ),
    "verify.check_verify_expected_token.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "check_verify_expected_token",
        "check_verify_expected_token",
        "bool",
    ),
    "verify.report_padding_slot.required": Implied(
        "required",
        "launch_canary_verify_kernel",
        "report_padding_slot",
        "report_padding_slot",
        "bool",
    ),
    "verify.report_padding_slot.type": Implied(
        "type",
        "launch_canary_verify_kernel",
        "report_padding_slot",
        "report_padding_slot",
        "bool",
    ),
    "verify.num_slots.type": Implied(
        "size_type",
        "launch_canary_verify_kernel",
        "num_slots",
        "num_slots",
        "int",
    ),
    "verify.slot_stride_bytes.type": Implied(
        "size_type",
        "launch_canary_verify_kernel",
        "slot_stride_bytes",
        "slot_stride_bytes",
        "int",
    ),
    "verify.ring_capacity.type": Implied(
        "size_type",
        "launch_canary_verify_kernel",
        "ring_capacity",
        "ring_capacity",
        "int",
    ),
    "verify.workspace_len.type": Implied(
        "size_type",
        "launch_canary_verify_kernel",
        "workspace_len",
        "workspace_len",
        "int",
    ),
    "verify.verify_capacity.type": Implied(
        "size_type",
        "launch_canary_verify_kernel",
        "verify_capacity",
        "verify_capacity",
        "int",
    ),
    "verify.read_limit.type": Implied(
        "size_type",
        "launch_canary_verify_kernel",
        "read_limit",
        "read_limit",
        "int",
    ),
    "verify.source_0_words.type": Implied(
        "size_type",
        "launch_canary_verify_kernel",
        "source_0_words",
        "source_0_words",
        "int",
    ),
    "verify.source_1_words.type": Implied(
        "size_type",
        "launch_canary_verify_kernel",
        "source_1_words",
        "source_1_words",
        "int",
    ),
    "verify.source_2_words.type": Implied(
        "size_type",
        "launch_canary_verify_kernel",
        "source_2_words",
        "source_2_words",
        "int",
    ),
    "verify.source_3_words.type": Implied(
        "size_type",
        "launch_canary_verify_kernel",
        "source_3_words",
        "source_3_words",
        "int",
    ),
    "verify.read_class.type": Implied(
        "size_type",
        "launch_canary_verify_kernel",
        "read_class",
        "read_class",
        "int",
    ),
    "verify.context.kernel_kind.int64": Implied(
        "int64",
        "launch_canary_verify_kernel",
        "context.kernel_kind",
        "kernel_kind",
        "an int in [-2**63, 2**63 - 1]",
    ),
    "verify.context.canary_buf.contiguous": Implied(
        "contiguous",
        "launch_canary_verify_kernel",
        "context.canary_buf",
        "canary_buf",
        "a contiguous tensor",
    ),
    "verify.context.violation_ring.contiguous": Implied(
        "contiguous",
        "launch_canary_verify_kernel",
        "context.violation_ring",
        "violation_ring",
        "a contiguous tensor",
    ),
    "verify.context.violation_write_index.contiguous": Implied(
        "contiguous",
        "launch_canary_verify_kernel",
        "context.violation_write_index",
        "violation_write_index",
        "a contiguous tensor",
    ),
    "verify.context.slot_run_counter.contiguous": Implied(
        "contiguous",
        "launch_canary_verify_kernel",
        "context.slot_run_counter",
        "slot_run_counter",
        "a contiguous tensor",
    ),
    "verify.context.kernel_run_counter.contiguous": Implied(
        "contiguous",
        "launch_canary_verify_kernel",
        "context.kernel_run_counter",
        "kernel_run_counter",
        "a contiguous tensor",
    ),
    "verify.context.enable_chain_position_assert.contiguous": Implied(
        "contiguous",
        "launch_canary_verify_kernel",
        "context.enable_chain_position_assert",
        "enable_chain_position_assert",
        "a contiguous tensor",
    ),
    "verify.context.evidence_ring.contiguous": Implied(
        "contiguous",
        "launch_canary_verify_kernel",
        "context.evidence_ring",
        "evidence_ring",
        "a contiguous tensor",
    ),
    "verify.context.workspace.contiguous": Implied(
        "contiguous",
        "launch_canary_verify_kernel",
        "context.workspace",
        "workspace",
        "a contiguous tensor",
    ),
    "verify.plan.verify_slot_indices.contiguous": Implied(
        "contiguous",
        "launch_canary_verify_kernel",
        "plan.verify_slot_indices",
        "plan.verify_slot_indices",
        "a contiguous tensor",
    ),
    "verify.plan.verify_expected_tokens.contiguous": Implied(
        "contiguous",
        "launch_canary_verify_kernel",
        "plan.verify_expected_tokens",
        "plan.verify_expected_tokens",
        "a contiguous tensor",
    ),
    "verify.plan.verify_expected_positions.contiguous": Implied(
        "contiguous",
        "launch_canary_verify_kernel",
        "plan.verify_expected_positions",
        "plan.verify_expected_positions",
        "a contiguous tensor",
    ),
    "verify.plan.verify_prev_slot_indices.contiguous": Implied(
        "contiguous",
        "launch_canary_verify_kernel",
        "plan.verify_prev_slot_indices",
        "plan.verify_prev_slot_indices",
        "a contiguous tensor",
    ),
    "verify.plan.verify_num_valid.contiguous": Implied(
        "contiguous",
        "launch_canary_verify_kernel",
        "plan.verify_num_valid",
        "plan.verify_num_valid",
        "a contiguous tensor",
    ),
    "verify.plan.enable.contiguous": Implied(
        "contiguous",
        "launch_canary_verify_kernel",
        "plan.enable",
        "plan.enable",
        "a contiguous tensor",
    ),
    "verify.context.canary_buf.dtype": Implied(
        "dtype",
        "launch_canary_verify_kernel",
        "context.canary_buf",
        "canary_buf",
        "torch.uint8",
    ),
    "verify.context.violation_ring.dtype": Implied(
        "dtype",
        "launch_canary_verify_kernel",
        "context.violation_ring",
        "violation_ring",
        "torch.int64",
    ),
    "verify.context.violation_write_index.dtype": Implied(
        "dtype",
        "launch_canary_verify_kernel",
        "context.violation_write_index",
        "violation_write_index",
        "torch.int32",
    ),
    "verify.context.slot_run_counter.dtype": Implied(
        "dtype",
        "launch_canary_verify_kernel",
        "context.slot_run_counter",
        "slot_run_counter",
        "torch.int64",
    ),
    "verify.context.kernel_run_counter.dtype": Implied(
        "dtype",
        "launch_canary_verify_kernel",
        "context.kernel_run_counter",
        "kernel_run_counter",
        "torch.int64",
    ),
    "verify.context.enable_chain_position_assert.dtype": Implied(
        "dtype",
        "launch_canary_verify_kernel",
        "context.enable_chain_position_assert",
        "enable_chain_position_assert",
        "torch.int32",
    ),
    "verify.context.evidence_ring.dtype": Implied(
        "dtype",
        "launch_canary_verify_kernel",
        "context.evidence_ring",
        "evidence_ring",
        "torch.int64",
    ),
    "verify.context.workspace.dtype": Implied(
        "dtype",
        "launch_canary_verify_kernel",
        "context.workspace",
        "workspace",
        "torch.int64",
    ),
    "verify.plan.verify_slot_indices.dtype": Implied(
        "dtype",
        "launch_canary_verify_kernel",
        "plan.verify_slot_indices",
        "plan.verify_slot_indices",
        "torch.int64",
    ),
    "verify.plan.verify_expected_tokens.dtype": Implied(
        "dtype",
        "launch_canary_verify_kernel",
        "plan.verify_expected_tokens",
        "plan.verify_expected_tokens",
        "torch.int64",
    ),
    "verify.plan.verify_expected_positions.dtype": Implied(
        "dtype",
        "launch_canary_verify_kernel",
        "plan.verify_expected_positions",
        "plan.verify_expected_positions",
        "torch.int64",
    ),
    "verify.plan.verify_prev_slot_indices.dtype": Implied(
        "dtype",
        "launch_canary_verify_kernel",
        "plan.verify_prev_slot_indices",
        "plan.verify_prev_slot_indices",
        "torch.int64",
    ),
    "verify.plan.verify_num_valid.dtype": Implied(
        "dtype",
        "launch_canary_verify_kernel",
        "plan.verify_num_valid",
        "plan.verify_num_valid",
        "torch.int32",
    ),
    "verify.plan.enable.dtype": Implied(
        "dtype",
        "launch_canary_verify_kernel",
        "plan.enable",
        "plan.enable",
        "torch.int32",
    ),
    "verify.context.canary_buf.rank": Implied(
        "rank",
        "launch_canary_verify_kernel",
        "context.canary_buf",
        "canary_buf",
        "2-D",
    ),
    "verify.context.canary_buf.slot_length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "context.canary_buf",
        "canary_buf",
        "num_slots",
    ),
    "verify.context.canary_buf.field_length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "context.canary_buf",
        "canary_buf",
        "slot_stride_bytes",
    ),
    "verify.context.violation_ring.rank": Implied(
        "rank",
        "launch_canary_verify_kernel",
        "context.violation_ring",
        "violation_ring",
        "2-D",
    ),
    "verify.context.violation_ring.violation_length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "context.violation_ring",
        "violation_ring",
        "ring_capacity",
    ),
    "verify.context.violation_ring.field_length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "context.violation_ring",
        "violation_ring",
        "VIOLATION_FIELDS (8)",
    ),
    "verify.context.violation_write_index.rank": Implied(
        "rank",
        "launch_canary_verify_kernel",
        "context.violation_write_index",
        "violation_write_index",
        "1-D",
    ),
    "verify.context.violation_write_index.length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "context.violation_write_index",
        "violation_write_index",
        "1",
    ),
    "verify.context.slot_run_counter.rank": Implied(
        "rank",
        "launch_canary_verify_kernel",
        "context.slot_run_counter",
        "slot_run_counter",
        "1-D",
    ),
    "verify.context.slot_run_counter.length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "context.slot_run_counter",
        "slot_run_counter",
        "1",
    ),
    "verify.context.kernel_run_counter.rank": Implied(
        "rank",
        "launch_canary_verify_kernel",
        "context.kernel_run_counter",
        "kernel_run_counter",
        "1-D",
    ),
    "verify.context.kernel_run_counter.length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "context.kernel_run_counter",
        "kernel_run_counter",
        "1",
    ),
    "verify.context.enable_chain_position_assert.rank": Implied(
        "rank",
        "launch_canary_verify_kernel",
        "context.enable_chain_position_assert",
        "enable_chain_position_assert",
        "1-D",
    ),
    "verify.context.enable_chain_position_assert.length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "context.enable_chain_position_assert",
        "enable_chain_position_assert",
        "1",
    ),
    "verify.context.evidence_ring.rank": Implied(
        "rank",
        "launch_canary_verify_kernel",
        "context.evidence_ring",
        "evidence_ring",
        "2-D",
    ),
    "verify.context.evidence_ring.violation_length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "context.evidence_ring",
        "evidence_ring",
        "ring_capacity",
    ),
    "verify.context.evidence_ring.field_length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "context.evidence_ring",
        "evidence_ring",
        "VIOLATION_FIELDS (8)",
    ),
    "verify.context.workspace.rank": Implied(
        "rank",
        "launch_canary_verify_kernel",
        "context.workspace",
        "workspace",
        "1-D",
    ),
    "verify.context.workspace.length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "context.workspace",
        "workspace",
        "workspace_len",
    ),
    "verify.plan.verify_slot_indices.rank": Implied(
        "rank",
        "launch_canary_verify_kernel",
        "plan.verify_slot_indices",
        "plan.verify_slot_indices",
        "1-D",
    ),
    "verify.plan.verify_slot_indices.length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "plan.verify_slot_indices",
        "plan.verify_slot_indices",
        "verify_capacity",
    ),
    "verify.plan.verify_expected_tokens.rank": Implied(
        "rank",
        "launch_canary_verify_kernel",
        "plan.verify_expected_tokens",
        "plan.verify_expected_tokens",
        "1-D",
    ),
    "verify.plan.verify_expected_tokens.length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "plan.verify_expected_tokens",
        "plan.verify_expected_tokens",
        "verify_capacity",
    ),
    "verify.plan.verify_expected_positions.rank": Implied(
        "rank",
        "launch_canary_verify_kernel",
        "plan.verify_expected_positions",
        "plan.verify_expected_positions",
        "1-D",
    ),
    "verify.plan.verify_expected_positions.length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "plan.verify_expected_positions",
        "plan.verify_expected_positions",
        "verify_capacity",
    ),
    "verify.plan.verify_prev_slot_indices.rank": Implied(
        "rank",
        "launch_canary_verify_kernel",
        "plan.verify_prev_slot_indices",
        "plan.verify_prev_slot_indices",
        "1-D",
    ),
    "verify.plan.verify_prev_slot_indices.length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "plan.verify_prev_slot_indices",
        "plan.verify_prev_slot_indices",
        "verify_capacity",
    ),
    "verify.plan.verify_num_valid.rank": Implied(
        "rank",
        "launch_canary_verify_kernel",
        "plan.verify_num_valid",
        "plan.verify_num_valid",
        "1-D",
    ),
    "verify.plan.verify_num_valid.length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "plan.verify_num_valid",
        "plan.verify_num_valid",
        "1",
    ),
    "verify.plan.enable.rank": Implied(
        "rank",
        "launch_canary_verify_kernel",
        "plan.enable",
        "plan.enable",
        "1-D",
    ),
    "verify.plan.enable.length": Implied(
        "length",
        "launch_canary_verify_kernel",
        "plan.enable",
        "plan.enable",
        "1",
    ),
    "verify.context.violation_ring.device": Implied(
        "device",
        "launch_canary_verify_kernel",
        "context.violation_ring",
        "violation_ring",
        "canary_buf's device",
    ),
    "verify.context.violation_write_index.device": Implied(
        "device",
        "launch_canary_verify_kernel",
        "context.violation_write_index",
        "violation_write_index",
        "canary_buf's device",
    ),
    "verify.context.slot_run_counter.device": Implied(
        "device",
        "launch_canary_verify_kernel",
        "context.slot_run_counter",
        "slot_run_counter",
        "canary_buf's device",
    ),
    "verify.context.kernel_run_counter.device": Implied(
        "device",
        "launch_canary_verify_kernel",
        "context.kernel_run_counter",
        "kernel_run_counter",
        "canary_buf's device",
    ),
    "verify.context.enable_chain_position_assert.device": Implied(
        "device",
        "launch_canary_verify_kernel",
        "context.enable_chain_position_assert",
        "enable_chain_position_assert",
        "canary_buf's device",
    ),
    "verify.context.evidence_ring.device": Implied(
        "device",
        "launch_canary_verify_kernel",
        "context.evidence_ring",
        "evidence_ring",
        "canary_buf's device",
    ),
    "verify.context.workspace.device": Implied(
        "device",
        "launch_canary_verify_kernel",
        "context.workspace",
        "workspace",
        "canary_buf's device",
    ),
    "verify.context.real_kv_sources.tensor.device": Implied(
        "device",
        "launch_canary_verify_kernel",
        "context.real_kv_sources[0].tensor",
        "real_kv_sources[0].tensor",
        "canary_buf's device",
    ),
    "verify.plan.verify_slot_indices.device": Implied(
        "device",
        "launch_canary_verify_kernel",
        "plan.verify_slot_indices",
        "plan.verify_slot_indices",
        "canary_buf's device",
    ),
    "verify.plan.verify_expected_tokens.device": Implied(
        "device",
        "launch_canary_verify_kernel",
        "plan.verify_expected_tokens",
        "plan.verify_expected_tokens",
        "canary_buf's device",
    ),
    "verify.plan.verify_expected_positions.device": Implied(
        "device",
        "launch_canary_verify_kernel",
        "plan.verify_expected_positions",
        "plan.verify_expected_positions",
        "canary_buf's device",
    ),
    "verify.plan.verify_prev_slot_indices.device": Implied(
        "device",
        "launch_canary_verify_kernel",
        "plan.verify_prev_slot_indices",
        "plan.verify_prev_slot_indices",
        "canary_buf's device",
    ),
    "verify.plan.verify_num_valid.device": Implied(
        "device",
        "launch_canary_verify_kernel",
        "plan.verify_num_valid",
        "plan.verify_num_valid",
        "canary_buf's device",
    ),
    "verify.plan.enable.device": Implied(
        "device",
        "launch_canary_verify_kernel",
        "plan.enable",
        "plan.enable",
        "canary_buf's device",
    ),
    "write.context.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "context",
        "context",
        "a VerifyOrWriteContext",
    ),
    "write.context.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "context",
        "context",
        "a VerifyOrWriteContext",
    ),
    "write.context.canary_buf.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "context.canary_buf",
        "canary_buf",
        "a torch.Tensor",
    ),
    "write.context.canary_buf.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "context.canary_buf",
        "canary_buf",
        "a torch.Tensor",
    ),
    "write.context.violation_ring.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "context.violation_ring",
        "violation_ring",
        "a torch.Tensor",
    ),
    "write.context.violation_ring.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "context.violation_ring",
        "violation_ring",
        "a torch.Tensor",
    ),
    "write.context.violation_write_index.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "context.violation_write_index",
        "violation_write_index",
        "a torch.Tensor",
    ),
    "write.context.violation_write_index.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "context.violation_write_index",
        "violation_write_index",
        "a torch.Tensor",
    ),
    "write.context.slot_run_counter.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "context.slot_run_counter",
        "slot_run_counter",
        "a torch.Tensor",
    ),
    "write.context.slot_run_counter.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "context.slot_run_counter",
        "slot_run_counter",
        "a torch.Tensor",
    ),
    "write.context.kernel_run_counter.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "context.kernel_run_counter",
        "kernel_run_counter",
        "a torch.Tensor",
    ),
    "write.context.kernel_run_counter.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "context.kernel_run_counter",
        "kernel_run_counter",
        "a torch.Tensor",
    ),
    "write.context.enable_chain_position_assert.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "context.enable_chain_position_assert",
        "enable_chain_position_assert",
        "a torch.Tensor",
    ),
    "write.context.enable_chain_position_assert.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "context.enable_chain_position_assert",
        "enable_chain_position_assert",
        "a torch.Tensor",
    ),
    "write.context.evidence_ring.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "context.evidence_ring",
        "evidence_ring",
        "a torch.Tensor",
    ),
    "write.context.workspace.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "context.workspace",
        "workspace",
        "a torch.Tensor",
    ),
    "write.context.kernel_kind.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "context.kernel_kind",
        "kernel_kind",
        "int",
    ),
    "write.context.kernel_kind.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "context.kernel_kind",
        "kernel_kind",
        "int",
    ),
    "write.context.real_kv_hash_mode.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "context.real_kv_hash_mode",
        "real_kv_hash_mode",
        "a RealKvHashMode",
    ),
    "write.context.real_kv_hash_mode.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "context.real_kv_hash_mode",
        "real_kv_hash_mode",
        "a RealKvHashMode",
    ),
    "write.context.hash_format.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "context.hash_format",
        "hash_format",
        "one of serial/parallel",
    ),
    "write.context.hash_format.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "context.hash_format",
        "hash_format",
        "one of serial/parallel",
    ),
    "write.context.real_kv_sources.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "context.real_kv_sources",
        "real_kv_sources",
        "a tuple or list of RealKvSource",
    ),
    "write.context.real_kv_sources.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "context.real_kv_sources",
        "real_kv_sources",
        "a tuple or list of RealKvSource",
    ),
    "write.context.real_kv_sources.items": Implied(
        "items",
        "launch_canary_write_kernel",
        "context.real_kv_sources",
        "real_kv_sources",
        "a RealKvSource",
    ),
    "write.plan.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "plan",
        "plan",
        "a WritePlan",
    ),
    "write.plan.type": Implied("type", "launch_canary_write_kernel", "plan", "plan", "a WritePlan"),
    "write.plan.write_offsets.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "plan.write_offsets",
        "plan.write_offsets",
        "a torch.Tensor",
    ),
    "write.plan.write_offsets.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "plan.write_offsets",
        "plan.write_offsets",
        "a torch.Tensor",
    ),
    "write.plan.write_seed_slot_indices.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "plan.write_seed_slot_indices",
        "plan.write_seed_slot_indices",
        "a torch.Tensor",
    ),
    "write.plan.write_seed_slot_indices.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "plan.write_seed_slot_indices",
        "plan.write_seed_slot_indices",
        "a torch.Tensor",
    ),
    "write.plan.write_num_valid_reqs.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "plan.write_num_valid_reqs",
        "plan.write_num_valid_reqs",
        "a torch.Tensor",
    ),
    "write.plan.write_num_valid_reqs.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "plan.write_num_valid_reqs",
        "plan.write_num_valid_reqs",
        "a torch.Tensor",
    ),
    "write.input_ids.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "input_ids",
        "input_ids",
        "a torch.Tensor",
    ),
    "write.input_ids.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "input_ids",
        "input_ids",
        "a torch.Tensor",
    ),
    "write.positions.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "positions",
        "positions",
        "a torch.Tensor",
    ),
    "write.positions.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "positions",
        "positions",
        "a torch.Tensor",
    ),
    "write.out_cache_loc.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "out_cache_loc",
        "out_cache_loc",
        "a torch.Tensor",
    ),
    "write.out_cache_loc.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "out_cache_loc",
        "out_cache_loc",
        "a torch.Tensor",
    ),
    "write.enable_write_input_assert.required": Implied(
        "required",
        "launch_canary_write_kernel",
        "enable_write_input_assert",
        "enable_write_input_assert",
        "bool",
    ),
    "write.enable_write_input_assert.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "enable_write_input_assert",
        "enable_write_input_assert",
        "bool",
    ),
    "write.expected_input_tokens.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "expected_input_tokens",
        "expected_input_tokens",
        "a torch.Tensor",
    ),
    "write.expected_input_positions.type": Implied(
        "type",
        "launch_canary_write_kernel",
        "expected_input_positions",
        "expected_input_positions",
        "a torch.Tensor",
    ),
    "write.num_slots.type": Implied(
        "size_type",
        "launch_canary_write_kernel",
        "num_slots",
        "num_slots",
        "int",
    ),
    "write.slot_stride_bytes.type": Implied(
        "size_type",
        "launch_canary_write_kernel",
        "slot_stride_bytes",
        "slot_stride_bytes",
        "int",
    ),
    "write.ring_capacity.type": Implied(
        "size_type",
        "launch_canary_write_kernel",
        "ring_capacity",
        "ring_capacity",
        "int",
    ),
    "write.workspace_len.type": Implied(
        "size_type",
        "launch_canary_write_kernel",
        "workspace_len",
        "workspace_len",
        "int",
    ),
    "write.write_req_capacity.type": Implied(
        "size_type",
        "launch_canary_write_kernel",
        "write_req_capacity",
        "write_req_capacity",
        "int",
    ),
    "write.num_tokens.type": Implied(
        "size_type",
        "launch_canary_write_kernel",
        "num_tokens",
        "num_tokens",
        "int",
    ),
    "write.read_limit.type": Implied(
        "size_type",
        "launch_canary_write_kernel",
        "read_limit",
        "read_limit",
        "int",
    ),
    "write.source_0_words.type": Implied(
        "size_type",
        "launch_canary_write_kernel",
        "source_0_words",
        "source_0_words",
        "int",
    ),
    "write.source_1_words.type": Implied(
        "size_type",
        "launch_canary_write_kernel",
        "source_1_words",
        "source_1_words",
        "int",
    ),
    "write.source_2_words.type": Implied(
        "size_type",
        "launch_canary_write_kernel",
        "source_2_words",
        "source_2_words",
        "int",
    ),
    "write.source_3_words.type": Implied(
        "size_type",
        "launch_canary_write_kernel",
        "source_3_words",
        "source_3_words",
        "int",
    ),
    "write.is_split.type": Implied(
        "size_type",
        "launch_canary_write_kernel",
        "is_split",
        "is_split",
        "int",
    ),
    "write.read_class.type": Implied(
        "size_type",
        "launch_canary_write_kernel",
        "read_class",
        "read_class",
        "int",
    ),
    "write.context.kernel_kind.int64": Implied(
        "int64",
        "launch_canary_write_kernel",
        "context.kernel_kind",
        "kernel_kind",
        "an int in [-2**63, 2**63 - 1]",
    ),
    "write.context.canary_buf.contiguous": Implied(
        "contiguous",
        "launch_canary_write_kernel",
        "context.canary_buf",
        "canary_buf",
        "a contiguous tensor",
    ),
    "write.context.violation_ring.contiguous": Implied(
        "contiguous",
        "launch_canary_write_kernel",
        "context.violation_ring",
        "violation_ring",
        "a contiguous tensor",
    ),
    "write.context.violation_write_index.contiguous": Implied(
        "contiguous",
        "launch_canary_write_kernel",
        "context.violation_write_index",
        "violation_write_index",
        "a contiguous tensor",
    ),
    "write.context.slot_run_counter.contiguous": Implied(
        "contiguous",
        "launch_canary_write_kernel",
        "context.slot_run_counter",
        "slot_run_counter",
        "a contiguous tensor",
    ),
    "write.context.kernel_run_counter.contiguous": Implied(
        "contiguous",
        "launch_canary_write_kernel",
        "context.kernel_run_counter",
        "kernel_run_counter",
        "a contiguous tensor",
    ),
    "write.context.enable_chain_position_assert.contiguous": Implied(
        "contiguous",
        "launch_canary_write_kernel",
        "context.enable_chain_position_assert",
        "enable_chain_position_assert",
        "a contiguous tensor",
    ),
    "write.context.evidence_ring.contiguous": Implied(
        "contiguous",
        "launch_canary_write_kernel",
        "context.evidence_ring",
        "evidence_ring",
        "a contiguous tensor",
    ),
    "write.context.workspace.contiguous": Implied(
        "contiguous",
        "launch_canary_write_kernel",
        "context.workspace",
        "workspace",
        "a contiguous tensor",
    ),
    "write.plan.write_offsets.contiguous": Implied(
        "contiguous",
        "launch_canary_write_kernel",
        "plan.write_offsets",
        "plan.write_offsets",
        "a contiguous tensor",
    ),
    "write.plan.write_seed_slot_indices.contiguous": Implied(
        "contiguous",
        "launch_canary_write_kernel",
        "plan.write_seed_slot_indices",
        "plan.write_seed_slot_indices",
        "a contiguous tensor",
    ),
    "write.plan.write_num_valid_reqs.contiguous": Implied(
        "contiguous",
        "launch_canary_write_kernel",
        "plan.write_num_valid_reqs",
        "plan.write_num_valid_reqs",
        "a contiguous tensor",
    ),
    "write.input_ids.contiguous": Implied(
        "contiguous",
        "launch_canary_write_kernel",
        "input_ids",
        "input_ids",
        "a contiguous tensor",
    ),
    "write.positions.contiguous": Implied(
        "contiguous",
        "launch_canary_write_kernel",
        "positions",
        "positions",
        "a contiguous tensor",
    ),
    "write.out_cache_loc.contiguous": Implied(
        "contiguous",
        "launch_canary_write_kernel",
        "out_cache_loc",
        "out_cache_loc",
        "a contiguous tensor",
    ),
    "write.expected_input_tokens.contiguous": Implied(
        "contiguous",
        "launch_canary_write_kernel",
        "expected_input_tokens",
        "expected_input_tokens",
        "a contiguous tensor",
    ),
    "write.expected_input_positions.contiguous": Implied(
        "contiguous",
        "launch_canary_write_kernel",
        "expected_input_positions",
        "expected_input_positions",
        "a contiguous tensor",
    ),
    "write.context.canary_buf.dtype": Implied(
        "dtype",
        "launch_canary_write_kernel",
        "context.canary_buf",
        "canary_buf",
        "torch.uint8",
    ),
    "write.context.violation_ring.dtype": Implied(
        "dtype",
        "launch_canary_write_kernel",
        "context.violation_ring",
        "violation_ring",
        "torch.int64",
    ),
    "write.context.violation_write_index.dtype": Implied(
        "dtype",
        "launch_canary_write_kernel",
        "context.violation_write_index",
        "violation_write_index",
        "torch.int32",
    ),
    "write.context.slot_run_counter.dtype": Implied(
        "dtype",
        "launch_canary_write_kernel",
        "context.slot_run_counter",
        "slot_run_counter",
        "torch.int64",
    ),
    "write.context.kernel_run_counter.dtype": Implied(
        "dtype",
        "launch_canary_write_kernel",
        "context.kernel_run_counter",
        "kernel_run_counter",
        "torch.int64",
    ),
    "write.context.enable_chain_position_assert.dtype": Implied(
        "dtype",
        "launch_canary_write_kernel",
        "context.enable_chain_position_assert",
        "enable_chain_position_assert",
        "torch.int32",
    ),
    "write.context.evidence_ring.dtype": Implied(
        "dtype",
        "launch_canary_write_kernel",
        "context.evidence_ring",
        "evidence_ring",
        "torch.int64",
    ),
    "write.context.workspace.dtype": Implied(
        "dtype",
        "launch_canary_write_kernel",
        "context.workspace",
        "workspace",
        "torch.int64",
    ),
    "write.plan.write_offsets.dtype": Implied(
        "dtype",
        "launch_canary_write_kernel",
        "plan.write_offsets",
        "plan.write_offsets",
        "torch.int64",
    ),
    "write.plan.write_seed_slot_indices.dtype": Implied(
        "dtype",
        "launch_canary_write_kernel",
        "plan.write_seed_slot_indices",
        "plan.write_seed_slot_indices",
        "torch.int64",
    ),
    "write.plan.write_num_valid_reqs.dtype": Implied(
        "dtype",
        "launch_canary_write_kernel",
        "plan.write_num_valid_reqs",
        "plan.write_num_valid_reqs",
        "torch.int32",
    ),
    "write.input_ids.dtype": Implied(
        "dtype",
        "launch_canary_write_kernel",
        "input_ids",
        "input_ids",
        "torch.int64",
    ),
    "write.positions.dtype": Implied(
        "dtype",
        "launch_canary_write_kernel",
        "positions",
        "positions",
        "torch.int64",
    ),
    "write.out_cache_loc.dtype": Implied(
        "dtype",
        "launch_canary_write_kernel",
        "out_cache_loc",
        "out_cache_loc",
        "torch.int64",
    ),
    "write.expected_input_tokens.dtype": Implied(
        "dtype",
        "launch_canary_write_kernel",
        "expected_input_tokens",
        "expected_input_tokens",
        "torch.int64",
    ),
    "write.expected_input_positions.dtype": Implied(
        "dtype",
        "launch_canary_write_kernel",
        "expected_input_positions",
        "expected_input_positions",
        "torch.int64",
    ),
    "write.context.canary_buf.rank": Implied(
        "rank",
        "launch_canary_write_kernel",
        "context.canary_buf",
        "canary_buf",
        "2-D",
    ),
    "write.context.canary_buf.slot_length": Implied(
        "length",
        "launch_canary_write_kernel",
        "context.canary_buf",
        "canary_buf",
        "num_slots",
    ),
    "write.context.canary_buf.field_length": Implied(
        "length",
        "launch_canary_write_kernel",
        "context.canary_buf",
        "canary_buf",
        "slot_stride_bytes",
    ),
    "write.context.violation_ring.rank": Implied(
        "rank",
        "launch_canary_write_kernel",
        "context.violation_ring",
        "violation_ring",
        "2-D",
    ),
    "write.context.violation_ring.violation_length": Implied(
        "length",
        "launch_canary_write_kernel",
        "context.violation_ring",
        "violation_ring",
        "ring_capacity",
    ),
    "write.context.violation_ring.field_length": Implied(
        "length",
        "launch_canary_write_kernel",
        "context.violation_ring",
        "violation_ring",
        "VIOLATION_FIELDS (8)",
    ),
    "write.context.violation_write_index.rank": Implied(
        "rank",
        "launch_canary_write_kernel",
        "context.violation_write_index",
        "violation_write_index",
        "1-D",
    ),
    "write.context.violation_write_index.length": Implied(
        "length",
        "launch_canary_write_kernel",
        "context.violation_write_index",
        "violation_write_index",
        "1",
    ),
    "write.context.slot_run_counter.rank": Implied(
        "rank",
        "launch_canary_write_kernel",
        "context.slot_run_counter",
        "slot_run_counter",
        "1-D",
    ),
    "write.context.slot_run_counter.length": Implied(
        "length",
        "launch_canary_write_kernel",
        "context.slot_run_counter",
        "slot_run_counter",
        "1",
    ),
    "write.context.kernel_run_counter.rank": Implied(
        "rank",
        "launch_canary_write_kernel",
        "context.kernel_run_counter",
        "kernel_run_counter",
        "1-D",
    ),
    "write.context.kernel_run_counter.length": Implied(
        "length",
        "launch_canary_write_kernel",
        "context.kernel_run_counter",
        "kernel_run_counter",
        "1",
    ),
    "write.context.enable_chain_position_assert.rank": Implied(
        "rank",
        "launch_canary_write_kernel",
        "context.enable_chain_position_assert",
        "enable_chain_position_assert",
        "1-D",
    ),
    "write.context.enable_chain_position_assert.length": Implied(
        "length",
        "launch_canary_write_kernel",
        "context.enable_chain_position_assert",
        "enable_chain_position_assert",
        "1",
    ),
    "write.context.evidence_ring.rank": Implied(
        "rank",
        "launch_canary_write_kernel",
        "context.evidence_ring",
        "evidence_ring",
        "2-D",
    ),
    "write.context.evidence_ring.violation_length": Implied(
        "length",
        "launch_canary_write_kernel",
        "context.evidence_ring",
        "evidence_ring",
        "ring_capacity",
    ),
    "write.context.evidence_ring.field_length": Implied(
        "length",
        "launch_canary_write_kernel",
        "context.evidence_ring",
        "evidence_ring",
        "VIOLATION_FIELDS (8)",
    ),
    "write.context.workspace.rank": Implied(
        "rank",
        "launch_canary_write_kernel",
        "context.workspace",
        "workspace",
        "1-D",
    ),
    "write.context.workspace.length": Implied(
        "length",
        "launch_canary_write_kernel",
        "context.workspace",
        "workspace",
        "workspace_len",
    ),
    "write.plan.write_offsets.rank": Implied(
        "rank",
        "launch_canary_write_kernel",
        "plan.write_offsets",
        "plan.write_offsets",
        "1-D",
    ),
    "write.plan.write_offsets.length": Implied(
        "length",
        "launch_canary_write_kernel",
        "plan.write_offsets",
        "plan.write_offsets",
        "write_req_capacity + 1",
    ),
    "write.plan.write_seed_slot_indices.rank": Implied(
        "rank",
        "launch_canary_write_kernel",
        "plan.write_seed_slot_indices",
        "plan.write_seed_slot_indices",
        "1-D",
    ),
    "write.plan.write_seed_slot_indices.length": Implied(
        "length",
        "launch_canary_write_kernel",
        "plan.write_seed_slot_indices",
        "plan.write_seed_slot_indices",
        "write_req_capacity",
    ),
    "write.plan.write_num_valid_reqs.rank": Implied(
        "rank",
        "launch_canary_write_kernel",
        "plan.write_num_valid_reqs",
        "plan.write_num_valid_reqs",
        "1-D",
    ),
    "write.plan.write_num_valid_reqs.length": Implied(
        "length",
        "launch_canary_write_kernel",
        "plan.write_num_valid_reqs",
        "plan.write_num_valid_reqs",
        "1",
    ),
    "write.input_ids.rank": Implied(
        "rank",
        "launch_canary_write_kernel",
        "input_ids",
        "input_ids",
        "1-D",
    ),
    "write.input_ids.length": Implied(
        "length",
        "launch_canary_write_kernel",
        "input_ids",
        "input_ids",
        "num_tokens",
    ),
    "write.positions.rank": Implied(
        "rank",
        "launch_canary_write_kernel",
        "positions",
        "positions",
        "1-D",
    ),
    "write.positions.length": Implied(
        "length",
        "launch_canary_write_kernel",
        "positions",
        "positions",
        "num_tokens",
    ),
    "write.out_cache_loc.rank": Implied(
        "rank",
        "launch_canary_write_kernel",
        "out_cache_loc",
        "out_cache_loc",
        "1-D",
    ),
    "write.out_cache_loc.length": Implied(
        "length",
        "launch_canary_write_kernel",
        "out_cache_loc",
        "out_cache_loc",
        "num_tokens",
    ),
    "write.expected_input_tokens.rank": Implied(
        "rank",
        "launch_canary_write_kernel",
        "expected_input_tokens",
        "expected_input_tokens",
        "1-D",
    ),
    "write.expected_input_tokens.length": Implied(
        "length",
        "launch_canary_write_kernel",
        "expected_input_tokens",
        "expected_input_tokens",
        "num_tokens",
    ),
    "write.expected_input_positions.rank": Implied(
        "rank",
        "launch_canary_write_kernel",
        "expected_input_positions",
        "expected_input_positions",
        "1-D",
    ),
    "write.expected_input_positions.length": Implied(
        "length",
        "launch_canary_write_kernel",
        "expected_input_positions",
        "expected_input_positions",
        "num_tokens",
    ),
    "write.context.violation_ring.device": Implied(
        "device",
        "launch_canary_write_kernel",
        "context.violation_ring",
        "violation_ring",
        "canary_buf's device",
    ),
    "write.context.violation_write_index.device": Implied(
        "device",
        "launch_canary_write_kernel",
        "context.violation_write_index",
        "violation_write_index",
        "canary_buf's device",
    ),
    "write.context.slot_run_counter.device": Implied(
        "device",
        "launch_canary_write_kernel",
        "context.slot_run_counter",
        "slot_run_counter",
        "canary_buf's device",
    ),
    "write.context.kernel_run_counter.device": Implied(
        "device",
        "launch_canary_write_kernel",
        "context.kernel_run_counter",
        "kernel_run_counter",
        "canary_buf's device",
    ),
    "write.context.enable_chain_position_assert.device": Implied(
        "device",
        "launch_canary_write_kernel",
        "context.enable_chain_position_assert",
        "enable_chain_position_assert",
        "canary_buf's device",
    ),
    "write.context.evidence_ring.device": Implied(
        "device",
        "launch_canary_write_kernel",
        "context.evidence_ring",
        "evidence_ring",
        "canary_buf's device",
    ),
    "write.context.workspace.device": Implied(
        "device",
        "launch_canary_write_kernel",
        "context.workspace",
        "workspace",
        "canary_buf's device",
    ),
    "write.context.real_kv_sources.tensor.device": Implied(
        "device",
        "launch_canary_write_kernel",
        "context.real_kv_sources[0].tensor",
        "real_kv_sources[0].tensor",
        "canary_buf's device",
    ),
    "write.plan.write_offsets.device": Implied(
        "device",
        "launch_canary_write_kernel",
        "plan.write_offsets",
        "plan.write_offsets",
        "canary_buf's device",
    ),
    "write.plan.write_seed_slot_indices.device": Implied(
        "device",
        "launch_canary_write_kernel",
        "plan.write_seed_slot_indices",
        "plan.write_seed_slot_indices",
        "canary_buf's device",
    ),
    "write.plan.write_num_valid_reqs.device": Implied(
        "device",
        "launch_canary_write_kernel",
        "plan.write_num_valid_reqs",
        "plan.write_num_valid_reqs",
        "canary_buf's device",
    ),
    "write.input_ids.device": Implied(
        "device",
        "launch_canary_write_kernel",
        "input_ids",
        "input_ids",
        "canary_buf's device",
    ),
    "write.positions.device": Implied(
        "device",
        "launch_canary_write_kernel",
        "positions",
        "positions",
        "canary_buf's device",
    ),
    "write.out_cache_loc.device": Implied(
        "device",
        "launch_canary_write_kernel",
        "out_cache_loc",
        "out_cache_loc",
        "canary_buf's device",
    ),
    "write.expected_input_tokens.device": Implied(
        "device",
        "launch_canary_write_kernel",
        "expected_input_tokens",
        "expected_input_tokens",
        "canary_buf's device",
    ),
    "write.expected_input_positions.device": Implied(
        "device",
        "launch_canary_write_kernel",
        "expected_input_positions",
        "expected_input_positions",
        "canary_buf's device",
    ),
    "write_sums.canary_buf.required": Implied(
        "required",
        "launch_write_sums_kernel",
        "canary_buf",
        "canary_buf",
        "a torch.Tensor",
    ),
    "write_sums.canary_buf.type": Implied(
        "type",
        "launch_write_sums_kernel",
        "canary_buf",
        "canary_buf",
        "a torch.Tensor",
    ),
    "write_sums.workspace.required": Implied(
        "required",
        "launch_write_sums_kernel",
        "workspace",
        "workspace",
        "a torch.Tensor",
    ),
    "write_sums.workspace.type": Implied(
        "type",
        "launch_write_sums_kernel",
        "workspace",
        "workspace",
        "a torch.Tensor",
    ),
    "write_sums.write_offsets.required": Implied(
        "required",
        "launch_write_sums_kernel",
        "write_offsets",
        "write_offsets",
        "a torch.Tensor",
    ),
    "write_sums.write_offsets.type": Implied(
        "type",
        "launch_write_sums_kernel",
        "write_offsets",
        "write_offsets",
        "a torch.Tensor",
    ),
    "write_sums.write_seed_slot_indices.required": Implied(
        "required",
        "launch_write_sums_kernel",
        "write_seed_slot_indices",
        "write_seed_slot_indices",
        "a torch.Tensor",
    ),
    "write_sums.write_seed_slot_indices.type": Implied(
        "type",
        "launch_write_sums_kernel",
        "write_seed_slot_indices",
        "write_seed_slot_indices",
        "a torch.Tensor",
    ),
    "write_sums.write_num_valid_reqs.required": Implied(
        "required",
        "launch_write_sums_kernel",
        "write_num_valid_reqs",
        "write_num_valid_reqs",
        "a torch.Tensor",
    ),
    "write_sums.write_num_valid_reqs.type": Implied(
        "type",
        "launch_write_sums_kernel",
        "write_num_valid_reqs",
        "write_num_valid_reqs",
        "a torch.Tensor",
    ),
    "write_sums.input_ids.required": Implied(
        "required",
        "launch_write_sums_kernel",
        "input_ids",
        "input_ids",
        "a torch.Tensor",
    ),
    "write_sums.input_ids.type": Implied(
        "type",
        "launch_write_sums_kernel",
        "input_ids",
        "input_ids",
        "a torch.Tensor",
    ),
    "write_sums.positions.required": Implied(
        "required",
        "launch_write_sums_kernel",
        "positions",
        "positions",
        "a torch.Tensor",
    ),
    "write_sums.positions.type": Implied(
        "type",
        "launch_write_sums_kernel",
        "positions",
        "positions",
        "a torch.Tensor",
    ),
    "write_sums.out_cache_loc.required": Implied(
        "required",
        "launch_write_sums_kernel",
        "out_cache_loc",
        "out_cache_loc",
        "a torch.Tensor",
    ),
    "write_sums.out_cache_loc.type": Implied(
        "type",
        "launch_write_sums_kernel",
        "out_cache_loc",
        "out_cache_loc",
        "a torch.Tensor",
    ),
    "write_sums.num_slots.type": Implied(
        "size_type",
        "launch_write_sums_kernel",
        "num_slots",
        "num_slots",
        "int",
    ),
    "write_sums.slot_bytes.type": Implied(
        "size_type",
        "launch_write_sums_kernel",
        "slot_bytes",
        "slot_bytes",
        "int",
    ),
    "write_sums.workspace_len.type": Implied(
        "size_type",
        "launch_write_sums_kernel",
        "workspace_len",
        "workspace_len",
        "int",
    ),
    "write_sums.write_req_capacity.type": Implied(
        "size_type",
        "launch_write_sums_kernel",
        "write_req_capacity",
        "write_req_capacity",
        "int",
    ),
    "write_sums.num_tokens.type": Implied(
        "size_type",
        "launch_write_sums_kernel",
        "num_tokens",
        "num_tokens",
        "int",
    ),
    "write_sums.canary_buf.contiguous": Implied(
        "contiguous",
        "launch_write_sums_kernel",
        "canary_buf",
        "canary_buf",
        "a contiguous tensor",
    ),
    "write_sums.workspace.contiguous": Implied(
        "contiguous",
        "launch_write_sums_kernel",
        "workspace",
        "workspace",
        "a contiguous tensor",
    ),
    "write_sums.write_offsets.contiguous": Implied(
        "contiguous",
        "launch_write_sums_kernel",
        "write_offsets",
        "write_offsets",
        "a contiguous tensor",
    ),
    "write_sums.write_seed_slot_indices.contiguous": Implied(
        "contiguous",
        "launch_write_sums_kernel",
        "write_seed_slot_indices",
        "write_seed_slot_indices",
        "a contiguous tensor",
    ),
    "write_sums.write_num_valid_reqs.contiguous": Implied(
        "contiguous",
        "launch_write_sums_kernel",
        "write_num_valid_reqs",
        "write_num_valid_reqs",
        "a contiguous tensor",
    ),
    "write_sums.input_ids.contiguous": Implied(
        "contiguous",
        "launch_write_sums_kernel",
        "input_ids",
        "input_ids",
        "a contiguous tensor",
    ),
    "write_sums.positions.contiguous": Implied(
        "contiguous",
        "launch_write_sums_kernel",
        "positions",
        "positions",
        "a contiguous tensor",
    ),
    "write_sums.out_cache_loc.contiguous": Implied(
        "contiguous",
        "launch_write_sums_kernel",
        "out_cache_loc",
        "out_cache_loc",
        "a contiguous tensor",
    ),
    "write_sums.canary_buf.dtype": Implied(
        "dtype",
        "launch_write_sums_kernel",
        "canary_buf",
        "canary_buf",
        "torch.uint8",
    ),
    "write_sums.workspace.dtype": Implied(
        "dtype",
        "launch_write_sums_kernel",
        "workspace",
        "workspace",
        "torch.int64",
    ),
    "write_sums.write_offsets.dtype": Implied(
        "dtype",
        "launch_write_sums_kernel",
        "write_offsets",
        "write_offsets",
        "torch.int64",
    ),
    "write_sums.write_seed_slot_indices.dtype": Implied(
        "dtype",
        "launch_write_sums_kernel",
        "write_seed_slot_indices",
        "write_seed_slot_indices",
        "torch.int64",
    ),
    "write_sums.write_num_valid_reqs.dtype": Implied(
        "dtype",
        "launch_write_sums_kernel",
        "write_num_valid_reqs",
        "write_num_valid_reqs",
        "torch.int32",
    ),
    "write_sums.input_ids.dtype": Implied(
        "dtype",
        "launch_write_sums_kernel",
        "input_ids",
        "input_ids",
        "torch.int64",
    ),
    "write_sums.positions.dtype": Implied(
        "dtype",
        "launch_write_sums_kernel",
        "positions",
        "positions",
        "torch.int64",
    ),
    "write_sums.out_cache_loc.dtype": Implied(
        "dtype",
        "launch_write_sums_kernel",
        "out_cache_loc",
        "out_cache_loc",
        "torch.int64",
    ),
    "write_sums.canary_buf.rank": Implied(
        "rank",
        "launch_write_sums_kernel",
        "canary_buf",
        "canary_buf",
        "2-D",
    ),
    "write_sums.canary_buf.slot_length": Implied(
        "length",
        "launch_write_sums_kernel",
        "canary_buf",
        "canary_buf",
        "num_slots",
    ),
    "write_sums.canary_buf.field_length": Implied(
        "length",
        "launch_write_sums_kernel",
        "canary_buf",
        "canary_buf",
        "slot_bytes",
    ),
    "write_sums.workspace.rank": Implied(
        "rank",
        "launch_write_sums_kernel",
        "workspace",
        "workspace",
        "1-D",
    ),
    "write_sums.workspace.length": Implied(
        "length",
        "launch_write_sums_kernel",
        "workspace",
        "workspace",
        "workspace_len",
    ),
    "write_sums.write_offsets.rank": Implied(
        "rank",
        "launch_write_sums_kernel",
        "write_offsets",
        "write_offsets",
        "1-D",
    ),
    "write_sums.write_offsets.length": Implied(
        "length",
        "launch_write_sums_kernel",
        "write_offsets",
        "write_offsets",
        "write_req_capacity + 1",
    ),
    "write_sums.write_seed_slot_indices.rank": Implied(
        "rank",
        "launch_write_sums_kernel",
        "write_seed_slot_indices",
        "write_seed_slot_indices",
        "1-D",
    ),
    "write_sums.write_seed_slot_indices.length": Implied(
        "length",
        "launch_write_sums_kernel",
        "write_seed_slot_indices",
        "write_seed_slot_indices",
        "write_req_capacity",
    ),
    "write_sums.write_num_valid_reqs.rank": Implied(
        "rank",
        "launch_write_sums_kernel",
        "write_num_valid_reqs",
        "write_num_valid_reqs",
        "1-D",
    ),
    "write_sums.write_num_valid_reqs.length": Implied(
        "length",
        "launch_write_sums_kernel",
        "write_num_valid_reqs",
        "write_num_valid_reqs",
        "1",
    ),
    "write_sums.input_ids.rank": Implied(
        "rank",
        "launch_write_sums_kernel",
        "input_ids",
        "input_ids",
        "1-D",
    ),
    "write_sums.input_ids.length": Implied(
        "length",
        "launch_write_sums_kernel",
        "input_ids",
        "input_ids",
        "num_tokens",
    ),
    "write_sums.positions.rank": Implied(
        "rank",
        "launch_write_sums_kernel",
        "positions",
        "positions",
        "1-D",
    ),
    "write_sums.positions.length": Implied(
        "length",
        "launch_write_sums_kernel",
        "positions",
        "positions",
        "num_tokens",
    ),
    "write_sums.out_cache_loc.rank": Implied(
        "rank",
        "launch_write_sums_kernel",
        "out_cache_loc",
        "out_cache_loc",
        "1-D",
    ),
    "write_sums.out_cache_loc.length": Implied(
        "length",
        "launch_write_sums_kernel",
        "out_cache_loc",
        "out_cache_loc",
        "num_tokens",
    ),
    "write_sums.workspace.device": Implied(
        "device",
        "launch_write_sums_kernel",
        "workspace",
        "workspace",
        "canary_buf's device",
    ),
    "write_sums.write_offsets.device": Implied(
        "device",
        "launch_write_sums_kernel",
        "write_offsets",
        "write_offsets",
        "canary_buf's device",
    ),
    "write_sums.write_seed_slot_indices.device": Implied(
        "device",
        "launch_write_sums_kernel",
        "write_seed_slot_indices",
        "write_seed_slot_indices",
        "canary_buf's device",
    ),
    "write_sums.write_num_valid_reqs.device": Implied(
        "device",
        "launch_write_sums_kernel",
        "write_num_valid_reqs",
        "write_num_valid_reqs",
        "canary_buf's device",
    ),
    "write_sums.input_ids.device": Implied(
        "device",
        "launch_write_sums_kernel",
        "input_ids",
        "input_ids",
        "canary_buf's device",
    ),
    "write_sums.positions.device": Implied(
        "device",
        "launch_write_sums_kernel",
        "positions",
        "positions",
        "canary_buf's device",
    ),
    "write_sums.out_cache_loc.device": Implied(
        "device",
        "launch_write_sums_kernel",
        "out_cache_loc",
        "out_cache_loc",
        "canary_buf's device",
    ),
}

GUARDS: dict[str, tuple[Guard, ...]] = {
    "launch_count": (),
    "plan": (
        Guard("req_pool_indices", "requests", "bs", "req_pool_indices_request_in_range"),
        Guard("prefix_lens", "requests", "bs", "prefix_lens_request_in_range"),
        Guard("req_pool_indices", "earlier", "bs", "earlier_row_request_in_range"),
        Guard("extend_seq_lens", "earlier", "bs", "earlier_extend_request_in_range"),
        Guard("req_pool_indices", "own", "bs", "own_row_request_in_range"),
        Guard("prefix_lens", "own", "bs", "own_prefix_request_in_range"),
        Guard("extend_seq_lens", "own", "bs", "own_extend_request_in_range"),
        Guard(
            "write_plan_out.write_offsets",
            "own",
            "write_offsets_len",
            "out_write_offsets_boundary_in_range",
        ),
        Guard("req_to_token", "own_row", "max_reqs", "seed_row_in_range"),
        Guard("req_to_token", "own_prefix - 1", "max_seq_len", "seed_position_in_range"),
        Guard("full_to_swa_index_mapping", "seed", "lut_len", "seed_mapping_slot_in_range"),
        Guard(
            "write_plan_out.write_seed_slot_indices",
            "own",
            "write_req_capacity",
            "out_write_seed_slot_indices_request_in_range",
        ),
        Guard("req_pool_indices", "member", "bs", "member_request_in_range"),
        Guard("prefix_lens", "member", "bs", "member_prefix_request_in_range"),
        Guard("req_to_token", "owner_row", "max_reqs", "req_to_token_row_in_range"),
        Guard("req_to_token", "position", "max_seq_len", "req_to_token_position_in_range"),
        Guard("req_to_token", "owner_row", "max_reqs", "previous_row_in_range"),
        Guard("req_to_token", "position - 1", "max_seq_len", "previous_position_in_range"),
        Guard(
            "full_to_swa_index_mapping",
            "slot",
            "lut_len",
            "full_to_swa_index_mapping_slot_in_range",
        ),
        Guard("full_to_swa_index_mapping", "previous", "lut_len", "previous_mapping_slot_in_range"),
        Guard(
            "req_to_verify_expected_tokens_valid_lens",
            "owner",
            "bs",
            "req_to_verify_expected_tokens_valid_lens_request_in_range",
        ),
        Guard(
            "req_to_verify_expected_tokens",
            "owner_row",
            "token_rows",
            "req_to_verify_expected_tokens_row_in_range",
        ),
        Guard(
            "req_to_verify_expected_tokens",
            "column",
            "token_columns",
            "req_to_verify_expected_tokens_column_in_range",
        ),
        Guard(
            "verify_plan_out.verify_slot_indices",
            "tile_start",
            "verify_capacity",
            "whole_entry_in_range",
        ),
        Guard(
            "verify_plan_out.verify_expected_tokens",
            "tile_start",
            "verify_capacity",
            "whole_tokens_entry_in_range",
        ),
        Guard(
            "verify_plan_out.verify_expected_positions",
            "tile_start",
            "verify_capacity",
            "whole_positions_entry_in_range",
        ),
        Guard(
            "verify_plan_out.verify_prev_slot_indices",
            "tile_start",
            "verify_capacity",
            "whole_previous_entry_in_range",
        ),
        Guard(
            "verify_plan_out.verify_slot_indices",
            "entry",
            "verify_capacity",
            "out_verify_slot_indices_entry_in_range",
        ),
        Guard(
            "verify_plan_out.verify_expected_tokens",
            "entry",
            "verify_capacity",
            "out_verify_expected_tokens_entry_in_range",
        ),
        Guard(
            "verify_plan_out.verify_expected_positions",
            "entry",
            "verify_capacity",
            "out_verify_expected_positions_entry_in_range",
        ),
        Guard(
            "verify_plan_out.verify_prev_slot_indices",
            "entry",
            "verify_capacity",
            "out_verify_prev_slot_indices_entry_in_range",
        ),
    ),
    "plan_entries": (
        Guard(
            "verify_offsets_scratch", "request", "bs + 1", "verify_offsets_scratch_request_in_range"
        ),
        Guard("req_pool_indices", "request", "bs", "own_row_request_in_range"),
        Guard("prefix_lens", "request", "bs", "own_prefix_request_in_range"),
        Guard(
            "req_to_verify_expected_tokens_valid_lens",
            "request",
            "bs",
            "req_to_verify_expected_tokens_valid_lens_request_in_range",
        ),
        Guard("req_to_token", "row", "max_reqs", "req_to_token_row_in_range"),
        Guard("req_to_token", "position", "max_seq_len", "req_to_token_position_in_range"),
        Guard("req_to_token", "row", "max_reqs", "previous_row_in_range"),
        Guard("req_to_token", "position - 1", "max_seq_len", "previous_position_in_range"),
        Guard(
            "full_to_swa_index_mapping",
            "slot",
            "lut_len",
            "full_to_swa_index_mapping_slot_in_range",
        ),
        Guard("full_to_swa_index_mapping", "previous", "lut_len", "previous_mapping_slot_in_range"),
        Guard(
            "req_to_verify_expected_tokens",
            "row",
            "token_rows",
            "req_to_verify_expected_tokens_row_in_range",
        ),
        Guard(
            "req_to_verify_expected_tokens",
            "column",
            "token_columns",
            "req_to_verify_expected_tokens_column_in_range",
        ),
        Guard(
            "out_verify_slot_indices",
            "entry",
            "verify_capacity",
            "out_verify_slot_indices_entry_in_range",
        ),
        Guard(
            "out_verify_expected_tokens",
            "entry",
            "verify_capacity",
            "out_verify_expected_tokens_entry_in_range",
        ),
        Guard(
            "out_verify_expected_positions",
            "entry",
            "verify_capacity",
            "out_verify_expected_positions_entry_in_range",
        ),
        Guard(
            "out_verify_prev_slot_indices",
            "entry",
            "verify_capacity",
            "out_verify_prev_slot_indices_entry_in_range",
        ),
    ),
    "plan_offsets": (
        Guard("req_pool_indices", "requests", "bs", "req_pool_indices_request_in_range"),
        Guard("prefix_lens", "requests", "bs", "prefix_lens_request_in_range"),
        Guard("extend_seq_lens", "requests", "bs", "extend_seq_lens_request_in_range"),
        Guard(
            "out_verify_offsets_scratch",
            "request",
            "PLAN_BS_BLOCK_SIZE + 1",
            "out_verify_offsets_scratch_request_in_range",
        ),
        Guard(
            "out_write_offsets",
            "request",
            "write_offsets_len",
            "out_write_offsets_boundary_in_range",
        ),
        Guard("req_to_token", "own_row", "max_reqs", "seed_row_in_range"),
        Guard("req_to_token", "own_cached - 1", "max_seq_len", "seed_position_in_range"),
        Guard("full_to_swa_index_mapping", "seed", "lut_len", "seed_mapping_slot_in_range"),
        Guard(
            "out_write_seed_slot_indices",
            "request",
            "write_req_capacity",
            "out_write_seed_slot_indices_request_in_range",
        ),
        Guard("out_write_offsets", "boundary", "write_offsets_len", "tail_boundary_in_range"),
    ),
    "plan_rotation": (
        Guard("req_pool_indices", "requests", "bs", "req_pool_indices_request_in_range"),
        Guard("prefix_lens", "requests", "bs", "prefix_lens_request_in_range"),
    ),
    "scatter_req_token_ids": (
        Guard("req_pool_indices", "request", "bs", "req_pool_indices_request_in_range"),
        Guard("offsets", "request", "bs + 1", "first_boundary_in_range"),
        Guard("offsets", "request + 1", "bs + 1", "last_boundary_in_range"),
        Guard("column_starts", "request", "bs", "own_start_request_in_range"),
        Guard("flat_in", "first + index", "token_count", "flat_in_token_in_range"),
        Guard("pool_out", "row", "pool_rows", "pool_out_row_in_range"),
        Guard("pool_out", "column", "pool_columns", "pool_out_column_in_range"),
    ),
    "verify": (
        Guard(
            "plan.verify_slot_indices",
            "ahead",
            "verify_capacity",
            "verify_slot_indices_entry_in_range",
        ),
        Guard(
            "plan.verify_expected_positions",
            "ahead",
            "verify_capacity",
            "verify_expected_positions_entry_in_range",
        ),
        Guard(
            "plan.verify_prev_slot_indices",
            "ahead",
            "verify_capacity",
            "verify_prev_slot_indices_entry_in_range",
        ),
        Guard("context.canary_buf", "slot", "num_slots", "canary_buf_slot_in_range"),
        Guard("context.canary_buf", "previous", "num_slots", "previous_slot_in_range"),
        Guard(
            "context.real_kv_sources[0].tensor",
            "source_0_page",
            "source_0_pages",
            "source_0_start_page_in_range",
        ),
        Guard(
            "context.real_kv_sources[0].tensor",
            "source_0_first",
            "source_0_row_bytes // 8",
            "source_0_start_word_in_range",
        ),
        Guard(
            "context.real_kv_sources[0].tensor",
            "source_0_page",
            "source_0_pages",
            "source_0_tensor_page_in_range",
        ),
        Guard(
            "context.real_kv_sources[0].tensor",
            "source_0_column",
            "source_0_row_bytes // 8",
            "source_0_tensor_word_in_range",
        ),
        Guard(
            "context.real_kv_sources[1].tensor",
            "source_1_page",
            "source_1_pages",
            "source_1_start_page_in_range",
        ),
        Guard(
            "context.real_kv_sources[1].tensor",
            "source_1_first",
            "source_1_row_bytes // 8",
            "source_1_start_word_in_range",
        ),
        Guard(
            "context.real_kv_sources[1].tensor",
            "source_1_page",
            "source_1_pages",
            "source_1_tensor_page_in_range",
        ),
        Guard(
            "context.real_kv_sources[1].tensor",
            "source_1_column",
            "source_1_row_bytes // 8",
            "source_1_tensor_word_in_range",
        ),
        Guard(
            "context.real_kv_sources[2].tensor",
            "source_2_page",
            "source_2_pages",
            "source_2_start_page_in_range",
        ),
        Guard(
            "context.real_kv_sources[2].tensor",
            "source_2_first",
            "source_2_row_bytes // 8",
            "source_2_start_word_in_range",
        ),
        Guard(
            "context.real_kv_sources[2].tensor",
            "source_2_page",
            "source_2_pages",
            "source_2_tensor_page_in_range",
        ),
        Guard(
            "context.real_kv_sources[2].tensor",
            "source_2_column",
            "source_2_row_bytes // 8",
            "source_2_tensor_word_in_range",
        ),
        Guard(
            "context.real_kv_sources[3].tensor",
            "source_3_page",
            "source_3_pages",
            "source_3_start_page_in_range",
        ),
        Guard(
            "context.real_kv_sources[3].tensor",
            "source_3_first",
            "source_3_row_bytes // 8",
            "source_3_start_word_in_range",
        ),
        Guard(
            "context.real_kv_sources[3].tensor",
            "source_3_page",
            "source_3_pages",
            "source_3_tensor_page_in_range",
        ),
        Guard(
            "context.real_kv_sources[3].tensor",
            "source_3_column",
            "source_3_row_bytes // 8",
            "source_3_tensor_word_in_range",
        ),
        Guard(
            "plan.verify_expected_tokens",
            "entry",
            "verify_capacity",
            "verify_expected_tokens_entry_in_range",
        ),
        Guard(
            "context.violation_ring", "row", "ring_capacity", "violation_ring_violation_in_range"
        ),
        Guard("context.evidence_ring", "row", "ring_capacity", "evidence_ring_violation_in_range"),
    ),
    "write": (
        Guard(
            "plan.write_offsets",
            "request",
            "write_req_capacity + 1",
            "lane_first_boundary_in_range",
        ),
        Guard(
            "plan.write_offsets",
            "request + 1",
            "write_req_capacity + 1",
            "lane_last_boundary_in_range",
        ),
        Guard(
            "plan.write_seed_slot_indices",
            "request",
            "write_req_capacity",
            "write_seed_slot_indices_request_in_range",
        ),
        Guard("context.canary_buf", "seed", "num_slots", "seed_slot_in_range"),
        Guard("out_cache_loc", "entry", "num_tokens", "lane_slot_entry_in_range"),
        Guard("input_ids", "entry", "num_tokens", "lane_token_entry_in_range"),
        Guard("positions", "entry", "num_tokens", "lane_position_entry_in_range"),
        Guard(
            "expected_input_tokens", "entry", "num_tokens", "expected_input_tokens_entry_in_range"
        ),
        Guard(
            "expected_input_positions",
            "entry",
            "num_tokens",
            "expected_input_positions_entry_in_range",
        ),
        Guard(
            "context.real_kv_sources[0].tensor",
            "source_0_page",
            "source_0_pages",
            "source_0_start_page_in_range",
        ),
        Guard(
            "context.real_kv_sources[0].tensor",
            "source_0_first",
            "source_0_row_bytes // 8",
            "source_0_start_word_in_range",
        ),
        Guard(
            "context.real_kv_sources[0].tensor",
            "source_0_page",
            "source_0_pages",
            "source_0_tensor_page_in_range",
        ),
        Guard(
            "context.real_kv_sources[0].tensor",
            "source_0_column",
            "source_0_row_bytes // 8",
            "source_0_tensor_word_in_range",
        ),
        Guard(
            "context.real_kv_sources[1].tensor",
            "source_1_page",
            "source_1_pages",
            "source_1_start_page_in_range",
        ),
        Guard(
            "context.real_kv_sources[1].tensor",
            "source_1_first",
            "source_1_row_bytes // 8",
            "source_1_start_word_in_range",
        ),
        Guard(
            "context.real_kv_sources[1].tensor",
            "source_1_page",
            "source_1_pages",
            "source_1_tensor_page_in_range",
        ),
        Guard(
            "context.real_kv_sources[1].tensor",
            "source_1_column",
            "source_1_row_bytes // 8",
            "source_1_tensor_word_in_range",
        ),
        Guard(
            "context.real_kv_sources[2].tensor",
            "source_2_page",
            "source_2_pages",
            "source_2_start_page_in_range",
        ),
        Guard(
            "context.real_kv_sources[2].tensor",
            "source_2_first",
            "source_2_row_bytes // 8",
            "source_2_start_word_in_range",
        ),
        Guard(
            "context.real_kv_sources[2].tensor",
            "source_2_page",
            "source_2_pages",
            "source_2_tensor_page_in_range",
        ),
        Guard(
            "context.real_kv_sources[2].tensor",
            "source_2_column",
            "source_2_row_bytes // 8",
            "source_2_tensor_word_in_range",
        ),
        Guard(
            "context.real_kv_sources[3].tensor",
            "source_3_page",
            "source_3_pages",
            "source_3_start_page_in_range",
        ),
        Guard(
            "context.real_kv_sources[3].tensor",
            "source_3_first",
            "source_3_row_bytes // 8",
            "source_3_start_word_in_range",
        ),
        Guard(
            "context.real_kv_sources[3].tensor",
            "source_3_page",
            "source_3_pages",
            "source_3_tensor_page_in_range",
        ),
        Guard(
            "context.real_kv_sources[3].tensor",
            "source_3_column",
            "source_3_row_bytes // 8",
            "source_3_tensor_word_in_range",
        ),
        Guard("context.canary_buf", "slot", "num_slots", "named_slot_in_range"),
        Guard("context.canary_buf", "slot", "num_slots", "hashed_slot_in_range"),
        Guard(
            "context.violation_ring", "row", "ring_capacity", "violation_ring_violation_in_range"
        ),
        Guard("context.evidence_ring", "row", "ring_capacity", "evidence_ring_violation_in_range"),
        Guard("plan.write_offsets", "owners", "write_req_capacity + 1", "firsts_boundary_in_range"),
        Guard(
            "plan.write_offsets", "owners + 1", "write_req_capacity + 1", "lasts_boundary_in_range"
        ),
        Guard(
            "plan.write_offsets",
            "request",
            "write_req_capacity + 1",
            "item_first_boundary_in_range",
        ),
        Guard(
            "plan.write_offsets",
            "request + 1",
            "write_req_capacity + 1",
            "item_last_boundary_in_range",
        ),
        Guard("out_cache_loc", "ahead", "num_tokens", "out_cache_loc_entry_in_range"),
        Guard("input_ids", "ahead", "num_tokens", "input_ids_entry_in_range"),
        Guard("positions", "ahead", "num_tokens", "positions_entry_in_range"),
        Guard(
            "context.workspace",
            "summed * WRITE_SUM_FIELDS",
            "workspace_len",
            "count_index_in_range",
        ),
        Guard(
            "context.workspace",
            "summed * WRITE_SUM_FIELDS + 1",
            "workspace_len",
            "sum_index_in_range",
        ),
        Guard(
            "context.workspace",
            "summed * WRITE_SUM_FIELDS + 2",
            "workspace_len",
            "entry_index_in_range",
        ),
        Guard("positions", "one", "num_tokens", "before_position_entry_in_range"),
        Guard("out_cache_loc", "one", "num_tokens", "before_slot_entry_in_range"),
        Guard(
            "plan.write_offsets",
            "request",
            "write_req_capacity + 1",
            "chain_first_boundary_in_range",
        ),
        Guard(
            "plan.write_offsets",
            "request + 1",
            "write_req_capacity + 1",
            "chain_last_boundary_in_range",
        ),
        Guard("out_cache_loc", "one", "num_tokens", "one_slot_entry_in_range"),
        Guard("input_ids", "one", "num_tokens", "one_token_entry_in_range"),
        Guard("positions", "one", "num_tokens", "one_position_entry_in_range"),
        Guard("out_cache_loc", "entry", "num_tokens", "chain_slot_entry_in_range"),
        Guard("input_ids", "entry", "num_tokens", "chain_token_entry_in_range"),
        Guard("positions", "entry", "num_tokens", "chain_position_entry_in_range"),
        Guard("context.canary_buf", "slot", "num_slots", "chain_slot_in_range"),
        Guard(
            "plan.write_offsets",
            "request",
            "write_req_capacity + 1",
            "bytes_first_boundary_in_range",
        ),
        Guard(
            "plan.write_offsets",
            "request + 1",
            "write_req_capacity + 1",
            "bytes_last_boundary_in_range",
        ),
        Guard("out_cache_loc", "entry", "num_tokens", "bytes_slot_entry_in_range"),
        Guard("input_ids", "entry", "num_tokens", "bytes_token_entry_in_range"),
        Guard("positions", "entry", "num_tokens", "bytes_position_entry_in_range"),
        Guard("context.canary_buf", "slot", "num_slots", "bytes_named_slot_in_range"),
        Guard("context.canary_buf", "slot", "num_slots", "bytes_hash_slot_in_range"),
    ),
    "write_sums": (
        Guard("write_offsets", "owners", "write_req_capacity + 1", "firsts_boundary_in_range"),
        Guard("write_offsets", "owners + 1", "write_req_capacity + 1", "lasts_boundary_in_range"),
        Guard("write_offsets", "request", "write_req_capacity + 1", "first_boundary_in_range"),
        Guard("write_offsets", "request + 1", "write_req_capacity + 1", "last_boundary_in_range"),
        Guard("out_cache_loc", "ahead", "num_tokens", "out_cache_loc_entry_in_range"),
        Guard("input_ids", "ahead", "num_tokens", "input_ids_entry_in_range"),
        Guard("positions", "ahead", "num_tokens", "positions_entry_in_range"),
        Guard("workspace", "place", "workspace_len", "count_index_in_range"),
        Guard("workspace", "place + 1", "workspace_len", "sum_index_in_range"),
        Guard("workspace", "place + 2", "workspace_len", "entry_index_in_range"),
    ),
}
