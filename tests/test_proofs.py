"""The proofs beside the spec: they are of the kernels as they are, and a sample holds anew."""

import json
import random
from pathlib import Path

import pytest

pytest.importorskip("z3", reason="the extra `prove` is not installed")

from kv_canary_codegen.parse import read_spec
from kv_canary_codegen.proofs import (
    canonical,
    contract_digest,
    read_proofs,
    source_of,
    text_of,
)
from kv_canary_codegen.prove.arguments import variants_of
from kv_canary_codegen.prove.cache import triton_version
from kv_canary_codegen.prove.engine import proved
from kv_canary_codegen.prove.record import variants_from
from kv_canary_codegen.prove.safety import Status

REPOSITORY = Path(__file__).parent.parent
SPEC = read_spec(REPOSITORY / "spec", "spec")
KERNELS = {kernel.stem: kernel for kernel in SPEC.kernels}
PROOFS = read_proofs(REPOSITORY / "spec")
GENERATED = REPOSITORY / "generated"
SAMPLE = {"write": 1, "verify": 1, "plan": 1}
"""Variants of a kernel that are proved anew here, chosen by its source; of small ones, all."""


def test_every_kernel_has_proofs():
    assert sorted(PROOFS) == sorted(KERNELS)


@pytest.mark.parametrize("stem", KERNELS)
def test_proofs_are_of_the_kernel_and_contract_as_they_are(stem):
    proofs = PROOFS[stem]
    again = f"run `python -m kv_canary_codegen prove --record`, then generate: {stem} changed"
    assert proofs.contract == contract_digest(SPEC, KERNELS[stem]), again
    assert proofs.source == source_of(GENERATED, SPEC, stem), again
    assert len(proofs.variants) == len(variants_of(KERNELS[stem], SPEC)), again


@pytest.mark.parametrize("stem", KERNELS)
def test_every_rule_is_fine_or_kept_for_a_reason(stem):
    proofs = PROOFS[stem]
    assert {rule.verdict for rule in proofs.rules} <= {"fine", "kept"}
    assert all(rule.reason for rule in proofs.rules if rule.verdict == "kept")
    assert {number.verdict for number in proofs.numbers} <= {"fine"}
    assert proofs.witness


@pytest.mark.parametrize("stem", KERNELS)
def test_variants_that_no_call_takes_are_those_that_read_nothing_in_narrow_pieces(stem):
    """READ_BLOCK follows from the bytes read of a source; without one it is the widest."""
    for variant, shape in zip(variants_of(KERNELS[stem], SPEC), PROOFS[stem].variants, strict=True):
        reads = any(name.startswith("source_0") and given for name, given in variant.given)
        narrow = dict(variant.values).get("READ_BLOCK", 16) != 16
        assert (shape < 0) == (narrow and not reads), variant.name


@pytest.mark.parametrize("stem", KERNELS)
def test_access_counts_are_those_of_the_page(stem):
    page = (GENERATED / "docs" / f"{stem}.md").read_text(encoding="utf-8")
    proofs = PROOFS[stem]
    shown = [
        int(row.split("|")[-2].strip().rstrip("*\\"))
        for row in page.split("## Proof")[1].split("\n")
        if row.startswith("| ") and row.split("|")[-2].strip()[:1].isdigit()
    ]
    assert sum(shown) == sum(proofs.counts()) > 0
    assert f"Triton {proofs.triton}" in page


def test_file_of_proofs_reads_as_it_was_written(tmp_path):
    folder = tmp_path / "proofs"
    folder.mkdir()
    for stem, proofs in PROOFS.items():
        text = text_of(proofs)
        assert text == (REPOSITORY / "spec" / "proofs" / f"{stem}.json").read_text(encoding="utf-8")
        (folder / f"{stem}.json").write_text(text, encoding="utf-8")
    assert read_proofs(tmp_path) == PROOFS


def test_contract_is_what_is_asked_and_not_how_it_is_told():
    text = json.dumps(canonical(KERNELS["plan_offsets"]))
    assert "PLAN_BS_BLOCK_SIZE" in text
    assert "whole batch is scanned" not in text, "prose"
    assert "kv-canary: " not in text, "messages"
    assert "plan_offsets.yaml" not in text, "places"


def check(stem, variants):
    kernel = KERNELS[stem]
    if triton_version() != PROOFS[stem].triton:
        pytest.skip(f"proved of the IR of Triton {PROOFS[stem].triton}")
    recorded = {result.variant: result for result in variants_from(PROOFS[stem], SPEC, kernel)}
    results = proved(SPEC, GENERATED, [(kernel, variant) for variant in variants], refute=False)
    for result in results:
        before = recorded[result.variant]
        assert result.error == ""
        assert result.impossible == before.impossible
        assert [(a.kind, a.arguments, a.line, a.source) for a in result.accesses] == [
            (a.kind, a.arguments, a.line, a.source) for a in before.accesses
        ]
        assert {a.status for a in result.accesses} <= {Status.PROVED}


@pytest.mark.parametrize("stem", KERNELS)
def test_a_sample_is_proved_anew(stem):
    variants = variants_of(KERNELS[stem], SPEC)
    chosen = random.Random(PROOFS[stem].source).sample(
        variants, min(len(variants), SAMPLE.get(stem, len(variants)))
    )
    check(stem, chosen)


@pytest.mark.soak
@pytest.mark.parametrize("stem", KERNELS)
def test_all_of_it_is_proved_anew(stem):
    check(stem, variants_of(KERNELS[stem], SPEC))
