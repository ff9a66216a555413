import AvatarStore
import AvatarFoundation

extension SkippedImages {
    /// The counts by reason, as the field `skippedBy`.
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

    /// The paused hosts with the most waiting images, as the field `pausedHosts`.
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

    /// The lines of the summary that say why images wait: the reasons with their counts, then the paused hosts.
    ///
    /// If there is one reason it has no count, and if that is a paused host, the line names the host:
    /// `host example.com:443 is paused until 2026-11-24 21:03:07 +0100 (retry now with …)`.
    ///
    /// - Parameter ignoresPauses: whether the sync ignored the pauses from before it, so that advising it would be useless.
    func waitingLines(ignoresPauses: Bool) -> [String] {
        let pauseLines = pauseLines(ignoresPauses: ignoresPauses)
        let reasons = [
            (backoff, "in backoff after a failure"), (hostPaused, "on paused hosts"), (offline, "offline"),
            (limit, "over a limit"), (interrupted, "interrupted"),
        ].filter { $0.0 > 0 }
        guard let first = reasons.first, reasons.count == 1 else {
            return [reasons.map { "\($0.0) \($0.1)" }.joined(separator: ", ")] + pauseLines
        }
        return pauseLines.isEmpty ? [first.1] : pauseLines
    }

    /// The most hosts that the summary names.
    private static let hostsForPeople = 3

    /// When the pause of each host ends, and how to send requests to it before.
    private func pauseLines(ignoresPauses: Bool) -> [String] {
        var lines = byImages.prefix(Self.hostsForPeople).map { name, host in
            let cause = host.isRetryAfter ? ", as its Retry-After asks" : ""
            return "host \(name) is paused until \(host.until.localText)\(cause)"
        }
        let rest = pausedHosts.count - lines.count
        if rest > 0 { lines.append("… and \(Wording.count(rest, "more host"))") }
        guard let advice = pauseAdvice(ignoresPauses: ignoresPauses) else { return lines }
        return lines.count == 1 ? ["\(lines[0]) (\(advice))"] : lines + [advice]
    }

    /// How to send requests to paused hosts now; `nil` if no paused host may get one.
    ///
    /// - Parameter ignoresPauses: whether the sync ignored the pauses, so that advising it would be useless.
    func pauseAdvice(ignoresPauses: Bool) -> String? {
        guard !ignoresPauses, pausedHosts.values.contains(where: { !$0.isRetryAfter }) else { return nil }
        return "retry now with --ignore-pauses or --policy reload"
    }

    /// The paused hosts, those with the most waiting images first, then by name.
    private var byImages: [(key: String, value: PausedHost)] {
        pausedHosts.sorted { ($1.value.images, $0.key) < ($0.value.images, $1.key) }
    }
}
