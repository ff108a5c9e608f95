//! A page of a tree, and the nodes in it.

use samovar_core::Broken;

use super::{BRANCH, HEADER_BYTES, LEAF, number, odd, short, size};

const NODE_BYTES: usize = 8;
const BIG: u16 = 0x01;
const TREE: u16 = 0x02;

/// A page whose head makes sense.
pub(super) struct Page<'a> {
    bytes: &'a [u8],
    at: u64,
    is_branch: bool,
    lower: usize,
    upper: usize,
}

impl<'a> Page<'a> {
    pub(super) fn read(bytes: &'a [u8], at: u64) -> Result<Self, Broken> {
        let flags = short(bytes, 10);
        let page = Self {
            bytes,
            at,
            is_branch: flags == BRANCH,
            lower: size(bytes, 12, 2),
            upper: size(bytes, 14, 2),
        };
        let is_tree = flags == BRANCH || flags == LEAF;
        let is_bounded = HEADER_BYTES < page.lower
            && page.lower.is_multiple_of(2)
            && page.lower <= page.upper
            && page.upper <= bytes.len();
        if number(bytes, 0, 8) != at || !is_tree || !is_bounded {
            return Err(odd(at, "its head"));
        }
        Ok(page)
    }

    pub(super) fn is_branch(&self) -> bool {
        self.is_branch
    }

    /// Its nodes, in the order of their keys; together they fill the page to its end.
    pub(super) fn nodes(&self) -> Result<Vec<Node<'a>>, Broken> {
        let places = &self.bytes[HEADER_BYTES..self.lower];
        let nodes = places.chunks_exact(2).map(|place| {
            let place = size(place, 0, 2);
            let bytes = (place >= self.upper)
                .then(|| self.bytes.get(place..))
                .flatten();
            let node = bytes.and_then(|bytes| Node::read(bytes, self.is_branch));
            node.ok_or_else(|| odd(self.at, "one of its nodes"))
        });
        let nodes: Vec<_> = nodes.collect::<Result<_, _>>()?;
        let filled: usize = nodes.iter().map(|node| node.length).sum();
        if filled != self.bytes.len() - self.upper {
            return Err(odd(self.at, "how much of it is filled"));
        }
        Ok(nodes)
    }
}

/// An entry of a page.
pub(super) struct Node<'a> {
    pub(super) key: &'a [u8],
    /// Bytes of its value, wherever they are.
    pub(super) size: usize,
    /// What stands behind the key: the value, or where it is.
    rest: &'a [u8],
    child: u64,
    flags: u16,
    /// Bytes that it takes.
    length: usize,
}

impl<'a> Node<'a> {
    fn read(bytes: &'a [u8], is_branch: bool) -> Option<Self> {
        let low = number(bytes.get(..NODE_BYTES)?, 0, 4);
        let flags = short(bytes, 4);
        let key_size = size(bytes, 6, 2);
        let size = if is_branch {
            0
        } else {
            usize::try_from(low).ok()?
        };
        let rest_size = match (is_branch, flags) {
            (true, _) => 0,
            (false, 0 | TREE) => size,
            (false, BIG) => 8,
            (false, _) => return None,
        };
        let behind = NODE_BYTES.checked_add(key_size)?;
        let end = behind.checked_add(rest_size)?;
        let length = end.next_multiple_of(2);
        (length <= bytes.len() && (is_branch || key_size > 0)).then_some(())?;
        Some(Self {
            key: &bytes[NODE_BYTES..behind],
            size,
            rest: &bytes[behind..end],
            child: low | u64::from(flags) << 32,
            flags,
            length,
        })
    }

    /// The page below, of a branch.
    pub(super) fn child(&self) -> u64 {
        self.child
    }

    /// Whether its value has pages of its own.
    pub(super) fn is_big(&self) -> bool {
        self.flags == BIG
    }

    /// Whether its value is a tree.
    pub(super) fn is_tree(&self) -> bool {
        self.flags == TREE
    }

    /// Its value; nothing when that has pages of its own.
    pub(super) fn value(&self) -> &'a [u8] {
        if self.is_big() { &[] } else { self.rest }
    }

    /// The first of its value's own pages.
    pub(super) fn far(&self) -> Option<u64> {
        self.is_big().then(|| number(self.rest, 0, 8))
    }
}
