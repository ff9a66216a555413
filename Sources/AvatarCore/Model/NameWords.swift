/// The words of a name, by which a search finds the contact.
///
/// Words are taken from the sort name: without case, accents and width. They end at white space and at the punctuation that is
/// usual within names. That is a table rather than a property of Unicode: the index holds words that an earlier version took.
package enum NameWords {
    /// The most characters of a row of `contact_word`. Of a name with hundreds of words, each row would hold the whole name.
    package static let rowLength = 64

    /// The most rows that a further one is compared with one by one.
    private static let mostCompared = 8

    /// The most words of a search that are looked at. Further ones do not matter.
    package static let mostSought = 16

    /// The words of `sortName`, in its order.
    package static func words(of sortName: String) -> [Substring] {
        if sortName.utf8.allSatisfy({ $0 < 0x80 }) {
            return sortName.utf8.split(whereSeparator: isASCIISeparator).map { Substring($0) }
        }
        return sortName.unicodeScalars.split(whereSeparator: isSeparator).map { Substring($0) }
    }

    /// The words that a search for `sortText` looks for, each once.
    package static func sought(in sortText: String) -> [String] {
        var words: [String] = []
        for word in self.words(of: sortText).prefix(mostSought).map(String.init) where !words.contains(word) {
            words.append(word)
        }
        return words
    }

    /// The rows of `contact_word` for a contact with the name `sortName`: for each word its name in another order, which begins
    /// with that word and has the words before it at the end. In the order of the words, each once.
    ///
    /// The index `contact_by_name` finds the first word if the name begins with it, so that it has no row.
    package static func rows(of sortName: String) -> [String] {
        var rows: [String] = []
        // The bytes of the rows, once there are many.
        var known: Set<[UInt8]> = []
        func add(_ text: String) {
            let row = start(of: text)
            if areSame(row, sortName) { return }
            if rows.count < mostCompared {
                if rows.contains(where: { areSame($0, row) }) { return }
            } else {
                if known.isEmpty { known = Set(rows.map { Array($0.utf8) }) }
                guard known.insert(Array(row.utf8)).inserted else { return }
            }
            rows.append(row)
        }
        if isPlain(sortName) {
            // Most names are such, and a sync takes the words of each new contact.
            for space in sortName.utf8.indices where sortName.utf8[space] == 0x20 {
                let rest = sortName[sortName.utf8.index(after: space)...]
                // Nothing of the words before is in a row that is full.
                add(rest.utf8.count > rowLength ? String(rest.prefix(rowLength + 1)) : "\(rest) \(sortName[..<space])")
            }
            return rows
        }
        let words = words(of: sortName)
        guard let first = words.first else { return [] }
        for place in words.indices where place > 0 || first.startIndex != sortName.startIndex {
            add((words[place...] + words[..<place]).joined(separator: " "))
        }
        return rows
    }

    /// Whether the name consists of letters and digits of ASCII, with one space between two words.
    private static func isPlain(_ sortName: String) -> Bool {
        var last: UInt8 = 0x20
        for byte in sortName.utf8 {
            guard (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x20 && last != 0x20 else {
                return false
            }
            last = byte
        }
        return last != 0x20
    }

    /// The part of `text` that a row has.
    package static func start(of text: String) -> String {
        text.utf8.count <= rowLength ? text : String(text.unicodeScalars.prefix(rowLength))
    }

    /// Whether each of `sought` is the beginning of one of `words`.
    package static func match(_ words: [Substring], _ sought: [String]) -> Bool {
        sought.allSatisfy { begin in words.contains { $0.utf8.starts(with: begin.utf8) } }
    }

    /// Whether the texts have the same bytes, as the index compares them. `==` takes other spellings of a letter for the same.
    package static func areSame(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }

    private static func isASCIISeparator(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09...0x0D, 0x20...0x2F, 0x3A...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII ? isASCIISeparator(UInt8(scalar.value)) : furtherSeparators.contains(scalar)
    }

    /// Spaces, dashes, quotation marks and other punctuation beyond ASCII. `Migrations/0023_contact_word.sql` has the same.
    package static let furtherSeparators: Set<Unicode.Scalar> = [
        "\u{A0}", "\u{A1}", "\u{AB}", "\u{B7}", "\u{BB}", "\u{BF}",
        "\u{2000}", "\u{2001}", "\u{2002}", "\u{2003}", "\u{2004}", "\u{2005}", "\u{2006}", "\u{2007}", "\u{2008}",
        "\u{2009}", "\u{200A}", "\u{200B}", "\u{2010}", "\u{2011}", "\u{2012}", "\u{2013}", "\u{2014}", "\u{2015}",
        "\u{2018}", "\u{2019}", "\u{201A}", "\u{201C}", "\u{201D}", "\u{201E}", "\u{2022}", "\u{2026}", "\u{2028}",
        "\u{2029}", "\u{202F}", "\u{2039}", "\u{203A}", "\u{3000}", "\u{3001}", "\u{3002}", "\u{300C}", "\u{300D}",
        "\u{30FB}",
    ]
}
