"""What ``progress=True`` shows."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

Progress = Callable[[int, int], object]

WIDTH = 30


@contextlib.contextmanager
def shown(progress: bool | Progress, what: str) -> Iterator[Progress | None]:
    """What to call with the amount of work that is done, and of all; none where nothing is to be shown."""
    if callable(progress):
        yield progress
    elif progress:
        bar = _Notebook(what) if _in_notebook() else _Terminal(what) if sys.stderr.isatty() else _Line(what)
        try:
            yield bar
        finally:
            bar.end()
    else:
        yield None


def _in_notebook() -> bool:
    ipython: Any = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


class _Bar:
    def __init__(self, what: str) -> None:
        self.what = what
        self.start = time.monotonic()
        self.done = 0
        self.total = 0

    def __call__(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        self.show()

    def text(self) -> str:
        seconds = time.monotonic() - self.start
        left = f", {seconds * (self.total / self.done - 1):.1f} s left" if 0 < self.done < self.total else ""
        return f"{100 * self.done / max(self.total, 1):.0f} %, {seconds:.1f} s{left}"

    def show(self) -> None:
        pass

    def end(self) -> None:
        pass


class _Terminal(_Bar):
    """A bar that is drawn again and again in one line."""

    def show(self) -> None:
        full = WIDTH * self.done // max(self.total, 1)
        sys.stderr.write(f"\r{self.what} [{'#' * full}{'.' * (WIDTH - full)}] {self.text()}\x1b[K")
        sys.stderr.flush()

    def end(self) -> None:
        sys.stderr.write("\n")


class _Line(_Bar):
    """One line at the end, for files."""

    def end(self) -> None:
        sys.stderr.write(f"{self.what}: {self.text()}\n")


class _Notebook(_Bar):
    """An element of the page, which changes in place."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        display: Any = sys.modules["IPython"].display
        self.html = display.HTML
        self.place = display.display(self.html(what), display_id=True)

    def show(self) -> None:
        bar = f'<progress value="{self.done}" max="{self.total}"></progress>'
        self.place.update(self.html(f"{self.what} {bar} {self.text()}"))
