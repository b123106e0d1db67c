//! The Criterion benches of each system: `cargo bench --bench criterion -- halo`, or a longer part of a bench's name;
//! without one, all.

// The functions that Criterion's macros make have no documentation.
#![allow(missing_docs)]

use criterion::Criterion;

mod common;
mod design_rules;
mod halo;

fn main() {
    let groups: [(&str, fn()); 2] = [("halo", halo::benches), ("design_rules", design_rules::benches)];
    // Criterion filters as well, but only after a system has made its input.
    let filter = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    for (name, benches) in groups {
        if filter.as_ref().is_none_or(|filter| filter.starts_with(name)) {
            benches();
        }
    }
    Criterion::default().configure_from_args().final_summary();
}
