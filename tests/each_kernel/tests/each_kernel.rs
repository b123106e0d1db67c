//! Each kernel at about the smallest size that goes through it: for `ci/check-kernels`, which has every access checked and
//! names the kernels that haven't run, and for compute-sanitizer. Other tests look at what they compute at all sizes.
//!
//! They run on the backend that `WARPSMITH_BACKEND` names, or on a GPU where there is one.

#[path = "../../common/separate.rs"]
mod apart;

use bytemuck::Pod;
use cuda_std::f16;
use gpu_kernels::{
    collectives::probe,
    floors,
    halo::{Brick, faces, stencil},
    list_rank::{
        Expected, Status,
        binned::{self, Cut},
    },
    overlap::{
        adam::{self, LanesArgs, MemoryArgs, POSE_MEMORY, SlopesArgs, Step},
        separate,
    },
    samples::{self, matmul},
};
use warpsmith::{
    collectives::{self, Operator, ReduceWorkspace, ScanWorkspace, SortKernel, SortWorkspace},
    concurrency::{Kernels, Pose, Variant, poses},
    device::{Buffer, Device, Stream},
    engine::{Control, Engine},
    graph::{self, EdgeList},
    homology::{self, Clouds, CurveReal, Diagrams, HomologyReal, Rips, Sampled},
    launch,
    list_rank::{
        ListRanker, Options, Strategy, Weight,
        distributed::{self, DistributedRanker},
        generate, rank_sequentially,
    },
    overlap::{
        Boundary, Lattice, Overlap, OverlapKernel, OverlapReal, Packings, Search, Shape, Wanted,
        pack::{Budget, Packer, Settings, Turns},
    },
    pcf::{Layout, Measure, Pairwise, PcfKernel, PcfReal, PcfSet, barcode::Curve, lp_distance, random},
    ranks::threads,
    spmv::{Csr, DeviceMatrix, SpmvKernel, SpmvReal, add, gather},
    trees::{self, Ancestors, Rooted, Rooter, Rooting, Roots, TreeSums},
};

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn stream() -> Result<Stream> {
    Ok(Device::best()?.stream()?)
}

/// Tests of a function in either precision.
macro_rules! in_both {
    ($($test:ident: $of:ident;)*) => {$(
        #[test]
        fn $test() -> Result {
            $of::<f32>()?;
            $of::<f64>()
        }
    )*};
}
in_both! {
    matrices: matrices_of;
    steps: steps_of;
    copies_apart: apart_of;
    overlaps: overlaps_of;
    sparse_products: products_of;
    bars: homology_of;
}

/// What long lists alone go through: pairs that are stored at once, and such that are binned once more.
fn windows<V: Weight + PartialEq + std::fmt::Debug>(value: impl Fn(i32) -> V) -> Result {
    let stream = stream()?;
    let device = stream.device();
    let (n, first) = (100, 1000);
    let pairs = |first: i32| (0..n).rev().map(|i| V::record(first + i, value(i))).collect::<Vec<_>>();
    let (pairs, far) = (device.upload(&pairs(0))?, device.upload(&pairs(first))?);
    let (status, expected) = (device.upload(&[Status::default()])?, Expected { ranked: 0, ends: 0 });
    let mut results = device.alloc::<V>(n as usize)?;
    // SAFETY: there is a result for each pair.
    unsafe { launch!(stream, binned::finish_wide::<V><<<1, 64>>>(&pairs, &mut results, &status, expected))? };
    assert!(stream.download_vec(&results)?.into_iter().eq((0..n).map(&value)));

    let cut = Cut { n: n as u32, window_bits: 4, part_bits: 4, vectors: 2 };
    let (mut finer, mut filled) = (device.alloc::<V::Record>(n as usize)?, device.alloc_zeroed::<u32>(7)?);
    let shared = cut.partition_shared(32, size_of::<V::Record>());
    // SAFETY: there are as many finer pairs as pairs, a counter for each window, and the shared memory of 32 threads.
    unsafe {
        launch!(stream, binned::regroup::<V><<<1, 32, shared>>>(
            &far, first as u32, &mut finer, &mut filled, cut, &status, expected
        ))?;
    }
    assert_eq!(stream.download_vec(&filled)?, [16, 16, 16, 16, 16, 16, 4]);
    for (window, pairs) in stream.download_vec(&finer)?.chunks(16).enumerate() {
        let mut found: Vec<_> = pairs.iter().map(|&pair| V::parts(pair)).collect();
        found.sort_by_key(|&(element, _)| element);
        assert!(found.into_iter().eq((16 * window as i32..n.min(16 * window as i32 + 16)).map(|i| (i, value(i)))));
    }
    Ok(())
}

