//! The files of a backup, and the list of them with their checksums.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use samovar_core::{Backup, BlobHash, Millis};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::blobs::{self, BLOBS};
use crate::data_dir::create;

/// The list's own name.
pub(super) const MANIFEST: &str = "manifest.json";
const MAX_BYTES: u64 = 4 << 20;

/// What a backup of this program looks like.
const FORMAT: u32 = 1;

/// Bytes that are copied at once.
const STRETCH: usize = 1 << 20;

/// What is in a backup.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Manifest {
    format: u32,
    version: String,
    created_at: Millis,
    /// The run of the server that it was made in.
    pub(super) epoch: u64,
    pub(super) files: Vec<BackupFile>,
    /// Its blobs, each of which has its checksum as its name; absent in older backups.
    #[serde(default)]
    pub(super) blobs: BlobSum,
    /// What agents remember; absent in older backups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) memory: Vec<BackupFile>,
}

/// How many blobs a folder has, and the checksum of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BlobSum {
    count: u64,
    bytes: u64,
    sha256: String,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BackupFile {
    pub(super) path: String,
    bytes: u64,
    sha256: String,
}

impl Manifest {
    pub(super) fn new(created_at: Millis, epoch: u64, files: Vec<BackupFile>) -> Self {
        Self {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            created_at,
            epoch,
            files,
            blobs: BlobSum::default(),
            memory: Vec::new(),
        }
    }

    pub(super) fn with(self, blobs: BlobSum, memory: Vec<BackupFile>) -> Self {
        Self {
            blobs,
            memory,
            ..self
        }
    }

    /// Reads the list of a backup; none when it is not one that this program can read.
    pub(super) fn read(backup: &Path) -> io::Result<Option<Self>> {
        let mut text = String::new();
        let file = File::open(backup.join(MANIFEST))?;
        file.take(MAX_BYTES).read_to_string(&mut text)?;
        let manifest: Option<Self> = serde_json::from_str(&text).ok();
        Ok(manifest.filter(|manifest| manifest.format == FORMAT))
    }

    /// Writes the list, durably.
    pub(super) fn write(&self, backup: &Path) -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        let mut file = create(&backup.join(MANIFEST))?;
        file.write_all(&text)?;
        file.sync_all()
    }

    /// All files but the blobs.
    pub(super) fn all(&self) -> impl Iterator<Item = &BackupFile> {
        self.files.iter().chain(&self.memory)
    }

    pub(super) fn info(&self, path: &Path) -> Backup {
        Backup {
            path: path.display().to_string(),
            created_at: self.created_at,
            bytes: self.all().map(|file| file.bytes).sum::<u64>() + self.blobs.bytes,
            epoch: self.epoch,
        }
    }
}

impl BlobSum {
    /// Those of a folder; nothing if it has none.
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let folder = folder.join(BLOBS);
        let (mut sum, mut names) = (Self::default(), Sha256::new());
        for hash in blobs::list(&folder)? {
            sum.count += 1;
            sum.bytes += folder.join(hash.as_str()).metadata()?.len();
            names.update(hash.as_str());
        }
        if sum.count > 0 {
            sum.sha256 = BlobHash::from(names).to_string();
        }
        Ok(sum)
    }
}

impl BackupFile {
    /// A file as it is.
    pub(super) fn of(folder: &Path, path: &str) -> io::Result<Self> {
        let file = File::open(folder.join(path))?;
        let (bytes, sha256) = drain(file, &mut io::sink())?;
        Ok(Self {
            path: path.to_owned(),
            bytes,
            sha256,
        })
    }

    /// Copies it, synced; false when it is not what was listed.
    pub(super) fn copy(&self, from: &Path, to: &Path) -> io::Result<bool> {
        let mut copy = create(&to.join(&self.path))?;
        let (bytes, sha256) = drain(File::open(from.join(&self.path))?, &mut copy)?;
        copy.sync_all()?;
        Ok(bytes == self.bytes && sha256 == self.sha256)
    }
}

/// Copies everything; answers how much it was, and its checksum.
fn drain(mut from: File, to: &mut impl Write) -> io::Result<(u64, String)> {
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    let mut stretch = vec![0; STRETCH];
    loop {
        let read = from.read(&mut stretch)?;
        if read == 0 {
            return Ok((bytes, BlobHash::from(hash).to_string()));
        }
        hash.update(&stretch[..read]);
        to.write_all(&stretch[..read])?;
        bytes += read as u64;
    }
}
