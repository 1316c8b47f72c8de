"""Mistakes that a user of the command line or of a replay can make or meet; none needs torch."""

from __future__ import annotations


class UsageError(Exception):
    """A flag, a file or a setting is wrong; the text says where, which rule, and what to do.

    Args:
        place: flag, or file and line, that is wrong.
        rule: what must hold there.
        found: what stands there instead, as the user would write it.
        wanted: what would be right.
        fix: a command or an edit that mends it.
    """

    def __init__(self, *, place: str, rule: str, found: str, wanted: str, fix: str) -> None:
        self.place = place
        self.rule = rule
        self.found = found
        self.wanted = wanted
        self.fix = fix
        super().__init__(f"{place}: {rule}\n  found:  {found}\n  wanted: {wanted}\n  fix:    {fix}")


class GeneratedCodeMissingError(ImportError):
    """The package that `kv-canary generate` writes is not there, or not whole.

    Args:
        name: the public name that was asked for.
        module: the module that could not be found.
    """

    def __init__(self, *, name: str, module: str) -> None:
        super().__init__(
            f"kv_canary.{name} is generated code, and {module} cannot be found; "
            "run `python -m kv_canary generate` in the repository",
            name=module,
        )


class PlanMismatchError(Exception):
    """A plan differs from the pool's own bookkeeping: one of the tables or the plan is wrong.

    Args:
        step: number of the step, from 0.
        group: `full` or `window`: the pool that the plan is for.
        field: plan field and index in it.
        request: number of the request in the trace, from 0, or None where no single one is meant.
        row: the request's row of req_to_token, or None.
        position: token position in the request, or None.
        found: what the plan says.
        wanted: what the bookkeeping says.
    """

    def __init__(
        self,
        *,
        step: int,
        group: str,
        field: str,
        request: int | None,
        row: int | None,
        position: int | None,
        found: int,
        wanted: int,
    ) -> None:
        self.step = step
        self.group = group
        self.field = field
        self.request = request
        self.row = row
        self.position = position
        self.found = found
        self.wanted = wanted
        whose = "the whole batch" if request is None else f"request {request} (row {row})"
        where = "" if position is None else f", position {position}"
        super().__init__(
            f"step {step}, {group} pool, {field}: {whose}{where}: found {found}, wanted {wanted}"
        )


class BenchmarkMismatchError(Exception):
    """A timed launch left behind what the oracle says is wrong, so that its time means nothing.

    Args:
        case: what the step looked like.
        kernel: what was launched.
        what: what differs.
    """

    def __init__(self, *, case: str, kernel: str, what: str) -> None:
        self.case = case
        self.kernel = kernel
        self.what = what
        super().__init__(
            f"bench: a timed result must be right\n  found:  {case}, {kernel}: {what}\n"
            "  wanted: what the torch reference gives for the same inputs\n"
            "  fix:    do not trust this kernel on this card; report it with this message"
        )
