//! Sparse matrices from arrays, triplets and Matrix Market files: what is wrong with them is said.

use std::{fs, io::ErrorKind, path::Path};

use proptest::prelude::*;
use tempfile::tempdir;
use warpsmith::{
    common::Number as _,
    common::chain,
    io::files::FileError,
    spmv::{Csr, SpmvError, SpmvReal, market},
};

use crate::multiplication::{Result, says};

#[test]
fn arrays_that_are_no_matrix() {
    let new = |row_ptr: &[u32], columns: &[u32], values: usize| {
        Csr::new((3, 4), row_ptr.to_vec(), columns.to_vec(), vec![1.0f32; values])
    };
    assert!(new(&[0, 2, 2, 3], &[3, 0, 3], 3).is_ok());
    says(new(&[0, 1, 2], &[0, 0], 2), "row_ptr has 3 elements, but it must have 4: one more than there are rows");
    says(new(&[0, 1, 2, 2], &[0, 0], 3), "values has 3 elements, but it must have 2: as many as columns");
    says(new(&[1, 1, 2, 2], &[0, 0], 2), "row_ptr[0] is 1, but it must be 0");
    says(new(&[0, 2, 1, 0], &[0, 0], 2), "row_ptr[2] is 1, less than row_ptr[1], which is 2");
    says(new(&[0, 1, 1, 1], &[0, 0], 2), "row_ptr ends with 1, but there are 2 nonzeros");
    says(new(&[0, 0, 9, 9], &[0, 0], 2), "row_ptr ends with 9, but there are 2 nonzeros");
    says(new(&[0, 1, 1, 3], &[0, 4, 9], 3), "columns[1], in row 2, is 4, but the matrix has 4 columns");
    says(
        Csr::<f64>::from_triplets((2, 3), [(0, 2, 1.0), (1, 3, 1.0), (9, 0, 1.0)]),
        "triplet 1 is at row 1, column 3, but the matrix has 2 rows and 3 columns",
    );
    says(Csr::<f64>::from_triplets((1 << 32, 3), []), "4294967296 rows are too many: at most 2^32 - 1 can be numbered");
    says(Csr::<f64>::from_triplets((1, 1 << 32), []), "4294967296 columns are too many: at most 2^32 - 1 can be numbered");
}

#[test]
fn triplets_in_any_order_are_added_up() -> Result {
    let triplets = [(1, 2, 1.0), (0, 1, 2.0), (1, 0, 3.0), (1, 2, 4.0), (0, 1, -2.0), (2, 0, 5.0)];
    let matrix = Csr::from_triplets((4, 3), triplets)?;
    assert_eq!(matrix, Csr::new((4, 3), vec![0, 1, 3, 4, 4], vec![1, 0, 2, 0], vec![0.0, 3.0, 5.0, 5.0])?);
    assert_eq!((matrix.nnz(), matrix.longest_row(), matrix.row(1)), (4, 2, (&[0, 2][..], &[3.0, 5.0][..])));
    // 4 of 8 + 4 bytes, 4 rows of 4 + 8, and 3 entries of x.
    assert_eq!(matrix.floor_bytes(), 4 * 12 + 4 * 12 + 3 * 8);
    Ok(())
}

/// Reads a file of these lines.
fn read<T: SpmvReal>(text: &str) -> Result<Csr<T>, SpmvError> {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.mtx");
    fs::write(&path, text).unwrap();
    market::read(&path).map_err(|error| match error {
        SpmvError::File(error) if error.path() == path => {
            let text = error.to_string();
            let reason = text.strip_prefix(&format!("{}: ", path.display())).unwrap();
            FileError::new(Path::new("a.mtx"), reason).into()
        }
        other => other,
    })
}

#[test]
fn files_of_every_kind() -> Result {
    let general =
        "%%MatrixMarket matrix coordinate real general\n% a comment\n\n%\n2 3 4\n1 1 1.5\n\n2 3 -2e-3\n% another\n1 1 0.5\n2 1 7";
    assert_eq!(read::<f64>(general)?, Csr::new((2, 3), vec![0, 1, 3], vec![0, 0, 2], vec![2.0, 7.0, -2e-3])?);
    let symmetric = "%%MatrixMarket MATRIX Coordinate Integer SYMMETRIC\r\n3 3 3\r\n1 1 5\r\n3 1 -2\r\n3 2 9\r\n";
    let expected = Csr::new((3, 3), vec![0, 2, 3, 5], vec![0, 2, 2, 0, 1], vec![5.0, -2.0, 9.0, -2.0, 9.0])?;
    assert_eq!(read::<f32>(symmetric)?, expected);
    let skew = "%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n  2\t1   0.25  \n";
    assert_eq!(read::<f64>(skew)?, Csr::new((2, 2), vec![0, 1, 2], vec![1, 0], vec![-0.25, 0.25])?);
    let pattern = "%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 2\n2 2\n1 2\n";
    assert_eq!(read::<f64>(pattern)?, Csr::new((2, 2), vec![0, 1, 2], vec![1, 1], vec![2.0, 1.0])?);
    let pattern = "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n";
    assert_eq!(read::<f64>(pattern)?, Csr::new((2, 2), vec![0, 1, 2], vec![1, 0], vec![1.0, 1.0])?);
    let empty = "%%MatrixMarket matrix coordinate real general\n0 0 0\n";
    assert_eq!(read::<f64>(empty)?, Csr::new((0, 0), vec![0], vec![], vec![])?);
    Ok(())
}

