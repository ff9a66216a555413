import AvatarStoreTesting
import Foundation
import Testing

/// Root in the store of another user.
@Suite(.enabled(if: geteuid() == 0, "only root can give files away"), .timeLimit(.minutes(5))) struct RootCommandTests {
    private static let user: uid_t = 65_534

    /// A workplace with an image and a store of another user.
    private func withStore(_ body: (Workplace) async throws -> Void) async throws {
        let workplace = try Workplace()
        try workplace.write("me.png", SampleImage.identicon(for: "me"))
        try await workplace.run("save", "me.png", "--name", "me").requireSuccess()
        try await workplace.run("backup", "backup").requireSuccess()
        try give("store", in: workplace)
        try await body(workplace)
    }

    /// Gives a folder and everything in it to the other user.
    private func give(_ folder: String, in workplace: Workplace) throws {
        let all = try FileManager.default.subpathsOfDirectory(atPath: workplace.path(folder)).map { folder + "/" + $0 }
        for path in [folder] + all { #expect(lchown(workplace.path(path), Self.user, Self.user) == 0) }
    }

    @Test func writingWarnsAndReadingDoesNot() async throws {
        try await withStore { workplace in
            let read = try await workplace.run("list")
            let preview = try await workplace.run("trim", "--dry-run")
            #expect(read.messages.isEmpty && preview.messages.isEmpty)

            for arguments in [
                ["save", "me.png", "--name", "other"], ["trim"], ["config", "keep-names", "true"],
                ["verify", "--repair"],
            ] {
                let run = try await workplace.start(arguments).end()
                #expect(run.status == 0, "\(arguments)")
                let warnings = run.messages.split(separator: "\n").filter { $0.contains("runs as root") }
                #expect(warnings.count == 1, "\(arguments): \(run.messages)")
                #expect(warnings.first?.contains("`sudo -u ") == true)
            }
        }
    }

    @Test func doctorFindsFilesOfRootAndTheirRemedy() async throws {
        try await withStore { workplace in
            let before = try await workplace.run("doctor", "--json")
            #expect(before.text.contains(#""subject":"owners""#))
            #expect(!before.text.contains("chown"))
            try await workplace.run("save", "me.png", "--name", "other", "--class", "caches").requireSuccess()

            let found = try await workplace.run("doctor")

            #expect(found.status == 1)
            #expect(found.text.contains("belongs to root."), "\(found.text)")
            #expect(found.text.contains("`chown -R "), "\(found.text)")
            #expect(found.text.contains(" \(workplace.path("store"))`"), "\(found.text)")
        }
    }

    @Test func restoreNamesTheOwner() async throws {
        try await withStore { workplace in
            let own = try await workplace.run("restore", "backup", "--store", "again")
            #expect(own.text.hasSuffix("again/index.sqlite; the files belong to root.\n"), "\(own.text)")
            #expect(own.messages.isEmpty, "\(own.messages)")

            try FileManager.default.createDirectory(
                atPath: workplace.path("home"),
                withIntermediateDirectories: false
            )
            try give("home", in: workplace)
            let foreign = try await workplace.run("restore", "backup", "--store", "home/store")

            #expect(foreign.status == 0)
            #expect(foreign.messages.contains("The restored files belong to root."), "\(foreign.messages)")
            #expect(foreign.messages.contains(" \(workplace.path("home/store"))`"), "\(foreign.messages)")
        }
    }
}
