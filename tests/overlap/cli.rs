//! The commands of `warpsmith overlap`.

use std::{
    f64::consts::PI,
    fs::{self, File},
};

use ndarray::{Array1, Array3, array};
use ndarray_npy::{WritableElement, read_npy, write_npy};
use serde_json::{Value, json};

use crate::folder::{Folder, has, text};

impl Folder {
    /// With a unit square, from the origin to the right and up, in `square.json`, and three poses
    /// of it in `p.csv`: of the second a half by three quarters overlaps the first, and the third
    /// is far away.
    fn new() -> Self {
        let folder = Folder::of("overlap");
        folder.write("square.json", "{\"outline\": [[0, 0], [1, 0], [1, 1], [0, 1]]}");
        folder.write("p.csv", "x,y,theta\n0,0,0\n0.5,0.25,0\n7,0,0\n");
        folder
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn save<T: WritableElement, D: ndarray::Dimension>(&self, name: &str, array: &ndarray::Array<T, D>) {
        write_npy(self.path(name), array).unwrap();
    }
}

#[track_caller]
fn near(value: &Value, expected: f64, tolerance: f64) {
    let found = value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    assert!((found - expected).abs() <= tolerance, "{found} {expected}");
}

#[test]
fn totals() {
    let folder = Folder::new();
    let result = folder.json("total p.csv --shape square.json");
    let row = json!({"packing": 0, "poses": 3, "overlap": 0.375, "outside": null, "side": null, "score": null});
    assert_eq!((&result["packings"], &result["overlap"]), (&json!([row]), &json!(0.375)));
    for (name, expected) in [
        ("system", json!("overlap")),
        ("command", json!("total")),
        ("input", json!("p.csv")),
        ("against", json!(null)),
        ("shapes", json!(["square"])),
        ("dtype", json!("float64")),
        ("layout", json!("single")),
        ("outside", json!(null)),
        ("score", json!(null)),
        ("check", json!(null)),
        ("output", json!(null)),
    ] {
        assert_eq!(result[name], expected, "{name}");
    }
    let table = folder.good("total p.csv --shape square.json");
    has(&table, &["packing", "overlap (area)", "0.375000000", "1 packing of square in all, 3 poses: overlap 0.375000000; "]);
    assert!(!table.contains("outside"), "{table}");

    // The second sticks out by half its width and a quarter of its height.
    let result = folder.json("total p.csv --shape square.json --boundary 2");
    assert_eq!((&result["outside"], &result["packings"][0]["outside"]), (&json!(1.625), &json!(1.625)));
    let table = folder.good("total p.csv --shape square.json --boundary 2");
    assert!(table.contains("outside (area)") && table.contains("overlap 0.375000000, outside 1.625000000"), "{table}");

    for dtype in ["f32", "f64"] {
        let options = format!("--shape square.json --dtype {dtype} --deterministic");
        near(&folder.json(&format!("total p.csv {options}"))["overlap"], 0.375, 1e-6);
    }
    // In a lattice of unit height each overlaps its own images above and below by none, and the
    // first two those of the other.
    let result = folder.json("total p.csv --shape square.json --lattice 9,0,0,1");
    near(&result["overlap"], 0.5, 1e-14);
    folder.write("q.csv", "x,y,theta\n7.5,0.5,0\n0,0,0\n");
    let result = folder.json("total p.csv --shape square.json --against q.csv");
    near(&result["overlap"], 1.0 + 0.375 + 0.25, 1e-14);
    assert_eq!(result["against"], "q.csv");

    // Two shapes.
    folder.write("s.csv", "x,y,theta,shape\n0,0,0,0\n0,0,0,1\n");
    folder.write("half.wkt", "POLYGON ((0 0, 0 1, 1 0, 0 0))");
    let result = folder.json("total s.csv --shape square.json --shape half.wkt");
    assert_eq!((&result["overlap"], &result["shapes"]), (&json!(0.5), &json!(["square", "half"])));

    // From the standard input, whose content tells the format, and of a compressed drawing.
    let svg = "<svg xmlns='http://www.w3.org/2000/svg'><rect width='1' height='1'/></svg>";
    let dxf = format!("0\nSECTION\n2\nENTITIES\n0\nLWPOLYLINE\n90\n4\n70\n1\n{}0\nENDSEC\n0\nEOF\n", {
        [[0, 0], [1, 0], [1, 1], [0, 1]].map(|[x, y]| format!("10\n{x}\n20\n{y}\n")).concat()
    });
    for content in ["{\"outline\": [[0, 0], [1, 0], [1, 1], [0, 1]]}", "POLYGON ((0 0, 1 0, 1 1, 0 1))", svg, &dxf] {
        folder.write("content", content);
        let output = folder.shell("\"$0\" overlap total p.csv --shape - --json <content");
        let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        near(&result["overlap"], 0.375, 1e-14);
    }
    for script in ["overlap total p.csv --shape -", "nest - --sheet 9x9 -o o.svg"] {
        let output = folder.shell(&format!("\"$0\" {script} </dev/null"));
        assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(2), "error: -: is empty\n"), "{script}");
    }
    folder.write("r.svg", svg);
    folder.shell("gzip -c r.svg >r.svgz; gzip -c p.csv >p.csv.gz");
    near(&folder.json("total p.csv.gz --shape r.svgz")["overlap"], 0.375, 1e-14);
    folder.bad("total p.npy.gz", "p.npy.gz: the name must end in .npy or .csv");
}

