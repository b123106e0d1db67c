//! Piecewise constant functions on the host: invalid ones, files, integrals, means and barcodes.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use ndarray::{Array1, Array2, Array3, ArrayD, IxDyn, ShapeBuilder as _, aview1};
use ndarray_npy::{NpzReader, NpzWriter, WritableElement, read_npy, write_npy};
use proptest::prelude::*;
use warpsmith::common::Real;
use warpsmith::common::chain;
use warpsmith::pcf::{
    Measure, Pcf, PcfError, PcfReal, PcfRef, PcfSet, Point, Repairs,
    barcode::{Bar, Barcode, Filtration, accumulated_persistences, betti_curves, stable_ranks},
    integral,
    io::{self, BarcodeOptions, PcfData},
    l2_inner, lp_distance, lp_norm, random,
};
use zip::{CompressionMethod, write::SimpleFileOptions};

use crate::{folder::Folder, oracle};

fn pcf(points: &[(f64, f64)]) -> Pcf<f64> {
    Pcf::new(points.iter().copied()).unwrap()
}

/// A set of functions that may be invalid.
fn set_of<T: PcfReal>(functions: &[&[(T, T)]]) -> Result<PcfSet<T>, PcfError> {
    let mut offsets = vec![0];
    let points: Vec<Point<T>> = functions.iter().flat_map(|points| points.iter().map(|&point| point.into())).collect();
    for points in functions {
        offsets.push(offsets[offsets.len() - 1] + points.len());
    }
    PcfSet::from_parts(offsets, points)
}

// ---- invalid functions

#[test]
fn errors_name_function_and_breakpoint() {
    let fine: &[(f64, f64)] = &[(0.0, 1.0), (1.0, 0.0)];
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for (bad, sentence) in [
        (&[][..], "function 2 has no breakpoints"),
        (&[(0.5, 1.0)], "function 2, breakpoint 0: t = 0.5, but the first breakpoint must be at t = 0"),
        (&[(-1.0, 1.0), (1.0, 0.0)], "function 2, breakpoint 0: t = -1, but the first"),
        (&[(0.0, 1.0), (-1.0, 0.0)], "function 2, breakpoint 1: t = -1 comes after t = 0; breakpoints must be in strictly"),
        (&[(0.0, 1.0), (2.0, 0.0), (1.0, 0.0), (0.5, 0.0)], "function 2, breakpoint 2: t = 1 comes after t = 2"),
        (&[(0.0, 1.0), (2.0, 0.0), (2.0, 1.0)], "function 2, breakpoint 2: t = 2 repeats the t of the breakpoint before"),
        (&[(0.0, 1.0), (-0.0, 2.0)], "function 2, breakpoint 1: t = -0 repeats"),
        (&[(nan, 1.0)], "function 2, breakpoint 0: t = NaN, but it must be a finite number"),
        (&[(0.0, 1.0), (nan, 1.0), (2.0, 0.0)], "function 2, breakpoint 1: t = NaN"),
        (&[(0.0, 1.0), (inf, 1.0)], "function 2, breakpoint 1: t = inf"),
        (&[(0.0, 1.0), (-inf, 1.0)], "function 2, breakpoint 1: t = -inf"),
        (&[(0.0, nan)], "function 2, breakpoint 0: v = NaN"),
        (&[(0.0, 1.0), (1.0, -inf)], "function 2, breakpoint 1: v = -inf"),
        (&[(0.0, 1.0), (1e200, 0.0)], "function 2, breakpoint 1: t = 1e200 is too large for float64: at most 6.7039"),
        (&[(0.0, 1.0), (1.0, -1e160)], "function 2, breakpoint 1: v = -1e160 is too large for float64"),
        // The first of two.
        (&[(0.0, 1.0), (1.0, inf), (0.5, nan)], "function 2, breakpoint 1: v = inf"),
    ] {
        let error = set_of(&[fine, fine, bad, &[(1.0, 1.0)]]).unwrap_err().to_string();
        assert!(error.starts_with(sentence), "{error}\n{sentence}");
        let alone = Pcf::new(bad.iter().copied()).unwrap_err().to_string();
        assert!(alone.starts_with(&sentence.replace("function 2", "function 0")), "{alone}");
    }
    // In the middle of many, which are looked at in parallel.
    let mut many = vec![fine; 5000];
    many[3210] = &[(0.0, 1.0), (1.0, 0.0), (1.0, 0.0)];
    many[4000] = &[(1.0, 1.0)];
    assert_eq!(set_of(&many).unwrap_err().breakpoint(), Some((3210, 2)));
}

#[test]
fn limits_of_the_types() {
    let limit = <f32 as PcfReal>::MAX_VALUE;
    assert!(Pcf::new([(0.0, limit), (limit, -limit)]).is_ok());
    let above = f32::from_bits(limit.to_bits() + 1);
    assert!(matches!(Pcf::new([(0.0f32, above)]), Err(PcfError::TooLarge { name: "float32", .. })));
    assert!(matches!(Pcf::new([(0.0f32, 1.0), (above, 0.0)]), Err(PcfError::TooLarge { breakpoint: 1, .. })));
    let start = Pcf::new([(-0.0f64, 5.0)]).unwrap();
    assert!(start.points()[0].t.is_sign_positive());
}

#[test]
fn offsets_that_divide_nothing() {
    let points = vec![Point::new(0.0, 1.0); 3];
    for (offsets, sentence) in [
        (&[][..], "offsets is empty"),
        (&[1, 3], "offsets[0] is 1, but the first must be 0"),
        (&[0, 2], "offsets[1] is 2, but the last must be the number of points, 3"),
        (&[0, 1, 4], "offsets[2] is 4, but there are only 3 points"),
        (&[0, 2, 1, 3], "offsets[2] is 1, but it must not be below the one before, 2"),
        (&[0, 1, 1, 3], "function 1 has no breakpoints"),
    ] {
        let error = PcfSet::from_parts(offsets.to_vec(), points.clone()).unwrap_err().to_string();
        assert!(error.starts_with(sentence), "{error}");
    }
    let set = PcfSet::from_parts(vec![0, 1, 2, 3], points).unwrap();
    assert_eq!((set.len(), set.shape(), set.offsets()), (3, &[3][..], &[0, 1, 2, 3][..]));
    let empty = PcfSet::<f32>::from_parts(vec![0], vec![]).unwrap();
    assert!(empty.is_empty() && empty.max_time() == 0.0);
    assert_eq!(empty.mean(), Err(PcfError::NoFunctions { what: "mean" }));
    assert_eq!(empty.std(), Err(PcfError::NoFunctions { what: "standard deviation" }));
}

#[test]
fn shapes() {
    let set = random::uniform::<f32>(6, 3, 0).unwrap();
    let shaped = set.clone().with_shape(&[2, 1, 3]).unwrap();
    assert_eq!((shaped.shape(), shaped.points()), (&[2, 1, 3][..], set.points()));
    for (shape, sentence) in [
        (&[4][..], "the shape (4,) holds 4, but there are 6 functions"),
        (&[], "the shape () holds 1, but"),
        (&[2, 0], "the shape (2, 0) holds 0, but"),
        (&[1 << 40, 1 << 40], "holds more than can be counted, but"),
    ] {
        let error = set.clone().with_shape(shape).unwrap_err().to_string();
        assert!(error.contains(sentence), "{error}");
    }
    assert!(PcfSet::from_functions([Pcf::<f32>::zero()]).with_shape(&[]).is_ok());
    assert!(PcfSet::<f32>::from_functions([]).with_shape(&[1 << 40, 1 << 40, 0]).is_ok());
}

