import AvatarMaintenance
import AvatarStore
import AvatarFoundation

extension StoreStatistics {
    /// The fields as `stats --json` prints them.
    var json: JSON {
        .object([
            "entries": JSON(entries),
            "files": JSON(files),
            "cachesBytes": JSON(cachesBytes),
            "documentsBytes": JSON(documentsBytes),
            "stagingBytes": JSON(stagingBytes),
            "pendingBytes": JSON(pendingBytes),
            "budgetBytes": JSON(budgetBytes),
            "lowWatermarkBytes": JSON(lowWatermarkBytes),
            "walBytes": JSON(walBytes),
            "allocatedBytes": JSON(allocatedBytes),
            "states": .object(Dictionary(uniqueKeysWithValues: states.map { ($0.key.rawValue, JSON($0.value)) })),
            "hosts": JSON(hosts),
            "pausedHosts": JSON(pausedHosts),
            "failingHosts": .array(failingHosts.map(\.json)),
            "oldestAccess": JSON(oldestAccess),
            "newestAccess": JSON(newestAccess),
            "schemaVersion": JSON(schemaVersion),
            "guard": JSON(addressGuard.description),
            "lastSync": lastSync.map(\.json) ?? .null,
            "sources": .array(
                sources.map {
                    .object(["source": JSON($0.name), "lastSync": JSON($0.lastSync), "failure": JSON($0.failure)])
                }
            ),
            "failures": .object(Dictionary(uniqueKeysWithValues: failures.map { ($0.key.rawValue, JSON($0.value)) })),
            "neverHad": JSON(neverHad),
            "renditions": JSON(renditions),
            "renditionBytes": JSON(renditionBytes),
            "sharedTier": sharedTier.map(\.json) ?? .null,
        ])
    }

    /// The statistics as a table for people.
    var text: TerminalText {
        var facts = Facts()
        facts.add("entries", "\(entries), from \(Wording.count(hosts, "host"))")
        for state in AvatarState.allCases {
            if let count = states[state] { facts.add("  \(state.rawValue)", "\(count)", colour: state.colour) }
        }
        if !failures.isEmpty {
            let kinds = failures.sorted { $0.key.rawValue < $1.key.rawValue }.map { "\($0.value) \($0.key)" }.joined(
                separator: ", "
            )
            facts.add("failures", kinds, colour: .red)
        }
        for (number, host) in failingHosts.prefix(Self.hostsForPeople).enumerated() {
            facts.add(number == 0 ? "failing hosts" : "", host.text, colour: .red)
        }
        if failingHosts.count > Self.hostsForPeople { facts.add("", "… and others; `avatars doctor` names them") }
        if pausedHosts > 0 {
            facts.add("paused hosts", "\(pausedHosts); `avatars doctor` names them", colour: .magenta)
        }
        if neverHad > 0 {
            facts.add("never fetched", "\(neverHad) requested images of contacts", colour: .magenta)
        }
        facts.add("last sync", lastSync?.text ?? "never", colour: lastSync.flatMap(\.colour))
        for (number, source) in sources.enumerated() {
            let state = source.failure ?? "read \(Wording.age(of: source.lastSync.date))"
            facts.add(
                number == 0 ? "address books" : "",
                "\(source.name): \(state)",
                colour: source.failure.map { _ in .red }
            )
        }
        facts.add("files", "\(files)")
        facts.add("  caches", "\(Wording.size(cachesBytes, of: budgetBytes)) of \(Wording.limit(budgetBytes))\(share)")
        if renditions > 0 {
            facts.add("  renditions", "\(renditions), \(Wording.size(renditionBytes, of: budgetBytes)) of caches")
        }
        facts.add("  documents", Wording.size(documentsBytes, of: budgetBytes))
        facts.add("  pending", Wording.size(pendingBytes, of: budgetBytes))
        facts.add("  staging", Wording.size(stagingBytes, of: budgetBytes))
        facts.add("low watermark", Wording.size(lowWatermarkBytes, of: budgetBytes))
        facts.add(
            "on disk",
            "\(Wording.size(allocatedBytes, of: budgetBytes)), with a write-ahead log of \(Wording.size(walBytes, of: budgetBytes))"
        )
        sharedTier?.add(to: &facts)
        facts.add("oldest access", oldestAccess.map { Wording.age(of: $0.date) })
        facts.add("newest access", newestAccess.map { Wording.age(of: $0.date) })
        facts.add("schema", "version \(schemaVersion)")
        let allowsMore = addressGuard == .privateNetworks
        facts.add("address guard", allowsMore ? "off for loopback and private networks" : addressGuard.description)
        return facts.text
    }

