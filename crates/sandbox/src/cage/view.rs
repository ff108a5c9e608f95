//! What a cage shows of this machine: programs, libraries, toolchains and their caches, and no
//! secrets of its people.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Component, Path, PathBuf};

use super::CageSettings;
use super::plan::{Masked, View};
use super::repository::repository_folders;
use super::toolchains::{TOOLCHAINS, Toolchain};

/// The system's programs and libraries.
const SYSTEM: [&str; 10] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
];

/// What programs look up in `/etc`; the rest may have passwords.
const ETC: [&str; 20] = [
    "alternatives",
    "fonts",
    "group",
    "host.conf",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "pki/tls/certs",
    "protocols",
    "resolv.conf",
    "services",
    "ssl/certs",
    "timezone",
];

/// Prefix of the folders in `/etc` that Java reads; each version has its own.
const OF_JAVA: &str = "java";

/// What package managers know of the packages that are installed.
const PACKAGES: [&str; 2] = ["/var/lib/dpkg", "/var/lib/rpm"];

/// Links that a path may lead through, as for the kernel.
const MAX_LINKS: usize = 40;

/// Folders that no entry of `PATH` may show, nor what is above them.
const NEVER: [&str; 8] = [
    "/etc", "/proc", "/sys", "/dev", "/run", "/var", "/root", "/home",
];

/// Whether a folder has the system's programs or settings in it.
pub(super) fn is_system(folder: &Path) -> bool {
    let mut system = SYSTEM.iter().chain(&["/etc", "/proc", "/sys", "/dev"]);
    system.any(|path| Path::new(path).starts_with(folder))
}

/// The homes of toolchains that are there, by the variables that name them.
pub(super) type Homes = Vec<(&'static Toolchain, PathBuf)>;

/// The view of a command that may change what it sees, or of one that only reads; and the homes of
/// toolchains.
pub(super) fn of(settings: &CageSettings, writes: bool) -> (View, Homes) {
    let mut builder = Builder {
        view: View::default(),
        settings,
    };
    for path in SYSTEM {
        builder.read(Path::new(path));
    }
    for name in ETC {
        builder.read(&Path::new("/etc").join(name));
    }
    for entry in fs::read_dir("/etc").into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(OF_JAVA) {
            builder.read(&entry.path());
        }
    }
    for path in PACKAGES {
        builder.read(Path::new(path));
    }
    let homes = builder.homes();
    if writes {
        for (_, home) in &homes {
            if !builder.view.layered.contains(home) {
                builder.view.layered.push(home.clone());
            }
        }
    }
    for folder in &settings.path {
        if builder.is_harmless(folder)
            && let Some(real) = beyond_workspace(folder, &settings.workspace)
            && builder.is_harmless(&real)
        {
            builder.read(folder);
        }
    }
    for path in &settings.read {
        builder.read(path);
    }
    if !writes {
        builder.close(&homes);
    }
    (builder.finish(), homes)
}

/// Keeps of the folders to which `.git` leads at the moment what is kept of `.git`.
pub(super) fn add_repository(view: &mut View, settings: &CageSettings) {
    let workspace = &settings.workspace;
    view.git = repository_folders(workspace);
    let (named, led) = (&view.git[0], &view.git[1..]);
    for folder in led {
        for path in &settings.kept {
            let path = workspace.join(path);
            let name = path.strip_prefix(named).ok();
            let name = name.filter(|name| !name.as_os_str().is_empty());
            let path = name.map(|name| folder.join(name));
            if let Some(path) = path.filter(|path| !view.kept.contains(path)) {
                view.kept.push(path);
            }
        }
        for above in folder.ancestors().take_while(|path| path != workspace) {
            if let Err(at) = view.pinned.binary_search_by(|it| it.as_path().cmp(above)) {
                view.pinned.insert(at, above.to_owned());
            }
        }
    }
}

/// Whether a path is shown besides the workspace.
pub(super) fn shows(view: &View, path: &Path) -> bool {
    let is_below = |above: &PathBuf| path.starts_with(above);
    let mut closed = view.closed.iter();
    match closed.find(|(home, _)| is_below(home)) {
        Some((_, shown)) => shown.iter().any(is_below),
        None => view.read.iter().chain(&view.layered).any(is_below),
    }
}

/// A hidden folder that lies below what is shown.
pub(super) fn shows_hidden(view: &View, settings: &CageSettings) -> Option<PathBuf> {
    let shown = || {
        view.read
            .iter()
            .chain(&view.layered)
            .chain([&settings.workspace])
    };
    let hidden = settings.hidden.iter();
    let mut real = hidden.map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.clone()));
    real.find(|path| shown().any(|shown| path.starts_with(shown)))
}

/// The names in a path, without the root.
fn parts(path: &Path) -> VecDeque<OsString> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    parts.collect()
}

