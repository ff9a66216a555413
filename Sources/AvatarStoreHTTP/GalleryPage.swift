/// One contact as the pages show it.
struct PageContact {
    let id: String
    /// The display name; `nil` if there is none, so that the id is shown.
    let name: String?
    /// The state of the picture; `nil` for a contact without one.
    let state: String?
    /// The path of the picture, or of the initials that stand in for it.
    let picturePath: String
    /// The path of the page about the contact.
    let detailPath: String

    /// The text that stands for the contact.
    var label: String { name ?? id }

    /// The state as HTML; empty for the usual ones.
    fileprivate var badge: String {
        switch state {
        case "fresh", "own": ""
        case let state?: "<span class=\"state \(HTML.escaped(state))\">\(HTML.escaped(state))</span>"
        case nil: "<span class=\"state\">no picture</span>"
        }
    }
}

/// The page with the pictures of all contacts, or of those that a search finds.
struct GalleryPage {
    let contacts: [PageContact]
    /// The text of the search; empty without one.
    let query: String
    /// The path of the first page; `nil` on it.
    let firstPath: String?
    /// The path of the next page; `nil` on the last one.
    let nextPath: String?

    /// The whole page.
    func html() -> String {
        let title = query.isEmpty ? "Contacts" : "Contacts: \(query)"
        return HTML.page(title: title, head: links) { text in
            text += "<header><h1><a href=\"/\">Contacts</a></h1>"
            text += "<form method=\"get\" action=\"/\" role=\"search\"><label for=\"query\">Search by name</label>"
            text += "<input id=\"query\" type=\"search\" name=\"query\" value=\"\(HTML.escaped(query))\""
            text += " placeholder=\"Search by name\" autocomplete=\"off\"><button>Search</button></form></header><main>"
            if contacts.isEmpty { addEmptyNote(to: &text) } else { addGrid(to: &text) }
            text += "</main>"
        }
    }

    private var links: String {
        nextPath.map { "<link rel=\"next\" href=\"\(HTML.escaped($0))\">" } ?? ""
    }

    private func addGrid(to text: inout String) {
        text += "<ul class=\"grid\">\n"
        for contact in contacts {
            let label = HTML.escaped(contact.label)
            text +=
                "<li><a href=\"\(HTML.escaped(contact.detailPath))\"><img src=\"\(HTML.escaped(contact.picturePath))\""
            text += " alt=\"\" width=\"88\" height=\"88\" loading=\"lazy\" decoding=\"async\">"
            text += "<bdi class=\"name\" title=\"\(label)\">\(label)</bdi>\(contact.badge)</a></li>\n"
        }
        text += "</ul>"
        let links = [(firstPath, "First page", "first"), (nextPath, "Next page", "next")]
        guard links.contains(where: { $0.0 != nil }) else { return }
        text += "<nav aria-label=\"Pages\">"
        for (path, label, relation) in links {
            guard let path else { continue }
            text += "<a class=\"button\" rel=\"\(relation)\" href=\"\(HTML.escaped(path))\">\(label)</a>"
        }
        text += "</nav>"
    }

    private func addEmptyNote(to text: inout String) {
        if query.isEmpty, firstPath == nil {
            text += "<p class=\"note\"><strong>The store has no contacts yet.</strong>"
            text += "Bring them in from a list: <code>avatars sync people.vcf</code></p>"
        } else if query.isEmpty {
            text += "<p class=\"note\"><strong>There are no more contacts.</strong><a href=\"/\">First page</a></p>"
        } else {
            text += "<p class=\"note\"><strong>No name begins with “<bdi>\(HTML.escaped(query))</bdi>”.</strong>"
            text += "<a href=\"/\">All contacts</a></p>"
        }
    }
}

/// The page about one contact.
struct ContactPage {
    let contact: PageContact
    /// The facts about the picture, in the order in which they are shown.
    let facts: [(name: String, value: String)]
    /// Sentences that explain the state of the picture.
    let reasons: [String]

    /// The whole page.
    func html() -> String {
        HTML.page(title: contact.label) { text in
            let label = HTML.escaped(contact.label)
            text += "<header><h1><bdi>\(label)</bdi></h1><a class=\"button\" href=\"/\">All contacts</a></header>"
            text +=
                "<main class=\"contact\"><img src=\"\(HTML.escaped(contact.picturePath))\" alt=\"Picture of \(label)\""
            text += " width=\"340\" height=\"340\"><div><dl>"
            for (name, value) in facts {
                text += "<dt>\(HTML.escaped(name))</dt><dd><bdi>\(HTML.escaped(value))</bdi></dd>\n"
            }
            text += "</dl><div class=\"reasons\">"
            for reason in reasons { text += "<p>\(HTML.escaped(reason))</p>" }
            text += "</div></div></main>"
        }
    }
}

/// The page for a status without a page of its own.
struct StatusPage {
    let title: String
    let text: String

    /// The whole page.
    func html() -> String {
        HTML.page(title: title) { page in
            page += "<header><h1><a href=\"/\">Contacts</a></h1></header><main><p class=\"note\">"
            page +=
                "<strong>\(HTML.escaped(title))</strong>\(HTML.escaped(text)) <a href=\"/\">All contacts</a></p></main>"
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

    /// A page whose elements `body` adds.
    ///
    /// - Parameter head: further elements of the head.
    fileprivate static func page(title: String, head: String = "", body: (inout String) -> Void) -> String {
        var text = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>\(escaped(title))</title>"
        text += "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
        text += "<meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"/favicon.svg\">\(head)"
        text += "<style>\(PageStyle.css)</style></head>\n<body>"
        body(&text)
        return text + "</body></html>\n"
    }
}
