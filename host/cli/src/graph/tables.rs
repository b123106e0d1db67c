//! Results on graphs as tables and as lines on a map.

use std::io::{self, Write};

use csv::Writer;
use serde_json::{Map, Value, json};
use warpsmith::graph::{Drawing, Graph, io::Weights};

use super::Kind;

/// Writes a row per vertex, bridge or edge, with the file's names of vertices. A component is called by the name of one of its
/// vertices.
pub fn csv(kind: Kind, graph: &Graph, weights: Option<&Weights>, arrays: &[Vec<i32>], file: impl Write) -> io::Result<()> {
    let name = |vertex: i32| graph.ids.name(vertex as usize);
    let edge = |edge: usize| graph.list.edges[edge].map(name);
    let mut table = Writer::from_writer(file);
    match kind {
        Kind::Components => {
            table.write_record(["vertex", "component"])?;
            for (vertex, &label) in arrays[0].iter().enumerate() {
                table.write_record([&*name(vertex as i32), &*name(label)])?;
            }
        }
        Kind::Bridges => {
            table.write_record(["source", "target"])?;
            arrays[0]
                .iter()
                .try_for_each(|&bridge| table.write_record(edge(bridge as usize).iter().map(|name| name.as_bytes())))?;
        }
        Kind::Forest => {
            table.write_record(["source", "target", "weight"])?;
            for &number in &arrays[0] {
                let [source, target] = edge(number as usize);
                let weight = weights.map_or_else(String::new, |weights| weights.text(number as usize));
                table.write_record([&*source, &*target, &*weight])?;
            }
        }
        Kind::Biconnected => {
            table.write_record(["source", "target", "component"])?;
            for (number, &label) in arrays[0].iter().enumerate() {
                let [source, target] = edge(number);
                // A loop is in none.
                let label = if label < 0 { "".into() } else { name(label) };
                table.write_record([&*source, &*target, &*label])?;
            }
        }
    }
    table.flush()
}

/// Writes the graph's lines: with the component of each edge, the bridges alone, or the forest's edges with their weights, if
/// they have some. Articulation points are points.
pub fn geojson(
    kind: Kind,
    graph: &Graph,
    (drawing, weights): (&Drawing, Option<&Weights>),
    arrays: &[Vec<i32>],
    mut file: impl Write,
) -> io::Result<()> {
    let point = |vertex: i32, z: f64| {
        let [x, y] = drawing.points[vertex as usize];
        if z.is_nan() { format!("[{x:?},{y:?}]") } else { format!("[{x:?},{y:?},{z:?}]") }
    };
    let line = |edge: usize, value: i32| {
        let ([u, v], (feature, [a, b])) = (graph.list.edges[edge], drawing.edges[edge]);
        let mut members = feature.map(|feature| drawing.features[feature as usize].clone()).unwrap_or_default();
        // A loop has no component.
        if value >= 0 {
            let properties = members.entry("properties").or_insert_with(|| json!({}));
            properties[kind.property()] = value.into();
            if let Some(weights) = weights {
                properties["weight"] = match weights {
                    Weights::Integers(weights) => weights[edge].into(),
                    Weights::Floats(weights) => weights[edge].into(),
                };
            }
        }
        let geometry = format!("{{\"type\":\"LineString\",\"coordinates\":[{},{}]}}", point(u, a), point(v, b));
        feature_of(members, &geometry)
    };
    let edges = 0..graph.list.edges.len();
    let features: Box<dyn Iterator<Item = String>> = match kind {
        Kind::Components => Box::new(edges.map(|edge| line(edge, arrays[0][graph.list.edges[edge][0] as usize]))),
        Kind::Bridges | Kind::Forest => Box::new(arrays[0].iter().map(|&edge| line(edge as usize, edge))),
        Kind::Biconnected => {
            // A point has the z of its first line that has one.
            let mut heights = vec![f64::NAN; drawing.points.len()];
            for (ends, (_, z)) in graph.list.edges.iter().zip(&drawing.edges).rev() {
                ends.iter().zip(z).filter(|(_, z)| !z.is_nan()).for_each(|(&end, &z)| heights[end as usize] = z);
            }
            let lines = edges.map(|edge| line(edge, arrays[0][edge]));
            let of_point = move |&vertex: &i32| {
                let members = Map::from_iter([("properties".to_owned(), json!({"articulation": true}))]);
                let place = point(vertex, heights[vertex as usize]);
                feature_of(members, &format!("{{\"type\":\"Point\",\"coordinates\":{place}}}"))
            };
            Box::new(lines.chain(arrays[1].iter().map(of_point)))
        }
    };
    let crs = drawing.crs.as_ref().map_or_else(String::new, |crs| format!("\"crs\":{crs},"));
    write!(file, "{{\"type\":\"FeatureCollection\",{crs}\"features\":[")?;
    for (index, feature) in features.enumerate() {
        write!(file, "{}\n{feature}", if index > 0 { "," } else { "" })?;
    }
    writeln!(file, "\n]}}")
}

/// A feature with these members; `properties` are empty if they aren't given.
fn feature_of(mut members: Map<String, Value>, geometry: &str) -> String {
    members.entry("properties").or_insert_with(|| json!({}));
    let members: String = members.iter().map(|(key, value)| format!("\"{key}\":{value},")).collect();
    format!("{{\"type\":\"Feature\",{members}\"geometry\":{geometry}}}")
}