/// Where a path leads. `None` for one that does so through the workspace, where commands can change
/// what a link leads to, for one with `..`, and for one that leads nowhere.
pub(super) fn beyond_workspace(path: &Path, workspace: &Path) -> Option<PathBuf> {
    let mut left: VecDeque<OsString> = parts(path);
    if left.iter().any(|part| part == "..") || !path.is_absolute() {
        return None;
    }
    let (mut real, mut links) = (PathBuf::from("/"), 0);
    while let Some(part) = left.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        let next = real.join(part);
        if next.starts_with(workspace) {
            return None;
        }
        let Ok(target) = fs::read_link(&next) else {
            real = next;
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            return None;
        }
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for part in parts(&target).into_iter().rev() {
            left.push_front(part);
        }
    }
    real.exists().then_some(real)
}

struct Builder<'a> {
    view: View,
    settings: &'a CageSettings,
}

impl Builder<'_> {
    /// The homes of toolchains that may be shown, by their real paths.
    fn homes(&self) -> Homes {
        let settings = self.settings;
        let found = TOOLCHAINS.iter().filter_map(|toolchain| {
            let mut set = settings.variables.iter();
            let set = set.find(|(name, _)| name == toolchain.variable);
            let set = set.map(|(_, value)| PathBuf::from(value));
            let below = |above: &PathBuf| above.join(toolchain.place);
            let place = set.or_else(|| settings.home.as_ref().map(below));
            let place = place.filter(|place| place.is_dir())?;
            let real = beyond_workspace(&place, &settings.workspace)?;
            self.is_harmless(&real).then_some((toolchain, real))
        });
        found.collect()
    }

    /// Shows of the homes of toolchains their programs and libraries alone, and what the owner names.
    fn close(&mut self, homes: &Homes) {
        for (toolchain, home) in homes {
            let workspace = &self.settings.workspace;
            let named = self.settings.path.iter().chain(&self.settings.read);
            let named = named.filter_map(|path| beyond_workspace(path, workspace));
            let named = named.filter(|path| path.starts_with(home));
            let shown: Vec<PathBuf> = named.chain(toolchain.programs_in(home)).collect();
            if self.is_shown(home) {
                self.view.closed.push((home.clone(), shown));
            } else {
                for path in &shown {
                    self.read(path);
                }
            }
        }
    }

    /// Shows a file or folder under the name that it has; what it is a link to, too.
    fn read(&mut self, path: &Path) {
        let Some(real) = beyond_workspace(path, &self.settings.workspace) else {
            return;
        };
        if real != path && !self.is_shown(path.parent().unwrap_or(path)) {
            self.view.links.push((path.to_owned(), real.clone()));
        }
        if !self.is_shown(&real) {
            self.view.read.push(real);
        }
    }

    fn is_shown(&self, path: &Path) -> bool {
        let shown = self.view.read.iter().chain(&self.view.layered);
        let mut shown = shown.chain([&self.settings.workspace]);
        shown.any(|above| path.starts_with(above))
    }

    /// Whether a folder has nothing but programs, by its place.
    fn is_harmless(&self, folder: &Path) -> bool {
        let hidden = self.settings.hidden.iter().map(PathBuf::as_path);
        let never = NEVER.iter().map(Path::new).chain(hidden);
        let home = self.settings.home.as_deref();
        let is_above = |secret: &Path| secret.starts_with(folder);
        folder.is_absolute()
            && folder.file_name() != Some(OsStr::new(""))
            && !never.chain(home).any(is_above)
            && !["/etc", "/proc", "/sys", "/dev", "/run", "/var"]
                .iter()
                .any(|place| folder.starts_with(place))
    }

    fn finish(mut self) -> View {
        let workspace = &self.settings.workspace;
        // Of two that lie in each other the outer one is mounted first.
        self.view.read.sort_by_key(|path| path.components().count());
        let mut read: Vec<PathBuf> = Vec::new();
        for path in std::mem::take(&mut self.view.read) {
            let is_shown = {
                let mut above = read.iter().chain(&self.view.layered).chain([workspace]);
                above.any(|above| path.starts_with(above))
            };
            if !is_shown {
                read.push(path);
            }
        }
        self.view.read = read;
        let named = self.settings.kept.iter().map(|path| workspace.join(path));
        let named = named.filter(|path| path.starts_with(workspace));
        for path in named {
            // What it leads to is read under its name.
            let target = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            if target != path && target.starts_with(workspace) && target != *workspace {
                self.view.kept.push(target);
            }
            self.view.kept.push(path);
        }
        let kept = self.view.kept.iter().chain(&self.settings.hidden);
        let above = kept.flat_map(|path| path.ancestors().skip(1));
        let pinned = above.filter(|path| path.starts_with(workspace) && path != workspace);
        let mut pinned: Vec<PathBuf> = pinned.map(Path::to_owned).collect();
        pinned.sort();
        pinned.dedup();
        self.view.pinned = pinned;
        let hidden = self.settings.hidden.iter();
        let hidden = hidden.map(|path| Masked {
            path: path.clone(),
            shown: String::new(),
        });
        self.view.masked.extend(hidden);
        self.view
    }
}
