#if PlaceholderPNG && canImport(CoreText)
import AvatarPlaceholder
import CoreGraphics
import CoreText
import Foundation
import ImageIO

/// A square canvas that uses Core Graphics. It is 128 units wide, like the SVG; y grows upwards.
final class Canvas {
    private let context: CGContext

    /// An empty canvas of `side` by `side` pixels.
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
            throw PlaceholderImageError("Core Graphics cannot allocate an image of \(side) x \(side) pixels.")
        }
        context.scaleBy(x: CGFloat(side) / 128, y: CGFloat(side) / 128)
        self.context = context
    }

    /// Paints the background, and selects white for the next drawing.
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

    /// Draws the letters in the centre, scaled down if they are too wide or too high.
    ///
    /// - Returns: false if the installed fonts lack a letter; then nothing is drawn.
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

    /// Whether an installed font has every letter. The font of last resort, which has only boxes, does not count.
    private static func hasGlyphs(for text: String, _ font: CTFont) -> Bool {
        text.allSatisfy { letter in
            let range = CFRange(location: 0, length: String(letter).utf16.count)
            let chosen = CTFontCreateForString(font, String(letter) as CFString, range)
            return CTFontCopyPostScriptName(chosen) as String != "LastResort"
        }
    }

    /// Draws a head and shoulders.
    func drawSilhouette() {
        context.fillEllipse(in: CGRect(x: 40, y: 54, width: 48, height: 48))
        // The lower half of the ellipse is outside the canvas.
        context.fillEllipse(in: CGRect(x: 16, y: -44, width: 96, height: 88))
    }

    /// The drawing as a PNG file.
    func png() throws(PlaceholderImageError) -> [UInt8] {
        let data = NSMutableData()
        guard let image = context.makeImage(),
            let destination = CGImageDestinationCreateWithData(data, "public.png" as CFString, 1, nil)
        else { throw PlaceholderImageError("Core Graphics could not create an image from the canvas.") }
        CGImageDestinationAddImage(destination, image, nil)
        guard CGImageDestinationFinalize(destination) else {
            throw PlaceholderImageError("Image I/O could not encode the PNG.")
        }
        return Array(data as Data)
    }
}
#endif
