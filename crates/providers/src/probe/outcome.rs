//! The result of asking one server for its models.

use std::fmt;

use reqwest::Url;
use samovar_locale as locale;
use serde::Serialize;

use super::LocalModel;
use crate::specs;

/// One server that was asked for its models. Its text is a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServerProbe {
    /// The name of its row in [`SPECS`](crate::SPECS).
    pub provider: &'static str,
    /// The name for people.
    pub display_name: &'static str,
    /// Its base URL without what may be secret in it; empty when it has none that can be read.
    pub address: String,
    /// The result.
    pub seen: ProbeOutcome,
}

/// The result of asking a server for its models.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "detail")]
pub enum ProbeOutcome {
    /// It has this many models that can hold a conversation, possibly 0.
    Models(usize),
    /// No server accepts a connection there.
    Nobody,
    /// It did not answer completely in time.
    Late,
    /// It requires a key.
    Locked,
    /// It answered with another status than 200, as what is not there does.
    Status(u16),
    /// It answered with something else than JSON: this content type.
    NotJson(String),
    /// It sent more than such a list can have.
    TooLong,
    /// It sent JSON, or half of it, that is no list of models.
    NoList,
    /// It broke off, or spoke no HTTP: what the system says.
    Broken(String),
    /// It could not be asked, for this reason.
    Unaskable(String),
}

impl ServerProbe {
    /// Why a model of this server was chosen.
    pub(super) fn why(&self, model: &LocalModel) -> String {
        let is_known = specs::spec(self.provider).is_some_and(|spec| spec.is_local);
        let provider = if is_known {
            self.display_name
        } else {
            locale::probe::some_server()
        };
        let address = self.authority();
        match model.tools {
            Some(true) => locale::probe::chosen_with_tools(provider, address),
            None => locale::probe::chosen_untold(provider, address),
            Some(false) => locale::probe::chosen_without_tools(provider, address),
        }
    }

    /// The host and the port of its address.
    fn authority(&self) -> &str {
        let address = self.address.split_once("://");
        let address = address.map_or(self.address.as_str(), |(_, rest)| rest);
        address.split('/').next().unwrap_or(address)
    }
}

impl fmt::Display for ServerProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (provider, address) = (self.display_name, &self.address);
        let sentence = match &self.seen {
            ProbeOutcome::Models(0) => locale::probe::no_model(provider, address),
            ProbeOutcome::Models(count) => locale::probe::models(provider, address, *count as u64),
            ProbeOutcome::Nobody => locale::probe::nobody(provider, address),
            ProbeOutcome::Late => locale::probe::late(provider, address),
            ProbeOutcome::Locked => locale::probe::locked(provider, address),
            ProbeOutcome::Status(status) => locale::probe::status(address, provider, status),
            ProbeOutcome::NotJson(media) => locale::probe::not_json(address, provider, media),
            ProbeOutcome::TooLong => locale::probe::too_long(address, provider),
            ProbeOutcome::NoList => locale::probe::no_list(address, provider),
            ProbeOutcome::Broken(cause) => locale::probe::broken(address, provider, cause),
            ProbeOutcome::Unaskable(cause) => locale::probe::unaskable(provider, cause),
        };
        f.write_str(&sentence)
    }
}

/// An address without its user, its password and its query, any of which may be a key.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    // Refused by addresses without a host alone, which have nobody to hide either.
    let is_clean = url.set_username("").is_ok() && url.set_password(None).is_ok();
    if is_clean {
        url.to_string()
    } else {
        String::new()
    }
}