#[test]
fn files_that_are_wrong() {
    let header = "%%MatrixMarket matrix coordinate real general\n";
    for (text, reason) in [
        ("".to_owned(), "is empty"),
        ("1 2 3\n".to_owned(), "line 1: it doesn't start with `%%MatrixMarket`, so this is no Matrix Market file"),
        (header.replace('M', "m"), "line 1: it doesn't start with `%%MatrixMarket`, so this is no Matrix Market file"),
        (format!("{header}+2 2 0\n"), "line 2: `+2` is not a number of rows"),
        (format!("{header}2 2 1\n+1 1 +5\n"), "line 3: `+1` is not a number of a row"),
        ("%%MatrixMarket matrix coordinate\n".to_owned(), "line 1: the header ends before the field"),
        (
            "%%MatrixMarket graph coordinate real general\n".to_owned(),
            "line 1: the object is `graph`, but only a `matrix` can be read",
        ),
        (
            "%%MatrixMarket matrix array real general\n".to_owned(),
            "line 1: the array format is for dense matrices; only `coordinate` can be read",
        ),
        ("%%MatrixMarket matrix list real general\n".to_owned(), "line 1: the format is `list`, but it must be `coordinate`"),
        (
            "%%MatrixMarket matrix coordinate complex general\n".to_owned(),
            "line 1: complex matrices can't be read; entries must be real, integer or pattern",
        ),
        (
            "%%MatrixMarket matrix coordinate text general\n".to_owned(),
            "line 1: the field is `text`, but it must be real, integer or pattern",
        ),
        (
            "%%MatrixMarket matrix coordinate real hermitian\n".to_owned(),
            "line 1: hermitian is for complex matrices; only general, symmetric and skew-symmetric can be read",
        ),
        (
            "%%MatrixMarket matrix coordinate real upper\n".to_owned(),
            "line 1: the symmetry is `upper`, but it must be general, symmetric or skew-symmetric",
        ),
        (
            "%%MatrixMarket matrix coordinate pattern skew-symmetric\n".to_owned(),
            "line 1: a pattern can't be skew-symmetric: its entries are all 1",
        ),
        (format!("{header}% nothing\n"), "ends before the line with the numbers of rows, columns and entries"),
        (
            format!("{header}%\n2 2\n"),
            "line 3: there are 2 words, but here must be three: the numbers of rows, columns and entries",
        ),
        (format!("{header}2 x 1\n"), "line 2: `x` is not a number of columns"),
        (format!("{header}2 -2 1\n"), "line 2: `-2` is not a number of columns"),
        (format!("{header}4294967296 2 1\n"), "line 2: 4294967296 rows are too many: at most 2^32 - 1 can be numbered"),
        (format!("{header}2 2 4294967296\n"), "line 2: 4294967296 entries are too many: at most 2^32 - 1 can be numbered"),
        (format!("{header}2 2 4000000000\n1 1 1\n"), "ends after 1 of 4000000000 entries"),
        (format!("{header}2 2 1\n1 1 1\n\n2 2 1\n"), "line 5: there is more after the 1 entries that were announced"),
        (format!("{header}2 3 1\n3 1 1\n"), "line 3: row 3 is out of range: they are numbered from 1 to 2"),
        (format!("{header}2 3 1\n2 4 1\n"), "line 3: column 4 is out of range: they are numbered from 1 to 3"),
        (format!("{header}2 3 1\n0 1 1\n"), "line 3: row 0 is out of range: they are numbered from 1 to 2"),
        (format!("{header}2 3 1\n1.5 1 1\n"), "line 3: `1.5` is not a number of a row"),
        (format!("{header}2 3 1\n1 1\n"), "line 3: an entry is row, column and value, and here is less"),
        (format!("{header}2 3 1\n1 1 1 0\n"), "line 3: an entry is row, column and value, and here is `0`, too"),
        (format!("{header}2 3 1\n1 1 one\n"), "line 3: `one` is not a number"),
        (format!("{header}2 3 1\n1 1 nan\n"), "line 3: the value is `nan`, but it must be a finite number"),
        (format!("{header}2 3 1\n1 1 -inf\n"), "line 3: the value is `-inf`, but it must be a finite number"),
        (format!("{header}2 3 1\n1 1 1e39\n"), "line 3: `1e39` is too large for float32"),
        (format!("{header}2 3 1\n1 1 1e999\n"), "line 3: `1e999` is too large for float32"),
        (
            format!("{}2 2 1\n1 1 1.5\n", header.replace("real", "integer")),
            "line 3: `1.5` is not an integer, but the header says that entries are",
        ),
        (
            format!("{}2 2 1\n1 1 1\n", header.replace("real", "pattern")),
            "line 3: an entry is row and column, and here is `1`, too",
        ),
        (
            format!("{}2 3 1\n1 1 1\n", header.replace("general", "symmetric")),
            "line 2: a matrix of 2 rows and 3 columns can't be symmetric",
        ),
        (
            format!("{}2 2 1\n1 2 1\n", header.replace("general", "symmetric")),
            "line 3: the entry at row 1, column 2 is above the diagonal, but of a symmetric matrix a file has the lower triangle",
        ),
        (
            format!("{}2 2 1\n2 2 1\n", header.replace("general", "skew-symmetric")),
            "line 3: there is an entry at row 2, column 2, but the diagonal of a skew-symmetric matrix is 0 and is left out",
        ),
    ] {
        says(read::<f32>(&text), &format!("a.mtx: {reason}"));
    }
    let missing = market::read::<f32>("no/such.mtx").unwrap_err();
    assert_eq!(chain(&missing), "no/such.mtx: can't be read: no such file or directory");
    assert!(matches!(missing, SpmvError::File(error) if error.io_error().unwrap().kind() == ErrorKind::NotFound));
    let folder = tempdir().unwrap();
    let path = folder.path().join("binary.mtx");
    fs::write(&path, [header.as_bytes(), b"2 2 1\n1 \xff 1\n"].concat()).unwrap();
    says(market::read::<f32>(&path), &format!("{}: line 3: is not UTF-8 text", path.display()));
    let path = folder.path().join("no").join("such.mtx");
    let matrix = Csr::<f32>::from_triplets((0, 0), []).unwrap();
    let error = market::write(&path, &matrix).unwrap_err();
    assert!(matches!(error, SpmvError::File(_)) && error.to_string().contains("such.mtx can't be written"), "{error}");
}

