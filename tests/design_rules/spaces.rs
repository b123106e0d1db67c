//! Tenzing's schedules, against its rule read literally, and against the default ones.

use std::collections::{BTreeSet, HashMap};

use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
use warpsmith::design_rules::programs::spmv;
use warpsmith::design_rules::search::{Explorer, SearchMethod};
use warpsmith::design_rules::{Dag, OpId, Schedule, Space, Step};

use crate::fixtures::{assignments, programs, searches_exhaust};

/// A call of the host. Streams and events are numbers, in the order in which they come up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Call {
    /// Runs an operation, on the GPU in a stream.
    Run(OpId, Option<u8>),
    /// Records an event in a stream.
    Record(usize, u8),
    /// Lets a stream wait for an event, or the host.
    Wait(usize, Option<u8>),
}

/// Returns calls with the streams numbered in the order in which they come up.
fn renumbered(calls: &[Call]) -> Vec<Call> {
    let mut names = Vec::new();
    let mut name = |stream: u8| {
        if !names.contains(&stream) {
            names.push(stream);
        }
        names.iter().position(|&name| name == stream).unwrap() as u8
    };
    let mut renamed = |&call: &Call| match call {
        Call::Run(op, stream) => Call::Run(op, stream.map(&mut name)),
        Call::Record(event, stream) => Call::Record(event, name(stream)),
        Call::Wait(event, stream) => Call::Wait(event, stream.map(&mut name)),
    };
    calls.iter().map(&mut renamed).collect()
}

fn calls(schedule: &Schedule) -> Vec<Call> {
    let mut events = HashMap::new();
    let mut call = |&step: &Step| match step {
        Step::Cpu(op) => Call::Run(op, None),
        Step::Gpu { op, stream } => Call::Run(op, Some(stream)),
        Step::EventRecord { after } => {
            let event = events.len();
            assert_eq!(events.insert(after, event), None, "two events of one operation");
            Call::Record(event, schedule.stream_of(after).unwrap())
        }
        Step::EventSync { after, .. } => Call::Wait(events[&after], None),
        Step::StreamWait { after, stream, .. } => Call::Wait(events[&after], Some(stream)),
        Step::Choose { .. } => unreachable!("these programs have no choices"),
    };
    renumbered(&schedule.steps().iter().map(&mut call).collect::<Vec<_>>())
}

/// Lists the calls of all schedules by tenzing's rule: for every assignment of streams, whatever may come next.
fn by_the_rule(dag: &Dag, streams: usize) -> BTreeSet<Vec<Call>> {
    let mut found = BTreeSet::new();
    for assignment in assignments(dag, streams) {
        extend(dag, &assignment, &mut Vec::new(), &mut found);
    }
    found
}

fn extend(dag: &Dag, assignment: &HashMap<OpId, u8>, path: &mut Vec<Call>, found: &mut BTreeSet<Vec<Call>>) {
    let place = |op: OpId| path.iter().position(|&call| matches!(call, Call::Run(other, _) if other == op));
    if place(dag.end()).is_some() {
        found.insert(renumbered(path));
        return;
    }
    let mut next = BTreeSet::new();
    for v in dag.operations().filter(|&v| place(v).is_none() && dag.predecessors(v).all(|u| place(u).is_some())) {
        let own = assignment.get(&v).copied();
        let mut is_synchronised = true;
        for (u, stream) in dag.predecessors(v).filter_map(|u| Some((u, *assignment.get(&u)?))) {
            if own == Some(stream) {
                continue;
            }
            let behind = &path[place(u).unwrap()..];
            let events = behind.iter().filter_map(|&call| match call {
                Call::Record(event, of) if of == stream => Some(event),
                _ => None,
            });
            let events: Vec<usize> = events.collect();
            if events.iter().any(|&event| behind.contains(&Call::Wait(event, own))) {
                continue;
            }
            is_synchronised = false;
            let records = path.iter().filter(|call| matches!(call, Call::Record(..))).count();
            next.insert(events.first().map_or(Call::Record(records, stream), |&first| Call::Wait(first, own)));
        }
        if is_synchronised {
            next.insert(Call::Run(v, own));
        }
    }
    for call in next {
        path.push(call);
        extend(dag, assignment, path, found);
        path.pop();
    }
}

