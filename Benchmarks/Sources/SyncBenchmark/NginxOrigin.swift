import AvatarStoreTesting
import Foundation

/// nginx with a configuration of its own, which serves the same images on one loopback address per host.
final class NginxOrigin {
    /// The size of an image, unless a benchmark names another one.
    static let usualBytes = 2048

    /// How clients talk to it.
    enum Transport: String {
        /// HTTP/1.1 without TLS.
        case plain
        /// HTTP/1.1 over TLS.
        case tls
        /// HTTP/2 over TLS.
        case http2
    }

    /// The certificate, which is its own issuer; `nil` without TLS.
    let certificate: String?
    let port: Int
    let hosts: Int
    let count: Int
    private let transport: Transport
    private let imageBytes: Int
    private let directory: String
    private let process: pid_t

    /// Starts the program at the path `nginx`, which serves `count` images of `imageBytes` bytes. With TLS, the program
    /// at the path `openssl` makes its certificate.
    init(
        nginx: String,
        directory: String,
        hosts: Int,
        count: Int,
        imageBytes: Int = usualBytes,
        transport: Transport = .plain,
        openssl: String = "",
        workers: Int = 1
    ) throws {
        self.hosts = hosts
        self.count = count
        self.imageBytes = imageBytes
        self.transport = transport
        self.directory = directory
        port = try LoopbackPort.free()
        try FileManager.default.createDirectory(atPath: directory + "/www", withIntermediateDirectories: true)
        for number in 0..<count { try Self.write(number, version: 0, imageBytes, to: directory) }
        certificate = transport == .plain ? nil : try Self.makeCertificate(openssl, hosts: hosts, in: directory)
        let configuration = Self.configuration(port: port, hosts: hosts, transport, workers: workers)
        try configuration.write(toFile: directory + "/nginx.conf", atomically: true, encoding: .utf8)
        process = try ChildProcess.start([nginx, "-p", directory, "-c", "nginx.conf", "-e", "error.log"]).process
        try LoopbackPort.waitForListener(on: port, "nginx", log: directory + "/error.log")
    }

    func stop() {
        kill(process, SIGTERM)
        var status: Int32 = 0
        waitpid(process, &status, 0)
    }

    func host(of number: Int) -> String { "\(Self.address(number % hosts)):\(port)" }

    /// The address of a host: 250 of them in each block of 256.
    private static func address(_ host: Int) -> String { "127.0.\(host / 250).\(host % 250 + 1)" }

    /// The folder of the files that it serves, one per image.
    var root: String { directory + "/www" }

    func url(_ number: Int) -> String { url(number, port: port) }

    /// The URL of an image by way of a relay on `port`.
    func url(_ number: Int, port: Int) -> String {
        let scheme = transport == .plain ? "http" : "https"
        return "\(scheme)://\(Self.address(number % hosts)):\(port)/\(number).png"
    }

    /// The ETag of an image.
    func tag(_ number: Int) -> String { Self.tag(ofFile: "\(directory)/www/\(number).png") }

    /// The ETag that nginx derives from a file's time and length.
    static func tag(ofFile path: String) -> String {
        var information = stat()
        stat(path, &information)
        return "\"\(String(information.st_mtim.tv_sec, radix: 16))-\(String(information.st_size, radix: 16))\""
    }

    /// Gives `number` other bytes and a later time.
    func change(_ number: Int) throws {
        try Self.write(number, version: 1, imageBytes, to: directory)
    }

    private static func write(_ number: Int, version: Int, _ imageBytes: Int, to directory: String) throws {
        let path = "\(directory)/www/\(number).png"
        // Changes the length too, because the time in the ETag is in seconds.
        let bytes = SampleImage.png(seed: UInt64(number + version * 1_000_000), byteCount: imageBytes + version)
        try Data(bytes).write(to: URL(fileURLWithPath: path))
    }

    /// - Returns: the path of the certificate.
    private static func makeCertificate(_ openssl: String, hosts: Int, in directory: String) throws -> String {
        let certificate = directory + "/certificate.pem"
        let curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        let addresses = (0..<hosts).map { "IP:\(address($0))" }.joined(separator: ",")
        let names = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=\(addresses)"]
        let files = ["-keyout", directory + "/key.pem", "-out", certificate]
        let process = try ChildProcess.run([openssl, "req", "-x509"] + curve + names + files)
        guard process.exitCode == 0 else { throw BenchmarkError("openssl ended with exit code \(process.exitCode).") }
        return certificate
    }

    private static func configuration(port: Int, hosts: Int, _ transport: Transport, workers: Int) -> String {
        let options = ["plain": "", "tls": " ssl", "http2": " ssl http2"][transport.rawValue, default: ""]
        let listens = (0..<hosts).map { "listen \(address($0)):\(port)\(options);" }.joined(separator: " ")
        let certificate = "ssl_certificate certificate.pem; ssl_certificate_key key.pem;"
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path temporary;" }
        return """
            \(geteuid() == 0 ? "user root;" : "")
            worker_processes \(workers); daemon off; pid nginx.pid; error_log error.log;
            events { worker_connections 8192; }
            http {
                access_log off; sendfile on; keepalive_requests 10000000; if_modified_since before; types { image/png png; }
                \(paths.joined(separator: " "))
                server { \(listens) \(transport == .plain ? "" : certificate) root www; location / { add_header Cache-Control max-age=86400; } }
            }
            """
    }
}
