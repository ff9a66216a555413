/// The parts that all pages of a site share, with their paths.
struct PageFrame {
    /// The path of the first page of the gallery.
    let home: String
    /// The path of the icon.
    let icon: String
    /// The path that a search is sent to; `nil` if the site has no search.
    let search: String?
    /// The Content-Security-Policy, for pages that are sent without header fields.
    let policy: String?
    /// A sentence at the end of each page.
    let footer: String?
    /// The path that a logout is sent to; `nil` without one.
    var logout: String?

    /// A page whose elements `body` adds.
    ///
    /// - Parameter head: further elements of the head.
    func page(title: String, head: String = "", body: (inout String) -> Void) -> String {
        var text = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        if let policy {
            text += "<meta http-equiv=\"Content-Security-Policy\" content=\"\(HTML.escaped(policy))\">"
        }
        text += "<title>\(HTML.escaped(title))</title>"
        text += "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
        text += "<meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"\(HTML.escaped(icon))\">"
        text += "\(head)<style>\(PageStyle.css)</style></head>\n<body>"
        body(&text)
        if let logout {
            text +=
                "<footer><form method=\"post\" action=\"\(HTML.escaped(logout))\"><button>Log out</button></form></footer>"
        }
        if let footer { text += "<footer>\(HTML.escaped(footer))</footer>" }
        return text + "</body></html>\n"
    }

    /// A person in a circle, as SVG.
    static let iconImage = Array(
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><circle cx="16" cy="16" r="16" fill="#0b5fce"/>\
        <circle cx="16" cy="13" r="5" fill="#fff"/><path d="M6 27a10 8 0 0 1 20 0z" fill="#fff"/></svg>

        """.utf8
    )
}

/// The page for a status without a page of its own.
struct StatusPage {
    let frame: PageFrame
    let title: String
    let text: String

    /// The whole page.
    func html() -> String {
        frame.page(title: title) { page in
            let home = HTML.escaped(frame.home)
            page += "<header><h1><a href=\"\(home)\">Contacts</a></h1></header><main><div class=\"note\">"
            page += "<h2>\(HTML.escaped(title))</h2><p>\(HTML.escaped(text))</p>"
            page += "<a class=\"button\" href=\"\(home)\">All contacts</a></div></main>"
        }
    }
}

/// HTML that holds texts from outside.
enum HTML {
    /// `text` for an element or an attribute in double quotes.
    static func escaped(_ text: String) -> String {
        var escaped: [UInt8] = []
        escaped.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "&"): escaped += "&amp;".utf8
            case UInt8(ascii: "<"): escaped += "&lt;".utf8
            case UInt8(ascii: ">"): escaped += "&gt;".utf8
            case UInt8(ascii: "\""): escaped += "&quot;".utf8
            case UInt8(ascii: "'"): escaped += "&#39;".utf8
            // HTML admits no other control characters.
            case 0x09, 0x0a, 0x0d: escaped.append(byte)
            case 0..<0x20, 0x7f: escaped += "\u{FFFD}".utf8
            default: escaped.append(byte)
            }
        }
        return String(decoding: escaped, as: UTF8.self)
    }
}
