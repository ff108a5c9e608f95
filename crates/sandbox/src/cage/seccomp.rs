//! The system calls that a command may make. A list of what is allowed, so that what a kernel learns
//! later stays closed: all else answers `ENOSYS`, which programs take for an older kernel.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use super::plan::Level;

/// Flags of `clone` that make a namespace.
const NAMESPACES: u64 = 0x7e02_0080;
/// Requests of `ioctl` that write into a terminal's input, as if a person had typed it.
const INTO_TERMINAL: [u64; 2] = [0x5412, 0x541c];
/// Kinds of sockets: within the machine, IPv4, IPv6.
const DOMAINS: [u64; 3] = [1, 2, 10];
const NETLINK: u64 = 16;
/// What `personality` may be asked: nothing, or no random addresses, as debuggers do.
const PERSONALITIES: [u64; 3] = [0, 0x0004_0000, 0xffff_ffff];

/// Bits of a mode by which a program gets the rights of its owner or group.
const OWNERS_RIGHTS: u64 = 0o6000;
/// Flags of `open` with which it takes a mode: `O_CREAT`, and the one of `O_TMPFILE`.
const MAKES_FILE: u64 = 0o20_000_100;
/// The kind of a socket without its flags, and the kinds whose pairs send to no other address.
const KIND: u64 = 0xf;
const CONNECTED: [u64; 2] = [1, 5];

/// The filter, for a command that may open sockets or not.
///
/// # Errors
/// The machine's processor is unknown.
pub(super) fn filter(sockets: Sockets) -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = [ALLOWED, OLDER]
        .concat()
        .into_iter()
        .map(|number| (number, Vec::new()))
        .collect();
    let mut only = |number: c_long, allowed: Vec<SeccompRule>| rules.insert(number, allowed);
    only(
        libc::SYS_clone,
        vec![rule([(0, SeccompCmpOp::MaskedEq(NAMESPACES), 0)])],
    );
    let [input, console] = INTO_TERMINAL;
    only(
        libc::SYS_ioctl,
        vec![rule([
            (1, SeccompCmpOp::Ne, input),
            (1, SeccompCmpOp::Ne, console),
        ])],
    );
    let personalities = PERSONALITIES.map(|value| rule([(0, SeccompCmpOp::Eq, value)]));
    only(libc::SYS_personality, personalities.into());
    let plain_mode = |argument| rule([(argument, SeccompCmpOp::MaskedEq(OWNERS_RIGHTS), 0)]);
    for (number, mode) in MODES {
        only(*number, vec![plain_mode(*mode)]);
    }
    for (number, flags) in OPENS {
        let takes_none = rule([(*flags, SeccompCmpOp::MaskedEq(MAKES_FILE), 0)]);
        only(*number, vec![takes_none, plain_mode(flags + 1)]);
    }
    only(libc::SYS_socketpair, sockets.pairs());
    let single = sockets.single();
    if !single.is_empty() {
        only(libc::SYS_socket, single);
    }
    let refused = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, arch);
    filter
        .and_then(BpfProgram::try_from)
        .map_err(|error| error.to_string())
}

/// The sockets that a command may open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sockets {
    /// Those of its own network, and those with a name in its file system.
    All,
    /// Those of the network alone: no socket of a file that is not the command's own.
    Network,
    /// None.
    None,
}

impl Sockets {
    /// What a level leaves a command, with or without a network.
    pub(super) fn of(level: Level, network: bool) -> Self {
        match (level, network) {
            (Level::Namespaces | Level::Off, _) => Self::All,
            (Level::Landlock, true) => Self::Network,
            (Level::Landlock, false) => Self::None,
        }
    }

    fn single(self) -> Vec<SeccompRule> {
        let domains: &[u64] = match self {
            Self::All => &DOMAINS,
            Self::Network => &DOMAINS[1..],
            Self::None => return Vec::new(),
        };
        let domains = domains.iter();
        let domains = domains.map(|domain| rule([(0, SeccompCmpOp::Eq, *domain)]));
        let route = rule([(0, SeccompCmpOp::Eq, NETLINK), (2, SeccompCmpOp::Eq, 0)]);
        domains.chain([route]).collect()
    }

    /// Within the machine alone. One of datagrams can send to any socket that has a name.
    fn pairs(self) -> Vec<SeccompRule> {
        let local = (0, SeccompCmpOp::Eq, DOMAINS[0]);
        match self {
            Self::All => vec![rule([local])],
            Self::Network | Self::None => {
                let of = |kind| rule([local.clone(), (1, SeccompCmpOp::MaskedEq(KIND), kind)]);
                CONNECTED.map(of).into()
            }
        }
    }
}

