internal import AvatarCore
internal import AvatarFoundation

/// A contact as an object in a JSON or NDJSON list. Unknown fields are ignored.
///
/// | field | value |
/// |---|---|
/// | `id` | required: a string, or a number with fewer than 38 digits |
/// | `name` | a string |
/// | `fullName`, `firstName`, `lastName` and others | parts of the name, see `name(in:)` |
/// | `emails`, `email` | see `EmailAddresses` |
/// | `avatarURL`, `avatar_url`, `avatar`, `photo`, `picture`, `image` | the URL of the image, or a `data:` URL with its bytes |
/// | `lowDataURL` | the URL of a smaller image for constrained networks |
///
/// A field in another spelling, such as `AvatarUrl` or `avatar-url`, is read if the usual one is missing.
struct ContactObject: DecodableWithConfiguration {
    /// The decoded contact, without its place in the list.
    let contact: Contact
    /// Whether the object has a field for images, even if it is empty or null.
    let hasImageField: Bool

    /// The fields that may hold the URL of the image. The first one that is present and not null counts.
    private static let imageFields: [ContactField] = [
        .avatarURL, .avatarURLInSnakeCase, .avatar, .photo, .picture, .image,
    ]
    /// The number of digits from which `Decimal` may round, which could give two contacts the same id.
    private static let maximumIDDigits = 38

    /// The names of the fields of one record, and its place.
    struct Reading {
        /// The names of fields in another spelling.
        var spellings: [ContactField: String] = [:]
        /// The fields that the caller names.
        var columns: [ContactList.Column: [String]] = [:]
        /// The line in which the record begins.
        var line: Int
    }

    /// Decodes a contact.
    ///
    /// - Parameters:
    ///   - decoder: The decoder.
    ///   - reading: The names of the fields.
    /// - Throws: `RecordFault` if the value is not an object or a field has the wrong type; `DecodingError` if it is not JSON.
    init(from decoder: any Decoder, configuration reading: Reading) throws {
        let fields: DecodedFields
        do {
            let container = try decoder.container(keyedBy: JSONKey.self)
            fields = DecodedFields(container: container, spellings: reading.spellings)
        } catch {
            throw RecordFault(reason: "expected an object, found \(try JSONValue(from: decoder).kind)")
        }
        if reading.columns.isEmpty {
            try self.init(fields, line: reading.line)
        } else {
            try self.init(NamedFields(fields, columns: reading.columns), line: reading.line)
        }
    }

    /// Makes a contact of the fields of a record that begins in `line`.
    ///
    /// - Throws: `RecordFault` if a field has the wrong type; `DecodingError` if its value is not JSON.
    init(_ fields: some ContactFields, line: Int) throws {
        let image = try Self.image(in: fields).flatMap { ContactImage.listed($0, line: line) }
        var contact = Contact(
            id: try Self.id(in: fields),
            name: try Self.name(in: fields),
            emails: try Self.emails(in: fields),
            images: image.map { [$0] } ?? []
        )
        contact.lowDataURL = try Self.text(.lowDataURL, in: fields).flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
        self.contact = contact
        hasImageField = !contact.images.isEmpty || Self.imageFields.contains(where: fields.has)
    }

    /// The id as text: a number becomes its decimal digits.
    private static func id(in fields: some ContactFields) throws -> String {
        let id: String
        switch try fields.value(.id) {
        case .string(let text)?: id = text
        case .number(let number)?: id = try text(of: number)
        case nil: throw RecordFault(reason: "`\(fields.idName)` is missing")
        case let other?:
            throw RecordFault(reason: "`\(fields.name(of: .id))` must be a string or a number, not \(other.kind)")
        }
        return try ContactID.checked(id, called: "`\(fields.idName)`")
    }

    /// The display name: of its own field, else from its parts, else of a field that may stand for it, as in `CSVColumns`. The other
    /// fields count only with a text, because lists may use them for something else.
    private static func name(in fields: some ContactFields) throws -> String? {
        let name = try text(.name, in: fields)
        guard name?.allSatisfy(\.isWhitespace) ?? true else { return name }
        if let whole = try looseText(.fullName, in: fields) { return whole }
        let parts = try nameParts.compactMap { try looseText($0, in: fields) }
        if !parts.isEmpty { return parts.joined(separator: " ") }
        for field in nameFallbacks {
            if let text = try looseText(field, in: fields) { return text }
        }
        return name
    }

