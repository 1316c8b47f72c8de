"""What the prover reads is what Triton prints: every access is found, and nothing is made up."""

import pytest

pytest.importorskip("z3", reason="the extra `prove` is not installed")

from pathlib import Path

from kv_canary_codegen.parse import read_spec
from kv_canary_codegen.prove import engine, ir
from kv_canary_codegen.prove.arguments import Arguments
from kv_canary_codegen.prove.lowering import lowered
from kv_canary_codegen.prove.safety import Judge, Status
from kv_canary_codegen.prove.solver import Solver
from kv_canary_codegen.prove.walk import Walk

REPOSITORY = Path(__file__).parent.parent
STEMS = ("plan_offsets", "plan_entries", "plan_rotation", "scatter_req_token_ids")


@pytest.fixture(scope="module")
def spec():
    return read_spec(REPOSITORY / "spec", "spec")


@pytest.fixture(scope="module")
def texts(spec):
    """The fullest variant of each kernel, compiled."""
    jobs = []
    for stem in STEMS:
        own = engine.chosen_variants(spec, [stem])
        jobs.append(max(own, key=lambda job: sum(given for _, given in job[1].given)))
    results = lowered(spec, REPOSITORY / "generated", jobs)
    assert [result.error for result in results] == [""] * len(jobs)
    return {job[0].stem: (*job, result.text) for job, result in zip(jobs, results, strict=True)}


def judged(spec, kernel, variant, text):
    arguments = Arguments(kernel, spec, variant, engine.MEMORY_BITS)
    solver = Solver(arguments.arithmetic.linear, arguments.arithmetic.exact)
    walk = Walk(arguments, solver)
    walk.module(ir.parse(text))
    return Judge(walk, arguments, solver).all(), solver


@pytest.mark.parametrize("stem", STEMS)
def test_every_access_of_the_text_is_in_the_table(spec, texts, stem):
    kernel, variant, text = texts[stem]
    found, _ = judged(spec, kernel, variant, text)
    words = text.count("tt.load") + text.count("tt.store") + text.count("tt.atomic")
    assert len(found) == words == engine.accesses_in(text)
    assert {access.status for access in found} == {Status.PROVED}


@pytest.mark.parametrize("stem", STEMS)
def test_no_proof_rests_on_hypotheses_that_contradict_each_other(spec, texts, stem):
    """From a contradiction anything follows: each access is active in some call."""
    kernel, variant, text = texts[stem]
    found, solver = judged(spec, kernel, variant, text)
    for access in found:
        for way in access.ways:
            assert solver.example(way.hypotheses) is not None, access.use.operation.text


@pytest.mark.parametrize("stem", STEMS)
def test_places_are_lines_of_the_generated_kernel(texts, stem):
    _, _, text = texts[stem]
    lines = (
        (REPOSITORY / "generated" / "kv_canary_kernels" / "kernels" / f"{stem}.py")
        .read_text()
        .split("\n")
    )
    for operation in ir.parse(text).operations():
        if operation.touches_memory:
            word = operation.name.replace("tt.", "tl.").partition("_")[0]
            assert word in lines[operation.place.line - 1]


UNKNOWN = """\
module {
  tt.func public @_plan_rotation_kernel(%verify_rotation_ptr: !tt.ptr<i64>, %bs: i64) {
    %c1 = arith.constant 1 : i64
    %a = tt.new_operation %bs, %c1 {axis = 0 : i32} : i64
    %p = tt.addptr %verify_rotation_ptr, %a : !tt.ptr<i64>, i64
    %v = tt.load %p : !tt.ptr<i64>
    %q = tt.int_to_ptr %v : i64 -> !tt.ptr<i64>
    tt.store %q, %c1 : !tt.ptr<i64>
    %r = "tt.new_region"(%bs) ({
    ^bb0(%x: i64):
      tt.store %verify_rotation_ptr, %x : !tt.ptr<i64>
      tt.new_return %x : i64
    }) : (i64) -> i64
    tt.return
  }
}
"""


def test_unknown_operation_makes_its_results_unknown_and_hides_no_access(spec, texts):
    kernel, variant, _ = texts["plan_rotation"]
    found, _ = judged(spec, kernel, variant, UNKNOWN)
    assert [(access.use.kind, access.status) for access in found] == [
        ("load", Status.UNPROVED),
        ("store", Status.UNPROVED),
        ("store", Status.PROVED),
    ]
    assert found[0].reason == "the index may lie outside verify_rotation"
    assert found[1].reason == "tt.int_to_ptr is not modelled"
    assert engine.accesses_in(UNKNOWN) == 3


WRAPS = """\
module {
  tt.func public @_plan_rotation_kernel(%verify_rotation_ptr: !tt.ptr<i64>, %swa_window_size: i64) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %least = arith.constant -2147483648 : i32
    %low = arith.trunci %swa_window_size : i64 to i32
    %more = arith.addi %low, %c1 : i32
    %from_least = arith.subi %more, %least : i32
    %is_active = arith.cmpi CONDITION : i32
    scf.if %is_active {
      %p = tt.addptr %verify_rotation_ptr, INDEX : !tt.ptr<i64>, i32
      tt.store %p, %swa_window_size : !tt.ptr<i64>
    }
    tt.return
  }
}
"""


@pytest.mark.parametrize(
    ("condition", "index", "status"),
    [
        ("eq, %more, %c0", "%more", "proved"),
        ("sle, %more, %c0", "%more", "unproved"),
        # Less than before only where it wrapped, and then it is the least of all; but an address
        # that is made by wrapping is none that is passed as proved.
        ("slt, %more, %low", "%from_least", "unproved"),
        ("eq, %from_least, %c0", "%from_least", "proved"),
        # Unsigned, a negative number is a large one.
        ("ult, %more, %c1", "%more", "proved"),
        ("slt, %more, %c1", "%more", "unproved"),
    ],
)
def test_index_that_wraps_is_what_the_hardware_makes_of_it(spec, texts, condition, index, status):
    kernel, variant, _ = texts["plan_rotation"]
    text = WRAPS.replace("CONDITION", condition).replace("INDEX", index)
    found, _ = judged(spec, kernel, variant, text)
    assert [access.status.value for access in found] == [status]


@pytest.mark.parametrize("line", ["%a = ", "tt.store %p, %v :: {", "module {"])
def test_line_that_cannot_be_read_is_an_error(line):
    with pytest.raises(ir.IrError):
        ir.parse(f"module {{\n  tt.func public @k(%p: !tt.ptr<i64>) {{\n{line}\n")
