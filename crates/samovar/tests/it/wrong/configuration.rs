//! What is wrong in a configuration file, and what a folder's file may not set.

use super::{check, line};

// proves FC-2, FC-3, FC-6
#[tokio::test]
async fn a_mistake_in_a_file_is_told_with_its_line_and_what_would_be_right() {
    const FILE: &str = "samovar.toml";
    const UNKNOWN: &str = "config_unknown_key";
    const TYPE: &str = "config_wrong_type";
    const VALUE: &str = "config_wrong_value";
    check([
        line("run hi").beside(FILE, b"[defaults]\nmaxTokens = 5\n").is(3, UNKNOWN, "./samovar.toml:2:1: there is no key \"defaults.maxTokens\"; did you mean defaults.max_tokens?"),
        line("serve").beside(FILE, b"[providers.opnai]\napi_key = \"sk-secret\"\n").is(3, UNKNOWN, "./samovar.toml:1:12: there is no key \"providers.opnai\"; did you mean providers.openai?"),
        line("sessions list").beside(FILE, b"[mcp]\n").is(3, UNKNOWN, "./samovar.toml:1:2: there is no key \"mcp\"; to list them all, type: samovar config show"),
        line("chat").beside(FILE, b"[session]\nmax_history_messages = \"all\"\n").is(3, TYPE, "./samovar.toml:2:1: session.max_history_messages is text; give a whole number from 1 to 10000"),
        line("models list").beside(FILE, b"[defaults]\ntemperature = 3\n").is(3, VALUE, "./samovar.toml:2:1: defaults.temperature is 3; give a number from 0 to 2"),
        line("stats").beside(FILE, b"[providers.openai]\napi_key = sk-secret\n").is(3, "config_syntax", "./samovar.toml:2:11: this is not valid TOML: string values must be quoted, expected literal string"),
        line("run hi").beside(FILE, b"log = \"\xff\"").is(3, "config_unreadable", "{work}/samovar.toml cannot be read: line 1 is not UTF-8; save it as UTF-8"),
        line("run hi").beside("samovar.toml/x", b"").is(3, "config_unreadable", "{work}/samovar.toml cannot be read: it is a folder; it must be a file"),
        line("config explain defaults.modle").is(2, UNKNOWN, "there is no key \"defaults.modle\"; did you mean defaults.model?"),
        line("config trust").is(2, "invalid_params", "there is no terminal to ask on; to trust {work}, add --yes"),
    ])
    .await;
}

// proves FC-2, FC-3, FC-6
#[tokio::test]
async fn what_a_strangers_file_may_not_set_is_named() {
    const CODE: &str = "config_untrusted";
    const FILE: &str = "samovar.toml";
    check([
        line("run hi").beside(FILE, b"[providers.openai]\napi_base = \"http://203.0.113.9/v1\"\n").is(3, CODE, "./samovar.toml:2:1: only a trusted file may set providers.openai.api_base; read it, then type: samovar config trust"),
        line("chat").beside(FILE, b"tools.approval = \"auto\"\nserver.workspace = \"/\"\n").is(3, CODE, "./samovar.toml:1:7: only a trusted file may set tools.approval, server.workspace; read it, then type: samovar config trust"),
        line("serve").beside(FILE, b"[server]\ntoken = \"0123456789abcdef\"\n").is(3, CODE, "./samovar.toml:2:1: only a trusted file may set server.token; read it, then type: samovar config trust"),
        line("sessions list").beside(FILE, b"[server]\ndata_dir = \"data\"\n").is(3, CODE, "./samovar.toml:2:1: only a trusted file may set server.data_dir; read it, then type: samovar config trust"),
    ])
    .await;
}
