"""Functions and barcodes of files and of data frames."""

from __future__ import annotations

import datetime
import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from integrals import random_arrays

from warpsmith import overlap, pcf, rules
from warpsmith.pcf import Barcodes, PcfSet

UTC = datetime.timezone.utc
SERIES = """sensor;time;reading
b;2024-05-01T12:00:00Z;1.5
a;2024-05-01T12:00:10Z;2
b;2024-05-01T12:01:00Z;3
a;2024-05-01T12:00:30Z;0
"""
NOON = datetime.datetime(2024, 5, 1, 12, tzinfo=UTC)
# The functions from noon on.
EXPECTED = {"b": [[0, 1.5], [60, 3]], "a": [[0, 0], [10, 2], [30, 0]]}


def same(fs: PcfSet, expected: dict[str, Any]) -> None:
    assert fs.names == tuple(expected)
    for function, points in zip(fs, expected.values()):
        np.testing.assert_array_equal(function.points, points)


@pytest.fixture
def series(tmp_path: Path) -> Path:
    path = tmp_path / "series.csv"
    path.write_text(SERIES)
    return path


@pytest.mark.parametrize(
    "start",
    [
        "2024-05-01T12:00Z",
        "2024-05-01T14:00:00+02:00",
        NOON,
        NOON.replace(tzinfo=None),
        NOON.astimezone(datetime.timezone(datetime.timedelta(hours=-7))),
        np.datetime64("2024-05-01T12"),
        np.datetime64("2024-05-01T12:00:00.000000000"),
        NOON.timestamp(),
        np.int64(NOON.timestamp()),
    ],
)
def test_windows_of_tables(series: Path, start: Any) -> None:
    same(PcfSet.load(series, start=start), EXPECTED)


def test_tables(series: Path) -> None:
    same(PcfSet.load(series, align=True), {"b": [[0, 1.5], [60, 3]], "a": [[0, 2], [20, 0]]})
    until = PcfSet.load(series, start=NOON, until="2024-05-01T12:00:20Z", dtype="float32")
    same(until, {"b": [[0, 1.5], [20, 0]], "a": [[0, 0], [10, 2], [20, 0]]})
    assert until.dtype == np.float32
    # Shifted functions have no calendar.
    frame = {"t": [0, 1], "v": [2, 0]}
    for window in ({"start": NOON}, {"start": "2024-05-01"}, {"until": np.datetime64("2024-05-01T12")}):
        with pytest.raises(ValueError, match=r"with align=True all functions start at 0: it must be a number"):
            PcfSet.load(series, align=True, **window)
        with pytest.raises(ValueError, match=r"with align=True"):
            PcfSet.from_frame(frame, align=True, **window)
        with pytest.raises(ValueError, match=r"but the times of the functions are numbers"):
            PcfSet.from_frame(frame, **window)
    same(PcfSet.load(series, align=True, until=20), {"b": [[0, 1.5], [20, 0]], "a": [[0, 2], [20, 0]]})
    steps: list[Any] = [30, np.timedelta64(30, "s"), datetime.timedelta(seconds=30)]
    for step in steps:
        sampled = PcfSet.load(series, start=NOON, step=step)
        np.testing.assert_array_equal(sampled([0, 30, 60]), [[1.5, 1.5, 3], [0, 0, 0]])
    # A date is a day's first second.
    whole = pcf.load(series, start=datetime.date(2024, 5, 1), until=np.datetime64("2024-05-02"))
    np.testing.assert_array_equal(whole(12 * 3600 + 15), [1.5, 2])
    table = "1|x|0|7\n1|y|0|8\n"
    (series.parent / "bars").write_bytes(gzip.compress(table.encode()))
    fs = PcfSet.load(series.parent / "bars", columns={"id": 2, "t": "3", "v": 4}, header=False, separator="|")
    same(fs, {"x": [[0, 7]], "y": [[0, 8]]})


