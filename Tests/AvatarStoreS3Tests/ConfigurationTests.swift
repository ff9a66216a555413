import AvatarCore
import Foundation
import Testing

import AvatarProviders
@testable import AvatarStoreS3

@Suite(.timeLimit(.minutes(5)))
struct ConfigurationTests {
    private static let keys = ["AWS_ACCESS_KEY_ID": "account:user", "AWS_SECRET_ACCESS_KEY": "hidden"]

    @Test func theEnvironmentIsRead() throws {
        let more = [
            "AWS_SESSION_TOKEN": "token", "AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-2",
            "AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_S3": "http://b", "AWS_CA_BUNDLE": "/ca.pem",
        ]
        let configuration = try S3Configuration(
            url: "s3://fleet/some/prefix/",
            environment: Self.keys.merging(more) { $1 }
        )
        #expect(configuration.bucket == "fleet")
        #expect(configuration.prefix == "some/prefix")
        #expect(configuration.endpoint == "http://b")
        #expect(configuration.region == "eu-west-1")
        #expect(configuration.certificateFile == "/ca.pem")
        let credentials = S3Credentials(accessKey: "account:user", secretKey: "hidden", sessionToken: "token")
        #expect(configuration.credentials == credentials)
        let other = try S3Configuration(url: "s3://fleet", endpoint: "http://c", environment: Self.keys)
        #expect(other.endpoint == "http://c")
        #expect(other.region == "us-east-1")
        #expect(other.prefix == "")
        #expect(other.credentials.sessionToken == nil)
    }

    @Test func theCredentialsFileIsRead() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path()
        defer { try? FileManager.default.removeItem(atPath: file) }
        let text = """
            # a comment
            [default]
            aws_access_key_id = one
            aws_secret_access_key=first = secret

            [ fleet ]
            AWS_ACCESS_KEY_ID = account:user
            aws_secret_access_key = second
            aws_session_token = token
            [empty]
            """
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        func credentials(_ profile: String?) throws -> S3Credentials {
            var environment = ["AWS_SHARED_CREDENTIALS_FILE": file]
            environment["AWS_PROFILE"] = profile
            return try S3Configuration(url: "s3://fleet", environment: environment).credentials
        }
        #expect(try credentials(nil) == S3Credentials(accessKey: "one", secretKey: "first = secret"))
        let second = S3Credentials(accessKey: "account:user", secretKey: "second", sessionToken: "token")
        #expect(try credentials("fleet") == second)
        for profile in ["empty", "absent"] {
            let error = #expect(throws: SharedTierError.self) { try credentials(profile) }
            #expect(error?.kind == .invalidConfiguration)
            #expect(error?.message.contains("\"\(profile)\"") == true)
        }
    }

    @Test(arguments: ["s3://b?x=1", "s3://user:hidden@b", "http://b", "b"])
    func otherURLsAreRefused(_ url: String) {
        let error = #expect(throws: SharedTierError.self) { try S3Configuration(url: url, environment: Self.keys) }
        #expect(error?.kind == .invalidConfiguration)
        #expect(error?.message.contains("hidden") == false)
    }

    @Test func incompleteCredentialsAreRefused() {
        for name in Self.keys.keys {
            var environment = Self.keys
            environment[name] = ""
            #expect(throws: SharedTierError.self) { try S3Configuration(url: "s3://b", environment: environment) }
        }
        let empty = ["HOME": "/nonexistent"]
        let error = #expect(throws: SharedTierError.self) { try S3Configuration(url: "s3://b", environment: empty) }
        #expect(error?.message.contains("/nonexistent/.aws/credentials") == true)
    }

    @Test func theURLDependsOnTheStyle() throws {
        let credentials = S3Credentials(accessKey: "a", secretKey: "b")
        func url(_ bucket: String, _ endpoint: String?, _ usesPath: Bool? = nil) throws -> String {
            var configuration = S3Configuration(bucket: bucket, endpoint: endpoint, credentials: credentials)
            (configuration.usesPathStyle, configuration.region, configuration.prefix) = (usesPath, "eu-west-1", "p")
            return try S3Address(configuration).object("k/1")
        }
        #expect(try url("fleet", nil) == "https://fleet.s3.eu-west-1.amazonaws.com/p/k/1")
        #expect(try url("fleet.x", nil) == "https://s3.eu-west-1.amazonaws.com/fleet.x/p/k/1")
        #expect(try url("fleet", "http://127.0.0.1:9000/") == "http://127.0.0.1:9000/fleet/p/k/1")
        #expect(try url("fleet", "https://S3.example.com", false) == "https://fleet.s3.example.com/p/k/1")
        #expect(try url("fleet", "http://[::1]:9000") == "http://[::1]:9000/fleet/p/k/1")
    }

    @Test func valuesOutsideOfTheRulesAreRefused() {
        let changes: [(inout S3Configuration) -> Void] = [
            { $0.bucket = "" }, { $0.bucket = "a/b" }, { $0.bucket = ".." }, { $0.bucket = "a?b" },
            { $0.prefix = "/a" }, { $0.prefix = "a//b" }, { $0.prefix = "a/../b" }, { $0.prefix = "a b" },
            { $0.prefix = String(repeating: "a/", count: 150) + "a" }, { $0.region = "" }, { $0.region = "a:b" },
            { $0.endpoint = "ftp://a" }, { $0.endpoint = "http://user:hidden@a" }, { $0.endpoint = "http://a/b" },
            { $0.endpoint = "http://a?hidden" }, { $0.endpoint = "http://" }, { $0.endpoint = "http://:1" },
            { $0.connections = 0 }, { $0.connections = 257 }, { $0.attempts = 0 }, { $0.attempts = 21 },
            { $0.connectTimeout = .zero }, { $0.stallTimeout = .seconds(90_000) },
            { $0.credentials.accessKey = "" }, { $0.credentials.secretKey = "hidden\r\nX: y" },
            { $0.credentials.sessionToken = "a\0" },
        ]
        for (number, change) in changes.enumerated() {
            var configuration = S3Configuration(
                bucket: "fleet",
                credentials: S3Credentials(accessKey: "a", secretKey: "b")
            )
            change(&configuration)
            let error = #expect(throws: SharedTierError.self, "\(number)") { try S3Tier(configuration) }
            #expect(error?.kind == .invalidConfiguration)
            #expect(error?.message.contains("hidden") == false)
        }
    }

    @Test func noDescriptionShowsCredentials() throws {
        let credentials = S3Credentials(accessKey: "hidden1", secretKey: "hidden2", sessionToken: "hidden3")
        let configuration = S3Configuration(bucket: "fleet", credentials: credentials)
        let tier = try S3Tier(configuration)
        for value in [credentials, configuration, Optional(credentials) as Any, [credentials], tier] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] {
                #expect(!text.contains("hidden1"), "\(text)")
            }
            for text in ["\(value)", String(reflecting: value), dumped] {
                #expect(!text.contains("hidden2"), "\(text)")
            }
            for text in ["\(value)", String(reflecting: value), dumped] {
                #expect(!text.contains("hidden3"), "\(text)")
            }
        }
    }
}
