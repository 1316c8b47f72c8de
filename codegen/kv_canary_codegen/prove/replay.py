"""Launching a kernel under Triton's interpreter where an access outside a tensor is noticed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kv_canary_codegen.model import Kernel, Spec

SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenTensor:
    """A tensor argument with its contents."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None = None
    fill: int = 0
    contents: tuple[tuple[int, int], ...] = ()
    """Place in its memory, in elements, and the value there; all else is `fill`."""
    reached: str = ""
    """The dtype of the elements that contents are counted in, where it is another."""
    watched: bool = True
    """Whether an access beside it faults."""
    kind: str = "tensor"


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenNumber:
    """A scalar argument, or an optional tensor that is left out."""

    path: str
    value: int | str | bool | None
    enum: str = ""
    kind: str = "number"


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenStruct:
    """A struct argument, whose fields stand by themselves.

    The path of a list of structs ends in `[]`, that of its first one in `[0]`.
    """

    path: str
    struct: str
    kind: str = "struct"


Given = GivenTensor | GivenNumber | GivenStruct
Call = tuple[Given, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """How a run of trials ended."""

    faulted: int | None
    """The trial that touched memory outside its tensors."""
    line: int | None
    """The line of the kernel's file in which it did."""
    file: str
    refused: int
    """Trials that did not pass validation."""
    failed: str
    """What went wrong otherwise; empty if nothing did."""


def call_of(entries: Sequence[Mapping[str, Any]]) -> Call:
    """A call from what `asdict` made of it and JSON kept."""
    kinds: dict[str, type[GivenTensor | GivenNumber | GivenStruct]] = {
        "tensor": GivenTensor, "number": GivenNumber, "struct": GivenStruct,
    }  # fmt: skip
    found: list[Given] = []
    for entry in entries:
        fields = dict(entry)
        for name in ("shape", "strides"):
            if fields.get(name) is not None:
                fields[name] = tuple(fields[name])
        if "contents" in fields:
            fields["contents"] = tuple((place, value) for place, value in fields["contents"])
        found.append(kinds[fields["kind"]](**fields))
    return tuple(found)


def watching(call: Call, paths: Sequence[str]) -> Call:
    """The same call, with unmapped memory beside these tensors alone."""
    return tuple(
        replace(given, watched=given.path in paths) if isinstance(given, GivenTensor) else given
        for given in call
    )


def replayed(spec: Spec, kernel: Kernel, output: Path, calls: Sequence[Call]) -> Replay:
    """Launch calls one after the other, until one faults.

    Args:
        spec: Whose package is launched.
        kernel: Whose launcher is called.
        output: Folder that holds the generated package.
        calls: Each with every argument of the launcher.
    """
    request = {
        "paths": [str(output.resolve())],
        "package": spec.project.package,
        "launcher": [f"{spec.project.package}.launchers.{kernel.stem}", kernel.launcher],
        "trials": [[asdict(given) for given in call] for call in calls],
    }
    environment = {
        **os.environ,
        "TRITON_INTERPRET": "1",
        f"{spec.project.environment_prefix}_BACKEND": "triton",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }
    program = Path(__file__).with_name("guarded_calls.py")
    try:
        result = subprocess.run(
            [sys.executable, "-W", "ignore", str(program)],
            input=json.dumps(request),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Replay(faulted=None, line=None, file="", refused=0, failed="it took too long")
    lines = result.stdout.split("\n")
    trials = [line for line in lines if line.startswith("trial ")]
    refused = sum(line.startswith("refused ") for line in lines)
    last = int(trials[-1].partition(" ")[2]) if trials else None
    if result.returncode in (-signal.SIGSEGV, -signal.SIGBUS):
        place = re.search(
            rf'File "(.*)", line (\d+) in _{kernel.stem}_kernel', result.stderr
        ) or re.search(r'File "([^"]*kernels[^"]*)", line (\d+) in ', result.stderr)
        return Replay(
            faulted=last,
            line=int(place[2]) if place else None,
            file=place[1] if place else "",
            refused=refused,
            failed="",
        )
    failed = "" if result.returncode == 0 else result.stderr.strip()[-2000:]
    return Replay(faulted=None, line=None, file="", refused=refused, failed=failed)
