//! What there is to choose from at a stage.

use serde_json::{Map, Value};

/// A thing on the screen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Item {
    /// By which it is named.
    pub(crate) id: String,
    /// What there is to know of it, in the order of the stage's fields: text or a number each.
    pub(crate) fields: Vec<(&'static str, Value)>,
    /// Why it cannot be chosen; none when it can.
    pub(crate) disabled: Option<&'static str>,
}

impl Item {
    /// One that can be chosen.
    pub(crate) fn new(id: impl Into<String>, fields: Vec<(&'static str, Value)>) -> Self {
        Self {
            id: id.into(),
            fields,
            disabled: None,
        }
    }

    /// The same, which cannot be chosen if there is a reason.
    pub(crate) fn disabled(self, disabled: Option<&'static str>) -> Self {
        Self { disabled, ..self }
    }

    /// A field of it.
    pub(crate) fn field(&self, name: &str) -> Option<&Value> {
        let mut fields = self.fields.iter();
        fields
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    /// What a person sees of it, unless an agent has put other words there.
    pub(crate) fn label(&self, value_field: &str) -> String {
        match self.field(value_field) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => self.id.clone(),
        }
    }

    /// All of it.
    pub(crate) fn to_json(&self) -> Value {
        let mut json = Map::new();
        json.insert("id".to_owned(), self.id.clone().into());
        for (name, value) in &self.fields {
            json.insert((*name).to_owned(), value.clone());
        }
        self.mark(json)
    }

    /// It as a person sees it.
    pub(crate) fn to_visible(&self, value: String) -> Value {
        let mut json = Map::new();
        json.insert("id".to_owned(), self.id.clone().into());
        json.insert("value".to_owned(), value.into());
        self.mark(json)
    }

    fn mark(&self, mut json: Map<String, Value>) -> Value {
        if self.disabled.is_some() {
            json.insert("isDisabled".to_owned(), true.into());
        }
        Value::Object(json)
    }
}
