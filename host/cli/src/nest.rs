//! `warpsmith nest`

use std::{path::PathBuf, time::Duration};

use clap::{ArgGroup, Args};
use serde::Serialize;
use warpsmith::{
    common::chain,
    io::files::is_standard,
    overlap::{
        io::{Part, read_parts, read_sheet},
        nest::{Filled, Format, Laid, Layout, Left, Nesting, Place, Sheet},
        pack::{MOST_POSES, PackError, Turns},
    },
};

use super::{
    Global, count, duration,
    failure::Failure,
    format,
    interrupt::Interrupt,
    named::{self, Named},
    output::Files,
    progress, size, terminal, utf8,
};

/// Millimetres per unit of a sheet's size.
const UNITS: &[(&str, f64)] = &[("mm", 1.0), ("cm", 10.0), ("in", 25.4), ("m", 1000.0)];
/// Ends of the names of files with irregular sheets.
const FORMS: &[&str] = &[".svg", ".svgz", ".dxf", ".json", ".geojson", ".wkt"];
/// Least tolerance of curves.
const SMALLEST_TOLERANCE: f64 = 1e-6;
/// Progress is shown in thousandths.
const THOUSAND: usize = 1000;
/// Host memory of a part on its way to a file, at most, in bytes.
const PART_BYTES: f64 = 256.0;

