"""The language through the whole toolchain: the manual's project, and what no kernel of ours uses.

Each project is generated into a temporary folder, and its generated tests run there, interpreted.
"""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from kv_canary_codegen.cli import main
from kv_canary_codegen.parse import KEYS, read_spec

REPOSITORY = Path(__file__).parent.parent
MANUAL = REPOSITORY / "spec" / "README.md"

# The manual ---------------------------------------------------------------------------------------


def manual_files():
    """The files of the manual's project, by path from its spec folder."""
    files = {}
    for text in re.findall(r"^```\w+\n(.*?)^```$", MANUAL.read_text(), re.MULTILINE | re.DOTALL):
        heading, _, body = text.partition("\n")
        name = heading.removeprefix("# ").removesuffix(", continued")
        assert name in files or heading == f"# {name}", f"begins with {heading}"
        files[name] = files.get(name, "") + body
    return files


def manual_keys():
    """The keys that each section of the manual explains, with whether they are required."""
    found = {}
    for section in re.split(r"^##+ ", MANUAL.read_text(), flags=re.MULTILINE)[1:]:
        heading, _, text = section.partition("\n")
        keys = re.findall(r"^- `(\w+)`(, required)?:", text, re.MULTILINE)
        if keys:
            found[heading] = {key: bool(required) for key, required in keys}
    return found


@pytest.mark.parametrize("context", KEYS)
def test_manual_explains_each_key_in_its_section_and_no_other(context):
    assert manual_keys()[context] == KEYS[context]


def test_manual_explains_keys_of_no_other_mapping():
    assert set(manual_keys()) == set(KEYS)


def test_manual_links_lead_to_its_own_sections():
    text = MANUAL.read_text()
    headings = re.findall(r"^##+ (.*)$", text, re.MULTILINE)
    anchors = {heading.lower().replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]*)\)", text)) <= anchors


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def environment(root, **more):
    """The project's own packages, and nothing of ours."""
    path = os.pathsep.join(str(root / name) for name in ("generated", "source"))
    return {**os.environ, "PYTHONPATH": path, **more}


def run_generated_tests(root, *, marked, **variables):
    """Run a project's generated tests; kernels by what became of their tests."""
    report = root / "report.xml"
    (root / "pytest.ini").write_text("[pytest]\nmarkers =\n    gpu:\n    compiles:\n")
    words = [
        "-q",
        "-p",
        "no:cacheprovider",
        "--continue-on-collection-errors",
        "--import-mode=importlib",
        "-m",
        marked,
    ]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, f"--junitxml={report}", "generated/tests"],
        cwd=root,
        env=environment(root, **variables),
        capture_output=True,
        text=True,
        check=False,
    )
    outcomes = {}
    for case in ElementTree.parse(report).iter("testcase"):
        place = case.get("classname") or case.get("name")
        stem = place.rpartition("test_")[2]
        passed, failed = outcomes.get(stem, (0, []))
        wrong = [part for part in case if part.tag in ("failure", "error")]
        skipped = any(part.tag == "skipped" for part in case)
        failed = failed + [f"{case.get('name')}: {part.get('message')}" for part in wrong]
        outcomes[stem] = (passed + (not wrong and not skipped), failed)
    assert outcomes, done.stdout + done.stderr
    return outcomes


@pytest.fixture(scope="session")
def quake(tmp_path_factory):
    """The manual's project, generated."""
    root = tmp_path_factory.mktemp("quake")
    write(root / "spec", manual_files())
    assert main(["generate", "--spec", f"{root}/spec", "--out", f"{root}/generated"]) == 0
    return root


def test_manual_project_is_a_sound_spec(quake):
    spec = read_spec(quake / "spec", "spec")
    assert [kernel.stem for kernel in spec.kernels] == ["amplify", "amplify_and_forget", "forget"]


def test_manual_project_passes_its_generated_tests(quake):
    outcomes = run_generated_tests(quake, marked="not gpu and not compiles", TRITON_INTERPRET="1")
    assert set(outcomes) == {"amplify", "amplify_and_forget", "forget", "structs"}
    for passed, failed in outcomes.values():
        assert failed == []
        assert passed > 0


