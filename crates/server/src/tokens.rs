//! The tokens that let clients in, each with a name and a scope (TL-11).

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use samovar_core::relay::RelayRole;
use samovar_core::{Clock, Code, Error, Millis, Sender, words};
use samovar_locale as locale;
use samovar_sandbox::{SmallFiles, Survival};
use samovar_wire::api::{Brought, TokenInfo, TokenName, TokenScope};
use serde::{Deserialize, Serialize};
use tokio_util::sync::DropGuard;

use crate::clock::SystemClock;
use crate::config::Token;
use crate::grant::Grant;
use crate::token::{self, TokenHash};

const NAME: &str = "tokens.json";

/// Named tokens, at most.
const MAX_TOKENS: usize = 64;

/// Those of browsers among them, at most; a further login ends the oldest.
const MAX_BROWSERS: usize = 16;

/// How long a login counts.
pub(crate) const LOGIN_LIFE: Duration = Duration::from_hours(30 * 24);

/// Bytes of the file, at most.
const MAX_BYTES: u64 = 256 * 1024;

words! {
    /// Who may use a route, and what a token may do.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Scope {
        /// Everybody, without a token.
        Public = "public",
        /// Any token.
        Any = "any",
        /// A token for one room of the relay in one role.
        Relay = "relay",
        /// A token that may read.
        Read = "read",
        /// A token that may read and answer approvals.
        Approve = "approve",
        /// A token that may change sessions.
        Use = "use",
        /// A token of the owner.
        Admin = "admin",
    }
}

impl Scope {
    /// Whether a token of this scope is let into a route of that one. A token that changes sessions
    /// answers no approval, so it cannot approve its own calls.
    pub fn covers(self, needed: Self) -> bool {
        let tokens: &[Self] = match needed {
            Self::Public => return true,
            Self::Any => &[
                Self::Relay,
                Self::Read,
                Self::Approve,
                Self::Use,
                Self::Admin,
            ],
            Self::Relay => &[Self::Relay, Self::Use, Self::Admin],
            Self::Read => &[Self::Read, Self::Approve, Self::Use, Self::Admin],
            Self::Approve => &[Self::Approve, Self::Admin],
            Self::Use => &[Self::Use, Self::Admin],
            Self::Admin => &[Self::Admin],
        };
        tokens.contains(&self)
    }
}

/// Who came in, and what it may do.
#[derive(Clone, Debug)]
pub(crate) struct Guest {
    pub(crate) sender: Sender,
    pub(crate) scope: Scope,
    /// The one room of the relay that it may join, and in which role; none for any.
    pub(crate) seat: Option<Seat>,
    /// What it has shown at the door: a ticket stands for this.
    pub(crate) token: Option<TokenHash>,
    /// What it has while its token is not revoked; `None` for the owner and for strangers.
    pub(crate) grant: Option<Arc<Grant>>,
    /// What it brought to be let in.
    pub(crate) by: Brought,
}

/// A place in a room of the relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) room: String,
    pub(crate) role: RelayRole,
}

impl Guest {
    /// Who came in without a token.
    pub(crate) fn stranger() -> Self {
        Self {
            sender: Sender::Token {
                name: "public".into(),
                is_owner: false,
            },
            scope: Scope::Public,
            seat: None,
            token: None,
            grant: None,
            by: Brought::Token,
        }
    }

    /// What it may do, as its token says; `None` for a stranger.
    pub(crate) fn token_scope(&self) -> Option<TokenScope> {
        match self.scope {
            Scope::Public | Scope::Any => None,
            Scope::Relay => self.seat.as_ref().map(|seat| TokenScope::Relay {
                room: seat.room.clone(),
                role: seat.role,
            }),
            Scope::Read => Some(TokenScope::Read),
            Scope::Approve => Some(TokenScope::Approve),
            Scope::Use => Some(TokenScope::Use),
            Scope::Admin => Some(TokenScope::Admin),
        }
    }
}

/// All tokens of a server: the owner's, that of this run, and the named ones in `tokens.json`, of
/// which only hashes are kept.
pub(crate) struct Tokens {
    files: SmallFiles,
    owner: TokenHash,
    /// For the owner's own commands, which find it in the data directory.
    local: TokenHash,
    /// What every request is held against. Its lock is never held while something is written.
    named: RwLock<Arc<[Named]>>,
    /// One change after the other, each until it is kept.
    change: Mutex<()>,
    /// Requests in a minute of one named token, at most; 0 for no limit.
    requests_per_minute: u32,
}

