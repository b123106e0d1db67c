//! Features of matrices across each other, on small sets, against a sum in double precision over all breakpoints.
//!
//! The cells are the product of these, on the backend that `WARPSMITH_BACKEND` names:
//!
//! | feature | values | |
//! | --- | --- | ---: |
//! | numbers | f32, f64 | 2 |
//! | measure | p = 1, 2, 3.5, 30, infinity; inner products | 6 |
//! | matrix | of one set, between two, a part of one between two | 3 |
//! | sets | none, one, two, equal ones, single breakpoints, endless ones, many, long ones cut into pieces | 8 |
//! | kept | condensed, packed, dense, nearest, below, row sums | 6 |
//! | kernels | tiled, direct | 2 |
//! | way | memory, device, file, resumed, ranks, workers in blocks of 1 and of 7, little memory | 8 |
//!
//! These are 27,648 cells. A cell that there is no such matrix for is refused by an error. A run takes one in 31, so
//! that any two values meet; with `WARPSMITH_ALL_CELLS` set it takes all.

use std::{
    env,
    io::{self, Cursor},
};

use bytemuck::cast_slice as bits;
use ndarray::{Dimension, Ix1, Ix2, OwnedRepr};
use ndarray_npy::{NpzReader, ReadableElement};
use warpsmith::{
    device::Device,
    engine::{Cancel, Control, Engine, EngineError, Parts, Settings},
    io::files::Destination,
    pcf::{Layout, Measure, Pairwise, PairwiseError, Pcf, PcfKernel, PcfReal, PcfSet, Point},
    ranks,
};

use crate::{folder::Folder, oracle};

/// One in so many cells is taken: a number that has no factor in common with those of the features' values.
const SHARE: usize = 31;

const MEASURES: [Measure; 6] =
    [Measure::Lp(1.0), Measure::Lp(2.0), Measure::Lp(3.5), Measure::Lp(30.0), Measure::Lp(f64::INFINITY), Measure::Inner];
const SETS: [&str; 8] = ["none", "one", "two", "equal", "single breakpoints", "endless", "many", "long"];
const KERNELS: [PcfKernel; 2] = [PcfKernel::Tiled, PcfKernel::Direct];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Of {
    OneSet,
    TwoSets,
    Part,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kept {
    All(Layout),
    Nearest,
    Below,
    Sums,
}

const KEPT: [Kept; 6] =
    [Kept::All(Layout::Condensed), Kept::All(Layout::Packed), Kept::All(Layout::Dense), Kept::Nearest, Kept::Below, Kept::Sums];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Memory,
    Device,
    File,
    Resumed,
    Ranks,
    /// Several workers, in blocks of this side.
    Workers(usize),
    LittleMemory,
}

const WAYS: [Way; 8] =
    [Way::Memory, Way::Device, Way::File, Way::Resumed, Way::Ranks, Way::Workers(1), Way::Workers(7), Way::LittleMemory];

/// Functions whose times are sixteenths and whose values are small whole numbers, so that many are equal; and others
/// that matrices are between.
fn sets<T: PcfReal>(name: &str) -> [PcfSet<T>; 2] {
    let number = |x: usize| T::from_f64(x as f64);
    let function = |seed: usize, points: usize, tail: usize| {
        let point = |k: usize| (T::from_f64((k * (1 + seed % 3)) as f64 / 16.0), number((seed * 7 + k * k * 5) % 11));
        let last = (number(points), number(tail));
        Pcf::new((0..points - 1).map(point).filter(|point| point.0 < last.0).chain([last])).unwrap()
    };
    let single = |height: usize| Pcf::new([(T::ZERO, number(height))]).unwrap();
    let set = |seed: usize| -> PcfSet<T> {
        match name {
            "none" => PcfSet::from_functions([]),
            "one" => PcfSet::from_functions([function(seed, 9, 0)]),
            "two" => PcfSet::from_functions([function(seed, 2, 0), function(seed + 1, 17, 0)]),
            "equal" => (0..5).map(|_| function(3, 6, 0)).collect(),
            "single breakpoints" => [0, 3, 0, seed].map(single).into_iter().collect(),
            "endless" => (0..4).map(|i| function(seed + i, 3 + i, i % 2)).collect(),
            "many" => (0..35).map(|i| function(seed + i, 2 + i % 13, 0)).collect(),
            // Merges of these are cut into pieces.
            _ => [function(seed, 4100, 0), function(seed + 1, 30, 0), function(seed + 2, 4500, 0)].into_iter().collect(),
        }
    };
    let other = set(1);
    let kept: Vec<usize> = (0..other.len()).skip(usize::from(other.len() > 2)).collect();
    [set(0), other.take(&kept).unwrap()]
}