# Features of no kernel of ours --------------------------------------------------------------------

PROJECT = """\
project: scenery
package: scenery_kernels
message_prefix: "scenery: "
environment_prefix: SCENERY
command: scenery
output: ../generated
reference_root: ../source
reference_package: scenery
"""
CONSTANTS = """\
constants:
  MAX_AREA: {value: 1024, doc: Most pixels of a brush.}
enums:
  Channel:
    doc: What an image layer holds.
    members:
      RED: {value: 0, doc: Red light.}
      GREEN: {value: 1, doc: Green light.}
      DEPTH: {value: 4, doc: Distance from the eye.}
"""
STRUCTS = """\
structs:
  Book:
    summary: How often each value was seen.
    sizes:
      bins: Values that are told apart.
      scratch_len: Entries of the workspace.
    fields:
      counts: {tensor: "int64[bins]", axes: [value], initial: 0, doc: How often each was seen.}
      scratch:
        tensor: int32[scratch_len]
        axes: [value]
        optional: true
        initial: 7
        doc: How often each was seen in this call.
    rules:
      - id: bins_positive
        require: bins > 0
        message: Book bins must be positive, got {bins}
        meaning: Without a bin nothing can be counted.
        causes: [A histogram of nothing.]
        fix: [Pass at least 1.]
        example: {wrong: {bins: 0}, right: {bins: 1}}
"""


def rule(name, argument, require, message, example=""):
    return f"""\
  - id: {name}
    argument: {argument}
    require: {require}
    message: {message}
    meaning: What the reference expects.
    causes: [A slip.]
    fix: [Pass what the message asks for.]
{example and f"    example: {example}"}
"""


