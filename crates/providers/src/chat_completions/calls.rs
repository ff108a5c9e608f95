//! The calls of an answer, gathered from fragments.

use samovar_core::ProviderEvent;
use samovar_locale as locale;
use serde_json::Value;

use super::chunk::Fragment;
use super::details::EXTRA_CONTENT;
use crate::bounds::{extend_args, free_id, one_more_call};
use crate::fault::Fault;
use crate::repair::Halves;
use crate::specs::ProviderSpec;
use crate::{repair, state};

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
    /// Whether it was told that it begins.
    is_told: bool,
    halves: Halves,
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
        let args = fragment.arguments()?;
        let at = self.place(&fragment, &args)?;
        let call = &mut self.calls[at];
        if call.given.is_none() {
            call.given = fragment.id().map(str::to_owned);
        }
        if let Some(name) = fragment.name() {
            call.extend_name(name);
        }
        if fragment.extra_content.is_some() {
            call.extra = fragment.extra_content;
        }
        let news = call.halves.join(args.into_owned());
        if news.is_empty() || call.is_repeated(&news) {
            return Ok(0);
        }
        extend_args(&mut call.args, &news)?;
        let length = news.len();
        if self.calls[at].is_told {
            self.tell(at, news, events);
        } else {
            self.open_up_to(at, events);
        }
        Ok(length)
    }

    /// Tells that calls begin, in their order: a name may come in pieces as long as no argument does.
    fn open_up_to(&mut self, last: usize, events: &mut Vec<ProviderEvent>) {
        for at in 0..=last {
            if !self.calls[at].is_told && !self.calls[at].name.is_empty() {
                self.open(at, events);
            }
        }
    }

    fn open(&mut self, at: usize, events: &mut Vec<ProviderEvent>) {
        let is_taken = |id: &str| self.calls.iter().any(|call| call.id == id);
        let id = free_id(self.calls[at].given.as_deref(), at, is_taken);
        let call = &mut self.calls[at];
        call.id.clone_from(&id);
        call.is_told = true;
        let (name, args) = (call.name.clone(), call.args.clone());
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
    fn place(&mut self, fragment: &Fragment<'_>, args: &str) -> Result<usize, Fault> {
        let known = self.known(fragment);
        if let Some(at) = known.filter(|at| !self.calls[*at].is_followed_by(fragment, args)) {
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

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether every call has its name and whole arguments, or none.
    pub(super) fn are_whole(&self) -> bool {
        let is_whole = |call: &Call| !call.name.is_empty() && repair::args(&call.args).is_object();
        self.calls.iter().all(is_whole)
    }

    /// Ends every call: only now it is sure that no fragment follows, since calls may come in turns. What
    /// is to be kept of the thought before them is kept with the first.
    ///
    /// # Errors
    /// A call has arguments, but no name.
    pub(super) fn finish(
        &mut self,
        mut thought: Option<Value>,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        if let Some(last) = self.calls.len().checked_sub(1) {
            self.open_up_to(last, events);
        }
        for call in std::mem::take(&mut self.calls) {
            if call.name.is_empty() {
                if call.args.is_empty() {
                    continue;
                }
                return Err(Fault::bad(locale::provider::call_without_tool()));
            }
            let extra = call.extra;
            let extra = extra.map(|extra| state::write(self.spec, EXTRA_CONTENT, extra));
            events.push(ProviderEvent::ToolCallEnd {
                args: repair::args(&call.args),
                provider_state: state::both(extra, thought.take()),
                id: call.id,
                name: call.name,
            });
        }
        Ok(())
    }
}

impl Call {
    /// Takes a name, whole or in pieces, once or with every fragment.
    fn extend_name(&mut self, name: &str) {
        if self.is_told || self.name == name {
            return;
        }
        if name.starts_with(&self.name) {
            name.clone_into(&mut self.name);
        } else {
            self.name.push_str(name);
        }
    }

    /// Whether a fragment with its number or id belongs to a call after it: servers that give every
    /// call the same number exist, and then the name or the id is another, or the arguments of this
    /// one are whole.
    fn is_followed_by(&self, fragment: &Fragment<'_>, args: &str) -> bool {
        let Some(name) = fragment.name().filter(|_| !self.name.is_empty()) else {
            return false;
        };
        let given = self.given.as_deref().zip(fragment.id());
        let is_whole = || !self.args.is_empty() && repair::args(&self.args).is_object();
        match given {
            Some((known, id)) if known != id => true,
            Some(_) => false,
            None => is_whole() && (name != self.name || !args.trim().is_empty()),
        }
    }

    /// Whether a fragment only says once more what all fragments before it said.
    fn is_repeated(&self, args: &str) -> bool {
        args.len() > 2 && args == self.args && repair::args(args).is_object()
    }
}
