//! The relay: its rooms, and the way into them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use samovar_core::relay::{Host, PersonDeed, RelayCode, RelayRole, RoomInfo};
use samovar_core::{Clock, Code, Error};
use samovar_locale as locale;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::cell::{Cell, PersonError, Shared};
use crate::logs::StudyLogs;
use crate::member::Member;
use crate::room::{Key, MAX_ROOM_BYTES, Rules, Strictness, shown};

/// How a relay works, and its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelayConfig {
    /// Whether calls and words need a study session, and calls a reason (RL-11).
    pub strict: bool,
    /// How long a host has to answer a request.
    pub reply_timeout: Duration,
    /// Bytes that wait for a member, at most; one that has more is gone.
    pub queue_bytes: usize,
    /// Rooms, at most.
    pub max_rooms: usize,
    /// Members of a room, at most; a host has its place beside that.
    pub max_members: usize,
    /// Requests of an agent that are open, at most.
    pub max_open: usize,
    /// Bytes of a log's file, at most.
    pub max_log_bytes: u64,
}

impl Default for RelayConfig {
    fn default() -> Self {
        Self {
            strict: false,
            reply_timeout: Duration::from_secs(30),
            queue_bytes: 4 << 20,
            max_rooms: 1000,
            max_members: 64,
            max_open: 256,
            max_log_bytes: 1 << 30,
        }
    }
}

/// Where a member may join (RL-5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Any room, in any role.
    Any,
    /// One room in one role.
    Only {
        /// The room.
        room: String,
        /// The role.
        role: RelayRole,
    },
}

/// The rooms of a server. A clone is another handle on them.
#[derive(Clone)]
pub struct Relay(Arc<Inner>);

struct Inner {
    config: RelayConfig,
    shared: Arc<Shared>,
    rooms: Mutex<HashMap<String, Arc<Cell>>>,
    /// The number of the last connection.
    last: AtomicU64,
    closed: CancellationToken,
}

impl Relay {
    /// A relay without rooms, whose logs are below `data_dir`; no file is touched before the first
    /// room.
    pub fn open(data_dir: &Path, clock: Arc<dyn Clock>, config: RelayConfig) -> Self {
        let rules = Rules {
            strictness: if config.strict {
                Strictness::Strict
            } else {
                Strictness::Permissive
            },
            reply_timeout: config.reply_timeout,
            max_members: config.max_members,
            max_open: config.max_open,
        };
        let logs = StudyLogs::new(data_dir, clock.now(), config.max_log_bytes);
        Self(Arc::new(Inner {
            config,
            shared: Arc::new(Shared {
                clock,
                logs,
                rules,
                began: Instant::now(),
            }),
            rooms: Mutex::default(),
            last: AtomicU64::new(0),
            closed: CancellationToken::new(),
        }))
    }

    /// Makes a connected member, in no room yet.
    pub fn enter(&self, pass: Pass) -> Member {
        Member::new(
            self.clone(),
            self.next_key(),
            pass,
            self.0.config.queue_bytes,
        )
    }

    /// Attaches a host of this process to a room, replacing its current host. The room then stays
    /// when all members have left; a later host on a socket replaces it.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] for a name that no room can have, [`Code::Busy`] when there are as many
    /// rooms as there may be, [`Code::StoreFailed`] when its log cannot be written.
    pub fn attach(&self, room: &str, host: Box<dyn Host>) -> Result<(), Error> {
        let room = room.trim();
        if room.is_empty() || room.len() > MAX_ROOM_BYTES {
            let why = locale::relay::room_unnamed(MAX_ROOM_BYTES);
            return Err(Error::new(Code::InvalidParams, why));
        }
        let mut host = Some(host);
        while host.is_some() {
            let cell = self.room(room).map_err(|TooMany| {
                let why = locale::relay::rooms_full(self.0.config.max_rooms as u64);
                Error::new(Code::Busy, why)
            })?;
            let attached = cell.attach(self.next_key(), &mut host);
            self.forget(&cell);
            if let Ok(Err(cause)) = attached {
                return Err(unwritable(&cause));
            }
        }
        Ok(())
    }