#[test]
fn totals_of_many_packings() {
    let folder = Folder::new();
    // Packing i has two squares that are i % 5 quarters apart.
    let poses = Array3::from_shape_fn((300, 2, 3), |(i, j, k)| if (j, k) == (1, 0) { (i % 5) as f64 / 4.0 } else { 0.0 });
    folder.save("e.npy", &poses);
    let overlap = |i: usize| 1.0 - (i % 5) as f64 / 4.0;
    let result = folder.json("total e.npy --shape square.json");
    let rows = result["packings"].as_array().unwrap();
    assert_eq!((rows.len(), &result["layout"], &result["overlap"]), (300, &json!("ensembles"), &json!(150.0)));
    assert!(rows.iter().enumerate().all(|(i, row)| row["packing"] == i && row["overlap"] == overlap(i)));
    let table = folder.good("total e.npy --shape square.json --output t.npy");
    assert!(
        table.contains("... and 100 packings more;") && table.contains("300 packings of square in all, 600 poses"),
        "{table}"
    );
    assert!(table.ends_with("Written: t.npy\n"), "{table}");
    assert_eq!(folder.read::<f64>("t.npy").into_raw_vec_and_offset().0, (0..300).map(overlap).collect::<Vec<_>>());
    folder.good("total e.npy --shape square.json --dtype f32 --boundary 2 --output t.npy");
    let written = folder.read::<f32>("t.npy");
    assert_eq!((written.shape(), written[[2, 0]], written[[2, 1]]), (&[300, 2][..], 0.5, 0.5));
    folder.good("total e.npy --shape square.json --boundary 2 --output t.csv");
    assert!(folder.text("t.csv").starts_with("packing,poses,overlap,outside\n0,2,1.0,0.0\n1,2,0.75,0.25\n"));
}

/// A submission with a packing of each of these sizes. Trees stand in rows of 15, 1.25 apart, and
/// `moved` moves each, given its size and index.
fn submission(sizes: impl IntoIterator<Item = usize>, moved: impl Fn(usize, usize) -> [f64; 2]) -> String {
    let mut text = "id,x,y,deg\n".to_owned();
    for size in sizes {
        for tree in 0..size {
            let [x, y] = moved(size, tree);
            text.push_str(&format!(
                "{size:03}_{tree},s{},s{},s0.0\n",
                1.25 * (tree % 15) as f64 + x,
                1.25 * (tree / 15) as f64 + y
            ));
        }
    }
    text
}

const SMALL_SUBMISSION: &str =
    "id,x,y,deg\n002_1,s0.5,s1,s0\n001_0,s3,s-2,s90.0\n002_0,s0.5,s1.0,s360\n003_0,s0,s0,s0\n003_2,s5,s0,s0\n003_1,s-5,s0,s0\n";

#[test]
fn submissions() {
    let folder = Folder::new();
    // The tree is 0.7 wide and 1 high. Both trees of the packing of two are in one place.
    folder.write("s.csv", SMALL_SUBMISSION);
    let result = folder.json("total s.csv --no-check");
    assert_eq!((&result["layout"], &result["check"]), (&json!("submission"), &json!(null)));
    let rows = result["packings"].as_array().unwrap();
    for (row, (n, overlap, side)) in rows.iter().zip([(1, 0.0, 1.0), (2, 0.245625, 1.0), (3, 0.0, 10.7)]) {
        assert_eq!((&row["packing"], &row["poses"]), (&json!(n), &json!(n)));
        near(&row["overlap"], overlap, 1e-15);
        near(&row["side"], side, 1e-14);
        near(&row["score"], side * side / f64::from(n), 1e-13);
    }
    near(&result["score"], 1.0 + 0.5 + 10.7 * 10.7 / 3.0, 1e-13);
    let table = folder.good("total s.csv --no-check --output t.csv");
    has(&table, &["side (length)", "side^2 / n", "\nScore: 39.66333333"]);
    assert!(folder.text("t.csv").starts_with("packing,poses,overlap,side,score\n1,1,0.0,1.0"), "{}", folder.text("t.csv"));
    let pairs = folder.json("pairs s.csv");
    assert_eq!(pairs["pairs"][0]["packing"], 2);
}

