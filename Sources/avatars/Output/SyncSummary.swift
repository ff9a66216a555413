import ArgumentParser
import AvatarStore
import Foundation

/// What a sync did, or with `--dry-run` would do, as it is printed.
struct SyncSummary {
    private var report: SyncReport
    /// Images that would be fetched and revalidated; `nil` after a real sync.
    private var wouldAsk: (toFetch: Int, toRevalidate: Int)?

    init(_ report: SyncReport) {
        self.report = report
    }

    /// What would be asked for counts as skipped: the sum stays that of the wanted images.
    init(_ preview: SyncPreview) {
        report = SyncReport()
        report.contacts = preview.contacts
        report.duplicates = preview.duplicates
        report.duplicateContacts = preview.duplicateContacts
        report.hasKeptLeavers = preview.hasKeptLeavers
        report.withoutImage = preview.withoutImage
        report.unreadable = preview.unreadable
        report.saved = preview.saved
        report.unlinked = preview.unlinked
        report.fresh = preview.fresh
        report.failed = preview.failed
        report.failures = preview.failures
        report.skipped = preview.skipped + preview.toFetch + preview.toRevalidate
        report.skippedBy = preview.skippedBy
        wouldAsk = (preview.toFetch, preview.toRevalidate)
    }

    /// The exit code of the sync. A dry run, which asks no host, fails only for what it read.
    var exitCode: ExitCode {
        guard wouldAsk != nil else { return report.outcome.exitCode }
        return report.failed > 0 || report.unreadable > 0 ? .someFailed : .success
    }

    /// Whether no contact was unlinked although that was asked for.
    var hasKeptLeavers: Bool { report.hasKeptLeavers }

    // MARK: For machines

    var json: JSON {
        var fields: [String: JSON] = [
            "contacts": JSON(report.contacts),
            "withoutImage": JSON(report.withoutImage),
            "unreadable": JSON(report.unreadable),
            "duplicates": JSON(report.duplicates),
            "saved": JSON(report.saved),
            "unlinked": JSON(report.unlinked),
            "wanted": JSON(report.wanted),
            "fresh": JSON(report.fresh),
            "fetched": JSON(report.fetched),
            "unstored": JSON(report.unstored),
            "notModified": JSON(report.notModified),
            "changed": JSON(report.changed),
            "failed": JSON(report.failed),
            "skipped": JSON(report.skipped),
            "skippedBy": report.skippedBy.json,
            "pausedHosts": report.skippedBy.pausedHostsJSON,
            "overBudget": JSON(report.overBudget),
            "evicted": JSON(report.evicted),
            "requests": JSON(report.requests),
            "bytesReceived": JSON(report.bytesReceived),
            "seconds": .number((report.seconds * 1000).rounded() / 1000),
            "failures": .array(report.failures.map(Self.json)),
        ]
        if let wouldAsk {
            fields["toFetch"] = JSON(wouldAsk.toFetch)
            fields["toRevalidate"] = JSON(wouldAsk.toRevalidate)
        }
        return .object(fields)
    }

    private static func json(_ failure: SyncReport.Failure) -> JSON {
        .object([
            "key": JSON(failure.key), "kind": JSON(failure.kind.rawValue), "message": JSON(failure.message),
            "contact": JSON(failure.contact), "list": JSON(failure.list), "line": JSON(failure.line),
        ])
    }

    // MARK: For people

    /// The counts that are not zero.
    var text: String {
        var facts = Facts()
        addContacts(to: &facts)
        facts.add("images", "\(report.wanted)")
        addIfAny(report.fetched, "  fetched", "\(report.fetched)\(changes), \(traffic)", .green, to: &facts)
        if let wouldAsk {
            facts.add("  to fetch", "\(wouldAsk.toFetch)")
            facts.add("  to revalidate", "\(wouldAsk.toRevalidate)")
        }
        addIfAny(report.notModified, "  not modified", "\(report.notModified)", .green, to: &facts)
        addIfAny(report.fresh, "  fresh", "\(report.fresh)", .green, to: &facts)
        let skipped = report.skipped - (wouldAsk.map { $0.toFetch + $0.toRevalidate } ?? 0)
        addIfAny(skipped, "  skipped", "\(skipped): \(report.skippedBy.reasons)", .magenta, to: &facts)
        for line in report.skippedBy.pauses { facts.add("", line, .magenta) }
        addIfAny(report.overBudget, "  over budget", "\(report.overBudget)", .magenta, to: &facts)
        addIfAny(report.failed, "  failed", "\(report.failed)", .red, to: &facts)
        addIfAny(report.evicted, "evicted", Wording.count(report.evicted, "file"), nil, to: &facts)
        if wouldAsk == nil { facts.add("took", String(format: "%.1f s", report.seconds)) }
        return facts.text
    }

