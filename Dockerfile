# The server in a container; docs/deployment.md says how to run it.
# A test reads this file and runs what the image starts, but no test builds the image: the base images
# and the commands that need root are not tried.
FROM rust:1-slim-trixie AS build
RUN apt-get update && apt-get install --yes --no-install-recommends make && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo build --locked --release --package samovar

FROM debian:trixie-slim
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
RUN useradd --uid 10001 --home-dir /var/lib/samovar --create-home samovar && install --directory --owner samovar --group samovar --mode 0700 /data /work
COPY --from=build /src/target/release/samovar /usr/local/bin/samovar
USER 10001:10001
WORKDIR /work
ENV HOME=/var/lib/samovar DATA_DIR=/data SAMOVAR_HOST=0.0.0.0
VOLUME /data
EXPOSE 4747
# It asks the server that runs, and opens no data directory itself.
HEALTHCHECK CMD ["samovar", "relay", "rooms"]
ENTRYPOINT ["samovar"]
CMD ["serve", "--behind-proxy"]
