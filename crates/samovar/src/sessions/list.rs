//! `samovar sessions list`: the sessions of this folder, or those of every store of this user.

use std::path::Path;

use futures_util::{StreamExt, stream};
use samovar_core::{Millis, SessionId, TurnId};
use samovar_locale as text;
use samovar_wire::agent::{PaginatedResult, SessionInfo};
use samovar_wire::api::{DamageList, RecoveryInfo};
use serde::Serialize;
use serde_json::json;

use super::{find, look_at};
use crate::access::Purpose;
use crate::args::{ListSessions, ModelArgs};
use crate::client::Client;
use crate::config::{self, LocalData, Setup, real};
use crate::exit::Failure;
use crate::output::{self, Format, table};
use crate::reconnecting::{Reconnecting, Repeat};
use crate::screen::{beginning, put, say, shell_word, visible};
use crate::stores::{KnownStore, StoreFolder, known};
use crate::timestamps::{age, now};

/// Characters of a query that an answer repeats, at most.
const TYPED_CHARS: usize = 60;

/// Stores that are read at once.
const AT_ONCE: usize = 8;

/// A session in the list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedSession {
    #[serde(flatten)]
    session: SessionInfo,
    /// Its turn that a stop of the server interrupted, and that has not resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_turn_id: Option<TurnId>,
}

/// A page of the list.
struct ListedPage {
    sessions: PaginatedResult<ListedSession>,
    /// Sessions that are counted and that no page shows, because they are damaged.
    damaged: u64,
}

impl ListedPage {
    /// The offset of the next page, if there is one.
    fn next(&self, args: &ListSessions) -> Option<u64> {
        let (offset, total) = (u64::from(args.offset), self.sessions.total_count);
        let full = total.saturating_sub(offset).min(args.limit.into());
        let shown = self.sessions.items.len() as u64;
        // Fewer may also be shown because an answer has its bounds.
        let read = if shown + self.damaged >= full {
            full
        } else {
            shown
        };
        Some(offset + read).filter(|next| *next < total)
    }
}

/// A store in the list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedStore {
    data_dir: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// Whether the folder is there.
    is_there: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    sessions: Vec<ListedSession>,
    total_count: u64,
    #[serde(skip)]
    heading: String,
    /// How many more sessions there are, and how many that are damaged.
    #[serde(skip)]
    rest: (u64, u64),
}

/// Lists sessions.
///
/// # Errors
/// The refusal, or that they cannot be written.
pub(super) async fn list(args: &ListSessions) -> Result<(), Failure> {
    let found = config::read(
        &args.common.places,
        &ModelArgs::default(),
        LocalData::UseOnly,
    )?;
    if args.all {
        return show_stores(args, &stores(args, &found).await);
    }
    found.say_foreign();
    let page = look_at(&found, async |client| page(client, args).await).await?;
    show_page(args, &page, &real(&found.config.workspace))?;
    found.say_earlier(args.query.is_none() && page.sessions.total_count == 0);
    Ok(())
}

async fn page(client: &Client, args: &ListSessions) -> Result<ListedPage, Failure> {
    let (offset, limit) = (args.offset, args.limit);
    let mut params = json!({ "limit": limit, "offset": offset, "editForks": args.all });
    if let Some(query) = &args.query {
        params["query"] = query.as_str().into();
    }
    let page: PaginatedResult<SessionInfo> = client.agent("listSessions", &params).await?;
    let recovery: RecoveryInfo = client.get("/api/recovery").await?;
    // The list above tells of the damage that it meets.
    let damage: DamageList = client.get("/api/damage").await?;
    let mut damaged = 0;
    for id in damage
        .items
        .iter()
        .filter_map(|found| found.session_id.as_ref())
    {
        let is_shown = page.items.iter().any(|session| session.id == *id);
        damaged += u64::from(!is_shown && is_left_out(client, id).await);
    }
    let items = page.items.into_iter().map(|session| ListedSession {
        waiting_turn_id: recovery.of(&session.id).map(|cut| cut.turn_id.clone()),
        session,
    });
    let sessions = PaginatedResult {
        items: items.collect(),
        total_count: page.total_count,
    };
    Ok(ListedPage { sessions, damaged })
}

