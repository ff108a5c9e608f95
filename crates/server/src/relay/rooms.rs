//! The rooms of the relay: which there are, and what the person does at a host of the server's own.

use samovar_core::Error;
use samovar_core::relay::PersonDeed;
use samovar_relay::{HostKind, RoomInfo};
use samovar_wire::agent::NoParams;
use samovar_wire::api::{
    AttachHostParams, BASE_PATH, BuiltInHost, PersonDoesParams, PersonSaysParams, RelayHost,
    RelayRoomInfo,
};

use crate::endpoint::{Call, Route, Scope, Verb};

pub(super) fn routes() -> Vec<Route> {
    let at = |path: &str| format!("{BASE_PATH}/relay/rooms{path}");
    vec![
        Route::answering(
            &[Verb::Get],
            Scope::Read,
            at(""),
            "Returns the rooms of the relay.",
            rooms,
        ),
        Route::answering(
            &[Verb::Post],
            Scope::Admin,
            at("/{room}/host"),
            "Attaches a built-in host to a room of the relay.",
            attach,
        ),
        Route::answering(
            &[Verb::Post],
            Scope::Use,
            at("/{room}/say"),
            "Sends a message as the person at a built-in host.",
            say,
        ),
        Route::answering(
            &[Verb::Post],
            Scope::Use,
            at("/{room}/do"),
            "Calls a tool as the person at a built-in host.",
            act,
        ),
    ]
}

async fn rooms(call: Call, _params: NoParams) -> Result<Vec<RelayRoomInfo>, Error> {
    call.engine().await?;
    let rooms = call.shared.relaying.relay.rooms();
    Ok(rooms.into_iter().map(shown).collect())
}

fn shown(room: RoomInfo) -> RelayRoomInfo {
    RelayRoomInfo {
        room: room.room,
        host: room.host.map(|host| match host {
            HostKind::Socket => RelayHost::Socket,
            HostKind::BuiltIn => RelayHost::BuiltIn,
        }),
        agents: room.agents as u64,
        study: room.study,
    }
}

async fn attach(call: Call, params: AttachHostParams) -> Result<(), Error> {
    call.engine().await?;
    let room = call.segment("room");
    match params.kind {
        BuiltInHost::Movie => call.shared.relaying.attach_movie(room),
        BuiltInHost::Tools => call.shared.relaying.attach_tools(room),
    }
}

async fn say(call: Call, params: PersonSaysParams) -> Result<(), Error> {
    person(call, PersonDeed::Says(params.text)).await
}

async fn act(call: Call, params: PersonDoesParams) -> Result<(), Error> {
    let PersonDoesParams {
        tool_name: tool,
        params,
    } = params;
    person(call, PersonDeed::Calls { tool, params }).await
}

async fn person(call: Call, deed: PersonDeed) -> Result<(), Error> {
    call.engine().await?;
    let relay = &call.shared.relaying.relay;
    relay.person(call.segment("room"), &deed)
}