/// A list long enough for two levels of sublists.
fn sums<V: Weight + Pod + PartialEq + std::fmt::Debug>(weight: V, sum: fn(usize) -> V) -> Result {
    let stream = stream()?;
    let device = stream.device();
    let n = 8300;
    let next = device.upload(&generate::reversed(n as u32))?;
    let (weights, mut sums) = (device.upload(&vec![weight; n])?, device.alloc(n)?);
    for (strategy, sublists) in [(Strategy::Auto, Some(4150)), (Strategy::Block, None)] {
        let options = Options { strategy, sublists, ..Options::default() };
        ListRanker::new(device, options).prefix_sums(&stream, &next, None, &weights, &mut sums)?;
        assert_eq!(stream.download_vec(&sums)?, (0..n).map(|i| sum(n - 1 - i)).collect::<Vec<_>>());
    }
    Ok(())
}

#[test]
fn lists() -> Result {
    let stream = stream()?;
    let device = stream.device();
    let next = generate::random(300, 1);
    let (expected, on_device) = (rank_sequentially(&next, None)?, device.upload(&next)?);
    for strategy in [Strategy::Block, Strategy::Grid, Strategy::Runs, Strategy::Split, Strategy::Packed, Strategy::Binned] {
        let (mut ranks, mut order) = (device.alloc(next.len())?, device.alloc(next.len())?);
        let mut ranker = ListRanker::new(device, Options { strategy, ..Options::default() });
        ranker.rank(&stream, &on_device, None, &mut ranks)?;
        assert_eq!(stream.download_vec(&ranks)?, expected, "{strategy:?}");
        ranker.order(&stream, &ranks, &mut order)?;
        assert_eq!(next[stream.download_vec(&order)?[299] as usize], -1);
    }
    let (mut ranks, mut lists) = (device.alloc(40)?, device.alloc(40)?);
    let next: Vec<i32> = (0..40).map(|i| if i % 10 == 9 { -1 } else { i + 1 }).collect();
    for strategy in [Strategy::Split, Strategy::Binned] {
        let options = Options { strategy, sublists: Some(20), ..Options::default() };
        let forest = ListRanker::new(device, options).forest(&stream, &device.upload(&next)?, &mut ranks, &mut lists)?;
        assert_eq!(forest.lists, 4);
        assert!(stream.download_vec(&lists)?.into_iter().eq((0..40).map(|i| i / 10)));
    }
    windows::<i32>(|i| i)?;
    windows::<i64>(i64::from)?;
    windows::<f32>(|i| i as f32)?;
    windows::<f64>(f64::from)?;
    sums::<i32>(3, |i| 3 * i as i32)?;
    sums::<i64>(-3, |i| -3 * i as i64)?;
    sums::<f32>(0.5, |i| 0.5 * i as f32)?;
    sums::<f64>(0.5, |i| 0.5 * i as f64)
}

/// A list over two ranks that share the device, and its ranks checked.
#[test]
fn lists_over_ranks() -> Result {
    let device = Device::best()?;
    threads::run(&[device.clone(), device], |device, ranks| {
        let (rank, layout, stream) = (ranks.rank(), distributed::layout(300, 2)?, device.stream()?);
        let next = distributed::generate(&stream, layout, rank, 1, 5)?;
        let mut result = device.alloc(next.len())?;
        let mut ranker = DistributedRanker::new(device, ranks, distributed::Options { group: 4, ..Default::default() });
        ranker.rank(&stream, 300, &next, None, &mut result)?;
        ranker.verify(&stream, 300, &next, &result)
    })?;
    Ok(())
}

/// Triangles in a row, in more than two blocks of positions.
#[test]
fn graphs() -> Result {
    let device = Device::best()?;
    let triangles = graph::generate::cliques(30, 3);
    assert_eq!(graph::components(&device, &triangles)?, [0; 90]);
    let (stream, mut labels) = (device.stream()?, device.alloc(90)?);
    graph::Components::new(&device)?.with_windows(true).label(&stream, &triangles.upload(&device)?, &mut labels)?;
    assert_eq!(stream.download_vec(&labels)?, [0; 90]);
    // Edges enough for a sample of them to come first.
    assert_eq!(graph::components(&device, &graph::generate::cliques(10, 12))?, [0; 120]);
    for arcs in [false, true] {
        let (bridges, parts) = graph::bridges(&device, &EdgeList { arcs, ..triangles.clone() })?;
        assert_eq!(bridges.len(), 29);
        assert!(parts.into_iter().eq((0..90).map(|vertex| vertex / 3 * 3)));
    }
    let stream = device.stream()?;
    assert_eq!(graph::repeats(&stream, &triangles.upload(&device)?)?, 0);
    let mut edges = device.empty();
    graph::edges_of_rows(&stream, &device.upload(&[0, 2, 3])?, &device.upload(&[0, 1, 1])?, &mut edges)?;
    assert_eq!(stream.download_vec(&edges)?, [[0, 0], [0, 1], [1, 1]].map(Into::into));
    let (labels, points) = graph::biconnected(&device, &triangles)?;
    assert_eq!((&labels[..5], points.len()), (&[1, 1, 1, 3, 4][..], 58));
    Ok(())
}