def test_tables_of_spreadsheets(tmp_path: Path) -> None:
    text = "id;t;v\nä;0;1,5\nä;0,5;-2,25\n"
    path = tmp_path / "set.csv"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"):
        mark = "\ufeff" if encoding[-3:] in ("-le", "-be") else ""
        path.write_bytes((mark + text).encode(encoding))
        same(PcfSet.load(path, decimal=","), {"ä": [[0, 1.5], [0.5, -2.25]]})
    with pytest.raises(ValueError, match='line 2: column `v`: `1,5` is not a number; numbers with a comma take decimal=","'):
        PcfSet.load(path)
    with pytest.raises(ValueError, match="decimal is ';'"):
        PcfSet.load(path, decimal=";")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a.npz: decimal= is for tables, but this is a file of NumPy"):
        PcfSet.load("a.npz", decimal=",")
    with pytest.raises(ValueError, match="commas both in numbers and between fields"):
        PcfSet.load(path, decimal=",", separator=",")
    path.write_text("birth;death\n0;1,5\n")
    assert pcf.load_barcodes(path, decimal=",")[0].tolist() == [[0, 1.5]]
    path.write_bytes("id;t;v\n".encode("utf-16")[:-1])
    with pytest.raises(OSError, match="the UTF-16 text ends within a character"):
        PcfSet.load(path)


def test_names_are_kept(tmp_path: Path) -> None:
    fs = PcfSet(random_arrays(1, 4), names=["a", "b c", "ä,\nb", ""])
    for name in ("set.npz", "set.csv"):
        fs.save(tmp_path / name)
        again = PcfSet.load(tmp_path / name)
        assert again.names == fs.names and again.equals(fs)
    square = fs.reshape(2, 2)
    square.save(tmp_path / "square.npz")
    assert pcf.load(tmp_path / "square.npz")[1].names == fs[2:].names
    PcfSet(fs.points[:1]).save(tmp_path / "one.npz")
    several = PcfSet.load([tmp_path / "one.npz", tmp_path / "square.npz"])
    assert several.names == ("one", *(f"square/{name}" for name in fs.names or ()))
    assert several[1:].equals(fs)
    assert PcfSet.load((tmp_path / "one.npz",)).shape == ()


def test_repairs_of_files(tmp_path: Path) -> None:
    path = tmp_path / "set.csv"
    path.write_text("id,t,v\na,3,1\na,2,5\nb,0,1\na,3,2\n")
    same(PcfSet.load(path, repair=True), {"a": [[0, 5], [1, 2]], "b": [[0, 1]]})
    with pytest.raises(ValueError, match=r"choose a window \(start=\) or shift functions \(align=True\)"):
        path.write_text("id,t,v\na,3,1\n")
        PcfSet.load(path)


def test_what_can_not_be_loaded(series: Path) -> None:
    calls: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"start": "noon"}, ValueError, "start is 'noon', but it must be a number, or a time as 2024-05-01T12:00Z"),
        ({"until": np.datetime64("NaT")}, ValueError, "until is .*NaT"),
        ({"start": 1j}, TypeError, "start is 1j"),
        ({"step": 0, "start": 0}, ValueError, "the step is 0, but it must be above 0"),
        ({"start": 5, "until": 5}, ValueError, "the window ends at t = 5"),
        ({"columns": ["a"]}, TypeError, "columns is of the type list, but it must be a dictionary"),
        ({"columns": {"x": 1}}, ValueError, "no use for a column `x`: columns are for id, t, v"),
        ({"columns": {"t": "never"}}, ValueError, "no column .*never"),
        ({"separator": ",,"}, ValueError, "separator is ',,', but it must be one ASCII character"),
        ({"separator": ","}, ValueError, r'the column `v` \(columns=\{"v": N\}\)'),
    ]
    for options, error, text in calls:
        with pytest.raises(error, match=text):
            PcfSet.load(series, **options)
    with pytest.raises(ValueError, match="path is an empty sequence"):
        PcfSet.load([])
    with pytest.raises(FileNotFoundError):
        PcfSet.load([series, series.parent / "none.csv"], align=True)


