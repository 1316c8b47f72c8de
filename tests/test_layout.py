"""Statements are broken as the formatter breaks them, which is asked if it is installed."""

import ast
import importlib.util
import io
import random
import re
import subprocess
import sys
import textwrap
import tokenize
from pathlib import Path

import pytest

from kv_canary_codegen import layout

REPOSITORY = Path(__file__).parent.parent
GENERATED = REPOSITORY / "generated"

STATEMENTS = """
source_0_first = slot % source_0_page_size * (source_0_num_bytes_per_token // 8) + first_word

named = tl.load(tl.multiple_of(canary_buf_ptr + slot.to(tl.int64) * (slot_stride_bytes // 8), 16)
[:, None] + tl.arange(0, 2)[None, :], mask=((is_checked & in_range) != 0)[:, None], other=0,)

hashed = tl.load(tl.multiple_of(canary_buf_ptr + slot.to(tl.int64) * (slot_stride_bytes // 8)
+ CANARY_FIELD_PREV_HASH, 16)[:, None] + tl.arange(0, 2)[None, :], mask=is_checked, other=0)

group_prefixes_in_domain = (group_prefixes >= 0) & (group_prefixes <= max_seq_len_of_all_the_rows)

is_split = min(1, max(0, num_tokens - max(2047, write_req_capacity + 1023))) * min(1, max(0,
workspace_len // WRITE_SUM_FIELDS - num_tokens // WRITE_TOKEN_BLOCK - write_req_capacity))

row_bytes = 0 if source_0_tensor is None else source_0_tensor.shape[1] * source_0_tensor.itemsize

reasons |= tl.where(stored_position != position, FAIL_REASON_VERIFY_POSITION_MISMATCH, 0)

first_total, second_total = tl.associative_scan((all_factors, all_addends), 0, _one_after_another)

successor = tl.where(previous == -1, _first_hash(), successor).to(tl.int64, bitcast=True).to(x)

if evidence_ring_ptr is not None and (violation_count > evidence_capacity or is_wild(entry)):

elif evidence_ring_ptr is not None and violation_count > evidence_capacity and not is_wild_now:

while request_of_item < request_count and tl.sum(item_offsets[request_of_item]) <= item_wanted:

for start in range(program * ENTRY_BLOCK, entry_count, tl.num_programs(0) * ENTRY_BLOCK):

return first_of_everything + second_of_everything_that_is_there, third_of_everything_that_is_there

return not is_contiguous(violation_write_index_of_the_ring, evidence_ring_of_all_launches, third)

tl.store(out_write_offsets_ptr + request.to(tl.int64), write_offset, mask=request < capacity)

launches: list[Launch] = [prepare_plan_rotation(verify_rotation=verify_rotation, verify_total=x)]

values[first_index_of_everything, second_index_of_everything] = other_values[first, second_index]

x = -(first_of_everything_that_is_there**2) + second[~first_of_everything, 1:-1] ** (third_one)

assert name_of_something.startswith("a prefix"), f"{name_of_something!r} begins otherwise: wrong"
"""

NAMES = ["a", "x", "lane", "slot", "tokens", "is_stored", "num_slots", "source_0_row_bytes"]


