//! Files that other programs wrote.

use std::{fs, path::Path};

use flate2::{Compression, write::GzEncoder};
use ndarray::{arr1, arr2, arr3};
use ndarray_npy::{NpzWriter, write_npy};
use warpsmith::{
    io::TableOptions,
    pcf::{
        PcfSet, Window,
        barcode::{Bar, Barcode},
        io::{self, BarcodeOptions, Infinite, LoadOptions, PcfData, load_barcodes, load_with},
    },
};

use crate::folder::Folder;

fn table(columns: &[(&str, &str)]) -> TableOptions {
    let columns = columns.iter().map(|&(role, column)| (role.to_owned(), column.to_owned())).collect();
    TableOptions { columns, ..TableOptions::default() }
}

fn loaded(path: &Path, table: TableOptions, window: Window) -> Result<PcfSet<f64>, String> {
    match load_with(path, &LoadOptions { table, window }) {
        Ok(PcfData::F64(set)) => Ok(set),
        Ok(PcfData::F32(_)) => panic!("text is f64"),
        Err(error) => Err(error.to_string()),
    }
}

/// Times and values of each function.
fn functions(set: &PcfSet<f64>) -> Vec<Vec<(f64, f64)>> {
    set.iter().map(|f| f.points().iter().map(|point| (point.t, point.v)).collect()).collect()
}

fn names(set: &PcfSet<f64>) -> Vec<&str> {
    set.names().map_or_else(Vec::new, |names| names.iter().map(String::as_str).collect())
}

#[test]
fn series_in_any_order() {
    let folder = Folder::of("pcf");
    let text = "time,reading,sensor\n2,5.5,north\n0,1,north\n1,2,7\n0,-3,7\n1,4,north\n";
    let path = folder.path("series.csv");
    let expected = vec![vec![(0.0, 1.0), (1.0, 4.0), (2.0, 5.5)], vec![(0.0, -3.0), (1.0, 2.0)]];
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    std::io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
    for bytes in [text.as_bytes().to_vec(), gzip.finish().unwrap(), text.replace(',', ";").into_bytes()] {
        fs::write(&path, bytes).unwrap();
        let set = loaded(&path, TableOptions::default(), Window::default()).unwrap();
        assert_eq!((functions(&set), names(&set)), (expected.clone(), vec!["north", "7"]));
    }
    // Names go with the set through files, types and selections.
    let set = loaded(&path, TableOptions::default(), Window::default()).unwrap();
    for name in ["a.npz", "a.csv"] {
        io::save(&set, &folder.path(name)).unwrap();
        assert_eq!(io::load_as::<f64>(&folder.path(name)).unwrap(), set, "{name}");
    }
    assert_eq!(set.cast::<f32>().unwrap().names(), set.names());
    assert_eq!(names(&set.take(&[1, 1]).unwrap()), ["7", "7"]);
    assert!(set.clone().with_names(Some(vec!["one".to_owned()].into())).is_err());
    // Without a header, columns have numbers.
    folder.write("plain.csv", "a,5,0\nb,6,0\n");
    let set = loaded(&folder.path("plain.csv"), table(&[("id", "1"), ("t", "3"), ("v", "2")]), Window::default()).unwrap();
    assert_eq!(functions(&set), [[(0.0, 5.0)], [(0.0, 6.0)]]);
    // Whole numbers may tell functions apart, if times go back where they change.
    for (times, merges) in [([0, 2, 1, 3], true), ([0, 1, 1, 2], true), ([0, 1, 2, 3], false)] {
        let rows: String = times.iter().zip([7, 7, 8, 8]).map(|(t, station)| format!("{station},{t},1.5\n")).collect();
        folder.write("numbers.csv", &format!("station,t,v\n{rows}"));
        let read = |options| loaded(&folder.path("numbers.csv"), options, Window { align: true, ..Window::default() });
        let error = read(TableOptions::default()).err().unwrap_or_default();
        let sentence = "line 4: column `station` has `8` after `7` where the time goes back or stays, and no column tells what a \
                        row belongs to: choose one (--columns id=NAME) or none (--columns id=)";
        assert_eq!(error.contains(sentence), merges, "{error}");
        assert_eq!(read(table(&[("id", "station")])).unwrap().len(), 2);
    }
    folder.bad("convert a.npz --columns id=x --output b.npz", "a.npz: --columns is for tables, but this is a file of NumPy");
    // One function, whose numbers of functions are its own.
    folder.write("one.csv", "0,5\n1,6\n");
    let set = loaded(&folder.path("one.csv"), TableOptions::default(), Window::default()).unwrap();
    assert_eq!((functions(&set), set.names()), (vec![vec![(0.0, 5.0), (1.0, 6.0)]], None));
}

