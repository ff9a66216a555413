import AvatarStore
import Foundation

extension StoreStatistics {
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
            "states": .object(states.mapValues { JSON($0) }),
            "hosts": JSON(hosts),
            "oldestAccess": JSON(oldestAccess),
            "newestAccess": JSON(newestAccess),
            "schemaVersion": JSON(schemaVersion),
            "guard": JSON(guardDescription),
            "lastSync": lastSync.map(\.json) ?? .null,
            "failures": .object(failures.mapValues { JSON($0) }),
            "neverHad": JSON(neverHad),
        ])
    }

    var text: String {
        var facts = Facts()
        facts.add("entries", "\(entries), of \(Wording.count(hosts, "host"))")
        for state in EntryState.allCases {
            if let count = states[state.rawValue] { facts.add("  \(state.rawValue)", "\(count)", state.colour) }
        }
        if !failures.isEmpty {
            let kinds = failures.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
            facts.add("failures", kinds, .red)
        }
        if neverHad > 0 { facts.add("never fetched", "\(neverHad) of the images that contacts use", .magenta) }
        facts.add("last sync", lastSync?.text ?? "never", lastSync.flatMap(\.colour))
        facts.add("files", "\(files)")
        facts.add("  caches", "\(Wording.size(cachesBytes)) of \(Wording.size(budgetBytes))\(share)")
        facts.add("  documents", Wording.size(documentsBytes))
        facts.add("  pending", Wording.size(pendingBytes))
        facts.add("  staging", Wording.size(stagingBytes))
        facts.add("low watermark", Wording.size(lowWatermarkBytes))
        facts.add("on disk", "\(Wording.size(allocatedBytes)), \(Wording.size(walBytes)) of it the index's log")
        facts.add("oldest access", oldestAccess.map { Wording.age(of: $0.date) })
        facts.add("newest access", newestAccess.map { Wording.age(of: $0.date) })
        facts.add("schema", "version \(schemaVersion)")
        facts.add("address guard", guardDescription)
        return facts.text
    }

    private var share: String {
        budgetBytes > 0 ? String(format: " (%.0f %%)", 100 * Double(cachesBytes) / Double(budgetBytes)) : ""
    }
}

extension LastSync {
    var json: JSON {
        .object([
            "time": JSON(time),
            "seconds": .number((seconds * 1000).rounded() / 1000),
            "exit": JSON(Int(outcome.exitCode.rawValue)),
            "wanted": JSON(wanted),
            "failed": JSON(failed),
            "skipped": JSON(skipped),
        ])
    }

    /// `3 min ago, exit code 69: 7 wanted, 0 failed, 7 skipped`.
    fileprivate var text: String {
        let counts = "\(wanted) wanted, \(failed) failed, \(skipped) skipped"
        return "\(Wording.age(of: time.date)), exit code \(outcome.exitCode.rawValue): \(counts)"
    }

    fileprivate var colour: Colour? {
        switch outcome {
        case .complete: nil
        case .incomplete, .interrupted: .magenta
        case .unreached, .failed: .red
        }
    }
}
