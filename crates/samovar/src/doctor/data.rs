//! The data directory: whether it can be used, by whom it is, and who may look in.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use samovar_locale::doctor as text;
use samovar_server::{Address, Home};

use super::{Care, Finding};
use crate::config::Found;
use crate::exit::Exit;
use crate::reach;

/// What `--fix` is typed as.
const FIX: &str = "samovar doctor --fix";

/// The files whose secrets are their owner's alone.
const SECRET: [&str; 3] = ["token", "tokens.json", "server.json"];

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
            return vec![data, server(found).await, modes(dir, care)];
        }
        Err(error) => {
            let fact = error.to_string();
            let data = Finding::bad("data", Exit::Configuration, fact, reason)
                .with_command("export DATA_DIR=\"$HOME/samovar\"");
            return vec![data];
        }
    };
    vec![data, modes(dir, care)]
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

/// Whether others may look in.
fn modes(dir: &Path, care: Care) -> Finding {
    let open = open_to_others(dir);
    let reason = text::modes_why();
    let shown = |open: &[PathBuf]| {
        let names = open.iter().map(|path| path.display().to_string());
        names.collect::<Vec<_>>().join(", ")
    };
    match (open.as_slice(), care) {
        ([], _) => Finding::good("modes", text::modes_good().to_owned(), reason),
        (some, Care::Look) => {
            let fact = text::modes_bad(shown(some));
            Finding::bad("modes", Exit::Configuration, fact, reason).with_command(FIX)
        }
        (some, Care::Mend) => mend(some, shown(some)),
    }
}

fn mend(open: &[PathBuf], shown: String) -> Finding {
    let reason = text::modes_why();
    let close = |path: &PathBuf| {
        let mode = if path.is_dir() { 0o700 } else { 0o600 };
        fs::set_permissions(path, Permissions::from_mode(mode))
    };
    match open.iter().try_for_each(close) {
        Ok(()) => Finding {
            is_mended: true,
            ..Finding::good("modes", text::modes_mended(shown), reason)
        },
        Err(error) => {
            let fact = text::modes_not_mended(shown, error);
            Finding::bad("modes", Exit::Configuration, fact, reason)
        }
    }
}

/// The directory and the secret files in it that others than their owner may read or enter.
fn open_to_others(dir: &Path) -> Vec<PathBuf> {
    let files = SECRET.iter().map(|name| dir.join(name));
    let paths = std::iter::once(dir.to_owned()).chain(files);
    let is_open = |path: &PathBuf| {
        let mode = fs::symlink_metadata(path).map_or(0, |meta| meta.permissions().mode());
        mode & 0o077 != 0
    };
    paths.filter(is_open).collect()
}
