"""Attributes and methods of arrays, as tracers have them: most of them are NumPy's functions."""

from __future__ import annotations

import functools
import operator
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...base.dtypes import is_twin
from ...errors import Untraceable
from ...ir import build as b
from ...ir.aliasing import is_lent
from ...ir.extents import hidden
from ...ir.node import Node
from ...ir.ops.movement import base_of, bitcast
from ...ir.ops.operands import PROMOTIONS_KEEP
from ...ir.ops.optable import NotCovered
from ...ir.ops.rows import METHODS
from ...ir.ops.ufuncs import COPY
from ...ir.types import ArrayType
from ..context import offer_loops
from ..forms import Form, check
from ..python.userline import is_ours, user_line
from .assignment import assign, mutate
from .flat import Flat
from .numbers import part
from .operators import Operators, type_name
from .order import letter
from .silence import check_parts
from .wording import in_numpys_words

if TYPE_CHECKING:
    from .tracer import Tracer

_IS_NEW = np.lib.NumpyVersion(np.__version__) >= "2.5.0"
_LONGEST_ITERATION = 1000  # an iteration over more rows is an element loop, which tracing would unroll

_UNTRACEABLE_ATTRIBUTES = frozenset(
    """tobytes itemset resize setflags setfield data strides base ctypes
    byteswap dump dumps tofile getfield real imag""".split()
)
_OF_NUMBERS = frozenset({np.round})  # what Python's numbers have, too
_MEMORY = frozenset({"__array_interface__", "__array_struct__", "__dlpack__", "__dlpack_device__"})


def _astype(value: np.ndarray | np.generic, target: np.dtype, **given: Any) -> Any:
    """``value.astype(target)``, which is a method of scalars, too."""
    return value.astype(target, **given)


class Flags:
    """What is known of an array's ``flags`` in every call: the order of its elements in memory."""

    __slots__ = ("c_contiguous", "f_contiguous")
    c_contiguous: bool
    f_contiguous: bool

    def __init__(self, array: Tracer):
        for order in "CF":
            object.__setattr__(self, f"{order.lower()}_contiguous", array._is_in_order(order))

    contiguous = property(lambda self: self.c_contiguous)
    fnc = property(lambda self: self.f_contiguous and not self.c_contiguous)
    forc = property(lambda self: self.f_contiguous or self.c_contiguous)

    def __getattr__(self, name: str) -> Any:
        raise Untraceable(f".flags.{name} of a value that is being traced", user_line())

    def __getitem__(self, name: str) -> bool:
        names = {"C": "c_contiguous", "F": "f_contiguous"}
        return getattr(self, names.get(name, name.lower()))

    def __setattr__(self, name: str, value: Any) -> None:
        raise Untraceable(f".flags.{name} of a value that is being traced is set", user_line())

    __setitem__ = __setattr__


