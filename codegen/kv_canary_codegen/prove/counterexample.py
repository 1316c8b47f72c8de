"""From an access that is not proved to a call that really leaves its tensor, or to none.

The solver is asked for small sizes and for contents; what it says is launched under the
interpreter between unmapped pages. Where a sum over a block stood in the way, so that the contents
it gave do not lead there, others are tried near them, from fixed seeds.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import z3

from kv_canary_codegen.model import Dtype, Kernel, ScalarKind, Spec, TensorArgument
from kv_canary_codegen.prove.arguments import Arguments, Extents
from kv_canary_codegen.prove.replay import (
    Call,
    Given,
    GivenNumber,
    GivenStruct,
    GivenTensor,
    Replay,
    replayed,
    watching,
)
from kv_canary_codegen.prove.safety import Judged, Way
from kv_canary_codegen.prove.solver import Solver
from kv_canary_codegen.prove.values import Pointer, Term, bounds
from kv_canary_codegen.prove.walk import Loaded, Walk

Z3 = Any
LEVELS = ((3, 3), (9, 9), (300, 300), (5_000, 5_000), (9, 1 << 32))
"""Sizes are at most so large, and those of the tensor in question; the first that suffice."""
MOST_MODELS = 2
LARGEST = 1 << 35
"""Bytes of a tensor that is still replayed: its pages are not there before they are touched."""
TRIALS = 24
TRIAL_ELEMENTS = 4_096
"""Elements that random contents are given to; of longer tensors only the first are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterexample:
    """A call that faults."""

    call: Call
    sizes: tuple[tuple[str, int], ...]
    replay: Replay


