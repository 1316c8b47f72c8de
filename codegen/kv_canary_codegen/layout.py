"""One line, or one item a line: what the formatter would decide, decided while generating."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

WIDTH = 100


def call(head: str, items: Sequence[str], tail: str, *, indent: int) -> str:
    """`head item, item tail` on one line if it fits, else one item a line with a trailing comma."""
    line = head + ", ".join(items) + tail
    if indent + len(line) <= WIDTH and "\n" not in line:
        return line
    inner = "".join(f"{_indented(operands(item, indent + 4), 4)},\n" for item in items)
    return f"{head}\n{inner}{tail}"


def operands(text: str, indent: int) -> str:
    """An operation that does not fit on a line, with one operand a line."""
    if indent + len(text) + 1 <= WIDTH or "\n" in text:
        return text
    masked = re.fullmatch(r"mask=\((.+)\) != 0", text)
    if masked:
        parts = _outside_brackets(masked.group(1), " & ")
        inner = operands(masked.group(1), indent + 4)
        if inner == masked.group(1) and len(parts) > 1 and indent + 4 + len(inner) > WIDTH:
            inner = "\n& ".join(parts)
        return f"mask=(\n{_indented(inner, 4)}\n)\n!= 0"
    for operator in (" & ", " + "):
        parts = _outside_brackets(text, operator)
        if len(parts) > 1:
            return f"\n{operator.strip()} ".join(parts)
    return text


def _outside_brackets(text: str, operator: str) -> list[str]:
    parts = [""]
    depth = 0
    at = 0
    while at < len(text):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0 and text.startswith(operator, at):
            parts.append("")
            at += len(operator)
            continue
        parts[-1] += text[at]
        at += 1
    return parts


def conjunction(head: str, left: str, right: str, *, indent: int) -> str:
    """`head (left) & (right)`, broken inside the last parentheses when it does not fit."""
    line = f"{head}({left}) & ({right})"
    if indent + len(line) <= WIDTH:
        return line
    return f"{head}({left}) & (\n    {right}\n)"


def chain(operator: str, terms: Sequence[str], *, indent: int, head: str, tail: str) -> str:
    """`head a and b tail` on one line if it fits and nothing comments it, else one term a line.

    Head ends with the opening parenthesis and tail begins with the closing one; on one line a bare
    `return (...)` loses them. Lines of a term that begin with a hash go before its operator.
    """
    line = f" {operator} ".join(terms)
    bare = head.removesuffix("(") if tail == ")" else head
    ending = "" if tail == ")" else tail
    if indent + len(bare + line + ending) <= WIDTH and "\n" not in line:
        return bare + line + ending
    lines = []
    for number, term in enumerate(terms):
        *comments, text = _comments_and_term(term)
        lines += [f"    {comment}" for comment in comments]
        lead = f"{operator} " if number else ""
        lines.append(_indented(lead + text, 4))
    return "\n".join([head, *lines, tail])


def _comments_and_term(term: str) -> list[str]:
    lines = term.split("\n")
    count = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    return [*lines[:count], "\n".join(lines[count:])]


def _indented(text: str, by: int) -> str:
    return textwrap.indent(text, " " * by)


def placed(text: str, indent: int) -> str:
    """A block of lines moved right, empty lines left empty."""
    return textwrap.indent(text, " " * indent)


def wrapped(text: str, *, indent: int = 0, hang: int = 0, width: int = WIDTH) -> str:
    """Prose broken into lines; `hang` more spaces before all but the first."""
    return "\n".join(
        textwrap.wrap(
            text,
            width=width - indent,
            subsequent_indent=" " * hang,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def commented(text: str, *, indent: int = 0) -> str:
    """Prose as comment lines."""
    return "\n".join(f"# {line}" for line in wrapped(text, indent=indent + 2).split("\n"))


def docstring(first: str, rest: str = "", *, indent: int = 0) -> str:
    """A docstring: one line if it fits, else a summary, an empty line and the rest."""
    first, rest = (text.replace("\\", "\\\\").replace('"""', "'''") for text in (first, rest))
    if not rest and indent + len(first) + 6 <= WIDTH and not first.endswith('"'):
        return f'"""{first}"""'
    summary = wrapped(first, indent=indent + (3 if rest else 6))
    parts = [f'"""{summary}']
    if rest:
        parts += ["", rest]
    parts.append('"""')
    return "\n".join(parts)


def literal(text: str) -> str:
    """A string literal with the quotes that the formatter prefers."""
    body = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
    if '"' in body and "'" not in body:
        return f"'{body}'"
    return '"' + body.replace('"', '\\"') + '"'


def string(text: str, *, indent: int, tail: str = "", prefix: str = "") -> str:
    """A string literal, in pieces that stand under each other when it does not fit on a line.

    `prefix` is `f` where pieces hold replacement fields; a field is never broken.
    """
    one = prefix + literal(text) if not prefix else _formatted(text)
    if indent + len(one) + len(tail) <= WIDTH:
        return one
    kept = re.sub(r"\{[^{}]*\}", lambda m: m.group().replace(" ", "\0"), text) if prefix else text
    words = [word.replace("\0", " ") for word in kept.split(" ")]
    pieces: list[str] = []
    line = ""
    for number, word in enumerate(words):
        piece = word if number == len(words) - 1 else word + " "
        shown = _formatted(line + piece) if prefix else literal(line + piece)
        if line and indent + len(shown) + len(tail) > WIDTH:
            pieces.append(line)
            line = ""
        line += piece
    pieces.append(line)
    return "\n".join(_formatted(p) if prefix else literal(p) for p in pieces)


def _formatted(text: str) -> str:
    """An f-string where there is a field, else a plain literal."""
    if "{" not in text.replace("{{", "") and "}" not in text.replace("}}", ""):
        return literal(text.replace("{{", "{").replace("}}", "}"))
    return "f" + literal(text)
