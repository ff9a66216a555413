import AvatarPlaceholder

/// One contact as the pages show it.
struct PageContact {
    let id: String
    /// The display name; `nil` for a contact without a name, whose id is shown.
    let name: String?
    /// The state of the image; `nil` for a contact without one.
    let state: String?
    /// The path of the image, or of the initials that stand in for it.
    var shownPath: String
    /// The path of the page about the contact.
    var detailPath: String
    /// The CSS colour behind the image while it loads; `nil` for none.
    var standIn: String?
    /// The fragment that leads to the contact in the gallery; `nil` if no link does.
    var anchor: String?

    /// The text that stands for the contact.
    var label: String { name ?? id }

    /// The mean colour of the image with this ThumbHash. `nil` without a ThumbHash, and for images with transparent parts,
    /// behind which the colour would always show.
    static func standIn(_ thumbHash: [UInt8]?) -> String? {
        guard let hash = thumbHash.flatMap(ThumbHash.init), !hash.hasAlpha else { return nil }
        return hash.averageColour
    }

    /// The state as HTML; empty for the usual ones.
    var badge: String {
        switch state {
        case "fresh", "own": ""
        case let state?: "<span class=\"state \(HTML.escaped(state))\">\(HTML.escaped(state))</span>"
        case nil: "<span class=\"state\">no image</span>"
        }
    }
}

/// A link from a page of the gallery to another one.
struct PageLink {
    /// The text of the link.
    let label: String
    /// `nil` for the page itself, whose number stands there without a link.
    let path: String?
    /// Where the link leads, seen from the page: `first`, `prev`, `next` or `last`; `nil` for another page.
    var relation: String?
}

/// The first letter of names, with the way to its first contact.
struct PageLetter {
    let text: String
    let path: String
    /// The number of contacts whose names begin with it; `nil` to leave it out.
    var count: Int?
}

/// A page with the images of the contacts, or of those that a search finds.
struct GalleryPage {
    let frame: PageFrame
    var contacts: [PageContact]
    /// The text of the search; empty without one.
    var query = ""
    /// Whether contacts come before this page.
    var isContinued = false
    /// The links to other pages, in the order in which they are shown.
    var links: [PageLink] = []
    /// The first letters of the names, with paths to their first contacts.
    var letters: [PageLetter] = []
    /// The place of the page among all of them, such as `Page 2 of 7`; `nil` if it is not known.
    var position: String?

    /// The whole page.
    func html() -> String {
        let title = query.isEmpty ? "Contacts" : "Contacts: \(query)"
        return frame.page(title: title, head: headLinks) { text in
            text += "<header><h1><a href=\"\(HTML.escaped(frame.home))\">Contacts</a></h1>"
            addSearch(to: &text)
            text += "</header><main>"
            addLetters(to: &text)
            if contacts.isEmpty { addEmptyNote(to: &text) } else { addGrid(to: &text) }
            addLinks(to: &text)
            text += "</main>"
        }
    }

    private var headLinks: String {
        links.compactMap { link in
            guard let relation = link.relation, relation == "next" || relation == "prev", let path = link.path else {
                return nil
            }
            return "<link rel=\"\(relation)\" href=\"\(HTML.escaped(path))\">"
        }.joined()
    }

    private func addSearch(to text: inout String) {
        guard let action = frame.search else { return }
        text += "<form method=\"get\" action=\"\(HTML.escaped(action))\" role=\"search\">"
        text += "<label for=\"query\">Search by words of the name</label>"
        text += "<input id=\"query\" type=\"search\" name=\"query\" value=\"\(HTML.escaped(query))\""
        text += " placeholder=\"Search by name\" autocomplete=\"off\" dir=\"auto\"><button>Search</button></form>"
    }

    private func addLetters(to text: inout String) {
        guard letters.count > 1 else { return }
        text += "<nav class=\"letters\" aria-label=\"First letters\">"
        for letter in letters {
            text += "<a href=\"\(HTML.escaped(letter.path))\">\(HTML.escaped(letter.text))"
            if let count = letter.count { text += " <small>\(count.grouped)</small>" }
            text += "</a>"
        }
        text += "</nav>"
    }

    private func addGrid(to text: inout String) {
        text += "<ul class=\"grid\">\n"
        for contact in contacts {
            let label = HTML.escaped(contact.label)
            text += contact.anchor.map { "<li id=\"\(HTML.escaped($0))\">" } ?? "<li>"
            text += "<a href=\"\(HTML.escaped(contact.detailPath))\"><img src=\"\(HTML.escaped(contact.shownPath))\""
            text += " alt=\"\" width=\"96\" height=\"96\" loading=\"lazy\" decoding=\"async\""
            if let standIn = contact.standIn { text += " style=\"background:\(HTML.escaped(standIn))\"" }
            text += ">"
            text += "<bdi class=\"name\" title=\"\(label)\">\(label)</bdi>\(contact.badge)</a></li>\n"
        }
        text += "</ul>"
    }

    private func addLinks(to text: inout String) {
        guard !links.isEmpty || position != nil else { return }
        text += "<nav class=\"pages\" aria-label=\"Pages\">"
        for link in links {
            guard let path = link.path else {
                text += "<strong aria-current=\"page\">\(HTML.escaped(link.label))</strong>"
                continue
            }
            let relation = link.relation.map { " rel=\"\($0)\"" } ?? ""
            text += "<a class=\"button\"\(relation) href=\"\(HTML.escaped(path))\">\(HTML.escaped(link.label))</a>"
        }
        if let position { text += "<span class=\"count\">\(HTML.escaped(position))</span>" }
        text += "</nav>"
    }

    private func addEmptyNote(to text: inout String) {
        let home = "<a class=\"button\" href=\"\(HTML.escaped(frame.home))\">All contacts</a>"
        text += "<div class=\"note\">"
        if !query.isEmpty {
            text += "<h2>No name has “<bdi>\(HTML.escaped(query))</bdi>”</h2>"
            text += "<p>A search finds the beginnings of words of a name. Case and accents do not matter.</p>\(home)"
        } else if isContinued {
            text += "<h2>There are no more contacts</h2>\(home)"
        } else if frame.search == nil {
            text += "<h2>There are no contacts here</h2><p>No contact has one of the exported images.</p>"
        } else {
            text += "<h2>The store has no contacts yet</h2>"
            text += "<p>Bring them in from a list: <code>avatars sync people.vcf</code></p>"
        }
        text += "</div>"
    }
}

extension Int {
    /// The number with a comma before each three digits, as in `1,234`.
    package var grouped: String {
        let digits = Array(String(magnitude))
        return digits.enumerated().reduce(into: self < 0 ? "-" : "") { text, digit in
            if digit.offset > 0, (digits.count - digit.offset) % 3 == 0 { text += "," }
            text.append(digit.element)
        }
    }
}
