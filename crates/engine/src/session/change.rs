//! Changing what a session is: its model, its title.

use samovar_core::{Author, Error, Kind, Title};

use super::{Mailbox, master, refusal};
use crate::log::Draft;

impl Mailbox {
    /// Keeps a change. A turn that has begun goes on with the model that it began with.
    pub(super) async fn change(
        &mut self,
        model: Option<String>,
        title: Option<Title>,
    ) -> Result<(), Error> {
        let missing = self.missing();
        let Some(open) = self.open.as_mut().filter(|open| open.closing.is_empty()) else {
            return Err(missing);
        };
        if let Some(model) = &model {
            self.parts.models.resolve(model)?;
        }
        if model.is_none() && title.is_none() {
            return Ok(());
        }
        let changed = Kind::SessionChanged {
            model: model.clone(),
            title,
        };
        let draft = Draft {
            turn: None,
            agent: master(),
            author: Author::User,
            kind: changed,
        };
        open.log.append(vec![draft]).await.map_err(refusal)?;
        self.parts.projector.mark(&open.log);
        if let Some(model) = model {
            open.model = model;
        }
        Ok(())
    }
}
