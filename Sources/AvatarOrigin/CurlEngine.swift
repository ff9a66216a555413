import AvatarCore
import AvatarFoundation
import AvatarOriginRules
import AvatarProviders
import CAvatarCurl
import HTTPTypes

/// The transfers of one client, on the thread that owns libcurl's handles. Nothing of it is touched by another thread.
///
/// One round: take commands, let libcurl work, collect what has ended or has something to tell, and deliver all responses of
/// the round together.
final class CurlEngine {
    private let driver: CurlDriver
    private let engine: OpaquePointer
    private let settings: EngineSettings
    /// Judges addresses for callbacks of libcurl, which keep a pointer to it.
    private let judge: AddressJudge

    private var busy: [ExchangeSlot] = []
    private var free: [ExchangeSlot] = []
    private var lanes: [String: HostLane] = [:]
    /// The maximum number of requests in progress. Fewer than the settings allow while descriptors are short.
    private var mostBusy: Int
    /// The lanes that wait for their turn, because `mostBusy` requests are in progress.
    private var crowded: [HostLane] = []
    private var pins = HostPins()
    private var responseFields = ResponseFields()
    /// Responses and errors of this round.
    private var results: [(transfer: Transfer, result: Result<Transfer.Answer, any Error>, isComplete: Bool)] = []
    /// The results that are being delivered; empty otherwise. It keeps its room for the next round.
    private var delivered: [(transfer: Transfer, result: Result<Transfer.Answer, any Error>, isComplete: Bool)] = []
    /// Whether libcurl was given something since it last worked.
    private var hasWork = false
    private var lastLook: Int64 = 0
    /// When the last transfer was there.
    private var lastBusy: Int64 = 0

    /// How often the times of transfers are looked at, in milliseconds.
    private static let lookInterval: Int64 = 50
    /// The maximum number of unused exchanges that are kept.
    private static let mostFree = 128
    /// The maximum number of lanes that are kept for hosts without requests.
    private static let mostLanes = 1_024

    /// 0, or the reason why libcurl cannot be used in this process: an errno, or `AVATAR_NO_LIBCURL`. Its first use takes
    /// some milliseconds.
    private static let initialisation = avatar_curl_initialise()

    /// The body of the thread.
    static func run(_ driver: CurlDriver) {
        guard initialisation == 0 else { return driver.abandon(initialisation) }
        let error = runEngine(driver)
        if error == 0 { driver.end() } else { driver.abandon(error) }
    }

    /// Runs an engine until it ends and its connections are closed, which they are when it is released.
    ///
    /// - Returns: 0, or the errno of an engine that could not be made.
    // Inlined, the engine could be released later.
    @inline(never)
    private static func runEngine(_ driver: CurlDriver) -> CInt {
        // 0 would mean that it ran.
        guard let engine = CurlEngine(driver) else { return errno == 0 ? ENOMEM : errno }
        engine.run()
        return 0
    }

    private init?(_ driver: CurlDriver) {
        let judge = AddressJudge(driver.settings.policy)
        let callbacks = avatar_callbacks(
            allows: { context, bytes, count, isNamed in
                AddressJudge.allows(context, bytes, count: count, isNamed: isNamed)
            },
            will_send: { owner in CurlEngine.willSend(owner) },
            context: Unmanaged.passUnretained(judge).toOpaque()
        )
        guard let engine = driver.settings.withSettings({ avatar_engine_new($0, callbacks) }) else { return nil }
        (self.driver, self.engine, settings, self.judge) = (driver, engine, driver.settings, judge)
        mostBusy = driver.settings.mostRequests
        driver.begin(engine)
    }

    deinit {
        // The exchanges must be freed before their engine.
        (busy, free) = ([], [])
        avatar_engine_free(engine)
    }

    private static func willSend(_ owner: UnsafeMutableRawPointer?) {
        guard let owner else { return }
        Unmanaged<ExchangeSlot>.fromOpaque(owner).takeUnretainedValue().transfer?.willSend()
    }

    // MARK: The round

    private func run() {
        var commands: [CurlDriver.Command] = []
        avatar_engine_tick(engine)
        lastBusy = now
        while true {
            driver.take(&commands)
            for command in commands { handle(command) }
            commands.removeAll(keepingCapacity: true)
            if driver.isClosed { return closeAll() }
            hasWork = false
            guard avatar_engine_perform(engine) else { return closeAll() }
            collect()
            lookAtTimes()
            deliver()
            guard !hasWork, driver.mayWait() else { continue }
            avatar_engine_wait(engine, waitTime)
            avatar_engine_tick(engine)
            if now - lastBusy >= Int64(EngineSettings.keptSeconds) * 1000, lanes.values.allSatisfy(\.isEmpty),
                driver.mayEnd()
            {
                return
            }
        }
    }

