"""Writing what was rendered: only what changed, all of it or nothing, and nothing left behind.

Note [All or nothing]
Every new text is staged in a folder beside the output, and every old file gets a second name there,
before the first is replaced. From then on only renames and unlinks remain, which need no room on
the disk, and which the second names can take back. A run that is killed leaves whole files, old or
new, and a staging folder that the next run removes. Two runs at once take turns.
"""

from __future__ import annotations

import contextlib
import difflib
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_HEADER = re.compile(
    r"(?:# |<!-- )Generated from (?P<spec>[^/]+)/(?P<source>.+) by `(?P<command>.+) generate`; "
    r"do not edit\."
)
_HEADER_BYTES = 1000
_STAGING = ".generating-"
_CACHES = ("__pycache__",)


class CommandError(Exception):
    """A command cannot be carried out: where, by which rule, what was found, what to do."""

    def __init__(self, *, place: str, rule: str, found: str, wanted: str, fix: str) -> None:
        super().__init__(f"{place}: {rule}\n  found:  {found}\n  wanted: {wanted}\n  fix:    {fix}")


class OutputError(CommandError):
    """The output folder cannot be read or written; what was in it is there still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What stands between a folder and what was rendered, paths relative to the folder."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    orphaned: tuple[str, ...]
    foreign: tuple[str, ...] = ()
    """Those of `changed` that this project never generated, and that it will not overwrite."""

    def __bool__(self) -> bool:
        return bool(self.all())

    def all(self) -> tuple[str, ...]:
        """Every path that differs, sorted."""
        return tuple(sorted((*self.added, *self.changed, *self.orphaned)))


@dataclass(frozen=True, slots=True)
class _Header:
    """What the first line of a generated file says about where it comes from."""

    spec: str
    source: str
    command: str


def compare(folder: Path, files: Mapping[str, str]) -> Changes:
    """Which files are missing, different, or generated once and by nothing now.

    Raises:
        OutputError: A planned path, or a folder on the way to it, is something else or unreadable.
    """
    added, changed = [], []
    for path, text in files.items():
        current = _read(folder, path)
        if current is None:
            added.append(path)
        elif current != text.encode():
            changed.append(path)
    return Changes(
        added=tuple(added),
        changed=tuple(changed),
        orphaned=_orphans(folder, files),
        foreign=_foreign(folder, files, changed),
    )


def _read(folder: Path, path: str) -> bytes | None:
    place = folder / path
    if place.exists() and not place.is_file() and not place.is_dir():
        raise OutputError(
            place=place.as_posix(),
            rule="a generated file must have its path to itself",
            found="a pipe or a device",
            wanted="a file, or nothing",
            fix="move it away, or choose another --out",
        )
    try:
        return place.read_bytes()
    except FileNotFoundError:
        return None
    except IsADirectoryError as error:
        raise OutputError(
            place=place.as_posix(),
            rule="a generated file must have its path to itself",
            found="a folder",
            wanted="a file, or nothing",
            fix="move the folder away, or choose another --out",
        ) from error
    except NotADirectoryError as error:
        parent = next(p for p in place.parents if p.exists())
        raise OutputError(
            place=parent.as_posix(),
            rule="generated files must have a folder to go to",
            found="a file",
            wanted="a folder, or nothing",
            fix="move the file away, or choose another --out",
        ) from error
    except OSError as error:
        raise OutputError(
            place=place.as_posix(),
            rule="a generated file must be readable",
            found=_reason(error),
            wanted="a file that this user can read",
            fix="change its permissions, or choose another --out",
        ) from error


def _header_of(data: bytes) -> _Header | None:
    found = _HEADER.match(data[:_HEADER_BYTES].decode("utf-8", errors="replace"))
    return _Header(**found.groupdict()) if found else None


def _header_at(place: Path) -> _Header | None:
    """The header of a file; None where there is none, or no file that can be read."""
    with contextlib.suppress(OSError), place.open("rb") as file:
        return _header_of(file.read(_HEADER_BYTES))
    return None


def _planned_header(files: Mapping[str, str], path: str) -> _Header | None:
    return _header_of(files[path][:_HEADER_BYTES].encode())


def _orphans(folder: Path, files: Mapping[str, str]) -> tuple[str, ...]:
    """Files that this project generated once: their first line names its spec and its command.

    Looked for below the rendered folders, and in a package that had another name then.
    """
    planned = (_planned_header(files, path) for path in files)
    ours = {(header.spec, header.command) for header in planned if header is not None}

    def is_ours(place: Path) -> bool:
        header = _header_at(place)
        return header is not None and (header.spec, header.command) in ours

    tops = {path.partition("/")[0] for path in files}
    with contextlib.suppress(OSError):
        tops |= {p.name for p in folder.iterdir() if is_ours(p / "__init__.py")}
    found = []
    for top in sorted(tops):
        for place in sorted((folder / top).rglob("*")):
            path = place.relative_to(folder).as_posix()
            if path in files or not place.is_file() or set(place.parts) & set(_CACHES):
                continue
            # The mark of a typed package is empty: it has no first line, and goes with its package.
            owner = place.with_name("__init__.py") if place.name == "py.typed" else place
            if is_ours(owner) and (owner == place or not place.stat().st_size):
                found.append(path)
    return tuple(found)


def _foreign(folder: Path, files: Mapping[str, str], changed: Sequence[str]) -> tuple[str, ...]:
    """Files of planned names that this project did not generate.

    A hand edit may have taken a file's first line away. So a file without one is foreign only where
    nothing else of its kind is generated either: no other file of its kernel, or, on a first run
    into a folder, no file of the project at all.
    """
    there = {path: _header_at(folder / path) for path in files}
    planned = {path: _planned_header(files, path) for path in files}
    package = min((path for path in files if path.endswith("/__init__.py")), key=len)
    commands = {header.command for header in planned.values() if header is not None}
    first_run = there[package] is None and not any(
        header is not None and header.command in commands for header in there.values()
    )
    if first_run:
        return tuple(changed)
    groups = {
        header.source
        for path, header in planned.items()
        if header is not None and there[path] is not None
    }
    return tuple(
        path
        for path in changed
        if (header := planned[path]) is not None
        and header.source.startswith("kernels/")
        and header.source not in groups
    )


def write(folder: Path, files: Mapping[str, str]) -> Changes:
    """Make a folder hold what was rendered, and touch nothing that does so already.

    Raises:
        OutputError: Something cannot be read or written, or would overwrite a file that this
            project never generated.
    """
    made: list[Path] = []
    try:
        try:
            make_folders(folder, made)
            lock = os.open(folder, os.O_RDONLY)
        except OSError as error:
            raise _unwritable(folder, error, lost=()) from error
        try:
            alone = _take_turn(lock)
            if alone:
                for stale in folder.glob(f"{_STAGING}*"):
                    shutil.rmtree(stale, ignore_errors=True)
            changes = compare(folder, files)
            if changes.foreign:
                raise _overwriting(folder, changes)
            if changes:
                _replace(folder, files, changes)
        finally:
            os.close(lock)
    except BaseException:
        remove_folders(made)
        raise
    _remove_empty_folders(folder, changes.orphaned)
    return changes


def make_folders(folder: Path, made: list[Path]) -> None:
    """Make a folder and what is missing above it, and note what was made."""
    missing = [p for p in (folder, *folder.parents) if not p.exists()]
    for place in reversed(missing):
        with contextlib.suppress(FileExistsError):
            place.mkdir()
            made.append(place)


def remove_folders(made: Sequence[Path]) -> None:
    """Remove folders that were made, the last first, where they are empty."""
    for place in reversed(made):
        with contextlib.suppress(OSError):
            place.rmdir()


def _take_turn(lock: int) -> bool:
    """Wait for other runs into this folder; whether the file system can tell."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError:
        return False
    return True


