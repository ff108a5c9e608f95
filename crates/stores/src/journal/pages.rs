//! LMDB's own pages, which carry no checksum: whether each is what the others say of it.
//!
//! A byte that flips in a page can end the process that reads it by a signal, or hide rows without
//! a word. What LMDB keeps says many things twice, though: a page knows its number, a tree counts
//! its pages and entries, keys are in order and inside the bounds that the page above gives, no
//! page is used twice, and the two pages at the beginning are one transaction apart. All of that is
//! compared here with plain reads, which fail where a mapped file would kill. The rows' own bytes
//! are left to their checksums.

mod node;

use std::cmp::Ordering;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;

use samovar_core::Broken;

use super::fault::from_io;
use node::{Node, Page};

const META_PAGES: u64 = 2;
const HEADER_BYTES: usize = 16;
const META_BYTES: usize = HEADER_BYTES + 24 + 2 * TREE_BYTES + 16;
const TREE_BYTES: usize = 48;
const MAGIC: u32 = 0xBEEF_C0DE;
const VERSION: u32 = 1;
const INTEGER_KEYS: u16 = 0x08;
/// What stands for the root of an empty tree.
const NO_PAGE: u64 = u64::MAX;
/// LMDB's own bound.
const MAX_DEPTH: u16 = 32;

const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const OVERFLOW: u16 = 0x04;
const META: u16 = 0x08;

/// What looking at the pages told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pages {
    /// There is no file yet, or an empty one.
    None,
    /// All that was compared fits together.
    Sound,
    /// The file is larger than was allowed; nothing was looked at.
    TooMany,
}

/// Compares all that the pages of a journal's file say of each other, unless the file is larger than
/// `max_bytes`. Nobody may write to it meanwhile.
///
/// # Errors
/// [`Broken::Damaged`] with the first thing that does not fit; [`Broken::Io`] when the file cannot be
/// read.
pub(super) fn check(path: &Path, max_bytes: u64) -> Result<Pages, Broken> {
    let unreadable = |error| from_io(&path.display().to_string(), &error);
    let file = match File::open(path) {
        // What stands in the way of a file, whoever opens it tells.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Pages::None);
        }
        file => file.map_err(unreadable)?,
    };
    let length = file.metadata().map_err(unreadable)?.len();
    if length == 0 {
        return Ok(Pages::None);
    }
    if length > max_bytes {
        return Ok(Pages::TooMany);
    }
    let mut head = vec![0; META_BYTES];
    read(&file, &mut head, 0)?;
    let psize = size(&head, HEADER_BYTES + 24, 4);
    if !psize.is_power_of_two() || !(512..=32768).contains(&psize) {
        return Err(odd(0, "its page size"));
    }
    let first = Meta::read(&file, psize, 0)?;
    let second = Meta::read(&file, psize, 1)?;
    let newest = Meta::newest(first, second)?;
    Walk::new(&file, psize, newest.last_page)?.all(&newest)?;
    Ok(Pages::Sound)
}

/// One tree of pages, as it stands in a page at the beginning or in the tree of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tree {
    pad: usize,
    flags: u16,
    depth: u16,
    branches: u64,
    leaves: u64,
    overflows: u64,
    entries: u64,
    root: u64,
}

impl Tree {
    fn of(bytes: &[u8]) -> Self {
        let long = |at| number(bytes, at, 8);
        Self {
            pad: size(bytes, 0, 4),
            flags: short(bytes, 4),
            depth: short(bytes, 6),
            branches: long(8),
            leaves: long(16),
            overflows: long(24),
            entries: long(32),
            root: long(40),
        }
    }
}

/// A page at the beginning: where everything is as of one transaction.
#[derive(Clone, Copy, Debug)]
struct Meta {
    free: Tree,
    names: Tree,
    last_page: u64,
    txn: u64,
}

impl Meta {
    fn read(file: &File, psize: usize, at: u64) -> Result<Self, Broken> {
        let mut page = vec![0; META_BYTES];
        read(file, &mut page, at * psize as u64)?;
        let body = &page[HEADER_BYTES..];
        let is_ours = number(&page, 0, 8) == at
            && number(&page, 10, 2) == u64::from(META)
            && number(body, 0, 4) == u64::from(MAGIC)
            && number(body, 4, 4) == u64::from(VERSION);
        if !is_ours {
            return Err(odd(at, "its mark"));
        }
        let meta = Self {
            free: Tree::of(&body[24..]),
            names: Tree::of(&body[24 + TREE_BYTES..]),
            last_page: number(body, 24 + 2 * TREE_BYTES, 8),
            txn: number(body, 32 + 2 * TREE_BYTES, 8),
        };
        if meta.free.pad != psize || meta.free.flags != INTEGER_KEYS {
            return Err(odd(at, "its page size or flags"));
        }
        Ok(meta)
    }

