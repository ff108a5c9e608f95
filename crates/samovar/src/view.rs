//! A turn as it is shown: to a person, its text on stdout as it comes and everything else as lines
//! on stderr; to a program, one document at its end or one event a line.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal};

use samovar_core::error::FaultCode;
use samovar_core::event::{Fragment, Group};
use samovar_core::message::Reminder;
use samovar_core::tool::Progress;
use samovar_core::{
    CallId, FinishReason, Kind, Message, Outcome, Part, Role, SessionId, Status, ToolCall,
};
use samovar_locale as text;
use samovar_wire::agent::{MessagePart, ShownEvent, Snapshot};
use serde_json::Value;

mod below;
mod denials;
mod ending;
mod result;
mod told;
mod ui;

use self::below::result_text;
use self::denials::Denials;
use self::result::TurnResult;
use self::told::{Place, say_background, say_result};
use self::ui::UiStream;
use crate::calls::{Extent, brief};
use crate::client::Frame;
use crate::exit::{Exit, Failure};
use crate::output::{TurnFormat, line};
use crate::screen::{Reader, put, say, visible};
use crate::spinner::Spinner;
use crate::style::{Flow, columns};

/// Bytes of a call's arguments from which on a person is told that they grow.
const LONG_ARGS: usize = 4096;

/// The tool whose result has a diff.
const EDIT: &str = "edit_file";

/// The tool that gives a file its content.
const WRITE: &str = "write_file";

/// The tool that begins a task in the background.
const SPAWN: &str = "spawn";

/// What was shown of a turn so far.
pub(crate) struct View {
    format: TurnFormat,
    extent: Extent,
    pace: TextPace,
    /// Breaks the lines of live text at a terminal.
    flow: Option<Flow>,
    reader: Reader,
    is_mid_line: bool,
    denials: Denials,
    /// Whether tasks were begun in the background.
    has_spawned: bool,
    document: Option<Value>,
    ui: UiStream,
    /// The calls whose change the person was shown before it was made.
    previewed: BTreeSet<CallId>,
    /// What is shown of an answer that is not finished.
    unfinished: Unfinished,
    voice: Voice,
    /// Why the pass was void that may start over.
    reset: Option<String>,
    /// A carriage return that may belong to the line feed to come.
    held_return: bool,
    spinner: Spinner,
    result: TurnResult,
    /// The call whose arguments the model writes.
    writing: Option<Writing>,
}

/// A call that is not complete.
struct Writing {
    tool: String,
    bytes: usize,
    /// The size that is said next.
    said_at: usize,
}

/// When text is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextPace {
    /// As it comes, at a terminal.
    Live,
    /// The answer alone, at the end of the turn.
    AtEnd,
}

/// What is shown of an answer that may still turn out to be void.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unfinished {
    Nothing,
    Some,
}

/// Who says why the turn ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Voice {
    Own,
    Others,
}

/// How a turn ended.
pub(crate) struct Ending {
    pub(crate) exit: Exit,
    /// What it cost.
    pub(crate) tokens: u64,
}

impl View {
    /// A view of a turn that has said nothing.
    pub(crate) fn new(format: TurnFormat, extent: Extent, session: &SessionId) -> Self {
        Self {
            format,
            extent,
            pace: if io::stdout().is_terminal() {
                TextPace::Live
            } else {
                TextPace::AtEnd
            },
            flow: columns(&io::stdout()).map(Flow::new),
            reader: Reader::There,
            is_mid_line: false,
            denials: Denials::default(),
            has_spawned: false,
            document: None,
            ui: UiStream::default(),
            previewed: BTreeSet::new(),
            unfinished: Unfinished::Nothing,
            voice: Voice::Own,
            reset: None,
            held_return: false,
            writing: None,
            spinner: Spinner::new(),
            result: TurnResult::new(session.clone()),
        }
    }

    /// Whether somebody reads the text.
    pub(crate) fn reader(&self) -> Reader {
        self.reader
    }

    /// Waits until the spinner is to turn, and turns it; forever where there is none.
    pub(crate) async fn tick(&mut self) {
        let tokens = self.result.usage.total();
        self.spinner.turn(!self.is_mid_line, tokens).await;
    }

