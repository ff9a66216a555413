import AvatarStore

/// Conditional requests, ranges and redirects (RFC 9110 sections 13, 14 and 15.4).
extension OriginClientConformance {
    static let conditions: [Check] = [
        .required("notModified", "A 304 arrives with its fields and an empty body.") { trial in
            let response = LoopbackOrigin.Response.image(Array("face".utf8), etag: "\"1\"", cacheControl: "max-age=60")
            trial.origin.setResponse(response, for: "/a.png")
            var fields = HTTPFields()
            fields[.ifNoneMatch] = "\"1\""
            let received = try await trial.get("/a.png", fields)
            try trial.expect(received.status, is: 304, "the status")
            try trial.expect(received.fields[.cacheControl], is: "max-age=60", "Cache-Control")
            try trial.expect(received.body, is: [], "the body")
        },
        .required("notModifiedWithLocation", "A 304 with a Location is no redirect.") { trial in
            trial.origin.setResponse(.status(304, headers: ["Location": "/b.png"]), for: "/a.png")
            try trial.expect(try await trial.get("/a.png").status, is: 304, "the status")
            try trial.expect(trial.origin.requestCount, is: 1, "the number of requests")
        },
        .required("range", "A range arrives as it was sent: status 206, Content-Range and the part.") { trial in
            let whole = ConformanceTrial.noise(100_000)
            trial.origin.setResponse(.image(whole, etag: "\"1\""), for: "/a.png")
            for start in [1, 99_999, 100_000] {
                var fields = HTTPFields()
                fields[.range] = "bytes=\(start)-"
                fields[.ifRange] = "\"1\""
                let received = try await trial.get("/a.png", fields)
                let isPart = start < whole.count
                try trial.expect(received.status, is: isPart ? 206 : 416, "the status from byte \(start)")
                let range = isPart ? "bytes \(start)-99999/100000" : "bytes */100000"
                try trial.expect(received.fields[.contentRange], is: range, "Content-Range")
                if isPart {
                    try trial.expect(received.body == Array(whole[start...]), "the part from \(start) is another")
                }
            }
        },
        .required("conditionsOfTheURL", "Conditions and Range go to the URL that they apply to, and to no other.") {
            trial in
            trial.origin.setResponse(.redirect(to: "/b.png"), for: "/a.png")
            trial.origin.setResponse(.redirect(to: "/c.png"), for: "/b.png")
            let names = ["If-None-Match", "If-Modified-Since", "If-Range", "Range"]
            for (url, conditional) in [(nil, "/a.png"), (trial.origin.url("/c.png"), "/c.png")] {
                trial.origin.resetCounts()
                _ = try await trial.read(trial.origin.url("/a.png"), conditionalFields, conditionalURL: url)
                let requests = trial.origin.requests
                // A client that cannot tell the hops apart may leave conditions for another URL out.
                let isSent = requests.contains { $0.path == conditional && $0.headers["If-None-Match"] != nil }
                try trial.expect(isSent || url != nil, "the conditions did not reach \(conditional)")
                for request in requests where request.path != conditional {
                    let sent = names.filter { request.headers[$0] != nil }
                    try trial.expect(sent, is: [], "the conditions in the request to \(request.path)")
                }
            }
        },
    ]

    private static var conditionalFields: HTTPFields {
        var fields = HTTPFields()
        fields[.ifNoneMatch] = "\"1\""
        fields[.ifModifiedSince] = "Sun, 06 Nov 1994 08:49:37 GMT"
        fields[.range] = "bytes=5-"
        fields[.ifRange] = "\"1\""
        return fields
    }

