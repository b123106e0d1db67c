//! Builds gpu-kernels to PTX for the host library to embed, once for every GPU since Turing and once for Hopper and later.

use std::{env, error::Error, fmt::Write as _, fs, path::Path};

use cuda_builder::{CudaBuilder, NvptxArch};

fn main() {
    if let Err(error) = build() {
        // The whole sentence, as a line that cargo shows, instead of a Debug dump.
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=../build.rs");
    let output = CudaBuilder::new("../gpu-kernels")
        .arch(NvptxArch::Compute75)
        .arch(NvptxArch::Compute90)
        .panic_messages(env::var("PROFILE").is_ok_and(|profile| profile == "debug"))
        .build()?;

    let mut images =
        String::from("/// PTX of gpu-kernels, with the compute capability each was built for, in ascending order.\n");
    images.push_str("pub static PTX_IMAGES: &[(u32, &str)] = &[\n");
    for image in &output.images {
        writeln!(images, "    ({}, include_str!({:?})),", image.arch.number(), image.path)?;
    }
    images.push_str("];\n");
    let out_dir = env::var("OUT_DIR")?;
    let list = Path::new(&out_dir).join("ptx_images.rs");
    // Untouched where nothing changed, so that the library isn't compiled again.
    if fs::read_to_string(&list).ok().as_deref() != Some(&*images) {
        fs::write(list, images)?;
    }
    Ok(())
}
