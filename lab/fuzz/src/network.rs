//! Addresses and names that clients, users and models write.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use samovar_egress::{Range, Target, private};
use samovar_server::{Authority, Origin};

/// A web address: one that is taken is taken again as it is written, and means the same to everyone
/// who reads its host.
pub(crate) fn url(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let Ok(target) = Target::parse(text) else {
        return;
    };
    let whole = target.whole();
    let again = Target::parse(whole);
    // What is escaped becomes longer, maybe too long.
    if let Ok(again) = &again {
        assert_eq!(again.whole(), whole, "{text:?}");
    } else {
        assert!(whole.len() > 2_048, "{whole:?}: {again:?}");
    }
    assert!(whole.is_ascii() && !whole.contains(char::is_whitespace));
    let scheme = if target.is_secure() {
        "https://"
    } else {
        "http://"
    };
    let rest = whole
        .strip_prefix(scheme)
        .expect("the scheme is one of two");
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    assert!(!authority.contains('@'), "{whole:?} has a user");
    assert_eq!(target.host().parse().ok(), target.literal(), "{whole:?}");
    assert!(!target.host().is_empty(), "{text:?}");
    assert!(!whole.contains('#'), "{whole:?} has a fragment");
}

/// Bytes of an address that come before the text of a range.
const ADDRESS_BYTES: usize = 16;

/// The table of addresses that are not public, and a range that opens some.
pub(crate) fn address(data: &[u8]) {
    let Some((address, range)) = data.split_first_chunk::<ADDRESS_BYTES>() else {
        return;
    };
    let [a, b, c, d, ..] = *address;
    let (v4, v6) = (Ipv4Addr::new(a, b, c, d), Ipv6Addr::from(*address));
    assert!(!is_special_v4(v4) || private(v4.into()).is_some(), "{v4}");
    assert!(!is_special_v6(v6) || private(v6.into()).is_some(), "{v6}");
    // What has an IPv4 address in it is never a second way to reach that one.
    for v6 in [v4.to_ipv6_mapped(), v4.to_ipv6_compatible()] {
        assert!(private(v6.into()).is_some(), "{v6}");
    }
    let Ok(range) = str::from_utf8(range) else {
        return;
    };
    let Ok(range) = range.parse::<Range>() else {
        return;
    };
    assert_eq!(range.to_string().parse(), Ok(range));
    for address in [IpAddr::from(v4), v6.into()] {
        for port in [0, 443, u16::from_be_bytes([c, d])] {
            let address = SocketAddr::new(address, port);
            assert_eq!(
                range.holds(address),
                is_in(address, &range),
                "{range} {address}"
            );
        }
    }
}

/// What the standard library and a few numbers say.
fn is_special_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_unspecified()
        || a == 0
        || (a == 100 && b & 0xc0 == 64)
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && b & 0xfe == 18)
        || a >= 240
}

fn is_special_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        || address.to_ipv4().is_some()
        || a >> 13 != 1
        || a == 0x2002
        || (a == 0x2001 && b < 0x200)
        || (a == 0x2001 && b == 0xdb8)
}

/// Whether a range has an address, found from how it is written, one bit after the other.
fn is_in(address: SocketAddr, range: &Range) -> bool {
    let written = range.to_string();
    let (network, port) = match written.strip_prefix('[') {
        Some(rest) => rest.split_once("]:").expect("a port follows brackets"),
        None if range_is_v4(&written) => written.split_once(':').unwrap_or((&written, "")),
        None => (written.as_str(), ""),
    };
    let (network, bits) = network.split_once('/').expect("a range has its bits");
    let network: IpAddr = network.parse().expect("a range has a network");
    let bits: usize = bits.parse().expect("bits are a number");
    let is_port = port.is_empty() || port.parse() == Ok(address.port());
    let same = bits_of(network).zip(bits_of(address.ip())).take(bits);
    is_port && network.is_ipv4() == address.is_ipv4() && same.into_iter().all(|(a, b)| a == b)
}

fn range_is_v4(written: &str) -> bool {
    written
        .split('/')
        .next()
        .is_some_and(|ip| ip.parse::<Ipv4Addr>().is_ok())
}

fn bits_of(address: IpAddr) -> impl Iterator<Item = bool> {
    let bytes = match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let bits = |byte: u8| (0..8).rev().map(move |bit| byte >> bit & 1 == 1);
    bytes.into_iter().flat_map(bits)
}

/// The names of the server and of pages, in the configuration and in headers.
pub(crate) fn origin(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    if let Ok(name) = text.parse::<Authority>() {
        assert_eq!(name.as_str().parse(), Ok(name.clone()), "{text:?}");
        assert!(is_header(name.as_str()), "{text:?}");
    }
    if let Ok(origin) = text.parse::<Origin>() {
        assert_eq!(origin.as_str().parse(), Ok(origin.clone()), "{text:?}");
        assert!(is_header(origin.as_str()), "{text:?}");
        assert_ne!(origin.as_str(), "null");
    }
}

/// What a browser can send in a header, without a path, a user or a list in it.
fn is_header(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"@?#\\*,".contains(&byte);
    text.bytes().all(is_plain) && text.bytes().filter(|byte| *byte == b'/').count() % 2 == 0
}
