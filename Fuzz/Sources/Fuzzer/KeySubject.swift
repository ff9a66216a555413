import AvatarCore
import AvatarOriginRules

/// Keys of images. The input is a URL, a name, or anything else.
enum KeySubject {
    static func check(_ input: [UInt8]) {
        let text = String(decoding: input, as: UTF8.self)
        checkRedaction(text)
        checkHosts(text)
        do throws(AvatarStoreError) {
            let key = try AvatarKey(parsing: text)
            require(!key.rawValue.isEmpty && !key.rawValue.utf8.contains(0), "an impossible key")
            require(try AvatarKey(parsing: key.rawValue) == key, "a key that is not its own spelling")
            if key.isURL { check(url: key) }
        } catch {
            require(!error.message.isEmpty, "an error that says nothing")
        }
    }

    private static func check(url key: AvatarKey) {
        guard let host = key.host else { return require(false, "a URL without a host") }
        let bytes = Array(key.rawValue.utf8)
        require(bytes.allSatisfy { (0x21...0x7E).contains($0) }, "a URL with other characters than a URL has")
        require(!bytes.contains(UInt8(ascii: "#")), "a URL with a fragment")
        let authority = key.rawValue.drop { $0 != "/" }.dropFirst(2).prefix { $0 != "/" && $0 != "?" }
        require(!authority.contains("@"), "a URL with user info")
        require((1...65_535).contains(host.port) && !host.name.isEmpty, "an impossible host")
        require(HostName(host.description) == host, "a host that is not read as it was written")
        require(!key.redacted.contains("?"), "a message with a query")
    }

    /// The text for messages must be short and without control characters, for any input.
    private static func checkRedaction(_ text: String) {
        let redacted = AvatarKey.redact(text)
        require(redacted.unicodeScalars.count <= 400, "a message of any length")
        require(!redacted.utf8.contains { $0 < 0x20 }, "a message with control characters")
    }

    private static func checkHosts(_ text: String) {
        if let address = IPAddress(text) {
            require(IPAddress(address.description) == address, "an address that is not read as it was written")
        }
        if let pattern = HostPattern(text) {
            require(HostPattern(pattern.description) == pattern, "a pattern that is not read as it was written")
            _ = pattern.matches(HostName(name: "a.example.com", port: 443))
        }
    }
}
