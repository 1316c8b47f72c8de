"""The language of rules: what it accepts, what it means, and that its notations agree."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kv_canary_codegen.expr import (
    MAX_TOKENS,
    Address,
    Arithmetic,
    Chosen,
    Compare,
    Constant,
    Count,
    Either,
    Every,
    ExprError,
    Extreme,
    Implies,
    Integer,
    IsBool,
    Itemsize,
    Kind,
    Length,
    Name,
    Not,
    Present,
    Printer,
    PythonPrinter,
    Rank,
    SourcePrinter,
    Stride,
    Symbol,
    Type,
    Values,
    WordsPrinter,
    denied,
    evaluate,
    names_in,
    parse,
    present_in,
    tensors_in,
    type_of,
)
from kv_canary_codegen.parse import read_spec

SPEC = Path(__file__).parent.parent / "spec"

SCOPE = {
    "rows": Symbol(name="rows", kind=Kind.SIZE),
    "count": Symbol(name="count", kind=Kind.SCALAR),
    "ready": Symbol(name="ready", kind=Kind.FLAG),
    "BLOCK": Symbol(name="BLOCK", kind=Kind.CONSTANT, value=4),
    "table": Symbol(name="table", kind=Kind.TENSOR, rank=2),
    "plan.extra": Symbol(name="plan.extra", kind=Kind.TENSOR, rank=1, optional=True),
    "mode": Symbol(name="mode", kind=Kind.CHOICE, members=("fast", "exact")),
}
BLOCK = Constant("BLOCK", 4)

# Trees --------------------------------------------------------------------------------------------

NUMBERS = st.recursive(
    st.one_of(
        st.integers(-5, 5).map(Integer),
        st.just(BLOCK),
        st.sampled_from((Name("rows", Kind.SIZE), Name("count", Kind.SCALAR))),
        st.sampled_from((Length("table", 0), Length("table", 1), Length("plan.extra", 0))),
        st.sampled_from((Stride("table", 0), Stride("table", -1), Stride("plan.extra", 0))),
        st.sampled_from((Rank("table"), Itemsize("table"), Address("table"))),
        st.sampled_from((Rank("plan.extra"), Itemsize("plan.extra"), Address("plan.extra"))),
    ),
    lambda inner: st.one_of(
        st.builds(Arithmetic, st.sampled_from("+-*"), inner, inner),
        st.builds(
            Arithmetic,
            st.sampled_from(("//", "%")),
            inner,
            st.one_of(st.integers(1, 5).map(Integer), st.just(BLOCK)),
        ),
        st.builds(
            Extreme,
            st.sampled_from(("min", "max")),
            st.lists(inner, min_size=2, max_size=3).map(tuple),
        ),
    ),
    max_leaves=5,
)
COMPARISONS = st.tuples(st.sampled_from(("<", "<=", ">", ">=", "==", "!=")), NUMBERS)
TRUTHS = st.recursive(
    st.one_of(
        st.just(Name("ready", Kind.FLAG)),
        st.just(IsBool("ready")),
        st.just(Present("plan.extra")),
        st.sampled_from((Chosen("mode", "fast"), Chosen("mode", "exact"))),
        st.builds(Compare, NUMBERS, st.lists(COMPARISONS, min_size=1, max_size=2).map(tuple)),
    ),
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(Every, st.lists(inner, min_size=2, max_size=3).map(tuple)),
        st.builds(Either, st.lists(inner, min_size=2, max_size=3).map(tuple)),
        st.builds(Implies, inner, inner),
    ),
    max_leaves=5,
)
VALUES = st.builds(
    lambda rows, count, ready, mode, shape, extra: Values(
        names={"rows": rows, "count": count, "ready": ready, "mode": mode},
        shapes={"table": shape, "plan.extra": extra},
        strides={"table": (shape[1], 1), "plan.extra": None if extra is None else (1,)},
        itemsizes={"table": 4, "plan.extra": 0 if extra is None else 8},
        addresses={"table": 4096, "plan.extra": 0 if extra is None else 24},
    ),
    st.integers(-4, 6),
    st.integers(-4, 6),
    st.sampled_from((True, False, 0, 1)),
    st.sampled_from(("fast", "exact")),
    st.tuples(st.integers(0, 4), st.integers(0, 4)),
    st.one_of(st.none(), st.tuples(st.integers(0, 4))),
)
often = settings(derandomize=True, max_examples=400, deadline=None)


class FakeTensor:
    def __init__(self, shape, stride, itemsize, address):
        self.shape = shape
        self.itemsize = itemsize
        self._stride = stride
        self._address = address

    def stride(self):
        return self._stride

    def dim(self):
        return len(self.shape)

    def data_ptr(self):
        return self._address


def run_python(tree, values):
    """What the printed Python says."""
    printer = PythonPrinter(
        identifiers={"plan.extra": "plan_extra"}, optional=frozenset({"plan.extra"})
    )
    tensors = {
        name.replace(".", "_"): shape
        and FakeTensor(shape, values.strides[name], values.itemsizes[name], values.addresses[name])
        for name, shape in values.shapes.items()
    }
    return eval(printer.show(tree), {"BLOCK": 4}, {**values.names, **tensors})


# Meaning ------------------------------------------------------------------------------------------


@often
@given(st.one_of(TRUTHS, NUMBERS), VALUES)
def test_printed_python_means_what_the_tree_means(tree, values):
    assert run_python(tree, values) == evaluate(tree, values)


@often
@given(TRUTHS, VALUES)
def test_a_denied_tree_holds_where_the_tree_does_not(tree, values):
    assert evaluate(denied(tree), values) == 1 - evaluate(tree, values)


@often
@given(st.one_of(TRUTHS, NUMBERS))
def test_source_is_read_back_as_the_same_tree(tree):
    assert parse(SourcePrinter().show(tree), SCOPE, type_of(tree)) == tree


@often
@given(TRUTHS)
def test_words_say_every_name_that_the_tree_reads(tree):
    words = WordsPrinter().show(tree)
    for name in (*names_in(tree), *tensors_in(tree), *present_in(tree)):
        assert name in words
    assert words.count("(") == words.count(")")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("rows+count*2", "rows + count * 2"),
        ("(rows+count)*2", "(rows + count) * 2"),
        ("rows-(count-1)", "rows - (count - 1)"),
        ("rows-count-1", "rows - count - 1"),
        ("rows*(count//2)", "rows * (count // 2)"),
        ("-rows", "0 - rows"),
        ("--3", "3"),
        ("0x10 % BLOCK", "16 % BLOCK"),
        ("min(rows, count, 3)", "min(rows, count, 3)"),
        ("length(table) + stride(table, 1)", "length(table) + stride(table, 1)"),
        ("length(table, 0)", "length(table)"),
        ("stride(table,-1)", "stride(table, -1)"),
        ("rank( table )+itemsize(table)", "rank(table) + itemsize(table)"),
        ("address(plan.extra) % 16", "address(plan.extra) % 16"),
    ],
)
def test_integers_bind_as_in_python(text, canonical):
    tree = parse(text, SCOPE, Type.INTEGER)
    assert SourcePrinter().show(tree) == canonical
    assert parse(canonical, SCOPE, Type.INTEGER) == tree


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0<=rows<BLOCK", "0 <= rows < BLOCK"),
        ("not rows<1", "not rows < 1"),
        ("not (not ready)", "not not ready"),
        ("ready or rows<1 and count<1", "ready or rows < 1 and count < 1"),
        ("(ready or rows<1) and count<1", "(ready or rows < 1) and count < 1"),
        ("ready implies rows<1 implies count<1", "ready implies rows < 1 implies count < 1"),
        ("(ready implies rows<1) implies count<1", "(ready implies rows < 1) implies count < 1"),
        ("ready or rows<1 implies count<1", "ready or rows < 1 implies count < 1"),
        ("mode!=fast", "mode != fast"),
        ("not mode==fast", "mode != fast"),
        ("not present(plan.extra)", "not present(plan.extra)"),
    ],
)
def test_truth_values_bind_as_in_python_and_implies_last(text, canonical):
    tree = parse(text, SCOPE, Type.TRUTH)
    assert SourcePrinter().show(tree) == canonical
    assert parse(canonical, SCOPE, Type.TRUTH) == tree


def test_whatever_is_asked_of_an_absent_optional_tensor_is_0():
    values = Values(names={}, shapes={"plan.extra": None}, strides={"plan.extra": None})
    for node in (Length("plan.extra", 0), Stride("plan.extra", 0), Stride("plan.extra", -1)):
        assert evaluate(node, values) == 0
    for of_a_tensor in (Rank, Itemsize, Address):
        assert evaluate(of_a_tensor("plan.extra"), values) == 0


LISTED = {
    "parts": Symbol(name="parts", kind=Kind.LIST),
    "table": SCOPE["table"],
}


def test_items_of_a_list_are_counted():
    tree = parse("count(parts) <= 3", LISTED, Type.TRUTH)
    assert tree == Compare(Count("parts"), (("<=", Integer(3)),))
    assert SourcePrinter().show(tree) == "count(parts) <= 3"
    assert WordsPrinter().show(tree) == "the length of parts is at most 3"
    assert PythonPrinter().show(tree) == "len(parts) <= 3"
    for number, kept in ((3, 1), (4, 0)):
        values = Values(names={}, shapes={}, strides={}, counts={"parts": number})
        assert evaluate(tree, values) == kept


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("count(table)", "`table` is a tensor, not a list"),
        ("rank(parts)", "`parts` is a list, not a tensor"),
        ("address()", "`)` stands where a name is wanted"),
        ("itemsize(table, 0)", "`)` is missing"),
        ("count(part)", "unknown name `part`"),
    ],
)
def test_functions_of_lists_and_tensors_take_nothing_else(text, message):
    with pytest.raises(ExprError, match="^" + re.escape(message) + "$"):
        parse(text, LISTED, Type.INTEGER)


def test_division_rounds_down():
    values = Values(names={"rows": -7}, shapes={}, strides={})
    assert evaluate(parse("rows // 2", SCOPE, Type.INTEGER), values) == -4
    assert evaluate(parse("rows % BLOCK", SCOPE, Type.INTEGER), values) == 1


# Limits -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 5000 + "1" + ")" * 5000, "this is too long an expression"),
        ("(" * 60 + "1" + ")" * 60, "this is nested too deeply"),
        ("-" * 60 + "rows", "this is nested too deeply"),
        ("min(1, " * 45 + "rows" + ")" * 45, "this is nested too deeply"),
        ("rows" + " + rows" * 5000, "this is too long an expression"),
        ("9" * 5000, "this number does not fit in 64 bits"),
        ("007", "`007` begins with a zero"),
        ("1.5", "`.` has no meaning in an expression"),
        ("rows ** 2", "`*` stands where a value is wanted"),
        ("__import__(rows)", "unknown function `__import__`"),
        ("'rows'", "`'` has no meaning in an expression"),
        ("table[0]", "`table` is a tensor, and a rule never reads what is in one"),
        ("lambda: 1", "`:` has no meaning in an expression"),
        ("", "this is empty"),
    ],
)
def test_whatever_is_no_expression_is_refused_by_name(text, message):
    with pytest.raises(ExprError, match="^" + re.escape(message) + "$"):
        parse(text, SCOPE, Type.INTEGER)


def test_the_longest_expression_can_be_printed_and_walked():
    text = " and ".join(["ready"] * (MAX_TOKENS // 2 - 1)) + " or ready"
    tree = parse(text, SCOPE, Type.TRUTH)
    assert SourcePrinter().show(tree) == text
    text = " + ".join(["rows"] * (MAX_TOKENS // 2))
    tree = parse(text, SCOPE, Type.INTEGER)
    assert SourcePrinter().show(tree) == WordsPrinter().show(tree) == text
    assert names_in(tree) == ("rows",)


# Words --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rules():
    """Our own rules by id."""
    return {rule.id: rule.require for rule in read_spec(SPEC, "spec").all_rules()}


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("VerifyPlan.verify_capacity_positive", "verify_capacity is greater than 0"),
        ("plan_offsets.bs_range", "bs is at least 0 and at most PLAN_BS_BLOCK_SIZE (4096)"),
        ("plan_offsets.has_swa_lut_is_bool", "has_swa_lut is a bool"),
        (
            "plan_offsets.lut_len_positive_with_lut",
            "if has_swa_lut is true, then lut_len is greater than 0",
        ),
        ("plan_offsets.lut_len_zero_without_lut", "if has_swa_lut is false, then lut_len equals 0"),
        (
            "plan_offsets.write_offsets_len_is_capacity_plus_one",
            "write_offsets_len equals write_req_capacity + 1",
        ),
        (
            "plan_entries.expected_tokens_need_valid_lens",
            (
                "if req_to_verify_expected_tokens is given, "
                "then req_to_verify_expected_tokens_valid_lens is given"
            ),
        ),
    ],
)
def test_our_rules_read_as_english(rules, rule, words):
    assert WordsPrinter().show(rules[rule]) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not 0 <= rows", "0 is greater than rows"),
        ("not (ready and rows < 1)", "ready is false, or rows is at least 1"),
        ("not (ready or rows < 1)", "ready is false, and rows is at least 1"),
        ("not (ready implies rows < 1)", "ready is true, and rows is at least 1"),
        ("not is_bool(ready)", "ready is not a bool"),
        ("not present(plan.extra)", "plan.extra is not given"),
        ("mode != fast", 'mode is not "fast"'),
        ("rows < min(count, 3)", "rows is less than the smaller of count and 3"),
        ("rows < max(count, 3, BLOCK)", "rows is less than the largest of count, 3 and BLOCK (4)"),
        ("rows == count == 3", "count equals rows and equals 3"),
        ("not 0 < rows < 3", "it is not so that rows is greater than 0 and less than 3"),
        ("length(table, 1) == stride(table, 0)", "table.shape[1] equals table.stride(0)"),
        ("stride(table, -1) == 1", "table.stride(-1) equals 1"),
        ("rank(table) == 2", "table.dim() equals 2"),
        (
            "address(table) % 16 == itemsize(table)",
            "table.data_ptr() % 16 equals table.itemsize",
        ),
    ],
)
def test_words_for_every_turn_of_phrase(text, words):
    assert WordsPrinter().show(parse(text, SCOPE, Type.TRUTH)) == words


# A solver's notation is one more printer ----------------------------------------------------------


class SmtPrinter(Printer):
    """Shows a tree as an SMT-LIB term over integers."""

    def group(self, text):
        return text

    def integer(self, value):
        return str(value) if value >= 0 else f"(- {-value})"

    def constant(self, name, value):
        return self.integer(value)

    def name(self, name, kind):
        return name

    def present(self, tensor):
        return f"present.{tensor}", self.ATOM

    def length(self, tensor, axis):
        return f"length.{tensor}.{axis}"

    def stride(self, tensor, axis):
        return f"stride.{tensor}.{axis}"

    def rank(self, tensor):
        return f"rank.{tensor}"

    def itemsize(self, tensor):
        return f"itemsize.{tensor}"

    def address(self, tensor):
        return f"address.{tensor}"

    def count(self, name):
        return f"count.{name}"

    def is_bool(self, flag):
        return f"is_bool.{flag}"

    def chosen(self, choice, member):
        return f"(= {choice} {choice}.{member})", self.ATOM

    def arithmetic(self, operator, left, right):
        return f"({ {'//': 'div', '%': 'mod'}.get(operator, operator) } {left} {right})"

    def extreme(self, function, items):
        *rest, shown = items
        sign = "<=" if function == "min" else ">="
        for item in reversed(rest):
            shown = f"(let ((a {item}) (b {shown})) (ite ({sign} a b) a b))"
        return shown

    def compare(self, first, rest):
        parts = []
        for operator, item in rest:
            sign = {"==": "=", "!=": "distinct"}.get(operator, operator)
            parts.append(f"({sign} {first} {item})")
            first = item
        return parts[0] if len(parts) == 1 else f"(and {' '.join(parts)})"

    def negation(self, item):
        return f"(not {item})"

    def every(self, items):
        return f"(and {' '.join(items)})"

    def either(self, items):
        return f"(or {' '.join(items)})"

    def implies(self, left, right):
        return f"(=> {self.show(left)} {self.show(right)})", self.ATOM


def read_smt(text):
    """Nested lists out of an SMT-LIB term."""
    stack = [[]]
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    ((term,),) = stack
    return term


def run_smt(term, names):
    """What a term means."""
    if isinstance(term, str):
        return int(term) if term.isdigit() else names[term]
    operator, *items = term
    if operator == "let":
        bound = {name: run_smt(value, names) for name, value in items[0]}
        return run_smt(items[1], names | bound)
    values = [run_smt(item, names) for item in items]
    return {
        "+": lambda a, b: a + b,
        "-": lambda a, b=None: -a if b is None else a - b,
        "*": lambda a, b: a * b,
        "div": lambda a, b: a // b,
        "mod": lambda a, b: a % b,
        "ite": lambda a, b, c: b if a else c,
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
        "=": lambda a, b: a == b,
        "distinct": lambda a, b: a != b,
        "not": lambda a: not a,
        "and": lambda *all_: all(all_),
        "or": lambda *any_: any(any_),
        "=>": lambda a, b: not a or b,
    }[operator](*values)


def test_a_rule_as_a_solver_reads_it(rules):
    shown = SmtPrinter().show(rules["plan_offsets.bs_range"])
    assert shown == "(and (<= 0 bs) (<= bs 4096))"


@often
@given(st.one_of(TRUTHS, NUMBERS), VALUES)
def test_a_solver_would_read_what_the_tree_means(tree, values):
    names = dict(values.names) | {"mode.fast": "fast", "mode.exact": "exact"}
    names |= {"is_bool.ready": isinstance(values.names["ready"], bool)}
    for name, shape in values.shapes.items():
        names[f"present.{name}"] = shape is not None
        names[f"rank.{name}"] = len(shape or ())
        names[f"itemsize.{name}"] = values.itemsizes[name]
        names[f"address.{name}"] = values.addresses[name]
        names[f"stride.{name}.-1"] = (values.strides[name] or (0,))[-1]
        for axis in range(2):
            present = shape is not None and axis < len(shape)
            names[f"length.{name}.{axis}"] = shape[axis] if present else 0
            names[f"stride.{name}.{axis}"] = values.strides[name][axis] if present else 0
    assert run_smt(read_smt(SmtPrinter().show(tree)), names) == evaluate(tree, values)
