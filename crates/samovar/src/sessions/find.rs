//! Finding a session by what a person types: its id, its title, or a unique part of its id (FC-10).

use std::collections::HashSet;

use samovar_core::{Code, SessionId};
use samovar_locale as text;
use samovar_wire::agent::{PaginatedResult, SessionInfo};
use serde_json::json;

use crate::client::Client;
use crate::exit::{Exit, Failure};
use crate::screen::{beginning, one_line};

/// Sessions on a page.
const PAGE: u32 = 200;

/// Sessions that are looked through, at most.
const LOOKED_THROUGH: usize = 20_000;

/// Characters of an id's end that a list shows, at least.
const END_CHARS: usize = 8;

/// Ids up to this length are shown whole.
const SHORT_ID_CHARS: usize = 12;

/// Characters of a session's name, at most.
const NAME_CHARS: usize = 60;

/// Sessions that an error names, at most.
const NAMED: usize = 5;

/// Characters of a part of an id or a title, at least.
const PART_CHARS: usize = 4;

/// What may be typed in place of a whole id or title.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    /// A part, where the person sees what it means before anything happens, or where that can be
    /// taken back.
    Part,
    /// An end of the id, as long as those that a list shows.
    End,
}

/// The session that was typed. An exact id wins over a title, and that over a part.
///
/// # Errors
/// None or several fit, or the server's refusal; [`Code::SessionDamaged`] only for an exact id.
pub(crate) async fn session(
    client: &Client,
    typed: &str,
    precision: Precision,
) -> Result<SessionInfo, Failure> {
    if let Ok(id) = SessionId::new(typed) {
        let params = json!({ "sessionId": id });
        match client.agent::<SessionInfo>("getSession", &params).await {
            Err(unknown) if unknown.code == Code::UnknownSession.as_str() => {}
            found => return found,
        }
    }
    let sessions = all(client).await?;
    match fitting(typed, &sessions, precision).as_slice() {
        [] if !fitting(typed, &sessions, Precision::Part).is_empty() => {
            let typed = text::quoted(&beginning(typed, NAME_CHARS)).to_string();
            let why = text::sessions::inexact(typed);
            Err(Failure::new(Exit::Usage, "ambiguous_session", why))
        }
        [] => {
            let (code, why) = (
                Code::UnknownSession.as_str(),
                text::client::session_unknown(),
            );
            Err(Failure::new(Exit::Usage, code, why))
        }
        [one] => Ok((*one).clone()),
        several => {
            let all: Vec<_> = sessions.iter().map(|session| session.id.as_str()).collect();
            let shown = several.iter().take(NAMED);
            let shown = shown.map(|one| format!("{} ({})", end(one.id.as_str(), &all), name(one)));
            let shown = shown.collect::<Vec<_>>().join(", ");
            let typed = text::quoted(&beginning(typed, NAME_CHARS)).to_string();
            let why = text::sessions::several(typed, several.len(), shown);
            Err(Failure::new(Exit::Usage, "ambiguous_session", why))
        }
    }
}

/// All sessions, the last changed first.
pub(crate) async fn all(client: &Client) -> Result<Vec<SessionInfo>, Failure> {
    let mut all: Vec<SessionInfo> = Vec::new();
    loop {
        let params = json!({ "limit": PAGE, "offset": all.len(), "editForks": true });
        let page: PaginatedResult<SessionInfo> = client.agent("listSessions", &params).await?;
        let is_last = page.items.is_empty();
        all.extend(page.items);
        if is_last || all.len() as u64 >= page.total_count || all.len() >= LOOKED_THROUGH {
            // One that changes meanwhile may come twice.
            let mut met = HashSet::new();
            all.retain(|session| met.insert(session.id.clone()));
            return Ok(all);
        }
    }
}

