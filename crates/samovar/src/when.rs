//! Moments as people read them.

use jiff::Timestamp;
use samovar_core::Millis;

/// A moment in UTC, to the minute: `2026-11-22 01:30Z`.
pub(crate) fn moment(at: Millis) -> String {
    let at = Timestamp::from_millisecond(at.0).unwrap_or_default();
    at.strftime("%Y-%m-%d %H:%MZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_shown_to_the_minute_in_utc() {
        assert_eq!(moment(Millis(1_795_311_059_999)), "2026-11-22 01:30Z");
        assert_eq!(moment(Millis(0)), "1970-01-01 00:00Z");
    }
}
