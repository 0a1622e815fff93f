"""Lazy arrays: NumPy's arrays, whose elements are computed when somebody looks at them."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import policy
from ..ir import build as b
from ..ir.node import Node
from ..ir.types import ArrayType
from . import calls, direct
from .calls import NUMBERS, eager, lazy, real, set_class
from .elements import BASIC, get_item, set_item
from .flags import Flags
from .memory import Memory
from .parts import Part
from .pending import KINDS, PENDING, NotLazy


class _Arrays(type):
    """The class of `ndarray`, of which NumPy's arrays are instances, too: user code asks for nothing else."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return issubclass(type(instance), (cls, np.ndarray))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return cls in subclass.__mro__ or np.ndarray in subclass.__mro__

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """What ``numpy.ndarray(shape, ...)`` gives."""
        return lazy(np.ndarray(*args, **kwargs), small=False)

    def __getattr__(cls, name: str) -> Any:
        """A method of NumPy's arrays as a function."""
        if not callable(getattr(np.ndarray, name)):
            raise AttributeError(f"type object 'ndarray' has no attribute {name!r}")
        return lambda array, *args, **kwargs: getattr(array, name)(*args, **kwargs)


class ndarray(metaclass=_Arrays):
    """An array whose elements are computed when somebody looks at them.

    It is made by `asarray` and by the functions of this namespace, and has all that `numpy.ndarray` has.

    Examples
    --------
    >>> import jitrt.numpy as np
    >>> x = np.linspace(0.0, 1.0, 5)
    >>> y = x * x + 1  # is computed at once, since x is small
    >>> y.shape, y.dtype
    ((5,), dtype('float64'))
    >>> y
    array([1.    , 1.0625, 1.25  , 1.5625, 2.    ])
    """

    __slots__ = ("__weakref__", "_held", "_part", "_plain", "_scalar")
    __array_priority__ = 1000.0

    _plain: np.ndarray | None
    """NumPy's array, if it is so small that NumPy is done with an operation before it would have been recorded."""
    _held: Memory | None
    _part: Part | None
    """The part of the memory that it shows; None if that is all of it."""
    _scalar: bool
    """Whether it stands for one of NumPy's scalars: what the array API standard has in their place."""

    # -- what it is made of

    @property
    def _memory(self) -> Memory:
        """The memory; nothing that is pending ever borrows that of a small array: `_plain` refers to it, too."""
        if self._held is None:
            self._held = Memory(self._plain)
        return self._held

    @property
    def type(self) -> ArrayType:
        """Dtype and shape, as nodes have them."""
        part = self._part
        return self._memory.type if part is None else part.type

    def _elements(self) -> Any:
        """NumPy's array, if it is there already."""
        plain = self._plain
        return self._held.value if plain is None and self._part is None else plain  # type: ignore[union-attr]

    def _node(self) -> Node:
        held = self._held
        if self._plain is not None or held is None:
            return PENDING.of_copy(self._plain)  # type: ignore[arg-type]
        node = held.node
        return node if node is not None and self._part is None else PENDING.of_part(held, self._part)

    def _read(self) -> Any:
        """The elements; nobody must write into them, or keep them."""
        if self._plain is not None:
            return self._plain
        memory = self._memory
        if memory.node is not None or self._part is not None:
            with PENDING.lock:
                value = PENDING.read(memory, self._part)
        else:
            value = memory.value
        return value[()] if self._scalar else value

    def _handed_out(self) -> Any:
        """The elements, for somebody who may write into them."""
        if self._plain is not None:
            return self._plain  # of which the graph has nothing but copies
        with PENDING.lock:
            value = self._read()
            if isinstance(value, np.ndarray):
                PENDING.written(value)
                if self._part is None and value.size < policy.SMALL_ARRAY:
                    self._plain = value
            return value

    def _view(self, part: Part) -> ndarray:
        return made_of(self._memory, part)

    # -- looking at values

    def compute(self) -> Any:
        """The elements, computed now if they are not known.

        Returns
        -------
        numpy.ndarray or numpy.generic
            An array of NumPy's in the same memory, or a scalar.

        Examples
        --------
        >>> import jitrt
        >>> (jitrt.asarray([0, 1, 2]) + 1).compute()
        array([1, 2, 3])
        """
        return self._handed_out()

    def explain(self) -> str:
        """What will be computed when somebody looks at the elements, or that they are known.

        Returns
        -------
        str
            The graph, and the loop nests of the program that computes it.

        Examples
        --------
        >>> import jitrt
        >>> jitrt.asarray([0.0, 1.0, 2.0]).explain()
        'the elements are known: float64 (3,)'
        """
        compiled = PENDING.explained(self._memory)
        if compiled is None:
            return f"the elements are known: {self.dtype} {self.shape}"
        nests = [str(step.kernel.nest) for step in compiled.program.kernel_steps()]
        return "\n\n".join([str(compiled.stages[0][1]), *nests])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self._handed_out(), dtype=dtype, copy=copy)

    def __buffer__(self, flags: int, /) -> memoryview:
        """Python's protocol for memory (PEP 688), of which it knows since version 3.12."""
        return memoryview(self._handed_out())

    def __dlpack__(self, **options: Any) -> Any:
        return self._handed_out().__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return np.empty(0).__dlpack_device__()

    def __array_namespace__(self, /, *, api_version: str | None = None) -> Any:
        from . import array_api

        np.empty(0).__array_namespace__(api_version=api_version)  # type: ignore[arg-type] # raises what NumPy raises
        return array_api

    def __iter__(self) -> Iterator[Any]:
        value = self._read()
        if self._scalar or self.ndim < 2:
            return iter(value)
        del value  # or it would keep the memory from being private
        return (self[k] for k in range(self.shape[0]))

    def __len__(self) -> int:
        plain = self._elements()
        if plain is not None:
            return len(plain)
        shape = self.type.shape
        if not shape:
            raise TypeError("len() of unsized object")
        return shape[0]

    def __contains__(self, value: Any) -> bool:
        return real(value) in self._read()

    def __hash__(self) -> int:
        if self._scalar:
            return hash(self._read())
        raise TypeError("unhashable type: 'numpy.ndarray'")

    def __reduce__(self) -> Any:
        return _restored, (self._read(),)

    def __copy__(self) -> ndarray:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> ndarray:
        return self.copy()

    # -- attributes

    @property
    def dtype(self) -> np.dtype:
        plain = self._elements()
        return self.type.dtype if plain is None else plain.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        plain = self._elements()
        return self.type.shape if plain is None else plain.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        if self._plain is not None:
            seen = self._plain.view()
            seen.shape = shape
            self._plain, self._held = seen, None
            return
        reshaped = self.reshape(shape)
        if reshaped._memory is not self._memory:
            raise AttributeError(
                "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape."
            )
        self._part = reshaped._part

    @property
    def ndim(self) -> int:
        plain = self._elements()
        return self.type.ndim if plain is None else plain.ndim

    @property
    def size(self) -> int:
        plain = self._elements()
        return self.type.size if plain is None else plain.size

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.type.nbytes

    @property
    def device(self) -> str:
        return "cpu"

    def to_device(self, device: Any, /, *, stream: Any = None) -> ndarray:
        np.empty(0).to_device(device, stream=stream)
        return self

    @property
    def base(self) -> Any:
        return made_of(self._memory) if self._part is not None else getattr(self._handed_out(), "base", None)

    @property
    def T(self) -> ndarray:
        if self._plain is not None:
            return lazy(self._plain.T)
        return calls.call_function(np.transpose, (self,), {})

    @property
    def mT(self) -> ndarray:
        return calls.call_function(np.matrix_transpose, (self,), {})

    @property
    def real(self) -> ndarray:
        return calls.call_function(np.real, (self,), {})

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> ndarray:
        return calls.call_function(np.imag, (self,), {})

    @imag.setter
    def imag(self, value: Any) -> None:
        eager(_set_imag, (self, value), {}, (self,))

    @property
    def flags(self) -> Any:
        plain = self._plain
        return Flags(self) if plain is None else plain.flags

    def setflags(self, write: Any = None, align: Any = None, uic: Any = None) -> None:
        self._apart().setflags(write, align, uic)

    def _apart(self) -> Any:
        """NumPy's array, for a change of its flags, which others in the same memory do not share."""
        value = self._handed_out()
        if self._plain is None and (self._part is not None or sys.getrefcount(self._held) > _ALONE):
            value = value.view()
            self._held, self._part = Memory(value), None
        return value

    @property
    def flat(self) -> Any:
        return self._handed_out().flat

    @flat.setter
    def flat(self, value: Any) -> None:
        self._handed_out().flat = real(value)

    # -- elements

    def __getitem__(self, index: Any) -> Any:
        plain = self._plain
        if plain is None:
            memory: Memory = self._held  # type: ignore[assignment] # there is one, or the array is small
            if memory.direct:  # in a loop: what follows is NumPy's work and as little more as can be
                part = self._part
                known = memory.value if part is None else memory.views.get(part)
                kind = type(index)
                if known is not None and kind in _INDICES:
                    found = known[index]
                    if type(found) is not _numpys:
                        return found
                    if not PENDING.values:
                        if found.size < policy.SMALL_ARRAY:
                            return calls.small_part(found)
                        if PENDING.vain.left and PENDING.is_vain(found.size):
                            return lazy(found, is_shared=True)
                    if kind not in BASIC and not (kind is tuple and BASIC.issuperset(map(type, index))):
                        return lazy(found)  # no part, but a new array
            return get_item(self, index)
        if type(index) is slice:
            return plain_of(plain[index])
        made = plain[index._read() if type(index) is ndarray else index]
        return lazy(made) if type(made) is np.ndarray else made

    def __setitem__(self, index: Any, value: Any) -> None:
        plain = self._plain
        if plain is None:
            memory: Memory = self._held  # type: ignore[assignment]
            if memory.direct and not PENDING.values:
                kind, part = type(index), self._part
                known = memory.value if part is None else memory.views.get(part)
                if known is not None and kind in _INDICES:
                    known[index] = value
                    return
            set_item(self, index, value)
        else:
            plain[index._read() if type(index) is ndarray else index] = value if type(value) in NUMBERS else real(value)

    # -- methods whose arguments differ from those of the function

    def reshape(self, *shape: Any, **options: Any) -> ndarray:
        if self._plain is not None:
            return lazy(self._plain.reshape(*real(shape), **options))
        wanted = shape[0] if len(shape) == 1 else shape
        return calls.call_function(np.reshape, (self, wanted), options)

    def transpose(self, *axes: Any) -> ndarray:
        if self._plain is not None:
            return lazy(self._plain.transpose(*axes))
        wanted = None if not axes else axes[0] if len(axes) == 1 else axes
        return calls.call_function(np.transpose, (self, wanted), {})

    def ravel(self, order: Any = "C") -> ndarray:
        if self._plain is not None:
            return lazy(self._plain.ravel(order))
        return calls.call_function(np.ravel, (self, order), {})

    def flatten(self, order: Any = "C") -> ndarray:
        return eager(np.ndarray.flatten, (self, order), {}) if order != "C" else self.ravel().copy()

    def copy(self, order: Any = "C") -> ndarray:
        if self._plain is not None:
            return lazy(self._plain.copy(order))
        if order not in "CK" or self._scalar:
            return eager(operator.methodcaller("copy", order), (self,), {})
        with PENDING.lock:
            try:
                PENDING.begin()
            except NotLazy:
                return lazy(self._read().copy())
            if order == "K":
                return self._converted(self.type.dtype)
            return made_of(PENDING.made(PENDING.copied(self._node())))

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:
        if self._plain is not None:
            made = self._plain.astype(dtype, *args, **options)
            return self if made is self._plain else lazy(made)
        target = np.dtype(dtype)
        if not options and not args and target.kind in KINDS and target.isnative and not self._scalar:
            with PENDING.lock:
                try:
                    PENDING.begin()
                    own = self.type.dtype
                    if target != own and (own.kind != "c" or target.kind == "c"):
                        return self._converted(target)
                except NotLazy:
                    pass
        if options == {"copy": False} and not args and target == self.dtype:
            return self
        return eager(operator.methodcaller("astype", dtype, *args, **options), (self,), {})

    def _converted(self, dtype: np.dtype) -> ndarray:
        """A new array with these elements, its axes in the same order of memory."""
        node, part = self._node(), self._part or PENDING.root(self._memory)
        key = dtype, node, part, PENDING.orders
        made = PENDING.memo.get(key)
        if made is None:
            cell = part.cell()
            strides = cell.strides_of(part.seen(cell.content))
            made = PENDING.fresh(b.cast(node, dtype))
            made = PENDING.in_order(made, PENDING.orders.of_copy(made, part.type, strides, "K"))
            PENDING.memo[key] = made
        return made_of(PENDING.made(made))

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **options: Any) -> Any:
        return calls.call_function(np.clip, (self, min, max), options | ({} if out is None else {"out": out}))

    def conjugate(self, *args: Any, **options: Any) -> ndarray:
        if self.dtype.kind != "c" and not args and not options:
            return self
        return np.conjugate(self, *args, **options)  # type: ignore[return-value]

    conj = conjugate

    def round(self, decimals: int = 0, out: Any = None) -> Any:
        return calls.call_function(np.round, (self, decimals), {} if out is None else {"out": out})

    def fill(self, value: Any) -> None:
        if self._scalar:
            self._read().fill(value)  # raises what NumPy raises
        else:
            self[...] = value

    def view(self, *args: Any, **options: Any) -> Any:
        if not args and not options:
            return made_of(self._memory, self._part, self._scalar)
        return lazy(self._handed_out().view(*args, **options))

    # -- NumPy's protocols

    def __array_function__(self, func: Callable[..., Any], types: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        for kind in types:
            if kind is not ndarray and kind is not np.ndarray:
                return NotImplemented
        return calls.call_function(func, args, kwargs)


def made_of(memory: Memory, part: Part | None = None, scalar: bool = False) -> ndarray:
    """A lazy array: a memory, a part of it, or a scalar."""
    made = _new(ndarray)
    made._plain = None
    made._held = memory
    made._part = part
    made._scalar = scalar
    return made


def plain_of(value: np.ndarray) -> ndarray:
    """A small array: what is done with it NumPy does at once."""
    made = _new(ndarray)
    made._plain = value
    made._held = None
    made._part = None
    made._scalar = False
    return made


_new: Any = object.__new__
_ALONE = 2  # references to a memory that only one array shows
_numpys = np.ndarray
_INDICES = frozenset({int, tuple, slice, list, np.ndarray})


def _restored(value: Any) -> Any:
    return lazy(value)


def _set_imag(value: Any, imag: Any) -> None:
    value.imag = imag


set_class(ndarray, made_of, plain_of)
direct.set_class(ndarray, PENDING.values, lazy)


def compute(*arrays: Any) -> Any:
    """The elements of several lazy arrays, computed in one program.

    Parameters
    ----------
    *arrays : jitrt.numpy.ndarray or object
        Lazy arrays; anything else is returned as it is, and lists, tuples and dicts of them are looked into.

    Returns
    -------
    tuple
        NumPy's arrays and scalars. Of a single argument, its value.

    Examples
    --------
    >>> import jitrt
    >>> import jitrt.numpy as np
    >>> x = np.arange(4.0)
    >>> jitrt.compute(x + 1, 2 * x)
    (array([1., 2., 3., 4.]), array([0., 2., 4., 6.]))
    """
    found: list[Memory] = []

    def note(leaf: Any) -> Any:
        if type(leaf) is ndarray and leaf._memory.node is not None:
            found.append(leaf._memory)
        return leaf

    calls.mapped(arrays, note)
    with PENDING.lock:
        if found:
            PENDING.compute(found)
    values = calls.mapped(arrays, lambda leaf: leaf.compute() if type(leaf) is ndarray else leaf)
    return values[0] if len(values) == 1 else values