    /// Shows an event of the turn; its last one gives the ending.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn show(
        &mut self,
        event: &ShownEvent,
        frame: &Frame,
    ) -> Result<Option<Ending>, Failure> {
        self.spinner.make_way(&event.kind);
        self.event_line(frame)?;
        if self.format == TurnFormat::UiStream {
            let frames = self.ui.take(event);
            self.put(&frames)?;
        }
        self.note(&event.kind);
        if event.agent.depth() > 0 {
            return self.below(event).map(|()| None);
        }
        self.result.take(event);
        match &event.kind {
            Kind::Delta {
                fragment: Fragment::Text(text),
                ..
            } => self.text(text)?,
            Kind::Delta { fragment, .. } => self.growing(fragment)?,
            Kind::PartAdded {
                part: Part::Call(call),
                ..
            } => self.call(call)?,
            closed @ Kind::CallClosed { .. } => self.outcome(closed)?,
            Kind::CallProgress { progress, .. } => self.say_notice(progress)?,
            Kind::StepReset { reason, code, .. } => self.void(reason, *code)?,
            Kind::StepStarted { .. } => {
                if let Some(reason) = self.reset.take() {
                    say(&text::view::asked_again(reason));
                }
            }
            Kind::TurnContinued { .. } => {
                self.end_line()?;
                say(text::view::continued());
            }
            Kind::MessageFinished { message, .. } => self.finished(message)?,
            Kind::TurnFinished {
                reason,
                fault,
                usage,
                bill,
                ..
            } => {
                self.last_words(&event.kind)?;
                let exit = self.end(reason, fault.as_ref(), bill.limit);
                return Ok(Some(Ending {
                    exit,
                    tokens: usage.total(),
                }));
            }
            Kind::SessionClosed => return self.closed().map(Some),
            other => match other.group() {
                Group::Session | Group::Turn | Group::Live(_) | Group::Message | Group::Call => {}
            },
        }
        Ok(None)
    }

    /// Says what a person is to know before a call continues.
    fn say_notice(&mut self, progress: &Progress) -> Result<(), Failure> {
        if let Some(note) = &progress.note {
            self.end_line()?;
            say(note);
        }
        Ok(())
    }

    fn closed(&mut self) -> Result<Ending, Failure> {
        let gone = self.gone();
        self.last_words(&gone)?;
        let exit = self.end(&FinishReason::Cancelled, None, None);
        let tokens = self.result.usage.total();
        Ok(Ending { exit, tokens })
    }

    /// The end of a turn whose session was deleted.
    fn gone(&self) -> Kind {
        Kind::TurnFinished {
            reason: FinishReason::Cancelled,
            iterations: 0,
            usage: self.result.usage,
            fault: None,
            bill: samovar_core::Bill::default(),
        }
    }

    /// Says that the server went away, and that it is looked for.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn lose_server(&mut self) -> Result<(), Failure> {
        self.end_line()?;
        say(text::run::server_lost());
        Ok(())
    }

    /// Starts over with the turn as it stands: what was shown of it before may have holes.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn begin_anew(&mut self, turn: &Snapshot, frame: &Frame) -> Result<(), Failure> {
        self.end_line()?;
        self.held_return = false;
        self.reset = None;
        self.result.begin_anew(turn);
        match self.format {
            TurnFormat::Jsonl => return self.event_line(frame),
            // It has no word for it: a part that was written stays.
            TurnFormat::UiStream => return self.end_stream(text::turn::events_gone()),
            TurnFormat::Text | TurnFormat::Json => {}
        }
        say(text::view::anew());
        for message in &turn.messages {
            match message.role {
                Role::Assistant => {
                    self.text(&message.content)?;
                    self.end_line()?;
                    for call in &message.tool_calls {
                        say(&text::view::call(brief(&call.name, &call.args)));
                    }
                }
                Role::Tool => message.parts.iter().for_each(|part| self.say_part(part)),
                Role::User | Role::System => {}
            }
        }
        self.unfinished = Unfinished::Nothing;
        self.text(&turn.text)
    }

    fn finished(&mut self, message: &Message) -> Result<(), Failure> {
        self.unfinished = Unfinished::Nothing;
        match message.reminder() {
            Some(Reminder::FailedCall) => self.end_line(),
            None if message.role == Role::System => {
                self.end_line()?;
                say_background(&message.text());
                Ok(())
            }
            Some(Reminder::CutAnswer) | None => Ok(()),
        }
    }

    fn text(&mut self, text: &str) -> Result<(), Failure> {
        if self.format != TurnFormat::Text || self.pace == TextPace::AtEnd {
            return Ok(());
        }
        self.unfinished = Unfinished::Some;
        let held = if std::mem::take(&mut self.held_return) {
            "\r"
        } else {
            ""
        };
        let mut text = format!("{held}{text}");
        if text.ends_with('\r') {
            text.pop();
            self.held_return = true;
        }
        if text.is_empty() {
            return Ok(());
        }
        let shown = visible(&text);
        self.is_mid_line = !shown.ends_with('\n');
        match &mut self.flow {
            Some(flow) => {
                let shown = flow.push(&shown);
                self.put(&shown)
            }
            None => self.put(&shown),
        }
    }

    /// Shows what is shown at the end of a turn: its document, or the answer, where that was not
    /// shown as it came.
    fn last_words(&mut self, last: &Kind) -> Result<(), Failure> {
        self.end_line()?;
        if self.format == TurnFormat::Json {
            self.document = Some(self.result.document(last));
        }
        let answer = visible(self.result.answer());
        if self.pace == TextPace::Live || self.format != TurnFormat::Text || answer.is_empty() {
            return Ok(());
        }
        self.is_mid_line = !answer.ends_with('\n');
        self.put(&answer)?;
        self.end_line()
    }

    /// What the pass said is void.
    fn void(&mut self, reason: &str, code: Option<FaultCode>) -> Result<(), Failure> {
        self.end_line()?;
        if std::mem::replace(&mut self.unfinished, Unfinished::Nothing) == Unfinished::Some {
            say(text::view::void());
        }
        match code {
            // Another attempt follows, maybe after a pause.
            Some(code) if code.is_provider() && code != FaultCode::EmptyAnswer => say(reason),
            Some(_) | None => self.reset = Some(reason.to_owned()),
        }
        Ok(())
    }

    /// Says how long the arguments of a call get, each time they have doubled.
    fn growing(&mut self, fragment: &Fragment) -> Result<(), Failure> {
        match (fragment, &mut self.writing) {
            (Fragment::Call { name, .. }, writing) => {
                *writing = Some(Writing {
                    tool: name.clone(),
                    bytes: 0,
                    said_at: LONG_ARGS,
                });
            }
            (Fragment::Args(more), Some(writing)) => {
                writing.bytes += more.len();
                if writing.bytes < writing.said_at {
                    return Ok(());
                }
                writing.said_at *= 2;
                let line = text::view::call_grows(&writing.tool, (writing.bytes / 1024) as u64);
                self.end_line()?;
                say(&line);
            }
            (Fragment::Text(_) | Fragment::Reasoning(_) | Fragment::Args(_), _) => {}
        }
        Ok(())
    }

    fn call(&mut self, call: &ToolCall) -> Result<(), Failure> {
        self.writing = None;
        self.end_line()?;
        say(&text::view::call(brief(&call.name, &call.args)));
        Ok(())
    }

    /// Notes what an event of whatever agent says of the whole turn.
    fn note(&mut self, kind: &Kind) {
        self.denials.take(kind);
        match kind {
            Kind::ApprovalAsked { call, asked, .. } if asked.preview.is_some() => {
                self.previewed.insert(call.clone());
            }
            Kind::CallClosed { name, outcome, .. } => {
                self.has_spawned |= name == SPAWN && outcome.status == Status::Done;
            }
            _ => {}
        }
    }

    fn outcome(&mut self, closed: &Kind) -> Result<(), Failure> {
        let Kind::CallClosed {
            call,
            name: tool,
            outcome,
        } = closed
        else {
            return Ok(());
        };
        self.end_line()?;
        if let Some(told) = result_text(tool, outcome) {
            let place = Place {
                depth: 0,
                is_previewed: self.previewed.remove(call),
                extent: self.extent,
            };
            say_result(tool, &told, outcome, place);
        }
        Ok(())
    }

    /// A result of a turn that is shown again.
    fn say_part(&self, part: &MessagePart) {
        if let MessagePart::Outcome {
            name,
            status,
            text,
            data,
            ..
        } = part
        {
            let mut outcome = Outcome::new(*status, text.clone());
            outcome.data.clone_from(data);
            let place = Place {
                depth: 0,
                is_previewed: false,
                extent: self.extent,
            };
            say_result(name, text, &outcome, place);
        }
    }

    /// Leaves it to somebody else to say why the turn ended.
    pub(crate) fn hush(&mut self) {
        self.voice = Voice::Others;
    }

    /// The turn, once it is known.
    pub(crate) fn turn(&self) -> Option<&str> {
        self.result.turn.as_deref()
    }

    /// Ends a UI message stream before its turn: one that just stops looks whole to its reader.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn end_stream(&mut self, why: &str) -> Result<(), Failure> {
        let frames = self.ui.leave(why);
        self.put(&frames)
    }

    /// One event a line, as the full profile has it.
    fn event_line(&mut self, frame: &Frame) -> Result<(), Failure> {
        if self.format != TurnFormat::Jsonl {
            return Ok(());
        }
        let mut event: Value =
            serde_json::from_str(&frame.data).map_err(|error| Failure::broken(&error))?;
        if let (Some(fields), Some(id)) = (event.as_object_mut(), &frame.id) {
            fields.insert("id".to_owned(), id.as_str().into());
        }
        self.put(&line("event", &event)?)
    }

    /// Whether the turn began tasks in the background.
    pub(crate) fn has_spawned(&self) -> bool {
        self.has_spawned
    }

    /// The whole turn for a program, once it has ended; with the turns that followed it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn put_document(&mut self, followed: &mut [Self]) -> Result<(), Failure> {
        let Some(mut document) = self.document.take() else {
            return Ok(());
        };
        let followed: Vec<_> = followed
            .iter_mut()
            .filter_map(|it| it.document.take())
            .collect();
        if !followed.is_empty() {
            document["followed"] = followed.into();
        }
        self.put(&line("turn", &document)?)
    }

    /// Ends the line that the text stands in, so that prose begins its own.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn end_line(&mut self) -> Result<(), Failure> {
        self.spinner.clear();
        if std::mem::take(&mut self.is_mid_line) {
            if let Some(flow) = &mut self.flow {
                flow.push("\n");
            }
            self.put("\n")?;
        }
        Ok(())
    }

    /// Text that nobody reads any more is not written.
    fn put(&mut self, text: &str) -> Result<(), Failure> {
        if self.reader == Reader::There {
            // What cannot be written once is not tried again.
            self.reader = Reader::Gone;
            self.reader = put(text)?;
        }
        Ok(())
    }
}
