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
    trees::{Ancestors, Rooter, Rooting, Roots, TreeSums},
};

use crate::{RUNS, measure};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

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
        measure("rooting, from edges", n, || {
            let report = rooter.edges(&stream, n, &edges, Roots::At(root), &mut rooting)?;
            Ok((report.total_ms(), report.steps))
        })?;
    }
    let parents = device.upload(&stream.download_vec(rooting.parent())?)?;
    measure("rooting, from parents", n, || {
        let report = rooter.parents(&stream, &parents, Some(root), &mut rooting)?;
        Ok((report.total_ms(), report.steps))
    })?;
    drop(rooter);
    check(&stream, n, &rooting, &parents)?;

    macro_rules! sums {
        ($($t:ident)*) => {$({
            let weights = device.upload(&vec![1 as $t; n])?;
            let mut sums = device.alloc(n)?;
            let mut adder = TreeSums::<$t>::new(device)?;
            measure(concat!("sums along root paths, ", stringify!($t)), n, || {
                Ok((stream.time(|stream| adder.paths(stream, &rooting, &weights, &mut sums))?, Vec::new()))
            })?;
            let depths = stream.download_vec(rooting.depth())?;
            let found = stream.download_vec(&sums)?;
            // Above 2^24, sums of f32 are rounded.
            if !found.par_iter().zip(depths).all(|(&sum, depth)| sum == (depth + 1) as $t) {
                return Err("wrong sums along root paths".into());
            }
            measure(concat!("sums over subtrees, ", stringify!($t)), n, || {
                Ok((stream.time(|stream| adder.subtrees(stream, &rooting, &weights, &mut sums))?, Vec::new()))
            })?;
            let sizes = stream.download_vec(rooting.size())?;
            if !stream.download_vec(&sums)?.par_iter().zip(sizes).all(|(&sum, size)| sum == size as $t) {
                return Err("wrong sums over subtrees".into());
            }
        })*};
    }
    sums!(i32 i64 f32 f64);

    let mut ancestors = Ancestors::new(device)?;
    measure("lowest common ancestors, preparation", n, || {
        Ok((stream.time(|stream| ancestors.build(stream, &rooting))?, Vec::new()))
    })?;
    let vertex = |i: usize, seed| (hash(i as u64, seed) % n as u64) as i32;
    let pairs: Vec<I32x2> = (0..QUERIES).map(|i| I32x2::new(vertex(i, 8), vertex(i, 9))).collect();
    let (pairs, mut found) = (device.upload(&pairs)?, device.alloc(QUERIES)?);
    measure("lowest common ancestors, 10^6 pairs", QUERIES, || {
        Ok((stream.time(|stream| ancestors.of(stream, &pairs, &mut found))?, Vec::new()))
    })
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
