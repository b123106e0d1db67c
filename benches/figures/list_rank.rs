//! The figures of list ranking: `cargo bench --bench figures -- list_rank --n 1e8 --peer libpeer.so`.
//!
//! Measures the walk beside nvcc's build of the same algorithm (`--peer`, benches/peers/list_rank.cu), whole rankings
//! beside a random gather and a random scatter, and the steps of a ranking. It runs on a GPU if there is one. Each
//! figure is the median of seven runs, which take turns with the runs that it is compared with.
//!
//! `--by-n FILE.csv` measures each variant by the number of elements instead, up to `--n`, and draws a plot beside the
//! CSV, within a minute.

use std::{error::Error, ffi::c_void, fs, path::PathBuf};

use gpu_kernels::floors;
use warpsmith::{
    device::{Backend, Buffer, Device, LaunchConfig, Stream},
    launch,
    list_rank::{ListRanker, Options, Report, SplitterRule, Strategy, generate, generate::Permutation},
};

use crate::{RUNS, median};

mod by_n;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The number of sublists that the peer has compiled in.
const PEER_SUBLISTS: u32 = 196_608;

/// Runs all `works` in turn, `RUNS` times after one warm-up; each returns its time in ms. Prints and returns the
/// medians.
fn side_by_side(works: &mut [(&str, &mut dyn FnMut() -> Result<f64>)]) -> Result<Vec<f64>> {
    let mut times = vec![Vec::new(); works.len()];
    for run in 0..=RUNS {
        for ((_, work), times) in works.iter_mut().zip(&mut times) {
            let ms = work()?;
            if run > 0 {
                times.push(ms);
            }
        }
    }
    let result: Vec<_> = times.into_iter().map(median).collect();
    for ((name, _), (ms, spread)) in works.iter().zip(&result) {
        println!("  {name:<44} {ms:9.3} ms  (spread {:.1} %)", 100.0 * spread);
    }
    Ok(result.into_iter().map(|(ms, _)| ms).collect())
}

/// Everything that the measurements share.
struct Bench {
    device: Device,
    stream: Stream,
    n: u32,
    next: Buffer<i32>,
    head: i32,
    ranks: Buffer<i32>,
}

impl Bench {
    fn ranker(&self, options: Options) -> ListRanker {
        ListRanker::new(&self.device, Options { timed: true, ..options })
    }

    fn rank(&mut self, ranker: &mut ListRanker) -> Result<Report> {
        Ok(ranker.rank(&self.stream, &self.next, Some(self.head), &mut self.ranks)?)
    }

    /// The time of the steps named in one ranking.
    fn steps(&mut self, ranker: &mut ListRanker, names: &[&str]) -> Result<f64> {
        let report = self.rank(ranker)?;
        Ok(report.steps.iter().filter(|step| names.contains(&step.name)).map(|step| step.ms).sum())
    }
}

pub fn main(arguments: Vec<String>) -> Result<()> {
    let (mut n, mut peer, mut by_n) = (None, None, None);
    let mut arguments = arguments.into_iter();
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or(format!("{name} wants a value"))?;
        match &*name {
            "--n" => n = Some(value.parse::<f64>()? as u32),
            "--peer" => peer = Some(PathBuf::from(value)),
            "--by-n" => by_n = Some(PathBuf::from(value)),
            _ => return Err(format!("unknown argument {name}").into()),
        }
    }
    let device = Device::best()?;
    let default = |on_gpu, on_cpu| if device.backend() == Backend::Cuda { on_gpu } else { on_cpu };
    if let Some(csv) = by_n {
        println!("{device}");
        fs::write(&csv, by_n::measure(&device, n.unwrap_or(default(i32::MAX as u32 - 1, 10_000_000)))?)?;
        return by_n::plot(&csv);
    }
    let n = n.unwrap_or(default(100_000_000, 1_000_000));
    println!("{device}, n = {n}, medians of {RUNS}");
    let (stream, next) = (device.stream()?, device.upload(&generate::random(n, 1))?);
    let (ranks, head) = (device.alloc(n as usize)?, Permutation::new(n.into(), 1).apply(0) as i32);
    let mut bench = Bench { device, stream, n, next, head, ranks };
    walks(&mut bench, peer.as_deref())?;
    whole(&mut bench)?;
    steps(&mut bench)
}

