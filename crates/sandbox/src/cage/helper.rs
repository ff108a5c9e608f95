//! The process that prepares a cage, and its init. It is this program again, as a process of its own.
//!
//! The first process makes the namespaces. Its child is process 1 of the cage: it takes the plan, builds
//! the root, starts the command, watches it, and takes all down with it. Both end when the server does.
//! What needs no plan is done before it comes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::fs::FlockOperation;
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Pid, Resource, Rlimit, Signal, WaitOptions};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets, UnshareFlags};
use seccompiler::{BpfProgram, BpfProgramRef};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::kept::Kept;
use super::plan::{Ended, Failed, Level, Order, Plan, Report, Step, at};
use super::seccomp;
use super::watch::{self, Watched};
use super::{landlock, mounts};
use crate::kernel;

/// What the process is called: by this name a program knows that it is to be a cage.
pub(super) const NAME: &str = "samovar-cage";
/// Bytes of a plan, at most.
const MAX_PLAN_BYTES: u64 = 16 << 20;
/// The status of a process that could not even say what is wrong.
const SPEECHLESS: u8 = 125;

/// Makes this process a cage when it was started to be one, and then never returns. A program that
/// runs commands in cages calls it first of all, while it has one thread.
pub fn be_cage_if_asked() {
    let mut args = std::env::args_os();
    if args.next().is_some_and(|name| name == NAME) && args.next().is_none() {
        std::process::exit(i32::from(be_cage()));
    }
}

fn be_cage() -> u8 {
    // Before anything here has a descriptor.
    if kernel::close_from(3).is_err() {
        return SPEECHLESS;
    }
    let Ok(control) = std::io::stdin().as_fd().try_clone_to_owned() else {
        return SPEECHLESS;
    };
    let mut control = UnixStream::from(control);
    // Standard input is the way to the server: a command has none of it.
    let (ended, stood) = match prepare(&control) {
        Ok(Some(report)) => report,
        Ok(None) => return 0,
        Err(failed) => (failed.ended(), Vec::new()),
    };
    tell(&mut control, &ended);
    tell(&mut control, &stood);
    0
}

fn tell(control: &mut UnixStream, what: &impl Serialize) {
    let mut line = serde_json::to_string(what).unwrap_or_default();
    line.push('\n');
    // Without a server there is no one to tell.
    let _gone = control.write_all(line.as_bytes());
}

/// `None` in the first process of two: the other one tells how it ended.
fn prepare(control: &UnixStream) -> Result<Option<Report>, Failed> {
    let mut reader = BufReader::new(control.take(MAX_PLAN_BYTES));
    let order: Order = read(&mut reader).map_err(at(Step::Begin))?;
    if order.level == Level::Namespaces {
        // Otherwise it ends all of its processes first, when the way to the server is shut.
        die_with_parent().map_err(at(Step::Begin))?;
    }
    if Some(order.parent) != rustix::process::getppid().map(Pid::as_raw_pid) {
        return Ok(None);
    }
    // Both processes have it, so it is held until both are gone.
    let lock = order.lock.as_ref().map(|path| {
        let options = OpenOptions::new().read(true).write(true).open(path);
        options.map_err(at(Step::Lock))
    });
    let lock = lock.transpose()?;
    // Where memory is short, the kernel ends a command before the server.
    let _kept = fs::write("/proc/self/oom_score_adj", "500");
    rustix::process::setsid().map_err(at(Step::Begin))?;
    if order.level != Level::Namespaces {
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
            .map_err(at(Step::Begin))?;
        let is_orphan = || {
            let found = rustix::process::getppid().map(Pid::as_raw_pid);
            found != Some(order.parent)
        };
        return live(reader, lock.as_ref(), control, is_orphan).map(Some);
    }
    separate(order.network).map_err(at(Step::Namespaces))?;
    let child = kernel::fork().map_err(at(Step::Namespaces))?;
    let Some(child) = child else {
        die_with_parent().map_err(at(Step::Begin))?;
        mounts::prepare()?;
        // It would have been ended with its parent.
        return live(reader, lock.as_ref(), control, || false).map(Some);
    };
    loop {
        match rustix::process::waitpid(Some(child), WaitOptions::empty()) {
            Err(Errno::INTR) => {}
            Ok(_) | Err(_) => return Ok(None),
        }
    }
}

fn read<T: DeserializeOwned>(reader: &mut impl BufRead) -> io::Result<T> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

fn read_plan(mut reader: impl BufRead) -> io::Result<(Plan, BpfProgram)> {
    let plan: Plan = read(&mut reader)?;
    let mut filter = vec![0; plan.filter_bytes];
    reader.read_exact(&mut filter)?;
    Ok((plan, seccomp::unpack(&filter)))
}

fn die_with_parent() -> rustix::io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
}

