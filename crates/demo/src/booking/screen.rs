//! The screen of a host, as far as a booking needs it. All of it is foreign: what is not there is
//! empty.

use std::sync::Arc;

use samovar_core::relay::SCREEN;
use samovar_core::{Message, Part, json};
use serde_json::Value;

/// What a host shows last.
pub(super) struct Screen(Value);

/// A thing on the screen that can be seen.
pub(super) struct Item<'a> {
    pub(super) id: &'a str,
    /// What a person sees of it.
    pub(super) label: &'a str,
    pub(super) is_disabled: bool,
    fields: Option<&'a Value>,
}

impl Screen {
    /// The last screen that a model was shown; none when there was none.
    pub(super) fn last(messages: &[Arc<Message>]) -> Option<Self> {
        let parts = messages
            .iter()
            .rev()
            .flat_map(|message| message.parts.iter().rev());
        parts.filter_map(text_of).find_map(|text| split(text).1)
    }

    /// The one at the end of a text.
    pub(super) fn of(text: &str) -> Option<Self> {
        split(text).1
    }

    /// Whether there is nothing on it.
    pub(super) fn is_empty(&self) -> bool {
        !self.0["uiSpec"].is_object()
    }

    /// The items that can be seen.
    pub(super) fn items(&self) -> Vec<Item<'_>> {
        let spec = &self.0["uiSpec"];
        let all = spec["items"].as_array().map_or(&[][..], Vec::as_slice);
        let visible = spec["visibleItems"].as_array().into_iter().flatten();
        let visible = visible.filter_map(|item| {
            let id = item["id"].as_str()?;
            Some(Item {
                id,
                label: item["value"].as_str().unwrap_or(id),
                is_disabled: item["isDisabled"] == true,
                fields: all.iter().find(|fields| fields["id"] == id),
            })
        });
        visible.collect()
    }

    /// All texts of all items, also of those that a filter hides.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let items = self.0["uiSpec"]["items"].as_array().into_iter().flatten();
        let fields = items.filter_map(Value::as_object).flatten();
        fields.filter_map(|(_, value)| value.as_str())
    }

    /// The item that is chosen, where it is one.
    pub(super) fn selected(&self) -> Option<&str> {
        self.state()["selected"].as_str()
    }

    /// The items that are chosen, where they may be several.
    pub(super) fn selected_list(&self) -> Option<Vec<&str>> {
        let list = self.state()["selectedList"].as_array()?;
        Some(list.iter().filter_map(Value::as_str).collect())
    }

    /// How many of an item there are, where that is counted.
    pub(super) fn quantity(&self, id: &str) -> Option<u64> {
        let quantities = self.state()["quantities"].as_object()?;
        Some(quantities.get(id).and_then(Value::as_u64).unwrap_or(0))
    }

    /// How many seats are chosen, where the screen tells.
    pub(super) fn seats(&self) -> Option<u32> {
        let seats = self.state()["booking"]["seats"].as_array()?;
        u32::try_from(seats.len()).ok().filter(|count| *count > 0)
    }

    /// Whether the person chose last what is chosen at this stage.
    pub(super) fn is_chosen_by_person(&self) -> bool {
        let stage = &self.0["uiSpec"]["stage"];
        let history = self.0["messageHistory"].as_array().into_iter().flatten();
        let chosen = |entry: &&Value| entry["action"] == "select" && entry["stage"] == *stage;
        history
            .rev()
            .find(chosen)
            .is_some_and(|entry| entry["type"] == "user")
    }

    /// The number and the total of the booking that was made last, and what was booked.
    pub(super) fn receipt(&self) -> Option<[String; 3]> {
        let history = self.0["messageHistory"].as_array()?.iter().rev();
        let mut specs = history.map(|entry| &entry["spec"]);
        let spec = specs.find(|spec| !spec["meta"]["bookingNumber"].is_null())?;
        let meta = ["bookingNumber", "total"].map(|key| plain(&spec["meta"][key]));
        let booking = spec["state"]["booking"].as_object();
        let what = booking.into_iter().flatten().map(|(_, value)| brief(value));
        let what: Vec<_> = what.filter(|what| !what.is_empty()).collect();
        let [number, total] = meta;
        Some([number, total, what.join(", ")])
    }

    fn state(&self) -> &Value {
        &self.0["uiSpec"]["state"]
    }
}

impl<'a> Item<'a> {
    /// All of it, where that is shown.
    pub(super) fn whole(&self) -> Option<&'a Value> {
        self.fields
    }

    /// What is known of it by name, beside its id.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        let fields = self.fields.and_then(Value::as_object).into_iter().flatten();
        let fields = fields.map(|(name, value)| (name.as_str(), value));
        fields.filter(|(name, _)| *name != "id")
    }

    /// A field of it.
    pub(super) fn field(&self, name: &str) -> &Value {
        self.fields.map_or(&Value::Null, |fields| &fields[name])
    }
}

/// A text without the screen at its end, and that screen.
///
/// A person may have typed what looks like one, and what a host shows may hold its mark: so it is the
/// last mark behind which everything is one.
pub(super) fn split(text: &str) -> (&str, Option<Screen>) {
    for (at, _) in text.rmatch_indices(SCREEN) {
        let json = json::read(&text.as_bytes()[at + SCREEN.len()..]);
        if let Some(screen) = json.ok().filter(|json| json.get("uiSpec").is_some()) {
            return (&text[..at], Some(Screen(screen)));
        }
    }
    (text, None)
}

fn text_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text { text } => Some(text),
        Part::Outcome { outcome, .. } => Some(&outcome.text),
        Part::Reasoning { .. } | Part::Call(_) | Part::Data { .. } | Part::Image { .. } => None,
    }
}

/// The first words of a value: its own, or those of what it is made of.
fn brief(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let mut fields = fields.iter().filter(|(name, _)| *name != "id");
            let text = fields.find_map(|(_, value)| value.as_str());
            text.unwrap_or_default().to_owned()
        }
        Value::Array(values) => {
            let texts: Vec<_> = values.iter().filter_map(Value::as_str).collect();
            texts.join(" ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}
