//! The commands of `warpsmith pcf`.

use std::{fs, io::Cursor, path::Path};

use ndarray::{Array2, arr2};
use ndarray_npy::{ReadableElement, write_npy};
use serde_json::{Value, json};
use warpsmith::{
    device::{Device, no_cuda_reason},
    engine::{Control, Engine},
    pcf::{Layout, Measure, Pairwise, Pcf, PcfReal, PcfSet, io, lp_distance, random},
};

use crate::folder::{Folder, has, text};

impl Folder {
    fn new() -> Self {
        Folder::of("pcf")
    }

    /// A matrix of half of the entries, which its file says.
    fn packed<T: PcfReal>(&self, name: &str) -> Vec<T> {
        let bytes = fs::read(self.path(name)).unwrap();
        let (header, numbers) = bytes.split_at(128);
        let header = String::from_utf8_lossy(&header[10..]);
        assert!(header.starts_with(&format!("{{'descr': [('packed', '<f{}')]", size_of::<T>())), "{header}");
        bytemuck::pod_collect_to_vec(numbers)
    }

    fn save<T: PcfReal>(&self, name: &str, set: &PcfSet<T>) {
        io::save(set, &self.path(name)).unwrap();
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
    has(&table, &["a.npz", "functions", "1,000", "float32", "20,000"]);

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
fn infinite_entries_are_said() {
    let folder = Folder::new();
    let run = |arguments: &str| {
        let output = folder.run(&format!("{arguments} --json"));
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments}: {stderr}");
        (serde_json::from_slice::<Value>(&output.stdout).unwrap()["infinite"].as_u64().unwrap(), stderr)
    };
    let infinite = |name: &str| folder.read::<f64>(name).iter().filter(|entry| !entry.is_finite()).count() as u64;
    // Functions 1 and 3 end on another value than the others.
    folder.write("a.csv", "function,t,v\n0,0,1\n0,1,0\n1,0,2\n2,0,0\n3,0,5\n3,2,2\n4,0,3\n4,1,0\n");
    folder.write("b.csv", "function,t,v\n0,0,2\n1,0,1\n1,1,0\n");
    for (arguments, count, sentence) in [
        (
            "pdist a.csv --output d.npy",
            6,
            "warning: d.npy: 6 of 10 distances are infinite: functions that end on different values differ \
            for ever, such as 0 and 1. SciPy's linkage takes no such matrix.\n",
        ),
        ("pdist a.csv --p 2.5 --layout dense --output d.npy", 12, "d.npy: 12 of 25 distances are infinite"),
        (
            "cdist a.csv b.csv --output d.npy",
            5,
            "5 of 10 distances are infinite: functions that end on different values differ for ever, such \
            as 0 of a.csv and 0 of b.csv.\n",
        ),
        (
            "cdist a.csv b.csv --inner --output d.npy",
            2,
            "2 of 10 inner products are infinite: that of two functions is where neither ends on \
            0, such as 1 of a.csv and 0 of b.csv.\n",
        ),
        ("l2-kernel a.csv --output d.npy", 0, "inner products are infinite"),
    ] {
        let (found, stderr) = run(arguments);
        assert_eq!(found, infinite("d.npy"), "{arguments}");
        // The kernel matrix has 3 or 4 such entries, by its layout: functions 1 and 3 with themselves and each other.
        assert!(found == count || count == 0 && (3..=4).contains(&found), "{arguments}: {found}");
        assert!(stderr.contains(sentence), "{arguments}: {stderr}");
    }
    // Finite, and said to be.
    folder.write("c.csv", "function,t,v\n0,0,7\n0,1,2\n1,0,2\n2,0,1\n2,3,2\n");
    assert_eq!((run("pdist c.csv --output d.npy"), infinite("d.npy")), ((0, String::new()), 0));
    // The integrals of second powers are too large for single precision: distances aren't.
    folder.write("c.csv", "function,t,v\n0,0,9e18\n0,100,0\n1,0,0\n2,0,1\n2,100,0\n");
    let (found, stderr) = run("l2-kernel c.csv --dtype f32 --output d.npy");
    assert!(found == 1 && stderr.contains("inner products are infinite: their numbers are too large for float32."), "{stderr}");
    assert_eq!(run("pdist c.csv --dtype f32 --p 2 --output d.npy"), (0, String::new()));
    assert_eq!(run("pdist c.csv --dtype f32 --output d.npy"), (0, String::new()));
}

#[test]
fn curves_and_means() {
    let folder = Folder::new();
    folder.write("bars.csv", "barcode,birth,death\n0,0,inf\n0,0.5,2\n1,,\n2,1,4\n");
    assert_eq!(folder.good("betti bars.csv --output betti.csv"), "Written: betti.csv (3 functions, 7 breakpoints, float64)\n");
    let curves = "function,t,v\n0,0.0,1.0\n0,0.5,2.0\n0,2.0,1.0\n1,0.0,0.0\n2,0.0,0.0\n2,1.0,1.0\n2,4.0,0.0\n";
    assert_eq!(fs::read_to_string(folder.path("betti.csv")).unwrap(), curves);
    // Of two dimensions one, and upside down.
    folder.write("dimensions.csv", "dimension,birth,death\n0,5,-inf\n1,4,1\n");
    folder.good("betti dimensions.csv --dimension 1 --superlevel --output b.csv");
    assert_eq!(fs::read_to_string(folder.path("b.csv")).unwrap(), "function,t,v\n0,0.0,0.0\n0,1.0,1.0\n0,4.0,0.0\n");
    folder.good("stable-rank dimensions.csv --dimension 0 --superlevel --output b.csv");
    assert_eq!(fs::read_to_string(folder.path("b.csv")).unwrap(), "function,t,v\n0,0.0,1.0\n");
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
fn repaired_functions() {
    let folder = Folder::new();
    folder.write("w.csv", "function,t,v\n0,3,1\n0,1,2\n0,1,3\n1,0,4\n");
    folder.bad("convert w.csv --output b.csv", "w.csv: line 3: function 0, breakpoint 0: t = 1, but the first");
    let json = folder.json("convert w.csv --repair --dtype f32 --output b.csv");
    assert_eq!(json["repaired"], json!({"empty": 0, "sorted": 0, "shifted": 1, "merged": 1}));
    assert_eq!(fs::read_to_string(folder.path("b.csv")).unwrap(), "function,t,v\n0,0.0,3.0\n0,2.0,1.0\n1,0.0,4.0\n");
    let said = folder.good("convert b.csv --repair --output c.csv");
    folder.bad("convert b.csv --repair --curve betti --output c.csv", "'--repair' cannot be used with '--curve");
    assert!(said.ends_with("\nRepaired functions: 0 put in order, 0 shifted, 0 with breakpoints merged, 0 empty\n"), "{said}");
}

#[test]
fn what_no_set_is_made_of() {
    let folder = Folder::new();
    folder.write("a.csv", "function,t,v\n0,0,1\n0,1,1\n0,1,1\n");
    folder.write("early.csv", "birth,death\n0,1\n-1,2\n");
    folder.write("turned.csv", "birth,death\n3,1\n");
    folder.write("dimensions.csv", "dimension,birth,death\n0,5,-inf\n1,4,1\n");
    folder.write("none.csv", "function,t,v\n");
    for (arguments, sentence) in [
        ("info a.csv", "a.csv: line 4: function 0, breakpoint 2: t = 1 repeats the t of the breakpoint before"),
        ("info none.npz", "none.npz: can't be read: no such file"),
        ("info a.txt", "a.txt: can't be read: no such file"),
        ("convert a.csv --output a.csv", "a.csv can't be written: it is to be read"),
        ("convert a.csv --output b.npz", "a.csv: line 4"),
        ("random --count 10 --points 3 --output no/a.npz", "no/a.npz can't be written: there is no directory no"),
        ("random --count 10 --points 3 --output a.json", "a.json: the name must end in"),
        ("random --count 10 --points 30 --uneven --output a.npy", "different lengths don't fit into one .npy array"),
        ("random --count 1 --points 1e8 --output a.npz", "at most 4194304 in float32"),
        ("random --count 2e9 --points 2e9 --dtype f64 --output a.npz", "2,000,000,000 functions would take about "),
        ("random --count 0 --points 3 --output a.npz", "at least 1"),
        ("random --count 3 --output a.npz", "--points"),
        ("betti early.csv --output b.npz", "early.csv: bar 1: birth = -1, but the function starts at t = 0"),
        ("stable-rank turned.csv --output b.npz", "turned.csv: line 2: bar 0: death = 1 comes before birth = 3"),
        ("betti dimensions.csv --output b.csv", "dimensions.csv: has bars of the dimensions 0, 1: choose one (--dimension)"),
        ("betti dimensions.csv --dimension 1 --output b.csv", "line 3: bar 0: death = 1 comes before birth = 4"),
        ("mean none.csv --output b.npz", "none.csv: a set of no functions has no mean"),
    ] {
        folder.bad(arguments, sentence);
    }
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
    let line = folder.good("plot condensed.npy --output heat.png");
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
        folder.json("plot dense.npy --output dense.png --title condensed.npy"),
        json!({
            "input": "dense.npy", "output": "dense.png", "rows": 3, "columns": 3, "dtype": "float64", "min": 0.0, "max": 4.0,
            "infinite": 2, "nan": 0,
        })
    );
    folder.good("plot condensed.npy --output again.png --title condensed.npy");
    assert_eq!(decode(&folder.path("dense.png")), decode(&folder.path("again.png")));
    // And so is the lower triangle.
    write_npy(folder.path("packed.npy"), &ndarray::arr1(&[0.0, 1.0, 0.0, inf, 4.0, 0.0])).unwrap();
    folder.good("plot packed.npy --output packed.png --title condensed.npy --layout packed");
    assert_eq!(decode(&folder.path("packed.png")), decode(&folder.path("again.png")));

    folder.good("plot dense.npy --output heat.svg --title A<B&C");
    let svg = fs::read_to_string(folder.path("heat.svg")).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
    has(&svg, &["A&lt;B&amp;C", "column", "row", "inf", "image-rendering:pixelated"]);
    assert_eq!(svg.matches("<image ").count(), 2);
    assert_eq!(folder.files().len(), 3 + 5, "{:?}", folder.files());
}

/// Both layouts of a kernel, and distances with their diagonal; n (n + 1) / 2 entries could be a condensed matrix of
/// n + 1, too.
#[test]
fn a_kernel_is_drawn_as_what_it_is() {
    let folder = Folder::new();
    folder.good("random --count 30 --points 8 --output a.npz");
    for (command, halves) in [("l2-kernel", &["packed"][..]), ("pdist --p 2", &["packed", "condensed"])] {
        let dense = if command == "l2-kernel" { "" } else { "--layout dense" };
        folder.good(&format!("{command} a.npz {dense} --output dense.npy"));
        assert!(folder.good("plot dense.npy --output dense.png --title k").contains("(30 x 30, "));
        for half in halves {
            folder.good(&format!("{command} a.npz --layout {half} --output half.npy"));
            for layout in ["".to_owned(), format!("--layout {half}")] {
                folder.good(&format!("plot half.npy --output half.png --title k {layout}"));
                assert!(decode(&folder.path("half.png")) == decode(&folder.path("dense.png")), "{command} {half}");
            }
        }
    }
    folder.good("l2-kernel a.npz --layout packed --output half.npy");
    folder.bad(
        "plot half.npy --output h.png --layout condensed",
        "half.npy: holds a packed matrix, as it says, and not a condensed one",
    );
    folder.bad("info half.npy", "half.npy: holds structured elements, but functions must be float32 or float64");
}

#[test]
fn heat_maps_of_any_shape_and_value() {
    let folder = Folder::new();
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let shapes = [(1, 1), (1, 2000), (2000, 1), (5, 30), (900, 1100)];
    for (rows, columns) in shapes {
        write_npy(folder.path("m.npy"), &Array2::from_shape_fn((rows, columns), |(i, j)| (i + 2 * j) as f32)).unwrap();
        folder.good("plot m.npy --output m.png");
        folder.good("plot m.npy --output m.svg");
        let (width, height, pixels) = decode(&folder.path("m.png"));
        assert!(width < 1100 && height < 1000 && pixels.len() == width * height);
    }
    for values in
        [[0.0, 0.0], [7.0, 7.0], [nan, inf], [-inf, inf], [nan, nan], [1e-310, -1e-310], [1e308, -1e308], [1e308, 1.5e308]]
    {
        write_npy(folder.path("m.npy"), &arr2(&[values])).unwrap();
        folder.good("plot m.npy --output m.png");
        folder.good("plot m.npy --output m.svg");
    }
}

#[test]
fn what_cannot_be_drawn() {
    let folder = Folder::new();
    write_npy(folder.path("m.npy"), &ndarray::arr1(&[1.0f32, 2.0, 3.0, 4.0])).unwrap();
    write_npy(folder.path("i.npy"), &arr2(&[[1i32]])).unwrap();
    write_npy(folder.path("e.npy"), &Array2::<f32>::zeros((0, 3))).unwrap();
    write_npy(folder.path("c.npy"), &ndarray::Array3::<f32>::zeros((2, 2, 2))).unwrap();
    let whole = fs::read(folder.path("m.npy")).unwrap();
    fs::write(folder.path("short.npy"), &whole[..whole.len() - 1]).unwrap();
    for (arguments, sentence) in [
        ("plot m.npy --output m.png", "m.npy: holds 4 entries, but a condensed matrix has n (n - 1) / 2 of them"),
        ("plot m.npy --output m.png --layout packed", "m.npy: holds 4 entries, but a packed matrix has n (n + 1) / 2 of them"),
        ("plot m.npy --output m.png --layout dense", "m.npy: holds a 1-D array, but a matrix is 2-D"),
        ("plot m.npy --output m.pdf", "m.pdf: the name must end in .png or .svg"),
        ("plot none.npy --output m.png", "none.npy: can't be read: no such file"),
        ("plot m.npy --output no/m.png", "no/m.png can't be written: there is no directory"),
        ("plot i.npy --output m.png", "i.npy: holds int32, but a matrix must be float32 or float64"),
        ("plot e.npy --output m.png", "e.npy: holds a matrix without entries"),
        ("plot c.npy --output m.png", "c.npy: holds a 3-D array, but a matrix is 2-D"),
        ("plot short.npy --output m.png", "short.npy: is truncated"),
    ] {
        folder.bad(arguments, sentence);
    }
}

/// A matrix of 0.42 GiB under a limit of 0.375 GiB.
#[test]
#[cfg(target_os = "linux")]
fn matrices_larger_than_the_memory() {
    let folder = Folder::new();
    let n = 15_000u64;
    let entries = n * (n - 1) / 2;
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({entries},), }}");
    let header = format!("{header:<117}\n");
    let start = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
    fs::write(folder.path("m.npy"), &start).unwrap();
    // A hole, which reads as zeros.
    let file = fs::OpenOptions::new().write(true).open(folder.path("m.npy")).unwrap();
    file.set_len(start.len() as u64 + entries * 4).unwrap();
    // Threads reserve memory of their own.
    let output = folder.shell("ulimit -v 393216; RAYON_NUM_THREADS=2 \"$0\" pcf plot m.npy --output m.png --json");
    assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(0), ""));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&value["rows"], &value["max"]), (&json!(n), &json!(0.0)));
}

