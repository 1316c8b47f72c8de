"""Rings to violations, findings to text and JSON, snapshots to dumps and back."""

import ast
import json
import os
import pickle
import subprocess
import sys
import zipfile
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

import kv_canary.findings
from kv_canary.cli import main
from kv_canary.errors import UsageError
from kv_canary.findings import (
    CanaryError,
    Cause,
    DamagedDumpError,
    GroupSnapshot,
    HalfSnapshot,
    NewerDumpError,
    NotADumpError,
    Ranges,
    Snapshot,
    StepSnapshot,
    find,
    log_line,
    read_dump,
    report_json,
    report_text,
    summary_line,
    write_dump,
)
from kv_canary.findings.decode import decode
from kv_canary.findings.tables import Stamp, Tables, find_values, successor_of, unsigned
from kv_canary.reference._hashes import ANCHOR_HASH, successor_hash
from kv_canary_kernels.constants import CanaryLaunchTag, FailReason

REPOSITORY = Path(__file__).parent.parent
CHAIN = int(FailReason.VERIFY_CHAIN_HASH_MISMATCH)
POSITION = int(FailReason.VERIFY_POSITION_MISMATCH)
BYTES = int(FailReason.VERIFY_REAL_KV_HASH_MISMATCH)
TOKEN = int(FailReason.VERIFY_TOKEN_MISMATCH)
WRITTEN_TOKEN = int(FailReason.WRITE_TOKEN_MISMATCH)
WRITTEN_POSITION = int(FailReason.WRITE_POSITION_MISMATCH)
OUTSIDE = int(FailReason.SLOT_OUT_OF_RANGE)
PADDING = int(FailReason.PADDING_SLOT_IN_PREFIX)
TAIL_K = int(CanaryLaunchTag.TAIL_K_FULL)
HEAD_V = int(CanaryLaunchTag.HEAD_V_FULL)
WINDOW_TAIL_V = int(CanaryLaunchTag.TAIL_V_SWA)
SWEEP_K = int(CanaryLaunchTag.SWEEP_K_FULL)

ROWS = {1: [8, 9, 10, 11], 2: [8, 9, 20, 21], 3: [30, 31]}
"""Slots of each row's positions; rows 1 and 2 share two."""
TOKENS = {1: [101, 102, 103, 104], 2: [101, 102, 205, 206], 3: [301, 302]}


def tensor(numbers):
    return torch.tensor(numbers, dtype=torch.int64)


def stamped():
    """Stamps of ROWS in 40 slots; their hash over the bytes is 7 in the tail."""
    head = torch.zeros((40, 4), dtype=torch.int64)
    for row, slots in ROWS.items():
        chain = ANCHOR_HASH
        for position, (slot, token) in enumerate(zip(slots, TOKENS[row], strict=True)):
            head[slot] = tensor([token, position, chain, 0])
            chain = successor_of(Stamp(token, position, chain, 0), "serial")
    tail = head.clone()
    tail[head[:, 0] != 0, 3] = 7
    return head, tail


def step_of(number, batch):
    """A batch of (row, prefix length, new slots)."""
    return StepSnapshot(
        step=number,
        req_pool_indices=tensor([row for row, _, _ in batch]),
        prefix_lens=tensor([prefix for _, prefix, _ in batch]),
        extend_seq_lens=tensor([len(new) for _, _, new in batch]),
        positions=tensor([prefix + i for _, prefix, new in batch for i in range(len(new))]),
        out_cache_loc=tensor([slot for _, _, new in batch for slot in new]),
    )