/// Times the walk kernels beside nvcc's builds of the same algorithm.
fn walks(bench: &mut Bench, peer: Option<&std::path::Path>) -> Result<()> {
    println!("\nwalk, k = {PEER_SUBLISTS}, the first elements as splitters");
    let options = |strategy| Options {
        strategy,
        splitters: SplitterRule::First,
        sublists: Some(PEER_SUBLISTS.min(bench.n)),
        ..Options::default()
    };
    let (mut split, mut packed) = (bench.ranker(options(Strategy::Split)), bench.ranker(options(Strategy::Packed)));
    let bench = std::cell::RefCell::new(bench);
    let mut ours_split = || bench.borrow_mut().steps(&mut split, &["walk"]);
    let mut ours_packed = || bench.borrow_mut().steps(&mut packed, &["copy", "walk"]);
    let Some(peer) = peer else {
        side_by_side(&mut [("Rust, split", &mut ours_split), ("Rust, packed with its copy", &mut ours_packed)])?;
        return Ok(());
    };

    // SAFETY: the library is benches/peers/list_rank.cu, which runs nothing when it is loaded.
    let library = unsafe { libloading::Library::new(peer)? };
    type Split = unsafe extern "C" fn(i32, *const c_void, *mut c_void, *mut c_void) -> f32;
    type Packed = unsafe extern "C" fn(i32, *const c_void, *mut c_void, *mut c_void, i64) -> f32;
    // SAFETY: the signatures are those of its functions.
    let (peer_split, peer_packed) = unsafe { (library.get::<Split>(b"peer_split\0")?, library.get::<Packed>(b"peer_packed\0")?) };
    let (pairs, sublists) = {
        let bench = bench.borrow();
        (bench.device.alloc::<[i32; 2]>(bench.n as usize)?, bench.device.alloc::<[i32; 2]>(PEER_SUBLISTS as usize)?)
    };
    let pointers = (pairs.as_device_ptr() as *mut c_void, sublists.as_device_ptr() as *mut c_void);
    let checked = |ms: f32| if ms < 0.0 { Err("the peer failed".into()) } else { Ok(f64::from(ms)) };
    let mut theirs_split = || {
        let bench = bench.borrow();
        bench.stream.synchronize()?;
        // SAFETY: arrays of the sizes that the peer asks for, on the current device, which it shares with this process.
        checked(unsafe { peer_split(bench.head, bench.next.as_device_ptr() as *const c_void, pointers.0, pointers.1) })
    };
    let mut theirs_packed = || {
        let bench = bench.borrow();
        bench.stream.synchronize()?;
        let next = bench.next.as_device_ptr() as *const c_void;
        // SAFETY: arrays of the sizes that the peer asks for, on the current device, which it shares with this process.
        checked(unsafe { peer_packed(bench.head, next, pointers.0, pointers.1, i64::from(bench.n)) })
    };
    let times = side_by_side(&mut [
        ("Rust, split", &mut ours_split),
        ("nvcc, split", &mut theirs_split),
        ("Rust, packed with its copy", &mut ours_packed),
        ("nvcc, packed with its copy", &mut theirs_packed),
    ])?;
    println!("  Rust / nvcc: split {:.3}, packed {:.3}", times[0] / times[1], times[2] / times[3]);
    Ok(())
}

/// Times whole rankings beside a random gather and a random scatter of as many words.
fn whole(bench: &mut Bench) -> Result<()> {
    println!("\nwhole ranking on the device, head given");
    let mut default = bench.ranker(Options::default());
    let mut split = bench.ranker(Options { strategy: Strategy::Split, ..Options::default() });
    let mut packed = bench.ranker(Options { strategy: Strategy::Packed, ..Options::default() });
    let indices = bench.device.upload(&generate::random(bench.n, 2))?;
    let mut output = bench.device.alloc::<i32>(bench.n as usize)?;
    let bench = std::cell::RefCell::new(bench);
    let output = std::cell::RefCell::new(&mut output);
    let total = |ranker: &mut ListRanker| Ok(bench.borrow_mut().rank(ranker)?.total_ms());
    let times = side_by_side(&mut [
        ("default", &mut || total(&mut default)),
        ("split", &mut || total(&mut split)),
        ("packed", &mut || total(&mut packed)),
        ("random gather of n int32", &mut || {
            let bench = bench.borrow();
            let grid = LaunchConfig::for_elements(bench.n as usize, 256).grid;
            Ok(bench.stream.time(
                |stream| launch!(stream, floors::gather<<<grid, 256>>>(&bench.next, &indices, &mut **output.borrow_mut())),
            )?)
        }),
        ("random scatter of n int32", &mut || {
            let bench = bench.borrow();
            let grid = LaunchConfig::for_elements(bench.n as usize, 256).grid;
            // SAFETY: the output has n elements.
            Ok(bench.stream.time(|stream| unsafe {
                launch!(stream, floors::scatter<<<grid, 256>>>(&indices, &mut **output.borrow_mut(), bench.n))
            })?)
        }),
    ])?;
    println!("  default / gather {:.2}, default / scatter {:.2}", times[0] / times[3], times[0] / times[4]);
    Ok(())
}

/// Shows the steps of one ranking.
fn steps(bench: &mut Bench) -> Result<()> {
    for (name, options) in
        [("default", Options::default()), ("split", Options { strategy: Strategy::Split, ..Options::default() })]
    {
        let mut ranker = bench.ranker(options);
        bench.rank(&mut ranker)?;
        let report = bench.rank(&mut ranker)?;
        println!("\nsteps, {name}, {} sublists", report.sublists);
        for step in &report.steps {
            println!("  {:<44} {:9.3} ms  {:8.1} GB/s", step.name, step.ms, step.bytes as f64 / step.ms / 1e6);
        }
    }
    Ok(())
}
