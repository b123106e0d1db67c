//! Overlap of simple polygons, by a method unrelated to the library's.

pub type Point = [f64; 2];
pub type Pose = [f64; 3];

/// The outline of a copy: as it is in the plane.
pub fn place(outline: &[Point], [x, y, theta]: Pose) -> Vec<Point> {
    let (sine, cosine) = theta.sin_cos();
    outline.iter().map(|[u, v]| [cosine * u - sine * v + x, sine * u + cosine * v + y]).collect()
}

/// Returns the common area of two simple polygons. Each polygon is the signed sum of the regions
/// below its edges. Their intersection is therefore the signed sum over pairs of edges, one of each
/// polygon, of the integral of the lower of both lines.
pub fn brute(first: &[Point], second: &[Point]) -> f64 {
    let edges =
        |ring: &[Point]| -> Vec<(Point, Point)> { (0..ring.len()).map(|k| (ring[k], ring[(k + 1) % ring.len()])).collect() };
    // Relative to a point that is near both, and below.
    let floor = first.iter().chain(second).map(|point| point[1]).fold(f64::INFINITY, f64::min);
    let (mut sum, mut rest) = (0.0f64, 0.0f64);
    let mut add = |term: f64| {
        let next = sum + term;
        rest += if sum.abs() >= term.abs() { (sum - next) + term } else { (term - next) + sum };
        sum = next;
    };
    for (a, b) in edges(first) {
        for (c, d) in edges(second) {
            // Counter-clockwise: edges to the left are on top.
            let sign = if (a[0] > b[0]) == (c[0] > d[0]) { 1.0 } else { -1.0 };
            let (left, right) = (a[0].min(b[0]).max(c[0].min(d[0])), a[0].max(b[0]).min(c[0].max(d[0])));
            if left >= right {
                continue;
            }
            let at = |from: Point, to: Point, x: f64| {
                let y = from[1] + (x - from[0]) / (to[0] - from[0]) * (to[1] - from[1]);
                y.clamp(from[1].min(to[1]), from[1].max(to[1])) - floor
            };
            let (f, g) = ([at(a, b, left), at(a, b, right)], [at(c, d, left), at(c, d, right)]);
            let (p, q) = (f[0] - g[0], f[1] - g[1]);
            let mut mean = 0.5 * (f[0].min(g[0]) + f[1].min(g[1]));
            if (p < 0.0) != (q < 0.0) {
                // The lines cross: the lower one isn't straight.
                mean += 0.5 * p.abs() * q.abs() / (p.abs() + q.abs()).max(f64::MIN_POSITIVE);
            }
            add(sign * (right - left) * mean);
        }
    }
    sum + rest
}
