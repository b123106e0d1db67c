//! Each sentence, of made-up findings.

use warpsmith::concurrency::{
    Facts, Placement, Reduction,
    findings::{
        At, Bound, Claim, Disturbed, Findings, Fit, FixedWork, Follows, Growth, Hold, Launches, Limit, Measure, Phases, Places,
        Reads, Reductions, Source, Statement, Streams, Threads, Use, Verdict, Warps,
    },
};

use super::{claims::told, findings::*};

fn device(backend: &str, multiprocessors: u32) -> Facts {
    Facts {
        name: "a device".to_owned(),
        backend: backend.to_owned(),
        multiprocessors,
        clock_mhz: None,
        fp64_lanes: None,
        queues: None,
        registers: 0,
        blocks_per_multiprocessor: 6,
        l2_bytes: 0,
    }
}

fn at(n: usize, value: f64) -> At {
    At { n, value }
}

fn follows(measure: Measure, varies: f64, in_proportion: bool) -> Follows {
    Follows { measure, varies, in_proportion }
}

const STREAMS: Streams = Streams {
    fewest: At { n: 1, value: 100.0 },
    most: At { n: 32, value: 800.0 },
    growth: Growth::No,
    hold: None,
    blocks: 4.0,
    blocks_do_more: true,
    blocks_gain: 32.0,
    branches: None,
    empty_per_s: 345_389.0,
};

const THREADS: Threads = Threads {
    few: At { n: 4, value: 2.42 },
    many: At { n: 256, value: 9.96 },
    comparison: 0.064,
    fit: None,
    follows: Follows { measure: Measure::LongestWarp, varies: 1.22, in_proportion: true },
    each_ms: 0.0215,
    unlike: Follows { measure: Measure::Comparisons, varies: 15.5, in_proportion: false },
    warps: None,
};

const PHASES: Phases = Phases {
    threads: 256,
    one_turns: 178_320,
    two_turn: 3024,
    times: (0.99, 1.03),
    gain: 1.0,
    clips: 0.92,
    engine_ms: 0.0376,
    engine: None,
};

const USE: Use = Use { useful: 6.79e9, issued: 85.9e9, share: None };

#[test]
fn disturbed_runs() {
    assert_eq!(
        spread(&Disturbed { disturbed: 1, medians: 70, beyond: 0.1, most: 0.3 }),
        "1 of 70 medians are of runs that differ by more than ± 10 %, at most by ± 30 %: something else was at work on this machine. \
         Ratios of such medians mean little."
    );
}

#[test]
fn growth_by_streams() {
    let says = |growth, sentence: &str| assert_eq!(streams(&Streams { growth, ..STREAMS }, &device("cuda", 132)), sentence);
    let to_the_end =
        "32 times the streams make 8 times the kernels per second (100 and 800 kernels per second with 1 and 32 streams).";
    says(Growth::ToTheEnd(None), to_the_end);
    says(
        Growth::ToTheEnd(Some(792)),
        &format!(
            "{to_the_end} These are 32 blocks at a time, and there is room for 792 on 132 multiprocessors: nothing is at its limit yet."
        ),
    );
    says(Growth::No, "32 streams do no more than 1: 100 and 800 kernels per second.");
    says(Growth::Shrinks, "32 streams do less than 1: 100 and 800 kernels per second.");
    let from = "Kernels per second don't grow in proportion to the streams: 100 with 1, 141 with 2";
    says(Growth::UpTo(STREAMS.fewest, at(2, 141.4)), &format!("{from} and 800 with 32."));
    let up_to = "Kernels per second grow in proportion to the streams up to 8, with 810 of them, and no further: 800 with";
    says(Growth::UpTo(at(8, 810.0), at(16, 800.0)), &format!("{up_to} 16 and 800 with 32."));
    says(Growth::UpTo(at(8, 810.0), STREAMS.most), &format!("{up_to} 32."));
}