#[test]
fn narrower_types() {
    let set = set_of(&[&[(0.0, 1.0)][..], &[(0.0, 0.1), (1.0, 2.0), (1.0 + 1e-12, 3.0)]]).unwrap();
    assert_eq!(
        set.cast::<f32>().unwrap_err().to_string(),
        "function 1, breakpoints 1 and 2: t = 1 and t = 1.000000000001 are the same in float32; keep the functions in a wider type"
    );
    let near_zero = set_of(&[&[(0.0, 1.0), (1e-60, 2.0)]]).unwrap();
    assert!(matches!(near_zero.cast::<f32>(), Err(PcfError::Merged { function: 0, breakpoint: 1, .. })));
    for points in [[(0.0, 1.0), (1.0, 1e30)], [(0.0, 1.0), (1e300_f64.sqrt(), 1.0)]] {
        let error = set_of(&[&points]).unwrap().cast::<f32>().unwrap_err();
        assert!(matches!(error, PcfError::TooLarge { function: 0, breakpoint: 1, name: "float32", .. }), "{error}");
    }
    let fine = random::uniform::<f32>(10, 100, 1).unwrap().with_shape(&[5, 2]).unwrap();
    assert_eq!(fine.cast::<f64>().unwrap().cast::<f32>().unwrap(), fine);
    assert_eq!(fine.clone().into_cast::<f32>().unwrap(), fine);
}

// ---- files

/// A folder, and a file of this text in it.
fn csv(files: &Folder, name: &str, text: &str) -> PathBuf {
    files.write(name, text);
    files.path(name)
}

#[track_caller]
fn fails<R: std::fmt::Debug>(result: Result<R, PcfError>, path: &Path, sentence: &str) {
    let error = chain(&result.unwrap_err());
    let reason = error.strip_prefix(&format!("{}: ", path.display())).expect("the file is named");
    assert!(reason.starts_with(sentence), "{reason}\n{sentence}");
}

#[test]
fn round_trips() {
    let files = Folder::of("pcf");
    let even = random::uniform::<f64>(6, 5, 1).unwrap();
    let uneven = random::uneven::<f64>(40, 30, 2).unwrap();
    let narrow = random::uneven::<f32>(40, 30, 3).unwrap();
    let extreme = set_of(&[&[(0.0, -0.0), (5e-324, 1e-300), (1e100, -1e150)]]).unwrap();
    let none = PcfSet::<f64>::from_functions([]);
    for (name, sets) in [
        ("a.npz", vec![&even, &uneven, &extreme, &none]),
        ("a.npy", vec![&even, &extreme, &none]),
        ("a.CSV", vec![&uneven, &extreme, &none]),
    ] {
        for set in sets {
            io::save(set, &files.path(name)).unwrap();
            let loaded = io::load(&files.path(name)).unwrap();
            assert_eq!((loaded.len(), loaded.kind().name()), (set.len(), "float64"));
            assert_eq!(loaded, PcfData::F64(set.clone()), "{name}");
            assert_eq!(io::load_as::<f64>(&files.path(name)).unwrap(), *set);
        }
    }
    // Shapes, where a format has them.
    for shape in [&[2, 3][..], &[3, 1, 2]] {
        let shaped = even.clone().with_shape(shape).unwrap();
        for name in ["b.npz", "b.npy"] {
            io::save(&shaped, &files.path(name)).unwrap();
            assert_eq!(io::load_as::<f64>(&files.path(name)).unwrap().shape(), shape);
        }
        fails(io::save(&shaped, &files.path("b.csv")), &files.path("b.csv"), "functions of a shape of other than one");
    }
    let single = PcfSet::from_functions([Pcf::new([(0.0, 2.5)]).unwrap()]).with_shape(&[]).unwrap();
    io::save(&single, &files.path("c.npz")).unwrap();
    assert_eq!(io::load_as::<f64>(&files.path("c.npz")).unwrap(), single);
    // Single precision, and from one to the other.
    for name in ["d.npz", "d.csv"] {
        io::save(&narrow, &files.path(name)).unwrap();
        assert_eq!(io::load_as::<f32>(&files.path(name)).unwrap(), narrow);
    }
    assert_eq!(io::load(&files.path("d.npz")).unwrap(), PcfData::F32(narrow.clone()));
    assert_eq!(io::load_as::<f64>(&files.path("d.npz")).unwrap(), narrow.cast::<f64>().unwrap());
    assert_eq!(files.files().len(), 3 + 2 + 1 + 2, "nothing else is left");
}

#[test]
fn what_cannot_be_saved() {
    let files = Folder::of("pcf");
    let uneven = set_of(&[&[(0.0, 1.0)][..], &[(0.0, 1.0)], &[(0.0, 1.0), (1.0, 0.0)]]).unwrap();
    let path = files.path("a.npy");
    fails(io::save(&uneven, &path), &path, "function 0 has 1 breakpoint and function 2 has 2: functions of different lengths");
    fails(io::save(&uneven, &files.path("a.txt")), &files.path("a.txt"), "the name must end in .npz, .npy or .csv");
    let nowhere = files.path("no/a.npz");
    let error = io::save(&uneven, &nowhere).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{} can't be written: there is no directory", nowhere.display())), "{error}");
    assert_eq!(files.files().len(), 0);
}

#[test]
fn csv_as_people_write_it() {
    let files = Folder::of("pcf");
    let lines = "\u{feff}function, t, v\r\n0, 0, 1\r\n0, 1.5, 2e-1\r\n\r\n1,0,-3\r\n\"1\",.5,+4\r\n";
    let set = io::load_as::<f64>(&csv(&files, "a.csv", lines)).unwrap();
    assert_eq!(set, set_of(&[&[(0.0, 1.0), (1.5, 0.2)], &[(0.0, -3.0), (0.5, 4.0)]]).unwrap());
    // 0.5 + 2^-25 + 10^-20 is just above the middle of two f32, but on it in f64.
    let path = csv(&files, "b.csv", "function,t,v\n0,0,0.50000002980232238771\n");
    assert_eq!(io::load_as::<f32>(&path).unwrap().points()[0].v, 0.5 + f32::EPSILON / 2.0);
}

#[test]
fn files_of_a_wider_type() {
    let files = Folder::of("pcf");
    let lines = "function,t,v\n0,0,1\n0,1,2\n0,1.000000000001,3\n";
    let sentence = "function 0, breakpoints 1 and 2: t = 1 and t = 1.000000000001 are the same in float32";
    let path = csv(&files, "a.csv", lines);
    fails(io::load_as::<f32>(&path), &path, sentence);
    let set = io::load_as::<f64>(&path).unwrap();
    io::save(&set, &files.path("a.npz")).unwrap();
    fails(io::load_as::<f32>(&files.path("a.npz")), &files.path("a.npz"), sentence);
}