/// All entries by their definition, with the bounds on their errors.
fn exact<T: PcfReal>([rows, cols]: [&PcfSet<T>; 2], measure: Measure) -> Vec<Vec<(f64, f64)>> {
    let (rows, cols) = (rows.cast::<f64>().unwrap(), cols.cast::<f64>().unwrap());
    let entry = |f, g| {
        let exact = oracle::exact(f, g, measure);
        let bound = oracle::bound(f, g, measure, exact, T::UNIT_ROUNDOFF);
        (exact.0, if exact.0.is_finite() { bound } else { 0.0 })
    };
    rows.iter().map(|f| cols.iter().map(|g| entry(f, g)).collect()).collect()
}

fn near(found: f64, (exact, bound): (f64, f64)) -> bool {
    found == exact || (found - exact).abs() <= bound
}

fn engine(way: Way, data: usize) -> Engine {
    let settings = match way {
        Way::Workers(side) => Settings { block_side: Some(side), ..Settings::default() },
        // Two functions at a time, but not all; cut merges take room for sums.
        Way::LittleMemory => {
            let bytes = data / 4 * 5 + if data > 1 << 16 { 200_000 } else { 2048 };
            Settings { memory_budget: Some(bytes), ..Settings::default() }
        }
        _ => Settings::default(),
    };
    let workers = if let Way::Workers(_) = way { 3 } else { 1 };
    Engine::new(Device::all().unwrap().into_iter().cycle().take(workers)).unwrap().with_settings(settings)
}

/// A matrix in a file: afresh, from where it was ended, or by ranks.
fn in_a_file<T: PcfReal>(matrix: Pairwise<'_, T>, layout: Layout, way: Way) -> Result<Vec<T>, PairwiseError> {
    let (folder, device) = (Folder::of("pcf"), Device::best().unwrap());
    let destination = || Destination::prepare(&folder.path("m.npy")).unwrap();
    let settings = |side| Settings { block_side: Some(side), ..Settings::default() };
    let part = |parts: Parts, side, cancel: Option<&Cancel>| {
        let begun = matrix.begin_file(destination(), layout, parts)?;
        let (engine, mut file) = matrix.open_file(begun, layout, std::slice::from_ref(&device), settings(side))?;
        let progress = |_, _| cancel.into_iter().for_each(Cancel::cancel);
        let control = Control { progress: Some(&progress), cancel, ..Control::default() };
        let mut report = matrix.compute_file(&engine, layout, &mut file, control)?;
        file.join(&mut report, "a rank")?;
        let out = file.as_slice().to_vec();
        file.finish()?;
        Ok::<_, PairwiseError>(out)
    };
    let out = match way {
        Way::Ranks => {
            matrix.shape(layout)?;
            let of_ranks = ranks::threads::run(&vec![device.clone(); 3], |_, ranks| {
                let rank = ranks.rank();
                let parts = Parts { resume: false, ranks: Some(ranks) };
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(part(parts, [9, 4, 7][rank], None)?)
            });
            of_ranks.unwrap().swap_remove(0)
        }
        Way::Resumed => {
            let cancel = Cancel::new();
            match part(Parts::RESUME, 3, Some(&cancel)) {
                Err(PairwiseError::Engine(EngineError::Cancelled)) => part(Parts::RESUME, 5, None)?,
                // It had at most one block, or is refused.
                first => first?,
            }
        }
        _ => part(Parts::default(), 5, None)?,
    };
    assert_eq!(folder.files(), ["m.npy"]);
    let bytes = std::fs::read(folder.path("m.npy")).unwrap();
    let entries = &bytes[bytes.len() - size_of_val(&out[..])..];
    assert!(bits::<T, u8>(&out) == entries);
    Ok(out)
}

/// An archive as it is after a round trip.
type Archive = NpzReader<Cursor<Vec<u8>>>;

