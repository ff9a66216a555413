import Foundation

/// A curve of a plot, with a value for each size.
package struct Curve {
    package let name: String
    package let colour: String
    package var values: [Double] = []

    package init(name: String, colour: String) {
        self.name = name
        self.colour = colour
    }
}

/// Curves over sizes as SVG, with logarithmic axes. A constant cost is level; a linear cost rises one step per step.
package struct Plot {
    package let title: String
    package let sizes: [Int]
    package let curves: [Curve]

    private static let width = 720.0
    private static let height = 420.0
    private static let left = 70.0
    private static let right = 250.0
    private static let top = 46.0
    private static let bottom = 46.0

    package init(title: String, sizes: [Int], curves: [Curve]) {
        self.title = title
        self.sizes = sizes
        self.curves = curves
    }

    package var svg: String {
        var lines = [
            """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(Self.width)) \(Int(Self.height))" \
            font-family="sans-serif" font-size="12">
            """,
            #"<rect width="100%" height="100%" fill="white"/>"#,
            text(title, x: Self.left, y: 24, size: 15),
        ]
        for size in sizes {
            lines.append(line(x(size), Self.top, x(size), Self.height - Self.bottom))
            lines.append(text(size.formatted(), x: x(size), y: Self.height - Self.bottom + 20, anchor: "middle"))
        }
        for exponent in decades {
            let value = pow(10, Double(exponent))
            lines.append(line(Self.left, y(value), Self.width - Self.right, y(value)))
            lines.append(text(String(format: "%g", value), x: Self.left - 8, y: y(value) + 4, anchor: "end"))
        }
        for curve in curves { lines += draw(curve) }
        return lines.joined(separator: "\n") + "\n</svg>\n"
    }

    private func draw(_ curve: Curve) -> [String] {
        let points = zip(sizes, curve.values).map { (x: x($0), y: y($1)) }
        let path = points.map { "\(number($0.x)),\(number($0.y))" }.joined(separator: " ")
        var lines = [#"<polyline points="\#(path)" fill="none" stroke="\#(curve.colour)" stroke-width="2"/>"#]
        for point in points {
            lines.append(#"<circle cx="\#(number(point.x))" cy="\#(number(point.y))" r="3" fill="\#(curve.colour)"/>"#)
        }
        if let last = points.last {
            lines.append(text(curve.name, x: last.x + 10, y: last.y + 4, colour: curve.colour))
        }
        return lines
    }

    /// The powers of ten that enclose all values.
    private var decades: ClosedRange<Int> {
        let values = curves.flatMap(\.values).filter { $0 > 0 }
        let low = Int(floor(log10(values.min() ?? 1)))
        return low...max(low + 1, Int(ceil(log10(values.max() ?? 10))))
    }

    private func x(_ size: Int) -> Double {
        let (low, high) = (log10(Double(sizes.first ?? 1)), log10(Double(sizes.last ?? 10)))
        return Self.left + (log10(Double(size)) - low) / max(1, high - low) * (Self.width - Self.left - Self.right)
    }

    private func y(_ value: Double) -> Double {
        let (low, high) = (Double(decades.lowerBound), Double(decades.upperBound))
        let share = (log10(max(value, 1e-9)) - low) / (high - low)
        return Self.height - Self.bottom - share * (Self.height - Self.top - Self.bottom)
    }

    private func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double) -> String {
        ##"<line x1="\##(number(x1))" y1="\##(number(y1))" x2="\##(number(x2))" y2="\##(number(y2))" stroke="#ddd"/>"##
    }

    private func text(
        _ text: String,
        x: Double,
        y: Double,
        size: Int = 12,
        anchor: String = "start",
        colour: String = "#333"
    ) -> String {
        """
        <text x="\(number(x))" y="\(number(y))" font-size="\(size)" text-anchor="\(anchor)" \
        fill="\(colour)">\(text)</text>
        """
    }

    private func number(_ value: Double) -> String { String(format: "%.1f", value) }
}
