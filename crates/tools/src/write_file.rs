//! `write_file`: gives a file its content.

use samovar_core::{Outcome, Probed};
use samovar_sandbox::{JailPath, WriteResult};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::edit_file::unified;
use crate::foresight::{Foresight, content};
use crate::text::{path, plural, sha256};
use crate::tool::{Access, FileTool, Refusal};
use crate::workspace::{Caller, Workspace};

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

    fn run(self, workspace: &Workspace, caller: &Caller) -> Result<Outcome, Refusal> {
        let place = workspace.place(&self.path)?;
        let _lock = workspace.lock(&place);
        let before = match caller.approved {
            Some(_) => content(workspace, &place)?,
            None => None,
        };
        caller.check(before.as_deref())?;
        let content = self.content.as_bytes();
        let written = workspace.change(caller, &place, None, content)?;
        Ok(told(&place, content, written))
    }

    fn file(&self) -> &str {
        &self.path
    }

    fn preview(&self, workspace: &Workspace) -> Result<Option<(Foresight, String)>, Refusal> {
        let place = workspace.place(&self.path)?;
        if self.content.len() as u64 > MAX_CONTENT_BYTES {
            return Err(format!("content is longer than {MAX_CONTENT_BYTES} bytes").into());
        }
        let before = content(workspace, &place)?;
        let foresight = Foresight::new(before.as_deref(), self.content.as_bytes());
        let shown = match before.as_deref().map(str::from_utf8) {
            None => unified(&path(&place), "", &self.content),
            Some(Ok(before)) => unified(&path(&place), before, &self.content),
            Some(Err(_)) => {
                let bytes = before.as_deref().map_or(0, <[u8]>::len);
                let with = unified(&path(&place), "", &self.content);
                format!(
                    "replaces {} that are not text\n{with}",
                    plural(bytes, "byte", "bytes")
                )
            }
        };
        Ok(Some((foresight, shown)))
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
