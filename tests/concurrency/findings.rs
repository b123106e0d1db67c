//! What follows from made-up figures. The times that don't matter in a test are such that they show nothing.

use warpsmith::{
    concurrency::{
        Agreement, BatchRow, CLIP, Facts, Fixed, FixedRow, Options, Placement, Reduction, Spread, StreamsRow, Study, Work,
        findings,
        findings::{At, Bound, FixedWork, Growth, Hold, Measure, Places, Source, Statement, Threads, Verdict},
    },
    device::Device,
};

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

/// Whether two figures are the same, but for rounding.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

#[track_caller]
fn is(at: impl Into<Option<At>>, n: usize, value: f64) {
    let at = at.into();
    assert!(at.is_some_and(|at| at.n == n && same(at.value, value)), "{at:?} isn't {value} at {n}");
}

#[track_caller]
fn judges(study: &Study, statement: Statement, verdict: Verdict) {
    let claims = findings(study).claims;
    let found = claims.iter().find(|claim| claim.statement == statement).expect("there is one");
    assert_eq!(found.verdict, verdict, "{found:?}");
}

/// How the rate grows, and what holds it up.
fn growth(study: &Study) -> (Growth, Option<Hold>) {
    let streams = findings(study).streams.unwrap();
    (streams.growth, streams.hold)
}

#[test]
fn streams_that_scale() {
    let mut study = easy("cuda");
    let streams = findings(&study).streams.unwrap();
    is(streams.fewest, 1, 100.0);
    is(streams.most, 32, 3200.0);
    // 132 multiprocessors with 6 blocks each.
    assert_eq!((streams.growth, streams.hold), (Growth::ToTheEnd(Some(792)), None));
    assert!(same(streams.blocks_gain, 32.0) && same(streams.blocks, 1.0) && streams.branches.is_none());
    judges(&study, Statement::Full, Verdict::Refuted);
    study.device.multiprocessors = 5;
    assert_eq!(growth(&study).0, Growth::ToTheEnd(None));
    study.streams.truncate(1);
    assert_eq!(findings(&study).streams, None);
}

#[test]
fn streams_that_stop_at_the_queues() {
    // From 8 on, streams take turns; blocks of one launch don't.
    let mut study = study("cuda", |_| 10.0, |n| [200.0 * (n as f64 / 8.0).max(1.0), 200.0, 0.1 * n as f64]);
    let Growth::UpTo(knee, next) = growth(&study).0 else { panic!("{:?}", growth(&study)) };
    is(knee, 8, 800.0);
    is(next, 16, 800.0);
    assert_eq!(growth(&study).1, Some(Hold::Queues(8)));
    let streams = findings(&study).streams.unwrap();
    assert!(streams.blocks_do_more && same(streams.blocks, 4.0) && same(streams.empty_per_s, 200_000.0), "{streams:?}");
    // With 32 of them this can't be why.
    study.device.queues = Some(32);
    assert_eq!(growth(&study).1, Some(Hold::Unknown));
    study.streams[5].branches_ms = about(400.0);
    assert!(findings(&study).streams.unwrap().branches.is_some_and(|gain| same(gain, 2.0)));
}

#[test]
fn streams_that_stop_at_the_launches() {
    let study = study("cuda", |_| 0.01, |n| [0.1 * n as f64, 0.2, 0.09 * n as f64]);
    assert_eq!(growth(&study), (Growth::No, Some(Hold::Launching)));
    let empty = findings(&study).launches.unwrap().empty;
    assert!(same(empty.value, 0.9), "{empty:?}");
    let slower = self::study("cuda", |_| 0.01, |n| [0.1 * (n as f64).powf(1.1), 0.2, 0.09 * n as f64]);
    assert_eq!(growth(&slower).0, Growth::Shrinks);
}