fn archive(write: impl FnOnce(&mut Cursor<Vec<u8>>) -> io::Result<()>) -> Archive {
    let mut file = Cursor::new(Vec::new());
    write(&mut file).unwrap();
    NpzReader::new(file).unwrap()
}

fn array<A: ReadableElement, D: Dimension>(archive: &mut Archive, name: &str) -> Vec<A> {
    archive.by_name::<OwnedRepr<A>, D>(name).unwrap().into_iter().collect()
}

/// The entries of one layout from those of all.
fn laid_out<T: PcfReal>(all: &[Vec<T>], layout: Layout) -> Vec<T> {
    let wanted = |i: usize, j: usize| match layout {
        Layout::Condensed => i < j,
        Layout::Packed => j <= i,
        Layout::Dense => true,
    };
    let row = |(i, row): (usize, &Vec<T>)| -> Vec<T> { (0..row.len()).filter(|&j| wanted(i, j)).map(|j| row[j]).collect() };
    all.iter().enumerate().flat_map(row).collect()
}

/// A matrix that cells are of.
struct Case<'a, T: PcfReal> {
    matrix: Pairwise<'a, T>,
    of: Of,
    measure: Measure,
    /// All entries, as they were computed in one block.
    all: Vec<Vec<T>>,
    /// Rows' sums by the first way.
    sums: Option<Vec<f64>>,
    /// A bound of all entries.
    largest: f64,
    /// Bytes of the functions.
    data: usize,
}

