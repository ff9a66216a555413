internal import AvatarCore
internal import Foundation

/// A contact as JSON lists write it. Fields that are not known are ignored.
struct ContactObject: Decodable {
    let contact: Contact

    private enum Field: String, CodingKey {
        case id, name, emails, email, avatarURL, avatar, photo, picture, image
        case avatarURLInSnakeCase = "avatar_url"
        case lowDataURL
    }

    /// Where lists keep the image's URL; the first that is there and not null counts.
    private static let imageFields: [Field] = [.avatarURL, .avatarURLInSnakeCase, .avatar, .photo, .picture, .image]
    private static let maximumIDDigits = 38

    init(from decoder: any Decoder) throws {
        let fields: KeyedDecodingContainer<Field>
        do {
            fields = try decoder.container(keyedBy: Field.self)
        } catch {
            throw RecordFault(reason: "an object was expected, found \(try JSONValue(from: decoder).kind)")
        }
        var contact = Contact(
            id: try Self.id(in: fields),
            name: try Self.text(.name, in: fields),
            avatarURL: try Self.avatarURL(in: fields),
            emails: try Self.emails(in: fields)
        )
        contact.lowDataURL = try Self.text(.lowDataURL, in: fields).flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
        self.contact = contact
    }

    private static func id(in fields: KeyedDecodingContainer<Field>) throws -> String {
        let id: String
        switch try fields.decodeIfPresent(JSONValue.self, forKey: .id) {
        case .string(let text)?: id = text
        case .number(let number)?: id = try text(of: number)
        case nil: throw RecordFault(reason: "`id` is missing")
        case let other?: throw RecordFault(reason: "`id`: a string or a number was expected, found \(other.kind)")
        }
        return try ContactID.checked(id, called: "`id`")
    }

    /// The number in decimal digits. `Decimal` rounds what has more than 38 of them, and two people must not become one.
    private static func text(of number: Decimal) throws -> String {
        let text = number.description
        guard text.count(where: \.isNumber) < maximumIDDigits else {
            throw RecordFault(reason: "`id` is a number with \(maximumIDDigits) digits or more; write it as a string")
        }
        return text
    }

    private static func avatarURL(in fields: KeyedDecodingContainer<Field>) throws -> String? {
        for field in imageFields {
            guard let url = try text(field, in: fields) else { continue }
            return url.allSatisfy(\.isWhitespace) ? nil : url
        }
        return nil
    }

    private static func emails(in fields: KeyedDecodingContainer<Field>) throws -> [String] {
        try [Field.emails, .email]
            .flatMap { try fields.decodeIfPresent(EmailAddresses.self, forKey: $0)?.addresses ?? [] }
            .map(\.trimmed)
            .uniqueTexts
    }

    /// The string in `field`; `nil` if the field is missing or null.
    private static func text(_ field: Field, in fields: KeyedDecodingContainer<Field>) throws -> String? {
        switch try fields.decodeIfPresent(JSONValue.self, forKey: field) {
        case .string(let text)?: return text
        case nil: return nil
        case let other?:
            throw RecordFault(reason: "`\(field.rawValue)`: a string was expected, found \(other.kind)")
        }
    }
}

/// The e-mail addresses of a contact in a JSON list: a string, or an array of strings and of objects that hold one.
///
/// What is neither is no fault: lists had such a field before anyone read it.
private struct EmailAddresses: Decodable {
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

    private struct Element: Decodable {
        let address: String?

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
    fileprivate var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }
}

/// A JSON value, as far as one must look to use it or to say what it is.
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

    /// How messages name the value.
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
    /// The value if it is of this type; `nil` if it is of another.
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
    fileprivate func holdsArray() throws -> Bool {
        do {
            _ = try unkeyedContainer()
            return true
        } catch DecodingError.typeMismatch {
            return false
        }
    }
}
