//! What a stream showed.

use samovar_testkit::Frame;
use serde_json::Value;

/// The types of the frames, in order.
pub(crate) fn kinds(frames: &[Frame]) -> Vec<&str> {
    frames.iter().map(kind).collect()
}

fn kind(frame: &Frame) -> &str {
    if frame.is_done() {
        "[DONE]"
    } else {
        frame.kind()
    }
}

/// All text that was shown.
pub(crate) fn text(frames: &[Frame]) -> String {
    let contents = frames.iter().map(|frame| &frame.data["content"]);
    contents.filter_map(Value::as_str).collect()
}

/// What stands before `[DONE]`.
pub(crate) fn last(frames: &[Frame]) -> &Value {
    match frames {
        [.., last, done] if done.is_done() => &last.data,
        _ => panic!("the stream did not end: {frames:?}"),
    }
}
