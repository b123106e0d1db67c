"""Rules of fast schedules."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpsmith import rules
from warpsmith.rules import Runs

SCHEDULES = [";".join(order) for order in permutations("abcd")]
# As fast as a is early, and faster still with b before c: four classes.
SECONDS = [
    1 + 10 * (text.index("a") > text.index("d")) + 3 * (text.index("b") > text.index("c")) + index * 1e-6
    for index, text in enumerate(SCHEDULES)
]


def test_rules_are_those_that_the_times_are_made_of() -> None:
    runs = Runs(SCHEDULES, SECONDS)
    model = rules.learn(runs, radius=2, percentile=60)
    expected = [1 + (second > 3) + (second > 8) + (second > 13) for second in SECONDS]
    np.testing.assert_array_equal(model.classes, expected)
    assert [set(ruleset.rules) for ruleset in model.rulesets] == [
        {"a before d", "b before c"},
        {"a before d", "c before b"},
        {"d before a", "b before c"},
        {"d before a", "c before b"},
    ]
    assert [ruleset.class_ for ruleset in model.rulesets] == [1, 2, 3, 4]
    assert all(ruleset.samples == ruleset.right == 6 for ruleset in model.rulesets)
    for number, (fastest, slowest) in enumerate(model.ranges, 1):
        of_class = [second for second, found in zip(SECONDS, expected) if found == number]
        assert (fastest, slowest) == (min(of_class), max(of_class))
    np.testing.assert_array_equal(model.classify(SCHEDULES[::-1]), expected[::-1])
    np.testing.assert_array_equal(rules.learn(runs, radius=2, percentile=60, criterion="entropy").classes, expected)
    assert repr(model) == "4 classes, 4 rulesets"
    assert "a before d" in model.page() and model._repr_html_().startswith("<iframe srcdoc=")


def test_runs_are_kept(tmp_path: Path) -> None:
    runs = Runs(["a@0;b-after-a;c", "c;a@1;b-after-a"], np.array([1e-5, 2.5e-5]))
    assert repr(runs) == "2 runs" and len(runs) == 2
    runs.save(tmp_path / "runs.csv")
    again = Runs.load(str(tmp_path / "runs.csv"))
    assert again.schedules == runs.schedules == ["a@0;b-after-a;c", "c;a@1;b-after-a"]
    np.testing.assert_array_equal(again.seconds, runs.seconds)
    with pytest.raises(FileNotFoundError, match="none.csv"):
        rules.learn(tmp_path / "none.csv")
    with pytest.raises(OSError, match="there is no directory"):
        runs.save(tmp_path / "no" / "runs.csv")
    (tmp_path / "bad.csv").write_text("a,b\n")
    with pytest.raises(ValueError, match="it is not a file of runs"):
        Runs.load(tmp_path / "bad.csv")


def test_runs_of_the_command() -> None:
    runs = Runs.load(Path(__file__).parents[2] / "tests" / "corpus" / "runs" / "spmv.csv")
    assert (len(runs), runs.program) == (3, "spmv")
    assert repr(runs) == "3 runs of spmv on NVIDIA H200, 4 ranks by MPI, messages in the GPU's memory"


def test_what_teaches_nothing() -> None:
    wrong: list[tuple[Any, Any, str]] = [
        (["a;b"], [1.0, 2.0], r"there are 1 schedules, but seconds have the shape \(2,\)"),
        (["a;b"], [-1.0], r"seconds\[0\] is -1.0, which is not a time"),
        (["a;b"], [np.nan], "which is not a time"),
        (["a;b", "a;;b"], [1.0, 1.0], "schedule 1: there is an empty name"),
        (["a;a"], [1.0], "schedule 0: .*stands twice"),
        (["a@x"], [1.0], "names no stream"),
    ]
    for schedules, seconds, text in wrong:
        with pytest.raises(ValueError, match=text):
            Runs(schedules, seconds)
    with pytest.raises(ValueError, match="nothing to learn: .* takes 4 runs, and there are 0"):
        rules.learn(Runs([], []))
    runs = Runs(SCHEDULES, SECONDS)
    calls: list[tuple[dict[str, Any], str]] = [
        ({"percentile": 101}, "there is no percentile 101"),
        ({"radius": 0}, "radius is 0"),
        ({"criterion": "best"}, 'criterion is "best"'),
    ]
    for arguments, text in calls:
        with pytest.raises(ValueError, match=text):
            rules.learn(runs, **arguments)
    with pytest.raises(ValueError, match="schedule 0"):
        rules.learn(runs, radius=2).classify([""])
    # All as fast: one class.
    same = rules.learn(Runs(SCHEDULES, [1.0] * 24))
    assert set(same.classes) == {1} and same.ranges.tolist() == [[1.0, 1.0]]
