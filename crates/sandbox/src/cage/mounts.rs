//! The file system of a cage: a root in memory with what the plan shows, and nothing else.
//!
//! The old root is moved aside to [`OLD`], the new one is built in [`NEW`], and both names are gone
//! when it is done.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FileType, Mode};
use rustix::io::Errno;
use rustix::mount::{self, MountFlags, MountPropagationFlags, UnmountFlags};

use super::plan::{Failed, Home, Masked, Plan, Step};
use crate::kernel;

/// The old root, while the new one is built.
const OLD: &str = "/old";
/// The new root, until it is the
const NEW: &str = "/new";
/// Where the changes of layered folders are, until they are out of sight.
const LAYERS: &str = "/layers";

/// The devices that a command may use.
pub(super) const DEVICES: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];
/// How often a name is tried that other programs change meanwhile.
const ATTEMPTS: usize = 8;
/// The folders in memory that a command may write.
pub(super) const TEMPORARY: [&str; 2] = ["/tmp", "/dev/shm"];

/// The home folder of a command that has no other.
pub(super) const EMPTY_HOME: &str = "/tmp/home";

const DEV_LINKS: [(&str, &str); 5] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/ptmx", "pts/ptmx"),
];

/// Moves the machine's root aside and begins a new one, which has devices.
pub(super) fn prepare() -> Result<(), Failed> {
    aside().map_err(about("/"))?;
    devices().map_err(about("/dev"))
}

/// Builds the root of the plan and makes it this process's. Returns the trusted names with a mount.
pub(super) fn enter(plan: &Plan) -> Result<Vec<PathBuf>, Failed> {
    // What the machine mounts from here on is not seen.
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount::mount_change("/", private)
        .map_err(io::Error::from)
        .map_err(about("/"))?;
    in_memory("/tmp", &in_temp(1777, plan.limits.temp)).map_err(about("/tmp"))?;
    for path in &plan.view.read {
        show(path, Access::Read).map_err(about(path))?;
    }
    for (path, shown) in &plan.view.closed {
        close(path, shown).map_err(about(path))?;
    }
    let home = plan.home.as_ref();
    let masked = || plan.view.masked.iter();
    for path in &plan.view.layered {
        let of_it = || masked().filter(|it| it.path.starts_with(path));
        if layer(path, plan.limits.temp, of_it()).is_err() {
            show(path, Access::Read).map_err(about(path))?;
            for it in of_it() {
                mask(it, home).map_err(about(&it.path))?;
            }
        }
    }
    let workspace = &plan.workspace;
    let access = if plan.writes {
        Access::Write
    } else {
        Access::Read
    };
    show(workspace, access)
        .and_then(|()| identified(&inside(workspace), plan.workspace_id))
        .map_err(about(workspace))?;
    for path in &plan.view.pinned {
        pin(path).map_err(about(path))?;
    }
    let mut kept = Vec::new();
    for path in &plan.view.kept {
        if keep(path).map_err(about(path))? && !plan.passing.contains(path) {
            kept.push(path.clone());
        }
    }
    let is_layered = |path: &Path| plan.view.layered.iter().any(|it| path.starts_with(it));
    for it in masked().filter(|it| !is_layered(&it.path)) {
        mask(it, home).map_err(about(&it.path))?;
    }
    match home {
        Some(home) => settle(home).map_err(about(&home.folder))?,
        None => place(&inside(Path::new(EMPTY_HOME)), true).map_err(about(EMPTY_HOME))?,
    }
    for (name, target) in &plan.view.links {
        link(name, target).map_err(about(name))?;
    }
    mount_proc().map_err(|source| Failed {
        step: Step::Proc,
        source,
        what: None,
    })?;
    finish().map_err(about("/"))?;
    Ok(kept)
}

/// Options of a file system in memory of this size. A file takes memory of the kernel, too.
fn in_temp(mode: u16, bytes: u64) -> String {
    format!("mode={mode:04},size={bytes},nr_inodes={}", bytes / 4096)
}