#[test]
fn streams_that_stop_with_the_multiprocessors() {
    let mut study = study("cuda", |_| 10.0, |n| [200.0 * (n as f64 / 4.0).max(1.0); 3]);
    study.device.multiprocessors = 4;
    for row in &mut study.streams {
        row.empty_ms = about(0.1);
    }
    let (growth_, hold) = growth(&study);
    assert!(
        matches!(growth_, Growth::UpTo(At { n: 4, .. }, At { n: 8, .. })) && hold == Some(Hold::Device),
        "{growth_:?}, {hold:?}"
    );
    judges(&study, Statement::Full, Verdict::Partly);
    study.device.multiprocessors = 33;
    assert_eq!(growth(&study).1, Some(Hold::PartOfDevice));
    // Nor does the rate have to grow in proportion from the start.
    let slow = self::study("cuda", |_| 10.0, |n| [200.0 * (n as f64).sqrt(), 200.0, 0.1]);
    assert!(matches!(growth(&slow).0, Growth::UpTo(At { n: 1, .. }, At { n: 2, .. })));
}

#[test]
fn streams_of_the_cpu() {
    let mut study = study("cpu", |n| n as f64, |n| [100.0 * n as f64, 60.0 * n as f64, 0.001 * n as f64]);
    study.device.multiprocessors = 2;
    study.device.fp64_lanes = None;
    assert_eq!(growth(&study), (Growth::No, Some(Hold::Order)));
    let found = findings(&study);
    assert!(found.streams.is_some_and(|streams| streams.blocks_do_more && same(streams.blocks, 100.0 / 60.0)));
    // All lanes are busy, and there are no warps.
    assert!(found.limit.is_some_and(|limit| limit.bound.is_none() && limit.of_launch.issued == limit.of_launch.useful));
    assert!(found.threads.is_some_and(|threads| threads.warps.is_none()));
    assert!(found.claims.len() == 5 && found.claims.iter().all(|claim| claim.statement != Statement::Full));
}

#[test]
fn graphs_that_help_or_not() {
    let mut study = easy("cuda");
    let launches = findings(&study).launches.unwrap();
    assert_eq!((launches.graphs, launches.branches), (None, None));
    study.streams[3].graphs_ms = about(50.0);
    // The other way, and not as far.
    study.streams[4].graphs_ms = about(500.0);
    study.streams[5].branches_ms = about(220.0);
    let launches = findings(&study).launches.unwrap();
    is(launches.graphs, 8, 0.25);
    is(launches.branches, 32, 1.1);
}

#[test]
fn times_follow_what_they_follow() {
    let threads = |study: &Study| findings(study).threads.unwrap();
    let follows = |study: &Study| (threads(study).follows.measure, threads(study).follows.in_proportion);
    // A warp's steps, at 20 µs each.
    let by_warp = study("cuda", |n| 0.02 * work(n).longest_warp as f64, |_| [200.0, 200.0, 0.1]);
    assert_eq!(follows(&by_warp), (Measure::LongestWarp, true));
    let Threads { each_ms, unlike, warps, .. } = threads(&by_warp);
    assert!(same(each_ms, 0.02) && unlike.measure == Measure::Comparisons && !unlike.in_proportion);
    let warps = warps.unwrap();
    assert_eq!((warps.steps, warps.warps, warps.compete), ([141, 465], 8, false));
    assert!(same(warps.slower.unwrap(), 1.0));
    judges(&by_warp, Statement::Redundant, Verdict::Refuted);

    let by_comparisons = study("cuda", |n| 0.1 * n as f64, |_| [200.0, 200.0, 0.1]);
    let found = threads(&by_comparisons);
    is(found.few, 4, 0.4);
    is(found.many, 256, 25.6);
    assert!(same(found.comparison, 1.0) && found.warps.unwrap().compete);
    assert!(found.fit.is_some_and(|fit| fit.a.abs() < 1e-9 && same(fit.b, 0.1) && same(fit.r2, 1.0)));
    judges(&by_comparisons, Statement::Redundant, Verdict::Partly);

    // In proportion to all comparisons, and to all candidates less so.
    let mut by_all = by_comparisons.clone();
    for (index, row) in by_all.batch.iter_mut().enumerate() {
        row.work.candidates = 10 * (index as u64 + 1);
    }
    assert_eq!(follows(&by_all), (Measure::Comparisons, true));
    assert_eq!(threads(&by_all).unlike.measure, Measure::LongestThread);
    judges(&by_all, Statement::Redundant, Verdict::Partly);
    by_all.batch[4].two_phase = about(1.0);
    judges(&by_all, Statement::Redundant, Verdict::Supported);

    let by_nothing = study("cuda", |n| if n == 32 { 100.0 } else { 1.0 }, |_| [200.0, 200.0, 0.1]);
    assert!(!follows(&by_nothing).1);
    judges(&by_nothing, Statement::Redundant, Verdict::Open);
}

