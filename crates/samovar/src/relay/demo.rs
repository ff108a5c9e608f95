//! `samovar relay demo`: a room with the booking of a movie as its screen, and how to join it.

use std::path::Path;

use samovar_locale as text;
use serde::Serialize;
use serde_json::{Value, json};

use super::ROOMS;
use crate::access::running;
use crate::args::{Demo, ModelArgs};
use crate::client::{Client, relay_url, segment};
use crate::config::{self, LocalData, Setup};
use crate::exit::{Exit, Failure};
use crate::output::{self, Format};
use crate::serve;

/// What is said there first, for whoever copies it.
const WORDS: &str = "book me the first comedy after six, two seats side by side";

/// What to type next.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Invitation {
    room: String,
    url: String,
    token_file: String,
    python: String,
    agent: String,
    say: String,
    click: String,
}

/// What was typed, as far as what is typed next has to say it too.
struct Typed {
    room: String,
    /// Whether the data directory was named, so that it is found by its name alone.
    names_data_dir: bool,
    format: Format,
}

/// Opens the room in the server that runs, else in one of its own until somebody stops it.
pub(super) async fn demo(demo: Demo) -> Result<Exit, Failure> {
    let typed = Typed {
        room: demo.room.name,
        names_data_dir: demo.common.places.data_dir.is_some(),
        format: demo.common.machine.format(),
    };
    for local in [LocalData::UseOnly, LocalData::Make] {
        let found = config::read(&demo.common.places, &ModelArgs::default(), local)?;
        if let Some(client) = running(&found.config).await {
            found.say_foreign();
            attach(&client, &typed.room).await?;
            show(&typed, client.relay_url(), &found)?;
            return Ok(Exit::Ok);
        }
    }
    let mut found = config::read(&demo.common.places, &ModelArgs::default(), LocalData::Make)?;
    found.config.port = demo.port.unwrap_or(found.config.port);
    if !found.config.relay.movie_rooms.contains(&typed.room) {
        found.config.relay.movie_rooms.push(typed.room.clone());
    }
    let invite = |url: &str, found: &Setup| show(&typed, relay_url(url), found);
    serve::run(found, invite).await
}

/// Gives a room the booking of a movie as its host.
async fn attach(client: &Client, room: &str) -> Result<(), Failure> {
    let path = format!("{ROOMS}/{}/host", segment(room));
    let kind = json!({ "kind": "movie" });
    client.post::<Value>(&path, &kind).await.map(drop)
}

fn show(typed: &Typed, url: String, found: &Setup) -> Result<(), Failure> {
    let Typed { room, format, .. } = typed;
    let token_file = match found.config.token {
        // It is in no file of ours.
        Some(_) => text::relay_cli::own_token_file().to_owned(),
        None => quoted(&found.config.data_dir.join("token")),
    };
    let name = quoted(room.as_ref());
    let place = if typed.names_data_dir {
        format!(
            "--room {name} --data-dir {}",
            quoted(&found.config.data_dir)
        )
    } else {
        format!("--room {name}")
    };
    let script = "python examples/relay-python/agent.py";
    let invitation = Invitation {
        room: room.clone(),
        python: format!("{script} --url {url} --room {name} --token-file {token_file}"),
        agent: format!("samovar relay agent {place}"),
        say: format!("samovar relay say {place} \"{WORDS}\""),
        click: format!("samovar relay do {place} select '{{\"itemId\": \"m2\"}}'"),
        url,
        token_file,
    };
    output::one(*format, "relay_demo", &invitation, |invitation| {
        text::relay_cli::invitation(
            &invitation.room,
            &invitation.url,
            &invitation.agent,
            &invitation.python,
            &invitation.say,
            &invitation.click,
        ) + "\n"
    })
}

/// A word as a shell takes it.
pub(super) fn quoted(word: &Path) -> String {
    let word = word.to_string_lossy();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
