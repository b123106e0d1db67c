//! Files of clouds and of bars, and the command.

use std::{fs, path::Path};

use assert_cmd::cargo::cargo_bin_cmd;
use ndarray::{Array2, arr2};
use ndarray_npy::NpzWriter;
use warpsmith::pcf::{
    barcode::Bar,
    io::{BarcodeOptions, load_barcodes},
};

use crate::reference;

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn run(folder: &Path, arguments: &[&str]) -> assert_cmd::assert::Assert {
    cargo_bin_cmd!("warpsmith").current_dir(folder).arg("homology").args(arguments).assert()
}

/// Coordinates of two clouds in the plane: a square, and five points on a line.
const CLOUDS: [&[[f64; 2]]; 2] =
    [&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], &[[0.0, 0.0], [1.0, 0.0], [3.0, 0.0], [6.0, 0.0], [10.0, 0.0]]];

fn expected(cloud: &[[f64; 2]]) -> Vec<Vec<(f64, f64)>> {
    let distance = |a: &[f64; 2], b: &[f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
    let distances: Vec<f64> = cloud.iter().flat_map(|a| cloud.iter().map(move |b| distance(a, b))).collect();
    reference::bars(&distances, cloud.len(), f64::INFINITY, 1)
}

fn ends(bars: &[Bar]) -> Vec<(f64, f64)> {
    let mut ends: Vec<_> = bars.iter().map(|bar| (bar.birth, bar.death)).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    ends
}

#[test]
fn every_format_is_read_back() -> Result {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let rows = |cloud: &[[f64; 2]]| cloud.iter().map(|[x, y]| format!("{x},{y}\n")).collect::<String>();
    fs::write(at("square.csv"), format!("x,y\n{}", rows(CLOUDS[0])))?;
    fs::write(at("line.csv"), rows(CLOUDS[1]))?;
    let both: String = ["cloud,x,y\n".to_owned()]
        .into_iter()
        .chain(
            CLOUDS
                .iter()
                .zip(["square", "line"])
                .flat_map(|(cloud, name)| cloud.iter().map(move |[x, y]| format!("{name},{x},{y}\n"))),
        )
        .collect();
    fs::write(at("both.csv"), both)?;
    for inputs in [&["square.csv", "line.csv"][..], &["both.csv"]] {
        for output in ["bars.npz", "bars.npy", "bars.csv", "bars.json"] {
            run(folder.path(), &[inputs, &["--output", output]].concat()).success();
            for degree in 0..2 {
                let options = BarcodeOptions { dimension: Some(degree), ..BarcodeOptions::default() };
                let read = load_barcodes(&at(output), options)?;
                assert_eq!(read.barcodes.len(), 2, "{output}");
                for (barcode, cloud) in read.barcodes.iter().zip(CLOUDS) {
                    assert_eq!(ends(barcode.bars()), expected(cloud)[degree as usize], "{output}, degree {degree}");
                }
                if output != "bars.npy" {
                    assert_eq!(read.names.as_deref(), Some(&["square".to_owned(), "line".to_owned()][..]), "{output}");
                }
            }
        }
    }
    for output in ["one.txt", "one.pers", "one.json"] {
        run(folder.path(), &["square.csv", "--output", output]).success();
        let options = BarcodeOptions { dimension: Some(1), ..BarcodeOptions::default() };
        assert_eq!(ends(load_barcodes(&at(output), options)?.barcodes[0].bars()), expected(CLOUDS[0])[1], "{output}");
    }
    // Tables as of NumPy's savetxt, and of pandas.
    for (name, text) in [("blanks.txt", "0 0\n0  3\n 4 0\n"), ("index.csv", ",x,y\n5,0,0\n6,0,3\n7,4,0\n")] {
        fs::write(at(name), text)?;
        run(folder.path(), &[name, "--output", "one.csv"]).success();
        assert_eq!(ends(load_barcodes(&at("one.csv"), BarcodeOptions::default())?.barcodes[0].bars())[1], (0.0, 4.0), "{name}");
    }
    fs::write(at("named.csv"), ",a,b\na,0,2\nb,2,0\n")?;
    run(folder.path(), &["named.csv", "--distances", "--output", "one.csv"]).success();
    Ok(())
}

/// Distances of a square's corners, whose side is 1 and diagonal 1.5, as Ripser and other programs read and write them.
#[test]
fn lower_triangles() -> Result {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let square = "1\n1.5,1\n1,1.5,1\n";
    let corners = [vec![(0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, f64::INFINITY)], vec![(1.0, 1.5)]];
    for (text, options) in [
        (square.to_owned(), &[][..]),
        // With an empty row of the first point, and separators at the end.
        (format!("\n{}", square.replace('\n', ",\r\n")), &[]),
        (square.replace(',', " "), &[]),
        (square.replace(',', ";"), &[]),
        (square.replace(',', ";").replace('.', ","), &["--decimal-comma"]),
        (square.replace(',', ":"), &["--separator", ":"]),
        (square.replace(',', "  "), &["--separator", " "]),
        ("\"1\",,\n1.5,\"1\",\n1,1.5,1\n".to_owned(), &[]),
        ("0\n1 0\n1.5 1 0\n1 1.5 1 0\n".to_owned(), &[]),
        ("0,1,1.5,1\n1,0,1,1.5\n1.5,1,0,1\n1,1.5,1,0\n".to_owned(), &[]),
    ] {
        fs::write(at("square.lower_distance_matrix"), &text)?;
        let arguments = ["square.lower_distance_matrix", "--distances", "--output", "bars.npz"];
        run(folder.path(), &[&arguments[..], options].concat()).success();
        for (degree, corners) in (0..).zip(&corners) {
            let options = BarcodeOptions { dimension: Some(degree), ..BarcodeOptions::default() };
            assert_eq!(ends(load_barcodes(&at("bars.npz"), options)?.barcodes[0].bars()), *corners, "{text:?}");
        }
    }
    // One point; two points; two that coincide, and a third that is infinitely far from one of them.
    // A single point may have a name, in a column without one.
    for (text, deaths) in [
        ("0", &[f64::INFINITY][..]),
        (",0\n0,0.0\n", &[f64::INFINITY]),
        (",5\n5,0\n", &[f64::INFINITY]),
        ("2", &[2.0, f64::INFINITY]),
        ("0\ninf 2", &[2.0, f64::INFINITY]),
    ] {
        fs::write(at("few.txt"), text)?;
        run(folder.path(), &["few.txt", "--distances", "--output", "bars.npz"]).success();
        let read = load_barcodes(&at("bars.npz"), BarcodeOptions { dimension: Some(0), ..BarcodeOptions::default() })?;
        let found: Vec<_> = ends(read.barcodes[0].bars()).into_iter().map(|(_, death)| death).collect();
        assert_eq!(found, deaths, "{text:?}");
    }
    for (text, error) in [
        ("1\n1.5,1\n1,1.5\n", "line 3: there are 2 distances, but row 3 of a lower triangle has 3"),
        ("1\n2\n", "line 2: there is 1 distance, but row 2 of a lower triangle has 2"),
        ("1\n1.5,x\n", "line 2: `x` is not a distance in f64"),
        ("1\n1.5,nan\n", "line 2: `nan` is not a distance in f64"),
        ("1\n1,5;1\n", "line 2: `1,5` is not a distance in f64"),
        ("1\n1.5,1\n1,,1\n", "line 3: `` is not a distance in f64"),
        ("-1\n", "-1"),
    ] {
        fs::write(at("few.txt"), text)?;
        let found = run(folder.path(), &["few.txt", "--distances"]).failure().code(2).get_output().clone();
        let found = String::from_utf8(found.stderr)?;
        assert!(found.contains("few.txt") && found.contains(error), "{text:?}: {found}");
    }
    Ok(())
}

/// Clouds and degrees are read back without bars, too, and names with spaces are not lost silently.
#[test]
fn nothing_is_read_back_as_well() -> Result {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    for (file, names) in [("clouds.npz", ["a", "b", "c"]), ("spaces.npz", ["a ", "b", "c"])] {
        let mut npz = NpzWriter::new(fs::File::create(at(file))?);
        for (name, points) in names.iter().zip([2, 0, 1]) {
            npz.add_array(*name, &Array2::<f64>::from_shape_fn((points, 2), |(point, _)| point as f64))?;
        }
        npz.finish()?;
    }
    for output in ["bars.npz", "bars.npy", "bars.csv", "bars.json"] {
        run(folder.path(), &["clouds.npz", "--output", output]).success();
        for (degree, counts) in [(0, [2, 0, 1]), (1, [0; 3])] {
            let read = load_barcodes(&at(output), BarcodeOptions { dimension: Some(degree), ..BarcodeOptions::default() })?;
            assert_eq!(read.barcodes.iter().map(|barcode| barcode.bars().len()).collect::<Vec<_>>(), counts, "{output}");
            assert!(output == "bars.npy" || read.names.is_some_and(|names| *names == ["a", "b", "c"]), "{output}");
        }
        let found = run(folder.path(), &["spaces.npz", "--output", output]).get_output().clone();
        let lost = "cloud 0 (spaces.npz) has the name `a `, and this format loses spaces around names: rename it, or write .npz";
        assert_eq!(String::from_utf8(found.stderr)?.contains(lost), output == "bars.csv", "{output}");
    }
    Ok(())
}

#[test]
fn clouds_of_one_name_are_told_apart() -> Result {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    for (place, cloud) in [("1", CLOUDS[0]), ("2", CLOUDS[1])] {
        fs::create_dir(at(place))?;
        fs::write(at(place).join("points.csv"), cloud.iter().map(|[x, y]| format!("{x},{y}\n")).collect::<String>())?;
        let mut npz = NpzWriter::new(fs::File::create(at(place).join("points.npz"))?);
        npz.add_array("a", &arr2(cloud))?;
        npz.finish()?;
    }
    // Results are not compressed.
    run(folder.path(), &["1/points.csv", "--output", "bars.csv.gz"]).failure().code(2);
    assert!(!at("bars.csv.gz").exists());
    for output in ["bars.csv", "bars.json"] {
        run(folder.path(), &["1/points.csv", "2/points.csv", "--output", output]).success();
        let options = BarcodeOptions { dimension: Some(0), ..BarcodeOptions::default() };
        let read = load_barcodes(&at(output), options)?;
        assert_eq!(read.names.as_deref(), Some(&["1/points".to_owned(), "2/points".to_owned()][..]), "{output}");
        for (barcode, cloud) in read.barcodes.iter().zip(CLOUDS) {
            assert_eq!(ends(barcode.bars()), expected(cloud)[0], "{output}");
        }
        fs::remove_file(at(output))?;
        for inputs in [["1/points.npz", "2/points.npz"], ["1/points.csv", "1/points.csv"]] {
            let found = run(folder.path(), &[&inputs[..], &["--output", output]].concat()).failure().code(2);
            let text = String::from_utf8(found.get_output().stderr.clone())?;
            let start = format!("{output}: cloud 0 ({}) and cloud 1 ({}) have the same name, `", inputs[0], inputs[1]);
            assert!(text.contains(&start) && !at(output).exists(), "{text}");
            run(folder.path(), &[&inputs[..], &["--output", "bars.npz"]].concat()).success();
        }
    }
    Ok(())
}

/// The same clouds in tables of several layouts, and clouds whose names have quotes.
#[test]
fn layouts_of_tables() -> Result {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let bars = |table: &str, options: &str| -> Result<_> {
        fs::write(at("points.csv"), table)?;
        let arguments: Vec<_> = ["points.csv", "--output", "bars.csv"].into_iter().chain(options.split_whitespace()).collect();
        run(folder.path(), &arguments).success();
        Ok(fs::read_to_string(at("bars.csv"))?)
    };
    let both = bars("cloud,x,y\na,0,0\na,0,2.5\nb,1,1\n", "")?;
    assert_eq!(both, "barcode,dimension,birth,death\na,0,0,2.5\na,0,0,inf\na,1,,\nb,0,0,inf\n");
    for (table, options) in [
        ("x;y;set\n0;0;a\n0;2,5;a\n1;1;b\n", "--columns cloud=set --decimal-comma"),
        ("0,a,0\n0,a,2.5\n1,b,1\n", "--columns cloud=2"),
        ("0,a,0\n0,a,2.5\n1,b,1\n", "--columns cloud=2 --header no"),
        ("1,2,3\n0,a,0\n0,a,2.5\n1,b,1\n", "--columns cloud=2 --header yes"),
        ("x cloud y\n0  a 0\n0 a   2.5\n 1 b 1\n", ""),
        ("x/cloud/y\n0/a/0\n0/a/2.5\n1/b/1\n", "--separator /"),
        (",cloud,0,1\n0,a,0,0\n1,a,0,2.5\n2,b,1,1\n", ""),
    ] {
        assert_eq!(bars(table, options)?, both, "{table}");
    }
    let alone = bars("0 0\n0 2,5\n", "--decimal-comma")?;
    assert_eq!(bars("3,4O\n0,0\n0,2.5\n", "--header yes")?, alone);
    // Numbers of columns may be a point.
    for (table, options, noted) in [
        ("0,1,2\n5,5,5\n", "", true),
        ("0 1\n5 5\n", "--header no", false),
        ("0,1,2\n5,5,5\n", "--header yes", false),
        ("1,0\n5,5\n", "--columns cloud=", false),
        ("1,0\n5,5\n", "", false),
    ] {
        fs::write(at("points.csv"), table)?;
        let arguments: Vec<_> = ["points.csv", "--json"].into_iter().chain(options.split_whitespace()).collect();
        let found: serde_json::Value = serde_json::from_slice(&run(folder.path(), &arguments).success().get_output().stdout)?;
        let note = "points.csv: the first row, `0,1,2`, is a point (--header yes: it names columns).";
        assert_eq!(found.get("notes"), noted.then(|| serde_json::json!([note])).as_ref(), "{table}");
        assert_eq!(found["points"], if options == "--header yes" { 1 } else { 2 }, "{table}");
    }
    let quoted = bars("cloud,x\n\"\"\"q\"\"\",0\nq,1\n \"q\" ,3\n", "")?;
    assert_eq!(quoted.lines().filter(|line| line.starts_with("\"\"\"q\"\"\"")).count(), 2, "{quoted}");
    assert_eq!(quoted.lines().filter(|line| line.starts_with("q,0,0,")).count(), 2, "{quoted}");
    Ok(())
}

#[test]
fn what_cannot_be_computed_is_said() -> Result {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let mut npz = NpzWriter::new(fs::File::create(at("two.npz"))?);
    npz.add_array("a", &arr2(&[[0.0, 0.0]]))?;
    npz.add_array("b", &arr2(&[[f64::NAN, 1.0]]))?;
    npz.finish()?;
    fs::write(at("vector.csv"), "1\n2\n2\n")?;
    fs::write(at("far.csv"), "0,0\n1e39,0\n-1e308,0\n1e308,0\n")?;
    fs::write(at("points.csv"), "0,0\n1,0\n0,nan\n")?;
    fs::write(at("matrix.csv"), "0,1,2\n1,0,3\n2,4,0\n")?;
    fs::write(at("diagonal.csv"), "0,1\n1,5\n")?;
    fs::write(at("other.csv"), "0,0,0\n1,0,1\n")?;
    fs::write(at("words.csv"), "x,y\n0,zero\n")?;
    fs::write(at("plane.csv"), "0,0\n1,0\n")?;
    fs::write(at("huge.csv"), "0,1e400\n1e400,0\n")?;
    fs::write(at("typo.csv"), "3,4O\n0,0\n")?;
    fs::write(at("twice.csv"), "cloud,cloud,y\na,0,0\n")?;
    fs::write(at("empty.csv"), "")?;
    fs::write(at("uneven.csv"), "cloud,x,y\na,0,1\nb,0,2\na,1,0\n")?;
    fs::write(at("commas.csv"), "1;2\n1,5;2\n")?;
    fs::rename(at("two.npz"), at("archive.csv"))?;
    fs::copy(at("archive.csv"), at("two.npz"))?;
    ndarray_npy::write_npy(at("array.csv"), &arr2(&[[0.0, 1.0]]))?;
    let cases: [(&[&str], &str); 22] = [
        (&["two.npz"], "two.npz: b: cloud 1: coordinate 0 of point 0 is NaN"),
        (&["plane.csv", "points.csv"], "points.csv: line 3: column `2`: `nan` is not a finite number in f64"),
        (&["vector.csv", "--distances"], "vector.csv: line 2: there is 1 distance, but row 2 of a lower triangle has 2"),
        (&["far.csv"], "far.csv: cloud 0: the distance from point 2 to point 3 is too large for float64: scale the points"),
        (&["points.csv", "--dtype", "f32"], "points.csv: line 3: column `2`: `nan` is not a finite number in f64"),
        (&["huge.csv", "--distances"], "huge.csv: line 1: column `2`: `1e400` is not a distance in f64"),
        (
            &["typo.csv"],
            "typo.csv: line 1: `3` is a number, but `4O` is not: if these are names of columns, tell so (--header yes)",
        ),
        (&["twice.csv"], "twice.csv: line 1: 2 columns are called `cloud`"),
        (&["empty.csv"], "empty.csv: is empty, but must be a table"),
        (&["uneven.csv", "--distances"], "uneven.csv: cloud `b` has 1 row of 2 distances, but matrices of distances are square"),
        (&["commas.csv"], "numbers with a comma take --decimal-comma"),
        (&["array.csv"], "array.csv: is an array of NumPy, but must be text"),
        (&["archive.csv"], "archive.csv: is an archive, but must be text"),
        (&["plane.csv", "--columns", "id=1"], "plane.csv: has no use for a column `id`: columns are for cloud"),
        (&["matrix.csv", "--distances"], "matrix.csv: cloud 0: the distance from point 1 to point 2 is 3 and back 4"),
        (&["diagonal.csv", "--distances"], "diagonal.csv: cloud 0: the distance of point 1 from itself is 5"),
        (&["plane.csv", "--distances"], "plane.csv: cloud 0: the distance from point 0 to point 1 is 0 and back 1"),
        (&["plane.csv", "other.csv"], "other.csv: has points with 3 coordinates, but those before have 2"),
        (&["words.csv"], "words.csv: line 2: column `y`: `zero` is not a number"),
        (&["plane.csv", "--threshold", "-1"], "error: the threshold is -1"),
        (&["plane.csv", "--output", "bars.xyz"], "bars.xyz: the name must end in"),
        (&["plane.csv", "plane.csv", "--output", "bars.txt"], "bars.txt: can hold the bars of one cloud, but there are 2"),
    ];
    for (arguments, part) in cases {
        let output = run(folder.path(), arguments).failure().code(2).get_output().clone();
        let text = String::from_utf8(output.stderr)?;
        assert!(text.contains(part), "{arguments:?}: {text}");
    }
    assert!(!at("bars.txt").exists());
    let twice = cargo_bin_cmd!("warpsmith").args(["homology", "-", "-"]).write_stdin("0,0\n1,0\n").assert().code(2);
    let text = String::from_utf8(twice.get_output().stderr.clone())?;
    assert!(text.contains("standard input can be read only once"), "{text}");
    Ok(())
}