/// The sessions that the typed text can mean.
fn fitting<'a>(
    typed: &str,
    sessions: &'a [SessionInfo],
    precision: Precision,
) -> Vec<&'a SessionInfo> {
    let typed = typed.trim().trim_end_matches('…').to_lowercase();
    if typed.is_empty() {
        return Vec::new();
    }
    let called: Vec<_> = sessions
        .iter()
        .filter(|session| whole_name(session).to_lowercase() == typed)
        .collect();
    if !called.is_empty() {
        return called;
    }
    let least = match precision {
        Precision::Part => PART_CHARS,
        Precision::End => END_CHARS,
    };
    if typed.chars().count() < least {
        return Vec::new();
    }
    let is_meant = |session: &&SessionInfo| {
        let id = session.id.as_str().to_lowercase();
        match precision {
            Precision::Part => {
                id.contains(&typed) || whole_name(session).to_lowercase().starts_with(&typed)
            }
            Precision::End => id.ends_with(&typed),
        }
    };
    sessions.iter().filter(is_meant).collect()
}

/// What a person calls a session: its title, else the first words that were said in it; of a fork also
/// what it comes from.
pub(crate) fn name(session: &SessionInfo) -> String {
    let name = beginning(&whole_name(session), NAME_CHARS);
    match &session.forked_from {
        Some(from) => text::sessions::fork_of(name, end(from.session_id.as_str(), &[])),
        None => name,
    }
}

fn whole_name(session: &SessionInfo) -> String {
    match (&session.title, &session.preview) {
        (Some(title), _) => title.as_str().to_owned(),
        (None, Some(preview)) => one_line(preview),
        (None, None) => String::new(),
    }
}

/// The end of an id that no other of these has; a UUID v7 begins with its time. Short ids are whole.
pub(crate) fn end(id: &str, all: &[&str]) -> String {
    let count = id.chars().count();
    if count <= SHORT_ID_CHARS {
        return id.to_owned();
    }
    let is_unique = |end: &str| all.iter().filter(|other| other.contains(end)).count() <= 1;
    let ends = (END_CHARS..count).map(|length| id.chars().skip(count - length).collect());
    let mut ends = ends.filter(|end: &String| is_unique(end));
    ends.next().unwrap_or_else(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(id: &str, title: &str, preview: &str) -> SessionInfo {
        serde_json::from_value(json!({
            "id": id, "sessionId": id, "title": Some(title).filter(|title| !title.is_empty()),
            "preview": preview, "agent": "master", "model": "demo", "createdAt": 0, "updatedAt": 0,
            "messageCount": 1, "tokens": {"total": 0, "input": 0, "output": 0}, "metadata": {},
        }))
        .unwrap()
    }

    // proves FC-10
    #[test]
    fn a_title_or_a_unique_part_of_an_id_finds_a_session_and_a_whole_title_wins() {
        let sessions = [
            session("0193-aaaa-1111", "Tea", "make tea"),
            session("0193-bbbb-2222", "", "Tea for two\nplease"),
            session("0193-cccc-3333", "Чай", ""),
        ];
        let [a, b, c] = ["0193-aaaa-1111", "0193-bbbb-2222", "0193-cccc-3333"];
        for (typed, by_part, by_end) in [
            ("1111", &[a][..], &[][..]),
            ("BBBB", &[b], &[]),
            ("tea", &[a], &[a]),
            ("tea for two please", &[b], &[b]),
            ("Tea for…", &[b], &[]),
            ("чай", &[c], &[c]),
            ("0193", &[a, b, c], &[]),
            ("aaa-1111", &[a], &[a]),
            ("0193-aaaa", &[a], &[]),
            ("111", &[], &[]),
            ("te", &[], &[]),
            ("make tea", &[], &[]),
            ("…", &[], &[]),
            (" ", &[], &[]),
        ] {
            for (precision, expected) in [(Precision::Part, by_part), (Precision::End, by_end)] {
                let found = fitting(typed, &sessions, precision);
                let found: Vec<_> = found.iter().map(|found| found.id.as_str()).collect();
                assert_eq!(found, expected, "{typed} {precision:?}");
            }
        }
    }

    // proves FC-10
    #[test]
    fn the_end_of_an_id_is_as_long_as_it_must_be_to_be_found_by_it() {
        let all = ["0193a-00000001", "0193b-00000001", "0193c-00000002", "main"];
        let ends: Vec<_> = all.iter().map(|id| end(id, &all)).collect();
        assert_eq!(ends, ["a-00000001", "b-00000001", "00000002", "main"]);
    }
}
