//! Polygon overlap: areas and derivatives, shapes, the contest's rules, the packer, and the command.

#[path = "../common/separate.rs"]
mod apart;
#[path = "../common/exact.rs"]
mod exact;
#[path = "../common/folder.rs"]
mod folder;
#[path = "../common/polygon.rs"]
mod polygon;
#[cfg(target_os = "linux")]
#[path = "../common/signals.rs"]
mod signals;

mod cells;
mod cli;
mod containers;
mod contest;
mod data;
mod drawings;
mod evaluation;
mod nest;
mod pack;
mod periodic;
mod scenes;
mod separate;
mod submission;
mod touching;
