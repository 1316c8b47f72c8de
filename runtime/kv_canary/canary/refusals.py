"""Errors of the canary's own; the texts of CONTRACT section 7 are used to the letter."""

from __future__ import annotations

from kv_canary.canary.rules import RULES
from kv_canary_kernels.contract import MESSAGE_PREFIX, BrokenRule, ContractError


def refusal(
    *, rule: str, argument: str, message: str, actual: str, expected: str, fix: str = ""
) -> ContractError:
    """Return the error of one rule that a call of the canary breaks.

    Args:
        rule: the rule's id in RULES, without `canary.` before it.
        argument: the argument at fault, as the caller passes it.
        message: the text, without the prefix that all messages have.
        actual: what was found.
        expected: what was wanted.
        fix: what to do about it, as a note; nothing for what the rule's page says.
    """
    rule_id = f"canary.{rule}"
    error = ContractError(
        [
            BrokenRule(
                rule_id=rule_id,
                kernel="canary",
                argument=argument,
                message=MESSAGE_PREFIX + message,
                actual=actual,
                expected=expected,
            )
        ]
    )
    # The notes' last says where to read on, and the generated catalogue knows of no fix.
    more = error.__notes__.pop()
    error.add_note(f"fix: {fix or RULES[rule_id].fix[0]}")
    error.add_note(more)
    return error
