//! The arithmetic of the forward pass: plain loops that the compiler turns into vector instructions.

/// The weights that share a scale.
pub(crate) const BLOCK: usize = 32;
/// The bytes of such a block: its scale, and two weights a byte.
const BLOCK_BYTES: usize = 18;
/// Sums that are made side by side.
const LANES: usize = 8;

/// The bytes of weights of four bits.
pub(crate) const fn packed(count: usize) -> usize {
    count / BLOCK * BLOCK_BYTES
}

/// Reads the weights of a row, with the scale of each block; `weights` has a whole number of blocks.
fn unpack(row: &[u8], weights: &mut [i16], scales: &mut [f32]) {
    let (blocks, _) = row.as_chunks::<BLOCK_BYTES>();
    let (weights, _) = weights.as_chunks_mut::<BLOCK>();
    for ((block, weights), scale) in blocks.iter().zip(weights).zip(scales) {
        *scale = half(u16::from_le_bytes([block[0], block[1]]));
        for at in 0..BLOCK / 2 {
            let pair = block[at + 2];
            weights[at] = i16::from(pair & 15) - 8;
            weights[at + BLOCK / 2] = i16::from(pair >> 4) - 8;
        }
    }
}

/// The row of a table of words.
pub(crate) fn row(packed: &[u8], into: &mut [f32]) {
    let mut weights = vec![0; into.len()];
    let mut scales = vec![0.0; into.len() / BLOCK];
    unpack(packed, &mut weights, &mut scales);
    for (at, value) in into.iter_mut().enumerate() {
        *value = f32::from(weights[at]) * scales[at / BLOCK];
    }
}

/// Numbers in eight bits and a scale for each block, in the type that their products are made in.
#[derive(Default)]
pub(crate) struct Rounded {
    values: Vec<i16>,
    scales: Vec<f32>,
}

impl Rounded {
    pub(crate) fn set(&mut self, numbers: &[f32]) {
        self.values.clear();
        self.scales.clear();
        for block in numbers.as_chunks::<BLOCK>().0 {
            let largest = block
                .iter()
                .fold(0.0_f32, |largest, n| largest.max(n.abs()));
            let factor = if largest > 0.0 { 127.0 / largest } else { 0.0 };
            self.scales.push(largest / 127.0);
            self.values
                .extend(block.iter().map(|n| rounded(n * factor)));
        }
    }
}

/// The nearest whole number of one in ±127.
#[expect(clippy::cast_possible_truncation, reason = "it is within ±127")]
fn rounded(number: f32) -> i16 {
    (number + 0.5_f32.copysign(number)) as i16
}

/// A table of weights with what is added to each of its rows.
pub(crate) struct Linear<'a> {
    pub(crate) weights: &'a [u8],
    pub(crate) bias: Vec<f32>,
}

impl Linear<'_> {
    /// Each row of `input` times the table, as the rows of `output`. `columns` numbers are in a row.
    pub(crate) fn apply(&self, input: &Rounded, columns: usize, output: &mut [f32]) {
        let rows = self.bias.len();
        let blocks = columns / BLOCK;
        let mut weights = vec![0; columns];
        let mut scales = vec![0.0; blocks];
        let packed = self.weights.chunks_exact(packed(columns));
        for (at, (row, bias)) in packed.zip(&self.bias).enumerate() {
            unpack(row, &mut weights, &mut scales);
            let inputs = input
                .values
                .chunks_exact(columns)
                .zip(input.scales.chunks_exact(blocks));
            for ((values, factors), output) in inputs.zip(output[at..].iter_mut().step_by(rows)) {
                *output = bias + product(&weights, &scales, values, factors);
            }
        }
    }
}

