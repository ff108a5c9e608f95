//! Ranges of addresses that somebody opened by name.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use samovar_locale as locale;

/// Addresses, and maybe one port of them, that may be asked although they are not public:
/// `10.2.0.0/16`, `127.0.0.1`, `127.0.0.1:8080`, `fd00::/8`, `[::1]:8080`, `[fd00::/8]:443`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    network: IpAddr,
    bits: u8,
    port: Option<u16>,
}

/// What was written is no range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", locale::egress::no_range(locale::quoted(.0)))]
pub struct RangeError(String);

impl Range {
    /// Whether this address with this port is in it.
    pub fn holds(&self, address: SocketAddr) -> bool {
        self.port.is_none_or(|port| port == address.port())
            && masked(address.ip(), self.bits) == Some(self.network)
            && address.is_ipv4() == self.network.is_ipv4()
    }
}

impl FromStr for Range {
    type Err = RangeError;

    fn from_str(text: &str) -> Result<Self, RangeError> {
        parse(text.trim()).ok_or_else(|| RangeError(text.chars().take(64).collect()))
    }
}

fn parse(text: &str) -> Option<Range> {
    let (range, port) = split_port(text)?;
    let (address, bits) = match range.split_once('/') {
        Some((address, bits)) => (address, Some(number(bits)?)),
        None => (range, None),
    };
    let network: IpAddr = address.parse().ok()?;
    let most = if network.is_ipv4() { 32 } else { 128 };
    let bits = bits.unwrap_or(most);
    // One with bits behind its network means something else than it says.
    let is_whole = bits <= most && masked(network, bits) == Some(network);
    is_whole.then_some(Range {
        network,
        bits,
        port,
    })
}

/// The port stands behind the brackets of an IPv6 range, or behind the one colon of an IPv4 range.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (range, port) = rest.split_once(']')?;
        if !range.contains(':') {
            return None;
        }
        return match port {
            "" => Some((range, None)),
            port => Some((range, Some(number(port.strip_prefix(':')?)?))),
        };
    }
    match text.split_once(':') {
        Some((range, port)) if !port.contains(':') => Some((range, Some(number(port)?))),
        Some(_) | None => Some((text, None)),
    }
}

/// Digits alone: no sign.
fn number<N: FromStr>(text: &str) -> Option<N> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}

/// An address with only its first bits; none when it has not so many.
fn masked(address: IpAddr, bits: u8) -> Option<IpAddr> {
    match address {
        IpAddr::V4(address) => {
            let rest = 32_u32.checked_sub(bits.into())?;
            let mask = u32::MAX.checked_shl(rest).unwrap_or(0);
            Some(IpAddr::V4((address.to_bits() & mask).into()))
        }
        IpAddr::V6(address) => {
            let rest = 128_u32.checked_sub(bits.into())?;
            let mask = u128::MAX.checked_shl(rest).unwrap_or(0);
            Some(IpAddr::V6((address.to_bits() & mask).into()))
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (network, bits) = (self.network, self.bits);
        match (self.port, network.is_ipv4()) {
            (None, _) => write!(f, "{network}/{bits}"),
            (Some(port), true) => write!(f, "{network}/{bits}:{port}"),
            (Some(port), false) => write!(f, "[{network}/{bits}]:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(range: &str, address: &str) -> bool {
        let range: Range = range.parse().unwrap();
        assert_eq!(range.to_string().parse(), Ok(range));
        range.holds(address.parse().unwrap())
    }

    // proves TL-9
    #[test]
    fn a_range_opens_its_addresses_and_its_port_and_nothing_beside_them() {
        for (range, inside, outside) in [
            ("10.2.0.0/16", "10.2.255.255:1", "10.3.0.0:1"),
            ("127.0.0.1", "127.0.0.1:9", "127.0.0.2:9"),
            ("127.0.0.1:8080", "127.0.0.1:8080", "127.0.0.1:8081"),
            ("10.0.0.0/8:443", "10.9.9.9:443", "10.9.9.9:80"),
            ("0.0.0.0/0", "255.1.2.3:1", "[::ffff:1.2.3.4]:1"),
            ("fd00::/8", "[fdff::1]:1", "[fe00::1]:1"),
            ("[fd00::/8]:443", "[fd12::1]:443", "[fd12::1]:80"),
            ("[::1]:8080", "[::1]:8080", "[::1]:8081"),
            ("::1", "[::1]:1", "127.0.0.1:1"),
            ("::/0", "[fe80::1]:1", "10.0.0.1:1"),
        ] {
            assert!(holds(range, inside), "{range} {inside}");
            assert!(!holds(range, outside), "{range} {outside}");
        }
    }

    #[test]
    fn what_is_no_range_is_told() {
        for wrong in [
            "",
            "localhost",
            "10.2.0.1/16",
            "10.0.0.0/33",
            "fd00::/129",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "10.0.0.1:70000",
            "10.0.0.1:",
            "[10.0.0.1]:80",
            "[::1",
            "[::1]80",
            "10.0.0.*",
            "010.0.0.1",
        ] {
            let error = wrong.parse::<Range>().unwrap_err();
            assert!(error.to_string().contains("10.2.0.0/16"), "{error}");
        }
    }
}
