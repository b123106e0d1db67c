//! Schedules as code: streams, events and calls of the program's operations, or the graph that they come to.

mod cuda;
mod dot;

use std::collections::HashSet;

use crate::design_rules::{Dag, Kind, OpId, Schedule, Step};

pub use dot::program;

/// A language to write schedules in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Language {
    /// C++17 with CUDA's runtime: a structure whose function `run` calls the operations
    Cuda,
    /// A graph of the operations in Graphviz's language, as a CUDA graph would have it
    Dot,
}

/// A schedule as a text in this language, with a function to be filled in for each operation.
///
/// ```
/// use warpsmith::design_rules::{Dag, Schedule, emit::{Language, emit}};
///
/// let dag = Dag::builder("exchange").gpu("Pack").cpu("Send").edge("Pack", "Send").build()?;
/// let code = emit(&dag, &Schedule::textbook(&dag), Language::Cuda);
/// assert!(code.contains("op.Pack(streams[0]);"));
/// # Ok::<(), warpsmith::design_rules::RulesError>(())
/// ```
pub fn emit(dag: &Dag, schedule: &Schedule, language: Language) -> String {
    match language {
        Language::Cuda => cuda::write(&Code::new(dag, schedule)),
        Language::Dot => dot::schedule(dag, schedule),
    }
}

/// The steps of the host, with names that are valid in the emitted code.
struct Code {
    /// The program's name as such a name.
    name: String,
    /// The program's own name, in one line.
    program: String,
    /// The schedule's text.
    schedule: String,
    streams: usize,
    /// Each of the schedule's operations: its function, and whether that takes a stream.
    functions: Vec<(String, bool)>,
    /// The functions behind which there is a record.
    events: Vec<String>,
    calls: Vec<Call>,
}

enum Call {
    Run { function: String, stream: Option<u8> },
    Record { function: String, stream: u8 },
    Synchronize { function: String },
    Wait { function: String, stream: u8 },
}

impl Code {
    fn new(dag: &Dag, schedule: &Schedule) -> Self {
        let words: HashSet<String> = CPP_WORDS.split_whitespace().map(str::to_owned).collect();
        let mut taken = words.clone();
        let mut names = vec![String::new(); dag.len()];
        for op in dag.operations() {
            names[op.index()] = free(&mut taken, &function_name(dag, op));
        }
        let name = |op: OpId| names[op.index()].clone();
        let home = |op| schedule.stream_of(op).expect("what is recorded is in a stream");
        let mut code = Code {
            name: free(&mut words.clone(), &identifier(dag.name())),
            program: printable(dag.name()).replace('\\', " "),
            schedule: schedule.text(dag),
            streams: schedule.streams(),
            functions: Vec::new(),
            events: Vec::new(),
            calls: Vec::new(),
        };
        for &step in schedule.steps() {
            match step {
                Step::Cpu(op) if op == dag.end() => continue,
                Step::Cpu(op) => {
                    code.functions.push((name(op), false));
                    code.calls.push(Call::Run { function: name(op), stream: None });
                }
                Step::Gpu { op, stream } => {
                    code.functions.push((name(op), true));
                    code.calls.push(Call::Run { function: name(op), stream: Some(stream) });
                }
                Step::EventRecord { after } => {
                    code.events.push(name(after));
                    code.calls.push(Call::Record { function: name(after), stream: home(after) });
                }
                Step::EventSync { after, .. } => code.calls.push(Call::Synchronize { function: name(after) }),
                Step::StreamWait { after, stream, .. } => code.calls.push(Call::Wait { function: name(after), stream }),
                Step::Choose { .. } => {}
            }
        }
        code
    }
}

/// `Pack`; `y_L_tiles` for the operation that the choice `y_L` has as `tiles`; of an alternative's operations, those
/// whose names others have, too, get the alternative's behind them.
fn function_name(dag: &Dag, op: OpId) -> String {
    let name = dag.name_of(op);
    let Some((choice, alternative)) = dag.alternative_of(op) else { return identifier(name) };
    let is_shared = dag.operations().filter(|&other| dag.name_of(other) == name).count() > 1;
    if name == choice || is_shared { identifier(&format!("{name}_{alternative}")) } else { identifier(name) }
}