/// The matrices that commands write are those of the library, bit for bit, in all layouts and both precisions.
fn commands_agree<T: PcfReal + ReadableElement>(dtype: &str) {
    let folder = Folder::new();
    let mut functions: Vec<_> = random::uneven::<T>(40, 60, 1).unwrap().iter().map(|f| f.to_pcf()).collect();
    // Some that differ from all others for ever.
    functions[7] = Pcf::constant(T::from_f64(0.25)).unwrap();
    functions[30] = Pcf::new([(T::ZERO, T::ONE), (T::from_f64(0.5), T::from_f64(-2.0))]).unwrap();
    let a = PcfSet::from_functions(functions).with_shape(&[2, 5, 4]).unwrap();
    let b = random::uneven::<T>(24, 60, 2).unwrap();
    folder.save("a.npz", &a);
    folder.save("b.csv", &b);
    let engine = Engine::new([Device::best().unwrap()]).unwrap();
    for (command, columns, measure, layout, shape) in [
        ("pdist a.npz", None, Measure::Lp(1.0), Layout::Condensed, &[780][..]),
        ("pdist a.npz --p 2 --layout packed", None, Measure::Lp(2.0), Layout::Packed, &[820]),
        ("pdist a.npz --p 1.5 --layout dense", None, Measure::Lp(1.5), Layout::Dense, &[2, 5, 4, 2, 5, 4]),
        ("cdist a.npz b.csv", Some(&b), Measure::Lp(1.0), Layout::Dense, &[2, 5, 4, 24]),
        ("cdist a.npz b.csv --p 3", Some(&b), Measure::Lp(3.0), Layout::Dense, &[2, 5, 4, 24]),
        ("cdist a.npz b.csv --p inf", Some(&b), Measure::Lp(f64::INFINITY), Layout::Dense, &[2, 5, 4, 24]),
        ("cdist a.npz b.csv --inner", Some(&b), Measure::Inner, Layout::Dense, &[2, 5, 4, 24]),
        ("l2-kernel a.npz --layout packed", None, Measure::Inner, Layout::Packed, &[820]),
        ("l2-kernel a.npz", None, Measure::Inner, Layout::Dense, &[2, 5, 4, 2, 5, 4]),
    ] {
        let matrix = Pairwise::new(&a, columns, measure).unwrap();
        let expected = matrix.compute(&engine, layout, Control::default()).unwrap();
        let infinite = expected.iter().any(|entry| !entry.is_finite());
        let written = folder.warned(&format!("{command} --dtype {dtype} --output m.npy --json"), infinite);
        let written: Value = serde_json::from_str(&written).unwrap();
        assert_eq!((&written["dtype"], &written["shape"]), (&json!(T::NAME), &json!(shape)), "{command}");
        let found: Vec<T> =
            if layout == Layout::Packed { folder.packed("m.npy") } else { folder.read("m.npy").into_iter().collect() };
        assert!(found == expected, "{command} in {dtype}");
    }
}

