"""The language through the whole toolchain: the manual's project, and what no kernel of ours uses.

Each project is generated into a temporary folder, and its generated tests run there, interpreted.
"""

import os
import re
import subprocess
import sys
import textwrap
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
    assert [kernel.stem for kernel in spec.kernels] == [
        "amplify",
        "amplify_and_forget",
        "forget",
        "stack",
    ]


def test_manual_project_passes_its_generated_tests(quake):
    outcomes = run_generated_tests(quake, marked="not gpu and not compiles", TRITON_INTERPRET="1")
    assert set(outcomes) == {"amplify", "amplify_and_forget", "forget", "stack", "structs"}
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
for channel in (3, True, "RED", None, 4, Channel.DEPTH):
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
        "scenery: channel must be one of RED/GREEN/DEPTH (0/1/4), got 3",
        "scenery: channel must be a Channel, got bool",
        "scenery: channel must be a Channel, got str",
        "scenery: channel is required",
        "nothing",
        "nothing",
    ]


# Structs of scalars and lists --------------------------------------------------------------------


def indented(text):
    return textwrap.indent(text, "    ")


HARBOUR_PROJECT = PROJECT.replace("scenery", "harbour").replace("SCENERY", "HARBOUR")
HARBOUR_CONSTANTS = """\
constants:
  MOST_PILES: {value: 3, doc: Piles that a crane reaches.}
  NOTE_FIELDS: {value: 2, doc: Fields of one note.}
enums:
  Cargo:
    doc: What crates hold.
    members:
      DRY: {value: 0, doc: Grain.}
      COLD: {value: 4, doc: Fish.}
"""
HARBOUR_STRUCTS = f"""\
structs:
  Pile:
    summary: Crates that stand on each other, a row a berth.
    positional: true
    fields:
      crates:
        tensor: bytes[berths, crate_bytes]
        axes: [berth, word]
        layout: rows
        as: int64
        doc: Weights.
      height: {{scalar: int, sample: 1, doc: Crates that are weighed.}}
      tare: {{scalar: int, doc: Weight of a pallet.}}
    rules:
{
    indented(
        rule(
            "height_positive",
            "height",
            "height >= 1",
            "Pile.height must be >= 1, got {height}",
            "{wrong: {height: 0}, right: {height: 1}}",
        )
        + rule(
            "table",
            "crates",
            "rank(crates) == 2",
            "Pile has shape {shape(crates)} of {dtype(crates)}",
        )
    )
}
  Quay:
    summary: Where crates are weighed.
    fields:
      totals: {{tensor: "int64[berth_count]", axes: [berth], doc: Takes the weights.}}
      record:
        tensor: uint8[berth_count, record_bytes]
        axes: [berth, word]
        as: int32
        doc: Takes weight and cargo beside other bytes.
      notes:
        tensor: int64[notes_len, NOTE_FIELDS]
        axes: [note, field]
        unordered_by: note_count
        doc: Berth and weight where it is over the limit.
      note_count: {{tensor: "int64[1]", doc: Notes so far.}}
      piles: {{list: Pile, at_most: MOST_PILES, item: pile, doc: What is weighed.}}
      limit: {{scalar: int, sample: 5, doc: From this weight on there is a note.}}
      cargo: {{scalar: Cargo, doc: What crates hold.}}
      stamp: {{scalar: Cargo or int, doc: Stands in the record.}}
      net: {{scalar: bool, default: true, doc: Whether pallets are taken off.}}
      order: {{scalar: "one of up, down", default: up, doc: Changes nothing.}}
      spare: {{tensor: "int64[spare_len]", optional: true, doc: Takes the weights once more.}}
"""
WEIGH = f"""\
kernel: weigh
summary: Weigh every pile of a quay, and note the heavy berths.
launcher:
  name: launch_weigh
  rules:
{
    indented(
        rule(
            "few_piles",
            "quay.piles",
            "count(quay.piles) <= MOST_PILES",
            "a crane reaches {MOST_PILES} piles, not {count(quay.piles)}",
        )
        + rule(
            "packed",
            "quay.piles",
            "stride(pile_crates, -1) == 1",
            "pile {i} has strides {strides(pile_crates)}",
        ).replace("argument", "each")
        + rule(
            "whole_words",
            "quay.piles",
            "address(pile_crates) % 8 == 0 and "
            "stride(pile_crates, 0) * itemsize(pile_crates) % 8 == 0",
            "pile {i} of {dtype(pile_crates)} begins within a word",
        ).replace("argument", "each")
        + rule(
            "pile_fits",
            "quay.piles",
            "pile_berths >= berth_count",
            "pile {i + 1} stands at {pile_berths} of {berth_count} berths",
        ).replace("argument", "each")
        + rule(
            "high_enough",
            "quay.piles",
            "pile_crate_bytes // 8 >= pile_height",
            "pile {i} is {pile_crate_bytes // 8} high, not {pile_height}",
        ).replace("argument", "each")
    )
}
reference: harbour.weigh:weigh
device_of: quay.totals
arguments:
  quay:
    struct: Quay
    access: read
    called: "{{field}}"
    fields:
      totals: {{access: write}}
      record: {{access: write}}
      notes: {{access: write}}
      note_count: {{access: read_write, sample: 0}}
      spare: {{access: write}}
    doc: Where crates are weighed.
  scales:
    tensor: int32[berth_count, scale_len]
    axes: [berth, scale]
    access: read
    layout: rows
    messages:
      rank: "{{name}} must be {{wanted}}, and is {{found}}"
      length: "{{name}} lacks {{wanted}}"
    doc: The first of each row is added to a weight.

stages: [arguments, launcher, dtype, rank, contiguity, length, sizes, relations, device]
messages:
  dtype: "{{name}} is {{found}} where {{dtype}} is wanted"
  contiguous: "{{name}} is in pieces"
  device: "{{name}} lies on {{found}}, not on {{wanted}}"
also: {{dtype: TypeError, contiguous: TypeError}}
rules:
{
    rule(
        "limit_positive",
        "quay.record",
        "limit > 0",
        "the limit must be positive, got {limit}",
        "{wrong: {limit: 0}, right: {limit: 1}}",
    )
    + rule(
        "notes_have_room",
        "quay.notes",
        "length(quay.notes, 0) >= 1",
        "notes of {dtype(quay.notes)} have no room in {shape(quay.notes)}",
    )
    + rule(
        "record_holds_words",
        "quay.record",
        "record_bytes // 4 >= NOTE_FIELDS",
        "a record of {record_bytes} bytes",
        "{wrong: {record_bytes: 4}, right: {record_bytes: 8}}",
    )
    + rule(
        "record_of_whole_words",
        "quay.record",
        "record_bytes % 4 == 0 and address(quay.record) % 4 == 0",
        "a record of {record_bytes} bytes is in pieces",
        "{wrong: {record_bytes: 9}, right: {record_bytes: 12}}",
    )
    + rule(
        "scales_have_a_first",
        "scales",
        "scale_len >= 1 and stride(scales, -1) == 1",
        "there are {scale_len} scales",
        "{wrong: {scale_len: 0}, right: {scale_len: 1}}",
    )
}
relations:
{
    rule(
        "spare_as_long",
        "quay.spare",
        "present(quay.spare) implies spare_len >= berth_count",
        "spare has {spare_len} of {berth_count} berths",
        "{wrong: {quay.spare: given, spare_len: 0}, right: {quay.spare: given, spare_len: 1}}",
    )
}
functions: [weights, doubling]
variants: [net, order, cargo]
launch: {{grid: [(berth_count + 15) // 16]}}
blocks: {{BERTH_BLOCK: 16}}
"""
WEIGH_BODY = """\
def kernel():
    berth = tl.program_id(0) * BERTH_BLOCK + tl.arange(0, BERTH_BLOCK)
    is_berth = berth < berth_count
    {{ fragment("weighing") }}
    {{ store("totals", "berth", value="total") }}
    low = total.to(tl.int32)
    stamps = tl.zeros([BERTH_BLOCK], tl.int32) + stamp.to(tl.int32)
    {{ store("record", "berth", 0, value="low") }}
    {{ store("record", "berth", 1, value="stamps") }}
    if {{ present("spare") }}:
        {{ store("spare", "berth", value="total", mask="is_berth") }}
    is_heavy = is_berth & (total >= limit)
    heavy = is_heavy.to(tl.int64)
    heavy_count = tl.sum(heavy)
    first = {{ atomic_add("note_count", 0, value="heavy_count") }}
    place = first + tl.cumsum(heavy, 0) - heavy
    {{ store("notes", "place", 0, value="berth", mask="is_heavy") }}
    {{ store("notes", "place", 1, value="total", mask="is_heavy") }}
"""
WEIGHING = """\
total = {{ load("scales", "berth", 0, other=0) }}
if {{ present("pile_0_crates") }}:
    {{ fragment("one_pile", pile="pile_0", word="first") }}
if {{ present("pile_1_crates") }}:
    {{ fragment("one_pile", pile="pile_1", word="second") }}
if {{ present("pile_2_crates") }}:
    {{ fragment("one_pile", pile="pile_2", word="third") }}
if {{ absent("pile_0_crates") }}:
    total = total - 1
if CARGO == CARGO_COLD:
    total = _doubled(total)
if ORDER == ORDER_DOWN:
    total = total + 0
"""
ONE_PILE = """\
# Crates of one pile, without its pallet.
for word_turn in range(0, pile_height):
    word_place = word_turn + tl.zeros([], tl.int64)
    word_weight = {{ load("pile_crates", "berth", "word_place", mask="is_berth", other=0) }}
    total = total + word_weight
total = _without(total, pile_tare, NET)
"""
WEIGH_REFERENCE = """\
import torch


def words(table, rows, dtype, columns):
    table = table.contiguous().view(torch.uint8)[:rows, : columns * dtype.itemsize]
    return table.contiguous().view(dtype).long()


def weigh(*, quay, scales):
    rows = quay.totals.shape[0]
    total = scales[:, 0].long()
    for pile in quay.piles:
        total = total + words(pile.crates, rows, torch.int64, pile.height).sum(1)
        total = total - (pile.tare if quay.net else 0)
    if not quay.piles:
        total = total - 1
    total = total * (2 if quay.cargo == 4 else 1)
    quay.totals.copy_(total)
    record = quay.record.view(torch.int32)
    record[:, 0] = total.to(torch.int32)
    record[:, 1] = torch.tensor(int(quay.stamp)).to(torch.int32)
    if quay.spare is not None:
        quay.spare[:rows] = total
    heavy = (total >= quay.limit).nonzero().flatten()
    for place, berth in enumerate(heavy.tolist(), start=quay.note_count.item()):
        if 0 <= place < quay.notes.shape[0]:
            quay.notes[place] = torch.stack([torch.tensor(berth), total[berth].cpu()])
    quay.note_count.add_(len(heavy))
"""
INSPECT = """\
kernel: inspect
summary: Count the crates of a quay that the weighing kernel would take.
launcher: {name: launch_inspect}
reference: harbour.inspect:inspect
device_of: quay.totals
use:
  - weigh.few_piles
  - weigh.packed
  - weigh.record_holds_words
  - weigh.spare_as_long
arguments:
  quay: {struct: Quay, access: read, called: "{field}", doc: Where crates are weighed.}
  heights: {tensor: "int64[MOST_PILES]", access: write, doc: How high each pile is.}
launch: {grid: ["1"]}
"""
INSPECT_BODY = """\
def kernel():
    {{ store("heights", 0, value="pile_0_height") }}
    {{ store("heights", 1, value="pile_1_height") }}
    {{ store("heights", 2, value="pile_2_height") }}
"""
INSPECT_REFERENCE = """\
def inspect(*, quay, heights):
    heights.zero_()
    for place, pile in enumerate(quay.piles):
        heights[place] = pile.height
"""
HARBOUR_FILES = {
    "spec/project.yaml": HARBOUR_PROJECT,
    "spec/constants.yaml": HARBOUR_CONSTANTS,
    "spec/structs.yaml": HARBOUR_STRUCTS,
    "spec/kernels/weigh.yaml": WEIGH,
    "spec/kernels/weigh.py.jinja": WEIGH_BODY,
    "spec/kernels/fragments/weighing.py.jinja": WEIGHING,
    "spec/kernels/fragments/one_pile.py.jinja": ONE_PILE,
    "spec/kernels/functions/weights.py.jinja": """\
@triton.jit
def _without(value, tare, net: tl.constexpr):
    if net:
        value = value - tare
    return value
""",
    "spec/kernels/functions/doubling.py.jinja": """\
@triton.jit
def _doubled(value):
    return value * 2
""",
    "source/harbour/weigh.py": WEIGH_REFERENCE,
    "spec/kernels/inspect.yaml": INSPECT,
    "spec/kernels/inspect.py.jinja": INSPECT_BODY,
    "source/harbour/inspect.py": INSPECT_REFERENCE,
}