#[test]
fn disturbed_runs_are_told() {
    let mut study = easy("cuda");
    assert_eq!(findings(&study).spread, None);
    study.batch[1].reductions[4] = Spread { median: 10.0, min: 10.0, max: 16.0 };
    let spread = findings(&study).spread.unwrap();
    assert!((spread.disturbed, spread.medians) == (1, 70) && same(spread.most, 0.3), "{spread:?}");
    // What was disturbed is no proof of anything.
    study.batch[1].reductions[4] = Spread { median: 20.0, min: 15.0, max: 30.0 };
    judges(&study, Statement::Barriers, Verdict::Refuted);
}

#[test]
fn fixed_work() {
    let mut study = easy("cuda");
    let row = |threads: usize, ms| FixedRow { threads, poses: 2000 / threads, work: work(threads), ms: about(ms) };
    let found = |study: &Study| -> FixedWork { findings(study).fixed_work[0] };
    study.fixed = vec![Fixed { total: 2000, rows: vec![row(4, 12.0), row(8, 4.0), row(16, 5.0)] }];
    is(found(&study).few, 4, 12.0);
    is(found(&study).other, 8, 4.0);
    assert!(found(&study).total == 2000 && !found(&study).follows.in_proportion);
    // Most nearly in proportion to all candidates, of which there are 160 and 320.
    study.fixed[0].rows = vec![row(4, 1.0), row(8, 2.0)];
    is(found(&study).other, 8, 2.0);
    assert!(found(&study).follows.in_proportion);
    assert_eq!((found(&study).follows.measure, found(&study).steps), (Measure::Candidates, [160, 320]));
    study.fixed[0].rows.truncate(1);
    assert_eq!(findings(&study).fixed_work, []);
}

#[test]
fn reductions_that_cost_or_not() {
    let mut study = easy("cuda");
    let reductions = findings(&study).reductions.unwrap();
    assert_eq!((reductions.against_none, reductions.share, reductions.against_tree), (None, 0.0, None));
    judges(&study, Statement::Barriers, Verdict::Refuted);
    study.batch[2].reductions[0] = about(11.0);
    let reductions = findings(&study).reductions.unwrap();
    let (Some((slow, none)), Some((other, tree))) = (reductions.against_none, reductions.against_tree) else { panic!() };
    assert_eq!((slow, other), (Reduction::Interleaved, Reduction::Sequential));
    is(none, 16, 1.1);
    is(tree, 16, 10.0 / 11.0);
    assert!(same(reductions.share, 1.0 - 10.0 / 11.0));
    judges(&study, Statement::Barriers, Verdict::Partly);
    study.batch[2].reductions[0] = about(40.0);
    judges(&study, Statement::Barriers, Verdict::Supported);
    // That without any is none of the four.
    study.batch[2].reductions = vec![about(11.0), about(11.0), about(11.0), about(11.0), about(10.0)];
    assert_eq!(findings(&study).reductions.unwrap().against_tree, None);
}

