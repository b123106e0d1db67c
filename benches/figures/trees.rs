//! The figures of docs/trees.md: trees of three shapes, rooted from their edges and from their
//! parents, sums, and lowest common ancestors.
//!
//! `cargo bench --bench figures -- trees --n 1e8`
//!
//! Labels are random, edges are in random order and of random directions. It measures on the GPU
//! where there is one, copies from and to the host left out, medians of seven runs.

use std::error::Error;

use cuda_std::I32x2;
use rayon::prelude::*;
use warpsmith::{
    device::{Backend, Buffer, Device, Stream},
    list_rank::generate::Permutation,
    trees::{Ancestors, Report, Rooter, Rooting, Roots, TreeSums},
};

use crate::median;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const RUNS: usize = 7;
/// Pairs of vertices to find the lowest common ancestor of.
const QUERIES: usize = 1_000_000;

pub fn main(arguments: Vec<String>) -> Result<()> {
    let device = Device::best()?;
    let n = match &arguments[..] {
        [] if device.backend() == Backend::Cuda => 100_000_000,
        [] => 1_000_000,
        [name, n] if name == "--n" => n.parse::<f64>()? as usize,
        _ => return Err("it takes --n and a number".into()),
    };
    println!("{device}, n = {n}, medians of {RUNS}");
    shape(&device, n, "random attachment", |v| hash(v as u64, 3) as usize % v)?;
    shape(&device, n, "path", |v| v - 1)?;
    shape(&device, n, "broom", |v| if v <= n / 2 { v - 1 } else { n / 2 })?;
    Ok(())
}

