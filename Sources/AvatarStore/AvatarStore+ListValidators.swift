import AvatarCore
import AvatarFiles
import AvatarIndex
import AvatarReports

/// The validators of a list at a URL (RFC 9110 section 8.8).
package struct ListValidators: Sendable, Hashable {
    /// The `ETag` as the server sent it.
    package var etag: String?
    /// The `Last-Modified` as the server sent it.
    package var lastModified: String?

    /// Validators with these values; `nil` without any.
    package init?(etag: String?, lastModified: String?) {
        guard etag != nil || lastModified != nil else { return nil }
        (self.etag, self.lastModified) = (etag, lastModified)
    }
}

/// Lists at URLs that are read again only if they have changed. The validators are kept as the state of a book of the list.
extension AvatarStore {
    /// The validators of the list `name` as it was synced last, if another sync of the same list would change nothing: it was read in the
    /// same way, all of it was done, and nothing of it was removed since. Otherwise `nil`.
    ///
    /// - Parameter form: how the list is read.
    /// - Throws: an error of the index.
    package func validators(ofList name: String, readAs form: String) throws -> ListValidators? {
        guard let source = try index.source(named: name), let token = try index.books(of: source.id).first?.token else {
            return nil
        }
        let lines = token.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard source.kind == 0, lines.count == 3, lines[0] == (try state(of: source, readAs: form)) else { return nil }
        return ListValidators(
            etag: lines[1].isEmpty ? nil : lines[1],
            lastModified: lines[2].isEmpty ? nil : lines[2]
        )
    }

    /// Keeps the validators of the list `name`, which a sync has read, if the sync has done all of it.
    ///
    /// - Parameters:
    ///   - form: how the list was read.
    ///   - report: that of the sync.
    /// - Throws: an error of the index or the disk.
    package func keep(
        _ validators: ListValidators?,
        ofList name: String,
        readAs form: String,
        after report: SyncReport
    ) async throws {
        guard let validators, report.hasDoneAll, try index.volatileQueries().isEmpty,
            let source = try index.source(named: name), source.kind == 0
        else { return }
        let state = try state(of: source, readAs: form)
        let token = [state, validators.etag ?? "", validators.lastModified ?? ""].joined(separator: "\n")
        try await requireWritable().writer.write { transaction in
            let book = try transaction.book(at: Self.listPath, of: source.id)
            try transaction.setToken(token, of: book.id)
        }
    }

    /// The number of contacts that the list `name` names.
    package func contactCount(ofList name: String) throws -> Int {
        try index.source(named: name).map(index.contactCount) ?? 0
    }

    /// The path of the book that keeps the validators.
    private static let listPath = "list"

    /// A digest of all that decides what a sync of the list would do, besides the list.
    private func state(of source: SourceRecord, readAs form: String) throws -> String {
        let settings = try [Setting.keepNames, .keepAddresses, .keepUnlinked].map { try index.value(of: $0) }
        let ignored = try index.ignoredDigests().count
        let text = "\(form) \(settings) \(ignored) \(try index.counts(besides: source))"
        return Hexadecimal.text(ContentDigest.sha256(Array(text.utf8)).prefix(16))
    }
}

extension SyncReport {
    /// Whether another sync of the same list would have nothing to do until images are due: the index has all of it.
    fileprivate var hasDoneAll: Bool {
        !wasCancelled && !ranOutOfTime && failed + unreadable + overBudget + unstored + keptLeavers == 0
            && !hasKeptLeavers
            && skipped == skippedBy.backoff && details.queryClashes.isEmpty
    }
}
