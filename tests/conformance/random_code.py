"""Random programs for the fuzz test, as Python source: a function, what it uses, and ten calls of it.

Statements are added one by one. One that raises in the first call is rarely kept, so that programs do something; in
later calls, with other arguments, it may.
"""

import contextlib
import dataclasses
import enum
import functools
import io
import linecache
import math
import random
import re
import sys
import types
import typing
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import random_code_forms as forms
from random_calls import A, Calls
from random_code_definitions import DEFINITIONS, HELPERS

CALLS = 10
MODULE = "random_code_module"  # the name that each program has
FILE = "<random code"  # how the names of the programs' files begin
LARGEST = 40_000  # elements, digits
MOST_LINES = 4_000  # that a call may run: appending to a list in a loop over it has no end
MOST_BYTES = 1 << 29


@dataclass(frozen=True)
class Program:
    """A function `f`, what stands before it, and its calls.

    Parameters
    ----------
    before : tuple of str
        Definitions of the module.
    head : str
        The parameters of the function.
    statements : tuple of str
        Its body.
    result : str
        What it returns.
    calls : tuple of str
        Each sets `args`, a list, and `err`, the error state.
    """

    before: tuple[str, ...]
    head: str
    statements: tuple[str, ...]
    result: str
    calls: tuple[str, ...]

    @property
    def module(self) -> str:
        body = "\n".join(f"    {line}" for s in self.statements for line in s.split("\n"))
        text = "\n".join([f"def f({self.head}):", *[body] * bool(body), f"    return {self.result}", ""])
        for part in reversed(self.before):
            if any(re.search(rf"\b{name}\b", text + "\n".join(self.calls)) for name in _defined(part)):
                text = f"{part}\n{text}"
        return text

    def __str__(self) -> str:
        calls = "\n".join(f"# call {k}\n{call}\nf(*args)" for k, call in enumerate(self.calls))
        return f"{self.module}\n{calls}"

    def space(self, module: str = "") -> dict[str, Any]:
        """The module, imported anew."""
        source = module or self.module
        name = f"{FILE} {hash(source)}>"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        space = {
            "__name__": MODULE, "np": np, "math": math, "functools": functools,
            "dataclasses": dataclasses,
            "dataclass": dataclass, "NamedTuple": typing.NamedTuple, "enum": enum, "contextlib": contextlib,
            "warnings": warnings, "A": A, "keep": {}, "err": {},
        }  # fmt: skip
        exec(compile(source, name, "exec"), space)
        return space


def _defined(part: str) -> list[str]:
    """The names that a definition gives."""
    found = [line for line in part.split("\n") if line and line[0] not in " @"]
    return [n for line in found for n in re.findall(r"\w+", re.sub(r"^(class|def) |[=(:].*", "", line))]


