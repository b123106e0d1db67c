//! The commands of `warpsmith pcf`, except those that make matrices.

use std::{
    fs,
    io::Cursor,
    path::{Path, PathBuf},
    process::Output,
};

use assert_cmd::{Command, cargo::cargo_bin};
use ndarray::{Array2, arr2};
use ndarray_npy::write_npy;
use serde_json::{Value, json};
use tempfile::{TempDir, tempdir};
use warpsmith::pcf::{Pcf, PcfSet, io, random};

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn files(&self) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn run(&self, arguments: &str) -> Output {
        let arguments = ["pcf"].into_iter().chain(arguments.split_whitespace());
        Command::new(cargo_bin!("warpsmith")).current_dir(&self.0).args(arguments).output().unwrap()
    }

    /// stdout of a run that goes well and says nothing on stderr.
    #[track_caller]
    fn good(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(0), ""), "{arguments}");
        text(&output.stdout)
    }

    #[track_caller]
    fn json(&self, arguments: &str) -> Value {
        serde_json::from_str(&self.good(&format!("{arguments} --json"))).unwrap()
    }

    /// A run that fails with exit code 2, says `sentence` on stderr and leaves the files as they are.
    #[track_caller]
    fn bad(&self, arguments: &str, sentence: &str) {
        let before = self.files();
        let output = self.run(arguments);
        let stderr = text(&output.stderr);
        assert_eq!((output.status.code(), &*text(&output.stdout)), (Some(2), ""), "{arguments}: {stderr}");
        assert!(stderr.starts_with("error: ") && stderr.contains(sentence), "{arguments}: {stderr}\nlacks: {sentence}");
        assert_eq!(self.files(), before, "{arguments}");
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn help_shows_examples() {
    let folder = Folder::new();
    for command in ["", "random", "info", "convert", "betti", "stable-rank", "mean", "plot"] {
        let help = folder.good(&format!("{command} --help"));
        assert!(help.contains("Examples:\n  warpsmith pcf ") && help.contains("--backend"), "{help}");
    }
    let help = folder.good("random --help");
    for option in ["--count", "--points", "--uneven", "--seed", "--dtype", "--output", "--json"] {
        assert!(help.contains(option), "{option}");
    }
}

#[test]
fn random_sets_and_what_is_in_them() {
    let folder = Folder::new();
    let line = folder.good("random --count 1_000 --points 20 --seed 5 --output a.npz");
    assert_eq!(line, "Written: a.npz (1,000 functions, 20,000 breakpoints, float32)\n");
    let set = random::uniform::<f32>(1000, 20, 5).unwrap();
    assert_eq!(io::load_as::<f32>(&folder.path("a.npz")).unwrap(), set);
    let mut info = folder.json("info a.npz");
    // Read from text, a number may be another by the last bit.
    let max_time = info.as_object_mut().unwrap().remove("max_time").unwrap().as_f64().unwrap();
    assert_eq!(max_time as f32, set.max_time());
    assert_eq!(
        info,
        json!({
            "file": "a.npz", "count": 1000, "shape": [1000], "dtype": "float32",
            "breakpoints": {"total": 20_000, "min": 20, "mean": 20.0, "max": 20},
            "nonzero_tails": 0, "memory_bytes": 20_000 * 8 + 1001 * 8,
        })
    );
    let table = folder.good("info a.npz");
    for row in ["a.npz", "functions", "1,000", "float32", "20,000"] {
        assert!(table.contains(row), "{table}");
    }

    let written = folder.json("random --count 1e2 --points 50 --uneven --dtype f64 --output b.csv");
    let set = random::uneven::<f64>(100, 50, 0).unwrap();
    assert_eq!(io::load_as::<f64>(&folder.path("b.csv")).unwrap(), set);
    assert_eq!(written, folder.json("info b.csv"));
    assert_eq!(written["breakpoints"]["max"], set.lengths().max().unwrap());

    folder.write("tails.csv", "function,t,v\n0,0,1\n1,0,2\n1,7.5,0\n2,0,0\n2,1,-1\n");
    let info = folder.json("info tails.csv");
    assert_eq!(
        (&info["nonzero_tails"], &info["max_time"], &info["breakpoints"]["mean"]),
        (&json!(2), &json!(7.5), &json!(5.0 / 3.0))
    );
    folder.write("none.csv", "function,t,v\n");
    let info = folder.json("info none.csv");
    assert_eq!((&info["count"], &info["breakpoints"]["mean"]), (&json!(0), &Value::Null));
    assert!(folder.good("info none.csv").contains("breakpoints"));
}

#[test]
fn formats_and_precisions() {
    let folder = Folder::new();
    folder.good("random --count 30 --points 4 --dtype f64 --output a.npz");
    let set = io::load_as::<f64>(&folder.path("a.npz")).unwrap();
    for (from, to) in [("a.npz", "b.csv"), ("b.csv", "c.npy"), ("c.npy", "d.npz")] {
        folder.good(&format!("convert {from} --output {to}"));
        assert_eq!(io::load(&folder.path(to)).unwrap(), io::PcfData::F64(set.clone()));
    }
    folder.good("convert b.csv --dtype f32 --output e.npz");
    assert_eq!(io::load(&folder.path("e.npz")).unwrap(), io::PcfData::F32(set.cast().unwrap()));
}

#[test]
fn curves_and_means() {
    let folder = Folder::new();
    folder.write("bars.csv", "barcode,birth,death\n0,0,inf\n0,0.5,2\n1,,\n2,1,4\n");
    assert_eq!(folder.good("betti bars.csv --output betti.csv"), "Written: betti.csv (3 functions, 7 breakpoints, float64)\n");
    let curves = "function,t,v\n0,0.0,1.0\n0,0.5,2.0\n0,2.0,1.0\n1,0.0,0.0\n2,0.0,0.0\n2,1.0,1.0\n2,4.0,0.0\n";
    assert_eq!(fs::read_to_string(folder.path("betti.csv")).unwrap(), curves);
    let ranks = folder.json("stable-rank bars.csv --dtype f32 --output ranks.npz");
    assert_eq!((&ranks["count"], &ranks["dtype"], &ranks["nonzero_tails"]), (&json!(3), &json!("float32"), &json!(1)));
    let expected = [vec![(0.0f32, 2.0), (1.5, 1.0)], vec![(0.0, 0.0)], vec![(0.0, 1.0), (3.0, 0.0)]];
    let expected = PcfSet::from_functions(expected.map(|points| Pcf::new(points).unwrap()));
    assert_eq!(io::load_as::<f32>(&folder.path("ranks.npz")).unwrap(), expected);

    folder.good("mean ranks.npz --output mean.csv --dtype f64");
    let mean = io::load_as::<f64>(&folder.path("mean.csv")).unwrap();
    assert_eq!(mean, PcfSet::from_functions([expected.cast::<f64>().unwrap().mean().unwrap()]));
    assert_eq!(mean.get(0).value_at(2.0), 2.0 / 3.0);
}

#[test]
fn errors_name_what_is_wrong() {
    let folder = Folder::new();
    folder.write("a.csv", "function,t,v\n0,0,1\n0,2,1\n0,1,1\n");
    folder.bad("info a.csv", "a.csv: line 4: function 0, breakpoint 2: t = 1 comes after t = 2");
    folder.bad("info none.npz", "none.npz: can't be read: no such file");
    folder.bad("info a.txt", "a.txt: the name must end in .npz, .npy or .csv");
    folder.bad("convert a.csv --output a.csv", "a.csv can't be written: it is to be read");
    folder.bad("convert a.csv --output b.npz", "a.csv: line 4");
    folder.bad("random --count 10 --points 3 --output no/a.npz", "no/a.npz can't be written: there is no directory no");
    folder.bad("random --count 10 --points 3 --output a.json", "a.json: the name must end in");
    folder.bad("random --count 10 --points 30 --uneven --output a.npy", "different lengths don't fit into one .npy array");
    folder.bad("random --count 1 --points 1e8 --output a.npz", "at most 4194304 in float32");
    folder.bad("random --count 2e9 --points 2e9 --dtype f64 --output a.npz", "of memory are free");
    folder.bad("random --count 0 --points 3 --output a.npz", "at least 1");
    folder.bad("random --count 3 --output a.npz", "--points");
    folder.write("bars.csv", "birth,death\n0,1\n-1,2\n");
    folder.bad("betti bars.csv --output b.npz", "bars.csv: bar 1: birth = -1, but a Betti curve is a function from t = 0 on");
    folder.write("bars.csv", "birth,death\n3,1\n");
    folder.bad("stable-rank bars.csv --output b.npz", "bars.csv: line 2: bar 0: death = 1 comes before birth = 3");
    folder.write("none.csv", "function,t,v\n");
    folder.bad("mean none.csv --output b.npz", "none.csv: a set of no functions has no mean");
}

/// Width, height, and pixels in RGB.
fn decode(path: &Path) -> (usize, usize, Vec<[u8; 3]>) {
    let mut reader = png::Decoder::new(Cursor::new(fs::read(path).unwrap())).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let pixels = bytes[..info.buffer_size()].chunks_exact(3).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    (info.width as usize, info.height as usize, pixels)
}

const LOWEST: [u8; 3] = [68, 1, 84]; // viridis at 0
const HIGHEST: [u8; 3] = [254, 232, 37]; // and at 1
const INFINITE: [u8; 3] = [214, 39, 40];

#[test]
fn heat_maps() {
    let folder = Folder::new();
    // Distances 1, inf and 4 of three functions.
    write_npy(folder.path("condensed.npy"), &ndarray::arr1(&[1.0f32, f32::INFINITY, 4.0])).unwrap();
    let line = folder.good("plot condensed.npy heat.png");
    assert_eq!(line, "Written: heat.png (3 x 3, entries from 0.0 to 4.0, 1 infinite)\n");
    let (width, height, pixels) = decode(&folder.path("heat.png"));
    // The first column of the map has the colours of 0, 1 and infinity from the top, each a third of the map high.
    let rows = |colour: [u8; 3]| -> Vec<usize> { (0..height).filter(|y| pixels[y * width + 100] == colour).collect() };
    let (zero, infinite) = (rows(LOWEST), rows(INFINITE));
    assert_eq!((zero.len(), infinite.len()), (240, 240));
    assert_eq!(infinite[0] - zero[0], 480);
    let count = |colour: [u8; 3]| pixels.iter().filter(|pixel| **pixel == colour).count();
    assert!(count(LOWEST) >= 3 * 240 * 240 && count(HIGHEST) >= 2 * 240 * 240, "{} {}", count(LOWEST), count(HIGHEST));
    // Two entries and the legend; more would be an entry too many.
    assert!((2 * 240 * 240 + 100..2 * 240 * 240 + 1000).contains(&count(INFINITE)));
    // Letters are drawn, too: without a font there would be no grey.
    assert!(pixels.iter().filter(|[r, g, b]| r == g && g == b && (1..250).contains(r)).count() > 100);

    // The same as a dense matrix is the same picture.
    let inf = f64::INFINITY;
    write_npy(folder.path("dense.npy"), &arr2(&[[0.0, 1.0, inf], [1.0, 0.0, 4.0], [inf, 4.0, 0.0]])).unwrap();
    assert_eq!(
        folder.json("plot dense.npy dense.png --title condensed.npy"),
        json!({
            "input": "dense.npy", "output": "dense.png", "rows": 3, "columns": 3, "dtype": "float64", "min": 0.0, "max": 4.0,
            "infinite": 2, "nan": 0,
        })
    );
    folder.good("plot condensed.npy again.png --title condensed.npy");
    assert_eq!(decode(&folder.path("dense.png")), decode(&folder.path("again.png")));
    // And so is the lower triangle.
    write_npy(folder.path("packed.npy"), &ndarray::arr1(&[0.0, 1.0, 0.0, inf, 4.0, 0.0])).unwrap();
    folder.good("plot packed.npy packed.png --title condensed.npy --layout packed");
    assert_eq!(decode(&folder.path("packed.png")), decode(&folder.path("again.png")));

    folder.good("plot dense.npy heat.svg --title A<B&C");
    let svg = fs::read_to_string(folder.path("heat.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    for part in ["A&lt;B&amp;C", "column", "row", "inf", "image-rendering:pixelated"] {
        assert!(svg.contains(part), "{part}");
    }
    assert_eq!(svg.matches("<image ").count(), 2);
    assert_eq!(folder.files().len(), 3 + 5, "{:?}", folder.files());
}

#[test]
fn heat_maps_of_any_shape_and_value() {
    let folder = Folder::new();
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let shapes = [(1, 1), (1, 2000), (2000, 1), (5, 30), (900, 1100)];
    for (rows, columns) in shapes {
        write_npy(folder.path("m.npy"), &Array2::from_shape_fn((rows, columns), |(i, j)| (i + 2 * j) as f32)).unwrap();
        folder.good("plot m.npy m.png");
        folder.good("plot m.npy m.svg");
        let (width, height, pixels) = decode(&folder.path("m.png"));
        assert!(width < 1100 && height < 1000 && pixels.len() == width * height);
    }
    for values in
        [[0.0, 0.0], [7.0, 7.0], [nan, inf], [-inf, inf], [nan, nan], [1e-310, -1e-310], [1e308, -1e308], [1e308, 1.5e308]]
    {
        write_npy(folder.path("m.npy"), &arr2(&[values])).unwrap();
        folder.good("plot m.npy m.png");
        folder.good("plot m.npy m.svg");
    }
}

#[test]
fn what_cannot_be_drawn() {
    let folder = Folder::new();
    write_npy(folder.path("m.npy"), &ndarray::arr1(&[1.0f32, 2.0, 3.0, 4.0])).unwrap();
    folder.bad("plot m.npy m.png", "m.npy: holds 4 entries, but a condensed matrix has n (n - 1) / 2 of them");
    folder.bad("plot m.npy m.png --layout packed", "m.npy: holds 4 entries, but a packed matrix has n (n + 1) / 2 of them");
    folder.bad("plot m.npy m.pdf", "m.pdf: the name must end in .png or .svg");
    folder.bad("plot none.npy m.png", "none.npy: can't be read: no such file");
    folder.bad("plot m.npy no/m.png", "no/m.png can't be written: there is no directory");
    write_npy(folder.path("i.npy"), &arr2(&[[1i32]])).unwrap();
    folder.bad("plot i.npy m.png", "i.npy: holds int32, but a matrix must be float32 or float64");
    write_npy(folder.path("e.npy"), &Array2::<f32>::zeros((0, 3))).unwrap();
    folder.bad("plot e.npy m.png", "e.npy: holds a matrix without entries");
    write_npy(folder.path("c.npy"), &ndarray::Array3::<f32>::zeros((2, 2, 2))).unwrap();
    folder.bad("plot c.npy m.png", "c.npy: holds a 3-D array, but a matrix is 2-D");
    let whole = fs::read(folder.path("m.npy")).unwrap();
    fs::write(folder.path("m.npy"), &whole[..whole.len() - 1]).unwrap();
    folder.bad("plot m.npy m.png", "m.npy: is truncated");
}

/// A matrix of 0.9 GiB under a limit of 0.5 GiB.
#[test]
#[cfg(target_os = "linux")]
fn matrices_larger_than_the_memory() {
    let folder = Folder::new();
    let n = 22_000u64;
    let entries = n * (n - 1) / 2;
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({entries},), }}");
    let header = format!("{header:<117}\n");
    let start = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
    fs::write(folder.path("m.npy"), &start).unwrap();
    // A hole, which reads as zeros.
    let file = fs::OpenOptions::new().write(true).open(folder.path("m.npy")).unwrap();
    file.set_len(start.len() as u64 + entries * 4).unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 524288; exec \"$0\" pcf plot m.npy m.png --json", cargo_bin!("warpsmith").to_str().unwrap()]);
    // Threads reserve memory of their own.
    let output = command.env("RAYON_NUM_THREADS", "2").current_dir(&folder.0).output().unwrap();
    assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(0), ""));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&value["rows"], &value["max"]), (&json!(n), &json!(0.0)));
}
