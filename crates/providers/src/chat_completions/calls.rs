//! The calls of an answer, gathered from fragments.

use samovar_core::{ProviderEvent, ToolCall};
use samovar_locale as locale;
use serde_json::Value;

use super::chunk::Fragment;
use super::details::EXTRA_CONTENT;
use crate::bounds::{extend_args, free_id, one_more_call};
use crate::fault::Fault;
use crate::specs::ProviderSpec;
use crate::state;

/// The calls, in the order in which they began.
pub(super) struct Calls {
    spec: &'static ProviderSpec,
    calls: Vec<Call>,
}

#[derive(Default)]
struct Call {
    /// The server's number for it.
    index: Option<i64>,
    /// The server's id for it, as soon as it is known.
    given: Option<String>,
    /// The id under which it is told, from its name on.
    id: String,
    /// Empty as long as it is not known.
    name: String,
    args: String,
    extra: Option<Value>,
}

impl Calls {
    pub(super) fn new(spec: &'static ProviderSpec) -> Self {
        Self {
            spec,
            calls: Vec::new(),
        }
    }

    /// Takes a fragment.
    ///
    /// # Errors
    /// There are too many calls, or one has too many arguments.
    pub(super) fn take(
        &mut self,
        fragment: Fragment<'_>,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<usize, Fault> {
        let at = self.place(&fragment)?;
        let args = fragment.arguments()?;
        let call = &mut self.calls[at];
        if call.given.is_none() {
            call.given = fragment.id().map(str::to_owned);
        }
        extend_args(&mut call.args, &args)?;
        let (had_name, news) = (!call.name.is_empty(), args.into_owned());
        let length = news.len();
        if had_name {
            self.tell(at, news, events);
        } else if let Some(name) = fragment.name() {
            self.open(at, name, events);
        }
        if fragment.extra_content.is_some() {
            self.calls[at].extra = fragment.extra_content;
        }
        Ok(length)
    }

    /// Begins a call whose name is known now, with the arguments that came before it.
    fn open(&mut self, at: usize, name: &str, events: &mut Vec<ProviderEvent>) {
        let is_taken = |id: &str| self.calls.iter().any(|call| call.id == id);
        let id = free_id(self.calls[at].given.as_deref(), at, is_taken);
        let call = &mut self.calls[at];
        name.clone_into(&mut call.name);
        call.id.clone_from(&id);
        let name = name.to_owned();
        let args = call.args.clone();
        events.push(ProviderEvent::ToolCallStart { id, name });
        self.tell(at, args, events);
    }

    fn tell(&self, at: usize, args_json: String, events: &mut Vec<ProviderEvent>) {
        if !args_json.is_empty() {
            let id = self.calls[at].id.clone();
            events.push(ProviderEvent::ToolCallDelta { id, args_json });
        }
    }

    /// The call that a fragment belongs to; a new one if it is none of those that are there.
    fn place(&mut self, fragment: &Fragment<'_>) -> Result<usize, Fault> {
        let known = self.known(fragment);
        if let Some(at) = known.filter(|at| !self.is_another(*at, fragment)) {
            return Ok(at);
        }
        one_more_call(self.calls.len())?;
        self.calls.push(Call {
            index: fragment.index,
            ..Call::default()
        });
        Ok(self.calls.len() - 1)
    }

    /// By number; without one by id; with neither a fragment continues the last call, unless it
    /// names a tool.
    fn known(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let find = |fits: &dyn Fn(&Call) -> bool| self.calls.iter().rposition(fits);
        match (fragment.index, fragment.id(), fragment.name()) {
            (Some(index), _, _) => find(&|call| call.index == Some(index)),
            (None, Some(id), name) => find(&|call| call.given.as_deref() == Some(id))
                .or_else(|| self.calls.len().checked_sub(1).filter(|_| name.is_none())),
            (None, None, None) => self.calls.len().checked_sub(1),
            (None, None, Some(_)) => None,
        }
    }

    /// Servers that give every call the number 0 exist; each then has its own id and name.
    fn is_another(&self, at: usize, fragment: &Fragment<'_>) -> bool {
        let call = &self.calls[at];
        let differs = match (call.given.as_deref(), fragment.id()) {
            (Some(known), Some(id)) => known != id,
            (None, _) | (_, None) => false,
        };
        differs && !call.name.is_empty() && fragment.name().is_some()
    }

    /// Ends every call: only now it is sure that no fragment follows, since calls may come in turns.
    ///
    /// # Errors
    /// A call has arguments, but no name.
    pub(super) fn finish(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        for call in std::mem::take(&mut self.calls) {
            if call.name.is_empty() {
                if call.args.is_empty() {
                    continue;
                }
                return Err(Fault::bad(locale::provider::call_without_tool()));
            }
            events.push(ProviderEvent::ToolCallEnd {
                args: ToolCall::parse_args(&call.args),
                provider_state: call
                    .extra
                    .map(|extra| state::write(self.spec, EXTRA_CONTENT, extra)),
                id: call.id,
                name: call.name,
            });
        }
        Ok(())
    }
}
