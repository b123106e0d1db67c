//! Device module -> optimised PTX.

use std::{
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
        return write(&image.path, &with_version(machine.assembly(module)?));
    }
    let (first, second) = images.split_at(images.len() / 2);
    let mut copy = module.duplicate();
    copy.keep_kernels(first.iter().flat_map(|image| &image.kernels))?;
    write_images(&mut copy, device, first, ir)?;
    drop(copy);
    module.keep_kernels(second.iter().flat_map(|image| &image.kernels))?;
    write_images(module, device, second, ir)
}

/// Raises the PTX version that LLVM has written, if inline assembly needs a newer one.
fn with_version(ptx: Vec<u8>) -> Vec<u8> {
    /// Instruction of PTX 8.3.
    const NEWER: &str = "fence.proxy.tensormap";
    match String::from_utf8(ptx) {
        Ok(text) if text.contains(NEWER) => text.replacen(".version 8.0", ".version 8.3", 1).into_bytes(),
        Ok(text) => text.into_bytes(),
        Err(error) => error.into_bytes(),
    }
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
