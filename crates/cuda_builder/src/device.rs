//! Host module -> device module: kernels, attributes, memory spaces, panics, and what a GPU can't have.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    error::{Result, refused},
    llvm::{AddressSpace, Function, Module},
    lower,
    names::{CONSTANT_SECTION, DYNAMIC_SHARED, REPORT_MESSAGE, REPORT_PANIC, SHARED_ARRAY},
    symbols,
};

/// Attributes of the host's processor and operating system.
const HOST_STRINGS: &[&str] = &["target-cpu", "target-features", "tune-cpu", "probe-stack", "frame-pointer", "stack-probe-size"];
const HOST_ATTRIBUTES: &[&str] = &["uwtable", "nonlazybind", "noredzone", "sspstrong", "ssp", "sspreq"];

/// Prefixes of the intrinsics that exist on other processors alone.
const HOST_INTRINSICS: &[&str] = &["llvm.x86.", "llvm.aarch64.", "llvm.arm."];
/// Generic intrinsics without an NVPTX instruction, which a C library would have to provide.
const LIBRARY_INTRINSICS: &[&str] = &[
    "sin", "cos", "tan", "sincos", "sincospi", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "exp2", "exp10",
    "log", "log2", "log10", "pow", "powi", "ldexp", "frexp", "modf", "lrint", "llrint", "lround", "llround",
];

#[derive(Clone, Copy)]
pub struct Options {
    pub fma_contraction: bool,
    pub panic_messages: bool,
}

/// A kernel's Rust path, the signature of its parameters, and whether architectures differ in its code.
pub struct Kernel {
    pub path: String,
    pub signature: u64,
    pub depends_on_arch: bool,
}

/// The kernels by their PTX names.
pub type Kernels = BTreeMap<String, Kernel>;

/// Makes the linked module one for the device; returns its kernels.
pub fn retarget(module: &mut Module<'_>, options: Options) -> Result<Kernels> {
    refuse_thread_locals(module)?;
    let mut kernels = make_kernels(module)?;
    for function in module.functions() {
        for attribute in HOST_STRINGS {
            function.remove_string_attribute(attribute);
        }
        for attribute in HOST_ATTRIBUTES {
            function.remove_attribute(attribute);
        }
        if !function.is_intrinsic() {
            // Panics abort, also in the toolchain's own crates, which were compiled to unwind.
            function.add_attribute("nounwind");
            // LLVM must not move or duplicate a barrier or a shuffle out of a helper; its own inference takes the mark
            // away where nothing convergent is called.
            function.add_attribute("convergent");
        }
        // Libraries of functions are written for separate roundings, and keep their error bounds (and the CPU's results)
        // with them. Part of libm is in `compiler_builtins`; `fma` is of cuda_std's IR.
        let is_exact = || {
            let path = symbols::readable(&function.name());
            let start = path.trim_start_matches('<');
            let libraries = ["libm::", "cuda_std::single::", "__cuda_std_"];
            libraries.iter().any(|library| start.starts_with(library)) || lower::is_compiler_builtin(&path)
        };
        if options.fma_contraction && !function.is_declaration() && !is_exact() {
            function.allow_contraction();
        }
    }
    place_memory(module);

    let undefined: Vec<_> = module
        .functions()
        .filter(|function| function.is_declaration() && !function.is_intrinsic() && function.never_returns())
        .collect();
    for function in undefined {
        let path = symbols::readable(&function.name());
        let message = REPORT_MESSAGE.iter().find(|(panics, _)| *panics == path).map(|(_, report)| *report);
        if !options.panic_messages || message.is_some() {
            // A trap is shorter than a call of it, and a kernel without calls needs no stack.
            // Inlining also turns a report's arguments into constants, which tell it whether the
            // message needs formatting.
            function.always_inline();
        }
        module.define_as_trap(&function, options.panic_messages.then_some((message, REPORT_PANIC)));
    }
    module.hide_reports();
    for name in kernels_reaching(module, &kernels, vec![ASKS_ARCH.to_owned()]) {
        kernels.entry(name).and_modify(|kernel| kernel.depends_on_arch = true);
    }
    Ok(kernels)
}

