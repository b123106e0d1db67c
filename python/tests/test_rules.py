"""Rules of fast schedules."""

from __future__ import annotations

import copy
import json
import math
import pickle
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warpsmith import rules
from warpsmith.rules import Dag, Explorer, Runs

SCHEDULES = [";".join(order) for order in permutations("abcd")]
# Faster if a is before d, and faster still if b is before c: four classes.
SECONDS = [
    1 + 10 * (text.index("a") > text.index("d")) + 3 * (text.index("b") > text.index("c")) + index * 1e-6
    for index, text in enumerate(SCHEDULES)
]


def test_rules_are_those_that_the_times_are_made_of() -> None:
    runs = Runs(SCHEDULES, SECONDS)
    model = rules.learn(runs, labels="paper", radius=2, percentile=60)
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
    with pytest.raises(ValueError, match=r"schedules\[1\] has other operations than the program's"):
        model.classify([SCHEDULES[0], "x;y"])
    with pytest.raises(ValueError, match=r"schedules\[1\] has other operations than the program's"):
        rules.Runs(["a;b", "c;d"], [1.0, 2.0])
    np.testing.assert_array_equal(rules.learn(runs, labels="paper", radius=2, percentile=60, criterion="entropy").classes, expected)
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


def same_model(a: rules.Model, b: rules.Model) -> bool:
    alike = a.rulesets == b.rulesets and a.page() == b.page()
    return alike and bool((a.classes == b.classes).all()) and bool((a.ranges == b.ranges).all())


def test_copies(tmp_path: Path) -> None:
    of_command = Runs.load(Path(__file__).parents[2] / "tests" / "corpus" / "runs" / "spmv.csv")
    for runs in (Runs(SCHEDULES, SECONDS), Runs([], []), of_command):
        for again in (pickle.loads(pickle.dumps(runs)), copy.deepcopy(runs)):
            runs.save(tmp_path / "runs.csv")
            again.save(tmp_path / "again.csv")
            assert (tmp_path / "runs.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()
    model = rules.learn(Runs(SCHEDULES, SECONDS), labels="paper", radius=2, percentile=60, criterion="entropy")
    model.save(tmp_path / "model.json")
    for other in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        rules.Model.from_json(model.to_json()),
        rules.Model.load(tmp_path / "model.json"),
    ):
        assert same_model(model, other)
    with pytest.raises(FileNotFoundError):
        rules.Model.load(tmp_path / "none.json")
    good = json.loads(model.to_json())
    wrong = [{}, [], 3, {"warpsmith": "runs"}, {**good, "options": {"radius": -1}}, {**good, "rows": 3}]
    for text in ("", "{", *map(json.dumps, wrong)):
        with pytest.raises(ValueError, match="text is not a model's"):
            rules.Model.from_json(text)
    with pytest.raises(TypeError, match="text is of the type NoneType, but it must be a string"):
        rules.Model.from_json(None)  # type: ignore[arg-type]
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ValueError, match="bad.json: text is not a model's"):
            rules.Model.load(tmp_path / "bad.json")


@pytest.mark.parametrize("strategy", ["surrogate", "mcts", "random", "dfs"])
def test_a_copied_search_goes_on(strategy: Any) -> None:
    explorer = Explorer(HOST, 1, strategy=strategy, seed=5, platform="here")
    for index in range(6):
        schedule = explorer.ask()
        assert schedule is not None
        explorer.tell(schedule, None if index == 2 else 1.0 + schedule.index("d"))
        explorer.ask()
    for again in (pickle.loads(pickle.dumps(explorer)), copy.deepcopy(explorer)):
        assert (again.rollouts, again.dag, again.runs.schedules) == (6, HOST, explorer.runs.schedules)
        original = copy.deepcopy(explorer)
        assert told(again, lambda schedule: 1.0) == told(original, lambda schedule: 1.0)


