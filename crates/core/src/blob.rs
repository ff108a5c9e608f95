//! Blobs: bytes that messages name by their hash, kept once each.

use std::collections::{BTreeSet, HashMap};
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Future;
use crate::checked::checked_text;
use crate::error::{Code, Error};
use crate::journal::Broken;

/// The SHA-256 of a blob's bytes, in 64 lower-case hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobHash(Arc<str>);

checked_text!(BlobHash);

impl BlobHash {
    /// Takes a hash as text.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] if it is not 64 lower-case hexadecimal digits.
    pub fn new(raw: &str) -> Result<Self, Error> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if raw.len() == 64 && raw.bytes().all(is_digit) {
            return Ok(Self(raw.into()));
        }
        let why = samovar_locale::image::bad_hash();
        Err(Error::new(Code::InvalidParams, why))
    }

    /// The hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Sha256::new_with_prefix(bytes).into()
    }
}

impl From<Sha256> for BlobHash {
    fn from(hash: Sha256) -> Self {
        let mut digits = String::with_capacity(64);
        for byte in hash.finalize() {
            // Writing to a string cannot fail.
            write!(digits, "{byte:02x}").unwrap_or_default();
        }
        Self(digits.into())
    }
}

impl fmt::Debug for BlobHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobHash({})", self.0)
    }
}

/// Keeps blobs (AS-30).
///
/// What [`Blobs::put`] returned must be named by a message that is kept before unnamed blobs are removed;
/// the engine has a guard for that.
pub trait Blobs: Send + Sync {
    /// Keeps bytes under their hash, durably; once, however often they are put.
    ///
    /// # Errors
    /// [`Broken`]; [`Broken::Full`] when the disk has no room.
    fn put(&self, bytes: Arc<[u8]>) -> Future<'_, Result<BlobHash, Broken>>;

    /// The bytes of a blob; `None` if it is missing, or if its bytes have another hash.
    ///
    /// # Errors
    /// [`Broken`] when it cannot be read.
    fn read<'a>(&'a self, hash: &'a BlobHash) -> Future<'a, Result<Option<Arc<[u8]>>, Broken>>;

    /// The hashes of all blobs.
    ///
    /// # Errors
    /// [`Broken`] when they cannot be listed.
    fn list(&self) -> Future<'_, Result<BTreeSet<BlobHash>, Broken>>;

    /// Removes blobs, durably; ignores those that are not there.
    ///
    /// # Errors
    /// [`Broken`] when one cannot be removed.
    fn remove(&self, hashes: BTreeSet<BlobHash>) -> Future<'_, Result<(), Broken>>;
}

/// Blobs in memory, for stores without a disk.
#[derive(Default)]
pub struct MemoryBlobs(Mutex<HashMap<BlobHash, Arc<[u8]>>>);

impl MemoryBlobs {
    fn with<T>(&self, act: impl FnOnce(&mut HashMap<BlobHash, Arc<[u8]>>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Blobs for MemoryBlobs {
    fn put(&self, bytes: Arc<[u8]>) -> Future<'_, Result<BlobHash, Broken>> {
        let hash = BlobHash::of(&bytes);
        self.with(|blobs| blobs.insert(hash.clone(), bytes));
        Box::pin(async { Ok(hash) })
    }

    fn read<'a>(&'a self, hash: &'a BlobHash) -> Future<'a, Result<Option<Arc<[u8]>>, Broken>> {
        let found = self.with(|blobs| blobs.get(hash).cloned());
        Box::pin(async { Ok(found) })
    }

    fn list(&self) -> Future<'_, Result<BTreeSet<BlobHash>, Broken>> {
        let hashes = self.with(|blobs| blobs.keys().cloned().collect());
        Box::pin(async { Ok(hashes) })
    }

    fn remove(&self, hashes: BTreeSet<BlobHash>) -> Future<'_, Result<(), Broken>> {
        self.with(|blobs| blobs.retain(|hash, _| !hashes.contains(hash)));
        Box::pin(async { Ok(()) })
    }
}
