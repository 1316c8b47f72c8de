"""What the implied rules mean: one text for each kind, said of any argument."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kv_canary_codegen import expr as language
from kv_canary_codegen import layout
from kv_canary_codegen.checks import Check, CheckKind, message_of
from kv_canary_codegen.expr import WordsPrinter
from kv_canary_codegen.model import (
    Described,
    Kernel,
    ListArgument,
    Piece,
    Project,
    ScalarArgument,
    ScalarKind,
    StructArgument,
    TensorArgument,
    TypeName,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindText:
    """What one kind of implied rule means; `{name}` and `{expected}` are filled in."""

    message: str
    meaning: str
    causes: tuple[str, ...]
    fix: tuple[str, ...]


KIND_TEXTS: dict[CheckKind, KindText] = {
    CheckKind.REQUIRED: KindText(
        message="{name} is required",
        meaning="Nothing can be done without this argument.",
        causes=("None passed for something that is not optional.",),
        fix=("Pass {expected}.",),
    ),
    CheckKind.TYPE: KindText(
        message="{name} must be {expected}, got ...",
        meaning="The argument is an object of another kind.",
        causes=(
            "A list or a numpy array where a tensor belongs.",
            "A 0-D tensor or a bool where a plain int belongs.",
        ),
        fix=("Pass {expected}.",),
    ),
    CheckKind.ITEMS: KindText(
        message="{name}[...] must be {expected}, got ...",
        meaning="Each item of the list is of one kind.",
        causes=("A bare tensor where the struct that describes it belongs.",),
        fix=("Make {expected} around each item.",),
    ),
    CheckKind.SIZE_TYPE: KindText(
        message="{name} must be int, got ...",
        meaning="A size that is given to the validator is a plain int.",
        causes=("A tensor or a float passed as a size.",),
        fix=("Leave {name} out: it is read from the arguments.",),
    ),
    CheckKind.INT64: KindText(
        message="{name} must fit in int64, got ...",
        meaning="Kernels compute with 64-bit integers.",
        causes=("A sentinel such as 2**64 - 1 passed as an ordinary number.",),
        fix=("Pass {expected}.",),
    ),
    CheckKind.NON_NEGATIVE: KindText(
        message="{name} must be non-negative, got ...",
        meaning="A size counts elements; 0 leaves its tensors out.",
        causes=("A subtraction that went below zero.",),
        fix=("Pass 0 for none, or how many there are to be.",),
    ),
    CheckKind.CONTIGUOUS: KindText(
        message="{name} must be contiguous",
        meaning="The kernel walks the memory of this tensor without strides.",
        causes=("A slice with a step, a transpose, or a column of a larger table.",),
        fix=(
            "Keep the tensor contiguous where it is made; .contiguous() copies it in every step.",
        ),
    ),
    CheckKind.DTYPE: KindText(
        message="{name} must have dtype {expected}, got ...",
        meaning="The kernel is compiled for this element type and would misread any other.",
        causes=(
            "A tensor made without dtype=.",
            "An index tensor kept in the other integer width.",
        ),
        fix=("Make the tensor with dtype={expected}.",),
    ),
    CheckKind.RANK: KindText(
        message="{name} must be {expected}, got shape ...",
        meaning="The number of dimensions is part of what the argument is.",
        causes=("An unsqueeze or a squeeze too many.", "A scalar tensor for a batch of one."),
        fix=("Pass a tensor that is {expected}.",),
    ),
    CheckKind.LENGTH: KindText(
        message="{name} length must be {expected}, got ...",
        meaning="The same size stands in several arguments, and the first to have it fixes it.",
        causes=(
            "Tensors of two different batches in one call.",
            "A buffer allocated for another capacity.",
        ),
        fix=("Pass a tensor of {expected} entries; the error says which argument fixed the size.",),
    ),
    CheckKind.DEVICE: KindText(
        message="{name} must be on {expected}, got ...",
        meaning="One launch runs on one device, and reads and writes only there.",
        causes=("A tensor made without device=.", "Ranks of a tensor-parallel group mixed up."),
        fix=("Make the tensor on {expected}.",),
    ),
}


def expected_of(check: Check, kernel: Kernel) -> str:
    """What an implied rule wants, in words."""
    subject = check.subject
    match check.kind:
        case CheckKind.SIZE_TYPE:
            return "int"
        case CheckKind.INT64:
            return "an int in [-2**63, 2**63 - 1]"
        case CheckKind.REQUIRED | CheckKind.TYPE:
            return wanted_type(subject)
        case CheckKind.ITEMS:
            assert isinstance(subject, ListArgument)
            return f"a {subject.struct}"
        case CheckKind.DEVICE:
            return f"{kernel.reference_tensor.called}'s device"
    assert isinstance(subject, TensorArgument)
    match check.kind:
        case CheckKind.CONTIGUOUS:
            return "a contiguous tensor"
        case CheckKind.DTYPE:
            return f"torch.{subject.type.dtype.value}"
        case CheckKind.RANK:
            return f"{subject.type.rank}-D"
        case _:
            sign = "at least " if check.dim.at_least else ""
            return sign + WordsPrinter().show(check.dim.expr)


def wanted_type(subject: object) -> str:
    """What kind of object an argument is, in an error's words."""
    if isinstance(subject, TensorArgument):
        return "a torch.Tensor"
    if isinstance(subject, StructArgument):
        return f"a {subject.struct}"
    if isinstance(subject, ListArgument):
        return f"a tuple or list of {subject.struct}"
    assert isinstance(subject, ScalarArgument)
    if subject.kind is ScalarKind.CHOICE:
        return "one of " + "/".join(subject.choices)
    if subject.kind is ScalarKind.ENUM:
        return f"a {subject.enum}"
    return "bool" if subject.kind is ScalarKind.BOOL else "int"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleText:
    """Everything there is to say of one rule."""

    id: str
    owner: str
    """Launcher or allocation that checks it."""
    argument: str
    message: str
    condition: str
    meaning: str
    causes: tuple[str, ...]
    fix: tuple[str, ...]
    wrong: str
    right: str
    related: tuple[str, ...]

    def show(self) -> str:
        """As `explain` prints it."""

        def line(text: str, lead: str = "") -> str:
            return layout.wrapped(lead + text, hang=len(lead) + (0 if lead == "  - " else 2))

        lines = [self.id, line(self.message, "  "), ""]
        lines += [line(f"Checked by {self.owner}, about {self.argument}.")]
        if self.condition:
            lines += [line(f"Rule: {self.condition}.")]
        lines += ["", line(self.meaning), "", "Likely causes"]
        lines += [line(cause, "  - ") for cause in self.causes]
        lines += ["", "What to do"]
        lines += [line(fix, "  - ") for fix in self.fix]
        if self.wrong:
            lines += ["", "Wrong", line(self.wrong, "  "), "", "Right", line(self.right, "  ")]
        if self.related:
            lines += ["", line("See also " + ", ".join(self.related))]
        return "\n".join(lines) + "\n"


