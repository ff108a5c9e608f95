//! Who could answer: the model that does, the servers of this machine, the keys.

use samovar_core::Models as _;
use samovar_locale::{self as locale, doctor as text};
use samovar_server::models;
use samovar_server::providers::{Alternative, Idle, IdleKey, ProbeOutcome, SPECS};
use samovar_wire::api::{ModelReason, RememberedList};
use serde_json::Value;

use super::Finding;
use crate::access::running;
use crate::config::Setup;
use crate::exit::Exit;
use crate::model::{self, CONNECT};

/// The default model.
pub(super) async fn answers(found: &Setup) -> Finding {
    match models::choice(&found.registry).await {
        Ok(choice) => {
            let fact = text::model_answers(model::what(&choice));
            let finding = Finding::good("model", fact, model::reason(&choice, found));
            match choice.reason {
                ModelReason::Nothing { .. } => finding.with_command(CONNECT),
                ModelReason::Asked | ModelReason::Key { .. } | ModelReason::Local { .. } => finding,
            }
        }
        Err(error) => {
            let reason = model::asked(&found.model_from);
            let command = remedy(error.details.as_ref());
            Finding::bad("model", Exit::NoModel, error.message.into_owned(), reason)
                .with_command(command)
        }
    }
}

/// The models that are asked when that one keeps failing.
pub(super) fn fallbacks(found: &Setup) -> impl Iterator<Item = Finding> {
    let names = found.config.settings.fallback.iter();
    names.map(|name| {
        let reason = text::fallback_why();
        let error = match found.registry.resolve(name) {
            Ok(model) => {
                return Finding::good("fallback", text::fallback_asked(model.name), reason);
            }
            Err(error) => error,
        };
        let set = error.details.as_ref();
        let set = set.and_then(|details| details["set"][0].as_str());
        let command = match set {
            Some(variable) => format!("export {variable}=YOUR_KEY"),
            None => "samovar config explain defaults.fallback".to_owned(),
        };
        let fact = text::fallback_refused(locale::quoted(name), error.message);
        Finding::bad("fallback", Exit::Configuration, fact, reason).with_command(command)
    })
}

/// What to type when a model cannot be used.
fn remedy(details: Option<&Value>) -> String {
    let detail = |name: &str| details.and_then(|details| details[name][0].as_str());
    match (detail("set"), detail("nearest")) {
        (Some(variable), _) => format!("export {variable}=YOUR_KEY"),
        (None, Some(name)) => format!("export AGENT_MODEL={name}"),
        (None, None) => CONNECT.to_owned(),
    }
}

/// The model servers of this machine.
pub(super) async fn near(found: &Setup) -> Finding {
    let probed = found.registry.probe().await;
    if probed.looked_at.is_empty() {
        let fact = text::local_unasked().to_owned();
        return Finding::absent("local", fact, text::local_off());
    }
    let looked_at = probed.looked_at.iter();
    let (absent, seen): (Vec<_>, Vec<_>) =
        looked_at.partition(|look| look.seen == ProbeOutcome::Nobody);
    let names: Vec<_> = absent.iter().map(|look| look.display_name).collect();
    let absent = (!names.is_empty()).then(|| text::local_absent(names.join(", ")));
    let looks: Vec<_> = seen.iter().map(ToString::to_string).chain(absent).collect();
    let count = probed.models.len() as u64;
    let finding = if count == 0 {
        Finding::absent
    } else {
        Finding::good
    };
    finding("local", text::local_models(count), looks.join("; "))
}

/// The providers that have a key or an address.
pub(super) fn keys(found: &Setup) -> Finding {
    let config = &found.config.providers;
    let is_set_up = |name| config.keys.contains_key(name) || config.base_urls.contains_key(name);
    let rows = SPECS.iter().filter(|spec| is_set_up(spec.name));
    let names: Vec<_> = rows.map(|spec| spec.name).collect();
    match names.as_slice() {
        [] => Finding::absent(
            "providers",
            text::providers_none().to_owned(),
            text::keys_why(),
        ),
        some => Finding::good(
            "providers",
            text::providers_some(some.join(", ")),
            text::keys_why(),
        ),
    }
}

/// The proxies that are set, used or not.
pub(super) fn proxies(found: &Setup) -> impl Iterator<Item = Finding> {
    let proxies = &found.config.providers.proxies;
    proxies.settings().map(|setting| {
        let origin = &setting.origin;
        let why = if proxies.direct.is_empty() {
            text::proxy_why(origin)
        } else {
            text::proxy_why_exempt(origin, &proxies.direct_origin)
        };
        match &setting.proxy {
            Ok(proxy) => Finding::good("proxy", text::proxy_used(proxy), why),
            Err(error) => {
                let fact = text::proxy_ignored(origin, error);
                Finding::absent("proxy", fact, text::proxy_ignored_why())
            }
        }
    })
}

/// A key that nothing uses.
pub(super) fn idle(key: &IdleKey) -> Finding {
    let finding = Finding::good("key", key.to_string(), text::key_idle());
    match &key.reason {
        Idle::Unbuilt {
            way: Alternative::Custom(address),
        } => finding.with_command(format!("export CUSTOM_BASE_URL={address}")),
        Idle::Unbuilt {
            way: Alternative::Gateway,
        } => finding,
        Idle::NoAddress { set } => finding.with_command(format!("export {set}=ADDRESS")),
    }
}

/// What a running server says of its memories: which are not found as they should be, and why.
pub(super) async fn memories(found: &Setup) -> Vec<Finding> {
    let Some(client) = running(&found.config).await else {
        return Vec::new();
    };
    let list = client.get::<RememberedList>("/api/memory").await;
    let problems = list
        .map(|list| list.problems)
        .unwrap_or_default()
        .into_iter();
    let told = problems.map(|why| {
        Finding::absent("meaning", why, text::meaning_why()).with_command("samovar memory list")
    });
    told.collect()
}

/// What finds memories by their meaning; a provider is not asked.
pub(super) fn meaning(found: &Setup) -> Finding {
    let (what, reason) = ("meaning", text::meaning_why());
    match found.config.memory.embeddings.as_str() {
        "off" => Finding::good(what, text::meaning_off().to_owned(), reason),
        "embedded" if cfg!(feature = "embedded-model") => {
            Finding::good(what, text::meaning_embedded().to_owned(), reason)
        }
        "embedded" => Finding::absent(what, text::meaning_missing().to_owned(), reason),
        name => match found.registry.embeddings(name) {
            Ok(model) => Finding::good(what, text::meaning_by(model.name()), reason),
            Err(error) => {
                let why = error.message.into_owned();
                Finding::bad(what, Exit::Configuration, why, reason)
            }
        },
    }
}
