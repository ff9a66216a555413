import AvatarStore
import Foundation

extension SkippedImages {
    var json: JSON {
        .object([
            "backoff": JSON(backoff),
            "hostPaused": JSON(hostPaused),
            "offline": JSON(offline),
            "limit": JSON(limit),
            "interrupted": JSON(interrupted),
        ])
    }

    /// The most hosts that JSON names.
    private static let namedHosts = 100

    var pausedHostsJSON: JSON {
        .array(
            byImages.prefix(Self.namedHosts).map { name, host in
                .object([
                    "host": JSON(name), "until": JSON(host.until), "retryAfter": JSON(host.isRetryAfter),
                    "images": JSON(host.images),
                ])
            }
        )
    }

    /// `4 backing off, 3 waiting for a paused host`.
    var reasons: String {
        let counts = [
            (backoff, "backing off"), (hostPaused, "waiting for a paused host"), (offline, "offline"),
            (limit, "over a limit"), (interrupted, "interrupted"),
        ]
        return counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    }

    /// The most hosts that are named for people.
    private static let hostsForPeople = 3

    /// Until when hosts are paused, a line each, and how to ask them anyway.
    var pauses: [String] {
        guard !pausedHosts.isEmpty else { return [] }
        var lines = byImages.prefix(Self.hostsForPeople).map { name, host in
            let cause = host.isRetryAfter ? " (it sent Retry-After)" : ""
            return "host \(name) is paused until \(Wording.clock(host.until.date))\(cause)"
        }
        let rest = pausedHosts.count - lines.count
        if rest > 0 { lines.append("… and \(Wording.count(rest, "more host"))") }
        if pausedHosts.values.contains(where: { !$0.isRetryAfter }) {
            lines.append("retry now with --ignore-pauses or --policy reload")
        }
        return lines
    }

    /// The hosts with the most waiting images first.
    private var byImages: [(key: String, value: PausedHost)] {
        pausedHosts.sorted { ($1.value.images, $0.key) < ($0.value.images, $1.key) }
    }
}
