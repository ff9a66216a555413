import AvatarCore
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

@testable import AvatarStoreS3

@Suite(.serialized, .timeLimit(.minutes(5)))
struct CancellationTests {
    @Test func aSilentServiceDoesNotDelayCancellation() async throws {
        let server = try LyingServer { _, _ in .silence }
        let tier = try S3Tier.at(server)
        // 40 tasks for 16 connections, so some of them wait.
        let tasks = (0..<40).map { number in Task { try await tier.put("a/\(number)", [1, 2, 3]) } }
        try await waitUntil { server.requests.count >= 16 }
        let start = ContinuousClock.now
        for task in tasks { task.cancel() }
        for task in tasks {
            let result = await task.result
            #expect(throws: CancellationError.self) { try result.get() }
        }
        #expect(ContinuousClock.now - start < .seconds(15), "a silent service is given up after 20 seconds")
    }

    @Test func cancellationEndsAPauseBetweenAttempts() async throws {
        let server = try LyingServer { _, _ in .error("503 Slow", "SlowDown", fields: ["Retry-After: 5"]) }
        let tier = try S3Tier.at(server)
        let task = Task { try await tier.put("a", []) }
        try await waitUntil { !server.requests.isEmpty }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(server.requests.count == 1)
    }

    @Test func releasedTiersLeakNothing() async throws {
        let server = try LyingServer { number, _ in number % 3 == 0 ? .silence : .response("200 OK", "abc") }
        let before = try Socket.openDescriptors()
        let tiers = 200
        for _ in 0..<tiers {
            let tier = try S3Tier.at(server)
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<24 {
                    group.addTask {
                        _ = await Task { try await tier.get("a/\(number)", limit: 10) }.resultAfterAWhile()
                    }
                }
            }
        }
        // A tier has at least three descriptors. Tests that run at the same time have some too, and give them back.
        try await waitUntil { try Socket.openDescriptors() - before < tiers }
    }
}

extension Task where Success: Sendable {
    /// The result, after up to 5 milliseconds after which the task is cancelled.
    func resultAfterAWhile() async -> Result<Success, Failure> {
        let timer = Task<Void, Never> {
            do { try await Task<Never, Never>.sleep(for: .milliseconds(5)) } catch { return }
            self.cancel()
        }
        defer { timer.cancel() }
        return await result
    }
}

extension S3Tier {
    /// A tier at a server of a test, with short times.
    static func at(_ server: LyingServer, _ change: (inout S3Configuration) -> Void = { _ in }) throws -> S3Tier {
        var configuration = S3Configuration(
            bucket: "fleet",
            endpoint: server.endpoint,
            credentials: S3Credentials(
                accessKey: "AKIA:HIDDEN",
                secretKey: "hidden-secret",
                sessionToken: "hidden-token"
            )
        )
        change(&configuration)
        return try S3Tier(configuration)
    }
}
