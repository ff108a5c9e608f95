//! Why a turn ended, as a person is told, and the exit code for it.

use std::io::{self, IsTerminal};

use samovar_core::error::FaultCode;
use samovar_core::event::Fault;
use samovar_core::provider::{NOT_UNDERSTOOD, is_cut, is_refusal};
use samovar_core::{BudgetLimit, FinishReason};
use samovar_locale as text;

use super::{View, Voice};
use crate::exit::{Exit, complaint};
use crate::screen::{say, say_in};
use crate::style::Tone;

impl View {
    /// Says why the turn ended, unless all went well.
    pub(super) fn end(
        &self,
        reason: &FinishReason,
        fault: Option<&Fault>,
        limit: Option<BudgetLimit>,
    ) -> Exit {
        let (exit, message, code) = match (reason, fault) {
            (FinishReason::Model(_), _)
                if self.denials.are_typed() && io::stderr().is_terminal() =>
            {
                return Exit::Approval;
            }
            (FinishReason::Model(_), _) if self.denials.are_some() => {
                let why = text::view::approval_denied();
                (Exit::Approval, why, "approval_denied")
            }
            (FinishReason::Model(word), _) if is_refusal(word) && self.result.is_wordless() => {
                if self.voice == Voice::Own {
                    say(text::view::refused());
                }
                return Exit::Ok;
            }
            (FinishReason::Model(word), _)
                if word == NOT_UNDERSTOOD && !io::stdout().is_terminal() =>
            {
                let why = text::view::not_understood();
                (Exit::NoModel, why, NOT_UNDERSTOOD)
            }
            (FinishReason::Model(word), _) if is_cut(word) => {
                say(text::view::cut_off());
                return Exit::Ok;
            }
            (FinishReason::Steered, _) => {
                say(text::view::steered());
                return Exit::Ok;
            }
            (FinishReason::Model(_), _) => return Exit::Ok,
            (FinishReason::MaxIterations, _) => {
                (Exit::Limit, text::view::iterations_used(), "max_iterations")
            }
            (FinishReason::FailedCall, _) => {
                (Exit::TurnFailed, text::view::call_failed(), "failed_call")
            }
            (FinishReason::RepeatedCall, _) => (
                Exit::TurnFailed,
                text::view::call_repeated(),
                "repeated_call",
            ),
            (FinishReason::Budget, _) => (Exit::Limit, budget_used(limit), "budget"),
            (FinishReason::Cancelled, _) => {
                (Exit::Interrupted, text::view::cancelled(), "cancelled")
            }
            (FinishReason::Error, Some(fault)) => {
                let code = fault.code;
                (Exit::of_fault(code), fault.message.as_str(), code.as_str())
            }
            (FinishReason::Error, None) => {
                let code = FaultCode::Internal.as_str();
                (Exit::TurnFailed, text::view::turn_failed(), code)
            }
        };
        if self.voice == Voice::Own {
            say_in(Tone::Bad, &complaint(message, code));
        }
        exit
    }
}

/// Which limit of its budget ended a turn.
fn budget_used(limit: Option<BudgetLimit>) -> &'static str {
    match limit {
        Some(BudgetLimit::Steps) => text::view::budget_used_steps(),
        Some(BudgetLimit::Tokens) | None => text::view::budget_used(),
        Some(BudgetLimit::Cost) => text::view::budget_used_cost(),
        Some(BudgetLimit::Wall) => text::view::budget_used_wall(),
    }
}
