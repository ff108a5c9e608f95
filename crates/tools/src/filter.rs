//! Which entries a caller wants, by a glob.

use std::path::Path;

use globset::{Error, ErrorKind, GlobBuilder, GlobSet, GlobSetBuilder};
use samovar_sandbox::JailPath;

use crate::refusal::Refusal;

/// The longest glob that is taken, in bytes.
const MAX_GLOB_BYTES: usize = 1024;

/// A glob, or none for everything. Without a `/` it is held against names, at any depth; with one,
/// against the path below the folder that was asked for.
pub(crate) struct Filter {
    glob: Option<GlobSet>,
    is_of_names: bool,
}

impl Filter {
    pub(crate) fn new(glob: Option<&str>) -> Result<Self, Refusal> {
        let is_of_names = glob.is_none_or(|glob| !glob.contains('/'));
        let glob = glob.map(compile).transpose()?;
        Ok(Self { glob, is_of_names })
    }

    /// Whether `place`, found below `folder`, is wanted.
    pub(crate) fn takes(&self, place: &JailPath, folder: &JailPath) -> bool {
        let Some(glob) = &self.glob else {
            return true;
        };
        if self.is_of_names {
            return place.name().is_some_and(|name| glob.is_match(name));
        }
        glob.is_match(below(place, folder))
    }
}

/// The path of `place` below `folder`.
pub(crate) fn below<'p>(place: &'p JailPath, folder: &JailPath) -> &'p Path {
    let path = place.as_path();
    path.strip_prefix(folder.as_path()).unwrap_or(path)
}

fn compile(glob: &str) -> Result<GlobSet, Refusal> {
    if glob.len() > MAX_GLOB_BYTES {
        let bytes = glob.len();
        let why =
            format!("the glob has {bytes} bytes and the limit is {MAX_GLOB_BYTES}; shorten it");
        return Err(Refusal::of_arguments(why));
    }
    alone_in_a_set(glob).map_err(|error| {
        let why = match error.kind() {
            ErrorKind::Regex(_) => "nested too deep, or too large".to_owned(),
            other => other.to_string(),
        };
        Refusal::of_arguments(format!("the glob {glob:?} is not valid: {why}; correct it"))
    })
}

/// A set of one: a lone matcher panics when the glob is nested too deep or becomes too large.
fn alone_in_a_set(glob: &str) -> Result<GlobSet, Error> {
    let glob = GlobBuilder::new(glob).literal_separator(true).build()?;
    GlobSetBuilder::new().add(glob).build()
}
