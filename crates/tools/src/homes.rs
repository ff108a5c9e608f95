//! The home folder of commands: one that is kept, outside the workspace, and for each session that
//! has read text from outside a layer over it.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use samovar_core::SessionId;
use samovar_sandbox::SmallFiles;
use samovar_sandbox::cage::Home;

use crate::text::sha256;

/// The folder that is kept, in the data directory.
const KEPT: &str = "home";
/// The folder of the layers.
const LAYERS: &str = "home-layers";
/// Bytes on the disk that the kept folder, or a layer, may have before a command begins.
const MAX_BYTES: u64 = 2 << 30;
/// Files and folders that it may have then.
const MAX_ENTRIES: usize = 200_000;

/// The home folders of a data directory. Each is made when a command first needs it.
#[derive(Debug)]
pub struct HomeStore {
    data_dir: PathBuf,
    files: SmallFiles,
    max_bytes: u64,
}

impl HomeStore {
    /// Those of a data directory, which must exist.
    ///
    /// # Errors
    /// What the system said.
    pub fn of(data_dir: &Path) -> io::Result<Self> {
        let data_dir = fs::canonicalize(data_dir)?;
        Ok(Self {
            files: SmallFiles::of(&data_dir)?,
            data_dir,
            max_bytes: MAX_BYTES,
        })
    }

    /// The kept one; an error if it is full.
    pub(crate) fn kept(&self) -> io::Result<Home> {
        self.files.opened_folder(KEPT)?;
        let folder = self.data_dir.join(KEPT);
        self.check_room(&folder)?;
        let layer = None;
        Ok(Home { folder, layer })
    }

    /// The kept one under the layer of a session; an error if either is full.
    pub(crate) fn layered(&self, session: &SessionId) -> io::Result<Home> {
        let name = layer_of(session);
        let layer = self.files.opened_folder(LAYERS)?.opened_folder(&name)?;
        for name in ["upper", "work"] {
            layer.opened_folder(name)?;
        }
        let layer = self.data_dir.join(LAYERS).join(name);
        self.check_room(&layer.join("upper"))?;
        Ok(Home {
            layer: Some(layer),
            ..self.kept()?
        })
    }

    /// Removes the layer of a session, however deep the folders are that a command made in it.
    pub(crate) fn forget(&self, session: &SessionId) -> io::Result<()> {
        let layers = self.files.existing_folder(LAYERS)?;
        layers.map_or(Ok(()), |layers| layers.remove_folder(&layer_of(session)))
    }

    /// Refuses a folder that is full. What cannot be looked at counts nothing.
    fn check_room(&self, home: &Path) -> io::Result<()> {
        let (mut waiting, mut bytes, mut entries) = (vec![home.to_owned()], 0, 0);
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let Ok(found) = entry.metadata() else {
                    continue;
                };
                entries += 1;
                bytes += found.blocks() * 512;
                if bytes > self.max_bytes || entries > MAX_ENTRIES {
                    let why = format!("{} is full, and has to be emptied", home.display());
                    return Err(io::Error::other(why));
                }
                if found.is_dir() {
                    waiting.push(entry.path());
                }
            }
        }
        Ok(())
    }
}

/// The name of a session's layer.
fn layer_of(session: &SessionId) -> String {
    // An id may come from elsewhere, and have what a file's name must not.
    let mut name = sha256(session.as_str().as_bytes());
    name.truncate(32);
    name
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    // proves TL-6
    #[test]
    fn a_home_that_is_full_is_not_given_and_one_that_was_closed_is() {
        let data = tempfile::tempdir().unwrap();
        let mut homes = HomeStore::of(data.path()).unwrap();
        homes.max_bytes = 64 * 1024;
        let session = SessionId::new("s").unwrap();
        let home = homes.layered(&session).unwrap();
        let upper = home.layer.unwrap().join("upper");
        for folder in [&upper, &home.folder] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o0)).unwrap();
        }
        homes.layered(&session).unwrap();
        assert_eq!(fs::metadata(&home.folder).unwrap().mode() & 0o7777, 0o700);
        assert_eq!(fs::metadata(&upper).unwrap().mode() & 0o7777, 0o700);

        fs::create_dir(upper.join("deep")).unwrap();
        fs::write(upper.join("deep/large"), vec![1; 128 * 1024]).unwrap();
        assert!(homes.kept().is_ok() && homes.layered(&session).is_err());
        homes.forget(&session).unwrap();
        assert!(homes.layered(&session).is_ok());
        fs::write(home.folder.join("large"), vec![1; 128 * 1024]).unwrap();
        assert!(homes.kept().is_err() && homes.layered(&session).is_err());
    }

    // proves TL-6
    #[test]
    fn a_link_in_place_of_the_layers_is_not_followed() {
        let (data, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let homes = HomeStore::of(data.path()).unwrap();
        let session = SessionId::new("s").unwrap();
        let theirs = other.path().join(layer_of(&session));
        fs::create_dir(&theirs).unwrap();
        std::os::unix::fs::symlink(other.path(), data.path().join(LAYERS)).unwrap();
        assert!(homes.forget(&session).is_err());
        assert!(homes.layered(&session).is_err());
        assert!(theirs.exists());
    }
}
