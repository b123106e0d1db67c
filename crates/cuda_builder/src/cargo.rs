//! Kernel crate -> an archive of LLVM bitcode, through cargo.

use std::{
    collections::BTreeSet,
    env,
    fmt::Display,
    fs,
    hash::{DefaultHasher, Hasher},
    path::{Path, PathBuf},
    process::{Command, Output},
};

use cargo_metadata::{Dependency, DependencyKind, Metadata, MetadataCommand, Package, Target, TargetKind};

use crate::error::{BuilderError, Result, refused};

/// Crate to compile, and flags.
pub struct Options<'a> {
    pub crate_path: &'a Path,
    pub target_dir: &'a Path,
    pub line_tables: bool,
    /// More arguments for cargo, such as features.
    pub arguments: &'a [String],
}

/// A compiled kernel crate.
pub struct Bitcode {
    /// The crate's name as rustc spells it.
    pub name: String,
    /// A hash of the package's folder, as `KernelInfo` has it.
    pub package: u64,
    /// The static library, with a bitcode member for each crate.
    pub archive: PathBuf,
    /// LLVM IR files that the crate and its dependencies bring along (`[package.metadata.cuda] ir = [..]`).
    pub ir: Vec<PathBuf>,
    /// Those for builds with panic messages alone (`panic_ir = [..]`).
    pub panic_ir: Vec<PathBuf>,
    /// Every file that the result depends on.
    pub sources: BTreeSet<PathBuf>,
}

/// The host's rustc flags for device code. The comments say what would go wrong without each.
const FLAGS: &[&str] = &[
    "--cfg=cuda_device",
    // Objects hold bitcode instead of machine code.
    "-Clinker-plugin-lto",
    // The host's optimiser would vectorise for the host, and doesn't know that barriers are convergent.
    "-Cno-prepopulate-passes",
    "-Cpanic=abort",
    "-Copt-level=3",
    "-Ccodegen-units=1",
    "-Cforce-frame-pointers=no",
    // Would duplicate a block that holds a barrier.
    "-Zmir-enable-passes=-JumpThreading",
];

/// Kinds of library targets.
const LIBRARIES: &[TargetKind] =
    &[TargetKind::Lib, TargetKind::RLib, TargetKind::StaticLib, TargetKind::CDyLib, TargetKind::DyLib];

/// The path of the crate's manifest.
fn manifest(crate_path: &Path) -> Result<PathBuf> {
    let manifest = crate_path.join("Cargo.toml");
    if !manifest.is_file() {
        return refused(format!(
            "no kernel crate at {}: `CudaBuilder::new` wants the folder that holds its Cargo.toml",
            crate_path.display()
        ));
    }
    manifest.canonicalize().map_err(|source| BuilderError::Io { path: manifest, source })
}

pub fn compile(options: &Options<'_>) -> Result<Bitcode> {
    let manifest = manifest(options.crate_path)?;
    let target = host_triple()?;
    let mut flags: Vec<String> = FLAGS.iter().map(ToString::to_string).collect();
    flags.push(format!("-Cdebuginfo={}", if options.line_tables { "line-directives-only" } else { "none" }));
    let described = describe(&manifest, &target, options.arguments, &flags)?;

    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["rustc", "--quiet", "--lib", "--release", "--crate-type=lib,staticlib", "--color=never", "--manifest-path"])
        .arg(&manifest)
        // With an explicit target, the flags reach neither build scripts nor procedural macros.
        .args(["--target", &target])
        .arg("--target-dir")
        .arg(options.target_dir)
        // The outer cargo holds the lock of its own.
        .env("CARGO_BUILD_BUILD_DIR", options.target_dir)
        .args(options.arguments)
        // Redundant if the crate declares it itself. Nobody sees warnings, except before an error.
        .args(["--", "-Zcrate-attr=no_std", "-Awarnings"]);
    let output = run(command, &flags)?;
    let name = described.name;
    if !output.status.success() {
        let mut messages = String::from_utf8_lossy(&output.stderr).trim_end().to_owned();
        messages += &hint(&messages);
        return Err(BuilderError::Compile { name, messages });
    }

    let folder = options.target_dir.join(&target).join("release");
    let mut sources = described.sources;
    sources.extend(host_manifest());
    sources.extend(dep_info(&folder.join(format!("lib{name}.d")))?);
    Ok(Bitcode {
        archive: folder.join(format!("lib{name}.a")),
        name,
        package: hash_of_package(&manifest),
        ir: described.ir,
        panic_ir: described.panic_ir,
        sources,
    })
}

