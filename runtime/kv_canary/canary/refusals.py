"""Errors of the canary's own; the texts of CONTRACT section 7 are used to the letter."""

from __future__ import annotations

from kv_canary_kernels import rules
from kv_canary_kernels.contract import MESSAGE_PREFIX, BrokenRule, ContractError


def refusal(
    *, rule: str, argument: str, message: str, actual: str, expected: str, fix: str = ""
) -> ContractError:
    """Return the error of one rule that a call of the canary breaks.

    Args:
        rule: the rule's id, without `canary.` before it.
        argument: the argument at fault, as the caller passes it.
        message: the text, without the prefix that all messages have.
        actual: what was found.
        expected: what was wanted.
        fix: what to do about it, as a note; nothing where the message says it.
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
    if rule_id not in rules.WRITTEN:
        # Nobody is sent to a page that does not exist.
        error.__notes__.pop()
    if fix:
        error.add_note(f"fix: {fix}")
    return error
