"""Design rules: what tells a program's fast schedules from its slow ones.

A schedule is the order of a program's operations, with the streams of those on the GPU and the synchronisation that
these need. As text its steps have ``;`` between them: ``Pack@0;PostRecv;CER-after-Pack``. Those of a program of your
own, a `Dag`, are proposed by an `Explorer`, which asks for their times. The command ``warpsmith rules explore`` measures
schedules of the programs that come with it, and writes files that `Runs.load` reads.

Notes
-----
Steps of a schedule are:

- ``name``: an operation of the host, or ``name@1``: one of the GPU that is enqueued on stream 1;
- ``CER-after-u``: an event is recorded behind the GPU operation u (``cudaEventRecord``);
- ``CES-b4-v``: the host waits for an event before its operation v (``cudaEventSynchronize``);
- ``CSWE-b4-v@1``: stream 1 waits for one before its operation v (``cudaStreamWaitEvent``).

Where v needs several operations of the GPU, a wait says which: ``CES-b4-v-after-u``. The operation ``end``, at which all
is done, is implied.

Examples
--------
>>> from warpsmith import rules
>>> dag = rules.Dag({"copy": "gpu", "kernel": "gpu", "send": "cpu"}, [("copy", "send")])
>>> explorer = rules.Explorer(dag, streams=2)
>>> while (schedule := explorer.ask()) is not None:
...     explorer.tell(schedule, 2.0 if schedule.index("copy") < schedule.index("kernel") else 3.0)
>>> rules.learn(explorer.runs).rulesets[0].rules
['copy before kernel']
>>> schedules = ["a;b;c", "a;c;b", "c;a;b", "b;a;c", "b;c;a", "c;b;a"] * 10
>>> seconds = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0] * 10
>>> model = rules.learn(rules.Runs(schedules, seconds))
>>> for ruleset in model.rulesets:
...     print(ruleset.class_, ruleset.rules, ruleset.samples)
1 ['a before b'] 30
2 ['b before a'] 30
"""

from __future__ import annotations

import html
import json
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _warpsmith
from ._arrays import items, real, reals, whole
from ._progress import Progress, shown

__all__ = ["Checked", "Dag", "Explorer", "Model", "Ruleset", "Runs", "check", "learn", "study"]

Kind = Literal["cpu", "gpu"]


