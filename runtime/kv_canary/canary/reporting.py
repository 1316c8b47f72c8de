"""What was found: noticed without waiting, then read back, explained and passed on."""

from __future__ import annotations

import itertools
import logging
import os
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

from kv_canary.canary.config import CanaryConfig
from kv_canary.canary.group import INDEX, Group
from kv_canary.canary.polling import Status, StatusReader, wait_for
from kv_canary.canary.state import DeviceState
from kv_canary.findings import (
    CanaryError,
    GroupSnapshot,
    HalfSnapshot,
    Snapshot,
    Told,
    find,
    log_line,
    write_dump,
)
from kv_canary_kernels.constants import (
    VIOLATION_COUNT_LIMIT,
    VIOLATION_FIELDS,
    RealKvHashMode,
)

if TYPE_CHECKING:
    from kv_canary.findings import Finding

LOGGER: Final = logging.getLogger("kv_canary")


class Reporter:
    """Watches the numbers of a canary, and reports each violation once.

    Args:
        config: what to do about what is found.
        state: the canary's tensors.
        real_kv: how many bytes the tail's stamps cover.
        device: where the tensors are.
        collected: takes all findings, in collect mode.
    """

    def __init__(
        self,
        config: CanaryConfig,
        state: DeviceState,
        *,
        real_kv: RealKvHashMode,
        device: torch.device,
        collected: list[Finding],
    ) -> None:
        self._config = config
        self._state = state
        self._real_kv = real_kv
        self._device = device
        self._collected = collected
        self._reader = StatusReader(state.recorder, device=device)
        self.status: Status | None = None
        """The last copy of the numbers that came back."""
        self.violations_before = 0
        """Violations that were counted before the ring was last cleared."""
        self.lost_before = 0
        """Those of them whose rows were lost."""
        self._rows_read = 0
        self._told = Told()
        self._dumps = 0
        self._last_report: float | None = None

    @property
    def asked_at(self) -> float | None:
        """When the copy under way was asked for, or None without one."""
        return self._reader.asked_at

    def refresh(self, forwards_entered: int, *, wait: bool = False) -> None:
        """Take what the last copy brought, and begin the next one.

        Args:
            forwards_entered: how many forwards the host went through.
            wait: wait for the device, and for a copy of what it has done until now.
        """
        reader = self._reader
        if wait:
            wait_for(self._device)
            reader.drop()
        else:
            self._take(wait=False)
        reader.ask(forwards_entered)
        # On the CPU it is there at once.
        self._take(wait=wait)

    def _take(self, *, wait: bool) -> None:
        taken = self._reader.take(wait=wait)
        if taken is not None:
            self.status = taken

    def report(self, *, has_graphs: bool, wait: bool) -> tuple[Finding, ...]:
        """Report the rows that the last status knows of and no report had, as the mode says.

        Args:
            has_graphs: whether forwards were captured.
            wait: report at once, whatever the interval between reports.

        Raises:
            CanaryError: in raise mode, when there are any.
        """
        if self.status is None or self.status.numbers[INDEX] <= self._rows_read:
            return ()
        now, last = time.monotonic(), self._last_report
        if not wait and last is not None and now - last < self._config.report_interval_s:
            return ()
        self._last_report = now
        wait_for(self._device)
        snapshot = self.snapshot(first_row=self._rows_read, has_graphs=has_graphs)
        lost = self._read_up_to(self._rows_read + snapshot.violation_count)
        found = self._told.take(find(snapshot), snapshot)
        news = tuple(finding for _, finding in found if not finding.repeats)
        self._log_rows(snapshot, news, lost)
        note = self._dump(snapshot) if news else ""
        match self._config.mode:
            case "raise":
                raise CanaryError(tuple(finding for _, finding in found), note)
            case "collect":
                for number, finding in found:
                    # News come in the order of their numbers, each to the end.
                    self._collected[number : number + 1] = [finding]
            case _:
                self._log(found, note)
        return news

    def _log(self, found: Sequence[tuple[int, Finding]], note: str) -> None:
        for _, finding in found:
            if not finding.repeats:
                LOGGER.error("kv_canary finding: %s", finding)
            elif finding.repeats.bit_count() == 1:
                # Seldomer and seldomer: a damaged entry fails in every forward that reads it.
                LOGGER.error("kv_canary: %s", finding.still_there())
        if note:
            LOGGER.error("kv_canary: %s", note)

    def _read_up_to(self, count: int) -> int:
        """Note that the rows up to a count are read, and return how many of them were lost."""
        recorder, capacity = self._state.recorder, self._state.sizes.ring_capacity
        self._rows_read = count
        if 2 * count < capacity:
            return 0
        # The device is waited for and all rows are read, so that the ring may begin anew: a fault
        # that fills it must not hide the next one.
        lost = max(0, count - capacity)
        self.violations_before += count
        self.lost_before += lost
        self._rows_read = 0
        recorder.flags[INDEX].zero_()
        self._reader.drop()
        if self.status is not None:
            self.status = replace(self.status, numbers={**self.status.numbers, INDEX: 0})
        return lost

    def _log_rows(self, snapshot: Snapshot, news: Sequence[Finding], lost: int) -> None:
        if self._config.mode == "log":
            rows = {violation.index for finding in news for violation in finding.violations}
            for row in sorted(rows):
                LOGGER.error("%s", log_line(snapshot.violations[row].tolist()))
        if lost:
            LOGGER.warning(
                "kv_canary: %d more violations found the ring full, and their rows are lost", lost
            )

    def _dump(self, snapshot: Snapshot) -> str:
        """Write a report's snapshot where the configuration says, and return where that is."""
        folder = self._config.dump_folder
        if folder is None or self._config.mode == "collect":
            return ""
        if self._dumps >= self._config.max_dumps:
            return ""
        numbers = itertools.count(self._dumps)
        paths = (Path(folder) / f"kv-canary-{os.getpid()}-{number}.pt" for number in numbers)
        # Another canary of this process, or one of an earlier process, may write there too.
        path = next(each for each in paths if not each.exists())
        self._dumps += 1
        try:
            write_dump(snapshot, path)
        except OSError as error:
            # A full disk must not hide what was found.
            return f"the dump could not be written: {error}"
        text = f"a dump is in {path}; `kv-canary diagnose {path}` explains it again"
        if self._dumps == self._config.max_dumps:
            text += f"; it is the last, max_dumps is {self._config.max_dumps}"
        return text

    def snapshot(self, *, first_row: int, has_graphs: bool) -> Snapshot:
        """Return everything on the CPU; the device must have been waited for.

        Args:
            first_row: first row of the ring to be in it.
            has_graphs: whether forwards were captured.
        """
        state = self._state
        recorder = state.recorder
        count = min(max(0, int(recorder.flags[INDEX])), VIOLATION_COUNT_LIMIT)
        rows = slice(first_row, max(first_row, min(count, state.sizes.ring_capacity)))
        violations = on_cpu(recorder.ring[rows])
        evidence = (
            # As where nothing is known of a verified entry.
            torch.full((len(violations), VIOLATION_FIELDS), -1, dtype=torch.int64, device="cpu")
            if recorder.evidence is None
            else on_cpu(recorder.evidence[rows])
        )
        table = on_cpu(state.req_to_token)
        tokens, known = (None, None) if state.tokens is None else state.tokens.settled(table)
        return Snapshot(
            hash_format=self._config.hash_format,
            real_kv_mode=self._real_kv.name.lower(),
            req_to_token=table,
            groups=tuple(_group_snapshot(group) for group in state.groups),
            violations=violations,
            evidence=evidence,
            violation_count=max(0, count - first_row),
            steps=state.history.steps(int(state.forward_number), has_graphs=has_graphs),
            verify_wanted={
                group.name: int(recorder.counters[f"{group.name}.wanted"]) for group in state.groups
            },
            verify_checked={
                group.name: int(recorder.flags[f"{group.name}.checked"]) for group in state.groups
            },
            expected_tokens=tokens,
            expected_valid=known,
        )


def on_cpu(tensor: Tensor) -> Tensor:
    """Return a copy on the CPU, which does not change when the tensor does."""
    return tensor.to("cpu", copy=True)


def _group_snapshot(group: Group) -> GroupSnapshot:
    return GroupSnapshot(
        name=group.name,
        num_slots=group.sizes.num_slots,
        window_size=group.sizes.window_size,
        mapping=None if group.mapping is None else on_cpu(group.mapping),
        halves=tuple(
            HalfSnapshot(
                half=half.half,
                head=on_cpu(half.head).view(torch.int64),
                tail=on_cpu(half.tail).view(torch.int64),
            )
            for half in group.halves
        ),
        page_sizes=tuple(source.page_size for half in group.halves for source in half.sources),
    )
