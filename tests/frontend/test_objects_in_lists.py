"""Lists of objects in functions with loops: a column for each attribute, and an element is its index."""

import numpy as np
import pytest
from object_checks import X, check


class Body:
    def __init__(self, x, v=0.0):
        self.x, self.v, self.n = x, v, 0

    def kick(self, a, dt):
        self.v += a * dt
        self.n += 1

    def drift(self, dt):
        self.x += self.v * dt


class Walker:
    def __init__(self, place):
        self.place, self.weight = place, 1.0


class Holder:
    def __init__(self, body):
        self.body = body


def kicked(xs):
    bs = [Body(x) for x in xs]
    for _ in range(5):
        for b in bs:
            b.kick(-b.x, 0.1)
        for b in bs:
            b.drift(0.1)
    t = 0.0
    for b in bs:
        t = t * 0.5 + b.x + b.n
    return t


def by_index(xs):
    bs = []
    for x in xs:
        b = Body(x)
        bs.append(b)
    for _ in range(3):
        for i in range(len(bs)):
            a = 0.0
            for j in range(len(bs)):
                if i != j:
                    a += bs[j].x - bs[i].x
            bs[i].kick(a, 0.1)
        for b in bs:
            b.drift(0.1)
    return [b.x for b in bs], bs[0].v


def all_pairs(xs):
    bs = [Body(x, 1) for x in xs]
    for _ in range(3):
        for b in bs:
            f = 0.0
            for c in bs:
                if c is not b:
                    f += c.x - b.x
            b.kick(f, 0.1)
    return bs


def used_behind(xs):
    bs = []
    for x in xs:
        b = Body(x)
        bs.append(b)
        b.x += 1
    return [b.x for b in bs]


def the_same_in_a_loop(xs):
    b, bs = Body(1.0), []
    for _ in xs:
        bs.append(b)
    for c in bs:
        c.x += 1
    return b.x


def the_same_written_out(xs):
    b = Body(1.0)
    bs = [b, b, Body(2.0)]
    for k in range(len(xs)):
        bs[k % 3].x += xs[k]
    return b.x, bs[0].x, bs[2].x


def with_arrays(xs):
    bs = [Walker(np.zeros(2) + x) for x in xs]
    for _ in range(3):
        for b in bs:
            b.place = b.place + b.weight * np.array([1.0, 0.5])
    return bs[0].place, bs


def arrays_in_place(xs):
    bs = [Walker(np.zeros(2) + x) for x in xs]
    for _ in range(3):
        for b in bs:
            b.place += 1.0
    return [b.place for b in bs]


def the_best(xs):
    bs = [Body(x) for x in xs]
    best = bs[0]
    for b in bs:
        b.x *= 2
        if b.x > best.x:
            best = b
    best.x = 100.0
    return [b.x for b in bs]


def a_part_of_the_list(xs):
    bs = [Body(x) for x in xs]
    cs = bs[1:]
    for c in cs:
        c.x = 5.0
    return [b.x for b in bs]


def shrinking(xs):
    bs = [Body(x) for x in xs]
    for b in bs:
        b.x = b.x * 2
    b = bs.pop()
    bs.append(Body(7.0))
    b.x = 1.0
    return [c.x for c in bs]


def two_lists(xs):
    bs, cs = [], []
    for x in xs:
        b = Body(x)
        bs.append(b)
        cs.append(b)
    for b in bs:
        b.x = 1.0
    return cs[0].x


def a_late_attribute(xs):
    bs = [Body(x) for x in xs]
    total = 0.0
    for b in bs:
        b.late = b.x
        total += b.late
    return total


def beside_others(xs):
    bs = [Body(0) for x in xs]
    for b, x in zip(bs, xs):
        b.x = b.x + x
    for i, b in enumerate(bs):
        b.x += i
    return bs[0].x, max([b.x for b in bs])


def swapped(xs):
    bs = [Body(x) for x in xs]
    bs[0], bs[-1] = bs[-1], bs[0]
    bs[0].x += 1
    return [b.x for b in bs]


def returned(xs):
    ws = []
    for x in xs:
        w = Body(x)
        w.kick(x, 0.5)
        ws.append(w)
    for w in ws:
        w.kick(1.0, 0.5)
    return ws[0].v, ws, len(ws)


def held_by_another(xs):
    bs = []
    for x in xs:
        b = Body(x)
        q = Holder(b)
        bs.append(b)
        q.body.x = 9.0
    return bs[0].x


def in_a_list_of_known_length(xs):
    p = Body(1.0)
    both = [p, Body(3.0)]
    bs = []
    bs.append(p)
    for _ in range(3):
        both[0].x += 1
    for b in bs:
        b.x += 10
    return both[0].x


def filtered(xs):
    bs = [Body(x) for x in xs if x > 0]
    for b in bs:
        b.x -= 1
    return len(bs), bs


def an_element(xs):
    bs = [Body(x) for x in xs]
    for x in xs:
        bs[int(x)].x += x
    return bs[0].x, bs[0]


class Registered:
    def __init__(self, x, among):
        self.x = x
        among.append(self)

    def register(self, among):
        among.append(self)
        return 1.0


def while_it_is_made(xs):
    among = []
    for x in xs:
        one = Registered(x, among)
        one.x += 1
    return among[0].x


def while_it_is_changed(xs):
    among, others = [], []
    for x in xs:
        one = Registered(x, others)
        one.x = 5.0
        one.x += one.register(among)
    return among[0].x, others[0].x


def while_a_body_is_changed(xs):
    def register(body):
        bodies.append(body)
        return 1.0

    bodies = []
    for x in xs:
        body = Body(x)
        body.v = 2.0
        body.x += register(body)
    return bodies[0].x


def none_at_first(xs):
    bodies = [Body(x, None) for x in xs]
    for body in bodies:
        if body.v is None:
            body.v = body.x
    return [body.v for body in bodies]


STAGED = [kicked, by_index, all_pairs, beside_others, returned, filtered]
OTHERS = [
    used_behind, the_same_in_a_loop, the_same_written_out, with_arrays, arrays_in_place, the_best, a_part_of_the_list,
    shrinking, two_lists, a_late_attribute, swapped, held_by_another, while_it_is_made,
    while_it_is_changed, while_a_body_is_changed, in_a_list_of_known_length, an_element, none_at_first,
]  # fmt: skip


@pytest.mark.parametrize("function", STAGED)
def test_staged(function):
    check(function, (X,), (X[:2],), (X[:1],), (X[:0],), (X.astype(np.float32),))


@pytest.mark.parametrize("function", OTHERS)
def test_what_may_be_another_name_of_an_element(function):
    check(function, (X,), (X[:2],), (X[:1],), (X[:0],), staged=None)
