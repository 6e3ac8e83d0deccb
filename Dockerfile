# docker build -t lectern .
# docker run -p 3000:3000 -v "$PWD/timetable.ndjson:/data/timetable.ndjson:ro" -v "$PWD/keys.json:/keys/keys.json:ro" \
#   lectern /data/timetable.ndjson --jwks /keys/keys.json

FROM node:22-bookworm-slim AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
# Packages run no scripts of their own during the installation.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY src src
COPY pages pages
RUN npm run build
RUN npm prune --ignore-scripts --omit=dev --no-audit --no-fund

# This image has no shell and no package manager, and its user has no privileges.
FROM gcr.io/distroless/nodejs22-debian12:nonroot
WORKDIR /app
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/dist dist
COPY --from=build /build/package.json package.json
# Only the health check uses the admin listener, so it stays on the container's own loopback address.
ENV NODE_ENV=production LECTERN_HOST=0.0.0.0 LECTERN_PORT=3000 LECTERN_ADMIN_PORT=3001
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["/nodejs/bin/node", "-e", "fetch('http://127.0.0.1:3001/live').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["/nodejs/bin/node", "dist/cli.js", "serve"]
CMD ["/data/timetable.ndjson"]
