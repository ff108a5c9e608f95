//! `samovar open`.

use samovar_core::Code;
use samovar_locale as text;
use samovar_wire::api::{LoginLink, LoginLinkParams};
use serde::Serialize;

use crate::access::running;
use crate::args::{self, ModelArgs};
use crate::browser;
use crate::client::Client;
use crate::config::{self, LocalData};
use crate::exit::{Exit, Failure};
use crate::output::{self, Format};
use crate::screen::say;

/// What became of a link.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answer {
    url: String,
    expires_in_ms: u64,
    opened: bool,
}

/// Gets a login link from the server that runs, and opens it in the browser.
pub(crate) async fn open(args: args::Open) -> Result<Exit, Failure> {
    let params = LoginLinkParams {
        name: None,
        scope: args.scope.clone(),
    };
    let client = server(&args).await?;
    let made = client.post("/api/login-links", &params).await;
    let link: LoginLink = made.map_err(|failure: Failure| {
        if failure.code == Code::PageOff.as_str() {
            Failure::new(failure.exit, failure.code, text::open::page_off())
        } else {
            failure
        }
    })?;
    let answer = Answer {
        opened: !args.print && browser::show(&link.url),
        url: link.url,
        expires_in_ms: link.expires_in_ms,
    };
    let format = args.common.machine.format();
    if format == Format::Text && answer.opened {
        say(text::open::opened());
        return Ok(Exit::Ok);
    }
    if format == Format::Text && !args.print {
        say(text::open::no_browser());
    }
    output::one(format, "login_link", &answer, |link| {
        link.url.clone() + "\n"
    })?;
    Ok(Exit::Ok)
}

/// The server that runs here.
async fn server(args: &args::Open) -> Result<Client, Failure> {
    for local in [LocalData::UseOnly, LocalData::Make] {
        let found = config::read(&args.common.places, &ModelArgs::default(), local)?;
        if let Some(client) = running(&found.config).await {
            found.say_foreign();
            return Ok(client);
        }
    }
    let why = text::open::no_server();
    Err(Failure::new(Exit::Busy, "server_unreachable", why))
}
