from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, final

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]
_Indices = npt.NDArray[np.int64]
_Next = npt.NDArray[np.int32] | DeviceArray
_Row = tuple[str, float | None, float | None, list[tuple[float, float]]]
_Table = tuple[list[tuple[str, str]], bool | None, int | None, bool]
_Window = tuple[float | None, float | None, bool, bool, float | None]
_Devices = Device | str | Sequence[Device | str] | None

__all__ = [
    "Dag",
    "Device",
    "DeviceArray",
    "Diagrams",
    "Explorer",
    "Matrix",
    "Model",
    "Overlap",
    "PcfSet",
    "Rooted",
    "Runs",
    "Shape",
    "__version__",
    "biconnected",
    "bridges",
    "check",
    "components",
    "devices",
    "forest",
    "free_memory",
    "load_barcodes",
    "minimum_spanning_forest",
    "nest",
    "on_gpu",
    "order",
    "pack",
    "pairwise",
    "pairwise_file",
    "prefix_sums",
    "rank",
    "reduced",
    "rips",
    "root",
    "study",
    "study_runs",
    "time",
    "nest_text",
    "write_text",
]

__version__: str

@final
class Device:
    def __new__(cls, name: Device | str | None = None, /) -> Device: ...
    @property
    def name(self) -> str: ...
    @property
    def backend(self) -> str: ...
    @property
    def ordinal(self) -> int | None: ...
    @property
    def multiprocessors(self) -> int: ...
    @property
    def compute_capability(self) -> tuple[int, int] | None: ...
    @property
    def memory(self) -> tuple[int, int]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def devices() -> list[Device]: ...
def free_memory() -> None: ...
@final
class DeviceArray:
    def __new__(cls, array: Any, device: Device | str | None = None) -> DeviceArray: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def device(self) -> Device: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def __len__(self) -> int: ...
    def numpy(self) -> _Array: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> _Array: ...
    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

def on_gpu(array: object) -> DeviceArray | None: ...
@final
class PcfSet:
    def __new__(cls, offsets: _Indices, points: _Array, shape: list[int] | None) -> PcfSet: ...
    @staticmethod
    def of_barcodes(
        curve: str, offsets: _Indices, bars: npt.NDArray[np.float64], superlevel: bool, dtype: str
    ) -> PcfSet: ...
    @staticmethod
    def load(path: str, table: _Table, window: _Window, repair: bool) -> PcfSet: ...
    @staticmethod
    def random(count: int, points: int, seed: int, uneven: bool, dtype: str) -> PcfSet: ...
    def save(self, path: str) -> None: ...
    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> list[int]: ...
    @property
    def points(self) -> _Array: ...
    @property
    def offsets(self) -> _Indices: ...
    def __len__(self) -> int: ...
    @property
    def names(self) -> list[str] | None: ...
    def with_names(self, names: list[str] | None) -> PcfSet: ...
    def with_shape(self, shape: list[int]) -> PcfSet: ...
    def astype(self, dtype: str) -> PcfSet: ...
    def take(self, index: _Indices, shape: list[int]) -> PcfSet: ...
    def values_at(self, times: npt.NDArray[np.float64]) -> _Array: ...
    def combine(self, operation: str, other: PcfSet, rows: _Indices, columns: _Indices) -> PcfSet: ...
    def summaries(self, groups: _Indices, what: str, q: float) -> PcfSet: ...
    def windowed(self, start: float | None, until: float | None, step: float | None) -> PcfSet: ...
    @staticmethod
    def of_series(offsets: _Indices, points: npt.NDArray[np.float64], window: _Window) -> PcfSet: ...
    def norms(self, p: float) -> _Array: ...
    def integrals(self, start: float, end: float) -> _Array: ...
    def max_times(self) -> _Array: ...

def pairwise(
    rows: PcfSet,
    columns: PcfSet | None,
    p: float | None,
    layout: str,
    out: Any,
    on_device: bool,
    device: _Devices,
    progress: Callable[[int, int], object] | None,
) -> Any: ...
def pairwise_file(
    rows: PcfSet,
    columns: PcfSet | None,
    p: float | None,
    layout: str,
    path: str,
    resume: bool,
    device: _Devices,
    progress: Callable[[int, int], object] | None,
) -> None: ...
def reduced(
    rows: PcfSet,
    columns: PcfSet | None,
    p: float,
    kept: str,
    limit: float,
    device: _Devices,
    progress: Callable[[int, int], object] | None,
) -> list[_Array]: ...
def load_barcodes(
    paths: list[str], dimension: int | None, superlevel: bool, end: float | None, table: _Table
) -> list[tuple[_Indices, npt.NDArray[np.float64], list[str] | None]]: ...
def time(text: str) -> float | None: ...
@final
class Shape:
    def __new__(
        cls, outline: npt.ArrayLike, name: str = "shape", holes: Sequence[npt.ArrayLike] | None = None
    ) -> Shape: ...
    @staticmethod
    def tree() -> Shape: ...
    @staticmethod
    def from_pieces(pieces: Sequence[npt.ArrayLike], name: str = "shape") -> Shape: ...
    @staticmethod
    def load(path: str | PathLike[str]) -> Shape: ...
    @staticmethod
    def load_all(path: str | PathLike[str]) -> list[Shape]: ...
    @staticmethod
    def load_sheet(path: str | PathLike[str]) -> Shape: ...
    @staticmethod
    def _sheet(arrays: Sequence[npt.ArrayLike], name: str) -> Shape: ...
    def mirrored(self) -> Shape: ...
    @staticmethod
    def _restored(
        name: str, outlines: Sequence[Sequence[Sequence[float]]], path: str, turns: Sequence[float] | None
    ) -> Shape: ...
    def __copy__(self) -> Shape: ...
    def __deepcopy__(self, _memo: Any, /) -> Shape: ...
    @property
    def name(self) -> str: ...
    @property
    def demand(self) -> int: ...
    @property
    def turns(self) -> list[float] | None: ...
    @property
    def area(self) -> float: ...
    @property
    def outlines(self) -> list[npt.NDArray[np.float64]]: ...
    @property
    def pieces(self) -> list[npt.NDArray[np.float64]]: ...

