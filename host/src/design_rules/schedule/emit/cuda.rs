//! Schedules in C++ with CUDA's runtime.

use std::fmt::Write as _;

use super::{Call, Code, comment};

/// A header of one schedule.
pub fn write(code: &Code) -> String {
    let mut text = String::new();
    // Writing to a string doesn't fail.
    _ = build(code, &mut text);
    text
}

fn build(code: &Code, text: &mut String) -> std::fmt::Result {
    let Code { name, program, schedule, streams, functions, events, calls } = code;
    write!(
        text,
        "// The program `{program}`, by this schedule:\n{}\
         // Written by `warpsmith rules emit --language cuda`.\n\
         #pragma once\n\n\
         #include <cuda_runtime.h>\n\n\
         #include <stdexcept>\n\n\
         namespace {name} {{\n\n\
         inline void check(cudaError_t error) {{\n    \
             if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));\n\
         }}\n\n\
         // The functions that `run` calls. A function that takes a stream enqueues its work there and returns at once; others return\n\
         // when they are done. Write them in a structure that derives from this one.\n\
         struct Operations {{\n    \
             virtual ~Operations() = default;\n",
        comment("//", schedule)
    )?;
    for (function, takes_stream) in functions {
        let parameter = if *takes_stream { "cudaStream_t stream" } else { "" };
        writeln!(text, "    virtual void {function}({parameter}) = 0;")?;
    }
    writeln!(text, "}};\n\nclass Schedule {{\npublic:\n    Schedule() {{")?;
    if *streams > 0 {
        writeln!(text, "        for (auto& stream : streams) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));")?;
    }
    if !events.is_empty() {
        writeln!(text, "        for (auto& event : events) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));")?;
    }
    writeln!(text, "    }}\n\n    ~Schedule() {{")?;
    if !events.is_empty() {
        writeln!(text, "        for (auto event : events) cudaEventDestroy(event);")?;
    }
    if *streams > 0 {
        writeln!(text, "        for (auto stream : streams) cudaStreamDestroy(stream);")?;
    }
    writeln!(
        text,
        "    }}\n\n    Schedule(const Schedule&) = delete;\n    Schedule& operator=(const Schedule&) = delete;\n\n    \
         // One invocation. All work is done when it returns.\n    void run(Operations& op) {{"
    )?;
    for call in calls {
        text.push_str("        ");
        match call {
            Call::Run { function, stream: Some(stream) } => writeln!(text, "op.{function}(streams[{stream}]);"),
            Call::Run { function, stream: None } => writeln!(text, "op.{function}();"),
            Call::Record { function, stream } => {
                writeln!(text, "check(cudaEventRecord(events[after_{function}], streams[{stream}]));")
            }
            Call::Synchronize { function } => writeln!(text, "check(cudaEventSynchronize(events[after_{function}]));"),
            Call::Wait { function, stream } => {
                writeln!(text, "check(cudaStreamWaitEvent(streams[{stream}], events[after_{function}], 0));")
            }
        }?;
    }
    writeln!(text, "    }}\n\nprivate:")?;
    if !events.is_empty() {
        let names: Vec<_> = events.iter().map(|event| format!("after_{event}")).collect();
        writeln!(text, "    enum {{ {} }};\n    cudaEvent_t events[{}] = {{}};", names.join(", "), events.len())?;
    }
    if *streams > 0 {
        writeln!(text, "    cudaStream_t streams[{streams}] = {{}};")?;
    }
    writeln!(text, "}};\n\n}}  // namespace {name}")
}
