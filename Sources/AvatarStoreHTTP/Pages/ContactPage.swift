import AvatarCore

/// The page about one contact.
struct ContactPage {
    /// A fact about the image.
    struct Fact {
        /// The content of a fact.
        enum Value {
            case text(String)
            case time(Timestamp)
            /// A text that leads to `path`.
            case link(String, path: String)
        }

        let name: String
        let value: Value
    }

    /// Another contact with the same image.
    struct Sharer {
        let label: String
        /// The path of the page about the contact; `nil` if the site has none.
        let path: String?
    }

    /// The number of other contacts with the same image that the page of a contact names.
    static let mostSharers = 24

    let frame: PageFrame
    let contact: PageContact
    /// The path of the image itself; `nil` if initials stand in for it.
    let imagePath: String?
    /// Whether browsers show its format. Initials stand in for any other one, with a link to the image.
    let isShown: Bool
    /// Sentences that explain the state of the image.
    let reasons: [String]
    /// The facts that most readers look for, in the order in which they are shown.
    let facts: [Fact]
    /// Facts about the last response and the file, folded up at first.
    let technicalFacts: [Fact]
    /// Some of the other contacts with the same image.
    let sharers: [Sharer]
    /// Whether more contacts than `sharers` have the image.
    let hasMoreSharers: Bool
    /// The form of times.
    let time: PageTime

    /// The whole page.
    func html() -> String {
        frame.page(title: contact.label) { text in
            text += "<header><h1><bdi>\(HTML.escaped(contact.label))</bdi></h1>"
            text += "<a class=\"button\" href=\"\(HTML.escaped(frame.home))\">All contacts</a></header>"
            text += "<main class=\"contact\">"
            addImage(to: &text)
            text += "<div>"
            addReasons(to: &text)
            add(facts, to: &text)
            if !technicalFacts.isEmpty {
                text += "<details><summary>Technical details</summary>"
                add(technicalFacts, to: &text)
                text += "</details>"
            }
            addSharers(to: &text)
            text += "</div></main>"
        }
    }

    private func addImage(to text: inout String) {
        let label = HTML.escaped(contact.label)
        let isImage = imagePath != nil && isShown
        let image =
            "<img class=\"\(isImage ? "image" : "initials")\" src=\"\(HTML.escaped(contact.shownPath))\""
            + " alt=\"\(isImage ? "Image" : "Initials") of \(label)\" width=\"340\" height=\"340\">"
        guard let imagePath else { return text += image }
        text += "<a class=\"large\" href=\"\(HTML.escaped(imagePath))\" title=\"Show the image alone\">\(image)</a>"
    }

    private func addReasons(to text: inout String) {
        let badge =
            contact.badge.isEmpty
            ? "<span class=\"state good\">\(HTML.escaped(contact.state ?? ""))</span>" : contact.badge
        text += "<section class=\"reasons\" aria-label=\"State\">\(badge)"
        for reason in reasons { text += "<p>\(HTML.escaped(reason))</p>" }
        text += "</section>"
    }

    private func add(_ facts: [Fact], to text: inout String) {
        text += "<dl>"
        for fact in facts {
            text += "<dt>\(HTML.escaped(fact.name))</dt><dd>"
            switch fact.value {
            case .text(let value): text += "<bdi>\(HTML.escaped(value))</bdi>"
            case .time(let value): text += time.html(value)
            case .link(let value, let path): text += "<a href=\"\(HTML.escaped(path))\">\(HTML.escaped(value))</a>"
            }
            text += "</dd>\n"
        }
        text += "</dl>"
    }

    private func addSharers(to text: inout String) {
        guard !sharers.isEmpty else { return }
        text += "<section><h2>Others with this image</h2><ul class=\"chips\">"
        for sharer in sharers {
            let label = "<bdi>\(HTML.escaped(sharer.label))</bdi>"
            text += "<li>"
            text += sharer.path.map { "<a href=\"\(HTML.escaped($0))\">\(label)</a>" } ?? "<span>\(label)</span>"
            text += "</li>"
        }
        if hasMoreSharers { text += "<li><span>and more</span></li>" }
        text += "</ul></section>"
    }
}
