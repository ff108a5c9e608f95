//! Who may use how many descriptors.

/// The fewest descriptors with which a server starts: with less there is no room for clients beside
/// its stores.
pub const LEAST: u64 = 128;

/// What the stores, the logs, the listeners, the runtime and the spare descriptors take: about 30
/// after a start, more while segments of the spool or logs of studies are open.
const RESERVED: u64 = 64;

/// Tools read and write files, webhooks connect: each call takes a few for a moment, so there is no
/// use for more at once.
const MOST_FOR_TOOLS: u64 = 512;

/// Connections that are only accepted for their first head, for each listener.
const MOST_HEADS: u64 = 32;

/// Connections to models that are kept open without a request, for each host.
const MOST_IDLE: u64 = 32;

/// Connections of the owner's own commands beside a listener for other machines.
const MOST_OWNERS: u64 = 64;

/// Turns that ask a model at once.
const MOST_ASKING: u64 = 4096;

/// Bounds that keep the server below its limit of file descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How many descriptors the process may open.
    pub limit: u64,
    /// Connections of clients.
    pub connections: usize,
    /// Connections of the owner's own commands, where other machines have a listener of their own.
    pub owners: usize,
    /// Connections beyond those, for each listener, that are accepted for their first head alone.
    pub first_heads: usize,
    /// Turns that ask a model at once.
    pub asking: usize,
    /// Connections to models that are kept open without a request, for each host.
    pub idle: usize,
}

impl Budget {
    /// Divides a limit. Clients get at most `wanted` connections, and at most half of what the
    /// others leave; the rest is for turns, which take a connection to a model each.
    pub fn of(limit: u64, wanted: usize) -> Self {
        let free = limit.saturating_sub(RESERVED);
        let part = |most: u64| (free / 16).clamp(1, most);
        let (tools, first_heads, idle, owners) = (
            (free / 4).min(MOST_FOR_TOOLS),
            part(MOST_HEADS),
            part(MOST_IDLE),
            part(MOST_OWNERS),
        );
        let rest = free.saturating_sub(tools + 2 * first_heads + idle + owners);
        let connections = (rest / 2).clamp(1, count(wanted));
        let asking = rest.saturating_sub(connections).clamp(1, MOST_ASKING);
        Self {
            limit,
            connections: bound(connections),
            owners: bound(owners),
            first_heads: bound(first_heads),
            asking: bound(asking),
            idle: bound(idle),
        }
    }

    /// Whether the limit is high enough for a server.
    pub fn is_enough(&self) -> bool {
        self.limit >= LEAST
    }
}

fn count(wanted: usize) -> u64 {
    u64::try_from(wanted).unwrap_or(u64::MAX).max(1)
}

fn bound(descriptors: u64) -> usize {
    usize::try_from(descriptors).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_divided_and_never_exceeded() {
        // limit, wanted; connections, owners, first heads, asking, idle
        for (limit, wanted, [connections, owners, first_heads, asking, idle]) in [
            (0, 4096, [1, 1, 1, 1, 1]),
            (64, 4096, [1, 1, 1, 1, 1]),
            (LEAST, 4096, [16, 4, 4, 16, 4]),
            (256, 4096, [48, 12, 12, 48, 12]),
            (256, 10, [10, 12, 12, 86, 12]),
            (1024, 4096, [282, 60, 32, 282, 32]),
            (4096, 4096, [1680, 64, 32, 1680, 32]),
            (20_000, 4096, [4096, 64, 32, 4096, 32]),
            (20_000, 65_536, [9632, 64, 32, 4096, 32]),
            (u64::MAX, 4096, [4096, 64, 32, 4096, 32]),
        ] {
            let wanted_budget = Budget {
                limit,
                connections,
                owners,
                first_heads,
                asking,
                idle,
            };
            assert_eq!(Budget::of(limit, wanted), wanted_budget, "{limit} {wanted}");
            assert_eq!(wanted_budget.is_enough(), limit >= LEAST);
            let used = connections + owners + 2 * first_heads + asking + idle;
            assert!(limit < LEAST || used as u64 + RESERVED <= limit, "{limit}");
        }
    }
}