@final
class Overlap:
    def __new__(
        cls,
        shapes: list[Shape],
        dtype: str,
        boundary: npt.NDArray[np.float64] | None,
        lattice: list[list[float]] | None,
        deterministic: bool,
        device: Device | str | None,
    ) -> Overlap: ...
    def evaluate(
        self,
        poses: npt.NDArray[np.float64],
        shape: list[int],
        offsets: _Indices,
        shapes: npt.NDArray[np.uint32] | None,
        scales: list[float] | None,
        per_pose: bool,
        gradient: bool,
    ) -> tuple[_Array, _Array | None, _Array | None, list[_Array] | None]: ...
    def evaluate_on_device(
        self,
        poses: DeviceArray,
        offsets: _Indices,
        shapes: npt.NDArray[np.uint32] | None,
        scales: list[float] | None,
        per_pose: bool,
        gradient: bool,
        into: DeviceArray | None,
    ) -> tuple[DeviceArray, DeviceArray | None, DeviceArray | None, list[DeviceArray] | None]: ...
    def pairs(
        self, poses: npt.NDArray[np.float64], offsets: _Indices, shapes: npt.NDArray[np.uint32] | None
    ) -> tuple[list[_Indices], npt.NDArray[np.int32], _Array]: ...
    def common(
        self, poses: npt.NDArray[np.float64], offsets: _Indices, shapes: npt.NDArray[np.uint32] | None
    ) -> list[npt.NDArray[np.float64]]: ...

def pack(
    parts: list[tuple[Shape, int]],
    container: str,
    allowed: Sequence[str | None],
    mirror: Sequence[bool],
    spacing: float,
    seed: int,
    starts: int | None,
    initial: npt.NDArray[np.float64] | None,
    mirrored: Sequence[bool],
    steps: int,
    seconds: float | None,
    device: Device | str | None,
    progress: Callable[[int, int], object] | None,
) -> tuple[
    npt.NDArray[np.float64],
    list[bool],
    float,
    float,
    int,
    int,
    float,
    npt.NDArray[np.float64],
    npt.NDArray[np.float64],
]: ...
def nest(
    parts: list[tuple[Shape, int]],
    sheets: list[tuple[float, float, int | None, Shape | None]],
    spacing: float,
    margin: float,
    allowed: Sequence[str | None],
    mirror: Sequence[bool],
    values: Sequence[float] | None,
    priorities: Sequence[int],
    time: float,
    seed: int,
    device: Device | str | None,
    progress: Callable[[int, int], object] | None,
) -> tuple[
    list[tuple[int, list[float], float, float, list[tuple[int, list[float], bool]]]],
    list[tuple[int, int, bool]],
    list[float] | None,
    list[tuple[float, float]],
    float,
]: ...
def nest_text(
    parts: Sequence[tuple[str, Shape, int]],
    sheets: Sequence[tuple[float, float, Sequence[tuple[int, Sequence[float], bool]], Shape | None]],
    mirror: Sequence[bool],
    roll: bool,
    seconds: float,
    name: str,
) -> str: ...
def write_text(path: str | PathLike[str], text: str) -> None: ...
def rank(next: _Next, head: int | None, order: bool, device: Device | str | None) -> Any: ...
def prefix_sums(
    next: _Next, weights: _Array | DeviceArray, head: int | None, device: Device | str | None
) -> Any: ...
def forest(next: _Next, device: Device | str | None) -> tuple[Any, Any, int]: ...
def components(
    edges: _Next, n: int | None, forest: bool, device: Device | str | None
) -> tuple[list[Any], int]: ...
def bridges(
    edges: _Next, n: int | None, arcs: bool, device: Device | str | None
) -> tuple[list[Any], int]: ...
def biconnected(edges: _Next, n: int | None, device: Device | str | None) -> tuple[list[Any], int]: ...
def minimum_spanning_forest(
    edges: _Next, weights: Any, n: int | None, device: Device | str | None
) -> tuple[list[Any], float, int]: ...
def rips(
    numbers: _Array | list[DeviceArray],
    dimension: int | None,
    sizes: list[int],
    threshold: float,
    degree: int,
    edges: bool,
    device: _Devices,
    progress: Callable[[int, int], object] | None,
) -> Diagrams: ...
@final
class Diagrams:
    def __new__(cls, degrees: list[tuple[_Indices, _Array, npt.NDArray[np.uint16]]]) -> Diagrams: ...
    @property
    def dtype(self) -> str: ...
    @property
    def degrees(self) -> int: ...
    def __len__(self) -> int: ...
    def offsets(self, degree: int) -> _Indices: ...
    def bars(self, degree: int) -> _Array: ...
    def edges(self, degree: int) -> npt.NDArray[np.uint16]: ...
    def curves(self, curve: str, degree: int, cap: float | None, dtype: str) -> PcfSet: ...
    def samples(
        self, degree: int, layers: int | None, power: float, times: list[float], cap: float | None
    ) -> npt.NDArray[np.float64]: ...
    def sampled_curves(
        self, degree: int, layers: int | None, power: float, times: list[float], cap: float | None, dtype: str
    ) -> PcfSet: ...
    def save(self, path: str, names: list[str] | None) -> None: ...

