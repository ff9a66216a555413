import AvatarCore
import AvatarFiles
import AvatarImages
import HTTPTypes

/// The bytes of an image, as they arrive.
extension Fetcher {
    /// Receives a whole image.
    func receiveImage(
        _ response: OriginResponse,
        _ metadata: ResponseMetadata,
        _ target: FetchTarget,
        _ tally: Tally
    ) async throws -> FetchResult.Content {
        let (body, isCoded) = imageBody(response, target, tally)
        let length = response.fields[.contentLength].flatMap { Int($0) }
        if let length { try requireSize(length, target) }
        let file = try places.files(of: target.storageClass).stage()
        // Where nothing may be stored, no part of it may be either (RFC 9111 section 5.2.2.5).
        let mayBeKept = !target.isTransient && limits.freshness.assess(metadata).allowsStore
        // The length is set as the bytes come.
        let part = mayBeKept ? PartialDownload(status: response.status, fields: response.fields, length: 1) : nil
        let source = part.map { Part(of: $0, from: response.url(of: target)) }
        try await receive(body, into: file, of: isCoded ? nil : length, source, nil, target)
        return try image(file, metadata, target)
    }

    /// What a file is the beginning of.
    private struct Part {
        let download: PartialDownload
        let url: String

        init(of download: PartialDownload, from url: String) {
            self.download = download
            self.url = url
        }
    }

    /// Receives what is missing of an image of `total` bytes.
    func receiveRest(
        of total: Int64,
        _ partial: PartialDownloads.Found,
        _ response: OriginResponse,
        _ metadata: ResponseMetadata,
        _ target: FetchTarget,
        _ tally: Tally
    ) async throws -> FetchResult.Content {
        try requireSize(Int(clamping: total), target)
        let file = partial.file
        let part = Part(of: partial.plan.partial, from: partial.record.url)
        let name = partial.record.name
        let (body, _) = imageBody(response, target, tally)
        try await receive(body, into: file, of: Int(clamping: total), part, name, target)
        guard Int64(file.byteCount) == total else {
            try await partials.drop(partial)
            throw FetchFailure(
                kind: .truncated,
                message: "\(named(target)) said that the image has \(total) bytes, and sent \(file.byteCount)."
            )
        }
        do {
            return try image(file, metadata, target)
        } catch {
            // What is no image when it is complete will not become one.
            try await partials.drop(partial)
            throw error
        }
    }

    private func image(
        _ file: StagedFile,
        _ metadata: ResponseMetadata,
        _ target: FetchTarget
    ) throws -> FetchResult.Content {
        let inspector = ImageInspector(maximumPixels: limits.maximumPixels, allowsSVG: allowsSVG)
        let image = file.finish(as: try inspector.inspect(file))
        return .image(image, metadata, mayBeStored: limits.freshness.assess(metadata).allowsStore)
    }

    /// - Parameter total: the bytes of the image, if the origin says so.
    /// - Parameter part: what the file is the beginning of; `nil` if it could not be continued.
    /// - Parameter name: what the file is kept as already.
    private func receive(
        _ body: OriginBody,
        into file: StagedFile,
        of total: Int?,
        _ part: Part?,
        _ name: String?,
        _ target: FetchTarget
    ) async throws {
        var name = name
        do {
            while let chunk = try await body.next() {
                try Task.checkCancellation()
                try requireSize(file.byteCount + chunk.count, target)
                try requireImage(chunk, file, target)
                try file.write(chunk)
                progress.report(file, of: total, target.key)
                if name == nil, let part, file.byteCount >= PartialDownloads.earlyBytes {
                    name = await partials.keep(file, part.download, from: part.url, of: target, as: nil)
                }
            }
        } catch let error where error is CancellationError || error is OriginError {
            // Cut off, and not refused: the next fetch goes on from here.
            if let part { _ = await partials.keep(file, part.download, from: part.url, of: target, as: name) }
            throw error
        }
    }

    /// The first bytes decide, before the rest is paid for.
    private func requireImage(_ chunk: [UInt8], _ file: StagedFile, _ target: FetchTarget) throws {
        guard file.byteCount == 0, !ImageInspector.couldBeImage(prefix: chunk.prefix(1024)) else { return }
        throw FetchFailure(
            kind: .notImage,
            message: "\(named(target)) answered with something that is no image."
        )
    }

    private func requireSize(_ bytes: Int, _ target: FetchTarget) throws {
        guard bytes > limits.maximumImageBytes else { return }
        throw FetchFailure.tooLarge(named(target), limit: limits.maximumImageBytes)
    }
}

extension FetchFailure {
    /// The image `name` is larger than `limit` bytes.
    static func tooLarge(_ name: String, limit: Int) -> FetchFailure {
        FetchFailure(kind: .tooLarge, message: "\(name) is larger than \(limit) bytes, the limit for one image.")
    }
}
