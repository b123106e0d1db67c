//! The concurrency study: its kernels against an independent computation, on the backend that `WARPSMITH_BACKEND` names
//! (by default whichever is there), and its sentences against made-up figures.

use simt::{Executor, Schedule};
use warpsmith::{
    concurrency::{
        Agreement, BatchRow, CLIP, ConcurrencyError, Facts, Fixed, FixedRow, Kernels, Options, Pose, Spread, StreamsRow, Study,
        Variant, Verdict, Work, claims, findings, poses,
    },
    device::{Backend, Device},
    overlap::Shape,
};

type Polygon = Vec<[f64; 2]>;

/// What is left of a polygon to the left of each edge of a convex one (Sutherland and Hodgman), corner by corner.
fn clip(mut polygon: Polygon, by: &Polygon) -> Polygon {
    for (k, from) in by.iter().enumerate() {
        let to = by[(k + 1) % by.len()];
        let depth = |p: &[f64; 2]| (to[0] - from[0]) * (p[1] - from[1]) - (to[1] - from[1]) * (p[0] - from[0]);
        let mut left = Vec::new();
        for (i, p) in polygon.iter().enumerate() {
            let q = &polygon[(i + 1) % polygon.len()];
            let (a, b) = (depth(p), depth(q));
            if a >= 0.0 {
                left.push(*p);
            }
            if (a >= 0.0) != (b >= 0.0) {
                let t = a / (a - b);
                left.push([p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1])]);
            }
        }
        polygon = left;
    }
    polygon
}

fn area(polygon: &Polygon) -> f64 {
    let cross = |(k, p): (usize, &[f64; 2])| {
        let q = polygon[(k + 1) % polygon.len()];
        p[0] * q[1] - p[1] * q[0]
    };
    polygon.iter().enumerate().map(cross).sum::<f64>() / 2.0
}

/// The shape's pieces at a pose, seen from another place.
fn placed(shape: &Shape, pose: &Pose, from: &Pose) -> Vec<Polygon> {
    let (sin, cos) = pose[2].sin_cos();
    let (dx, dy) = (pose[0] - from[0], pose[1] - from[1]);
    let place = |&[x, y]: &[f64; 2]| [cos * x - sin * y + dx, sin * x + cos * y + dy];
    shape.pieces().iter().map(|piece| piece.iter().map(place).collect()).collect()
}

