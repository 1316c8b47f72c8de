"""The rules of the canary's own calls: what each means, why it breaks, what to do.

The generated catalogue holds the launchers' rules alone. An error's `fix` note and `kv-canary
explain` read what is here, and neither torch nor the generated package is imported for it.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule of the canary's own."""

    checked_by: str
    """The call that checks it."""
    meaning: str
    """Why there is such a rule."""
    causes: tuple[str, ...]
    """What breaks it, the likeliest first."""
    fix: tuple[str, ...]
    """What to do; an error shows the first unless it knows better."""


def explain(rule_id: str) -> str:
    """Return a rule's page, as the generated catalogue has them.

    Args:
        rule_id: one of RULES.
    """
    rule = RULES[rule_id]

    def listed(title: str, items: tuple[str, ...]) -> str:
        return "\n".join([title, *(_wrapped(f"  - {item}", hang=4) for item in items)])

    parts = [
        f"{rule_id}\n\nChecked by {rule.checked_by}.",
        _wrapped(rule.meaning),
        listed("Likely causes", rule.causes),
        listed("What to do", rule.fix),
    ]
    return "\n\n".join(parts) + "\n"


def _wrapped(text: str, *, hang: int = 0) -> str:
    return textwrap.fill(text, 100, subsequent_indent=" " * hang)


def _one_of(meaning: str, fix: str) -> Rule:
    return Rule(
        checked_by="CanaryConfig",
        meaning=meaning,
        causes=("A misspelt word, or capitals.", "A setting of another tool, passed on."),
        fix=(fix,),
    )


def _flag(name: str, meaning: str) -> Rule:
    return Rule(
        checked_by="CanaryConfig",
        meaning=meaning,
        causes=("A number or a text from a flag or an environment variable.",),
        fix=(f"Pass {name}=True or {name}=False.",),
    )


def _when(checked_by: str, meaning: str, cause: str, fix: str) -> Rule:
    return Rule(checked_by=checked_by, meaning=meaning, causes=(cause,), fix=(fix,))


def _of_rows(name: str) -> dict[str, Rule]:
    """Return the rules on the rows and lengths that a call takes."""
    checked_by, unread = f"Canary.{name}", _UNREAD if name == "rewind" else ""
    return {
        f"canary.{name}_numbers": _when(
            checked_by,
            "Rows and lengths are counts: one axis of whole numbers.",
            "Floats, texts, a mask of bools, or a tensor with two axes.",
            "Pass a list of ints, or a 1-D tensor of an integer dtype, each.",
        ),
        f"canary.{name}_lengths": _when(
            checked_by,
            "Each row goes with the length in the same place.",
            "Lists of two different batches, or one that was filtered alone.",
            "Pass one length for each row.",
        ),
        f"canary.{name}_row": _when(
            checked_by,
            "Row 0 is the padding row, and what is past the table is nobody's." + unread,
            "Padding requests that were not left out, or places in a batch in place of rows.",
            "Pass the requests' rows of the table, from 1 on.",
        ),
        f"canary.{name}_length": _when(
            checked_by,
            "A row holds as many tokens as the table has columns." + unread,
            "A length that was counted down too often, or is in bytes or pages.",
            "Pass tokens, from 0 to the columns of the table.",
        ),
    }


_UNREAD = " What is on another device is not waited for, so that its values are not checked."

