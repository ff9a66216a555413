import AvatarMaintenance
import AvatarStore

extension SharedTierReport {
    /// The result as `verify --shared --json` prints it.
    var json: JSON {
        .object([
            "records": JSON(records),
            "urls": JSON(urls),
            "pictures": JSON(images),
            "sampled": JSON(sampled),
            "claims": JSON(claims),
            "tombstones": JSON(tombstones),
            "machines": JSON(machines),
            "faults": .array(faults.map { .object(["kind": JSON($0.kind.rawValue), "key": JSON($0.key)]) }),
            "faultCount": JSON(faultCount),
            "repaired": JSON(repaired),
        ])
    }

    /// The result for people: a table of the faults, and the summary.
    var text: TerminalText {
        let table = Table(.left("FAULT"), .left("KEY"))
        let rows = faults.map { [Table.Cell($0.kind.rawValue, .red), Table.Cell($0.key)] }
        let listed = table.text(rows) + (rows.isEmpty ? "" : "\n")
        let unlisted = faultCount - faults.count
        let more: TerminalText = unlisted > 0 ? "… and \(Wording.count(unlisted, "more fault")).\n" : ""
        let found = faultCount == 0 ? "no faults" : "\(Wording.count(faultCount, "fault")), \(repaired) repaired"
        let checked = "\(Wording.count(urls, "URL")), \(Wording.count(images, "image")), \(sampled) read"
        return "\(listed)\(more)\(checked), \(Wording.count(machines, "machine")): \(found).\n"
    }
}
