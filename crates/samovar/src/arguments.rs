//! What is wrong with what was typed: clap finds it, the catalogue says it.

use std::error::Error as _;
use std::net::IpAddr;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use samovar_core::id::MAX_ID_BYTES;
use samovar_core::title::MAX_TITLE_BYTES;
use samovar_core::{Millis, SessionId, Title, Usd};
use samovar_locale as text;
use samovar_wire::api::{TokenName, TokenScope};
use text::typed as says;

use crate::timestamps::now;

/// Characters of a wrong value that are shown.
const SHOWN: usize = 80;

/// The arguments that are texts of words, by their names in the help.
const TEXTS: [&str; 7] = ["PROMPT", "TEXT", "TITLE", "ID", "MESSAGE", "ARGS", "PARAMS"];

/// Bytes of a room's name, at most.
const MAX_ROOM_BYTES: usize = 200;

/// Seconds of a year: the longest timeout.
const MOST_SECONDS: f64 = 365.0 * 24.0 * 60.0 * 60.0;

/// The sentence that tells a person what is wrong, and what would be right.
pub(crate) fn sentence(error: &clap::Error) -> String {
    let option = name(error, ContextKind::InvalidArg);
    match error.kind() {
        ErrorKind::UnknownArgument => unknown(error, option),
        ErrorKind::InvalidSubcommand => {
            let command = quoted(&said(error, ContextKind::InvalidSubcommand));
            match nearest(error) {
                None => says::unknown_command(command, program(error)),
                Some(nearest) => says::unknown_command_near(command, nearest),
            }
        }
        ErrorKind::InvalidValue => {
            let value = said(error, ContextKind::InvalidValue);
            let choices = said(error, ContextKind::ValidValue);
            match (value.is_empty(), choices.is_empty()) {
                (_, true) => says::no_value(option),
                (true, false) => says::no_choice(option, choices),
                (false, false) => says::wrong_choice(option, choices, quoted(&value)),
            }
        }
        ErrorKind::ValueValidation => {
            let value = quoted(&said(error, ContextKind::InvalidValue));
            let expected = error.source().map(ToString::to_string);
            says::wrong_value(option, value, expected.unwrap_or_default())
        }
        ErrorKind::TooManyValues => says::takes_no_value(option),
        ErrorKind::ArgumentConflict => match name(error, ContextKind::PriorArg) {
            prior if prior == option => says::twice(option),
            prior => says::conflict(option, prior),
        },
        ErrorKind::MissingRequiredArgument => says::missing(option, usage(error)),
        ErrorKind::InvalidUtf8 => says::not_text().to_owned(),
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            says::no_command().to_owned()
        }
        _ => {
            let all = error.to_string();
            let first = all.split("\n\n").next().unwrap_or_default();
            first.trim_start_matches("error: ").to_owned()
        }
    }
}

/// What to type for a text whose hyphen made it options: `-here` asks for help with its `h`. `None` if
/// the command takes no text, or what was typed was hardly meant as one.
pub(crate) fn read_as_options(error: &clap::Error, typed: &[String]) -> Option<String> {
    let is_meant = |word: &&String| match error.kind() {
        ErrorKind::DisplayHelp => is_text_with_help(word),
        ErrorKind::UnknownArgument => {
            let unknown = said(error, ContextKind::InvalidArg);
            let is_cluster = unknown.len() == 2 && !word.starts_with("--") && word.len() > 2;
            let has_it = is_cluster && word.contains(unknown.trim_start_matches('-'));
            word.starts_with('-') && (has_it || word.contains(char::is_whitespace))
        }
        _ => false,
    };
    let all = error.to_string();
    let usage = all.lines().find(|line| line.starts_with("Usage:"))?;
    let mut options = typed.iter().take_while(|word| *word != "--");
    let word = options.find(is_meant).filter(|_| takes_text(usage))?;
    Some(says::read_as_options(quoted(word)))
}

