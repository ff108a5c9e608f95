//! Whether a store is missing, and what `--fix` does about it.

use samovar_locale::doctor as text;
use samovar_server::OpenError;
use samovar_server::data_dir::{Mended, Store, mend, missing};

use super::{Finding, Mode};
use crate::config::Setup;
use crate::exit::Exit;
use crate::stores::is_begun;

/// What is typed to begin with an empty store.
const FIX: &str = "samovar doctor --fix";

/// Why the stores cannot be opened; nothing while another process has them.
pub(super) async fn examine(found: &Setup, care: Mode) -> Vec<Finding> {
    let dir = &found.config.data_dir;
    if !dir.exists() || !(is_begun(dir) || dir.join("run.json").exists()) {
        return Vec::new();
    }
    match (missing(dir).await, care) {
        (Ok(None), _) => Vec::new(),
        (Ok(Some(error)), Mode::Look) => vec![bad(&error).with_command(FIX)],
        (Ok(Some(_)), Mode::Mend) => match mend(dir).await {
            Ok(mended) => mended.iter().map(|mended| said(found, mended)).collect(),
            Err(error) => vec![bad(&error)],
        },
        (Err(error), _) if error.code() == "data_dir_busy" => Vec::new(),
        (Err(error), _) => vec![bad(&error)],
    }
}

fn bad(error: &OpenError) -> Finding {
    let reason = text::stores_why();
    Finding::bad("stores", Exit::Configuration, error.to_string(), reason)
}

fn said(found: &Setup, mended: &Mended) -> Finding {
    let fact = match mended.missing {
        None => text::stores_adopted().to_owned(),
        Some(missing) => match missing.store {
            Store::Journal => text::journal_begins(missing.found()),
            Store::History => text::history_begins(missing.found()),
        },
    };
    let kept = mended.kept_in.as_ref();
    let reason = kept.map_or_else(
        || text::stores_why().to_owned(),
        |kept| text::stores_kept(found.config.data_dir.join(kept).display()),
    );
    Finding {
        is_mended: true,
        ..Finding::good("stores", fact, reason)
    }
}
