//! Parquet and Arrow files of pyarrow (tests/data/parquet.py), as tables of every system.

use std::{
    fs,
    path::{Path, PathBuf},
};

use assert_cmd::cargo::cargo_bin_cmd;
use warpsmith::{
    graph::{self, EdgeList, Graph, Ids, io::Weights},
    io::{self, TableOptions},
    pcf::{
        PcfSet, Window,
        io::{LoadOptions, PcfData, load_with},
    },
};

fn data(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../tests/data/parquet", name].iter().collect()
}

fn text(path: &Path) -> Result<String, String> {
    io::text(path).map_err(|reason| reason.to_string())
}

fn table(columns: &[(&str, &str)]) -> TableOptions {
    let columns = columns.iter().map(|&(role, column)| (role.to_owned(), column.to_owned())).collect();
    TableOptions { columns, ..TableOptions::default() }
}

#[test]
fn texts() {
    for name in
        ["series", "series_v2", "ids", "nanoseconds", "int96", "edges", "numbered", "nulls", "no_values", "no_rows", "types"]
    {
        let csv = fs::read_to_string(data(&format!("{name}.csv"))).unwrap();
        let found = text(&data(&format!("{name}.parquet"))).map(|text| text.replace('\0', "null"));
        assert_eq!(found, Ok(csv), "{name}");
    }
    let mut csv = "long,int,double,length,prefix,bool\n".to_owned();
    for place in 0..300_i64 {
        let number = if place % 2 == 0 { place.pow(3) } else { -place.pow(3) };
        let bool = if place % 50 == 3 { "\0" } else { ["false", "true"][usize::from(place % 3 == 0)] };
        csv += &format!("{},{number},1.5,{},sensor {},{bool}\n", number << 31, place % 7, place / 10);
    }
    assert_eq!(text(&data("encodings.parquet")), Ok(csv));
    for name in ["file.arrow", "lz4.arrow", "zstd.arrow", "stream.arrows", "words.arrows", "no_batches.arrow", "kinds.arrow"] {
        let csv = fs::read_to_string(data(name).with_extension("csv")).unwrap();
        assert_eq!(text(&data(name)).map(|text| text.replace('\0', "null")), Ok(csv), "{name}");
    }
    let rows = (0..200).map(|place| match place {
        50 => "1,\0\n".to_owned(),
        _ => format!("{},sensor {}\n", place % 7, place / 10),
    });
    let csv = "length,prefix\n".to_owned() + &rows.collect::<String>();
    for version in [1, 2] {
        assert_eq!(text(&data(&format!("deltas_{version}.parquet"))).as_ref(), Ok(&csv));
    }
}

/// Runs the command on these bytes, which it refuses, and returns the error.
fn refused(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x"), bytes).unwrap();
    let output = cargo_bin_cmd!("warpsmith").current_dir(&folder).args(["graph", "components", "x"]).assert().code(2);
    String::from_utf8(output.get_output().stderr.clone()).unwrap()
}

/// A page of texts states the number of lengths, and the decoder allocates memory for this number.
#[test]
fn numbers_of_lengths_are_bounded() {
    for version in [1, 2] {
        let whole = fs::read(data(&format!("deltas_{version}.parquet"))).unwrap();
        // Blocks of 128 values in four parts. The number of values follows.
        let places: Vec<usize> = (0..whole.len()).filter(|&place| whole[place..].starts_with(&[0x80, 0x01, 0x04])).collect();
        // Lengths of the first column; common beginnings and lengths of the second one.
        assert_eq!(places.len(), 3, "{places:?}");
        for (place, name) in places.into_iter().zip(["length", "prefix", "prefix"]) {
            // One more than there are rows, and 2^40.
            for number in [&[0xc9, 0x01][..], &[0x80, 0x80, 0x80, 0x80, 0x80, 0x20]] {
                let mut bytes = whole.clone();
                bytes[place + 3..place + 3 + number.len()].copy_from_slice(number);
                let error = refused(&bytes);
                assert!(error.contains(&format!("x: can't be read: column `{name}`: it is damaged")), "{error}");
            }
        }
    }
}

