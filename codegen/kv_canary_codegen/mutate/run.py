"""Runs mutants: who notices each, or why it may stay.

Note [Who notices]
In this order: the reader, which refuses the spec; the generator, which fails; the hand-written
messages; the hand-written cases that launch a kernel; the generated tests, which are made anew with
a mutant and so know only what the kernel's reference does; and `prove`. A mutant that the reader
refuses is no fault that a spec can have: it is counted, and no part of the score.
"""

from __future__ import annotations

import hashlib
import json
import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from kv_canary_codegen.model import Kernel, Spec
from kv_canary_codegen.mutate.bodies import body_mutants
from kv_canary_codegen.mutate.edited import Edited, Editor
from kv_canary_codegen.mutate.guards import guard_mutants
from kv_canary_codegen.mutate.judging import Messages, MutateError, Trials
from kv_canary_codegen.mutate.mutants import Family, Mutant
from kv_canary_codegen.mutate.reasons import FILE, Reasons, Tests
from kv_canary_codegen.mutate.rule_edits import rule_mutants
from kv_canary_codegen.search import Search

LONGEST_BASELINE = 600
"""Seconds that tests may take while nothing is edited."""
SLOWER, LEAST = 4, 60
"""A mutant hangs where its tests take so many times as long as they do, and so many seconds."""
INTERPRETED = "interpreted"
"""Of the generated tests, those that launch the kernel."""


class Fate(Enum):
    """What became of a mutant."""

    REFUSED = "refused"
    KILLED = "killed"
    EXPLAINED = "explained"
    SURVIVED = "survived"


class Killer(Enum):
    """Who noticed a mutant."""

    READER = "reader"
    GENERATOR = "generator"
    MESSAGES = "messages"
    CASES = "cases"
    TESTS = "tests"
    PROVE = "prove"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one mutant."""

    mutant: Mutant
    fate: Fate
    killer: Killer | None = None
    by: str = ""
    """The case or test that noticed, or the reason that the spec gives."""
    said: str = ""
    """How it noticed."""
    seconds: float = 0.0


def mutants_of(editor: Editor, families: Sequence[Family]) -> tuple[Mutant, ...]:
    """Every mutant of some families."""
    found: list[Mutant] = []
    if Family.RULES in families:
        found += rule_mutants(editor.folder, editor.files)
    if Family.BODIES in families:
        found += body_mutants(editor.files)
    if Family.GUARDS in families:
        found += guard_mutants(editor.spec, editor.kernels)
    return tuple(found)


def owner(mutant: Mutant) -> str:
    """The kernel or struct, fragment or functions file, that a mutant is of."""
    if mutant.family is not Family.BODIES:
        return mutant.id.partition(".")[0]
    path = Path(mutant.file)
    stem = path.name.partition(".")[0]
    return stem if path.parent.name == "kernels" else f"{path.parent.name}/{stem}"


def sampled(mutants: Sequence[Mutant], count: int | None, seed: int) -> tuple[Mutant, ...]:
    """Some of the mutants, as they are drawn: a smaller sample begins a larger one."""
    if count is None:
        return tuple(mutants)
    drawn = list(mutants)
    random.Random(seed).shuffle(drawn)
    return tuple(drawn[:count])


class Journal:
    """What was found out by an earlier run, and is not tried again: each mutant that was killed."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._known: dict[str, dict[str, str]] = {}
        if path is not None and path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                self._known[entry["id"]] = entry

    def known(self, mutant: Mutant, edited: Edited) -> Outcome | None:
        """What became of a mutant that made the same of the same spec."""
        entry = self._known.get(mutant.id)
        if entry is None or entry["digest"] != _digest(edited) or not entry["killer"]:
            return None
        return Outcome(
            mutant=mutant,
            fate=Fate(entry["fate"]),
            killer=Killer(entry["killer"]),
            by=entry["by"],
            said=entry["said"],
        )

    def keep(self, outcome: Outcome, edited: Edited) -> None:
        """Write down what became of a mutant."""
        if self.path is None:
            return
        entry = {
            "id": outcome.mutant.id,
            "digest": _digest(edited),
            "fate": outcome.fate.value,
            "killer": outcome.killer.value if outcome.killer else "",
            "by": outcome.by,
            "said": outcome.said,
            "seconds": round(outcome.seconds, 1),
        }
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def _digest(edited: Edited) -> str:
    return hashlib.sha256(json.dumps(sorted(edited.changed.items())).encode()).hexdigest()[:16]