class Dag:
    """A program: operations of the host and the GPU, and which must be done before which. It never changes.

    Parameters
    ----------
    operations : mapping of str to {"cpu", "gpu"}
        What runs each operation: the host's thread, or a stream of the GPU. At most 63; names are of letters, digits,
        ``_``, ``.`` and ``+``.
    edges : iterable of (str, str)
        Pairs of operations, of which the second starts only when the first is done.
    name : str
        The program's name, for messages and files.

    Raises
    ------
    ValueError
        Where a name is no good, an edge is one to nowhere, or operations depend on each other in a cycle.

    Notes
    -----
    An operation ``end`` of the host comes after all others; edges may lead to it.

    Examples
    --------
    >>> dag = Dag({"scale": "gpu", "add": "gpu", "report": "cpu"}, [("scale", "add"), ("add", "report")])
    >>> dag.edges
    [('scale', 'add'), ('add', 'report'), ('report', 'end')]
    """

    __slots__ = ("_dag",)

    def __init__(
        self, operations: Mapping[str, Kind], edges: Iterable[tuple[str, str]] = (), *, name: str = "program"
    ) -> None:
        if not isinstance(operations, Mapping):
            found = type(operations).__name__
            raise TypeError(f'operations is of the type {found}, but it must be a mapping of names to "cpu" or "gpu"')
        if not isinstance(name, str):
            raise TypeError(f"name is {name!r}, but it must be a string")
        if not all(isinstance(text, str) for pair in operations.items() for text in pair):
            raise TypeError("operations has names or kinds that are not strings")
        pairs = [tuple(items(edge, f"edges[{index}]")) for index, edge in enumerate(items(edges, "edges"))]
        for index, pair in enumerate(pairs):
            if len(pair) != 2:
                raise ValueError(f"edges[{index}] is {pair!r}, but it must be a pair of operations")
            if not all(isinstance(end, str) for end in pair):
                raise TypeError(f"edges[{index}] is {pair!r}, but operations are named by strings")
        self._dag = _warpsmith.Dag(name, list(operations.items()), pairs)

    @property
    def name(self) -> str:
        """The program's name."""
        return self._dag.name

    @property
    def operations(self) -> dict[str, Kind]:
        """The kind of each operation, which tells what runs it; without the end."""
        return dict(self._dag.operations)

    @property
    def edges(self) -> list[tuple[str, str]]:
        """The dependences, with those of the end."""
        return self._dag.edges

    def count(self, streams: int, *, space: Literal["warpsmith", "tenzing"] = "warpsmith") -> int:
        """Return the number of schedules.

        Parameters
        ----------
        streams : int
            The most streams that a schedule may use, 1 to 8.
        space : {"warpsmith", "tenzing"}
            The schedules that count, as of `Explorer`.

        Raises
        ------
        ValueError
            Where the number of streams is another one, or there are too many schedules to count in some seconds.

        Examples
        --------
        >>> Dag({"a": "cpu", "b": "cpu", "c": "cpu"}).count(streams=1)
        6
        """
        return self._dag.count(_streams(streams), space)

    def draw(self, format: Literal["svg", "dot"] = "svg") -> str:
        """A picture of the program. Notebooks show it by themselves.

        Parameters
        ----------
        format : {"svg", "dot"}
            SVG, or a graph in Graphviz's language.

        Raises
        ------
        ValueError
            If the format is another one.

        Examples
        --------
        >>> Dag({"a": "gpu", "b": "cpu"}, [("a", "b")]).draw()[:4]
        '<svg'
        """
        return self._dag.draw(format)

    def emit(self, schedule: str, language: Literal["cuda", "dot"] = "cuda") -> str:
        """The code of a schedule.

        Parameters
        ----------
        schedule : str
            A schedule of the program, as `Explorer.ask` returns it.
        language : {"cuda", "dot"}
            C++17 with CUDA's runtime, a structure whose function ``run`` calls the operations; or a graph of the
            operations in Graphviz's language.

        Raises
        ------
        ValueError
            If the text is no schedule of the program, or the language is another one.

        Examples
        --------
        >>> "struct" in Dag({"a": "cpu", "b": "cpu"}).emit("a;b")
        True
        """
        return self._dag.emit(schedule, language)

    def differences(self, schedule: str, other: str) -> list[str]:
        """Return the differences of a schedule from another one, as sentences.

        Raises
        ------
        ValueError
            If a text is no schedule of the program.

        Examples
        --------
        >>> dag = Dag({"a": "cpu", "b": "cpu"})
        >>> len(dag.differences("a;b", "a;b")), len(dag.differences("a;b", "b;a")) > 0
        (0, True)
        """
        return self._dag.differences(schedule, other)

    def _repr_svg_(self) -> str:
        return self.draw()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Dag):
            return NotImplemented
        return self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((self.name, *self.operations.items(), *self.edges))

    def _parts(self) -> tuple[Any, ...]:
        return list(self.operations.items()), self.edges, self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return _program, self._parts()

    def __repr__(self) -> str:
        kinds = list(self.operations.values())
        return f"Dag {self.name!r} of {kinds.count('cpu')} operations of the host and {kinds.count('gpu')} of the GPU"


def _program(operations: list[tuple[str, Kind]], edges: list[tuple[str, str]], name: str) -> Dag:
    return Dag(dict(operations), edges, name=name)


def _streams(streams: int) -> int:
    number = whole(streams, "streams", None, None)
    if not 1 <= number <= 8:
        raise ValueError(f"{number} streams are not possible: it takes 1 to 8")
    return number


