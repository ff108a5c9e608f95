//! The values of a row.

use std::time::Duration;

use anyhow::{Result, ensure};
use hdrhistogram::Histogram;

/// Digits to which a percentile is exact.
const DIGITS: u8 = 3;

/// The values of one row in the unit of its figure: at least one, in ascending order.
#[derive(Debug)]
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    pub(crate) fn of(mut values: Vec<f64>) -> Result<Sample> {
        ensure!(!values.is_empty(), "nothing was measured");
        values.sort_by(f64::total_cmp);
        Ok(Sample(values))
    }

    /// A sample for each value.
    pub(crate) fn each(values: impl IntoIterator<Item = f64>) -> Result<Vec<Sample>> {
        let samples = values.into_iter().map(|value| Sample::of(vec![value]));
        samples.collect()
    }

    /// Measures so many times; the first failure is that of the row.
    pub(crate) async fn take(
        times: u32,
        mut measure: impl AsyncFnMut() -> Result<f64>,
    ) -> Result<Sample> {
        let mut values = Vec::new();
        for _ in 0..times {
            values.push(measure().await?);
        }
        Sample::of(values)
    }

    /// The middle value, or the mean of the two in the middle.
    pub(crate) fn median(&self) -> f64 {
        let (low, high) = (self.0[(self.0.len() - 1) / 2], self.0[self.0.len() / 2]);
        f64::midpoint(low, high)
    }

    pub(crate) fn min(&self) -> f64 {
        self.0[0]
    }

    pub(crate) fn max(&self) -> f64 {
        self.0[self.0.len() - 1]
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

/// Percentiles of durations, in milliseconds.
pub(crate) fn percentiles<const N: usize>(
    durations: impl IntoIterator<Item = Duration>,
    percentiles: [f64; N],
) -> Result<[f64; N]> {
    let mut nanoseconds = Histogram::<u64>::new(DIGITS)?;
    for duration in durations {
        nanoseconds.record(u64::try_from(duration.as_nanos())?)?;
    }
    ensure!(!nanoseconds.is_empty(), "nothing was measured");
    let at = |percentile| Duration::from_nanos(nanoseconds.value_at_percentile(percentile));
    Ok(percentiles.map(|percentile| milliseconds(at(percentile))))
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// Megabytes of so many KiB; 1 MB has 1,000,000 bytes.
pub(crate) fn megabytes(kib: u32) -> f64 {
    f64::from(kib) * 1024.0 / 1_000_000.0
}

#[cfg(test)]
mod tests {
    use anyhow::bail;

    use super::*;

    #[test]
    fn the_median_is_the_middle_value_or_the_mean_of_two() {
        for (values, wanted) in [
            (vec![3.0], [3.0, 3.0, 3.0]),
            (vec![9.0, 1.0, 2.0], [1.0, 2.0, 9.0]),
            (vec![9.0, -1.0, 2.0, 4.0], [-1.0, 3.0, 9.0]),
        ] {
            let sample = Sample::of(values).unwrap();
            let read = [sample.min(), sample.median(), sample.max()];
            assert_eq!(format!("{read:?}"), format!("{wanted:?}"));
        }
    }

    #[test]
    fn percentiles_are_exact_to_three_digits() {
        let times = (1..=200).map(Duration::from_millis);

        let read = percentiles(times, [50.0, 99.0, 100.0]).unwrap();

        for (read, wanted) in read.into_iter().zip([100.0, 198.0, 200.0]) {
            assert!((read - wanted).abs() < wanted / 1000.0, "{read} {wanted}");
        }
    }

    #[test]
    fn no_value_is_no_sample() {
        assert!(Sample::of(Vec::new()).is_err());
        assert!(percentiles([], [50.0]).is_err());
    }

    #[tokio::test]
    async fn the_first_failure_is_that_of_the_row() {
        let mut left = 3;
        let taken = Sample::take(10, async || {
            left -= 1;
            match left {
                0 => bail!("no"),
                _ => Ok(1.0),
            }
        });

        assert_eq!(taken.await.unwrap_err().to_string(), "no");
        assert_eq!(left, 0);
    }

    #[test]
    fn a_megabyte_has_a_million_bytes() {
        assert!((megabytes(15_625) - 16.0).abs() < 1e-9);
        assert!((milliseconds(Duration::from_micros(1500)) - 1.5).abs() < 1e-9);
    }
}