impl<T: PcfReal + ReadableElement> Case<'_, T> {
    /// The entries of row `i` that count, with their columns.
    fn row(&self, i: usize) -> Vec<(T, usize)> {
        let itself = self.of == Of::OneSet && self.measure != Measure::Inner;
        self.all[i].iter().copied().zip(0..).filter(|&(_, j)| !itself || j != i).collect()
    }

    /// Checks a cell. False if there is no such matrix, or no such way to it.
    fn check(&mut self, kept: Kept, way: Way, cell: &str) -> bool {
        let (matrix, engine, control) = (self.matrix, engine(way, self.data), Control::default());
        let in_memory = !matches!(way, Way::Device | Way::File | Way::Resumed | Way::Ranks);
        match kept {
            Kept::All(layout) => {
                let refused = match (layout, self.of, self.measure) {
                    (Layout::Condensed | Layout::Packed, Of::TwoSets | Of::Part, _) => Some(PairwiseError::NotSymmetric),
                    (Layout::Condensed, _, Measure::Inner) => Some(PairwiseError::Diagonal),
                    _ => None,
                };
                let found = if way == Way::Device {
                    let len = matrix.shape(layout).map_or(0, |shape| shape.iter().product());
                    let device = &engine.devices()[0];
                    let mut out = device.upload(&vec![T::from_f64(f64::NAN); len]).unwrap();
                    let computed = matrix.compute_on_device(&engine, layout, out.as_view_mut(), control);
                    computed.map(|_| device.stream().unwrap().download_vec(&out).unwrap())
                } else if in_memory {
                    matrix.compute(&engine, layout, control)
                } else {
                    in_a_file(matrix, layout, way)
                };
                if let Some(refused) = refused {
                    assert_eq!(found, Err(refused), "{cell}");
                    return false;
                }
                assert!(bits::<T, u8>(&found.unwrap()) == bits::<T, u8>(&laid_out(&self.all, layout)), "{cell}");
            }
            Kept::Nearest | Kept::Below if self.measure == Measure::Inner => {
                assert_eq!(matrix.nearest(&engine, 1, control), Err(PairwiseError::NotDistances), "{cell}");
                assert_eq!(matrix.below(&engine, T::ONE, control), Err(PairwiseError::NotDistances), "{cell}");
                return false;
            }
            Kept::Nearest if in_memory || way == Way::File => {
                let others = matrix.size().1 - usize::from(self.of == Of::OneSet && matrix.size().1 > 0);
                if matrix.size().0 > 0 {
                    let error = matrix.nearest(&engine, others + 1, control).unwrap_err();
                    assert_eq!(error, PairwiseError::Nearest { count: others + 1, others }, "{cell}");
                }
                for count in [0, 1, others.min(3), others].into_iter().filter(|&count| count <= others) {
                    let (mut nearest, _) = matrix.nearest(&engine, count, control).unwrap();
                    if way == Way::File {
                        let mut npz = archive(|file| nearest.write_npz(file, None));
                        nearest.indices = array::<_, Ix2>(&mut npz, "indices");
                        nearest.distances = array::<_, Ix2>(&mut npz, "distances");
                    }
                    let expected = (0..self.all.len()).flat_map(|i| {
                        let mut row = self.row(i);
                        row.sort_by(|x, y| x.partial_cmp(y).unwrap());
                        row.truncate(count);
                        row
                    });
                    let found = nearest.distances.iter().copied().zip(nearest.indices.iter().map(|&index| index as usize));
                    assert!(found.eq(expected), "{cell}, {count}: {nearest:?}");
                }
            }
            Kept::Below if in_memory || way == Way::File => {
                let some = self.all.last().and_then(|row| row.first()).copied();
                for bound in [some.unwrap_or(T::ZERO), T::ZERO, T::ONE, T::INFINITY] {
                    let (mut sparse, _) = matrix.below(&engine, bound, control).unwrap();
                    if way == Way::File {
                        let mut npz = archive(|file| sparse.write_npz(file, None));
                        let shape: Vec<i64> = array::<_, Ix1>(&mut npz, "shape");
                        sparse.shape = (shape[0] as usize, shape[1] as usize);
                        sparse.row_offsets = array::<_, Ix1>(&mut npz, "indptr");
                        sparse.columns = array::<_, Ix1>(&mut npz, "indices");
                        sparse.values = array::<_, Ix1>(&mut npz, "data");
                    }
                    assert_eq!((sparse.shape, sparse.row_offsets.len()), (matrix.size(), matrix.size().0 + 1), "{cell}");
                    for i in 0..self.all.len() {
                        let within = sparse.row_offsets[i] as usize..sparse.row_offsets[i + 1] as usize;
                        let found = within.map(|k| (sparse.values[k], sparse.columns[k] as usize));
                        let expected = self.row(i).into_iter().filter(|&(entry, _)| entry < bound);
                        assert!(found.eq(expected), "{cell}, row {i} below {bound}");
                    }
                }
            }
            Kept::Sums if in_memory => {
                let (found, _) = matrix.row_sums(&engine, control).unwrap();
                let sums = self.sums.get_or_insert_with(|| found.clone());
                assert!(bits::<f64, u8>(sums) == bits::<f64, u8>(&found), "{cell}");
                for (i, &found) in found.iter().enumerate() {
                    let row = self.row(i);
                    let exact: f64 = row.iter().map(|entry| entry.0.to_f64()).sum();
                    let bound = (row.len() + 1) as f64 * 2f64.powi(-48) * self.largest;
                    assert!(near(found, (exact, bound)), "{cell}, row {i}: {found} and {exact}");
                }
            }
            // A reduction is computed by one process at a time, into memory.
            _ => return false,
        }
        true
    }
}

