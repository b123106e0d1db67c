"""Design rules: what tells a program's fast schedules from its slow ones.

A schedule is the order of a program's operations, with the streams of those on the GPU and the synchronisation that
these need. As text its steps have ``;`` between them: ``Pack@0;PostRecv;CER-after-Pack``. The command ``warpsmith
rules explore`` measures schedules, and writes files that `Runs.load` reads.

Examples
--------
>>> from warpsmith import rules
>>> schedules = ["a;b;c", "a;c;b", "c;a;b", "b;a;c", "b;c;a", "c;b;a"] * 10
>>> seconds = [1.0, 1.1, 1.2, 2.0, 2.1, 2.2] * 10
>>> model = rules.learn(rules.Runs(schedules, seconds))
>>> for ruleset in model.rulesets:
...     print(ruleset.class_, ruleset.rules, ruleset.samples)
1 ['a before b'] 30
2 ['b before a'] 30
"""

from __future__ import annotations

import html
import os
from collections.abc import Iterable
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _warpsmith

__all__ = ["Model", "Ruleset", "Runs", "learn"]


class Runs:
    """Measured schedules, which never change.

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
        texts = list(schedules)
        times = np.asarray(seconds, np.float64)
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

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def schedules(self) -> list[str]:
        """The schedules, as text."""
        return self._runs.schedules

    @property
    def seconds(self) -> npt.NDArray[np.float64]:
        """How long each took."""
        return self._runs.seconds

    @property
    def program(self) -> str:
        """The program's name; empty where it isn't known."""
        return self._runs.program

    @property
    def platform(self) -> str:
        """What they were measured on; empty where it isn't known."""
        return self._runs.platform

    def __repr__(self) -> str:
        of, on = self.program and f" of {self.program}", self.platform and f" on {self.platform}"
        return f"{len(self):,} runs{of}{on}"


class Ruleset(NamedTuple):
    """Rules that together put a schedule into a class."""

    class_: int
    """The class, from 1; schedules of class 1 are the fastest."""
    rules: list[str]
    """The rules, as sentences."""
    samples: int
    """How many runs heed them all."""
    right: int
    """How many of these are of the class."""


class Model:
    """What runs teach: `learn` makes it. In a notebook it shows itself as a page."""

    __slots__ = ("_model",)

    _model: _warpsmith.Model

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
        """The rules, by class, and in each first those that most runs heed."""
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
        return self._model.classify(list(schedules))

    def page(self) -> str:
        """A page of HTML about the runs, their classes and rules. It stands by itself."""
        return self._model.page()

    def __repr__(self) -> str:
        return f"{len(self.ranges)} classes, {len(self._model.rulesets)} rulesets"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.page())}" width="100%" height="800"></iframe>'


def learn(
    runs: Runs | str | os.PathLike[str],
    *,
    radius: int | None = None,
    percentile: float = 98.0,
    criterion: Literal["gini", "entropy"] = "gini",
) -> Model:
    """Learns which rules set the fast schedules apart.

    Parameters
    ----------
    runs : Runs or path_like
        Measured schedules of one program, or their file.
    radius : int, optional
        The radius, in runs, of the step function that finds steps in the sorted times; by default 0.5 % of the runs.
    percentile : float
        The percentile of the prominences, 0 to 100, that a step has to reach to be a bound between classes.
    criterion : {"gini", "entropy"}
        The measure of impurity that the decision tree minimizes.

    Returns
    -------
    Model

    Raises
    ------
    ValueError
        Where there are too few runs, or they don't differ.
    OSError
        Where the file can't be read.

    Examples
    --------
    >>> model = learn(Runs(["a;b"] * 20 + ["b;a"] * 20, [1.0] * 20 + [2.0] * 20))
    >>> model.rulesets[0].rules
    ['a before b']
    """
    given = runs if isinstance(runs, Runs) else Runs.load(runs)
    model = object.__new__(Model)
    model._model = _warpsmith.Model.learn(given._runs, radius, percentile, criterion)
    return model
