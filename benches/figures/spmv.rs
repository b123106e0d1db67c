//! The figures of docs/performance.md on sparse matrices: `cargo bench --bench figures -- spmv`.
//!
//! Each time is of one multiplication in a CUDA graph of many, one after the other with the same vectors, by events
//! around the graph; medians of seven runs after two to warm up. So matrices that fit in the L2 cache are there. Beside
//! it are the bytes that have to be moved at least (columns, values, row starts, x and y once each) over that time; the
//! first line has what a copy moves, for comparison.
//!
//! `--quick` takes small cases; other arguments are the names of the cases to take.
//!
//! `--serve` is for benches/peers/spmv.py, which measures another library in turns with this one; it says how.

use std::{
    error::Error,
    fs,
    io::{BufRead as _, Write as _, stdin, stdout},
    path::{Path, PathBuf},
};

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng as _},
};
use warpsmith::{
    device::{Buffer, Device, Stream},
    list_rank::generate::Permutation,
    spmv::{Band, Csr, DeviceMatrix, Part, SpmvError, SpmvReal},
};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const RUNS: usize = 7;

/// Names, and what they are.
const CASES: [(&str, &str); 7] = [
    ("paper", "band of n/4, 150,000 rows, 1.5e6 nonzeros"),
    ("local", "its local part, rank 1 of 4"),
    ("remote", "its remote part, rank 1 of 4"),
    ("band-15m", "band of n/4, 1.5e6 rows, 1.5e7 nonzeros"),
    ("band-80m", "band of n/4, 8e6 rows, 8e7 nonzeros"),
    ("skewed", "1e6 rows, of which the k-th has 1e6 / k nonzeros, in random order"),
    ("long", "5e4 rows of 200 to 400 nonzeros"),
];

/// A random matrix with rows of these lengths, anywhere.
fn anywhere<T: SpmvReal>(columns: usize, lengths: impl Iterator<Item = usize>) -> Result<Csr<T>> {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut row_ptr = vec![0u32];
    let mut nonzeros = 0;
    for length in lengths {
        nonzeros += length;
        row_ptr.push(u32::try_from(nonzeros)?);
    }
    let indices = (0..nonzeros).map(|_| ((u64::from(rng.next_u32()) * columns as u64) >> 32) as u32).collect();
    let values = (0..nonzeros).map(|_| T::from_f64(f64::from(rng.next_u32()) / f64::from(1u32 << 31) - 1.0)).collect();
    Ok(Csr::new((row_ptr.len() - 1, columns), row_ptr, indices, values)?)
}

fn matrix<T: SpmvReal>(case: &str, quick: bool) -> Result<Csr<T>> {
    let less = if quick { 100 } else { 1 };
    let band = |rows: usize, nonzeros: usize| Band::new(rows / less, nonzeros / less, 1).matrix::<T>();
    let part = || Part::new(&band(150_000, 1_500_000)?, 4, 1);
    Ok(match case {
        "paper" => band(150_000, 1_500_000)?,
        "local" => part()?.local,
        "remote" => part()?.remote,
        "band-15m" => band(1_500_000, 15_000_000)?,
        "band-80m" => band(8_000_000, 80_000_000)?,
        "skewed" => {
            let rows = 1_000_000 / less;
            let permutation = Permutation::new(rows as u64, 3);
            anywhere(rows, (0..rows).map(|row| rows / (permutation.apply(row as u64) as usize + 1)))?
        }
        "long" => anywhere(50_000 / less, (0..50_000 / less).map(|row| 200 + row * 7919 % 201))?,
        _ => return Err(format!("there is no case {case}").into()),
    })
}

fn vector<T: SpmvReal>(len: usize) -> Vec<T> {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    (0..len).map(|_| T::from_f64(f64::from(rng.next_u32()) / f64::from(1u32 << 31) - 1.0)).collect()
}

/// Times in ms of one of `repeats` that are enqueued together, for each of `runs`; of as many as take ten milliseconds,
/// where `repeats` is 0.
fn times(
    device: &Device,
    runs: usize,
    repeats: usize,
    mut work: impl FnMut(&Stream) -> std::result::Result<(), SpmvError>,
) -> Result<Vec<f64>> {
    let stream = device.stream()?;
    // The kernels are loaded before they are captured.
    work(&stream)?;
    let once = stream.time(&mut work)?;
    let repeats = if repeats > 0 { repeats } else { ((10.0 / once) as usize).clamp(1, 200) };
    let graph = device.capture::<SpmvError>(|stream| (0..repeats).try_for_each(|_| work(stream)))?;
    graph.prepare(&stream)?;
    let mut times = Vec::new();
    for run in 0..runs + 2 {
        // SAFETY: the buffers that the captured work uses are borrowed by `work`, which lives longer; nothing else uses
        // them until `time`, which waits, returns.
        let ms = stream.time(|stream| unsafe { graph.launch(stream) })?;
        if run >= 2 {
            times.push(ms / repeats as f64);
        }
    }
    Ok(times)
}

fn line(case: &str, name: &str, work: &str, kernel: &str, bytes: usize, times: Vec<f64>) -> Result {
    let (ms, spread) = crate::median(times);
    println!(
        "{case:<10} {name:<8} {work:>24} {kernel:<10} {:>10.2} us ({:4.1} %) {:>8.0} GB/s",
        1e3 * ms,
        100.0 * spread,
        bytes as f64 / ms / 1e6
    );
    stdout().flush()?;
    Ok(())
}