    /// The trimmed text in `field`; `nil` if it is empty or another value.
    private static func looseText(_ field: ContactField, in fields: some ContactFields) throws -> String? {
        guard fields.has(field), case .string(let text)? = try fields.value(field) else { return nil }
        let trimmed = text.trimmed
        return trimmed.isEmpty ? nil : trimmed
    }

    /// The parts of a name in their order.
    private static let nameParts: [ContactField] = [
        .namePrefix, .firstName, .givenName, .middleName, .additionalName, .lastName, .familyName, .surname,
        .nameSuffix,
    ]
    private static let nameFallbacks: [ContactField] = [
        .fileAs, .displayName, .nickname, .organizationName, .organization, .company,
    ]

    /// The decimal digits of a number, if it has few enough that `Decimal` cannot have rounded it.
    private static func text(of number: Decimal) throws -> String {
        let text = number.description
        guard text.count(where: \.isNumber) < maximumIDDigits else {
            throw RecordFault(reason: "`id` is a number with \(maximumIDDigits) digits or more; write it as a string")
        }
        return text
    }

    /// The URL of the image, unchecked; `nil` if no field has one or the first one is blank.
    private static func image(in fields: some ContactFields) throws -> String? {
        for field in imageFields {
            guard let url = try text(field, in: fields) else { continue }
            return url.allSatisfy(\.isWhitespace) ? nil : url
        }
        return nil
    }

    /// The e-mail addresses of both fields, trimmed and without duplicates.
    private static func emails(in fields: some ContactFields) throws -> [String] {
        let addresses = try fields.addresses(.emails) + fields.addresses(.email)
        return addresses.map(\.trimmed).uniqueTexts
    }

    /// The string in `field`; `nil` if the field is missing or null.
    private static func text(_ field: ContactField, in fields: some ContactFields) throws -> String? {
        switch try fields.value(field) {
        case .string(let text)?: return text
        case nil: return nil
        case let other?:
            throw RecordFault(reason: "`\(fields.name(of: field))` must be a string, not \(other.kind)")
        }
    }
}

/// The fields that are read. The raw value is the usual spelling.
enum ContactField: String, CaseIterable {
    case id, name, emails, email, avatarURL, avatar, photo, picture, image
    case avatarURLInSnakeCase = "avatar_url"
    case lowDataURL
    case fullName, namePrefix, firstName, givenName, middleName, additionalName, lastName, familyName, surname,
        nameSuffix
    case fileAs, displayName, nickname, organizationName, organization, company

    /// The part of a contact that the field holds; `nil` for `lowDataURL`.
    fileprivate var part: ContactList.Column? {
        switch self {
        case .id: .id
        case .emails, .email: .email
        case .avatarURL, .avatarURLInSnakeCase, .avatar, .photo, .picture, .image: .photo
        case .lowDataURL: nil
        default: .name
        }
    }

    /// The fields by their names without regard to case, `_` and `-`.
    static let spelledPlainly = Dictionary(
        allCases.map { (FieldName.plain($0.rawValue), $0) },
        uniquingKeysWith: { first, _ in first }
    )
}

/// The fields of one JSON object.
protocol ContactFields {
    /// The name under which the object has `field`: the usual one, unless only another spelling is there.
    func name(of field: ContactField) -> String

    /// The name of the field for the id that messages about a missing one use.
    var idName: String { get }

    /// Whether the object has `field`, in any spelling and with any value.
    func has(_ field: ContactField) -> Bool

    /// The value of `field`; `nil` if the field is missing or null.
    func value(_ field: ContactField) throws -> JSONValue?

    /// The e-mail addresses in `field` as the list spells them; see `EmailAddresses`.
    func addresses(_ field: ContactField) throws -> [String]
}

extension ContactFields {
    var idName: String { ContactField.id.rawValue }
}

/// The name of a field, in any spelling.
private struct JSONKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) {
        self.stringValue = stringValue
    }

    init?(intValue: Int) {
        nil
    }
}

/// The fields of any JSON object, read by `JSONDecoder`.
private struct DecodedFields: ContactFields {
    let container: KeyedDecodingContainer<JSONKey>
    /// The names of fields in another spelling.
    let spellings: [ContactField: String]