#[test]
fn csv_errors_name_line_and_column() {
    let files = Folder::of("pcf");
    for (text, sentence) in [
        ("", "is empty, but must be a table"),
        ("a,b\n", "line 1: there is no column `t`, only `a`, `b`: choose one (--columns t=NAME)"),
        ("function,t,v\n0,0,1\n0,x,1\n", "line 3: column `t`: `x` is not a number or a time of RFC 3339"),
        ("\u{feff}function,t,v\r\n0,0,1\r\n0,1,1\r\n\r\n0,2,1\r\n0,3,x\r\n", "line 6: column `v`: `x`"),
        ("\u{feff}function,t,v\r\n0,0,1\r\n0,1,1\r\n\r\n0,2,1\r\n\r\n0,2,1\r\n", "line 7: function 0, breakpoint 3"),
        ("function,t,v\n0,0,1\n\n\n0,1,\n", "line 5: column `v`: `` is not a number"),
        ("function,t,v\n0\0,0,1\n", "line 2: column `function`: `0\0` is not a name"),
        ("function,t,v\n0,0,1\n,1,2\n", "line 3: column `function`: `` is not a name"),
        ("function,t,v\n0,0,1,5\n", "line 2: there are 4 fields for 3 columns"),
        ("function,t,v\n0,0,1\n1,0,2\n\n1,0,3\n", "line 5: function 1, breakpoint 1: t = 0 repeats"),
        ("function,t,v\n0,0,nan\n", "line 2: function 0, breakpoint 0: v = NaN"),
        ("function,t,v\n0,0,1e999\n", "line 2: function 0, breakpoint 0: v = inf"),
        ("function,t,v\nb,0,1\na,2,1\nb,1,1\na,1,1\n", "line 5: function 1, breakpoint 0: t = 1, but the first"),
        (
            "function,t,v\n0,1,1\n",
            "line 2: function 0, breakpoint 0: t = 1, but the first breakpoint must be at t = 0: choose a window",
        ),
    ] {
        let path = csv(&files, "a.csv", text);
        fails(io::load(&path), &path, sentence);
    }
    fs::write(files.path("a.csv"), b"function,t,v\n0,\xff,1\n").unwrap();
    fails(io::load(&files.path("a.csv")), &files.path("a.csv"), "line 2: field 2 is not UTF-8 text");
    fails(io::load(&files.path("none.csv")), &files.path("none.csv"), "can't be read: no such file");
    fs::create_dir(files.path("d.csv")).unwrap();
    fails(io::load(&files.path("d.csv")), &files.path("d.csv"), "is a directory");
}

#[test]
fn npy_arrays() {
    let files = Folder::of("pcf");
    let path = files.path("a.npy");
    // One function alone.
    write_npy(&path, &ndarray::arr2(&[[0.0f32, 1.0], [2.0, 0.0]])).unwrap();
    assert_eq!(io::load(&path).unwrap(), PcfData::F32(set_of(&[&[(0.0, 1.0), (2.0, 0.0)]]).unwrap()));
    // The first index fastest.
    let values = [[[0.0, 1.0], [2.0, 3.0]], [[0.0, 4.0], [5.0, 6.0]], [[0.0, 7.0], [8.0, 9.0]]];
    let mut fortran = Array3::zeros((3, 2, 2).f());
    fortran.assign(&ndarray::arr3(&values));
    write_npy(&path, &fortran).unwrap();
    assert!(String::from_utf8_lossy(&fs::read(&path).unwrap()).contains("'fortran_order': True"));
    let expected: Vec<_> = values.iter().map(|[a, b]| pcf(&[(a[0], a[1]), (b[0], b[1])])).collect();
    assert_eq!(io::load_as::<f64>(&path).unwrap(), PcfSet::from_functions(expected));

    fn write<T: WritableElement + Clone>(path: &Path, shape: &[usize], values: &[T]) {
        write_npy(path, &ArrayD::from_shape_vec(IxDyn(shape), values.to_vec()).unwrap()).unwrap();
    }
    let check = |sentence: &str| fails(io::load(&path), &path, sentence);
    write(&path, &[2, 2, 2], &[0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 2.0]);
    check("function 1, breakpoint 1: t = 0 repeats");
    write(&path, &[1, 2, 3], &[0.0; 6]);
    check("holds an array of shape (1, 2, 3), but that of functions must be (functions, breakpoints, 2)");
    write(&path, &[2], &[0.0; 2]);
    check("holds an array of shape (2,), but");
    write(&path, &[3, 0, 2], &[0.0; 0]);
    check("function 0 has no breakpoints");
    write(&path, &[1, 1, 2], &[0i32; 2]);
    check("holds int32, but functions must be float32 or float64");
    fs::write(&path, b"no").unwrap();
    check("is not a .npy file");
    write(&path, &[1, 1, 2], &[0.0f32; 2]);
    fs::write(&path, &fs::read(&path).unwrap()[..130]).unwrap();
    check("is truncated");
}

#[test]
fn npz_errors_name_the_array() {
    let files = Folder::of("pcf");
    let path = files.path("a.npz");
    let check = |sentence: &str| fails(io::load(&path), &path, sentence);
    let write = |offsets: &[i64], points: &[[f64; 2]], shape: Option<&[i64]>| {
        let mut npz = NpzWriter::new(fs::File::create(&path).unwrap());
        npz.add_array("offsets", &aview1(offsets)).unwrap();
        npz.add_array("points", &ndarray::aview2(points)).unwrap();
        if let Some(shape) = shape {
            npz.add_array("shape", &aview1(shape)).unwrap();
        }
        npz.finish().unwrap();
    };
    let points = [[0.0, 1.0], [1.0, 0.0], [0.0, 2.0], [0.5, 1.0], [0.25, 0.0]];
    write(&[0, 2, 5], &points, None);
    check("array `points`: row 4: function 1, breakpoint 2: t = 0.25 comes after t = 0.5");
    write(&[0, 2, 4], &points, None);
    check("array `offsets`: offsets[2] is 4, but the last must be the number of points, 5");
    write(&[0, -2, 5], &points, None);
    check("array `offsets`: offsets[1] is -2, but it must be an index from 0 on");
    write(&[0, 2, 2, 5], &points, None);
    check("array `offsets`: function 1 has no breakpoints");
    write(&[0, 2, 4], &points[..4], Some(&[3]));
    check("array `shape`: the shape (3,) holds 3, but there are 2 functions");
    write(&[0, 2, 4], &points[..4], Some(&[2, 1]));
    assert_eq!(io::load_as::<f64>(&path).unwrap().shape(), [2, 1]);

    let mut npz = NpzWriter::new(fs::File::create(&path).unwrap());
    npz.add_array("offsets", &aview1(&[0i32, 1])).unwrap();
    npz.finish().unwrap();
    check("has no array `points`; it holds offsets");
    let mut npz = NpzWriter::new(fs::File::create(&path).unwrap());
    npz.add_array("offsets", &aview1(&[0.0, 1.0])).unwrap();
    npz.finish().unwrap();
    check("array `offsets`: holds float64, but offsets must be int32, int64, uint32 or uint64");
    let mut npz = NpzWriter::new(fs::File::create(&path).unwrap());
    npz.add_array("offsets", &aview1(&[0u32, 1])).unwrap();
    npz.add_array("points", &aview1(&[0.0, 1.0])).unwrap();
    npz.finish().unwrap();
    check("array `points`: has the shape (2,), but it must be (breakpoints of all functions, 2)");

    let set = random::uniform::<f32>(10, 100, 0).unwrap();
    io::save(&set, &path).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in [0, 1, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        check(if length == 0 { "is empty" } else { "is not an archive (.npz), or only a part of one" });
    }
    // A bit that fell over in the points.
    let mut broken = whole.clone();
    broken[whole.len() / 2] ^= 1;
    fs::write(&path, broken).unwrap();
    check("array `points`: ");
}