#[test]
fn what_holds_streams_up() {
    let says = |hold, blocks_do_more, branches, device: &Facts, sentence: &str| {
        let text = streams(&Streams { hold: Some(hold), blocks_do_more, branches, ..STREAMS }, device);
        assert_eq!(text.strip_prefix("32 streams do no more than 1: 100 and 800 kernels per second. "), Some(sentence));
    };
    let (gpu, cpu) = (device("cuda", 132), device("cpu", 2));
    let order = "On the CPU a stream's work is done as it is enqueued, so that streams can't overlap";
    says(Hold::Order, false, None, &cpu, &format!("{order}."));
    let shared = "; one launch of 32 blocks, which the workers share, does 4 times as much.";
    says(Hold::Order, true, Some(2.0), &cpu, &format!("{order}{shared}"));
    let no_more = "One launch of 32 blocks does no more (4 times as much): 132 multiprocessors";
    says(Hold::Device, false, None, &gpu, &format!("{no_more} have all they can do."));
    says(Hold::PartOfDevice, false, None, &gpu, &format!("{no_more} are not all of the story."));
    let more = "One launch of 32 blocks does 4 times as much as 32 streams, so that it isn't the multiprocessors that are full.";
    let empty = "Kernels that do nothing come to 345,389 per second";
    says(Hold::Launching, true, None, &gpu, &format!("{more} {empty}: launching is the limit."));
    let queues = "so it isn't the launching, either. Streams share 8 hardware queues (CUDA_DEVICE_MAX_CONNECTIONS), and where the \
                  growth ends fits that.";
    says(Hold::Queues(8), true, None, &gpu, &format!("{more} {empty}, {queues}"));
    let unknown =
        "What holds the streams up these figures don't show. A graph with 32 branches isn't held up so: 3.5 times as much.";
    says(Hold::Unknown, true, Some(3.5), &gpu, &format!("{more} {unknown}"));
}

#[test]
fn launching() {
    let empty = "As many launches of a kernel that does nothing take 1.5 % of the time at most (with 1 stream).";
    let of = |graphs, branches| launches(&Launches { empty: at(1, 0.015), graphs, branches });
    assert_eq!(
        of(None, Some(at(32, 1.1))),
        format!(
            "{empty} With a graph per stream the times are the same to what runs differ by. With one graph with a branch per stream it \
             is 10 % slower, at 32 streams."
        )
    );
    assert!(of(Some(at(8, 0.25)), None).contains("With a graph per stream it is 4 times faster, at 8 streams."));
}

#[test]
fn times_by_threads() {
    let growth = "64 times the threads (4 and 256) take 4.12 times as long (2.42 ms and 9.96 ms), and a comparison of 256 threads takes \
                  0.06 times as long as one of 4.";
    let proportion = "The time is in proportion to the comparisons that the busiest warp goes through (21.5 µs each, to a factor of \
                      1.22), and not to all comparisons (a factor of 15.5).";
    assert_eq!(threads(&THREADS, 500), format!("{growth} {proportion}"));
    let warps = Warps { steps: [137, 463], busy_lanes: 0.079, warps: 8, slower: Some(1.06), compete: false };
    let found = Threads { fit: Some(Fit { a: 5.48, b: 0.0222, r2: 0.49 }), warps: Some(warps), ..THREADS };
    let line = "The line 5.48 ms + n x 22.2 µs explains 49 % of the variance.";
    let steps = "A warp goes through each comparison that any of its threads needs: 137 of 500 with 4 threads, 463 with 256, where \
                 7.9 % of the lanes have something to do.";
    let step = "With 8 warps a step takes 1.06 times as long as with one:";
    let room = "there is room for them beside each other.";
    assert_eq!(threads(&found, 500), format!("{growth} {line} {proportion} {steps} {step} {room}"));
    let found = Threads {
        follows: follows(Measure::Candidates, 3.0, false),
        warps: Some(Warps { steps: [137, 137], compete: true, ..warps }),
        ..THREADS
    };
    let but = "Of the counts of work, it is most nearly in proportion to all candidates, but for a factor of 3.";
    assert_eq!(threads(&found, 500), format!("{growth} {but} {step} they compete for one multiprocessor."));
}

