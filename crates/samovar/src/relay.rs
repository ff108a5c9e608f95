//! `samovar relay`: the rooms of a running server, as the person at a screen, and the study logs.

mod agent;
mod csv;
mod demo;
mod logs;
mod replay;
mod socket;

use samovar_core::command::Text;
use samovar_core::relay::{HostKind, RoomInfo};
use samovar_locale as text;
use serde_json::{Value, json};

use crate::access::running;
use crate::args::{Common, ModelArgs, Relay};
use crate::chat_global::spoken;
use crate::client::{Client, segment};
use crate::config::{self, LocalData, Setup};
use crate::exit::{Exit, Failure};
use crate::output::{self, Format, table};
use crate::screen::say;

/// Where the rooms are.
const ROOMS: &str = "/api/relay/rooms";

/// Runs one of the commands.
pub(crate) async fn relay(command: Relay) -> Result<Exit, Failure> {
    match command {
        Relay::Demo(demo) => Box::pin(demo::demo(demo)).await,
        Relay::Agent(join) => agent::agent(join).await,
        Relay::Rooms { common } => rooms(&common).await,
        Relay::Say { text, room, common } => {
            let said = Text::new(spoken(&text)?)?;
            let params = json!({ "text": said.as_str().trim() });
            check_agent(&common, &room.name).await?;
            act(&common, &room.name, "say", &params).await
        }
        Relay::Do {
            tool,
            params,
            room,
            common,
        } => {
            let params = object(&params)?;
            let params = json!({ "toolName": tool, "params": params });
            act(&common, &room.name, "do", &params).await
        }
        Relay::Logs(logs) => Box::pin(logs::logs(logs)).await,
        Relay::Replay { file, machine } => replay::replay(&file, machine.format()),
    }
}

/// The JSON object that was typed.
fn object(typed: &str) -> Result<Value, Failure> {
    let value: Value = serde_json::from_str(typed)
        .map_err(|error| Failure::usage(text::tools::args_not_json(error)))?;
    if value.is_object() {
        return Ok(value);
    }
    Err(Failure::usage(text::tools::args_no_object()))
}

fn found(common: &Common) -> Result<Setup, Failure> {
    let found = config::read(&common.places, &ModelArgs::default(), LocalData::UseOnly)?;
    found.say_foreign();
    Ok(found)
}

/// The server whose rooms they are.
async fn server(found: &Setup) -> Result<Client, Failure> {
    running(&found.config).await.ok_or_else(|| {
        let why = text::relay_cli::no_server(found.config.data_dir.display());
        Failure::new(Exit::Busy, "server_unreachable", why)
    })
}

/// The rooms that there are.
async fn rooms(common: &Common) -> Result<Exit, Failure> {
    let client = server(&found(common)?).await?;
    let rooms: Vec<RoomInfo> = client.get(ROOMS).await?;
    let format = common.machine.format();
    if rooms.is_empty() && format == Format::Text {
        say(text::relay_cli::no_rooms());
    }
    output::list(format, "relay_room", &rooms, |rooms| {
        table(&rooms.iter().map(row).collect::<Vec<_>>())
    })?;
    Ok(Exit::Ok)
}

fn row(room: &RoomInfo) -> Vec<String> {
    let host = match room.host {
        Some(HostKind::BuiltIn) => text::relay_cli::host_built_in(),
        Some(HostKind::Socket) => text::relay_cli::host_socket(),
        None => text::relay_cli::host_none(),
    };
    let agents = text::relay_cli::agents(room.agents);
    let study = room.study.clone().unwrap_or_default();
    vec![room.room.clone(), host.to_owned(), agents, study]
}

/// Refuses to speak in a room where no agent hears it.
async fn check_agent(common: &Common, room: &str) -> Result<(), Failure> {
    let found = found(common)?;
    let rooms: Vec<RoomInfo> = server(&found).await?.get(ROOMS).await?;
    let is_empty = |known: &RoomInfo| known.room == room && known.agents == 0;
    if !rooms.iter().any(is_empty) {
        return Ok(());
    }
    let place = demo::place(room, &common.places, &found);
    let why = text::relay_cli::no_agent(place);
    Err(Failure::new(Exit::Busy, "no_agent", why))
}

/// Does something in a room as the person at its screen.
async fn act(common: &Common, room: &str, deed: &str, params: &Value) -> Result<Exit, Failure> {
    let client = server(&found(common)?).await?;
    let path = format!("{ROOMS}/{}/{deed}", segment(room));
    // It has nothing to say but that it was done.
    let _done: Value = client.post(&path, params).await?;
    let answer = json!({ "room": room, "done": true });
    output::one(common.machine.format(), "relay_done", &answer, |_| {
        text::relay_cli::done(room) + "\n"
    })?;
    Ok(Exit::Ok)
}
