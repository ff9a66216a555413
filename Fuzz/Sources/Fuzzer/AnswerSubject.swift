import AvatarCore
import AvatarOrigin
import AvatarOriginRules
import AvatarProviders
import CAnswer
import CAvatarCurl
import HTTPTypes

/// Whole responses, from the status line to the body, and the decisions that the store derives from them.
///
/// The first byte of an input chooses the size of the pieces in which the body arrives, and whether it has a reader.
enum AnswerSubject {
    private static let limits = answer_limits(
        head_bytes: ResponseHeadLimits.maximumBytes,
        field_count: CInt(ResponseHeadLimits.maximumFieldCount),
        interim_count: CInt(ResponseHeadLimits.maximumInterimCount),
        body_bytes: OriginArrival.wholeBodyLimit,
        drained_bytes: 16_384
    )

    static func check(_ input: [UInt8]) {
        guard let first = input.first else { return }
        let piece = 1 << Int(first & 15)
        var result = answer()
        let hasRead = input.withUnsafeBufferPointer { bytes in
            let rest = UnsafeBufferPointer(rebasing: bytes.dropFirst())
            return answer_read(rest.baseAddress, rest.count, piece, first & 16 != 0, limits, &result)
        }
        require(hasRead, "no memory for a response")
        require(result.body_size <= OriginArrival.wholeBodyLimit + piece, "more of a body in memory than the limit")
        require(result.field_count <= limits.field_count + 1, "more fields than the limit")
        guard result.is_head_complete else { return }
        require((200...999).contains(result.status), "an impossible status of a final response")
        if result.has_length { require(result.length < UInt64(Int64.max), "an impossible length") }
        // A refused response gets no further.
        guard result.refusal == AVATAR_NOT_REFUSED || Int(result.refusal) == AVATAR_DONE else { return }
        var reader = ResponseFields()
        let head = UnsafeBufferPointer(start: result.head, count: result.head_size)
        let (fields, location) = reader.read(head)
        // Read again from the fields that it keeps.
        let (again, sameLocation) = reader.read(head)
        require(fields == again && location == sameLocation, "a kept field is another one")
        check(Int(result.status), fields)
        if result.is_redirect, let location { checkRedirect(to: location, Int(result.status), fields) }
        for length in fields[values: .contentLength].flatMap({ $0.split(separator: ",") }) {
            let number = UInt64(length.filter { $0 != " " && $0 != "\t" })
            require(result.has_length && number == result.length, "a length other than the one that frames the body")
        }
    }

    private static func check(_ status: Int, _ fields: HTTPFields) {
        require(fields.count <= Int(limits.field_count), "more fields than the limit")
        for field in fields {
            require(HTTPField.isValidValue(field.value), "an invalid value")
            require(field.value.first != " " && field.value.last != " ", "blanks around a value")
        }
        if let tag = fields[.eTag] { require(!tag.unicodeScalars.contains("\u{FFFD}"), "a tag with lost bytes") }
        require((FailureKind(status: status) == nil) == isImage(status), "a status with two meanings")
        HeaderSubject.check(status: status, fields)
    }

    private static func isImage(_ status: Int) -> Bool {
        [200, 203, 304].contains(status)
            || (200...299).contains(status) && !(201...208).contains(status) && status != 226
    }

    /// A redirect never carries credentials to another origin, nor conditions to another URL.
    private static func checkRedirect(to location: String, _ status: Int, _ fields: HTTPFields) {
        var request = OriginRequest(url: "https://pictures.example/a/b.png?c")
        request.fields = [.authorization: "secret", .cookie: "secret=1", .ifNoneMatch: "\"1\"", .range: "bytes=5-"]
        do {
            var hops = try RedirectChain(from: request, limit: 3)
            let first = hops.url
            try hops.follow(location, status: status, fields: fields)
            require(hops.redirection?.url == hops.url.rawValue, "a redirection to another URL")
            require(hops.url != first || !fields[values: .setCookie].isEmpty, "a redirect to the same URL")
            let sent = HopRequest(hops, fields: request.fields, configuration: OriginConfiguration())
            let origin = "https://pictures.example/"
            if !hops.url.rawValue.hasPrefix(origin) {
                require(!sent.fields.all.contains { $0.value.contains("secret") }, "credentials for another origin")
            }
            require(
                !sent.fields.all.contains { $0.name.lowercased() == "range" } || hops.url == first,
                "a condition of another URL"
            )
            require(!sent.target(along: .direct).utf8.contains { $0 <= 0x20 || $0 == 0x7F }, "a target with blanks")
        } catch let error as OriginError {
            require(!error.message.isEmpty, "an error that says nothing")
        } catch {
            fatalError("an error other than OriginError: \(error)")
        }
    }
}
