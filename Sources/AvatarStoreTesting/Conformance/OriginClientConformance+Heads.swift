import AvatarStore

/// Response heads, and the connections that carry them.
extension OriginClientConformance {
    static let heads: [Check] = [
        .required("responseFields", "All header fields arrive, repeated ones in their order.") { trial in
            let lines = "ETag: \"1\"\nVary: Accept\nCache-Control: max-age=60\nCache-Control: private\nX-Empty:\n"
            trial.origin.setResponse(raw("HTTP/1.1 200 OK\nContent-Length: 4\n" + lines, "face"), for: "/a.png")
            let fields = try await trial.get("/a.png").fields
            try trial.expect(fields[.eTag], is: "\"1\"", "ETag")
            try trial.expect(fields[.vary], is: "Accept", "Vary")
            try trial.expect(
                fields[values: .cacheControl].joined(separator: ", "),
                is: "max-age=60, private",
                "Cache-Control"
            )
        },
        .required("blanks", "Blanks around a value are no part of it (RFC 9112 section 5).") { trial in
            for blank in [" ", "\t", " \t "] {
                let lines = "Cache-Control:\(blank)no-store\(blank)\nETag:\(blank)\"1\"\(blank)\n"
                trial.origin.setResponse(raw("HTTP/1.1 200 OK\nContent-Length: 0\n" + lines), for: "/a.png")
                let fields = try await trial.get("/a.png").fields
                try trial.expect(fields[.cacheControl], is: "no-store", "Cache-Control")
                try trial.expect(fields[.eTag], is: "\"1\"", "ETag")
            }
        },
        .required("interimResponses", "Interim responses (1xx) come before the response, and are none.") { trial in
            for count in [1, 100] {
                let interim = String(repeating: "HTTP/1.1 103 Early Hints\nLink: </a>\n\n", count: count)
                trial.origin.setResponse(raw(interim + "HTTP/1.1 200 OK\nContent-Length: 4\n", "face"), for: "/a.png")
                let received = try await trial.get("/a.png")
                try trial.expect(received.text, is: "face", "the body after \(count) interim responses")
                try trial.expect(received.fields[values: linkField], is: [], "Link")
            }
        },
        .recommended("endlessInterimResponses", "Interim responses without end are an OriginError.") { trial in
            let interim = String(repeating: "HTTP/1.1 103 Early Hints\nLink: </a>\n\n", count: 20_000)
            trial.origin.setResponse(raw(interim + "HTTP/1.1 200 OK\nContent-Length: 4\n", "face"), for: "/a.png")
            try await trial.expectError(.unreachable, of: "20,000 interim responses") {
                _ = try await trial.get("/a.png")
            }
        },
        .required("notHTTP", "A response that breaks the grammar of HTTP is an OriginError.") { trial in
            for head in [
                "SSH-2.0-OpenSSH_9.2\n", "HTTP/9.1 200 OK\nContent-Length: 4\n",
                "HTTP/1.1 200 OK\nContent-Length: -4\n",
                "HTTP/1.1 200 OK\nContent-Length: 99999999999999999999999\n",
            ] {
                trial.origin.setResponse(raw(head, "face"), for: "/a.png")
                try await trial.expectError(.unreachable, of: head.debugDescription) {
                    _ = try await trial.get("/a.png")
                }
            }
        },
        .recommended("contradictoryHead", "A head with two framings of the body is refused (RFC 9112 section 6.3).") {
            trial in
            for head in [
                "Content-Length: 4\nContent-Length: 5\n", "Content-Length: 4, 5\n", "Content Length: 4\n",
                "Content-Length: 4\nTransfer-Encoding: chunked\n",
            ] {
                trial.origin.setResponse(raw("HTTP/1.1 200 OK\n" + head, "face"), for: "/a.png")
                try await trial.expectError(.unreachable, of: head.debugDescription) {
                    _ = try await trial.get("/a.png")
                }
            }
        },
        .recommended("largeHead", "A head of up to 50,000 bytes is read, and one of 500,000 refused.") { trial in
            var response = LoopbackOrigin.Response(body: .text("face"))
            response.headers["X-Filler"] = String(repeating: "a", count: 50_000)
            trial.origin.setResponse(response, for: "/a.png")
            try trial.expect(try await trial.get("/a.png").text, is: "face", "the body")
            let line = "X-Filler: \(String(repeating: "a", count: 1_000))\n"
            for filler in [
                String(repeating: line, count: 1_000), "X-Filler: \(String(repeating: "a", count: 500_000))\n",
            ] {
                trial.origin.setResponse(raw("HTTP/1.1 200 OK\nContent-Length: 0\n" + filler), for: "/a.png")
                try await trial.expectError(.unreachable, of: "a head of \(filler.utf8.count) bytes") {
                    _ = try await trial.get("/a.png")
                }
            }
        },
        .recommended("tagInLatin1", "An ETag that is not UTF-8 is left out, since it cannot be sent back.") { trial in
            let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nVary: Accept\r\nETag: \"".utf8) + [0xFF, 0xFE]
            trial.origin.setResponse(.raw(head + Array("\"\r\n\r\n".utf8)), for: "/a.png")
            let fields = try await trial.get("/a.png").fields
            try trial.expect(fields[.eTag], is: nil, "ETag")
            try trial.expect(fields[.vary], is: "Accept", "Vary")
        },
    ]

    private static var linkField: HTTPField.Name { .init("Link") ?? .eTag }

    static let connections: [Check] = [
        .required("surplusBytes", "Bytes after a body are not the response to the next request.") { trial in
            let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
            var response = LoopbackOrigin.Response(body: .text("face" + evil + evil))
            response.headers["Content-Length"] = "4"
            trial.origin.setResponse(response, for: "/a.png")
            trial.origin.setResponse(LoopbackOrigin.Response(body: .text("good")), for: "/b.png")
            for _ in 0..<50 {
                try trial.expect(try await trial.get("/a.png").text, is: "face", "the first body")
                try trial.expect(try await trial.get("/b.png").text, is: "good", "the second body")
            }
        },
        .required("brokenConnection", "A connection whose response broke off serves no further request.") { trial in
            let short = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nface!!"
            let good = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood"
            try await RawOrigin.withOrigin({ .init(Array(($0 == "/a.png" ? short : good).utf8)) }) { raw in
                for _ in 0..<20 {
                    try await trial.expectError(.truncated, of: "an invalid chunk") {
                        _ = try await trial.read(raw.url("/a.png"))
                    }
                    try trial.expect(try await trial.read(raw.url("/b.png")).text, is: "good", "the next body")
                }
            }
        },
        .required("closedConnection", "A request finds another connection if the origin closed the one kept for it.") {
            trial in
            let good = Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nface".utf8)
            try await RawOrigin.withOrigin({ _ in .init(good, thenCloses: true) }) { raw in
                for _ in 0..<50 {
                    try trial.expect(try await trial.read(raw.url("/a.png")).text, is: "face", "the body")
                }
            }
        },
        .recommended("reuse", "Requests one after the other share a connection.") { trial in
            trial.origin.setResponse(LoopbackOrigin.Response(body: .text("face")), for: "/a.png")
            for _ in 0..<20 { _ = try await trial.get("/a.png") }
            try trial.expect(trial.origin.connectionCount, is: 1, "the number of connections")
        },
    ]
}
