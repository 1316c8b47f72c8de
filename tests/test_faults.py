"""Faults as real bugs make them: each is found when it is read, and named; the others are silent.

A trial fails with what was found instead, so that a message here reads like a report.
"""

import json
import re
from dataclasses import replace

import pytest

from kv_canary.cli import main
from kv_canary.faults.catalogue import FAULTS, fault_named
from kv_canary.faults.fault import Fault
from kv_canary.faults.measure import Trial, run_trial, small_settings
from kv_canary.findings import Cause, find, read_dump
from kv_canary.replay.canary import CanaryOptions, replay_with_canary
from kv_canary.replay.scene import Injected
from kv_canary.replay.settings import ReplaySettings
from kv_canary.replay.trace import SHIPPED_SLICE, read_trace

NAMES = [fault.name for fault in FAULTS]
DETECTABLE = [fault.name for fault in FAULTS if fault.is_detectable]
# One with a window and bytes, one without a window and with drafts, one without bytes.
FEW_SEEDS = (0, 1, 3)


@pytest.mark.parametrize("name", NAMES)
def test_fault_is_found_when_it_is_read_and_named_and_others_are_silent(name):
    for seed in FEW_SEEDS:
        assert (seed, run_trial(fault_named(name), seed).disappointments()) == (seed, [])


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", NAMES)
def test_fault_is_found_when_it_is_read_and_named_and_others_are_silent_at_every_seed(name, seed):
    assert run_trial(fault_named(name), seed).disappointments() == []


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", [name for name in NAMES if name != "row-not-refilled"])
def test_fault_in_the_real_slice_is_found_when_it_is_read_and_named(name, seed):
    # Its shared prefixes are one block, which a row's last request had as well: "row-not-refilled"
    # finds no victim there.
    fault = fault_named(name)
    window = 64 if seed % 2 == 0 or fault.needs_window else 0
    options = CanaryOptions(
        real_kv=fault.bytes_covered[seed % len(fault.bytes_covered)],
        drafts=2 if fault.needs_drafts else 0,
    )
    summary = replay_with_canary(
        read_trace(SHIPPED_SLICE),
        ReplaySettings(scale=64, window=window, seed=seed),
        options,
        injection=fault.injection(10 + 7 * seed),
    )
    assert Trial(fault=fault, seed=seed, summary=summary).disappointments() == []


def test_faults_of_the_issue_are_all_there():
    assert len(DETECTABLE) >= 19
    assert len(set(NAMES)) == len(NAMES)
    assert {fault.cause for fault in FAULTS if fault.is_detectable} == {
        Cause.ANOTHER_OWNER,
        Cause.CHANGED_AFTER_STAMP,
        Cause.NEVER_STAMPED,
        Cause.OFFSETS,
        Cause.PADDING_SLOT,
        Cause.SHIFTED,
        Cause.WILD_ROW_OR_LENGTH,
        Cause.WILD_SLOT,
        Cause.WINDOW_EDGE,
    }


def test_fault_says_why_it_is_unseen_if_and_only_if_it_is():
    assert all(bool(fault.why_unseen) is not fault.is_detectable for fault in FAULTS)
    assert all(bool(fault.checks) is fault.is_detectable for fault in FAULTS)


def test_seeds_take_turns_with_windows_bytes_hashes_and_drafts():
    chosen = [small_settings(None, seed) for seed in range(12)]
    assert {settings.window > 0 for settings, _ in chosen} == {True, False}
    assert {options.real_kv for _, options in chosen} == {"none", "partial", "all"}
    assert {options.hash_format for _, options in chosen} == {"serial", "parallel"}
    assert {options.drafts > 0 for _, options in chosen} == {True, False}


def test_trial_of_a_fault_that_promises_another_cause_is_a_disappointment():
    sound = fault_named("byte-flipped")
    fault = Fault(
        name="mislabelled",
        happened="A byte changed.",
        inject=sound.inject,
        cause=Cause.SHIFTED,
        checks=fault_named("entries-swapped").checks,
        bytes_covered=("partial",),
    )
    told = run_trial(fault, 0).disappointments()
    assert told[0] == "found [('changed_after_stamp', 'certain')], promised shifted"
    assert len(told) == 2


def test_trial_without_a_victim_is_a_disappointment():
    fault = Fault(
        name="nothing", happened="Nothing.", inject=lambda scene: None, cause=Cause.SHIFTED
    )
    assert run_trial(fault, 0).disappointments() == ["it found no victim"]


def test_trial_of_a_fault_that_does_nothing_finds_nothing():
    fault = Fault(
        name="nothing",
        happened="Nothing.",
        inject=lambda scene: Injected(what="nothing", steps_until_read=0),
        cause=Cause.SHIFTED,
    )
    assert run_trial(fault, 1).disappointments() == ["nothing was found"]


# The command line --------------------------------------------------------------------------------

SMALL = ["--requests", "8", "--scale", "64", "--max-batch", "8"]


def test_replay_with_a_fault_prints_the_finding_and_leaves_a_dump(capsys, tmp_path):
    dump = tmp_path / "dump.pt"
    assert main(["replay", *SMALL, "--inject", "byte-flipped@5", "--dump", str(dump)]) == 1
    text = capsys.readouterr().out
    assert "injected      byte-flipped: in step " in text
    assert "1 finding in step " in text
    assert "changed after it was stamped (changed_after_stamp, certain)" in text
    assert [each.cause for each in find(read_dump(dump))] == [Cause.CHANGED_AFTER_STAMP]