PAINT = f"""\
kernel: paint
summary: Put a brush on one layer of an image.
launcher: {{name: launch_paint}}
reference: scenery.paint:paint
device_of: image

arguments:
  image:
    tensor: float32[layers, height, width]
    axes: [layer, row, column]
    access: read_write
    layout: strided
    doc: The layers, one behind the other.
  brush: {{tensor: "float32[height, width]", axes: [row, column], access: read, doc: A tile.}}
  strength:
    tensor: float32[strength_len]
    axes: [row]
    access: read
    optional: true
    default: none
    doc: How strongly each row is put on.
  painted: {{tensor: "int64[layers]", axes: [layer], access: read_write, doc: Pixels painted.}}
  layer: {{scalar: int, default: 0, doc: The layer to paint.}}
  mode: {{scalar: "one of replace, add", default: replace, doc: What becomes of the pixels below.}}
  clip: {{scalar: bool, default: false, doc: Whether pixels end at 1.}}

rules:
{
    rule(
        "layer_range",
        "layer",
        "0 <= layer < layers",
        "layer must be in [0, {layers}), got {layer}",
        "{wrong: {layer: 1}, right: {layer: 0}}",
    )
}
{
    rule(
        "area_within_limit",
        "brush",
        "height * width <= MAX_AREA",
        "a brush has at most {MAX_AREA} pixels, got {height} x {width} = {height * width}",
        "{wrong: {height: 33, width: 32}, right: {height: 32, width: 32}}",
    )
}
{
    rule(
        "strength_of_each_row",
        "strength",
        "present(strength) implies strength_len == height",
        "strength has {strength_len} entries for {height} rows",
        "{wrong: {strength: given, strength_len: 2}, right: {strength: given, strength_len: 1}}",
    )
}
{
    rule(
        "add_is_clipped",
        "mode",
        "mode == add implies clip",
        "what is added must be clipped",
        "{wrong: {mode: add}, right: {mode: add, clip: true}}",
    )
}
variants: [mode, clip]
launch: {{grid: [height, (width + 15) // 16], num_warps: 1}}
blocks: {{COLUMN_BLOCK: 16}}
"""
PAINT_BODY = """\
@triton.jit
def _blended(old, new, adds: tl.constexpr):
    if adds:
        new = old + new
    return new


def kernel():
    row = tl.program_id(0)
    column = tl.program_id(1) * COLUMN_BLOCK + tl.arange(0, COLUMN_BLOCK)
    new = {{ load("brush", "row", "column", other=0.0) }}
    if {{ present("strength") }}:
        factor = {{ load("strength", "row", other=0.0) }}
        new = new * factor
    old = {{ load("image", "layer", "row", "column", other=0.0) }}
    new = _blended(old, new, MODE == MODE_ADD)
    if CLIP:
        new = tl.minimum(new, 1.0)
    {{ store("image", "layer", "row", "column", value="new") }}
    pixels = tl.sum((column < width).to(tl.int64))
    {{ atomic_add("painted", "layer", value="pixels") }}
"""
PAINT_REFERENCE = """\
import torch


def paint(*, image, brush, strength, painted, layer, mode, clip):
    new = brush if strength is None else brush * strength[:, None]
    if mode == "add":
        new = image[layer] + new
    image[layer] = torch.clamp(new, max=1.0) if clip else new
    painted[layer] += brush.numel()
"""
TALLY = f"""\
kernel: tally
summary: Count values, in a book that may have a workspace.
launcher: {{name: launch_tally}}
reference: scenery.tally:tally
device_of: values

arguments:
  values:
    tensor: int32[count]
    axes: [entry]
    access: read
    values: {{range: 0 <= it < bins, on_violation: skip}}
    doc: What is counted.
  book: {{struct: Book, access: read_write, called: "book_{{field}}", doc: Takes the counts.}}
  step: {{scalar: int, default: 1, doc: What each value counts for.}}

relations:
{
    rule(
        "scratch_is_large_enough",
        "book.scratch",
        "present(book.scratch) implies scratch_len >= bins",
        "the workspace holds {scratch_len} of {bins} values",
        "{wrong: {book.scratch: given, bins: 2, scratch_len: 1}, "
        "right: {book.scratch: given, bins: 2, scratch_len: 2}}",
    )
}
launch: {{grid: [(count + 31) // 32]}}
blocks: {{VALUE_BLOCK: 32}}
"""
TALLY_BODY = """\
def kernel():
    entry = tl.program_id(0) * VALUE_BLOCK + tl.arange(0, VALUE_BLOCK)
    value = {{ load("values", "entry", other=-1) }}
    steps = tl.full([VALUE_BLOCK], 0, tl.int64) + step
    {{ atomic_add("book_counts", "value", value="steps", mask="value_in_domain") }}
    if {{ present("book_scratch") }}:
        ones = tl.full([VALUE_BLOCK], 1, tl.int32)
        {{ atomic_add("book_scratch", "value", value="ones", mask="value_in_domain") }}
"""
TALLY_REFERENCE = """\
import torch


def tally(*, values, book, step):
    inside = values[(values >= 0) & (values < book.counts.shape[0])].long()
    book.counts.index_add_(0, inside, torch.full_like(inside, step))
    if book.scratch is not None:
        book.scratch.index_add_(0, inside, torch.ones_like(inside, dtype=torch.int32))
"""
HALVES = f"""\
kernel: halves
summary: Keep every second value of each row.
launcher: {{name: launch_halves}}
reference: scenery.halves:halves
device_of: values

arguments:
  values:
    tensor: int32[rows, count]
    axes: [row, entry]
    access: read
    sample: i * 3 - first
    doc: One row after the other.
  weights:
    tensor: float32[rows, >= count]
    axes: [row, entry]
    access: read
    optional: true
    doc: Their presence silences the values.
  limits: {{tensor: "uint8[min(rows, 4)]", access: read, doc: Subtracted from the first rows.}}
  kept:
    tensor: int32[rows, max(1, (count + 1) // 2)]
    axes: [row, half]
    access: write
    doc: Every second value.
  order: {{tensor: "int64[rows + 1]", axes: [boundary], access: write, doc: Where rows begin.}}
  first: {{scalar: int, default: 0, doc: Where values begin.}}
  loud: {{scalar: bool, default: true, doc: Whether values are doubled.}}

sizes:
  is_loud: {{flag: loud and not present(weights), doc: Whether values are doubled.}}
  half: {{size: "max(1, (count + 1) // 2)", doc: Values that are kept.}}

rules:
{
    rule(
        "first_within_count",
        "first",
        "is_loud implies 0 <= first <= count",
        "first must be in [0, {count}], got {first} ({type(is_loud)} {is_loud})",
        "{wrong: {first: 2, count: 1}, right: {first: 1, count: 1}}",
    )
}
launch: {{grid: ["max(1, rows)", (half + 7) // 8]}}
blocks: {{HALF_BLOCK: 8}}
ensures:
  - order[0] == 0
  - order[rows] == rows * max(1, (count + 1) // 2)
  - nondecreasing(order)
  - kept in [-2000, 2000]
"""
HALVES_BODY = """\
def kernel():
    row = tl.program_id(0)
    place = tl.program_id(1) * HALF_BLOCK + tl.arange(0, HALF_BLOCK)
    value = {{ load("values", "row", "place * 2", other=0) }}
    limit = {{ load("limits", "row", other=0) }}
    value = tl.where(is_loud != 0, value * 2, value) - limit.to(tl.int64)
    {{ store("kept", "row", "place", value="value") }}
    {{ store("order", "row", value="row * half") }}
    if row == rows - 1:
        {{ store("order", "row + 1", value="rows * half", guard="last") }}
"""
HALVES_REFERENCE = """\
def halves(*, values, weights, limits, kept, order, first, loud):
    rows, count = values.shape
    half = max(1, (count + 1) // 2)
    kept.zero_()
    kept[:, : (count + 1) // 2] = values[:, ::2] * (2 if loud and weights is None else 1)
    kept[:4] -= limits[:, None].int()
    for row in range(rows + 1):
        order[row] = row * half
"""