def test_spaces() -> None:
    # Tenzing enumerates 175, 2,036 and 8,507 schedules of the paper's program.
    kinds: dict[str, Any] = {name: "cpu" for name in ("PostRecv", "PostSend", "WaitRecv", "WaitSend")}
    kinds |= {name: "gpu" for name in ("Pack", "y_L", "y_R", "add")}
    order = "PostRecv-WaitRecv Pack-PostSend PostSend-WaitSend PostSend-WaitRecv PostRecv-WaitSend WaitRecv-y_R y_L-add y_R-add"
    spmv = Dag(kinds, [tuple(edge.split("-")) for edge in order.split()])  # type: ignore[misc]
    assert [spmv.count(streams, space="tenzing") for streams in (1, 2, 3)] == [175, 2036, 8507]
    explorer = Explorer(spmv, 2, strategy="dfs", space="tenzing")
    again = pickle.loads(pickle.dumps(explorer))
    for search in (explorer, again):
        assert len(told(search, lambda schedule: 1.0)) == 2036
    with pytest.raises(ValueError, match='space is "paper"'):
        spmv.count(2, space="paper")  # type: ignore[arg-type]


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
    with pytest.raises(ValueError, match="nothing to learn: there are no runs"):
        rules.learn(Runs([], []))
    runs = Runs(SCHEDULES, SECONDS)
    calls: list[tuple[dict[str, Any], str]] = [
        ({"labels": "paper", "percentile": 101}, "there is no percentile 101"),
        ({"labels": "paper", "radius": 0}, "radius is 0"),
        ({"criterion": "best"}, 'criterion is "best"'),
    ]
    for arguments, text in calls:
        with pytest.raises(ValueError, match=text):
            rules.learn(runs, **arguments)
    with pytest.raises(ValueError, match="schedule 0"):
        rules.learn(runs, labels="paper", radius=2).classify([""])
    with pytest.raises(ValueError, match="nothing to learn: all 24 runs took 1e0 s"):
        rules.learn(Runs(SCHEDULES, [1.0] * 24))
    with pytest.raises(ValueError, match="nothing to learn: there is a single run"):
        rules.learn(Runs(["a;b"], [1.0]))
    # About as fast: one class.
    same = rules.learn(Runs(SCHEDULES, [1.0, 1.005] * 12))
    assert set(same.classes) == {1} and same.ranges.tolist() == [[1.0, 1.005]] and same.rulesets == []
    assert repr(same).startswith("No classes could be told apart: the noise is unknown.") and repr(same) in same.page()
    assert set(same.classify(SCHEDULES)) == {1}
    # A time of 0 is a class of its own.
    assert rules.learn(Runs(SCHEDULES, [0.0] * 12 + [1.0] * 12)).classes.tolist() == [1] * 12 + [2] * 12


# A program of the host alone: its schedules are the orders that respect the edges.
HOST = Dag(dict.fromkeys("abcde", "cpu"), [("a", "b"), ("a", "c"), ("d", "e")], name="host")
ORDERS = [
    ";".join(order)
    for order in permutations("abcde")
    if order.index("a") < min(order.index("b"), order.index("c")) and order.index("d") < order.index("e")
]


def told(explorer: Explorer, times: Any) -> list[str]:
    """What it proposes until there is nothing left."""
    found: list[str] = []
    while (schedule := explorer.ask()) is not None:
        explorer.tell(schedule, times(schedule))
        found.append(schedule)
    return found


def test_programs() -> None:
    assert (HOST.name, list(HOST.operations), set(HOST.operations.values())) == ("host", list("abcde"), {"cpu"})
    assert HOST.edges == [("a", "b"), ("a", "c"), ("b", "end"), ("c", "end"), ("d", "e"), ("e", "end")]
    assert HOST.count(1) == HOST.count(8) == len(ORDERS) == 20
    assert Dag(dict.fromkeys("abcdefghijklmno", "cpu")).count(1) == math.factorial(15)
    # One operation of the GPU: a record behind it and a wait, in this order.
    assert Dag({"a": "gpu"}).count(2) == 1
    for dag in (HOST, Dag({"a": "gpu", "b": "cpu"}, [("a", "b"), ("a", "end")], name="both")):
        again = pickle.loads(pickle.dumps(dag))
        assert again == dag and hash(again) == hash(dag) and again.edges == dag.edges
    assert HOST != Dag(HOST.operations, HOST.edges) and HOST != "host"
    assert repr(Dag({"a": "gpu", "b": "cpu"})) == "Dag 'program' of 1 operations of the host and 1 of the GPU"


@pytest.mark.parametrize("strategy", ["surrogate", "mcts", "random", "dfs"])
def test_every_schedule_is_proposed_once(strategy: Any) -> None:
    explorer = Explorer(HOST, 1, strategy=strategy)
    found = told(explorer, lambda schedule: schedule.index("d") + 1.0)
    assert sorted(found) == sorted(ORDERS) and explorer.is_exhausted and explorer.ask() is None
    assert explorer.rollouts == len(explorer.runs) == 20 and explorer.runs.schedules == found
    np.testing.assert_array_equal(explorer.runs.seconds, [schedule.index("d") + 1 for schedule in found])
    assert repr(explorer) == "Explorer of host, 20 rollouts, exhausted"


