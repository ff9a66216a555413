internal import Foundation

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
