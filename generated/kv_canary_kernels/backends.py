# Generated from spec/project.yaml by `kv-canary generate`; do not edit.
# Template: backends.py.jinja.
"""Where a launch runs: Triton on a GPU or under its interpreter, or the torch reference."""

from __future__ import annotations

import bisect
import functools
import importlib
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from kv_canary_kernels.contract import MESSAGE_PREFIX, BrokenRule, ContractError

BACKENDS = ("torch", "triton")
BACKEND_VARIABLE = "KV_CANARY_BACKEND"
GPU_DEVICES = ("cuda", "xpu")
"""Device types that Triton compiles for; ROCm calls itself cuda."""


class Launch(Protocol):
    """A launch bound to its arguments."""

    def __call__(self) -> None:
        """Run it once."""


def choose_backend(device: torch.device, kernel: str) -> str:
    """The backend for tensors on a device: torch on the CPU, triton on a GPU, unless overridden.

    Args:
        device: Where the tensors of the launch are.
        kernel: Stem of the kernel, for errors.

    Raises:
        ContractError: The override is no backend, or no backend runs there.
    """
    chosen = os.environ.get(BACKEND_VARIABLE) or None
    if chosen is not None and chosen not in BACKENDS:
        raise _refusal(
            kernel,
            "backend.name",
            f"{BACKEND_VARIABLE} must be one of torch, triton, got {chosen!r}",
            actual=chosen,
            expected="torch or triton, or unset",
        )
    if device.type not in ("cpu", *GPU_DEVICES):
        raise _refusal(
            kernel,
            "backend.device",
            f"no backend runs on {device.type} tensors; "
            "put them on the CPU or on a GPU that Triton supports",
            actual=str(device),
            expected="cpu, " + ", ".join(GPU_DEVICES),
            argument="the tensors' device",
        )
    if chosen is None:
        return "torch" if device.type == "cpu" else "triton"
    if chosen == "triton" and device.type == "cpu" and not _interpreted():
        raise _needs_gpu(kernel)
    return chosen


def _needs_gpu(kernel: str) -> ContractError:
    return _refusal(
        kernel,
        "backend.triton_needs_gpu",
        f"the triton backend needs GPU tensors, got cpu; move them to a GPU, "
        f"unset {BACKEND_VARIABLE}, or set TRITON_INTERPRET=1 before the first launch",
        actual="cpu",
        expected="GPU tensors, or the interpreter chosen before triton is imported",
    )


def _interpreted() -> bool:
    return os.environ.get("TRITON_INTERPRET") == "1"


