//! The door: whom it lets in, what it lets through, and how long it waits.

mod cases;
mod cookies;
mod files;
mod logins;
mod named;
mod origins;
mod pages;
mod patience;
mod rate;
mod revoked;
mod tickets;
mod tokens;

use samovar_model_server::Rule;
use samovar_testkit::App;

const STATS: &str = "/services/agent/getStats";

/// A server whose model is never asked.
async fn app() -> App {
    App::start(Vec::<Rule>::new()).await
}

/// A route's path as a request whose answer ends: a stream without an end is refused for what it names
/// twice.
fn ending(path: &str) -> String {
    format!("{path}?after=none&after=none")
}
