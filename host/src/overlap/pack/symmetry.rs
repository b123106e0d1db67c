//! Packings that are symmetric under half a turn about the origin.

use std::f64::consts::{PI, TAU};

type Pose = [f64; 3];

/// Appends the image of every pose under half a turn about the origin.
pub fn mirror(poses: &mut Vec<Pose>) {
    let others: Vec<Pose> = poses.iter().map(|&[x, y, theta]| [-x, -y, theta - PI * theta.signum()]).collect();
    poses.extend(others);
}

/// Orders the poses so that the second half is the image of the first under half a turn about the
/// origin. None unless they form such pairs.
pub fn paired(poses: &[Pose]) -> Option<Vec<Pose>> {
    const SAME: f64 = 1e-3;
    let mut left = poses.to_vec();
    let mut first = Vec::with_capacity(poses.len());
    while let Some(pose) = left.pop() {
        let partner = left.iter().position(|other| {
            let turned = other[2] - pose[2] - PI;
            let apart = (other[0] + pose[0]).abs().max((other[1] + pose[1]).abs());
            apart.max((turned - TAU * (turned / TAU).round()).abs()) < SAME
        })?;
        left.swap_remove(partner);
        first.push(pose);
    }
    mirror(&mut first);
    Some(first)
}
