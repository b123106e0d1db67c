//! GPU algorithms whose kernels are written in Rust. They run on an NVIDIA GPU, and where there is none on the CPU.
//!
//! - [`list_rank`]: the position of every element of a linked list; prefix sums along it; forests.
//! - [`pcf`]: piecewise constant functions: pairwise distances and kernels, sets, files, barcodes.
//! - [`homology`]: barcodes of Vietoris-Rips filtrations of many point clouds.
//! - [`overlap`]: copies of polygons: the areas in which they overlap, with derivatives, and a packer
//!   ([`overlap::pack`]).
//! - [`concurrency`]: a study of what limits kernels like those of `overlap`: streams, graphs, reductions, memory.
//! - [`design_rules`]: which orders of a CUDA+MPI program's operations, and which streams, make it fast; and rules that
//!   say so.
//! - [`graph`]: undirected graphs: bridges, biconnected components, files. [`components`]: connected components.
//! - [`collectives`]: scans and reductions over a whole device, which the systems share.
//! - [`device`]: one face for GPUs and the CPU: buffers, streams, events, graphs, and launches that are checked when
//!   they compile ([`launch!`]).
//! - [`engine`]: pairwise matrices by blocks, on several devices, into memory or files.
//! - [`io`]: reads and writes files: NumPy arrays, and output that is written whole or not at all.
//! - [`common`]: cancellation, step times, the text of errors.
//! - [`ranks`]: threads of a process, or processes under MPI, that run a program together.
//! - [`spmv`]: sparse matrices times vectors: kernels, Matrix Market files, band matrices, division over ranks.
//! - [`trees`]: rooted trees: parents, depths, subtrees, traversals, sums, lowest common ancestors.
//! - [`demo`]: a computation of each system, compared with the host.
//! - [`threads`]: how many threads of the machine do the CPU's work.
//!
//! The kernels themselves are in the crate `gpu_kernels`, which this one embeds as PTX. Nothing of CUDA is needed to
//! build or to start; the driver is opened at run time. `WARPSMITH_BACKEND=cpu` or `cuda` settles which backend
//! [`Device::best`](device::Device::best) takes, and `WARPSMITH_SYNC=1` waits for every launch, so that a fault names
//! the kernel that it happened in.
//!
//! ```
//! use warpsmith::{device::Device, list_rank::list_rank};
//!
//! let device = Device::best()?;
//! //              2 -> 0 -> 3 -> 1
//! let next = [3, -1, 0, 1];
//! assert_eq!(list_rank(&device, &next, None)?, [1, 3, 0, 2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The distances between all functions of a set, in the order of SciPy's `pdist`:
//!
//! ```
//! use warpsmith::{device::Device, engine::{Control, Engine}, pcf::{Layout, Pairwise, lp_distance, random}};
//!
//! // As many GPUs as it is given; here one, or the CPU.
//! let engine = Engine::new([Device::best()?])?;
//! let set = random::uniform::<f64>(100, 20, 7)?; // 100 functions of 20 breakpoints, seed 7
//! let distances = Pairwise::pdist(&set, 1.0)?.compute(&engine, Layout::Condensed, Control::default())?;
//! assert_eq!(distances.len(), 100 * 99 / 2);
//!
//! let first_two = lp_distance(set.get(0), set.get(1), 1.0)?;
//! assert!((distances[0] - first_two).abs() < 1e-14 * first_two);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The overlap of two trees, and a step that makes it smaller:
//!
//! ```
//! use warpsmith::{device::Device, overlap::{Overlap, Packings, Shape, Wanted}};
//!
//! let mut overlap = Overlap::<f64>::new(&Device::best()?, &[Shape::tree()])?;
//! // x, y, theta: the second is upside down.
//! let mut poses = vec![[0.0, 0.0, 0.0], [0.3, 0.4, 3.1]];
//! let before = overlap.evaluate(&Packings::one(poses.clone())?, Wanted::GRADIENT)?;
//! for (pose, gradient) in poses.iter_mut().zip(before.gradient) {
//!     for (coordinate, derivative) in pose.iter_mut().zip(gradient) {
//!         *coordinate -= 0.05 * derivative;
//!     }
//! }
//! let after = overlap.evaluate(&Packings::one(poses)?, Wanted::TOTALS)?;
//! assert!(0.0 < after.totals[0] && after.totals[0] < before.totals[0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod collectives;
pub mod common;
#[cfg(feature = "trees")]
pub mod components;
#[cfg(feature = "concurrency")]
pub mod concurrency;
#[cfg(feature = "systems")]
pub mod demo;
#[cfg(feature = "rules")]
pub mod design_rules;
#[cfg(feature = "engine")]
pub mod engine;
#[cfg(feature = "graph")]
pub mod graph;
#[cfg(feature = "homology")]
pub mod homology;
#[cfg(feature = "files")]
// Each system uses a part of it.
#[cfg_attr(not(feature = "systems"), allow(dead_code, unused_imports))]
pub mod io;
#[cfg(feature = "list-rank")]
pub mod list_rank;
#[cfg(feature = "overlap")]
pub mod overlap;
#[cfg(feature = "pcf")]
pub mod pcf;
#[cfg(feature = "ranks")]
pub mod ranks;
#[cfg(feature = "spmv")]
pub mod spmv;
#[cfg(feature = "trees")]
pub mod trees;

#[cfg(feature = "files")]
use warpsmith_device::memory;
#[doc(inline)]
pub use warpsmith_device::{self as device, launch, threads};

warpsmith_device::kernel_module!(gpu_kernels);

/// The examples in the documents, which are tested like those here.
#[cfg(all(doctest, feature = "systems"))]
mod documents {
    macro_rules! documents {
        ($($name:ident $path:literal)*) => {$(
            #[doc = include_str!(concat!("../../", $path))]
            struct $name;
        )*};
    }
    documents! {
        DesignRules "docs/design-rules.md"
        Graphs "docs/graphs.md"
        ListRanking "docs/list-ranking.md"
        Overlap "docs/overlap.md"
        Pcf "docs/pcf.md"
        Readme "README.md"
        Trees "docs/trees.md"
    }
}