#[test]
fn submissions_are_checked() {
    let folder = Folder::new();
    folder.write("s.csv", SMALL_SUBMISSION);
    let sentence = "s.csv: 1 pair of trees overlaps, in 1 packing (2); 197 packings are missing (4 to 200)";
    let result: Value = serde_json::from_str(&folder.wrong("total s.csv --json", sentence)).unwrap();
    let check = &result["check"];
    assert_eq!(
        (&check["valid"], &check["touching"], &check["outside"], &check["sizes"]),
        (&json!(false), &json!([]), &json!([]), &json!([]))
    );
    assert_eq!(check["missing"].as_array().unwrap().len(), 197);
    let pair = &check["overlaps"][0];
    assert_eq!(
        (check["overlaps"].as_array().unwrap().len(), &pair["packing"], &pair["first"], &pair["second"]),
        (1, &json!(2), &json!(0), &json!(1))
    );
    near(&pair["area"], 0.245625, 1e-15);
    let table = folder.wrong("total s.csv", sentence);
    assert!(table.contains("0.245625000") && table.contains("Score if it were valid: 39.66333333"), "{table}");

    // All 200, and nothing wrong. Trees in a row are 0.55 apart.
    let apart = |_, _| [0.0, 0.0];
    folder.write("all.csv", &submission(1..=200, apart));
    let result = folder.json("total all.csv");
    assert_eq!(
        result["check"],
        json!({"valid": true, "missing": [], "sizes": [], "outside": [], "overlaps": [], "touching": []})
    );
    let table = folder.good("total all.csv");
    assert!(table.contains("Valid by the contest's rules: ") && table.contains("\nScore: "), "{table}");

    // In packings 50 and 60 every tree but the first of a row lies on the one before, 0.1 to the
    // right.
    let shifted = |size: usize, tree: usize| [if [50, 60].contains(&size) { -1.15 * (tree % 15) as f64 } else { 0.0 }, 0.0];
    folder.write("bad.csv", &submission(1..=200, shifted));
    let table = folder.wrong("total bad.csv", " pairs of trees overlap, in 2 packings (50, 60)");
    let is_pair = |line: &&str| line.trim_start().starts_with(['5', '6']) && line.split_whitespace().count() == 5;
    let pairs = |table: &str| table.lines().filter(is_pair).count();
    assert!(table.contains("The worst 10 of "), "{table}");
    assert_eq!(pairs(table.split("The worst 10").nth(1).unwrap()), 10, "{table}");
    let result: Value = serde_json::from_str(&folder.wrong("total bad.csv --json", "")).unwrap();
    let areas: Vec<f64> =
        result["check"]["overlaps"].as_array().unwrap().iter().map(|pair| pair["area"].as_f64().unwrap()).collect();
    // By the evaluator's total, which is computed another way.
    near(&result["overlap"], areas.iter().sum(), 1e-9);
    assert!(areas.is_sorted_by(|a, b| a >= b) && areas.len() > 200, "{areas:?}");
    let table = folder.wrong("total bad.csv --all", "");
    assert_eq!(pairs(table.split("pairs of trees that overlap:").nth(1).unwrap()), areas.len(), "{table}");

    // Out of bounds, and too large.
    folder.write("far.csv", &submission(1..=200, |size, tree| [if (size, tree) == (3, 2) { 999.0 - 2.5 } else { 0.0 }, 0.0]));
    folder.wrong("total far.csv", "far.csv: 1 tree is beyond 100 (packing 3, tree 2: x = 999)");
    folder.write("big.csv", &submission([1, 2, 201], apart));
    folder.wrong("total big.csv", "1 packing has no trees or more than 200 (201); 198 packings are missing (3 to 200)");

    // Other files are checked on demand. Two corners of these trees touch up to rounding.
    folder.write("t.csv", "x,y,theta\n0,0,0\n0.7,0,0\n");
    let result = folder.json("total t.csv --check");
    assert_eq!((&result["check"]["valid"], result["check"]["touching"].as_array().unwrap().len()), (&json!(true), 1));
    assert!(folder.good("total t.csv --check").contains("1 pair of trees touches to within rounding"));
    // A corner that is 1e-9 deep has an area of 1e-18 or so, and the contest refuses it all the
    // same.
    folder.write("t.csv", "x,y,theta\n0,0,0\n0.699999999,0,0\n");
    folder.wrong("total t.csv --check", "t.csv: 1 pair of trees overlaps, in 1 packing (0)");
    folder.write("t.csv", "x,y,theta\n0,0,0\n0.700000000001,0,0\n");
    assert_eq!(folder.json("total t.csv --check")["check"]["touching"], json!([]));
    assert_eq!(folder.json("total t.csv")["check"], json!(null));

    folder.bad("total t.csv --all", "--all is for packings that are checked (--check)");
    folder.bad("total t.csv --check --lattice 1,0,0,1", "cannot be used with");
    folder.bad("total t.csv --check --no-check", "cannot be used with");
}

