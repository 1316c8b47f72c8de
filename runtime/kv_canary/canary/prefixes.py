"""Rows and how many of their tokens are meant, as sweep and rewind are told, and their pieces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index

import torch
from torch import Tensor

from kv_canary.canary.refusals import refusal
from kv_canary_kernels.contract import ContractError

Prefix = tuple[int, int]
"""A row of the table, and how many of its tokens are cached."""


def prefixes_of(
    name: str,
    rows: Sequence[int] | Tensor,
    lengths: Sequence[int] | Tensor,
    *,
    table_shape: tuple[int, int],
) -> list[Prefix]:
    """Return rows and lengths in pairs; tensors on a device are waited for.

    Args:
        name: the call that takes them, for messages.
        rows: [n], rows of the table.
        lengths: [n], cached tokens of each.
        table_shape: rows and columns of the table.

    Raises:
        ContractError: there are more of the one than of the other, or one cannot be.
    """
    listed_rows, listed_lengths = _listed(name, "rows", rows), _listed(name, "lengths", lengths)
    _check_as_many(name, len(listed_rows), len(listed_lengths))
    most_rows, columns = table_shape
    for row, length in zip(listed_rows, listed_lengths, strict=True):
        if not 0 < row < most_rows:
            raise refusal(
                rule=f"{name}_row",
                argument="rows",
                message=f"{name} rows must be in [1, {most_rows}), got {row}",
                actual=str(row),
                expected="rows of the table; row 0 is the padding row",
            )
        if not 0 <= length <= columns:
            raise refusal(
                rule=f"{name}_length",
                argument="lengths",
                message=f"{name} lengths must be in [0, {columns}], got {length} for row {row}",
                actual=str(length),
                expected=f"at most {columns}, the columns of the table",
            )
    return list(zip(listed_rows, listed_lengths, strict=True))


def check_rewind(
    rows: Sequence[int] | Tensor, lengths: Sequence[int] | Tensor, *, table_shape: tuple[int, int]
) -> None:
    """Check what rewind is told; of tensors on another device, only what needs no waiting.

    Args:
        rows: [n], rows of the table, each once.
        lengths: [n], tokens of each that stay.
        table_shape: rows and columns of the table.

    Raises:
        ContractError: as from prefixes_of, or a row is there twice.
    """
    if _is_elsewhere(rows) or _is_elsewhere(lengths):
        _check_as_many(
            "rewind", _count("rewind", "rows", rows), _count("rewind", "lengths", lengths)
        )
        return
    seen: set[int] = set()
    for row, _ in prefixes_of("rewind", rows, lengths, table_shape=table_shape):
        if row in seen:
            raise refusal(
                rule="rewind_repeated",
                argument="rows",
                message=f"rewind rows must be there once each, got {row} more than once",
                actual=f"row {row}, more than once",
                expected="each row once",
            )
        seen.add(row)


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


def _is_elsewhere(numbers: Sequence[int] | Tensor) -> bool:
    return isinstance(numbers, Tensor) and numbers.device.type != "cpu"


def _count(name: str, argument: str, numbers: Sequence[int] | Tensor) -> int:
    if not isinstance(numbers, Tensor):
        return len(_listed(name, argument, numbers))
    _check_tensor(name, argument, numbers)
    return numbers.shape[0]


def _listed(name: str, argument: str, numbers: Sequence[int] | Tensor) -> list[int]:
    if isinstance(numbers, Tensor):
        _check_tensor(name, argument, numbers)
        return [int(number) for number in numbers.tolist()]
    try:
        return [index(number) for number in numbers]
    except TypeError:
        found = repr(numbers)
        raise _no_numbers(
            name, argument, found if len(found) < 60 else f"{found[:56]} ..."
        ) from None


def _check_tensor(name: str, argument: str, numbers: Tensor) -> None:
    is_whole = not (numbers.is_floating_point() or numbers.is_complex())
    if numbers.dim() != 1 or not is_whole or numbers.dtype is torch.bool:
        raise _no_numbers(name, argument, f"{numbers.dtype} of shape {tuple(numbers.shape)}")


def _no_numbers(name: str, argument: str, found: str) -> ContractError:
    return refusal(
        rule=f"{name}_numbers",
        argument=argument,
        message=f"{name} {argument} must be whole numbers, 1-D, got {found}",
        actual=found,
        expected="a list of ints, or a 1-D tensor of an integer dtype",
    )


def _check_as_many(name: str, rows: int, lengths: int) -> None:
    if rows != lengths:
        raise refusal(
            rule=f"{name}_lengths",
            argument="lengths",
            message=f"{name} lengths must be as many as rows, got {lengths} and {rows}",
            actual=f"{lengths} lengths for {rows} rows",
            expected="one length a row",
        )
