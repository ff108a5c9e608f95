//! What clients of the server, external agents and hosts send.

use std::fmt::Debug;

use samovar_core::{EventId, SessionId, json};
use samovar_wire::agent::{
    CancelParams, CreateSessionParams, DeleteSessionParams, GetMessagesParams, PaginationParams,
    ResumeParams, SendMessageParams, StreamParams, UndoParams, UpdateSessionParams,
};
use samovar_wire::params;
use samovar_wire::relay;
use samovar_wire::sse::FrameId;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The parameters of every method, the cursor of a stream and an id.
pub(crate) fn request(data: &[u8]) {
    body::<CancelParams>(data);
    body::<CreateSessionParams>(data);
    body::<DeleteSessionParams>(data);
    body::<GetMessagesParams>(data);
    body::<PaginationParams>(data);
    body::<ResumeParams>(data);
    body::<SendMessageParams>(data);
    body::<StreamParams>(data);
    body::<UndoParams>(data);
    body::<UpdateSessionParams>(data);
    if let Ok(value) = json::read(data) {
        // A second reader of the same bytes finds the same.
        assert_eq!(
            serde_json::from_slice::<Value>(data).ok(),
            Some(value.clone())
        );
        let written = value.to_string();
        assert_eq!(
            json::read(written.as_bytes()).ok(),
            Some(value),
            "{written}"
        );
    }
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    if let Some(id) = FrameId::read(text) {
        assert_eq!(id.to_string(), text);
    }
    if let Ok(id) = text.parse::<EventId>() {
        assert_eq!(id.to_string().parse().ok(), Some(id));
    }
    if let Ok(id) = SessionId::new(text) {
        assert_eq!(id.as_str(), text);
        assert!(!text.contains(char::is_control));
    }
    query::<GetMessagesParams>(text);
    query::<ResumeParams>(text);
    query::<PaginationParams>(text);
}

/// Parameters in a body are written back the same, and mean the same under the key `params`.
fn body<T: DeserializeOwned + Serialize + PartialEq + Debug>(data: &[u8]) {
    let Ok(given) = params::from_body::<T>(data) else {
        return;
    };
    let written = serde_json::to_vec(&given).expect("parameters are JSON");
    let again = params::from_body::<T>(&written);
    assert_eq!(
        again.ok().as_ref(),
        Some(&given),
        "{}",
        String::from_utf8_lossy(&written)
    );
    // What is under the key already stays there.
    let is_bare =
        !serde_json::from_slice::<Value>(data).is_ok_and(|body| body["params"].is_object());
    let wrapped = [b"{\"params\":", data, b"}"].concat();
    if let Ok(wrapped) = params::from_body::<T>(&wrapped)
        && is_bare
    {
        assert_eq!(wrapped, given);
    }
}

/// Parameters in a query, one a line.
fn query<T: DeserializeOwned + Serialize + PartialEq + Debug>(text: &str) {
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    let pairs: Vec<_> = pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let Ok(given) = params::from_query::<T>(pairs) else {
        return;
    };
    let written = serde_json::to_vec(&given).expect("parameters are JSON");
    assert_eq!(
        params::from_body::<T>(&written).ok(),
        Some(given),
        "{text:?}"
    );
}

/// An envelope of the relay is written back the same.
pub(crate) fn relay_envelope(data: &[u8]) {
    let envelope = match relay::decode(data) {
        Ok(envelope) => envelope,
        Err(malformed) => {
            // The refusal is a sentence, and answers only an id that may be one.
            assert!(malformed.why.len() < 1_000, "{}", malformed.why);
            let id = malformed.reply_to.unwrap_or_default();
            assert!(id.len() <= relay::MAX_ID_BYTES);
            return;
        }
    };
    let written = relay::encode(&envelope);
    assert_eq!(relay::decode(written.as_bytes()), Ok(envelope), "{written}");
}
