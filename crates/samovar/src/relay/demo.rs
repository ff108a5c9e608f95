//! `samovar relay demo`: a room with the booking of a movie as its screen, and how to join it.

use samovar_locale as text;
use samovar_server::Server;
use serde::Serialize;
use serde_json::{Value, json};

use super::ROOMS;
use crate::access::running;
use crate::args::{Demo, DirArgs, ModelArgs};
use crate::client::{Client, relay_url, segment};
use crate::config::{self, LocalData, Setup};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::screen::shell_word;
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

/// The room and the data directory of this command, for the next one to name.
pub(super) fn place(room: &str, places: &DirArgs, found: &Setup) -> String {
    let room = shell_word(room.as_ref());
    match places.data_dir {
        // It is found by its name alone.
        Some(_) => {
            let dir = shell_word(&found.config.data_dir);
            format!("--room {room} --data-dir {dir}")
        }
        None => format!("--room {room}"),
    }
}

/// Opens the room in the server that runs, else in one of its own until somebody stops it.
pub(super) async fn demo(demo: Demo) -> Result<Exit, Failure> {
    for local in [LocalData::UseOnly, LocalData::Make] {
        let found = config::read(&demo.common.places, &ModelArgs::default(), local)?;
        if let Some(client) = running(&found.config).await {
            found.say_foreign();
            attach(&client, &demo.room.name).await?;
            show(&demo, client.relay_url(), &found)?;
            return Ok(Exit::Ok);
        }
    }
    let mut found = config::read(&demo.common.places, &ModelArgs::default(), LocalData::Make)?;
    found.config.server.port = demo.port.unwrap_or(found.config.server.port);
    if !found.config.relay.movie_rooms.contains(&demo.room.name) {
        found.config.relay.movie_rooms.push(demo.room.name.clone());
    }
    let invite = |server: &Server, found: &Setup| show(&demo, relay_url(server.url()), found);
    Box::pin(serve::run(found, invite)).await
}

/// Gives a room the booking of a movie as its host.
async fn attach(client: &Client, room: &str) -> Result<(), Failure> {
    let path = format!("{ROOMS}/{}/host", segment(room));
    let kind = json!({ "kind": "movie" });
    client.post::<Value>(&path, &kind).await.map(drop)
}

fn show(demo: &Demo, url: String, found: &Setup) -> Result<(), Failure> {
    let room = &demo.room.name;
    let token_file = match found.config.token {
        // It is in no file of ours.
        Some(_) => text::relay_cli::own_token_file().to_owned(),
        None => shell_word(&found.config.data_dir.join("token")),
    };
    let name = shell_word(room.as_ref());
    let place = place(room, &demo.common.places, found);
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
    output::one(
        demo.common.machine.format(),
        "relay_demo",
        &invitation,
        |invitation| {
            text::relay_cli::invitation(
                &invitation.room,
                &invitation.url,
                &invitation.agent,
                &invitation.python,
                &invitation.say,
                &invitation.click,
            ) + "\n"
        },
    )
}
