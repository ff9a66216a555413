import AvatarCore
import AvatarFiles
import AvatarIndex
import AvatarWriter
import Logging

/// Interrupted downloads, kept so that the next fetch of the image resumes them.
///
/// The row is written before the file gets its name, so that no such file is without a row. A row without a file is
/// ignored. The holder of the lease of a key owns its partial download too.
struct PartialDownloads: Sendable {
    /// The minimum size to keep, in bytes. Fetching less again takes no longer than resuming it.
    static let fewestBytes = 1024
    /// The size in bytes at which a running download is kept, so that even `kill -9` does not lose it.
    static let earlyBytes = 256 << 10

    /// Lists the partial downloads.
    package let index: AvatarIndex
    /// Holds their files, beside the staged ones.
    package let places: StorePlaces
    /// Writes and removes their rows.
    package let writer: StoreWriter
    /// Dates each partial download; old ones are removed first.
    package let clock: any WallClock
    /// Receives the errors of keeping one, which fail no fetch.
    let logger: Logger

    /// The partial download of the image of `target`; `nil` if the whole image has to be requested.
    ///
    /// A partial download that cannot be resumed is dropped.
    ///
    /// - Throws: an error of the index or the disk.
    func find(_ target: FetchTarget) async throws -> Found? {
        guard let record = try index.partialDownload(of: target.key) else { return nil }
        // After a failed synchronization its bytes may be others, and no digest would tell it.
        if record.storageClass == target.storageClass, !target.isUnconditional, try !BootRecord.hasFailed(in: index),
            let file = try places.files(of: record.storageClass).staging.resume(record.name),
            let part = PartialDownload(etag: record.etag, length: Int64(file.byteCount), total: record.totalBytes),
            let plan = ResumePlan(part)
        {
            return Found(record: record, file: file, plan: plan)
        }
        try await writer.dropPartials([record])
        return nil
    }

    /// A partial download that can be resumed.
    struct Found {
        /// Its row: name, tag and URL.
        let record: PartialRecord
        /// The file with the bytes received so far. The rest is appended to it.
        let file: StagedFile
        /// The request for the rest.
        let plan: ResumePlan
    }

    /// Keeps the bytes received so far for the image of `target`. An error is logged and does not fail the fetch.
    ///
    /// - Parameters:
    ///   - file: the staged file with the bytes.
    ///   - part: the tag and the total length that its rest must have.
    ///   - url: the URL of the response, after redirects.
    ///   - name: the name under which the file is kept already; `nil` if it is not.
    /// - Returns: the name under which the file is kept; `nil` if it is not.
    func keep(
        _ file: StagedFile,
        _ part: PartialDownload,
        from url: String,
        of target: FetchTarget,
        as name: String?
    ) async -> String? {
        guard file.byteCount >= Self.fewestBytes else { return name }
        let record = PartialRecord(
            key: target.key,
            storageClass: file.storageClass,
            name: name ?? Hexadecimal.random64(),
            url: url,
            etag: part.etag.text,
            sizeBytes: file.byteCount,
            totalBytes: part.total,
            updated: clock.now()
        )
        do {
            guard try await writer.keepPartial(record, isRefresh: target.isRefresh) else { return name }
            if name == nil { try places.files(of: file.storageClass).staging.keep(file, as: record.name) }
            return record.name
        } catch {
            logger.warning("cannot keep a partial download", metadata: ["error": "\(error)"])
            return name
        }
    }

    /// Deletes a partial download, file and row.
    ///
    /// - Throws: an error of the index or the disk.
    func drop(_ found: Found) async throws {
        found.file.discard()
        try await writer.dropPartials([found.record])
    }
}
