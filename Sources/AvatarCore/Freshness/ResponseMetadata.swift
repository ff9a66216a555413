package import HTTPTypes

/// What is kept of a response besides its body: enough to judge its freshness and to ask whether it changed.
///
/// RFC 9111 section 3.1 wants all header fields kept, so that a cache can send them on. This one hands out images, not
/// responses: what nothing follows from, such as Set-Cookie, is not kept.
package struct ResponseMetadata: Hashable, Sendable {
    /// The ETag field, verbatim.
    package var etag: String?
    /// The Last-Modified field, verbatim.
    package var lastModified: String?
    /// The lines of the fields that freshness depends on, in the order they came.
    package var fields: HTTPFields
    package var status: Int
    /// When the request was sent.
    package var requestTime: Timestamp
    /// When the response's head arrived.
    package var responseTime: Timestamp
    /// What the request said in the fields that Vary names; `nil` if Vary names none, or it is not known. Such requests
    /// were all alike.
    package var selection: VarySelection?
    /// `nil` if the response came from the very URL that was asked for.
    package var redirection: Redirection?

    private static let keptNames: [String: HTTPField.Name] = {
        let names: [HTTPField.Name?] = [.cacheControl, .expires, .date, .age, .vary, HTTPField.Name("pragma")]
        return Dictionary(uniqueKeysWithValues: names.compactMap { $0 }.map { ($0.canonicalName, $0) })
    }()

    /// What is kept of a response with `status` and `fields`. Of several validators of a kind the first is kept.
    ///
    /// - Parameter request: the fields of the request, if they are known.
    /// - Parameter redirection: where redirects have led.
    package init(
        status: Int,
        fields: HTTPFields,
        requestTime: Timestamp,
        responseTime: Timestamp,
        request: @autoclosure () -> HTTPFields? = nil,
        redirection: Redirection? = nil
    ) {
        etag = Self.first(.eTag, in: fields)
        lastModified = Self.first(.lastModified, in: fields)
        self.fields = HTTPFields(fields.filter { Self.keptNames[$0.name.canonicalName] != nil })
        self.status = status
        self.requestTime = requestTime
        self.responseTime = responseTime
        selection = fields.contains(.vary) ? request().flatMap { VaryRule(fields).selection(of: $0) } : nil
        self.redirection = redirection
    }

    // MARK: As text

    /// What the index holds, where `encodedFields` was made by the property of that name.
    ///
    /// A line that cannot be read is passed over: the response is then judged as if the origin had said less.
    package init(
        etag: String?,
        lastModified: String?,
        encodedFields: String,
        status: Int = 200,
        requestTime: Timestamp,
        responseTime: Timestamp
    ) {
        self.etag = etag
        self.lastModified = lastModified
        let lines = encodedFields.utf8.split(separator: UInt8(ascii: "\n")).map { Substring($0) }
        fields = HTTPFields(lines.compactMap(Self.field))
        selection = VarySelection(lines: lines)
        redirection = Redirection(lines: lines)
        self.status = status
        self.requestTime = requestTime
        self.responseTime = responseTime
    }

    /// `fields` as one text, a `name: value` a line, names in lower case; then `selection` and `redirection`.
    package var encodedFields: String {
        let lines = fields.map { "\($0.name.canonicalName): \($0.value)" }
        let others = (selection?.lines ?? []) + (redirection.map { [$0.line] } ?? [])
        return (lines + others).joined(separator: "\n")
    }

    private static func field(line: Substring) -> HTTPField? {
        guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")), let name = keptNames[String(line[..<colon])]
        else { return nil }
        return HTTPField(name: name, value: String(Substring(line.utf8[colon...].dropFirst())))
    }

    static func first(_ name: HTTPField.Name, in fields: HTTPFields) -> String? {
        fields[values: name].first { !$0.isEmpty }
    }
}