class ArrayMethods(Operators):
    """What `numpy.ndarray` has beside operators."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError

    # Attributes of ndarray.
    @property
    def flags(self) -> Flags:
        self._check_array("flags")
        return Flags(self)  # type: ignore[arg-type]

    @property
    def shape(self) -> tuple[int, ...]:
        node = self._node
        if node.type.weak:
            self._refuse("shape")
        return tuple(map(hidden, node.shape))

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._check_array("shape")
        if self._is_given:
            raise Untraceable("sets the shape of an argument", user_line())
        if _IS_NEW:
            raise Untraceable("sets the shape of an array, of which NumPy warns", user_line())
        reshaped = self.reshape(shape)
        if reshaped._storage() is not self._storage():
            raise AttributeError(
                "Incompatible shape for in-place modification. Use `.reshape()` to make a copy with the desired shape."
            )
        self._become(reshaped._node)

    @property
    def dtype(self) -> np.dtype:
        if (form := self._form()) is not None and form.swapped and not is_ours(sys._getframe(1)):
            check(form, "the dtype is asked for")
        if self._choice is not None:
            return self._choice.array.dtype
        node = self._node
        if node.type.weak:
            self._refuse("dtype")
        return node.dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        raise Untraceable("sets the dtype of an array", user_line())

    @property
    def __numpy_dtype__(self) -> np.dtype:
        """What NumPy (2.4 and later) asks for where it is given as a dtype: of a scalar, not of an array."""
        if self._is_array():
            raise TypeError("Cannot construct a dtype from an array")
        return self.dtype

    @property
    def ndim(self) -> int:
        if self._choice is not None:
            return self._choice.ndim
        node = self._node
        if node.type.weak:
            self._refuse("ndim")
        return node.type.ndim

    @property
    def strides(self) -> tuple[int, ...]:
        return self.__getattr__("strides")

    @strides.setter
    def strides(self, strides: Any) -> None:
        raise Untraceable("sets the strides of an array", user_line())

    @property
    def size(self) -> int:
        self._refuse("size")
        return hidden(self._node.type.size)

    @property
    def itemsize(self) -> int:
        self._refuse("itemsize")
        return self._node.dtype.itemsize

    @property
    def nbytes(self) -> int:
        self._refuse("nbytes")
        return hidden(self._node.type.nbytes)

    @property
    def T(self) -> Tracer:
        return self._apply(np.transpose)

    @property
    def mT(self) -> Tracer:
        return self._apply(np.matrix_transpose)

    @property
    def real(self) -> Tracer:
        return self._part("real", np.real)

    @real.setter
    def real(self, value: Any) -> None:
        self._check_array("real")
        assign(self.real, _as_array(value))

    @property
    def imag(self) -> Tracer:
        if self._is_array() and self.dtype.kind != "c":
            zeros: Any = np.zeros_like(self, order="A")
            return zeros._apply(np.broadcast_to, self.shape)  # which nobody may write to
        return self._part("imag", np.imag)

    @imag.setter
    def imag(self, value: Any) -> None:
        self._check_array("imag")
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        assign(self.imag, value)

    @property
    def flat(self) -> Flat:
        self._refuse("flat")
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self._check_array("flat")
        Flat(self)[:] = value

    @property
    def device(self) -> str:
        self._refuse("device")
        return "cpu"

    def to_device(self, device: Any, /, *, stream: Any = None) -> Tracer:
        np.empty(0).to_device(device, stream=stream)  # raises what NumPy raises
        return self  # type: ignore[return-value]

    def __array_namespace__(self, /, *, api_version: Any = None) -> Any:
        np.empty(0).__array_namespace__(api_version=api_version)
        return self._trace.namespace()

    def _check_array(self, name: str) -> None:
        if not self._is_array():
            raise AttributeError(f"attribute {name!r} of {self.__class__.__name__!r} objects is not writable")

    def _check_no_number(self, name: str) -> None:
        if self._is_weak():
            raise AttributeError(f"{self.__class__.__name__!r} object has no attribute {name!r}")

    def _refuse(self, name: str) -> None:
        """Raise what Python raises where the user's code asks one of its numbers for what arrays have."""
        if self._is_weak() and not is_ours(sys._getframe(2)):
            self._check_no_number(name)

    def _part(self, name: str, function: Callable[..., Any]) -> Any:
        """A part of a complex number: what it is of Python's numbers is a number of Python's."""
        return self._new(part(name, self._node)) if self._is_weak() else function(self)

    def _apply(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """``function(self, …)``: NumPy hands it back to `__array_function__`."""
        if function not in _OF_NUMBERS:
            self._check_no_number(function.__name__)
        return function(self, *args, **kwargs)

    # Methods whose arguments differ from those of the function.
    def reshape(self, *shape: Any, order: str = "C", copy: Any = None) -> Tracer:
        if not shape:
            raise TypeError("reshape() takes exactly 1 argument (0 given)")
        wanted = shape[0] if len(shape) == 1 else shape
        return self._apply(np.reshape, wanted, order=order)

    def view(self, *args: Any, **kwargs: Any) -> Tracer:
        self._check_no_number("view")
        if len(args) + len(kwargs) > 1 or not kwargs.keys() <= {"dtype"} or self._form() is not None:
            self._refuse_view()
        (target,) = (*args, *kwargs.values()) or (self.dtype,)
        if isinstance(target, type) and issubclass(target, np.ndarray):
            if target is not np.ndarray or self._scalar:
                self._refuse_view()
            target = self.dtype
        try:
            node = bitcast(self._node, np.dtype(target))
        except NotCovered:
            self._refuse_view()
        return self._new(node, scalar=True) if self._scalar else self._view(node)

    def _refuse_view(self) -> NoReturn:
        raise Untraceable(".view of a value that is being traced", user_line())

    def transpose(self, *axes: Any) -> Tracer:
        return self._apply(np.transpose, None if not axes else axes[0] if len(axes) == 1 else axes)

    def ravel(self, order: str = "C") -> Tracer:
        return self._apply(np.ravel, order)

    def flatten(self, order: str = "C") -> Tracer:
        return self.ravel(order).copy()

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        target, order, subok = np.dtype(dtype), letter(order, "K"), bool(operator.index(subok))
        is_covered = target.kind in "biufc" and target.isnative and target.names is None and self.dtype.kind in "biufc"
        if not is_covered or is_twin(target) or casting not in ("no", "equiv", *PROMOTIONS_KEEP):
            given = {"order": order, "casting": casting, "copy": copy}
            return self._trace.calls.host_call(_astype, "astype", (self, target), given)
        if not np.can_cast(self.dtype, target, casting):  # type: ignore[arg-type]
            what = "array data" if self._is_array() else "scalar"
            raise TypeError(f"Cannot cast {what} from {self.dtype!r} to {target!r} according to the rule {casting!r}")
        if self._form() is not None and (casting == "no" or not (copy and subok)):
            check(self._form(), "astype")
        if not copy and target == self.dtype and (order == "K" or self._is_in_order(order)):
            return self
        node = b.cast(self._node, target)
        if node is self._node and is_lent(base_of(node)):
            node = self._trace.fresh(node)
        check_parts(self._trace, (node,))
        self._trace.effects.operation(node)
        made = self._trace.like(node, self, order) if self.ndim > 1 else self._new(node, self._scalar)
        return self._in_form(made, swapped=False)

    def _in_form(self, copied: Tracer, swapped: bool = True) -> Tracer:
        """A copy of this array, which is of the same class, and perhaps in the same byte order."""
        form = self._form()
        if form is not None and form.of_copies is not None:
            copied._storage().form = Form(form.kind, form.swapped and swapped).of_copies
        return copied

    def _is_in_order(self, order: str) -> bool:
        """Whether NumPy makes no copy for this memory order."""
        if order == "F":
            return self.transpose()._is_contiguous()
        return self._is_contiguous() or (order == "A" and self.transpose()._is_contiguous())

    def copy(self, order: str = "C") -> Tracer:
        self._check_no_number("copy")
        order = letter(order, "C")
        node = self._trace.fresh(self._node)
        return self._in_form(self._trace.like(node, self, order) if self.ndim > 1 else self._new(node, self._scalar))

    def clip(self, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
        return self._apply(np.clip, min, max, out, **kwargs)

    def conjugate(self) -> Any:
        if self.dtype.kind != "c" and not self._is_weak():
            if self.dtype.kind not in "biuf":
                raise TypeError("cannot conjugate non-numeric dtype")
            return self  # as NumPy's method does; the function gives a copy
        return self._part("conjugate", np.conjugate)

    def conj(self) -> Any:
        return self.conjugate()

    def __copy__(self) -> Any:
        return self if self._is_weak() else self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__copy__()

    def round(self, decimals: int = 0, out: Any = None) -> Tracer:
        return self._apply(np.round, decimals, out)

    def __len__(self) -> int:
        if self._scalar:
            raise TypeError(f"object of type 'numpy.{self.dtype.type.__name__}' has no len()")
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tracer]:
        if not self.shape:
            named = "iteration over a 0-d array" if self._is_array() else f"{type_name(self)!r} object is not iterable"
            raise TypeError(named)
        if self.ndim == 1 and self._known():
            return iter(self._value("a loop", np.asarray))
        if self.shape[0] > _LONGEST_ITERATION:
            offer_loops(user_line(), True)
            raise Untraceable("a loop over many elements", user_line())
        return (self[k] for k in range(self.shape[0]))

    def item(self, *index: Any) -> Any:
        """The element as a Python number; a float is not looked at, an integer or a boolean is."""
        if len(index) not in (0, 1, self.ndim):
            raise ValueError("incorrect number of indices for array")
        if index:
            return self.flat[index[0]].item() if len(index) == 1 else self[index].item()
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        kind = {"f": np.float64, "c": np.complex128}.get(self.dtype.kind)
        if kind is None or self.dtype.itemsize > np.dtype(kind).itemsize:
            return self._value("item", lambda value: value.item())
        return self._number(np.dtype(kind))

    def _number(self, dtype: np.dtype) -> Tracer:
        """The only element as the Python number that `dtype` is made of."""
        number = b.cast(b.view("reshape", self._node, shape=()), dtype)
        weak = ArrayType(number.dtype, (), weak=True)
        return self._new(Node(COPY, (number,), b.params(number=self._trace.effects.copy()), weak))

    def _as_float(self) -> Any:
        """``float(self)``, which is not looked at where it is certain to be a number."""
        if self._is_weak():
            return self if self.dtype.kind == "f" else float(self)
        if self.shape or self.dtype.kind not in "biuf" or self.itemsize > 8 or self._known():
            return float(self)
        return self._number(np.dtype(np.float64))

    def tolist(self) -> Any:
        return self._value("tolist", lambda value: value.tolist())

    # Methods that write.
    def fill(self, value: Any) -> None:
        if isinstance(value, (list, tuple)) or len(getattr(value, "shape", ())):
            raise ValueError("setting an array element with a sequence.")
        if self._is_array():  # NumPy fills a copy of a scalar
            assign(self, value)  # type: ignore[arg-type]

    def sort(self, *args: Any, **kwargs: Any) -> None:
        mutate(self, np.ndarray.sort, "sort", (self, *args), kwargs)

    def partition(self, *args: Any, **kwargs: Any) -> None:
        mutate(self, np.ndarray.partition, "partition", (self, *args), kwargs)

    def put(self, *args: Any, **kwargs: Any) -> None:
        mutate(self, np.ndarray.put, "put", (self, *args), kwargs)

    def __getattr__(self, name: str) -> Any:
        if self._is_weak():
            return getattr(self._value(name, lambda value: value), name)
        function = METHODS.get(name)
        if function is not None and (not self._scalar or hasattr(np.generic, name)):
            return functools.partial(_method(name, function), self)
        if self._scalar and not name.startswith("__") and not hasattr(np.ndarray, name):
            if self.dtype.kind in "mM":  # NumPy asks for parts of a date, and tells people of other errors than these
                Untraceable(f".{name} of a value that is being traced", user_line())  # it is noted when it is made
                raise AttributeError(name)
            return getattr(self._value(name, lambda value: value), name)  # is_integer, as_integer_ratio, bit_count
        if name in _MEMORY and name in sys._getframe(1).f_code.co_names:  # where NumPy asks, there is none
            raise Untraceable(f".{name} of a value that is being traced", user_line())
        if name.startswith("__") or not hasattr(np.generic if self._scalar else np.ndarray, name):
            raise AttributeError(f"{type_name(self)!r} object has no attribute {name!r}")
        if self._scalar or name in _UNTRACEABLE_ATTRIBUTES or not callable(getattr(np.ndarray, name)):
            raise Untraceable(f".{name} of a value that is being traced", user_line())
        method = getattr(np.ndarray, name)
        return lambda *args, **kwargs: self._trace.calls.host_call(method, name, (self, *args), kwargs)


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` as a method that the user's numbers do not have, and which raises what NumPy's raises."""

    def numpys(array: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(array, name)(*args, **kwargs)

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(float, name):
            self._refuse(name)
        try:
            return function(self, *args, **kwargs)
        except Exception as error:
            raise in_numpys_words(error, numpys, (self, *args), kwargs)  # noqa: B904 - it may be itself

    return method


for _name, _function in tuple(vars(ArrayMethods).items()):
    if hasattr(np.ndarray, _name) and not _name.startswith("_") and callable(_function):
        setattr(ArrayMethods, _name, _method(_name, _function))


def _as_array(value: Any) -> Any:
    """A number in the dtype that NumPy gives it alone: until 2.5 `real` and `imag` took what does not fit."""
    return np.asarray(value) if isinstance(value, (bool, int, float, complex)) and not _IS_NEW else value
