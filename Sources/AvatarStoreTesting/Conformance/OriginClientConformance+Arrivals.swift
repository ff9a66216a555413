import AvatarProviders
import AvatarStore

/// Requests that are begun, and their arrivals.
extension OriginClientConformance {
    private static let wholeBodyLimit = OriginArrival.wholeBodyLimit

    static let arrivals: [Check] = [
        .required("smallArrival", "A begun request delivers its head, and its body at once or from the first byte.") {
            trial in
            for count in [0, 1, 8_192, wholeBodyLimit] {
                let body = ConformanceTrial.noise(count)
                trial.origin.setResponse(LoopbackOrigin.Response(body: .bytes(body)), for: "/a.png")
                let (begun, arrival) = try await trial.begin("/a.png")
                try trial.expect(arrival.head.status, is: 200, "the status")
                try trial.expect(arrival.body == nil || arrival.body == body, "another body than was sent")
                guard arrival.body == nil else { continue }
                let bytes = try await begun.finish { try await ConformanceTrial.bytes($0.body) }
                try trial.expect(bytes == body, "finish delivers another body of \(count) bytes")
            }
        },
        .required("largeArrival", "A body beyond the limit is left to finish, which delivers all of it.") { trial in
            for count in [wholeBodyLimit + 1, 1_000_000] {
                let body = ConformanceTrial.noise(count)
                trial.origin.setResponse(LoopbackOrigin.Response(body: .bytes(body)), for: "/a.png")
                let (begun, arrival) = try await trial.begin("/a.png")
                try trial.expect(arrival.body == nil, "a body of \(count) bytes arrived with the head")
                let bytes = try await begun.finish { try await ConformanceTrial.bytes($0.body) }
                try trial.expect(bytes == body, "finish delivers another body of \(count) bytes")
            }
        },
        .required("notModifiedArrival", "A 304 arrives with its fields, and with an empty body if with any.") { trial in
            trial.origin.setResponse(.status(304, headers: ["ETag": "\"1\""]), for: "/a.png")
            let (_, arrival) = try await trial.begin("/a.png")
            try trial.expect(arrival.head.status, is: 304, "the status")
            try trial.expect(arrival.head.fields[.eTag], is: "\"1\"", "ETag")
            try trial.expect(arrival.body?.isEmpty ?? true, "the 304 has a body")
        },
        .required("redirectArrival", "A redirect is followed by finish, or before the arrival.") { trial in
            trial.origin.setResponse(.redirect(to: "/b.png"), for: "/a.png")
            trial.origin.setResponse(LoopbackOrigin.Response(body: .text("here")), for: "/b.png")
            let (begun, arrival) = try await trial.begin("/a.png")
            if arrival.head.status != 200 {
                try trial.expect(arrival.head.status, is: 302, "the status")
                try trial.expect(trial.origin.requestCount, is: 1, "the number of requests before finish")
            }
            try trial.expect(arrival.body == nil, "a body arrived, and the URL that it came from did not")
            let (bytes, url) = try await begun.finish {
                (try await ConformanceTrial.bytes($0.body), $0.head.redirection?.url)
            }
            try trial.expect(bytes, is: Array("here".utf8), "the body")
            try trial.expect(url, is: trial.origin.url("/b.png"), "the final URL")
        },
        .required("truncatedArrival", "A begun request whose body is cut short fails where the body is read.") {
            trial in
            let response = LoopbackOrigin.Response(body: .text("face"))
            trial.origin.setResponse(response.behaving(.cutShort(after: 2)), for: "/a.png")
            let (begun, arrival) = try await trial.begin("/a.png")
            try trial.expect(arrival.body == nil, "a truncated body arrived as a whole one")
            try await trial.expectError(.truncated, of: "a body that is cut short") {
                _ = try await begun.finish { try await ConformanceTrial.bytes($0.body) }
            }
        },
        .required("slowArrival", "A slow body does not hold up its head.") { trial in
            let response = LoopbackOrigin.Response(body: .generated(byteCount: 40))
            trial.origin.setResponse(
                response.behaving(.drip(byteCount: 10, interval: .milliseconds(400))),
                for: "/a.png"
            )
            let (begun, arrival) = try await trial.begin("/a.png")
            try trial.expect(arrival.body == nil, "the client waited for a slow body")
            let bytes = try await begun.finish { try await ConformanceTrial.bytes($0.body) }
            try trial.expect(bytes.count, is: 40, "the size of the body")
        },
        .required(
            "freeConnection",
            "A connection is free again after an arrival with its body.",
            {
                $0.connectionsPerHost = 1
            }
        ) { trial in
            trial.origin.setResponse(
                LoopbackOrigin.Response(body: .bytes(ConformanceTrial.noise(8_192))),
                for: "/a.png"
            )
            var kept: [any BegunRequest] = []
            for _ in 0..<20 {
                let (begun, arrival) = try await trial.begin("/a.png")
                // Without the body, the connection is the request's until `finish` returns.
                if arrival.body == nil { try await begun.finish { _ in } }
                kept.append(begun)
            }
            try trial.expect(kept.count, is: 20, "the number of arrivals")
        },
        .required("cancelledArrival", "A cancelled request arrives once, as a CancellationError.") { trial in
            trial.origin.setResponse(.hang, for: "/a.png")
            let (arrivals, told) = AsyncStream.makeStream(of: Result<OriginArrival, any Error>.self)
            let begun = trial.client.begin(OriginRequest(url: trial.origin.url("/a.png"))) { told.yield($0) }
            trial.client.flush()
            try await trial.wait(for: "the request") { trial.origin.requestCount == 1 }
            begun.cancel()
            begun.cancel()
            for await arrival in arrivals {
                guard case .failure(let error) = arrival else { throw trial.failed("a response arrived") }
                try trial.expect(error is CancellationError, "the arrival is \(error)")
                break
            }
            do {
                try await begun.finish { _ in }
                throw trial.failed("finish delivered a response of a cancelled request")
            } catch is CancellationError {
                try await trial.waitForNoConnection()
            }
        },
        .required("cancelledAfterTheArrival", "To cancel a request that has ended does nothing.") { trial in
            trial.origin.setResponse(LoopbackOrigin.Response(body: .text("face")), for: "/a.png")
            let (begun, arrival) = try await trial.begin("/a.png")
            if arrival.body == nil { try await begun.finish { _ in } }
            begun.cancel()
            try trial.expect(try await trial.get("/a.png").text, is: "face", "the body of the next request")
        },
    ]
}
