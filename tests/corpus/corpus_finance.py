"""Finance."""

import math
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from catalogue import LOOP, MATRIX, VECTOR, example


def prices(r, n):
    return 100 * np.exp(np.cumsum(0.01 * r.normal(size=n)))


@dataclass
class Option:
    spot: np.ndarray
    strike: float
    maturity: float = 1.0
    call: bool = True


class Quote(NamedTuple):
    bid: np.ndarray
    ask: np.ndarray


@example(lambda r, n: (Option(prices(r, n), 100.0, call=bool(n % 2)), 0.02, 0.3))
def black_scholes(option, rate, volatility):
    total = volatility * math.sqrt(option.maturity)
    d1 = (np.log(option.spot / option.strike) + (rate + volatility**2 / 2) * option.maturity) / total
    discounted = option.strike * np.exp(-rate * option.maturity)

    def cdf(x):
        return 1 / (1 + np.exp(-1.702 * x))

    if option.call:
        return option.spot * cdf(d1) - discounted * cdf(d1 - total)
    return discounted * cdf(total - d1) - option.spot * cdf(-d1)


@example(lambda r, n: (prices(r, n),))
def drawdown(price):
    peak = np.maximum.accumulate(price)
    loss = price / peak - 1
    return loss.min(), int(loss.argmin()), loss


@example(lambda r, n: (prices(r, n),))
def log_returns(price):
    out = np.full(price.shape, np.nan)
    out[1:] = np.diff(np.log(price))
    return out, np.nanmean(out), np.nanstd(out)


@example(lambda r, n: (r.normal(size=(n, 6)), np.full(6, 1 / 6)), MATRIX)
def portfolio(returns, weights):
    covariance = np.cov(returns, rowvar=False)
    return returns.mean(axis=0) @ weights, np.sqrt(weights @ covariance @ weights)


@example(lambda r, n: (prices(r, n + 25), 20))
def bollinger(price, window):
    middle = np.convolve(price, np.ones(window) / window, "valid")
    spread = np.array([price[k : k + window].std() for k in range(min(len(middle), 50))])
    return middle, middle[: len(spread)] + 2 * spread, middle[: len(spread)] - 2 * spread


@example(lambda r, n: (r.normal(size=n), 0.05))
def present_value(flows, rate):
    years = np.arange(len(flows))
    return np.sum(flows / (1 + rate) ** years)


@example(lambda r, n: (np.concatenate(([-100.0], r.uniform(20, 60, n))),), LOOP)
def internal_rate(flows):
    rate = 0.1
    years = np.arange(len(flows))
    for _ in range(50):
        discount = (1 + rate) ** -years
        value = (flows * discount).sum()
        slope = (-years * flows * discount).sum() / (1 + rate)
        step = value / slope
        rate -= step
        if abs(step) < 1e-12:
            break
    return rate


@example(lambda r, n: (100.0, 105.0, 0.03, 0.2, n), (3, 20, 90))
def binomial_put(spot, strike, rate, volatility, steps):
    dt = 1.0 / steps
    up = np.exp(volatility * np.sqrt(dt))
    p = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    price = spot * up ** np.arange(-steps, steps + 1, 2)
    value = np.maximum(strike - price, 0)
    for step in range(steps - 1, -1, -1):
        value[: step + 1] = np.exp(-rate * dt) * (p * value[1 : step + 2] + (1 - p) * value[: step + 1])
        price = spot * up ** np.arange(-step, step + 1, 2)
        np.maximum(value[: step + 1], strike - price, out=value[: step + 1])
    return value[0]


@example(lambda r, n: (np.random.default_rng(int(r.integers(1000))), n, 12), MATRIX)
def asian_call(generator, paths, steps):
    shocks = generator.standard_normal((paths, steps))
    price = 100 * np.exp(np.cumsum(0.05 * shocks - 0.00125, axis=1))
    payoff = np.maximum(price.mean(axis=1) - 100, 0)
    return payoff.mean(), payoff.std() / np.sqrt(paths)


@example(lambda r, n: (Quote(prices(r, n), prices(r, n)),))
def crossed(quote):
    middle = (quote.bid + quote.ask) / 2
    return Quote(np.minimum(quote.bid, middle), np.maximum(quote.ask, middle)), (quote.bid > quote.ask).sum()


@example(lambda r, n: (prices(r, n), 0.1), (4, 50, 300))
def moving_weighted(price, alpha):
    value = price[0]
    out = [value]
    for p in price[1:]:
        value = alpha * p + (1 - alpha) * value
        out.append(value)
    return np.array(out)


@example(lambda r, n: (r.integers(-5, 5, n), prices(r, n)))
def profit(position, price):
    change = np.diff(price, prepend=price[0])
    daily = position * change
    return {"daily": daily, "total": daily.sum(), "wins": int((daily > 0).sum()), "best": daily.max()}


def _tax(brackets, rates, income):
    due = np.zeros_like(income)
    for lower, upper, rate in zip(brackets[:-1], brackets[1:], rates):
        due += rate * np.clip(income - lower, 0, upper - lower)
    return due


income_tax = partial(_tax, (0, 10_000, 50_000, np.inf), (0.1, 0.2, 0.4))
income_tax.__name__ = "income_tax"  # type: ignore[attr-defined]
income_tax.__module__ = __name__
example(lambda r, n: (r.uniform(0, 90_000, n),), VECTOR)(income_tax)


@example(lambda r, n: (r.uniform(5, 15, n), 100.0, 0.2), LOOP)
def implied_volatility(quoted, strike, guess):
    out = np.empty(len(quoted))
    for k, target in enumerate(quoted):
        low, high = 0.001, 4.0
        while high - low > 1e-9:
            middle = (low + high) / 2
            if 0.4 * strike * middle * math.exp(-0.01 * middle) < target:
                low = middle
            else:
                high = middle
        out[k] = low + 0 * guess
    return out
