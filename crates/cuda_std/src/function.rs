//! Functions as types, which the list of a generic kernel can name.

/// A function that a type stands for.
pub trait Function<Arguments> {
    /// The type of results.
    type Output;
    /// Returns the function's result.
    fn call(arguments: Arguments) -> Self::Output;
}

/// Declares types that stand for functions, written as closures that capture nothing.
///
/// ```
/// use cuda_std::prelude::*;
///
/// function! {
///     /// Twice the value.
///     pub Double = |x: f32| -> f32 { 2.0 * x };
///     /// The square.
///     pub Square = |x: f32| -> f32 { x * x };
/// }
///
/// /// Maps all elements: `launch!(stream, map::<Square><<<grid, block>>>(&x, &mut y))`.
/// #[kernel(for F in [Double, Square])]
/// pub fn map<F: Function<(f32,), Output = f32>>(x: &[f32], mut y: DisjointSlice<f32>) {
///     let i = thread::index_1d() as usize;
///     if i < x.len() {
///         y.set(F::call((x[i],)));
///     }
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! function {
    ($($(#[$meta:meta])* $vis:vis $name:ident = |$($argument:ident: $ty:ty),* $(,)?| -> $output:ty $body:block;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        $vis struct $name;

        impl $crate::Function<($($ty,)*)> for $name {
            type Output = $output;
            #[inline(always)]
            fn call(($($argument,)*): ($($ty,)*)) -> $output $body
        }
    )*};
}
