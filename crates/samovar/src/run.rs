//! `samovar run`: one turn; and `samovar sessions resume`, one that had begun.

use std::io::{IsTerminal, Read};

use samovar_core::command::Text;
use samovar_core::{Code, Error, Image, SessionId};
use samovar_locale as text;
use tokio::time::Instant;

use crate::access::is_served;
use crate::answer::Person;
use crate::args;
use crate::calls::Extent;
use crate::config::{self, LocalData, Setup};
use crate::exit::{Exit, Failure};
use crate::images;
use crate::screen::say;
use crate::stop::Stop;
use crate::talk::message::message;
use crate::talk::{Talk, TurnEnd, farewell};
use crate::trusting;
use crate::view::View;

/// Bytes of a prompt from stdin, at most.
const MAX_PROMPT_BYTES: u64 = 1024 * 1024;

/// Bytes that a body has beside the prompt, at most.
const ROOM_FOR_PARAMS: usize = 1024;

/// Runs one turn and shows it. Asked to stop, it cancels the turn; asked again, it ends at once.
pub(crate) async fn run(args: args::Run) -> Result<Exit, Failure> {
    let prompt = Text::new(prompt(&args)?)?;
    check_delivery(&args)?;
    let images = images::read(&args.image)?;
    let found = config::read(&args.talk.places, &args.talk.who, LocalData::UseOnly)?;
    check_size(prompt.as_str(), found.config.server.max_body_bytes)?;
    if args.detach && !is_served(&found.config).await {
        return Err(Failure::usage(text::run::detached_alone()));
    }
    let what = TurnSource::Say(&prompt, images, args.delivery);
    let plan = Plan::new(&args.talk, &args.show, args.detach);
    Box::pin(turn(what, plan, &found)).await
}

/// Goes on with a turn that a stop of the server cut, and shows it as `run` does.
pub(crate) async fn resume(args: args::Resume) -> Result<Exit, Failure> {
    let talk = args::Talk {
        places: args.places,
        known: args::KnownSession {
            session: Some(args.id),
            ..args::KnownSession::default()
        },
        ..args::Talk::default()
    };
    let found = config::read(&talk.places, &talk.who, LocalData::UseOnly)?;
    let plan = Plan::new(&talk, &args.show, false);
    let shown = Box::pin(turn(TurnSource::Resume, plan, &found)).await;
    shown.map_err(|failure| {
        let code = Code::UnknownSession.as_str();
        if failure.code == code {
            // There is no --session here to be left out.
            Failure::new(Exit::Usage, code, text::client::session_unknown())
        } else {
            failure
        }
    })
}

/// What brings the turn that is shown.
enum TurnSource<'a> {
    Say(&'a Text, Vec<Image>, args::Delivery),
    Resume,
}

/// How the turn is run and shown.
#[derive(Clone, Copy)]
struct Plan<'a> {
    talk: &'a args::Talk,
    show: &'a args::Show,
    /// Whether its tasks in the background are left to the server.
    is_detached: bool,
    deadline: Option<Instant>,
}

impl<'a> Plan<'a> {
    fn new(talk: &'a args::Talk, show: &'a args::Show, is_detached: bool) -> Self {
        Self {
            talk,
            show,
            is_detached,
            deadline: show.timeout.map(|timeout| Instant::now() + timeout),
        }
    }
}

async fn turn(what: TurnSource<'_>, plan: Plan<'_>, found: &Setup) -> Result<Exit, Failure> {
    let Plan {
        talk: args,
        show,
        deadline,
        ..
    } = plan;
    let person = if show.no_input {
        Person::Absent
    } else {
        Person::find()
    };
    trusting::before_turns(found, args.trust, person != Person::Absent)?;
    let mut stop = Stop::listen()?;
    let mut talk = match Box::pin(Talk::enter(args, found, person, &mut stop, deadline)).await? {
        Ok(talk) => talk,
        Err(left) => return Ok(farewell(&left)),
    };
    talk.say_model(args.verbose);
    found.warn_before_turns();
    found.say_data(args.verbose);
    if talk.is_first {
        found.say_earlier(false);
    }
    if args.verbose {
        say(&text::run::session(&talk.session.id));
    }
    let shown = show_all(what, plan, &mut talk, &mut stop).await;
    tokio::select! {
        () = talk.leave() => {}
        () = stop.asked_or_alone() => {}
    }
    shown
}

