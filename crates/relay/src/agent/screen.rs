//! What a host shows, as a model is told of it (RL-23). All of it is foreign: whatever its shape,
//! there is a text, and it has a bound.

use std::sync::Arc;

use samovar_core::relay::{Envelope, Payload, SCREEN};
use serde_json::{Value, json};

/// Bytes of the JSON of a screen in a prompt, at most.
const MAX_SCREEN_BYTES: usize = 64 * 1024;
/// Entries of the message history in a prompt, at most: the newest.
const MAX_ENTRIES: usize = 20;
/// Of those, how many stay when all of them are too much.
const FEW_ENTRIES: usize = 5;
/// Bytes of a screen that is too large to be shown as it is, before it is quoted.
const MAX_PIECE_BYTES: usize = 24 * 1024;

/// The newest state that a host has told of; none at first.
#[derive(Clone, Debug, Default)]
pub(super) struct Screen {
    told: Option<Arc<Envelope>>,
    /// What the result of a call showed since.
    since: Option<Value>,
}

impl Screen {
    /// The host says what there is to see: `snapshot.state` or `state.updated`.
    pub(super) fn update(&mut self, told: Arc<Envelope>) {
        self.told = Some(told);
        self.since = None;
    }

    /// The result of a call shows what there is to see now, ahead of the update.
    pub(super) fn hint(&mut self, result: &Payload) {
        if let Some(ui_spec) = result.get("uiSpec") {
            self.since = Some(ui_spec.clone());
        }
    }

    /// Whether anything is known.
    pub(super) fn is_known(&self) -> bool {
        self.told.is_some()
    }

    /// What a state says under this key.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.told.as_ref()?.payload.get(key)
    }

    /// What stands behind the words of a prompt.
    pub(super) fn text(&self) -> String {
        let told = self.get("uiSpec").unwrap_or(&Value::Null);
        let ui_spec = self.since.as_ref().unwrap_or(told);
        let history = self.get("messageHistory").and_then(Value::as_array);
        let history = history.map(Vec::as_slice).unwrap_or_default();
        format!("{SCREEN}{}", render(ui_spec, history))
    }
}

/// Compact JSON of at most [`MAX_SCREEN_BYTES`]: less and less of the history, then only the beginning
/// of what is on the screen.
fn render(ui_spec: &Value, history: &[Value]) -> String {
    let newest = &history[history.len().saturating_sub(MAX_ENTRIES)..];
    let entries = with_newest_spec_alone(newest);
    let whole = json!({ "uiSpec": ui_spec, "messageHistory": entries }).to_string();
    if whole.len() <= MAX_SCREEN_BYTES {
        return whole;
    }
    for count in [MAX_ENTRIES, FEW_ENTRIES, 0] {
        let bare: Vec<_> = newest[newest.len().saturating_sub(count)..]
            .iter()
            .map(without_spec)
            .collect();
        let cut = "the screen is large: of messageHistory only this is shown, without its specs";
        let text = json!({ "uiSpec": ui_spec, "messageHistory": bare, "cut": cut }).to_string();
        if text.len() <= MAX_SCREEN_BYTES {
            return text;
        }
    }
    let text = ui_spec.to_string();
    let piece = &text[..text.floor_char_boundary(MAX_PIECE_BYTES)];
    let (shown, bytes) = (piece.len(), text.len());
    let cut = format!("uiSpec is too large: these are the first {shown} of its {bytes} bytes");
    json!({ "uiSpec": piece, "messageHistory": [], "cut": cut }).to_string()
}

/// Each entry may hold the screen of its time; only the newest of those is news.
fn with_newest_spec_alone(entries: &[Value]) -> Vec<Value> {
    let newest = entries
        .iter()
        .rposition(|entry| entry.get("spec").is_some());
    let entries = entries.iter().enumerate();
    entries
        .map(|(at, entry)| match newest {
            Some(newest) if at == newest => entry.clone(),
            Some(_) | None => without_spec(entry),
        })
        .collect()
}

fn without_spec(entry: &Value) -> Value {
    match entry {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(key, _)| *key != "spec");
            Value::Object(
                fields
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect(),
            )
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use samovar_core::relay::MessageKind;

    use super::*;

    fn screen(state: Value) -> Screen {
        let Value::Object(payload) = state else {
            panic!("no object")
        };
        let mut screen = Screen::default();
        screen.update(Arc::new(Envelope::new(MessageKind::StateUpdated, payload)));
        screen
    }

    fn shown(screen: &Screen) -> Value {
        let text = screen.text();
        assert!(
            text.len() <= SCREEN.len() + MAX_SCREEN_BYTES,
            "{}",
            text.len()
        );
        serde_json::from_str(text.strip_prefix(SCREEN).unwrap()).unwrap()
    }

    // proves RL-23
    #[test]
    fn a_model_is_told_of_a_screen_within_bounds_whatever_the_host_shows() {
        let long = "x\"\\é".repeat(40_000);
        let entry = |at: usize| json!({"id": at, "type": "system", "spec": {"stage": at}});
        let entries: Vec<_> = (0..30).map(entry).collect();
        let plain = shown(&screen(
            json!({"uiSpec": {"a": 1}, "messageHistory": entries}),
        ));
        assert_eq!(plain["uiSpec"], json!({"a": 1}));
        let told = plain["messageHistory"].as_array().unwrap();
        assert_eq!((told.len(), &told[0]["id"]), (MAX_ENTRIES, &json!(10)));
        assert_eq!(told[18].get("spec"), None);
        assert_eq!(told[19]["spec"], json!({"stage": 29}));
        assert_eq!(plain.get("cut"), None);

        let many: Vec<_> = (0..9)
            .map(|at| json!({"id": at, "text": "y".repeat(9000)}))
            .collect();
        let fewer = shown(&screen(json!({"uiSpec": {"a": 1}, "messageHistory": many})));
        assert_eq!(
            fewer["messageHistory"].as_array().unwrap().len(),
            FEW_ENTRIES
        );
        assert!(fewer["cut"].is_string());

        let large = shown(&screen(
            json!({"uiSpec": {"t": long}, "messageHistory": [1]}),
        ));
        assert!(large["uiSpec"].as_str().unwrap().starts_with(r#"{"t":"x"#));
        assert!(large["cut"].as_str().unwrap().contains("too large"));
        for odd in [
            json!({}),
            json!({"uiSpec": 7, "messageHistory": {"no": "list"}}),
        ] {
            assert_eq!(shown(&screen(odd))["messageHistory"], json!([]));
        }
        assert_eq!(shown(&Screen::default())["uiSpec"], Value::Null);
    }

    #[test]
    fn the_result_of_a_call_is_shown_until_the_next_update() {
        let mut screen = screen(json!({"uiSpec": 1}));
        screen.hint(json!({"uiSpec": 2}).as_object().unwrap());
        assert_eq!(shown(&screen)["uiSpec"], json!(2));
        screen.hint(&Payload::new());
        assert_eq!(shown(&screen)["uiSpec"], json!(2));
        let payload = json!({"uiSpec": 3}).as_object().unwrap().clone();
        screen.update(Arc::new(Envelope::new(MessageKind::StateUpdated, payload)));
        assert_eq!(shown(&screen)["uiSpec"], json!(3));
    }
}
