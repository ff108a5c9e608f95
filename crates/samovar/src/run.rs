//! `samovar run`: one turn, here.

use std::io::{IsTerminal, Read};
use std::sync::Arc;

use samovar_core::command::Text;
use samovar_core::{
    Accepted, Action, Approval, Bounds, Code, Command, Error, Event, Sender, SessionId, TurnId,
};
use samovar_engine::{Engine, Follower, Recovery};
use samovar_server::Home;
use serde_json::Map;

use crate::args;
use crate::config::{self, Found, LocalData};
use crate::exit::{Exit, Failure, complaint};
use crate::model::Choice;
use crate::screen::{Reader, say};
use crate::stop::Stop;
use crate::view::{Ending, View};

/// Bytes of a prompt from stdin, at most: what the server takes in a body.
const MAX_PROMPT_BYTES: u64 = 1024 * 1024;

/// What is to be said, and where.
struct Task {
    found: Found,
    session: Session,
    text: Text,
    is_verbose: bool,
}

/// The session of the turn.
enum Session {
    /// A new one, with this model.
    New(Choice),
    /// One that is there.
    Known(SessionId),
}

/// Why the turn is no longer watched.
enum Left {
    /// It is over.
    Ended(Ending),
    /// Somebody asked the program to stop.
    Asked,
    /// Nobody reads its text any more.
    Unread,
}

/// Runs one turn and shows it. Asked to stop, it cancels the turn; asked again, it ends at once.
pub(crate) async fn run(args: args::Run) -> Result<Exit, Failure> {
    let text = Text::new(prompt(&args.prompt)?)?;
    let mut found = config::read(&args.common, LocalData::UseOnly)?;
    found.config.settings.approval = Approval::from(args.approval);
    // What others asked a server for, in another folder or at another level, is not for this run.
    found.config.settings.recovery = Recovery::UsedSessions;
    found.config.settings.limits.max_iterations = args.max_iterations;
    let session = match &args.session {
        Some(id) => Session::Known(SessionId::new(id)?),
        None => Session::New(Choice::of(&found).await?),
    };
    let task = Task {
        found,
        session,
        text,
        is_verbose: args.verbose,
    };
    let mut stop = Stop::listen()?;
    let home = tokio::select! {
        home = Home::open(&task.found.config) => home?,
        () = stop.asked() => return Ok(Exit::Interrupted),
    };
    let exit = converse(&home, task, &mut stop).await;
    tokio::select! {
        () = close(home, &exit) => {}
        () = stop.asked() => {}
    }
    exit
}

fn prompt(given: &str) -> Result<String, Failure> {
    if given != "-" {
        return Ok(given.to_owned());
    }
    if std::io::stdin().is_terminal() {
        say("samovar: reading the prompt from stdin; end it with Ctrl-D");
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin()
        .take(MAX_PROMPT_BYTES + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(format!("stdin cannot be read: {error}")))?;
    if bytes.len() as u64 > MAX_PROMPT_BYTES {
        let why = format!("the prompt is larger than {MAX_PROMPT_BYTES} bytes; put it into a file");
        return Err(Error::new(Code::BodyTooLarge, why).into());
    }
    String::from_utf8(bytes).map_err(|_| Failure::usage("the prompt is not UTF-8"))
}

/// A turn that ended by itself leaves time to those that an earlier process left in its session.
async fn close(home: Home, exit: &Result<Exit, Failure>) {
    match exit {
        Ok(Exit::Interrupted) | Err(_) => home.close_now().await,
        Ok(_) => home.close().await,
    }
}

async fn converse(home: &Home, task: Task, stop: &mut Stop) -> Result<Exit, Failure> {
    let (session, choice) = enter(home, &task).await?;
    say(&choice.line());
    if task.is_verbose || task.found.is_data_elsewhere {
        say(&task.found.data_line());
    }
    if task.is_verbose {
        say(&format!("session: {session}"));
    }
    let engine = home.engine();
    let (turn, follower) = post(engine, &session, task.text).await?;
    let mut view = View::new();
    match watch(follower, &turn, &mut view, stop).await {
        Ok(Left::Ended(ending)) => {
            if task.is_verbose {
                say(&format!("tokens: {}", ending.tokens));
            }
            Ok(ending.exit)
        }
        Ok(Left::Asked) => {
            view.end_line()?;
            cancel(engine, &session, turn, stop).await?;
            let why = "the turn was stopped; what was finished is kept";
            say(&complaint(why, "cancelled"));
            Ok(Exit::Interrupted)
        }
        Ok(Left::Unread) => cancel(engine, &session, turn, stop)
            .await
            .map(|()| Exit::Ok),
        Err(failure) => cancel(engine, &session, turn, stop).await.and(Err(failure)),
    }
}

/// The session, made if it is to be new, and the model that answers in it.
async fn enter(home: &Home, task: &Task) -> Result<(SessionId, Choice), Failure> {
    match &task.session {
        Session::New(choice) => {
            let session = Home::fresh_session();
            let open = Action::Open {
                model: Some(choice.name.clone()),
                metadata: Map::new(),
            };
            submit(home.engine(), &session, open).await?;
            Ok((session, choice.clone()))
        }
        Session::Known(session) => {
            let row = home.engine().session(session).await.map_err(missing)?;
            let choice = Choice::of_session(home.models(), row.model, &task.found)?;
            Ok((session.clone(), choice))
        }
    }
}

/// What to do about a session that is not there, at this command line.
fn missing(error: Error) -> Error {
    match error.code {
        Code::UnknownSession => {
            let why = "there is no such session here; leave --session out to begin a new one";
            Error::new(Code::UnknownSession, why)
        }
        _ => error,
    }
}

async fn post(
    engine: &Engine,
    session: &SessionId,
    text: Text,
) -> Result<(TurnId, Follower), Failure> {
    let post = Action::Post {
        message: None,
        text,
        bounds: Bounds::default(),
    };
    let Accepted::Posted { turn, after, .. } = submit(engine, session, post).await? else {
        return Err(Failure::broken(&"the message was not taken as one"));
    };
    Ok((turn, engine.follow(session, after).await?))
}

/// Shows the turn while it runs.
async fn watch(
    mut follower: Follower,
    turn: &TurnId,
    view: &mut View,
    stop: &mut Stop,
) -> Result<Left, Failure> {
    loop {
        let events = tokio::select! {
            events = follower.next() => events.map_err(|lost| Failure::broken(&lost))?,
            () = stop.asked() => return Ok(Left::Asked),
        };
        let ours = |event: &&Arc<Event>| event.turn.as_ref() == Some(turn);
        for event in events.iter().filter(ours) {
            if let Some(ending) = view.show(event)? {
                return Ok(Left::Ended(ending));
            }
        }
        if view.reader() == Reader::Gone {
            return Ok(Left::Unread);
        }
    }
}

/// Ends the turn; asked to stop meanwhile, it leaves that to the next start.
async fn cancel(
    engine: &Engine,
    session: &SessionId,
    turn: TurnId,
    stop: &mut Stop,
) -> Result<(), Failure> {
    let cancel = Action::Cancel { turn: Some(turn) };
    tokio::select! {
        cancelled = submit(engine, session, cancel) => cancelled.map(drop),
        () = stop.asked() => Ok(()),
    }
}

async fn submit(engine: &Engine, session: &SessionId, action: Action) -> Result<Accepted, Failure> {
    let command = Command {
        by: Sender::CommandLine,
        session: session.clone(),
        action,
    };
    Ok(engine.submit(command).await?)
}
