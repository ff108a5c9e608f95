//! A number that two texts share as good as never, the same in every run of every version.

use std::io::{self, Write};

/// 64-bit FNV-1a over what is written to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    /// Of nothing.
    pub(crate) const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Of a text.
    pub(crate) fn of(text: &str) -> Self {
        let mut fingerprint = Self::new();
        fingerprint.take(text.as_bytes());
        fingerprint
    }

    /// The number.
    pub(crate) fn number(self) -> u64 {
        self.0
    }

    /// The number as sixteen digits.
    pub(crate) fn hex(self) -> String {
        format!("{:016x}", self.0)
    }

    fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

impl Write for Fingerprint {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_is_that_of_the_published_function() {
        assert_eq!(Fingerprint::new().hex(), "cbf29ce484222325");
        assert_eq!(Fingerprint::of("a").hex(), "af63dc4c8601ec8c");
        assert_eq!(Fingerprint::of("foobar").hex(), "85944171f73967e8");
    }
}
