//! Functions of `cuda_std` that are made from their names: atomics, loads and stores with a cache
//! policy, asynchronous copies, inline PTX. A function is defined if a module declares and uses it,
//! so the Rust declarations are the only list.

use crate::{error::Result, llvm::Module, names::FUNCTION_PREFIX, symbols};

/// The crate `alloc` calls it before it allocates; rustc defines it, empty, where it links a program.
const NO_SHIM: &str = "__rustc::__rust_no_alloc_shim_is_unstable_v2";

/// Defines those that the module uses.
pub fn define(module: &mut Module<'_>) -> Result<()> {
    let used = module.functions().filter(|function| function.is_declaration() && function.is_used());
    let text = |name: String| {
        if symbols::readable(&name) == NO_SHIM {
            return Some(format!("define linkonce_odr void @{name}() alwaysinline nounwind {{\n  ret void\n}}\n"));
        }
        let (signature, body) = name.strip_prefix(FUNCTION_PREFIX).and_then(definition)?;
        let result = signature.split('(').next().unwrap_or_default();
        let signature = signature.replacen('(', &format!(" @{name}("), 1);
        let value = if result == "void" { result.to_owned() } else { format!("{result} %r") };
        Some(format!("define linkonce_odr {signature} alwaysinline nounwind {{\n{body}\n  ret {value}\n}}\n"))
    };
    let texts: Vec<String> = used.filter_map(|function| text(function.name())).collect();
    module.link_texts(&texts)
}

/// The function's signature without a name, and its body but for the return of `%r`.
fn definition(name: &str) -> Option<(String, String)> {
    if let Some(name) = name.strip_prefix("atomic_") {
        return atomic(name);
    }
    if let Some(name) = name.strip_prefix("ptx_") {
        return assembly(name);
    }
    let (parameters, body) = match name {
        "prefetch_l2" => {
            let prefetch = "  call void asm sideeffect \"prefetch.global.L2 [$0];\", \"l\"(ptr addrspace(1) %g) \
                            nounwind willreturn memory(inaccessiblemem: readwrite)";
            ("ptr %from", format!("{GLOBAL_FROM}{prefetch}"))
        }
        "copy_async_commit" => ("", "  call void @llvm.nvvm.cp.async.commit.group()".to_owned()),
        _ => match name.strip_prefix("copy_async_wait_") {
            Some(pending) => ("", format!("  call void @llvm.nvvm.cp.async.wait.group(i32 {pending})")),
            None => ("ptr %from, ptr %to", Word::of(name)?.moved(name)?),
        },
    };
    Some((format!("void({parameters})"), body))
}

/// `OPERATION[_ORDER]_TYPE_SCOPE`. Pointers are generic.
///
/// LLVM 22 writes `atomicrmw` on NVPTX without its scope and its order, as a plain `atom`, which is relaxed at the
/// scope of the device. That is right for relaxed ones of `device`, and more than enough for those of `block`, and both
/// gain from address-space inference (`atom.shared`). [`lower`](crate::lower) replaces those with the system's scope or
/// an order by PTX, with generic addresses.
fn atomic(name: &str) -> Option<(String, String)> {
    let (name, scope) = name.rsplit_once('_')?;
    let scope = match scope {
        "block" | "device" => format!("syncscope(\"{scope}\") "),
        "system" => String::new(),
        _ => return None,
    };
    if name == "fence_acq_rel" {
        return Some(("void()".to_owned(), format!("  fence {scope}acq_rel")));
    }
    let (name, rust) = name.rsplit_once('_')?;
    let (ty, word, size) = match rust {
        "u32" | "i32" => ("i32", "i32", 4),
        "u64" | "i64" => ("i64", "i64", 8),
        "f32" => ("float", "i32", 4),
        "f64" => ("double", "i64", 8),
        _ => return None,
    };
    let ordered = |order| Some((name.strip_suffix(order)?.strip_suffix('_')?, order));
    let (operation, order) = ["acq_rel", "acquire", "release"].into_iter().find_map(ordered).unwrap_or((name, "monotonic"));
    // Only sums know of floats; the others move bits.
    let word = if operation == "fetch_add" { ty } else { word };
    let (align, value) = (format!("align {size}"), format!("  %w = bitcast {ty} %v to {word}\n"));
    let (signature, body) = match operation {
        "load" => (format!("{ty}(ptr %p)"), format!("  %x = load atomic {word}, ptr %p {scope}{order}, {align}\n")),
        "store" => {
            let store = format!("  store atomic {word} %w, ptr %p {scope}{order}, {align}");
            return Some((format!("void(ptr %p, {ty} %v)"), value + &store));
        }
        "compare_exchange" => {
            let failure = if order == "acq_rel" { "acquire" } else { order };
            let exchange = format!(
                "  %e = bitcast {ty} %expected to {word}\n\
                 \x20 %pair = cmpxchg ptr %p, {word} %e, {word} %w {scope}{order} {failure}, {align}\n\
                 \x20 %x = extractvalue {{ {word}, i1 }} %pair, 0\n"
            );
            (format!("{ty}(ptr %p, {ty} %expected, {ty} %v)"), value + &exchange)
        }
        _ => {
            let instruction = match (operation, rust.as_bytes()[0]) {
                ("exchange", _) => "xchg",
                ("fetch_add", b'f') => "fadd",
                ("fetch_min", b'u') => "umin",
                ("fetch_max", b'u') => "umax",
                _ => operation.strip_prefix("fetch_")?,
            };
            let update = format!("  %x = atomicrmw {instruction} ptr %p, {word} %w {scope}{order}, {align}\n");
            (format!("{ty}(ptr %p, {ty} %v)"), value + &update)
        }
    };
    Some((signature, format!("{body}  %r = bitcast {word} %x to {ty}")))
}