/// A name of ASCII letters, digits and `_`, that begins with a letter, and is none of CUDA's.
fn identifier(name: &str) -> String {
    let plain = name.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    // C++ keeps names that begin with `_` or have `__` for itself.
    let plain = plain.split('_').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_");
    let is_free =
        plain.starts_with(|c: char| c.is_ascii_alphabetic()) && !["cuda", "CUDA"].iter().any(|own| plain.starts_with(own));
    if is_free { plain } else { format!("op_{plain}") }
}

/// A name in one line.
fn printable(name: &str) -> String {
    name.replace(char::is_control, " ")
}

/// The name, or with a number behind it the first that isn't taken.
fn free(taken: &mut HashSet<String>, name: &str) -> String {
    let mut numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut name = name.to_owned();
    while !taken.insert(name.clone()) {
        name = numbered.next().expect("there is always one more");
    }
    name
}

/// For each of a schedule's operations, those that are done before it starts, whatever takes how long; as sets.
fn before(dag: &Dag, schedule: &Schedule) -> Vec<u64> {
    let mut before = vec![0; dag.len()];
    let mut home = vec![0; dag.len()];
    let mut events = vec![0; dag.len()];
    let mut streams = vec![0; schedule.streams()];
    let mut host = 0;
    for &step in schedule.steps() {
        match step {
            Step::Cpu(op) => {
                before[op.index()] = host;
                host |= op.bit();
            }
            Step::Gpu { op, stream } => {
                let stream = usize::from(stream);
                home[op.index()] = stream;
                before[op.index()] = streams[stream] | host;
                streams[stream] |= host | op.bit();
            }
            Step::EventRecord { after } => events[after.index()] = streams[home[after.index()]],
            Step::EventSync { after, .. } => host |= events[after.index()],
            Step::StreamWait { after, stream, .. } => streams[usize::from(stream)] |= events[after.index()],
            Step::Choose { .. } => {}
        }
    }
    before
}

/// A schedule's operations in order, without the end.
fn operations(dag: &Dag, schedule: &Schedule) -> Vec<OpId> {
    let placed = |step: &Step| match *step {
        Step::Cpu(op) | Step::Gpu { op, .. } if op != dag.end() => Some(op),
        _ => None,
    };
    schedule.steps().iter().filter_map(placed).collect()
}

/// Pairs of a schedule's operations that may be under way at once, by their names: neither is done before the other
/// starts, whatever takes how long. The first of a pair is earlier in the schedule.
pub fn overlaps(dag: &Dag, schedule: &Schedule) -> Vec<(String, String)> {
    let before = before(dag, schedule);
    let all = operations(dag, schedule);
    let pairs = all.iter().enumerate().flat_map(|(index, &a)| all[index + 1..].iter().map(move |&b| (a, b)));
    let beside = pairs.filter(|&(a, b)| before[b.index()] & a.bit() == 0);
    beside.map(|(a, b)| (dag.name_of(a).to_owned(), dag.name_of(b).to_owned())).collect()
}

