import AvatarProviders
import AvatarStore
import Synchronization

/// Deadlines, cancellation and the shutdown.
extension OriginClientConformance {
    static let endings: [Check] = [
        .required("cancelledBefore", "A cancelled task sends no request.") { trial in
            let task = trial.task {
                // The task is cancelled by now, or waits until it is.
                while !Task.isCancelled { await Task.yield() }
                _ = try await trial.get("/a.png")
            }
            task.cancel()
            try trial.expect(await task.isCancelledError, "the client did not throw a CancellationError")
            try trial.expect(trial.origin.requestCount, is: 0, "the number of requests")
        },
        .required("cancelledBeforeTheHead", "A cancelled request that waits for its response returns at once.") {
            trial in
            trial.origin.setResponse(.hang, for: "/a.png")
            try await trial.expectPromptEnd { trial in
                trial.origin.resetCounts()
                let task = trial.task { _ = try await trial.get("/a.png") }
                try await trial.wait(for: "the request") { trial.origin.requestCount == 1 }
                return task
            }
            try await trial.waitForNoConnection()
        },
        .required("cancelledInTheBody", "A cancelled request whose body drips returns at once.") { trial in
            let response = LoopbackOrigin.Response(body: .generated(byteCount: 1_000_000))
            trial.origin.setResponse(response.behaving(.drip(byteCount: 1, interval: .milliseconds(20))), for: "/a.png")
            try await trial.expectPromptEnd { trial in
                trial.origin.resetCounts()
                let task = trial.task { _ = try await trial.get("/a.png") }
                try await trial.wait(for: "the third byte") { trial.origin.bytesSent >= 3 }
                return task
            }
            try await trial.waitForNoConnection()
        },
        .required("cancelledWhilePaused", "A cancelled request whose body is not read returns at once.") { trial in
            trial.origin.setResponse(LoopbackOrigin.Response(body: .generated(byteCount: 100_000_000)), for: "/a.png")
            try await trial.expectPromptEnd { trial in
                let (reading, hasBegun) = AsyncStream.makeStream(of: Void.self)
                let task = trial.task {
                    try await trial.client.send(OriginRequest(url: trial.origin.url("/a.png"))) { response in
                        _ = try await response.body.next()
                        hasBegun.finish()
                        try await Task.sleep(for: .seconds(60))
                    }
                }
                for await _ in reading {}
                return task
            }
            try await trial.waitForNoConnection()
        },
        .required(
            "cancelledInTheQueue",
            "A cancelled request that waits for a connection returns at once.",
            {
                $0.connectionsPerHost = 1
            }
        ) { trial in
            trial.origin.setResponse(.hang, for: "/a.png")
            let first = trial.task { _ = try await trial.get("/a.png") }
            try await trial.wait(for: "the first request") { trial.origin.requestCount == 1 }
            try await trial.expectPromptEnd { trial in
                trial.task { _ = try await trial.get("/a.png") }
            }
            first.cancel()
            try trial.expect(await first.isCancelledError, "the client did not throw a CancellationError")
            try await trial.waitForNoConnection()
        },
        .required("deadline", "The store ends a fetch at its deadline, within the head and within the body.") { trial in
            trial.origin.setResponse(.hang, for: "/a.png")
            let slow = LoopbackOrigin.Response.image(SampleImage.png(seed: 1, byteCount: 100_000))
            trial.origin.setResponse(slow.behaving(.drip(byteCount: 1, interval: .milliseconds(20))), for: "/b.png")
            try await StoreFixture.withStore({
                $0.originClient = trial.client
                $0.timeout = .milliseconds(300)
            }) { fixture in
                for path in ["/a.png", "/b.png"] {
                    let start = ContinuousClock.now
                    do {
                        _ = try await fixture.store.avatar(for: trial.origin.url(path))
                        throw trial.failed("\(path) did not time out")
                    } catch let error as AvatarStoreError {
                        try trial.expect(error.failure, is: .timeout, "the failure of \(path)")
                    }
                    let took = ContinuousClock.now - start
                    try trial.expect(took < .seconds(30), "the fetch of \(path) took \(took)")
                }
            }
            try await trial.waitForNoConnection()
        },
        .recommended(
            "idleTimeout",
            "A silent origin is a timeout, before the head and within the body.",
            {
                $0.idleTimeoutSeconds = 1
            }
        ) { trial in
            trial.origin.setResponse(.hang, for: "/a.png")
            let slow = LoopbackOrigin.Response(body: .text("face"))
            trial.origin.setResponse(slow.behaving(.drip(byteCount: 1, interval: .seconds(30))), for: "/b.png")
            for path in ["/a.png", "/b.png"] {
                let start = ContinuousClock.now
                try await trial.expectError(.timeout, of: path) { _ = try await trial.get(path) }
                try trial.expect(
                    ContinuousClock.now - start < .seconds(25),
                    "\(path) took \(ContinuousClock.now - start)"
                )
            }
        },
    ]

