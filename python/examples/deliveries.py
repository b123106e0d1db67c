"""When a parcel arrives: a fleet's tours are linked lists, in which each stop names the next one.

A stop's rank is how many stops are before it, and the prefix sum of the times that legs take is when it is reached.
Lists of any length are ranked at once, without walking from one stop to the next.

    python deliveries.py
"""

import numpy as np

from warpsmith import list_rank

rng = np.random.default_rng(4)

# Tours as a database has them: in no order, each stop with the next one's number, -1 after a van's last.
ends = np.cumsum(rng.integers(20, 61, 20_000))
STOPS = int(ends[-1])
order = rng.permutation(STOPS)
following = np.full(STOPS, -1)
following[order[:-1]] = order[1:]
following[order[ends - 1]] = -1
where = rng.uniform(0, 12, (STOPS, 2))  # in km

tours = list_rank.forest(following)
longest = np.bincount(tours.lists).argmax()
print(f"{STOPS:,} stops of {tours.list_count:,} vans, up to {tours.ranks.max() + 1} each")

# The longest tour, or the first of them, as a list of its own.
stops = np.flatnonzero(tours.lists == longest)
place = np.full(STOPS, -1)
place[stops] = np.arange(len(stops))
after = np.where(following[stops] < 0, -1, place[following[stops]])

# The hours from each stop to the next, at 40 km/h, and 2 minutes at each.
legs = np.linalg.norm(where[stops] - where[following[stops]], axis=1) / 40 + 2 / 60
reached = list_rank.prefix_sums(after, legs)
print(f"van {longest}: its last stop of {len(stops)} is reached after {reached.max():.1f} hours")

# In the order in which the van comes by, without sorting; and the same by adding up one after the other.
in_order = np.empty_like(stops)
in_order[list_rank.rank(after)] = np.arange(len(stops))
walked = np.concatenate([[0], np.cumsum(legs[in_order])[:-1]])
assert np.array_equal(stops[in_order], stops[np.argsort(reached)]) and np.allclose(reached[in_order], walked)
print("the first stops:", ", ".join(f"{stop} at {hours:.1f} h" for stop, hours in zip(stops[in_order][:4], walked)))
