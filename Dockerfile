# Every command of the package, for a user without rights, on a root file system that may be read-only:
#
#   docker build -t sortkey .
#   docker run --read-only --tmpfs /tmp -v sortkey:/data -v ./secrets:/run/secrets:ro -p 127.0.0.1:8080:8080 sortkey
#
# docs/operate/deployment.md has more.

FROM python:3.13-slim-bookworm AS build
WORKDIR /source
COPY requirements-image.txt ./
RUN python -m venv /opt/sortkey \
    && /opt/sortkey/bin/pip install --no-cache-dir --require-hashes --requirement requirements-image.txt
COPY LICENSE README.md pyproject.toml ./
COPY src ./src
# What only builds is not in the image.
RUN /opt/sortkey/bin/pip install --no-cache-dir --no-deps --no-build-isolation . \
    && /opt/sortkey/bin/pip uninstall --yes setuptools pip

FROM python:3.13-slim-bookworm
COPY --from=build /opt/sortkey /opt/sortkey
RUN mkdir --mode=700 /data /backups && chown 10001:10001 /data /backups
ENV PATH=/opt/sortkey/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    HEALTH_URL=http://127.0.0.1:8080/health
USER 10001:10001
WORKDIR /tmp
VOLUME /data
EXPOSE 8080 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(os.environ['HEALTH_URL'], timeout=4)"]
ENTRYPOINT ["sortkey"]
CMD ["up", "--store", "/data", "--no-demo", "--host", "0.0.0.0", "--tokens", "/run/secrets/tokens", "--keys", "/run/secrets/keys"]
