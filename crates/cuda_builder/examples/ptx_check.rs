//! Assembles every kernel of a crate with NVIDIA's `ptxas`, and prints what each costs a GPU. It fails where `ptxas`
//! does.
//!
//! `cargo run -p warpsmith-cuda-builder --example ptx_check -- KERNEL_CRATE OUT_DIR TARGET_DIR [--markdown]`,
//! with `ptxas` on the path or named by `PTXAS`. `ci/ptx-check` fetches one if there is none.
//! Cargo compiles the kernels in TARGET_DIR.

use cuda_builder::{CudaBuilder, NvptxArch};
use std::{
    env,
    error::Error,
    panic::resume_unwind,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

/// Architectures that the library embeds.
const IMAGES: [NvptxArch; 2] = [NvptxArch::Compute75, NvptxArch::Compute80];
/// GPUs to assemble for: each takes the newest image that it can run.
const GPUS: [u32; 3] = [75, 80, 90];

const COLUMNS: [&str; 6] = ["kernel", "registers", "shared", "stack", "spill stores", "spill loads"];

/// Report of `ptxas -v` on a kernel: registers, and sizes in bytes.
#[derive(Default)]
struct Usage {
    kernel: String,
    registers: u32,
    shared: u32,
    stack: u32,
    spill_stores: u32,
    spill_loads: u32,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (options, places): (Vec<String>, Vec<String>) = env::args().skip(1).partition(|argument| argument.starts_with("--"));
    let markdown = options.iter().any(|option| option == "--markdown");
    let ([krate, out, target], true) = (&places[..], options.len() == usize::from(markdown)) else {
        return Err("usage: ptx_check KERNEL_CRATE OUT_DIR TARGET_DIR [--markdown]".into());
    };
    let ptxas = env::var_os("PTXAS").map_or_else(|| PathBuf::from("ptxas"), PathBuf::from);
    let builder = IMAGES.into_iter().fold(CudaBuilder::new(krate), CudaBuilder::arch);
    let output = builder.out_dir(out).target_dir(target).rerun_if_changed(false).build()?;

    let image = |gpu| output.images.iter().rfind(|image| image.arch.number() <= gpu).expect("an image for the oldest GPU");
    // One process for each GPU.
    let assembled = thread::scope(|scope| {
        let (ptxas, image) = (&ptxas, &image);
        let running = GPUS.map(|gpu| scope.spawn(move || assemble(ptxas, &image(gpu).path, gpu)));
        running.map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    for (gpu, usages) in GPUS.into_iter().zip(assembled) {
        let (image, usages) = (image(gpu), usages?);
        let missing: Vec<&String> =
            output.kernels.iter().filter(|name| usages.iter().all(|usage| usage.kernel != **name)).collect();
        if !missing.is_empty() {
            return Err(format!("ptxas says nothing of {missing:?}").into());
        }
        println!("{}sm_{gpu} (image for {})\n", if markdown { "### " } else { "" }, image.arch.target_cpu());
        print(&usages, markdown);
    }
    Ok(())
}

/// Assembles for a GPU; the kernels in the order of their names.
fn assemble(ptxas: &Path, ptx: &Path, gpu: u32) -> Result<Vec<Usage>, String> {
    let output = Command::new(ptxas)
        .args(["-v", "-arch", &format!("sm_{gpu}"), "-o"])
        .arg(ptx.with_extension(format!("for_sm_{gpu}.cubin")))
        .arg(ptx)
        .output()
        .map_err(|error| format!("{}: {error}", ptxas.display()))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("ptxas refuses {} for sm_{gpu}:\n{said}", ptx.display()));
    }
    let mut usages = parse(&said);
    usages.sort_by(|a, b| a.kernel.cmp(&b.kernel));
    Ok(usages)
}

/// Each kernel's part of the output begins with its name. Then come two lines for each function, it and those that it
/// calls, and a last one with its registers.
fn parse(said: &str) -> Vec<Usage> {
    let mut usages: Vec<Usage> = Vec::new();
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let kernel = rest.split('\'').next().unwrap_or_default().to_owned();
            usages.push(Usage { kernel, ..Usage::default() });
            continue;
        }
        let Some(usage) = usages.last_mut() else {
            continue;
        };
        // Each number stands before its name; functions that are called add to the kernel's own.
        let number = |name: &str| -> u32 {
            let before = line.split_once(name).map_or("", |(before, _)| before);
            before.trim_end().rsplit([' ', ',']).next().and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        usage.registers = usage.registers.max(number(" registers"));
        usage.shared = usage.shared.max(number(" bytes smem"));
        usage.stack = usage.stack.max(number(" bytes stack frame")).max(number(" bytes cumulative stack size"));
        usage.spill_stores += number(" bytes spill stores");
        usage.spill_loads += number(" bytes spill loads");
    }
    usages
}

fn print(usages: &[Usage], markdown: bool) {
    let rows: Vec<[String; 6]> = usages
        .iter()
        .map(|usage| {
            let numbers = [usage.registers, usage.shared, usage.stack, usage.spill_stores, usage.spill_loads];
            let [registers, shared, stack, stores, loads] = numbers.map(|number| number.to_string());
            [usage.kernel.clone(), registers, shared, stack, stores, loads]
        })
        .collect();
    if markdown {
        println!("| {} |\n|:--|--:|--:|--:|--:|--:|", COLUMNS.join(" | "));
        for [kernel, numbers @ ..] in rows {
            println!("| `{kernel}` | {} |", numbers.join(" | "));
        }
    } else {
        let width = rows.iter().map(|row| row[0].len()).chain([COLUMNS[0].len()]).max().unwrap_or(0);
        for row in [COLUMNS.map(str::to_owned)].iter().chain(&rows) {
            let numbers: String = row[1..].iter().zip(&COLUMNS[1..]).map(|(n, name)| format!("  {n:>0$}", name.len())).collect();
            println!("{:width$}{numbers}", row[0]);
        }
    }
    println!();
}
