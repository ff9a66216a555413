# An image of the server. The tests of this project do not build it.
#
#   docker build -t avatars .
#   docker run -p 127.0.0.1:8080:8080 -v avatars:/var/lib/avatars avatars
#
# Everyone who reaches the port sees all pictures. Beyond this machine, pass --token-file.
FROM swift:6.2-bookworm AS build
WORKDIR /source
COPY . .
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
# hadolint ignore=SC1091,SC2154
RUN . scripts/lib.sh; need sqlite openssl curl decoders; build_release; build_decoder; \
    install -D "$release_program" /out/usr/bin/avatars; \
    install -D "$decoder_program" /out/usr/libexec/avatars/avatars-decoder; \
    strip /out/usr/bin/avatars /out/usr/libexec/avatars/avatars-decoder

FROM debian:bookworm-slim
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates libcurl4 liblcms2-2 libxml2 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --user-group --home-dir /var/lib/avatars --create-home --shell /usr/sbin/nologin avatars
COPY --from=build /out /
# hadolint ignore=DL3066
USER avatars
ENV AVATARS_STORE=/var/lib/avatars/store
VOLUME /var/lib/avatars
EXPOSE 8080
ENTRYPOINT ["avatars"]
CMD ["serve", "--listen", "0.0.0.0:8080"]
