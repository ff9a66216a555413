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
        report.withoutImage = preview.withoutImage
        report.unreadable = preview.unreadable
        report.saved = preview.saved
        report.unlinked = preview.unlinked
        report.fresh = preview.fresh
        report.failed = preview.failed
        report.failures = preview.failures
        report.skipped = preview.skipped + preview.toFetch + preview.toRevalidate
        wouldAsk = (preview.toFetch, preview.toRevalidate)
    }

    /// Whether something could not be had, or the network was not there.
    var isIncomplete: Bool {
        report.failed > 0 || report.unreadable > 0 || isOffline
    }

    private var isOffline: Bool {
        report.failures.contains { $0.key == nil && $0.kind == .offline }
    }

    // MARK: For machines

    var json: JSON {
        var fields: [String: JSON] = [
            "contacts": JSON(report.contacts),
            "withoutImage": JSON(report.withoutImage),
            "unreadable": JSON(report.unreadable),
            "saved": JSON(report.saved),
            "unlinked": JSON(report.unlinked),
            "wanted": JSON(report.wanted),
            "fresh": JSON(report.fresh),
            "fetched": JSON(report.fetched),
            "notModified": JSON(report.notModified),
            "changed": JSON(report.changed),
            "failed": JSON(report.failed),
            "skipped": JSON(report.skipped),
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
        .object(["key": JSON(failure.key), "kind": JSON(failure.kind.rawValue), "message": JSON(failure.message)])
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
        addIfAny(
            skipped,
            "  skipped",
            "\(skipped) (\(report.wasCancelled ? "interrupted, " : "")backing off, host blocked, offline or over a limit)",
            .magenta,
            to: &facts
        )
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
        addIfAny(report.saved, "saved", Wording.count(report.saved, "photo"), nil, to: &facts)
        addIfAny(report.unlinked, "unlinked", Wording.count(report.unlinked, "contact"), nil, to: &facts)
    }

    private func addIfAny(_ count: Int, _ name: String, _ value: String, _ colour: Colour?, to facts: inout Facts) {
        if count > 0 { facts.add(name, value, colour) }
    }

    private var changes: String {
        report.changed > 0 ? ", \(report.changed) changed" : ""
    }

    private var traffic: String {
        "\(Wording.size(report.bytesReceived)) in \(Wording.count(report.requests, "request"))"
    }

    // MARK: On standard error

    /// The most failures that are named for people.
    private static let namedFailures = 10

    /// Names what failed; the first of them, if there are many.
    func reportFailures() {
        for failure in report.failures.prefix(Self.namedFailures) {
            Message.error("\(failure.kind): \(failure.message)")
        }
        let rest = report.failed + report.unreadable - Self.namedFailures
        if rest > 0 {
            Message.error("… and \(rest) more; --json names up to \(SyncReport.largestFailureCount).")
        }
    }

    /// Says what is no fault and still worth knowing.
    func reportWarnings() {
        if report.overBudget > 0 {
            let what = Wording.count(report.overBudget, "image")
            Message.warning("No room within the budget for \(what); avatars config budget shows and sets it.")
        }
    }
}
