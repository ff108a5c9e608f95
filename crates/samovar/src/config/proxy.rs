//! The proxies through which models elsewhere are asked.

use samovar_config::{ConfigError, Origin, ProxyVariable, Resolved, Sources};
use samovar_locale as text;
use samovar_server::providers::{Proxy, ProxyConfig, ProxySetting};

use super::elsewhere::unusable;
use super::handed;

const KEY: &str = "models.proxy";
const EXEMPT: &str = "models.no_proxy";

/// What is set, else what the environment names for every program.
///
/// # Errors
/// [`ConfigError`]: what is set is not a proxy that can be used. What the environment names may be
/// for other programs.
pub(super) fn set_up(resolved: &Resolved, sources: &Sources) -> Result<ProxyConfig, ConfigError> {
    let models = &resolved.settings.models;
    let set = models.proxy.as_ref().map(|address| {
        let origin = resolved.origin(KEY);
        let setting = setting(origin.to_string(), &address.0);
        if setting.proxy.is_ok() {
            return Ok(setting);
        }
        let right = text::config::expected_proxy();
        Err(unusable(resolved, KEY, origin, &address.0, right))
    });
    let set = set.transpose()?;
    let of = |variable: ProxyVariable| setting(variable.name, &variable.value);
    let (direct, direct_origin) = match (resolved.origin(EXEMPT), sources.no_proxy()) {
        (Origin::Default, Some(variable)) => {
            let separators = [',', ' ', '\t'];
            let names = variable
                .value
                .split(separators)
                .filter(|name| !name.is_empty());
            (names.map(str::to_owned).collect(), variable.name)
        }
        (origin, _) => (models.no_proxy.clone(), origin.to_string()),
    };
    Ok(ProxyConfig {
        http: set.clone().or_else(|| sources.http_proxy().map(of)),
        https: set.or_else(|| sources.https_proxy().map(of)),
        direct,
        direct_origin,
    })
}

fn setting(origin: String, address: &str) -> ProxySetting {
    let proxy = Proxy::parse(address);
    if let Some(password) = proxy.as_ref().ok().and_then(Proxy::password) {
        handed::hide(&origin, password.expose());
    }
    ProxySetting { origin, proxy }
}

#[cfg(test)]
mod tests;
