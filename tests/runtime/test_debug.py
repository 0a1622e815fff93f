"""Debug mode: every way in which a kernel can touch memory that is not its own is found, and nothing else is."""

import numpy as np
import pytest

import jitrt
from jitrt.base.frozen import replaced as replace
from jitrt.errors import JitrtError, MemoryFault
from jitrt.runtime.debug import CANARY, POISONS, DebugFrame
from jitrt.runtime.hostframes import HostFrame
from jitrt.runtime.steps import KernelStep


@pytest.fixture
def debugging(monkeypatch):
    monkeypatch.setenv("JITRT_DEBUG", "1")


def function(x):
    """Three kernels: `a` is read by all, `b` by the last."""
    a = np.sort(x) * 2.0
    b = a[::-1].cumsum()
    return (a + 1.0) * b[::-1], a[::2] - b[1::2].max()


def program():
    return jitrt.jit(function).explain(np.arange(100.0)).compiled.program


def kernels(steps):
    return [k for k, s in enumerate(steps) if isinstance(s, KernelStep)]


def run(made, tampered=lambda steps: steps, declared=lambda steps: steps):
    """Run a debug frame in which the kernels are called as `tampered` says; checks are made for `declared`."""
    frame = DebugFrame(made.graph, tampered(made.steps), made.layout, 1)
    frame.steps = declared(made.steps)
    frame.step_of = {action: k for k, action in enumerate(frame.actions)}
    return frame.run([np.arange(100.0)], 0)


def changed(steps, number, change):
    """`steps` with a kernel call changed."""
    step = steps[number]
    return (*steps[:number], KernelStep(change(step.call), step.kernel), *steps[number + 1 :])


def with_layout(call, operand, **changes):
    layouts = list(call.layouts)
    layouts[operand] = replace(layouts[operand], **changes)
    return replace(call, layouts=tuple(layouts))


def written_operand(call):
    return next(k for k, o in enumerate(call.nest.operands) if o.name.startswith("y"))


def written(made, number):
    """What a kernel writes."""
    call = made.steps[number].call
    return call.layouts[written_operand(call)].base


def read_operand(call):
    return next(k for k, o in enumerate(call.nest.operands) if o.name.startswith("x"))


def test_correct_programs_run(debugging):
    for _ in range(2):
        for got, want in zip(run(program()), function(np.arange(100.0))):
            np.testing.assert_allclose(got, want)


def test_results_are_arrays_of_their_own(debugging):
    for result in jitrt.jit(function)(np.arange(100.0)):
        assert result.base is None or result.base.nbytes == result.nbytes
        assert result.flags.writeable


def test_a_program_runs_in_a_debug_frame_only_when_asked(monkeypatch):
    made = program()
    assert type(made.new_frame()) is HostFrame
    monkeypatch.setenv("JITRT_DEBUG", "1")
    assert type(made.new_frame()) is DebugFrame


def test_writing_behind_the_end_of_a_slot(debugging):
    def longer(call):
        return replace(call, extents=(call.extents[0] + 1, *call.extents[1:]), span=call.span + 1)

    made, found = program(), 0
    for number in kernels(made.steps):
        if made.steps[number].call.span > 1:
            with pytest.raises(MemoryFault, match=f"step {number}, kernel jitrt_.* (writes|reads)"):
                run(made, lambda steps, number=number: changed(steps, number, longer))
            found += 1
    assert found >= 2


def test_writing_in_front_of_a_result(debugging):
    def earlier(call):
        return with_layout(call, written_operand(call), offset=-8)

    made = program()
    last = kernels(made.steps)[-1]
    with pytest.raises(MemoryFault, match=f"step {last}, kernel .* writes"):
        run(made, lambda steps: changed(steps, last, earlier))


