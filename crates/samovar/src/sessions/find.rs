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

/// The session that was typed. An exact id wins over a title, and that over a part.
///
/// # Errors
/// None or several fit, or the server's refusal.
pub(crate) async fn session(client: &Client, typed: &str) -> Result<SessionId, Failure> {
    if let Ok(id) = SessionId::new(typed) {
        let params = json!({ "sessionId": id });
        match client.agent::<SessionInfo>("getSession", &params).await {
            Err(unknown) if unknown.code == Code::UnknownSession.as_str() => {}
            // One that is damaged is there.
            Err(damaged) if damaged.code == Code::SessionDamaged.as_str() => return Ok(id),
            found => return found.map(|session| session.id),
        }
    }
    let sessions = all(client).await?;
    match fitting(typed, &sessions).as_slice() {
        [] => {
            let (code, why) = (
                Code::UnknownSession.as_str(),
                text::client::session_unknown(),
            );
            Err(Failure::new(Exit::Usage, code, why))
        }
        [one] => Ok(one.id.clone()),
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
pub(super) async fn all(client: &Client) -> Result<Vec<SessionInfo>, Failure> {
    let mut all: Vec<SessionInfo> = Vec::new();
    loop {
        let params = json!({ "limit": PAGE, "offset": all.len() });
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
fn fitting<'a>(typed: &str, sessions: &'a [SessionInfo]) -> Vec<&'a SessionInfo> {
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
    let is_part = |session: &&SessionInfo| {
        session.id.as_str().to_lowercase().contains(&typed)
            || whole_name(session).to_lowercase().starts_with(&typed)
    };
    sessions.iter().filter(is_part).collect()
}

/// Whether this text is in the id or the name of a session, in any case.
pub(super) fn has(session: &SessionInfo, text: &str) -> bool {
    let text = text.to_lowercase();
    session.id.as_str().to_lowercase().contains(&text)
        || whole_name(session).to_lowercase().contains(&text)
}

/// What a person calls a session: its title, else the first words that were said in it.
pub(crate) fn name(session: &SessionInfo) -> String {
    beginning(&whole_name(session), NAME_CHARS)
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
            "preview": preview, "model": "demo", "createdAt": 0, "updatedAt": 0,
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
        for (typed, expected) in [
            ("1111", &["0193-aaaa-1111"][..]),
            ("BBBB", &["0193-bbbb-2222"]),
            ("tea", &["0193-aaaa-1111"]),
            ("tea for two please", &["0193-bbbb-2222"]),
            ("Tea for…", &["0193-bbbb-2222"]),
            ("чай", &["0193-cccc-3333"]),
            ("te", &["0193-aaaa-1111", "0193-bbbb-2222"]),
            (
                "0193",
                &["0193-aaaa-1111", "0193-bbbb-2222", "0193-cccc-3333"],
            ),
            ("make tea", &[]),
            ("…", &[]),
            (" ", &[]),
        ] {
            let found = fitting(typed, &sessions);
            let found: Vec<_> = found.iter().map(|found| found.id.as_str()).collect();
            assert_eq!(found, expected, "{typed}");
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