def snapshot_of(*rows, window=False, **changes):
    """A snapshot with these pairs of a violation row and an evidence row."""
    table = torch.zeros((5, 6), dtype=torch.int32)
    for row, slots in ROWS.items():
        table[row, : len(slots)] = torch.tensor(slots, dtype=torch.int32)
    head, tail = stamped()
    groups = [
        GroupSnapshot(
            name="full",
            num_slots=40,
            window_size=0,
            mapping=None,
            halves=tuple(HalfSnapshot(half=half, head=head, tail=tail) for half in "KV"),
        )
    ]
    if window:
        empty = torch.zeros((16, 4), dtype=torch.int64)
        mapping = torch.zeros(40, dtype=torch.int64)
        mapping[[10, 11, 20, 21]] = tensor([1, 2, 3, 4])
        groups.append(
            GroupSnapshot(
                name="window",
                num_slots=16,
                window_size=2,
                mapping=mapping,
                halves=(HalfSnapshot(half="V", head=empty, tail=empty),),
            )
        )
    settings = {
        "hash_format": "serial",
        "real_kv_mode": "partial",
        "req_to_token": table,
        "groups": tuple(groups),
        "violations": tensor([violation for violation, _ in rows]).view(-1, 8),
        "evidence": tensor([evidence for _, evidence in rows]).view(-1, 8),
        "violation_count": len(rows),
        "steps": (step_of(5, [(1, 3, [11]), (0, 0, []), (2, 3, [21]), (3, 1, [31])]),),
        "verify_wanted": {"full": 7},
        "verify_checked": {"full": 7},
    }
    return Snapshot(**{**settings, **changes})


def verified(slot, expected_position, *, kind=TAIL_K, bits=BYTES, stored=None, **more):
    """A verify row and its evidence; what is not said is as stamped, or as it should be."""
    _head, tail = stamped()
    inside = 0 < slot < 40
    token, position, chain, kv = stored or (tail[slot].tolist() if inside else [0] * 4)
    entry = more.get("entry", -1)
    violation = [
        kind,
        slot,
        position if inside else expected_position,
        token,
        more.get("expected_token", -1),
        chain,
        more.get("expected_chain", chain),
        bits,
    ]
    evidence = [
        expected_position,
        kv,
        more.get("computed", 9 if bits & BYTES else kv),
        more.get("before", -1),
        entry,
        more.get("step", 5),
        -1,
        0,
    ]
    return violation, evidence


def written(slot, position, *, request, entry, kind=TAIL_K, bits=OUTSIDE, **more):
    """A write row and its evidence."""
    violation = [
        kind,
        slot,
        position,
        more.get("token", 0),
        more.get("expected_token", -1),
        0,
        more.get("aux", 0),
        bits,
    ]
    evidence = [more.get("wanted", -1), 0, 0, more.get("before", -1), entry, 5, request, 0]
    return violation, evidence


def decoded(*rows, **changes):
    snapshot = snapshot_of(*rows, **changes)
    return decode(snapshot, Tables(snapshot))


# Decoding ----------------------------------------------------------------------------------------


def test_row_is_decoded_field_by_field():
    (violation,) = decoded(
        verified(
            10,
            2,
            kind=HEAD_V,
            bits=POSITION | TOKEN,
            stored=(55, 4, -2, 0),
            expected_token=103,
            expected_chain=-1,
            before=9,
            entry=2,
        )
    )
    assert violation.to_json() == {
        "index": 0,
        "launch_tag": "HEAD_V_FULL",
        "kind": "verify",
        "checks": ["verify_position_mismatch", "verify_token_mismatch"],
        "step": 5,
        "requests": [1],
        "slot": 10,
        "previous_slot": 9,
        "position": 4,
        "expected_position": 2,
        "stored_token": 55,
        "expected_token": 103,
        "stored_chain_hash": "0xfffffffffffffffe",
        "expected_aux": "0xffffffffffffffff",
        "stored_real_kv_hash": "0x0000000000000000",
        "computed_real_kv_hash": "0x0000000000000000",
        "entry": 2,
    }
    assert (violation.group, violation.phase, violation.half) == ("full", "head", "V")


def test_entry_of_the_plan_tells_rows_apart_that_share_a_slot():
    # Entries of step 5: three of row 1, then three of row 2 (the padding request has none).
    first, second = decoded(
        verified(9, 1, entry=1, before=8), verified(9, 1, entry=4, before=8, kind=HEAD_V)
    )
    assert (first.rows, second.rows) == ((1,), (2,))


def test_coverage_that_rotates_leaves_all_rows_that_share_a_slot():
    (violation,) = decoded(verified(9, 1, entry=2, before=8))
    assert violation.rows == (1, 2)


def test_row_whose_table_changed_since_is_told_by_the_plan():
    (violation,) = decoded(verified(33, 2, entry=5, before=9))
    assert violation.rows == (2,)


def test_captured_batch_leaves_the_tables():
    nothing = torch.zeros(0, dtype=torch.int64)
    captured = replace(step_of(5, []), captured=True, positions=nothing)
    (violation,) = decoded(verified(21, 3, entry=7, before=20), steps=(captured,))
    assert violation.rows == (2,)


