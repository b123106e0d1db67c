//! The simulated machine: closed forms, races, bounds.

use proptest::prelude::*;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use warpsmith::{
    design_rules::{
        Dag, Kind, OpId, Platform, RulesError, Schedule, Step,
        platform::Staging,
        programs::spmv,
        schedule::Schedules,
        sim::{
            Gpu, HostCosts, Link, Machine, MessageSize, Nics, Outcome, Progress, Rendezvous, SimPlatform, Simulator, Task,
            Violation, Workload, spmv::SpmvModel,
        },
    },
    spmv::{Band, Csr, Traffic},
};

use crate::{
    fixtures::{programs, random_schedule},
    machine::ideal,
};

/// A program with works given in advance: `works[rank][op]`.
#[derive(Clone, Debug)]
struct Given {
    dag: Dag,
    works: Vec<Vec<Vec<Task>>>,
}

impl Given {
    /// On this many ranks, on which operations do nothing yet.
    fn new(dag: &Dag, ranks: usize) -> Self {
        Given { dag: dag.clone(), works: vec![vec![Vec::new(); dag.len()]; ranks] }
    }

    /// Sets the work of an operation on all ranks.
    fn all(mut self, op: &str, works: &[Task]) -> Self {
        for rank in 0..self.works.len() {
            self = self.on(rank, op, works);
        }
        self
    }

    fn on(mut self, rank: usize, op: &str, works: &[Task]) -> Self {
        let op = self.dag.find(op).unwrap();
        self.works[rank][op.index()] = works.to_vec();
        self
    }
}

impl Workload for Given {
    fn dag(&self) -> &Dag {
        &self.dag
    }

    fn ranks(&self) -> usize {
        self.works.len()
    }

    fn work(&self, rank: usize, op: OpId) -> Vec<Task> {
        self.works[rank][op.index()].clone()
    }
}

fn kernel(seconds: f64, share: f64) -> Task {
    Task::Kernel { seconds, share }
}

fn host(seconds: f64) -> Task {
    Task::Host { seconds }
}

