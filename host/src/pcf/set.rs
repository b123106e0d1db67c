//! Functions, one and many.

use std::{
    borrow::Cow,
    fmt,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use bytemuck::{Pod, Zeroable};
use gpu_kernels::pcf::set::MOST_SEGMENTS;
use rayon::prelude::*;

use super::{
    PcfReal,
    error::{Field, PcfError},
};
use crate::device::{Buffer, Device, DeviceError, View};

/// A breakpoint: the function's value from time `t` on.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point<T> {
    /// The time, without unit.
    pub t: T,
    /// The value from `t` to the next breakpoint.
    pub v: T,
}

// SAFETY: all zeroes are two zeroes.
unsafe impl<T: Zeroable> Zeroable for Point<T> {}
// SAFETY: two fields of one type lie without padding in `repr(C)`, and any bytes are two numbers.
unsafe impl<T: Pod> Pod for Point<T> {}

impl<T> Point<T> {
    /// The value `v` from `t` on.
    pub const fn new(t: T, v: T) -> Self {
        Point { t, v }
    }
}

impl<T> From<(T, T)> for Point<T> {
    fn from((t, v): (T, T)) -> Self {
        Point { t, v }
    }
}

/// A piecewise constant function from t = 0 to infinity.
///
/// It has the value `v_k` on [`t_k`, `t_(k+1)`), and the last value for ever. The first breakpoint is at t = 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Pcf<T> {
    points: Vec<Point<T>>,
}

/// A borrowed [`Pcf`].
#[derive(Debug, PartialEq)]
pub struct PcfRef<'a, T> {
    points: &'a [Point<T>],
}

/// Any number of functions, their breakpoints one after the other.
///
/// Function `i` has the breakpoints `points[offsets[i]..offsets[i + 1]]`. The functions have a shape, by default one
/// dimension, and may have names.
///
/// Functions that were made on a device stay there: matrices on that device use them where they are. They are copied to
/// host memory when they are first asked for.
#[derive(Clone, Debug)]
pub struct PcfSet<T: PcfReal> {
    shape: Vec<usize>,
    names: Option<Arc<[String]>>,
    offsets: Vec<usize>,
    points: Points<T>,
    identity: Identity,
}

/// The breakpoints of all functions.
#[derive(Clone)]
struct Points<T: PcfReal> {
    host: OnceLock<Vec<Point<T>>>,
    /// There if `host` may be empty.
    resident: Option<Arc<Resident<T>>>,
}

/// Functions in the memory of a device.
pub(crate) struct Resident<T: PcfReal> {
    /// All segments, function by function.
    pub segments: Buffer<T::Segment>,
    /// Each function's last value.
    pub tails: Vec<T>,
    /// The last time of all.
    pub end: T,
    /// The largest magnitude of all values.
    pub largest: f64,
}

impl<T: PcfReal> Resident<T> {
    /// Copies the breakpoints to host memory.
    fn download(&self, offsets: &[usize]) -> Result<Vec<Point<T>>, DeviceError> {
        let segments = self.segments.device().stream()?.download_vec(&self.segments)?;
        let mut points: Vec<_> = segments.iter().map(|&segment| Point::new(T::ZERO, T::parts(segment).0)).collect();
        for function in offsets.windows(2) {
            // A segment starts where the one before ends.
            for at in function[0] + 1..function[1] {
                points[at].t = T::parts(segments[at - 1]).1;
            }
        }
        Ok(points)
    }
}

/// Identity that a set shares with its clones only: sets never change, so a device that has one of
/// them has the others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity(u64);

impl Identity {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Identity(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    pub(super) fn is(self, other: Self) -> bool {
        self.0 == other.0
    }
}

/// Sets with equal functions, shapes and names are equal, wherever the functions are.
impl<T: PcfReal> PartialEq for PcfSet<T> {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape && self.names == other.names && self.offsets == other.offsets && self.points() == other.points()
    }
}

impl<T: PcfReal> fmt::Debug for Points<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.host.fmt(formatter)
    }
}

impl<T: PcfReal> From<Vec<Point<T>>> for Points<T> {
    fn from(points: Vec<Point<T>>) -> Self {
        Points { host: points.into(), resident: None }
    }
}

impl<T> Copy for PcfRef<'_, T> {}

