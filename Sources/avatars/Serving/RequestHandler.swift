import AvatarStoreHTTP
import HTTPTypes
import NIOCore
import NIOHTTP1

/// Handles the requests of a connection, right after the parser. It applies the rules of HTTP/1.1 that the HTTP types no
/// longer show: the version, the Host field, the end of the connection, and requests that cannot be parsed.
///
/// The handler responds to requests for images itself, on the thread of the event loop. Such a response takes microseconds;
/// passing the request to a task, and the bytes back, takes as long again. Pages, lists and metrics take longer and would delay
/// the other connections of the loop, so the task of the connection handles them.
///
/// The content of a request is dropped, so that a response never waits for it. Only a form is taken when its content is there, which
/// the task gets.
///
/// Connections take turns. Of the requests that arrive together, the first is handled at once. Each other one waits until the
/// response before it has ended and the event loop has looked after its other connections, and until then nothing more is read.
final class RequestHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// A request whose response has not ended.
    private struct Pending {
        let isHead: Bool
        /// Whether the client speaks HTTP/1.0, which has no chunks.
        let isOld: Bool
        /// Whether the connection ends with the response.
        let closes: Bool
    }

    /// A request that has arrived.
    private struct Arrived {
        let head: HTTPRequestHead
        /// The content of a form; empty for any other request.
        var form = ByteBuffer()
    }

    /// The pause before the next request of a backlog. Without one, the event loop would run all backlogs of all connections before
    /// it reads again: it first empties its queue of tasks, and each response puts another one there.
    private static let turnTime = TimeAmount.milliseconds(1)
    /// The time in which a client may take the last response before the connection is closed.
    private static let lingerTime = TimeAmount.seconds(2)

    private let current: CurrentResponder
    private let limits: ServerLimits
    private let hosts: AnsweredHosts
    /// The authority of the last request, which most clients repeat; `nil` before the first.
    private var lastHost: String?
    private let wait: RequestWait
    /// The request whose response has not ended.
    private var pending: Pending?
    /// The requests that arrived behind it, in their order.
    private var backlog = CircularBuffer<Arrived>()
    /// The form whose content is not complete.
    private var incomplete: Arrived?
    /// Takes the next request of the backlog.
    private var turn: Scheduled<Void>?
    /// Whether more is to be read once the backlog is empty.
    private var isReadWanted = false
    /// The bytes of content of the present request.
    private var content = 0
    /// Whether no further request is taken.
    private var isEnding = false
    /// Completes when the last response is sent.
    private var last: EventLoopFuture<Void>?
    /// The response to a refused request, until the earlier responses are sent.
    private var refusal: AvatarResponse?
    /// The time of the last request or response.
    private var active = NIODeadline.now()
    /// Closes the connection when no request arrives.
    private var idleCheck: Scheduled<Void>?
    /// Whether this handler has responded to a request since the event loop began to read the connection.
    private var hasResponded = false
    /// Whether the client sends nothing more.
    private var isInputClosed = false
    /// Whether the response under way is a stream of events.
    private var isStreaming = false

    init(_ current: CurrentResponder, limits: ServerLimits, hosts: AnsweredHosts, wait: RequestWait) {
        (self.current, self.limits, self.hosts, self.wait) = (current, limits, hosts, wait)
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isEnding else { return }
        switch Self.unwrapInboundIn(data) {
        case .head(let head):
            let request = Arrived(head: head)
            // A client that expects 100 (Continue) may send no content, and the server never asks for it.
            if AvatarResponder.isForm(head.method.rawValue, head.uri), !head.headers.contains(name: "expect") {
                incomplete = request
            } else {
                arrive(request, context)
            }
        case .body(var bytes):
            content += bytes.readableBytes
            if incomplete != nil {
                incomplete?.form.writeBuffer(&bytes)
                guard content > AvatarResponder.mostFormBytes else { return }
                incomplete = nil
                return refuseLast(.contentTooLarge, "A form must not exceed 4,096 bytes.", context)
            }
            guard content > limits.contentBytes else { return }
            isEnding = true
            if pending == nil, backlog.isEmpty { context.close(promise: nil) }
        case .end:
            content = 0
            guard let form = incomplete else { return }
            incomplete = nil
            arrive(form, context)
        }
    }

    /// Takes a request, or puts it behind the others.
    private func arrive(_ request: Arrived, _ context: ChannelHandlerContext) {
        if pending == nil, backlog.isEmpty, !hasResponded {
            take(request, context)
        } else {
            backlog.append(request)
            if pending == nil { scheduleTurn(context) }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        hasResponded = false
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        guard backlog.isEmpty else { return isReadWanted = true }
        context.read()
    }

    private func scheduleTurn(_ context: ChannelHandlerContext) {
        guard turn == nil else { return }
        turn = context.eventLoop.assumeIsolated().scheduleTask(in: Self.turnTime) { [self] in
            turn = nil
            guard pending == nil, let request = backlog.popFirst() else { return }
            take(request, context)
            hasResponded = false
            // The next handler passes on what it got when a read is complete.
            context.fireChannelReadComplete()
            guard backlog.isEmpty else { return }
            if isInputClosed { context.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }
            if isReadWanted {
                isReadWanted = false
                context.read()
            }
        }
    }

    /// Responds to a request, passes it on, or refuses it.
    private func take(_ request: Arrived, _ context: ChannelHandlerContext) {
        let head = request.head
        let fields = RequestFields(head.headers)
        let isOld = head.version == .http1_0
        guard fields.hosts == 1 || fields.hosts == 0 && isOld else {
            return refuse(.badRequest, "A request must have one field Host.", context)
        }
        guard Self.isTarget(head.uri) else {
            return refuse(.badRequest, "The request target must be a path or an http URL.", context)
        }
        guard fields.isCodingKnown else {
            return refuse(.notImplemented, "The only transfer coding that the server knows is chunked.", context)
        }
        // A client of HTTP/1.0 without the field is no browser.
        if let host = AnsweredHosts.authority(ofTarget: head.uri) ?? fields.host, host != lastHost {
            guard hosts.contain(host) else {
                return refuse(
                    .misdirectedRequest,
                    "The server answers for localhost, IP addresses and the names of --allow-host.",
                    context
                )
            }
            lastHost = host
        }
        active = .now()
        wait.end()
        let closes = isOld || fields.closes
        pending = Pending(isHead: head.method == .HEAD, isOld: isOld, closes: closes)
        if closes {
            isEnding = true
            backlog.removeAll()
            refusal = nil
        }
        // The task waits for a client that does not read.
        if context.channel.isWritable, answer(head, fields, context) {
            hasResponded = true
            return
        }
        context.fireChannelRead(Self.wrapInboundOut(.head(head)))
        if request.form.readableBytes > 0 { context.fireChannelRead(Self.wrapInboundOut(.body(request.form))) }
        context.fireChannelRead(Self.wrapInboundOut(.end(nil)))
    }

    /// Responds to a request for an image that fits in one piece, unless a rendition must be made first.
    ///
    /// - Returns: false for any other request, which must be passed on.
    private func answer(_ head: HTTPRequestHead, _ fields: RequestFields, _ context: ChannelHandlerContext) -> Bool {
        guard let request = fields.imageRequest(head), let response = current.value.respondAtOnce(to: request) else {
            return false
        }
        switch response.body {
        case .none: send(response.head, [], context)
        case .bytes(let bytes): send(response.head, bytes, context)
        case .file, .events: return false
        }
        return true
    }

    /// Whether `target` has a form that the server may be asked for (RFC 9112 section 3.2). Behind this handler, a URL with
    /// another scheme would look like its path.
    private static func isTarget(_ target: String) -> Bool {
        guard target.utf8.first != UInt8(ascii: "/"), target != "*" else { return true }
        guard let end = target.firstRange(of: "://") else { return false }
        let scheme = target[..<end.lowerBound].lowercased()
        let rest = target[end.upperBound...]
        return (scheme == "http" || scheme == "https") && !rest.isEmpty && !rest.hasPrefix("/") && !rest.hasPrefix("?")
    }

    /// An error of the parser is the last that comes from it. It is not passed on: the response would be empty.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let error = error as? HTTPParserError else { return context.fireErrorCaught(error) }
        guard !isEnding else { return }
        switch error {
        case .headerOverflow:
            refuseLast(
                .requestHeaderFieldsTooLarge,
                "The target and the fields of a request must not exceed 16 KiB and \(limits.headerFields) fields.",
                context
            )
        case .invalidVersion, .paused:
            refuseLast(.httpVersionNotSupported, "The server speaks HTTP/1.1.", context)
        default: refuseLast(.badRequest, "The request cannot be parsed as HTTP/1.1.", context)
        }
    }

    /// Refuses a request whose turn has come, and ends the connection.
    private func refuse(_ status: HTTPResponse.Status, _ reason: String, _ context: ChannelHandlerContext) {
        backlog.removeAll()
        refuseLast(status, reason, context)
    }

    /// Refuses the request that came last, once the earlier responses are sent, and ends the connection.
    private func refuseLast(_ status: HTTPResponse.Status, _ reason: String, _ context: ChannelHandlerContext) {
        isEnding = true
        refusal = current.value.refusal(status, reason)
        if pending == nil, backlog.isEmpty { sendRefusal(context) }
    }

    // MARK: Responses

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch Self.unwrapOutboundIn(data) {
        case .head(var head):
            if let request = pending {
                if request.isOld { head.version = .http1_0 }
                if request.closes { head.headers.replaceOrAdd(name: "Connection", value: "close") }
            }
            context.write(Self.wrapOutboundOut(.head(head)), promise: promise)
        case .body: context.write(data, promise: promise)
        case .end(let trailers): end(context, trailers, promise)
        }
    }

    /// Sends a complete response.
    private func send(_ head: HTTPResponse, _ bytes: [UInt8], _ context: ChannelHandlerContext) {
        write(context: context, data: Self.wrapOutboundOut(.head(Self.converted(head))), promise: nil)
        if !bytes.isEmpty {
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: bytes)))), promise: nil)
        }
        end(context, nil, nil)
        context.flush()
    }

    private static func converted(_ response: HTTPResponse) -> HTTPResponseHead {
        var head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: response.status.code))
        head.headers.reserveCapacity(response.headerFields.count + 1)
        for field in response.headerFields { head.headers.add(name: field.name.rawName, value: field.value) }
        return head
    }

    /// Ends a response, and the connection if it was the last.
    private func end(_ context: ChannelHandlerContext, _ trailers: HTTPHeaders?, _ promise: EventLoopPromise<Void>?) {
        let request = pending
        pending = nil
        isStreaming = false
        let sent = promise ?? context.eventLoop.makePromise()
        active = .now()
        // The encoder does not know the method, and would end chunks that a response to HEAD does not have.
        let end: HTTPServerResponsePart = request?.isHead == true ? .body(.byteBuffer(ByteBuffer())) : .end(trailers)
        context.write(Self.wrapOutboundOut(end), promise: sent)
        last = sent.futureResult
        guard backlog.isEmpty else { return scheduleTurn(context) }
        wait.beginAgain(at: active)
        guard isEnding else { return }
        guard refusal == nil else { return sendRefusal(context) }
        context.flush()
        linger(context, after: sent.futureResult)
    }

    private func sendRefusal(_ context: ChannelHandlerContext) {
        guard let refusal else { return }
        self.refusal = nil
        var head = Self.converted(refusal.head)
        head.headers.add(name: "Connection", value: "close")
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        if case .bytes(let bytes) = refusal.body {
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: bytes)))), promise: nil)
        }
        linger(context, after: context.writeAndFlush(Self.wrapOutboundOut(.end(nil))))
    }

    /// Closes the connection in two steps. Closing it at once would let the system discard the response if the client has
    /// sent bytes that were not read (RFC 9112 section 9.6).
    private func linger(_ context: ChannelHandlerContext, after sent: EventLoopFuture<Void>) {
        let channel = context.channel
        sent.whenComplete { _ in
            channel.close(mode: .output, promise: nil)
            channel.eventLoop.scheduleTask(in: Self.lingerTime) {
                channel.triggerUserOutboundEvent(CloseNow(), promise: nil)
            }
        }
    }

    // MARK: Closing

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { checkIdleness(context, in: limits.headTime) }
    }

    func channelActive(context: ChannelHandlerContext) {
        checkIdleness(context, in: limits.headTime)
        context.fireChannelActive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        idleCheck?.cancel()
        turn?.cancel()
    }

    /// Closes the connection if no request has arrived and no response has ended for the time that a request may take.
    private func checkIdleness(_ context: ChannelHandlerContext, in time: TimeAmount) {
        idleCheck = context.eventLoop.assumeIsolated().scheduleTask(in: time) { [self] in
            let isWaiting = pending == nil && backlog.isEmpty
            let left = isWaiting ? active + limits.headTime - .now() : limits.headTime
            guard left > .zero else { return close(context: context, mode: .all, promise: nil) }
            checkIdleness(context, in: left)
        }
    }

    /// Closes the connection at once, whatever waits to be sent.
    struct CloseNow: Sendable {}

    /// Closes the connection if no response is under way, to make room for another one.
    struct CloseWaiting: Sendable {}

    /// Tells that the response under way is a stream of events. It ends when the client closes its side, because otherwise
    /// only a failed write would show that the client has gone.
    struct StreamBegins: Sendable {}

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case is ChannelShouldQuiesceEvent: quiesce(context)
        case ChannelEvent.inputClosed:
            isInputClosed = true
            if isStreaming { context.close(promise: nil) }
            // The next handler gets no request behind this event.
            if backlog.isEmpty { context.fireUserInboundEventTriggered(event) }
        default: context.fireUserInboundEventTriggered(event)
        }
    }

    /// At a shutdown: closes a connection without a response under way, and another one after its response. Hummingbird's
    /// handler, which comes next, would close it before the last bytes are sent.
    private func quiesce(_ context: ChannelHandlerContext) {
        isEnding = true
        backlog.removeAll()
        guard pending == nil else { return }
        if refusal != nil { sendRefusal(context) } else { close(context: context, mode: .all, promise: nil) }
    }

    func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
        switch event {
        case is CloseNow: context.close(promise: promise)
        case is CloseWaiting:
            if pending == nil, backlog.isEmpty, refusal == nil { close(context: context, mode: .all, promise: nil) }
            promise?.succeed()
        case is StreamBegins:
            isStreaming = true
            promise?.succeed()
            if isInputClosed { context.close(promise: nil) }
        default: context.triggerUserOutboundEvent(event, promise: promise)
        }
    }

    /// Closes once the last response is sent: its bytes may still wait in the channel.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        guard mode != .input, pending == nil, let last else { return context.close(mode: mode, promise: promise) }
        last.assumeIsolated().whenComplete { _ in context.close(mode: mode, promise: promise) }
    }
}