/// As `numpy.savez_compressed` writes them.
#[test]
fn compressed_archives() {
    use std::io::Write as _;
    use zip::ZipWriter;
    let files = Folder::of("pcf");
    let options = packed();
    let mut zip = ZipWriter::new(fs::File::create(files.path("a.npz")).unwrap());
    let mut add = |name: &str, write: &dyn Fn(&Path)| {
        write(&files.path("part.npy"));
        zip.start_file(name, options).unwrap();
        zip.write_all(&fs::read(files.path("part.npy")).unwrap()).unwrap();
    };
    add("offsets.npy", &|path| write_npy(path, &aview1(&[0i64, 2, 3])).unwrap());
    add("points.npy", &|path| write_npy(path, &ndarray::arr2(&[[0.0, 1.0], [2.0, 0.0], [0.0, 5.0]])).unwrap());
    zip.finish().unwrap();
    let set = io::load_as::<f64>(&files.path("a.npz")).unwrap();
    assert_eq!(set, set_of(&[&[(0.0, 1.0), (2.0, 0.0)][..], &[(0.0, 5.0)]]).unwrap());
}

/// Several threads read what isn't compressed, and sum up their parts.
#[test]
fn checksums_of_archives() {
    let files = Folder::of("pcf");
    let path = files.path("a.npz");
    let set = random::uniform::<f64>(30, 10_000, 1).unwrap();
    io::save(&set, &path).unwrap();
    assert_eq!(io::load(&path).unwrap(), io::PcfData::F64(set));
    let bytes = fs::read(&path).unwrap();
    // The value of a point near the start, and of one near the end.
    for place in [1016, bytes.len() - 1024] {
        let mut changed = bytes.clone();
        changed[place] ^= 1;
        fs::write(&path, changed).unwrap();
        fails(io::load(&path), &path, "array `points`: can't be read: invalid checksum");
    }
}

#[test]
fn saved_archives_are_numpys() {
    let files = Folder::of("pcf");
    let set = random::uneven::<f32>(7, 9, 0).unwrap();
    io::save(&set, &files.path("a.npz")).unwrap();
    let mut npz = NpzReader::new(fs::File::open(files.path("a.npz")).unwrap()).unwrap();
    assert_eq!(npz.names().unwrap(), ["offsets", "points"]);
    let offsets: Array1<i64> = npz.by_name("offsets").unwrap();
    assert!(offsets.iter().zip(set.offsets()).all(|(&a, &b)| a == b as i64) && offsets.len() == 8);
    let points: Array2<f32> = npz.by_name("points").unwrap();
    assert_eq!(points.rows().into_iter().map(|row| Point::new(row[0], row[1])).collect::<Vec<_>>(), set.points());
    io::save(&random::uniform::<f32>(4, 3, 0).unwrap(), &files.path("a.npy")).unwrap();
    assert_eq!(read_npy::<_, Array3<f32>>(files.path("a.npy")).unwrap().shape(), [4, 3, 2]);
}

// ---- integrals

#[test]
fn agrees_with_masspcf() {
    let (a, b, mut npz) = oracle::masspcf();
    assert_eq!((a.len(), b.len()), (12, 7));
    let mut check = |name: &str, cols: &PcfSet<f64>, entry: &dyn Fn(PcfRef<'_, f64>, PcfRef<'_, f64>) -> f64| {
        let expected: Array2<f64> = npz.by_name(name).unwrap();
        for ((i, j), &expected) in expected.indexed_iter() {
            let found = entry(a.get(i), cols.get(j));
            assert!((found - expected).abs() <= 1e-12 * expected.abs(), "{name} {i} {j}: {found} and {expected}");
        }
        assert_eq!(expected.dim(), (a.len(), cols.len()));
    };
    for p in [1.0, 2.0, 3.5] {
        check(&format!("pdist_p{p}"), &a, &|f, g| lp_distance(f, g, p).unwrap());
        check(&format!("cdist_p{p}"), &b, &|f, g| lp_distance(f, g, p).unwrap());
    }
    check("l2_kernel", &a, &|f, g| l2_inner(f, g));
}

#[test]
fn closed_forms() {
    // Steps of height h and width w: |h| w^(1/p).
    for p in [1.0, 1.5, 2.0, 3.0, 10.0] {
        let norm = lp_norm(&pcf(&[(0.0, -3.0), (4.0, 0.0)]), p).unwrap();
        assert!((norm - 3.0 * 4f64.powf(1.0 / p)).abs() < 1e-13, "{p}: {norm}");
    }
    // A staircase of n steps of width 1 from n down to 1: sums of powers.
    let n = 1000;
    let stairs = pcf(&(0..=n).map(|k| (f64::from(k), f64::from(n - k))).collect::<Vec<_>>());
    let n = f64::from(n);
    assert_eq!(lp_norm(&stairs, 1.0).unwrap(), n * (n + 1.0) / 2.0);
    assert_eq!(l2_inner(&stairs, &stairs), n * (n + 1.0) * (2.0 * n + 1.0) / 6.0);
    let cubes = lp_norm(&stairs, 3.0).unwrap().powi(3);
    assert!((cubes / (n * (n + 1.0) / 2.0).powi(2) - 1.0).abs() < 1e-13);
    // The same function in other breakpoints.
    let (f, g) = (pcf(&[(0.0, 1.0), (2.0, 0.0)]), pcf(&[(0.0, 1.0), (0.5, 1.0), (2.0, 0.0), (9.0, 0.0)]));
    assert_eq!(lp_distance(&f, &g, 2.0), Ok(0.0));
}

#[test]
fn tails() {
    let (one, two, zero) = (pcf(&[(0.0, 5.0), (1.0, 1.0)]), pcf(&[(0.0, 2.0)]), Pcf::zero());
    for p in [1.0, 2.0, 2.5] {
        assert_eq!(lp_distance(&one, &two, p), Ok(f64::INFINITY));
        assert_eq!(lp_distance(&one, &one, p), Ok(0.0));
        assert_eq!(lp_norm(&two, p), Ok(f64::INFINITY));
        assert!((lp_distance(&one, &pcf(&[(0.0, 1.0)]), p).unwrap() - 4.0).abs() < 1e-15);
    }
    let minus = pcf(&[(0.0, 0.0), (1.0, -1e-150)]);
    assert_eq!(l2_inner(&one, &two), f64::INFINITY);
    assert_eq!(l2_inner(&one, &minus), f64::NEG_INFINITY);
    assert_eq!(l2_inner(&minus, &minus), f64::INFINITY);
    assert_eq!((l2_inner(&one, &zero), l2_inner(&two, &pcf(&[(0.0, 3.0), (2.0, 0.0)]))), (0.0, 12.0));
}

#[test]
fn integrals_from_a_time_to_another() {
    let f = pcf(&[(0.0, 3.0), (1.0, 1.0), (3.0, 0.0)]);
    let inf = f64::INFINITY;
    for (start, end, expected) in
        [(0.0, inf, 5.0), (0.5, 2.0, 2.5), (1.0, 1.0, 0.0), (2.0, 1.0, 0.0), (7.0, inf, 0.0), (inf, inf, 0.0)]
    {
        assert_eq!(integral(&f, start, end), expected, "{start}..{end}");
    }
    let endless = pcf(&[(0.0, 1.0), (2.0, -1.0)]);
    assert_eq!((integral(&endless, 0.0, inf), integral(&endless, 0.0, 9.0), integral(&endless, inf, inf)), (-inf, -5.0, 0.0));
}

