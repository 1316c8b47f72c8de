"""Mutants of rules, and of what declarations imply: lengths of tensors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from kv_canary_codegen.expr import ExprError, tokenize
from kv_canary_codegen.mutate.expressions import expression_edits
from kv_canary_codegen.mutate.mutants import (
    STEPS,
    Edit,
    Family,
    Mutant,
    Replacement,
    line_starts,
    made,
)
from kv_canary_codegen.parse import _split as split_dimensions
from kv_canary_codegen.source import MappingNode, Node, Problems, Scalar, SequenceNode, load

_TENSOR = re.compile(r"\s*[A-Za-z_0-9]+\s*\[(?P<dims>.*)\]\s*", re.DOTALL)
RULE_LISTS = ("rules", "relations")


class RuleFile:
    """One YAML file of a spec: its text and its nodes."""

    def __init__(self, folder: Path, file: str, files: Mapping[str, str]) -> None:
        self.file = file
        self.files = files
        self.text = files[file]
        self.starts = line_starts(self.text)
        node = load(folder / file, file, Problems())
        assert node is not None, "a spec that was read"
        self.node = node

    def offset(self, line: int, column: int) -> int:
        """Where a place that nodes name stands in the text."""
        return self.starts[line - 1] + column - 1

    def replacement(self, scalar: Scalar, start: int, end: int, text: str) -> Replacement:
        """Other text instead of a piece of a scalar."""
        if start < end:
            first, last = scalar.at(start), scalar.at(end - 1)
            begin = self.offset(first.line, first.column)
            finish = self.offset(last.line, last.column) + 1
        else:
            before = scalar.at(start - 1)
            begin = finish = self.offset(before.line, before.column) + 1
        return Replacement(file=self.file, start=begin, end=finish, text=text)

    def edited(
        self, scalar: Scalar, owner: str, edit: Edit, family: Family, start: int = 0
    ) -> Mutant:
        """A mutant of an edit of the scalar's text from `start` on."""
        change = self.replacement(scalar, start + edit.start, start + edit.end, edit.text)
        return made(self.files, family, owner, edit.kind, edit.words, [change])

    def without(self, sequence: SequenceNode, key: Scalar, item: Node) -> Replacement:
        """The lines of one item of a list that has an item a line; of the list, if it has one."""
        lines = self.text.split("\n")
        alone = len(sequence.items) == 1
        first = key.span.line if alone else item.span.line
        indent = len(lines[first - 1]) - len(lines[first - 1].lstrip())
        last = first
        while last < len(lines):
            line = lines[last]
            deep = len(line) - len(line.lstrip())
            if line.strip() and (
                deep < indent or (deep == indent and not (alone and "- " in line))
            ):
                break
            last += 1
        while last > first and not lines[last - 1].strip():
            last -= 1
        return Replacement(
            file=self.file,
            start=self.starts[first - 1],
            end=self.starts[min(last, len(self.starts) - 1)],
            text="",
        )


def entries(node: Node | None) -> dict[str, tuple[Scalar, Node]]:
    """Keys and values of a mapping; of anything else, none."""
    if not isinstance(node, MappingNode):
        return {}
    return {key.text: (key, value) for key, value in node}


def rule_files(folder: Path, files: Mapping[str, str]) -> dict[str, RuleFile]:
    """The files that rules and declarations stand in."""
    names = [f for f in files if f == "structs.yaml" or re.fullmatch(r"kernels/\w+\.yaml", f)]
    return {name: RuleFile(folder, name, files) for name in sorted(names)}


def rule_mutants(folder: Path, files: Mapping[str, str]) -> tuple[Mutant, ...]:
    """Every mutant of the rules and declared lengths of a spec folder, in the files' order."""
    found: list[Mutant] = []
    read = rule_files(folder, files)
    for name, file in read.items():
        for owner, mapping in _owners(name, file.node):
            for key, sequence in _rule_lists(mapping):
                for item in sequence.items:
                    found += _of_rule(read, file, owner, key, sequence, item)
            found += _of_uses(file, owner, mapping)
            found += _of_lengths(file, owner, mapping)
    return tuple(found)


def _owners(name: str, node: MappingNode) -> Iterator[tuple[str, MappingNode]]:
    """Structs or the kernel of a file."""
    if name == "structs.yaml":
        for struct, (_, value) in entries(entries(node)["structs"][1]).items():
            if isinstance(value, MappingNode):
                yield struct, value
    else:
        yield Path(name).stem, node


def _rule_lists(mapping: MappingNode) -> Iterator[tuple[Scalar, SequenceNode]]:
    places = [mapping]
    launcher = entries(mapping).get("launcher")
    if launcher is not None and isinstance(launcher[1], MappingNode):
        places.append(launcher[1])
    for place in places:
        for word in RULE_LISTS:
            key, value = entries(place).get(word, (None, None))
            if key is not None and isinstance(value, SequenceNode):
                yield key, value


def _of_rule(
    read: Mapping[str, RuleFile],
    file: RuleFile,
    owner: str,
    key: Scalar,
    sequence: SequenceNode,
    item: Node,
) -> Iterator[Mutant]:
    rule = entries(item)
    name, require = rule["id"][1], rule["require"][1]
    if not isinstance(name, Scalar) or not isinstance(require, Scalar):
        return
    whole = f"{owner}.{name.text}"
    mentions = [
        mention
        for other in read.values()
        for mention in _mentions(other, name.text if other is file else "", whole)
    ]
    yield made(
        file.files,
        Family.RULES,
        whole,
        "drop",
        "the rule is left out",
        [file.without(sequence, key, item), *mentions],
    )
    for edit in expression_edits(require.text):
        yield file.edited(require, whole, edit, Family.RULES)