def test_sweep_is_not_taken_for_a_forward_of_its_number():
    (violation,) = decoded(verified(31, 1, kind=SWEEP_K, entry=0, before=30))
    assert (violation.phase, violation.rows) == ("sweep", (3,))
    (finding,) = find(snapshot_of(verified(31, 1, kind=SWEEP_K, entry=0, before=30)))
    assert "  seen      in sweep 5; " in str(finding)


def test_slot_of_the_window_is_looked_up_through_its_map():
    (violation,) = decoded(
        verified(3, 2, kind=WINDOW_TAIL_V, before=0, stored=(1, 2, 3, 4)), window=True
    )
    assert (violation.group, violation.half, violation.rows) == ("window", "V", (2,))


def test_unknown_launch_tag_is_kept():
    row = verified(9, 1, kind=12)
    (violation,) = decoded(row)
    assert (violation.launch_tag, violation.group) == ("unknown(12)", "unknown")
    (finding,) = find(snapshot_of(row))
    assert (finding.cause, finding.certainty) == (Cause.UNEXPLAINED, "possible")


@pytest.mark.parametrize(
    ("prefix", "row", "reported", "text"),
    [
        (
            -4,
            2,
            -4,
            (
                "Row 2 was given prefix length -4 in step 5 (TAIL_K_FULL), but a row of "
                "req_to_token has 6 positions; nothing of it could be verified."
            ),
        ),
        (
            7,
            2,
            7,
            (
                "Row 2 was given prefix length 7 in step 5 (TAIL_K_FULL), but a row of "
                "req_to_token has 6 positions; nothing of it could be verified."
            ),
        ),
        (
            2,
            99,
            0,
            (
                "A request of step 5 names row 99 (TAIL_K_FULL), but req_to_token has rows 0 to 4; "
                "nothing of it could be verified."
            ),
        ),
    ],
)
def test_wild_row_and_wild_length_are_told_from_a_wild_slot(prefix, row, reported, text):
    bad = verified(-2, reported, bits=OUTSIDE, before=0, entry=3)
    batch = step_of(5, [(1, 3, [11]), (row, prefix, [21])])
    (finding,) = find(snapshot_of(bad, steps=(batch,)))
    assert (finding.cause, finding.certainty) == (Cause.WILD_ROW_OR_LENGTH, "certain")
    assert (finding.requests, finding.evidence) == ((row,), (text,))


def test_wild_slot_of_minus_two_in_a_row_is_no_wild_row():
    (finding,) = find(snapshot_of(verified(-2, 2, bits=OUTSIDE, before=9, entry=2)))
    assert (finding.cause, finding.requests) == (Cause.WILD_SLOT, (1,))


def test_slot_past_the_map_of_the_window_is_a_wild_slot():
    table = snapshot_of().req_to_token.clone()
    table[2, 2] = 99
    # The window of two: two entries of row 1, then two of row 2.
    bad = verified(-2, 2, kind=WINDOW_TAIL_V, bits=OUTSIDE, before=0, entry=3)
    (finding,) = find(snapshot_of(bad, window=True, req_to_token=table))
    assert (finding.cause, finding.group, finding.requests) == (Cause.WILD_SLOT, "window", (2,))
    assert finding.evidence == (
        (
            "Row 2 maps position 2 to slot -2 (step 5, TAIL_V_SWA), but the window pool has slots "
            "0 to 15."
        ),
        (
            "req_to_token holds slot 99 there, past the end of the map to the window pool, which "
            "has 40 entries."
        ),
    )


# Rows that name their cause ----------------------------------------------------------------------


def test_padding_slot_says_whether_the_whole_row_was_reset():
    table = snapshot_of().req_to_token.clone()
    table[2] = 0
    rows = [verified(0, p, bits=PADDING, before=0 if p else -1, entry=3 + p) for p in range(3)]
    (finding,) = find(snapshot_of(*rows, req_to_token=table))
    assert (finding.cause, finding.certainty) == (Cause.PADDING_SLOT, "certain")
    assert (finding.requests, str(finding.positions), str(finding.slots)) == ((2,), "0-2", "0")
    assert finding.evidence == (
        (
            "Row 2 maps position 0, which is below its prefix length, to the padding slot 0 (step "
            "5, TAIL_K_FULL); nothing is stored there for anybody."
        ),
        "Row 2 now maps 3 of the 3 positions of that prefix to slot 0: the whole row was reset.",
        "2 more entries are damaged in the same way, at positions 1-2.",
    )


