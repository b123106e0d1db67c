//! Design rules: schedules, searches, platforms, the simulated machine, learning, reports, and the command.

#[path = "../common/folder.rs"]
mod folder;
#[path = "../common/machine.rs"]
mod machine;
#[cfg(target_os = "linux")]
#[path = "../common/signals.rs"]
mod signals;

mod across;
mod choices;
mod cli;
mod code;
mod external;
mod fixtures;
mod init;
mod learning;
mod measure;
mod platform;
mod programs;
mod report;
mod schedules;
mod schema;
mod sim;
mod spaces;
