//! Asks one server for its models, in the way of its row.

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::ask::Asker;
use super::listing::{self, ListedModel};
use super::{LocalModel, ProbeOutcome};
use crate::endpoint::Endpoint;
use crate::registry::MAX_NAME_BYTES;
use crate::specs::{Listing, ProviderSpec};

/// Models of one Ollama that are asked what they can do: the first of its list, which are those
/// that were fetched last.
const MAX_SHOWN: usize = 16;

/// The models of a server that can hold a conversation, in its own order.
pub(super) async fn models(
    endpoint: &Endpoint,
    deadline: Instant,
) -> Result<Vec<LocalModel>, ProbeOutcome> {
    let asker = Asker::new(endpoint, deadline);
    let listed = match endpoint.spec.listing {
        Listing::Names => names(asker).await,
        Listing::Ollama => or_names(ollama(asker).await, asker).await,
        Listing::LmStudio => or_names(lm_studio(asker).await, asker).await,
        Listing::LlamaCpp => llama_cpp(asker).await,
    }?;
    let models = listed.iter();
    Ok(models
        .filter_map(|model| local(endpoint.spec, model))
        .collect())
}

/// A server that does not know its own list has at least the one that all have.
async fn or_names(
    own: Result<Vec<ListedModel>, ProbeOutcome>,
    asker: Asker<'_>,
) -> Result<Vec<ListedModel>, ProbeOutcome> {
    match own {
        Err(
            ProbeOutcome::Status(_)
            | ProbeOutcome::NotJson(_)
            | ProbeOutcome::NoList
            | ProbeOutcome::TooLong,
        ) => names(asker).await,
        Ok(_)
        | Err(
            ProbeOutcome::Models(_)
            | ProbeOutcome::Nobody
            | ProbeOutcome::Late
            | ProbeOutcome::Locked
            | ProbeOutcome::Broken(_)
            | ProbeOutcome::Unaskable(_),
        ) => own,
    }
}

async fn names(asker: Asker<'_>) -> Result<Vec<ListedModel>, ProbeOutcome> {
    listing::names(&asker.models().await?)
}

async fn ollama(asker: Asker<'_>) -> Result<Vec<ListedModel>, ProbeOutcome> {
    let mut listed = listing::ollama(&asker.get_own(&["api", "tags"]).await?)?;
    let questions: Vec<Value> = listed
        .iter()
        .take(MAX_SHOWN)
        .map(|model| json!({ "model": model.name }))
        .collect();
    let answers = questions
        .iter()
        .map(|question| asker.post_own(&["api", "show"], question));
    let answers = join_all(answers).await;
    // One that is not told of, or not in time, is a model all the same.
    for (model, answer) in listed.iter_mut().zip(answers) {
        if let Ok(shown) = answer {
            model.abilities = listing::ollama_abilities(model.abilities, &shown);
        }
    }
    Ok(listed)
}

async fn lm_studio(asker: Asker<'_>) -> Result<Vec<ListedModel>, ProbeOutcome> {
    listing::lm_studio(&asker.get_own(&["api", "v0", "models"]).await?)
}

async fn llama_cpp(asker: Asker<'_>) -> Result<Vec<ListedModel>, ProbeOutcome> {
    let (list, props) = join(asker.models(), asker.get_own(&["props"])).await;
    let mut listed = listing::llama_cpp(&list?)?;
    // What it tells is of the one model that it serves.
    if let ([model], Ok(props)) = (listed.as_mut_slice(), &props) {
        model.abilities.tools = listing::llama_cpp_tools(props);
        model.abilities.images = props["modalities"]["vision"].as_bool();
    }
    Ok(listed)
}

fn local(spec: &'static ProviderSpec, listed: &ListedModel) -> Option<LocalModel> {
    let name = spec.canonical(&listed.name);
    let is_usable = listed.abilities.talks
        && !listed.name.is_empty()
        && listed.name.trim() == listed.name
        && !name.ends_with('/')
        && !name.chars().any(char::is_control)
        && name.len() <= MAX_NAME_BYTES;
    is_usable.then_some(LocalModel {
        name,
        provider: spec.name,
        tools: listed.abilities.tools,
        images: listed.abilities.images,
        is_loaded: listed.is_loaded,
        window: listed.window,
        is_llama_cpp: listed.is_llama_cpp,
    })
}
