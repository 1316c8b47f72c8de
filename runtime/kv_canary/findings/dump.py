"""A snapshot in a file, for a process that has nothing else of the one that wrote it.

The file is a `torch.save` of plain tensors, numbers and texts, and is read with `weights_only=True`
so that a file from elsewhere can run nothing. It holds stamps and tables, never a byte of K or V.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, TypeVar

import torch
from torch import Tensor

from kv_canary.errors import UsageError
from kv_canary.findings.snapshot import (
    SNAPSHOT_VERSION,
    GroupSnapshot,
    HalfSnapshot,
    Snapshot,
    StepSnapshot,
)

_FORMAT: Final = "kv-canary dump"
_WANTED: Final = "a file that kv-canary wrote in raise or log mode, or by Canary.dump"

_ZIP_START: Final = b"PK\x03\x04"

_T = TypeVar("_T")


class DumpError(UsageError):
    """A dump cannot be read; the text says which file, why, and what to do."""


class NotADumpError(DumpError):
    """The file is something else, or lacks what every dump has."""


class DamagedDumpError(DumpError):
    """The file began as a dump, and was cut short or changed."""


class NewerDumpError(DumpError):
    """The file was written by a later version of kv-canary."""


def write_dump(snapshot: Snapshot, path: str | os.PathLike[str]) -> None:
    """Write a snapshot to a file, whole or not at all: a file of that name is only ever replaced.

    Args:
        snapshot: what the canary knew; it takes about 32 bytes a slot and buffer.
        path: the file; its folder must exist.

    Raises:
        OSError: the file cannot be written.
    """
    target = Path(path)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            torch.save(_plain(snapshot), file)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_dump(path: str | os.PathLike[str]) -> Snapshot:
    """Return the snapshot in a file.

    Args:
        path: a file that write_dump wrote.

    Raises:
        NotADumpError: it is something else.
        DamagedDumpError: it was cut short or changed.
        NewerDumpError: a later version wrote it.
        UsageError: it is not there, or may not be read.
    """
    file = Path(path)
    try:
        with file.open("rb") as stream:
            start = stream.read(len(_ZIP_START))
    except OSError as error:
        raise UsageError(
            place=str(file),
            rule="the dump must be a file that can be read",
            found=error.strerror or type(error).__name__,
            wanted=_WANTED,
            fix="give the path of a dump",
        ) from error
    if not start:
        raise _no_dump(file, "an empty file")
    if not _ZIP_START.startswith(start):
        raise _no_dump(file, "another kind of file")
    if not zipfile.is_zipfile(file):
        raise _damaged(file, "its end is missing")
    try:
        content = torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise _no_dump(file, "a file with other objects than tensors, numbers and texts") from error
    except (RuntimeError, OSError, EOFError, ValueError, KeyError) as error:
        raise _damaged(file, str(error).partition("\n")[0]) from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise _no_dump(file, "a torch file without the mark of a dump")
    version = content.get("version")
    if isinstance(version, int) and version > SNAPSHOT_VERSION:
        raise NewerDumpError(
            place=str(file),
            rule="the dump must be of a version that this kv-canary knows",
            found=f"version {version}",
            wanted=f"version {SNAPSHOT_VERSION} or earlier",
            fix="read it with the kv-canary that wrote it, or a later one",
        )
    return _Reader(file, content).snapshot()


def _no_dump(file: Path, found: str) -> NotADumpError:
    return NotADumpError(
        place=str(file),
        rule="the file must be a kv-canary dump",
        found=found,
        wanted=_WANTED,
        fix="give the path of a dump",
    )


def _damaged(file: Path, found: str) -> DamagedDumpError:
    return DamagedDumpError(
        place=str(file),
        rule="the dump must be whole",
        found=found,
        wanted="the file as it was written",
        fix="copy it again from where it was written",
    )


# Writing -----------------------------------------------------------------------------------------


def _plain(snapshot: Snapshot) -> dict[str, object]:
    return {
        "format": _FORMAT,
        "version": snapshot.version,
        "hash_format": snapshot.hash_format,
        "real_kv_mode": snapshot.real_kv_mode,
        "req_to_token": _own(snapshot.req_to_token),
        "groups": [_plain_group(group) for group in snapshot.groups],
        "violations": _own(snapshot.violations),
        "evidence": _own(snapshot.evidence),
        "violation_count": snapshot.violation_count,
        "steps": [_plain_step(step) for step in snapshot.steps],
        "verify_wanted": dict(snapshot.verify_wanted),
        "verify_checked": dict(snapshot.verify_checked),
        "expected_tokens": _own(snapshot.expected_tokens),
        "expected_valid": _own(snapshot.expected_valid),
    }


def _plain_group(group: GroupSnapshot) -> dict[str, object]:
    return {
        "name": group.name,
        "num_slots": group.num_slots,
        "window_size": group.window_size,
        "mapping": _own(group.mapping),
        "halves": [
            {"half": half.half, "head": _own(half.head), "tail": _own(half.tail)}
            for half in group.halves
        ],
        "page_sizes": list(group.page_sizes),
    }


def _plain_step(step: StepSnapshot) -> dict[str, object]:
    return {
        "step": step.step,
        "req_pool_indices": _own(step.req_pool_indices),
        "prefix_lens": _own(step.prefix_lens),
        "extend_seq_lens": _own(step.extend_seq_lens),
        "positions": _own(step.positions),
        "out_cache_loc": _own(step.out_cache_loc),
        "captured": step.captured,
    }


def _own(tensor: Tensor | None) -> Tensor | None:
    """Return a copy that owns its storage: saving a view would save all that it looks into."""
    return (
        None
        if tensor is None
        else tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
    )


# Reading -----------------------------------------------------------------------------------------


class _Reader:
    """Plain data of a dump, checked field by field: the decoder relies on every shape."""

    def __init__(self, file: Path, content: Mapping[str, object]) -> None:
        self._file = file
        self._content = content

    def snapshot(self) -> Snapshot:
        content = self._content
        hash_format = self._text(content, "hash_format", ("serial", "parallel"))
        table = self._tensor(content, "req_to_token", torch.int32, (None, None))
        violations = self._tensor(content, "violations", torch.int64, (None, 8))
        expected = self._optional(content, "expected_tokens", torch.int32, (None, None))
        return Snapshot(
            version=self._is(content, "version", int),
            hash_format=hash_format,
            real_kv_mode=self._text(content, "real_kv_mode", ("none", "partial", "all")),
            req_to_token=table,
            groups=tuple(self._group(each) for each in self._list(content, "groups")),
            violations=violations,
            evidence=self._tensor(content, "evidence", torch.int64, (len(violations), 8)),
            violation_count=self._is(content, "violation_count", int),
            steps=tuple(self._step(each) for each in self._list(content, "steps")),
            verify_wanted=self._counts("verify_wanted"),
            verify_checked=self._counts("verify_checked"),
            expected_tokens=expected,
            expected_valid=self._optional(
                content,
                "expected_valid",
                torch.int64,
                (None if expected is None else expected.shape[0],),
            ),
        )

    def _group(self, content: Mapping[str, object]) -> GroupSnapshot:
        num_slots = self._is(content, "num_slots", int)
        halves = []
        for half in self._list(content, "halves"):
            name: Literal["K", "V"] = "K" if self._text(half, "half", ("K", "V")) == "K" else "V"
            shape = (num_slots, 4)
            halves.append(
                HalfSnapshot(
                    half=name,
                    head=self._tensor(half, "head", torch.int64, shape),
                    tail=self._tensor(half, "tail", torch.int64, shape),
                )
            )
        sizes = self._is(content, "page_sizes", list)
        if not all(isinstance(size, int) and size >= 1 for size in sizes):
            raise self._wrong("page_sizes")
        return GroupSnapshot(
            name=self._text(content, "name", ("full", "window")),
            num_slots=num_slots,
            window_size=self._is(content, "window_size", int),
            mapping=self._optional(content, "mapping", torch.int64, (None,)),
            halves=tuple(halves),
            page_sizes=tuple(sizes),
        )

    def _step(self, content: Mapping[str, object]) -> StepSnapshot:
        rows = self._tensor(content, "req_pool_indices", torch.int64, (None,))
        positions = self._tensor(content, "positions", torch.int64, (None,))
        each, tokens = (len(rows),), (len(positions),)
        return StepSnapshot(
            step=self._is(content, "step", int),
            req_pool_indices=rows,
            prefix_lens=self._tensor(content, "prefix_lens", torch.int64, each),
            extend_seq_lens=self._tensor(content, "extend_seq_lens", torch.int64, each),
            positions=positions,
            out_cache_loc=self._tensor(content, "out_cache_loc", torch.int64, tokens),
            captured=self._is(content, "captured", bool),
        )

    def _counts(self, name: str) -> dict[str, int]:
        found = self._is(self._content, name, dict)
        if not all(isinstance(k, str) and isinstance(v, int) for k, v in found.items()):
            raise self._wrong(name)
        return dict(found)

    def _list(self, content: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
        found = self._is(content, name, list)
        if not all(isinstance(each, dict) for each in found):
            raise self._wrong(name)
        return list(found)

    def _text(self, content: Mapping[str, object], name: str, known: tuple[str, ...]) -> str:
        found = self._is(content, name, str)
        if found not in known:
            raise self._wrong(name)
        return found

    def _optional(
        self,
        content: Mapping[str, object],
        name: str,
        dtype: torch.dtype,
        shape: tuple[int | None, ...],
    ) -> Tensor | None:
        if name in content and content[name] is None:
            return None
        return self._tensor(content, name, dtype, shape)

    def _tensor(
        self,
        content: Mapping[str, object],
        name: str,
        dtype: torch.dtype,
        shape: tuple[int | None, ...],
    ) -> Tensor:
        found = self._is(content, name, Tensor)
        fits = found.ndim == len(shape) and all(
            wanted is None or wanted == size
            for wanted, size in zip(shape, found.shape, strict=True)
        )
        if found.dtype != dtype or not fits:
            raise self._wrong(name)
        return found

    def _is(self, content: Mapping[str, object], name: str, kind: type[_T]) -> _T:
        found = content.get(name)
        if not isinstance(found, kind) or (kind is int and isinstance(found, bool)):
            raise self._wrong(name)
        return found

    def _wrong(self, name: str) -> NotADumpError:
        return _no_dump(self._file, f"a dump whose field `{name}` is missing or of another kind")
