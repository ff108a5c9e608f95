//! One call out of the text of a model.

use std::sync::Arc;

use samovar_core::{ProviderEvent, ToolCall, ToolSpec};
use serde_json::{Map, Value};

const PARAMETER: &str = "<parameter=";
const PARAMETER_END: &str = "</parameter>";

/// A call of a tool that was offered.
pub(super) struct Call {
    name: String,
    args: Map<String, Value>,
}

impl Call {
    /// Parses JSON into calls: one object or a list of them, or, after a tool was named, the arguments
    /// alone. Without a mark a call must have arguments, or any object with a name would be one.
    pub(super) fn of_json(
        text: &str,
        name: Option<String>,
        is_marked: bool,
        tools: &[Arc<ToolSpec>],
    ) -> Option<Vec<Self>> {
        let value = samovar_core::json::read(text.as_bytes()).ok()?;
        if let Some(name) = name {
            return Some(vec![Self::new(name, value, tools)?]);
        }
        let items = match value {
            Value::Array(items) => items,
            one => vec![one],
        };
        let calls = items
            .into_iter()
            .map(|item| Self::of(item, is_marked, tools));
        calls.collect()
    }

    /// A call whose arguments are marked: `<parameter=path>a.txt</parameter>`.
    pub(super) fn of_parameters(name: String, text: &str, tools: &[Arc<ToolSpec>]) -> Option<Self> {
        let mut args = Map::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            let (parameter, after) = rest.strip_prefix(PARAMETER)?.split_once('>')?;
            let (value, after) = after.split_once(PARAMETER_END)?;
            let value = value.strip_prefix('\n').unwrap_or(value);
            let value = value.strip_suffix('\n').unwrap_or(value);
            args.insert(parameter.trim().to_owned(), value.into());
            rest = after.trim_start();
        }
        Self::new(name, Value::Object(args), tools)
    }

    /// `{"name": .., "arguments": {..}}`, as some spell it with `parameters`, or inside a `function`.
    fn of(value: Value, is_marked: bool, tools: &[Arc<ToolSpec>]) -> Option<Self> {
        let Value::Object(mut call) = value else {
            return None;
        };
        call.remove("id");
        if call.remove("type").is_some_and(|kind| kind != "function") {
            return None;
        }
        if let Some(Value::Object(inside)) = call.get("function") {
            call = inside.clone();
        }
        let Some(Value::String(name)) = call.remove("name") else {
            return None;
        };
        let args = call
            .remove("arguments")
            .or_else(|| call.remove("parameters"))
            .or_else(|| is_marked.then(|| Map::new().into()))?;
        if !call.is_empty() {
            return None;
        }
        Self::new(name, args, tools)
    }

    /// A call, if the tool was offered and has exactly such arguments.
    fn new(name: String, args: Value, tools: &[Arc<ToolSpec>]) -> Option<Self> {
        let raw = match args {
            Value::String(raw) => raw,
            other => other.to_string(),
        };
        let Value::Object(args) = ToolCall::parse_args(&raw) else {
            return None;
        };
        let schema = &tools.iter().find(|tool| tool.name == name)?.parameters;
        let known = |name: &String| schema["properties"].get(name).is_some();
        let required = schema["required"].as_array().into_iter().flatten();
        let mut required = required.filter_map(Value::as_str);
        let fits = args.keys().all(known) && required.all(|name| args.contains_key(name));
        fits.then_some(Self { name, args })
    }

    /// Emits the events that a dialect with native calls would; `at` is its place in the answer.
    pub(super) fn tell(self, at: usize, told: &mut Vec<ProviderEvent>) {
        let Self { name, args } = self;
        let (id, args) = (at.to_string(), Value::Object(args));
        told.push(ProviderEvent::ToolCallStart {
            id: id.clone(),
            name: name.clone(),
        });
        told.push(ProviderEvent::ToolCallDelta {
            id: id.clone(),
            args_json: args.to_string(),
        });
        told.push(ProviderEvent::ToolCallEnd {
            id,
            name,
            args,
            provider_state: None,
        });
    }
}
