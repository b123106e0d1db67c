//! Graphs as GraphML, and lines as GeoJSON.

use std::{collections::HashMap, path::Path};

use roxmltree::{Document, Node};
use serde_json::Value;

use super::{
    MOST, Wanted, add,
    ends::{vertex_of, whole},
    keep, too_many,
};
use crate::{
    graph::{Drawing, EdgeList, Graph, Ids},
    io::{Names, Reason, at, brief, check_room, large_text, listed, push, quoted},
};

/// Reads the first graph of a GraphML file. Vertices have their ids as names, and weights are the edges' attribute `weight`.
pub(super) fn graphml(path: &Path, weight: &str, mut weights: Wanted<'_>) -> Result<Graph, Reason> {
    let text = large_text(path)?;
    // About what the tree of nodes takes.
    check_room(4 * text.len())?;
    let document = Document::parse(&text).map_err(brief)?;
    let line = |node: Node<'_, '_>, reason: String| Reason::from(at(document.text_pos_at(node.range().start).row.into(), reason));
    let is = |name: &'static str| move |node: &Node<'_, '_>| node.tag_name().name() == name;
    let root = document.root_element();
    let graph = root.children().find(is("graph")).ok_or("has no element `graph` in an element `graphml`")?;
    let (mut names, mut edges) = (Names::default(), Vec::new());
    let mut numbers: HashMap<&str, i32> = HashMap::new();
    for node in graph.descendants().filter(is("node")) {
        let id = node.attribute("id").ok_or_else(|| line(node, "the node has no `id`".to_owned()))?;
        let number = vertex_of(&mut names, id)?;
        if numbers.insert(id, number).is_some() {
            return Err(line(node, format!("there is a second node {}", quoted(id))));
        }
    }
    let is_key = |key: &Node<'_, '_>| {
        let of_edges = matches!(key.attribute("for"), Some("edge" | "all") | None);
        of_edges && (key.attribute("attr.name") == Some(weight) || key.attribute("id") == Some(weight))
    };
    // NetworkX has a key for each type of numbers.
    let keys: Vec<_> = root.children().filter(is("key")).filter(is_key).collect();
    let default = keys.iter().find_map(|key| key.children().find(is("default"))?.text());
    let is_weight = |data: &Node<'_, '_>| keys.iter().any(|key| key.attribute("id") == data.attribute("key"));
    if weights.is_some() && keys.is_empty() {
        return Err(format!("has no attribute {} of edges: choose one (--columns weight=NAME)", quoted(weight)).into());
    }
    for edge in graph.descendants().filter(is("edge")) {
        let data = edge.children().filter(is("data")).find(is_weight);
        let text = data.and_then(|data| data.text()).or(default).map(str::trim);
        keep(&mut weights, text, |reason| line(edge, reason))?;
        let end = |name: &str| {
            let id = edge.attribute(name).ok_or_else(|| line(edge, format!("the edge has no `{name}`")))?;
            numbers.get(id).copied().ok_or_else(|| line(edge, format!("the edge's `{name}` is {}, which is no node", quoted(id))))
        };
        add(&mut edges, [end("source")? as u64, end("target")? as u64])?;
    }
    if graph.descendants().any(|node| node.tag_name().name() == "hyperedge") {
        return Err("has hyperedges, which can't be read".into());
    }
    let arcs = graph.attribute("edgedefault") == Some("directed");
    let ids = names.into_vec();
    let from_zero = ids.iter().enumerate().all(|(number, id)| whole(id) == Some(number as i64));
    let ids = if from_zero { Ids::From(0) } else { Ids::Names(ids) };
    Ok(Graph { list: EdgeList { vertices: numbers.len(), edges, arcs }, ids })
}

/// The points of lines, as vertices.
#[derive(Default)]
struct Places<'a> {
    /// The name of the features' weight.
    name: &'a str,
    weights: Wanted<'a>,
    numbers: HashMap<[u64; 2], i32>,
    drawing: Drawing,
    edges: Vec<[i32; 2]>,
}

