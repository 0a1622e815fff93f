"""Comparisons that raise no flag for nan, as NumPy's do.

x86 code that LLVM makes of ``fcmp`` is quiet where it branches. Masks, of vectors and of scalars, it makes with the
predicates that raise the invalid flag for a quiet nan, and of a selection of the smaller or larger operand one
instruction that does so, too. What a kernel computed with a flag up is computed again by NumPy, to say what happened:
each nan in the data would cost what was gained. The instructions that LLVM has for functions that look at flags are
quiet everywhere; its optimiser knows little about them, so they take the place of the others behind the last pass.
So it is with a half in a register of which nothing else is known. Few processors compute with halves: they become
wider and the results narrower again, and so does whatever lies in the register beside them.

Conversions to integers are the opposite: what is out of range has to raise the flag, whether or not the integer is
chosen in the end. LLVM makes branches of selections, and moves what only one side wants behind them; with AVX-512 it
converts under a mask what a selection of vectors chooses.

    %m = fcmp ogt <4 x double> %a, %b  →  %m = call <4 x i1> @llvm.experimental.constrained.fcmp.v4f64(%a, %b, "ogt")
"""

from __future__ import annotations

import re

_OPERAND = r"<[^>]*>|splat \([^)]*\)|[^,\s]+"
_COMPARISON = re.compile(
    r"^  (?P<target>%\S+) = fcmp (?:\w+ )*?(?P<order>[ou](?:lt|le|gt|ge|eq)|une|one|uno|ord) "
    r"(?P<type>(?:<(?P<lanes>\d+) x )?(?P<element>double|float|half)>?) "
    rf"(?P<x>{_OPERAND}), (?P<y>{_OPERAND})(?=,|\n)",
    re.MULTILINE,
)
_WIDENING = re.compile(r"^  (?P<target>%\S+) = fpext half (?P<x>\S+) to (?P<element>double|float)$", re.MULTILINE)
_NARROWING = re.compile(r"^  (?P<target>%\S+) = fptrunc float (?P<x>\S+) to half$", re.MULTILINE)
_ARITHMETIC = re.compile(
    r"^  (?P<target>%\S+) = (?P<operation>f(?:add|sub|mul|div|rem) (?:\w+ )*?)half (?P<x>[^\s,]+), (?P<y>\S+)$",
    re.MULTILINE,
)
_FUNCTION_OF_HALF = re.compile(  # of one operand, but for those that only change the sign
    r"^  (?P<target>%\S+) = (?:tail )?call half @llvm\.(?P<name>(?!fabs)\w+)\.f16\(half (?P<x>[^\s,]+)\)$", re.MULTILINE
)
_TRUNCATION = re.compile(
    r"^  (?P<target>%\S+) = fpto(?P<sign>[su])i (?P<type>(?:<(?P<lanes>\d+) x )?(?P<element>double|float|half)>?) "
    rf"(?P<x>{_OPERAND}) to (?P<result>(?:<\d+ x )?(?P<integer>i\d+)>?)(?=,|\n)",
    re.MULTILINE,
)
_BRANCH = re.compile(r"^  br i1 (%[^\s,]+),", re.MULTILINE)
_INFINITY = re.compile("0x[7F]FF0000000000000|0xH[7F]C00")  # "equal" to it becomes "not less" in code generation
_FUNCTION = re.compile(r"^define .*?^}$", re.MULTILINE | re.DOTALL)
_SUFFIX = {"double": "f64", "float": "f32"}
_IGNORE = 'metadata !"fpexcept.ignore"'
_STRICT = 'metadata !"fpexcept.strict"'


def with_quiet_comparisons(text: str) -> str | None:
    """LLVM assembly with the instructions above replaced; None if it has none.

    Examples
    --------
    >>> text = "define void @f(<4 x float> %a) {\\n  %m = fcmp olt <4 x float> %a, zeroinitializer\\n  ret void\\n}\\n"
    >>> "  %m = call <4 x i1> @llvm.experimental.constrained.fcmp.v4f32(<4 x f" in with_quiet_comparisons(text)
    True
    """
    writer = _Writer()
    changed = _FUNCTION.sub(writer.function, text)
    declared = [line for name, line in writer.declarations.items() if f" {name}(" not in text]
    return changed + "".join(declared) if writer.declarations else None