    /// The one that counts. Each transaction writes the page that the one before did not.
    fn newest(first: Self, second: Self) -> Result<Self, Broken> {
        match (first.txn, second.txn) {
            (0, 0) => Ok(first),
            (even, odd) if even % 2 == 0 && even == odd.wrapping_add(1) => Ok(first),
            (even, odd) if even % 2 == 0 && odd == even.wrapping_add(1) => Ok(second),
            _ => Err(odd(0, "its transaction")),
        }
    }
}

/// What was counted below a page.
#[derive(Clone, Copy, Default)]
struct Count {
    branches: u64,
    leaves: u64,
    overflows: u64,
    entries: u64,
}

/// Which keys may stand in a page: from the first on, and before the second.
type Bounds<'a> = (Option<&'a [u8]>, Option<&'a [u8]>);

type Order = fn(&[u8], &[u8]) -> Ordering;

/// What is done with an entry: its key, and its value when somebody wants to see it.
type Visit<'v, 'a> = dyn FnMut(&mut Walk<'a>, &Node<'_>, u64) -> Result<(), Broken> + 'v;

struct Walk<'a> {
    file: &'a File,
    psize: usize,
    last_page: u64,
    /// Pages that something uses, by their numbers.
    used: Vec<bool>,
}

impl<'a> Walk<'a> {
    fn new(file: &'a File, psize: usize, last_page: u64) -> Result<Self, Broken> {
        let length = file.metadata().map(|meta| meta.len());
        let length = length.map_err(|error| from_io("the journal", &error))?;
        // The end of the file may be missing where only free pages lie, but not by much more than
        // one transaction can free.
        let room = length / psize as u64;
        if last_page < META_PAGES - 1 || last_page > room.saturating_mul(16).max(1 << 12) {
            return Err(odd(0, "its last page"));
        }
        let pages = usize::try_from(last_page + 1).map_err(|_| odd(0, "its last page"))?;
        let mut used = vec![false; pages];
        used.iter_mut().take(2).for_each(|used| *used = true);
        Ok(Self {
            file,
            psize,
            last_page,
            used,
        })
    }

    fn all(&mut self, meta: &Meta) -> Result<(), Broken> {
        let mut tables = Vec::new();
        let names = &mut |_: &mut Self, node: &Node<'_>, page| {
            let is_tree = node.is_tree() && node.value().len() == TREE_BYTES;
            let tree = is_tree.then(|| Tree::of(node.value()));
            tables.push(tree.ok_or_else(|| odd(page, "the name of a table"))?);
            Ok(())
        };
        if meta.names.flags != 0 || meta.names.pad != 0 {
            return Err(odd(0, "the flags of its names"));
        }
        self.tree(&meta.names, <[u8]>::cmp, names)?;
        for tree in tables {
            if tree.flags != 0 {
                return Err(odd(tree.root, "the flags of its table"));
            }
            let plain = &mut |_: &mut Self, node: &Node<'_>, page| {
                (!node.is_tree())
                    .then_some(())
                    .ok_or_else(|| odd(page, "a table in a table"))
            };
            self.tree(&tree, <[u8]>::cmp, plain)?;
        }
        self.tree(&meta.free, by_number, &mut |walk, node, page| {
            walk.free(node, page)
        })
    }

    /// Walks a tree, and holds what it counts against what was found.
    fn tree(&mut self, tree: &Tree, order: Order, visit: &mut Visit<'_, 'a>) -> Result<(), Broken> {
        let mut count = Count::default();
        if tree.root == NO_PAGE {
            if tree.depth != 0 {
                return Err(odd(0, "the depth of an empty table"));
            }
        } else {
            if tree.depth == 0 || tree.depth > MAX_DEPTH {
                return Err(odd(tree.root, "the depth of its table"));
            }
            let bounds = (None, None);
            self.page(tree.root, tree.depth, bounds, order, &mut count, visit)?;
        }
        let found = (count.branches, count.leaves, count.overflows, count.entries);
        if found != (tree.branches, tree.leaves, tree.overflows, tree.entries) {
            return Err(odd(tree.root, "what its table counts"));
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "one step of a recursion")]
    fn page(
        &mut self,
        at: u64,
        depth: u16,
        bounds: Bounds<'_>,
        order: Order,
        count: &mut Count,
        visit: &mut Visit<'_, 'a>,
    ) -> Result<(), Broken> {
        self.take(at, 1)?;
        let mut bytes = vec![0; self.psize];
        self.read(&mut bytes, at)?;
        let page = Page::read(&bytes, at)?;
        let nodes = page.nodes()?;
        in_order(&nodes, page.is_branch(), bounds, order).ok_or_else(|| odd(at, "its keys"))?;
        if page.is_branch() != (depth > 1) {
            return Err(odd(at, "its place"));
        }
        if !page.is_branch() {
            count.leaves += 1;
            count.entries += nodes.len() as u64;
            for node in &nodes {
                if node.is_big() {
                    count.overflows += self.overflow(node, at)?;
                }
                visit(self, node, at)?;
            }
            return Ok(());
        }
        count.branches += 1;
        for (place, node) in nodes.iter().enumerate() {
            let low = if place == 0 { bounds.0 } else { Some(node.key) };
            let high = nodes.get(place + 1).map(|next| next.key).or(bounds.1);
            self.page(node.child(), depth - 1, (low, high), order, count, visit)?;
        }
        Ok(())
    }

    /// A value that has pages of its own; answers how many.
    fn overflow(&mut self, node: &Node<'_>, page: u64) -> Result<u64, Broken> {
        let at = node.far().ok_or_else(|| odd(page, "a long value"))?;
        let mut head = [0; HEADER_BYTES];
        self.read(&mut head, at)?;
        let pages = number(&head, 12, 4);
        let needed = (HEADER_BYTES + node.size).div_ceil(self.psize) as u64;
        let is_one = number(&head, 0, 8) == at && number(&head, 10, 2) == u64::from(OVERFLOW);
        if !is_one || pages < needed {
            return Err(odd(at, "its mark"));
        }
        self.take(at, pages)?;
        Ok(pages)
    }

    /// A list of pages that are free to be used again.
    fn free(&mut self, node: &Node<'_>, page: u64) -> Result<(), Broken> {
        let mut far = Vec::new();
        let list = match node.far() {
            Some(at) => {
                far.resize(node.size, 0);
                let start = at * self.psize as u64 + HEADER_BYTES as u64;
                read(self.file, &mut far, start)?;
                far.as_slice()
            }
            None => node.value(),
        };
        let count = list
            .first_chunk::<8>()
            .map(|count| u64::from_le_bytes(*count));
        let entries = list.chunks_exact(8).skip(1);
        match count {
            Some(count) if count <= entries.len() as u64 && list.len() % 8 == 0 => {
                for entry in entries.take(usize::try_from(count).unwrap_or(0)) {
                    self.take(number(entry, 0, 8), 1)?;
                }
                Ok(())
            }
            Some(_) | None => Err(odd(page, "a list of free pages")),
        }
    }

    /// Notes that pages are used; each once.
    fn take(&mut self, at: u64, pages: u64) -> Result<(), Broken> {
        let end = at
            .checked_add(pages)
            .filter(|end| *end <= self.last_page + 1);
        let end = end.ok_or_else(|| odd(at, "its number, which is too large"))?;
        for page in at..end {
            let used = usize::try_from(page)
                .ok()
                .and_then(|page| self.used.get_mut(page));
            match used {
                Some(used) if !*used => *used = true,
                Some(_) | None => return Err(odd(page, "that it is used twice")),
            }
        }
        Ok(())
    }

    fn read(&self, bytes: &mut [u8], at: u64) -> Result<(), Broken> {
        let place = at.checked_mul(self.psize as u64);
        read(
            self.file,
            bytes,
            place.ok_or_else(|| odd(at, "its number"))?,
        )
    }
}

