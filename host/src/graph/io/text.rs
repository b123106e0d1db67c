//! Lists of edges in lines and tables, and matrices.

use std::path::Path;

use super::{Edges, Ends, FirstRow, MOST, Wanted, add, dimacs, keep, none, numbered, too_many};
use crate::{
    graph::Graph,
    io::{First, Lines, Market, Reason, Role, Symmetry, Table, TableOptions, at},
};

/// The columns of a table of edges.
const ROLES: &[Role] = &[
    Role {
        name: "source",
        also: &["from", "fromnode", "fromnodeid", "src", "sourceid", "fromid", "parent", "u?", "start?", "tail?", "node1?", "a?"],
        is: |text| super::whole(text).is_some(),
        required: true,
    },
    Role {
        name: "target",
        also: &["to", "tonode", "tonodeid", "dst", "dest", "targetid", "toid", "child", "v?", "end?", "head?", "node2?", "b?"],
        is: |text| super::whole(text).is_some(),
        required: true,
    },
];

/// The columns of a table of edges with weights.
const WEIGHTED: &[Role] = &[
    ROLES[0],
    ROLES[1],
    Role {
        name: "weight",
        also: &["w?", "weights", "cost", "length", "distance", "capacity", "value"],
        is: |text| text.parse::<f64>().is_ok(),
        required: true,
    },
];

