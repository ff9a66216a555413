import Foundation

#if canImport(FoundationXML)
import FoundationXML
#endif

/// The response of a WebDAV server about several resources (RFC 4918 section 13).
struct Multistatus {
    struct Response {
        /// The path as the server spells it.
        var path = ""
        var status = 200
        var card: String?
    }

    private(set) var responses: [Response] = []
    private(set) var syncToken: String?

    /// Reads the XML in `data`.
    init(_ data: Data) throws {
        let reader = Reader()
        let parser = XMLParser(data: data)
        parser.shouldProcessNamespaces = true
        parser.delegate = reader
        guard parser.parse() else { throw parser.parserError ?? CocoaError(.fileReadCorruptFile) }
        responses = reader.responses
        syncToken = reader.syncToken
    }

    private final class Reader: NSObject, XMLParserDelegate {
        var responses: [Response] = []
        var syncToken: String?
        private var response: Response?
        private var text = ""
        /// Whether the parser is inside a `propstat`, whose status is about properties and not about the resource.
        private var isInProperties = false

        func parser(
            _ parser: XMLParser,
            didStartElement name: String,
            namespaceURI: String?,
            qualifiedName: String?,
            attributes: [String: String]
        ) {
            text = ""
            if name == "response" { response = Response() }
            if name == "propstat" { isInProperties = true }
        }

        func parser(_ parser: XMLParser, foundCharacters string: String) {
            text += string
        }

        func parser(
            _ parser: XMLParser,
            didEndElement name: String,
            namespaceURI: String?,
            qualifiedName: String?
        ) {
            switch name {
            case "href": response?.path = text.trimmingCharacters(in: .whitespacesAndNewlines)
            case "address-data": response?.card = text
            case "propstat": isInProperties = false
            case "sync-token": syncToken = text.trimmingCharacters(in: .whitespacesAndNewlines)
            // "HTTP/1.1 404 Not Found"
            case "status" where !isInProperties:
                response?.status = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 200
            case "response":
                if let response { responses.append(response) }
                response = nil
            default: break
            }
        }
    }
}
