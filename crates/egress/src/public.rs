//! Which addresses are public ones: the table of those that are not.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses that is not public, and what it is for.
struct Block<A> {
    network: A,
    bits: u8,
    what: &'static str,
}

const fn v4(a: u8, b: u8, c: u8, bits: u8, what: &'static str) -> Block<Ipv4Addr> {
    let network = Ipv4Addr::new(a, b, c, 0);
    Block {
        network,
        bits,
        what,
    }
}

const fn v6(first: [u16; 3], bits: u8, what: &'static str) -> Block<Ipv6Addr> {
    let [a, b, c] = first;
    let network = Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0);
    Block {
        network,
        bits,
        what,
    }
}

const NOT_PUBLIC_V4: [Block<Ipv4Addr>; 16] = [
    v4(0, 0, 0, 8, "this network"),
    v4(10, 0, 0, 8, "private"),
    v4(100, 64, 0, 10, "carrier-grade NAT"),
    v4(127, 0, 0, 8, "loopback"),
    v4(169, 254, 0, 16, "link-local"),
    v4(172, 16, 0, 12, "private"),
    v4(192, 0, 0, 24, "protocol assignments"),
    v4(192, 0, 2, 24, "documentation"),
    v4(192, 88, 99, 24, "6to4 relay"),
    v4(192, 168, 0, 16, "private"),
    v4(198, 18, 0, 15, "benchmarking"),
    v4(198, 51, 100, 24, "documentation"),
    v4(203, 0, 113, 24, "documentation"),
    v4(224, 0, 0, 4, "multicast"),
    v4(255, 255, 255, 24, "broadcast"),
    v4(240, 0, 0, 4, "reserved"),
];

/// All that is handed out to the public so far; only within this are there public ones.
const GLOBAL_V6: Block<Ipv6Addr> = v6([0x2000, 0, 0], 3, "public");

const NOT_PUBLIC_V6: [Block<Ipv6Addr>; 13] = [
    v6([0x2001, 0, 0], 32, "Teredo"),
    v6([0x2001, 0, 0], 23, "protocol assignments"),
    v6([0x2001, 0x0db8, 0], 32, "documentation"),
    v6([0x2002, 0, 0], 16, "6to4"),
    v6([0x3fff, 0, 0], 20, "documentation"),
    v6([0x0064, 0xff9b, 0], 96, "NAT64"),
    v6([0x0064, 0xff9b, 1], 48, "NAT64"),
    v6([0x0100, 0, 0], 64, "discard"),
    v6([0x5f00, 0, 0], 16, "segment routing"),
    v6([0xfc00, 0, 0], 7, "unique local"),
    v6([0xfe80, 0, 0], 10, "link-local"),
    v6([0xfec0, 0, 0], 10, "site-local"),
    v6([0xff00, 0, 0], 8, "multicast"),
];

/// Why an address is not a public unicast one, in a word of the registries; none when it is one.
///
/// What has an IPv4 address in it (mapped, NAT64, 6to4, Teredo) is refused whatever that one is: it
/// would be a second way to write it.
pub fn private(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => {
            let mut blocks = NOT_PUBLIC_V4.iter();
            let block = blocks.find(|block| {
                is_in(
                    address.to_bits().into(),
                    block.network.to_bits().into(),
                    32 - block.bits,
                )
            });
            block.map(|block| block.what)
        }
        IpAddr::V6(address) => private_v6(address),
    }
}

fn private_v6(address: Ipv6Addr) -> Option<&'static str> {
    if address.is_unspecified() {
        return Some("unspecified");
    }
    if address.is_loopback() {
        return Some("loopback");
    }
    if address.to_ipv4_mapped().is_some() {
        return Some("IPv4-mapped");
    }
    let holds = |block: &Block<Ipv6Addr>| {
        is_in(address.to_bits(), block.network.to_bits(), 128 - block.bits)
    };
    match NOT_PUBLIC_V6.iter().find(|block| holds(block)) {
        Some(block) => Some(block.what),
        None if holds(&GLOBAL_V6) => None,
        None => Some("reserved"),
    }
}

