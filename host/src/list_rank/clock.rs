//! The times of steps.

use super::StepTime;
use crate::device::{DeviceError, Event, Stream};

/// Marks the ends of steps on a stream.
pub struct Clock<'s> {
    stream: &'s Stream,
    timed: bool,
    marks: Vec<(&'static str, u64, Option<Event>)>,
}

impl<'s> Clock<'s> {
    pub fn start(stream: &'s Stream, timed: bool) -> Result<Self, DeviceError> {
        let mut clock = Clock { stream, timed, marks: Vec::new() };
        clock.end("", 0)?;
        Ok(clock)
    }

    /// What was enqueued since the last mark was step `name`.
    pub fn end(&mut self, name: &'static str, bytes: u64) -> Result<(), DeviceError> {
        let event = if self.timed { Some(self.stream.record()?) } else { None };
        self.marks.push((name, bytes, event));
        Ok(())
    }

    pub fn steps(self) -> Result<Vec<StepTime>, DeviceError> {
        self.marks
            .windows(2)
            .map(|pair| {
                let (name, bytes, end) = &pair[1];
                let ms = match (&pair[0].2, end) {
                    (Some(start), Some(end)) => end.elapsed_ms(start)?,
                    _ => 0.0,
                };
                Ok(StepTime { name, ms, bytes: *bytes })
            })
            .collect()
    }
}