def copying(stem, dtypes, *, more="", values="", extra="", body=""):
    """A kernel that copies one tensor of each dtype: its files."""
    arguments = "".join(
        f'  from_{d}: {{tensor: "{d}[count]", access: read, {values}doc: Values.}}\n'
        f'  to_{d}: {{tensor: "{d}[count]", access: write, doc: Copies.}}\n'
        for d in dtypes
    )
    mask = ', mask="value_in_domain"' if values else ""
    copies = "".join(
        f'    value = {{{{ load("from_{d}", "index", other=0) }}}}\n'
        f'    {{{{ store("to_{d}", "index", value="value"{mask}, guard="to_{d}") }}}}\n'
        for d in dtypes
    )
    names = ", ".join(f"from_{d}, to_{d}" for d in dtypes)
    condition = "(x >= 0) & (x < 1024)" if values else "x == x"
    return {
        f"spec/kernels/{stem}.yaml": (
            f"kernel: {stem}\nsummary: Copy.\nlauncher: {{name: launch_{stem}}}\n"
            f"reference: scenery.{stem}:{stem}\ndevice_of: from_{dtypes[0]}\n"
            f"arguments:\n{arguments}{more}"
            f"launch: {{grid: [(count + 15) // 16]}}\nblocks: {{BLOCK: 16}}\n{extra}"
        ),
        f"spec/kernels/{stem}.py.jinja": (
            "def kernel():\n    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
            f"{body}{copies}"
        ),
        f"source/scenery/{stem}.py": (
            f"def {stem}(*, {names}, **_):\n"
            f"    for x, y in zip([{names}][::2], [{names}][1::2]):\n"
            f"        y[{condition}] = x[{condition}]\n"
        ),
    }


