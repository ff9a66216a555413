import AvatarCore
import HTTPTypes

/// Requests to the server: a target, then fields with preconditions and ranges, one a line.
///
/// The sources of the parsers are symbolic links into `AvatarStoreHTTP`, whose other files need a store.
enum RequestSubject {
    private static let now = Timestamp(milliseconds: 1_790_000_000_000)
    private static let etag = "\"0123456789abcdef\""

    static func check(_ input: [UInt8]) {
        let lines = input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard let first = lines.first else { return }
        check(target: String(decoding: first, as: UTF8.self))
        let names: [HTTPField.Name] = [.range, .ifNoneMatch, .ifRange, .ifModifiedSince]
        var fields = HTTPFields()
        for (name, line) in zip(names, lines.dropFirst()) where !line.isEmpty {
            // The field is kept as swift-http-types keeps one that a client sent.
            fields.append(HTTPField(name: name, value: line))
        }
        for length in [1, 4000, Int.max] { check(fields, length: length) }
    }

    private static func check(target text: String) {
        guard let target = RequestTarget(text) else { return }
        for part in target.segments + target.query.flatMap({ [$0.key, $0.value] }) {
            require(!part.utf8.contains(0), "a NUL in a decoded target")
        }
        let path = "/" + target.segments.map(RequestTarget.encoded).joined(separator: "/")
        let again = RequestTarget(path)
        require(again?.segments == target.segments, "segments that are not read as they were written")
        require(path.utf8.allSatisfy { (0x21...0x7e).contains($0) }, "a written target with an odd character")
    }

    private static func check(_ fields: HTTPFields, length: Int) {
        let conditions = Conditions(etag: etag, modified: now, length: length)
        switch conditions.part(fields, now: now) {
        case .range(let range):
            require(!range.isEmpty && range.lowerBound >= 0 && range.upperBound <= length, "a range out of bounds")
            require(fields[.range] != nil, "a range that no field asks for")
        case .unsatisfiable:
            require(fields[.range] != nil, "a refusal of a range that no field asks for")
        case .whole: break
        }
        var known = fields
        known[.ifNoneMatch] = fields[.ifNoneMatch] == nil ? etag : "\"x\", " + etag
        require(conditions.isNotModified(known, now: now), "a tag of a list that is not found")
        if fields[.ifNoneMatch] == nil, fields[.ifModifiedSince] == nil {
            require(!conditions.isNotModified(fields, now: now), "not modified without a condition")
        }
    }
}