class Explorer:
    """A search for the schedules to measure: it proposes one, and is told its time.

    It pickles with all that it was asked and told. An unpickled one is asked and told the same again, and then proposes
    what the original does.

    By default a model of the times proposes what may be the fastest, and every third schedule is one that differs most
    from those before: it is to find out what times depend on.

    Parameters
    ----------
    dag : Dag
        The program.
    streams : int
        The most streams that a schedule may use, 1 to 8.
    strategy : {"surrogate", "mcts", "random", "dfs"}
        The model; the tree search alone, as in the paper; schedules at random; or all of them in their order.
    exploration : float
        The tree search's weight of what it knows little of.
    seed : int
        Where random numbers start, from 0 to 2^64 - 1. Equal seeds and times give equal searches.
    platform : str
        What it is measured on, for files and reports.
    space : {"warpsmith", "tenzing"}
        The schedules to search: by default each operation that others wait for has an event of its own, and each
        dependence a wait of its own. Those of tenzing, as the paper's 2,036 of its program, have only events and waits
        that earlier ones don't cover.

    Raises
    ------
    ValueError
        Where there can't be so many streams, or there is no such strategy or space.

    Examples
    --------
    >>> explorer = Explorer(Dag({"a": "gpu", "b": "gpu"}), streams=2, strategy="dfs")
    >>> explorer.ask()
    'a@0;b@0;CER-after-a;CER-after-b;CES-b4-end-after-a;CES-b4-end-after-b'
    >>> explorer.tell(explorer.ask(), 1e-3)
    >>> explorer.runs
    1 runs of program
    """

    __slots__ = ("_dag", "_explorer", "_given", "_told")

    def __init__(
        self,
        dag: Dag,
        streams: int = 2,
        *,
        strategy: Literal["surrogate", "mcts", "random", "dfs"] = "surrogate",
        exploration: float = math.sqrt(2),
        seed: int = 0,
        platform: str = "",
        space: Literal["warpsmith", "tenzing"] = "warpsmith",
    ) -> None:
        if not isinstance(dag, Dag):
            raise TypeError(f"dag is of the type {type(dag).__name__}, but it must be a Dag")
        exploration = real(exploration, "exploration")
        if not 0 <= exploration < math.inf:
            raise ValueError(f"exploration is {exploration}, but it must be a finite number from 0 on")
        seed = whole(seed, "seed", 0, 2**64 - 1)
        self._dag = dag
        self._explorer = _warpsmith.Explorer(dag._dag, _streams(streams), strategy, exploration, seed, platform, space)
        self._given = (dag, streams, strategy, exploration, seed, platform, space)
        # History of answers, in order; None for each question.
        self._told: list[tuple[str, float | None] | None] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return _explorer, (self._given, self._told.copy())

    def ask(self) -> str | None:
        """A schedule whose time it has not been told, as text; None when there is no other.

        It may be asked again before it is told.
        """
        proposed = self._explorer.ask()
        self._told.append(None)
        return proposed

    def tell(self, schedule: str, seconds: float | None) -> None:
        """Takes in a schedule's time.

        Parameters
        ----------
        schedule : str
            A schedule of the program, whether it was proposed or not. One may be told again: that counts twice.
        seconds : float or None
            How long it took; None where it could not be measured, so that it isn't proposed again.

        Raises
        ------
        ValueError
            Where the text is no schedule of the program, or the number no time.
        """
        self._explorer.tell(schedule, None if seconds is None else real(seconds, "seconds"))
        self._told.append((schedule, seconds))

    @property
    def dag(self) -> Dag:
        """The program."""
        return self._dag

    @property
    def runs(self) -> Runs:
        """The schedules that have times, in the order in which they were told: for `learn`, or to be saved."""
        runs = object.__new__(Runs)
        runs._runs = self._explorer.runs
        return runs

    @property
    def rollouts(self) -> int:
        """The number of schedules that it was told, with those that could not be measured."""
        return self._explorer.rollouts

    @property
    def is_exhausted(self) -> bool:
        """Whether it was told of every schedule."""
        return self._explorer.is_exhausted

    def __repr__(self) -> str:
        return f"Explorer of {self._dag.name}, {self.rollouts:,} rollouts{', exhausted' if self.is_exhausted else ''}"


def _explorer(given: tuple[Any, ...], told: list[tuple[str, float | None] | None]) -> Explorer:
    dag, streams, strategy, exploration, seed, platform, space = given
    self = Explorer(
        dag, streams, strategy=strategy, exploration=exploration, seed=seed, platform=platform, space=space
    )
    for each in told:
        if each is None:
            self.ask()
        else:
            self.tell(*each)
    return self