#[test]
fn windows() {
    let folder = Folder::of("pcf");
    folder.write("a.csv", "id,t,v\na,10,1\na,12,2\na,20,3\nb,11,4\nc,30,5\nd,0,6\n");
    let of = |window| loaded(&folder.path("a.csv"), TableOptions::default(), window);
    let from_until = |from, until| Window { from, until, ..Window::default() };
    // Zero before the first breakpoint, and from the end on.
    let cut = of(from_until(Some(11.0), Some(20.0))).unwrap();
    let expected: [&[(f64, f64)]; 4] =
        [&[(0.0, 1.0), (1.0, 2.0), (9.0, 0.0)], &[(0.0, 4.0), (9.0, 0.0)], &[(0.0, 0.0), (9.0, 0.0)], &[(0.0, 6.0), (9.0, 0.0)]];
    assert_eq!(functions(&cut), expected);
    assert_eq!(names(&cut), ["a", "b", "c", "d"]);
    let open = of(from_until(Some(-1.0), None)).unwrap();
    assert_eq!(functions(&open)[0], [(0.0, 0.0), (11.0, 1.0), (13.0, 2.0), (21.0, 3.0)]);
    let aligned = of(Window { align: true, until: Some(5.0), ..Window::default() }).unwrap();
    assert_eq!(functions(&aligned)[..2], [vec![(0.0, 1.0), (2.0, 2.0), (5.0, 0.0)], vec![(0.0, 4.0), (5.0, 0.0)]]);
    let sampled = of(Window { from: Some(10.0), until: Some(14.0), step: Some(1.5), ..Window::default() }).unwrap();
    assert_eq!(functions(&sampled)[0], [(0.0, 1.0), (1.5, 1.0), (3.0, 2.0), (4.0, 0.0)]);
    assert!(sampled.lengths().all(|length| length == 4));
    for (window, sentence) in [
        (from_until(Some(3.0), Some(3.0)), "the window ends at t = 3, but it starts at t = 3"),
        (from_until(Some(f64::NAN), None), "the window from NaN until inf is none of finite times"),
        (Window { step: Some(0.0), ..Window::default() }, "the step is 0, but it must be above 0"),
        (Window { from: Some(0.0), step: Some(1e-9), ..Window::default() }, "steps of 1e-9 are too many"),
        (Window::default(), "line 2: function 0, breakpoint 0: t = 10, but the first breakpoint must be at t = 0"),
    ] {
        let error = of(window).unwrap_err();
        assert!(error.contains(sentence), "{error}");
    }
    // A set that starts at 0 is cut alike.
    let set = loaded(&folder.path("a.csv"), TableOptions::default(), from_until(Some(0.0), None)).unwrap();
    assert_eq!(functions(&set.restrict(11.0, 20.0).unwrap()), expected);
    // Functions in arrays may start later, too, if they are cut or shifted.
    let late: Vec<_> = [[[10.0f64, 1.0], [12.0, 2.0]], [[11.0, 4.0], [11.5, 5.0]]].into();
    for name in ["late.npy", "late.npz"] {
        let path = folder.path(name);
        if name.ends_with("npy") {
            ndarray_npy::write_npy(&path, &ndarray::arr3(&late)).unwrap();
        } else {
            let mut archive = ndarray_npy::NpzWriter::new(fs::File::create(&path).unwrap());
            archive.add_array("offsets", &ndarray::arr1(&[0i64, 2, 4])).unwrap();
            archive.add_array("points", &ndarray::arr2(late.as_flattened())).unwrap();
            archive.finish().unwrap();
        }
        let of = |window| loaded(&path, TableOptions::default(), window);
        let aligned = of(Window { align: true, ..Window::default() }).unwrap();
        assert_eq!(functions(&aligned), [vec![(0.0, 1.0), (2.0, 2.0)], vec![(0.0, 4.0), (0.5, 5.0)]]);
        let cut = of(from_until(Some(11.0), Some(12.0))).unwrap();
        assert_eq!(functions(&cut), [vec![(0.0, 1.0), (1.0, 0.0)], vec![(0.0, 4.0), (0.5, 5.0), (1.0, 0.0)]]);
        let error = of(from_until(None, Some(12.0))).unwrap_err();
        assert!(error.contains("t = 10, but the first breakpoint must be at t = 0"), "{error}");
    }
    ndarray_npy::write_npy(folder.path("back.npy"), &ndarray::arr3(&[[[10.0, 1.0], [9.0, 2.0]]])).unwrap();
    let error = loaded(&folder.path("back.npy"), TableOptions::default(), from_until(Some(1.0), None)).unwrap_err();
    assert!(error.contains("function 0, breakpoint 1: t = 9"), "{error}");
    folder.write("twice.csv", "id,t,v\na,1,1\na,1,2\n");
    let error = loaded(&folder.path("twice.csv"), TableOptions::default(), from_until(Some(0.0), None)).unwrap_err();
    assert!(error.contains("line 3: function 0, breakpoint 1: t = 1 repeats"), "{error}");
}

