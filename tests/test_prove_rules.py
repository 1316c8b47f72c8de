"""Rules that contradict, idle or repeat each other are found, and so are broken contracts."""

import shutil
from pathlib import Path

import pytest

pytest.importorskip("z3", reason="the extra `prove` is not installed")

from kv_canary_codegen.parse import read_spec
from kv_canary_codegen.prove.contracts import checked_chains
from kv_canary_codegen.prove.reasons import ReasonError, read_reasons
from kv_canary_codegen.prove.rules import Verdict, checked_rules, idle_reasons
from kv_canary_codegen.search import Search

REPOSITORY = Path(__file__).parent.parent
STEMS = ("plan_offsets", "plan_entries", "plan_rotation", "scatter_req_token_ids")


def kernel_of(spec, stem):
    return next(kernel for kernel in spec.kernels if kernel.stem == stem)


def rules_of(folder, stem, kept=None):
    spec = read_spec(folder, "spec")
    kernel = kernel_of(spec, stem)
    kept = read_reasons(folder).kept if kept is None else kept
    return checked_rules(spec, kernel, Search(spec, kernel), kept)


@pytest.fixture
def edited(tmp_path):
    """A copy of our spec; a function that edits it."""
    folder = tmp_path / "spec"
    shutil.copytree(REPOSITORY / "spec", folder)

    def edit(name, old, new):
        path = folder / name
        assert path.read_text().count(old) == 1, (name, old)
        path.write_text(path.read_text().replace(old, new))
        return folder

    return edit


@pytest.mark.parametrize("stem", STEMS)
def test_rules_of_our_kernels_neither_contradict_nor_idle(stem):
    result = rules_of(REPOSITORY / "spec", stem)
    assert result.witness
    bad = [r for r in result.rules if r.verdict in (Verdict.REFUTED, Verdict.UNPROVED)]
    assert bad == []
    assert [n for n in result.numbers if n.verdict is not Verdict.FINE] == []
    written = [r for r in result.rules if r.smallest == "yes"]
    assert len(written) > len(result.rules) // 2


def test_rule_that_others_imply_needs_a_reason():
    result = rules_of(REPOSITORY / "spec", "plan_offsets", kept={})
    said = {r.rule for r in result.rules if r.verdict is Verdict.REFUTED}
    assert said == {
        "plan_offsets.write_offsets_len_positive",
        "plan_offsets.write_req_capacity_non_negative",
        "plan_offsets.lut_len_non_negative",
    }


def test_contradiction_is_found(edited):
    folder = edited(
        "kernels/plan_rotation.yaml", "require: verify_capacity >= 0", "require: bs < 0 and bs > 0"
    )
    assert rules_of(folder, "plan_rotation", kept={}).witness == ""


def test_rule_that_cannot_fire_is_found(edited):
    folder = edited(
        "kernels/plan_rotation.yaml",
        "require: verify_capacity >= 0",
        "require: bs <= PLAN_BS_BLOCK_SIZE + 1",
    )
    result = rules_of(folder, "plan_rotation", kept={})
    rule = next(r for r in result.rules if r.rule.endswith("verify_capacity_non_negative"))
    assert (rule.verdict, rule.never_first) == (Verdict.REFUTED, True)
    assert rule.reason == "no call breaks it first, and nothing says why it is kept"


def test_reason_for_a_rule_that_needs_none_is_found():
    result = rules_of(REPOSITORY / "spec", "plan_rotation")
    assert idle_reasons([result], {"plan_rotation.bs_range": "Because."}) == [
        (
            "`plan_rotation.bs_range` is said to be kept for a reason, "
            "and it is neither idle nor said twice"
        )
    ]


def test_grid_that_passes_int64_is_found(edited):
    folder = edited("kernels/plan_rotation.yaml", 'grid: ["1"]', 'grid: ["verify_capacity * 2"]')
    (number,) = rules_of(folder, "plan_rotation").numbers
    assert (number.text, number.fits) == ("verify_capacity * 2", "more")
    assert number.verdict is Verdict.REFUTED
    assert "verify_capacity=" in number.example


def test_launchers_hold_the_kernels_that_they_run_to_their_contracts():
    chains = checked_chains(read_spec(REPOSITORY / "spec", "spec"))
    assert {chain.follow_up for chain in chains} >= {"plan_rotation"}
    assert [chain for chain in chains if chain.verdict is not Verdict.FINE] == []


def test_follow_up_that_requires_more_prints_a_counterexample(edited):
    folder = edited(
        "kernels/plan_rotation.yaml",
        "require: verify_capacity >= 0",
        "require: verify_capacity >= 2",
    )
    broken = [
        chain
        for chain in checked_chains(read_spec(folder, "spec"))
        if chain.verdict is Verdict.REFUTED
    ]
    assert [chain.requires for chain in broken] == ["plan_rotation.verify_capacity_non_negative"]
    assert "verify_capacity=" in broken[0].example


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("kept: {plan.bs_within_block: short.}", "needs a reason"),
        (
            "waivers: {a: &why It is fine as it stands., b: *why, c: *why}",
            "waivers are few",
        ),
        ("keep: {}", "it has two keys"),
    ],
)
def test_reasons_that_are_none_are_refused(tmp_path, text, wrong):
    (tmp_path / "prove.yaml").write_text(text)
    with pytest.raises(ReasonError, match=wrong):
        read_reasons(tmp_path)
