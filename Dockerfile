# syntax=docker/dockerfile:1

# An image with rowcast in it and nothing else: no shell, no package, no root.
# docs/guides/production.md says how to run it.
#
#   docker build --build-arg VERSION="$(git describe --tags --always)" -t rowcast .

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION
ARG COMMIT
ARG DATE
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -ldflags "-s -X main.version=$VERSION -X main.commit=$COMMIT -X main.date=$DATE" -o /out/rowcast ./cmd/rowcast
# SQLite keeps its file in the one folder, and sorts what is large in the other.
RUN mkdir -p /folders/srv/data /folders/tmp

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build --chown=65532:65532 /folders/ /
COPY --from=build /out/rowcast /rowcast
USER 65532:65532
WORKDIR /srv
VOLUME /srv/data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s CMD ["/rowcast", "ready"]
ENTRYPOINT ["/rowcast"]
CMD ["serve"]
