//! The demonstration of trees.

use cuda_std::I32x2;
use rayon::prelude::*;

use super::{Checked, Error, Row, Setting, compare, timed};
use crate::{
    device::Backend,
    list_rank::generate::Permutation,
    trees::{Ancestors, Rooter, Rooting, Roots, TreeSums},
};

/// Number of pairs of vertices whose lowest common ancestors are found.
const PAIRS: usize = 1_000_000;

/// Roots a tree given by its edges, adds up weights over its subtrees, and finds lowest common
/// ancestors.
pub fn section(setting: &Setting) -> Result<Vec<Row>, Error> {
    let Setting { device, stream, .. } = setting;
    let n: usize = if device.backend() == Backend::Cuda { 10_000_000 } else { 500_000 };
    let row = |what: &str, count: usize, things: &'static str, ms, checked| Row {
        what: what.to_owned(),
        size: (count, things.to_owned()),
        work: (count, things),
        ms,
        checked,
    };

    let mut rooter = Rooter::new(device)?.timed();
    device.preload(&rooter.kernels(n, false));
    // The parent of each vertex is some earlier one. Labels and the order of the edges are random.
    let (labels, order) = (Permutation::new(n as u64, 0), Permutation::new(n as u64 - 1, 1));
    let label = |v: usize| labels.apply(v as u64) as i32;
    let earlier = |v: usize| Permutation::new(v as u64, 2).apply(v as u64 / 2) as usize;
    let tree: Vec<[i32; 2]> = (1..n).into_par_iter().map(|v| [label(v), label(earlier(v))]).collect();
    let edges: Vec<I32x2> = (0..n - 1).into_par_iter().map(|place| tree[order.apply(place as u64) as usize].into()).collect();
    let ((parents, depths, sums), ms) = timed(|| {
        let (mut parents, mut depths, mut sums) = (vec![-1; n], vec![0; n], (0..n as i64).collect::<Vec<_>>());
        for &[v, parent] in &tree {
            parents[v as usize] = parent;
            depths[v as usize] = depths[parent as usize] + 1;
        }
        for &[v, parent] in tree.iter().rev() {
            sums[parent as usize] += sums[v as usize];
        }
        Ok::<_, Error>((parents, depths, sums))
    })?;
    let mut rows = vec![row("edges in order, one core of the host", n, "vertices", ms, Checked::Reference)];
    drop(tree);

    let others = Permutation::new(n as u64, 3);
    let pair = |i: usize| [(i % n) as i32, others.apply((i % n) as u64) as i32];
    let pairs: Vec<I32x2> = (0..PAIRS).map(|i| pair(i).into()).collect();
    let expected: Vec<i32> = (0..PAIRS)
        .into_par_iter()
        .map(|i| {
            let [mut u, mut v] = pair(i);
            while u != v {
                if depths[u as usize] < depths[v as usize] {
                    (u, v) = (v, u);
                }
                u = parents[u as usize];
            }
            u
        })
        .collect();
    let weights: Vec<i64> = (0..n as i64).collect();

    let _turn = setting.turn();
    let edges = device.upload(&edges)?;
    let mut rooting = Rooting::new(device);
    let ms = setting.best(2, || Ok(rooter.edges(stream, n, &edges, Roots::At(label(0)), &mut rooting)?.total_ms()))?;
    let checked = match compare("vertex", &stream.download_vec(rooting.parent())?, &parents) {
        Checked::Right => compare("vertex", &stream.download_vec(rooting.depth())?, &depths),
        wrong => wrong,
    };
    rows.push(row("rooting, from edges in any order", n, "vertices", ms, checked));

    let weights = device.upload(&weights)?;
    let mut found = device.alloc(n)?;
    let mut adder = TreeSums::new(device)?;
    let ms = setting.best(2, || Ok(stream.time(|stream| adder.subtrees(stream, &rooting, &weights, &mut found))?))?;
    rows.push(row("sums over subtrees, int64", n, "vertices", ms, compare("vertex", &stream.download_vec(&found)?, &sums)));

    let mut ancestors = Ancestors::new(device)?;
    ancestors.build(stream, &rooting)?;
    let (pairs, mut common) = (device.upload(&pairs)?, device.alloc(PAIRS)?);
    let ms = setting.best(2, || Ok(stream.time(|stream| ancestors.of(stream, &pairs, &mut common))?))?;
    let checked = compare("pair", &stream.download_vec(&common)?, &expected);
    rows.push(row("lowest common ancestors", PAIRS, "pairs", ms, checked));
    Ok(rows)
}
