internal import AvatarCore
internal import AvatarFoundation

/// A contact as an object in a JSON or NDJSON list. Unknown fields are ignored.
///
/// | field | value |
/// |---|---|
/// | `id` | required: a string, or a number with fewer than 38 digits |
/// | `name` | a string |
/// | `emails`, `email` | see `EmailAddresses` |
/// | `avatarURL`, `avatar_url`, `avatar`, `photo`, `picture`, `image` | the URL of the image |
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

    /// Decodes a contact.
    ///
    /// - Parameters:
    ///   - decoder: The decoder.
    ///   - spellings: The names of fields in another spelling.
    /// - Throws: `RecordFault` if the value is not an object or a field has the wrong type; `DecodingError` if it is not JSON.
    init(from decoder: any Decoder, configuration spellings: [ContactField: String]) throws {
        let fields: DecodedFields
        do {
            let container = try decoder.container(keyedBy: DecodedFields.Key.self)
            fields = DecodedFields(container: container, spellings: spellings)
        } catch {
            throw RecordFault(reason: "expected an object, found \(try JSONValue(from: decoder).kind)")
        }
        try self.init(fields)
    }

    /// Makes a contact of the fields.
    ///
    /// - Throws: `RecordFault` if a field has the wrong type; `DecodingError` if its value is not JSON.
    init(_ fields: some ContactFields) throws {
        var contact = Contact(
            id: try Self.id(in: fields),
            name: try Self.text(.name, in: fields),
            avatarURL: try Self.avatarURL(in: fields),
            emails: try Self.emails(in: fields)
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
        case nil: throw RecordFault(reason: "`id` is missing")
        case let other?:
            throw RecordFault(reason: "`\(fields.name(of: .id))` must be a string or a number, not \(other.kind)")
        }
        return try ContactID.checked(id, called: "`id`")
    }

    /// The decimal digits of a number, if it has few enough that `Decimal` cannot have rounded it.
    private static func text(of number: Decimal) throws -> String {
        let text = number.description
        guard text.count(where: \.isNumber) < maximumIDDigits else {
            throw RecordFault(reason: "`id` is a number with \(maximumIDDigits) digits or more; write it as a string")
        }
        return text
    }

    /// The URL of the image, unchecked; `nil` if no field has one or the first one is blank.
    private static func avatarURL(in fields: some ContactFields) throws -> String? {
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

    /// Whether the object has `field`, in any spelling and with any value.
    func has(_ field: ContactField) -> Bool

    /// The value of `field`; `nil` if the field is missing or null.
    func value(_ field: ContactField) throws -> JSONValue?

    /// The e-mail addresses in `field` as the list spells them; see `EmailAddresses`.
    func addresses(_ field: ContactField) throws -> [String]
}

/// The fields of any JSON object, read by `JSONDecoder`.
private struct DecodedFields: ContactFields {
    /// The name of a field, in any spelling.
    struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) {
            self.stringValue = stringValue
        }

        init?(intValue: Int) {
            nil
        }
    }

    let container: KeyedDecodingContainer<Key>
    /// The names of fields in another spelling.
    let spellings: [ContactField: String]

    func name(of field: ContactField) -> String {
        guard !spellings.isEmpty, let spelling = spellings[field] else { return field.rawValue }
        return container.contains(Key(stringValue: field.rawValue)) ? field.rawValue : spelling
    }

    func has(_ field: ContactField) -> Bool {
        container.contains(Key(stringValue: name(of: field)))
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
        try container.decodeIfPresent(type, forKey: Key(stringValue: name(of: field)))
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