/// A path, many times over: its first copy is the lightest.
fn forest<W: graph::Weight<Total: PartialEq + std::fmt::Debug>>(weight: fn(i32) -> W, total: W::Total) -> Result {
    let stream = stream()?;
    let device = stream.device();
    let edges: Vec<_> = (0..4158).map(|edge| [edge % 99, edge % 99 + 1].into()).collect();
    let weights: Vec<_> = (0..4158).map(weight).collect();
    let (mut labels, mut indices) = (device.alloc(100)?, device.empty());
    let mut forests = graph::MinimumForests::new(device, false)?;
    let found = forests.find(&stream, &device.upload(&edges)?, &device.upload(&weights)?, &mut labels, &mut indices)?;
    assert_eq!(found.total, total);
    assert_eq!(stream.download_vec(&labels)?, [0; 100]);
    assert!(stream.download_vec(&indices)?.into_iter().eq(0..99));
    Ok(())
}

#[test]
fn minimum_spanning_forests() -> Result {
    forest(|edge| edge as f32, 4851.0)?;
    forest(f64::from, 4851.0)?;
    forest(|edge| edge, 4851)?;
    // More than 32 bits.
    forest(|edge| i64::from(edge) << 24, 4851 << 24)
}

fn tree_sums<V: trees::Weight + PartialEq + std::fmt::Debug>(rooting: &Rooting, number: fn(u8) -> V) -> Result {
    let stream = stream()?;
    let weights = stream.device().upload(&vec![number(1); rooting.n()])?;
    let mut found = stream.device().alloc(rooting.n())?;
    let mut sums = TreeSums::new(stream.device())?;
    sums.paths(&stream, rooting, &weights, &mut found)?;
    assert!(stream.download_vec(&found)?.into_iter().eq((0..rooting.n()).map(|v| number(v as u8 + 1))));
    sums.subtrees(&stream, rooting, &weights, &mut found)?;
    assert!(stream.download_vec(&found)?.into_iter().eq((0..rooting.n()).map(|v| number((rooting.n() - v) as u8))));
    Ok(())
}

/// A path long enough for two levels of minima.
#[test]
fn paths() -> Result {
    let stream = stream()?;
    let device = stream.device();
    let n = 100;
    let mut edges: Vec<[i32; 2]> = (1..n).map(|v| [v - 1, v]).collect();
    let once = trees::root(device, n as usize, &edges, Roots::At(0))?;
    edges.extend((1..n).map(|v| [v, v - 1]));
    assert_eq!(trees::root(device, n as usize, &edges, Roots::Each)?, once);
    assert_eq!(once.depth, (0..n).collect::<Vec<_>>());
    let mut rooting = Rooting::new(device);
    Rooter::new(device)?.parents(&stream, &device.upload(&once.parent)?, None, &mut rooting)?;
    assert_eq!(Rooted::download(&stream, &rooting)?, once);
    tree_sums::<i32>(&rooting, i32::from)?;
    tree_sums::<i64>(&rooting, i64::from)?;
    tree_sums::<f32>(&rooting, f32::from)?;
    tree_sums::<f64>(&rooting, f64::from)?;
    let mut ancestors = Ancestors::new(device)?;
    ancestors.build(&stream, &rooting)?;
    let mut found = device.alloc(2)?;
    ancestors.of(&stream, &device.upload(&[[99, 7], [10, 12]].map(Into::into))?, &mut found)?;
    assert_eq!(stream.download_vec(&found)?, [7, 10]);
    Ok(())
}