@dataclass(slots=True)
class Refuter:
    """Looks for counterexamples of one variant."""

    spec: Spec
    kernel: Kernel
    output: Path
    arguments: Arguments
    walk: Walk
    solver: Solver

    def refuted(self, judged: Judged) -> Counterexample | None:
        """A call in which an access faults, replayed; None where none was found."""
        place = judged.use.operation.place
        wanted = place.line if place is not None else None
        for way in judged.ways:
            path = self.arguments.extents[way.argument].path
            for call, sizes in self._candidates(way):
                calls = [call, *self._near(call, sizes, way)]
                found = self._faulting(calls, path, wanted)
                if found is not None:
                    faulting, replay = found
                    return Counterexample(call=faulting, sizes=tuple(sizes.items()), replay=replay)
        return None

    def _faulting(
        self, calls: Sequence[Call], path: str, line: int | None
    ) -> tuple[Call, Replay] | None:
        """The first of these calls that faults in the access in question."""
        for watched in (calls, [watching(call, [path]) for call in calls]):
            replay = replayed(self.spec, self.kernel, self.output, watched)
            if replay.faulted is None:
                return None
            if line is None or replay.line == line:
                return watched[replay.faulted], replay
            # Another access faults before this one does: leave that one room.
        return None

    def _candidates(self, way: Way) -> Iterator[tuple[Call, dict[str, int]]]:
        """Calls from models of growing size, a few at most."""
        found = 0
        for level, own in LEVELS:
            model = self._model(way, level, own)
            if model is None:
                continue
            yield self._call(model)
            found += 1
            if found == MOST_MODELS:
                return

    def _model(self, way: Way, level: int, own: int) -> Z3 | None:
        small: list[Z3] = []
        for identifier, extents in self.arguments.extents.items():
            most = own if identifier == way.argument else level
            shared = {
                name
                for dim in self.arguments.extents[way.argument].dims
                for name in self.solver.names(dim)
            }
            for dim in extents.dims:
                most_here = own if shared & self.solver.names(dim) else most
                small.append(dim <= most_here)
            for stride in extents.strides or ():
                small.append(stride <= 2 * most)
            small.append(extents.sizes[-1] * extents.itemsize <= LARGEST)
        # Every scalar is named, so that what the rules say of it is heard.
        scalars = [
            z3.Or(term, z3.Not(term)) if z3.is_bool(term) else term >= term
            for term in self.arguments.scalars.values()
        ]
        wanted = [*way.hypotheses, way.outside, *small, *scalars]
        known: set[str] = set()
        while True:
            # What a sum or a loop's variable may be, where the question names it at all.
            names = self.solver.reach(wanted)
            fresh = [name for name in sorted(self.walk.sums.keys() & names) if name not in known]
            if not fresh:
                break
            known.update(fresh)
            wanted += [self.walk.sums[name]() for name in fresh]
        for variable, start, step in self.walk.choices:
            if variable.decl().name() in names:
                wanted.append(z3.Or(*(variable == start + turn * step for turn in (0, 1, 2))))
        some = z3.Not(self.arguments.extents[way.argument].empty)
        near = [way.offset.z >= -(1 << 32), way.offset.z <= 1 << 33]
        for extra in ([some, *near], [*near], [some], []):
            model = self.solver.example([*wanted, *extra], seconds=5)
            if model is not None:
                return model
        return None

    def _call(self, model: Z3) -> tuple[Call, dict[str, int]]:
        """The call that a model describes."""
        sizes = {name: _number(model, term) for name, term in self.arguments.sizes.items()}
        contents: dict[str, dict[int, int]] = {}
        for load in list(self.walk.loaded):
            self._content(model, load, contents)
        given: list[Given] = [
            GivenStruct(path=struct.name, struct=struct.struct) for struct in self.kernel.structs
        ]
        for tensor in self.kernel.tensors:
            extents = self.arguments.extents.get(tensor.identifier)
            there = extents is not None
            if tensor.optional and f"{tensor.identifier}_ptr" not in dict(
                self.arguments.variant.given
            ):
                there = bool(_number(model, z3.Bool(f"given:{tensor.path}")))
            if not there or extents is None:
                if tensor.item is None:
                    given.append(GivenNumber(path=tensor.path, value=None))
                continue
            reached = tensor.type.reached
            given.append(
                GivenTensor(
                    path=tensor.path,
                    # Bytes of any dtype are bytes here.
                    dtype="uint8" if tensor.type.dtype is Dtype.BYTES else tensor.type.dtype.value,
                    shape=self._shape(model, tensor, extents),
                    strides=self._strides(model, tensor, extents),
                    contents=tuple(sorted(contents.get(tensor.identifier, {}).items())),
                    reached=reached.value if reached is not None else "",
                )
            )
        for whole in self.kernel.lists:
            given.append(GivenStruct(path=f"{whole.path}[]", struct=whole.struct))
            there_are = [t.item for t in whole.tensors if t.identifier in self.arguments.extents]
            given += [
                GivenStruct(path=f"{whole.path}[{item}]", struct=whole.struct) for item in there_are
            ]
            given += [
                GivenNumber(
                    path=f"{whole.path}[{s.item}].{s.field}", value=_number(model, z3.Int(s.name))
                )
                for s in whole.scalars
                if s.item in there_are
            ]
        for scalar in self.kernel.scalars:
            value: int | str | bool = _number(model, self.arguments.scalars[scalar.name])
            if scalar.kind is ScalarKind.BOOL:
                value = bool(value)
            elif scalar.kind is ScalarKind.CHOICE:
                value = scalar.choices[int(value)]
            given.append(GivenNumber(path=scalar.path, value=value, enum=scalar.enum or ""))
        # Structs of lists come before their fields.
        given.sort(key=lambda item: not isinstance(item, GivenStruct))
        return tuple(given), sizes

    def _shape(self, model: Z3, tensor: TensorArgument, extents: Extents) -> tuple[int, ...]:
        """Extents in the tensor's own elements, of which the kernel may reach several at once."""
        *before, last = (max(0, _number(model, dim)) for dim in extents.dims)
        return (*before, last * tensor.type.packing)

    def _strides(
        self, model: Z3, tensor: TensorArgument, extents: Extents
    ) -> tuple[int, ...] | None:
        if extents.strides is None:
            return None
        *before, last = (_number(model, stride) for stride in extents.strides)
        return (*(stride * tensor.type.packing for stride in before), last)

    def _content(self, model: Z3, load: Loaded, contents: dict[str, dict[int, int]]) -> None:
        """Note what a load gave, if the model says so and the load was made."""
        value = model.eval(load.value)
        if not z3.is_int_value(value):
            return
        use = load.use
        active = [*use.path]
        if use.mask is not None:
            mask = use.mask.at(load.index if use.mask.kind.shape is not None else ())
            if isinstance(mask, Term):
                active.append(mask.z)
        if any(z3.is_false(model.eval(term, model_completion=True)) for term in active):
            return
        if use.pointer is None:
            return
        pointer = use.pointer.at(load.index)
        if not isinstance(pointer, Pointer):
            return
        for condition, argument, offset in pointer.ways:
            if z3.is_true(model.eval(condition, model_completion=True)):
                place = _number(model, offset.z)
                contents.setdefault(argument, {}).setdefault(place, value.as_long())

    def _near(self, call: Call, sizes: dict[str, int], way: Way) -> Iterator[Call]:
        """The same sizes with other contents."""
        source = random.Random(f"{self.kernel.stem} {way.argument}")
        numbers = sorted({value + step for value in sizes.values() for step in (-1, 0, 1)})
        small = [0, 1, 1, 2, -1]
        for trial in range(TRIALS):
            changed: list[Given] = []
            for given in call:
                if not isinstance(given, GivenTensor):
                    changed.append(given)
                    continue
                bits = {"int64": 64, "int32": 32, "int16": 16, "int8": 8}.get(
                    given.reached or given.dtype
                )
                if bits is None:
                    changed.append(given)
                    continue
                choices = [*small, *numbers, *numbers]
                least, greatest = bounds(bits)
                keep = trial % 2 == 0
                values = dict(given.contents) if keep else {}
                elements = min(_count(given.shape), TRIAL_ELEMENTS)
                for place in range(elements):
                    if place not in values:
                        value = source.choice(choices)
                        values[place] = min(max(value, least), greatest)
                changed.append(
                    GivenTensor(
                        path=given.path,
                        dtype=given.dtype,
                        shape=given.shape,
                        strides=given.strides,
                        contents=tuple(sorted(values.items())),
                        reached=given.reached,
                    )
                )
            yield tuple(changed)


def _count(shape: Sequence[int]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def _number(model: Z3, term: Z3) -> int:
    value = model.eval(term, model_completion=True)
    if z3.is_true(value) or z3.is_false(value):
        return int(z3.is_true(value))
    value = z3.simplify(value)
    return int(value.as_long()) if z3.is_int_value(value) else 0
