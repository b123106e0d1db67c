//! The PTX that the program carries.

use super::DeviceError;
use super::launch::refused;
use cuda_std::launch::{KernelInfo, Origin};
use std::sync::OnceLock;

/// Declares the kernels of a crate that the build script of this one has built with `cuda_builder`:
/// `kernel_module!(my_kernels);`, outside of functions, by the crate's name as rustc spells it. With it
/// [`launch!`](crate::launch!), [`Device::set_constant`](crate::Device::set_constant) and the like work on GPUs for
/// that crate, in every program that this one is part of.
///
/// The build script is
/// ```ignore
/// fn main() -> Result<(), cuda_builder::BuilderError> {
///     cuda_builder::CudaBuilder::new("my-kernels").image_per_kernel(true).build().map(drop)
/// }
/// ```
///
/// The line trusts the included file, `OUT_DIR/my_kernels.kernels.rs`: `cuda_builder` writes it
/// with PTX built from the source of the crate that the program is linked with. A script that
/// writes another file of that name has to see to that itself.
#[macro_export]
macro_rules! kernel_module {
    ($name:ident) => {
        const _: () = {
            // The names in the file.
            use $crate::{KernelModule, PtxImage};

            $crate::__private::inventory::submit! {
                // SAFETY: cuda_builder wrote the file, for the crate that it built the images from.
                unsafe {
                    include!(concat!(
                        env!("OUT_DIR", "kernel_module! is for a crate whose build script builds the kernels with cuda_builder"),
                        "/",
                        stringify!($name),
                        ".kernels.rs"
                    ))
                }
            }
        };
    };
}

/// The kernels of a crate, as PTX: [`kernel_module!`](crate::kernel_module!).
#[derive(Debug)]
pub struct KernelModule {
    origin: Origin,
    images: &'static [PtxImage],
}

inventory::collect!(KernelModule);

/// Kernels as PTX, which a GPU's driver compiles before the first launch of one of them.
#[derive(Clone, Copy, Debug)]
pub struct PtxImage {
    kernels: &'static [&'static str],
    /// By kernel.
    signatures: &'static [u64],
    ptx: &'static [(u32, &'static str)],
    linked: &'static [(&'static str, &'static str)],
}

impl KernelModule {
    /// [`kernel_module!`](crate::kernel_module!) calls this.
    ///
    /// # Safety
    /// The images were built from the source, as it is in this program, of the crate of this name in the package of
    /// this hash.
    #[doc(hidden)]
    pub const unsafe fn new(crate_name: &'static str, package: u64, images: &'static [PtxImage]) -> Self {
        KernelModule { origin: Origin { package, crate_name }, images }
    }

    /// The kernels' crate.
    pub fn crate_name(&self) -> &'static str {
        self.origin.crate_name
    }

    /// Its images, by the names of the kernels.
    pub fn images(&self) -> &'static [PtxImage] {
        self.images
    }
}

impl PtxImage {
    #[doc(hidden)]
    pub const fn new(kernels: &'static [&'static str], signatures: &'static [u64], ptx: &'static [(u32, &'static str)]) -> Self {
        PtxImage { kernels, signatures, ptx, linked: &[] }
    }

    #[doc(hidden)]
    pub const fn linked(self, linked: &'static [(&'static str, &'static str)]) -> Self {
        PtxImage { linked, ..self }
    }

    /// The signature of the kernel with this symbol, if it is here.
    fn signature(&self, symbol: &str) -> Option<u64> {
        self.kernels.iter().zip(self.signatures).find(|(kernel, _)| **kernel == symbol).map(|(_, signature)| *signature)
    }

    /// The kernels' [symbols](KernelInfo::symbol).
    pub fn kernels(&self) -> &'static [&'static str] {
        self.kernels
    }

    /// By the compute capability that each text was built for, times ten (75 for 7.5), in ascending order.
    pub fn ptx(&self) -> &'static [(u32, &'static str)] {
        self.ptx
    }

    /// The PTX files that it is linked with when it is loaded (`CudaBuilder::link`): their names and texts.
    pub fn linked_files(&self) -> &'static [(&'static str, &'static str)] {
        self.linked
    }
}

/// The modules that the program's crates [declare](crate::kernel_module!), in no particular order.
pub fn kernel_modules() -> impl Iterator<Item = &'static KernelModule> {
    inventory::iter::<KernelModule>.into_iter()
}

/// All images, with the crates that they are of. They keep their numbers.
pub(super) fn images() -> &'static [(Origin, PtxImage)] {
    static IMAGES: OnceLock<Vec<(Origin, PtxImage)>> = OnceLock::new();
    let of = |module: &'static KernelModule| module.images.iter().map(|image| (module.origin, *image));
    IMAGES.get_or_init(|| kernel_modules().flat_map(of).collect())
}

/// The signature of the kernel in each image, if the image has it. A crate's kernels are launched from its own images alone:
/// another crate's may have the same names.
fn signatures(kernel: &KernelInfo) -> impl Iterator<Item = Option<u64>> {
    images().iter().map(|(origin, image)| image.signature(kernel.symbol()).filter(|_| *origin == kernel.origin()))
}

/// Checks that a kernel's parameters have the same types in its image, if there is one, as on the host, with arguments
/// whose [layouts](cuda_std::launch::Arguments::layouts) are `layouts`.
pub(super) fn check_types(kernel: &KernelInfo, layouts: u64) -> Result<(), DeviceError> {
    match signatures(kernel).flatten().all(|signature| signature == kernel.signature().wrapping_add(layouts)) {
        true => Ok(()),
        false => Err(refused(
            kernel,
            "its parameters have other types on GPUs than on the host: its crate was built with other features there \
             (`CudaBuilder::build_args`)"
                .to_owned(),
        )),
    }
}