/// A named token of this run.
#[derive(Clone)]
struct Named {
    record: TokenRecord,
    grant: Arc<Grant>,
}

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct TokenRecord {
    name: TokenName,
    scope: TokenScope,
    created_at: Millis,
    sha256: TokenHash,
    /// The end of a login; other tokens have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Millis>,
}

/// A login that has begun, and those that have ended for it.
pub(crate) struct Login {
    pub(crate) info: TokenInfo,
    pub(crate) token: Token,
    pub(crate) ended: Vec<TokenName>,
    /// What they had opened ends when these are dropped.
    pub(crate) guards: Vec<DropGuard>,
}

impl Tokens {
    /// Reads the named ones of a data directory.
    ///
    /// # Errors
    /// What the system said, or that the file is damaged.
    pub(crate) fn open(
        files: SmallFiles,
        owner: &Token,
        local: &Token,
        requests_per_minute: u32,
    ) -> std::io::Result<Self> {
        let named = named(&files)?.into_iter().map(|record| Named {
            record,
            grant: Arc::new(Grant::new(requests_per_minute)),
        });
        let named: Vec<_> = named.collect();
        Ok(Self {
            files,
            owner: TokenHash::of(owner),
            local: TokenHash::of(local),
            named: RwLock::new(named.into()),
            change: Mutex::default(),
            requests_per_minute,
        })
    }

    /// Whose token this is.
    pub(crate) fn recognise(&self, given: &[u8]) -> Option<Guest> {
        self.of(&TokenHash::of_bytes(given))
    }

    /// Whose token this is the hash of, now. Every one is compared, so that the time says nothing.
    pub(crate) fn of(&self, given: &TokenHash) -> Option<Guest> {
        let named = self.named();
        let mut guest = None;
        for named in named.iter() {
            if named.record.sha256.equals(given) {
                guest = Some(named);
            }
        }
        let guest = guest.filter(|named| named.record.is_in_force(SystemClock.now()));
        let guest = guest.map(Named::guest);
        let (is_owner, is_local) = (self.owner.equals(given), self.local.equals(given));
        let owner = |sender| Guest {
            sender,
            scope: Scope::Admin,
            seat: None,
            token: Some(given.clone()),
            grant: None,
            by: Brought::Token,
        };
        match (is_owner, is_local) {
            (true, _) => Some(owner(Sender::Token {
                name: "owner".into(),
                is_owner: true,
            })),
            (false, true) => Some(owner(Sender::CommandLine)),
            (false, false) => guest,
        }
    }

    /// The named ones, oldest first.
    pub(crate) fn list(&self) -> Vec<TokenInfo> {
        let (named, now) = (self.named(), SystemClock.now());
        let named = named.iter().map(|named| &named.record);
        let in_force = named.filter(|record| record.is_in_force(now));
        in_force.map(TokenRecord::info).collect()
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
        let _change = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        let named = self.named();
        let is_taken = |other: &Named| other.record.name == name;
        if is_reserved(&name) || named.iter().any(is_taken) {
            let why = locale::token::name_taken(locale::quoted(name.as_str()));
            return Err(Error::new(Code::InvalidParams, why));
        }
        let (fresh, token) = self.fresh(name, scope, now)?;
        let info = fresh.record.info();
        let mut more = named.to_vec();
        add(&mut more, fresh)?;
        self.keep(more)?;
        Ok((info, token))
    }

    /// Makes the token of a browser that logs in, in place of the one that it has. The name has a
    /// number after it if it is taken.
    ///
    /// # Errors
    /// As [`Tokens::create`].
    pub(crate) fn log_in(
        &self,
        name: &TokenName,
        scope: TokenScope,
        earlier: Option<&TokenHash>,
        now: Millis,
    ) -> Result<Login, Error> {
        let _change = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        let is_earlier = |record: &TokenRecord| {
            record.expires_at.is_some() && earlier.is_some_and(|hash| record.sha256.equals(hash))
        };
        let (mut ended, mut kept): (Vec<_>, Vec<_>) = self
            .named()
            .iter()
            .cloned()
            .partition(|named| !named.record.is_in_force(now) || is_earlier(&named.record));
        let is_browser = |named: &Named| named.record.expires_at.is_some();
        if kept.iter().filter(|named| is_browser(named)).count() >= MAX_BROWSERS
            && let Some(oldest) = kept.iter().position(is_browser)
        {
            ended.push(kept.remove(oldest));
        }
        let (mut fresh, token) = self.fresh(free_name(name, &kept), scope, now)?;
        let life = i64::try_from(LOGIN_LIFE.as_millis()).unwrap_or(i64::MAX);
        fresh.record.expires_at = Some(Millis(now.0.saturating_add(life)));
        let info = fresh.record.info();
        add(&mut kept, fresh)?;
        self.keep(kept)?;
        Ok(Login {
            info,
            token,
            guards: ended.iter().map(|named| named.grant.revoke()).collect(),
            ended: ended.into_iter().map(|named| named.record.name).collect(),
        })
    }

