"""The pages of the canary's own rules: one for each rule that is checked, and none idle."""

import ast
import dataclasses
from pathlib import Path

import pytest

from kv_canary import CanaryConfig
from kv_canary.canary.refusals import refusal
from kv_canary.canary.rules import RULES, explain
from kv_canary_kernels import rules as catalogue

FOLDER = Path(__file__).parent.parent / "runtime" / "kv_canary" / "canary"


def checked_rules():
    """Every rule that a call of `refusal` in the canary may name."""
    found = set()
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "refusal"):
                continue
            rule = next(each.value for each in node.keywords if each.arg == "rule")
            match rule:
                case ast.Constant():
                    found.add(rule.value)
                case ast.JoinedStr():
                    found.update(
                        name + "".join(ast.literal_eval(part) for part in rule.values[1:])
                        for name in ("sweep", "rewind")
                    )
                case _:
                    assert path.name == "config.py", "a rule that this test cannot follow"
    return {f"canary.{rule}" for rule in found}


FIELDS = {f"canary.{field.name}" for field in dataclasses.fields(CanaryConfig)}


def test_every_rule_that_is_checked_has_a_page_and_every_page_a_check():
    assert checked_rules() | FIELDS == set(RULES)


def test_no_rule_of_a_launcher_has_the_same_name():
    assert not set(RULES) & set(catalogue.explain().split())


@pytest.mark.parametrize("rule", RULES)
def test_page_says_who_checks_what_it_means_why_it_breaks_and_what_to_do(rule):
    page = explain(rule)
    lines = page.splitlines()
    assert lines[0] == rule
    assert lines[2].startswith("Checked by ")
    assert max(map(len, lines)) <= 100
    assert page.count("\nLikely causes\n  - ") == page.count("\nWhat to do\n  - ") == 1
    texts = (RULES[rule].meaning, *RULES[rule].causes, *RULES[rule].fix)
    assert all(text[0] not in " " and text.endswith(".") for text in texts)


def test_error_shows_the_first_thing_to_do_and_where_to_read_on():
    error = refusal(
        rule="token_count", argument="input_ids", message="text", actual="a", expected="b"
    )
    assert error.__notes__ == [
        "rule: canary.token_count (argument input_ids)",
        "found: a",
        "wanted: b",
        "fix: Raise max_tokens_per_forward, padding included, or prefill in smaller chunks.",
        "more: kv-canary explain canary.token_count",
    ]