fn about<P: AsRef<Path>>(path: P) -> impl FnOnce(io::Error) -> Failed {
    move |source| Failed {
        step: Step::Mount,
        source,
        what: Some(path.as_ref().to_owned()),
    }
}

/// Where a path of the cage is while its root is built.
fn inside(path: &Path) -> PathBuf {
    below(NEW, path)
}

/// Where a path of the machine is meanwhile.
fn outside(path: &Path) -> PathBuf {
    below(OLD, path)
}

fn below(root: &str, path: &Path) -> PathBuf {
    let mut all = PathBuf::from(root);
    all.extend(
        path.components()
            .filter(|part| matches!(part, Component::Normal(_))),
    );
    all
}

/// Moves the machine's root to [`OLD`], below a root in memory that is this cage's own.
fn aside() -> io::Result<()> {
    let following = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount::mount_change("/", following)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount::mount(
        "tmpfs",
        "/tmp",
        "tmpfs",
        flags,
        c"mode=0755,size=16m,nr_inodes=16k",
    )?;
    for folder in ["/tmp/old", "/tmp/new", "/tmp/layers"] {
        fs::create_dir(folder)?;
    }
    rustix::process::pivot_root("/tmp", "/tmp/old")?;
    rustix::process::chdir("/")?;
    mount::mount(
        "tmpfs",
        NEW,
        "tmpfs",
        flags,
        c"mode=0755,size=16m,nr_inodes=16k",
    )?;
    Ok(())
}

/// Makes [`NEW`] the root and lets go of all else.
fn finish() -> io::Result<()> {
    rustix::process::chdir(NEW)?;
    rustix::process::pivot_root(".", ".")?;
    // The old root lies on top of the new one now.
    mount::unmount(".", UnmountFlags::DETACH)?;
    rustix::process::chdir("/")?;
    kernel::restrict_mount(Path::new("/"), kernel::Restriction::ReadOnly, false)?;
    Ok(())
}

