import AvatarProviders
import AvatarStore

/// Bodies: complete, large, unread and broken.
extension OriginClientConformance {
    static let bodies: [Check] = [
        .required("wholeBody", "A body of any size arrives complete, whatever its framing.") { trial in
            for count in [0, 1, 8_192, 65_536, 65_537, 1_000_000] {
                let body = ConformanceTrial.noise(count)
                let plain = LoopbackOrigin.Response(body: .bytes(body))
                trial.origin.setResponse(plain, for: "/length")
                trial.origin.setResponse(plain.behaving(.chunked), for: "/chunks")
                trial.origin.setResponse(.raw(Array("HTTP/1.1 200 OK\r\n\r\n".utf8) + body), for: "/close")
                for path in ["/length", "/chunks", "/close"] {
                    let received = try await trial.get(path)
                    try trial.expect(received.status, is: 200, "the status")
                    try trial.expect(received.body == body, "\(path): other bytes than the \(count) that were sent")
                }
            }
        },
        .required("bodyByPieces", "The pieces of a slow body reach the reader as they arrive.") { trial in
            let start = Array("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nface".utf8)
            try await RawOrigin.withOrigin({ _ in .init(start) }) { raw in
                let text = try await trial.client.send(OriginRequest(url: raw.url("/a.png"))) { response in
                    var text = ""
                    while let chunk = try await response.body.next() {
                        text += String(decoding: chunk, as: UTF8.self)
                        if text == "face" { try await raw.send(Array("book".utf8)) }
                    }
                    return text
                }
                try trial.expect(text, is: "facebook", "the body")
            }
        },
        .required("unreadBody", "A body whose reader returns early is not read to its end.") { trial in
            trial.origin.setResponse(LoopbackOrigin.Response(body: .generated(byteCount: 1_000_000_000)), for: "/a.png")
            let count = try await trial.client.send(OriginRequest(url: trial.origin.url("/a.png"))) { response in
                try await response.body.next()?.count ?? 0
            }
            try trial.expect(count > 0, "no byte of the body arrived")
            try await trial.waitForNoConnection()
            try trial.expect(trial.origin.bytesSent < 100_000_000, "the origin sent \(trial.origin.bytesSent) bytes")
        },
        .required("errorOfTheReader", "The client throws the error of receive, and drops the rest of the body.") {
            trial in
            struct Refusal: Error {}
            trial.origin.setResponse(LoopbackOrigin.Response(body: .generated(byteCount: 1_000_000_000)), for: "/a.png")
            do {
                try await trial.client.send(OriginRequest(url: trial.origin.url("/a.png"))) { response in
                    _ = try await response.body.next()
                    throw Refusal()
                }
                throw trial.failed("the client threw nothing")
            } catch is Refusal {
                try await trial.waitForNoConnection()
            }
        },
        .recommended("heldBack", "A reader that takes nothing stops the origin.") { trial in
            trial.origin.setResponse(LoopbackOrigin.Response(body: .generated(byteCount: 200_000_000)), for: "/a.png")
            let sent = try await trial.client.send(OriginRequest(url: trial.origin.url("/a.png"))) { response in
                _ = try await response.body.next()
                // Until the origin has sent nothing for a fifth of a second, or all of it.
                var (sent, quiet) = (0, 0)
                while quiet < 20, sent < 200_000_000 {
                    try await Task.sleep(for: .milliseconds(10))
                    quiet = trial.origin.bytesSent == sent ? quiet + 1 : 0
                    sent = trial.origin.bytesSent
                }
                return sent
            }
            // The sockets of both sides hold some megabytes.
            try trial.expect(sent < 30_000_000, "the origin sent \(sent) bytes")
        },
    ]

    static let brokenBodies: [Check] = [
        .required("truncatedBody", "A body that ends before its length is an OriginError, not a short body.") { trial in
            for count in [0, 2, 80_000] {
                let response = LoopbackOrigin.Response(body: .bytes(ConformanceTrial.noise(100_000)))
                trial.origin.setResponse(response.behaving(.cutShort(after: count)), for: "/a.png")
                try await trial.expectError(.truncated, of: "a body cut after \(count) bytes") {
                    _ = try await trial.get("/a.png")
                }
            }
        },
        .required("invalidChunks", "Chunks that break the framing are an OriginError (RFC 9112 section 7.1).") {
            trial in
            for body in [
                "zzzz\r\nface\r\n0\r\n\r\n", "4\r\nface!!0\r\n\r\n", "FFFFFFFFFFFFFFFFFF\r\nface", "4\r\nface\r\n",
            ] {
                trial.origin.setResponse(raw("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n", body), for: "/a.png")
                try await trial.expectError(.truncated, of: "the chunks \(body.debugDescription)") {
                    _ = try await trial.get("/a.png")
                }
            }
        },
        .required("unsolicitedResponse", "A response that came before its request is not taken for the response to it.")
        { trial in
            let response = { @Sendable (body: String) in
                Array("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8)
            }
            try await RawOrigin.withOrigin({ _ in .init(response("face")) }) { raw in
                for _ in 1...50 {
                    try trial.expect(try await trial.read(raw.url("/a.png")).text, is: "face", "the body")
                    try await raw.send(response("evil"))
                }
            }
        },
        .recommended("trailer", "Trailer fields are no header fields.") { trial in
            let body = "4\r\nface\r\n0\r\nETag: \"evil\"\r\n\r\n"
            trial.origin.setResponse(raw("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n", body), for: "/a.png")
            let received = try await trial.get("/a.png")
            try trial.expect(received.text, is: "face", "the body")
            try trial.expect(received.fields[.eTag], is: nil, "ETag")
        },
    ]

    /// A response of these lines and this body, byte for byte, after which the connection closes.
    package static func raw(_ lines: String, _ body: String = "") -> LoopbackOrigin.Response {
        .raw(Array((lines.replacing("\n", with: "\r\n") + "\r\n" + body).utf8))
    }
}
