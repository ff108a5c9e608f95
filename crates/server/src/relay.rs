//! The relay (spec 08): the socket on which external agents and hosts meet, and the owner's view of its
//! rooms and study logs.

mod logs;
mod socket;

use axum::body::Body;
use axum::http::Response;
use samovar_core::relay::{PersonDeed, RoomInfo};
use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_relay::Pass;
use samovar_wire::agent::NoParams;
use samovar_wire::api::{
    AttachHostParams, BASE_PATH, BuiltInHost, PersonDoesParams, PersonSaysParams,
};
use samovar_wire::relay::{MAX_MESSAGE_BYTES, SOCKET_PATH, Spelled};

use crate::endpoint::Verb;
use crate::relaying::{Call, Endpoint};
use crate::tokens::{Scope, Seat};

pub(crate) fn routes() -> Vec<Endpoint> {
    let mut routes = vec![
        Endpoint::following::<_, Spelled<'_>, _>(
            SOCKET_PATH.to_owned(),
            "Opens a WebSocket for an external agent or the host of a screen.",
            join,
        )
        .with_scope(Scope::Relay)
        .with_tickets(),
    ];
    routes.extend(rooms());
    routes.extend(logs::routes());
    routes
}

async fn join(call: Call, _params: NoParams) -> Result<Response<Body>, Error> {
    // The hosts that are there from the start are there with it.
    call.engine().await?;
    let relaying = &call.state;
    let pass = match call.by.seat {
        Some(Seat { room, role }) => Pass::Only { room, role },
        None => Pass::Any,
    };
    let upgrade = call.upgrade.ok_or_else(|| {
        let why = locale::request::only_websocket(SOCKET_PATH);
        Error::new(Code::InvalidParams, why)
    })?;
    let relay = relaying.relay.clone();
    upgrade
        .asking_every(relaying.ping_every())
        .accept(MAX_MESSAGE_BYTES, move |line| {
            socket::serve(line, relay.enter(pass))
        })
}

/// The rooms: which there are, and what the person does at a host of the server's own.
fn rooms() -> Vec<Endpoint> {
    let at = |path: &str| format!("{BASE_PATH}/relay/rooms{path}");
    vec![
        Endpoint::showing(at(""), "Returns the rooms of the relay.", list),
        Endpoint::answering(
            &[Verb::Post],
            Scope::Admin,
            at("/{room}/host"),
            "Attaches a built-in host to a room of the relay.",
            attach,
        ),
        Endpoint::changing(
            at("/{room}/say"),
            "Sends a message as the person at a built-in host.",
            say,
        ),
        Endpoint::changing(
            at("/{room}/do"),
            "Calls a tool as the person at a built-in host.",
            act,
        ),
    ]
}

async fn list(call: Call, _params: NoParams) -> Result<Vec<RoomInfo>, Error> {
    call.engine().await?;
    Ok(call.state.relay.rooms())
}

async fn attach(call: Call, params: AttachHostParams) -> Result<(), Error> {
    call.engine().await?;
    let room = call.segment("room");
    match params.kind {
        BuiltInHost::Movie => call.state.attach_movie(room),
        BuiltInHost::Tools => call.state.attach_tools(room),
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
    let relay = &call.state.relay;
    relay.person(call.segment("room"), &deed)
}
