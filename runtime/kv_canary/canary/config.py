"""What an engine says about its canary before it is made."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from torch import Tensor

from kv_canary.canary.refusals import refusal
from kv_canary.flags import nearest
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

    Args:
        mode: off: nothing at all. log, the default: findings go to the logger `kv_canary`. raise:
            poll raises a CanaryError. collect: poll gives them back, and Canary.findings keeps
            them. A fault that is found again is no new finding: log mode says in a line that it is
            still there, after 1, 2, 4, 8 and so on reports; raise mode raises it again, with its
            count of repeats; and Canary.findings counts them.
        real_kv: how many bytes of each source the tail's stamp covers: none, the first 16 of a
            token (partial), or read_bytes of it (all). None, the default, means partial where
            there is a source, and none where there is not.
        hash_format: parallel, the default: a long prefill is no serial walk. serial: SGLang's, to
            the byte.
        token_check: whether cached tokens are compared with those that their row was seen to write;
            True by default. Token ids outside int32 can not be kept; an engine that has such must
            switch this off.
        bracket: whether the tail is verified on entry too, False by default: what is reported twice
            in one step was damaged before that forward, and what is reported once during it.
        evidence: whether each violation keeps what it was judged by, and its step; True by default.
        history: forwards whose batches are kept for findings, 0 or more; 8 by default.
        halves: which of K and V are stamped, both by default; ("K",) for an engine with one latent
            cache.
        dump_folder: where log and raise mode write a dump of each report of something new, for
            `kv-canary diagnose`; None, the default, for no dumps.
        max_dumps: dumps that one canary writes there at most, 0 or more; 16 by default.
        report_interval_s: least time between two reports of poll, in seconds, of what is new and
            of what is still there; 0 by default. A report reads the stamps back, which takes a
            while; what is found meanwhile waits in the ring.

    Raises:
        ContractError: a field has a value that it cannot have.
    """

    mode: Mode = "log"
    real_kv: RealKv | None = None
    hash_format: HashFormat = "parallel"
    token_check: bool = True
    bracket: bool = False
    evidence: bool = True
    history: int = 8
    halves: tuple[Half, ...] = HALVES
    dump_folder: str | os.PathLike[str] | None = None
    max_dumps: int = 16
    report_interval_s: float = 0.0

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
        if self.dump_folder is not None and not isinstance(self.dump_folder, str | os.PathLike):
            raise _wrong("dump_folder", "must be a path or None", repr(self.dump_folder))
        if not isinstance(self.report_interval_s, int | float) or not self.report_interval_s >= 0:
            raise _wrong(
                "report_interval_s",
                "must be a number of seconds from 0 on",
                repr(self.report_interval_s),
            )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowPool:
    """The second, smaller pool of a model that has sliding-window layers.

    Args:
        num_slots: slots of the window pool, the padding slot 0 among them.
        window_size: tokens in the sliding window.
        full_to_swa_index_mapping: int64 [lut_len], full slot to slot of the window pool, 0 where
            evicted.
        k_sources: where the bytes of K of the window pool lie, 4 at most; none by default.
        v_sources: where the bytes of V lie, 4 at most; none by default.
    """

    num_slots: int
    window_size: int
    full_to_swa_index_mapping: Tensor
    k_sources: Sequence[RealKvSource] = ()
    v_sources: Sequence[RealKvSource] = ()


def _one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    if isinstance(value, str) and value in allowed:
        return
    near = nearest(value.lower(), allowed) if isinstance(value, str) else None
    raise refusal(
        rule=name,
        argument=name,
        message=f"{name} must be one of {'/'.join(allowed)}, got {value!r}",
        actual=repr(value),
        expected=" or ".join(allowed),
        fix=f"did you mean `{near}`?" if near else "",
    )


def _wrong(name: str, rule: str, found: str) -> ContractError:
    return refusal(
        rule=name,
        argument=name,
        message=f"{name} {rule}, got {found}",
        actual=found,
        expected=rule.removeprefix("must be "),
    )