/// Leaves the machine's namespaces. Outside, this user stays who it is.
fn separate(network: bool) -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let mut flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    if !network {
        flags |= UnshareFlags::NEWNET;
    }
    kernel::unshare(flags)?;
    let (user, group) = (user.as_raw(), group.as_raw());
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Takes the plan, builds the cage around this process and runs the command in it.
fn live(
    reader: impl BufRead,
    lock: Option<&File>,
    control: &UnixStream,
    is_orphan: impl FnOnce() -> bool,
) -> Result<Report, Failed> {
    let (plan, filter) = read_plan(reader).map_err(at(Step::Begin))?;
    let (plan, filter) = (&plan, &filter[..]);
    if let Some(lock) = lock {
        rustix::fs::flock(lock, FlockOperation::LockShared).map_err(at(Step::Lock))?;
    }
    // The next server may have looked for commands before there was a lock.
    if is_orphan() {
        return Ok((Ended::Stopped, Vec::new()));
    }
    let mut kept = None;
    if plan.level == Level::Namespaces {
        let names = mounts::enter(plan)?;
        if !plan.network {
            kernel::start_loopback().map_err(at(Step::Loopback))?;
        }
        let release = rustix::system::uname();
        if has_own_pid_max(&release.release().to_string_lossy()) {
            let most = plan.limits.processes.max(302);
            // The watch counts processes as well.
            let _counted = fs::write("/proc/sys/kernel/pid_max", most.to_string());
        }
        mounts::close_proc().map_err(at(Step::Proc))?;
        if plan.writes {
            // After the last change of a mount here, of which the table would tell.
            kept = Some(Kept::of(names, &plan.workspace).map_err(at(Step::Proc))?);
        }
        let _unnamed = rustix::system::sethostname(b"samovar");
    }
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(at(Step::Capabilities))?;
    let null = OpenOptions::new().read(true).open("/dev/null");
    let null = OwnedFd::from(null.map_err(at(Step::Mount))?);
    let (failed, fails) = UnixStream::pair().map_err(at(Step::Begin))?;
    match kernel::fork().map_err(at(Step::Begin))? {
        None => {
            drop(failed);
            let failed = command(plan, filter, null);
            tell(&mut { fails }, &failed.ended());
            std::process::exit(SPEECHLESS.into());
        }
        Some(child) => {
            drop((fails, null));
            let watched = Watched::new(plan, child, kept);
            watch::until_it_ends(&watched, control, &failed).map_err(at(Step::Begin))
        }
    }
}

/// Whether a kernel has the setting for each namespace: an older one has it for the whole machine.
fn has_own_pid_max(release: &str) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let mut number = || numbers.next()?.parse::<u32>().ok();
    number().zip(number()).is_some_and(|it| it >= (6, 14))
}

/// Becomes the command; returns only if that fails.
fn command(plan: &Plan, filter: BpfProgramRef<'_>, null: OwnedFd) -> Failed {
    match restricted(plan, filter) {
        Ok(()) => {
            let mut command = Command::new(&plan.program);
            let env = plan.env.iter().map(|(name, value)| (name, value));
            command.args(&plan.args).env_clear().envs(env);
            command.stdin(Stdio::from(null));
            at(Step::Execute)(command.exec())
        }
        Err(failed) => failed,
    }
}

fn restricted(plan: &Plan, filter: BpfProgramRef<'_>) -> Result<(), Failed> {
    die_with_parent().map_err(at(Step::Begin))?;
    rustix::process::setsid().map_err(at(Step::Begin))?;
    limit(plan).map_err(at(Step::Limits))?;
    let entered = std::env::set_current_dir(&plan.cwd);
    entered.map_err(at(Step::Cwd))?;
    rustix::thread::set_no_new_privs(true).map_err(at(Step::Capabilities))?;
    if plan.level == Level::Off {
        return Ok(());
    }
    landlock::restrict(plan).map_err(|error| Failed {
        step: Step::Landlock,
        source: io::Error::other(error.to_string()),
        what: None,
    })?;
    drop_capabilities().map_err(at(Step::Capabilities))?;
    seccompiler::apply_filter(filter).map_err(|error| Failed {
        step: Step::Seccomp,
        source: io::Error::other(error.to_string()),
        what: None,
    })
}

fn limit(plan: &Plan) -> rustix::io::Result<()> {
    let limits = &plan.limits;
    let all = [
        (Resource::Core, 0),
        (Resource::Fsize, limits.file),
        (Resource::Data, limits.memory),
        (Resource::Nofile, limits.open_files),
        (Resource::Cpu, limits.cpu_seconds),
        (Resource::Memlock, 64 << 20),
    ];
    // Of all processes of the user, unless there is a namespace that counts its own.
    let processes = (Resource::Nproc, limits.processes);
    let processes = (plan.level == Level::Namespaces).then_some(processes);
    for (resource, most) in all.into_iter().chain(processes) {
        let found = rustix::process::getrlimit(resource);
        let most = found.maximum.map_or(most, |maximum| maximum.min(most));
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        rustix::process::setrlimit(resource, limit)?;
    }
    Ok(())
}

/// Nothing that it starts has a right of root, whatever its user is.
fn drop_capabilities() -> rustix::io::Result<()> {
    if rustix::thread::capabilities(None)?.permitted.is_empty() {
        return Ok(());
    }
    for capability in CapabilitySet::all().iter() {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // An older kernel does not know it.
            Ok(()) | Err(Errno::INVAL) => {}
            Err(error) => return Err(error),
        }
    }
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED;
    rustix::thread::set_capabilities_secure_bits(bits)?;
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_kernel_with_one_setting_for_the_whole_machine_gets_it() {
        for (release, has) in [
            ("6.14.0-rc1", true),
            ("6.18.44-v657", true),
            ("7.0", true),
            ("6.13.9", false),
            ("5.10.0-28-amd64", false),
            ("6.8.0-1014.14", false),
            ("6", false),
            ("", false),
        ] {
            assert_eq!(has_own_pid_max(release), has, "{release}");
        }
    }
}
