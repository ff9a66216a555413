import HTTPTypes

extension HTTPFields {
    /// Fields from header lines; what is no header line is left out.
    init(lines: [String]) {
        let fields = lines.compactMap { line -> HTTPField? in
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else { return nil }
            return HTTPField(name: name, value: parts[1].drop { $0 == " " }.description)
        }
        self.init(fields)
    }
}
