//! What was measured again and again.

/// The values of one row in the unit of its figure, at least one, in ascending order.
#[derive(Debug, PartialEq)]
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    /// None when nothing was measured.
    pub(crate) fn new(mut values: Vec<f64>) -> Option<Sample> {
        values.sort_by(f64::total_cmp);
        (!values.is_empty()).then_some(Sample(values))
    }

    /// The same, where none is a failure.
    ///
    /// # Errors
    ///
    /// Nothing was measured.
    pub(crate) fn of(values: Vec<f64>) -> Result<Sample, String> {
        Sample::new(values).ok_or_else(|| "it was measured no time".to_owned())
    }

    /// Measures so many times; the first failure is the row's.
    pub(crate) fn take(
        times: u32,
        mut measure: impl FnMut() -> Result<f64, String>,
    ) -> Result<Sample, String> {
        let values: Result<Vec<f64>, String> = (0..times).map(|_| measure()).collect();
        Sample::of(values?)
    }

    /// The middle value, or the mean of the two in the middle.
    pub(crate) fn median(&self) -> f64 {
        let (low, high) = (self.0[(self.0.len() - 1) / 2], self.0[self.0.len() / 2]);
        f64::midpoint(low, high)
    }

    /// The smallest value that so many of a hundred are not above.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.0.len() * percent).div_ceil(100);
        self.0[rank.clamp(1, self.0.len()) - 1]
    }

    /// The smallest value.
    pub(crate) fn min(&self) -> f64 {
        self.0[0]
    }

    /// The largest value.
    pub(crate) fn max(&self) -> f64 {
        self.0[self.0.len() - 1]
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(values: &[f64], min: f64, median: f64, max: f64) {
        let sample = Sample::new(values.to_vec()).unwrap();
        let read = [sample.min(), sample.median(), sample.max()];
        assert_eq!(format!("{read:?}"), format!("{:?}", [min, median, max]));
        assert_eq!(sample.len(), values.len());
    }

    #[test]
    fn the_median_is_the_middle_value_or_the_mean_of_two() {
        check(&[3.0], 3.0, 3.0, 3.0);
        check(&[9.0, 1.0, 2.0], 1.0, 2.0, 9.0);
        check(&[9.0, -1.0, 2.0, 4.0], -1.0, 3.0, 9.0);
    }

    #[test]
    fn a_percentile_is_a_value_that_so_many_are_not_above() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        let sample = Sample::new(values).unwrap();
        let read = [0, 1, 50, 99, 100].map(|percent| sample.percentile(percent));

        assert_eq!(
            format!("{read:?}"),
            format!("{:?}", [1.0, 2.0, 100.0, 198.0, 200.0])
        );
        let one = Sample::new(vec![7.0]).unwrap();
        assert!((one.percentile(99) - 7.0).abs() < 1e-9);
    }

    #[test]
    fn no_value_is_no_sample() {
        assert_eq!(Sample::new(Vec::new()), None);
    }

    #[test]
    fn the_first_failure_is_that_of_the_row() {
        let mut left = 3;
        let taken = Sample::take(10, || {
            left -= 1;
            if left > 0 {
                Ok(1.0)
            } else {
                Err("no".to_owned())
            }
        });

        assert_eq!((taken, left), (Err("no".to_owned()), 0));
    }
}
