//! Cuts simple polygons into few convex pieces, and these into quads.
//!
//! A constrained Delaunay triangulation (with exact predicates) is thinned out: of the edges that
//! it adds, longest first, those are removed without which no piece turns inwards (Hertel and
//! Mehlhorn, *Fast triangulation of simple polygons*, 1983). That gives at most four times the
//! smallest number of pieces, and mostly the smallest number.

use robust::{Coord, orient2d};
use spade::{ConstrainedDelaunayTriangulation, HasPosition, Point2, Triangulation as _};

use super::convex::{Point, area, distance};

/// No half-edge.
const NONE: usize = usize::MAX;

/// Approximately twice the signed area of a triangle, with an exact sign: positive if a, b, c turn
/// left, negative if they turn right, 0 if they are exactly on a line.
pub fn turn(a: Point, b: Point, c: Point) -> f64 {
    let coord = |[x, y]: Point| Coord { x, y };
    orient2d(coord(a), coord(b), coord(c))
}

/// A vertex of the triangulation, with its index in the ring.
struct Vertex {
    position: Point2<f64>,
    index: usize,
}

impl HasPosition for Vertex {
    type Scalar = f64;
    fn position(&self) -> Point2<f64> {
        self.position
    }
}

/// Half-edges by their indices: each goes around the piece to its left.
struct Mesh {
    /// The vertex that it starts from.
    origin: Vec<usize>,
    next: Vec<usize>,
    previous: Vec<usize>,
}

/// Cuts what is in the first ring and in no other into trapezoids with upright sides. Rings may meet.
pub fn trapezoids(rings: &[Vec<Point>]) -> Vec<Vec<Point>> {
    let next = |ring: &[Point], at: usize| ring[(at + 1) % ring.len()];
    let edges_of = |(number, ring): (usize, &Vec<Point>)| -> Vec<(usize, [Point; 2])> {
        let edges = (0..ring.len()).map(|at| [ring[at], next(ring, at)]).filter(|[from, to]| from[0] != to[0]);
        edges.map(|[from, to]| (number, if from[0] < to[0] { [from, to] } else { [to, from] })).collect()
    };
    let edges: Vec<_> = rings.iter().enumerate().flat_map(edges_of).collect();
    let height = |[from, to]: [Point; 2], x: f64| {
        let share = ((x - from[0]) / (to[0] - from[0])).clamp(0.0, 1.0);
        from[1] + share * (to[1] - from[1])
    };
    let ends = |edge: [Point; 2], slab: &[f64]| [0, 1].map(|side| height(edge, slab[side]));
    let sorted = |mut numbers: Vec<f64>| {
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        numbers
    };
    let mut pieces = Vec::new();
    for slab in sorted(rings.iter().flatten().map(|point| point[0]).collect()).windows(2) {
        let over = edges.iter().filter(|(_, [from, to])| from[0] <= slab[0] && slab[1] <= to[0]);
        let over: Vec<_> = over.map(|&(ring, edge)| (ring, edge, ends(edge, slab))).collect();
        let mut sides = slab.to_vec();
        for (first, (.., a)) in over.iter().enumerate() {
            let crossed =
                over[..first].iter().map(|(.., b)| [a[0] - b[0], a[1] - b[1]]).filter(|[left, right]| left * right < 0.0);
            sides.extend(crossed.map(|[left, right]| slab[0] + left / (left - right) * (slab[1] - slab[0])));
        }
        for part in sorted(sides).windows(2) {
            let mut order: Vec<_> =
                over.iter().map(|&(ring, edge, _)| (height(edge, 0.5 * (part[0] + part[1])), ring, edge)).collect();
            order.sort_by(|a, b| a.0.total_cmp(&b.0));
            // Upwards, from each edge to the next one.
            let mut inside = vec![false; rings.len()];
            for pair in order.windows(2) {
                inside[pair[0].1] ^= true;
                if inside[0] && !inside[1..].contains(&true) {
                    let [[a, b], [c, d]] = [pair[0].2, pair[1].2].map(|edge| ends(edge, part));
                    let mut piece = vec![[part[0], a], [part[1], b], [part[1], d], [part[0], c]];
                    piece.dedup();
                    if piece.first() == piece.last() {
                        piece.pop();
                    }
                    if piece.len() > 2 && area(&piece) > 0.0 {
                        pieces.push(piece);
                    }
                }
            }
        }
    }
    pieces
}

