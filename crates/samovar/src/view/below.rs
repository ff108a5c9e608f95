//! What agents do that the session's own agent has called: a tree of lines on stderr.

use samovar_core::{FinishReason, Kind, Part, Role, Status};
use samovar_locale as text;
use samovar_wire::agent::ShownEvent;

use super::{SHOWN, View};
use crate::exit::Failure;
use crate::screen::{beginning, say, say_in};
use crate::style::Tone;

impl View {
    /// Shows what an agent below does: a line for its task, for each call and result, and for its
    /// answer, indented by its depth.
    pub(super) fn below(&mut self, event: &ShownEvent) -> Result<(), Failure> {
        let name = event.agent.name();
        let (tone, line) = match &event.kind {
            Kind::MessageFinished { message, .. } if message.role == Role::User => {
                let task = beginning(&message.text(), SHOWN);
                (None, text::view::agent_begins(name, task))
            }
            Kind::MessageFinished { message, .. } if !message.text().is_empty() => {
                let said = beginning(&message.text(), SHOWN);
                (Some(Tone::Quiet), text::view::outcome(name, said))
            }
            Kind::PartAdded {
                part: Part::Call(call),
                ..
            } => {
                let args = beginning(&call.args.to_string(), SHOWN);
                (None, text::view::call(&call.name, args))
            }
            Kind::CallClosed {
                name: tool,
                outcome,
                ..
            } => {
                self.was_denied |= outcome.status == Status::Denied;
                let shown = beginning(&outcome.text, SHOWN);
                if outcome.is_error() {
                    (Some(Tone::Bad), text::view::outcome_failed(tool, shown))
                } else {
                    (Some(Tone::Quiet), text::view::outcome(tool, shown))
                }
            }
            Kind::TurnFinished { reason, fault, .. } => match (reason, fault) {
                (FinishReason::Model(_), _) => return Ok(()),
                (reason, fault) => {
                    let fault = fault.as_ref().map(|fault| fault.message.as_str());
                    let why = fault.unwrap_or(reason.as_str());
                    (Some(Tone::Bad), text::view::outcome_failed(name, why))
                }
            },
            _ => return Ok(()),
        };
        self.end_line()?;
        let indent = "  ".repeat(event.agent.depth());
        let line = format!("{indent}{line}");
        match tone {
            Some(tone) => say_in(tone, &line),
            None => say(&line),
        }
        Ok(())
    }
}