def test_replay_with_a_canary_prints_json(capsys):
    assert main(["replay", *SMALL, "--canary", "--json", "--seed", "3"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["findings"] == []
    assert told["requests"] == 8
    assert told["injected"] is None
    assert told["slots_checked"] > 0


def test_replay_with_a_fault_prints_json(capsys):
    assert main(["replay", *SMALL, "--inject", "row-reset", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert [each["cause"] for each in told["findings"]] == ["padding_slot"]
    assert told["found_step"] == told["injected_step"]
    assert told["injected"]["steps_until_read"] == 0


def test_replay_with_a_canary_prints_one_line_when_quiet(capsys):
    assert main(["replay", *SMALL, "--canary", "--quiet"]) == 0
    assert capsys.readouterr().out.endswith("stamps verified: nothing\n")


@pytest.mark.parametrize("how", ["--quiet", "--json", "--canary"])
def test_fault_whose_step_never_comes_is_told(capsys, how):
    assert main(["replay", *SMALL, "--inject", "late-write@9999", how]) == 2
    captured = capsys.readouterr()
    steps = int(re.search(r"after step (\d+),", captured.err)[1])
    assert captured.err == (
        "kv-canary: --inject: the fault must be injected before the replay ends\n"
        f"  found:  the replay ended after step {steps}, before step 9999\n"
        f"  wanted: a step up to {steps}\n"
        f"  fix:    --inject late-write@{min(10, (steps + 1) // 2)}, or more --requests\n"
    )
    if how == "--json":
        assert json.loads(captured.out)["injected"] is None
    else:
        assert captured.out.endswith(" nothing, as no fault was injected\n")


def test_fault_without_a_victim_is_told(capsys, monkeypatch):
    fault = replace(fault_named("late-write"), inject=lambda scene: None)
    monkeypatch.setattr("kv_canary.faults.catalogue.FAULTS", (fault,))
    assert main(["replay", *SMALL, "--inject", "late-write@3"]) == 2
    captured = capsys.readouterr()
    assert (
        "\ninjected      late-write: no, the replay ended before it had a victim\n" in captured.out
    )
    assert re.search(
        r"\n  found:  no victim for late-write from step 3 to step \d+, the last\n"
        r"  wanted: a step with a request that the fault can harm, and that will be read again\n",
        captured.err,
    )


def test_dump_into_a_folder_that_is_not_there_is_told_before_the_replay(capsys, tmp_path):
    folder = tmp_path / "no"
    assert main(["replay", "--canary", "--dump", str(folder / "dump.pt")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "kv-canary: --dump: the dump's folder must be there\n"
        f"  found:  {folder}\n  wanted: a file in a folder that is there\n"
        f"  fix:    mkdir -p {folder}\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--inject", "byte-fliped"], "a fault must be one that `kv-canary faults` lists"),
        (["--inject", "byte-flipped@x"], "the step must be a whole number, 0 or more"),
        (["--inject", "byte-flipped@"], "the step must be a whole number, 0 or more"),
        (
            ["--inject", "window-map-two-to-one"],
            "the fault window-map-two-to-one needs a sliding window",
        ),
        (["--drafts", "2"], "this flag is about a canary, and none is asked for"),
        (["--canary", "--real-kv", "some"], "the value must be one of none, partial, all"),
    ],
)
def test_wrong_flag_of_a_canary_replay_is_told(capsys, arguments, message):
    assert main(["replay", *SMALL, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_faults_prints_the_table(capsys, monkeypatch):
    two = (fault_named("byte-flipped"), fault_named("racing-read"))
    monkeypatch.setattr("kv_canary.faults.catalogue.FAULTS", two)
    assert main(["faults", "--seeds", "1"]) == 0
    assert capsys.readouterr().out == (
        """\
Each fault at 1 seed; steps from the fault to the finding, 0 is the same step.

byte-flipped  ->  changed_after_stamp
  happened  Bytes of K or V changed after they were stored, as by a stray kernel or a bad memory
            cell.
  seen by   VERIFY_REAL_KV_HASH_MISMATCH
  found     after 0 steps, at 1 of 1 seeds

Faults of one class, which the evidence in a finding tells apart:
  changed_after_stamp byte-flipped

What no stamp can see, injected too, with nothing found:

racing-read
  happened  A forward read bytes that were still on their way, and had come when it ended.
  unseen    when the bytes are verified they are right: a read leaves nothing behind.
  silent    at 1 of 1 seeds
"""
    )


def test_faults_prints_json(capsys, monkeypatch):
    monkeypatch.setattr("kv_canary.faults.catalogue.FAULTS", (fault_named("row-reset"),))
    assert main(["faults", "--seeds", "1", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert told["name"] == "row-reset"
    assert told["cause"] == "padding_slot"
    assert told["checks"] == ["PADDING_SLOT_IN_PREFIX"]
    assert told["steps_until_found"] == [0]
    assert told["as_promised"] == told["seeds"] == 1


def test_faults_fails_when_a_fault_is_not_found_as_promised(capsys, monkeypatch):
    fault = Fault(
        name="nothing",
        happened="Nothing.",
        inject=lambda scene: Injected(what="nothing", steps_until_read=0),
        cause=Cause.SHIFTED,
    )
    monkeypatch.setattr("kv_canary.faults.catalogue.FAULTS", (fault,))
    assert main(["faults", "--seeds", "1"]) == 1
    assert "  BUT       seed 0: nothing was found\n" in capsys.readouterr().out
