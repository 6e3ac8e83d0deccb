/**
 * nginx of the system with one worker, which sends a file; it checks no token. Argument: JSON of { headers, bodyFile },
 * as for the floor. Answers have status 200.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../../test/hard/free-port.mjs';
import { answerOf } from '../../answers.mjs';
import { answerUsage } from '../../servers/measured.mjs';
import { usageOfTree } from '../process-usage.mjs';

const START_TRIES = 100;
const { headers, bodyFile } = JSON.parse(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), 'lectern-bench-nginx-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

const quoted = (text) => `"${text.replace(/[\\"]/g, '\\$&')}"`;

/** The header fields of the answer; nginx itself gives the length. */
function fields() {
  const lines = [];
  for (let i = 0; i < headers.length; i += 2) {
    const [name, value] = [headers[i], headers[i + 1]];
    if (name === 'Content-Type') lines.push(`types {} default_type ${quoted(value)};`);
    else if (name !== 'Content-Length') lines.push(`add_header ${name} ${quoted(value)};`);
  }
  return lines.join('\n');
}

const port = await freePort();
const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
writeFileSync(
  join(folder, 'nginx.conf'),
  `daemon off; worker_processes 1; pid ${folder}/nginx.pid;
${process.getuid() === 0 ? 'user root;' : ''}
events { worker_connections 512; }
http {
  access_log off; sendfile on; tcp_nopush on; open_file_cache max=10 inactive=1h; open_file_cache_valid 1h;
  keepalive_timeout 1h; keepalive_requests 1000000000;
  ${paths.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  server {
    listen 127.0.0.1:${port}; root ${dirname(bodyFile)};
    location / { try_files /${basename(bodyFile)} =404; ${fields()} }
  }
}
`,
);
const args = ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'];
const nginx = spawn('nginx', args, { stdio: ['ignore', 'ignore', 'inherit'] });
nginx.once('exit', () => process.exit(1));

function end() {
  nginx.removeAllListeners('exit');
  nginx.once('exit', () => process.exit());
  nginx.kill('SIGTERM');
}
// An interrupt reaches nginx and the parent, too; the end of the parent closes the channel.
process.on('SIGINT', () => {});
process.on('SIGTERM', end);
process.on('disconnect', end);
answerUsage(() => usageOfTree(nginx.pid));

async function started() {
  for (let n = 0; n < START_TRIES; n++) {
    const answer = await answerOf(port, { path: '/', headers: {} }).catch(() => null);
    if (answer?.status === 200) return;
    await delay(50);
  }
  throw new Error('nginx does not answer with the file');
}
await started();
process.send({ kind: 'ready', port });