def _replace(folder: Path, files: Mapping[str, str], changes: Changes) -> None:
    """Make every change, or put back those that were made; see Note [All or nothing]."""
    wanted = (*changes.added, *changes.changed)
    before: dict[str, Path | None] = {}
    made: list[Path] = []
    place, staging = folder, None
    try:
        staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=folder))
        new = {path: staging / f"{number}.new" for number, path in enumerate(wanted)}
        old = {path: staging / f"{number}.old" for number, path in enumerate(changes.all())}
        for path in wanted:
            place = folder / path
            new[path].write_bytes(files[path].encode())
        for path in (*changes.changed, *changes.orphaned):
            place = folder / path
            _keep(place, old[path])
        for path in wanted:
            place = folder / path
            make_folders(place.parent, made)
            before[path] = old[path] if path in changes.changed else None
            os.replace(new[path], place)
        for path in changes.orphaned:
            place = folder / path
            before[path] = old[path]
            place.unlink()
    except BaseException as error:
        lost = _put_back(folder, before)
        remove_folders(made)
        if not isinstance(error, OSError):
            raise
        raise _unwritable(place, error, lost) from error
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)


def _keep(place: Path, second: Path) -> None:
    """Give a file a second name; a copy where the file system has no second names."""
    try:
        os.link(place, second)
    except OSError:
        shutil.copy2(place, second)


