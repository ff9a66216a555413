import AvatarCore

/// Writes the fields of a record.
struct RecordWriter {
    private(set) var bytes: [UInt8] = []

    static func bytes(of number: Int) -> [UInt8] {
        withUnsafeBytes(of: Int64(number).littleEndian) { Array($0) }
    }

    mutating func put(_ record: ContactRecord) {
        switch record {
        case .contact(let contact):
            put(0)
            put(contact.id)
            put(contact.name) { $0.put($1) }
            put(contact.emails) { $0.put($1) }
            put(contact.images) { $0.put($1) }
            put(contact.lowDataURL) { $0.put($1) }
            put(contact.place) { writer, place in
                writer.put(place.list) { $0.put($1) }
                writer.put(place.line)
                writer.put(place.record) { $0.put($1) }
                writer.put(place.card) { $0.put($1) }
            }
        case .unreadable(let line, let reason, let list, let record):
            put(1)
            put(line)
            put(reason)
            put(list) { $0.put($1) }
            put(record) { $0.put($1) }
        }
    }

    private mutating func put(_ image: ContactImage) {
        switch image {
        case .url(let url):
            put(0)
            put(url)
        case .photo(let photo) where photo.digest != nil:
            put(3)
            put(photo.number)
            put(photo.digest ?? [])
            put(photo.line)
        case .photo(let photo):
            put(1)
            put(photo.number)
            put(photo.bytes)
            put(photo.line)
            put(photo.list) { $0.put($1) }
        case .unreadable(let image):
            put(2)
            put(image.number) { $0.put($1) }
            put(image.line)
            put(image.reason)
            put(image.list) { $0.put($1) }
        }
    }

    private mutating func put(_ number: Int) {
        bytes.append(contentsOf: Self.bytes(of: number))
    }

    private mutating func put(_ text: String) {
        put(text.utf8.count)
        bytes.append(contentsOf: text.utf8)
    }

    private mutating func put(_ data: [UInt8]) {
        put(data.count)
        bytes.append(contentsOf: data)
    }

    private mutating func put<Value>(_ value: Value?, _ body: (inout Self, Value) -> Void) {
        bytes.append(value == nil ? 0 : 1)
        if let value { body(&self, value) }
    }

    private mutating func put<Value>(_ values: [Value], _ body: (inout Self, Value) -> Void) {
        put(values.count)
        for value in values { body(&self, value) }
    }
}

/// Reads the fields of a record.
struct RecordReader {
    private var rest: ArraySlice<UInt8>

    static var damage: AvatarStoreError {
        AvatarStoreError(.storage, "The copy of the contact list in the store is damaged.", failure: .storage)
    }

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    /// Whether all bytes have been read.
    var isAtEnd: Bool { rest.isEmpty }

    mutating func record() throws -> ContactRecord {
        guard try number() == 0 else {
            return .unreadable(
                line: try number(),
                reason: try text(),
                list: try optional { try $0.text() },
                record: try optional { try $0.number() }
            )
        }
        let id = try text()
        let name = try optional { try $0.text() }
        let emails = try array { try $0.text() }
        var contact = Contact(id: id, name: name, emails: emails, images: try array { try $0.image() })
        contact.lowDataURL = try optional { try $0.text() }
        contact.place = try optional {
            var place = ListPlace(
                list: try $0.optional { try $0.text() },
                line: try $0.number(),
                record: try $0.optional { try $0.number() }
            )
            place.card = try $0.optional { try $0.text() }
            return place
        }
        return .contact(contact)
    }

    private mutating func image() throws -> ContactImage {
        switch try number() {
        case 0:
            return .url(try text())
        case 1:
            var photo = ContactPhoto(number: try number(), bytes: Array(try data()), line: try number())
            photo.list = try optional { try $0.text() }
            return .photo(photo)
        case 3:
            let number = try number()
            let digest = Array(try data())
            var photo = ContactPhoto(number: number, bytes: [], line: try self.number())
            photo.digest = digest
            return .photo(photo)
        default:
            let number = try optional { try $0.number() }
            var image = UnreadableContactImage(number: number, line: try self.number(), reason: try text())
            image.list = try optional { try $0.text() }
            return .unreadable(image)
        }
    }

    mutating func number() throws -> Int {
        let bytes = try take(8)
        return Int(truncatingIfNeeded: bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    private mutating func text() throws -> String {
        String(decoding: try data(), as: UTF8.self)
    }

    private mutating func data() throws -> ArraySlice<UInt8> {
        try take(try number())
    }

    private mutating func optional<Value>(_ body: (inout Self) throws -> Value) throws -> Value? {
        try take(1).first == 1 ? try body(&self) : nil
    }

    private mutating func array<Value>(_ body: (inout Self) throws -> Value) throws -> [Value] {
        let count = try number()
        // Each element takes at least a byte.
        guard count >= 0, count <= rest.count else { throw Self.damage }
        return try (0..<count).map { _ in try body(&self) }
    }

    private mutating func take(_ count: Int) throws -> ArraySlice<UInt8> {
        guard count >= 0, count <= rest.count else { throw Self.damage }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }
}