/// Cuts a simple polygon, with holes or without, into convex pieces. The vertices of its outline, the first ring, are
/// counter-clockwise, those of holes clockwise, and no two edges meet but at the vertex between them.
///
/// Pieces are counter-clockwise, and each of their vertices is at least `flat` away from the line
/// between its neighbours. Thinner parts are left out; `flat` is about the rounding of a
/// coordinate.
pub fn convex_pieces(rings: &[Vec<Point>], flat: f64) -> Vec<Vec<Point>> {
    if let [ring] = rings
        && is_convex(ring)
    {
        return vec![ring.clone()];
    }
    let (mut mesh, mut diagonals) = triangulate(rings);
    let ring = &rings.concat()[..];
    let length = |&[edge, twin]: &[usize; 2]| distance(ring[mesh.origin[edge]], ring[mesh.origin[twin]]);
    diagonals.sort_by(|a, b| length(b).total_cmp(&length(a)).then(a.cmp(b)));
    for [edge, twin] in diagonals {
        if mesh.is_convex_without(edge, twin, ring, flat) && mesh.is_convex_without(twin, edge, ring, flat) {
            mesh.remove(edge, twin);
        }
    }
    let mut pieces = Vec::new();
    for start in 0..mesh.next.len() {
        if mesh.next[start] == NONE {
            continue;
        }
        let (mut piece, mut edge) = (Vec::new(), start);
        while mesh.next[edge] != NONE {
            piece.push(ring[mesh.origin[edge]]);
            edge = std::mem::replace(&mut mesh.next[edge], NONE);
        }
        straighten(&mut piece, flat);
        if piece.len() >= 3 && area(&piece) > 0.0 {
            pieces.push(piece);
        }
    }
    pieces
}

/// Returns whether a simple polygon turns left at every vertex.
fn is_convex(ring: &[Point]) -> bool {
    let n = ring.len();
    (0..n).all(|index| turn(ring[(index + n - 1) % n], ring[index], ring[(index + 1) % n]) > 0.0)
}

/// The triangles within a polygon, and the pairs of half-edges between them. Vertices are numbered ring after ring.
fn triangulate(rings: &[Vec<Point>]) -> (Mesh, Vec<[usize; 2]>) {
    // The triangulation takes no numbers below 1.8e-43.
    let tame = |number: f64| if number.abs() < 1e-40 { 0.0 } else { number };
    let vertices = rings.iter().flatten().enumerate();
    let vertices = vertices.map(|(index, &[x, y])| Vertex { position: Point2::new(tame(x), tame(y)), index }).collect();
    let mut after: Vec<usize> = Vec::new();
    for ring in rings {
        let start = after.len();
        after.extend((0..ring.len()).map(|index| start + (index + 1) % ring.len()));
    }
    let edges = after.iter().enumerate().map(|(index, &after)| [index, after]).collect();
    let triangles = ConstrainedDelaunayTriangulation::<Vertex>::try_bulk_load_cdt(vertices, edges, |_| {});
    let triangles = triangles.expect("coordinates are finite, and neither too large nor too small");

    let edges = triangles.num_directed_edges();
    let mut mesh = Mesh { origin: vec![NONE; edges], next: vec![NONE; edges], previous: vec![NONE; edges] };
    let mut diagonals = Vec::new();
    // The faces within are those to the left of the polygon's edges, and all faces that they lead
    // to without crossing an edge.
    let mut within = vec![false; triangles.num_all_faces()];
    let mut found = Vec::new();
    for edge in triangles.directed_edges().filter(|edge| edge.is_constraint_edge()) {
        if after[edge.from().data().index] == edge.to().data().index {
            found.extend(edge.face().as_inner());
        }
    }
    while let Some(face) = found.pop() {
        if std::mem::replace(&mut within[face.fix().index()], true) {
            continue;
        }
        for edge in face.adjacent_edges() {
            let index = edge.fix().index();
            mesh.origin[index] = edge.from().data().index;
            mesh.next[index] = edge.next().fix().index();
            mesh.previous[index] = edge.prev().fix().index();
            if !edge.is_constraint_edge() {
                let twin = edge.rev().fix().index();
                if index < twin {
                    diagonals.push([index, twin]);
                }
                found.extend(edge.rev().face().as_inner());
            }
        }
    }
    (mesh, diagonals)
}

