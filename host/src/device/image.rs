//! The PTX of gpu-kernels that the library carries.

include!(concat!(env!("OUT_DIR"), "/ptx_images.rs"));

/// The crate that [`PTX_IMAGES`] was built from. Its kernels alone may be launched from there: another crate's may have the
/// same names.
pub(super) const KERNEL_CRATE: &str = "gpu_kernels";

/// The image that suits a device best: that for the highest compute capability which the device has.
///
/// Both numbers are capabilities times ten, 75 for 7.5. PTX for one runs on all later ones.
pub(super) fn choose<'a>(images: &[(u32, &'a str)], capability: u32) -> Option<(u32, &'a str)> {
    images.iter().filter(|(arch, _)| *arch <= capability).max_by_key(|(arch, _)| *arch).copied()
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
    }
}