#[test]
fn pairs() {
    let folder = Folder::new();
    let result = folder.json("pairs p.csv --shape square.json");
    assert_eq!(result["pairs"], json!([{"packing": 0, "first": 0, "second": 1, "area": 0.375}]));
    assert_eq!((&result["count"], &result["area"], &result["above"]), (&json!(1), &json!(0.375), &json!(1e-12)));
    let table = folder.good("pairs p.csv --shape square.json");
    assert!(
        table.contains("0.375000000") && table.ends_with("1 pair that overlaps by more than 1e-12, 0.375000000 in all.\n"),
        "{table}"
    );
    let none = folder.good("pairs p.csv --shape square.json --above 0.4");
    assert_eq!(none, "0 pairs that overlap by more than 4e-1, 0.000000000 in all.\n");

    let line = folder.good("pairs p.csv --shape square.json --output o.csv");
    assert_eq!(line, "Written: o.csv (1 pair that overlaps by more than 1e-12, 0.375000000 in all)\n");
    assert_eq!(folder.text("o.csv"), "packing,first,second,area\n0,0,1,0.375\n");
    let result = folder.json("pairs p.csv --shape square.json --output o.json");
    assert_eq!((&result["output"], &result["pairs"]), (&json!("o.json"), &Value::Null));
    let written: Value = serde_json::from_str(&folder.text("o.json")).unwrap();
    assert_eq!(written, json!([{"packing": 0, "first": 0, "second": 1, "area": 0.375}]));
    folder.good("pairs p.csv --shape square.json --output o.npy --dtype f32");
    assert_eq!(folder.read::<f64>("o.npy"), array![[0.0, 0.0, 1.0, 0.375]].into_dyn());
    folder.good("pairs p.csv --shape square.json --above 1 --output o.npy");
    assert_eq!(folder.read::<f64>("o.npy").shape(), [0, 4]);

    // The second one's image below overlaps the first by a quarter of its height.
    folder.good("pairs p.csv --shape square.json --lattice 9,0,0,1 --output o.csv");
    assert_eq!(folder.text("o.csv"), "packing,first,second,shift_a,shift_b,area\n0,0,1,0,-1,0.125\n0,0,1,0,0,0.375\n");
    let table = folder.good("pairs p.csv --shape square.json --lattice 9,0,0,1");
    assert!(table.contains("1 + (0, -1)"), "{table}");
    folder.write("q.csv", "x,y,theta\n7.5,0.5,0\n0,0,0\n");
    folder.good("pairs p.csv --shape square.json --against q.csv --output o.csv");
    assert_eq!(folder.text("o.csv"), "packing,first,second,area\n0,0,1,1.0\n0,1,1,0.375\n0,2,0,0.25\n");
}

#[test]
fn gradients() {
    let folder = Folder::new();
    // 0.5 by 0.75; moved to the right, the second loses its height; moved up, its width.
    let line = folder.good("gradient p.csv --shape square.json --output g.csv");
    assert!(line.starts_with("Written: g.csv (1 packing, 3 poses, float64; overlap 0.375000000; "), "{line}");
    let written = folder.text("g.csv");
    let lines: Vec<_> = written.lines().collect();
    assert_eq!((lines.len(), lines[0]), (4, "packing,pose,x,y,theta"));
    assert!(lines[1].starts_with("0,0,0.75,0.5,") && lines[2].starts_with("0,1,-0.75,-0.5,"), "{written}");
    assert_eq!(lines[3], "0,2,0.0,0.0,0.0");

    let result = folder.json("gradient p.csv --shape square.json --dtype f32 --output g.npy");
    let gradient = folder.read::<f32>("g.npy");
    assert_eq!((gradient.shape(), gradient[[1, 0]], &result["dtype"]), (&[3, 3][..], -0.75, &json!("float32")));
    near(&result["norm_position"], (2.0f64 * (0.75 * 0.75 + 0.5 * 0.5)).sqrt(), 1e-6);

    // Outside, moving the second to the right costs its height, and the square's side half of it.
    let result = folder.json("gradient p.csv --shape square.json --boundary 2 --output g.npy");
    let gradient = folder.read::<f64>("g.npy");
    near(&json!(gradient[[1, 0]]), -0.75 + 0.75, 1e-14);
    near(&result["outside_by_side"][0], -0.5 * (0.75 + 0.5), 1e-14);
    near(&result["outside"], 1.625, 1e-14);

    let random = |i: usize| ((i as f64 * 0.618).fract(), (i as f64 * 0.414).fract());
    let poses = Array3::from_shape_fn((4, 30, 3), |(i, j, k)| {
        let (a, b) = random(i * 30 + j);
        [3.0 * a, 3.0 * b, 2.0 * PI * (a + b)][k]
    });
    folder.save("e.npy", &poses);
    let mut bytes = vec![];
    for _ in 0..2 {
        folder.good("gradient e.npy --deterministic --output g.npy");
        bytes.push(fs::read(folder.path("g.npy")).unwrap());
    }
    assert_eq!(bytes[0], bytes[1]);
    let gradient = folder.read::<f64>("g.npy");
    assert_eq!(gradient.shape(), [4, 30, 3]);
    // Nothing changes where all poses move together.
    for packing in gradient.outer_iter() {
        for k in 0..2 {
            assert!((0..30).map(|pose| packing[[pose, k]]).sum::<f64>().abs() < 1e-12);
        }
    }
    // Against themselves each pair counts twice, but for poses and themselves, which have no
    // derivative.
    folder.good("gradient e.npy --against e.npy --output h.npy");
    let twice = folder.read::<f64>("h.npy");
    assert_eq!(twice.shape(), [4, 30, 3]);

    folder.write("s.csv", "id,x,y,deg\n001_0,s0,s0,s0\n002_0,s0,s0,s0\n002_1,s0.3,s0,s0\n");
    folder.good("gradient s.csv --output g.csv");
    let written = folder.text("g.csv");
    assert!(written.contains("\n1,0,0.0,0.0,0.0\n2,0,") && written.contains("\n2,1,-"), "{written}");
    folder.bad(
        "gradient s.csv --output i.npy",
        "i.npy: packing 0 has 1 poses and packing 1 has 2: packings of different sizes don't fit into one .npy array",
    );
}

