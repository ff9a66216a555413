import ArgumentParser
import AvatarMaintenance
import AvatarStore
import AvatarFoundation

extension AvatarListItem {
    /// The fields as `list --json` prints them: the columns of `avatar_overview`, the contacts as `owners`, and those of
    /// `names` that they have. The file is an absolute path.
    func fields(_ names: [String: String], in layout: StoreLayout) -> [String: JSON] {
        [
            "key": JSON(key.rawValue),
            "sourceURL": JSON(sourceURL),
            "localFile": JSON(localFile.map(layout.absolutePath)),
            "storageClass": JSON(storageClass.rawValue),
            "sizeBytes": JSON(sizeBytes),
            "etag": JSON(etag),
            "lastAccess": JSON(lastAccess),
            "freshUntil": JSON(freshUntil),
            "checkedAt": JSON(checkedAt),
            "state": JSON(state.rawValue),
            "owners": JSON(contacts),
            "names": .object(contacts.names(names)),
        ]
    }

    /// The columns of `row`.
    static let table = Table(
        [.left("STATE", 7), .left("CLASS", 9), .right("SIZE", 8), .left("LAST ACCESS", 11)],
        contacts: "CONTACT"
    )

    /// The cells of the entry in `table`, with the names of its contacts.
    func row(_ names: [String: String]) -> [Table.Cell] {
        [
            Table.Cell(state.rawValue, state.colour),
            Table.Cell(storageClass.rawValue),
            Table.Cell(sizeBytes.map(Wording.size) ?? "–"),
            Table.Cell(lastAccess.map { Wording.age(of: $0.date) } ?? "–"),
            // A list of bare URLs names its contacts by them.
            Table.Cell(contacts.isEmpty || contacts == [key.rawValue] ? "–" : contacts.shortText(names)),
            Table.Cell(key.rawValue),
        ]
    }
}

extension StoreLayout {
    /// The absolute path of a file as `avatar_overview` names it: by its class, then relative to the root of that class.
    fileprivate func absolutePath(_ file: String) -> String {
        guard let slash = file.firstIndex(of: "/"), let storageClass = StorageClass(rawValue: String(file[..<slash]))
        else {
            return file
        }
        return root(of: storageClass) + file[slash...]
    }
}

/// Contacts as text, with their names where the store has them.
extension [String] {
    /// The names of the contacts, by id.
    func names(_ names: [String: String]) -> [String: JSON] {
        Dictionary(compactMap { id in names[id].map { (id, JSON($0)) } }) { first, _ in first }
    }

    /// All contacts, each with its name and its id.
    func text(_ names: [String: String]) -> String {
        map { id in names[id].map { "\($0) (\(id))" } ?? id }.joined(separator: ", ")
    }

    /// The first three contacts, each with its name and its id, and the number of the others: thousands may share an image.
    func shortText(_ names: [String: String]) -> String {
        let first = Array(prefix(3)).text(names)
        return count > 3 ? "\(first) and \(count - 3) more" : first
    }
}

extension Table {
    /// A table whose last columns are contacts and keys. Wide terminals have room for longer contacts. A key is only shortened if it
    /// is longer than most URLs, because readers copy keys.
    ///
    /// - Parameters:
    ///   - columns: the other columns, with their widths.
    ///   - heading: the heading of the column of contacts.
    init(_ columns: [Column], contacts heading: String) {
        let left = Console.output.columns - columns.reduce(2) { $0 + $1.width + 2 }
        let contact = Console.output.isTerminal ? max(20, left / 3) : 20
        self.init(columns + [.left(heading, contact, limit: contact), .left("KEY", limit: max(80, left - contact))])
    }
}

extension AvatarState {
    /// The colour of the state on a terminal.
    var colour: Colour? {
        switch self {
        case .fresh, .own: .green
        case .stale, .evicted, .missing, .ignored: .magenta
        case .failing, .gone: .red
        }
    }
}

