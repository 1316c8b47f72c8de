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


def test_kernel_that_is_proved_exits_with_0_and_a_table(tmp_path, capsys):
    words = ["plan_rotation", *SPEC, "--cache", str(tmp_path), "--workers", "1"]
    assert main(words) == 0
    table = capsys.readouterr().out
    (row,) = [line.split() for line in table.split("\n") if line.strip().startswith("plan_rot")][:1]
    assert row[1:] == ["2", "9", "9", "0", "0", "0"]
    assert "all proved" in table
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 3, "two variants and the rules"
    assert main(words) == 0
    assert sorted(tmp_path.iterdir()) == kept


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