    private var now: Int64 { avatar_engine_now(engine) }

    /// How long the thread may wait for libcurl, in milliseconds.
    private var waitTime: CInt {
        // A call that wakes the thread may fail, so it never sleeps for long.
        guard !busy.isEmpty else { return 1000 }
        return busy.contains { $0.drainEnd != nil } ? CInt(Self.lookInterval) : 250
    }

    private func handle(_ command: CurlDriver.Command) {
        switch command {
        case .start(let transfer):
            guard !transfer.isCancelled else { return add(transfer, .failure(CancellationError())) }
            let lane = lane(transfer.hop.origin)
            lane.add(transfer)
            fill(lane)
        case .cancel(let transfer):
            cancel(transfer)
        case .takeMore(let transfer):
            if let slot = slot(of: transfer) { handOver(slot) }
        case .release(let transfer):
            if let slot = slot(of: transfer) { drop(slot) }
        case .count(let told):
            told(CurlDriver.Load(inProgress: busy.count, queued: lanes.values.reduce(0) { $0 + $1.waitingCount }))
        }
    }

    private func slot(of transfer: Transfer) -> ExchangeSlot? {
        busy.first { $0.transfer === transfer }
    }

    private func lane(_ origin: String) -> HostLane {
        if let lane = lanes[origin] { return lane }
        if lanes.count >= Self.mostLanes { lanes = lanes.filter { !$0.value.isEmpty } }
        let lane = HostLane(origin, connections: settings.connectionsPerHost)
        lanes[origin] = lane
        return lane
    }

    private func add(_ transfer: Transfer, _ result: Result<Transfer.Answer, any Error>, isComplete: Bool = true) {
        results.append((transfer, result, isComplete))
    }

    private func deliver() {
        guard !results.isEmpty else { return }
        swap(&results, &delivered)
        for (transfer, result, isComplete) in delivered { transfer.arrive(result, isComplete: isComplete) }
        delivered.removeAll(keepingCapacity: true)
    }

    // MARK: Beginning and ending

    /// Begins as many requests of `lane` as may run.
    private func fill(_ lane: HostLane) {
        while busy.count < mostBusy, let (transfer, losses, isProbe) = lane.next() {
            hasWork = true
            guard let slot = free.popLast() ?? ExchangeSlot(engine) else {
                lane.end(hasConnected: false)
                add(transfer, .failure(FailureWording.error(Self.noMemory, at: transfer.hop.url)))
                continue
            }
            slot.place = busy.count
            busy.append(slot)
            let pinned = pins.missing(transfer.hop.pins)
            guard slot.start(transfer, from: lane, losses: losses, isProbe: isProbe, pins: pinned) else {
                add(transfer, .failure(FailureWording.error(Self.noMemory, at: transfer.hop.url)))
                pins.forget(transfer.hop.pins)
                recycle(slot)
                continue
            }
        }
        if busy.count >= mostBusy, lane.waitingCount > 0, !lane.isCrowded {
            lane.isCrowded = true
            crowded.append(lane)
        }
    }

    /// Begins requests of `lane`, after those of lanes that wait for their turn.
    private func fillNext(_ lane: HostLane) {
        while busy.count < mostBusy, !crowded.isEmpty {
            let next = crowded.removeFirst()
            next.isCrowded = false
            fill(next)
        }
        fill(lane)
    }

    /// Puts the request of `slot` back, which found no free descriptor. Others in progress free theirs as they end.
    ///
    /// - Returns: `false` if no other request is in progress, so that it would wait in vain.
    private func postpone(_ slot: ExchangeSlot) -> Bool {
        guard busy.count > 1, let transfer = slot.transfer, let lane = slot.lane, !transfer.isCancelled else {
            return false
        }
        // The staged files and the index need some of the descriptors.
        mostBusy = max(1, busy.count * 3 / 4)
        lane.putBack(transfer, losses: slot.losses)
        recycle(slot)
        return true
    }

