import AvatarCore
import Foundation
import ProgramRunning
import Testing

import AvatarProviders
@testable import AvatarStoreS3

/// Responses that break the rules, or that name a failure.
@Suite(.timeLimit(.minutes(5)))
struct LieTests {
    private static func error(
        of call: (S3Tier) async throws -> some Any,
        _ change: (inout S3Configuration) -> Void = { _ in },
        _ reply: @escaping @Sendable (Int, LyingServer.Request) -> LyingServer.Reply
    ) async throws -> SharedTierError? {
        let server = try LyingServer(reply)
        let tier = try S3Tier.at(server) { configuration in
            configuration.attempts = 1
            change(&configuration)
        }
        let error = await #expect(throws: SharedTierError.self) { _ = try await call(tier) }
        for secret in ["AKIA", "HIDDEN", "hidden", "list-type", "Signature="] {
            #expect(error?.message.contains(secret) == false, "\(error?.message ?? "")")
        }
        #expect(error?.message.contains("\"fleet\" at \(server.endpoint)") == true, "\(error?.message ?? "")")
        return error
    }

    private static func get(_ tier: S3Tier) async throws -> [UInt8]? { try await tier.get("a", limit: 1_000) }
    private static func list(_ tier: S3Tier) async throws -> SharedTierPage {
        try await tier.list(prefix: "", after: nil)
    }

    // MARK: Broken responses

    @Test func aBodyThatIsCutOffIsNoObject() async throws {
        let error = try await Self.error(of: Self.get) { _, _ in
            .textAndClose("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        }
        #expect(error?.kind == .unavailable)
    }

    @Test func aBodyThatIsCutOffIsAskedForAgain() async throws {
        let server = try LyingServer { number, _ in
            number == 0
                ? .textAndClose("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc") : .response("200 OK", "abcdefghij")
        }
        #expect(try await S3Tier.at(server).get("a", limit: 10) == Array("abcdefghij".utf8))
    }

    @Test func anEndlessBodyEndsAtTheLimit() async throws {
        let error = try await Self.error(of: Self.get) { _, _ in .endless }
        #expect(error?.kind == .invalidObject)
        #expect(error?.message.contains("1000 bytes") == true)
        #expect(try await Self.error(of: Self.list) { _, _ in .endless }?.kind == .invalidObject)
    }

    @Test func silenceEndsAtTheTimeout() async throws {
        let start = ContinuousClock.now
        let error = try await Self.error(of: Self.get, { $0.requestTimeout = .milliseconds(300) }) { _, _ in .silence }
        #expect(error?.kind == .unavailable)
        #expect(ContinuousClock.now - start < .seconds(30))
    }

    @Test func aStalledBodyEndsAtTheTimeout() async throws {
        let start = ContinuousClock.now
        let error = try await Self.error(of: Self.get, { $0.stallTimeout = .seconds(1) }) { _, _ in .silence }
        #expect(error?.kind == .unavailable)
        #expect(ContinuousClock.now - start < .seconds(15))
    }

    @Test func aHeadWithoutEndAndAnotherProtocolAreRefused() async throws {
        let head = String(repeating: "X-Field: \(String(repeating: "y", count: 1_000))\r\n", count: 100)
        #expect(
            try await Self.error(of: Self.get) { _, _ in .text("HTTP/1.1 200 OK\r\n\(head)") }?.kind == .unavailable
        )
        #expect(
            try await Self.error(of: Self.get) { _, _ in .textAndClose("SSH-2.0-OpenSSH\r\n") }?.kind == .unavailable
        )
    }

    @Test(arguments: [
        "", "<html>", "not XML", "<ListBucketResult><IsTruncated>false</IsTruncated>",
        "<ListBucketResult></ListBucketResult>", "<Other><IsTruncated>false</IsTruncated></Other>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        listing(["b", "a"]), listing(["a", "a"]),
        "<!DOCTYPE a [<!ENTITY b \"c\">]>" + listing(["a"]),
    ])
    func aListingOfAnotherFormIsRefused(_ body: String) async throws {
        #expect(try await Self.error(of: Self.list) { _, _ in .response("200 OK", body) }?.kind == .invalidObject)
    }

    @Test func aListingThatIgnoresItsStartIsRefused() async throws {
        let error = try await Self.error(of: { try await $0.list(prefix: "", after: "a") }) { _, _ in
            .response("200 OK", Self.listing(["a", "b"]))
        }
        #expect(error?.kind == .invalidObject)
        let other = try await Self.error(of: { try await $0.list(prefix: "b", after: nil) }) { _, _ in
            .response("200 OK", Self.listing(["a"]))
        }
        #expect(other?.kind == .invalidObject)
    }

