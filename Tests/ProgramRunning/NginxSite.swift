import Foundation

/// The addresses and the configuration of nginx for tests.
struct NginxSite: Sendable {
    let address: String
    let port: Int
    let securePort: Int
    let otherPort: Int
    /// The ports whose connections end after some requests, by their number.
    let restlessPorts: [Int: Int]

    init() {
        #if os(Linux)
        // Linux routes all of 127.0.0.0/8 to this machine.
        address = "127.\(Int.random(in: 1...254)).\(Int.random(in: 0...254)).\(Int.random(in: 1...254))"
        port = 8080
        #else
        address = "127.0.0.1"
        port = Int.random(in: 20_000..<60_000)
        #endif
        securePort = port + 1
        otherPort = port + 2
        restlessPorts = [1: port + 3, 20: port + 4]
    }

    func write(to workplace: Workplace) throws {
        for folder in ["pictures", "temporary"] {
            try FileManager.default.createDirectory(atPath: workplace.path(folder), withIntermediateDirectories: true)
        }
        try workplace.write("requests.log", "")
        try workplace.write("openssl.conf", certificateRequest)
        try workplace.write("nginx.conf", configuration)
    }

    private var certificateRequest: String {
        """
        [req]
        distinguished_name = name
        x509_extensions = extensions
        prompt = no
        [name]
        CN = pictures
        [extensions]
        basicConstraints = critical,CA:true
        subjectAltName = IP:\(address),DNS:pictures.example
        """
    }

    private var configuration: String {
        """
        daemon off;
        master_process off;
        pid nginx.pid;
        events { worker_connections 512; }
        http {
            log_format line escape=none '$server_protocol|$request_uri|$status|$http_if_none_match|$http_range|'
                '$http_authorization|$connection';
            access_log requests.log line;
            \(["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path temporary/\($0);" }.joined())
            types { image/png png; image/svg+xml svg; }
            keepalive_requests 100000;
            gzip on;
            gzip_types *;
            gzip_min_length 1;
            limit_req_zone $server_port zone=few:64k rate=1r/m;
            root pictures;

            server {
                listen \(address):\(port);
                listen \(address):\(securePort) ssl http2;
                ssl_certificate certificate.pem;
                ssl_certificate_key key.pem;
        \(locations)
            }
            server {
                listen \(address):\(otherPort);
            }
        \(restlessPorts.map(restlessServer).joined(separator: "\n"))
        }

        """
    }

    private func restlessServer(requests: Int, port: Int) -> String {
        """
            server {
                listen \(address):\(port) ssl http2;
                ssl_certificate certificate.pem;
                ssl_certificate_key key.pem;
                keepalive_requests \(requests);
            }
        """
    }

    private var locations: String {
        let later = Date(timeIntervalSinceNow: 7_200).formatted(Self.httpDate)
        return """
            location /limited/ {
                limit_req zone=few burst=2 nodelay;
                limit_req_status 429;
                add_header Retry-After 3600 always;
            }
            location /overloaded/ {
                limit_req zone=few burst=2 nodelay;
                limit_req_status 503;
                add_header Retry-After "\(later)" always;
            }
            location = /moved.png { return 302 /ada.png; }
            location = /elsewhere.png { return 301 http://\(address):\(otherPort)/ada.png; }
            location = /circle/a { return 302 /circle/b; }
            location = /circle/b { return 302 /circle/a; }
            location ~ ^/further/(?<step>x*)$ { return 307 /further/x$step; }
            location /slow/ { limit_rate 1000; }
            location /cut/ {
                proxy_pass http://\(address):\(port)/slow/;
                proxy_buffering off;
                proxy_read_timeout 300ms;
            }
            location = /dropped.png { return 444; }
            location /compressed/ { gzip_static always; }
            location /large-header/ { set $filler "\(String(repeating: "a", count: 3_000))"; \(fillers(4)) }
            location /huge-header/ { set $filler "\(String(repeating: "a", count: 3_000))"; \(fillers(30)) }
            """
    }

    private func fillers(_ count: Int) -> String {
        (0..<count).map { "add_header X-Filler-\($0) $filler;" }.joined(separator: " ")
    }

    private static var httpDate: Date.VerbatimFormatStyle {
        Date.VerbatimFormatStyle(
            format: """
                \(weekday: .abbreviated), \(day: .twoDigits) \(month: .abbreviated) \(year: .extended(minimumLength: 4)) \
                \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\
                \(second: .twoDigits) GMT
                """,
            locale: Locale(identifier: "en_US_POSIX"),
            timeZone: .gmt,
            calendar: Calendar(identifier: .gregorian)
        )
    }
}
