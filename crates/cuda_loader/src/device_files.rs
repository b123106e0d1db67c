//! Device files of the driver's kernel module.

use std::path::Path;

/// Returns true if `dev` has the file of a GPU: `nvidia0` and so on, `dxg` under WSL,
/// `nvhost-ctrl-gpu` or `nvgpu` on Tegra.
pub(crate) fn has_device_files(dev: &Path) -> bool {
    let Ok(entries) = dev.read_dir() else {
        return false;
    };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_number = |rest: &str| rest.parse::<u32>().is_ok();
        matches!(&*name, "dxg" | "nvhost-ctrl-gpu" | "nvgpu") || name.strip_prefix("nvidia").is_some_and(is_number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_files_of_each_kind() {
        for (name, is_gpu) in [
            ("nvidia0", true),
            ("nvidia11", true),
            ("dxg", true),
            ("nvgpu", true),
            ("nvidiactl", false),
            ("nvidia-uvm", false),
            ("null", false),
        ] {
            let dev = tempfile::tempdir().unwrap();
            std::fs::write(dev.path().join(name), "").unwrap();
            assert_eq!(has_device_files(dev.path()), is_gpu, "{name}");
        }
        assert!(!has_device_files(Path::new("/no/such/folder")));
    }
}