    private static func listing(_ keys: [String]) -> String {
        let contents = keys.map { "<Contents><Key>\($0)</Key></Contents>" }.joined()
        return "<ListBucketResult><IsTruncated>false</IsTruncated>\(contents)</ListBucketResult>"
    }

    // MARK: Refusals

    @Test(arguments: [
        ("403 F", "AccessDenied", SharedTierError.Kind.denied, "Allow the access key"),
        ("403 F", "InvalidAccessKeyId", .denied, "does not know the access key"),
        ("403 F", "SignatureDoesNotMatch", .denied, "Check the access key, the secret key and the region"),
        ("400 B", "ExpiredToken", .denied, "Get new temporary credentials"),
        ("404 N", "NoSuchBucket", .noBucket, "Create it"),
        ("503 S", "SlowDown", .slowDown, "asks for fewer requests"),
        ("503 S", "ServiceUnavailable", .unavailable, "Try again later"),
        ("500 S", "InternalError", .unavailable, "Try again later"),
        ("507 S", "XMinioStorageFull", .full, "full"),
        ("403 F", "QuotaExceeded", .full, "quota"),
        ("413 F", "EntityTooLarge", .full, "quota"),
        ("405 M", "MethodNotAllowed", .invalidConfiguration, "Check the endpoint"),
    ])
    func codesBecomeKinds(_ status: String, _ code: String, _ kind: SharedTierError.Kind, _ words: String) async throws
    {
        let more = "<Message>AKIA:HIDDEN</Message><AWSAccessKeyId>AKIA:HIDDEN</AWSAccessKeyId>"
        let error = try await Self.error(of: { try await $0.put("a", [1]) }) { _, _ in
            .error(status, code, more: more)
        }
        #expect(error?.kind == kind)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("(\(status.prefix(3)) \(code))") == true, "\(error?.message ?? "")")
    }

    @Test func anotherRegionIsNamed() async throws {
        let moved = try await Self.error(of: Self.get) { _, _ in
            .error(
                "301 M",
                "PermanentRedirect",
                fields: ["x-amz-bucket-region: eu-west-2", "Location: http://127.0.0.1:1/"]
            )
        }
        #expect(moved?.kind == .denied)
        #expect(moved?.message.contains("the bucket is in \"eu-west-2\"") == true)
        let malformed = try await Self.error(of: Self.get) { _, _ in
            .error("400 B", "AuthorizationHeaderMalformed", more: "<Region>eu-west-3</Region>")
        }
        #expect(malformed?.message.contains("the bucket is in \"eu-west-3\"") == true)
        let elsewhere = try await Self.error(of: Self.get) { _, _ in
            .response("301 M", fields: ["Location: https://127.0.0.1/"])
        }
        #expect(elsewhere?.kind == .invalidConfiguration)
    }

    @Test func theSkewOfTheClockIsNamed() async throws {
        let ahead = HTTPDate.format(Timestamp(Date(timeIntervalSinceNow: 3_000)))
        let error = try await Self.error(of: Self.get) { _, _ in
            .error("403 F", "RequestTimeTooSkewed", fields: ["Date: \(ahead)"])
        }
        #expect(error?.kind == .denied)
        let words = try #require(error?.message)
        #expect(words.contains("49 minutes behind") || words.contains("50 minutes behind"), "\(words)")
    }

    @Test func aPageOfAnotherServerIsNoAbsence() async throws {
        let error = try await Self.error(of: Self.get) { _, _ in .response("404 Not Found", "<html>nothing</html>") }
        #expect(error?.kind == .invalidConfiguration)
    }

    @Test func aServiceThatIsAwayIsUnavailable() async throws {
        let (descriptor, port) = try Socket.listen()
        close(descriptor)
        var configuration = S3Configuration(
            bucket: "fleet",
            endpoint: "http://127.0.0.1:\(port)",
            credentials: S3Credentials(accessKey: "a", secretKey: "b")
        )
        configuration.attempts = 2
        let tier = try S3Tier(configuration)
        let error = await #expect(throws: SharedTierError.self) { try await tier.put("a", []) }
        #expect(error?.kind == .unavailable)
        #expect(error?.message.contains("refused") == true)
    }

    @Test func aTlsEndpointWithoutTlsIsExplained() async throws {
        let server = try LyingServer { _, _ in .textAndClose("no") }
        let tier = try S3Tier.at(server) { configuration in
            configuration.endpoint = server.endpoint.replacing("http:", with: "https:")
            (configuration.attempts, configuration.requestTimeout) = (1, .seconds(2))
        }
        let error = await #expect(throws: SharedTierError.self) { try await tier.put("a", []) }
        #expect(error?.kind == .unavailable)
    }
}
