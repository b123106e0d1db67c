"""Writes the folder parquet: tables as pyarrow 26 writes them, each beside the CSV text that it must be read as. The long
text of encodings.parquet and deltas.parquet is made by their tests.

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
    write_text(folder, name, columns, texts or {})


def write_arrow(folder, name, columns, texts=None, *, rows=None, compression=None, stream=False):
    """Writes a table as an Arrow file, or a stream, in batches of so many rows, and its text."""
    table = pa.table(columns)
    options = pa.ipc.IpcWriteOptions(compression=compression, emit_dictionary_deltas=True)
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    path = folder / f"{name}.{'arrows' if stream else 'arrow'}"
    with new(path, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)
    assert path.stat().st_size < 8192, (name, path.stat().st_size)
    write_text(folder, name, columns, texts or {})


def write_text(folder, name, columns, texts):
    fields = {}
    for column, values in columns.items():
        if column in texts:
            fields[column] = texts[column]
        elif column == "point":
            for part in "x", "name":
                fields[f"point.{part}"] = [field(point and point[part]) for point in values.to_pylist()]
        elif column != "numbers":
            fields[column] = [field(value) for value in values.to_pylist()]
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

    # Uncompressed, so that tests change the numbers of values.
    short, nullable = pa.field("length", pa.string(), nullable=False), pa.field("prefix", pa.string())
    texts = [
        pa.array([f"{place % 7}" for place in range(200)]),
        pa.array([None if place == 50 else f"sensor {place // 10}" for place in range(200)]),
    ]
    for version in "1.0", "2.0":
        pq.write_table(
            pa.table(texts, pa.schema([short, nullable])),
            folder / f"deltas_{version[0]}.parquet",
            use_dictionary=False,
            column_encoding={"length": "DELTA_LENGTH_BYTE_ARRAY", "prefix": "DELTA_BYTE_ARRAY"},
            compression="none",
            data_page_version=version,
            store_schema=False,
            write_statistics=False,
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
    arrow(folder, names, values, some, times, point)


def arrow(folder, names, values, some, times, point):
    """Writes Arrow files and streams."""
    for name, unit, zone, digits, options in [
        ("file", "us", "UTC", 6, {"rows": 5}),
        ("lz4", "ms", None, 3, {"compression": "lz4"}),
        ("zstd", "ns", "Europe/Berlin", 9, {"compression": "zstd", "rows": 9}),
        ("stream", "s", "UTC", 0, {"stream": True, "rows": 4}),
    ]:
        stamps, texts = series(unit, zone, digits) if digits else whole_seconds()
        columns = {"series": pa.array(names), "time": stamps, "value": pa.array(values)}
        write_arrow(folder, name, columns, {"time": texts}, **options)
    # Later batches have more words in their dictionary.
    words = pa.chunked_array([pa.array(part).dictionary_encode() for part in (["a", "b"], ["a", "b", "c", None])])
    columns = {"from": words, "to": pa.array(["b", "c", "a", "a", "a", "b"]), "km": pa.array(range(6), pa.int8())}
    write_arrow(folder, "words", columns, {"from": ["a", "b", "a", "b", "c", "null"]}, stream=True)
    write_arrow(folder, "no_batches", {"t": pa.array([], pa.float64()), "v": pa.array([], pa.float64())})
    uuids = [bytes(range(16)), None, bytes(range(16, 32))]
    write_arrow(
        folder,
        "kinds",
        {
            "u8": pa.array([0, 200, None], pa.uint8()),
            "u16": pa.array([0, 2**16 - 1, None], pa.uint16()),
            "u32": pa.array([0, 2**32 - 1, None], pa.uint32()),
            "u64": pa.array([0, 2**63, 2**64 - 1], pa.uint64()),
            "i8": pa.array([-128, 127, None], pa.int8()),
            "i16": pa.array([-(2**15), 2**15 - 1, None], pa.int16()),
            "i32": pa.array([-(2**31), 2**31 - 1, None], pa.int32()),
            "i64": pa.array([-(2**63), 2**63 - 1, None], pa.int64()),
            "decimal": pa.array(some, pa.decimal128(12, 2)),
            "large": pa.array(some, pa.decimal256(60, 2)),
            "narrow": pa.array(some, pa.decimal64(12, 2)),
            "date": pa.array([datetime.date(1900, 3, 1), datetime.date(1970, 1, 1), datetime.date(2400, 2, 29)]),
            "date64": pa.array([datetime.date(1900, 3, 1), datetime.date(1970, 1, 1), None], pa.date64()),
            "time": pa.array(times, pa.time64("us")),
            "elapsed": pa.array([-1500, 0, 90_000], pa.duration("ms")),
            "bool": pa.array([True, False, None]),
            "fixed": pa.array([b"abc", b"d\xc3\xa4", b"xyz"], pa.binary(3)),
            "text": pa.array(['a "b"', "c, d\ne", ""]),
            "long text": pa.array(["p", None, "q"], pa.large_string()),
            "view": pa.array(["short", None, "a text that is longer than twelve bytes"], pa.string_view()),
            "numbers": pa.array([[1, 2], [], None]),
            "point": point,
            "nothing": pa.array([None] * 3, pa.null()),
            "double": pa.array([1e300, -5e-324, float("inf")]),
            "single": pa.array([0.1, 16777216.0, float("nan")], pa.float32()),
            "uuid": pa.array(uuids, pa.uuid()),
        },
        {
            "single": [repr(0.10000000149011612), "16777216.0", "NaN"],
            "double": ["1e300", "-5e-324", "inf"],
            "elapsed": ["-1.500", "0.000", "90.000"],
            "uuid": ["null" if value is None else str(uuid.UUID(bytes=value)) for value in uuids],
        },
        compression="lz4",
    )


def whole_seconds():
    """Two series of seven times each, without fractions."""
    start = int(START.replace(tzinfo=datetime.timezone.utc).timestamp())
    seconds = [start + step for step in range(7) for _ in range(2)]
    texts = [datetime.datetime.fromtimestamp(second, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") for second in seconds]
    return pa.array(seconds, pa.int64()).cast(pa.timestamp("s", "UTC")), texts


main(pathlib.Path(sys.argv[1]))