    func name(of field: ContactField) -> String {
        guard !spellings.isEmpty, let spelling = spellings[field] else { return field.rawValue }
        return container.contains(JSONKey(stringValue: field.rawValue)) ? field.rawValue : spelling
    }

    func has(_ field: ContactField) -> Bool {
        container.contains(JSONKey(stringValue: name(of: field)))
    }

    /// Most values are strings, which a container decodes in half the time of a value of any type.
    func value(_ field: ContactField) throws -> JSONValue? {
        do {
            return try decoded(String.self, field).map(JSONValue.string)
        } catch DecodingError.typeMismatch {
            return try decoded(JSONValue.self, field)
        }
    }

    func addresses(_ field: ContactField) throws -> [String] {
        try decoded(EmailAddresses.self, field)?.addresses ?? []
    }

    /// Decodes the value of a field; `nil` if the field is missing or null.
    private func decoded<Value: Decodable>(_ type: Value.Type, _ field: ContactField) throws -> Value? {
        try container.decodeIfPresent(type, forKey: JSONKey(stringValue: name(of: field)))
    }
}

/// The fields of a JSON object of which the caller names some. They take the place of those that are known by name.
private struct NamedFields: ContactFields {
    private let fields: DecodedFields
    private let columns: [ContactList.Column: [String]]

    init(_ fields: DecodedFields, columns: [ContactList.Column: [String]]) {
        (self.fields, self.columns) = (fields, columns)
    }

    /// The names that the caller gives for the part of `field`; `nil` if it gives none.
    private func given(_ field: ContactField) -> [String]? {
        field.part.flatMap { columns[$0] }
    }

    /// Whether `field` is the one under which the values of the named fields are read. The others of its part have none.
    private func stands(_ field: ContactField) -> Bool {
        [.id, .name, .emails, .avatarURL].contains(field)
    }

    func name(of field: ContactField) -> String { given(field)?.first ?? fields.name(of: field) }

    var idName: String { given(.id)?.first ?? fields.idName }

    func has(_ field: ContactField) -> Bool {
        guard let names = given(field) else { return fields.has(field) }
        return stands(field) && names.contains { JSONPlace($0, in: fields.container) != nil }
    }

    func value(_ field: ContactField) throws -> JSONValue? {
        guard let names = given(field) else { return try fields.value(field) }
        guard stands(field) else { return nil }
        let values = try names.compactMap { try value(named: $0, for: field) }
        guard field == .name else { return values.first }
        let texts = values.compactMap(\.text).map(\.trimmed).filter { !$0.isEmpty }
        return texts.isEmpty ? nil : .string(texts.joined(separator: " "))
    }

    /// The value of the field `name`. The id may also be in an array, and the first e-mail address may stand for it.
    private func value(named name: String, for field: ContactField) throws -> JSONValue? {
        guard let place = JSONPlace(name, in: fields.container) else {
            guard field == .id, FieldName.plain(name) == "email" else { return nil }
            return try (fields.addresses(.emails) + fields.addresses(.email)).first.map(JSONValue.string)
        }
        let value = try place.decoded(JSONValue.self)
        guard value == .array || value == .object, field == .id || field == .avatarURL else { return value }
        // Of several, the first one.
        return try place.decoded(EmailAddresses.self)?.addresses.first.map(JSONValue.string) ?? value
    }

    func addresses(_ field: ContactField) throws -> [String] {
        guard let names = given(field) else { return try fields.addresses(field) }
        guard stands(field) else { return [] }
        return try names.flatMap { name in
            try JSONPlace(name, in: fields.container)?.decoded(EmailAddresses.self)?.addresses ?? []
        }
    }
}

/// The place of a value in a JSON object, by a name such as `photo`, or by a path of names such as `picture.large`.
private struct JSONPlace {
    private let container: KeyedDecodingContainer<JSONKey>
    private let key: JSONKey

    /// Finds the field `name`, in this spelling or else without regard to case, `_` and `-`. A name with a dot that no field has leads
    /// into the object, or the first object of the array, before the dot.
    init?(_ name: String, in container: KeyedDecodingContainer<JSONKey>) {
        if let key = Self.key(name, in: container) {
            (self.container, self.key) = (container, key)
            return
        }
        for dot in name.indices where name[dot] == "." {
            guard let key = Self.key(String(name[..<dot]), in: container),
                let inner = Self.object(at: key, in: container),
                let place = JSONPlace(String(name[name.index(after: dot)...]), in: inner)
            else { continue }
            self = place
            return
        }
        return nil
    }

