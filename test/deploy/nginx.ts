/** nginx with a configuration of deploy/, run by the nginx of the system. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { freePort } from '../hard/free-port.mjs';
import { AUTHORIZATION } from '../hard/http-service.js';
import { until } from '../waiting/until.js';

/** Why the tests of nginx are skipped; false where nginx is installed. */
export const NGINX_MISSING: string | false =
  spawnSync('nginx', ['-v']).error !== undefined && 'nginx is not installed (apt-get install nginx-light)';

/** Replaces exactly one place of the example, so that a changed example fails the test. */
export function replaceOnce(text: string, from: string, to: string): string {
  const parts = text.split(from);
  if (parts.length !== 2) throw new Error(`the example has ${parts.length - 1} times: ${from}`);
  return parts.join(to);
}

export interface Nginx {
  readonly port: number;
  errors(): string;
}

/**
 * Starts nginx with a configuration that listens on port 80, on another port. nginx keeps clients' connections longer
 * than any pause of a test. Otherwise nginx would close them (after 75 s) just when a client reuses one, which is not
 * under test.
 */
export async function startNginx(t: Test, configuration: string): Promise<Nginx> {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-nginx-'));
  const port = await freePort();
  const served = replaceOnce(configuration, 'listen 80;', `listen 127.0.0.1:${port};`);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/error.log warn;
     events { worker_connections 512; }
     http { access_log off; keepalive_timeout 1h; ${paths.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
     ${served} }`,
  );
  const args = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', `${folder}/error.log`];
  const nginx = spawn('nginx', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  nginx.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = once(nginx, 'exit');
  t.teardown(async () => {
    nginx.kill('SIGQUIT');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  await until(() => {
    if (nginx.exitCode !== null) throw new Error(`nginx ended: ${stderr}`);
    return askNginx(port, '/nowhere', new Agent()).then(
      () => true,
      () => false,
    );
  });
  return { port, errors: () => readFileSync(join(folder, 'error.log'), 'utf8') };
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export function askNginx(
  port: number,
  path: string,
  agent: Agent,
  more: Record<string, string> = {},
  method = 'GET',
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: AUTHORIZATION, ...more };
    const req = request({ host: '127.0.0.1', port, path, method, agent, headers }, (res) => {
      const chunks: Buffer[] = [];
      res.on('data', (chunk: Buffer) => chunks.push(chunk));
      res.on('error', reject);
      res.on('end', () =>
        resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks) }),
      );
    });
    req.on('error', reject);
    // The largest body that nginx accepts, and one byte more.
    if (more['content-length'] !== undefined || more['transfer-encoding'] !== undefined) req.write('xx');
    req.end();
  });
}