impl<T> Clone for PcfRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: PcfReal> Pcf<T> {
    /// The function of these breakpoints.
    ///
    /// # Errors
    /// If the list is empty, the first breakpoint is not at 0, they are not in strictly ascending
    /// order, or a number is not finite or above [`PcfReal::MAX_VALUE`]. Errors call the function
    /// by the index 0.
    pub fn new(points: impl IntoIterator<Item = impl Into<Point<T>>>) -> Result<Self, PcfError> {
        let mut points: Vec<Point<T>> = points.into_iter().map(Into::into).collect();
        validate(0, &mut points)?;
        Ok(Pcf { points })
    }

    /// The function of these breakpoints, which are valid.
    pub(super) fn of_valid(points: Vec<Point<T>>) -> Self {
        Pcf { points }
    }

    /// The function that has one value for ever.
    pub fn constant(value: T) -> Result<Self, PcfError> {
        Pcf::new([(T::ZERO, value)])
    }

    /// The function that is zero.
    pub fn zero() -> Self {
        Pcf { points: vec![Point::new(T::ZERO, T::ZERO)] }
    }

    /// The function, borrowed.
    pub fn as_ref(&self) -> PcfRef<'_, T> {
        PcfRef { points: &self.points }
    }

    /// The breakpoints.
    pub fn points(&self) -> &[Point<T>] {
        &self.points
    }

    /// As [`PcfRef::value_at`].
    pub fn value_at(&self, t: T) -> T {
        self.as_ref().value_at(t)
    }
}

impl<'a, T: PcfReal> PcfRef<'a, T> {
    /// The breakpoints; there is at least one.
    pub fn points(self) -> &'a [Point<T>] {
        self.points
    }

    /// The value at time `t`; that of time 0 before it.
    pub fn value_at(self, t: T) -> T {
        let after = self.points.partition_point(|point| point.t <= t);
        self.points[after.saturating_sub(1)].v
    }

    /// The time of the last breakpoint.
    pub fn max_time(self) -> T {
        self.points[self.points.len() - 1].t
    }

    /// The value from the last breakpoint on.
    pub fn tail(self) -> T {
        self.points[self.points.len() - 1].v
    }

    /// The function with breakpoints of its own.
    pub fn to_pcf(self) -> Pcf<T> {
        Pcf { points: self.points.to_vec() }
    }
}

impl<'a, T> From<&'a Pcf<T>> for PcfRef<'a, T> {
    fn from(function: &'a Pcf<T>) -> Self {
        PcfRef { points: &function.points }
    }
}

impl<T: PcfReal> PcfSet<T> {
    pub(super) fn identity(&self) -> Identity {
        self.identity
    }

    /// The functions that are in the memory of a device, and valid.
    #[cfg(feature = "homology")]
    pub(crate) fn of_device(offsets: Vec<usize>, resident: Resident<T>) -> Self {
        let points = Points { host: OnceLock::new(), resident: Some(Arc::new(resident)) };
        PcfSet { shape: vec![offsets.len() - 1], names: None, offsets, points, identity: Identity::new() }
    }

