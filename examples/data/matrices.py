"""Writes the 30 sparse matrices of docs/design-rules-experiments.md: matrices.py [--large] FOLDER [NUMBER..]

The shapes are those of SuiteSparse: band, R-MAT, grid, power law, and blocks. Sizes are log-uniform. Of each shape, the
first four are to learn from, and the last two are unseen. --large makes larger matrices.
"""

import math
import sys
from pathlib import Path

import numpy as np

SHAPES = ["band", "rmat", "grid", "power", "block"]
LARGE = sys.argv[1:2] == ["--large"]
FOLDER, *NUMBERS = sys.argv[2 if LARGE else 1 :]
# About the logarithms of the least and the most nonzeros, and the most rows.
LEAST, MOST, ROWS = (math.log10(2.5e7) - 0.6, math.log10(2.5e7), 4e6) if LARGE else (4.8, 6.4, 4e5)


def band(random, rows, degree):
    """Nonzeros at random within up to a fifth of the rows from the diagonal."""
    i = np.repeat(np.arange(rows), degree)
    half = max(degree, int(rows * 10 ** random.uniform(-3, -0.7)))
    return rows, i, i + random.integers(-half, half + 1, len(i))


def rmat(random, rows, degree):
    """Edges of a recursive graph (0.57, 0.19, 0.19, 0.05)."""
    scale = int(np.log2(rows))
    i = j = np.zeros(degree << scale, dtype=np.int64)
    for _ in range(scale):
        quarter = random.choice(4, len(i), p=[0.57, 0.19, 0.19, 0.05])
        i, j = 2 * i + quarter // 2, 2 * j + quarter % 2
    return 1 << scale, i, j


def grid(random, rows, degree):
    """The Laplacian of a square or a cube."""
    dimensions = 2 if degree < 12 else 3
    side = round(rows ** (1 / dimensions))
    at = np.arange(side**dimensions)
    i, j = [at], [at]
    for axis in range(dimensions):
        for step in [-1, 1]:
            inside = (at // side**axis % side + step) // side == 0
            i, j = i + [at[inside]], j + [at[inside] + step * side**axis]
    return len(at), np.concatenate(i), np.concatenate(j)


def power(random, rows, degree):
    """Rows of Pareto's lengths; columns at random, a part of them near the diagonal."""
    lengths = np.minimum(degree / 3 * (1 + random.pareto(1.5, rows)), rows / 4).astype(np.int64)
    i = np.repeat(np.arange(rows), lengths)
    near = random.random(len(i)) < random.uniform(0.2, 0.98)
    return rows, i, np.where(near, i + random.integers(-99, 100, len(i)), random.integers(0, rows, len(i)))


def block(random, rows, degree):
    """Dense blocks on the diagonal, each with a few nonzeros elsewhere."""
    i = np.repeat(np.arange(rows), degree)
    j = i // degree * degree + np.tile(np.arange(degree), rows)
    more = random.integers(0, rows, (2, int(rows * 10 ** random.uniform(-2, 0))))
    return rows, np.concatenate([i, more[0]]), np.concatenate([j, more[1]])


def digits(pairs):
    """The text of pairs of numbers, one pair per line. All numbers have the same width."""
    width = len(str(pairs.max()))
    text = np.full((len(pairs), 2, width + 1), ord(" "), dtype=np.uint8)
    for k in reversed(range(width)):
        text[:, :, k] = pairs % 10 + ord("0")
        pairs = pairs // 10
    text[:, 1, width] = ord("\n")
    return text


def write(folder, number):
    shape = SHAPES[number // 6]
    random = np.random.default_rng(number)
    degree = int(4 * 12 ** random.random())
    rows = int(min(ROWS, 10 ** random.uniform(LEAST, MOST) / degree))
    rows, i, j = globals()[shape](random, rows, degree)
    keys = np.unique((i * rows + j)[(j >= 0) & (j < rows)])
    with open(folder / f"{shape}{number % 6}.mtx", "w") as file:
        file.write(f"%%MatrixMarket matrix coordinate pattern general\n{rows} {rows} {len(keys)}\n")
        file.flush()
        digits(np.stack([keys // rows + 1, keys % rows + 1], axis=1)).tofile(file)


for number in NUMBERS or range(6 * len(SHAPES)):
    write(Path(FOLDER), int(number))
