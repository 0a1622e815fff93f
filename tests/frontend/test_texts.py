"""Strings that are arguments of functions with loops: one procedure for all texts, with characters of run time."""

import re
from collections import defaultdict

import numpy as np
import pytest
from test_element_loops import agrees, outcome

import jitrt

WEIGHTS = {"a": 0.5, "b": 1.5, "c": -2.0}


def edits(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=int)
    d[:, 0], d[0] = np.arange(len(a) + 1), np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[-1, -1]


def differences(a, b):
    return sum(x != y for x, y in zip(a, b))


def vowels(a, b):
    count = 0
    for c in a:
        if c in "aeiou" or c == "A" or c in ("x", "yz") or c not in "abc":
            count += 1
    return count


def hashed(a, b):
    made = 0
    for c in a:
        made = (made * 31 + ord(c)) % 1000003
    return made


def runs(a, b):
    found, length = [], 1
    for i in range(1, len(a)):
        if a[i] == a[i - 1]:
            length += 1
        else:
            found.append((a[i - 1], length))
            length = 1
    if len(a) > 0:
        found.append((a[-1], length))
    return found


def is_palindrome(a, b):
    i, j = 0, len(a) - 1
    while i < j:
        if a[i] != a[j]:
            return False
        i, j = i + 1, j - 1
    return True


def repeated(a, b):
    before, count = "", 0
    for c in a:
        if c == before:
            count += 1
        before = c
    return count, before


def shifted(a, b):
    made = []
    for c in a:
        if "a" <= c <= "z":
            made.append(chr((ord(c) - 97 + 3) % 26 + 97))
        else:
            made.append(c)
    return made


def one_hot(a, b):
    made, places = np.zeros((len(a), 4)), {"A": 0, "C": 1, "G": 2, "T": 3}
    for i, c in enumerate(a):
        if c in places:
            made[i, places[c]] = 1
    return made


def weighed(a, b):
    total = 0.0
    for c in a:
        total += WEIGHTS[c]
    return total


def listed(a, b):
    if isinstance(a, str):
        a = list(a)
    count = 0
    for c in reversed(a):
        count += c == b[0]
    return count


def by_position(a, b):
    count = 0
    for i in range(len(b)):
        count += a[i] == b[-1 - i]
    return count


def by_mode(a, mode):
    total = 0.0
    for k in range(5):
        if mode == "edge":
            total += k
        elif mode in ("wrap", "edges"):
            total -= k
    return total * len(a)


def in_capitals(a, b):
    count = 0
    for c in a.upper():
        count += c == "A"
    return count


def longest_name(a, b):
    kind, count = "none", 0
    for c in a:
        if c == "a":
            kind = "letter a"
        count += 1
    return kind, count


def k_mers(a, b):
    count = 0
    if a == b or not a:
        return -1
    for i in range(len(a) - 1):
        for j in range(len(b) - 1):
            if a[i : i + 2] == b[j : j + 2]:
                count += 1
            elif a[i : i + 3] != b[j : j + 3] and a[i:]:
                count += 10
    for c in a[::-1]:
        count += c == "a"
    return count, a[1:] != b[1:]


def counted(a, b):
    counts, found = {}, defaultdict(int)
    for c in a:
        counts[c] = counts.get(c, 0) + 1
    for c in b:
        found[c] += 1
    return counts, dict(found), len(found)


def distinct(a, b):
    known, made = set(), []
    for c in a:
        if c not in known:
            known.add(c)
            made.append(c)
    return made, len(known)


def first_again(a, b):
    places = {}
    for i, c in enumerate(a):
        if c in places:
            return c, places[c], i
        places[c] = i
    return None


def is_balanced(a, b):
    opened = []
    for c in a:
        if c in "([{":
            opened.append(c)
        elif c in ")]}":
            if not opened:
                return False
            last = opened.pop()
            if (last == "(" and c != ")") or (last == "[" and c != "]") or (last == "{" and c != "}"):
                return False
    return not opened


