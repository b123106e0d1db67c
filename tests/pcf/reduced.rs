//! Reductions of matrices against all distances, which are whole numbers here and thus exact.

use ndarray::{Array1, Array2, ArrayD};
use ndarray_npy::NpzReader;
use warpsmith::{
    device::Device,
    engine::{Control, Engine, Settings},
    pcf::{Pairwise, Pcf, PcfReal, PcfSet, io, lp_distance},
};

use crate::folder::Folder;

/// Functions whose distances are small whole numbers, many of them equal; of these, number 3 and number 5 are the same.
fn functions<T: PcfReal>(n: usize) -> PcfSet<T> {
    let number = |x: usize| T::from_f64(x as f64);
    PcfSet::from_functions((0..n).map(|i| {
        let i = if i == 5 { 3 } else { i };
        let (a, b) = (i * 7 % 11, i * 5 % 13);
        Pcf::new([(T::ZERO, number(a)), (number(1 + i % 3), number(b)), (number(5), T::ZERO)]).unwrap()
    }))
}

fn distances<T: PcfReal>(rows: &PcfSet<T>, cols: &PcfSet<T>) -> Vec<Vec<T>> {
    rows.iter().map(|f| cols.iter().map(|g| lp_distance(f, g, 1.0).unwrap()).collect()).collect()
}

/// The entries of row `i` with their columns, without that of the row's own number where a matrix is of one set.
fn others<T: PcfReal>(all: &[Vec<T>], i: usize, one_set: bool) -> Vec<(T, usize)> {
    all[i].iter().copied().zip(0..).filter(|&(_, j)| !one_set || j != i).collect()
}

fn engine(gpus: usize, block_side: Option<usize>) -> Engine {
    let devices = Device::all().unwrap().into_iter().cycle().take(gpus);
    Engine::new(devices).unwrap().with_settings(Settings { block_side, ..Settings::default() })
}

/// Blocks that have more entries below the bound than a device reports at a time.
#[test]
fn nearly_all_are_below() {
    let set = functions::<f32>(1500);
    let (sparse, _) = Pairwise::pdist(&set, 1.0).unwrap().below(&engine(1, Some(1500)), 1e6, Control::default()).unwrap();
    assert!(sparse.row_offsets.into_iter().eq((0..=1500).map(|i| 1499 * i)));
    assert!(sparse.columns.into_iter().eq((0..1500).flat_map(|i| (0..1500).filter(move |&j| i != j))));
}

/// Sums of steps of these heights that all last equally long, against whole numbers.
#[test]
fn sums_over_short_times() {
    for time in [2e-9, 2e-15, 1e-200] {
        let set = PcfSet::from_functions((0..5).map(|height| Pcf::new([(0.0, f64::from(height)), (time, 0.0)]).unwrap()));
        for (name, matrix, expected) in [
            ("p = 1", Pairwise::pdist(&set, 1.0).unwrap(), [10.0, 7.0, 6.0, 7.0, 10.0].map(|sum| sum * time)),
            ("p = 2", Pairwise::pdist(&set, 2.0).unwrap(), [10.0, 7.0, 6.0, 7.0, 10.0].map(|sum| sum * time.sqrt())),
            ("inner products", Pairwise::l2_kernel(&set), [0.0, 10.0, 20.0, 30.0, 40.0].map(|sum| sum * time)),
        ] {
            let (sums, _) = matrix.row_sums(&engine(1, None), Control::default()).unwrap();
            let near = sums.iter().zip(expected).all(|(sum, expected)| (sum - expected).abs() <= 1e-13 * expected);
            assert!(near, "{name} over {time:e}: {sums:?} and not {expected:?}");
        }
    }
}

