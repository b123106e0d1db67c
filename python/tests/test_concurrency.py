"""The concurrency study."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpsmith import concurrency

SMALL: dict[str, Any] = {"poses": 30, "fixed": [60], "runs": 2, "iterations": 1, "device": "cpu"}


def test_a_study() -> None:
    calls: list[tuple[int, int]] = []
    study = concurrency.study(
        streams=[2, 1], batch=np.array([8, 4]), **SMALL, progress=lambda done, total: calls.append((done, total))
    )
    assert calls[-1] == (5, 5) and calls == sorted(calls)
    assert (study["device"]["backend"], study["options"]["poses"], study["pieces"]) == ("cpu", 30, 4)
    batch = concurrency.columns(study["batch"])
    np.testing.assert_array_equal(batch["threads"], [4, 8])
    np.testing.assert_array_equal(batch["work.comparisons"], [4 * 30, 8 * 30])
    # Each of 4 pieces with each of 4.
    np.testing.assert_array_equal(batch["work.clips"], 16 * batch["work.candidates"])
    streams = concurrency.columns(study["streams"])
    np.testing.assert_array_equal(streams["streams"], [1, 2])
    for table in (batch, streams):
        times = {name.removesuffix(".median") for name in table if name.endswith(".median")}
        assert len(times) >= 5
        for name in times:
            low, middle, high = (table[f"{name}.{of}"] for of in ("min", "median", "max"))
            assert np.all((0 < low) & (low <= middle) & (middle <= high))
    fixed = study["fixed"][0]
    assert fixed["total"] == 60 and [row["threads"] * row["poses"] for row in fixed["rows"]] == [60, 56]


def test_columns() -> None:
    assert concurrency.columns([]) == {}
    table = concurrency.columns([{"a": {"b": [1, 2]}, "c": "x"}, {"a": {"b": [3, 4]}, "c": "y"}])
    assert {name: column.tolist() for name, column in table.items()} == {"a.b.0": [1, 3], "a.b.1": [2, 4], "c": ["x", "y"]}
    with pytest.raises(ValueError, match="same names"):
        concurrency.columns([{"a": 1}, {"b": 2}])


def test_what_cannot_be_studied() -> None:
    calls: list[tuple[dict[str, Any], type[Exception], str | None]] = [
        ({"streams": []}, ValueError, "streams has no entries"),
        ({"streams": [0]}, ValueError, "streams has the entry 0; a number of streams is from 1 to 1,024"),
        ({"streams": [-1]}, ValueError, "streams is -1|out of range"),
        ({"batch": [40]}, ValueError, "batch has the entry 40"),
        ({"poses": 0}, ValueError, "poses has the entry 0"),
        ({"runs": 0}, ValueError, "runs has the entry 0"),
        ({"iterations": 10**6}, ValueError, "iterations has the entry 1000000"),
        ({"streams": [1.0]}, TypeError, None),
        ({"streams": 3}, TypeError, None),
        ({"device": "gpu"}, ValueError, "is not a device"),
    ]
    for arguments, error, text in calls:
        with pytest.raises(error, match=text):
            concurrency.study(**{**SMALL, "streams": [1], "batch": [4], **arguments})
