//! The figures of docs/performance.md on polygon overlap: `cargo bench --bench figures -- overlap`.
//!
//! Poses of trees are uniform in a square of side 0.65 sqrt(n), in device memory; each case is the
//! median of seven runs after two to warm up. Two times are shown: by events around the work, and
//! by the host's clock from the first launch to the end of the wait for the last kernel. `--quick`
//! takes small cases. With each case come the pairs of poses compared, the pairs of pieces clipped
//! (their octagons meet), and those that overlap, counted on the host.
//!
//! `--scenes` measures scenes of 10^6 poses (`--poses N`) that aren't uniform, beside one that is;
//! words that follow choose among them.
//!
//! `--serve` is for benches/peers/overlap.py, which measures another program in turns with this
//! one; it says how.

use std::{
    collections::HashMap,
    error::Error,
    f64::consts::PI,
    io::{BufRead as _, Write as _, stdin, stdout},
    path::{Path, PathBuf},
    time::Instant,
};

use ndarray::{Array1, Array3};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use rayon::prelude::*;
use warpsmith::{
    device::Device,
    overlap::{Boundary, Lattice, Overlap, OverlapKernel, OverlapReal, Packings, Scene, Shape, Wanted, convex_intersection},
};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const RUNS: usize = 7;

/// Packings of `n` poses each.
fn packings(count: usize, n: usize, seed: u64) -> Result<Packings> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut uniform = |half: f64| half * (2.0 * (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64 - 1.0);
    let half = 0.325 * (n as f64).sqrt();
    let poses = (0..count * n).map(|_| [uniform(half), uniform(half), uniform(PI)]).collect();
    Ok(Packings::ensembles(poses, n)?)
}

/// Work of an evaluation.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Pairs of poses.
    pairs: f64,
    /// Pairs of poses whose circles meet.
    near: u64,
    /// Pairs of pieces whose octagons meet.
    clips: u64,
    /// Pairs of pieces that overlap.
    overlapping: u64,
}

/// A piece in the plane, and the least and greatest x, y, x + y and x - y.
type Placed = (Vec<[f64; 2]>, [[f64; 4]; 2]);

fn work(shapes: &[Shape], packings: &Packings) -> Counts {
    let cell = |[x, y]: [f64; 2], width: f64| [(x / width).floor() as i64, (y / width).floor() as i64];
    let count = |packing: usize| {
        let (first, poses) = (packings.offsets()[packing], packings.get(packing));
        let shape = |pose: usize| packings.shape_of(first + pose) as usize;
        let centers: Vec<[f64; 2]> = (0..poses.len()).map(|pose| turn(shapes[shape(pose)].center(), &poses[pose])).collect();
        let pieces: Vec<Vec<Placed>> = (0..poses.len())
            .into_par_iter()
            .map(|pose| {
                let pieces = shapes[shape(pose)].pieces().iter();
                let placed = pieces.map(|piece| piece.iter().map(|&vertex| turn(vertex, &poses[pose])).collect());
                placed.map(|ring: Vec<[f64; 2]>| (ring.clone(), extent(&ring))).collect()
            })
            .collect();
        // One grid per shape, with cells as wide as the shape.
        let mut cells: Vec<HashMap<[i64; 2], Vec<usize>>> = vec![HashMap::new(); shapes.len()];
        for (pose, &center) in centers.iter().enumerate() {
            cells[shape(pose)].entry(cell(center, 2.0 * shapes[shape(pose)].radius())).or_default().push(pose);
        }
        // Each pair counts at the larger one, or at the first.
        let of_pose = |i: usize| {
            let mut work = Counts::default();
            for (other, cells) in cells.iter().enumerate() {
                let (radius, width) = (shapes[other].radius(), 2.0 * shapes[other].radius());
                let reach = shapes[shape(i)].radius() + radius;
                if radius > shapes[shape(i)].radius() {
                    continue;
                }
                let low = cell(centers[i].map(|number| number - reach), width);
                let high = cell(centers[i].map(|number| number + reach), width);
                let around = (low[0]..=high[0]).flat_map(|x| (low[1]..=high[1]).map(move |y| [x, y]));
                for j in around.filter_map(|cell| cells.get(&cell)).flatten().copied() {
                    if (shape(j) == shape(i) && j <= i)
                        || (centers[i][0] - centers[j][0]).hypot(centers[i][1] - centers[j][1]) >= reach
                    {
                        continue;
                    }
                    work.near += 1;
                    for (a, [low, high]) in &pieces[i] {
                        for (b, [other_low, other_high]) in &pieces[j] {
                            if (0..4).all(|k| low[k] < other_high[k] && other_low[k] < high[k]) {
                                work.clips += 1;
                                work.overlapping += u64::from(!convex_intersection(a, b).is_empty());
                            }
                        }
                    }
                }
            }
            work
        };
        let n = poses.len() as f64;
        let start = Counts { pairs: 0.5 * n * (n - 1.0), ..Counts::default() };
        (0..poses.len()).into_par_iter().map(of_pose).reduce(Counts::default, Counts::plus).plus(start)
    };
    (0..packings.len()).into_par_iter().map(count).reduce(Counts::default, Counts::plus)
}

