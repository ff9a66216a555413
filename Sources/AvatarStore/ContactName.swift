import Foundation

extension String {
    /// The most bytes of a display name that the store keeps.
    private static let mostNameBytes = 1024

    /// The text as a display name: without spaces and control characters at its ends, and at most 1,024 bytes of it; `nil`
    /// if nothing is left.
    var displayName: String? {
        var name = trimmingCharacters(in: .whitespacesAndNewlines.union(.controlCharacters))
        while name.utf8.count > Self.mostNameBytes { name.removeLast() }
        return name.isEmpty ? nil : name
    }

    /// The text as names are ordered and searched: without case, accents and width, so that "zoe" finds "Zoë".
    var sortName: String {
        folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
    }
}
