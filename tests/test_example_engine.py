"""The example engine answers as it would without its canary, and is told of a stray write."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kv_canary import CanaryConfig, CanaryError
from kv_canary.example_engine import PAGE, ExampleEngine, main

REPOSITORY = Path(__file__).parent.parent


def answered(mode, device="cpu"):
    engine = ExampleEngine(CanaryConfig(mode=mode, real_kv="all"), device)
    for number in range(12):
        engine.ask([1, 2, 3, 4, 5, 6, 7, 8, number], answer_length=4 + number % 3)
    while engine.waiting or engine.running:
        engine.step()
    return engine


def test_canary_changes_no_answer_and_finds_nothing():
    plain, watched = answered("off"), answered("raise")
    assert watched.answers == plain.answers
    assert len(plain.answers) == 12
    health = watched.canary.health()
    assert health.forwards_on_device == health.forwards > 6
    assert watched.canary.close() == ()


def test_requests_share_pages_and_their_tokens_are_known():
    engine = answered("raise")
    engine.ask([1, 2, 3, 4, 5, 6, 7, 8, 90], answer_length=3)
    engine.step()
    (request,) = engine.running
    assert [slot // PAGE for slot in request.slots[:8:PAGE]] == [
        engine.shared[1, 2, 3, 4],
        engine.shared[1, 2, 3, 4, 5, 6, 7, 8],
    ]
    assert engine.canary.snapshot().expected_valid[request.row] == 9


def test_stray_write_is_found_and_said_in_words(capsys):
    assert main(["--damage"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("kv-canary: 1 finding in the KV cache\n")
    assert "changed after it was stamped (changed_after_stamp, certain)" in said
    assert "position 5" in said


def test_page_with_two_owners_is_found():
    engine = answered("raise")
    for prompt in ([40, 41, 42, 43, 44], [50, 51, 52, 53, 54]):
        engine.ask(prompt, answer_length=8)
    engine.step()
    first, second = engine.running
    stolen = first.slots[0] // PAGE
    second.slots[4:] = range(stolen * PAGE, (stolen + 1) * PAGE)
    with pytest.raises(CanaryError, match=r"the slot\s+was handed out twice"):
        engine.step()


def test_command_answers_every_prompt():
    run = subprocess.run(
        [sys.executable, "-m", "kv_canary.example_engine"],
        env={"PYTHONPATH": f"{REPOSITORY / 'runtime'}:{REPOSITORY / 'generated'}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert lines[0].startswith("20 answers in ")
    assert lines[1].startswith("kv_canary: closed, mode raise; ")
    assert lines[1].endswith("0 violations, 0 of them lost")


@pytest.mark.parametrize(
    ("device", "rule", "wanted"),
    [
        ("abacus", "a device must have a name that torch knows", "cpu or cuda"),
        ("meta", "the device must be there", "a device of this machine"),
    ],
)
def test_device_that_is_not_there_is_told(capsys, device, rule, wanted):
    assert main(["--device", device]) == 2
    assert capsys.readouterr().err == (
        f"kv-canary: --device: {rule}\n  found:  {device}\n  wanted: {wanted}\n"
        "  fix:    --device cpu\n"
    )


@pytest.mark.gpu
def test_it_runs_on_a_gpu_and_finds_the_stray_write_there(capsys):
    if not torch.cuda.is_available():
        pytest.skip("no GPU that torch can use")
    assert main(["--device", "cuda"]) == 0
    assert main(["--device", "cuda", "--damage"]) == 1
    assert "changed_after_stamp" in capsys.readouterr().out
