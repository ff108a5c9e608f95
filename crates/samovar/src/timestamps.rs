//! Moments as people read them.

use jiff::Timestamp;
use samovar_core::Millis;

/// A moment in UTC, to the minute: `2026-11-22 01:30Z`.
pub(crate) fn moment(at: Millis) -> String {
    let at = Timestamp::from_millisecond(at.0).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%MZ").to_string()
}

/// The time of a day in UTC, of a moment as RFC 3339 has it: `01:30:59`. What is none is shown as it
/// came.
pub(crate) fn clock(moment: &str) -> String {
    match moment.parse::<Timestamp>() {
        Ok(at) => at.strftime("%H:%M:%S").to_string(),
        Err(_) => moment.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_day_is_that_of_utc() {
        assert_eq!(clock("2026-11-22T01:30:59.999Z"), "01:30:59");
        assert_eq!(clock("2026-11-22T01:30:00+02:00"), "23:30:00");
        assert_eq!(clock("soon"), "soon");
    }

    #[test]
    fn a_moment_is_shown_to_the_minute_in_utc() {
        assert_eq!(moment(Millis(1_795_311_059_999)), "2026-11-22 01:30Z");
        assert_eq!(moment(Millis(0)), "1970-01-01 00:00Z");
    }
}
