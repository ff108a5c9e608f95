//! A definition as a Markdown file: front matter between lines of `---`, then the system prompt.

use std::borrow::Cow;
use std::fmt;

use samovar_core::Approval;
use samovar_locale::agent as text;
use samovar_locale::quoted;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_saphyr::options::MergeKeyPolicy;
use serde_saphyr::{MessageFormatter, Options, UserMessageFormatter};

use crate::draft::{Draft, ModelDraft};

const FENCE: &str = "---";

/// The front matter. A key that is not among these is a mistake.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FrontMatter {
    name: Option<String>,
    display_name: Option<String>,
    model: Option<Model>,
    #[serde(default)]
    tool_keys: Vec<String>,
    #[serde(default)]
    allowed_sub_agents: Vec<String>,
    max_depth: Option<u32>,
    max_steps: Option<u32>,
    #[serde(default = "is_on")]
    enabled: bool,
    #[serde(default)]
    page_ids: Vec<String>,
    workspace_id: Option<String>,
    approval: Option<Approval>,
    skills: Option<Vec<String>>,
    #[serde(default)]
    memory: bool,
}

fn is_on() -> bool {
    true
}

/// A model's name, or the name with what belongs to it.
struct Model(ModelDraft);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FullModel {
    provider: Option<String>,
    model_id: String,
    #[serde(default)]
    params: Params,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Params {
    temperature: Option<f32>,
    max_tokens: Option<u32>,
}

/// Parses the text of a file that is named after the agent `name`. Returns the definition, and
/// whether it is switched on.
///
/// # Errors
/// Why the file is no definition, in one sentence.
pub fn parse(name: &str, content: &str) -> Result<(Draft, bool), String> {
    let (yaml, prompt) = split(content).ok_or_else(|| text::no_front_matter().to_owned())?;
    let found = front_matter::<FrontMatter>(yaml)?;
    // Front matter without any key.
    let found = found.ok_or_else(|| text::no_front_matter().to_owned())?;
    if let Some(other) = found.name.as_deref().filter(|other| *other != name) {
        return Err(text::other_file_name(quoted(other), name));
    }
    let draft = Draft {
        display_name: found.display_name,
        system_prompt: prompt.trim().to_owned(),
        model: found.model.map(|model| model.0),
        tool_keys: found.tool_keys,
        allowed_sub_agents: found.allowed_sub_agents,
        max_depth: found.max_depth,
        max_steps: found.max_steps,
        approval: found.approval,
        workspace_id: found.workspace_id,
        page_ids: found.page_ids,
        skills: found.skills,
        memory: found.memory,
    };
    Ok((draft, found.enabled))
}

/// Reads front matter; `None` if it has no key.
///
/// # Errors
/// The mistake in it, in one sentence.
pub(crate) fn front_matter<T: DeserializeOwned>(yaml: &str) -> Result<Option<T>, String> {
    let read = serde_saphyr::from_str_with_options::<Option<T>>(yaml, options());
    read.map_err(|error| {
        let cause = error.render_with_formatter(&Plain);
        text::bad_front_matter(one_line(&cause))
    })
}

/// The front matter with its first fence, which is YAML too and counts as a line, and what follows
/// the second.
pub(crate) fn split(content: &str) -> Option<(&str, &str)> {
    let content = content.strip_prefix('\u{feff}').unwrap_or(content);
    let mut at = 0;
    for (number, line) in content.split_inclusive('\n').enumerate() {
        let is_fence = line.trim_end() == FENCE;
        match number {
            0 if !is_fence => return None,
            0 => {}
            _ if is_fence => return Some((&content[..at], &content[at + line.len()..])),
            _ => {}
        }
        at += line.len();
    }
    None
}

/// Plain data: nothing that refers to or stands for anything else.
fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_anchors: 0,
            max_aliases: 0,
            max_documents: 1,
            max_depth: 8,
        },
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

/// The parser's words, but for the names of Rust's types.
struct Plain;

impl MessageFormatter for Plain {
    fn format_message<'a>(&self, error: &'a serde_saphyr::Error) -> Cow<'a, str> {
        match error {
            serde_saphyr::Error::InvalidScalar { ty: "u32", .. } => text::no_number().into(),
            other => UserMessageFormatter.format_message(other),
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl<'de> Deserialize<'de> for Model {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Model;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a model's name, or its modelId, provider and params")
            }

            fn visit_str<E>(self, name: &str) -> Result<Model, E> {
                Ok(Model(ModelDraft {
                    model_id: name.to_owned(),
                    ..ModelDraft::default()
                }))
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Model, M::Error> {
                let full = FullModel::deserialize(MapAccessDeserializer::new(map))?;
                Ok(Model(ModelDraft {
                    provider: full.provider,
                    model_id: full.model_id,
                    temperature: full.params.temperature,
                    max_tokens: full.params.max_tokens,
                }))
            }
        }

        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests;