@pytest.fixture(scope="session")
def harbour(tmp_path_factory):
    """A project of another kind of structs, generated."""
    root = tmp_path_factory.mktemp("harbour")
    write(root, HARBOUR_FILES)
    assert main(["generate", "--spec", f"{root}/spec", "--out", f"{root}/generated"]) == 0
    return root


def test_generated_tests_of_structs_with_scalars_and_lists_pass(harbour):
    outcomes = run_generated_tests(harbour, marked="not gpu and not compiles", TRITON_INTERPRET="1")
    assert set(outcomes) == {"inspect", "structs", "weigh"}
    for passed, failed in outcomes.values():
        assert failed == []
        assert passed > 0


@pytest.mark.compiles
def test_kernels_of_structs_with_scalars_and_lists_compile(harbour):
    outcomes = run_generated_tests(harbour, marked="compiles")
    assert sorted(outcomes) == ["inspect", "weigh"]
    assert not any(failed for _, failed in outcomes.values())
    assert all(passed >= 5 for passed, _ in outcomes.values()), "one for each target at least"


QUAY = """
from functools import partial
import torch
from harbour_kernels.constants import Cargo
from harbour_kernels.structs import Pile, Quay

zeros = partial(torch.zeros, dtype=torch.int64)

def quay(**changes):
    fields = dict(
        totals=zeros(21), record=zeros(21, 12, dtype=torch.uint8), notes=zeros(64, 2),
        note_count=zeros(1), piles=(), limit=5, cargo=Cargo.DRY, stamp=7,
    )
    return Quay(**{**fields, **changes})

def crates(dtype=torch.int64, apart=True):
    source = torch.Generator().manual_seed(7)
    return torch.randint(0, 9, (21, 40 if apart else 24), generator=source).to(dtype)[:, :24]
"""
SAME_WEIGHTS = """
import itertools, os
from harbour_kernels.launchers.weigh import launch_weigh

def weighed(backend, piles, **changes):
    os.environ["HARBOUR_BACKEND"] = backend
    used = quay(piles=piles, **changes)
    scales = torch.arange(21 * 3, dtype=torch.int32).reshape(21, 3)[:, :2]
    for _ in range(2):
        launch_weigh(quay=used, scales=scales)
    spare = None if used.spare is None else used.spare.tolist()
    notes = sorted(used.notes[: int(used.note_count)].tolist())
    return used.totals.tolist(), used.record.tolist(), notes, int(used.note_count), spare

kinds = (torch.int64, torch.int8, torch.uint8, torch.float32, torch.bfloat16, torch.int64)
for count, apart, spare in itertools.product(range(4), (False, True), (False, True)):
    piles = [
        Pile(crates(kind, apart), 3, 2 + place)
        for place, kind in enumerate(kinds[count : 2 * count])
    ]
    for cargo, net, order in itertools.product((Cargo.COLD, 0), (True, False), ("up", "down")):
        changes = dict(cargo=cargo, net=net, order=order, limit=40, stamp=2**31 + 5)
        results = []
        for backend in ("torch", "triton"):
            changes["spare"] = zeros(30) if spare else None
            results.append(weighed(backend, piles, **changes))
        assert results[0] == results[1], (count, apart, spare, changes)
    print(count, results[0][0][1] - results[0][0][0])
"""


