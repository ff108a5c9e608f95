//! What files held, in git's form: each content once, compressed, under the SHA-1 of it.
//!
//! git can read the folder, and nothing of git is asked: no attribute, no filter, no program.

use std::collections::HashSet;
use std::io::{self, Read};

use flate2::read::ZlibDecoder;
use flate2::{Compress, Compression, FlushCompress, Status};
use samovar_sandbox::{SmallFiles, Survival};
use sha1::{Digest, Sha1};

/// The folder.
const FOLDER: &str = "objects";
/// Bytes of the line that begins an object, at most.
const MAX_HEADER_BYTES: usize = 32;
/// Bytes of room that the compressor is given at once.
const ROOM: usize = 64 * 1024;

/// What an object is called.
pub(super) type Hash = [u8; 20];

/// The objects of a data directory.
pub(super) struct Objects {
    folder: SmallFiles,
    compress: Compress,
    packed: Vec<u8>,
}

impl Objects {
    /// Those in a folder, which has a folder of its own for them.
    pub(super) fn of(folder: &SmallFiles) -> io::Result<Self> {
        Ok(Self {
            folder: folder.folder(FOLDER)?,
            compress: Compress::new(Compression::fast(), true),
            packed: Vec::new(),
        })
    }

    /// Keeps a content; how many bytes that took, 0 if it was there. It may be lost in a crash of the
    /// machine, which a later [`Objects::read`] finds out.
    pub(super) fn keep(&mut self, content: &[u8]) -> io::Result<(Hash, u64)> {
        let header = format!("blob {}\0", content.len());
        let hash = hash(&header, content);
        let (above, name) = place(&hash);
        let folder = self.folder.folder_that(&above, Survival::Writer)?;
        // An empty one was lost in a crash.
        if folder.length(&name)?.is_some_and(|bytes| bytes > 0) {
            return Ok((hash, 0));
        }
        self.compress.reset();
        self.packed.clear();
        self.pack(header.as_bytes(), FlushCompress::None)?;
        self.pack(content, FlushCompress::Finish)?;
        folder.write(&name, &self.packed, Survival::Writer)?;
        Ok((hash, self.packed.len() as u64))
    }

    fn pack(&mut self, mut bytes: &[u8], flush: FlushCompress) -> io::Result<()> {
        loop {
            self.packed
                .reserve(ROOM.min(bytes.len() + MAX_HEADER_BYTES));
            let before = self.compress.total_in();
            let packed = self.compress.compress_vec(bytes, &mut self.packed, flush);
            let status = packed.map_err(io::Error::other)?;
            let taken = usize::try_from(self.compress.total_in() - before).unwrap_or_default();
            bytes = &bytes[taken..];
            match (status, flush) {
                (Status::StreamEnd, _) => return Ok(()),
                (_, FlushCompress::None) if bytes.is_empty() => return Ok(()),
                (Status::Ok | Status::BufError, _) => {}
            }
        }
    }

    /// A content; `None` if it is gone or damaged.
    pub(super) fn read(&self, wanted: &Hash, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let (above, name) = place(wanted);
        let Some(folder) = self.folder.existing_folder(&above)? else {
            return Ok(None);
        };
        let Some(packed) = folder.read_bytes(&name, max_bytes + (1 << 20))? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        let most = max_bytes + MAX_HEADER_BYTES as u64;
        let unpacked = ZlibDecoder::new(&packed[..])
            .take(most)
            .read_to_end(&mut bytes);
        let whole = unpacked.is_ok() && hash("", &bytes) == *wanted;
        let header = bytes.iter().position(|byte| *byte == 0).filter(|_| whole);
        Ok(header.map(|end| bytes.split_off(end + 1)))
    }

    /// Removes all objects but these; the bytes of those that are left.
    pub(super) fn sweep(&self, live: &HashSet<Hash>) -> io::Result<u64> {
        let mut left = 0;
        for first in 0..=u8::MAX {
            let above = format!("{first:02x}");
            let Some(folder) = self.folder.existing_folder(&above)? else {
                continue;
            };
            for file in folder.list()? {
                let hash = parse(&format!("{above}{}", file.name));
                if hash.is_some_and(|hash| live.contains(&hash)) {
                    left += file.bytes;
                } else {
                    folder.remove(&file.name)?;
                }
            }
        }
        Ok(left)
    }
}

/// The digits of a hash.
pub(crate) fn digits(hash: &Hash) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('0');
    let digits = hash
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    digits.collect()
}

/// The hash of these digits.
pub(crate) fn parse(digits: &str) -> Option<Hash> {
    let mut hash = Hash::default();
    if digits.len() != 2 * hash.len() || !digits.is_ascii() {
        return None;
    }
    for (index, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).ok()?;
    }
    Some(hash)
}

fn hash(header: &str, content: &[u8]) -> Hash {
    let mut hasher = Sha1::new();
    hasher.update(header);
    hasher.update(content);
    hasher.finalize().into()
}

/// The folder and the name of an object.
fn place(hash: &Hash) -> (String, String) {
    let mut above = digits(hash);
    let name = above.split_off(2);
    (above, name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    // proves TL-2
    #[test]
    fn an_object_is_as_git_would_write_it_and_a_damaged_one_is_none() {
        let top = tempfile::tempdir().unwrap();
        let mut objects = Objects::of(&SmallFiles::of(top.path()).unwrap()).unwrap();
        let known = [
            (Vec::new(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
            (
                b"what is up, doc?".to_vec(),
                "bd9dbf5aae1a3862dd1526723246b20206e5fc37",
            ),
        ];
        let mut all = HashSet::new();
        for (content, name) in &known {
            let (hash, bytes) = objects.keep(content).unwrap();
            assert_eq!(digits(&hash), *name);
            assert!(bytes > 0);
            assert_eq!(objects.keep(content).unwrap(), (hash, 0), "it is reused");
            all.insert(hash);
        }
        let large: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
        let (hash, _) = objects.keep(&large).unwrap();
        assert_eq!(objects.read(&hash, 2 << 20).unwrap().unwrap(), large);
        assert_eq!(
            objects.read(&hash, 1_000).unwrap(),
            None,
            "longer than asked for"
        );

        assert!(objects.sweep(&all).unwrap() > 0);
        assert_eq!(objects.read(&hash, 2 << 20).unwrap(), None);
        for (content, _) in &known {
            let (hash, bytes) = objects.keep(content).unwrap();
            assert_eq!(
                (bytes, objects.read(&hash, 100).unwrap()),
                (0, Some(content.clone()))
            );
            let (above, name) = place(&hash);
            let file = top.path().join(FOLDER).join(above).join(name);
            fs::write(&file, "").unwrap();
            assert_eq!(objects.read(&hash, 100).unwrap(), None);
            assert!(objects.keep(content).unwrap().1 > 0, "it is written again");
        }
    }
}
