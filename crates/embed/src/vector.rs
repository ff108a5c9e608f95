//! Vectors as they are kept: their direction alone, in eight bits a number.

/// The numbers of a vector of the model in the binary.
pub const DIMENSIONS: usize = 384;

/// The numbers of a vector, at most.
const MAX_DIMENSIONS: usize = 8_192;

/// A direction; what two have in common is between −1 and 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// What a number of `values` is worth.
    scale: f32,
    values: Box<[i8]>,
}

impl Vector {
    /// The direction of numbers; `None` without one: no numbers, or more than 8,192, one that is
    /// not finite, or all of them 0.
    #[expect(clippy::cast_possible_truncation, reason = "they are within ±127")]
    pub fn of(numbers: &[f32]) -> Option<Self> {
        let length = numbers
            .iter()
            .map(|n| f64::from(*n) * f64::from(*n))
            .sum::<f64>()
            .sqrt();
        let largest = numbers
            .iter()
            .fold(0.0_f32, |largest, n| largest.max(n.abs()));
        let fits =
            (1..=MAX_DIMENSIONS).contains(&numbers.len()) && length.is_finite() && largest > 0.0;
        fits.then(|| Self {
            scale: (f64::from(largest) / 127.0 / length) as f32,
            values: numbers
                .iter()
                .map(|n| (n / largest * 127.0).round() as i8)
                .collect(),
        })
    }

    /// The one that [`Vector::bytes`] made; `None` for others.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (scale, values) = bytes.split_first_chunk()?;
        let scale = f32::from_le_bytes(*scale);
        let fits = (1..=MAX_DIMENSIONS).contains(&values.len()) && scale.is_finite() && scale > 0.0;
        fits.then(|| Self {
            scale,
            values: values.iter().map(|byte| byte.cast_signed()).collect(),
        })
    }

    /// Its form in a store: the scale, little-endian, then a byte for each number.
    pub fn bytes(&self) -> Vec<u8> {
        let values = self.values.iter().map(|value| value.cast_unsigned());
        self.scale.to_le_bytes().into_iter().chain(values).collect()
    }

    /// Its numbers, as exactly as they are kept.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = f32> {
        self.values
            .iter()
            .map(|value| f32::from(*value) * self.scale)
    }

    /// How many numbers it has.
    pub fn dimensions(&self) -> usize {
        self.values.len()
    }

    /// The cosine of the angle between two; 0 for vectors of different dimensions.
    #[expect(
        clippy::cast_precision_loss,
        reason = "it is a sum of products of eight bits"
    )]
    pub fn cosine(&self, other: &Self) -> f32 {
        if self.values.len() != other.values.len() {
            return 0.0;
        }
        let pairs = self.values.iter().zip(&other.values);
        let sum: i32 = pairs
            .map(|(one, other)| i32::from(*one) * i32::from(*other))
            .sum();
        sum as f32 * self.scale * other.scale
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves MD-11, MD-12
    #[test]
    fn a_vector_is_kept_as_its_direction() {
        let one: Vec<_> = (0..384_u16).map(|n| f32::from(n % 17) - 8.0).collect();
        let other: Vec<_> = (0..384_u16).map(|n| f32::from(n % 13) - 5.0).collect();
        let exact = {
            let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
            dot(&one, &other) / (dot(&one, &one) * dot(&other, &other)).sqrt()
        };
        let [one, other] = [one, other].map(|numbers| Vector::of(&numbers).unwrap());
        assert!((one.cosine(&other) - exact).abs() < 0.003);
        assert!((one.cosine(&one) - 1.0).abs() < 0.003);
        assert_eq!(Vector::read(&one.bytes()).as_ref(), Some(&one));
        let short = Vector::of(&[1.0, 2.0]).unwrap();
        assert!(one.cosine(&short).abs() < f32::EPSILON);
    }

    // proves MD-12
    #[test]
    fn what_has_no_direction_is_no_vector() {
        let long = vec![1.0; MAX_DIMENSIONS + 1];
        for numbers in [
            &[][..],
            &[0.0, 0.0],
            &[1.0, f32::NAN],
            &[f32::INFINITY, 1.0],
            &long,
        ] {
            assert_eq!(Vector::of(numbers), None);
        }
        for bytes in [
            &[][..],
            &[0, 0, 0],
            &[0, 0, 128, 63],
            &[0, 0, 0, 0, 1],
            &[255; 5],
        ] {
            assert_eq!(Vector::read(bytes), None, "{bytes:?}");
        }
    }
}
