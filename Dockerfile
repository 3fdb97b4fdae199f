# The page and the API: docker compose up, or docker build -t thoughtcycle . with a MongoDB of your own.
FROM python:3.12-slim

RUN useradd --create-home thoughtcycle && mkdir /data && chown thoughtcycle /data
WORKDIR /app
COPY . .
RUN pip install --no-cache-dir '.[web,documents]'

USER thoughtcycle
ENV THOUGHTCYCLE_DB=sqlite:////data/memory.db \
    THOUGHTCYCLE_SPOOL=/data/spool \
    THOUGHTCYCLE_WEB__HOST=0.0.0.0
VOLUME /data
EXPOSE 8765
HEALTHCHECK --interval=30s --timeout=3s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8765/-/health', timeout=2)"]
STOPSIGNAL SIGTERM
CMD ["thoughtcycle", "web"]
