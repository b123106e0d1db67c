"""Computes the answers in this folder's other files with other people's programs, from the inputs that the files hold.

    python3 tests/data/answers.py [--write] [pcf.npz] [overlap.npz] [design_rules_cart.json] [design_rules_labels.json]

says how far each answer is from what its file has, and fails where it is further than what is given below. With
`--write`, files get the new answers; all but overlap.npz, with its `gradient`, stay the same byte for byte. Without
names, it does all files.

| file | takes | answers | agree to |
| --- | --- | --- | --- |
| pcf.npz | numpy, masspcf 0.4.1 | `pdist_p*`, `cdist_p*`, `l2_kernel` | 1e-12 (relative) |
| overlap.npz | numpy, shapely 2.2.0 | `pair_area`, `total`; `gradient` by central differences | 1e-13; 1e-6 |
| homology.npz | numpy, ripser 0.6.15 | `bars_*`, of each cloud and degree | equal |
| design_rules_cart.json | numpy, scikit-learn 1.9.1 | `sweep`, `tree_mln8` | equal; impurities 1e-12 |
| design_rules_labels.json | numpy, scipy 1.17.1 | `convolution`, `peaks`, `prominences`, `p98`, `kept` | 1e-12 |

Inputs were drawn at random once, and are what they are: in pcf.npz random, regular and long-tailed breakpoints, and
functions of a single point, all of which end on 0; in homology.npz 300 points in a cube, 400 near a torus, 250 of a grid with gaps, 500 near a circle and 100 near a sphere, all
float32; in overlap.npz 40 poses of the tree of `Shape::tree`, radians; in
design_rules_cart.json 240 samples of 18 binary features and 4 classes; in design_rules_labels.json 1,000 sorted times
with jumps at 300, 800 and 950.
"""

import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent


def pcf(data):
    import masspcf

    def functions(name):
        offsets, points = data[f"{name}_offsets"], data[f"{name}_points"]
        return [masspcf.Pcf(points[start:end]) for start, end in zip(offsets, offsets[1:])]

    def exponent(name):
        return float(name.rsplit("p", 1)[1])

    a, b = functions("a"), functions("b")
    for name in [name for name in data if name.startswith("pdist")]:
        yield name, masspcf.pdist(a, p=exponent(name)).to_dense(), 1e-12
    for name in [name for name in data if name.startswith("cdist")]:
        yield name, np.asarray(masspcf.cdist(a, b, p=exponent(name))), 1e-12
    yield "l2_kernel", masspcf.l2_kernel(a).to_dense(), 1e-12


def homology(data):
    from ripser import ripser

    start = 0
    for cloud, size in enumerate(data["sizes"]):
        points = data["points"][start : start + size]
        start += size
        squares = np.zeros((size, size), np.float32)
        for coordinate in points.T:
            squares += (coordinate[:, None] - coordinate) ** 2
        most = int(data["degrees"][cloud])
        for degree, bars in enumerate(ripser(np.sqrt(squares), distance_matrix=True, maxdim=most)["dgms"]):
            bars = bars.astype(np.float32)
            # In place of infinity: -1.
            bars = np.where(np.isinf(bars), -1, bars)[bars[:, 0] < bars[:, 1]]
            yield f"bars_{cloud}_{degree}", bars[np.lexsort(bars.T[::-1])], 0


def overlap(data):
    from shapely import Polygon, affinity

    def place(pose):
        x, y, theta = pose
        turned = affinity.rotate(Polygon(data["outline"]), theta, origin=(0, 0), use_radians=True)
        return affinity.translate(turned, x, y)

    def of(placed, others):
        return sum(placed.intersection(other).area for other in others)

    shapes = [place(pose) for pose in data["poses"]]
    area = np.array([[0.0 if f is g else f.intersection(g).area for g in shapes] for f in shapes])
    yield "pair_area", area, 1e-13
    yield "total", np.array(np.triu(area).sum()), 1e-12
    step, gradient = 1e-6, np.zeros_like(data["poses"])
    for pose, field in np.ndindex(gradient.shape):
        others = shapes[:pose] + shapes[pose + 1 :]
        there = np.eye(3)[field] * step
        high, low = (of(place(data["poses"][pose] + way * there), others) for way in (1, -1))
        gradient[pose, field] = (high - low) / (2 * step)
    yield "gradient", gradient, 1e-6


