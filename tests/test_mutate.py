"""`mutate`: what it edits, that an edit reads as an edited folder does, and who notices."""

import ast
import json
import os
import shutil
from pathlib import Path

import pytest

from kv_canary_codegen.mutate.bodies import body_mutants
from kv_canary_codegen.mutate.command import main
from kv_canary_codegen.mutate.edited import Editor
from kv_canary_codegen.mutate.expressions import expression_edits
from kv_canary_codegen.mutate.guards import guard_mutants
from kv_canary_codegen.mutate.rule_edits import length_edits, rule_mutants
from kv_canary_codegen.mutate.spec_copy import spec_files
from kv_canary_codegen.parse import read_spec
from kv_canary_codegen.source import SpecError
from kv_canary_codegen.views import kernel_view

REPOSITORY = Path(__file__).parent.parent
SPEC = REPOSITORY / "spec"
HERE = ["--spec", str(SPEC), "--tests", str(REPOSITORY / "tests")]


def mutants_in(folder):
    files = spec_files(folder)
    return files, (*rule_mutants(folder, files), *body_mutants(files))


# What is edited ----------------------------------------------------------------------------------


def edited(text, edits):
    return {e.kind: text[: e.start] + e.text + text[e.end :] for e in edits}


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [
        (
            "a < b",
            {
                "compare-1-le": "a <= b",
                "compare-1-ne": "a != b",
                "compare-1-ge": "a >= b",
                "bound-1-up": "a < b + 1",
                "bound-1-down": "a < b - 1",
            },
        ),
        (
            "a > 0",
            {
                "compare-1-ge": "a >= 0",
                "compare-1-ne": "a != 0",
                "compare-1-le": "a <= 0",
                "literal-1-up": "a > 1",
                "literal-1-down": "a > -1",
            },
        ),
        (
            "a % 16 == 0",  # a remainder is never negative, so `<=` says the same
            {
                "compare-1-ne": "a % 16 != 0",
                "compare-1-ge": "a % 16 >= 0",
                "literal-1-up": "a % 17 == 0",
                "literal-1-down": "a % 15 == 0",
                "literal-2-up": "a % 16 == 1",
                "literal-2-down": "a % 16 == -1",
            },
        ),
        (
            "present(x) implies not flag",
            {"implies-1": "not flag", "not-1": "present(x) implies flag"},
        ),
        ("is_bool(a) and is_bool(b)", {"term-1": "is_bool(b)", "term-2": "is_bool(a)"}),
        ("is_bool(a) or is_bool(b)", {"term-1": "is_bool(b)", "term-2": "is_bool(a)"}),
    ],
)
def test_rule_is_edited_in_each_of_these_ways_and_no_other(rule, wanted):
    assert edited(rule, expression_edits(rule)) == wanted


def test_each_link_of_a_chain_is_left_out():
    found = edited("0 < a <= b", expression_edits("0 < a <= b"))
    assert (found["link-1"], found["link-2"]) == ("a <= b", "0 < a")


@pytest.mark.parametrize(
    ("length", "wanted"),
    [
        (
            "n + 1",
            {
                "at-least": ">= n + 1",
                "addend": "n",
                "literal-1-up": "n + 2",
                "literal-1-down": "n + 0",
            },
        ),
        (
            ">= n",
            {"exact": "n", "bound-1-up": ">= n + 1", "bound-1-down": ">= n - 1"},
        ),
    ],
)
def test_length_is_edited_in_each_of_these_ways_and_no_other(length, wanted):
    assert edited(length, length_edits(length)) == wanted


BODY = """\
def kernel():
    # A comment: 1 < 2 & 3
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    is_sound = (place > 0) & place_in_domain & (place < count - 1)
    value = {{ load("samples", "place + 1", mask="is_sound & is_asked", other=0) }}
    kept = tl.where(is_sound, value, 7)
    if {{ present("out") }}:
        {{ store("out", "place", 0, value="kept", mask="is_sound") }}
"""


