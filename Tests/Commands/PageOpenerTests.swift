import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

@testable import avatars

/// A browser is started only for a person with a display.
@Suite(.timeLimit(.minutes(5)))
struct PageOpenerTests {
    #if os(Linux)
    @Test(arguments: [
        (true, ["DISPLAY": ":0"], true), (true, ["WAYLAND_DISPLAY": "wayland-0"], true),
        (false, ["DISPLAY": ":0"], false), (true, [:], false), (true, ["DISPLAY": ""], false),
    ])
    func pageIsOpenedForAPersonWithADisplay(isTerminal: Bool, variables: [String: String], isOpened: Bool) async throws
    {
        try await withOpener { folder in
            let environment = variables.merging(["PATH": "/nowhere:\(folder):/bin:/usr/bin"]) { $1 }
            let opener = PageOpener(isTerminal: isTerminal, environment: environment)

            #expect(opener.open("/a b/<index>.html") == isOpened)
            guard isOpened else { return }
            // The opener is not waited for, so its file appears later.
            let opened = folder + "/opened"
            try await waitUntil { FileManager.default.fileExists(atPath: opened) }
            let lines = try String(contentsOfFile: opened, encoding: .utf8).split(separator: "\n")
            #expect(lines.first == "/a b/<index>.html")
            // It is no child of this process, which would have to wait for its end.
            #expect(lines.last.flatMap { Int32($0) } != getpid())
        }
    }
    #endif

    @Test func missingProgramIsNoError() {
        let opener = PageOpener(isTerminal: true, environment: ["DISPLAY": ":0", "PATH": "/nowhere"])

        #expect(!opener.open("/index.html"))
    }

    /// A folder with a program `xdg-open` that writes its argument to the file `opened`, in one step.
    private func withOpener(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "opener-\(UUID().uuidString)")
            .path(percentEncoded: false)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer {
            do {
                try FileManager.default.removeItem(atPath: folder)
            } catch {
                Issue.record(error)
            }
        }
        let script = """
            #!/bin/sh
            printf '%s\\n' "$1" $PPID > '\(folder)/part' && mv '\(folder)/part' '\(folder)/opened'

            """
        // Written by another process: a child that a parallel test starts meanwhile would inherit a descriptor of this one, and a
        // program that is open for writing cannot be started.
        let workplace = try Workplace()
        try workplace.write("draft", script)
        let install = ["-m", "755", workplace.path("draft"), folder + "/xdg-open"]
        try await workplace.run(tool: "/usr/bin/install", install).requireSuccess()
        try await body(folder)
    }
}
