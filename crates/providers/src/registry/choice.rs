//! Which model answers who names none, and why (FC-4).

use std::sync::Arc;

use samovar_core::provider::ModelKind;
use samovar_core::{Error, Models as _};
use serde::Serialize;

use super::refusal::{nameless, no_model};
use super::{Access, DemoUse, Registry};
use crate::probe::{LocalModel, ProbeReport};
use crate::specs::{ProviderSpec, SPECS};
use crate::unbuilt::IdleKey;

/// The model for who names none.
#[derive(Clone, Debug, Serialize)]
pub struct Choice {
    /// Its name: as it was asked for, else the canonical one (MD-21).
    pub name: String,
    /// What kind of thing answers.
    pub kind: ModelKind,
    /// Why it is this one.
    pub reason: Reason,
}

/// Why a model was chosen.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Reason {
    /// It was asked for ([`ProviderConfig::default_model`](super::ProviderConfig::default_model)).
    Asked,
    /// Its provider is the first that has a key.
    Key {
        /// The name of its row in [`SPECS`].
        provider: &'static str,
        /// The name for people.
        display_name: &'static str,
        /// Where the key was found, if that was said.
        origin: Option<String>,
    },
    /// A server of this machine has it.
    Local {
        /// What all of them said, this model first.
        probed: Arc<ProbeReport>,
    },
    /// There is nothing else.
    Nothing {
        /// What was looked at in vain; nobody when probing is off.
        probed: Arc<ProbeReport>,
        /// Keys that are set and do not help.
        idle: Vec<IdleKey>,
    },
}

impl Registry {
    /// The model for requests that name none, in this order: the configured one, which is never
    /// replaced; that of the first row with a key; the best one of this machine's servers; `demo`.
    /// Servers are asked only if the first two give none, and for no longer than
    /// [`Timeouts::probe`](crate::Timeouts::probe).
    ///
    /// # Errors
    /// [`Code::UnusableModel`](samovar_core::Code::UnusableModel) when what was asked for cannot be
    /// used, when a base URL was set by hand and no model is found there, or when there is none and
    /// `demo` is forbidden.
    pub async fn choice(&self) -> Result<Choice, Error> {
        if let Some(choice) = self.settled().await? {
            return Ok(choice);
        }
        let probed = self.probe().await;
        let local = probed
            .models
            .iter()
            .find_map(|model| self.local(model, &probed));
        let by_hand = self.set_by_hand();
        match (local, by_hand.as_slice(), self.config.demo) {
            (Some(choice), _, _) => Ok(choice),
            // What was set by hand is not passed over in silence.
            (None, [_, ..], _) => Err(nameless(&by_hand, &probed)),
            (None, [], DemoUse::Allowed) => Ok(Choice {
                name: "demo".to_owned(),
                kind: ModelKind::Demo,
                reason: Reason::Nothing {
                    probed,
                    idle: self.idle_keys(),
                },
            }),
            (None, [], DemoUse::Forbidden) => Err(no_model(&probed, &self.idle_keys())),
        }
    }

    /// The choice by what was asked for, or by a key.
    async fn settled(&self) -> Result<Option<Choice>, Error> {
        if let Some(name) = &self.config.default_model {
            return Ok(Some(Choice {
                name: name.trim().to_owned(),
                kind: self.found(name).await?.kind,
                reason: Reason::Asked,
            }));
        }
        let mut keyed = SPECS.iter().filter(|spec| self.access(spec) == Access::Key);
        Ok(keyed.find_map(|spec| self.keyed(spec)))
    }

    fn keyed(&self, spec: &'static ProviderSpec) -> Option<Choice> {
        let model = spec.default_model?;
        let canonical = spec.canonical(model);
        let leads_here = |(found, _): (&ProviderSpec, String)| found.name == spec.name;
        let name = if self.route(&canonical).is_ok_and(leads_here) {
            canonical
        } else {
            format!("{}/{model}", spec.name)
        };
        Some(Choice {
            name,
            kind: self.kind(spec),
            reason: Reason::Key {
                provider: spec.name,
                display_name: spec.display_name,
                origin: self.config.key_origins.get(spec.name).cloned(),
            },
        })
    }

    fn local(&self, model: &LocalModel, probed: &Arc<ProbeReport>) -> Option<Choice> {
        let found = self.resolve(&model.name).ok()?;
        Some(Choice {
            name: found.name,
            kind: found.kind,
            reason: Reason::Local {
                probed: Arc::clone(probed),
            },
        })
    }
}
