import Foundation
import Testing

/// A page as a browser splits it into tags, for tests that hostile text adds none.
struct PageText {
    /// The elements that the pages consist of.
    private static let elements: Set<String> = [
        "!doctype", "html", "head", "meta", "title", "link", "style", "body", "header", "h1", "h2", "form", "label",
        "input",
        "button", "main", "nav", "ul", "li", "a", "img", "bdi", "span", "div", "p", "section", "dl", "dt", "dd", "time",
        "details", "summary", "code", "footer", "small", "strong",
    ]
    /// Their attributes. None of them runs a script.
    private static let attributes: Set<String> = [
        "html", "lang", "charset", "name", "content", "http-equiv", "rel", "href", "method", "action", "role", "for",
        "id",
        "type", "value", "placeholder", "autocomplete", "dir", "class", "src", "alt", "width", "height", "loading",
        "decoding",
        "title", "aria-label", "datetime", "aria-current", "required",
    ]

    let text: String

    /// Checks that the page has only the elements and attributes of the pages, and that each element is closed.
    func expectSafe(_ note: String, location: SourceLocation = #_sourceLocation) {
        var open: [String] = []
        let void: Set<String> = ["!doctype", "meta", "link", "input", "img"]
        for tag in text.matches(of: /<(\/?)([^\s>]*)([^>]*)>/) {
            let name = String(tag.2)
            #expect(Self.elements.contains(name), "\(note): <\(name)>", sourceLocation: location)
            if tag.1 == "/" {
                #expect(open.popLast() == name, "\(note): </\(name)>", sourceLocation: location)
            } else if !void.contains(name) {
                open.append(name)
            }
            let rest = String(tag.3).replacing(/\s([a-z-]+)(="[^"]*")?/) { attribute in
                Self.attributes.contains(String(attribute.1)) ? "" : String(attribute.0)
            }
            #expect(rest.isEmpty, "\(note): \(tag.0)", sourceLocation: location)
        }
        #expect(open.isEmpty, "\(note): \(open)", sourceLocation: location)
        // Nothing else of the page may begin a tag or an entity.
        let plain = text.replacing(/&(amp|lt|gt|quot|#39);/, with: "")
        #expect(!plain.contains("&"), "\(note)", sourceLocation: location)
        #expect(!plain.replacing(/<[^>]*>/, with: "").contains("<"), "\(note)", sourceLocation: location)
    }

    /// The values of all `href` and `src`, unescaped.
    var links: [String] {
        text.matches(of: /\s(?:href|src)="([^"]*)"/).map {
            String($0.1).replacing("&lt;", with: "<").replacing("&gt;", with: ">").replacing("&quot;", with: "\"")
                .replacing("&#39;", with: "'").replacing("&amp;", with: "&")
        }
    }
}

/// A store with contacts whose ids and names try to break out of pages and paths.
enum HostileContacts {
    static let ids = [
        "../../etc/passwd", "a/b/c.html", ".", "..", "...", "%2F", "%", "%00", "CON", "index.html", "manifest.jsonl",
        "A",
        "a", "é", "e\u{301}", "a b", "a\tb\nc", "-rf", "~", "\u{202E}gpj.exe", "🚀", "<script>alert(1)</script>",
        "\" onmouseover=\"alert(1)", "'; DROP TABLE contact;--", "</style><script>", "javascript:alert(1)",
        "//example.com/",
        String(repeating: "x", count: 1024), String(repeating: "/", count: 500),
    ]
    static let names: [String?] = [
        nil, "<b>Bold</b>", "</title><script>alert(1)</script>", "\" autofocus onfocus=\"alert(1)", "' & \" < >",
        "&amp;&lt;",
        "\u{202E}Reversed", "שרה כהן", "محمد", "张伟", "👩‍👩‍👧‍👦 Family", "{{7*7}}", "-->", "<!--", "]]>",
        String(repeating: "W", count: 1000), "Ada\u{1B}[31m", "\u{0085}\u{2028}x",
    ]

    /// The contact with this number in the list. Some have an image of their own, some share one, some have none.
    static func name(_ number: Int) -> String? { names[number % names.count] }
}
