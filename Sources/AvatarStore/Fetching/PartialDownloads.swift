import AvatarCore
import AvatarFiles
import AvatarIndex
import Logging

/// Downloads that were interrupted, and go on where they stopped when somebody asks for the image again.
///
/// The row comes before the file gets its place, so that no file lies there without one; a row without its file says
/// nothing. Who has the lease of a key has its partial download too.
struct PartialDownloads: Sendable {
    /// Less is fetched again as quickly as it is asked for.
    static let fewestBytes = 1024
    /// From here on a download is kept while it goes on: even `kill -9` does not undo it.
    static let earlyBytes = 256 << 10

    let index: AvatarIndex
    let places: StorePlaces
    let writer: StoreWriter
    let clock: any WallClock
    let logger: Logger

    /// What is there of the image that `target` asks for; `nil` if it has to be asked for in full.
    func find(_ target: FetchTarget) async throws -> Found? {
        guard let record = try index.partialDownload(of: target.key) else { return nil }
        if record.storageClass == target.storageClass, !target.isUnconditional,
            let file = try places.files(of: record.storageClass).resume(record.name),
            let part = PartialDownload(etag: record.etag, length: Int64(file.byteCount), total: record.totalBytes),
            let plan = ResumePlan(part)
        {
            return Found(record: record, file: file, plan: plan)
        }
        try await writer.dropPartials([record])
        return nil
    }

    struct Found {
        let record: PartialRecord
        let file: StagedFile
        let plan: ResumePlan
    }

    /// Keeps what has come of `target`, if it can be continued. That it could not be kept is no fault of the fetch.
    ///
    /// - Parameter url: where it came from.
    /// - Parameter name: what the file is kept as already.
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
            if name == nil { try places.files(of: file.storageClass).keep(file, as: record.name) }
            return record.name
        } catch {
            logger.warning("a download that broke off could not be kept", metadata: ["error": "\(error)"])
            return name
        }
    }

    /// Throws away what was kept.
    func drop(_ found: Found) async throws {
        found.file.discard()
        try await writer.dropPartials([found.record])
    }
}
