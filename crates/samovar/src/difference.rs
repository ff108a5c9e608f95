//! What a running server lacks of the models that this shell sets up: a command that asks the server
//! gets that server's model and keys.

use samovar_locale as text;
use samovar_server::models;
use samovar_wire::api::{ModelsAnswer, ProviderAccess};

use crate::client::{Client, Holder};
use crate::config::{ModelFrom, Setup};
use crate::screen::say;
use crate::timestamps::moment;

/// Says which server is asked, when its models are not those that this shell sets up. What the server
/// would choose matters only where nothing else says the model.
pub(crate) async fn tell(client: &Client, found: &Setup, is_session_known: bool) {
    let has_model = is_session_known || found.model_from == ModelFrom::Flag;
    if let (Some(holder), true) = (client.holder(), sets_models(found))
        && let Ok(answer) = client.get("/api/models").await
        && let Some(difference) = of(holder, &answer, found, has_model).await
    {
        say(&difference);
    }
}

/// What differs, in a sentence; `None` if nothing does. The choice of a model is left out where the
/// session or the command line has one.
pub(crate) async fn of(
    holder: Holder,
    answer: &ModelsAnswer,
    found: &Setup,
    has_model: bool,
) -> Option<String> {
    if !sets_models(found) {
        return None;
    }
    let lacks = lacks(answer, found);
    let chosen = answer.chosen.as_ref().map(|chosen| chosen.name.as_str());
    let ours = models::choice(&found.registry).await.ok();
    let ours = ours.as_ref().map(|ours| ours.name.as_str());
    if lacks.is_empty() && (has_model || chosen == ours) {
        return None;
    }
    let since = moment(holder.since);
    let asked = if has_model {
        text::difference::asked(holder.pid, since)
    } else {
        let chosen = chosen.unwrap_or(text::difference::no_model());
        text::difference::model(holder.pid, since, chosen)
    };
    Some(if lacks.is_empty() {
        asked
    } else {
        text::difference::lacks(asked, lacks.join(", "))
    })
}

/// Whether this shell sets anything that decides about models. Then the choice needs no look at the
/// servers of this machine.
fn sets_models(found: &Setup) -> bool {
    let models = &found.config.providers;
    !(models.keys.is_empty() && models.base_urls.is_empty() && models.default_model.is_none())
}

/// The variables that set what the server does not have.
fn lacks(answer: &ModelsAnswer, found: &Setup) -> Vec<String> {
    let ours = &found.config.providers;
    let mut lacks = Vec::new();
    for theirs in &answer.providers {
        let name = &theirs.name;
        if ours.keys.contains_key(name) && theirs.access != ProviderAccess::Key {
            lacks.extend(ours.key_origins.get(name).cloned());
        }
        let base = ours
            .base_urls
            .get(name)
            .map(|base| base.trim_end_matches('/'));
        let of_theirs = theirs
            .base_url
            .as_deref()
            .map(|base| base.trim_end_matches('/'));
        if base.is_some() && base != of_theirs {
            lacks.extend(found.base_origins.get(name).cloned());
        }
    }
    lacks
}
