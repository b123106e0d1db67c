//! A timeline of the work, in Chrome's trace-event format, which Perfetto opens.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::EngineError;
use crate::io::files::Destination;

/// Something that took time.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The device's index.
    pub process: usize,
    /// The part of the device or host that did it, such as `compute`, `download` or `host`. The
    /// spans of one lane and process follow one another or lie within one another.
    pub lane: Cow<'static, str>,
    /// Name of the work.
    pub name: Cow<'static, str>,
    /// Start, in microseconds since the trace was made.
    pub start: f64,
    /// Duration, in microseconds.
    pub duration: f64,
    /// Further information, by name.
    pub args: Map<String, Value>,
}

/// Spans of all devices and threads, on one clock: that of the host, which starts when the trace is made.
///
/// ```
/// use warpsmith::engine::{Span, Trace};
///
/// let trace = Trace::new();
/// trace.name_process(0, "GPU 0");
/// let args = [("rows".to_owned(), 1000.into())].into_iter().collect();
/// trace.span(Span { process: 0, lane: "compute".into(), name: "block 0".into(), start: 0.0, duration: 250.0, args });
/// let sum = trace.time(0, "host", "scatter", || 1 + 1);
/// assert_eq!((sum, trace.spans().len()), (2, 2));
/// assert_eq!(trace.to_json()["displayTimeUnit"], "ms");
/// ```
#[derive(Debug)]
pub struct Trace {
    origin: Instant,
    recorded: Mutex<Recorded>,
}

#[derive(Debug, Default)]
struct Recorded {
    processes: BTreeMap<usize, String>,
    spans: Vec<Span>,
}

impl Default for Trace {
    fn default() -> Self {
        Self::new()
    }
}

impl Trace {
    /// A trace without spans, which begins now.
    pub fn new() -> Self {
        Trace { origin: Instant::now(), recorded: Mutex::default() }
    }

    /// The time on the trace's clock, in microseconds.
    pub fn now(&self) -> f64 {
        self.origin.elapsed().as_secs_f64() * 1e6
    }

    /// Names the process in the picture. By default it is called `device` and its index.
    pub fn name_process(&self, process: usize, name: impl Into<String>) {
        self.recorded().processes.insert(process, name.into());
    }

    /// Adds a span. A time that isn't finite counts as 0, as does a negative duration.
    pub fn span(&self, mut span: Span) {
        let number = |time: f64| if time.is_finite() { time } else { 0.0 };
        span.start = number(span.start);
        span.duration = number(span.duration).max(0.0);
        self.recorded().spans.push(span);
    }

    /// Runs `work` on the host, and adds a span for it.
    pub fn time<R>(
        &self,
        process: usize,
        lane: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        work: impl FnOnce() -> R,
    ) -> R {
        let start = self.now();
        let result = work();
        let duration = self.now() - start;
        self.span(Span { process, lane: lane.into(), name: name.into(), start, duration, args: Map::new() });
        result
    }

    /// The spans so far, in order of addition.
    pub fn spans(&self) -> Vec<Span> {
        self.recorded().spans.clone()
    }