#[test]
fn pictures() {
    let folder = Folder::new();
    let line = folder.good("plot p.csv --output a.svg --shape square.json");
    assert_eq!(line, "Written: a.svg (3 poses, side 8.000000, overlap 0.375000000)\n");
    let svg = folder.text("a.svg");
    assert!(svg.starts_with("<svg width=\"") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains("3 poses, side 8.000000, overlap 0.375000000"));
    // Three squares, and a red rectangle of half by three quarters.
    let polygons: Vec<&str> = svg.lines().filter(|line| line.starts_with("<polygon ")).collect();
    assert_eq!((polygons.len(), polygons.iter().filter(|line| line.contains("#D62728")).count()), (4, 1), "{svg}");
    let corners = |polygon: &str| -> Vec<[f64; 2]> {
        let points = polygon.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
        points
            .split_whitespace()
            .map(|point| point.split_once(',').unwrap())
            .map(|(x, y)| [x.parse().unwrap(), y.parse().unwrap()])
            .collect()
    };
    let extent = |polygon: &str| {
        let corners = corners(polygon);
        [0, 1].map(|axis| {
            let numbers = corners.iter().map(|corner| corner[axis]);
            numbers.clone().fold(f64::NEG_INFINITY, f64::max) - numbers.fold(f64::INFINITY, f64::min)
        })
    };
    let ([width, height], [red_width, red_height]) = (extent(polygons[0]), extent(polygons[3]));
    assert!((width / height - 1.0).abs() < 1e-3, "as many pixels a unit in both directions");
    assert!((red_width / width - 0.5).abs() < 1e-3 && (red_height / height - 0.75).abs() < 1e-3);

    let result = folder.json("plot p.csv --output a.png --shape square.json --boundary 3 --title Squares");
    let expected = json!({
        "system": "overlap", "command": "plot", "input": "p.csv", "packing": 0, "poses": 3, "side": 3.0, "overlap": 0.375,
        "pairs": 1, "output": "a.png",
    });
    assert_eq!(result, expected);
    let mut reader = png::Decoder::new(std::io::BufReader::new(File::open(folder.path("a.png")).unwrap())).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let colours = pixels[..info.buffer_size()].as_chunks::<3>().0;
    let count = |colour: [u8; 3]| colours.iter().filter(|&&found| found == colour).count() as f64;
    // The three squares' area less what is red, but for edges.
    let share = count([214, 39, 40]) / count([168, 194, 162]);
    assert!((share - 0.375 / (3.0 - 2.0 * 0.375)).abs() < 0.02, "{share}");

    folder.write("s.csv", "id,x,y,deg\n001_0,s0,s0,s0\n002_0,s0,s0,s0\n002_1,s0.3,s0,s45\n");
    let result = folder.json("plot s.csv --output b.svg --packing 2");
    assert_eq!((&result["packing"], &result["poses"]), (&json!(2), &json!(2)));
    assert_eq!(folder.json("plot s.csv --output b.svg")["packing"], 1);
    folder.bad("plot s.csv --output c.svg --packing 3", "s.csv: there is no packing of 3 trees");
    folder.bad("plot p.csv --output c.svg --packing 1", "p.csv: there is no packing 1: the only one is 0");
    folder.bad("plot p.csv --output c.jpg", "c.jpg: the name must end in .png or .svg");
    folder.bad("plot p.csv --output p.csv", "p.csv: the name must end in .png or .svg");
    folder.bad("plot p.csv --output no/c.svg", "no/c.svg can't be written: there is no directory no");
    folder.write("none.csv", "x,y,theta\n");
    folder.bad("plot none.csv --output c.svg", "none.csv: packing 0 has no poses");
    folder.save("e.npy", &Array3::<f64>::zeros((3, 2, 3)));
    folder.bad("plot e.npy --output c.svg --packing 3", "e.npy: there is no packing 3: they are 0 to 2");
}

#[test]
fn nothing_to_evaluate() {
    let folder = Folder::new();
    folder.write("none.csv", "x,y,theta\n");
    let result = folder.json("total none.csv --output t.npy");
    assert_eq!((&result["overlap"], &result["packings"][0]["poses"]), (&json!(0.0), &json!(0)));
    assert_eq!(read_npy::<_, Array1<f64>>(folder.path("t.npy")).unwrap().to_vec(), [0.0]);
    folder.good("gradient none.csv --output g.npy");
    assert_eq!(folder.read::<f64>("g.npy").shape(), [0, 3]);
    assert_eq!(folder.json("pairs none.csv")["count"], 0);
    folder.write("none.csv", "id,x,y,deg\n");
    let result = folder.json("total none.csv --no-check");
    assert_eq!((&result["score"], &result["packings"]), (&json!(0.0), &json!([])));
    folder.wrong("total none.csv", "none.csv: 200 packings are missing (1 to 200)");
}