#[test]
fn values_that_are_no_functions() {
    let set = set_of(&[&[(0.0, 1.0), (1.0, 0.0)][..], &[(0.0, 2.0)]]).unwrap();
    let error = set.combine(&set, &[(0, 1), (1, 0)], |a, b| a / b).unwrap_err();
    assert!(error.to_string().starts_with("function 1, breakpoint 1: v = inf, but it must be"), "{error}");
    assert!(set.combine(&set, &[], |a, _| a).unwrap().is_empty() && set.take(&[]).unwrap().is_empty());
    assert_eq!(set.values_at(&[]), Ok(vec![]));
}

#[test]
fn exponents_below_one() {
    let f = Pcf::<f32>::zero();
    for p in [0.999, 0.0, -1.0, f64::NAN, 1e39] {
        for result in [lp_distance(&f, &f, p), lp_norm(&f, p)] {
            assert!(result.unwrap_err().to_string().ends_with("but it must be a number of at least 1"));
        }
    }
}

/// A short time counts as a long one, and values that hold for ever count.
#[test]
fn infinite_exponent() {
    let f = Pcf::new([(0.0, 1.0), (2.0, -7.0), (2.0 + 1e-12, 3.0), (5.0, 2.0)]).unwrap();
    let g = Pcf::new([(0.0, -1.0), (4.0, 0.0)]).unwrap();
    let constant = Pcf::new([(0.0, -9.0)]).unwrap();
    for (f, g, expected) in [(&f, &g, 6.0), (&g, &f, 6.0), (&f, &f, 0.0), (&constant, &f, 12.0), (&g, &constant, 9.0)] {
        assert_eq!(lp_distance(f, g, f64::INFINITY), Ok(expected));
    }
    assert_eq!(lp_norm(&f, f64::INFINITY), Ok(7.0));
}

/// A function of 1 to 5,000 breakpoints.
fn function() -> impl Strategy<Value = Pcf<f64>> {
    oracle::functions(1, 5000).prop_map(|set| set.get(0).to_pcf())
}

fn narrow(f: &Pcf<f64>) -> Pcf<f32> {
    // Neighbours may become one: the later one counts.
    let mut points: Vec<Point<f32>> = Vec::new();
    for point in f.points() {
        let point = Point::new(point.t as f32, point.v as f32);
        match points.last_mut() {
            Some(last) if last.t == point.t => last.v = point.v,
            _ => points.push(point),
        }
    }
    Pcf::new(points).unwrap()
}

fn widen(f: &Pcf<f32>) -> Pcf<f64> {
    Pcf::new(f.points().iter().map(|point| (f64::from(point.t), f64::from(point.v)))).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn integrals_by_brute_force(f in function(), g in function(), p in prop_oneof![Just(1.0), Just(2.0), Just(f64::INFINITY), 1.0..6.0f64]) {
        let (f_narrow, g_narrow) = (narrow(&f), narrow(&g));
        let (f_wide, g_wide) = (widen(&f_narrow), widen(&g_narrow));
        for measure in [Measure::Lp(p), Measure::Inner] {
            let entry = |f: &Pcf<f64>, g: &Pcf<f64>| match measure {
                Measure::Lp(p) => lp_distance(f, g, p).unwrap(),
                Measure::Inner => l2_inner(f, g),
            };
            let found_narrow = f64::from(match measure {
                Measure::Lp(p) => lp_distance(&f_narrow, &g_narrow, p).unwrap(),
                Measure::Inner => l2_inner(&f_narrow, &g_narrow),
            });
            for (found, f, g, unit) in
                [(entry(&f, &g), &f, &g, f64::UNIT_ROUNDOFF), (found_narrow, &f_wide, &g_wide, f32::UNIT_ROUNDOFF)]
            {
                let (f, g) = (f.as_ref(), g.as_ref());
                let exact = oracle::exact(f, g, measure);
                let bound = oracle::bound(f, g, measure, exact, unit) + f64::from(f32::MIN_POSITIVE);
                prop_assert!(found == exact.0 || (found - exact.0).abs() <= bound, "{:?}: {} for {:?}", measure, found, exact);
            }
            prop_assert_eq!(entry(&f, &g), entry(&g, &f));
        }
    }

    #[test]
    fn mean_at_any_time(set in oracle::functions(8, 5000), t in 0.0..12.0f64) {
        let functions: Vec<Pcf<f64>> = set.iter().map(PcfRef::to_pcf).collect();
        let mean = set.mean().unwrap();
        let times = functions.iter().flat_map(|f| f.points().iter().map(|point| point.t)).collect::<Vec<_>>();
        let step = times.len() / 50 + 1;
        for &t in times.iter().step_by(step).chain(&[t, 2e6]) {
            let expected = functions.iter().map(|f| f.value_at(t)).sum::<f64>() / functions.len() as f64;
            prop_assert!((mean.value_at(t) - expected).abs() <= 1e-14, "{} at {}", mean.value_at(t), t);
        }
        prop_assert!(mean.points().windows(2).all(|pair| pair[0].v != pair[1].v));
        let bits: HashSet<u64> = times.iter().map(|t| t.to_bits()).collect();
        prop_assert!(mean.points().iter().all(|point| bits.contains(&point.t.to_bits())));
        prop_assert_eq!(set.max_time(), times.iter().copied().fold(0.0, f64::max));
        let narrow = set.iter().map(|f| narrow(&f.to_pcf())).collect::<PcfSet<f32>>();
        let (found, t) = (narrow.mean().unwrap(), t as f32);
        let expected = narrow.iter().map(|g| f64::from(g.value_at(t))).sum::<f64>() / narrow.len() as f64;
        prop_assert!((f64::from(found.value_at(t)) - expected).abs() <= 5.0 * f32::UNIT_ROUNDOFF);
    }

    #[test]
    fn parts_and_combinations(f in function(), g in function(), bounds in (0.0..12.0f64, 0.0..12.0f64)) {
        let set = PcfSet::from_functions([f.clone(), g.clone()]);
        let turned = set.take(&[1, 0, 1]).unwrap();
        prop_assert!(turned.iter().eq([g.as_ref(), f.as_ref(), g.as_ref()]));

        let pairs = [(0, 0), (0, 1), (1, 2)];
        let sums = set.combine(&turned, &pairs, |a, b| a + 2.0 * b).unwrap();
        let mut times: Vec<f64> = set.points().iter().map(|point| point.t).step_by(set.points().len() / 50 + 1).collect();
        times.extend([bounds.0, bounds.1, f64::INFINITY]);
        for (sum, (i, j)) in sums.iter().zip(pairs) {
            let value = |t: f64| set.get(i).value_at(t) + 2.0 * turned.get(j).value_at(t);
            prop_assert!(times.iter().all(|&t| sum.value_at(t) == value(t)));
            prop_assert!(sum.points().windows(2).all(|pair| pair[0].v != pair[1].v));
        }
        let values = set.values_at(&times).unwrap();
        prop_assert!(values.iter().copied().eq([&f, &g].into_iter().flat_map(|h| times.iter().map(|&t| h.value_at(t)))));

        // The function times the one that is 1 between the bounds.
        let (start, end) = (bounds.0.min(bounds.1), bounds.0.max(bounds.1).max(bounds.0 + 1e-9));
        let window = if start == 0.0 { pcf(&[(0.0, 1.0), (end, 0.0)]) } else { pcf(&[(0.0, 0.0), (start, 1.0), (end, 0.0)]) };
        let (expected, magnitude) = oracle::brute(f.as_ref(), window.as_ref(), |a, b| a * b);
        prop_assert!((integral(&f, start, end) - expected).abs() <= 1e-12 * magnitude);
    }

    // ---- barcodes

    #[test]
    fn curves_by_counting(
        bars in proptest::collection::vec((0..40u32, prop_oneof![4 => (0..40u32).prop_map(Some), 1 => Just(None)]), 0..60),
        t in prop_oneof![0.0..30.0f64, (0..60u32).prop_map(|t| f64::from(t) / 2.0)],
    ) {
        // Times of halves, so that some are the same.
        let bar = |(birth, length): (u32, Option<u32>)| {
            let birth = f64::from(birth) / 2.0;
            (birth, length.map_or(f64::INFINITY, |length| birth + f64::from(length) / 2.0))
        };
        let bars: Vec<(f64, f64)> = bars.into_iter().map(bar).collect();
        let barcode = Barcode::new(bars.iter().copied()).unwrap();
        let alive = bars.iter().filter(|(birth, death)| *birth <= t && t < *death).count();
        let long = bars.iter().filter(|(birth, death)| death - birth > t).count();
        let (betti, rank) = (barcode.betti_curve::<f64>().unwrap(), barcode.stable_rank::<f64>().unwrap());
        prop_assert_eq!((betti.value_at(t), rank.value_at(t)), (alive as f64, long as f64));
        prop_assert_eq!(widen(&barcode.betti_curve::<f32>().unwrap()), betti.clone());
        prop_assert_eq!(widen(&barcode.stable_rank::<f32>().unwrap()), rank.clone());
        let accumulated = barcode.accumulated_persistence::<f64>().unwrap();
        // Sums of halves, without rounding; those of bars without end aren't there.
        let lengths = bars.iter().filter(|(birth, death)| birth / 2.0 + death / 2.0 <= t).map(|(birth, death)| death - birth);
        prop_assert_eq!(accumulated.value_at(t), lengths.fold(0.0, |sum, length| sum + length));
        prop_assert_eq!(widen(&barcode.accumulated_persistence::<f32>().unwrap()), accumulated.clone());
        for f in [betti, rank, accumulated] {
            prop_assert!(f.points().windows(2).all(|pair| pair[0].v != pair[1].v));
        }
    }
}

