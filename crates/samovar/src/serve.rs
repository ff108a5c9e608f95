//! `samovar serve`.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use samovar_core::{Broken, Error, Models};
use samovar_locale as text;
use samovar_server::{Address, Config, Level, Server, StartError, models, try_sandbox};
use samovar_wire::api::ModelChoice;
use tokio::time::Instant;

use crate::access::{LOOK_EVERY, PATIENCE};
use crate::args;
use crate::browser;
use crate::checkup::Checkup;
use crate::config::{self, LocalData, Setup};
use crate::exit::{Exit, Failure};
use crate::model;
use crate::reboot::Reboot;
use crate::screen::say;
use crate::stop::Stop;
use crate::stores::is_begun;
use crate::trusting;

/// How long the last words to clients and the last writes may take when the server is to stop at
/// once. What is not done by then is found by the next start, as after a kill.
const LAST_MOMENT: Duration = Duration::from_secs(1);

/// How long it may take to decide about the turns that the run before left, before it is said that
/// this takes longer.
const SETTLES: Duration = Duration::from_secs(5);

/// Serves until it is asked to stop; asked again, it stops at once.
pub(crate) async fn serve(args: args::Serve) -> Result<Exit, Failure> {
    if args.with_parent {
        let killed = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
        killed.map_err(|error| Failure::broken(&error))?;
    }
    let mut found = config::read(&args.places, &args.who, LocalData::Make)?;
    found.config.server.host = args.host.unwrap_or(found.config.server.host);
    found.config.server.port = args.port.unwrap_or(found.config.server.port);
    found.config.server.behind_proxy |= args.behind_proxy;
    if let Some(level) = args.approval {
        found.config.settings.approval = level.into();
    }
    found.config.page = !args.page.no_ui;
    let checkup = Checkup::of(&found, &args.places, &args.who);
    found.config.examiner = Some(Arc::new(checkup));
    let is_new = config::booted_again().is_none();
    trusting::before_turns(&found, args.trust, is_new)?;
    let is_shown = args.page.open && is_new;
    let show = |server: &Server, _: &Setup| {
        if is_shown && !server.login_link().is_some_and(|link| browser::show(&link)) {
            say(text::serve::no_browser());
        }
        Ok(())
    };
    Box::pin(run(found, show)).await
}

/// Serves what was found until it is asked to stop; asked again, it stops at once. `greet` says
/// what is to be said after the banner, of the server that listens.
pub(crate) async fn run(
    mut found: Setup,
    greet: impl Fn(&Server, &Setup) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    found.check_workspace()?;
    let again = Reboot::begin();
    check_left(&again, &found.config)?;
    found.note_folder();
    found.config.server.port = again.port(found.config.server.port);
    if let (Some(name), true) = (found.registry.asked(), found.model_from.is_somebody()) {
        found.registry.find(name).await?;
    }
    found.config.restarts = true;
    let mut stop = Stop::listen()?;
    let mut is_first = true;
    loop {
        let started = tokio::select! {
            started = start(&found.config) => started,
            () = stop.asked() => return Ok(Exit::Ok),
        };
        let server = match started {
            Ok(server) => server,
            // A store, or a port that somebody holds who knocked at it, may take a moment longer.
            Err(error)
                if again.is_again()
                    && (error.code() == "store_unusable"
                        || matches!(error, StartError::Listen { .. })) =>
            {
                return again.boot(&error, &found.config, &mut stop).await;
            }
            Err(error) => return Err(error.into()),
        };
        if is_first {
            let chosen = models::choice(&found.registry).await;
            found.warn_before_turns();
            let kept = server.home().engine().totals().await;
            found.say_earlier(kept.is_ok_and(|kept| kept.sessions == 0));
            say(&banner(&server, &found, &chosen));
            say_bounds(&found.config);
            say_sandbox(&found.config).await;
            greet(&server, &found)?;
            is_first = false;
        }
        let why = until_end(&server, &mut stop).await;
        // Who knew where it was finds it there again.
        found.config.server.port = server.address().port();
        let drain = found.config.server.drain.as_secs();
        match &why {
            StopReason::Failed(broken) => {
                give_up(server).await;
                return again.boot(broken, &found.config, &mut stop).await;
            }
            StopReason::Restart => say(&text::serve::beginning_anew(drain)),
            StopReason::Asked => say(&text::serve::stopping(drain)),
        }
        if end(server, &mut stop).await == StopResult::AtOnce || matches!(why, StopReason::Asked) {
            return Ok(Exit::Ok);
        }
    }
}

/// Says where commands are held by less than the whole sandbox.
async fn say_sandbox(config: &Config) {
    let config = config.clone();
    let tried = tokio::task::spawn_blocking(move || try_sandbox(&config)).await;
    match tried {
        Ok(Some((_, Err(why)))) => say(&text::serve::exec_off(why)),
        Ok(Some((level, Ok(())))) if level != Level::Namespaces => {
            say(&text::serve::exec_weaker(level.as_str()));
        }
        Ok(_) | Err(_) => {}
    }
}

