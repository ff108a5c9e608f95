//! Whether a definition is valid (SA-3, SA-17, SA-20): pure, and the same for files and rows.

use std::collections::BTreeSet;

use samovar_core::Agent;
use samovar_core::agent::{SubAgents, TEMPLATE_NAMES, ToolKeys};
use samovar_core::instructions::MAX_PROMPT_BYTES;
use samovar_locale::agent as text;
use samovar_locale::quoted;

/// The built-in tools, some of which this build or this workplace may lack. A definition may name
/// them all the same: without them it is incomplete, not invalid.
pub const KNOWN_TOOLS: [&str; 13] = [
    "ask_user",
    "edit_file",
    "get_current_tab",
    "get_tabs",
    "list_dir",
    "open_url",
    "post_message",
    "read_file",
    "read_skill",
    "search_files",
    "web_fetch",
    "web_search",
    "write_file",
];

/// Maximum length of a display name and of a model's name, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// Maximum length of a tool's key and of the id of a workspace or a page, in bytes.
const MAX_KEY_BYTES: usize = 128;

/// Maximum number of tools and of pages.
const MAX_KEYS: usize = 128;

/// Maximum number of agents that one may name.
const MAX_SUB_AGENTS: usize = 200;

/// The greatest `maxDepth`.
const MAX_DEPTH: u32 = 8;

/// The greatest `maxSteps`.
const MAX_STEPS: u32 = 1000;

/// The highest temperature.
const MAX_TEMPERATURE: f32 = 2.0;

/// Edits by which a mistyped key may differ from the one that is meant.
const TYPO: usize = 3;

/// Why a definition is invalid, whatever tools there are. `None` if it is valid.
pub fn check(agent: &Agent) -> Option<String> {
    let bytes = agent.system_prompt.len();
    if bytes > MAX_PROMPT_BYTES {
        return Some(text::prompt_too_long(bytes, MAX_PROMPT_BYTES));
    }
    if let Some(name) = unknown_name(&agent.system_prompt) {
        return Some(text::unknown_variable(
            quoted(name),
            TEMPLATE_NAMES.join(", "),
        ));
    }
    if agent.max_depth.is_some_and(|depth| depth > MAX_DEPTH) {
        return Some(text::bad_number("maxDepth", 0, MAX_DEPTH));
    }
    if agent
        .max_steps
        .is_some_and(|steps| steps == 0 || steps > MAX_STEPS)
    {
        return Some(text::bad_number("maxSteps", 1, MAX_STEPS));
    }
    lists(agent)
        .or_else(|| names(agent))
        .or_else(|| model(agent))
}

fn lists(agent: &Agent) -> Option<String> {
    if let SubAgents::Only(names) = &agent.sub_agents {
        if names.contains(&agent.name) {
            return Some(text::calls_itself(&agent.name));
        }
        if names.len() > MAX_SUB_AGENTS {
            return Some(text::too_long_list("allowedSubAgents", MAX_SUB_AGENTS));
        }
    }
    let keys = match &agent.tools {
        ToolKeys::All => 0,
        ToolKeys::Only(keys) => keys.len(),
    };
    for (field, length) in [("toolKeys", keys), ("pageIds", agent.page_ids.len())] {
        if length > MAX_KEYS {
            return Some(text::too_long_list(field, MAX_KEYS));
        }
    }
    None
}

fn names(agent: &Agent) -> Option<String> {
    let ids = agent.workspace_id.iter().map(|id| ("workspaceId", id));
    let pages = agent.page_ids.iter().map(|id| ("pageIds", id));
    let mut ids = ids.chain(pages);
    if !is_line(&agent.display_name, MAX_NAME_BYTES) {
        return Some(text::bad_text("displayName", MAX_NAME_BYTES));
    }
    let (field, _) = ids.find(|(_, id)| !is_line(id, MAX_KEY_BYTES))?;
    Some(text::bad_text(field, MAX_KEY_BYTES))
}

fn model(agent: &Agent) -> Option<String> {
    let model = agent.model.as_ref()?;
    if !is_line(&model.name, MAX_NAME_BYTES) {
        return Some(text::bad_text("modelId", MAX_NAME_BYTES));
    }
    let is_warm = |heat: f32| (0.0..=MAX_TEMPERATURE).contains(&heat);
    if model.temperature.is_some_and(|heat| !is_warm(heat)) {
        return Some(text::bad_number("temperature", 0, MAX_TEMPERATURE));
    }
    if model.max_tokens == Some(0) {
        return Some(text::bad_number("maxTokens", 1, u32::MAX));
    }
    None
}

/// Whether a text has 1 to so many bytes in one line of visible characters.
fn is_line(text: &str, max_bytes: usize) -> bool {
    !text.trim().is_empty() && text.len() <= max_bytes && !text.chars().any(char::is_control)
}

/// The first name between `{{` and `}}` that a prompt must not use. Braces that are not closed are
/// text.
fn unknown_name(prompt: &str) -> Option<&str> {
    let mut rest = prompt;
    while let Some((_, after)) = rest.split_once("{{") {
        let (name, after) = after.split_once("}}")?;
        let name = name.trim();
        if !TEMPLATE_NAMES.contains(&name) {
            return Some(name);
        }
        rest = after;
    }
    None
}

/// What a definition's tools come to on a server that has `available`: why it is invalid, and which
/// tools are missing.
pub(crate) fn tools(agent: &Agent, available: &BTreeSet<String>) -> (Option<String>, Vec<String>) {
    let ToolKeys::Only(keys) = &agent.tools else {
        return (None, Vec::new());
    };
    let is_known = |key: &str| KNOWN_TOOLS.contains(&key);
    let lacking = keys.iter().filter(|key| !available.contains(*key));
    let (missing, unknown): (Vec<&String>, Vec<&String>) =
        lacking.partition(|key| is_known(key.as_str()));
    let invalid = unknown.first().map(|key| unknown_tool(key, available));
    (invalid, missing.into_iter().cloned().collect())
}

fn unknown_tool(key: &str, available: &BTreeSet<String>) -> String {
    let known = available.iter().map(String::as_str).chain(KNOWN_TOOLS);
    let as_long = known.filter(|known| known.len().abs_diff(key.len()) <= TYPO);
    let near = as_long
        .map(|known| (strsim::osa_distance(key, known), known))
        .min();
    match near.filter(|(distance, _)| *distance <= TYPO) {
        Some((_, known)) => text::unknown_tool_near(quoted(key), known),
        None => text::unknown_tool(quoted(key)),
    }
}

#[cfg(test)]
mod tests;