/// Whether keys ascend, and lie within the bounds of the page above. The first key of a branch says
/// nothing.
fn in_order(nodes: &[Node<'_>], is_branch: bool, bounds: Bounds<'_>, order: Order) -> Option<()> {
    let keys: Vec<_> = nodes
        .iter()
        .skip(usize::from(is_branch))
        .map(|node| node.key)
        .collect();
    let ascend = keys.windows(2).all(|pair| order(pair[0], pair[1]).is_lt());
    let above = match (bounds.0, keys.first()) {
        (Some(low), Some(first)) => order(low, first).is_le(),
        (None, _) | (_, None) => true,
    };
    let below = match (keys.last(), bounds.1) {
        (Some(last), Some(high)) => order(last, high).is_lt(),
        (None, _) | (_, None) => true,
    };
    (ascend && above && below).then_some(())
}

/// How the list of free pages is ordered: by transactions.
fn by_number(one: &[u8], other: &[u8]) -> Ordering {
    let long = |key: &[u8]| (key.len() == 8).then(|| number(key, 0, 8));
    long(one).cmp(&long(other))
}

/// A little-endian number of a few bytes; what lies behind the end counts as zero.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    let bytes = bytes.iter().skip(at).take(length).rev();
    bytes.fold(0, |number, byte| (number << 8) | u64::from(*byte))
}

/// A number that counts bytes; one that is too large for this machine is as wrong as zero.
fn size(bytes: &[u8], at: usize, length: usize) -> usize {
    usize::try_from(number(bytes, at, length)).unwrap_or(0)
}

fn short(bytes: &[u8], at: usize) -> u16 {
    u16::try_from(number(bytes, at, 2)).unwrap_or(0)
}

fn read(file: &File, bytes: &mut [u8], at: u64) -> Result<(), Broken> {
    file.read_exact_at(bytes, at)
        .map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => {
                Broken::Damaged("the journal: its file is cut short".to_owned())
            }
            _ => from_io("the journal", &error),
        })
}

fn odd(page: u64, what: &str) -> Broken {
    Broken::Damaged(format!(
        "the journal: page {page} does not fit the others: {what}"
    ))
}
