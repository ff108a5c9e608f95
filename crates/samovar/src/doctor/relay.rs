//! The relay: where it is, who is in its rooms, and what its logs take.

use std::fs;

use samovar_core::relay::RoomInfo;
use samovar_locale::doctor as text;

use super::{Finding, disk};
use crate::client::Client;
use crate::config::Setup;

/// Where the study logs lie, from the data directory.
const STUDIES: &str = "logs/study";

/// What is set, and what was kept.
pub(super) fn set(found: &Setup) -> Vec<Finding> {
    let relay = &found.config.relay;
    let own = [&relay.movie_rooms, &relay.agent_rooms, &relay.tool_rooms];
    let fact = match own.map(|rooms| rooms.join(", ")) {
        rooms if rooms.iter().all(String::is_empty) => text::relay_none().to_owned(),
        rooms => {
            let [movie, agent, tool] = rooms.map(|rooms| match rooms.as_str() {
                "" => text::relay_no_room().to_owned(),
                _ => rooms,
            });
            text::relay_rooms(movie, agent, tool)
        }
    };
    let mut findings = vec![Finding::good("relay", fact, text::relay_why())];
    findings.extend(studies(found));
    findings
}

/// The study logs; none where there is none.
fn studies(found: &Setup) -> Option<Finding> {
    let folder = found.config.data_dir.join(STUDIES);
    let count = fs::read_dir(&folder).ok()?.count() as u64;
    let fact = text::studies(count, disk::mebibytes(&folder), folder.display());
    let finding = Finding::good("studies", fact, text::studies_why());
    (count > 0).then(|| finding.with_command("samovar relay logs"))
}

/// Who is in the rooms now; none when the server has gone meanwhile.
pub(super) async fn rooms(client: &Client) -> Option<Finding> {
    let rooms: Vec<RoomInfo> = client.get("/api/relay/rooms").await.ok()?;
    let agents = rooms.iter().map(|room| room.agents).sum::<u64>();
    let studies = rooms.iter().filter(|room| room.study.is_some()).count();
    let fact = text::rooms(rooms.len() as u64, client.relay_url(), agents, studies);
    let finding = Finding::good("rooms", fact, text::rooms_why());
    Some(finding.with_command("samovar relay rooms"))
}