/// Whether no list shows a session, whose own row is damaged then.
async fn is_left_out(client: &Client, id: &SessionId) -> bool {
    let params = json!({ "limit": 200, "query": id, "editForks": true });
    let found = client.agent::<PaginatedResult<SessionInfo>>("listSessions", &params);
    let found = found.await.map(|page| page.items).unwrap_or_default();
    !found.iter().any(|session| session.id == *id)
}

/// Reads every store. One that cannot be read says why.
async fn stores(args: &ListSessions, found: &Setup) -> Vec<ListedStore> {
    let pages = in_each(found, async |client| page(client, args).await).await;
    let pages = pages.into_iter();
    let mut listed: Vec<_> = pages
        .map(|(store, page)| listed(args, &store, page))
        .collect();
    // This folder's own is the first, if it has anything; then those that were used last.
    let newest = |store: &ListedStore| {
        store
            .sessions
            .first()
            .map(|newest| newest.session.updated_at)
    };
    let own = found.config.data_dir.display().to_string();
    listed.sort_by_key(|store| (store.data_dir != own, std::cmp::Reverse(newest(store))));
    listed
}

/// Asks every store of this user, each through its holder or without one.
pub(super) async fn in_each<A>(
    found: &Setup,
    question: impl AsyncFn(&Client) -> Result<A, Failure>,
) -> Vec<(KnownStore, Result<A, Failure>)> {
    let stores = found.folders.stores();
    let read = async |store: KnownStore| {
        let mut config = found.config.clone();
        config.data_dir.clone_from(&store.data_dir);
        config.frees_ballast = store.data_dir.parent() == stores.as_deref();
        let mut way = Reconnecting::new(&config, Purpose::Rows);
        let answer = way.ask(Repeat::Harmless, &question).await;
        way.close_now().await;
        (store, answer)
    };
    let reads = stream::iter(known(found)).map(read).buffered(AT_ONCE);
    reads.collect().await
}

/// A store's folder, if that is known, and what a list calls the store.
pub(super) fn heading(store: &KnownStore) -> (Option<String>, String) {
    let typed = shell_word(&store.data_dir);
    let (folder, heading) = match &store.folder {
        StoreFolder::There(folder) => (Some(folder), folder.display().to_string()),
        StoreFolder::Gone(folder) => (Some(folder), text::stores::gone(folder.display(), typed)),
        StoreFolder::Untold => (None, text::stores::untold(typed)),
    };
    (folder.map(|folder| folder.display().to_string()), heading)
}

fn listed(
    args: &ListSessions,
    store: &KnownStore,
    page: Result<ListedPage, Failure>,
) -> ListedStore {
    let data_dir = store.data_dir.display().to_string();
    let (folder, heading) = heading(store);
    let mut listed = ListedStore {
        data_dir,
        folder,
        is_there: matches!(store.folder, StoreFolder::There(_)),
        error: None,
        sessions: Vec::new(),
        total_count: 0,
        heading,
        rest: (0, 0),
    };
    match page {
        Ok(page) => {
            let total = page.sessions.total_count;
            let more = page.next(args).map_or(0, |next| total - next);
            listed.rest = (more, page.damaged);
            listed.total_count = page.sessions.total_count;
            listed.sessions = page.sessions.items;
        }
        Err(failure) => listed.error = Some(failure.message),
    }
    listed
}