/// Checks all cells, or a share of them, and prints their numbers.
fn cells<T: PcfReal + ReadableElement>() {
    let share = if env::var_os("WARPSMITH_ALL_CELLS").is_some() { 1 } else { SHARE };
    let (mut index, mut counts) = (0, [0, 0]);
    for name in SETS {
        let [a, b] = sets::<T>(name);
        let rows: Vec<usize> = (0..a.len()).rev().step_by(2).collect();
        let part = a.take(&rows).unwrap();
        let most = |set: &PcfSet<T>| {
            let larger = |[t, v]: [f64; 2], point: &Point<T>| [t.max(point.t.to_f64()), v.max(point.v.to_f64())];
            set.points().iter().fold([0.0; 2], larger)
        };
        // A part has its entries from the matrix that it is of.
        let matrices = [(&a, &[Of::OneSet][..]), (&b, &[Of::TwoSets, Of::Part])];
        for measure in MEASURES {
            let exact = matrices.map(|(cols, _)| exact([&a, cols], measure));
            let products = KERNELS.into_iter().flat_map(|kernel| matrices.into_iter().zip(&exact).map(move |of| (kernel, of)));
            for (kernel, ((cols, kinds), exact)) in products {
                let two_sets = Pairwise::cdist(&a, cols, measure).unwrap().with_kernel(kernel);
                let dense = two_sets.compute(&engine(Way::Memory, 0), Layout::Dense, Control::default()).unwrap();
                let entries: Vec<Vec<T>> = dense.chunks(cols.len().max(1)).map(<[T]>::to_vec).collect();
                for (i, j) in (0..a.len()).flat_map(|i| (0..cols.len()).map(move |j| (i, j))) {
                    let (found, exact) = (entries[i][j].to_f64(), exact[i][j]);
                    assert!(
                        near(found, exact),
                        "{} {name} {measure:?} {kernel:?} {kinds:?}, {i} {j}: {found} and {exact:?}",
                        T::NAME
                    );
                }
                let [[t, v], [other_t, other_v]] = [most(&a), most(cols)];
                let largest = match measure {
                    Measure::Lp(p) => (v + other_v) * (4.0 * t.max(other_t)).powf(1.0 / p),
                    Measure::Inner => 4.0 * v * other_v * t.max(other_t),
                };
                for &of in kinds {
                    let (matrix, all) = match of {
                        Of::OneSet => (Pairwise::new(&a, None, measure).unwrap().with_kernel(kernel), entries.clone()),
                        Of::TwoSets => (two_sets, entries.clone()),
                        Of::Part => {
                            let matrix = Pairwise::cdist(&part, &b, measure).unwrap().with_kernel(kernel).part_of(&a, &b);
                            (matrix, rows.iter().map(|&i| entries[i].clone()).collect())
                        }
                    };
                    let points = if of == Of::OneSet { 0 } else { b.points().len() } + a.points().len();
                    let data = points * 2 * size_of::<T>();
                    let mut case = Case { matrix, of, measure, all, sums: None, largest, data };
                    for (kept, way) in KEPT.into_iter().flat_map(|kept| WAYS.map(|way| (kept, way))) {
                        index += 1;
                        if index % share == 0 {
                            let cell = format!("{} {name} {measure:?} {kernel:?} {of:?} {kept:?} {way:?}", T::NAME);
                            counts[usize::from(!case.check(kept, way, &cell))] += 1;
                        }
                    }
                }
            }
        }
    }
    println!("{}: {} cells, {} refused or absent", T::NAME, counts[0], counts[1]);
    assert_eq!(index, 27_648 / 2);
}

#[test]
fn in_single_precision() {
    cells::<f32>();
}

#[test]
fn in_double_precision() {
    cells::<f64>();
}

/// Blocks as tall as a launch's y and as the tallest there are, on both sides.
#[test]
fn thresholds() {
    let step = |height: usize| Pcf::new([(0.0, (height % 7) as f32), (1.0, 0.0)]).unwrap();
    let one = PcfSet::from_functions([step(3)]);
    let engine = engine(Way::Memory, 0).with_settings(Settings { memory_budget: Some(1 << 40), block_side: Some(usize::MAX) });
    for (n, blocks) in [(65_535, 1), (65_536, 1), (131_072, 1), (131_073, 2)] {
        let set: PcfSet<f32> = (0..n).map(step).collect();
        let expected: Vec<f32> = (0..n).map(|i| ((i % 7) as f32 - 3.0).abs()).collect();
        let kernels = &KERNELS[usize::from(n > 65_536)..];
        for (&kernel, [rows, cols]) in kernels.iter().flat_map(|kernel| [(kernel, [&set, &one]), (kernel, [&one, &set])]) {
            let matrix = Pairwise::cdist(rows, cols, Measure::Lp(1.0)).unwrap().with_kernel(kernel);
            let mut out = engine.devices()[0].upload(&vec![f32::NAN; n]).unwrap();
            let report = matrix.compute_on_device(&engine, Layout::Dense, out.as_view_mut(), Control::default()).unwrap();
            assert_eq!(report.blocks, blocks);
            assert!(engine.devices()[0].stream().unwrap().download_vec(&out).unwrap() == expected, "{n} {kernel:?}");
            let (sums, _) = matrix.row_sums(&engine, Control::default()).unwrap();
            let all: Vec<f64> = expected.iter().map(|&entry| entry.into()).collect();
            assert!(sums == if rows.len() == 1 { vec![all.iter().sum()] } else { all }, "{n} {kernel:?}");
        }
    }
}