#[test]
fn commands_write_what_is_kept() {
    let folder = Folder::of("pcf");
    let (a, b) = (functions::<f64>(40), functions::<f64>(9));
    io::save(&a, &folder.path("a.npz")).unwrap();
    io::save(&b, &folder.path("b.npz")).unwrap();
    let open = |name: &str| NpzReader::new(std::fs::File::open(folder.path(name)).unwrap()).unwrap();
    for (command, all, one_set) in [("pdist a.npz", distances(&a, &a), true), ("cdist a.npz b.npz", distances(&a, &b), false)] {
        let columns = all[0].len();
        for workers in ["", "--backend cpu --gpus 2"] {
            let table = folder.good(&format!("{command} --nearest 3 {workers} --output nearest.npz"));
            assert!(table.contains("nearest (40 x 3)"), "{table}");
            let mut npz = open("nearest.npz");
            let indices: Array2<i64> = npz.by_name("indices").unwrap();
            let found: Array2<f64> = npz.by_name("distances").unwrap();
            for i in 0..40 {
                let mut expected = others(&all, i, one_set);
                expected.sort_by(|x, y| x.partial_cmp(y).unwrap());
                let row = (0..3).map(|k| (found[[i, k]], indices[[i, k]] as usize));
                assert!(row.eq(expected[..3].iter().copied()), "{command} {workers}, row {i}");
            }
        }

        let json = folder.good(&format!("{command} --below 2.5 --output sparse.npz --json"));
        let mut npz = open("sparse.npz");
        let shape: Array1<i64> = npz.by_name("shape").unwrap();
        let offsets: Array1<i64> = npz.by_name("indptr").unwrap();
        let kept: Array1<i64> = npz.by_name("indices").unwrap();
        let data: Array1<f64> = npz.by_name("data").unwrap();
        assert_eq!((shape.to_vec(), data.len()), (vec![40, columns as i64], offsets[40] as usize));
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert!(json["layout"] == "below" && json["entries"] == data.len(), "{json}");
        for i in 0..40 {
            let row = (offsets[i] as usize..offsets[i + 1] as usize).map(|k| (data[k], kept[k] as usize));
            assert!(row.eq(others(&all, i, one_set).into_iter().filter(|found| found.0 < 2.5)), "{command}, row {i}");
        }
        // SciPy recognises the format by a string of bytes without dimensions.
        let bytes = std::fs::read(folder.path("sparse.npz")).unwrap();
        assert!(bytes.windows(5).any(|text| text == b"'|S3'") && bytes.windows(4).any(|text| text == b"\ncsr"));

        folder.good(&format!("{command} --row-sums --trace t.json --output sums.npy"));
        let sums: ArrayD<f64> = folder.read("sums.npy");
        let expected = (0..40).map(|i| others(&all, i, one_set).into_iter().map(|found| found.0).sum::<f64>());
        assert!(sums.iter().copied().eq(expected), "{command}");
    }
    for (arguments, sentence) in [
        ("pdist a.npz --nearest 0 --output d.npz", "it must be at least 1"),
        ("pdist a.npz --nearest 40 --output d.npz", "the 40 nearest functions of each were asked for, but each has 39 others"),
        (
            "pdist a.npz --nearest 1048576 --output d.npz",
            "the 1048576 nearest functions of each were asked for, but each has 39 others",
        ),
        ("pdist a.npz --nearest 1048577 --output d.npz", "it must be at most 1,048,576"),
        (
            "cdist a.npz b.npz --nearest 10 --output d.npz",
            "the 10 nearest functions of each were asked for, but each has 9 others",
        ),
        ("pdist a.npz --nearest 3 --output d.npy", "d.npy: the name must end in .npz"),
        ("pdist a.npz --row-sums --output d.npz", "d.npz: the name must end in .npy"),
        ("pdist a.npz --nearest 3 --below 2 --output d.npz", "cannot be used with"),
        ("pdist a.npz --nearest 3 --layout dense --output d.npz", "cannot be used with"),
        ("pdist a.npz --below x --output d.npz", "not a number"),
        ("pdist a.npz --below nan --output d.npz", "it must be a number"),
        ("l2-kernel a.npz --nearest 3 --output d.npz", "are for distances, not for inner products"),
        ("cdist a.npz b.npz --inner --below 3 --output d.npz", "are for distances, not for inner products"),
    ] {
        folder.bad(arguments, sentence);
    }
}

#[test]
fn parts_of_a_matrix() {
    let folder = Folder::of("pcf");
    folder.good("random --count 30 --points 20 --output a.npz");
    folder.good("random --count 20 --points 20 --seed 5 --output b.npz");
    for (command, columns) in [("pdist a.npz --p 2", 30), ("cdist a.npz b.npz", 20), ("l2-kernel a.npz", 30)] {
        folder.good(&format!("{command} --layout dense --output all.npy"));
        let all = folder.read::<f32>("all.npy").into_shape_with_order((30, columns)).unwrap();
        for (options, rows, columns) in [
            ("--rows 3..17", 3..17, 0..columns),
            ("--cols 19..20", 0..30, 19..20),
            ("--rows 0..30 --cols 5..15", 0..30, 5..15),
            ("--rows 29..30 --cols 0..1", 29..30, 0..1),
        ] {
            folder.good(&format!("{command} {options} --output part.npy"));
            let part = folder.read::<f32>("part.npy");
            assert_eq!(part.shape(), [rows.len(), columns.len()]);
            let expected = all.slice(ndarray::s![rows, columns]);
            assert!(part.iter().zip(expected).all(|(x, y)| x.to_bits() == y.to_bits()), "{command} {options}");
        }
    }
    for (arguments, sentence) in [
        ("pdist a.npz --rows 0..31 --output d.npy", "--rows 0..31: a.npz has 30 functions"),
        ("cdist a.npz b.npz --cols 0..21 --output d.npy", "--cols 0..21: b.npz has 20 functions"),
        ("pdist a.npz --rows 5..5 --output d.npy", "write two whole numbers as 0..1000, the second one larger"),
        ("pdist a.npz --rows 5 --output d.npy", "write two whole numbers as 0..1000"),
        ("pdist a.npz --rows -1..5 --output d.npy", "write two whole numbers as 0..1000"),
        ("pdist a.npz --rows 0..5 --layout packed --output d.npy", "cannot be used with"),
        ("pdist a.npz --rows 0..5 --nearest 2 --output d.npz", "cannot be used with"),
    ] {
        folder.bad(arguments, sentence);
    }
}
