//! The home folder of commands: one that is kept, outside the workspace, and for each session that
//! has read text from outside a layer over it.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use samovar_core::SessionId;
use samovar_sandbox::cage::Home;

use crate::text::sha256;

/// The folder that is kept, in the data directory.
const KEPT: &str = "home";
/// The folder of the layers.
const LAYERS: &str = "home-layers";

/// The home folders of a data directory. Each is made when a command first needs it.
#[derive(Debug)]
pub struct HomeStore {
    data_dir: PathBuf,
}

impl HomeStore {
    /// Those of a data directory, which must exist.
    ///
    /// # Errors
    /// What the system said.
    pub fn of(data_dir: &Path) -> io::Result<Self> {
        let data_dir = fs::canonicalize(data_dir)?;
        Ok(Self { data_dir })
    }

    /// The kept one.
    pub(crate) fn kept(&self) -> io::Result<Home> {
        let folder = self.data_dir.join(KEPT);
        make(&folder)?;
        let layer = None;
        Ok(Home { folder, layer })
    }

    /// The kept one under the layer of a session.
    pub(crate) fn layered(&self, session: &SessionId) -> io::Result<Home> {
        let layer = Some(self.layer_of(session));
        for name in ["upper", "work"] {
            make(&self.layer_of(session).join(name))?;
        }
        Ok(Home {
            layer,
            ..self.kept()?
        })
    }

    /// Removes the layer of a session, however deep the folders are that a command made in it.
    pub(crate) fn forget(&self, session: &SessionId) -> io::Result<()> {
        let layer = self.layer_of(session);
        if !layer.is_dir() {
            return Ok(());
        }
        let (mut waiting, mut moved) = (vec![layer.clone()], 0);
        while let Some(folder) = waiting.pop() {
            // A command, or the kernel, can make a folder that its owner may not open.
            fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                if !entry.file_type()?.is_dir() {
                    fs::remove_file(entry.path())?;
                    continue;
                }
                moved += 1;
                let place = layer.with_extension(moved.to_string());
                fs::set_permissions(entry.path(), Permissions::from_mode(0o700))?;
                fs::rename(entry.path(), &place)?;
                waiting.push(place);
            }
            fs::remove_dir(folder)?;
        }
        Ok(())
    }

    fn layer_of(&self, session: &SessionId) -> PathBuf {
        // An id may come from elsewhere, and have what a file's name must not.
        let mut name = sha256(session.as_str().as_bytes());
        name.truncate(32);
        self.data_dir.join(LAYERS).join(name)
    }
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
