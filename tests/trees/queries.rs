//! Sorting, sums and lowest common ancestors.

use std::fmt::Debug;

use rand_chacha::rand_core::RngCore;
use warpsmith::{
    collectives::{SortKernel, SortWorkspace, sort},
    device::Device,
    trees::{Ancestors, Roots, TreeError, TreeSums, Weight, root_sequentially},
};

use crate::reference::{Edges, Random, forest, on_device, shapes, upload};

#[test]
fn sorts_as_the_standard_library_does() {
    let stream = Device::best().unwrap().stream().unwrap();
    for kernel in [SortKernel::Tiled, SortKernel::Direct] {
        let mut workspace = SortWorkspace::new(stream.device()).unwrap().with_kernel(kernel);
        // One tile and less, several, and all digits.
        for (n, bits) in [(0, 8), (1, 1), (31, 5), (4096, 12), (4097, 13), (20_000, 32), (20_000, 17), (9000, 1), (5000, 0)] {
            let mut random = Random::new(u64::from(bits) + n as u64);
            let most = (1u64 << bits) - 1;
            let keys: Vec<u32> = (0..n).map(|_| random.0.next_u32() & most as u32).collect();
            let mut order: Vec<u32> = (0..n as u32).collect();
            order.sort_by_key(|&i| keys[i as usize]);
            sort(&stream, &stream.device().upload(&keys).unwrap(), bits, &mut workspace).unwrap();
            assert!(stream.download_vec(workspace.order()).unwrap() == order, "{n} keys of {bits} bits, {kernel:?}");
            let sorted = stream.download_vec(workspace.keys()).unwrap();
            assert!(sorted.into_iter().eq(order.iter().map(|&i| keys[i as usize])), "{n} keys of {bits} bits, {kernel:?}");
        }
        // One key, and the greatest.
        let keys = vec![u32::MAX; 10_000];
        sort(&stream, &stream.device().upload(&keys).unwrap(), 32, &mut workspace).unwrap();
        assert!(stream.download_vec(workspace.order()).unwrap().into_iter().eq(0..10_000));
    }
}

/// Compares all sums with those by parents, added up by `plus`.
fn check_sums<V: Weight + Debug>(n: usize, weight: impl Fn(usize) -> V, plus: impl Fn(V, V) -> V, agree: impl Fn(V, V) -> bool) {
    let stream = Device::best().unwrap().stream().unwrap();
    let mut sums = TreeSums::<V>::new(stream.device()).unwrap();
    for (name, edges) in shapes(n, 11) {
        for edges in [forest(&edges, 2), edges] {
            let (rooting, tree) = on_device(&stream, n, &edges);
            let weights: Vec<V> = (0..n).map(&weight).collect();
            let (mut paths, mut subtrees) = (weights.clone(), weights.clone());
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by_key(|&v| tree.preorder[v]);
            for &v in &order {
                if let Ok(parent) = usize::try_from(tree.parent[v]) {
                    paths[v] = plus(paths[parent], weights[v]);
                }
            }
            for &v in order.iter().rev() {
                if let Ok(parent) = usize::try_from(tree.parent[v]) {
                    subtrees[parent] = plus(subtrees[parent], subtrees[v]);
                }
            }
            let weights = stream.device().upload(&weights).unwrap();
            let [mut to, mut below] = [(); 2].map(|()| stream.device().alloc(n).unwrap());
            sums.paths(&stream, &rooting, &weights, &mut to).unwrap();
            sums.subtrees(&stream, &rooting, &weights, &mut below).unwrap();
            for (what, found, expected) in [("path to", to, paths), ("subtree of", below, subtrees)] {
                for (v, (found, expected)) in stream.download_vec(&found).unwrap().into_iter().zip(expected).enumerate() {
                    assert!(agree(found, expected), "{what} {v} in {name} of {n}: {found:?} for {expected:?}");
                }
            }
        }
    }
}