/// Describes how one schedule differs from another of the same program, as sentences: choices, the
/// least number of steps that moved, streams that are shared, and operations that may overlap.
/// Equal schedules have no sentences.
pub fn differences(dag: &Dag, schedule: &Schedule, other: &Schedule) -> Vec<String> {
    let mut said = Vec::new();
    for (index, choice) in dag.choices().iter().enumerate() {
        let [ours, theirs] = [schedule, other].map(|schedule| schedule.steps()[index]);
        if ours != theirs {
            let name = theirs.name(dag);
            let theirs = name.split_once('=').map_or("", |(_, alternative)| alternative);
            let name = ours.name(dag);
            let ours = name.split_once('=').map_or("", |(_, alternative)| alternative);
            said.push(format!("{} as {ours}, not as {theirs}", choice.name()));
        }
    }
    let list = |schedule: &Schedule| -> Vec<String> {
        let steps = schedule.steps().iter();
        steps.filter(|step| !matches!(step, Step::Choose { .. })).map(|step| step.name(dag)).collect()
    };
    let (ours, theirs) = (list(schedule), list(other));
    let kept = common(&ours, &theirs);
    let after = |steps: &[String], place: usize| match place.checked_sub(1) {
        Some(place) => format!("after {}", steps[place]),
        None => "at the start".to_owned(),
    };
    for (place, name) in ours.iter().enumerate().filter(|(_, name)| !kept.contains(name)) {
        match theirs.iter().position(|other| other == name) {
            Some(there) => said.push(format!("{name} {}, not {}", after(&ours, place), after(&theirs, there))),
            None => said.push(format!("{name} {}, which the other doesn't have", after(&ours, place))),
        }
    }
    said.extend(theirs.iter().filter(|name| !ours.contains(name)).map(|name| format!("no {name}")));
    let shared = |schedule: &Schedule| -> Vec<(String, String)> {
        let bound: Vec<_> = schedule.steps().iter().filter_map(|step| Some((step.name(dag), step.bound()?))).collect();
        let pairs = bound.iter().enumerate().flat_map(|(index, a)| bound[index + 1..].iter().map(move |b| (a, b)));
        pairs.filter(|(a, b)| a.1 == b.1).map(|(a, b)| sorted(&a.0, &b.0)).collect()
    };
    let beside = |schedule: &Schedule| overlaps(dag, schedule).iter().map(|(a, b)| sorted(a, b)).collect::<Vec<_>>();
    for (ours, theirs, has, lacks) in [
        (shared(schedule), shared(other), "share a stream", "don't share a stream"),
        (beside(schedule), beside(other), "may overlap", "don't overlap"),
    ] {
        let is_there = |name: &String, steps: &[String]| steps.contains(name);
        said.extend(ours.iter().filter(|pair| !theirs.contains(pair)).map(|(a, b)| format!("{a} and {b} {has}")));
        let lost = theirs.iter().filter(|pair| !ours.contains(pair));
        let lost = lost.filter(|(a, b)| is_there(a, &list(schedule)) && is_there(b, &list(schedule)));
        said.extend(lost.map(|(a, b)| format!("{a} and {b} {lacks}")));
    }
    said
}

fn sorted(a: &str, b: &str) -> (String, String) {
    if a <= b { (a.to_owned(), b.to_owned()) } else { (b.to_owned(), a.to_owned()) }
}

/// A longest common subsequence of two lists without duplicates.
fn common<'a>(a: &'a [String], b: &[String]) -> Vec<&'a String> {
    let mut longest = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i][j] = if a[i] == b[j] { longest[i + 1][j + 1] + 1 } else { longest[i + 1][j].max(longest[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut found) = (0, 0, Vec::new());
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            found.push(&a[i]);
            (i, j) = (i + 1, j + 1);
        } else if longest[i + 1][j] >= longest[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    found
}

/// Names that a function of the emitted C++ can't have: keywords, and names that the code uses itself.
const CPP_WORDS: &str = "
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t
    char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval
    constexpr constinit continue decltype default delete do double dynamic_cast else enum
    explicit export extern false float for friend goto if inline int long mutable namespace new
    noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires return short signed sizeof static static_assert static_cast std
    struct switch template this thread_local throw true try typedef typeid typename union
    unsigned using virtual void volatile wchar_t while xor xor_eq main linux unix Operations
    Schedule check
    BUFSIZ CLOCKS_PER_SEC EOF EXIT_FAILURE EXIT_SUCCESS FILENAME_MAX FOPEN_MAX HUGE_VAL INFINITY
    L_tmpnam MB_CUR_MAX NAN NULL RAND_MAX SEEK_CUR SEEK_END SEEK_SET TMP_MAX assert errno offsetof
    stderr stdin stdout va_arg va_copy va_end va_start
";

/// The lines of a list, wrapped for a comment, with `;` between them as in the text of a schedule.
fn comment(sign: &str, schedule: &str) -> String {
    let mut lines = vec![String::new()];
    for step in schedule.split_inclusive(';') {
        let last = lines.last_mut().expect("there is one");
        if !last.is_empty() && last.chars().count() + step.chars().count() > 110 {
            lines.push(step.to_owned());
        } else {
            last.push_str(step);
        }
    }
    lines.iter().map(|line| format!("{sign}     {line}\n")).collect()
}

/// Returns whether the GPU runs an operation.
fn is_gpu(dag: &Dag, op: OpId) -> bool {
    dag.kind(op) == Kind::Gpu
}
