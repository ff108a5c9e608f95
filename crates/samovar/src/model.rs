//! Which model answers, and why, as a person reads it (FC-4).

use samovar_core::provider::ModelKind;
use samovar_core::{Code, Error, Models};
use samovar_server::providers::{Access, Registry};

use crate::config::{Found, ModelFrom};

/// What to type where no provider is set up.
pub(crate) const CONNECT: &str = "export OPENAI_API_KEY=YOUR_KEY";

/// A model, and why it was chosen.
#[derive(Clone)]
pub(crate) struct Choice {
    /// Its name, as it was asked for.
    pub(crate) name: String,
    kind: ModelKind,
    pub(crate) reason: String,
    /// What to type for another, when nobody asked for this one.
    pub(crate) command: Option<&'static str>,
}

impl Choice {
    /// The model for who asks for none.
    ///
    /// # Errors
    /// The refusal, which says what to do.
    pub(crate) async fn of(found: &Found) -> Result<Self, Error> {
        let registry = Registry::new(found.config.providers.clone());
        let name = registry.default_name().await?;
        let kind = registry.resolve(&name)?.kind;
        let mut keyed = registry
            .providers()
            .filter(|(spec, access)| *access == Access::Key && spec.default_model.is_some());
        let (reason, command) = match (found.model_from, keyed.next()) {
            (ModelFrom::Nobody, Some((spec, _))) => {
                (format!("the key of {} is set", spec.display_name), None)
            }
            (ModelFrom::Nobody, None) => (found.model_reason().to_owned(), Some(CONNECT)),
            (ModelFrom::Flag | ModelFrom::Variable, _) => (found.model_reason().to_owned(), None),
        };
        Ok(Self {
            name,
            kind,
            reason,
            command,
        })
    }

    /// The model of a session that is there, which nothing but the session decides.
    ///
    /// # Errors
    /// The refusal of a model that can no longer be used, and of another one that the command line
    /// names: it is not replaced in silence.
    pub(crate) fn of_session(
        models: &dyn Models,
        name: String,
        found: &Found,
    ) -> Result<Self, Error> {
        let model = models.resolve(&name)?;
        let asked = found.config.providers.default_model.as_deref();
        if let (Some(asked), ModelFrom::Flag) = (asked, found.model_from)
            && models.resolve(asked)?.name != model.name
        {
            let why = format!(
                "this session's model is {name:?}, not {asked:?}; leave --model out, or leave \
                 --session out to begin a new one"
            );
            return Err(Error::new(Code::InvalidParams, why));
        }
        Ok(Self {
            name,
            kind: model.kind,
            reason: "it is the session's".to_owned(),
            command: None,
        })
    }

    /// What answers, in a few words.
    pub(crate) fn what(&self) -> String {
        let name = &self.name;
        match self.kind {
            ModelKind::Demo => format!("{name} (rules, not a language model)"),
            ModelKind::Local => format!("{name} (on this machine)"),
            ModelKind::Remote => name.clone(),
        }
    }

    /// One line for a person.
    pub(crate) fn line(&self) -> String {
        let (what, reason) = (self.what(), &self.reason);
        match self.command {
            Some(command) => format!("model: {what}, because {reason}; to connect one: {command}"),
            None => format!("model: {what}, because {reason}"),
        }
    }
}