fn case<T: SpmvReal>(device: &Device, case: &str, quick: bool) -> Result {
    let matrix = matrix::<T>(case, quick)?;
    let (x, mut y) = (device.upload(&vector::<T>(matrix.columns()))?, device.alloc::<T>(matrix.rows())?);
    let on_device = DeviceMatrix::upload(device, &matrix)?;
    let times = times(device, RUNS, 0, |stream| on_device.multiply(stream, &x, &mut y))?;
    let work = format!("{} x {}", matrix.rows(), matrix.nnz());
    line(case, T::NAME, &work, &on_device.kernel().to_string(), matrix.floor_bytes(), times)
}

fn table(names: &[String], quick: bool) -> Result {
    let device = Device::best()?;
    println!("{device}: medians of {RUNS}; rows x nonzeros");
    let words = if quick { 1 << 16 } else { 1 << 28 };
    let (from, mut to) = (device.alloc_zeroed::<u32>(words)?, device.alloc_zeroed::<u32>(words)?);
    let of_copy = times(&device, RUNS, 0, |stream| Ok(stream.copy(&from, &mut to)?))?;
    line("copy", "uint32", &words.to_string(), "copy", 8 * words, of_copy)?;
    drop((from, to));
    for (name, _) in CASES {
        if names.is_empty() || names.iter().any(|wanted| wanted == name) {
            case::<f32>(&device, name, quick)?;
            case::<f64>(&device, name, quick)?;
        }
    }
    Ok(())
}

/// A request of benches/peers/spmv.py, one per line.
#[derive(serde::Deserialize)]
struct Request {
    case: String,
    r#type: String,
    repeats: usize,
    export: Option<PathBuf>,
}

/// The matrix that was asked for last.
struct Served<T: SpmvReal> {
    host: Csr<T>,
    matrix: DeviceMatrix<T>,
    x: Buffer<T>,
    y: Buffer<T>,
}

impl<T: SpmvReal> Served<T> {
    fn new(device: &Device, case: &str, quick: bool) -> Result<Self> {
        let host = matrix::<T>(case, quick)?;
        let (x, y) = (device.upload(&vector::<T>(host.columns()))?, device.alloc(host.rows())?);
        Ok(Served { matrix: DeviceMatrix::upload(device, &host)?, host, x, y })
    }

    fn export(&mut self, device: &Device, folder: &Path) -> Result {
        let Served { host, matrix, x, y } = self;
        let stream = device.stream()?;
        matrix.multiply(&stream, &*x, &mut *y)?;
        fs::create_dir_all(folder)?;
        let write = |name: &str, values: &[T]| -> Result {
            Ok(warpsmith::io::npy::write(fs::File::create(folder.join(name))?, values, &[values.len()])?)
        };
        write("data.npy", host.values())?;
        write("x.npy", &stream.download_vec(&*x)?)?;
        write("y.npy", &stream.download_vec(&*y)?)?;
        for (name, numbers) in [("indptr.npy", host.row_ptr()), ("indices.npy", host.column_indices())] {
            ndarray_npy::write_npy(folder.join(name), &ndarray::ArrayView1::from(numbers))?;
        }
        Ok(())
    }

    fn answer(&mut self, device: &Device, request: &Request) -> Result<serde_json::Value> {
        if let Some(folder) = &request.export {
            self.export(device, folder)?;
        }
        let Served { host, matrix, x, y } = self;
        let times = match request.repeats {
            0 => Vec::new(),
            repeats => times(device, 1, repeats, |stream| matrix.multiply(stream, &*x, &mut *y))?,
        };
        Ok(serde_json::json!({
            "times": times,
            "kernel": matrix.kernel().to_string(),
            "shape": [host.rows(), host.columns()],
            "nnz": host.nnz(),
            "floor_bytes": host.floor_bytes(),
        }))
    }
}

/// The matrix in memory, in either precision.
enum Either {
    Single(Served<f32>),
    Double(Served<f64>),
}

fn serve(quick: bool) -> Result {
    let device = Device::best()?;
    let mut last: Option<(String, Either)> = None;
    let mut answer = |line: &str| -> Result<serde_json::Value> {
        let request: Request = serde_json::from_str(line)?;
        let name = format!("{} {}", request.case, request.r#type);
        if last.as_ref().is_none_or(|(last, _)| *last != name) {
            // Its memory is given back before the next one needs it.
            last = None;
            let served = match &*request.r#type {
                "float32" => Either::Single(Served::new(&device, &request.case, quick)?),
                "float64" => Either::Double(Served::new(&device, &request.case, quick)?),
                other => return Err(format!("there is no type {other}").into()),
            };
            last = Some((name, served));
        }
        match &mut last.as_mut().ok_or("it has just been made")?.1 {
            Either::Single(served) => served.answer(&device, &request),
            Either::Double(served) => served.answer(&device, &request),
        }
    };
    for line in stdin().lock().lines() {
        let answer = answer(&line?).unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }));
        println!("{answer}");
        stdout().flush()?;
    }
    Ok(())
}

pub fn main(arguments: Vec<String>) -> Result {
    let (mut served, mut quick, mut names) = (false, false, Vec::new());
    for argument in arguments {
        match &*argument {
            "--serve" => served = true,
            "--quick" => quick = true,
            name if CASES.iter().any(|(case, _)| *case == name) => names.push(argument),
            other => {
                let cases: Vec<_> = CASES.iter().map(|(name, what)| format!("  {name:<10} {what}")).collect();
                return Err(format!("unknown argument {other}; cases are\n{}", cases.join("\n")).into());
            }
        }
    }
    if served { serve(quick) } else { table(&names, quick) }
}