def test_schedules_of_streams() -> None:
    dag = Dag({"copy": "gpu", "kernel": "gpu", "send": "cpu"}, [("copy", "send"), ("kernel", "send")])
    found = told(Explorer(dag, 2, strategy="dfs"), lambda _: 1.0)
    assert len(set(found)) == len(found) == dag.count(2)
    for schedule in found:
        names = [step.partition("@")[0] for step in schedule.split(";")]
        assert len(set(names)) == len(names) and names[-1] == "send"
        for gpu in ("copy", "kernel"):
            # Done on the GPU, recorded, and waited for.
            assert names.index(gpu) < names.index(f"CER-after-{gpu}") < names.index(f"CES-b4-send-after-{gpu}")
    streams = {schedule: {step.split("@")[1] for step in schedule.split(";") if "@" in step} for schedule in found}
    assert {len(used) for used in streams.values()} == {1, 2}
    assert dag.count(1) == sum(len(used) == 1 for used in streams.values()) and dag.count(8) == dag.count(2)


def test_code_and_pictures() -> None:
    dag = Dag({"scale": "gpu", "add": "gpu", "report": "cpu"}, [("scale", "report"), ("add", "report")], name="mine")
    schedules = []
    explorer = Explorer(dag, 2, strategy="dfs")
    while (schedule := explorer.ask()) is not None:
        schedules.append(schedule)
        explorer.tell(schedule, 1.0)
    for name in dag.operations:
        assert name in dag.draw() and name in dag.draw("dot")
        assert all(name in dag.emit(schedule, language) for schedule in schedules for language in ("cuda", "dot"))
    assert dag.draw().startswith("<svg") and dag._repr_svg_() == dag.draw() and dag.draw("dot").startswith("digraph")
    assert not dag.differences(schedules[0], schedules[0]) and dag.differences(schedules[0], schedules[-1])
    with pytest.raises(ValueError, match="format is \"png\": \"svg\" or \"dot\""):
        dag.draw("png")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="language is \"c\": \"cuda\" or \"dot\""):
        dag.emit(schedules[0], "c")  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        dag.emit("scale@0", "cuda")


def test_what_was_explored_teaches(tmp_path: Path) -> None:
    dag = Dag({"pack": "gpu", "local": "gpu", "send": "cpu", "wait": "cpu"}, [("pack", "send"), ("send", "wait")], name="halo")

    def seconds(schedule: str) -> float:
        names = [step.partition("@")[0] for step in schedule.split(";")]
        return 1e-3 if names.index("pack") < names.index("local") else 3e-3

    explorer = Explorer(dag, 2, seed=5, platform="a formula")
    found = told(explorer, seconds)
    assert len(found) == dag.count(2) == 12
    model = rules.learn(explorer.runs)
    assert [ruleset.rules for ruleset in model.rulesets] == [["pack before local"], ["local before pack"]]
    np.testing.assert_array_equal(model.classes, [1 + (seconds(schedule) > 2e-3) for schedule in found])
    assert "halo" in model.page() and "a formula" in model.page()
    assert told(Explorer(dag, 2, seed=5), seconds) == found != told(Explorer(dag, 2, seed=6), seconds)
    explorer.runs.save(tmp_path / "runs.csv")
    assert repr(Runs.load(tmp_path / "runs.csv")) == "12 runs of halo on a formula"


def test_what_an_explorer_is_told() -> None:
    explorer = Explorer(HOST, 1)
    # Schedules of others, the same again, and such as fail.
    explorer.tell(ORDERS[3], 2.0)
    explorer.tell(ORDERS[3], 4.0)
    explorer.tell(ORDERS[4], None)
    assert (explorer.rollouts, len(explorer.runs), explorer.dag) == (3, 2, HOST)
    assert not {ORDERS[3], ORDERS[4]} & set(told(explorer, lambda _: 1.0)) and explorer.rollouts == 21
    assert explorer.ask() is None
    wrong: list[tuple[Any, Any, type[Exception], str | None]] = [
        ("b;a;c;d;e", 1.0, ValueError, "`b` can't come next"),
        ("a;b;c;d", 1.0, ValueError, "it ends too early"),
        ("a@0;b;c;d;e", 1.0, ValueError, "can't come next"),
        ("", 1.0, ValueError, "it ends too early"),
        (ORDERS[0], -1.0, ValueError, "-1 s is not a time"),
        (ORDERS[0], math.nan, ValueError, "NaN s is not a time"),
        (ORDERS[0], math.inf, ValueError, "inf s is not a time"),
        (ORDERS[0], "1", TypeError, None),
        (3, 1.0, TypeError, None),
    ]
    for schedule, seconds, error, text in wrong:
        with pytest.raises(error, match=text):
            explorer.tell(schedule, seconds)
    assert explorer.rollouts == 21


