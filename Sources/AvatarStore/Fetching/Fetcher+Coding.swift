import AvatarCore
import AvatarImages

/// Bodies that came coded, although identity was asked for.
extension Fetcher {
    /// The body of `response` as the image's own bytes, and whether any coding was named.
    ///
    /// The first bytes decide: a coding that is only claimed is passed over.
    func imageBody(_ response: OriginResponse, _ target: FetchTarget, _ tally: Tally) -> (
        body: OriginBody, isCoded: Bool
    ) {
        let body = OriginBody {
            let chunk = try await response.body.next()
            tally.add(bytes: chunk?.count ?? 0)
            return chunk
        }
        let codings = response.fields.contentCodings
        guard !codings.isEmpty else { return (body, false) }
        let decoder = BodyDecoder(body, codings, limit: limits.maximumImageBytes, name: named(target))
        return (OriginBody { try await decoder.next() }, true)
    }
}

/// Undoes the codings of a body while it comes. The memory that it needs depends neither on the body nor on the image.
private final class BodyDecoder {
    private enum State {
        case undecided
        /// The first bytes, and then the body as it is.
        case plain([UInt8])
        /// The codings from the last that was applied to the first.
        case coded([Inflater])
    }

    private let body: OriginBody
    private let codings: [String]
    private let limit: Int
    private let name: String
    private var state = State.undecided
    private var received = 0

    /// As many bytes as tell an image from anything else.
    private static let prefixBytes = 1024
    /// More codings than this are not undone: each has a window of its own.
    private static let maximumCodings = 4

    init(_ body: OriginBody, _ codings: [String], limit: Int, name: String) {
        self.body = body
        self.codings = codings
        self.limit = limit
        self.name = name
    }

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
            return try await undo(inflaters[...])
        }
    }

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

    /// The next piece that the first of `inflaters` gives; those after it are applied inside of it.
    private func undo(_ inflaters: ArraySlice<Inflater>) async throws -> [UInt8]? {
        guard let last = inflaters.last else { return try await read() }
        while true {
            do {
                if let piece = try last.next() { return piece }
            } catch is Inflater.BadCoding {
                throw FetchFailure(
                    kind: .notImage,
                    message:
                        "\(name) returned a body that cannot be decoded as \(last.coding), the content coding that it names."
                )
            }
            guard !last.isAtEnd else { return nil }
            guard let coded = try await undo(inflaters.dropLast()) else {
                throw FetchFailure(
                    kind: .truncated,
                    message: "\(name): the body ends before its content coding \(last.coding) is complete."
                )
            }
            last.add(coded)
        }
    }

    /// The next piece as it came. Coded bytes need not give any others, so that they are bounded too.
    private func read() async throws -> [UInt8]? {
        guard let chunk = try await body.next() else { return nil }
        received += chunk.count
        guard received <= limit else { throw FetchFailure.tooLarge(name, limit: limit) }
        return chunk
    }
}