/// The sum of the products of two rows in blocks.
#[expect(
    clippy::cast_precision_loss,
    reason = "a sum of a few products of eight bits is exact"
)]
fn product(weights: &[i16], scales: &[f32], values: &[i16], factors: &[f32]) -> f32 {
    let (weights, values) = (
        weights.as_chunks::<BLOCK>().0,
        values.as_chunks::<BLOCK>().0,
    );
    let blocks = weights.iter().zip(values).zip(scales).zip(factors);
    let sums = blocks.map(|(((weights, values), scale), factor)| {
        let pairs = weights.iter().zip(values);
        let sum: i32 = pairs
            .map(|(weight, value)| i32::from(*weight) * i32::from(*value))
            .sum();
        sum as f32 * (scale * factor)
    });
    sums.sum()
}

/// The sum of the products of two rows.
pub(crate) fn dot(one: &[f32], other: &[f32]) -> f32 {
    let (one, other) = (one.as_chunks::<LANES>().0, other.as_chunks::<LANES>().0);
    let mut sums = [0.0; LANES];
    for (one, other) in one.iter().zip(other) {
        for lane in 0..LANES {
            sums[lane] += one[lane] * other[lane];
        }
    }
    sums.iter().sum()
}

/// How a layer brings its numbers back to one size.
pub(crate) struct Norm {
    pub(crate) weights: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

impl Norm {
    #[expect(clippy::cast_precision_loss, reason = "a row is a few hundred numbers")]
    pub(crate) fn apply(&self, numbers: &mut [f32], epsilon: f32) {
        for row in numbers.chunks_exact_mut(self.weights.len()) {
            let count = row.len() as f32;
            let mean = row.iter().sum::<f32>() / count;
            let spread = row.iter().map(|n| (n - mean) * (n - mean)).sum::<f32>() / count;
            let factor = (spread + epsilon).sqrt().recip();
            for ((n, weight), bias) in row.iter_mut().zip(&self.weights).zip(&self.bias) {
                *n = (*n - mean) * factor * weight + bias;
            }
        }
    }
}

/// Numbers as shares of one.
pub(crate) fn softmax(numbers: &mut [f32]) {
    let largest = numbers.iter().copied().fold(f32::MIN, f32::max);
    let mut sum = 0.0;
    for n in numbers.iter_mut() {
        *n = (*n - largest).exp();
        sum += *n;
    }
    for n in numbers {
        *n /= sum;
    }
}

/// The Gaussian error linear unit. The error function is that of Abramowitz and Stegun, 7.1.26.
pub(crate) fn gelu(x: f32) -> f32 {
    const FACTORS: [f32; 5] = [
        1.061_405_4,
        -1.453_152,
        1.421_413_7,
        -0.284_496_74,
        0.254_829_6,
    ];
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = (1.0 + 0.327_591_1 * z).recip();
    let sum = FACTORS.iter().fold(0.0, |sum, factor| (sum + factor) * t);
    let error = 1.0 - sum * (-z * z).exp();
    0.5 * x * (1.0 + error.copysign(x))
}

/// A number of sixteen bits (IEEE 754 binary16) that is finite.
fn half(bits: u16) -> f32 {
    /// What brings the smaller exponent of sixteen bits to that of a float.
    const POWER: f32 = f32::from_bits((127 + 112) << 23);
    let number = f32::from_bits(u32::from(bits & 0x7fff) << 13) * POWER;
    if bits >> 15 == 0 { number } else { -number }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves MD-15
    #[test]
    fn numbers_of_sixteen_bits_are_read() {
        for (bits, number) in [
            (0x0000, 0.0),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x0001, 5.960_464_5e-8),
            (0x7bff, 65_504.0),
        ] {
            assert!(
                (half(bits) - number).abs() <= f32::EPSILON * number.abs(),
                "{bits:#x}"
            );
        }
    }

    // proves MD-15
    #[test]
    fn gelu_is_that_of_the_error_function() {
        for (x, y) in [
            (0.0, 0.0),
            (1.0, 0.841_345),
            (-1.0, -0.158_655),
            (3.0, 2.995_95),
        ] {
            assert!((gelu(x) - y).abs() < 1e-5, "{x}: {}", gelu(x));
        }
    }
}
