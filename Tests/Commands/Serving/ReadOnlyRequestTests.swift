import AvatarSQLite
import AvatarStoreTesting
import Foundation
import ProgramRunning
import Testing

/// No GET makes the store send a request, or write a row other than the access time and the requested rendition, for any path,
/// fields and query.
@Suite(.timeLimit(.minutes(5))) struct ReadOnlyRequestTests {
    private static let pieces = [
        "contacts", "images", "changes", "avatar", "healthz", "readyz", "metrics", "openapi.json", "favicon.svg", "ada",
        "ben", "carl", "none", "picture", "a%2Fb%20%C3%A9%3F", "%00", "%ff", "..", ".", "", "%2e%2e", "x.png", "*",
        "index.sqlite",
        "http:%2F%2F127.0.0.1", "0123456789abcdef0123456789abcdef",
    ]
    private static let parameters = [
        "size", "format", "placeholder", "after", "limit", "query", "since", "s", "d", "f", "policy", "reload", "url",
        "x",
    ]
    private static let values = [
        "initials", "none", "64", "0", "-1", "1", "1000", "ada", "reload", "http://127.0.0.1/", "y", "%ff", "'", "",
        "404", "mp",
        "webp", "%F0%9F%98%80",
    ]
    private static let fields = [
        "If-None-Match: *", "If-None-Match: \"x\"", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
        "Range: bytes=0-9",
        "Range: bytes=-1", "If-Range: \"x\"", "Cache-Control: no-cache", "Cache-Control: only-if-cached",
        "Pragma: no-cache",
        "Accept: image/webp", "Authorization: Bearer x", "X-HTTP-Method-Override: DELETE", "X-Forwarded-Host: evil",
        "Prefer: wait", "Accept-Encoding: gzip", "Content-Length: 0", "Upgrade: h2c", "Cookie: a=b",
    ]

    @Test func requestsChangeNothing() async throws {
        let seed = TestMode.seed
        var random = SplitMix64(seed: seed)
        try await ServedStore.served { server, origin in
            // Anything that fetches would revalidate an image that is due.
            origin.setResponse(.image(imageBytes("/ada.png", version: 2), cacheControl: "max-age=0"), for: "/ada.png")
            try await server.workplace.run("sync", "people.json", "--all", "--allow-private-network").requireSuccess()
            let index = server.workplace.path("store/index.sqlite")
            let before = try Self.dump(index)
            let requests = origin.requestCount
            var statuses: [Int: Int] = [:]
            for _ in 0..<(TestMode.isThorough ? 20_000 : 400) {
                let head = Self.head(&random)
                let connection = try server.connect()
                await connection.send(head)
                let reply = try await connection.reply(isHead: head.hasPrefix("HEAD"))
                statuses[reply.status, default: 0] += 1
                #expect(reply.status != 500, "seed \(seed): \(head)")
            }
            #expect(origin.requestCount == requests, "seed \(seed)")
            #expect(try Self.dump(index) == before, "seed \(seed)")
            #expect(statuses.keys.contains(200) && statuses.keys.contains(404) && statuses.keys.contains(400))
        }
    }

    /// A random request.
    private static func head(_ random: inout SplitMix64) -> String {
        var target = ""
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            target += "/" + (pieces.randomElement(using: &random) ?? "")
        }
        // Half of the requests have a path that exists.
        if Bool.random(using: &random) {
            target =
                ["/contacts/ada/picture", "/contacts/ben/picture", "/contacts/carl", "/contacts", "/changes", "/"]
                .randomElement(using: &random) ?? "/"
        }
        if target.isEmpty { target = "/" }
        let query = (0..<Int.random(in: 0...3, using: &random)).map { _ in
            "\(parameters.randomElement(using: &random) ?? "")=\(values.randomElement(using: &random) ?? "")"
        }
        if !query.isEmpty { target += "?" + query.joined(separator: "&") }
        let lines = (0..<Int.random(in: 0...3, using: &random)).map { _ in fields.randomElement(using: &random) ?? "" }
        let method = ["GET", "GET", "GET", "HEAD"].randomElement(using: &random) ?? "GET"
        return (["\(method) \(target) HTTP/1.1", "Host: localhost"] + lines + ["", ""]).joined(separator: "\r\n")
    }

    /// The tables and columns that renditions change: their own tables, the totals, and the data from decoding an image.
    private static let changedByCopies: Set<String> = ["rendition", "undecodable", "total"]

    /// The rows of all tables of the index, except access times and the data of renditions.
    static func dump(_ index: String) throws -> [String] {
        let connection = try Connection(path: index, access: .readOnly)
        let tables = try connection.rows(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
        ) { $0.text("name") }
        var rows: [String] = []
        for table in tables
        where table != "access" && !table.hasPrefix("eviction_queue") && !changedByCopies.contains(table) {
            let columns = try connection.rows("SELECT name FROM pragma_table_info('\(table)')") { $0.text("name") }
                .filter { $0 != "thumb_hash" }
            let files = table == "file" ? " WHERE id NOT IN (SELECT file_id FROM rendition)" : ""
            let row = columns.map { "quote(\"\($0)\")" }.joined(separator: " || ',' || ")
            rows += try connection.rows("SELECT \(row) AS line FROM \"\(table)\"\(files) ORDER BY 1") {
                "\(table): \($0.text("line"))"
            }
        }
        try connection.close()
        return rows
    }
}
