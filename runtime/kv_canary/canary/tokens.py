"""What each row should hold: the tokens that a canary saw written, or was told of.

Note [When a row goes on]
Rows are used again, and a request must not be held against what the last one of its row wrote. So a
row has a key: how many of its tokens are known, and the slot of the last of them. A request that
comes with as many cached tokens, the last of them in that slot, is the one that was seen; one that
comes with none starts anew; of any other, nothing is known until the row starts anew or is
announced. What cannot be told apart is a row that was given, unannounced, to a request with exactly
as many cached tokens, the last in exactly that slot, whose content others wrote meanwhile: that is
also what slots with two owners look like, and it is reported.

Note [Only on the device]
Lengths and rows are on the device and may be the damaged thing, so all is done there, with rows and
columns clamped, into tensors made before: nothing is read back, and a graph can hold it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import torch
from torch import Tensor

from kv_canary.canary.group import Batch
from kv_canary.canary.refusals import refusal
from kv_canary_kernels.contract import ContractError
from kv_canary_kernels.launchers.scatter_req_token_ids import prepare_scatter_req_token_ids
from kv_canary_kernels.structs import WritePlan

NOT_KNOWN: Final = -1
"""A key that no row has, and a token that is compared with nothing."""

_LENGTH: Final = 1 << 32
"""Factor of the length in a key; a slot of an int32 table fits below it."""


class ExpectedTokens:
    """The tokens of every row, and the keys that say how many are known.

    Args:
        req_to_token: int32 [rows, columns], slot of each position of each row.
        max_batch_size: requests of a forward at most.
        device: where the tensors are; the meta device, to count their bytes.
    """

    def __init__(self, req_to_token: Tensor, *, max_batch_size: int, device: torch.device) -> None:
        self._req_to_token = req_to_token
        self._slots_of_cells = req_to_token.view(-1)
        rows, self._columns = req_to_token.shape
        self.tokens = torch.full((rows, self._columns), NOT_KNOWN, dtype=torch.int32, device=device)
        self.keys = torch.full((rows,), NOT_KNOWN, dtype=torch.int64, device=device)

        def scratch(dtype: torch.dtype) -> Tensor:
            return torch.zeros(max_batch_size, dtype=dtype, device=device)

        self._row = scratch(torch.int64)
        self._cell = scratch(torch.int64)
        self._slot = scratch(torch.int32)
        self._key = scratch(torch.int64)
        self._seen = scratch(torch.int64)
        self._mark = scratch(torch.bool)
        self._known = scratch(torch.int64)

    def tensors(self) -> Iterator[Tensor]:
        """Every tensor that was made here."""
        yield self.tokens
        yield self.keys
        yield self._row
        yield self._cell
        yield self._slot
        yield self._key
        yield self._seen
        yield self._mark
        yield self._known

    def known(self, count: int) -> Tensor:
        """Return the view that find_known fills for so many requests, int64 [count]."""
        return self._known[:count]

    def find_known(self, rows: Tensor, lengths: Tensor) -> Tensor:
        """Work out how many tokens of each request are known: all that it comes with, or none.

        Args:
            rows: int64 [n], row of each request.
            lengths: int64 [n], tokens that it comes with.

        Returns:
            int64 [n], a view that the next call fills anew.
        """
        count = rows.shape[0]
        row, seen, is_same = self._row[:count], self._seen[:count], self._mark[:count]
        torch.clamp(rows, 0, self.keys.shape[0] - 1, out=row)
        key = self._key_of(row, lengths)
        torch.index_select(self.keys, 0, row, out=seen)
        torch.eq(seen, key, out=is_same)
        return torch.mul(lengths, is_same, out=self._known[:count])

    def add(self, batch: Batch, plan: WritePlan) -> None:
        """Keep what a forward wrote, for the rows whose tokens before it are known.

        Args:
            batch: the forward's, for which find_known was called last.
            plan: its write plan, which says which tokens are whose.
        """
        count = batch.size
        row, total, is_unknown = self._row[:count], self._seen[:count], self._mark[:count]
        prepare_scatter_req_token_ids(
            flat_in=batch.input_ids,
            offsets=plan.write_offsets[: count + 1],
            req_pool_indices=batch.req_pool_indices,
            pool_out=self.tokens,
            column_starts=batch.prefix_lens,
        )()
        # A request without cached tokens knows all of them.
        torch.ne(self._known[:count], batch.prefix_lens, out=is_unknown)
        torch.add(batch.prefix_lens, batch.extend_seq_lens, out=total)
        key = self._key_of(row, total)
        key.masked_fill_(is_unknown, NOT_KNOWN)
        # A wild row, clamped, costs the row at that end what was known of it; it is reported.
        self.keys.index_copy_(0, row, key)

    def _key_of(self, row: Tensor, lengths: Tensor) -> Tensor:
        """Return the key of rows with so many tokens: int64 [n], a view."""
        count = row.shape[0]
        cell, slot = self._cell[:count], self._slot[:count]
        torch.add(lengths, row, alpha=self._columns, out=cell)
        cell.sub_(1).clamp_(0, self._slots_of_cells.shape[0] - 1)
        torch.index_select(self._slots_of_cells, 0, cell, out=slot)
        return torch.add(slot, lengths, alpha=_LENGTH, out=self._key[:count])

    def announce(self, row: int, tokens: Sequence[int] | Tensor) -> None:
        """Take a row's cached tokens from who knows them; see Canary.prefix_hit."""
        self._check_row("prefix_hit", row)
        told = tokens if isinstance(tokens, Tensor) else _tensor_of(tokens)
        length = told.shape[0] if told.dim() else 0
        if told.dim() != 1 or length > self._columns:
            raise refusal(
                rule="tokens",
                argument="tokens",
                message=f"prefix_hit tokens must be 1-D with at most {self._columns} entries, "
                f"got shape {tuple(told.shape)}",
                actual=f"shape {tuple(told.shape)}",
                expected=f"[n], n at most {self._columns}, the columns of req_to_token",
            )
        if told.is_floating_point() or told.is_complex() or told.dtype is torch.bool:
            raise _no_tokens(str(told.dtype))
        if length == 0:
            self.keys[row : row + 1].fill_(NOT_KNOWN)
            return
        self.tokens[row, :length].copy_(told, non_blocking=True)
        key = self.keys[row : row + 1]
        key.copy_(self._req_to_token[row, length - 1 : length])
        key.add_(length * _LENGTH)

    def forget(self, row: int) -> None:
        """Hold nothing against a row until it starts anew or is announced."""
        self._check_row("forget", row)
        self.keys[row : row + 1].fill_(NOT_KNOWN)

    def _check_row(self, name: str, row: int) -> None:
        rows = self.tokens.shape[0]
        if not isinstance(row, int) or not 0 < row < rows:
            raise refusal(
                rule="row",
                argument="row",
                message=f"{name} row must be in [1, {rows}), got {row!r}",
                actual=repr(row),
                expected="a row of req_to_token; row 0 is the padding row",
            )

    def rewind(self, rows: Tensor, lengths: Tensor) -> None:
        """Go back to the first tokens of rows that are known; see Canary.rewind.

        Args:
            rows: int64 [n].
            lengths: int64 [n], tokens that stay.
        """
        row = rows.clamp(0, self.keys.shape[0] - 1)
        cell = (row * self._columns + lengths - 1).clamp(0, self._slots_of_cells.shape[0] - 1)
        key = self._slots_of_cells[cell] + lengths * _LENGTH
        has_more = lengths_of(self.keys[row]) >= lengths
        self.keys.index_copy_(0, row, torch.where(has_more, key, NOT_KNOWN))

    def settled(self, req_to_token: Tensor) -> tuple[Tensor, Tensor]:
        """Return tokens and known lengths on the CPU, for a snapshot.

        Args:
            req_to_token: int32 [rows, columns], the table at this moment, on the CPU.

        Returns:
            int32 [rows, columns] and int64 [rows]; nothing is known of a row whose table changed.
        """
        keys = self.keys.cpu()
        lengths = lengths_of(keys)
        columns = req_to_token.shape[1]
        last = (lengths - 1).clamp(0, columns - 1)[:, None]
        slot = req_to_token.gather(1, last)[:, 0].to(torch.int64)
        is_same = (keys == slot + lengths * _LENGTH) & (lengths <= columns)
        return self.tokens.cpu(), torch.where(is_same, lengths, 0)


def lengths_of(keys: Tensor) -> Tensor:
    """Return how many tokens keys say are known, int64 of the same shape."""
    # Rounded, as a slot may be any int32, and NOT_KNOWN is no length.
    return (keys + _LENGTH // 2) >> 32


def _tensor_of(tokens: Sequence[int]) -> Tensor:
    try:
        told = torch.tensor(tokens, device="cpu")
    except (TypeError, ValueError, RuntimeError):
        found = repr(tokens)
        raise _no_tokens(found if len(found) < 60 else f"{found[:56]} ...") from None
    # Of no element there is no kind; and what does not fit in int32 is cut, and not refused.
    return told if told.is_floating_point() and told.numel() else told.to(torch.int32)


def _no_tokens(found: str) -> ContractError:
    return refusal(
        rule="tokens",
        argument="tokens",
        message=f"prefix_hit tokens must be whole numbers, got {found}",
        actual=found,
        expected="token ids, as ints or as a tensor of an integer dtype",
    )
