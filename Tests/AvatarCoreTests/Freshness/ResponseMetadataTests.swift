import AvatarCore
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ResponseMetadataTests {
    private let then = Timestamp(milliseconds: 1_000_000)
    private let now = Timestamp(milliseconds: 2_000_000)

    @Test func keepsWhatFreshnessDependsOn() throws {
        var fields: HTTPFields = [
            .contentType: "image/png", .cacheControl: "max-age=5", .eTag: "W/\"a\"", .lastModified: "yesterday",
            .expires: "0", .date: "today", .age: "1", .vary: "Accept", .setCookie: "secret",
        ]
        fields.append(HTTPField(name: .cacheControl, value: "public"))
        fields.append(HTTPField(name: try #require(HTTPField.Name("Pragma")), value: "no-cache"))

        let metadata = ResponseMetadata(status: 200, fields: fields, requestTime: then, responseTime: now)

        #expect(metadata.etag == "W/\"a\"")
        #expect(metadata.lastModified == "yesterday")
        #expect(
            metadata.encodedFields == """
                cache-control: max-age=5
                expires: 0
                date: today
                age: 1
                vary: Accept
                cache-control: public
                pragma: no-cache
                """
        )
    }

    @Test(arguments: ["", "max-age=5", "a: b: c", "x=\"é, y\"", "a\tb"])
    func readsWhatItWrites(_ value: String) {
        let fields: HTTPFields = [.cacheControl: value, .vary: "*", .eTag: "\"a\""]
        let metadata = ResponseMetadata(status: 200, fields: fields, requestTime: then, responseTime: now)
        let read = ResponseMetadata(
            etag: metadata.etag,
            lastModified: metadata.lastModified,
            encodedFields: metadata.encodedFields,
            requestTime: then,
            responseTime: now
        )

        #expect(read == metadata)
    }

    @Test func keepsOneLinePerFieldWhateverTheOriginSends() {
        let value = Array("max-age=5\r\nvary: *".utf8)
        let fields = HTTPFields([HTTPField(name: .cacheControl, lenientValue: value)])
        let metadata = ResponseMetadata(status: 200, fields: fields, requestTime: then, responseTime: now)

        #expect(!metadata.encodedFields.contains("\n"))
    }

    @Test func passesOverLinesThatItDidNotWrite() {
        let text = "junk\n: x\nset-cookie: a\ncache-control: max-age=5\nb ad: c\n"
        let metadata = ResponseMetadata(
            etag: nil,
            lastModified: nil,
            encodedFields: text,
            requestTime: then,
            responseTime: now
        )

        #expect(metadata.encodedFields == "cache-control: max-age=5")
    }

    @Test func takesTheFirstOfSeveralValidatorsAndNoEmptyOne() {
        var fields: HTTPFields = [.eTag: "", .lastModified: ""]
        fields.append(HTTPField(name: .eTag, value: "\"a\""))
        fields.append(HTTPField(name: .eTag, value: "\"b\""))
        let metadata = ResponseMetadata(status: 200, fields: fields, requestTime: then, responseTime: now)

        #expect(metadata.etag == "\"a\"")
        #expect(metadata.lastModified == nil)
    }
}