fn matrices_of<T: PcfReal>() -> Result {
    let engine = Engine::new([Device::best()?])?;
    let (a, b): (PcfSet<T>, PcfSet<T>) = (random::uniform(5, 9, 1)?, random::uniform(3, 6, 2)?);
    for kernel in [PcfKernel::Tiled, PcfKernel::Direct] {
        for measure in [Measure::Lp(1.0), Measure::Lp(2.0), Measure::Lp(3.0), Measure::Inner] {
            let matrix = || Pairwise::cdist(&a, &b, measure).map(|matrix| matrix.with_kernel(kernel));
            let entries = matrix()?.compute(&engine, Layout::Dense, Control::default())?;
            let mut out = engine.devices()[0].alloc::<T>(entries.len())?;
            matrix()?.compute_on_device(&engine, Layout::Dense, out.as_view_mut(), Control::default())?;
            let Measure::Lp(p) = measure else { continue };
            for (k, entry) in entries.into_iter().enumerate() {
                let (entry, expected) = (entry.to_f64(), lp_distance(a.get(k / 3), b.get(k % 3), p)?.to_f64());
                assert!((entry - expected).abs() <= 1e-5 * expected, "{kernel:?} {measure:?}: {entry} for {expected}");
            }
        }
    }
    // So long that merges are cut into pieces.
    let long: PcfSet<T> = random::uniform(1, 4100, 3)?;
    for measure in [Measure::Lp(1.0), Measure::Lp(2.0), Measure::Lp(3.0), Measure::Inner] {
        let matrix = Pairwise::cdist(&long, &b, measure)?.with_kernel(PcfKernel::Tiled);
        let entries = matrix.compute(&engine, Layout::Dense, Control::default())?;
        let Measure::Lp(p) = measure else { continue };
        for (k, entry) in entries.into_iter().enumerate() {
            let (entry, expected) = (entry.to_f64(), lp_distance(long.get(0), b.get(k), p)?.to_f64());
            assert!((entry - expected).abs() <= 1e-3 * expected, "{measure:?} in pieces: {entry} for {expected}");
        }
    }
    let distances = Pairwise::pdist(&a, 1.0)?;
    let (nearest, _) = distances.nearest(&engine, 2, Control::default())?;
    assert!(nearest.indices.chunks(2).zip(0..).all(|(others, i)| !others.contains(&i) && others[0] != others[1]));
    let (all, _) = distances.below(&engine, T::INFINITY, Control::default())?;
    let (sums, _) = distances.row_sums(&engine, Control::default())?;
    for (row, sum) in all.values.chunks(4).zip(sums) {
        assert!((row.iter().map(|entry| entry.to_f64()).sum::<f64>() - sum).abs() <= 1e-5 * sum, "{row:?}: {sum}");
    }
    Ok(())
}

/// Poses of which some overlap.
fn crowd(n: usize, seed: u32) -> Vec<Pose> {
    poses(n, seed).into_iter().map(|[x, y, theta]| [0.2 * x, 0.2 * y, theta]).collect()
}

