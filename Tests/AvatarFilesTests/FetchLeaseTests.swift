import AvatarCore
import AvatarFileSystem
import AvatarFiles
import Foundation
import Testing

/// A lease belongs to an open file description, so two values of `FetchLeases` exclude each other like two processes.
@Suite(.timeLimit(.minutes(5))) struct FetchLeaseTests {
    private let ada = AvatarKey(stored: "https://example.org/ada.png")
    private let bob = AvatarKey(stored: "https://example.org/bob.png")

    @Test func oneOfTwoHasTheLeaseOfAKey() throws {
        try withLeases { one, other in
            let lease = try one.take(ada)

            #expect(lease != nil)
            #expect(try other.take(ada) == nil)
            withExtendedLifetime(lease) {}
        }
    }

    @Test func otherKeysAreFree() throws {
        try withLeases { one, other in
            let lease = try one.take(ada)

            #expect(try other.take(bob) != nil)
            withExtendedLifetime(lease) {}
        }
    }

    @Test func releasedLeaseIsFree() throws {
        try withLeases { one, other in
            do {
                let lease = try one.take(ada)
                withExtendedLifetime(lease) {}
            }

            #expect(try other.take(ada) != nil)
        }
    }

    /// A cancelled fetch may end after the next one for its key has begun.
    @Test func twoFetchesOfOneStoreKeepTheLeaseUntilTheLastEnds() throws {
        try withLeases { one, other in
            let second: FetchLease?
            do {
                let first = try one.take(ada)
                second = try one.take(ada)
                withExtendedLifetime(first) {}
            }

            #expect(second != nil)
            #expect(try other.take(ada) == nil)
            withExtendedLifetime(second) {}
        }
    }

    @Test func thousandsOfLeasesAreHeldAtOnce() throws {
        try withLeases { one, other in
            let keys = (0..<3000).map { AvatarKey(stored: "https://example.org/\($0).png") }
            var leases = try keys.compactMap { try one.take($0) }

            #expect(leases.count == 3000)
            #expect(try keys.allSatisfy { try other.take($0) == nil })

            withExtendedLifetime(leases) {}
            leases.removeAll()
            #expect(try keys.allSatisfy { try other.take($0) != nil })
        }
    }

    @Test func leaseFilesArePrivateAndEmptyAndNotHolders() throws {
        try withTemporaryDirectory { directory in
            let staging = try Directory(opening: directory)
            let leases = FetchLeases(in: staging)
            #expect(try staging.names() == [])
            let taken = try (0..<100).compactMap { try leases.take(AvatarKey(stored: "https://example.org/\($0)")) }

            #expect(try staging.names().sorted() == (0..<8).map { "leases-\($0)" })
            for path in try staging.names().map({ directory + "/" + $0 }) {
                #expect(try permissions(of: path) == 0o600)
                #expect(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == 0)
            }
            #expect(try Holder.names(in: staging) == [])
            withExtendedLifetime(taken) {}
        }
    }

    @Test func symbolicLinkInItsPlaceIsRefused() throws {
        try withTemporaryDirectory { directory in
            let staging = try Directory(opening: directory)
            for number in 0..<8 {
                try FileManager.default.createSymbolicLink(
                    atPath: directory + "/leases-\(number)",
                    withDestinationPath: "elsewhere"
                )
            }
            let leases = FetchLeases(in: staging)

            #expect { _ = try leases.take(ada) } throws: {
                ($0 as? SystemCallError)?.storeError.message.contains("leases-") == true
            }
            #expect(!leases.isFree(ada))
        }
    }

    /// A purge of the cache folder may remove the lease files.
    @Test func folderThatWasRemovedIsMadeAgain() throws {
        try withTemporaryDirectory { directory in
            let staging = try Directory.makeRoot(directory + "/staging", mode: 0o700)
            let leases = FetchLeases(in: staging)
            try FileManager.default.removeItem(atPath: staging.path)

            #expect(try leases.take(ada) != nil)
        }
    }

    private func withLeases(_ body: (FetchLeases, FetchLeases) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            let staging = try Directory(opening: directory)
            try body(FetchLeases(in: staging), FetchLeases(in: staging))
        }
    }
}
