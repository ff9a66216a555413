import AvatarCore
import Foundation
import Testing

import AvatarProviders
@testable import AvatarStoreS3

/// The errors of real engines.
@Suite(
    .enabled("needs an S3 engine: scripts/start-seaweedfs") { !EngineName.available.isEmpty },
    .serialized,
    .timeLimit(.minutes(5))
)
struct EngineRefusalTests {
    /// The error of a listing with a changed configuration.
    private static func error(
        _ name: EngineName,
        _ change: (inout S3Configuration) -> Void
    ) async throws -> SharedTierError? {
        let tier = try #require(name.engine).tier(change)
        let error = await #expect(throws: SharedTierError.self) { try await tier.list(prefix: "", after: nil) }
        return error
    }

    @Test(arguments: EngineName.available)
    func aWrongSecretIsDenied(_ name: EngineName) async throws {
        let error = try await Self.error(name) { $0.credentials.secretKey = "wrong-secret" }
        #expect(error?.kind == .denied)
        #expect(error?.message.contains("(403 SignatureDoesNotMatch)") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("wrong-secret") == false)
    }

    @Test(arguments: EngineName.available)
    func anUnknownKeyIsDenied(_ name: EngineName) async throws {
        let error = try await Self.error(name) { $0.credentials.accessKey = "wrongkey:x" }
        #expect(error?.kind == .denied)
        #expect(error?.message.contains("access key") == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("wrongkey") == false)
    }

    @Test(arguments: EngineName.available)
    func aMissingBucketIsNamed(_ name: EngineName) async throws {
        let tier = try #require(name.engine).tier { $0.bucket = "missing-bucket" }
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await tier.list(prefix: "", after: nil) }, { _ = try await tier.get("a", limit: 1) },
            { try await tier.delete("a") }, { try await tier.put("a", [1]) },
        ]
        // SeaweedFS makes the bucket at the first PUT.
        for call in name == .seaweedFS ? calls.dropLast() : calls[...] {
            let error = await #expect(throws: SharedTierError.self) { try await call() }
            #expect(error?.kind == .noBucket, "\(error?.message ?? "")")
            #expect(error?.message.contains("\"missing-bucket\"") == true)
        }
    }

    @Test(.enabled("needs OpenStack Swift: scripts/test --thorough") { Engine.openStackSwift != nil })
    func aWrongRegionIsCorrected() async throws {
        let error = try await Self.error(.openStackSwift) { $0.region = "eu-north-9" }
        #expect(error?.kind == .denied)
        #expect(error?.message.contains("\"eu-north-9\"") == true)
        #expect(error?.message.contains("\"us-east-1\"") == true, "\(error?.message ?? "")")
    }
}