extension AvatarDetails {
    /// All fields as `show --json` prints them.
    func json(_ names: [String: String], in layout: StoreLayout) -> JSON {
        var fields = overview.fields(names, in: layout)
        fields["sources"] = .object(sources.mapValues { JSON($0) })
        fields["filePresent"] = JSON(isFilePresent)
        fields["sha256"] = JSON(sha256)
        fields["mediaType"] = JSON(mediaType)
        fields["width"] = JSON(width)
        fields["hasMetadata"] = JSON(hasMetadata)
        fields["height"] = JSON(height)
        fields["lastModified"] = JSON(lastModified)
        fields["responseFields"] = JSON(responseLines)
        fields["fetchedAt"] = JSON(fetched)
        fields["nextCheck"] = JSON(nextCheck)
        fields["failure"] = JSON(failure?.rawValue)
        fields["failureMessage"] = JSON(failureMessage)
        fields["failureCount"] = JSON(failureCount)
        fields["sharedWith"] = JSON(sharedWith.map(\.rawValue))
        fields["evictedAfterFiles"] = JSON(evictedAfterFiles)
        fields["thumbHash"] = JSON(thumbHash.map { Data($0).base64EncodedString() })
        fields["reasons"] = JSON(reasons)
        return .object(fields)
    }

    /// The fields that have a value, one a line, then the reasons for the entry's state, wrapped to the terminal.
    func text(_ names: [String: String]) -> TerminalText {
        var facts = Facts()
        facts.add("key", overview.key.rawValue)
        if overview.sourceURL != overview.key.rawValue { facts.add("source", overview.sourceURL) }
        facts.add("state", overview.state.rawValue, colour: overview.state.colour)
        addFile(to: &facts)
        facts.add("class", overview.storageClass.rawValue)
        facts.add("contacts", overview.contacts.isEmpty ? nil : overview.contacts.text(names))
        facts.add("named by", sources.isEmpty ? nil : Set(sources.values.joined()).sorted().joined(separator: ", "))
        facts.add("shared with", sharedWith.isEmpty ? nil : sharedWith.map(\.rawValue).joined(separator: ", "))
        addOrigin(to: &facts)
        let columns = Console.output.isTerminal ? Console.output.columns : .max
        let lines = reasons.flatMap { Wording.wrapped($0, columns: columns) }
        return facts.text + lines.map { "\n\($0)" }.joined() + "\n"
    }

    /// The header fields of the last response that the store keeps, one a line.
    private var responseLines: [String] {
        (responseFields ?? "").split(separator: "\n").map(String.init)
    }

    /// Adds the lines about the image's file.
    private func addFile(to facts: inout Facts) {
        facts.add("file", localFile)
        if localFile != nil, !isFilePresent { facts.add("", "the file is missing", colour: .red) }
        facts.add("size", overview.sizeBytes.map { Wording.size($0) + ($0 >= 1000 ? " (\($0) bytes)" : "") })
        if let mediaType, let width, let height { facts.add("image", "\(mediaType), \(width)×\(height)") }
        facts.add("sha256", sha256)
        facts.add("last access", overview.lastAccess.map { Wording.age(of: $0.date) })
    }

    /// Adds the lines about the last response and the next check.
    private func addOrigin(to facts: inout Facts) {
        facts.add("etag", overview.etag)
        facts.add("modified", lastModified)
        for (number, line) in responseLines.enumerated() { facts.add(number == 0 ? "response" : "", line) }
        facts.add("fetched", fetched.map { Wording.age(of: $0.date) })
        facts.add("checked", overview.checkedAt.map { Wording.age(of: $0.date) })
        facts.add("next check", nextCheck.map { $0.date <= Date() ? "due" : Wording.age(of: $0.date) })
        if nextCheck != nil { facts.add("", "`avatars fetch --policy reload KEY` asks the host now") }
        if let failure {
            let count = failureCount > 1 ? ", \(failureCount) times in a row" : ""
            facts.add("failure", "\(failure)\(count)", colour: .red)
        }
    }
}
