//! The concurrency study: its kernels against an independent computation, on the backend that
//! `WARPSMITH_BACKEND` names, by default on the best device.

use simt::{Executor, Schedule};
use warpsmith::{
    common::Cancel,
    concurrency::{ConcurrencyError, Kernels, Options, Pose, Study, Variant, poses},
    device::{Backend, Device},
    overlap::Shape,
};

use crate::polygon::{brute, place};

/// The overlap of all pairs of a pose of each list that are not the same.
fn expected(first: &[Pose], second: &[Pose]) -> f64 {
    let shape = Shape::tree();
    // The shape's pieces at a pose, seen from another place.
    let placed = |pose: &Pose, from: &Pose| -> Vec<_> {
        let pose = [pose[0] - from[0], pose[1] - from[1], pose[2]];
        shape.pieces().iter().map(|piece| place(piece, pose)).collect()
    };
    let mut sum = 0.0;
    for own in first {
        let mine = placed(own, own);
        // No tree is larger than 1.
        for other in second.iter().filter(|other| *other != own && (other[0] - own[0]).hypot(other[1] - own[1]) < 2.0) {
            for its in placed(other, own) {
                sum += mine.iter().map(|mine| brute(mine, &its)).sum::<f64>();
            }
        }
    }
    sum
}

/// Compares all kernels with it.
#[track_caller]
fn compare(device: &Device, first: &[Pose], second: &[Pose], blocks: &[usize]) {
    let kernels = Kernels::new(device).unwrap();
    let stream = device.stream().unwrap();
    let expected = expected(first, second);
    for &block in blocks {
        let mut lists = kernels.lists(first, second, block).unwrap();
        for variant in Variant::all() {
            let found = kernels.total(&stream, variant, &mut lists).unwrap();
            assert!(
                (found - expected).abs() <= 1e-12 * expected.max(1.0),
                "{variant}, {} against {} in blocks of {block}: {found}, and {expected} by another method",
                first.len(),
                second.len()
            );
        }
    }
}

#[test]
fn all_kernels_find_the_same_at_all_sizes() {
    let device = Device::best().unwrap();
    let all = poses(120, 5);
    for n in [1, 2, 3, 4, 31, 32, 33, 63, 65, 100] {
        compare(&device, &all[..n], &all[..60], &[256]);
    }
    // Several blocks, the last one not full.
    compare(&device, &all, &all[..40], &[1, 7, 32, 50, 119]);
    compare(&device, &poses(600, 1), &all[..20], &[256]);
    for n in [255, 256, 257] {
        compare(&device, &poses(n, 9), &all[..7], &[256]);
    }
}

#[test]
fn lists_of_nothing_and_crowds() {
    let device = Device::best().unwrap();
    let few = poses(5, 2);
    compare(&device, &few[..1], &[], &[256]);
    compare(&device, &[], &few, &[256]);
    // All on top of each other, some of them the same, far from the origin; the same place at
    // another angle isn't the same.
    let crowd: Vec<Pose> =
        (0..40).map(|i| [1000.0 + 0.125 * f64::from(i % 5), -0.25 * f64::from(i % 3), 0.5 * f64::from(i % 4)]).collect();
    compare(&device, &crowd, &crowd, &[256, 9]);
}

#[test]
fn reductions_don_t_depend_on_the_order_of_threads() {
    let all = poses(70, 3);
    for seed in 0..6 {
        let device = Device::cpu_with(Executor::default().with_schedule(Schedule::Random { seed }));
        compare(&device, &all, &all[..25], &[256, 37]);
    }
}

