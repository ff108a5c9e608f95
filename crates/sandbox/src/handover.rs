//! Passes bytes to the program that a process executes in its own place, out of every other
//! process's sight: neither in the environment nor in the arguments (TL-14).

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Result, Seek, SeekFrom, Write};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd, RawFd};

use rustix::fs::{MemfdFlags, SealFlags};

/// The name of the memory, by which the kernel shows it.
const NAME: &str = "samovar-keys";
/// Bytes that are handed over, at most: more than an environment may have.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Memory that the next program finds under the same number. Drop it when that program does not
/// start; start no other program meanwhile, for it would inherit the memory, too.
///
/// # Errors
/// What the system said.
pub fn hand_over(bytes: &[u8]) -> Result<OwnedFd> {
    // Without `CLOEXEC`: it is to survive the execution.
    let memory = rustix::fs::memfd_create(NAME, MemfdFlags::ALLOW_SEALING)?;
    let mut memory = File::from(memory);
    memory.write_all(bytes)?;
    memory.seek(SeekFrom::Start(0))?;
    rustix::fs::fcntl_add_seals(&memory, seals())?;
    Ok(memory.into())
}

/// Takes what [`hand_over`] left under a number, and closes it.
///
/// # Errors
/// There is no such memory under that number: whatever else stands there is not touched.
pub fn take_over(number: RawFd) -> Result<Vec<u8>> {
    let link = fs::read_link(format!("/proc/self/fd/{number}"))?;
    if link.to_str() != Some(&format!("/memfd:{NAME} (deleted)")) {
        return Err(ErrorKind::InvalidData.into());
    }
    #[expect(
        unsafe_code,
        reason = "the descriptor is open, as its link shows; memory of this name is made by \
                  `hand_over` alone, whose owner is the program before this one, or still there: \
                  then it is given back below"
    )]
    // SAFETY: as above.
    let memory = unsafe { File::from_raw_fd(number) };
    let is_ours = rustix::fs::fcntl_get_seals(&memory).is_ok_and(|found| found == seals())
        && rustix::io::fcntl_getfd(&memory)
            .is_ok_and(|flags| !flags.contains(rustix::io::FdFlags::CLOEXEC));
    if !is_ours {
        let _given_back = memory.into_raw_fd();
        return Err(ErrorKind::InvalidData.into());
    }
    let mut bytes = Vec::new();
    (&memory).take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Nothing about it can change any more.
fn seals() -> SealFlags {
    SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    // proves TL-14
    #[test]
    fn what_was_handed_over_is_taken_once() {
        let number = hand_over(b"A=1\0").unwrap().into_raw_fd();
        assert_eq!(take_over(number).unwrap(), b"A=1\0");
        assert!(!fs::exists(format!("/proc/self/fd/{number}")).unwrap());
        assert!(take_over(number).is_err());
    }

    // proves TL-14
    #[test]
    fn no_other_descriptor_is_read_or_closed() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"theirs").unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        let (reader, writer) = std::io::pipe().unwrap();
        let unsealed = rustix::fs::memfd_create(NAME, MemfdFlags::ALLOW_SEALING).unwrap();
        let numbers = [
            file.as_raw_fd(),
            reader.as_raw_fd(),
            writer.as_raw_fd(),
            unsealed.as_raw_fd(),
        ];
        for number in numbers.into_iter().chain([-1, 0, 1, 2, 9999]) {
            assert!(take_over(number).is_err(), "{number}");
        }
        for number in numbers {
            assert!(fs::exists(format!("/proc/self/fd/{number}")).unwrap());
        }
        let mut read = String::new();
        file.read_to_string(&mut read).unwrap();
        assert_eq!(read, "theirs");
    }
}