fn show_stores(args: &ListSessions, stores: &[ListedStore]) -> Result<(), Failure> {
    let format = args.common.machine.format();
    let is_empty = |store: &ListedStore| store.error.is_none() && store.sessions.is_empty();
    if format == Format::Text {
        match &args.query {
            None if stores.is_empty() => say(text::sessions::none()),
            Some(query) if stores.iter().all(is_empty) => say(&none_matches(query)),
            Some(_) | None => {}
        }
    }
    let schema = if format == Format::Json {
        "stores"
    } else {
        "store"
    };
    output::list(format, schema, stores, |stores| {
        // A search is answered with what it found.
        let shown = stores
            .iter()
            .filter(|store| args.query.is_none() || !is_empty(store));
        let blocks = shown.map(|store| {
            let mut lines = match &store.error {
                Some(error) => text::stores::unreadable(error, shell_word(store.data_dir.as_ref())),
                None if store.sessions.is_empty() => text::stores::empty().to_owned(),
                None => {
                    let folder = store.folder.as_deref().map(Path::new);
                    table(&rows(&store.sessions, folder)).trim_end().to_owned()
                }
            };
            let (more, damaged) = store.rest;
            if more > 0 {
                lines = format!("{lines}\n{}", text::stores::more(more));
            }
            if damaged > 0 {
                let dir = shell_word(store.data_dir.as_ref());
                lines = format!("{lines}\n{}", text::stores::damaged(damaged, dir));
            }
            format!("{}\n  {}\n", store.heading, lines.replace('\n', "\n  "))
        });
        blocks.collect::<Vec<_>>().join("\n")
    })
}

fn show_page(args: &ListSessions, listed: &ListedPage, here: &Path) -> Result<(), Failure> {
    let page = &listed.sessions;
    match args.common.machine.format() {
        Format::Text => {
            put(&visible(&table(&rows(&page.items, Some(here)))))?;
            let mut items = page.items.iter();
            if let Some(cut) = items.find(|listed| listed.waiting_turn_id.is_some()) {
                say(&text::sessions::how_to_resume(&cut.session.id));
            }
            if page.total_count == 0 {
                match &args.query {
                    Some(query) => say(&none_matches(query)),
                    None => say(text::sessions::none()),
                }
            } else if u64::from(args.offset) >= page.total_count {
                say(&text::sessions::past_last(page.total_count));
            } else if let Some(next) = listed.next(args) {
                say(&text::sessions::more(next, page.total_count));
            }
            if listed.damaged > 0 {
                say(&text::sessions::damaged(listed.damaged));
            }
            Ok(())
        }
        Format::Json => put(&output::line("sessions", page)?).map(drop),
        Format::Jsonl => output::list(Format::Jsonl, "session", &page.items, |_| String::new()),
    }
}

/// The folder of a session, if it is there and another one.
fn elsewhere<'a>(session: &'a SessionInfo, here: Option<&Path>) -> Option<&'a str> {
    let folder = session.metadata.get("workspace")?.as_str()?;
    let path = Path::new(folder);
    (Some(path) != here && path.is_dir()).then_some(folder)
}

fn none_matches(query: &str) -> String {
    let typed = beginning(query, TYPED_CHARS);
    text::sessions::none_matches(text::quoted(&typed))
}

/// The lines of sessions, those of another folder with that.
fn rows(listed: &[ListedSession], here: Option<&Path>) -> Vec<Vec<String>> {
    let ids: Vec<_> = listed
        .iter()
        .map(|listed| listed.session.id.as_str())
        .collect();
    let now: Millis = now();
    let row = |listed: &ListedSession| {
        let session = &listed.session;
        let name = match elsewhere(session, here) {
            Some(folder) => text::sessions::in_folder(find::name(session), folder),
            None => find::name(session),
        };
        vec![
            find::end(session.id.as_str(), &ids),
            age(session.updated_at, now),
            text::sessions::messages(session.message_count),
            session.model.clone(),
            match listed.waiting_turn_id {
                Some(_) => text::sessions::cut_off(name).trim_end().to_owned(),
                None => name,
            },
        ]
    };
    listed.iter().map(row).collect()
}