#[test]
fn matrices_are_the_librarys() {
    commands_agree::<f64>("f64");
    commands_agree::<f32>("f32");
}

#[test]
fn what_is_said_of_a_matrix() {
    let folder = Folder::new();
    folder.good("random --count 300 --points 20 --output a.npz");
    folder.good("random --count 11 --points 7 --dtype f64 --output b.npz");
    let mut value = folder.json("pdist a.npz --output d.npy");
    let object = value.as_object_mut().unwrap();
    let mut take = |name: &str| object.remove(name).unwrap();
    let ms = take("total_ms").as_f64().unwrap();
    let rate = take("merge_steps_per_second").as_f64().unwrap();
    let steps = 300 * 299 * 19;
    assert!(ms > 0.0 && (rate * ms / 1e3 / f64::from(steps) - 1.0).abs() < 1e-9 && take("write_ms").as_f64().unwrap() >= 0.0);
    assert!(take("compile_ms").as_f64().unwrap() >= 0.0);
    let (elapsed, parts) = (take("elapsed_ms").as_f64().unwrap(), take("elapsed"));
    let parts: Vec<_> =
        parts.as_array().unwrap().iter().map(|part| (part["name"].clone(), part["ms"].as_f64().unwrap())).collect();
    let names = ["starting", "reading", "getting ready", "computing", "writing", "freeing memory"];
    assert!(parts.iter().map(|(name, _)| name).eq(&names), "{parts:?}");
    assert!((parts.iter().map(|(_, ms)| ms).sum::<f64>() - elapsed).abs() < 1e-6 && elapsed >= ms, "{parts:?}");
    let (gpus, blocks) = (take("gpus"), take("blocks").as_u64().unwrap());
    assert!(gpus.as_array().unwrap().len() == 1 && gpus[0]["blocks"] == blocks && blocks > 0 && !gpus[0]["device"].is_null());
    let (side, downloaded) = (take("side").as_u64().unwrap(), take("downloaded_bytes").as_u64().unwrap());
    assert!(side > 0 && side <= 300 && downloaded >= 4 * 300 * 299 / 2);
    let backend = take("backend");
    assert!(backend == "cpu" || backend == "cuda");
    assert_eq!(
        value,
        json!({
            "system": "pcf", "command": "pdist", "p": 1.0, "inputs": ["a.npz"], "functions": [300], "breakpoints": [6000],
            "entries": 44_850, "infinite": 0, "blocks_found": 0, "shape": [44_850], "dtype": "float32", "layout": "condensed", "output": "d.npy",
            "output_bytes": 179_528, "trace": null, "merge_steps": steps,
        })
    );
    let value = folder.json("cdist a.npz b.npz --inner --output d.npy");
    assert_eq!(
        (&value["p"], &value["dtype"], &value["functions"], &value["shape"], &value["layout"]),
        (&json!(null), &json!("float64"), &json!([300, 11]), &json!([300, 11]), &json!("dense"))
    );
    assert_eq!(value["merge_steps"], 300 * 19 * 11 + 11 * 6 * 300);
    assert_eq!(folder.json("l2-kernel b.npz --output d.npy")["layout"], "dense");
    assert_eq!(folder.json("pdist b.npz --p inf --output d.npy")["p"], "inf");
    assert!(folder.good("pdist b.npz --p inf --output d.npy").contains("p = inf"));
    assert_eq!(folder.json("l2-kernel b.npz --layout packed --output d.npy")["layout"], "packed");

    let result = folder.good("pdist a.npz --p 2.5 --output d.npy");
    assert!(result.contains("time since the start") && !result.contains("downloaded"), "{result}");
    let verbose = |arguments: &str| String::from_utf8(folder.run(&format!("-v {arguments}")).stdout).unwrap();
    let table = verbose("pdist a.npz --p 2.5 --trace t.json --output d.npy");
    let parts = [
        "pdist, p = 2.5: a.npz",
        "300",
        "6,000",
        "44,850",
        "float32",
        "condensed (44,850)",
        "/s",
        "of side",
        "downloaded",
        "time since the start",
        "getting ready",
        "Written: d.npy (180 kB)\nWritten: t.json\n",
    ];
    has(&table, &parts);
    let table = verbose("--backend cpu cdist a.npz b.npz --gpus 3 --layout dense --output d.npy");
    assert!(table.contains("a.npz x b.npz") && table.contains("in place of 3 GPUs") && table.contains("of each GPU"), "{table}");
    assert_eq!(folder.files(), ["a.npz", "b.npz", "d.npy", "t.json"]);
}

