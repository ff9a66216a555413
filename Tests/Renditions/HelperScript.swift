import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A shell script in place of the helper, in its own folder. Its descriptor 0 is the socket.
final class HelperScript: Sendable {
    /// The helper built with the tests, beside their own program.
    static var real: String {
        let program = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
        let places = [program, Bundle.module.bundleURL.deletingLastPathComponent()]
        return places.map { $0.appending(path: "avatars-decoder").path }.first { access($0, X_OK) == 0 }
            ?? "avatars-decoder"
    }

    /// The bytes of a first message, for `printf`.
    static func hello(version: Int = 1, sandbox: Int = 1) -> String {
        "printf 'AVDC\\\(version)\\0\\0\\0\\\(sandbox)\\0\\0\\0' >&0"
    }

    /// Waits for a request. The script has no PATH.
    static let takeRequest = "/usr/bin/head -c 24 <&0 >/dev/null"

    let path: String
    private let folder: URL

    /// A script that first writes its process id to a file.
    init(_ body: String, permissions: Int = 0o755) async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "helper-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appending(path: "helper").path
        let draft = path + ".draft"
        try Data("#!/bin/sh\necho $$ >> \"$0.pids\"\n\(body)\n".utf8).write(to: URL(filePath: draft))
        // Another process writes the file. Otherwise a child of another test might inherit the descriptor, and a file that is
        // open for writing cannot be executed.
        try await Workplace().run(tool: "/bin/cp", [draft, path]).requireSuccess()
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
    }

    /// The real helper, with a known process id.
    static func wrapped() async throws -> HelperScript { try await HelperScript("exec '\(real)' \"$@\"") }

    deinit {
        // A leftover in the temporary folder is not a failure.
        try? FileManager.default.removeItem(at: folder)
    }

    /// The ids of the processes that were started, in order.
    var pids: [Int32] {
        // The file is missing before the first start.
        let text = (try? String(contentsOfFile: path + ".pids", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { Int32($0) }
    }

    /// Whether a process is running or a zombie.
    static func exists(_ pid: Int32) -> Bool { kill(pid, 0) == 0 }

    /// Waits until all processes that were started have ended.
    func waitForEnd() async throws {
        try await waitUntil { !self.pids.contains(where: Self.exists) }
    }
}