class Writer:
    """Writes one program.

    Parameters
    ----------
    seed : int
    """

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.values: dict[str, Any] = {}
        self.depth = 0
        self.helpers: list[str] = []
        self.parameters = ["a", "b", "s", "n", "flag"]
        self.is_loud = self.random.random() < 0.2
        self.parameters += [p for p in ("o", "l", "d", "cb", "g") if self.random.random() < 0.3]
        self.program = Program((), self._head(), (), "a", ())

    def _head(self) -> str:
        kinds = {"s": "=0.5", "n": "=2", "flag": "=False"}
        if self.parameters[-1] == "flag" and self.random.random() < 0.3:
            return ", ".join(p + kinds.get(p, "") for p in self.parameters)
        return ", ".join(self.parameters)

    def write(self, length: int) -> Program:
        """A program of up to `length` statements."""
        base = Calls(self.random, self.parameters)
        self.program = replace(self.program, calls=(base.first(),))
        self._definitions()
        self._try(())
        for _ in range(6 * length):
            if len(self.program.statements) >= length:
                break
            self._try((*self.program.statements, self._statement()))
        names = [k for k in self.values if k not in ("n", "flag", "cb", "g")] or ["a"]
        chosen = dict.fromkeys([*self.random.choices(names, k=self.random.randint(1, 3)), names[-1]])
        result = self.random.choice(["({},)", "({},)", "[{}]", "{}"]).format(", ".join(chosen))
        calls = (*self.program.calls, *(base.further(k) for k in range(1, CALLS)))
        return replace(self.program, result=result, calls=calls)

    def _try(self, statements: tuple[str, ...]) -> None:
        program = replace(self.program, statements=statements, result="('locals', locals())")
        try:
            space = program.space()
            exec(program.calls[0], space)
            with quiet(), bounded():
                found = space["f"](*space["args"])
        except (SyntaxError, NameError, TooLong):
            return
        except Exception:
            if statements and self.random.random() < 0.04:
                self.program = replace(self.program, statements=statements)
            return
        if not isinstance(found, tuple) or len(found) != 2 or type(found[0]) is not str or found[0] != "locals":
            return  # the function has returned before its end
        if all(is_moderate(v) for v in (*found[1].values(), space.get("HIST"), space["keep"])):
            self.program, self.values = replace(self.program, statements=statements), found[1]

    def _definitions(self) -> None:
        """What stands before the function: globals, classes, helpers."""
        self.values = {"p": np.ones(3), "q": 0.5}
        parts = [self.fill(text) for text in DEFINITIONS]
        for text in self.random.sample(HELPERS, 4):
            part = self.fill(text.replace("¶", "\n"))
            try:
                space = replace(self.program, before=(*parts, part), statements=("pass",)).space()
                name = re.search(r"(h\d)\b", part)
                assert name
                with quiet(), bounded():
                    space[name[1]](np.arange(6.0).reshape(2, 3) + 1)
            except (Exception, TooLong):
                continue
            parts.append(part)
            self.helpers.append(name[1])
        self.program = replace(self.program, before=tuple(parts))

    def _statement(self) -> str:
        text = self._form(forms.SIMPLE if self.random.random() < 0.7 else forms.BLOCKS)
        if self.is_loud and self.random.random() < 0.2:
            text = self._form(forms.LOUD)
        return re.sub("^ +", lambda m: "    " * len(m[0]), self.fill(text).replace("¶", "\n"), flags=re.M)

    def _form(self, among: list[str]) -> str:
        """One of them, mostly one for whose places there are names."""
        for _ in range(4):
            text = self.random.choice(among)
            if not any(f"<{p}>" in text and p not in self.parameters for p in "oldg") or self.random.random() < 0.2:
                break
        return text

    def fill(self, form: str) -> str:
        """The form with something in each of its places."""
        self.depth += 1
        text = re.sub(r"<([a-zA-Z])>", lambda m: str(getattr(self, f"_{m[1]}")()), form)
        self.depth -= 1
        return text

    def _pick(self, *texts: str) -> str:
        return self.fill(self.random.choice(texts))

    def _named(self, kind: Any) -> list[str]:
        return [k for k, v in self.values.items() if isinstance(v, kind) and not isinstance(v, np.bool)]

    def _E(self) -> str:
        return self.fill(self._form(forms.EXPRESSIONS[:24] if self.random.random() < 0.3 else forms.EXPRESSIONS))

    def _S(self) -> str:
        return self.fill(self._form(forms.SIMPLE))

    def _a(self) -> str:
        names = self._named(np.ndarray)
        if not names or (self.random.random() < 0.3 and self.depth < 5):
            rest = ("BUF", "np.arange(3.0)", "<o>.x", "<l>[0]", "<d>['q']", "<f>(<v>)", "np.zeros(3)", "a.sum()")
            return self._pick(
                "<v>[<c>]", "<v>[::-1]", "<v>.T", "(<a> + <a>)", "(<a> * <s>)", "np.abs(<a>)", "np.<y>(<a>)",
                "<v>.reshape(-1)", self.random.choice(rest),
            )  # fmt: skip
        return names[-1] if self.random.random() < 0.3 else self.random.choice(names)

    def _v(self) -> str:
        names = self._named(np.ndarray) or ["p"]
        if self.depth < 4 and self.random.random() < 0.12:
            return self._pick("<o>.x", "<l>[0]", "<d>['q']", "<v>[<c>]", "BUF", "<v>.T")
        return self.random.choice(names)

    def _b(self) -> str:
        names = [k for k in self._named(np.ndarray) if self.values[k].dtype == bool]
        if names and self.random.random() < 0.5:
            return self.random.choice(names)
        return self._pick(
            "(<v> > <s>)", "(<v> > <s>)", "(<v> == <v>)", "np.isfinite(<v>)", "(<v> <= <v>)", "(<v> != 0)"
        )

    def _s(self) -> str:
        names = [k for k in self._named((float, np.generic)) if k != "s"]
        if names and self.random.random() < 0.25:
            return self.random.choice(names)
        return (
            "q"
            if "p" in self.values and self.random.random() < 0.4
            else self.random.choice(forms.NUMBERS[: -10 if "p" in self.values else None])
        )

    def _n(self) -> str:
        return self.random.choice(["2", "1", "0", "3", "-1"] + ["n"] * 3 * ("n" in self.values))

    def _x(self) -> str:
        return self.random.choice(["0", "-1", "None", "1", "(0, 1)", "0"])

    def _i(self) -> str:
        return self._pick(
            "<c>", "<c>", "[0, -1]", "[1, 1, 0]", "np.array([1, 0])", "<b>", "np.arange(<n>)", "..., [0]", "<n>",
            "[0], 1:", "None, 0", "np.argsort(<v>.ravel())[0]", "np.int64(1)", "(0,)", "()", "[True, False]", "[]",
        )  # fmt: skip

    def _c(self) -> str:
        text = ", ".join(self.random.choices(forms.SLICES, k=1 if self.random.random() < 0.7 else 2))
        return text if "n" in self.values else text.replace("n", "1").replace("No1e", "None")

    def _t(self) -> str:
        return self.random.choice(forms.DTYPES)

    def _u(self) -> str:
        return self.random.choice(forms.BINARY)

    def _y(self) -> str:
        return self.random.choice(forms.UNARY)

    def _among(self, kind: Any, *texts: str) -> str:
        names = self._named(kind)
        return self.random.choice(names) if names and self.random.random() < 0.9 else self._pick(*texts)

    def _l(self) -> str:
        return self._among(list, "[<v>, <v>]", "[<v> * 2]", "TABLE")

    def _d(self) -> str:
        return self._among(dict, "{'p': <s>, 'q': <v>}", "CONF")

    def _o(self) -> str:
        names = [k for k, v in self.values.items() if type(v).__name__ in ("K", "Child")]
        return self.random.choice(names) if names else self._pick("K(<v>, 2)", "Child(<v>)", "OBJ")

    def _f(self) -> str:
        more = ["np.sin", "np.negative", "OPS['two']", "(lambda q: q * 2)", "K.half"] + ["cb"] * ("cb" in self.values)
        return self.random.choice([*self.helpers, *self.helpers, *more])

    def _g(self) -> str:
        return "g" if "g" in self.values else "np.random.default_rng(5)"

    def _w(self) -> str:
        old = [k for k in self.values if k not in ("s", "n", "flag", "o", "l", "d", "cb", "g")]
        if old and self.random.random() < 0.3:
            return self.random.choice(old)
        return f"t{len(self.program.statements)}{self.random.choice('xyz')}"