    /// The value; `nil` if it is null.
    func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value? {
        try container.decodeIfPresent(type, forKey: key)
    }

    private static func key(_ name: String, in container: KeyedDecodingContainer<JSONKey>) -> JSONKey? {
        let exact = JSONKey(stringValue: name)
        if container.contains(exact) { return exact }
        let plain = FieldName.plain(name)
        return container.allKeys.filter { FieldName.plain($0.stringValue) == plain }
            .min { $0.stringValue < $1.stringValue }
    }

    /// The object at `key`, or the first object of the array there; `nil` for another value.
    private static func object(
        at key: JSONKey,
        in container: KeyedDecodingContainer<JSONKey>
    ) -> KeyedDecodingContainer<JSONKey>? {
        do {
            return try container.nestedContainer(keyedBy: JSONKey.self, forKey: key)
        } catch {
            // Another value is an answer here, not a failure.
        }
        do {
            var elements = try container.nestedUnkeyedContainer(forKey: key)
            return elements.isAtEnd ? nil : try elements.nestedContainer(keyedBy: JSONKey.self)
        } catch {
            return nil
        }
    }
}

/// The e-mail addresses of a contact in a JSON list: a string, or an array of strings and of objects with an address.
///
/// A value of any other type is ignored rather than a fault, because lists may use the field for something else.
private struct EmailAddresses: Decodable {
    /// The addresses as the list spells them.
    let addresses: [String]

    init(from decoder: any Decoder) throws {
        switch try JSONValue(from: decoder) {
        case .string(let address):
            addresses = [address]
        case .array:
            var elements = try decoder.unkeyedContainer()
            var addresses: [String] = []
            while !elements.isAtEnd {
                if let address = try elements.decode(Element.self).address { addresses.append(address) }
            }
            self.addresses = addresses
        default:
            addresses = []
        }
    }

    /// An element of the array: a string, or an object.
    private struct Element: Decodable {
        /// The address; `nil` if the element has none.
        let address: String?

        /// The fields of an object that may hold the address. The first one with a string counts.
        private enum Field: String, CodingKey, CaseIterable {
            case address, email, value
        }

        init(from decoder: any Decoder) throws {
            switch try JSONValue(from: decoder) {
            case .string(let address):
                self.address = address
            case .object:
                let fields = try decoder.container(keyedBy: Field.self)
                let values = try Field.allCases.map { try fields.decodeIfPresent(JSONValue.self, forKey: $0) }
                address = values.lazy.compactMap(\.?.text).first
            default:
                address = nil
            }
        }
    }
}

extension JSONValue {
    /// The text of a string; `nil` for any other value.
    fileprivate var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }
}

/// A JSON value of any type. Elements and members are not decoded: the type is enough for messages and checks.
enum JSONValue: Decodable, Equatable {
    case null
    case string(String)
    case number(Decimal)
    case boolean
    case array
    case object

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if let text = try value.decodeIfItIs(String.self) {
            self = .string(text)
        } else if value.decodeNil() {
            self = .null
        } else if try value.decodeIfItIs(Bool.self) != nil {
            self = .boolean
        } else if let number = try value.decodeIfItIs(Decimal.self) {
            self = .number(number)
        } else {
            self = try decoder.holdsArray() ? .array : .object
        }
    }

    /// The type of the value as messages name it, with its article.
    var kind: String {
        switch self {
        case .null: "null"
        case .string: "a string"
        case .number: "a number"
        case .boolean: "a boolean"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension SingleValueDecodingContainer {
    /// Decodes the value if it is of this type, or returns `nil` if it is of another.
    ///
    /// - Throws: `DecodingError` if the text is not valid JSON.
    fileprivate func decodeIfItIs<Value: Decodable>(_ type: Value.Type) throws -> Value? {
        do {
            return try decode(type)
        } catch DecodingError.typeMismatch {
            return nil
        } catch DecodingError.valueNotFound {
            return nil
        }
    }
}

extension Decoder {
    /// Whether the value is an array.
    fileprivate func holdsArray() throws -> Bool {
        do {
            _ = try unkeyedContainer()
            return true
        } catch DecodingError.typeMismatch {
            return false
        }
    }
}
