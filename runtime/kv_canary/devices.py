"""Whether the device that a command is told to run on is there."""

from __future__ import annotations

from kv_canary.errors import UsageError


def check_device(name: str, *, fix: str) -> str:
    """Return the type of a device, such as cpu, after a look at whether this machine has it.

    Args:
        name: what the flag `--device` says.
        fix: what to do without the device, as the command has it.

    Raises:
        UsageError: torch knows no such name, or the device is not there.
    """
    # Late, so that a command's help and its other mistakes need no torch.
    import torch

    def missing(wanted: str, fix: str) -> UsageError:
        return UsageError(
            place="--device", rule="the device must be there", found=name, wanted=wanted, fix=fix
        )

    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UsageError(
            place="--device",
            rule="a device must have a name that torch knows",
            found=name,
            wanted="cpu or cuda",
            fix="--device cpu",
        ) from error
    if device.type == "cpu":
        return device.type
    present = torch.accelerator.current_accelerator(check_available=True)
    if present is None or present.type != device.type:
        raise missing("a device of this machine", fix)
    count = torch.accelerator.device_count()
    if device.index is not None and device.index >= count:
        raise missing(f"an index below {count}", f"--device {device.type}:0")
    return device.type