fn round_trip<T: SpmvReal>(shape: (usize, usize), triplets: Vec<(u32, u32, T)>) {
    let folder = tempdir().unwrap();
    let path = folder.path().join("a.mtx");
    let matrix = Csr::from_triplets(shape, triplets).unwrap();
    market::write(&path, &matrix).unwrap();
    assert_eq!(market::read::<T>(&path).unwrap(), matrix);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_again(
        triplets in prop::collection::vec((0..20u32, 0..30u32, prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO), 0..100)
    ) {
        let mut places = std::collections::BTreeSet::new();
        let triplets: Vec<_> = triplets.into_iter().filter(|&(row, column, _)| places.insert((row, column))).collect();
        let single = triplets.iter().map(|&(row, column, value)| (row, column, f32::from_f64(value)));
        round_trip((20, 30), single.filter(|(.., value)| value.is_finite()).collect());
        round_trip((20, 30), triplets);
    }
}

/// Memory is taken for rows and columns, whether they have entries or not, but not for as many as a few bytes declare.
#[test]
fn declared_sizes() -> Result {
    let file = |rows: u64, columns: u64| format!("%%MatrixMarket matrix coordinate real general\n{rows} {columns} 1\n1 1 2.5\n");
    for (rows, columns, what, count) in
        [(4294967295, 1, "rows", 4294967295u64), (1, 4294967295, "columns", 4294967295), (1048577, 5, "rows", 1048577)]
    {
        says(
            read::<f32>(&file(rows, columns)),
            &format!("a.mtx: declares {count} {what}, but in a file of this size there may be 1048576 at most"),
        );
    }
    let matrix = read::<f32>(&file(1 << 20, 1 << 20))?;
    assert_eq!((matrix.rows(), matrix.columns(), matrix.nnz()), (1 << 20, 1 << 20, 1));
    // 100 for each byte of a longer one.
    let long = format!("{}{}", file(2_000_000, 3), "% \n".repeat(7000));
    assert_eq!(read::<f32>(&long)?.rows(), 2_000_000);
    Ok(())
}