#[test]
fn times_of_calendars() {
    let folder = Folder::of("pcf");
    folder.write("a.csv", "id,when,v\na,2024-05-01T00:00:30Z,2\na,2024-05-01,1\nb,2024-05-01T02:00:10.5+02:00,3\n");
    let from = io::time("2024-05-01T00:00:10Z");
    let set = loaded(&folder.path("a.csv"), table(&[("t", "when")]), Window { from, ..Window::default() }).unwrap();
    assert_eq!(functions(&set), [vec![(0.0, 1.0), (20.0, 2.0)], vec![(0.0, 0.0), (0.5, 3.0)]]);
    let numbers = folder.path("n.csv");
    folder.write("n.csv", "t,v\n0,1\n5,2\n");
    let window = Window { from, of_calendar: Some(true), ..Window::default() };
    let error = "the times are numbers, but those of the window are of a calendar";
    assert!(loaded(&numbers, TableOptions::default(), window).unwrap_err().contains(error));
    let window = Window { until: Some(60.0), of_calendar: Some(false), ..Window::default() };
    let error = "the times are of a calendar, but those of the window are numbers";
    assert!(loaded(&folder.path("a.csv"), table(&[("t", "when")]), window).unwrap_err().contains(error));
    assert!(loaded(&numbers, TableOptions::default(), window).is_ok());
    folder.bad("pdist a.csv --columns t=when --from 0 --until 60 -o d.npy", &format!("a.csv: {error}"));
    folder.bad(
        "pdist a.csv --columns t=when --from 2024-05-01 --until 60 -o d.npy",
        "error: --from and --until must both be numbers, or both be times of a calendar",
    );
    assert!(folder.good("convert a.csv --columns t=when --align --until 60 -o a.npz").contains("2 functions"));
    for (text, error) in [
        ("t,v\n2024-05-01,1\n5,2\n", "line 3: column `t`: `5` is not a time of a calendar, unlike earlier ones"),
        ("t,v\n5,2\n2024-05-01,1\n", "line 3: column `t`: `2024-05-01` is not a number, unlike earlier times"),
    ] {
        folder.write("mixed.csv", text);
        let found = loaded(&folder.path("mixed.csv"), TableOptions::default(), Window { from, ..Window::default() }).unwrap_err();
        assert!(found.contains(error), "{found}");
    }
}