/// A drawing that holds more than the outline that is read.
#[test]
fn drawings_say_what_is_left_out() {
    let folder = Folder::new();
    let square = "<path d='M0 0h1v1h-1z'/>";
    let scale = |unit: &str| format!("lengths are in mm: 1 in the drawing is {unit}");
    let not_read = |element: &str| format!("the {element} is left out: such elements are not read");
    for (root, inner, warnings) in [
        ("", square, vec![]),
        ("width='3mm' height='.3cm' viewBox='0 0 3 3'", square, vec![]),
        (
            "width='30mm' height='6mm' viewBox='0 0 3 3'",
            square,
            vec!["width and height are not those of its view box: the smaller scale is taken".to_owned(), scale("2")],
        ),
        ("width='100mm' viewBox='0 0 100 50'", square, vec![]),
        ("width='1in'", square, vec![scale("0.264583")]),
        ("width='50 mm' viewBox='0,0, 100 100'", square, vec![scale("0.5")]),
        (
            "",
            "<circle id='&#x9b;2J' r='2'/>",
            vec![r"the circle `\u{9b}2J` on line 1 has curves: they become lines outside of it, up to 1.3e-3 away".to_owned()],
        ),
        (
            "",
            "<path d='M0 0h1v1h-1z'/>\n<path d='M0 0L1 1'/><text>5</text>\n<use href='#a'/><defs><text/></defs>\
                <polyline id='b' points='0,0 1,1 1,0'/><path id='c' d='M0 0h1v1z' transform='scale(0)'/>",
            vec![
                not_read("text on line 2"),
                "the use on line 3 is left out: it refers to no element of the drawing".to_owned(),
                "the path `c` on line 3 is left out: it is a point".to_owned(),
                "the path on line 2 is left out: it is not closed".to_owned(),
                "the polyline `b` on line 3 is left out: it is not closed".to_owned(),
            ],
        ),
        (
            "",
            &format!("{square}{}", "<path d='M0 0L1 1'/>".repeat(20)),
            vec!["the path on line 1 is left out: it is not closed".to_owned(); 20],
        ),
        (
            "",
            &format!("{square}{}", "<path d='M0 0L1 1'/>".repeat(22)),
            [
                vec!["the path on line 1 is left out: it is not closed".to_owned(); 20],
                vec!["not closed, and left out: 2 more".to_owned()],
            ]
            .concat(),
        ),
    ] {
        folder.write("d.svg", &format!("<svg xmlns='http://www.w3.org/2000/svg' {root}>{inner}</svg>"));
        let output = folder.run("total p.csv --shape d.svg --json");
        assert!(output.status.success());
        assert!(serde_json::from_slice::<Value>(&output.stdout).is_ok());
        let expected: String = warnings.iter().map(|warning| format!("warning: d.svg: {warning}\n")).collect();
        assert_eq!(crate::folder::text(&output.stderr), expected);
    }
}

