//! What git must not read, when its commands run without a question.

/// Variables for the environment of each command: git then reads no settings that a tool could
/// have written. Without them, `.gitconfig` in a workspace that is the home directory counts, and
/// so does `config` in any folder that looks like a bare repository; both can name programs.
pub const GIT_ENVIRONMENT: [(&str, &str); 4] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_COUNT", "1"),
    ("GIT_CONFIG_KEY_0", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_0", "explicit"),
];

/// The first version that heeds all of them, for `safe.bareRepository`.
const SINCE: (u64, u64) = (2, 38);

/// Whether the git that prints this for `git --version` heeds [`GIT_ENVIRONMENT`].
pub(crate) fn heeds_environment(version: &str) -> bool {
    let number = version
        .trim()
        .strip_prefix("git version ")
        .unwrap_or_default();
    let mut parts = number.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= SINCE,
        _ => false,
    }
}
