//! What a machine lacks for a cage, and the setting that would give it.

use std::fmt;
use std::fs;
use std::io;

use landlock::ABI;

use super::plan::{Ended, Level, Step};

/// Why no cage can be built here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// What is missing: `user namespaces`.
    pub missing: &'static str,
    /// What the system said.
    pub why: String,
    /// What a person can do about it.
    pub remedy: String,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {} ({})", self.missing, self.remedy, self.why)
    }
}

/// Settings of the kernel that keep users from namespaces: its file, the value that does, and what
/// changes it.
const SETTINGS: [(&str, &str, &str); 3] = [
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for this \
         program with the rule `userns,`",
    ),
    (
        "/proc/sys/kernel/unprivileged_userns_clone",
        "0",
        "sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        "/proc/sys/user/max_user_namespaces",
        "0",
        "sysctl -w user.max_user_namespaces=10000",
    ),
];

impl Shortage {
    pub(super) fn of(ended: &Ended, level: Level) -> Self {
        let Ended::Failed { step, why, errno } = ended else {
            return Self {
                missing: "a shell that runs",
                why: format!("{ended:?}"),
                remedy: "look at /bin/sh".to_owned(),
            };
        };
        let (missing, remedy) = match step {
            Step::Namespaces | Step::Loopback => ("user namespaces", namespaces()),
            Step::Mount | Step::Capabilities => ("mounts in a user namespace", namespaces()),
            Step::Proc => (
                "a /proc of its own",
                "in a container, show it all of /proc: docker run --security-opt \
                 systempaths=unconfined"
                    .to_owned(),
            ),
            Step::Landlock => ("Landlock", landlock(level)),
            Step::Seccomp => (
                "seccomp filters",
                "use a kernel with CONFIG_SECCOMP_FILTER".to_owned(),
            ),
            Step::Lock => (
                "a lock in the data directory",
                "use a file system with flock".to_owned(),
            ),
            Step::Begin | Step::Limits | Step::Cwd | Step::Execute => {
                ("what a process needs", "look at the error".to_owned())
            }
        };
        Self {
            missing,
            why: if *errno == 0 {
                why.clone()
            } else {
                format!("{why}, while preparing: {step:?}")
            },
            remedy,
        }
    }

    pub(super) fn unstarted(error: &io::Error) -> Self {
        Self {
            missing: "a process for the cage",
            why: error.to_string(),
            remedy: "look at the error".to_owned(),
        }
    }
}

fn namespaces() -> String {
    let found = SETTINGS
        .iter()
        .find(|(file, value, _)| fs::read_to_string(file).is_ok_and(|text| text.trim() == *value));
    match found {
        Some((_, _, remedy)) => format!("run as root: {remedy}"),
        None => "in a container, allow them: docker run --security-opt seccomp=unconfined \
                 --security-opt apparmor=unconfined"
            .to_owned(),
    }
}

fn landlock(level: Level) -> String {
    let needed = super::landlock::needed(level);
    let kernel = if needed > ABI::V1 { "6.12" } else { "5.13" };
    format!("use Linux {kernel} or newer with `landlock` in the kernel parameter lsm=")
}
