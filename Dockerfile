# One image for every host: docker build -t steelyard . && docker run --rm -v "$PWD/records:/records" steelyard weigh checksums
# As a machine of a Ray cluster: docker run --entrypoint ray steelyard start (docs/reference/load-machines.md).
FROM python:3.13-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends curl gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
ENV CARGO_HOME=/usr/local/cargo RUSTUP_HOME=/usr/local/rustup PATH=/usr/local/cargo/bin:$PATH
# The compiler that the tests pass with: a newer one builds another driver.
ARG RUST=1.95.0
RUN curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs \
    | sh -s -- -y --profile minimal --default-toolchain "$RUST"
WORKDIR /source
COPY . .
RUN pip wheel --no-deps --wheel-dir /wheels .

FROM python:3.13-slim-bookworm
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    pip install --no-cache-dir "$(ls /wheels/steelyard-*.whl)[fleet]" \
    && useradd --create-home steelyard \
    && install -d -o steelyard /records
USER steelyard
WORKDIR /
ENV RAY_USAGE_STATS_ENABLED=0 RAY_memory_monitor_refresh_ms=0
ENTRYPOINT ["steelyard"]
CMD ["--help"]