fn overlaps_of<T: OverlapReal>() -> Result {
    let packings = Packings::ensembles(crowd(8, 3), 4)?;
    let mut totals = Vec::new();
    for kernel in [OverlapKernel::Queue, OverlapKernel::Direct] {
        for (deterministic, grid_from) in [(false, usize::MAX), (true, 1)] {
            let overlap = || {
                let overlap = Overlap::<T>::new(&Device::best()?, &[Shape::tree()])?.kernel(kernel);
                Ok::<_, Box<dyn std::error::Error>>(overlap.deterministic(deterministic).grid_from(grid_from))
            };
            for boundary in [Boundary::square(), Boundary::disk()] {
                overlap()?.boundary(boundary)?.evaluate_within(&packings, &[1.0], Wanted::ALL)?;
            }
            overlap()?.lattice(Lattice::new([3.0, 0.0], [0.5, 3.0])?)?.evaluate(&packings, Wanted::ALL)?;
            let sum = overlap()?.evaluate(&packings, Wanted::TOTALS)?.totals[1].to_f64();
            let pairs = overlap()?.pairs(&packings)?;
            let of_pairs: f64 = pairs.iter().filter(|pair| pair.packing == 1).map(|pair| pair.area.to_f64()).sum();
            assert!(sum > 0.0 && (sum - of_pairs).abs() < 1e-5 * sum, "{sum} and {of_pairs}");
            totals.push(sum);
        }
    }
    assert!(totals.iter().all(|total| (total - totals[0]).abs() < 1e-5 * totals[0]), "{totals:?}");
    // Two leaves, and the box around both.
    let packings = Packings::one(crowd(17, 4))?;
    let mut totals = Vec::new();
    for kernel in [OverlapKernel::Queue, OverlapKernel::Direct] {
        for wanted in [Wanted::TOTALS, Wanted::ALL] {
            for search in [Search::Tree, Search::Grid] {
                let overlap = Overlap::<T>::new(&Device::best()?, &[Shape::tree()])?.kernel(kernel).grid_from(1);
                totals.push(overlap.search(search).evaluate(&packings, wanted)?.totals[0].to_f64());
            }
        }
    }
    assert!(totals.iter().all(|total| (total - totals[0]).abs() < 1e-5 * totals[0]), "{totals:?}");
    // A heap whose tiles, of sixteen poses, leave pairs to other warps.
    let device = Device::best()?;
    let square = Shape::polygon("square", &[[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])?;
    let far = (0..15 * 48 * device.info().multiprocessors).map(|k| [2.0 * f64::from(k), 3.0, 0.0]);
    let packings = Packings::one((0..100).map(|_| [0.0; 3]).chain(far).collect())?;
    let mut overlap = Overlap::<T>::new(&device, &[square])?.kernel(OverlapKernel::Queue).search(Search::Tree).grid_from(1);
    let total = overlap.evaluate(&packings, Wanted::ALL)?.totals[0].to_f64();
    assert!((total - 4950.0).abs() < 1e-2, "{total}");
    Ok(())
}

/// Where nothing is in the way, poses stay and scales shrink.
fn steps_of<T: OverlapReal + adam::step::Instance>() -> Result {
    let stream = stream()?;
    let device = stream.device();
    let number = T::from_f64;
    let step = Step {
        rate: number(0.5),
        turn: T::ONE,
        scale_rate: T::ONE,
        pressure: T::ONE,
        beta1: number(0.9),
        beta2: number(0.99),
        epsilon: number(1e-9),
    };
    let (steps, offsets) = (device.upload(&[step])?, device.upload(&[0u32, 35, 36])?);
    let (slopes, by_scale) = (device.upload(&[T::ZERO; 3 * 36])?, device.upload(&[T::ZERO; 36])?);
    let (mut poses, mut scales) = (device.upload(&[T::HALF; 3 * 36])?, device.upload(&[T::ONE; 2])?);
    // Nothing is kept in a half-plane or from shrinking.
    let (least, half_planes) = (device.upload(&[T::ZERO; 2])?, device.alloc_zeroed(0)?);
    let (mut of_poses, mut of_scales) = (device.alloc_zeroed(POSE_MEMORY * 36)?, device.alloc_zeroed(2)?);
    for threads in [32, 64] {
        // SAFETY: there are two packings of 36 poses, and for each as many numbers as the kernel says.
        unsafe {
            let (poses, scales) = (&mut poses, &mut scales);
            let (offsets, least, half_planes) = (&offsets, &least, &half_planes);
            let lanes = LanesArgs { offsets, poses, scales, least, half_planes };
            let slopes = SlopesArgs { overlap: &slopes, outside: &slopes, by_scale: &by_scale };
            let memory = MemoryArgs { poses: &mut of_poses, scales: &mut of_scales };
            launch!(stream, adam::step::<T><<<2, threads>>>(&steps, 0, lanes, slopes, memory))?;
        }
    }
    assert!(stream.download_vec(&poses)?.into_iter().all(|number| number == T::HALF));
    // Means of 0 and ones: 0.1 and 0.19.
    let expected = 1.0 - 0.5 * (0.1 + 0.19);
    assert!(stream.download_vec(&scales)?.into_iter().all(|scale| (scale.to_f64() - expected).abs() < 1e-6));
    Ok(())
}

/// Two heaps of two shapes: one that comes apart, so that its container becomes smaller, and one that can't.
fn apart_of<T: OverlapReal + separate::separate::Instance>() -> Result {
    let bar = Shape::polygon("bar", &[[0.0, 0.0], [1.0, 0.0], [1.0, 0.3], [0.0, 0.3]])?;
    let half_planes = &[[1.0, 0.0, 0.0, 0.5], [-1.0, 0.0, 0.0, 0.5], [0.0, 1.0, 0.0, 0.5], [0.0, -1.0, 0.0, 0.5]];
    let container = apart::Container { half_planes, extent: [-0.5, -0.5, 0.5, 0.5], strip: false, scale: 2.2 };
    let heap = |count: u32| (0..count).map(|copy| (copy % 2, [0.1, 0.1 * f64::from(copy), 0.0])).collect();
    let shapes = [Shape::tree(), bar];
    let found =
        apart::separate::<T>(&stream()?, &shapes, &[heap(3), heap(20)], container, (&[&[], &[0.0, 1.0]], 0.9), (&[1, 2], 3, 2))?;
    assert!(found.least[0] == 0.0 && found.scales[0] < 2.2, "{found:?}");
    assert!(found.least[1] > 0.0 && found.scales[1] == T::from_f64(2.2).to_f64(), "{found:?}");
    Ok(())
}

/// Shapes at few angles are separated by fields.
#[test]
fn copies_apart_by_fields() -> Result {
    let bar = Shape::polygon("bar", &[[0.0, 0.0], [1.0, 0.0], [1.0, 0.3], [0.0, 0.3]])?;
    let settings = Settings {
        container: Boundary::strip(2.0)?,
        turns: vec![Turns::HALVES, "none".parse()?],
        budget: Budget::Steps(100),
        starts: Some(2),
        ..Settings::of([(Shape::tree(), 3), (bar, 9)])
    };
    let packed = Packer::new(&Device::best()?, settings)?.run(|_| {})?;
    assert!(packed.density > 0.4, "{}", packed.density);
    Ok(())
}

fn products_of<T: SpmvReal + PartialEq + std::fmt::Debug>() -> Result {
    let stream = stream()?;
    let device = stream.device();
    // Each row has its number in column 0, and row 5 ones in all, enough for several tiles.
    let (rows, columns) = (50, 3000);
    let long = (0..columns as u32).map(|column| (5, column, T::from_f64(1.0)));
    let first = (0..rows as u32).map(|row| (row, 0, T::from_f64(row.into())));
    let matrix = Csr::from_triplets((rows, columns), first.chain(long))?;
    let x = device.upload(&vec![T::from_f64(1.0); columns])?;
    let expected: Vec<f64> = (0..rows).map(|row| row as f64 + if row == 5 { columns as f64 } else { 0.0 }).collect();
    for kernel in [SpmvKernel::Rows { lanes: 8 }, SpmvKernel::Tiles { threads: 64 }] {
        let mut y = device.alloc(rows)?;
        DeviceMatrix::with_kernel(device, &matrix, kernel)?.multiply(&stream, &x, &mut y)?;
        assert!(stream.download_vec(&y)?.into_iter().map(T::to_f64).eq(expected.iter().copied()), "{kernel}");
    }
    let (a, mut b, mut c) = (device.upload(&[1.0, 2.0, 4.0].map(T::from_f64))?, device.alloc(2)?, device.alloc(2)?);
    gather(&stream, &a, &device.upload(&[2u32, 1])?, &mut b)?;
    add(&stream, &b, a.view(..2)?, &mut c)?;
    assert_eq!(stream.download_vec(&c)?, [5.0, 4.0].map(T::from_f64));
    Ok(())
}

#[test]
fn variants_of_the_study() -> Result {
    let (device, stream) = (Device::best()?, stream()?);
    let (kernels, all) = (Kernels::new(&device)?, crowd(12, 5));
    let mut lists = kernels.lists(&all[..9], &all, 64)?;
    let mut totals = Vec::new();
    for variant in Variant::all() {
        totals.push(kernels.total(&stream, variant, &mut lists)?);
    }
    assert!(totals[0] > 0.0 && totals.iter().all(|total| (total - totals[0]).abs() < 1e-12), "{totals:?}");
    Ok(launch!(stream, gpu_kernels::concurrency::nothing<<<2, 32>>>())?)
}

fn collectives_of<T: collectives::Value + Pod + PartialEq + std::fmt::Debug>(number: fn(u8) -> T) -> Result {
    let stream = stream()?;
    let device = stream.device();
    // More than a tile.
    let n = 4100;
    let mut values = device.upload(&(0..n).map(|i| number(u8::from(i % 1000 == 7))).collect::<Vec<T>>())?;
    let (mut scan, mut reduce) = (ScanWorkspace::new(device)?, ReduceWorkspace::new(device)?);
    for (operator, expected) in [(Operator::Sum, 5), (Operator::Min, 0), (Operator::Max, 1)] {
        collectives::reduce(&stream, &values, operator, &mut reduce)?;
        assert_eq!(stream.download_vec(reduce.result())?, [number(expected)], "{operator:?}");
    }
    let mut sums = device.alloc(n)?;
    collectives::exclusive_scan(&stream, &values, &mut sums, &mut scan)?;
    collectives::exclusive_scan_in_place(&stream, &mut values, &mut scan)?;
    let expected: Vec<T> = (0..n).map(|i| number((i.saturating_sub(8) / 1000 + usize::from(i > 7)) as u8)).collect();
    assert_eq!(stream.download_vec(&sums)?, expected);
    assert_eq!(stream.download_vec(&values)?, expected);
    // Less than a tile: CPUs scan integers by one thread.
    let mut short = device.upload(&[number(3), number(1)])?;
    collectives::exclusive_scan_in_place(&stream, &mut short, &mut scan)?;
    assert_eq!(stream.download_vec(&short)?, [number(0), number(3)]);
    Ok(())
}

#[test]
fn sorts() -> Result {
    let stream = stream()?;
    // More than a tile, and more than a digit.
    let keys = stream.device().upload(&(0..4100).rev().collect::<Vec<u32>>())?;
    for kernel in [SortKernel::Tiled, SortKernel::Direct] {
        let mut workspace = SortWorkspace::new(stream.device())?.with_kernel(kernel);
        collectives::sort(&stream, &keys, 13, &mut workspace)?;
        assert!(stream.download_vec(workspace.keys())?.into_iter().eq(0..4100), "{kernel:?}");
        assert!(stream.download_vec(workspace.order())?.into_iter().eq((0..4100).rev()), "{kernel:?}");
    }
    Ok(())
}

#[test]
fn collective_operations() -> Result {
    collectives_of::<u32>(u32::from)?;
    collectives_of::<i32>(i32::from)?;
    collectives_of::<u64>(u64::from)?;
    collectives_of::<i64>(i64::from)?;
    collectives_of::<f32>(f32::from)?;
    collectives_of::<f64>(f64::from)
}

#[test]
fn models() -> Result {
    let stream = stream()?;
    let device = stream.device();
    let (x, mut y) = (device.upload(&[1.0f32, 2.0])?, device.upload(&[3.0f32, 4.0])?);
    launch!(stream, samples::saxpy<<<1, 32>>>(2.0, &x, &mut y))?;
    assert_eq!(stream.download_vec(&y)?, [5.0, 8.0]);
    // SAFETY: no other test of this program uses the constant, and this one waits for the kernel.
    unsafe { device.set_constant(&samples::COEFFICIENTS, &[1.0, 2.0, 3.0, 4.0])? };
    launch!(stream, samples::polynomial<<<1, 32>>>(&x, &mut y))?;
    assert_eq!(stream.download_vec(&y)?, [10.0, 49.0]);
    let mut all = device.alloc::<u64>(3)?;
    launch!(stream, samples::broadcast<<<1, 32>>>(&device.upload(&[7u64])?, &mut all))?;
    assert_eq!(stream.download_vec(&all)?, [7; 3]);
    let numbers: Vec<u32> = (0..64).collect();
    let (mut numbers, mut out) = (device.upload(&numbers)?, device.alloc::<u32>(64)?);
    launch!(stream, samples::gather<<<1, 32>>>(&numbers, &numbers, &mut out))?;
    // SAFETY: there is an element for each thread, a sum for each block, and enough shared memory.
    unsafe {
        launch!(stream, samples::block_sum<<<2, 32>>>(&numbers, &mut out))?;
        assert_eq!(stream.download_vec(out.view(..2)?)?, [496, 1520]);
        launch!(stream, samples::reverse_blocks<<<2, 32, 128>>>(&mut numbers))?;
        launch!(stream, samples::mirror<<<1, 64>>>(&mut numbers, &mut out))?;
    }
    assert!(stream.download_vec(&out)?.into_iter().eq((0..64).map(|i| 2 * ((i + 32) % 64))));
    if device.info().compute_capability.is_some_and(|capability| capability < (8, 0)) {
        return Ok(());
    }
    let side = matmul::TILE;
    let (ones, mut product) = (device.upload(&vec![f16::ONE; side * side])?, device.alloc(side * side)?);
    // SAFETY: the arrays have this size.
    unsafe {
        launch!(stream, matmul::matmul_f16<<<1, matmul::THREADS, matmul::SHARED>>>(
            &ones, &ones, &mut product, side as u32, side as u32
        ))?;
    }
    assert_eq!(stream.download_vec(&product)?, vec![side as f32; side * side]);
    Ok(())
}

/// Launches a group of probes; `values` has as many elements as each array.
macro_rules! probe {
    ($stream:ident, $t:ty: $warp:ident $block:ident) => {{
        let device = $stream.device();
        let n = 64;
        let values = device.upload(&vec![<$t>::from(1u8); n])?;
        let mut out: [Buffer<$t>; 4] = [(); 4].map(|()| device.alloc_zeroed(n).expect("memory"));
        let [a, b, c, d] = &mut out;
        // SAFETY: there are as many elements as threads.
        unsafe {
            launch!($stream, probe::$warp<<<1, 64>>>(&values, 32, &mut *a, &mut *b, &mut *c, d))?;
            launch!($stream, probe::$block<<<1, 64>>>(&values, a, b, c))?;
        }
        $stream.synchronize()?;
    }};
}

#[test]
fn probes() -> Result {
    let stream = stream()?;
    let device = stream.device();
    probe!(stream, u32: warp_sum_u32 block_sum_u32);
    probe!(stream, i32: warp_min_i32 block_min_i32);
    probe!(stream, u64: warp_max_u64 block_max_u64);
    probe!(stream, f64: warp_sum_f64 block_sum_f64);
    probe!(stream, u32: warp_affine_u32 block_affine_u32);
    let bins = device.upload(&(0..64u32).map(|i| i % 5).collect::<Vec<u32>>())?;
    let mut counts = device.alloc(5)?;
    // SAFETY: the arrays and the shared memory have the sizes that the kernel asks for, of 64 threads and five bins.
    unsafe { launch!(stream, probe::histogram<<<1, 64, 20>>>(&bins, 5, &mut counts))? };
    assert_eq!(stream.download_vec::<u32>(&counts)?, [13, 13, 13, 13, 12]);
    let (values, indices, mut out) = (device.upload(&[1, 2, 3])?, device.upload(&[2, 0, 1])?, device.alloc::<i32>(3)?);
    launch!(stream, floors::gather<<<1, 32>>>(&values, &indices, &mut out))?;
    assert_eq!(stream.download_vec(&out)?, [3, 1, 2]);
    // SAFETY: there are three elements, and the indices differ.
    unsafe { launch!(stream, floors::scatter<<<1, 32>>>(&indices, &mut out, 3))? };
    assert_eq!(stream.download_vec(&out)?, [1, 2, 0]);
    Ok(())
}

/// A brick of equal cells stays as it is.
#[test]
fn halos() -> Result {
    let stream = stream()?;
    let device = stream.device();
    let (nx, ny, nz) = (5, 4, 6);
    let brick = Brick { nx, ny, nz };
    let mut cells = device.upload(&vec![0.5; brick.padded_len()])?;
    let mut next = device.alloc_zeroed(brick.padded_len())?;
    let (grid, shell) = (stencil::interior_grid(brick), brick.shell_len().div_ceil(64));
    // SAFETY: both arrays are the brick's, and of each dimension the array of faces has both.
    unsafe {
        launch!(stream, stencil::interior<<<grid, stencil::TILE>>>(&cells, &mut next, nx, ny, nz, 0.125))?;
        launch!(stream, stencil::shell<<<shell, 64>>>(&cells, &mut next, nx, ny, nz, 0.125))?;
        for dimension in 0..3 {
            let mut sent = device.alloc(2 * brick.face_len(dimension) as usize)?;
            launch!(stream, faces::pack<<<1, 64>>>(&cells, &mut sent, nx, ny, nz, dimension, 0))?;
            launch!(stream, faces::unpack<<<1, 64>>>(&sent, &mut cells, nx, ny, nz, dimension, 0))?;
        }
    }
    assert_eq!(stream.download_vec(&next)?.into_iter().filter(|&cell| cell == 0.5).count(), brick.cells());
    assert!(stream.download_vec(&cells)?.into_iter().all(|cell| cell == 0.5));
    Ok(())
}

/// The corners of a square, and a single point.
fn homology_of<T: HomologyReal>() -> Result {
    let stream = stream()?;
    let points = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 5.0, 5.0].map(T::from_f64);
    for sort in [0, 1, 64] {
        let mut rips = Rips::new(stream.device(), false)?.with_blocks(32, 4, sort, u64::MAX);
        let options = homology::Options { degree: 2, ..homology::Options::default() };
        let diagrams = rips.compute(&stream, &Clouds::points(&points, 2, vec![4, 1])?, &options)?;
        assert_eq!(diagrams.values(1), [[1.0, 2f64.sqrt()].map(T::from_f64)]);
        assert_eq!(diagrams.range(1, 0).len(), 1);
    }
    Ok(())
}