/// The overlap of all pairs of a pose of each list that are not the same.
fn expected(first: &[Pose], second: &[Pose]) -> f64 {
    let shape = Shape::tree();
    let mut sum = 0.0;
    for own in first {
        let mine = placed(&shape, own, own);
        // No tree is larger than 1.
        for other in second.iter().filter(|other| *other != own && (other[0] - own[0]).hypot(other[1] - own[1]) < 2.0) {
            for its in placed(&shape, other, own) {
                sum += mine.iter().map(|mine| area(&clip(mine.clone(), &its))).sum::<f64>();
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
    // All on top of each other, some of them the same, far from the origin; the same place at another angle isn't the
    // same.
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
    let study = Study::run(&device, &options, |step| steps.push((step.done, step.steps))).unwrap();
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
    let findings = findings(&study);
    // That of the spread, if there is any.
    assert!([8, 9].contains(&findings.len()), "{findings:?}");
    let value = serde_json::to_value(&study).unwrap();
    assert_eq!(value["batch"][0]["threads"], 5);
}

#[test]
fn options_are_checked() {
    let device = Device::cpu();
    let good = Options::of(&device);
    let check = |options: Options, sentence: &str| {
        let error = Study::run(&device, &options, |_| {}).unwrap_err();
        assert!(matches!(error, ConcurrencyError::Option { .. }) && error.to_string() == sentence, "{error}");
    };
    check(Options { streams: vec![1, 0], ..good.clone() }, "streams has the entry 0; a number of streams is from 1 to 1,024");
    check(Options { streams: vec![2000], ..good.clone() }, "streams has the entry 2000; a number of streams is from 1 to 1,024");
    check(Options { batch: vec![], ..good.clone() }, "batch has no entries; a batch has from 1 to 1,048,576 poses");
    check(Options { poses: 0, ..good.clone() }, "poses has the entry 0; there are from 1 to 1,048,576");
    check(Options { iterations: 0, ..good.clone() }, "iterations has the entry 0; there are from 1 to 10,000");
    check(Options { runs: 1001, ..good.clone() }, "runs has the entry 1001; there are from 1 to 1,000");
    let few = Options { batch: vec![64, 32], poses: 20, ..good };
    check(few, "batch has the entry 32; it is taken from the poses, of which there are fewer");
}

// What is said of figures. The times that don't matter in a test are such that they show nothing.

/// `ms`, within one percent.
fn about(ms: f64) -> Spread {
    Spread { median: ms, min: 0.995 * ms, max: 1.005 * ms }
}

/// As many comparisons for `threads` as the study has by default, and a warp of 32 with something to do for most.
fn work(threads: usize) -> Work {
    let n = threads as u64;
    let candidates = 40 * n;
    Work {
        comparisons: 500 * n,
        candidates,
        clips: 16 * candidates,
        one_phase_transforms: 20 * candidates,
        two_phase_transforms: 4 * (n + 500),
        longest_thread: 45,
        longest_warp: (500.0 * (1.0 - 0.92f64.powi(threads.min(32) as i32))) as u64,
        warp_steps: (500.0 * (1.0 - 0.92f64.powi(threads.min(32) as i32))) as u64 * n.div_ceil(32),
        busy_lanes: 0.1,
    }
}

fn batch_row(threads: usize, ms: f64) -> BatchRow {
    BatchRow {
        threads,
        blocks: 1,
        work: work(threads),
        kernels_per_s: about(1e3 / ms),
        reductions: vec![about(ms); 5],
        placements: vec![about(ms); 3],
        transform: about(0.01),
        turned: about(ms),
        two_phase: about(ms),
        engine: about(0.02),
        total: 1.0,
    }
}

/// With the time of a launch by its number of threads, and the times by streams of 20 launches each: one by one, by
/// blocks, empty.
fn study(backend: &str, ms: impl Fn(usize) -> f64, streams: impl Fn(usize) -> [f64; 3]) -> Study {
    let device = Facts {
        name: "a device".to_owned(),
        backend: backend.to_owned(),
        multiprocessors: 132,
        clock_mhz: Some(2000.0),
        fp64_lanes: Some(64),
        queues: (backend == "cuda").then_some(8),
        registers: 150,
        blocks_per_multiprocessor: 6,
        l2_bytes: 50 << 20,
    };
    let options = Options { iterations: 20, runs: 7, ..Options::of(&Device::cpu()) };
    let stream_row = |streams_: usize| {
        let [plain, blocks, empty] = streams(streams_).map(about);
        StreamsRow {
            streams: streams_,
            plain_ms: plain,
            graphs_ms: plain,
            branches_ms: plain,
            blocks_ms: blocks,
            empty_ms: empty,
        }
    };
    Study {
        device,
        pieces: 4,
        stream_threads: 64,
        stream_work: work(64),
        streams: options.streams.iter().map(|&n| stream_row(n)).collect(),
        batch: options.batch.iter().map(|&threads| batch_row(threads, ms(threads))).collect(),
        fixed: Vec::new(),
        agreement: Agreement::default(),
        options,
    }
}

/// Streams that cost nothing, and launches that take as long whatever the threads.
fn easy(backend: &str) -> Study {
    study(backend, |_| 10.0, |_| [200.0, 200.0, 0.1])
}

#[track_caller]
fn says(study: &Study, topic: &str, words: &[&str], not: &[&str]) {
    let findings = findings(study);
    let finding = findings.iter().find(|finding| finding.topic == topic).expect("there is one");
    for words in words {
        assert!(finding.text.contains(words), "{}\nlacks: {words}", finding.text);
    }
    for words in not {
        assert!(!finding.text.contains(words), "{}\nhas: {words}", finding.text);
    }
}

#[track_caller]
fn judges(study: &Study, claim: &str, verdict: Verdict) {
    let claims = claims(study);
    let found = claims.iter().find(|found| found.claim.contains(claim)).expect("there is one");
    assert_eq!(found.verdict, verdict, "{found:?}");
}

#[test]
fn streams_that_scale() {
    let study = easy("cuda");
    says(
        &study,
        "streams",
        &["32 times the streams make 32 times the kernels per second (100 and 3,200", "nothing is at its limit"],
        &["queues"],
    );
    judges(&study, "GPU is empty", Verdict::Refuted);
}

#[test]
fn streams_that_stop_at_the_queues() {
    // From 8 on, streams take turns; blocks of one launch don't.
    let study = study("cuda", |_| 10.0, |n| [200.0 * (n as f64 / 8.0).max(1.0), 200.0, 0.1 * n as f64]);
    says(
        &study,
        "streams",
        &[
            "in proportion to the streams up to 8, with 800 of them, and no further: 800 with 16 and 800 with 32",
            "4 times as much",
            "8 hardware",
        ],
        &["launching is the limit"],
    );
    // With 32 of them this can't be why.
    let mut more = study.clone();
    more.device.queues = Some(32);
    says(&more, "streams", &["these figures don't show"], &["hardware queues"]);
}

#[test]
fn streams_that_stop_at_the_launches() {
    let study = study("cuda", |_| 0.01, |n| [0.1 * n as f64, 0.2, 0.09 * n as f64]);
    says(&study, "streams", &["32 streams do no more than 1", "launching is the limit"], &["queues"]);
    says(&study, "launches", &["take 90 % of the time at most"], &[]);
}

#[test]
fn streams_that_stop_with_the_multiprocessors() {
    let mut study = study("cuda", |_| 10.0, |n| [200.0 * (n as f64 / 4.0).max(1.0); 3].map(|ms| if n == 0 { 0.0 } else { ms }));
    study.device.multiprocessors = 4;
    for row in &mut study.streams {
        row.empty_ms = about(0.1);
    }
    says(
        &study,
        "streams",
        &["up to 4,", "One launch of 32 blocks does no more", "4 multiprocessors have all they can do"],
        &["queues"],
    );
    judges(&study, "GPU is empty", Verdict::Partly);
}

#[test]
fn streams_of_the_cpu() {
    let mut study = study("cpu", |n| n as f64, |n| [100.0 * n as f64, 60.0 * n as f64, 0.001 * n as f64]);
    study.device.multiprocessors = 2;
    study.device.fp64_lanes = None;
    says(
        &study,
        "streams",
        &["32 streams do no more than 1", "done as it is enqueued", "32 blocks, which the workers share, does 1.67 times"],
        &["queues"],
    );
    says(&study, "the limit", &["on 1 of 2 workers"], &["multiprocessor"]);
    assert!(claims(&study).iter().all(|claim| !claim.claim.contains("GPU")));
}

#[test]
fn graphs_that_help_or_not() {
    let mut study = easy("cuda");
    says(&study, "launches", &["With a graph a stream the times are the same"], &["faster"]);
    study.streams[3].graphs_ms = about(50.0);
    study.streams[5].branches_ms = about(220.0);
    says(
        &study,
        "launches",
        &["a graph a stream it is 4 times faster, at 8 streams", "a branch a stream it is 10 % slower, at 32 streams"],
        &["the same"],
    );
}

#[test]
fn times_follow_what_they_follow() {
    // A warp's steps, at 20 µs each.
    let by_warp = study("cuda", |n| 0.02 * work(n).longest_warp as f64, |_| [200.0, 200.0, 0.1]);
    says(
        &by_warp,
        "threads",
        &["in proportion to the comparisons that the busiest warp goes through (20.0 µs each", "not to all comparisons"],
        &[],
    );
    says(
        &by_warp,
        "threads",
        &["141 of 500 with 4 threads, 465 with 256", "With 8 warps a step takes 1 times as long", "room"],
        &["compete"],
    );
    judges(&by_warp, "with more threads", Verdict::Refuted);

    let by_comparisons = study("cuda", |n| 0.1 * n as f64, |_| [200.0, 200.0, 0.1]);
    says(
        &by_comparisons,
        "threads",
        &["64 times the threads (4 and 256) take 64 times as long", "explains 100 % of the variance", "compete"],
        &[],
    );
    judges(&by_comparisons, "with more threads", Verdict::Partly);

    // In proportion to all candidates, and to all comparisons less so.
    let mut by_all = by_comparisons.clone();
    for (index, row) in by_all.batch.iter_mut().enumerate() {
        row.work.candidates = 10 * (index as u64 + 1);
    }
    says(&by_all, "threads", &["in proportion to all comparisons (200 ns each"], &[]);
    judges(&by_all, "with more threads", Verdict::Partly);
    by_all.batch[4].two_phase = about(1.0);
    judges(&by_all, "with more threads", Verdict::Supported);

    let by_nothing = study("cuda", |n| if n == 32 { 100.0 } else { 1.0 }, |_| [200.0, 200.0, 0.1]);
    says(&by_nothing, "threads", &["but for a factor of"], &["The time is in proportion"]);
    judges(&by_nothing, "with more threads", Verdict::Open);
}

#[test]
fn disturbed_runs_are_told() {
    let mut study = easy("cuda");
    assert!(findings(&study).iter().all(|finding| finding.topic != "spread"));
    study.batch[1].reductions[4] = Spread { median: 10.0, min: 10.0, max: 16.0 };
    says(&study, "spread", &["1 of 70 medians", "at most by ± 30 %"], &[]);
    // What was disturbed is no proof of anything.
    study.batch[1].reductions[4] = Spread { median: 20.0, min: 15.0, max: 30.0 };
    judges(&study, "barriers", Verdict::Refuted);
    // Neither streams that don't scale from the start.
    let slow = self::study("cuda", |_| 10.0, |n| [200.0 * (n as f64).sqrt(), 200.0, 0.1]);
    says(&slow, "streams", &["don't grow in proportion to the streams: 100 with 1, 141 with 2 and 566 with 32"], &["up to 1"]);
}

#[test]
fn fixed_work() {
    let mut study = easy("cuda");
    let row = |threads: usize, ms| FixedRow { threads, poses: 2000 / threads, work: work(threads), ms: about(ms) };
    study.fixed = vec![Fixed { total: 2000, rows: vec![row(4, 12.0), row(8, 4.0), row(16, 5.0)] }];
    says(
        &study,
        "fixed work",
        &["2,000 comparisons are done soonest with 8 threads: 3 times as fast as with 4, for 2 times the threads"],
        &["No number"],
    );
    study.fixed[0].rows = vec![row(4, 1.0), row(8, 2.0)];
    says(
        &study,
        "fixed work",
        &["No number of threads does 2,000 comparisons sooner than 4; 8 take 2 times as long"],
        &["soonest with"],
    );
    study.fixed.clear();
    assert!(findings(&study).iter().all(|finding| finding.topic != "fixed work"));
}

#[test]
fn reductions_that_cost_or_not() {
    let mut study = easy("cuda");
    says(&study, "reductions", &["No reduction takes longer than none at all", "The four don't differ"], &["slower"]);
    judges(&study, "barriers", Verdict::Refuted);
    study.batch[2].reductions[0] = about(11.0);
    says(
        &study,
        "reductions",
        &[
            "With 16 threads, the interleaved reduction makes the kernel 10 % slower",
            "9.1 % of a launch at most",
            "sequential with 16 threads: 9.1 % faster",
        ],
        &["No reduction"],
    );
    judges(&study, "barriers", Verdict::Partly);
    study.batch[2].reductions[0] = about(40.0);
    judges(&study, "barriers", Verdict::Supported);
}

#[test]
fn placements_that_matter_or_not() {
    let mut study = easy("cuda");
    says(
        &study,
        "placements",
        &["From constant memory a launch takes 1.00 times as long as from global memory, no more than"],
        &[],
    );
    judges(&study, "Constant memory", Verdict::Refuted);
    judges(&study, "bandwidth", Verdict::Refuted);
    for row in &mut study.batch {
        row.placements[1] = about(12.0);
        row.placements[2] = about(5.0);
    }
    says(
        &study,
        "placements",
        &["1.20 times as long as from global memory, more than runs differ by for 7 of 7", "shared memory a launch takes 0.50"],
        &[],
    );
    judges(&study, "Constant memory", Verdict::Supported);
    judges(&study, "bandwidth", Verdict::Partly);
    study.device.l2_bytes = 1000;
    judges(&study, "bandwidth", Verdict::Open);
    says(&study, "the limit", &["larger than the caches"], &[]);
}

#[test]
fn phases_that_help_or_not() {
    let mut study = easy("cuda");
    // 40 candidates of 20 pieces each for 256 threads, against 756 of 4.
    says(
        &study,
        "two phases",
        &["one phase turns 204,800 pieces and two phases 3,024, 67.7 times fewer", "takes 1 times as long", "500 times faster"],
        &[],
    );
    judges(&study, "Turning the pieces", Verdict::Refuted);
    study.batch[6].two_phase = about(2.0);
    says(&study, "two phases", &["One phase takes 1 to 5 times as long"], &[]);
    judges(&study, "Turning the pieces", Verdict::Supported);
    study.batch[6].two_phase = about(9.0);
    judges(&study, "Turning the pieces", Verdict::Partly);
}

#[test]
fn the_limit_is_where_the_figures_are() {
    // A multiprocessor of 64 instructions a clock, at 2 GHz: 128 G/s. The lanes that wait count as busy.
    let issued = |work: &Work| {
        let lanes = (32 * work.warp_steps) as f64 / work.candidates as f64;
        lanes * work.one_phase_instructions()
    };
    let full = issued(&work(256)) / 128e9 * 1e3;
    let at = |share: f64| study("cuda", move |_| full / share, |_| [200.0, 200.0, 0.1]);
    says(
        &at(0.9),
        "the limit",
        &["90 % of what its one multiprocessor can start", "double-precision units are the limit", "131 of 132"],
        &[],
    );
    says(&at(0.2), "the limit", &["20 % of what", "one waiting for the other", "caches that hold it"], &["units are the limit"]);
    let mut unknown = at(0.2);
    unknown.device.fp64_lanes = None;
    says(&unknown, "the limit", &["double-precision instructions per second"], &["can start", "chain"]);
    assert!(work(256).one_phase_instructions() > CLIP * work(256).clips as f64);
    assert!(work(256).two_phase_instructions() < work(256).one_phase_instructions());
}