/// The schedule of this text, simulated.
fn simulate<T>(given: &Given, machine: Machine, text: &str, look: impl FnOnce(&Outcome<'_>) -> T) -> T {
    let schedule = Schedule::parse(&given.dag, 3, text).unwrap();
    let mut simulator = Simulator::new(given, machine).unwrap();
    let outcome = simulator.run(schedule.steps(), 0).unwrap();
    assert_eq!(outcome.violations().next(), None);
    look(&outcome)
}

fn span(outcome: &Outcome<'_>, given: &Given, rank: usize, op: &str) -> [f64; 2] {
    outcome.operation(rank, given.dag.find(op).unwrap()).unwrap()
}

#[test]
fn one_kernel() {
    let dag = Dag::builder("one").gpu("k").build().unwrap();
    let given = Given::new(&dag, 1).all("k", &[kernel(10.0, 0.5)]);
    let mut machine = ideal();
    machine.host = HostCosts { launch: 2.0, record: 0.5, sync: 0.25, ..machine.host };
    machine.gpu = Gpu { start_latency: 3.0, wake_latency: 1.0, ..machine.gpu };
    simulate(&given, machine.clone(), "k@0;CER-after-k;CES-b4-end", |outcome| {
        assert_eq!(span(outcome, &given, 0, "k"), [5.0, 15.0]);
        assert_eq!(outcome.seconds(), 16.0);
    });
    // Done before the host asks: then nobody waits but for the calls.
    let late = Given::new(&dag, 1).all("k", &[kernel(0.0, 0.5)]);
    machine.gpu.start_latency = 0.0;
    machine.gpu.wake_latency = 0.5;
    let text = "k@0;CER-after-k;CES-b4-end";
    simulate(&late, machine, text, |outcome| assert_eq!(outcome.seconds(), 2.0 + 0.5 + 0.5));
}

#[test]
fn kernels_limited_by_memory() {
    let dag = Dag::builder("one").gpu("k").build().unwrap();
    let mut machine = ideal();
    machine.gpu = Gpu { kernel_floor: 2.0, memory_bandwidth: 10.0, threads: 100.0, ..machine.gpu };
    for (threads, seconds) in [(100, 2.0 + 8.0), (50, 2.0 + 16.0), (1000, 2.0 + 8.0), (0, 2.0 + 800.0)] {
        let given = Given::new(&dag, 1).all("k", &[Task::MemoryKernel { bytes: 80, threads }]);
        let found = simulate(&given, machine.clone(), "k@0;CER-after-k;CES-b4-end", |outcome| outcome.seconds());
        assert!((found - seconds).abs() < 1e-12 * seconds, "{threads} threads: {found}");
    }
    machine.gpu = Gpu { copy_latency: 3.0, to_host_bandwidth: 4.0, ..machine.gpu };
    let given = Given::new(&dag, 1).all("k", &[Task::KernelToHost { bytes: 80, threads: 1 }]);
    let text = "k@0;CER-after-k;CES-b4-end";
    simulate(&given, machine, text, |outcome| assert_eq!(outcome.seconds(), 2.0 + 3.0 + 20.0));
}

#[test]
fn two_kernels_in_one_stream_or_two() {
    let dag = Dag::builder("two").gpu("a").gpu("b").build().unwrap();
    let one = "a@0;b@0;CER-after-a;CES-b4-end-after-a;CER-after-b;CES-b4-end-after-b";
    let two = "a@0;b@1;CER-after-a;CES-b4-end-after-a;CER-after-b;CES-b4-end-after-b";
    let ends = |text: &str, shares: [f64; 2], gap: f64| {
        let given = Given::new(&dag, 1).all("a", &[kernel(10.0, shares[0])]).all("b", &[kernel(4.0, shares[1])]);
        let mut machine = ideal();
        machine.gpu.gap = gap;
        simulate(&given, machine, text, |outcome| ["a", "b"].map(|op| span(outcome, &given, 0, op)[1]))
    };
    assert_eq!(ends(one, [0.5, 0.5], 1.0), [10.0, 15.0]);
    // There is room for both.
    assert_eq!(ends(two, [0.5, 0.5], 1.0), [10.0, 4.0]);
    // Each runs at half its rate until the shorter is done.
    assert_eq!(ends(two, [1.0, 1.0], 1.0), [14.0, 8.0]);
    // At two thirds, and then alone.
    let [a, b] = ends(two, [0.75, 0.75], 1.0);
    assert!((a - 12.0).abs() < 1e-12 && (b - 6.0).abs() < 1e-12, "{a} {b}");
}

#[test]
fn a_kernel_that_starts_later_slows_the_first_from_then_on() {
    let dag = Dag::builder("two").gpu("a").cpu("h").gpu("b").edge("h", "b").build().unwrap();
    let given = Given::new(&dag, 1).all("a", &[kernel(10.0, 1.0)]).all("h", &[host(4.0)]).all("b", &[kernel(5.0, 1.0)]);
    let text = "a@0;h;b@1;CER-after-a;CES-b4-end-after-a;CER-after-b;CES-b4-end-after-b";
    simulate(&given, ideal(), text, |outcome| {
        // Until 4 alone; then both at half rate, b for 10; a then has 1 left.
        assert_eq!(span(outcome, &given, 0, "b"), [4.0, 14.0]);
        assert_eq!(span(outcome, &given, 0, "a"), [0.0, 15.0]);
    });
}

#[test]
fn ranks_that_share_a_gpu_slow_each_other() {
    let dag = Dag::builder("one").gpu("k").build().unwrap();
    let given = Given::new(&dag, 3).all("k", &[kernel(10.0, 0.8), Task::CopyToHost { bytes: 7 }]);
    let mut machine = ideal();
    machine.gpu.ranks = 2;
    simulate(&given, machine, "k@0;CER-after-k;CES-b4-end", |outcome| {
        let all = [0, 1, 2].map(|rank| outcome.seconds_of(rank));
        // 1.6 of a GPU: 16 s; then one copy after the other. Rank 2 is alone.
        assert!(all.iter().zip([23.0, 30.0, 17.0]).all(|(found, expected)| (found - expected).abs() < 1e-12), "{all:?}");
    });
}

#[test]
fn copies_go_beside_kernels_and_one_at_a_time() {
    let dag = Dag::builder("three").gpu("a").gpu("b").gpu("c").build().unwrap();
    let text = "a@0;b@1;c@2;CER-after-a;CES-b4-end-after-a;CER-after-b;CES-b4-end-after-b;CER-after-c;CES-b4-end-after-c";
    let spans = |works: [Task; 3]| {
        let [a, b, c] = works;
        let given = Given::new(&dag, 1).all("a", &[a]).all("b", &[b]).all("c", &[c]);
        let mut machine = ideal();
        machine.gpu = Gpu { copy_latency: 1.0, to_host_bandwidth: 2.0, to_device_bandwidth: 4.0, ..machine.gpu };
        simulate(&given, machine, text, |outcome| ["a", "b", "c"].map(|op| span(outcome, &given, 0, op)))
    };
    let (out, into) = (Task::CopyToHost { bytes: 8 }, Task::CopyToDevice { bytes: 8 });
    assert_eq!(spans([kernel(6.0, 1.0), out.clone(), into.clone()]), [[0.0, 6.0], [0.0, 5.0], [0.0, 3.0]]);
    assert_eq!(spans([out.clone(), out, into]), [[0.0, 5.0], [5.0, 10.0], [0.0, 3.0]]);
}

#[test]
fn kernels_and_copies_take_turns() {
    let dag = Dag::builder("two").gpu("a").gpu("b").build().unwrap();
    let (out, into) = (Task::CopyToHost { bytes: 8 }, Task::CopyToDevice { bytes: 8 });
    let mut machine = ideal();
    machine.gpu = Gpu { gap: 1.0, turn: 0.25, ..machine.gpu };
    let end = |works: [Task; 2], text: &str| {
        let [a, b] = works;
        let given = Given::new(&dag, 1).all("a", &[a]).all("b", &[b]);
        simulate(&given, machine.clone(), text, |outcome| span(outcome, &given, 0, "b")[1])
    };
    let one = "a@0;b@0;CER-after-a;CES-b4-end-after-a;CER-after-b;CES-b4-end-after-b";
    let two = "a@0;b@1;CER-after-a;CES-b4-end-after-a;CER-after-b;CES-b4-end-after-b";
    assert_eq!(end([kernel(2.0, 0.5), kernel(3.0, 0.5)], one), 6.0);
    assert_eq!(end([into.clone(), out.clone()], one), 17.0);
    assert_eq!(end([kernel(2.0, 0.5), out.clone()], one), 11.25);
    assert_eq!(end([into, kernel(3.0, 0.5)], one), 12.25);
    assert_eq!(end([kernel(2.0, 0.5), out], two), 8.0);
}

#[test]
fn a_copy_on_a_busy_gpu_holds_up_what_is_second_behind_it() {
    let dag = Dag::builder("four").gpu("a").gpu("c").gpu("d").gpu("e").edge("c", "d").edge("d", "e").build().unwrap();
    let far = Task::CopyToDevice { bytes: 2 };
    let mut machine = ideal();
    machine.host.launch = 1.0;
    machine.gpu.copy_stall = 100.0;
    let ends = |copy: &Task, text: &str| {
        let given = Given::new(&dag, 1)
            .all("a", &[kernel(10.0, 0.1)])
            .all("c", &[copy.clone(), kernel(3.0, 0.1)])
            .all("d", &[kernel(4.0, 0.1)])
            .all("e", &[kernel(5.0, 0.1)]);
        simulate(&given, machine.clone(), text, |outcome| ["d", "e"].map(|op| span(outcome, &given, 0, op)[1]))
    };
    let end = "CER-after-a;CES-b4-end-after-a;CER-after-e;CES-b4-end-after-e";
    // The copy is enqueued at 1, while a runs from 1 to 11 in another stream; then c ends at 6. e is third.
    assert_eq!(ends(&far, &format!("a@0;c@1;d@1;e@1;{end}")), [110.0, 115.0]);
    // It waits for a in its own stream.
    assert_eq!(ends(&far, &format!("a@0;c@0;d@0;e@0;{end}")), [120.0, 125.0]);
    // Nothing else runs yet.
    assert_eq!(ends(&far, &format!("c@0;a@1;d@0;e@0;{end}")), [9.0, 14.0]);
    // Behind an event, another stream starts at once.
    assert_eq!(ends(&far, &format!("a@0;c@1;CER-after-c;CSWE-b4-d@0;d@0;e@0;{end}")), [15.0, 20.0]);
    // Copies to the host hold up nothing.
    assert_eq!(ends(&Task::CopyToHost { bytes: 2 }, &format!("a@0;c@1;d@1;e@1;{end}")), [10.0, 15.0]);
}

#[test]
fn a_record_stands_for_all_that_is_in_its_stream() {
    let dag = Dag::builder("two").gpu("a").gpu("b").cpu("h").edge("a", "h").build().unwrap();
    let given = Given::new(&dag, 1).all("a", &[kernel(2.0, 0.1)]).all("b", &[kernel(5.0, 0.1)]).all("h", &[host(1.0)]);
    let starts = |text: &str| simulate(&given, ideal(), text, |outcome| span(outcome, &given, 0, "h")[0]);
    assert_eq!(starts("a@0;CER-after-a;b@0;CES-b4-h;h;CER-after-b;CES-b4-end"), 2.0);
    assert_eq!(starts("a@0;b@0;CER-after-a;CES-b4-h;h;CER-after-b;CES-b4-end"), 7.0);
    assert_eq!(starts("a@0;b@1;CER-after-a;CES-b4-h;h;CER-after-b;CES-b4-end"), 2.0);
}

#[test]
fn streams_wait_for_events_of_others() {
    let dag = Dag::builder("three").gpu("a").gpu("b").gpu("c").edge("a", "c").edge("b", "c").build().unwrap();
    let given = Given::new(&dag, 1).all("a", &[kernel(2.0, 0.1)]).all("b", &[kernel(5.0, 0.1)]).all("c", &[kernel(1.0, 0.1)]);
    let mut machine = ideal();
    machine.gpu = Gpu { event_latency: 0.5, gap: 0.25, ..machine.gpu };
    let start = |text: &str| simulate(&given, machine.clone(), text, |outcome| span(outcome, &given, 0, "c")[0]);
    // The event is long complete when b is done.
    assert_eq!(start("a@0;b@1;CER-after-a;CSWE-b4-c-after-a@1;c@1;CER-after-c;CES-b4-end"), 5.25);
    assert_eq!(start("a@0;b@1;CER-after-b;CSWE-b4-c-after-b@0;c@0;CER-after-c;CES-b4-end"), 5.5);
    assert_eq!(start("a@0;b@0;c@0;CER-after-c;CES-b4-end"), 2.25 + 5.25);
}

/// Rank 0 sends, rank 1 receives; `h` is before the wait on both.
fn ping(bytes: u64, ranks: usize, to: usize, before: [f64; 2]) -> Given {
    let dag = Dag::builder("ping").cpu("post").cpu("h").cpu("wait").edge("post", "h").edge("h", "wait").build().unwrap();
    let message = |rank| vec![MessageSize { rank, bytes }];
    Given::new(&dag, ranks)
        .on(0, "post", &[Task::PostSend { exchange: 7, messages: message(to) }])
        .on(0, "h", &[host(before[0])])
        .on(0, "wait", &[Task::WaitSend { exchange: 7 }])
        .on(to, "post", &[Task::PostReceive { exchange: 7, messages: message(0) }])
        .on(to, "h", &[host(before[1])])
        .on(to, "wait", &[Task::WaitReceive { exchange: 7 }])
}

#[test]
fn a_message_inside_a_node_and_between_nodes() {
    let mut machine = ideal();
    machine.host = HostCosts { post_send: 1.0, post_receive: 2.0, wait: 0.5, ..machine.host };
    machine.network.inside = Link { latency: 3.0, bandwidth: 10.0 };
    machine.network.between = Link { latency: 5.0, bandwidth: 20.0 };
    let seconds = |eager_limit, to: usize, before: [f64; 2]| {
        let mut machine = machine.clone();
        machine.network.eager_limit = eager_limit;
        let given = ping(100, 4, to, before);
        simulate(&given, machine, "post;h;wait", |outcome| [0, to].map(|rank| outcome.seconds_of(rank)))
    };
    // Posted at 1, there at 1 + 3 + 10. The sender has only its calls.
    assert_eq!(seconds(100, 1, [0.0, 0.0]), [1.5, 14.0]);
    assert_eq!(seconds(100, 2, [0.0, 0.0]), [1.5, 1.0 + 5.0 + 5.0]);
    // It arrives long before the receiver asks.
    assert_eq!(seconds(100, 1, [0.0, 50.0]), [1.5, 52.5]);
    // Announced at 1 + 3, answered at 7, left at 17, there at 20.
    assert_eq!(seconds(99, 1, [0.0, 0.0]), [17.0, 20.0]);
    assert_eq!(seconds(99, 2, [0.0, 0.0]), [1.0 + 10.0 + 5.0, 1.0 + 15.0 + 5.0]);
    // All that goes by itself.
    assert_eq!(seconds(99, 1, [30.0, 50.0]), [31.5, 52.5]);
}

#[test]
fn a_rendezvous_may_need_both_hosts() {
    let mut machine = ideal();
    machine.network.eager_limit = 0;
    machine.network.inside = Link { latency: 3.0, bandwidth: 10.0 };
    let seconds = |progress, before: [f64; 2]| {
        let mut machine = machine.clone();
        machine.network.progress = progress;
        let given = ping(100, 2, 1, before);
        simulate(&given, machine, "post;h;wait", |outcome| [0, 1].map(|rank| outcome.seconds_of(rank)))
    };
    assert_eq!(seconds(Progress::Always, [0.0, 0.0]), [16.0, 19.0]);
    assert_eq!(seconds(Progress::InCalls, [0.0, 0.0]), [16.0, 19.0]);
    assert_eq!(seconds(Progress::Always, [40.0, 20.0]), [40.0, 20.0]);
    // Answered at 20, heard at 23, sent at 40.
    assert_eq!(seconds(Progress::InCalls, [40.0, 20.0]), [50.0, 53.0]);
    // The receiver is out until 20; the sender waits in its call.
    assert_eq!(seconds(Progress::InCalls, [0.0, 20.0]), [33.0, 36.0]);
    // The receiver waits in its call and answers at 3; the sender comes back at 30.
    assert_eq!(seconds(Progress::InCalls, [30.0, 0.0]), [40.0, 43.0]);
}

#[test]
fn a_receiver_that_reads_needs_no_answer() {
    let mut machine = ideal();
    machine.network.rendezvous = Rendezvous::Get;
    machine.network.inside = Link { latency: 3.0, bandwidth: 10.0 };
    let seconds = |progress, before: [f64; 2], eager_limit| {
        let mut machine = machine.clone();
        (machine.network.progress, machine.network.eager_limit) = (progress, eager_limit);
        let given = ping(100, 2, 1, before);
        simulate(&given, machine, "post;h;wait", |outcome| [0, 1].map(|rank| outcome.seconds_of(rank)))
    };
    for progress in [Progress::Always, Progress::InCalls] {
        // Announced at 3, there at 3 + 3 + 10; the sender hears of that at 19.
        assert_eq!(seconds(progress, [0.0, 0.0], 0), [19.0, 16.0]);
        // The sender need not be in a call.
        assert_eq!(seconds(progress, [30.0, 0.0], 0), [30.0, 16.0]);
        assert_eq!(seconds(progress, [0.0, 0.0], 100), [0.0, 13.0]);
    }
    assert_eq!(seconds(Progress::Always, [0.0, 20.0], 0), [19.0, 20.0]);
    assert_eq!(seconds(Progress::InCalls, [0.0, 20.0], 0), [36.0, 33.0]);
}

#[test]
fn a_receive_may_come_after_its_message() {
    let dag = Dag::builder("late").cpu("h").cpu("post").cpu("wait").edge("h", "post").edge("post", "wait").build().unwrap();
    let messages = |rank| vec![MessageSize { rank, bytes: 10 }; 2];
    let given = Given::new(&dag, 2)
        .on(0, "post", &[Task::PostSend { exchange: 0, messages: messages(1) }])
        .on(0, "wait", &[Task::WaitSend { exchange: 0 }])
        .on(1, "h", &[host(50.0)])
        .on(1, "post", &[Task::PostReceive { exchange: 0, messages: messages(0) }])
        .on(1, "wait", &[Task::WaitReceive { exchange: 0 }]);
    let mut machine = ideal();
    machine.host.post_receive = 1.0;
    machine.network.inside = Link { latency: 3.0, bandwidth: 10.0 };
    for progress in [Progress::Always, Progress::InCalls] {
        machine.network.progress = progress;
        machine.network.eager_limit = 10;
        let seconds = |machine: &Machine| {
            simulate(&given, machine.clone(), "h;post;wait", |outcome| [0, 1].map(|rank| outcome.seconds_of(rank)))
        };
        assert_eq!(seconds(&machine), [0.0, 52.0]);
        // The receives are posted at 51 and 52; the second is answered at 55, and the message is there at 55 + 3 + 1.
        machine.network.eager_limit = 9;
        assert_eq!(seconds(&machine), [56.0, 59.0]);
    }
}

#[test]
fn messages_share_ports_in_order() {
    let dag = Dag::builder("all").cpu("post").cpu("wait").edge("post", "wait").build().unwrap();
    let send = |rank| Task::PostSend { exchange: 0, messages: vec![MessageSize { rank, bytes: 10 }] };
    let receive = |ranks: &[usize]| {
        let messages = ranks.iter().map(|&rank| MessageSize { rank, bytes: 10 }).collect();
        [Task::PostReceive { exchange: 0, messages }]
    };
    let wait = [Task::WaitReceive { exchange: 0 }];
    let mut machine = ideal();
    machine.network.eager_limit = 10;
    machine.network.between.latency = 1.0;
    // Ranks 0 and 1 of one node to ranks 2 and 3 of another.
    let apart = Given::new(&dag, 4)
        .on(0, "post", &[send(2)])
        .on(1, "post", &[send(3)])
        .on(2, "post", &receive(&[0]))
        .on(3, "post", &receive(&[1]))
        .all("wait", &wait);
    // Ranks 0 and 2, on two nodes, to rank 4 of a third.
    let together = Given::new(&dag, 6)
        .on(0, "post", &[send(4)])
        .on(2, "post", &[send(4)])
        .on(4, "post", &receive(&[0, 2]))
        .all("wait", &wait);
    let seconds = |given: &Given, nics| {
        let mut machine = machine.clone();
        machine.network.nics = nics;
        simulate(given, machine, "post;wait", |outcome| {
            (0..given.ranks()).map(|rank| outcome.seconds_of(rank)).collect::<Vec<_>>()
        })
    };
    assert_eq!(seconds(&apart, Nics::PerRank), [0.0, 0.0, 11.0, 11.0]);
    assert_eq!(seconds(&apart, Nics::PerNode), [0.0, 0.0, 11.0, 21.0]);
    assert_eq!(seconds(&together, Nics::PerRank)[4], 21.0);
}

#[test]
fn waiting_for_ever_is_an_error() {
    let dag = Dag::builder("cross").cpu("send").cpu("done").cpu("receive").cpu("got");
    let dag = dag.edge("send", "done").edge("receive", "got").build().unwrap();
    let mut given = Given::new(&dag, 2);
    for (rank, other) in [(0, 1), (1, 0)] {
        let messages = || vec![MessageSize { rank: other, bytes: 10 }];
        given = given
            .on(rank, "send", &[Task::PostSend { exchange: 0, messages: messages() }])
            .on(rank, "done", &[Task::WaitSend { exchange: 0 }])
            .on(rank, "receive", &[Task::PostReceive { exchange: 0, messages: messages() }])
            .on(rank, "got", &[Task::WaitReceive { exchange: 0 }]);
    }
    let run = |text: &str, eager_limit| {
        let mut machine = ideal();
        machine.network.eager_limit = eager_limit;
        let mut platform = SimPlatform::new(&given, machine).unwrap();
        platform.measure(&Schedule::parse(&dag, 1, text).unwrap()).map_err(|error| error.to_string())
    };
    let reason = "rank 0: in `done` it waits for ever, for messages that it sent, and that nobody receives";
    assert_eq!(run("send;done;receive;got", 9), Err(reason.to_owned()));
    assert_eq!(run("send;receive;done;got", 9), Ok(10.0));
    assert_eq!(run("send;done;receive;got", 10), Ok(10.0));
    let reason = "rank 0: in `got` it waits for ever, for messages that nobody sends";
    assert_eq!(run("receive;got;send;done", 10), Err(reason.to_owned()));
}

#[test]
fn what_cannot_be_simulated_is_said() {
    let dag = Dag::builder("ping").cpu("post").gpu("k").build().unwrap();
    let error = |given: &Given| Simulator::new(given, ideal()).unwrap_err().to_string();
    let one = |op: &str, work: Task| error(&Given::new(&dag, 2).on(1, op, &[work]));
    let message = |rank, bytes| vec![MessageSize { rank, bytes }];
    for (op, work, part) in [
        (
            "k",
            host(1.0),
            "`k` on rank 1 of 2 can't be simulated: it is an operation of the GPU, and does what belongs to the CPU",
        ),
        ("post", kernel(1.0, 1.0), "does what belongs to the GPU"),
        ("k", kernel(1.0, 0.0), "a kernel's share of the GPU is 0,"),
        ("k", kernel(1.0, f64::NAN), "a kernel's share of the GPU is NaN,"),
        ("k", kernel(-1.0, 1.0), "it takes -1 s"),
        ("post", host(f64::INFINITY), "it takes inf s"),
        ("post", Task::PostSend { exchange: 0, messages: message(2, 1) }, "it exchanges with rank 2"),
        (
            "post",
            Task::PostSend { exchange: 0, messages: message(0, 1) },
            "rank 1 sends rank 0 messages of [1] bytes, and it receives messages of [] bytes",
        ),
        (
            "post",
            Task::PostReceive { exchange: 0, messages: message(0, 3) },
            "rank 0 sends rank 1 messages of [] bytes, and it receives messages of [3] bytes",
        ),
    ] {
        let found = one(op, work);
        assert!(found.contains(part), "{found}");
    }
    let sizes = Given::new(&dag, 2).on(0, "post", &[Task::PostSend { exchange: 0, messages: message(1, 8) }]).on(
        1,
        "post",
        &[Task::PostReceive { exchange: 0, messages: message(0, 4) }],
    );
    assert!(error(&sizes).contains("messages of [8] bytes, and it receives messages of [4]"), "{}", error(&sizes));
    assert!(error(&Given::new(&dag, 0)).contains("0 ranks"));
    let mut machine = ideal();
    type Change = fn(&mut Machine);
    let changes: [(Change, &str); 4] = [
        (|machine| machine.gpu.to_host_bandwidth = 0.0, "gpu.to_host_bandwidth = 0, which is not from 1e-9 to 1e18"),
        (|machine| machine.host.wait = -1.0, "host.wait = -1, which is not from 0 to 1e9"),
        (|machine| machine.noise = 11.0, "noise = 11, which is more than 10"),
        (|machine| machine.gpu.memory_bandwidth = 1e-300, "gpu.memory_bandwidth = 1e-300, which is not from 1e-9 to 1e18"),
    ];
    for (change, part) in changes {
        let mut machine = ideal();
        change(&mut machine);
        let found = Simulator::new(&Given::new(&dag, 1), machine).unwrap_err().to_string();
        assert_eq!(found, format!("the machine `ideal` has {part}"));
    }
    let endless = Given::new(&dag, 1).all("k", &[Task::MemoryKernel { bytes: u64::MAX, threads: 1 }]);
    // At the limits, all times are finite.
    (machine.gpu.memory_bandwidth, machine.gpu.threads, machine.gpu.kernel_floor) = (1e-9, 1e18, 1e9);
    let schedule = Schedules::new(&dag, 1).unwrap().next().unwrap();
    let seconds = SimPlatform::new(&endless, machine).unwrap().measure(&schedule).unwrap();
    assert!(seconds > 1e40 && seconds.is_finite(), "{seconds}");

    let mut simulator = Simulator::new(&Given::new(&dag, 1), ideal()).unwrap();
    let k = dag.find("k").unwrap();
    let mut error = |steps: &[Step]| simulator.run(steps, 0).unwrap_err().to_string();
    let twice = [Step::Gpu { op: k, stream: 0 }, Step::Gpu { op: k, stream: 1 }];
    assert_eq!(error(&twice), "the schedule `k;k` of program `ping`: `k` stands twice");
    let early = [Step::EventRecord { after: k }];
    assert!(error(&early).contains("it records behind `k`, which no stream has yet"));
    assert!(error(&[Step::Gpu { op: k, stream: 99 }]).contains("stream 99"));
}

#[test]
fn presets_are_valid_and_read_back() {
    for machine in [Machine::h200_node(), Machine::h200_node_direct(), Machine::cluster()] {
        machine.validate().unwrap();
        let text = serde_json::to_string(&machine).unwrap();
        assert_eq!(serde_json::from_str::<Machine>(&text).unwrap(), machine);
    }
}

#[test]
fn machines_of_before_read_back() {
    let mut value = serde_json::to_value(ideal()).unwrap();
    for field in ["turn", "copy_stall"] {
        value["gpu"].as_object_mut().unwrap().remove(field).unwrap();
    }
    value["network"].as_object_mut().unwrap().remove("rendezvous").unwrap();
    assert_eq!(serde_json::from_value::<Machine>(value).unwrap(), ideal());
}

fn model(ranks: usize) -> SpmvModel {
    let matrix: Csr<f32> = Band::new(3000, 30_000, 1).matrix().unwrap();
    SpmvModel::new(Traffic::new(&matrix, ranks).unwrap())
}

#[test]
fn the_model_of_the_multiplication_has_the_traffic_of_its_matrix() {
    // Rank 0 has rows 0 and 1, with 3 local nonzeros and 1 remote one; rank 1 has 2 and 3 of them, and needs both
    // entries of rank 0.
    let places = [(0, 0), (0, 1), (1, 1), (1, 3), (2, 0), (2, 2), (3, 3), (3, 0), (3, 1)];
    let matrix = Csr::<f64>::from_triplets((4, 4), places.map(|(row, column)| (row, column, 1.0))).unwrap();
    let model = SpmvModel::new(Traffic::new(&matrix, 2).unwrap());
    let work = |model: &SpmvModel, rank, op| model.work(rank, model.dag().find(op).unwrap());
    let kernel = |nonzeros: u64| Task::MemoryKernel { bytes: nonzeros * 12 + 2 * 8, threads: 2 };
    assert_eq!(work(&model, 0, "y_L"), [kernel(3)]);
    assert_eq!(work(&model, 0, "Pack"), [Task::KernelToHost { bytes: 8, threads: 2 }]);
    assert_eq!(work(&model, 0, "PostSend"), [Task::PostSend { exchange: 0, messages: vec![MessageSize { rank: 1, bytes: 8 }] }]);
    assert_eq!(
        work(&model, 0, "PostRecv"),
        [Task::PostReceive { exchange: 0, messages: vec![MessageSize { rank: 1, bytes: 4 }] }]
    );
    assert_eq!(work(&model, 0, "y_R"), [Task::CopyToDevice { bytes: 4 }, kernel(1)]);
    assert_eq!(work(&model, 1, "y_R"), [Task::CopyToDevice { bytes: 8 }, kernel(3)]);
    assert_eq!(work(&model, 1, "add"), [Task::MemoryKernel { bytes: 3 * 2 * 4, threads: 2 }]);
    let direct = model.clone().with_staging(Staging::Device);
    assert_eq!(work(&direct, 1, "y_R"), [kernel(3)]);
    assert_eq!(work(&direct, 0, "Pack"), [Task::MemoryKernel { bytes: 2 * 12, threads: 2 }]);
    let alone = SpmvModel::new(Traffic::new(&matrix, 1).unwrap());
    assert_eq!([work(&alone, 0, "Pack"), work(&alone, 0, "y_R")], [vec![], vec![]]);
}

#[test]
fn every_schedule_of_the_multiplication_runs_without_a_race() {
    for (ranks, machine) in [(1, Machine::h200_node()), (4, Machine::h200_node()), (6, Machine::cluster())] {
        let model = model(ranks);
        let mut simulator = Simulator::new(&model, machine).unwrap();
        let (mut count, mut fastest, mut slowest) = (0, f64::INFINITY, 0.0f64);
        for schedule in Schedules::new(model.dag(), 2).unwrap() {
            let outcome = simulator.run(schedule.steps(), 0).unwrap();
            let violation = outcome.violations().next();
            assert_eq!(violation.map(|violation| violation.text(model.dag())), None, "{}", schedule.text(model.dag()));
            let seconds = outcome.seconds();
            (count, fastest, slowest) = (count + 1, fastest.min(seconds), slowest.max(seconds));
        }
        assert_eq!(count, 5390);
        assert!(slowest > 1.05 * fastest, "{ranks} ranks: {fastest} to {slowest}");
    }
}

#[test]
fn runs_are_the_same_again_and_noise_depends_on_the_seed() {
    let model = model(4);
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let schedules: Vec<_> = (0..20).map(|_| random_schedule(model.dag(), 2, &mut rng)).collect();
    let mut machine = Machine::h200_node();
    machine.noise = 0.1;
    let platform = || SimPlatform::new(&model, machine.clone()).unwrap().with_seed(3);
    let (mut first, mut second) = (platform(), platform());
    let forth: Vec<_> = schedules.iter().map(|schedule| first.measure(schedule).unwrap()).collect();
    let mut back: Vec<_> = schedules.iter().rev().map(|schedule| second.measure(schedule).unwrap()).collect();
    back.reverse();
    assert_eq!(forth, back);
    let mut other = platform().with_seed(4);
    assert!(schedules.iter().zip(&forth).all(|(schedule, seconds)| other.measure(schedule).unwrap() != *seconds));
    // The mean of the samples is that of runs.
    let timelines: Vec<_> = schedules.iter().map(|schedule| first.timeline(schedule).unwrap()).collect();
    assert_eq!(timelines[7], second.timeline(&schedules[7]).unwrap());
    machine.noise = 0.0;
    let mut still = SimPlatform::new(&model, machine.clone()).unwrap();
    let mut simulator = Simulator::new(&model, machine.clone()).unwrap();
    for schedule in &schedules {
        let seconds = still.measure(schedule).unwrap();
        assert_eq!(seconds, simulator.run(schedule.steps(), 99).unwrap().seconds());
        still.check(schedule).unwrap();
    }
}

#[test]
fn noise_is_lognormal() {
    let dag = Dag::builder("one").cpu("h").gpu("k").build().unwrap();
    let given = Given::new(&dag, 2).all("h", &[host(1.0)]).all("k", &[kernel(1.0, 1.0)]);
    let mut machine = ideal();
    machine.noise = 0.25;
    let schedule = Schedule::parse(&dag, 1, "h;k@0;CER-after-k;CES-b4-end").unwrap();
    let mut simulator = Simulator::new(&given, machine).unwrap();
    let mut logarithms = vec![Vec::new(); 4];
    for seed in 0..2000 {
        let outcome = simulator.run(schedule.steps(), seed).unwrap();
        for (list, (rank, op)) in logarithms.iter_mut().zip([(0, "h"), (0, "k"), (1, "h"), (1, "k")]) {
            let [start, end] = span(&outcome, &given, rank, op);
            list.push((end - start).ln());
        }
    }
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / a.len() as f64;
    for (index, list) in logarithms.iter().enumerate() {
        // Four standard errors.
        assert!(mean(list).abs() < 4.0 * 0.25 / 2000f64.sqrt(), "mean {}", mean(list));
        let deviation = product(list, list).sqrt();
        assert!((deviation - 0.25).abs() < 4.0 * 0.25 / 4000f64.sqrt(), "deviation {deviation}");
        for other in &logarithms[..index] {
            assert!(product(list, other).abs() < 4.0 * 0.0625 / 2000f64.sqrt(), "they depend on each other");
        }
    }
}

#[test]
fn a_timeline_has_all_steps_in_their_places() {
    let model = model(2);
    let schedule = random_schedule(model.dag(), 2, &mut ChaCha8Rng::seed_from_u64(1));
    let mut platform = SimPlatform::new(&model, Machine::h200_node()).unwrap();
    assert_eq!(platform.description(), "simulated, 2 ranks, 4 H200s of one host");
    let seconds = platform.measure(&schedule).unwrap();
    let timeline = platform.timeline(&schedule).unwrap();
    for rank in 0..2 {
        let spans: Vec<_> = timeline.spans.iter().filter(|span| span.rank == rank).collect();
        let host: Vec<_> = spans.iter().filter(|span| span.stream.is_none()).collect();
        assert_eq!(host.iter().map(|span| span.name.clone()).collect::<Vec<_>>(), schedule.names(model.dag()));
        // The host does one thing after the other without a pause.
        assert_eq!(host[0].start, 0.0);
        assert!(host.windows(2).all(|pair| pair[0].end == pair[1].start));
        let gpu: Vec<_> = spans.iter().filter(|span| span.stream.is_some()).collect();
        assert_eq!(gpu.len(), 4);
        // Streams do one thing at a time.
        for a in &gpu {
            for b in gpu.iter().filter(|b| b.stream == a.stream && b.name != a.name) {
                assert!(a.end <= b.start || b.end <= a.start);
            }
        }
    }
    assert_eq!(timeline.spans.iter().map(|span| span.end).fold(0.0, f64::max), seconds);
}

fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Random durations, over three orders of magnitude.
fn random_work(dag: &Dag, rng: &mut ChaCha8Rng) -> Given {
    let mut given = Given::new(dag, 1);
    for op in dag.operations().filter(|&op| op != dag.end()) {
        let seconds = 10f64.powf(3.0 * uniform(rng) - 1.0);
        let share = 0.05 + 0.95 * uniform(rng);
        given.works[0][op.index()] = match dag.kind(op) {
            Kind::Cpu => vec![host(seconds)],
            Kind::Gpu => match rng.next_u32() % 4 {
                0 => vec![kernel(seconds, share), Task::CopyToHost { bytes: seconds as u64 }],
                1 => vec![Task::CopyToDevice { bytes: seconds as u64 }, kernel(seconds, share)],
                2 => Vec::new(),
                _ => vec![kernel(seconds, share)],
            },
        };
    }
    given
}

/// A machine where everything costs something.
fn random_machine(rng: &mut ChaCha8Rng) -> Machine {
    let mut machine = ideal();
    let host = &mut machine.host;
    for cost in [&mut host.launch, &mut host.copy, &mut host.record, &mut host.sync, &mut host.stream_wait] {
        *cost = uniform(rng);
    }
    let gpu = &mut machine.gpu;
    for cost in [&mut gpu.start_latency, &mut gpu.gap, &mut gpu.event_latency, &mut gpu.wake_latency, &mut gpu.copy_latency] {
        *cost = uniform(rng);
    }
    for cost in [&mut gpu.turn, &mut gpu.copy_stall] {
        *cost = uniform(rng);
    }
    machine
}

/// Returns the duration of a task that is alone.
fn alone(work: &Task, machine: &Machine) -> f64 {
    match *work {
        Task::Host { seconds } | Task::Kernel { seconds, .. } => seconds,
        Task::CopyToHost { bytes } | Task::CopyToDevice { bytes } => machine.gpu.copy_latency + bytes as f64,
        _ => unreachable!(),
    }
}

/// No schedule is faster than the longest path of work, or slower than everything one after the other.
fn bounds(given: &Given, machine: &Machine, steps: &[Step]) -> [f64; 2] {
    let dag = &given.dag;
    let works = |op: OpId| given.works[0][op.index()].iter();
    let mut ends = vec![0.0f64; dag.len()];
    // Operations are numbered so that edges ascend.
    for op in dag.operations() {
        let start = dag.predecessors(op).map(|op| ends[op.index()]).fold(0.0, f64::max);
        ends[op.index()] = start + works(op).map(|work| alone(work, machine)).sum::<f64>();
    }
    let Machine { host, gpu, .. } = machine;
    let all = |step: &Step| match *step {
        Step::Cpu(op) => works(op).map(|work| alone(work, machine)).sum::<f64>(),
        Step::Gpu { op, .. } => {
            let around = host.launch.max(host.copy) + gpu.start_latency + gpu.gap + gpu.turn + gpu.copy_stall;
            works(op).map(|work| around + alone(work, machine)).sum()
        }
        Step::EventRecord { .. } => host.record,
        Step::EventSync { .. } => host.sync + gpu.wake_latency,
        Step::StreamWait { .. } => host.stream_wait + gpu.event_latency,
        Step::Choose { .. } => 0.0,
    };
    [ends[dag.end().index()], steps.iter().map(all).sum()]
}

/// Returns the dependences that steps leave unordered. What must happen before what follows from
/// the host's order, the streams' order and events, not from times.
fn unordered(dag: &Dag, steps: &[Step]) -> Vec<(OpId, OpId)> {
    // Instants: the start and end of each step in the host, and of the entry that it puts into a
    // stream.
    let node = |step: usize, part: usize| 4 * step + part;
    let mut after = vec![Vec::new(); 4 * steps.len()];
    let mut last = [None; 8];
    let mut stream_of = vec![None; dag.len()];
    let mut recorded = vec![None; dag.len()];
    let mut instants = vec![None; dag.len()];
    for (index, &step) in steps.iter().enumerate() {
        if index > 0 {
            after[node(index - 1, 1)].push(node(index, 0));
        }
        after[node(index, 0)].push(node(index, 1));
        after[node(index, 1)].push(node(index, 2));
        after[node(index, 2)].push(node(index, 3));
        let stream: Option<u8> = match step {
            Step::Cpu(op) => {
                instants[op.index()] = Some((node(index, 0), node(index, 1)));
                None
            }
            Step::Gpu { op, stream } => {
                instants[op.index()] = Some((node(index, 2), node(index, 3)));
                stream_of[op.index()] = Some(stream);
                Some(stream)
            }
            Step::EventRecord { after } => {
                recorded[after.index()] = Some(index);
                stream_of[after.index()]
            }
            Step::EventSync { after: op, .. } => {
                if let Some(record) = recorded[op.index()] {
                    after[node(record, 3)].push(node(index, 1));
                }
                None
            }
            Step::StreamWait { after: op, stream, .. } => {
                if let Some(record) = recorded[op.index()] {
                    after[node(record, 3)].push(node(index, 3));
                }
                Some(stream)
            }
            Step::Choose { .. } => None,
        };
        if let Some(stream) = stream
            && let Some(before) = last[usize::from(stream)].replace(index)
        {
            after[node(before, 3)].push(node(index, 2));
        }
    }
    let reaches = |from: usize, to: usize| {
        let (mut seen, mut open) = (vec![false; after.len()], vec![from]);
        while let Some(at) = open.pop() {
            if !std::mem::replace(&mut seen[at], true) {
                open.extend(&after[at]);
            }
        }
        seen[to]
    };
    let ordered = |u: OpId, v: OpId| match (instants[u.index()], instants[v.index()]) {
        (Some((_, end)), Some((start, _))) => reaches(end, start),
        _ => false,
    };
    dag.edges().filter(|&(u, v)| !ordered(u, v)).collect()
}

fn is_synchronisation(step: &Step) -> bool {
    matches!(step, Step::EventRecord { .. } | Step::EventSync { .. } | Step::StreamWait { .. })
}

/// Each step of the synchronisation, and the steps without it.
fn with_one_left_out(steps: &[Step]) -> impl Iterator<Item = (Step, Vec<Step>)> {
    let left_out = steps.iter().filter(|step| is_synchronisation(step));
    left_out.map(|&left_out| (left_out, steps.iter().copied().filter(|&step| step != left_out).collect()))
}

fn pairs(violations: impl Iterator<Item = Violation>) -> Vec<(OpId, OpId)> {
    violations.map(|violation| (violation.predecessor, violation.op)).collect()
}

/// Each dependence that is unordered is violated when what comes first takes very long, and no other is.
fn races_are_found_exactly(dag: &Dag, steps: &[Step], rng: &mut ChaCha8Rng) -> Result<usize, TestCaseError> {
    let expected = unordered(dag, steps);
    let mut found = Vec::new();
    for long in dag.operations().filter(|&op| op != dag.end()) {
        let mut given = Given::new(dag, 1);
        for op in dag.operations().filter(|&op| op != dag.end()) {
            let seconds = if op == long { 1e6 } else { 0.1 + uniform(rng) };
            given.works[0][op.index()] = match dag.kind(op) {
                Kind::Cpu => vec![host(seconds)],
                Kind::Gpu => vec![kernel(seconds, 0.01)],
            };
        }
        let mut simulator = Simulator::new(&given, random_machine(rng)).unwrap();
        let violated = pairs(simulator.run(steps, 0).unwrap().violations());
        prop_assert!(violated.iter().all(|pair| expected.contains(pair)), "{violated:?} beyond {expected:?}");
        found.extend(violated.into_iter().filter(|pair| pair.0 == long));
    }
    found.sort();
    prop_assert_eq!(&found, &expected);
    Ok(found.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_schedule_of_a_small_program_races(dag in programs(1..=5, 2), streams in 1usize..4, seed in any::<u64>()) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let random: Vec<_> = (0..30).map(|_| random_schedule(&dag, streams, &mut rng)).collect();
        // All schedules, if there are few.
        let schedules = Schedules::new(&dag, streams).unwrap().take(200).chain(random);
        let given = random_work(&dag, &mut rng);
        let mut machine = random_machine(&mut rng);
        let mut simulator = Simulator::new(&given, machine.clone()).unwrap();
        machine.noise = 0.5;
        let mut noisy = Simulator::new(&given, machine.clone()).unwrap();
        for schedule in schedules {
            let steps = schedule.steps();
            prop_assert_eq!(unordered(&dag, steps), []);
            let outcome = simulator.run(steps, 0).unwrap();
            prop_assert_eq!(pairs(outcome.violations()), []);
            let [least, most] = bounds(&given, &machine, steps);
            let seconds = outcome.seconds();
            let tolerance = 1e-12 * most;
            prop_assert!(least <= seconds + tolerance && seconds <= most + tolerance, "{least} <= {seconds} <= {most}");
            prop_assert_eq!(pairs(noisy.run(steps, seed).unwrap().violations()), []);
        }
    }

    #[test]
    fn what_is_left_out_of_a_small_program_is_found(dag in programs(1..=5, 2), streams in 1usize..4, seed in any::<u64>()) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for _ in 0..5 {
            let schedule = random_schedule(&dag, streams, &mut rng);
            for (_, steps) in with_one_left_out(schedule.steps()) {
                races_are_found_exactly(&dag, &steps, &mut rng)?;
            }
        }
    }
}

