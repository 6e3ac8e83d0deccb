/** A service and its clients in separate processes, and the system's figures for the service. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { generateFile } from '../../bench/generate.mjs';
import { hs256, SECRET } from '../auth/tokens.js';
import { recordFigure } from './figures.mjs';
import { HARD } from './size.js';

const MIB = 1024 * 1024;
const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const CLIENTS = fileURLToPath(new URL('./http-clients.mjs', import.meta.url));
const BARE_SENDER = fileURLToPath(new URL('./bare-sender.mjs', import.meta.url));
const TELL_CPU = new URL('./tell-cpu.mjs', import.meta.url).href;

export const AUTHORIZATION: string = `Bearer ${hs256({ sub: 'alice', exp: Math.floor(Date.now() / 1000) + 7200 })}`;

type Teardown = (end: () => unknown) => unknown;

/** bare-sender.mjs in a separate process. */
export async function startBareSender(teardown: Teardown, bytes: number): Promise<{ readonly port: number }> {
  const child = spawn(process.execPath, [BARE_SENDER, String(bytes)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  teardown(() => end(child));
  if (child.stdout === null) throw new Error('the output of the sender is a pipe');
  const [told] = (await once(child.stdout, 'data')) as [Buffer];
  return { port: Number(told) };
}

/** A generated timetable in a file that exists until the tests end. */
export async function timetableFile(teardown: Teardown, events: number): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'lectern-http-'));
  teardown(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'events.ndjson');
  await generateFile(path, { events, seed: 1 });
  return path;
}

export interface ServiceProcess {
  readonly pid: number;
  readonly port: number;
  rssMib(): number;
  /** Open connections, including listening sockets, as the system counts them. */
  sockets(): number;
  /** Processor time of all its threads so far, as its own process.cpuUsage() reports it. */
  cpuMs(): Promise<number>;
}

/** @param node the program that runs it; default: this process's own */
export async function startServiceProcess(
  teardown: Teardown,
  source: string,
  options: readonly string[] = [],
  node: string = process.execPath,
): Promise<ServiceProcess> {
  const child = spawn(node, ['--import', TELL_CPU, CLI, 'serve', source, '--port', '0', ...options], {
    env: { ...process.env, LECTERN_HS256_SECRET: SECRET, LECTERN_LOG_LEVEL: 'info' },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  teardown(() => end(child));
  const { stderr } = child;
  if (stderr === null) throw new Error('the log of the service is a pipe');
  let log = '';
  const port = await new Promise<number>((resolve, reject) => {
    stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
      const found = /http:\/\/127\.0\.0\.1:(\d+)/.exec(log)?.[1];
      if (found !== undefined && log.includes('timetable published')) resolve(Number(found));
    });
    child.once('exit', () => reject(new Error(`the service ended: ${log}`)));
  });
  const { pid = 0 } = child;
  return {
    pid,
    port,
    rssMib: () =>
      (Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024) / MIB,
    sockets() {
      let count = 0;
      for (const fd of readdirSync(`/proc/${pid}/fd`)) {
        try {
          if (readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:')) count++;
        } catch {
          // The file was closed after the folder was read.
        }
      }
      return count;
    },
    async cpuMs() {
      const told = once(child, 'message');
      child.send('cpu');
      const [{ user, system }] = (await told) as [NodeJS.CpuUsage];
      return (user + system) / 1000;
    },
  };
}

/** The service at rest, with caches and heap in their state after some use. */
export async function startWarmService(
  teardown: Teardown,
  source: string,
  options: readonly string[] = [],
): Promise<ServiceProcess> {
  // No overload control: hundreds of requests come at once to measure each, so none may be refused.
  const service = await startServiceProcess(teardown, source, ['--overload-ms', '0', ...options]);
  await latencyP99Ms(service, 1000);
  // Its connection is closed.
  await delay(200);
  return service;
}

/**
 * A figure with its provenance.
 *
 * @param name its marker in docs/reliability.md; a full run keeps the figure
 */
export function told(figure: string, name?: string, details: object = {}): string {
  if (HARD && name !== undefined) recordFigure(name, figure, details);
  return `${figure} (Node ${process.version}, ${availableParallelism()} cores)`;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

export interface Clients {
  /** Their next output line. */
  next(): Promise<Record<string, unknown>>;
  end(): Promise<void>;
}

export function startClients(
  teardown: Teardown,
  mode: string,
  { port }: Pick<ServiceProcess, 'port'>,
  count: number,
  path = '/api/v1/schedule/all',
  method = 'GET',
): Clients {
  const child = spawn(
    process.execPath,
    [CLIENTS, mode, String(port), String(count), AUTHORIZATION, path, method],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  teardown(() => end(child));
  const lines: Interface = createInterface(child.stdout);
  const iterator = lines[Symbol.asyncIterator]();
  return {
    async next() {
      const { value, done } = await iterator.next();
      if (done) throw new Error(`the clients (${mode}) ended`);
      return JSON.parse(value as string) as Record<string, unknown>;
    },
    end: () => end(child),
  };
}

/** The largest measured value until it is stopped. */
export function watchMax(measure: () => number, everyMs = 100): { stop(): number } {
  let max = measure();
  const timer = setInterval(() => {
    max = Math.max(max, measure());
  }, everyMs);
  return {
    stop() {
      clearInterval(timer);
      return Math.max(max, measure());
    },
  };
}

/** Sends requests one after the other on a connection for some time; returns their p99 in ms. */
export async function latencyP99Ms({ port }: Pick<ServiceProcess, 'port'>, forMs: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  const endMs = performance.now() + forMs;
  while (performance.now() < endMs) {
    const beganMs = performance.now();
    await new Promise<void>((resolve, reject) => {
      const req = request(
        {
          host: '127.0.0.1',
          port,
          path: '/api/v1/schedule?limit=10',
          agent,
          headers: { Authorization: AUTHORIZATION },
        },
        (res) => {
          if (res.statusCode !== 200) reject(new Error(`status ${res.statusCode}`));
          res.on('end', resolve).on('error', reject).resume();
        },
      );
      req.on('error', reject).end();
    });
    times.push(performance.now() - beganMs);
    // The client pauses between requests.
    await delay(2);
  }
  agent.destroy();
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length * 0.99)] ?? 0;
}
