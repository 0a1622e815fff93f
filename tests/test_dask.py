"""dask: what is compiled of its graphs gives what dask gives, on every scheduler."""

import importlib
import operator
import pickle
import sys

import numpy as np
import pytest
from covering import few

da = pytest.importorskip("dask.array")

import dask  # noqa: E402
from dask._task_spec import TaskRef  # noqa: E402

import jitrt  # noqa: E402
import jitrt.dask  # noqa: E402
from jitrt.dask.fused import Fused  # noqa: E402

RNG = np.random.default_rng(5)
FLOATS = RNG.normal(size=(90, 70))
WITH_NAN = np.where(FLOATS > 1.5, np.nan, FLOATS)


def numbers(dtype=float, chunks=(40, 30)):
    return da.from_array(np.asarray(FLOATS * 9).astype(dtype), chunks=chunks)


def stencil(b):
    return b[1:-1, 1:-1] + 0.25 * (b[2:, 1:-1] + b[:-2, 1:-1] + b[1:-1, 2:] + b[1:-1, :-2])


def smoothed(b):
    return 0.5 * b + 0.25 * (np.roll(b, 1, 0) + np.roll(b, -1, 0))


def scaled_by_place(b, block_id=None):
    return b * block_id[0] + block_id[1]


def from_its_corner(b, block_info=None):
    (first, _), (second, _) = block_info[0]["array-location"]
    return np.sqrt(b * b + first) - second


def normed(b):
    return (b - b.mean(axis=-1, keepdims=True)) / (b.std(axis=-1, keepdims=True) + 1)


PIPELINES = {
    "elementwise": lambda x: np.exp(-(x**2)) * 2 + x - 1,
    "two arrays": lambda x: np.hypot(x, x[::-1]) + np.arctan2(x, 2.0) * x,
    "comparisons": lambda x: da.where(x > 0.5, x * 2, -x),
    "standardised": lambda x: (x - x.mean(axis=0)) / x.std(axis=0),
    "reduced": lambda x: ((x - x.min()) / (x.max() - x.min())).sum(axis=1),
    "variance": lambda x: (x * 2 + 1).var(axis=1, ddof=1),
    "nan reductions": lambda x: da.nanmean(da.where(x > 1, np.nan, x) * 2, axis=0) + da.nanstd(x + 1, axis=0),
    "any and all": lambda x: (abs(x) * 2 > 3).any(axis=0) & (abs(x) - 1 < 40).all(axis=0),
    "argmax": lambda x: (x * 2 - 1).argmax(axis=1),
    "slices": lambda x: x[1:-1] + x[2:] * 3 - x[:-2],
    "steps": lambda x: (x * 2 + 1)[::7, ::-1],
    "fancy": lambda x: (x + 1)[[3, 80, 5]] * 2,
    "masked": lambda x: (x[x > 0.5] * 2 + 1).sum(),
    "transposed": lambda x: (x.T * 2 + 1).T @ x.T,
    "rechunked": lambda x: (x.rechunk((17, 70)) + 1).rechunk((90, 9)) * 2,
    "cumulated": lambda x: (x * 2).cumsum(axis=0) - 1,
    "stacked": lambda x: da.concatenate([x * 2 + 1, x - 1], axis=1) + da.stack([x, x + 1]).sum(axis=0)[:, :1],
    "overlap": lambda x: x.map_overlap(smoothed, depth=1, boundary="reflect"),
    "overlap without boundary": lambda x: x.map_overlap(stencil, depth=1, boundary="none", trim=False, dtype=x.dtype),
    "periodic": lambda x: (x + 1).map_overlap(smoothed, depth={0: 2, 1: 0}, boundary="periodic") * 2,
    "blocks": lambda x: x.map_blocks(normed) + 1,
    "place of a block": lambda x: x.map_blocks(scaled_by_place, dtype=float),
    "corner of a block": lambda x: x.map_blocks(from_its_corner, dtype=float),
    "ones": lambda x: da.ones((90, 70), chunks=(40, 30)) * 3 + x,
    "draws": lambda x: da.random.default_rng(3).normal(size=(90, 70), chunks=(40, 30)) ** 2 + 1,
    "old draws": lambda x: da.random.RandomState(3).uniform(size=(90, 70), chunks=(40, 30)) ** 2 + 1,
    "gufunc": lambda x: da.apply_gufunc(normed, "(i)->(i)", x.rechunk((40, 70)), output_dtypes=float) * 2,
    "decomposed": lambda x: da.linalg.svd((x * 2 + 1).rechunk((40, 70)))[1],
}