impl Counts {
    fn plus(self, other: Counts) -> Counts {
        Counts {
            pairs: self.pairs + other.pairs,
            near: self.near + other.near,
            clips: self.clips + other.clips,
            overlapping: self.overlapping + other.overlapping,
        }
    }
}

fn turn([u, v]: [f64; 2], &[x, y, theta]: &[f64; 3]) -> [f64; 2] {
    let (sine, cosine) = theta.sin_cos();
    [cosine * u - sine * v + x, sine * u + cosine * v + y]
}

fn extent(ring: &[[f64; 2]]) -> [[f64; 4]; 2] {
    let start = [[f64::INFINITY; 4], [f64::NEG_INFINITY; 4]];
    ring.iter().fold(start, |[low, high], [x, y]| {
        let along = [*x, *y, x + y, x - y];
        [0, 1].map(|side| std::array::from_fn(|k| if side == 0 { low[k].min(along[k]) } else { high[k].max(along[k]) }))
    })
}

/// Times in ms by events, and by the host's clock.
fn time<T: OverlapReal>(overlap: &Overlap<T>, scene: &mut Scene<T>, wanted: Wanted) -> Result<[(f64, f64); 2]> {
    let stream = overlap.stream();
    let (mut device, mut host) = (Vec::new(), Vec::new());
    for run in 0..RUNS + 2 {
        let start = Instant::now();
        overlap.enqueue(stream, scene, wanted)?;
        stream.synchronize()?;
        let by_host = 1e3 * start.elapsed().as_secs_f64();
        let by_events = stream.time(|stream| overlap.enqueue(stream, scene, wanted))?;
        if run >= 2 {
            device.push(by_events);
            host.push(by_host);
        }
    }
    Ok([crate::median(device), crate::median(host)])
}

fn line<T: OverlapReal>(
    name: &str,
    overlap: &Overlap<T>,
    packings: &Packings,
    wanted: Wanted,
    scale: Option<f64>,
    work: Counts,
) -> Result {
    let mut scene = overlap.load(packings)?;
    if let Some(scale) = scale {
        scene.set_scales(overlap.stream(), &[scale])?;
    }
    let [(device, device_spread), (host, host_spread)] = time(overlap, &mut scene, wanted)?;
    println!(
        "{name:<52} {:10.1} us ({:4.1} %)  host {:10.1} us ({:5.1} %)  {:9.3e} pairs/s {:9.3e} clips/s",
        1e3 * device,
        100.0 * device_spread,
        1e3 * host,
        100.0 * host_spread,
        work.pairs / device * 1e3,
        work.clips as f64 / device * 1e3,
    );
    stdout().flush()?;
    Ok(())
}

fn table(quick: bool) -> Result {
    let device = Device::best()?;
    let tree = [Shape::tree()];
    println!("{device}: medians of {RUNS}");
    let of = |big: usize, small: usize| if quick { small } else { big };
    for (name, count, n) in [
        ("1,024 x 120", of(1024, 4), 120),
        ("1 x 120", 1, 120),
        ("1 x 500", 1, 500),
        ("1 x 10,000", 1, of(10_000, 1000)),
        ("1 x 100,000", 1, of(100_000, 1500)),
        ("1 x 1,000,000", 1, of(1_000_000, 2000)),
    ] {
        let packings = packings(count, n, 1)?;
        let work = work(&tree, &packings);
        println!("{name}: {work:?}");
        let double = || Overlap::<f64>::new(&device, &tree);
        line(&format!("{name}, f64, totals"), &double()?, &packings, Wanted::TOTALS, None, work)?;
        line(&format!("{name}, f64, gradients"), &double()?, &packings, Wanted::GRADIENT, None, work)?;
        line(&format!("{name}, f64, gradients, sums by pose"), &double()?, &packings, Wanted::ALL, None, work)?;
        let deterministic = double()?.deterministic(true);
        line(&format!("{name}, f64, gradients, deterministic"), &deterministic, &packings, Wanted::GRADIENT, None, work)?;
        let bounded = double()?.boundary(Boundary::square())?;
        let side = 0.65 * (n as f64).sqrt();
        line(&format!("{name}, f64, gradients, boundary"), &bounded, &packings, Wanted::GRADIENT, Some(side), work)?;
        let lattice = Lattice::new([side, 0.0], [0.0, side])?;
        line(&format!("{name}, f64, gradients, lattice"), &double()?.lattice(lattice)?, &packings, Wanted::GRADIENT, None, work)?;
        if n <= 10_000 {
            let direct = double()?.kernel(OverlapKernel::Direct);
            line(&format!("{name}, f64, gradients, direct"), &direct, &packings, Wanted::GRADIENT, None, work)?;
        }
        let single = || Overlap::<f32>::new(&device, &tree);
        line(&format!("{name}, f32, totals"), &single()?, &packings, Wanted::TOTALS, None, work)?;
        line(&format!("{name}, f32, gradients"), &single()?, &packings, Wanted::GRADIENT, None, work)?;
    }
    Ok(())
}

