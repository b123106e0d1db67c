//! The PTX of gpu-kernels that the library carries.

use super::DeviceError;
use super::launch::refused;
use cuda_std::launch::KernelInfo;
use gpu_kernels::samples;
use std::collections::HashMap;

include!(concat!(env!("OUT_DIR"), "/ptx_images.rs"));

/// A kernel of gpu-kernels as PTX. A GPU's driver compiles it before its first launch.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PtxImage {
    /// The kernel's [symbol](KernelInfo::symbol).
    pub kernel: &'static str,
    /// By the compute capability that each text was built for, times ten (75 for 7.5), in ascending order.
    pub ptx: &'static [(u32, &'static str)],
}

/// The number of a kernel's image.
pub(super) fn of(kernel: &KernelInfo) -> Result<usize, DeviceError> {
    let find = || PTX_IMAGES.binary_search_by_key(&kernel.symbol(), |image| image.kernel).ok().filter(|_| has(kernel));
    kernel.image(find).ok_or_else(|| {
        let reason = if has(kernel) {
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

/// The numbers of the images that have a constant.
pub(super) fn with_constant(name: &str) -> impl Iterator<Item = usize> {
    let declaration = format!(" {name}[");
    let has = move |image: &PtxImage| image.ptx.first().is_some_and(|(_, ptx)| ptx.contains(&declaration));
    PTX_IMAGES.iter().enumerate().filter(move |(_, image)| has(image)).map(|(number, _)| number)
}

/// Some image's texts: all are for the same architectures.
pub(super) fn any() -> &'static [(u32, &'static str)] {
    PTX_IMAGES.first().map_or(&[], |image| image.ptx)
}

/// Whether a kernel is of the crate that [`PTX_IMAGES`] was built from. Its kernels alone may be launched from there:
/// another crate's may have the same names.
fn has(kernel: &KernelInfo) -> bool {
    kernel.same_crate(samples::saxpy::kernel())
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
    use super::{KernelInfo, choose, has, parameters};

    #[test]
    fn another_crate_of_the_same_name_is_another() {
        let own = super::samples::saxpy::kernel();
        assert!(has(own) && has(gpu_kernels::list_rank::nodes::identity::kernel()));
        // SAFETY: it is not launched.
        let others = unsafe { KernelInfo::new(own.path, 7, None, true) };
        assert!(others.path == own.path && !has(&others));
        // SAFETY: it is not launched.
        let of_another_name = unsafe { KernelInfo::new("gpu_kernel::samples::saxpy", 7, None, true) };
        assert!(of_another_name.symbol() == own.symbol() && !has(&of_another_name));
    }

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