#[test]
fn neither_gpus_nor_budgets_change_an_entry() {
    let folder = Folder::new();
    folder.good("random --count 400 --points 300 --uneven --seed 3 --output a.npz");
    let run = |more: &str| {
        let value = folder.json(&format!("--backend cpu pdist a.npz --p 3 --layout dense --output m.npy {more}"));
        (value, fs::read(folder.path("m.npy")).unwrap())
    };
    let (whole, expected) = run("");
    assert_eq!(whole["gpus"].as_array().unwrap().len(), 1);
    for (more, gpus) in [("--gpus 2", 2), ("--memory-budget 0.0625MiB --gpus 2", 2), ("--gpus 3 --memory-budget 1_00_000", 3)] {
        let (value, found) = run(more);
        assert!(found == expected, "{more}");
        let blocks: Vec<_> = value["gpus"].as_array().unwrap().iter().map(|gpu| gpu["blocks"].as_u64().unwrap()).collect();
        assert_eq!((blocks.len(), blocks.iter().sum::<u64>()), (gpus, value["blocks"].as_u64().unwrap()));
        if more.contains("budget") {
            assert!(value["blocks"].as_u64() > whole["blocks"].as_u64().max(Some(5)), "{value}");
        }
    }
}

#[test]
fn matrices_of_few_functions() {
    let folder = Folder::new();
    folder.write("none.csv", "function,t,v\n");
    folder.write("one.csv", "function,t,v\n0,0,3\n0,2,0\n");
    folder.write("two.csv", "function,t,v\n0,0,3\n0,2,0\n1,0,1\n");
    for (command, shape, entries) in [
        ("pdist none.csv", &[0][..], vec![]),
        ("pdist none.csv --layout dense", &[0, 0], vec![]),
        ("pdist one.csv", &[0], vec![]),
        ("pdist one.csv --layout dense", &[1, 1], vec![0.0]),
        ("l2-kernel none.csv", &[0, 0], vec![]),
        ("l2-kernel one.csv", &[1, 1], vec![18.0]),
        ("l2-kernel two.csv", &[2, 2], vec![18.0, 6.0, 6.0, f64::INFINITY]),
        ("cdist none.csv two.csv", &[0, 2], vec![]),
        ("cdist one.csv two.csv", &[1, 2], vec![0.0, f64::INFINITY]),
        ("cdist two.csv one.csv --p 2", &[2, 1], vec![0.0, f64::INFINITY]),
        ("cdist one.csv one.csv", &[1, 1], vec![0.0]),
    ] {
        let infinite = entries.contains(&f64::INFINITY);
        folder.warned(&format!("{command} --output d.npy"), infinite);
        folder.warned(&format!("{command} --gpus 1 --trace t.json --output d.npy"), infinite);
        let found = folder.read::<f64>("d.npy");
        assert_eq!((found.shape(), found.iter().copied().collect::<Vec<_>>()), (shape, entries), "{command}");
    }
}

