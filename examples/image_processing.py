"""A noisy picture of cells under a microscope: denoise it, find edges, threshold, and measure what is there.

The picture is drawn here, so that the program needs no file.
"""

import argparse

import numpy as np


def draw_cells(size, count, rng):
    """Bright discs with soft edges on an uneven background."""
    y, x = np.mgrid[0:size, 0:size] / size
    picture = 0.15 + 0.1 * x + 0.05 * np.sin(3 * y)
    centres = rng.random((count, 2))
    radii = 0.015 + 0.02 * rng.random(count)
    for (cy, cx), radius in zip(centres, radii):
        distance = np.hypot(y - cy, x - cx)
        picture += 0.6 / (1 + np.exp((distance - radius) / 0.003))
    return np.clip(picture, 0, 1)


def add_noise(picture, rng):
    """Photon noise, read noise and some dead pixels."""
    noisy = picture + rng.normal(size=picture.shape) * np.sqrt(picture) * 0.08 + rng.normal(size=picture.shape) * 0.02
    dead = rng.random(picture.shape) < 0.002
    noisy[dead] = 0
    return np.clip(noisy, 0, 1)


def gaussian_kernel(sigma):
    radius = int(3 * sigma + 0.5)
    x = np.arange(-radius, radius + 1)
    kernel = np.exp(-0.5 * (x / sigma) ** 2)
    return kernel / kernel.sum()


def blur(picture, sigma):
    """A separable Gaussian filter with reflected borders."""
    kernel = gaussian_kernel(sigma)
    radius = len(kernel) // 2
    padded = np.pad(picture, radius, mode="reflect")
    rows = np.zeros((padded.shape[0], picture.shape[1]))
    for k, weight in enumerate(kernel):
        rows += weight * padded[:, k : k + picture.shape[1]]
    result = np.zeros_like(picture)
    for k, weight in enumerate(kernel):
        result += weight * rows[k : k + picture.shape[0], :]
    return result


def bilateral(picture, radius, sigma_space, sigma_value):
    """Edge-preserving smoothing."""
    padded = np.pad(picture, radius, mode="reflect")
    total = np.zeros_like(picture)
    weights = np.zeros_like(picture)
    height, width = picture.shape
    for dy in range(-radius, radius + 1):
        for dx in range(-radius, radius + 1):
            shifted = padded[radius + dy : radius + dy + height, radius + dx : radius + dx + width]
            near = np.exp(-(dx * dx + dy * dy) / (2 * sigma_space**2))
            weight = near * np.exp(-((shifted - picture) ** 2) / (2 * sigma_value**2))
            total += weight * shifted
            weights += weight
    return total / weights


def sobel(picture):
    """Strength and direction of edges."""
    p = np.pad(picture, 1, mode="edge")
    gx = (p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[1:-1, :-2] + p[2:, :-2])
    gy = (p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:]) - (p[:-2, :-2] + 2 * p[:-2, 1:-1] + p[:-2, 2:])
    return np.hypot(gx, gy), np.arctan2(gy, gx)


def otsu(picture, bins=256):
    """The threshold that separates the histogram into two classes best."""
    histogram, edges = np.histogram(picture, bins=bins, range=(0, 1))
    centres = 0.5 * (edges[1:] + edges[:-1])
    weight = np.cumsum(histogram)
    rest = weight[-1] - weight
    sums = np.cumsum(histogram * centres)
    valid = (weight > 0) & (rest > 0)
    mean_low = sums[valid] / weight[valid]
    mean_high = (sums[-1] - sums[valid]) / rest[valid]
    between = weight[valid] * rest[valid] * (mean_low - mean_high) ** 2
    return centres[valid][np.argmax(between)]


def label(mask):
    """Number connected regions, by flooding from each pixel that has no number yet."""
    labels = np.zeros(mask.shape, dtype=np.int64)
    height, width = mask.shape
    current = 0
    stack = np.empty((mask.size, 2), dtype=np.int64)
    for y in range(height):
        for x in range(width):
            if mask[y, x] and labels[y, x] == 0:
                current += 1
                labels[y, x] = current
                stack[0, 0], stack[0, 1] = y, x
                top = 1
                while top > 0:
                    top -= 1
                    cy, cx = stack[top, 0], stack[top, 1]
                    for dy, dx in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                        ny, nx = cy + dy, cx + dx
                        if 0 <= ny < height and 0 <= nx < width and mask[ny, nx] and labels[ny, nx] == 0:
                            labels[ny, nx] = current
                            stack[top, 0], stack[top, 1] = ny, nx
                            top += 1
    return labels, current


def measure(labels, count, picture):
    """Areas and mean brightness of the regions."""
    areas = np.bincount(labels.ravel(), minlength=count + 1)[1:]
    sums = np.bincount(labels.ravel(), weights=picture.ravel(), minlength=count + 1)[1:]
    return areas, sums / areas


def draw(pictures, png):
    """Named pictures beside each other."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3.4), layout="constrained")
    for axes, (name, picture) in zip(figure.subplots(1, len(pictures)), pictures):
        axes.imshow(picture, "nipy_spectral" if name == "regions" else "gray")
        axes.set(title=name, xticks=(), yticks=())
    figure.savefig(png)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", nargs="?", type=int, default=512, help="pixels of each side")
    parser.add_argument("--png", help="a picture of the steps, by matplotlib")
    options = parser.parse_args()
    size = options.size
    rng = np.random.default_rng(7)
    truth = draw_cells(size, 40, rng)
    noisy = add_noise(truth, rng)
    soft = blur(noisy, 2.0)
    clean = bilateral(noisy, 4, 2.5, 0.25)
    for name, picture in (("noisy", noisy), ("blurred", soft), ("bilateral", clean)):
        error = np.sqrt(np.mean((picture - truth) ** 2))
        print(f"{name:10} rms error {error:.6f}")
    strength, direction = sobel(clean)
    print(f"edges: mean {strength.mean():.6f}, strongest {strength.max():.6f}, spread {direction.std():.5f}")
    background = blur(clean, 24.0)
    threshold = otsu(np.clip(clean - background + 0.5, 0, 1))
    mask = clean - background + 0.5 > threshold
    labels, count = label(mask)
    areas, brightness = measure(labels, count, clean)
    large = areas > 30
    print(f"threshold {threshold:.5f}, {count} regions, {large.sum()} of more than 30 pixels")
    print(f"areas {areas[large].min()} to {areas[large].max()}, brightness {brightness[large].mean():.5f}")
    if options.png:
        draw((("noisy", noisy), ("bilateral", clean), ("edges", strength), ("regions", labels % 20)), options.png)


if __name__ == "__main__":
    main()
