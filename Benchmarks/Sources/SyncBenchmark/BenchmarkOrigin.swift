import AvatarStoreTesting
import Foundation

/// The origin of the benchmark, in a process of its own. `/BYTES/NUMBER` is an image.
enum BenchmarkOrigin {
    /// Serves until standard input ends. Prints the port as its first line.
    static func serve() async throws {
        let origin = try await LoopbackOrigin.start { request in
            let parts = request.path.split(separator: "/")
            if parts.first == "huge" {
                let beginning = Array(SampleImage.png(seed: 1, byteCount: 1000).prefix(500))
                let body = LoopbackOrigin.Body.generated(byteCount: 500_000_000, beginning: beginning)
                return LoopbackOrigin.Response(body: body, behaviour: .chunked)
            }
            // A small image followed by zeros up to the requested length; no rule forbids bytes after the end.
            if parts.count == 2, parts.first == "long", let bytes = Int(parts[1]) {
                let image = SampleImage.png(seed: UInt64(bytes), byteCount: 8192)
                let body = LoopbackOrigin.Body.generated(byteCount: bytes, beginning: image)
                return LoopbackOrigin.Response(body: body)
            }
            guard parts.count == 2, let bytes = Int(parts[0]), let seed = UInt64(parts[1]) else { return .status(404) }
            return .image(
                SampleImage.png(seed: seed, byteCount: bytes),
                etag: "\"\(bytes)-\(seed)\"",
                cacheControl: "max-age=86400"
            )
        }
        print(origin.port)
        fflush(nil)
        let _ = FileHandle.standardInput.readDataToEndOfFile()
        try await origin.stop()
    }
}

/// The benchmark's handle on the process of the origin.
struct OriginProcess {
    let port: Int
    private let process: pid_t
    /// Closing it tells the process to exit.
    private let input = Pipe()

    init(program: String) throws {
        let started = try ChildProcess.start([program, "origin"], input: input)
        process = started.process
        var line = Data()
        while let byte = try started.output.read(upToCount: 1), byte != Data([10]) { line += byte }
        guard let port = Int(String(decoding: line, as: UTF8.self)) else {
            throw BenchmarkError("The origin must print its port on its first line.")
        }
        self.port = port
    }

    func url(_ number: Int, bytes: Int) -> String {
        "http://127.0.0.1:\(port)/\(bytes)/\(number)"
    }

    func stop() {
        kill(process, SIGTERM)
        var status: Int32 = 0
        waitpid(process, &status, 0)
    }
}