def compare(made, exact=False):
    with dask.config.set(scheduler="threads"):
        want = made().compute()
        with jitrt.dask.optimize():
            got = [made().compute() for _ in range(2)]
    for one in got:
        assert type(one) is type(want) and one.dtype == want.dtype and one.shape == want.shape
        if exact or want.dtype.kind not in "fc":
            np.testing.assert_array_equal(one, want)
            if want.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(one), np.signbit(want))
        else:
            tolerance = 1e-5 if want.dtype.char in "fF" else 1e-11
            np.testing.assert_allclose(one, want, rtol=tolerance, atol=tolerance)


def functions_in(array):
    with jitrt.dask.optimize():
        (optimized,) = dask.optimize(array)
    nodes = dict(optimized.__dask_graph__()).values()
    return [node.value for node in nodes if isinstance(getattr(node, "value", None), Fused)]


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines_give_what_dask_gives(name):
    compare(lambda: PIPELINES[name](numbers()))


@pytest.mark.wide(times=2)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f4", "i4", "u1", "c16", "b1"])
@pytest.mark.parametrize("name", ["comparisons", "elementwise", "reduced", "slices", "variance"])
def test_pipelines_of_other_dtypes(name, dtype):
    if dtype == "c16" and name in ("comparisons", "reduced"):
        pytest.skip("complex numbers have no order")
    if dtype == "b1":
        compare(lambda: (PIPELINES["comparisons"](numbers(dtype).astype("i1")) + 1).sum(axis=0))
    else:
        with np.errstate(all="ignore"):
            compare(lambda: PIPELINES[name](numbers(dtype) % 5 if np.dtype(dtype).kind in "iu" else numbers(dtype)))


@pytest.mark.parametrize("shape", [(0, 7), (7, 0), (1, 1), ()])
@pytest.mark.parametrize("name", ["comparisons", "elementwise", "overlap", "steps"])
def test_arrays_of_few_elements(name, shape):
    x = da.from_array(np.full(shape, -0.0), chunks=-1)
    if name in ("overlap", "steps") and (len(shape) < 2 or not all(shape)):
        pytest.skip("dask has no such arrays")
    compare(lambda: PIPELINES[name](x), exact=True)


def test_special_values_keep_their_bits():
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.8e308, 1.0] * 8)
    with np.errstate(all="ignore"):
        compare(lambda: (da.from_array(special, chunks=9) * -1.0 + 0.0) / 3 - 1, exact=True)


@pytest.mark.parametrize("seed", few(range(25), 8))
def test_random_graphs(seed):
    rng = np.random.default_rng(seed)
    unary = [
        np.sin,
        np.negative,
        np.abs,
        lambda x: x * 2,
        lambda x: x**2,
        lambda x: 1 - x,
        lambda x: da.where(x > 0, x, 0.5),
    ]
    shaping = [
        lambda x: x[1:], lambda x: x[:, ::2], lambda x: x.T, lambda x: x.rechunk((13, 11)),
        lambda x: x - x.mean(axis=0), lambda x: x / (1 + x.std()), lambda x: x.map_overlap(smoothed, 1, boundary=0),
        lambda x: x.map_blocks(normed), lambda x: da.concatenate([x, x + 1]),
    ]  # fmt: skip

    def made():
        values = [da.from_array(FLOATS, chunks=tuple(rng.integers(20, 50, 2)))]
        for _ in range(7):
            x = values[rng.integers(len(values))]
            kind = rng.integers(4)
            if kind == 0:
                values.append(shaping[rng.integers(len(shaping))](x))
            elif kind == 1 and values[-1].shape == x.shape:
                values.append([operator.add, operator.mul, np.maximum, np.hypot][rng.integers(4)](x, values[-1]))
            else:
                values.append(unary[rng.integers(len(unary))](unary[rng.integers(len(unary))](x)))
        return values[-1] + 1

    state = rng.bit_generator.state

    def again():
        rng.bit_generator.state = state
        return made()

    compare(again)


def test_tasks_are_compiled():
    x = numbers()
    for name in ("elementwise", "standardised", "overlap", "place of a block"):
        array = PIPELINES[name](x)
        found = functions_in(array)
        assert found
        with jitrt.dask.optimize():
            array.compute()
        assert not [s.plain_reason for f in found for s in f.compiled.signatures() if s.plain_reason]


def test_blocks_share_a_function():
    assert len(functions_in(PIPELINES["elementwise"](numbers(chunks=(10, 10))))) == 1
    with jitrt.dask.optimize():
        one, same = (functions_in(PIPELINES["elementwise"](numbers(chunks=(10, n))))[0] for n in (10, 20))
    assert one is same and pickle.loads(pickle.dumps(one)) is one


def as_they_come(block):
    """A block as a task, another worker, the disk, or a slice gives it."""
    yield block.copy()
    yield np.frombuffer(block.tobytes()).reshape(block.shape)
    yield np.frombuffer(b"." + block.tobytes(), offset=1).reshape(block.shape)
    strides = [8 if n == 1 else stride for n, stride in zip(block.shape, block.strides)]
    yield np.lib.stride_tricks.as_strided(block.copy(), strides=strides)