    private func addContacts(to facts: inout Facts) {
        guard report.contacts + report.unreadable > 0 else { return }
        let remarks = [(report.withoutImage, "without an image"), (report.unreadable, "unreadable")]
            .filter { $0.0 > 0 }.map { ", \($0.0) \($0.1)" }
        facts.add("contacts", "\(report.contacts)" + remarks.joined())
        addIfAny(report.duplicates, "duplicates", Wording.count(report.duplicates, "record"), nil, to: &facts)
        addIfAny(report.saved, "saved", Wording.count(report.saved, "photo"), nil, to: &facts)
        addIfAny(report.unlinked, "unlinked", Wording.count(report.unlinked, "contact"), nil, to: &facts)
    }

    private func addIfAny(_ count: Int, _ name: String, _ value: String, _ colour: Colour?, to facts: inout Facts) {
        if count > 0 { facts.add(name, value, colour) }
    }

    private var changes: String {
        [(report.changed, "changed"), (report.unstored, "not stored")].filter { $0.0 > 0 }
            .map { ", \($0.0) \($0.1)" }.joined()
    }

    private var traffic: String {
        "\(Wording.size(report.bytesReceived)) in \(Wording.count(report.requests, "request"))"
    }

    // MARK: On standard error

    /// The most failures that are named for people.
    private static let namedFailures = 10

    /// Names what failed; the first of them, if there are many. Addresses that may not be contacted are one error, as one
    /// option allows them all.
    ///
    /// - Parameter allowsPrivateNetwork: whether that option was given already.
    func reportFailures(allowsPrivateNetwork: Bool) {
        let refused = report.failures.filter { $0.kind == .forbiddenAddress }
        for failure in report.failures.lazy.filter({ $0.kind != .forbiddenAddress }).prefix(Self.namedFailures) {
            Message.error(Self.sentence(failure))
        }
        let rest = report.failed + report.unreadable - refused.count - Self.namedFailures
        if rest > 0 {
            Message.error("… and \(rest) more; --json names up to \(SyncReport.largestFailureCount).")
        }
        guard let first = refused.first else { return }
        let isCutShort = report.failures.count == SyncReport.largestFailureCount
        let count = "\(isCutShort ? "at least " : "")\(refused.count) images, the first: "
        let advice = allowsPrivateNetwork ? "" : " --allow-private-network allows it."
        Message.error("\(first.kind): \(refused.count > 1 ? count : "")\(first.message)\(advice)")
    }

    private static func sentence(_ failure: SyncReport.Failure) -> String {
        "\(failure.kind)\(failure.contact.map { " (contact \($0))" } ?? ""): \(failure.message)"
    }

    /// Says what is no fault and still worth knowing.
    func reportWarnings() {
        if report.duplicates > 0 { Message.warning(duplicateWarning) }
        if report.overBudget > 0 {
            let what = Wording.count(report.overBudget, "image")
            Message.warning("No room within the budget for \(what); avatars config budget shows and sets it.")
        }
    }

    private var duplicateWarning: String {
        let contacts = report.duplicateContacts.map { duplicate in
            // In a list of URLs a contact's id is its URL.
            let isURL = duplicate.contact.contains("://")
            let id = "\"\((isURL ? AvatarKey.redact(duplicate.contact) : duplicate.contact).prefix(80))\""
            guard !duplicate.places.isEmpty else { return id }
            return "\(id) (\(duplicate.places.map(\.description).joined(separator: ", ")))"
        }
        let isCut = report.duplicateContacts.count == SyncReport.largestDuplicateCount
        return """
            Contacts with more than one record: \(contacts.joined(separator: ", "))\(isCut ? " and perhaps others" : ""). The last \
            record of each counts; \(Wording.count(report.duplicates, "other record")) \
            \(report.duplicates == 1 ? "was" : "were") not used.
            """
    }
}