    /// The functions' segments, if they are in the memory of this device.
    pub(super) fn segments(&self, device: &Device) -> Option<View<'_, T::Segment>> {
        let segments = &self.points.resident.as_ref()?.segments;
        (segments.device().ordinal() == device.ordinal()).then(|| segments.as_view())
    }

    /// Copies the functions to host memory, unless they are there.
    ///
    /// # Errors
    /// The device that has them fails, or the host has not enough memory.
    pub fn fetch(&self) -> Result<&[Point<T>], DeviceError> {
        if let (None, Some(resident)) = (self.points.host.get(), &self.points.resident) {
            let points = resident.download(&self.offsets)?;
            return Ok(self.points.host.get_or_init(|| points));
        }
        Ok(self.points.host.get().map_or(&[], |points| points))
    }

    /// The functions whose breakpoints are `points[offsets[i]..offsets[i + 1]]`: `offsets` has one element more than
    /// there are functions, from 0 to the number of points.
    ///
    /// # Errors
    /// If the offsets don't divide the points, or a function is invalid (see [`Pcf::new`]).
    pub fn from_parts(offsets: Vec<usize>, mut points: Vec<Point<T>>) -> Result<Self, PcfError> {
        check_offsets(&offsets, (points.len(), "points"), false)?;
        let wrong = divided(&offsets, &mut points).into_par_iter().enumerate().with_min_len(together(&offsets));
        if let Some(error) = wrong.find_map_first(|(function, points)| validate(function, points).err()) {
            return Err(error);
        }
        Ok(Self::of_valid(offsets, points))
    }

    /// The set of these functions, in their order.
    pub fn from_functions(functions: impl IntoIterator<Item = Pcf<T>>) -> Self {
        let (mut offsets, mut points) = (vec![0], Vec::new());
        for function in functions {
            points.extend(function.points);
            offsets.push(points.len());
        }
        Self::of_valid(offsets, points)
    }

    /// The functions of these breakpoints, which are valid.
    pub(super) fn of_valid(offsets: Vec<usize>, points: Vec<Point<T>>) -> Self {
        PcfSet { shape: vec![offsets.len() - 1], names: None, offsets, points: points.into(), identity: Identity::new() }
    }

    /// The functions of several sets, one set after the other, in one dimension and without names.
    pub fn joined<'s>(sets: impl IntoIterator<Item = &'s Self>) -> Self
    where
        T: 's,
    {
        let (mut offsets, mut points) = (vec![0], Vec::new());
        for set in sets {
            let start = points.len();
            points.extend_from_slice(set.points());
            offsets.extend(set.offsets[1..].iter().map(|offset| start + offset));
        }
        Self::of_valid(offsets, points)
    }

    /// The same functions as an array of this shape, in C order.
    ///
    /// # Errors
    /// If it holds more or fewer functions.
    pub fn with_shape(mut self, shape: &[usize]) -> Result<Self, PcfError> {
        let product = shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent));
        // With an extent of zero the product is zero, even if the others' product is too large.
        let product = if shape.contains(&0) { Some(0) } else { product };
        if product != Some(self.len()) {
            return Err(PcfError::Shape { shape: shape.to_vec(), functions: self.len() });
        }
        self.shape = shape.to_vec();
        Ok(self)
    }

    /// The same functions with these names, one per function.
    ///
    /// # Errors
    /// If there are more or fewer names than functions.
    pub fn with_names(mut self, names: Option<Arc<[String]>>) -> Result<Self, PcfError> {
        if let Some(names) = names.as_ref().filter(|names| names.len() != self.len()) {
            return Err(PcfError::Names { names: names.len(), functions: self.len() });
        }
        self.names = names;
        Ok(self)
    }

    /// The functions' names, if they have any.
    pub fn names(&self) -> Option<&Arc<[String]>> {
        self.names.as_ref()
    }

    /// The functions with these indices, in one dimension.
    ///
    /// # Errors
    /// If there is not enough memory.
    ///
    /// # Panics
    /// If an index is out of range.
    pub fn take(&self, indices: &[usize]) -> Result<Self, PcfError> {
        let total = indices.iter().fold(0, |total: usize, &index| total.saturating_add(self.get(index).points.len()));
        let mut points = Vec::new();
        points.try_reserve_exact(total).map_err(|_| PcfError::OutOfMemory { functions: indices.len(), points: total })?;
        let mut offsets = Vec::with_capacity(indices.len() + 1);
        offsets.push(0);
        for &index in indices {
            points.extend_from_slice(self.get(index).points);
            offsets.push(points.len());
        }
        let names = self.names.as_ref().map(|names| indices.iter().map(|&index| names[index].clone()).collect());
        Ok(PcfSet { names, ..Self::of_valid(offsets, points) })
    }

    /// The number of functions.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// True if the set has no functions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Function `index`.
    ///
    /// # Panics
    /// If `index` is out of range.
    pub fn get(&self, index: usize) -> PcfRef<'_, T> {
        PcfRef { points: &self.points()[self.offsets[index]..self.offsets[index + 1]] }
    }

    /// The functions in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = PcfRef<'_, T>> + DoubleEndedIterator {
        let points = self.points();
        self.offsets.windows(2).map(|range| PcfRef { points: &points[range[0]..range[1]] })
    }

    /// Starts of the functions' breakpoints in [`points`](Self::points), and the end of the last
    /// function's.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The breakpoints of all functions, in host memory.
    ///
    /// # Panics
    /// If [`fetch`](Self::fetch) fails.
    pub fn points(&self) -> &[Point<T>] {
        self.fetch().unwrap_or_else(|error| panic!("the functions are out of reach: {error}"))
    }

    /// Number of breakpoints of all functions.
    pub fn breakpoints(&self) -> usize {
        self.offsets[self.len()]
    }

    /// The functions' shape, whose product is their number.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The numbers of breakpoints of the functions.
    pub fn lengths(&self) -> impl ExactSizeIterator<Item = usize> + DoubleEndedIterator {
        self.offsets.windows(2).map(|range| range[1] - range[0])
    }

    /// The time of the last breakpoint of any function; 0 for an empty set.
    pub fn max_time(&self) -> T {
        match &self.points.resident {
            Some(resident) => resident.end,
            None => self.iter().map(PcfRef::max_time).fold(T::ZERO, |max, t| if t > max { t } else { max }),
        }
    }

    /// The last value of each function.
    pub(super) fn tails(&self) -> Cow<'_, [T]> {
        match &self.points.resident {
            Some(resident) => Cow::Borrowed(&resident.tails),
            None => self.iter().map(PcfRef::tail).collect(),
        }
    }

    /// True if all functions of these sets have the same times, bit for bit. Sets that are not in host memory don't count.
    pub(super) fn are_aligned([a, b]: [&Self; 2]) -> bool {
        let Some(times) = a.offsets.get(1).and_then(|&end| a.points.host.get()?.get(..end)) else { return false };
        let all = |set: &Self| {
            let equal = |function: &[Point<T>]| function.iter().zip(times).all(|(point, time)| point.t == time.t);
            let points = set.points.host.get().filter(|_| set.lengths().all(|length| length == times.len()));
            points.is_some_and(|points| points.par_chunks_exact(times.len()).all(equal))
        };
        all(a) && (a.identity.is(b.identity) || all(b))
    }

    /// The largest magnitude of a value.
    pub(super) fn largest(&self) -> f64 {
        match &self.points.resident {
            Some(resident) => resident.largest,
            None => self.points().par_iter().map(|point| point.v.to_f64().abs()).reduce(|| 0.0, f64::max),
        }
    }

    /// The same functions in another type.
    ///
    /// # Errors
    /// If a number is too large for it, or two breakpoints of a function would become one.
    pub fn cast<U: PcfReal>(&self) -> Result<PcfSet<U>, PcfError> {
        let convert = |point: &Point<T>| Point::new(U::from_f64(point.t.to_f64()), U::from_f64(point.v.to_f64()));
        let own = self.points();
        let points: Vec<Point<U>> = own.par_iter().map(convert).collect();
        let check = |function: usize| {
            let range = self.offsets[function]..self.offsets[function + 1];
            cast_problem(function, &own[range.clone()], &points[range])
        };
        match (0..self.len()).into_par_iter().with_min_len(together(&self.offsets)).find_map_first(check) {
            Some(error) => Err(error),
            None => {
                let (shape, names, offsets) = (self.shape.clone(), self.names.clone(), self.offsets.clone());
                Ok(PcfSet { shape, names, offsets, points: points.into(), identity: Identity::new() })
            }
        }
    }

    /// As [`cast`](Self::cast), without a copy if the type stays the same.
    pub fn into_cast<U: PcfReal>(self) -> Result<PcfSet<U>, PcfError> {
        if T::KIND != U::KIND {
            return self.cast();
        }
        self.points();
        let PcfSet { shape, names, offsets, points, identity } = self;
        let points = bytemuck::allocation::cast_vec(points.host.into_inner().unwrap_or_default());
        Ok(PcfSet { shape, names, offsets, points: points.into(), identity })
    }
}