/// Refuses to make what a failed run has lost: its whole data directory. What `run.json` tells of,
/// the start refuses.
fn check_left(again: &Reboot, config: &Config) -> Result<(), Failure> {
    let dir = &config.data_dir;
    if again.is_again() && !is_begun(dir) && !dir.join("run.json").exists() {
        let why = text::serve::data_dir_gone(text::quoted(dir));
        return Err(Failure::new(Exit::Configuration, "data_dir_unusable", why));
    }
    Ok(())
}

/// Why a server is to end.
enum StopReason {
    /// A person, or what started it, asked.
    Asked,
    /// It has something to start over with.
    Restart,
    /// A store failed for good.
    Failed(Broken),
}

/// Waits until the server is to end.
async fn until_end(server: &Server, stop: &mut Stop) -> StopReason {
    let ending = async {
        tokio::select! {
            () = stop.asked() => StopReason::Asked,
            () = server.restart_asked() => StopReason::Restart,
            broken = server.home().failed() => StopReason::Failed(broken),
        }
    };
    tokio::pin!(ending);
    tokio::select! {
        () = say_recovered(server) => ending.await,
        why = &mut ending => why,
    }
}

/// Ends a server whose store failed, as far as that store lets it.
async fn give_up(server: Server) {
    let stopped = tokio::time::timeout(LAST_MOMENT, server.stop_now()).await;
    if stopped.is_err() {
        tracing::warn!("the failed store does not close; the new start does without");
    }
}

/// How a server ended.
#[derive(PartialEq, Eq)]
enum StopResult {
    InItsTime,
    AtOnce,
}

/// Gives turns their time to end; asked to stop meanwhile, it stops at once.
async fn end(server: Server, stop: &mut Stop) -> StopResult {
    let hurry = server.home().hurry();
    let stopped = server.stop();
    tokio::pin!(stopped);
    tokio::select! {
        () = &mut stopped => return StopResult::InItsTime,
        () = stop.asked() => {}
    }
    let at_once = async { tokio::join!(hurry, stopped) };
    if tokio::time::timeout(LAST_MOMENT, at_once).await.is_err() {
        tracing::warn!("not everything was written out; the next start finds it");
    }
    StopResult::AtOnce
}

/// Says what became of the turns that the run before left.
async fn say_recovered(server: &Server) {
    let engine = server.home().engine();
    let Ok(found) = tokio::time::timeout(SETTLES, engine.settled()).await else {
        return say(text::serve::recovering());
    };
    let waiting = found.waiting.len() as u64;
    if found.continued + found.ended + waiting > 0 {
        say(&text::serve::recovered(
            found.continued,
            found.ended,
            waiting,
            found.unknown_calls,
        ));
    }
}

/// Says what there is less of than was configured, because file descriptors are short.
fn say_bounds(config: &Config) {
    let budget = config.budget();
    let asking = config.settings.asking_at_once;
    if budget.connections < config.server.max_connections || budget.asking < asking {
        let (connections, asking) = (budget.connections as u64, budget.asking.min(asking) as u64);
        say(&if budget.connections < config.server.max_connections {
            text::serve::descriptors(budget.limit, connections, asking)
        } else {
            text::serve::descriptors_turns(budget.limit, asking)
        });
    }
}

/// Starts the server. A command that holds the data directory for a moment is waited for; one that
/// lets others in stays.
async fn start(config: &Config) -> Result<Server, StartError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match Server::start(config.clone()).await {
            Err(StartError::Open(held))
                if held.code() == "data_dir_busy"
                    && Address::read(&config.data_dir).is_none()
                    && Instant::now() < until =>
            {
                tokio::time::sleep(LOOK_EVERY).await;
            }
            started => return started,
        }
    }
}

fn banner(server: &Server, found: &Setup, chosen: &Result<ModelChoice, Error>) -> String {
    let config = &found.config;
    let model = match chosen {
        Ok(choice) => model::line(choice, found),
        // Sessions may still ask for one that can be used.
        Err(error) => text::serve::model_none(error),
    };
    let token = match config.token {
        Some(_) => text::serve::token_named(&found.token_from),
        None => text::serve::token_in_file(config.data_dir.join("token").display()),
    };
    let page = match server.login_link() {
        Some(link) => text::serve::page_at(link),
        None => text::serve::page_off().to_owned(),
    };
    let listens = text::serve::listens(server.address(), page);
    let banner = text::serve::banner(
        token,
        found.data_line(),
        config.workspace.display(),
        model,
        config.settings.approval.as_str(),
    );
    format!("{listens}\n{banner}")
}
