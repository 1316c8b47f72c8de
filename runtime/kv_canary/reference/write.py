"""Canaries for the tokens of one step: each request's chain is carried on and stored."""

from __future__ import annotations

import torch
from torch import Tensor

from kv_canary.reference._canaries import (
    Context,
    WritePlan,
    hash_after,
    read_canaries,
    real_kv_hash_of,
    write_canaries,
)
from kv_canary.reference._hashes import ANCHOR_HASH, chain_hashes
from kv_canary.reference._requests import (
    NO_EXPECTED_TOKEN,
    NO_SLOT,
    UNREACHABLE_SLOT,
    read_where,
)
from kv_canary.reference._sizes import PackedRanges, known_size
from kv_canary.reference._violations import Violations, record
from kv_canary_kernels.constants import (
    CANARY_FIELD_POSITION,
    TOKEN_TO_KV_SLOT_PADDING,
    FailReason,
)


def write(
    *,
    context: Context,
    plan: WritePlan,
    input_ids: Tensor,
    positions: Tensor,
    out_cache_loc: Tensor,
    enable_write_input_assert: bool,
    expected_input_tokens: Tensor | None,
    expected_input_positions: Tensor | None,
) -> None:
    """Store a canary for every token that has a slot, and record what does not fit its chain.

    Each request's chain starts behind its seed; both hashes are those of
    `kv_canary.reference._hashes`. What a slot holds that is written twice is unspecified.

    Args:
        context: stamps, sources, rings and counters, by attribute: canary_buf uint8 [num_slots,
            slot_stride_bytes], violation_ring int64 [ring_capacity, 8], evidence_ring the same or
            None, violation_write_index and enable_chain_position_assert int32 [1],
            slot_run_counter and kernel_run_counter int64 [1], kernel_kind, real_kv_sources,
            real_kv_hash_mode, hash_format.
        plan: what each request writes, by attribute: write_offsets int64 [write_req_capacity + 1],
            write_seed_slot_indices int64 [write_req_capacity], write_num_valid_reqs int32 [1].
        input_ids: int64 [num_tokens].
        positions: int64 [num_tokens], in tokens.
        out_cache_loc: int64 [num_tokens], slot of each token; a negative one is skipped.
        enable_write_input_assert: whether tokens and positions are compared with expected ones.
        expected_input_tokens: int64 [num_tokens], or None without that comparison.
        expected_input_positions: int64 [num_tokens], in tokens, or None without that comparison.
    """
    capacity = plan.write_seed_slot_indices.shape[0]
    num_reqs = plan.write_num_valid_reqs.clamp(min=0, max=capacity)
    considered = known_size(num_reqs, capacity)
    if considered > 0:
        is_request = torch.arange(considered, device=num_reqs.device) < num_reqs
        _write_requests(
            context=context,
            is_request=is_request,
            begin=plan.write_offsets[:considered],
            end=plan.write_offsets[1 : considered + 1],
            seed=plan.write_seed_slot_indices[:considered],
            input_ids=input_ids,
            positions=positions,
            out_cache_loc=out_cache_loc,
            expected_input_tokens=expected_input_tokens if enable_write_input_assert else None,
            expected_input_positions=expected_input_positions,
        )
    context.kernel_run_counter.add_(1)


