//! What the layers below complain of, in the words of the port.

use std::{fmt, io};

use heed::MdbError;
use samovar_core::Broken;
use samovar_descriptors::stems_from_exhaustion;

/// A [`Broken`] that `?` can make from what LMDB says.
#[derive(Debug)]
pub(super) struct Fault(Broken);

impl Fault {
    /// Whether what was read is not what was written: then one log is to be left alone, not all.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self.0, Broken::Damaged(_))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<heed::Error> for Fault {
    fn from(error: heed::Error) -> Self {
        let broken = match error {
            heed::Error::Io(error) => from_io("the journal", &error),
            heed::Error::Mdb(error) => from_lmdb(error),
            heed::Error::Decoding(error) => Broken::Damaged(format!("the journal: {error}")),
            error @ (heed::Error::Encoding(_) | heed::Error::EnvAlreadyOpened) => {
                Broken::Io(format!("the journal: {error}"))
            }
        };
        Self(broken)
    }
}

impl From<Broken> for Fault {
    fn from(broken: Broken) -> Self {
        Self(broken)
    }
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        fault.0
    }
}

fn from_lmdb(error: MdbError) -> Broken {
    let text = format!("the journal: {error}");
    match error {
        MdbError::MapFull | MdbError::TxnFull => Broken::Full(text),
        MdbError::Corrupted
        | MdbError::PageNotFound
        | MdbError::Invalid
        | MdbError::VersionMismatch => Broken::Damaged(text),
        _ => Broken::Io(text),
    }
}

/// What a file operation failed with; `what` says on what.
pub(crate) fn from_io(what: &str, error: &io::Error) -> Broken {
    let text = format!("{what}: {error}");
    if stems_from_exhaustion(error) {
        return Broken::Starved(text);
    }
    match error.kind() {
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::FileTooLarge
        | io::ErrorKind::WriteZero => Broken::Full(text),
        io::ErrorKind::ReadOnlyFilesystem => Broken::ReadOnly(text),
        _ => Broken::Io(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves DU-12
    #[test]
    fn what_a_file_operation_failed_with_says_whether_it_may_pass() {
        let broken = |errno| from_io("it", &io::Error::from_raw_os_error(errno));
        for (errno, wanted) in [
            (28, Broken::Full as fn(String) -> Broken),
            (30, Broken::ReadOnly),
            (23, Broken::Starved),
            (24, Broken::Starved),
            (5, Broken::Io),
        ] {
            let said = format!("it: {}", io::Error::from_raw_os_error(errno));
            assert_eq!(broken(errno), wanted(said), "{errno}");
            assert_eq!(broken(errno).may_pass(), errno != 5);
        }
    }
}