FILES = {
    "spec/project.yaml": PROJECT,
    "spec/constants.yaml": CONSTANTS,
    "spec/structs.yaml": STRUCTS,
    "spec/kernels/paint.yaml": PAINT,
    "spec/kernels/paint.py.jinja": PAINT_BODY,
    "source/scenery/paint.py": PAINT_REFERENCE,
    "spec/kernels/tally.yaml": TALLY,
    "spec/kernels/tally.py.jinja": TALLY_BODY,
    "source/scenery/tally.py": TALLY_REFERENCE,
    "spec/kernels/halves.yaml": HALVES,
    "spec/kernels/halves.py.jinja": HALVES_BODY,
    "source/scenery/halves.py": HALVES_REFERENCE,
    **copying(
        "copy_numbers",
        ("int64", "int32", "int16", "uint8", "float16", "bfloat16", "float32", "float64"),
    ),
    **copying("copy_int8", ("int8",)),
    **copying(
        "copy_bool",
        ("bool",),
        more="  loud: {scalar: bool, default: false, doc: Changes nothing.}\n",
        body="    index = tl.where(loud != 0, index + 0, index)\n",
    ),
    **copying(
        "copy_channel",
        ("int32",),
        more="  channel: {scalar: Channel, default: RED, doc: Changes nothing.}\n",
        extra="variants: [channel]\n",
        body="    index = tl.where(CHANNEL == 4, index + 0, index)\n",
    ),
    **copying(
        "copy_below_constant",
        ("int32",),
        values="values: {range: 0 <= it < MAX_AREA, on_violation: skip}, ",
    ),
    **copying(
        "copy_from_member",
        ("int32",),
        values="values: {range: Channel.RED <= it < 1024, on_violation: skip}, ",
    ),
    **copying(
        "copy_and_ensure",
        ("int32",),
        extra=(
            "sizes: {half: {size: count // 2, doc: Half of them.}}\n"
            "ensures: [unchanged(to_int32 beyond count + half)]\n"
        ),
    ),
}
KERNELS = sorted(
    name.removeprefix("spec/kernels/").removesuffix(".yaml")
    for name in FILES
    if re.fullmatch(r"spec/kernels/\w+\.yaml", name)
)


@pytest.fixture(scope="session")
def scenery(tmp_path_factory):
    """A project that uses what no kernel of ours does, generated."""
    root = tmp_path_factory.mktemp("scenery")
    write(root, FILES)
    assert main(["generate", "--spec", f"{root}/spec", "--out", f"{root}/generated"]) == 0
    return root


@pytest.fixture(scope="session")
def interpreted(scenery):
    """What became of each kernel's generated tests."""
    return run_generated_tests(scenery, marked="not gpu and not compiles", TRITON_INTERPRET="1")


@pytest.mark.parametrize("stem", [*KERNELS, "structs"])
def test_generated_tests_of_every_feature_pass(interpreted, stem):
    passed, failed = interpreted[stem]
    assert failed == []
    assert passed > 0


@pytest.mark.compiles
def test_kernels_of_every_feature_compile(scenery):
    outcomes = run_generated_tests(scenery, marked="compiles")
    assert sorted(outcomes) == KERNELS
    assert not any(failed for _, failed in outcomes.values())
    assert all(passed >= 5 for passed, _ in outcomes.values()), "one for each target at least"


def run_script(root, script):
    """Run a caller's code against the project, interpreted; what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env=environment(root, TRITON_INTERPRET="1"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


VARIANTS = """
import itertools, os, torch
from scenery_kernels.launchers.paint import launch_paint

def image_of(layout, seed):
    source = torch.Generator().manual_seed(seed)
    if layout == "slices":
        return torch.rand(3, 10, 60, generator=source)[:, 1::2, 3::3]
    if layout == "transposed":
        return torch.rand(3, 19, 5, generator=source).transpose(1, 2)
    return torch.rand(3, 5, 19, generator=source)

def painted(backend, layout, mode, clip, given):
    os.environ["SCENERY_BACKEND"] = backend
    image = image_of(layout, 1)
    counts = torch.tensor([10, 20, 30])
    launch_paint(
        image=image, brush=image_of("plain", 2)[0].clone(), painted=counts, layer=2, mode=mode,
        clip=clip, strength=torch.arange(5.0) if given else None,
    )
    return [*image.flatten().tolist(), *counts.tolist()]

for layout in ("plain", "slices", "transposed"):
    for mode, clip, given in itertools.product(("replace", "add"), (False, True), (False, True)):
        if clip or mode == "replace":
            assert painted("torch", layout, mode, clip, given) == painted(
                "triton", layout, mode, clip, given), (layout, mode, clip, given)
            print(layout, mode, clip, given)