    /// A person does something at the host of this process in a room.
    ///
    /// # Errors
    /// [`Code::UnknownRoom`] when there is no such host there; [`Code::InvalidParams`] and
    /// [`Code::UnknownTool`] when the host does not do it, with the relay's code in the details;
    /// [`Code::StoreFailed`] when it was done and cannot be logged.
    pub fn person(&self, room: &str, deed: &PersonDeed) -> Result<(), Error> {
        let room = room.trim();
        let cell = self.cells().get(room).cloned();
        let done = cell.map_or(Err(PersonError::NoHost), |cell| cell.person(deed));
        done.map_err(|unmoved| match unmoved {
            PersonError::NoHost => Error::new(
                Code::UnknownRoom,
                locale::relay::no_built_in_host(shown(room)),
            ),
            PersonError::Refused(code, why) => refused(code, why),
            PersonError::Broken(cause) => unwritable(&cause),
        })
    }

    /// The rooms that there are, sorted by their names.
    pub fn rooms(&self) -> Vec<RoomInfo> {
        let cells: Vec<_> = self.cells().values().cloned().collect();
        let mut rooms: Vec<_> = cells.iter().filter_map(|cell| cell.info()).collect();
        rooms.sort_unstable_by(|one, other| one.room.cmp(&other.room));
        rooms
    }

    /// The study logs.
    pub fn logs(&self) -> &StudyLogs {
        &self.0.shared.logs
    }

    /// Closes the relay: no member receives more, and all rows are synced to disk. An open study
    /// session continues when the server restarts.
    pub async fn close(&self) {
        // Who waits for the end of a study is told before nothing more comes.
        self.logs().settle().await;
        self.0.closed.cancel();
        let cells = std::mem::take(&mut *self.cells());
        for cell in cells.values() {
            cell.close();
        }
        self.logs().close().await;
    }

    /// The room of this name, made when it is not there.
    pub(crate) fn room(&self, name: &str) -> Result<Arc<Cell>, TooMany> {
        let mut cells = self.cells();
        if let Some(cell) = cells.get(name) {
            return Ok(cell.clone());
        }
        if cells.len() >= self.0.config.max_rooms || self.is_closed() {
            return Err(TooMany);
        }
        let cell = Arc::new(Cell::new(name, self.0.shared.clone()));
        cells.insert(name.to_owned(), cell.clone());
        Ok(cell)
    }

    /// Lets go of a room in which nobody is left.
    pub(crate) fn forget(&self, cell: &Arc<Cell>) {
        if !cell.is_dead() {
            return;
        }
        let mut cells = self.cells();
        let is_it = cells
            .get(cell.name())
            .is_some_and(|there| Arc::ptr_eq(there, cell));
        if is_it {
            cells.remove(cell.name());
        }
    }

    pub(crate) fn config(&self) -> &RelayConfig {
        &self.0.config
    }

    fn is_closed(&self) -> bool {
        self.0.closed.is_cancelled()
    }

    /// Waits until the relay closes.
    pub(crate) async fn closed(&self) {
        self.0.closed.cancelled().await;
    }

    fn next_key(&self) -> Key {
        self.0.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn cells(&self) -> MutexGuard<'_, HashMap<String, Arc<Cell>>> {
        self.0.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// There are as many rooms as there may be.
pub(crate) struct TooMany;

fn refused(code: RelayCode, why: String) -> Error {
    let status = match code {
        RelayCode::UnknownTool => Code::UnknownTool,
        RelayCode::InvalidMessage
        | RelayCode::SessionNotActive
        | RelayCode::InvalidParams
        | RelayCode::NoActiveSpec
        | RelayCode::ToolExecutionFailed => Code::InvalidParams,
    };
    Error::new(status, why).with_details(json!({"relayCode": code.as_str()}))
}

fn unwritable(cause: &str) -> Error {
    Error::new(Code::StoreFailed, locale::relay::log_unwritable(cause))
}
