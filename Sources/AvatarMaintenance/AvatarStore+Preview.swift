public import AvatarStore
import AvatarReports

/// The counts of a sync's plan: the result of a dry run.
///
/// It has the properties of a `SyncReport`, as far as a plan has them: images that would stay, photos that would be stored, contacts
/// that would be unlinked. Of the failures it has those that need no request. It looks up no names.
@dynamicMemberLookup
public struct SyncPreview: Sendable {
    private let plan: PlannedSync

    init(_ plan: PlannedSync) { self.plan = plan }

    /// Images that would be fetched for the first time, or again because their file is gone or the policy is `reload`.
    public var toFetch: Int { plan.toFetch }
    /// Images that would be revalidated.
    public var toRevalidate: Int { plan.toRevalidate }

    /// A count of the plan, by its name in a report.
    public subscript<Value>(dynamicMember member: KeyPath<SyncReport, Value>) -> Value { plan.report[keyPath: member] }

    /// The same counts as of a sync in which every image to request is skipped.
    package var asReport: SyncReport {
        var report = plan.report
        report.skipped += toFetch + toRevalidate
        return report
    }
}

extension SyncPreview: CustomStringConvertible {
    /// The counts that are not 0, on one line; with failures, a second line with their kinds and the first message. For
    /// logs: the text may change between versions.
    public var description: String {
        let report = plan.report
        let images = ReportText.counts([
            (report.fresh, "fresh"), (toFetch, "to fetch"), (toRevalidate, "to revalidate"),
            (report.failed, "cannot be fetched"), (report.skipped, "skipped"),
        ])
        let list = ReportText.counts([
            (report.contacts, "contacts"), (report.withoutImage, "without an image"), (report.unreadable, "unreadable"),
            (report.duplicates, "duplicates"), (report.saved, "photos to save"), (report.unlinked, "to unlink"),
            (report.removed, "images without a contact to remove"),
        ])
        return "sync plan: images: \(images); list: \(list)"
            + ReportText.failures(report.failures.map { ($0.kind, $0.message) })
    }
}

extension AvatarStore {
    /// The plan of a sync of `input`, without a request and without a change. Possible in a store that is open for reading
    /// only. Address books are not asked: the plan is that of the cards that the store knows.
    ///
    /// - Throws: `invalidConfiguration` for options outside their limits; an error of the list or the index;
    ///   `CancellationError`.
    public func syncPreview(
        _ input: SyncInput = .stored,
        options: SyncOptions = SyncOptions()
    ) async throws -> SyncPreview {
        SyncPreview(try await plannedSync(input, options: options))
    }
}
