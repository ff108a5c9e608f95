//! The data directory: whether it can be used, and who uses it.

use samovar_locale::doctor as text;
use samovar_server::{Address, Home};

use super::{Care, Finding, files};
use crate::config::Found;
use crate::exit::Exit;
use crate::reach;

/// Everything about the data directory.
pub(super) async fn examine(found: &Found, care: Care) -> Vec<Finding> {
    let dir = &found.config.data_dir;
    let reason = found.data_dir_reason.as_str();
    let shown = dir.display();
    if !dir.exists() && care == Care::Look {
        return vec![Finding::good("data", text::data_dir_to_come(shown), reason)];
    }
    let was_there = dir.exists();
    let data = match Home::try_data_dir(&found.config) {
        Ok(()) if was_there => Finding::good("data", text::data_dir_usable(shown), reason),
        Ok(()) => Finding {
            is_mended: true,
            ..Finding::good("data", text::data_dir_made(shown), reason)
        },
        Err(error) if error.code() == "data_dir_busy" => {
            let data = Finding::good("data", text::data_dir_busy(shown), reason);
            let mut findings = vec![data, server(found).await];
            findings.extend(files::examine(found, care));
            return findings;
        }
        Err(error) => {
            let fact = error.to_string();
            let data = Finding::bad("data", Exit::Configuration, fact, reason)
                .with_command("export DATA_DIR=\"$HOME/samovar\"");
            return vec![data];
        }
    };
    let mut findings = vec![data];
    findings.extend(files::examine(found, care));
    findings
}

/// Who holds it.
async fn server(found: &Found) -> Finding {
    let Some(address) = Address::read(&found.config.data_dir) else {
        return Finding::good(
            "server",
            text::server_none().to_owned(),
            text::server_short(),
        );
    };
    let shown = address.address;
    match reach::running(&found.config).await {
        Some(_) => Finding::good("server", text::server_at(shown), text::server_told()),
        None => Finding::bad(
            "server",
            Exit::Busy,
            text::server_silent(shown),
            text::server_told(),
        ),
    }
}
