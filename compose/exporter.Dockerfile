# The exporter with NVML: it is built with cgo and loads the driver's library at run time, which the NVIDIA container
# runtime or CDI mounts. That library needs glibc, so the image has one.
#
# Always compiled on the builder's own architecture, for the other one with a cross compiler: under emulation the same
# takes ten times as long. Needs BuildKit, which docker build and docker compose build use by themselves.
FROM --platform=$BUILDPLATFORM golang:1.26.8-bookworm AS build
ARG BUILDARCH
ARG TARGETARCH
RUN if [ "$TARGETARCH" != "$BUILDARCH" ]; then \
      case $TARGETARCH in \
        amd64) packages="gcc-x86-64-linux-gnu libc6-dev-amd64-cross" ;; \
        arm64) packages="gcc-aarch64-linux-gnu libc6-dev-arm64-cross" ;; \
        *) echo "there is no exporter for $TARGETARCH: only for amd64 and arm64" >&2; exit 1 ;; \
      esac; \
      apt-get update && apt-get install -y --no-install-recommends $packages; \
    fi
WORKDIR /src
COPY . .
# What --version and uma_exporter_build_info tell; the sources come without their version control.
ARG VERSION=
ARG REVISION=
# Warnings of NVIDIA's header about its own old functions are not ours to mend.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    case $TARGETARCH in arm64) target=aarch64 ;; *) target=x86_64 ;; esac; \
    [ "$TARGETARCH" = "$BUILDARCH" ] || export CC=$target-linux-gnu-gcc; \
    package=github.com/umascope/umascope/exporter; \
    CGO_ENABLED=1 GOOS=linux GOARCH=$TARGETARCH CGO_CFLAGS="-O2 -g -Wno-deprecated-declarations" \
    go build -trimpath -buildvcs=false \
      -ldflags "-X $package.linkedVersion=$VERSION -X $package.linkedRevision=$REVISION" \
      -o /image/usr/local/bin/uma-exporter ./cmd/uma-exporter
# Engines may be asked by https, and the base below knows no authority.
RUN mkdir -p /image/etc/ssl/certs && cp /etc/ssl/certs/ca-certificates.crt /image/etc/ssl/certs/

# The same Debian as above, for the same glibc.
FROM debian:12.12-slim
COPY --from=build /image/ /
ARG VERSION=
ARG REVISION=
LABEL org.opencontainers.image.title="uma-exporter" \
      org.opencontainers.image.description="Prometheus exporter of where the memory of a unified-memory NVIDIA machine is" \
      org.opencontainers.image.source="https://github.com/umascope/umascope" \
      org.opencontainers.image.documentation="https://github.com/umascope/umascope/blob/main/compose/README.md" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="docker.io/library/debian:12.12-slim" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
# The NVIDIA runtime mounts the management library for this, and not CUDA.
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=utility
USER 65534:65534
EXPOSE 10420
ENTRYPOINT ["/usr/local/bin/uma-exporter"]
