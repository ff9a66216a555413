import AsyncHTTPClient
import Foundation
import NIOCore

/// The floor of a revalidation: the same conditional requests with the same client and concurrency, without a store.
enum BareRevalidation {
    /// Requests each line of `list` (URL, tab, ETag) once, and prints requests per second.
    static func run(list: String, connections: Int, perHost: Int) async throws {
        let entries = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n").map { line in
            let parts = line.split(separator: "\t")
            return (url: String(parts[0]), tag: String(parts[1]))
        }
        var configuration = HTTPClient.Configuration()
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = perHost
        let client = HTTPClient(configuration: configuration)
        let begun = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, entry) in entries.enumerated() {
                if number >= connections { try await group.next() }
                group.addTask {
                    var request = HTTPClientRequest(url: entry.url)
                    request.headers.add(name: "If-None-Match", value: entry.tag)
                    let response = try await client.execute(request, timeout: .seconds(30))
                    guard response.status == .notModified else { throw BenchmarkError("Not a 304: \(response.status)") }
                    for try await _ in response.body {}
                }
            }
            try await group.waitForAll()
        }
        let seconds = (ContinuousClock.now - begun) / .seconds(1)
        try await client.shutdown()
        print(Double(entries.count) / seconds)
    }
}
