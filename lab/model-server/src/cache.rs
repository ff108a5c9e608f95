//! What a provider's prompt cache would hold, so that usage tells whether a prefix was repeated.

use std::collections::{HashSet, VecDeque};

/// Prefixes that a server remembers; older ones are forgotten.
const KEPT_PREFIXES: usize = 16_384;

/// How many boundaries before a marked one are compared with what is kept.
const LOOK_BACK: usize = 20;

/// The digest of all that a prompt says up to a boundary.
pub(crate) type Digest = [u8; 32];

/// The end of a block of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Boundary {
    pub(crate) digest: Digest,
    /// Length of the prefix that ends here.
    pub(crate) bytes: usize,
    /// Whether the prompt asks to keep this prefix.
    pub(crate) is_marked: bool,
}

/// How many bytes of a prompt came from the cache, and how many went into it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct CacheUse {
    pub(crate) read_bytes: usize,
    pub(crate) written_bytes: usize,
}

/// The prefixes of the prompts so far.
///
/// It follows the rules of the real one (a marked prefix is kept; the longest kept prefix that
/// ends at most [`LOOK_BACK`] blocks before a marked one is read), but nothing is too short to
/// be kept and nothing expires, so that what is reported depends on the prompts alone.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    known: HashSet<Digest>,
    oldest_first: VecDeque<Digest>,
}

impl Cache {
    /// Reads the longest prefix that is kept, and keeps the marked ones.
    pub(crate) fn pass(&mut self, boundaries: &[Boundary]) -> CacheUse {
        let marked = boundaries
            .iter()
            .enumerate()
            .filter(|(_, one)| one.is_marked);
        let kept = marked.clone().filter_map(|(place, _)| {
            let near = &boundaries[place.saturating_sub(LOOK_BACK)..=place];
            let mut longest_first = near.iter().rev();
            longest_first.find(|one| self.known.contains(&one.digest))
        });
        let read_bytes = kept.map(|one| one.bytes).max().unwrap_or(0);
        let marked_bytes = marked.clone().map(|(_, one)| one.bytes).max().unwrap_or(0);
        for (_, one) in marked {
            self.keep(one.digest);
        }
        CacheUse {
            read_bytes,
            written_bytes: marked_bytes.saturating_sub(read_bytes),
        }
    }

    fn keep(&mut self, digest: Digest) {
        if !self.known.insert(digest) {
            return;
        }
        self.oldest_first.push_back(digest);
        if self.oldest_first.len() > KEPT_PREFIXES
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Boundaries of blocks of ten bytes; `!` marks the block before it.
    fn prompt(blocks: &str) -> Vec<Boundary> {
        let mut boundaries: Vec<Boundary> = Vec::new();
        let mut digest = [0; 32];
        for (place, block) in blocks.bytes().filter(|byte| *byte != b'!').enumerate() {
            digest[place] = block;
            boundaries.push(Boundary {
                digest,
                bytes: (place + 1) * 10,
                is_marked: false,
            });
        }
        let mut marks = 0;
        for (place, byte) in blocks.bytes().enumerate() {
            if byte == b'!' {
                boundaries[place - marks - 1].is_marked = true;
                marks += 1;
            }
        }
        boundaries
    }

    fn check(cache: &mut Cache, blocks: &str, read_bytes: usize, written_bytes: usize) {
        let expected = CacheUse {
            read_bytes,
            written_bytes,
        };
        assert_eq!(cache.pass(&prompt(blocks)), expected, "{blocks}");
    }

    #[test]
    fn only_marked_prefixes_are_kept_and_the_longest_is_read() {
        let mut cache = Cache::default();
        check(&mut cache, "abc", 0, 0);
        check(&mut cache, "a!bc!", 0, 30);
        check(&mut cache, "abcd!", 30, 10);
        check(&mut cache, "abcd!", 40, 0);
        check(&mut cache, "axcd!", 10, 30);
        check(&mut cache, "xbcd!", 0, 40);
        check(&mut cache, "abcd", 0, 0);
    }

    #[test]
    fn a_kept_prefix_too_far_before_a_mark_is_not_found() {
        let mut cache = Cache::default();
        check(&mut cache, "a!", 0, 10);
        check(&mut cache, "abcdefghijklmnopqrstu!", 10, 200);
        let mut cache = Cache::default();
        check(&mut cache, "a!", 0, 10);
        check(&mut cache, "abcdefghijklmnopqrstuv!", 0, 220);
    }
}
