//! Variables that cannot mean anything.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::{check, line, wrong};

// proves FC-2, FC-6
#[tokio::test]
async fn a_variable_is_named_with_what_it_may_be() {
    const NOT_TEXT: &str = "config_not_text";
    const TYPE: &str = "config_wrong_type";
    const VALUE: &str = "config_wrong_value";
    let not_text = || OsString::from_vec(b"caf\xe9".to_vec());
    check([
        line("run hi").with("AGENT_MODEL", not_text()).is(3, NOT_TEXT, "AGENT_MODEL: its value is not UTF-8; set it to text"),
        line("run hi").with("OPENAI_API_KEY", not_text()).is(3, NOT_TEXT, "OPENAI_API_KEY: its value is not UTF-8; set it to text"),
        line("models list").with("OLLAMA_HOST", not_text()).is(3, NOT_TEXT, "OLLAMA_HOST: its value is not UTF-8; set it to text"),
        line("serve --port 0").with("SAMOVAR_TOKEN", not_text()).is(3, NOT_TEXT, "SAMOVAR_TOKEN: its value is not UTF-8; set it to text"),
        wrong([OsString::from("stats"), "--data-dir".into(), not_text()]).is(2, NOT_TEXT, "--data-dir: its value is not UTF-8; set it to text"),
        line("run hi").with("SAMOVAR_LOG", "samovar=loud").is(3, VALUE, "SAMOVAR_LOG: log is \"samovar=loud\"; give a level such as info, or a filter such as warn,samovar_engine=debug"),
        line("serve --port 0").with("SAMOVAR_HOST", "localhost").is(3, VALUE, "SAMOVAR_HOST: server.host is \"localhost\"; give an IP address such as 127.0.0.1"),
        line("serve").with("SAMOVAR_PORT", "-1").is(3, VALUE, "SAMOVAR_PORT: server.port is -1; give a whole number from 0 to 65535"),
        line("serve").with("SAMOVAR_PORT", "65536").is(3, VALUE, "SAMOVAR_PORT: server.port is 65536; give a whole number from 0 to 65535"),
        line("serve").with("SAMOVAR_PORT", "http").is(3, TYPE, "SAMOVAR_PORT: server.port is \"http\"; give a whole number from 0 to 65535"),
        line("serve --port 0").with("SAMOVAR__SERVER__ORIGINS", "http://localhost:5173/").is(3, VALUE, "SAMOVAR__SERVER__ORIGINS: server.origins is \"http://localhost:5173/\"; give origins such as http://localhost:5173: no wildcard, no null, and nothing after the port, not even a slash"),
        line("serve --port 0").with("SAMOVAR_TOKEN", "too-short").is(3, VALUE, "SAMOVAR_TOKEN: server.token is ***; give a line of 16 to 1024 characters"),
        line("run hi").with("SAMOVAR_REQUIRE_MODEL", "maybe").is(3, TYPE, "SAMOVAR_REQUIRE_MODEL: models.require is \"maybe\"; give true or false"),
        line("stats").with("SAMOVAR__SERVER__PROT", "1").is(3, "config_unknown_key", "no key is set by the variable \"SAMOVAR__SERVER__PROT\"; did you mean SAMOVAR__SERVER__PORT?"),
        line("run hi").with("SAMOVAR__RECOVERY__RESUME", "maybe").is(3, VALUE, "SAMOVAR__RECOVERY__RESUME: recovery.resume is \"maybe\"; give one of auto, ask, off"),
        line("sessions list").with("HOME", "").is(3, "data_dir_unusable", "HOME is not set, so your data folder is unknown; name one with --data-dir"),
    ])
    .await;
}