/// Explains errors that rustc can't: this is device code, and it has substitutes for missing items.
fn hint(messages: &str) -> String {
    const NO_STD: &str = "Device code has no `std`: use `core`, and `cuda_std` for what a GPU has.";
    const NO_METHOD: &str =
        "Without `std` floats have the methods of `cuda_std::GpuFloat` (use it, or the prelude), and few others.";
    const HINTS: &[(&str, &str)] = &[
        (
            "duplicate lang item",
            "The dependency that is named above uses `std`, which a GPU doesn't have. Many crates do without: \
             `default-features = false`.",
        ),
        (
            "no global memory allocator",
            "The kernel crate or a dependency of it uses the crate `alloc`, which takes an allocator, on a GPU too: \
             write `cuda_std::device_heap!();` at the root of the kernel crate.",
        ),
        (
            "is defined multiple times",
            "`#[kernel]` writes a module of the kernel's name beside it: there can't be another, or one that re-exports the kernel.",
        ),
        ("module is not supported in `trait`s or `impl`s", "A kernel is a function of a module."),
        ("cannot find module or crate `std`", NO_STD),
        ("cannot find macro", "Device code has no `std`; `cuda_std::println!` prints, and is not in the prelude."),
        ("found for type `f32` in the current scope", NO_METHOD),
        ("found for type `f64` in the current scope", NO_METHOD),
    ];
    let hints = HINTS.iter().filter(|(part, _)| messages.contains(part)).map(|(_, hint)| format!("\n{hint}"));
    hints.take(1).collect()
}

/// Returns the identity that `#[kernel]` gives a package: the hash of its folder.
/// (`cuda_std_macros` has the same lines; one compiler compiles both, so they have the same
/// hasher.)
fn hash_of_package(manifest: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(manifest.parent().unwrap_or(manifest).as_os_str().as_encoded_bytes());
    hasher.finish()
}

/// Runs a cargo command with the device's flags. Settings of the outer cargo (or clippy, or a
/// coverage tool) don't reach it.
fn run(mut command: Command, flags: &[String]) -> Result<Output> {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let inherited = text.starts_with("CARGO_PROFILE_")
            || text.starts_with("CARGO_FEATURE_")
            || text.starts_with("CARGO_CFG_")
            || text.starts_with("CARGO_PKG_")
            || matches!(
                &*text,
                "RUSTFLAGS"
                    | "RUSTC_WRAPPER"
                    | "RUSTC_WORKSPACE_WRAPPER"
                    | "CARGO_BUILD_RUSTC_WRAPPER"
                    | "CARGO_BUILD_RUSTC_WORKSPACE_WRAPPER"
                    | "CLIPPY_ARGS"
                    | "CARGO_BUILD_TARGET"
                    | "CARGO_BUILD_RUSTFLAGS"
                    | "CARGO_TARGET_DIR"
                    | "MAKEFLAGS"
                    | "CARGO_MAKEFLAGS"
                    | "TARGET"
                    | "HOST"
                    | "PROFILE"
                    | "OPT_LEVEL"
                    | "DEBUG"
                    | "NUM_JOBS"
            );
        if inherited {
            command.env_remove(&name);
        }
    }
    command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    command.output().map_err(|source| BuilderError::Io { path: PathBuf::from(command.get_program()), source })
}

struct Description {
    /// The library's name.
    name: String,
    ir: Vec<PathBuf>,
    panic_ir: Vec<PathBuf>,
    sources: BTreeSet<PathBuf>,
}

