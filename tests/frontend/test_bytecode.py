"""The decoder of bytecode against that of the standard library."""

import dis
import importlib.util
import re
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from jitrt.frontend.python.bytecode import decoded, line_of, printed_operand

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


def compare(code: types.CodeType) -> int:
    """Assert that both decoders agree on `code`; how many instructions it has."""
    wanted = [part for i in dis.get_instructions(code) if i.opname not in SKIPPED for part in apart(i)]
    found = decoded.__wrapped__(code)
    assert [(i.opname, i.offset) for i in found] == [(i.opname, i.offset) for i in wanted]
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
