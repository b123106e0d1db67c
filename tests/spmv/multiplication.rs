//! Sparse matrix times vector: on the device, and over ranks.
//!
//! They run on the backend that `WARPSMITH_BACKEND` names, or on a GPU where there is one.
//!
//! Most matrices here have small integers, whose sums are exact in both precisions: results must be
//! equal for any order of additions. Those of other numbers must be within what rounding can do.

use proptest::{prelude::*, sample::select};
use simt::{Executor, Schedule};
use warpsmith::{
    device::{Backend, Device, DeviceError},
    spmv::{Band, Csr, DeviceMatrix, Part, Partition, SpmvError, SpmvKernel, SpmvReal, Traffic, Transfer, add, gather, spmv},
};

pub(super) type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const KERNELS: [SpmvKernel; 8] = [
    SpmvKernel::Auto,
    SpmvKernel::Rows { lanes: 1 },
    SpmvKernel::Rows { lanes: 2 },
    SpmvKernel::Rows { lanes: 8 },
    SpmvKernel::Rows { lanes: 32 },
    SpmvKernel::Tiles { threads: 32 },
    SpmvKernel::Tiles { threads: 128 },
    SpmvKernel::Tiles { threads: 256 },
];

fn device() -> Device {
    Device::best().expect("the backend that was asked for")
}

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// From -8 to 8.
    fn small(&mut self) -> f64 {
        self.below(17) as f64 - 8.0
    }

    /// From -1 to 1.
    fn unit(&mut self) -> f64 {
        2.0 * (self.next() >> 11) as f64 / (1u64 << 53) as f64 - 1.0
    }
}

/// Lengths of rows.
#[derive(Clone, Copy, Debug)]
enum Rows {
    /// From none to twice this many.
    About(usize),
    /// The same, and one in the middle of this many.
    OneOf(usize, usize),
    /// Most are empty.
    Few,
    /// All are.
    Empty,
    /// One in 50 is ten times as long as all others together have been.
    Skewed,
}

/// A matrix with columns in no order and repeated, whose values `value` gives.
fn matrix<T: SpmvReal>((rows, columns): (usize, usize), kind: Rows, seed: u64, value: fn(&mut Random) -> f64) -> Csr<T> {
    let mut random = Random(seed);
    let mut row_ptr = vec![0];
    let mut length = 0;
    for row in 0..rows {
        length += match kind {
            _ if columns == 0 => 0,
            Rows::OneOf(long, _) if row == rows / 2 => long,
            Rows::About(mean) | Rows::OneOf(_, mean) => random.below(2 * mean + 1),
            Rows::Few => 40 * usize::from(random.below(40) == 0),
            Rows::Empty => 0,
            Rows::Skewed if random.below(50) == 0 => (10 * length).min(5_000),
            Rows::Skewed => random.below(4),
        };
        row_ptr.push(length as u32);
    }
    let indices = (0..length).map(|_| random.below(columns) as u32).collect();
    let values = (0..length).map(|_| T::from_f64(value(&mut random))).collect();
    Csr::new((rows, columns), row_ptr, indices, values).expect("a valid matrix")
}

fn vector<T: SpmvReal>(len: usize, seed: u64, value: fn(&mut Random) -> f64) -> Vec<T> {
    let mut random = Random(seed);
    (0..len).map(|_| T::from_f64(value(&mut random))).collect()
}

/// y = A x of integers, by a matrix that isn't sparse.
fn dense<T: SpmvReal>(matrix: &Csr<T>, x: &[T]) -> Vec<i64> {
    let mut all = vec![vec![0i64; matrix.columns()]; matrix.rows()];
    for (row, dense) in all.iter_mut().enumerate() {
        let nonzeros = matrix.row_ptr()[row] as usize..matrix.row_ptr()[row + 1] as usize;
        for nonzero in nonzeros {
            dense[matrix.column_indices()[nonzero] as usize] += matrix.values()[nonzero].to_f64() as i64;
        }
    }
    let product = |row: &Vec<i64>| row.iter().zip(x).map(|(value, x)| value * x.to_f64() as i64).sum();
    all.iter().map(product).collect()
}