class Runs:
    """Measured schedules, which never change. They pickle.

    Parameters
    ----------
    schedules : iterable of str
        The schedules, as text.
    seconds : (n,) array_like
        How long each took.

    Raises
    ------
    ValueError
        Where a text is no schedule, a time is negative or not finite, or there are not as many of both.

    Examples
    --------
    >>> len(Runs(["a;b", "b;a"], [1.0, 2.0]))
    2
    """

    __slots__ = ("_runs",)

    def __init__(self, schedules: Iterable[str], seconds: npt.ArrayLike) -> None:
        texts = items(schedules, "schedules")
        times = reals(seconds, "seconds").astype(np.float64, copy=False)
        if times.shape != (len(texts),):
            raise ValueError(f"there are {len(texts)} schedules, but seconds have the shape {times.shape}")
        wrong = np.flatnonzero(~((times >= 0) & np.isfinite(times)))
        if wrong.size:
            raise ValueError(f"seconds[{wrong[0]}] is {times[wrong[0]]}, which is not a time")
        self._runs = _warpsmith.Runs(texts, times)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Runs:
        """Loads a file of ``warpsmith rules explore``, or of `save`.

        Parameters
        ----------
        path : path_like
            The file.

        Raises
        ------
        OSError
            Where it can't be read.
        ValueError
            Where it is no such file.
        """
        runs = object.__new__(cls)
        runs._runs = _warpsmith.Runs.load(os.fspath(path))
        return runs

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the runs, for `load` and the command ``warpsmith rules``.

        The file is there as a whole or not at all.

        Parameters
        ----------
        path : path_like
            The file.

        Raises
        ------
        OSError
            Where it can't be written.
        """
        self._runs.save(os.fspath(path))

    def __reduce__(self) -> tuple[Any, ...]:
        return _runs, self._runs.state()

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def schedules(self) -> list[str]:
        """The schedules, as text."""
        return self._runs.schedules

    @property
    def seconds(self) -> npt.NDArray[np.float64]:
        """The time of each."""
        return self._runs.seconds

    @property
    def program(self) -> str:
        """The program's name; empty where it isn't known."""
        return self._runs.program

    @property
    def platform(self) -> str:
        """The platform that measured them; empty if it isn't known."""
        return self._runs.platform

    def __repr__(self) -> str:
        of, on = self.program and f" of {self.program}", self.platform and f" on {self.platform}"
        return f"{len(self):,} runs{of}{on}"


def _runs(about: str, rows: list[Any]) -> Runs:
    runs = object.__new__(Runs)
    runs._runs = _warpsmith.Runs.of_state(about, rows)
    return runs


class Ruleset(NamedTuple):
    """Rules that together put a schedule into a class."""

    class_: int
    """The class, from 1; schedules of class 1 are the fastest."""
    rules: list[str]
    """The rules, as sentences."""
    samples: int
    """The number of runs that heed them all."""
    right: int
    """The number of these that are of the class."""


class Model:
    """A model of runs: `learn` makes it. In a notebook it shows itself as a page.

    It pickles, and is saved, as its runs and options: loading learns again.
    """

    __slots__ = ("_given", "_model")

    _model: _warpsmith.Model
    _given: tuple[Runs, dict[str, Any]]

    def __reduce__(self) -> tuple[Any, ...]:
        return _learned, self._given

    def to_json(self) -> str:
        """The model as JSON, for `from_json`."""
        runs, options = self._given
        about, rows = runs._runs.state()
        return json.dumps({"warpsmith": "model", "options": options, "about": json.loads(about), "rows": rows})

    @classmethod
    def from_json(cls, text: str) -> Model:
        """Makes the model of a text of `to_json`.

        Parameters
        ----------
        text : str
            The text.

        Raises
        ------
        ValueError
            If it is not such a text.
        TypeError
            If it is no string.
        """
        if not isinstance(text, (str, bytes, bytearray)):
            raise TypeError(f"text is of the type {type(text).__name__}, but it must be a string")
        try:
            found = json.loads(text)
            if found["warpsmith"] != "model":
                raise ValueError("it is something else")
            rows = [(text, time, noise, list(map(tuple, times))) for text, time, noise, times in found["rows"]]
            return _learned(_runs(json.dumps(found["about"]), rows), found["options"])
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            raise ValueError(f"text is not a model's: {error}") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Saves the model as JSON, for `load`.

        The file is there as a whole or not at all.

        Parameters
        ----------
        path : path_like
            The file.

        Raises
        ------
        OSError
            If it can't be written.
        """
        _warpsmith.write_text(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Loads a file of `save`.

        Parameters
        ----------
        path : path_like
            The file.

        Raises
        ------
        OSError
            If it can't be read.
        ValueError
            If it is not such a file.
        """
        with open(path, encoding="utf-8") as file:
            try:
                return cls.from_json(file.read())
            except ValueError as error:
                raise ValueError(f"{os.fspath(path)}: {error}") from None

    @property
    def classes(self) -> npt.NDArray[np.int64]:
        """The class of each run by its time, from 1."""
        return self._model.classes

    @property
    def ranges(self) -> npt.NDArray[np.float64]:
        """The least and the greatest time of each class, in seconds: (classes, 2)."""
        return np.array(self._model.ranges)

    @property
    def rulesets(self) -> list[Ruleset]:
        """The rules, by class, and in each first those that most runs heed. None if all runs are of one class."""
        return [Ruleset(*ruleset) for ruleset in self._model.rulesets]

    def classify(self, schedules: Iterable[str]) -> npt.NDArray[np.int64]:
        """The classes that the rules put schedules into.

        Parameters
        ----------
        schedules : iterable of str
            Schedules of the same program, as text, whether they were measured or not.

        Returns
        -------
        (n,) ndarray of int64
            Classes, from 1.

        Raises
        ------
        ValueError
            Where a text is no schedule.
        """
        return self._model.classify(items(schedules, "schedules"))

    def page(self) -> str:
        """A page of HTML about the runs, their classes and rules. It stands by itself."""
        return self._model.page()

    def __repr__(self) -> str:
        return self._model.without_rules or f"{len(self.ranges)} classes, {len(self._model.rulesets)} rulesets"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.page())}" width="100%" height="800"></iframe>'