#[test]
fn errors_name_what_is_wrong() {
    let folder = Folder::new();
    for command in ["total p.csv", "pairs p.csv", "gradient p.csv --output g.npy"] {
        folder.bad(
            &format!("{command} --shape cube"),
            "`cube` is not a shape: it must be `tree`, a file .json, .geojson, .svg, .dxf or .wkt, `-`, or WKT",
        );
        folder.bad(&format!("{command} --shape no.svg"), "no.svg: can't be read: no such file");
        folder.bad(&format!("{command} --against no.csv"), "no.csv: can't be read: no such file");
        folder.bad(&format!("{command} --lattice 1,0,2,0"), "a lattice of (1, 0) and (2, 0): the vectors are parallel");
        folder.bad(&format!("{command} --lattice 1,0,0"), "not two vectors: they must be four numbers ax,ay,bx,by");
        folder.bad(&format!("{command} --dtype f16"), "invalid value 'f16'");
    }
    folder.bad("total no.npy", "no.npy: can't be read: no such file");
    folder.bad("total p.txt", "p.txt: the name must end in .npy or .csv");
    folder.write("bad.csv", "x,y,theta\n0,0,0\n0,zero,0\n");
    folder.bad("total bad.csv", "bad.csv: line 3: column `y`: `zero` is not a number");
    folder.write("bad.csv", "x,y,theta,shape\n0,0,0,0\n0,0,0,2\n");
    folder.bad("total bad.csv", "bad.csv: line 3: packing 0, pose 1: shape = 2, but the only shape is 0");
    folder.write("shaped.csv", "x,y,theta,shape\n0,0,0,1\n");
    folder.bad(
        "total shaped.csv --against bad.csv --shape tree --shape square.json",
        "bad.csv: line 3: packing 0, pose 1: shape = 2, but the shapes are 0 to 1",
    );
    folder.write("far.csv", "x,y,theta\n0,0,0\n0,1e30,0\n");
    for command in [
        "total far.csv",
        "pairs far.csv",
        "gradient far.csv --output g.npy",
        "plot far.csv --output f.svg",
        "total p.csv --against far.csv",
    ] {
        folder.bad(command, "far.csv: line 3: packing 0, pose 1: y = 1e30 is too large for float64");
    }
    folder.write("far.csv", "packing,x,y,theta\n0,0,0,0\n\n1,0,0,0\n1,-2e9,0,0\n");
    folder.bad("total far.csv --dtype f32", "far.csv: line 5: packing 1, pose 1: x = -2000000000 is too large for float32");
    folder.write("far.csv", "id,x,y,deg\n002_1,s0,s1e19,s0\n002_0,s0,s0,s0\n");
    folder.bad("plot far.csv --output f.svg", "far.csv: line 2: packing 0, pose 1: y = 1e19 is too large");
    folder.save("far.npy", &array![[0.0, 0.0, 0.0], [-1e20, 0.0, 0.0]]);
    folder.bad("total far.npy", "far.npy: packing 0, pose 1: x = -1e20 is too large");
    folder.write("bow.wkt", "POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))");
    folder.bad("total p.csv --shape bow.wkt", "bow.wkt: shape bow: edges 0 and 2 cross or touch");
    folder.write("sub.csv", "id,x,y,deg\n002_0,s0,s0,s0\n");
    folder.bad("total sub.csv", "sub.csv: there is no `002_1`");
    folder.write("two.csv", "packing,x,y,theta\n0,0,0,0\n1,0,0,0\n");
    folder.bad("total p.csv --against two.csv", "--against: one list has 1 packing, and the other 2");
    for boundary in ["0", "-1", "x", "inf"] {
        let sentence = format!("'{boundary}' for '--boundary <H>': not a side's length: it must be a finite number above 0");
        folder.bad(&format!("total p.csv --boundary {boundary}"), &sentence);
    }
    folder.bad("total p.csv --boundary 1e99", "the boundary's scale is 1e99, but");
    folder
        .bad("plot p.csv --boundary 1e99 --output p.svg", "'1e99' for '--boundary <H>': not a side's length: it must be at most");
    folder.bad("total p.csv --lattice 1e99,0,1e99,0", "a lattice of (1e99, 0) and (1e99, 0)");
    folder.write("huge.wkt", "POLYGON ((0 0, 1e99 0, 0 1, 0 0))");
    folder.bad("total p.csv --shape huge.wkt", "huge.wkt: shape huge: vertex 1: x = 1e99 is too large");
    folder.bad("total p.csv --boundary 3 --lattice 1,0,0,1", "cannot be used with");
    folder.bad("gradient p.csv --output g.npy --boundary 3 --against p.csv", "cannot be used with");
    for area in ["-1", "inf"] {
        let sentence = format!("'{area}' for '--above <AREA>': not an area: it must be a finite number, 0 or above");
        folder.bad(&format!("pairs p.csv --above {area}"), &sentence);
    }
    // A pose must tell its shape if there are several.
    folder.save("one.npy", &array![[0.0, 0.0, 0.0]]);
    for (shapes, file, given) in [
        ("--shape square.json --shape tree", "p.csv", "2 shapes take"),
        ("--mirror", "p.csv", "--mirror takes"),
        ("--mirror", "one.npy", "--mirror takes"),
    ] {
        let sentence = format!("{file}: {given} a column `shape`");
        folder.bad(&format!("total {file} {shapes}"), &sentence);
        folder.bad(&format!("plot {file} {shapes} --output o.svg"), &sentence);
        folder.bad(&format!("total shaped.csv --against {file} {shapes}"), &sentence);
    }
    folder.write("sub.csv", "id,x,y,deg\n001_0,s0,s0,s0\n");
    for option in ["--shape", "--mirror"] {
        let given = if option == "--shape" { "--shape square.json" } else { option };
        folder.bad(&format!("total sub.csv {given}"), &format!("sub.csv: {option} has no use for a submission"));
        folder.bad(&format!("plot sub.csv {given} --output o.svg"), &format!("sub.csv: {option} has no use for a submission"));
    }
    folder.bad("total p.csv --output t.txt", "t.txt: the name must end in .npy or .csv, which tells the format");
    folder.bad("pairs p.csv --output t.txt", "t.txt: the name must end in .csv, .json or .npy, which tells the format");
    folder.bad("total p.csv --output p.csv", "p.csv can't be written: it is to be read");
    folder.bad("total p.csv --output no/t.csv", "no/t.csv can't be written: there is no directory no");
    folder.bad("gradient p.csv", "--output");
}

#[test]
fn what_cannot_be_packed() {
    let folder = Folder::new();
    folder.write("l.wkt", "POLYGON ((0 0, 2 0, 2 1, 1 1, 1 3, 0 3, 0 0))");
    for (options, sentence) in [
        ("--count 0", "'0' for '--count <N>': it must be at least 1"),
        ("--count 3e9", "it must be at most 67,108,864"),
        ("--count 3e7 --starts 3", "are too many"),
        ("--count 3 --steps 9 --time 3s", "cannot be used with"),
        ("--count 3 --time 3x", "not a time"),
        ("--count 3 --seed -1", "'-1' for '--seed <S>': it must be a whole number from 0 on"),
        ("--count 3 --container strip:1e99", "--container strip:1e99: a strip of width 1e99: it must be a number from 1e-6"),
        ("--count 3 --gpus 0", "'0' for '--gpus <N>': it must be at least 1"),
        ("--count 3 --plot p.csv", ".png or .svg"),
        ("--count 3 --from p.csv", "cannot be used with '--from <SUBMISSION.CSV>'"),
        ("--shape tree:2 --shape l.wkt:3 --from p.csv", "'--from <SUBMISSION.CSV>' cannot be used with"),
        ("--count 3 --shape none.json", "none.json"),
        ("--count 3 --container l.wkt", "--container l.wkt: it must be convex, and isn't at its vertex (1, 1)"),
        ("--count 3 --container tree", "--container tree: it must be convex"),
        ("--count 3 --container strip:0", "--container strip:0: a strip of width 0"),
        ("--count 3 --container strip:x", "--container strip:x: the width is not a number"),
        ("--count 3 --container strip:0.5", "--container strip:0.5: the strip is too narrow: its width is 0.5, but"),
        ("--count 3 --container disc", "--container disc: it must be `square`, `strip:WIDTH`, `circle`, a file .json, .geojson"),
        ("--count 3 --container none.wkt", "none.wkt"),
        ("--count 3 --turns 7", "invalid value '7' for '--turns <[NAME=]TURNS>': 7 does not divide 360"),
        ("--count 3 --turns l=none", "--turns: no part is called l; the parts are tree"),
        ("--count 3 --shape tree:4", "--shape tree:4 has a number of copies, and so has --count"),
        ("--count 3 --shape tree --shape l.wkt", "--count is of one shape"),
        ("--shape tree:2 --shape l.wkt", "--shape l.wkt: how many copies?"),
        ("--shape tree:0 --shape l.wkt:3", "--shape tree:0: the copies must be a whole number from 1"),
    ] {
        folder.bad(&format!("pack {options} --output q.csv"), sentence);
    }
    folder.bad("pack --count 3 --output p.txt", "the name must end in .npy or .csv");
    folder.bad(
        "pack --shape tree:1 --shape l.wkt:3 --output p.npy",
        "p.npy: copies of several shapes, or mirrored ones, are written as text",
    );
}

