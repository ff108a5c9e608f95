//! Other places on the network and on Earth: hosts that mean the server, pages that may use it,
//! addresses that it may contact, tools at such addresses, and the time zone.

use std::time::Duration;

use jiff::tz::TimeZone;
use samovar_config::{ConfigError, CustomTool, Origin, Problem, Resolved, Sources};
use samovar_locale as text;
use samovar_server::egress::Range;
use samovar_server::{Config, ConfiguredTool};

use super::{exec, web};

/// Takes over what is set.
///
/// # Errors
/// [`ConfigError`]: a host, an origin, a range or a time zone is not valid, or a tool lacks a setting that it needs.
pub(super) fn set_up(
    config: &mut Config,
    resolved: &Resolved,
    sources: &Sources,
) -> Result<(), ConfigError> {
    config.search = web::search(resolved)?;
    config.exec = Some(Box::new(exec::exec(&resolved.settings.tools.exec, sources)));
    let key = "server.hosts";
    for written in &resolved.settings.server.hosts {
        let host = written.parse().map_err(|_| {
            let right = text::config::expected_host();
            unusable(resolved, key, resolved.origin(key), written, right)
        })?;
        config.hosts.push(host);
    }
    let key = "server.origins";
    for written in &resolved.settings.server.origins {
        let origin = written.parse().map_err(|_| {
            let right = text::config::expected_page_origin();
            unusable(resolved, key, resolved.origin(key), written, right)
        })?;
        config.origins.push(origin);
    }
    let key = "egress.allow";
    for written in &resolved.settings.egress.allow {
        let range = written.parse::<Range>().map_err(|_| {
            let right = text::config::expected_range();
            unusable(resolved, key, resolved.origin(key), written, right)
        })?;
        config.egress.push(range);
    }
    let key = "memory.time_zone";
    if let Some(written) = &resolved.settings.memory.time_zone {
        let zone = TimeZone::get(written).map_err(|_| {
            let right = text::config::expected_time_zone();
            unusable(resolved, key, resolved.origin(key), written, right)
        })?;
        config.memory.zone = Some(zone);
    }
    for (name, custom) in &resolved.settings.tools.custom {
        config.tools.push(tool(resolved, name, custom)?);
    }
    Ok(())
}

fn tool(
    resolved: &Resolved,
    name: &str,
    custom: &CustomTool,
) -> Result<ConfiguredTool, ConfigError> {
    let missing = |key: &str, right: &str| {
        let key = format!("tools.custom.{name}.{key}");
        unusable(resolved, &key, place(resolved, name), "", right)
    };
    let url = custom.url.as_deref();
    let url = url.ok_or_else(|| missing("url", text::config::expected_url()))?;
    let description = custom.description.as_deref();
    let description =
        description.ok_or_else(|| missing("description", text::config::expected_description()))?;
    let mut tool = ConfiguredTool::new(name, description, url);
    // That it is JSON was seen when it was read.
    let parameters = custom.parameters.as_deref();
    tool.parameters = parameters.and_then(|text| serde_json::from_str(text).ok());
    if let Some(seconds) = custom.timeout {
        tool.timeout = Duration::from_secs(seconds.into());
    }
    tool.effect = custom.effect.unwrap_or_default().into();
    tool.closed = custom.closed.unwrap_or_default();
    Ok(tool)
}

/// Where a tool stands: what it lacks has no place of its own.
fn place(resolved: &Resolved, name: &str) -> Origin {
    let keys = [
        "url",
        "description",
        "parameters",
        "timeout",
        "effect",
        "closed",
    ];
    let mut places = keys
        .iter()
        .map(|key| resolved.origin(&format!("tools.custom.{name}.{key}")));
    places
        .find(|place| *place != Origin::Default)
        .unwrap_or(Origin::Default)
}

pub(super) fn unusable(
    resolved: &Resolved,
    name: &str,
    place: Origin,
    found: &str,
    right: &str,
) -> ConfigError {
    match resolved.keys().get(name) {
        Some(key) => ConfigError::unusable(place, &key.named(name), found, right),
        None => Problem::UnknownKey {
            name: name.to_owned(),
            nearest: None,
        }
        .into(),
    }
}
