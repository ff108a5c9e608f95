//! The token that clients must bring (TL-11).

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::config::Token;

/// Bytes of a token file, at most.
const MAX_TOKEN_BYTES: u64 = 4096;

/// What is compared with what a client brings: never the token itself.
pub(crate) struct TokenHash([u8; 32]);

impl TokenHash {
    pub(crate) fn of(token: &Token) -> Self {
        Self(Sha256::digest(token.expose().as_bytes()).into())
    }

    /// Whether a client's token is the right one, in a time that does not depend on it.
    pub(crate) fn matches(&self, given: &[u8]) -> bool {
        let given: [u8; 32] = Sha256::digest(given).into();
        self.0.ct_eq(&given).into()
    }
}

/// The token of a data directory, made at first start: 256 random bits in a file of mode 0600.
pub(crate) fn of_data_dir(dir: &Path) -> std::io::Result<Token> {
    let path = dir.join("token");
    match File::open(&path) {
        Ok(file) => read(file),
        Err(error) if error.kind() == ErrorKind::NotFound => make(&path),
        Err(error) => Err(error),
    }
}

fn read(file: File) -> std::io::Result<Token> {
    let mut text = String::new();
    file.take(MAX_TOKEN_BYTES).read_to_string(&mut text)?;
    Token::new(&text).ok_or_else(|| {
        let why = "the file `token` is too short to be one; delete it to get a new one";
        std::io::Error::new(ErrorKind::InvalidData, why)
    })
}

fn make(path: &Path) -> std::io::Result<Token> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    let mut hex = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    let token = Token::new(&hex).ok_or(ErrorKind::InvalidData)?;
    // Written beside and renamed, so that a crash leaves no half token behind.
    let fresh = path.with_extension("new");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&fresh)?;
    writeln!(file, "{hex}")?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    // proves TL-11
    #[test]
    fn a_data_dir_gets_one_token_which_only_its_owner_can_read() {
        let dir = tempfile::tempdir().unwrap();
        let token = of_data_dir(dir.path()).unwrap();
        assert_eq!(token.expose().len(), 64);
        assert_eq!(of_data_dir(dir.path()).unwrap(), token);
        let mode = std::fs::metadata(dir.path().join("token"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_ne!(
            of_data_dir(tempfile::tempdir().unwrap().path()).unwrap(),
            token
        );
        assert_eq!(format!("{token:?}"), "***");
    }

    #[test]
    fn a_token_file_that_holds_nothing_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("token"), " \n").unwrap();
        assert!(of_data_dir(dir.path()).is_err());
    }
}
