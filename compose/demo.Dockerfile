# The simulated Spark, engine and runs of the profile sim: one static program and nothing else. Compiled on the
# builder's own architecture for any. Needs BuildKit, which docker build and docker compose build use by themselves.
FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm AS build
ARG TARGETARCH
WORKDIR /src
COPY . .
# What --version and the run folders tell; the sources come without their version control.
ARG VERSION=
ARG REVISION=
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    ours=github.com/umascope/umascope; \
    CGO_ENABLED=0 GOOS=linux GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false \
      -ldflags "-X $ours/loadgen.linkedVersion=$VERSION -X $ours/loadgen.linkedRevision=$REVISION \
                -X $ours/exporter.linkedVersion=$VERSION -X $ours/exporter.linkedRevision=$REVISION" \
      -o /image/usr/local/bin/uma-demo ./cmd/uma-demo
# What a program expects of any system: authorities for https, somewhere for temporary files, and a folder for runs,
# whose owner a named volume takes over that is mounted there.
RUN mkdir -p /image/etc/ssl/certs && cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/ \
 && install -d -m 1777 /image/tmp && install -d -o 65534 -g 65534 /image/runs

FROM scratch
COPY --from=build /image/ /
ARG VERSION=
ARG REVISION=
LABEL org.opencontainers.image.title="uma-demo" \
      org.opencontainers.image.description="A simulated DGX Spark that serves and is measured, for looking at umascope without a GPU" \
      org.opencontainers.image.source="https://github.com/umascope/umascope" \
      org.opencontainers.image.documentation="https://github.com/umascope/umascope/blob/main/compose/README.md" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
USER 65534:65534
WORKDIR /
EXPOSE 10420 10421
ENTRYPOINT ["/usr/local/bin/uma-demo"]
