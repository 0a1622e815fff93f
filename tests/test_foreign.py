"""Arrays of other libraries: the plain function runs on them; their own ways of calling functions run it compiled."""

import numpy as np
import pytest

import jitrt

x = np.random.default_rng(0).normal(size=(40, 30))


def centred(a, scale=2.0):
    return (a - a.mean()) * scale + np.sin(a)


def smooth(a):
    return np.exp(-(a**2)) * 0.5 + a


def stored(model, a):
    model.last = smooth(a)
    return model.last.sum()


class Model:
    """Something to store in."""


def test_xarray():
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray(x, dims=("time", "place"), coords={"time": np.arange(40)}, attrs={"unit": "m"})
    compiled = jitrt.jit(centred)
    xarray.testing.assert_identical(compiled(array), centred(array))
    xarray.testing.assert_identical(compiled(array, scale=3.0), centred(array, scale=3.0))
    assert "xarray" in compiled.explain(array).plain_reason
    np.testing.assert_allclose(compiled(x), centred(x), rtol=1e-12)  # arrays of NumPy's still run compiled
    assert not compiled.explain(x).plain_reason
    data = xarray.Dataset({"a": array, "b": array * 2})
    xarray.testing.assert_identical(jitrt.jit(smooth)(data), smooth(data))


def test_functions_that_xarray_applies():
    xarray = pytest.importorskip("xarray")
    array = xarray.DataArray(x, dims=("time", "place"))
    compiled = jitrt.jit(smooth)
    xarray.testing.assert_allclose(xarray.apply_ufunc(compiled, array), xarray.apply_ufunc(smooth, array))
    got = xarray.apply_ufunc(compiled, array, input_core_dims=[["time"]], output_core_dims=[["time"]], vectorize=True)
    xarray.testing.assert_allclose(got.transpose(*array.dims), xarray.apply_ufunc(smooth, array))
    assert compiled.cache_info().compiled == 2


def test_methods_that_store_xarrays():
    xarray = pytest.importorskip("xarray")
    array, model = xarray.DataArray(x, dims=("time", "place")), Model()
    xarray.testing.assert_identical(jitrt.jit(stored)(model, array), smooth(array).sum())
    xarray.testing.assert_identical(model.last, smooth(array))


def test_dask_arrays():
    dask_array = pytest.importorskip("dask.array")
    array = dask_array.from_array(x, chunks=(10, 30))
    compiled = jitrt.jit(centred)
    lazy = compiled(array)
    assert isinstance(lazy, dask_array.Array) and "dask" in compiled.explain(array).plain_reason
    np.testing.assert_array_equal(lazy.compute(scheduler="sync"), centred(array).compute(scheduler="sync"))


def test_functions_that_dask_maps():
    dask = pytest.importorskip("dask")
    dask_array = pytest.importorskip("dask.array")
    array = dask_array.from_array(x, chunks=(10, 30))
    compiled = jitrt.jit(smooth)
    for scheduler in ("sync", "threads"):
        mapped = array.map_blocks(compiled, dtype=float).compute(scheduler=scheduler)
        np.testing.assert_allclose(mapped, smooth(x), rtol=1e-12)
    blocks = [dask.delayed(compiled)(x[k : k + 10]) for k in range(0, 40, 10)]
    np.testing.assert_allclose(np.concatenate(dask.compute(*blocks, scheduler="threads")), smooth(x), rtol=1e-12)
    overlapping = array.map_overlap(compiled, depth=1, dtype=float).compute(scheduler="threads")
    np.testing.assert_allclose(overlapping, smooth(x), rtol=1e-12)


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_joblib(backend):
    joblib = pytest.importorskip("joblib")
    compiled = jitrt.jit(smooth)
    compiled(x[0])
    with joblib.parallel_config(backend=backend, n_jobs=2):
        rows = joblib.Parallel()(joblib.delayed(compiled)(row) for row in x)
    np.testing.assert_allclose(np.stack(rows), smooth(x), rtol=1e-12)


def test_pandas_objects_in_containers():
    pandas = pytest.importorskip("pandas")
    series, frame = pandas.Series(x[0], name="a"), pandas.DataFrame(x)
    compiled = jitrt.jit(centred)
    pandas.testing.assert_series_equal(compiled(series), centred(series))
    pandas.testing.assert_frame_equal(compiled(frame), centred(frame))
    by_column = jitrt.jit(lambda data: {name: smooth(column.to_numpy()) for name, column in data.items()})
    for name, column in by_column(frame).items():
        np.testing.assert_allclose(column, smooth(x[:, name]), rtol=1e-12)
    np.testing.assert_allclose(compiled(frame.to_numpy()), centred(x), rtol=1e-12)
    assert not compiled.explain(frame.to_numpy()).plain_reason
