"""Image processing."""

import numpy as np
from catalogue import LOOP, MATRIX, example
from numpy.lib.stride_tricks import sliding_window_view


def picture(r, n):
    return r.uniform(0, 255, (n, n + 3))


def photo(r, n):
    return r.integers(0, 256, (n, n + 2, 3)).astype(np.uint8)


@example(lambda r, n: (photo(r, n),), MATRIX)
def luminance(rgb):
    return (rgb @ np.array([0.299, 0.587, 0.114])).astype(np.uint8)


@example(lambda r, n: (photo(r, n), 2.2), MATRIX)
def gamma(image, exponent):
    return np.clip((image / 255.0) ** (1 / exponent) * 255 + 0.5, 0, 255).astype(np.uint8)


@example(lambda r, n: (photo(r, n), 40), MATRIX)
def brighten(image, amount):
    wide = image.astype(np.int16) + amount
    wide[wide > 255] = 255
    wide[wide < 0] = 0
    return wide.astype(image.dtype)


@example(lambda r, n: (photo(r, n), photo(r, n), 0.3), MATRIX)
def blend(front, back, alpha):
    out = np.empty_like(front)
    for channel in range(3):
        out[..., channel] = alpha * front[..., channel] + (1 - alpha) * back[..., channel]
    return out


@example(lambda r, n: (picture(r, n),), MATRIX)
def sobel(z):
    gx = np.zeros_like(z)
    gy = np.zeros_like(z)
    gx[1:-1, 1:-1] = (z[1:-1, 2:] - z[1:-1, :-2]) * 2 + (z[:-2, 2:] - z[:-2, :-2]) + (z[2:, 2:] - z[2:, :-2])
    gy[1:-1, 1:-1] = (z[2:, 1:-1] - z[:-2, 1:-1]) * 2 + (z[2:, 2:] - z[:-2, 2:]) + (z[2:, :-2] - z[:-2, :-2])
    return np.hypot(gx, gy)


@example(lambda r, n: (picture(r, n), 1.5), MATRIX)
def gaussian_blur(image, sigma):
    radius = int(2 * sigma + 0.5)
    offsets = np.arange(-radius, radius + 1)
    kernel = np.exp(-0.5 * (offsets / sigma) ** 2)
    kernel /= kernel.sum()
    padded = np.pad(image, radius, mode="edge")
    rows = sum(w * padded[:, k : k + image.shape[1]] for k, w in enumerate(kernel))
    return sum(w * rows[k : k + image.shape[0]] for k, w in enumerate(kernel))


@example(lambda r, n: (photo(r, n)[..., 0],), MATRIX)
def equalise(image):
    counts = np.bincount(image.ravel(), minlength=256)
    cdf = counts.cumsum()
    low = cdf[cdf > 0][0]
    table = np.clip((cdf - low) * 255 // max(image.size - low, 1), 0, 255).astype(np.uint8)
    return table[image]


@example(lambda r, n: (picture(r, n), 3), MATRIX)
def box_mean(image, size):
    total = np.zeros((image.shape[0] + 1, image.shape[1] + 1))
    total[1:, 1:] = image.cumsum(axis=0).cumsum(axis=1)
    window = total[size:, size:] - total[:-size, size:] - total[size:, :-size] + total[:-size, :-size]
    return window / size**2


@example(lambda r, n: (picture(r, n) > 128,), MATRIX)
def dilate(mask):
    out = mask.copy()
    out[1:] |= mask[:-1]
    out[:-1] |= mask[1:]
    out[:, 1:] |= mask[:, :-1]
    out[:, :-1] |= mask[:, 1:]
    return out


@example(lambda r, n: (picture(r, n + 3),), MATRIX)
def median_filter(image):
    return np.median(sliding_window_view(image, (3, 3)), axis=(2, 3))


@example(lambda r, n: (picture(r, n), 2 * n, n // 2 + 1), MATRIX)
def resize(image, height, width):
    y = np.linspace(0, image.shape[0] - 1, height)
    x = np.linspace(0, image.shape[1] - 1, width)
    y0 = np.floor(y).astype(int)
    x0 = np.floor(x).astype(int)
    y1 = np.minimum(y0 + 1, image.shape[0] - 1)
    x1 = np.minimum(x0 + 1, image.shape[1] - 1)
    wy = (y - y0)[:, None]
    wx = x - x0
    top = image[y0][:, x0] * (1 - wx) + image[y0][:, x1] * wx
    bottom = image[y1][:, x0] * (1 - wx) + image[y1][:, x1] * wx
    return top * (1 - wy) + bottom * wy


@example(lambda r, n: (picture(r, n).astype(np.float32),), MATRIX)
def vignette(image):
    h, w = image.shape
    y, x = np.mgrid[:h, :w]
    distance = np.hypot(y - h / 2, x - w / 2)
    image *= (1 - 0.5 * distance / distance.max()).astype(image.dtype)


@example(lambda r, n: (picture(r, n), 100.0, 200.0), MATRIX)
def stretch(image, low, high):
    np.subtract(image, low, out=image)
    image /= high - low
    np.clip(image, 0.0, 1.0, out=image)
    return image


@example(lambda r, n: (picture(r, n),), MATRIX)
def quarter_turns(image):
    return np.rot90(image), image[::-1], np.fliplr(image), image.T


@example(lambda r, n: (picture(r, n),), LOOP)
def floyd_steinberg(image):
    work = image.copy()
    h, w = work.shape
    for y in range(h):
        for x in range(w):
            old = work[y, x]
            new = 255.0 if old > 127 else 0.0
            work[y, x] = new
            error = old - new
            if x + 1 < w:
                work[y, x + 1] += error * 7 / 16
            if y + 1 < h:
                if x > 0:
                    work[y + 1, x - 1] += error * 3 / 16
                work[y + 1, x] += error * 5 / 16
    return work


@example(lambda r, n: (r.random((n, n)) > 0.4,), LOOP)
def flood_fill(mask):
    labels = np.zeros(mask.shape, dtype=np.int64)
    count = 0
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            if not mask[i, j] or labels[i, j]:
                continue
            count += 1
            stack = [(i, j)]
            while stack:
                y, x = stack.pop()
                inside = 0 <= y < mask.shape[0] and 0 <= x < mask.shape[1]
                if inside and mask[y, x] and not labels[y, x]:
                    labels[y, x] = count
                    stack += [(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)]
    return labels, count


@example(lambda r, n: (photo(r, n), 4), MATRIX)
def posterise(image, levels):
    step = 256 // levels
    return image // step * step + step // 2


@example(lambda r, n: (picture(r, n), r.normal(size=(3, 3))), MATRIX)
def convolve(image, kernel):
    out = np.zeros((image.shape[0] - 2, image.shape[1] - 2))
    for i in range(3):
        for j in range(3):
            out += kernel[i, j] * image[i : i + out.shape[0], j : j + out.shape[1]]
    return out