/// The crate's name, and what its dependencies add.
fn describe(manifest: &Path, target: &str, arguments: &[String], flags: &[String]) -> Result<Description> {
    // Only the device's dependencies: others need not even be downloaded.
    let mut options = vec!["--filter-platform", target];
    options.extend(features(arguments));
    let metadata = metadata(manifest, options, flags)?;
    let root = package(&metadata, manifest)?;

    // Only what the kernel crate itself depends on: a workspace's other members have no say.
    let resolve = metadata.resolve.as_ref().ok_or_else(|| undescribed(manifest, "no dependency graph"))?;
    let mut reached = BTreeSet::new();
    let mut open = vec![&root.id];
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            let dependencies = resolve.nodes.iter().filter(|node| &node.id == id).flat_map(|node| &node.deps);
            let built = dependencies
                .filter(|dependency| dependency.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development));
            open.extend(built.map(|dependency| &dependency.pkg));
        }
    }

    let (mut ir, mut panic_ir) = (Vec::new(), Vec::new());
    // The workspace's manifest and lock file settle features and versions.
    let workspace = metadata.workspace_root.as_std_path();
    let mut sources = BTreeSet::from([workspace.join("Cargo.toml"), workspace.join("Cargo.lock")]);
    for package in metadata.packages.iter().filter(|package| reached.contains(&package.id)) {
        if package.source.is_none() {
            sources.insert(package.manifest_path.clone().into_std_path_buf());
        }
        for (key, files) in [("ir", &mut ir), ("panic_ir", &mut panic_ir)] {
            for file in ir_files(package, key) {
                sources.insert(file.clone());
                files.push(file);
            }
        }
    }
    Ok(Description { name: library(root, manifest)?, ir, panic_ir, sources })
}

/// Selects cargo's arguments that choose features; `cargo metadata` takes them, too.
pub fn features(arguments: &[String]) -> impl Iterator<Item = &str> {
    let mut value_follows = false;
    arguments.iter().map(String::as_str).filter(move |argument| {
        let is_value = value_follows;
        value_follows = matches!(*argument, "--features" | "-F");
        let alone = matches!(*argument, "--no-default-features" | "--all-features");
        is_value || value_follows || alone || argument.starts_with("--features=") || argument.starts_with("-F")
    })
}

/// Runs `cargo metadata`.
fn metadata<'a>(manifest: &Path, options: impl Into<Vec<&'a str>>, flags: &[String]) -> Result<Metadata> {
    let options: Vec<String> = options.into().into_iter().map(str::to_owned).collect();
    let command = MetadataCommand::new().manifest_path(manifest).other_options(options).cargo_command();
    let output = run(command, flags)?;
    if !output.status.success() {
        return Err(undescribed(manifest, String::from_utf8_lossy(&output.stderr)));
    }
    MetadataCommand::parse(String::from_utf8_lossy(&output.stdout)).map_err(|error| undescribed(manifest, error))
}

/// The error of a crate that cargo can't describe.
fn undescribed(manifest: &Path, reason: impl Display) -> BuilderError {
    BuilderError::Refused(format!("cargo could not describe the crate at {}: {reason}", manifest.display()))
}

fn package<'a>(metadata: &'a Metadata, manifest: &Path) -> Result<&'a Package> {
    let found = metadata.packages.iter().find(|package| package.manifest_path.as_std_path() == manifest);
    found.ok_or_else(|| undescribed(manifest, "the package isn't part of its own workspace"))
}

/// The name of a package's library, which may be unlike the package's.
fn library(package: &Package, manifest: &Path) -> Result<String> {
    let is_library = |target: &&Target| target.kind.iter().any(|kind| LIBRARIES.contains(kind));
    let name = package.targets.iter().find(is_library).map(|target| target.name.replace('-', "_"));
    name.ok_or_else(|| undescribed(manifest, "the package has no library"))
}

