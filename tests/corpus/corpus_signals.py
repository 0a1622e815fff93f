"""Signal processing."""

import numpy as np
from catalogue import LOOP, VECTOR, example
from numpy.lib.stride_tricks import sliding_window_view


def wave(r, n):
    return np.sin(np.arange(n) / 3.0) + 0.3 * r.normal(size=n)


@example(lambda r, n: (wave(r, n), 4))
def moving_average(x, width):
    return np.convolve(x, np.ones(width) / width, mode="same")


@example(lambda r, n: (wave(r, n), 0.25), (4, 40, 300))
def exponential_smoothing(x, alpha):
    out = np.empty_like(x)
    out[0] = x[0]
    for t in range(1, len(x)):
        out[t] = alpha * x[t] + (1 - alpha) * out[t - 1]
    return out


@example(lambda r, n: (wave(r, n), 0.2))
def low_pass(x, cutoff):
    spectrum = np.fft.rfft(x)
    frequencies = np.fft.rfftfreq(len(x))
    spectrum[frequencies > cutoff] = 0
    return np.fft.irfft(spectrum, n=len(x))


@example(lambda r, n: (wave(r, n),))
def windowed(x):
    n = len(x)
    return x * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / (n - 1)))


@example(lambda r, n: (wave(r, n),))
def autocorrelation(x):
    x = x - x.mean()
    full = np.correlate(x, x, "full")[len(x) - 1 :]
    return full / full[0]


@example(lambda r, n: (wave(r, n),))
def detrend(x):
    t = np.arange(len(x))
    slope = ((t - t.mean()) * (x - x.mean())).sum() / ((t - t.mean()) ** 2).sum()
    return x - (x.mean() + slope * (t - t.mean()))


@example(lambda r, n: (wave(r, n),))
def zero_crossings(x):
    signs = np.signbit(x)
    return np.flatnonzero(signs[1:] != signs[:-1])


@example(lambda r, n: (wave(r, n), 1.7))
def resample(x, factor):
    t = np.arange(0, len(x) - 1, factor)
    return np.interp(t, np.arange(len(x)), x)


@example(lambda r, n: (wave(r, n), np.array([0.2, 0.3, 0.2]), np.array([1.0, -0.4, 0.1])), (3, 30, 200))
def biquad(x, b, a):
    y = np.zeros_like(x)
    x1 = x2 = y1 = y2 = 0.0
    for n in range(len(x)):
        y[n] = b[0] * x[n] + b[1] * x1 + b[2] * x2 - a[1] * y1 - a[2] * y2
        x2, x1 = x1, x[n]
        y2, y1 = y1, y[n]
    return y


@example(lambda r, n: (wave(r, n), 0.2), (6, 40, 250))
def peaks(x, threshold):
    found = []
    for k in range(1, len(x) - 1):
        if x[k] > threshold and x[k] > x[k - 1] and x[k] >= x[k + 1]:
            found.append(k)
    return np.array(found, dtype=int)


@example(lambda r, n: (wave(r, 4 * n), 8), (5, 20, 100))
def spectrogram(x, width):
    frames = sliding_window_view(x, width)[:: width // 2]
    return np.abs(np.fft.rfft(frames * np.hanning(width), axis=-1)) ** 2


@example(lambda r, n: (wave(r, n).astype(np.float32),))
def normalise(x):
    x -= x.mean()
    peak = np.abs(x).max()
    if peak > 0:
        x /= peak
    return x


@example(lambda r, n: (np.abs(wave(r, n)),))
def decibels(power):
    with np.errstate(divide="ignore"):
        out = 10 * np.log10(power)
    out[out < -80] = -80
    return out


@example(lambda r, n: (100.0, 2000.0, n))
def chirp(start, stop, n):
    t = np.linspace(0, 1, n)
    return np.sin(2 * np.pi * (start * t + (stop - start) * t**2 / 2))


@example(lambda r, n: (wave(r, n) + 1j * wave(r, n), 0.1))
def mix(z, frequency):
    z.real *= 0.5
    z.imag[::2] = 0
    return z * np.exp(2j * np.pi * frequency * np.arange(z.size))


@example(lambda r, n: (r.integers(-3000, 3000, n).astype(np.int16),))
def half_rate(samples):
    even = samples[: len(samples) // 2 * 2].reshape(-1, 2)
    return even.mean(axis=1).astype(np.int16), even.max(axis=1), samples[::2] // 2


@example(lambda r, n: (wave(r, n), wave(r, n)))
def coherence(x, y):
    a, b = np.fft.fft(x), np.fft.fft(y)
    cross = a * b.conj()
    return np.abs(cross) / np.sqrt(np.abs(a) ** 2 * np.abs(b) ** 2), np.angle(cross)


@example(lambda r, n: (r.normal(size=n), r.normal(size=n)), LOOP)
def time_warp(x, y):
    cost = np.full((len(x) + 1, len(y) + 1), np.inf)
    cost[0, 0] = 0
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            step = min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
            cost[i, j] = abs(x[i - 1] - y[j - 1]) + step
    return cost[-1, -1]


@example(lambda r, n: (wave(r, n), 3), VECTOR)
def delay_line(x, lag):
    y = x.copy()
    y[lag:] += 0.5 * y[:-lag]
    return y