def learn(
    runs: Runs | str | os.PathLike[str],
    *,
    labels: Literal["density", "paper"] = "density",
    resolution: float | None = None,
    radius: int | None = None,
    percentile: float = 98.0,
    criterion: Literal["gini", "entropy"] = "gini",
) -> Model:
    """Learns which rules set the fast schedules apart.

    Parameters
    ----------
    runs : Runs or path_like
        Measured schedules of one program, or their file.
    labels : {"density", "paper"}
        How runs are classed: by the peaks of the density of their times, or by the largest steps of the sorted times, as
        in the paper.
    resolution : float, optional
        By density, times nearer to each other than this, as a share, aren't told apart; by default the noise where the
        file has it, and at least 0.01. If the file has the noise, steps are bounds between classes, too: gaps that
        neither the noise nor chance explains.
    radius : int, optional
        With ``"paper"``, the radius, in runs, of the step function that finds steps in the sorted times; by default 0.5 % of the runs.
    percentile : float
        With ``"paper"``, the percentile of the prominences, 0 to 100, that a step has to reach to be a bound between
        classes.
    criterion : {"gini", "entropy"}
        The measure of impurity that the decision tree minimizes.

    Returns
    -------
    Model

    Raises
    ------
    ValueError
        Where there are fewer than two runs, or all take the same time.
    OSError
        Where the file can't be read.

    Examples
    --------
    >>> model = learn(Runs(["a;b"] * 20 + ["b;a"] * 20, [1.0] * 20 + [2.0] * 20))
    >>> model.rulesets[0].rules
    ['a before b']
    """
    given = runs if isinstance(runs, Runs) else Runs.load(runs)
    return _learned(given, _options(labels, resolution, radius, percentile, criterion))


def _options(
    labels: str, resolution: float | None, radius: int | None, percentile: float, criterion: str
) -> dict[str, Any]:
    if radius is not None:
        radius = whole(radius, "radius", 1, 2**63 - 1)
    resolution = None if resolution is None else real(resolution, "resolution")
    percentile = real(percentile, "percentile")
    if not isinstance(labels, str) or not isinstance(criterion, str):
        raise TypeError(f"labels is {labels!r} and criterion is {criterion!r}, but they must be strings")
    names = ("labels", "resolution", "radius", "percentile", "criterion")
    return dict(zip(names, (labels, resolution, radius, percentile, criterion)))


def _learned(runs: Runs, options: dict[str, Any]) -> Model:
    model = object.__new__(Model)
    model._model = _warpsmith.Model.learn(runs._runs, options)
    model._given = runs, options
    return model


class Checked(NamedTuple):
    """The result of `check`."""

    program: str
    """The program's name."""
    operations: int
    """Number of operations, without the end."""
    choices: int
    """Number of choices between alternatives."""
    dependences: int
    """Number of dependences, including those of the end."""
    unjustified: list[tuple[str, str]] | None
    """Dependences between operations that share no data which one of them writes. They may exclude fast schedules. None
    if no operation states what it reads and writes."""
    schedules: int
    """Number of schedules that were checked."""