/// A kernel crate's name, and its package's hash, without compiling anything.
pub fn identify(crate_path: &Path) -> Result<(String, u64)> {
    let manifest = manifest(crate_path)?;
    let metadata = metadata(&manifest, ["--no-deps", "--offline"], &[])?;
    Ok((library(package(&metadata, &manifest)?, &manifest)?, hash_of_package(&manifest)))
}

/// The manifest of the package whose build script this is.
fn host_manifest() -> Option<PathBuf> {
    env::var_os("OUT_DIR")?;
    let manifest = Path::new(&env::var_os("CARGO_MANIFEST_DIR")?).join("Cargo.toml");
    manifest.canonicalize().ok()
}

/// Arguments that choose the features of the kernel crate which the build script's package chooses: those of its
/// dependency on the crate, and what its own features add. Nothing if there is no such dependency.
pub fn features_of_host(crate_path: &Path) -> Result<Vec<String>> {
    let Some(host) = host_manifest() else { return Ok(Vec::new()) };
    let kernels = manifest(crate_path)?;
    let of = |manifest| metadata(manifest, ["--no-deps", "--offline"], &[]);
    let (in_host, in_kernels) = (of(&host)?, of(&kernels)?);
    let (host, kernels) = (package(&in_host, &host)?, package(&in_kernels, &kernels)?);
    let is_it = |dependency: &&Dependency| dependency.kind == DependencyKind::Normal && dependency.name == *kernels.name;
    let Some(dependency) = host.dependencies.iter().find(is_it) else { return Ok(Vec::new()) };
    let name = dependency.rename.as_ref().unwrap_or(&dependency.name);
    let is_enabled = |feature: &str| env::var_os(format!("CARGO_FEATURE_{}", feature.to_uppercase().replace('-', "_"))).is_some();
    let enabled = host.features.iter().filter(|(feature, _)| is_enabled(feature)).flat_map(|(_, adds)| adds);
    let added = enabled.filter_map(|feature| feature.strip_prefix(&**name)?.trim_start_matches('?').strip_prefix('/'));
    let features = dependency.features.iter().map(String::as_str).chain(added);
    let mut arguments: Vec<String> = features.map(|feature| format!("--features={feature}")).collect();
    arguments.extend((!dependency.uses_default_features).then(|| "--no-default-features".to_owned()));
    Ok(arguments)
}

fn ir_files(package: &Package, key: &str) -> Vec<PathBuf> {
    let folder = package.manifest_path.parent().map(|folder| folder.as_std_path().to_owned()).unwrap_or_default();
    package
        .metadata
        .get("cuda")
        .and_then(|cuda| cuda.get(key))
        .and_then(|ir| ir.as_array())
        .into_iter()
        .flatten()
        .filter_map(|file| file.as_str())
        .map(|file| folder.join(file))
        .collect()
}

/// The source files in cargo's dep-info: `output: source source ...`, with `\ ` for a blank in a name.
fn dep_info(path: &Path) -> Result<Vec<PathBuf>> {
    let text = fs::read_to_string(path).map_err(|source| BuilderError::Io { path: path.to_owned(), source })?;
    let mut files = Vec::new();
    for line in text.lines() {
        let Some((_, list)) = line.split_once(": ") else {
            continue;
        };
        files.extend(list.replace("\\ ", "\0").split_whitespace().map(|file| PathBuf::from(file.replace('\0', " "))));
    }
    Ok(files)
}

/// The triple of the rustc in use.
fn host_triple() -> Result<String> {
    let rustc = rustc();
    let output = Command::new(&rustc).arg("-vV").output().map_err(|error| no_sysroot(&rustc, error))?;
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
        .ok_or_else(|| no_sysroot(&rustc, "it names no host"))
}

/// The error of a compiler that doesn't answer.
pub fn no_sysroot(rustc: &str, reason: impl Display) -> BuilderError {
    BuilderError::Refused(format!(
        "`{rustc} --print sysroot` failed ({reason}): cuda_builder needs the Rust toolchain that runs it"
    ))
}

/// The compiler: the one that runs the build script, where there is one.
pub fn rustc() -> String {
    env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned())
}
