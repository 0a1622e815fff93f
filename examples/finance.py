"""Options on shares: closed formulas, a lattice, Monte Carlo, implied volatility and the risk of a portfolio."""

import argparse
import math

import numpy as np


def normal_cdf(x):
    """Abramowitz and Stegun 26.2.17, good to 7.5e-8."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) * poly
    return np.where(x >= 0, 1 - tail, tail)


def black_scholes(spot, strike, years, rate, sigma):
    """Prices of European calls."""
    root = sigma * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * sigma**2) * years) / root
    return spot * normal_cdf(d1) - strike * np.exp(-rate * years) * normal_cdf(d1 - root)


def vega(spot, strike, years, rate, sigma):
    root = sigma * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * sigma**2) * years) / root
    return spot * np.sqrt(years) * np.exp(-0.5 * d1 * d1) / math.sqrt(2 * math.pi)


def implied_volatility(prices, spot, strike, years, rate, rounds=30):
    """Newton's method, with steps that are not too long."""
    sigma = np.full_like(prices, 0.3)
    for _ in range(rounds):
        error = black_scholes(spot, strike, years, rate, sigma) - prices
        step = error / np.maximum(vega(spot, strike, years, rate, sigma), 1e-8)
        sigma = np.clip(sigma - np.clip(step, -0.1, 0.1), 0.01, 3.0)
    return sigma


def american_put(spot, strike, years, rate, sigma, steps):
    """A binomial lattice (Cox, Ross and Rubinstein 1979)."""
    dt = years / steps
    up = math.exp(sigma * math.sqrt(dt))
    down = 1 / up
    p = (math.exp(rate * dt) - down) / (up - down)
    discount = math.exp(-rate * dt)
    prices = spot * up ** np.arange(steps, -steps - 1, -2.0)
    values = np.maximum(strike - prices, 0)
    for level in range(steps - 1, -1, -1):
        values = discount * (p * values[:-1] + (1 - p) * values[1:])
        prices = spot * up ** np.arange(level, -level - 1, -2.0)
        values = np.maximum(values, strike - prices)
    return values[0]


def heston_paths(spot, v0, kappa, theta, xi, rho, rate, years, steps, paths, rng):
    """Final prices and averages of a model whose volatility is random, too."""
    dt = years / steps
    s = np.full(paths, float(spot))
    v = np.full(paths, float(v0))
    average = np.zeros(paths)
    for _ in range(steps):
        z1 = rng.standard_normal(paths)
        z2 = rho * z1 + math.sqrt(1 - rho * rho) * rng.standard_normal(paths)
        positive = np.maximum(v, 0)
        root = np.sqrt(positive * dt)
        s = s * np.exp((rate - 0.5 * positive) * dt + root * z1)
        v = v + kappa * (theta - positive) * dt + xi * root * z2
        average += s / steps
    return s, average


def with_error(payoffs, rate, years):
    """The discounted mean and its standard error."""
    values = payoffs * math.exp(-rate * years)
    return values.mean(), values.std(ddof=1) / math.sqrt(len(values))


def correlated_returns(days, assets, rng):
    """Daily returns of assets that share a market factor and have volatility clusters."""
    beta = 0.5 + rng.random(assets)
    market = np.empty(days)
    variance = 1e-4
    shocks = rng.standard_normal(days)
    for t in range(days):
        market[t] = math.sqrt(variance) * shocks[t]
        variance = 2e-6 + 0.09 * market[t] ** 2 + 0.89 * variance
    own = rng.standard_normal((days, assets)) * 0.01
    return market[:, None] * beta + own


def ewma_covariances(returns, decay):
    """Exponentially weighted covariance matrix after the last day."""
    covariance = np.cov(returns[:50].T)
    for r in returns[50:]:
        covariance = decay * covariance + (1 - decay) * np.outer(r, r)
    return covariance


def historical_var(returns, weights, level):
    """Value at risk and expected shortfall from the returns as they were."""
    losses = -(returns @ weights)
    var = np.quantile(losses, level)
    return var, losses[losses >= var].mean()


def drawdown(returns, weights):
    """The largest loss from a peak."""
    wealth = np.cumprod(1 + returns @ weights)
    peak = np.maximum.accumulate(wealth)
    return np.max(1 - wealth / peak)


def draw(strikes, volatility, final, wealth, png):
    """Volatility by strike, the distribution of final prices, and the portfolio's wealth."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.6), layout="constrained")
    smile, prices, portfolio = figure.subplots(1, 3)
    smile.plot(strikes, 100 * volatility)
    smile.set(xlabel="strike", ylabel="implied volatility (%)", title="smile")
    prices.hist(final, 120, density=True, histtype="stepfilled")
    prices.set(xlabel="price after a year", title="Heston's model")
    portfolio.plot(wealth)
    portfolio.set(xlabel="days", title="portfolio of 30 assets", yscale="log")
    figure.savefig(png)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", nargs="?", type=int, default=1, help="how many times the work is done")
    parser.add_argument("--png", help="a picture of smile, prices and portfolio, by matplotlib")
    options = parser.parse_args()
    rng = np.random.default_rng(11)
    size = options.size
    strikes = np.linspace(60, 140, 200_000 * size + 1)
    smile = 0.2 + 0.1 * ((strikes - 100) / 100) ** 2
    prices = black_scholes(100.0, strikes, 0.75, 0.03, smile)
    found = implied_volatility(prices, 100.0, strikes, 0.75, 0.03)
    print(
        f"calls from {prices.min():.5f} to {prices.max():.5f}, volatility found within 1e-4: "
        f"{bool(np.max(np.abs(found - smile)[prices > 0.01]) < 1e-4)}"
    )
    for steps in (250, 500, 1000, 2000):
        print(f"American put, {steps:5} steps: {american_put(100.0, 105.0, 1.0, 0.04, 0.25, steps):.6f}")
    final, average = heston_paths(100, 0.04, 1.5, 0.05, 0.4, -0.6, 0.02, 1.0, 250, 50_000 * size, rng)
    for name, payoff in (("call", np.maximum(final - 100, 0)), ("Asian call", np.maximum(average - 100, 0))):
        mean, error = with_error(payoff, 0.02, 1.0)
        print(f"Heston {name}: {mean:.5f} +- {error:.5f}")
    returns = correlated_returns(5_000 * size, 30, rng)
    weights = np.full(30, 1 / 30)
    covariance = ewma_covariances(returns, 0.97)
    print(f"EWMA volatility of a year {100 * math.sqrt(252 * weights @ covariance @ weights):.4f} %")
    var, shortfall = historical_var(returns, weights, 0.99)
    print(
        f"99 % value at risk {100 * var:.4f} %, shortfall {100 * shortfall:.4f} %, "
        f"drawdown {100 * drawdown(returns, weights):.3f} %"
    )
    if options.png:
        draw(strikes, found, final, np.cumprod(1 + returns @ weights), options.png)


if __name__ == "__main__":
    main()
