//! Extents and indices in three dimensions.

use std::fmt;

/// An extent or an index in up to three dimensions, `x` running fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dim3 {
    /// The first dimension.
    pub x: u32,
    /// The second dimension.
    pub y: u32,
    /// The third dimension.
    pub z: u32,
}

impl Dim3 {
    /// An extent or index of three dimensions.
    pub const fn new(x: u32, y: u32, z: u32) -> Self {
        Self { x, y, z }
    }

    /// The number of points in this extent; `u64::MAX` where it is larger than that.
    pub const fn count(self) -> u64 {
        (self.x as u64 * self.y as u64).saturating_mul(self.z as u64)
    }

    /// Returns true if parts of the extent `part` fill this one.
    pub const fn is_multiple_of(self, part: Self) -> bool {
        self.x.is_multiple_of(part.x) && self.y.is_multiple_of(part.y) && self.z.is_multiple_of(part.z)
    }

    /// The index of the `linear`-th point of this extent.
    pub(crate) fn at(self, linear: u64) -> Self {
        let (x, y) = (u64::from(self.x), u64::from(self.y));
        Self::new((linear % x) as u32, (linear / x % y) as u32, (linear / x / y) as u32)
    }

    /// The index that follows `index` in this extent.
    #[inline]
    pub(crate) fn next(self, mut index: Self) -> Self {
        index.x += 1;
        if index.x == self.x {
            index.x = 0;
            index.y += 1;
            if index.y == self.y {
                index.y = 0;
                index.z += 1;
            }
        }
        index
    }
}

impl fmt::Display for Dim3 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {}, {})", self.x, self.y, self.z)
    }
}

impl From<u32> for Dim3 {
    fn from(x: u32) -> Self {
        Self::new(x, 1, 1)
    }
}

impl From<(u32, u32)> for Dim3 {
    fn from((x, y): (u32, u32)) -> Self {
        Self::new(x, y, 1)
    }
}

impl From<(u32, u32, u32)> for Dim3 {
    fn from((x, y, z): (u32, u32, u32)) -> Self {
        Self::new(x, y, z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_walks_the_points_that_at_names() {
        let extent = Dim3::new(3, 4, 5);
        let mut index = Dim3::new(0, 0, 0);
        for linear in 0..extent.count() {
            assert_eq!(extent.at(linear), index);
            index = extent.next(index);
        }
    }

    #[test]
    fn count_saturates() {
        assert_eq!(Dim3::from((2, 3)).count(), 6);
        assert_eq!(Dim3::new(u32::MAX, u32::MAX, u32::MAX).count(), u64::MAX);
    }
}
