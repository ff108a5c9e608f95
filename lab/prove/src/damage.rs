//! What a power cut does to bytes that were never synced.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::dice::Dice;

/// Bytes that a disk loses together.
const PAGE: u64 = 4096;

/// Damages every file of a spool, or leaves it as it is.
pub(crate) fn cut(spool: &Path, dice: &mut Dice) -> io::Result<()> {
    let entries = match spool.read_dir() {
        Ok(entries) => entries,
        // A server that was killed early has made none.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut paths: Vec<_> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<_>>()?;
    // The order of a folder is chance that no seed knows.
    paths.sort();
    for path in paths.iter().filter(|path| path.is_file()) {
        let file = File::options().write(true).open(path)?;
        let length = fs::metadata(path)?.len();
        match dice.within(0..=3) {
            0 => {}
            1 => file.set_len(0)?,
            2 => file.set_len(dice.within(0..=length))?,
            _ => zeros(&file, length, dice)?,
        }
    }
    Ok(())
}

/// Fills some pages with zeros.
fn zeros(mut file: &File, length: u64, dice: &mut Dice) -> io::Result<()> {
    let pages = length.div_ceil(PAGE);
    for page in 0..pages {
        if dice.percent(50) {
            let start = page * PAGE;
            let end = length.min(start + PAGE);
            let count = usize::try_from(end - start).unwrap_or(0);
            file.write_all_at(&vec![0; count], start)?;
        }
    }
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_never_makes_a_file_longer_and_does_each_kind_of_damage() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("0");
        let (mut emptied, mut shortened, mut zeroed, mut whole) = (0, 0, 0, 0);
        let mut dice = Dice::new(5);
        for _ in 0..60 {
            fs::write(&file, [7_u8; 10_000]).unwrap();
            cut(folder.path(), &mut dice).unwrap();
            let left = fs::read(&file).unwrap();
            match left.len() {
                0 => emptied += 1,
                10_000 if left.contains(&0) => zeroed += 1,
                10_000 => whole += 1,
                length => {
                    assert!(length < 10_000);
                    shortened += 1;
                }
            }
        }
        assert!(
            [emptied, shortened, zeroed, whole]
                .iter()
                .all(|times| *times > 2)
        );
        cut(&folder.path().join("none"), &mut dice).unwrap();
    }
}
