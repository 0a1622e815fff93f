"""Operations of the user's own: types, results, rules and compilers, against their references."""

import itertools
import pickle

import numpy as np
import pytest

import jitrt

TYPES = ["f4", "f8", "i4", "i8", "u1", "?"]


def emit_scaled(builder, values, dtypes):
    x, y = values
    if dtypes[0].kind == "f":
        return builder.fadd(builder.fmul(x, y), y)
    return builder.add(builder.mul(x, y), y)


def scaled():
    return jitrt.operation("scaled", ["ll->l", "ff->f", "dd->d"], lambda x, y: x * y + y, emit_scaled)


def assert_same(mine, other):
    assert type(mine) is type(other)
    np.testing.assert_array_equal(mine, other, strict=True) if isinstance(other, np.ndarray) else None
    assert np.asarray(mine).dtype == np.asarray(other).dtype
    np.testing.assert_array_equal(mine, other)


@pytest.mark.wide(times=2)
@pytest.mark.parametrize(("first", "second"), list(itertools.product(TYPES, TYPES)))
def test_types(first, second):
    op = scaled()
    f = jitrt.jit(lambda x, y: (op(x, y), op(x, 2), op(1.5, y) + x, op(x[0], y[1]), op(x[:, None], y)))
    x, y = np.arange(4).astype(first), np.arange(1, 5).astype(second)
    expected = f.__wrapped__(x, y)
    for _ in range(2):
        for mine, other in zip(f(x, y), expected):
            assert_same(mine, other)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 4)])
def test_shapes_and_special_values(shape):
    op = scaled()
    f = jitrt.jit(lambda x, y: op(x * 1.0, y.T))
    x = np.resize([np.nan, -0.0, np.inf, 1e308, -1.0], shape)
    with np.errstate(all="ignore"):
        assert_same(f(x, x.T), f.__wrapped__(x, x.T))


def test_the_reference_warns():
    op = scaled()
    f = jitrt.jit(lambda x: op(x * 1.0, x))
    for function in (f.__wrapped__, f, f):
        function(np.ones(3))
        with pytest.warns(RuntimeWarning, match="overflow"):
            function(np.full(3, 1e308))


def test_it_is_part_of_a_kernel_and_of_a_loop():
    op = scaled()
    f = jitrt.jit(lambda x: np.sqrt(op(x, 2.0)) + 1.0)
    x = np.linspace(0.0, 1.0, 1000)
    assert_same(f(x), f.__wrapped__(x))
    assert "1 kernel" in str(f.explain(x)) and "NumPy executes nothing" in str(f.explain(x))

    @jitrt.jit
    def g(x):
        t = 0.0
        for k in range(len(x)):
            t = op(t, 0.5) + x[k] if t < 1.0 else t - x[k]
        return t

    assert_same(g(x), g.__wrapped__(x))
    assert "scaled" in g.explain(x).loop


def test_without_an_emitter_it_is_a_step():
    op = jitrt.operation("clipped", ["d->d"], lambda x: np.clip(x, 0.0, 1.0))
    f = jitrt.jit(lambda x: op(x * 3.0) + 1.0)
    x = np.linspace(-1.0, 1.0, 9)
    assert_same(f(x), f.__wrapped__(x))
    assert "is compiled" in str(f.explain(x))


def test_two_of_one_name_are_two():
    ops = [
        jitrt.operation("same", ["d->d"], lambda x, k=k: x + k, lambda b, v, _, k=k: b.fadd(v[0], v[0].type(float(k))))
        for k in (1, 2)
    ]
    x = np.arange(3.0)
    for k, op in enumerate(ops):
        assert_same(jitrt.jit(lambda x, op=op: op(x) * 1.0)(x), x + k + 1)


def test_rules_fire_for_their_operation_alone():
    op, other = (
        jitrt.operation(name, ["d->d"], np.negative, lambda b, v, _: b.fneg(v[0])) for name in ("flipped", "other")
    )

    @jitrt.register_rule(op, exact="an involution")
    def flipped_twice(node):
        (x,) = node.args
        return x.args[0] if x.op is node.op else None

    x = np.arange(5.0)
    for used, count in ((op, 1), (other, 0)):
        f = jitrt.jit(lambda x, used=used: used(used(x + 1.0)) * 2.0)
        assert_same(f(x), f.__wrapped__(x))
        assert f.explain(x).rules.get("flipped_twice", 0) == count


