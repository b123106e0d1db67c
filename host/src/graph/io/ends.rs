//! Edges between vertices with names, as they are read, and their numbering.

use rayon::prelude::*;

use super::{MOST, too_many};
use crate::{
    graph::{EdgeList, Graph, Ids},
    io::{Names, Reason, push, reserve, zeroed},
};

/// Ends of edges: numbers, until a name comes that isn't one.
pub(super) enum Ends {
    Numbers(Vec<[i64; 2]>),
    Names(Names, Vec<[i32; 2]>),
}

pub(super) fn vertex_of(names: &mut Names, name: &str) -> Result<i32, Reason> {
    match names.number(name)? {
        MOST.. => Err(too_many("vertices", MOST as u64 + 1).into()),
        number => Ok(number as i32),
    }
}

/// Parses a whole number that is written as it would be printed, so that names like `007` stay apart from numbers.
pub(in crate::graph) fn whole(word: &str) -> Option<i64> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    let is_plain = digits == "0" && digits.len() == word.len()
        || !digits.starts_with('0') && digits.starts_with(|c: char| c.is_ascii_digit());
    if is_plain { word.parse().ok() } else { None }
}

impl Ends {
    pub fn new() -> Self {
        Ends::Numbers(Vec::new())
    }

    pub fn len(&self) -> usize {
        match self {
            Ends::Numbers(edges) => edges.len(),
            Ends::Names(_, edges) => edges.len(),
        }
    }

    /// Adds an edge between vertices of these names.
    pub fn add(&mut self, [u, v]: [&str; 2]) -> Result<(), Reason> {
        if self.len() == MOST {
            return Err(too_many("edges", MOST as u64 + 1).into());
        }
        if let Ends::Numbers(edges) = self {
            if let (Some(u), Some(v)) = (whole(u), whole(v)) {
                return push(edges, [u, v]);
            }
            let (mut names, mut named) = (Names::default(), Vec::new());
            for edge in edges {
                let [u, v] = edge.map(|end| end.to_string());
                push(&mut named, [vertex_of(&mut names, &u)?, vertex_of(&mut names, &v)?])?;
            }
            *self = Ends::Names(names, named);
        }
        let Ends::Names(names, edges) = self else { unreachable!("they are names now") };
        push(edges, [vertex_of(names, u)?, vertex_of(names, v)?])
    }

    /// Numbers the vertices that have an edge: numbers in ascending order, names as they came.
    pub fn graph(self, arcs: bool) -> Result<Graph, Reason> {
        match self {
            Ends::Names(names, edges) => {
                let names = names.into_vec();
                Ok(Graph { list: EdgeList { vertices: names.len(), edges, arcs }, ids: Ids::Names(names) })
            }
            Ends::Numbers(ends) => {
                let numbers = distinct(&ends)?;
                if numbers.len() > MOST {
                    return Err(too_many("vertices", numbers.len() as u64).into());
                }
                let vertices = numbers.len();
                // Numbers without gaps are their own places.
                let first = numbers.first().copied().unwrap_or(0);
                let whole = numbers.last().is_none_or(|last| last.checked_sub(first) == Some(vertices as i64 - 1));
                let place = |end: i64| if whole { end - first } else { numbers.partition_point(|&number| number < end) as i64 };
                let mut edges = Vec::new();
                reserve(&mut edges, ends.len())?;
                edges.par_extend(ends.par_iter().map(|edge| edge.map(|end| place(end) as i32)));
                let ids = if whole && (0..=1).contains(&first) { Ids::From(first) } else { Ids::Numbers(numbers) };
                Ok(Graph { list: EdgeList { vertices, edges, arcs }, ids })
            }
        }
    }

    /// Returns the edges between the vertices of another graph. The first one may be `no_edge`: it is left out if it has others.
    ///
    /// # Errors
    /// Number of the first edge with an unknown vertex, and that vertex's name.
    pub fn within(self, ids: &Ids, vertices: usize, no_edge: bool) -> Result<Vec<[i32; 2]>, (usize, String)> {
        let index = ids.index();
        let is_number = matches!(ids, Ids::From(_) | Ids::Numbers(_));
        let of_name = |name: &str| if is_number { ids.find(name, vertices) } else { index.get(name).copied() };
        let of_number = |end: i64| if is_number { ids.find_number(end, vertices) } else { of_name(&end.to_string()) };
        let found =
            |edge: usize, end: Option<usize>, name: &dyn Fn() -> String| end.map(|end| end as i32).ok_or_else(|| (edge, name()));
        let collect = |edges: &mut dyn Iterator<Item = Result<[i32; 2], (usize, String)>>| {
            let first = edges.next().filter(|first| first.is_ok() || !no_edge);
            first.into_iter().chain(edges).collect()
        };
        match self {
            Ends::Numbers(edges) => {
                let end = |edge: usize, end: i64| found(edge, of_number(end), &|| end.to_string());
                collect(&mut edges.iter().enumerate().map(|(edge, &[u, v])| Ok([end(edge, u)?, end(edge, v)?])))
            }
            Ends::Names(names, edges) => {
                let names = names.into_vec();
                let end = |edge: usize, end: i32| found(edge, of_name(&names[end as usize]), &|| names[end as usize].clone());
                collect(&mut edges.iter().enumerate().map(|(edge, &[u, v])| Ok([end(edge, u)?, end(edge, v)?])))
            }
        }
    }
}

