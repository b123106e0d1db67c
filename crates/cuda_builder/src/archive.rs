//! The members of a static library that hold LLVM bitcode.

use std::{fs::File, io::Read, path::Path};

use object::{Object, ObjectSection, ObjectSymbol};

use crate::error::{BuilderError, Result};

/// A member of the archive.
pub enum Member {
    /// A crate compiled for the device.
    Bitcode {
        /// The member's name.
        name: String,
        /// LLVM bitcode.
        data: Vec<u8>,
    },
    /// A precompiled crate of the toolchain (`core`, `compiler_builtins`): machine code, with its bitcode in a section
    /// beside it.
    Precompiled {
        /// The member's name.
        name: String,
        /// The symbols it defines.
        defines: Vec<String>,
        /// LLVM bitcode.
        data: Vec<u8>,
    },
}

/// Reads all members that hold bitcode.
pub fn members(path: &Path) -> Result<Vec<Member>> {
    let archive_error = |reason: String| BuilderError::Refused(format!("{}: {reason}", path.display()));
    let file = File::open(path).map_err(|source| BuilderError::Io { path: path.to_owned(), source })?;
    let mut archive = ar::Archive::new(file);
    let mut members = Vec::new();
    while let Some(entry) = archive.next_entry() {
        let mut entry = entry.map_err(|error| archive_error(error.to_string()))?;
        let name = String::from_utf8_lossy(entry.header().identifier()).into_owned();
        let mut data = Vec::new();
        entry.read_to_end(&mut data).map_err(|error| archive_error(format!("member {name}: {error}")))?;
        if data.starts_with(b"BC\xC0\xDE") {
            members.push(Member::Bitcode { name, data });
        } else if let Ok(object) = object::File::parse(&*data)
            && let Some(section) = object.section_by_name(".llvmbc")
            && let Ok(bitcode) = section.data()
        {
            let defines = object
                .symbols()
                .filter(|symbol| symbol.is_definition() && symbol.is_global())
                .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
                .collect();
            members.push(Member::Precompiled { name, defines, data: bitcode.to_vec() });
        }
    }
    Ok(members)
}
