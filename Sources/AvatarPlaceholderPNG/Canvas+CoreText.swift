#if PlaceholderPNG && canImport(CoreText)
import AvatarPlaceholder
import CoreGraphics
import CoreText
import Foundation
import ImageIO

/// A square that Core Graphics draws on. 128 units wide, as the SVG is; y grows upwards.
final class Canvas {
    private let context: CGContext

    init(side: Int) throws(PlaceholderImageError) {
        let context = CGContext(
            data: nil,
            width: side,
            height: side,
            bitsPerComponent: 8,
            bytesPerRow: 0,
            space: CGColorSpace(name: CGColorSpace.sRGB) ?? CGColorSpaceCreateDeviceRGB(),
            bitmapInfo: CGImageAlphaInfo.noneSkipLast.rawValue
        )
        guard let context else {
            throw PlaceholderImageError("There is no memory for an image of \(side) by \(side) pixels.")
        }
        context.scaleBy(x: CGFloat(side) / 128, y: CGFloat(side) / 128)
        self.context = context
    }

    func fill(_ colour: PlaceholderColour) {
        context.setFillColor(
            red: CGFloat(colour.red) / 255,
            green: CGFloat(colour.green) / 255,
            blue: CGFloat(colour.blue) / 255,
            alpha: 1
        )
        context.fill(CGRect(x: 0, y: 0, width: 128, height: 128))
        context.setFillColor(red: 1, green: 1, blue: 1, alpha: 1)
    }

    /// Writes the letters in the middle, smaller if they are wide or high.
    ///
    /// - Returns: false, with nothing drawn, if the installed fonts do not have them all.
    func draw(_ initials: Initials) -> Bool {
        guard let font = CTFontCreateUIFontForLanguage(.system, 56, nil) else { return false }
        let attributes = [kCTFontAttributeName: font, kCTForegroundColorFromContextAttributeName: true] as CFDictionary
        guard let text = CFAttributedStringCreate(nil, initials.text as CFString, attributes) else { return false }
        let line = CTLineCreateWithAttributedString(text)
        guard Self.hasGlyphs(for: initials.text, font) else { return false }
        let ink = CTLineGetBoundsWithOptions(line, .useGlyphPathBounds)
        guard ink.width > 0, ink.height > 0 else { return false }
        let scale = min(1, 92 / ink.width, 80 / ink.height)
        context.saveGState()
        context.translateBy(x: 64, y: 64)
        context.scaleBy(x: scale, y: scale)
        context.textPosition = CGPoint(x: -ink.midX, y: -ink.midY)
        CTLineDraw(line, context)
        context.restoreGState()
        return true
    }

    /// Whether no letter would be set in the font of last resort, which has boxes for all of them.
    private static func hasGlyphs(for text: String, _ font: CTFont) -> Bool {
        text.allSatisfy { letter in
            let range = CFRange(location: 0, length: String(letter).utf16.count)
            let chosen = CTFontCreateForString(font, String(letter) as CFString, range)
            return CTFontCopyPostScriptName(chosen) as String != "LastResort"
        }
    }

    func drawSilhouette() {
        context.fillEllipse(in: CGRect(x: 40, y: 54, width: 48, height: 48))
        // Its lower half is outside.
        context.fillEllipse(in: CGRect(x: 16, y: -44, width: 96, height: 88))
    }

    func png() throws(PlaceholderImageError) -> [UInt8] {
        let data = NSMutableData()
        guard let image = context.makeImage(),
            let destination = CGImageDestinationCreateWithData(data, "public.png" as CFString, 1, nil)
        else { throw PlaceholderImageError("Core Graphics made no image.") }
        CGImageDestinationAddImage(destination, image, nil)
        guard CGImageDestinationFinalize(destination) else {
            throw PlaceholderImageError("Image I/O made no PNG.")
        }
        return Array(data as Data)
    }
}
#endif