fn make_kernels(module: &mut Module<'_>) -> Result<Kernels> {
    let mut kernels = Kernels::new();
    let signatures = module.signatures();
    for function in module.functions() {
        let Some(bounds) = function.kernel_section() else {
            function.clear_section();
            continue;
        };
        if function.is_declaration() {
            continue;
        }
        let mangled = function.name();
        let path = symbols::readable(&mangled);
        if let Some((position, ty)) = function.bad_kernel_parameters().into_iter().next() {
            return refused(format!(
                "the kernel `{path}` takes a parameter of a type that PTX can't pass ({ty}, in position {position}): a kernel takes \
                 scalars up to 64 bits, `&[T]`, `&T`, `*const T`, `*mut T`, `DisjointSlice<T>`, `DisjointMatrix<T>`, and \
                 structures of these with `#[derive(KernelParam)]`"
            ));
        }
        if let Some(caller) = function.callers().first() {
            let caller = symbols::readable(caller);
            return refused(format!(
                "the kernel `{path}` is called by `{caller}`: device code can't call a kernel; move what they share into a \
                 function that both call"
            ));
        }
        let symbol = symbols::kernel_name(&mangled);
        if !symbol.is_ascii() {
            return refused(format!(
                "the kernel `{path}` can't be named so in PTX, where names have ASCII letters, digits and `_`: rename it, or its \
                 module"
            ));
        }
        if kernels.contains_key(&symbol) {
            return refused(format!(
                "two kernels would both be named `{symbol}` in PTX: rename one (the name is the path without the crate, joined by `_`)"
            ));
        }
        for (key, value) in bounds.split('.').filter_map(|bound| bound.split_once('=')) {
            let attribute = match key {
                "max_threads" => "nvvm.maxntid",
                "min_blocks" => "nvvm.minctasm",
                "block" => "nvvm.reqntid",
                "cluster" => "nvvm.cluster_dim",
                "max_registers" => "nvvm.maxnreg",
                _ => continue,
            };
            function.add_string_attribute(attribute, value);
        }
        function.clear_section();
        function.make_kernel(&symbol);
        let signature = signatures.get(&symbol).copied().unwrap_or_default();
        let depends_on_arch = bounds.contains("cluster=");
        kernels.insert(symbol, Kernel { path, signature, depends_on_arch });
    }
    Ok(kernels)
}

/// Makes kernels whose names begin with one of `left_out` functions like others. There has to be a kernel at all.
pub fn leave_out(module: &Module<'_>, left_out: &[String]) -> Result<()> {
    let is_kernel = |function: &Function<'_>| !function.is_declaration() && function.kernel_section().is_some();
    let kernels: Vec<_> = module.functions().filter(is_kernel).collect();
    if kernels.is_empty() {
        return refused(format!(
            "the crate `{}` holds no kernel: mark one with `#[kernel]`, and make it and its modules `pub`, so that rustc keeps it",
            module.name()
        ));
    }
    for function in kernels {
        let name = symbols::kernel_name(&function.name());
        if left_out.iter().any(|beginning| name.starts_with(beginning)) {
            function.clear_section();
        }
    }
    Ok(())
}

/// Moves shared and constant memory into their address spaces.
fn place_memory(module: &mut Module<'_>) {
    for function in module.functions().filter(|function| function.name() == SHARED_ARRAY) {
        function.place_arrays(module);
    }
    module.place_globals(|global| {
        if global.name() == DYNAMIC_SHARED {
            Some(AddressSpace::Shared)
        } else if global.section().starts_with(CONSTANT_SECTION) {
            Some(AddressSpace::Constant)
        } else {
            global.clear_section();
            None
        }
    });
}

/// LLVM stops at a thread-local, or takes it for one that all threads share.
fn refuse_thread_locals(module: &Module<'_>) -> Result<()> {
    match module.globals().find(|global| global.is_thread_local() && !global.users().is_empty()) {
        Some(global) => {
            let (name, callers) = (symbols::readable(&global.name()), list(&global.users(), &Kernels::new()));
            refused(format!(
                "device code uses the thread-local `{name}`, in {callers}: a GPU's threads have none. Use a local variable, or \
                 `shared_array!` with an element for each thread"
            ))
        }
        None => Ok(()),
    }
}

/// Inline assembly in Rust code is the host's. (That in IR files is PTX; they are linked after this check.)
pub fn refuse_host_assembly(module: &Module<'_>) -> Result<()> {
    for function in module.functions().filter(|function| !function.is_declaration()) {
        // An empty one is an optimisation barrier (`core::hint::black_box`), which PTX can have with an operand in any
        // register.
        let is_barrier = |(text, constraints): (String, String)| {
            let any = |constraint: &str| constraint.starts_with("~{") || constraint.trim_start_matches(['=', '+', '&']) == "r";
            text.trim().is_empty() && constraints.split(',').all(|constraint| constraint.is_empty() || any(constraint))
        };
        if !function.inline_assembly().all(is_barrier) {
            return refused(format!(
                "device code holds inline assembly for the host's processor, in `{}`: write PTX with `cuda_std::ptx_asm!`, or mark \
                 it `#[cfg(not(cuda_device))]`",
                symbols::readable(&function.name())
            ));
        }
    }
    Ok(())
}

/// After the optimiser has removed the landing pads of functions that can't unwind: nothing needs Rust's personality
/// function.
pub fn forget_unwinding(module: &Module<'_>) {
    for function in module.functions() {
        function.clear_personality();
    }
}

