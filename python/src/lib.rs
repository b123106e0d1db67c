//! The extension module `warpsmith._warpsmith`: the parts of the library that the package's Python code needs.
//!
//! Python's side (`warpsmith/*.py`) says what arguments mean, and brings arrays into the one form that these functions
//! take. All work goes through `work`.

mod array;
mod concurrency;
mod device;
mod error;
mod graph;
mod homology;
mod input;
mod kept;
mod list_rank;
mod overlap;
mod pack;
mod pcf;
mod precision;
mod rules;
mod spmv;
mod trees;
mod work;

/// The extension of the package `warpsmith`. Not for direct use.
#[pyo3::pymodule(gil_used = false)]
mod _warpsmith {
    #[pymodule_export]
    use super::{
        array::{DeviceArray, on_gpu},
        concurrency::study,
        device::{Device, devices},
        graph::{biconnected, bridges, components, minimum_spanning_forest},
        homology::{Diagrams, rips},
        kept::free_memory,
        list_rank::{forest, prefix_sums, rank},
        overlap::{Overlap, Shape},
        pack::{nest, nest_text, pack, write_text},
        pcf::{PcfSet, load_barcodes, pairwise, pairwise_file, reduced, time},
        rules::{Dag, Explorer, Model, Runs, check, study_runs},
        spmv::Matrix,
        trees::{Rooted, root},
    };

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
