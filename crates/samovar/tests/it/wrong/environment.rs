//! Variables that cannot mean anything.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use super::{check, line};

// proves FC-2, FC-6
#[tokio::test]
async fn a_variable_is_named_with_what_it_may_be() {
    const CODE: &str = "variable_unusable";
    let not_text = || OsString::from_vec(b"caf\xe9".to_vec());
    check([
        line("run hi").with("AGENT_MODEL", not_text()).is(3, CODE, "AGENT_MODEL is not UTF-8; set it to text"),
        line("run hi").with("OPENAI_API_KEY", not_text()).is(3, CODE, "OPENAI_API_KEY is not UTF-8; set it to text"),
        line("models list").with("OLLAMA_HOST", not_text()).is(3, CODE, "OLLAMA_HOST is not UTF-8; set it to text"),
        line("run hi").with("SAMOVAR_LOG", "samovar=loud").is(3, CODE, "SAMOVAR_LOG is \"samovar=loud\": error parsing level filter: expected one of \"off\", \"error\", \"warn\", \"info\", \"debug\", \"trace\", or a number 0-5; set it to a level such as info or samovar=debug"),
        line("serve --port 0").with("SAMOVAR_HOST", "localhost").is(3, CODE, "SAMOVAR_HOST is \"localhost\": invalid IP address syntax; set it to an IP address such as 127.0.0.1"),
        line("serve").with("SAMOVAR_PORT", "-1").is(3, CODE, "SAMOVAR_PORT is \"-1\": invalid digit found in string; set it to a number from 0 to 65535"),
        line("serve").with("SAMOVAR_PORT", "65536").is(3, CODE, "SAMOVAR_PORT is \"65536\": number too large to fit in target type; set it to a number from 0 to 65535"),
        line("serve --port 0").with("SAMOVAR_TOKEN", not_text()).is(3, CODE, "SAMOVAR_TOKEN is not UTF-8; set it to text"),
        line("serve --port 0").with("SAMOVAR_TOKEN", "too-short").is(3, "token_unusable", "SAMOVAR_TOKEN is shorter than 16 characters, which could be guessed; make one with: openssl rand -hex 32"),
        line("sessions list").with("HOME", "").is(3, "data_dir_unusable", "neither HOME nor XDG_DATA_HOME is set; name a folder with --data-dir"),
    ])
    .await;
}
