import AvatarDigest
import Foundation
import Testing

@testable import AvatarStoreS3

/// The signature of libcurl, compared with one made here by the rules of Signature Version 4.
@Suite(.timeLimit(.minutes(5)))
struct SignatureTests {
    /// The Authorization field that `request` must have.
    private static func authorization(_ request: LyingServer.Request, secret: String) throws -> String {
        let actual = try #require(request.field("authorization"))
        let signed = try #require(actual.firstMatch(of: /SignedHeaders=([^,]+)/)).1.split(separator: ";").map(
            String.init
        )
        let scope = try #require(actual.firstMatch(of: /Credential=.*?\/(\d{8}\/[^,]+),/)).1.split(separator: "/")
        let line = try #require(request.head.split(separator: "\r\n").first).split(separator: " ")
        let target = line[1].split(separator: "?", maxSplits: 1).map(String.init)
        let fields = try signed.map { "\($0):\(try #require(request.field($0)))\n" }.joined()
        let hash = try #require(request.field("x-amz-content-sha256"))
        let canonical = [
            String(line[0]), target[0], target.count > 1 ? target[1] : "", fields, signed.joined(separator: ";"), hash,
        ].joined(separator: "\n")
        let date = try #require(request.field("x-amz-date"))
        let text = [
            "AWS4-HMAC-SHA256", date, scope.joined(separator: "/"), hex(SHA256.hash(canonical.utf8)),
        ]
        var key = Array("AWS4\(secret)".utf8)
        for part in scope.map(String.init) + [text.joined(separator: "\n")] {
            key = hmac(part, key: key)
        }
        return try #require(actual.firstMatch(of: /^.*Signature=/)).0 + hex(key)
    }

    /// HMAC-SHA256 (RFC 2104) for keys of at most 64 bytes.
    private static func hmac(_ text: String, key: [UInt8]) -> [UInt8] {
        let block = key + [UInt8](repeating: 0, count: 64 - key.count)
        return SHA256.hash(block.map { $0 ^ 0x5c } + SHA256.hash(block.map { $0 ^ 0x36 } + text.utf8))
    }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
    }

    @Test func allRequestsAreSigned() async throws {
        let listing = "<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"
        let server = try LyingServer { _, _ in .response("200 OK", listing) }
        let tier = try S3Tier.at(server) { configuration in
            configuration.prefix = "Some_prefix/x"
            configuration.region = "eu-west-3"
        }
        _ = try await tier.get("a/b-c.d", limit: 1_000)
        _ = try await tier.list(prefix: "a/", after: "a/b")
        try await tier.put("a", [1, 2, 3])
        try await tier.put("a", [])
        _ = try await tier.create("a", [1])
        try await tier.delete("a")
        let requests = server.requests
        #expect(
            requests.map { $0.head.prefix { $0 != "\r\n" } } == [
                "GET /fleet/Some_prefix/x/a/b-c.d HTTP/1.1",
                "GET /fleet/?encoding-type=url&list-type=2&max-keys=1000&prefix=Some_prefix%2Fx%2Fa%2F"
                    + "&start-after=Some_prefix%2Fx%2Fa%2Fb HTTP/1.1",
                "PUT /fleet/Some_prefix/x/a HTTP/1.1", "PUT /fleet/Some_prefix/x/a HTTP/1.1",
                "PUT /fleet/Some_prefix/x/a HTTP/1.1", "DELETE /fleet/Some_prefix/x/a HTTP/1.1",
            ]
        )
        for request in requests {
            let actual = try #require(request.field("authorization"))
            #expect(try actual == Self.authorization(request, secret: "hidden-secret"), "\(request.head)")
            #expect(actual.hasPrefix("AWS4-HMAC-SHA256 Credential=AKIA:HIDDEN/"))
            #expect(actual.contains("/eu-west-3/s3/aws4_request"))
            #expect(request.field("x-amz-security-token") == "hidden-token")
            #expect(actual.contains(";x-amz-security-token"))
            #expect(request.field("x-amz-content-sha256") == Self.hex(SHA256.hash(request.body)))
            #expect(request.field("expect") == nil)
        }
        #expect(requests.map(\.body) == [[], [], [1, 2, 3], [], [1], []])
        #expect(requests.map { $0.field("if-none-match") } == [nil, nil, nil, nil, "*", nil])
    }

    /// The example of the documentation of Amazon S3 ("GET Object") checks the signer of this test.
    @Test func theSignerOfThisTestFollowsThePublishedExample() throws {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        let request = LyingServer.Request(
            head: [
                "GET /test.txt HTTP/1.1", "Host: examplebucket.s3.amazonaws.com", "Range: bytes=0-9",
                "x-amz-content-sha256: \(empty)", "x-amz-date: 20130524T000000Z",
                "Authorization: AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                    + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature=none",
            ].joined(separator: "\r\n"),
            body: []
        )
        let signed = try Self.authorization(request, secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
        #expect(signed.hasSuffix("Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"))
    }
}