def is_moderate(value: Any, depth: int = 3) -> bool:
    """Whether a value is not so large that a few more operations would take minutes."""
    if isinstance(value, np.ndarray):
        return value.size <= LARGEST and value.ndim <= 5
    if isinstance(value, int):
        return abs(value) < 1 << 70
    if isinstance(value, (str, list, tuple, dict, set)):
        if len(value) > 400:
            return False
        parts = value.values() if isinstance(value, dict) else () if isinstance(value, str) else value
        return not depth or all(is_moderate(v, depth - 1) for v in parts)
    if type(value).__module__ == MODULE and hasattr(value, "__dict__"):
        return not depth or is_moderate(dict(vars(value)), depth - 1)
    return True


@contextlib.contextmanager
def quiet():
    """Nothing is printed, warned of, or changed for others."""
    state = np.random.get_state()  # noqa: NPY002
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), np.errstate():
        warnings.simplefilter("ignore")
        try:
            yield
        finally:
            np.random.set_state(state)  # noqa: NPY002


class TooLong(BaseException):
    """A program has run `MOST_LINES` lines, or wants `MOST_BYTES`; no handler of its own may see that."""


@contextlib.contextmanager
def bounded():
    """No program runs more than `MOST_LINES` lines here, or uses much more memory than `MOST_BYTES`."""
    count, before = 0, sys.gettrace()

    def trace(frame: types.FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        if not frame.f_code.co_filename.startswith(FILE):
            return None
        count += event == "line"
        if count > MOST_LINES or (event == "exception" and issubclass(arg[0], MemoryError)):
            raise TooLong
        return trace

    with _limited_memory():
        sys.settrace(trace)
        try:
            yield
        finally:
            sys.settrace(before)


@contextlib.contextmanager
def _limited_memory():
    """`MOST_BYTES` more than this process has now, where the system can see to that."""
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        most = int(file.read().split()[0]) * resource.getpagesize() + MOST_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most if before[0] < 0 else min(most, before[0]), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def shrunk(program: Program, fails: Callable[[Program], bool]) -> Program:
    """What is left of a program when parts are taken away as long as it still fails."""
    found = True
    while found:
        found = False
        for smaller in _smaller(program):
            if fails(smaller):
                program, found = smaller, True
                break
    return program


def _smaller(program: Program):
    for k in reversed(range(len(program.calls))):
        if len(program.calls) > 1:
            yield replace(program, calls=program.calls[:k] + program.calls[k + 1 :])
    for k in range(len(program.statements)):
        yield replace(program, statements=program.statements[:k] + program.statements[k + 1 :])
    for k in range(len(program.before)):
        yield replace(program, before=program.before[:k] + program.before[k + 1 :])
    names = program.result.strip("()[],").split(", ")
    for name in names * (len(names) > 1):
        yield replace(program, result=name)
    for field in ("statements", "before", "calls"):
        texts = getattr(program, field)
        for k, text in enumerate(texts):
            lines = text.split("\n")
            for j in range(len(lines) * (len(lines) > 1)):
                rest = "\n".join(lines[:j] + lines[j + 1 :])
                yield replace(program, **{field: (*texts[:k], rest, *texts[k + 1 :])})
            if field == "statements" and len(lines) > 1:  # the inside of a block, without it
                inside = [line[4:] for line in lines[1:] if line.startswith("    ")]
                yield replace(program, statements=(*texts[:k], "\n".join(inside), *texts[k + 1 :]))
