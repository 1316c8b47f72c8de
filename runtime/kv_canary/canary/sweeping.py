"""What a sweep is asked to verify, cut into pieces that a plan can hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch import Tensor

from kv_canary.canary.refusals import refusal

Prefix = tuple[int, int]
"""A row of the table, and how many of its tokens are cached."""


def prefixes_of(
    rows: Sequence[int] | Tensor, lengths: Sequence[int] | Tensor, *, table: Tensor
) -> list[Prefix]:
    """Return rows and lengths in pairs.

    Args:
        rows: [n], rows of the table.
        lengths: [n], cached tokens of each.
        table: int32 [rows, columns].

    Raises:
        ContractError: there are more of the one than of the other, or one cannot be.
    """
    rows, lengths = _listed(rows), _listed(lengths)
    if len(rows) != len(lengths):
        raise refusal(
            rule="sweep_lengths",
            argument="lengths",
            message=f"sweep lengths must be as many as rows, got {len(lengths)} and {len(rows)}",
            actual=f"{len(lengths)} lengths for {len(rows)} rows",
            expected="one length a row",
        )
    most_rows, columns = table.shape
    for row, length in zip(rows, lengths, strict=True):
        if not 0 < row < most_rows:
            raise refusal(
                rule="sweep_row",
                argument="rows",
                message=f"sweep rows must be in [1, {most_rows}), got {row}",
                actual=str(row),
                expected="rows of the table; row 0 is the padding row",
            )
        if not 0 <= length <= columns:
            raise refusal(
                rule="sweep_length",
                argument="lengths",
                message=f"sweep lengths must be in [0, {columns}], got {length} for row {row}",
                actual=str(length),
                expected=f"at most {columns}, the columns of the table",
            )
    return list(zip(rows, lengths, strict=True))


def chunks_of(
    prefixes: Sequence[Prefix], *, most_rows: int, most_tokens: int
) -> Iterator[list[Prefix]]:
    """Cut prefixes into chunks, each within both limits unless one prefix alone is longer.

    Args:
        prefixes: rows and lengths.
        most_rows: prefixes in a chunk.
        most_tokens: tokens in a chunk.
    """
    chunk: list[Prefix] = []
    tokens = 0
    for prefix in prefixes:
        if chunk and (len(chunk) == most_rows or tokens + prefix[1] > most_tokens):
            yield chunk
            chunk, tokens = [], 0
        chunk.append(prefix)
        tokens += prefix[1]
    if chunk:
        yield chunk


def _listed(numbers: Sequence[int] | Tensor) -> list[int]:
    return [int(n) for n in (numbers.tolist() if isinstance(numbers, Tensor) else numbers)]