def test_body_is_edited_in_each_of_these_ways_and_no_other():
    files = {"kernels/sample.py.jinja": BODY}
    found = {}
    for mutant in body_mutants(files):
        before, after = BODY.split("\n"), mutant.texts(files)[mutant.file].split("\n")
        (line,) = [new.strip() for old, new in zip(before, after, strict=True) if old != new]
        found[mutant.id] = line
    load = 'value = {{ load("samples", "place + 1", mask="is_sound & is_asked", other=0) }}'
    store = '{{ store("out", "place", 0, value="kept", mask="is_sound") }}'
    assert found == {
        "sample.is_sound:term-1": "is_sound = place_in_domain & (place < count - 1)",
        "sample.is_sound:term-2": "is_sound = (place > 0) & (place < count - 1)",
        "sample.is_sound:term-3": "is_sound = (place > 0) & place_in_domain",
        "sample.is_sound:compare-1": (
            "is_sound = (place >= 0) & place_in_domain & (place < count - 1)"
        ),
        "sample.is_sound:literal-1": (
            "is_sound = (place > 1) & place_in_domain & (place < count - 1)"
        ),
        "sample.is_sound:compare-2": (
            "is_sound = (place > 0) & place_in_domain & (place <= count - 1)"
        ),
        "sample.is_sound:literal-2": (
            "is_sound = (place > 0) & place_in_domain & (place < count - 2)"
        ),
        "sample.value.load-samples:mask-1": load.replace(', mask="is_sound & is_asked"', ""),
        "sample.value.load-samples:literal-1": load.replace("place + 1", "place + 2"),
        "sample.value.load-samples:term-1": load.replace("is_sound & ", ""),
        "sample.value.load-samples:term-2": load.replace(" & is_asked", ""),
        "sample.kept:where-1": "kept = (value)",
        "sample.store-out:mask-1": store.replace(', mask="is_sound"', ""),
        "sample.store-out:swap-1": store.replace('"place", 0', '"0", "place"'),
        "sample.store-out:swap-2": store.replace('0, value="kept"', '"kept", value="0"'),
    }


def test_ids_are_unique_and_stay_when_lines_move(tmp_path):
    files, before = mutants_in(SPEC)
    ids = [mutant.id for mutant in before]
    assert len(set(ids)) == len(ids) > 1_000
    for file, text in files.items():
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# A line more.\n\n{text}")
    _, after = mutants_in(tmp_path)
    assert [mutant.id for mutant in after] == ids
    assert {new.line - old.line for old, new in zip(before, after, strict=True)} == {2}


def test_rule_that_is_left_out_is_mentioned_nowhere():
    files, mutants = mutants_in(SPEC)
    (mutant,) = [m for m in mutants if m.id == "verify.canary_start_aligned:drop"]
    texts = {**files, **mutant.texts(files)}
    assert set(mutant.texts(files)) == {"kernels/verify.yaml", "kernels/write.yaml"}
    assert [f for f, text in texts.items() if "canary_start_aligned" in text] == []


def test_edit_in_memory_reads_as_the_edited_folder_does(tmp_path):
    editor = Editor(SPEC, tmp_path / "copies")
    _, mutants = mutants_in(SPEC)
    refused = 0
    for mutant in mutants[::70]:
        folder = tmp_path / "spec"
        shutil.copytree(SPEC, folder)
        for file, text in mutant.texts(editor.files).items():
            (folder / file).write_text(text)
        found = editor.edited(mutant)
        if found.refusal:
            refused += 1
            with pytest.raises(SpecError) as caught:
                read_spec(folder, SPEC.as_posix())
            assert found.refusal in str(caught.value), mutant.id
        else:
            assert read_spec(folder, SPEC.as_posix()) == found.spec, mutant.id
        shutil.rmtree(folder)
    assert 0 < refused < 10


# Who notices -------------------------------------------------------------------------------------


def judged(capsys, *words):
    """The exit code and the report of one run."""
    status = main([*words, "--json"])
    return status, json.loads(capsys.readouterr().out)


STRUCTS = ["VerifyPlan", "WritePlan", "RealKvSource", "VerifyOrWriteContext"]


@pytest.mark.parametrize(
    "owners",
    [
        ["plan_offsets"],
        ["plan", "plan_entries", "plan_rotation", "scatter_req_token_ids"],
        ["verify", "write", "write_sums", "launch_count"],
        STRUCTS,
    ],
    ids=lambda owners: owners[0],
)
def test_every_mutant_of_a_rule_is_noticed_or_explained(capsys, owners):
    status, report = judged(capsys, *owners, *HERE, "--only", "rules")
    survivors = [m["id"] for m in report["mutants"] if m["fate"] == "survived"]
    assert (status, survivors, report["problems"]) == (0, [], [])
    assert report["missing"] == {}
    explained = [m["id"] for m in report["mutants"] if m["fate"] == "explained"]
    assert len(explained) <= 5, "a reason is no test"


