//! The PTX that the program carries.

use super::DeviceError;
use super::launch::refused;
use cuda_std::launch::KernelInfo;
use std::collections::HashMap;

inventory::collect!(KernelModule);

/// The PTX of a kernel crate.
#[doc(hidden)]
#[derive(Debug)]
pub struct KernelModule {
    kernel: fn() -> &'static KernelInfo,
    images: &'static [PtxImage],
}

impl KernelModule {
    /// # Safety
    /// The images were built from the source of the crate that `kernel` is of.
    pub const unsafe fn new(kernel: fn() -> &'static KernelInfo, images: &'static [PtxImage]) -> Self {
        KernelModule { kernel, images }
    }

    fn has(&self, kernel: &KernelInfo) -> bool {
        kernel.same_crate((self.kernel)())
    }
}

/// A kernel as PTX. A GPU's driver compiles it before its first launch.
#[derive(Clone, Copy, Debug)]
pub struct PtxImage {
    /// The kernel's [symbol](KernelInfo::symbol).
    pub kernel: &'static str,
    /// By the compute capability that each text was built for, times ten (75 for 7.5), in ascending order.
    pub ptx: &'static [(u32, &'static str)],
}

fn modules() -> impl Iterator<Item = &'static KernelModule> {
    inventory::iter::<KernelModule>.into_iter()
}

/// The number of a kernel's image.
pub(super) fn of(kernel: &KernelInfo) -> Result<usize, DeviceError> {
    let has = |module: &KernelModule| module.has(kernel);
    let find = || {
        let images = modules().flat_map(|module| module.images.iter().map(move |image| (module, image)));
        images.into_iter().position(|(module, image)| image.kernel == kernel.symbol() && has(module))
    };
    kernel.image(find).ok_or_else(|| {
        let reason = if modules().any(has) {
            "the library was built without the feature that it belongs to".to_owned()
        } else {
            format!(
                "it is of the crate {}, and the library has the kernels of its own gpu_kernels only; load its PTX with \
                 Device::load_module and launch it with Stream::launch_from",
                kernel.crate_name()
            )
        };
        refused(kernel, reason)
    })
}

/// The images of all modules.
pub(super) fn all() -> impl Iterator<Item = &'static PtxImage> {
    modules().flat_map(|module| module.images)
}

/// The numbers of the images that have a constant.
pub(super) fn with_constant(name: &str) -> impl Iterator<Item = usize> {
    let declaration = format!(" {name}[");
    let has = move |image: &PtxImage| image.ptx.first().is_some_and(|(_, ptx)| ptx.contains(&declaration));
    all().enumerate().filter(move |(_, image)| has(image)).map(|(number, _)| number)
}

/// Some image's texts: all are for the same architectures.
pub(super) fn any() -> &'static [(u32, &'static str)] {
    all().next().map_or(&[], |image| image.ptx)
}

/// The image that suits a device best: that for the highest compute capability which the device has.
///
/// Both numbers are capabilities times ten, 75 for 7.5. PTX for one runs on all later ones.
pub(super) fn choose<'a>(images: &[(u32, &'a str)], capability: u32) -> Option<(u32, &'a str)> {
    images.iter().filter(|(arch, _)| *arch <= capability).max_by_key(|(arch, _)| *arch).copied()
}

/// How many parameters each entry of a PTX text has.
pub(super) fn parameters(ptx: &str) -> HashMap<String, usize> {
    let mut entries = HashMap::new();
    for entry in ptx.split(".entry ").skip(1) {
        let Some((name, rest)) = entry.split_once('(') else {
            continue;
        };
        let list = rest.split_once(')').map_or(rest, |(list, _)| list);
        entries.insert(name.trim().to_owned(), list.matches(".param ").count());
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::{choose, parameters};

    #[test]
    fn parameters_are_counted() {
        let ptx = ".visible .entry a(\n.param .u64 .ptr .align 4 a_param_0,\n.param .u32 a_param_1\n)\n{\nld.param.b32 %r1, [a_param_1];\n}\n.visible .entry b()\n{\n}";
        let counts = parameters(ptx);
        assert_eq!((counts["a"], counts["b"], counts.len()), (2, 0, 2));
    }

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
    }
}