    /// Puts the request of `slot` back, to which its connection over HTTP/2 brought no response.
    ///
    /// - Returns: `false` if it is not a request over HTTP/2, so that it may be sent again at once.
    private func sendLater(_ slot: ExchangeSlot) -> Bool {
        guard let transfer = slot.transfer, let lane = slot.lane, lane.isMultiplexed else { return false }
        lane.hasLostStream()
        lane.putBack(transfer, losses: slot.losses + 1)
        recycle(slot)
        return true
    }

    private static let noMemory: FailureWording.Reason = (.offline, "there is not enough memory for the request")

    /// Ends the exchange of `slot`, and begins a request that waits for its connection.
    private func recycle(_ slot: ExchangeSlot) {
        let lane = slot.lane
        let (hasConnected, version) = (slot.hasConnected, slot.state.pointee.version)
        slot.stop()
        let last = busy.removeLast()
        if last !== slot {
            busy[slot.place] = last
            last.place = slot.place
        }
        if free.count < Self.mostFree { free.append(slot) }
        if busy.isEmpty { mostBusy = settings.mostRequests }
        lastBusy = now
        guard let lane else { return }
        if version != 0 { lane.hasAnswered(version: version) }
        lane.end(hasConnected: hasConnected)
        fillNext(lane)
    }

    private func cancel(_ transfer: Transfer) {
        if let slot = slot(of: transfer) {
            if slot.hasArrived {
                transfer.end(.failure(CancellationError()), rest: Self.nothing)
            } else {
                add(transfer, .failure(CancellationError()))
            }
            recycle(slot)
        } else if lanes[transfer.hop.origin]?.remove(transfer) == true {
            add(transfer, .failure(CancellationError()))
        }
    }

    /// Fails all transfers, because the client was shut down.
    private func closeAll() {
        for slot in busy where !slot.hasReleased {
            guard let transfer = slot.transfer else { continue }
            let error: any Error =
                transfer.isCancelled
                ? CancellationError() : FailureWording.error(FailureWording.shutDown, at: transfer.hop.url)
            if slot.hasArrived {
                transfer.end(.failure(error), rest: Self.nothing)
            } else {
                add(transfer, .failure(error))
            }
        }
        for slot in busy { slot.stop() }
        deliver()
        for lane in lanes.values { for transfer in lane.removeAll() { transfer.fail(with: FailureWording.shutDown) } }
        _ = driver.mayEnd()
    }

    // MARK: Responses

