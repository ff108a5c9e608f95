//! A turn that finds the store full: it holds its unsaved events, waits, and continues when there
//! is room (DU-12).

use samovar_core::Broken;

use super::inbox::Newborn;
use super::state::Runner;

impl Runner {
    /// Keeps what was noted, with one commit. While there is no room it waits: first what cannot
    /// wait is kept, with the room that there is for that.
    ///
    /// # Errors
    /// [`Broken`] when the store failed in a way that does not pass.
    pub(super) async fn keep(&mut self) -> Result<(), Broken> {
        let mut part = self.pending.len();
        while !self.pending.is_empty() {
            let Err(broken) = self.keep_part(part).await else {
                part = self.pending.len();
                continue;
            };
            let urgent = self.pending[..part].iter();
            let urgent = urgent.take_while(|draft| !draft.kind.can_wait()).count();
            if broken.may_pass() && (1..part).contains(&urgent) {
                part = urgent;
                continue;
            }
            self.wait_for_room(broken).await?;
            part = self.pending.len();
        }
        Ok(())
    }

    /// Keeps the first of what was noted, with one commit.
    async fn keep_part(&mut self, count: usize) -> Result<(), Broken> {
        let drafts = self.pending[..count].to_vec();
        let session = self.session.clone();
        let commit = async move { session.keep(drafts).await.map(drop) };
        self.commit = Some((count, Box::pin(commit)));
        self.arrive().await
    }

    /// Waits for the commit that is on its way, if one is.
    pub(super) async fn arrive(&mut self) -> Result<(), Broken> {
        let Some((count, commit)) = &mut self.commit else {
            return Ok(());
        };
        let (count, kept) = (*count, commit.await);
        self.commit = None;
        kept?;
        let kept = self.pending.drain(..count);
        // What cannot wait has room of its own.
        if kept.fold(false, |any, draft| any | draft.kind.can_wait()) {
            self.has_room();
        }
        let has_begun = |born: &mut Newborn| {
            let state = self.session.state.lock();
            state.turn(&born.turn_id).is_some()
        };
        for newborn in self.born.extract_if(.., has_begun) {
            // A session that ends meanwhile finds it in the log again.
            drop(self.newborns.try_send(Box::new(newborn)));
        }
        Ok(())
    }

    /// Notes that something could be kept, so that others who wait for room try, too.
    pub(super) fn has_room(&mut self) {
        if std::mem::take(&mut self.is_waiting) {
            self.parts.disk_space.found();
        }
    }

    /// Waits a moment for room.
    ///
    /// # Errors
    /// What does not pass by itself.
    pub(super) async fn wait_for_room(&mut self, broken: Broken) -> Result<(), Broken> {
        if !broken.may_pass() {
            return Err(broken);
        }
        tracing::debug!(turn = %self.turn_id, %broken, "a turn waits for room");
        self.is_waiting = true;
        self.parts.disk_space.wait().await;
        Ok(())
    }
}
