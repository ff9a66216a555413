import Foundation

/// A response as it came over a connection.
package struct HTTPReply: Sendable {
    package let version: String
    package let status: Int
    package let fields: [(name: String, value: String)]
    package let body: [UInt8]

    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The value of the first field `name`, whose case does not matter.
    package subscript(name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Whether the body is a problem in JSON (RFC 9457) for this status.
    package var isProblem: Bool {
        guard self["content-type"] == "application/problem+json", let object = try? object() else { return false }
        return object.number("status") == status && object.text("detail")?.isEmpty == false
    }

    /// The body as a JSON object.
    package func object() throws -> JSONObject { try JSONObject(text) }
}

extension RawConnection {
    /// No whole response came.
    package struct NoReply: Error {
        package let bytes: String
    }

    /// The next response. Bytes behind it must not have come yet.
    ///
    /// - Parameter isHead: whether the request was HEAD, so that no body follows.
    /// - Throws: `NoReply` if the connection ends before.
    package func reply(isHead: Bool = false) async throws -> HTTPReply {
        try await replies(1, isHead: isHead)[0]
    }

    /// The next `count` responses.
    package func replies(_ count: Int, isHead: Bool = false) async throws -> [HTTPReply] {
        var bytes: [UInt8] = []
        var replies: [HTTPReply] = []
        while replies.count < count {
            let more = try await read()
            bytes += more
            while let (reply, rest) = HTTPReply.parse(bytes, isHead: isHead, isEnd: more.isEmpty) {
                replies.append(reply)
                bytes = rest
                if bytes.isEmpty { break }
            }
            if more.isEmpty, replies.count < count { throw NoReply(bytes: String(decoding: bytes, as: UTF8.self)) }
        }
        return replies
    }

    /// Sends a request and returns its response.
    ///
    /// - Parameter fields: further lines of the head.
    package func ask(_ target: String, _ fields: [String] = [], method: String = "GET") async throws -> HTTPReply {
        await send(
            (["\(method) \(target) HTTP/1.1", "Host: localhost"] + fields + ["", ""]).joined(separator: "\r\n")
        )
        return try await reply(isHead: method == "HEAD")
    }
}

extension HTTPReply {
    /// The first response in `bytes` and the bytes behind it; `nil` if it is not complete.
    ///
    /// - Parameter isEnd: whether the connection has ended, which ends a body without a length.
    package static func parse(_ bytes: [UInt8], isHead: Bool, isEnd: Bool) -> (HTTPReply, [UInt8])? {
        guard let end = Data(bytes).range(of: Data("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let start = lines[0].split(separator: " ", maxSplits: 2)
        guard start.count >= 2, let status = Int(start[1]) else { return nil }
        let fields = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            return (name: String(parts[0]), value: parts.dropFirst().joined().trimmingCharacters(in: .whitespaces))
        }
        func value(_ name: String) -> String? { fields.first { $0.name.lowercased() == name }?.value }
        let rest = Array(bytes[end.upperBound...])
        func made(_ body: [UInt8], _ rest: [UInt8]) -> (HTTPReply, [UInt8]) {
            (HTTPReply(version: String(start[0]), status: status, fields: fields, body: body), rest)
        }
        if isHead || status == 304 || status == 204 || status < 200 { return made([], rest) }
        if let length = value("content-length").flatMap(Int.init) {
            return rest.count < length ? nil : made(Array(rest[..<length]), Array(rest[length...]))
        }
        if value("transfer-encoding") == "chunked" { return chunks(rest).map(made) }
        return isEnd ? made(rest, []) : nil
    }

    /// The content of the chunks at the beginning of `bytes`, and what is behind them; `nil` if they are not complete.
    private static func chunks(_ bytes: [UInt8]) -> ([UInt8], [UInt8])? {
        var (content, rest) = ([UInt8](), bytes[...])
        while let end = Data(rest).range(of: Data("\r\n".utf8)) {
            guard let size = Int(String(decoding: rest.prefix(end.lowerBound), as: UTF8.self), radix: 16) else {
                return nil
            }
            rest = rest.dropFirst(end.upperBound)
            guard rest.count >= size + 2 else { return nil }
            content += rest.prefix(size)
            rest = rest.dropFirst(size + 2)
            if size == 0 { return (content, Array(rest)) }
        }
        return nil
    }
}
