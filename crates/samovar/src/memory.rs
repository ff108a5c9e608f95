//! `samovar memory`: what is remembered, seen, changed and deleted by its owner.

use samovar_locale::memory as text;
use samovar_wire::agent::{FoundMemory, SearchMemoryParams};
use samovar_wire::api::{
    AnswerProposalParams, ForgottenInfo, ProposalAnswer, ProposalInfo, ProposalList,
    RememberedInfo, RememberedList,
};
use serde_json::json;

use crate::args::{Common, Memory};
use crate::client::{Client, segment};
use crate::exit::{Exit, Failure};
use crate::output::{self, Format, table};
use crate::reconnecting::Repeat;
use crate::screen::{beginning, say, visible};
use crate::sessions::{change, look};

/// Characters of a memory in a list.
const SHOWN: usize = 88;
/// Where proposals are.
pub(crate) const PROPOSALS: &str = "/api/memory/proposals";

/// `samovar memory`.
pub(crate) async fn memory(command: Memory) -> Result<Exit, Failure> {
    match command {
        Memory::List { common } => {
            let asked = async |client: &Client| client.get::<RememberedList>("/api/memory").await;
            let list = look(&common, asked).await?;
            let format = common.machine.format();
            list.problems.iter().for_each(|why| say(&visible(why)));
            if list.items.is_empty() && format == Format::Text {
                say(text::none());
            }
            output::list(format, "memory", &list.items, shown)?;
            if list.proposals > 0 {
                say(&text::waiting(list.proposals));
            }
        }
        Memory::Search { query, common } => search(query, &common).await?,
        Memory::Show { id, common } => {
            let path = path_of(&id);
            let asked = async |client: &Client| client.get::<RememberedInfo>(&path).await;
            let found = look(&common, asked).await?;
            output::one(common.machine.format(), "memory", &found, whole)?;
        }
        Memory::Edit {
            id,
            text: new,
            common,
        } => {
            let path = path_of(&id);
            let body = json!({ "text": new });
            let asked = async |client: &Client| client.put::<RememberedInfo>(&path, &body).await;
            let edited = change(&common, Repeat::Harmless, asked).await?;
            output::one(common.machine.format(), "memory", &edited, whole)?;
        }
        Memory::Forget { id, common } => forget(&id, &common).await?,
        Memory::Proposals { common } => proposals(&common).await?,
        Memory::Accept {
            id,
            text: new,
            common,
        } => {
            let (path, body) = answer(&id, ProposalAnswer::Accept, new);
            let asked = async |client: &Client| client.post::<RememberedInfo>(&path, &body).await;
            let kept = change(&common, Repeat::Untaken, asked).await?;
            output::one(common.machine.format(), "memory", &kept, whole)?;
        }
        Memory::Refuse { id, common } => refuse(&id, &common).await?,
        Memory::Path { common } => {
            let asked = async |client: &Client| client.get::<RememberedList>("/api/memory").await;
            let list = look(&common, asked).await?;
            let places = [list.long_term_path, list.daily_dir].into_iter();
            let places = places.chain(list.person_path);
            let places: Vec<_> = places.map(|path| json!({ "path": path })).collect();
            output::list(common.machine.format(), "path", &places, |places| {
                let lines = places.iter().filter_map(|it| it["path"].as_str());
                lines.collect::<Vec<_>>().join("\n") + "\n"
            })?;
        }
    }
    Ok(Exit::Ok)
}

async fn forget(id: &str, common: &Common) -> Result<(), Failure> {
    let path = path_of(id);
    let asked = async |client: &Client| client.delete::<ForgottenInfo>(&path).await;
    let said = change(common, Repeat::Untaken, asked).await?;
    let answer = json!({
        "id": id, "forgotten": true, "quotes": said.quotes, "indexed": said.indexed,
        "sessionId": said.session_id,
    });
    output::one(common.machine.format(), "forgotten", &answer, |_| {
        text::forgotten(id) + "\n" + &still_said(&said)
    })
}

async fn proposals(common: &Common) -> Result<(), Failure> {
    let asked = async |client: &Client| client.get::<ProposalList>(PROPOSALS).await;
    let list = look(common, asked).await?;
    let format = common.machine.format();
    if list.items.is_empty() && format == Format::Text {
        say(text::no_proposals());
    }
    output::list(format, "proposal", &list.items, proposed)
}