class Run:
    """Judges mutants, with processes that are begun when they are first needed."""

    def __init__(
        self,
        editor: Editor,
        tests: Path,
        reasons: Reasons,
        place: Path,
        *,
        journal: Journal | None = None,
        heard: Callable[[Outcome], None] = lambda outcome: None,
    ) -> None:
        self.editor = editor
        self.tests = tests
        self.reasons = reasons
        self.place = place
        self.journal = journal or Journal(None)
        self.heard = heard
        self.missing: dict[str, str] = {}
        """Who cannot be asked, and why."""
        self._editing = threading.Lock()
        self._messages: Messages | None = None
        self._seconds: dict[tuple[str, Killer], float] = {}
        lacking = Messages.missing(tests)
        if lacking:
            self.missing[Killer.MESSAGES.value] = lacking

    def outcomes(self, mutants: Sequence[Mutant], workers: int) -> tuple[Outcome, ...]:
        """What becomes of each mutant, in their order.

        Raises:
            MutateError: Something fails that nothing was edited for.
        """
        rules = [m for m in mutants if m.family is Family.RULES]
        bodies = [m for m in mutants if m.family is not Family.RULES]
        found = {}
        try:
            for mutant in rules:
                found[mutant.id] = self._rule(mutant)
        finally:
            if self._messages is not None:
                self._messages.end()
        for outcome in self._bodies(bodies, workers):
            found[outcome.mutant.id] = outcome
        return tuple(found[mutant.id] for mutant in mutants)

    def _settled(self, outcome: Outcome, start: float, edited: Edited) -> Outcome:
        reason = self.reasons.survivors.get(outcome.mutant.id)
        explained = outcome.fate is Fate.SURVIVED and reason is not None
        settled = Outcome(
            mutant=outcome.mutant,
            fate=Fate.EXPLAINED if explained else outcome.fate,
            killer=outcome.killer,
            by=reason if explained and reason is not None else outcome.by,
            said=outcome.said,
            seconds=time.monotonic() - start,
        )
        self.journal.keep(settled, edited)
        self.heard(settled)
        return settled

    # Rules ---------------------------------------------------------------------------------------

    def _rule(self, mutant: Mutant) -> Outcome:
        start = time.monotonic()
        edited = self.editor.edited(mutant)
        outcome = _unread(mutant, edited) or self._by_messages(mutant, edited)
        if outcome is None and mutant.id not in self.reasons.survivors:
            outcome = self._by_generator(mutant, edited) or self._by_rules(mutant, edited)
        outcome = outcome or Outcome(mutant=mutant, fate=Fate.SURVIVED)
        return self._settled(outcome, start, edited)

    def _by_messages(self, mutant: Mutant, edited: Edited) -> Outcome | None:
        if Killer.MESSAGES.value in self.missing or not edited.changed:
            return None
        if self._messages is None:
            self._messages = Messages(self.editor.package, self.editor.modules(), self.tests)
        found = self._messages.noticed(edited.changed, mutant.id.partition(":")[0])
        return _killed(mutant, Killer.MESSAGES, found)

    def _by_generator(self, mutant: Mutant, edited: Edited) -> Outcome | None:
        """Whether the tests that show a rule broken can still be generated."""
        assert edited.spec is not None, "it was read"
        try:
            self.editor.tests(edited.spec, self.editor.stems(tuple(edited.changed)))
        except Exception as error:
            said = str(error).split("\n")[0][:200]
            return _killed(mutant, Killer.GENERATOR, (type(error).__name__, said))
        return None

    def _by_rules(self, mutant: Mutant, edited: Edited) -> Outcome | None:
        """Whether the solver finds a rule that contradicts, idles or says what others say."""
        if Killer.PROVE.value in self.missing:
            return None
        try:
            from kv_canary_codegen.prove.reasons import read_reasons
            from kv_canary_codegen.prove.report import BAD
            from kv_canary_codegen.prove.rules import checked_rules
        except ImportError as error:
            self.missing[Killer.PROVE.value] = str(error)
            return None
        kept = read_reasons(self.editor.folder).kept

        def bad(spec: Spec, kernel: Kernel) -> set[str]:
            found = checked_rules(spec, kernel, Search(spec, kernel), kept)
            return {
                *(rule.rule for rule in found.rules if rule.verdict in BAD),
                *(number.text for number in found.numbers if number.verdict in BAD),
                *(() if found.witness else ("no call is valid",)),
            }

        assert edited.spec is not None, "it was read"
        before = {kernel.stem: kernel for kernel in self.editor.spec.kernels}
        stems = self.editor.stems(tuple(edited.changed))
        for kernel in edited.spec.kernels:
            if kernel.stem in stems:
                new = bad(edited.spec, kernel) - bad(self.editor.spec, before[kernel.stem])
                if new:
                    return _killed(mutant, Killer.PROVE, (kernel.stem, ", ".join(sorted(new))))
        return None

    # Bodies --------------------------------------------------------------------------------------

    def _bodies(self, mutants: Sequence[Mutant], workers: int) -> Iterable[Outcome]:
        if not mutants:
            return ()
        shares = [mutants[start::workers] for start in range(min(workers, len(mutants)))]
        with ThreadPoolExecutor(len(shares)) as pool:
            found = pool.map(self._share, shares, range(len(shares)))
            return [outcome for share in found for outcome in share]

    def _share(self, mutants: Sequence[Mutant], number: int) -> list[Outcome]:
        """What one worker does, with a generated folder of its own."""
        trials = Trials(self.place / f"generated-{number}", self.editor.generated)
        try:
            return [self._body(mutant, trials) for mutant in mutants]
        finally:
            trials.end()

    def _body(self, mutant: Mutant, trials: Trials) -> Outcome:
        with self._editing:
            edited = self.editor.edited(mutant)
        known = self.journal.known(mutant, edited)
        if known is not None:
            return known
        start = time.monotonic()
        outcome = (
            _unread(mutant, edited)
            or (self._by_proof(mutant, edited, trials) if mutant.family is Family.GUARDS else None)
            or self._by_trials(mutant, edited, trials)
        )
        outcome = outcome or Outcome(mutant=mutant, fate=Fate.SURVIVED)
        return self._settled(outcome, start, edited)

    def _by_proof(self, mutant: Mutant, edited: Edited, trials: Trials) -> Outcome | None:
        """Whether an access of the variant with all optional tensors is no longer proved."""
        if Killer.PROVE.value in self.missing:
            return None
        try:
            from kv_canary_codegen.prove.arguments import variants_of
            from kv_canary_codegen.prove.engine import proved
            from kv_canary_codegen.prove.lowering import LoweringError
            from kv_canary_codegen.prove.safety import Status
        except ImportError as error:
            self.missing[Killer.PROVE.value] = str(error)
            return None
        (stem,) = self.editor.stems(tuple(edited.changed))
        kernel = next(kernel for kernel in self.editor.spec.kernels if kernel.stem == stem)
        fullest = max(
            variants_of(kernel, self.editor.spec),
            key=lambda variant: sum(given for _, given in variant.given),
        )
        with trials.changed(edited.changed) as place:
            try:
                (result,) = proved(self.editor.spec, place, [(kernel, fullest)], refute=False)
            except LoweringError as error:
                self.missing[Killer.PROVE.value] = str(error).strip().split("\n")[-1]
                return None
        for access in result.accesses:
            if access.status is not Status.PROVED:
                said = f"{access.kind} {' or '.join(access.arguments)}: {access.reason}"
                return _killed(mutant, Killer.PROVE, (f"{stem}.py:{access.line}", said))
        return None

    def _by_trials(self, mutant: Mutant, edited: Edited, trials: Trials) -> Outcome | None:
        stems = self.editor.stems(tuple(edited.changed)) if edited.changed else ()
        for killer in (Killer.CASES, Killer.TESTS):
            for stem in stems:
                tests = self._tests(stem, killer, trials)
                if tests is None:
                    continue
                longest = self._longest(stem, killer, tests, trials)
                found = trials.noticed(edited.changed, tests.run, tests.keyword, longest)
                if found is not None:
                    return _killed(mutant, killer, found)
        return None

    def _tests(self, stem: str, killer: Killer, trials: Trials) -> Tests | None:
        if killer is Killer.TESTS:
            file = trials.place / "tests" / f"test_{stem}.py"
            return Tests(run=(str(file),), keyword=INTERPRETED)
        if stem not in self.reasons.tests:
            self.missing[f"{killer.value} of {stem}"] = f"`tests` in {FILE} names none"
            return None
        tests = self.reasons.tests[stem]
        return replace(tests, run=tuple(str(self.tests / test) for test in tests.run))

    def _longest(self, stem: str, killer: Killer, tests: Tests, trials: Trials) -> float:
        """How long the tests of a kernel may take; they must pass while nothing is edited."""
        if (stem, killer) not in self._seconds:
            start = time.monotonic()
            found = trials.noticed({}, tests.run, tests.keyword, LONGEST_BASELINE)
            if found is not None:
                raise MutateError(
                    place=found[0],
                    rule="what is to notice a mutant must pass without one",
                    found=found[1],
                    wanted="tests that pass",
                    fix="run the tests, and mend what fails",
                )
            self._seconds[stem, killer] = time.monotonic() - start
        return max(LEAST, SLOWER * self._seconds[stem, killer])


def _unread(mutant: Mutant, edited: Edited) -> Outcome | None:
    if edited.refusal:
        return Outcome(mutant=mutant, fate=Fate.REFUSED, killer=Killer.READER, said=edited.refusal)
    if edited.failure:
        return _killed(mutant, Killer.GENERATOR, ("", edited.failure))
    return None


def _killed(mutant: Mutant, killer: Killer, found: tuple[str, str] | None) -> Outcome | None:
    if found is None:
        return None
    by, said = found
    return Outcome(mutant=mutant, fate=Fate.KILLED, killer=killer, by=by, said=said)


def stale(
    reasons: Mapping[str, str], outcomes: Iterable[Outcome], every: Iterable[Mutant]
) -> tuple[str, ...]:
    """Reasons for a mutant that there is none of, or that did not survive."""
    known = {mutant.id for mutant in every}
    fates = {outcome.mutant.id: outcome.fate for outcome in outcomes}
    found = [f"the reason for `{name}` is for no mutant" for name in reasons if name not in known]
    return (
        *found,
        *(
            f"the reason for `{name}` is for a mutant that is {fates[name].value}"
            for name in reasons
            if name in fates and fates[name] not in (Fate.EXPLAINED, Fate.SURVIVED)
        ),
    )
