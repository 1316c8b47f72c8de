"""What a run of the benchmark found: values alone, without torch, to be shown on any machine.

Times are medians in microseconds. A share is told against what the copying kernel moved on the same
card in the same run, never against a figure from a data sheet.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

SCHEMA = 1
"""Number of the JSON's layout; it grows when a field changes its meaning or goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Where a run was made."""

    card: str
    """Name of the GPU, or of the host's processor where there was none."""
    torch: str
    """Version of torch."""
    triton: str
    """Version of Triton, or "none"."""
    python: str
    """Version of Python."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardsticks:
    """What the card does at best, measured in the same run."""

    copy_bytes_per_us: float
    """Bytes that a copying kernel reads and writes in a microsecond, far beyond the cache."""
    gather_rows: int
    """Rows of the gather."""
    gather_us: float
    """Gathering that many rows of 32 bytes, each from a place of its own, over and over."""
    gather_swept_us: float
    """The same, with every line of the L2 cache replaced before each."""
    empty_us: float
    """An empty kernel, among others in a graph."""
    empty_host_us: float
    """Host time of launching one, by Triton's own launcher."""

    @property
    def gather_bytes_per_us(self) -> float:
        """Bytes that the gather moved in a microsecond, over a swept cache: 80 a row.

        They are counted as a launch's are: 64 are fetched, and an index and a result have 8 each.
        """
        return (64 + 16) * self.gather_rows / self.gather_swept_us


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelResult:
    """One public launcher on one case."""

    case: str
    """What the step looks like."""
    kernel: str
    """Stem: plan, verify or write."""
    hash_format: str
    """serial or parallel."""
    variant: str
    """What was compiled in, of every kernel that the launcher ran."""
    warm_us: float
    """On the device, one launch after the other in a graph, over a few sets of buffers in turn."""
    swept_us: float
    """The same, with every line of the L2 cache replaced before each launch."""
    host_us: float
    """What an eager call keeps the host, its checks included."""
    bytes_moved: int
    """Bytes that a launch must read and write; of a scattered canary, the 64 that are fetched."""
    checked: bool
    """Whether what the timed launches left behind was compared with the oracle."""

    def share_of_copy(self, yardsticks: Yardsticks) -> float:
        """Return the bandwidth, over a swept cache, as a share of the copying kernel's."""
        return self.bytes_moved / self.swept_us / yardsticks.copy_bytes_per_us


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """A captured forward with a canary, beside the same one without."""

    case: str
    """Requests and cached tokens."""
    groups: str
    """Pools that are stamped: full, or full and window."""
    page: int
    """Slots that lie together; 1 scatters every slot."""
    real_kv: str
    """How much of the bytes is covered: none, partial or all."""
    plain_us: float
    """The step without a canary, on the device, the L2 swept before each."""
    us: float
    """The step with one."""
    plain_host_us: float
    """Host time of the eager step without a canary."""
    host_us: float
    """Host time of the eager step with one."""
    step_ms: int
    """Length of a decode step that the share is told of."""
    checked: bool
    """Whether the canary said that it ran, checked every entry, and found nothing."""

    @property
    def added_us(self) -> float:
        """What the canary adds on the device."""
        return self.us - self.plain_us

    @property
    def added_host_us(self) -> float:
        """What the canary adds on the host where no graph is captured."""
        return self.host_us - self.plain_host_us

    @property
    def share_of_step(self) -> float:
        """What it adds, as a share of a decode step of the given length."""
        return self.added_us / (1000 * self.step_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """One kernel on one batch, at two capacities side by side."""

    kernel: str
    """Stem: plan, verify or write."""
    bs: int
    """Requests."""
    prefix: int
    """Cached tokens of each."""
    spare: int
    """How many times the larger capacity exceeds what is active."""
    tight_us: float
    """On the device, where every capacity is what is active."""
    spare_us: float
    """The same batch, where plans, tables and inputs have room for `spare` times as much."""
    checked: bool
    """Whether both were compared with the oracle."""

    @property
    def growth(self) -> float:
        """Time at the larger capacity over that at the smaller; 1 is what is promised."""
        return self.spare_us / self.tight_us


@dataclass(frozen=True, slots=True, kw_only=True)
class HostResult:
    """What something takes on the host."""

    figure: str
    """What was timed."""
    value: float
    """How long."""
    unit: str
    """us, ms or s."""
    over_bare: float | None = None
    """Over the bare attribute reads that it contains, where there are such."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A case that this card could not hold."""

    case: str
    """Which."""
    why: str
    """What stood in its way."""


Result = Yardsticks | KernelResult | StepResult | SweepResult | HostResult | LeftOut


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A whole run."""

    machine: Machine
    results: tuple[Result, ...]
    """In the order of measuring."""

    @property
    def yardsticks(self) -> Yardsticks | None:
        """What the card does at best, where it was asked."""
        found = [each for each in self.results if isinstance(each, Yardsticks)]
        return found[0] if found else None

    @property
    def kernels(self) -> tuple[KernelResult, ...]:
        """Kernels, one a case and format."""
        return tuple(each for each in self.results if isinstance(each, KernelResult))

    @property
    def steps(self) -> tuple[StepResult, ...]:
        """Whole steps."""
        return tuple(each for each in self.results if isinstance(each, StepResult))

    @property
    def sweep(self) -> tuple[SweepResult, ...]:
        """Kernels over batch and prefix, at two capacities."""
        return tuple(each for each in self.results if isinstance(each, SweepResult))

    @property
    def host(self) -> tuple[HostResult, ...]:
        """What runs on the host alone."""
        return tuple(each for each in self.results if isinstance(each, HostResult))

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Cases that the card could not hold."""
        return tuple(each for each in self.results if isinstance(each, LeftOut))


def to_json(report: Report) -> str:
    """Return a run as one JSON object: its fields by name, and beside them what follows from them.

    Args:
        report: the run.
    """
    yardsticks = report.yardsticks
    kernels = [
        asdict(each)
        | {"share_of_copy": None if yardsticks is None else each.share_of_copy(yardsticks)}
        for each in report.kernels
    ]
    steps = [
        asdict(each)
        | {
            "added_us": each.added_us,
            "added_host_us": each.added_host_us,
            "share_of_step": each.share_of_step,
        }
        for each in report.steps
    ]
    return json.dumps(
        {
            "schema": SCHEMA,
            **asdict(report.machine),
            "yardsticks": None if yardsticks is None else asdict(yardsticks),
            "kernels": kernels,
            "steps": steps,
            "sweep": [asdict(each) | {"growth": each.growth} for each in report.sweep],
            "host": [asdict(each) for each in report.host],
            "left_out": [asdict(each) for each in report.left_out],
        },
        indent=2,
    )
