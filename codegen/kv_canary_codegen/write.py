"""Writing what was rendered: only what changed, all of it or nothing, and nothing left behind."""

from __future__ import annotations

import contextlib
import difflib
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kv_canary_codegen.render import HEADER_MARK

_IGNORED = ("__pycache__",)


class OutputError(Exception):
    """The output folder cannot be written; nothing in it was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What stands between a folder and what was rendered, paths relative to the folder."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    orphaned: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.orphaned)


def compare(folder: Path, files: Mapping[str, str]) -> Changes:
    """Which files are missing, different, or generated once and by nothing now.

    Raises:
        OutputError: A file cannot be read.
    """
    added, changed = [], []
    for path, text in files.items():
        current = _read(folder / path)
        if current is None:
            added.append(path)
        elif current != text.encode():
            changed.append(path)
    return Changes(added=tuple(added), changed=tuple(changed), orphaned=_orphans(folder, files))


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        return None
    except OSError as error:
        raise OutputError(f"{path}: cannot be read: {error.strerror}") from error


def _orphans(folder: Path, files: Mapping[str, str]) -> tuple[str, ...]:
    """Files below the rendered folders whose first line says that they are generated."""
    tops = {path.partition("/")[0] for path in files}
    found = []
    for top in sorted(tops):
        for path in sorted((folder / top).rglob("*")):
            relative = path.relative_to(folder).as_posix()
            if relative in files or not path.is_file():
                continue
            if any(part in _IGNORED for part in path.parts):
                continue
            with contextlib.suppress(OSError, UnicodeDecodeError):
                with path.open(encoding="utf-8") as file:
                    first = file.readline(400)
                if "Generated from " in first and HEADER_MARK in first:
                    found.append(relative)
    return tuple(found)


def write(folder: Path, files: Mapping[str, str]) -> Changes:
    """Make a folder hold what was rendered: every change is staged first, then all are made.

    A failure puts back what had been replaced, so that the old output is whole again.

    Raises:
        OutputError: Something could not be written, or would overwrite a file that nobody
            generated.
    """
    changes = compare(folder, files)
    _refuse_strangers(folder, changes)
    staged: dict[str, Path] = {}
    before: dict[str, bytes | None] = {}
    made = _missing_parents(folder, (*changes.added, *changes.changed))
    try:
        for path in (*changes.added, *changes.changed):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            staged[path] = _stage(target, files[path])
        for path in (*changes.added, *changes.changed, *changes.orphaned):
            before[path] = _read(folder / path)
            if path in staged:
                os.replace(staged.pop(path), folder / path)
            else:
                (folder / path).unlink()
    except OSError as error:
        _put_back(folder, before)
        for leftover in staged.values():
            leftover.unlink(missing_ok=True)
        for parent in made:
            with contextlib.suppress(OSError):
                parent.rmdir()
        place = error.filename or folder
        raise OutputError(
            f"{place}: cannot be written: {error.strerror or error}; the output is as it was before"
        ) from error
    _remove_empty_folders(folder, changes.orphaned)
    return changes


def _refuse_strangers(folder: Path, changes: Changes) -> None:
    """A first run into a folder that holds other people's files of the same names stops here."""
    generated = any(
        HEADER_MARK.encode() in (_read(folder / path) or b"")[:400]
        for path in (*changes.changed, *changes.orphaned)
    )
    strangers = [
        path
        for path in changes.changed
        if HEADER_MARK.encode() not in (_read(folder / path) or b"")[:400]
    ]
    if strangers and not generated and len(strangers) == len(changes.changed) and changes.added:
        raise OutputError(
            f"{folder / strangers[0]}: exists and was not generated; "
            "choose another --out, or move it away"
        )


def _missing_parents(folder: Path, paths: tuple[str, ...]) -> list[Path]:
    """Folders that writing would make, deepest first."""
    found: dict[Path, None] = {}
    for path in paths:
        parent = (folder / path).parent
        while not parent.exists():
            found[parent] = None
            parent = parent.parent
    return sorted(found, key=lambda p: len(p.parts), reverse=True)


def _stage(target: Path, text: str) -> Path:
    """Write a file's new text beside it, under a name of its own."""
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent)
    path = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode())
        path.chmod(0o644 & ~_umask())
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return path


def _umask() -> int:
    current = os.umask(0o022)
    os.umask(current)
    return current


def _put_back(folder: Path, before: Mapping[str, bytes | None]) -> None:
    for path, data in before.items():
        target = folder / path
        with contextlib.suppress(OSError):
            if data is None:
                target.unlink(missing_ok=True)
            elif _read(target) != data:
                target.write_bytes(data)


def _remove_empty_folders(folder: Path, orphans: tuple[str, ...]) -> None:
    for orphan in orphans:
        for parent in (folder / orphan).parents:
            if parent == folder or not parent.is_dir():
                break
            if any(entry.name not in _IGNORED for entry in parent.iterdir()):
                break
            for entry in parent.iterdir():
                for file in entry.iterdir():
                    file.unlink()
                entry.rmdir()
            parent.rmdir()


def diff(folder: Path, shown: str, files: Mapping[str, str], changes: Changes) -> str:
    """A unified diff from what is there to what would be generated."""
    parts = []
    for path in sorted((*changes.added, *changes.changed, *changes.orphaned)):
        current = (_read(folder / path) or b"").decode("utf-8", errors="replace")
        wanted = files.get(path, "")
        lines = difflib.unified_diff(
            current.splitlines(keepends=True),
            wanted.splitlines(keepends=True),
            f"{shown}/{path}" if path not in changes.added else "/dev/null",
            f"{shown}/{path} (generated)" if path in files else "/dev/null",
        )
        text = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
        parts.append(text or f"--- {shown}/{path}\n+++ {shown}/{path} (generated)\n")
    return "".join(parts)