#[test]
fn a_small_study() {
    let device = Device::best().unwrap();
    let options = Options {
        streams: vec![3, 1, 3],
        batch: vec![8, 5, 300],
        poses: 60,
        iterations: 2,
        runs: 2,
        fixed: vec![100],
        ..Options::of(&device)
    };
    let mut steps = Vec::new();
    let study = Study::run(&device, &options, &Cancel::new(), |step| steps.push((step.done, step.steps))).unwrap();
    assert_eq!(steps, (0..=5).map(|done| (done, 5)).collect::<Vec<_>>());
    // Sorted, once each, and none larger than there are poses.
    assert_eq!(study.streams.iter().map(|row| row.streams).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(study.batch.iter().map(|row| row.threads).collect::<Vec<_>>(), [5, 8]);
    let all = poses(60, options.seed);
    for row in &study.batch {
        assert!((row.total - expected(&all[..row.threads], &all)).abs() < 1e-12);
        assert_eq!(row.work.comparisons, 60 * row.threads as u64);
        let times = [&row.reductions[..], &row.placements, &[row.transform, row.turned, row.two_phase, row.engine]].concat();
        assert_eq!(times.len(), 12);
        assert!(times.iter().all(|time| 0.0 < time.min && time.min <= time.median && time.median <= time.max), "{row:?}");
    }
    assert_eq!(study.fixed[0].rows.iter().map(|row| (row.threads, row.poses)).collect::<Vec<_>>(), [(5, 20), (8, 12)]);
    assert!(study.agreement.variants == 20 && study.agreement.largest_difference < 1e-12);
    assert_eq!((study.pieces, study.stream_threads), (4, 60));
    assert_eq!(study.device.queues.is_some(), device.backend() == Backend::Cuda);
    for row in &study.streams {
        for ms in [row.plain_ms, row.graphs_ms, row.branches_ms, row.blocks_ms, row.empty_ms] {
            assert!(ms.min > 0.0 && row.rate(ms, 2).median > 0.0, "{row:?}");
        }
    }
    let value = serde_json::to_value(&study).unwrap();
    assert_eq!(value["batch"][0]["threads"], 5);
}

#[test]
fn a_study_is_cancelled() {
    let device = Device::cpu();
    let (cancel, mut steps) = (Cancel::new(), 0);
    let found = Study::run(&device, &Options::of(&device), &cancel, |_| {
        steps += 1;
        cancel.cancel();
    });
    assert_eq!((found, steps), (Err(ConcurrencyError::Cancelled), 1));
}

#[test]
fn options_are_checked() {
    let device = Device::cpu();
    let good = Options::of(&device);
    let check = |options: Options, sentence: &str| {
        let error = Study::run(&device, &options, &Cancel::new(), |_| {}).unwrap_err();
        assert!(matches!(error, ConcurrencyError::Option { .. }) && error.to_string() == sentence, "{error}");
    };
    check(Options { streams: vec![1, 0], ..good.clone() }, "streams has the entry 0; a number of streams is from 1 to 1,024");
    check(Options { streams: vec![1025], ..good.clone() }, "streams has the entry 1025; a number of streams is from 1 to 1,024");
    // At the limits of all others, so that one that is wrong is named.
    let most =
        Options { streams: vec![1024], batch: vec![1 << 14], poses: 1 << 14, iterations: 10_000, runs: 1000, ..good.clone() };
    check(
        Options { batch: vec![(1 << 14) + 1], ..most.clone() },
        "batch has the entry 16385; it is taken from the poses, of which there are fewer",
    );
    check(
        Options { poses: (1 << 14) + 1, ..most.clone() },
        "streams has the entry 1024; that many streams have no room for lists of so many poses: together they may have 2^24",
    );
    check(Options { poses: (1 << 20) + 1, ..most.clone() }, "poses has the entry 1048577; there are from 1 to 1,048,576");
    check(Options { iterations: 10_001, ..most }, "iterations has the entry 10001; there are from 1 to 10,000");
    check(Options { batch: vec![], ..good.clone() }, "batch has no entries; a batch has from 1 to 1,048,576 poses");
    check(Options { poses: 0, ..good.clone() }, "poses has the entry 0; there are from 1 to 1,048,576");
    check(Options { iterations: 0, ..good.clone() }, "iterations has the entry 0; there are from 1 to 10,000");
    check(Options { runs: 1001, ..good.clone() }, "runs has the entry 1001; there are from 1 to 1,000");
    check(Options { fixed: vec![1, 0], ..good.clone() }, "fixed has the entry 0; there are from 1 to 1,048,576 comparisons");
    check(
        Options { fixed: vec![1 << 40], ..good.clone() },
        "fixed has the entry 1099511627776; there are from 1 to 1,048,576 comparisons",
    );
    let few = Options { batch: vec![64, 32], poses: 20, ..good };
    check(few, "batch has the entry 32; it is taken from the poses, of which there are fewer");
}