/// Whether a word has an `h` that clap reads as `-h`, and after it letters that are no options.
fn is_text_with_help(word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    let parts = letters.and_then(|letters| letters.split_once('h'));
    parts.is_some_and(|(before, after)| {
        let is_known = |letter| matches!(letter, 'h' | 'v' | 'V');
        before.chars().all(is_known) && !after.chars().all(is_known)
    })
}

/// Whether a command ends with a text of words.
fn takes_text(usage: &str) -> bool {
    let last = usage.trim_end().trim_end_matches("...").rsplit(' ').next();
    let last = last.map(|word| word.trim_matches(['<', '>', '[', ']']));
    last.is_some_and(|last| TEXTS.contains(&last))
}

/// The command that is spelled most like what was typed: clap puts it last.
fn nearest(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::SuggestedSubcommand)? {
        ContextValue::String(one) => Some(one.clone()),
        ContextValue::Strings(some) => some.last().cloned(),
        _ => None,
    }
}

/// An option that there is not, or a word that nothing takes.
fn unknown(error: &clap::Error, option: String) -> String {
    if !option.starts_with('-') {
        let (word, usage) = (quoted(&said(error, ContextKind::InvalidArg)), usage(error));
        return if takes_text(&usage) {
            says::too_many(word)
        } else {
            says::too_many_of(word, usage)
        };
    }
    match name(error, ContextKind::SuggestedArg) {
        nearest if nearest.is_empty() => says::unknown_option(option),
        nearest => says::unknown_option_near(option, nearest),
    }
}

/// How the command is to be typed, when clap knows it.
fn usage(error: &clap::Error) -> String {
    let usage = said(error, ContextKind::Usage);
    let usage = usage.trim().trim_start_matches("Usage:").trim();
    usage.lines().next().unwrap_or_default().to_owned()
}

/// The command before the word that it does not know: `samovar config`.
fn program(error: &clap::Error) -> String {
    let usage = usage(error);
    let words = usage
        .split(' ')
        .take_while(|word| !word.starts_with(['<', '[']));
    words.collect::<Vec<_>>().join(" ")
}

/// What clap knows, in one line; empty when it knows nothing of the kind.
fn said(error: &clap::Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(one)) => one.clone(),
        Some(ContextValue::Strings(some)) => some.join(", "),
        Some(ContextValue::StyledStr(styled)) => styled.to_string(),
        _ => String::new(),
    }
}

/// An argument without the name of its value: `--model` of `--model <NAME>`.
fn name(error: &clap::Error, kind: ContextKind) -> String {
    let all = said(error, kind);
    match all.split_once(" <") {
        Some((option, _)) if option.starts_with('-') => option.to_owned(),
        _ => all,
    }
}

/// A value as it was typed, its beginning if it is long.
fn quoted(value: &str) -> String {
    let mut shown: String = value.chars().take(SHOWN).collect();
    if shown.len() < value.len() {
        shown.push('…');
    }
    text::quoted(&shown).to_string()
}

/// A whole number within these bounds.
pub(crate) fn whole<T>(typed: &str, min: T, max: T) -> Result<T, String>
where
    T: std::str::FromStr + PartialOrd + std::fmt::Display,
{
    match typed.parse() {
        Ok(number) if number >= min && number <= max => Ok(number),
        _ => Err(text::config::kind_integer(min, max)),
    }
}

/// An amount of US dollars above 0.
pub(crate) fn dollars(typed: &str) -> Result<Usd, String> {
    let amount = Usd::parse(typed).filter(|amount| *amount > Usd::default());
    amount.ok_or_else(|| text::error::expected_dollars().to_owned())
}

/// A time in seconds, with or without a fraction: from a millisecond to a year.
pub(crate) fn seconds(typed: &str) -> Result<Duration, String> {
    match typed.parse() {
        Ok(seconds) if (0.001..=MOST_SECONDS).contains(&seconds) => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err(says::expected_seconds(0.001, MOST_SECONDS)),
    }
}