def _refusal(
    kernel: str,
    rule_id: str,
    message: str,
    *,
    actual: str,
    expected: str,
    argument: str = BACKEND_VARIABLE,
) -> ContractError:
    return ContractError(
        [
            BrokenRule(
                rule_id=rule_id,
                kernel=kernel,
                argument=argument,
                message=MESSAGE_PREFIX + message,
                actual=actual,
                expected=expected,
            )
        ]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceLaunch:
    """A launch of the torch reference."""

    reference: str
    """module:function."""
    arguments: dict[str, Any]
    """The launcher's keywords."""

    def __call__(self) -> None:
        """Run the reference once."""
        # Tensors made in inference mode may be written nowhere else.
        with torch.inference_mode():
            reference_of(self.reference)(**self.arguments)


def reference_launch(reference: str, **arguments: Any) -> ReferenceLaunch:
    """Bind the reference `module:function` to a launcher's keywords."""
    return ReferenceLaunch(reference=reference, arguments=arguments)


@functools.cache
def reference_of(path: str) -> Callable[..., None]:
    """The reference that a spec names, imported when it is first run.

    Raises:
        ContractError: There is no such module or function.
    """
    module, _, function = path.partition(":")
    try:
        found: Callable[..., None] = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise _missing(path, f"there is no module {error.name}") from error
    except AttributeError as error:
        raise _missing(path, f"module {module} has no {function}") from error
    return found


def _missing(path: str, why: str) -> ContractError:
    return _refusal(
        path,
        "backend.reference",
        f"the torch backend needs the reference {path}: {why}; "
        "install the package that has it, or use the triton backend",
        actual=why,
        expected=path,
    )


def require_triton(kernel: str) -> None:
    """Raise ContractError where Triton cannot be imported; called before a kernel's module is.

    Args:
        kernel: Stem of the kernel, for errors.
    """
    try:
        importlib.import_module("triton")
    except ImportError as error:
        raise _refusal(
            kernel,
            "backend.triton_missing",
            f"the triton backend needs Triton, which cannot be imported: {error}; "
            f"install triton, or unset {BACKEND_VARIABLE}",
            actual=str(error),
            expected="triton",
        ) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class TritonLaunch:
    """A launch of a Triton kernel on its tensors' device and that device's current stream."""

    kernel: Any
    stem: str
    variant: tuple[int, ...]
    """Presence of each optional tensor, then what is compiled in."""
    grid: tuple[int, ...]
    arguments: tuple[Any, ...]
    """In the order of the kernel's parameters; None for an optional tensor that is absent."""
    constants: dict[str, int]
    """What is compiled in."""
    num_warps: int
    device: torch.device

    def __call__(self) -> None:
        """Launch once; an empty grid launches nothing.

        Raises:
            ContractError: The kernel is not loaded, and the stream is capturing a graph.
        """
        if 0 in self.grid:
            return
        with on_device(self.device):
            loaded = (self.stem, self.device, self.variant)
            if loaded not in _loaded:
                self._first_launch()
            self.kernel[self.grid](
                *self.arguments,
                **self.constants,
                num_warps=self.num_warps,
                # Said, because Triton 3.9 warns where nobody says.
                enable_fp_fusion=True,
            )
            _loaded.add(loaded)

    def _first_launch(self) -> None:
        if self.device.type != "cpu":
            _refuse_capture(self.stem, self.device)
        elif type(self.kernel).__name__ != "InterpretedFunction":
            # Triton was imported before the interpreter was chosen.
            raise _needs_gpu(self.stem)


def class_of(up_to: tuple[int, ...], size: int) -> int:
    """The first class that a size fits in, else the last."""
    return min(bisect.bisect_left(up_to, size), len(up_to) - 1)


def alignment_of(*tensors: torch.Tensor) -> int:
    """16 where all tensors begin at a multiple of 16 bytes, else 8."""
    return 8 if any(tensor.data_ptr() % 16 for tensor in tensors) else 16


def as_elements(tensor: torch.Tensor | None, dtype: torch.dtype) -> Any:
    """A tensor as a kernel reaches it, in elements of another type; None stays None."""
    if tensor is None:
        return None
    import triton

    return triton.reinterpret(tensor, dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSequence:
    """Launches that follow each other on one stream."""

    launches: tuple[Launch, ...]

    def __call__(self) -> None:
        """Run them once, in order."""
        for launch in self.launches:
            launch()


_loaded: set[tuple[str, torch.device, tuple[int, ...]]] = set()
"""Kernels that are compiled and on their device: stem, device, variant."""


def _refuse_capture(stem: str, device: torch.device) -> None:
    """Loading a kernel inside a capture breaks it, with an error that names nothing."""
    capturing = getattr(torch.get_device_module(device), "is_current_stream_capturing", None)
    if capturing is not None and capturing():
        raise _refusal(
            stem,
            "backend.cold_kernel",
            f"the {stem} kernel is not loaded on {device} and this stream is capturing a graph; "
            "call warm_up before the capture",
            actual=f"a first launch on {device} during capture",
            expected="a kernel that warm_up or an earlier launch has loaded",
            argument="the stream",
        )


def warm_up_kernel(
    *,
    kernel: Any,
    stem: str,
    device: torch.device | str,
    pointers: tuple[tuple[torch.dtype, bool | None], ...],
    presences: tuple[str, ...],
    integers: int,
    variants: tuple[tuple[dict[str, int], int], ...],
    only: Mapping[str, int] | None = None,
) -> int:
    """Compile a kernel's variants and load them on a device, launching nothing.

    Args:
        kernel: The Triton kernel.
        stem: Its stem.
        device: A GPU; on the CPU there is nothing to compile.
        pointers: Element type of each tensor, and whether it is given; None for both ways.
        presences: What of the last of them, the optional ones, may be given together.
        integers: How many integers follow them.
        variants: Values to compile in, by name, and the warps that go with them.
        only: Values that are wanted, by name; None or a name left out: all.

    Returns:
        How many variants are loaded now.
    """
    place = _usable(device, stem)
    if place.type == "cpu" or _interpreted():
        return 0
    if place.index is None:
        place = torch.device(place.type, torch.get_device_module(place).current_device())
    chosen = dict(only or {})
    wanted = [v for v in variants if all(v[0].get(k) == value for k, value in chosen.items())]
    if not wanted:
        raise _refusal(
            stem,
            "backend.variant",
            f"no variant of the {stem} kernel has {chosen}",
            actual=str(chosen),
            expected="values of " + ", ".join(variants[0][0]),
            argument="only",
        )
    optional = len(presences[0])
    required, asked = pointers[: len(pointers) - optional], pointers[len(pointers) - optional :]
    count = 0
    with on_device(place):
        for presence in presences:
            given = tuple(sign == "+" for sign in presence)
            if any(
                want is not None and want is not there
                for (_, want), there in zip(asked, given, strict=True)
            ):
                continue
            tensors = [dtype for dtype, _ in required] + [
                dtype if there else None for (dtype, _), there in zip(asked, given, strict=True)
            ]
            for constants, num_warps in wanted:
                compiled = kernel.warmup(
                    *tensors,
                    *[1] * integers,
                    **constants,
                    grid=(1,),
                    num_warps=num_warps,
                    enable_fp_fusion=True,
                )
                compiled._init_handles()
                variant = tuple(int(there) for there in given)
                _loaded.add((stem, place, (*variant, *constants.values())))
                count += 1
    return count


def _usable(device: torch.device | str, stem: str) -> torch.device:
    """A device that kernels can be loaded on, or the CPU."""
    try:
        place = torch.device(device)
        known = place.type in ("cpu", *GPU_DEVICES)
        if known and (place.type == "cpu" or torch.get_device_module(place).is_available()):
            return place
        found = f"{place}" if not known else f"{place}, and torch sees no such device"
    except (RuntimeError, TypeError):
        found = repr(device)
    raise _refusal(
        stem,
        "backend.device",
        f"kernels are loaded on the GPU that will run them, got {found}; "
        "pass a device that torch can use",
        actual=found,
        expected="cpu, " + ", ".join(GPU_DEVICES),
        argument="device",
    )


def on_device(device: torch.device) -> AbstractContextManager[Any]:
    """Make a device current: Triton launches on the current one, whatever its tensors are on."""
    if device.type == "cpu":
        return nullcontext()
    module = torch.get_device_module(device)
    if device.index is None or module.current_device() == device.index:
        return nullcontext()
    context: AbstractContextManager[Any] = module.device(device.index)
    return context
