//! What a dependency may be: its licence, its source and its version, as `deny.toml` says.
//!
//! The table has the format of `cargo deny`; a key of it that is not checked here is a violation.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use spdx::{Expression, Licensee, ParseMode};

use super::Violation;

mod tests;

/// The table of what is allowed.
pub(super) const TABLE: &str = "deny.toml";

/// The registry of crates by both of its protocols.
const REGISTRY: [&str; 2] = [
    "registry+https://github.com/rust-lang/crates.io-index",
    "sparse+https://index.crates.io/",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    graph: Graph,
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Graph {
    targets: Vec<String>,
    all_features: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Licenses {
    allow: Vec<String>,
    unused_allowed_license: Allowed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Bans {
    multiple_versions: Level,
    wildcards: Level,
    allow_wildcard_paths: bool,
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

/// Only the crates registry and the workspace are known, and no other source is ever allowed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Sources {
    unknown_registry: Denied,
    unknown_git: Denied,
}

/// What happens to a finding. A warning is for `cargo deny`, which shows it to a person.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Level {
    Allow,
    Warn,
    Deny,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Allowed {
    Allow,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Denied {
    Deny,
}

impl Table {
    /// Reads the table.
    pub(super) fn read(text: Option<&str>) -> Result<Table, Violation> {
        let text = text.ok_or_else(|| Violation::new(TABLE, "does not exist"))?;
        let table: Table = toml::from_str(text).map_err(|cause| {
            let breach = format!("has what the check does not know: {cause}");
            Violation::new(TABLE, breach)
        })?;
        if !table.graph.all_features {
            let breach = "must have all-features = true, as every step of the gate does";
            return Err(Violation::new(TABLE, breach));
        }
        // Each has one value that the check knows.
        let Licenses {
            unused_allowed_license: Allowed::Allow,
            ..
        } = &table.licenses;
        let Sources {
            unknown_registry: Denied::Deny,
            unknown_git: Denied::Deny,
        } = &table.sources;
        Ok(table)
    }

    /// The platforms for which the dependencies are looked at.
    pub(super) fn targets(&self) -> &[String] {
        &self.graph.targets
    }
}

/// What the table does not allow, of all packages that `cargo metadata` lists.
pub(super) fn forbidden(table: &Table, metadata: &Value) -> Vec<Violation> {
    let allowed: Result<Vec<_>, _> = (table.licenses.allow.iter())
        .map(|license| Licensee::parse(license).map_err(|cause| (license, cause)))
        .collect();
    let allowed = match allowed {
        Ok(allowed) => allowed,
        Err((license, cause)) => {
            let breach = format!("allows the licence {license:?}: {}", cause.reason);
            return vec![Violation::new(TABLE, breach)];
        }
    };
    let root = text(&metadata["workspace_root"]);
    let mut violations = Vec::new();
    for package in array(&metadata["packages"]) {
        let place = place(package);
        let breaches = [
            licence(package, &allowed),
            source(package, root),
            banned(package, &table.bans),
        ];
        let breaches = breaches.into_iter().flatten();
        let breaches = breaches.chain(wildcards(package, &table.bans));
        violations.extend(breaches.map(|breach| Violation::new(&place, breach)));
    }
    violations.extend(duplicates(metadata, &table.bans));
    violations
}

fn licence(package: &Value, allowed: &[Licensee]) -> Option<String> {
    let Some(license) = package["license"].as_str() else {
        return Some("names no licence".to_owned());
    };
    let expression = match Expression::parse_mode(license, ParseMode::LAX) {
        Ok(expression) => expression,
        Err(cause) => {
            let why = cause.reason;
            return Some(format!(
                "the licence {license:?} is no SPDX expression: {why}"
            ));
        }
    };
    let is_allowed = expression.evaluate(|needed| allowed.iter().any(|one| one.satisfies(needed)));
    (!is_allowed).then(|| format!("the licence {license:?} is not allowed"))
}

fn source(package: &Value, root: &str) -> Option<String> {
    match package["source"].as_str() {
        Some(source) if REGISTRY.contains(&source) => None,
        Some(source) => Some(format!("comes from {source}, not from crates.io")),
        None => {
            let manifest = text(&package["manifest_path"]);
            let inside = manifest.strip_prefix(root);
            let is_inside = inside.is_some_and(|rest| rest.starts_with('/'));
            (!is_inside).then(|| format!("comes from {manifest}, outside of the workspace"))
        }
    }
}

fn banned(package: &Value, bans: &Bans) -> Option<String> {
    let name = text(&package["name"]);
    let ban = bans.deny.iter().find(|ban| ban.name == name)?;
    Some(format!("is banned: {}", ban.reason))
}

fn wildcards(package: &Value, bans: &Bans) -> Vec<String> {
    if bans.wildcards != Level::Deny {
        return Vec::new();
    }
    let is_allowed_path = |dependency: &Value| {
        // A package that can be published needs versions, of its paths too.
        let is_private = package["publish"] == Value::Array(Vec::new());
        bans.allow_wildcard_paths && is_private && dependency["path"].is_string()
    };
    array(&package["dependencies"])
        .filter(|dependency| dependency["req"] == "*" && !is_allowed_path(dependency))
        .map(|dependency| format!("takes any version of {}", text(&dependency["name"])))
        .collect()
}

fn duplicates(metadata: &Value, bans: &Bans) -> Vec<Violation> {
    if bans.multiple_versions != Level::Deny {
        return Vec::new();
    }
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in array(&metadata["packages"]) {
        let of_name = versions.entry(text(&package["name"])).or_default();
        of_name.push(text(&package["version"]));
    }
    let breach = |(name, versions): (&str, Vec<&str>)| {
        let breach = format!("is there more than once: {}", versions.join(", "));
        Violation::new(name, breach)
    };
    let repeated = versions.into_iter().filter(|(_, all)| all.len() > 1);
    repeated.map(breach).collect()
}

fn place(package: &Value) -> String {
    format!("{} {}", text(&package["name"]), text(&package["version"]))
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