    private static var nothing: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: nil, count: 0) }

    /// Takes what libcurl has finished, and what has something to tell.
    private func collect() {
        while let exchange = avatar_engine_next_ready(engine) {
            if let slot = ExchangeSlot.of(exchange) { attend(slot) }
        }
        var code: CInt = 0
        while let exchange = avatar_engine_next_ended(engine, &code) {
            if let slot = ExchangeSlot.of(exchange) { end(slot, Int(avatar_end_kind(code))) }
        }
    }

    /// Hands over the body as it comes from now on.
    private func stream(_ slot: ExchangeSlot) {
        slot.state.pointee.body_mode = CInt(AVATAR_STREAMS)
        handOver(slot)
    }

    private func attend(_ slot: ExchangeSlot) {
        let state = slot.state.pointee
        if state.reports_connection, slot.hasConnected, let lane = slot.lane {
            slot.state.pointee.reports_connection = false
            lane.hasConnected()
            fill(lane)
        }
        if state.body_mode == AVATAR_DRAINS {
            if slot.drainEnd == nil { slot.drainEnd = now + EngineSettings.drainTime }
        } else if state.body_mode == AVATAR_STREAMS, state.is_head_complete {
            handOver(slot)
        }
    }

    /// Hands over the head, if that has not happened, and as much of the body as the reader takes.
    private func handOver(_ slot: ExchangeSlot) {
        guard let transfer = slot.transfer, slot.state.pointee.body_mode == AVATAR_STREAMS else { return }
        if !slot.hasArrived {
            slot.hasArrived = true
            add(transfer, .success(answer(slot, body: nil)), isComplete: false)
        }
        if slot.state.pointee.body_size > 0 {
            guard transfer.take(slot.body) else { return }
            avatar_exchange_take_body(slot.exchange)
        }
        guard slot.state.pointee.is_paused else { return }
        avatar_exchange_resume(slot.exchange)
        hasWork = true
    }

    /// Drops the rest of a body that has no reader. Closes the connection if that takes too long.
    private func drop(_ slot: ExchangeSlot) {
        guard let transfer = slot.transfer, !slot.hasReleased else { return }
        transfer.end(.success(()), rest: Self.nothing)
        slot.hasReleased = true
        if avatar_exchange_drain(slot.exchange) {
            slot.drainEnd = now + EngineSettings.drainTime
            hasWork = true
        } else {
            recycle(slot)
        }
    }

    private func end(_ slot: ExchangeSlot, _ kind: Int) {
        let hasLostConnection = slot.hasLostConnection(kind)
        if hasLostConnection, sendLater(slot) { return }
        if hasLostConnection || slot.wasNotSent, slot.restart() {
            hasWork = true
            return
        }
        if isShortOfDescriptors(slot, kind), postpone(slot) { return }
        defer { recycle(slot) }
        guard let transfer = slot.transfer, !slot.hasReleased else { return }
        let state = slot.state.pointee
        let isWhole = state.is_head_complete && (kind == AVATAR_END_OK || Int(state.refusal) == AVATAR_DONE)
        if slot.hasArrived {
            // The head may have arrived in this round, and it comes before the end of its body.
            deliver()
            let end = isWhole ? Result.success(()) : .failure(failure(slot, transfer, kind: kind))
            transfer.end(end, rest: slot.body)
        } else if state.is_redirect && state.is_head_complete {
            // Where it leads is known, so its body does not matter.
            add(transfer, .success(answer(slot, body: nil)))
        } else if isWhole {
            add(transfer, .success(answer(slot, body: Array(slot.body))))
        } else if state.is_head_complete {
            // The head is a response, and the error belongs to its body.
            add(transfer, .success(answer(slot, body: nil)), isComplete: false)
            deliver()
            transfer.end(.failure(failure(slot, transfer, kind: kind)), rest: slot.body)
        } else {
            add(transfer, .failure(failure(slot, transfer, kind: kind)))
        }
    }

    private func failure(_ slot: ExchangeSlot, _ transfer: Transfer, kind: Int) -> any Error {
        if transfer.isCancelled { return CancellationError() }
        let end = avatar_exchange_end_of(slot.exchange)
        let failure = TransferFailure(hop: transfer.hop, state: slot.state.pointee, kind: kind, end: end)
        return transfer.hop.server == nil ? failure.error : ServerRequest.Failure(failure)
    }

    /// Whether the exchange ended in `kind` because too many files are open.
    private func isShortOfDescriptors(_ slot: ExchangeSlot, _ kind: Int) -> Bool {
        kind == AVATAR_END_NO_CONNECTION && ConnectFailure.isShortage(slot.state.pointee.socket_error)
    }

    private func answer(_ slot: ExchangeSlot, body: [UInt8]?) -> Transfer.Answer {
        let state = slot.state.pointee
        let (fields, location) = responseFields.read(UnsafeBufferPointer(start: state.head, count: state.head_size))
        var head = OriginHead(status: Int(state.status), fields: fields)
        head.isMultiplexed = state.version >= 2
        head.openedConnections = Int(avatar_exchange_connections_of(slot.exchange))
        return Transfer.Answer(head: head, location: state.is_redirect ? location : nil, body: body)
    }

    // MARK: Time

    /// Ends transfers without data for too long, and the dropping of bodies that do not end.
    private func lookAtTimes() {
        guard now - lastLook >= Self.lookInterval else { return }
        lastLook = now
        var late: [ExchangeSlot] = []
        for slot in busy {
            if let end = slot.drainEnd {
                if now >= end { late.append(slot) }
            } else if slot.isIdle(at: now, limit: settings.idleTimeout) {
                late.append(slot)
            }
        }
        for slot in late { giveUp(slot) }
        for slot in busy where slot.isSlow(at: now, limit: EngineSettings.collectingTime) {
            // A reader that runs out of time can keep what has come, and one that shows progress sees it.
            stream(slot)
        }
    }

    private func giveUp(_ slot: ExchangeSlot) {
        defer { recycle(slot) }
        guard let transfer = slot.transfer, !slot.hasReleased else { return }
        let state = slot.state.pointee
        if state.is_redirect && state.is_head_complete { return add(transfer, .success(answer(slot, body: nil))) }
        guard state.is_head_complete else {
            return add(transfer, .failure(FailureWording.error(FailureWording.silent, at: transfer.hop.url)))
        }
        if !slot.hasArrived {
            add(transfer, .success(answer(slot, body: nil)), isComplete: false)
            deliver()
        }
        let error = FailureWording.error(FailureWording.silentInBody, at: transfer.hop.url)
        transfer.end(.failure(error), rest: slot.body)
    }
}