/// Returns a caller of each undefined symbol and host intrinsic. Call it before the optimiser
/// inlines the callers away.
pub fn callers_of_undefined(module: &Module<'_>, kernels: &Kernels) -> BTreeMap<String, String> {
    let undefined = module.functions().filter(|function| function.is_declaration() && function.is_used());
    let missing = undefined.filter(|function| !function.is_intrinsic() || is_refused(&function.name()));
    missing.map(|function| (function.name(), callers(&function, kernels))).collect()
}

/// Returns true for the intrinsics that a GPU doesn't have.
fn is_refused(intrinsic: &str) -> bool {
    let operation = intrinsic.trim_start_matches("llvm.").split('.').next().unwrap_or_default();
    HOST_INTRINSICS.iter().any(|prefix| intrinsic.starts_with(prefix)) || LIBRARY_INTRINSICS.contains(&operation)
}

/// The paths of the function's callers.
fn callers(function: &Function<'_>, kernels: &Kernels) -> String {
    list(&function.callers(), kernels)
}

/// The paths of functions, as a list that isn't too long.
pub fn list(functions: &[String], kernels: &Kernels) -> String {
    let path = |name: &String| kernels.get(name).map_or_else(|| symbols::readable(name), |kernel| kernel.path.clone());
    let mut text = functions.iter().take(3).map(|name| format!("`{}`", path(name))).collect::<Vec<_>>().join(", ");
    if functions.len() > 3 {
        text.push_str(&format!(" and {} more", functions.len() - 3));
    }
    text
}

/// Refuses what is still used after the optimiser removed dead code, but neither exists on a GPU nor is `linked`.
pub fn check_is_complete(
    module: &Module<'_>,
    kernels: &Kernels,
    before: &BTreeMap<String, String>,
    linked: &BTreeSet<String>,
) -> Result<()> {
    for function in module.functions().filter(|function| function.is_declaration() && function.is_used()) {
        let name = function.name();
        let callers = || match before.get(&name) {
            Some(callers) if !callers.is_empty() => callers.clone(),
            _ => callers(&function, kernels),
        };
        if function.is_intrinsic() {
            if is_refused(&name) {
                return refused(format!(
                    "device code uses the intrinsic `{name}`, which a GPU doesn't have; it is called by {}. Use cuda_std::math for \
                     float functions, and turn off a dependency's SIMD feature",
                    callers()
                ));
            }
        } else if !DEVICE_RUNTIME.contains(&&*name) && !linked.contains(&name) {
            return refused(format!(
                "device code needs `{}`, which doesn't exist on a GPU; it is called by {}. Kernels are no_std: use cuda_std's \
                 counterpart, mark the caller `#[cfg(not(cuda_device))]`, or link a file that defines it (`CudaBuilder::link`)",
                symbols::readable(&name),
                callers()
            ));
        }
    }
    Ok(())
}

/// The most shared memory that a kernel may have in arrays: `ptxas`, and so the driver, refuses more.
const MOST_SHARED: u64 = 48 << 10;

/// Refuses kernels with more shared memory than that.
pub fn check_shared_memory(module: &Module<'_>, kernels: &Kernels) -> Result<()> {
    let mut sums = BTreeMap::<String, u64>::new();
    for global in module.globals() {
        let Some(bytes) = global.shared_bytes() else {
            continue;
        };
        for kernel in kernels_reaching(module, kernels, global.users()) {
            *sums.entry(kernel).or_default() += bytes;
        }
    }
    match sums.into_iter().find(|(_, bytes)| *bytes > MOST_SHARED) {
        Some((kernel, bytes)) => refused(format!(
            "the kernel `{}` has {bytes} bytes in `shared_array!`s, of which a GPU takes {MOST_SHARED}: take the rest as dynamic \
             shared memory (`dynamic_shared`), which a launch gives it more of",
            kernels[&kernel].path
        )),
        None => Ok(()),
    }
}

/// The kernels that are or call one of the functions, by their PTX names.
pub fn kernels_reaching(module: &Module<'_>, kernels: &Kernels, functions: Vec<String>) -> Vec<String> {
    let by_name: BTreeMap<_, _> = module.functions().map(|function| (function.name(), function)).collect();
    let mut reached: BTreeSet<String> = functions.iter().cloned().collect();
    let mut open = functions;
    while let Some(name) = open.pop() {
        let callers = by_name.get(&name).into_iter().flat_map(|function| function.callers());
        open.extend(callers.filter(|caller| reached.insert(caller.clone())));
    }
    reached.into_iter().filter(|name| kernels.contains_key(name)).collect()
}

/// LLVM's function that `cuda_std::arch` calls.
pub const ASKS_ARCH: &str = "__nvvm_reflect";

/// Functions that the CUDA driver provides to PTX.
pub const DEVICE_RUNTIME: &[&str] = &["vprintf", "malloc", "free", "__assertfail"];
