# The server of graphwright. docs/deploy.md says how to run it.
ARG PYTHON=3.12-slim-bookworm

FROM python:${PYTHON} AS build
WORKDIR /build
RUN python -m venv /opt/graphwright
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src src
RUN /opt/graphwright/bin/pip install --no-cache-dir ".[serve,watch]"

FROM python:${PYTHON}
RUN useradd --system --uid 10001 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin graphwright \
 && install -d -o graphwright -g graphwright -m 0700 /data /indexes
COPY --from=build /opt/graphwright /opt/graphwright
# Keys and jobs are in /data, the only folder beside /indexes and /tmp that is written to.
ENV PATH=/opt/graphwright/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    XDG_DATA_HOME=/data
USER 10001
VOLUME ["/data", "/indexes"]
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=120s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["graphwright"]
CMD ["serve", "--help"]
