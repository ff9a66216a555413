import AvatarStore
import Foundation

/// Header fields for hosts, such as tokens, in a file so that no process list shows them.
///
/// ```
/// # HOST[:PORT] NAME: VALUE; without a port for 80 and 443
/// images.example.com Authorization: Bearer 0123
/// localhost:8080     X-Team: avatars
/// ```
///
/// No message holds a value.
struct HeaderFile: Sendable {
    private var fields: [String: [(name: String, value: String)]] = [:]

    /// Reads the file at `path`.
    ///
    /// - Throws: `storage` if it cannot be read; `invalidConfiguration`, naming the line.
    init(path: String) throws {
        // By what Swift takes for a line end: CR LF is one character of its own.
        let lines = try Self.text(of: path).split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (number, line) in lines.enumerated() {
            let line = line.trimmingCharacters(in: .whitespacesAndNewlines)
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            guard add(line) else {
                throw AvatarStoreError(
                    .invalidConfiguration,
                    "\(path), line \(number + 1): \"HOST[:PORT] NAME: VALUE\" was expected."
                )
            }
        }
    }

    /// The fields for a host written `name:port`.
    subscript(host: String) -> [(name: String, value: String)] {
        fields[host] ?? []
    }

    /// Whether `text` may stand in a header field: no control characters, nothing beyond ASCII.
    static func isFieldValue(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }

    private static func text(of path: String) throws -> String {
        guard let text = String(validating: try InputFile(path: path).allBytes(), as: UTF8.self) else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "The header file \"\(path)\" is not UTF-8 text; save it as UTF-8."
            )
        }
        return text
    }

    /// Takes one line; false if it is none.
    private mutating func add(_ line: String) -> Bool {
        let parts = line.split(maxSplits: 1) { $0 == " " || $0 == "\t" }
        guard parts.count == 2, let colon = parts[1].firstIndex(of: ":") else { return false }
        let name = parts[1][..<colon].trimmingCharacters(in: .whitespaces)
        let value = parts[1][colon...].dropFirst().trimmingCharacters(in: .whitespaces)
        let hosts = Self.hosts(String(parts[0]))
        guard !hosts.isEmpty, Self.isToken(name), Self.isFieldValue(value) else { return false }
        for host in hosts { fields[host, default: []].append((name, value)) }
        return true
    }

    /// `name:port` for each port that is meant, in the spelling of keys; none for what is no host.
    private static func hosts(_ text: String) -> Set<String> {
        guard !text.contains(where: { "/?#@\\".contains($0) }) else { return [] }
        do {
            let keys = [try AvatarKey(url: "http://\(text)/"), try AvatarKey(url: "https://\(text)/")]
            return Set(keys.compactMap { $0.host?.description })
        } catch {
            return []
        }
    }

    /// RFC 9110 section 5.6.2.
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "!#$%&'*+-.^_`|~".contains($0)) }
    }
}
