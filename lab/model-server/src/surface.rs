//! What a server tells about itself, each local one in its own way.
//!
//! Each file says whose answers it follows. Versions, sizes and dates are made up and always the
//! same; the shapes, the words and the errors are those of the real ones.

mod jan;
mod llama_cpp;
mod lm_studio;
mod ollama;
mod vllm;

use http::Method;
use serde_json::Value;

use crate::{
    model::Model,
    script::{Failure, Page},
};

/// Whose server the scripted one passes for, to those who look what is there.
///
/// Prompts are answered as the script says, whatever this is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Surface {
    /// A provider on the internet: it lists its models and nothing else.
    #[default]
    Hosted,
    /// Ollama: `/api/version`, `/api/tags` and, with the capabilities of a model, `/api/show`.
    /// It refuses tools for a model that has none.
    Ollama,
    /// LM Studio: `/api/v0/models` and `/api/v1/models` tell kind, state and tools. An unknown
    /// path gets an error with status 200, as from the real one.
    LmStudio,
    /// llama.cpp: `/props` tells what the chat template of its first model can do. Without any
    /// model it says that it is still loading.
    LlamaCpp,
    /// vLLM: its list tells who owns a model, and nothing about tools.
    Vllm,
    /// Jan: as vLLM.
    Jan,
}

/// A request that asks no model.
pub(crate) struct Question<'a> {
    pub(crate) method: &'a Method,
    pub(crate) path: &'a str,
    pub(crate) body: Option<&'a Value>,
}

impl Surface {
    /// The answer to a question; none where the dialect has to know.
    pub(crate) fn answer(self, question: &Question<'_>, models: &[Model]) -> Option<Page> {
        match self {
            Surface::Hosted => None,
            Surface::Ollama => Some(ollama::answer(question, models)),
            Surface::LmStudio => Some(lm_studio::answer(question, models)),
            Surface::LlamaCpp => Some(llama_cpp::answer(question, models)),
            Surface::Vllm => Some(vllm::answer(question, models)),
            Surface::Jan => Some(jan::answer(question, models)),
        }
    }

    /// Refuses a prompt that offers tools to a model that has none.
    pub(crate) fn check_tools(self, model: &Model, tools: &[String]) -> Result<(), Failure> {
        match self {
            Surface::Ollama if !tools.is_empty() && !model.has_tools() => {
                Err(ollama::toolless(model))
            }
            Surface::Hosted
            | Surface::Ollama
            | Surface::LmStudio
            | Surface::LlamaCpp
            | Surface::Vllm
            | Surface::Jan => Ok(()),
        }
    }

    /// Whether any model name will do when no model is named. A local server has what it has.
    pub(crate) fn takes_any_model(self) -> bool {
        self == Surface::Hosted
    }
}

impl Question<'_> {
    /// Whether this is a `GET` of `path`.
    fn gets(&self, path: &str) -> bool {
        *self.method == Method::GET && self.path == path
    }
}

fn text(status: u16, body: &str) -> Page {
    Page {
        status,
        content_type: "text/plain; charset=utf-8".to_owned(),
        body: body.to_owned(),
    }
}