#[test]
fn whatever_synchronisation_the_multiplication_lacks_is_found() {
    let dag = spmv::dag();
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let (mut cases, mut needless) = (0, 0);
    for schedule in Schedules::new(&dag, 2).unwrap().step_by(17) {
        for (left_out, steps) in with_one_left_out(schedule.steps()) {
            let races = races_are_found_exactly(&dag, &steps, &mut rng).unwrap();
            // The end of y_L or y_R may follow from that of operations behind them. Nothing else
            // implies the ends of Pack and add.
            let name = left_out.name(&dag);
            let implied = races == 0;
            let of_parts = name.contains("y_L") || name.contains("y_R");
            assert!(!implied || of_parts, "{name} of {}", schedule.text(&dag));
            cases += 1;
            needless += usize::from(implied);
        }
    }
    assert!(cases > 1000 && needless < cases / 2, "{needless} of {cases}");
}

#[test]
fn an_operation_that_is_left_out_is_a_race_and_check_tells_races() {
    let dag = Dag::builder("two").cpu("a").cpu("b").edge("a", "b").build().unwrap();
    let mut simulator = Simulator::new(&Given::new(&dag, 1), ideal()).unwrap();
    let [a, b] = ["a", "b"].map(|name| dag.find(name).unwrap());
    let outcome = simulator.run(&[Step::Cpu(b)], 0).unwrap();
    let violations: Vec<_> = outcome.violations().collect();
    assert_eq!(violations, [Violation { rank: 0, op: b, predecessor: a, started: 0.0, done: f64::INFINITY }]);
    let text = "`b` starts on rank 0 at 0.000 µs, and `a`, which it depends on, never runs";
    assert_eq!(violations[0].text(&dag), text);

    // A schedule of one program, given to another that has one edge more.
    let loose = Dag::builder("p").gpu("a").cpu("b").build().unwrap();
    let strict = Dag::builder("p").gpu("a").cpu("b").edge("a", "b").build().unwrap();
    let schedule = Schedule::parse(&loose, 1, "a@0;b;CER-after-a;CES-b4-end").unwrap();
    let given = Given::new(&strict, 1).all("a", &[kernel(1.0, 1.0)]);
    let error = SimPlatform::new(&given, ideal()).unwrap().check(&schedule).unwrap_err();
    assert!(matches!(error, RulesError::Wrong { .. }), "{error}");
    let reason = "`b` starts on rank 0 at 0.000 µs, and `a`, which it depends on, is done at 1000000.000 µs";
    assert!(error.to_string().ends_with(reason), "{error}");
}