/// Whether two addresses are the same but for their last bits.
fn is_in(address: u128, network: u128, last: u8) -> bool {
    (address ^ network).checked_shr(last.into()).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(address: &str) -> Option<&'static str> {
        private(address.parse().unwrap())
    }

    // proves TL-9
    #[test]
    fn every_block_that_is_not_public_is_refused_to_its_edges() {
        for (first, last, what) in [
            ("0.0.0.0", "0.255.255.255", "this network"),
            ("10.0.0.0", "10.255.255.255", "private"),
            ("100.64.0.0", "100.127.255.255", "carrier-grade NAT"),
            ("127.0.0.0", "127.255.255.255", "loopback"),
            ("169.254.0.0", "169.254.255.255", "link-local"),
            ("172.16.0.0", "172.31.255.255", "private"),
            ("192.0.0.0", "192.0.0.255", "protocol assignments"),
            ("192.0.2.0", "192.0.2.255", "documentation"),
            ("192.88.99.0", "192.88.99.255", "6to4 relay"),
            ("192.168.0.0", "192.168.255.255", "private"),
            ("198.18.0.0", "198.19.255.255", "benchmarking"),
            ("198.51.100.0", "198.51.100.255", "documentation"),
            ("203.0.113.0", "203.0.113.255", "documentation"),
            ("224.0.0.0", "239.255.255.255", "multicast"),
            ("240.0.0.0", "255.255.254.255", "reserved"),
            ("255.255.255.0", "255.255.255.255", "broadcast"),
        ] {
            assert_eq!(why(first), Some(what), "{first}");
            assert_eq!(why(last), Some(what), "{last}");
        }
    }

    // proves TL-9
    #[test]
    fn every_block_of_the_longer_addresses_is_refused_to_its_edges() {
        for (first, last, what) in [
            ("::", "::", "unspecified"),
            ("::1", "::1", "loopback"),
            ("::2", "::fffe:ffff:ffff", "reserved"),
            ("::ffff:0.0.0.0", "::ffff:255.255.255.255", "IPv4-mapped"),
            ("::ffff:8.8.8.8", "::ffff:1.1.1.1", "IPv4-mapped"),
            ("64:ff9b::", "64:ff9b::ffff:ffff", "NAT64"),
            ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "NAT64"),
            ("100::", "100::ffff:ffff:ffff:ffff", "discard"),
            ("2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "Teredo"),
            (
                "2001:1::",
                "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
                "protocol assignments",
            ),
            (
                "2001:db8::",
                "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff",
                "documentation",
            ),
            ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "6to4"),
            (
                "3fff::",
                "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
                "documentation",
            ),
            (
                "5f00::",
                "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "segment routing",
            ),
            (
                "4000::",
                "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "reserved",
            ),
            (
                "fc00::",
                "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "unique local",
            ),
            (
                "fe80::",
                "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "link-local",
            ),
            (
                "fec0::",
                "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "site-local",
            ),
            (
                "ff00::",
                "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
                "multicast",
            ),
        ] {
            assert_eq!(why(first), Some(what), "{first}");
            assert_eq!(why(last), Some(what), "{last}");
        }
    }

    // proves TL-9
    #[test]
    fn what_lies_beside_a_block_is_public() {
        for public in [
            "1.0.0.0",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "191.255.255.255",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.88.100.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "198.51.101.0",
            "203.0.112.255",
            "203.0.114.0",
            "223.255.255.255",
            "8.8.8.8",
            "2000::",
            "2001:200::",
            "2001:db7:ffff::",
            "2001:db9::",
            "2003::",
            "2606:4700::1111",
            "3ffe:ffff::",
            "3fff:1000::",
            "3fff:ffff::",
        ] {
            assert_eq!(why(public), None, "{public}");
        }
    }
}
