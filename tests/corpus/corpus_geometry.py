"""Geometry."""

import math

import numpy as np
from catalogue import LOOP, MATRIX, VECTOR, example
from numpy import cos, radians, sin, zeros


def points(r, n):
    return r.normal(size=(n, 2))


@example(lambda r, n: (points(r, n), 30.0))
def rotate(p, degrees):
    a = radians(degrees)
    rotation = np.array([[cos(a), -sin(a)], [sin(a), cos(a)]])
    return p @ rotation.T


@example(lambda r, n: (points(r, n),))
def polygon_area(p):
    x, y = p.T
    return 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


@example(lambda r, n: (points(r, n), 0.1, 0.2), LOOP)
def contains(polygon, x, y):
    inside = False
    j = len(polygon) - 1
    for i in range(len(polygon)):
        xi, yi = polygon[i]
        xj, yj = polygon[j]
        if (yi > y) != (yj > y) and x < (xj - xi) * (y - yi) / (yj - yi) + xi:
            inside = not inside
        j = i
    return inside


@example(lambda r, n: (points(r, n),), LOOP)
def convex_hull(p):
    order = np.lexsort((p[:, 1], p[:, 0]))
    hull = []
    for k in order:
        while len(hull) > 1:
            a, b = p[hull[-2]], p[hull[-1]]
            if (b[0] - a[0]) * (p[k][1] - a[1]) - (b[1] - a[1]) * (p[k][0] - a[0]) > 0:
                break
            hull.pop()
        hull.append(int(k))
    return hull


@example(lambda r, n: (r.normal(size=(n, 3)),), MATRIX)
def distances(p):
    out = zeros((len(p), len(p)))
    for axis in range(p.shape[1]):
        out += np.subtract.outer(p[:, axis], p[:, axis]) ** 2
    return np.sqrt(out, out=out)


@example(lambda r, n: (r.uniform(-90, 90, n), r.uniform(-180, 180, n), 48.1, 11.6))
def haversine(latitude, longitude, latitude0, longitude0):
    p, q = radians(latitude), radians(latitude0)
    a = sin((p - q) / 2) ** 2 + cos(p) * cos(q) * sin(radians(longitude - longitude0) / 2) ** 2
    return 2 * 6371 * np.arcsin(np.sqrt(a))


@example(lambda r, n: (r.normal(size=(n, 4)), r.normal(size=(n, 4))))
def quaternion_product(a, b):
    w, x, y, z = np.moveaxis(a, -1, 0)
    s, t, u, v = np.moveaxis(b, -1, 0)
    return np.stack(
        [w * s - x * t - y * u - z * v, w * t + x * s + y * v - z * u, w * u - x * v + y * s + z * t,
         w * v + x * u - y * t + z * s], axis=-1,
    )  # fmt: skip


@example(lambda r, n: (points(r, n),))
def bounding_box(p):
    low, high = p.min(axis=0), p.max(axis=0)
    return low, high, np.prod(high - low), tuple((low + high) / 2)


@example(lambda r, n: (r.normal(size=(n, 3, 3)),))
def triangle_normals(triangles):
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    normal /= length
    return normal, length[:, 0] / 2


@example(lambda r, n: (points(r, n), np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])))
def barycentric(p, triangle):
    matrix = np.vstack([triangle.T, np.ones(3)])
    return np.linalg.solve(matrix, np.column_stack([p, np.ones(len(p))]).T).T


@example(lambda r, n: (r.normal(size=(n, 3)),), VECTOR)
def normalise_rows(v):
    v /= np.sqrt((v * v).sum(axis=1))[:, np.newaxis]


@example(lambda r, n: (points(r, 4), n))
def bezier(control, count):
    t = np.linspace(0, 1, count)[:, None]
    return sum(math.comb(3, k) * t**k * (1 - t) ** (3 - k) * control[k] for k in range(4))


@example(lambda r, n: (r.normal(size=(n, 3)), np.array([0.0, 0.0, 2.0])))
def project(vertices, eye):
    relative = vertices - eye
    behind = relative[:, 2] >= 0
    screen = relative[:, :2] / -relative[:, 2:]
    screen[behind] = np.nan
    return screen


@example(lambda r, n: (points(r, n), 0.5), LOOP)
def simplify_path(p, tolerance):
    """Douglas and Peucker, by recursion."""
    if len(p) < 3:
        return p
    start, end = p[0], p[-1]
    line = end - start
    offsets = np.abs(line[0] * (p[:, 1] - start[1]) - line[1] * (p[:, 0] - start[0])) / np.hypot(*line)
    far = int(offsets.argmax())
    if offsets[far] <= tolerance:
        return np.array([start, end])
    return np.concatenate([simplify_path(p[: far + 1], tolerance)[:-1], simplify_path(p[far:], tolerance)])


@example(lambda r, n: (r.normal(size=n), r.normal(size=n)))
def polar(x, y):
    radius, angle = np.hypot(x, y), np.arctan2(y, x)
    angle[angle < 0] += 2 * np.pi
    return radius, angle