def check(
    program: Dag | str | os.PathLike[str],
    schedules: Runs | str | os.PathLike[str] | Iterable[str] = (),
    *,
    streams: int = 2,
) -> Checked:
    """Checks a program and schedules of it, as the command ``warpsmith rules check``.

    Parameters
    ----------
    program : Dag or path_like
        The program, or its file of JSON. Only a file states what operations read and write.
    schedules : Runs, path_like or iterable of str
        Runs, their file, or schedules as text.
    streams : int
        The most streams that a schedule may use, 1 to 8. A file of ``warpsmith rules explore`` has its own number.

    Returns
    -------
    Checked

    Raises
    ------
    ValueError
        If the file describes no program, a schedule is none of the program's, or two operations access the same data
        in no order although one of them writes it.
    OSError
        If a file can't be read.

    Examples
    --------
    >>> dag = Dag({"a": "cpu", "b": "cpu"}, [("a", "b")])
    >>> check(dag, ["a;b"]).schedules
    1
    """
    known, path = None, "runs"
    if isinstance(schedules, (str, os.PathLike)):
        known, path = Runs.load(schedules), os.fspath(schedules)
    elif isinstance(schedules, Runs):
        known = schedules
    texts = [] if known else items(schedules, "schedules")
    given = program._dag if isinstance(program, Dag) else os.fspath(program)
    name, (operations, choices, dependences), unjustified, tried = _warpsmith.check(
        given, texts, None if known is None else known._runs, path, _streams(streams)
    )
    return Checked(name, operations, choices, dependences, unjustified, tried)


def study(
    runs: Runs | str | os.PathLike[str],
    *,
    iterations: Iterable[int] = (50, 100, 200, 400),
    seeds: int = 20,
    search: Iterable[Literal["surrogate", "mcts", "random", "dfs"]] = ("surrogate", "mcts", "random"),
    judge: Runs | str | os.PathLike[str] | None = None,
    labels: Literal["density", "paper"] = "density",
    resolution: float | None = None,
    radius: int | None = None,
    percentile: float = 98.0,
    criterion: Literal["gini", "entropy"] = "gini",
    progress: bool | Progress = False,
) -> list[dict[str, Any]]:
    """Repeats searches on a space that was measured: times are looked up, and nothing is run.

    Parameters
    ----------
    runs : Runs or path_like
        Runs of all schedules of a program, or their file, as ``warpsmith rules explore --exhaustive`` writes it.
    iterations : iterable of int
        Numbers of iterations after which a search is judged.
    seeds : int
        Number of seeds, from 0 on.
    search : iterable of {"surrogate", "mcts", "random", "dfs"}
        The strategies, as of `Explorer`.
    judge : Runs or path_like, optional
        A second measurement of the same schedules, which judges how near searches get to the fastest.
    labels, resolution, radius, percentile, criterion
        As of `learn`.
    progress : bool or callable
        Whether to show the progress, or a function that is called with the number of finished searches and of all.

    Returns
    -------
    list of dict
        A dictionary for each strategy, with the figures of ``warpsmith rules study --json``: ``search``; ``points``, one
        for each number of iterations, with the ``accuracy`` over the whole space of the rules learned from the
        schedules found, and how much ``slower`` the fastest of them is than the fastest of all; ``near``, the number of
        iterations until a schedule within 1 % of the fastest is found. Each of these has a ``mean``, a ``deviation``, a
        ``least`` and a ``greatest`` over the seeds. ``warpsmith.concurrency.columns`` makes arrays of points.

    Raises
    ------
    ValueError
        If schedules are missing, the program is unknown, or an option is out of range.
    OSError
        If a file can't be read.

    Examples
    --------
    >>> explorer = Explorer(Dag(dict.fromkeys("abcd", "cpu")), 1, strategy="dfs")
    >>> while (schedule := explorer.ask()) is not None:
    ...     explorer.tell(schedule, 2.0 if schedule < "b" else 1.0)
    >>> studied = study(explorer.runs, iterations=[24], seeds=2, search=["dfs"])
    >>> studied[0]["near"]["mean"], studied[0]["points"][0]["accuracy"]["mean"]
    (7.0, 1.0)
    """
    given, name = (runs, "runs") if isinstance(runs, Runs) else (Runs.load(runs), os.fspath(runs))
    second, second_name = None, "judge"
    if judge is not None:
        second, second_name = (judge, "judge") if isinstance(judge, Runs) else (Runs.load(judge), os.fspath(judge))
    counts = [whole(number, "iterations") for number in items(iterations, "iterations")]
    with shown(progress, "study") as tell:
        made = _warpsmith.study_runs(
            given._runs,
            None if second is None else second._runs,
            [name, second_name],
            counts,
            whole(seeds, "seeds", 1, 100_000),
            items(search, "search"),
            _options(labels, resolution, radius, percentile, criterion),
            tell,
        )
    found: list[dict[str, Any]] = json.loads(made)
    return found
