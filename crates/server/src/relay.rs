//! The relay (spec 08): the socket on which external agents and hosts meet, and the owner's view of its
//! rooms and study logs.

mod logs;
mod rooms;
mod socket;

use axum::body::Body;
use axum::http::Response;
use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_relay::Pass;
use samovar_wire::agent::NoParams;
use samovar_wire::relay::{MAX_MESSAGE_BYTES, SOCKET_PATH, Spelled};

use crate::endpoint::{Call, Route, Scope};
use crate::tokens::Seat;

pub(crate) fn routes() -> Vec<Route> {
    let mut routes = vec![
        Route::following::<_, Spelled<'_>, _>(
            SOCKET_PATH.to_owned(),
            "Opens a WebSocket for an external agent or the host of a screen.",
            join,
        )
        .with_scope(Scope::Relay)
        .with_tickets(),
    ];
    routes.extend(rooms::routes());
    routes.extend(logs::routes());
    routes
}

async fn join(call: Call, _params: NoParams) -> Result<Response<Body>, Error> {
    // The hosts that are there from the start are there with it.
    call.engine().await?;
    let relaying = &call.shared.relaying;
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
        .asking_every(relaying.settings().ping_every)
        .accept(MAX_MESSAGE_BYTES, move |line| {
            socket::serve(line, relay.enter(pass))
        })
}
