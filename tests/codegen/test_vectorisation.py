"""Contiguous loops use the widest vectors that the machine has."""

import re

import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

import jitrt
from jitrt.codegen.context import code_generator
from jitrt.codegen.countedloops import is_serial
from jitrt.codegen.procedures import emit_procedure
from jitrt.frontend.control.stage import stage
from jitrt.ir.loops import For, statements_within

features = code_generator()._tm_features
widest = "zmm" if "+avx512f" in features else "ymm" if "+avx2" in features else None
x = np.arange(1.0, 101.0)


@pytest.mark.skipif(widest is None, reason="not an x86-64 processor with AVX2")
@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda a, b: a * b + 1.0, (x, x)),
        (lambda a: np.sqrt(a) / 3.0, (x.astype(np.float32),)),
        (lambda a: np.exp(a) + np.sin(a), (x,)),
        (lambda a: a.sum(), (x,)),
        (lambda a: a.max(axis=-1), (x.reshape(10, 10),)),
        (lambda a: (a * a).sum(axis=0), (x.reshape(5, 20),)),
        (lambda a: np.where(a > 5, a, -a), (x.astype(np.int32),)),
        (lambda a: a[:, 1:] - a[:, :-1], (x.reshape(5, 20),)),
    ],
    ids="chain float32 functions sum maximum columns where stencil".split(),
)
def test_wide_registers(function, arguments):
    (kernel,) = jitrt.jit(function).explain(*arguments).kernels
    assert widest in kernel.assembly


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_functions_of_constants_in_a_loop(dtype):
    """A constant argument must not change the signature of a function that has vector variants."""

    def f(x):
        return np.arctan2(x, 2.0) + np.arctan2(3.0, x) + np.hypot(x, 2.0) + np.log(np.full(1, 2.0))[0]

    x = np.linspace(0.5, 4, 100).astype(dtype)
    np.testing.assert_allclose(jitrt.jit(f)(x), f(x), rtol=20 * np.finfo(dtype).eps)


@pytest.mark.skipif(widest is None, reason="not an x86-64 processor with AVX2")
@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (lambda a: np.exp(a[::2]), x.astype(np.float32)),
        (lambda a: np.sin(a[::2]), x),
        (lambda a: np.abs(a[::2]), x * 1j),
    ],
    ids="exponential sine modulus".split(),
)
def test_vectors_of_elements_at_a_distance(function, argument):
    """LLVM makes no vectors for a distance of one element alone: the kernel compares no distance with 1."""
    (kernel,) = jitrt.jit(function).explain(argument).kernels
    assert widest in kernel.assembly
    assert not re.search(r"cmpq\s+\$1,", kernel.assembly)


def test_functions_of_elements_at_a_distance_give_what_those_of_neighbours_give():
    rng = np.random.default_rng(1)
    for function in (np.exp, np.abs, np.tan, np.cbrt):
        z = rng.normal(size=203) * 5 if function is not np.abs else rng.normal(size=203) + 1j * rng.normal(size=203)
        compiled = jitrt.jit(lambda z, function=function: function(z))
        for part in (z[::2], z[::-1], z[1::3], z[::-7]):
            assert compiled(part).tobytes() == compiled(part.copy()).tobytes()


@pytest.mark.skipif("+avx512f" not in features, reason="functions are inlined on other machines")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", ["cos", "exp", "arctan2"])
def test_many_functions_are_called_and_give_the_same(name, dtype):
    namespace = {"np": np}
    values = np.linspace(0.1, 9, 101).astype(dtype)
    operands = ", 2 * a" if name == "arctan2" else ""

    def kernel_of(count):
        parts = ", ".join(f"np.{name}(a + {k}{operands})" for k in range(count))
        exec(f"def several(a):\n    return np.stack([{parts}])", namespace)
        (kernel,) = jitrt.jit(namespace["several"]).explain(values).kernels
        return jitrt.jit(namespace["several"])(values), "called" in kernel.llvm

    few, some_are_called = kernel_of(3)
    many, all_are_called = kernel_of(12)
    assert (some_are_called, all_are_called) == (False, True)
    assert few.tobytes() == many[:3].tobytes()