def joined(a, b):
    return np.sqrt(np.concatenate([a, b]) ** 2 + 1)


def test_blocks_are_alike_wherever_they_come_from():
    """Otherwise each combination has a frame of its own, and workers reach their limit of memory."""
    text = "def fused(a0, a1):\n    return f0(a0, a1)\n"
    function = Fused("test-alike", text, (joined,), "joined")
    large, small = RNG.normal(size=(300, 40)), RNG.normal(size=(1, 40))
    for a in as_they_come(large):
        for b in as_they_come(small):
            np.testing.assert_array_equal(function(a, b), joined(a, b))
    assert function.compiled.cache_info().compiled <= 2


def into_its_block(a, b):
    a *= 2
    return a + b


def block_itself(a, b):
    return np.sqrt(b * b) > 2, a[1:]


@pytest.mark.parametrize("called", [into_its_block, block_itself])
def test_blocks_that_are_written_or_returned_stay_as_they_are(called):
    text = "def fused(a0, a1):\n    return f0(a0, a1)\n"
    function = Fused(f"test-{called.__name__}", text, (called,), called.__name__)
    for _ in range(3):
        a, b, c = np.ones((300, 40)), np.ones((300, 40)), np.ones((300, 40))
        found, wanted = function(a, b), called(c, b)
        np.testing.assert_array_equal(a, c)
        for one, other in zip(*[[r] if isinstance(r, np.ndarray) else r for r in (found, wanted)]):
            np.testing.assert_array_equal(one, other)
            assert one.flags.writeable and np.shares_memory(one, a) == np.shares_memory(other, c)


def test_the_place_of_a_block_is_no_argument():
    """dask hands it to what cuts overlaps off, which would be compiled for each block."""
    x = numbers(chunks=(10, 10)).map_overlap(smoothed, depth=1, boundary="reflect")
    with jitrt.dask.optimize():
        (optimized,) = dask.optimize(x)
    tasks = [t for t in dict(optimized.__dask_graph__()).values() if getattr(t, "func", None) is jitrt.dask._call]
    assert len(tasks) == 63
    assert len({repr([a for a in t.args[1:] if not isinstance(a, TaskRef)]) for t in tasks}) <= 9


def test_one_operation_is_left_to_numpy():
    assert not functions_in(numbers() + 1)
    assert not functions_in(numbers().rechunk((90, 9)))


def test_the_end_of_the_block_restores_what_was():
    default = dask.array.Array.__dask_optimize__
    with jitrt.dask.optimize():
        assert dask.array.Array.__dask_optimize__ is jitrt.dask.optimize_graph
    assert dask.array.Array.__dask_optimize__ is default
    with dask.config.set(array_optimize=jitrt.dask.optimize_graph):
        assert (numbers() + 1).sum().compute() == pytest.approx(FLOATS.sum() * 9 + FLOATS.size)


def test_masked_arrays_are_dasks():
    x = da.ma.masked_invalid(da.from_array(WITH_NAN, chunks=(40, 30)))
    with jitrt.dask.optimize():
        got = [((x - x.mean(axis=0)) / x.std(axis=0) + 1).compute(), (x * 2 + 1).var(axis=1).compute()]
    want = [((x - x.mean(axis=0)) / x.std(axis=0) + 1).compute(), (x * 2 + 1).var(axis=1).compute()]
    for one, other in zip(got, want):
        assert isinstance(one, np.ma.MaskedArray)
        np.testing.assert_array_equal(one.mask, other.mask)
        np.testing.assert_allclose(one.filled(0), other.filled(0), rtol=1e-12, atol=1e-12)


def test_what_functions_do_beside_their_result_they_do_for_each_block():
    seen = []

    def noting(b):
        seen.append(b.shape)
        return b * 2 + 1

    with jitrt.dask.optimize(), dask.config.set(scheduler="sync"):
        numbers().map_blocks(noting, meta=np.empty((0, 0))).compute()
    assert sorted(seen) == sorted(
        [(40, 30), (40, 30), (40, 10), (40, 30), (40, 30), (40, 10), (10, 30), (10, 30), (10, 10)]
    )