def test_what_is_no_program() -> None:
    wrong: list[tuple[Any, Any, type[Exception], str | None]] = [
        ({}, [], ValueError, "it has no operations"),
        ({"a": "tpu"}, [], ValueError, "an operation's kind is \"tpu\": \"cpu\" or \"gpu\""),
        ({"a;b": "cpu"}, [], ValueError, "names are of letters"),
        ({"end": "cpu"}, [], ValueError, "the name `end` is reserved"),
        ({"a": "cpu", "b": "cpu"}, [("a", "c")], ValueError, "names `c`, which is not an operation"),
        ({"a": "cpu", "b": "cpu"}, [("a", "b"), ("b", "a")], ValueError, "in a cycle: a -> b -> a|in a cycle: b -> a -> b"),
        (dict.fromkeys(map(str, range(64)), "cpu"), [], ValueError, "it has 64 operations"),
        ({"a": 1}, [], TypeError, None),
        ({"a": "cpu"}, [("a",)], ValueError, None),
        ({"a": "cpu"}, [1], TypeError, None),
    ]
    for operations, edges, error, text in wrong:
        with pytest.raises(error, match=text):
            Dag(operations, edges)
    for streams in (0, 9, -1):
        with pytest.raises(ValueError, match="it takes 1 to 8"):
            Explorer(HOST, streams)
        with pytest.raises(ValueError, match="it takes 1 to 8"):
            HOST.count(streams)
    with pytest.raises(ValueError, match='strategy is "best"'):
        Explorer(HOST, strategy="best")  # type: ignore[arg-type]


def program(folder: Path, items: list[dict[str, Any]]) -> Path:
    path = folder / "mine.json"
    path.write_text(json.dumps({"operations": items}))
    return path


def test_orders_without_data_are_listed(tmp_path: Path) -> None:
    pack = {"name": "Pack", "kind": "gpu", "reads": ["x"], "writes": ["buffer"]}
    send = {"name": "Send", "kind": "cpu", "after": ["Pack"], "reads": ["buffer"]}
    sum_ = {"name": "Sum", "kind": "gpu", "after": ["Send"], "reads": ["x"], "writes": ["y"]}
    found = rules.check(program(tmp_path, [pack, send, sum_]))
    # Pack before Send, Send before Sum, and Sum before the end; only reads of x are common to Pack and Sum.
    assert found == rules.Checked("mine", 3, 0, 3, [("Send", "Sum")], 0)
    assert rules.check(program(tmp_path, [pack, send])).unjustified == []
    with pytest.raises(ValueError, match="mine.json: `Pack` and `Send` access `buffer`, .*neither comes after the other"):
        rules.check(program(tmp_path, [pack, {**send, "after": []}]))
    silent = [{"name": "a", "kind": "cpu"}, {"name": "b", "kind": "cpu"}]
    assert rules.check(str(program(tmp_path, silent))).unjustified is None
    with pytest.raises(ValueError, match="mine.json"):
        rules.check(program(tmp_path, [{"name": "a"}]))
    with pytest.raises(FileNotFoundError, match="none.json"):
        rules.check(tmp_path / "none.json")


def test_schedules_are_checked(tmp_path: Path) -> None:
    assert rules.check(HOST) == rules.Checked("host", 5, 0, 6, None, 0)
    assert rules.check(HOST, ORDERS).schedules == rules.check(HOST, Runs(ORDERS, np.ones(20))).schedules == 20
    with pytest.raises(ValueError, match="`b` can't come next"):
        rules.check(HOST, [ORDERS[0], "b;a;c;d;e"])
    wrong = Runs([ORDERS[0], "b;a;c;d;e"], [1.0, 1.0])
    wrong.save(tmp_path / "runs.csv")
    for runs, name in ((wrong, "runs"), (tmp_path / "runs.csv", "runs.csv")):
        with pytest.raises(ValueError, match=f"{name}: the schedule .*`b` can't come next"):
            rules.check(HOST, runs)
    explorer = Explorer(HOST, 1)
    told(explorer, lambda _: 1.0)
    assert rules.check(HOST, explorer.runs).schedules == 20
    other = Dag(dict.fromkeys("abcde", "cpu"), [("a", "b")], name="host")
    with pytest.raises(ValueError, match="with other operations or edges"):
        rules.check(other, explorer.runs)
    # Streams of schedules as text are limited.
    dag = Dag({"a": "gpu", "b": "gpu"})
    schedule = "a@0;b@1;CER-after-a;CER-after-b;CES-b4-end-after-a;CES-b4-end-after-b"
    assert rules.check(dag, [schedule]).schedules == 1
    with pytest.raises(ValueError):
        rules.check(dag, [schedule], streams=1)
    with pytest.raises(ValueError, match="it takes 1 to 8"):
        rules.check(dag, streams=9)
    with pytest.raises(TypeError):
        rules.check(3)  # type: ignore[arg-type]


