//! Drafts of programs' files, from a profile of a run.
//!
//! In: an export of NVIDIA Nsight Systems to SQLite. Out: a [`Draft`], whose dependences are guesses by the observed order.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;

use super::super::RulesError;
use super::Kind;
use crate::io::files::{FileError, Reason};
use crate::io::quoted;
use crate::io::sqlite::{Sqlite, Value};

/// The most operations of a program, without its end.
const MOST: usize = 63;
/// The most events of a profile.
const MOST_EVENTS: usize = 1 << 24;
/// Parts of the names of calls after which received data are there.
const RECEIVING: [&str; 9] = ["wait", "recv", "allreduce", "bcast", "broadcast", "reduce", "gather", "scatter", "alltoall"];

/// A program's file before its author has checked it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    /// The program's name.
    pub name: String,
    /// A text about the program.
    pub comment: String,
    /// The operations, each after those that it comes after.
    pub operations: Vec<DraftOperation>,
}

/// An operation of a draft.
#[derive(Clone, Debug, PartialEq)]
pub struct DraftOperation {
    /// The operation's name.
    pub name: String,
    /// The host or the GPU.
    pub kind: Kind,
    /// Operations that it comes after.
    pub after: Vec<String>,
    /// Data that it reads.
    pub reads: Vec<String>,
    /// Data that it writes.
    pub writes: Vec<String>,
    /// A text about the operation.
    pub comment: String,
}

/// An operation as it was observed.
#[derive(Clone, Debug)]
struct Event {
    name: String,
    /// Time of the call of the host, in ns.
    at: i64,
    start: i64,
    end: i64,
    /// Device and stream of an operation of the GPU.
    stream: Option<(i64, i64)>,
}

impl Draft {
    /// Drafts a program from an export of Nsight Systems (`nsys export --type sqlite`).
    ///
    /// Kernels, copies and fills are operations of the GPU; calls of MPI, as MPI events or NVTX ranges, are operations of
    /// the host. An NVTX range of NCCL gives its name to the kernels launched in it. The draft has what happened in the
    /// last NVTX range with the text `range`. Without one, it has the last period of the sequence of operations, or all of
    /// it if it has no period. If several processes were profiled, it has those of the first kernel's process.
    ///
    /// An operation of the GPU comes after the one before it in its stream, after those of other streams that had ended,
    /// and after the last call by which the host received data. A call of the host comes after the call before it, and
    /// after operations of the GPU that had ended. All of these are guesses, and the comments say so. Dependences that
    /// follow from others are left out.
    ///
    /// # Errors
    /// [`RulesError::File`], which names the file, if it can't be read, isn't such an export, has no such range, or has no
    /// operations or more than 63 there.
    pub fn from_nsys(path: &Path, range: Option<&str>) -> Result<Self, RulesError> {
        let events = observed(path, range).map_err(|reason| FileError::new(path, reason))?;
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Draft {
            name,
            comment: format!(
                "Drafted from {file}. Each `after` is a guess by the order that was observed: keep it only if data, messages or \
                 resources require it."
            ),
            operations: operations(&events),
        })
    }

    /// Returns the program's file, with a line for each operation.
    pub fn json(&self) -> String {
        let text = |text: &str| serde_json::to_string(text).expect("it is a text");
        let mut json = format!("{{\"name\": {}", text(&self.name));
        if !self.comment.is_empty() {
            _ = write!(json, ",\n \"comment\": {}", text(&self.comment));
        }
        json.push_str(",\n \"operations\": [");
        for (index, operation) in self.operations.iter().enumerate() {
            let kind = if operation.kind == Kind::Gpu { "gpu" } else { "cpu" };
            let comma = if index == 0 { "" } else { "," };
            _ = write!(json, "{comma}\n    {{\"name\": {}, \"kind\": \"{kind}\"", text(&operation.name));
            for (key, names) in [("after", &operation.after), ("reads", &operation.reads), ("writes", &operation.writes)] {
                if !names.is_empty() {
                    let names: Vec<_> = names.iter().map(|name| text(name)).collect();
                    _ = write!(json, ", \"{key}\": [{}]", names.join(", "));
                }
            }
            if !operation.comment.is_empty() {
                _ = write!(json, ",\n     \"comment\": {}", text(&operation.comment));
            }
            json.push('}');
        }
        json.push_str("\n]}\n");
        json
    }
}