#[test]
fn placements_that_matter_or_not() {
    let mut study = easy("cuda");
    let place = |study: &Study, placement| -> Places { *findings(study).place(placement).unwrap() };
    let constant = place(&study, Placement::Constant);
    assert_eq!((constant.times, constant.rows, constant.apart, constant.slower), ((1.0, 1.0), 7, 0, 0));
    judges(&study, Statement::Constant, Verdict::Refuted);
    judges(&study, Statement::Bandwidth, Verdict::Refuted);
    for row in &mut study.batch {
        row.placements[1] = about(12.0);
        row.placements[2] = about(5.0);
    }
    let (constant, shared) = (place(&study, Placement::Constant), place(&study, Placement::Shared));
    assert_eq!((constant.apart, constant.slower, constant.slowest), (7, 7, 1.2));
    assert_eq!((shared.apart, shared.slower, shared.slowest, shared.last), (7, 0, 1.0, Some(0.5)));
    judges(&study, Statement::Constant, Verdict::Supported);
    judges(&study, Statement::Bandwidth, Verdict::Partly);
    study.device.l2_bytes = 1000;
    judges(&study, Statement::Bandwidth, Verdict::Open);
    assert_eq!(findings(&study).reads.unwrap().source, Source::Memory);
    // Slower for few numbers of threads only.
    study.batch[3..].iter_mut().for_each(|row| row.placements[1] = about(10.0));
    judges(&study, Statement::Constant, Verdict::Partly);
}

#[test]
fn phases_that_help_or_not() {
    let mut study = easy("cuda");
    // 40 candidates of 20 pieces each for 256 threads, against 756 of 4.
    let phases = findings(&study).phases.unwrap();
    assert_eq!((phases.threads, phases.one_turns, phases.two_turn), (256, 204_800, 3024));
    assert_eq!((phases.times, phases.gain, phases.engine_ms), ((1.0, 1.0), 1.0, 0.02));
    assert!(phases.engine.is_some_and(|ratio| same(ratio, 0.002)));
    judges(&study, Statement::Turning, Verdict::Refuted);
    study.batch[6].two_phase = about(2.0);
    assert_eq!(findings(&study).phases.unwrap().times, (1.0, 5.0));
    judges(&study, Statement::Turning, Verdict::Supported);
    study.batch[6].two_phase = about(9.0);
    judges(&study, Statement::Turning, Verdict::Partly);
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
    let limit = |study: &Study| findings(study).limit.unwrap();
    assert!(same(limit(&at(0.9)).of_launch.share.unwrap(), 0.9) && same(limit(&at(0.9)).of_launch.issued, 0.9 * 128e9));
    assert_eq!((limit(&at(0.9)).bound, limit(&at(0.2)).bound), (Some(Bound::Units), Some(Bound::Chains)));
    assert_eq!((limit(&at(0.9)).threads, limit(&at(0.9)).blocks), (256, 1));
    // 32 blocks, 20 launches of each in 200 ms.
    let (blocks, of_blocks) = limit(&at(0.9)).of_blocks.unwrap();
    assert!(blocks == 32 && same(of_blocks.useful, 3200.0 * work(64).one_phase_instructions()), "{of_blocks:?}");
    // 756 poses and 4 pieces; 500 poses for each thread, and 204,800 pieces.
    let reads = findings(&at(0.2)).reads.unwrap();
    assert_eq!((reads.bytes, reads.requested), (24 * 756 + 64 * 4, 24 * 128_000 + 64 * 204_800));
    assert!(reads.source == Source::Caches && same(reads.requested_per_s, reads.requested as f64 / (1e-3 * 5.0 * full)));
    let mut unknown = at(0.2);
    unknown.device.fp64_lanes = None;
    unknown.device.l2_bytes = 0;
    assert_eq!((limit(&unknown).bound, limit(&unknown).of_launch.share), (None, None));
    assert_eq!(findings(&unknown).reads.unwrap().source, Source::Unknown);
    assert!(work(256).one_phase_instructions() > CLIP * work(256).clips as f64);
    assert!(work(256).two_phase_instructions() < work(256).one_phase_instructions());
}