    /// Writes the trace to a file, whole or not at all.
    pub fn write_to(&self, destination: &Destination) -> Result<(), EngineError> {
        Ok(destination.write(|file| serde_json::to_writer(file, &self.to_json()).map_err(Into::into))?)
    }

    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        // Nothing panics while it is locked.
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The trace as JSON.
    pub fn to_json(&self) -> Value {
        let recorded = self.recorded();
        let mut spans: Vec<_> = recorded.spans.iter().collect();
        // Spans that begin together are ordered from the longest to the shortest: a span within
        // another one comes after it.
        spans.sort_by(|a, b| a.start.total_cmp(&b.start).then(b.duration.total_cmp(&a.duration)));

        // Lanes are shown in order of first use. Numbers start at 1, since 0 is the system's idle
        // task to Perfetto, and no two processes share one.
        let mut lanes = Vec::new();
        for span in &spans {
            if !lanes.contains(&(span.process, &*span.lane)) {
                lanes.push((span.process, &*span.lane));
            }
        }
        let tid = |process: usize, lane: &str| lanes.iter().position(|&known| known == (process, lane)).map_or(0, |i| i + 1);

        let mut events = Vec::new();
        let mut processes: Vec<_> = recorded.processes.keys().copied().chain(lanes.iter().map(|&(process, _)| process)).collect();
        processes.sort_unstable();
        processes.dedup();
        for process in processes {
            let name = recorded.processes.get(&process).cloned().unwrap_or_else(|| format!("device {process}"));
            events.push(metadata("process_name", process, 0, json!({"name": name})));
            events.push(metadata("process_sort_index", process, 0, json!({"sort_index": process})));
        }
        for &(process, lane) in &lanes {
            let tid = tid(process, lane);
            events.push(metadata("thread_name", process, tid, json!({"name": lane})));
            events.push(metadata("thread_sort_index", process, tid, json!({"sort_index": tid})));
        }
        events.extend(spans.iter().map(|span| {
            let Span { process, lane, name, start, duration, args } = span;
            json!({"name": name, "ph": "X", "pid": process + 1, "tid": tid(*process, lane), "ts": start, "dur": duration, "args": args})
        }));
        json!({"displayTimeUnit": "ms", "traceEvents": events})
    }
}

fn metadata(name: &str, process: usize, tid: usize, args: Value) -> Value {
    json!({"name": name, "ph": "M", "pid": process + 1, "tid": tid, "args": args})
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn span(process: usize, lane: &'static str, name: &'static str, start: f64, duration: f64) -> Span {
        Span { process, lane: lane.into(), name: name.into(), start, duration, args: Map::new() }
    }

    #[test]
    fn in_chromes_format() {
        let trace = Trace::new();
        trace.name_process(1, "GPU \"1\"");
        trace.span(span(1, "download", "b", 20.5, 2.0));
        trace.span(Span { args: [("rows".into(), 3.into())].into_iter().collect(), ..span(1, "compute", "a", 10.0, 10.0) });
        trace.span(span(0, "compute", "inner", 10.0, 5.0));
        trace.span(span(0, "compute", "outer", 10.0, 7.0));
        let name = |kind: &str, pid: usize, tid: usize, name: &str| json!({"name": format!("{kind}_name"), "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}});
        let index = |kind: &str, pid: usize, tid: usize, index: usize| json!({"name": format!("{kind}_sort_index"), "ph": "M", "pid": pid, "tid": tid, "args": {"sort_index": index}});
        let expected = json!({"displayTimeUnit": "ms", "traceEvents": [
            name("process", 1, 0, "device 0"),
            index("process", 1, 0, 0),
            name("process", 2, 0, "GPU \"1\""),
            index("process", 2, 0, 1),
            name("thread", 2, 1, "compute"),
            index("thread", 2, 1, 1),
            name("thread", 1, 2, "compute"),
            index("thread", 1, 2, 2),
            name("thread", 2, 3, "download"),
            index("thread", 2, 3, 3),
            {"name": "a", "ph": "X", "pid": 2, "tid": 1, "ts": 10.0, "dur": 10.0, "args": {"rows": 3}},
            {"name": "outer", "ph": "X", "pid": 1, "tid": 2, "ts": 10.0, "dur": 7.0, "args": {}},
            {"name": "inner", "ph": "X", "pid": 1, "tid": 2, "ts": 10.0, "dur": 5.0, "args": {}},
            {"name": "b", "ph": "X", "pid": 2, "tid": 3, "ts": 20.5, "dur": 2.0, "args": {}},
        ]});
        assert_eq!(trace.to_json(), expected);
    }

    #[test]
    fn times_are_numbers() {
        let trace = Trace::new();
        trace.span(span(0, "host", "x", f64::NAN, f64::INFINITY));
        trace.span(span(0, "host", "y", -1.0, -2.0));
        let times: Vec<_> = trace.spans().iter().map(|span| (span.start, span.duration)).collect();
        assert_eq!(times, [(0.0, 0.0), (-1.0, 0.0)]);
        assert!(!trace.to_json().to_string().contains("null"));
        assert_eq!(Trace::new().to_json().to_string(), r#"{"displayTimeUnit":"ms","traceEvents":[]}"#);
    }
}
