import AvatarCore
import Foundation
import ProgramRunning

@testable import AvatarStoreS3

/// A real S3 engine on loopback, started by a script of this repository. It ends after this process.
struct Engine: Sendable {
    private let variables: [String: String]
    private let script: String
    private let folder: String
    private let port: Int

    /// The engines, or `nil` where they cannot be had. Each starts with the first test that asks for it.
    static let seaweedFS = start("start-seaweedfs")
    static let openStackSwift = isThorough ? start("start-swift-s3") : nil

    static let isThorough = ProcessInfo.processInfo.environment["AVATARS_THOROUGH"] != nil

    var bucket: String { variables["BUCKET"] ?? "" }
    var credentials: S3Credentials {
        S3Credentials(
            accessKey: variables["AWS_ACCESS_KEY_ID"] ?? "",
            secretKey: variables["AWS_SECRET_ACCESS_KEY"] ?? ""
        )
    }

    /// A configuration with a prefix of its own.
    var configuration: S3Configuration {
        var configuration = S3Configuration(
            bucket: bucket,
            endpoint: variables["AWS_ENDPOINT_URL"],
            credentials: credentials
        )
        configuration.prefix = "Tests/\(UUID().uuidString.lowercased())"
        // Beside other tests the engine may have to wait for a processor.
        configuration.connectTimeout = .seconds(60)
        configuration.stallTimeout = .seconds(60)
        return configuration
    }

    /// A tier with a prefix of its own.
    func tier(_ change: (inout S3Configuration) -> Void = { _ in }) throws -> S3Tier {
        var configuration = configuration
        change(&configuration)
        return try S3Tier(configuration)
    }

    // MARK: Start

    private static func start(_ script: String) -> Engine? {
        do {
            return try Engine(script)
        } catch {
            print("Tests that need \(script) are skipped: \(error)")
            return nil
        }
    }

    private struct Failure: Error {
        let output: String
    }

    /// Starts an engine of its own.
    init(_ script: String) throws {
        self.script = script
        folder = FileManager.default.temporaryDirectory.appending(path: "\(script)-\(UUID().uuidString)").path()
        port = Int(try Socket.freePorts(5))
        variables = try Self.run(script, "'\(folder)' \(port)")
    }

    /// Kills the servers, and starts them again with what they held. Only SeaweedFS can.
    func restart() throws {
        kill()
        _ = try Self.run(script, "--keep '\(folder)' \(port)")
    }

    /// Kills the servers.
    func kill() {
        do {
            let group = try String(contentsOfFile: folder + "/pgid", encoding: .utf8)
            if let group = Int32(group.trimmingCharacters(in: .whitespacesAndNewlines)) { Glibc.kill(-group, SIGKILL) }
        } catch {
            // It has ended.
        }
    }

    private static func run(_ script: String, _ arguments: String) throws -> [String: String] {
        let path = URL(filePath: #filePath).appending(path: "../../../scripts/\(script)").standardized.path()
        let owner = ProcessInfo.processInfo.processIdentifier
        // The first start installs the engine, which needs a network.
        let command = "timeout 180 '\(path)' \(arguments) \(owner) 2>&1"
        // Foundation's Process would wait for the servers, which inherit its sockets.
        guard let stream = popen(command, "re") else { throw Failure(output: "no shell") }
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while case let count = fread(&buffer, 1, buffer.count, stream), count > 0 { output += buffer[..<count] }
        let lines = String(decoding: output, as: UTF8.self)
        guard pclose(stream) == 0 else { throw Failure(output: lines) }
        let pairs = lines.split(separator: "\n").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
        return Dictionary(pairs.filter { $0.count == 2 }.map { ($0[0], $0[1]) }) { $1 }
    }
}