/// Scenes whose poses have about as many neighbours as in the uniform one, and how their shapes are
/// scaled.
const SCENES: [&str; 11] =
    ["uniform", "two-clusters", "hundred-clusters", "outliers", "far", "line", "diagonal", "ring", "heap", "heaps", "sizes"];

/// `n` poses of the scene of this name; of the second shape, 100 times as large, are the last of
/// "sizes".
fn scene(name: &str, n: usize, most: f64) -> Result<Packings> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut uniform = |half: f64| half * (2.0 * (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64 - 1.0);
    let half = |n: usize| 0.325 * (n as f64).sqrt();
    let centers: Vec<[f64; 2]> = match name {
        "two-clusters" => vec![[0.0; 2], [8e4, 6e4]],
        "hundred-clusters" => (0..100).map(|_| [uniform(1e6), uniform(1e6)]).collect(),
        _ => vec![[0.0; 2]],
    };
    let each = n.div_ceil(centers.len());
    let mut poses: Vec<[f64; 3]> = (0..n)
        .map(|pose| {
            let [x, y] = centers[pose / each];
            [x + uniform(half(each)), y + uniform(half(each)), uniform(PI)]
        })
        .collect();
    let along = |k: usize| 0.22 * (k as f64 - 0.5 * n as f64);
    match name {
        "outliers" => (0..10).for_each(|k| poses[n - 1 - k] = [1e6 * (k as f64 - 4.5), 1e6 * (k % 3) as f64, 0.0]),
        "far" => (0..10).for_each(|k| poses[n - 1 - k] = [most * (k as f64 / 4.5 - 1.0), most * (k % 3) as f64 / 2.0, 0.0]),
        "line" => (0..n).for_each(|k| poses[k][..2].copy_from_slice(&[along(k), 0.0])),
        "diagonal" => (0..n).for_each(|k| poses[k][..2].copy_from_slice(&[0.8 * along(k), 0.6 * along(k)])),
        "ring" => (0..n).for_each(|k| {
            let (sine, cosine) = (2.0 * PI * k as f64 / n as f64).sin_cos();
            let radius = 0.22 * n as f64 / (2.0 * PI);
            poses[k][..2].copy_from_slice(&[radius * cosine, radius * sine]);
        }),
        "heap" => poses[n - n.min(2000)..].iter_mut().for_each(|pose| *pose = [1.0, 2.0, 0.5]),
        // The same number of pairs as in the heap, spread out.
        "heaps" => {
            let first = n - n.min(64_000);
            (first..n).for_each(|k| poses[k] = poses[first + (k - first) / 64 * 64]);
        }
        _ => {}
    }
    let packings = Packings::one(poses)?;
    let large = (0..n).map(|k| u32::from(name == "sizes" && k + 64 >= n)).collect();
    Ok(if name == "sizes" { packings.with_shapes(large)? } else { packings })
}

