//! What agents do that the session's own agent has called: a tree of lines on stderr.

use std::borrow::Cow;

use samovar_core::{FinishReason, Kind, Outcome, Part, Role};
use samovar_locale as text;
use samovar_wire::agent::ShownEvent;
use serde_json::Value;

use super::View;
use super::told::{Place, say_result};
use crate::calls::{SHOWN, brief};
use crate::exit::Failure;
use crate::screen::{beginning, say, say_in};
use crate::style::Tone;

/// The tool that calls an agent and waits for its answer.
const DELEGATE: &str = "subAgent";

/// The result of a call as it is shown; none where it only repeats what a called agent has just said
/// (SA-18).
pub(super) fn result_text<'a>(tool: &str, outcome: &'a Outcome) -> Option<Cow<'a, str>> {
    let whole = Cow::Borrowed(&*outcome.text);
    if tool != DELEGATE {
        return Some(whole);
    }
    let Ok(told) = serde_json::from_str::<Value>(&whole) else {
        return Some(whole);
    };
    match (told["error"].as_str(), told["code"].as_str()) {
        (Some(error), Some(code)) => Some(format!("{error} [{code}]").into()),
        _ if told["messageId"].is_string() => None,
        _ => Some(whole),
    }
}

impl View {
    /// Shows what an agent below does: a line for its task, for each call and result, and for its
    /// answer, indented by its depth.
    pub(super) fn below(&mut self, event: &ShownEvent) -> Result<(), Failure> {
        self.result.note_change(&event.kind);
        if let Kind::CallProgress { progress, .. } = &event.kind {
            return self.say_notice(progress);
        }
        let name = event.agent.name();
        let (tone, line) = match &event.kind {
            Kind::MessageFinished { message, .. } if message.role == Role::User => {
                let task = beginning(&message.text(), SHOWN);
                (None, text::view::agent_begins(name, task))
            }
            // The server's words to the agent, not the agent's.
            Kind::MessageFinished { message, .. } if message.reminder().is_some() => return Ok(()),
            Kind::MessageFinished { message, .. } if !message.text().is_empty() => {
                let said = beginning(&message.text(), SHOWN);
                (Some(Tone::Quiet), text::view::outcome(name, said))
            }
            Kind::PartAdded {
                part: Part::Call(call),
                ..
            } => (None, text::view::call(brief(&call.name, &call.args))),
            Kind::CallClosed {
                name: tool,
                outcome,
                ..
            } => {
                if let Some(told) = result_text(tool, outcome) {
                    self.end_line()?;
                    let place = Place {
                        depth: event.agent.depth(),
                        is_previewed: false,
                        extent: self.extent,
                    };
                    say_result(tool, &told, outcome, place);
                }
                return Ok(());
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