/// Functions of no bars, and of more bars than a block has threads.
fn functions_of<T: HomologyReal, U: CurveReal>() -> Result {
    let stream = stream()?;
    let bars = (0..150u8).map(|bar| [f64::from(bar % 5), f64::from(5 + bar % 3)].map(T::from_f64)).collect();
    let diagrams = Diagrams::from_parts(vec![(vec![0, 0, 150], bars, Vec::new())])?;
    for sort in [0, 1, 64] {
        let mut rips = Rips::new(stream.device(), false)?.with_blocks(32, 4, sort, u64::MAX);
        let betti: PcfSet<U> = rips.curves(&stream, &diagrams, 0, Curve::Betti, None)?;
        assert_eq!(betti.get(1).value_at(U::from_f64(4.5)).to_f64(), 150.0);
        for (function, value) in [(Sampled::Landscape { layers: 2 }, 3.0), (Sampled::Silhouette { power: 0.0 }, 4.0 / 3.0)] {
            let set: PcfSet<U> = rips.sampled_curves(&stream, &diagrams, 0, function, &[4.0, 5.0, 6.0], None)?;
            // At 4, the heights are min(4 - i, 1 + j) for i below 5 and j below 3, each ten times.
            let last = set.get(set.len() - 1).value_at(U::from_f64(4.0)).to_f64();
            assert!((last - value).abs() < 1e-6, "{function:?}: {last}");
        }
    }
    Ok(())
}

#[test]
fn functions_of_bars() -> Result {
    functions_of::<f32, f32>()?;
    functions_of::<f64, f64>()
}
