"""The command: a table, JSON, exit codes, tests of what it refutes, and results that are kept."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("z3", reason="the extra `prove` is not installed")

from kv_canary_codegen.cli import main as generator
from kv_canary_codegen.prove.command import main

REPOSITORY = Path(__file__).parent.parent
SPEC = ["--spec", str(REPOSITORY / "spec")]


@pytest.fixture
def faulty(tmp_path):
    """A copy of the spec and its output, the rotation's mask dropped."""
    spec, out = tmp_path / "spec", tmp_path / "generated"
    shutil.copytree(REPOSITORY / "spec", spec)
    assert generator(["generate", "--spec", str(spec), "--out", str(out)]) == 0
    path = out / "kv_canary_kernels" / "kernels" / "plan_rotation.py"
    text = path.read_text()
    assert text.count("mask=prefix_lens_request_in_range") == 1
    path.write_text(text.replace("mask=prefix_lens_request_in_range", "mask=requests >= 0"))
    return ["plan_rotation", "--spec", str(spec), "--out", str(out), "--workers", "1"]


def test_json_says_the_same(tmp_path, capsys):
    words = ["plan_rotation", *SPEC, "--cache", str(tmp_path), "--json", "--only", "safety"]
    assert main([*words, "--workers", "1"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["failures"] == 0
    assert {a["status"] for v in report["variants"] for a in v["accesses"]} == {"proved"}


def test_refuted_access_exits_with_1_and_a_test_that_fails(faulty, tmp_path, capsys):
    folder = tmp_path / "found"
    words = [*faulty, "--no-cache", "--only", "safety", "--write-tests", str(folder)]
    assert main(words) == 1
    table = capsys.readouterr().out
    assert "refuted  plan_rotation" in table
    assert "faults under the interpreter with" in table
    (written,) = folder.iterdir()
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(written)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "codegen")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 1
    assert "an access outside, in line" in result.stdout


def test_unknown_kernel_is_named_with_the_nearest(capsys):
    assert main(["plan_rotatoin", *SPEC]) == 2
    assert "fix:    prove plan_rotation" in capsys.readouterr().err


@pytest.fixture
def copied(tmp_path):
    """A copy of the spec without its proofs, and its output."""
    spec, out = tmp_path / "spec", tmp_path / "generated"
    shutil.copytree(REPOSITORY / "spec", spec, ignore=shutil.ignore_patterns("proofs"))
    assert generator(["generate", "--spec", str(spec), "--out", str(out)]) == 0
    return spec, out


def prove(spec, out, cache, *words):
    given = ["--spec", str(spec), "--out", str(out), "--cache", str(cache), "--workers", "1"]
    return main(["plan_rotation", *given, *words])


def test_kernel_that_is_proved_exits_with_0_and_a_table(copied, tmp_path, capsys):
    spec, out = copied
    assert prove(spec, out, tmp_path / "cache") == 0
    table = capsys.readouterr().out
    (row,) = [line.split() for line in table.split("\n") if line.strip().startswith("plan_rot")][:1]
    assert row[1:] == ["2", "9", "9", "0", "0", "0"]
    assert "all proved" in table
    kept = {path.name: path.read_bytes() for path in (tmp_path / "cache").iterdir()}
    results = [name for name in kept if name.endswith(".json")]
    assert len(results) == 5, "two variants, each by its IR and by its source, and the rules"
    assert prove(spec, out, tmp_path / "cache") == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "cache").iterdir()} == kept