fn scenes<T: OverlapReal>(device: &Device, names: &[&str], n: usize) -> Result {
    let tree = Shape::tree();
    let large: Vec<[f64; 2]> = tree.outlines()[0].iter().map(|vertex| vertex.map(|number| 100.0 * number)).collect();
    let shapes = [tree, Shape::polygon("large", &large)?];
    for name in names {
        let packings = scene(name, n, T::MAX_POSITION)?;
        let overlap = Overlap::<T>::new(device, if *name == "sizes" { &shapes } else { &shapes[..1] })?;
        let stream = overlap.stream();
        let start = Instant::now();
        let mut loaded = overlap.load(&packings)?;
        overlap.enqueue(stream, &mut loaded, Wanted::GRADIENT)?;
        stream.synchronize()?;
        let first = 1e3 * start.elapsed().as_secs_f64();
        let (start, mut times) = (Instant::now(), Vec::new());
        while times.is_empty() || (times.len() < RUNS && start.elapsed().as_secs_f64() < 1.0) {
            times.push(stream.time(|stream| overlap.enqueue(stream, &mut loaded, Wanted::GRADIENT))?);
        }
        let total = overlap.read(stream, &loaded, Wanted::TOTALS)?.totals[0];
        let (time, spread) = crate::median(times);
        println!(
            "{name:<18} {} {time:10.3} ms ({:4.1} %)  loaded and evaluated once {first:8.1} ms  total {total:.6e}",
            T::NAME,
            100.0 * spread,
        );
        stdout().flush()?;
    }
    Ok(())
}

/// A request of benches/peers/overlap.py, one per line.
#[derive(serde::Deserialize)]
struct Request {
    poses: PathBuf,
    gradient: bool,
    evaluations: usize,
    totals: Option<PathBuf>,
    gradients: Option<PathBuf>,
}

/// Poses that a request has named.
struct Case {
    scene: Scene<f64>,
    shape: [usize; 3],
}

fn load(overlap: &Overlap<f64>, path: &Path) -> Result<Case> {
    let poses: Array3<f64> = ndarray_npy::read_npy(path)?;
    let (packings, n, _) = poses.dim();
    let poses = poses.as_standard_layout().as_slice().ok_or("not in order")?.as_chunks().0.to_vec();
    Ok(Case { scene: overlap.load(&Packings::ensembles(poses, n)?)?, shape: [packings, n, 3] })
}

fn answer(overlap: &Overlap<f64>, cases: &mut HashMap<PathBuf, Case>, request: &str) -> Result<serde_json::Value> {
    let request: Request = serde_json::from_str(request)?;
    if !cases.contains_key(&request.poses) {
        cases.insert(request.poses.clone(), load(overlap, &request.poses)?);
    }
    let Case { scene, shape } = cases.get_mut(&request.poses).ok_or("it has just been loaded")?;
    let wanted = if request.gradient { Wanted::GRADIENT } else { Wanted::TOTALS };
    let stream = overlap.stream();
    let mut host = Vec::new();
    for _ in 0..request.evaluations {
        let start = Instant::now();
        overlap.enqueue(stream, scene, wanted)?;
        stream.synchronize()?;
        host.push(1e3 * start.elapsed().as_secs_f64());
    }
    let mut device = Vec::new();
    for _ in 0..request.evaluations {
        device.push(stream.time(|stream| overlap.enqueue(stream, scene, wanted))?);
    }
    if request.totals.is_some() || request.gradients.is_some() {
        overlap.enqueue(stream, scene, wanted)?;
        let result = overlap.read(stream, scene, wanted)?;
        if let Some(path) = request.totals {
            ndarray_npy::write_npy(path, &Array1::from(result.totals))?;
        }
        if let Some(path) = request.gradients {
            ndarray_npy::write_npy(path, &Array3::from_shape_vec(*shape, result.gradient.as_flattened().to_vec())?)?;
        }
    }
    Ok(serde_json::json!({ "host": host, "device": device }))
}

fn serve() -> Result {
    let overlap = Overlap::<f64>::new(&Device::best()?, &[Shape::tree()])?;
    let mut cases = HashMap::new();
    for line in stdin().lock().lines() {
        let answer =
            answer(&overlap, &mut cases, &line?).unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }));
        println!("{answer}");
        stdout().flush()?;
    }
    Ok(())
}

pub fn main(arguments: Vec<String>) -> Result {
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    if has("--serve") {
        return serve();
    }
    if !has("--scenes") {
        return table(has("--quick"));
    }
    let chosen: Vec<&str> = SCENES.into_iter().filter(|name| has(name)).collect();
    let names = if chosen.is_empty() { &SCENES[..] } else { &chosen };
    let poses = arguments.iter().position(|argument| argument == "--poses").and_then(|at| arguments.get(at + 1));
    let n = poses.map_or(Ok(1_000_000), |number| number.parse())?;
    let device = Device::best()?;
    println!("{device}: {n} poses, with gradients");
    scenes::<f64>(&device, names, n)?;
    scenes::<f32>(&device, names, n)
}
