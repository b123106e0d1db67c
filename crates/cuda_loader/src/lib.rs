//! The CUDA driver, found when the program runs rather than when it is built or started.
//!
//! This crate defines every `cu*` symbol that `cust_raw` 0.11.3 declares, as a jump through a table; the first call
//! through it, whichever that is, opens `libcuda.so.1` and fills the table. So a program that declares and calls the
//! driver's functions builds where there is no CUDA, and starts where there is no driver. So does one that calls them
//! through `cust`, which there answers with [`CudaError::NoDevice`].
//!
//! A program has to mention the crate for it to be linked: call [`load`], or write `use cuda_loader as _;`.
//!
//! `cust_raw` also asks the linker for `-lcuda`, which this crate's build script answers with an empty archive. Its own
//! build script looks for a folder `lib64`: make an empty one, and name its parent in the environment variable
//! `CUDA_LIBRARY_PATH`.
//!
//! | what is found | what a `cu*` function does |
//! |---|---|
//! | a driver that has it | is that function: the driver's own code runs, with the arguments as they came |
//! | a driver that lacks it | returns `CUDA_ERROR_NOT_FOUND` (500) |
//! | no driver | returns `CUDA_ERROR_NO_DEVICE` (100); `cuGetErrorName` and `cuGetErrorString` give a text |
//!
//! Once opened, the driver stays for the life of the program, and once none was found, none is looked for again. On
//! systems other than Linux, and processors other than x86-64 and aarch64, none is found.
//!
//! [`CudaError::NoDevice`]: https://docs.rs/cust/0.3.2/cust/error/enum.CudaError.html

mod device_files;
mod driver;
mod fallback;
mod library;
mod no_device;
mod symbols;
#[cfg_attr(not(trampolines), path = "no_trampolines.rs")]
mod trampolines;

pub use driver::{CudaVersion, Driver, LoadError, load};
pub use no_device::no_device_reason;
