//! Schedules in C++ with CUDA's runtime.

use std::collections::HashSet;
use std::fmt::{self, Write as _};

use super::printable;
use crate::design_rules::{Dag, OpId, Schedule, Step};

/// Writes a header of one schedule.
pub fn write(dag: &Dag, schedule: &Schedule, text: &mut String) -> fmt::Result {
    let words: HashSet<String> = CPP_WORDS.split_whitespace().map(str::to_owned).collect();
    let mut taken = words.clone();
    let functions: Vec<String> = dag.operations().map(|op| free(&mut taken, &function_name(dag, op))).collect();
    let function = |op: OpId| &functions[op.index()];
    let mut globals = C_GLOBALS.split_whitespace().map(str::to_owned).chain(words).collect();
    let name = free(&mut globals, &identifier(dag.name()));
    let (streams, steps) = (schedule.streams(), schedule.steps());
    let record = |step: &Step| if let Step::EventRecord { after } = *step { Some(function(after)) } else { None };
    let events: Vec<&String> = steps.iter().filter_map(record).collect();
    write!(
        text,
        "// The program `{}`, by this schedule:\n{}\
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
        printable(dag.name()).replace('\\', " "),
        comment(&schedule.text(dag))
    )?;
    for step in steps {
        match *step {
            Step::Cpu(op) if op != dag.end() => writeln!(text, "    virtual void {}() = 0;", function(op))?,
            Step::Gpu { op, .. } => writeln!(text, "    virtual void {}(cudaStream_t stream) = 0;", function(op))?,
            _ => {}
        }
    }
    writeln!(text, "}};\n\nclass Schedule {{\npublic:\n    Schedule() {{")?;
    if streams > 0 {
        writeln!(text, "        for (auto& stream : streams) check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));")?;
    }
    if !events.is_empty() {
        writeln!(text, "        for (auto& event : events) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));")?;
    }
    writeln!(text, "    }}\n\n    ~Schedule() {{")?;
    if !events.is_empty() {
        writeln!(text, "        for (auto event : events) cudaEventDestroy(event);")?;
    }
    if streams > 0 {
        writeln!(text, "        for (auto stream : streams) cudaStreamDestroy(stream);")?;
    }
    writeln!(
        text,
        "    }}\n\n    Schedule(const Schedule&) = delete;\n    Schedule& operator=(const Schedule&) = delete;\n\n    \
         // One invocation. All work is done when it returns.\n    void run(Operations& op) {{"
    )?;
    let home = |op| schedule.stream_of(op).expect("what is recorded is in a stream");
    for step in steps {
        let call = match *step {
            Step::Cpu(op) if op == dag.end() => continue,
            Step::Choose { .. } => continue,
            Step::Cpu(op) => format!("op.{}()", function(op)),
            Step::Gpu { op, stream } => format!("op.{}(streams[{stream}])", function(op)),
            Step::EventRecord { after } => {
                format!("check(cudaEventRecord(events[after_{}], streams[{}]))", function(after), home(after))
            }
            Step::EventSync { after, .. } => format!("check(cudaEventSynchronize(events[after_{}]))", function(after)),
            Step::StreamWait { after, stream, .. } => {
                format!("check(cudaStreamWaitEvent(streams[{stream}], events[after_{}], 0))", function(after))
            }
        };
        writeln!(text, "        {call};")?;
    }
    writeln!(text, "    }}\n\nprivate:")?;
    if !events.is_empty() {
        let names: Vec<_> = events.iter().map(|event| format!("after_{event}")).collect();
        writeln!(text, "    enum {{ {} }};\n    cudaEvent_t events[{}] = {{}};", names.join(", "), events.len())?;
    }
    if streams > 0 {
        writeln!(text, "    cudaStream_t streams[{streams}] = {{}};")?;
    }
    writeln!(text, "}};\n\n}}  // namespace {name}")
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
    if is_free { plain } else { format!("op_{plain}").trim_end_matches('_').to_owned() }
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

/// Names that the emitted namespace can't have, either: functions and types of C's headers.
const C_GLOBALS: &str = "
    abort abs access acos alarm asin atan atan2 atof atoi atol bsearch calloc cbrt ceil clock close connect cos cosh
    ctime difftime dim3 div double2 double3 double4 erf erfc exit exp exp2 expm1 fabs fclose fdim float2 float3 float4
    floor fma fmax fmin fmod fopen fork fputs frexp free gamma getc getenv gets hypot index int2 int3 int4 j0 j1 jn labs
    ldexp lgamma link listen localtime log log10 log1p log2 logb malloc memcpy memmove memset mktime modf nan open pause
    perror pipe pow printf putc puts qsort rand random read realloc remainder remove rename rewind rindex rint round scanf
    select send signal sin sinh size_t sleep socket sqrt srand stat strcpy strlen sync system tan tanh tgamma time timer_t
    times trunc uint uint2 uint3 uint4 unlink wait write y0 y1 yn
";

/// The lines of a list, wrapped for a comment, with `;` between them as in the text of a schedule.
fn comment(schedule: &str) -> String {
    let mut lines = vec![String::new()];
    for step in schedule.split_inclusive(';') {
        let last = lines.last_mut().expect("there is one");
        if !last.is_empty() && last.chars().count() + step.chars().count() > 110 {
            lines.push(step.to_owned());
        } else {
            last.push_str(step);
        }
    }
    lines.iter().map(|line| format!("//     {line}\n")).collect()
}
