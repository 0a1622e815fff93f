"""Classes that code asks for: shown in texts, compared, or kept; and attributes that it finds by name."""

import copy

import numpy as np
import pytest

import jitrt
from jitrt import policy


class Base:
    made = 0

    def __init__(self, size):
        self.a, self.b, self.k = np.arange(float(size)), np.ones(size), 2.0
        self.log = [2] * (size // 100)


class Body(Base):
    def shown(self):
        self.c = self.a * 2
        names = f"{type(self)} {type(self.a[0])!r} {type(self).__name__} {self.__class__.__qualname__:>9} {type(None)}"
        return f"{names} {type(self.k)} {self.a.__class__} {type(self.log[0]).__module__}", self.c

    def told_in_an_error(self):
        if not isinstance(self.k, float):
            raise TypeError(f"k is a {type(self.k)} of {type(self).__name__}")
        self.a = np.array(self.a) * self.k
        return self.a

    def compared(self):
        self.c = self.a * 2
        alike = type(self) is Body and type(self.a) is np.ndarray and type(self.k) in (int, float)
        return self.c * 2 if alike and self.__class__ is not Base and type(self) is type(self) else self.c

    def kept(self):
        kind = type(self)
        kind.made = 3
        return self.a + 1

    def counted(self):
        self.__class__.made += 1
        return self.a + 1

    def handed_on(self):
        (lambda kind: setattr(kind, "made", 7))(type(self))
        return self.a + 1

    def mapped(self):
        for kind in map(type, [self]):
            kind.made = 5
        return self.a + 1

    def called(self):
        self.c = type(self)(5).a + self.a[:5]
        return self.c

    def by_dict(self):
        total = 0.0
        for name, value in self.__dict__.items():
            if isinstance(value, np.ndarray):
                total = total + value * len(name)
        self.__dict__["d"] = total
        return total, sorted(self.__dict__)

    def by_name(self):
        for name in ("a", "b"):
            self.__setattr__(name, np.copy(self.__getattribute__(name)) * 2)
        self.log.append(1)
        return len(self.__getattribute__("log")), self.a + self.b

    def deleted_by_name(self):
        self.__delattr__("b")
        return self.a * 2


METHODS = [name for name in vars(Body) if not name.startswith("__")]
COMPILED = {"shown", "told_in_an_error", "compared", "by_dict", "by_name", "deleted_by_name"}


@pytest.mark.parametrize("name", METHODS)
def test_classes_are_as_in_plain_calls(name):
    plain = getattr(Body, name)
    fast = jitrt.jit(plain)
    for size in (500, 500, 700, 700):
        before = Base.made
        mine, other = Body(size), Body(size)
        Body.made = before
        want = plain(mine)
        made, Body.made = Body.made, before
        got = fast(other)
        assert repr(got) == repr(want) and Body.made == made
        assert repr(vars(other)) == repr(vars(mine))
    assert bool(fast.plain_reason) == (name not in COMPILED)


def test_an_error_tells_the_class():
    fast = jitrt.jit(Body.told_in_an_error)
    body = Body(500)
    fast(copy.deepcopy(body))
    body.k = 2
    with pytest.raises(TypeError, match="k is a <class 'int'> of Body"):
        fast(body)


@pytest.mark.filterwarnings("ignore::jitrt.JitrtPerformanceWarning")
def test_many_kinds_of_objects_whose_classes_are_kept_are_not_all_traced():
    fast = jitrt.jit(Body.kept)
    for size in range(500, 500 + 4 * policy.CREDIT):
        fast(Body(size))
    assert fast.cache_info().plain <= policy.CREDIT // policy.FAILED + policy.CREDIT_FOR_SEEN
