//! The token that clients must bring (TL-11).

use std::fmt::Write as _;
use std::io::ErrorKind;

use samovar_locale as locale;
use samovar_sandbox::{SmallFiles, Survival};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::config::Token;

const NAME: &str = "token";

/// Bytes of a token file, at most.
const MAX_TOKEN_BYTES: u64 = 4096;

/// What is compared with what a client brings, and kept of a named token: never the token itself.
#[derive(Clone)]
pub(crate) struct TokenHash([u8; 32]);

impl std::fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl TokenHash {
    pub(crate) fn of(token: &Token) -> Self {
        Self::of_bytes(token.expose().as_bytes())
    }

    /// The hash of whatever a client brought.
    pub(crate) fn of_bytes(given: &[u8]) -> Self {
        Self(Sha256::digest(given).into())
    }

    /// Whether both are of one token, in a time that does not depend on it.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Serialize for TokenHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(&self.0))
    }
}

impl<'de> Deserialize<'de> for TokenHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut hash = [0; 32];
        let is_hex = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        for (at, byte) in hash.iter_mut().enumerate() {
            let digits = is_hex.then(|| text.get(2 * at..2 * at + 2)).flatten();
            let read = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            *byte = read.ok_or_else(|| de::Error::custom("a hash has 64 hexadecimal digits"))?;
        }
        Ok(Self(hash))
    }
}

/// The token of a data directory, made at first start: 256 random bits in a file of mode 0600.
pub(crate) fn of_data_dir(files: &SmallFiles) -> std::io::Result<Token> {
    match in_data_dir(files)? {
        Some(token) => Ok(token),
        None => make(files),
    }
}

/// The token of a data directory, if it has one.
///
/// # Errors
/// What the system said, or that it is too short.
pub(crate) fn in_data_dir(files: &SmallFiles) -> std::io::Result<Option<Token>> {
    let Some(text) = files.read(NAME, MAX_TOKEN_BYTES)? else {
        return Ok(None);
    };
    let short = || std::io::Error::new(ErrorKind::InvalidData, locale::data_dir::token_short());
    Token::new(&text).ok_or_else(short).map(Some)
}

/// A token that nobody had before: 256 random bits.
///
/// # Errors
/// When the system gives no random bits.
pub(crate) fn fresh() -> std::io::Result<Token> {
    let text = random::<32>()?;
    Token::new(&text).ok_or_else(|| ErrorKind::InvalidData.into())
}

/// So many random bytes, in hexadecimal digits.
///
/// # Errors
/// When the system gives no random bits.
pub(crate) fn random<const BYTES: usize>() -> std::io::Result<String> {
    let mut bytes = [0_u8; BYTES];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    Ok(hex(&bytes))
}

fn hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}

fn make(files: &SmallFiles) -> std::io::Result<Token> {
    let token = fresh()?;
    let line = format!("{}\n", token.expose());
    // The journal, which opens later, syncs the folder.
    files.write(NAME, line.as_bytes(), Survival::Content)?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn files(dir: &tempfile::TempDir) -> SmallFiles {
        SmallFiles::of(dir.path()).unwrap()
    }

    // proves TL-11
    #[test]
    fn a_data_dir_gets_one_token_which_only_its_owner_can_read() {
        let dir = tempfile::tempdir().unwrap();
        let token = of_data_dir(&files(&dir)).unwrap();
        assert_eq!(token.expose().len(), 64);
        assert_eq!(of_data_dir(&files(&dir)).unwrap(), token);
        let mode = std::fs::metadata(dir.path().join("token"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_ne!(
            of_data_dir(&files(&tempfile::tempdir().unwrap())).unwrap(),
            token
        );
        assert_eq!(format!("{token:?}"), "***");
    }

    #[test]
    fn a_token_file_that_holds_nothing_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("token"), " \n").unwrap();
        assert!(of_data_dir(&files(&dir)).is_err());
    }
}
