//! The poses of the study.

use crate::overlap::Shape;

/// x, y and the angle in radians.
pub type Pose = [f64; 3];

/// Half the side of the square that contains the poses.
const HALF_SIDE: f64 = 5.0;

/// Returns `n` poses with x and y uniform from -5 to 5 and angles from -π to π: bit for bit those
/// that the notebook draws with `numpy.random.RandomState(seed)`.
pub fn poses(n: usize, seed: u32) -> Vec<Pose> {
    let mut twister = Twister::new(seed);
    let mut draw = |half: f64| -> Vec<f64> { (0..n).map(|_| -half + 2.0 * half * twister.uniform()).collect() };
    let (x, y, angle) = (draw(HALF_SIDE), draw(HALF_SIDE), draw(std::f64::consts::PI));
    x.into_iter().zip(y).zip(angle).map(|((x, y), angle)| [x, y, angle]).collect()
}

/// Returns the square of the distance beyond which two poses of a shape can't overlap: twice the
/// largest distance of a vertex from the origin of the shape's coordinates.
pub(super) fn reach(shape: &Shape) -> f64 {
    let farthest = shape.quads().iter().flatten().map(|[x, y]| x * x + y * y).fold(0.0, f64::max);
    4.0 * farthest
}

/// Matsumoto and Nishimura's generator MT19937 (1998), with the seeding and the doubles of NumPy's
/// `RandomState`.
struct Twister {
    state: [u32; 624],
    next: usize,
}

impl Twister {
    fn new(seed: u32) -> Self {
        let mut state = [seed; 624];
        for i in 1..624 {
            let before = state[i - 1];
            state[i] = (before ^ before >> 30).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        Twister { state, next: 624 }
    }

    fn word(&mut self) -> u32 {
        if self.next == 624 {
            for i in 0..624 {
                let joined = self.state[i] & 0x8000_0000 | self.state[(i + 1) % 624] & 0x7fff_ffff;
                let twist = if joined & 1 == 0 { 0 } else { 0x9908_b0df };
                self.state[i] = self.state[(i + 397) % 624] ^ joined >> 1 ^ twist;
            }
            self.next = 0;
        }
        let mut word = self.state[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= word << 7 & 0x9d2c_5680;
        word ^= word << 15 & 0xefc6_0000;
        word ^ word >> 18
    }

    /// Returns a number from 0 to 1 with 53 random bits.
    fn uniform(&mut self) -> f64 {
        let (high, low) = (self.word() >> 5, self.word() >> 6);
        (f64::from(high) * 67_108_864.0 + f64::from(low)) / 9_007_199_254_740_992.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `numpy.random.RandomState(123).random_sample(3)`, as NumPy prints it.
    #[test]
    fn the_generator_is_numpy_s() {
        let mut twister = Twister::new(123);
        for expected in [0.69646919, 0.28613933, 0.22685145] {
            assert!((twister.uniform() - expected).abs() < 5e-9);
        }
        // The 10,000th word of the seed that the generator's authors give, 5489, by their own
        // account in C++'s standard.
        let mut twister = Twister::new(5489);
        assert_eq!((0..10_000).map(|_| twister.word()).last(), Some(4_123_659_995));
    }

    #[test]
    fn lists_of_one_seed_start_with_the_same_x() {
        let (few, many) = (poses(3, 7), poses(50, 7));
        assert_eq!(few.iter().map(|pose| pose[0]).collect::<Vec<_>>(), many[..3].iter().map(|pose| pose[0]).collect::<Vec<_>>());
        assert!(many.iter().all(|[x, y, angle]| x.abs() <= 5.0 && y.abs() <= 5.0 && angle.abs() <= 3.15));
        assert!(poses(0, 1).is_empty());
    }
}
