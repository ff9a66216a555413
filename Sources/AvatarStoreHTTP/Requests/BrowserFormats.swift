/// The formats of images that all usual browsers show. HEIC, TIFF and JPEG 2000, which some show, are not among them.
enum BrowserFormats {
    private static let mediaTypes: Set<String> = [
        "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "image/x-icon",
        "image/svg+xml",
    ]

    /// Whether browsers show images with this media type.
    static func contain(_ mediaType: String) -> Bool { mediaTypes.contains(mediaType) }
}