/// Parts of a matrix as tables name the functions as the whole one does.
#[test]
fn tables_of_parts() {
    let folder = Folder::new();
    folder.write("set.csv", "id,t,v\n0,0,1\n0,1,0\n1,0,2\n1,1,0\n2,0,4\n2,1,0\n");
    folder.write("named.csv", "id,t,v\na,0,1\na,1,0\nb,0,2\nb,1,0\nc,0,4\nc,1,0\n");
    folder.write("none.csv", "id,t,v\n");
    for (arguments, table) in [
        ("pdist set.csv --rows 1..3 --cols 2..3", ",2\n1,2.0\n2,0.0\n"),
        ("pdist set.csv --rows 2..3", ",0,1,2\n2,3.0,2.0,0.0\n"),
        ("pdist set.csv --cols 2..3 --layout dense", ""),
        ("cdist set.csv named.csv --rows 0..1 --cols 1..3", ",b,c\n0,1.0,3.0\n"),
        ("l2-kernel named.csv --cols 2..3", ",c\na,4.0\nb,8.0\nc,16.0\n"),
        ("cdist named.csv none.csv", "\"\"\na\nb\nc\n"),
        ("cdist none.csv named.csv", ",a,b,c\n"),
    ] {
        if table.is_empty() {
            folder.bad(&format!("{arguments} --output d.csv"), "cannot be used with");
            continue;
        }
        folder.good(&format!("{arguments} --output d.csv"));
        assert_eq!(fs::read_to_string(folder.path("d.csv")).unwrap(), table, "{arguments}");
    }
    folder.good("pdist set.csv --layout dense --output d.csv");
    for layout in ["condensed", "packed"] {
        folder.bad(&format!("pdist set.csv --layout {layout} --output e.csv"), "--layout is for matrices in .npy files");
    }
}

