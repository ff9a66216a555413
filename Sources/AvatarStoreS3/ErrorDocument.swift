/// The parts of an error document that may be shown. Its message and the rest of it can repeat credentials and signatures.
struct ErrorDocument {
    /// The error code, such as `NoSuchKey`.
    private(set) var code: String?
    /// The region that the service expects.
    private(set) var region: String?

    /// Reads a document. It has no code if it is malformed or is not an error document.
    init(_ body: [UInt8]) {
        var (code, region): (String?, String?)
        do {
            try XMLScanner.scan(body) { path, text in
                if path == ["Error", "Code"], Self.isName(text) { code = text }
                if path == ["Error", "Region"], Self.isName(text) { region = text }
            }
            (self.code, self.region) = (code, region)
        } catch {
            // A page of a proxy, for example. The status alone decides.
        }
    }

    /// Whether `text` has the form of a code or a region, so that it can be part of a message.
    static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isWord || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
    }
}
