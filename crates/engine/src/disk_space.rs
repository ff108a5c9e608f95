//! Who waits for room on a full disk (DU-12): one at a time looks for it, and wakes all the others.

use std::time::Duration;

use tokio::sync::{Mutex, Notify};

/// How long whose turn it is waits before they look.
const PAUSE: Duration = Duration::from_millis(250);

/// Where turns wait for room. However many do, the disk is tried four times a second.
#[derive(Default)]
pub(crate) struct SpaceWatch {
    /// Held by the one who looks next; the others stand in line for it.
    scout: Mutex<()>,
    found: Notify,
}

impl SpaceWatch {
    /// Waits until there may be room: somebody found it, or it is the caller's turn to look.
    ///
    /// Dropping the future halfway loses no more than the place in the line.
    pub(crate) async fn wait(&self) {
        let look = async {
            let _scout = self.scout.lock().await;
            tokio::time::sleep(PAUSE).await;
        };
        // Both are safe to drop halfway: who looks next takes the scout's place.
        tokio::select! {
            () = look => {}
            () = self.found.notified() => {}
        }
    }

    /// Tells all who wait that there is room.
    pub(crate) fn found(&self) {
        self.found.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::task::JoinSet;
    use tokio::time::Instant;

    use super::*;

    const MANY: usize = 1_000;

    fn waiting(room: &Arc<SpaceWatch>) -> JoinSet<()> {
        let mut waiting = JoinSet::new();
        for _ in 0..MANY {
            let room = room.clone();
            waiting.spawn(async move { room.wait().await });
        }
        waiting
    }

    #[tokio::test(start_paused = true)]
    async fn of_many_that_wait_one_looks_at_a_time() {
        let room = Arc::new(SpaceWatch::default());
        let began = Instant::now();
        let mut waiting = waiting(&room);
        for looks in 1..=8 {
            waiting.join_next().await.unwrap().unwrap();
            assert_eq!(began.elapsed(), PAUSE * looks);
        }
    }

    // proves DU-12
    #[tokio::test(start_paused = true)]
    async fn whoever_finds_room_wakes_all_who_wait() {
        let room = Arc::new(SpaceWatch::default());
        let began = Instant::now();
        let mut waiting = waiting(&room);
        waiting.join_next().await.unwrap().unwrap();

        room.found();

        while let Some(woken) = waiting.join_next().await {
            woken.unwrap();
        }
        assert_eq!(began.elapsed(), PAUSE, "nobody has to look again");
        assert_eq!(waiting.len(), 0);
    }
}
