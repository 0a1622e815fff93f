"""Five functions as one writes them at first, what `explain` says of them, and the same after following it.

`python examples/following_advice.py` prints the advice, and times over those of the plain function.
"""

import time

import numpy as np

import jitrt

# Epidemiology: an epidemic in many towns, whose peak is kept in a global variable.
peak = 0.0


def epidemic(susceptible, infected, rate, days):
    global peak
    for _ in range(days):
        caught = rate * susceptible * infected
        susceptible = susceptible - caught
        infected = 0.9 * infected + caught
        peak = max(peak, infected.mean())
    return susceptible, infected


def epidemic_after(susceptible, infected, rate, days):
    peak = 0.0
    for _ in range(days):
        caught = rate * susceptible * infected
        susceptible = susceptible - caught
        infected = 0.9 * infected + caught
        peak = max(peak, infected.mean())
    return susceptible, infected, peak


# Sociology: incomes by district, gathered in arrays that are made anew for each of them.
def district_means(district, income):
    found = {}
    for k in range(len(district)):
        d = int(district[k])
        found[d] = np.append(found.get(d, []), income[k])
    return np.array([found[d].mean() for d in sorted(found)])


def district_means_after(district, income):
    total, count = np.zeros(district.max() + 1), np.zeros(district.max() + 1)
    for k in range(len(district)):
        total[district[k]] += income[k]
        count[district[k]] += 1
    return total / count


# Astronomy: a map of where stars are in space, of positions that are computed.
def star_map(right_ascension, declination, distance):
    x = distance * np.cos(declination) * np.cos(right_ascension)
    y = distance * np.cos(declination) * np.sin(right_ascension)
    z = distance * np.sin(declination)
    counts, _ = np.histogramdd(np.column_stack([x, y, z]), bins=16, range=[[-1, 1]] * 3)
    return counts


def star_map_after(right_ascension, declination, distance):
    x = distance * np.cos(declination) * np.cos(right_ascension)
    y = distance * np.cos(declination) * np.sin(right_ascension)
    z = distance * np.sin(declination)
    layer = np.minimum(((x + 1) * 8).astype(np.int64), 15)
    row = np.minimum(((y + 1) * 8).astype(np.int64), 15)
    column = np.minimum(((z + 1) * 8).astype(np.int64), 15)
    return np.bincount((layer * 16 + row) * 16 + column, minlength=16**3).reshape(16, 16, 16)


# Chemistry: a reaction over time, which says how far it is.
def reaction(a, b, rate, steps):
    for k in range(steps):
        made = rate * a * b
        a, b = a - made, b - 0.5 * made
        if k % 1000 == 0:
            print(end="")
    return a, b


def reaction_after(a, b, rate, steps):
    for _ in range(steps):
        made = rate * a * b
        a, b = a - made, b - 0.5 * made
    return a, b


# Genetics: where a sequence has a pattern, letter by letter.
def repeats(letters):
    text, longest = [], 0
    for k in range(1, len(letters)):
        text.append("=" if letters[k] == letters[k - 1] else ".")
    for run in "".join(text).split("."):
        longest = max(longest, len(run))
    return longest


def repeats_after(letters):
    longest = run = 0
    for k in range(1, len(letters)):
        run = run + 1 if letters[k] == letters[k - 1] else 0
        longest = max(longest, run)
    return longest


def cases(rng, size):
    """The functions before and after, with the arguments of both."""
    towns = rng.uniform(0.5, 1.0, 5 * size), rng.uniform(0.0, 0.01, 5 * size), 0.4, 300
    yield epidemic, towns, epidemic_after, towns
    people = rng.integers(0, 50, 200 * size), rng.lognormal(size=200 * size)
    yield district_means, people, district_means_after, people
    stars = *(rng.uniform(-w, w, 500 * size) for w in (np.pi, 1.5)), rng.random(500 * size)
    yield star_map, stars, star_map_after, stars
    amounts = rng.random(size), rng.random(size), 1e-4, 3000
    yield reaction, amounts, reaction_after, amounts
    letters = (rng.integers(0, 4, 200 * size),)
    yield repeats, letters, repeats_after, letters


def best(function, args):
    """The shortest time of the calls of a second: the first ones may run a version that is quickly made."""
    times = []
    while sum(times) < 1:
        start = time.perf_counter()
        function(*args)
        times.append(time.perf_counter() - start)
    return min(times)


def main():
    for before, args, after, args_after in cases(np.random.default_rng(0), 1000):
        fast, faster = jitrt.jit(before), jitrt.jit(after)
        print(f"-- {before.__name__}\n{fast.explain(*args)}")
        fast(*args), faster(*args_after)
        plain, found, followed = best(before, args), best(fast, args), best(faster, args_after)
        print(
            f"plain {1e3 * plain:.1f} ms, as it is {plain / found:.1f} times, after that {plain / followed:.1f} times\n"
        )


if __name__ == "__main__":
    main()