/// Samples at the times of the breakpoints, which have no exact numbers, have these values.
#[test]
fn series_on_their_own_grid() {
    let folder = Folder::of("pcf");
    let rows = |time: &dyn Fn(u32) -> String| (0..100).map(|k| format!("{},{k}\n", time(k))).collect::<String>();
    for (period, decimals) in [(300, 1), (100, 3), (250, 2), (10, 2), (1, 3), (7, 3)] {
        let number = |k: u32| format!("{:.decimals$}", f64::from(k * period) / 1e3);
        let date =
            |k: u32| format!("2024-05-01T12:{:02}:{:02}.{:03}Z", k * period / 60_000, k * period / 1000 % 60, k * period % 1000);
        let later = |k: u32| format!("{:.3}", f64::from(k * period) / 1e3 + 1e6);
        let step = Some(f64::from(period) / 1e3);
        let from = io::time("2024-05-01T12:00Z");
        for (text, window) in [
            (rows(&number), Window { step, ..Window::default() }),
            (rows(&date), Window { from, step, of_calendar: Some(true), ..Window::default() }),
            (rows(&date), Window { step, align: true, ..Window::default() }),
            (rows(&later), Window { from: Some(1e6), step, ..Window::default() }),
        ] {
            folder.write("grid.csv", &format!("t,v\n{text}"));
            let set = loaded(&folder.path("grid.csv"), TableOptions::default(), window).unwrap();
            let expected: Vec<_> = (0..100u32).map(|k| (f64::from(k * period) / 1e3, f64::from(k))).collect();
            assert_eq!(functions(&set), [expected], "{period} {window:?}");
        }
    }
    // The end of a window needn't be a multiple of the step.
    folder.write("u.csv", "id,t,v\na,0,1\nb,0,0\n");
    for (until, step, times) in
        [(0.9, 0.3, &[0.0, 0.3, 0.6, 0.9][..]), (12.0, 5.0, &[0.0, 5.0, 10.0, 12.0]), (1.0, 3.0, &[0.0, 1.0])]
    {
        let window = Window { until: Some(until), step: Some(step), ..Window::default() };
        let set = loaded(&folder.path("u.csv"), TableOptions::default(), window).unwrap();
        let expected: Vec<_> = times.iter().map(|&t| (t, if t == until { 0.0 } else { 1.0 })).collect();
        assert_eq!(functions(&set)[0], expected);
    }
}

fn bars(path: &Path, dimension: Option<u32>) -> Result<Vec<Barcode>, String> {
    let options = BarcodeOptions { dimension, ..BarcodeOptions::default() };
    load_barcodes(path, options).map(|read| read.barcodes).map_err(|error| error.to_string())
}