def _put_back(folder: Path, before: Mapping[str, Path | None]) -> tuple[str, ...]:
    """Take back what was done; the paths where even that fails."""
    lost = []
    for path, kept in before.items():
        place = folder / path
        try:
            if kept is None:
                place.unlink(missing_ok=True)
            else:
                _put_back_file(place, kept)
        except OSError:
            lost.append(path)
    return tuple(lost)


def _put_back_file(place: Path, kept: Path) -> None:
    if place.exists() and place.samefile(kept):
        return  # Nothing had happened to it yet.
    try:
        os.replace(kept, place)
    except OSError:
        shutil.copy2(kept, place)


def _remove_empty_folders(folder: Path, orphans: Sequence[str]) -> None:
    """Remove what held nothing but orphans; Python's caches of them do not count."""
    for orphan in orphans:
        for parent in (folder / orphan).parents:
            if parent == folder or not parent.is_dir():
                break
            entries = list(parent.iterdir())
            if any(entry.name not in _CACHES for entry in entries):
                break
            for entry in entries:
                shutil.rmtree(entry, ignore_errors=True)
            with contextlib.suppress(OSError):
                parent.rmdir()


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _unwritable(place: Path, error: OSError, lost: Sequence[str]) -> OutputError:
    state = "what was there is there still"
    if lost:
        state = f"{', '.join(lost)} could not be put back"
    return OutputError(
        place=place.as_posix(),
        rule="the output must be writable",
        found=_reason(error),
        wanted="a folder that this user can write to, on a disk with room",
        fix=f"mend that, or choose another --out; {state}",
    )


def _overwriting(folder: Path, changes: Changes) -> OutputError:
    first = folder / changes.foreign[0]
    header = _header_at(first)
    found = "a file that nobody generated"
    if header is not None:
        found = f"a file that `{header.command} generate` makes"
    if len(changes.foreign) > 1:
        found += f", and {len(changes.foreign) - 1} more: {', '.join(changes.foreign[1:])}"
    return OutputError(
        place=first.as_posix(),
        rule="only files that this project generated are overwritten",
        found=found,
        wanted="no file of this name",
        fix="move it away, or choose another --out",
    )


def diff(shown: Path, files: Mapping[str, str], changes: Changes) -> str:
    """A unified diff from what is in a folder to what would be generated."""
    parts = []
    for path in changes.all():
        current = (_read(shown, path) or b"").decode("utf-8", errors="replace")
        old = "/dev/null" if path in changes.added else f"{shown.as_posix()}/{path}"
        new = f"{shown.as_posix()}/{path} (generated)" if path in files else "/dev/null"
        lines = list(difflib.unified_diff(_lines(current), _lines(files.get(path, "")), old, new))
        # An empty file has no lines to show, nor has a byte that no text has.
        parts += lines or [f"--- {old}\n", f"+++ {new}\n"]
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in parts
    )


def _lines(text: str) -> list[str]:
    """Lines with their ends; unlike splitlines, only a line feed ends one."""
    return [line for line in re.split(r"(?<=\n)", text) if line]