/// Reads the operations to draft from, in the order of the host's calls.
fn observed(path: &Path, range: Option<&str>) -> Result<Vec<Event>, Reason> {
    let database = Sqlite::open(path)?;
    let mut texts: HashMap<i64, String> = HashMap::new();
    let is_export = database.rows("StringIds", &["id", "value"], |row| {
        if let (Some(id), Some(value)) = (row[0].integer(), row[1].text()) {
            texts.insert(id, value.to_owned());
        }
        Ok(())
    })?;
    if !is_export {
        return Err("is no export of Nsight Systems: it has no table `StringIds`".into());
    }
    // The upper bits of both identifiers are the process.
    let process_of = |value: &Value| value.integer().map(|id| id >> 24);
    let number = |value: &Value, what: &str| value.integer().ok_or_else(|| Reason::from(format!("a row has no {what}")));
    let mut process = None;
    let mut of_gpu = Vec::new();
    let tables = [
        ("CUPTI_ACTIVITY_KIND_KERNEL", "shortName"),
        ("CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind"),
        ("CUPTI_ACTIVITY_KIND_MEMSET", "value"),
    ];
    for (table, naming) in tables {
        let columns = ["start", "end", "deviceId", "streamId", "correlationId", "globalPid", naming];
        database.rows(table, &columns, |row| {
            if of_gpu.len() == MOST_EVENTS {
                return Err(format!("has more than {MOST_EVENTS} operations: export a shorter run").into());
            }
            let own = process_of(&row[5]);
            if own != *process.get_or_insert(own) {
                return Ok(());
            }
            let name = match (table, row[6].integer()) {
                ("CUPTI_ACTIVITY_KIND_MEMSET", _) => "Fill".to_owned(),
                ("CUPTI_ACTIVITY_KIND_MEMCPY", Some(1)) => "CopyToDevice".to_owned(),
                ("CUPTI_ACTIVITY_KIND_MEMCPY", Some(2)) => "CopyToHost".to_owned(),
                ("CUPTI_ACTIVITY_KIND_MEMCPY", _) => "Copy".to_owned(),
                (_, Some(id)) => {
                    texts.get(&id).cloned().ok_or_else(|| format!("a kernel has the name {id}, which no text has"))?
                }
                _ => "Kernel".to_owned(),
            };
            let [start, end] = [number(&row[0], "start")?, number(&row[1], "end")?];
            if end < start {
                return Err(format!("an operation ends at {end} ns, before it starts at {start} ns").into());
            }
            let stream = (row[2].integer().unwrap_or(0), number(&row[3], "stream")?);
            of_gpu.push((row[4].integer(), Event { name, at: start, start, end, stream: Some(stream) }));
            Ok(())
        })?;
    }
    let process = process.flatten();
    let is_own = |thread: &Value| process.is_none() || process_of(thread) == process;
    let mut calls: HashMap<i64, i64> = HashMap::new();
    database.rows("CUPTI_ACTIVITY_KIND_RUNTIME", &["start", "correlationId", "globalTid"], |row| {
        if let (Some(start), Some(id), true) = (row[0].integer(), row[1].integer(), is_own(&row[2])) {
            calls.insert(id, start);
        }
        Ok(())
    })?;
    let (mut ranges, mut events) = (Vec::<Event>::new(), Vec::new());
    for table in ["NVTX_EVENTS", "MPI_P2P_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_COLLECTIVES_EVENTS"] {
        database.rows(table, &["start", "end", "text", "textId", "globalTid"], |row| {
            // Marks and the names of domains have no end.
            let (Some(start), Some(end), true) = (row[0].integer(), row[1].integer(), is_own(&row[4])) else { return Ok(()) };
            let by_id = || texts.get(&row[3].integer()?).map(String::as_str);
            let Some(text) = row[2].text().or_else(by_id) else { return Ok(()) };
            let event = Event { name: text.to_owned(), at: start, start, end, stream: None };
            if text.starts_with("MPI_") { &mut events } else { &mut ranges }.push(event);
            Ok(())
        })?;
    }
    for (id, mut event) in of_gpu {
        event.at = id.and_then(|id| calls.get(&id).copied()).unwrap_or(event.at);
        let within = |range: &&Event| range.name.starts_with("nccl") && (range.start..=range.end).contains(&event.at);
        if let Some(range) = ranges.iter().find(within) {
            event.name.clone_from(&range.name);
        }
        events.push(event);
    }
    events.sort_by_key(|event| (event.at, event.start));
    let events = match range {
        Some(text) => {
            let found = ranges.iter().filter(|range| range.name == text).max_by_key(|range| range.start);
            let Some(found) = found else {
                let mut names: Vec<_> = ranges.iter().map(|range| quoted(&range.name)).collect();
                names.sort_unstable();
                names.dedup();
                names.truncate(8);
                let there = if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) };
                return Err(format!("has no NVTX range {}: {there}", quoted(text)).into());
            };
            events.into_iter().filter(|event| (found.start..=found.end).contains(&event.at)).collect()
        }
        None => last_period(events),
    };
    match events.len() {
        0 => Err("has no kernels, copies or calls of MPI there".into()),
        1..=MOST => Ok(events),
        count => {
            let reason = format!("has {count} operations there, but a program has at most {MOST}: choose an NVTX range");
            Err(reason.into())
        }
    }
}

