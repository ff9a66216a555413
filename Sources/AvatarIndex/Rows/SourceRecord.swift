package import AvatarCore

/// A list or an address book that the index knows by its name.
package struct SourceRecord: Sendable {
    /// Its number, whose bit tells which contacts it names.
    package let id: Int
    package let name: String
    /// 0: a list, 1: CardDAV, 2: a folder of vCards.
    package let kind: Int
    /// The end of its last sync; `nil` before the first.
    package let syncedAt: Timestamp?
    /// The reason why the last sync could not read it; `nil` if it could.
    package let failure: String?
    /// Where its books were found; `nil` unless they were looked for.
    package let home: String?
    /// A digest of the user whose books they are; `nil` if it is not known.
    package let account: String?
    /// Whether all contacts that are gone from it have been unlinked.
    package let isSettled: Bool
    /// The parts of its contacts that its cards keep.
    package let keeps: SourceContents

    /// The bit of `named_by`.
    package var mask: Int64 { 1 << Int64(id) }
}

/// The parts of contacts that cards keep, besides ids and images.
package struct SourceContents: OptionSet, Sendable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
    package static let names = SourceContents(rawValue: 1)
    /// Digests of e-mail addresses.
    package static let addresses = SourceContents(rawValue: 2)
}

/// A card as the index knows it.
package struct KnownCard: Sendable {
    /// `nil` if it has to be read again.
    package let validator: String?
    /// Whether its contact was erased.
    package let isErased: Bool
}

/// A book of an address book.
package struct SourceBook: Sendable, Hashable {
    package let id: Int64
    /// Its path at the source.
    package let path: String
    /// The state of its cards; `nil` if they have to be compared.
    package let token: String?
}

/// A card of a book.
package struct SourceCard: Sendable {
    package var path: String
    /// `nil` if it has to be read again.
    package var validator: String?
    /// Its contacts; empty if it has never been readable.
    package var records: [UInt8]
    /// The reason why the card as it is now cannot be read.
    package var fault: String?
    /// Whether its photos are not in the store yet, so that it has to be read again.
    package var isPending = false

    package init(path: String, validator: String?, records: [UInt8], fault: String? = nil) {
        (self.path, self.validator, self.records, self.fault) = (path, validator, records, fault)
    }
}