#[test]
fn deviations_at_any_time() {
    let set = random::uniform::<f64>(301, 20, 4).unwrap();
    let pairs: Vec<(usize, usize)> = (0..set.len()).map(|function| (function, 0)).collect();
    let far = PcfSet::from_functions([Pcf::constant(1e6).unwrap()]);
    let away = set.combine(&far, &pairs, |f, c| f + c).unwrap().std().unwrap();
    let deviation = set.std().unwrap();
    for &Point { t, v } in deviation.points().iter().step_by(50) {
        let values: Vec<f64> = set.iter().map(|f| f.value_at(t)).collect();
        let mean = values.iter().sum::<f64>() / 301.0;
        let expected = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 301.0).sqrt();
        assert!((v - expected).abs() <= 1e-13, "{v} and {expected} at {t}");
        // Far from zero, only the functions' own rounding is lost.
        let found = away.value_at(t);
        assert!((found - expected).abs() <= 1e-9, "{found} and {expected} at {t}");
    }
    assert!(deviation.points().windows(2).all(|pair| pair[0].v != pair[1].v));
    assert_eq!(deviation.points().last().unwrap().v, 0.0);
}

#[test]
fn deviations_of_few_and_of_extreme_ones() {
    let single = set_of(&[&[(0.0, 3.0), (1.0, 7.0)]]).unwrap();
    assert_eq!(single.std(), Ok(Pcf::zero()));
    let same = single.take(&[0; 7]).unwrap();
    assert_eq!(same.std(), Ok(Pcf::zero()));
    let two = set_of(&[&[(0.0, 1.0), (2.0, 5.0)][..], &[(0.0, 3.0), (1.0, 5.0)]]).unwrap();
    assert_eq!(two.std(), Ok(pcf(&[(0.0, 1.0), (1.0, 2.0), (2.0, 0.0)])));
    // Neither squares nor sums of squares have to fit the type.
    for extreme in [f64::MAX_VALUE, 1e-200] {
        let ends = set_of(&[&[(0.0, extreme)], &[(0.0, -extreme)]]).unwrap();
        let many = ends.take(&[0, 1, 1, 0, 0, 1]).unwrap();
        for set in [ends, many] {
            let found = set.std().unwrap().value_at(0.0);
            assert!(found <= extreme * (1.0 + 1e-15) && found >= extreme * (1.0 - 1e-15), "{found} of {extreme}");
            assert!(found <= f64::MAX_VALUE);
        }
    }
}

#[test]
fn mean_of_what_cancels_is_zero() {
    let set = random::uniform::<f64>(1001, 20, 4).unwrap();
    let mean = set.mean().unwrap();
    assert_eq!(mean.points().last().unwrap().v, 0.0);
    assert_eq!(set_of(&[&[(0.0, 1.0), (1.0, -1.0)][..], &[(0.0, -1.0), (1.0, 1.0)]]).unwrap().mean(), Ok(Pcf::zero()));
    assert_eq!(mean, set.mean().unwrap());
}

#[test]
fn no_bars() {
    let none = Barcode::default();
    assert_eq!((none.betti_curve(), none.stable_rank()), (Ok(Pcf::<f64>::zero()), Ok(Pcf::<f64>::zero())));
    let seen_by_none = Barcode::new([(0.0, 0.0), (3.0, 3.0)]).unwrap();
    assert_eq!((seen_by_none.betti_curve(), seen_by_none.stable_rank()), (Ok(Pcf::<f32>::zero()), Ok(Pcf::<f32>::zero())));
    // Of no length once rounded.
    let short = Barcode::new([(1.0, 1.0 + 1e-12)]).unwrap();
    assert_eq!(short.betti_curve::<f32>(), Ok(Pcf::zero()));
    assert_eq!(short.betti_curve::<f64>(), Ok(pcf(&[(0.0, 0.0), (1.0, 1.0), (1.0 + 1e-12, 0.0)])));
    assert_eq!(none.accumulated_persistence(), Ok(Pcf::<f64>::zero()));
    assert_eq!(seen_by_none.accumulated_persistence(), Ok(Pcf::<f64>::zero()));
    // Stable ranks know no births.
    assert_eq!(Barcode::new([(-2.0, 1.0)]).unwrap().stable_rank(), Ok(pcf(&[(0.0, 1.0), (3.0, 0.0)])));
}

