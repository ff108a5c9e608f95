//! `write_file`: gives a file its content.

use samovar_core::{Outcome, Probed};
use samovar_sandbox::{JailPath, WriteResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::foresight::{Foresight, content};
use crate::text::{plural, sha256};
use crate::tool::{Access, FileTool, Refusal};
use crate::workspace::{Stop, Workspace};

/// Bytes that a file may be given.
pub(crate) const MAX_CONTENT_BYTES: u64 = 1024 * 1024;

/// Creates a file with its folders, or replaces the whole content of one; `edit_file` changes a part.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteFile {
    path: String,
    content: String,
}

impl FileTool for WriteFile {
    const NAME: &'static str = "write_file";
    const ACCESS: Access = Access::Write;

    fn run(self, workspace: &Workspace, stop: &Stop) -> Result<Outcome, Refusal> {
        let place = workspace.place(&self.path)?;
        let _lock = workspace.lock(&place);
        stop.check()?;
        let content = self.content.as_bytes();
        let written = workspace.jail().write(&place, content, MAX_CONTENT_BYTES)?;
        Ok(told(&place, content, written))
    }

    fn foresee(&self, workspace: &Workspace) -> Result<Option<Foresight>, Refusal> {
        let place = workspace.place(&self.path)?;
        let before = content(workspace, &place)?;
        let after = self.content.as_bytes();
        Ok(Some(Foresight::new(before.as_deref(), after)))
    }

    fn probe(self, workspace: &Workspace, foresight: &Foresight) -> Result<Probed, Refusal> {
        let place = workspace.place(&self.path)?;
        let written = match foresight.before {
            None => WriteResult::Created,
            Some(_) => WriteResult::Replaced,
        };
        let tell = |now: &[u8]| told(&place, now, written);
        Ok(foresight.compare(workspace, &place, tell))
    }
}

fn told(place: &JailPath, content: &[u8], written: WriteResult) -> Outcome {
    let (verb, is_created) = match written {
        WriteResult::Created => ("created", true),
        WriteResult::Replaced => ("wrote", false),
    };
    let bytes = content.len();
    let path = place.to_string();
    let text = format!("{verb} {path} ({})", plural(bytes, "byte", "bytes"));
    let data = json!({
        "path": path,
        "bytes": bytes,
        "created": is_created,
        "sha256": sha256(content),
    });
    Outcome::done(text).with_data(data)
}
