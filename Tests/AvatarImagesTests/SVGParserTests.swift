import AvatarImages
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SVGParserTests {
    @Test(arguments: [
        (#"<svg width="40" height="30"/>"#, 40, 30),
        (#"<svg xmlns='http://www.w3.org/2000/svg' height = '30px' width='40px'></svg>"#, 40, 30),
        (#"<svg width="39.2" height="29.5"></svg>"#, 40, 30),
        (#"<svg viewBox="0 0 40 30"></svg>"#, 0, 0),
        (#"<svg width="100%" height="30"></svg>"#, 0, 0),
        (#"<svg width="40" stroke-width="9"></svg>"#, 0, 0),
        (#"<svg width="1e300" height="nan"></svg>"#, 0, 0),
        (#"<svg:svg xmlns:svg="http://www.w3.org/2000/svg" width="4" height="3"></svg:svg>"#, 4, 3),
        ("\u{FEFF}<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- <html> -->\n<svg width=\"4\" height=\"3\"/>", 4, 3),
        (#"<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "a>b"><svg width="4" height="3"/>"#, 4, 3),
        (#"<!DOCTYPE svg [<!ENTITY a "]>"> <!-- it's -->]> <svg width="4" height="3" xmlns="&a;"/>"#, 4, 3),
        (#"<svg width="4" height="3"><svg><g/></svg><!-- </svg> --><a b="</svg>"/></svg>"#, 4, 3),
        (#"<svg width="4" height="3"><style><![CDATA[ a > b { } <g> ]]></style></svg>"#, 4, 3),
    ])
    func readsWidthAndHeight(text: String, width: Int, height: Int) throws {
        let hasRemark = text.contains("<!--")
        let description = ImageDescription(format: .svg, width: width, height: height, hasMetadata: hasRemark)

        #expect(try inspect(Array(text.utf8)) == description)
    }

    @Test(arguments: [
        "<svg", "<svg>", "<svg><svg></svg>", "<svg><!-- </svg>", "<svg><![CDATA[</svg>", "<svg a=\"</svg>",
        "<svg><g></svg", "<svg><g/></g>",
    ])
    func rootMustBeClosed(text: String) throws {
        let rejection = try refusal(of: Array(text.utf8))
        let isClosedByMistake = text == "<svg><g/></g>"

        #expect(rejection?.kind == (isClosedByMistake ? nil : text == "<svg" ? .notImage : .truncated))
    }

    @Test func statedSizeIsLimited() throws {
        let text = #"<svg width="100000" height="100000"/>"#

        #expect(try refusal(of: Array(text.utf8))?.kind == .tooManyPixels)
    }

    @Test func tooLongRootTagIsRefused() throws {
        let text = "<svg a=\"" + String(repeating: "a", count: 100_000) + "\"/>"

        #expect(try refusal(of: Array(text.utf8))?.kind == .notImage)
    }
}
