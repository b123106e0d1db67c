//! The members of a static library that hold LLVM bitcode.

use std::{fs, path::Path};

use object::{Object, ObjectSection, ObjectSymbol, read::archive::ArchiveFile};

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
    let file = fs::read(path).map_err(|source| BuilderError::Io { path: path.to_owned(), source })?;
    members_of(&file).map_err(|error| BuilderError::Refused(format!("{}: {error}", path.display())))
}

fn members_of(file: &[u8]) -> object::Result<Vec<Member>> {
    let mut members = Vec::new();
    for member in ArchiveFile::parse(file)?.members() {
        let member = member?;
        let (name, data) = (String::from_utf8_lossy(member.name()).into_owned(), member.data(file)?);
        if data.starts_with(b"BC\xC0\xDE") {
            members.push(Member::Bitcode { name, data: data.to_vec() });
        } else if let Ok(object) = object::File::parse(data)
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