class _Writer:
    """What replaces matches of the patterns above; collects the declarations of what it calls."""

    def __init__(self) -> None:
        self.declarations: dict[str, str] = {}
        self.branches: frozenset[str] = frozenset()

    def function(self, found: re.Match[str]) -> str:
        self.branches = frozenset(_BRANCH.findall(found[0]))
        text = found[0]
        for pattern, replacement in (
            (_TRUNCATION, self.truncation),
            (_COMPARISON, self.comparison),
            (_ARITHMETIC, self.arithmetic),
            (_FUNCTION_OF_HALF, self.function_of_half),
            (_WIDENING, self.widening),  # those of the replacements above among them, and so
            (_NARROWING, self.narrowing),
        ):
            text = pattern.sub(replacement, text)
        return text

    def comparison(self, found: re.Match[str]) -> str:
        target, order, kind, lanes, element, x, y = found.groups()
        is_order = order[1] in "lg" or _INFINITY.search(y)
        is_half = element == "half" and lanes is None
        if not is_half and (not is_order or (lanes is None and target in self.branches)):
            return found[0]
        widened = ""
        if element == "half":  # what few processors compare
            element, wide, name = "float", kind.replace("half", "float"), f"%quiet.{target[1:]}"
            widened = f"  {name}.x = fpext {kind} {x} to {wide}\n  {name}.y = fpext {kind} {y} to {wide}\n"
            kind, x, y = wide, f"{name}.x", f"{name}.y"
        vector = f"v{lanes}" if lanes else ""
        result = f"<{lanes} x i1>" if lanes else "i1"
        called = self._declared(f"fcmp.{vector}{_SUFFIX[element]}", result, f"{kind}, {kind}, metadata")
        return f'{widened}  {target} = call {result} {called}({kind} {x}, {kind} {y}, metadata !"{order}", {_IGNORE})'

    def arithmetic(self, found: re.Match[str]) -> str:
        target, operation, x, y = found.groups()
        name = f"%wide.{target[1:]}"
        widened = f"  {name}.x = fpext half {x} to float\n  {name}.y = fpext half {y} to float\n"
        return f"{widened}  {name} = {operation}float {name}.x, {name}.y\n  {target} = fptrunc float {name} to half"

    def function_of_half(self, found: re.Match[str]) -> str:
        target, called, x = found.groups()
        name, wide = f"%wide.{target[1:]}", f"@llvm.{called}.f32"
        self.declarations[wide] = f"declare float {wide}(float)\n"
        widened = f"  {name}.x = fpext half {x} to float\n  {name} = call float {wide}(float {name}.x)\n"
        return f"{widened}  {target} = fptrunc float {name} to half"

    def narrowing(self, found: re.Match[str]) -> str:
        called = self._declared("fptrunc.f16.f32", "half", "float, metadata")
        return f'  {found[1]} = call half {called}(float {found[2]}, metadata !"round.tonearest", {_IGNORE})'

    def widening(self, found: re.Match[str]) -> str:
        target, x, element = found.groups()
        called = self._declared(f"fpext.{_SUFFIX[element]}.f16", element, "half")
        return f"  {target} = call {element} {called}(half {x}, {_IGNORE})"

    def truncation(self, found: re.Match[str]) -> str:
        target, sign, kind, lanes, element, x, result, integer = found.groups()
        vector, widened = f"v{lanes}" if lanes else "", ""
        if element == "half":  # LLVM leaves out the way by single precision, which the processor takes
            element, wide, name = "float", kind.replace("half", "float"), f"%strict.{target[1:]}"
            widened, kind, x = f"  {name} = fpext {kind} {x} to {wide}\n", wide, name
        called = self._declared(f"fpto{sign}i.{vector}{integer}.{vector}{_SUFFIX[element]}", result, kind)
        return f"{widened}  {target} = call {result} {called}({kind} {x}, {_STRICT})"

    def _declared(self, name: str, result: str, operands: str) -> str:
        called = f"@llvm.experimental.constrained.{name}"
        self.declarations[called] = f"declare {result} {called}({operands}, metadata)\n"
        return called