fn identified(path: &Path, (device, inode): (u64, u64)) -> io::Result<()> {
    let found = fs::metadata(path)?;
    if (found.dev(), found.ino()) == (device, inode) {
        return Ok(());
    }
    Err(io::Error::other("it is another folder than before"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

/// Shows a file or folder of the machine, with what is mounted below it.
fn show(path: &Path, access: Access) -> io::Result<()> {
    let (from, to) = (outside(path), inside(path));
    let found = match fs::symlink_metadata(&from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && access == Access::Read => {
            return Ok(());
        }
        found => found?,
    };
    place(&to, found.is_dir())?;
    mount::mount_bind_recursive(&from, &to)?;
    let restriction = match access {
        Access::Read => kernel::Restriction::ReadOnly,
        Access::Write => kernel::Restriction::Writable,
    };
    kernel::restrict_mount(&to, restriction, true)
}

/// Shows a folder empty, but for what is read of it.
fn close(path: &Path, shown: &[PathBuf]) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    let options = c"mode=0555,size=64k";
    mount::mount("tmpfs", inside(path), "tmpfs", flags, options)?;
    shown.iter().try_for_each(|path| show(path, Access::Read))
}

/// Shows a folder whose changes are kept in memory and lost with the cage: what is masked in it is one
/// of them.
fn layer<'a>(
    path: &Path,
    temp: u64,
    mut masked: impl Iterator<Item = &'a Masked>,
) -> io::Result<()> {
    let (from, to) = (outside(path), inside(path));
    if !from.is_dir() {
        return Ok(());
    }
    let layers = Path::new(LAYERS);
    if !layers.join("made").exists() {
        let size = std::ffi::CString::new(in_temp(700, temp))?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount::mount("tmpfs", LAYERS, "tmpfs", flags, size.as_c_str())?;
        fs::create_dir(layers.join("made"))?;
    }
    let count = fs::read_dir(layers)?.count();
    let (upper, work) = (
        layers.join(format!("u{count}")),
        layers.join(format!("w{count}")),
    );
    fs::create_dir(&upper)?;
    fs::create_dir(&work)?;
    fs::set_permissions(&upper, fs::metadata(&from)?.permissions())?;
    masked.try_for_each(|it| cover(it, path, &upper))?;
    overlay(&from, [&upper, &work], &to)
}

/// Puts over a file of a folder, in its upper layer, what is shown in its place; a folder of it is gone.
fn cover(masked: &Masked, folder: &Path, upper: &Path) -> io::Result<()> {
    let Ok(kind) = fs::symlink_metadata(outside(&masked.path)) else {
        return Ok(());
    };
    let below = masked.path.strip_prefix(folder).map_err(io::Error::other)?;
    let (mut from, mut to) = (outside(folder), upper.to_owned());
    for part in below.parent().into_iter().flatten() {
        from.push(part);
        to.push(part);
        if !to.exists() {
            fs::create_dir(&to)?;
            fs::set_permissions(&to, fs::metadata(&from)?.permissions())?;
        }
    }
    let to = upper.join(below);
    if !kind.is_dir() {
        return fs::write(to, &masked.shown);
    }
    // What an overlay takes for a name that was removed.
    let (kind, none) = (FileType::CharacterDevice, Mode::empty());
    Ok(rustix::fs::mknodat(rustix::fs::CWD, to, kind, none, 0)?)
}

/// Shows the home folder, over all else that is shown.
fn settle(home: &Home) -> io::Result<()> {
    let (from, to) = (outside(&home.folder), inside(&home.folder));
    let Some(layer) = &home.layer else {
        return show(&home.folder, Access::Write);
    };
    let [upper, work] = ["upper", "work"].map(|name| outside(&layer.join(name)));
    if overlay(&from, [&upper, &work], &to).is_ok() {
        return Ok(());
    }
    // Not every file system can be the upper one, and the home of others is not to be changed.
    place(&to, true)?;
    mount::mount_bind_recursive(&upper, &to)?;
    kernel::restrict_mount(&to, kernel::Restriction::Writable, true)
}

/// Lays a layer over a folder, which has its changes in `upper`.
fn overlay(from: &Path, [upper, work]: [&Path; 2], to: &Path) -> io::Result<()> {
    place(to, true)?;
    let plain = |path: &Path| {
        let text = path
            .to_str()
            .filter(|text| !text.contains([',', ':', '\\']));
        text.map(str::to_owned)
            .ok_or_else(|| io::Error::from(Errno::INVAL))
    };
    // Without an index two commands of one session can have the same layer.
    let options = format!(
        "lowerdir={},upperdir={},workdir={},userxattr,index=off",
        plain(from)?,
        plain(upper)?,
        plain(work)?
    );
    let options = std::ffi::CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount::mount("overlay", to, "overlay", flags, options.as_c_str())?;
    Ok(())
}

/// Makes a folder of the workspace one that is neither moved nor removed.
fn pin(path: &Path) -> io::Result<()> {
    let place = inside(path);
    if fs::symlink_metadata(&place).is_ok_and(|found| found.is_dir()) {
        mount::mount_bind_recursive(&place, &place)?;
    }
    Ok(())
}

/// Makes a file or folder of the workspace read-only; whether it is there.
fn keep(path: &Path) -> io::Result<bool> {
    // Between the look and the mount it can be replaced, as git does with its own files.
    let is_other = |error: &io::Error| {
        let errno = Errno::from_io_error(error);
        matches!(errno, Some(Errno::NOENT | Errno::INVAL))
    };
    let mut tries = (1..ATTEMPTS).map(|_| keep_now(path));
    let kept = tries.find(|kept| !kept.as_ref().is_err_and(is_other));
    kept.unwrap_or_else(|| keep_now(path))
}

fn keep_now(path: &Path) -> io::Result<bool> {
    let place = inside(path);
    match fs::symlink_metadata(&place) {
        Ok(found) if found.is_symlink() => return Ok(false),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        // Such as the `.git` of a worktree, a file which says where the rest is.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return path.parent().map_or(Ok(false), keep_now);
        }
        Err(error) => return Err(error),
    }
    mount::mount_bind_recursive(&place, &place)?;
    kernel::restrict_mount(&place, kernel::Restriction::ReadOnly, true)?;
    Ok(true)
}

