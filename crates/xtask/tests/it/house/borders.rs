//! Which crate may use which: the table of ARCHITECTURE.md as data.

use std::path::Path;

use serde_json::Value;

use super::Violation;

mod tests;

/// A crate by its directory, and what it may use of ours; `in_tests` comes on top of `may_use`.
struct Row {
    home: &'static str,
    name: &'static str,
    may_use: &'static [&'static str],
    in_tests: &'static [&'static str],
}

const fn row(
    name: &'static str,
    may_use: &'static [&'static str],
    in_tests: &'static [&'static str],
) -> Row {
    Row {
        home: "crates",
        name,
        may_use,
        in_tests,
    }
}

/// A crate of the laboratory: what proves, measures and plays the world, and is no product.
const fn lab(
    name: &'static str,
    may_use: &'static [&'static str],
    in_tests: &'static [&'static str],
) -> Row {
    Row {
        home: "lab",
        ..row(name, may_use, in_tests)
    }
}

const TABLE: &[Row] = &[
    row("core", &[], &[]),
    row("locale", &[], &[]),
    row("points", &[], &[]),
    row("descriptors", &[], &[]),
    row("wake", &[], &[]),
    row("config", &["core"], &[]),
    row("agents", &["core"], &[]),
    row("engine", &["core"], &["doubles", "stores"]),
    row("chat", &["core", "engine"], &["doubles", "stores"]),
    row(
        "relay",
        &["core", "engine"],
        &["doubles", "movie-host", "stores"],
    ),
    row("movie-host", &["core"], &[]),
    row("embed", &[], &[]),
    row("memory", &["core", "embed", "sandbox"], &["stores"]),
    row("providers", &["core"], &["doubles", "model-server"]),
    row("demo", &["core"], &["doubles"]),
    row("tools", &["core", "sandbox", "shell", "egress"], &[]),
    row("sandbox", &[], &[]),
    row("egress", &[], &[]),
    row("shell", &[], &[]),
    row("stores", &["core"], &["doubles"]),
    row("wire", &["core"], &[]),
    row(
        "server",
        &[
            "core",
            "agents",
            "chat",
            "config",
            "embed",
            "memory",
            "relay",
            "movie-host",
            "engine",
            "providers",
            "demo",
            "tools",
            "sandbox",
            "egress",
            "stores",
            "wire",
        ],
        &["doubles", "testkit", "model-server"],
    ),
    row(
        "samovar",
        &[
            "agents",
            "config",
            "core",
            "engine",
            "server",
            "wire",
            "movie-host",
            "prove",
            "relay",
        ],
        &["doubles", "testkit", "model-server"],
    ),
    row("xtask", &[], &[]),
    lab(
        "bench",
        &["sandbox"],
        &["core", "doubles", "engine", "stores", "wire"],
    ),
    lab("doubles", &["core"], &[]),
    lab(
        "fuzz",
        &[
            "agents",
            "config",
            "core",
            "egress",
            "engine",
            "memory",
            "movie-host",
            "providers",
            "relay",
            "sandbox",
            "server",
            "shell",
            "stores",
            "tools",
            "wire",
        ],
        &[],
    ),
    lab("model-server", &[], &[]),
    lab("prove", &["model-server"], &[]),
    lab("recall", &["core", "embed", "memory"], &[]),
    lab(
        "testkit",
        &["core", "doubles", "server", "model-server"],
        &[],
    ),
];

/// What any crate may use besides: they know nobody. Who speaks to people needs the first, where a
/// proof may stop the process the second, who opens files or connections the third.
const FOR_ALL: [&str; 4] = ["locale", "points", "descriptors", "wake"];

/// Uses between our crates that the table does not allow, and crates that have no row in it.
pub(super) fn forbidden_uses(metadata: &Value) -> Vec<Violation> {
    let mut violations = Vec::new();
    for package in packages(metadata) {
        let name = directory(package);
        let Some(row) = TABLE.iter().find(|row| row.name == name) else {
            violations.push(Violation::new(manifest(package), "has no row in the table"));
            continue;
        };
        for dependency in array(&package["dependencies"]) {
            let Some(path) = dependency["path"].as_str() else {
                continue;
            };
            let used = last(path);
            // A feature of the binary may bring a crate in for proofs; its normal build has none of it.
            let is_for_proofs = dependency["optional"] == true && name == "samovar";
            let is_for_tests = dependency["kind"] == "dev" || is_for_proofs;
            let is_allowed = FOR_ALL.contains(&used)
                || row.may_use.contains(&used)
                || (is_for_tests && row.in_tests.contains(&used));
            if !is_allowed {
                let how = if is_for_tests {
                    "even in tests"
                } else {
                    "outside tests"
                };
                let breach = format!("{name} must not use {used} {how}");
                violations.push(Violation::new(manifest(package), breach));
            }
        }
    }
    violations
}

/// Packages whose name does not follow from their directory, or whose directory is not flat.
pub(super) fn misnamed(metadata: &Value) -> Vec<Violation> {
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let mut violations = Vec::new();
    for package in packages(metadata) {
        let (name, directory) = (text(&package["name"]), directory(package));
        let wanted = match directory {
            "samovar" => "samovar".to_owned(),
            other => format!("samovar-{other}"),
        };
        if name != wanted {
            let breach = format!("the package is named {name}; it must be {wanted}");
            violations.push(Violation::new(manifest(package), breach));
        }
        let row = TABLE.iter().find(|row| row.name == directory);
        let home = row.map_or("crates", |row| row.home);
        if manifest(package) != format!("{root}/{home}/{directory}/Cargo.toml") {
            let breach = format!("is not directly under {home}/");
            violations.push(Violation::new(manifest(package), breach));
        }
    }
    violations
}

/// Test binaries besides `tests/it`: each one would link the whole crate again.
pub(super) fn stray_tests(metadata: &Value) -> Vec<Violation> {
    let targets = packages(metadata).flat_map(|package| array(&package["targets"]));
    targets
        .filter(|target| array(&target["kind"]).any(|kind| kind == "test"))
        .filter(|target| !text(&target["src_path"]).ends_with("/tests/it/main.rs"))
        .map(|target| Violation::new(text(&target["src_path"]), "is a test binary of its own"))
        .collect()
}

fn packages(metadata: &Value) -> impl Iterator<Item = &Value> {
    array(&metadata["packages"])
}

fn manifest(package: &Value) -> &str {
    text(&package["manifest_path"])
}

fn directory(package: &Value) -> &str {
    last(manifest(package).trim_end_matches("/Cargo.toml"))
}

fn last(path: &str) -> &str {
    Path::new(path)
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
