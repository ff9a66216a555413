import AvatarCore
import AvatarImages
import AvatarProviders

// Decoding bodies that have a content coding, although the request asked for identity.

extension Fetcher {
    /// The body of `response` as the image's own bytes, and whether the response names a content coding.
    ///
    /// A coding that the response names but did not apply is ignored: the first bytes tell.
    ///
    /// - Parameter tally: counts the bytes before decoding.
    func imageBody(_ response: OriginResponse, for target: FetchTarget, counting tally: Tally) -> (
        body: OriginBody, isCoded: Bool
    ) {
        let body = OriginBody {
            let chunk = try await response.body.next()
            tally.add(bytes: chunk?.count ?? 0)
            return chunk
        }
        let codings = response.head.fields.contentCodings
        guard !codings.isEmpty else { return (body, false) }
        let decoder = BodyDecoder(body, codings, limit: limits.maximumImageBytes, name: named(target))
        return (OriginBody { try await decoder.next() }, true)
    }
}

/// Decodes a body while it is received. It needs bounded memory, whatever the size of the body or the image.
private final class BodyDecoder {
    private enum State {
        /// No byte was read yet.
        case undecided
        /// The body is not coded. The associated value holds its first bytes, read but not returned yet.
        case plain([UInt8])
        /// The body is coded: the decoders, in the order in which they are used. The coding applied last is decoded
        /// first (RFC 9110 section 8.4).
        case coded([Inflater])
    }

    private let body: OriginBody
    /// The codings in lower case, in the order in which they were applied.
    private let codings: [String]
    /// The maximum size in bytes, before decoding. `Fetcher` checks the size after it.
    private let limit: Int
    /// The redacted URL, for messages.
    private let name: String
    private var state = State.undecided
    /// Bytes received, before decoding.
    private var received = 0

    /// The number of bytes that decide whether the body is an image as it is.
    private static let prefixBytes = 1024
    /// The maximum number of codings to decode. Each needs a window of its own.
    private static let maximumCodings = 4

    /// A decoder of `body`.
    ///
    /// - Parameters:
    ///   - codings: the codings in lower case, in the order in which they were applied.
    ///   - limit: the maximum size in bytes, before decoding.
    ///   - name: the URL for messages.
    init(_ body: OriginBody, _ codings: [String], limit: Int, name: String) {
        (self.body, self.codings, self.limit, self.name) = (body, codings, limit, name)
    }

    /// The next bytes of the image; `nil` at the end.
    ///
    /// - Throws: `FetchFailure` if the body cannot be decoded, is too large or ends too early; any error of the body.
    func next() async throws -> [UInt8]? {
        switch state {
        case .undecided:
            try await decide()
            return try await next()
        case .plain(let prefix) where !prefix.isEmpty:
            state = .plain([])
            return prefix
        case .plain:
            return try await body.next()
        case .coded(let inflaters):
            return try await decode(inflaters[...])
        }
    }

    /// Reads the first bytes, and decides by them whether the body is coded.
    private func decide() async throws {
        var prefix: [UInt8] = []
        while prefix.count < Self.prefixBytes, let chunk = try await read() { prefix += chunk }
        if ImageInspector.couldBeImage(prefix: prefix.prefix(Self.prefixBytes)) {
            state = .plain(prefix)
            return
        }
        let names = codings.joined(separator: ", ").prefix(80)
        let inflaters = codings.count <= Self.maximumCodings ? codings.reversed().compactMap(Inflater.init) : []
        guard inflaters.count == codings.count, let outermost = inflaters.first else {
            throw FetchFailure(
                kind: .notImage,
                message: "\(name) returned the content coding \"\(names)\", which the store cannot decode."
                    + " It asked for identity and decodes gzip and deflate."
            )
        }
        outermost.add(prefix)
        state = .coded(inflaters)
    }

    /// The next bytes that the last of `inflaters` decodes. Its input is decoded by the ones before it.
    private func decode(_ inflaters: ArraySlice<Inflater>) async throws -> [UInt8]? {
        guard let last = inflaters.last else { return try await read() }
        while true {
            do {
                if let piece = try last.next() { return piece }
            } catch is Inflater.BadCoding {
                throw FetchFailure(
                    kind: .notImage,
                    message:
                        "\(name) named the content coding \(last.coding), but its body cannot be decoded as \(last.coding)."
                )
            }
            guard !last.isAtEnd else { return nil }
            guard let coded = try await decode(inflaters.dropLast()) else {
                throw FetchFailure(
                    kind: .truncated,
                    message: "\(name) returned a body that ends before its content coding \(last.coding) is complete."
                )
            }
            last.add(coded)
        }
    }

    /// The next bytes as received. Their number is limited too, because coded bytes may decode to none.
    private func read() async throws -> [UInt8]? {
        guard let chunk = try await body.next() else { return nil }
        received += chunk.count
        guard received <= limit else { throw FetchFailure.tooLarge(name, limit: limit) }
        return chunk
    }
}