#[derive(Args, Debug)]
#[command(
    group(ArgGroup::new("on").required(true).args(["roll", "sheets"])),
    override_usage = "warpsmith nest [OPTIONS] -o <CUT.SVG> --sheet <WxH[:N]> <PART[:N]>...\n       \
        warpsmith nest [OPTIONS] -o <CUT.SVG> --roll <WIDTH> <PART[:N]>...",
    long_about = "Nest parts on sheets, on as few as are found in the time; or on a roll, in as short a piece.\n\n\
        PARTS are files, each with the number of copies of each of its parts:\n  \
        .svg, of which each closed path is a part\n  \
        .dxf, of which each outermost closed contour is a part\n  \
        .json of an instance of jagua-rs or sparrow, with its demands and angles, or of a shape\n  \
        .geojson and .wkt (see warpsmith help overlap)\n\n\
        Lengths are those of the files. Drawings that tell their size or unit are in millimetres.\n\n\
        No two parts are nearer than --spacing, and none is nearer to an edge than --margin. Parts lie at one end of a sheet, so that \
        the rest is in one piece, and in holes of others. Curves count as lines outside of them, and are cut as they were drawn.\n\n\
        The output is one of these:\n  \
        .svg, a drawing to cut from in mm: a layer for each sheet, with its outline and a path for each part\n  \
        .dxf, the same; outlines of sheets are on a layer of their own, and arcs are arcs\n  \
        .csv or .json, a table of places\n  \
        .sparrow.json, an instance of jagua-rs with its solution: bins are the sheets, or the strip is the roll; angles are \
        degrees\n\n\
        Parts without a place are an error, with exit code 2; the others are written all the same. With --value they are no \
        error, as sheets hold as much value as is found.\n\n\
        Ctrl-C or SIGTERM ends the search. Parts without a place then get one in rows on the sheets that are left, as far as \
        0.7 s suffice, and all that have a place are written, with exit code 130 or 143.",
    after_help = "Examples:\n  \
        warpsmith nest parts.svg --sheet 600x400mm --output cut.svg\n  \
        warpsmith nest plate.dxf:4 ring.svg:2 --sheet 600x400mm:2 --spacing 3 --margin 5 --output cut.dxf\n  \
        warpsmith nest swim.json --roll 5752 --output swim.sparrow.json\n  \
        warpsmith nest shirt.svg:20 --roll 1.5m --turns 180 --output cut.dxf\n  \
        warpsmith nest panel.svg:9 clip.svg:30 --sheet 600x400mm --turns 90 --turns panel=none --output cut.svg\n  \
        warpsmith nest hook.svg:20 --sheet 600x400mm --turns 90 --mirror=hook --output cut.svg\n  \
        warpsmith nest parts.svg:9 --sheet 300x200:2 --value plate=12 --value disc=2.5 --priority bar=1 --output cut.svg\n  \
        warpsmith nest parts.svg:10 --sheet 300x200 --sheet 24x12in --output places.json --json"
)]
pub struct Arguments {
    /// Files of parts, or WKT, each with its number of copies [default: 1]
    ///
    /// Of parts of the same name, `plate`, the second one is called `plate 2`. Write `-- -:3` after all options for three
    /// copies of the part on standard input.
    #[arg(value_name = "PART[:N]", required = true, value_parser = utf8())]
    parts: Vec<String>,
    /// Width of a roll: 1500, 1500mm, 60in
    ///
    /// Parts get as short a piece of it as is found; its length is in x.
    #[arg(long, value_name = "WIDTH", value_parser = parse_roll, allow_hyphen_values = true)]
    roll: Option<f64>,
    /// Size of sheets: 600x400, 600x400mm, 24x12in, 2x1m, or a file or WKT of an irregular one; with :N, their number
    ///
    /// The largest closed path of a file is the outline, and all others are defects, which may overlap; those beside it
    /// don't count. By default, the number has no limit. Given again, --sheet has further sheets, used in this order.
    #[arg(long = "sheet", value_name = "WxH[:N]", value_parser = parse_sheet, allow_hyphen_values = true)]
    sheets: Vec<SheetArg>,
    /// Least distance of two parts
    #[arg(long, value_name = "D", default_value_t = 0.0, value_parser = length_from(0.0), allow_hyphen_values = true)]
    spacing: f64,
    /// Least distance of a part from the sheet's edge
    #[arg(long, value_name = "D", default_value_t = 0.0, value_parser = length_from(0.0), allow_hyphen_values = true)]
    margin: f64,
    /// Allowed angles of parts, in degrees: `any`, `none`, 90 for its multiples, or 0,45,180 for these alone
    ///
    /// A number for its multiples divides 360. With PART=, the angles are those of that part; given again, of further ones. The
    /// default is what the files allow.
    #[arg(long, value_name = "[PART=]TURNS")]
    turns: Vec<Named<Turns>>,
    /// Parts may be mirrored, or with =PART that one
    ///
    /// Places, names in .svg (`l-2-mirrored`) and .sparrow.json (items of their own) say which are.
    #[arg(long, value_name = "PART", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    mirror: Vec<String>,
    /// Value of a copy of a part, or with no PART= of any other
    ///
    /// Sheets then get as much value as is found, and parts left over are no error. Parts without a value have their area's.
    #[arg(long = "value", value_name = "[PART=]V")]
    values: Vec<Named<f64>>,
    /// Priority of a part, an integer [default: 0]: parts of higher priority come before all others
    #[arg(long = "priority", value_name = "[PART=]K")]
    priorities: Vec<Named<i64>>,
    /// Largest distance of a part's curves from the lines that the search takes in their place
    ///
    /// The default is a 2,000th of each contour's size.
    #[arg(long, value_name = "D", value_parser = length_from(SMALLEST_TOLERANCE), allow_hyphen_values = true)]
    tolerance: Option<f64>,
    /// Search for about this long: 30s, 5m, 1.5h
    #[arg(long, value_name = "TIME", value_parser = duration::parse, allow_hyphen_values = true, default_value = "30s")]
    time: Duration,
    /// Seed of all random numbers
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Write the drawing (.svg, .dxf), or the places (.csv, .json)
    ///
    /// .sparrow.json has the places with the parts, as jagua-rs does.
    #[arg(long, value_name = "CUT.SVG")]
    output: PathBuf,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Sheets as given: by their size, or as a file's name or WKT with a number.
#[derive(Clone, Debug, PartialEq)]
enum SheetArg {
    Size(Sheet),
    Form(String, Option<usize>),
}

/// Reads a size of sheets, or the name of a file.
fn parse_sheet(text: &str) -> Result<SheetArg, String> {
    let wrong = || "not a sheet: write 600x400, 600x400mm, 24x12in:3, all below 1e6 mm, or a file such as sheet.svg:3".to_owned();
    let (name, count) = count::split(text).map_or((text, None), |(name, count)| (name, Some(count)));
    let lower = name.to_ascii_lowercase();
    let plain = [".gz", ".zst"].iter().find_map(|packed| lower.strip_suffix(packed)).unwrap_or(&lower);
    if count == Some(0) {
        return Err(wrong());
    }
    if lower == "-"
        || ["polygon", "multipolygon"].iter().any(|kind| lower.starts_with(kind))
        || FORMS.iter().any(|extension| plain.ends_with(extension))
    {
        return Ok(SheetArg::Form(name.to_owned(), count));
    }
    let (numbers, unit) = unit(name);
    let (width, height) = numbers.split_once(['x', '×']).ok_or_else(wrong)?;
    let length = |number| length(number, unit).ok_or_else(wrong);
    Ok(SheetArg::Size(Sheet { width: length(width)?, height: length(height)?, count, form: None }))
}

/// Reads the width of a roll.
fn parse_roll(text: &str) -> Result<f64, String> {
    let (number, unit) = unit(text);
    length(number, unit).ok_or_else(|| "not a width: write 1500, 1500mm or 60in, below 1e6 mm".to_owned())
}

/// The text before a unit, and its millimetres; 1 without a unit.
fn unit(text: &str) -> (&str, f64) {
    let text = text.trim();
    UNITS.iter().find_map(|(unit, millimetres)| Some((text.strip_suffix(unit)?, *millimetres))).unwrap_or((text, 1.0))
}

fn length(number: &str, unit: f64) -> Option<f64> {
    // 24 in are 609.6 mm, and not 609.5999999999999.
    let length = (number.trim().parse::<f64>().ok()? * unit * 1e9).round() / 1e9;
    (length > 0.0 && length < 1e6).then_some(length)
}

/// Returns a reader of lengths.
fn length_from(least: f64) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync {
    move |text| {
        let length = text.parse::<f64>().ok().filter(|length| (least..1e6).contains(length));
        length.ok_or_else(|| format!("not a length from {least} to below 1e6, without a unit"))
    }
}

/// A sheet.
#[derive(Serialize)]
struct SheetReport {
    width: f64,
    height: f64,
    parts: usize,
    density: f64,
    used: f64,
}

/// Copies without a place.
#[derive(Serialize)]
struct LeftReport<'a> {
    part: &'a str,
    count: usize,
    reason: &'static str,
}