/// The columns that are read.
fn roles(weights: &Wanted<'_>) -> &'static [Role] {
    if weights.is_some() { WEIGHTED } else { ROLES }
}

/// Reads an edge for each entry of a matrix.
pub(super) fn market(path: &Path, mut weights: Wanted<'_>) -> Result<Graph, Reason> {
    let mut market = Market::open(path)?;
    let (vertices, columns) = market.shape();
    if vertices != columns {
        return Err(market.error(format_args!("a matrix of {vertices} rows and {columns} columns isn't that of a graph")));
    }
    if vertices > MOST {
        return Err(market.error(too_many("vertices", vertices as u64)));
    }
    let mut edges = Vec::new();
    let mut value = |market: &Market, value: Option<&str>| match value {
        None => none(&weights, "a pattern has").map_err(|reason| market.error(reason)),
        value => keep(&mut weights, value, |reason| market.error(reason)),
    };
    while let Some((row, column, ())) = market.next(&mut value)? {
        add(&mut edges, [row.into(), column.into()])?;
    }
    Ok(numbered(vertices, edges, market.symmetry == Symmetry::General, 1))
}

/// Reads a table with a row for each edge.
pub(super) fn table(path: &Path, options: &TableOptions, weights: Wanted<'_>) -> Result<Edges, Reason> {
    let (table, places) = Table::open_columns(path, roles(&weights), options)?;
    rows(table, &places, weights)
}

fn rows(mut table: Table, places: &[Option<usize>], mut weights: Wanted<'_>) -> Result<Edges, Reason> {
    let &[Some(source), Some(target), ref weight @ ..] = places else { unreachable!("the columns are required") };
    let weight = weight.first().copied().flatten();
    let mut ends = Ends::new();
    let first = match table.first {
        First::Known => FirstRow::Known,
        First::Names => FirstRow::Names([source, target].map(|column| table.header()[column].clone())),
        First::Values { common } => FirstRow::Edge { common },
    };
    while table.next()? {
        for column in [source, target] {
            // NumPy's arrays lose NUL at the end of names. Null is one NUL.
            if matches!(table.text(column), text if text.is_empty() || text.ends_with('\0')) {
                return Err(table.field_error(column, "a vertex"));
            }
            if let FirstRow::Names(names) = &first
                && names.iter().any(|name| name == table.text(column))
            {
                let name = table.text(column);
                return Err(table.error(format_args!(
                    "`{name}` is a vertex here, and the name of a column in the first row (--header no: that is an edge)"
                )));
            }
        }
        keep(&mut weights, weight.map(|column| table.text(column)), |reason| table.error(reason))?;
        ends.add([table.text(source), table.text(target)])?;
    }
    Ok(Edges::Named { ends, arcs: false, first })
}

/// Reads two vertices in each line, or what the first line shows that the file is.
pub(super) fn plain(path: &Path, options: &TableOptions, mut weights: Wanted<'_>) -> Result<Edges, Reason> {
    let mut lines = Lines::open(path)?;
    let mut ends = Ends::new();
    let mut first = true;
    // The first edge, as long as it may be a heading, its line, and whether it has a third word.
    let mut words_above: Option<([String; 2], u64, bool)> = None;
    let is_default = *options == TableOptions::default();
    let mut row = FirstRow::Known;
    let mut separator = Separator::Any(None);
    while lines.next_filled()? {
        let line = lines.line().trim_ascii();
        match line {
            [b'%', b'%', b'M', ..] if lines.number() == 1 => {
                return Err(lines.error("this is a Matrix Market file, whose name must end in `.mtx`"));
            }
            [b'{', ..] if lines.number() == 1 => {
                return Err(lines.error("this is JSON, and the name of GeoJSON must end in `.geojson`"));
            }
            [b'<', ..] if lines.number() == 1 => {
                return Err(lines.error("this is XML, and the name of GraphML must end in `.graphml`"));
            }
            // With names of columns, the first line may have them.
            [b'#' | b'%', ..] if !(first && (options.has_names() || options.header == Some(true))) => continue,
            [b'p', b' ', ..] | [b'c', b' ', ..] | b"c" if first && is_default => {
                lines.back();
                return dimacs::read(lines, weights).map(Edges::Numbered);
            }
            line if first && (!is_default || line.iter().any(|byte| b",;|".contains(byte))) => {
                let options = options.or_blanks(line);
                lines.back();
                let (table, places) = Table::of_columns(lines, roles(&weights), &options)?;
                return rows(table, &places, weights);
            }
            _ => {}
        }
        let [Some(u), Some(v), weight] = separator.split(lines.text()?).map_err(|reason| lines.error(reason))? else {
            return Err(lines.error("an edge has two vertices, and here is less"));
        };
        let are_numbers = [u, v].iter().all(|end| end.parse::<i64>().is_ok());
        if std::mem::take(&mut first) && [u, v].into_iter().chain(weight).all(|word| word.parse::<f64>().is_err()) {
            words_above = Some(([u.to_owned(), v.to_owned()], lines.number(), weight.is_some()));
            continue;
        }
        let has_number = weight.is_some_and(|word| word.parse::<f64>().is_ok());
        match words_above.take() {
            Some((above, _, has_third)) if are_numbers || has_third && has_number || are_names(&above) => {
                row = FirstRow::Heading(above);
            }
            Some((above, line, _)) => row = first_edge(&mut ends, &mut weights, above, line)?,
            None => {}
        }
        keep(&mut weights, weight, |reason| lines.error(reason))?;
        ends.add([u, v])?;
    }
    match words_above {
        Some((above, ..)) if are_names(&above) => row = FirstRow::Heading(above),
        Some((above, line, _)) => row = first_edge(&mut ends, &mut weights, above, line)?,
        None => {}
    }
    Ok(Edges::Named { ends, arcs: false, first: row })
}

/// Separator of the words in lines.
enum Separator {
    /// Tabs or blanks: no field between tabs has had blanks within. The first line has this many fields.
    Any(Option<usize>),
    /// Tabs, between this many fields.
    Tabs(usize),
    /// Blanks and tabs.
    Blanks,
}

impl Separator {
    /// Returns the first three words of a line.
    fn split<'a>(&mut self, line: &'a str) -> Result<[Option<&'a str>; 3], String> {
        let line = line.trim_ascii();
        let mut words = line.split_ascii_whitespace();
        let first = [(); 3].map(|()| words.next());
        if let Separator::Blanks = self {
            return Ok(first);
        }
        let count = 1 + line.bytes().filter(|&byte| byte == b'\t').count();
        let mut fields = line.split('\t').map(str::trim_ascii);
        let wanted = match *self {
            Separator::Tabs(wanted) => wanted,
            Separator::Any(wanted) if (2..=3).contains(&count) => {
                let wanted = wanted.unwrap_or(count);
                if fields.clone().all(|field| !field.contains(' ')) {
                    *self = Separator::Any(Some(wanted));
                    return Ok(first);
                }
                // Weights, times or a comment may follow two words.
                let is_number = |word: &str| word.parse::<f64>().is_ok();
                let mut follow = line.split_ascii_whitespace().skip(2).take_while(|word| !word.starts_with(['#', '%']));
                if first.iter().take(2).flatten().all(|word| is_number(word)) || follow.all(is_number) {
                    *self = Separator::Blanks;
                    return Ok(first);
                }
                *self = Separator::Tabs(wanted);
                wanted
            }
            Separator::Any(_) | Separator::Blanks => {
                *self = Separator::Blanks;
                return Ok(first);
            }
        };
        if wanted != count {
            return Err(format!("the lines above have {wanted} fields between tabs, and this one has {count}"));
        }
        if fields.clone().any(str::is_empty) {
            return Err("a field between tabs is empty".to_owned());
        }
        Ok([(); 3].map(|()| fields.next()))
    }
}

/// Returns true if these words are names of the columns of ends.
fn are_names(words: &[String; 2]) -> bool {
    words.iter().zip(ROLES).all(|(word, role)| role.matches(word, true))
}

/// Adds the first line, which may be a heading, as an edge. It has no weight.
fn first_edge(ends: &mut Ends, weights: &mut Wanted<'_>, [u, v]: [String; 2], line: u64) -> Result<FirstRow, Reason> {
    keep(weights, None, |reason| at(line, reason).into())?;
    ends.add([&u, &v])?;
    let common = [&u, &v].into_iter().zip(ROLES).any(|(word, role)| role.matches(word, false));
    Ok(FirstRow::Edge { common })
}