#[test]
fn what_is_no_bar() {
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    for (bar, sentence) in [
        ((nan, 1.0), "bar 1: birth = NaN, but it must be a finite number"),
        ((-inf, 1.0), "bar 1: birth = -inf, but"),
        ((inf, inf), "bar 1: birth = inf, but"),
        ((0.0, nan), "bar 1: death = NaN, but it must be a number, or inf"),
        ((2.0, 1.0), "bar 1: death = 1 comes before birth = 2"),
        ((2.0, -inf), "bar 1: death = -inf comes before birth = 2"),
    ] {
        let error = Barcode::new([(0.0, 1.0), bar, (5.0, 4.0)]).unwrap_err().to_string();
        assert!(error.starts_with(sentence), "{error}");
    }
    let negative = Barcode::new([(0.0, 1.0), (-0.5, 1.0)]).unwrap();
    let error = betti_curves::<f64>(std::slice::from_ref(&negative)).unwrap_err().to_string();
    assert!(error.starts_with("bar 1: birth = -0.5, but the function starts at t = 0"), "{error}");
    let error = betti_curves::<f64>(&[Barcode::default(), negative.clone(), negative]).unwrap_err().to_string();
    assert!(error.starts_with("barcode 1, bar 1: birth = -0.5"), "{error}");
    let long = Barcode::new([(0.0, 1e20)]).unwrap();
    let error = stable_ranks::<f32>(std::slice::from_ref(&long)).unwrap_err().to_string();
    assert!(error.starts_with("bar 0: death - birth = 1e20 is too large for float32"), "{error}");
    assert!(long.betti_curve::<f32>().is_err() && long.betti_curve::<f64>().is_ok());
    let early = Barcode::new([(0.0, 1.0), (-2.0, 1.0)]).unwrap();
    let error = accumulated_persistences::<f64>(&[early]).unwrap_err().to_string();
    assert!(error.starts_with("bar 1: (birth + death) / 2 = -0.5, but the function starts at t = 0"), "{error}");
}

/// As `numpy.savez_compressed` packs.
fn packed() -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(CompressionMethod::Deflated)
}

/// Barcodes of a sublevel filtration and any dimension.
fn bars(path: &Path) -> Result<Vec<Barcode>, PcfError> {
    io::load_barcodes(path, BarcodeOptions::default()).map(|read| read.barcodes)
}

#[test]
fn barcodes_from_files() {
    let files = Folder::of("pcf");
    let inf = f64::INFINITY;
    let one = [Barcode::new([(0.0, inf), (0.5, 2.0)]).unwrap()];
    assert_eq!(bars(&csv(&files, "a.csv", "birth,death\n0,inf\n0.5,2\n")).unwrap(), one);
    let many = "barcode,birth,death\n0,0,inf\n0,0.5,2\n1,,\n2,-1,1\n3,,\n";
    let read = bars(&csv(&files, "b.csv", many)).unwrap();
    assert_eq!(read[0], one[0]);
    assert_eq!(read[1..], [vec![], vec![Bar { birth: -1.0, death: 1.0 }], vec![]].map(|bars| Barcode::new(bars).unwrap()));
    assert_eq!(bars(&csv(&files, "c.csv", "birth,death\n")).unwrap(), [Barcode::default()]);
    assert_eq!(bars(&csv(&files, "c.csv", "barcode,birth,death\n")).unwrap(), []);
    let path = files.path("a.npy");
    write_npy(&path, &ndarray::arr2(&[[0.0, inf], [0.5, 2.0]])).unwrap();
    assert_eq!(bars(&path).unwrap(), one);
    write_npy(&path, &ndarray::arr2(&[[0.0, f32::INFINITY], [0.5, 2.0]])).unwrap();
    assert_eq!(bars(&path).unwrap(), one);
    write_npy(&path, &ndarray::arr2(&[[3i64, 5]])).unwrap();
    assert_eq!(bars(&path).unwrap(), [Barcode::new([(3.0, 5.0)]).unwrap()]);

    write_npy(&path, &ndarray::arr2(&[[0.0, 1.0], [0.5, 0.25]])).unwrap();
    fails(bars(&path), &path, "bar 1: death = 0.25 comes before birth = 0.5");
    write_npy(&path, &ndarray::arr2(&[[0.0, 1.0, 2.0, 3.0]])).unwrap();
    fails(bars(&path), &path, "holds an array of shape (1, 4), but that of bars must be (bars, 2), (bars, 3)");
    for (text, sentence) in [
        ("birth,death\n0,1\n\n2,1\n", "line 4: bar 1: death = 1 comes before birth = 2"),
        ("birth,death\n0,\n", "line 2: column `death`: `` is not a number, or inf for a bar without end"),
        ("barcode,birth,death\n0,0,1\n1,0,nan\n", "line 3: barcode 1, bar 0: death = NaN"),
        ("barcode,birth,death\nleft,0,1\nright,2,1\n", "line 3: barcode `right`, bar 0: death = 1 comes before birth = 2"),
        ("birth,x\n0,1\n", "line 1: there is no column `death`, only `birth`, `x`: choose one (--columns death=NAME)"),
    ] {
        let path = csv(&files, "d.csv", text);
        fails(bars(&path), &path, sentence);
    }
}

#[test]
fn barcodes_in_archives() {
    let files = Folder::of("pcf");
    let path = files.path("a.npz");
    let write = |offsets: &[i64], rows: &[[f64; 2]]| {
        let mut npz = NpzWriter::new_with_options(fs::File::create(&path).unwrap(), packed());
        npz.add_array("offsets", &aview1(offsets)).unwrap();
        npz.add_array("bars", &ndarray::arr2(rows)).unwrap();
        npz.finish().unwrap();
    };
    let inf = f64::INFINITY;
    write(&[0, 2, 2, 3], &[[0.0, inf], [0.5, 2.0], [-1.0, 1.0]]);
    let expected = [vec![(0.0, inf), (0.5, 2.0)], vec![], vec![(-1.0, 1.0)]].map(|bars| Barcode::new(bars).unwrap());
    assert_eq!(bars(&path).unwrap(), expected);
    for (offsets, rows, sentence) in [
        (
            &[0, 1, 2][..],
            &[[0.0, 1.0], [2.0, 1.0]][..],
            "array `bars`: row 1: barcode 1, bar 0: death = 1 comes before birth = 2",
        ),
        (&[0, 1], &[[0.0, 1.0], [2.0, 1.0]], "array `offsets`: offsets[1] is 1, but the last must be the number of bars, 2"),
        (&[0, 3, 2], &[[0.0, 1.0], [2.0, 1.0]], "array `offsets`: offsets[1] is 3, but there are only 2 bars"),
        (&[0, -1], &[[0.0, 1.0]], "array `offsets`: offsets[1] is -1, but it must be an index from 0 on"),
        (&[], &[[0.0, 1.0]], "array `offsets`: offsets is empty"),
    ] {
        write(offsets, rows);
        fails(bars(&path), &path, sentence);
    }
    write(&[0, 1], &[[0.0, 1.0]]);
    let options = BarcodeOptions { dimension: Some(1), ..BarcodeOptions::default() };
    fails(io::load_barcodes(&path, options), &path, "array `bars`: doesn't tell the dimensions of its bars");
}

