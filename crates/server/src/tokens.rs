//! The tokens that let clients in, each with a name and a scope (TL-11).

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use samovar_core::{Code, Error, Millis, Sender};
use samovar_locale as locale;
use samovar_wire::api::{TokenInfo, TokenName, TokenScope};
use serde::{Deserialize, Serialize};

use crate::config::Token;
use crate::route::Scope;
use crate::token::{self, TokenHash};

const NAME: &str = "tokens.json";

/// Named tokens, at most.
const MAX_TOKENS: usize = 64;

/// Bytes of the file, at most.
const MAX_BYTES: u64 = 64 * 1024;

/// Who came in, and what it may do.
#[derive(Clone, Debug)]
pub(crate) struct Guest {
    pub(crate) sender: Sender,
    pub(crate) scope: Scope,
}

/// All tokens of a server: the owner's, that of this run, and the named ones in `tokens.json`, of
/// which only hashes are kept.
pub(crate) struct Tokens {
    path: PathBuf,
    owner: TokenHash,
    /// For the owner's own commands, which find it in the data directory.
    local: TokenHash,
    named: Mutex<Vec<Named>>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Named {
    name: TokenName,
    scope: TokenScope,
    created_at: Millis,
    sha256: TokenHash,
}

impl Tokens {
    /// Reads the named ones of a data directory.
    ///
    /// # Errors
    /// What the system said, or that the file is damaged.
    pub(crate) fn open(data_dir: &Path, owner: &Token, local: &Token) -> std::io::Result<Self> {
        let path = data_dir.join(NAME);
        let named = match File::open(&path) {
            Ok(file) => {
                let mut text = String::new();
                file.take(MAX_BYTES).read_to_string(&mut text)?;
                serde_json::from_str(&text)?
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(Self {
            path,
            owner: TokenHash::of(owner),
            local: TokenHash::of(local),
            named: Mutex::new(named),
        })
    }

    /// Whose token this is. Every one is compared, so that the time says nothing.
    pub(crate) fn recognise(&self, given: &[u8]) -> Option<Guest> {
        let given = TokenHash::of_bytes(given);
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let mut guest = None;
        for named in named.iter() {
            if named.sha256.equals(&given) {
                guest = Some(Guest {
                    sender: Sender::Token(named.name.as_str().into()),
                    scope: scope(named.scope),
                });
            }
        }
        let (is_owner, is_local) = (self.owner.equals(&given), self.local.equals(&given));
        match (is_owner, is_local) {
            (true, _) => Some(Guest {
                sender: Sender::Token("owner".into()),
                scope: Scope::Admin,
            }),
            (false, true) => Some(Guest {
                sender: Sender::CommandLine,
                scope: Scope::Admin,
            }),
            (false, false) => guest,
        }
    }

    /// The named ones, oldest first.
    pub(crate) fn list(&self) -> Vec<TokenInfo> {
        let named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        named.iter().map(Named::info).collect()
    }

    /// Makes a token. It is shown this once, and only its hash is kept.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] when the name is taken or there are too many;
    /// [`Code::StoreFull`] when it cannot be kept.
    pub(crate) fn create(
        &self,
        name: TokenName,
        scope: TokenScope,
        now: Millis,
    ) -> Result<(TokenInfo, Token), Error> {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let is_taken = |other: &Named| other.name == name;
        if matches!(name.as_str(), "owner" | "public") || named.iter().any(is_taken) {
            let why = locale::token::name_taken(locale::quoted(name.as_str()));
            return Err(Error::new(Code::InvalidParams, why));
        }
        if named.len() >= MAX_TOKENS {
            let why = locale::token::too_many(MAX_TOKENS as u64);
            return Err(Error::new(Code::InvalidParams, why));
        }
        let token = token::fresh().map_err(|error| not_kept(&error))?;
        let fresh = Named {
            name,
            scope,
            created_at: now,
            sha256: TokenHash::of(&token),
        };
        let info = fresh.info();
        let mut more = named.clone();
        more.push(fresh);
        self.keep(&more)?;
        *named = more;
        Ok((info, token))
    }

    /// Takes a token back; it lets nobody in from here on.
    ///
    /// # Errors
    /// [`Code::UnknownToken`] when there is none; [`Code::StoreFull`] when that cannot be kept.
    pub(crate) fn revoke(&self, name: &TokenName) -> Result<(), Error> {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let mut fewer = named.clone();
        fewer.retain(|other| other.name != *name);
        if fewer.len() == named.len() {
            let why = locale::token::unknown(locale::quoted(name.as_str()));
            return Err(Error::new(Code::UnknownToken, why));
        }
        self.keep(&fewer)?;
        *named = fewer;
        Ok(())
    }

    fn keep(&self, named: &[Named]) -> Result<(), Error> {
        let write = || -> std::io::Result<()> {
            let fresh = self.path.with_extension("new");
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&fresh)?;
            file.write_all(&serde_json::to_vec(named)?)?;
            file.sync_all()?;
            std::fs::rename(&fresh, &self.path)
        };
        write().map_err(|error| not_kept(&error))
    }
}

impl Named {
    fn info(&self) -> TokenInfo {
        TokenInfo {
            name: self.name.clone(),
            scope: self.scope,
            created_at: self.created_at,
        }
    }
}

fn scope(scope: TokenScope) -> Scope {
    match scope {
        TokenScope::Read => Scope::Read,
        TokenScope::Use => Scope::Use,
        TokenScope::Admin => Scope::Admin,
    }
}

fn not_kept(error: &std::io::Error) -> Error {
    let why = locale::token::not_kept(error);
    Error::new(Code::StoreFull, why)
}