def test_padding_slot_in_the_window_alone_is_its_edge():
    row = verified(0, 2, kind=WINDOW_TAIL_V, bits=PADDING, before=2, entry=1)
    (finding,) = find(snapshot_of(row, window=True))
    assert (finding.cause, finding.group) == (Cause.WINDOW_EDGE, "window")


def test_write_past_the_pool_is_a_wild_slot():
    (finding,) = find(snapshot_of(written(77, 3, request=2, entry=1, before=20)))
    assert (finding.cause, finding.requests, str(finding.slots)) == (Cause.WILD_SLOT, (2,), "77")
    assert finding.evidence == (
        (
            "Request 2 of the batch of step 5 (row 2) writes position 3 to slot 77 of "
            "out_cache_loc, entry 1 (TAIL_K_FULL), but the full pool has slots 0 to 39; it was "
            "not stamped."
        ),
    )


def test_wild_seed_and_the_wild_slot_before_an_entry_are_one_finding():
    rows = [
        written(21, 3, request=2, entry=1, aux=99, before=99, token=206, expected_token=206),
        verified(99, 2, bits=OUTSIDE, before=9, entry=5),
        verified(21, 3, bits=OUTSIDE, before=99, entry=6, kind=HEAD_V),
    ]
    (finding,) = find(snapshot_of(*rows))
    assert (finding.cause, finding.requests) == (Cause.WILD_SLOT, (2,))
    assert (str(finding.positions), str(finding.slots)) == ("2", "99")


def test_broken_offsets_name_the_request_and_its_positions():
    (finding,) = find(snapshot_of(written(-2, 3, request=2, entry=-1, aux=1)))
    assert (finding.cause, finding.requests, str(finding.positions)) == (Cause.OFFSETS, (2,), "3")
    assert finding.evidence == (
        (
            "Request 2 of the batch of step 5 (row 2) was to stamp the tokens from 3 up to 1 of "
            "the batch (TAIL_K_FULL): offsets start at 0, do not run backwards and end within the "
            "batch; it stamped nothing."
        ),
    )


def test_wrong_input_names_both_tokens_and_positions():
    row = written(
        21,
        3,
        request=2,
        entry=1,
        bits=WRITTEN_TOKEN | WRITTEN_POSITION,
        token=206,
        expected_token=5,
        aux=4,
        wanted=4,
        before=20,
    )
    (finding,) = find(snapshot_of(row))
    assert (finding.cause, finding.checks) == (
        Cause.WRONG_INPUT,
        ("WRITE_TOKEN_MISMATCH", "WRITE_POSITION_MISMATCH"),
    )
    assert finding.evidence[0] == (
        "Request 2 of the batch of step 5 (row 2) writes token 206 at position 3 into slot 21 "
        "(TAIL_K_FULL, entry 1); expected were token 5 and position 4."
    )


def test_position_that_neither_goes_on_nor_fits_the_prefix_is_wrong_input():
    row = written(
        21, 5, request=2, entry=1, bits=WRITTEN_POSITION, token=206, aux=3, wanted=3, before=20
    )
    (finding,) = find(snapshot_of(row))
    assert (finding.cause, finding.requests, str(finding.positions)) == (
        Cause.WRONG_INPUT,
        (2,),
        "3",
    )
    assert finding.evidence == (
        (
            "Request 2 of the batch of step 5 (row 2) writes position 5 into slot 21 (TAIL_K_FULL, "
            "entry 1), behind slot 20, which holds position 2: +2 from what continues it."
        ),
        (
            "The request had 3 cached tokens, so this one's position was 3: the batch's positions "
            "and prefix_lens do not fit."
        ),
    )


# Ranges, searches, hashes ------------------------------------------------------------------------


def test_ranges_read_like_a_list_of_pages():
    ranges = Ranges.of([9, 3, 7, 8, 3])
    assert (str(ranges), list(ranges), len(ranges)) == ("3, 7-9", [3, 7, 8, 9], 4)
    assert (8 in ranges, 6 in ranges, ranges.to_json()) == (True, False, [[3, 3], [7, 9]])
    assert not Ranges.of([])
    assert str(Ranges.of(range(0, 40, 2))) == "0, 2, 4, 6, 8, 10, 12, 14 and 12 more"