/// A dimension is chosen only if all bars have one. Errors in JSON name no line.
#[test]
fn barcodes_that_are_refused() {
    let folder = Folder::new();
    let mut npz = ndarray_npy::NpzWriter::new(fs::File::create(folder.path("mixed.npz")).unwrap());
    npz.add_array("x", &arr2(&[[0.0, 2.0]])).unwrap();
    npz.add_array("y", &arr2(&[[0.0, 1.0, 1.0]])).unwrap();
    npz.finish().unwrap();
    let mut npz = ndarray_npy::NpzWriter::new(fs::File::create(folder.path("offsets.npz")).unwrap());
    npz.add_array("bars", &arr2(&[[0.0, 2.0]])).unwrap();
    npz.add_array("offsets", &ndarray::arr1(&[0i64, 2])).unwrap();
    npz.finish().unwrap();
    folder.write("order.json", "{\"dgms\": [[[0, 1]],\n[[3, 2]]]}");
    let mixed = "mixed.npz: a bar without a dimension, barcode `x`: there is none to choose dimension 1 by";
    for (arguments, sentence) in [
        ("betti mixed.npz --dimension 1 --output c.csv", mixed),
        ("betti offsets.npz --output c.csv", "offsets[1] is 2, but there are only 1 bars"),
        ("betti order.json --dimension 1 --output c.csv", "order.json: bar 0: death = 2 comes before"),
    ] {
        folder.bad(arguments, sentence);
    }
    folder.write("empty.json", "{\"dgms\": []}");
    folder.good("betti empty.json --dimension 0 --output c.csv");
    assert_eq!(fs::read_to_string(folder.path("c.csv")).unwrap(), "function,t,v\n0,0.0,0.0\n");
}

