//! What turns remembered goes before the commit that takes them back, and comes back without it.

use std::sync::Arc;

use samovar_core::{Error, FileChanges, Sender, TurnId};

/// The turns that are taken back, and by whose command.
pub(super) type TakenBack<'a> = (&'a [TurnId], &'a Sender);

/// What turns remembered that are taken back: deleted, until the commit that takes them back.
pub(super) struct Unremembered<'a> {
    changes: Arc<dyn FileChanges>,
    by: Option<&'a Sender>,
    ids: Vec<String>,
}

impl<'a> Unremembered<'a> {
    pub(super) async fn of(
        changes: Arc<dyn FileChanges>,
        turns: Option<TakenBack<'a>>,
    ) -> Result<Self, Error> {
        let ids = match turns {
            Some((turns, by)) => changes.unremember(by, turns).await?,
            None => Vec::new(),
        };
        let by = turns.map(|(_, by)| by);
        Ok(Self { changes, by, ids })
    }

    /// Brings it back if the commit failed.
    pub(super) async fn unless<K>(self, kept: Result<K, Error>) -> Result<K, Error> {
        if let (Err(_), Some(by)) = (&kept, self.by) {
            self.changes.put_back(by, &self.ids).await;
        }
        kept
    }
}
