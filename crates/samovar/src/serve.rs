//! `samovar serve`.

use std::time::Duration;

use samovar_core::{Approval, Error};
use samovar_server::Server;

use crate::args;
use crate::config::{self, Found, LocalData, ModelFrom};
use crate::exit::{Exit, Failure};
use crate::model::Choice;
use crate::screen::say;
use crate::stop::Stop;

/// How long the last words to clients and the last writes may take when the server is to stop at
/// once. What is not done by then is found by the next start, as after a kill.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// Serves until it is asked to stop; asked again, it stops at once.
pub(crate) async fn serve(args: args::Serve) -> Result<Exit, Failure> {
    let mut found = config::read(&args.common, LocalData::Make)?;
    (found.config.host, found.config.port) = config::address(&args)?;
    found.config.settings.approval = Approval::from(args.approval);
    let chosen = Choice::of(&found).await;
    if let (Err(error), ModelFrom::Flag | ModelFrom::Variable) = (&chosen, found.model_from) {
        return Err(error.clone().into());
    }
    let mut stop = Stop::listen()?;
    let server = tokio::select! {
        server = Server::start(found.config.clone()) => server?,
        () = stop.asked() => return Ok(Exit::Ok),
    };
    say(&banner(&server, &found, &chosen));
    stop.asked().await;
    let drain = found.config.drain.as_secs();
    say(&format!(
        "samovar: stopping; running turns get {drain} s to end, ask again to stop at once"
    ));
    let engine = server.home().engine().clone();
    let stopped = server.stop();
    tokio::pin!(stopped);
    tokio::select! {
        () = &mut stopped => return Ok(Exit::Ok),
        () = stop.asked() => {}
    }
    let at_once = async { tokio::join!(engine.shutdown(Duration::ZERO), stopped) };
    if tokio::time::timeout(LAST_MOMENT, at_once).await.is_err() {
        tracing::warn!("not everything was written out; the next start finds it");
    }
    Ok(Exit::Ok)
}

fn banner(server: &Server, found: &Found, chosen: &Result<Choice, Error>) -> String {
    let config = &found.config;
    let model = match chosen {
        Ok(choice) => choice.line(),
        // Sessions may still ask for one that can be used.
        Err(error) => format!("model: none, because {error}"),
    };
    let token = match config.token {
        Some(_) => "the one in SAMOVAR_TOKEN".to_owned(),
        None => format!("in {}", config.data_dir.join("token").display()),
    };
    let (address, data) = (server.address(), found.data_line());
    let (workspace, approval) = (
        config.workspace.display(),
        config.settings.approval.as_str(),
    );
    format!(
        "samovar listens on http://{address}\n\
         token: {token}\n\
         {data}\n\
         workspace: {workspace}\n\
         {model}\n\
         approval: {approval}"
    )
}