/// The fields of a request that `RequestHandler` reads, found in one pass.
private struct RequestFields {
    /// The number of Host fields.
    private(set) var hosts = 0
    /// The value of the last Host field; `nil` without one.
    private(set) var host: String?
    /// Whether the content has no transfer coding but chunked.
    private(set) var isCodingKnown = true
    /// Whether the connection ends with the response.
    private(set) var closes = false
    /// The fields that determine the response to a request for an image.
    private var conditions = HTTPFields()

    init(_ headers: HTTPHeaders) {
        for (name, value) in headers {
            switch name.utf8.count {
            case 4 where Self.isSame(name, "host"):
                hosts += 1
                host = value
            case 10 where Self.isSame(name, "connection"):
                let tokens = value.lowercased().split { ", \t".contains($0) }
                closes = closes || tokens.contains("close")
            // A client that expects 100 (Continue) may omit the content now, and the parser would wait for it.
            case 6 where Self.isSame(name, "expect"): closes = true
            case 17 where Self.isSame(name, "transfer-encoding"):
                isCodingKnown = isCodingKnown && Self.isSame(value, "chunked")
            default:
                guard let name = Self.names.first(where: { Self.isSame(name, $0.canonicalName) }) else { continue }
                conditions.append(HTTPField(name: name, value: value))
            }
        }
    }