def root(
    forest: _Next, from_parents: bool, n: int | None, root: int | None, device: Device | str | None
) -> tuple[Rooted, list[Any], int]: ...
@final
class Rooted:
    def lca(self, pairs: _Next) -> Any: ...
    def sums(self, weights: _Array | DeviceArray) -> tuple[Any, Any]: ...

@final
class Matrix:
    def __new__(
        cls,
        shape: tuple[int, int],
        row_ptr: npt.NDArray[np.uint32],
        columns: npt.NDArray[np.uint32],
        values: _Array,
        device: Device | str | None,
    ) -> Matrix: ...
    @property
    def device(self) -> Device: ...
    def parts(self) -> tuple[_Array, _Array, _Array]: ...
    def multiply(self, x: _Array | DeviceArray) -> Any: ...

@final
class Runs:
    def __new__(cls, schedules: list[str], seconds: npt.NDArray[np.float64]) -> Runs: ...
    @staticmethod
    def load(path: str) -> Runs: ...
    def save(self, path: str) -> None: ...
    def state(self) -> tuple[str, list[_Row]]: ...
    @staticmethod
    def of_state(about: str, rows: list[_Row]) -> Runs: ...
    def __len__(self) -> int: ...
    @property
    def program(self) -> str: ...
    @property
    def platform(self) -> str: ...
    @property
    def schedules(self) -> list[str]: ...
    @property
    def seconds(self) -> npt.NDArray[np.float64]: ...

@final
class Model:
    @staticmethod
    def learn(runs: Runs, options: dict[str, Any]) -> Model: ...
    @property
    def classes(self) -> _Indices: ...
    @property
    def ranges(self) -> list[list[float]]: ...
    @property
    def rulesets(self) -> list[tuple[int, list[str], int, int]]: ...
    @property
    def without_rules(self) -> str | None: ...
    def classify(self, schedules: list[str]) -> _Indices: ...
    def page(self) -> str: ...

@final
class Dag:
    def __new__(cls, name: str, operations: Sequence[tuple[str, str]], edges: list[tuple[str, str]]) -> Dag: ...
    @property
    def name(self) -> str: ...
    @property
    def operations(self) -> list[tuple[str, Literal["cpu", "gpu"]]]: ...
    @property
    def edges(self) -> list[tuple[str, str]]: ...
    def count(self, streams: int, space: str) -> int: ...
    def draw(self, format: str) -> str: ...
    def emit(self, schedule: str, language: str) -> str: ...
    def differences(self, schedule: str, other: str) -> list[str]: ...

@final
class Explorer:
    def __new__(
        cls, dag: Dag, streams: int, strategy: str, exploration: float, seed: int, platform: str, space: str
    ) -> Explorer: ...
    def ask(self) -> str | None: ...
    def tell(self, schedule: str, seconds: float | None) -> None: ...
    @property
    def runs(self) -> Runs: ...
    @property
    def rollouts(self) -> int: ...
    @property
    def is_exhausted(self) -> bool: ...

def check(
    program: Dag | str, schedules: list[str], runs: Runs | None, path: str, streams: int
) -> tuple[str, list[int], list[tuple[str, str]] | None, int]: ...
def study_runs(
    runs: Runs,
    judge: Runs | None,
    names: Sequence[str],
    iterations: list[int],
    seeds: int,
    searches: list[str],
    options: dict[str, Any],
    progress: Callable[[int, int], object] | None,
) -> str: ...
def study(
    streams: list[int] | None,
    batch: list[int] | None,
    fixed: list[int] | None,
    poses: int | None,
    iterations: int | None,
    runs: int | None,
    seed: int | None,
    device: Device | str | None,
    progress: Callable[[int, int], object] | None,
) -> str: ...