#[test]
fn fixed_work() {
    let follows = follows(Measure::LongestThread, 1.1, false);
    let found = FixedWork { total: 2000, few: at(4, 12.0), other: at(8, 4.0), follows, steps: [8163, 467] };
    let soonest = "2,000 comparisons are done soonest with 8 threads: 3 times as fast as with 4, for 2 times the threads";
    assert_eq!(fixed(&found), format!("{soonest}."));
    let follows = Follows { in_proportion: true, ..follows };
    assert_eq!(
        fixed(&FixedWork { follows, ..found }),
        format!(
            "{soonest}; times are in proportion to the candidates of the busiest thread, 8,163 with 4 threads and 467 with 8."
        )
    );
    let slower = FixedWork { other: at(256, 24.0), ..found };
    assert_eq!(fixed(&slower), "No number of threads does 2,000 comparisons sooner than 4; 256 take 2 times as long.");
}

#[test]
fn what_reductions_cost() {
    assert_eq!(
        reductions(&Reductions { against_none: None, share: 0.0, against_tree: None }),
        "No reduction takes longer than none at all by more than runs differ by. What barriers and atomic additions cost can't be told \
         from nothing. The four don't differ by more than runs do."
    );
    let found = Reductions {
        against_none: Some((Reduction::Interleaved, at(16, 1.1))),
        share: 0.0909,
        against_tree: Some((Reduction::Sequential, at(1, 0.909))),
    };
    assert_eq!(
        reductions(&found),
        "With 16 threads, the interleaved reduction makes the kernel 10 % slower than without any; that is the largest difference. A \
         reduction is 9.1 % of a launch at most. Against the notebook's tree, the largest difference is that of sequential with 1 \
         thread: 9.1 % faster."
    );
}

fn place(placement: Placement) -> Places {
    Places { placement, times: (0.5, 1.2), rows: 7, apart: 6, slower: 5, slowest: 1.2, last: Some(0.5) }
}

#[test]
fn where_pieces_are() {
    assert_eq!(
        places(&place(Placement::Shared)),
        "From shared memory a launch takes 0.50 to 1.20 times as long as from global memory, more than runs differ by for 6 of 7 \
         numbers of threads."
    );
    assert_eq!(
        places(&Places { times: (0.999, 1.001), apart: 0, ..place(Placement::Constant) }),
        "From constant memory a launch takes 1.00 times as long as from global memory, no more than runs differ by."
    );
}

#[test]
fn one_phase_and_two() {
    let told = phases(&PHASES, 500);
    assert_eq!(
        told,
        "With 256 poses against 500, one phase turns 178,320 pieces and two phases 3,024, 59 times fewer. One phase takes 0.99 to 1.03 \
         times as long as two, with the turning counted, over all numbers of threads. Of the arithmetic of one phase 92 % is \
         intersecting, which both do alike, and 8.0 % the rest, by the instructions in the source."
    );
    assert_eq!(
        phases(&Phases { engine: Some(1.0 / 258.0), ..PHASES }, 500),
        format!(
            "{told} The library's own evaluator, which is built for whole devices, takes 37.6 µs for the same: it is 258 times faster \
             than the two phases."
        )
    );
}

#[test]
fn the_limit() {
    let found = Limit { threads: 256, blocks: 1, of_launch: USE, bound: None, of_blocks: None };
    let launch = "A launch of 256 threads does 6.79 G double-precision instructions per second,";
    let gpu = format!("{launch} 85.9 G with those of lanes that wait for others.");
    assert_eq!(limit(&found, None, &device("cpu", 2)), format!("{launch} on 1 of 2 workers."));
    assert_eq!(limit(&found, None, &device("cuda", 1)), gpu);
    let of_launch = Use { share: Some(0.68), ..USE };
    let reads = Reads { bytes: 18_400, requested: 14_480_800, requested_per_s: 1.45e9, source: Source::Caches };
    let busy = Limit { of_launch, bound: Some(Bound::Units), of_blocks: Some((32, of_launch)), ..found };
    assert_eq!(
        limit(&busy, Some(&reads), &device("cuda", 132)),
        format!(
            "{gpu} That is 68 % of what its one multiprocessor can start, so that the double-precision units are the limit. 131 of 132 \
             multiprocessors are idle meanwhile. All that it reads is 18.4 kB, asked for 787 times over: 1.45 GB per second, from caches \
             that hold it. 32 blocks at a time come to 6.79 G instructions per second, with idle lanes 68 % of what as many \
             multiprocessors can start."
        )
    );
    let idle = Limit { blocks: 2, bound: Some(Bound::Chains), of_blocks: Some((1, USE)), ..busy };
    let reads = Reads { requested: 9200, source: Source::Memory, ..reads };
    assert_eq!(
        limit(&idle, Some(&reads), &device("cuda", 2)),
        format!(
            "{gpu} That is 68 % of what its 2 multiprocessors can start, so that the limit is how long each thread's chain of operations \
             takes, one waiting for the other. All that it reads is 18.4 kB, not even asked for 0.5 times over: 1.45 GB per second, from \
             memory, since it is larger than the caches. 1 block at a time comes to 6.79 G instructions per second."
        )
    );
    let unknown = Reads { source: Source::Unknown, ..reads };
    assert!(limit(&found, Some(&unknown), &device("cuda", 1)).ends_with("from caches of a size unknown here."));
}

