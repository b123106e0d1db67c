//! Programs, their schedules, and searches among them, against brute force.

use std::collections::{BTreeSet, HashMap, HashSet};

use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, prop_assume, proptest};
use rayon::prelude::*;
use warpsmith::design_rules::programs::spmv;
use warpsmith::design_rules::schedule::{Prefix, Schedules, count};
use warpsmith::design_rules::search::{Explorer, Mcts, Random, SearchMethod, Statistics};
use warpsmith::design_rules::{Dag, Kind, OpId, RulesError, Schedule, Space, Step, Traversal};

use crate::fixtures::{assignments, programs, searches_exhaust};

/// Lists all schedules, as texts, by the first six rules of [`Schedule`]'s documentation, read
/// literally: for every assignment of streams, all orders of its steps that keep the rules.
fn brute_force(dag: &Dag, streams: usize) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for assignment in assignments(dag, streams) {
        let mut steps = BTreeSet::new();
        for op in dag.operations() {
            steps.insert(match assignment.get(&op) {
                Some(&stream) => Step::Gpu { op, stream },
                None => Step::Cpu(op),
            });
        }
        for (after, before) in dag.edges() {
            let Some(home) = assignment.get(&after) else { continue };
            match assignment.get(&before) {
                None => _ = steps.insert(Step::EventSync { after, before }),
                Some(&stream) if stream != *home => _ = steps.insert(Step::StreamWait { after, before, stream }),
                Some(_) => continue,
            }
            steps.insert(Step::EventRecord { after });
        }
        orders(dag, &mut Vec::new(), &mut steps, &mut |order| {
            if keeps_rules(dag, &assignment, order) {
                found.insert(text(dag, order));
            }
        });
    }
    found
}

/// Calls `visit` with all orders of the steps, except those with a beginning that no end makes
/// right.
fn orders(dag: &Dag, order: &mut Vec<Step>, left: &mut BTreeSet<Step>, visit: &mut impl FnMut(&[Step])) {
    if left.is_empty() {
        return visit(order);
    }
    for step in left.clone() {
        if !may_follow(dag, order, step) || step == Step::Cpu(dag.end()) && left.len() > 1 {
            continue;
        }
        left.remove(&step);
        order.push(step);
        orders(dag, order, left, visit);
        order.pop();
        left.insert(step);
    }
}

fn may_follow(dag: &Dag, order: &[Step], step: Step) -> bool {
    let placed = |wanted: OpId| order.iter().any(|&step| matches!(step, Step::Cpu(op) | Step::Gpu { op, .. } if op == wanted));
    match step {
        Step::Cpu(op) | Step::Gpu { op, .. } => dag.predecessors(op).all(placed),
        Step::EventRecord { after } => placed(after),
        Step::EventSync { after, before } | Step::StreamWait { after, before, .. } => {
            order.contains(&Step::EventRecord { after }) && !placed(before)
        }
        Step::Choose { .. } => unreachable!("these programs have no choices"),
    }
}

fn keeps_rules(dag: &Dag, assignment: &HashMap<OpId, u8>, order: &[Step]) -> bool {
    let at = |wanted: Step| order.iter().position(|&step| step == wanted);
    let op_at = |wanted: OpId| {
        order.iter().position(|&step| matches!(step, Step::Cpu(op) | Step::Gpu { op, .. } if op == wanted)).expect("placed")
    };
    let ready = |op: OpId| dag.predecessors(op).map(op_at).max().map_or(0, |last| last + 1);
    dag.edges().all(|(u, v)| op_at(u) < op_at(v))
        && order.iter().enumerate().all(|(here, &step)| match step {
            Step::Cpu(_) | Step::Gpu { .. } | Step::Choose { .. } => true,
            Step::EventRecord { after } => {
                op_at(after) < here
                    && dag.successors(after).any(|v| {
                        let takes_it = assignment.get(&v) != assignment.get(&after);
                        takes_it && ready(v) <= here
                    })
            }
            Step::EventSync { after, before } | Step::StreamWait { after, before, .. } => {
                at(Step::EventRecord { after }).is_some_and(|record| record < here)
                    && ready(before) <= here
                    && here < op_at(before)
            }
        })
}