/// The same bars as each program writes them, of dimensions 0 and 1.
#[test]
fn barcodes_of_other_programs() {
    let folder = Folder::of("pcf");
    let inf = f64::INFINITY;
    let [zero, one] = [vec![(0.0, 0.25), (0.0, inf)], vec![(0.5, 1.5)]].map(|bars| vec![Barcode::new(bars).unwrap()]);
    let ripser = "value range: [0,2.7]\ndistance matrix with 100 points, using threshold at enclosing radius 1.9\n\
                  persistence intervals in dim 0:\n [0,0.25)\n [0, )\npersistence intervals in dim 1:\n [0.5,1.5):  {[1,2] (0.3)}\n";
    for (name, text) in [
        ("ripser.txt", ripser),
        ("gudhi.pers", "# GUDHI\n0 0 0.25\n0 0 inf\n1 0.5 1.5\n"),
        ("field.pers", "11 0 0 0.25\n11 0 0 inf\n11 1 0.5 1.5\n"),
        ("plain.csv", "0,0,0.25\n0,0,inf\n1,0.5,1.5\n"),
        ("table.csv", "dim,birth,death\n0,0,0.25\n1,0.5,1.5\n0,0,inf\n"),
        ("ripser.json", r#"{"dgms": [[[0, 0.25], [0.0, Infinity]], [[0.5, 1.5]]], "num_edges": 3}"#),
        ("gudhi.json", "[[1, [0.5, 1.5]], [0, [0.0, 0.25]], [0, [0.0, Infinity]]]"),
        ("by_dimension.json", r#"{"H0": [[0, 0.25], [0, null]], "H1": [[0.5, 1.5]]}"#),
    ] {
        folder.write(name, text);
        assert_eq!(bars(&folder.path(name), Some(0)).unwrap(), zero, "{name}");
        assert_eq!(bars(&folder.path(name), Some(1)).unwrap(), one, "{name}");
        let error = bars(&folder.path(name), None).unwrap_err();
        assert!(error.ends_with("has bars of the dimensions 0, 1: choose one (--dimension)"), "{name}: {error}");
    }
    // Giotto-tda: a diagram, and several that are filled up with bars without length.
    let path = folder.path("giotto.npy");
    write_npy(&path, &arr2(&[[0.0, 0.25, 0.0], [0.0, inf, 0.0], [0.5, 1.5, 1.0]])).unwrap();
    assert_eq!(bars(&path, Some(0)).unwrap(), zero);
    let filled = [[[0.0, 0.25, 0.0], [0.0, inf, 0.0], [0.5, 1.5, 1.0]], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [2.0, 3.0, 1.0]]];
    write_npy(&path, &arr3(&filled)).unwrap();
    assert_eq!(bars(&path, Some(0)).unwrap(), [zero[0].clone(), Barcode::default()]);
    assert_eq!(bars(&path, Some(1)).unwrap(), [one[0].clone(), Barcode::new([(2.0, 3.0)]).unwrap()]);
    // An array for each cloud.
    let path = folder.path("clouds.npz");
    let mut npz = NpzWriter::new(fs::File::create(&path).unwrap());
    npz.add_array("left", &arr2(&[[0.0, 0.25], [0.0, inf]])).unwrap();
    npz.add_array("right", &arr2(&[[0.5, 1.5]])).unwrap();
    npz.finish().unwrap();
    let read = load_barcodes(&path, BarcodeOptions::default()).unwrap();
    assert_eq!(read.barcodes, [zero[0].clone(), one[0].clone()]);
    assert_eq!(read.names.unwrap()[..], ["left", "right"]);
}

#[test]
fn several_barcodes() {
    let folder = Folder::of("pcf");
    for (name, text, names) in [
        ("a.csv", "cloud,birth,death\nx,0,1\ny,2,3\nx,4,5\nz,,\n", Some(vec!["x", "y", "z"])),
        ("a.json", "[[[0, 1], [4, 5]], [[2, 3]], []]", None),
        ("b.json", r#"{"x": [[0, 1], [4, 5]], "y": {"dgms": [[[2, 3]]]}, "z": []}"#, Some(vec!["x", "y", "z"])),
    ] {
        folder.write(name, text);
        let read = load_barcodes(&folder.path(name), BarcodeOptions { dimension: None, ..BarcodeOptions::default() }).unwrap();
        let expected = [vec![(0.0, 1.0), (4.0, 5.0)], vec![(2.0, 3.0)], vec![]].map(|bars| Barcode::new(bars).unwrap());
        assert_eq!(read.barcodes, expected, "{name}");
        let found = read.names.map(|names| names.to_vec());
        assert_eq!(found, names.map(|names| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>()), "{name}");
    }
    for (name, text, sentence) in [
        (
            "a.json",
            r#"{"dgms": [[[0, 1], [0, 2]], [[1, 2], [3]]]}"#,
            "dimension 1: bar 1: `[3]` is neither [birth, death] nor [dimension, [birth, death]]",
        ),
        ("a.json", "[[0, [0, 1]], [1, [1]]]", "bar 1: `[1,[1]]` is neither [birth, death] nor [dimension, [birth, death]]"),
        ("a.json", "[[[0, 1], [2]]]", "barcode 0: bar 1: `[2]` is neither [birth, death] nor [dimension, [birth, death]]"),
        ("a.json", r#"{"x": 5}"#, "barcode `x`: bars must be a list of [birth, death]"),
        ("a.json", "[1, 2", "EOF while parsing a list"),
        ("a.json", r#"{"x": [[0, 1]], "x": [[2, 3]]}"#, "the key `x` is there twice at line 1"),
        ("a.json", r#"{"x": {"dgms": [], "dgms": []}}"#, "the key `dgms` is there twice"),
        ("a.txt", "persistence intervals in dim 0:\n [0,1\n", "line 2: a bar is like `[0,1.5)`"),
        ("a.txt", "persistence intervals in dim 0:\n [0,x)\n", "line 2: `[0,x)` is no bar: one is like `[0,1.5)`"),
        ("a.pers", "0 1\n0 1 2 3 4\n", "line 2: there are 5 numbers, but a bar has 2 to 4"),
        ("a.pers", "0 1\n0 1.5 2\n0.5 1 2\n", "line 3: `0.5` is not a dimension"),
        ("a.pers", "0 1\n3 2\n", "line 2: bar 1: death = 2 comes before birth = 3"),
    ] {
        folder.write(name, text);
        let error = bars(&folder.path(name), None).unwrap_err();
        assert!(error.contains(sentence), "{error}");
    }
}

#[test]
fn bars_without_end() {
    let folder = Folder::of("pcf");
    folder.write("a.csv", "birth,death\n0,inf\n1,2\n7,inf\n");
    let of = |infinite| {
        let options = BarcodeOptions { infinite, ..BarcodeOptions::default() };
        load_barcodes(&folder.path("a.csv"), options).unwrap().barcodes[0].bars().to_vec()
    };
    let bar = |birth, death| Bar { birth, death };
    assert_eq!(of(Infinite::Drop), [bar(1.0, 2.0)]);
    assert_eq!(of(Infinite::Cap(5.0)), [bar(0.0, 5.0), bar(1.0, 2.0), bar(7.0, 7.0)]);
    assert_eq!(of(Infinite::Keep).len(), 3);
}

/// A file may have a place for a dimension, and others may have its bars.
#[test]
fn barcodes_without_bars_of_the_dimension() {
    let folder = Folder::of("pcf");
    folder.write("square.txt", "persistence intervals in dim 0:\n [0,1)\npersistence intervals in dim 1:\n [1,1.4)\n");
    folder.write("line.txt", "persistence intervals in dim 0:\n [0,1)\npersistence intervals in dim 1:\n");
    folder.write("line.json", r#"{"dgms": [[[0, 1]], []]}"#);
    folder.write("line.pers", "0 0 1\n");
    folder.write("line.csv", "dimension,birth,death\n0,0,1\n");
    write_npy(folder.path("line.npy"), &arr2(&[[0.0, 1.0, 0.0]])).unwrap();
    write_npy(folder.path("filled.npy"), &arr3(&[[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]])).unwrap();
    for name in ["line.txt", "line.json", "filled.npy"] {
        assert_eq!(bars(&folder.path(name), Some(1)).unwrap(), [Barcode::default()], "{name}");
        assert_eq!(bars(&folder.path(name), None).unwrap()[0].bars().len(), 1, "{name}");
    }
    for name in ["line.pers", "line.csv", "line.npy"] {
        folder.good(&format!("betti {name} square.txt --dimension 1 --output set.npz"));
        let set = io::load_as::<f64>(&folder.path("set.npz")).unwrap();
        assert_eq!(functions(&set), [vec![(0.0, 0.0)], vec![(0.0, 0.0), (1.0, 1.0), (1.4, 0.0)]], "{name}");
        let expected = format!("{name}: has no bars of dimension 1, only of 0");
        folder.bad(&format!("betti {name} line.pers --dimension 1 --output set.npz"), &expected);
    }
}

/// Tables tell functions apart by their names.
#[test]
fn functions_of_one_name() {
    let folder = Folder::of("pcf");
    for place in ["1", "2"] {
        fs::create_dir(folder.path(place)).unwrap();
        folder.write(&format!("{place}/x.csv"), &format!("t,v\n0,{place}\n5,0\n"));
    }
    folder.good("convert 1/x.csv 2/x.csv --output set.csv");
    let set = io::load_as::<f64>(&folder.path("set.csv")).unwrap();
    assert_eq!(names(&set), ["1/x", "2/x"]);
    assert_eq!(functions(&set), [1.0, 2.0].map(|v| vec![(0.0, v), (5.0, 0.0)]));
    let spaces = set.clone().with_names(Some(["a", " b"].map(str::to_owned).into())).unwrap();
    io::save(&spaces, &folder.path("spaces.npz")).unwrap();
    assert_eq!(names(&io::load_as::<f64>(&folder.path("spaces.npz")).unwrap()), ["a", " b"]);
    folder.bad("convert spaces.npz --output out.csv", "out.csv: function 1 has the name ` b`, and this format loses spaces");
    let twice = set.with_names(Some(["a", "a"].map(str::to_owned).into())).unwrap();
    io::save(&twice, &folder.path("twice.npz")).unwrap();
    for command in ["convert twice.npz", "pdist twice.npz --nearest 1", "pdist twice.npz --below 9"] {
        let sentence =
            "out.csv: function 0 and function 1 have the same name, `a`, and this format tells them apart by their names";
        folder.bad(&format!("{command} --output out.csv"), sentence);
    }
    folder.bad("convert 1/x.csv 1/x.csv --output out.csv", "have the same name, `1/x`");
    assert!(!folder.path("out.csv").exists());
}

/// From the files of a detector to groups, and to a table of distances.
#[test]
fn from_files_to_tables() {
    let folder = Folder::of("pcf");
    folder.write("left.txt", "persistence intervals in dim 1:\n [0,1)\n [0,2)\n");
    folder.write("middle.txt", "persistence intervals in dim 1:\n [0,1)\n");
    folder.write("right.txt", "persistence intervals in dim 1:\n [5,9)\n [5,8)\n");
    let said = folder.good("cluster left.txt middle.txt right.txt --curve betti --clusters 2 --output groups.csv");
    assert!(said.contains("Written: groups.csv"), "{said}");
    assert_eq!(fs::read_to_string(folder.path("groups.csv")).unwrap(), "id,cluster\nleft,0\nmiddle,0\nright,1\n");
    folder.good("betti left.txt middle.txt right.txt --output set.npz");
    folder.good("pdist set.npz --output d.csv");
    // |left - middle| is 1 on [0, 2), and right has the area 7.
    let expected = ",left,middle,right\nleft,0.0,2.0,10.0\nmiddle,2.0,0.0,8.0\nright,10.0,8.0,0.0\n";
    assert_eq!(fs::read_to_string(folder.path("d.csv")).unwrap(), expected);
    folder.good("pdist left.txt middle.txt right.txt --curve betti --nearest 1 --output near.csv");
    let expected = "id,nearest,distance\nleft,middle,2.0\nmiddle,left,2.0\nright,middle,8.0\n";
    assert_eq!(fs::read_to_string(folder.path("near.csv")).unwrap(), expected);
    folder.good("pdist set.npz --below 9 --output near.csv");
    let near = fs::read_to_string(folder.path("near.csv")).unwrap();
    assert_eq!(near, "id,other,distance\nleft,middle,2.0\nmiddle,left,2.0\nmiddle,right,8.0\nright,middle,8.0\n");
    folder.good("pdist set.npz --row-sums --output sums.csv");
    assert_eq!(fs::read_to_string(folder.path("sums.csv")).unwrap(), "id,sum\nleft,12.0\nmiddle,10.0\nright,18.0\n");

    folder.write("data.csv", "sensor,when,reading\na,5,1\nb,5,2\nb,7,0\na,8,0\n");
    folder.good("pdist data.csv --columns id=sensor,t=when,v=reading --from 5 --until 10 --output d.csv");
    assert_eq!(fs::read_to_string(folder.path("d.csv")).unwrap(), ",a,b\na,0.0,3.0\nb,3.0,0.0\n");
    folder.good("cluster data.csv --columns t=when,v=reading --until 10 --cut 2.9 --output groups.npz");
    let mut npz = ndarray_npy::NpzReader::new(fs::File::open(folder.path("groups.npz")).unwrap()).unwrap();
    assert_eq!(npz.by_name::<ndarray::OwnedRepr<i32>, ndarray::Ix1>("labels").unwrap(), arr1(&[0, 1]));
    let linkage = npz.by_name::<ndarray::OwnedRepr<f64>, ndarray::Ix2>("linkage").unwrap();
    assert_eq!(linkage, arr2(&[[0.0, 1.0, 3.0, 2.0]]));
    folder.write("bars.csv", "birth,death\n0,1\n");
    folder.write("stations.csv", "station,t,v\na,0,1\nb,1,2\n");
    folder.write("times.csv", "time,timestamp,value\n0,1714564800,1\n");
    folder.write("key.csv", "id,sensor,t,v\n1,a,0,1\n");
    folder.write("patients.csv", "patient,birth,death\np,0,1\nq,0,2\n");
    for (command, sentence) in [
        (
            "pdist times.csv --output d.csv",
            "times.csv: line 1: both `time` and `timestamp` may be the column `t`: choose one (--columns t=NAME)",
        ),
        ("pdist key.csv --output d.csv", "both `id` and `sensor` may be the column `id`: choose one (--columns id=NAME)"),
        (
            "pdist data.csv --columns t=when,v=x --output d.csv",
            "data.csv: line 1: there is no column `x`: they are `sensor`, `when`, `reading`",
        ),
        (
            "pdist data.csv --output d.csv",
            "there is no column `t`, only `sensor`, `when`, `reading`: choose one (--columns t=NAME)",
        ),
        (
            "pdist stations.csv --output d.csv",
            "stations.csv: line 3: column `station` has `b` after `a`, and no column tells what a row belongs to: choose one \
             (--columns id=NAME) or none (--columns id=)",
        ),
        (
            "pdist patients.csv --curve betti --output d.csv",
            "patients.csv: line 3: column `patient` has `q` after `p`, and no column tells what a row belongs to: choose one \
             (--columns barcode=NAME) or none (--columns barcode=)",
        ),
        ("cluster set.npz --clusters 4 --output g.csv", "--clusters 4: there are 3 functions"),
        ("cluster left.txt --curve betti --clusters 2 --output g.csv", "--clusters 2: there is 1 function\n"),
        ("cluster set.npz --output g.csv", "<--clusters <K>|--cut <D>>"),
        ("cluster set.npz --clusters 2 --cut 1 --output g.csv", "cannot be used with"),
        (
            "cluster data.csv --columns t=when,v=reading --align --clusters 1 --output g.txt",
            "g.txt: the name must end in .csv or .npz",
        ),
        ("pdist set.npz --output d.txt", "d.txt: the name must end in .npy or, for a table, in .csv"),
        ("pdist set.npz --resume --output d.csv", "--resume is for matrices in .npy files"),
        ("convert data.csv --columns t --output s.npz", "write t=NAME"),
        ("pdist bars.csv --output d.npy", "`death`: choose one (--columns t=NAME); barcodes become functions by --curve"),
        ("pdist left.txt --dimension 1 --output d.npy", "choose the function to make of them (--curve)"),
        ("convert data.csv --from noon --output s.npz", "write a number, or a time as 2024-05-01T12:00Z"),
        ("convert data.csv --columns v=a,v=b --output s.npz", "can't have several columns `v`"),
        (
            "convert data.csv --align --until 2024-05-02 --output s.npz",
            "shifted functions start at 0: the window has to be one of numbers",
        ),
        ("convert data.csv --repair --align --from 2024-05-01 --output s.npz", "shifted functions start at 0"),
        ("cluster set.npz --cut nan --output g.csv", "it must be a number from 0 on"),
        ("cluster set.npz --cut -1 --output g.csv", "it must be a number from 0 on"),
    ] {
        folder.bad(command, sentence);
    }
    folder.write("ends.csv", "id,t,v\na,0,1\nb,0,2\n");
    folder.bad("cluster ends.csv --clusters 1 --output g.csv", "the distance of functions a and b is infinite");
}