def test_compilers_are_asked_once_for_each_object():
    asked = []

    class Shifted:
        def __init__(self, by):
            self.by = by

        def __call__(self, x):
            return x + self.by

    def compiled(shifted):
        asked.append(shifted)
        if shifted.by < 0:
            return None
        return jitrt.operation("shifted", ["d->d"], shifted, lambda b, v, _: b.fadd(v[0], v[0].type(shifted.by)))

    jitrt.register_compiler(Shifted, compiled)
    up, down = Shifted(1.5), Shifted(-1.0)
    f, g = jitrt.jit(lambda x: up(x * 2.0)), jitrt.jit(lambda x: down(x * 2.0))
    x = np.arange(4.0)
    for _ in range(2):
        assert_same(f(x), f.__wrapped__(x))
        assert_same(g(x), g.__wrapped__(x))
    assert asked == [up, down]
    assert "NumPy executes nothing" in str(f.explain(x))


@pytest.mark.parametrize("types", [[], ["d"], ["->d"], ["d->"], ["d->dd"], ["d->d", "dd->d"], "d->d"])
def test_types_that_are_none(types):
    with pytest.raises(ValueError, match="types of an operation"):
        jitrt.operation("wrong", types, np.sin)


def test_operands_that_no_loop_takes():
    op = jitrt.operation("single", ["f->f"], np.sin)
    for f in (op, jitrt.jit(lambda x: op(x))):
        with pytest.raises(TypeError, match="no loop"):
            f(np.ones(2))
        with pytest.raises(TypeError, match="takes 1"):
            op(1, 2)


def test_nothing_is_kept_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("JITRT_CACHE_DIR", str(tmp_path))
    op = scaled()
    jitrt.jit(lambda x: op(x, 3.0) * 19.0)(np.linspace(0.0, 1.0, 11))
    assert not any(b"scaled" in p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())


def test_compiled_objects_get_what_their_operations_have_no_loops_for():
    class Doubled:
        def __init__(self, by):
            self.by = by

        def __call__(self, x):
            return x * self.by

    def compiled(doubled):
        return jitrt.operation("doubled", ["d->d"], doubled, lambda b, v, _: b.fmul(v[0], v[0].type(doubled.by)))

    jitrt.register_compiler(Doubled, compiled)
    double = Doubled(2.0)

    def summed(x):
        t = 0.0
        for v in x:
            t += double(v)
        return t

    f, g = jitrt.jit(lambda x: double(x) + 1), jitrt.jit(summed)
    for _ in range(5):
        for x in (np.arange(4.0), np.arange(4, dtype="f4"), np.arange(4), np.float32(3), np.float64(3), 2.5, 3, True):
            assert_same(f(x), f.__wrapped__(x))
            if np.ndim(x):
                assert_same(g(x), summed(x))


def _product(builder, values, dtypes):
    return builder.fmul(*values)


def test_they_are_pickled():
    product = jitrt.operation("product", ["ff->f", "dd->d"], np.multiply, _product)
    found = pickle.loads(pickle.dumps(product))
    assert repr(found) == repr(product) and found.types == product.types
    x = np.linspace(0, 1, 300)
    compiled = jitrt.jit(lambda x: np.sqrt(found(x, 2.0 + x)))
    for _ in range(3):
        np.testing.assert_array_equal(compiled(x), np.sqrt(x * (2.0 + x)))
    assert not compiled.explain(x).plain_reason


def test_declarations_that_cannot_be_are_refused_at_once():
    with pytest.raises(TypeError, match="no function"):
        jitrt.pure(3)
    with pytest.raises(ValueError, match="no parameter 'y'"):
        jitrt.pure(lambda x: x, writes=["y"])
    with pytest.raises(TypeError, match=r"jitrt\.operation"):
        jitrt.register_rule(np.add, exact="it is no operation of the user's")
    for kind, compiler in ((3, len), (int, None)):
        with pytest.raises(TypeError, match="a class"):
            jitrt.register_compiler(kind, compiler)