impl<T: PcfReal> FromIterator<Pcf<T>> for PcfSet<T> {
    fn from_iter<I: IntoIterator<Item = Pcf<T>>>(functions: I) -> Self {
        PcfSet::from_functions(functions)
    }
}

/// The points of each function.
pub(super) fn divided<'p, T>(offsets: &[usize], points: &'p mut [Point<T>]) -> Vec<&'p mut [Point<T>]> {
    let mut rest = points;
    offsets.windows(2).filter_map(|range| rest.split_off_mut(..range[1] - range[0])).collect()
}

/// Checks that the offsets divide this number of points among functions. With `empty`, functions
/// may have no points.
pub(super) fn check_offsets(offsets: &[usize], (points, what): (usize, &str), empty: bool) -> Result<(), PcfError> {
    let wrong = |index: usize, wanted: String| Err(PcfError::Offsets { index, found: offsets[index] as i128, wanted });
    let (Some(&first), Some(&last)) = (offsets.first(), offsets.last()) else {
        return Err(PcfError::NoOffsets);
    };
    if first != 0 {
        return wrong(0, "the first must be 0".into());
    }
    for (function, range) in offsets.windows(2).enumerate() {
        if range[1] < range[0] {
            return wrong(function + 1, format!("it must not be below the one before, {}", range[0]));
        }
        if range[1] > points {
            return wrong(function + 1, format!("there are only {points} {what}"));
        }
        if range[1] == range[0] && !empty {
            return Err(PcfError::NoBreakpoints { function });
        }
    }
    if last != points {
        return wrong(offsets.len() - 1, format!("the last must be the number of {what}, {points}"));
    }
    Ok(())
}

