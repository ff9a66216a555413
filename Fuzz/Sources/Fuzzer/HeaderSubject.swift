import AvatarCore
import HTTPTypes

/// Header fields of a response, one `name: value` a line, and all decisions that follow from them.
enum HeaderSubject {
    private static let now = Timestamp(milliseconds: 1_790_000_000_000)

    static func check(_ input: [UInt8]) {
        var fields = HTTPFields()
        for line in input.split(separator: UInt8(ascii: "\n")) {
            let text = String(decoding: line, as: UTF8.self)
            guard let colon = text.firstIndex(of: ":"), let name = HTTPField.Name(String(text[..<colon])) else {
                continue
            }
            let value = String(text[text.index(after: colon)...].drop { $0 == " " })
            guard HTTPField.isValidValue(value) else { continue }
            fields.append(HTTPField(name: name, value: value))
        }
        for status in [200, 203, 404, 429, 503] { check(status: status, fields) }
    }

    /// All decisions that follow from a response with `status` and `fields`.
    static func check(status: Int, _ fields: HTTPFields) {
        checkFreshness(status, fields)
        checkConfirmation(fields)
        checkRanges(fields)
        guard let time = RetryAfter.time(status: status, fields: fields, now: now) else { return }
        require(time >= now, "a wait that is over before it began")
    }

    private static func metadata(_ status: Int, _ fields: HTTPFields) -> ResponseMetadata {
        ResponseMetadata(
            status: status,
            fields: fields,
            requestTime: now,
            responseTime: now.adding(seconds: 1),
            request: [.accept: "image/*", .userAgent: "fuzzer", .authorization: "secret"]
        )
    }

    private static func checkFreshness(_ status: Int, _ fields: HTTPFields) {
        let metadata = metadata(status, fields)
        for mode in [CachingMode.offlineFirst, .strict] {
            var policy = FreshnessPolicy()
            policy.mode = mode
            let freshness = policy.assess(metadata)
            require(freshness.lifetime >= 0 && freshness.initialAge >= 0, "a negative time")
            require(freshness.staleIfError >= 0, "a negative time")
            require(freshness.freshUntil >= freshness.responseTime, "stale before it came")
            let record = ValidationRecord(AssessedResponse(metadata, under: policy), fetched: now, jitter: 0.5)
            require(
                record.nextCheck.map { $0 >= freshness.responseTime } ?? true,
                "a check that is due before it was made"
            )
            let stored = ResponseMetadata(stored: record)
            require(stored.encodedFields == metadata.encodedFields, "metadata that are not read as they were written")
            require(!metadata.encodedFields.contains("secret"), "a secret is written down")
        }
    }

    private static func checkConfirmation(_ fields: HTTPFields) {
        let stored = metadata(200, fields)
        for mode in [CachingMode.offlineFirst, .strict] {
            guard
                let updated = stored.updating(with: fields, requestTime: now, responseTime: now, mode: mode)
            else { continue }
            require(updated.etag == stored.etag, "a confirmation changed the tag")
        }
        var policy = FreshnessPolicy()
        policy.mode = .strict
        let request = ConditionalRequest(for: stored, fetched: now, isReload: false, policy: policy, now: now)
        for field in request.fields {
            require(fields.contains { $0.value == field.value }, "a validator that the origin did not send")
        }
    }

    private static func checkRanges(_ fields: HTTPFields) {
        guard let partial = PartialDownload(status: 200, fields: fields, length: 1000), let plan = ResumePlan(partial)
        else { return }
        if case .append(let count, let total) = plan.judge(status: 206, fields: fields) {
            require(count > 0 && count + partial.length <= total, "a part beyond the end")
        }
    }
}
