//! Moments as people read them.

use std::time::SystemTime;

use jiff::Timestamp;
use samovar_core::Millis;
use samovar_locale::age as text;

/// Days after which a moment is shown as a date.
const OLD_DAYS: i64 = 60;

/// Now.
pub(crate) fn now() -> Millis {
    Millis(Timestamp::now().as_millisecond())
}

/// A moment as the system has it.
pub(crate) fn of_system(at: SystemTime) -> Millis {
    Timestamp::try_from(at).map_or_else(|_| now(), |at| Millis(at.as_millisecond()))
}

/// How long ago a moment was, in one unit; a day if that is long ago.
pub(crate) fn age(at: Millis, now: Millis) -> String {
    let minutes = (now.0.saturating_sub(at.0) / 60_000).max(0);
    match (minutes, minutes / 60, minutes / (24 * 60)) {
        (0, _, _) => text::now().to_owned(),
        (_, 0, _) => text::minutes(minutes),
        (_, hours, 0) => text::hours(hours),
        (_, _, days @ 0..OLD_DAYS) => text::days(days),
        _ => moment(at).chars().take(10).collect(),
    }
}

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
    fn an_age_has_one_unit_and_what_is_old_has_its_date() {
        let (minute, day) = (60_000, 24 * 60 * 60_000);
        for (before, shown) in [
            (-5 * minute, "now"),
            (minute - 1, "now"),
            (59 * minute, "59 min"),
            (60 * minute, "1 h"),
            (day, "1 d"),
            (59 * day, "59 d"),
            (60 * day, "2026-09-23"),
        ] {
            let at = 1_795_311_059_999;
            assert_eq!(age(Millis(at - before), Millis(at)), shown, "{before}");
        }
    }

    #[test]
    fn a_moment_is_shown_to_the_minute_in_utc() {
        assert_eq!(moment(Millis(1_795_311_059_999)), "2026-11-22 01:30Z");
        assert_eq!(moment(Millis(0)), "1970-01-01 00:00Z");
    }
}
