"""Which compilation a launch takes, in words: what was given, and what was compiled in."""

from __future__ import annotations

from kv_canary.bench.steps import Step
from kv_canary_kernels.backends import Launch, LaunchSequence, TritonLaunch


def variant_of(kernel: str, step: Step) -> str:
    """Return the variants of the kernels that a launcher would run; nothing is launched.

    Args:
        kernel: plan, verify or write.
        step: what it would run on.
    """
    from kv_canary_kernels.launchers.plan import prepare_plan
    from kv_canary_kernels.launchers.verify import prepare_verify
    from kv_canary_kernels.launchers.write import prepare_write

    if kernel == "plan":
        return described(prepare_plan(**step.plan_arguments()))
    if kernel == "verify":
        return described(prepare_verify(**step.verify_arguments()))
    return described(prepare_write(**step.write_arguments()))


def described(launch: Launch) -> str:
    """Return the variant of a bound launch, of each kernel in it.

    Args:
        launch: what a launcher's `prepare` gives.
    """
    if isinstance(launch, LaunchSequence):
        return "; ".join(described(each) for each in launch.launches)
    if isinstance(launch, TritonLaunch):
        given = launch.variant[: len(launch.variant) - len(launch.constants)]
        signs = "".join("+" if each else "-" for each in given)
        words = [launch.stem, *([signs] if signs else [])]
        words += [f"{name}={value}" for name, value in launch.constants.items()]
        return " ".join([*words, f"warps={launch.num_warps}"])
    return "torch reference"
