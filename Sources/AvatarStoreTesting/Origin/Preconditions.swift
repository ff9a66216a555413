/// What the conditional header fields of a request make of a response (RFC 9110 sections 13 and 14).
extension LoopbackOrigin.Response {
    /// 304 or 206 or 416 where the request asks for it and the response takes part, else the response itself.
    ///
    /// The second value is how many bytes at the beginning of the body are left out.
    func selected(for request: LoopbackOrigin.Request) -> (response: Self, skipping: Int) {
        guard answersConditionalRequests, status == 200, request.method == "GET" || request.method == "HEAD" else {
            return (self, 0)
        }
        if isNotModified(for: request.headers) {
            return (notModified(), 0)
        }
        guard request.method == "GET", let range = requestedRange(in: request.headers) else { return (self, 0) }
        return partial(range)
    }

    /// `If-Modified-Since` counts only where there is no `If-None-Match` (RFC 9110 section 13.1.3).
    private func isNotModified(for request: LoopbackOrigin.Headers) -> Bool {
        let tags = request.values(for: "If-None-Match")
        guard tags.isEmpty else {
            return tags.contains { hasTag(among: $0) }
        }
        guard let lastModified = headers["Last-Modified"] else { return false }
        return request["If-Modified-Since"] == lastModified
    }

    /// Weak comparison (RFC 9110 section 8.8.3.2). A comma inside a tag would be taken for a separator.
    private func hasTag(among list: String) -> Bool {
        guard let etag = headers["ETag"] else { return false }
        return list.split(separator: ",").contains { item in
            let tag = item.drop { $0 == " " }
            return tag == "*" || Self.opaque(tag) == Self.opaque(etag[...])
        }
    }

    private static func opaque(_ tag: Substring) -> Substring {
        tag.hasPrefix("W/") ? tag.dropFirst(2) : tag
    }

    /// Without the fields that describe the body that is not sent (RFC 9110 section 15.4.5).
    private func notModified() -> Self {
        var answer = self
        answer.status = 304
        answer.body = .empty
        answer.headers["Content-Type"] = nil
        answer.headers["Content-Length"] = nil
        return answer
    }

    /// One range `first-` or `first-last`, where `If-Range`, if there is one, names this strong tag. Other ranges are
    /// ignored, as a server may.
    private func requestedRange(in request: LoopbackOrigin.Headers) -> (first: Int, last: Int)? {
        guard let range = request["Range"], range.hasPrefix("bytes=") else { return nil }
        if let condition = request["If-Range"] {
            guard condition == headers["ETag"], !condition.hasPrefix("W/") else { return nil }
        }
        let ends = range.dropFirst("bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int(ends[0]), first >= 0 else { return nil }
        guard !ends[1].isEmpty else { return (first, body.byteCount - 1) }
        guard let last = Int(ends[1]), last >= first else { return nil }
        return (first, min(last, body.byteCount - 1))
    }

    private func partial(_ range: (first: Int, last: Int)) -> (response: Self, skipping: Int) {
        var answer = self
        guard range.first < body.byteCount else {
            answer.status = 416
            answer.headers["Content-Range"] = "bytes */\(body.byteCount)"
            answer.body = .empty
            return (answer, 0)
        }
        answer.status = 206
        answer.headers["Content-Range"] = "bytes \(range.first)-\(range.last)/\(body.byteCount)"
        answer.body = LoopbackOrigin.Body(byteCount: range.last + 1, beginning: body.beginning)
        return (answer, range.first)
    }
}