/// An instance of jagua-rs tells how many copies there are, and a number multiplies that.
#[test]
fn instances_have_demands() {
    let folder = Folder::new();
    let item = |id: u32, demand: u32, side: u32| {
        let data = format!("{{\"x_min\": 0, \"y_min\": 0, \"width\": {side}, \"height\": {side}}}");
        let shape = format!("{{\"type\": \"rectangle\", \"data\": {data}}}");
        format!("{{\"id\": {id}, \"demand\": {demand}, \"allowed_orientations\": [0], \"shape\": {shape}}}")
    };
    folder.write("i.json", &format!("{{\"items\": [{}, {}], \"strip_height\": 4}}", item(0, 2, 2), item(1, 1, 1)));
    for (shape, ones, twos) in [("i.json", 2, 1), ("i.json:3", 6, 3)] {
        folder.good(&format!("pack --shape {shape} --steps 200 --starts 1 --output q.csv"));
        let table = fs::read_to_string(folder.path("q.csv")).unwrap();
        let of = |shape: &str| table.lines().filter(|line| line.ends_with(shape)).count();
        assert_eq!((of(",0"), of(",1")), (ones, twos), "{table}");
    }
}

#[test]
fn what_cannot_be_improved() {
    let folder = Folder::new();
    let files = [
        ("one.csv", "x,y,theta\n0,0,0\n"),
        ("overlap.csv", "id,x,y,deg\n001_0,s0,s0,s0\n002_0,s0,s0,s0\n002_1,s0.1,s0,s0\n"),
        ("far.csv", "id,x,y,deg\n001_0,s100.5,s0,s0\n"),
        ("short.csv", "id,x,y,deg\n002_1,s0,s0,s0\n"),
        ("good.csv", "id,x,y,deg\n001_0,s0,s0,s0\n"),
        ("none.csv", "id,x,y,deg\n"),
        ("empty.csv", ""),
    ];
    files.iter().for_each(|(name, text)| folder.write(name, text));
    for (arguments, sentence) in [
        ("improve missing.csv", "missing.csv"),
        ("improve one.csv", "one.csv: it is no submission"),
        ("improve overlap.csv", "overlap.csv: trees 0 and 1 of 2 overlap by an area of"),
        ("improve far.csv", "far.csv: tree 0 of 1 is out of bounds: x = 100.5"),
        ("improve short.csv", "short.csv: there is no `002_0`"),
        ("improve none.csv", "none.csv: holds no packings"),
        ("improve empty.csv", "empty.csv: is empty, but must be a table"),
        ("improve good.csv --from overlap.csv", "overlap.csv: trees 0 and 1 of 2 overlap"),
        ("improve good.csv --from good.csv", "good.csv can't be written: it is to be read"),
        ("improve good.csv --counts 0", "is not a number of trees from 1 to 200"),
        ("improve good.csv --counts -1", "'-1' for '--counts <COUNTS>': `-1` is not a number of trees from 1 to 200"),
        ("improve good.csv --counts 3..1", "the first must not be above the last"),
        ("improve good.csv --steps 3 --time 3s", "cannot be used with"),
        ("pack --counts 1..3 --submission overlap.csv", "overlap.csv: trees 0 and 1 of 2 overlap"),
        ("pack --counts 1..3", "--submission"),
        ("pack --counts 1..3 --output p.csv", "--counts with --submission"),
        ("pack --submission good.csv", "--count"),
        ("pack --counts 1 --submission good.csv --output p.csv", "cannot be used with"),
        ("pack --counts 1 --submission good.csv --container circle", "cannot be used with"),
        ("pack --counts 1 --submission good.csv --turns 90", "cannot be used with"),
        ("pack --count 1 --submission good.csv", "--count"),
        (
            "pack --counts 1 --submission good.csv --shape none.json",
            "'--submission <OUT.CSV>' cannot be used with '--shape <SHAPE[:N]>'",
        ),
    ] {
        folder.bad(arguments, sentence);
    }
    assert!(files.iter().all(|(name, text)| folder.text(name) == *text));
}