def test_values_are_found_with_their_last_places():
    column = tensor([5, -1, 5, 2**62, 0, 5])
    found = find_values(column, [5, 2**62, -1, 77])
    assert {value: (hits.places, hits.total) for value, hits in found.items()} == {
        5: ((0, 2, 5), 3),
        2**62: ((3,), 1),
        -1: ((1,), 1),
    }
    many = find_values(torch.zeros(50, dtype=torch.int64), [0])[0]
    assert (many.places, many.total) == (tuple(range(42, 50)), 50)
    assert find_values(column, []) == {}


@pytest.mark.parametrize("hash_format", ["serial", "parallel"])
def test_successor_of_one_stamp_is_that_of_the_reference(hash_format):
    stamps = [(11, 3, -5, 0), (0, 0, 0, 0), (-1, 2**62, 2**63 - 1, 1), (50_000, 1, ANCHOR_HASH, 2)]
    token, position, chain, _ = tensor(stamps).unbind(1)
    expected = successor_hash(chain, token, position, hash_format).tolist()
    assert [successor_of(Stamp(*stamp), hash_format) for stamp in stamps] == expected


# Text and JSON -----------------------------------------------------------------------------------


def test_log_line_is_the_contracts():
    row = [TAIL_K, 7, 3, 11, -1, 0x0123456789ABCDEF, 0x0123456789ABCDEF, POSITION | BYTES]
    assert log_line(row) == (
        "kv_canary violation: launch_tag=TAIL_K_FULL fail_reason=verify_position+"
        "verify_real_kv_hash slot_idx=7 position=3 stored_token=11 expected_token=-1 "
        "stored_chain_hash=0x0123456789abcdef expected_aux=0x0123456789abcdef"
    )


def test_log_line_prints_hashes_unsigned_and_unknown_tags_as_numbers():
    bits = CHAIN | WRITTEN_TOKEN | WRITTEN_POSITION | TOKEN | OUTSIDE | PADDING
    assert log_line(tensor([12, -2, 0, 0, -1, -1, -(2**63), bits])) == (
        "kv_canary violation: launch_tag=unknown(12) fail_reason=verify_chain_hash+write_token+"
        "write_position+verify_token+slot_out_of_range+padding_slot_in_prefix slot_idx=-2 "
        "position=0 stored_token=0 expected_token=-1 stored_chain_hash=0xffffffffffffffff "
        "expected_aux=0x8000000000000000"
    )


def damaged_bytes():
    return snapshot_of(
        verified(20, 2, entry=5, before=9),
        verified(20, 2, entry=5, before=9, kind=int(CanaryLaunchTag.TAIL_V_FULL)),
        violation_count=5,
        verify_wanted={"full": 4000},
        verify_checked={"full": 1000},
    )


def test_text_tells_what_where_why_and_what_next():
    snapshot = damaged_bytes()
    chain = unsigned(int(stamped()[0][20, 2]))
    assert report_text(find(snapshot), snapshot) == (
        "1. changed after it was stamped (changed_after_stamp, certain)\n"
        "  where     full pool, K and V; row 2; position 2; slot 20\n"
        "  seen      in step 5; 2 violations: VERIFY_REAL_KV_HASH_MISMATCH; by TAIL_K_FULL, "
        "TAIL_V_FULL\n"
        "  why       Row 2, position 2, slot 20 (step 5, TAIL_K_FULL): stored token 205, position "
        "2, chain\n"
        f"            hash {chain}; expected token unknown, position 2, chain hash\n"
        f"            {chain}; hash over the bytes stored 0x0000000000000007, computed\n"
        "            0x0000000000000009.\n"
        "            Token, position and chain hash are as they should be, but the bytes of K "
        "and V do not\n"
        "            hash to the stamp: they changed after it was made.\n"
        "  look at   Look for whatever wrote to these slots after the forward that stamped them: a "
        "copy or\n"
        "            transfer that landed late, a store kernel with a wrong index, a reused "
        "buffer.\n"
        "            `bracket=True` tells damage during a forward from damage between two.\n"
        "\n"
        "1 finding; 5 violations; 3 of them lost, the ring was full; last forward checked 1,000 of "
        "4,000 full entries (25%)"
    )


