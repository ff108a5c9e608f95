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

/// The results of tools, in the order in which they were shown.
pub(crate) fn results(frames: &[Frame]) -> Vec<&str> {
    let results = frames
        .iter()
        .filter(|frame| frame.kind() == "tool_call_result");
    results
        .filter_map(|frame| frame.data["result"].as_str())
        .collect()
}

/// The messages of role `tool` in a prompt, as the model server got them.
pub(crate) fn told(prompt: &Value) -> Vec<&str> {
    let messages = prompt["messages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let tools = messages.iter().filter(|message| message["role"] == "tool");
    tools
        .filter_map(|message| message["content"].as_str())
        .collect()
}
