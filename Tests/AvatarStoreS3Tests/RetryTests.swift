import AvatarCore
import Foundation
import Testing

import AvatarProviders
@testable import AvatarStoreS3

@Suite(.timeLimit(.minutes(5)))
struct RetryTests {
    @Test(arguments: ["503 SlowDown", "500 InternalError", "502 Bad", "504 Gateway", "429 TooManyRequests"])
    func temporaryFailuresAreRetried(_ status: String) async throws {
        let server = try LyingServer { number, _ in
            number < 2 ? .error(status, "SlowDown") : .response("200 OK", fields: ["ETag: \"no-digest-7\""])
        }
        try await S3Tier.at(server).put("a", [1])
        #expect(server.requests.count == 3)
        #expect(server.requests.allSatisfy { $0.body == [1] })
    }

    @Test func attemptsHaveALimit() async throws {
        let server = try LyingServer { _, _ in .error("503 S", "SlowDown") }
        let tier = try S3Tier.at(server)
        let error = await #expect(throws: SharedTierError.self) { try await tier.put("a", [1]) }
        #expect(error?.kind == .slowDown)
        #expect(server.requests.count == 4)
    }

    @Test(arguments: ["403 AccessDenied", "400 InvalidRequest", "404 NoSuchBucket", "507 Full", "301 Moved"])
    func otherFailuresAreNotRetried(_ status: String) async throws {
        let server = try LyingServer { _, _ in .error(status, String(status.dropFirst(4))) }
        let tier = try S3Tier.at(server)
        await #expect(throws: SharedTierError.self) { try await tier.put("a", [1]) }
        #expect(server.requests.count == 1)
    }

    @Test func aRetryAfterIsHonoured() async throws {
        let server = try LyingServer { number, _ in
            number == 0 ? .error("503 S", "SlowDown", fields: ["Retry-After: 1"]) : .response("200 OK")
        }
        let start = ContinuousClock.now
        try await S3Tier.at(server).put("a", [1])
        #expect(ContinuousClock.now - start >= .seconds(1))
    }

    @Test func pausesGrowUpToALimit() {
        let now = Timestamp(Date())
        for failures in 1...30 {
            let limit = min(5_000, 200 << min(failures - 1, 10))
            let pause = RetrySchedule.pause(after: failures, retryAfter: "", now: now)
            #expect(.zero...(.milliseconds(limit)) ~= pause)
        }
        #expect(RetrySchedule.pause(after: 1, retryAfter: "9999999", now: now) <= .seconds(5))
        #expect(RetrySchedule.pause(after: 1, retryAfter: "3600", now: now) == .seconds(5))
        let date = HTTPDate.format(now.adding(seconds: 3))
        #expect(RetrySchedule.pause(after: 1, retryAfter: date, now: now) > .seconds(1))
    }

    @Test func aConnectionThatEndsAfterARefusedPutIsReplaced() async throws {
        let server = try LyingServer { number, _ in
            number == 0
                ? .textAndClose("HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n")
                : .response("200 OK", "abc")
        }
        let tier = try S3Tier.at(server) { $0.attempts = 1 }
        #expect(try await tier.create("a", [1]) == .unsupported)
        #expect(try await tier.get("a", limit: 3) == Array("abc".utf8))
    }

    @Test func aConnectionIsUsedAgain() async throws {
        let server = try LyingServer { _, _ in .response("200 OK", "abc") }
        let tier = try S3Tier.at(server)
        for _ in 0..<50 { _ = try await tier.get("a", limit: 3) }
        #expect(server.requests.count == 50)
        #expect(server.connections.value == 1)
    }

    @Test func aRetryGetsANewConnection() async throws {
        let server = try LyingServer { number, _ in number == 0 ? .error("500 S", "InternalError") : .response("200 OK")
        }
        try await S3Tier.at(server).put("a", [1])
        #expect(server.connections.value == 2)
    }
}
