//! Where the holder of a data directory can be reached: the file `server.json` in it (FC-1).

use std::net::SocketAddr;
use std::path::Path;
use std::time::SystemTime;

use samovar_core::redact::{self, Secret};
use samovar_sandbox::{SmallFiles, Survival};
use serde::{Deserialize, Serialize};

use crate::config::Token;
use crate::token::TokenHash;

const NAME: &str = "server.json";

/// Bytes of the file, at most.
const MAX_BYTES: u64 = 4096;

/// Where a running server listens, and what lets its owner in.
#[derive(Clone, Debug)]
pub struct Address {
    /// Where it listens for the owner's own commands; always on loopback.
    pub address: SocketAddr,
    /// Where other clients reach it, without a slash at the end.
    pub url: String,
    /// The token of this run of the server, which the owner's own commands bring.
    pub token: Token,
    /// The hash of the token that it lets the owner's other clients in with.
    pub(crate) owner: Option<TokenHash>,
    /// The process.
    pub pid: u32,
    /// Since when it listens.
    pub since: Option<SystemTime>,
}

#[derive(Serialize, Deserialize)]
struct AddressRecord {
    address: SocketAddr,
    #[serde(default)]
    url: Option<String>,
    token: String,
    #[serde(default)]
    owner: Option<TokenHash>,
    pid: u32,
}

impl Address {
    /// What the holder of a data directory has written; `None` if it does not listen, or not yet.
    pub fn read(data_dir: &Path) -> Option<Self> {
        let text = SmallFiles::of(data_dir)
            .ok()?
            .read(NAME, MAX_BYTES)
            .ok()??;
        let written: AddressRecord = serde_json::from_str(&text).ok()?;
        let token = Token::new(&written.token)?;
        if let Some(token) = Secret::new(token.expose()) {
            redact::protect("local token", &token);
        }
        let (address, pid) = (written.address, written.pid);
        let meta = std::fs::metadata(data_dir.join(NAME));
        let since = meta.and_then(|meta| meta.modified()).ok();
        // The token goes to no other machine, whatever the file says.
        address.ip().is_loopback().then_some(Self {
            address,
            url: written.url.unwrap_or_else(|| format!("http://{address}")),
            token,
            pid,
            since,
            owner: written.owner,
        })
    }

    /// Whether the server lets its owner in with this token, as far as it has said.
    pub fn takes(&self, token: &Token) -> bool {
        let given = TokenHash::of(token);
        self.owner.as_ref().is_none_or(|owner| owner.equals(&given))
    }
}

/// The file of a server that runs; it goes with it.
pub(crate) struct AddressFile(SmallFiles);

impl AddressFile {
    /// Writes it, for the owner's eyes alone.
    ///
    /// # Errors
    /// What the system said.
    pub(crate) fn write(files: SmallFiles, address: &Address) -> std::io::Result<Self> {
        let written = AddressRecord {
            address: address.address,
            url: Some(address.url.clone()),
            token: address.token.expose().to_owned(),
            owner: address.owner.clone(),
            pid: address.pid,
        };
        let mut text = serde_json::to_vec(&written)?;
        text.push(b'\n');
        files.write(NAME, &text, Survival::Writer)?;
        Ok(Self(files))
    }

    /// Removes what a server that was killed has left. Only the holder of the directory may.
    pub(crate) fn sweep(files: &SmallFiles) {
        if let Err(error) = files.remove(NAME) {
            tracing::warn!(%error, "an address file stays behind");
        }
    }
}

impl Drop for AddressFile {
    fn drop(&mut self) {
        Self::sweep(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn address(at: &str) -> Address {
        Address {
            address: at.parse().unwrap(),
            url: "https://samovar.example".to_owned(),
            token: Token::new("a-token-of-thirty-two-characters").unwrap(),
            owner: None,
            pid: 7,
            since: None,
        }
    }

    // proves FC-1
    #[test]
    fn the_address_of_a_server_is_there_while_it_runs_and_only_its_owner_can_read_it() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Address::read(dir.path()).is_none());
        let file = AddressFile::write(
            SmallFiles::of(dir.path()).unwrap(),
            &address("127.0.0.1:4747"),
        )
        .unwrap();
        let read = Address::read(dir.path()).unwrap();
        assert_eq!(read.address, "127.0.0.1:4747".parse().unwrap());
        assert_eq!(read.url, "https://samovar.example");
        assert!(read.pid == 7 && read.since.is_some(), "{read:?}");
        assert_eq!(read.token.expose(), "a-token-of-thirty-two-characters");
        let meta = std::fs::metadata(dir.path().join(NAME)).unwrap();
        assert_eq!(meta.permissions().mode() & 0o777, 0o600);
        drop(file);
        assert!(Address::read(dir.path()).is_none());
    }

    #[test]
    fn a_file_that_names_another_machine_or_nonsense_names_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let _file = AddressFile::write(
            SmallFiles::of(dir.path()).unwrap(),
            &address("192.0.2.1:80"),
        )
        .unwrap();
        assert!(Address::read(dir.path()).is_none());
        for nonsense in [
            "",
            "{}",
            "{\"address\":\"127.0.0.1:1\",\"token\":\"x\",\"pid\":1}",
        ] {
            std::fs::write(dir.path().join(NAME), nonsense).unwrap();
            assert!(Address::read(dir.path()).is_none(), "{nonsense}");
        }
    }
}