#[test]
fn what_no_matrix_is_made_of() {
    let folder = Folder::new();
    folder.good("random --count 10 --points 5 --output a.npz");
    folder.good("random --count 10 --points 5 --output b.npy");
    folder.write("bad.csv", "function,t,v\n0,0,1\n1,0,1\n1,2,1\n1,2,3\n");
    folder.write("nan.csv", "function,t,v\n0,0,1\n0,1,nan\n");
    folder.write("close.csv", "function,t,v\n0,0,1\n0,1,2\n0,1.0000000001,0\n");
    fs::create_dir(folder.path("folder")).unwrap();
    fs::write(folder.path("t.json"), "as it was").unwrap();
    fs::write(folder.path("old.npy"), "as it was").unwrap();
    for (arguments, sentence) in [
        (
            "pdist bad.csv --output d.npy",
            "bad.csv: line 5: function 1, breakpoint 2: t = 2 repeats the t of the breakpoint before",
        ),
        ("pdist nan.csv --output old.npy", "nan.csv: line 3: function 0, breakpoint 1: v = NaN, but it must be a finite number"),
        ("cdist a.npz bad.csv --output d.npy", "bad.csv: line 5: function 1, breakpoint 2"),
        ("pdist close.csv --dtype f32 --output d.npy", "close.csv: function 0, breakpoints 1 and 2: t = 1 and t = 1.0000000001"),
        ("l2-kernel none.npz --output d.npy", "none.npz: can't be read: no such file"),
        ("l2-kernel a.txt --output d.npy", "a.txt: can't be read: no such file"),
        ("pdist a.npz", "--output"),
        ("pdist --output d.npy", "<A>"),
        ("cdist a.npz --output d.npy", "<B>"),
        ("pdist a.npz --p 0.5 --output d.npy", "p = 0.5, but it must be a number of at least 1"),
        ("pdist a.npz --p -1 --output d.npy", "p = -1, but it must be"),
        ("pdist a.npz --p nan --output d.npy", "p = NaN, but it must be"),
        ("pdist a.npz --p two --output d.npy", "not a number"),
        ("pdist a.npz --p 1e200 --output d.npy", "p = 1e200 is too large for float32"),
        ("cdist a.npz b.npy --p 2 --inner --output d.npy", "cannot be used with"),
        ("cdist a.npz b.npy --layout condensed --output d.npy", "is not symmetric and has no condensed or packed layout"),
        ("cdist a.npz b.npy --inner --layout packed --output d.npy", "is not symmetric and has no condensed or packed layout"),
        ("l2-kernel a.npz --layout condensed --output d.npy", "a condensed matrix has no diagonal"),
        ("pdist a.npz --layout full --output d.npy", "condensed, packed, dense"),
        ("pdist a.npz --dtype f16 --output d.npy", "f32, f64"),
        ("pdist a.npz --nearest 10 --output d.npz", "the 10 nearest functions of each were asked for, but each has 9 others"),
        ("pdist a.npz --step -1 --output d.npy", "error: the step is -1, but it must be above 0"),
        ("pdist a.npz --from 2 --until 1 --output d.npy", "error: the window ends at t = 1, but it starts at t = 2"),
        ("pdist a.npz --gpus 0 --output d.npy", "it must be at least 1"),
        ("pdist a.npz --gpus -1 --output d.npy", "it must be at least 1"),
        ("pdist a.npz --gpus 2 --device 0 --output d.npy", "--gpus can't be used with --device"),
        ("pdist a.npz --backend cpu --device 0 --output d.npy", "it can't be used with --backend cpu"),
        ("pdist a.npz --memory-budget many --output d.npy", "not a size; write 500M, 2GiB or a number of bytes"),
        ("pdist a.npz --memory-budget 0 --output d.npy", "there must be at least 1 byte"),
        ("pdist a.npz --memory-budget -5 --output d.npy", "not a size"),
        ("pdist a.npz --memory-budget 100 --output d.npy", "a memory budget of 100 bytes is too small: at least "),
        ("pdist a.npz --memory-budget 100 --trace new.json --output old.npy", "a memory budget of 100 bytes is too small"),
        ("pdist a.npz --output a.npz", "a.npz: the name must end in .npy"),
        ("pdist a.npz --output d", "d: the name must end in .npy"),
        ("pdist b.npy --output b.npy", "b.npy can't be written: it is to be read"),
        ("cdist a.npz b.npy --output ./b.npy", "./b.npy can't be written: it is to be read"),
        ("pdist a.npz --output no/d.npy", "no/d.npy can't be written: there is no directory no"),
        ("pdist a.npz --trace no/t.json --output d.npy", "no/t.json can't be written: there is no directory no"),
        ("pdist a.npz --trace d.npy --output d.npy", "d.npy can't be written: it is to be written twice"),
        ("pdist a.npz --trace a.npz --output d.npy", "a.npz can't be written: it is to be read"),
        ("pdist a.npz --trace folder --output d.npy", "folder can't be written: it is a directory"),
    ] {
        folder.bad(arguments, sentence);
    }
    for name in ["t.json", "old.npy"] {
        assert_eq!(fs::read(folder.path(name)).unwrap(), b"as it was");
    }
    match no_cuda_reason() {
        Some(reason) => folder.bad("pdist a.npz --backend cuda --gpus 2 --output d.npy", &reason),
        None => folder.bad("pdist a.npz --backend cuda --gpus 64 --output d.npy", "--gpus 64 is asked for, but there "),
    }
}

