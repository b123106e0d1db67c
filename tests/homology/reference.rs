//! Bars by the textbook: the boundary matrix of all simplices, reduced column by column.

use std::collections::HashMap;

/// Bars of positive length in degrees 0 and 1, sorted, of a square matrix of distances.
pub fn bars(distances: &[f64], n: usize, threshold: f64) -> [Vec<(f64, f64)>; 2] {
    let at = |u: usize, v: usize| distances[u * n + v];
    let mut simplices: Vec<(f64, Vec<usize>)> = (0..n).map(|v| (0.0, vec![v])).collect();
    for v in 0..n {
        for u in 0..v {
            simplices.push((at(u, v), vec![u, v]));
            for t in 0..u {
                simplices.push((at(t, u).max(at(t, v)).max(at(u, v)), vec![t, u, v]));
            }
        }
    }
    simplices.retain(|(value, _)| *value <= threshold && value.is_finite());
    simplices.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.len().cmp(&b.1.len())).then(a.1.cmp(&b.1)));
    let place: HashMap<&[usize], usize> = simplices.iter().enumerate().map(|(i, (_, simplex))| (&simplex[..], i)).collect();
    let mut columns: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut ends = vec![None; simplices.len()];
    let mut starts = vec![false; simplices.len()];
    for (i, (_, simplex)) in simplices.iter().enumerate() {
        let mut column = Vec::new();
        if simplex.len() > 1 {
            for left_out in 0..simplex.len() {
                let face: Vec<usize> = simplex.iter().enumerate().filter(|&(k, _)| k != left_out).map(|(_, &v)| v).collect();
                column.push(place[&face[..]]);
            }
        }
        column.sort_unstable();
        while let Some(other) = column.last().and_then(|low| columns.get(low)) {
            // The sum over Z/2: what is in one of them alone.
            let (a, b) = (&column, other);
            let mut sum: Vec<usize> =
                a.iter().filter(|x| !b.contains(x)).chain(b.iter().filter(|x| !a.contains(x))).copied().collect();
            sum.sort_unstable();
            column = sum;
        }
        match column.last() {
            Some(&low) => {
                ends[low] = Some(i);
                columns.insert(low, column);
            }
            None => starts[i] = true,
        }
    }
    let mut bars = [Vec::new(), Vec::new()];
    for (i, (birth, simplex)) in simplices.iter().enumerate() {
        let death = ends[i].map_or(f64::INFINITY, |end| simplices[end].0);
        if starts[i] && simplex.len() < 3 && *birth < death {
            bars[simplex.len() - 1].push((*birth, death));
        }
    }
    for bars in &mut bars {
        bars.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    }
    bars
}