def frames() -> list[Any]:
    rows = [line.split(";") for line in SERIES.splitlines()[1:]]
    columns: dict[str, Any] = dict(zip(("sensor", "time", "reading"), map(list, zip(*rows))))
    columns["reading"] = [float(value) for value in columns["reading"]]
    made: list[Any] = [columns]
    dates = [datetime.datetime.fromisoformat(time.replace("Z", "+00:00")) for time in columns["time"]]
    made.append({**columns, "time": dates})
    try:
        import pandas
    except ImportError:
        return made
    return [
        *made,
        pandas.DataFrame(columns),
        pandas.DataFrame({**columns, "time": pandas.to_datetime(columns["time"])}),
        pandas.DataFrame({**columns, "time": pandas.to_datetime(columns["time"]).tz_localize(None)}),
        pandas.DataFrame(columns).convert_dtypes(),
    ]


@pytest.mark.parametrize("frame", frames())
def test_data_frames(series: Path, frame: Any) -> None:
    columns: dict[str, Any] = {"id": "sensor", "t": "time", "v": "reading"}
    options: list[dict[str, Any]] = [
        {"start": NOON},
        {"start": "2024-05-01T12:00:15Z", "until": "2024-05-01T12:00:45Z"},
        {"align": True},
        {"align": True, "start": 5, "until": 50},
        {"start": NOON, "step": 20},
        {"start": "2024-04-30", "until": "2024-05-02"},
    ]
    for option in options:
        found, expected = PcfSet.from_frame(frame, **columns, **option), PcfSet.load(series, **option)
        assert found.names == expected.names and found.equals(expected), option
    with pytest.raises(ValueError, match="of 'b', t = .*, but the first breakpoint must be at t = 0: choose a window"):
        PcfSet.from_frame(frame, **columns)
    with pytest.raises(KeyError):
        PcfSet.from_frame(frame)
    with pytest.raises(ValueError, match="column 'sensor' has 'a' after 'b', and no column tells"):
        PcfSet.from_frame(frame, t="time", v="reading", start=NOON)