    /// All fields that an image's response looks at.
    private static let names: [HTTPField.Name] = [
        .ifNoneMatch, .ifModifiedSince, .ifMatch, .ifUnmodifiedSince, .range, .ifRange, .authorization, .cookie,
    ]

    /// Whether `text` equals `other`, which is in lower case, ignoring the case of ASCII letters.
    private static func isSame(_ text: String, _ other: String) -> Bool {
        text.utf8.count == other.utf8.count
            && zip(text.utf8, other.utf8).allSatisfy { $0 == $1 || $0 | 0x20 == $1 && $1 >= UInt8(ascii: "a") }
    }

    /// Whether the path of a target, without its query, ends with `/picture`.
    private static func endsWithImage(_ target: String) -> Bool {
        let path = target.utf8.prefix { $0 != UInt8(ascii: "?") }
        return path.suffix(8).elementsEqual("/picture".utf8)
    }

    /// The request with this head for the responder; `nil` unless it requests an image.
    func imageRequest(_ head: HTTPRequestHead) -> HTTPRequest? {
        let path = head.uri
        guard path.hasPrefix("/images/") || path.hasPrefix("/contacts/") && Self.endsWithImage(path) else {
            return nil
        }
        let method: HTTPRequest.Method
        switch head.method {
        case .GET: method = .get
        case .HEAD: method = .head
        default: return nil
        }
        return HTTPRequest(method: method, scheme: "http", authority: nil, path: path, headerFields: conditions)
    }
}
