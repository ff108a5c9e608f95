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
