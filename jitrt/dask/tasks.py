"""From a task of a dask graph to Python code, which is the same for all tasks that differ in data and constants alone.

    Task(key, _execute_subgraph, {y: exp(x), z: y + 1}, z, (x,), x)  →

    def fused(a0, a1):
        v0 = f0(a0)
        v1 = f1(v0, a1)
        del v0
        return v1                                                     functions exp, add; arguments x, 1

Steps that make data or read it from elsewhere, and others that cannot be compiled, stand in a function ``task``, which
calls that one.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from dask._task_spec import Alias, DataNode, GraphNode, Task, TaskRef, _execute_subgraph, _identity_cast
from dask.array.core import _enforce_dtype, _pass_extra_kwargs
from dask.array.overlap import _trim
from tlz.functoolz import Compose

from ..base.frozen import frozen
from .chunks import counterpart, gain, of_dtype

_MOVING = (operator.getitem, np.transpose, np.reshape)
_CONSTANT, _DATA, _COMPUTED, _LATER = range(4)
_Scope = dict[Any, Any]


@frozen(eq=False)
class Written:
    """A task as a function and its arguments.

    Parameters
    ----------
    text : str
        Python code; see `Fused`.
    functions : tuple of callable
    arguments : tuple
        Of the function: constants, data, and references to other tasks.
    """

    text: str
    functions: tuple[Callable[..., Any], ...]
    arguments: tuple[Any, ...]


@frozen(eq=False)
class _Value:
    """A value in the code.

    Parameters
    ----------
    text : str
    what : int
        Whether it is constant, data, computed by what is compiled, or behind that.
    names : tuple of str
        Variables in the text.
    compiles : bool
        Whether compiled code may use it.
    """

    text: str
    what: int
    names: tuple[str, ...]
    compiles: bool = True


class _NotWritten(Exception):
    """A task that is left as it is."""


def written(task: Task) -> Written | None:
    """The code of a task; None if there is nothing to gain, or if it cannot be written.

    There is something to gain if two operations can become one loop, or if a Python function gets data.
    """
    code = _Code()
    try:
        result = code.value(task, {})
    except _NotWritten:
        return None
    return code.written(result) if code.gains >= 2 else None


class _Code:
    """The code of one task, made step by step.

    Attributes
    ----------
    gains : int
        Steps that are better compiled.
    """

    def __init__(self) -> None:
        self.gains = 0
        self._arguments: list[Any] = []
        self._functions: dict[int, Callable[..., Any]] = {}
        self._references: dict[Any, _Value] = {}
        self._steps: dict[int, list[tuple[str, _Value]]] = {_DATA: [], _COMPUTED: [], _LATER: []}

    def written(self, result: _Value) -> Written:
        """All of it, with the value that it gives."""
        first, steps, last = self._steps.values()
        used = _used([*first, *steps, *last], result)
        arguments = [f"a{k}" for k in range(len(self._arguments)) if f"a{k}" in used]
        if not first and not last:
            text = _definition("fused", arguments, steps, result)
        else:
            own = {name for name, _ in steps}
            wanted = [name for name in _used(last, result) if name in own]
            made = _Value(", ".join(wanted), _COMPUTED, tuple(wanted))
            given = [name for name in _used(steps, made) if name not in own]
            text = _definition("fused", given, steps, made)
            call = made.text, _Value(f"fused({', '.join(given)})", _COMPUTED, tuple(given))
            text += _definition("task", arguments, [*first, call, *last], result)
        values = tuple(self._arguments[int(name[1:])] for name in arguments)
        return Written(text, tuple(self._functions.values()), values)

    def value(self, node: Any, scope: _Scope) -> _Value:
        """A value, behind the steps that it needs.

        Parameters
        ----------
        node : object
            A part of a task, or a constant.
        scope : dict
            What the keys of the graph around it stand for: values, or parts of tasks that are not needed yet, with
            their scopes.
        """
        if isinstance(node, _Value):
            return node
        if isinstance(node, TaskRef | Alias):
            return self._referred(node.key if isinstance(node, TaskRef) else node.target, scope)
        if not isinstance(node, Task):
            return self._constant(_plain(node), node)
        if node.func is not _execute_subgraph:
            kind = node.kwargs["typ"] if node.func is _identity_cast else getattr(node, "klass", None)
            if kind is not None:
                return _container(kind, [self.value(part, scope) for part in node.args])
            return self._call(node.func, node.args, node.kwargs, scope)
        graph, out, keys, *given = node.args
        inner: _Scope = {key: (part, scope) for key, part in zip(keys, given)}
        for key in _in_order(graph, out):
            inner[key] = self.value(graph[key], inner)
        return self._referred(out, inner)

    def _referred(self, key: Any, scope: _Scope) -> _Value:
        found = scope.get(key)
        if isinstance(found, tuple):
            found = scope[key] = self.value(*found)
        if found is None:
            found = self._references.get(key)
        if found is None:
            found = self._references[key] = self._argument(TaskRef(key), _DATA)
        return found

    def _constant(self, value: Any, node: Any) -> _Value:
        """A value that stands in the graph itself, as `node`. Functions are part of the code."""
        if callable(value) or value is np.ma.masked:
            return _Value(self._function(value), _CONSTANT, (), counterpart(value) is not None)
        if type(value) in (list, tuple, dict) and _holds_functions(value):
            parts = itertools.chain(*value.items()) if type(value) is dict else value
            return _container(type(value), [self._constant(part, DataNode(None, part)) for part in parts])
        if isinstance(value, GraphNode):
            raise _NotWritten
        return self._argument(node, _DATA if isinstance(value, np.ndarray) else _CONSTANT)

    def _argument(self, node: Any, what: int) -> _Value:
        name = f"a{len(self._arguments)}"
        self._arguments.append(node)
        return _Value(name, what, (name,))

    def _function(self, function: Callable[..., Any]) -> str:
        """The name of a function."""
        self._functions.setdefault(id(function), function)
        return f"f{list(self._functions).index(id(function))}"

    def _content(self, node: Any, scope: _Scope) -> Any:
        """What a constant is, wherever it stands."""
        value = self.value(node, scope)
        number = int(value.text[1:]) if value.text[1:].isdecimal() else 0
        if value.what is not _CONSTANT or value.text[0] not in "af":
            raise _NotWritten
        return list(self._functions.values())[number] if value.text[0] == "f" else _plain(self._arguments[number])

    def _call(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], scope: _Scope) -> _Value:
        """The result of a function, as a step, or as several."""
        if type(function) is functools.partial:
            return self._call(function.func, (*function.args, *args), {**function.keywords, **kwargs}, scope)
        if isinstance(function, Compose):
            result = self._call(function.first, args, kwargs, scope)
            for outer in function.funcs:
                result = self._call(outer, [result], {}, scope)
            return result
        if function is _pass_extra_kwargs:
            inner, names, *args = args
            named = dict(zip(self._content(names, scope), args))
            return self._call(self._content(inner, scope), args[len(named) :], {**kwargs, **named}, scope)
        if function is _enforce_dtype:
            rest = dict(kwargs)
            dtype, inner = rest.pop("enforce_dtype"), self._content(rest.pop("enforce_dtype_function"), scope)
            return self._call(of_dtype, [self._call(inner, args, rest, scope), dtype], {}, scope)
        if function is _trim:  # what is cut off depends on where the block is, and is mostly the same
            content = {name: self._content(part, scope) for name, part in kwargs.items()}
            index = _trim(_Index(len(content["_overlap_trim_info"][0])), **content)
            return self._call(operator.getitem, [*args, index], {}, scope)
        if not callable(function) or not all(map(str.isidentifier, kwargs)):
            raise _NotWritten
        parts = [self.value(part, scope) for part in (*args, *kwargs.values())]
        texts = [part.text for part in parts]
        texts[len(args) :] = [f"{name}={text}" for name, text in zip(kwargs, texts[len(args) :])]
        step = _Value(f"{self._function(function)}({', '.join(texts)})", _most(parts), _names(parts))
        compiled = counterpart(function)
        compiles = compiled is not None and all(part.compiles for part in parts)
        if step.what is _CONSTANT or (step.what is _DATA and not compiles):
            what = _DATA
        else:
            what = _COMPUTED if compiles and step.what is not _LATER else _LATER
        if what is _COMPUTED and function not in _MOVING:
            self.gains += gain(compiled, any(part.what is not _CONSTANT and part.text in part.names for part in parts))
        name = f"{'_dvw'[what]}{len(self._steps[what])}"
        self._steps[what].append((name, step))
        return _Value(name, what, (name,))


class _Index:
    """In place of an array of so many axes: what is asked of it is the index."""

    def __init__(self, ndim: int):
        self.ndim = ndim

    def __getitem__(self, index: Any) -> Any:
        return index


def _plain(node: Any) -> Any:
    """The value that a part of a task is, if it is one."""
    return node.value if isinstance(node, DataNode) else node


def _container(kind: type, parts: list[_Value]) -> _Value:
    """A list, tuple, set or dict; of a dict keys and values in turn."""
    texts = [part.text for part in parts]
    if kind is dict:
        text = f"{{{', '.join(f'{key}: {value}' for key, value in zip(texts[::2], texts[1::2]))}}}"
    elif kind is list:
        text = f"[{', '.join(texts)}]"
    elif kind is tuple or kind is set:
        text = f"({''.join(f'{part}, ' for part in texts)})"
        text = text if kind is tuple else f"{{*{text}}}"
    else:
        raise _NotWritten
    return _Value(text, _most(parts), _names(parts), all(part.compiles for part in parts))


def _holds_functions(value: Any) -> bool:
    if type(value) in (list, tuple, dict):
        return any(map(_holds_functions, value.values() if type(value) is dict else value))
    return callable(value)


def _most(parts: list[_Value]) -> int:
    return max((part.what for part in parts), default=_CONSTANT)


def _names(parts: list[_Value]) -> tuple[str, ...]:
    return tuple(name for part in parts for name in part.names)


def _used(steps: list[tuple[str, _Value]], result: _Value) -> list[str]:
    """The variables in steps and in a result, each once."""
    return list(dict.fromkeys(_names([*(step for _, step in steps), result])))


def _definition(name: str, parameters: list[str], steps: list[tuple[str, _Value]], result: _Value) -> str:
    """A Python function, which gives values up behind the last step that needs them."""
    lines = [f"return {result.text}"]
    needed = set(result.names)
    for variable, step in reversed(steps):
        last = [n for n in dict.fromkeys(step.names) if n not in needed]
        needed.update(last)
        if last:
            lines.append(f"del {', '.join(last)}")
        lines.append(f"{variable} = {step.text}")
    return "\n    ".join([f"def {name}({', '.join(parameters)}):", *reversed(lines)]) + "\n"


def _in_order(graph: Mapping[Any, GraphNode], out: Any) -> Iterator[Any]:
    """The keys of a graph that `out` needs, each behind those that it needs itself."""
    done, stack = set(), [out]
    while stack:
        key = stack[-1]
        needed = [k for k in _needed(graph[key]) if k in graph and k not in done] if key not in done else []
        if needed:
            stack += reversed(needed)
            continue
        stack.pop()
        if key not in done:
            done.add(key)
            yield key


def _needed(node: Any) -> Iterator[Any]:
    """The keys that a part of a task refers to, in the order of its text."""
    if isinstance(node, TaskRef | Alias):
        yield node.key if isinstance(node, TaskRef) else node.target
    elif isinstance(node, Task):
        for part in (*node.args, *node.kwargs.values()):
            yield from _needed(part)