    fn fresh(
        &self,
        name: TokenName,
        scope: TokenScope,
        now: Millis,
    ) -> Result<(Named, Token), Error> {
        let token = token::fresh().map_err(|error| not_kept(&error))?;
        let record = TokenRecord {
            name,
            scope,
            created_at: now,
            sha256: TokenHash::of(&token),
            expires_at: None,
        };
        let grant = Arc::new(Grant::new(self.requests_per_minute));
        Ok((Named { record, grant }, token))
    }

    /// Revokes a token: it is refused from here on. The requests, streams and sockets that it has
    /// opened end when the guard is dropped.
    ///
    /// # Errors
    /// [`Code::UnknownToken`] when there is none; [`Code::StoreFull`] when that cannot be kept.
    pub(crate) fn revoke(&self, name: &TokenName) -> Result<DropGuard, Error> {
        let _change = self.change.lock().unwrap_or_else(PoisonError::into_inner);
        let named = self.named();
        let mut fewer = named.to_vec();
        let at = fewer.iter().position(|other| other.record.name == *name);
        let at = at.ok_or_else(|| {
            let why = locale::token::unknown(locale::quoted(name.as_str()));
            Error::new(Code::UnknownToken, why)
        })?;
        let revoked = fewer.remove(at);
        self.keep(fewer)?;
        // After the list, so that a request which still found it there ends, too.
        Ok(revoked.grant.revoke())
    }

    fn named(&self) -> Arc<[Named]> {
        let named = self.named.read().unwrap_or_else(PoisonError::into_inner);
        named.clone()
    }

    /// Kept first: what counts here must count after the next start, too.
    fn keep(&self, changed: Vec<Named>) -> Result<(), Error> {
        let records: Vec<_> = changed.iter().map(|named| &named.record).collect();
        let text = serde_json::to_vec(&records).map_err(|error| not_kept(&error.into()))?;
        let kept = self.files.write(NAME, &text, Survival::Crash);
        kept.map_err(|error| not_kept(&error))?;
        let mut named = self.named.write().unwrap_or_else(PoisonError::into_inner);
        *named = changed.into();
        Ok(())
    }
}

impl Named {
    fn guest(&self) -> Guest {
        let Self { record, grant } = self;
        let (scope, seat) = match &record.scope {
            TokenScope::Read => (Scope::Read, None),
            TokenScope::Approve => (Scope::Approve, None),
            TokenScope::Use => (Scope::Use, None),
            TokenScope::Admin => (Scope::Admin, None),
            TokenScope::Relay { room, role } => {
                let (room, role) = (room.clone(), *role);
                (Scope::Relay, Some(Seat { room, role }))
            }
        };
        Guest {
            sender: Sender::Token {
                name: record.name.as_str().into(),
                is_owner: scope.covers(Scope::Admin),
            },
            scope,
            seat,
            token: Some(record.sha256.clone()),
            grant: Some(grant.clone()),
            by: Brought::Token,
        }
    }
}

/// Adds a token, if there is room for one.
fn add(named: &mut Vec<Named>, fresh: Named) -> Result<(), Error> {
    if named.len() >= MAX_TOKENS {
        let why = locale::token::too_many(MAX_TOKENS as u64);
        return Err(Error::new(Code::InvalidParams, why));
    }
    named.push(fresh);
    Ok(())
}