#[test]
fn sums_of_every_type() {
    let hash = |i: usize| (i as u32).wrapping_mul(2_654_435_769) >> 16;
    for n in [1, 2, 33, 1000] {
        // Wraps around often.
        check_sums::<i32>(n, |i| (hash(i) as i32).wrapping_mul(65_521), i32::wrapping_add, |a, b| a == b);
        check_sums::<i64>(n, |i| i64::from(hash(i)) << 47, i64::wrapping_add, |a, b| a == b);
        // Whole numbers are exact in any order.
        check_sums::<f32>(n, |i| (hash(i) % 256) as f32 - 99.0, |a, b| a + b, |a, b| a == b);
        check_sums::<f64>(n, |i| f64::from(hash(i)) - 9e4, |a, b| a + b, |a, b| a == b);
        // The bound of the documentation, and the reference's own error.
        let bound = n as f64 * (n + 64) as f64 * f64::EPSILON;
        check_sums::<f64>(n, |i| f64::from(hash(i)) / 65_536.0 - 0.5, |a, b| a + b, move |a, b| (a - b).abs() <= bound);
    }
}

#[test]
fn sums_want_a_weight_for_each_vertex() {
    let stream = Device::best().unwrap().stream().unwrap();
    let (rooting, _) = on_device(&stream, 2, &vec![[0, 1]]);
    let mut sums = TreeSums::<i32>::new(stream.device()).unwrap();
    let (weights, mut found) = (stream.device().upload(&[1, 2, 3]).unwrap(), stream.device().alloc(2).unwrap());
    let error = sums.paths(&stream, &rooting, &weights, &mut found).unwrap_err();
    assert_eq!(error, TreeError::Length { what: "weights", found: 3, expected: 2 });
}

#[test]
fn lowest_common_ancestors() {
    let stream = Device::best().unwrap().stream().unwrap();
    let device = stream.device();
    let mut ancestors = Ancestors::new(device).unwrap();
    // From 32,768 vertices on, records have fewer bits than numbers.
    for n in [70_000, 1, 2, 31, 32, 33, 64, 65, 1000, 5000] {
        for (name, edges) in shapes(n, 13) {
            for edges in [forest(&edges, 2), edges] {
                let (rooting, tree) = on_device(&stream, n, &edges);
                ancestors.build(&stream, &rooting).unwrap();
                let mut random = Random::new(n as u64);
                // Of paths, fewer: the way up is long.
                let queries = if n > 1000 { 200 } else { 2000 };
                let mut pairs: Edges = (0..queries).map(|_| [(); 2].map(|()| random.below(n) as i32)).collect();
                pairs.extend((0..n.min(40) as i32).map(|v| [v, v]));
                pairs.extend((0..n).take(100).map(|v| [tree.parent[v].max(0), v as i32]));
                let mut found = device.alloc(pairs.len()).unwrap();
                ancestors.of(&stream, &upload(device, &pairs), &mut found).unwrap();
                let few = tree.ancestors(&pairs).unwrap();
                assert!(few == stream.download_vec(&found).unwrap(), "{name} of {n}: in steps");
                for ([u, v], found) in pairs.into_iter().zip(stream.download_vec(&found).unwrap()) {
                    let (mut a, mut b) = (u, v);
                    while a != b && a >= 0 && b >= 0 {
                        let (depth_a, depth_b) = (tree.depth[a as usize], tree.depth[b as usize]);
                        if depth_a >= depth_b {
                            a = tree.parent[a as usize];
                        }
                        if depth_b >= depth_a {
                            b = tree.parent[b as usize];
                        }
                    }
                    let expected = if a == b { a } else { -1 };
                    assert_eq!(found, expected, "of {u} and {v} in {name} of {n}");
                }
            }
        }
    }
    let pairs = upload(device, &[[0, 4999], [5000, 1], [3, -1]]);
    let error = ancestors.of(&stream, &pairs, &mut device.alloc(3).unwrap()).unwrap_err();
    assert_eq!(
        root_sequentially(5000, &[], Roots::Each).unwrap().ancestors(&[[0, 4999], [5000, 1], [3, -1]]),
        Err(error.clone())
    );
    assert_eq!(error, TreeError::PairOutOfRange { pair: 1, ends: [5000, 1], n: 5000 });
    // A forest of nothing has no questions.
    let (rooting, _) = on_device(&stream, 0, &Edges::new());
    ancestors.build(&stream, &rooting).unwrap();
    ancestors.of(&stream, &upload(device, &[]), &mut device.alloc(0).unwrap()).unwrap();
    let error = ancestors.of(&stream, &upload(device, &[[0, 0]]), &mut device.alloc(1).unwrap()).unwrap_err();
    assert_eq!(error, TreeError::PairOutOfRange { pair: 0, ends: [0, 0], n: 0 });
}