#[test]
fn statements() {
    let reads = Reads { bytes: 18_400, requested: 1, requested_per_s: 1.0, source: Source::Caches };
    let found = Findings {
        spread: None,
        streams: Some(STREAMS),
        launches: None,
        threads: Some(THREADS),
        fixed_work: Vec::new(),
        reductions: Some(Reductions { against_none: None, share: 0.0909, against_tree: None }),
        places: vec![place(Placement::Constant), place(Placement::Shared)],
        phases: Some(Phases { gain: 5.0, ..PHASES }),
        limit: None,
        reads: Some(reads),
        claims: vec![Claim { statement: Statement::Barriers, verdict: Verdict::Partly }],
    };
    let says = |found: &Findings, statement, claim: &str, because: &str| {
        let (told, why) = told(statement, found).unwrap();
        assert!(told.contains(claim) && why == because, "{told}: {why}");
    };
    says(&found, Statement::Full, "GPU is empty", "32 times the blocks in one launch do 32 times as much in a second");
    says(&found, Statement::Barriers, "barriers", "a reduction is at most 9.1 % of a launch");
    let bandwidth = "with the pieces in shared memory a launch takes";
    let holds = format!("all data are 18.4 kB, which the caches hold; {bandwidth} 0.50 times as long");
    says(&found, Statement::Bandwidth, "bandwidth", &holds);
    let constant = "it takes longer by more than runs differ for";
    says(&found, Statement::Constant, "Constant", &format!("{constant} 5 of 7 numbers of threads, 1.20 times as long at most"));
    let turning = "two phases turn 59 times fewer pieces (the notebook expects about 1,000), and";
    says(&found, Statement::Turning, "Turning the pieces", &format!("{turning} are 5.00 times as fast at best"));
    let redundant = "the time goes with the comparisons that the busiest warp goes through, to a factor of 1.22";
    says(&found, Statement::Redundant, "redundant", redundant);

    let none = Findings {
        reductions: Some(Reductions { against_none: None, share: 0.0, against_tree: None }),
        places: [Placement::Constant, Placement::Shared]
            .map(|placement| Places { slower: 0, slowest: 1.0, last: None, ..place(placement) })
            .to_vec(),
        phases: Some(PHASES),
        reads: Some(Reads { source: Source::Memory, ..reads }),
        ..found.clone()
    };
    says(&none, Statement::Barriers, "barriers", "no reduction takes longer than none at all by more than runs differ");
    let more =
        format!("all data are 18.4 kB, more than the caches are known to hold; {bandwidth} as long, as far as runs can tell");
    says(&none, Statement::Bandwidth, "bandwidth", &more);
    says(&none, Statement::Constant, "Constant", &format!("{constant} 0 of 7 numbers of threads"));
    says(&none, Statement::Turning, "Turning the pieces", &format!("{turning} aren't faster by more than runs differ"));

    let claims = super::claims(&found);
    assert_eq!((claims.len(), claims[0].verdict), (1, Verdict::Partly));
    assert_eq!(claims[0].because, "a reduction is at most 9.1 % of a launch");
}