    static let shutdowns: [Check] = [
        .required("afterTheShutdown", "A request after the shutdown fails as offline, and blames no URL.") { trial in
            guard try await trial.shutDown() else { return }
            try await trial.expectError(.offline, of: "a request after the shutdown") {
                _ = try await trial.get("/a.png")
            }
            try trial.expect(trial.origin.requestCount, is: 0, "the number of requests")
        },
        .required("duringTheShutdown", "The shutdown fails requests in progress as offline, and closes connections.") {
            trial in
            trial.origin.setResponse(.hang, for: "/a.png")
            let slow = LoopbackOrigin.Response(body: .generated(byteCount: 1_000_000))
            trial.origin.setResponse(slow.behaving(.drip(byteCount: 1, interval: .milliseconds(20))), for: "/b.png")
            let waiting = trial.task { _ = try await trial.get("/a.png") }
            let reading = trial.task { _ = try await trial.get("/b.png") }
            try await trial.wait(for: "both requests") { trial.origin.requestCount == 2 && trial.origin.bytesSent > 0 }
            guard try await trial.shutDown() else {
                waiting.cancel()
                reading.cancel()
                return
            }
            try await trial.expectError(.offline, of: "a request that waits for its head") { try await waiting.value }
            try await trial.expectError(nil, of: "a request within its body") { try await reading.value }
            try await trial.waitForNoConnection()
        },
        .required("begunBeforeTheShutdown", "The shutdown fails begun requests, held back or sent, as offline.") {
            trial in
            let client = trial.client
            trial.origin.setResponse(.hang, for: "/a.png")
            let (arrivals, told) = AsyncStream.makeStream(of: Result<OriginArrival, any Error>.self)
            for number in 1...2 {
                _ = client.begin(OriginRequest(url: trial.origin.url("/a.png"))) { told.yield($0) }
                // The second request stays held back.
                guard number == 1 else { continue }
                client.flush()
                try await trial.wait(for: "the request") { trial.origin.requestCount == 1 }
            }
            guard try await trial.shutDown() else { return }
            client.flush()
            var count = 0
            for await arrival in arrivals {
                try await trial.expectError(.offline, of: "a begun request") { _ = try arrival.get() }
                count += 1
                if count == 2 { break }
            }
        },
    ]
}

extension Task where Success: Sendable, Failure == any Error {
    /// Whether the task ends with a `CancellationError`.
    fileprivate var isCancelledError: Bool {
        get async {
            if case .failure(let error) = await result { return error is CancellationError }
            return false
        }
    }
}

extension ConformanceTrial {
    /// Cancels tasks that `begin` brings into a state, and requires that they end with a `CancellationError` within 50
    /// milliseconds. The fastest of 20 counts, because the machine may be busy.
    fileprivate func expectPromptEnd(
        _ begin: (ConformanceTrial) async throws -> Task<Void, any Error>
    ) async throws {
        var fastest = Duration.seconds(60)
        for _ in 0..<20 where fastest > .milliseconds(50) {
            let task = try await begin(self)
            let start = ContinuousClock.now
            task.cancel()
            let isCancelled = await task.isCancelledError
            fastest = min(fastest, ContinuousClock.now - start)
            try expect(isCancelled, "the client did not throw a CancellationError")
        }
        try expect(fastest <= .milliseconds(50), "the request returned \(fastest) after its cancellation")
    }
}
