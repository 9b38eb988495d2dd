# The service, without compilers and without root. Build: docker build -t stopwise .
FROM python:3.11-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt LICENSE README.md ./
COPY src ./src
RUN python -m venv /opt/stopwise \
 && /opt/stopwise/bin/pip install --no-cache-dir -c constraints.txt '.[serve,chat,cli,audit,postgres]'

FROM python:3.11-slim
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin stopwise \
 && install -d -o stopwise -g stopwise /var/lib/stopwise
COPY --from=build /opt/stopwise /opt/stopwise
ENV PATH=/opt/stopwise/bin:$PATH PYTHONUNBUFFERED=1
USER 10001
WORKDIR /var/lib/stopwise
VOLUME /var/lib/stopwise
EXPOSE 8080
HEALTHCHECK CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8080/healthz', timeout=2)"]
ENTRYPOINT ["stopwise", "serve"]
CMD ["/etc/stopwise/serve.toml"]