/// An address to listen on.
pub(crate) fn address(typed: &str) -> Result<IpAddr, String> {
    typed
        .parse()
        .map_err(|_| text::config::kind_address().to_owned())
}

/// The id of a session, which need not be there.
pub(crate) fn session(typed: &str) -> Result<String, String> {
    match SessionId::new(typed).and_then(|id| id.check_new("sessionId")) {
        Ok(()) => Ok(typed.to_owned()),
        Err(_) => Err(says::expected_session().to_owned()),
    }
}

/// The same for what is done with a session of an older store, too, whose id may be blank.
pub(crate) fn old_session(typed: &str) -> Result<String, String> {
    match SessionId::new(typed) {
        Ok(_) => Ok(typed.to_owned()),
        Err(_) => Err(says::expected_session().to_owned()),
    }
}

/// The id of a session that is to be made.
pub(crate) fn new_session(typed: &str) -> Result<String, String> {
    match SessionId::new(typed).and_then(|id| id.check_new("sessionId")) {
        Ok(()) => Ok(typed.to_owned()),
        Err(_) => Err(says::expected_new_session(MAX_ID_BYTES)),
    }
}

/// A session's title; an empty one takes it away.
pub(crate) fn title(typed: &str) -> Result<String, String> {
    match Title::new(typed) {
        Ok(_) => Ok(typed.to_owned()),
        Err(_) => Err(says::expected_title(MAX_TITLE_BYTES)),
    }
}

/// The name of a token, which need not be there.
pub(crate) fn token(typed: &str) -> Result<String, String> {
    match TokenName::new(typed.to_owned()) {
        Some(_) => Ok(typed.to_owned()),
        None => Err(says::expected_token().to_owned()),
    }
}

/// What a token may do.
pub(crate) fn scope(typed: &str) -> Result<TokenScope, String> {
    TokenScope::parse(typed).ok_or_else(|| says::expected_scope().to_owned())
}

/// The name of a room, which need not be there.
pub(crate) fn room(typed: &str) -> Result<String, String> {
    let name = typed.trim();
    match name.len() {
        1..=MAX_ROOM_BYTES => Ok(name.to_owned()),
        _ => Err(says::expected_room(MAX_ROOM_BYTES)),
    }
}

/// The id of a study, which need not be there.
pub(crate) fn study(typed: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    match typed.len() {
        1..=64 if typed.bytes().all(is_plain) => Ok(typed.to_owned()),
        _ => Err(says::expected_study().to_owned()),
    }
}
/// A moment: how long ago, such as `30m`, `2h` or `7d`, or a date or time in UTC.
pub(crate) fn moment(typed: &str) -> Result<Millis, String> {
    let wrong = || says::no_moment().to_owned();
    if let Some((number, unit)) = typed.split_at_checked(typed.len().saturating_sub(1))
        && let Ok(number) = number.parse::<u32>()
    {
        let minutes = match unit {
            "m" => 1,
            "h" => 60,
            "d" => 24 * 60,
            _ => return Err(wrong()),
        };
        let ago = i64::from(number) * minutes * 60_000;
        return Ok(Millis(now().0.saturating_sub(ago)));
    }
    let date = || {
        Some(
            typed
                .parse::<Date>()
                .ok()?
                .to_zoned(TimeZone::UTC)
                .ok()?
                .timestamp(),
        )
    };
    let at = typed.parse::<Timestamp>().ok().or_else(date);
    at.map(|at| Millis(at.as_millisecond())).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_an_age_a_date_or_a_time() {
        assert_eq!(moment("1970-01-02"), Ok(Millis(86_400_000)));
        assert_eq!(moment("1970-01-01T00:00:01Z"), Ok(Millis(1000)));
        let ago = now().0 - moment("2h").unwrap().0;
        assert!((7_200_000..7_260_000).contains(&ago), "{ago}");
        for bad in ["", "h", "2y", "yesterday", "-1d", "1970-13-01", "5\u{e9}"] {
            assert!(moment(bad).is_err(), "{bad}");
        }
    }
}
