"""Makes band.mtx, the matrix that the continuous integration explores on ranks as processes.

    python3 tests/data/band.py > tests/data/band.mtx

Takes Python alone. The file is the same, byte for byte, wherever it is made: of `random` only `random()` is used, whose
numbers stay what they are.
"""

import random

ROWS, NONZEROS, HALF_BANDWIDTH = 400, 3200, 100

random.seed(1)
entries = {}
while len(entries) < NONZEROS:
    row, column = (int(ROWS * random.random()) + 1 for _ in range(2))
    if abs(row - column) <= HALF_BANDWIDTH:
        entries[row, column] = 2 * random.random() - 1

print("%%MatrixMarket matrix coordinate real general")
print(f"% A random band matrix: {ROWS} rows, {NONZEROS:,} nonzeros, half-bandwidth {HALF_BANDWIDTH}.")
print(ROWS, ROWS, NONZEROS)
for (row, column), value in sorted(entries.items()):
    print(row, column, f"{value:.4f}")