class Writer:
    """Writes statements at random: the same ones from the same seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def name(self):
        return self.random.choice(NAMES)

    def pick(self, *ways):
        return self.random.choice(ways)()

    def listed(self, depth, least=1, most=4):
        count = self.random.randint(least, most)
        return ", ".join(self.value(depth) for _ in range(count))

    def arguments(self, depth):
        found = [self.value(depth) for _ in range(self.random.randint(1, 4))]
        if self.random.random() < 0.3:
            found.append(f"mask={self.value(depth)}")
        comma = "," if self.random.random() < 0.1 else ""
        return ", ".join(found) + comma

    def primary(self, depth):
        if depth <= 0:
            return self.pick(self.name, self.name, lambda: f"tl.{self.name()}", lambda: "1024")
        inner = depth - 1
        return self.pick(
            self.name,
            lambda: f"tl.{self.name()}({self.arguments(inner)})",
            lambda: f"({self.value(inner)})",
            lambda: f"({self.value(inner)}).to(tl.int64)",
            lambda: f"{self.name()}.{self.name()}({self.arguments(inner)}).{self.name()}()",
            lambda: f"{self.name()}[{self.listed(inner, 1, 2)}]",
            lambda: f"{self.name()}[:, None]",
            lambda: f"[{self.listed(inner)}]",
            lambda: f"({self.listed(inner, 2)})",
            lambda: f"{{1: {self.value(inner)}, 2: {self.value(inner)}}}",
            lambda: f"[{self.value(inner)} for {self.name()} in {self.name()}]",
            lambda: f"-{self.name()}",
            lambda: f"~{self.primary(inner)}",
        )

    def value(self, depth):
        operator = self.random.choice(("&", "+", "-", "*", "//", "|", "**", "<", "==", "and", "or"))
        count = self.random.choice((1, 1, 2, 3, 4))
        text = f" {operator} ".join(self.primary(depth) for _ in range(count))
        if self.random.random() < 0.05:
            return f"{text} if {self.primary(0)} else {self.primary(depth)}"
        return f"not {text}" if self.random.random() < 0.05 and operator != "**" else text

    def statement(self):
        value = self.value(self.random.choice((1, 2, 3)))
        return self.pick(
            lambda: f"{self.name()} = {value}",
            lambda: f"{self.name()} += {value}",
            lambda: f"{self.name()}, {self.name()} = {value}",
            lambda: f"return {value}",
            lambda: f"if {value}:",
            lambda: f"while {value}:",
            lambda: f"for {self.name()} in tl.range({self.arguments(1)}):",
            lambda: f"tl.store({self.arguments(2)})",
        )


def formatted(statements):
    """What the formatter makes of statements, each with its depth, in functions of their own."""
    if importlib.util.find_spec("ruff") is None:
        pytest.skip("the formatter is not installed")
    lines = []
    for number, (text, depth) in enumerate(statements):
        lines.append(f"def function_{number}():")
        lines += ["    " * level + "if x:" for level in range(1, depth)]
        begin = "    " * depth
        lines += [f"{begin}if x:", f"{begin}    pass"] if text.startswith("elif") else []
        lines += [begin + text, *([f"{begin}    pass"] if text.endswith(":") else [])]
    command = [sys.executable, "-m", "ruff", "format", "--no-cache", "--config"]
    result = subprocess.run(
        [*command, str(REPOSITORY / "pyproject.toml"), "-"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    functions = re.split(r"(?m)^def function_\d+\(\):\n", result.stdout)[1:]
    found = []
    for (text, depth), function in zip(statements, functions, strict=True):
        body = function.rstrip("\n").split("\n")[depth - 1 :]
        body = body[2:] if text.startswith("elif") else body
        found.append(textwrap.dedent("\n".join(body[:-1] if text.endswith(":") else body)))
    return found


def check_against_the_formatter(statements):
    wrong = [
        (text, depth, wanted, found)
        for (text, depth), wanted in zip(statements, formatted(statements), strict=True)
        if (found := layout.statement(text, 4 * depth)) != wanted
        and 4 * depth + len(text) > layout.WIDTH
    ]
    assert wrong == []


def test_statements_of_kernels_and_launchers_are_broken_as_by_the_formatter():
    statements = [" ".join(lines.split("\n")) for lines in STATEMENTS.strip().split("\n\n")]
    check_against_the_formatter([(text, depth) for text in statements for depth in range(1, 12)])


@pytest.mark.parametrize("seed", range(4))
def test_random_statements_are_broken_as_by_the_formatter(seed):
    writer = Writer(seed)
    statements = []
    while len(statements) < 300:
        text = writer.statement()
        try:
            ast.parse(f"def f():\n {text}{' pass' if text.endswith(':') else ''}")
        except SyntaxError:
            continue
        if len(text) < 500:
            statements.append((text, writer.random.choice((1, 2, 4, 8))))
    check_against_the_formatter(statements)


def statements_of(path):
    """Statements and headers of a generated file, each with its indentation."""
    text = path.read_text()
    lines = text.split("\n")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    commented = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.stmt):
            continue
        end = node.end_lineno
        if isinstance(node, ast.If | ast.While | ast.For):
            head = node.iter if isinstance(node, ast.For) else node.test
            end = head.end_lineno
            while not lines[end - 1].endswith(":"):
                end += 1
        elif hasattr(node, "body"):
            continue
        own = range(node.lineno, end + 1)
        if len(own) <= 200 and not commented & set(own):
            shown = "\n".join(lines[node.lineno - 1 : end])
            yield textwrap.dedent(shown), len(shown) - len(shown.lstrip())


@pytest.mark.parametrize(
    "path", sorted(GENERATED.rglob("*.py")), ids=lambda path: str(path.relative_to(GENERATED))
)
def test_statements_of_generated_files_stay_as_they_are(path):
    for text, indent in statements_of(path):
        assert layout.statement(text, indent) == text


def test_block_joins_what_is_on_several_lines_and_breaks_it_for_its_depth():
    lines = [
        "    total = tl.where(",
        "        is_stored, first, second",
        "    )",
        "    short = 1",
        "",
        "    # A comment.",
    ]
    assert layout.block(lines) == [
        "    total = tl.where(is_stored, first, second)",
        "    short = 1",
        "",
        "    # A comment.",
    ]


def test_block_keeps_a_trailing_comma_and_so_one_item_a_line():
    lines = ["    f(", "        first,", "        second,", "    )"]
    assert layout.block(lines) == lines


def test_block_keeps_strings_and_what_has_comments_inside():
    lines = [
        '    """Of several lines (',
        "    that end here.",
        '    """',
        "    values = [",
        "        1,  # One.",
        "        2,",
        "    ]",
        '    name = "(" + "#"',
    ]
    assert layout.block(lines) == lines


