"""Does a treatment help? Simulated trial data, analysed by bootstrap, permutation, regression and Bayes.

Everything is written with NumPy alone, as one does before looking for a package.
"""

import sys
from dataclasses import dataclass

import numpy as np


@dataclass
class Trial:
    """Outcomes and covariates of the patients of a trial."""

    outcome: np.ndarray
    treated: np.ndarray
    age: np.ndarray
    severity: np.ndarray

    @property
    def difference(self):
        return self.outcome[self.treated].mean() - self.outcome[~self.treated].mean()


def simulate_trial(patients, effect, rng):
    """Outcomes that depend on age, severity and treatment."""
    age = rng.uniform(20, 80, patients)
    severity = rng.gamma(2.0, 1.5, patients)
    treated = rng.random(patients) < 0.5
    noise = rng.standard_t(5, patients)
    outcome = 50 - 0.12 * age - 2.1 * severity + effect * treated + 3 * noise
    return Trial(outcome, treated, age, severity)


def bootstrap_means(values, repeats, rng):
    """Means of samples with replacement."""
    means = np.empty(repeats)
    for k in range(repeats):
        chosen = rng.integers(0, len(values), len(values))
        means[k] = values[chosen].mean()
    return means


def permutation_p(outcome, treated, repeats, rng):
    """How often a random assignment gives at least the difference that was seen."""
    seen = abs(outcome[treated].mean() - outcome[~treated].mean())
    count = 0
    for _ in range(repeats):
        shuffled = rng.permutation(treated)
        difference = outcome[shuffled].mean() - outcome[~shuffled].mean()
        if abs(difference) >= seen:
            count += 1
    return (count + 1) / (repeats + 1)


def design(trial):
    """The matrix of a linear model."""
    columns = [np.ones(len(trial.age)), trial.treated.astype(float), trial.age, trial.severity]
    return np.column_stack(columns)


def huber_weights(residuals, scale, k=1.345):
    """One for small residuals, less for large ones."""
    size = np.abs(residuals) / scale
    return np.where(size <= k, 1.0, k / np.maximum(size, 1e-300))


def robust_regression(x, y, iterations=50):
    """Iteratively reweighted least squares."""
    beta = np.linalg.lstsq(x, y, rcond=None)[0]
    for _ in range(iterations):
        residuals = y - x @ beta
        scale = 1.4826 * np.median(np.abs(residuals - np.median(residuals)))
        w = huber_weights(residuals, scale)
        xw = x * w[:, None]
        beta = np.linalg.solve(xw.T @ x, xw.T @ y)
    return beta


def log_posterior(beta, log_sigma, x, y):
    """Student's t likelihood with wide normal priors."""
    nu = 5.0
    z = (y - x @ beta) / np.exp(log_sigma)
    likelihood = -0.5 * (nu + 1) * np.log1p(z * z / nu).sum() - len(y) * log_sigma
    prior = -0.5 * np.sum((beta / 100.0) ** 2) - 0.5 * (log_sigma / 10.0) ** 2
    return likelihood + prior


def metropolis(x, y, start, widths, steps, rng):
    """A random walk through the posterior."""
    state = np.append(start, 1.0)
    now = log_posterior(state[:-1], state[-1], x, y)
    chain = np.empty((steps, len(state)))
    accepted = 0
    jumps = rng.normal(size=(steps, len(state))) * widths
    levels = np.log(rng.random(steps))
    for k in range(steps):
        proposal = state + jumps[k]
        then = log_posterior(proposal[:-1], proposal[-1], x, y)
        if levels[k] < then - now:
            state, now = proposal, then
            accepted += 1
        chain[k] = state
    return chain, accepted / steps


def effective_size(series, longest=400):
    """The length of the chain over its autocorrelation time."""
    centred = series - series.mean()
    variance = np.mean(centred**2)
    total = 1.0
    for lag in range(1, longest):
        r = np.mean(centred[lag:] * centred[:-lag]) / variance
        if r < 0.05:
            break
        total += 2 * r
    return len(series) / total


def main():
    rng = np.random.default_rng(2024)
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    trial = simulate_trial(1000, 1.8, rng)
    print(f"{len(trial.outcome)} patients, difference of means {trial.difference:.4f}")

    treated = bootstrap_means(trial.outcome[trial.treated], 10_000 * size, rng)
    control = bootstrap_means(trial.outcome[~trial.treated], 10_000 * size, rng)
    low, high = np.percentile(treated - control, [2.5, 97.5])
    print(f"bootstrap: 95 % of the differences from {low:.4f} to {high:.4f}")
    print(f"permutation: p = {permutation_p(trial.outcome, trial.treated, 5_000 * size, rng):.5f}")

    x, y = design(trial), trial.outcome
    beta = robust_regression(x, y)
    print("robust regression:", np.round(beta, 5))

    widths = np.array([0.4, 0.12, 0.005, 0.03, 0.02])
    chain, rate = metropolis(x, y, beta, widths, 40_000 * size, rng)
    kept = chain[4000:]
    print(f"Metropolis: {100 * rate:.1f} % accepted, effective size {effective_size(kept[:, 1]):.0f}")
    print(f"effect {kept[:, 1].mean():.3f} +- {kept[:, 1].std():.3f}, P(effect > 0) = {(kept[:, 1] > 0).mean():.4f}")


if __name__ == "__main__":
    main()