/// `EFFECTS_OUTPUTS_INPUTS_TEMPLATE` of `ptx_asm!`: a letter, the letters of LLVM's constraints (`t1` is the input in
/// the register of output 1), and the text in hexadecimal digits. The function takes a pointer for each output, then
/// the inputs.
fn assembly(name: &str) -> Option<(String, String)> {
    let [effects, outputs, inputs, template] = <[&str; 4]>::try_from(name.split('_').collect::<Vec<_>>()).ok()?;
    let ty = |letter| match letter {
        'h' => Some(("i16", 2)),
        'r' | 'n' => Some(("i32", 4)),
        'l' => Some(("i64", 8)),
        'f' => Some(("float", 4)),
        'd' => Some(("double", 8)),
        _ => None,
    };
    let outputs: Vec<(char, (&str, usize))> = outputs.chars().map(|c| Some((c, ty(c)?))).collect::<Option<_>>()?;
    let mut parameters: Vec<String> = (0..outputs.len()).map(|i| format!("ptr %o{i}")).collect();
    let mut constraints: Vec<String> = outputs.iter().map(|(letter, _)| format!("={letter}")).collect();
    let mut arguments = Vec::new();
    let mut rest = inputs.chars().peekable();
    while let Some(letter) = rest.next() {
        let ty = if letter == 't' {
            let digits: String = std::iter::from_fn(|| rest.next_if(char::is_ascii_digit)).collect();
            let (_, (ty, _)) = outputs.get(digits.parse::<usize>().ok()?)?;
            constraints.push(digits);
            *ty
        } else {
            constraints.push(letter.to_string());
            ty(letter)?.0
        };
        let argument = format!("{ty} %i{}", arguments.len());
        parameters.push(argument.clone());
        arguments.push(argument);
    }
    // All of it may be a barrier or an exchange of lanes, whose branches LLVM must leave alone.
    let (volatile, attributes) = match effects {
        "v" => {
            constraints.push("~{memory}".to_owned());
            (" sideeffect", "convergent nounwind")
        }
        "n" => (" sideeffect", "convergent nounwind willreturn memory(inaccessiblemem: readwrite)"),
        "p" => ("", "convergent nounwind willreturn memory(none)"),
        _ => return None,
    };
    // In IR, any byte of a string may be written as `\XX`, and the digits are there already.
    let template: String = template.as_bytes().chunks(2).map(|byte| format!("\\{}", String::from_utf8_lossy(byte))).collect();
    let types: Vec<&str> = outputs.iter().map(|(_, (ty, _))| *ty).collect();
    let (result, value) = match types[..] {
        [] => ("void".to_owned(), ""),
        [ty] => (ty.to_owned(), "%v = "),
        _ => (format!("{{ {} }}", types.join(", ")), "%v = "),
    };
    let mut body = format!(
        "  {value}call {result} asm{volatile} \"{template}\", \"{}\"({}) {attributes}",
        constraints.join(","),
        arguments.join(", ")
    );
    for (i, (_, (ty, align))) in outputs.iter().enumerate() {
        let value = match types.len() {
            1 => "%v".to_owned(),
            _ => {
                body += &format!("\n  %v{i} = extractvalue {result} %v, {i}");
                format!("%v{i}")
            }
        };
        body += &format!("\n  store {ty} {value}, ptr %o{i}, align {align}");
    }
    Some((format!("void({})", parameters.join(", ")), body))
}

/// Casts of the pointers that must point into one memory.
const GLOBAL_FROM: &str = "  %g = addrspacecast ptr %from to ptr addrspace(1)\n";
const GLOBAL_TO: &str = "  %g = addrspacecast ptr %to to ptr addrspace(1)\n";
const SHARED_TO: &str = "  %s = addrspacecast ptr %to to ptr addrspace(3)\n";

/// Word moved by one instruction.
struct Word {
    /// As PTX names it after an instruction.
    suffix: &'static str,
    lanes: usize,
    /// The type of a lane, its bytes, and the constraint of its register.
    lane: &'static str,
    bytes: usize,
    register: &'static str,
}

