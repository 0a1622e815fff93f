"""The decoder of bytecode against that of the standard library."""

import dis
import importlib.util
import re
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from jitrt.frontend.python.bytecode import NAMES, decoded, do_the_same, line_of, printed_operand, reads_later

MODULES = """argparse ast asyncio.tasks calendar contextlib dataclasses difflib enum functools inspect json.decoder
random statistics tarfile textwrap typing unittest.mock""".split()
WITH_MEANING = frozenset((*dis.hasname, *dis.hasconst, *dis.haslocal, *dis.hasfree, *dis.hasjrel))
SKIPPED = {"CACHE", "EXTENDED_ARG", "PRECALL", "NOP", "NOT_TAKEN"}


def nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested(constant)


def apart(instruction: dis.Instruction) -> list[dis.Instruction]:
    """Those of an instruction on two variables, one on each."""
    if instruction.opname.count("FAST") < 2:
        return [instruction]
    first, second = re.fullmatch("(.*FAST.*)_([A-Z]+_FAST.*)", instruction.opname).groups()
    parts = zip((first, second), instruction.argval, (instruction.arg >> 4, instruction.arg & 15))
    return [instruction._replace(opname=name, argval=value, arg=arg) for name, value, arg in parts]


def name_of(instruction: dis.Instruction) -> str:
    """That which all versions of Python have in common."""
    if instruction.opname == "BINARY_OP" and instruction.argrepr == "[]":
        return "BINARY_SUBSCR"
    return NAMES.get(instruction.opname, instruction.opname)


def compare(code: types.CodeType) -> int:
    """Assert that both decoders agree on `code`; how many instructions it has."""
    wanted = [part for i in dis.get_instructions(code) if i.opname not in SKIPPED for part in apart(i)]
    found = decoded.__wrapped__(code)
    assert [(i.opname, i.offset) for i in found] == [(name_of(i), i.offset) for i in wanted]
    for mine, theirs in zip(found, wanted):
        assert theirs.arg is None or mine.arg == theirs.arg, theirs
        if theirs.opcode in WITH_MEANING and theirs.opname not in ("KW_NAMES", "END_ASYNC_FOR"):  # not known to `dis`
            assert (type(mine.argval), mine.argval) == (type(theirs.argval), theirs.argval), theirs
    return len(found)


@pytest.mark.parametrize("name", MODULES)
def test_modules_of_the_standard_library_are_decoded_as_dis_does(name):
    specification = importlib.util.find_spec(name)
    path = Path(specification.origin)
    count = sum(map(compare, nested(compile(path.read_text(encoding="utf-8"), str(path), "exec"))))
    assert count > 100


def test_operands_of_more_than_one_byte():
    lines = [f"    v{k} = g{k}(x.a{k}, {k}.5) + v{k - 1}" for k in range(1, 900)]
    jump = "    while v899:\n" + "\n".join("    " + line for line in lines)
    text = "def f(x, v0):\n" + "\n".join(lines) + "\n" + jump + "\n    return v899\n"
    for code in nested(compile(text, "long", "exec")):
        assert code.co_name == "<module>" or compare(code) > 5000


def test_cells_that_are_parameters():
    def outer(a, b):
        c = a

        def inner(d):
            nonlocal c
            c = a + d
            return lambda: (b, c, d)

        return inner

    assert all(map(compare, nested(outer.__code__)))


def test_lines_are_those_of_dis():
    for code in nested(compile(Path(textwrap.__file__).read_text(), "textwrap", "exec")):
        for instruction in dis.get_instructions(code):
            if instruction.positions.lineno is not None:
                assert line_of(code, instruction.offset) == instruction.positions.lineno


def test_operators_are_printed_by_their_signs():
    code = compile("a += b - c", "signs", "exec")
    found = [printed_operand(code, i.offset) for i in decoded(code) if i.opname == "BINARY_OP"]
    assert found == ["-", "+="]


def loops(x, limit, steps):
    for k in range(steps):  # noqa: B007
        if x > limit:
            break
        y = x
        x = y * 2
    else:
        z = x
        x = z + 1
    return x, k


def test_variables_that_are_read_later():
    head = next(i.offset for i in decoded(loops.__code__) if i.opname == "FOR_ITER")
    read = {name for name in loops.__code__.co_varnames if reads_later(loops.__code__, head, name)}
    assert read == {"x", "limit", "k"}


def test_variables_that_handlers_and_inner_functions_read_may_be_read_later():
    def caught(x):
        y = x
        try:
            return 1 / x
        except ZeroDivisionError:
            return y

    def enclosed(x):
        y = x
        return lambda: y

    last = [decoded(f.__code__)[-1].offset for f in (caught, enclosed)]
    assert reads_later(caught.__code__, last[0], "y") and not reads_later(caught.__code__, last[0], "x")
    assert reads_later(enclosed.__code__, last[1], "y") and not reads_later(enclosed.__code__, last[1], "x")


def test_copies_of_the_end_do_the_same():
    def run(x, steps):
        for k in range(steps):
            if x > k:
                break
        else:
            return x + 1
        return x

    instructions = decoded(run.__code__)
    ends = [k for k, i in enumerate(instructions) if i.opname == "RETURN_VALUE"]
    starts = [k - 1 for k in ends if instructions[k - 1].argval == "x"]
    others = [k - 3 for k in ends if k - 1 not in starts]
    assert starts and others
    assert all(do_the_same(instructions, a, b) for a in starts for b in starts)
    assert not any(do_the_same(instructions, a, b) for a in starts for b in others)
