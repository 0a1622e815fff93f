"""The end of a call: from what its last program computed to what the function changes and returns."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import policy
from ..errors import HalfDone
from ..frontend.numpy.scopes import entered
from ..frontend.python.stores import Arguments, apply
from ..frontend.returned import Result
from ..frontend.trace import Traced
from ..ir.extents import extents_in, is_extent
from ..ir.integers import Poly
from ..ir.interpret import evaluate
from ..ir.node import Node
from ..ir.ops.movement import decode_index
from ..ir.ops.optable import OPS
from ..ir.ops.updates import Region, region_between, through
from ..programs import Compiled
from ..values.kinds import at, rebuild_all
from ..values.trees import Part, maker_of

_WRITTEN_IN_PLACE = 1 << 17  # bytes


def written_in_place(traced: Traced) -> tuple[tuple[int, int], ...]:
    """Inputs of the last segment that the function writes, and which output each of them has to hold.

    Large contiguous arrays are written where they are. For others it is faster to copy the output than to leave native
    code.
    """
    place = {register: k for k, register in enumerate(traced.registers)}
    found = ((place.get(number), traced.values[number], output) for number, output in traced.written)
    return tuple(
        (k, output)
        for k, array, output in found
        if k is not None
        and traced.graph.inputs[k].type.nbytes >= _WRITTEN_IN_PLACE
        and (array is None or array.flags.c_contiguous)
    )


def direct(traced: Traced) -> Callable[[list[Any]], Any] | None:
    """What gives the result if it is made of fresh arrays, and numbers, alone; otherwise None."""
    if traced.written or traced.stores or traced.scope:
        return None
    if any(r.source != "array" or r.view is not None or r.twin for r in traced.results):
        return None
    nodes = traced.graph.outputs

    def way(result: Result) -> Part | None:
        # What NumPy computed is a scalar where it makes no array; what has its value may be an array all the same.
        if nodes[result.index].shape:
            return None
        return (_as_number if result.weak else _as_scalar if result.scalar else np.asarray), ()

    places, make = [r.index for r in traced.results], maker_of(traced.structure, map(way, traced.results))
    return lambda outputs: make([outputs[k] for k in places])


def viewing(view: Node, base: Node, places: Mapping[Poly, int]) -> Part:
    """What makes the view of an array that is the node `view` where the array is `base`.

    It takes the sizes on which the view depends, which stand at these `places`.
    """
    region = region_between(view, base)
    sizes = list(dict.fromkeys(e.poly for _, params, _ in region for e in extents_in(tuple(params))))
    if sizes:
        return _written_out(region, sizes), tuple([places[size] for size in sizes])
    steps = [_step(name, dict(params)) for name, params, _ in region]
    if len(steps) == 1:
        return steps[0], ()
    return lambda array: functools.reduce(lambda found, step: step(found), steps, array), ()


def _written_out(region: Region, sizes: Sequence[Poly]) -> Callable[..., np.ndarray]:
    """A function of an array and of sizes: code that is written for it, since arguments differ from call to call."""
    names = {size: f"size{k}" for k, size in enumerate(sizes)}

    def text(value: Any) -> str:
        if is_extent(value):
            return names[value.poly]
        return f"({''.join(f'{text(v)}, ' for v in value)})" if type(value) is tuple else repr(value)

    found = "array"
    for name, params, _ in region:
        if name == "getitem":
            index: Any = dict(params)["index"]
            items = [f"slice{text(item)}" if type(item) is tuple else text(item) for item in index]
            rest = [] if any(item is Ellipsis for item in index) else ["..."]
            found += f"[{', '.join([*items, *rest])}]"
        else:
            found = f"{name}({found}, {', '.join(f'{key}={text(value)}' for key, value in params)})"
    functions = {name: OPS[name].numpy for name, _, _ in region} | {"Ellipsis": ...}
    return eval(f"lambda array, {', '.join(names.values())}: {found}", functions)


def sized(region: Region, sizes: Mapping[Poly, int]) -> Region:
    """A region with numbers in place of the extents that are variables."""

    def number(value: Any) -> Any:
        if is_extent(value):
            return sizes[value.poly]
        return tuple(map(number, value)) if type(value) is tuple else value

    return tuple((name, tuple((key, number(v)) for key, v in params), type_) for name, params, type_ in region)


def _step(name: str, params: dict[str, Any]) -> Callable[[np.ndarray], np.ndarray]:
    if name == "getitem":
        index = decode_index(params["index"])
        return operator.itemgetter(index if Ellipsis in index else (*index, ...))
    function = OPS[name].numpy
    assert function is not None
    return functools.partial(function, **params)


def _as_scalar(value: Any) -> Any:
    return value[()]


def _as_number(value: Any) -> Any:
    return value.item() if isinstance(value, (np.ndarray, np.generic)) else value


def finish(
    traced: Traced,
    compiled: Compiled,
    registers: list[Any],
    arguments: Arguments,
    backoff: policy.Backoff | None = None,
    inputs: Sequence[Any] = (),
) -> Any:
    """Run the last segment, write back and store what it changed, and give the result.

    `inputs` are those of the call as the caller has them, where programs have taken others with the same elements.

    Raises
    ------
    HalfDone
        If anything fails once arguments are changed.
    """
    with entered(traced.scope):
        outputs = compiled.run([registers[k] for k in traced.registers], backoff)
    if inputs:
        for number, output in traced.written:
            if outputs[output] is registers[number]:  # mapped from a file, and written where it is
                outputs[output] = inputs[number]
        registers = [*inputs, *registers[len(inputs) :]]
    has_begun = bool(traced.written)
    try:
        for number, output in traced.written:
            if outputs[output] is not registers[number]:
                registers[number][...] = outputs[output]
        views: dict[tuple[str, int], dict[Any, Any]] = {}
        sizes = {size: int(outputs[k]) for size, k in traced.sizes} if traced.sizes else {}
        made = iter([_make(r, outputs, registers, arguments, views, sizes) for r in traced.results])
        result, *stored = rebuild_all([traced.structure, *(store.structure for store in traced.stores)], made)
        if traced.stores:
            places = [at(arguments, store.path) for store in traced.stores]
            has_begun = True
            apply(traced.stores, places, stored)
    except Exception as error:
        if has_begun:
            raise HalfDone(error) from error
        raise
    return result


def _of_class(kind: type, value: np.ndarray, mapped: np.memmap) -> np.ndarray:
    """`value`, a view of the array `mapped` from a file, as an array of that class."""
    made: Any = value.view(kind)
    if kind is np.memmap:
        made.__array_finalize__(mapped)  # it has the same file
    return made


def _make(
    result: Result,
    outputs: list[Any],
    inputs: list[Any],
    arguments: Arguments,
    views: dict[tuple[str, int], dict[Any, Any]],
    sizes: Mapping[Poly, int],
) -> Any:
    """One leaf of the result; `views` remembers views of each array, so that those of a common copy share it."""
    if result.source == "value":
        return result.value
    if result.source == "given":
        return at(arguments, result.value)
    value = outputs[result.index] if result.source == "array" else inputs[result.index]
    if result.weak:
        return _as_number(value)
    if result.scalar:
        return value[()] if isinstance(value, np.ndarray) else value
    known = views.setdefault((result.source, result.index), {result.base: value})
    if result.view is not None:
        view = result.view
        if sizes and result.base is not None:
            view = through(result.base, sized(region_between(view, result.base), sizes))
        value = evaluate((view,), known)[0]
    if result.kind is not None:
        return _of_class(result.kind, value, inputs[result.index])
    if result.twin:
        return known.setdefault((result.view, result.twin), value[...])
    computed = result.source == "array"  # a scalar that the function was given is one
    return np.asarray(value) if computed and isinstance(value, np.generic) else value
