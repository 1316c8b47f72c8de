"""The Mooncake trace format: one request a line, with one hash id per 512-token prompt block."""

from __future__ import annotations

import json
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kv_canary.errors import UsageError

BLOCK_TOKENS = 512
"""Prompt tokens behind one hash id, before any scaling; the format fixes it."""

SHIPPED_SLICE = Path(__file__).parent.parent / "data" / "mooncake_conversation_slice.jsonl"

_EXAMPLE = '{"timestamp": 0, "input_length": 600, "output_length": 20, "hash_ids": [0, 1]}'


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceRequest:
    """One line of a trace."""

    number: int
    """Place in order of arrival, from 0."""
    line: int
    """Line of the file, from 1."""
    timestamp: int
    """Arrival, in milliseconds."""
    input_length: int
    """Tokens in the prompt."""
    output_length: int
    """Tokens in the answer."""
    hash_ids: tuple[int, ...]
    """One id per 512-token block of the prompt; equal ids mean equal content up to there."""


def read_trace(path: Path, *, limit: int | None = None) -> tuple[TraceRequest, ...]:
    """Return the requests of a trace file in order of arrival.

    Args:
        path: file with one JSON object a line; blank lines are passed over.
        limit: lines to read at most, or None for all.

    Raises:
        UsageError: the file cannot be read, holds no request, or a line is malformed; names
            file and line.
    """
    lines: list[tuple[int, bytes]] = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    lines.append((number, line))
                if limit is not None and len(lines) >= limit:
                    break
    except OSError as error:
        raise UsageError(
            place=str(path),
            rule="the trace must be a file that can be read",
            found=error.strerror or type(error).__name__,
            wanted="a file with one JSON object a line, such as " + _EXAMPLE,
            fix="give the path of a trace, or none at all to replay the shipped slice",
        ) from error
    if not lines:
        raise UsageError(
            place=str(path),
            rule="the trace must hold at least one request",
            found="an empty file",
            wanted="one JSON object a line, such as " + _EXAMPLE,
            fix="give the path of a trace, or none at all to replay the shipped slice",
        )
    requests = [_parse_line(path, number, line) for number, line in lines]
    # Equal timestamps keep the order of the file: sorting is stable.
    requests.sort(key=lambda request: request.timestamp)
    return tuple(replace(request, number=number) for number, request in enumerate(requests))


def _parse_line(path: Path, line_number: int, line: bytes) -> TraceRequest:
    """Return the request of one line, numbered as if lines came in order of arrival."""

    def wrong(rule: str, found: str, wanted: str) -> UsageError:
        return UsageError(
            place=f"{path}:{line_number}",
            rule=rule,
            found=textwrap.shorten(found, 200),
            wanted=wanted,
            fix="mend or remove this line",
        )

    an_object = "a line must be one JSON object"
    like_this = "one JSON object, such as " + _EXAMPLE
    try:
        document = json.loads(line.decode("utf-8").rstrip())
    except UnicodeDecodeError as error:
        found = f"byte 0x{line[error.start]:02x} at column {error.start + 1}"
        raise wrong("a line must be UTF-8 text", found, like_this) from error
    except json.JSONDecodeError as error:
        raise wrong(an_object, f"{error.msg} at column {error.colno}", like_this) from error
    except (ValueError, RecursionError) as error:
        found = "a number or a nesting too long to read"
        raise wrong(an_object, found, like_this) from error
    if not isinstance(document, dict):
        raise wrong(an_object, f"a JSON {_json_type(document)}", like_this)

    def field(key: str, wanted: str) -> Any:
        if key not in document:
            found = ", ".join(f"`{name}`" for name in document) or "an empty object"
            raise wrong(f"a request must have `{key}`", found, wanted)
        return document[key]

    def whole_number(key: str, least: int) -> int:
        wanted = f"a whole number, {least} or more"
        value = field(key, wanted)
        if type(value) is not int:
            raise wrong(f"`{key}` must be a whole number", f"a JSON {_json_type(value)}", wanted)
        if value < least:
            raise wrong(f"`{key}` must be {least} or more", str(value), wanted)
        return value

    timestamp = whole_number("timestamp", 0)
    input_length = whole_number("input_length", 1)
    output_length = whole_number("output_length", 0)

    blocks = -(-input_length // BLOCK_TOKENS)
    wanted = f"a list of {blocks} whole numbers, one per {BLOCK_TOKENS}-token prompt block"
    hash_ids = field("hash_ids", wanted)
    if not isinstance(hash_ids, list):
        raise wrong("`hash_ids` must be a list", f"a JSON {_json_type(hash_ids)}", wanted)
    for index, value in enumerate(hash_ids):
        if type(value) is not int:
            rule = f"`hash_ids[{index}]` must be a whole number"
            raise wrong(rule, f"a JSON {_json_type(value)}", wanted)
    if len(hash_ids) != blocks:
        rule = f"`hash_ids` must have one id per {BLOCK_TOKENS} tokens of `input_length`"
        raise wrong(rule, f"{len(hash_ids)} ids for {input_length} tokens", wanted)
    return TraceRequest(
        number=line_number - 1,
        line=line_number,
        timestamp=timestamp,
        input_length=input_length,
        output_length=output_length,
        hash_ids=tuple(hash_ids),
    )


def _json_type(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    names = {str: "string", float: "fraction", int: "number", list: "list", dict: "object"}
    return names[type(value)]
