import AvatarFoundation
import AvatarProviders
import AvatarStore

/// The requests as the origin receives them.
extension OriginClientConformance {
    static let requests: [Check] = [
        .required("requestTarget", "The origin receives the path and query of the URL byte for byte.") { trial in
            try await RawOrigin.withOrigin { raw in
                let urls = try targets(400, seed: 1).map { try AvatarKey(url: raw.url($0)) }
                for url in urls { _ = try await trial.read(url.rawValue) }
                for (url, line) in zip(urls, raw.lines) {
                    try trial.expect(line, is: "GET \(url.originAndTarget.target) HTTP/1.1", "the request line")
                }
                try trial.expect(raw.lines.count, is: urls.count, "the number of requests")
            }
        },
        .required("requestFields", "The fields of the request reach the origin, with the host of the URL.") { trial in
            var fields = HTTPFields()
            fields[.ifNoneMatch] = "W/\"1\", \"2\""
            fields[.ifModifiedSince] = "Sun, 06 Nov 1994 08:49:37 GMT"
            fields[.authorization] = "Bearer token"
            _ = try await trial.get("/a.png", fields)
            guard let request = trial.origin.requests.first else { throw trial.failed("no request arrived") }
            try trial.expect(request.method, is: "GET", "the method")
            for field in fields {
                let sent = request.headers.values(for: field.name.rawName)
                try trial.expect(sent, is: [field.value], "\(field.name)")
            }
            try trial.expect(request.headers.values(for: "Host"), is: ["127.0.0.1:\(trial.origin.port)"], "Host")
        },
        .required("noContentCoding", "The body comes decoded, or as it was sent with its Content-Encoding.") { trial in
            var response = LoopbackOrigin.Response(body: .bytes(codedFace))
            response.headers["Content-Encoding"] = "gzip"
            trial.origin.setResponse(response, for: "/a.png")
            let received = try await trial.get("/a.png")
            let isCoded = received.fields[.contentEncoding] == "gzip" && received.body == codedFace
            let isDecoded = received.fields[.contentEncoding] == nil && received.text == "face"
            try trial.expect(isCoded || isDecoded, "the body and its Content-Encoding do not belong together")
        },
        .required("announcement", "The client calls willSend before each request, redirects included.") { trial in
            trial.origin.setResponse(.redirect(to: "/b.png"), for: "/a.png")
            trial.origin.setResponse(.redirect(to: "/c.png"), for: "/b.png")
            let early = Locked(0)
            let request = OriginRequest(url: trial.origin.url("/a.png")) { [origin = trial.origin] in
                early.withLock { $0 = max($0, origin.requestCount) }
            }
            _ = try await trial.client.send(request) { $0.head.status }
            try trial.expect(early.withLock { $0 } <= 2, "willSend was called after the last request")
            let received = try await trial.get("/a.png")
            try trial.expect(received.announced, is: 3, "the number of calls of willSend")
            try trial.expect(trial.origin.requestCount, is: 6, "the number of requests")
        },
        .required("result", "The client returns the result of receive, which it calls once.") { trial in
            trial.origin.setResponse(.redirect(to: "/b.png"), for: "/a.png")
            let calls = Locked(0)
            let result = try await trial.client.send(OriginRequest(url: trial.origin.url("/a.png"))) { response in
                calls.withLock { $0 += 1 }
                return response.head.status
            }
            try trial.expect(result, is: 404, "the result")
            try trial.expect(calls.withLock { $0 }, is: 1, "the number of calls of receive")
        },
        .required("concurrentRequests", "A hundred requests at once get the response of their own URL each.") { trial in
            for number in 0..<100 {
                trial.origin.setResponse(LoopbackOrigin.Response(body: .text("face \(number)")), for: "/\(number)")
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        try trial.expect(try await trial.get("/\(number)").text, is: "face \(number)", "the body")
                    }
                }
                try await group.waitForAll()
            }
        },
        .required("refusedConnection", "A refused connection is an OriginError at once.") { trial in
            let url = trial.origin.url("/a.png")
            try await trial.origin.stop()
            let start = ContinuousClock.now
            try await trial.expectError(.unreachable, of: "a refused connection") { _ = try await trial.read(url) }
            try trial.expect(
                ContinuousClock.now - start < .seconds(15),
                "the error took \(ContinuousClock.now - start)"
            )
        },
        .required("invalidURL", "A URL that is not http or https is an OriginError without a request.") { trial in
            for url in ["file:///etc/passwd", "ftp://127.0.0.1/a.png", "no URL", ""] {
                try await trial.expectError(nil, of: "the URL \"\(url)\"") { _ = try await trial.read(url) }
            }
        },
    ]

    /// "face" as gzip.
    private static let codedFace: [UInt8] = [
        0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0x02, 0x03, 0x4B, 0x4B, 0x4C, 0x4E, 0x05, 0x00, 0x67, 0x7B, 0x14, 0x05, 0x04,
        0, 0, 0,
    ]

    /// Targets as people and programs write them: any byte percent-encoded in either case, characters that must be, dot
    /// segments, empty segments, queries.
    package static func targets(_ count: Int, seed: UInt64) -> [String] {
        var random = SplitMix64(seed: seed)
        let plain = Array("abcXYZ019-._~!$&'()*+,;=:@ \"<>[]{}|^`\\ö猫")
        let seams = ["/", "//", "/./", "/../", "%", "%2", "%2F"]
        func piece() -> String {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4: return String(plain[Int.random(in: 0..<plain.count, using: &random)])
            case 4..<9:
                let digits = String(Int.random(in: 256...511, using: &random), radix: 16).dropFirst()
                return "%" + (Bool.random(using: &random) ? digits.uppercased() : String(digits))
            default: return seams[Int.random(in: 0..<seams.count, using: &random)]
            }
        }
        func text(_ most: Int) -> String {
            (0..<Int.random(in: 0...most, using: &random)).map { _ in piece() }.joined()
        }
        return (0..<count).map { _ in
            "/" + text(12) + (Bool.random(using: &random) ? "?" + text(8) : "")
        }
    }
}