/// Returns the numbers that occur, ascending.
fn distinct(ends: &[[i64; 2]]) -> Result<Vec<i64>, Reason> {
    let ends = ends.as_flattened();
    let (least, most) = ends
        .par_iter()
        .fold(|| (i64::MAX, i64::MIN), |(a, b), &end| (a.min(end), b.max(end)))
        .reduce(|| (i64::MAX, i64::MIN), |a, b| (a.0.min(b.0), a.1.max(b.1)));
    let mut numbers = Vec::new();
    // Marks take less than a sort if there are not many more than ends.
    let range = most.checked_sub(least).and_then(|range| usize::try_from(range).ok()).filter(|&range| range / 16 <= ends.len());
    match range {
        _ if ends.is_empty() => {}
        Some(range) => {
            let mut marks: Vec<u8> = zeroed(range + 1)?;
            ends.iter().for_each(|&end| marks[(end - least) as usize] = 1);
            reserve(&mut numbers, marks.iter().filter(|&&mark| mark == 1).count())?;
            numbers.extend(marks.iter().enumerate().filter(|&(_, &mark)| mark == 1).map(|(number, _)| least + number as i64));
        }
        None => {
            reserve(&mut numbers, ends.len())?;
            numbers.extend_from_slice(ends);
            numbers.par_sort_unstable();
            numbers.dedup();
        }
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[[&str; 2]]) -> Graph {
        let mut ends = Ends::new();
        edges.iter().for_each(|&edge| ends.add(edge).unwrap());
        ends.graph(false).unwrap()
    }

    #[test]
    fn numbering() {
        let of = |edges: &[[&str; 2]]| {
            let Graph { list, ids } = graph(edges);
            (list.vertices, list.edges, ids)
        };
        assert_eq!(of(&[]), (0, vec![], Ids::From(0)));
        assert_eq!(of(&[["0", "2"], ["1", "1"]]), (3, vec![[0, 2], [1, 1]], Ids::From(0)));
        assert_eq!(of(&[["1", "2"]]), (2, vec![[0, 1]], Ids::From(1)));
        assert_eq!(of(&[["1004", "1001"]]), (2, vec![[1, 0]], Ids::Numbers(vec![1001, 1004])));
        assert_eq!(of(&[["1003", "1002"]]), (2, vec![[1, 0]], Ids::Numbers(vec![1002, 1003])));
        let far = ["-9223372036854775808", "9223372036854775807"];
        assert_eq!(of(&[far]), (2, vec![[0, 1]], Ids::Numbers(vec![i64::MIN, i64::MAX])));
        let names = |names: &[&str]| Ids::Names(names.iter().map(|&name| name.to_owned()).collect());
        assert_eq!(of(&[["5", "3"], ["3", "07"], ["7", "5"]]), (4, vec![[0, 1], [1, 2], [3, 0]], names(&["5", "3", "07", "7"])));
        // One more than 64 bits hold.
        assert_eq!(of(&[["9223372036854775808", "-0"]]).2, names(&["9223372036854775808", "-0"]));
    }

    /// Marks and a sort find the same.
    #[test]
    fn close_and_distant_numbers() {
        for gap in [15, 16, 17, 1000] {
            let numbers: Vec<i64> = (0..40).map(|i| -7 + i * 2 * gap).collect();
            let edges: Vec<[String; 2]> = numbers.windows(2).map(|pair| [pair[1].to_string(), pair[0].to_string()]).collect();
            let edges: Vec<[&str; 2]> = edges.iter().map(|[u, v]| [u.as_str(), v.as_str()]).collect();
            let Graph { list, ids } = graph(&edges);
            assert_eq!(ids, Ids::Numbers(numbers));
            assert_eq!(list.edges, (0..39).map(|i| [i + 1, i]).collect::<Vec<_>>());
        }
    }
}
