-- For wrk: requests of a list, in random order. Each line of the file is a path and, for a conditional request, an entity
-- tag after a space. Prints "figures" with the requests, the microseconds of the run, the bytes received, the failures, and
-- the median and the 99th percentile of the latency in microseconds.

local requests = {}

function init(arguments)
    for line in io.lines(arguments[1]) do
        local path, tag = line:match("^(%S+) ?(%S*)$")
        local headers = { Host = wrk.headers["Host"], ["If-None-Match"] = tag ~= "" and tag or nil }
        requests[#requests + 1] = wrk.format("GET", path, headers)
    end
end

function request()
    return requests[math.random(#requests)]
end

function done(summary, latency, _)
    local errors = summary.errors
    local failures = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    print(string.format("figures %d %d %d %d %d %d", summary.requests, summary.duration, summary.bytes, failures,
        latency:percentile(50), latency:percentile(99)))
end
