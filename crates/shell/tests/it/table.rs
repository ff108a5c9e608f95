//! Rows of a table of commands: a verdict or a class, a tab, and the command.

/// The columns of each row that is neither blank nor a heading.
pub(crate) fn rows(table: &'static str) -> impl Iterator<Item = (&'static str, String)> {
    let lines = table
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("# "));
    lines.map(|line| {
        let (first, command) = line.split_once('\t').unwrap();
        (first, decoded(command))
    })
}

/// A command with each `{U+…}` replaced by the character of that number.
fn decoded(command: &str) -> String {
    let mut parts = command.split("{U+");
    let mut decoded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.split_once('}').unwrap();
        let number = u32::from_str_radix(number, 16).unwrap();
        decoded.push(char::from_u32(number).unwrap());
        decoded.push_str(rest);
    }
    decoded
}
