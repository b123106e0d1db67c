//! A CUDA driver for tests, built from `tests/device/fake_driver.c`.

use std::{path::Path, process::Command, sync::OnceLock};

use crate::skip::skip;

/// The folder with the library, for `LD_LIBRARY_PATH`, or `None` where there is no C compiler.
pub fn library() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<tempfile::TempDir>> = OnceLock::new();
    let build = || {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/device/fake_driver.c");
        let mut command = Command::new("cc");
        command.args(["-shared", "-fPIC", "-O1", "-w", "-Wl,-soname,libcuda.so.1", "-o"]);
        match command.arg(folder.path().join("libcuda.so.1")).arg(source).output() {
            Ok(output) => {
                assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
                Some(folder)
            }
            Err(error) => {
                skip("cc", format_args!("there is no C compiler: {error}"));
                None
            }
        }
    };
    FOLDER.get_or_init(build).as_ref().map(tempfile::TempDir::path)
}
