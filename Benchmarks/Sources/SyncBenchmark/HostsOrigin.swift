import AvatarStoreTesting
import Foundation

/// Many hosts in one process, one port each. The first responds after two seconds, the second never.
enum HostsOrigin {
    static let delay = Duration.seconds(2)

    /// Serves until standard input ends. Prints the ports as its first line.
    static func serve(hosts: Int, images: Int) async throws {
        // Made beforehand, so that drawing them is not measured.
        let images = (0..<images).map { SampleImage.png(seed: UInt64($0), byteCount: NginxOrigin.usualBytes) }
        var origins: [LoopbackOrigin] = []
        for host in 0..<hosts {
            let origin = try await LoopbackOrigin.start { request in
                guard let number = Int(request.path.dropFirst()), images.indices.contains(number) else {
                    return .status(404)
                }
                let answer = LoopbackOrigin.Response.image(images[number], cacheControl: "max-age=86400")
                return switch host {
                case 0: answer.delayed(by: delay)
                case 1: .hang
                default: answer
                }
            }
            origins.append(origin)
        }
        print(origins.map { "\($0.port)" }.joined(separator: " "))
        fflush(nil)
        let _ = FileHandle.standardInput.readDataToEndOfFile()
        for origin in origins { try await origin.stop() }
    }
}

/// The benchmark's handle on the process of the hosts.
struct HostsOriginProcess {
    let ports: [Int]
    private let process: pid_t
    /// Closing it tells the process to exit.
    private let input = Pipe()

    init(program: String, hosts: Int, images: Int) throws {
        let started = try ChildProcess.start([program, "hosts", "\(hosts)", "\(images)"], input: input)
        process = started.process
        var line = Data()
        while let byte = try started.output.read(upToCount: 1), byte != Data([10]) { line += byte }
        ports = String(decoding: line, as: UTF8.self).split(separator: " ").compactMap { Int($0) }
        guard ports.count == hosts else {
            throw BenchmarkError("The origin must print \(hosts) ports on its first line, but printed \(ports.count).")
        }
    }

    func url(_ number: Int) -> String {
        "http://127.0.0.1:\(ports[number % ports.count])/\(number)"
    }

    func stop() {
        kill(process, SIGTERM)
        var status: Int32 = 0
        waitpid(process, &status, 0)
    }
}
