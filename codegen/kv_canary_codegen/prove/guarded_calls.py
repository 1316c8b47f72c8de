"""A program of its own: launch a kernel on tensors with unmapped memory on both sides of each.

Reads a request from standard input, one JSON object: `paths`, `package`, `launcher` (module,
function), `trials`: lists of arguments. An argument of kind tensor has `path`, `dtype`, `shape`,
`strides` (or null), `fill`, `contents` (pairs of place and value, in elements of its memory, of the
dtype `reached` where that is given) and `watched`, whether memory beside it is unmapped. One of
kind number has `path` and `value`, or `enum` as well; one of kind struct `path` and `struct`. The
path of a list of structs ends in `[]`, those of what it holds in `[0]`, `[1]`, ... A trial is run
twice, each tensor's last byte at the end of its memory, then its first byte at the start. Before
each run its number is printed. An access outside kills this process.
"""

from __future__ import annotations

import ctypes
import faulthandler
import importlib
import json
import mmap
import re
import sys
from typing import Any

GUARD = 1 << 33
"""Bytes on each side, reserved and never mapped: an index that is far off lands there too."""
SLACK = 1 << 20
"""Bytes on each side of a tensor that is not watched: what leaves it by little goes unnoticed."""
_MAP_NORESERVE = 0x4000


def main() -> None:
    """Run every trial of one request; say after each how it ended."""
    request = json.load(sys.stdin)
    sys.path[:0] = request["paths"]
    faulthandler.enable(all_threads=False)
    module, function = request["launcher"]
    launch = getattr(importlib.import_module(module), function)
    for number, trial in enumerate(request["trials"]):
        for at_end in (True, False):
            print(f"trial {number}", flush=True)
            memory = Memory(at_end)
            try:
                launch(**arguments_of(trial, request["package"], memory))
            except ValueError as error:
                # A rule of the contract: this call is none that passes validation.
                print(f"refused {type(error).__name__}: {error}", flush=True)
            finally:
                memory.release()
    print("done", flush=True)


class Memory:
    """Tensors between unmapped pages."""

    def __init__(self, at_end: bool) -> None:
        self._at_end = at_end
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.mmap.restype = ctypes.c_void_p
        self._libc.mmap.argtypes = [
            ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
            ctypes.c_long,
        ]  # fmt: skip
        self._libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        self._libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        self._held: list[tuple[int, int]] = []

    def tensor(self, description: dict[str, Any]) -> Any:
        """A tensor as described."""
        import torch

        dtype = getattr(torch, description["dtype"])
        shape, strides = description["shape"], description["strides"]
        itemsize = torch.empty((), dtype=dtype).element_size()
        count = 1
        for extent in shape:
            count *= extent
        if count == 0:
            return torch.empty(shape, dtype=dtype)
        if strides is not None:
            count = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        flat = self._flat(count, itemsize, dtype, SLACK * (not description["watched"]))
        fill = description["fill"]
        if fill:
            flat.fill_(fill)
        places = flat
        if description.get("reached"):
            wide = getattr(torch, description["reached"])
            size = torch.empty((), dtype=wide).element_size()
            bytes_of = flat.view(torch.uint8)
            places = bytes_of[: len(bytes_of) // size * size].view(wide)
        for place, value in description["contents"]:
            if 0 <= place < len(places):
                places[place] = value
        return flat.view(shape) if strides is None else flat.as_strided(shape, strides)

    def _flat(self, count: int, itemsize: int, dtype: Any, slack: int) -> Any:
        import torch

        size = count * itemsize
        pages = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        whole = pages + 2 * GUARD
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
        start = self._libc.mmap(None, whole, 0, flags, -1, 0)
        if start in (None, ctypes.c_void_p(-1).value):
            raise MemoryError(f"cannot reserve {whole} bytes")
        self._held.append((start, whole))
        first = start + GUARD
        allowed = mmap.PROT_READ | mmap.PROT_WRITE
        if self._libc.mprotect(first - slack, pages + 2 * slack, allowed):
            raise MemoryError(f"cannot map {pages} bytes")
        address = first + pages - size if self._at_end else first
        buffer = (ctypes.c_uint8 * size).from_address(address)
        return torch.frombuffer(buffer, dtype=dtype)

    def release(self) -> None:
        """Give all of it back."""
        for start, whole in self._held:
            self._libc.munmap(start, whole)
        self._held.clear()


_ITEM = re.compile(r"(?:(?P<owner>\w+)\.)?(?P<list>\w+)\[(?P<number>\d*)\](?:\.(?P<field>\w+))?")


def arguments_of(trial: list[dict[str, Any]], package: str, memory: Memory) -> dict[str, Any]:
    """The launcher's keywords."""
    constants = importlib.import_module(f"{package}.constants")
    fields: dict[str, dict[str, Any]] = {}
    structs: dict[str, str] = {}
    lists: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    kinds: dict[tuple[str, str], str] = {}
    for item in trial:
        within = _ITEM.fullmatch(item["path"])
        owner, _, name = item["path"].partition(".")
        if item["kind"] == "struct":
            if within is not None:
                key = (within["owner"] or "", within["list"])
                kinds[key] = item["struct"]
                items = lists.setdefault(key, {})
                if within["number"]:
                    items.setdefault(within["number"], {})
                continue
            structs[owner] = item["struct"]
            fields.setdefault(owner, {})
            continue
        if item["kind"] == "tensor":
            value = memory.tensor(item)
        elif item.get("enum"):
            members = {member.value: member for member in getattr(constants, item["enum"])}
            value = members.get(item["value"], item["value"])
        else:
            value = item["value"]
        if within is not None:
            key = (within["owner"] or "", within["list"])
            lists[key][within["number"]][within["field"]] = value
            continue
        fields.setdefault(owner, {})[name] = value

    def made(struct: str, values: dict[str, Any]) -> Any:
        return getattr(importlib.import_module(f"{package}.structs"), struct)(**values)

    for (owner, name), items in lists.items():
        whole = [made(kinds[owner, name], items[number]) for number in sorted(items, key=int)]
        fields.setdefault(owner or name, {})[name if owner else ""] = whole
    return {
        owner: made(structs[owner], values) if owner in structs else values[""]
        for owner, values in fields.items()
    }


if __name__ == "__main__":
    main()
