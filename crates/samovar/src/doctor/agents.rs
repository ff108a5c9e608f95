//! The agents that files define: how many there are, and which are invalid.

use samovar_agents::{FOLDER, read_folder};
use samovar_locale::doctor as text;

use super::Finding;
use crate::config::Setup;
use crate::exit::Exit;

/// A finding for each file that is no definition, else one for all of them; none without a file.
/// Whether the tools exist is known to a running server alone.
pub(super) fn examine(found: &Setup) -> Vec<Finding> {
    let own = found.config.guide.own.iter();
    let folders = [&found.config.data_dir].into_iter().chain(own);
    let folders: Vec<_> = folders.map(|folder| folder.join(FOLDER)).collect();
    let files: Vec<_> = folders.iter().flat_map(|it| read_folder(it)).collect();
    let invalid = files.iter().filter_map(|file| file.invalid.as_deref());
    let invalid: Vec<_> = invalid
        .map(|why| {
            let reason = text::agents_invalid_why();
            Finding::bad("agents", Exit::Configuration, why.to_owned(), reason)
                .with_command("samovar agents list")
        })
        .collect();
    if invalid.is_empty() && !files.is_empty() {
        let fact = text::agents(files.len() as u64);
        let folders = folders.iter().map(|folder| folder.display().to_string());
        let folders: Vec<_> = folders.collect();
        return vec![Finding::good("agents", fact, folders.join(", "))];
    }
    invalid
}