def test_rows_of_every_dtype_and_stride_are_read_as_the_reference_reads_them(harbour):
    assert len(run_script(harbour, QUAY + SAME_WEIGHTS)) == 4 * 2 * 2


REFUSED_QUAYS = """
from harbour_kernels.contract import ContractError
from harbour_kernels.launchers.inspect import launch_inspect
from harbour_kernels.launchers.weigh import launch_weigh

def said(make):
    try:
        make()
    except ContractError as error:
        print(error, "(a TypeError)" if isinstance(error, TypeError) else "")
    else:
        print("nothing")

def inspect(**changes):
    said(lambda: launch_inspect(quay=quay(**changes), heights=heights))

def weigh(scales=zeros(21, 1, dtype=torch.int32), **changes):
    said(lambda: launch_weigh(quay=quay(**changes), scales=scales))

one = Pile(crates(), 3, 2)
wild = Pile(crates().T, 3, 2)
for change in (
    {"piles": (one, one, one)}, {"piles": [one] * 4}, {"piles": one}, {"piles": [one, 3]},
    {"piles": [one, wild]}, {"piles": [Pile(crates()[:4], 3, 2), wild]},
    {"piles": [one, Pile(crates(torch.int8)[:, 1:17], 3, 2)]},
    {"piles": [one, one, Pile(crates(), 25, 2)]}, {"limit": 0}, {"limit": None}, {"stamp": True},
    {"stamp": -(2**63)}, {"cargo": 4}, {"cargo": 1}, {"cargo": "DRY"}, {"net": 1}, {"order": "off"},
    {"notes": zeros(0, 2)}, {"notes": zeros(4, 3)}, {"record": zeros(21, 12, dtype=torch.int8)},
    {"record": zeros(21, 24, dtype=torch.uint8)[:, :12]},
    {"record": zeros(21, 4, dtype=torch.uint8)}, {"record": zeros(21, 9, dtype=torch.uint8)},
    {"spare": zeros(3)}, {"spare": zeros(30, device="meta")},
    {"scales": zeros(21, 8, dtype=torch.int32)[:, :3]}, {"scales": zeros(21, dtype=torch.float32)},
    {"scales": zeros(21, dtype=torch.int32)}, {"scales": zeros(20, 1, dtype=torch.int32)},
    {"scales": zeros(8, 21, dtype=torch.int32).T},
):
    weigh(**change)
said(lambda: Pile(crates(), 0, 2))
said(lambda: Pile(crates(), 0, "2"))
said(lambda: Pile(crates()[0], 1, 2))
heights = zeros(3)
inspect(piles=[wild], record=zeros(21, 4, dtype=torch.uint8))
inspect(record=zeros(21, 4, dtype=torch.uint8))
inspect(piles=[one, Pile(crates(), 2, 0)])
print(heights.tolist())
"""