/// Returns the events of the last period of the sequence, or all events if their ends have none.
fn last_period(mut events: Vec<Event>) -> Vec<Event> {
    let n = events.len();
    let same = |a: &Event, b: &Event| a.name == b.name && a.stream == b.stream;
    let repeats = |period: &usize| (n - period..n).all(|place| same(&events[place], &events[place - period]));
    let period = (1..=MOST.min(n / 2)).find(repeats);
    events.split_off(period.map_or(0, |period| n - period))
}

/// Returns the operations with guessed dependences.
fn operations(events: &[Event]) -> Vec<DraftOperation> {
    let mut times: HashMap<String, usize> = HashMap::new();
    let names: Vec<String> = events.iter().map(|event| named(&event.name, &mut times)).collect();
    // All operations that come before each, by the guesses.
    let mut before: Vec<HashSet<usize>> = Vec::new();
    let mut operations: Vec<DraftOperation> = Vec::new();
    let (mut call, mut received): (Option<usize>, Option<usize>) = (None, None);
    let mut streams: BTreeMap<(i64, i64), usize> = BTreeMap::new();
    for (index, event) in events.iter().enumerate() {
        let mut guesses: Vec<(usize, &str)> = Vec::new();
        match event.stream {
            Some(stream) => {
                guesses.extend(streams.get(&stream).map(|&last| (last, "in the same stream")));
                guesses.extend(received.map(|call| (call, "the host had received")));
            }
            None => guesses.extend(call.map(|last| (last, "the call before"))),
        }
        let began = if event.stream.is_some() { event.start } else { event.at };
        let others = streams.iter().filter(|(stream, _)| event.stream != Some(**stream));
        guesses.extend(others.filter(|(_, last)| events[**last].end <= began).map(|(_, &last)| (last, "had ended")));
        // The latest first: others may follow from it.
        guesses.sort_by_key(|&(other, _)| std::cmp::Reverse(other));
        let (mut all, mut kept) = (HashSet::new(), Vec::new());
        for (other, reason) in guesses {
            if all.insert(other) {
                all.extend(&before[other]);
                kept.push((other, reason));
            }
        }
        kept.reverse();
        let place = match event.stream {
            Some((device, stream)) => {
                streams.insert((device, stream), index);
                format!("{:.1} µs in stream {stream}", (event.end - event.start) as f64 / 1e3)
            }
            None => {
                call = Some(index);
                let name = event.name.to_lowercase();
                // `MPI_Irecv` and the like return before that.
                let returns_early = name.starts_with("mpi_i");
                received = if !returns_early && RECEIVING.iter().any(|part| name.contains(part)) { call } else { received };
                format!("{:.1} µs", (event.end - event.start) as f64 / 1e3)
            }
        };
        let reasons: Vec<_> = kept.iter().map(|&(other, reason)| format!("{} ({reason})", names[other])).collect();
        let guessed = if reasons.is_empty() { String::new() } else { format!(" Guesses: after {}.", reasons.join(", ")) };
        operations.push(DraftOperation {
            name: names[index].clone(),
            kind: if event.stream.is_some() { Kind::Gpu } else { Kind::Cpu },
            after: kept.iter().map(|&(other, _)| names[other].clone()).collect(),
            reads: Vec::new(),
            writes: Vec::new(),
            comment: format!("{place}.{guessed}"),
        });
        before.push(all);
    }
    operations
}

/// Returns an unused name of the characters that names may have.
fn named(text: &str, times: &mut HashMap<String, usize>) -> String {
    let is_allowed = |c: char| c.is_alphanumeric() || "_.+".contains(c);
    let mut name: String = text.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect();
    name = name.trim_matches('_').to_owned();
    if name.is_empty() || name == "start" || name == "end" {
        name.push_str("op");
    }
    loop {
        let count = times.entry(name.clone()).or_insert(0);
        *count += 1;
        if *count == 1 {
            return name;
        }
        name = format!("{name}.{count}");
    }
}