#[derive(Serialize)]
struct ValueReport {
    placed: f64,
    total: f64,
}

#[derive(Serialize)]
struct Report<'a> {
    system: &'static str,
    command: &'static str,
    device: &'a str,
    sheets: Vec<SheetReport>,
    left: Vec<LeftReport<'a>>,
    /// Value on the sheets, and of all parts.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<ValueReport>,
    /// Largest distance of a curve from the lines in its place.
    deviation: f64,
    seconds: f64,
    /// Seconds and density of each shorter piece of a roll.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    history: Vec<(f64, f64)>,
    cancelled: bool,
    places: Vec<Place<'a>>,
    output: String,
}

pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    let name = arguments.output.to_string_lossy();
    let of_name = if is_standard(&arguments.output) { Some(Format::Svg) } else { Format::of_name(&name) };
    let format = of_name.ok_or_else(|| {
        Failure::error(format_args!("{name}: the name must end in .svg, .dxf, .csv or .json, which tells the format"))
    })?;
    let kinds = arguments.parts.iter().map(|text| named::counted("", text)).collect::<Result<Vec<_>, _>>()?;
    let forms = arguments.sheets.iter().filter_map(|sheet| match sheet {
        SheetArg::Form(name, _) => Some(&**name),
        SheetArg::Size(_) => None,
    });
    let destination = Files::reading(kinds.iter().map(|(text, _)| *text).chain(forms)).write(&arguments.output)?;
    let mut parts: Vec<Part> = Vec::new();
    for (text, count) in kinds {
        let mut read = read_parts(text, arguments.tolerance)?;
        read.iter_mut().for_each(|part| part.count = part.count.saturating_mul(count.unwrap_or(1)));
        parts.append(&mut read);
    }
    let all = parts.iter().fold(0usize, |all, part| all.saturating_add(part.count));
    if all > MOST_POSES {
        return Err(Failure::error(format_args!("{all} parts are too many: at most {MOST_POSES}")));
    }
    size::check_memory(format::counted(all, "part", "parts"), all as f64 * PART_BYTES)?;
    named::prepare(&mut parts, &arguments.turns, &arguments.mirror)?;
    let names = named::names(&parts);
    let values = named::each("--value", &arguments.values, &names)?;
    let value = |(value, part): (Option<f64>, &Part)| value.unwrap_or_else(|| part.shape.area());
    let values = (!arguments.values.is_empty()).then(|| values.into_iter().zip(&parts).map(value).collect());
    let priorities = named::each("--priority", &arguments.priorities, &names)?;
    let has_priorities = !arguments.priorities.is_empty();
    let priorities = priorities.into_iter().filter(|_| has_priorities).map(Option::unwrap_or_default).collect();
    let (mut sheets, mut forms) = (Vec::new(), Vec::new());
    for sheet in &arguments.sheets {
        let (sheet, form) = match sheet {
            SheetArg::Size(sheet) => (sheet.clone(), None),
            SheetArg::Form(name, count) => {
                let form = read_sheet(name, arguments.tolerance)
                    .map_err(|error| Failure::error(format_args!("--sheet: {}", chain(&error))))?;
                (Sheet::of(form.shape.clone(), *count), Some(form))
            }
        };
        sheets.push(sheet);
        forms.push(form);
    }
    let device = global.open()?;
    let interrupt = Interrupt::first_sets("stopping with the best so far");
    let shown = progress::Progress::new(arguments.json || global.verbose > 0);
    let work =
        shown.costly_bar(THOUSAND, usize::MAX, format!("nesting {} on {}", format::counted(all, "part", "parts"), device.name()));
    let sheets = match arguments.roll {
        Some(height) => vec![Sheet { width: f64::INFINITY, height, count: Some(1), form: None }],
        None => sheets,
    };
    let nesting = Nesting {
        spacing: arguments.spacing,
        margin: arguments.margin,
        turns: parts.iter().map(|part| part.turns.clone()).collect(),
        values,
        priorities,
        seed: arguments.seed,
        ..Nesting::new(parts.iter().map(|part| (part.shape.clone(), part.count)), sheets, arguments.time)
    };
    let failure = |error: PackError| Failure::error(chain(&error));
    let nested = nesting
        .run(&device, interrupt.cancel(), |share| work.reach((share * THOUSAND as f64) as usize, THOUSAND))
        .map_err(failure)?;
    drop(work);
    let cancelled = interrupt.cancel().is_cancelled();
    let layout = Layout {
        parts: parts.iter().map(|part| (part.shape.name(), part)).collect(),
        sheets: nested.sheets.iter().map(|filled| laid(filled, arguments.roll.is_some(), &forms)).collect(),
        seconds: nested.seconds,
    };
    let report = Report {
        system: "overlap",
        command: "nest",
        device: device.name(),
        sheets: nested.sheets.iter().map(sheet_report).collect(),
        left: nested.left.iter().map(|left| left_report(left, cancelled, nesting.has_margins(), &parts)).collect(),
        value: nested.value.map(|[placed, total]| ValueReport { placed, total }),
        deviation: parts.iter().map(|part| part.deviation).fold(0.0, f64::max),
        history: nested.history,
        seconds: nested.seconds,
        cancelled,
        places: layout.places(),
        output: arguments.output.display().to_string(),
    };
    if !nested.sheets.is_empty() {
        destination.write(|file| layout.write(format, file))?;
        if arguments.json { terminal::print_json(&report) } else { report.print() }?;
    }
    match &report.left[..] {
        _ if cancelled => Err(Failure::Cancelled),
        [] => Ok(()),
        // With values, parts may be left over.
        _ if nested.value.is_some() && !nested.sheets.is_empty() => Ok(()),
        left => {
            let each = left.iter().zip(&nested.left).map(|(report, left)| {
                let LeftReport { part, count, reason } = report;
                let [width, height] = parts[left.part].size();
                let size = format!(": {} x {}", format::trimmed(width, 3), format::trimmed(height, 3));
                format!("{count} of {part} ({reason}{})", if left.too_large { &size } else { "" })
            });
            Err(Failure::error(format_args!("without a place: {}", each.collect::<Vec<_>>().join(", "))))
        }
    }
}

