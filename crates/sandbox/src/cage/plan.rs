//! The messages between the server and a cage: the plan, and how the command ended.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How a command is shut in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Namespaces, Landlock, seccomp and limits.
    Namespaces,
    /// Landlock, seccomp and limits: the command sees the machine's processes and the names of all files.
    Landlock,
    /// Limits alone.
    Off,
}

impl Level {
    /// The word of the setting `tools.exec.sandbox`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
            Self::Off => "off",
        }
    }
}

/// What a command may use. The limits of memory and processes count for all its processes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: u64,
    /// Processes and threads.
    pub processes: u64,
    /// Bytes of each file.
    pub file: u64,
    /// Bytes of the files in `/tmp`, which are in memory.
    pub temp: u64,
    /// Seconds of processor time of each process.
    pub cpu_seconds: u64,
    /// Open files of each process.
    pub open_files: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 4 << 30,
            processes: 1024,
            file: 2 << 30,
            temp: 1 << 30,
            cpu_seconds: 3600,
            open_files: 4096,
        }
    }
}

/// The home folder of a command. Both folders must exist; paths are absolute and have no links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Home {
    /// The folder that is kept, and where it is shown.
    pub folder: PathBuf,
    /// Where the changes go instead of into it: a folder with the folders `upper` and `work`. Where no
    /// layer can be laid over the folder, `upper` is all that is shown.
    pub layer: Option<PathBuf>,
}

impl Home {
    /// The folder of the layer that has what a command made.
    pub fn upper(&self) -> Option<PathBuf> {
        self.layer.as_ref().map(|layer| layer.join("upper"))
    }

    /// Where a command finds it.
    pub fn place(&self, level: Level) -> PathBuf {
        match (self.upper(), level) {
            (Some(upper), Level::Landlock | Level::Off) => upper,
            (Some(_), Level::Namespaces) | (None, _) => self.folder.clone(),
        }
    }
}

/// What a cage needs to know before its command is known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) level: Level,
    /// The server, whose end ends the cage.
    pub(super) parent: i32,
    /// Held shared while the cage lives, from its plan on.
    pub(super) lock: Option<PathBuf>,
    /// Whether the command has the server's network.
    pub(super) network: bool,
}

/// All else that it needs to know. Paths are absolute and have no links.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) level: Level,
    /// Whether the command has the server's network.
    pub(super) network: bool,
    /// Whether the command may change the workspace.
    pub(super) writes: bool,
    pub(super) workspace: PathBuf,
    /// What the workspace has to be: its device and inode.
    pub(super) workspace_id: (u64, u64),
    pub(super) view: View,
    /// What of [`View::kept`] had nothing, or led through a link, when the commands that run now began: it
    /// may be theirs, and goes when they end.
    pub(super) passing: Vec<PathBuf>,
    pub(super) home: Option<Home>,
    /// A folder for temporary files, where the cage has no file system of its own.
    pub(super) temp: Option<PathBuf>,
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) cwd: PathBuf,
    pub(super) limits: Limits,
    /// How many bytes of the list of system calls follow.
    pub(super) filter_bytes: usize,
}

/// What a cage shows of the machine besides the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct View {
    /// Files and folders that are read-only, in the order in which they are mounted.
    pub(super) read: Vec<PathBuf>,
    /// Links: what each is called and where it leads.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// Folders that lie in what is read and are shown empty, each with what of it is read nevertheless.
    pub(super) closed: Vec<(PathBuf, Vec<PathBuf>)>,
    /// Folders that look as they are, and whose changes are lost with the cage.
    pub(super) layered: Vec<PathBuf>,
    /// Files and folders that are not shown as they are.
    pub(super) masked: Vec<Masked>,
    /// Folders of the workspace that are neither moved nor removed, because of what is in them.
    pub(super) pinned: Vec<PathBuf>,
    /// Files and folders of the workspace that are read-only.
    pub(super) kept: Vec<PathBuf>,
    /// Folders of the workspace from which git takes settings and hooks. The cage needs `kept` alone.
    #[serde(skip)]
    pub(super) git: Vec<PathBuf>,
}

/// A folder that is shown empty, or a file in whose place another text is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Masked {
    pub(super) path: PathBuf,
    /// The text.
    pub(super) shown: String,
}

/// A step at which a cage can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// The plan was not understood, or the server is gone.
    Begin,
    /// The lock on the cages of this data directory.
    Lock,
    /// The namespaces.
    Namespaces,
    /// The view of the file system.
    Mount,
    /// The `/proc` of the cage.
    Proc,
    /// The loopback device.
    Loopback,
    /// The limits.
    Limits,
    /// The capabilities.
    Capabilities,
    /// The Landlock rules.
    Landlock,
    /// The list of system calls.
    Seccomp,
    /// The folder in which the command runs.
    Cwd,
    /// The program itself.
    Execute,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It exited with this code.
    Exited(i32),
    /// A signal ended it.
    Signalled(i32),
    /// Its processes together used more memory than [`Limits::memory`].
    Memory,
    /// It had more processes than [`Limits::processes`].
    Processes,
    /// It never ran.
    Failed {
        /// What could not be done.
        step: Step,
        /// What the system said.
        why: String,
        /// The system's number of that.
        errno: i32,
    },
    /// It was ended, because this, which the server trusts, was replaced, renamed or removed from
    /// outside, so that no mount keeps it from the command any more.
    Unkept(PathBuf),
    /// It was ended, because this was made or changed while it ran, and git runs at once what it says.
    Obeyed(PathBuf),
    /// It was ended before it was done.
    Stopped,
    /// Its cage was killed before it said how, or processes of it do not end.
    Lost,
}

/// What a cage says at its end, a line each: how its command ended, and the trusted names whose mounts
/// stood until nothing of it ran.
pub(super) type Report = (Ended, Vec<PathBuf>);

/// Why a step failed.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) step: Step,
    pub(super) source: io::Error,
    /// What it was about.
    pub(super) what: Option<PathBuf>,
}

impl Failed {
    pub(super) fn ended(&self) -> Ended {
        let why = match &self.what {
            Some(what) => format!("{}: {}", what.display(), self.source),
            None => self.source.to_string(),
        };
        Ended::Failed {
            step: self.step,
            why,
            errno: self.source.raw_os_error().unwrap_or_default(),
        }
    }
}

/// Turns what the system said into the failure of a step.
pub(super) fn at<E: Into<io::Error>>(step: Step) -> impl Fn(E) -> Failed {
    move |error| Failed {
        step,
        source: error.into(),
        what: None,
    }
}
