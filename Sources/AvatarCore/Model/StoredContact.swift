/// A contact of the store: a list named it, or an image is linked to it.
public struct StoredContact: Hashable, Sendable {
    /// The id, as the list or the host program gave it.
    public var id: String
    /// The display name; `nil` if the list has none, or the store keeps no names (`Setting.keepNames`).
    public var name: String?
    /// The key of the image that the contact shows, or would show if it were stored; `nil` without a linked image.
    public var key: AvatarKey?
    /// The state of that image; `nil` without a linked image.
    public var state: AvatarState?
    /// Whether the index has a file of that image.
    public var hasFile: Bool
    /// The kind of its last failed check; `nil` after a success.
    public var failure: FailureKind?
    /// A sentence about that failure, whose URLs have no query; `nil` after a success, and if the index has none.
    public var failureMessage: String?
    /// The ThumbHash of that image, 5 to 25 bytes, even while it is evicted; `nil` until a rendition of it is made.
    public var thumbHash: [UInt8]?
    /// The names of the lists and address books that name the contact, as `avatars sources` prints them, in their order. URLs have no
    /// user, query or fragment. Empty if none does: the host program linked the image, or a list without a name named the contact.
    public var sources: [String]

    /// A contact, as read from the index.
    package init(
        id: String,
        name: String?,
        key: AvatarKey? = nil,
        state: AvatarState? = nil,
        hasFile: Bool = false,
        failure: FailureKind? = nil,
        failureMessage: String? = nil,
        thumbHash: [UInt8]? = nil,
        sources: [String] = []
    ) {
        (self.id, self.name, self.sources, self.key) = (id, name, sources, key)
        (self.state, self.hasFile) = (state, hasFile)
        (self.failure, self.failureMessage) = (failure, failureMessage)
        self.thumbHash = thumbHash
    }
}

/// A selection of the contacts of a store, and the page of it to return.
package struct StoredContactQuery: Sendable {
    /// List only contacts whose name begins with this text, or whose id does if they have no name. Case and accents do not
    /// matter. Default: empty, all contacts.
    package var beginning: String
    /// List only contacts whose name has words that begin with these, all of them, or contacts without a name whose ids begin with
    /// `beginning`. As `NameWords.sought(in:)` gives them. Default: empty, `beginning` alone counts.
    package var words: [String]
    /// List only contacts whose name contains this text. Case and accents do not matter. Default: `nil`, all contacts.
    package var namePart: String?
    /// List only contacts without a stored image: no list gave them one, or it was not fetched, or it was evicted. Default:
    /// `false`.
    package var isWithoutImage: Bool
    /// The maximum number of contacts in a page, at least 1. Default: 100.
    package var limit: Int
    /// The `next` of the previous page. Default: `nil`, the first page.
    package var after: String?
    /// The number of contacts between `mark` and the page, in the place of `after`. Reads as many rows of an index. Not with words.
    /// Default: 0.
    package var skipped = 0
    /// A place among the contacts from which `skipped` counts. Default: `nil`, the first contact.
    package var mark: ContactOutline.Mark?

    /// A selection with the defaults except those given. Each parameter is described at the property of its name.
    package init(
        beginning: String = "",
        words: [String] = [],
        namePart: String? = nil,
        isWithoutImage: Bool = false,
        limit: Int = 100,
        after: String? = nil
    ) {
        (self.beginning, self.words, self.namePart) = (beginning, words, namePart)
        (self.isWithoutImage, self.limit, self.after) = (isWithoutImage, limit, after)
    }
}

/// The contacts of a store by the first letters of their sort names.
package struct ContactOutline: Sendable, Equatable {
    /// The contacts whose sort names begin with one letter.
    package struct Letter: Sendable, Equatable {
        /// The letter, or another character.
        package let first: Unicode.Scalar
        /// The number of contacts before them.
        package let place: Int
        package let count: Int

        package init(first: Unicode.Scalar, place: Int, count: Int) {
            (self.first, self.place, self.count) = (first, place, count)
        }
    }

    /// The place behind a contact, from which a page is found without reading all contacts before it.
    package struct Mark: Sendable, Equatable {
        /// The number of contacts up to this one.
        package let place: Int
        package let sortName: String
        package let contact: String

        package init(place: Int, sortName: String, contact: String) {
            (self.place, self.sortName, self.contact) = (place, sortName, contact)
        }
    }

    /// In the order of the contacts.
    package let letters: [Letter]
    /// The places behind each thousandth contact.
    package let marks: [Mark]

    package init(letters: [Letter], marks: [Mark]) {
        (self.letters, self.marks) = (letters, marks)
    }

    /// The last mark that is not behind the first `count` contacts; `nil` for the first contact.
    package func mark(before count: Int) -> Mark? {
        let number = marks.partitioningIndex { $0.place > count }
        return number > 0 ? marks[number - 1] : nil
    }

    /// The number of all contacts.
    package var count: Int { letters.last.map { $0.place + $0.count } ?? 0 }
}

extension Array {
    /// The first place whose element is in the second part of the array; `count` if none is.
    ///
    /// - Parameter isInSecondPart: true for all elements from a place on.
    fileprivate func partitioningIndex(where isInSecondPart: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isInSecondPart(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// One page of the contacts of a store.
public struct StoredContactPage: Sendable {
    /// The contacts in the order of their names. Those that a search found are in the order of the words that it found.
    public var contacts: [StoredContact]
    /// The value of `after` for the next page; `nil` on the last page.
    public var next: String?

    /// A page with these contacts.
    package init(contacts: [StoredContact], next: String?) {
        self.contacts = contacts
        self.next = next
    }
}

/// A contact as a list names it.
package struct ListedContact: Hashable, Sendable {
    package let id: String
    package let name: String?
    /// The digests of the e-mail addresses, each as MD5 and as SHA-256; `nil` if the store keeps none.
    package let addresses: Set<[UInt8]>?
    /// The name of its list as its record has it; `nil` if the sync has one list.
    package let list: String?
    /// The bits of the named lists that name it; 0 for a list without a name.
    package let namedBy: Int64

    package init(
        id: String,
        name: String?,
        addresses: Set<[UInt8]>? = nil,
        list: String? = nil,
        namedBy: Int64 = 0
    ) {
        (self.id, self.name, self.addresses) = (id, name, addresses)
        (self.list, self.namedBy) = (list, namedBy)
    }
}
