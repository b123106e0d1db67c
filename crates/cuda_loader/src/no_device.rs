//! Why a machine offers no CUDA device.

use std::ffi::{CStr, OsStr, c_char, c_int, c_uint};
use std::path::Path;

use crate::device_files::has_device_files;
use crate::driver::load;
use crate::fallback::{NO_DEVICE, SUCCESS};

/// `CUDA_ERROR_SYSTEM_NOT_READY`
const SYSTEM_NOT_READY: c_int = 802;
/// `CUDA_ERROR_SYSTEM_DRIVER_MISMATCH`
const SYSTEM_DRIVER_MISMATCH: c_int = 803;
/// `CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE`
const COMPAT_NOT_SUPPORTED_ON_DEVICE: c_int = 804;
/// `CUDA_ERROR_UNKNOWN`
const UNKNOWN: c_int = 999;

unsafe extern "C" {
    // The crate's own trampolines.
    safe fn cuInit(flags: c_uint) -> c_int;
    safe fn cuDeviceGetCount(count: &mut c_int) -> c_int;
    safe fn cuGetErrorString(code: c_int, text: &mut *const c_char) -> c_int;
}

/// Why there is no CUDA device to use, as a sentence that says what to do, or `None` where there is at least one.
///
/// Unlike [`load`] this initialises CUDA (`cuInit`).
pub fn no_device_reason() -> Option<String> {
    let driver = match load() {
        Ok(driver) => driver,
        Err(error) => return Some(error.to_string()),
    };
    let mut count = 0;
    let code = match cuInit(0) {
        SUCCESS => cuDeviceGetCount(&mut count),
        code => code,
    };
    if code == SUCCESS && count > 0 {
        return None;
    }
    let driver = format!("the NVIDIA driver library is there ({}, CUDA {})", driver.path().display(), driver.version());
    let visible = std::env::var_os("CUDA_VISIBLE_DEVICES");
    Some(explain(code, &driver, visible.as_deref(), Path::new("/dev")))
}

/// The sentence for `code`, with which the driver refused; success stands for a count of 0.
fn explain(code: c_int, driver: &str, visible: Option<&OsStr>, dev: &Path) -> String {
    match code {
        SUCCESS | NO_DEVICE => match visible {
            _ if !has_device_files(dev) => format!(
                "{driver}, but no GPU is: {dev}/nvidia0 and its like are absent; \
                 load the driver's kernel module (nvidia-smi does), or start the container with its GPUs (docker run --gpus all)",
                dev = dev.display()
            ),
            Some(value) => {
                format!("{driver}, but it shows no GPU: CUDA_VISIBLE_DEVICES is {value:?}; unset it, or name a device in it")
            }
            None => format!(
                "{driver}, but it shows no GPU; see whether nvidia-smi lists one and whether this user may open {}/nvidia*",
                dev.display()
            ),
        },
        SYSTEM_NOT_READY => {
            format!("{driver}, but the GPUs are not ready (error {code}); start the NVIDIA fabric manager (nvidia-fabricmanager)")
        }
        SYSTEM_DRIVER_MISMATCH => format!(
            "{driver}, but the kernel module is of another version (error {code}); reboot, or reload the module, after a driver's update"
        ),
        COMPAT_NOT_SUPPORTED_ON_DEVICE => format!(
            "{driver}, but this GPU does not support it on top of the older kernel module (error {code}); \
             take the CUDA compatibility folder (cuda/compat) off LD_LIBRARY_PATH, or update the driver"
        ),
        UNKNOWN if !dev.join("nvidia-uvm").exists() && !dev.join("dxg").exists() => format!(
            "{driver}, but {}/nvidia-uvm is absent (error {code}); run `modprobe nvidia-uvm` or `nvidia-modprobe -u -c=0` as root",
            dev.display()
        ),
        _ => format!("{driver}, but it failed to start: {} (error {code}); see what nvidia-smi says", error_text(code)),
    }
}

fn error_text(code: c_int) -> String {
    let mut text = std::ptr::null();
    if cuGetErrorString(code, &mut text) != SUCCESS || text.is_null() {
        return "an error without a text".into();
    }
    // SAFETY: on success the text is a C string, and it is static.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVER: &str = "the NVIDIA driver library is there (/x/libcuda.so.1, CUDA 13.0)";

    #[test]
    fn a_library_without_a_gpu() {
        let dev = tempfile::tempdir().unwrap();
        std::fs::write(dev.path().join("nvidiactl"), "").unwrap();
        let text = explain(NO_DEVICE, DRIVER, None, dev.path());
        assert!(text.starts_with(DRIVER) && text.contains("nvidia0 and its like are absent"), "{text}");
    }

    #[test]
    fn a_gpu_that_the_environment_hides() {
        let dev = tempfile::tempdir().unwrap();
        std::fs::write(dev.path().join("nvidia0"), "").unwrap();
        let text = explain(SUCCESS, DRIVER, Some(OsStr::new("-1")), dev.path());
        assert!(text.contains("CUDA_VISIBLE_DEVICES is \"-1\""), "{text}");
        let text = explain(NO_DEVICE, DRIVER, None, dev.path());
        assert!(text.contains("nvidia-smi"), "{text}");
    }

    #[test]
    fn the_driver_s_own_troubles() {
        let dev = tempfile::tempdir().unwrap();
        for (code, remedy) in [(802, "fabric"), (803, "reboot"), (804, "compat"), (999, "nvidia-uvm"), (3, "(error 3)")] {
            let text = explain(code, DRIVER, None, dev.path());
            assert!(text.contains(remedy), "{text}");
        }
    }
}