/// A filter as bytes, for [`unpack`].
pub(super) fn pack(filter: &BpfProgram) -> Vec<u8> {
    let bytes = filter.iter().flat_map(|step| {
        let [c0, c1] = step.code.to_ne_bytes();
        let [k0, k1, k2, k3] = step.k.to_ne_bytes();
        [c0, c1, step.jt, step.jf, k0, k1, k2, k3]
    });
    bytes.collect()
}

/// The filter of these bytes.
pub(super) fn unpack(bytes: &[u8]) -> BpfProgram {
    let (steps, _none_left) = bytes.as_chunks();
    let step = |&[c0, c1, jt, jf, k0, k1, k2, k3]: &[u8; 8]| sock_filter {
        code: u16::from_ne_bytes([c0, c1]),
        jt,
        jf,
        k: u32::from_ne_bytes([k0, k1, k2, k3]),
    };
    steps.iter().map(step).collect()
}

/// Conditions that hold together: the number of the argument, how it is compared, and with what.
/// `MaskedEq` has the mask.
fn rule<const N: usize>(conditions: [(u8, SeccompCmpOp, u64); N]) -> SeccompRule {
    let conditions = conditions.map(|(argument, operator, value)| {
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
    });
    let conditions: Result<Vec<_>, _> = conditions.into_iter().collect();
    // The numbers of arguments are constants below six, and a list that is not empty makes a rule.
    conditions
        .and_then(SeccompRule::new)
        .unwrap_or_else(|_| unreachable!("conditions of constants"))
}

macro_rules! calls {
    ($($name:ident)*) => { &[$(libc::$name),*] };
}

/// Allowed with any arguments, on every processor.
const ALLOWED: &[c_long] = calls! {
    SYS_accept SYS_accept4 SYS_bind SYS_connect SYS_getpeername SYS_getsockname SYS_getsockopt
    SYS_listen SYS_recvfrom SYS_recvmmsg SYS_recvmsg SYS_sendmmsg SYS_sendmsg SYS_sendto
    SYS_setsockopt SYS_shutdown
    SYS_brk SYS_madvise SYS_membarrier SYS_mincore SYS_mlock SYS_mlock2
    SYS_mlockall SYS_mmap SYS_mprotect SYS_mremap SYS_msync SYS_munlock SYS_munlockall SYS_munmap
    SYS_get_mempolicy SYS_mbind SYS_set_mempolicy SYS_pkey_alloc SYS_pkey_free SYS_pkey_mprotect
    SYS_remap_file_pages
    SYS_capget SYS_capset SYS_getegid SYS_geteuid SYS_getgid SYS_getgroups SYS_getresgid
    SYS_getresuid SYS_getuid SYS_setfsgid SYS_setfsuid SYS_setgid SYS_setgroups SYS_setregid
    SYS_setresgid SYS_setresuid SYS_setreuid SYS_setuid SYS_umask
    SYS_chdir SYS_close SYS_close_range SYS_copy_file_range SYS_dup SYS_dup3 SYS_execve
    SYS_execveat SYS_faccessat SYS_faccessat2 SYS_fadvise64 SYS_fallocate SYS_fchdir
    SYS_fchown SYS_fchownat SYS_fcntl SYS_fdatasync SYS_fgetxattr SYS_flistxattr
    SYS_flock SYS_fremovexattr SYS_fsetxattr SYS_fstat SYS_fstatfs SYS_fsync SYS_ftruncate
    SYS_getcwd SYS_getdents64 SYS_getxattr SYS_inotify_add_watch SYS_inotify_init1
    SYS_inotify_rm_watch SYS_lgetxattr SYS_linkat SYS_listxattr SYS_llistxattr SYS_lremovexattr
    SYS_lseek SYS_lsetxattr SYS_mkdirat SYS_newfstatat
    SYS_pipe2 SYS_pread64 SYS_preadv SYS_preadv2 SYS_pwrite64 SYS_pwritev SYS_pwritev2 SYS_read
    SYS_readahead SYS_readlinkat SYS_readv SYS_removexattr SYS_renameat SYS_renameat2
    SYS_sendfile SYS_setxattr SYS_splice SYS_statfs SYS_statx SYS_symlinkat SYS_sync
    SYS_sync_file_range SYS_syncfs SYS_tee SYS_truncate SYS_unlinkat SYS_utimensat SYS_vmsplice
    SYS_write SYS_writev
    SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_epoll_pwait2 SYS_eventfd2 SYS_ppoll
    SYS_pselect6 SYS_signalfd4 SYS_timerfd_create SYS_timerfd_gettime SYS_timerfd_settime
    SYS_clock_getres SYS_clock_gettime SYS_clock_nanosleep SYS_getitimer SYS_gettimeofday
    SYS_nanosleep SYS_setitimer SYS_timer_create SYS_timer_delete SYS_timer_getoverrun
    SYS_timer_gettime SYS_timer_settime SYS_times
    SYS_exit SYS_exit_group SYS_futex SYS_futex_waitv SYS_get_robust_list SYS_getcpu SYS_getpgid
    SYS_getpid SYS_getppid SYS_getpriority SYS_getrandom SYS_getrlimit SYS_getrusage SYS_getsid
    SYS_gettid SYS_ioprio_get SYS_ioprio_set SYS_kill SYS_landlock_add_rule
    SYS_landlock_create_ruleset SYS_landlock_restrict_self SYS_pidfd_open SYS_pidfd_send_signal
    SYS_prctl SYS_prlimit64 SYS_restart_syscall SYS_rseq SYS_rt_sigaction SYS_rt_sigpending
    SYS_rt_sigprocmask SYS_rt_sigqueueinfo SYS_rt_sigreturn SYS_rt_sigsuspend
    SYS_rt_sigtimedwait SYS_rt_tgsigqueueinfo SYS_sched_get_priority_max
    SYS_sched_get_priority_min SYS_sched_getaffinity SYS_sched_getattr SYS_sched_getparam
    SYS_sched_getscheduler SYS_sched_rr_get_interval SYS_sched_setaffinity SYS_sched_setattr
    SYS_sched_setparam SYS_sched_setscheduler SYS_sched_yield SYS_seccomp SYS_set_robust_list
    SYS_set_tid_address SYS_setpgid SYS_setpriority SYS_setrlimit SYS_setsid SYS_sigaltstack
    SYS_sysinfo SYS_tgkill SYS_tkill SYS_uname SYS_wait4 SYS_waitid
    SYS_mq_getsetattr SYS_mq_notify SYS_mq_open SYS_mq_timedreceive SYS_mq_timedsend
    SYS_mq_unlink SYS_msgctl SYS_msgget SYS_msgrcv SYS_msgsnd SYS_semctl SYS_semget SYS_semop
    SYS_semtimedop
};

