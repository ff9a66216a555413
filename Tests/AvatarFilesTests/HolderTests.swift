import AvatarCore
import AvatarFiles
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// A lock belongs to an open file, not to a process: a holder released here is as dead as a process that ended.
@Suite(.timeLimit(.minutes(5))) struct HolderTests {
    @Test func aLiveHolderIsNotTakenOver() async throws {
        try await withStaging { staging in
            let holder = try Holder(in: staging)

            #expect(holder.name.wholeMatch(of: /[0-9a-f]{16}/) != nil)
            #expect(try Holder.isAlive(holder.name, in: staging))
            #expect(try Holder.takeOver(holder.name, in: staging) == nil)
            #expect(try Holder.isAlive(holder.name, in: staging))
            #expect(try permissions(of: "\(staging.path)/\(holder.name).lock") == 0o600)
        }
    }

    @Test func aDeadHolderIsTakenOverByOne() async throws {
        try await withStaging { staging in
            let name = try await makeDeadHolder(in: staging)
            #expect(try !Holder.isAlive(name, in: staging))

            let heir = try await takeOver(name, in: staging)

            #expect(heir.name == name)
            #expect(try Holder.takeOver(name, in: staging) == nil)
            #expect(try Holder.isAlive(name, in: staging))
            withExtendedLifetime(heir) {}
        }
    }

    @Test func deadSuccessorLeavesTheNameToTheNext() async throws {
        try await withStaging { staging in
            let name = try await makeDeadHolder(in: staging)
            do {
                let heir = try await takeOver(name, in: staging)
                #expect(try Holder.takeOver(name, in: staging) == nil)
                withExtendedLifetime(heir) {}
            }

            #expect(try await takeOver(name, in: staging).name == name)
        }
    }

    @Test func releasedNameIsGone() async throws {
        try await withStaging { staging in
            let name = try await makeDeadHolder(in: staging)
            try await takeOver(name, in: staging).release()

            #expect(try Holder.names(in: staging) == [])
            #expect(try !Holder.isAlive(name, in: staging))
        }
    }

    /// The lock file is gone with the staging folder, but the holder's pending work must still be finished.
    @Test func aHolderWithoutALockFileIsDead() async throws {
        try await withStaging { staging in
            #expect(try !Holder.isAlive("0123456789abcdef", in: staging))
            #expect(try Holder.names(in: staging) == [])

            let heir = try Holder.takeOver("0123456789abcdef", in: staging)

            #expect(heir?.name == "0123456789abcdef")
        }
    }

    @Test func deadAndLiveHoldersAreListedAndNothingElse() async throws {
        try await withStaging { staging in
            let dead = try await makeDeadHolder(in: staging)
            let alive = try Holder(in: staging)
            try Data().write(to: URL(filePath: staging.path + "/caches.store-id"))
            try FileManager.default.createDirectory(
                atPath: "\(staging.path)/\(dead)",
                withIntermediateDirectories: false
            )

            #expect(try Holder.names(in: staging).sorted() == [dead, alive.name].sorted())
        }
    }

    @Test func holdersHaveNamesOfTheirOwn() async throws {
        try await withStaging { staging in
            let holders = try (0..<50).map { _ in try Holder(in: staging) }

            #expect(Set(holders.map(\.name)).count == 50)
            #expect(try Holder.names(in: staging).count == 50)
        }
    }

    /// `flock(1)` exits with 1 if the lock is taken.
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/flock")))
    func anotherProcessFindsTheLockHeldOrFree() async throws {
        try await withStaging { staging in
            let dead = try await makeDeadHolder(in: staging)
            let alive = try Holder(in: staging)

            #expect(try await statusOfLocking(alive.name, in: staging) == 1)
            try await waitUntil { try await statusOfLocking(dead, in: staging) == 0 }
            withExtendedLifetime(alive) {}
        }
    }

    private func statusOfLocking(_ name: String, in staging: Directory) async throws -> Int32 {
        let file = "\(staging.path)/\(name).lock"
        return try await Workplace().run(tool: "/usr/bin/flock", ["--nonblock", file, "true"]).status
    }

    /// Creates a holder and drops it, like a process that ends.
    private func makeDeadHolder(in staging: Directory) async throws -> String {
        let name = try Holder(in: staging).name
        try await waitForDeath(of: name, in: staging)
        return name
    }

    /// A program that another test is starting has copies of all descriptors until it runs, and so holds the lock.
    private func waitForDeath(of name: String, in staging: Directory) async throws {
        try await waitUntil { try !Holder.isAlive(name, in: staging) }
    }

    /// Takes over a dead holder. A look at its lock takes the lock for a moment, and a program that another test is starting may have a
    /// copy of that descriptor too.
    private func takeOver(_ name: String, in staging: Directory) async throws -> Holder {
        var heir: Holder?
        try await waitUntil {
            heir = try Holder.takeOver(name, in: staging)
            return heir != nil
        }
        return try #require(heir)
    }

    private func withStaging(_ body: (Directory) async throws -> Void) async throws {
        let workplace = try Workplace()
        try await body(Directory(opening: workplace.path))
    }

    /// An empty name would lead to the staging folder itself.
    @Test func onlyNamesOfHoldersCount() async throws {
        try await withStaging { staging in
            let holder = try Holder(in: staging)
            for name in [".lock", "x.lock", "0123456789ABCDEG.lock"] {
                try Data().write(to: URL(filePath: staging.path + "/" + name))
            }

            #expect(try Holder.names(in: staging) == [holder.name])
        }
    }
}