#[test]
fn bars_of_several_dimensions() {
    let files = Folder::of("pcf");
    let of = |path: &Path, dimension| {
        io::load_barcodes(path, BarcodeOptions { dimension, ..BarcodeOptions::default() }).map(|read| read.barcodes)
    };
    let path = csv(&files, "a.csv", "barcode,dimension,birth,death\n0,0,0,inf\n0,1,1,2\n1,0,0,3\n2,,,\n3,1,4,5\n");
    let barcodes = |bars: [&[(f64, f64)]; 4]| bars.map(|bars| Barcode::new(bars.iter().copied()).unwrap()).to_vec();
    assert_eq!(of(&path, Some(0)).unwrap(), barcodes([&[(0.0, f64::INFINITY)], &[(0.0, 3.0)], &[], &[]]));
    assert_eq!(of(&path, Some(1)).unwrap(), barcodes([&[(1.0, 2.0)], &[], &[], &[(4.0, 5.0)]]));
    fails(of(&path, None), &path, "has bars of the dimensions 0, 1: choose one (--dimension)");
    fails(of(&path, Some(2)), &path, "has no bars of dimension 2, only of 0, 1");
    let path = csv(&files, "b.csv", "dimension,birth,death\n7,1,2\n7,3,4\n");
    let expected = [Barcode::new([(1.0, 2.0), (3.0, 4.0)]).unwrap()];
    assert!(of(&path, None).unwrap() == expected && of(&path, Some(7)).unwrap() == expected);
    let path = csv(&files, "c.csv", "dimension,birth,death\n");
    assert_eq!(of(&path, Some(1)).unwrap(), [Barcode::default()]);
    for (text, sentence) in [
        ("dimension,birth,death\n1,0,1\n0,2,1\n", "has bars of the dimensions 0, 1"),
        ("dimension,birth,death\n-1,0,1\n", "line 2: column `dimension`: `-1` is not a dimension, a whole number from 0 on"),
        ("dimension,birth,death\n1,2,1\n", "line 2: bar 0: death = 1 comes before birth = 2"),
    ] {
        let path = csv(&files, "d.csv", text);
        fails(of(&path, None), &path, sentence);
    }
    let path = csv(&files, "d.csv", "birth,death\n0,1\n");
    fails(of(&path, Some(1)), &path, "doesn't tell the dimensions of its bars: there are none to choose dimension 1 by");
}

#[test]
fn superlevel_filtrations() {
    let files = Folder::of("pcf");
    let inf = f64::INFINITY;
    let options = BarcodeOptions { filtration: Filtration::Superlevel, ..BarcodeOptions::default() };
    let path = csv(&files, "a.csv", "birth,death\n5,-inf\n4,1\n3,3\n");
    let barcode = &io::load_barcodes(&path, options).unwrap().barcodes[0];
    assert_eq!(*barcode, Barcode::of(Filtration::Superlevel, [(5.0, -inf), (4.0, 1.0), (3.0, 3.0)]).unwrap());
    // Counted at each level: those that have been born above it, and haven't died there yet.
    assert_eq!(barcode.betti_curve().unwrap(), pcf(&[(0.0, 1.0), (1.0, 2.0), (4.0, 1.0), (5.0, 0.0)]));
    assert_eq!(barcode.stable_rank().unwrap(), pcf(&[(0.0, 2.0), (3.0, 1.0)]));
    // Upside down it is a sublevel filtration with bars as long.
    let mirrored = Barcode::new([(-5.0, inf), (-4.0, -1.0), (-3.0, -3.0)]).unwrap();
    assert_eq!(mirrored.stable_rank::<f64>().unwrap(), barcode.stable_rank().unwrap());
    fails(bars(&path), &path, "line 2: bar 0: death = -inf comes before birth = 5, as in superlevel filtrations alone");
    let path = csv(&files, "a.csv", "birth,death\n5,1\n4,4.5\n");
    fails(io::load_barcodes(&path, options), &path, "line 3: bar 1: death = 4.5 is above birth = 4");
    for (bar, sentence) in [
        ((1.0, -1.0), "bar 0: death = -1, but the function starts at t = 0"),
        ((-1.0, -inf), "bar 0: birth = -1, but the function starts"),
        ((-1.0, -2.0), "bar 0: death = -2, but the function starts"),
    ] {
        let barcode = Barcode::of(Filtration::Superlevel, [bar]).unwrap();
        assert!(barcode.betti_curve::<f64>().unwrap_err().to_string().starts_with(sentence));
    }
}

// ---- repairs

#[test]
fn functions_that_can_be_repaired() {
    let files = Folder::of("pcf");
    let lines = "function,t,v\n0,0,1\n0,2,0\n1,3,5\n1,1,6\n1,1,7\n2,-2,1\n2,0.5,2\n3,0,1\n3,0,2\n3,-0,3\n";
    let path = csv(&files, "a.csv", lines);
    fails(io::load(&path), &path, "line 5: function 1, breakpoint 0: t = 1, but the first");
    let (data, repairs) = io::load_repaired(&path).unwrap();
    let expected = set_of(&[&[(0.0, 1.0), (2.0, 0.0)][..], &[(0.0, 7.0), (2.0, 5.0)], &[(0.0, 1.0), (2.5, 2.0)], &[(0.0, 3.0)]]);
    assert_eq!(data, PcfData::F64(expected.unwrap()));
    assert_eq!(repairs, Repairs { empty: 0, sorted: 0, shifted: 2, merged: 2 });
    // A set that is right stays so, and is repaired once.
    let PcfData::F64(set) = data else { panic!() };
    let again = PcfSet::repaired(set.offsets().to_vec(), set.points().to_vec()).unwrap();
    assert_eq!(again, (set, Repairs::default()));
    // Functions without breakpoints, as archives may have them.
    let point = |t: f32, v: f32| Point { t, v };
    let (set, repairs) = PcfSet::repaired(vec![0, 0, 1, 1], vec![point(0.0, 4.0)]).unwrap();
    assert_eq!(set, set_of(&[&[(0.0, 0.0)][..], &[(0.0, 4.0)], &[(0.0, 0.0)]]).unwrap());
    assert_eq!(repairs, Repairs { empty: 2, ..Repairs::default() });
    // NaN stays NaN, and is called by its place in the file.
    let path = csv(&files, "b.csv", "function,t,v\n0,0,1\n1,3,5\n1,1,nan\n");
    fails(io::load_repaired(&path), &path, "line 4: function 1, breakpoint 0: v = NaN, but it must be a finite number");
}

proptest! {
    /// The value of a repaired function is that of the last breakpoint, as they were given, of those at the latest time
    /// not after it.
    #[test]
    fn repairs_keep_values(points in prop::collection::vec((-5i32..5, -5i32..5), 1..12)) {
        let given: Vec<Point<f64>> = points.iter().map(|&(t, v)| Point { t: f64::from(t), v: f64::from(v) }).collect();
        let (set, _) = PcfSet::repaired(vec![0, given.len()], given.clone()).unwrap();
        let first = points.iter().map(|&(t, _)| t).min().unwrap();
        for t in 0..10 {
            let latest = points.iter().map(|&(at, _)| at).filter(|&at| at - first <= t).max().unwrap();
            let &(_, v) = points.iter().rfind(|&&(at, _)| at == latest).unwrap();
            prop_assert_eq!(set.get(0).value_at(f64::from(t)), f64::from(v));
        }
    }
}

// ---- sizes that files declare

#[test]
fn arrays_without_elements() {
    let files = Folder::of("pcf");
    let path = files.path("a.npy");
    let shaped = |shape: &str| {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
        let bytes = [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
        fs::write(&path, bytes).unwrap();
    };
    for shape in ["(1000000000000000, 0, 2)", "(9223372036854775807, 0, 2)", "(4294967296, 4294967296, 4294967296, 0, 2)"] {
        shaped(shape);
        let sentence = format!("has the shape {shape}: of an array without elements, the rest may make up 1048576 at most");
        fails(io::load(&path), &path, &sentence);
        fails(bars(&path), &path, &sentence);
    }
    shaped("(5, 0, 2)");
    fails(io::load(&path), &path, "function 0 has no breakpoints");
    let (data, repairs) = io::load_repaired(&path).unwrap();
    assert_eq!((data.len(), repairs.empty), (5, 5));
    shaped("(0, 7, 2)");
    assert!(io::load(&path).unwrap().is_empty());
}
