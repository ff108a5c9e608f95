//! A path that cannot leave the jail.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use crate::error::JailError;

/// Linux takes no longer path in one call, and a sane one is far shorter.
const MAX_PATH_BYTES: usize = 4096;
/// The longest name of one file on the usual file systems.
pub(crate) const MAX_NAME_BYTES: usize = 255;
/// How much of a path that is too long an error repeats, in characters.
const SHOWN_CHARS: usize = 80;

/// A normalised path relative to a jail's root: no `..`, no NUL, not absolute. Where a jail is open
/// to the whole system, what does not lie beneath its root is absolute.
///
/// Made by [`Jail::place`](crate::Jail::place) from text, or by a listing from names on disk,
/// which need not be UTF-8.
/// That a `JailPath` exists says nothing about what is there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct JailPath {
    path: PathBuf,
    names_folder: bool,
}

impl JailPath {
    /// The jail's root.
    pub fn root() -> JailPath {
        JailPath::default()
    }

    /// A path that was walked already.
    pub(crate) fn at(path: &Path) -> JailPath {
        JailPath {
            path: path.to_owned(),
            names_folder: false,
        }
    }

    /// Normalises `relative`, which the caller wrote as `raw`.
    pub(crate) fn parse(raw: &str, relative: &Path) -> Result<JailPath, JailError> {
        JailPath::below(Path::new(""), raw, relative)
    }

    /// Normalises `absolute`, which the caller wrote as `raw`; nothing lies above `/`.
    pub(crate) fn of_system(raw: &str, absolute: &Path) -> Result<JailPath, JailError> {
        let mut below = PathBuf::new();
        for part in absolute.components() {
            match part {
                Component::ParentDir => drop(below.pop()),
                Component::Normal(name) => below.push(name),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        JailPath::below(Path::new("/"), raw, &below)
    }

    fn below(top: &Path, raw: &str, relative: &Path) -> Result<JailPath, JailError> {
        if raw.len() > MAX_PATH_BYTES {
            return Err(too_long(raw, MAX_PATH_BYTES));
        }
        if raw.contains('\0') {
            return Err(JailError::Nul {
                path: raw.to_owned(),
            });
        }
        let mut path = PathBuf::new();
        for part in relative.components() {
            match part {
                Component::CurDir => {}
                Component::Normal(name) if name.len() > MAX_NAME_BYTES => {
                    return Err(too_long(&name.to_string_lossy(), MAX_NAME_BYTES));
                }
                Component::Normal(name) => path.push(name),
                Component::ParentDir if path.pop() => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(JailError::Outside {
                        path: raw.to_owned(),
                    });
                }
            }
        }
        let last = raw.rsplit('/').next().unwrap_or_default();
        Ok(JailPath {
            path: top.join(path),
            names_folder: matches!(last, "" | "." | ".."),
        })
    }

    /// The place called `relative` beneath this one.
    ///
    /// # Errors
    /// As [`Jail::place`](crate::Jail::place); `..` may not climb above this place.
    pub fn join(&self, relative: &str) -> Result<JailPath, JailError> {
        let below = JailPath::parse(relative, Path::new(relative))?;
        Ok(JailPath {
            path: self.path.join(below.path),
            names_folder: below.names_folder,
        })
    }

    /// The entry `name` of this directory, as the disk spells it.
    pub(crate) fn child(&self, name: &OsStr) -> JailPath {
        JailPath {
            path: self.path.join(name),
            names_folder: false,
        }
    }

    /// The path: relative to the root, empty for the root; absolute beyond it.
    pub fn as_path(&self) -> &Path {
        &self.path
    }

    /// The last name; `None` for the root.
    pub fn name(&self) -> Option<&OsStr> {
        self.path.file_name()
    }

    /// Whether the path as text has replacement characters, so that it cannot be given back.
    pub fn is_lossy(&self) -> bool {
        self.path.to_str().is_none()
    }

    /// Whether it was written as a directory is: `dir/`, `dir/.`, or nothing at all.
    pub fn names_folder(&self) -> bool {
        self.names_folder
    }

    /// Whether it lies beyond the root, in the rest of the system.
    pub fn is_beyond(&self) -> bool {
        self.path.is_absolute()
    }

    /// Whether this is `other` or lies beneath it.
    pub fn is_within(&self, other: &JailPath) -> bool {
        self.path.starts_with(&other.path)
    }

    /// The folder and the name in it; none for the root.
    pub(crate) fn split(&self) -> Option<(&Path, &OsStr)> {
        Some((self.path.parent()?, self.path.file_name()?))
    }
}

/// The path as text, lossy where it is not UTF-8; `.` for the root.
impl fmt::Display for JailPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.path))
    }
}

/// A relative path for a person or a model.
pub(crate) fn shown(path: &Path) -> String {
    match path.to_string_lossy() {
        empty if empty.is_empty() => ".".to_owned(),
        text => text.into_owned(),
    }
}

/// Whether `text` looks like a name that was shown with replacement characters.
pub(crate) fn was_lossy(text: &OsStr) -> bool {
    text.to_str()
        .is_some_and(|text| text.contains(char::REPLACEMENT_CHARACTER))
}

fn too_long(raw: &str, max: usize) -> JailError {
    let path = raw.chars().take(SHOWN_CHARS).chain(['…']).collect();
    JailError::NameTooLong { path, max }
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use proptest::prelude::*;

    use super::JailPath;

    proptest! {
        // proves TL-8
        #[test]
        fn no_text_becomes_a_place_beyond_the_root(raw in "(\\.\\.|\\.|/|a|é|\\\\|\0){0,12}") {
            if let Ok(place) = JailPath::parse(&raw, Path::new(&raw)) {
                let mut parts = place.as_path().components();
                prop_assert!(parts.all(|part| matches!(part, Component::Normal(_))), "{place:?}");
                let again = JailPath::parse(&place.to_string(), Path::new(&place.to_string()));
                prop_assert_eq!(again.unwrap().path, place.path);
            }
        }
    }

    #[test]
    fn a_joined_path_stays_beneath_the_place_it_is_joined_to() {
        let place = JailPath::parse("a/b", Path::new("a/b")).unwrap();

        assert_eq!(
            place.join("./c/../.gitignore").unwrap().to_string(),
            "a/b/.gitignore"
        );
        assert!(place.join("..").is_err());
        assert!(place.join("c/../../x").is_err());
        assert!(place.join("/etc").is_err());
    }
}
