"""Questions to z3: does a goal follow, with only the facts that bear on it; answers are kept.

Note [Determinism]
Seeds are fixed, and the limit that matters is z3's own count of steps. The limit in seconds is a
net under it: an answer that it cut short is never kept.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import z3

Z3 = Any
STEPS = 4_000_000
SECONDS = 20
NEAR_HOPS = 2
"""How far away facts are taken in at first: most questions need no more, and are quicker so."""
SMALL = 48
"""Parts of the largest fact that is taken in then."""


class Answer(Enum):
    """What became of a question."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


Facts = Mapping[str, Sequence[Z3]]
"""Facts by the name that they are about."""


@dataclass(slots=True)
class Solver:
    """Asks questions over facts; the same question, up to the names of unknowns, is asked once."""

    linear: Facts
    exact: Facts
    answers: MutableMapping[str, str] = field(default_factory=dict)
    """By a digest of the question."""
    asked: int = 0
    reason: str = ""
    """Why the last answer was UNKNOWN."""
    _answers: dict[frozenset[int], tuple[Sequence[Z3], Answer]] = field(default_factory=dict)
    """Of this solver's own terms, which it holds so that their numbers stay theirs."""
    _names: dict[int, tuple[Z3, frozenset[str]]] = field(default_factory=dict)
    _sizes: dict[int, tuple[Z3, bool]] = field(default_factory=dict)

    def follows(self, hypotheses: Iterable[Z3], goal: Z3, *, near: bool = False) -> Answer:
        """Whether a goal holds wherever hypotheses and facts do; NO only says: not shown so.

        Args:
            hypotheses: What holds beside the facts.
            goal: What is asked.
            near: Whether only the facts that stand nearest, and are small, are looked at.
        """
        goal = z3.simplify(goal)
        if z3.is_true(goal):
            return Answer.YES
        terms = [*hypotheses, z3.Not(goal)]
        answer = self._answer([*terms, *self._near(terms)])
        if near or answer is Answer.YES:
            return answer
        # What is known of things far away may bear on it too.
        return self._answer([*terms, *self._relevant(terms, self.linear)])

    def contradictory(self) -> bool:
        """Whether the facts alone cannot all hold."""
        facts = {fact.get_id(): fact for about in self.linear.values() for fact in about}
        return self._answer(list(facts.values())) is Answer.YES

    def digest(self, terms: Sequence[Z3]) -> str:
        """Of terms and the facts near them, whatever their unknowns are called."""
        solver = z3.Solver()
        solver.add(*terms, *self._near(terms))
        return _digest(solver.sexpr())

    def _answer(self, terms: Sequence[Z3]) -> Answer:
        """Whether terms contradict each other; a question that was asked before is not asked."""
        key = frozenset(term.get_id() for term in terms)
        if key in self._answers:
            return self._answers[key][1]
        solver = _solver()
        solver.add(*terms)
        digest = _digest(solver.sexpr())
        known = self.answers.get(digest)
        if known is not None:
            self.reason = "the solver gave up" if known == Answer.UNKNOWN.value else ""
            answer = Answer(known)
        else:
            self.asked += 1
            result = solver.check()
            answer = Answer.YES if result == z3.unsat else Answer.NO
            cut_short = False
            if result == z3.unknown:
                self.reason = f"the solver gave up: {solver.reason_unknown()}"
                cut_short = "timeout" in self.reason or "canceled" in self.reason
                answer = Answer.UNKNOWN
            if not cut_short:
                self.answers[digest] = answer.value
        self._answers[key] = (terms, answer)
        return answer

    def example(self, terms: Iterable[Z3], *, seconds: int = SECONDS) -> Z3 | None:
        """A model of terms and all facts, exact ones too; None where none was found."""
        found = [*terms]
        relevant = self._relevant(found, self.linear, self.exact)
        solver = _solver(seconds)
        solver.add(*found, *relevant)
        self.asked += 1
        return solver.model() if solver.check() == z3.sat else None

    def reach(self, terms: Sequence[Z3]) -> frozenset[str]:
        """Names in terms and in all the facts that bear on them."""
        relevant = self._relevant(terms, self.linear, self.exact)
        return frozenset().union(*(self.names(term) for term in (*terms, *relevant)))

    def names(self, term: Z3) -> frozenset[str]:
        """Names of the unknowns in a term."""
        key = term.get_id()
        if key not in self._names:
            # An explicit stack, since terms are deep; parts are kept too, since terms share them.
            stack = [term]
            while stack:
                node = stack[-1]
                number = node.get_id()
                if number in self._names:
                    stack.pop()
                    continue
                parts = node.children()
                missing = [part for part in parts if part.get_id() not in self._names]
                if missing:
                    stack.extend(missing)
                    continue
                stack.pop()
                if not parts and z3.is_const(node) and is_unknown(node):
                    found = frozenset((node.decl().name(),))
                else:
                    found = frozenset().union(*(self._names[part.get_id()][1] for part in parts))
                self._names[number] = (node, found)
        return self._names[key][1]

    def _near(self, terms: Sequence[Z3]) -> list[Z3]:
        """Small facts near terms."""
        return [f for f in self._relevant(terms, self.linear, hops=NEAR_HOPS) if self._small(f)]

    def _small(self, fact: Z3) -> bool:
        key = fact.get_id()
        if key not in self._sizes:
            self._sizes[key] = (fact, is_small(fact))
        return self._sizes[key][1]

    def _relevant(self, terms: Sequence[Z3], *sources: Facts, hops: int | None = None) -> list[Z3]:
        """Facts about what the terms name, and about what those facts name in turn."""
        wanted = sorted(frozenset().union(*(self.names(term) for term in terms)))
        seen: set[str] = set()
        found: dict[int, Z3] = {}
        while wanted and (hops is None or hops > 0):
            hops = None if hops is None else hops - 1
            seen.update(wanted)
            reached: set[str] = set()
            for name in wanted:
                for source in sources:
                    for fact in source.get(name, ()):
                        found.setdefault(fact.get_id(), fact)
                        reached |= self.names(fact)
            wanted = sorted(reached - seen)
        return list(found.values())


def is_unknown(term: Z3) -> bool:
    """Whether a term is an unknown, and no number."""
    return bool(term.decl().kind() == z3.Z3_OP_UNINTERPRETED)


def is_small(term: Z3) -> bool:
    """Whether a term has few parts."""
    count = 0
    stack = [term]
    while stack and count <= SMALL:
        count += 1
        stack.extend(stack.pop().children())
    return count <= SMALL


def _solver(seconds: int = SECONDS) -> Z3:
    solver = z3.SolverFor("QF_LIA")
    _limit(solver, seconds)
    return solver


def _limit(solver: Z3, seconds: int) -> None:
    solver.set("timeout", seconds * 1000)
    solver.set("rlimit", STEPS)
    solver.set("random_seed", 0)


def _digest(text: str) -> str:
    """Of a question, its unknowns renamed in the order in which they appear."""
    names: dict[str, str] = {}
    renamed = re.sub(r"u!\d+", lambda m: names.setdefault(m[0], f"v!{len(names)}"), text)
    return hashlib.sha256(renamed.encode()).hexdigest()
