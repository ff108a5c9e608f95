//! `samovar init`: writes a first configuration file, and the person's files for agents.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use samovar_config::{FILE_NAME, Problem, template};
use samovar_locale as text;
use serde::Serialize;
use serde_json::json;

use crate::args::{self, DirArgs, ModelArgs};
use crate::config;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::trusting;

/// What the person's own files begin as: a comment, which tells agents nothing.
const TEXTS: [(&str, &str); 3] = [
    ("SOUL.md", include_str!("../templates/SOUL.md")),
    ("USER.md", include_str!("../templates/USER.md")),
    ("AGENTS.md", include_str!("../templates/AGENTS.md")),
];

/// A file for a program.
#[derive(Serialize)]
struct Written {
    path: String,
    made: bool,
}

/// Writes the settings here, and the person's files for agents into their configuration folder. What
/// is there stays as it is.
///
/// # Errors
/// One cannot be written: exit code 3.
pub(crate) fn init(args: &args::Init) -> Result<Exit, Failure> {
    let sources = config::sources(&DirArgs::default(), &ModelArgs::default())?;
    let here = sources.here.clone();
    let is_empty = trusting::is_empty(&here, None);
    let settings = write(&here.join(FILE_NAME), &template())?;
    if is_empty {
        // Nothing in it came from elsewhere.
        trusting::trust_empty(&sources);
    }
    let texts = match sources.folders().config {
        Some(folder) => texts(&folder)?,
        None => Vec::new(),
    };
    let answer = json!({ "path": settings.path, "made": settings.made, "texts": texts });
    output::one(args.machine.format(), "init", &answer, |_| {
        let made = [(&settings, text::config::init_made(&settings.path))].into_iter();
        let texts = texts.iter().map(|file| {
            let made = text::config::init_text_made(&file.path);
            (file, made)
        });
        let lines = made.chain(texts).map(|(file, made)| {
            if file.made {
                made + "\n"
            } else {
                text::config::init_there(&file.path) + "\n"
            }
        });
        lines.collect()
    })?;
    Ok(Exit::Ok)
}

fn texts(folder: &Path) -> Result<Vec<Written>, Failure> {
    fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    let texts = TEXTS.iter();
    texts
        .map(|(name, text)| write(&folder.join(name), text))
        .collect()
}

/// Writes a file that is not there. Whatever has the name is left alone, a link to nowhere too.
fn write(path: &Path, text: &str) -> Result<Written, Failure> {
    let made = OpenOptions::new().write(true).create_new(true).open(path);
    let written = made.and_then(|mut file| file.write_all(text.as_bytes()));
    let made = match written {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => return Err(unwritable(path, &error)),
    };
    let path = path.display().to_string();
    Ok(Written { path, made })
}

fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let (file, why) = (path.to_owned(), error.to_string());
    samovar_config::ConfigError::from(Problem::Unwritable { file, why }).into()
}
