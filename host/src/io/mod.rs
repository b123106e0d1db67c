//! Reads and writes files: the only readers of the library.
//!
//! - Input: [`Source`] opens a file once, whatever it is. [`npy`] reads NumPy arrays; tables, lines and Matrix Market
//!   files are for the systems' own readers. Texts may be compressed, and with the feature
//!   `parquet` a table may be in Parquet or Arrow.
//! - Output: [`files`] replaces a file as a whole or not at all. [`npy`] and [`npz`] write arrays.
//!
//! These are the limits. Beyond them a reader stops with a sentence; sizes that a file declares are held against the
//! file's own size before anything is allocated for them, and all that grows with a file is allocated by [`reserve`].
//!
//! | what | at most |
//! | --- | --- |
//! | a line of a text | [`LONGEST_LINE`], 16 MiB |
//! | a shape (`.json`, `.svg`, `.wkt`), a simulated machine or a program (`.json`) | [`LONGEST_TEXT`], 16 MiB |
//! | barcodes as JSON, GraphML, GeoJSON | [`LONGEST_DATA`], 1 GiB |
//! | vertices of a shape | [`MOST_VERTICES`], 100,000 |
//! | elements of a drawing within each other | 256 |
//! | elements and texts of a drawing | 1,000,000 |
//! | attributes of an element, name spaces of a drawing | 1,000 |
//! | what a drawing's entities may stand for | 256 MiB |
//! | parentheses within each other in WKT | 3 |
//! | arrays and objects within each other in JSON | 127 |
//! | values of a column in a row group of a Parquet file, of a batch of an Arrow file | as an array in an archive |
//! | rows of a Parquet or Arrow file | as rows of a sparse matrix |
//! | a Parquet file from a pipe, a batch of an Arrow file | [`LONGEST_DATA`], 1 GiB |
//! | the header of a `.npy` file | 4 KiB, with 6 brackets within each other |
//! | dimensions of an array | 64 |
//! | an array in an archive (`.npz`) | [`archived`]: 64 MiB, or 100 times the archive's size where that is more |
//! | what an array without elements has along its other dimensions | [`MOST_EMPTY`], 2^20 |
//! | rows or columns of a sparse matrix (`.mtx`), vertices of a graph | [`declared`]: 2^20, or 100 for each byte of the file where that is more |
//! | memory | what is free, for the control group and under `ulimit`, too |

#[cfg(any(feature = "graph", feature = "pcf"))]
pub(crate) mod archive;
#[cfg(feature = "parquet")]
mod columns;
mod decoded;
pub mod files;
mod lines;
mod market;
#[cfg(any(feature = "graph", feature = "pcf"))]
mod names;
pub mod npy;
pub mod npz;
mod source;
#[cfg(feature = "rules")]
pub(crate) mod sqlite;
mod table;

pub use files::Reason;
pub(crate) use lines::{Lines, at, number, words};
pub(crate) use market::{Market, Symmetry};
#[cfg(any(feature = "graph", feature = "pcf"))]
pub(crate) use names::Names;
#[cfg(any(feature = "graph", feature = "pcf"))]
pub use names::{check_names, names_of_files};
pub use source::{
    Input, LONGEST_DATA, LONGEST_LINE, LONGEST_TEXT, MOST_EMPTY, MOST_VERTICES, Source, archived, brief, collect, declared,
    filled, push, reserve, text, zeroed,
};
pub(crate) use source::{any_text, check_room, extension, large_text, listed, quoted};
#[cfg(feature = "engine")]
pub(crate) use source::{read_exact_at, write_all_at};
#[cfg(any(feature = "graph", feature = "homology"))]
pub(crate) use table::First;
pub use table::TableOptions;
pub(crate) use table::{Role, SEPARATORS, Table};