#[test]
fn damaged_arrow_files_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let mut errors = 0;
    for name in ["file.arrow", "lz4.arrow", "stream.arrows", "words.arrows", "kinds.arrow"] {
        let whole = fs::read(data(name)).unwrap();
        // A part of a stream is one, too, if it ends after a message.
        for end in (4..whole.len()).step_by(7) {
            fs::write(&path, &whole[..end]).unwrap();
            errors += usize::from(text(&path).is_err());
        }
        // Whatever byte is wrong, the result is text or an error.
        for place in (4..whole.len()).step_by(3) {
            let mut bytes = whole.clone();
            bytes[place] ^= [1, 0x80, 0xff][place % 3];
            fs::write(&path, &bytes).unwrap();
            errors += usize::from(text(&path).is_err());
        }
    }
    assert!(errors > 1000, "{errors}");
    let error = refused(&fs::read(data("file.arrow")).unwrap()[..600]);
    assert!(error.contains("x: can't be read: it ends too early"), "{error}");
    let error = refused(b"ARROW1");
    assert!(error.contains("x: can't be read as Arrow: it is damaged"), "{error}");
    let error = refused(b"FEA1");
    assert!(error.contains("x: is a file of Feather version 1, which can't be read"), "{error}");
    // Lengths beyond the file: of metadata, and of decompressed values.
    let error = refused(&[&[0xff; 4][..], &[0xff, 0xff, 0xff, 0x7f]].concat());
    assert!(error.contains("x: can't be read as Arrow: it is damaged"), "{error}");
    let mut bytes = fs::read(data("lz4.arrow")).unwrap();
    // Frames begin with these bytes, after the length of their values.
    let frame = bytes.windows(4).position(|bytes| bytes == [0x04, 0x22, 0x4d, 0x18]).unwrap();
    bytes[frame - 8..frame].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    let error = refused(&bytes);
    assert!(error.contains("x: can't be read: it declares 10995116"), "{error}");
}

/// Rows of a stream count as lines of its text.
#[test]
fn arrow_files_from_pipes() {
    let mut command = cargo_bin_cmd!("warpsmith");
    command.args(["graph", "components", "-"]).write_stdin(fs::read(data("words.arrows")).unwrap());
    let error = String::from_utf8(command.assert().code(2).get_output().stderr.clone()).unwrap();
    assert!(error.contains("line 7: column `from`: null"), "{error}");
    let bytes = fs::read(data("file.arrow")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut command = cargo_bin_cmd!("warpsmith");
    command.current_dir(&folder).args(["pcf", "pdist", "-", "--align", "--until", "9", "--output", "d.csv"]);
    command.write_stdin(bytes).assert().success();
    assert!(fs::read_to_string(folder.path().join("d.csv")).unwrap().contains("süd"));
}

#[test]
fn what_cant_be_read_is_named() {
    let error =
        "can't be read as Parquet: column `t`: it is compressed by Brotli, which can't be read: write it with zstd or snappy";
    assert_eq!(text(&data("brotli.parquet")).unwrap_err(), error);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    let whole = fs::read(data("series.parquet")).unwrap();
    for end in [4, 5, 11, 12, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..end]).unwrap();
        let error = text(&path).unwrap_err();
        assert!(error.starts_with("can't be read as Parquet: "), "{end}: {error}");
    }
    fs::write(&path, [&whole[..whole.len() - 4], b"PARE"].concat()).unwrap();
    assert!(text(&path).unwrap_err().contains("encrypted"));
    // Whatever byte is wrong, the result is text or an error.
    for name in ["series", "encodings", "types"] {
        let whole = fs::read(data(&format!("{name}.parquet"))).unwrap();
        for place in (4..whole.len()).step_by(5) {
            let mut bytes = whole.clone();
            bytes[place] ^= [1, 0x80, 0xff][place % 3];
            fs::write(&path, &bytes).unwrap();
            let _ = text(&path);
        }
    }
}

