"""What looks safe and is not: each of these kernels can leave a tensor, and once was proved.

The kernels are edited after they were generated, so that nothing but the prover stands in the way.
"""

import pytest

pytest.importorskip("z3", reason="the extra `prove` is not installed")

from kv_canary_codegen.cli import main
from kv_canary_codegen.parse import read_spec
from kv_canary_codegen.prove.arguments import variants_of
from kv_canary_codegen.prove.engine import proved
from kv_canary_codegen.prove.safety import Status

PROJECT = """\
project: mini
package: mini_kernels
message_prefix: "mini: "
environment_prefix: MINI
command: mini
output: ../generated
reference_root: ../source
reference_package: mini.reference
"""
KERNEL = """\
kernel: faulty
summary: Something.
launcher: {{name: launch_faulty}}
reference: mini.reference:faulty
device_of: {first}
arguments:
{arguments}
launch: {{grid: ["1"]}}

{more}
"""
TENSOR = "  {}: {{tensor: '{}', access: read_write, doc: Elements.{}}}"
NUMBER = "  number: {scalar: int, doc: A number.}"
MODE = "  mode: {scalar: 'one of loud, plain', default: loud, doc: How.}"
LOUD = """\
variants: [mode]
rules:
  - id: loud_is_long
    argument: out
    require: mode == loud implies n >= 4
    message: too short, got {n}
    meaning: Loud ones are long.
    causes: [A short one.]
    fix: [Take a long one.]
    example: {wrong: {n: 3, mode: loud}, right: {n: 4, mode: loud}}
"""
OUT = {"out": "int64[n]"}
X = {"x": "int64[1]"}

FAULTY = {
    "other_side_of_an_if_with_the_same_name": (
        OUT,
        NUMBER,
        "",
        """\
    if number > 17:
        k = tl.minimum(tl.maximum(number, 0), 1000000)
    else:
        k = tl.minimum(tl.maximum(number, 0), 0)
    tl.store(out_ptr + k, 1, mask=n > 0)
""",
    ),
    "many_lanes_that_an_unknown_makes_alike": (
        X,
        NUMBER,
        "",
        """\
    lanes = tl.arange(0, 32).to(tl.int64)
    few = tl.maximum(tl.minimum(number, 1), 0)
    hits = tl.sum(tl.where(lanes == lanes * number, few, 0))
    tl.store(x_ptr + hits // 2, 1)
""",
    ),
    "bounds_of_a_lane_for_a_number_outside": (
        {**X, "wide": "uint8[wide_rows, wide_cols] strided"},
        "",
        "",
        """\
    lanes = tl.arange(0, 32).to(tl.int64)
    number = tl.load(x_ptr)
    small = tl.load(wide_ptr, mask=wide_rows * wide_cols > 0, other=0).to(tl.int64)
    total = tl.sum(tl.where(lanes == number, (lanes + 1) * (small + 1), 0))
    ok = (total != 5) & (number >= 0)
    tl.store(x_ptr + number // 100000, 1, mask=ok)
""",
    ),
    "same_ir_of_variants_with_other_rules": (OUT, MODE, LOUD, "    tl.store(out_ptr + 3, 1)\n"),
    "product_of_other_factors": (
        {"table": "int64[rows, cols]", "sel": "int64[8]"},
        "",
        "",
        """\
    s0 = tl.load(sel_ptr)
    s1 = tl.load(sel_ptr + 1)
    s2 = tl.load(sel_ptr + 2)
    s3 = tl.load(sel_ptr + 3)
    s4 = tl.load(sel_ptr + 4)
    col = tl.load(sel_ptr + 6)
    row = tl.minimum(tl.minimum(tl.minimum(tl.minimum(s0, s1), s2), s3), s4)
    ok = (row >= 0) & (row < rows) & (col >= 0) & (col < cols)
    value = tl.load(table_ptr + row * cols + col, mask=ok, other=0)
    tl.store(table_ptr + tl.maximum(row, s0) * cols + col, value, mask=ok)
""",
    ),
    "size_called_as_a_lane": (
        {**OUT, "x": "int64[lane0]"},
        "",
        "",
        """\
    place = tl.arange(0, 32)
    value = tl.load(x_ptr + place + 1000, mask=place < lane0, other=0)
    tl.store(out_ptr + place, value, mask=place < n)
""",
    ),
    "size_called_as_an_unknown": (
        {**OUT, "x": "int64[v0]"},
        "",
        "",
        """\
    i = tl.load(out_ptr, mask=n > 0, other=0)
    a = tl.load(x_ptr + i, mask=(i > -1) & (i < v0), other=0)
    b = tl.load(x_ptr + i, mask=(i > -1) & (v0 < i), other=0)
    tl.store(out_ptr, a + b, mask=n > 0)
""",
    ),
    "one_element_over_and_over": (
        {**X, "opt": "int64[k] strided"},
        "",
        "",
        "    tl.store(x_ptr + (k >> 60), 1)\n",
    ),
}


def written(tensors, scalar):
    """A body that looks at every argument, so that the reader takes it."""
    lines = ["def kernel():"]
    for name, kind in tensors.items():
        zeros = ", ".join(['"0"'] * (kind.count(",") + 1))
        value = f"{name}_value" + (" + number" if "number:" in scalar else "")
        lines.append(f'    {name}_value = {{{{ load("{name}", {zeros}, other=0) }}}}')
        lines.append(f'    {{{{ store("{name}", {zeros}, value="{value}") }}}}')
    return "\n".join(lines) + "\n"


def judged(folder, tensors, scalar, more, body):
    """The accesses of a kernel with these arguments, and this body instead of its own."""
    arguments = [
        TENSOR.format(
            name, kind.removesuffix(" strided"), ", layout: strided" * ("strided" in kind)
        )
        for name, kind in tensors.items()
    ]
    yaml = KERNEL.format(
        first=next(iter(tensors)), arguments="\n".join([*arguments, scalar]), more=more
    )
    files = {
        "project.yaml": PROJECT,
        "constants.yaml": "constants:\n  NOTHING: {value: -1, doc: Stands for nothing.}\n",
        "kernels/faulty.yaml": yaml,
        "kernels/faulty.py.jinja": written(tensors, scalar),
    }
    for path, text in files.items():
        (folder / "spec" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "spec" / path).write_text(text)
    out = folder / "generated"
    assert main(["generate", "--spec", str(folder / "spec"), "--out", str(out)]) == 0
    file = out / "mini_kernels" / "kernels" / "faulty.py"
    text = file.read_text()
    file.write_text(text[: text.index("\n):\n") + 4] + body)
    spec = read_spec(folder / "spec", "spec")
    (kernel,) = spec.kernels
    jobs = [(kernel, variant) for variant in variants_of(kernel, spec)]
    results = proved(spec, out, jobs, refute=False)
    assert [result.error for result in results] == [""] * len(jobs)
    return [access for result in results for access in result.accesses]


@pytest.mark.parametrize("name", FAULTY)
def test_access_that_may_leave_its_tensor_is_not_proved(tmp_path, name):
    accesses = judged(tmp_path, *FAULTY[name])
    assert accesses
    assert Status.UNPROVED in {access.status for access in accesses}
