//! `samovar serve`.

use samovar_core::Approval;
use samovar_server::{Config, Server};

use crate::args;
use crate::config::{self, LocalData};
use crate::exit::{Exit, Failure, say};
use crate::model::{self, Choice};
use crate::stop::Stop;

/// Serves until it is asked to stop; asked again, it stops at once.
pub(crate) async fn serve(args: args::Serve) -> Result<Exit, Failure> {
    let found = config::read(&args.places, args.model.clone(), LocalData::Make)?;
    let mut config = found.config;
    (config.host, config.port) = (args.host, args.port);
    config.settings.approval = Approval::from(args.approval);
    // Said in full below when there is none: sessions may still ask for a model that can be used.
    let chosen = model::choose(&config.providers, args.model.is_some());
    let mut stop = Stop::listen().map_err(|error| Failure::broken(&error))?;
    let server = Server::start(config.clone()).await?;
    say(&banner(&server, &config, &chosen));
    stop.asked().await;
    say("samovar: stopping; running turns get 10 s to end, ask again to stop at once");
    let home = server.home().engine().clone();
    tokio::select! {
        () = server.stop() => {}
        () = stop.asked() => home.shutdown(std::time::Duration::ZERO).await,
    }
    Ok(Exit::Ok)
}

fn banner(
    server: &Server,
    config: &Config,
    chosen: &Result<Choice, samovar_core::Error>,
) -> String {
    let model = match chosen {
        Ok(choice) => choice.line(),
        Err(error) => format!("model: none: {error}"),
    };
    let token = match config.token {
        Some(_) => "the one in SAMOVAR_TOKEN".to_owned(),
        None => format!("in {}", config.data_dir.join("token").display()),
    };
    let address = server.address();
    let (data, approval) = (config.data_dir.display(), config.settings.approval.as_str());
    let workspace = config.workspace.display();
    format!(
        "samovar listens on http://{address}\n\
         token: {token}\n\
         data: {data}\n\
         workspace: {workspace}\n\
         {model}\n\
         approval: {approval}"
    )
}