def implied_text(check: Check, kernel: Kernel, prefix: str) -> RuleText:
    """The text of an implied rule."""
    text = kind_text(
        check.kind,
        prefix=prefix,
        rule=check.id,
        owner=kernel.launcher,
        argument=check.argument,
        name=check.called,
        expected=expected_of(check, kernel),
    )
    own = own_message(check, kernel)
    return replace(text, message=prefix + own) if own else text


def own_message(check: Check, kernel: Kernel) -> str:
    """The message that a kernel or argument words itself, its fields filled in; or nothing."""
    if not isinstance(check.subject, TensorArgument):
        return ""
    text = message_of(kernel, check.subject, check.kind)
    wanted = expected_of(check, kernel)
    for name, value in (
        ("{name}", check.called),
        ("{wanted}", wanted),
        ("{dtype}", wanted.removeprefix("torch.")),
        ("{found}", "..."),
    ):
        text = text.replace(name, value)
    return text


def kind_text(
    kind: CheckKind,
    *,
    prefix: str,
    rule: str,
    owner: str,
    argument: str,
    name: str,
    expected: str,
) -> RuleText:
    """The text of a kind of implied rule, filled in; or with fields, to be filled in later."""
    text = KIND_TEXTS[kind]

    def filled(sentence: str) -> str:
        return sentence.replace("{name}", name).replace("{expected}", expected)

    return RuleText(
        id=rule,
        owner=owner,
        argument=argument,
        message=prefix + filled(text.message),
        condition="",
        meaning=text.meaning,
        causes=tuple(filled(cause) for cause in text.causes),
        fix=tuple(filled(fix) for fix in text.fix),
        wrong="",
        right="",
        related=(),
    )