/// An exact sum of two numbers: what is rounded, and what that left out (Knuth).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// y = A x with twice the digits of f64, and what each entry may be off by in precision T: a product is rounded once,
/// and of k of them each goes through at most k - 1 sums, in whatever order. So the error is at most k u / (1 - k u) of
/// the sum of the magnitudes (Higham, *Accuracy and Stability of Numerical Algorithms*, section 3.1); products fused
/// with sums are rounded less often.
fn bounds<T: SpmvReal>(matrix: &Csr<T>, x: &[T]) -> Vec<(f64, f64)> {
    let of_row = |row| {
        let (columns, values) = matrix.row(row);
        let (mut sum, mut rest, mut magnitude) = (0.0, 0.0, 0.0f64);
        for (&column, &value) in columns.iter().zip(values) {
            let (a, b) = (value.to_f64(), x[column as usize].to_f64());
            let product = a * b;
            let (next, error) = two_sum(sum, product);
            (sum, rest) = (next, rest + error + a.mul_add(b, -product));
            magnitude += product.abs();
        }
        let roundings = columns.len() as f64 * T::UNIT_ROUNDOFF;
        // The oracle's own rounding, of its last sum and of the magnitudes.
        let own = 2.0 * f64::EPSILON * (sum.abs() + columns.len() as f64 * f64::EPSILON * magnitude);
        (sum + rest, roundings / (1.0 - roundings) * magnitude + own)
    };
    (0..matrix.rows()).map(of_row).collect()
}

fn multiply<T: SpmvReal>(device: &Device, matrix: &Csr<T>, x: &[T], kernel: SpmvKernel) -> Result<Vec<T>> {
    let stream = device.stream()?;
    let on_device = DeviceMatrix::with_kernel(device, matrix, kernel)?;
    assert_eq!((on_device.rows(), on_device.columns(), on_device.nnz()), (matrix.rows(), matrix.columns(), matrix.nnz()));
    let x = device.upload(x)?;
    // An entry that isn't written shows.
    let mut y = device.upload(&vec![T::from_f64(f64::NAN); matrix.rows()])?;
    on_device.multiply(&stream, &x, &mut y)?;
    let result = stream.download_vec(&y)?;
    // Twice the same.
    on_device.multiply(&stream, &x, &mut y)?;
    let again = stream.download_vec(&y)?;
    let bits = |y: &[T]| y.iter().map(|y| y.to_f64().to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&result), bits(&again), "{kernel}");
    Ok(result)
}

fn check_exact<T: SpmvReal>(shape: (usize, usize), kind: Rows, seed: u64, kernels: &[SpmvKernel]) -> Result {
    let matrix = matrix::<T>(shape, kind, seed, Random::small);
    let x = vector::<T>(shape.1, seed ^ 1, Random::small);
    let expected: Vec<_> = dense(&matrix, &x).into_iter().map(|y| y as f64).collect();
    let as_f64 = |y: Vec<T>| y.into_iter().map(T::to_f64).collect::<Vec<_>>();
    for &kernel in kernels {
        assert_eq!(as_f64(multiply(&device(), &matrix, &x, kernel)?), expected, "{kernel} {shape:?} {kind:?} {seed}");
    }
    assert_eq!(as_f64(matrix.multiply(&x)?), expected, "host {shape:?} {kind:?} {seed}");
    assert_eq!(as_f64(spmv(&device(), &matrix, &x)?), expected);
    Ok(())
}

