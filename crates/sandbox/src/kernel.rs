//! System calls that neither the standard library nor rustix has.
#![expect(
    unsafe_code,
    reason = "system calls that have no safe form; each says why it is sound"
)]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::process::Pid;
use rustix::thread::UnshareFlags;

/// What a mount does not allow.
#[derive(Clone, Copy)]
pub(crate) enum Restriction {
    /// No change, no program of another user's rights, no device.
    ReadOnly,
    /// No program of another user's rights, no device.
    Writable,
    /// No change of its mode or owner, no program; it still can be written.
    Device,
}

/// Restricts a mount that is there, and with `all` those below it, too.
pub(crate) fn restrict_mount(at: &Path, restriction: Restriction, all: bool) -> io::Result<()> {
    let set = libc::MOUNT_ATTR_NOSUID;
    let set = match restriction {
        Restriction::ReadOnly => set | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_RDONLY,
        Restriction::Writable => set | libc::MOUNT_ATTR_NODEV,
        Restriction::Device => set | libc::MOUNT_ATTR_NOEXEC | libc::MOUNT_ATTR_RDONLY,
    };
    let attributes = libc::mount_attr {
        attr_set: set,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    let path = CString::new(at.as_os_str().as_bytes())?;
    let flags = if all { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path ends in a zero byte and the attributes are as long as is said.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    succeeded(done)
}

/// Chooses the signal of a lease, `fcntl(2)`; libc does not name it.
const F_SETSIG: libc::c_int = 10;

/// Whether a program has a file open for writing, as far as the file system can tell. The file must be
/// open for reading alone here.
pub(crate) fn is_open_for_writing(file: &File) -> bool {
    let file = file.as_raw_fd();
    // The kernel grants a lease for reading only while no process writes. Another program that opens the
    // file while we have it makes the kernel send a signal, which by default would end this process:
    // it is to send one that is ignored.
    // SAFETY: these commands take a number, and change nothing but the open file.
    unsafe {
        if libc::fcntl(file, F_SETSIG, libc::SIGURG) == -1 {
            return false;
        }
        if libc::fcntl(file, libc::F_SETLEASE, libc::F_RDLCK) == -1 {
            return io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN);
        }
        libc::fcntl(file, libc::F_SETLEASE, libc::F_UNLCK);
    }
    false
}

/// Closes every descriptor from a number on.
pub(crate) fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: called at the start of a process, before anything owns a descriptor of such a number.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
    succeeded(done)
}

/// Splits this process in two: `None` in the new one. Refused in a process with several threads,
/// whose locks would stay as they are.
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    let threads = std::fs::read_dir("/proc/self/task")?.count();
    if threads != 1 {
        return Err(io::Error::other(format!("{threads} threads run")));
    }
    // SAFETY: there is one thread, so the new process has no lock that another one held.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Leaves namespaces of this process, which has one thread.
pub(crate) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: no descriptor table is split off, the one thing by which this breaks what others own.
    unsafe { rustix::thread::unshare_unsafe(flags - UnshareFlags::FILES) }?;
    Ok(())
}

/// Starts the loopback device of this network namespace.
pub(crate) fn start_loopback() -> io::Result<()> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: zeros are a valid value of this plain structure.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
        // Of either sign: the machines differ in that.
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    let flags = libc::IFF_UP | libc::IFF_RUNNING;
    request.ifr_ifru.ifru_flags = i16::try_from(flags).unwrap_or_default();
    // SAFETY: the kernel reads a structure of the kind that this request takes.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut request) };
    succeeded(done.into())
}

fn succeeded(done: libc::c_long) -> io::Result<()> {
    if done == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}