/// A hash of a number.
fn hash(key: u64, seed: u64) -> u64 {
    let key = (key ^ seed << 40).wrapping_add(0x9E37_79B9_7F4A_7C15);
    let key = (key ^ key >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let key = (key ^ key >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    key ^ key >> 31
}

/// Measures a tree. `parent` maps each vertex but the first to its parent.
fn shape(device: &Device, n: usize, name: &str, parent: impl Fn(usize) -> usize + Sync) -> Result<()> {
    println!("\n{name}");
    let stream = device.stream()?;
    let labels = Permutation::new(n as u64, 1);
    let label = |v: usize| labels.apply(v as u64) as i32;
    let order = Permutation::new(n as u64 - 1, 2);
    let edge = |place: usize| {
        let v = order.apply(place as u64) as usize + 1;
        let (u, v) = (label(parent(v)), label(v));
        if hash(v as u64, 5).is_multiple_of(2) { I32x2::new(u, v) } else { I32x2::new(v, u) }
    };
    let root = label(0);
    let mut rooter = Rooter::new(device)?.timed();
    let mut rooting = Rooting::new(device);
    {
        let edges = device.upload(&(0..n - 1).into_par_iter().map(edge).collect::<Vec<_>>())?;
        let reports = (0..=RUNS).map(|_| rooter.edges(&stream, n, &edges, Roots::At(root), &mut rooting));
        show(n, "rooting, from edges", reports.collect::<std::result::Result<_, _>>()?);
    }
    let parents = device.upload(&stream.download_vec(rooting.parent())?)?;
    let reports = (0..=RUNS).map(|_| rooter.parents(&stream, &parents, Some(root), &mut rooting));
    show(n, "rooting, from parents", reports.collect::<std::result::Result<_, _>>()?);
    drop(rooter);
    check(&stream, n, &rooting, &parents)?;

    macro_rules! sums {
        ($($t:ident)*) => {$({
            let weights = device.upload(&vec![1 as $t; n])?;
            let mut sums = device.alloc(n)?;
            let mut adder = TreeSums::<$t>::new(device)?;
            time(&stream, n, concat!("sums along root paths, ", stringify!($t)), |stream| {
                adder.paths(stream, &rooting, &weights, &mut sums)
            })?;
            let depths = stream.download_vec(rooting.depth())?;
            let found = stream.download_vec(&sums)?;
            // Above 2^24, sums of f32 are rounded.
            if !found.par_iter().zip(depths).all(|(&sum, depth)| sum == (depth + 1) as $t) {
                return Err("wrong sums along root paths".into());
            }
            time(&stream, n, concat!("sums over subtrees, ", stringify!($t)), |stream| {
                adder.subtrees(stream, &rooting, &weights, &mut sums)
            })?;
            let sizes = stream.download_vec(rooting.size())?;
            if !stream.download_vec(&sums)?.par_iter().zip(sizes).all(|(&sum, size)| sum == size as $t) {
                return Err("wrong sums over subtrees".into());
            }
        })*};
    }
    sums!(i32 i64 f32 f64);

    let mut ancestors = Ancestors::new(device)?;
    time(&stream, n, "lowest common ancestors, preparation", |stream| ancestors.build(stream, &rooting))?;
    let vertex = |i: usize, seed| (hash(i as u64, seed) % n as u64) as i32;
    let pairs: Vec<I32x2> = (0..QUERIES).map(|i| I32x2::new(vertex(i, 8), vertex(i, 9))).collect();
    let (pairs, mut found) = (device.upload(&pairs)?, device.alloc(QUERIES)?);
    time(&stream, QUERIES, "lowest common ancestors, 10^6 pairs", |stream| ancestors.of(stream, &pairs, &mut found))
}

/// The report of median time.
fn show(n: usize, what: &str, mut reports: Vec<Report>) {
    reports.remove(0);
    let (_, spread) = median(reports.iter().map(Report::total_ms).collect());
    reports.sort_by(|a, b| a.total_ms().total_cmp(&b.total_ms()));
    let report = &reports[RUNS / 2];
    let ms = report.total_ms();
    let steps: Vec<String> = report.steps.iter().map(|step| format!("{} {:.3}", step.name, step.ms)).collect();
    println!(
        "  {what:<40} {ms:9.3} ms {:7.3} ns each (spread {:.1} %): {}",
        1e6 * ms / n as f64,
        100.0 * spread,
        steps.join(", ")
    );
}

/// The median time of some work on `n` elements.
fn time<E: From<warpsmith::device::DeviceError> + Error + 'static>(
    stream: &Stream,
    n: usize,
    what: &str,
    mut work: impl FnMut(&Stream) -> std::result::Result<(), E>,
) -> Result<()> {
    let mut times = (0..=RUNS).map(|_| stream.time(&mut work)).collect::<std::result::Result<Vec<_>, E>>()?;
    times.remove(0);
    let (ms, spread) = median(times);
    println!("  {what:<40} {ms:9.3} ms {:7.3} ns each (spread {:.1} %)", 1e6 * ms / n as f64, 100.0 * spread);
    Ok(())
}

/// Checks preorder numbers, sizes and depths against the parents: preorder numbers differ, and each
/// subtree's are a range within its parent's.
fn check(stream: &Stream, n: usize, rooting: &Rooting, parents: &Buffer<i32>) -> Result<()> {
    let get = |buffer: &Buffer<i32>| stream.download_vec(buffer);
    let (parent, preorder, size, depth) = (get(parents)?, get(rooting.preorder())?, get(rooting.size())?, get(rooting.depth())?);
    let mut vertices = vec![-1; n];
    (0..n).for_each(|v| vertices[preorder[v] as usize] = v as i32);
    let mut children = vec![1; n];
    // Sizes add up from the last vertex in preorder on.
    for &v in vertices.iter().rev() {
        if v < 0 {
            return Err("preorder numbers are no permutation".into());
        }
        if parent[v as usize] >= 0 {
            children[parent[v as usize] as usize] += children[v as usize];
        }
    }
    let right = (0..n).into_par_iter().all(|v| {
        children[v] == size[v]
            && match usize::try_from(parent[v]) {
                Ok(above) => {
                    depth[v] == depth[above] + 1
                        && preorder[above] < preorder[v]
                        && preorder[v] + size[v] <= preorder[above] + size[above]
                }
                Err(_) => depth[v] == 0,
            }
    });
    if right { Ok(()) } else { Err("wrong numbers".into()) }
}