def test_owners_of_rules_are_all_of_them_above():
    _, mutants = mutants_in(SPEC)
    (marker,) = [
        mark
        for mark in test_every_mutant_of_a_rule_is_noticed_or_explained.pytestmark
        if mark.name == "parametrize"
    ]
    above = {owner for owners in marker.args[1] for owner in owners}
    of_rules = {m.id.partition(".")[0] for m in mutants if m.family.value == "rules"}
    assert above == of_rules


@pytest.mark.parametrize(
    ("mutant", "killer", "by"),
    [
        ("scatter_req_token_ids.is_whole:term-6", "reader", ""),
        ("plan_offsets.bs_range:drop", "messages", "plan_offsets.bs_4097"),
        ("scatter_req_token_ids.is_whole:term-3", "cases", "offsets-10"),
    ],
)
def test_mutant_is_killed_by(capsys, mutant, killer, by):
    status, report = judged(capsys, "--mutant", mutant, *HERE)
    (found,) = report["mutants"]
    assert (status, found["killer"]) == (0, killer)
    if killer != "messages":
        assert by in found["by"]


def test_guards_are_those_of_the_pages_each_once_and_always_true(tmp_path):
    editor = Editor(SPEC, tmp_path)
    mutants = guard_mutants(editor.spec, editor.kernels)
    shown = {
        f"{kernel.stem}.{guard.name}:drop"
        for kernel in editor.spec.kernels
        for guard in kernel_view(kernel, editor.spec).guards
    }
    assert sorted(mutant.id for mutant in mutants) == sorted(shown)
    for mutant in mutants:
        ((file, text),) = editor.edited(mutant).changed.items()
        before, after = (
            {
                node.targets[0].id: ast.unparse(node.value)
                for node in ast.walk(ast.parse(source))
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
            }
            for source in (editor.generated[file], text)
        )
        (name,) = [name for name in before if before[name] != after[name]]
        assert f"{Path(file).stem}.{name}:drop" == mutant.id
        left, right = after[name].split(" == ")
        assert left.strip("()") == right.strip("()")
        assert before[name].startswith(f"({left.strip('()')} >= 0)")


def test_guard_that_is_left_out_is_told_by_the_prover_with_a_diff_of_the_kernel(capsys):
    mutant = "plan_rotation.prefix_lens_request_in_range:drop"
    assert main(["--mutant", mutant, *HERE]) == 0
    told = capsys.readouterr().out
    assert "--- a/generated/kv_canary_kernels/kernels/plan_rotation.py" in told
    assert "prove: plan_rotation.py:" in told
    assert "load prefix_lens: the index may lie outside prefix_lens" in told


@pytest.mark.soak
def test_every_mutant_of_these_bodies_is_noticed_or_explained(capsys):
    """All bodies take hours: `kv-canary mutate --only bodies --workers N`."""
    bodies = ["plan_rotation", "scatter_req_token_ids", "launch_count"]
    workers = str(os.cpu_count() or 1)
    status, report = judged(capsys, *bodies, *HERE, "--only", "bodies", "--workers", workers)
    assert (status, report["problems"]) == (0, [])


# A project without hand-written tests ------------------------------------------------------------

