# One image for every host: docker build -t steelyard . && docker run --rm -v "$PWD/records:/records" steelyard weigh checksums
# As a machine of a Ray cluster: docker run --entrypoint ray steelyard start (docs/reference/load-machines.md).
# A release names the base by its digest (.github/workflows/release.yml), and keeps it in the image's label.
ARG BASE=python:3.13-slim-bookworm
FROM ${BASE} AS build
RUN apt-get update && apt-get install -y --no-install-recommends curl gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
ENV CARGO_HOME=/usr/local/cargo RUSTUP_HOME=/usr/local/rustup PATH=/usr/local/cargo/bin:$PATH
# The compiler that the tests pass with: a newer one builds another driver.
ARG RUST=1.95.0
# What installs it, by its digest on either processor.
ARG RUSTUP=1.28.2
RUN machine="$(uname -m)" \
    && case "$machine" in \
      x86_64) digest=20a06e644b0d9bd2fbdbfd52d42540bdde820ea7df86e92e533c073da0cdd43c ;; \
      aarch64) digest=e3853c5a252fca15252d07cb23a1bdd9377a8c6f3efa01531109281ae47f841c ;; \
      *) echo "error: no image is made for $machine" >&2; exit 1 ;; \
    esac \
    && curl --proto '=https' --tlsv1.2 -sSfo /tmp/rustup-init \
      "https://static.rust-lang.org/rustup/archive/$RUSTUP/$machine-unknown-linux-gnu/rustup-init" \
    && echo "$digest  /tmp/rustup-init" | sha256sum --check --quiet \
    && chmod +x /tmp/rustup-init \
    && /tmp/rustup-init -y --no-modify-path --profile minimal --default-toolchain "$RUST" \
    && rm /tmp/rustup-init
WORKDIR /source
COPY . .
RUN pip install --no-cache-dir --require-hashes -r packaging/locks/build.txt \
    && pip wheel --no-deps --no-build-isolation --wheel-dir /wheels .

FROM ${BASE}
ARG BASE
LABEL org.opencontainers.image.base.name=${BASE}
# Every package as it is locked, by its digest; then the wheel alone.
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    --mount=type=bind,from=build,source=/source/packaging/locks,target=/locks \
    pip install --no-cache-dir --require-hashes -r /locks/image.txt \
    && pip install --no-cache-dir --no-deps /wheels/steelyard-*.whl \
    && pip check \
    && useradd --create-home steelyard \
    && install -d -o steelyard /records
USER steelyard
WORKDIR /
ENV RAY_USAGE_STATS_ENABLED=0 RAY_memory_monitor_refresh_ms=0
ENTRYPOINT ["steelyard"]
CMD ["--help"]
