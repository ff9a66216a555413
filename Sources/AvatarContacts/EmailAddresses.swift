internal import Foundation

/// The e-mail addresses of a contact in a JSON list: a string, or an array of strings and of objects that hold one.
///
/// What is neither is no fault: lists had such a field before anyone read it.
struct EmailAddresses: Decodable {
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
