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
        ])
    }

    var text: String {
        var facts = Facts()
        facts.add("entries", "\(entries), of \(Wording.count(hosts, "host"))")
        for state in EntryState.allCases {
            if let count = states[state.rawValue] { facts.add("  \(state.rawValue)", "\(count)", state.colour) }
        }
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
