//! The models that a turn asks: its own, or a fallback.

use super::Turn;

/// The models of a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Asked {
    own: Model,
    /// Who was asked last, when that is not `own` (AS-14).
    fallback: Option<Model>,
}

/// A model by its name, and how its provider is found again.
#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    /// Its canonical name.
    name: String,
    /// The name that leads to its provider; `None` if that is `name`.
    route: Option<String>,
}

impl Asked {
    /// The turn began with this model.
    pub(super) fn began(&mut self, name: &str, route: Option<&String>) {
        self.own = Model::new(name, route);
    }

    /// A step began, with the turn's own model unless it names another.
    pub(super) fn stepped(&mut self, name: Option<&String>, route: Option<&String>) {
        self.fallback = name.map(|name| Model::new(name, route));
    }

    /// The name and the route that the next step keeps.
    pub(super) fn fallback(&self) -> (Option<String>, Option<String>) {
        match self.fallback.clone() {
            Some(Model { name, route }) => (Some(name), route),
            None => (None, None),
        }
    }

    fn last(&self) -> &Model {
        self.fallback.as_ref().unwrap_or(&self.own)
    }
}

impl Model {
    fn new(name: &str, route: Option<&String>) -> Self {
        Self {
            name: name.to_owned(),
            route: route.cloned(),
        }
    }

    fn route(&self) -> &str {
        self.route.as_deref().unwrap_or(&self.name)
    }
}

impl Turn {
    /// The model that it began with, by its canonical name; empty before it began.
    pub fn model(&self) -> &str {
        &self.asked.own.name
    }

    /// The canonical name of the model in use: the turn's own, or its fallback.
    pub fn asked_model(&self) -> &str {
        &self.asked.last().name
    }

    /// The name that leads to the provider of its own model, whatever servers list by now.
    pub fn route(&self) -> &str {
        self.asked.own.route()
    }

    /// As [`Turn::route`], of the model in use.
    pub fn asked_route(&self) -> &str {
        self.asked.last().route()
    }
}
