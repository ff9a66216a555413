import AvatarStore
import AvatarStoreHTTP
import Hummingbird

/// The HTTP routes of the service.
enum Routes {
    /// All routes of an `AvatarResponder`. A route of your own comes before them.
    static func router(_ store: AvatarStore) -> Router<BasicRequestContext> {
        let responder = AvatarResponder(store: store)
        let router = Router(options: .autoGenerateHeadEndpoints)
        for path: RouterPath in ["/", "**"] {
            router.get(path) { request, _ in
                let response = await responder.respond(to: request.head)
                return Response(
                    status: response.head.status,
                    headers: response.head.headerFields,
                    body: ResponseBody(asyncSequence: response.body.map { ByteBuffer(bytes: $0) })
                )
            }
        }
        return router
    }
}