def cart(data):
    from sklearn.tree import DecisionTreeClassifier

    features, labels = np.array(data["features"]), np.array(data["labels"])

    def grow(criterion, leaves, state):
        tree = DecisionTreeClassifier(
            criterion=criterion,
            class_weight="balanced",
            max_leaf_nodes=leaves,
            max_depth=leaves - 1,
            random_state=state,
        )
        return tree.fit(features, labels)

    def tried(entry):
        # Random states break ties: where there is one value, ties don't matter.
        trees = [grow(entry["criterion"], entry["max_leaf_nodes"], state) for state in range(6)]
        errors = sorted({round(float(np.mean(tree.predict(features) != labels)), 12) for tree in trees})
        depths = sorted({int(tree.get_depth()) for tree in trees})
        both = {"error": errors, "depth": depths, "leaves": int(trees[0].get_n_leaves())}
        return {**entry, **both, "unique": len(errors) == 1 and len(depths) == 1}

    yield "sweep", [tried(entry) for entry in data["sweep"]], 1e-12
    grown = grow("gini", 8, 0)
    tree = grown.tree_
    arrays = {
        "feature": tree.feature,
        "left": tree.children_left,
        "right": tree.children_right,
        "impurity": tree.impurity,
        "samples": tree.n_node_samples,
        "prediction": grown.predict(features),
    }
    yield "tree_mln8", {name: arrays[name].tolist() for name in data["tree_mln8"]}, 1e-12


def labels(data):
    from scipy.signal import find_peaks, peak_prominences

    times, radius = np.array(data["times"]), data["radius"]
    # The times after each place less as many up to it.
    places = range(radius, len(times) - radius + 1)
    convolution = np.array([times[at : at + radius].sum() - times[at - radius : at].sum() for at in places])
    peaks, _ = find_peaks(convolution)
    prominences = peak_prominences(convolution, peaks)[0]
    p98 = float(np.percentile(prominences, 98))
    yield "convolution", convolution.tolist(), 1e-12
    yield "peaks", peaks.tolist(), 0
    yield "prominences", prominences.tolist(), 1e-12
    yield "p98", p98, 1e-12
    yield "kept", peaks[prominences >= p98].tolist(), 0


def difference(found, expected):
    """The largest difference of two numbers, over their size where that is more than 1; inf if they don't fit."""
    if isinstance(expected, dict):
        return max((difference(found[key], expected[key]) for key in expected), default=0.0)
    if isinstance(expected, list):
        if len(found) != len(expected):
            return np.inf
        return max((difference(f, e) for f, e in zip(found, expected)), default=0.0)
    if isinstance(expected, (str, bool)):
        return 0.0 if found == expected else np.inf
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    if found.shape != expected.shape:
        return np.inf
    return float(np.max(np.abs(found - expected) / np.maximum(1.0, np.abs(expected)), initial=0.0))


FILES = {
    "pcf.npz": pcf,
    "overlap.npz": overlap,
    "homology.npz": homology,
    "design_rules_cart.json": cart,
    "design_rules_labels.json": labels,
}


def main(arguments):
    far = False
    for name in [argument for argument in arguments if argument != "--write"] or FILES:
        path = HERE / name
        data = dict(np.load(path)) if path.suffix == ".npz" else json.loads(path.read_text())
        for key, found, tolerance in FILES[name](data):
            apart = difference(found, data[key])
            far |= apart > tolerance
            print(f"{name}, {key}: {apart:.1e}" + (f", more than {tolerance:.0e}" if apart > tolerance else ""))
            data[key] = found
        if "--write" in arguments and path.suffix == ".npz":
            np.savez(path, **data)
        elif "--write" in arguments:
            path.write_text(json.dumps(data))
    return far and "--write" not in arguments


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
