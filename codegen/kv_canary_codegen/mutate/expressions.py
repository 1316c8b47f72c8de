"""Edits of an expression of the rule language, by its tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kv_canary_codegen.expr import Token, tokenize
from kv_canary_codegen.mutate.mutants import COMPARISONS, NAMES, STEPS, Edit

_JOINTS = ("and", "or", "implies", ",")


def expression_edits(text: str) -> tuple[Edit, ...]:
    """Each comparison otherwise, each bound one off, each term left out."""
    tokens = tokenize(text)[:-1]
    return tuple(_Expression(text, tokens).edits())


def _end(token: Token) -> int:
    return token.start + len(token.text)


class _Expression:
    """One expression and the tokens that it is made of."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.depths = self._depths()
        self.terms = 0
        self.implications = 0
        self.negations = 0

    def _depths(self) -> list[int]:
        found, depth = [], 0
        for token in self.tokens:
            depth -= token.text == ")"
            found.append(depth)
            depth += token.text == "("
        return found

    def edits(self) -> Iterator[Edit]:
        yield from self._comparisons()
        yield from self._literals()
        yield from self._region(0, len(self.tokens))

    def _comparisons(self) -> Iterator[Edit]:
        places = [n for n, token in enumerate(self.tokens) if token.text in COMPARISONS]
        for number, place in enumerate(places, start=1):
            token = self.tokens[place]
            for other in COMPARISONS[token.text]:
                if other == "<=" and self._is_remainder(place):
                    continue
                yield Edit(
                    kind=f"compare-{number}-{NAMES[other]}",
                    start=token.start,
                    end=_end(token),
                    text=other,
                    words=f"`{token.text}` becomes `{other}`",
                )
            yield from self._bound(number, place)
            yield from self._link(number, place)

    def _is_remainder(self, place: int) -> bool:
        """Whether a remainder, which is never negative, is compared with 0."""
        if self.tokens[place].text != "==" or self.tokens[place + 1].text != "0":
            return False
        before = [token.text for token in self.tokens[max(0, place - 2) : place]]
        return before[:1] == ["%"]

    def _operand_end(self, place: int, step: int) -> int:
        """The last token of the operand on one side of a comparison."""
        at = place + step
        while 0 <= at + step < len(self.tokens):
            token, depth = self.tokens[at + step], self.depths[at + step]
            outside = depth < self.depths[place]
            if outside or (
                depth == self.depths[place]
                and (token.text in COMPARISONS or token.text in (*_JOINTS, "not"))
            ):
                break
            at += step
        return at

    def _bound(self, number: int, place: int) -> Iterator[Edit]:
        """The right side one more and one less, unless it is or ends in a number of its own."""
        last = self._operand_end(place, 1)
        alone = last == place + 1 or self.tokens[last - 1].text in "+-"
        if self.tokens[last].kind == "integer" and alone:
            return
        for word, step in STEPS:
            sign = "+" if step > 0 else "-"
            yield Edit(
                kind=f"bound-{number}-{word}",
                start=_end(self.tokens[last]),
                end=_end(self.tokens[last]),
                text=f" {sign} 1",
                words=f"the right side of `{self.tokens[place].text}` is one {_more(step)}",
            )

    def _link(self, number: int, place: int) -> Iterator[Edit]:
        """The first or the last comparison of a chain left out."""
        first, last = self._operand_end(place, -1), self._operand_end(place, 1)
        goes_on = last + 1 < len(self.tokens) and self.tokens[last + 1].text in COMPARISONS
        goes_before = first > 0 and self.tokens[first - 1].text in COMPARISONS
        if goes_on == goes_before:
            return
        start = self.tokens[first].start if goes_on else _end(self.tokens[place - 1])
        end = self.tokens[place + 1].start if goes_on else _end(self.tokens[last])
        yield Edit(
            kind=f"link-{number}",
            start=start,
            end=end,
            text="",
            words=f"`{self.text[start:end].strip()}` is left out",
        )

    def _literals(self) -> Iterator[Edit]:
        numbers = [token for token in self.tokens if token.kind == "integer"]
        for number, token in enumerate(numbers, start=1):
            for word, step in STEPS:
                other = str(int(token.text, 0) + step)
                yield Edit(
                    kind=f"literal-{number}-{word}",
                    start=token.start,
                    end=_end(token),
                    text=other,
                    words=f"`{token.text}` becomes `{other}`",
                )

    def _region(self, first: int, last: int) -> Iterator[Edit]:
        """Terms of the tokens from `first` up to `last`, and of what stands in parentheses."""
        if first >= last:
            return
        depth = self.depths[first]
        sides = self._split(first, last, depth, "implies")
        for (left, _), (right, _) in pairwise(sides):
            self.implications += 1
            yield Edit(
                kind=f"implies-{self.implications}",
                start=self.tokens[left].start,
                end=self.tokens[right].start,
                text="",
                words="the condition before `implies` is left out",
            )
        for side in sides:
            alternatives = self._split(*side, depth, "or")
            yield from self._without_one(alternatives, "or")
            for alternative in alternatives:
                terms = self._split(*alternative, depth, "and")
                yield from self._without_one(terms, "and")
                for term in terms:
                    yield from self._negation(*term)
        for place in range(first, last):
            if self.tokens[place].text == "(" and self.depths[place] == depth:
                close = next(
                    at
                    for at in range(place + 1, len(self.tokens))
                    if self.tokens[at].text == ")" and self.depths[at] == depth
                )
                yield from self._region(place + 1, close)

    def _split(self, first: int, last: int, depth: int, word: str) -> list[tuple[int, int]]:
        cuts = [
            at
            for at in range(first, last)
            if self.tokens[at].text == word and self.depths[at] == depth
        ]
        starts, ends = [first, *(cut + 1 for cut in cuts)], [*cuts, last]
        return list(zip(starts, ends, strict=True))

    def _without_one(self, parts: list[tuple[int, int]], word: str) -> Iterator[Edit]:
        if len(parts) < 2:
            return
        for number, (first, last) in enumerate(parts):
            self.terms += 1
            if number == 0:
                start, end = self.tokens[first].start, self.tokens[parts[1][0]].start
            else:
                start, end = (
                    _end(self.tokens[parts[number - 1][1] - 1]),
                    _end(self.tokens[last - 1]),
                )
            text = self.text[self.tokens[first].start : _end(self.tokens[last - 1])]
            yield Edit(
                kind=f"term-{self.terms}",
                start=start,
                end=end,
                text="",
                words=f"`{text}` is left out of what `{word}` joins",
            )

    def _negation(self, first: int, last: int) -> Iterator[Edit]:
        if self.tokens[first].text != "not" or last <= first + 1:
            return
        self.negations += 1
        yield Edit(
            kind=f"not-{self.negations}",
            start=self.tokens[first].start,
            end=self.tokens[first + 1].start,
            text="",
            words="`not` is left out",
        )


def _more(step: int) -> str:
    return "more" if step > 0 else "less"