/// A matrix of 324 MB where the process may have 128 MiB of its own.
#[test]
#[cfg(target_os = "linux")]
fn larger_than_the_memory() {
    let folder = Folder::new();
    let limited =
        |arguments: &str| folder.shell(&format!("ulimit -d 131072 && RAYON_NUM_THREADS=2 \"$0\" --backend cpu pcf {arguments}"));
    // A command that needs more memory shows that the limit works.
    let output = limited("random --count 2e5 --points 100 --output large.npz");
    let stderr = text(&output.stderr);
    if output.status.code() != Some(2) || !stderr.contains("not enough memory") {
        eprintln!("skipped: memory can't be limited here: {} {stderr}", output.status);
        return;
    }
    folder.good("random --count 9000 --points 5 --output a.npz");
    let output = limited("pdist a.npz --layout dense --memory-budget 16MiB --output d.npy --json");
    assert_eq!((output.status.code(), &*text(&output.stderr)), (Some(0), ""));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["output_bytes"], 324_000_128);

    let set = io::load_as::<f32>(&folder.path("a.npz")).unwrap();
    let matrix = folder.read::<f32>("d.npy");
    assert_eq!(matrix.shape(), [9000, 9000]);
    for i in (0..9000).step_by(97).chain([8999]) {
        for j in (0..9000).step_by(89).chain([8999]) {
            let expected = lp_distance(set.get(i), set.get(j), 1.0).unwrap();
            assert!((matrix[[i, j]] - expected).abs() <= 1e-5 * expected);
        }
    }
}

#[test]
fn steps_are_numbers_or_durations() {
    let folder = Folder::new();
    folder.write("a.csv", "t,v\n0,1\n5000,2\n9000,0\n");
    let made = ["1h", "3600", "60m"].map(|step| {
        folder.good(&format!("convert a.csv --step {step} --output {step}.npz"));
        io::load_as::<f64>(&folder.path(&format!("{step}.npz"))).unwrap()
    });
    assert_eq!(
        made[0].get(0).points().iter().map(|point| (point.t, point.v)).collect::<Vec<_>>(),
        [(0.0, 1.0), (3600.0, 1.0), (7200.0, 2.0), (10800.0, 0.0)]
    );
    assert!(made[1] == made[0] && made[2] == made[0]);
    folder.bad("convert a.csv --step 1x --output b.npz", "write a number, or a duration as 15m or 1h");
}
