//! A turn on the terminal: its text on stdout as it comes, everything else as lines on stderr.

use samovar_core::error::FaultCode;
use samovar_core::event::{Fault, Fragment};
use samovar_core::{Event, FinishReason, Kind, Outcome, Part, Status, ToolCall};

use crate::exit::{Exit, Failure, complaint};
use crate::screen::{Reader, beginning, put, say, visible};

/// Characters of a call's arguments or of its result that are shown.
const SHOWN: usize = 160;

/// What was shown of a turn so far.
pub(crate) struct View {
    reader: Reader,
    is_mid_line: bool,
    was_denied: bool,
}

/// How a turn ended.
pub(crate) struct Ending {
    pub(crate) exit: Exit,
    /// What it cost.
    pub(crate) tokens: u64,
}

impl View {
    /// A view of a turn that has said nothing.
    pub(crate) fn new() -> Self {
        Self {
            reader: Reader::There,
            is_mid_line: false,
            was_denied: false,
        }
    }

    /// Whether somebody reads the text.
    pub(crate) fn reader(&self) -> Reader {
        self.reader
    }

    /// Shows an event of the turn; its last one gives the ending.
    pub(crate) fn show(&mut self, event: &Event) -> Result<Option<Ending>, Failure> {
        match &event.kind {
            Kind::Delta {
                fragment: Fragment::Text(text),
                ..
            } => self.text(text)?,
            Kind::PartAdded {
                part: Part::Call(call),
                ..
            } => self.call(call)?,
            Kind::CallClosed { name, outcome, .. } => self.outcome(name, outcome)?,
            Kind::StepReset { reason, .. } => {
                self.end_line()?;
                say(&format!("the model is asked again: {reason}"));
            }
            Kind::TurnFinished {
                reason,
                fault,
                usage,
                ..
            } => {
                self.end_line()?;
                let exit = self.end(reason, fault.as_ref());
                let tokens = usage.total();
                return Ok(Some(Ending { exit, tokens }));
            }
            Kind::SessionOpened { .. }
            | Kind::SessionChanged { .. }
            | Kind::SessionClosed
            | Kind::TurnStarted { .. }
            | Kind::StepStarted { .. }
            | Kind::MessageStarted { .. }
            | Kind::Delta { .. }
            | Kind::PartAdded { .. }
            | Kind::MessageFinished { .. }
            | Kind::CallApproved { .. }
            | Kind::CallStarted { .. }
            | Kind::StateChanged { .. } => {}
        }
        Ok(None)
    }

    fn text(&mut self, text: &str) -> Result<(), Failure> {
        let shown = visible(text);
        self.is_mid_line = !shown.ends_with('\n');
        self.put(&shown)
    }

    fn call(&mut self, call: &ToolCall) -> Result<(), Failure> {
        self.end_line()?;
        let args = beginning(&call.args.to_string(), SHOWN);
        say(&format!("> {} {args}", call.name));
        Ok(())
    }

    fn outcome(&mut self, tool: &str, outcome: &Outcome) -> Result<(), Failure> {
        self.end_line()?;
        self.was_denied |= outcome.status == Status::Denied;
        let mark = if outcome.is_error() { "!" } else { "<" };
        say(&format!(
            "{mark} {tool}: {}",
            beginning(&outcome.text, SHOWN)
        ));
        Ok(())
    }

    /// Says why the turn ended, unless all went well.
    fn end(&self, reason: &FinishReason, fault: Option<&Fault>) -> Exit {
        let (exit, message, code) = match (reason, fault) {
            (FinishReason::Model(_), _) if self.was_denied => {
                let why = "a tool call was denied, for the reason above";
                (Exit::Approval, why, "approval_denied")
            }
            (FinishReason::Model(_), _) => return Exit::Ok,
            (FinishReason::MaxIterations, _) => {
                let why = "the passes of the loop are used up; what was done is kept, \
                           allow more with --max-iterations";
                (Exit::Limit, why, "max_iterations")
            }
            (FinishReason::Budget, _) => {
                let why = "the budget is used up; what was done is kept";
                (Exit::Limit, why, "budget")
            }
            (FinishReason::Cancelled, _) => {
                let why = "the turn was stopped; what was finished is kept";
                (Exit::Interrupted, why, "cancelled")
            }
            (FinishReason::Error, Some(fault)) => {
                let code = fault.code;
                (Exit::of_fault(code), fault.message.as_str(), code.as_str())
            }
            (FinishReason::Error, None) => {
                let why = "the turn ended in an error; what was said before it is kept";
                (Exit::TurnFailed, why, FaultCode::Internal.as_str())
            }
        };
        say(&complaint(message, code));
        exit
    }

    /// Ends the line that the text stands in, so that prose begins its own.
    pub(crate) fn end_line(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.is_mid_line) {
            self.put("\n")?;
        }
        Ok(())
    }

    /// Text that nobody reads any more is not written.
    fn put(&mut self, text: &str) -> Result<(), Failure> {
        if self.reader == Reader::There {
            self.reader = put(text)?;
        }
        Ok(())
    }
}
