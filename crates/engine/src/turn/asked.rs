//! The models that a turn asks: its own, or a fallback.

/// The models of a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Asked {
    pub(super) own: Model,
    /// Who was asked last, when that is not `own` (AS-14).
    fallback: Option<Model>,
}

/// A model by its name, and how its provider is found again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Model {
    /// Its canonical name.
    pub(super) name: String,
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

    /// The model in use.
    pub(super) fn last(&self) -> &Model {
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

    /// What leads to its provider, whatever servers list by now.
    pub(super) fn route(&self) -> &str {
        self.route.as_deref().unwrap_or(&self.name)
    }
}
