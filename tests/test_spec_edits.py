"""Edits of our specs, each in a temporary copy, flow into kernels, validators, tests and pages.

For each: which files change and that no others do, what changes in them, and that the regenerated
tests pass under the interpreter, against the reference of our own runtime.
"""

import difflib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kv_canary_codegen.cli import main

REPOSITORY = Path(__file__).parent.parent
STEMS = ("plan", "plan_entries", "plan_offsets")
KINDS = {
    "kernel": "kv_canary_kernels/kernels/{}.py",
    "validator": "kv_canary_kernels/validators/{}.py",
    "launcher": "kv_canary_kernels/launchers/{}.py",
    "test": "tests/test_{}.py",
    "page": "docs/{}.md",
}


class Edited:
    """A copy of our specs, generated before and after an edit."""

    def __init__(self, root):
        self.root = root
        self.spec = root / "spec"
        self.out = root / "generated"
        shutil.copytree(REPOSITORY / "spec", self.spec)
        self.before = self.generate()

    def generate(self):
        assert main(["generate", "--spec", str(self.spec), "--out", str(self.out)]) == 0
        return {
            path.relative_to(self.out).as_posix(): path.read_text()
            for path in sorted(self.out.rglob("*"))
            if path.is_file()
        }

    def edit(self, name, old, new):
        path = self.spec / name
        text = path.read_text()
        assert text.count(old) == 1, (name, old, text.count(old))
        path.write_text(text.replace(old, new))

    def regenerate(self):
        """Generate anew; the files that changed, with the lines that left and those that came."""
        after = self.generate()
        assert after.keys() == self.before.keys()
        return {
            path: changed_lines(self.before[path], text)
            for path, text in after.items()
            if text != self.before[path]
        }

    def stems_whose(self, kind, word):
        """Kernels whose file of a kind said something before the edit."""
        return [
            path.stem
            for path in sorted((self.spec / "kernels").glob("*.yaml"))
            if word in self.before[KINDS[kind].format(path.stem)]
        ]

    def environment(self):
        """The new output first, then the generator and the runtime, whose references are used."""
        folders = [self.out, REPOSITORY / "codegen", self.root, REPOSITORY / "runtime"]
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, folders)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TRITON_INTERPRET": "1",
        }

    def test(self, *stems):
        """Run the new tests of these kernels, without the shapes of a whole block."""
        words = ["-q", "-p", "no:cacheprovider", "-k", "not TOKEN_BLOCK", "--tb", "short"]
        settings = ["-c", str(REPOSITORY / "pyproject.toml"), "-o", "pythonpath="]
        result = subprocess.run(
            [sys.executable, "-m", "pytest", *words, *settings, "--rootdir", str(self.root)]
            + [str(self.out / "tests" / f"test_{stem}.py") for stem in stems],
            env=self.environment(),
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stdout[-4000:] + result.stderr
        passed = re.search(r"(\d+) passed", result.stdout)
        assert int(passed[1]) >= 100 * len(stems)

    def run(self, program):
        """What a program prints that imports the new output."""
        result = subprocess.run(
            [sys.executable, "-c", program],
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert (result.returncode, result.stderr) == (0, "")
        return result.stdout


def changed_lines(before, after):
    """Lines that only the text before has, and lines that only the text after has, stripped."""
    lines = list(difflib.ndiff(before.splitlines(), after.splitlines()))
    return (
        [line[2:].strip() for line in lines if line.startswith("- ")],
        [line[2:].strip() for line in lines if line.startswith("+ ")],
    )


@pytest.fixture
def edited(tmp_path):
    return Edited(tmp_path / "copy")


def files(kinds, stems):
    """Paths of some kinds of files of some kernels."""
    return {KINDS[kind].format(stem) for kind in kinds for stem in stems}


def test_new_value_of_a_constant_reaches_kernels_checks_tests_and_pages(edited):
    """The kernels name the constant, so that their texts stay and their block is another."""
    stems = edited.stems_whose("validator", "PLAN_BS_BLOCK_SIZE (4096)")
    assert {"plan", "plan_offsets"} <= set(stems)
    edited.edit("constants.yaml", "value: 4096", "value: 256")
    changes = edited.regenerate()
    assert changes.keys() == {
        "docs/constants.md",
        "kv_canary_kernels/constants.py",
        "kv_canary_kernels/rules.py",
        # The last of its classes of batch sizes ends at the constant.
        "kv_canary_kernels/launchers/plan.py",
        *files(["validator", "test", "page"], stems),
    }
    assert changes["kv_canary_kernels/constants.py"] == (
        ["PLAN_BS_BLOCK_SIZE: Final = 4096"],
        ["PLAN_BS_BLOCK_SIZE: Final = 256"],
    )
    for removed, added in changes.values():
        assert re.search(r"\b409[67]\b", " ".join(removed))
        assert re.search(r"\b25[67]\b", " ".join(added))
    for path in (edited.out / name for name in changes):
        assert not re.search(r"\b409[67]\b", path.read_text()), path
    assert (
        edited.run(
            "from kv_canary_kernels.kernels import plan_offsets\n"
            "print(plan_offsets.PLAN_BS_BLOCK_SIZE.value)"
        )
        == "256\n"
    )
    edited.test(*STEMS)


NEW_ARGUMENT = """\
  out_request_is_padding:
    tensor: int32[bs]
    axes: [request]
    access: write
    doc: 1 for each padding request, and 0 for the others.
"""
NEW_BODY = """\
    if request < bs:
        own_padding = tl.sum(tl.where((requests == request) & ~are_real, 1, 0))
        {{ store("out_request_is_padding", "request", value="own_padding") }}
"""
NEW_REFERENCE = """\
from kv_canary.reference import plan_offsets as before


def plan_offsets(*, req_pool_indices, out_request_is_padding, **arguments):
    before.plan_offsets(req_pool_indices=req_pool_indices, **arguments)
    out_request_is_padding.copy_(req_pool_indices == 0)
"""


def test_new_int32_argument_is_checked_written_tested_and_documented(edited):
    edited.edit(
        "kernels/plan_offsets.yaml",
        "  swa_window_size:\n    scalar",
        f"{NEW_ARGUMENT}  swa_window_size:\n    scalar",
    )
    edited.edit(
        "kernels/plan_offsets.yaml",
        "reference: kv_canary.reference.plan_offsets:",
        "reference: reference_with_padding:",
    )
    body = edited.spec / "kernels" / "plan_offsets.py.jinja"
    body.write_text(body.read_text() + NEW_BODY)
    (edited.root / "reference_with_padding.py").write_text(NEW_REFERENCE)
    changes = edited.regenerate()
    assert changes.keys() == {
        "kv_canary_kernels/rules.py",
        *files(["kernel", "validator", "launcher", "test", "page"], ["plan_offsets"]),
    }
    name = "out_request_is_padding"
    text = {path: "\n".join(added) for path, (_, added) in changes.items()}
    kernel = text["kv_canary_kernels/kernels/plan_offsets.py"]
    assert f"{name}_ptr" in kernel
    assert f"{name}_request_in_range = (request >= 0) & (request < bs)" in kernel
    assert f"{name}: Tensor," in text["kv_canary_kernels/launchers/plan_offsets.py"]
    assert (
        f"{name}: int32 [bs]. 1 for each padding request"
        in (text["kv_canary_kernels/launchers/plan_offsets.py"])
    )
    implied = [
        f"plan_offsets.{name}.{rule}"
        for rule in ("required", "type", "contiguous", "dtype", "rank", "length", "device")
    ]
    for path in files(["validator", "test", "page"], ["plan_offsets"]):
        assert [rule for rule in implied if rule not in text[path]] == [], path
    rules = text["kv_canary_kernels/rules.py"]
    assert [rule for rule in implied if rule not in rules] == []
    assert f'"{name}_request_in_range"' in rules
    assert (
        f'"kv-canary: {name} must have dtype torch.int32, got torch.'
        in text["tests/test_plan_offsets.py"]
    )
    edited.test("plan_offsets")


NEW_RULE = """\
    - id: bs_within_most_requests
      argument: most_requests
      require: bs <= most_requests
      message: bs={bs} exceeds most_requests={most_requests}
      meaning: A caller may allow fewer requests than the kernel takes.
      causes: [A batch that grew.]
      fix: [Allow more.]
"""


def test_new_scalar_in_a_rule_is_checked_tested_and_documented(edited):
    """The rule alone reads it, so the kernel does not take it."""
    edited.edit(
        "kernels/plan.yaml",
        "  swa_window_size: {like",
        "  most_requests: {scalar: int, doc: Requests that the caller allows.}\n"
        "  swa_window_size: {like",
    )
    edited.edit(
        "kernels/plan.yaml",
        "reference: kv_canary.reference.plan:plan\n",
        f"{NEW_RULE}reference: reference_with_limit:plan\n",
    )
    (edited.root / "reference_with_limit.py").write_text(
        "from kv_canary.reference import plan as before\n\n\n"
        "def plan(*, most_requests, **arguments):\n"
        "    before.plan(**arguments)\n"
    )
    changes = edited.regenerate()
    assert changes.keys() == {
        "docs/rules.md",
        "kv_canary_kernels/rules.py",
        *files(["validator", "launcher", "test", "page"], ["plan"]),
    }
    for path in files(["validator", "test", "page"], ["plan"]):
        text = (edited.out / path).read_text()
        assert "plan.bs_within_most_requests" in text, path
        assert "plan.most_requests.int64" in text, path
    assert "most_requests: int," in changes["kv_canary_kernels/launchers/plan.py"][1]
    assert '"kv-canary: bs=1 exceeds most_requests=0",' in changes["tests/test_plan.py"][1]
    edited.test("plan")


def test_new_dtype_of_an_argument_reaches_all_that_borrow_it(edited):
    stems = edited.stems_whose("launcher", "req_to_token: Tensor,")
    assert set(STEMS) <= set(stems)
    edited.edit("kernels/plan_offsets.yaml", "int32[max_reqs,", "int64[max_reqs,")
    changes = edited.regenerate()
    assert changes.keys() - files(["kernel"], STEMS) == {
        "kv_canary_kernels/rules.py",
        *files(["validator", "launcher", "test", "page"], stems),
    }
    for stem in stems:
        removed, added = (
            "\n".join(lines) for lines in changes[f"kv_canary_kernels/validators/{stem}.py"]
        )
        assert "req_to_token" in removed
        assert "int32" in removed
        assert "int64" in added
        removed, added = changes[f"tests/test_{stem}.py"]
        assert ('"req_to_token_ptr": "*i32",' in removed) == (stem in STEMS)
        assert ('"req_to_token_ptr": "*i64",' in added) == (stem in STEMS)
        message = '"kv-canary: req_to_token must have dtype torch.int64, got torch.int32",'
        assert message in added
        page = "\n".join(changes[f"docs/{stem}.md"][1])
        assert "| `req_to_token` | int64 [max_reqs, max_seq_len] |" in page
    edited.test(*STEMS)


def rule_text(text, rule):
    """A rule of a kernel's spec, from its id to the next one or to the end of its section."""
    start = text.index(f"  - id: {rule}\n")
    end = re.compile(r"^(  - id: |\S|$)", re.MULTILINE).search(text, start + 3).start()
    return text[start:end]


def test_removed_rule_is_gone_from_checks_tests_and_pages(edited):
    path = edited.spec / "kernels" / "plan_offsets.yaml"
    rule = rule_text(path.read_text(), "bs_within_write_req_capacity")
    edited.edit("kernels/plan_offsets.yaml", rule, "")
    changes = edited.regenerate()
    assert changes.keys() >= {
        "docs/rules.md",
        "kv_canary_kernels/rules.py",
        *files(["validator", "test", "page"], ["plan", "plan_offsets"]),
    }
    assert changes.keys() & files(["kernel", "launcher"], STEMS) == set()
    for path in edited.out.rglob("*.*"):
        assert "bs_within_write_req_capacity" not in path.read_text(), path


REWORDED = "{bs} requests do not fit into a plan for {write_req_capacity}"


def test_reworded_message_is_what_callers_hear_and_pages_show(edited):
    edited.edit(
        "kernels/plan_offsets.yaml",
        "message: bs={bs} exceeds write_req_capacity={write_req_capacity}",
        f'message: "{REWORDED}"',
    )
    changes = edited.regenerate()
    assert changes.keys() == {
        "docs/plan_offsets.md",
        "docs/rules.md",
        "kv_canary_kernels/rules.py",
        *files(["validator", "test"], ["plan", "plan_offsets"]),
    }
    for path, (removed, added) in changes.items():
        assert len(removed) == len(added), path
        assert all("exceeds write_req_capacity" in line for line in removed), path
        wanted = re.escape(REWORDED)
        if path.startswith("tests/"):
            wanted = r'^"kv-canary: \d+ requests do not fit into a plan for \d+",$'
        assert all(re.search(wanted, line) for line in added), path
    edited.test("plan", "plan_offsets")


def test_edit_that_is_taken_back_gives_the_old_output_to_the_byte(edited):
    edited.edit("constants.yaml", "value: 4096", "value: 2048")
    assert edited.regenerate()
    edited.edit("constants.yaml", "value: 2048", "value: 4096")
    assert edited.regenerate() == {}
