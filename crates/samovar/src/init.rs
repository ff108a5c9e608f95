//! `samovar init`: writes a first configuration file.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

use samovar_config::{FILE_NAME, Problem, template};
use samovar_locale as text;
use serde_json::json;

use crate::args::{self, DirArgs, ModelArgs};
use crate::config;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::trusting;

/// Writes the file; one that is there stays as it is.
///
/// # Errors
/// It cannot be written: exit code 3.
pub(crate) fn init(args: &args::Init) -> Result<Exit, Failure> {
    let sources = config::sources(&DirArgs::default(), &ModelArgs::default())?;
    let here = sources.here.clone();
    let path = here.join(FILE_NAME);
    let is_empty = trusting::is_empty(&here, None);
    // Whatever has the name is left alone, a link to nowhere too.
    let made = OpenOptions::new().write(true).create_new(true).open(&path);
    let written = made.and_then(|mut file| file.write_all(template().as_bytes()));
    let is_made = match written {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => {
            let why = error.to_string();
            return Err(
                samovar_config::ConfigError::from(Problem::Unwritable { file: path, why }).into(),
            );
        }
    };
    if is_empty {
        // Nothing in it came from elsewhere.
        trusting::trust_empty(&sources);
    }
    let shown = path.display().to_string();
    let answer = json!({ "path": shown, "made": is_made });
    output::one(args.machine.format(), "init", &answer, |_| {
        let line = if is_made {
            text::config::init_made(&shown)
        } else {
            text::config::init_there(&shown)
        };
        line + "\n"
    })?;
    Ok(Exit::Ok)
}
