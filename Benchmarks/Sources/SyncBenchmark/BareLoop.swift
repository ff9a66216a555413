import AsyncHTTPClient
import Foundation
import NIOCore

/// The floor: the same requests with the same client and concurrency, whose responses are dropped.
enum BareLoop {
    /// Requests each of the first `count` images once, `connections` at a time, and prints images per second.
    ///
    /// - Parameter revalidates: Whether to send the image's ETag, so that each response is a 304.
    /// - Parameter directory: A folder to write each body to, through a temporary file and a rename.
    static func run(port: Int, count: Int, bytes: Int, connections: Int, revalidates: Bool, directory: String?)
        async throws
    {
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
        let client = HTTPClient(configuration: configuration)
        let begun = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                if number >= connections { try await group.next() }
                group.addTask {
                    var request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/\(bytes)/\(number)")
                    if revalidates { request.headers.add(name: "If-None-Match", value: "\"\(bytes)-\(number)\"") }
                    let response = try await client.execute(request, timeout: .seconds(30))
                    if let directory {
                        try await write(response, to: "\(directory)/\(number)")
                    } else {
                        for try await _ in response.body {}
                    }
                }
            }
            try await group.waitForAll()
        }
        let seconds = (ContinuousClock.now - begun) / .seconds(1)
        try await client.shutdown()
        print(Double(count) / seconds)
    }

    private static func write(_ response: HTTPClientResponse, to path: String) async throws {
        let file = open(path + ".part", O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        for try await chunk in response.body {
            chunk.withUnsafeReadableBytes { _ = Foundation.write(file, $0.baseAddress, $0.count) }
        }
        close(file)
        rename(path + ".part", path)
    }
}
