//! Record of the kernels that a checked run has launched: `cargo check-kernels` names the others.

use crate::image::kernel_modules;
use cuda_std::launch::KernelInfo;
use std::collections::BTreeSet;
use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Notes a launch in the file that `CHECK_KERNELS_NOTES` names: a line `ran CRATE KERNEL`, once in a process. Before the
/// first, a line `has CRATE KERNEL` for each kernel that the program has PTX of.
pub(super) fn note(kernel: &KernelInfo) {
    static NOTED: Mutex<BTreeSet<(&str, String)>> = Mutex::new(BTreeSet::new());
    let Some(path) = env::var_os("CHECK_KERNELS_NOTES") else { return };
    let mut noted = NOTED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut lines = String::new();
    if noted.is_empty() {
        for module in kernel_modules() {
            let kernels = module.images().iter().flat_map(|image| image.kernels());
            lines.extend(kernels.map(|name| format!("has {} {name}\n", module.crate_name())));
        }
    }
    let crate_name = kernel.origin().crate_name;
    if noted.insert((crate_name, kernel.symbol().to_owned())) {
        lines += &format!("ran {crate_name} {}\n", kernel.symbol());
        // In one write, so that tests at the same time don't get between. A line that is missing shows as a kernel that
        // hasn't run.
        _ = OpenOptions::new().append(true).open(path).and_then(|mut file| file.write_all(lines.as_bytes()));
    }
}
