//! `warpsmith new`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use clap::Args;

use super::{failure::Failure, terminal};

#[derive(Args, Debug)]
#[command(
    long_about = "Start a project with GPU kernels of your own.\n\n\
        Writes a Cargo workspace: a crate of kernels, a crate that launches them, a test and a benchmark. \
        It needs nothing but rustup and a C linker.",
    after_help = "Examples:\n  \
        warpsmith new my-kernels                    with the crates of this version\n  \
        warpsmith new my-kernels --git URL          with a repository\n  \
        cd my-kernels && cargo test                 the kernels are checked on the GPU, or on the CPU"
)]
pub struct Arguments {
    /// The folder to make; its name is the package's
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// Take warpsmith's crates from a checkout [default: the one that this program was built from, or else crates.io]
    #[arg(long, value_name = "CHECKOUT", conflicts_with = "git")]
    path: Option<PathBuf>,
    /// Take warpsmith's crates from a Git repository
    #[arg(long, value_name = "URL")]
    git: Option<String>,
    /// The repository's commit, tag or branch
    #[arg(long, value_name = "REV", requires = "git")]
    rev: Option<String>,
}

/// Files of a project with their templates.
const FILES: &[(&str, &str)] = &[
    (".gitignore", "/target\n"),
    ("Cargo.toml", include_str!("template/workspace.toml")),
    ("README.md", include_str!("template/README.md")),
    ("benches/bandwidth.rs", include_str!("template/bench.rs")),
    ("build.rs", include_str!("template/build.rs")),
    ("kernels/build.rs", include_str!("template/kernels_build.rs")),
    ("kernels/Cargo.toml", include_str!("template/kernels.toml")),
    ("kernels/src/lib.rs", include_str!("template/kernels.rs")),
    ("rust-toolchain.toml", include_str!("template/rust-toolchain.toml")),
    ("src/lib.rs", include_str!("template/lib.rs")),
    ("src/main.rs", include_str!("template/main.rs")),
    ("tests/kernels.rs", include_str!("template/kernels_test.rs")),
];

/// Names that a project can't have: keywords, Rust's own crates, folders of Cargo's, and the packages
/// that the project needs.
const TAKEN: &str = "\
    abstract alloc as async await become box break build const continue core crate \
    cuda_builder cuda_std deps do dyn else enum examples extern false final fn for gen if impl in \
    incremental let loop macro match mod \
    move mut override priv proc_macro pub ref return self static std struct super test trait \
    true try type typeof unsafe unsized use virtual warpsmith_device where while yield";

/// Version of warpsmith's crates, which is the command's.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Page of warpsmith's crates if they come from the registry.
const PAGE: &str = "https://crates.io/crates/warpsmith-device";

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let folder = &arguments.folder;
    let name = name(folder)?;
    let checkout = checkout(arguments)?;
    if arguments.git.as_ref().is_some_and(String::is_empty) {
        return Err(Failure::error("--git: the repository's URL is empty"));
    }
    let rev = arguments.rev.as_ref().map_or_else(String::new, |rev| format!(", rev = {rev:?}"));
    let dependency = |package: &str, folder: &str| match (&arguments.git, &checkout) {
        (Some(url), _) => format!("{{ package = {package:?}, git = {url:?}{rev} }}"),
        (None, Some(path)) => {
            format!("{{ package = {package:?}, version = {VERSION:?}, path = {:?} }}", format!("{path}/crates/{folder}"))
        }
        (None, None) => format!("{{ package = {package:?}, version = {VERSION:?} }}"),
    };
    let place = arguments.git.as_ref().or(checkout.as_ref()).map_or(PAGE, String::as_str);
    let fill = |text: &str| {
        text.replace("@NAME@", name)
            .replace("@CRATE@", &name.replace('-', "_"))
            .replace("@WHERE@", place)
            .replace("@DEVICE@", &dependency("warpsmith-device", "device"))
            .replace("@BUILDER@", &dependency("warpsmith-cuda-builder", "cuda_builder"))
            .replace("@STD@", &dependency("warpsmith-cuda-std", "cuda_std"))
    };
    write(folder, fill).map_err(|error| Failure::error(format_args!("{}: {error}", folder.display())))?;
    terminal::print(format_args!(
        "{} is a project with kernels, a test and a benchmark. Next:\n  cd {}\n  cargo run --release\n  cargo test",
        folder.display(),
        folder.display()
    ))?;
    match (&arguments.git, &checkout) {
        (None, None) => terminal::print(format_args!(
            "Its dependencies are warpsmith's crates {VERSION} of crates.io (--path: of a checkout; --git: of a repository)."
        )),
        _ => Ok(()),
    }
}

/// Returns the package's name, which is the folder's.
fn name(folder: &Path) -> Result<&str, Failure> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let refused = |reason: &str| Err(Failure::error(format_args!("{} can't be a package's name: {reason}", folder.display())));
    let is_of_names = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(is_of_names) {
        return refused("the folder's name begins with a letter, and has letters, digits, - and _ (ASCII)");
    }
    if TAKEN.split(' ').any(|taken| taken == name.replace('-', "_")) {
        return refused("Cargo, Rust or warpsmith have something else of this name");
    }
    Ok(name)
}

/// Returns the absolute path of the checkout to take warpsmith's crates from, if there is one.
fn checkout(arguments: &Arguments) -> Result<Option<String>, Failure> {
    let checkout = arguments.path.as_deref().unwrap_or(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")));
    if !checkout.join("crates/device/Cargo.toml").is_file() {
        return match arguments.path {
            Some(_) => Err(Failure::error(format_args!("{} is no checkout of warpsmith", checkout.display()))),
            None => Ok(None),
        };
    }
    let path = fs::canonicalize(checkout).map_err(|error| Failure::error(format_args!("{}: {error}", checkout.display())))?;
    let unreadable = |path: &Path| Failure::error(format_args!("{} is not UTF-8, as a manifest has to be", path.display()));
    path.to_str().map(|path| Some(path.to_owned())).ok_or_else(|| unreadable(&path))
}

/// Writes all files, or none if one fails.
fn write(folder: &Path, fill: impl Fn(&str) -> String) -> io::Result<()> {
    if folder.symlink_metadata().is_ok() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it is there already"));
    }
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    let whole = tempfile::Builder::new().prefix(".warpsmith-new").tempdir_in(parent)?;
    let project = whole.path().join("project");
    for (file, text) in FILES {
        let path = project.join(file);
        fs::create_dir_all(path.parent().unwrap_or(&project))?;
        fs::write(path, fill(text))?;
    }
    fs::rename(project, folder)
}