fn laid<'a>(filled: &'a Filled, roll: bool, forms: &'a [Option<Part>]) -> Laid<'a> {
    let [width, height] = filled.size;
    let form = forms.get(filled.sheet).and_then(Option::as_ref);
    Laid { width, height, roll, form, parts: &filled.parts }
}

fn sheet_report(filled: &Filled) -> SheetReport {
    let [width, height] = filled.size;
    SheetReport { width, height, parts: filled.parts.len(), density: filled.density, used: filled.used }
}

fn left_report<'a>(left: &Left, cancelled: bool, has_margins: bool, parts: &'a [Part]) -> LeftReport<'a> {
    let reason = match left.too_large {
        true if has_margins => "larger than every sheet within its margin",
        true => "larger than every sheet",
        false if cancelled => "cancelled",
        false => "no room was found",
    };
    LeftReport { part: parts[left.part].shape.name(), count: left.count, reason }
}

impl Report<'_> {
    fn print(&self) -> Result<(), Failure> {
        let header = ["sheet", "size", "parts", "density", "used"];
        let mut table = terminal::table(header, 0..header.len());
        for (index, sheet) in self.sheets.iter().enumerate() {
            table.add_row([
                (index + 1).to_string(),
                format!("{} x {}", format::trimmed(sheet.width, 3), format::trimmed(sheet.height, 3)),
                format::grouped(sheet.parts),
                format!("{:.2} %", 100.0 * sheet.density),
                format::trimmed(sheet.used, 3),
            ]);
        }
        terminal::print(table)?;
        terminal::print(format_args!(
            "{} on {} in {} on {}.",
            format::counted(self.places.len(), "part", "parts"),
            format::counted(self.sheets.len(), "sheet", "sheets"),
            format::time(1e3 * self.seconds),
            self.device
        ))?;
        if let Some(ValueReport { placed, total }) = self.value {
            terminal::print(format_args!("Value: {} of {}.", format::trimmed(placed, 3), format::trimmed(total, 3)))?;
        }
        // Otherwise an error names them.
        if self.value.is_some() || self.cancelled {
            for LeftReport { part, count, reason } in &self.left {
                terminal::print(format_args!("Left: {count} of {part} ({reason})."))?;
            }
        }
        if self.deviation > 0.0 {
            terminal::print(format_args!("Curves count as lines outside of them, at most {:.1e} away.", self.deviation))?;
        }
        terminal::print(format_args!("Written: {}", self.output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_sheets() {
        let sheet = |width, height, count| Ok(SheetArg::Size(Sheet { width, height, count, form: None }));
        let form = |name: &str, count| Ok(SheetArg::Form(name.to_owned(), count));
        assert_eq!((parse_sheet("a.svg"), parse_sheet("C:a.DXF:3")), (form("a.svg", None), form("C:a.DXF", Some(3))));
        assert_eq!(
            (parse_sheet("a.svgz:2"), parse_sheet("b.dxf.gz"), parse_sheet("-")),
            (form("a.svgz", Some(2)), form("b.dxf.gz", None), form("-", None))
        );
        assert_eq!(parse_sheet("MultiPolygon(((0 0)))"), form("MultiPolygon(((0 0)))", None));
        assert_eq!(parse_sheet("600x400"), sheet(600.0, 400.0, None));
        assert_eq!(parse_sheet(" 60.5 x 40 cm:3"), sheet(605.0, 400.0, Some(3)));
        assert_eq!(parse_sheet("2x1m"), sheet(2000.0, 1000.0, None));
        assert_eq!(parse_sheet("2x1mm"), sheet(2.0, 1.0, None));
        assert_eq!(parse_sheet("10x5in:1"), sheet(254.0, 127.0, Some(1)));
        for text in ["", "600", "600x", "x4", "0x4", "-1x4", "infx3", "6x4ft", "6x4:0", "6x4:", "6x4:x", "a.svg:0"] {
            assert!(parse_sheet(text).unwrap_err().starts_with("not a sheet"), "{text}");
        }
        assert_eq!(["1500", "1.5m", " 60 in", "24in"].map(parse_roll), [1500.0, 1500.0, 1524.0, 609.6].map(Ok));
        for text in ["", "0", "-1", "inf", "nan", "1x2", "m", "1e6", "1000m"] {
            assert!(parse_roll(text).unwrap_err().starts_with("not a width"), "{text}");
        }
    }
}
