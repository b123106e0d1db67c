//! Schedules in Rust with this library's devices.

use std::fmt::Write as _;

use super::{Call, Code, comment};

/// A module of one schedule.
pub fn write(code: &Code) -> String {
    let mut text = String::new();
    // Writing to a string doesn't fail.
    _ = build(code, &mut text);
    text
}

fn build(code: &Code, text: &mut String) -> std::fmt::Result {
    let Code { program, schedule, streams, functions, events, calls, .. } = code;
    write!(
        text,
        "// The program `{program}`, by this schedule:\n{}\
         // Written by `warpsmith rules emit --language rust`.\n\
         use warpsmith::device::{{Device, DeviceError, Event, Stream}};\n\n\
         /// What [`Schedule::run`] calls. A function that takes a stream enqueues its work there and returns at once; the\n\
         /// others return when they are done.\n\
         #[allow(non_snake_case)]\n\
         pub trait Operations {{\n    \
             type Error: From<DeviceError>;\n\n",
        comment("//", schedule)
    )?;
    for (function, takes_stream) in functions {
        let parameter = if *takes_stream { ", stream: &Stream" } else { "" };
        writeln!(text, "    fn {function}(&mut self{parameter}) -> Result<(), Self::Error>;")?;
    }
    writeln!(
        text,
        "}}\n\n/// The streams and events of the schedule.\npub struct Schedule {{\n    \
             streams: [Stream; {streams}],\n    events: [Event; {}],\n}}\n\nimpl Schedule {{",
        events.len()
    )?;
    let list = |what: &str, count: usize| vec![format!("device.{what}()?"); count].join(", ");
    let unused = if *streams == 0 { "_: &Device" } else { "device: &Device" };
    writeln!(
        text,
        "    pub fn new({unused}) -> Result<Self, DeviceError> {{\n        \
             Ok(Schedule {{ streams: [{}], events: [{}] }})\n    }}\n\n    \
         /// One invocation. All work is done when it returns.\n    \
         pub fn run<O: Operations>(&self, op: &mut O) -> Result<(), O::Error> {{",
        list("stream", *streams),
        list("event", events.len())
    )?;
    for call in calls {
        text.push_str("        ");
        match call {
            Call::Run { function, stream: Some(stream) } => writeln!(text, "op.{function}(&self.streams[{stream}])?;"),
            Call::Run { function, stream: None } => writeln!(text, "op.{function}()?;"),
            Call::Record { function, stream } => {
                writeln!(text, "self.streams[{stream}].record_into(&self.events[{}])?; // after {function}", code.event(function))
            }
            Call::Synchronize { function } => {
                writeln!(text, "self.events[{}].synchronize()?; // {function}", code.event(function))
            }
            Call::Wait { function, stream } => {
                writeln!(text, "self.streams[{stream}].wait(&self.events[{}])?; // for {function}", code.event(function))
            }
        }?;
    }
    writeln!(text, "        Ok(())\n    }}\n}}")
}
