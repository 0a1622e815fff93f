"""A heartbeat under noise: filters, peaks, spectrum, a Kalman smoother and the rate over time."""

import argparse

import numpy as np


def heartbeat(t, rate, rng):
    """A synthetic electrocardiogram: five bumps for each beat, whose length varies."""
    phase = np.cumsum(rate / 60 * np.gradient(t)) % 1.0
    shape = [(0.20, 0.12, 0.025), (0.37, -0.10, 0.010), (0.40, 1.00, 0.012), (0.43, -0.25, 0.012), (0.65, 0.30, 0.045)]
    signal = np.zeros_like(t)
    for centre, height, width in shape:
        signal += height * np.exp(-(((phase - centre) / width) ** 2) / 2)
    drift = 0.3 * np.sin(2 * np.pi * 0.2 * t) + 0.1 * np.cumsum(rng.normal(size=len(t))) / np.sqrt(len(t))
    hum = 0.15 * np.sin(2 * np.pi * 50 * t)
    return signal, signal + drift + hum + 0.08 * rng.normal(size=len(t))


def biquad(signal, b, a):
    """A second-order filter, sample after sample."""
    result = np.empty_like(signal)
    x1 = x2 = y1 = y2 = 0.0
    for n in range(len(signal)):
        x0 = signal[n]
        y0 = b[0] * x0 + b[1] * x1 + b[2] * x2 - a[0] * y1 - a[1] * y2
        x2, x1 = x1, x0
        y2, y1 = y1, y0
        result[n] = y0
    return result


def notch(frequency, sampling, quality):
    """Coefficients of a filter that removes one frequency."""
    w = 2 * np.pi * frequency / sampling
    alpha = np.sin(w) / (2 * quality)
    scale = 1 + alpha
    b = np.array([1.0, -2 * np.cos(w), 1.0]) / scale
    a = np.array([-2 * np.cos(w), 1 - alpha]) / scale
    return b, a


def high_pass(frequency, sampling):
    """Coefficients of a Butterworth filter of second order."""
    k = np.tan(np.pi * frequency / sampling)
    scale = 1 + np.sqrt(2) * k + k * k
    b = np.array([1.0, -2.0, 1.0]) / scale
    a = np.array([2 * (k * k - 1), 1 - np.sqrt(2) * k + k * k]) / scale
    return b, a


def moving_average(signal, width):
    """Means of windows, with shorter ones at the ends."""
    sums = np.cumsum(np.insert(signal, 0, 0.0))
    half = width // 2
    start = np.maximum(np.arange(len(signal)) - half, 0)
    stop = np.minimum(np.arange(len(signal)) + half + 1, len(signal))
    return (sums[stop] - sums[start]) / (stop - start)


def find_peaks(signal, least, distance):
    """Positions of the local maxima above a level, the higher ones first where two are near each other."""
    peaks = []
    last = -distance
    for n in range(1, len(signal) - 1):
        if signal[n] > least and signal[n] >= signal[n - 1] and signal[n] > signal[n + 1]:
            if n - last >= distance:
                peaks.append(n)
                last = n
            elif signal[n] > signal[last]:
                peaks[-1] = n
                last = n
    return np.array(peaks)


def spectrum(signal, sampling, length=4096):
    """Welch's power spectrum with Hann windows that overlap by half."""
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)
    total = np.zeros(length // 2 + 1)
    count = 0
    for start in range(0, len(signal) - length + 1, length // 2):
        part = signal[start : start + length]
        transformed = np.fft.rfft((part - part.mean()) * window)
        total += np.abs(transformed) ** 2
        count += 1
    return np.fft.rfftfreq(length, 1 / sampling), total / (count * sampling * np.sum(window**2))


def kalman_smooth(values, process, noise):
    """A local-level model: filter forwards, smooth backwards (Rauch, Tung and Striebel 1965)."""
    n = len(values)
    mean = np.empty(n)
    variance = np.empty(n)
    predicted = np.empty(n)
    m, p = values[0], noise
    for k in range(n):
        predicted[k] = p + process
        gain = predicted[k] / (predicted[k] + noise)
        m = m + gain * (values[k] - m)
        p = (1 - gain) * predicted[k]
        mean[k], variance[k] = m, p
    smoothed = mean.copy()
    for k in range(n - 2, -1, -1):
        c = variance[k] / predicted[k + 1]
        smoothed[k] = mean[k] + c * (smoothed[k + 1] - mean[k])
    return smoothed


def detect_beats(signal, sampling):
    """Squared slopes, averaged, tell where the steep part of a beat is (Pan and Tompkins 1985)."""
    slope = np.gradient(signal)
    energy = moving_average(slope**2, int(0.08 * sampling))
    level = 0.5 * np.quantile(energy, 0.99)
    return find_peaks(energy, level, int(0.4 * sampling))


def draw(t, measured, filtered, beats, rates, png):
    """Some seconds of the signal, and the rate over time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 6), layout="constrained")
    signal, rate = figure.subplots(2, 1)
    seconds = (t > 60) & (t < 66)
    signal.plot(t[seconds], measured[seconds], "0.8", label="measured")
    signal.plot(t[seconds], filtered[seconds], label="filtered")
    found = beats[seconds[beats]]
    signal.plot(t[found], filtered[found], "v", label="beats")
    at, single, smooth, true = rates
    rate.plot(at / 60, single, ".", color="0.8", label="from beat to beat")
    rate.plot(at / 60, smooth, label="smoothed")
    rate.plot(at / 60, true, "--", label="true")
    signal.set(xlabel="seconds", title="heartbeat")
    rate.set(xlabel="minutes", ylabel="beats per minute")
    for axes in (signal, rate):
        axes.legend(loc="upper right", ncols=3)
    figure.savefig(png)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("minutes", nargs="?", type=int, default=20)
    parser.add_argument("--png", help="a picture of the signal and of the rate, by matplotlib")
    options = parser.parse_args()
    sampling, minutes = 500.0, options.minutes
    rng = np.random.default_rng(5)
    t = np.arange(int(minutes * 60 * sampling)) / sampling
    rate = 68 + 10 * np.sin(2 * np.pi * t / 240) + 4 * np.sin(2 * np.pi * 0.1 * t)
    clean, measured = heartbeat(t, rate, rng)

    filtered = biquad(measured, *notch(50.0, sampling, 30.0))
    filtered = biquad(filtered, *high_pass(0.5, sampling))
    frequencies, before = spectrum(measured, sampling)
    _, after = spectrum(filtered, sampling)
    hum = np.argmin(np.abs(frequencies - 50))
    print(f"{len(t)} samples; power at 50 Hz {before[hum]:.4e} before, {after[hum]:.4e} after the notch")
    print(f"correlation with the clean signal: {np.corrcoef(clean[5000:], filtered[5000:])[0, 1]:.6f}")

    beats = detect_beats(filtered, sampling)
    intervals = np.diff(beats) / sampling
    rates = 60 / intervals
    plausible = (rates > 40) & (rates < 120)
    smooth = kalman_smooth(rates[plausible], 0.3, 6.0)
    true = np.interp(t[beats[1:]][plausible], t, rate)
    print(f"{len(beats)} beats, mean rate {rates[plausible].mean():.4f} per minute")
    print(
        f"rms error of the rate {np.sqrt(np.mean((rates[plausible] - true) ** 2)):.4f}, "
        f"smoothed {np.sqrt(np.mean((smooth - true) ** 2)):.4f}"
    )
    if options.png:
        draw(t, measured, filtered, beats, (t[beats[1:]][plausible], rates[plausible], smooth, true), options.png)


if __name__ == "__main__":
    main()