/// Returns the runs of operations, and the waits that aren't redundant with the operations that their events cover. A wait
/// of a stream is redundant if earlier ones cover as much, or a later one before the stream's next operation.
fn effective(calls: &[Call]) -> Vec<(Call, BTreeSet<OpId>)> {
    let (mut streams, mut events) = (HashMap::<u8, BTreeSet<OpId>>::new(), Vec::new());
    let mut found = Vec::<(Call, BTreeSet<OpId>)>::new();
    for &call in calls {
        match call {
            Call::Run(op, stream) => {
                stream.map(|stream| streams.entry(stream).or_default().insert(op));
                found.push((call, BTreeSet::new()));
            }
            Call::Record(_, stream) => events.push(streams[&stream].clone()),
            Call::Wait(event, None) => found.push((Call::Wait(0, None), events[event].clone())),
            Call::Wait(event, Some(stream)) => {
                let done = streams.entry(stream).or_default();
                if events[event].is_subset(done) {
                    continue;
                }
                done.extend(&events[event]);
                let run = found.iter().rposition(|(call, _)| matches!(call, Call::Run(_, of) if *of == Some(stream)));
                let mut place = 0;
                found.retain(|(call, covered)| {
                    place += 1;
                    let is_later = run.is_none_or(|run| place > run + 1);
                    !(is_later && *call == Call::Wait(0, Some(stream)) && covered.is_subset(&events[event]))
                });
                found.push((Call::Wait(0, Some(stream)), events[event].clone()));
            }
        }
    }
    let (calls, covered): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    renumbered(&calls).into_iter().zip(covered).collect()
}

#[test]
fn the_paper_s_implementations() {
    let dag = spmv::dag();
    let listed = |space: Space, streams| space.schedules(&dag, streams).unwrap().collect::<Vec<_>>();
    let distinct = |space, streams| listed(space, streams).iter().map(calls).collect::<BTreeSet<_>>();
    for (streams, schedules) in [(1, 175), (2, 2036), (3, 8507)] {
        let found = listed(Space::Tenzing, streams);
        assert_eq!((found.len(), Space::Tenzing.count(&dag, streams).unwrap()), (schedules, schedules as u128));
        assert_eq!(distinct(Space::Tenzing, streams), by_the_rule(&dag, streams));
        assert_eq!(distinct(Space::Tenzing, streams).len(), schedules);
        for schedule in found {
            assert_eq!(Schedule::parse(&dag, streams, &schedule.text(&dag)).unwrap(), schedule);
        }
    }
    // On one stream, both are the same.
    assert_eq!(listed(Space::Tenzing, 1), listed(Space::Warpsmith, 1));
    // On two, neither has the other's calls. Without records and needless waits, they have the same.
    let (ours, theirs) = (distinct(Space::Warpsmith, 2), distinct(Space::Tenzing, 2));
    assert_eq!((ours.len(), theirs.len(), ours.intersection(&theirs).count()), (3380, 2036, 1298));
    let reduced = |all: &BTreeSet<Vec<Call>>| all.iter().map(|calls| effective(calls)).collect::<BTreeSet<_>>();
    assert_eq!(reduced(&ours).len(), 1255);
    assert!(reduced(&ours) == reduced(&theirs));
}

#[test]
fn searches_go_through_tenzing_s_schedules() {
    let dag = Dag::builder("small").gpu("a").gpu("b").gpu("c").cpu("d").edge("a", "c").edge("b", "c").edge("a", "d");
    let dag = dag.build().unwrap();
    searches_exhaust(Space::Tenzing, &dag, 2, 3);
    // The default search goes on from waits for others' events.
    let dag = spmv::dag();
    let mut explorer = Explorer::new(&dag, 2, SearchMethod::Surrogate.strategy(), 3).unwrap().in_space(Space::Tenzing);
    for iteration in 0..40 {
        let schedule = explorer.propose().unwrap();
        explorer.record(&schedule, f64::from(iteration % 5)).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn tenzing_s_schedules_are_by_its_rule(dag in programs(1..=4, 2), streams in 1..=3usize) {
        let all: Vec<_> = Space::Tenzing.schedules(&dag, streams).unwrap().take(20_000).collect();
        if all.len() < 20_000 {
            prop_assert_eq!(all.iter().map(calls).collect::<BTreeSet<_>>(), by_the_rule(&dag, streams), "{}", dag.signature());
            prop_assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "a schedule is listed twice");
            prop_assert_eq!(all.len() as u128, Space::Tenzing.count(&dag, streams).unwrap());
        }
        prop_assert!(!all.is_empty());
    }
}
