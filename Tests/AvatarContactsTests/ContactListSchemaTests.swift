import AvatarContacts
import Foundation
import Testing

/// `docs/contact-list.schema.json` against the reader.
@Suite(.timeLimit(.minutes(5)))
struct ContactListSchemaTests {
    private static func schema() throws -> JSONSchema {
        let file = URL(filePath: #filePath).appending(path: "../../../docs/contact-list.schema.json").standardized
        return try JSONSchema(Data(contentsOf: file))
    }

    private static func reads(_ text: String, as format: ContactList.Format) async throws -> Bool {
        do {
            return try await ContactList.of(text, as: format).records().allSatisfy { $0.id != nil }
        } catch {
            return false
        }
    }

    /// Each field of the schema is read, and the schema has each field that is read.
    @Test func schemaHasTheFieldsOfTheReader() async throws {
        let contact = try #require(Self.schema().definition("contact")?["properties"] as? [String: Any])
        let images = ["avatarURL", "avatar_url", "avatar", "photo", "picture", "image"]

        let names = [
            "name", "fullName", "namePrefix", "firstName", "givenName", "middleName", "additionalName", "lastName",
            "familyName",
            "surname", "nameSuffix", "fileAs", "displayName", "nickname", "organizationName", "organization", "company",
        ]
        #expect(Set(contact.keys) == Set(["id", "email", "emails", "lowDataURL"] + names + images))
        for field in contact.keys where field != "id" {
            let plain = try await ContactList.of("{\"id\":\"1\"}", as: .ndjson).records()
            let record = try await ContactList.of("{\"id\":\"1\",\"\(field)\":\"a@a\"}", as: .ndjson).records()
            #expect(record != plain, "\(field)")
        }
    }

    @Test(arguments: [
        #"{"id":"1"}"#, #"{"id":7.5,"name":"Ada","more":{}}"#, #"{"id":"1","name":null,"avatarURL":null}"#,
        #"{"id":"1","emails":["a@a.example",{"address":"b@b.example"},7],"email":false,"photo":"x"}"#,
        #"{}"#, #"{"id":""}"#, #"{"id":null}"#, #"{"id":[]}"#, #"{"id":"a\u0000"}"#, #"{"id":"1","name":7}"#,
        #"{"id":"1","firstName":7,"company":{}}"#, #"{"id":"1","photo":"data:,hi"}"#, #"{"id":true}"#,
        #"{"id":"1","photo":{}}"#, #"{"id":"1","avatar_url":["x"]}"#, #"{"id":"1","lowDataURL":1}"#,
        #""1""#, "7", "[]", "null", "{\"id\":\"" + String(repeating: "x", count: 1024) + "\"}",
        "{\"id\":\"" + String(repeating: "x", count: 1025) + "\"}",
    ])
    func recordsAreAcceptedAndRefusedAlike(record: String) async throws {
        let schema = try Self.schema()
        let value = try JSONSerialization.jsonObject(with: Data(record.utf8), options: .fragmentsAllowed)

        let accepts = try schema.accepts(value, as: "contact")

        #expect(try await Self.reads("[\(record)]", as: .json) == accepts)
        #expect(try schema.accepts([value]) == accepts)
        #expect(try schema.accepts(["contacts": [value], "other": 1]) == accepts)
    }

    @Test(arguments: ["[]", #"{"contacts":[]}"#, #"{"contacts":{}}"#, #"{"people":[]}"#, "7", #""a""#, "null"])
    func listsAreAcceptedAndRefusedAlike(list: String) async throws {
        let value = try JSONSerialization.jsonObject(with: Data(list.utf8), options: .fragmentsAllowed)

        #expect(try await Self.reads(list, as: .json) == Self.schema().accepts(value))
    }
}

/// The part of JSON Schema (2020-12) that the schema uses. Another keyword is an error.
private struct JSONSchema {
    private let root: [String: Any]

    private struct UnknownKeyword: Error {
        let keyword: String
    }

    init(_ data: Data) throws {
        root = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    func definition(_ name: String) -> [String: Any]? {
        (root["$defs"] as? [String: [String: Any]])?[name]
    }

    /// Whether the value is valid: by the definition `name`, or by the whole schema.
    func accepts(_ value: Any, as name: String? = nil) throws -> Bool {
        try isValid(value, name.map { try #require(definition($0)) } ?? root)
    }

    private func isValid(_ value: Any, _ schema: [String: Any]) throws -> Bool {
        try schema.allSatisfy { keyword, rule in try isValid(value, keyword, rule) }
    }

    private func isValid(_ value: Any, _ keyword: String, _ rule: Any) throws -> Bool {
        switch (keyword, rule) {
        case ("$schema", _), ("$defs", _), ("title", _), ("description", _), ("examples", _):
            return true
        case ("$ref", let reference as String):
            let name = try #require(reference.split(separator: "/").last.map(String.init))
            return try isValid(value, #require(definition(name)))
        case ("oneOf", let schemas as [[String: Any]]):
            return try schemas.filter { try isValid(value, $0) }.count == 1
        case ("type", let type as String):
            return Self.type(of: value) == type
        case ("type", let types as [String]):
            return types.contains(Self.type(of: value))
        case ("required", let names as [String]):
            guard let object = value as? [String: Any] else { return true }
            return names.allSatisfy { object[$0] != nil }
        case ("properties", let schemas as [String: [String: Any]]):
            guard let object = value as? [String: Any] else { return true }
            return try schemas.allSatisfy { name, schema in try object[name].map { try isValid($0, schema) } ?? true }
        case ("items", let schema as [String: Any]):
            return try (value as? [Any])?.allSatisfy { try isValid($0, schema) } ?? true
        case ("minLength", let length as Int):
            return (value as? String).map { $0.unicodeScalars.count >= length } ?? true
        case ("maxLength", let length as Int):
            return (value as? String).map { $0.unicodeScalars.count <= length } ?? true
        case ("pattern", let pattern as String):
            return try (value as? String).map { try $0.contains(Regex(pattern)) } ?? true
        default:
            throw UnknownKeyword(keyword: keyword)
        }
    }

    private static func type(of value: Any) -> String {
        switch value {
        case is NSNull: "null"
        case is String: "string"
        case let number as NSNumber: isBoolean(number) ? "boolean" : "number"
        case is [Any]: "array"
        default: "object"
        }
    }

    /// Whether a number is `true` or `false`, which Foundation represents as numbers of one byte.
    private static func isBoolean(_ number: NSNumber) -> Bool {
        String(cString: number.objCType) == String(cString: NSNumber(value: true).objCType)
    }
}