/// As `Schedule::text`, with the streams numbered as they are named.
fn text(dag: &Dag, order: &[Step]) -> String {
    let mut names = Vec::new();
    let mut shown = Vec::new();
    for step in order.iter().filter(|&&step| step != Step::Cpu(dag.end())) {
        shown.push(match step.stream() {
            Some(stream) => {
                if !names.contains(&stream) {
                    names.push(stream);
                }
                format!("{}@{}", step.name(dag), names.iter().position(|&name| name == stream).expect("there now"))
            }
            None => step.name(dag),
        });
    }
    shown.join(";")
}

fn agrees_with_brute_force(dag: &Dag, streams: usize) {
    let expected = brute_force(dag, streams);
    let listed: Vec<String> = Schedules::new(dag, streams).unwrap().map(|schedule| schedule.text(dag)).collect();
    let found: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(found.len(), listed.len(), "a schedule is listed twice");
    assert_eq!(found, expected, "{}", dag.signature());
    assert_eq!(count(dag, streams).unwrap(), expected.len() as u128);
}

fn small(operations: &[(&str, Kind)], edges: &[(&str, &str)]) -> Dag {
    let mut builder = Dag::builder("small");
    for &(name, kind) in operations {
        builder = builder.operation(name, kind);
    }
    for &(before, after) in edges {
        builder = builder.edge(before, after);
    }
    builder.build().unwrap()
}

#[test]
fn small_programs_by_hand() {
    use Kind::{Cpu, Gpu};
    // A GPU operation alone: it, its record, the host's wait.
    let one = small(&[("a", Gpu)], &[]);
    let all: Vec<_> = Schedules::new(&one, 2).unwrap().map(|schedule| schedule.text(&one)).collect();
    assert_eq!(all, ["a@0;CER-after-a;CES-b4-end"]);
    // Two CPU operations: either first.
    assert_eq!(count(&small(&[("a", Cpu), ("b", Cpu)], &[]), 3).unwrap(), 2);
    // The paper's example of a synchronisation: Pack -> PostSend.
    let pack = small(&[("Pack", Gpu), ("PostSend", Cpu)], &[("Pack", "PostSend")]);
    let all: Vec<_> = Schedules::new(&pack, 2).unwrap().map(|schedule| schedule.names(&pack)).collect();
    assert_eq!(all, [["Pack", "CER-after-Pack", "CES-b4-PostSend", "PostSend", "end"]]);
    // u -> v on one stream takes nothing, on two a record and a wait.
    let chain = small(&[("u", Gpu), ("v", Gpu)], &[("u", "v")]);
    let all: BTreeSet<_> = Schedules::new(&chain, 2).unwrap().map(|schedule| schedule.text(&chain)).collect();
    let expected = ["u@0;v@0;CER-after-v;CES-b4-end", "u@0;CER-after-u;CSWE-b4-v@1;v@1;CER-after-v;CES-b4-end"];
    assert_eq!(all, expected.map(str::to_owned).into());
}

