import AvatarStore
import AvatarFoundation
import Synchronization

/// Header fields to send to particular hosts, such as tokens. They are in a file because a process list shows
/// arguments.
///
/// ```
/// # HOST[:PORT] NAME: VALUE; without a port for 80 and 443
/// images.example.com Authorization: Bearer 0123
/// localhost:8080     X-Team: avatars
/// ```
///
/// Error messages never hold a field's value.
struct HeaderFile: Sendable {
    /// The fields by host, written `name:port`.
    private var fields: [String: [(name: String, value: String)]] = [:]

    /// Reads the file at `path` on another thread, because opening and reading a pipe may block.
    ///
    /// - Throws: as `init(path:)`; `CancellationError`.
    static func read(_ path: String) async throws -> HeaderFile {
        try await withBlockingThread { try HeaderFile(path: path) }
    }

    /// Reads the file at `path`; empty lines and lines that begin with `#` are ignored.
    ///
    /// - Throws: `storage` if the file cannot be read; `invalidConfiguration` if it is not UTF-8, or if a line has
    ///   another form, with the line's number.
    private init(path: String) throws {
        // Splitting at "\n" would miss CR LF, which Swift takes for one character.
        let lines = try Self.text(of: path).split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        for (number, line) in lines.enumerated() {
            let line = line.withoutWhiteSpace
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            guard add(line) else {
                throw AvatarStoreError(
                    .invalidConfiguration,
                    "\(path), line \(number + 1): a line must have the form \"HOST[:PORT] NAME: VALUE\", in printable ASCII."
                )
            }
        }
    }

    /// The fields for `host`, written `name:port`; empty if there are none. The HTTP client looks them up for each
    /// request, so a redirect to another host does not take them along.
    subscript(host: String) -> [(name: String, value: String)] {
        fields[host] ?? []
    }

    /// Whether `text` can be the value of a header field: not empty, printable ASCII only.
    static func isFieldValue(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
    }

    /// The content of the file at `path`.
    ///
    /// - Throws: `storage` if it cannot be read; `invalidConfiguration` if it is not UTF-8.
    private static func text(of path: String) throws -> String {
        let file = try InputFile(path: path, named: "the header file \"\(path)\"")
        warn(of: file, at: path)
        guard let text = String(validating: try file.allBytes(), as: UTF8.self) else {
            throw AvatarStoreError(
                .invalidConfiguration,
                "The header file \"\(path)\" must be UTF-8 text. Save it as UTF-8."
            )
        }
        return text
    }

    /// Whether the warning was printed. A sync that repeats reads the file each time.
    private static let isWarned = Atomic(false)

    /// Warns, once, if all users can read the tokens in `file`. A group may be meant to: a service runs as one.
    private static func warn(of file: InputFile, at path: String) {
        guard let mode = file.permissions, mode & S_IROTH != 0,
            !isWarned.exchange(true, ordering: .relaxed)
        else { return }
        Message.warning(
            "All users can read the header file \"\(path)\", which has mode \(String(mode, radix: 8)). "
                + "Run `chmod 600 \(ShellWord.quoted(path))`."
        )
    }

    /// Adds the field in `line` and returns whether the line has the right form.
    private mutating func add(_ line: String) -> Bool {
        let parts = line.split(maxSplits: 1) { $0 == " " || $0 == "\t" }
        guard parts.count == 2, let colon = parts[1].firstIndex(of: ":") else { return false }
        let name = parts[1][..<colon].withoutWhiteSpace
        let value = parts[1][colon...].dropFirst().withoutWhiteSpace
        let hosts = Self.hosts(String(parts[0]))
        guard !hosts.isEmpty, Self.isToken(name), Self.isFieldValue(value) else { return false }
        for host in hosts { fields[host, default: []].append((name, value)) }
        return true
    }

    /// The hosts that `text` means, as `name:port` in the spelling of keys: two without a port, none if it is not a
    /// host.
    private static func hosts(_ text: String) -> Set<String> {
        guard !text.contains(where: { "/?#@\\".contains($0) }) else { return [] }
        do {
            let keys = [try AvatarKey(url: "http://\(text)/"), try AvatarKey(url: "https://\(text)/")]
            return Set(keys.compactMap { $0.host?.description })
        } catch {
            return []
        }
    }

    /// Whether `text` is a token (RFC 9110, section 5.6.2), as field names must be.
    private static func isToken(_ text: String) -> Bool {
        !text.isEmpty
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "!#$%&'*+-.^_`|~".contains($0)) }
    }
}
