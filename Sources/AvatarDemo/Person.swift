/// One of the people in the bundled contact list. They follow from their numbers, so every run has the same.
struct Person: Sendable {
    /// From 1 on.
    let number: Int
    let name: String
    let picture: Picture

    init(number: Int) {
        self.number = number
        name = NameTable.name(number)
        picture = Picture(ofPerson: number)
    }

    /// The whole list.
    static let everybody = (1...NameTable.count).map(Person.init)

    var id: String { "p" + digits }

    /// The number with leading zeros.
    var digits: String {
        let text = String(number)
        return String(repeating: "0", count: 4 - text.count) + text
    }
}