def _write_requests(
    *,
    context: Context,
    is_request: Tensor,
    begin: Tensor,
    end: Tensor,
    seed: Tensor,
    input_ids: Tensor,
    positions: Tensor,
    out_cache_loc: Tensor,
    expected_input_tokens: Tensor | None,
    expected_input_positions: Tensor | None,
) -> None:
    """Do all that a write launch does, but for counting it.

    Damaged offsets may give an entry to several requests, so that all is done for pairs of a
    request and an entry. A request whose offsets are broken has one pair, without an entry, so
    that it is reported in its turn.

    Args:
        context: as in write.
        is_request: bool [n], false past the requests of the plan; n is at least 1.
        begin: int64 [n], first entry of each request.
        end: int64 [n], where its entries end.
        seed: int64 [n], slot of its predecessor.
        input_ids: int64 [num_tokens].
        positions: int64 [num_tokens], in tokens.
        out_cache_loc: int64 [num_tokens].
        expected_input_tokens: int64 [num_tokens], or None for no comparison.
        expected_input_positions: int64 [num_tokens], in tokens, or None for no comparison.
    """
    num_slots = context.canary_buf.shape[0]
    num_tokens = input_ids.shape[0]
    batch_size = is_request.shape[0]
    is_sound = (begin >= 0) & (begin <= end) & (end <= num_tokens)
    is_broken = is_request & ~is_sound
    counts = torch.where(is_request & is_sound, end - begin, is_broken.to(torch.int64))
    ranges = PackedRanges.pack(
        counts,
        # Sound neighbours share no entry, so only every second request can have all of them.
        bound=(batch_size + 1) // 2 * num_tokens + batch_size,
    )
    owner = ranges.owner
    places = owner.shape[0]
    if places == 0:
        return
    longest = known_size(counts.max(), max(1, num_tokens))
    reached = known_size(torch.where(is_request & is_sound, end, 0).max(), num_tokens)

    is_broken_pair = ranges.is_owned & is_broken[owner]
    is_entry = ranges.is_owned & ~is_broken[owner]
    entry = torch.where(is_entry, begin[owner] + ranges.local, 0)
    slot = read_where(out_cache_loc, (entry,), is_entry, NO_SLOT)
    token = read_where(input_ids, (entry,), is_entry, 0)
    position = read_where(positions, (entry,), is_entry, 0)
    is_stored = (slot >= 0) & (slot < num_slots)
    is_outside = slot >= num_slots
    # The bytes are hashed once for each entry, whoever shares it.
    slot_of_entry = out_cache_loc[:reached]
    kv_hash_of_entry = real_kv_hash_of(
        context, slot_of_entry, (slot_of_entry >= 0) & (slot_of_entry < num_slots)
    )
    kv_hash = read_where(kv_hash_of_entry, (entry,), is_stored, 0)

    seed_is_followed = (seed > TOKEN_TO_KV_SLOT_PADDING) & (seed < num_slots)
    seed_is_bad = (seed < NO_SLOT) | (seed >= num_slots)
    seed_canary = read_canaries(context.canary_buf, seed, seed_is_followed)
    chain_hash = chain_hashes(
        ranges=ranges,
        longest=longest,
        first_hash=torch.where(
            seed_is_followed, hash_after(seed_canary, context.hash_format), ANCHOR_HASH
        ),
        advances=is_stored,
        token=token,
        position=position,
        hash_format=context.hash_format,
    )

    place = torch.arange(places, dtype=torch.int64, device=owner.device)
    last_stored = torch.where(is_stored, place, -1).cummax(0).values.roll(1)
    last_stored[:1].fill_(-1)
    has_last = last_stored >= ranges.starts[owner]
    last_stored = last_stored.clamp(min=0)
    next_stored = torch.where(is_stored, place, places).flip(0).cummin(0).values.flip(0)
    previous_slot = torch.where(has_last, slot[last_stored], seed[owner])
    wanted_position = 1 + torch.where(
        has_last, position[last_stored], seed_canary[:, CANARY_FIELD_POSITION][owner]
    )
    # A bad seed is reported before anything else of its request, if that stores an entry at all.
    is_seed_report = (
        (ranges.is_owned & (ranges.local == 0))
        & seed_is_bad[owner]
        & (next_stored < ranges.starts[owner] + ranges.counts[owner])
    )
    is_off_chain = (
        is_stored
        & (context.enable_chain_position_assert != 0)
        & seed_is_followed[owner]
        & (position != wanted_position)
    )
    expected_token = expected_position = token
    input_bits = torch.zeros_like(token)
    if expected_input_tokens is not None:
        assert expected_input_positions is not None, "the validator saw to this"
        expected_token = read_where(expected_input_tokens, (entry,), is_stored, 0)
        expected_position = read_where(expected_input_positions, (entry,), is_stored, 0)
        input_bits = torch.where(
            is_stored & (token != expected_token), int(FailReason.WRITE_TOKEN_MISMATCH), 0
        ) + torch.where(
            is_stored & (position != expected_position), int(FailReason.WRITE_POSITION_MISMATCH), 0
        )

    # What a pair can be reported for, in the order of recording.
    reported = torch.stack(
        (is_seed_report, is_broken_pair | is_outside, input_bits != 0, is_off_chain), dim=1
    )

    def describe(candidate: Tensor) -> Violations:
        pair, reason = candidate // reported.shape[1], candidate % reported.shape[1]
        by_seed, by_input, by_chain = reason == 0, reason == 2, reason == 3
        pair = torch.where(by_seed, next_stored[pair].clamp(max=places - 1), pair)
        request = owner[pair]
        stored, broken = is_stored[pair], is_broken_pair[pair]
        wanted = torch.where(
            by_input, expected_position[pair], torch.where(by_chain, wanted_position[pair], -1)
        )
        return Violations(
            slot=torch.where(broken, UNREACHABLE_SLOT, slot[pair]),
            position=torch.where(broken, begin[request], position[pair]),
            stored_token=torch.where(stored, token[pair], 0),
            expected_token=torch.where(
                by_input,
                expected_token[pair],
                torch.where(stored, token[pair], NO_EXPECTED_TOKEN),
            ),
            stored_chain_hash=torch.where(stored, chain_hash[pair], 0),
            expected_aux=torch.where(
                by_input | by_chain,
                wanted,
                torch.where(by_seed, seed[request], torch.where(broken, end[request], 0)),
            ),
            reason_bits=torch.where(
                by_input,
                input_bits[pair],
                torch.where(
                    by_chain,
                    int(FailReason.WRITE_POSITION_MISMATCH),
                    int(FailReason.SLOT_OUT_OF_RANGE),
                ),
            ),
            expected_position=wanted,
            stored_real_kv_hash=kv_hash[pair],
            recomputed_real_kv_hash=kv_hash[pair],
            previous_slot=torch.where(broken, NO_SLOT, previous_slot[pair]),
            index=torch.where(broken, -1, entry[pair]),
            request=request,
        )

    record(context, reported.view(-1), describe)
    write_canaries(
        context.canary_buf,
        slot,
        torch.stack((token, position, chain_hash, kv_hash), dim=1),
        is_stored,
    )
    context.slot_run_counter.add_(is_stored.sum())
