//! Choice of copies for the room of a sheet.

/// Number of sizes that are told apart.
const CELLS: usize = 2000;
/// Stands for no cell.
const NONE: u16 = u16::MAX;
/// Rounding of sizes, relative to them.
const ROUNDING: f64 = 1e-9;

/// Copies to choose from.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// Size of a copy.
    pub size: f64,
    /// Value of a copy.
    pub value: f64,
    /// Number of copies.
    pub count: usize,
}

impl Item {
    /// Number of copies for which there is room.
    fn fitting(&self, room: f64) -> usize {
        self.count.min((room / self.size * (1.0 + ROUNDING)) as usize)
    }
}

/// Returns the number of copies of each item, the largest first as long as there is room.
pub fn largest_first(items: &[Item], room: f64) -> Vec<usize> {
    in_order(items, room, |item| item.size)
}

/// Returns numbers of copies whose sizes sum up to at most the room, and whose value is about the greatest: of choices of about
/// the same size, only the most valuable one is continued.
pub fn most_valuable(items: &[Item], room: f64) -> Vec<usize> {
    let mut counts = vec![0; items.len()];
    if room <= 0.0 {
        return counts;
    }
    // Batches of 1, 2, 4, ... copies make up every number.
    let mut batches = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let (mut left, mut copies) = (item.fitting(room), 1);
        while left > 0 {
            copies = left.min(copies);
            batches.push((index, copies));
            left -= copies;
            copies *= 2;
        }
    }
    // In each cell, the value and size of the best choice; and for each batch that it took, the cell that it came from.
    let mut best: Vec<Option<(f64, f64)>> = vec![None; CELLS + 1];
    best[0] = Some((0.0, 0.0));
    let mut origins = vec![NONE; batches.len() * (CELLS + 1)];
    for (&(index, copies), origins) in batches.iter().zip(origins.chunks_exact_mut(CELLS + 1)) {
        for cell in (0..=CELLS).rev() {
            let Some((value, size)) = best[cell] else { continue };
            let (value, size) = (value + copies as f64 * items[index].value, size + copies as f64 * items[index].size);
            let to = ((size / room * CELLS as f64) as usize).min(CELLS);
            if size <= room * (1.0 + ROUNDING) && best[to].is_none_or(|(best, _)| value > best) {
                (best[to], origins[to]) = (Some((value, size)), cell as u16);
            }
        }
    }
    let value = |cell: usize| best[cell].map_or(0.0, |(value, _)| value);
    let mut cell = (0..=CELLS).max_by(|&a, &b| value(a).total_cmp(&value(b))).unwrap_or(0);
    for (&(index, copies), origins) in batches.iter().zip(origins.chunks_exact(CELLS + 1)).rev() {
        if origins[cell] != NONE {
            counts[index] += copies;
            cell = origins[cell].into();
        }
    }
    // There may be room for some more.
    let left = items.iter().zip(&counts).map(|(item, count)| Item { count: item.count - count, ..*item }).collect::<Vec<_>>();
    let used: f64 = items.iter().zip(&counts).map(|(item, &count)| item.size * count as f64).sum();
    let more = in_order(&left, room - used, |item| item.value / item.size);
    counts.iter().zip(more).map(|(count, more)| count + more).collect()
}

/// Returns the number of copies of each item, the greatest by this number first as long as there is room.
fn in_order(items: &[Item], mut room: f64, by: impl Fn(&Item) -> f64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|&a, &b| by(&items[b]).total_cmp(&by(&items[a])));
    let mut counts = vec![0; items.len()];
    for index in order {
        counts[index] = items[index].fitting(room.max(0.0));
        room -= counts[index] as f64 * items[index].size;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::random::Random;

    fn items(numbers: &[(f64, f64, usize)]) -> Vec<Item> {
        numbers.iter().map(|&(size, value, count)| Item { size, value, count }).collect()
    }

    #[test]
    fn numbers_of_copies() {
        // By area or by value per room, the first would be taken.
        let two = items(&[(60.0, 60.0, 1), (50.0, 45.0, 2)]);
        assert_eq!((largest_first(&two, 100.0), most_valuable(&two, 100.0)), (vec![1, 0], vec![0, 2]));
        assert_eq!(most_valuable(&two, 99.9), [1, 0]);
        assert_eq!(most_valuable(&two, 110.0), [1, 1]);
        assert_eq!((most_valuable(&two, 0.0), most_valuable(&two, -1.0)), (vec![0, 0], vec![0, 0]));
        // Far smaller than a cell.
        assert_eq!(most_valuable(&items(&[(1e-3, 1.0, 5000), (3.0, 4000.0, 9)]), 10.0), [1000, 3]);
    }

    /// By all choices.
    #[test]
    fn the_greatest_values() {
        let mut random = Random::new(1, 2);
        for _ in 0..100 {
            let items: Vec<Item> = (0..4)
                .map(|_| Item { size: 1.0 + random.below(40) as f64, value: random.between(1.0, 9.0), count: random.below(4) })
                .collect();
            let sum = |counts: &[usize], of: fn(&Item) -> f64| -> f64 {
                items.iter().zip(counts).map(|(item, &count)| of(item) * count as f64).sum()
            };
            let mut greatest = 0.0f64;
            for code in 0..256usize {
                let counts = [0, 2, 4, 6].map(|shift| code >> shift & 3);
                let fits = counts.iter().zip(&items).all(|(&count, item)| count <= item.count);
                if fits && sum(&counts, |item| item.size) <= 50.0 {
                    greatest = greatest.max(sum(&counts, |item| item.value));
                }
            }
            let found = most_valuable(&items, 50.0);
            assert!(found.iter().zip(&items).all(|(&count, item)| count <= item.count) && sum(&found, |item| item.size) <= 50.0);
            assert!((sum(&found, |item| item.value) - greatest).abs() < 1e-9, "{items:?} {found:?} {greatest}");
        }
    }
}
