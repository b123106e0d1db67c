"""Writes the folder parquet: tables as pyarrow 26 writes them, each beside the CSV text that it must be read as. The long
text of encodings.parquet is made by its test.

    python3 tests/data/parquet.py FOLDER
"""

import datetime
import decimal
import pathlib
import sys
import uuid

import pyarrow as pa
import pyarrow.parquet as pq

START = datetime.datetime(2024, 2, 28, 23, 59, 58)


def field(value):
    """Text of a field."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case datetime.datetime():
            return value.isoformat().replace("+00:00", "Z")
        case datetime.time():
            microseconds = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
            return f"{microseconds // 1_000_000}.{microseconds % 1_000_000:06}"
        case bytes() if len(value) == 16:
            return str(uuid.UUID(bytes=value))
        case bytes():
            return value.decode()
        case str() if set(value) & set('",\r\n'):
            return '"' + value.replace('"', '""') + '"'
    return str(value)


def write(folder, name, columns, texts=None, **options):
    """Writes a table, and the text of its columns, which `texts` replaces. A column of lists has none."""
    table = pa.table(columns)
    path = folder / f"{name}.parquet"
    pq.write_table(table, path, store_schema=False, write_statistics=False, **options)
    assert path.stat().st_size < 4096, (name, path.stat().st_size)
    texts = texts or {}
    fields = {}
    for column, values in columns.items():
        if column == "point":
            for part in "x", "name":
                fields[f"point.{part}"] = [field(point and point[part]) for point in values.to_pylist()]
        elif column != "numbers":
            fields[column] = texts.get(column) or [field(value) for value in values.to_pylist()]
    lines = [",".join(fields), *(",".join(row) for row in zip(*fields.values()))]
    text = "".join(line + "\n" for line in lines).encode()
    if len(text) < 4096:
        (folder / f"{name}.csv").write_bytes(text)


def series(unit, zone, digits):
    """Two series of seven times each, in turns. Text of the times, too: Python has no nanoseconds."""
    per_second = 10**digits
    start = int(START.replace(tzinfo=datetime.timezone.utc).timestamp())
    steps = [0, 1, 250 * per_second // 1000, 2 * per_second, 90_000 * per_second, 31_622_400 * per_second, 40_000_000 * per_second]
    ticks = [step for step in sorted(steps) for _ in range(2)]
    texts = []
    for tick in ticks:
        seconds, fraction = divmod(tick, per_second)
        whole = datetime.datetime.fromtimestamp(start + seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
        texts.append(whole + (f".{fraction:0{digits}}" if fraction else "") + ("Z" if zone else ""))
    times = pa.array([start * per_second + tick for tick in ticks], pa.int64()).cast(pa.timestamp(unit, zone))
    return times, texts


def main(folder):
    folder.mkdir(exist_ok=True)
    names = ["north", "süd"] * 7
    values = [place / 8 - 0.1 for place in range(14)]

    times, texts = series("us", "UTC", 6)
    columns = {"series": pa.array(names), "time": times, "value": pa.array(values)}
    # Several row groups and pages, and a dictionary of names.
    write(folder, "series", columns, {"time": texts}, compression="snappy", row_group_size=5)
    write(folder, "series_v2", columns, {"time": texts}, compression="zstd", data_page_version="2.0", row_group_size=9)
    times, texts = series("ms", None, 3)
    ids = pa.array([2**62 + 1, -5] * 7, pa.int64())
    write(folder, "ids", {"id": ids, "t": times, "v": pa.array(range(14), pa.int32())}, {"t": texts}, compression="gzip")
    times, texts = series("ns", "UTC", 9)
    single = pa.array(values, pa.float32())
    write(folder, "nanoseconds", {"t": times, "v": single}, {"t": texts}, compression="lz4", use_dictionary=False)
    columns = {"t": times.cast(pa.timestamp("ns")), "v": single}
    texts = [text.removesuffix("Z") for text in texts]
    write(folder, "int96", columns, {"t": texts}, compression="none", use_deprecated_int96_timestamps=True)

    edges = {"from": pa.array(["a", "b", "c", "d"]).dictionary_encode(), "to": pa.array(["b", "c", "a", "a"]), "km": pa.array([1, 2, 3, 4])}
    write(folder, "edges", edges)
    write(folder, "numbered", {"0": pa.array([0.0, 3.0, 0.0]), "1": pa.array([0.0, 0.0, 4.0])})
    nulls = {"id": pa.array(["a", None, "a"]), "t": pa.array([0, 0, 1]), "v": pa.array([1.5, 2.5, None]), "w": pa.array([None, 1, None])}
    write(folder, "nulls", nulls)
    write(folder, "no_values", {"id": pa.array([None] * 3, pa.string()), "t": pa.array([None] * 3, pa.float64())}, data_page_version="2.0")
    write(folder, "no_rows", {"t": pa.array([], pa.float64()), "v": pa.array([], pa.float64())})

    many = [place**3 * (-1) ** place for place in range(300)]
    write(
        folder,
        "encodings",
        {
            "long": pa.array([number * 2**31 for number in many]),
            "int": pa.array(many, pa.int32()),
            "double": pa.array([1.5] * 300),
            "length": pa.array([f"{place % 7}" for place in range(300)]),
            "prefix": pa.array([f"sensor {place // 10}" for place in range(300)]),
            "bool": pa.array([None if place % 50 == 3 else place % 3 == 0 for place in range(300)]),
        },
        use_dictionary=False,
        column_encoding={
            "long": "DELTA_BINARY_PACKED",
            "int": "DELTA_BINARY_PACKED",
            "double": "BYTE_STREAM_SPLIT",
            "length": "DELTA_LENGTH_BYTE_ARRAY",
            "prefix": "DELTA_BYTE_ARRAY",
            "bool": "RLE",
        },
        compression="zstd",
        data_page_version="2.0",
        data_page_size=512,
    )

    some = [decimal.Decimal("-1.05"), decimal.Decimal("0.00"), decimal.Decimal("123456.78")]
    times = [datetime.time(0, 0), datetime.time(1, 2, 3, 4), datetime.time(23, 59, 59)]
    point = pa.array([{"x": 0.5, "name": "p"}, None, {"x": -2.0, "name": None}])
    write(
        folder,
        "types",
        {
            "unsigned": pa.array([0, 2**63, 2**64 - 1], pa.uint64()),
            "small": pa.array([0, 200, None], pa.uint8()),
            "decimal": pa.array(some, pa.decimal128(12, 2)),
            "large": pa.array(some, pa.decimal128(38, 2)),
            "date": pa.array([datetime.date(1900, 3, 1), datetime.date(1970, 1, 1), datetime.date(2400, 2, 29)]),
            "time": pa.array(times, pa.time64("us")),
            "bool": pa.array([True, False, None]),
            "fixed": pa.array([b"abc", b"d\xc3\xa4", b"xyz"], pa.binary(3)),
            "text": pa.array(['a "b"', "c, d\ne", ""]),
            "numbers": pa.array([[1, 2], [], None]),
            "point": point,
            "double": pa.array([1e300, -5e-324, float("inf")]),
            "single": pa.array([0.1, 16777216.0, float("nan")], pa.float32()),
        },
        {"single": [repr(0.10000000149011612), "16777216.0", "NaN"], "double": ["1e300", "-5e-324", "inf"]},
        store_decimal_as_integer=True,
    )
    pq.write_table(pa.table({"t": [0]}), folder / "brotli.parquet", compression="brotli", store_schema=False)


main(pathlib.Path(sys.argv[1]))