def explored(times: Any, dag: Dag = HOST) -> tuple[Runs, list[float]]:
    """Runs of all schedules of a program, depth first, and their times."""
    explorer = Explorer(dag, 1, strategy="dfs")
    schedules = told(explorer, times)
    return explorer.runs, [times(schedule) for schedule in schedules]


def test_searches_are_repeated(tmp_path: Path) -> None:
    runs, times = explored(lambda schedule: 1.0 + 2.0 * schedule.index("d") + 0.001 * schedule.index("e"))
    marks: list[tuple[int, int]] = []
    counts = [8, 15, 20, 50]
    options: dict[str, Any] = {"iterations": counts, "seeds": 3}
    found = rules.study(runs, search=["dfs", "random"], progress=lambda done, all: marks.append((done, all)), **options)
    assert [each["search"] for each in found] == ["dfs", "random"] and marks[-1] == (6, 6)
    dfs = found[0]
    best = min(times)
    for count, point in zip(counts, dfs["points"]):
        seen = min(count, 20)
        assert (point["iterations"], point["share"]) == (seen, seen / 20)
        assert point["slower"]["mean"] == pytest.approx(min(times[:seen]) / best - 1)
        assert point["slower"]["deviation"] < 1e-12
    near = 1 + next(index for index, time in enumerate(times) if time <= 1.01 * best)
    assert dfs["near"] == {"mean": near, "deviation": 0, "least": near, "greatest": near}
    assert [each["points"][-1]["accuracy"]["least"] for each in found] == [1, 1]
    # By a second measurement all take the same: whatever is found first is near.
    second, _ = explored(lambda _: 1.0)
    assert rules.study(runs, judge=second, search=["dfs"], **options)[0]["near"]["mean"] == 1
    runs.save(tmp_path / "full.csv")
    second.save(tmp_path / "second.csv")
    for judge in (None, tmp_path / "second.csv"):
        again = rules.study(tmp_path / "full.csv", judge=judge, search=["dfs"], **options)[0]
        assert again["near"]["mean"] == (near if judge is None else 1)


def test_what_is_no_study(tmp_path: Path) -> None:
    runs, times = explored(lambda schedule: 1.0 + schedule.index("d"))
    other, _ = explored(lambda _: 1.0, Dag({"a": "cpu"}, name="other"))
    calls: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
        (Runs(runs.schedules, times), {}, ValueError, "runs: .*does not say what its operations and edges are"),
        (runs, {"search": ["best"]}, ValueError, 'search has "best"'),
        (runs, {"search": "dfs"}, TypeError, "search is of the type str"),
        (runs, {"seeds": 0}, ValueError, "seeds is 0, but it must be at least 1"),
        (runs, {"iterations": []}, ValueError, "at least one seed and one number of iterations"),
        (runs, {"iterations": [-1]}, ValueError, "iterations is -1"),
        (runs, {"iterations": [1]}, ValueError, "runs: nothing to learn"),
        (runs, {"labels": "best"}, ValueError, 'labels is "best"'),
        (runs, {"labels": None}, TypeError, "must be strings"),
        (runs, {"judge": other}, ValueError, "judge: it has runs of the program `other`, not of `host`"),
        (tmp_path / "none.csv", {}, FileNotFoundError, "none.csv"),
    ]
    for given, options, error, text in calls:
        with pytest.raises(error, match=text):
            rules.study(given, **options)
    explorer = Explorer(HOST, 1, strategy="dfs")
    for schedule in ORDERS[:10]:
        explorer.tell(schedule, 1.0)
    with pytest.raises(ValueError, match="there are runs of 10 schedules, and it takes all 20"):
        rules.study(explorer.runs)