/// Shows the turn, and what it leaves at work until that is over, unless a server has it.
async fn show_all(
    what: TurnSource<'_>,
    plan: Plan<'_>,
    talk: &mut Talk,
    stop: &mut Stop,
) -> Result<Exit, Failure> {
    let extent = Extent::of(plan.talk.verbose);
    let make = |session: &SessionId| View::new(plan.show.output, extent, session);
    let mut view = make(&talk.session.id);
    let left = match what {
        TurnSource::Say(text, images, delivery) => {
            talk.attached = images;
            let message = message(talk, text, delivery);
            talk.say(message, &mut view, stop, plan.deadline).await
        }
        TurnSource::Resume => talk.resume(&mut view, stop, plan.deadline).await,
    };
    let left = match left {
        Ok(left) => {
            view.end_stream(text::run::stream_left())?;
            left
        }
        Err(failure) => {
            // Why it failed is said either way.
            let _written = view.end_stream(&failure.message);
            return Err(failure);
        }
    };
    let mut stayed = Ok(Vec::new());
    if view.has_spawned() {
        match &left {
            _ if plan.is_detached => talk.say_left().await?,
            TurnEnd::Ended(_) => {
                stayed = talk.stay(view.turn(), make, stop, plan.deadline).await;
            }
            _ => talk.stop_tasks().await,
        }
    }
    let (followed, failure) = match stayed {
        Ok(followed) => (followed, None),
        Err(failure) => (Vec::new(), Some(failure)),
    };
    let (mut views, ends): (Vec<_>, Vec<_>) = followed.into_iter().unzip();
    view.put_document(&mut views)?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    let ends: Vec<_> = std::iter::once(left).chain(ends).collect();
    if plan.talk.verbose {
        let tokens: u64 = ends.iter().map(TurnEnd::tokens).sum();
        say(&text::run::tokens(tokens));
    }
    let mut exits = ends.iter().map(farewell);
    let first = exits.next().unwrap_or(Exit::Ok);
    Ok(exits.fold(
        first,
        |worse, next| if worse == Exit::Ok { next } else { worse },
    ))
}

/// What joins another turn can set nothing for its own.
fn check_delivery(args: &args::Run) -> Result<(), Failure> {
    let talk = &args.talk;
    let sets_bounds = talk.approval.is_some()
        || talk.max_iterations.is_some()
        || !talk.budget.budget().is_empty();
    if args.delivery == args::Delivery::Steer && sets_bounds {
        return Err(Failure::usage(text::run::steers_with_bounds()));
    }
    Ok(())
}

/// What the server would not take as a body is refused before anything is made.
fn check_size(prompt: &str, max_body_bytes: usize) -> Result<(), Failure> {
    let spelled = serde_json::to_string(prompt).map_err(|error| Failure::broken(&error))?;
    if spelled.len() + ROOM_FOR_PARAMS <= max_body_bytes {
        return Ok(());
    }
    let why = text::run::prompt_too_large(max_body_bytes - ROOM_FOR_PARAMS);
    Err(Error::new(Code::BodyTooLarge, why).into())
}

fn prompt(args: &args::Run) -> Result<String, Failure> {
    if args.prompt != "-" {
        return Ok(args.prompt.clone());
    }
    if std::io::stdin().is_terminal() {
        if args.show.no_input {
            return Err(Failure::usage(text::run::no_stdin()));
        }
        say(text::run::reading_stdin());
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin()
        .take(MAX_PROMPT_BYTES + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(text::run::stdin_unreadable(error)))?;
    if bytes.len() as u64 > MAX_PROMPT_BYTES {
        let why = text::run::prompt_too_large(MAX_PROMPT_BYTES);
        return Err(Error::new(Code::BodyTooLarge, why).into());
    }
    String::from_utf8(bytes).map_err(|_| Failure::usage(text::run::prompt_not_text()))
}