def assembly_of(function, *arguments):
    """The assembly of a staged function."""
    staged = stage(function, arguments)
    with global_compiler_lock:
        name = f"test_{function.__name__}_{'_'.join(str(v.dtype) for v in arguments)}"
        library = code_generator().create_library(name)
        module = library.create_ir_module(library.name)
        emit_procedure(module, staged.procedure, staged.written, name)
        library.add_ir_module(module)
        library.finalize()
    return library.get_asm_str()


def largest_change(x, y):
    for _ in range(50):
        change = x * y - x
        x = x - change
        if np.max(np.abs(change)) < 1e-8:
            break
    return x


def smallest_of_products(x, y):
    total = 0.0
    for k in range(50):
        low = (x * y).min()
        if low < total:
            break
        total += low * k
    return total


@pytest.mark.skipif(widest is None, reason="not an x86-64 processor with AVX2")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("function", "name"), [(largest_change, "max"), (smallest_of_products, "min")])
def test_extremes_in_staged_loops(function, name, dtype):
    """A loop that ends on an extreme of an array is found in vectors; a nan in any of their lanes is the result."""
    values = np.random.default_rng(1).random(100).astype(dtype)
    letter = "d" if dtype is np.float64 else "s"
    assert re.search(rf"v{name}p{letter}\s.*%[yz]mm", assembly_of(function, values, values))
    compiled = jitrt.jit(function)
    for size in (1, 3, 8, 17, 100):
        for place in (None, 0, size // 2, size - 1):
            x = np.linspace(0.5, 1.5, size).astype(dtype)
            if place is not None:
                x[place] = np.nan
            with np.errstate(invalid="ignore"):
                np.testing.assert_allclose(compiled(x, x), function(x, x), rtol=1e-5)


def halved_inverses(x, y):
    if x[0] > 5:
        for k in range(3):
            for i in range(len(x)):
                y[i] = 0.5 / x[i] - y[i] * k
    return y


@pytest.mark.skipif(widest is None, reason="not an x86-64 processor with AVX2")
def test_conditions_around_a_loop():
    """What conditions hold in their place is no loop as a whole."""
    assert re.search(r"vdivpd\s.*%[yz]mm", assembly_of(halved_inverses, np.ones(100), np.ones(100)))


def best_ends(x, h):
    for j in range(1, len(x)):
        h[j] = max(0.0, h[j - 1] - 1.0, x[j] * 2.0)


def downwards(x, h):
    for j in range(len(x) - 2, -1, -1):
        h[j] = x[j] + h[j + 1] * 0.5


def running(x, h):
    s = 0.0
    for j in range(len(x)):
        s = s * 0.5 + x[j]
        h[j] = s


def elements(x, h):
    for j in range(1, len(x)):
        h[j] = max(0.0, x[j - 1] - 1.0, h[j] * 2.0)


def counted(x, h):
    k = 0
    for j in range(len(x)):
        if x[j] * 2.0 > h[j]:
            k += 1
    return k


def far_apart(x, h):
    for j in range(8, len(x)):
        h[j] = max(x[j], h[j - 8] * 0.5)


def ahead(x, h):
    for j in range(len(x) - 1):
        h[j] = max(x[j], h[j + 1] * 0.5)


@pytest.mark.parametrize("function", [best_ends, downwards, running], ids=lambda f: f.__name__)
def test_loops_that_wait_for_the_turn_before(function):
    assert [is_serial(s) for s in loops_of(function)] == [True]


@pytest.mark.parametrize("function", [elements, counted, far_apart, ahead], ids=lambda f: f.__name__)
def test_loops_that_may_become_loops_of_vectors(function):
    assert [is_serial(s) for s in loops_of(function)] == [False]


def loops_of(function):
    return [s for s in statements_within(stage(function, [x, x + 1]).procedure.body) if isinstance(s, For)]