    /// The most failing hosts in the table.
    private static let hostsForPeople = 3

    /// The part of the budget that the caches use, in percent.
    private var share: String {
        budgetBytes > 0 ? " (\(Wording.number(100 * Double(cachesBytes) / Double(budgetBytes), digits: 0)) %)" : ""
    }
}

extension FailingHost {
    /// An element of `failingHosts` in `stats --json`.
    fileprivate var json: JSON {
        .object([
            "host": JSON(host), "failures": JSON(failures), "kind": JSON(kind.rawValue), "message": JSON(message),
            "pausedUntil": JSON(pausedUntil),
        ])
    }

    /// The line for people, as in `example.org:443 (unreachable, 3 times in a row): the connection was refused`.
    fileprivate var text: String {
        let times = failures == 1 ? "once" : "\(failures) times in a row"
        let reason = message.map { ": " + AvatarKey.reason(in: $0, about: host) } ?? ""
        return "\(host) (\(kind), \(times))\(reason)"
    }
}

extension SharedTierStatistics {
    /// The fields of `sharedTier` in `stats --json`.
    fileprivate var json: JSON {
        .object([
            "taken": JSON(taken), "confirmed": JSON(confirmed), "put": JSON(put), "dropped": JSON(dropped),
            "waiting": JSON(waiting), "waitingErasures": JSON(waitingErasures), "failure": JSON(failure),
            "failed": JSON(failed),
        ])
    }

    /// Adds the lines for people.
    fileprivate func add(to facts: inout Facts) {
        facts.add("shared tier", "\(taken) taken, \(confirmed) confirmed, \(put) put")
        if waiting > 0 { facts.add("  waiting", "\(waiting) uploads", colour: .magenta) }
        if waitingErasures > 0 { facts.add("  erasures", "\(waitingErasures) waiting", colour: .magenta) }
        if dropped > 0 { facts.add("  dropped", "\(dropped) uploads, because the queue was full", colour: .magenta) }
        if let failure, let failed {
            facts.add("  failed", "\(Wording.age(of: failed.date)): \(failure)", colour: .red)
        }
    }
}

extension LastSync {
    /// The fields of `lastSync` in `stats --json`.
    var json: JSON {
        .object([
            "time": JSON(time),
            "seconds": JSON(duration),
            "exit": JSON(Int(outcome.exitCode.rawValue)),
            "wanted": JSON(wanted),
            "failed": JSON(failed),
            "skipped": JSON(skipped),
            "overBudget": JSON(overBudget),
        ])
    }

    /// The line for people, as in `3 min ago, exit code 69: 7 wanted, 0 failed, 7 waiting`.
    fileprivate var text: String {
        let rest = overBudget > 0 ? ", \(overBudget) over budget" : ""
        let counts = "\(wanted) wanted, \(failed) failed, \(skipped) waiting\(rest)"
        return "\(Wording.age(of: time.date)), exit code \(outcome.exitCode.rawValue): \(counts)"
    }

    /// The colour of the line on a terminal; `nil` for a complete sync whose images fitted the budget.
    fileprivate var colour: Colour? {
        switch outcome {
        case .complete: overBudget > 0 ? .magenta : nil
        case .incomplete, .interrupted: .magenta
        case .unreached, .failed: .red
        }
    }
}
