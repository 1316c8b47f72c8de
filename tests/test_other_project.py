"""Another project, of another field, generates its own kernels with ours out of reach."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kv_canary_codegen.cli import main

REPOSITORY = Path(__file__).parent.parent

FILES = {
    "spec/project.yaml": """\
project: paged-gather
package: paged_gather_kernels
message_prefix: "paged-gather: "
environment_prefix: PAGED_GATHER
command: paged-gather
output: ../generated
reference_root: ../source
reference_package: paged_gather.reference
""",
    "spec/constants.yaml": """\
constants:
  NO_PAGE: {value: -1, doc: Stands for a page that nobody has.}
""",
    "spec/kernels/gather.yaml": """\
kernel: gather
summary: Copy each token's row out of the page that holds it.
details: A block index that is no page gives zeros.
launcher: {name: launch_gather}
reference: paged_gather.reference:gather
device_of: out

arguments:
  pages:
    tensor: float32[num_pages, page_size, width]
    axes: [page, place, column]
    access: read
    doc: Rows of all tokens, in pages.
  block_table:
    tensor: int64[blocks]
    axes: [block]
    access: read
    doc: Page of each run of page_size tokens.
    values: {range: 0 <= it < num_pages, on_violation: skip}
  out:
    tensor: float32[tokens, width]
    axes: [token, column]
    access: write
    doc: The row of each token.

rules:
  - id: page_size_positive
    argument: pages
    require: page_size > 0
    message: page_size must be positive, got {page_size}
    meaning: A token's page is found by dividing by the page size.
    causes:
      - A cache that was not allocated yet.
    fix:
      - Allocate the pages before anything is gathered from them.
    example:
      wrong: {page_size: 0}
      right: {page_size: 1}
  - id: tokens_within_table
    argument: block_table
    require: tokens <= blocks * page_size
    message: "{tokens} tokens need more than the {blocks} blocks of {page_size} that the table has"
    meaning: Each token needs a page.
    causes:
      - A block table that was not extended with its sequence.
    fix:
      - Append a block whenever the last one is full.
    example:
      wrong: {tokens: 2}
      right: {tokens: 1}

launch:
  grid: [tokens]
blocks: {COLUMN_BLOCK: 16}
""",
    "spec/kernels/gather.py.jinja": """\
def kernel():
    token = tl.program_id(0).to(tl.int64)
    page = {{ load("block_table", "token // page_size", other=NO_PAGE) }}
    place = token % page_size
    for start in range(0, width, COLUMN_BLOCK):
        column = start + tl.arange(0, COLUMN_BLOCK)
        row = {{ load("pages", "page", "place", "column", mask="page_in_domain", other=0) }}
        {{ store("out", "token", "column", value="row") }}
""",
    "source/paged_gather/__init__.py": "",
    "source/paged_gather/reference.py": """\
import torch


