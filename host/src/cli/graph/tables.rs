//! Results on graphs as tables and as lines on a map.

use std::io::{self, Write};

use csv::Writer;
use warpsmith::graph::{Graph, io::Weights};

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

/// Writes the graph's lines: with the component of each edge, or the bridges alone. Articulation points are points.
pub fn geojson(kind: Kind, graph: &Graph, arrays: &[Vec<i32>], mut file: impl Write) -> io::Result<()> {
    let places = graph.ids.places().unwrap_or_default();
    let point = |vertex: i32| {
        let [x, y] = places[vertex as usize];
        format!("[{x:?},{y:?}]")
    };
    let component = |label: i32| if label < 0 { "{}".to_owned() } else { format!("{{\"component\":{label}}}") };
    let line = |edge: usize, properties: String| {
        let [u, v] = graph.list.edges[edge];
        let geometry = format!("{{\"type\":\"LineString\",\"coordinates\":[{},{}]}}", point(u), point(v));
        feature(&properties, &geometry)
    };
    let edges = 0..graph.list.edges.len();
    let features: Box<dyn Iterator<Item = String>> = match kind {
        Kind::Components => Box::new(edges.map(|edge| line(edge, component(arrays[0][graph.list.edges[edge][0] as usize])))),
        Kind::Bridges | Kind::Forest => {
            Box::new(arrays[0].iter().map(|&edge| line(edge as usize, format!("{{\"edge\":{edge}}}"))))
        }
        Kind::Biconnected => {
            let lines = edges.map(|edge| line(edge, component(arrays[0][edge])));
            let of_point = |&vertex: &i32| {
                feature("{\"articulation\":true}", &format!("{{\"type\":\"Point\",\"coordinates\":{}}}", point(vertex)))
            };
            Box::new(lines.chain(arrays[1].iter().map(of_point)))
        }
    };
    write!(file, "{{\"type\":\"FeatureCollection\",\"features\":[")?;
    for (index, feature) in features.enumerate() {
        write!(file, "{}\n{feature}", if index > 0 { "," } else { "" })?;
    }
    writeln!(file, "\n]}}")
}

fn feature(properties: &str, geometry: &str) -> String {
    format!("{{\"type\":\"Feature\",\"properties\":{properties},\"geometry\":{geometry}}}")
}
