//! `src/ir/math.ll`.

macro_rules! declare {
    ($($name:ident($($x:ident),*): $t:ty;)*) => {
        // SAFETY: the signatures are those of the IR; the functions compute.
        unsafe extern "C" {
            $(
                #[link_name = concat!("__cuda_std_", stringify!($name))]
                pub safe fn $name($($x: $t),*) -> $t;
            )*
        }
    };
}
declare! {
    sqrt_f32(x): f32;
    sqrt_f64(x): f64;
    floor_f32(x): f32;
    floor_f64(x): f64;
    ceil_f32(x): f32;
    ceil_f64(x): f64;
    trunc_f32(x): f32;
    trunc_f64(x): f64;
    round_f32(x): f32;
    round_f64(x): f64;
    round_ties_even_f32(x): f32;
    round_ties_even_f64(x): f64;
    min_f32(x, y): f32;
    min_f64(x, y): f64;
    max_f32(x, y): f32;
    max_f64(x, y): f64;
    mul_add_f32(x, y, z): f32;
    mul_add_f64(x, y, z): f64;
    fast_sin(x): f32;
    fast_cos(x): f32;
    fast_exp2(x): f32;
    fast_log2(x): f32;
    fast_rcp(x): f32;
    fast_rsqrt(x): f32;
    fast_sqrt(x): f32;
    fast_tanh(x): f32;
    fast_div(x, y): f32;
    fast_rcp_f64(x): f64;
}
