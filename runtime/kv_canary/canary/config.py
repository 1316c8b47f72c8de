"""What an engine says about its canary before it is made."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from torch import Tensor

from kv_canary.canary.refusals import refusal
from kv_canary.flags import did_you_mean
from kv_canary_kernels.contract import ContractError
from kv_canary_kernels.structs import RealKvSource

Mode = Literal["off", "log", "raise", "collect"]
RealKv = Literal["none", "partial", "all"]
HashFormat = Literal["serial", "parallel"]
Half = Literal["K", "V"]

MODES: Final[tuple[Mode, ...]] = ("off", "log", "raise", "collect")
REAL_KV: Final[tuple[RealKv, ...]] = ("none", "partial", "all")
HASH_FORMATS: Final[tuple[HashFormat, ...]] = ("serial", "parallel")
HALVES: Final[tuple[Half, ...]] = ("K", "V")


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryConfig:
    """What the canary does, and what it does about what it finds.

    Raises:
        ContractError: a field has a value that it cannot have.
    """

    mode: Mode = "log"
    """off: nothing at all. log: findings go to the logger `kv_canary`. raise: poll raises a
    CanaryError. collect: poll gives them back, and Canary.findings keeps them. A fault that is
    found again is no new finding: log mode says in a line that it is still there, after 1, 2, 4, 8
    and so on reports; raise mode raises it again, with its count of repeats; and Canary.findings
    counts them."""
    real_kv: RealKv | None = None
    """How many bytes of each source the tail's stamp covers: none, the first 16 of a token
    (partial), or all; None means partial where there is a source, and none where there is not."""
    hash_format: HashFormat = "parallel"
    """serial: SGLang's, to the byte. parallel: a long prefill is no serial walk."""
    token_check: bool = True
    """Whether cached tokens are compared with those that their row was seen to write. Token ids
    outside int32 can not be kept; an engine that has such must switch this off."""
    bracket: bool = False
    """Whether the tail is verified on entry too: what is reported twice in one step was damaged
    before that forward, and what is reported once during it."""
    evidence: bool = True
    """Whether each violation keeps what it was judged by, and its step."""
    history: int = 8
    """Forwards whose batches are kept for findings; 0 or more."""
    halves: tuple[Half, ...] = HALVES
    """Which of K and V are stamped: ("K",) for an engine with one latent cache."""
    dump_folder: str | os.PathLike[str] | None = None
    """Where log and raise mode write a dump of each report of something new, for `kv-canary
    diagnose`."""
    max_dumps: int = 16
    """Dumps that one canary writes there at most; 0 or more."""
    report_interval_s: float = 0.0
    """Least time between two reports of poll, in seconds, of what is new and of what is still
    there. A report reads the stamps back, which takes a while; what is found meanwhile waits in the
    ring."""

    def __post_init__(self) -> None:
        """Raise ContractError unless every field has a value that it can have."""
        _one_of("mode", self.mode, MODES)
        if self.real_kv is not None:
            _one_of("real_kv", self.real_kv, REAL_KV)
        _one_of("hash_format", self.hash_format, HASH_FORMATS)
        for name in ("token_check", "bracket", "evidence"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise _wrong(name, "must be bool", type(value).__name__)
        if type(self.history) is not int or self.history < 0:
            raise _wrong("history", "must be a whole number from 0 on", repr(self.history))
        if type(self.max_dumps) is not int or self.max_dumps < 0:
            raise _wrong("max_dumps", "must be a whole number from 0 on", repr(self.max_dumps))
        if self.halves not in (("K", "V"), ("K",), ("V",)):
            raise _wrong("halves", 'must be ("K", "V"), ("K",) or ("V",)', repr(self.halves))
        if not isinstance(self.report_interval_s, int | float) or not self.report_interval_s >= 0:
            raise _wrong(
                "report_interval_s",
                "must be a number of seconds from 0 on",
                repr(self.report_interval_s),
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowPool:
    """The second, smaller pool of a model that has sliding-window layers."""

    num_slots: int
    """Slots of the window pool, the padding slot 0 among them."""
    window_size: int
    """Tokens in the sliding window."""
    full_to_swa_index_mapping: Tensor
    """int64 [lut_len], full slot to slot of the window pool, 0 where evicted."""
    k_sources: Sequence[RealKvSource] = ()
    """Where the bytes of K lie, 4 at most."""
    v_sources: Sequence[RealKvSource] = ()
    """Where the bytes of V lie, 4 at most."""


def _one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    if isinstance(value, str) and value in allowed:
        return
    near = did_you_mean(value, allowed) if isinstance(value, str) else None
    raise refusal(
        rule=name,
        argument=name,
        message=f"{name} must be one of {'/'.join(allowed)}, got {value!r}",
        actual=repr(value),
        expected=" or ".join(allowed),
        fix=f"did you mean {near.removesuffix(', perhaps')}?" if near else "",
    )


def _wrong(name: str, rule: str, found: str) -> ContractError:
    return refusal(
        rule=name,
        argument=name,
        message=f"{name} {rule}, got {found}",
        actual=found,
        expected=rule.removeprefix("must be "),
    )