@pytest.mark.parametrize("texts", [["b * 2.0", "b * 3.0"], ["np.sin(b)", "np.cos(b)"], ["b * k", "b * k * k"]])
def test_a_module_that_is_loaded_anew(texts, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    name = f"loaded_anew_{abs(hash(tuple(texts)))}"
    for text in texts:
        source = f"import numpy as np\ndef f(b, k=5.0):\n    b = b + 1.0\n    return {text}\n"
        (tmp_path / f"{name}.py").write_text(source)
        module = importlib.import_module(name)
        importlib.reload(module)
        x = np.arange(4.0)
        with jitrt.dask.optimize():
            found = (da.from_array(x, chunks=2).map_blocks(module.f) + 0.5).compute()
        np.testing.assert_allclose(found, module.f(x) + 0.5)
    monkeypatch.delitem(sys.modules, name)


def test_exceptions_are_those_of_the_function():
    def failing(b):
        c = b * 2 + 1
        if c.shape[0] == 10:
            raise LookupError("a block of ten rows")
        return c

    with jitrt.dask.optimize(), pytest.raises(LookupError, match="ten rows"):
        numbers().map_blocks(failing, dtype=float).compute()


@jitrt.jit
def rooted(x):
    return np.sqrt(x * x + 1) - 1


@jitrt.jit
def smoothed_compiled(b):
    return 0.5 * b + 0.25 * (np.roll(b, 1, 0) + np.roll(b, -1, 0))


@jitrt.jit
def walked(x):
    out = np.empty_like(x)
    for row in range(x.shape[0]):
        level = 0.0
        for k in range(x.shape[1]):
            level = 0.9 * level + x[row, k]
            out[row, k] = level
    return out


@pytest.mark.parametrize("optimizes", [False, True])
def test_jit_functions_in_dasks_functions(optimizes):
    x = numbers(chunks=(40, 70))
    data = FLOATS * 9
    with jitrt.dask.optimize() if optimizes else dask.config.set():
        np.testing.assert_allclose(x.map_blocks(rooted).compute(), rooted.__wrapped__(data), rtol=1e-12)
        np.testing.assert_allclose((x.map_blocks(rooted) * 2).compute(), rooted.__wrapped__(data) * 2, rtol=1e-12)
        overlapping = x.map_overlap(smoothed_compiled, depth=2, boundary="periodic").compute()
        np.testing.assert_allclose(overlapping, smoothed_compiled.__wrapped__(data), rtol=1e-12)
        rows = da.apply_gufunc(walked, "(i)->(i)", x, output_dtypes=float).compute()
        np.testing.assert_allclose(rows, walked.__wrapped__(data), rtol=1e-12)


def test_functions_called_with_dask_arrays_give_dask_arrays():
    x = numbers()
    for call in range(3):
        made = rooted(x + call)
        assert isinstance(made, da.Array)
    np.testing.assert_allclose(made.compute(), rooted.__wrapped__(FLOATS * 9 + 2), rtol=1e-12)
    np.testing.assert_allclose(rooted(FLOATS), rooted.__wrapped__(FLOATS), rtol=1e-12)  # and arrays are served as ever


@pytest.mark.filterwarnings("default")
def test_xarray():
    xr = pytest.importorskip("xarray")
    plain = xr.DataArray(FLOATS, dims=("time", "place"), coords={"time": np.arange(90.0)}, name="t")
    lazy = plain.chunk(time=40, place=70)
    with jitrt.dask.optimize():
        made = xr.apply_ufunc(rooted, lazy, dask="parallelized", output_dtypes=[float])
        assert isinstance(made.data, da.Array)
        xr.testing.assert_allclose(made.compute(), xr.apply_ufunc(rooted.__wrapped__, plain))
        rows = xr.apply_ufunc(
            walked, lazy, input_core_dims=[["place"]], output_core_dims=[["place"]], dask="parallelized",
            output_dtypes=[float],
        )  # fmt: skip
        np.testing.assert_allclose(rows.values, walked.__wrapped__(FLOATS), rtol=1e-12)
        anomaly = ((lazy - lazy.mean("time")) / lazy.std("time")).to_dataset()
        want = ((plain - plain.mean("time")) / plain.std("time")).to_dataset()
        xr.testing.assert_allclose(anomaly.compute(), want)


@pytest.mark.filterwarnings("default")
def test_distributed_workers_compile_a_function_once(tmp_path):
    distributed = pytest.importorskip("distributed")
    with (
        dask.config.set({"temporary-directory": str(tmp_path)}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        jitrt.dask.optimize(),
    ):
        x = numbers(chunks=(10, 35))
        for name in ("elementwise", "standardised", "overlap", "blocks", "place of a block"):
            array = PIPELINES[name](x)
            want = array.compute(scheduler="sync")
            for _ in range(2):
                np.testing.assert_allclose(client.compute(array).result(), want, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(x.map_blocks(rooted).sum().compute(), rooted.__wrapped__(FLOATS * 9).sum())

        def known():
            from jitrt.dask.fused import _known

            return {f.key: f.compiled.cache_info().compiled for f in _known.values()}

        def most_kept():
            from jitrt.runtime import results

            return results.most_kept()

        assert set(client.run(most_kept).values()) == {1 << 24} and most_kept() > 1 << 24
        of_workers = client.run(known)
        assert len(of_workers) == 2
        key = functions_in(PIPELINES["elementwise"](x))[0].key
        assert all(found[key] for found in of_workers.values())