/// Least number of functions that one thread checks: those of some thousand points.
fn together(offsets: &[usize]) -> usize {
    const POINTS: usize = 1 << 13;
    let (functions, points) = (offsets.len() - 1, offsets[offsets.len() - 1]);
    (functions.saturating_mul(POINTS) / points.max(1)).max(1)
}

/// Refuses a function without breakpoints, and one whose merges 32 bits can't count.
fn check_length(function: usize, points: usize) -> Result<(), PcfError> {
    match points {
        0 => Err(PcfError::NoBreakpoints { function }),
        1..=MOST_SEGMENTS => Ok(()),
        _ => Err(PcfError::TooLong { function, points, max: MOST_SEGMENTS }),
    }
}

/// Finds what is wrong with a function's breakpoints. Makes -0 at the start a 0.
fn validate<T: PcfReal>(function: usize, points: &mut [Point<T>]) -> Result<(), PcfError> {
    check_length(function, points.len())?;
    if points[0].t == T::ZERO {
        points[0].t = T::ZERO;
    }
    let right = |point: &Point<T>| point.t <= T::MAX_VALUE && point.v.abs() <= T::MAX_VALUE;
    // One pass without branches finds nothing in most functions.
    let ascending = points.windows(2).fold(true, |ascending, pair| ascending & (pair[0].t < pair[1].t));
    if points[0].t == T::ZERO && ascending && points.iter().fold(true, |all, point| all & right(point)) {
        return Ok(());
    }
    find_wrong(function, points, true)
}

/// Finds what is wrong with a function's breakpoints, which are to start at 0, or at any time.
pub(super) fn find_wrong<T: PcfReal>(function: usize, points: &[Point<T>], at_zero: bool) -> Result<(), PcfError> {
    check_length(function, points.len())?;
    let mut previous: Option<T> = None;
    for (breakpoint, point) in points.iter().enumerate() {
        check_number(function, breakpoint, Field::Time, point.t)?;
        match previous {
            None if at_zero && point.t != T::ZERO => return Err(PcfError::Start { function, t: point.t.to_f64() }),
            Some(previous) if point.t <= previous => {
                return Err(PcfError::Order { function, breakpoint, t: point.t.to_f64(), previous: previous.to_f64() });
            }
            _ => previous = Some(point.t),
        }
        check_number(function, breakpoint, Field::Value, point.v)?;
    }
    Ok(())
}

pub(super) fn check_number<T: PcfReal>(function: usize, breakpoint: usize, field: Field, number: T) -> Result<(), PcfError> {
    let (value, max) = (number.to_f64(), T::MAX_VALUE.to_f64());
    if !number.is_finite() {
        return Err(PcfError::NotFinite { function, breakpoint, field, value });
    }
    // A time before 0 is out of order, not too large.
    if number.abs() > T::MAX_VALUE && (field == Field::Value || value > 0.0) {
        return Err(PcfError::TooLarge { function, breakpoint, field, value, name: T::NAME, max });
    }
    Ok(())
}

/// The first problem of a valid function's breakpoints `to`, which were converted from `from`.
fn cast_problem<T: PcfReal, U: PcfReal>(function: usize, from: &[Point<T>], to: &[Point<U>]) -> Option<PcfError> {
    let (name, max) = (U::NAME, U::MAX_VALUE.to_f64());
    for (breakpoint, (old, new)) in from.iter().zip(to).enumerate() {
        for (field, value) in [(Field::Time, old.t.to_f64()), (Field::Value, old.v.to_f64())] {
            if value.abs() > max {
                return Some(PcfError::TooLarge { function, breakpoint, field, value, name, max });
            }
        }
        if breakpoint > 0 && new.t <= to[breakpoint - 1].t {
            let previous = from[breakpoint - 1].t.to_f64();
            return Some(PcfError::Merged { function, breakpoint, t: old.t.to_f64(), previous, name });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of a merge of two of the longest functions have to fit 32 bits.
    #[test]
    fn lengths() {
        for (points, fits) in [(0, false), (1, true), ((1 << 31) - 1, true), (1 << 31, true), ((1 << 31) + 1, false)] {
            assert_eq!(check_length(3, points).is_ok(), fits, "{points}");
            assert!(!fits || u32::try_from(2 * (points - 1)).is_ok());
        }
        let error = check_length(3, (1 << 31) + 1).unwrap_err().to_string();
        assert_eq!(error, "function 3 has 2147483649 breakpoints; it may have at most 2147483648");
    }
}
