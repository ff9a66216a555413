package import HTTPTypes

/// What is kept of a response besides its body: enough to judge its freshness and to ask whether it changed.
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

    private static let keptNames: Set = ["cache-control", "expires", "date", "age", "vary", "pragma"]

    /// What is kept of a response with `status` and `fields`. Of several validators of a kind the first is kept.
    package init(status: Int, fields: HTTPFields, requestTime: Timestamp, responseTime: Timestamp) {
        etag = Self.first(.eTag, in: fields)
        lastModified = Self.first(.lastModified, in: fields)
        self.fields = HTTPFields(fields.filter { Self.keptNames.contains($0.name.canonicalName) })
        self.status = status
        self.requestTime = requestTime
        self.responseTime = responseTime
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
        fields = HTTPFields(encodedFields.split(separator: "\n").compactMap(Self.field))
        self.status = status
        self.requestTime = requestTime
        self.responseTime = responseTime
    }

    /// `fields` as one text, a `name: value` a line, names in lower case.
    package var encodedFields: String {
        fields.map { "\($0.name.canonicalName): \($0.value)" }.joined(separator: "\n")
    }

    private static func field(line: Substring) -> HTTPField? {
        guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")),
            let name = HTTPField.Name(String(line[..<colon])), keptNames.contains(name.canonicalName)
        else { return nil }
        return HTTPField(name: name, value: String(Substring(line.utf8[colon...].dropFirst())))
    }

    static func first(_ name: HTTPField.Name, in fields: HTTPFields) -> String? {
        fields[values: name].first { !$0.isEmpty }
    }
}