PROJECT = {
    "spec/project.yaml": """\
project: doubling
package: doubling_kernels
message_prefix: "doubling: "
environment_prefix: DOUBLING
command: doubling
output: ../generated
reference_root: ../source
reference_package: doubling_reference
""",
    "spec/constants.yaml": """\
constants:
  MOST: {value: 64, doc: The largest count.}
""",
    "spec/kernels/double.yaml": """\
kernel: double
summary: Double each value.
launcher: {name: launch_double}
reference: doubling_reference:double
device_of: out
arguments:
  values:
    tensor: int64[count]
    axes: [place]
    access: read
    doc: What is doubled.
  out:
    tensor: int64[count]
    axes: [place]
    access: write
    doc: The doubles.
rules:
  - id: count_within_most
    argument: values
    require: count <= MOST
    message: at most {MOST} values, got {count}
    meaning: One block holds them all.
    causes: [A longer list.]
    fix: [Double in parts.]
launch: {grid: ["1"]}
blocks: {BLOCK: 64}
""",
    "spec/kernels/double.py.jinja": """\
def kernel():
    place = tl.arange(0, BLOCK)
    value = {{ load("values", "place", other=0) }}
    doubled = value * 2
    {{ store("out", "place", value="doubled", mask="place >= 0") }}
""",
    "source/doubling_reference.py": """\
def double(*, values, out):
    out.copy_(values * 2)
""",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """The words that name the project's folders; its reference can be imported."""
    for name, text in PROJECT.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path / "source"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_survivor_is_told_with_its_diff_and_exits_with_1(project, capsys):
    assert main(["--only", "rules", "--mutant", "double.count_within_most:bound-1-up"]) == 1
    told = capsys.readouterr().out
    assert "survived  double.count_within_most:bound-1-up  spec/kernels/double.yaml:20" in told
    assert "-    require: count <= MOST\n" in told
    assert "+    require: count <= MOST + 1\n" in told
    assert "not asked: messages: no test_messages.py and no data/messages.jsonl in tests" in told
    assert "1 survive, of 1 mutants" in told


def test_reason_explains_a_survivor_and_exits_with_0(project, capsys):
    reason = "Nobody ever doubles so many values at once."
    (project / "spec" / "mutate.yaml").write_text(
        f"rules:\n  double.count_within_most:bound-1-up: {reason}\n"
    )
    status, report = judged(capsys, "--mutant", "double.count_within_most:bound-1-up")
    (mutant,) = report["mutants"]
    assert (status, mutant["fate"], mutant["by"]) == (0, "explained", reason)


def test_generated_tests_kill_a_body_that_its_reference_contradicts(project, capsys):
    status, report = judged(capsys, "--mutant", "double.doubled:literal-1")
    (mutant,) = report["mutants"]
    assert (status, mutant["killer"]) == (0, "tests")
    assert "test_interpreted_kernel_equals_reference" in mutant["by"]


def test_mask_that_says_nothing_survives_the_generated_tests_and_its_stale_reason_does_not(
    project, capsys
):
    assert main(["--mutant", "double.store-out:mask-1"]) == 1
    assert "the mask is left out" in capsys.readouterr().out
    (project / "spec" / "mutate.yaml").write_text(
        "bodies:\n"
        "  double.store-out:mask-1: A place is never negative, so the mask says nothing.\n"
        "  double.doubled:literal-1: This one is noticed all the same.\n"
        "  double.doubled:literal-9: This one is not there at all.\n"
    )
    status, report = judged(capsys, "--only", "bodies")
    assert status == 1
    assert report["problems"] == [
        "the reason for `double.doubled:literal-9` is for no mutant",
        "the reason for `double.doubled:literal-1` is for a mutant that is killed",
    ]


def test_sample_is_the_same_for_the_same_seed(project, capsys):
    def listed(*words):
        assert main(["--list", *words]) == 0
        return capsys.readouterr().out.split()

    every = listed()
    assert listed("--sample", "3", "--seed", "1") == listed("--sample", "3", "--seed", "1")
    assert len(listed("--sample", "3")) == 3
    assert set(listed("--only", "bodies")) < set(every)


def test_what_a_journal_knows_is_not_tried_again_and_means_the_same(project, capsys):
    journal = ["--mutant", "double.doubled:literal-1", "--journal", "journal.jsonl"]
    _, first = judged(capsys, *journal)
    (project / "source" / "doubling_reference.py").unlink()
    _, second = judged(capsys, *journal)
    kept = ("fate", "killer", "by", "said")
    assert [first["mutants"][0][k] for k in kept] == [second["mutants"][0][k] for k in kept]
    assert len((project / "journal.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["dobule"], "fix:    mutate double"),
        (["--mutant", "double.doubled:literal-2"], "`double.doubled:literal-1`, perhaps"),
        (["--sample", "0"], "--sample: it counts something"),
    ],
)
def test_bad_input_exits_with_2_and_says_what_to_do(project, capsys, words, said):
    assert main(words) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rulez: {}", "it has four keys"),
        ("rules: {a: no}", "`a` needs a reason"),
        ("tests: {double: [test_a.py]}", "`tests` of `double` says what is run"),
        ("rules: [a]", "`rules` must be a mapping"),
        ("{", "it must be YAML"),
    ],
)
def test_reasons_that_are_off_exit_with_2(project, capsys, text, said):
    (project / "spec" / "mutate.yaml").write_text(text)
    assert main(["--list"]) == 2
    assert said in capsys.readouterr().err


def test_failing_test_is_told_before_any_mutant_is_judged(project, capsys):
    (project / "source" / "doubling_reference.py").write_text(
        "def double(*, values, out):\n    out.copy_(values * 3)\n"
    )
    assert main(["--mutant", "double.doubled:literal-1"]) == 2
    assert "what is to notice a mutant must pass without one" in capsys.readouterr().err