def test_no_finding_is_one_line():
    snapshot = snapshot_of()
    assert report_text((), snapshot) == (
        "no findings; 0 violations; last forward checked 7 of 7 full entries (100%)"
    )


def test_summary_of_one_violation_is_in_the_singular():
    snapshot = snapshot_of(verified(20, 2, entry=5, before=9), verify_wanted={"full": 0})
    assert summary_line(find(snapshot), snapshot) == "1 finding; 1 violation"


def test_json_has_stable_keys():
    snapshot = damaged_bytes()
    report = json.loads(report_json(find(snapshot), snapshot))
    (finding,) = report.pop("findings")
    assert report == {
        "version": 1,
        "violations_seen": 5,
        "violations_recorded": 2,
        "violations_lost": 3,
        "coverage": {"full": {"wanted": 4000, "checked": 1000}},
    }
    assert list(finding) == [
        "cause",
        "title",
        "certainty",
        "group",
        "halves",
        "launch_tags",
        "requests",
        "other_requests",
        "positions",
        "slots",
        "first_step",
        "last_step",
        "checks",
        "evidence",
        "advice",
        "violations",
        "repeats",
    ]
    assert (finding["cause"], finding["positions"]) == ("changed_after_stamp", [[2, 2]])
    assert finding["violations"][0]["computed_real_kv_hash"] == "0x0000000000000009"


def test_every_cause_has_words():
    for cause in Cause:
        assert cause.title
        assert cause.value == cause.name.lower()


def test_error_shows_its_findings_and_survives_pickle():
    snapshot = damaged_bytes()
    findings = find(snapshot)
    error = CanaryError(findings, "a dump is in x.pt")
    assert str(error) == (
        f"kv-canary: 1 finding in the KV cache\n\n{findings[0]}\n\na dump is in x.pt"
    )
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is CanaryError
    assert (again.findings, again.note, str(again)) == (findings, error.note, str(error))
    assert isinstance(error, RuntimeError)


# Dumps -------------------------------------------------------------------------------------------


def as_plain(value):
    """Everything in a snapshot, as lists."""
    if isinstance(value, torch.Tensor):
        return value.dtype, value.tolist()
    if isinstance(value, tuple):
        return [as_plain(each) for each in value]
    if hasattr(value, "__dataclass_fields__"):
        return {each.name: as_plain(getattr(value, each.name)) for each in fields(value)}
    return value


def test_dump_gives_back_every_field(tmp_path):
    snapshot = snapshot_of(
        verified(20, 2, entry=5, before=9),
        window=True,
        expected_tokens=torch.ones((5, 6), dtype=torch.int32),
        expected_valid=tensor([0, 4, 4, 2, 0]),
    )
    write_dump(snapshot, tmp_path / "a.pt")
    assert as_plain(read_dump(tmp_path / "a.pt")) == as_plain(snapshot)
    assert find(read_dump(str(tmp_path / "a.pt"))) == find(snapshot)


def test_dump_holds_no_more_than_the_tensors_show(tmp_path):
    """A view into a large buffer must not bring the buffer along, which may hold anything."""
    secret = torch.full((1000, 8), int.from_bytes(b"K-and-V!", "little"), dtype=torch.int64)
    secret[0] = 0
    write_dump(snapshot_of(violations=secret[:0], evidence=secret[:1][:0]), tmp_path / "a.pt")
    with zipfile.ZipFile(tmp_path / "a.pt") as archive:
        assert not any(b"K-and-V!" in archive.read(name) for name in archive.namelist())


def test_dump_that_fails_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "a.pt"
    write_dump(snapshot_of(), path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match=r"\Adisk full\Z"):
        write_dump(damaged_bytes(), path)
    assert (path.read_bytes(), os.listdir(tmp_path)) == (before, ["a.pt"])


def refusal(path, error):
    with pytest.raises(error) as raised:
        read_dump(path)
    assert isinstance(raised.value, UsageError)
    return str(raised.value).replace(str(path), "FILE")


@pytest.mark.parametrize(
    ("content", "found"),
    [(b"", "an empty file"), (b"hello, world", "another kind of file")],
)
def test_file_of_another_kind_is_no_dump(tmp_path, content, found):
    path = tmp_path / "a.pt"
    path.write_bytes(content)
    assert refusal(path, NotADumpError) == (
        "FILE: the file must be a kv-canary dump\n"
        f"  found:  {found}\n"
        "  wanted: a file that kv-canary wrote in raise or log mode, or by Canary.dump\n"
        "  fix:    give the path of a dump"
    )


