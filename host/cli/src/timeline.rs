//! A command's time, divided into named parts from the program's start on.

use std::{
    cell::RefCell,
    sync::OnceLock,
    time::{Duration, Instant},
};

use serde::Serialize;

static START: OnceLock<Instant> = OnceLock::new();

/// Records the program's start.
pub fn start() {
    START.get_or_init(Instant::now);
}

/// Consecutive parts of a command's time, without gaps.
#[derive(Debug)]
pub struct Timeline {
    start: Instant,
    /// Names and ends of the parts.
    ends: RefCell<Vec<(&'static str, Instant)>>,
}

/// A part of a command's time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Part {
    pub name: &'static str,
    pub ms: f64,
}

impl Timeline {
    /// Starts a timeline whose first part began with the program.
    pub fn new() -> Self {
        Timeline { start: *START.get_or_init(Instant::now), ends: RefCell::default() }
    }

    /// Ends a part, which began where the last one ended.
    pub fn end(&self, part: &'static str) {
        tracing::debug!("done: {part}");
        self.ends.borrow_mut().push((part, Instant::now()));
    }

    /// Returns the parts in order.
    pub fn parts(&self) -> Vec<Part> {
        let mut start = self.start;
        let part = |&(name, end): &(&'static str, Instant)| {
            let ms = in_ms(end.saturating_duration_since(start));
            start = end;
            Part { name, ms }
        };
        self.ends.borrow().iter().map(part).collect()
    }

    /// Returns the total time in ms.
    pub fn total_ms(&self) -> f64 {
        self.ends.borrow().last().map_or(0.0, |(_, end)| in_ms(end.saturating_duration_since(self.start)))
    }
}

fn in_ms(time: Duration) -> f64 {
    1e3 * time.as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_all_of_the_time() {
        let timeline = Timeline::new();
        assert_eq!(timeline.total_ms(), 0.0);
        std::thread::sleep(Duration::from_millis(2));
        timeline.end("reading");
        timeline.end("writing");
        let parts = timeline.parts();
        assert_eq!(parts.iter().map(|part| part.name).collect::<Vec<_>>(), ["reading", "writing"]);
        assert!(parts[0].ms >= 2.0 && (parts.iter().map(|part| part.ms).sum::<f64>() - timeline.total_ms()).abs() < 1e-6);
    }
}
