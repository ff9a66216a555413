import AvatarCore
import AvatarFiles
import AvatarImages
import AvatarProviders
import HTTPTypes

// Receiving the bytes of an image.

extension Fetcher {
    /// Receives a whole image.
    ///
    /// - Throws: `FetchFailure` if the body is too large or not an image; `ImageRejection`; `OriginError` if the body
    ///   breaks off; `CancellationError`; an error of the disk.
    func receiveImage(
        _ response: OriginResponse,
        _ metadata: ResponseMetadata,
        for target: FetchTarget,
        counting tally: Tally
    ) async throws -> FetchResult.Content {
        let (body, isCoded) = imageBody(response, for: target, counting: tally)
        let length = response.head.fields[.contentLength].flatMap { Int($0) }
        if let length { try requireSize(length, target) }
        let file = try places.files(of: target.storageClass).staging.stage()
        // If the image must not be stored, no part of it may be (RFC 9111 section 5.2.2.5).
        let mayBeKept = !target.isTransient && limits.freshness.assess(metadata).allowsStore
        // The length 1 stands for any: the length is read from the file when the part is kept.
        let part =
            mayBeKept ? PartialDownload(status: response.head.status, fields: response.head.fields, length: 1) : nil
        let source = part.map { Part(of: $0, from: response.url(of: target)) }
        try await receive(
            body,
            status: response.head.status,
            into: file,
            of: isCoded ? nil : length,
            part: source,
            name: nil,
            for: target
        )
        return try image(file, metadata, for: target)
    }

    /// The whole that a file is the beginning of.
    private struct Part {
        /// The tag and the total length of the whole.
        let download: PartialDownload
        /// The URL that sent the file's bytes.
        let url: String

        init(of download: PartialDownload, from url: String) {
            self.download = download
            self.url = url
        }
    }

    /// Receives the missing bytes of an image of `total` bytes, and appends them to the stored part.
    ///
    /// - Throws: as `receiveImage`, and `FetchFailure` if fewer or more than `total` bytes arrive.
    func receiveRest(
        of total: Int64,
        _ partial: PartialDownloads.Found,
        _ response: OriginResponse,
        metadata: ResponseMetadata,
        for target: FetchTarget,
        counting tally: Tally
    ) async throws -> FetchResult.Content {
        try requireSize(Int(clamping: total), target)
        let file = partial.file
        let part = Part(of: partial.plan.partial, from: partial.record.url)
        let name = partial.record.name
        let (body, _) = imageBody(response, for: target, counting: tally)
        try await receive(
            body,
            status: response.head.status,
            into: file,
            of: Int(clamping: total),
            part: part,
            name: name,
            for: target
        )
        guard Int64(file.byteCount) == total else {
            try await partials.drop(partial)
            throw FetchFailure(
                kind: .truncated,
                message: "\(named(target)) declared an image of \(total) bytes, but \(file.byteCount) arrived."
            )
        }
        do {
            return try image(file, metadata, for: target)
        } catch {
            // The file is complete and not an image, so there is nothing to resume.
            try await partials.drop(partial)
            throw error
        }
    }

    /// Checks an image that arrived whole. It stays in memory until the writer publishes it.
    ///
    /// - Throws: `FetchFailure` if `body` is too large or cannot begin an image; `ImageRejection`.
    package func image(
        _ body: [UInt8],
        status: Int,
        _ metadata: ResponseMetadata,
        for target: FetchTarget
    ) throws -> FetchResult.Content {
        try requireSize(body.count, target)
        try requireImage(body, status: status, for: target)
        let source = ByteArraySource(body)
        progress.report(source, of: body.count, target.key)
        let image = StagedImage(body, as: try inspector.inspect(source), in: target.storageClass)
        return .image(image, AssessedResponse(metadata, under: limits.freshness))
    }

    /// Inspects a complete file.
    private func image(
        _ file: StagedFile,
        _ metadata: ResponseMetadata,
        for target: FetchTarget
    ) throws -> FetchResult.Content {
        let image = file.finish(as: try inspector.inspect(file))
        return .image(image, AssessedResponse(metadata, under: limits.freshness))
    }

    private var inspector: ImageInspector {
        ImageInspector(maximumPixels: limits.maximumPixels, allowsSVG: limits.allowsSVG)
    }

    /// Writes a body to `file`. If the body breaks off, the file is kept as a partial download.
    ///
    /// - Parameters:
    ///   - status: the status of the response, for a message.
    ///   - total: the size of the image in bytes; `nil` if the origin does not state it.
    ///   - part: the whole that the file is the beginning of; `nil` if a download could not be resumed.
    ///   - name: the name under which the file is kept already; `nil` if it is not.
    private func receive(
        _ body: OriginBody,
        status: Int,
        into file: StagedFile,
        of total: Int?,
        part: Part?,
        name: String?,
        for target: FetchTarget
    ) async throws {
        var name = name
        do {
            while let chunk = try await body.next() {
                try Task.checkCancellation()
                try requireSize(file.byteCount + chunk.count, target)
                if file.byteCount == 0 { try requireImage(chunk, status: status, for: target) }
                try file.write(chunk)
                progress.report(file, of: total, target.key)
                if name == nil, let part, file.byteCount >= PartialDownloads.earlyBytes {
                    name = await partials.keep(file, part.download, from: part.url, of: target, as: nil)
                }
            }
        } catch let error where error is CancellationError || error is OriginError {
            // The body broke off and was not refused, so the next fetch can resume it.
            if let part { _ = await partials.keep(file, part.download, from: part.url, of: target, as: name) }
            throw error
        }
    }

    /// Refuses a body whose first chunk cannot begin an image, before the rest is downloaded.
    private func requireImage(_ chunk: [UInt8], status: Int, for target: FetchTarget) throws {
        guard !ImageInspector.couldBeImage(prefix: chunk.prefix(1024)) else { return }
        let start = Self.excerpt(of: chunk).map { " (it starts with `\($0)`)" } ?? ""
        throw FetchFailure(
            kind: .notImage,
            message: "\(named(target)) returned \(status), but the body is not an image\(start)."
        )
    }

    /// The first characters of a body for a message: at most 12, printable ASCII only. A URL, a name or a value in the
    /// body may be confidential, so the excerpt ends where one could begin. `nil` without such characters.
    private static func excerpt(of body: [UInt8]) -> String? {
        let start = body.prefix(64).drop { $0 <= 0x20 }
        let text = start.prefix(12).prefix { (0x20..<0x7F).contains($0) && !"`:/@=".utf8.contains($0) }
        return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }

    /// - Throws: `FetchFailure` if `bytes` exceed `Setting.maximumImageBytes`.
    private func requireSize(_ bytes: Int, _ target: FetchTarget) throws {
        guard bytes > limits.maximumImageBytes else { return }
        throw FetchFailure.tooLarge(named(target), limit: limits.maximumImageBytes)
    }
}

extension FetchFailure {
    /// The image `name` is larger than `limit` bytes.
    static func tooLarge(_ name: String, limit: Int) -> FetchFailure {
        FetchFailure(
            kind: .tooLarge,
            message: "\(name) is larger than \(ByteSize.limit(limit)), the limit of the setting `max-image-bytes`."
        )
    }
}
