"""Minimax polynomials with machine coefficients, by the Remez exchange in many digits.

E. Remez 1934; the exchange follows Muller, "Elementary Functions" (3rd ed. 2016), section 3.5. After each run
the coefficient of lowest power is rounded to the machine type and held fixed while the others are fitted
again, so that the roundings of the large coefficients are absorbed by the small ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from mpmath import mp, mpf

Real = Callable[[mpf], mpf]
GRID = 400


def _error_extrema(errors: list[mpf], count: int) -> list[int]:
    """Indices of `count` points where the error alternates in sign and is large."""
    runs: list[int] = []
    for i, error in enumerate(errors):
        if runs and (error > 0) == (errors[runs[-1]] > 0):
            if abs(error) > abs(errors[runs[-1]]):
                runs[-1] = i
        else:
            runs.append(i)
    while len(runs) > count:
        if len(runs) == count + 1:
            runs.pop(0 if abs(errors[runs[0]]) < abs(errors[runs[-1]]) else -1)
            continue
        weakest = min(range(len(runs)), key=lambda i: abs(errors[runs[i]]))
        # Both neighbours of an inner point have one sign, of which one is enough.
        if 0 < weakest < len(runs) - 1:
            left, right = runs[weakest - 1], runs[weakest + 1]
            del runs[weakest - 1 if abs(errors[left]) < abs(errors[right]) else weakest + 1]
            weakest = weakest - 1 if abs(errors[left]) < abs(errors[right]) else weakest
        runs.pop(weakest)
    return runs


def _fit(xs: list[mpf], target: list[mpf], weight: list[mpf], powers: list[int]) -> tuple[list[mpf], mpf]:
    """The coefficients of `powers` whose greatest weighted error on the grid is least, and that error."""
    count = len(powers) + 1
    chosen = [round((1 - np.cos(np.pi * (i + 0.5) / count)) / 2 * (len(xs) - 1)) for i in range(count)]
    coefficients: list[mpf] = []
    worst = mpf(0)
    for _ in range(12):
        matrix = mp.matrix(count, count)
        right = mp.matrix(count, 1)
        for row, index in enumerate(chosen):
            for column, power in enumerate(powers):
                matrix[row, column] = xs[index] ** power * weight[index]
            matrix[row, count - 1] = (-1) ** row
            right[row] = target[index] * weight[index]
        solution = mp.lu_solve(matrix, right)
        coefficients = [solution[i] for i in range(count - 1)]
        level = abs(solution[count - 1])
        errors = [
            (t - sum(c * x**p for c, p in zip(coefficients, powers, strict=True))) * w
            for x, t, w in zip(xs, target, weight, strict=True)
        ]
        worst = max(abs(e) for e in errors)
        if worst < level * mpf("1.02"):
            break
        extrema = _error_extrema(errors, count)
        if len(extrema) < count:
            break
        chosen = extrema
    return coefficients, worst


def minimax(
    function: Real, weight: Real, low: float, high: float, degree: int, bits: int
) -> tuple[tuple[float, ...], float]:
    """Coefficients, lowest power first, each a float of `bits` bits, and the greatest weighted error.

    Parameters
    ----------
    function, weight
        What is approximated, and the factor by which its error enters the relative error of the result.
    low, high
        The interval.
    degree
        Of the polynomial.
    bits
        64 or 32: the type of the coefficients.
    """
    low_mp, high_mp = mpf(low), mpf(high)
    # Chebyshev nodes never touch the ends, where many of the functions are quotients of zeros.
    xs = [low_mp + (high_mp - low_mp) * (1 - mp.cos(mp.pi * (i + mpf("0.5")) / GRID)) / 2 for i in range(GRID)]
    target = [function(x) for x in xs]
    weights = [weight(x) for x in xs]
    exact = target
    fixed: list[float] = []
    at_once: list[float] = []
    for power in range(degree + 1):
        coefficients, _ = _fit(xs, target, weights, list(range(power, degree + 1)))
        if not power:
            at_once = [_rounded(c, bits) for c in coefficients]
        fixed.append(_rounded(coefficients[0], bits))
        target = [t - mpf(fixed[-1]) * x**power for t, x in zip(target, xs, strict=True)]

    def error(coefficients: list[float]) -> float:
        sums = [sum(mpf(c) * x**p for p, c in enumerate(coefficients)) for x in xs]
        return float(max(abs((t - s) * w) for t, s, w in zip(exact, sums, weights, strict=True)))

    # Where zero is inside the interval a late fit has no alternating error, and may be worse than plain rounding.
    best = min((fixed, at_once), key=error)
    return tuple(best), error(best)


def rational(
    function: Real, low: float, high: float, degrees: tuple[int, int]
) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """Numerator and denominator of the quotient with the least relative error, and that error, in float64.

    C. L. Lawson's iteration of weighted least squares (1961), linear in the coefficients by the last denominator. For
    quotients that serve float32: the last places of float64 do not count.
    """
    xs = low + (high - low) * (1 - np.cos(np.pi * (np.arange(GRID) + 0.5) / GRID)) / 2
    target = np.array([float(function(mpf(x))) for x in xs])
    upper, lower = degrees
    weight, divisor = np.ones(GRID), np.ones(GRID)
    for _ in range(60):
        columns = [xs**k for k in range(upper + 1)] + [-target * xs**k for k in range(1, lower + 1)]
        scale = np.sqrt(weight) / (target * divisor)
        solution = np.linalg.lstsq(np.column_stack(columns) * scale[:, None], target * scale, rcond=None)[0]
        numerator, denominator = solution[: upper + 1], np.concatenate([[1.0], solution[upper + 1 :]])
        divisor = np.polyval(denominator[::-1], xs)
        error = np.abs(np.polyval(numerator[::-1], xs) / divisor / target - 1)
        weight *= error / error.max()
        weight = np.maximum(weight / weight.max(), 1e-12)
    return tuple(map(float, numerator)), tuple(map(float, denominator)), float(error.max())


def _rounded(value: mpf, bits: int) -> float:
    return float(np.float32(float(value))) if bits == 32 else float(value)
