//! `samovar run`: one turn, here.

use std::io::{IsTerminal, Read, Write};

use samovar_core::command::Text;
use samovar_core::event::Fragment;
use samovar_core::{
    Accepted, Action, Approval, Command, Event, FinishReason, Kind, Part, Sender, SessionId, Status,
};
use samovar_engine::{Engine, Follower};
use samovar_server::Home;
use serde_json::Map;

use crate::args;
use crate::config::{self, LocalData};
use crate::exit::{self, Exit, Failure, say};
use crate::model;
use crate::screen;
use crate::stop::Stop;

/// Bytes of a prompt from stdin, at most: what the server takes in a body.
const MAX_PROMPT_BYTES: u64 = 1024 * 1024;
/// Characters of a tool call or a result that are shown.
const SHOWN: usize = 160;

/// Runs one turn and shows it.
pub(crate) async fn run(args: args::Run) -> Result<Exit, Failure> {
    let text = Text::new(prompt(&args.prompt)?)?;
    let found = config::read(&args.places, args.model.clone(), LocalData::UseOnly)?;
    let mut config = found.config;
    config.settings.approval = Approval::from(args.approval);
    config.settings.limits.max_iterations = args.max_iterations;
    let session = session(args.session.as_deref())?;
    let choice = model::choose(&config.providers, args.model.is_some())?;
    let mut stop = Stop::listen().map_err(|error| Failure::broken(&error))?;
    say(&choice.line());
    if let Some(note) = found.data_dir_note.filter(|_| args.verbose) {
        say(&note);
    }
    let home = Home::open(&config).await?;
    let ended = turn(home.engine(), &session, choice.name, text, &mut stop).await;
    home.close().await;
    let shown = ended?;
    if args.verbose {
        say(&format!("session: {session}, {} tokens", shown.tokens));
    }
    Ok(shown.exit)
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
        let why = format!("the prompt is larger than {MAX_PROMPT_BYTES} bytes");
        return Err(Failure::new(Exit::Usage, "body_too_large", why));
    }
    String::from_utf8(bytes).map_err(|_| Failure::usage("the prompt is not UTF-8"))
}

fn session(given: Option<&str>) -> Result<SessionId, Failure> {
    match given {
        Some(given) => Ok(SessionId::new(given)?),
        None => Ok(Home::fresh_session()),
    }
}

/// What was shown of a turn.
struct Shown {
    exit: Exit,
    tokens: u64,
}

async fn turn(
    engine: &Engine,
    session: &SessionId,
    model: String,
    text: Text,
    stop: &mut Stop,
) -> Result<Shown, Failure> {
    let open = Action::Open {
        model: Some(model),
        metadata: Map::new(),
    };
    submit(engine, session, open).await?;
    let post = Action::Post {
        message: None,
        text,
    };
    let Accepted::Posted { turn, after, .. } = submit(engine, session, post).await? else {
        return Err(Failure::broken(&"the message was not taken as one"));
    };
    let mut follower = engine.follow(session, after).await?;
    let mut view = View::default();
    loop {
        let events = tokio::select! {
            events = follow(&mut follower) => events?,
            () = stop.asked() => {
                let cancel = Action::Cancel { turn: Some(turn.clone()) };
                submit(engine, session, cancel).await?;
                say("\nsamovar: stopped; what was finished is kept [cancelled]");
                return Ok(Shown { exit: Exit::Interrupted, tokens: 0 });
            }
        };
        for event in events
            .iter()
            .filter(|event| event.turn.as_ref() == Some(&turn))
        {
            if let Some(shown) = view.show(event)? {
                return Ok(shown);
            }
        }
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

async fn follow(follower: &mut Follower) -> Result<Vec<std::sync::Arc<Event>>, Failure> {
    follower.next().await.map_err(|lost| Failure::broken(&lost))
}

/// A turn on the terminal: text on stdout as it comes, everything else as lines on stderr.
#[derive(Default)]
struct View {
    is_mid_line: bool,
    was_denied: bool,
}

impl View {
    fn show(&mut self, event: &Event) -> Result<Option<Shown>, Failure> {
        match &event.kind {
            Kind::Delta {
                fragment: Fragment::Text(text),
                ..
            } => self.text(text)?,
            Kind::PartAdded {
                part: Part::Call(call),
                ..
            } => {
                self.end_line()?;
                say(&format!(
                    "> {} {}",
                    call.name,
                    screen::line(&call.args.to_string(), SHOWN)
                ));
            }
            Kind::CallClosed { name, outcome, .. } => {
                self.was_denied |= outcome.status == Status::Denied;
                let mark = if outcome.is_error() { "!" } else { "<" };
                say(&format!(
                    "{mark} {name}: {}",
                    screen::line(&outcome.text, SHOWN)
                ));
            }
            Kind::TurnFinished {
                reason,
                fault,
                usage,
                ..
            } => {
                self.end_line()?;
                if let Some(fault) = fault {
                    say(&format!(
                        "samovar: {} [{}]",
                        screen::visible(&fault.message),
                        fault.code
                    ));
                }
                let fault = fault.as_ref().map(|fault| exit::of_fault(fault.code));
                let exit = fault.unwrap_or_else(|| self.exit(reason));
                return Ok(Some(Shown {
                    exit,
                    tokens: usage.total(),
                }));
            }
            _ => {}
        }
        Ok(None)
    }

    fn exit(&self, reason: &FinishReason) -> Exit {
        match reason {
            FinishReason::Model(_) if self.was_denied => {
                say("samovar: a tool call was denied; see the reason above [approval_denied]");
                Exit::Approval
            }
            FinishReason::Model(_) => Exit::Ok,
            FinishReason::MaxIterations => {
                say("samovar: the passes of the loop are used up [max_iterations]");
                Exit::Limit
            }
            FinishReason::Budget => {
                say("samovar: the budget is used up [budget]");
                Exit::Limit
            }
            FinishReason::Cancelled => Exit::Interrupted,
            FinishReason::Error => Exit::TurnFailed,
        }
    }

    fn text(&mut self, text: &str) -> Result<(), Failure> {
        let shown = screen::visible(text);
        self.is_mid_line = !shown.ends_with('\n');
        put(&shown)
    }

    fn end_line(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.is_mid_line) {
            put("\n")
        } else {
            Ok(())
        }
    }
}

pub(crate) fn put(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let put = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    // Whoever closed the pipe has read enough.
    put.map_err(|error| Failure::new(Exit::Ok, "pipe_closed", error))
}