def test_torch_file_of_another_kind_is_no_dump(tmp_path):
    path = tmp_path / "a.pt"
    torch.save({"weights": torch.zeros(3)}, path)
    assert "  found:  a torch file without the mark of a dump\n" in refusal(path, NotADumpError)


class Harmful:
    def __reduce__(self):
        return os.mkdir, ("made by a dump",)


def test_file_that_would_run_something_is_no_dump(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"format": Harmful()}, "a.pt")
    assert refusal(tmp_path / "a.pt", NotADumpError).splitlines()[1] == (
        "  found:  a file with other objects than tensors, numbers and texts"
    )
    assert os.listdir(tmp_path) == ["a.pt"]


@pytest.mark.parametrize("kept", [2, 0.5, -1])
def test_dump_cut_short_is_damaged(tmp_path, kept):
    path = tmp_path / "a.pt"
    write_dump(damaged_bytes(), path)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if kept == 0.5 else kept])
    assert refusal(path, DamagedDumpError) == (
        "FILE: the dump must be whole\n"
        "  found:  its end is missing\n"
        "  wanted: the file as it was written\n"
        "  fix:    copy it again from where it was written"
    )


def test_dump_of_a_later_version_names_both(tmp_path):
    path = tmp_path / "a.pt"
    write_dump(replace(snapshot_of(), version=2), path)
    assert refusal(path, NewerDumpError) == (
        "FILE: the dump must be of a version that this kv-canary knows\n"
        "  found:  version 2\n"
        "  wanted: version 1 or earlier\n"
        "  fix:    read it with the kv-canary that wrote it, or a later one"
    )


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("violations", torch.zeros((2, 7), dtype=torch.int64)),
        ("evidence", torch.zeros((3, 8), dtype=torch.int64)),
        ("req_to_token", torch.zeros((2, 7), dtype=torch.int64)),
        ("hash_format", "md5"),
        ("violation_count", True),
        ("groups", [3]),
        ("verify_wanted", {"full": "many"}),
        ("expected_valid", torch.zeros(3, dtype=torch.int64)),
    ],
)
def test_field_of_another_kind_is_named(tmp_path, field, value):
    path = tmp_path / "a.pt"
    tokens = torch.ones((5, 6), dtype=torch.int32)
    known = torch.zeros(5, dtype=torch.int64)
    write_dump(replace(damaged_bytes(), expected_tokens=tokens, expected_valid=known), path)
    content = torch.load(path, weights_only=True)
    torch.save({**content, field: value}, path)
    assert refusal(path, NotADumpError).splitlines()[1] == (
        f"  found:  a dump whose field `{field}` is missing or of another kind"
    )


def test_missing_dump_is_a_usage_error(tmp_path):
    assert refusal(tmp_path / "a.pt", UsageError) == (
        "FILE: the dump must be a file that can be read\n"
        "  found:  No such file or directory\n"
        "  wanted: a file that kv-canary wrote in raise or log mode, or by Canary.dump\n"
        "  fix:    give the path of a dump"
    )


# The command -------------------------------------------------------------------------------------


def test_diagnose_prints_the_report_and_tells_by_its_status(tmp_path, capsys):
    snapshot = damaged_bytes()
    write_dump(snapshot, tmp_path / "a.pt")
    assert main(["diagnose", str(tmp_path / "a.pt")]) == 1
    assert capsys.readouterr().out == f"{report_text(find(snapshot), snapshot)}\n"
    assert main(["diagnose", str(tmp_path / "a.pt"), "--json"]) == 1
    assert capsys.readouterr().out == f"{report_json(find(snapshot), snapshot)}\n"
    write_dump(snapshot_of(), tmp_path / "b.pt")
    assert main(["diagnose", str(tmp_path / "b.pt")]) == 0


def test_diagnose_without_a_file_says_what_is_missing(capsys):
    assert main(["diagnose"]) == 2
    assert capsys.readouterr().err == (
        "kv-canary: diagnose: the file to read must be named\n"
        "  found:  no file\n"
        "  wanted: the path of a dump\n"
        "  fix:    kv-canary diagnose DUMP\n"
    )


