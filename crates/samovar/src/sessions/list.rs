//! `samovar sessions list`: the sessions of this folder, or those of every store of this user.

use futures_util::{StreamExt, stream};
use samovar_core::{Millis, TurnId};
use samovar_locale as text;
use samovar_wire::agent::{PaginatedResult, SessionInfo};
use samovar_wire::api::RecoveryInfo;
use serde::Serialize;
use serde_json::json;

use super::{find, look_at};
use crate::access::Purpose;
use crate::args::{ListSessions, ModelArgs};
use crate::client::Client;
use crate::config::{self, LocalData, Setup};
use crate::exit::Failure;
use crate::output::{self, Format, table};
use crate::reconnecting::{Reconnecting, Repeat};
use crate::screen::{put, say, shell_word, visible};
use crate::stores::{KnownStore, StoreFolder, known};
use crate::timestamps::{age, now};

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
}

/// Lists sessions.
///
/// # Errors
/// The refusal, or that they cannot be written.
pub(super) async fn list(args: &ListSessions) -> Result<(), Failure> {
    let format = args.common.machine.format();
    let found = config::read(
        &args.common.places,
        &ModelArgs::default(),
        LocalData::UseOnly,
    )?;
    if args.all {
        return show_stores(format, &stores(args, &found).await);
    }
    found.say_foreign();
    let page = look_at(&found, async |client| page(client, args).await).await?;
    show_page(format, &page, args.offset)?;
    found.say_earlier(args.query.is_none() && page.total_count == 0);
    Ok(())
}

async fn page(
    client: &Client,
    args: &ListSessions,
) -> Result<PaginatedResult<ListedSession>, Failure> {
    let (offset, limit) = (args.offset, args.limit);
    let mut params = json!({ "limit": limit, "offset": offset });
    if let Some(query) = &args.query {
        params["query"] = query.as_str().into();
    }
    let page: PaginatedResult<SessionInfo> = client.agent("listSessions", &params).await?;
    let recovery: RecoveryInfo = client.get("/api/recovery").await?;
    let items = page.items.into_iter().map(|session| ListedSession {
        waiting_turn_id: recovery.of(&session.id).map(|cut| cut.turn_id.clone()),
        session,
    });
    Ok(PaginatedResult {
        items: items.collect(),
        total_count: page.total_count,
    })
}

/// Reads every store. One that cannot be read says why.
async fn stores(args: &ListSessions, found: &Setup) -> Vec<ListedStore> {
    let pages = in_each(found, async |client| page(client, args).await).await;
    let pages = pages.into_iter();
    let mut listed: Vec<_> = pages.map(|(store, page)| listed(&store, page)).collect();
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
    store: &KnownStore,
    page: Result<PaginatedResult<ListedSession>, Failure>,
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
    };
    match page {
        Ok(page) => {
            listed.total_count = page.total_count;
            listed.sessions = page.items;
        }
        Err(failure) => listed.error = Some(failure.message),
    }
    listed
}

fn show_stores(format: Format, stores: &[ListedStore]) -> Result<(), Failure> {
    if stores.is_empty() && format == Format::Text {
        say(text::sessions::none());
    }
    let schema = if format == Format::Json {
        "stores"
    } else {
        "store"
    };
    output::list(format, schema, stores, |stores| {
        let blocks = stores.iter().map(|store| {
            let mut lines = match &store.error {
                Some(error) => text::stores::unreadable(error, shell_word(store.data_dir.as_ref())),
                None if store.sessions.is_empty() => text::stores::empty().to_owned(),
                None => table(&rows(&store.sessions)).trim_end().to_owned(),
            };
            let more = store
                .total_count
                .saturating_sub(store.sessions.len() as u64);
            if more > 0 {
                lines = format!("{lines}\n{}", text::stores::more(more));
            }
            format!("{}\n  {}\n", store.heading, lines.replace('\n', "\n  "))
        });
        blocks.collect::<Vec<_>>().join("\n")
    })
}

fn show_page(
    format: Format,
    page: &PaginatedResult<ListedSession>,
    offset: u32,
) -> Result<(), Failure> {
    match format {
        Format::Text => {
            put(&visible(&table(&rows(&page.items))))?;
            let mut items = page.items.iter();
            if let Some(cut) = items.find(|listed| listed.waiting_turn_id.is_some()) {
                say(&text::sessions::how_to_resume(&cut.session.id));
            }
            let shown = u64::from(offset) + page.items.len() as u64;
            if page.total_count == 0 {
                say(text::sessions::none());
            } else if shown < page.total_count {
                say(&text::sessions::more(shown, page.total_count));
            }
            Ok(())
        }
        Format::Json => put(&output::line("sessions", page)?).map(drop),
        Format::Jsonl => output::list(format, "session", &page.items, |_| String::new()),
    }
}

fn rows(listed: &[ListedSession]) -> Vec<Vec<String>> {
    let ids: Vec<_> = listed
        .iter()
        .map(|listed| listed.session.id.as_str())
        .collect();
    let now: Millis = now();
    let row = |listed: &ListedSession| {
        let session = &listed.session;
        let name = find::name(session);
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