def message_pattern(pieces: tuple[Piece, ...]) -> str:
    """A written message with its placeholders still in it."""
    shown = []
    printer = language.SourcePrinter()
    for piece in pieces:
        if isinstance(piece, str):
            shown.append(piece)
        elif isinstance(piece, TypeName):
            shown.append(f"{{type({piece.name})}}")
        elif isinstance(piece, Described):
            shown.append(f"{{{piece.what}({piece.tensor})}}")
        else:
            shown.append("{" + printer.show(piece) + "}")
    return "".join(shown)


def backend_texts(project: Project) -> tuple[RuleText, ...]:
    """Rules of choosing a backend, which every launcher shares."""
    variable = f"{project.environment_prefix}_BACKEND"
    prefix = project.message_prefix

    def text(
        rule: str, message: str, condition: str, meaning: str, causes: str, fix: str
    ) -> RuleText:
        return RuleText(
            id=f"backend.{rule}",
            owner="every launcher",
            argument=variable,
            message=prefix + message,
            condition=condition,
            meaning=meaning,
            causes=(causes,),
            fix=(fix,),
            wrong="",
            right="",
            related=(),
        )

    return (
        text(
            "cold_kernel",
            "the ... kernel is not loaded on ... and this stream is capturing a graph; "
            "call warm_up before the capture",
            "the kernel was warmed up or launched on this device before the capture began",
            "Loading a kernel synchronises with the device, which a capture does not allow.",
            "The first launch of a kernel, or of a variant of it, inside a CUDA graph capture.",
            "Call warm_up(device) once before the capture.",
        ),
        text(
            "device",
            "no backend runs on ... tensors; put them on the CPU or on a GPU that Triton supports",
            "the tensors are on the CPU, on CUDA or ROCm, or on XPU",
            "Triton runs on GPUs and the torch reference on the CPU; there is nothing for others.",
            "Tensors made on the meta device, which have no memory.",
            "Put the tensors on the CPU or on a GPU that Triton supports.",
        ),
        text(
            "name",
            f"{variable} must be one of torch, triton, got ...",
            f"{variable} is torch or triton, or not set",
            "The variable overrides the choice that follows from the tensors' device.",
            "A device name, or a misspelt backend, in the environment.",
            f"Unset {variable}, or set it to torch or triton.",
        ),
        text(
            "reference",
            "the torch backend needs the reference ...",
            "the module that the spec names can be imported and has the function",
            "The torch backend runs the reference that a kernel's spec names.",
            "The generated package installed without the package that holds its references.",
            "Install the package that holds the reference, or use the triton backend.",
        ),
        text(
            "variant",
            "no variant of the ... kernel has ...",
            "the values asked for are among those that the kernel is compiled with",
            "A kernel is compiled for a closed set of values, which its page lists.",
            "A block size or format of another version of the kernels.",
            "Leave `only` out, or name values of the kernel's page.",
        ),
        text(
            "triton_missing",
            "the triton backend needs Triton, which cannot be imported: ...",
            "Triton can be imported",
            "Triton comes with torch wherever there is a GPU, and is an extra elsewhere.",
            "A CPU build of torch, and the triton backend asked for.",
            f"Install triton, or unset {variable}.",
        ),
        text(
            "triton_needs_gpu",
            "the triton backend needs GPU tensors, got cpu; ...",
            "the tensors are on a GPU, or TRITON_INTERPRET is 1",
            "Triton compiles for GPUs; its interpreter runs kernels on CPU tensors, slowly.",
            f"{variable}=triton on a machine without a GPU.",
            f"Move the tensors to a GPU, unset {variable}, or set TRITON_INTERPRET=1 before the "
            "first launch.",
        ),
    )