def _mentions(file: RuleFile, short: str, whole: str) -> Iterator[Replacement]:
    """Where `related` and `use` name a rule that is left out."""
    for node, key in _lists_called(file.node, ("related", "use")):
        named = [i for i in node.items if isinstance(i, Scalar) and i.text in {short, whole}]
        for item in named:
            if file.text[file.offset(node.span.line, node.span.column)] != "[":
                yield file.without(node, key, item)
            elif len(node.items) == 1:
                yield file.without(SequenceNode(span=node.span, items=(node,)), key, node)
            else:
                yield _out_of_flow(file, node, item)


def _lists_called(node: Node, names: tuple[str, ...]) -> Iterator[tuple[SequenceNode, Scalar]]:
    if isinstance(node, MappingNode):
        for key, value in node:
            if key.text in names and isinstance(value, SequenceNode):
                yield value, key
            else:
                yield from _lists_called(value, names)
    elif isinstance(node, SequenceNode):
        for item in node.items:
            yield from _lists_called(item, names)


def _out_of_flow(file: RuleFile, node: SequenceNode, item: Scalar) -> Replacement:
    """One item of `[a, b]`, with a comma of its own."""
    place = node.items.index(item)
    after = place + 1 < len(node.items)
    first, last = (item, node.items[place + 1]) if after else (node.items[place - 1], item)
    start = file.offset(first.span.line, first.span.column)
    end = file.offset(last.span.line, last.span.column)
    if not after and isinstance(first, Scalar):
        start, end = start + len(first.raw or first.text), end + len(item.raw or item.text)
    return Replacement(file=file.file, start=start, end=end, text="")


def _of_uses(file: RuleFile, owner: str, mapping: MappingNode) -> Iterator[Mutant]:
    """Rules that are taken over from other kernels."""
    key, node = entries(mapping).get("use", (None, None))
    if key is None or not isinstance(node, SequenceNode):
        return
    flow = file.text[file.offset(node.span.line, node.span.column)] == "["
    for item in node.items:
        if not isinstance(item, Scalar):
            continue
        if not flow:
            change = file.without(node, key, item)
        elif len(node.items) == 1:
            change = file.without(SequenceNode(span=node.span, items=(node,)), key, node)
        else:
            change = _out_of_flow(file, node, item)
        yield made(
            file.files,
            Family.RULES,
            f"{owner}.use.{item.text}",
            "drop",
            "what is taken over from another kernel is left out",
            [change],
        )


def _of_lengths(file: RuleFile, owner: str, mapping: MappingNode) -> Iterator[Mutant]:
    """What `tensor:` says of lengths, of arguments, of fields, and of fields that differ."""
    for path, scalar in _tensors(mapping):
        match = _TENSOR.fullmatch(scalar.text)
        if match is None:
            continue
        dims = split_dimensions(match.group("dims"), match.start("dims"))
        for number, (text, start) in enumerate(dims, start=1):
            place = f"{owner}.{path}.length" + (f"-{number}" if len(dims) > 1 else "")
            for edit in length_edits(text):
                yield file.edited(scalar, place, edit, Family.RULES, start)


def _tensors(mapping: MappingNode) -> Iterator[tuple[str, Scalar]]:
    known = entries(mapping)
    for word in ("arguments", "fields"):
        for name, (_, value) in entries(known.get(word, (None, None))[1]).items():
            own = entries(value)
            tensor = own.get("tensor", (None, None))[1]
            if isinstance(tensor, Scalar):
                yield name, tensor
            for field, (_, inner) in entries(own.get("fields", (None, None))[1]).items():
                tensor = entries(inner).get("tensor", (None, None))[1]
                if isinstance(tensor, Scalar):
                    yield f"{name}.{field}", tensor


def length_edits(text: str) -> Iterator[Edit]:
    """Edits of one dimension: `>=` left out or put before it, one more, one less, no addend."""
    lead = len(text) - len(text.lstrip())
    at_least = text.lstrip().startswith(">=")
    start = lead + 2 if at_least else lead
    body = text[start:]
    try:
        tokens = tokenize(body)[:-1]
    except ExprError:
        return
    if at_least:
        yield Edit(
            kind="exact", start=lead, end=start + tokens[0].start, text="",
            words="`>=` is left out",
        )  # fmt: skip
    else:
        yield Edit(
            kind="at-least", start=lead, end=lead + 1, text=f">= {text[lead]}",
            words="at least so long",
        )  # fmt: skip
    if len(tokens) > 2 and tokens[-2].text in "+-":
        cut = tokens[-3].start + len(tokens[-3].text)
        yield Edit(
            kind="addend",
            start=start + cut,
            end=start + tokens[-1].start + len(tokens[-1].text),
            text="",
            words=f"`{tokens[-2].text} {tokens[-1].text}` is left out",
        )
    numbers = [edit for edit in expression_edits(body) if edit.kind.startswith("literal")]
    for edit in numbers:
        yield Edit(
            kind=edit.kind, start=start + edit.start, end=start + edit.end, text=edit.text,
            words=edit.words,
        )  # fmt: skip
    if not numbers:
        end = start + len(body.rstrip())
        for word, step in STEPS:
            sign = "+" if step > 0 else "-"
            yield Edit(
                kind=f"bound-1-{word}", start=end, end=end, text=f" {sign} 1",
                words=f"one {'more' if step > 0 else 'less'}",
            )  # fmt: skip
