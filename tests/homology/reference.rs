//! Bars by the textbook: the boundary matrix of all simplices, reduced column by column.

use std::collections::HashMap;

/// Bars of positive length in degrees from 0 to `degree`, each sorted, of a square matrix of distances.
pub fn bars(distances: &[f64], n: usize, threshold: f64, degree: usize) -> Vec<Vec<(f64, f64)>> {
    let mut simplices: Vec<(f64, Vec<usize>)> = (0..n).map(|v| (0.0, vec![v])).collect();
    let mut first = 0;
    for _ in 0..=degree {
        // Each simplex so far with each larger vertex.
        let last = simplices.len();
        for i in first..last {
            let (value, simplex) = simplices[i].clone();
            for v in simplex.last().map_or(0, |last| last + 1)..n {
                let value = simplex.iter().map(|u| distances[u * n + v]).fold(value, f64::max);
                simplices.push((value, [&simplex[..], &[v]].concat()));
            }
        }
        first = last;
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
    let mut bars = vec![Vec::new(); degree + 1];
    for (i, (birth, simplex)) in simplices.iter().enumerate() {
        let death = ends[i].map_or(f64::INFINITY, |end| simplices[end].0);
        if starts[i] && simplex.len() <= degree + 1 && *birth < death {
            bars[simplex.len() - 1].push((*birth, death));
        }
    }
    for bars in &mut bars {
        bars.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    }
    bars
}