/// The number of a kernel's image, which has parameters of the host's types, for arguments with these layouts.
pub(super) fn of(kernel: &KernelInfo, layouts: u64) -> Result<usize, DeviceError> {
    // The layouts are those of the parameters' elements, and so the same at each launch.
    let find = || signatures(kernel).position(|signature| signature == Some(kernel.signature().wrapping_add(layouts)));
    if let Some(number) = kernel.image(find) {
        return Ok(number);
    }
    check_types(kernel, layouts)?;
    Err(missing(kernel))
}

/// The number of an image with the kernel, for questions about it.
pub(super) fn having(kernel: &KernelInfo) -> Result<usize, DeviceError> {
    signatures(kernel).position(|signature| signature.is_some()).ok_or_else(|| missing(kernel))
}

/// The error of a kernel without an image.
fn missing(kernel: &KernelInfo) -> DeviceError {
    let reason = match undeclared(kernel.origin()) {
        Some(reason) => format!("it is of {reason}"),
        None => "its crate was built for GPUs without the feature that it belongs to".to_owned(),
    };
    refused(kernel, reason)
}

/// The numbers of the images that have a constant, at least one.
pub(super) fn with_constant(origin: Origin, name: &'static str) -> Result<Vec<usize>, DeviceError> {
    let declaration = format!(" {name}[");
    let has = |image: &PtxImage| image.ptx.first().is_some_and(|(_, ptx)| ptx.contains(&declaration));
    let images = images().iter().enumerate().filter(|(_, (of, image))| *of == origin && has(image));
    let numbers: Vec<usize> = images.map(|(number, _)| number).collect();
    if !numbers.is_empty() {
        return Ok(numbers);
    }
    let reason = match undeclared(origin) {
        Some(reason) => format!("it is of {reason}"),
        None => "no kernel that is built for GPUs uses it".to_owned(),
    };
    Err(DeviceError::Constant { name, reason })
}

/// Explains why a crate has no module.
fn undeclared(origin: Origin) -> Option<String> {
    let Origin { crate_name, .. } = origin;
    if kernel_modules().any(|module| module.origin == origin) {
        return None;
    }
    let other = match kernel_modules().any(|module| module.crate_name() == crate_name) {
        true => " (it has that of another package's crate of this name)",
        false => "",
    };
    Some(format!(
        "the crate {crate_name}, of which the program has no PTX{other}: build it with cuda_builder in a build script, and \
         put the line `warpsmith_device::kernel_module!({crate_name});` into the crate with that script"
    ))
}

/// The highest compute capability of the images that a device uses; `None` where there are no images.
///
/// # Errors
/// The capabilities that a kernel is built for, where it has no image that the device can run.
pub(super) fn suiting(capability: u32) -> Result<Option<u32>, &'static [(u32, &'static str)]> {
    let mut highest = None;
    // All images of a module have one for its lowest capability, and those with more have all others.
    for image in kernel_modules().filter_map(|module| module.images.iter().max_by_key(|image| image.ptx.len())) {
        let (arch, _) = choose(image.ptx, capability).ok_or(image.ptx)?;
        highest = highest.max(Some(arch));
    }
    Ok(highest)
}

/// The image that suits a device best: that for the highest compute capability which the device has.
///
/// Both numbers are capabilities times ten, 75 for 7.5. PTX runs on all later architectures, unless
/// it is architecture-specific; that is preferred for the same number.
pub(super) fn choose<'a>(images: &[(u32, &'a str)], capability: u32) -> Option<(u32, &'a str)> {
    let runs = |arch: u32, specific: bool| arch == capability || arch < capability && !specific;
    let images = images.iter().map(|&(arch, ptx)| (arch, is_specific(ptx), ptx));
    let best = images.filter(|&(arch, specific, _)| runs(arch, specific)).max_by_key(|&(arch, specific, _)| (arch, specific));
    best.map(|(arch, _, ptx)| (arch, ptx))
}

/// Returns true if a PTX text is architecture-specific: its target ends in a letter.
fn is_specific(ptx: &str) -> bool {
    let target = ptx.split_once(".target sm_").map_or("", |(_, rest)| rest);
    target.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('a')
}

#[cfg(test)]
mod tests {
    use super::choose;

    #[test]
    fn the_highest_that_the_device_has() {
        let images = [(75, "turing"), (90, "hopper")];
        assert_eq!(choose(&images, 70), None);
        assert_eq!(choose(&images, 75), Some((75, "turing")));
        assert_eq!(choose(&images, 89), Some((75, "turing")));
        assert_eq!(choose(&images, 90), Some((90, "hopper")));
        assert_eq!(choose(&images, 120), Some((90, "hopper")));
        assert_eq!(choose(&[(90, "hopper"), (75, "turing")], 100), Some((90, "hopper")));
        assert_eq!(choose(&[], 90), None);
        let images = [(80, ".target sm_80\n"), (90, ".target sm_90\n"), (90, ".version 8.0\n.target sm_90a, debug\n")];
        assert_eq!(choose(&images, 90), Some(images[2]));
        assert_eq!(choose(&images, 100), Some(images[1]));
        assert_eq!(choose(&[images[0], images[2]], 100), Some(images[0]));
    }
}