/// The older forms of such calls, which only this processor has.
#[cfg(target_arch = "x86_64")]
const OLDER: &[c_long] = calls! {
    SYS_access SYS_alarm SYS_arch_prctl SYS_chown SYS_dup2 SYS_epoll_create
    SYS_epoll_ctl_old SYS_epoll_wait SYS_epoll_wait_old SYS_eventfd SYS_fork SYS_futimesat
    SYS_getdents SYS_getpgrp SYS_inotify_init SYS_lchown SYS_link SYS_lstat SYS_mkdir
    SYS_pause SYS_pipe SYS_poll SYS_readlink SYS_rename SYS_rmdir SYS_select
    SYS_signalfd SYS_stat SYS_symlink SYS_time SYS_unlink SYS_utime SYS_utimes SYS_vfork
};
#[cfg(not(target_arch = "x86_64"))]
const OLDER: &[c_long] = &[];

/// Calls that take a mode, with its argument. `openat2` has it in memory, where no filter looks, so it
/// is not allowed at all.
#[cfg(target_arch = "x86_64")]
const MODES: &[(c_long, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_mknodat, 2),
    (libc::SYS_chmod, 1),
    (libc::SYS_creat, 1),
    (libc::SYS_mknod, 1),
];
#[cfg(not(target_arch = "x86_64"))]
const MODES: &[(c_long, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_mknodat, 2),
];

/// Calls that take a mode after these flags if they make a file.
#[cfg(target_arch = "x86_64")]
const OPENS: &[(c_long, u8)] = &[(libc::SYS_openat, 2), (libc::SYS_open, 1)];
#[cfg(not(target_arch = "x86_64"))]
const OPENS: &[(c_long, u8)] = &[(libc::SYS_openat, 2)];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_no_call_that_reaches_beyond_a_cage() {
        let closed = [
            libc::SYS_mount,
            libc::SYS_umount2,
            libc::SYS_pivot_root,
            libc::SYS_chroot,
            libc::SYS_unshare,
            libc::SYS_setns,
            libc::SYS_clone3,
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_userfaultfd,
            libc::SYS_io_uring_setup,
            libc::SYS_keyctl,
            libc::SYS_add_key,
            libc::SYS_request_key,
            libc::SYS_open_by_handle_at,
            libc::SYS_fsopen,
            libc::SYS_open_tree,
            libc::SYS_move_mount,
            libc::SYS_mount_setattr,
            libc::SYS_pidfd_getfd,
            libc::SYS_init_module,
            libc::SYS_kexec_load,
            libc::SYS_reboot,
            libc::SYS_swapon,
            libc::SYS_clock_settime,
            libc::SYS_sethostname,
            libc::SYS_openat2,
            libc::SYS_memfd_create,
            libc::SYS_shmget,
        ];
        for number in closed {
            assert!(!ALLOWED.contains(&number), "{number}");
        }
        for sockets in [Sockets::All, Sockets::Network, Sockets::None] {
            let filter = filter(sockets).unwrap();
            assert!(filter.len() < 4096);
            assert_eq!(unpack(&pack(&filter)), filter);
        }
    }
}
