//! Functions and barcodes in text.

use std::{
    io::{self, Write},
    path::Path,
};

use csv::{Position, Writer};

use crate::{
    csv_table::Table,
    pcf::{
        PcfError, PcfSet, Point, Real,
        barcode::{Bar, Barcode},
    },
};

/// Reads functions.
pub fn load<T: Real>(path: &Path) -> Result<PcfSet<T>, PcfError> {
    let fail = |reason: String| PcfError::file(path, reason);
    let mut table = Table::open(path, &[&["function", "t", "v"]]).map_err(fail)?;
    let (mut offsets, mut points, mut positions) = (vec![0], Vec::new(), Vec::new());
    while table.next().map_err(fail)? {
        if table.number(0, offsets.len() - 1).map_err(fail)? == offsets.len() - 1 {
            offsets.push(points.len());
        }
        let number = |column| table.field::<T>(column, "a number").map_err(fail);
        points.push(Point::new(number(1)?, number(2)?));
        positions.push(table.position());
        if let Some(end) = offsets.last_mut() {
            *end = points.len();
        }
    }
    let starts = offsets.clone();
    PcfSet::from_parts(offsets, points).map_err(|error| match error.breakpoint() {
        Some((function, breakpoint)) => fail(table.at(&positions[starts[function] + breakpoint], error)),
        None => PcfError::file(path, error),
    })
}

/// Reads barcodes.
pub fn load_barcodes(path: &Path) -> Result<Vec<Barcode>, PcfError> {
    let fail = |reason: String| PcfError::file(path, reason);
    let mut table = Table::open(path, &[&["birth", "death"], &["barcode", "birth", "death"]]).map_err(fail)?;
    let many = table.header().len() == 3;
    let mut barcodes: Vec<Vec<Bar>> = if many { Vec::new() } else { vec![Vec::new()] };
    let mut positions = barcodes.iter().map(|_| Vec::new()).collect::<Vec<Vec<Position>>>();
    while table.next().map_err(fail)? {
        if many && table.number(0, barcodes.len()).map_err(fail)? == barcodes.len() {
            barcodes.push(Vec::new());
            positions.push(Vec::new());
        }
        let column = usize::from(many);
        if many && table.record()[column].is_empty() && table.record()[column + 1].is_empty() {
            continue;
        }
        let bar = Bar {
            birth: table.field(column, "a number").map_err(fail)?,
            death: table.field(column + 1, "a number, or inf for a bar without end").map_err(fail)?,
        };
        if let (Some(bars), Some(positions)) = (barcodes.last_mut(), positions.last_mut()) {
            bars.push(bar);
            positions.push(table.position());
        }
    }
    let checked = barcodes.into_iter().zip(positions).enumerate().map(|(barcode, (bars, positions))| {
        Barcode::new(bars).map_err(|error| match error {
            PcfError::Bar { bar, .. } if many => fail(table.at(&positions[bar], format_args!("barcode {barcode}, {error}"))),
            PcfError::Bar { bar, .. } => fail(table.at(&positions[bar], error)),
            error => PcfError::file(path, error),
        })
    });
    checked.collect()
}

/// Writes functions, with as many digits as tell each number from its neighbours.
pub fn write<T: Real>(set: &PcfSet<T>, file: impl Write) -> io::Result<()> {
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