def test_diagnose_of_another_file_is_a_line_and_no_traceback(tmp_path, capsys):
    (tmp_path / "a.pt").write_text("no dump")
    assert main(["diagnose", str(tmp_path / "a.pt")]) == 2
    assert capsys.readouterr().err.startswith(f"kv-canary: {tmp_path / 'a.pt'}: the file must be")


def test_diagnose_works_in_a_fresh_process(tmp_path):
    snapshot = damaged_bytes()
    write_dump(snapshot, tmp_path / "a.pt")
    folders = [str(REPOSITORY / name) for name in ("generated", "runtime")]
    result = subprocess.run(
        [sys.executable, "-m", "kv_canary", "diagnose", "a.pt"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (1, "")
    assert result.stdout == f"{report_text(find(snapshot), snapshot)}\n"


def test_help_of_diagnose_needs_no_torch():
    program = (
        "import sys; sys.modules['torch'] = None; "
        "from kv_canary.cli import main; sys.exit(main(['diagnose', '--help']))"
    )
    folders = [str(REPOSITORY / name) for name in ("generated", "runtime")]
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("usage: kv-canary diagnose ")


# The package -------------------------------------------------------------------------------------


def test_names_of_the_package_are_those_that_a_type_checker_sees():
    source = Path(kv_canary.findings.__file__).read_text(encoding="utf-8")
    seen = {
        alias.name: node.module.rpartition(".")[2]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module.startswith("kv_canary.findings")
        for alias in node.names
    }
    assert seen == kv_canary.findings._MODULE_OF_NAME
    assert sorted(seen) == sorted(kv_canary.findings.__all__)
    for name in seen:
        assert getattr(kv_canary.findings, name) is not None


# Garbage -----------------------------------------------------------------------------------------


def garbage(generator, *shape):
    """Small numbers, wild ones, and those at the edges of int64."""
    small = torch.randint(-4, 50, shape, generator=generator)
    wild = torch.randint(-(2**63), 2**63 - 1, shape, generator=generator)
    edge = torch.tensor([-(2**63), 2**63 - 1, -1, -2, 2**31])[
        torch.randint(0, 5, shape, generator=generator)
    ]
    choice = torch.randint(0, 6, shape, generator=generator)
    return torch.where(choice == 0, wild, torch.where(choice == 1, edge, small))


@pytest.mark.parametrize("seed", range(25))
def test_whatever_a_snapshot_holds_every_violation_is_in_a_finding(seed):
    """What the canary reads may be the damaged thing, and so may what it hands on."""
    generator = torch.Generator().manual_seed(seed)
    count = 40
    violations = garbage(generator, count, 8)
    violations[:, 0] = torch.randint(-1, 14, (count,), generator=generator)
    violations[:, 7] = torch.randint(1, 256, (count,), generator=generator)
    evidence = garbage(generator, count, 8)
    evidence[:, 5] = torch.randint(4, 7, (count,), generator=generator)
    evidence[:, 7] = 0 if seed % 5 else -1
    steps = tuple(
        StepSnapshot(
            step=number,
            req_pool_indices=garbage(generator, 6),
            prefix_lens=garbage(generator, 6),
            extend_seq_lens=garbage(generator, 6),
            positions=garbage(generator, 9),
            out_cache_loc=garbage(generator, 9),
        )
        for number in (4, 5)
    )
    sound = snapshot_of(window=True)
    halves = tuple(
        HalfSnapshot(half=half, head=garbage(generator, 40, 4), tail=garbage(generator, 40, 4))
        for half in "KV"
    )
    snapshot = replace(
        sound,
        hash_format="parallel" if seed % 2 else "serial",
        groups=(
            replace(sound.groups[0], halves=halves, page_sizes=(4,)),
            replace(sound.groups[1], mapping=garbage(generator, 40)),
        ),
        req_to_token=garbage(generator, 5, 6).to(torch.int32),
        violations=violations,
        evidence=evidence,
        violation_count=count,
        steps=steps if seed % 3 else (),
        expected_tokens=garbage(generator, 5, 6).to(torch.int32) if seed % 4 else None,
        expected_valid=garbage(generator, 5) if seed % 4 else None,
    )
    findings = find(snapshot)
    found = {violation.index for finding in findings for violation in finding.violations}
    assert found == set(range(count))
    assert json.loads(report_json(findings, snapshot))["violations_recorded"] == count
    assert report_text(findings, snapshot)
