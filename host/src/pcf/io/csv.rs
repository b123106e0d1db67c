//! Functions and barcodes as comma-separated text.

use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::Path,
};

use csv::Writer;

use super::{BarcodeOptions, Raw};
use crate::{
    io::{Reason, Table, at, npy::Element, push},
    pcf::{
        PcfError, PcfReal, PcfSet, Point, Repairs,
        barcode::{Bar, Barcode},
    },
};

/// Reads functions.
pub fn load<T: PcfReal>(path: &Path, repairs: Option<&mut Repairs>) -> Result<PcfSet<T>, PcfError> {
    let fail = |reason: Reason| PcfError::file(path, reason);
    let mut table = Table::open(path, &[&["function", "t", "v"]]).map_err(fail)?;
    let (mut offsets, mut points, mut lines) = (vec![0], Vec::new(), Vec::new());
    // Numbers are rounded once, not to f64 first. A file that is valid in f64 is not to blame.
    let mut narrow: Vec<Point<T>> = Vec::new();
    let is_narrow = T::KIND != f64::KIND;
    while table.next().map_err(fail)? {
        if table.starts_next(0, offsets.len() - 1).map_err(fail)? {
            push(&mut offsets, points.len()).map_err(fail)?;
        }
        let number = |column| table.field::<f64>(column, "a number").map_err(fail);
        push(&mut points, Point::new(number(1)?, number(2)?)).map_err(fail)?;
        if is_narrow {
            let number = |column| table.field::<T>(column, "a number").map_err(fail);
            push(&mut narrow, Point::new(number(1)?, number(2)?)).map_err(fail)?;
        }
        push(&mut lines, table.line()).map_err(fail)?;
        if let Some(end) = offsets.last_mut() {
            *end = points.len();
        }
    }
    let place = |point: Option<usize>, error: PcfError| match point {
        Some(point) => fail(at(lines[point], error).into()),
        None => PcfError::file(path, error.to_string()),
    };
    let starts = is_narrow.then(|| offsets.clone());
    let wide = Raw { offsets, points, shape: None }.set(repairs, place)?;
    let Some(offsets) = starts else { return wide.into_cast() };
    let narrow = Raw { offsets, points: narrow, shape: None }.set(None, place);
    narrow.map_err(|error| match wide.cast::<T>() {
        Err(narrow) => PcfError::file(path, narrow.to_string()),
        Ok(_) => error,
    })
}

/// Reads barcodes.
pub fn load_barcodes(path: &Path, options: BarcodeOptions) -> Result<Vec<Barcode>, PcfError> {
    const HEADERS: &[&[&str]] = &[
        &["birth", "death"],
        &["barcode", "birth", "death"],
        &["dimension", "birth", "death"],
        &["barcode", "dimension", "birth", "death"],
    ];
    let fail = |reason: Reason| PcfError::file(path, reason);
    let mut table = Table::open(path, HEADERS).map_err(fail)?;
    let column = |name: &str| table.header().iter().position(|column| column == name);
    let (many, dimension) = (column("barcode").is_some(), column("dimension"));
    let columns = table.header().len();
    if let (Some(wanted), None) = (options.dimension, dimension) {
        return Err(fail(format!("has no column `dimension` to choose dimension {wanted} by").into()));
    }
    let mut dimensions = BTreeSet::new();
    // Index of each barcode's first bar.
    let mut starts = if many { Vec::new() } else { vec![0] };
    let (mut bars, mut lines) = (Vec::new(), Vec::new());
    while table.next().map_err(fail)? {
        if many && table.starts_next(0, starts.len()).map_err(fail)? {
            push(&mut starts, bars.len()).map_err(fail)?;
        }
        if many && (1..columns).all(|column| table.text(column).is_empty()) {
            continue;
        }
        let of = dimension.map(|column| table.field::<u32>(column, "a dimension, a whole number from 0 on")).transpose();
        let of = of.map_err(fail)?;
        let bar = Bar {
            birth: table.field(columns - 2, "a number").map_err(fail)?,
            death: table.field(columns - 1, "a number, or inf for a bar without end").map_err(fail)?,
        };
        dimensions.extend(of);
        if options.dimension.is_none() || options.dimension == of {
            push(&mut bars, bar).map_err(fail)?;
            push(&mut lines, table.line()).map_err(fail)?;
        }
    }
    let named = || {
        let names: Vec<_> = dimensions.iter().take(10).map(u32::to_string).collect();
        let more = if dimensions.len() > names.len() { ", ..." } else { "" };
        format!("{}{more}", names.join(", "))
    };
    match options.dimension {
        None if dimensions.len() > 1 => {
            return Err(fail(format!("has bars of the dimensions {}: choose one (--dimension)", named()).into()));
        }
        Some(wanted) if !dimensions.is_empty() && !dimensions.contains(&wanted) => {
            return Err(fail(format!("has no bars of dimension {wanted}, only of {}", named()).into()));
        }
        _ => {}
    }
    starts.push(bars.len());
    let checked = starts.windows(2).enumerate().map(|(barcode, range)| {
        let line = |bar: usize| lines[range[0] + bar];
        Barcode::of(options.filtration, bars[range[0]..range[1]].iter().copied()).map_err(|error| match error {
            PcfError::Bar { bar, .. } if many => fail(at(line(bar), format_args!("barcode {barcode}, {error}")).into()),
            PcfError::Bar { bar, .. } => fail(at(line(bar), error).into()),
            error => PcfError::file(path, error.to_string()),
        })
    });
    checked.collect()
}

/// Writes functions, with the fewest digits that identify each number.
pub fn write<T: PcfReal>(set: &PcfSet<T>, file: impl Write) -> io::Result<()> {
    let mut writer = Writer::from_writer(file);
    writer.write_record(["function", "t", "v"]).map_err(io::Error::from)?;
    for (function, f) in set.iter().enumerate() {
        let function = function.to_string();
        for point in f.points() {
            writer.write_record([&*function, &format!("{:?}", point.t), &format!("{:?}", point.v)]).map_err(io::Error::from)?;
        }
    }
    writer.flush()
}