#[test]
fn chosen_programs_agree_with_brute_force() {
    use Kind::{Cpu, Gpu};
    let chosen = [
        // Two sources of one: a record must not be made for a stream that is then not taken.
        small(&[("u", Gpu), ("v", Gpu), ("w", Gpu)], &[("u", "w"), ("v", "w")]),
        // One source of two.
        small(&[("u", Gpu), ("v", Gpu), ("w", Gpu)], &[("u", "v"), ("u", "w")]),
        // One source of a CPU and a GPU operation: they share its record.
        small(&[("u", Gpu), ("v", Cpu), ("w", Gpu)], &[("u", "v"), ("u", "w"), ("v", "end")]),
        small(&[("a", Cpu), ("b", Cpu), ("c", Gpu), ("d", Cpu)], &[("a", "c"), ("b", "d")]),
        small(&[("a", Cpu), ("b", Gpu), ("c", Cpu), ("d", Cpu)], &[("b", "c"), ("b", "d"), ("a", "d")]),
    ];
    chosen.par_iter().for_each(|dag| (1..=3).for_each(|streams| agrees_with_brute_force(dag, streams)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn small_programs_agree_with_brute_force(dag in programs(1..=3, 2), streams in 1..=3usize) {
        // 10 steps have 10! orders.
        let sinks = dag.predecessors(dag.end()).filter(|&op| dag.kind(op) == Kind::Gpu).count();
        prop_assume!(dag.len() + 2 * sinks <= 9);
        agrees_with_brute_force(&dag, streams);
    }

    /// Whatever is taken, something can come next until the end, and what comes out is a schedule by the rules.
    #[test]
    fn every_way_ends_in_a_schedule(dag in programs(2..=7, 3), streams in 1..=4usize, choices in proptest::collection::vec(any::<u16>(), 64)) {
        let mut prefix = Prefix::new(&dag, streams).unwrap();
        for choice in choices {
            let next = prefix.next();
            if next.is_empty() {
                break;
            }
            prefix.push(next[usize::from(choice) % next.len()]);
        }
        let schedule = prefix.finish().expect("complete");
        let assignment: HashMap<_, _> = schedule.steps().iter().filter_map(|&step| match step {
            Step::Gpu { op, stream } => Some((op, stream)),
            _ => None,
        }).collect();
        prop_assert!(keeps_rules(&dag, &assignment, schedule.steps()), "{}", schedule.text(&dag));
        prop_assert!(schedule.streams() <= streams);
        // Its text leads back to it, and has its names.
        let text = schedule.text(&dag);
        prop_assert_eq!(&Schedule::parse(&dag, streams, &text).unwrap(), &schedule);
        let traversal: Traversal = text.parse().unwrap();
        prop_assert_eq!(traversal.to_string(), text);
        let mut names = schedule.names(&dag);
        let last = names.pop();
        prop_assert_eq!(last.as_deref(), Some("end"));
        prop_assert_eq!(traversal.steps().iter().map(|step| step.name.clone()).collect::<Vec<_>>(), names);
    }

    /// Counts merge prefixes that differ only in what no later step depends on, and lists don't.
    #[test]
    fn counts_are_those_of_lists(dag in programs(2..=7, 3), streams in 1..=4usize) {
        const MOST: usize = 3000;
        let listed = Schedules::new(&dag, streams).unwrap().take(MOST).count();
        let counted = count(&dag, streams).unwrap();
        let agree = if listed < MOST { counted == listed as u128 } else { counted >= listed as u128 };
        prop_assert!(agree, "{} and {}", listed, counted);
    }

    /// Each search goes through all schedules, each once.
    #[test]
    fn searches_go_through_all(dag in programs(1..=3, 2), streams in 1..=2usize, seed in any::<u64>()) {
        searches_exhaust(Space::default(), &dag, streams, seed);
    }
}

#[test]
fn the_paper_s_program() {
    let dag = spmv::dag();
    let all: Vec<_> = Schedules::new(&dag, 2).unwrap().collect();
    assert_eq!(all.len(), 5390);
    assert_eq!(count(&dag, 2).unwrap(), 5390);
    // On one stream only the host's order is free: the linear extensions of its operations, counted by hand elsewhere.
    assert_eq!(count(&dag, 1).unwrap(), 175);
    for text in [spmv::TEXTBOOK, spmv::BY_THE_RULE] {
        assert_eq!(Schedule::parse(&dag, 1, text).unwrap().text(&dag), text);
    }
    let names = all[0].names(&dag);
    assert!(names.contains(&"CER-after-Pack".to_owned()) && names.contains(&"CES-b4-PostSend".to_owned()), "{names:?}");
}

#[test]
fn bad_programs() {
    let reason = |builder: warpsmith::design_rules::DagBuilder| match builder.build() {
        Err(RulesError::Dag { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    let start = || Dag::builder("bad").cpu("a").gpu("b").cpu("c");
    assert_eq!(reason(start().edge("b", "start")), "the edge b -> start leads into the start");
    let many = (0..63).fold(Dag::builder("many"), |builder, index| builder.cpu(format!("op{index}")));
    let line = (1..63).fold(many, |builder, index| builder.edge(format!("op{}", index - 1), format!("op{index}")));
    assert_eq!(count(&line.build().unwrap(), 8).unwrap(), 1);
    let dag = start().build().unwrap();
    assert!(matches!(count(&dag, 0), Err(RulesError::Streams { found: 0 })));
    assert!(matches!(Schedules::new(&dag, 9), Err(RulesError::Streams { found: 9 })));
}

#[test]
fn bad_schedules() {
    let dag = spmv::dag();
    let good = Schedules::new(&dag, 2).unwrap().next().unwrap().text(&dag);
    let reason = |text: &str| match Schedule::parse(&dag, 2, text) {
        Err(RulesError::Schedule { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(reason("PostSend"), "`PostSend` can't come next");
    assert_eq!(reason("Pack@1"), "`Pack@1` can't come next");
    assert_eq!(reason("Pack@x"), "`Pack@x` names no stream");
    assert_eq!(reason("nonsense"), "`nonsense` can't come next");
    assert_eq!(reason(good.rsplit_once(';').unwrap().0), "it ends too early");
}

/// The formulas of the paper's section III-C1, by hand.
#[test]
fn the_value_of_a_child() {
    let statistics = |times: &[f64]| {
        let mut statistics = Statistics::EMPTY;
        times.iter().for_each(|&seconds| statistics.add(seconds));
        statistics
    };
    let parent = statistics(&[1.0, 2.0, 3.0, 5.0]);
    let mcts = Mcts::default();
    // c sqrt(ln 4 / 2) + (3 - 2) / (5 - 1)
    assert!((mcts.value(&parent, &statistics(&[2.0, 3.0])) - (4f64.ln().sqrt() + 0.25)).abs() < 1e-15);
    // One rollout is no basis: 1.
    assert!((mcts.value(&parent, &statistics(&[2.0])) - ((2.0 * 4f64.ln()).sqrt() + 1.0)).abs() < 1e-15);
}

/// An invalid time is refused, and leaves the search as it was.
#[test]
fn times_are_finite_and_schedules_those_of_the_program() {
    let dag = spmv::dag();
    let mut explorer = Explorer::new(&dag, 2, Mcts::default(), 1).unwrap();
    let schedule = explorer.propose().unwrap();
    for seconds in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -1.0] {
        let error = explorer.record(&schedule, seconds).unwrap_err().to_string();
        assert_eq!(error, format!("{seconds} s is not a time"));
    }
    let other = small(&[("a", Kind::Gpu), ("b", Kind::Gpu)], &[]);
    let foreign = Schedules::new(&other, 2).unwrap().next().unwrap();
    assert!(matches!(explorer.record(&foreign, 1.0), Err(RulesError::Schedule { .. })));
    assert!(matches!(explorer.record_failure(&foreign), Err(RulesError::Schedule { .. })));
    // A schedule on two streams isn't one on one stream.
    let wide = Schedules::new(&dag, 2).unwrap().find(|schedule| schedule.streams() == 2).unwrap();
    assert!(Explorer::new(&dag, 1, Random, 1).unwrap().record(&wide, 1.0).is_err());
    assert_eq!(explorer.statistics(), Statistics::EMPTY);
}

/// Some schedules fail, and no two of the rest take the same: each is proposed once, whatever the weight of
/// exploration.
#[test]
fn schedules_that_fail_are_done_with() {
    let dag = small(&[("a", Kind::Gpu), ("b", Kind::Gpu), ("c", Kind::Cpu)], &[("a", "c")]);
    let all = count(&dag, 2).unwrap();
    for (seed, exploration) in (0..20).flat_map(|seed| [(seed, 2f64.sqrt()), (seed, f64::INFINITY), (seed, f64::NAN)]) {
        let mut explorer = Explorer::new(&dag, 2, Mcts { exploration }, seed).unwrap();
        let (mut found, mut least) = (HashSet::new(), f64::INFINITY);
        while let Some(schedule) = explorer.propose() {
            if found.len() % 3 == 0 {
                explorer.record_failure(&schedule).unwrap();
            } else {
                let seconds = 1.0 + found.len() as f64;
                least = least.min(seconds);
                explorer.record(&schedule, seconds).unwrap();
            }
            assert!(found.insert(schedule), "seed {seed}: proposed twice");
        }
        assert_eq!((found.len() as u128, explorer.statistics().rollouts), (all, all as u64));
        assert_eq!(explorer.statistics().fastest, least);
    }
}

/// The number of schedules of independent GPU operations: any order, any partition among streams
/// (Stirling numbers of the second kind), and behind them the records and waits in any order with
/// each record before its wait.
fn independent(operations: u32, streams: usize) -> f64 {
    let factorial = |n: u32| (1..=n).map(f64::from).product::<f64>();
    let mut stirling = vec![0.0; streams + 1];
    stirling[0] = 1.0;
    for _ in 0..operations {
        for k in (1..=streams).rev() {
            stirling[k] = k as f64 * stirling[k] + stirling[k - 1];
        }
        stirling[0] = 0.0;
    }
    factorial(operations) * stirling.iter().sum::<f64>() * factorial(2 * operations) / 2f64.powi(operations as i32)
}

#[test]
fn independent_operations_are_counted() {
    let dag =
        |operations: u32| (0..operations).fold(Dag::builder("many"), |dag, index| dag.gpu(format!("g{index}"))).build().unwrap();
    for (operations, streams) in [(1, 1), (3, 2), (4, 3), (7, 8), (8, 2)] {
        let (found, expected) = (count(&dag(operations), streams).unwrap() as f64, independent(operations, streams));
        assert!((found / expected - 1.0).abs() < 1e-14, "{operations} on {streams}: {found}, {expected}");
    }
}

#[test]
fn searches_are_seeded() {
    let dag = spmv::dag();
    let run = |seed: u64| {
        let mut explorer = Explorer::new(&dag, 2, Mcts::default(), seed).unwrap();
        let mut texts = Vec::new();
        for _ in 0..60 {
            let schedule = explorer.propose().unwrap();
            explorer.record(&schedule, schedule.text(&dag).find("y_L").unwrap() as f64).unwrap();
            texts.push(schedule.text(&dag));
        }
        texts
    };
    assert_eq!(run(3), run(3));
    assert_ne!(run(3), run(4));
}

/// It seeks the parts of the space where times differ: with one operation's place deciding all, it goes there more
/// often than a random search does.
#[test]
fn tree_search_goes_where_times_differ() {
    let dag = spmv::dag();
    // Times differ only among the schedules that start with Pack.
    let time = |schedule: &Schedule| {
        let text = schedule.text(&dag);
        if text.starts_with("Pack") { text.find("y_L").unwrap() as f64 } else { 20.0 }
    };
    let share = |search: SearchMethod| {
        let mut explorer = Explorer::new(&dag, 2, search.strategy(), 1).unwrap();
        let mut found = 0;
        for _ in 0..300 {
            let schedule = explorer.propose().unwrap();
            found += usize::from(schedule.text(&dag).starts_with("Pack"));
            explorer.record(&schedule, time(&schedule)).unwrap();
        }
        found
    };
    let (guided, blind) = (share(SearchMethod::Mcts), share(SearchMethod::Random));
    assert!(guided > blind + 30, "{guided} of 300 against {blind}");
}
