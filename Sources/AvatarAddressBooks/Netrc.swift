/// The logins in the text of a `netrc` file: `machine HOST login USER password PASSWORD`, and `default` for all other hosts. Macros
/// are left out.
public struct Netrc: Sendable {
    private var machines: [(host: String?, user: String?, password: String?)] = []

    /// Reads `text`. A part in another form is left out.
    public init(_ text: String) {
        var words = Self.words(text)[...]
        while let word = words.popFirst() {
            switch word {
            case "machine": machines.append((words.popFirst()?.lowercased(), nil, nil))
            case "default": machines.append((nil, nil, nil))
            case "login" where !machines.isEmpty: machines[machines.count - 1].user = words.popFirst()
            case "password" where !machines.isEmpty: machines[machines.count - 1].password = words.popFirst()
            default: break
            }
        }
    }

    /// The first login for `host`; `nil` without one.
    public func login(for host: String) -> CardDAVServer.Login? {
        for machine in machines where machine.host ?? host.lowercased() == host.lowercased() {
            guard let user = machine.user, let password = machine.password else { continue }
            return CardDAVServer.Login(user: user, password: password)
        }
        return nil
    }

    /// The words of `text`, some of them in quotes. A macro goes up to the next empty line.
    private static func words(_ text: String) -> [String] {
        var words: [String] = []
        var isMacro = false
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            if line.allSatisfy(\.isWhitespace) { isMacro = false }
            guard !isMacro else { continue }
            var rest = line[...]
            while let first = rest.first {
                if first.isWhitespace {
                    rest.removeFirst()
                } else if first == "#", line[..<rest.startIndex].allSatisfy(\.isWhitespace) {
                    // Within a line it may be a part of a password.
                    break
                } else {
                    words.append(takeWord(&rest))
                    if words.last == "macdef" { isMacro = true }
                }
            }
        }
        return words
    }

    private static func takeWord(_ rest: inout Substring) -> String {
        guard rest.first == "\"" else {
            let word = rest.prefix { !$0.isWhitespace }
            rest = rest.dropFirst(word.count)
            return String(word)
        }
        rest.removeFirst()
        var word = ""
        while let next = rest.popFirst(), next != "\"" {
            if next == "\\", let escaped = rest.popFirst() { word.append(escaped) } else { word.append(next) }
        }
        return word
    }
}