def test_what_is_recorded_is_shown_and_stands_until_the_kernel_or_its_contract_changes(
    copied, tmp_path, capsys
):
    spec, out = copied
    page = out / "docs" / "plan_rotation.md"
    assert "## Proof" not in page.read_text()
    assert prove(spec, out, tmp_path / "cache", "--record") == 0
    (file,) = (spec / "proofs").iterdir()
    assert file.name == "plan_rotation.json"
    capsys.readouterr()
    # Taken from the record, with another cache; not where everything is asked anew.
    assert prove(spec, out, tmp_path / "other") == 0
    recorded = capsys.readouterr().out
    assert "as recorded beside the spec, and unchanged since: plan_rotation" in recorded
    assert not (tmp_path / "other").exists()
    assert prove(spec, out, tmp_path / "other", "--no-cache") == 0
    anew = capsys.readouterr().out
    assert "as recorded" not in anew
    rows = [line for line in anew.split("\n") if line.strip().startswith("plan_rotation")]
    assert rows == [x for x in recorded.split("\n") if x.strip().startswith("plan_rotation")]
    assert generator(["generate", "--spec", str(spec), "--out", str(out)]) == 0
    text = page.read_text()
    assert "| store | `verify_rotation` | 1 | 2 |" in text
    assert "Smallest call that breaks it, proved: verify_capacity=-1." in text
    assert "changed since" not in text

    # An edit of prose changes nothing that was proved.
    kernel = spec / "kernels" / "plan_rotation.yaml"
    before = kernel.read_text()
    kernel.write_text(before.replace("summary: ", "summary: In short, ", 1))
    assert kernel.read_text() != before
    assert generator(["generate", "--spec", str(spec), "--out", str(out)]) == 0
    kernel.write_text(before)

    # An edit of a bound does.
    assert before.count("require: verify_capacity >= 0") <= 1
    constants = spec / "constants.yaml"
    text = constants.read_text()
    assert text.count("4096") >= 1
    constants.write_text(text.replace("4096", "2048", 1))
    assert generator(["generate", "--spec", str(spec), "--out", str(out)]) == 0
    assert "The kernel or its contract changed since this was proved" in page.read_text()
    capsys.readouterr()
    assert prove(spec, out, tmp_path / "other") == 0
    assert "as recorded" not in capsys.readouterr().out


def test_nothing_is_recorded_of_a_run_that_refutes(faulty, tmp_path, capsys):
    spec = Path(faulty[2])
    shutil.rmtree(spec / "proofs", ignore_errors=True)
    assert main([*faulty, "--no-cache", "--record"]) == 1
    assert "nothing is recorded, since not everything is proved" in capsys.readouterr().err
    assert not (spec / "proofs").exists()


def test_a_part_alone_is_not_recorded(copied, tmp_path, capsys):
    spec, out = copied
    assert prove(spec, out, tmp_path / "cache", "--record", "--only", "rules") == 2
    assert "prove: --record: what is recorded is everything about a kernel" in (
        capsys.readouterr().err
    )


def test_record_that_is_off_is_told_with_its_place(copied, tmp_path, capsys):
    spec, out = copied
    assert prove(spec, out, tmp_path / "cache", "--record") == 0
    (file,) = (spec / "proofs").iterdir()
    whole = json.loads(file.read_text())
    rules = [{**whole["rules"][0], "verdict": "refuted"}, *whole["rules"][1:]]
    damaged = {
        '{"about": "", "kernel": "plan': "Unterminated string",
        json.dumps({**whole, "kernel": "plan"}): "proofs of 'plan'",
        json.dumps({**whole, "shapes": [[0, 99]]}): "an access that is not there",
        json.dumps({**whole, "variants": [0, 7]}): "a shape that is not there",
        json.dumps({**whole, "rules": rules}): "a verdict that is never recorded: refuted",
    }
    for text, found in damaged.items():
        file.write_text(text)
        capsys.readouterr()
        assert prove(spec, out, tmp_path / "cache") == 2
        told = capsys.readouterr().err
        assert "proofs/plan_rotation.json: a file of proofs is as `prove --record`" in told
        assert found in told
        assert "fix:    prove plan_rotation --record" in told
        assert generator(["generate", "--spec", str(spec), "--out", str(out)]) == 2


def test_reasons_that_are_no_text_are_told(copied, tmp_path, capsys):
    spec, out = copied
    (spec / "prove.yaml").write_bytes(b"\0\xff\xfe")
    assert prove(spec, out, tmp_path / "cache") == 2
    assert "prove.yaml: it must be text in UTF-8" in capsys.readouterr().err