def test_messages_about_scalars_lists_and_items(harbour):
    assert [line.rstrip() for line in run_script(harbour, QUAY + REFUSED_QUAYS)] == [
        "nothing",
        "harbour: a crane reaches 3 piles, not 4",
        "harbour: piles must be a tuple or list of Pile, got Pile",
        "harbour: piles[1] must be a Pile, got int",
        "harbour: pile 1 has strides (1, 40)",
        "harbour: pile 1 stands at 4 of 21 berths",
        "harbour: pile 1 of torch.int8 begins within a word",
        "harbour: pile 2 is 24 high, not 25",
        "harbour: the limit must be positive, got 0",
        "harbour: limit is required",
        "harbour: stamp must be int, got bool",
        "nothing",
        "nothing",
        "harbour: cargo must be one of DRY/COLD (0/4), got 1",
        "harbour: cargo must be a Cargo, got str",
        "harbour: net must be bool, got int",
        "harbour: order must be one of up/down, got 'off'",
        "harbour: notes of torch.int64 have no room in (0, 2)",
        "harbour: notes shape[1] must be 2, got 3",
        "harbour: record is torch.int8 where uint8 is wanted (a TypeError)",
        "harbour: record is in pieces (a TypeError)",
        "harbour: a record of 4 bytes",
        "harbour: a record of 9 bytes is in pieces",
        "harbour: spare has 3 of 21 berths",
        "harbour: spare lies on meta, not on cpu",
        "nothing",
        "harbour: scales is torch.float32 where int32 is wanted (a TypeError)",
        "harbour: scales must be 2-D, and is (21,)",
        "harbour: scales lacks 21",
        "harbour: there are 8 scales",
        "harbour: Pile.height must be >= 1, got 0",
        "harbour: Pile.tare must be int, got str",
        "harbour: Pile has shape (24,) of torch.int64",
        "harbour: pile 0 has strides (1, 40)",
        "harbour: a record of 4 bytes",
        "nothing",
        "[3, 2, 0]",
    ]