fn check_rounding<T: SpmvReal>(matrix: &Csr<T>, seed: u64, kernels: &[SpmvKernel]) -> Result {
    let x = vector::<T>(matrix.columns(), seed, Random::unit);
    let bounds = bounds(matrix, &x);
    let within = |y: &[T], what: &str| {
        assert_eq!(y.len(), bounds.len());
        for (row, (y, (exact, bound))) in y.iter().zip(&bounds).enumerate() {
            let error = (y.to_f64() - exact).abs();
            assert!(error <= *bound, "{what}, row {row}: {y} is off by {error:e}, of {bound:e} allowed");
        }
    };
    for &kernel in kernels {
        within(&multiply(&device(), matrix, &x, kernel)?, &kernel.to_string());
    }
    within(&matrix.multiply(&x)?, "host");
    Ok(())
}

fn kinds() -> impl Strategy<Value = Rows> {
    prop_oneof![
        4 => (0..40usize).prop_map(Rows::About),
        2 => (0..4_000usize, 0..8usize).prop_map(|(long, mean)| Rows::OneOf(long, mean)),
        1 => Just(Rows::Few),
        1 => Just(Rows::Empty),
        2 => Just(Rows::Skewed),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn integers_are_multiplied_exactly(
        rows in 0..400usize, columns in 0..300usize, kind in kinds(), seed: u64, kernel in select(&KERNELS[..]),
    ) {
        check_exact::<f32>((rows, columns), kind, seed, &[kernel]).unwrap();
        check_exact::<f64>((rows, columns), kind, seed, &[kernel]).unwrap();
    }

    #[test]
    fn rounding_is_within_its_bound(rows in 1..300usize, kind in kinds(), seed: u64, kernel in select(&KERNELS[..])) {
        check_rounding(&matrix::<f32>((rows, 200), kind, seed, Random::unit), seed, &[kernel]).unwrap();
        check_rounding(&matrix::<f64>((rows, 200), kind, seed, Random::unit), seed, &[kernel]).unwrap();
    }
}

#[test]
fn every_kernel_multiplies_every_kind() -> Result {
    // Tiles of 128, 512 and 1,024 nonzeros: rows that fill one just, and just not.
    for kind in [
        Rows::About(5),
        Rows::About(60),
        Rows::OneOf(127, 1),
        Rows::OneOf(128, 1),
        Rows::OneOf(129, 1),
        Rows::OneOf(1_024, 2),
        Rows::OneOf(1_025, 2),
        Rows::OneOf(60_000, 3),
        Rows::Few,
        Rows::Empty,
        Rows::Skewed,
    ] {
        check_exact::<f32>((333, 70), kind, 5, &KERNELS)?;
        check_exact::<f64>((333, 70), kind, 6, &KERNELS)?;
    }
    for shape in [(0, 0), (0, 5), (5, 0), (1, 1), (1, 9), (9, 1), (2_000, 3)] {
        check_exact::<f64>(shape, Rows::About(2), 7, &KERNELS)?;
    }
    Ok(())
}

/// A barrier that is missing is found as a wrong answer in some order of the threads.
#[test]
fn threads_may_run_in_any_order() -> Result {
    for seed in 0..10 {
        let device = Device::cpu_with(Executor::default().with_schedule(Schedule::Random { seed }));
        let matrix = matrix::<f64>((90, 50), Rows::OneOf(700, 6), seed, Random::small);
        let x = vector(50, seed, Random::small);
        let expected: Vec<_> = dense(&matrix, &x).into_iter().map(|y| y as f64).collect();
        for kernel in [SpmvKernel::Rows { lanes: 4 }, SpmvKernel::Tiles { threads: 32 }, SpmvKernel::Tiles { threads: 64 }] {
            assert_eq!(multiply(&device, &matrix, &x, kernel)?, expected, "{kernel} {seed}");
        }
    }
    Ok(())
}

#[test]
fn infinities_and_nan_stay_in_their_rows() -> Result {
    // Lanes and threads without work of their own must not take part of others'.
    let n = 100;
    let triplets = (0..n).flat_map(|i| [(i, i, 1.0), (i, (i + 1) % n, 1.0)]);
    let matrix = Csr::<f64>::from_triplets((n as usize, n as usize), triplets)?;
    let mut x = vec![1.0; n as usize];
    (x[10], x[50]) = (f64::INFINITY, f64::NAN);
    for kernel in KERNELS {
        let y = multiply(&device(), &matrix, &x, kernel)?;
        for (row, y) in y.into_iter().enumerate() {
            match row {
                9 | 10 => assert_eq!(y, f64::INFINITY, "{kernel}, row {row}"),
                49 | 50 => assert!(y.is_nan(), "{kernel}, row {row}"),
                _ => assert_eq!(y, 2.0, "{kernel}, row {row}"),
            }
        }
    }
    Ok(())
}

#[test]
fn a_multiplication_can_be_captured() -> Result {
    let device = device();
    let stream = device.stream()?;
    for kernel in [SpmvKernel::Rows { lanes: 2 }, SpmvKernel::Tiles { threads: 32 }] {
        let matrix = matrix::<f64>((200, 200), Rows::OneOf(900, 6), 3, Random::small);
        let on_device = DeviceMatrix::with_kernel(&device, &matrix, kernel)?;
        assert_eq!(on_device.launches(), if kernel == (SpmvKernel::Tiles { threads: 32 }) { 2 } else { 1 });
        let x = vector::<f64>(200, 4, Random::small);
        let (on_x, mut y, mut z) = (device.upload(&x)?, device.alloc(200)?, device.alloc(200)?);
        // A A x
        let graph = device.capture::<SpmvError>(|stream| {
            on_device.multiply(stream, &on_x, &mut y)?;
            on_device.multiply(stream, &y, &mut z)
        })?;
        // SAFETY: all buffers are there, and nothing else uses them before `download_vec`, on the same stream.
        unsafe { graph.launch(&stream)? };
        let once: Vec<_> = dense(&matrix, &x).into_iter().map(|y| y as f64).collect();
        let twice: Vec<_> = dense(&matrix, &once).into_iter().map(|y| y as f64).collect();
        assert_eq!(stream.download_vec(&z)?, twice, "{kernel}");
    }
    Ok(())
}

#[test]
fn vectors_are_gathered_and_added() -> Result {
    let device = device();
    let stream = device.stream()?;
    for n in [0, 1, 255, 256, 257, 70_001] {
        let x = vector::<f32>(n.max(1), 1, Random::unit);
        let indices: Vec<u32> = (0..n).map(|i| (i * 7 % n) as u32).collect();
        let expected: Vec<f32> = indices.iter().map(|&index| x[index as usize]).collect();
        let (on_x, on_indices, mut out) = (device.upload(&x)?, device.upload(&indices)?, device.alloc::<f32>(n)?);
        gather(&stream, &on_x, &on_indices, &mut out)?;
        assert_eq!(stream.download_vec(&out)?, expected);
        let (a, b) = (vector::<f64>(n, 2, Random::unit), vector::<f64>(n, 3, Random::unit));
        let (on_a, on_b, mut sum) = (device.upload(&a)?, device.upload(&b)?, device.alloc::<f64>(n)?);
        add(&stream, &on_a, &on_b, &mut sum)?;
        let expected: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        assert_eq!(stream.download_vec(&sum)?, expected);
    }
    // On the CPU the error is there at once; a GPU's stays with it.
    if device.backend() == Backend::Cpu {
        let (x, indices, mut out) = (device.upload(&[1.0])?, device.upload(&[1])?, device.alloc::<f64>(1)?);
        assert!(matches!(gather(&stream, &x, &indices, &mut out), Err(SpmvError::Device(DeviceError::Simt(_)))));
    }
    Ok(())
}

#[track_caller]
pub(super) fn says<T: std::fmt::Debug>(result: Result<T, SpmvError>, sentence: &str) {
    assert_eq!(result.expect_err(sentence).to_string(), sentence);
}

#[test]
fn what_cannot_be_multiplied_is_said() -> Result {
    let device = device();
    let stream = device.stream()?;
    let matrix = Csr::<f64>::from_triplets((2, 3), [(0, 0, 1.0)])?;
    let on_device = DeviceMatrix::upload(&device, &matrix)?;
    let (mut two, three) = (device.alloc_zeroed(2)?, device.alloc_zeroed(3)?);
    let mut other = device.alloc_zeroed(4)?;
    let x = "x has 4 elements, but it must have 3: as many as the matrix has columns";
    let y = "y has 4 elements, but it must have 2: as many as the matrix has rows";
    says(on_device.multiply(&stream, &other, &mut two), x);
    says(on_device.multiply(&stream, &three, &mut other), y);
    says(matrix.multiply(&[0.0; 4]), x);
    says(spmv(&device, &matrix, &[0.0; 4]), x);
    says(
        DeviceMatrix::with_kernel(&device, &matrix, SpmvKernel::Rows { lanes: 3 }),
        "rows/3 is not a kernel: a row has 1, 2, 4, 8, 16 or 32 lanes",
    );
    says(
        DeviceMatrix::with_kernel(&device, &matrix, SpmvKernel::Rows { lanes: 64 }),
        "rows/64 is not a kernel: a row has 1, 2, 4, 8, 16 or 32 lanes",
    );
    for threads in [0, 16, 96, 512] {
        let sentence = format!("tiles/{threads} is not a kernel: a tile has 32, 64, 128 or 256 threads");
        says(DeviceMatrix::with_kernel(&device, &matrix, SpmvKernel::Tiles { threads }), &sentence);
    }
    let indices = device.alloc_zeroed::<u32>(2)?;
    says(gather(&stream, &three, &indices, &mut other), "out has 4 elements, but it must have 2: as many as indices");
    says(add(&stream, &three, &three, &mut two), "out has 2 elements, but it must have 3: as many as a");
    says(add(&stream, &two, &three, &mut other), "b has 3 elements, but it must have 2: as many as a");
    Ok(())
}

/// Returns the entries of x that each rank receives, if the others send what they pack.
fn exchange<T: SpmvReal>(parts: &[Part<T>], x: &[T]) -> Vec<Vec<T>> {
    let packed = |part: &Part<T>| part.pack.iter().map(|&index| x[part.rows.clone()][index as usize]).collect::<Vec<_>>();
    let packed: Vec<_> = parts.iter().map(packed).collect();
    let mut received: Vec<_> = parts.iter().map(|part| vec![T::from_f64(f64::NAN); part.remote.columns()]).collect();
    for part in parts {
        for send in &part.sends {
            let place = parts[send.rank].receives.iter().find(|receive| receive.rank == part.rank).expect("it is expected there");
            received[send.rank][place.range.clone()].copy_from_slice(&packed[part.rank][send.range.clone()]);
        }
    }
    received
}

fn check_parts(matrix: &Csr<f64>, ranks: usize, on_device: bool) -> Result {
    let n = matrix.rows();
    let x = vector::<f64>(n, 8, Random::small);
    let parts = (0..ranks).map(|rank| Part::new(matrix, ranks, rank)).collect::<Result<Vec<_>, _>>()?;
    let received = exchange(&parts, &x);
    let device = device();
    let stream = device.stream()?;
    let mut y = Vec::new();
    for (part, x_remote) in parts.iter().zip(&received) {
        assert_eq!((part.rows.start, part.ranks), (y.len(), ranks));
        assert!(part.rows.len() == n / ranks || part.rows.len() == n.div_ceil(ranks));
        // Ranges follow each other, by ascending rank, and none is empty or the rank's own.
        for (neighbours, total) in [(&part.sends, part.pack.len()), (&part.receives, part.remote.columns())] {
            let mut at = 0;
            for neighbour in neighbours {
                assert_eq!(neighbour.range.start, at);
                assert!(!neighbour.range.is_empty() && neighbour.rank != part.rank);
                at = neighbour.range.end;
            }
            assert_eq!(at, total);
            assert!(neighbours.is_sorted_by(|a, b| a.rank < b.rank));
        }
        // No entry is sent for nothing.
        let mut wanted = vec![false; part.remote.columns()];
        part.remote.column_indices().iter().for_each(|&column| wanted[column as usize] = true);
        assert!(wanted.iter().all(|&wanted| wanted));
        let x_local = &x[part.rows.clone()];
        if on_device {
            let (local, remote) = (DeviceMatrix::upload(&device, &part.local)?, DeviceMatrix::upload(&device, &part.remote)?);
            let (on_x, on_remote) = (device.upload(x_local)?, device.upload(x_remote)?);
            let rows = part.rows.len();
            let (mut y_local, mut y_remote, mut sum) = (device.alloc(rows)?, device.alloc(rows)?, device.alloc(rows)?);
            let (pack, mut packed) = (device.upload(&part.pack)?, device.alloc(part.pack.len())?);
            gather(&stream, &on_x, &pack, &mut packed)?;
            let expected: Vec<_> = part.pack.iter().map(|&index| x_local[index as usize]).collect();
            assert_eq!(stream.download_vec(&packed)?, expected);
            local.multiply(&stream, &on_x, &mut y_local)?;
            remote.multiply(&stream, &on_remote, &mut y_remote)?;
            add(&stream, &y_local, &y_remote, &mut sum)?;
            y.extend(stream.download_vec(&sum)?);
        } else {
            let (y_local, y_remote) = (part.local.multiply(x_local)?, part.remote.multiply(x_remote)?);
            y.extend(y_local.iter().zip(y_remote).map(|(a, b)| a + b));
        }
    }
    let expected: Vec<_> = dense(matrix, &x).into_iter().map(|y| y as f64).collect();
    assert_eq!(y, expected, "{ranks} ranks");
    // The sizes alone are those of the parts.
    let traffic = Traffic::new(matrix, ranks)?;
    let messages = |neighbours: &[warpsmith::spmv::Neighbour]| -> Vec<_> {
        neighbours.iter().map(|of| Transfer { rank: of.rank, entries: of.range.len() }).collect()
    };
    assert_eq!(traffic.ranks.len(), ranks);
    for (part, sizes) in parts.iter().zip(&traffic.ranks) {
        assert_eq!((sizes.rows, sizes.local_nnz, sizes.remote_nnz), (part.rows.len(), part.local.nnz(), part.remote.nnz()));
        assert_eq!((&sizes.sends, &sizes.receives), (&messages(&part.sends), &messages(&part.receives)));
        assert_eq!((sizes.sent(), sizes.received()), (part.pack.len(), part.remote.columns()));
    }
    Ok(())
}

#[test]
fn parts_together_are_the_whole() -> Result {
    for ranks in [1, 2, 3, 4, 7] {
        for (n, kind) in
            [(7, Rows::About(2)), (30, Rows::About(3)), (203, Rows::OneOf(500, 4)), (64, Rows::Empty), (100, Rows::Few)]
        {
            check_parts(&matrix((n, n), kind, ranks as u64, Random::small), ranks, true)?;
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn parts_of_any_matrix_are_the_whole(n in 1..120usize, ranks in 1..12usize, kind in kinds(), seed: u64) {
        check_parts(&matrix((n, n), kind, seed, Random::small), ranks.min(n), false).unwrap();
    }

    #[test]
    fn rows_have_the_owner_whose_rows_they_are(rows in 1..1_000usize, ranks in 1..1_000usize) {
        let partition = Partition::new(rows, ranks.min(rows)).unwrap();
        let mut next = 0;
        for rank in 0..partition.ranks() {
            let own = partition.rows(rank);
            prop_assert_eq!(own.start, next);
            for row in own.clone() {
                prop_assert_eq!(partition.owner(row), rank);
            }
            next = own.end;
        }
        prop_assert_eq!(next, rows);
    }
}

#[test]
fn a_part_of_a_matrix_by_hand() -> Result {
    // Rank 0 has rows 0 and 1, rank 1 has row 2, rank 2 has row 3.
    let triplets = [(0, 0, 1.0), (0, 3, 2.0), (0, 2, 3.0), (1, 2, 4.0), (2, 1, 5.0), (3, 0, 6.0), (3, 1, 7.0), (3, 3, 8.0)];
    let matrix = Csr::from_triplets((4, 4), triplets)?;
    let part = Part::<f64>::new(&matrix, 3, 0)?;
    assert_eq!(part.rows, 0..2);
    assert_eq!(part.local, Csr::from_triplets((2, 2), [(0, 0, 1.0)])?);
    assert_eq!(part.remote, Csr::from_triplets((2, 2), [(0, 1, 2.0), (0, 0, 3.0), (1, 0, 4.0)])?);
    let neighbours = |list: &[warpsmith::spmv::Neighbour]| list.iter().map(|of| (of.rank, of.range.clone())).collect::<Vec<_>>();
    assert_eq!(neighbours(&part.receives), [(1, 0..1), (2, 1..2)]);
    assert_eq!(part.pack, [1, 0, 1]);
    assert_eq!(neighbours(&part.sends), [(1, 0..1), (2, 1..3)]);
    Ok(())
}

#[test]
fn what_cannot_be_divided_is_said() -> Result {
    let matrix = Csr::<f64>::from_triplets((3, 3), [(0, 0, 1.0)])?;
    let wide = Csr::<f64>::from_triplets((3, 5), [(0, 0, 1.0)])?;
    says(Part::new(&wide, 2, 0), "the matrix has 3 rows and 5 columns, but for a multiplication over ranks it must be square");
    says(Traffic::new(&wide, 2), "the matrix has 3 rows and 5 columns, but for a multiplication over ranks it must be square");
    says(Part::new(&matrix, 4, 0), "4 ranks can't share 3 rows: each needs at least one");
    says(Partition::new(3, 0), "there are no ranks, and at least one is needed");
    says(Part::new(&matrix, 2, 2), "there is no rank 2: there are 2, from 0");
    says(Part::new(&Csr::<f32>::from_triplets((0, 0), [])?, 1, 0), "1 rank can't share 0 rows: each needs at least one");
    Ok(())
}

/// All positions of a band, one by one.
fn in_band(band: &Band) -> u64 {
    let near = |i: usize| (0..band.rows).filter(|&j| i.abs_diff(j) <= band.half_bandwidth).count() as u64;
    (0..band.rows).map(near).sum()
}

#[test]
fn bands_have_as_many_nonzeros_within_them() -> Result {
    for (rows, half_bandwidth) in [(1, 0), (1, 5), (2, 0), (9, 3), (40, 10), (40, 39), (40, 100), (100, 25)] {
        let band = Band { rows, nonzeros: 0, half_bandwidth, seed: 3 };
        let positions = in_band(&band);
        assert_eq!(band.positions(), positions, "{band:?}");
        for nonzeros in [0, 1, positions / 3, positions / 2, positions / 2 + 1, positions - 1, positions] {
            let band = Band { nonzeros: nonzeros as usize, ..band };
            let matrix = band.matrix::<f64>()?;
            assert_eq!((matrix.rows(), matrix.columns(), matrix.nnz()), (rows, rows, nonzeros as usize));
            for row in 0..rows {
                let (columns, values) = matrix.row(row);
                assert!(columns.is_sorted_by(|a, b| a < b), "{band:?}");
                assert!(columns.iter().all(|&column| row.abs_diff(column as usize) <= half_bandwidth));
                assert!(values.iter().all(|value| value.abs() <= 1.0));
            }
            assert_eq!(matrix, band.matrix()?);
        }
        let full = Band { nonzeros: positions as usize + 1, ..band };
        let sentence = format!(
            "{} nonzeros don't fit in the band: with {rows} rows and a half bandwidth of {half_bandwidth} it has {positions} positions",
            positions + 1
        );
        says(full.matrix::<f64>(), &sentence);
    }
    Ok(())
}

/// The paper's matrix: about half of it is local to four ranks.
#[test]
fn the_default_band_is_that_of_the_paper() -> Result {
    let band = Band::default();
    assert_eq!((band.rows, band.nonzeros, band.half_bandwidth), (150_000, 1_500_000, 37_500));
    let matrix = band.matrix::<f32>()?;
    assert_eq!(matrix.nnz(), 1_500_000);
    let double = band.matrix::<f64>()?;
    assert_eq!((double.row_ptr(), double.column_indices()), (matrix.row_ptr(), matrix.column_indices()));
    assert_ne!(Band { seed: 2, ..band }.matrix::<f32>()?.column_indices(), matrix.column_indices());
    let local: usize = Traffic::new(&matrix, 4)?.ranks.iter().map(|rank| rank.local_nnz).sum();
    // Four squares of a quarter of the rows are local, of all positions in the band; drawn without putting back, the
    // number of nonzeros in them varies by less than sqrt(n p (1 - p)).
    let share = 4.0 * 37_500.0f64.powi(2) / band.positions() as f64;
    let deviation = (1.5e6 * share * (1.0 - share)).sqrt();
    assert!((local as f64 - 1.5e6 * share).abs() < 5.0 * deviation, "{local} of {}", 1.5e6 * share);
    assert!((0.5..0.6).contains(&share));
    // Values are uniform from -1 to 1: a mean of 0, a mean square of 1/3, whose variances over n are 1/3 and 4/45.
    let mean = double.values().iter().sum::<f64>() / 1.5e6;
    let square = double.values().iter().map(|value| value * value).sum::<f64>() / 1.5e6;
    assert!(mean.abs() < 5.0 * (1.0f64 / 3.0 / 1.5e6).sqrt(), "{mean}");
    assert!((square - 1.0 / 3.0).abs() < 5.0 * (4.0f64 / 45.0 / 1.5e6).sqrt(), "{square}");
    check_rounding(&matrix, 3, &[SpmvKernel::Auto])?;
    check_rounding(&double, 4, &[SpmvKernel::Auto])
}

/// Every set of positions is as likely: of a band of 7 positions all 21 pairs come up, each in a 21st of the matrices.
#[test]
fn bands_are_uniform() -> Result {
    let draws = 4_200;
    for nonzeros in [2, 5] {
        let mut counts = std::collections::BTreeMap::new();
        for seed in 0..draws {
            let matrix = Band { rows: 3, nonzeros, half_bandwidth: 1, seed }.matrix::<f32>()?;
            let place = |row| matrix.row(row).0.to_vec();
            *counts.entry([place(0), place(1), place(2)]).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 21);
        // A χ² of 20 degrees of freedom has a mean of 20 and a variance of 40.
        let chi: f64 = counts.values().map(|&count| (f64::from(count) - 200.0).powi(2) / 200.0).sum();
        assert!(chi < 20.0 + 6.0 * 40f64.sqrt(), "{chi}");
    }
    Ok(())
}

/// Thousands of ranks take no longer than reading the matrix a few times, and nothing is lost.
#[test]
fn traffic_of_many_ranks() -> Result {
    let matrix = Band::default().matrix::<f32>()?;
    let traffic = Traffic::new(&matrix, 4_096)?;
    let sum = |of: fn(&warpsmith::spmv::RankTraffic) -> usize| traffic.ranks.iter().map(of).sum::<usize>();
    assert_eq!(sum(|rank| rank.rows), 150_000);
    assert_eq!(sum(|rank| rank.local_nnz + rank.remote_nnz), 1_500_000);
    assert_eq!(sum(|rank| rank.sent()), sum(|rank| rank.received()));
    assert_eq!(sum(|rank| rank.sends.len()), sum(|rank| rank.receives.len()));
    Ok(())
}