async fn refuse(id: &str, common: &Common) -> Result<(), Failure> {
    let (path, body) = answer(id, ProposalAnswer::Refuse, None);
    let asked = async |client: &Client| client.post::<()>(&path, &body).await;
    change(common, Repeat::Untaken, asked).await?;
    let answer = json!({ "id": id, "refused": true });
    let said = |_: &_| text::refused(id) + "\n";
    output::one(common.machine.format(), "refused", &answer, said)
}

/// Shows what an agent would recall for some words.
async fn search(query: String, common: &Common) -> Result<(), Failure> {
    let params = SearchMemoryParams { query, limit: None };
    let asked = async |client: &Client| {
        client
            .agent::<Vec<FoundMemory>>("searchMemory", &params)
            .await
    };
    let found = look(common, asked).await?;
    let format = common.machine.format();
    if found.is_empty() {
        // Of a file that cannot be read nothing is found.
        let asked = async |client: &Client| client.get::<RememberedList>("/api/memory").await;
        let problems = look(common, asked).await?.problems;
        for why in problems {
            say(&visible(&why));
        }
        if format == Format::Text {
            say(text::none_found());
        }
    }
    output::list(format, "memory", &found, |found| {
        let rows = found.iter().map(|found| {
            let what = beginning(&found.text, SHOWN);
            let mark = if found.tainted { text::tainted() } else { "" };
            let source = match &found.session_id {
                Some(session) => text::in_session(&found.source, session),
                None => found.source.clone(),
            };
            vec![
                found.id.clone(),
                format!("{:.2}", found.score),
                by(found).to_owned(),
                source,
                mark.to_owned(),
                what,
            ]
        });
        table(&rows.collect::<Vec<_>>())
    })
}

/// What still says what was deleted.
fn still_said(said: &ForgottenInfo) -> String {
    let written = said.session_id.as_ref().map(text::written_in);
    let count = (!said.quotes.is_empty()).then(|| text::quoted(said.quotes.len()));
    let quotes = said.quotes.iter().map(|hit| {
        let line = text::quote(hit.role.as_str(), &hit.session_id, &hit.text);
        format!("  {}", visible(&line))
    });
    let unsearched = (!said.indexed).then(|| text::quotes_unsearched().to_owned());
    let lines = written
        .into_iter()
        .chain(count)
        .chain(quotes)
        .chain(unsearched);
    let lines = lines.chain([text::quotes_elsewhere().to_owned()]);
    lines.map(|line| line + "\n").collect()
}

/// What a hit was found by.
fn by(found: &FoundMemory) -> &'static str {
    match (found.words > 0.0, found.meaning.is_some()) {
        (true, false) => text::by_words(),
        (true, true) => text::by_both(),
        (false, _) => text::by_meaning(),
    }
}

fn path_of(id: &str) -> String {
    format!("/api/memory/{}", segment(id))
}

/// Where and how a proposal is answered.
pub(crate) fn answer(
    id: &str,
    decision: ProposalAnswer,
    text: Option<String>,
) -> (String, AnswerProposalParams) {
    let path = format!("{PROPOSALS}/{}", segment(id));
    (path, AnswerProposalParams { decision, text })
}

/// Proposals in a table.
pub(crate) fn proposed(items: &[ProposalInfo]) -> String {
    let rows = items.iter().map(|info| {
        let mark = if info.tainted { text::tainted() } else { "" };
        let by = info.by.clone().unwrap_or_default();
        let what = beginning(&info.text, SHOWN);
        vec![
            info.id.clone(),
            info.about.clone(),
            by,
            mark.to_owned(),
            what,
        ]
    });
    table(&rows.collect::<Vec<_>>())
}

/// Memories in a table.
pub(crate) fn shown(items: &[RememberedInfo]) -> String {
    let rows = items.iter().map(|info| {
        let mark = if info.tainted { text::tainted() } else { "" };
        let what = beginning(&info.text, SHOWN);
        vec![info.id.clone(), info.source.clone(), mark.to_owned(), what]
    });
    table(&rows.collect::<Vec<_>>())
}

/// A memory with all that is known of it.
fn whole(info: &RememberedInfo) -> String {
    let date = info.date.as_deref().unwrap_or(text::by_hand());
    let mut lines = vec![
        visible(&info.text),
        text::comes_from(&info.id, &info.source, date),
    ];
    lines.extend(info.turn_id.as_ref().map(text::of_turn));
    if info.tainted {
        lines.push(text::is_tainted().to_owned());
    }
    lines.join("\n") + "\n"
}