/// The name, with the first number after it that makes it free.
fn free_name(name: &TokenName, named: &[Named]) -> TokenName {
    let is_free = |name: &TokenName| {
        !is_reserved(name) && named.iter().all(|other| other.record.name != *name)
    };
    let numbered = (2..=MAX_TOKENS + 2).filter_map(|number| {
        let end = format!("-{number}");
        let begin = name.as_str();
        let begin = &begin[..begin.len().min(TokenName::MAX_BYTES - end.len())];
        TokenName::new(format!("{begin}{end}"))
    });
    let mut tried = std::iter::once(name.clone()).chain(numbered);
    // One of so many is free: there are fewer tokens.
    tried.find(is_free).unwrap_or_else(|| name.clone())
}

/// Names of callers that have no named token.
fn is_reserved(name: &TokenName) -> bool {
    matches!(name.as_str(), "owner" | "public")
}

impl TokenRecord {
    fn info(&self) -> TokenInfo {
        TokenInfo {
            name: self.name.clone(),
            scope: self.scope.clone(),
            created_at: self.created_at,
            expires_at: self.expires_at,
        }
    }

    fn is_in_force(&self, now: Millis) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }
}

/// The named tokens that a data directory keeps.
///
/// # Errors
/// What the system said, or that the list is damaged.
pub(crate) fn named(files: &SmallFiles) -> std::io::Result<Vec<TokenRecord>> {
    match files.read(NAME, MAX_BYTES)? {
        Some(text) => Ok(serde_json::from_str(&text)?),
        None => Ok(Vec::new()),
    }
}

/// A change that cannot be kept.
pub(crate) fn not_kept(error: &std::io::Error) -> Error {
    let why = locale::token::not_kept(error);
    Error::new(Code::StoreFull, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: &str = "a-token-of-thirty-two-characters";

    fn open(dir: &tempfile::TempDir) -> Tokens {
        let token = Token::new(OWNER).unwrap();
        Tokens::open(SmallFiles::of(dir.path()).unwrap(), &token, &token, 600).unwrap()
    }

    fn name(text: &str) -> TokenName {
        serde_json::from_value(text.into()).unwrap()
    }

    // proves TL-11
    #[test]
    fn each_scope_covers_what_the_table_says() {
        use Scope::{Admin, Any, Approve, Public, Read, Relay, Use};
        let routes = [Public, Any, Relay, Read, Approve, Use, Admin];
        for (token, covered) in [
            (Public, "yes  no   no   no   no   no   no"),
            (Relay, " yes  yes  yes  no   no   no   no"),
            (Read, "  yes  yes  no   yes  no   no   no"),
            (Approve, "yes yes  no   yes  yes  no   no"),
            (Use, "   yes  yes  yes  yes  no   yes  no"),
            (Admin, " yes  yes  yes  yes  yes  yes  yes"),
        ] {
            let covered: Vec<_> = covered.split_whitespace().collect();
            assert_eq!(covered.len(), routes.len());
            for (route, covered) in routes.into_iter().zip(covered) {
                let what = format!("{} on {}", token.as_str(), route.as_str());
                assert_eq!(token.covers(route), covered == "yes", "{what}");
            }
        }
    }

    // proves TL-11
    #[test]
    fn a_change_that_is_being_written_keeps_nobody_waiting_at_the_door() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = open(&dir);
        let made = tokens.create(name("phone"), TokenScope::Read, Millis(1));
        let (_, token) = made.unwrap();

        let _written = tokens.change.lock().unwrap();

        assert!(tokens.recognise(OWNER.as_bytes()).is_some());
        assert!(tokens.recognise(token.expose().as_bytes()).is_some());
        assert_eq!(tokens.list().len(), 1);
    }

    // proves TL-11
    #[test]
    fn changes_at_once_are_all_kept() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = open(&dir);
        std::thread::scope(|scope| {
            for number in 0..8 {
                let tokens = &tokens;
                scope.spawn(move || {
                    let made =
                        tokens.create(name(&format!("t{number}")), TokenScope::Use, Millis(1));
                    made.unwrap();
                    if number % 2 == 0 {
                        tokens.revoke(&name(&format!("t{number}"))).unwrap();
                    }
                });
            }
        });
        let names = |tokens: &Tokens| {
            let mut names: Vec<_> = tokens.list().into_iter().map(|info| info.name).collect();
            names.sort_by(|a, b| a.as_str().cmp(b.as_str()));
            names
        };
        assert_eq!(names(&tokens), ["t1", "t3", "t5", "t7"].map(name));
        assert_eq!(names(&open(&dir)), names(&tokens));
    }
}