    static let redirects: [Check] = [
        .required("redirect", "The client follows 301, 302, 303, 307 and 308, and reports the final URL.") { trial in
            trial.origin.setResponse(LoopbackOrigin.Response(body: .text("here")), for: "/b.png")
            for status in [301, 302, 303, 307, 308] {
                trial.origin.setResponse(.redirect(to: "../b.png?x=1", status: status), for: "/folder/a.png")
                let received = try await trial.get("/folder/a.png")
                try trial.expect(received.text, is: "here", "the body after a \(status)")
                try trial.expect(
                    received.redirection?.url,
                    is: trial.origin.url("/b.png?x=1"),
                    "the final URL after a \(status)"
                )
            }
            let direct = try await trial.get("/b.png")
            try trial.expect(direct.redirection == nil, "a response without redirects reports a redirection")
        },
        .required("redirectTarget", "A redirect leads to the exact target of its Location.") { trial in
            for (number, target) in targets(300, seed: 2).enumerated() {
                let location = number.isMultiple(of: 2) ? "../." + target : trial.origin.url(target)
                trial.origin.setResponse(.redirect(to: location), for: "/from/here")
                trial.origin.resetCounts()
                _ = try await trial.get("/from/here")
                let expected = try AvatarKey(url: trial.origin.url(target)).originAndTarget.target
                try trial.expect(trial.origin.requests.map(\.target), is: ["/from/here", expected], "the targets")
            }
        },
        .required("credentialsOfTheOrigin", "Authorization and Cookie of the request stay with its origin.") { trial in
            // The same address, another port.
            let other = try await LoopbackOrigin.start()
            trial.origin.setResponse(.redirect(to: other.url("/b.png")), for: "/a.png")
            var fields = HTTPFields()
            fields[.authorization] = "Bearer token"
            fields[.cookie] = "a=1"
            _ = try await trial.get("/a.png", fields)
            let requests = other.requests
            try await other.stop()
            try trial.expect(requests.count, is: 1, "the number of requests to the other origin")
            for name in ["Authorization", "Cookie"] {
                try trial.expect(requests.first?.headers[name], is: nil, "\(name) at the other origin")
            }
        },
        .required("redirectedHost", "An error after a redirect to another host names that host.") { trial in
            let other = try await LoopbackOrigin.start()
            let host = "127.0.0.1:\(other.port)"
            trial.origin.setResponse(.redirect(to: other.url("/b.png")), for: "/a.png")
            try await other.stop()
            let error = try await trial.expectError(.unreachable, of: "a redirect to a refused connection") {
                _ = try await trial.get("/a.png")
            }
            try trial.expect(error.redirectedHost, is: host, "redirectedHost")
        },
        .required("circle", "Redirects in a circle end in an OriginError.") { trial in
            trial.origin.setResponse(.redirect(to: "/b.png"), for: "/a.png")
            trial.origin.setResponse(.redirect(to: "/a.png"), for: "/b.png")
            try await trial.expectError(.tooManyRedirects, of: "a circle") { _ = try await trial.get("/a.png") }
            try trial.expect(trial.origin.requestCount <= 100, "\(trial.origin.requestCount) requests")
        },
    ]

    static let hostileRedirects: [Check] = [
        .recommended("redirectLimit", "The client follows as many redirects as its limit.", { $0.maximumRedirects = 3 })
        {
            trial in
            for number in 0..<10 { trial.origin.setResponse(.redirect(to: "/\(number + 1)"), for: "/\(number)") }
            trial.origin.setResponse(LoopbackOrigin.Response(body: .text("here")), for: "/10")
            try trial.expect(try await trial.get("/7").text, is: "here", "the body after three redirects")
            trial.origin.resetCounts()
            try await trial.expectError(.tooManyRedirects, of: "four redirects") { _ = try await trial.get("/0") }
            try trial.expect(trial.origin.requestCount, is: 4, "the number of requests")
        },
        .recommended("noRedirect", "A client with a limit of 0 follows no redirect.", { $0.maximumRedirects = 0 }) {
            trial in
            trial.origin.setResponse(.redirect(to: "/b.png"), for: "/a.png")
            try await trial.expectError(.tooManyRedirects, of: "a redirect") { _ = try await trial.get("/a.png") }
            try trial.expect(trial.origin.requestCount, is: 1, "the number of requests")
        },
        .required("forbiddenRedirect", "A redirect to another scheme, or to an invalid URL, leads nowhere.") { trial in
            for location in ["file:///etc/passwd", "http://user:secret@127.0.0.1/", "//", "http://[::1"] {
                trial.origin.setResponse(.redirect(to: location), for: "/a.png")
                trial.origin.resetCounts()
                try await trial.expectError(nil, of: "a redirect to \(location)") { _ = try await trial.get("/a.png") }
                try trial.expect(trial.origin.requestCount, is: 1, "the number of requests")
            }
        },
        .recommended("redirectInLatin1", "Bytes beyond ASCII in a Location are percent-encoded as they are.") { trial in
            let head = Array("HTTP/1.1 302 Found\r\nLocation: /J".utf8) + [0xF6] + Array("rg?\u{F6}\r\n".utf8)
            trial.origin.setResponse(.raw(head + Array("Content-Length: 0\r\n\r\n".utf8)), for: "/a.png")
            _ = try await trial.get("/a.png")
            try trial.expect(trial.origin.requests.map(\.target), is: ["/a.png", "/J%F6rg?%C3%B6"], "the targets")
        },
        .recommended("endlessRedirectBody", "The client does not read a gigabyte of body of a redirect.") { trial in
            var redirect = LoopbackOrigin.Response.redirect(to: "/b.png")
            redirect.body = .generated(byteCount: 1_000_000_000)
            trial.origin.setResponse(redirect, for: "/a.png")
            trial.origin.setResponse(LoopbackOrigin.Response(body: .text("here")), for: "/b.png")
            try trial.expect(try await trial.get("/a.png").text, is: "here", "the body")
            try trial.expect(trial.origin.bytesSent < 100_000_000, "the origin sent \(trial.origin.bytesSent) bytes")
        },
        .recommended("silentRedirectBody", "The client does not wait for the body of a redirect.") { trial in
            var redirect = LoopbackOrigin.Response.redirect(to: "/b.png")
            redirect.body = .text("It moved.")
            let dripping = redirect.behaving(.drip(byteCount: 1, interval: .seconds(30)))
            trial.origin.setResponse(dripping, for: "/a.png")
            trial.origin.setResponse(LoopbackOrigin.Response(body: .text("here")), for: "/b.png")
            try trial.expect(try await trial.get("/a.png").text, is: "here", "the body")
        },
    ]
}