impl Mesh {
    /// Returns whether the piece without this pair of half-edges is convex at the start of `edge`,
    /// with the tolerance `flat`.
    fn is_convex_without(&self, edge: usize, twin: usize, ring: &[Point], flat: f64) -> bool {
        let before = ring[self.origin[self.previous[edge]]];
        let at = ring[self.origin[edge]];
        let after = ring[self.origin[self.next[self.next[twin]]]];
        let turn = turn(before, at, after);
        let forward = (at[0] - before[0]) * (after[0] - at[0]) + (at[1] - before[1]) * (after[1] - at[1]) > 0.0;
        turn > 0.0 || forward && -turn <= flat * distance(before, after)
    }

    /// Joins the pieces on both sides.
    fn remove(&mut self, edge: usize, twin: usize) {
        for (edge, twin) in [(edge, twin), (twin, edge)] {
            let (before, after) = (self.previous[edge], self.next[twin]);
            (self.next[before], self.previous[after]) = (after, before);
        }
        (self.next[edge], self.next[twin]) = (NONE, NONE);
    }
}

/// Removes vertices that are within `flat` of the line between their neighbours.
pub fn straighten(ring: &mut Vec<Point>, flat: f64) {
    let mut index = 0;
    // This many vertices in a row were kept.
    let mut kept = 0;
    while ring.len() >= 3 && kept < ring.len() {
        let n = ring.len();
        index %= n;
        let (before, after) = (ring[(index + n - 1) % n], ring[(index + 1) % n]);
        if turn(before, ring[index], after).abs() <= flat * distance(before, after) {
            ring.remove(index);
            // The vertex before has another neighbour now.
            (index, kept) = (index + n - 2, 0);
        } else {
            (index, kept) = (index + 1, kept + 1);
        }
    }
    if ring.len() < 3 {
        ring.clear();
    }
}

/// Cuts a convex polygon into the smallest number of quads: slices from one end to the other. A
/// triangle repeats its last vertex. Vertices are numbered as `gpu_kernels::overlap::clip::Quad`
/// requires.
pub fn quads(piece: &[Point]) -> impl Iterator<Item = [Point; 4]> + '_ {
    let slices = piece.len().saturating_sub(2).div_ceil(2);
    (0..slices).map(|slice| {
        // Half of the remaining vertices are ahead, half behind.
        let (start, end) = (slice, piece.len() - 1 - slice);
        match end - start {
            2 => [piece[start], piece[start + 1], piece[end], piece[end]],
            _ => spread([piece[start], piece[start + 1], piece[end - 1], piece[end]]),
        }
    })
}

/// The same quad, numbered so that sides 0 and 2 don't approach each other towards side 3, nor sides 1 and 3 towards
/// side 0.
fn spread(mut quad: [Point; 4]) -> [Point; 4] {
    let side = |k: usize| [quad[(k + 1) % 4][0] - quad[k % 4][0], quad[(k + 1) % 4][1] - quad[k % 4][1]];
    let apart = |k: usize| {
        let ([a, b], [c, d]) = (side(k), side(k + 2));
        a * d - b * c >= 0.0
    };
    let first = match (apart(0), apart(1)) {
        (true, true) => 0,
        (false, true) => 1,
        (false, false) => 2,
        (true, false) => 3,
    };
    quad.rotate_left(first);
    quad
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_vertices_go() {
        let mut ring = vec![[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 1.0], [2.0, 2.0], [1.0, 1.0]];
        straighten(&mut ring, 1e-15);
        assert_eq!(ring, [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0]]);
        let mut flat = vec![[0.0, 0.0], [1.0, 1e-17], [2.0, 0.0]];
        straighten(&mut flat, 1e-15);
        assert!(flat.is_empty());
    }
}
