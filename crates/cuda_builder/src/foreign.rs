//! Device code from elsewhere: PTX, which the driver links to the kernels' images, and LLVM IR.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    device::DEVICE_RUNTIME,
    error::{BuilderError, Result, refused},
};

/// The files given to [`CudaBuilder::link`](crate::CudaBuilder::link).
#[derive(Debug, Default)]
pub struct Foreign {
    /// LLVM IR, as text or bitcode.
    pub ir: Vec<PathBuf>,
    pub ptx: Vec<PathBuf>,
    /// Functions that the PTX defines for others.
    pub defined: BTreeSet<String>,
}

impl Foreign {
    /// Reads the files and checks that they go together, and with images from the compute capability `lowest` (times ten)
    /// on.
    pub fn read(paths: &[PathBuf], lowest: u32) -> Result<Foreign> {
        let mut foreign = Foreign::default();
        let mut wanted = Vec::new();
        for path in paths {
            let file = path.canonicalize().map_err(|source| BuilderError::Io { path: path.clone(), source })?;
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("ll" | "bc") => foreign.ir.push(file),
                Some("ptx") => {
                    let ptx = fs::read_to_string(path).map_err(|source| BuilderError::Io { path: path.clone(), source })?;
                    check_target(path, &ptx, lowest)?;
                    for (linkage, name) in functions(&ptx) {
                        if linkage == "extern" {
                            wanted.push((path, name.to_owned()));
                        } else if linkage == "weak" {
                            foreign.defined.insert(name.to_owned());
                        } else if linkage == "visible" && !foreign.defined.insert(name.to_owned()) {
                            return refused(format!("{} defines `{name}`, which another linked file defines", path.display()));
                        }
                    }
                    foreign.ptx.push(file);
                }
                _ => {
                    return refused(format!(
                        "`CudaBuilder::link` takes PTX (.ptx) and LLVM IR (.ll, .bc), not {}: `nvcc -ptx -rdc=true` and \
                         `clang -emit-llvm` write them",
                        path.display()
                    ));
                }
            }
        }
        let missing = |name: &str| !foreign.defined.contains(name) && !DEVICE_RUNTIME.contains(&name);
        match wanted.iter().find(|(_, name)| missing(name)) {
            Some((path, name)) => {
                refused(format!("{} needs the function `{name}`, which no linked file defines", path.display()))
            }
            None => Ok(foreign),
        }
    }

    /// Returns true if an image calls a function of the PTX files.
    pub fn serves(&self, image: &Path) -> Result<bool> {
        if self.ptx.is_empty() {
            return Ok(false);
        }
        let ptx = fs::read_to_string(image).map_err(|source| BuilderError::Io { path: image.to_owned(), source })?;
        Ok(functions(&ptx).any(|(linkage, name)| linkage == "extern" && self.defined.contains(name)))
    }
}

fn check_target(path: &Path, ptx: &str, lowest: u32) -> Result<()> {
    let target = ptx.split_once(".target").and_then(|(_, rest)| rest.split_once("sm_"));
    let digits = target.map(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default());
    match digits.and_then(|digits| digits.parse::<u32>().ok()) {
        None => refused(format!("{} isn't PTX: it has no `.target sm_..`", path.display())),
        Some(target) if target > lowest => refused(format!(
            "{} is PTX for sm_{target}, and the kernels are built for sm_{lowest}, too: compile the file for that",
            path.display()
        )),
        Some(_) => Ok(()),
    }
}

/// The functions of a PTX text, with their linkage: `visible`, `extern`, `weak` or the end of another line.
fn functions(ptx: &str) -> impl Iterator<Item = (&str, &str)> {
    ptx.match_indices(".func").filter_map(|(at, directive)| {
        let linkage = ptx[..at].trim_end().rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        let rest = ptx[at + directive.len()..].trim_start();
        // Its result.
        let rest = rest.strip_prefix('(').map_or(Some(rest), |result| Some(result.split_once(')')?.1.trim_start()))?;
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"_$%".contains(c))?;
        (end > 0).then(|| (linkage, &rest[..end]))
    })
}

#[cfg(test)]
mod tests {
    use super::functions;

    #[test]
    fn functions_have_linkage_and_names() {
        let ptx = ".visible .func a(\n.param .b32 a_0)\n{ call.uni (r), b, (x); }\n.func inner\n()\n{ ret; }\n\
                   .extern .func  (.param .b32 result) b\n(\n.param .b64 b_0\n)\n;\n.weak .func (.param .b32 r) c(){}";
        let found: Vec<_> = functions(ptx).collect();
        assert_eq!(found, [("visible", "a"), ("", "inner"), ("extern", "b"), ("weak", "c")]);
    }
}
