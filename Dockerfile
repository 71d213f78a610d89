# syntax=docker/dockerfile:1
# The image of every Octavo process: workers, migrations, the pages, Flower, and the command line itself.
ARG PYTHON_VERSION=3.13

FROM python:${PYTHON_VERSION}-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY octavo octavo
COPY workers workers
COPY db db
COPY pipeline pipeline
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels . \
 && python -m venv /venv \
 && /venv/bin/python -m pip install --no-cache-dir "octavo[postgres,flower,web] @ file://$(ls /wheels/octavo-*.whl)" \
 && /venv/bin/python -m compileall -q /venv/lib

FROM python:${PYTHON_VERSION}-slim
# A fixed numeric user: an orchestrator can tell that it is not root, and a volume's files keep their owner.
RUN groupadd --gid 10001 octavo \
 && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin octavo \
 && mkdir --parents /app /state /books \
 && chown 10001:10001 /state
COPY --from=build /venv /venv
ENV PATH=/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    OCTAVO_STATE=/state
# Nothing is in it and nobody can write to it: no octavo.toml or flowerconfig.py comes from here by surprise.
WORKDIR /app
USER 10001:10001
STOPSIGNAL SIGTERM
ENTRYPOINT ["octavo"]
CMD ["--help"]
