//! A model that a turn asks.

/// A model by its name, and how its provider is found again.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Asked {
    /// Its canonical name.
    pub(super) model: String,
    /// The name that leads to its provider; `None` if that is `model`.
    pub(super) route: Option<String>,
}

impl Asked {
    pub(super) fn new(model: &str, route: Option<&String>) -> Self {
        Self {
            model: model.to_owned(),
            route: route.cloned(),
        }
    }

    pub(super) fn route(&self) -> &str {
        self.route.as_deref().unwrap_or(&self.model)
    }
}
