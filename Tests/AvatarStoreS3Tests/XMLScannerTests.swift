import AvatarCore
import Testing

import AvatarProviders
@testable import AvatarStoreS3

@Suite(.timeLimit(.minutes(5)))
struct XMLScannerTests {
    private static func elements(_ text: String) -> [String]? {
        var found: [String] = []
        do {
            try XMLScanner.scan(Array(text.utf8)) { found.append($0.joined(separator: "/") + "=" + $1) }
        } catch {
            return nil
        }
        return found
    }

    @Test func elementsAreFoundWithTheirText() {
        let text = """
            \u{FEFF}<?xml version="1.0" encoding="UTF-8"?>
            <a xmlns="http://x/y" z='>'><!-- <b> --><b>1 &lt;&#65;&#x1F600;&amp;amp;</b ><c/><d><b>é</b></d></a>
            """
        #expect(Self.elements(text) == ["a/b=1 <A😀&amp;", "a/c=", "a/d/b=é", "a/d=", "a="])
    }

    @Test(arguments: [
        "", " ", "text", "<a>", "</a>", "<a></b>", "<a><b></a></b>", "<a/><b/>", "<a/>x", "x<a/>", "<a", "<a b></a>",
        "<a b=c/>", "<a b=\"/>", "<a>&unknown;</a>", "<a>&#xD800;</a>", "<a>&amp</a>", "<a>&#;</a>", "<!DOCTYPE a><a/>",
        "<a><![CDATA[x]]></a>", "<?xml", "<a><!-- </a>", "<>", "< a/>",
        String(repeating: "<a>", count: 20) + String(repeating: "</a>", count: 20),
    ])
    func otherTextIsRefused(_ text: String) {
        #expect(Self.elements(text) == nil)
    }

    @Test func textMustBeUTF8() {
        #expect(throws: XMLScanner.Malformed.self) {
            try XMLScanner.scan(Array("<a>".utf8) + [0xFF] + Array("</a>".utf8)) { _, _ in }
        }
    }

    @Test func encodedKeysAreDecoded() throws {
        let text = """
            <ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>p%2Fa+b%25</Key></Contents>
            <Contents><Key>p/c</Key></Contents><EncodingType>url</EncodingType></ListBucketResult>
            """
        let page = try #require(ListingPage(Array(text.utf8)))
        #expect(page.keys == ["p/a b%", "p/c"])
        let bare = page.page(prefix: "p/", keyPrefix: "", after: nil)
        #expect(bare == SharedTierPage(keys: ["a b%", "c"], isTruncated: true))
        #expect(ListingPage(Array(text.replacing("%25", with: "%2").utf8)) == nil)
        #expect(ListingPage(Array(text.replacing("%25", with: "%FF").utf8)) == nil)
        let plain = try #require(ListingPage(Array(text.replacing("<EncodingType>url", with: "<EncodingType>").utf8)))
        #expect(plain.keys == ["p%2Fa+b%25", "p/c"])
    }

    @Test func onlyNamesOfErrorsAreShown() {
        #expect(ErrorDocument(Array("<Error><Code>NoSuchKey</Code></Error>".utf8)).code == "NoSuchKey")
        #expect(ErrorDocument(Array("<Error><Code>a b</Code></Error>".utf8)).code == nil)
        #expect(
            ErrorDocument(Array("<Error><Code>\(String(repeating: "a", count: 65))</Code></Error>".utf8)).code == nil
        )
        #expect(ErrorDocument(Array("<html>".utf8)).code == nil)
    }

    @Test func encodingIsThatOfTheSignature() {
        let text = "aZ09-_.~/ +%&=?#é"
        #expect(URIEncoding.path(text) == "aZ09-_.~/%20%2B%25%26%3D%3F%23%C3%A9")
        #expect(URIEncoding.query(text) == "aZ09-_.~%2F%20%2B%25%26%3D%3F%23%C3%A9")
        #expect(URIEncoding.decode(URIEncoding.query(text)) == text)
        #expect(URIEncoding.decode("%4") == nil)
        #expect(URIEncoding.decode("%G0") == nil)
    }

    @Test func keysFollowTheRules() {
        for key in ["a", "a/b", "-.-", ".a", String(repeating: "a", count: 200)] { #expect(SharedTierKey.isValid(key)) }
        for key in [
            "", "/a", "a/", "a//b", ".", "a/..", "A", "a_b", "a b", "é", String(repeating: "a", count: 201),
            String(repeating: "a/", count: 256) + "a",
        ] {
            #expect(!SharedTierKey.isValid(key), "\(key)")
        }
    }
}