FUNCTIONS = [
    edits, differences, vowels, hashed, runs, is_palindrome, repeated, shifted, one_hot, listed, by_position,
    longest_name, k_mers, counted, distinct, first_again, is_balanced,
]  # fmt: skip
TEXTS = [
    ("kitten", "sitting"), ("aabbbcA", "abcab"), ("racecar", "edge"), ("", "x"), ("ACGTTGCA", "ACTG"),
    ("x\x00\x7f", "\x00"), ("häuser", "wörter"), ("same", "same"), ("(a[b]{c})", "([)]"), ("([)]", ")"),
    ("abcabcabcab", "b"),
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_is_compiled_and_like_python(function):
    agrees(function, *TEXTS)


def test_strings_that_say_what_to_do_are_known():
    agrees(by_mode, ("abc", "edge"), ("abcd", "wrap"), ("", "none"), ("abcde", "edge"))


def test_what_else_is_done_with_a_text_is_left_to_python():
    fast = agrees(in_capitals, *TEXTS, compiled=False)
    assert fast._loops.reason(TEXTS[0]).startswith("the attribute upper of a str")


def test_items_of_a_dict_of_outside_are_heeded(monkeypatch):
    agrees(weighed, ("abc", ""), ("", ""), ("cab" * 20, ""))
    fast = jitrt.jit(weighed)
    calls = [("abc" * 20, ""), ("ccc", ""), ("abd", "")]
    for value in (0.5, 0.5, 7.0, 0.25):
        monkeypatch.setitem(WEIGHTS, "a", value)
        for args in calls * 2:
            assert outcome(fast, args) == outcome(weighed, args)
    monkeypatch.setitem(WEIGHTS, "d", 1)
    assert outcome(fast, calls[2]) == outcome(weighed, calls[2])


def test_one_procedure_serves_all_texts():
    fast = jitrt.jit(edits)
    for a, b in [*TEXTS[:6], *((x, y) for x, _ in TEXTS[:6] for _, y in TEXTS[:6])]:
        assert fast(a, b) == edits(a, b)
    assert sum(map(len, fast._loops._loops.values())) == 1


def test_characters_beyond_ascii():
    def codes(a):
        total = 0
        for k in range(len(a)):
            total += ord(a[k])
        return chr(total)

    agrees(codes, ("!A",), ("~~",), ("~",), ("é",), ("ab" * 50,))


class Filter:
    def __init__(self, x, frame):
        self.x, self.frame, self.gain = x, frame, 2.0

    def run(self):
        for name in ("x", "gain"):
            if isinstance(self.__getattribute__(name), bool):
                raise TypeError(name)
        total = 0.0
        for k in range(len(self.x)):
            total += self.x[k] * self.__getattribute__("gain")
            if self.frame.strip().upper() in ("NED", "ENU"):
                total += 1
        return total


def in_mode(x, mode="Valid"):
    total = 0.0
    for k in range(len(x)):
        if mode.lower() == "valid":
            total += x[k]
        elif mode.upper().startswith("SA"):
            total -= x[k] * mode.count("a")
    return total


@pytest.mark.parametrize(
    ("function", "calls"),
    [
        (in_mode, [(), ("valid",), ("Same",), ("other",), (3,), ("valid",)]),
        (Filter.run, [("ned",), (" Enu ",), ("none",), (None,)]),
    ],
    ids=["argument", "attribute"],
)
def test_methods_of_strings(function, calls):
    """Of strings that are known methods are called while staging."""
    fast = jitrt.jit(function)
    x = np.arange(50.0)
    for args in calls * 2:
        given = (Filter(x, *args),) if function is Filter.run else (x, *args)
        try:
            want = function(*given)
        except (AttributeError, TypeError) as error:
            with pytest.raises(type(error), match=re.escape(str(error))):
                fast(*given)
        else:
            assert fast(*given) == want
    assert fast.explain(*((Filter(x, "ned"),) if function is Filter.run else (x, "valid"))).loop