def test_writing_into_another_slot(debugging):
    made = program()
    first, second = kernels(made.steps)[:2]
    other = written(made, first)

    def elsewhere(call):
        return with_layout(call, written_operand(call), base=other)

    with pytest.raises(MemoryFault, match=f"step {second}, kernel .* writes to slot f8"):
        run(made, lambda steps: changed(steps, second, elsewhere))


def test_writing_to_an_argument(debugging):
    made = program()
    (argument,) = made.graph.inputs
    first = kernels(made.steps)[0]

    def into_argument(call):
        return with_layout(call, written_operand(call), base=argument)

    with pytest.raises(MemoryFault, match="writes to an argument of the function"):
        run(made, lambda steps: changed(steps, first, into_argument))


def test_reading_a_slot_that_was_not_written(debugging):
    """The first kernel is declared to write half of what the others read."""

    def half(steps):
        first = kernels(steps)[0]
        extents = (steps[first].call.extents[0] // 2,)
        return changed(steps, first, lambda call: replace(call, extents=extents, span=extents[0]))

    with pytest.raises(MemoryFault, match=r"reads slot f8.* before it is written"):
        run(program(), half, half)


def test_what_a_kernel_stores_depends_on_poison(debugging):
    """A kernel reads other memory than it is declared to."""
    made = program()
    second, last = kernels(made.steps)[1], kernels(made.steps)[-1]
    later = written(made, last)

    def unwritten(call):
        return with_layout(call, read_operand(call), base=later, offset=0)

    with pytest.raises(MemoryFault, match=f"step {second}, kernel .* reads memory that was not written"):
        run(made, lambda steps: changed(steps, second, unwritten))


def test_faults_are_internal_errors(debugging, monkeypatch):
    compiled = jitrt.jit(function)
    x = np.arange(100.0)
    compiled(x)

    def faulty(self, *args):
        raise MemoryFault("step 0 writes outside of the frame")

    monkeypatch.setattr(DebugFrame, "_check_operands", faulty)
    with pytest.raises(JitrtError, match="MemoryFault: step 0 writes outside"):
        jitrt.jit(function)(x)


def test_poisons_are_not_canaries():
    assert len({*POISONS, CANARY}) == 3
    assert np.isnan(np.frombuffer(bytes([POISONS[1]] * 8), "f8")).all()


# Whole programs.

PROGRAMS = {
    "updates": lambda x: updated(x),
    "loop": lambda x: jitrt.fori_loop(0, 7, lambda i, y: y * 0.5 + x, x + 1.0),
    "while": lambda x: jitrt.while_loop(lambda y: y.sum() > 1.0, lambda y: y * 0.5, x),
    "choice": lambda x: jitrt.cond(x.sum() > 3.0, lambda y: y + 1.0, lambda y: y - 1.0, x),
    "scan": lambda x: jitrt.scan(lambda s, y: (s + y, s * y), x[0], x),
    "softmax": lambda x: softmax(x.reshape(10, 10)),
    "stencil": lambda x: stencil(x),
    "gather": lambda x: (x * 2.0)[np.arange(99, -1, -3)] + x[::3],
    "numpy": lambda x: np.sort(x * 3.0) + np.median(x + 1.0),
}


def updated(x):
    y = np.zeros(100)
    y[::2] = x[::2]
    y[1::2] += 3 * x[1::2]
    y[3:7] *= y.sum()
    return y


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def stencil(x):
    y = x.copy()
    for _ in range(5):
        y[1:-1] = 0.5 * (y[2:] + y[:-2])
    return y


@pytest.mark.parametrize("name", PROGRAMS)
def test_whole_programs(name, debugging):
    x = np.random.default_rng(0).random(100)
    compiled = jitrt.jit(PROGRAMS[name])
    assert not compiled.explain(x).plain_reason
    for _ in range(2):
        got, want = compiled(x), PROGRAMS[name](x)
        for g, w in zip(*(v if isinstance(v, tuple) else (v,) for v in (got, want))):
            np.testing.assert_allclose(g, w, rtol=1e-12)