/// Shows a folder empty, but for the home folder if that lies in it, or another text for a file.
fn mask(masked: &Masked, home: Option<&Home>) -> io::Result<()> {
    let path = &masked.path;
    let to = inside(path);
    let Ok(found) = fs::symlink_metadata(&to) else {
        return Ok(());
    };
    if found.is_dir() {
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount::mount("tmpfs", &to, "tmpfs", flags, c"mode=0555,size=4k")?;
        if let Some(home) = home.filter(|home| home.folder.starts_with(path)) {
            fs::create_dir_all(inside(&home.folder))?;
        }
        return kernel::restrict_mount(&to, kernel::Restriction::ReadOnly, false);
    }
    // The mount keeps the file; the next one gets a new file.
    let shown = Path::new("/shown");
    fs::write(shown, &masked.shown)?;
    fs::set_permissions(shown, fs::Permissions::from_mode(0o444))?;
    mount::mount_bind(shown, &to)?;
    fs::remove_file(shown)?;
    kernel::restrict_mount(&to, kernel::Restriction::ReadOnly, false)
}

fn link(link: &Path, target: &Path) -> io::Result<()> {
    let place = inside(link);
    let made = match (symlink(target, &place), place.parent()) {
        (Err(error), Some(above)) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(above)?;
            symlink(target, &place)
        }
        (made, _) => made,
    };
    match made {
        // What is shown there already is the same.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn devices() -> io::Result<()> {
    in_memory("/dev", "mode=0755,size=64m,nr_inodes=16k")?;
    for device in DEVICES {
        let (from, to) = (outside(Path::new(device)), inside(Path::new(device)));
        if from.exists() {
            place(&to, false)?;
            mount::mount_bind(&from, &to)?;
            kernel::restrict_mount(&to, kernel::Restriction::Device, false)?;
        }
    }
    for (link, target) in DEV_LINKS {
        symlink(target, inside(Path::new(link)))?;
    }
    let terminals = inside(Path::new("/dev/pts"));
    fs::create_dir(&terminals)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    let options = c"newinstance,ptmxmode=0666,mode=0620";
    // Without it a command has no terminals of its own, which few need.
    let _few_need_it = mount::mount("devpts", &terminals, "devpts", flags, options);
    let shared = inside(Path::new("/dev/shm"));
    fs::create_dir(&shared)?;
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777))
}

fn in_memory(path: &str, options: &str) -> io::Result<()> {
    let to = inside(Path::new(path));
    place(&to, true)?;
    let options = std::ffi::CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount::mount("tmpfs", &to, "tmpfs", flags, options.as_c_str())?;
    Ok(())
}

/// Read-only, because a root of this machine would own `/proc/sys` here, too.
fn mount_proc() -> io::Result<()> {
    let to = inside(Path::new("/proc"));
    place(&to, true)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount::mount("proc", &to, "proc", flags, None)?;
    Ok(())
}

/// Makes a `/proc` that can be written while the cage is prepared read-only.
pub(super) fn close_proc() -> io::Result<()> {
    kernel::restrict_mount(Path::new("/proc"), kernel::Restriction::ReadOnly, true)
}

/// Makes what something can be mounted on.
fn place(path: &Path, is_folder: bool) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    if is_folder {
        return fs::create_dir_all(path);
    }
    if let Some(above) = path.parent() {
        fs::create_dir_all(above)?;
    }
    fs::write(path, "")
}