#[test]
fn functions() {
    let read = |name: &str, table| -> Result<PcfSet<f64>, String> {
        let path = data(name);
        match load_with(&path, &LoadOptions { table, window: Window { align: true, ..Window::default() } }) {
            Ok(PcfData::F64(set)) => Ok(set),
            Ok(PcfData::F32(_)) => panic!("text is f64"),
            Err(error) => Err(error.to_string().replace(&format!("{}: ", path.display()), "")),
        }
    };
    let any = TableOptions::default();
    let names = |name| read(name, any.clone()).unwrap().names().map(|names| names.to_vec()).unwrap_or_default();
    for name in ["file.arrow", "lz4.arrow", "zstd.arrow", "stream.arrows", "no_batches.arrow"] {
        let csv = format!("{}.csv", name.split('.').next().unwrap());
        assert_eq!(read(name, any.clone()), read(&csv, any.clone()), "{name}");
    }
    for name in ["series", "series_v2", "ids", "nanoseconds", "int96", "no_rows"] {
        let found = read(&format!("{name}.parquet"), any.clone());
        assert_eq!(found, read(&format!("{name}.csv"), any.clone()), "{name}");
    }
    let series = read("series.parquet", any.clone()).unwrap();
    assert_eq!(names("series.parquet"), ["north", "süd"]);
    let north: Vec<f64> = series.iter().next().unwrap().points().iter().map(|point| point.v).collect();
    assert_eq!(north, [0, 2, 4, 6, 8, 10, 12].map(|place| f64::from(place) / 8.0 - 0.1));
    assert_eq!(names("ids.parquet"), ["4611686018427387905", "-5"]);
    let columns = table(&[("id", "id"), ("t", "t"), ("v", "v")]);
    assert_eq!(read("nulls.parquet", columns).unwrap_err(), "line 3: column `id`: null is not a name");
    let columns = table(&[("id", "t"), ("t", "t"), ("v", "v")]);
    assert_eq!(read("nulls.parquet", columns).unwrap_err(), "line 4: column `v`: null is not a number");
    let error = "line 1: there is no column `when`: they are `series`, `time`, `value`";
    assert_eq!(read("series.parquet", table(&[("t", "when")])).unwrap_err(), error);
}

#[test]
fn edges() {
    let path = data("edges.parquet");
    let (graph, weights) = graph::io::read_weighted(&path, &table(&[("weight", "km")])).unwrap();
    let list = EdgeList { vertices: 4, edges: vec![[0, 1], [1, 2], [2, 0], [3, 0]], arcs: false };
    assert_eq!(graph, Graph { list, ids: Ids::Names(["a", "b", "c", "d"].map(str::to_owned).into()) });
    assert_eq!(weights, Weights::Integers(vec![1, 2, 3, 4]));
    // A pipe can't be read in any order.
    let bytes = fs::read(path).unwrap();
    let found = cargo_bin_cmd!("warpsmith").args(["graph", "components", "-", "--json"]).write_stdin(bytes).assert().success();
    let found: serde_json::Value = serde_json::from_slice(&found.get_output().stdout).unwrap();
    assert_eq!((&found["vertices"], &found["components"]), (&4.into(), &1.into()), "{found}");
}

/// Columns are named, even by numbers. Their triangle has sides of 3, 4 and 5.
#[test]
fn clouds() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = cargo_bin_cmd!("warpsmith");
    command.current_dir(&folder).arg("homology").arg(data("numbered.parquet"));
    command.args(["--degree", "0", "--output", "bars.csv"]).assert().success();
    let bars = fs::read_to_string(folder.path().join("bars.csv")).unwrap();
    let deaths: Vec<&str> = bars.lines().skip(1).filter_map(|line| line.rsplit(',').next()).collect();
    assert_eq!(deaths, ["3", "4", "inf"]);
}

/// A file whose pages are damaged ends the command with a sentence, not with a panic of the crate.
#[test]
fn damaged_files_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    let mut bytes = fs::read(data("edges.parquet")).unwrap();
    // The pages lie between the first bytes and the metadata.
    bytes[4..40].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let output = cargo_bin_cmd!("warpsmith").args(["graph", "components"]).arg(&path).assert().code(2);
    let error = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(error.contains("x.parquet") && error.contains("column `from`") && !error.contains("panicked"), "{error}");
}
