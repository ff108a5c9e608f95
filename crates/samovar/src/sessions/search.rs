//! `samovar sessions search`: the messages that have some words.

use samovar_locale as text;
use samovar_wire::api::{SearchHit, SearchResult};
use serde::Serialize;

use super::list::{heading, in_each};
use super::{find, look_at};
use crate::args::{ModelArgs, SearchSessions};
use crate::client::{Client, segment};
use crate::config::{self, LocalData};
use crate::exit::Failure;
use crate::output::{self, Format, table};
use crate::screen::{beginning, put, say, shell_word, visible};
use crate::timestamps::{age, now};

/// Bytes of the words in an address, at most: no server reads a longer one.
const MAX_TYPED_BYTES: usize = 60_000;
/// Characters of the typed words that an answer repeats, at most.
const TYPED_CHARS: usize = 60;

/// What was found in a store.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SearchedStore {
    data_dir: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(flatten)]
    found: Option<SearchResult>,
    #[serde(skip)]
    heading: String,
}

/// Searches this folder's sessions, or those of every store of this user.
///
/// # Errors
/// The refusal, or that the hits cannot be written.
pub(super) async fn search(args: &SearchSessions) -> Result<(), Failure> {
    let format = args.common.machine.format();
    let found = config::read(
        &args.common.places,
        &ModelArgs::default(),
        LocalData::UseOnly,
    )?;
    if segment(&args.text).len() > MAX_TYPED_BYTES {
        return Err(Failure::usage(text::sessions::search_too_long()));
    }
    let path = format!(
        "/api/search?limit={}&editForks={}&query={}",
        args.limit,
        args.all,
        segment(&args.text)
    );
    let asked = async |client: &Client| client.get::<SearchResult>(&path).await;
    if args.all {
        let answers = in_each(&found, asked).await.into_iter();
        let searched = answers.map(|(store, answer)| {
            let (folder, heading) = heading(&store);
            let (found, error) = match answer {
                Ok(found) => (Some(found), None),
                Err(failure) => (None, Some(failure.message)),
            };
            let data_dir = store.data_dir.display().to_string();
            SearchedStore {
                data_dir,
                folder,
                error,
                found,
                heading,
            }
        });
        return show_stores(format, args, &searched.collect::<Vec<_>>());
    }
    found.say_foreign();
    let result = look_at(&found, asked).await?;
    match format {
        Format::Text => {
            put(&visible(&table(&rows(&result.items))))?;
            say_rest(args, &[&result]);
            Ok(())
        }
        Format::Json => put(&output::line("hits", &result)?).map(drop),
        Format::Jsonl => output::list(format, "hit", &result.items, |_| String::new()),
    }
}

fn show_stores(
    format: Format,
    args: &SearchSessions,
    stores: &[SearchedStore],
) -> Result<(), Failure> {
    output::list(format, "store_hits", stores, |stores| {
        let blocks = stores.iter().filter_map(|store| {
            let lines = match (&store.error, &store.found) {
                (Some(error), _) => {
                    text::stores::unreadable(error, shell_word(store.data_dir.as_ref()))
                }
                (None, Some(found)) if !found.items.is_empty() => table(&rows(&found.items)),
                (None, _) => return None,
            };
            let lines = lines.trim_end().replace('\n', "\n  ");
            Some(format!("{}\n  {lines}\n", store.heading))
        });
        blocks.collect::<Vec<_>>().join("\n")
    })?;
    if format == Format::Text {
        let found = stores.iter().filter_map(|store| store.found.as_ref());
        say_rest(args, &found.collect::<Vec<_>>());
    }
    Ok(())
}

/// Says that nothing was found, or that there may be more.
fn say_rest(args: &SearchSessions, found: &[&SearchResult]) {
    if found.iter().all(|found| found.items.is_empty()) {
        let typed = beginning(&args.text, TYPED_CHARS);
        say(&text::sessions::not_found(text::quoted(&typed)));
    }
    if found
        .iter()
        .any(|found| found.items.len() >= args.limit as usize)
    {
        say(&text::sessions::more_found(args.limit));
    }
    if found.iter().any(|found| !found.indexed) {
        say(text::sessions::not_indexed());
    }
}

fn rows(hits: &[SearchHit]) -> Vec<Vec<String>> {
    let mut sessions: Vec<_> = hits.iter().map(|hit| hit.session_id.as_str()).collect();
    sessions.sort_unstable();
    sessions.dedup();
    let now = now();
    let row = |hit: &SearchHit| {
        vec![
            find::end(hit.session_id.as_str(), &sessions),
            age(hit.at, now),
            hit.role.as_str().to_owned(),
            // Before its lines are broken, because a sign takes several columns then.
            visible(&hit.text),
        ]
    };
    hits.iter().map(row).collect()
}