def test_block_breaks_comments_anew_only_where_they_are_too_long():
    words = " ".join(["word"] * 18)
    indent = " " * 20
    assert layout.block([f"{indent}# {words}", f"{indent}# {words[:20]}"]) == [
        f"{indent}# {' '.join(['word'] * 15)}",
        f"{indent}# {' '.join(['word'] * 7)}",
    ]
    assert layout.block([f"# {words}", "# word"]) == [f"# {words}", "# word"]


def test_block_puts_the_comment_of_a_long_line_before_it():
    line = f"{' ' * 8}total = {' + '.join(['number'] * 9)}  # What all of them come to."
    assert layout.block([line]) == [
        "        # What all of them come to.",
        f"        total = {' + '.join(['number'] * 9)}",
    ]


def test_unknown_forms_stay_as_they_are():
    for text in (
        "with first_thing() as first_name, second_thing() as second_name:",
        "x = lambda: 1",
    ):
        assert layout.statement(text, 60) == text
        assert layout.item(text, 60, tail="") == text


def test_imports_are_sorted_and_broken():
    assert layout.imported("torch", ["int16", "Tensor", "int8"]) == (
        "from torch import Tensor, int8, int16"
    )
    assert layout.imported("torch", ["bool as torch_bool", "Tensor"]) == (
        "from torch import Tensor\nfrom torch import bool as torch_bool"
    )
    names = [f"A_CONSTANT_OF_THE_PROJECT_{number}" for number in range(4)]
    lines = layout.imported("package.constants", ["Member", *names]).split("\n")
    assert lines == [
        "from package.constants import (",
        *(f"    {name}," for name in names),
        "    Member,",
        ")",
    ]


def test_spread_tuples_have_an_item_a_line_unless_there_is_but_one():
    assert layout.spread("values=(", [], "),", indent=8) == "values=(),"
    assert layout.spread("values=(", ["x"], "),", indent=8) == "values=(x,),"
    assert layout.spread("values=(", ["x", "y"], "),", indent=8) == "values=(\n    x,\n    y,\n),"
