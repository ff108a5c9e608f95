//! The rooms of the relay: who talks in them, and the logs that they leave.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::agent::Agent;
use crate::dice::Dice;
use crate::host::Host;
use crate::observed::LogFile;
use crate::stage::Stage;

/// The room whose host is the server's own.
pub(crate) const BUILT_IN: &str = "movies";

/// The room whose host comes over a socket.
pub(crate) const OVER_SOCKET: &str = "screen 1";

/// Agents of a room.
const AGENTS: u32 = 2;

/// Where logs are, behind the data directory.
const LOGS: [&str; 2] = ["logs/study", "logs/room"];

/// Sends agents in, who stay until the arena closes, and a host, who stays longer.
pub(crate) fn fill(
    stage: &Arc<Stage>,
    name: &str,
    (data, patience): (&Path, Duration),
    (agents, hosts): (&mut JoinSet<()>, &mut JoinSet<()>),
    dice: &mut Dice,
) {
    for room in [BUILT_IN, OVER_SOCKET] {
        for number in 1..=AGENTS {
            let agent = Agent {
                stage: stage.clone(),
                data: data.to_owned(),
                room,
                name: format!("{name}-{room}-{number}"),
                patience,
                visits: 0,
                dice: dice.fork(),
            };
            agents.spawn(agent.attend());
        }
    }
    let host = Host {
        stage: stage.clone(),
        room: OVER_SOCKET,
        name: format!("{name}-h"),
        studies: 0,
        changes: 0,
        dice: dice.fork(),
    };
    hosts.spawn(host.attend());
}

/// Every log of a data directory.
pub(crate) fn logs(data: &Path) -> io::Result<Vec<LogFile>> {
    let mut logs = Vec::new();
    for folder in LOGS {
        let entries = match data.join(folder).read_dir() {
            Ok(entries) => entries,
            // Nobody has come to a room.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // Beside them are notes of the server's own.
            if Path::new(&name).extension() == Some(OsStr::new("jsonl")) {
                let bytes = std::fs::read(entry.path())?;
                logs.push(LogFile {
                    path: format!("{folder}/{name}"),
                    text: String::from_utf8_lossy(&bytes).into_owned(),
                });
            }
        }
    }
    logs.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(logs)
}