impl Word {
    /// The word that a function's name ends with.
    fn of(name: &str) -> Option<Self> {
        let (suffix, lanes, lane, bytes, register) = match name.rsplit_once('_')?.1 {
            "b32" => (".b32", 1, "i32", 4, "r"),
            "b64" => (".b64", 1, "i64", 8, "l"),
            "v2b32" => (".v2.b32", 2, "i32", 4, "r"),
            "v4b32" => (".v4.b32", 4, "i32", 4, "r"),
            "v2b64" => (".v2.b64", 2, "i64", 8, "l"),
            _ => return None,
        };
        Some(Word { suffix, lanes, lane, bytes, register })
    }

    /// The body of a function that moves a word. Loads and stores go through a local variable,
    /// which disappears after inlining.
    fn moved(&self, name: &str) -> Option<String> {
        let Word { lanes, lane, bytes, .. } = self;
        let size = lanes * bytes;
        let ty = if *lanes == 1 { (*lane).to_owned() } else { format!("<{lanes} x {lane}>") };
        let (from_local, to_local) =
            (format!("load {ty}, ptr %from, align {bytes}"), format!("store {ty} %v, ptr %to, align {bytes}"));
        Some(match name.rsplit_once('_')?.0 {
            // LLVM has these; the other policies exist as PTX only.
            "load_nc" => {
                format!("{GLOBAL_FROM}  %v = load {ty}, ptr addrspace(1) %g, align {size}, !invariant.load !{{}}\n  {to_local}")
            }
            "load_volatile" => format!("  %v = load volatile {ty}, ptr %from, align {size}\n  {to_local}"),
            "store_volatile" => format!("  %v = {from_local}\n  store volatile {ty} %v, ptr %to, align {size}"),
            "load_nc_no_allocate" => self.loaded("ld.global.nc.L1::no_allocate", ",~{memory}"),
            "load_streaming" => self.loaded("ld.global.cs", ",~{memory}"),
            "load_cg" => self.loaded("ld.global.cg", ",~{memory}"),
            "load_last_use" => self.loaded("ld.global.lu", ",~{memory}"),
            // They order nothing. LLVM would merge and repeat plain ones. A loop with `ld.relaxed` gets a YIELD from ptxas,
            // with which a step takes some 150 cycles more; the axioms of PTX hold for races of equal size with `ld`, too.
            "load_relaxed" => self.loaded("ld.global", ""),
            "load_relaxed_shared" => self.loaded("ld.shared", ""),
            "store_relaxed" => self.stored("st.relaxed.cta.global", ""),
            "store_streaming" => self.stored("st.global.cs", ",~{memory}"),
            "store_cg" => self.stored("st.global.cg", ",~{memory}"),
            "store_wt" => self.stored("st.global.wt", ",~{memory}"),
            // For sm_80 and later, which callers see to.
            "copy_async" => {
                let copy = format!("llvm.nvvm.cp.async.{}.shared.global.{size}", if size == 16 { "cg" } else { "ca" });
                format!("{GLOBAL_FROM}{SHARED_TO}  call void @{copy}(ptr addrspace(3) %s, ptr addrspace(1) %g)")
            }
            _ => return None,
        })
    }

    fn loaded(&self, instruction: &str, clobber: &str) -> String {
        let Word { suffix, lanes, lane, bytes, register } = self;
        let ty = self.list("{ ", |_| (*lane).to_owned(), " }");
        let values = self.list("{", |k| format!("${k}"), "}");
        let outputs = format!("={register},").repeat(*lanes);
        let space = if instruction == "ld.shared" { 3 } else { 1 };
        format!(
            "  %p = addrspacecast ptr %from to ptr addrspace({space})\n\
             \x20 %v = call {ty} asm sideeffect \"{instruction}{suffix} {values}, [${lanes}];\", \
             \"{outputs}l{clobber}\"(ptr addrspace({space}) %p) nounwind willreturn memory(argmem: read)\n\
             \x20 store {ty} %v, ptr %to, align {bytes}"
        )
    }

    fn stored(&self, instruction: &str, clobber: &str) -> String {
        let Word { suffix, lanes, lane, bytes, register } = self;
        let load = |k| {
            let place = format!("  %p{k} = getelementptr inbounds {lane}, ptr %from, i64 {k}\n");
            format!("{place}  %v{k} = load {lane}, ptr %p{k}, align {bytes}\n")
        };
        let loads: String = (0..*lanes).map(load).collect();
        let values = self.list("{", |k| format!("${}", k + 1), "}");
        let inputs = format!(",{register}").repeat(*lanes);
        let arguments: String = (0..*lanes).map(|k| format!(", {lane} %v{k}")).collect();
        format!(
            "{GLOBAL_TO}{loads}  call void asm sideeffect \"{instruction}{suffix} [$0], {values};\", \
             \"l{inputs}{clobber}\"(ptr addrspace(1) %g{arguments}) nounwind willreturn memory(argmem: write)"
        )
    }

    /// A text for each lane; in brackets where there are several.
    fn list(&self, open: &str, text: impl Fn(usize) -> String, close: &str) -> String {
        let list = (0..self.lanes).map(text).collect::<Vec<_>>().join(", ");
        if self.lanes == 1 { list } else { format!("{open}{list}{close}") }
    }
}
