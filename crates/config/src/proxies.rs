//! The proxies that the environment names, for programs that ask servers of the web.

use std::fmt;

use samovar_locale as locale;
use serde::{Deserialize, Serialize};

use crate::environment::is_blank_text;
use crate::resolve::Sources;

const HTTP: [&str; 2] = ["http_proxy", "HTTP_PROXY"];
const HTTPS: [&str; 2] = ["https_proxy", "HTTPS_PROXY"];
const ALL: [&str; 2] = ["all_proxy", "ALL_PROXY"];
const NONE: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// The variables that may hold the address of a proxy.
pub(crate) const NAMES: [[&str; 2]; 3] = [HTTP, HTTPS, ALL];

/// A variable that is set. Its value may contain a password, so it cannot be printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyVariable {
    /// Its name.
    pub name: String,
    /// Its value; what is not UTF-8 in it is replaced.
    pub value: String,
}

/// The address of a proxy, which may contain a password: no log, error or debug print shows it.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct ProxyAddress(pub String);

impl fmt::Debug for ProxyAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&locale::without_secrets(&self.0))
    }
}

impl Sources {
    /// The proxy for `http` addresses. As for curl, names in lower case win.
    pub fn http_proxy(&self) -> Option<ProxyVariable> {
        self.first(&[HTTP, ALL])
    }

    /// The proxy for `https` addresses.
    pub fn https_proxy(&self) -> Option<ProxyVariable> {
        self.first(&[HTTPS, ALL])
    }

    /// The hosts that are asked without a proxy.
    pub fn no_proxy(&self) -> Option<ProxyVariable> {
        self.first(&[NONE])
    }

    fn first(&self, names: &[[&str; 2]]) -> Option<ProxyVariable> {
        names.iter().flatten().find_map(|name| {
            let mut variables = self.environment.iter();
            let (_, value) = variables.find(|(known, _)| known == name)?;
            let value = value.to_string_lossy().into_owned();
            let name = (*name).to_owned();
            (!is_blank_text(&value)).then_some(ProxyVariable { name, value })
        })
    }
}
