# The exporter with NVML: it is built with cgo and loads the driver's library at run time, which
# the NVIDIA container runtime mounts. That library needs glibc, so the image has one.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=1 CGO_CFLAGS="-O2 -g -Wno-deprecated-declarations" go build -trimpath -buildvcs=false -o /uma-exporter ./cmd/uma-exporter

# The same Debian as above, for the same glibc.
FROM debian:12.12-slim
COPY --from=build /uma-exporter /usr/local/bin/uma-exporter
USER 65534:65534
EXPOSE 10420
ENTRYPOINT ["/usr/local/bin/uma-exporter"]