def test_frames_of_numbers(tmp_path: Path) -> None:
    frame = {"t": [0, 2, 1], "v": np.array([1, 0, 5], np.float32)}
    fs = PcfSet.from_frame(frame)
    assert (fs.shape, fs.names, str(fs.dtype)) == ((1,), None, "float32")
    np.testing.assert_array_equal(fs.points, [[0, 1], [1, 5], [2, 0]])
    assert PcfSet.from_frame({"t": [], "v": []}, id=None).shape == (0,)
    np.testing.assert_array_equal(PcfSet.from_frame({"t": [-1, 1], "v": [3, 0]}, start=-2)([0, 1, 3]), [[0, 3, 0]])
    assert PcfSet.from_frame({"t": [0, 0], "v": [1, 2], "n": [7, 3]}, id="n").names == ("7", "3")
    wrong: list[tuple[Any, str]] = [
        ({"t": [0, np.nan], "v": [1, 2]}, r"column 't', row 1 is nan, but it must be finite"),
        ({"t": [0, 0], "v": [1, 2]}, r"^t = 0\.0 repeats; with repair=True the last row of a time counts"),
        ({"t": [2, 3], "v": [1, 2]}, r"^t = 2\.0, but the first breakpoint must be at t = 0"),
        (
            {"t": [0, 2, 1], "v": [1, 2, 3], "day": ["2024-05-01", "2024-05-02", "3"], "who": ["a", "a", "b"]},
            r"^column 'who' has 'b' after 'a', and no column tells what a row belongs to: choose one \(id='who'\), or give",
        ),
        (
            {"t": [0, 2, 1], "v": [1, 2, 3], "n": [7, 8, 9]},
            r"^column 'n' has 9 after 8 where the time goes back or stays, and no column tells what a row belongs to: choose",
        ),
        ({"t": [2, 0, 1], "v": [1, np.nan, 3]}, "column 'v', row 1 is nan, but it must be finite"),
        ({"t": ["0", "soon"], "v": [1, 2]}, "column 't', row 1 is 'soon'"),
        ({"t": [0, 1], "v": [1, 2, 3]}, r"column 'v' has the shape \(3,\), and column 't' \(2,\)"),
        ({"t": [0, 1], "v": [1]}, r"column 'v' has the shape \(1,\)"),
        ({"t": [0, 1], "v": [[1, 2]] * 2}, r"column 'v' has the shape \(2, 2\)"),
    ]
    for table, text in wrong:
        with pytest.raises(ValueError, match=text):
            PcfSet.from_frame(table)
    kept = {"t": [0, 2, 1], "v": [1, 2, 3], "who": list("aaa"), "day": ["2024-05-01", "2024-05-02", "3"], "n": [7, 8, 8]}
    assert PcfSet.from_frame(kept).size == 1
    assert PcfSet.from_frame({"t": [0, 1, 1], "v": [1, 2, 3]}, repair=True).points.tolist() == [[0, 1], [1, 3]]
    # One function's early times don't round another's.
    early = {"id": list("abbb"), "t": [-1e16, 0, 0.1, 0.2], "v": [1, 1, 2, 3]}
    assert PcfSet.from_frame(early, id="id", start=0)[1].points.tolist() == [[0, 1], [0.1, 2], [0.2, 3]]
    with pytest.raises(ValueError, match="column 'n', row 1: '1' has the name of 1"):
        PcfSet.from_frame({"t": [0, 0], "v": [1, 2], "n": np.array([1, "1"], object)}, id="n")
    days = np.array(["2024-05-01", "2024-05-02"], "datetime64[ns]")
    assert PcfSet.from_frame({"t": [0, 0], "v": [1, 2], "n": days}, id="n").names[0].startswith("2024-05-01")  # type: ignore
    assert PcfSet.from_frame({"t": [0], "v": [1], "n": np.array([b"a"])}, id="n").names == ("a",)
    masked = np.ma.masked_array([0.0, 1.0], mask=[False, True])
    with pytest.raises(ValueError, match="masked values"):
        PcfSet.from_frame({"id": np.ma.masked_array(["a", "b"], mask=[False, True]), "t": [0, 0], "v": [1, 2]}, id="id")
    with pytest.raises(ValueError, match="masked values"):
        PcfSet.from_parts(np.ma.masked_array([0, 1], mask=[False, True]), [(0, 1)])
    with pytest.raises(TypeError, match="out is a masked array"):
        pcf.pdist([[(0, 1), (1, 0)], [(0, 0)]], out=np.ma.masked_array([0.0], mask=[True]))
    with pytest.raises(ValueError, match=r"out.csv: the name of an array's file ends in .npy"):
        pcf.pdist([[(0, 1), (1, 0)], [(0, 0)]], out=tmp_path / "out.csv")
    for table in ({"t": [0, 1], "v": masked}, {"t": masked, "v": [0, 1]}):
        with pytest.raises(ValueError, match="masked values"):
            PcfSet.from_frame(table)
    with pytest.raises(ValueError, match=r"column 'n' has the shape \(1,\)"):
        PcfSet.from_frame({"t": [0, 0], "v": [1, 2], "n": [7]}, id="n")
    for name in (None, np.nan):
        with pytest.raises(ValueError, match="column 'n', row 1: a name is missing"):
            PcfSet.from_frame({"t": [0, 0], "v": [1, 2], "n": np.array(["a", name], object)}, id="n")
    with pytest.raises(KeyError, match="there is no column 'v': they are 't', 'value'"):
        PcfSet.from_frame({"t": [0], "value": [1]})
    for given in (5, np.zeros((3, 2))):
        with pytest.raises(TypeError, match="frame is of the type .*, but it must be a data frame"):
            PcfSet.from_frame(given)
    with pytest.raises(TypeError, match="align is 'no', but it must be True or False"):
        PcfSet.from_frame(frame, align="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("period", [1, 7, 10, 100, 250, 300])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_samples_of_series_on_their_own_grid(period: int, unit: Any) -> None:
    noon = np.datetime64("2024-05-01T12:00")
    expected = [[k * period / {"ms": 1e3, "us": 1e6, "ns": 1e9}[unit], k] for k in range(100)]
    step = np.timedelta64(period, unit)
    times = noon + np.arange(100) * step
    for options in ({"start": noon}, {"align": True}, {"start": "2024-05-01T12:00Z"}):
        found = PcfSet.from_frame({"t": times, "v": np.arange(100.0)}, step=step, **options)
        assert found.points.tolist() == expected, options
    # Spans of time, and whole numbers beyond those of a float.
    found = PcfSet.from_frame({"t": times - noon, "v": np.arange(100.0)}, step=step)
    assert found.points.tolist() == expected
    whole = np.arange(100) * 3 + 1714521600000000001
    found = PcfSet.from_frame({"t": whole, "v": np.arange(100.0)}, start=1714521600000000001)
    assert found.points[:, 0].tolist() == [3.0 * k for k in range(100)]


def test_files_of_one_name(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.csv").write_text("t,v\n0,1\n1,0\n")
    paths = [tmp_path / folder / "x.csv" for folder in ("a", "b")]
    assert PcfSet.load(paths).names == tuple(str(path.with_suffix("")) for path in paths)


def test_rows_of_several_functions(tmp_path: Path) -> None:
    path = tmp_path / "stations.csv"
    path.write_text("station,t,v\na,0,1\na,2,0\nb,0.5,5\nb,3,0\n")
    with pytest.raises(ValueError, match="line 4: column `station` has `b` after `a`"):
        PcfSet.load(path)
    assert PcfSet.load(path, columns={"id": "station"}, align=True).names == ("a", "b")
    assert PcfSet.load(path, columns={"id": ""}).shape == (1,)
    options: list[Any] = [{"repair": "raise"}, {"align": "no"}, {"header": "no"}]
    for option in options:
        with pytest.raises(TypeError, match="but it must be True or False"):
            PcfSet.load(path, **option)


RIPSER = "persistence intervals in dim 0:\n [0,1.5)\n [0, )\npersistence intervals in dim 1:\n [1,2)\n"


def test_barcodes(tmp_path: Path) -> None:
    text, pers, giotto, named = (tmp_path / name for name in ("cloud.txt", "torus.pers", "g.npy", "both.npz"))
    text.write_text(RIPSER)
    pers.write_text("0 0 1.5\n0 0 inf\n1 1 2\n")
    rows = np.array([[0, 1.5, 0], [0, np.inf, 0], [1, 2, 1], [0, 0, 0]])
    np.save(giotto, np.stack([rows, rows]))
    np.savez(named, x=rows[:2, :2], y=rows[2:3, :2])
    zero, one = np.array([[0, 1.5], [0, np.inf]]), np.array([[1.0, 2.0]])
    for path in (text, pers):
        for dimension, expected in enumerate((zero, one)):
            barcodes = pcf.load_barcodes(path, dimension)
            assert isinstance(barcodes, Barcodes) and barcodes.shape == (1,) and barcodes.names is None
            np.testing.assert_array_equal(barcodes[0], expected)
    assert len(pcf.load_barcodes(giotto, dimension=1)) == 2
    assert pcf.load_barcodes(named).names == ("x", "y")
    barcodes = pcf.load_barcodes([text, str(giotto), pers], 0)
    assert barcodes.names == ("cloud", "g/0", "g/1", "torus")
    for curve in (pcf.betti_curves, pcf.stable_ranks, pcf.accumulated_persistence):
        made = curve(barcodes)
        assert made.names == barcodes.names and made.equals(curve([zero] * 4))
    part = barcodes[np.array([True, False, False, True])]
    assert part.names == barcodes[[0, 3]].names == barcodes[::3].names == ("cloud", "torus")
    assert [len(bars) for bars in part] == [2, 2] and len(barcodes[-1]) == 2
    assert repr(part) == "Barcodes of shape (2,), 4 bars"
    ends: list[tuple[Any, Any]] = [("drop", zero[:1]), (3, [[0, 1.5], [0, 3]]), ("keep", zero)]
    for infinite, expected in ends:
        np.testing.assert_array_equal(pcf.load_barcodes(text, 0, infinite=infinite)[0], expected)


def test_barcodes_of_tables(tmp_path: Path) -> None:
    path = tmp_path / "bars.csv"
    path.write_text("who,from,to\na,3,1\nb,4,0\na,2,-inf\n")
    columns: dict[str, str | int] = {"barcode": "who", "birth": "from", "death": 3}
    barcodes = pcf.load_barcodes(path, superlevel=True, columns=columns)
    assert barcodes.names == ("a", "b") and barcodes.superlevel
    np.testing.assert_array_equal(barcodes[0], [[3, 1], [2, -np.inf]])
    # The filtration need not be told again.
    np.testing.assert_array_equal(pcf.betti_curves(barcodes)([0, 1, 2, 3.5]), [[1, 2, 1, 0], [1, 1, 1, 1]])
    np.testing.assert_array_equal(pcf.load_barcodes(path, superlevel=True, columns=columns, infinite=0)[0][1], [2, 0])


def test_what_are_no_barcodes(tmp_path: Path) -> None:
    path = tmp_path / "cloud.txt"
    path.write_text(RIPSER)
    calls: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({}, ValueError, r"has bars of the dimensions 0, 1: choose one \(dimension=\)"),
        ({"dimension": 5}, ValueError, "no bars of dimension 5"),
        ({"dimension": -1}, ValueError, "dimension is -1"),
        ({"dimension": 0.5}, TypeError, "dimension is 0.5"),
        ({"dimension": 0, "infinite": "cut"}, ValueError, "infinite is 'cut'"),
        ({"dimension": 0, "infinite": np.inf}, ValueError, "infinite is inf, but the end of bars must be finite"),
        ({"dimension": 0, "superlevel": True}, ValueError, "superlevel"),
    ]
    for options, error, text in calls:
        with pytest.raises(error, match=text):
            pcf.load_barcodes(path, **options)
    with pytest.raises(FileNotFoundError):
        pcf.load_barcodes([path, tmp_path / "none.txt"], 0)
    with pytest.raises(ValueError, match="there are 1 names, but 2 barcodes"):
        Barcodes([[(0, 1)], [(0, 2)]], names=["a"])


def test_parquet() -> None:
    data = Path(__file__).parents[2] / "tests/data/parquet"
    try:
        pcf.PcfSet.load(data / "series.parquet")
    except ValueError as error:
        if "--features parquet" in str(error):
            pytest.skip("built without Parquet")
    for name in ("series", "series_v2", "ids"):
        found, expected = (pcf.PcfSet.load(data / f"{name}.{extension}", align=True) for extension in ("parquet", "csv"))
        assert (found == expected).all() and found.names == expected.names
    for file in ("file.arrow", "lz4.arrow", "stream.arrows"):
        path = data / file
        found, expected = (pcf.PcfSet.load(each, align=True) for each in (path, path.with_suffix(".csv")))
        assert (found == expected).all() and found.names == expected.names
    with pytest.raises(ValueError, match="line 3: column `id`: null is not a name"):
        pcf.PcfSet.load(data / "nulls.parquet")


@pytest.mark.parametrize("load", [pcf.load, pcf.load_barcodes, rules.Runs.load, rules.Model.load, overlap.Shape.load])
def test_folders_are_no_files(load: Any, tmp_path: Path) -> None:
    folder = tmp_path / "folder.json"
    folder.mkdir()
    with pytest.raises(IsADirectoryError if os.name == "posix" else OSError, match="folder.json"):
        load(folder)