RULES: Final[dict[str, Rule]] = {
    "canary.mode": _one_of(
        "The mode says what is done about a finding: nothing at all is checked (off), the logger "
        "kv_canary is told (log), poll raises (raise), or poll gives it back (collect).",
        "Pass mode='off', 'log', 'raise' or 'collect'.",
    ),
    "canary.real_kv": _one_of(
        "It says how many bytes of each source the stamps cover: none, the first 16 of a token "
        "(partial), or read_bytes of it (all).",
        "Pass real_kv='none', 'partial' or 'all', or leave it out: partial where there is a "
        "source.",
    ),
    "canary.hash_format": _one_of(
        "serial is SGLang's hash, to the byte; parallel is ours, and no walk over a long prefill.",
        "Pass hash_format='parallel' or 'serial'.",
    ),
    "canary.token_check": _flag(
        "token_check", "It says whether cached tokens are compared with what their row wrote."
    ),
    "canary.bracket": _flag("bracket", "It says whether the tail is verified on entry too."),
    "canary.evidence": _flag(
        "evidence", "It says whether each violation keeps what it was judged by."
    ),
    "canary.history": _when(
        "CanaryConfig",
        "So many forwards' batches are kept on the device, for findings to name.",
        "A number of seconds, or a number computed with a division.",
        "Pass a whole number of forwards; 0 keeps none.",
    ),
    "canary.max_dumps": _when(
        "CanaryConfig",
        "So many files of what is found may be written to dump_folder by one canary.",
        "A number computed with a division, or None for no bound.",
        "Pass a whole number of dumps; 0 writes none.",
    ),
    "canary.halves": _when(
        "CanaryConfig",
        "K and V are stamped in that order, or one of them alone.",
        "A list, or a single letter, where a tuple is wanted.",
        'Pass ("K", "V"), ("K",) or ("V",).',
    ),
    "canary.dump_folder": Rule(
        checked_by="CanaryConfig and Canary",
        meaning="Dumps are written while the engine runs, when it is too late to ask for a folder.",
        causes=("A folder that nobody made yet.", "A flag or a number where a path is wanted."),
        fix=("Make the folder before the canary, or pass None for no dumps.",),
    ),
    "canary.report_interval_s": _when(
        "CanaryConfig",
        "poll reports at most once in so many seconds.",
        "A negative number, or a text.",
        "Pass seconds as a number; 0 reports as soon as there is something.",
    ),
    "canary.config": _when(
        "Canary",
        "The configuration comes first, as an object that has checked its fields.",
        "The mode alone, or a dictionary, in its place.",
        "Pass CanaryConfig(mode=...), and the sizes after it as keywords.",
    ),
    "canary.size": Rule(
        checked_by="Canary",
        meaning="Everything on the device is made once, as large as it will ever have to be.",
        causes=(
            "A size read from a configuration that is not loaded yet.",
            "A quotient that is a float, or a tensor's element.",
        ),
        fix=("Pass an int in the range that the error names.",),
    ),
    "canary.window": _when(
        "Canary",
        "The sliding-window pool has a size, a window and a table of its own.",
        "The window's size, or its table, in place of all three.",
        "Pass WindowPool(num_slots=..., window_size=..., full_to_swa_index_mapping=...).",
    ),
    "canary.window_twice": _when(
        "Canary",
        "swa is another name of window.",
        "Both names, of one pool.",
        "Pass the pool as window alone.",
    ),
    "canary.sources": _when(
        "Canary",
        "Bytes can be covered only where the canary knows them to lie.",
        "real_kv='partial' or 'all' of an engine whose sources were left out.",
        "Pass k_sources and v_sources, or real_kv='none' to check tables alone.",
    ),
    "canary.source_list": _when(
        "Canary",
        "Each half takes up to four sources, and so a list of them.",
        "A single source, or a tensor, without the brackets of a list.",
        "Put the sources in a list: k_sources=[source].",
    ),
    "canary.batch_size": Rule(
        checked_by="Canary.forward",
        meaning="A forward's plan has room for as many requests as the canary was made for; a "
        "larger batch is refused before anything is launched.",
        causes=(
            "Padding requests, of a graph's batch size, that were not counted.",
            "A scheduler's limit that was raised after the canary was made.",
        ),
        fix=(
            "Raise max_batch_size, padding included; Canary.allocation_bytes says what it takes.",
        ),
    ),
    "canary.token_count": Rule(
        checked_by="Canary.forward",
        meaning="What is kept of a forward's tokens has room for as many as the canary was made "
        "for; more are refused before anything is launched.",
        causes=(
            "A prefill that is longer than the chunk that the canary was made for.",
            "Padding tokens, or draft tokens, that were not counted.",
        ),
        fix=(
            "Raise max_tokens_per_forward, padding included, or prefill in smaller chunks.",
            "Canary.allocation_bytes says what it takes.",
        ),
    ),
    "canary.other_batch": Rule(
        checked_by="the scope of Canary.forward",
        meaning="Scopes inside each other are one forward, and are known to be by their tensors: "
        "the same memory, shapes and dtypes. Another batch would be neither verified nor stamped.",
        causes=(
            "A forward that begins before the last one's scope was left, as of two micro-batches.",
            "An inner scope whose tensors are copies of the outer one's.",
            "A scope that was entered by hand, and never left.",
        ),
        fix=(
            "Leave a forward's scope before the next one's is entered.",
            "For a scope inside a scope, pass the outer one's tensors themselves.",
        ),
    ),
    "canary.scope_order": Rule(
        checked_by="the scope of Canary.forward",
        meaning="Scopes are left in the opposite order of their entry, so that the last one left "
        "is the whole forward. The forward that is running counts as failed.",
        causes=("A scope that is left by hand, twice, too early, or without having been entered.",),
        fix=("Use `with canary.forward(...):` instead of entering and leaving by hand.",),
    ),
    "canary.not_armed": _when(
        "Canary.forward and Canary.sweep",
        "Before arm() forwards stamp, and nothing is verified.",
        "An engine that never calls arm(), or captures its graphs before.",
        "Call arm() once, after the engine's warm-up and before it captures graphs.",
    ),
    "canary.off": _when(
        "Canary.snapshot and Canary.dump",
        "A canary in off mode has nothing on the device, and so nothing to show.",
        "A mode that is read from a flag, and a call that does not ask for it.",
        "Make the canary with another mode, or ask canary.config.mode first.",
    ),
    "canary.closed": _when(
        "every call but health, findings and close",
        "close() gives the memory back; there is nothing left to check with.",
        "An engine that goes on after its shutdown, or two owners of one canary.",
        "Make a new canary, with an empty cache.",
    ),
    "canary.inside_forward": _when(
        "Canary.arm, Canary.sweep and Canary.close",
        "They use what the forward that is running needs until its end.",
        "A call from inside the model, or a scope that was never left.",
        "Call it after the forward's scope is left.",
    ),
    "canary.capturing": _when(
        "every call that a graph cannot hold",
        "What it does happens once, on the host; a replay of the graph would not do it again.",
        "A call between the begin and the end of a graph's capture.",
        "Call it before or after the capture; forward and poll may be inside.",
    ),
    "canary.row": _when(
        "Canary.prefix_hit and Canary.forget",
        "Row 0 is the padding row, and what is past the table would be another's memory.",
        "A request's number in place of its row, or its place in the batch.",
        "Pass the request's row of req_to_token, an int from 1 on.",
    ),
    "canary.tokens": Rule(
        checked_by="Canary.prefix_hit",
        meaning="The tokens are those of positions 0, 1, 2 and so on of one row, and are compared "
        "one by one with what was stamped.",
        causes=(
            "A batch of several requests' tokens.",
            "Embeddings, probabilities or hashes in place of token ids.",
        ),
        fix=("Pass one request's token ids, as whole numbers, as many as its cached prefix.",),
    ),
    "canary.dump_path": _when(
        "Canary.dump",
        "A dump is written beside its final name first, and so in a folder that is there.",
        "A folder that nobody made yet, or a misspelt one.",
        "Make the folder, or dump to another.",
    ),
    **_of_rows("sweep"),
    **_of_rows("rewind"),
    "canary.rewind_repeated": _when(
        "Canary.rewind",
        "A row goes on from one length; of two, it would be left to chance which." + _UNREAD,
        "One entry for each rejected draft in place of one for each request.",
        "Pass each row once, with the length that stays in the end.",
    ),
}
