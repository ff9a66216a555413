import AvatarCore
package import AvatarReports

extension String {
    /// The most bytes of a display name that the store keeps.
    private static let mostNameBytes = 1024

    /// The text as a display name: without spaces and control characters at its ends, and at most 1,024 bytes of it; `nil`
    /// if nothing is left.
    var displayName: String? {
        // Most names need no change; looking takes a tenth of trimming.
        if isPrintableASCII, utf8.count <= Self.mostNameBytes, first != " ", last != " " { return isEmpty ? nil : self }
        var name = trimmed(Self.isTrimmed)
        while name.utf8.count > Self.mostNameBytes { name.removeLast() }
        return name.isEmpty ? nil : name
    }

    /// The text as names are ordered and searched: without case, accents and width, so that "zoe" finds "Zoë".
    var sortName: String {
        if isPrintableASCII { return lowercased() }
        return NameFolding.folded(self)
    }

    /// Whether `displayName` drops `scalar` at the ends: white space and what cannot be seen, but not the tags of flags.
    private static func isTrimmed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator: scalar.value <= 0xFFFF
        default: false
        }
    }

    /// Whether all characters are those of ASCII that are neither control characters nor accented.
    private var isPrintableASCII: Bool { utf8.allSatisfy { (0x20..<0x7F).contains($0) } }
}

extension AvatarListQuery {
    /// The query with the name as the index spells it.
    package var withSortName: AvatarListQuery {
        var query = self
        query.contactName = contactName?.sortName
        return query
    }
}
