//! Device module -> optimised PTX.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    env, fs,
    panic::resume_unwind,
    path::Path,
    sync::Arc,
    thread,
};

use crate::{
    PtxImage,
    device::{self, Kernels},
    error::{BuilderError, Result},
    llvm::{self, Context, Instruction, Module, TargetMachine},
};

/// Number of images that are made at a time, at most: each has a copy of the module.
const MOST_WORKERS: usize = 8;

/// The device module.
pub struct Device {
    pub name: String,
    pub bitcode: Vec<u8>,
    pub kernels: Kernels,
    /// Callers of undefined functions, in words.
    pub callers: BTreeMap<String, String>,
    /// Functions that the driver will link.
    pub linked: BTreeSet<String>,
}

/// Writes the PTX of images, and their IR where asked for. Each image is optimised by itself: it doesn't depend on the
/// others, nor on the number of workers.
pub fn emit(device: &Arc<Device>, images: &[PtxImage], ir: bool) -> Result<()> {
    // Cargo tells a build script how many processes it may have.
    let jobs = env::var("NUM_JOBS").ok().and_then(|jobs| jobs.parse().ok());
    let jobs = jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let workers = images.len().min(jobs).clamp(1, MOST_WORKERS);
    let start = |worker| {
        let share: Vec<PtxImage> = images.iter().skip(worker).step_by(workers).cloned().collect();
        let device = Arc::clone(device);
        // A context belongs to a thread.
        thread::spawn(move || llvm::catch(move || emit_share(&device, share, ir)))
    };
    let running: Vec<_> = (0..workers).map(start).collect();
    let done: Vec<_> = running.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect();
    done.into_iter().collect()
}

fn emit_share(device: &Device, mut images: Vec<PtxImage>, ir: bool) -> Result<()> {
    let context = Context::new();
    images.sort_by_key(|image| image.arch);
    for images in images.chunk_by(|a, b| a.arch == b.arch) {
        let arch = images[0].arch;
        let mut module = context.parse(&device.name, &device.bitcode)?;
        if images.iter().map(|image| image.kernels.len()).sum::<usize>() < device.kernels.len() {
            module.keep_kernels(images.iter().flat_map(|image| &image.kernels))?;
        }
        if arch.is_specific() {
            // `cuda_std::arch`, which LLVM would make the same as of the other architecture.
            let arch = 10 * arch.number() + 1;
            let asks = |instruction: &Instruction<'_>| instruction.callee().is_some_and(|name| name == device::ASKS_ARCH);
            module.replace(|instruction| asks(instruction).then(|| format!("  ret i32 {arch}\n}}\n")))?;
        }
        write_images(&mut module, device, images, ir)?;
    }
    Ok(())
}

/// Writes the images of the kernels in `module`, and leaves little in it. It halves the set until one image remains,
/// because a copy of the whole module per image would take longer than everything else.
fn write_images(module: &mut Module<'_>, device: &Device, images: &[PtxImage], ir: bool) -> Result<()> {
    if let [image] = images {
        // It numbers the calls that it writes.
        let machine = TargetMachine::nvptx(image.arch)?;
        module.run("default<O3>", Some(&machine))?;
        device::forget_unwinding(module);
        device::check_is_complete(module, &device.kernels, &device.callers, &device.linked)?;
        device::check_shared_memory(module, &device.kernels)?;
        if ir {
            write(&image.path.with_extension("ll"), module.to_string().as_bytes())?;
        }
        return write(&image.path, &finished(machine.assembly(module)?));
    }
    let (first, second) = images.split_at(images.len() / 2);
    let mut copy = module.duplicate();
    copy.keep_kernels(first.iter().flat_map(|image| &image.kernels))?;
    write_images(&mut copy, device, first, ir)?;
    drop(copy);
    module.keep_kernels(second.iter().flat_map(|image| &image.kernels))?;
    write_images(module, device, second, ir)
}

/// Raises the PTX version that LLVM has written, if inline assembly needs a newer one, and narrows registers before stores.
fn finished(ptx: Vec<u8>) -> Vec<u8> {
    /// Instruction of PTX 8.3.
    const NEWER: &str = "fence.proxy.tensormap";
    let text = match String::from_utf8(ptx) {
        Ok(text) => text,
        Err(error) => return error.into_bytes(),
    };
    let text = if text.contains(NEWER) { text.replacen(".version 8.0", ".version 8.3", 1) } else { text };
    let lines = text.split_inclusive('\n').map(|line| narrowed(line).map_or(Cow::Borrowed(line), Cow::Owned));
    lines.collect::<String>().into_bytes()
}

/// Returns a store of a register's lower bits with an instruction before it that takes these. Without it, ptxas (CUDA 13.0)
/// takes a register that a floating-point instruction has written for a number, and stores that as an integer.
fn narrowed(line: &str) -> Option<String> {
    let (instruction, operands) = line.trim().strip_suffix(';')?.split_once(char::is_whitespace)?;
    let bits: u32 = instruction.strip_prefix("st")?.rsplit_once(".b")?.1.parse().ok()?;
    let (address, register) = operands.rsplit_once(", ")?;
    let is_of = |class: &str| register.strip_prefix(class).is_some_and(|number| number.parse::<u32>().is_ok());
    let (_, width) = [("%rd", 64), ("%r", 32), ("%rs", 16)].into_iter().find(|(class, _)| is_of(class))?;
    // There are no registers of 8 bits.
    let least = bits.max(16);
    (width > least).then(|| {
        format!("\t{{ .reg .b{least} %narrow; cvt.u{least}.u{width} %narrow, {register}; {instruction} {address}, %narrow; }}\n")
    })
}

/// Writes beside the file, then renames, so that a reader never sees half of it. A file that holds `data` stays as it
/// is, and with it all that was built from it.
pub fn write(path: &Path, data: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == data) {
        return Ok(());
    }
    let part = path.with_extension("part");
    fs::write(&part, data)
        .and_then(|()| fs::rename(&part, path))
        .map_err(|source| BuilderError::Io { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::finished;

    /// Stores as wide as their registers stay, and so do those of 8 bits from the narrowest registers.
    #[test]
    fn stores_of_lower_bits() {
        let same = "\tst.global.b64 \t[%rd1], %rd2;\n\tst.shared.b32 \t[%rd1+4], %r2;\n\tst.b16 \t[%rd1], %rs2;\n\t\
                    st.global.b8 \t[%rd1], %rs2;\n\tst.global.v2.b32 \t[%rd1], {%r1, %r2};\n\tst.global.b32 \t[%rd1], 0;\n\t\
                    ld.global.b32 \t%r1, [%rd2];\n";
        assert_eq!(finished(same.into()), same.as_bytes());
        let wide = "\tst.global.b32 \t[%rd1], %rd46;\n\tst.b16 \t[%rd1+2], %r7;\n\tst.shared.b8 \t[x], %rd3;\n";
        let narrow = "\t{ .reg .b32 %narrow; cvt.u32.u64 %narrow, %rd46; st.global.b32 \t[%rd1], %narrow; }\n\t\
                      { .reg .b16 %narrow; cvt.u16.u32 %narrow, %r7; st.b16 \t[%rd1+2], %narrow; }\n\t\
                      { .reg .b16 %narrow; cvt.u16.u64 %narrow, %rd3; st.shared.b8 \t[x], %narrow; }\n";
        assert_eq!(finished(wide.into()), narrow.as_bytes());
    }
}