def gather(*, pages, block_table, out):
    page_size = pages.shape[1]
    for token in range(out.shape[0]):
        page = int(block_table[token // page_size])
        if 0 <= page < pages.shape[0]:
            out[token] = pages[page, token % page_size]
        else:
            out[token] = 0


gather_ids = gather
""",
    "pyproject.toml": """\
[tool.pytest.ini_options]
addopts = "-q --strict-markers -p no:cacheprovider"
filterwarnings = ["error"]
markers = ["gpu: needs a GPU", "compiles: needs Triton's compiler"]
""",
    # Imported by every interpreter that has this folder on its path.
    "fence/sitecustomize.py": """\
import sys


class Fence:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("kv_canary", "kv_canary_kernels", "kv_canary_codegen"):
            raise RuntimeError(f"{name} is out of reach")


sys.meta_path.insert(0, Fence())
""",
}
# The same rows for integers: a kernel that borrows every argument but two, and all the rules.
FILES["spec/kernels/gather_ids.yaml"] = (
    FILES["spec/kernels/gather.yaml"]
    .replace("kernel: gather", "kernel: gather_ids")
    .replace("launch_gather", "launch_gather_ids")
    .replace("reference:gather", "reference:gather_ids")
    .replace("float32", "int64")
)
FILES["spec/kernels/gather_ids.py.jinja"] = FILES["spec/kernels/gather.py.jinja"]

USER_CODE = """\
import os
import torch
from paged_gather_kernels import ContractError, launch_gather, launch_gather_ids

pages = torch.arange(2 * 3 * 20, dtype=torch.float32).view(2, 3, 20)
block_table = torch.tensor([1, 7, -1, 0])
out = torch.full((11, 20), -5.0)
for backend in ("torch", "triton"):
    os.environ["PAGED_GATHER_BACKEND"] = backend
    launch_gather(pages=pages, block_table=block_table, out=out.fill_(-5))
    assert torch.equal(out[:3], pages[1]), out
    assert torch.equal(out[3:9], torch.zeros(6, 20)), out
    assert torch.equal(out[9:], pages[0, :2]), out
    found = torch.full((2, 20), -5)
    launch_gather_ids(pages=pages.long() << 40, block_table=block_table[3:], out=found)
    assert torch.equal(found, pages[0, :2].long() << 40), found

def refused(**arguments):
    try:
        launch_gather(**arguments)
    except ContractError as error:
        print(error, *error.__notes__, sep="\\n", end="\\n\\n")

refused(pages=pages, block_table=block_table, out=torch.empty(13, 20))
refused(pages=pages, block_table=block_table.int(), out=out)
os.environ["PAGED_GATHER_BACKEND"] = "abacus"
refused(pages=pages, block_table=block_table, out=out)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """The other project's root, generated."""
    root = tmp_path_factory.mktemp("other") / "paged gather"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    assert main(["generate", "--spec", str(root / "spec")]) == 0
    return root


def run(project, *words, **variables):
    """Run Python with the other project's folders, and none of ours, on its path."""
    folders = [project / name for name in ("fence", "generated", "source")]
    environment = {
        name: value for name, value in os.environ.items() if not name.endswith("_BACKEND")
    }
    environment |= {
        "PYTHONPATH": os.pathsep.join(map(str, folders)),
        "TRITON_INTERPRET": "1",
        **variables,
    }
    return subprocess.run(
        [sys.executable, *words],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_our_packages_are_out_of_its_reach(project):
    result = run(project, "-c", "import kv_canary_kernels")
    assert result.stderr.endswith("RuntimeError: kv_canary_kernels is out of reach\n")


def test_its_generated_tests_pass_under_the_interpreter(project):
    result = run(project, "-m", "pytest", "generated/tests")
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"\A\d+ passed, \d+ skipped in [\d.]+s\Z", result.stdout.splitlines()[-1])


def test_its_kernels_run_from_its_own_code(project):
    """On both backends; wild block indices give zeros; errors carry its name and its command."""
    result = run(project, "-c", USER_CODE)
    assert (result.returncode, result.stderr) == (0, "")
    relation, dtype, backend = result.stdout.strip().split("\n\n")
    assert relation.splitlines()[0] == (
        "paged-gather: 13 tokens need more than the 4 blocks of 3 that the table has"
    )
    assert relation.splitlines()[1] == ("rule: gather.tokens_within_table (argument block_table)")
    assert relation.splitlines()[-1] == "more: paged-gather explain gather.tokens_within_table"
    assert dtype.splitlines()[0] == (
        "paged-gather: block_table must have dtype torch.int64, got torch.int32"
    )
    assert dtype.splitlines()[-1] == "more: paged-gather explain gather.block_table.dtype"
    assert backend.splitlines()[0] == (
        "paged-gather: PAGED_GATHER_BACKEND must be one of torch, triton, got 'abacus'"
    )
    assert backend.splitlines()[-1] == "more: paged-gather explain backend.name"


def test_its_check_passes(project, capsys):
    out = project / "generated"
    assert main(["check", "--spec", str(project / "spec"), "--out", str(out)]) == 0
    count = sum(p.is_file() and "__pycache__" not in p.parts for p in out.rglob("*"))
    assert capsys.readouterr().out == f"{out} is current: {count} files from 2 kernels\n"


def test_its_rules_are_explained(project, capsys):
    assert main(["explain", "gather.page_size_positive", "--spec", str(project / "spec")]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "gather.page_size_positive\n  paged-gather: page_size must be positive, got {page_size}\n"
    )
    result = run(
        project,
        "-c",
        "from paged_gather_kernels.rules import explain\n"
        "print(explain('gather.page_size_positive'), end='')",
    )
    assert (result.stdout, result.stderr) == (out, "")


def test_nothing_of_ours_is_in_its_output(project):
    for path in sorted((project / "generated").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            assert not re.search("kv.?canary|sglang|plan", path.read_text(), re.IGNORECASE), path


@pytest.mark.parametrize("command", ["format", "check"])
def test_its_output_is_clean_under_ruff(project, command):
    words = ["format", "--check"] if command == "format" else ["check"]
    settings = ["--no-cache", "--quiet", "--config", str(REPOSITORY / "pyproject.toml")]
    result = run(project, "-m", "ruff", *words, *settings, "generated")
    assert (result.stdout, result.stderr) == ("", "")
