#if PlaceholderPNG && !canImport(CoreText)
import AvatarPlaceholder
import CPango

/// A square canvas that uses Cairo and Pango. It is 128 units wide, like the SVG; y grows downwards.
final class Canvas {
    private let surface: OpaquePointer
    private let context: OpaquePointer

    /// An empty canvas of `side` by `side` pixels.
    init(side: Int) throws(PlaceholderImageError) {
        surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, Int32(side), Int32(side))
        context = cairo_create(surface)
        guard cairo_status(context) == CAIRO_STATUS_SUCCESS else {
            throw PlaceholderImageError("Cairo cannot allocate an image of \(side) x \(side) pixels.")
        }
        cairo_scale(context, Double(side) / 128, Double(side) / 128)
    }

    deinit {
        cairo_destroy(context)
        cairo_surface_destroy(surface)
    }

    /// Paints the background, and selects white for the next drawing.
    func fill(_ colour: PlaceholderColour) {
        cairo_set_source_rgb(
            context,
            Double(colour.red) / 255,
            Double(colour.green) / 255,
            Double(colour.blue) / 255
        )
        cairo_paint(context)
        cairo_set_source_rgb(context, 1, 1, 1)
    }

    /// Draws the letters in the centre, scaled down if they are too wide or too high.
    ///
    /// - Returns: false if the installed fonts lack a letter; then nothing is drawn.
    func draw(_ initials: Initials) -> Bool {
        let layout = layout(of: initials)
        defer { g_object_unref(UnsafeMutableRawPointer(layout)) }
        guard pango_layout_get_unknown_glyphs_count(layout) == 0 else { return false }
        var ink = PangoRectangle()
        pango_layout_get_extents(layout, &ink, nil)
        let unit = Double(PANGO_SCALE)
        let (width, height) = (Double(ink.width) / unit, Double(ink.height) / unit)
        guard width > 0, height > 0 else { return false }
        let scale = min(1, 92 / width, 80 / height)
        cairo_save(context)
        cairo_translate(context, 64, 64)
        cairo_scale(context, scale, scale)
        cairo_move_to(
            context,
            -(Double(ink.x) / unit + width / 2),
            -(Double(ink.y) / unit + height / 2)
        )
        pango_cairo_show_layout(context, layout)
        cairo_restore(context)
        return true
    }

    /// The initials as Pango lays them out.
    private func layout(of initials: Initials) -> OpaquePointer {
        let layout: OpaquePointer = pango_cairo_create_layout(context)
        // Ignore screen settings and the pixel grid, so that the letters look the same at every size.
        let options = cairo_font_options_create()
        cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY)
        cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE)
        cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF)
        let pango = pango_layout_get_context(layout)
        pango_cairo_context_set_font_options(pango, options)
        pango_cairo_context_set_resolution(pango, 96)
        pango_context_set_language(pango, pango_language_from_string("und"))
        pango_context_set_base_dir(pango, initials.isRightToLeft ? PANGO_DIRECTION_RTL : PANGO_DIRECTION_LTR)
        cairo_font_options_destroy(options)
        let font = pango_font_description_from_string("sans-serif")
        pango_font_description_set_absolute_size(font, 56 * Double(PANGO_SCALE))
        pango_layout_set_font_description(layout, font)
        pango_font_description_free(font)
        pango_layout_set_single_paragraph_mode(layout, 1)
        pango_layout_set_text(layout, initials.text, -1)
        pango_layout_context_changed(layout)
        return layout
    }

    /// Draws a head and shoulders.
    func drawSilhouette() {
        cairo_arc(context, 64, 50, 24, 0, 2 * .pi)
        cairo_fill(context)
        // The upper half of an ellipse around (64, 128).
        cairo_save(context)
        cairo_translate(context, 64, 128)
        cairo_scale(context, 48, 44)
        cairo_arc(context, 0, 0, 1, .pi, 2 * .pi)
        cairo_restore(context)
        cairo_fill(context)
    }

    /// The drawing as a PNG file.
    func png() throws(PlaceholderImageError) -> [UInt8] {
        var bytes: [UInt8] = []
        let status = withUnsafeMutablePointer(to: &bytes) { target in
            cairo_surface_write_to_png_stream(
                surface,
                { target, data, count in
                    target?.assumingMemoryBound(to: [UInt8].self).pointee
                        .append(contentsOf: UnsafeBufferPointer(start: data, count: Int(count)))
                    return CAIRO_STATUS_SUCCESS
                },
                target
            )
        }
        guard status == CAIRO_STATUS_SUCCESS else {
            throw PlaceholderImageError(
                "Cairo could not encode the PNG: \(String(cString: cairo_status_to_string(status)))."
            )
        }
        return bytes
    }
}
#endif