impl Places<'_> {
    fn vertex(&mut self, point: [f64; 2]) -> Result<i32, Reason> {
        // A zero has two signs.
        let key = point.map(|x| (x + 0.0).to_bits());
        if let Some(&number) = self.numbers.get(&key) {
            return Ok(number);
        }
        if self.drawing.points.len() == MOST {
            return Err(too_many("vertices", MOST as u64 + 1).into());
        }
        let number = self.drawing.points.len() as i32;
        push(&mut self.drawing.points, point)?;
        self.numbers.insert(key, number);
        Ok(number)
    }

    fn line(&mut self, points: &Value) -> Result<(), Reason> {
        let points = points.as_array().ok_or("`coordinates` of a line must be a list of points")?;
        if points.len() == 1 {
            return Err("a line has one point, and must have two".into());
        }
        let mut last = None;
        for (index, point) in points.iter().enumerate() {
            let coordinate = |axis: usize| point.get(axis).and_then(Value::as_f64).filter(|x| x.is_finite());
            let (Some(x), Some(y)) = (coordinate(0), coordinate(1)) else {
                return Err(format!("point {index}: {} is no list of two numbers", quoted(&point.to_string())).into());
            };
            let (vertex, z) = (self.vertex([x, y])?, coordinate(2).unwrap_or(f64::NAN));
            match last {
                Some((last, before)) if last != vertex => {
                    add(&mut self.edges, [last as u64, vertex as u64])?;
                    push(&mut self.drawing.edges, (None, [before, z]))?;
                }
                _ => {}
            }
            last = Some((vertex, z));
        }
        Ok(())
    }

    /// Divides a weight among the edges from `first` on, by their lengths.
    fn weigh(&mut self, first: usize, weight: Option<String>) -> Result<(), Reason> {
        let edges = &self.edges[first..];
        let length = |&edge: &[i32; 2]| {
            let [[ax, ay], [bx, by]] = edge.map(|end| self.drawing.points[end as usize]);
            (bx - ax).hypot(by - ay)
        };
        let (total, number) = (edges.iter().map(length).sum::<f64>(), weight.as_ref().and_then(|word| word.parse::<f64>().ok()));
        for edge in edges {
            let part = number.filter(|_| edges.len() > 1 && total.is_finite()).map(|number| number * (length(edge) / total));
            let word = part.map(|part| part.to_string());
            keep(&mut self.weights, word.as_deref().or(weight.as_deref()), Reason::from)?;
        }
        Ok(())
    }

    fn geometry(&mut self, value: &Value) -> Result<(), Reason> {
        let list =
            |key: &str| value.get(key).and_then(Value::as_array).ok_or_else(|| Reason::from(format!("a `{key}` is missing")));
        let coordinates = || value.get("coordinates").ok_or("`coordinates` are missing");
        match value.get("type").and_then(Value::as_str) {
            Some("FeatureCollection") => list("features")?.iter().enumerate().try_for_each(|(index, feature)| {
                self.geometry(feature).map_err(|reason| reason.after(format_args!("features[{index}]: ")))
            }),
            Some("Feature") => {
                let first = self.edges.len();
                let geometry = value.get("geometry").filter(|geometry| !geometry.is_null());
                geometry.map_or(Ok(()), |value| self.geometry(value))?;
                let number = self.drawing.features.len() as u32;
                self.drawing.edges[first..].iter_mut().for_each(|(feature, _)| *feature = Some(number));
                let is_one = self.edges.len() == first + 1;
                let members = ["id", "properties"].into_iter().filter(|&key| is_one || key != "id");
                let member = |key: &str| value.get(key).filter(|value| key == "id" || value.is_object()).cloned();
                let members = members.filter_map(|key| Some((key.to_owned(), member(key)?)));
                push(&mut self.drawing.features, members.collect())?;
                let properties = value.get("properties").and_then(Value::as_object);
                let property = properties.and_then(|properties| properties.get(self.name));
                if property.is_none() && self.weights.is_some() && self.edges.len() > first {
                    let others = match properties.filter(|properties| !properties.is_empty()) {
                        Some(others) => format!("only {}: choose one (--columns weight=NAME)", listed(others.keys())),
                        None => "nor any other".to_owned(),
                    };
                    return Err(format!("there is no property {}, {others}", quoted(self.name)).into());
                }
                self.weigh(first, property.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
            }
            Some("GeometryCollection") => list("geometries")?.iter().try_for_each(|geometry| self.geometry(geometry)),
            Some("LineString") => self.line(coordinates()?),
            Some("MultiLineString") => {
                let lines = coordinates()?.as_array().ok_or("`coordinates` must be a list of lines")?;
                lines.iter().try_for_each(|line| self.line(line))
            }
            Some("Point" | "MultiPoint" | "Polygon" | "MultiPolygon") => Ok(()),
            Some(other) => Err(format!("{} is no type of GeoJSON", quoted(other)).into()),
            None => Err("has no `type`: it is not GeoJSON".into()),
        }
    }
}

/// Reads lines: their points are the vertices, and an edge joins each point of a line to the next. A feature's property `weight`
/// is divided among its edges by their lengths. Points and areas don't count.
pub(super) fn geojson(path: &Path, weight: &str, weights: Wanted<'_>) -> Result<Graph, Reason> {
    let text = large_text(path)?;
    check_room(8 * text.len())?;
    let value: Value = serde_json::from_str(&text).map_err(brief)?;
    let mut found = Places { name: weight, weights, ..Places::default() };
    found.geometry(&value)?;
    // Lines of no feature have no weights.
    found
        .drawing
        .edges
        .iter()
        .filter(|(feature, _)| feature.is_none())
        .try_for_each(|_| keep(&mut found.weights, None, |_| "has a line of no feature, and so without a weight".into()))?;
    if found.edges.is_empty() {
        return Err("has no lines".into());
    }
    let Places { mut drawing, edges, .. } = found;
    drawing.crs = value.get("crs").cloned();
    Ok(Graph { list: EdgeList { vertices: drawing.points.len(), edges, arcs: false }, ids: Ids::Places(drawing) })
}
