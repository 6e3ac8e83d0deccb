import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { type Service, startService } from '../../src/app/service.js';

const fixture = (name: string): string => fileURLToPath(new URL(`../../fixtures/${name}`, import.meta.url));

/** The demo as `npm start` serves it, at a free port, until the test ends. */
export async function openDemo(
  t: Test,
  more: Partial<Parameters<typeof startService>[0]> = {},
): Promise<Service> {
  const service = await startService({
    source: fixture('demo.ndjson.gz'),
    rooms: fixture('demo-rooms.ndjson'),
    dev: true,
    port: 0,
    ...more,
  });
  t.teardown(() => service.close());
  await service.ready;
  return service;
}