"""


def test_every_variant_and_layout_gives_what_the_reference_gives(scenery):
    assert len(run_script(scenery, VARIANTS)) == 3 * 6


WORKSPACE = """
import os, torch
from scenery_kernels.launchers.tally import launch_tally
from scenery_kernels.structs import Book

print(Book.allocation_bytes(bins=3), Book.allocation_bytes(bins=3, scratch_len=5))
for backend in ("torch", "triton"):
    os.environ["SCENERY_BACKEND"] = backend
    for sizes in ({"bins": 3}, {"bins": 3, "scratch_len": 5}):
        book = Book.allocate(**sizes, device="cpu")
        values = torch.tensor([0, 2, 2, -1, 3, 100], dtype=torch.int32)
        launch_tally(values=values, book=book)
        launch_tally(values=values, book=book, step=10)
        print(book.counts.tolist(), book.scratch if book.scratch is None else book.scratch.tolist())
"""


def test_a_workspace_is_allocated_where_its_size_is_given(scenery):
    counted = ["[11, 0, 22] None", "[11, 0, 22] [9, 7, 11, 7, 7]"]
    assert run_script(scenery, WORKSPACE) == ["24 44", *counted, *counted]


MESSAGES = """
import torch
from scenery_kernels.constants import Channel
from scenery_kernels.contract import ContractError
from scenery_kernels.launchers.copy_channel import launch_copy_channel
from scenery_kernels.launchers.paint import launch_paint
from scenery_kernels.launchers.tally import launch_tally
from scenery_kernels.structs import Book

def said(function, **arguments):
    try:
        function(**arguments)
    except ContractError as error:
        print(error)
    else:
        print("nothing")

sound = {"image": torch.zeros(1, 2, 2), "brush": torch.zeros(2, 2),
         "painted": torch.zeros(1, dtype=torch.int64)}
for change in (
    {"mode": "ad"}, {"mode": 1}, {"clip": 1}, {"clip": None}, {"layer": True}, {"layer": 1},
    {"image": torch.zeros(1, 2, 2, dtype=torch.float64)}, {"image": torch.zeros(2, 2)},
    {"brush": torch.zeros(2, 3)}, {"brush": torch.zeros(2, 4)[:, ::2]},
    {"strength": torch.zeros(3)}, {"mode": "add"},
    {"image": torch.zeros(1, 40, 40), "brush": torch.zeros(40, 40)},
):
    said(launch_paint, **{**sound, **change})
said(Book.allocate, bins=0, device="cpu")
said(Book.allocate, bins=True, device="cpu")
values = torch.zeros(1, dtype=torch.int32)
said(launch_tally, values=values, book=Book.allocate(bins=3, scratch_len=2, device="cpu"))
for channel in (4, "RED", None, Channel.DEPTH):
    said(launch_copy_channel, from_int32=values, to_int32=values.clone(), channel=channel)
"""


def test_messages_about_every_kind_of_argument(scenery):
    assert run_script(scenery, MESSAGES) == [
        "scenery: mode must be one of replace/add, got 'ad'",
        "scenery: mode must be one of replace/add, got int",
        "scenery: clip must be bool, got int",
        "scenery: clip is required",
        "scenery: layer must be int, got bool",
        "scenery: layer must be in [0, 1), got 1",
        "scenery: image must have dtype torch.float32, got torch.float64",
        "scenery: image must be 3-D, got shape (2, 2)",
        "scenery: brush shape[1] must be 2, got 3",
        "scenery: brush must be contiguous",
        "scenery: strength has 3 entries for 2 rows",
        "scenery: what is added must be clipped",
        "scenery: a brush has at most 1024 pixels, got 40 x 40 = 1600",
        "scenery: Book bins must be positive, got 0",
        "scenery: bins must be int, got bool",
        "scenery: the workspace holds 2 of 3 values",
        "scenery: channel must be a Channel, got int",
        "scenery: channel must be a Channel, got str",
        "scenery: channel is required",
        "nothing",
    ]
