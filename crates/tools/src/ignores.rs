//! What `.gitignore` files say of the entries of a walk.

use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use samovar_sandbox::{Entry, Jail, JailPath, Kind};

use crate::filter::below;

/// The largest `.gitignore` that is honoured, in bytes.
pub(crate) const MAX_FILE_BYTES: u64 = 64 * 1024;
/// The longest line that is honoured, in bytes: what is nested in one line is parsed by recursion.
const MAX_LINE_BYTES: usize = 1024;

/// The `.gitignore` files from the root down to where a walk is.
///
/// They are read through the jail: a link, a pipe or a hidden file is as good as none.
pub(crate) struct Ignores<'a> {
    jail: &'a Jail,
    levels: Vec<Level>,
}

struct Level {
    folder: JailPath,
    /// Read when the first entry of the folder is looked at.
    rules: Option<Gitignore>,
}

impl<'a> Ignores<'a> {
    /// For a walk that begins in `folder`, which is itself walked whatever is said of it.
    pub(crate) fn beginning_in(jail: &'a Jail, folder: &JailPath) -> Self {
        let mut ignores = Self {
            jail,
            levels: Vec::new(),
        };
        // What the folders above say of somebody's whole system is nobody's rule for this walk.
        if folder.is_beyond() {
            ignores.enter(folder);
            return ignores;
        }
        let mut reached = JailPath::root();
        ignores.enter(&reached);
        for name in folder.as_path() {
            match name.to_str().map(|name| reached.join(name)) {
                Some(Ok(next)) => reached = next,
                Some(Err(_)) | None => break,
            }
            ignores.enter(&reached);
        }
        ignores
    }

    /// Goes into a folder; its entries are looked at next.
    pub(crate) fn enter(&mut self, folder: &JailPath) {
        self.levels.push(Level {
            folder: folder.clone(),
            rules: None,
        });
    }

    /// Whether an entry is to be left out. The rules of the nearest folder come first.
    pub(crate) fn cover(&mut self, entry: &Entry) -> bool {
        let parent = entry.place.as_path().parent().unwrap_or(Path::new(""));
        while let Some(level) = self.levels.last()
            && !parent.starts_with(level.folder.as_path())
        {
            self.levels.pop();
        }
        let is_folder = entry.kind == Kind::Directory;
        for level in self.levels.iter_mut().rev() {
            let rules = level
                .rules
                .get_or_insert_with(|| read(self.jail, &level.folder));
            match rules.matched(below(&entry.place, &level.folder), is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => {}
            }
        }
        false
    }
}

/// The rules of one folder; a file or a line that makes no sense says nothing.
fn read(jail: &Jail, folder: &JailPath) -> Gitignore {
    let bytes = folder
        .join(".gitignore")
        .and_then(|place| jail.open_file(&place))
        .and_then(|file| file.into_bytes(MAX_FILE_BYTES));
    bytes.map_or_else(|_| Gitignore::empty(), |bytes| parse(&bytes))
}

/// The rules in the bytes of such a file.
pub(crate) fn parse(bytes: &[u8]) -> Gitignore {
    let text = String::from_utf8_lossy(bytes);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    // Paths are given to the rules relative to their folder, so they need no root.
    let mut builder = GitignoreBuilder::new("");
    for line in text.lines().filter(|line| line.len() <= MAX_LINE_BYTES) {
        builder.add_line(None, line).ok();
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
